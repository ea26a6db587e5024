"""Presets of a table as values of parameters."""

import firn

from . import tables


def preset_values(table, preset):
    """Every value that a node has with a preset and nothing else."""
    node = firn.Graph().add(table["node"], "preset", preset=preset)
    return {row["name"]: node[row["name"]] for row in table["params"] if row["name"] != "preset"}


def set_parm(node, row, value, prefix=""):
    """A plain value of a scene into the parameters behind a row."""
    parts = node.parmTuple(prefix + row["name"])
    if row["type"] == "choice":
        parts[0].set(row["choices"].index(value))
    elif row["type"] == "bool":
        parts[0].set(int(value))
    elif row["type"] == "vec3":
        parts.set(tuple(value))
    else:
        parts[0].set(value)


def apply(node):
    table = tables.table_of(node)
    values = preset_values(table, node.parm("preset").evalAsString())
    for row in table["params"]:
        if row["name"] in values:
            set_parm(node, row, values[row["name"]])
