"""Bodies through the command: weights, poses in numbers and archives, pieces, resume, refusals.

    bodies_test.py FIRN LIBRARY SOURCES
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FIRN = sys.argv[1]
os.environ["FIRN_LIBRARY"] = sys.argv[2]
sys.path.insert(0, str(pathlib.Path(sys.argv[3]) / "plugin/python"))
import firn  # noqa: E402


def shot(nodes, frames=(1, 4)):
    graph = {
        "snow": {"type": "snow_source", "params": {
            "region": "box", "center": [0, 0.1, 0], "half_size": [0.3, 0.1, 0.2]}},
        "ground": {"type": "collider"},
        "solver": {"type": "solver", "params": {"cell_size": 0.1},
                   "inputs": {"sources": ["snow"], "colliders": ["ground"]}},
        "out": {"type": "write_bodies", "params": {"name": "out"},
                "inputs": {"particles": "solver"}},
    }
    for name, node in nodes.items():
        graph[name] = node
        kind = "joints" if node["type"] == "joint" else "colliders"
        graph["solver"]["inputs"].setdefault(kind, []).append(name)
    return {"firn": 1, "name": "t", "frames": list(frames), "nodes": graph}


def body(**params):
    return {"type": "body", "params": params}


BALL = body(shape="sphere", radius=0.1, mass=2, translation=[0, 1, 0], velocity=[0.5, 0, 0])


class Bodies(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def firn(self, *words, code=0):
        run = subprocess.run([FIRN, *map(str, words)], cwd=self.path, capture_output=True,
                             text=True)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def write(self, graph):
        (self.path / "t.firn").write_text(json.dumps(graph))

    def stats(self, frame):
        manifest = json.loads((self.path / "cache/t/v1/manifest.json").read_text())
        return {f["frame"]: f["stats"] for f in manifest["frames"]}[frame]

    def refused(self, graph, *words):
        self.write(graph)
        run = subprocess.run([FIRN, "cook", "t.firn", "--frames", "1-2", "--overwrite"],
                             cwd=self.path, capture_output=True, text=True)
        self.assertGreater(run.returncode, 0)
        said = run.stdout + run.stderr
        for word in words:
            self.assertIn(word, said)

    def test_a_body_falls_and_its_pose_is_in_numbers_and_archive(self):
        self.write(shot({"ball": BALL}))
        self.assertIn("weighs 2 kg", self.firn("cook", "t.firn"))
        seen = self.stats(4)
        t = 3 / 24
        self.assertAlmostEqual(seen["ball.x"], 0.5 * t, places=4)
        self.assertAlmostEqual(seen["ball.y"], 1 - 0.5 * 9.81 * t * t, delta=0.003)
        self.assertAlmostEqual(seen["ball.vy"], -9.81 * t, places=3)
        self.assertIn("ball", self.firn("info", "cache/t/v1/out_v1.abc"))
        mesh = firn.Mesh(str(self.path / "cache/t/v1/out_v1.abc"), 4 / 24)
        points = list(memoryview(mesh.positions.tobytes()).cast("f"))
        middle = [sum(points[i::3]) / (len(points) / 3) for i in range(3)]
        self.assertAlmostEqual(middle[0], seen["ball.x"], places=4)
        self.assertAlmostEqual(middle[1], seen["ball.y"], places=4)

    def test_a_resumed_shot_has_the_numbers_of_a_quiet_one(self):
        graph = shot({"ball": BALL})
        del graph["nodes"]["out"]
        graph["nodes"]["points"] = {"type": "write_particles", "params": {"single_file": False},
                                    "inputs": {"particles": "solver"}}
        graph["nodes"]["solver"]["params"]["checkpoint_frames"] = 1
        self.write(graph)
        self.firn("cook", "t.firn")
        whole = self.stats(4)
        subprocess.run(["rm", "-r", str(self.path / "cache")], check=True)
        self.firn("cook", "t.firn", "--frames", "1-2")
        self.firn("cook", "t.firn", "--resume")
        for name, value in self.stats(4).items():
            if name.startswith("ball."):
                self.assertEqual(value, whole[name], name)

    def test_what_keys_threw_flies_on(self):
        thrown = body(shape="box", half_size=[0.1, 0.1, 0.1], release_frame=3,
                      translation={"interpolation": "linear",
                                   "keys": [[1, [0, 1, 0]], [5, [0.8, 1, 0]]]})
        self.write(shot({"box": thrown}))
        self.firn("cook", "t.firn")
        self.assertAlmostEqual(self.stats(3)["box.x"], 0.4, places=5)
        self.assertAlmostEqual(self.stats(4)["box.vx"], 0.2 * 24, places=3)
        self.assertLess(self.stats(4)["box.y"], 1)

    def test_an_archive_of_several_meshes_is_several_bodies(self):
        self.write(shot({"a": BALL, "b": body(shape="box", half_size=[0.1, 0.1, 0.1],
                                              translation=[1, 1, 0])}))
        self.firn("cook", "t.firn", "--frames", "1-1")
        (self.path / "cache/t/v1/out_v1.abc").rename(self.path / "two.abc")
        subprocess.run(["rm", "-r", str(self.path / "cache")], check=True)
        self.write(shot({"rocks": body(shape="mesh", file="two.abc", pieces=True,
                                       mesh_voxel_size=0.02)}))
        self.firn("cook", "t.firn")
        seen = self.stats(4)
        self.assertLess(seen["rocks.a.vy"], -0.5)
        self.assertLess(seen["rocks.b.vy"], -0.5)
        self.assertIn("rocks_b", self.firn("info", "cache/t/v1/out_v1.abc"))

    def test_refusals_are_sentences(self):
        self.refused(shot({"ball": body(shape="sphere", mass=-1)}), "mass")
        self.refused(shot({"ball": body(shape="sphere", inertia=[1, 1, 5])}), "ball", "inertia")
        self.refused(shot({"m": body(shape="mesh", file="walk.$F4.obj")}), "m", "keeps its shape")
        self.refused(shot({"m": body(shape="mesh", file="a.obj", pieces=True)}), "pieces")
        self.refused(shot({"ball": BALL, "j": {
            "type": "joint", "inputs": {"first": "ground", "second": "ball"}}}),
            "ground", "animated")
        loose = shot({"j": {"type": "joint", "inputs": {"second": "ball"}}})
        loose["nodes"]["ball"] = BALL
        self.refused(loose, "'j'", "not linked")
        self.refused(shot({}), "no bodies")

    def test_what_moves_is_no_body(self):
        self.write(shot({"ball": BALL}))
        self.firn("cook", "t.firn")
        (self.path / "cache/t/v1/out_v1.abc").rename(self.path / "moving.abc")
        self.refused(shot({"m": body(shape="mesh", file="moving.abc")}), "keeps its shape")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
