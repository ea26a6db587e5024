#!/usr/bin/env python3
"""Compares the symbols of libraries with the FIRN_API declarations of the headers.

libfirn_mpi is built where MPI is; its header counts when it is among the libraries.

Usage: check_exports.py SOURCE_FOLDER LIBRARY...
"""

import re
import subprocess
import sys
from pathlib import Path


def exported(library):
    output = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True,
                            text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in output.splitlines()}


def declared(root, mpi):
    names = set()
    for folder in ("core", "plugin"):
        for header in (root / folder).glob("**/include/firn/*.h"):
            if header.name == "mpi.h" and not mpi:
                continue
            names |= set(re.findall(r"^FIRN_API\b[^;{]*?\b(firn_\w+)\s*\(", header.read_text(),
                                    flags=re.MULTILINE))
    return names


def main():
    root, libraries = Path(sys.argv[1]), sys.argv[2:]
    mpi = any("firn_mpi" in name for name in libraries)
    found, wanted = set().union(*map(exported, libraries)), declared(root, mpi)
    for name in sorted(found - wanted):
        print(f"{name} is exported but not declared with FIRN_API")
    for name in sorted(wanted - found):
        print(f"{name} is declared with FIRN_API but not exported")
    sys.exit(1 if found != wanted else 0)


main()
