"""The Python of the assets against the stand-in for hou: what an artist sees."""

import os
import subprocess
import sys
import unittest

import support
from support import ROOT, cube, hou, program

from firn_houdini import node as cooking
from firn_houdini import worker


class Results(support.NetworkTest):
    def test_a_solver_shows_the_particles_of_the_frame(self):
        solver = self.drop()
        heights = []
        for frame in (1, 3):
            geometry = self.cook(solver, frame)
            self.assertEqual(geometry.loaded,
                             [f"{self.folder}/geo/solver/v1/solver_v1.{frame:04d}.bgeo"])
            for name in ("v", "id", "pscale", "mass", "Jp"):
                self.assertIsNotNone(geometry.findPointAttrib(name), name)
            heights.append(sum(p[1] for p in geometry.points()) / len(geometry.points()))
        fall = 0.5 * 9.81 * (2 / 24) ** 2
        self.assertAlmostEqual(heights[0] - heights[1], fall, delta=0.02 * fall + 1e-4)

    def test_frames_are_the_bytes_that_the_command_writes(self):
        solver = self.drop()
        self.cook(solver, 4)
        self.press(solver, "save_scene")
        subprocess.run([program(), "cook", self.folder / "solver.firn", "--quiet", "--base",
                        self.folder / "farm"], check=True)
        names = [f"solver/v1/solver_v1.{frame:04d}.bgeo" for frame in (1, 2, 3, 4)]
        for name in names:
            self.assertEqual((self.folder / "geo" / name).read_bytes(),
                             (self.folder / "farm" / name).read_bytes(), name)

    def test_the_solver_goes_ahead_in_the_background(self):
        solver = self.drop()
        self.cook(solver, 1)
        (run, _), = worker.running.values()
        self.assertEqual(run.wait(60), 0)
        self.assertEqual(run.frames_done, [1, 2, 3, 4])
        self.cook(solver, 4)
        self.assertIs(next(iter(worker.running.values()))[0], run)

    def test_without_ahead_it_stops_at_the_frame(self):
        solver = self.drop()
        solver.parm("ahead").set(0)
        self.cook(solver, 2)
        (run, _), = worker.running.values()
        run.wait(60)
        self.assertEqual(run.frames_done, [1, 2])

    def test_frame_after_frame_and_beyond_the_end_of_a_run(self):
        solver = self.drop()
        solver.parm("ahead").set(0)
        for frame in (1, 2, 3):
            self.cook(solver, frame)
        solver.parm("ahead").set(1)
        self.cook(solver, 4)
        self.session.variables["FEND"] = "6"
        self.session.edits += 1
        self.assertIn("0006.bgeo", self.cook(solver, 6).loaded[0])

    def test_a_python_node_inside_of_an_asset_is_filled_the_same_way(self):
        solver = self.drop()
        inside = hou.Geometry()
        self.at(2)
        cooking.cook(solver, inside)
        self.assertEqual(inside.points(), self.cook(solver, 2).points())

    def test_before_the_first_frame_there_is_nothing(self):
        self.assertEqual(self.cook(self.drop(), 0).points(), [])

    def test_frames_behind_the_last_show_the_last(self):
        self.assertIn("0004.bgeo", self.cook(self.drop(), 9).loaded[0])

    def test_a_volume_is_made_for_the_frame_that_is_shown_and_kept(self):
        solver = self.drop()
        volume = self.add("snow_rasterize", "volume", voxel_size=0.05)
        volume.setInput(0, solver)
        geometry = self.cook(volume, 2)
        self.assertEqual(geometry.loaded, [f"{self.folder}/geo/volume/v1/volume_v1.0002.vdb"])
        before = os.stat(geometry.loaded[0]).st_mtime_ns
        self.cook(volume, 3)
        self.assertEqual(os.stat(self.cook(volume, 2).loaded[0]).st_mtime_ns, before)
        volume.parm("voxel_size").set(0.1)
        self.assertNotEqual(os.stat(self.cook(volume, 2).loaded[0]).st_mtime_ns, before)
        left = [p.name for p in (self.folder / "geo/volume/v1").iterdir()]
        self.assertEqual([name for name in left if name.startswith(".making")], [])

    def test_particles_that_the_artist_has_changed_are_rasterized_as_they_are(self):
        solver = self.drop()
        self.cook(solver, 1)

        def upper_half(frame):
            geometry = solver.geometryAtFrame(frame).copy()
            keep = [i for i, p in enumerate(geometry.points()) if p[1] > 0.3]
            result = hou.Geometry()
            result.createPoints([geometry.points()[i] for i in keep])
            for name, values in geometry._attributes.items():
                result._attributes[name] = [values[i] for i in keep]
            return result
        edited = hou.foreign(self.parent, "blast", upper_half)
        volume = self.add("snow_rasterize", "volume", voxel_size=0.05)
        volume.setInput(0, edited)
        half = self.cook(volume, 1).loaded[0]
        whole = self.add("snow_rasterize", "whole", voxel_size=0.05)
        whole.setInput(0, solver)
        self.assertLess(mass(half), 0.7 * mass(self.cook(whole, 1).loaded[0]))

    def test_the_cache_writes_what_the_command_writes_and_loads_it(self):
        cache = self.cache(self.drop())
        self.press(cache, "execute")
        cache.parm("loadfromdisk").set(1)
        names = [os.path.basename(p) for p in self.cook(cache, 3).loaded]
        self.assertEqual(names, ["shot_v1.0003.bgeo", "shot_v1.0003.vdb"])
        cache.parm("show").set(2)
        self.assertEqual(len(self.cook(cache, 3).loaded), 1)
        check = subprocess.run([program(), "info", self.folder / "geo/shot/v1", "--verify"],
                               stdout=subprocess.DEVNULL)
        self.assertEqual(check.returncode, 0)

    def test_a_cache_that_names_its_network_does_not_cook_it(self):
        solver = self.drop()
        cache = self.cache(solver)
        self.press(cache, "execute")
        cache.parm("loadfromdisk").set(1)
        self.cook(cache, 2)
        self.assertEqual(solver.cook_count, 0)
        self.assertFalse((self.folder / "geo/solver").exists())

    def test_a_cache_draws_pictures_when_it_is_asked_to(self):
        self.session.variables["FEND"] = "1"
        cache = self.cache(self.drop())
        for name, value in (("render", 1), ("render_width", 32), ("render_height", 24),
                            ("render_samples", 2)):
            cache.parm(name).set(value)
        self.assertEqual(self.scene(cache)["nodes"]["render"]["inputs"],
                         {"volume": "volume", "particles": "solver", "colliders": ["ground"]})
        self.press(cache, "execute")
        self.assertTrue((self.folder / "geo/shot/v1/shot_v1.0001.png").exists())
        cache.parm("loadfromdisk").set(1)
        self.assertEqual(len(self.cook(cache, 1).loaded), 2)

    def cache(self, solver):
        volume = self.add("snow_rasterize", "volume", voxel_size=0.05)
        volume.setInput(0, solver)
        return self.add("snow_cache", "shot", network=volume.path())


