"""What scenes of artists are like: driven, hidden, copied, appended, in other units and places."""

import os
from pathlib import Path

import bpy
import numpy
from support import WORK, Case, add, link, new_tree, scattering, small_shot, upright

from firn_snow import bake, export, result, state


def drive(node, prop, expression, index=-1, **variables):
    """A driver; variables are (id, data path)."""
    curve = node.driver_add(prop, index) if index >= 0 else node.driver_add(prop)
    curve.driver.type, curve.driver.expression = "SCRIPTED", expression
    for name, (owner, path) in variables.items():
        variable = curve.driver.variables.new()
        variable.name = name
        variable.targets[0].id_type = owner.bl_rna.identifier.upper()
        variable.targets[0].id, variable.targets[0].data_path = owner, path
    return curve.driver


class Drivers(Case):
    def test_values_follow_an_expression_of_the_frame(self):
        tree = small_shot("driven", last=4)
        ground = tree.nodes["ground"]
        ground.p_translation[0] = 0.25
        drive(ground, "p_translation", "-0.01 * (frame - 1)", 2)
        self.scene.frame_set(3)
        self.assertAlmostEqual(ground.p_translation[2], -0.02, places=6)
        bake.export_inputs(tree, bpy.context)
        self.assertEqual(self.scene.frame_current, 3)
        keys = self.params(tree, "ground")["translation"]["keys"]
        self.assertEqual([key[0] for key in keys], [1, 2, 3, 4])
        numpy.testing.assert_allclose([key[1] for key in keys],
                                      [[0.25, -0.01 * f, 0] for f in range(4)], atol=1e-7)

    def test_a_value_that_stays_may_drive_anything(self):
        tree = small_shot("fineness", last=2)
        self.scene["cells"] = 10.0
        drive(tree.nodes["solver"], "p_cell_size", "1 / (2 * n)", n=(self.scene, '["cells"]'))
        bpy.ops.firn.bake(tree="fineness")
        self.assertAlmostEqual(self.graph(tree).node("solver")["cell_size"], 0.05, places=6)
        self.assertEqual(tree.cache_state, "complete")
        self.scene["cells"] = 5.0
        self.scene.update_tag()  # as the panel of the property does
        self.scene.frame_set(1)
        self.assertAlmostEqual(tree.nodes["solver"].p_cell_size, 0.1, places=6)
        state.refresh(tree, self.scene)
        self.assertEqual(tree.cache_state, "stale")

    def test_what_a_cache_was_driven_by_makes_it_stale(self):
        tree = small_shot("lift", last=3)
        lift = bpy.data.objects.new("lift", None)
        self.scene.collection.objects.link(lift)
        for frame, height in ((1, 0.0), (3, -0.05)):
            lift.location = (0, 0, height)
            lift.keyframe_insert("location", frame=frame)
        curve = tree.nodes["ground"].driver_add("p_translation", 2)
        curve.driver.type = "SUM"
        variable = curve.driver.variables.new()
        variable.type = "TRANSFORMS"
        variable.targets[0].id, variable.targets[0].transform_type = lift, "LOC_Z"
        bpy.ops.firn.bake(tree="lift")
        heights = [k[1][1] for k in self.params(tree, "ground")["translation"]["keys"]]
        self.assertAlmostEqual(heights[2], -0.05, places=6)
        self.assertTrue(heights[0] > heights[1] > heights[2])
        for frame in (2, 3, 1):
            self.scene.frame_set(frame)
        state.refresh(tree, self.scene)
        self.assertEqual(tree.cache_state, "complete")
        lift.animation_data_clear()
        lift.location.z = 0.2
        self.scene.frame_set(2)
        state.refresh(tree, self.scene)
        self.assertEqual(tree.cache_state, "stale")

    def test_a_driver_without_a_value_is_a_message_on_the_node(self):
        tree = small_shot("lost", last=2)
        ground = tree.nodes["ground"]
        for expression, word in (("frame + nothing", "nothing"), ("1 / (frame - frame)", "zero"),
                                 ("__import__('os').getpid()", "Auto Run")):
            with self.subTest(expression):
                driver = drive(ground, "p_friction", expression)
                self.assertFalse(state.refresh(tree, self.scene))
                self.assertIn("Friction", ground.problem)
                self.assertIn(word, ground.problem)
                ground.driver_remove("p_friction")
                self.assertIsNotNone(driver)
        drive(ground, "p_translation", "x", 0, x=(self.scene, '["gone"]'))
        with self.assertRaisesRegex(RuntimeError, "gone"):
            bpy.ops.firn.bake(tree="lost")

    def test_a_value_of_the_start_cannot_be_driven_by_time(self):
        tree = small_shot("late", last=3)
        drive(tree.nodes["block"], "p_jitter", "0.1 * frame")
        with self.assertRaisesRegex(RuntimeError, "Jitter cannot change in time"):
            bpy.ops.firn.bake(tree="late")
        self.assertIn("Jitter", tree.nodes["block"].problem)


