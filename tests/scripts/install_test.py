#!/usr/bin/env python3
"""Installs a build into a folder and uses what is there: the program, the libraries, the headers.

Usage: install_test.py CMAKE BUILD SOURCE C_COMPILER
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD, SOURCE, CC = sys.argv[1:5]
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("FIRN_", "LD_", "PKG_CONFIG"))}

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(stranger LANGUAGES C)
find_package(Firn 0.1 REQUIRED)
add_executable(shared snowball.c)
target_link_libraries(shared PRIVATE Firn::core)
add_executable(static snowball.c)
target_link_libraries(static PRIVATE Firn::core_static)
add_executable(graph graph.c)
target_link_libraries(graph PRIVATE Firn::firn)
"""

GRAPH = """
#include <firn/graph.h>
#include <firn/vdb.h>
#include <stdio.h>
int main(void)
{
    firn_graph *graph = NULL;
    if (firn_graph_create(&graph, NULL) != FIRN_OK)
        return 1;
    printf("%s %s\\n", firn_version(), firn_graph_type(graph, 0)->name);
    firn_graph_destroy(graph);
    return 0;
}
"""


def run(*words, fails=False, **settings):
    settings = {"env": ENV, **settings}
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, timeout=100,
                          **settings)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + (done.stderr if fails else "")


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = Path(tempfile.mkdtemp(prefix="firn_install_"))
        run(CMAKE, "--install", BUILD, "--prefix", cls.top / "first")
        # Nothing may remember the place.
        cls.prefix = (cls.top / "first").rename(cls.top / "moved")
        cls.program = cls.prefix / "bin/firn"
        readme = (Path(SOURCE) / "README.md").read_text()
        program = re.search(r"```c\n(.*?)```", readme, re.DOTALL)[1]
        assert "frame < 48" in program, program
        (cls.top / "snowball.c").write_text(program.replace("frame < 48", "frame < 4"))
        (cls.top / "graph.c").write_text(GRAPH)
        cls.pkg = {**ENV, "PKG_CONFIG_PATH": str(cls.prefix / "lib/pkgconfig")}
        cls.linked = {**ENV, "LD_LIBRARY_PATH": str(cls.prefix / "lib"),
                      "FIRN_PLUGIN_PATH": str(cls.top / "nodes")}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    def test_python_finds_the_program_of_its_library(self):
        library = next(self.prefix.glob("lib*/**/libfirn.so*"))
        found = run(sys.executable, "-B", "-c",
                    "import firn; print(firn.program_path())",
                    env={**ENV, "FIRN_LIBRARY": str(library),
                         "PYTHONPATH": str(Path(SOURCE) / "plugin/python")})
        self.assertEqual(Path(found.strip()).resolve(), self.program.resolve())

    def flags(self, *words):
        return run("pkg-config", *words, env=self.pkg).split()

    def compile(self, source, program, *flags):
        run(CC, "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags)
        return program

    def test_program_cooks_an_example(self):
        examples = run(self.program, "new", cwd=self.top)
        for name in ("snowball_smash", "walking_character", "sculpted_text"):
            self.assertIn(f"  {name} ", examples)
        run(self.program, "new", "sculpted_text", "-o", "shot.firn", cwd=self.top)
        run(self.program, "check", "shot.firn", cwd=self.top)
        run(self.program, "cook", "shot.firn", "--frames", "1", "--quiet", "--set",
            "solver.cell_size=0.05", cwd=self.top)
        volume = self.top / "cache/sculpted_text/v1/sculpted_text_v1.0001.vdb"
        self.assertIn("density", run(self.program, "info", volume, cwd=self.top))

    def test_libraries_have_their_names_and_find_each_other(self):
        for name in ("libfirn", "libfirn_core", "libfirn_vdb"):
            dynamic = run("objdump", "-p", self.prefix / f"lib/{name}.so")
            self.assertRegex(dynamic, rf"SONAME\s+{name}\.so\.0\n")
        linked = run("ldd", self.prefix / "lib/libfirn.so")
        self.assertNotIn("not found", linked)
        for name in ("libfirn_core.so.0", "libfirn_vdb.so.0"):
            self.assertRegex(linked, rf"{name} => {self.prefix}/lib/\S*{name} ")

    def test_one_core_in_a_process(self):
        defined = {}
        for name in ("libfirn", "libfirn_vdb", "libfirn_core"):
            symbols = run("nm", "-D", "--defined-only", self.prefix / f"lib/{name}.so")
            for line in symbols.splitlines():
                defined.setdefault(line.split()[-1], []).append(name)
        self.assertEqual(defined["firn_set_allocator"], ["libfirn_core"])
        self.assertEqual({s: n for s, n in defined.items() if len(n) > 1}, {})

    def test_program_of_the_readme_links(self):
        source = self.top / "snowball.c"
        shared = self.compile(source, self.top / "shared", *self.flags("--cflags", "--libs",
                                                                       "firn_core"))
        static = self.compile(source, self.top / "static", *self.flags("--cflags", "firn_core"),
                              self.prefix / "lib/libfirn_core.a", "-fopenmp", "-lm")
        said = run(shared, env=self.linked)
        self.assertRegex(said, r"^\d+ particles\n$")
        self.assertEqual(run(static), said)
        self.assertNotIn("firn", run("ldd", static))

    def test_find_package(self):
        (self.top / "CMakeLists.txt").write_text(PROJECT)
        build = self.top / "stranger"
        run(CMAKE, "-S", self.top, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_C_COMPILER={CC}")
        run(CMAKE, "--build", build)
        self.assertEqual(run(build / "graph").split(), [run(self.program, "--version").split()[1],
                                                        "snow_source"])
        self.assertRegex(run(build / "shared"), r"^\d+ particles\n$")

    def plugin(self, name, text=None, *flags):
        nodes = self.top / "nodes"
        shutil.rmtree(nodes, ignore_errors=True)
        nodes.mkdir()
        source = self.top / f"{name}.c"
        source.write_text(text or (Path(SOURCE) / f"docs/plugins/{name}.c").read_text())
        self.compile(source, nodes / f"{name}.so", "-shared", "-fPIC", *flags,
                     *self.flags("--cflags", "--libs", "firn"), "-lm")

    def test_plugin_brings_a_node(self):
        self.plugin("aged_snow")
        self.assertIn("settled_density", run(self.program, "describe", "aged_snow",
                                             env=self.linked))
        (self.top / "aged.firn").write_text("""{"firn": 1, "name": "aged", "frames": [1, 2],
            "nodes": {
                "fresh": {"type": "material", "params": {"density": 100}},
                "old": {"type": "aged_snow", "params": {"days": 60},
                        "inputs": {"material": "fresh"}},
                "ball": {"type": "snow_source", "params": {"radius": 0.1}},
                "solver": {"type": "solver", "params": {"cell_size": 0.05},
                           "inputs": {"sources": ["ball"], "material": "old"}},
                "cache": {"type": "write_particles", "inputs": {"particles": "solver"}}}}""")
        wrong = run(self.program, "check", "aged.firn", "--set", "old.days=-1", cwd=self.top,
                    env=self.linked, fails=True)
        self.assertIn("old.days", wrong)  # its range holds
        self.assertIn("ready to cook", run(self.program, "check", "aged.firn", cwd=self.top,
                                           env=self.linked))
        run(self.program, "cook", "aged.firn", cwd=self.top, env=self.linked)
        shots = (self.top / "cache/aged").rglob("*.firn")
        self.assertTrue(any('"aged_snow"' in path.read_text() for path in shots))
        missing = run(self.program, "check", "aged.firn", cwd=self.top, fails=True)
        self.assertIn("aged_snow", missing)
        self.assertIn("FIRN_PLUGIN_PATH", missing)

    def test_plugins_that_do_not_fit(self):
        entry = "#include <firn/plugin.h>\n%s\nconst firn_plugin *firn_plugin_entry(void) " \
                "{ static const firn_plugin p = {%s}; return &p; }\n"
        nodes = "static const firn_node_type t = {.size = %s, .name = \"%s\", .label = \"\", " \
                ".category = \"\", .help = \"\"};\n" \
                "static const firn_node_type *const types[] = {&t};"
        size = "sizeof(firn_node_type)"
        cases = [
            ("int firn_nothing;\n", "no firn_plugin_entry"),
            (entry % ("", "99, \"x\", 0, 0"), "another version"),
            (entry % (nodes % (8, "x"), "FIRN_PLUGIN_ABI, \"x\", types, 1"), "another version"),
            (entry % (nodes % (size, "Not a Name"), "FIRN_PLUGIN_ABI, \"x\", types, 1"), "a-z"),
            (entry % (nodes % (size, "lazy"), "FIRN_PLUGIN_ABI, \"x\", types, 1"), "cook function"),
        ]
        for text, sentence in cases:
            self.plugin("odd", text, "-Wno-missing-field-initializers")
            said = run(self.program, "describe", env=self.linked, fails=True)
            self.assertIn(sentence, said)
            self.assertIn("odd.so", said)
        text = (Path(SOURCE) / "docs/plugins/aged_snow.c").read_text()
        self.plugin("twice", text.replace('.name = "aged_snow"', '.name = "solver"'))
        self.assertIn("there is already", run(self.program, "describe", env=self.linked,
                                              fails=True))
        (self.top / "nodes/zz.so").write_bytes(b"\x7fELF nonsense")
        (self.top / "nodes/twice.so").unlink()
        self.assertIn("zz.so", run(self.program, "describe", env=self.linked, fails=True))

    def test_manual_and_completion(self):
        page = (self.prefix / "share/man/man1/firn.1").read_text()
        for word in (".SS firn cook ", "\\-\\-frames", ".SH EXIT STATUS"):
            self.assertIn(word, page)
        for path in ("share/zsh/site-functions/_firn", "share/fish/vendor_completions.d/firn.fish"):
            self.assertIn("cook", (self.prefix / path).read_text())
        script = f"source {self.prefix / 'share/bash-completion/completions/firn'}; " \
                 "COMP_WORDS=(firn coo); COMP_CWORD=1; _firn; echo ${COMPREPLY[@]}; " \
                 "COMP_WORDS=(firn cook --fra); COMP_CWORD=2; _firn; echo ${COMPREPLY[@]}"
        self.assertEqual(run("bash", "-c", script).split(), ["cook", "--frames"])

    def test_core_alone_needs_c_only(self):
        build = self.top / "core"
        run(CMAKE, "-S", SOURCE, "-B", build, "-DFIRN_CORE_ONLY=ON", f"-DCMAKE_C_COMPILER={CC}",
            "-DCMAKE_CXX_COMPILER=/nowhere/c++", "-DCMAKE_DISABLE_FIND_PACKAGE_OpenVDB=ON")
        made = (build / "CMakeCache.txt").read_text()
        self.assertNotIn("OpenVDB_", made)
        self.assertNotIn("ZLIB_", made)


unittest.main(argv=sys.argv[:1], verbosity=1)
