#!/usr/bin/env python3
"""Checks what the compiler does not: the rules that keep the source readable.

Usage: check_source.py CHECK, with CHECK one of the functions in CHECKS below. Each prints what it
found as file:line: sentence, and fails when there is something.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ["core", "plugin", "vdb_bridge", "hda", "tests"]
C_FILES = {".c", ".h"}
CPP_FILES = {".cc", ".hpp"}

# Limits: above the first number a remark is printed, above the second the check fails.
FUNCTION_LINES = (60, 80)
FILE_LINES = (500, 700)
HEADER_LINES = (250, 300)
TEST_FILE_LINES = (700, 1000)
COLUMNS = 100

# Which firn/X.h each folder may include, beside the headers of its own library; the most specific
# folder counts. "*" stands for every public header, "!x" for all but x.
BASIC = {"base", "defs", "vec", "params", "file", "level_set"}
MAY_INCLUDE = {
    "core/include": BASIC,
    "core/src": set(),
    "vdb_bridge": BASIC | {"field"},
    "plugin/include": BASIC,
    "plugin/alembic": BASIC - {"params"},
    "plugin/formats": BASIC,
    "plugin/mpi": BASIC | {"exchange"},
    "plugin/picture": BASIC | {"collider"},
    "plugin/render": BASIC | {"collider", "field", "noise", "patch", "png", "points"},
    "plugin/usd": BASIC | {"points", "number"},
    "plugin/src": BASIC | {"exchange"},
    "plugin/nodes": {"*", "!graph"},
    "plugin/shot": {"*"},
    "plugin/report": {"*"},
    "plugin/cli": {"*"},
    "tests": {"*"},
}
OWN_HEADERS = {
    "core/src": "core/include",
    "vdb_bridge": "vdb_bridge/include",
    "plugin/include": "plugin/include",
    "plugin/alembic": "plugin/alembic/include",
    "plugin/formats": "plugin/formats/include",
    "plugin/mpi": "plugin/mpi/include",
    "plugin/picture": "plugin/picture/include",
    "plugin/render": "plugin/render/include",
    "plugin/usd": "plugin/usd/include",
    "plugin/src": "plugin/include",
}
# Within the core, only these build on others.
MAY_ALSO_INCLUDE = {
    "core/include/firn/source.h": {"material"},
    "core/include/firn/sim.h": {"channel", "checkpoint_info", "material", "collider", "exchange",
                                "source", "field", "force"},
    "core/include/firn/sim_ranks.h": {"sim"},
    "core/include/firn/firn.h": {"*"},
    "core/include/firn/solid_set.h": {"collider"},
    "core/include/firn/body.h": {"collider"},
    "core/include/firn/sim_bodies.h": {"body", "sim"},
    "core/include/firn/sim_heat.h": {"sim"},
    "plugin/include/firn/ranks.h": {"exchange"},
    "plugin/include/firn/data.h": {"body", "channel", "collider", "field", "force", "material",
                                   "patch", "points", "source"},
}
MAY_INCLUDE_PRIVATE = {
    "plugin/src": {"nodes/nodes.h"},
    "plugin/cli": {f"report/{name}.h" for name in ("followed", "surface_points", "tint", "view",
                                                   "wedge_table")},
}
# The rooms of core/src, and those whose headers each may include. What a second solver needs does
# not know mpm.
ROOMS = {
    "base": set(),
    "space": {"base"},
    "particles": {"base"},
    "contact": {"base", "space"},
    "bodies": {"base", "space", "contact"},
    "forces": {"base", "space"},
    "seeding": {"base", "space", "particles"},
    "models": {"base", "particles"},
    "field": {"base", "space", "particles"},
    "detail": {"base", "space"},
    "mpm": {"base", "space", "particles", "contact", "bodies", "forces", "seeding", "models",
            "field"},
}
# Headers that a test has another of, earlier on its path of includes (tests/extra_model.cmake).
FOUND_BY_PATH = {"models/list.h"}
C_LIBRARY = set(
    "assert ctype errno fenv float inttypes limits locale math setjmp signal stdalign stdarg "
    "stdatomic stdbool stddef stdint stdio stdlib string tgmath time "
    "fcntl unistd sys/file sys/mman sys/stat sys/statvfs sys/types".split()
)

# Platform code has an address.
MAY_USE_IFDEF = {"base.h", "base.c", "simd.h", "rows.h", "loader.c"}
LIBRARIES = ["core/src", "vdb_bridge/src", "plugin/src", "plugin/nodes", "plugin/alembic",
             "plugin/formats", "plugin/picture", "plugin/render", "plugin/usd"]
BANNED = {
    r"\b(malloc|calloc|realloc|free|strdup|aligned_alloc)\(": "memory comes from firn_alloc",
    r"\b(printf|puts|putchar|perror)\(|\bstd(out|err)\b": "libraries do not print",
    r"\b(exit|abort|_exit)\(": "libraries do not exit",
    r"\b(strcpy|strcat|sprintf|gets|strtok)\(": "this function cannot know the size",
    r"\b(atof|atoi|atol)\(": "this function cannot report an error",
}

findings = []


def finding(path, line, sentence):
    findings.append(f"{path.relative_to(ROOT)}:{line}: {sentence}")


def files(suffixes, parts=PARTS):
    for part in parts:
        for folder, names, entries in os.walk(ROOT / part):
            names[:] = sorted(n for n in names if n not in ("fixtures", "__pycache__"))
            for entry in sorted(entries):
                if Path(entry).suffix in suffixes:
                    yield Path(folder) / entry


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def is_inside(path, folder):
    return name_of(path).startswith(folder + "/")


def public_headers():
    return [p for p in files({".h"}) if "/include/firn/" in name_of(p)]


def without_comments(text):
    """Blanks comments and the contents of strings, keeping lines and columns."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"

    def blank(match):
        quote = match.group()[0]
        hidden = re.sub(r"[^\n]", " ", match.group())
        return quote + hidden[1:-1] + quote if quote in "\"'" else hidden

    return re.sub(pattern, blank, text, flags=re.DOTALL)