class Objects(Case):
    def prepared(self, last=3):
        tree = small_shot("things", last=last)
        node = add(tree, "collider", "thing", mesh_voxel_size=0.03)
        link(tree, node, tree.nodes["solver"], "colliders")
        bpy.ops.mesh.primitive_cube_add(size=0.3, location=(0, 0, 0.6))
        cube = bpy.context.object
        cube.modifiers.new("round", "SUBSURF").levels = 1
        node.scene_object = cube
        return tree, node, cube

    def test_a_picked_object_is_no_error_before_the_first_bake(self):
        tree, node, cube = self.prepared()
        self.assertTrue(state.refresh(tree, self.scene), node.problem)
        self.assertEqual((node.problem, tree.cache_state), ("", "none"))

    def test_picking_another_object_makes_a_cache_stale(self):
        tree, node, cube = self.prepared(last=2)
        bpy.ops.firn.bake(tree=tree.name)
        self.assertEqual(tree.cache_state, "complete")
        other = cube.copy()
        self.scene.collection.objects.link(other)
        node.scene_object = other
        state.refresh(tree, self.scene)
        self.assertEqual(tree.cache_state, "stale")

    def test_an_object_that_was_deleted_is_a_message_on_the_node(self):
        tree, node, cube = self.prepared()
        bpy.ops.object.delete()
        self.assertFalse(state.refresh(tree, self.scene))
        self.assertIn("not in the scene", node.problem)
        with self.assertRaisesRegex(RuntimeError, "not in the scene"):
            bpy.ops.firn.bake(tree=tree.name)
        node.scene_object = None
        node.p_shape = "plane"
        self.assertTrue(state.refresh(tree, self.scene))

    def test_hidden_objects_count_and_disabled_ones_are_refused(self):
        tree, node, cube = self.prepared()
        bake.export_inputs(tree, bpy.context)
        seen = Path(self.params(tree, "thing")["file"]).read_bytes()
        cube.hide_set(True)
        cube.hide_render = True
        bake.export_inputs(tree, bpy.context)
        self.assertEqual(Path(self.params(tree, "thing")["file"]).read_bytes(), seen)
        cube.hide_viewport = True
        self.assertFalse(state.refresh(tree, self.scene))
        self.assertIn("switched off", node.problem)
        cube.hide_viewport = False
        group = bpy.data.collections.new("group")
        self.scene.collection.children.link(group)
        for collection in list(cube.users_collection):
            collection.objects.unlink(cube)
        group.objects.link(cube)
        self.assertTrue(state.refresh(tree, self.scene), node.problem)
        group.hide_viewport = True
        self.assertFalse(state.refresh(tree, self.scene))
        self.assertIn("switched off", node.problem)
        group.hide_viewport = False
        layer = bpy.context.view_layer.layer_collection.children["group"]
        layer.exclude = True
        self.assertFalse(state.refresh(tree, self.scene))
        bpy.data.collections.remove(group)

    def test_an_instance_of_a_collection_collides_with_all_of_it(self):
        tree, node, cube = self.prepared()
        bpy.ops.mesh.primitive_cube_add(size=0.1, location=(0.5, 0, 0))
        group = bpy.data.collections.new("pair")
        for obj in (cube, bpy.context.object):
            group.objects.link(obj)
        empty = bpy.data.objects.new("actors", None)
        empty.instance_type, empty.instance_collection = "COLLECTION", group
        empty.location = (0.0, 1.0, 0.0)
        self.scene.collection.objects.link(empty)
        node.scene_object = empty
        self.assertEqual(node.p_shape, "mesh")
        bake.export_inputs(tree, bpy.context)
        params = self.params(tree, "thing")
        self.assertNotIn("deforming", params)
        from support import alembic_points
        points = upright(alembic_points(params["file"], 1 / 24)) + (0, 1, 0)
        self.assertEqual(len(points), 26 + 8)
        numpy.testing.assert_allclose(points[26:].max(axis=0), (0.55, 1.05, 0.05), atol=1e-6)
        bpy.data.collections.remove(group)


