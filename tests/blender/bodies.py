"""Bodies in Blender: objects that nodes pick, and copies of them that move as the cache says."""

import os
import sys
import unittest

import bpy
import numpy
from mathutils import Vector

sys.path.insert(0, os.path.dirname(__file__))
import support  # noqa: E402
from support import WORK, add, link, small_shot  # noqa: E402

support.enable()
from firn_snow import export, firn, versions  # noqa: E402


def box(name, place, turn=(0.0, 0.0, 0.0), scale=(0.1, 0.06, 0.08)):
    bpy.ops.mesh.primitive_cube_add(size=2.0, location=place, rotation=turn)
    obj = bpy.context.object
    obj.name, obj.scale = name, scale
    bpy.context.view_layer.update()
    return obj


def body_shot(name, obj, last=5, **values):
    tree = small_shot(name, last=last)
    node = add(tree, "body", "crate", mesh_voxel_size=0.02, **values)
    node.scene_object = obj
    link(tree, node, tree.nodes["solver"], "colliders")
    poses = add(tree, "write_bodies", "poses", name=f"{name}_bodies")
    link(tree, tree.nodes["solver"], poses, "particles")
    return tree


def bake(tree):
    return bpy.ops.firn.bake(tree=tree.name, mode="NEW")


def copies(tree):
    return {obj["firn_body"]: obj for obj in bpy.data.collections[f"{tree.name} bodies"].objects}


def corners(obj):
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return [evaluated.matrix_world @ vertex.co for vertex in evaluated.data.vertices]


def archive_of(tree):
    return next(file.path for file in firn.Cache(export.cache_folder(tree)).files
                if file.name.endswith("_bodies_v1.abc"))


def archive_corners(tree, frame):
    """The same points as the archive of write_bodies has them, which any DCC reads."""
    mesh = firn.Mesh(archive_of(tree), frame / 24.0)
    return [Vector((x, -z, y))
            for x, y, z in numpy.asarray(mesh.positions).reshape(-1, 3).tolist()]


