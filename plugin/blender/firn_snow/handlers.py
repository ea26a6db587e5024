"""What follows the scene: particles of the frame, animated node values, changed objects."""

import bpy
from bpy.app.handlers import persistent

from . import bake, motion, result, state, tree


@persistent
def on_frame(scene, depsgraph=None):
    for made in tree.trees():
        with state.silence():
            motion.follow(made, scene.frame_current + scene.frame_subframe)
        if made.particle_object is not None:
            result.update_particles(made, scene)


@persistent
def on_change(scene, depsgraph):
    """Objects that nodes take their shape from have been edited, not only moved on in time."""
    if bake.running is not None or not depsgraph.updates:
        return
    watched = {}
    for made in tree.trees():
        for node in made.nodes:
            found = getattr(node, "scene_object", None)
            if found is not None:
                watched.setdefault(found.name, set()).add(made.name)
                if found.data is not None:
                    watched.setdefault(found.data.name, set()).add(made.name)
    if not watched or _frame[0] != scene.frame_current:
        _frame[0] = scene.frame_current
        return
    for update in depsgraph.updates:
        if not (update.is_updated_geometry or update.is_updated_transform):
            continue
        for name in watched.get(update.id.name, ()):
            made = bpy.data.node_groups[name]
            if made.cache_state in ("partial", "complete") and not made.objects_changed:
                made.objects_changed = True
                state.touch(made)


_frame = [None]


@persistent
def on_load(*_):
    bake.stop()
    result.forget()
    state.forget()


@persistent
def on_loaded(*_):
    _frame[0] = None
    for made in tree.trees():
        with state.silence():
            made.progress_text = ""
        state.touch(made)


_lists = (("frame_change_pre", on_frame), ("depsgraph_update_post", on_change),
          ("load_pre", on_load), ("load_post", on_loaded))


def register():
    for name, function in _lists:
        getattr(bpy.app.handlers, name).append(function)


def unregister():
    for name, function in _lists:
        getattr(bpy.app.handlers, name).remove(function)
    result.forget()
