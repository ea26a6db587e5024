"""Bodies through the command: weights, poses in numbers and archives, pieces, resume, refusals.

    bodies_test.py FIRN LIBRARY SOURCES
"""
import json
import os
import pathlib
import signal
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

    def cook_until(self, line, how):
        """Begins to cook and stops it behind a line of its output."""
        run = subprocess.Popen([FIRN, "cook", "t.firn"], cwd=self.path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for said in run.stdout:
            if said.startswith(line):
                run.send_signal(how)
                break
        run.stdout.read()
        run.stdout.close()
        self.assertNotEqual(run.wait(), 0)

    def test_an_archive_goes_on_after_a_stop_and_after_a_kill(self):
        graph = shot({"ball": BALL, "crate": body(shape="box", half_size=[0.1, 0.05, 0.1],
                                                  translation=[0.1, 0.4, 0])}, (1, 12))
        graph["nodes"]["solver"]["params"].update(checkpoint_frames=2, cell_size=0.05)
        self.write(graph)
        archive = self.path / "cache/t/v1/out_v1.abc"
        self.firn("cook", "t.firn")
        whole = archive.read_bytes()
        for how in (signal.SIGTERM, signal.SIGKILL):
            subprocess.run(["rm", "-r", str(self.path / "cache")], check=True)
            self.cook_until("frame 5 ", how)
            self.assertFalse(archive.exists())
            said = self.firn("cook", "t.firn", "--resume")
            self.assertEqual(archive.read_bytes(), whole)
            self.assertNotIn("frame 2 ", said)  # the simulation did not begin anew
            self.assertEqual(list(archive.parent.glob("*.partial")), [])

    def test_poses_are_arrays_in_python(self):
        self.write(shot({"ball": BALL}))
        self.firn("cook", "t.firn")
        motion = firn.Cache(str(self.path / "cache/t/v1")).bodies()["ball"]
        self.assertEqual(motion.frames, [1, 2, 3, 4])
        self.assertEqual(motion.translation.shape, (4, 3))
        self.assertEqual(motion.rotation.tolist()[0], [0, 0, 0, 1])
        self.assertAlmostEqual(motion.velocity[3, 1], self.stats(4)["ball.vy"])
        self.assertAlmostEqual(motion.translation[3, 0], 0.5 * 3 / 24, places=4)

    def test_what_begins_inside_another_is_told(self):
        crate = body(shape="box", half_size=[0.2, 0.2, 0.2], translation=[0, 1, 0])
        self.write(shot({"ball": BALL, "crate": crate}, (1, 2)))
        self.assertRegex(self.firn("cook", "t.firn"), "'ball' begins .* inside of 'crate'")
        crate["params"]["translation"] = [0, 0.1, 0]
        self.write(shot({"crate": crate}, (1, 2)))
        self.assertRegex(self.firn("cook", "t.firn", "--overwrite"),
                         "'crate' begins 0.1 m inside of 'ground'")
        crate["params"]["translation"] = [0, 0.2, 0]  # it stands on it
        self.write(shot({"crate": crate}, (1, 2)))
        self.assertNotIn("inside of", self.firn("cook", "t.firn", "--overwrite"))

    def test_meshes_that_are_no_shell_are_told(self):
        cubes = {"good": [(0.1, 1)], "open": [(0.1, 1)], "crossing": [(0.1, 1), (0.15, 1)],
                 "turned": [(0.1, -1)]}
        for name, parts in cubes.items():
            lines, start = [], 1
            for edge, way in parts:
                lines += [f"v {x * edge} {y * edge} {z * edge}"
                          for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
                for face in ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                             (1, 5, 7, 3))[name == "open":]:
                    lines.append("f " + " ".join(str(start + i) for i in face[::way]))
                start += 8
            (self.path / f"{name}.obj").write_text("\n".join(lines) + "\n")
            self.write(shot({"m": body(shape="mesh", file=f"{name}.obj", mesh_voxel_size=0.02,
                                       translation=[0, 1, 0])}, (1, 2)))
            said = self.firn("cook", "t.firn", "--overwrite")
            if name == "good":
                self.assertNotIn("shell", said)
                self.assertIn("weighs 5.6", said)
            else:
                self.assertRegex(said, "the faces of body 'm' enclose .* the shell counts")

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
