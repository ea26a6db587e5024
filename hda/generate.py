#!/usr/bin/env python3
"""Makes the digital assets, help cards and the shelf from the tables of Firn's nodes.

Usage: generate.py FIRN [--into DIR] [--check]

FIRN is the program (build/firn). What is made is checked in; --check writes nothing and fails when
a file would change, naming it. Run this again whenever a row of a table has changed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from firn_assets import cards, model, sections, shelf  # noqa: E402

# What is generated; everything else in these folders is a leftover.
GENERATED = ["otls", "help", "toolbar"]
SUMMARY = "python/firn_houdini/tables.json"


def describe(program):
    result = subprocess.run([program, "describe", "--json"], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"generate.py: {program} describe --json failed: {result.stderr.strip()}")
    return json.loads(result.stdout)


def icon_of(asset):
    path = HERE / "icons" / f"{asset.icon}.svg"
    return (path if path.exists() else HERE / "icons" / "shelf.svg").read_text()


def example_shots():
    """Name and first sentence of every example."""
    shots = []
    for path in sorted((HERE.parent / "docs" / "scenes").glob("*.firn")):
        shots.append((path.stem, json.loads(path.read_text()).get("comment", "")))
    return shots


def files(tables):
    """Every generated file: path below hda/ and text."""
    result = {SUMMARY: json.dumps(model.summary(tables), indent=1) + "\n",
              "toolbar/firn.shelf": shelf.shelf(example_shots())}
    made = model.assets(tables)
    for asset in made:
        for path, text in sections.library(asset, icon_of(asset)).items():
            result[f"otls/{asset.name}.hda/{path}"] = text
        result[cards.card_path(asset)] = cards.card(asset, made)
    return result


def present(folder):
    paths = [p for name in GENERATED for p in (folder / name).rglob("*") if p.is_file()]
    return {p.relative_to(folder).as_posix() for p in paths} | {SUMMARY}


def differences(folder, wanted):
    for path in sorted(present(folder) | set(wanted)):
        target = folder / path
        if path not in wanted:
            yield path, "is left over"
        elif not target.exists():
            yield path, "is missing"
        elif target.read_text() != wanted[path]:
            yield path, "differs"


def write(folder, wanted):
    for path in present(folder) - set(wanted):
        (folder / path).unlink()
    for path, text in wanted.items():
        target = folder / path
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("firn", help="the program, such as build/firn")
    parser.add_argument("--into", type=Path, default=HERE, help="another folder than hda/")
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args()
    wanted = files(describe(options.firn))
    if not options.check:
        write(options.into, wanted)
        return
    found = list(differences(options.into, wanted))
    for path, sentence in found:
        print(f"hda/{path} {sentence}")
    if found:
        sys.exit("run hda/generate.py again: the tables or the generator have changed")


if __name__ == "__main__":
    main()
