"""Blender properties from parameter rows."""

import math
import re
import struct

import bpy

from . import axes, versions

PREFIX = "p_"        # of a parameter, so that it meets no name of Blender's own
FINAL_PREFIX = "f_"  # of its value in final quality

def label_of(row):
    return f"{row['label']} ({row['unit']})" if row["unit"] else row["label"]


def tooltip_of(row):
    text = re.sub(r"\bY (axis|component)", r"Z \1", row["help"])  # Firn has Y up, Blender Z
    if row.get("animated"):
        text += ". May have keyframes"
    return text


def _digits(row):
    """Decimals that show the default and small values."""
    values = row["default"] if isinstance(row["default"], list) else [row["default"]]
    small = [abs(v) for v in values if v] + [0.1]
    return max(2, min(6, 2 - math.floor(math.log10(min(small)))))


def _number(row, base, **more):
    return dict(base, min=row["min"], max=row["max"], precision=_digits(row), **more)


def property_of(row, value, update=None):
    """The property of a row of a table; value is its default."""
    base = {"name": label_of(row), "description": tooltip_of(row), "default": value}
    if update is not None:
        base["update"] = update
    kind = row["type"]
    if kind == "bool":
        return bpy.props.BoolProperty(**base)
    if kind == "int":
        limits = {"min": max(int(row["min"]), -2**31), "max": min(int(row["max"]), 2**31 - 1)}
        return bpy.props.IntProperty(**base, **limits)
    if kind == "vec3":
        subtype = "COLOR" if axes.kind_of(row) == "plain" else "XYZ"
        return bpy.props.FloatVectorProperty(**_number(row, base, size=3, subtype=subtype))
    if kind == "choice":
        base["items"] = [(name, name.replace("_", " ").capitalize(), "")
                         for name in row["choices"]]
        return bpy.props.EnumProperty(**base)
    if kind in ("string", "path"):
        if kind == "path":
            base["options"] = {"ANIMATABLE"} | versions.PATH_OPTIONS
        return bpy.props.StringProperty(**base, subtype="FILE_PATH" if kind == "path" else "NONE")
    return bpy.props.FloatProperty(**_number(row, base))


def short(value):
    """The shortest decimal number that is the same as a 32-bit float."""
    single = struct.unpack("f", struct.pack("f", value))[0]
    for digits in range(6, 10):
        text = f"{single:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == single:
            return float(text)
    return single


def plain_value(row, value):
    """A property's value as JSON has it."""
    kind = row["type"]
    if kind == "vec3":
        return [short(v) for v in value]
    if kind in ("float", "double"):
        return short(value)
    return value


def same(row, a, b):
    if row["type"] == "vec3":
        return all(short(x) == short(y) for x, y in zip(a, b))
    if row["type"] in ("float", "double"):
        return short(a) == short(b)
    return a == b


def is_visible(row, value_of):
    """Whether the row's condition, such as "shape==mesh|level_set", holds."""
    condition = row.get("visible_when")
    if not condition:
        return True
    name, _, wanted = condition.partition("==")
    value = value_of(name)
    text = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) \
        else str(value)
    return text in wanted.split("|")
