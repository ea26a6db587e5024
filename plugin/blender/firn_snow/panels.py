"""Panels in the sidebar of the node editor."""

import bpy
from bpy.props import StringProperty

from . import bake, export, properties, result, state


class FirnPanel:
    bl_space_type = "NODE_EDITOR"
    bl_region_type = "UI"
    bl_category = "Firn"

    @classmethod
    def poll(cls, context):
        return cls.tree_of(context) is not None

    @staticmethod
    def tree_of(context):
        found = getattr(context.space_data, "edit_tree", None)
        return found if getattr(found, "bl_idname", "") == "FirnSnowTree" else None


def _message(context, layout, text, icon, alert=False):
    """As many words in a line as the sidebar has room for."""
    box = layout.box()
    box.alert = alert
    width = context.region.width / context.preferences.system.ui_scale
    for number, line in enumerate(state.wrap(text, max(16, int((width - 70) / 6)))):
        box.label(text=line, icon=icon if number == 0 else "BLANK1")


class FIRN_PT_bake(FirnPanel, bpy.types.Panel):
    bl_label = "Bake"

    def draw(self, context):
        layout, tree = self.layout, self.tree_of(context)
        state.draw_badge(tree, layout)
        if tree.problem:
            _message(context, layout, tree.problem, "ERROR", True)
        if tree.warning:
            _message(context, layout, tree.warning, "INFO")
        if export.is_homeless(tree):
            _message(context, layout, "Save the .blend file to keep its caches beside it. Until "
                     f"then they are in {export.cache_base(tree)}", "INFO")
        column = layout.column(align=True)
        column.scale_y = 1.3
        if bake.running is not None:
            column.operator("firn.stop", icon="CANCEL")
        else:
            self.draw_buttons(column, tree)
        column = layout.column()
        column.use_property_split = True
        column.prop(tree, "p_quality")
        layout.prop(tree, "use_scene_range")
        if not tree.use_scene_range:
            row = layout.row(align=True)
            row.prop(tree, "first_frame")
            row.prop(tree, "last_frame")

    def draw_buttons(self, column, tree):
        again = tree.cache_state in ("complete", "stale")
        if tree.cache_state == "partial":
            made = column.operator("firn.bake", text="Resume", icon="PLAY")
            made.mode = "RESUME"
            made = column.operator("firn.bake", text="Bake Anew", icon="FILE_REFRESH")
            made.mode = "NEW"
        else:
            made = column.operator("firn.bake", text="Bake Anew" if again else "Bake",
                                   icon="RENDER_ANIMATION")
            made.mode = "NEW" if again else "AUTO"
        made = column.operator("firn.bake", text="Bake to Current Frame", icon="NEXT_KEYFRAME")
        made.mode, made.to_current = "AUTO", True


class FIRN_PT_result(FirnPanel, bpy.types.Panel):
    bl_label = "Result"

    def draw(self, context):
        layout, tree = self.layout, self.tree_of(context)
        layout.operator("firn.show", icon="HIDE_OFF")
        layout.operator("firn.render_ready", icon="LIGHT_SUN")
        column = layout.column()
        column.use_property_split = True
        column.prop(tree, "particle_object")
        column.prop(tree, "volume_object")
        advice = result.blur_advice(tree, context.scene)
        if advice:
            _message(context, layout, advice, "INFO")


class FIRN_PT_cache(FirnPanel, bpy.types.Panel):
    bl_label = "Cache"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, tree = self.layout, self.tree_of(context)
        layout.use_property_split = True
        for name in ("p_name", "p_base", "p_version", "p_wedge"):
            layout.prop(tree, name)
        layout.prop(tree, "threads")
        layout.operator("firn.refresh", icon="FILE_REFRESH")
        row = layout.row(align=True)
        row.operator("firn.export_scene", icon="EXPORT")
        row.operator("firn.import_scene", icon="IMPORT")


class FIRN_PT_final(FirnPanel, bpy.types.Panel):
    """Values of the active node that count in final quality only"""
    bl_label = "Final Quality"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return FirnPanel.poll.__func__(cls, context) and \
            hasattr(context.active_node, "firn_type")

    def draw(self, context):
        layout, node = self.layout, context.active_node
        layout.label(text=node.draw_label())
        for name in node.final_names.split():
            row = layout.row()
            row.prop(node, properties.FINAL_PREFIX + name)
            row.operator("firn.final_remove", text="", icon="X").param = name
        layout.operator_menu_enum("firn.final_add", "param", icon="ADD")


def _final_items(self, context):
    node = context.active_node
    rows = getattr(node, "rows", ())
    _items[:] = [(row["name"], row["label"], row["help"]) for row in rows
                 if row["type"] not in ("string", "path") and node.is_visible(row)]
    return _items


_items = []  # Blender keeps no reference to the texts itself


class FIRN_OT_final_add(bpy.types.Operator):
    """Give a parameter a value of its own in final quality"""
    bl_idname = "firn.final_add"
    bl_label = "Add Value"
    bl_options = {"REGISTER", "UNDO"}

    param: bpy.props.EnumProperty(name="Parameter", items=_final_items)

    def execute(self, context):
        node = context.active_node
        node.set_value(self.param, node.value(self.param), final=True)
        state.touch(node.id_data)
        return {"FINISHED"}


class FIRN_OT_final_remove(bpy.types.Operator):
    """The same value in every quality"""
    bl_idname = "firn.final_remove"
    bl_label = "Remove Value"
    bl_options = {"REGISTER", "UNDO"}

    param: StringProperty()

    def execute(self, context):
        node = context.active_node
        names = [name for name in node.final_names.split() if name != self.param]
        node.final_names = " ".join(names)
        state.touch(node.id_data)
        return {"FINISHED"}


_keys = []


def _add_keys():
    """Ctrl+Alt+B in the node editor bakes."""
    settings = bpy.context.window_manager.keyconfigs.addon
    if settings is None:
        return
    keymap = settings.keymaps.new(name="Node Editor", space_type="NODE_EDITOR")
    item = keymap.keymap_items.new("firn.bake", "B", "PRESS", ctrl=True, alt=True)
    _keys.append((keymap, item))


_classes = (FIRN_OT_final_add, FIRN_OT_final_remove, FIRN_PT_bake, FIRN_PT_result, FIRN_PT_cache,
            FIRN_PT_final)


def register():
    for made in _classes:
        bpy.utils.register_class(made)
    _add_keys()


def unregister():
    while _keys:
        keymap, item = _keys.pop()
        keymap.keymap_items.remove(item)
    for made in reversed(_classes):
        bpy.utils.unregister_class(made)
