#!/usr/bin/env python3
"""What the packages ask of a system: no newer C or C++ library than RHEL 9 has, nothing beside it.

Usage: elf_test.py SOURCE BUILD
"""

import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "plugin/packaging"))
sys.dont_write_bytecode = True
import bundle  # noqa: E402
import elf  # noqa: E402

OWN = ("firn", "firn-vdb-helper", "libfirn.so.0", "libfirn_core.so.0", "libfirn_vdb.so.0")


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        with zipfile.ZipFile(BUILD / "firn.zip") as archive:
            archive.extractall(cls.folder.name)
        natives = Path(cls.folder.name, "firn_snow/lib").glob("*/*")
        cls.files = {path.name: elf.Elf(path) for path in natives}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_all_of_firn_is_there(self):
        self.assertLessEqual(set(OWN), set(self.files))

    def test_no_library_is_asked_for_that_is_neither_there_nor_everywhere(self):
        for name, file in self.files.items():
            for needed in file.needed():
                self.assertTrue(needed in self.files or bundle.SYSTEM.match(needed),
                                f"{name} needs {needed}")

    def test_nothing_newer_than_the_ceilings_is_asked_for(self):
        for name, file in self.files.items():
            self.assertEqual(file.too_new(), [], name)
            # objdump reads the same file, by code of its own.
            said = subprocess.run(["objdump", "-p", file.path], capture_output=True, text=True,
                                  check=True).stdout
            for word in ("GLIBC_2.35", "GLIBC_2.36", "GLIBC_2.37", "GLIBC_2.38", "GLIBCXX_3.4.30",
                         "GLIBCXX_3.4.31", "CXXABI_1.3.14"):
                self.assertNotIn(word, said, name)

    def test_only_the_bridge_is_c_plus_plus(self):
        for name in ("libfirn.so.0", "libfirn_core.so.0", "firn"):
            self.assertNotIn("libstdc++.so.6", self.files[name].needed())

    def test_libraries_are_looked_for_beside_them_and_nowhere_else(self):
        for name in OWN:
            self.assertEqual(self.files[name].rpath(), "$ORIGIN", name)
        said = subprocess.run(["ldd", self.files["firn"].path], capture_output=True, text=True,
                              env={}, check=True).stdout
        for line in said.splitlines():
            name, _, place = line.strip().partition(" => ")
            if place and not bundle.SYSTEM.match(name):
                self.assertTrue(place.startswith(self.folder.name), line)

    def test_the_ceiling_is_noticed(self):
        """Debian's own file asks for more than the copy in the package."""
        library = bundle.linked(BUILD / "libfirn.so")["liblog4cplus-2.0.so.3"]
        self.assertEqual(elf.Elf(library).too_new(), ["GLIBCXX_3.4.30"])


unittest.main(argv=sys.argv[:1], verbosity=1)
