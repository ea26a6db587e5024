"""Drivers of node values, which Blender does not evaluate for nodes of add-ons.

The rules are Blender's own: variables come from the evaluated scene, expressions see them, `frame`
and the functions of mathematics, the curve of the driver maps the result. Python beyond simple
expressions runs only where Blender itself would run it.
"""

import functools
import json
import math
import sys

import bpy

from . import firn, motion

_ALONG = {"X": 0, "Y": 1, "Z": 2}


class DriverError(Exception):
    """Why a driver has no value; a sentence."""


def drivers_of(tree):
    data = tree.animation_data
    return data.drivers if data is not None else ()


def curves_of(node, prop):
    """Driven components of a property of a node."""
    path = motion.path_of(node, prop)
    return {curve.array_index: curve for curve in drivers_of(node.id_data)
            if curve.data_path == path and not curve.mute}


def driven(tree):
    """(node, row, curves) of every value that has a driver."""
    if not drivers_of(tree):
        return []
    found = []
    for node in tree.nodes:
        for row in getattr(node, "rows", ()):
            curves = curves_of(node, f"p_{row['name']}")
            if curves:
                found.append((node, row, curves))
    return found


# --- One driver ----------------------------------------------------------------------------------

def evaluate(curve, node, scene, depsgraph):
    """The value of a driver at the frame that the scene shows."""
    driver = curve.driver
    values = {variable.name: _variable(variable, scene, depsgraph)
              for variable in driver.variables}
    if driver.type == "SCRIPTED":
        value = _expression(driver, values, node, scene)
    elif not values:
        raise DriverError("it has no variables")
    else:
        value = {"AVERAGE": lambda v: sum(v) / len(v), "SUM": sum, "MIN": min,
                 "MAX": max}[driver.type](list(values.values()))
    # Without keys or modifiers the curve passes the value on.
    if len(curve.keyframe_points) > 0 or any(m.type == "GENERATOR" for m in curve.modifiers):
        value = curve.evaluate(value)
    elif len(curve.modifiers) > 0:
        raise DriverError("its curve has modifiers; only Generator can be followed")
    if not math.isfinite(value):
        raise DriverError("its value is not finite")
    return value


def _variable(variable, scene, depsgraph):
    targets = variable.targets
    try:
        if variable.type == "SINGLE_PROP":
            return _number(_evaluated(targets[0].id, variable, depsgraph).path_resolve(
                targets[0].data_path), variable)
        if variable.type == "TRANSFORMS":
            return _channel(targets[0], _matrix(targets[0], variable, depsgraph))
        if variable.type == "CONTEXT_PROP":
            owner = scene if targets[0].context_property == "ACTIVE_SCENE" else \
                depsgraph.view_layer
            return _number(owner.path_resolve(targets[0].data_path), variable)
    except ValueError:  # what path_resolve says
        raise DriverError(f"its variable '{variable.name}' finds no "
                          f"'{targets[0].data_path}'") from None
    first, second = (_matrix(target, variable, depsgraph) for target in targets)
    if variable.type == "LOC_DIFF":
        return (first.translation - second.translation).length
    turn = first.to_quaternion().rotation_difference(second.to_quaternion())
    angle = 2.0 * math.acos(max(-1.0, min(1.0, turn.w)))
    return angle if angle <= math.pi else angle - 2.0 * math.pi


def _evaluated(owner, variable, depsgraph):
    if owner is None:
        raise DriverError(f"its variable '{variable.name}' has no target")
    return owner.evaluated_get(depsgraph)


def _number(value, variable):
    if not isinstance(value, (int, float)):
        raise DriverError(f"its variable '{variable.name}' is no number")
    return float(value)


def _matrix(target, variable, depsgraph):
    """The pose of an object or a bone in the space of the target."""
    owner, space = _evaluated(target.id, variable, depsgraph), target.transform_space
    if not isinstance(owner, bpy.types.Object):
        raise DriverError(f"its variable '{variable.name}' needs an object")
    if not target.bone_target:
        return {"WORLD_SPACE": owner.matrix_world, "LOCAL_SPACE": owner.matrix_local,
                "TRANSFORM_SPACE": owner.matrix_basis}[space]
    bone = owner.pose.bones.get(target.bone_target) if owner.pose else None
    if bone is None:
        raise DriverError(f"its variable '{variable.name}' finds no bone "
                          f"'{target.bone_target}'")
    if space == "WORLD_SPACE":
        return owner.matrix_world @ bone.matrix
    if space == "TRANSFORM_SPACE":
        return bone.matrix_basis
    return owner.convert_space(pose_bone=bone, matrix=bone.matrix, from_space="POSE",
                               to_space="LOCAL")


def _channel(target, matrix):
    """One number of a pose, such as LOC_X."""
    kind, _, axis = target.transform_type.partition("_")
    if kind == "LOC":
        return matrix.translation[_ALONG[axis]]
    if kind == "SCALE":
        if axis == "AVG":
            return abs(matrix.determinant()) ** (1.0 / 3.0)
        return matrix.to_scale()[_ALONG[axis]]
    mode = target.rotation_mode
    if mode == "QUATERNION":
        return getattr(matrix.to_quaternion(), axis.lower())
    if mode.startswith("SWING") or axis not in _ALONG:
        raise DriverError("swing and twist cannot be followed")
    if mode == "AUTO":
        mode = target.id.rotation_mode if not target.bone_target else \
            target.id.pose.bones[target.bone_target].rotation_mode
    order = mode if len(mode) == 3 else "XYZ"
    return matrix.to_euler(order)[_ALONG[axis]]