def mass(path):
    """The sum over the voxels of a density grid."""
    import pyopenvdb
    grid = pyopenvdb.read(path, "density")
    return sum(item.value * item.count for item in grid.iterOnValues())


class Waiting(support.NetworkTest):
    def test_progress_rises_and_ends(self):
        self.cook(self.drop(), 4)
        shown = [f for title, f in self.session.progress if title == "Solving snow"]
        self.assertEqual(shown, sorted(shown))

    def test_escape_stops_the_run_and_cooking_again_goes_on_to_the_same_bytes(self):
        self.session.variables["FEND"] = "30"
        solver = self.drop()
        self.session.interrupt = lambda title, fraction: title == "Solving snow" and fraction > 0.0
        self.at(30)
        with self.assertRaises(hou.OperationInterrupted):
            solver.cook()
        self.assertEqual(worker.running, {})
        folder = self.folder / "geo/solver/v1"
        self.assertFalse((folder / ".lock").exists())
        made = {p.name for p in folder.glob("*.bgeo")}
        self.assertTrue(0 < len(made) < 30, made)
        self.session.interrupt = None
        self.session.edits += 1
        self.cook(solver, 30)
        again = (folder / "solver_v1.0030.bgeo").read_bytes()
        self.press(solver, "reset")
        self.assertEqual(again, (folder / "solver_v1.0030.bgeo").read_bytes())

    def test_escape_at_the_very_start_leaves_nothing_running(self):
        self.session.interrupt = lambda title, fraction: title == "Solving snow"
        solver = self.drop()
        with self.assertRaises(hou.OperationInterrupted):
            solver.cook()
        self.assertEqual(worker.running, {})
        self.session.interrupt = None
        self.session.edits += 1
        self.cook(solver, 2)

    def test_stop_ends_the_run_in_the_background(self):
        self.session.variables["FEND"] = "500"
        solver = self.drop()
        cache = self.add("snow_cache", "shot", network=solver.path())
        self.press(cache, "background")
        (run, _), = worker.running.values()
        self.press(cache, "stop")
        self.assertFalse(run.running)
        self.assertLess(len(run.frames_done), 500)

    def test_reset_removes_the_frames_and_nothing_else(self):
        solver = self.drop()
        self.cook(solver, 4)
        folder = self.folder / "geo/solver/v1"
        (folder / "notes.txt").write_text("mine")
        solver.parm("solve").set(1)
        self.press(solver, "reset")
        self.assertEqual({p.name for p in folder.iterdir()}, {"notes.txt", "solver.firn"})


