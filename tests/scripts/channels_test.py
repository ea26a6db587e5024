#!/usr/bin/env python3
"""A channel that only a test knows goes through a simulation to every kind of file and to numpy,
by its row alone, and back into another simulation.

Usage: channels_test.py LIBRARY SOURCE_FOLDER
"""

import os
import shutil
import struct
import sys
import tempfile
import unittest
from pathlib import Path

LIBRARY, ROOT = Path(sys.argv[1]), Path(sys.argv[2])
os.environ["FIRN_LIBRARY"] = str(LIBRARY)
sys.path[:0] = [str(ROOT / "plugin/python"), str(ROOT / "tests/scripts")]
sys.dont_write_bytecode = True

import firn  # noqa: E402
import ogawa  # noqa: E402

ROW, VECTOR = "soot:1", "tint:3"
FORMATS = ("abc", "bgeo", "bgeo.gz", "vdb")
LIST = f"v id pscale mass Jp density material stiffness volume F temperature {ROW} {VECTOR}"


def scene():
    nodes = {
        "ball": {"type": "snow_source",
                 "params": {"center": [0, 0.15, 0], "radius": 0.1, "velocity": [0, -2, 0],
                            "stiffness_noise": 0.5,
                            "channels": f"{ROW}=0.5~0.25 {VECTOR}=1,2,3 temperature=268"}},
        "clean": {"type": "snow_source",
                  "params": {"center": [0.3, 0.15, 0], "radius": 0.06}},
        "ground": {"type": "collider"},
        "solver": {"type": "solver", "params": {"cell_size": 0.04, "deformation": True},
                   "inputs": {"sources": ["ball", "clean"], "colliders": ["ground"]}},
        "volume": {"type": "rasterize",
                   "params": {"voxel_size": 0.04, "channels": f"{ROW} {VECTOR} temperature"},
                   "inputs": {"particles": "solver"}},
        "fog": {"type": "write_volume", "params": {"name": "fog"}, "inputs": {"volume": "volume"}},
    }
    for name in FORMATS:
        nodes["to_" + name.replace(".", "_")] = {
            "type": "write_particles",
            "params": {"name": "p_" + name, "format": name, "attributes": LIST,
                       "single_file": False, "vdb_quantize": False, "vdb_half": False},
            "inputs": {"particles": "solver"}}
    return {"firn": 1, "name": "soot", "frames": [1, 2], "nodes": nodes}


def by_id(particles, name):
    """The values of a column as lists, by the number of the particle."""
    return dict(zip(particles["id"].memory, (particles[name][i] for i in range(len(particles)))))


class Channels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.graph = firn.Graph.loads(scene(), folder=cls.folder)
        cls.graph.bake()
        cls.files = {name: next(cls.folder.rglob(f"p_{name}_v1.0002.{name}")) for name in FORMATS}

    def particles(self):
        return self.graph.cook("solver", 2).particles

    def read(self, name):
        graph = firn.Graph.loads({"firn": 1, "name": "again", "frames": [2, 2], "nodes": {
            "read": {"type": "read_particles", "params": {"file": str(self.files[name])}}}},
            folder=self.folder)
        self.again = graph  # owns what it read
        return graph.cook("read", 2).particles

    def test_it_varies_around_its_value_and_is_the_default_elsewhere(self):
        soot = list(self.particles()["soot"].memory)
        ball = [value for value in soot if value != 0.0]
        self.assertTrue(0 < len(ball) < len(soot))
        self.assertTrue(0.25 <= min(ball) < max(ball) <= 0.75)
        self.assertEqual({self.particles()["tint"][i] for i in range(len(soot))},
                         {(1, 2, 3), (0, 0, 0)})

    def test_numpy_sees_it_in_place(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no numpy")
        values = numpy.asarray(self.particles()["soot"])
        self.assertEqual((values.dtype, values.shape), (numpy.float32, (len(self.particles()),)))
        self.assertEqual(numpy.asarray(self.particles()["tint"]).shape[1], 3)

    def test_every_format_brings_every_channel_back(self):
        particles = self.particles()
        for name in FORMATS:
            back = self.read(name)
            for word in LIST.split():
                column = word.split(":")[0]
                self.assertEqual(by_id(back, column), by_id(particles, column), (name, column))

    def test_an_archive_has_it_as_others_read_it(self):
        archive = ogawa.parse(self.files["abc"].read_bytes())
        found = [p for o in ogawa.walk(archive.top) for p in self.properties(o.props)
                 if p.name == "soot"]
        self.assertEqual(len(found), 1)
        _, values, _ = found[0].samples[0]
        self.assertEqual(ogawa.PODS[found[0].pod], "float32_t")
        self.assertEqual(list(struct.unpack(f"<{len(values) // 4}f", values)),
                         list(self.particles()["soot"].memory))

    def properties(self, props):
        for prop in props:
            yield prop
            if prop.type == 0:
                yield from self.properties(prop.sub)

    def test_a_source_takes_it_from_points(self):
        for name in FORMATS:
            graph = firn.Graph.loads({"firn": 1, "name": "next", "frames": [1, 2], "nodes": {
                "points": {"type": "snow_source",
                           "params": {"region": "points", "file": str(self.files[name]),
                                      "channels": "soot:1"}},
                "solver": {"type": "solver", "params": {"cell_size": 0.04},
                           "inputs": {"sources": ["points"]}}}}, folder=self.folder)
            source, points = self.read(name), graph.cook("solver", 1).particles
            for column in ("soot", "stiffness", "mass", "volume", "Jp", "temperature", "v"):
                self.assertEqual(list(points[column].memory), list(source[column].memory),
                                 (name, column))
            self.assertNotIn("tint", points)  # nobody asked for it
            count = graph.cook("solver", 2).particles
            self.assertEqual(sorted(count["soot"].memory), sorted(source["soot"].memory))

    def test_it_becomes_a_volume(self):
        volume = self.graph.cook("volume", 2).volume
        self.assertEqual(set(volume.grids), {"soot", "tint", "temperature"})
        density, soot = volume.density.memory, volume.grids["soot"].memory
        particles = self.particles()
        total = sum(m * s for m, s in zip(particles["mass"].memory, particles["soot"].memory))
        self.assertAlmostEqual(sum(d * s for d, s in zip(density, soot)) * 0.04**3, total,
                               delta=1e-3 * total)
        fog = next(self.folder.rglob("fog_v1.0002.vdb")).read_bytes()
        for grid in (b"soot", b"tint", b"temperature", b"compaction", b"vel", b"density"):
            self.assertIn(grid, fog)

    def refused(self, node, param, value):
        changed = scene()
        changed["nodes"][node]["params"][param] = value
        with self.assertRaises(firn.FirnError) as caught:
            firn.Graph.loads(changed, folder=self.folder).bake(1, 1)
        return str(caught.exception)

    def test_unknown_names_are_answered_with_those_there_are(self):
        for node, param in (("ball", "channels"), ("to_bgeo", "attributes"),
                            ("volume", "channels")):
            text = self.refused(node, param, "temprature")
            self.assertIn("did you mean 'temperature'?", text)
            self.assertIn("stiffness", text)
        self.assertIn("soap", self.refused("to_bgeo", "attributes", "soap:1"))
        self.assertIn("soap", self.refused("volume", "channels", "soap:1"))
        self.assertIn("number", self.refused("ball", "channels", "tint:3=1,2"))
        self.assertIn("id", self.refused("ball", "channels", "id=1"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
