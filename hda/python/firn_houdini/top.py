#!/usr/bin/env python3
"""Cooks a scene as a PDG work item, or from any farm: python top.py SCENE [OPTIONS of firn cook]

In a Generic Generator or Python Script of a TOP network, the command is
    python "$FIRN/python/firn_houdini/top.py" "$HIP/shot.firn" --resume
The wedge index of the work item becomes the wedge of the cache, and every file of the cache an
output of the work item. The exit code is that of firn. It needs no Houdini.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def work_item():
    """The work item of this job; None outside of PDG."""
    try:
        from pdgjson import WorkItem
        return WorkItem.fromJobEnvironment()
    except (ImportError, RuntimeError, OSError):
        return None


def wedge_of(item):
    if item is not None:
        value = item.attribValue("wedgeindex")
        if value is not None:
            return int(value)
    return int(os.environ.get("wedgeindex") or os.environ.get("WEDGEINDEX") or -1)


def program():
    beside = os.path.join(HERE, "..", "..", "lib", "firn")
    return os.environ.get("FIRN_PROGRAM") or (beside if os.path.exists(beside) else "firn")


def cook(command, item):
    """Runs firn; passes its progress on, and its files to the work item."""
    folder = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "start":
                folder = event["folder"]
            elif event["event"] in ("frame", "progress"):
                print(f"ALF_PROGRESS {100 * event['fraction']:.0f}%", flush=True)
    if process.returncode == 0 and item is not None:
        for path in files_of(folder):
            item.addOutputFile(path, "file/geo")
    return process.returncode


def files_of(folder):
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    entries = [f for frame in manifest["frames"] for f in frame["files"]] + manifest["files"]
    return [os.path.join(os.path.abspath(folder), entry["name"]) for entry in entries]


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    item = work_item()
    command = [program(), "cook", *arguments, "--log-json"]
    wedge = wedge_of(item)
    if wedge >= 0:
        command += ["--set", f"wedge={wedge}"]
    return cook(command, item)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
