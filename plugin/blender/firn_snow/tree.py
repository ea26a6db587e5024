"""The node tree and the settings of its shot."""

import bpy
from bpy.props import BoolProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from . import host, properties, state, versions

# Blender's scene has these.
_FROM_SCENE = {"fps", "first", "last"}
_DEFAULTS = {"name": "", "base": "//firn_cache"}
_HELP = {"name": "Name of the cache; empty: that of the node tree"}


def _changed(self, context):
    state.touch(self)


def _fields():
    fields = {}
    for row in host.shot_table()["params"]:
        if row["name"] in _FROM_SCENE:
            continue
        row = dict(row, help=_HELP.get(row["name"], row["help"]))
        fields[properties.PREFIX + row["name"]] = properties.property_of(
            row, _DEFAULTS.get(row["name"], row["default"]), _changed)
    fields[properties.PREFIX + "base"] = StringProperty(
        name="Cache folder", subtype="DIR_PATH", default=_DEFAULTS["base"], update=_changed,
        options={"ANIMATABLE"} | versions.PATH_OPTIONS,
        description="Where caches go; // is the folder of the .blend file")
    fields["use_scene_range"] = BoolProperty(
        name="Scene Range", default=True, update=_changed,
        description="Simulate from the first to the last frame of the scene")
    fields["first_frame"] = IntProperty(name="First", default=1, update=_changed,
                                        description="Where the snow is in its initial state")
    fields["last_frame"] = IntProperty(name="Last", default=48, update=_changed)
    fields["threads"] = IntProperty(name="Threads", min=0, max=1024,
                                    description="0 uses every core")
    fields["cache_state"] = StringProperty(options={"SKIP_SAVE"})
    fields["frames_done"] = IntProperty(options={"SKIP_SAVE"})
    fields["objects_changed"] = BoolProperty()
    fields["job"] = StringProperty(options={"SKIP_SAVE"}, description="The bake of this tree")
    fields["problem"] = StringProperty(options={"SKIP_SAVE"})
    fields["warning"] = StringProperty(options={"SKIP_SAVE"})
    fields["progress"] = FloatProperty(name="Progress", options={"SKIP_SAVE"}, min=0, max=100,
                                       subtype="PERCENTAGE", precision=0)
    fields["progress_text"] = StringProperty(options={"SKIP_SAVE"})
    fields["particle_object"] = PointerProperty(type=bpy.types.Object, name="Particles")
    fields["volume_object"] = PointerProperty(type=bpy.types.Object, name="Volume")
    return fields


class FirnTree:
    """Snow: sources, colliders, solver, and what becomes of the particles"""

    bl_idname = "FirnSnowTree"
    bl_label = "Firn Snow"
    bl_icon = "FREEZE"
    bl_use_group_interface = False  # from 4.4 on: no panel for inputs and outputs of a group

    def update(self):
        """Links of another kind are taken out; the badge follows."""
        if self.users == 0:
            self.use_fake_user = True  # editors do not count: the file would lose the tree
        for link in list(self.links):
            if not _fits(link):
                self.links.remove(link)
        state.touch(self)

    def frame_range(self, scene):
        if self.use_scene_range:
            return scene.frame_start, scene.frame_end
        return self.first_frame, self.last_frame


def others(tree):
    """Firn trees that come before this one in the file: a copy comes after its original."""
    every = trees()
    return every[:every.index(tree)]


def _fits(link):
    """Reroutes pass anything; other sockets must be of one kind."""
    if "NodeReroute" in (link.from_node.bl_idname, link.to_node.bl_idname):
        return True
    return link.from_socket.bl_idname == link.to_socket.bl_idname


_classes = []


def trees():
    return [tree for tree in bpy.data.node_groups if tree.bl_idname == "FirnSnowTree"]


def register():
    made = type("FirnSnowTree", (FirnTree, bpy.types.NodeTree), {
        "__annotations__": _fields(), "bl_idname": FirnTree.bl_idname,
        "bl_label": FirnTree.bl_label, "bl_icon": FirnTree.bl_icon,
        "bl_use_group_interface": FirnTree.bl_use_group_interface,
        "__doc__": FirnTree.__doc__})
    bpy.utils.register_class(made)
    _classes.append(made)


def unregister():
    state.forget()
    while _classes:
        bpy.utils.unregister_class(_classes.pop())