# --- Expressions ---------------------------------------------------------------------------------

@functools.lru_cache(256)
def _compiled(expression):
    return compile(expression.strip(), "<driver>", "eval")


def _may_run_python():
    files = bpy.context.preferences.filepaths
    return files.use_scripts_auto_execute or \
        not {"-y", "--enable-autoexec"}.isdisjoint(sys.argv)


@functools.lru_cache(1)
def _plain_names():
    """What a simple expression may use; nothing of it leads to the rest of Python."""
    import bl_math
    names = {name: value for name, value in vars(math).items() if not name.startswith("_")}
    names.update({"abs": abs, "min": min, "max": max, "round": round, "int": int, "float": float,
                  "bool": bool, "lerp": bl_math.lerp, "clamp": bl_math.clamp,
                  "smoothstep": bl_math.smoothstep, "__builtins__": {}})
    return names


def _expression(driver, values, node, scene):
    if driver.is_simple_expression:
        names = dict(_plain_names())
    elif _may_run_python():
        names = dict(bpy.app.driver_namespace)
    else:
        raise DriverError(f"'{driver.expression}' is no simple expression of its variables, and "
                          "Python is not allowed: see Preferences > Save & Load > Auto Run Python "
                          "Scripts")
    names.update(values, frame=scene.frame_current_final, scene=scene)
    if driver.use_self:
        names["self"] = node
    try:
        return float(eval(_compiled(driver.expression), names))
    except Exception as error:  # an expression may do anything
        raise DriverError(f"'{driver.expression}': {error}") from None


# --- Values of nodes -----------------------------------------------------------------------------

def value_now(node, row, curves, scene, depsgraph):
    """A driven value at the frame that the scene shows."""
    prop = f"p_{row['name']}"
    numbers = {index: evaluate(curve, node, scene, depsgraph) for index, curve in curves.items()}
    if row["type"] != "vec3":
        return motion.typed(row, numbers[0])
    keyed, plain = motion.curves_of(node, prop), getattr(node, prop)
    frame = scene.frame_current_final
    return tuple(numbers[i] if i in numbers else keyed[i].evaluate(frame) if i in keyed
                 else plain[i] for i in range(3))


def follow(tree, scene, depsgraph):
    """Shows driven values as they are now; drivers that do not work leave theirs alone. Two truths:
    something is not as it was that no bake has sampled; a value is not what the last bake saw."""
    changed = stale = False
    for node, row, curves in driven(tree):
        told = _beginning(row) in node.problem
        try:
            value = value_now(node, row, curves, scene, depsgraph)
        except DriverError:
            changed = changed or not told
            continue
        changed = changed or told
        prop, seen = f"p_{row['name']}", samples_of(node).get(row["name"])
        if not same(row, value, getattr(node, prop)):
            setattr(node, prop, value)
            changed = changed or seen is None
        if seen and scene.frame_subframe == 0.0 and scene.frame_current in seen:
            stale = stale or not same(row, value, seen[scene.frame_current])
    return changed, stale


def samples_of(node):
    """{name: {frame: value}} of what changes in time, as the last walk over the frames saw it."""
    if not node.driven_json:
        return {}
    return {name: dict(map(tuple, keys)) for name, keys in json.loads(node.driven_json).items()}


class Sampler:
    """Values of a tree's drivers over the frames of a shot; `take` is called at each of them."""

    def __init__(self, tree, scene, names):
        self.scene, self.names = scene, names
        self.items = [(node, row, curves, []) for node, row, curves in driven(tree)]
        self.nodes = [node for node in tree.nodes if hasattr(node, "driven_json")]

    def take(self, depsgraph, frame):
        for node, row, curves, keys in self.items:
            try:
                value = value_now(node, row, curves, self.scene, depsgraph)
            except DriverError as error:
                raise refusal(row, self.names[node.name], error) from None
            keys.append((frame, value))

    def finish(self):
        """What stays the same becomes the value of the node; the rest is kept with its frames."""
        for node in self.nodes:
            node.driven_json = ""
        for node, row, _, keys in self.items:
            if all(same(row, value, keys[0][1]) for _, value in keys):
                setattr(node, f"p_{row['name']}", keys[0][1])
                continue
            kept = json.loads(node.driven_json or "{}")
            kept[row["name"]] = keys
            node.driven_json = json.dumps(kept)


def _beginning(row):
    return f"the driver of {row['label']} cannot be followed: "


def refusal(row, name, error):
    return firn.FirnError(f"{_beginning(row)}{error}", "argument", name, row["name"])


def problems(tree, scene, names):
    """FirnErrors of the drivers that have no value now."""
    for node, row, curves in driven(tree):
        try:
            if not node.mute:
                value_now(node, row, curves, scene, bpy.context.evaluated_depsgraph_get())
        except DriverError as error:
            yield refusal(row, names[node.name], error)


def same(row, a, b):
    """Whether two values of a property are one as far as 32-bit floats tell."""
    if row["type"] == "vec3":
        return all(math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-9) for x, y in zip(a, b))
    if row["type"] in ("float", "double"):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
    return a == b