class Copies(Case):
    def test_a_copy_has_a_cache_and_objects_of_its_own(self):
        tree = small_shot("first", last=2)
        bpy.ops.firn.bake(tree="first")
        bpy.ops.firn.show(tree="first")
        other = tree.copy()
        state.refresh(other, self.scene)
        self.assertEqual(other.cache_state, "none")
        self.assertIsNone(other.particle_object)
        self.assertIsNotNone(tree.particle_object)
        tree.p_name = other.p_name = "same"
        self.assertFalse(state.refresh(other, self.scene))
        self.assertIn("'first' has the same cache", other.problem)
        with self.assertRaisesRegex(RuntimeError, "same cache"):
            bpy.ops.firn.bake(tree=other.name)
        self.assertTrue(state.refresh(tree, self.scene))

    def test_a_tree_from_another_file_works_here(self):
        tree = small_shot("given", last=2)
        bpy.ops.mesh.primitive_cube_add(size=0.2)
        tree.nodes["block"].scene_object = bpy.context.object
        path = str(WORK / "given.blend")
        bpy.data.libraries.write(path, {tree})
        self.setUp()
        with bpy.data.libraries.load(path) as (_, wanted):
            wanted.node_groups = ["given"]
        tree = bpy.data.node_groups["given"]
        # Its object came along, but stands in no scene.
        self.assertFalse(state.refresh(tree, self.scene))
        self.assertIn("not in the scene", tree.nodes["block"].problem)
        self.scene.collection.objects.link(tree.nodes["block"].scene_object)
        tree.nodes["block"].p_mesh_voxel_size = 0.03
        self.assertEqual(bpy.ops.firn.bake(tree="given"), {"FINISHED"})


class Places(Case):
    def test_folders_may_have_any_name(self):
        tree = small_shot("Schnee wehe 雪", last=2)
        tree.p_base = str(WORK / "Für Ünï – 雪 'x'")
        bpy.ops.firn.bake(tree=tree.name)
        bpy.ops.firn.show(tree=tree.name)
        self.scene.frame_set(2)
        self.assertGreater(len(result.points_of(tree.particle_object)), 100)
        self.assertTrue(tree.volume_object.data.grids.load())

    def test_an_unsaved_file_bakes_into_a_folder_of_the_user(self):
        bpy.ops.wm.read_homefile(use_empty=True)
        self.setUp()
        tree = new_tree("unsaved")
        tree.p_base = "//firn_cache"
        self.assertTrue(export.is_homeless(tree))
        self.assertIn("firn_cache_", export.cache_base(tree))
        tree.p_base = str(WORK)
        self.assertFalse(export.is_homeless(tree))

    def test_other_units_show_the_same_snow(self):
        tree = small_shot("units", last=1)
        bpy.ops.firn.bake(tree="units")
        bpy.ops.firn.show(tree="units")
        density = scattering(tree.volume_object)[0]
        place = tree.volume_object.location.copy()
        for unit in (0.01, 1000.0, 1.0):
            self.scene.unit_settings.scale_length = unit
            bpy.ops.firn.show(tree="units")
            for obj in (tree.particle_object, tree.volume_object):
                self.assertAlmostEqual(obj.scale[0] * unit, 1.0, places=5)
            numpy.testing.assert_allclose(scattering(tree.volume_object)[0], density * unit,
                                          rtol=1e-5)
            self.assertLess((tree.volume_object.location * unit - place).length, 1e-6)

    def test_motion_blur_asks_for_velocities_around_the_snow(self):
        tree = small_shot("blurred", last=1)
        bpy.ops.firn.bake(tree="blurred")
        bpy.ops.firn.show(tree="blurred")
        self.scene.render.use_motion_blur = True
        try:
            self.assertIn("0.0104", result.blur_advice(tree, self.scene))
            tree.nodes["volume"].p_shutter = 0.0104  # what it says
            self.assertEqual(result.blur_advice(tree, self.scene), "")
        finally:
            self.scene.render.use_motion_blur = False

    def test_another_frame_rate_makes_a_cache_stale(self):
        tree = small_shot("rate", last=2)
        bpy.ops.firn.bake(tree="rate")
        self.assertEqual(tree.cache_state, "complete")
        self.scene.render.fps = 30
        try:
            state.refresh(tree, self.scene)
            self.assertEqual(tree.cache_state, "stale")
        finally:
            self.scene.render.fps = 24
        state.refresh(tree, self.scene)
        self.assertEqual(tree.cache_state, "complete")

    def test_two_trees_show_their_own_snow(self):
        trees = [small_shot(name, last=2) for name in ("left", "right")]
        trees[1].nodes["block"].p_half_size = (0.2, 0.2, 0.1)
        for tree in trees:
            bpy.ops.firn.bake(tree=tree.name)
            bpy.ops.firn.show(tree=tree.name)
        self.scene.frame_set(2)
        counts = [len(result.points_of(tree.particle_object)) for tree in trees]
        self.assertGreater(counts[0], counts[1])
        self.assertEqual({os.path.dirname(result.particle_file(t, 2)) for t in trees},
                         {export.cache_folder(t) for t in trees})
