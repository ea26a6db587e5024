#!/usr/bin/env python3
"""Copies programs and libraries into a folder with all libraries that other systems may lack.

Usage: bundle.py FOLDER FILE...

What is there then starts on any Linux whose C and C++ libraries are not older than elf.py says.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.dont_write_bytecode = True
from elf import Elf  # noqa: E402

# The C and C++ runtimes are those of the system: a host has loaded them already.
SYSTEM = re.compile(r"^(ld-linux|linux-vdso|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so)")


def linked(path):
    """{name: file} of all libraries that the loader would take for a file."""
    said = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in said.splitlines():
        match = re.match(r"\s*(\S+) => (\S+)", line)
        if match and match[2] == "not":
            raise SystemExit(f"{path} needs {match[1]}, which is not there")
        if match and not SYSTEM.match(match[1]):
            found[match[1]] = Path(match[2])
    return found


def place(source, target, own):
    """A copy that asks no more of the system than it has to."""
    shutil.copyfile(source, target)
    target.chmod(0o755)
    if own:
        subprocess.run(["strip", "--strip-unneeded", target], check=True)
    file = Elf(target)
    if own:
        file.set_rpath("$ORIGIN")
    file.lower()
    target.write_bytes(file.data)
    if file.too_new():
        raise SystemExit(f"{source} asks for {', '.join(file.too_new())}, which older systems lack")


def bundle(folder, files):
    """Fills a folder; names of its files."""
    wanted = {Elf(path).soname(): (Path(path), True) for path in files}
    for path in files:
        for name, library in linked(path).items():
            wanted.setdefault(name, (library, False))
    folder.mkdir(parents=True, exist_ok=True)
    for name, (source, own) in sorted(wanted.items()):
        place(source.resolve(), folder / name, own)
    return sorted(wanted)


def main():
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    bundle(folder, sys.argv[2:])


if __name__ == "__main__":
    main()
