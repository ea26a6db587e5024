#!/usr/bin/env python3
"""Stages that add detail to a cache: grains of particles, layers of volumes, surfaces.

Usage: cli_detail_test.py FIRN
"""

import json
import math
import re
import struct

import ogawa
from cli_support import SCENE, Firn, files_of, main

FINE = {"type": "fine_particles", "params": {"children": 8}, "inputs": {"particles": "solver"}}
ATTRIBUTES = "v id pscale mass density sparkle Jp"


def with_grains(**params):
    """The small shot with grains of its particles, in a file for each frame and as a volume."""
    scene = json.loads(json.dumps(SCENE))
    scene["nodes"]["fine"] = {**FINE, "params": {**FINE["params"], **params}}
    scene["nodes"]["grains"] = {"type": "write_particles", "inputs": {"particles": "fine"},
                                "params": {"name": "grains", "format": "bgeo",
                                           "attributes": ATTRIBUTES}}
    scene["nodes"]["raster"]["inputs"]["particles"] = "fine"
    return scene


def from_cache(source):
    return {"firn": 1, "name": "tiny", "fps": 96, "frames": [1, 5], "nodes": {
        "read": {"type": "read_particles", "params": {"file": source, "cell_size": 0.05}},
        "fine": {**FINE, "inputs": {"particles": "read"}},
        "grains": {"type": "write_particles", "inputs": {"particles": "fine"},
                   "params": {"name": "grains", "format": "bgeo", "attributes": ATTRIBUTES}}}}


class Layers(Firn):
    def test_files_say_which_layer_is_which(self):
        self.cook("base", "--set", "raster.layers=true", "--set", "volume.powder_extinction=1448",
                  "--frames", "1")
        told = self.firn("info", "base/tiny/v1/tiny_v1.0001.vdb")
        grids = re.split(r"(?m)^  (?=\w+  )", told)
        for name, layer, factor in (("density", "all", 724), ("body", "body", 724),
                                    ("powder", "powder", 1448)):
            grid = next(part for part in grids if part.startswith(name + " "))
            self.assertIn(f"firn:layer (string): {layer}", grid)
            self.assertIn(f"sigma_t_per_density (float): {factor}", grid)
        self.cook("base", "--frames", "1")
        self.assertNotIn("firn:layer", self.firn("info", "base/tiny/v1/tiny_v1.0001.vdb"))


class Grains(Firn):
    def grains_of(self, base):
        found = files_of(self.folder / base / "tiny/v1")
        return {name: data for name, data in found.items() if name.startswith("grains")}

    def setUp(self):
        super().setUp()
        self.whole = self.write_scene("whole.firn", with_grains())
        self.firn("cook", self.whole, "--base", "first", "--quiet")
        self.first = self.grains_of("first")
        self.assertEqual(len(self.first), 5)

    def test_chunks_of_a_cache_have_the_bytes_of_the_whole(self):
        scene = self.write_scene("again.firn",
                                 from_cache("first/tiny/v1/tiny_v1.$F4.bgeo"))
        for number, chunks in enumerate((["1-5"], ["1-2", "3-5"], ["5", "1", "3", "2", "4"])):
            for frames in chunks:
                self.firn("cook", scene, "--base", f"chunks{number}", "--frames", frames, "--quiet",
                          "--resume")
            found = self.grains_of(f"chunks{number}")
            self.assertEqual(sorted(found), sorted(self.first))
            for name, data in found.items():
                # The writer's name for itself differs: the graph is another one.
                cut = re.compile(rb"firn \S+ [0-9a-f]{16}")
                self.assertEqual(cut.sub(b"", data), cut.sub(b"", self.first[name]), name)

    def test_other_grains_make_no_simulation_run(self):
        self.firn("resume", self.whole, "--base", "first", "--set", "fine.children=12",
                  "--overwrite", "--quiet", env={"FIRN_ISA": "scalar"})
        again = self.write_scene("twelve.firn", with_grains(children=12))
        self.firn("cook", again, "--base", "twelve", "--quiet")
        self.assertEqual(self.grains_of("first"), self.grains_of("twelve"))
        self.assertNotEqual(self.grains_of("first"), self.first)

    def test_every_format_has_what_a_renderer_wants(self):
        scene = with_grains()
        for kind in ("abc", "vdb"):
            scene["nodes"][kind] = {
                "type": "write_particles", "inputs": {"particles": "fine"},
                "params": {"name": kind, "format": kind, "attributes": ATTRIBUTES}}
        self.firn("cook", self.write_scene("all.firn", scene), "--base", "all", "--quiet")
        for path in ("abc_v1.abc", "vdb_v1.$F4.vdb", "grains_v1.$F4.bgeo"):
            back = from_cache(f"all/tiny/v1/{path}")
            del back["nodes"]["fine"]
            back["nodes"]["grains"]["inputs"]["particles"] = "read"
            base = path.split("_")[0] + "_back"
            self.firn("cook", self.write_scene("back.firn", back), "--base", base, "--quiet",
                      "--frames", "1-5")
            told = self.firn("info", f"{base}/tiny/v1/grains_v1.0002.bgeo")
            for name in ATTRIBUTES.split():
                self.assertRegex(told, rf"(?m)^  point +{name} ", path)

    def test_it_says_what_is_wrong(self):
        for words, code, sentence in (
                (["fine.children=4"], 2, "fine.children"),
                (["fine.channels=mass"], 6, "channels has mass, which grains have anyway"),
                (["fine.channels=F"], 6, "a grain cannot take"),
                (["fine.channels=temperature"], 5,
                 "fine, frame 1: the particles have no temperature of 1 components")):
            done = [part for word in words for part in ("--set", word)]
            self.firn("cook", self.whole, "--base", "bad", "--quiet", *done, code=code)
            self.assertIn(sentence, self.err)