class Badges(support.NetworkTest):
    def error(self, node):
        node.cook()
        self.assertEqual(len(node.errors()), 1, node.errors())
        return node.errors()[0]

    def test_a_solver_without_snow_says_so(self):
        self.assertIn("sources is not connected", self.error(self.add("snow_solver", "solver")))

    def test_foreign_geometry_at_an_input_of_nodes_is_explained(self):
        solver = self.drop()
        solver.setInput(1, hou.foreign(self.parent, "box", lambda frame: cube()))
        self.assertIn("input 2 carries no collider of Firn", self.error(solver))

    def test_a_node_of_the_wrong_kind_is_named(self):
        solver = self.drop()
        solver.setInput(1, self.parent.node("ball"))
        self.assertIn("/obj/geo1/ball is no collider", self.error(solver))

    def test_values_that_do_not_fit_are_those_of_the_library(self):
        solver = self.drop()
        solver.parm("dt_max").set(1e-8)
        self.assertIn("dt_m", self.error(solver))

    def test_a_misspelled_final_value_gets_a_suggestion(self):
        solver = self.drop()
        solver.parm("final_values").set("cell_sise=0.01")
        self.assertIn("did you mean 'cell_size'", self.error(solver))

    def test_a_missing_file_is_named(self):
        solver = self.drop()
        ball = self.parent.node("ball")
        ball.parm("region").set(2)
        ball.parm("file").set("$HIP/none.obj")
        self.assertIn("none.obj", self.error(solver))

    def test_a_button_says_what_is_wrong_in_a_window(self):
        cache = self.add("snow_cache", "shot")
        cache.parm("execute").pressButton()
        self.assertIn("connect a Firn node", self.session.messages[0])

    def test_a_cook_sets_no_parameters(self):
        ball = self.add("snow_source", "ball")
        self.session.cooking.append(ball)
        with self.assertRaises(hou.Error):
            ball.parm("radius").set(1.0)
        self.session.cooking.pop()


