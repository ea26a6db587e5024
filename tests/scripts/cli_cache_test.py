#!/usr/bin/env python3
"""What a studio asks of a cache: nothing is lost by accident.

Usage: cli_cache_test.py PROGRAM [unittest arguments]"""

import json
import os
import re
import resource
import shutil
import subprocess
import time
from pathlib import Path

from cli_support import Firn, ROOT, SCENE, files_of, main

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
        # Nor does one frame of other settings take the place of five; all of them do.
        self.firn("cook", self.scene, *OTHER, "--frames", "2", "--overwrite", "--quiet")
        self.assertIn("'archive_v1.abc' stays as it is, with frames 1 to 5 of other", self.err)
        self.assertEqual((self.place / "archive_v1.abc").read_bytes(),
                         self.before["archive_v1.abc"])
        self.firn("cook", self.scene, "--overwrite", "--quiet")
        self.assert_untouched()

    def test_no_command_writes_over_a_scene_or_a_cache(self):
        scene = Path(self.scene).read_bytes()
        for code, words in (
            (2, ["report", self.place, "-o", self.scene]),
            (2, ["report", self.place, "-o", self.place / "manifest.json"]),
            (2, ["new", "snowball_drop", "--force", "-o", self.place / "manifest.json"]),
            (2, ["picture", self.place, "-o", self.scene]),
            (2, ["preview", self.scene, "-o", self.scene]),
            (2, ["render", self.place, "-o", self.scene]),
            (11, ["render", self.place, "--dump-setup", self.place / "manifest.json"]),
        ):
            self.firn(*words, code=code)
            self.assert_untouched()
            self.assertEqual(Path(self.scene).read_bytes(), scene)

    def test_a_wedge_that_is_refused_leaves_its_table(self):
        words = ["wedge", self.scene, "--set", "name=many", "--quiet"]
        table = self.folder / "cache/many/v1/wedges.csv"
        self.firn(*words, "--vary", "ball.radius=0.1,0.08")
        before = files_of(table.parent)
        for values in ("0.1,0.08", "0.2,0.08", "0.1"):  # the same, another, one less
            self.firn(*words, "--vary", f"ball.radius={values}", code=11)
            self.assertTrue(files_of(table.parent) == before, values)
        self.firn(*words, "--vary", "ball.radius=0.2,0.08", "--resume", code=11)
        self.assertIn("tells of variants of other values, w0 for one", self.err)
        self.assertTrue(files_of(table.parent) == before)
        self.firn(*words, "--vary", "ball.radius=0.1,0.08,0.06", "--resume")  # one more
        self.assertIn("2,0.06,w2,done,0", table.read_text().replace("\r", ""))
        self.firn(*words, "--vary", "ball.radius=0.2,0.08", "--overwrite")
        self.assertIn("0,0.2,w0,done,0", table.read_text())

    def test_pictures_of_a_cache_are_not_drawn_over(self):
        text = json.loads(Path(self.scene).read_text())
        text["name"] = "drawn"
        text["nodes"]["picture"] = {
            "type": "render", "inputs": {"volume": "raster"},
            "params": {"width": 16, "height": 12, "samples": 1, "thread_count": 1}}
        place = self.folder / "cache/drawn/v1"
        self.firn("cook", self.write_scene("drawn.firn", text), "--quiet", "--frames", "1-2")
        before = files_of(place)
        for words in (["render", place, "--frames", "1-2", "-o", place / "drawn_v1.$F4.png"],
                      ["render", place, "-o", place / "drawn_v1.0002.png"],
                      ["picture", place, "-o", place / "drawn_v1.0001.png"],
                      ["preview", self.scene, "-o", place / "drawn_v1.0001.png"]):
            self.firn(*words, code=11)
            self.assertIn("is a file of the cache", self.err)
        self.assertEqual(files_of(place), before)
        self.firn("picture", place, "-o", place / "other.png", "--size", "64x48")

    def test_what_the_dead_left_half_written_goes_and_the_living_keep_theirs(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        host, folder = os.uname().nodename, self.place / "checkpoints"
        folder.mkdir(exist_ok=True)
        left = [folder / f"solver.tmp.chk.tmp.{host}.{dead.pid}.0badcafe",
                self.place / f"tiny_v1.0001.bgeo.tmp.{host}.{dead.pid}.0badcafe",
                folder / "solver.tmp.chk"]
        kept = [folder / f"solver.tmp.chk.tmp.{host}.{os.getpid()}.0badcafe",
                *(self.place / name for name in (  # of people
                    "notes.tmp.txt", "shot.tmp.v2.abc", f"a.tmp.{host}.{dead.pid}",
                    "a.tmp.deadbeef", f"a.tmp.{dead.pid}.deadbeef",
                    f"b.tmp.{host}.x{dead.pid}.deadbeef"))]
        for path in (*left, *kept):
            path.write_bytes(b"half")
        self.firn("resume", self.scene, "--quiet", "--set", "last=6")
        self.assertFalse([path for path in left if path.exists()])
        self.assertFalse([path for path in kept if not path.exists()])

    def test_a_shorter_shot_leaves_the_frames_beyond(self):
        self.firn("cook", self.scene, *OTHER, "--set", "last=3", "--overwrite", "--quiet")
        found = files_of(self.place)
        for name in ("tiny_v1.0004.bgeo", "tiny_v1.0005.vdb"):
            self.assertEqual(found[name], self.before[name])
        self.assertIn("frames 4 to 5 are of other settings", self.firn("info", self.place))


class Locks(Cache):
    def setUp(self):
        super().setUp()
        self.lock = self.place / ".lock"
        (self.place / "tiny_v1.0005.vdb").unlink()  # something to do

    def test_a_lock_says_who_and_since_when(self):
        process = self.start("resume", self.scene, "--set", "last=5000")
        self.wait_for(process, "^frame 7 ")
        self.firn("resume", self.scene, code=9)
        self.assertRegex(self.err, rf"process {process.pid} on \S+ since \d{{4}}-\d\d-\d\dT\S+Z, "
                                   r"last heard of \d+ s ago")
        self.assertRegex(self.firn("check", self.scene), rf"locked: process {process.pid} on ")
        # Not even this breaks the lock of a process that lives.
        self.firn("resume", self.scene, "--break-lock", code=9)
        os.utime(self.lock, (1e9, 1e9))
        limit = time.monotonic() + 20
        while self.lock.stat().st_mtime < 1e9 + 1 and time.monotonic() < limit:
            self.wait_for(process, "^frame ")
        self.assertGreater(self.lock.stat().st_mtime, 1e9 + 1, "a sign of life")
        process.kill()
        process.wait()
        self.assertNotIn("locked:", self.firn("check", self.scene))
        self.firn("resume", self.scene, "--quiet")

    def test_the_lock_of_a_dead_host_is_broken_or_expires(self):
        for seconds, words, code in ((5, [], 9), (5, ["--break-lock"], 0), (7200, [], 0)):
            self.lock.write_text("elsewhere 4711 2026-01-01T00:00:00Z\n")
            then = time.time() - seconds
            os.utime(self.lock, (then, then))
            said = self.firn("check", self.scene)
            self.assertEqual("locked: process 4711 on elsewhere" in said, seconds < 1800)
            self.firn("resume", self.scene, "--quiet", *words, code=code)
            if code == 9:
                self.assertRegex(self.err, "4711 on elsewhere since 2026.* break its lock")
            self.assertEqual(self.lock.exists(), code == 9)

    def test_a_writer_whose_lock_was_broken_stops(self):
        process = self.start("resume", self.scene, "--set", "last=5000")
        self.wait_for(process, "^frame 7 ")
        self.lock.unlink()
        self.lock.write_text("elsewhere 4711 2026-01-01T00:00:00Z\n")
        self.assertIn("broken by somebody else", process.communicate(timeout=30)[1])
        self.assertEqual(process.returncode, 9)
        self.assertIn("elsewhere", self.lock.read_text())
        self.firn("resume", self.scene, "--break-lock", "--quiet")
        self.firn("info", self.place, "--verify")


class Versions(Cache):
    """The same settings, another program or processor: other bits."""

    def test_the_program_says_what_it_is_made_of(self):
        self.assertRegex(self.firn("--version"),
                         r"^firn \d+\.\d+\.\d+ \(commit \S+\)\ninstruction set: \w+\n"
                         r"libraries: OpenVDB \d+\S+, OpenEXR \d\S+, libpng \d\S+, zlib \d\S+\n$")

    def test_a_cache_knows_the_instruction_set_and_is_not_mixed(self):
        isa = re.search(r"instruction set: (\w+)", self.firn("--version"))[1]
        self.assertEqual(self.manifest()["isa"], isa)
        self.assertIn(f" with {isa},", self.firn("info", self.place))
        other = {"FIRN_ISA": "scalar"}
        self.firn("resume", self.scene, "--quiet", env=other)  # nothing to do
        (self.place / "tiny_v1.0004.bgeo").unlink()
        before = files_of(self.place)
        self.firn("resume", self.scene, code=8, env=other)
        self.assertRegex(self.err, rf"firn \S+ with {isa}, and this is firn \S+ with scalar")
        self.firn("cook", self.scene, "--overwrite", "--frames", "2-3", code=8, env=other)
        self.assertEqual(files_of(self.place), before)
        self.firn("resume", self.scene, "--allow-mixed", env=other)
        self.assertRegex(self.err, "warning: .*mixed")
        self.assertEqual(self.manifest()["isa"], f"{isa} scalar")
        (self.place / "tiny_v1.0004.bgeo").unlink()
        self.firn("resume", self.scene, code=8)
        self.firn("cook", self.scene, "--overwrite", "--quiet")
        self.assert_untouched()

    def test_another_version_is_not_mixed_either(self):
        path = self.place / "manifest.json"
        path.write_text(re.sub(r'"program": "firn [^"]*"', '"program": "firn 0.0.9"',
                               path.read_text()))
        (self.place / "tiny_v1.0004.bgeo").unlink()
        self.firn("resume", self.scene, code=8)
        self.assertIn("simulated by firn 0.0.9 with", self.err)

    def test_a_scene_and_a_cache_of_0_1_0_are_read(self):
        """The cache was cooked by the first program that called itself 0.1.0."""
        old = self.folder / "old/cache/old/v1"
        old.parent.mkdir(parents=True)
        shutil.copytree(ROOT / "tests/fixtures/cache_0.1.0", old)
        scene = (old / "old.firn").rename(self.folder / "old/old.firn")
        before = files_of(old)
        self.assertIn("all 4 files are whole", self.firn("info", old, "--verify"))
        self.assertIn("by firn 0.1.0,", self.out)
        self.firn("report", old, "-o", "old.html")
        self.firn("picture", old, "-o", "old.png", "--size", "64x48")
        # It is not mixed with what this version would make of the scene, and not thrown away.
        self.firn("cook", scene, code=11)
        self.firn("resume", scene, code=8)
        self.assertIn("another version of Firn", self.err)
        self.assertEqual(files_of(old), before)
        # The scene cooks, and the particles can be gone on with.
        self.firn("cook", scene, "--base", "new", "--quiet")
        text = json.loads(scene.read_text())
        text["nodes"]["ball"]["params"] = {"region": "points",
                                           "file": str(old / "old_v1.0003.bgeo")}
        text["frames"] = [1, 2]
        again = self.write_scene("again.firn", text)
        self.firn("cook", again, "--base", "again", "--quiet")
        self.assertIn(" 61 ", self.firn("info", "again/old/v1"))

    def test_caches_of_0_1_0_go_on(self):
        path = self.place / "manifest.json"
        manifest = self.manifest()
        for key in ("simulation", "isa"):
            del manifest[key]
        for file in manifest["files"] + [f for r in manifest["frames"] for f in r["files"]]:
            file.pop("hash")
            file.pop("frames", None)
        path.write_text(json.dumps(manifest))
        self.assertIn("cache: complete", self.firn("check", self.scene))
        self.firn("resume", self.scene, "--quiet")
        self.firn("resume", self.scene, *OTHER, code=8)
        self.firn("cook", self.scene, code=11)
        (self.place / "tiny_v1.0004.bgeo").unlink()
        self.firn("resume", self.scene, "--quiet")
        found = files_of(self.place)
        for name in self.before:
            if name != "manifest.json":
                self.assertEqual(found[name], self.before[name], name)


class Stages(Cache):
    """A change behind the simulation does not make it run again."""

    FINER = ("--set", "raster.voxel_size=0.03")
    ELSEWHERE = {"FIRN_ISA": "scalar"}  # where a simulation would be refused

    def assert_as_whole(self, scene, *words):
        self.firn("cook", scene, "--base", "whole", "--quiet", *words)
        whole, found = files_of(self.folder / "whole/tiny/v1"), files_of(self.place)
        self.assertEqual(sorted(found), sorted(whole))
        for name in whole:
            if name != "resolved.firn":  # has the base
                self.assertEqual(found[name], whole[name], name)

    def test_another_voxel_size_rasterizes_again_and_simulates_nothing(self):
        self.firn("resume", self.scene, *self.FINER, code=8)
        self.assertIn("raster.voxel_size = 0.04, not 0.03;", self.err)
        self.assert_untouched()
        stamps = self.stamps()
        self.firn("resume", self.scene, *self.FINER, "--overwrite", "--quiet", env=self.ELSEWHERE)
        now = self.stamps()
        changed = {name for name in now if now[name] != stamps.get(name)}
        self.assertEqual({n for n in changed if re.search(r"\.(bgeo|vdb|abc|chk)$", n)},
                         {f"tiny_v1.000{f}.vdb" for f in range(1, 6)})
        self.assert_as_whole(self.scene, *self.FINER)

    def test_particles_of_an_archive_do_as_well(self):
        scene = json.loads(json.dumps(SCENE))
        del scene["nodes"]["points"]
        path = self.write_scene("tiny.firn", scene)
        self.firn("cook", path, "--quiet", "--overwrite")
        for old in self.place.glob("*.bgeo"):
            old.unlink()
        self.firn("resume", path, *self.FINER, "--overwrite", "--quiet", "--frames", "2-4",
                  env=self.ELSEWHERE)
        self.firn("cook", path, *self.FINER, "--base", "whole", "--quiet")
        for frame in (2, 3, 4):
            name = f"tiny_v1.000{frame}.vdb"
            self.assertEqual((self.place / name).read_bytes(),
                             (self.folder / "whole/tiny/v1" / name).read_bytes())
        self.assertEqual((self.place / "tiny_v1.0001.vdb").read_bytes(),
                         self.before["tiny_v1.0001.vdb"])

    def test_a_writer_that_is_added_replaces_nothing(self):
        scene = json.loads(json.dumps(SCENE))
        scene["nodes"]["fine"] = {"type": "rasterize", "params": {"voxel_size": 0.03},
                                  "inputs": {"particles": "solver"}}
        scene["nodes"]["more"] = {"type": "write_volume", "params": {"name": "fine"},
                                  "inputs": {"volume": "fine"}}
        path = self.write_scene("tiny.firn", scene)
        self.firn("resume", path, "--quiet", env=self.ELSEWHERE)
        self.assert_as_whole(path)

    def test_a_stage_that_was_killed_goes_on(self):
        process = self.start("resume", self.scene, *self.FINER, "--overwrite",
                             env={**os.environ, **self.ELSEWHERE})
        self.wait_for(process, "^frame 2")
        process.kill()
        process.wait()
        self.firn("resume", self.scene, *self.FINER, "--quiet", env=self.ELSEWHERE)
        self.assert_as_whole(self.scene, *self.FINER)

    def test_without_particles_that_will_do_it_simulates(self):
        words = ("--set", "points.attributes=v", "--set", "archive.attributes=v")
        self.firn("cook", self.scene, *words, "--quiet", "--overwrite")
        self.firn("resume", self.scene, *words, *self.FINER, "--overwrite", "--quiet")
        self.assert_as_whole(self.scene, *words, *self.FINER)


class Checking(Firn):
    def problems(self, nodes=None, code=6, **shot):
        """What a check says about the shot with some changes."""
        scene = json.loads(json.dumps({**SCENE, **shot}))
        for node, params in (nodes or {}).items():
            scene["nodes"][node].setdefault("params", {}).update(params)
        path = self.write_scene("bad.firn", scene)
        self.firn("check", path, code=code)
        checked = re.findall(r"(?m)^(?:error|warning|firn): (.*)$", self.err)
        if code != 0:  # a cook says the same, and leaves nothing behind
            self.firn("cook", path, "--quiet", code=code)
            self.assertFalse((self.folder / "cache").exists())
        return "\n".join(checked)

    def test_types_are_those_of_json(self):
        for node, param, value in (
            ("ball", "radius", True), ("ball", "radius", "0.2"), ("ball", "radius", [1]),
            ("ball", "center", "0 1 0"), ("ball", "center", [0, True, 0]),
            ("ball", "seed", "x"), ("solver", "warm_start", 1), ("ground", "shape", 0),
            ("ball", "center", {"keys": [[1, True]]}),
        ):
            with self.subTest(param=param, value=value):
                said = self.problems({node: {param: value}})
                self.assertRegex(said, rf"bad\.firn:\d+: {node}.*(must be|has no parameter)")
        self.assertRegex(self.problems(fps=True), "fps must be a number")
        self.assertRegex(self.problems(name=5), "name must be a text")

    def test_every_mistake_of_a_scene_is_told_at_once(self):
        said = self.problems({"ball": {"radios": 1, "center": 3}, "ground": {"friction": "x"}},
                             fps="many", colour=1)
        lines = [int(n) for n in re.findall(r"(?m)^.*bad\.firn:(\d+): ", said)]
        self.assertEqual(len(lines), 5, said)
        for word in ("radios", "center", "friction", "fps", "colour"):
            self.assertIn(word, said)

    def test_every_problem_of_a_shot_is_told_at_once(self):
        (self.folder / "empty.vdb").touch()
        said = self.problems({
            "ball": {"center": [0, 90, 0]},
            "solver": {"domain_lower": [-1, -1, -1], "domain_upper": [1, 1, 1]},
            "archive": {"name": "../out"},
            "points": {"format": "vdb"},
            "ground": {"shape": "level_set", "file": "empty.vdb"},
        }, name="..")
        for pattern in (r"name is '\.\.'", r"name is '\.\./out'",
                        "ball lies outside of the domain", "points and volume write the same file",
                        "nothing can be read from '.*empty.vdb'"):
            self.assertRegex(said, pattern)

    def test_what_a_solver_cannot_do_is_known_before_it_is_cooked(self):
        self.assertRegex(self.problems({"solver": {"domain_lower": [1, 1, 1],
                                                   "domain_upper": [-1, -1, -1]}}), "domain_lower")
        self.assertRegex(self.problems({"solver": {"dt_min": 1e-3, "dt_max": 1e-4}}), "dt_min")
        self.assertRegex(self.problems({"ball": {"radius": 1e-3}}, code=0), "too small for a part")
        self.assertRegex(self.problems({"ball": {"start": 9}}, code=0), "after the last frame")
        self.assertRegex(self.problems({"solver": {"domain_lower": [-1, 0.1, -1]}}, code=0),
                         "reaches out of the domain")

    def test_a_graph_that_writes_nothing_is_refused(self):
        nodes = {n: v for n, v in SCENE["nodes"].items()
                 if n not in ("points", "archive", "volume")}
        path = self.write_scene("bad.firn", {**SCENE, "nodes": nodes})
        for command in ("check", "cook"):
            self.firn(command, path, code=6)
            self.assertIn("no node of the graph writes files", self.err)

    def test_all_damage_is_listed(self):
        self.firn("cook", self.scene, "--quiet")
        place = self.folder / "cache/tiny/v1"
        (place / "tiny_v1.0002.bgeo").write_bytes(b"damaged")
        (place / "archive_v1.abc").write_bytes(b"damaged")
        (place / "tiny_v1.0004.vdb").unlink()
        self.firn("info", place, "--verify", code=10)
        for name in ("tiny_v1.0002.bgeo", "archive_v1.abc", "tiny_v1.0004.vdb"):
            self.assertIn(name, self.err)
        self.assertIn("1 of 11 files are missing and 2 damaged", self.err)
        self.firn("resume", self.scene, "--quiet")
        self.firn("info", place, "--verify")
        (place / "tiny_v1.0004.vdb").unlink()
        self.firn("info", place, "--verify", code=5)


if __name__ == "__main__":
    main()