def read_obj(path):
    points, faces = [], []
    for line in path.read_text().splitlines():
        words = line.split()
        if words[0] == "v":
            points.append(tuple(map(float, words[1:])))
        elif words[0] == "f":
            faces.append([int(word) - 1 for word in words[1:]])
    return points, faces


def volume_of(points, faces):
    """What closed polygons enclose; positive when they wind counter-clockwise."""
    total = 0.0
    for face in faces:
        a = points[face[0]]
        for b, c in zip(face[1:], face[2:]):
            b, c = points[b], points[c]
            total += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2])
                      + a[2] * (b[0] * c[1] - b[1] * c[0])) / 6.0
    return total


class Surface(Firn):
    def cook_surface(self, base, *words, **params):
        scene = json.loads(json.dumps(SCENE))
        scene["nodes"]["skin"] = {"type": "write_surface", "inputs": {"particles": "solver"},
                                  "params": {"name": "skin", "format": "obj", **params}}
        self.firn("cook", self.write_scene("skin.firn", scene), "--base", base, "--quiet", *words)
        return self.folder / base / "tiny/v1"

    def particle_volume(self, place, frame):
        told = self.firn("info", place / f"tiny_v1.{frame:04}.bgeo")
        count = int(re.search(r"(\d+) points", told).group(1))
        low, high = map(float, re.search(r"pscale +fpreal32, (\S+) to (\S+)", told).groups())
        self.assertAlmostEqual(low, high, delta=1e-5 * high)
        return count * 4.0 / 3.0 * math.pi * low ** 3

    def assert_closed(self, faces):
        edges = {}
        for face in faces:
            for a, b in zip(face, face[1:] + face[:1]):
                edges[a, b] = edges.get((a, b), 0) + 1
        for (a, b), count in edges.items():
            self.assertEqual(count, edges.get((b, a), 0), "an edge has faces on one side only")

    def test_a_ball_is_closed_round_and_has_its_volume(self):
        for adaptivity in (0, 0.3):
            place = self.cook_surface(f"ball{adaptivity}", "--frames", "1", adaptivity=adaptivity)
            points, faces = read_obj(place / "skin_v1.0001.obj")
            self.assert_closed(faces)
            wanted = self.particle_volume(place, 1)
            self.assertAlmostEqual(volume_of(points, faces) / wanted, 1.0, delta=0.02)
            for x, y, z in points:  # around (0, 0.12, 0), with particles 2.5 cm apart
                self.assertAlmostEqual(math.dist((x, y, z), (0, 0.12, 0)), 0.1, delta=0.0125)
            coarse = len(faces) if adaptivity else None
            fine = fine if adaptivity else len(faces)
        self.assertLess(coarse, 0.8 * fine)

    def test_archives_carry_velocities_and_wind_clockwise(self):
        place = self.cook_surface("archive", "--frames", "1", format="abc", adaptivity=0)
        archive = ogawa.parse((place / "skin_v1.abc").read_bytes())
        found = {}
        for part in ogawa.walk(archive.top):
            for name, prop in ogawa.walk_props(part.props):
                if getattr(prop, "samples", None):
                    found[name.split("/")[-1]] = prop.samples[0][1]

        def numbers(name, kind):
            return struct.unpack(f"<{len(found[name]) // 4}{kind}", found[name])

        velocity = numbers(".velocities", "f")
        for x, y, z in zip(*[iter(velocity)] * 3):
            self.assertAlmostEqual(math.dist((x, y, z), (0, -3, 0)), 0.0, delta=1e-4)
        flat, index = numbers("P", "f"), list(numbers(".faceIndices", "i"))
        points, faces = list(zip(*[iter(flat)] * 3)), []
        for size in numbers(".faceCounts", "i"):
            faces.append(index[:size])
            del index[:size]
        self.assertEqual(len(velocity), len(flat))
        self.assertLess(volume_of(points, faces), 0.0)

    def test_threads_and_chunks_change_nothing(self):
        whole = files_of(self.cook_surface("whole", thread_count=1))
        for frames in ("4-5", "1-3"):
            place = self.cook_surface("parts", "--frames", frames, "--resume", thread_count=2)
        parts = files_of(place)
        for frame in range(1, 6):
            name = f"skin_v1.{frame:04}.obj"
            self.assertEqual(whole[name], parts[name])

    def test_it_says_what_is_wrong(self):
        scene = from_cache("first/tiny/v1/tiny_v1.$F4.bgeo")
        self.cook("first", "--set", "points.attributes=v id mass Jp")
        scene["nodes"]["skin"] = {"type": "write_surface", "inputs": {"particles": "read"}}
        del scene["nodes"]["fine"], scene["nodes"]["grains"]
        self.firn("cook", self.write_scene("bad.firn", scene), "--base", "bad", "--quiet", code=5)
        self.assertIn("skin, frame 1: the particles have no pscale; write them with it", self.err)


if __name__ == "__main__":
    main()
