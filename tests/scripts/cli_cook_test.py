#!/usr/bin/env python3
"""Cooks, resumes and wedges as users of the `firn` command do.

Usage: cli_cook_test.py PROGRAM [unittest arguments]"""

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
import time

from cli_support import Firn, SCENE, files_of, main


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
        self.firn("cook", self.scene, "--log-json", "--set", "solver.speed_limit=1", "--overwrite",
                  code=4)
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
        self.assertRegex(text.decode(), r"\[#*\.*\] +\d+%  frame \d of 5  ETA .*substeps")
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
        shutil.rmtree(self.folder / "cache")
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
        process = self.start("resume", self.scene, "--set", "last=5000")
        self.wait_for(process, "^frame 6 ")
        process.terminate()
        process.communicate(timeout=30)
        manifest = json.loads((self.folder / "cache/tiny/v1/manifest.json").read_text())
        there = f"last={manifest['frames'][-1]['frame']}"
        found = self.cook("cache", "--resume", "--set", there)
        expected = self.cook("whole", "--set", there)
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
        before = files_of(manifest.parent)
        for command in ("cook", "resume"):
            self.firn(command, self.scene, code=10)
            self.assertRegex(self.err, r"manifest\.json.*overwrite cooks every frame again")
        self.assertEqual(files_of(manifest.parent), before)
        self.assertIn("5 frames written", self.firn("resume", self.scene, "--overwrite"))
        self.assertRegex(self.err, r"warning: .*manifest\.json.*every frame is cooked again")
        self.assert_same_files(files_of(manifest.parent), expected, "cooked again")

    def test_usr1_writes_a_checkpoint_and_goes_on(self):
        process = self.start("cook", self.scene, "--set", "last=5000",
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
        process = self.start("wedge", self.scene, "--vary", "snow.hardening=5,6,7", "--set",
                             "last=5000", "--only", "0")
        self.wait_for(process, "^frame 1 ")
        process.kill()
        process.wait()
        self.assertEqual(self.statuses(), {"5": "cooking", "6": "failed", "7": "done"})
        self.firn(*vary, "--quiet", "--overwrite")
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


if __name__ == "__main__":
    main()
