#!/usr/bin/env python3
"""Runs the `firn` command as its users do.

Usage: cli_test.py PROGRAM [unittest arguments]"""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from cli_support import Firn, ROOT, SCENE, files_of, main

COMMANDS = ("new check preview estimate cook resume wedge submit collider info describe picture "
            "render report measure usd bench manual").split()


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


class Measure(Firn):
    def test_snow_in_flight_is_one_piece(self):
        self.firn("cook", self.scene, "--quiet", "--set", "ball.center=0 5 0")
        cache = self.folder / "cache/tiny/v1"
        found = json.loads(self.firn("measure", "pieces", cache, "--json"))
        self.assertEqual((found["from"], found["frame"], found["lost"]), (1, 5, 0))
        for within in ("within_0.25", "within_0.1"):
            self.assertGreater(found[within]["whole"], 0.999)
            self.assertGreater(found[within]["pieces"], 0.999)
            self.assertEqual(len(found[within]["sizes_m3"]), 1)
            self.assertAlmostEqual(found[within]["sizes_m3"][0], 4.19e-3, delta=2e-4)
        self.assertIn("in 1 pieces above 20 cm3", self.firn("measure", "pieces", cache))
        packed = json.loads(self.firn("measure", "packing", cache, "--frame", "3", "--json"))
        self.assertEqual(packed["frame"], 3)
        self.assertAlmostEqual(packed["height_after_m"], packed["height_before_m"], delta=1e-3)
        self.assertAlmostEqual(packed["density_after"], 400, delta=4)
        self.assertIn("height after", self.firn("measure", "packing", cache))

    def test_what_cannot_be_measured_is_refused(self):
        self.firn("cook", self.scene, "--quiet", "--frames", "1-2")
        cache = self.folder / "cache/tiny/v1"
        for words, code, said in ((("size", cache), 2, "pieces or packing"),
                                  (("pieces", cache, "--piece", "big"), 2, "cm3"),
                                  (("pieces", cache, "--dust", "40"), 2, "dust"),
                                  (("pieces", cache, "--frame", "77"), 5, "frame 77")):
            self.firn("measure", *words, code=code)
            self.assertIn(said, self.err)
        self.firn("measure", "pieces", self.folder / "nowhere", code=5)


class Describe(Firn):
    def test_the_manual_page_is_what_the_tables_say(self):
        self.assertEqual(self.firn("describe", "--markdown"),
                         (ROOT / "docs/parameters.md").read_text(),
                         "run: firn describe --markdown > docs/parameters.md")
        self.assertEqual(self.firn("describe", "--channels", "--markdown"),
                         (ROOT / "docs/channels.md").read_text(),
                         "run: firn describe --channels --markdown > docs/channels.md")

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


