"""Networks as scenes and scenes as networks, against the stand-in for hou."""

import json
import os
import subprocess
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

import support
from support import ROOT, cube, hou, program

import firn
from firn_houdini import presets, scene_import, tables

SCENES = ROOT / "docs/scenes"


class Values(support.NetworkTest):
    def test_an_untouched_network_says_nothing_but_its_links(self):
        scene = self.scene(self.drop())
        self.assertEqual(scene["nodes"]["ground"], {"type": "collider"})
        self.assertEqual(scene["nodes"]["solver"]["inputs"],
                         {"sources": ["ball"], "colliders": ["ground"]})
        self.assertEqual((scene["fps"], scene["frames"]), (24.0, [1, 4]))

    def test_an_expression_becomes_a_value_for_each_frame(self):
        solver = self.drop()
        ground = self.parent.node("ground")
        ground.parm("translationx").setExpression("0.5*$F")
        ground.parm("rotationy").setExpression("sin(30)*$FF")
        params = self.scene(solver)["nodes"]["ground"]["params"]
        self.assertEqual(params["translation"], {
            "from": 1, "values": [[0.5 * frame, 0.0, 0.0] for frame in (1, 2, 3, 4)]})
        self.assertEqual(params["rotation"]["values"][2], [0.0, 1.5, 0.0])
        firn.Graph.loads(self.scene(solver)).validate()

    def test_keyframes_become_values_too(self):
        solver = self.drop()
        row = next(r for r in tables.table_of(self.parent.node("ground"))["params"]
                   if r["name"] == "scale")
        scene_import.set_keys(self.parent.node("ground"), row, {"keys": [[1, 1.0], [4, 2.5]]})
        params = self.scene(solver)["nodes"]["ground"]["params"]
        self.assertEqual(params["scale"], {"from": 1, "values": [1.0, 1.5, 2.0, 2.5]})

    def test_what_cannot_move_keeps_its_first_value_and_warns(self):
        solver = self.drop()
        self.parent.node("ball").parm("radius").setExpression("0.1*$F")
        self.assertEqual(self.scene(solver)["nodes"]["ball"]["params"]["radius"], 0.1)
        solver.cook()
        self.assertIn("'Radius' cannot move", solver.warnings()[0])

    def test_frame_numbers_in_paths_stay_frame_numbers(self):
        solver = self.drop()
        ground = self.parent.node("ground")
        ground.parm("shape").set(5)
        for text in ("$HIP/walk.$F4.vdb", "${HIP}/walk.${F4}.vdb"):
            ground.parm("file").set(text)
            self.assertEqual(self.scene(solver)["nodes"]["ground"]["params"]["file"],
                             f"{self.folder}/walk.%04d.vdb")

    def test_final_values_are_those_of_final_quality(self):
        solver = self.drop()
        solver.parm("final_values").set("cell_size=0.01 'gravity=[0, -5, 0]' kernel=cubic")
        solver.parm("shot_quality").set(1)
        graph = firn.Graph.loads(self.scene(solver))
        self.assertEqual(graph.node("solver")["kernel"], "cubic")
        self.assertEqual(graph.node("solver")["gravity"], (0, -5, 0))
        self.assertAlmostEqual(graph.node("solver")["cell_size"], 0.01)

    def test_a_preset_sets_the_parameters_and_the_scene_says_them_all(self):
        snow = self.add("snow_material", "snow")
        solver = self.drop()
        self.parent.node("ball").setInput(1, snow)
        snow.parm("preset").set(snow.parm("preset").tokens.index("powder"))
        exec(snow.parm("preset").block.tags()["script_callback"],
             {"hou": types.SimpleNamespace(phm=snow.hdaModule), "kwargs": {"node": snow}})
        table = tables.table_of(snow)
        wanted = presets.preset_values(table, "powder")
        self.assertAlmostEqual(snow.parm("density").evalAsFloat(), wanted["density"])
        snow.parm("density").set(400)
        graph = firn.Graph.loads(self.scene(solver))
        self.assertEqual(graph.node("snow")["density"], 400)
        self.assertAlmostEqual(graph.node("snow")["hardening"], wanted["hardening"], places=6)

    def test_names_are_made_fit_for_scenes(self):
        ball = self.add("snow_source", "3 balls-é")
        solver = self.add("snow_solver", "solver")
        solver.setInput(0, ball)
        firn.Graph.loads(self.scene(solver)).node("n3_balls__")


