"""The way to libfirn: loaded once, its tables, or the sentence that says why not."""

import os

from . import firn

failure = ""  # why nothing works; shown in the preferences
_bases = {}


def start():
    """Loads the library; afterwards `failure` is empty or explains."""
    global failure
    failure = ""
    try:
        import numpy  # noqa: F401, arrays of meshes and particles
        firn.describe()
    except firn.FirnError as error:
        failure = error.message
    except ImportError:
        failure = "Python's numpy is missing, which Blender's own builds bring along"
        if os.path.exists("/etc/debian_version"):
            failure = "Python's numpy is missing: apt install python3-numpy"


def tables():
    """Tables of all node types, in order."""
    return firn.describe()["nodes"]


def table(type_name):
    return next(row for row in tables() if row["name"] == type_name)


def shot_table():
    return firn.describe()["shot"]


def base_values(type_name, preset):
    """Values of a node that has nothing set but its preset ("": it has none)."""
    key = (type_name, preset)
    if key not in _bases:
        graph = firn.Graph()
        node = graph.add(type_name, "node")
        if preset:
            node["preset"] = preset
        _bases[key] = {row["name"]: node[row["name"]] for row in table(type_name)["params"]}
    return _bases[key]
