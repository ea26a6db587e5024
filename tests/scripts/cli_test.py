#!/usr/bin/env python3
"""Runs the `firn` command as its users do. Usage: cli_test.py PROGRAM [unittest arguments]"""

import csv
import json
import os
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Memory, where there is such a place: every frame is synced to its disk.
SCRATCH = next((d for d in ["/dev/shm"] if os.access(d, os.W_OK)), None)
COMMANDS = ("new check estimate cook resume wedge collider info describe picture render report "
            "bench").split()
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
        return [PROGRAM, *map(str, words)]

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
        self.firn("cook", self.scene, "--base", self.folder / base, "--quiet", *words, code=code)
        return files_of(self.folder / base / "tiny" / "v1")


class Help(Firn):
    def test_help_mentions_every_command(self):
        text = self.firn("--help")
        for name in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {name} ")
        self.assertEqual(re.findall(r"(?m)^  (\w+)  +[a-z]", text)[: len(COMMANDS)], COMMANDS)

    def test_every_command_teaches_with_examples_of_its_own(self):
        for name in COMMANDS:
            text = self.firn(name, "--help")
            self.assertIn(f"Usage: firn {name}", text)
            self.assertRegex(text, rf"For example:\n  firn {name}")
            self.assertEqual(text, self.firn("help", name))

    def test_nothing_to_do_is_a_usage_error_that_shows_the_help(self):
        self.assertIn("Usage: firn COMMAND", self.firn(code=2))

    def test_the_manual_has_every_exit_code(self):
        codes = re.findall(r"(?m)^ +(\d+)  (.+)$", self.firn("--help"))
        manual = (ROOT / "docs/cli.md").read_text()
        self.assertEqual(re.findall(r"(?m)^\| (\d+) \| ([^|]+) \|", manual), codes)
        for name in COMMANDS:
            self.assertIn(f"firn {name}", manual)


class Describe(Firn):
    def test_the_manual_page_is_what_the_tables_say(self):
        self.assertEqual(self.firn("describe", "--markdown"),
                         (ROOT / "docs/parameters.md").read_text(),
                         "run: firn describe --markdown > docs/parameters.md")

    def test_json_has_every_node_and_its_parameters(self):
        tables = json.loads(self.firn("describe", "--json"))
        nodes = {node["name"]: node for node in tables["nodes"]}
        listed = re.findall(r"(?m)^  (\w+) ", self.firn("describe"))
        self.assertEqual(list(nodes), listed)
        row = {p["name"]: p for p in nodes["solver"]["params"]}["cell_size"]
        self.assertEqual((row["type"], row["unit"]), ("float", "m"))
        self.assertLess(row["min"], row["default"])
        self.assertEqual([i["name"] for i in nodes["solver"]["inputs"]][0], "sources")
        for name in listed:
            self.assertEqual(json.loads(self.firn("describe", name, "--json")), nodes[name])
            for param in nodes[name]["params"]:
                self.assertRegex(self.firn("describe", name), rf"(?m)^.  {param['name']} ")
                break

    def test_an_unknown_node_has_a_suggestion(self):
        self.firn("describe", "solvr", code=2)
        self.assertIn("did you mean 'solver'?", self.err)