class Bodies(unittest.TestCase):
    def setUp(self):
        support.clear_scene()
        bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = 24, 1.0

    def assert_is_where_the_archive_says(self, tree, obj, frame):
        bpy.context.scene.frame_set(frame)
        expected = archive_corners(tree, frame)
        for corner in corners(obj):
            self.assertLess(min((corner - other).length for other in expected), 2e-4)

    def test_a_copy_of_the_object_moves_as_the_archive_does(self):
        original = box("Crate", (0.05, 0.02, 0.5), (0.3, 0.2, 0.5))
        start = original.matrix_world.copy()
        tree = body_shot("crate", original, angular_velocity=(0.0, 3.0, 1.0), velocity=(0, 0, -1))
        self.assertEqual(tree.nodes["crate"].p_shape, "mesh")
        self.assertEqual(bake(tree), {"FINISHED"}, tree.nodes["crate"].problem + tree.problem)
        self.assertEqual(bpy.ops.firn.show(tree=tree.name), {"FINISHED"})
        moving = copies(tree)["crate"]
        self.assertIs(moving.data, original.data)  # linked, not doubled
        for frame in (5, 2, 4, 1, 3):  # scrubbing
            self.assert_is_where_the_archive_says(tree, moving, frame)
        bpy.context.scene.frame_set(1)
        self.assertLess((moving.matrix_world.translation - start.translation).length, 1e-5)
        bpy.context.scene.frame_set(5)
        self.assertLess(moving.matrix_world.translation.z, start.translation.z - 0.1)
        # The artist's object stays where the next bake begins.
        self.assertLess((original.matrix_world.translation - start.translation).length, 1e-6)
        self.assertTrue(original.hide_render)
        self.assertEqual(tree.cache_state, "complete")

    def test_copies_outlive_undo_saving_and_loading(self):
        tree = body_shot("kept", box("Crate", (0.0, 0.0, 0.5)), velocity=(0.5, 0, 0))
        self.assertEqual(bake(tree), {"FINISHED"})
        bpy.ops.firn.show(tree=tree.name)
        bpy.context.scene.frame_set(4)
        there = copies(tree)["crate"].matrix_world.copy()
        self.assertGreater(there.translation.x, 0.04)
        path = str(WORK / "bodies.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        tree = bpy.data.node_groups["kept"]
        for frame in (1, 4):
            bpy.context.scene.frame_set(frame)
        self.assertLess((copies(tree)["crate"].matrix_world.translation -
                         there.translation).length, 1e-6)
        bpy.context.preferences.edit.use_global_undo = True
        bpy.ops.ed.undo_push(message="before")
        tree = bpy.data.node_groups["kept"]
        copies(tree)["crate"].animation_data_clear()
        bpy.ops.ed.undo_push(message="keys are gone")
        bpy.ops.ed.undo()
        tree = bpy.data.node_groups["kept"]
        bpy.context.scene.frame_set(1)
        bpy.context.scene.frame_set(4)
        self.assertLess((copies(tree)["crate"].matrix_world.translation -
                         there.translation).length, 1e-6)

    def test_a_new_bake_gives_new_keys(self):
        tree = body_shot("again", box("Crate", (0.0, 0.0, 0.5)), last=3)
        self.assertEqual(bake(tree), {"FINISHED"})
        bpy.ops.firn.show(tree=tree.name)
        tree.nodes["crate"].p_velocity = (0.0, 2.0, 0.0)
        self.assertEqual(bake(tree), {"FINISHED"})
        bpy.context.scene.frame_set(3)
        self.assertAlmostEqual(copies(tree)["crate"].matrix_world.translation.y, 2.0 * 2 / 24,
                               places=3)

    def test_shapes_without_an_object_and_units(self):
        bpy.context.scene.unit_settings.scale_length = 0.01
        tree = small_shot("ball", last=3)
        node = add(tree, "body", "ball", shape="sphere", radius=0.1, translation=(0.1, 0.2, 0.6))
        link(tree, node, tree.nodes["solver"], "colliders")
        self.assertEqual(bake(tree), {"FINISHED"})
        bpy.ops.firn.show(tree=tree.name)
        bpy.context.scene.frame_set(1)
        ball = copies(tree)["ball"]
        self.assertLess((ball.matrix_world.translation - Vector((10, 20, 60))).length, 1e-3)
        self.assertLess(max(abs((c - ball.matrix_world.translation).length - 10.0)
                            for c in corners(ball)), 0.1)

    def test_what_is_animated_is_let_go(self):
        thrown = box("Thrown", (0.0, 0.0, 0.6))
        for frame, x in ((1, -0.4), (4, 0.2)):
            thrown.location.x = x
            thrown.keyframe_insert("location", frame=frame)
        for curve in versions.curves_of(thrown):
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
        tree = body_shot("thrown", thrown, release_frame=3)
        self.assertEqual(bake(tree), {"FINISHED"}, tree.nodes["crate"].problem + tree.problem)
        bpy.ops.firn.show(tree=tree.name)
        moving = copies(tree)["crate"]
        bpy.context.scene.frame_set(3)
        self.assertAlmostEqual(moving.matrix_world.translation.x, 0.0, places=4)
        bpy.context.scene.frame_set(5)
        self.assertAlmostEqual(moving.matrix_world.translation.x, 0.4, places=2)
        self.assertLess(moving.matrix_world.translation.z, 0.58)

    def test_what_deforms_is_refused_with_a_sentence(self):
        soft = box("Soft", (0.0, 0.0, 0.6))
        soft.shape_key_add(name="Basis")
        key = soft.shape_key_add(name="Wide")
        key.data[0].co.x *= 2.0
        for frame, value in ((1, 0.0), (4, 1.0)):
            key.value = value
            key.keyframe_insert("value", frame=frame)
        tree = body_shot("soft", soft, release_frame=4)
        with self.assertRaises(RuntimeError):
            bake(tree)
        self.assertIn("keeps its own", tree.nodes["crate"].problem)


if __name__ == "__main__":
    result = unittest.main(argv=["bodies"], exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
