"""Bodies as objects that move: copies that share the meshes of the artist's objects, with a key for
each frame of the cache.

The artist's own objects stay where they begin, since that is what the next bake reads. Keys are
part of the file: they survive scrubbing, undo, saving and a render on another machine."""

import bpy
import numpy
from mathutils import Matrix, Quaternion, Vector

from . import axes, export, firn, lookdev, result, solids, versions

LINEAR = 1  # of keyframes, as foreach_set has it


class Body:
    """A body of the cache: its name there, its node, and its poses by frame, upright."""

    def __init__(self, node, motion):
        self.name, self.node = motion.name, node
        self.poses = [(frame, *_upright(place, turn)) for frame, place, turn in
                      zip(motion.frames, motion.translation.tolist(), motion.rotation.tolist())]

    def matrix(self):
        """Where it is in the first frame."""
        _, place, turn = self.poses[0]
        return Matrix.LocRotScale(place, turn, None)


def _upright(place, turn):
    """Firn's world to Blender's, in meters. Both the world and the body's own axes turn."""
    x, y, z, w = turn
    return Vector(axes.from_firn("point", place)), Quaternion((w, x, -z, y))


def of_tree(tree):
    """The bodies whose poses the cache has."""
    motions, names = result.cache_of(tree).bodies(), export.names_of(tree)
    return [Body(node, motion) for node in tree.nodes
            if getattr(node, "firn_type", "") == "body" and not node.mute
            for name, motion in sorted(motions.items())
            if name.split(".")[0] == names[node.name]]


# --- Objects -------------------------------------------------------------------------------------

def _collection_name(tree):
    return f"{tree.name} bodies"


def show(tree, scene):
    """Makes the copies anew, in a collection of their own."""
    bodies = of_tree(tree)
    collection = bpy.data.collections.get(_collection_name(tree))
    if not bodies and collection is None:
        return
    if collection is None:
        collection = bpy.data.collections.new(_collection_name(tree))
    if collection.name not in scene.collection.children:
        scene.collection.children.link(collection)
    for old in list(collection.objects):
        _remove(old)
    archive = _archive(tree)
    for body in bodies:
        obj = _make(body, archive, scene)
        obj["firn_body"] = body.name
        collection.objects.link(obj)
    update(tree, scene)
    _step_back(bodies)


def _remove(obj):
    data, action = obj.data, obj.animation_data.action if obj.animation_data else None
    bpy.data.objects.remove(obj)
    if action is not None and action.users == 0:
        bpy.data.actions.remove(action)
    if isinstance(data, bpy.types.Mesh) and data.users == 0:
        bpy.data.meshes.remove(data)


def _make(body, archive, scene):
    unit = scene.unit_settings.scale_length or 1.0
    if body.node.uses_object():
        obj = _copy(body.node.scene_object, body.name)
        obj.scale = body.node.scene_object.matrix_world.to_scale()
    else:
        mesh = _mesh_of_archive(body, archive) or solids.mesh_of(body.node)
        obj = bpy.data.objects.new(body.name, mesh)
        obj.scale = [1.0 / unit] * 3
    obj.rotation_mode = "QUATERNION"
    return obj


def _copy(original, name):
    obj = original.copy()
    obj.name = name
    obj.animation_data_clear()
    obj.constraints.clear()
    obj.parent = None
    obj.delta_location, obj.delta_rotation_euler = (0.0,) * 3, (0.0,) * 3
    obj.delta_rotation_quaternion, obj.delta_scale = (1.0, 0.0, 0.0, 0.0), (1.0,) * 3
    obj.matrix_parent_inverse.identity()
    obj.hide_render, obj.display_type = False, "TEXTURED"
    return obj


def _step_back(bodies):
    """The artist's object becomes an outline where it begins, once."""
    for body in bodies:
        obj = body.node.scene_object if body.node.uses_object() else None
        if obj is not None and "firn_body_of" not in obj:
            obj["firn_body_of"] = True
            obj.display_type, obj.hide_render = "WIRE", True


def _archive(tree):
    """What write_bodies left, or "": it has the meshes of all bodies, whatever they came from."""
    writers = {export.names_of(tree)[node.name] for node in tree.nodes
               if getattr(node, "firn_type", "") == "write_bodies"}
    return next((file.path for file in result.cache_of(tree).files if file.node in writers), "")


def _mesh_of_archive(body, archive):
    if not archive:
        return None
    frame = body.poses[0][0]
    fps = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
    try:
        found = firn.Mesh(archive, frame / fps, body.name.replace(".", "_"))
    except firn.FirnError:
        return None
    back = body.matrix().inverted()
    points = [back @ Vector(axes.from_firn("point", point))
              for point in numpy.asarray(found.positions).reshape(-1, 3).tolist()]
    ends = numpy.cumsum(numpy.asarray(found.face_counts).ravel())[:-1]
    faces = [corners.tolist()
             for corners in numpy.split(numpy.asarray(found.face_indices).ravel(), ends)]
    mesh = bpy.data.meshes.new(body.name)
    mesh.from_pydata(points, [], faces)
    mesh.materials.append(bpy.data.materials.get("Firn Collider") or
                          lookdev.diffuse("Firn Collider", solids.COLOR))
    return mesh


# --- Keys ----------------------------------------------------------------------------------------

def update(tree, scene):
    """Keys of what the cache has now, for the copies that are there."""
    collection = bpy.data.collections.get(_collection_name(tree))
    if collection is None:
        return
    bodies = {body.name: body for body in of_tree(tree)}
    unit = scene.unit_settings.scale_length or 1.0
    for obj in collection.objects:
        body = bodies.get(obj.get("firn_body", ""))
        if body is not None and body.poses:
            _set_keys(obj, body, unit)


def _set_keys(obj, body, unit):
    frames = [frame for frame, _, _ in body.poses]
    places = [[v / unit for v in place] for _, place, _ in body.poses]
    turns = [body.poses[0][2]]
    for _, _, turn in body.poses[1:]:
        turns.append(-turn if turn.dot(turns[-1]) < 0.0 else turn)  # the short way round
    obj.animation_data_clear()
    for path, values in (("location", places), ("rotation_quaternion", turns)):
        obj.keyframe_insert(path, frame=frames[0])
        curves = {curve.array_index: curve for curve in versions.curves_of(obj)
                  if curve.data_path == path}
        for index, curve in curves.items():
            _fill(curve, frames, [value[index] for value in values])
    obj.location, obj.rotation_quaternion = places[0], turns[0]


def _fill(curve, frames, values):
    points = curve.keyframe_points
    points.add(len(frames) - len(points))
    flat = [number for pair in zip(frames, values) for number in pair]
    points.foreach_set("co", flat)
    points.foreach_set("handle_left", flat)
    points.foreach_set("handle_right", flat)
    points.foreach_set("interpolation", [LINEAR] * len(frames))
    curve.update()
