"""Between Blender (Z up, units of the scene) and Firn (Y up, meters).

A point (x, y, z) of Firn stands at (x, -z, y) in Blender. Values of nodes are shown with Z up, in
meters; lengths of scene objects are multiplied by the unit scale of the scene.
"""

import math

from mathutils import Euler, Matrix

# Blender's axes to Firn's: x, z, -y.
TO_FIRN = Matrix(((1, 0, 0), (0, 0, 1), (0, -1, 0)))
FROM_FIRN = TO_FIRN.transposed()
SPATIAL = {"m", "m/s", "m/s^2", "rad/s"}  # units of what has a direction; the rest are colors
DIRECTIONS = {"up"}  # parameters without a unit that have one, too


def kind_of(row):
    """How three numbers turn: "point", "size", "angles", "lower", "upper"; "plain": not at all."""
    if row["type"] != "vec3":
        return "plain"
    if row["unit"] == "deg":
        return "angles"
    if row["unit"] not in SPATIAL and row["name"] not in DIRECTIONS:
        return "plain"
    if row["name"].endswith("half_size"):
        return "size"
    if row["name"].endswith(("_lower", "_upper")):
        return row["name"].rsplit("_", 1)[1]
    return "point"


def matrix_angles(matrix, near=None):
    """Degrees about X, then Y, then Z; near (degrees) chooses among equal turns."""
    if near is None:
        angles = matrix.to_euler("XYZ")
    else:
        angles = matrix.to_euler("XYZ", Euler([math.radians(a) for a in near], "XYZ"))
    # Four decimals are as much as 32-bit floats tell, and 25 comes back as 25.
    return tuple(round(math.degrees(a), 4) + 0.0 for a in angles)


def angles_matrix(angles):
    return Euler([math.radians(a) for a in angles], "XYZ").to_matrix()


def to_firn(kind, value, other=None, near=None):
    """A value as Firn has it; other is the opposite corner of a box."""
    x, y, z = value
    if kind == "point":
        return (x, z, -y)
    if kind == "size":
        return (x, z, y)
    if kind in ("lower", "upper"):
        return (x, z, -other[1])
    if kind == "angles":
        return matrix_angles(TO_FIRN @ angles_matrix(value) @ FROM_FIRN, near)
    return (x, y, z)


def from_firn(kind, value, other=None, near=None):
    x, y, z = value
    if kind == "point":
        return (x, -z, y)
    if kind == "size":
        return (x, z, y)
    if kind in ("lower", "upper"):
        return (x, -other[2], y)
    if kind == "angles":
        return matrix_angles(FROM_FIRN @ angles_matrix(value) @ TO_FIRN, near)
    return (x, y, z)


def default_of(rows, row):
    """The default of a row as Blender shows it."""
    if row["type"] != "vec3":
        return row["default"]
    kind = kind_of(row)
    other = None
    if kind in ("lower", "upper"):
        other = next(r["default"] for r in rows if r["name"] == opposite(row["name"]))
    return from_firn(kind, row["default"], other)


def opposite(name):
    """The other corner's parameter."""
    first, _, last = name.rpartition("_")
    return f"{first}_{'upper' if last == 'lower' else 'lower'}"
