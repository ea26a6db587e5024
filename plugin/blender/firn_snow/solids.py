"""Colliders that no object of the scene shows: boxes, spheres, capsules and OBJ files as meshes.

They are for looking at and for shadows. What the simulation uses are the values of the nodes.
"""

import math
import os

import bmesh
import bpy
from mathutils import Matrix

from . import lookdev, motion

COLOR = (0.35, 0.33, 0.31)


def show(tree, scene):
    """Makes the meshes anew, in a collection of their own."""
    collection = _collection(tree, scene)
    for old in list(collection.objects):
        bpy.data.meshes.remove(old.data)
    for node in tree.nodes:
        if getattr(node, "firn_type", "") != "collider" or node.mute or node.uses_object():
            continue
        mesh = mesh_of(node)
        if mesh is None:
            continue
        obj = bpy.data.objects.new(f"{tree.name} {node.name}", mesh)
        obj.hide_select = True
        obj.display_type = "WIRE"  # they must not hide the snow
        collection.objects.link(obj)
        _place(tree, node, obj, scene)


def _collection(tree, scene):
    name = f"{tree.name} colliders"
    found = bpy.data.collections.get(name) or bpy.data.collections.new(name)
    if found.name not in scene.collection.children:
        scene.collection.children.link(found)
    return found


def mesh_of(node):
    """The shape in Blender's axes, at its own size; None: it is not shown."""
    shape = bmesh.new()
    kind = node.value("shape")
    if kind == "box":
        bmesh.ops.create_cube(shape, size=2.0, matrix=Matrix.Diagonal(
            (*node.value("half_size"), 1.0)))
    elif kind == "sphere":
        bmesh.ops.create_icosphere(shape, subdivisions=4, radius=node.value("radius"))
    elif kind == "capsule":
        _add_capsule(shape, node.value("radius"), node.value("half_size")[2])
    elif kind == "mesh" and node.value("file").lower().endswith(".obj"):
        _add_obj(shape, bpy.path.abspath(node.value("file")))
    mesh = None
    if len(shape.faces) > 0:
        mesh = bpy.data.meshes.new(node.name)
        shape.to_mesh(mesh)
        mesh.materials.append(_material())
    shape.free()
    return mesh


def _material():
    return bpy.data.materials.get("Firn Collider") or lookdev.diffuse("Firn Collider", COLOR)


def _add_capsule(shape, radius, half):
    bmesh.ops.create_uvsphere(shape, u_segments=32, v_segments=16, radius=radius)
    for vertex in shape.verts:
        vertex.co.z += math.copysign(half, vertex.co.z) if abs(vertex.co.z) > 1e-6 else 0.0


def _add_obj(shape, path):
    """Vertices and faces of a file, Y up; what cannot be read is left to the simulation to say."""
    if not os.path.isfile(path):
        return
    vertices = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["v"] and len(words) >= 4:
                x, y, z = (float(word) for word in words[1:4])
                vertices.append(shape.verts.new((x, -z, y)))
            elif words[:1] == ["f"]:
                numbers = [int(word.split("/")[0]) for word in words[1:]]
                corners = [vertices[n - 1 if n > 0 else n] for n in numbers]
                if len(set(corners)) == len(corners) > 2 and shape.faces.get(corners) is None:
                    shape.faces.new(corners)


def _place(tree, node, obj, scene):
    """Pose and motion of the node's values."""
    unit = 1.0 / (scene.unit_settings.scale_length or 1.0)
    rows = {name: node.row(name) for name in ("translation", "rotation", "scale")}
    curves = {name: motion.curves_of(node, f"p_{name}") for name in rows}
    first, last = tree.frame_range(scene)
    moving = any(curves.values())
    for frame in range(first, last + 1) if moving else [first]:
        values = {name: motion.value_at(node, f"p_{name}", rows[name], curves[name], frame)
                  if curves[name] else node.value(name) for name in rows}
        obj.location = [v * unit for v in values["translation"]]
        obj.rotation_euler = [math.radians(v) for v in values["rotation"]]
        obj.scale = [values["scale"] * unit] * 3
        if moving:
            obj.keyframe_insert("location", frame=frame)
            obj.keyframe_insert("rotation_euler", frame=frame)
            obj.keyframe_insert("scale", frame=frame)
