"""What the scripts that run inside Blender share."""

import os
import sys
import unittest
from pathlib import Path

import bpy
import numpy

# Before the add-on and its libraries: loaded after many bakes, Debian's module once crashed.
try:
    import pyopenvdb  # noqa: F401
except ImportError:
    pass

ARGUMENTS = sys.argv[sys.argv.index("--") + 1:]
WORK = Path(ARGUMENTS[0])  # a folder of this test alone
sys.dont_write_bytecode = True


def enable():
    """Switches the installed add-on on, also in the preferences."""
    import addon_utils
    addon_utils.enable("firn_snow", default_set=True)


def clear_scene():
    for collection in (bpy.data.objects, bpy.data.meshes, bpy.data.node_groups,
                       bpy.data.armatures, bpy.data.actions):
        for item in list(collection):
            collection.remove(item)
    scene = bpy.context.scene
    scene.unit_settings.scale_length = 1.0
    scene.frame_set(1)


def new_tree(name, base=None, first=1, last=6):
    tree = bpy.data.node_groups.new(name, "FirnSnowTree")
    tree.use_fake_user = True
    tree.p_base = str(base or WORK / "cache")
    tree.use_scene_range = False
    tree.first_frame, tree.last_frame = first, last
    return tree


def link(tree, source, target, slot):
    socket = next(s for s in target.inputs if s.identifier == slot)
    tree.links.new(source.outputs[0], socket)


def add(tree, type_name, node_name, /, **values):
    node = tree.nodes.new(f"FirnNode_{type_name}")
    node.name = node_name
    for key, value in values.items():
        setattr(node, "p_" + key, value)
    return node


def small_shot(name, last=6, **solver):
    """A block of some hundred particles on the ground, with particles and volumes as files."""
    tree = new_tree(name, last=last)
    block = add(tree, "snow_source", "block", region="box", center=(0, 0, 0.11),
                half_size=(0.3, 0.3, 0.1))
    ground = add(tree, "collider", "ground")
    simulation = add(tree, "solver", "solver", **{"cell_size": 0.05, **solver})
    points = add(tree, "write_particles", "points", name=f"{name}_points")
    volume = add(tree, "rasterize", "volume", voxel_size=0.05)
    files = add(tree, "write_volume", "files")
    link(tree, block, simulation, "sources")
    link(tree, ground, simulation, "colliders")
    link(tree, simulation, points, "particles")
    link(tree, simulation, volume, "particles")
    link(tree, volume, files, "volume")
    return tree


def character(name="leg", subdivisions=6):
    """A limb of two bones that bends over the frames 1 to 8 and steps down."""
    bpy.ops.mesh.primitive_cylinder_add(vertices=4 * subdivisions, radius=0.08, depth=0.8,
                                        end_fill_type="TRIFAN")
    body = bpy.context.object
    body.name = name
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide(number_cuts=subdivisions)
    bpy.ops.object.mode_set(mode="OBJECT")
    bones = bpy.data.armatures.new(name + "_bones")
    rig = bpy.data.objects.new(name + "_rig", bones)
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    upper, lower = bones.edit_bones.new("upper"), bones.edit_bones.new("lower")
    upper.head, upper.tail = (0, 0, 0.4), (0, 0, 0)
    lower.head, lower.tail = (0, 0, 0), (0, 0, -0.4)
    lower.parent = upper
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone, sign in (("upper", 1), ("lower", -1)):
        group = body.vertex_groups.new(name=bone)
        group.add([v.index for v in body.data.vertices if v.co.z * sign >= 0], 1.0, "REPLACE")
    body.modifiers.new("rig", "ARMATURE").object = rig
    body.parent = rig
    for frame, height, bend in ((1, 0.75, 0.0), (8, 0.45, 0.7)):
        rig.location = (0.0, 0.0, height)
        rig.keyframe_insert("location", frame=frame)
        joint = rig.pose.bones["lower"]
        joint.rotation_mode = "XYZ"
        joint.rotation_euler = (bend, 0, 0)
        joint.keyframe_insert("rotation_euler", frame=frame)
    return body


def world_points(obj):
    """Vertices of an object as it is evaluated now, in the world."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = numpy.array([tuple(evaluated.matrix_world @ v.co) for v in mesh.vertices])
    evaluated.to_mesh_clear()
    return points


def upright(points):
    """Points of Firn (Y up) in Blender's axes."""
    points = numpy.asarray(points, dtype=float)
    return numpy.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)


def alembic_points(path, seconds):
    """Vertices of the meshes of an archive, read by the codec itself."""
    from firn_snow import firn
    return numpy.array(firn.Mesh(path, seconds).positions)


def write_ball(path):
    """A level set of a sphere, by the OpenVDB of this Blender or of the system."""
    from firn_snow import versions
    versions.expose_modules()
    try:
        import pyopenvdb as vdb
    except ImportError:
        try:
            import openvdb as vdb
        except ImportError:
            raise unittest.SkipTest("no OpenVDB for Python here") from None
    grid = vdb.createLevelSetSphere(radius=0.2, center=(0, 0.3, 0), voxelSize=0.02)
    grid.name = "surface"
    vdb.write(str(path), grids=[grid])


def scattering(obj):
    """(extinction for a density of 1 in 1/unit, albedo), RGB, that the material of a volume has."""
    nodes = obj.data.materials[0].node_tree.nodes
    principled = nodes.get("Principled Volume")
    if principled is not None:
        return (numpy.full(3, principled.inputs["Density"].default_value),
                numpy.array(principled.inputs["Color"].default_value[:3]))
    scatter, absorb = (numpy.array(nodes[f"Firn extinction {name}"].inputs[1].default_value)
                       for name in ("Scatter", "Absorption"))
    return scatter + absorb, scatter / (scatter + absorb)


def finish_job(job, until=None):
    """Steps a bake to its end; until(job) asks it to stop."""
    asked = False
    while job.step():
        if until is not None and not asked and until(job):
            asked = True
            job.cancel()


class Case(unittest.TestCase):
    """Begins with an empty scene."""

    def setUp(self):
        clear_scene()
        self.scene = bpy.context.scene

    def graph(self, tree):
        from firn_snow import export
        return export.graph_of(tree, self.scene)

    def params(self, tree, name):
        from firn_snow import export
        return export.scene_of(tree, self.scene)["nodes"][name].get("params", {})


def run(*modules):
    """Runs the tests of scripts and leaves Blender with their verdict."""
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromModule, modules))
    outcome = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    sys.stdout.flush()
    os._exit(0 if outcome.wasSuccessful() else 1)
