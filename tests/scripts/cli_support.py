"""What the tests of the `firn` command share: a small shot, and a folder to cook it in."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Memory, where there is such a place: every frame is synced to its disk.
SCRATCH = next((d for d in ["/dev/shm"] if os.access(d, os.W_OK)), None)
SCENE = {
    "firn": 1,
    "name": "tiny",
    "fps": 96,
    "frames": [1, 5],
    "comment": "A small ball falls on the floor",
    "nodes": {
        "snow": {"type": "material"},
        "ball": {
            "type": "snow_source",
            "params": {"center": [0, 0.12, 0], "radius": 0.1, "velocity": [0, -3, 0]},
            "inputs": {"material": "snow"},
        },
        "ground": {"type": "collider", "params": {"shape": "plane"}},
        "solver": {
            "type": "solver",
            "params": {"cell_size": 0.05, "checkpoint_frames": 1, "thread_count": 1},
            "inputs": {"sources": "ball", "colliders": "ground"},
        },
        "raster": {
            "type": "rasterize",
            "params": {"voxel_size": 0.04, "thread_count": 1},
            "inputs": {"particles": "solver"},
        },
        "points": {
            "type": "write_particles",
            "params": {"format": "bgeo"},
            "inputs": {"particles": "solver"},
        },
        "archive": {
            "type": "write_particles",
            "params": {"name": "archive"},
            "inputs": {"particles": "solver"},
        },
        "volume": {"type": "write_volume", "inputs": {"volume": "raster"}},
    },
}


def files_of(folder):
    """Names and bytes of all that a cook wrote, but for the file that tells how long it took."""
    paths = (p for p in sorted(Path(folder).rglob("*")) if p.is_file() and p.name != "timing.json")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}


class Firn(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="firn_cli_", dir=SCRATCH))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.scene = self.write_scene("tiny.firn", SCENE)

    def write_scene(self, name, scene):
        path = self.folder / name
        path.write_text(json.dumps(scene, indent=1))
        return str(path)

    def command(self, *words):
        return [self.program, *map(str, words)]

    def firn(self, *words, code=0, env=None):
        """Runs a command, checks its exit code and returns its output."""
        done = subprocess.run(self.command(*words), cwd=self.folder, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        self.out, self.err = done.stdout, done.stderr
        return done.stdout

    def start(self, *words, **settings):
        """Starts a command whose end the test decides about."""
        process = subprocess.Popen(self.command(*words), cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **settings)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, process, pattern):
        """Reads output up to a line with the pattern."""
        for line in process.stdout:
            if re.search(pattern, line):
                return line
        self.fail(f"no line with {pattern}: {process.stderr.read()}")

    def cook(self, base, *words, code=0):
        """Cooks into a folder, over what is there, and returns the files."""
        if "--resume" not in words:
            words += ("--overwrite",)
        self.firn("cook", self.scene, "--base", self.folder / base, "--quiet", *words, code=code)
        return files_of(self.folder / base / "tiny" / "v1")


def main():
    """Runs the tests of the program that the first argument names."""
    Firn.program = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
