"""What artists do between clicks: apply transforms, rename, move projects, change their mind."""

import math
import os
import shutil
import sys
from pathlib import Path
from unittest import mock

import bpy
import numpy
from support import (WORK, Case, add, alembic_points, finish_job, link, new_tree, scattering,
                     small_shot, upright, write_ball)

from firn_snow import axes, bake, export, result, state, versions


class Planes(Case):
    def pose(self, obj):
        """Height and normal of the ground that an object stands for, in Blender's axes."""
        tree = new_tree("planes", last=1)
        node = add(tree, "collider", "ground")
        node.scene_object = obj
        self.assertEqual(node.p_shape, "plane")
        bake.export_inputs(tree, bpy.context)
        params = self.params(tree, "ground")
        turn = axes.FROM_FIRN @ axes.angles_matrix(params["rotation"]) @ axes.TO_FIRN
        return params["translation"][1], numpy.array(turn.col[2])

    def test_applied_transforms_are_in_the_mesh(self):
        bpy.ops.mesh.primitive_plane_add(size=4, location=(0, 0, -0.3), rotation=(0.3, 0, 0))
        obj = bpy.context.object
        before = self.pose(obj)
        bpy.ops.object.transform_apply()
        after = self.pose(obj)
        self.assertAlmostEqual(after[0], -0.3, places=5)
        self.assertAlmostEqual(before[0], after[0], places=5)
        numpy.testing.assert_allclose(before[1], after[1], atol=1e-5)
        self.assertAlmostEqual(after[1][1], -numpy.sin(0.3), places=5)

    def test_a_mirrored_plane_is_no_ceiling(self):
        for mirrored in ((-1, 1, 1), (1, -1, 1), (-2, -3, 0.5)):
            bpy.ops.mesh.primitive_plane_add(size=4, location=(0, 0, 0.1))
            bpy.context.object.scale = mirrored
            bpy.context.view_layer.update()
            numpy.testing.assert_allclose(self.pose(bpy.context.object)[1], (0, 0, 1), atol=1e-5)

    def test_a_bent_quad_is_a_surface(self):
        tree = new_tree("bent")
        bpy.ops.mesh.primitive_plane_add(size=4)
        bpy.context.object.data.vertices[0].co.z += 0.5
        bpy.context.object.data.update()
        node = add(tree, "collider", "ground")
        node.scene_object = bpy.context.object
        self.assertEqual(node.p_shape, "mesh")


class Volumes(Case):
    def test_what_a_level_set_cannot_be_becomes_a_mesh(self):
        """Squeezed and moved, as a collider and as a source."""
        write_ball(WORK / "egg.vdb")
        volume = bpy.data.volumes.new("egg")
        volume.filepath = str(WORK / "egg.vdb")
        egg = bpy.data.objects.new("egg", volume)
        self.scene.collection.objects.link(egg)
        egg.rotation_euler, egg.scale = (math.radians(90), 0, 0), (1, 2, 1)
        egg.location = (0.5, 0, 0)
        tree = small_shot("eggs", last=1)
        tree.nodes["ground"].scene_object = tree.nodes["block"].scene_object = egg
        bake.export_inputs(tree, bpy.context)
        for name in ("ground", "block"):
            params = self.params(tree, name)
            self.assertEqual(params.get("shape", params.get("region")), "mesh")
            turn = numpy.array(axes.angles_matrix(params.get("rotation", (0, 0, 0))))
            points = alembic_points(params["file"], 1 / 24) @ turn.T
            points = upright(points + params.get("translation", (0, 0, 0)))
            numpy.testing.assert_allclose(points.min(axis=0), (0.3, -0.2, 0.2), atol=0.03)
            numpy.testing.assert_allclose(points.max(axis=0), (0.7, 0.2, 1.0), atol=0.03)


class Refusals(Case):
    def test_an_object_that_turns_inside_out_is_a_mesh_in_every_frame(self):
        tree = small_shot("inside", last=3)
        bpy.ops.mesh.primitive_cube_add(size=0.2, location=(0, 0, 0.6))
        for frame, size in ((1, 1.0), (3, -1.0)):
            bpy.context.object.scale = (size,) * 3
            bpy.context.object.keyframe_insert("scale", frame=frame)
        tree.nodes["ground"].scene_object = bpy.context.object
        bake.export_inputs(tree, bpy.context)
        self.assertTrue(self.params(tree, "ground")["deforming"])

    def test_a_folder_that_cannot_be_written_is_a_message(self):
        tree = small_shot("nowhere", last=1)
        tree.p_base = "/proc/firn"
        with self.assertRaisesRegex(RuntimeError, "^Error: /proc/firn: "):
            bpy.ops.firn.bake(tree="nowhere")
        self.assertIn("/proc/firn", tree.problem)
        with self.assertRaisesRegex(RuntimeError, "^Error: /proc/firn: "):
            bpy.ops.firn.export_scene(tree="nowhere", filepath="/proc/firn/scene.firn")

    def test_keys_beyond_the_range_are_a_message_on_the_node(self):
        tree = small_shot("keyed", last=3)
        ground = tree.nodes["ground"]
        for frame in (1, 3):
            ground.keyframe_insert("p_friction", frame=frame)
        curve = versions.curves_of(tree)[0]
        curve.keyframe_points[1].co.y = -5.0
        curve.update()
        self.assertFalse(state.refresh(tree, self.scene))
        self.assertTrue(ground.problem.startswith("ground.friction is -"), ground.problem)


