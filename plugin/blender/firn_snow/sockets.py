"""A socket class for each kind of data."""

import bpy

COLORS = {
    "material": (0.45, 0.8, 0.45, 1.0),
    "source": (0.95, 0.95, 1.0, 1.0),
    "collider": (0.9, 0.5, 0.25, 1.0),
    "particles": (0.35, 0.65, 1.0, 1.0),
    "volume": (0.75, 0.5, 0.95, 1.0),
    "force": (0.45, 0.85, 0.85, 1.0),
    "joint": (0.85, 0.75, 0.3, 1.0),
}
_OTHER = (0.6, 0.6, 0.6, 1.0)
_classes = []


def idname(kind):
    return f"FirnSocket_{kind}"


class FirnSocket:
    """Nothing to edit: data only come along links."""

    def draw(self, context, layout, node, text):
        layout.label(text=text)

    def draw_color(self, context, node):
        return self.draw_color_simple()

    @classmethod
    def draw_color_simple(cls):
        """Where Blender shows a kind without a socket of it, from 4.0 on."""
        return COLORS.get(cls.bl_idname.rpartition("_")[2], _OTHER)


def register():
    from . import host
    kinds = {row["output"] for row in host.tables()} - {"nothing"}
    kinds |= {slot["kind"] for row in host.tables() for slot in row["inputs"]}
    for kind in sorted(kinds):
        made = type(idname(kind), (FirnSocket, bpy.types.NodeSocket),
                    {"bl_idname": idname(kind), "bl_label": kind.capitalize()})
        bpy.utils.register_class(made)
        _classes.append(made)


def unregister():
    while _classes:
        bpy.utils.unregister_class(_classes.pop())
