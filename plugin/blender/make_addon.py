#!/usr/bin/env python3
"""Builds the add-on: firn_snow with the Python package, the example shots and the native files.

Usage: make_addon.py OUTPUT.zip BUNDLE_FOLDER [VERSION]

With a version it is an extension for Blender 4.2 and later: the files lie at the top of the
archive, with a manifest. Without, it is an add-on that every Blender from 3.4 on installs.
The same files give the same bytes.
"""

import platform
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATE = (1980, 1, 1, 0, 0, 0)


def contents(bundle):
    """(name in the archive, file) of everything, sorted."""
    blender = ROOT / "plugin/blender"
    found = [(f"firn_snow/{path.name}", path) for path in blender.glob("firn_snow/*.py")]
    found += [(f"firn_snow/{path.name}", path) for path in blender.glob("firn/*.py")]
    found += [(f"firn_snow/firn/{path.name}", path)
              for path in ROOT.glob("plugin/python/firn/*.py")]
    for ending in ("firn", "obj", "abc", "vdb"):
        found += [(f"firn_snow/scenes/{path.name}", path)
                  for path in ROOT.glob(f"docs/scenes/*.{ending}")]
    system = f"{platform.system()}-{platform.machine()}".lower()
    found += [(f"firn_snow/lib/{system}/{path.name}", path) for path in bundle.iterdir()]
    return sorted(found + [("firn_snow/LICENSE", ROOT / "LICENSE")])


def main():
    output, bundle, version = Path(sys.argv[1]), Path(sys.argv[2]), "".join(sys.argv[3:])
    files = [(name, path.read_bytes()) for name, path in contents(bundle)]
    if version:
        manifest = (ROOT / "plugin/blender/blender_manifest.toml").read_text()
        files = [(name.partition("/")[2], data) for name, data in files]
        files.append(("blender_manifest.toml", manifest.replace("@VERSION@", version).encode()))
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in sorted(files):
            entry = zipfile.ZipInfo(name, DATE)
            mode = 0o755 if "lib/" in name else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


main()
