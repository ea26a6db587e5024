#!/usr/bin/env python3
"""`mpirun -n N firn cook`: the files of one process for any number of ranks, after kills too.

Usage: ranks_test.py PROGRAM MPIRUN [slow] [unittest arguments]"""

import copy
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from cli_support import SCENE, Firn, files_of

SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}

# Each rank says who it is in a file, or becomes something else than the others.
WRAPPER = """#!/bin/bash
echo $$ > "$FIRN_PIDS/$OMPI_COMM_WORLD_RANK"
if [ "$OMPI_COMM_WORLD_RANK" = "${ODD_RANK:-none}" ]; then eval "$ODD"; fi
exec "$@"
"""


def scene_of(**solver):
    scene = copy.deepcopy(SCENE)
    scene["frames"] = [1, 4]
    scene["nodes"]["solver"]["params"].update(solver)
    return scene


def emitting():
    """Snow that flows in, sleeps where it lies, and meets a box that moves."""
    scene = scene_of(sleep_speed=0.5, sleep_time=0.01)
    scene["nodes"]["ball"]["params"].update(end=0.03, radius=0.08)
    scene["nodes"]["box"] = {"type": "collider", "params": {
        "shape": "box", "half_size": [0.05, 0.05, 0.05],
        "translation": {"keys": [[1, [-0.2, 0.1, 0]], [5, [0.0, 0.1, 0]]]}}}
    scene["nodes"]["solver"]["inputs"]["colliders"] = ["ground", "box"]
    return scene


class Ranks(Firn):
    def setUp(self):
        super().setUp()
        self.pids = self.folder / "pids"
        self.pids.mkdir()
        self.wrapper = self.folder / "rank.sh"
        self.wrapper.write_text(WRAPPER)
        self.wrapper.chmod(0o755)

    def launch(self, count, *words, env=None, options=()):
        shutil.rmtree(self.pids)
        self.pids.mkdir()
        return subprocess.Popen(
            [self.mpirun, "-n", str(count), *options, str(self.wrapper), *self.command(*words)],
            cwd=self.folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **SETTINGS, "FIRN_PIDS": str(self.pids), **(env or {})})

    def ranks(self, count, *words, code=0, env=None, options=(), seconds=120):
        process = self.launch(count, *words, env=env, options=options)
        try:
            self.out, self.err = process.communicate(timeout=seconds)
        finally:
            process.kill()
        self.assertEqual(process.returncode, code, f"{count} {words}\n{self.out}\n{self.err}")

    def files(self, scene, base, count, *words, threads=1):
        """What a cook leaves, all of it but timing.json; count 0: the plain program."""
        place = self.folder / "cache"
        shutil.rmtree(place, ignore_errors=True)
        words = ["cook", scene, "--quiet", "--threads", threads, *words]
        if count == 0:
            self.firn(*words)
        else:
            self.ranks(count, *words, seconds=600)
        place.rename(self.folder / base)
        found = files_of(self.folder / base)
        self.assertFalse([n for n in found if "partial" in n or n.endswith(".lock")])
        return found

    def assert_same(self, files, expected, what):
        self.assertEqual(sorted(files), sorted(expected), what)
        # Threads are a setting, which the resolved graph repeats.
        for name in expected:
            self.assertTrue(files[name] == expected[name], f"{what}: {name} differs")


class Bits(Ranks):
    def test_every_file_has_the_bytes_of_one_process(self):
        scenes = {"explicit": (scene_of(), [(2, 1), (3, 1)]),
                  "implicit": (scene_of(integrator="implicit"), [(2, 1)]),
                  "emitting": (emitting(), [(2, 2)])}
        for name, (scene, cases) in scenes.items():
            path = self.write_scene(f"{name}.firn", {**scene, "name": name})
            for threads in sorted({t for _, t in cases}):
                one = self.files(path, f"{name}_one_{threads}", 0, threads=threads)
                self.assertGreater(len([n for n in one if n.endswith(".chk")]), 0)
                for count, t in cases:
                    if t == threads:
                        self.assert_same(self.files(path, f"{name}_{count}_{t}", count, threads=t),
                                         one, f"{name}, {count} ranks of {t} threads")

    def test_more_ranks_than_blocks(self):
        scene = scene_of()
        scene["frames"] = [1, 2]
        scene["nodes"]["ball"]["params"]["radius"] = 0.02
        path = self.write_scene("small.firn", scene)
        one = self.files(path, "one", 0)
        self.assert_same(self.files(path, "eight", 8), one, "8 ranks")

    def test_timing_tells_how_the_work_was_shared(self):
        self.files(self.write_scene("s.firn", scene_of()), "two", 2)
        frames = json.loads(next((self.folder / "two").rglob("timing.json")).read_text())["frames"]
        last = frames["4"]
        self.assertEqual(last["ranks"], 2)
        self.assertGreater(last["rank_sent"], 0)
        self.assertGreaterEqual(last["rank_seconds_most"], last["rank_seconds"])


