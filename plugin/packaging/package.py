#!/usr/bin/env python3
"""Makes the packages of a release build: for Blender, for Houdini, and for everybody.

Usage: package.py BUILD FOLDER

  firn-VERSION-blender.zip             the add-on, for every Blender from 3.4 on
  repository/                          the same as an extension for 4.2 and later, with index.json
  firn-VERSION-houdini.zip             firn.json and firn/, for HOUDINI_PACKAGE_DIR
  firn-VERSION-linux-x86_64.tar.gz     program, libraries, headers, examples, under one prefix

The same files give the same bytes.
"""

import gzip
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.dont_write_bytecode = True
import elf  # noqa: E402

DATE = (1980, 1, 1, 0, 0, 0)
README = """Firn {version}

bin/firn runs from wherever this folder lies, on Linux with glibc 2.34 or newer (Debian 12, Ubuntu
22.04, Fedora 35, RHEL 9). docs: share/man/man1/firn.1, and `bin/firn --help`.
"""


def install(build, prefix, *more):
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, *more], check=True,
                   stdout=subprocess.DEVNULL)


def zip_folder(folder, output):
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(str(path.relative_to(folder)), DATE)
            entry.external_attr = (0o100000 | path.stat().st_mode & 0o777) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


def clean(entry):
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def tar_folder(folder, output):
    with open(output, "wb") as file, \
            gzip.GzipFile("", "wb", 6, file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, folder.name, recursive=False, filter=clean)
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder.parent), recursive=False, filter=clean)


def make_prefix(build, prefix, version):
    """What `cmake --install` leaves, with the files of the bundle in place of installed ones."""
    install(build, prefix)
    library = prefix / "lib"
    for path in (build / "bundle").iterdir():
        if path.name == "firn":
            continue
        for old in library.glob(f"{path.name}*"):
            old.unlink()
        shutil.copy2(path, library / path.name)
    subprocess.run(["strip", "--strip-unneeded", prefix / "bin/firn"], check=True)
    too_new = elf.Elf(prefix / "bin/firn").too_new()
    assert not too_new, too_new
    (prefix / "README").write_text(README.format(version=version))


def make_repository(build, folder, version):
    """What Preferences > Get Extensions > Repositories takes when a server shows the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    archive = folder / f"firn_snow-{version}.zip"
    make_addon = Path(__file__).parents[1] / "blender/make_addon.py"
    subprocess.run([sys.executable, make_addon, archive, build / "bundle", version], check=True)
    with zipfile.ZipFile(archive) as packed:
        row = tomllib.loads(packed.read("blender_manifest.toml").decode())
    row.update(archive_url=f"./{archive.name}", archive_size=archive.stat().st_size,
               archive_hash=f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}")
    index = {"version": "v1", "blocklist": [], "data": [row]}
    (folder / "index.json").write_text(json.dumps(index, indent=2) + "\n")
    return archive


def main():
    build, output = Path(sys.argv[1]), Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    said = subprocess.run([build / "firn", "--version"], capture_output=True, text=True, check=True)
    version = said.stdout.split()[1]
    made = [output / f"firn-{version}-blender.zip", output / f"firn-{version}-houdini.zip",
            output / f"firn-{version}-linux-{platform.machine()}.tar.gz"]
    shutil.copyfile(build / "firn.zip", made[0])
    with tempfile.TemporaryDirectory() as scratch:
        houdini, prefix = Path(scratch, "houdini"), Path(scratch, made[2].name[:-len(".tar.gz")])
        install(build, houdini, "--component", "houdini")
        zip_folder(houdini, made[1])
        make_prefix(build, prefix, version)
        tar_folder(prefix, made[2])
    made.append(make_repository(build, output / "repository", version))
    for path in made:
        print(f"{path.stat().st_size / 1e6:7.1f} MB  {path}")


main()
