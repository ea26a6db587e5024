"""The cache in the viewport: a point cloud and a volume sequence, turned upright."""

import math
import os
import re

import bpy
import numpy

from . import export, firn, lookdev, state, versions

POINTS_GROUP = "Firn Points"
_readers = {}


class Reader:
    """Reads frames of a particle cache; one graph with one node that stays open."""

    def __init__(self, fps):
        self.graph = firn.Graph()
        self.graph.shot["fps"] = fps
        self.graph.shot["first"], self.graph.shot["last"] = -1000000, 1000000
        self.node = self.graph.add("read_particles", "cache")
        self.path = ""

    def read(self, path, frame):
        if path != self.path:
            self.node["file"] = self.path = path
        return self.graph.cook(self.node, frame).particles


# --- Which files ---------------------------------------------------------------------------------

def cache_of(tree):
    """The tree's cache, read again when its manifest has changed."""
    folder = export.cache_folder(tree)
    manifest = os.path.join(folder, "manifest.json")
    stamp = os.stat(manifest).st_mtime_ns if os.path.exists(manifest) else 0
    kept = _readers.setdefault(tree.name, {})
    if kept.get("key") != (folder, stamp):
        kept["key"], kept["cache"] = (folder, stamp), firn.Cache(folder)
    return kept["cache"]


def files_of(cache, frame, extensions):
    found = cache.frames.get(frame)
    every = (found.files if found else []) + cache.files
    return [file.path for file in every if file.name.endswith(extensions)]


def particle_file(tree, frame):
    """The file that has the particles of a frame, or None."""
    cache = cache_of(tree)
    found = files_of(cache, frame, (".bgeo", ".bgeo.gz", ".abc"))
    if found:
        return found[0]
    writers = {export.names_of(tree)[n.name] for n in tree.nodes
               if getattr(n, "firn_type", "") == "write_particles"}
    entry = cache.frames.get(frame)
    return next((f.path for f in (entry.files if entry else []) if f.node in writers), None)


def volume_files(tree):
    """(frame, path) of every volume file that Blender can show, in order: it knows no files of
    negative numbers."""
    writers = {export.names_of(tree)[n.name] for n in tree.nodes
               if getattr(n, "firn_type", "") == "write_volume"}
    cache = cache_of(tree)
    return [(number, file.path) for number, frame in sorted(cache.frames.items())
            for file in frame.files if file.node in writers and number >= 0]


# --- Particles -----------------------------------------------------------------------------------

def show_particles(tree, context):
    obj = tree.particle_object
    if obj is None or obj.name not in context.scene.objects:
        obj = new_point_cloud(f"{tree.name} particles") if versions.HAS_POINT_CLOUDS else \
            new_vertices(f"{tree.name} particles")
        context.scene.collection.objects.link(obj)
        tree.particle_object = obj
    stand_upright(obj, context.scene)
    update_particles(tree, context.scene)
    return obj


def new_point_cloud(name):
    cloud = bpy.data.pointclouds.new(name)
    cloud.materials.append(points_material())
    return bpy.data.objects.new(name, cloud)


def new_vertices(name):
    """What stands in for a point cloud where scripts cannot make one."""
    obj = bpy.data.objects.new(name, bpy.data.meshes.new(name))
    obj.modifiers.new("Points", "NODES").node_group = points_group()
    return obj


def points_of(obj):
    """The points of a particle object, or None: it is something else by now."""
    return {"MESH": lambda data: data.vertices, "POINTCLOUD": lambda data: data.points}.get(
        obj.type, lambda data: None)(obj.data)


def stand_upright(obj, scene):
    """Y up to Z up, meters to units of the scene; so does light go through a volume."""
    unit = scene.unit_settings.scale_length or 1.0
    ratio = unit / obj.get("firn_unit", 1.0)
    obj["firn_unit"] = unit
    obj.rotation_euler = (math.radians(90.0), 0.0, 0.0)
    obj.scale = (1.0 / unit,) * 3
    if obj.type != "VOLUME" or ratio == 1.0:
        return
    obj.location = obj.location / ratio
    for material in filter(None, obj.data.materials):
        lookdev.scale_extinction(material, ratio)


def update_particles(tree, scene):
    """Puts the particles of the scene's frame into their object; their number, or None: no such
    frame."""
    obj = tree.particle_object
    if obj is None or points_of(obj) is None:
        return None
    exact = scene.frame_current + scene.frame_subframe
    frame = math.floor(exact + 1e-4)
    try:
        path = particle_file(tree, frame)
        if path is None:
            _fill(obj, None, 0.0)
            return None
        fps = scene.render.fps / scene.render.fps_base
        reader = _readers[tree.name].setdefault("reader", Reader(fps))
        reader.graph.shot["fps"] = fps
        points = reader.read(path, frame)
    except firn.FirnError as error:
        _fill(obj, None, 0.0)
        state.show_problem(tree, _writer_name(tree), f"frame {frame}: {error.message}")
        return None
    _fill(obj, points, max(0.0, exact - frame) / fps)
    return points.count


def _writer_name(tree):
    return next((export.names_of(tree)[n.name] for n in tree.nodes
                 if getattr(n, "firn_type", "") == "write_particles"), "")


def _resize(obj, count):
    if len(points_of(obj)) == count:
        return
    if obj.type == "POINTCLOUD":
        obj.data.resize(count)
    else:
        obj.data.clear_geometry()
        obj.data.vertices.add(count)


def _finish(obj):
    """Tells Blender that the points are others now."""
    if obj.type == "MESH":
        obj.data.update()
    else:
        obj.data.update_tag()