class ExitCodes(Firn):
    def refused(self, code, pattern, *words):
        self.firn(*words, code=code)
        self.assertRegex(self.err, pattern)

    def test_usage(self):
        for pattern, words in (
            ("unknown command 'cok'; did you mean 'cook'", ["cok"]),
            ("unknown option '--frame'; did you mean '--frames'", ["cook", self.scene, "--frame"]),
            ("a value is missing after '--frames'", ["cook", self.scene, "--frames"]),
            ("no value is expected by '--quiet=1'", ["cook", self.scene, "--quiet=1"]),
            ("expected firn cook SHOT.firn", ["cook"]),
            ("one word too many: 'b'", ["cook", "a", "b"]),
            ("--frames takes .* not '5-1', which ends before it begins",
             ["cook", self.scene, "--frames", "5-1"]),
            ("not '99999999999'", ["cook", self.scene, "--frames", "99999999999"]),
            ("not '1-99999999999'", ["cook", self.scene, "--frames", "1-99999999999"]),
            ("not ' 1-2'", ["cook", self.scene, "--frames", " 1-2"]),
            ("not '1--'", ["cook", self.scene, "--frames", "1--"]),
            ("not ''", ["cook", self.scene, "--frames", ""]),
            ("not '1-5x0'", ["cook", self.scene, "--frames", "1-5x0"]),
            ("not '1-5y'", ["cook", self.scene, "--frames", "1-5y"]),
            ("there is no node 'solvr'; did you mean 'solver'",
             ["cook", self.scene, "--set", "solvr.cfl=1"]),
            ("has no parameter 'cel_size'; did you mean 'cell_size'",
             ["cook", self.scene, "--set", "solver.cel_size=1"]),
            ("cell_size is -1", ["check", self.scene, "--set", "solver.cell_size=-1"]),
            ("--quality best: quality is 'best'", ["cook", self.scene, "--quality", "best"]),
            ("--threads x: solver.thread_count is 'x'", ["cook", self.scene, "--threads", "x"]),
            ("--max-memory 1GB: .*memory_limit is '1GB'",
             ["cook", self.scene, "--max-memory", "1GB"]),
            ("that is an input", ["cook", self.scene, "--set", "ball.material=snow"]),
            ("no collider 'grond'; did you mean 'ground'", ["collider", self.scene, "grond"]),
            ("-o takes a .png, not 'a.gif'", ["picture", "cache/tiny/v1", "-o", "a.gif"]),
            ("name cannot be varied", ["wedge", self.scene, "--vary", "name=a,b"]),
            ("no example 'nothing'", ["new", "nothing"]),
            ("--vary is needed", ["wedge", self.scene]),
            ("not 'snow.hardening'", ["wedge", self.scene, "--vary", "snow.hardening"]),
            ("from:to:count, not 'snow.hardening=5:9'",
             ["wedge", self.scene, "--vary", "snow.hardening=5:9"]),
            ("preset is 'ice'", ["wedge", self.scene, "--vary", "snow.preset=wet,ice"]),
            ("no setting 'frames'; set first and last",
             ["cook", self.scene, "--set", "frames=1-3"]),
            ("frame 0 is before the first frame", ["cook", self.scene, "--frames", "0-2"]),
        ):
            self.firn(*words, code=2, env={"FIRN_SCENES": str(self.folder)})
            self.assertRegex(self.err, pattern)
        self.assertFalse((self.folder / "cache").exists())

    def test_missing_scene_or_input(self):
        for command in ("cook", "resume", "check", "estimate"):
            self.refused(5, "there is no scene 'none.firn'", command, "none.firn")
            self.refused(5, r"ball.file: there is no file '.*none\.obj'", command, self.scene,
                         "--set", "ball.region=mesh", "--set", "ball.file=none.obj")
        self.refused(5, "there is no file 'none.abc'", "info", "none.abc")

    def test_invalid_graph(self):
        text = Path(self.scene).read_text()
        for pattern, old, new in (
            (r"bad\.firn:\d+: .*'radus'; did you mean 'radius'", '"radius"', '"radus"'),
            (r"bad\.firn:\d+: solver: .*did you mean 'solver'", '"type": "solver"',
             '"type": "solvr"'),
            (r"bad\.firn:\d+: solver\.sources: there is no node 'bal'; did you mean 'ball'",
             '"sources": "ball"', '"sources": "bal"'),
            (r"name is 'a/b'", '"name": "tiny"', '"name": "a/b"'),
            (r"base: the environment has no variable 'FIRN_NONE'", '"fps"',
             '"base": "$FIRN_NONE/cache", "fps"'),
            (r"'nods'; did you mean 'nodes'", '"nodes"', '"nods"'),
            (r"bad\.firn:\d+", '"firn": 1,', '"firn": 1'),
            (r"solver .* needs a source", '"sources"', '"material"'),
        ):
            self.assertIn(old, text)
            changed = text.replace(old, new)
            if "needs" in pattern:
                changed = text.replace('"sources": "ball",', "")
            (self.folder / "bad.firn").write_text(changed)
            for command in ("check", "cook"):
                self.refused(6, pattern, command, "bad.firn")

    def test_check_lists_every_problem(self):
        text = Path(self.scene).read_text().replace('"sources": "ball",', "")
        (self.folder / "bad.firn").write_text(text)
        self.firn("check", "bad.firn", "--set", "ground.shape=mesh", code=6)
        self.assertEqual(len(re.findall("(?m)^error: ", self.err)), 2, self.err)
        self.assertRegex(self.err, "(?m)^warning: ball is not linked")

    def test_diverged(self):
        self.refused(4, "frame 2: .*diverged", "cook", self.scene, "--set", "solver.speed_limit=1")

    def test_out_of_memory(self):
        self.refused(3, "memory limit", "cook", self.scene, "--max-memory", "0.01")

    def test_damaged_input(self):
        (self.folder / "bad.obj").write_text("v 0 0 z\n")
        self.refused(10, "line 1: a coordinate is not a number", "cook", self.scene,
                     "--set", "ball.region=mesh", "--set", "ball.file=bad.obj")
        self.refused(10, "line 1", "info", "bad.obj")

    def test_a_mistake_removes_nothing_of_a_cache(self):
        expected = self.cook("cache")
        self.cook("cache", "--frames", "0-2", code=2)
        self.assertEqual(files_of(self.folder / "cache/tiny/v1"), expected)
        self.refused(5, "no particles of frame 99", "picture", "cache/tiny/v1", "--frame", "99")
        self.refused(5, "'cache/tiny' is no cache", "info", "cache/tiny")
        self.refused(5, "'cache/tiny' is no cache", "report", "cache/tiny")

    def test_stale_cache(self):
        self.cook("cache")
        self.assertIn("cache: complete", self.firn("check", self.scene))
        self.refused(8, "other settings", "resume", self.scene, "--set", "solver.cell_size=0.04")
        self.assertIn("cache: stale",
                      self.firn("check", self.scene, "--set", "solver.cell_size=0.04"))
        self.firn("resume", self.scene, "--threads", "2", "--max-memory", "1000")

    def test_a_file_counts_by_its_contents(self):
        mesh = self.folder / "cube.obj"
        mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
                        "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
        words = ["--set", "ball.region=mesh", "--set", "ball.file=cube.obj", "--set",
                 "ball.mesh_voxel_size=0.05", "--frames", "1"]
        state = lambda: re.search(r"cache: (\w+)", self.firn("check", self.scene, *words))[1]
        self.firn("cook", self.scene, "--quiet", *words)
        self.assertEqual(state(), "partial")
        os.utime(mesh, (1e9, 1e9))
        self.assertEqual(state(), "partial")
        times = mesh.stat().st_atime_ns, mesh.stat().st_mtime_ns
        mesh.write_text(mesh.read_text().replace("v 0 0 1", "v 0 0 2"))
        os.utime(mesh, ns=times)
        self.assertEqual(state(), "stale", "changed, with the same size and time")

    def test_locked_by_another_writer(self):
        first = self.start("cook", self.scene, "--frames", "1-5000")
        self.wait_for(first, "^frame 1 ")
        self.refused(9, rf"\b{first.pid}\b", "cook", self.scene)
        self.refused(9, rf"\b{first.pid}\b", "resume", self.scene)
        first.kill()
        first.wait()
        self.firn("cook", self.scene, "--quiet")

    def test_disk_full(self):
        full = self.folder / "full"
        full.mkdir()
        mounted = ["unshare", "-rm", "sh", "-c",
                   'mount -t tmpfs -o size=300k none "$0" && exec "$@"', str(full)]
        probe = subprocess.run([*mounted, "true"], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("no file system can be mounted here")
        done = subprocess.run([*mounted, PROGRAM, "cook", self.scene, "--base", str(full)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertRegex(done.stderr, "(?i)room|full|space")

    def test_a_place_that_cannot_be_written(self):
        self.refused(1, "part of the path is a file", "cook", self.scene, "--base", self.scene)
        self.firn("check", self.scene, "--base", self.scene)
        self.assertRegex(self.err, r"warning: '.*tiny\.firn' is a file; the cache cannot be")
        self.refused(5, "its folder is not there", "new", "wedge", "-o", "none/a.firn")

    def test_signals(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            base = self.folder / str(code)
            process = self.start("cook", self.scene, "--frames", "1-5000", "--base", base,
                                 "--set", "solver.checkpoint_frames=0")
            self.wait_for(process, "^frame 2 ")
            process.send_signal(number)
            _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, code, err)
            self.assertIn(f"stopped by {number.name} after a checkpoint", err)
            self.assertTrue(list(base.glob("tiny/v1/checkpoints/*.chk")))
            self.assertIn("cache: partial", self.firn("check", self.scene, "--base", base))


class Collider(Firn):
    def test_a_still_mesh_is_one_file(self):
        words = ["--set", "ground.shape=mesh", "--set", f"ground.file={ROOT}/docs/scenes/wedge.obj"]
        self.assertEqual(self.firn("collider", self.scene, "ground", *words), "ground.vdb\n")
        self.assertRegex(self.firn("info", "ground.vdb"), "surface")
        self.firn("collider", self.scene, "ground", "-o", "g.$F4.vdb", *words, code=2)
        self.assertIn("keeps its shape", self.err)

    def test_a_mesh_that_deforms_is_a_file_for_each_frame(self):
        words = ["--set", "ground.shape=mesh", "--set", "ground.deforming=true",
                 "--set", f"ground.file={ROOT}/docs/scenes/walker.abc", "--frames", "2-4x2",
                 "--set", "ground.mesh_voxel_size=0.06"]
        self.assertEqual(self.firn("collider", self.scene, "ground", *words),
                         "ground.0002.vdb\nground.0004.vdb\n")
        self.assertRegex(self.firn("info", "ground.0004.vdb"), r"(?s)surface.*vel")
        self.firn("collider", self.scene, "ground", "-o", "g.vdb", *words, code=2)
        self.assertIn("-o 'ground.$F4.vdb'", self.err)

    def test_numbered_files_deform_without_being_told_to(self):
        words = ["--set", "ground.shape=mesh", "--set", "ground.file=wall.obj",
                 "--set", "ground.mesh_voxel_size=0.05"]
        for frame, height in (("0001", 0), ("0002", 1), ("0003", 2)):
            (self.folder / "wall.obj").write_text(
                f"v 0 {height} 0\nv 1 {height} 0\nv 0 {height + 1} 0\nv 0 {height} 1\n"
                "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
            self.firn("collider", self.scene, "ground", *words, "-o", f"wall.{frame}.vdb")
        files = ["--set", "ground.shape=level_set", "--set", "ground.file=wall.$F4.vdb",
                 "--frames", "1-3"]
        self.firn("cook", self.scene, "--quiet", *files, "--set", "last=3")
        (self.folder / "wall.0002.vdb").unlink()
        self.firn("cook", self.scene, *files, "--set", "last=3", code=5)
        self.assertIn("wall.0002.vdb", self.err)
        (self.folder / "wall.0002.vdb").write_bytes(b"damaged")
        self.firn("cook", self.scene, *files, "--set", "last=3", code=10)
        self.assertRegex(self.err, r"ground, frame 1: .*wall\.0002\.vdb")

    def test_what_is_no_mesh_is_refused(self):
        self.firn("collider", self.scene, "ground", code=2)
        self.assertIn("only meshes and level sets", self.err)
        self.firn("collider", self.scene, "ball", code=2)
        self.assertIn("no collider 'ball'", self.err)


class Cook(Firn):
    def test_a_cook_leaves_whole_files_and_says_what_it_did(self):
        text = self.firn("cook", self.scene)
        self.assertEqual(re.findall(r"(?m)^frame (\d+)  \d+ particles  \d+ substeps", text),
                         list("12345"))
        percents = [int(p) for p in re.findall(r"(?m)^ALF_PROGRESS (\d+)%$", text)]
        self.assertEqual(percents, sorted(set(percents)))
        self.assertEqual((percents[0], percents[-1]), (0, 100))
        folder = self.folder / "cache/tiny/v1"
        self.assertIn("all 11 files are whole", self.firn("info", folder, "--verify"))
        frames = json.loads(self.firn("info", folder, "--json"))["frames"]
        self.assertEqual([f["frame"] for f in frames], [1, 2, 3, 4, 5])
        for name, pattern in (("tiny_v1.0003.bgeo", "point +P "), ("archive_v1.abc", "points"),
                              ("tiny_v1.0003.vdb", "density"), ("resolved.firn", "solver")):
            self.assertRegex(self.firn("info", folder / name), pattern)
        checkpoint = sorted(folder.glob("checkpoints/*.chk"))[0]
        text = self.firn("info", checkpoint)
        self.assertRegex(text, r"checkpoint by firn \d.*, checksum [0-9a-f]{16}")
        self.assertRegex(text, r"frame 4 of node solver\n.*cache of 'tiny'.*graph [0-9a-f]{16}")
        count = f"{frames[3]['particles']:.0f}"
        self.assertRegex(text, rf"{count} particles in \d+ blocks at 0.03125 s")
        self.assertRegex(text, "cell size 0.05 m, quadratic kernel, apic transfer, explicit")
        (self.folder / "cut.chk").write_bytes(checkpoint.read_bytes()[:-1])
        self.firn("info", "cut.chk", code=10)
        (folder / "tiny_v1.0002.bgeo").write_bytes(b"x")
        self.firn("info", folder, "--verify", code=10)
        self.assertIn("tiny_v1.0002.bgeo", self.err)

    def test_the_resolved_graph_cooks_to_the_same_files_from_anywhere(self):
        first = self.cook("cache", "--set", "solver.cell_size=0.04")
        resolved = self.folder / "cache/tiny/v1/resolved.firn"
        self.firn("cook", resolved, "--base", self.folder / "again", "--quiet")
        second = files_of(self.folder / "again/tiny/v1")
        for name in ("tiny_v1.0005.bgeo", "archive_v1.abc"):
            self.assertEqual(first[name], second[name])

    def test_quiet_prints_nothing(self):
        self.assertEqual(self.firn("cook", self.scene, "--quiet") + self.err, "")

    def test_json_log_has_an_object_per_line(self):
        events = [json.loads(line) for line in
                  self.firn("cook", self.scene, "--log-json").splitlines()]
        self.assertEqual([e["event"] for e in events if e["event"] != "progress"],
                         ["start", *["frame"] * 5, "done"])
        self.assertGreater(events[1]["particles"], 100)
        self.firn("cook", self.scene, "--log-json", "--set", "solver.speed_limit=1", code=4)
        last = json.loads(self.out.splitlines()[-1])
        self.assertEqual((last["event"], last["exit"]), ("failed", 4))
        self.assertIn("diverged", last["message"])

    def test_what_keeps_a_cook_from_beginning_is_in_the_json_log(self):
        for code, pattern, words in (
            (2, "no parameter 'x'", ["--set", "solver.x=1"]),
            (5, "none.obj", ["--set", "ball.region=mesh", "--set", "ball.file=none.obj"]),
        ):
            for command in (["cook"], ["wedge", "--vary", "snow.hardening=5,6", "--only", "0"]):
                lines = self.firn(*command, self.scene, "--log-json", *words, code=code)
                event = json.loads(lines.splitlines()[-1])
                self.assertEqual((event["event"], event["exit"]), ("failed", code))
                self.assertRegex(event["message"], pattern)
                self.assertRegex(self.err, pattern)

    def test_a_terminal_gets_a_bar(self):
        screen, terminal = pty.openpty()
        process = subprocess.Popen(self.command("cook", self.scene), cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=terminal,
                                   stderr=subprocess.STDOUT)
        os.close(terminal)
        text = b""
        try:
            while piece := os.read(screen, 65536):
                text += piece
        except OSError:
            pass  # the other end is closed
        os.close(screen)
        self.assertEqual(process.wait(), 0)
        self.assertRegex(text.decode(), r"\[#*\.*\] +\d+%  frame \d of 5 .*substeps.*ETA")
        self.assertNotIn(b"ALF_PROGRESS", text)

    def test_frames_thin_the_output_and_not_the_simulation(self):
        every = self.cook("every")
        some = self.cook("some", "--frames", "3-5x2")
        names = {n for n in every if re.search(r"^tiny.*000[35]", n)}
        self.assertEqual({n for n in some if re.search(r"^tiny.*\.000", n)}, names)
        for name in names:
            if name.endswith(".bgeo"):
                self.assertEqual(some[name], every[name])

    def test_sets_and_quality_change_what_is_cooked(self):
        scene = json.loads(json.dumps(SCENE))
        scene["nodes"]["solver"]["final"] = {"cell_size": 0.04}
        self.scene = self.write_scene("tiny.firn", scene)
        preview = self.cook("a")["tiny_v1.0003.bgeo"]
        self.assertNotEqual(preview, self.cook("b", "--quality", "final")["tiny_v1.0003.bgeo"])
        self.assertNotEqual(preview, self.cook("c", "--set", "ball.radius=0.12", "--set",
                                               "solver.cfl=0.3")["tiny_v1.0003.bgeo"])

    def test_threads_do_not_change_a_bit(self):
        one, two = self.cook("one", "--threads", "1"), self.cook("two", "--threads", "2")
        self.assertEqual(set(one), set(two))
        for name in one:
            if name != "resolved.firn":  # which has the number of threads
                self.assertEqual(one[name], two[name], name)

    def assert_same_files(self, found, expected, when):
        self.assertEqual(sorted(found), sorted(expected), when)
        for name in expected:
            self.assertEqual(found[name], expected[name], f"{name}, {when}")

    def test_killed_at_any_moment_a_resume_leaves_the_same_files(self):
        begun = time.monotonic()
        expected = self.cook("cache")
        duration = time.monotonic() - begun
        for part in ("manifest.json", "resolved.firn", "checkpoints/solver.0005.chk"):
            self.assertIn(part, expected)
        moments, kills = random.Random(7), 0
        while kills < 20:
            shutil.rmtree(self.folder / "cache")
            for _ in range(2):
                process = self.start("resume", self.scene, "--base", self.folder / "cache",
                                     "--quiet")
                try:
                    process.wait(moments.uniform(0.0, duration))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    kills += 1
            self.assert_same_files(self.cook("cache", "--resume"), expected, f"{kills} kills")

    def assert_resumes(self, last, expected, when):
        """A cook up to a frame and a resume from there leave the same files as one cook."""
        shutil.rmtree(self.folder / "cache")
        self.cook("cache", "--frames", f"1-{last}")
        said = self.firn("resume", self.scene, "--base", self.folder / "cache")
        self.assertIn(f"{5 - last} frame", said, when)
        self.assert_same_files(files_of(self.folder / "cache" / "tiny" / "v1"), expected, when)

    def test_keys_act_and_resume_to_the_same_files(self):
        scene = json.loads(json.dumps(SCENE))
        nodes = scene["nodes"]
        nodes["ball"]["params"]["end"] = 1
        del nodes["archive"]  # one file for all frames, which another range begins anew
        still = self.write_scene("tiny.firn", scene)
        plain = self.cook("still")["tiny_v1.0005.bgeo"]
        seen = {plain}
        for node, param, value in (
            ("solver", "gravity", {"keys": [[1, [0, -9.81, 0]], [5, [9, 30, 0]]]}),
            ("snow", "young_modulus", {"from": 1, "values": [1.4e5, 1e5, 5e4, 2e4, 1e4]}),
            ("snow", "damping", {"keys": [[1, 0], [5, 2e-3]]}),
            ("ground", "friction", {"keys": [[1, 0], [5, 2]]}),
            ("ground", "contact", {"keys": [[1, 0], [3, 2]]}),
            ("ball", "center", {"keys": [[1, [0, 0.12, 0]], [5, [0.1, 0.12, 0]]]}),
            ("ball", "velocity", {"keys": [[2, [0, -3, 0]], [4, [2, -6, 0]]],
                                  "interpolation": "smooth"}),
        ):
            keyed = json.loads(json.dumps(scene))
            keyed["nodes"][node].setdefault("params", {})[param] = value
            self.scene = self.write_scene("tiny.firn", keyed)
            expected = self.cook("cache")
            self.assertNotIn(expected["tiny_v1.0005.bgeo"], seen, param)
            seen.add(expected["tiny_v1.0005.bgeo"])
            self.assert_resumes(3, expected, param)
        self.assertEqual(still, self.scene)

    def test_a_resume_wakes_the_snow_that_a_cook_wakes(self):
        scene = json.loads(json.dumps(SCENE))
        nodes = scene["nodes"]
        nodes["ball"]["params"]["velocity"] = [0, 0, 0]
        del nodes["archive"]
        # Gravity comes to rest with the frame that a resume begins after.
        nodes["solver"]["params"].update({
            "sleep_speed": 1, "sleep_time": 1e-3,
            "gravity": {"keys": [[1, [0, -9.81, 0]], [3, [0, -9, 0]]]}})
        self.scene = self.write_scene("tiny.firn", scene)
        expected = self.cook("cache")
        for last in (2, 3, 4):
            self.assert_resumes(last, expected, f"after {last}")

    def test_stopped_by_a_signal_a_resume_leaves_the_same_files(self):
        expected = self.cook("cache")
        process = self.start("cook", self.scene, "--base", self.folder / "cache")
        self.wait_for(process, "^frame 2 ")
        process.terminate()
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143)
        self.assert_same_files(self.cook("cache", "--resume"), expected, "stopped")

    def test_resume_of_a_complete_cache_does_nothing(self):
        self.cook("cache")
        before = {p: p.stat().st_mtime_ns for p in (self.folder / "cache").rglob("*.bgeo")}
        self.assertIn("0 frames written", self.firn("resume", self.scene))
        self.assertEqual(before, {p: p.stat().st_mtime_ns for p in before})

    def test_a_damaged_frame_is_mended_alone(self):
        expected = self.cook("cache")
        folder = self.folder / "cache/tiny/v1"
        archive = folder / "archive_v1.abc"
        before = archive.stat().st_mtime_ns
        (folder / "tiny_v1.0003.bgeo").write_bytes(b"damaged")
        (folder / "tiny_v1.0005.vdb").unlink()
        self.assertIn("2 frames written", self.firn("resume", self.scene))
        self.assertEqual(archive.stat().st_mtime_ns, before, "an archive that was whole")
        self.assert_same_files(files_of(folder), expected, "mended")

    def test_an_archive_that_was_to_grow_is_no_part_of_the_cache_until_it_has(self):
        self.cook("cache", "--frames", "1-3")
        process = self.start("resume", self.scene, "--frames", "1-5000")
        self.wait_for(process, "^frame 6 ")
        process.terminate()
        process.communicate(timeout=30)
        manifest = json.loads((self.folder / "cache/tiny/v1/manifest.json").read_text())
        there = f"1-{manifest['frames'][-1]['frame']}"
        found = self.cook("cache", "--resume", "--frames", there)
        expected = self.cook("whole", "--frames", there)
        self.assertEqual(found["archive_v1.abc"], expected["archive_v1.abc"])

    def test_an_input_that_was_mended_before_the_first_frame_is_no_other_cache(self):
        mesh = self.folder / "block.obj"
        mesh.write_text("v 0 0 z\n")
        words = ["--set", "ball.region=mesh", "--set", "ball.file=block.obj", "--set",
                 "ball.mesh_voxel_size=0.05", "--frames", "1-2"]
        self.firn("cook", self.scene, *words, code=10)
        mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
                        "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
        self.assertIn("2 frames written", self.firn("resume", self.scene, *words))

    def test_a_manifest_that_cannot_be_read_is_told(self):
        expected = self.cook("cache")
        manifest = self.folder / "cache/tiny/v1/manifest.json"
        manifest.write_bytes(manifest.read_bytes()[:200])
        self.assertIn("5 frames written", self.firn("resume", self.scene))
        self.assertRegex(self.err, r"warning: .*manifest\.json.*every frame is cooked again")
        self.assert_same_files(files_of(manifest.parent), expected, "cooked again")

    def test_usr1_writes_a_checkpoint_and_goes_on(self):
        process = self.start("cook", self.scene, "--frames", "1-5000",
                             "--set", "solver.checkpoint_frames=0")
        self.wait_for(process, "^frame 2 ")
        folder = self.folder / "cache/tiny/v1/checkpoints"
        self.assertEqual(list(folder.glob("*.chk")), [])
        process.send_signal(signal.SIGUSR1)
        frame = int(self.wait_for(process, "^info: a checkpoint follows") and
                    self.wait_for(process, "^frame ").split()[1])
        self.wait_for(process, f"^frame {frame + 2} ")
        self.assertEqual(len(list(folder.glob("*.chk"))), 1)
        self.assertIsNone(process.poll())


class Wedge(Firn):
    def test_every_combination_has_a_folder_and_a_row(self):
        vary = ["--vary", "snow.hardening=5,10", "--vary", "ground.friction=0:1:2"]
        listed = self.firn("wedge", self.scene, *vary, "--list")
        self.assertEqual(listed.splitlines(), [
            "w0  snow.hardening=5  ground.friction=0", "w1  snow.hardening=5  ground.friction=1",
            "w2  snow.hardening=10  ground.friction=0", "w3  snow.hardening=10  ground.friction=1"])
        self.assertFalse((self.folder / "cache").exists())
        self.firn("wedge", self.scene, *vary, "--frames", "1-2", "--quiet")
        folder = self.folder / "cache/tiny/v1"
        with open(folder / "wedges.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([r["folder"] for r in rows], ["w0", "w1", "w2", "w3"])
        self.assertEqual({(r["status"], r["exit"]) for r in rows}, {("done", "0")})
        sheet = (folder / "contact_sheet.png").read_bytes()
        self.assertEqual(sheet[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", sheet[16:24])
        self.assertEqual(width, 2 * 320)
        self.assertGreater(height, 2 * 180)
        for row in rows:
            graph = json.loads((folder / row["folder"] / "resolved.firn").read_text())
            self.assertEqual(graph["wedge"], int(row["wedge"]))
            params = graph["nodes"]["snow"]["params"]
            self.assertEqual(params["hardening"], float(row["snow.hardening"]))
            self.assertTrue((folder / row["folder"] / "manifest.json").exists())

    def statuses(self):
        with open(self.folder / "cache/tiny/v1/wedges.csv", newline="") as file:
            return {r["snow.hardening"]: r["status"] for r in csv.DictReader(file)}

    def test_progress_counts_all_variants(self):
        out = self.firn("wedge", self.scene, "--vary", "snow.hardening=5,6", "--frames", "1-3")
        told = [int(n) for n in re.findall(r"(?m)^ALF_PROGRESS (\d+)%$", out)]
        self.assertEqual(told, sorted(told))
        self.assertEqual((told[0], told[-1]), (0, 100))
        self.assertIn(50, told)

    def test_the_table_tells_how_each_variant_is_doing(self):
        vary = ["wedge", self.scene, "--vary", "snow.hardening=5,6,7", "--frames", "1-2"]
        self.firn(*vary, "--only", "1", "--quiet", "--set", "solver.speed_limit=1", code=4)
        self.assertEqual(self.statuses(), {"5": "waiting", "6": "failed", "7": "waiting"})
        self.firn(*vary, "--only", "2", "--quiet")
        self.assertEqual(self.statuses(), {"5": "waiting", "6": "failed", "7": "done"})
        process = self.start("wedge", self.scene, "--vary", "snow.hardening=5,6,7", "--frames",
                             "1-5000", "--only", "0")
        self.wait_for(process, "^frame 1 ")
        process.kill()
        process.wait()
        self.assertEqual(self.statuses(), {"5": "cooking", "6": "failed", "7": "done"})
        self.firn(*vary, "--quiet")
        self.assertEqual(set(self.statuses().values()), {"done"})

    def test_a_scene_may_list_what_is_varied(self):
        scene = self.write_scene("list.firn", {**SCENE, "vary": ["snow.hardening=5,10",
                                                                 "ground.friction=0:1:2"]})
        listed = self.firn("wedge", scene, "--list").splitlines()
        self.assertEqual(listed[1], "w1  snow.hardening=5  ground.friction=1")
        self.assertEqual(len(listed), 4)
        self.assertEqual(len(self.firn("wedge", scene, "--vary", "snow.hardening=1,2,3",
                                       "--list").splitlines()), 3, "the command line counts")
        self.firn("wedge", scene, "--only", "2", "--frames", "1", "--quiet")
        cooked = json.loads((self.folder / "cache/tiny/v1/w2/resolved.firn").read_text())
        self.assertNotIn("vary", cooked)
        self.assertEqual(cooked["nodes"]["snow"]["params"]["hardening"], 10)
        for wrong in ("snow.hardening=5", [5], {}):
            bad = self.write_scene("bad.firn", {**SCENE, "vary": wrong})
            self.firn("wedge", bad, code=6)
            self.assertRegex(self.err, r"bad\.firn:\d+: vary must be a list")
        self.firn("wedge", self.write_scene("bad.firn", {**SCENE, "vary": ["snow.hardenin=5"]}),
                  "--list", code=2)
        self.assertIn("did you mean 'hardening'?", self.err)

    def test_the_wedge_of_the_paper_has_five_kinds_of_snow(self):
        self.firn("new", "wedge")
        listed = self.firn("wedge", "wedge.firn", "--list").splitlines()
        self.assertEqual([line.split("=")[1] for line in listed],
                         ["paper", "powder", "wet", "icy", "muddy"])

    def test_one_variant_alone(self):
        self.firn("wedge", self.scene, "--vary", "snow.hardening=5,10", "--only", "1",
                  "--frames", "1", "--quiet")
        self.assertEqual([p.name for p in (self.folder / "cache/tiny/v1").glob("w?")], ["w1"])
        self.firn("wedge", self.scene, "--vary", "snow.hardening=5,10", "--only", "2", code=2)

    def test_an_unknown_parameter_has_a_suggestion(self):
        self.firn("wedge", self.scene, "--vary", "snow.hardning=5,10", "--list", code=2)
        self.assertIn("did you mean 'hardening'", self.err)


class Estimate(Firn):
    def test_particles_are_those_that_a_cook_has(self):
        guess = json.loads(self.firn("estimate", self.scene, "--json"))
        self.firn("cook", self.scene, "--frames", "1", "--log-json")
        frame = [json.loads(line) for line in self.out.splitlines()][1]
        self.assertAlmostEqual(guess["particles"] / frame["particles"], 1.0, delta=0.1)
        self.assertGreater(guess["seconds"], 0.0)
        self.assertGreater(guess["disk_bytes"], 0.0)

    def test_finer_cells_take_eight_times_the_particles(self):
        coarse = json.loads(self.firn("estimate", self.scene, "--json"))
        fine = json.loads(self.firn("estimate", self.scene, "--json", "--set",
                                    "solver.cell_size=0.025"))
        self.assertAlmostEqual(fine["particles"] / coarse["particles"], 8.0, delta=0.1)
        self.assertFalse((self.folder / "cache").exists())

    def test_a_mesh_is_measured_quickly(self):
        corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
        faces = "1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"
        (self.folder / "slab.obj").write_text(
            "".join(f"v {0.5 * x} {0.06 * y} {0.4 * z}\n" for x, y, z in corners) +
            "".join(f"f {face}\n" for face in faces))
        words = ["--set", "ball.region=mesh", "--set", "ball.file=slab.obj", "--set",
                 "ball.mesh_voxel_size=0.01", "--set", "solver.cell_size=0.02"]
        guess = json.loads(self.firn("estimate", self.scene, "--json", *words))
        self.assertAlmostEqual(guess["particles"] / (0.5 * 0.06 * 0.4 * 8 / 0.02**3), 1.0,
                               delta=0.1)

    def test_time_knows_that_snow_falls_asleep(self):
        still = ["--set", "ball.region=box", "--set", "ball.half_size=0.3 0.1 0.3", "--set",
                 "ball.center=0 0.1 0", "--set", "ball.velocity=0 0 0", "--set", "fps=4"]
        awake = json.loads(self.firn("estimate", self.scene, "--json", *still))
        asleep = json.loads(self.firn("estimate", self.scene, "--json", *still,
                                      "--set", "solver.sleep_speed=0.1"))
        self.assertLess(asleep["seconds"], 0.6 * awake["seconds"])
        self.assertLess(awake["seconds_low"], awake["seconds"])
        self.assertGreater(awake["seconds_high"], awake["seconds"])

    def test_centimeters_are_noticed(self):
        self.firn("estimate", self.scene, "--set", "solver.gravity=0 -98.1 0")
        self.assertIn("centimeters", self.err)
        self.firn("estimate", self.scene, "--set", "solver.cell_size=0.004", "--set",
                  "ball.radius=0.004")
        self.assertIn("meters", self.err)

    def test_too_little_memory_is_noticed(self):
        self.firn("estimate", self.scene, "--set", "solver.cell_size=0.001", "--set",
                  "ball.radius=3")
        self.assertIn("GB of memory are needed", self.err)


class New(Firn):
    def setUp(self):
        super().setUp()
        self.examples = self.folder / "examples"
        self.examples.mkdir()
        shutil.copy(self.scene, self.examples / "tiny.firn")
        (self.examples / "cube.obj").write_text(
            "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
        scene = json.loads(json.dumps(SCENE))
        scene["nodes"]["ball"]["params"].update(region="mesh", file="cube.obj")
        (self.examples / "mesh.firn").write_text(json.dumps(scene))
        self.env = {"FIRN_SCENES": str(self.examples)}

    def test_examples_are_listed_with_their_comments(self):
        text = self.firn("new", env=self.env)
        self.assertRegex(text, "(?m)^  mesh +A small ball.*\n  tiny +A small ball")

    def test_a_copy_is_ready_to_cook(self):
        self.firn("new", "tiny", "-o", "mine.firn", env=self.env)
        self.assertEqual((self.folder / "mine.firn").read_bytes(), Path(self.scene).read_bytes())
        self.firn("new", "mesh", env=self.env)
        self.firn("check", "mesh.firn")

    def test_a_file_that_is_there_stays(self):
        (self.folder / "mine.firn").write_text("mine")
        self.firn("new", "tiny", "-o", "mine.firn", code=1, env=self.env)
        self.assertIn("--force", self.err)
        self.assertEqual((self.folder / "mine.firn").read_text(), "mine")
        self.firn("new", "tiny", "-o", "mine.firn", "--force", env=self.env)

    def test_a_folder_that_is_missing_is_named(self):
        self.firn("new", code=5, env={"FIRN_SCENES": str(self.folder / "none")})
        self.assertIn("FIRN_SCENES", self.err)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
