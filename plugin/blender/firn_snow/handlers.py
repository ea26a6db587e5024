"""What follows the scene: particles of the frame, animated node values, changed objects."""

import bpy
from bpy.app.handlers import persistent

from . import bake, bodies, drivers, motion, nodes, result, state, tree


@persistent
def on_frame(scene, depsgraph=None):
    for made in tree.trees():
        with state.silence():
            motion.follow(made, scene.frame_current + scene.frame_subframe)
        if made.particle_object is not None:
            result.update_particles(made, scene)


@persistent
def on_frame_done(scene, depsgraph=None):
    """Drivers look at the scene as it has become."""
    for made in tree.trees():
        if drivers.drivers_of(made):
            _follow_drivers(made, scene, depsgraph or bpy.context.evaluated_depsgraph_get())


def _follow_drivers(made, scene, depsgraph):
    with state.silence():
        changed, stale = drivers.follow(made, scene, depsgraph)
    if bake.running is not None:
        return
    if stale:
        _baked_from_others(made)
    if changed:
        state.touch(made)


def _baked_from_others(made):
    """What the cache was baked from is not in the tree itself, and has changed."""
    if made.cache_state in ("partial", "complete") and not made.objects_changed:
        made.objects_changed = True
        state.touch(made)


@persistent
def on_change(scene, depsgraph):
    """Objects that nodes take their shape from have been edited, not only moved on in time."""
    if bake.running is not None:
        return
    on_frame_done(scene, depsgraph)
    if not depsgraph.updates:
        return
    watched = {}
    for made in tree.trees():
        for node in made.nodes:
            found = getattr(node, "scene_object", None)
            if found is not None:
                watched.setdefault(found.name, set()).add(made.name)
                if found.data is not None:
                    watched.setdefault(found.data.name, set()).add(made.name)
                if found.instance_collection is not None:
                    for part in found.instance_collection.all_objects:
                        watched.setdefault(part.name, set()).add(made.name)
    if not watched or _frame[0] != scene.frame_current:
        _frame[0] = scene.frame_current
        return
    for update in depsgraph.updates:
        if not (update.is_updated_geometry or update.is_updated_transform):
            continue
        for name in watched.get(update.id.name, ()):
            _baked_from_others(bpy.data.node_groups[name])


_frame = [None]


@persistent
def on_load(*_):
    bake.stop()
    result.forget()
    state.forget()


@persistent
def on_loaded(*_):
    _frame[0] = None
    _listen()
    for made in tree.trees():
        result.reload(made)
        state.touch(made)


@persistent
def on_save(*_):
    for made in tree.trees():
        result.empty(made)


@persistent
def on_saved(*_):
    """Caches beside the file are others when it was saved in another folder."""
    for made in tree.trees():
        result.reload(made)
        state.touch(made)


@persistent
def on_undo(*_):
    """Badges, problems and progress are of the time before; the cache is not."""
    for made in tree.trees():
        bodies.update(made, bpy.context.scene)
        state.touch(made)


def on_settings():
    """Frame rate or range of the scene, which are part of every shot."""
    for made in tree.trees():
        state.touch(made)


def on_unit():
    """Objects have another size in meters, and what is shown another one in units."""
    for made in tree.trees():
        if any(nodes.is_firn(node) and node.uses_object() for node in made.nodes):
            _baked_from_others(made)
        for obj in (made.particle_object, made.volume_object):
            if obj is not None:
                result.stand_upright(obj, bpy.context.scene)
        bodies.update(made, bpy.context.scene)


def _listen():
    """Blender forgets listeners when a file is opened."""
    bpy.msgbus.clear_by_owner(_frame)
    for owner, name in ((bpy.types.RenderSettings, "fps"), (bpy.types.RenderSettings, "fps_base"),
                        (bpy.types.Scene, "frame_start"), (bpy.types.Scene, "frame_end")):
        bpy.msgbus.subscribe_rna(key=(owner, name), owner=_frame, args=(), notify=on_settings)
    bpy.msgbus.subscribe_rna(key=(bpy.types.UnitSettings, "scale_length"), owner=_frame, args=(),
                             notify=on_unit)


_lists = (("frame_change_pre", on_frame), ("frame_change_post", on_frame_done),
          ("depsgraph_update_post", on_change), ("undo_post", on_undo), ("redo_post", on_undo),
          ("load_pre", on_load), ("load_post", on_loaded), ("save_pre", on_save),
          ("save_post", on_saved))


def register():
    for name, function in _lists:
        getattr(bpy.app.handlers, name).append(function)
    _listen()
    if hasattr(bpy.data, "node_groups"):  # switched on while a file is open
        on_settings()


def unregister():
    for name, function in _lists:
        getattr(bpy.app.handlers, name).remove(function)
    bpy.msgbus.clear_by_owner(_frame)
    result.forget()