class Links(support.NetworkTest):
    def colliders(self, *names):
        return [self.add("snow_collider", name) for name in names]

    def test_many_colliders_come_by_merge_and_by_list(self):
        solver = self.drop()
        wired = self.colliders("wall", "floor")
        listed = self.colliders("rock", "tree")
        merge = self.parent.createNode("merge", "merge1")
        for number, node in enumerate(wired):
            merge.setInput(number, node)
        solver.setInput(1, merge)
        solver.parm("colliders_nodes").set(2)
        solver.parm("colliders_node1").set(listed[0].path())
        solver.parm("colliders_node2").set("../tree")
        self.assertEqual(self.scene(solver)["nodes"]["solver"]["inputs"]["colliders"],
                         ["wall", "floor", "rock", "tree"])
        self.cook(solver, 1)

    def test_an_empty_line_of_the_list_is_nothing_and_a_wrong_one_an_error(self):
        solver = self.drop()
        solver.parm("colliders_nodes").set(1)
        self.assertEqual(self.scene(solver)["nodes"]["solver"]["inputs"]["colliders"], ["ground"])
        solver.parm("colliders_node1").set("../none")
        solver.cook()
        self.assertIn("there is no node '../none'", solver.errors()[0])

    def test_a_node_that_comes_twice_counts_once(self):
        solver = self.drop()
        solver.parm("colliders_nodes").set(1)
        solver.parm("colliders_node1").set("../ground")
        self.assertEqual(self.scene(solver)["nodes"]["solver"]["inputs"]["colliders"], ["ground"])

    def test_one_material_serves_several_sources(self):
        snow = self.add("snow_material", "snow")
        merge = self.parent.createNode("merge", "merge1")
        for number in range(2):
            ball = self.add("snow_source", f"ball{number}", center=(0, 0, float(number)))
            ball.setInput(1, snow)
            merge.setInput(number, ball)
        solver = self.add("snow_solver", "solver")
        solver.setInput(0, merge)
        nodes = self.scene(solver)["nodes"]
        self.assertEqual({n["inputs"]["material"] for k, n in nodes.items() if "ball" in k},
                         {"snow"})

    def test_a_writer_that_needs_colliders_gets_those_of_the_solver(self):
        changed = json.loads(json.dumps(tables.all_tables()))
        writer = next(w for w in changed["writers"] if w["name"] == "write_particles")
        writer["inputs"].append({"name": "colliders", "kind": "collider", "many": True,
                                 "required": False, "help": ""})
        cache = self.add("snow_cache", "shot", network=self.drop().path())
        with mock.patch.object(tables, "all_tables", lambda: changed):
            self.assertEqual(self.scene(cache)["nodes"]["write_particles"]["inputs"],
                             {"particles": "solver", "colliders": ["ground"]})

    def test_guides_stand_where_the_snow_is(self):
        ball = self.add("snow_source", "ball", radius=0.2, center=(1.0, 2.0, 3.0))
        for x, y, z in self.cook(ball).points():
            self.assertAlmostEqual((x - 1) ** 2 + (y - 2) ** 2 + (z - 3) ** 2, 0.04, places=6)
        box = self.add("snow_collider", "box", shape="box", rotation=(0, 90, 0),
                       half_size=(1, 2, 3))
        points = self.cook(box).points()
        self.assertEqual([round(max(p[i] for p in points), 6) for i in range(3)], [3, 2, 1])


