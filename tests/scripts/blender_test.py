#!/usr/bin/env python3
"""The add-on in a real Blender: installed from the zip into a profile of its own.

Usage: blender_test.py FIRN.zip SOURCE_FOLDER PICTURE_FOLDER

Screenshots go to PICTURE_FOLDER. With FIRN_SLOW set, three million particles are shown, too.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ZIP, ROOT, PICTURES = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
SCRIPTS = ROOT / "tests/blender"
INSTALL = ("import bpy; bpy.ops.preferences.addon_install(filepath={zip!r}); "
           "bpy.ops.preferences.addon_enable(module='firn_snow'); bpy.ops.wm.save_userpref()")


class Blender(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.environment = {
            **os.environ, "BLENDER_USER_CONFIG": str(cls.folder / "config"),
            "BLENDER_USER_SCRIPTS": str(cls.folder / "scripts"),
            "PYTHONDONTWRITEBYTECODE": "1", "LIBGL_ALWAYS_SOFTWARE": "1"}
        for name in ("config", "scripts", "work"):
            (cls.folder / name).mkdir()
        cls.run_blender("-b", "--factory-startup", "--python-expr", INSTALL.format(zip=str(ZIP)))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def run_blender(cls, *arguments, before=(), after=()):
        command = [*before, "blender", "--python-exit-code", "1", *arguments, "--",
                   str(cls.folder / "work"), *after]
        blender = subprocess.Popen(command, env=cls.environment, text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said, _ = blender.communicate(timeout=2000 if os.environ.get("FIRN_SLOW") else 500)
        except subprocess.TimeoutExpired:
            os.killpg(blender.pid, signal.SIGKILL)  # also the screen, and Blender on it
            raise
        lines = said.splitlines()
        if blender.returncode == 0:
            lines = [line[line.index("SPEED"):] for line in lines if "SPEED" in line]
        print("\n".join(lines), flush=True)
        if blender.returncode != 0:
            raise AssertionError(f"Blender ended with {blender.returncode}")
        return said

    def test_0_the_same_files_give_the_same_zip(self):
        with zipfile.ZipFile(ZIP) as archive:
            names = archive.namelist()
        self.assertEqual(names, sorted(names))
        self.assertLessEqual({"firn_snow/__init__.py", "firn_snow/firn/capi.py",
                              "firn_snow/lookdev.py", "firn_snow/LICENSE"}, set(names))
        again = self.folder / "again.zip"
        subprocess.run([sys.executable, ROOT / "plugin/blender/make_addon.py", again,
                        ZIP.parent / "bundle"], check=True)
        self.assertEqual(again.read_bytes(), ZIP.read_bytes())

    def test_1_without_a_window(self):
        said = self.run_blender("-b", "--factory-startup", "-P", str(SCRIPTS / "headless.py"))
        self.assertNotIn("Traceback", said)

    def test_1_bodies(self):
        said = self.run_blender("-b", "--factory-startup", "-P", str(SCRIPTS / "bodies.py"))
        self.assertNotIn("Traceback", said)

    def test_2_saved_and_opened_again(self):
        said = self.run_blender("-b", "--factory-startup", "-P", str(SCRIPTS / "again.py"))
        self.assertNotIn("Traceback", said)

    def test_3_with_a_window(self):
        PICTURES.mkdir(parents=True, exist_ok=True)
        said = self.run_blender(
            "--factory-startup", "--window-geometry", "0", "0", "1440", "900", "-noaudio",
            "-P", str(SCRIPTS / "window.py"), after=[str(PICTURES)],
            before=["xvfb-run", "-a", "-s", "-screen 0 1440x900x24"])
        self.assertNotIn("Traceback", said)


unittest.main(argv=sys.argv[:1], verbosity=1)
