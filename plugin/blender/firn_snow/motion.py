"""Keyframes of node values, which Blender does not evaluate for nodes of add-ons."""

import bpy

from . import versions

_INTERPOLATIONS = {"constant": "CONSTANT", "linear": "LINEAR", "smooth": "BEZIER"}


def path_of(node, prop):
    """A property of a node as animation names it."""
    return f'nodes["{bpy.utils.escape_identifier(node.name)}"].{prop}'


def curves_of(node, prop):
    """F-curves of a property of a node by component."""
    path = path_of(node, prop)
    return {curve.array_index: curve for curve in versions.curves_of(node.id_data)
            if curve.data_path == path and not curve.mute and len(curve.keyframe_points) > 0}


def value_at(node, prop, row, curves, frame):
    if row["type"] == "vec3":
        value = getattr(node, prop)
        return tuple(curves[i].evaluate(frame) if i in curves else value[i] for i in range(3))
    return typed(row, curves[0].evaluate(frame))


def typed(row, number):
    """What a curve's number means for a property."""
    if row["type"] == "choice":
        return row["choices"][max(0, min(len(row["choices"]) - 1, round(number)))]
    return bool(round(number)) if row["type"] == "bool" else \
        round(number) if row["type"] == "int" else number


def sample(node, prop, row, first, last):
    """([(frame, value), ...], interpolation), or None when nothing moves.

    Straight and stepped curves keep their keys; of all others each frame becomes a key, and the
    value goes on without corners between them."""
    curves = curves_of(node, prop)
    if not curves:
        return None
    frames, interpolation = _plain_keys(row, curves) or (range(first, last + 1), "smooth")
    return keys_of(row, [(frame, value_at(node, prop, row, curves, frame)) for frame in frames],
                   interpolation)


def keys_of(row, keys, interpolation="smooth"):
    """Keys as a scene file has them, and how it goes between them."""
    if row["type"] in ("bool", "choice", "int"):
        interpolation = "constant"
    if row["type"] == "choice":
        keys = [(frame, row["choices"].index(value)) for frame, value in keys]
    return list(keys), interpolation


def _plain_keys(row, curves):
    """The frames of keys that Firn can take over as they are, and how it goes between them."""
    if row["unit"] == "deg":
        return None  # angles about other axes do not go straight
    kinds, places = set(), set()
    for curve in curves.values():
        if curve.modifiers or curve.extrapolation == "LINEAR":
            return None
        kinds |= {point.interpolation for point in curve.keyframe_points}
        places.add(tuple(point.co.x for point in curve.keyframe_points))
    if len(places) != 1 or len(kinds) != 1 or not kinds <= {"LINEAR", "CONSTANT"}:
        return None
    return list(places.pop()), kinds.pop().lower()


def insert(node, prop, keys, interpolation):
    """Keyframes on a property."""
    for frame, value in keys:
        setattr(node, prop, value)
        node.keyframe_insert(prop, frame=frame)
    for curve in curves_of(node, prop).values():
        for point in curve.keyframe_points:
            point.interpolation = _INTERPOLATIONS[interpolation]
            point.handle_left_type = point.handle_right_type = "AUTO_CLAMPED"
        curve.update()


def follow(tree, frame):
    """Shows animated values as they are at a frame."""
    if not versions.curves_of(tree):
        return
    for node in tree.nodes:
        for row in getattr(node, "rows", ()):
            prop = "p_" + row["name"]
            curves = curves_of(node, prop)
            if curves:
                setattr(node, prop, value_at(node, prop, row, curves, frame))
