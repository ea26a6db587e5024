"""Showing results and setting up a scene that renders."""

import bpy
from bpy.props import StringProperty

from . import bodies, firn, lookdev, result, solids, state, versions
from .export import TreeOperator
from .tree import trees


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
        try:
            frames = result.cache_of(tree).frames
            if not frames:
                self.report({"ERROR"}, "Nothing is baked yet")
                return {"CANCELLED"}
            volume = result.show_volume(tree, context)
        except (ValueError, firn.FirnError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        _go_to(context.scene, frames)
        _remove_start_objects(("Cube",))
        particles = result.show_particles(tree, context)
        particles.hide_render = volume is not None
        _select(context, particles)
        solids.show(tree, context.scene)
        bodies.show(tree, context.scene)
        _step_back(tree)
        state.redraw()
        return {"FINISHED"}


def _select(context, obj):
    """So that one key frames it in the viewport."""
    if obj.name in context.view_layer.objects:
        for other in context.selected_objects:
            other.select_set(False)
        obj.select_set(True)
        context.view_layer.objects.active = obj


def _go_to(scene, frames):
    """Where no frame is baked there is nothing to see."""
    here = scene.frame_current
    if here not in frames:
        scene.frame_set(min(frames, key=lambda frame: abs(frame - here)))


def _step_back(tree):
    """An object that was filled with snow stands where the snow is: it becomes an outline, which
    does not render. Once; what the artist makes of it afterwards stays."""
    for node in tree.nodes:
        if getattr(node, "firn_type", "") != "snow_source" or node.mute or not node.uses_object():
            continue
        obj = node.scene_object
        if "firn_filled" not in obj:
            obj["firn_filled"] = True
            obj.display_type, obj.hide_render = "WIRE", True


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
    _remove_start_objects(("Light", "Camera"))
    if not any(obj.type == "LIGHT" for obj in scene.objects):
        lookdev.add_sun(lookdev.DAYLIGHT["sun"])
    if scene.world is None or _is_start_world(scene.world):
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


def _remove_start_objects(names):
    """Of the cube, lamp and camera of Blender's start-up file what nobody has touched: the cube
    hides the snow, the others do not suit it."""
    used = {getattr(node, "scene_object", None) for tree in trees() for node in tree.nodes}
    for name, place, turn in (("Cube", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
                              ("Light", (4.076, 1.005, 5.904), (0.650, 0.055, 1.866)),
                              ("Camera", (7.359, -6.926, 4.958), (1.109, 0.0, 0.815))):
        obj = bpy.data.objects.get(name)
        if name not in names or obj is None or obj in used or not _is_plain(obj):
            continue
        poses = zip((*obj.location, *obj.rotation_euler, *obj.scale), (*place, *turn, 1, 1, 1))
        if all(abs(a - b) < 1e-2 for a, b in poses):
            bpy.data.objects.remove(obj)


def _is_plain(obj):
    """Neither animated nor built upon."""
    return not (obj.animation_data or obj.data.animation_data or obj.modifiers or
                obj.constraints or obj.children or obj.parent) and \
        (obj.type != "MESH" or len(obj.data.vertices) == 8)


def _is_start_world(world):
    """The even gray of Blender's start-up file."""
    if world.animation_data or not versions.has_nodes(world) or len(world.node_tree.nodes) != 2:
        return False
    background = world.node_tree.nodes.get("Background")
    if background is None or background.inputs["Strength"].default_value != 1.0:
        return False
    return all(abs(v - 0.0509) < 1e-3 for v in background.inputs["Color"].default_value[:3])


def _free_side(tree, scene):
    """1 or -1: the side from which less of the snow is behind something solid."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    points = result.points_of(tree.particle_object)
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
