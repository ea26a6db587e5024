"""Objects of the scene as input files: Alembic meshes with Y up, in meters.

Each object is looked at in every frame of the shot. As long as only its transform changes it stays
one mesh with a moving pose; with the first change of shape it becomes a mesh for each frame.
"""

import json
import math
import os

import bpy
import numpy
from mathutils import Matrix, Vector

from . import axes, drivers, firn, properties

LARGE, SMALL = 200.0, 0.01  # m; sizes beyond are rarely meant
TURN = numpy.array(axes.TO_FIRN, dtype=numpy.float32)


def folder_of(tree):
    from . import export
    return os.path.join(export.cache_folder(tree), "inputs")


class Mesh:
    """Vertices in the object's own space, and its faces."""

    def __init__(self, mesh):
        count, corners = len(mesh.vertices), len(mesh.loops)
        self.points = numpy.empty((count, 3), dtype=numpy.float32)
        mesh.vertices.foreach_get("co", self.points.ravel())
        self.corners = numpy.empty(corners, dtype=numpy.int32)
        mesh.loops.foreach_get("vertex_index", self.corners)
        self.sizes = numpy.empty(len(mesh.polygons), dtype=numpy.int32)
        mesh.polygons.foreach_get("loop_total", self.sizes)

    @classmethod
    def joined(cls, parts):
        """Several in one; parts are (mesh, matrix into the common space or None)."""
        made, start = cls.__new__(cls), 0
        points, corners = [], []
        for mesh, matrix in parts:
            points.append(mesh.points if matrix is None else _moved(mesh.points, matrix))
            corners.append(mesh.corners + numpy.int32(start))
            start += len(mesh.points)
        made.points, made.corners = numpy.concatenate(points), numpy.concatenate(corners)
        made.sizes = numpy.concatenate([mesh.sizes for mesh, _ in parts])
        return made

    def same_faces(self, other):
        return numpy.array_equal(self.sizes, other.sizes) and \
            numpy.array_equal(self.corners, other.corners)

    def same_shape(self, other):
        if not self.same_faces(other) or self.points.shape != other.points.shape:
            return False
        reach = float(numpy.abs(self.points).max(initial=1e-6))
        return bool(numpy.abs(self.points - other.points).max(initial=0.0) <= 1e-6 * reach)


def _moved(points, matrix):
    turn = numpy.array(matrix.to_3x3(), dtype=numpy.float32)
    place = numpy.array(matrix.translation, dtype=numpy.float32)
    return numpy.ascontiguousarray(points @ turn.T + place, dtype=numpy.float32)


def _plane_pose(evaluated):
    """Where a plane is: its only face, wherever that stands in the object, else the floor of the
    object's own axes. Its Z axis is the normal that Blender shows, also of what is mirrored."""
    matrix, place, normal = evaluated.matrix_world, Vector(), Vector((0.0, 0.0, 1.0))
    mesh = evaluated.to_mesh() if evaluated.type == "MESH" else None
    if mesh is not None and len(mesh.polygons) == 1:
        place, normal = mesh.polygons[0].center.copy(), mesh.polygons[0].normal.copy()
    evaluated.to_mesh_clear()
    turn = matrix.to_quaternion()
    facing = (matrix.to_3x3().inverted_safe().transposed() @ normal).normalized()
    turn = (turn @ Vector((0.0, 0.0, 1.0))).rotation_difference(facing) @ turn
    return Matrix.LocRotScale(matrix @ place, turn, None)


def makes_instances(obj):
    """Whether Blender may show more of it than its own mesh."""
    return obj.is_instancer or any(m.type == "NODES" for m in obj.modifiers)


