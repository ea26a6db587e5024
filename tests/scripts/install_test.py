#!/usr/bin/env python3
"""Installs a build into a folder and uses what is there. Usage: install_test.py CMAKE BUILD"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*words, **settings):
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, timeout=100,
                          **settings)
    if done.returncode != 0:
        sys.exit(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main(cmake, build):
    top = Path(tempfile.mkdtemp(prefix="firn_install_"))
    try:
        run(cmake, "--install", build, "--prefix", top / "first")
        # Nothing may remember the place.
        (top / "first").rename(top / "moved")
        program = top / "moved/bin/firn"
        env = {k: v for k, v in os.environ.items() if not k.startswith(("FIRN_", "LD_"))}
        examples = run(program, "new", cwd=top, env=env)
        for name in ("snowball_smash", "walking_character", "sculpted_text"):
            assert f"  {name} " in examples, examples
        run(program, "new", "sculpted_text", "-o", "shot.firn", cwd=top, env=env)
        run(program, "check", "shot.firn", cwd=top, env=env)
        run(program, "cook", "shot.firn", "--frames", "1", "--quiet", "--set",
            "solver.cell_size=0.05", cwd=top, env=env)
        volume = top / "cache/sculpted_text/v1/sculpted_text_v1.0001.vdb"
        assert "density" in run(program, "info", volume, cwd=top, env=env)
        for name in ("lib/libfirn.so", "lib/libfirn_vdb.so", "include/firn/graph.h",
                     "include/firn/sim.h", "include/firn/vdb.h", "include/firn/abc.h"):
            assert (top / "moved" / name).exists(), name
        linked = run("ldd", top / "moved/lib/libfirn.so", env=env)
        assert str(top / "moved/lib") in linked and "not found" not in linked, linked
    finally:
        shutil.rmtree(top)


main(*sys.argv[1:])