class Curves(Case):
    def test_straight_curves_that_go_on_do_so_in_the_simulation(self):
        tree = new_tree("on", last=9)
        lift = add(tree, "collider", "lift")
        for frame, height in ((3, 0.0), (6, 0.3)):
            lift.p_translation = (0, 0, height)
            lift.keyframe_insert("p_translation", frame=frame)
        for curve in versions.curves_of(tree):
            curve.extrapolation = "LINEAR"
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
        keys = self.params(tree, "lift")["translation"]["keys"]
        self.assertEqual((keys[0][0], keys[-1][0]), (1, 9))
        self.assertAlmostEqual(keys[0][1][1], -0.2, places=6)
        self.assertAlmostEqual(keys[-1][1][1], 0.6, places=6)

    def test_nodes_may_have_any_name(self):
        tree = small_shot("quoted", last=5)
        ground, solver = tree.nodes["ground"], tree.nodes["solver"]
        ground.name, solver.name = 'the "ground" \\ 1', 'my "solver"'
        for frame, height in ((1, 0.0), (5, -0.1)):
            ground.p_translation = (0, 0, height)
            ground.keyframe_insert("p_translation", frame=frame)
        solver.driver_add("p_cell_size").driver.expression = "0.06"
        self.scene.frame_set(3)
        self.assertAlmostEqual(ground.p_translation[2], -0.05, places=6)
        self.assertAlmostEqual(solver.p_cell_size, 0.06, places=6)
        self.assertEqual(len(self.params(tree, "the_ground_1")["translation"]["keys"]), 5)


class MeanwhileInTheScene(Case):
    def bake_until(self, tree, happen):
        """Bakes; `happen` is called once after two frames."""
        job, waits = bake.Job(tree, bpy.context), True
        while job.step():
            if waits and job.process and len(job.process.frames_done) >= 2:
                waits = False
                happen()
        return job

    def test_a_tree_that_gets_another_name_is_baked_to_the_end(self):
        tree = small_shot("before", last=30)
        tree.p_name = "kept"
        job = self.bake_until(tree, lambda: setattr(tree, "name", "after"))
        self.assertFalse(job.cancelled)
        self.assertEqual((tree.cache_state, tree.frames_done, tree.progress_text),
                         ("complete", 30, ""))
        self.assertEqual(job.summary()[0], {"INFO"})

    def test_a_cache_that_is_no_longer_that_of_the_tree_is_named(self):
        tree = small_shot("here", last=20)
        job = self.bake_until(tree, lambda: setattr(tree, "p_version", 2))
        self.assertIn("here/v1", job.summary()[1])

    def test_a_tree_that_is_deleted_stops_with_a_checkpoint(self):
        tree = small_shot("deleted", last=300)
        job = self.bake_until(tree, lambda: bpy.data.node_groups.remove(tree))
        self.assertTrue(job.cancelled)
        self.assertEqual(job.process.exit_code, 130)

    def test_what_changes_while_it_is_read_is_read_again(self):
        tree = small_shot("read", last=4)
        bpy.ops.mesh.primitive_cube_add(size=0.2, location=(0, 0, 0.6))
        cube = bpy.context.object
        for frame, height in ((1, 0.6), (4, 0.5)):
            cube.location.z = height
            cube.keyframe_insert("location", frame=frame)
        for name in ("first", "second"):
            node = add(tree, "collider", name, mesh_voxel_size=0.03)
            link(tree, node, tree.nodes["solver"], "colliders")
            node.scene_object = cube
        job = bake.running = bake.Job(tree, bpy.context)
        try:
            next(job.walk)
            tree.nodes.remove(tree.nodes["first"])
            finish_job(job)
        finally:
            bake.running = None
        self.assertEqual((job.failure, tree.cache_state), ("", "complete"))
        self.assertEqual(len(self.params(tree, "second")["translation"]["keys"]), 4)