class GeometryIn(support.NetworkTest):
    def collider(self, maker, **values):
        solver = self.drop()
        ground = self.parent.node("ground")
        ground.setInput(0, hou.foreign(self.parent, "shape", maker))
        for name, value in values.items():
            parm = ground.parm(name)
            parm.set(parm.tokens.index(value) if parm.tokens else value)
        return solver

    def test_polygons_become_a_mesh_that_the_solver_meets(self):
        solver = self.collider(lambda frame: cube(0.1, (0, 0.1, 0)))
        self.session.variables["FEND"] = "8"
        params = self.scene(solver)["nodes"]["ground"]["params"]
        self.assertEqual((params["shape"], params["file"]), ("mesh", "input/ground.obj"))
        heights = [p[1] for p in self.cook(solver, 8).points()]
        self.assertGreater(min(heights), 0.15)

    def test_a_deforming_mesh_is_saved_at_every_frame(self):
        solver = self.collider(lambda frame: cube(0.1, (0, -0.2 + 0.05 * frame, 0)),
                               motion="deforming")
        params = self.scene(solver)["nodes"]["ground"]["params"]
        self.assertEqual((params["file"], params["deforming"]), ("input/ground.%04d.obj", True))
        self.cook(solver, 4)
        saved = self.folder / "geo/solver/v1/input"
        self.assertEqual(sorted(p.name for p in saved.glob("*.obj")),
                         [f"ground.{frame:04d}.obj" for frame in (1, 2, 3, 4)])

    def test_saved_geometry_is_kept_until_it_changes(self):
        lift = [0.0]
        solver = self.collider(lambda frame: cube(0.1, (0, -0.2 + lift[0] * (frame == 3), 0)),
                               motion="deforming")
        self.cook(solver, 4)
        saved = self.folder / "geo/solver/v1/input"
        times = {p.name: p.stat().st_mtime_ns for p in saved.glob("*.obj")}
        lift[0] = 0.05
        self.session.edits += 1
        self.cook(solver, 3)
        changed = {p.name for p in saved.glob("*.obj") if p.stat().st_mtime_ns != times[p.name]}
        self.assertEqual(changed, {"ground.0003.obj"})

    def test_vdb_primitives_become_a_level_set(self):
        import pyopenvdb
        sphere = pyopenvdb.createLevelSetSphere(radius=0.1, center=(0, 0.05, 0), voxelSize=0.02)
        sphere.name = "surface"
        path = str(self.folder / "shape.vdb")
        pyopenvdb.write(path, grids=[sphere])

        def volume(frame):
            geometry = hou.Geometry()
            geometry.loadFromFile(path)
            return geometry
        solver = self.collider(volume)
        params = self.scene(solver)["nodes"]["ground"]["params"]
        self.assertEqual((params["shape"], params["file"]), ("level_set", "input/ground.vdb"))
        self.cook(solver, 2)

    def test_packed_alembic_is_read_from_its_archive(self):
        def packed(frame):
            geometry = hou.Geometry()
            geometry.createPoint()
            geometry._prims.append(hou.Prim("AlembicRef", intrinsics={
                "abcfilename": str(SCENES / "walker.abc"), "abcobjectpath": "/walker"}))
            return geometry
        solver = self.collider(packed, motion="deforming")
        params = self.scene(solver)["nodes"]["ground"]["params"]
        self.assertEqual(params, {"shape": "mesh", "file": str(SCENES / "walker.abc"),
                                  "object": "/walker", "deforming": True})

    def test_the_motion_of_an_object_moves_a_collider(self):
        solver = self.collider(lambda frame: cube(0.1, (0, -0.2, 0)), motion="rigid",
                               motion_object="../../plow")
        plow = hou.foreign(self.parent.parent(), "plow", None)
        plow.transform = lambda time: hou.Matrix((time, 0, 0), (0, 75 + 240 * time, 0), (2, 2, 2))
        params = self.scene(solver)["nodes"]["ground"]["params"]
        self.assertEqual(params["translation"]["values"][3], [0.125, 0, 0])
        self.assertEqual(params["rotation"]["values"], [[0, a, 0] for a in (75, 85, 95, 105)])
        self.assertEqual(params["scale"], 2.0)
        plow.transform = lambda time: hou.Matrix((0, 0, 0), (0, 0, 0), (1, 2, 1))
        solver.cook(force=True)
        self.assertIn("stretched", solver.errors()[0])

    def test_angles_turn_on_whatever_a_matrix_makes_of_them(self):
        from firn_houdini.scene import without_jumps
        turns = [(0.3 * t, 7.0 * t, -11.0 * t) for t in range(120)]
        given = [list(hou.Matrix((0, 0, 0), turn, (1, 1, 1)).extractRotates()) for turn in turns]
        self.assertGreater(max(abs(a - b) for p, q in zip(given, given[1:])
                               for a, b in zip(p, q)), 170)
        for found, wanted in zip(without_jumps(given), turns):
            for a, b in zip(found, wanted):
                self.assertAlmostEqual(a, b, places=6)

    def test_geometry_that_cannot_be_taken_is_an_error_that_says_what_to_do(self):
        kind = [None]

        def maker(frame):
            geometry = hou.Geometry()
            geometry._prims += [hou.Prim(kind[0])] if kind[0] else []
            return geometry
        solver = self.collider(maker)
        for kind[0], reason in ((None, "no polygons"), ("Volume", "convert it to VDB"),
                                ("PackedFragment", "unpack it")):
            self.session.edits += 1
            solver.cook()
            self.assertIn(reason, solver.errors()[0])

    def test_numbered_level_sets_follow_a_deforming_volume(self):
        import pyopenvdb
        paths = []
        for frame in range(1, 5):
            ball = pyopenvdb.createLevelSetSphere(0.1, center=(0, 0.02 * frame, 0), voxelSize=0.02)
            ball.name = "surface"
            paths.append(str(self.folder / f"ball{frame}.vdb"))
            pyopenvdb.write(paths[-1], grids=[ball])

        def volume(frame):
            geometry = hou.Geometry()
            geometry.loadFromFile(paths[int(frame) - 1])
            geometry._prims[0].voxels = int(frame)
            return geometry
        solver = self.collider(volume, motion="deforming")
        params = self.scene(solver)["nodes"]["ground"]["params"]
        self.assertEqual(params["file"], "input/ground.%04d.vdb")
        self.at(4)
        solver.cook()
        self.assertEqual(solver.errors(), ())
        saved = self.folder / "geo/solver/v1/input"
        for frame, path in enumerate(paths, 1):
            self.assertEqual((saved / f"ground.{frame:04d}.vdb").read_bytes(),
                             Path(path).read_bytes())

    def test_the_input_can_be_left_aside(self):
        solver = self.collider(lambda frame: cube(), use_input=0)
        self.assertEqual(self.scene(solver)["nodes"]["ground"], {"type": "collider"})


