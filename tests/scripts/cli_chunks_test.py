#!/usr/bin/env python3
"""Later stages in many processes: one cache, the same bytes as from one.

Usage: cli_chunks_test.py PROGRAM [unittest arguments]"""

import json
import os
import signal

from cli_support import Firn, SCENE, files_of, main

FINER = ("--set", "raster.voxel_size=0.03")


def copy_of(scene):
    return json.loads(json.dumps(scene))


class Chunks(Firn):
    def setUp(self):
        super().setUp()
        scene = copy_of(SCENE)
        scene["nodes"]["dust"] = {"type": "write_volume", "params": {"name": "dust"},
                                  "inputs": {"volume": "raster"}}
        scene["nodes"]["picture"] = {
            "type": "render", "inputs": {"volume": "raster", "colliders": "ground"},
            "params": {"width": 24, "height": 16, "samples": 2, "thread_count": 1}}
        scene["frames"] = [1, 8]
        self.scene = self.write_scene("tiny.firn", scene)
        self.place = self.folder / "cache/tiny/v1"

    def whole(self, *words):
        """The files of a cook in one process."""
        self.firn("cook", self.scene, "--base", self.folder / "whole", "--quiet", *words)
        return files_of(self.folder / "whole/tiny/v1")

    def simulate(self):
        self.firn("cook", self.scene, "--only", "points,archive", "--quiet")

    def chunk(self, *words, code=0):
        return self.firn("cook", self.scene, "--from-cache", "--quiet", *words, code=code)

    def assert_same(self, expected):
        found = files_of(self.place)
        self.assertEqual(sorted(found), sorted(expected))
        for name in expected:
            if name != "resolved.firn":  # has the base
                self.assertEqual(found[name], expected[name], name)

    def wait_all(self, processes, codes=(0,)):
        for process in processes:
            process.wait()
            self.assertIn(process.returncode, codes, process.stderr.read())

    def test_many_processes_leave_the_bytes_of_one(self):
        self.simulate()
        self.assertIn("cache: partial", self.firn("check", self.scene))
        ranges = ("1-4", "3-6", "5-8", "1-8x3")  # frames of two, too
        self.wait_all([self.start("cook", self.scene, "--from-cache", "--frames", frames)
                       for frames in ranges], codes=(0, 9))
        self.chunk()
        self.assertIn("cache: complete", self.firn("check", self.scene))
        self.assert_same(self.whole())
        self.firn("resume", self.scene, "--quiet")
        self.assert_same(files_of(self.folder / "whole/tiny/v1"))
        self.assertFalse((self.place / "frames").exists())

    def test_later_stages_run_while_the_simulation_does(self):
        simulation = self.start("cook", self.scene, "--only", "points,archive")
        self.wait_for(simulation, "^frame 2 ")
        simulation.send_signal(signal.SIGSTOP)
        self.chunk(code=5)
        self.assertRegex(self.err, r"\d of the frames \d to 8 were not simulated yet")
        self.assertTrue((self.place / "dust_v1.0002.vdb").exists())
        # What is there is known at once, before anybody merged it.
        self.assertTrue(list((self.place / "frames").glob("dust.*.json")))
        self.assertRegex(self.firn("info", self.place), r"(?m)^ +2 .*dust_v1\.0002\.vdb")
        self.assertRegex(self.firn("check", self.scene), "locked: process")
        simulation.send_signal(signal.SIGCONT)
        simulation.communicate()
        self.assertEqual(simulation.returncode, 0)
        self.chunk()
        self.assert_same(self.whole())

    def test_a_frame_looks_the_same_whatever_is_there(self):
        words = ("--size", "24x16", "--samples", "2", "--threads", "1", "--quiet", "--frames", "2")
        self.firn("cook", self.scene, "--frames", "1-2", "--quiet")
        self.firn("render", self.place, *words, "-o", "early.png")
        self.firn("resume", self.scene, "--quiet")
        self.firn("render", self.place, *words, "-o", "late.png")
        early, late = ((self.folder / f"{n}.png").read_bytes() for n in ("early", "late"))
        self.assertEqual(early, late)
        # And the ball is in it: another camera sees something else.
        self.firn("render", self.place, *words, "--zoom", "0.2", "-o", "far.png")
        self.assertNotEqual(early, (self.folder / "far.png").read_bytes())

    def test_other_voxels_need_no_simulation(self):
        self.firn("cook", self.scene, "--quiet")
        stamps = {p.name: p.stat().st_mtime_ns for p in self.place.glob("*.bgeo")}
        self.chunk(*FINER, code=8)
        self.assertIn("raster.voxel_size = 0.04, not 0.03", self.err)
        self.wait_all([self.start("cook", self.scene, "--from-cache", "--overwrite", "--resume",
                                  "--frames", frames, *FINER) for frames in ("1-4", "5-8")])
        self.chunk(*FINER)
        self.assertEqual(stamps, {p.name: p.stat().st_mtime_ns for p in self.place.glob("*.bgeo")})
        self.assert_same(self.whole(*FINER))
        # Other snow cannot come from these particles.
        self.chunk("--overwrite", "--set", "solver.cfl=0.3", code=8)
        self.assertIn("simulated from other settings", self.err)
        self.assert_same(files_of(self.folder / "whole/tiny/v1"))

    def test_a_killed_chunk_and_damaged_records_are_made_good(self):
        self.simulate()
        process = self.start("cook", self.scene, "--from-cache")
        self.wait_for(process, "^frame 3 ")
        process.kill()
        process.wait()
        records = sorted((self.place / "frames").glob("*.json"))
        self.assertGreaterEqual(len(records), 6)
        records[0].write_text("{")
        records[1].write_text(records[1].read_text().replace("dust_v1", "../dust"))
        (self.place / "frames/dust.0008.lock").write_text("elsewhere 1234 2020-01-01T00:00:00Z\n")
        self.chunk(code=9)  # a host that may be alive
        self.assertIn("1 frames", self.err)
        self.chunk("--break-lock")
        self.assert_same(self.whole())

    def test_what_a_chunk_cannot_do_is_refused(self):
        self.chunk(code=5)
        self.assertIn("nothing was simulated", self.err)
        self.simulate()
        self.chunk("--only", "points", code=2)
        self.assertIn("straight from the simulation", self.err)
        self.chunk("--only", "pionts", code=2)
        self.assertIn("these do: ", self.err)
        outside = self.folder / "outside"
        outside.mkdir()
        os.symlink(outside, self.place / "frames")
        self.chunk(code=10)
        self.assertEqual(list(outside.iterdir()), [])


if __name__ == "__main__":
    main()
