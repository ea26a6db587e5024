"""Showing results and setting up a scene that renders."""

import bpy
from bpy.props import StringProperty

from . import lookdev, result, solids, state
from .export import TreeOperator


class FIRN_OT_show(TreeOperator, bpy.types.Operator):
    """Show the cache: particles as points, volumes with the snow material"""
    bl_idname = "firn.show"
    bl_label = "Show Result"
    bl_options = {"REGISTER", "UNDO"}

    tree: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context):
        tree = self.need_tree(context)
        if tree is None:
            return {"CANCELLED"}
        if not result.cache_of(tree).frames:
            self.report({"ERROR"}, "Nothing is baked yet")
            return {"CANCELLED"}
        try:
            volume = result.show_volume(tree, context)
        except ValueError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        particles = result.show_particles(tree, context)
        particles.hide_render = volume is not None
        solids.show(tree, context.scene)
        state.redraw()
        return {"FINISHED"}


class FIRN_OT_render_ready(TreeOperator, bpy.types.Operator):
    """Add sun, sky and camera where they are missing, and set up Cycles for snow"""
    bl_idname = "firn.render_ready"
    bl_label = "Render-Ready Scene"
    bl_options = {"REGISTER", "UNDO"}

    tree: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context):
        tree = self.need_tree(context)
        if tree is None:
            return {"CANCELLED"}
        shown = bpy.ops.firn.show(tree=tree.name)
        if "FINISHED" not in shown:
            return shown
        make_ready(tree, context)
        return {"FINISHED"}


def make_ready(tree, context):
    scene, unit = context.scene, context.scene.unit_settings.scale_length or 1.0
    snow = tree.volume_object or tree.particle_object
    snow.hide_render = False
    _remove_start_objects()
    if not any(obj.type == "LIGHT" for obj in scene.objects):
        lookdev.add_sun(lookdev.DAYLIGHT["sun"])
    if scene.world is None or scene.world.name != "Sky":
        lookdev.set_sky(lookdev.DAYLIGHT["sky"])
    ground = _ground_height(tree)
    if ground is not None and not any(obj.name.startswith("Ground") for obj in scene.objects):
        plane = lookdev.add_ground(ground, lookdev.GROUND)
        plane.display_type = "WIRE"
        plane.scale = (1.0 / unit,) * 3
    if scene.camera is None:
        aspect = scene.render.resolution_x / scene.render.resolution_y
        lookdev.frame_camera(snow, aspect, _free_side(tree, scene))
    lookdev.set_cycles(lookdev.DAYLIGHT["image"]["max_bounces"], 64)
    scene.render.use_lock_interface = True
    scene.view_settings.view_transform = "Filmic"


def _remove_start_objects():
    """The cube, lamp and camera of Blender's start-up file, if nobody has touched them."""
    for name, place in (("Cube", (0.0, 0.0, 0.0)), ("Light", (4.076, 1.005, 5.904)),
                        ("Camera", (7.359, -6.926, 4.958))):
        obj = bpy.data.objects.get(name)
        if obj is not None and obj.animation_data is None and \
                all(abs(a - b) < 1e-2 for a, b in zip(obj.location, place)):
            bpy.data.objects.remove(obj)


def _free_side(tree, scene):
    """1 or -1: the side from which less of the snow is behind something solid."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    points = tree.particle_object.data.vertices
    step = max(1, len(points) // 100)
    hidden = {}
    for side in (1.0, -1.0):
        direction = lookdev.view_direction(side)
        hidden[side] = sum(
            scene.ray_cast(depsgraph, tree.particle_object.matrix_world @ points[i].co
                           + 0.01 * direction, direction)[0]
            for i in range(0, len(points), step))
    return min(hidden, key=hidden.get)


def _ground_height(tree):
    """Height of a level plane that no object of the scene shows, in units of the scene."""
    for node in tree.nodes:
        if getattr(node, "firn_type", "") != "collider" or node.mute:
            continue
        level = max(abs(v) for v in node.value("rotation")) < 1e-3
        if node.value("shape") == "plane" and level and node.scene_object is None:
            return node.value("translation")[2] / bpy.context.scene.unit_settings.scale_length
    return None


_classes = (FIRN_OT_show, FIRN_OT_render_ready)


def register():
    for made in _classes:
        bpy.utils.register_class(made)


def unregister():
    for made in reversed(_classes):
        bpy.utils.unregister_class(made)