class Wedges(support.NetworkTest):
    def folder_of(self, solver):
        from firn_houdini import buttons
        return os.path.relpath(buttons.collect(solver).store().folder, self.folder)

    def test_the_index_of_the_work_item_chooses_the_folder(self):
        solver = self.drop()
        self.assertEqual(self.folder_of(solver), "geo/solver/v1")
        item = types.SimpleNamespace(attrib=lambda name, index, default: 7)
        with mock.patch.dict(sys.modules, {"pdg": item}):
            self.assertEqual(self.folder_of(solver), "geo/solver/v1/w7")
            self.assertIn("solver_v1_w7.0001.bgeo", self.cook(solver, 1).loaded[0])
            solver.parm("shot_wedge").set(3)
            self.assertEqual(self.folder_of(solver), "geo/solver/v1/w3")

    def test_outside_of_a_work_item_there_is_no_wedge(self):
        item = types.SimpleNamespace(attrib=lambda name, index, default: default)
        with mock.patch.dict(sys.modules, {"pdg": item}):
            self.assertEqual(self.folder_of(self.drop()), "geo/solver/v1")

    def test_the_wrapper_cooks_a_work_item_and_names_its_files(self):
        solver = self.drop()
        self.press(solver, "save_scene")
        (self.folder / "pdgjson.py").write_text(
            "class WorkItem:\n"
            "    @classmethod\n"
            "    def fromJobEnvironment(cls):\n        return cls()\n"
            "    def attribValue(self, name):\n        return {'wedgeindex': 2}.get(name)\n"
            "    def addOutputFile(self, path, tag):\n        print('OUTPUT', path, tag)\n")
        result = subprocess.run(
            [sys.executable, ROOT / "hda/python/firn_houdini/top.py", self.folder / "solver.firn"],
            env=dict(os.environ, PYTHONPATH=str(self.folder), FIRN_PROGRAM=program()),
            capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("ALF_PROGRESS 100%", result.stdout)
        files = [line.split()[1] for line in result.stdout.splitlines() if "OUTPUT" in line]
        self.assertEqual(len(files), 4)
        self.assertTrue(files[0].endswith("v1/w2/solver_v1_w2.0001.bgeo") and
                        os.path.exists(files[0]))

    def test_the_wrapper_passes_the_exit_code_on(self):
        result = subprocess.run(
            [sys.executable, ROOT / "hda/python/firn_houdini/top.py", "/nowhere/x.firn"],
            env=dict(os.environ, FIRN_PROGRAM=program()), capture_output=True)
        self.assertEqual(result.returncode, 5)


class Examples(support.NetworkTest):
    """Every example becomes a network, and the network the same scene again."""

    def same(self, ours, theirs, frames, but=()):
        """The same nodes with the same values at these frames; parameters in `but` may differ."""
        makers = [{n.name: n for n in graph.nodes if n.name in self.cached(graph)}
                  for graph in (ours, theirs)]
        self.assertEqual(set(makers[0]), set(makers[1]))
        tables_ = {node["name"]: node for node in firn.describe()["nodes"]}
        for name, b in makers[1].items():
            for row in tables_[b.type]["params"]:
                for frame in frames if row["name"] not in but else ():
                    self.same_value(makers[0][name], b, row, frame)

    def cached(self, graph):
        """What the writers read, directly or not: pictures are Houdini's own business."""
        slots = {node["name"]: [i["name"] for i in node["inputs"]]
                 for node in firn.describe()["nodes"]}
        nodes = {node.name: node for node in graph.nodes}
        found, ahead = set(), [n.name for n in graph.nodes if n.type.startswith("write_")]
        while ahead:
            node = nodes[ahead.pop()]
            feeds = {name for slot in slots[node.type] for name in node.inputs(slot)}
            ahead += feeds - found
            found |= feeds
        return found

    def same_value(self, a, b, row, frame):
        where = f"{b.name}.{row['name']} at {frame}"
        if row["type"] == "path":
            paths = [node.path(row["name"]) for node in (a, b)]
            self.assertEqual(*[os.path.abspath(p) if p else "" for p in paths], where)
            return
        x, y = a.get(row["name"], frame), b.get(row["name"], frame)
        if isinstance(y, (float, tuple)):
            x, y = (v if isinstance(v, tuple) else (v,) for v in (x, y))
            for p, q in zip(x, y):
                self.assertAlmostEqual(p, q, delta=1e-6 * max(1, abs(q)), msg=where)
        else:
            self.assertEqual(x, y, where)

    def test_all(self):
        compared = 0
        for path in sorted(SCENES.glob("*.firn")):
            with self.subTest(path.stem):
                self.setUp()
                cache = scene_import.load(str(path), self.parent)
                content = json.loads(path.read_text())
                for quality in (0, 1):
                    cache.parm("shot_quality").set(quality)
                    ours = firn.Graph.loads(self.scene(cache))
                    theirs = firn.Graph.load(str(path))
                    theirs.shot["quality"] = ["preview", "final"][quality]
                    first, last = content["frames"]
                    self.same(ours, theirs, {first, (first + last) // 2, last})
                    for name in ("name", "fps", "first", "last", "version", "comment"):
                        self.assertEqual(ours.shot[name], theirs.shot[name])
                    self.assertEqual(self.links(ours), self.links(theirs))
                    if '"keys"' not in path.read_text():
                        self.assertEqual(ours.hash("solver"), theirs.hash("solver"))
                        compared += 1
        self.assertGreaterEqual(compared, 6)

    def links(self, graph):
        """Who feeds the solvers, in order."""
        return {(node.name, slot): node.inputs(slot) for node in graph.nodes
                if node.type == "solver" for slot in ("sources", "colliders", "material")}

    def test_a_scene_that_one_cache_cannot_hold_is_refused(self):
        content = json.loads((SCENES / "snowball_drop.firn").read_text())
        writer = next(n for n in content["nodes"].values() if n["type"] == "write_particles")
        content["nodes"]["again"] = writer
        path = self.folder / "twice.firn"
        path.write_text(json.dumps(content))
        with self.assertRaisesRegex(Exception, "2 nodes write_particles"):
            scene_import.load(str(path), self.parent)

    def test_the_tutorial_by_hand_is_the_example(self):
        self.session.variables["FEND"] = "60"
        ground = self.add("snow_collider", "ground", friction=0.8)
        layer = self.add("snow_cover", "layer", depth=0.2, center=(0.6, 0.5, 0),
                         half_size=(1.7, 0.6, 1.2), voxel_size=0.04, border=0.5, unevenness=0.05,
                         drifts=0.25, drift_size=1.1, ripples=0.01, ripple_size=0.1,
                         wind_direction=60, stiffness_noise=0.4, density_noise=0.1,
                         noise_scale=0.12, final_values="voxel_size=0.01")
        layer.setInput(0, ground)
        blade = self.add("snow_collider", "blade", rotation=(0, -25, 0), friction=0.1)
        blade.setInput(0, hou.foreign(self.parent, "file", lambda frame: cube(0.05)))
        blade.parm("translationx").setExpression("-0.95 + 2.55*($F-1)/59")
        blade.parm("translationy").set(0.005)
        merge = self.parent.createNode("merge", "merge1")
        merge.setInput(0, blade)
        merge.setInput(1, ground)
        solver = self.add("snow_solver", "solver", cell_size=0.04, sleep_speed=0.01,
                          final_values="cell_size=0.01")
        snow = self.add("snow_material", "snow", jp_min=0.6)
        for index, node in enumerate((layer, merge, snow)):
            solver.setInput(index, node)
        volume = self.add("snow_rasterize", "volume", voxel_size=0.04,
                          final_values="voxel_size=0.01")
        volume.setInput(0, solver)
        cache = self.add("snow_cache", "snowplow", network="../volume")
        ours = firn.Graph.loads(self.scene(cache))
        theirs = firn.Graph.load(str(SCENES / "snowplow.firn"))
        shape = {"shape", "file", "mesh_voxel_size"}
        for quality in ("preview", "final"):
            ours.shot["quality"] = theirs.shot["quality"] = quality
            self.same(ours, theirs, {1, 30, 60}, shape)

    def test_the_shelf_builds_an_example_and_says_when_it_is_missing(self):
        with mock.patch.dict(os.environ, FIRN_SCENES=str(SCENES)):
            cache = scene_import.from_shelf("snowplow")
            self.assertEqual(cache.parent().name(), "snowplow")
            self.assertIsNotNone(hou.node("/obj/snowplow/blade"))
        with mock.patch.dict(os.environ, FIRN_SCENES="/nowhere"):
            with self.assertRaisesRegex(hou.OperationFailed, "FIRN_SCENES"):
                scene_import.from_shelf("snowplow")


if __name__ == "__main__":
    unittest.main()