class Bench(Firn):
    def measure(self, *words):
        return json.loads(self.firn("bench", "--json", "--particles", "2000", *words))

    def test_substeps_at_their_fastest_cost_no_more_than_the_best_round(self):
        cost = self.measure("--steps", "4", "--rounds", "3")
        # Printed with two digits.
        self.assertLessEqual(cost["undisturbed_ns"], cost["ns_per_particle_step"] + 0.01)
        self.assertGreater(cost["undisturbed_ns"], 0)

    def test_a_single_round_was_never_faster(self):
        cost = self.measure("--steps", "4", "--rounds", "1")
        self.assertAlmostEqual(cost["undisturbed_ns"] / cost["ns_per_particle_step"], 1, 2)

    def test_long_rounds_are_timed_as_a_whole(self):
        cost = self.measure("--steps", "101", "--rounds", "1")
        self.assertEqual(cost["undisturbed_ns"], 0)

    def test_rounds_are_counted_from_one(self):
        self.firn("bench", "--rounds", "0", code=2)
        self.assertIn("--rounds must be 1 to 1000000, not '0'", self.err)


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
            ("preset is 'frost'", ["wedge", self.scene, "--vary", "snow.preset=wet,frost"]),
            ("no setting 'frames'; set first and last",
             ["cook", self.scene, "--set", "frames=1-3"]),
            ("--frames 0-2: the shot has frames 1 to 5", ["cook", self.scene, "--frames", "0-2"]),
            ("--frames 4-9: the shot has frames 1 to 5", ["wedge", self.scene, "--vary",
                                                          "snow.hardening=5,6", "--frames", "4-9"]),
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

    def test_check_reads_every_input(self):
        for number in range(1, 6):
            text = "v 0 0 0\nv 500 0 0\nv 0 0 500\nv 0 500 0\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n"
            Path(self.folder, f"big.{number:04}.obj").write_text(text)
        words = ["check", self.scene, "--set", "ground.shape=mesh", "--set",
                 "ground.file=big.$F4.obj", "--set", "ground.mesh_voxel_size=10"]
        self.assertIn("inputs: 2 read", self.firn(*words))
        self.assertIn("if it is in centimeters, set file_unit to cm", self.err)
        self.firn(*words, "--set", "ground.mesh_voxel_size=0.05", code=2)
        self.assertRegex(self.err, "voxels of .*if it is in centimeters, set file_unit to cm")
        self.refused(6, "big.*a mesh.*set shape to mesh", *words, "--set", "ground.shape=level_set")
        Path(self.folder, "big.0003.obj").unlink()
        self.refused(5, r"big.0003.*sequence_missing = hold", *words)
        self.assertIn("ready", self.firn(*words, "--set", "ground.sequence_missing=hold"))
        self.refused(1, "no file of points", "check", self.scene, "--set", "ball.region=points",
                     "--set", "ball.file=big.0001.obj")
        Path(self.folder, "big.0003.obj").write_text("v 1 2\n")
        self.assertIn("inputs: 2 read", self.firn(*words))
        self.firn(*words, "--all-frames", code=10)
        self.assertIn("big.0003.obj", self.err)

    def test_check_lists_every_problem(self):
        text = Path(self.scene).read_text().replace('"sources": "ball",', "")
        (self.folder / "bad.firn").write_text(text)
        self.firn("check", "bad.firn", "--set", "ground.shape=mesh", code=6)
        self.assertEqual(len(re.findall("(?m)^error: ", self.err)), 2, self.err)
        self.assertRegex(self.err, "(?m)^warning: ball is not linked")

    def test_diverged(self):
        self.refused(4, "frame 2: .*diverged", "cook", self.scene, "--set", "solver.speed_limit=1")

    def test_the_limit_of_memory_is_that_of_the_process(self):
        words = ("cook", self.scene, "--quiet", "--base", "big", "--set", "ball.radius=0.7",
                 "--set", "raster.voxel_size=0.005", "--frames", "1")
        self.refused(3, "memory", *words, "--max-memory", "60")
        self.assertFalse(list(self.folder.glob("big/**/*.vdb")))
        self.assertFalse(list(self.folder.glob("big/**/*.tmp.*")))

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
        self.refused(8, "other settings: solver.cell_size = 0.05, not 0.04;", "resume", self.scene,
                     "--set", "solver.cell_size=0.04")
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
        first = self.start("cook", self.scene, "--set", "last=5000")
        self.wait_for(first, "^frame 1 ")
        self.refused(9, rf"\b{first.pid}\b", "cook", self.scene)
        self.refused(9, rf"\b{first.pid}\b", "resume", self.scene)
        first.kill()
        first.wait()
        self.firn("resume", self.scene, "--quiet")

    def test_disk_full(self):
        full = self.folder / "full"
        full.mkdir()
        mounted = ["unshare", "-rm", "sh", "-c",
                   'mount -t tmpfs -o size=300k none "$0" && exec "$@"', str(full)]
        probe = subprocess.run([*mounted, "true"], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("no file system can be mounted here")
        done = subprocess.run([*mounted, *self.command("cook", self.scene, "--base", full)],
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
            process = self.start("cook", self.scene, "--set", "last=5000", "--base", base,
                                 "--set", "solver.checkpoint_frames=0")
            self.wait_for(process, "^frame 2 ")
            process.send_signal(number)
            _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, code, err)
            self.assertIn(f"stopped by {number.name} after a checkpoint", err)
            self.assertTrue(list(base.glob("tiny/v1/checkpoints/*.chk")))
            self.assertIn("cache: partial", self.firn("check", self.scene, "--base", base))


class Preview(Firn):
    """What comes in is drawn and told, without a cook."""

    def test_three_frames_side_by_side(self):
        lines = self.firn("preview", self.scene, "--size", "64x48", "-o",
                          "p.png").splitlines()
        data = (self.folder / "p.png").read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(int.from_bytes(data[16:20], "big"), 3 * 64)
        self.assertEqual([line for line in lines if line.startswith("frame")],
                         ["frame 1", "frame 3", "frame 5"])
        ball = next(line for line in lines if "ball" in line)
        self.assertIn("0.2 x 0.2 x 0.2 m around (0 0.12 0), up to 3 m/s", ball)
        self.assertIn("without bounds", next(line for line in lines if "ground" in line))
        self.assertFalse((self.folder / "cache").exists())

    def test_keys_give_a_collider_its_speed(self):
        scene = json.loads(Path(self.scene).read_text())
        # 1 m in 4 frames of 1/96 s.
        scene["nodes"]["ground"] = {"type": "collider", "params": {
            "shape": "sphere", "radius": 0.5,
            "translation": {"keys": [[1, [0, 0, 0]], [5, [1, 0, 0]]], "interpolation": "linear"}}}
        out = self.firn("preview", self.write_scene("keys.firn", scene), "--size", "64x48", "-o",
                        "p.png")
        last = [line for line in out.splitlines() if "ground" in line][-1]
        self.assertIn("1 x 1 x 1 m around (1 0 0), up to 24 m/s", last)

    def test_the_air_that_it_snows_in_neither_hides_nor_shrinks_the_shot(self):
        scene = json.loads(Path(self.scene).read_text())
        plain = self.firn("preview", self.scene, "--size", "64x48", "-o", "a.png")
        scene["nodes"]["fall"] = {"type": "snowfall", "params": {
            "center": [0, 20, 0], "half_size": [40, 20, 40]}}
        out = self.firn("preview", self.write_scene("fall.firn", scene), "--size", "64x48", "-o",
                        "b.png")
        self.assertIn("fall             source   80 x 40 x 80 m", out)
        self.assertEqual(out.splitlines()[-1].split(": ")[1], plain.splitlines()[-1].split(": ")[1])
        self.assertIn("m wide", out.splitlines()[-1])
        # Flakes, no body: nearly all of the picture is what it was.
        self.assertLess(abs((self.folder / "a.png").stat().st_size /
                            (self.folder / "b.png").stat().st_size - 1.0), 0.25)

    def test_what_cannot_be_drawn_is_refused(self):
        for word, words in (("-o takes a .png", ["-o", "a.gif"]), ("--size", ["--size", "9"])):
            self.firn("preview", self.scene, *words, code=2)
            self.assertIn(word, self.err)
        self.firn("preview", self.scene, "--set", "ground.shape=mesh", "--set",
                  "ground.file=nowhere.abc", code=5)
        self.assertIn("nowhere.abc", self.err)
        self.assertFalse((self.folder / "preview.png").exists())


class Collider(Firn):
    def test_a_still_mesh_is_one_file(self):
        words = ["--set", "ground.shape=mesh", "--set", f"ground.file={ROOT}/docs/scenes/wedge.obj"]
        self.assertEqual(self.firn("collider", self.scene, "ground", *words), "ground.vdb\n")
        self.assertRegex(self.firn("info", "ground.vdb"), "surface")
        self.firn("collider", self.scene, "ground", "-o", "g.$F4.vdb", *words, code=2)
        self.assertIn("keeps its shape", self.err)
        self.firn("collider", self.scene, "ground", *words, code=11)
        self.assertIn("'ground.vdb' is there already; --overwrite", self.err)
        self.firn("collider", self.scene, "ground", "--overwrite", *words)

    def test_a_mesh_that_deforms_is_a_file_for_each_frame(self):
        words = ["--set", "ground.shape=mesh", "--set", "ground.deforming=true",
                 "--set", f"ground.file={ROOT}/docs/scenes/walker.abc", "--frames", "2-4x2",
                 "--set", "ground.mesh_voxel_size=0.06"]
        self.assertEqual(self.firn("collider", self.scene, "ground", *words),
                         "ground.0002.vdb\nground.0004.vdb\n")
        self.assertRegex(self.firn("info", "ground.0004.vdb"), r"(?s)surface.*vel")
        self.firn("collider", self.scene, "ground", "-o", "g.vdb", *words, code=2)
        self.assertIn("-o 'ground.$F4.vdb'", self.err)

    def test_check_tells_what_a_shot_asks_beyond_an_animation(self):
        blob = ROOT / "tests/fixtures/alembic/mesh_deform.abc"  # frames 1 to 12 at 24 per second
        for frames, more, said in (
                ((1, 12), [], None),
                ((1, 20), [],
                 "asks for 1 to 20: it stands still after frame 12 of the shot; last = 12 "),
                ((1, 20), ["ground.time_outside=hold"], None),
                ((1, 20), ["ground.time_offset=4"], "after frame 8 of the shot; last = 8 "),
                ((-3, 12), [], "it stands still before frame 1 of the shot; time_offset = 4 "),
                ((20, 30), [], "nothing moves; time_offset = -19 ")):
            scene = {**SCENE, "fps": 24, "frames": frames}
            words = ["ground.shape=mesh", "ground.deforming=true", f"ground.file={blob}",
                     "ground.mesh_voxel_size=0.1", "ground.velocity_from=motion", *more]
            self.firn("check", self.write_scene("beyond.firn", scene),
                      *(word for pair in words for word in ("--set", pair)))
            with self.subTest(frames=frames, more=more):
                if said is None:
                    self.assertEqual(self.err, "")
                else:
                    self.assertIn(said, self.err)

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
        self.firn("cook", self.scene, *files, "--set", "last=3", "--overwrite", code=10)
        self.assertRegex(self.err, r"ground, frame 1: .*wall\.0002\.vdb")

    def test_what_is_no_mesh_is_refused(self):
        self.firn("collider", self.scene, "ground", code=2)
        self.assertIn("only meshes and level sets", self.err)
        self.firn("collider", self.scene, "ball", code=2)
        self.assertIn("no collider 'ball'", self.err)


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

    def test_bytes_on_disk_are_those_of_the_files(self):
        words = ["--set", "solver.cell_size=0.0125", "--set", "raster.voxel_size=0.0125",
                 "--frames", "1-2"]
        guess = json.loads(self.firn("estimate", self.scene, "--json", *words))
        self.firn("cook", self.scene, "--quiet", *words)
        place = self.folder / "cache/tiny/v1"
        self.firn("usd", place)
        size = lambda *ends: sum(p.stat().st_size for p in place.iterdir() if p.suffix in ends)
        self.assertAlmostEqual(size(".bgeo", ".abc", ".vdb") / guess["disk_bytes"], 1.0, delta=0.2)
        self.assertAlmostEqual(size(".usdc", ".usda") / guess["usd_bytes"], 1.0, delta=0.2)

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
        self.assertTrue((self.folder / "cube.obj").exists())
        shutil.rmtree(self.examples)  # the scene has all that it needs beside it
        (self.folder / "away").mkdir()
        for name in ("mesh.firn", "cube.obj"):
            (self.folder / name).rename(self.folder / "away" / name)
        self.firn("check", "away/mesh.firn")
        self.assertNotIn(str(self.folder), (self.folder / "away/mesh.firn").read_text())

    def test_a_mesh_that_is_there_stays(self):
        (self.folder / "cube.obj").write_text("mine")
        self.firn("new", "mesh", code=11, env=self.env)
        self.assertIn("cube.obj' is there already; --force", self.err)
        self.assertEqual((self.folder / "cube.obj").read_text(), "mine")

    def test_a_file_that_is_there_stays(self):
        (self.folder / "mine.firn").write_text("mine")
        self.firn("new", "tiny", "-o", "mine.firn", code=11, env=self.env)
        self.assertIn("--force", self.err)
        self.assertEqual((self.folder / "mine.firn").read_text(), "mine")
        self.firn("new", "tiny", "-o", "mine.firn", "--force", env=self.env)

    def test_a_folder_that_is_missing_is_named(self):
        self.firn("new", code=5, env={"FIRN_SCENES": str(self.folder / "none")})
        self.assertIn("FIRN_SCENES", self.err)


if __name__ == "__main__":
    main()
