"""Parameters of a Houdini node as values of a scene."""

import json
import re
import shlex

import hou

from . import Problem

# $F4, ${F4} and $F, but not $FF or $FPS.
FRAME_TOKEN = re.compile(r"\$(?:\{F(\d?)\}|F(\d?)(?![A-Za-z0-9_]))")


def components(node, row, prefix):
    """The parameters behind a row: three for a vector."""
    name = prefix + row["name"]
    found = node.parmTuple(name)
    if found is None:
        raise Problem(f"{node.path()} has no parameter '{name}': it was made by another version "
                      "of Firn's assets")
    return list(found)


def value_at(parts, row, frame):
    kind = row["type"]
    if kind == "vec3":
        return [part.evalAsFloatAtFrame(frame) for part in parts]
    if kind == "bool":
        return bool(parts[0].evalAsIntAtFrame(frame))
    if kind == "int":
        return parts[0].evalAsIntAtFrame(frame)
    if kind in ("float", "double"):
        return parts[0].evalAsFloatAtFrame(frame)
    return parts[0].evalAsStringAtFrame(frame)


def path_of(part, frame):
    """A path with its variables replaced; a frame number stays one, in the form %04d."""
    try:
        text = part.unexpandedString()
    except hou.OperationFailed:  # an expression gives it
        return part.evalAsStringAtFrame(frame)
    pattern = FRAME_TOKEN.sub(lambda m: f"%0{m.group(1) or m.group(2) or 1}d", text)
    return hou.text.expandString(pattern)


def is_default(value, row):
    if isinstance(value, list):
        return all(abs(a - b) <= 1e-9 * max(1.0, abs(b)) for a, b in zip(value, row["default"]))
    if row["type"] in ("float", "double"):
        return abs(value - row["default"]) <= 1e-9 * max(1.0, abs(row["default"]))
    return value == row["default"]


def single(value, row):
    """Without the noise that a float's way through a double leaves: 0.1, not 0.10000000149."""
    if row["type"] == "vec3":
        return [float(f"{v:.9g}") for v in value]
    return float(f"{value:.9g}") if row["type"] in ("float", "double") else value


def value(node, row, frames, prefix="", warnings=None):
    """The value of a row as a scene has it: plain, or one for each frame where it moves."""
    parts = components(node, row, prefix)
    first, last = frames
    if row["type"] == "path":
        return path_of(parts[0], first)
    moves = any(part.isTimeDependent() for part in parts)
    if moves and row.get("animated"):
        values = [single(value_at(parts, row, f), row) for f in range(first, last + 1)]
        return values[0] if all(v == values[0] for v in values) else \
            {"from": first, "values": values}
    plain = single(value_at(parts, row, first), row)
    if moves and warnings is not None and \
            single(value_at(parts, row, last), row) != plain:
        warnings.append(f"{node.path()}: '{row['label']}' cannot move during a simulation; its "
                        f"value of frame {first} counts")
    return plain


def values(node, rows, frames, prefix="", warnings=None):
    """The values that differ from the tables. A preset changes what the others begin with, so
    that beside one everything is said."""
    everything = any(row["name"] == "preset" for row in rows)
    result = {}
    for row in rows:
        given = value(node, row, frames, prefix, warnings)
        if everything or isinstance(given, dict) or not is_default(given, row):
            result[row["name"]] = given
    return result


def final_values(node):
    """`cell_size=0.01 contact=sticky` as a dictionary."""
    text = node.parm("final_values").evalAsString()
    result = {}
    for word in shlex.split(text):
        name, equals, given = word.partition("=")
        if not equals:
            raise Problem(f"{node.path()}: '{word}' in Final quality is not NAME=VALUE")
        try:
            result[name] = json.loads(given)
        except ValueError:
            result[name] = given
    return result
