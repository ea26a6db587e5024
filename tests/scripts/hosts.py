#!/usr/bin/env python3
"""Runs the add-on and the packages in hosts that Debian 12 does not have. Needs root and the net.

Usage: hosts.py BUILD SOURCE WORK [HOST...]

Systems are made by mmdebstrap and stay in WORK for the next time; Blender as a Python module and
the checkers of USD and Houdini come from PyPI into environments there. One host runs at a time.
"""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

BUILD, SOURCE, WORK = (Path(p).resolve() for p in sys.argv[1:4])
PACKAGES = "python3,python3-numpy,xvfb,xauth,libgl1-mesa-dri,xdotool,imagemagick"
# Suite, packages; what runs in it follows from whether it has Blender.
SYSTEMS = {"trixie": f"blender,python3-openvdb,{PACKAGES}",
           "sid": f"blender,python3-openvdb,python3-cattr,{PACKAGES}",
           "bullseye": "python3"}
# Environment, what pip brings.
MODULES = {"bpy-4.2": "bpy==4.2.*", "bpy-4.5": "bpy==4.5.*", "bpy-5.0": "bpy==5.0.*",
           "usd": "usd-core", "hou": "types-houdini"}


def run(*words, **settings):
    print("  $", *words, flush=True)
    return subprocess.run([str(w) for w in words], check=True, **settings)


# --- Systems -------------------------------------------------------------------------------------

def make_system(name):
    root = WORK / name
    if not (root / "usr/bin/python3").exists():
        run("mmdebstrap", "--variant=apt", f"--include={SYSTEMS[name]}",
            '--aptopt=Acquire::Check-Valid-Until "false"', name, root,
            stderr=subprocess.DEVNULL)
    return root


def fill(root):
    """The project as far as the tests read it, the add-on, and the files of the packages."""
    here = root / "firn"
    shutil.rmtree(here, ignore_errors=True)
    for part in ("plugin/blender", "plugin/python", "docs/scenes", "tests/blender",
                 "tests/scripts"):
        shutil.copytree(SOURCE / part, here / "source" / part)
    shutil.copyfile(SOURCE / "LICENSE", here / "source/LICENSE")
    (here / "build").mkdir()
    shutil.copyfile(BUILD / "firn.zip", here / "build/firn.zip")
    shutil.copytree(BUILD / "bundle", here / "build/bundle")


class Mounted:
    """Programs find their libraries by /proc."""

    def __init__(self, root):
        self.place = root / "proc"

    def __enter__(self):
        if not os.path.ismount(self.place):
            run("mount", "-t", "proc", "proc", self.place)

    def __exit__(self, *problem):
        subprocess.run(["umount", "--lazy", self.place], check=False)


SMOKE = """cd /tmp && rm -rf firn && mkdir firn && cd firn
export FIRN_SCENES=/firn/source/docs/scenes
/firn/build/bundle/firn new snowball_drop -o shot.firn
/firn/build/bundle/firn cook shot.firn --frames 1-2 --quiet --set solver.cell_size=0.1
/firn/build/bundle/firn info cache/snowball_drop/v1/snowball_drop_v1.0002.vdb
PYTHONPATH=/firn/source/plugin/python FIRN_LIBRARY=/firn/build/bundle/libfirn.so.0 \\
    python3 -c 'import firn; print(len(firn.describe()["nodes"]), "node types")'
"""
OPENVDB = """import glob
try:
    import openvdb as vdb
except ImportError:
    import pyopenvdb as vdb
for path in sorted(glob.glob("/tmp/firn/cache/snowball_drop/v1/*.vdb")):
    # One by one: readAll of version 13 ends the process for a vector in the file's metadata.
    grids = [vdb.read(path, name) for name in ("density", "vel", "compaction")]
    assert all(grid.activeVoxelCount() > 1000 for grid in grids), path
    print(vdb.LIBRARY_VERSION, path, [(g.name, g.activeVoxelCount()) for g in grids])
"""
TOO_OLD = """PYTHONPATH=/firn/source/plugin/python FIRN_LIBRARY=/firn/build/bundle/libfirn.so.0 \\
    python3 -c 'import firn
try: firn.describe()
except firn.FirnError as e: print(e.message)'
"""


