"""The Add menu: nodes by category, and the example shots."""

import functools
import os

import bpy
import nodeitems_utils
from bpy.props import StringProperty
from nodeitems_utils import NodeCategory, NodeItem

from . import export, firn, host, nodes
from .export import TreeOperator

SCENES = os.path.join(os.path.dirname(__file__), "scenes")
_MENU = "FIRN_NODES"


def names():
    """Example shots, by file name."""
    return sorted(os.path.splitext(name)[0] for name in os.listdir(SCENES)
                  if name.endswith(".firn"))


def path_of(name):
    return os.path.join(SCENES, f"{name}.firn")


def _comment(name):
    try:
        return firn.Graph.load(path_of(name)).shot["comment"]
    except firn.FirnError as error:
        return error.message


class FIRN_OT_add_preset(TreeOperator, bpy.types.Operator):
    """Add the nodes of an example shot"""
    bl_idname = "firn.add_preset"
    bl_label = "Add Snow Preset"
    bl_options = {"REGISTER", "UNDO"}

    tree: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    preset: StringProperty()

    @classmethod
    def description(cls, context, properties):
        return _comment(properties.preset).rstrip(".")  # Blender ends tooltips itself

    def execute(self, context):
        if self.preset not in names():
            self.report({"ERROR"}, f"There is no preset '{self.preset}'")
            return {"CANCELLED"}
        tree = self.find_tree(context) or export.new_tree(
            self.preset.replace("_", " ").capitalize(), context)
        empty = len(tree.nodes) == 0
        for node in tree.nodes:
            node.select = False
        made = export.read_scene(tree, context.scene, path_of(self.preset), whole=False)
        if empty:
            first, last = firn.Graph.load(path_of(self.preset)).to_dict()["frames"]
            context.scene.frame_start, context.scene.frame_end = first, last
            tree.p_comment = _comment(self.preset)
        for node in made:
            if node.firn_type == "write_particles":
                node.p_format = nodes.DEFAULTS["write_particles", "format"]
        if empty and not bpy.app.background:
            # Once they have been drawn, which is when Blender knows how large nodes are.
            bpy.app.timers.register(functools.partial(_look_at_all, tree.name), first_interval=0.2)
        return {"FINISHED"}


def _look_at_all(name):
    """Frames the nodes of a tree in every editor that shows it."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            shown = getattr(area.spaces.active, "node_tree", None)
            if shown is None or shown.name != name or area.type != "NODE_EDITOR":
                continue
            region = next(r for r in area.regions if r.type == "WINDOW")
            with bpy.context.temp_override(window=window, area=area, region=region):
                bpy.ops.node.view_all()


class FIRN_MT_presets(bpy.types.Menu):
    bl_idname = "FIRN_MT_presets"
    bl_label = "Presets"

    def draw(self, context):
        for name in names():
            text = name.replace("_", " ").capitalize()
            self.layout.operator(FIRN_OT_add_preset.bl_idname, text=text).preset = name


class FirnCategory(NodeCategory):
    @classmethod
    def poll(cls, context):
        return getattr(context.space_data, "tree_type", "") == "FirnSnowTree"


def _draw_presets(self, context):
    if getattr(context.space_data, "tree_type", "") == "FirnSnowTree":
        self.layout.menu(FIRN_MT_presets.bl_idname, icon="PRESET")


def _categories():
    made = {}
    for table in host.tables():
        made.setdefault(table["category"], []).append(NodeItem(nodes.idname(table["name"])))
    made["Layout"] = [NodeItem("NodeFrame"), NodeItem("NodeReroute")]
    return [FirnCategory(f"FIRN_{name.upper()}", name, items=items)
            for name, items in made.items()]


_classes = (FIRN_OT_add_preset, FIRN_MT_presets)


def register():
    for made in _classes:
        bpy.utils.register_class(made)
    nodeitems_utils.register_node_categories(_MENU, _categories())
    bpy.types.NODE_MT_add.append(_draw_presets)


def unregister():
    bpy.types.NODE_MT_add.remove(_draw_presets)
    nodeitems_utils.unregister_node_categories(_MENU)
    for made in reversed(_classes):
        bpy.utils.unregister_class(made)
