#!/usr/bin/env python3
"""`firn usd` without USD: the stage names what is there, and nothing else.

Usage: usd_test.py FIRN
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FIRN = sys.argv[1]
SHOT = """{"firn": 1, "name": "my shot-1", "frames": [1, 3], "fps": 25,
  "nodes": {
    "ball": {"type": "snow_source", "params": {"radius": 0.2, "center": [0, 0.3, 0]}},
    "ground": {"type": "collider"},
    "box": {"type": "collider", "params": {"shape": "box", "half_size": [0.1, 0.2, 0.3],
        "translation": {"keys": [[1, [1, 0, 0]], [3, [2, 0, 0]]], "interpolation": "linear"}}},
    "solver": {"type": "solver", "params": {"cell_size": 0.1},
        "inputs": {"sources": ["ball"], "colliders": ["ground", "box"]}},
    "points": {"type": "write_particles", "params": {"format": "bgeo", "name": "grains"},
        "inputs": {"particles": "solver"}},
    "volume": {"type": "rasterize", "params": {"voxel_size": 0.1},
        "inputs": {"particles": "solver"}},
    "files": {"type": "write_volume", "inputs": {"volume": "volume"}}}}"""


def firn(*words, code=0):
    done = subprocess.run([FIRN, *map(str, words)], capture_output=True, text=True, timeout=100)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Stage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        top = Path(cls.scratch.name)
        (top / "shot.firn").write_text(SHOT)
        firn("cook", top / "shot.firn", "--quiet")
        cls.cache = next(top.glob("cache/*/v1"))
        firn("usd", cls.cache)
        cls.path = next(p for p in cls.cache.glob("*.usda") if "manifest" not in p.name)
        cls.text = cls.path.read_text()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_the_layer_says_what_it_is(self):
        self.assertTrue(self.text.startswith("#usda 1.0\n(\n"))
        for line in ('defaultPrim = "my_shot_1"', 'upAxis = "Y"', "metersPerUnit = 1",
                     "startTimeCode = 1", "endTimeCode = 3", "timeCodesPerSecond = 25",
                     "framesPerSecond = 25"):
            self.assertIn(f"    {line}\n", self.text)
        for left, right in ("()", "[]", "{}"):
            self.assertEqual(self.text.count(left), self.text.count(right))

    def prims(self):
        """Paths of all prims, by indentation."""
        stack, found = [], set()
        for match in re.finditer(r'^( *)(?:def|over) (?:\w+ )?"(\w+)"', self.text, re.MULTILINE):
            stack[len(match[1]) // 4:] = [match[2]]
            found.add("/" + "/".join(stack))
        return found

    def test_every_path_leads_to_a_prim(self):
        prims = self.prims()
        targets = {t.partition(".")[0] for t in re.findall(r"<(/[^>]+)>", self.text)}
        self.assertGreater(len(targets), 8)
        self.assertLessEqual(targets, prims)
        self.assertLessEqual({"/my_shot_1/volume/density", "/my_shot_1/volume/vel",
                              "/my_shot_1/particles", "/my_shot_1/colliders/box",
                              "/my_shot_1/colliders/ground"}, prims)

    def test_every_file_is_there(self):
        named = re.findall(r"@\./([^@]+)@", self.text)
        self.assertEqual(len([n for n in named if n.endswith(".vdb")]) % 3, 0)
        for name in named:
            self.assertTrue((self.cache / name).exists(), name)
        clips = re.search(r'templateAssetPath = "\./(.*)"', self.text)[1]
        for frame in (1, 2, 3):
            self.assertTrue((self.cache / clips.replace("####", f"{frame:04d}")).exists())

    def test_motion_goes_by_both_names(self):
        for name in ("vel", "velocity"):
            self.assertIn(f"rel field:{name} = </my_shot_1/volume/vel>", self.text)

    def test_what_moves_has_a_pose_in_every_frame(self):
        box = self.text[self.text.index('"box"'):]
        self.assertIn("2: (1.5, 0, 0),", box)
        ground = self.text[self.text.index('"ground"'):self.text.index('"box"')]
        self.assertIn("double3 xformOp:translate = (0, 0, 0)", ground)

    def test_again_gives_the_same_bytes(self):
        before = {p.name: p.read_bytes() for p in self.cache.glob("*.usd*")}
        firn("usd", self.cache)
        self.assertEqual(before, {p.name: p.read_bytes() for p in self.cache.glob("*.usd*")})

    def test_what_cannot_be_done_is_said(self):
        self.assertIn("beside the files", firn("usd", self.cache, "-o", "a/b.usda", code=2))
        self.assertIn("manifest", firn("usd", self.cache.parent, code=5))


unittest.main(argv=sys.argv[:1], verbosity=1)