class Farm(Ranks):
    def setUp(self):
        super().setUp()
        self.scene = self.write_scene("shot.firn", {**scene_of(), "name": "shot",
                                                    "frames": [1, 12]})
        self.place = self.folder / "cache/shot/v1"

    def kill_after(self, count, frame, victim, number, wait=0.0):
        """Sends a signal to a rank when a frame is there."""
        process = self.launch(count, "resume", self.scene, "--quiet", "--threads", 1)
        end = time.monotonic() + 200
        while not (self.place / f"shot_v1.{frame:04d}.bgeo").exists():
            self.assertLess(time.monotonic(), end, "no frame came")
            self.assertIsNone(process.poll(), "it ended by itself")
            time.sleep(0.005)
        time.sleep(wait)
        os.kill(int((self.pids / str(victim)).read_text()), number)
        begun = time.monotonic()
        self.out, self.err = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begun, 20, "the others went on")
        return process.returncode

    def quiet(self):
        files = self.files(self.scene, "quiet", 0)
        return files

    def assert_frames_whole(self):
        if (self.place / "manifest.json").exists():
            self.firn("info", self.place, "--verify")

    def test_a_killed_rank_ends_all_and_another_number_goes_on(self):
        quiet = self.quiet()
        self.assertEqual(self.kill_after(3, 3, 1, signal.SIGKILL), 128 + signal.SIGKILL)
        self.assert_frames_whole()
        # By a signal it leaves in peace, with a checkpoint, whichever rank it was that got it.
        code = self.kill_after(2, 6, 1, signal.SIGTERM)
        self.assertIn(code, [130, 143])
        self.assertFalse((self.place / ".lock").exists())
        self.firn("resume", self.scene, "--quiet", "--threads", 1)
        self.assert_same(files_of(self.folder / "cache"), quiet, "after a kill and a stop")

    def test_ranks_go_on_where_the_plain_program_stopped(self):
        quiet = self.quiet()
        self.firn("cook", self.scene, "--quiet", "--frames", "1-5", "--threads", 1)
        self.ranks(2, "resume", self.scene, "--quiet", "--threads", 1)
        self.assert_same(files_of(self.folder / "cache"), quiet, "resumed by two ranks")
        self.ranks(2, "resume", self.scene, "--quiet", "--threads", 1)  # nothing to do
        self.assert_same(files_of(self.folder / "cache"), quiet, "resumed twice")

    def test_ranks_that_differ_do_not_begin(self):
        for odd, code, sentence in [
                ('set -- "$@" --set ball.radius=0.05', 8, "rank 1 has another scene"),
                ("export FIRN_ISA=scalar", 8, "rank 1 has another instruction set"),
                ("cd /", 5, "rank 1: there is no scene")]:
            self.ranks(2, "cook", "shot.firn", code=code, env={"ODD_RANK": "1", "ODD": odd})
            self.assertIn(sentence, self.err)
            self.assertFalse(self.place.exists())

    def test_a_full_disk_is_one_exit_code_and_nothing_half_written(self):
        self.ranks(2, "cook", self.scene, "--quiet", code=1, options=["--mca", "btl", "self,tcp"],
                   env={"ODD_RANK": "0", "ODD": "trap '' XFSZ; ulimit -f 8"})
        for name in files_of(self.folder / "cache"):
            self.assertNotIn(".tmp.", name)
        self.ranks(2, "cook", self.scene, "--quiet", "--overwrite", "--frames", "1-2")

    def test_without_the_library_of_ranks_a_sentence_says_so(self):
        place = Path(self.program).parent
        bare = self.folder / "bare"
        bare.mkdir()
        shutil.copy(self.program, bare / "firn")
        for library in place.glob("libfirn*.so.0"):
            if "mpi" not in library.name:
                (bare / library.name).symlink_to(library)
        done = subprocess.run([bare / "firn", "cook", self.scene], capture_output=True, text=True,
                              env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2"}, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("libfirn_mpi.so.0 cannot be loaded", done.stderr)
        # On purpose alone it needs no other.
        subprocess.run([bare / "firn", "cook", self.scene, "--alone", "--quiet"], check=True,
                       env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2"})

    def test_the_program_needs_no_mpi(self):
        for name in [self.program, *Path(self.program).parent.glob("libfirn*.so.0")]:
            if "mpi" in Path(name).name:
                continue
            needed = subprocess.run(["readelf", "-d", name], capture_output=True, text=True,
                                    check=True).stdout
            self.assertNotRegex(needed, r"NEEDED.*libmpi")


EXAMPLES = {
    # What the issue of several ranks must show: kind, example, frames, settings.
    "explicit": ("snowball_smash", "1-4", ["solver.cell_size=0.05"]),
    "implicit": ("snowball_drop", "1-3", ["solver.cell_size=0.06"]),
    "sleeping": ("castle", "1-3", ["solver.cell_size=0.09"]),
    "emitting": ("snowfall_cylinders", "1-5", ["solver.cell_size=0.06"]),
    "deforming": ("walking_character", "1-4", ["solver.cell_size=0.12"]),
    "keyed": ("snowplow", "1-4", ["solver.cell_size=0.12"]),
}


class Examples(Ranks):
    """Minutes: label slow."""

    def test_every_file_of_six_examples_has_the_bytes_of_one_process(self):
        for kind, (name, frames, settings) in EXAMPLES.items():
            self.firn("new", name, "-o", f"{kind}.firn")
            words = ["--frames", frames, "--set", "solver.checkpoint_frames=1"]
            for setting in settings:
                words += ["--set", setting]
            scene = json.loads((self.folder / f"{kind}.firn").read_text())
            for node, what in list(scene["nodes"].items()):
                if what["type"] in ("render", "fine_particles"):
                    del scene["nodes"][node]
            scene["base"] = "cache"
            path = self.write_scene(f"{kind}.firn", scene)
            for threads in (1, 2):
                one = self.files(path, f"{kind}_one_{threads}", 0, *words, threads=threads)
                for count in (1, 2, 3, 5, 8):
                    many = self.files(path, f"{kind}_{count}_{threads}", count, *words,
                                      threads=threads)
                    self.assert_same(many, one, f"{kind}, {count} ranks of {threads} threads")
                    shutil.rmtree(self.folder / f"{kind}_{count}_{threads}")
                    print(f"{kind}: {count} ranks x {threads} threads, {len(one)} files",
                          file=sys.stderr)


class Moments(Farm):
    """Minutes: label slow."""

    def test_twenty_kills_at_random_moments(self):
        scene = {**scene_of(), "name": "shot", "frames": [1, 60]}
        self.scene = self.write_scene("shot.firn", scene)
        quiet, dice, frame = self.quiet(), random.Random(24), 1
        for kill in range(20):
            count = dice.choice([1, 2, 3, 4])
            have = [int(re.search(r"\.(\d+)\.bgeo$", p.name)[1])
                    for p in self.place.glob("shot_v1.*.bgeo")] if self.place.exists() else []
            frame = max([0, *have]) + dice.randint(1, 2)
            code = self.kill_after(count, frame, dice.randrange(count), signal.SIGKILL,
                                   dice.uniform(0.0, 0.1))
            self.assertEqual(code, 128 + signal.SIGKILL)
            self.assert_frames_whole()
        self.ranks(3, "resume", self.scene, "--quiet", "--threads", 1, seconds=300)
        self.assert_same(files_of(self.folder / "cache"), quiet, "after twenty kills")


if __name__ == "__main__":
    Firn.program = str(Path(sys.argv.pop(1)).resolve())
    Ranks.mpirun = sys.argv.pop(1)
    if len(sys.argv) > 1 and sys.argv[1] == "slow":
        sys.argv.pop(1)
        for group in (Bits, Farm):
            for name in [n for n in dir(group) if n.startswith("test_")]:
                if name in vars(group):
                    delattr(group, name)
    else:
        del Examples, Moments
    unittest.main()
