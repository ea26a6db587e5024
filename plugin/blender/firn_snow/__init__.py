"""Firn for Blender: snow simulated in a node tree, baked in the background, shown per frame.

Everything that the nodes show comes from the tables of libfirn. docs/blender.md is the manual.
"""

bl_info = {
    "name": "Firn Snow",
    "author": "Firn",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "Node Editor > Firn Snow",
    "description": "Simulates snow: footprints, snowballs, plows, avalanches",
    "category": "Physics",
}

import bpy

from . import host

_modules = ()


class FIRN_AP_preferences(bpy.types.AddonPreferences):
    bl_idname = __package__

    def draw(self, context):
        column = self.layout.column()
        if host.failure:
            column.alert = True
            for number, line in enumerate(host.failure.splitlines()):
                column.label(text=line, icon="ERROR" if number == 0 else "BLANK1")
        else:
            column.label(text=f"libfirn {host.firn.VERSION}: {host.firn.library_path()}",
                         icon="CHECKMARK")


def register():
    global _modules
    bpy.utils.register_class(FIRN_AP_preferences)
    host.start()
    if host.failure:
        print(f"Firn: {host.failure}")
        return
    from . import bake, export, handlers, nodes, panels, presets, scene, sockets, tree
    _modules = (sockets, nodes, tree, export, bake, presets, scene, panels, handlers)
    for module in _modules:
        module.register()


def unregister():
    global _modules
    for module in reversed(_modules):
        module.unregister()
    _modules = ()
    bpy.utils.unregister_class(FIRN_AP_preferences)
