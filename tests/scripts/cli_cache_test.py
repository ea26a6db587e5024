#!/usr/bin/env python3
"""What a studio asks of a cache: nothing is lost by accident.

Usage: cli_cache_test.py PROGRAM [unittest arguments]"""

import json
import re
import resource
import subprocess

from cli_support import Firn, SCENE, files_of, main

OTHER = ("--set", "solver.cfl=0.3")  # other snow


class Cache(Firn):
    """A complete cache to begin with."""

    def setUp(self):
        super().setUp()
        self.place = self.folder / "cache/tiny/v1"
        self.firn("cook", self.scene, "--quiet")
        self.before = files_of(self.place)

    def stamps(self):
        return {p.name: p.stat().st_mtime_ns for p in self.place.rglob("*") if p.is_file()}

    def assert_untouched(self):
        self.assertEqual(files_of(self.place), self.before)

    def manifest(self):
        return json.loads((self.place / "manifest.json").read_text())


class Keeping(Cache):
    def test_a_cook_over_a_cache_is_refused_and_says_what_is_there(self):
        stamps = self.stamps()
        self.firn("cook", self.scene, code=11)
        self.assertRegex(self.err, r"cache/tiny/v1' has a cache already: 5 frames, 1 to 5 by firn "
                                   r".* of these settings; resume .* overwrite .* another version")
        self.firn("cook", self.scene, *OTHER, code=11)
        self.assertIn("of other settings: solver.cfl = 0.5, not 0.3;", self.err)
        self.firn("cook", self.scene, "--frames", "2-3", code=11)
        self.firn("resume", self.scene, *OTHER, code=8)
        self.assertRegex(self.err, r"solver\.cfl = .*, not 0\.3; overwrite replaces")
        self.assertEqual(self.stamps(), stamps)
        self.assert_untouched()

    def test_frames_that_are_not_there_need_no_leave(self):
        scene = json.loads(json.dumps(SCENE))
        del scene["nodes"]["archive"]
        scene["name"] = "chunks"
        path = self.write_scene("chunks.firn", scene)
        for frames in ("1-2", "5", "3-4"):
            self.firn("cook", path, "--frames", frames, "--quiet")
        chunks = files_of(self.folder / "cache/chunks/v1")
        self.firn("cook", path, "--base", "whole", "--quiet")
        whole = files_of(self.folder / "whole/chunks/v1")
        for name in whole:
            if not name.startswith(("resolved", "checkpoints")):  # base; those that are kept
                self.assertEqual(chunks[name], whole[name], name)

    def test_frames_over_a_complete_cache_touch_only_those_frames(self):
        stamps = self.stamps()
        self.firn("cook", self.scene, "--frames", "2-3", "--overwrite", "--quiet")
        self.assert_untouched()  # the same settings, the same bytes
        now = self.stamps()
        changed = {name for name in now if now[name] != stamps.get(name)}
        self.assertEqual({n for n in changed if re.search(r"\.(bgeo|vdb|abc)$", n)},
                         {f"tiny_v1.000{f}.{e}" for f in (2, 3) for e in ("bgeo", "vdb")})
        self.assertIn("all 11 files are whole", self.firn("info", self.place, "--verify"))

    def test_other_settings_replace_frame_by_frame(self):
        expected = self.cook("other", *OTHER)
        process = self.start("cook", self.scene, *OTHER, "--overwrite")
        self.wait_for(process, "^frame 3 ")
        process.kill()
        process.wait()
        found = files_of(self.place)
        done = {f["frame"] for f in self.manifest()["frames"] if "hash" not in f}
        self.assertLessEqual({1, 2, 3}, done)
        for frame in range(1, 6):
            name = f"tiny_v1.000{frame}.bgeo"
            self.assertIn(found[name], (self.before[name], expected[name]))
            if frame in done:
                self.assertEqual(found[name], expected[name])
        self.assertEqual(found["archive_v1.abc"], self.before["archive_v1.abc"])
        # The run goes on, and ends as if it had never been killed.
        self.firn("resume", self.scene, *OTHER, "--quiet")
        found = files_of(self.place)
        self.assertEqual(sorted(found), sorted(expected))
        for name in expected:
            if name != "resolved.firn":  # has the base
                self.assertEqual(found[name], expected[name], name)

    def test_a_cook_that_fails_at_the_start_leaves_what_was_there(self):
        (self.folder / "bad.obj").write_text("v 0 0 z\n")
        mesh = ["--set", "ball.region=mesh", "--set"]
        for code, words in (
            (4, ["--set", "solver.speed_limit=1"]),
            (5, [*mesh, "ball.file=none.obj"]),
            (10, [*mesh, "ball.file=bad.obj"]),
            (3, ["--max-memory", "1", "--set", "ball.radius=0.5"]),
        ):
            self.firn("cook", self.scene, "--overwrite", "--quiet", *words, code=code)
            found = files_of(self.place)
            if code == 4:  # the first frame is the state before the first step
                self.assertEqual(found["tiny_v1.0002.bgeo"], self.before["tiny_v1.0002.bgeo"])
                self.firn("cook", self.scene, "--overwrite", "--quiet")
                continue
            self.assertEqual(found, self.before, words)

    def test_a_cook_without_memory_leaves_what_was_there(self):
        for megabytes in (40, 80, 120, 160, 200):
            limit = megabytes << 20
            subprocess.run(self.command("cook", self.scene, *OTHER, "--overwrite", "--quiet",
                                        "--set", "ball.radius=0.9"), cwd=self.folder,
                           capture_output=True, timeout=60, preexec_fn=lambda: resource.setrlimit(
                               resource.RLIMIT_AS, (limit, limit)))
            found = files_of(self.place)
            for name in self.before:
                if re.search(r"000[45]\.(bgeo|vdb)$|archive", name) and name in found:
                    self.assertTrue(found[name], name)
            self.assertEqual(len([n for n in found if n.endswith(".bgeo")]), 5)

    def test_files_without_a_manifest_are_not_replaced(self):
        (self.place / "manifest.json").unlink()
        before = files_of(self.place)
        for command in ("cook", "resume"):
            self.firn(command, self.scene, code=11)
            self.assertRegex(self.err, r"'.*tiny.*' is there, but no manifest that knows it")
        after = files_of(self.place)
        self.assertEqual({n: after[n] for n in before if not n.startswith("checkpoints")},
                         {n: before[n] for n in before if not n.startswith("checkpoints")})

    def test_an_archive_is_not_made_shorter(self):
        self.firn("cook", self.scene, "--frames", "2-3", "--overwrite", "--quiet")
        self.assertEqual((self.place / "archive_v1.abc").read_bytes(),
                         self.before["archive_v1.abc"])
        self.assertEqual(self.manifest()["files"][0]["frames"], [1, 5, 1])

    def test_a_shorter_shot_leaves_the_frames_beyond(self):
        self.firn("cook", self.scene, *OTHER, "--set", "last=3", "--overwrite", "--quiet")
        found = files_of(self.place)
        for name in ("tiny_v1.0004.bgeo", "tiny_v1.0005.vdb"):
            self.assertEqual(found[name], self.before[name])
        self.assertIn("frames 4 to 5 are of other settings", self.firn("info", self.place))


if __name__ == "__main__":
    main()