def check_headers():
    """Each public header compiles alone, as C11 and as C++17."""
    folders = sorted({str(p.parent.parent) for p in public_headers()})
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    flags += [f"-I{folder}" for folder in folders]

    def compile_alone(job):
        header, language, compiler = job
        with tempfile.NamedTemporaryFile("w", suffix="." + language[0]) as source:
            source.write(f'#include "firn/{header.name}"\n')
            source.flush()
            command = [compiler, f"-std={language[1]}", "-x", language[2], *flags, source.name]
            result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            finding(header, 1, f"does not compile alone as {language[1]}:\n{result.stderr}")

    languages = [(("c", "c11", "c"), os.environ.get("CC", "cc")),
                 (("cc", "c++17", "c++"), os.environ.get("CXX", "c++"))]
    jobs = [(h, language, compiler) for h in public_headers() for language, compiler in languages]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_alone, jobs))


def allowed_includes(path):
    folder = max((f for f in MAY_INCLUDE if is_inside(path, f)), key=len, default=None)
    return folder, MAY_INCLUDE.get(folder, set()) | MAY_ALSO_INCLUDE.get(name_of(path), set())


def check_one_include(path, number, target, quoted):
    folder, allowed = allowed_includes(path)
    if folder is None or folder == "tests":
        return
    if target.startswith("firn/"):
        header = target[len("firn/"):-len(".h")]
        own = (ROOT / OWN_HEADERS.get(folder, "none") / target).exists()
        if f"!{header}" in allowed or not (own or {"*", header} & allowed):
            finding(path, number, f"code in {folder} must not include {target}")
    elif quoted and folder == "core/src":
        check_room(path, number, target)
    elif quoted:
        beside = (path.parent / target).resolve()
        places = [beside, *(ROOT / folder).glob(f"**/{Path(target).name}")]
        own = any(p.exists() and is_inside(p, folder) and p.match(target) for p in places)
        if not own and target not in MAY_INCLUDE_PRIVATE.get(folder, set()):
            finding(path, number, f"{target} is not a header of {folder}")
    elif folder.startswith("core") and target[:-len(".h")] not in C_LIBRARY:
        if path.name not in ("simd.h", "rows.h"):
            finding(path, number, f"the core needs nothing but the C library, not <{target}>")
    elif target.startswith("openvdb/") and not is_inside(path, "vdb_bridge/src"):
        finding(path, number, "only vdb_bridge/src may see OpenVDB")


def check_room(path, number, target):
    """Within the core, rooms include only what they may, and name the room of a foreign header."""
    room = path.relative_to(ROOT / "core/src").parts[0]
    if room not in ROOMS:
        finding(path, number, f"core/src has no room called {room}; see ROOMS in check_source.py")
    elif "/" not in target:
        if not (path.parent / target).exists():
            finding(path, number, f"{target} is of another room: name that, as in \"space/sdf.h\"")
    elif target.split("/")[0] not in ROOMS[room] and target not in FOUND_BY_PATH:
        finding(path, number, f"the room {room} must not include {target}")


def own_header(path):
    """The header that a source file implements, as its include line spells it, or None."""
    if (path.parent / f"{path.stem}.h").exists():
        return f"{path.stem}.h"
    part = ROOT / name_of(path).split("/")[0]
    found = any(part.glob(f"**/include/firn/{path.stem}.h"))
    return f"firn/{path.stem}.h" if found else None