class Stale(support.NetworkTest):
    def warning(self, node):
        node.cook()
        self.assertEqual(node.errors(), ())
        return "".join(node.warnings())

    def test_held_frames_are_shown_with_a_warning_when_something_has_changed(self):
        solver = self.drop()
        before = len(self.cook(solver, 4).points())
        solver.parm("solve").set(1)
        self.cook(solver, 4)
        self.parent.node("ball").parm("radius").set(0.15)
        self.assertIn("out of date", self.warning(solver))
        self.assertEqual(len(solver.geometry().points()), before)
        self.parent.node("ball").parm("radius").set(0.1)
        self.cook(solver, 4)

    def test_solving_when_needed_makes_changed_frames_anew(self):
        solver = self.drop()
        before = len(self.cook(solver, 2).points())
        self.parent.node("ball").parm("radius").set(0.15)
        self.assertGreater(len(self.cook(solver, 2).points()), 2 * before)

    def test_what_does_not_change_the_result_is_not_stale(self):
        solver = self.drop()
        self.cook(solver, 4)
        solver.parm("solve").set(1)
        solver.parm("thread_count").set(2)
        self.cook(solver, 4)

    def test_a_frame_that_is_not_there_is_named(self):
        solver = self.drop()
        solver.parm("solve").set(1)
        self.at(3)
        self.assertIn("Frame 3 is not on disk", self.warning(solver))

    def test_a_cache_warns_as_well(self):
        solver = self.drop()
        cache = self.add("snow_cache", "shot", network=solver.path())
        self.press(cache, "execute")
        cache.parm("loadfromdisk").set(1)
        self.cook(cache, 2)
        self.parent.node("ground").parm("friction").set(0.9)
        self.assertIn("out of date", self.warning(cache))

    def test_changed_input_geometry_is_noticed(self):
        size = [0.1]
        mesh = hou.foreign(self.parent, "mesh", lambda frame: cube(size[0], (0, 0.3, 0)))
        solver = self.drop()
        self.parent.node("ball").setInput(0, mesh)
        self.cook(solver, 4)
        solver.parm("solve").set(1)
        self.cook(solver, 4)
        size[0] = 0.12
        self.session.edits += 1
        self.assertIn("out of date", self.warning(solver))


class Missing(unittest.TestCase):
    """What a half-installed package looks like; in a process of its own."""

    PACKAGES = ["hda/python", "plugin/python"]
    CODE = """
import sys, tempfile
sys.path[:0] = {folders!r}
import hou
hou.load_assets({assets!r})
with tempfile.TemporaryDirectory() as folder:
    session, parent = hou.new_session()
    session.variables["HIP"] = folder
    solver = parent.createNode("firn::snow_solver::1.0")
    source = parent.createNode("firn::snow_source::1.0")
    solver.setInput(0, source)
    for node in (source, solver):
        try:
            node.cook()
        except hou.OperationFailed:
            pass
    print((source.errors() + solver.errors())[0])
"""

    def message(self, packages=PACKAGES, **environment):
        folders = [str(ROOT / folder) for folder in ["tests/houdini/standin", *packages]]
        code = self.CODE.format(folders=folders, assets=str(ROOT / "hda/otls"))
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                env=dict(os.environ, **environment))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_missing_library_is_an_error_that_says_where_it_was_looked_for(self):
        self.assertIn("looked for\n  /nowhere/libfirn.so",
                      self.message(FIRN_LIBRARY="/nowhere/libfirn.so"))

    def test_a_library_that_is_none_is_an_error(self):
        self.assertIn("cannot be loaded", self.message(FIRN_LIBRARY=__file__))

    def test_a_missing_program_is_an_error_that_names_it(self):
        self.assertIn("the program /nowhere/firn is not there",
                      self.message(FIRN_PROGRAM="/nowhere/firn"))

    def test_a_missing_package_is_an_error_that_names_the_setting(self):
        self.assertIn("PYTHONPATH", self.message(packages=[]))


if __name__ == "__main__":
    unittest.main()
