#!/usr/bin/env python3
"""The story of a shot on a bad farm, told from end to end: kills, a full disk, a dead host, chunks
of frames in many processes, damage and tampering. It ends with the bytes of a quiet cook.

Usage: cli_story_test.py PROGRAM [unittest arguments]"""

import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

from cli_support import Firn, SCENE, files_of, main

FRAMES = 12


class Story(Firn):
    def setUp(self):
        super().setUp()
        scene = json.loads(json.dumps(SCENE))
        scene["frames"] = [1, FRAMES]
        scene["nodes"]["picture"] = {
            "type": "render", "inputs": {"volume": "raster", "colliders": "ground"},
            "params": {"width": 16, "height": 12, "samples": 1, "thread_count": 1}}
        self.scene = self.write_scene("tiny.firn", scene)
        self.place = self.folder / "cache/tiny/v1"
        self.random = random.Random(7)

    def run_limited(self, *words):
        """With no file larger than 4 kB, as on a disk that is full."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        return subprocess.run(self.command(*words), cwd=self.folder, capture_output=True, text=True,
                              timeout=120, preexec_fn=limit)

    def kill_after(self, pattern, *words):
        """Kills a command without warning once it has said something, or a moment later."""
        process = self.start(*words)
        for line in process.stdout:
            if pattern in line:
                break
        time.sleep(self.random.uniform(0.0, 0.02))
        process.kill()
        process.wait()

    def assert_frames_whole(self):
        """What the manifest names is there as it says, at any moment of the story."""
        if (self.place / "manifest.json").exists():
            self.firn("info", self.place, "--verify")
            self.assertIn("are whole", self.out)

    def test_a_shot_survives_a_bad_farm(self):
        only = ("--only", "points,archive")
        # A disk that is full: a sentence, an exit code, and what is there is whole.
        full = self.run_limited("cook", self.scene, *only, "--quiet")
        self.assertIn(full.returncode, (1, 7), full.stderr)
        self.assert_frames_whole()
        # Ten kills, each a little later; after each the cache is whole as far as it goes.
        for number in range(10):
            self.kill_after(f"frame {number + 1} ", "resume", self.scene, *only)
            self.assert_frames_whole()
        # A host that died with the lock in its hand.
        (self.place / ".lock").write_text("render017 4711 2026-01-01T00:00:00Z\n")
        self.firn("resume", self.scene, *only, code=9)
        self.assertIn("process 4711 on render017", self.err)
        stamp = time.time() - 3600.0
        os.utime(self.place / ".lock", (stamp, stamp))
        self.firn("resume", self.scene, *only, "--quiet")
        # Later stages: four processes with frames in common, one of them killed.
        chunks = [self.start("cook", self.scene, "--from-cache", "--frames", frames)
                  for frames in ("1-5", "4-9", "8-12", "1-12x2")]
        self.wait_for(chunks[0], "^frame 2 ")
        chunks[0].kill()
        for chunk in chunks:
            chunk.wait()
        self.assert_frames_whole()
        # Somebody's editor, somebody's broken disk, somebody's bad joke.
        (self.place / "tiny_v1.0003.vdb").write_bytes(b"not a volume")
        (self.place / "tiny_v1.0004.png").unlink()
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "solver.0011.chk").write_text("precious")
        shutil.rmtree(self.place / "checkpoints")
        os.symlink(outside, self.place / "checkpoints")
        self.firn("cook", self.scene, "--from-cache", "--quiet")
        # A frame that has to be simulated again would leave its checkpoints there.
        (self.place / "tiny_v1.0009.bgeo").unlink()
        self.firn("resume", self.scene, "--quiet", code=10)
        self.assertIn("checkpoints' is no folder of the cache; remove it", self.err)
        self.assertEqual([(p.name, p.read_text()) for p in outside.iterdir()],
                         [("solver.0011.chk", "precious")])
        os.unlink(self.place / "checkpoints")
        self.firn("resume", self.scene, "--quiet")
        # In the end it is as if nothing had happened.
        found = files_of(self.place)
        self.firn("cook", self.scene, "--base", self.folder / "quiet", "--quiet")
        expected = files_of(self.folder / "quiet/tiny/v1")
        kept = {n for n in expected if not n.startswith(("checkpoints/", "resolved"))}
        self.assertEqual({n for n in found if not n.startswith(("checkpoints/", "resolved"))}, kept)
        for name in kept:
            self.assertEqual(found[name], expected[name], name)
        # And nobody can throw it away by mistake.
        for words, code in ((["cook"], 11), (["cook", "--set", "solver.cfl=0.3"], 11),
                            (["resume", "--set", "solver.cfl=0.3"], 8),
                            (["cook", "--from-cache", "--set", "raster.voxel_size=0.1"], 8),
                            (["cook", "--frames", "3-99"], 2)):
            self.firn(words[0], self.scene, *words[1:], code=code)
        self.assertEqual({n: b for n, b in files_of(self.place).items() if n in kept},
                         {n: expected[n] for n in kept})

    def test_nothing_outside_is_written_through_a_file_of_the_cache(self):
        """Links of both kinds, and pipes, in the place of each file that a cook opens."""
        self.firn("cook", self.scene, "--quiet")
        expected = files_of(self.place)
        shutil.rmtree(self.place)
        self.kill_after("frame 2 ", "cook", self.scene)
        killed, precious = self.folder / "killed", self.folder / "precious"
        text = f"{socket.gethostname()} 4194305 2026-01-01T00:00:00Z\n"  # a dead process
        self.place.rename(killed)
        # The scene of a cache leads to no other place, either.
        shutil.copytree(killed, self.place)
        scene = self.place / "resolved.firn"
        scene.write_text(re.sub(r'"base": ".*"', f'"base": "{self.folder}/elsewhere"',
                                scene.read_text()))
        self.firn("resume", self.place, code=5)
        self.assertIn("a folder, not a scene; that of a cache is the file resolved.firn", self.err)
        self.firn("resume", self.scene, "--quiet")
        self.assertIn("resolved.firn was not there, or not of this cache", self.err)
        self.assertEqual(files_of(self.place), expected)
        # Nor does a name in the manifest.
        for old in ("tiny_v1.0002.bgeo", "archive_v1.abc"):
            precious.write_text("precious")
            shutil.rmtree(self.place)
            self.firn("cook", self.scene, "--quiet")
            manifest = self.place / "manifest.json"
            manifest.write_text(manifest.read_text().replace(f'"{old}"', '"../../../precious"'))
            self.firn("info", self.place, code=10)
            self.firn("resume", self.scene, code=10)
            self.firn("cook", self.scene, "--overwrite", "--quiet")
            self.assertEqual(precious.read_text(), "precious")
            self.assertEqual(files_of(self.place), expected)
        partial = ["archive_v1.abc.partial", "archive_v1.abc.journal.partial"]
        for name in [*partial, ".lock", "manifest.json", "timing.json", "resolved.firn",
                     "tiny_v1.0001.bgeo"]:
            for make in (os.link, os.symlink, lambda _, path: os.mkfifo(path)):
                with self.subTest(name=name, make=make):
                    shutil.rmtree(self.place, ignore_errors=True)
                    shutil.copytree(killed, self.place)
                    (self.place / name).unlink(missing_ok=True)
                    precious.write_text(text)
                    make(precious, self.place / name)
                    done = subprocess.run(self.command("resume", self.scene, "--quiet"), timeout=60,
                                          cwd=self.folder, text=True, capture_output=True)
                    self.assertEqual(precious.read_text(), text)
                    if done.returncode == 0:
                        self.assertEqual(files_of(self.place), expected)
                    else:
                        self.assertIn(name, done.stderr)
                        self.assertIn(done.returncode, (1, 10))


if __name__ == "__main__":
    main()
