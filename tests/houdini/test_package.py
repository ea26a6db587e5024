"""The folder that a studio installs: its layout, and that it works with nothing beside it."""

import ast
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT

import expanded

BUILD = os.environ.get("FIRN_BUILD", str(ROOT / "build"))


def package_environment(folder):
    """The environment that Houdini makes of firn.json, by its rules."""
    package = json.loads((folder / "firn.json").read_text())
    variables = {"HOUDINI_PACKAGE_PATH": str(folder)}

    def expand(text):
        for name, value in variables.items():
            text = text.replace("$" + name, value)
        return text
    for entry in package["env"]:
        if "var" in entry:
            old = os.environ.get(entry["var"], "") if entry["var"] == "PATH" else ""
            variables[entry["var"]] = os.pathsep.join([expand(v) for v in entry["value"]] + [old])
        else:
            variables.update({name: expand(value) for name, value in entry.items()})
    return expand(package["hpath"]), variables


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.folder = Path(cls.place.name) / "a studio's packages"
        subprocess.run(["cmake", "--install", BUILD, "--component", "houdini", "--prefix",
                        cls.folder], check=True, stdout=subprocess.DEVNULL)
        cls.path, cls.variables = package_environment(cls.folder)

    def test_the_folder_has_a_package_file_and_one_folder(self):
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["firn", "firn.json"])
        self.assertEqual(Path(self.path), self.folder / "firn")

    def test_houdini_finds_its_folders(self):
        names = {p.name for p in Path(self.path).iterdir()}
        self.assertEqual(names, {"LICENSE", "help", "icons", "lib", "otls", "python", "share",
                                 "toolbar"})
        found = [p for p in (Path(self.path) / "otls").iterdir()]
        self.assertEqual(len(found), len(list((ROOT / "hda/otls").iterdir())))
        for path in found:
            expanded.read_library(path)

    def test_the_python_of_the_oldest_houdini_reads_it(self):
        for path in (Path(self.path) / "python").rglob("*.py"):
            ast.parse(path.read_text(), str(path), feature_version=(3, 7))

    def test_no_path_of_the_build_is_in_the_package(self):
        for name in ("firn", "firn-vdb-helper", "libfirn.so.0", "libfirn_vdb.so.0",
                     "libfirn_core.so.0"):
            dynamic = subprocess.run(["readelf", "-d", Path(self.path) / "lib" / name],
                                     capture_output=True, text=True, check=True).stdout
            self.assertIn("Library rpath: [$ORIGIN]", dynamic, name)

    def test_libraries_that_systems_lack_come_from_the_package(self):
        listed = subprocess.run(["ldd", Path(self.path) / "lib/libfirn.so.0"], capture_output=True,
                                text=True, check=True).stdout
        for line in listed.splitlines():
            name, _, place = line.strip().partition(" => ")
            if name.split(".")[0] in ("libopenvdb", "libtbb", "libblosc", "libjansson", "libgomp"):
                self.assertTrue(place.startswith(str(Path(self.path) / "lib")), line)

    def test_a_network_cooks_with_the_package_alone(self):
        code = """
import sys
sys.path[:0] = [{standin!r}]
import hou
hou.load_assets({otls!r})
session, parent = hou.new_session()
session.variables.update(HIP={hip!r}, FEND="2")
from firn_houdini import scene_import
import firn
cache = scene_import.from_shelf("snowball_drop")
solver = hou.node("/obj/snowball_drop/solver")
solver.parm("cell_size").set(0.1)
solver.parm("shot_last").set(2)
solver.cook()
print(solver.errors(), len(solver.geometry().points()) > 0)
print(firn.library_path())
"""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FIRN")}
        environment.update(self.variables)
        with tempfile.TemporaryDirectory() as hip:
            result = subprocess.run(
                [sys.executable, "-c", code.format(
                    standin=str(ROOT / "tests/houdini/standin"),
                    otls=str(Path(self.path) / "otls"), hip=hip)],
                env=environment, capture_output=True, text=True, cwd=hip)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines(),
                         ["() True", str(Path(self.path) / "lib/libfirn.so.0")])


if __name__ == "__main__":
    unittest.main()