def in_system(root, *words):
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                   "OMP_WAIT_POLICY": "passive"}
    return run("nice", "chroot", root, *words, env=environment)


def check_system(name):
    root = make_system(name)
    fill(root)
    with Mounted(root):
        if name == "bullseye":  # its C library is older than those that Firn runs on
            said = subprocess.run(["chroot", root, "sh", "-c", TOO_OLD], capture_output=True,
                                  text=True, check=True).stdout
            assert "older than those that Firn runs on" in said, said
            return
        in_system(root, "sh", "-ec", SMOKE)
        if "openvdb" in SYSTEMS[name]:
            in_system(root, "python3", "-c", OPENVDB)
        in_system(root, "python3", "/firn/source/tests/scripts/blender_test.py",
                  "/firn/build/firn.zip", "/firn/source", "/firn/pictures")


# --- Modules -------------------------------------------------------------------------------------

def make_module(name):
    python = WORK / name / "bin/python"
    if not python.exists():
        run("/usr/bin/python3", "-m", "venv", WORK / name)
        run(python, "-m", "pip", "install", "-q", "--no-cache-dir", MODULES[name])
    return python


def check_blender_module(name):
    """The tests without a window, with Blender as a module of Python."""
    python, profile = make_module(name), WORK / f"{name}-profile"
    shutil.rmtree(profile, ignore_errors=True)
    for part in ("config", "scripts/addons", "work"):
        (profile / part).mkdir(parents=True)
    with zipfile.ZipFile(BUILD / "firn.zip") as archive:
        archive.extractall(profile / "scripts/addons")
    environment = {**os.environ, "BLENDER_USER_CONFIG": str(profile / "config"),
                   "BLENDER_USER_SCRIPTS": str(profile / "scripts"),
                   "PYTHONDONTWRITEBYTECODE": "1", "OMP_WAIT_POLICY": "passive"}
    run("nice", python, SOURCE / "tests/blender/headless.py", "--", profile / "work",
        env=environment)


def check_usd(name):
    run(make_module(name), SOURCE / "tests/scripts/usd_check.py", BUILD, SOURCE)


def check_stubs(name):
    """Every call of Houdini's Python in hda/ against the public stubs."""
    packages = next((make_module(name).parents[1] / "lib").glob("python3*/site-packages"))
    said = subprocess.run(["mypy", "--ignore-missing-imports", "--follow-imports=silent",
                           SOURCE / "hda/python/firn_houdini"], capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": f"{packages}:{packages}/types-houdini"})
    wrong = [line for line in said.stdout.splitlines() if "hou" in line.partition("error:")[2]]
    print("\n".join(wrong or [said.stdout.splitlines()[-1]]))
    assert said.returncode in (0, 1) and not wrong


HOSTS = {**{name: check_system for name in SYSTEMS},
         **{name: check_blender_module for name in MODULES if name.startswith("bpy")},
         "usd": check_usd, "hou": check_stubs}


def main():
    names = sys.argv[4:] or list(HOSTS)
    unknown = set(names) - set(HOSTS)
    if unknown:
        sys.exit(f"hosts.py: there is no host {', '.join(unknown)}; there are {', '.join(HOSTS)}")
    WORK.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in names:
        print(f"\n=== {name}", flush=True)
        begin, verdict = time.monotonic(), "passed"
        try:
            HOSTS[name](name)
        except (AssertionError, OSError, subprocess.CalledProcessError) as problem:
            print(problem)
            verdict = "FAILED"
        rows.append(f"{name:12} {verdict:7} {time.monotonic() - begin:5.0f} s")
    print("\n=== summary", *rows, sep="\n")
    sys.exit(any("FAILED" in row for row in rows))


main()
