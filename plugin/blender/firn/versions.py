"""What differs between Blender 3.4 and 5.2. No other file asks for the version.

The add-on has it as firn_snow.versions; lookdev.py needs it beside itself."""

import bpy

# Before 5.0 the value of voxel i was taken to stand at i + 0.5, half a voxel off (#138388).
HALF_VOXEL_OFF = bpy.app.version < (5, 0, 0)
# Before 5.0 Cycles went through volumes in steps; now it does not unless `volume_biased` is set.
STEPS_THROUGH_VOLUMES = bpy.app.version < (5, 0, 0)
# From 4.5 on a shader takes absorption and scattering per meter.
HAS_VOLUME_COEFFICIENTS = bpy.app.version >= (4, 5, 0)
# From 5.1 on scripts can make point clouds.
HAS_POINT_CLOUDS = bpy.app.version >= (5, 1, 0)
# From 4.5 on a path that begins with // is drawn as an error unless its property says this.
PATH_OPTIONS = {"PATH_SUPPORTS_BLEND_RELATIVE"} if bpy.app.version >= (4, 5, 0) else set()


def curves_of(owner):
    """F-curves of the action that moves an ID. From 4.4 on an action has a slot for each user."""
    data = owner.animation_data
    if data is None or data.action is None:
        return ()
    if bpy.app.version < (4, 4, 0):
        return data.action.fcurves
    from bpy_extras import anim_utils
    find = getattr(anim_utils, "action_get_channelbag_for_slot", None)
    if find is None:  # 4.4
        return data.action.fcurves
    bag = find(data.action, data.action_slot) if data.action_slot is not None else None
    return bag.fcurves if bag is not None else ()


def give_nodes(owner):
    """Materials and worlds; from 5.0 on they always have them."""
    if bpy.app.version < (5, 0, 0):
        owner.use_nodes = True


def has_nodes(owner):
    return bpy.app.version >= (5, 0, 0) or owner.use_nodes


def expose_modules():
    """Blender as a Python module hides OpenVDB's until it is asked."""
    if hasattr(bpy.utils, "expose_bundled_modules"):
        bpy.utils.expose_bundled_modules()