def check_includes():
    """Arrows point one way, and a file includes its own header first."""
    for path in files(C_FILES | CPP_FILES):
        first = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            first = first or match.group(2)
            check_one_include(path, number, match.group(2), match.group(1) == '"')
        own = own_header(path) if path.suffix in (".c", ".cc") else None
        if own and first != own and not is_inside(path, "tests"):
            finding(path, 1, f"its own header {own} comes first, to prove that it stands alone")
    for path in files({".py"}, ["plugin", "hda"]):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r"\s*(import|from)\s+ctypes\b", line) and path.name != "capi.py":
                finding(path, number, "only capi.py knows the C ABI")


def functions(lines):
    """Yields the first and last line of each function; clang-format has put the braces."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            head = number - 1
            while head > 1 and lines[head - 2].strip() and lines[head - 2][-1] not in ";}":
                head -= 1
            begin = None if lines[number - 2].startswith("namespace") else head
        elif line == "}" and begin is not None:
            yield begin, number
            begin = None


def over(limits, count, path, line, sentence):
    if count > limits[1]:
        finding(path, line, f"{sentence}: {count} lines, at most {limits[1]}")
    elif count > limits[0]:
        print(f"remark: {name_of(path)}:{line}: {sentence}: {count} lines")


def check_shape():
    """Files, functions and lines are short enough to be read."""
    for path in files(C_FILES | CPP_FILES):
        lines = path.read_text().splitlines()
        if path in public_headers():
            limits = HEADER_LINES
        else:
            limits = TEST_FILE_LINES if is_inside(path, "tests") else FILE_LINES
        over(limits, len(lines), path, 1, "the file is long")
        for begin, end in functions(without_comments("\n".join(lines)).splitlines()):
            over(FUNCTION_LINES, end - begin + 1, path, begin, "the function is long")
    for path in files(C_FILES | CPP_FILES | {".py"}):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > COLUMNS:
                finding(path, number, f"{len(line)} columns, at most {COLUMNS}")


def check_words():
    """No unfinished business, platform code only at its address, nothing that libraries avoid."""
    for path in files(C_FILES | CPP_FILES | {".py", ".cmake", ".txt"}):
        if path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                finding(path, number, "finish it or write an issue")
    for path in files(C_FILES | CPP_FILES, ["core", "plugin", "vdb_bridge"]):
        library = any(is_inside(path, folder) for folder in LIBRARIES)
        for number, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
            condition = re.match(r"\s*#\s*(?:if|ifdef|ifndef|elif)\b(.*)", line)
            if condition and path.name not in MAY_USE_IFDEF:
                addresses = ", ".join(sorted(MAY_USE_IFDEF))
                if not re.search(r"__cplusplus$|^FIRN_\w+_(H|HPP)$", condition.group(1).strip()):
                    finding(path, number, f"platform code belongs to {addresses}")
            for pattern, sentence in BANNED.items() if library and path.name != "base.c" else ():
                if re.search(pattern, line):
                    finding(path, number, sentence)


def check_api():
    """Every FIRN_API declaration has a definition."""
    paths = files({".c", ".cc"}, ["core", "plugin", "vdb_bridge"])
    sources = "\n".join(without_comments(path.read_text()) for path in paths)
    defined = set(re.findall(r"^(?!static\b)[\w\s*\"]*?\b(firn_\w+)\([^;{]*\)(?:\s*noexcept)?\s*\{",
                             sources, flags=re.MULTILINE))
    for header in public_headers():
        text = without_comments(header.read_text())
        for match in re.finditer(r"^FIRN_API\b[^;{]*?\b(firn_\w+)\s*\(", text, flags=re.MULTILINE):
            if match.group(1) not in defined:
                line = text.count("\n", 0, match.start()) + 1
                finding(header, line, f"{match.group(1)} is declared but never defined")


def check_format():
    """clang-format has nothing to change."""
    paths = [str(p) for p in files(C_FILES | CPP_FILES)]
    result = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file", *paths],
                            capture_output=True, text=True, cwd=ROOT)
    for line in result.stderr.splitlines():
        match = re.match(r"(.*?):(\d+):\d+: error:", line)
        if match:
            finding(Path(match.group(1)), match.group(2), "run clang-format -i on this file")
    if result.returncode != 0 and not findings:
        findings.append(result.stderr)


CHECKS = {"headers": check_headers, "includes": check_includes, "shape": check_shape,
          "words": check_words, "api": check_api, "format": check_format}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        sys.exit(f"usage: check_source.py {'|'.join(CHECKS)}")
    CHECKS[sys.argv[1]]()
    for line in findings:
        print(line)
    sys.exit(1 if findings else 0)


main()
