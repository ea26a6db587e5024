#!/usr/bin/python3
"""The C face of the VDB bridge: headers are C11 and C++17 and name nothing of C++; the library
exports what they declare and nothing else.

Usage: vdb_headers.py path/to/libfirn_vdb.so C_COMPILER C++_COMPILER INCLUDE...
"""
import pathlib
import re
import subprocess
import sys

library, c_compiler, cxx_compiler, *includes = sys.argv[1:]
headers = [h for i in includes for h in sorted(pathlib.Path(i, "firn").glob("vdb*.h"))]
assert len(headers) >= 5, headers
flags = [f"-I{i}" for i in includes]
flags += ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
declared = set()
for header in headers:
    line = f'#include "firn/{header.name}"\n'
    for command in ([c_compiler, "-std=c11", "-xc"], [cxx_compiler, "-std=c++17", "-xc++"]):
        subprocess.run(command + flags + ["-"], input=line, text=True, check=True)
    text = header.read_text()
    assert len(text.splitlines()) <= 300, header
    code = re.sub(r"//.*", "", text)
    for word in ("std::", "openvdb::", "template", "namespace", "class"):
        assert not re.search(rf"\b{word}", code), f"{header.name} names '{word}'"
    declared |= set(re.findall(r"FIRN_API[^;{]*?\b(firn_vdb_\w+)\(", code))
symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                         check=True).stdout
exported = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
private = {"firn_vdb_helper_serve"}  # for firn-vdb-helper
assert exported == declared | private, exported ^ (declared | private)