class Projects(Case):
    def test_a_project_may_move_with_its_caches(self):
        old, new = WORK / "project", WORK / "moved"
        for folder in (old, new):
            shutil.rmtree(folder, ignore_errors=True)
        old.mkdir()
        tree = small_shot("shot", last=2)
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.1, location=(0, 0, 0.3))
        node = add(tree, "collider", "thing", mesh_voxel_size=0.03)
        link(tree, node, tree.nodes["solver"], "colliders")
        node.scene_object = bpy.context.object
        bpy.ops.wm.save_as_mainfile(filepath=str(old / "shot.blend"))
        tree.p_base = "//caches"
        bpy.ops.firn.bake(tree="shot")
        bpy.ops.firn.show(tree="shot")
        self.assertTrue(tree.volume_object.data.filepath.startswith("//caches/shot"))
        count = len(result.points_of(tree.particle_object))
        bpy.ops.wm.save_mainfile()
        self.assertEqual(len(result.points_of(tree.particle_object)), count)
        old.rename(new)
        bpy.ops.wm.open_mainfile(filepath=str(new / "shot.blend"))
        tree = bpy.data.node_groups["shot"]
        state.refresh(tree, bpy.context.scene)
        self.assertEqual(tree.cache_state, "complete")
        self.assertEqual(len(result.points_of(tree.particle_object)), count)
        self.assertTrue(tree.volume_object.data.grids.load())
        self.assertIn("moved", tree.volume_object.data.grids.frame_filepath)
        # Saved elsewhere, it has no cache; and no particles in the file.
        (new / "other").mkdir()
        bpy.ops.wm.save_as_mainfile(filepath=str(new / "other/shot.blend"))
        state.refresh(tree, bpy.context.scene)
        self.assertEqual(tree.cache_state, "none")
        with bpy.data.libraries.load(str(new / "shot.blend")) as (_, wanted):
            wanted.objects = ["shot particles"]
        self.assertEqual(len(result.points_of(wanted.objects[0])), 0)


class Shown(Case):
    def test_frames_before_zero_do_not_hide_the_others(self):
        tree = small_shot("preroll", last=1)
        tree.first_frame = -2
        bpy.ops.firn.bake(tree="preroll")
        bpy.ops.firn.show(tree="preroll")
        for frame in (0, 1):
            self.scene.frame_set(frame)
            grids = tree.volume_object.data.grids
            self.assertTrue(grids.load(), grids.error_message)
            self.assertIn(f".{frame:04d}.vdb", grids.frame_filepath)
        self.scene.frame_set(-2)
        self.assertGreater(len(result.points_of(tree.particle_object)), 100)

    def test_the_result_is_looked_at_where_it_is(self):
        tree = small_shot("late", last=1003)
        tree.first_frame = 1001
        self.scene.frame_set(1)
        bpy.ops.firn.bake(tree="late")
        bpy.ops.firn.show(tree="late")
        self.assertEqual(self.scene.frame_current, 1001)
        self.assertGreater(len(result.points_of(tree.particle_object)), 100)
        self.scene.frame_set(1003)
        self.assertTrue(tree.volume_object.data.grids.load())
        self.assertIn(".1003.vdb", tree.volume_object.data.grids.frame_filepath)

    def test_the_material_is_that_of_the_file_without_other_modules(self):
        tree = small_shot("colored", last=1)
        tree.nodes["files"].p_albedo = (0.5, 0.25, 0.75)
        bpy.ops.firn.bake(tree="colored")
        with mock.patch.dict(sys.modules, {"pyopenvdb": None, "openvdb": None}):
            bpy.ops.firn.show(tree="colored")
        numpy.testing.assert_allclose(scattering(tree.volume_object)[1], (0.5, 0.25, 0.75),
                                      rtol=1e-5)

    def test_what_is_the_artists_stays(self):
        """Only what Blender's start-up file brings may go."""
        tree = small_shot("own", last=1)
        bpy.ops.mesh.primitive_cube_add(size=0.2)
        cube = bpy.context.object
        cube.name = "Cube"
        tree.nodes["block"].scene_object = cube
        tree.nodes["block"].p_mesh_voxel_size = 0.03
        own = bpy.data.worlds.new("Studio")
        versions.give_nodes(own)
        own.node_tree.nodes["Background"].inputs["Color"].default_value = (1, 0, 0, 1)
        before, self.scene.world = self.scene.world, own
        try:
            bpy.ops.firn.bake(tree="own")
            bpy.ops.firn.render_ready(tree="own")
            self.assertEqual(self.scene.world, own)
            self.assertIn("Cube", self.scene.objects)
            # It stands where the snow is, and makes room for it; once.
            self.assertTrue(cube.hide_render)
            self.assertEqual(cube.display_type, "WIRE")
            cube.hide_render = False
            bpy.ops.firn.show(tree="own")
            self.assertFalse(cube.hide_render)
        finally:
            self.scene.world = before
        tree.nodes["block"].scene_object = None
        cube.location.x = 0.1
        bpy.ops.firn.show(tree="own")
        self.assertIn("Cube", self.scene.objects)
        cube.location.x = 0.0
        bpy.ops.firn.show(tree="own")
        self.assertNotIn("Cube", self.scene.objects)

    def test_a_damaged_volume_is_a_message(self):
        tree = small_shot("cut", last=1)
        bpy.ops.firn.bake(tree="cut")
        path = Path(result.volume_files(tree)[0][1])
        path.write_bytes(path.read_bytes()[:200])
        with self.assertRaisesRegex(RuntimeError, path.name):
            bpy.ops.firn.show(tree="cut")
        self.assertTrue(os.path.isdir(export.cache_folder(tree)))