def _fill(obj, points, seconds):
    """All points at once; between frames they move on by their velocities."""
    count = points.count if points else 0
    _resize(obj, count)
    if count == 0:
        _finish(obj)
        return
    place = numpy.asarray(points["P"])
    velocity = numpy.asarray(points["v"]) if "v" in points else None
    if velocity is not None and seconds > 0.0:
        place = place + velocity * numpy.float32(seconds)
    points_of(obj).foreach_set("co", _flat(place, numpy.float32))
    if velocity is not None:
        _attribute(obj.data, "velocity", "FLOAT_VECTOR").foreach_set(
            "vector", _flat(velocity, numpy.float32))
    if "id" in points:
        _attribute(obj.data, "id", "INT").foreach_set("value", _flat(points["id"], numpy.int32))
    if "pscale" in points:
        # Geometry nodes take the radius of vertices from an attribute.
        name = "radius" if obj.type == "POINTCLOUD" else "pscale"
        _attribute(obj.data, name, "FLOAT").foreach_set(
            "value", _flat(points["pscale"], numpy.float32))
    _finish(obj)


def _flat(values, dtype):
    return numpy.ascontiguousarray(values, dtype=dtype).ravel()


def _attribute(data, name, kind):
    found = data.attributes.get(name)
    if found is None or found.data_type != kind or found.domain != "POINT":
        if found is not None:
            data.attributes.remove(found)
        found = data.attributes.new(name, kind, "POINT")
    return found.data


def points_group():
    """Geometry nodes that turn vertices into points with the radius of the particles."""
    group = bpy.data.node_groups.get(POINTS_GROUP)
    if group is not None:
        return group
    group = bpy.data.node_groups.new(POINTS_GROUP, "GeometryNodeTree")
    if hasattr(group, "interface"):
        group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
        group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    else:
        group.inputs.new("NodeSocketGeometry", "Geometry")
        group.outputs.new("NodeSocketGeometry", "Geometry")
    made = [group.nodes.new(kind) for kind in
            ("NodeGroupInput", "GeometryNodeInputNamedAttribute", "GeometryNodeMeshToPoints",
             "GeometryNodeSetMaterial", "NodeGroupOutput")]
    entry, radius, points, material, leave = made
    for number, node in enumerate(made):
        node.location = (200 * number, 0)
    radius.data_type = "FLOAT"
    radius.inputs["Name"].default_value = "pscale"
    material.inputs["Material"].default_value = points_material()
    value = next(s for s in radius.outputs if s.name == "Attribute" and s.enabled)
    group.links.new(entry.outputs[0], points.inputs["Mesh"])
    group.links.new(value, points.inputs["Radius"])
    group.links.new(points.outputs[0], material.inputs["Geometry"])
    group.links.new(material.outputs[0], leave.inputs[0])
    return group


def points_material():
    """White grains, for pictures of the particles themselves."""
    material = bpy.data.materials.get("Firn Points") or bpy.data.materials.new("Firn Points")
    versions.give_nodes(material)
    shader = material.node_tree.nodes.get("Principled BSDF")
    if shader is not None:
        shader.inputs["Base Color"].default_value = (0.9, 0.93, 0.97, 1.0)
        shader.inputs["Roughness"].default_value = 0.9
    return material


# --- Volumes -------------------------------------------------------------------------------------

def show_volume(tree, context):
    """A volume object with the sequence of the cache and the snow material; None: no volumes."""
    files = volume_files(tree)
    if not files:
        return None
    obj, (first, path) = tree.volume_object, files[0]
    meta = {**lookdev.SNOW, **firn.volume_metadata(path)}
    if obj is None or obj.name not in context.scene.objects:
        obj = lookdev.add_volume(path, meta, f"{tree.name} volume")
        obj.data.materials.append(lookdev.snow_material(meta))
        tree.volume_object = obj
    stand_upright(obj, context.scene)
    set_sequence(tree, files)
    return obj


def set_sequence(tree, files):
    """Frames of the scene show the files of the same numbers, named as the cache folder is."""
    volume, (first, path) = tree.volume_object.data, files[0]
    digits = re.search(r"(\d+)\.vdb$", path)
    moves_along = tree.p_base.startswith("//") and not export.is_homeless(tree)
    volume.filepath = bpy.path.relpath(path) if moves_along else path
    volume.is_sequence = True
    volume.frame_start = first
    volume.frame_duration = files[-1][0] - first + 1
    volume.frame_offset = (int(digits.group(1)) if digits else first) - 1
    volume.sequence_mode = "CLIP"


def blur_advice(tree, scene):
    """A sentence when motion blur of the volume would end where the snow does, else ""."""
    render = scene.render
    needed = render.motion_blur_shutter * render.fps_base / render.fps / 2
    short = [node for node in tree.nodes if getattr(node, "firn_type", "") == "rasterize"
             and not node.mute and node.p_shutter < 0.99 * needed]
    if not render.use_motion_blur or tree.volume_object is None or not short:
        return ""
    return (f"Motion blur needs velocities around the snow: set Shutter of {short[0].name} to "
            f"{needed:.4f} s or more and bake again")


# -------------------------------------------------------------------------------------------------

def reload(tree):
    """Shows what is on disk now, as far as anything is shown."""
    if tree is None:
        return
    kept = _readers.get(tree.name)
    if kept:
        kept.pop("key", None)
    scene = bpy.context.scene
    if tree.particle_object is not None:
        update_particles(tree, scene)
    if tree.volume_object is not None and tree.volume_object.type == "VOLUME":
        files = volume_files(tree)
        if files:
            set_sequence(tree, files)
    from . import bodies
    bodies.update(tree, scene)


def empty(tree):
    """Takes the particles away: they are in the cache, and need no place in a .blend file."""
    if tree.particle_object is not None and points_of(tree.particle_object) is not None:
        _fill(tree.particle_object, None, 0.0)


def forget():
    _readers.clear()