class Input:
    """One node's object over the frames of a shot; `take` is called at each of them."""

    def __init__(self, tree, node, name, scene):
        self.tree, self.node, self.name = tree.name, node.name, name
        self.object, self.type = node.scene_object, node.firn_type
        self.scale = scene.unit_settings.scale_length
        self.fps = scene.render.fps / scene.render.fps_base
        self.first = tree.frame_range(scene)[0]
        self.path = os.path.join(folder_of(tree), f"{name}.abc")
        self.still = None      # the mesh while only the transform moves
        self.poses = []        # (frame, matrix)
        self.writer = None     # once the shape has changed
        self.keeps = False     # the file of a volume will do
        self.params = {}
        self.warning = ""
        self.choice = node.choice()
        self.once = self.type == "snow_source"  # sources count at the first frame only
        self.until = self._last_pose(node)
        self.shape = node.value(self.choice)

    def fail(self, message):
        raise firn.FirnError(f"{self.object.name}: {message}", "argument", self.name,
                             "scene_object")

    def _last_pose(self, node):
        """The last frame whose pose counts. A body goes its own way from its release on; the frame
        behind that tells how fast it is let go."""
        if self.type != "body":
            return -math.inf if self.once else math.inf
        release = node.value("release_frame")
        return math.ceil(release) + 1 if release > 0.0 else -math.inf

    # --- Each frame ------------------------------------------------------------------------------

    def take(self, depsgraph, frame):
        if self.poses and frame > self.until:
            return
        evaluated = self.object.evaluated_get(depsgraph)
        matrix = evaluated.matrix_world.copy()
        if self.shape == "plane":
            self.poses.append((frame, _plane_pose(evaluated)))
            return
        if self.object.type == "VOLUME":
            if not self.poses:
                self.keeps = self._keeps_volume(matrix)
            if self.keeps:
                self.poses.append((frame, matrix))
                return
        mesh = self._mesh(evaluated, depsgraph)
        if self.still is None and self.writer is None:
            self.still = mesh
        if self.writer is None and not self._is_rigid(mesh, matrix):
            self._begin_deforming()
        self.poses.append((frame, matrix))
        if self.writer is not None:
            self._put(mesh, matrix)

    def _mesh(self, evaluated, depsgraph):
        if self.object.type == "VOLUME":
            return self._volume_mesh(depsgraph)
        parts = self._own_part(evaluated)
        if makes_instances(self.object):
            parts += self._instances(evaluated, depsgraph)
        if not parts:
            self.fail("it has no faces; snow needs a surface")
        mesh = parts[0][0] if len(parts) == 1 and parts[0][1] is None else Mesh.joined(parts)
        if not numpy.isfinite(mesh.points).all():
            self.fail("it has vertices that are not finite")
        return mesh

    def _own_part(self, evaluated):
        if evaluated.type == "EMPTY":
            return []
        made = evaluated.to_mesh()
        parts = [(Mesh(made), None)] if made is not None and len(made.polygons) > 0 else []
        evaluated.to_mesh_clear()
        return parts

    def _instances(self, evaluated, depsgraph):
        """What a collection or geometry nodes put there, in the space of the object."""
        inverse, parts = evaluated.matrix_world.inverted_safe(), []
        for item in depsgraph.object_instances:
            if not item.is_instance or item.parent is None or \
                    item.parent.original != self.object or item.object.type != "MESH":
                continue
            mesh = item.object.data
            if len(mesh.polygons) > 0:
                parts.append((Mesh(mesh), inverse @ item.matrix_world))
        return parts

    def _is_rigid(self, mesh, matrix):
        if not mesh.same_shape(self.still):
            return False
        location, turn, scale = matrix.decompose()
        whole = Matrix.LocRotScale(location, turn, scale)
        sheared = max(abs(a - b) for r, s in zip(whole, matrix) for a, b in zip(r, s))
        first = self.poses[0][1].to_scale() if self.poses else scale
        if not all(first):
            return False  # from a flat shape no factor leads to the others
        ratios = [size / initial for size, initial in zip(scale, first)]
        if min(ratios) < 1e-6:
            return False  # through nothing, or turned inside out
        return sheared < 1e-5 * (1.0 + max(abs(v) for v in scale)) and \
            max(ratios) - min(ratios) < 1e-5

    def _begin_deforming(self):
        if self.type == "body":
            self.fail("it changes its shape, but a body keeps its own; use a collider for it, or "
                      "switch off what deforms it")
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.writer = firn.MeshWriter(self.path + ".new", self.name, self.fps, self.first)
        for _, matrix in self.poses:
            self._put(self.still, matrix)

    def _put(self, mesh, matrix):
        self.writer.put(self._points(mesh, matrix), mesh.sizes, mesh.corners)

    def _points(self, mesh, matrix):
        """In Firn's world."""
        turn = TURN @ numpy.array(matrix.to_3x3(), dtype=numpy.float32)
        place = TURN @ numpy.array(matrix.translation, dtype=numpy.float32)
        return numpy.ascontiguousarray((mesh.points @ turn.T + place) * self.scale,
                                       dtype=numpy.float32)

    # --- Volumes ---------------------------------------------------------------------------------

    def _keeps_volume(self, matrix):
        """Whether its file will do. Colliders carry a pose and one scale; the file of a source is
        taken as it stands. All else becomes a mesh."""
        if not self.object.data.filepath or self.object.modifiers:
            return False
        if not self.once:
            scale = matrix.to_scale()
            return min(scale) > 0.0 and max(scale) - min(scale) < 1e-5 * max(scale)
        pose = axes.TO_FIRN.to_4x4() @ matrix
        return self.scale == 1.0 and max(abs(a - b) for r, s in zip(pose, Matrix.Identity(4))
                                         for a, b in zip(r, s)) < 1e-6

    def _volume_mesh(self, depsgraph):
        """The surface of a volume, in its own space."""
        carrier = bpy.data.objects.new("firn_volume", bpy.data.meshes.new("firn_volume"))
        try:
            bpy.context.scene.collection.objects.link(carrier)
            carrier.matrix_world = self.object.matrix_world
            modifier = carrier.modifiers.new("surface", "VOLUME_TO_MESH")
            modifier.object = self.object
            names = self._float_grids()
            if names and "density" not in names:  # a level set
                modifier.grid_name, modifier.threshold = names[0], 0.0
            fresh = bpy.context.evaluated_depsgraph_get()
            evaluated = carrier.evaluated_get(fresh)
            made = evaluated.to_mesh()
            if made is None or len(made.polygons) == 0:
                self.fail("the volume has no surface")
            mesh = Mesh(made)
            evaluated.to_mesh_clear()
            return mesh
        finally:
            bpy.data.meshes.remove(carrier.data)

    def _float_grids(self):
        grids = self.object.data.grids
        grids.load()
        return sorted((grid.name for grid in grids if grid.data_type == "FLOAT"),
                      key=lambda name: name != "surface")

    def _volume_file(self):
        volume = self.object.data
        path = bpy.path.abspath(volume.filepath, library=volume.library)
        if volume.is_sequence:
            stem, extension = os.path.splitext(path)
            digits = len(stem) - len(stem.rstrip("0123456789"))
            path = f"{stem[:-digits]}$F{digits}{extension}" if digits else path
        return os.path.normpath(path)

    # --- The end ---------------------------------------------------------------------------------

    def finish(self):
        """Writes what is still to be written; afterwards `params` is what the node says."""
        if self.keeps:
            self._finish_volume()
        elif self.shape == "plane":
            self._set_pose(axes.TO_FIRN, axes.FROM_FIRN)
        elif self.writer is not None:
            self.writer.finish()
            self.params = {self.choice: "mesh", "file": self.path, "deforming": True}
        else:
            self._finish_rigid()
        if os.path.exists(self.path + ".new"):
            _replace_if_changed(self.path)
        self._check_size()
        bpy.data.node_groups[self.tree].nodes[self.node].input_json = json.dumps(self.params)

    def _finish_rigid(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        matrix = self.poses[0][1]
        placed = matrix if self.once else Matrix.Diagonal(matrix.to_scale()).to_4x4()
        with firn.MeshWriter(self.path + ".new", self.name, self.fps, self.first) as writer:
            writer.put(self._points(self.still, placed), self.still.sizes, self.still.corners)
        self.params = {self.choice: "mesh", "file": self.path}
        if self.once:
            self.params["center"] = self._center()
        else:
            self._set_pose(axes.TO_FIRN, axes.FROM_FIRN, matrix.to_scale())

    def _finish_volume(self):
        self.params = {self.choice: "level_set", "file": self._volume_file(), "vdb_region": "any"}
        if self.once:
            return
        if self.object.data.is_sequence:
            self.params["deforming"] = True
            if max(abs(v) for v in self._pose_angles(axes.TO_FIRN, Matrix.Identity(3))) > 1e-3:
                self.fail("a volume that changes stands where its files say: turn it by 90 "
                          "degrees about X, without moving it")
            return
        self._set_pose(axes.TO_FIRN, Matrix.Identity(3))

    def _pose_angles(self, before, after):
        return axes.matrix_angles(before @ self.poses[0][1].to_quaternion().to_matrix() @ after)

    def _center(self):
        points = self._points(self.still, self.poses[0][1])
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        return [properties.short(float(v)) for v in middle]

    def _set_pose(self, before, after, scale_of_mesh=None):
        """Translation, rotation and scale of Firn: one value, or a key for each frame."""
        self.params.setdefault(self.choice, self.shape)
        rows = {"translation": [], "rotation": [], "scale": []}
        near = None
        for frame, matrix in self.poses:
            location, turn, scale = matrix.decompose()
            near = axes.matrix_angles(before @ turn.to_matrix() @ after, near)
            place = (axes.TO_FIRN @ location) * self.scale
            size = scale.x / scale_of_mesh.x if scale_of_mesh and scale_of_mesh.x else \
                scale.x * self.scale if self.object.type == "VOLUME" else 1.0
            rows["translation"].append([frame, [properties.short(v) for v in place]])
            rows["rotation"].append([frame, [properties.short(v) for v in near]])
            rows["scale"].append([frame, properties.short(size)])
        for name, keys in rows.items():
            if all(_near(value, keys[0][1]) for _, value in keys):
                self.params[name] = keys[0][1]
            else:
                self.params[name] = {"keys": keys, "interpolation": "smooth"}

    def _check_size(self):
        if self.still is None or self.shape == "plane":
            return
        points = self._points(self.still, self.poses[0][1])
        size = float((points.max(axis=0) - points.min(axis=0)).max())
        if size > LARGE or size < SMALL:
            self.warning = (f"{self.object.name} is {size:.3g} m large. Firn works in meters; "
                            "look at Scene > Units > Unit Scale")

    def abandon(self):
        if self.writer is not None:
            self.writer.abandon()


def _near(a, b):
    if isinstance(a, list):
        return all(_near(x, y) for x, y in zip(a, b))
    return abs(a - b) <= 1e-6 * max(1.0, abs(b))


def _replace_if_changed(path):
    """A file of the same bytes stays, with its time: what was baked from it is not stale."""
    new = path + ".new"
    if os.path.exists(path) and os.path.getsize(path) == os.path.getsize(new):
        with open(path, "rb") as old_file, open(new, "rb") as new_file:
            if old_file.read() == new_file.read():
                os.remove(new)
                return
    os.replace(new, path)


def _nodes_of(tree):
    return [node for node in tree.nodes
            if getattr(node, "firn_type", "") and node.uses_object() and not node.mute]


def _is_enabled(layer, obj):
    """Whether a collection that is switched on has the object."""
    if layer.exclude or layer.collection.hide_viewport:
        return False
    return obj.name in layer.collection.objects or \
        any(_is_enabled(child, obj) for child in layer.children)


def problems(tree, scene, names):
    """FirnErrors of the objects that cannot be looked at."""
    for node in _nodes_of(tree):
        obj, sentence = node.scene_object, ""
        if obj.name not in scene.objects:
            sentence = "it is not in the scene; pick another object or put it back"
        elif obj.hide_viewport or not _is_enabled(bpy.context.view_layer.layer_collection, obj):
            sentence = "it or its collection is switched off (the monitor or the check mark in " \
                "the outliner), and then Blender does not evaluate it; the eye may hide it"
        if sentence:
            yield firn.FirnError(f"{obj.name}: {sentence}", "argument", names[node.name],
                                 "scene_object")


def inputs_of(tree, scene):
    from . import export
    names = export.names_of(tree)
    for problem in problems(tree, scene, names):
        raise problem
    return [Input(tree, node, names[node.name], scene) for node in _nodes_of(tree)]


def moves(item):
    """Whether anything about the object may change in time; False saves the walk over frames."""
    obj, seen = item.object, 0
    if makes_instances(obj):
        return True
    while obj is not None and seen < 100:
        if obj.animation_data or obj.constraints or obj.modifiers or obj.rigid_body:
            return True
        data = obj.data
        if data is not None and (data.animation_data or getattr(data, "shape_keys", None)):
            return True
        if obj.type in {"META"} or getattr(data, "is_sequence", False):
            return True
        if obj.parent_type not in {"OBJECT"}:
            return True
        obj, seen = obj.parent, seen + 1
    return False


def walk(tree, context):
    """Goes over the frames of the shot; yields (number, count) after each. Blender shows each frame
    for a moment; the frame of the artist comes back at the end."""
    from . import export
    scene = context.scene
    items = inputs_of(tree, scene)
    driven = drivers.Sampler(tree, scene, export.names_of(tree))
    first, last = tree.frame_range(scene)
    here = (scene.frame_current, scene.frame_subframe)
    animated = bool(driven.items) or any(moves(item) and item.until >= first for item in items)
    frames = range(first, last + 1) if animated else [first]
    try:
        for number, frame in enumerate(frames if items or driven.items else []):
            if animated or scene.frame_current != first:
                scene.frame_set(frame)
            depsgraph = context.evaluated_depsgraph_get()
            for item in items:
                item.take(depsgraph, frame)
            driven.take(depsgraph, frame)
            yield number + 1, len(frames)
        for item in items:
            item.finish()
        driven.finish()
    except BaseException:
        for item in items:
            item.abandon()
        raise
    finally:
        if (scene.frame_current, scene.frame_subframe) != here:
            scene.frame_set(here[0], subframe=here[1])
    tree.objects_changed = False
    tree.warning = "\n".join(item.warning for item in items if item.warning)
