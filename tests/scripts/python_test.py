#!/usr/bin/env python3
"""Tests of the Python package: graphs, cooking, baking, caches, and a library that is not there.

Usage: python_test.py LIBRARY SOURCE_FOLDER
"""

import array
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LIBRARY, ROOT = Path(sys.argv[1]), Path(sys.argv[2])
os.environ["FIRN_LIBRARY"] = str(LIBRARY)
sys.path.insert(0, str(ROOT / "plugin/python"))
sys.dont_write_bytecode = True

import firn  # noqa: E402
from firn import capi  # noqa: E402

SCENE = {
    "firn": 1, "name": "drop", "frames": [1, 4],
    "nodes": {
        "ball": {"type": "snow_source", "params": {"center": [0, 0.3, 0], "radius": 0.1}},
        "ground": {"type": "collider"},
        "solver": {"type": "solver", "params": {"cell_size": 0.04},
                   "inputs": {"sources": ["ball"], "colliders": ["ground"]}},
        "points": {"type": "write_particles", "params": {"format": "bgeo"},
                   "inputs": {"particles": "solver"}},
    },
}


def python(code, **environment):
    """Runs code in a fresh interpreter; its output."""
    result = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT / "plugin/python"),
                                 **environment})
    return result.stdout + result.stderr


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def scene(self):
        graph = firn.Graph.loads(SCENE, folder=self.folder)
        return graph

    def failure(self, function, *arguments, **named):
        with self.assertRaises(firn.FirnError) as caught:
            function(*arguments, **named)
        return caught.exception


class Graphs(Case):
    def test_built_by_calls_equals_loaded(self):
        graph = firn.Graph()
        graph.shot["name"] = "drop"
        graph.shot["last"] = 4
        graph.add("snow_source", "ball", center=(0, 0.3, 0), radius=0.1)
        graph.add("collider", "ground")
        solver = graph.add("solver", "solver", cell_size=0.04)
        solver.connect("ball")
        solver.connect("ground", "colliders")
        graph.add("write_particles", "points", format="bgeo", name="").connect(solver)
        graph.node("points").reset("name")
        self.assertEqual(graph.hash(), self.scene().hash())
        self.assertEqual(graph.to_dict(), self.scene().to_dict())
        self.assertEqual(solver.inputs("sources"), ["ball"])
        self.assertEqual([node.name for node in graph.nodes],
                         ["ball", "ground", "solver", "points"])

    def test_values_come_back_as_they_were_set(self):
        graph = firn.Graph()
        for table in firn.describe()["nodes"]:
            node = graph.add(table["name"], table["name"])
            for row in table["params"]:
                self.assertEqual(node[row["name"]], tuple(row["default"])
                                 if row["type"] == "vec3" else row["default"])
        source = graph.node("snow_source")
        for name, value in [("center", (0.5, -1.25, 3)), ("region", "box"), ("seed", 7),
                            ("start", 0.1), ("file", "snow.obj"), ("jitter", 0.25)]:
            source[name] = value
            self.assertEqual(source[name], value)
        source.reset("seed")
        self.assertEqual(source["seed"], 0)

    def test_final_values_count_in_final_quality_only(self):
        graph = self.scene()
        solver = graph.node("solver")
        solver.set("cell_size", 0.01, final=True)
        self.assertAlmostEqual(solver["cell_size"], 0.04)
        graph.shot["quality"] = "final"
        self.assertAlmostEqual(solver["cell_size"], 0.01)

    def test_keys_are_kept_and_evaluated(self):
        ground = self.scene().node("ground")
        keys = [(1.0, (0.0, 0.0, 0.0)), (3.0, (0.0, 1.0, 0.0))]
        ground.set_keys("translation", keys)
        self.assertEqual(ground.keys("translation"), (keys, "linear"))
        self.assertEqual(ground.get("translation", 2), (0.0, 0.5, 0.0))
        self.assertIsNone(ground.keys("friction"))

    def test_save_and_load(self):
        graph = self.scene()
        graph.node("ball").ui = {"place": [1, 2]}
        path = self.folder / "drop.firn"
        graph.save(path)
        again = firn.Graph.load(path)
        self.assertEqual(again.to_dict(), graph.to_dict())
        self.assertEqual(again.node("ball").ui, {"place": [1, 2]})

    def test_describe_is_what_the_program_says(self):
        printed = subprocess.run([firn.program_path(), "describe", "--json"],
                                 capture_output=True, check=True).stdout
        self.assertEqual(firn.describe(), json.loads(printed))

    def test_rename_remove_unlink(self):
        graph = self.scene()
        graph.rename("ball", "lump")
        self.assertEqual(graph.node("solver").inputs("sources"), ["lump"])
        graph.unlink("lump", "solver")
        self.assertEqual(graph.node("solver").inputs("sources"), [])
        graph.remove("lump")
        with self.assertRaises(firn.FirnError):
            graph.node("lump")


class Errors(Case):
    def test_name_node_and_parameter(self):
        ball = self.scene().node("ball")
        error = self.failure(ball.set, "radios", 1)
        self.assertEqual((error.node, error.param), ("ball", "radios"))
        self.assertIn("radius", error.message)
        self.assertEqual(self.failure(ball.set, "radius", -1).code, "argument")

    def test_problems_name_node_and_parameter(self):
        graph = self.scene()
        graph.node("ground")["shape"] = "mesh"
        graph.node("ground")["file"] = "nowhere.obj"
        found = [(p.level, p.code, p.node, p.param) for p in graph.problems()]
        self.assertIn(("error", "not_found", "ground", "file"), found)
        error = self.failure(graph.validate)
        self.assertEqual((error.node, error.param), ("ground", "file"))

    def test_a_cook_names_its_node(self):
        graph = self.scene()
        graph.node("ground")["shape"] = "mesh"
        graph.node("ground")["file"] = str(self.folder / "broken.abc")
        (self.folder / "broken.abc").write_bytes(b"not an archive")
        error = self.failure(graph.cook, "solver", 1)
        self.assertEqual((error.node, error.code), ("ground", "format"))
        error = self.failure(graph.bake)
        self.assertEqual((error.node, error.code), ("ground", "format"))

    def test_links_of_another_kind_are_refused(self):
        error = self.failure(self.scene().link, "ground", "solver", "sources")
        self.assertEqual(error.node, "solver")

    def test_a_path_is_no_graph_and_a_closed_graph_says_so(self):
        with self.assertRaisesRegex(TypeError, "Graph.load"):
            firn.Graph("shot.firn")
        graph = self.scene()
        graph.close()
        for use in (graph.problems, graph.estimate, lambda: graph.cook("solver", 1),
                    lambda: graph.shot["last"], graph.dumps):
            self.assertEqual(self.failure(use).message, "the graph is closed")
        graph.close()

    def test_a_file_that_is_no_scene(self):
        path = self.folder / "bad.firn"
        path.write_text('{"firn": 1, "nodes": {"a": {"type": "snow_sauce"}}}')
        self.assertIn("snow_source", self.failure(firn.Graph.load, path).message)


class Cooking(Case):
    def test_particles_are_arrays(self):
        graph = self.scene()
        output = graph.cook("solver", 2)
        points = output.particles
        self.assertEqual(output.kind, "particles")
        self.assertEqual(points.count, output.stats["particles"])
        self.assertEqual(len(points["P"][0]), 3)
        self.assertEqual(len(set(points["id"].memory)), points.count)
        with self.assertRaises(IndexError):
            points["P"][points.count]

    def test_numpy_sees_the_same_memory(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not there")
        points = self.scene().cook("solver", 1).particles
        positions = numpy.asarray(points["P"])
        self.assertEqual(positions.shape, (points.count, 3))
        self.assertEqual(positions.dtype, numpy.float32)
        self.assertEqual(positions.__array_interface__["data"][0],
                         points["P"].__array_interface__["data"][0])
        self.assertLess(abs(positions - (0, 0.3, 0)).max(), 0.11)

    def test_volumes_hold_the_mass(self):
        graph = self.scene()
        graph.add("rasterize", "volume", voxel_size=0.04).connect("solver")
        mass = sum(graph.cook("solver", 1).particles["mass"].memory)
        volume = graph.cook("volume", 1).volume
        self.assertAlmostEqual(sum(volume.density.memory) * 0.04**3, mass, delta=1e-3 * mass)

    def test_only_what_changed_cooks_again(self):
        graph = self.scene()
        graph.cook("solver", 1)
        graph.cook("solver", 1)
        self.assertEqual(graph.cook_count("solver"), 1)

    def test_progress_can_stop(self):
        graph = self.scene()
        with self.assertRaises(firn.FirnError) as caught:
            graph.cook("solver", 3, on_progress=lambda report: firn.STOP)
        self.assertEqual(caught.exception.code, "cancelled")

    def test_an_exception_in_a_callback_comes_out(self):
        def fail(*_):
            raise KeyError("mine")
        with self.assertRaises(KeyError):
            self.scene().cook("solver", 3, on_progress=fail)
        with self.assertRaises(KeyError):
            self.scene().bake(on_frame=fail)


class Baking(Case):
    def files(self, folder):
        return {path.name: path.read_bytes() for path in Path(folder).glob("*.bgeo")}

    def test_cache_is_complete_and_known_when_stale(self):
        graph = self.scene()
        self.assertEqual(graph.cache_state, "none")
        frames, seen = [], set()
        graph.bake(on_frame=lambda frame, skipped, stats: frames.append((frame, skipped)),
                   on_progress=lambda report: seen.add(report.node))
        self.assertEqual(frames, [(n, False) for n in range(1, 5)])
        self.assertIn("solver", seen)
        self.assertEqual(graph.cache_state, "complete")
        cache = graph.cache
        self.assertEqual(sorted(cache.frames), [1, 2, 3, 4])
        self.assertEqual(cache.frames[2].stats["particles"],
                         graph.cook("solver", 2).particles.count)
        self.assertTrue(Path(cache.file("points", 3).path).is_file())
        self.assertEqual(cache.damaged(), [])
        graph.node("ball")["radius"] = 0.12
        self.assertEqual(graph.cache_state, "stale")
        self.assertEqual(self.failure(graph.bake).code, "exists")
        self.assertEqual(self.failure(lambda: graph.bake(resume=True)).code, "stale")
        with self.assertRaises(firn.FirnError):
            graph.bake(overwrite=True,
                       on_progress=lambda report: firn.STOP if report.frame == 3 else None)
        self.assertEqual((graph.cache_state, sorted(graph.cache.frames),
                          sorted(graph.cache.other_frames)), ("partial", [1, 2], [3, 4]))

    def test_arrays_come_straight_from_files(self):
        graph = self.scene()
        graph.bake()
        path = next(Path(graph.cache_folder).glob("*.0003.bgeo"))
        points = firn.read_particles(path)
        cooked = graph.cook("solver", 3).particles
        self.assertEqual(points["P"].tobytes(), cooked["P"].tobytes())
        self.assertEqual(self.failure(firn.read_particles, self.folder / "no.bgeo").code,
                         "not_found")

    def test_later_stages_come_from_the_cache(self):
        graph = self.scene()
        graph.add("rasterize", "raster", voxel_size=0.05).connect("solver")
        graph.add("write_volume", "volume").connect("raster")
        graph.bake(only="points")
        self.assertEqual(graph.cache_state, "partial")
        cooked = graph.cook("solver", 1)  # something else in memory
        graph.bake(from_cache=True, first=3, last=4)
        graph.bake(from_cache=True, only=["volume"])
        self.assertEqual(graph.cache_state, "complete")
        self.assertEqual(self.failure(graph.bake, only="nobody").code, "argument")
        self.assertIsNotNone(cooked)

    def test_what_a_shot_takes_is_known_before(self):
        graph = self.scene()
        estimate = graph.estimate()
        self.assertEqual((estimate["frames"], estimate["written"]), (4, 4))
        count = graph.cook("solver", 1).particles.count
        self.assertLess(abs(estimate["particles"] - count), 0.05 * count)
        self.assertGreater(estimate["disk_bytes"], 4 * 12 * count)
        # A picture counts when it is made, with the grains in it.
        graph.add("fine_particles", "grains", children=50)
        graph.add("render", "picture", width=640, height=360, cook=False)
        graph.link("solver", "grains", "particles")
        graph.link("grains", "picture", "particles")
        graph.add("rasterize", "drawn", voxel_size=0.1)
        graph.link("solver", "drawn", "particles")
        graph.link("drawn", "picture", "volume")
        idle = graph.estimate()
        self.assertLess(abs(idle["memory_bytes"] - estimate["memory_bytes"]), 20e6)
        self.assertAlmostEqual(idle["disk_bytes"], estimate["disk_bytes"])
        graph.node("picture").set("cook", True)
        shown = graph.estimate()
        grains = 50 * shown["particles"]
        self.assertGreater(shown["memory_bytes"] - idle["memory_bytes"], 100 * grains)
        self.assertGreater(shown["disk_bytes"], idle["disk_bytes"])
        graph.remove("picture")
        self.assertEqual(graph.check_inputs(), [])
        (self.folder / "bad.obj").write_text("v 0 0 z\n")
        graph.node("ball").set("region", "mesh")
        graph.node("ball").set("file", str(self.folder / "bad.obj"))
        (node, code, message), = graph.check_inputs(all_frames=True)
        self.assertEqual((node, code), ("ball", "format"))
        self.assertIn("line 1", message)

    def test_a_wedge_cooks_each_variant_and_tells_about_all(self):
        graph = self.scene()
        wedge = graph.wedge("ball.velocity=0 -1 0,0 -2 0", "ground.friction=0:0.5:2")
        self.assertEqual(len(wedge), 4)
        self.assertEqual(wedge[2], {"ball.velocity": "0 -2 0", "ground.friction": "0"})
        for variant in (0, 3):
            wedge.bake(variant, last=2)
            self.assertTrue(graph.cache_folder.endswith(f"/w{variant}"))
            self.assertEqual(sorted(graph.cache.frames), [1, 2])
        self.assertEqual(graph.node("ground").get("friction"), 0.5)
        with self.assertRaises(firn.FirnError) as caught:
            wedge.bake(3, last=2)
        self.assertEqual(caught.exception.code, "exists")
        wedge.bake(3, last=2, resume=True)
        home = Path(graph.cache_folder).parent
        table = (home / "wedges.csv").read_text().splitlines()
        self.assertEqual([row.split(",")[-2] for row in table[1:]],
                         ["done", "waiting", "waiting", "done"])
        wedge.sheet()
        self.assertEqual((home / "contact_sheet.png").read_bytes()[1:4], b"PNG")
        for folder in (home, graph.cache_folder):
            firn.report(folder, self.folder / "page.html")
            self.assertIn("</html>", (self.folder / "page.html").read_text())
        for words in (["ball.radios=1,2"], ["ball.radius"], ["name=a,b"], []):
            with self.assertRaises(firn.FirnError):
                graph.wedge(*words).apply(0)
        with self.assertRaises(firn.FirnError):
            wedge.apply(4)

    def test_damage_is_found_and_mended(self):
        graph = self.scene()
        graph.bake()
        whole = self.files(graph.cache_folder)
        Path(graph.cache.file("points", 2).path).write_bytes(b"damaged")
        self.assertEqual([file.name for file, _ in graph.cache.damaged()], ["drop_v1.0002.bgeo"])
        graph.bake(resume=True)
        self.assertEqual(self.files(graph.cache_folder), whole)

    def test_stopped_and_resumed_equals_whole(self):
        graph = self.scene()
        graph.bake()
        whole = self.files(graph.cache_folder)
        graph.shot["version"] = 2
        with self.assertRaises(firn.FirnError) as caught:
            graph.bake(on_progress=lambda report: firn.STOP if report.frame == 3 else None)
        self.assertEqual(caught.exception.code, "cancelled")
        self.assertEqual(graph.cache_state, "partial")
        graph.bake(resume=True)
        again = self.files(graph.cache_folder)
        self.assertEqual([whole[name] for name in sorted(whole)],
                         [again[name] for name in sorted(again)])

    def test_a_process_bakes_the_same(self):
        graph = self.scene()
        graph.bake()
        whole = self.files(graph.cache_folder)
        graph.save(self.folder / "drop.firn")
        bake = firn.BakeProcess(self.folder / "drop.firn")
        self.assertEqual(bake.wait(120), 11)
        self.assertIn("has a cache already", bake.failure)
        bake = firn.BakeProcess(self.folder / "drop.firn", overwrite=True)
        self.assertEqual(bake.wait(120), 0)
        self.assertEqual((bake.frames_done, bake.failure), ([1, 2, 3, 4], ""))
        self.assertEqual(self.files(graph.cache_folder), whole)

    def test_a_process_can_be_cancelled(self):
        graph = self.scene()
        graph.shot["last"] = 2000
        graph.save(self.folder / "drop.firn")
        bake = firn.BakeProcess(self.folder / "drop.firn")
        while bake.running and not bake.frames_done:
            time.sleep(0.02)
        bake.cancel()
        bake.cancel()  # patience: a second signal would end it without a checkpoint
        self.assertEqual(bake.wait(120), 130)
        self.assertEqual(graph.cache_state, "partial")

    def test_a_process_whose_host_is_gone_leaves_a_checkpoint(self):
        graph = self.scene()
        graph.shot["last"] = 2000
        graph.save(self.folder / "drop.firn")
        command = [firn.program_path(), "cook", self.folder / "drop.firn", "--log-json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as bake:
            while b'"event": "frame"' not in bake.stdout.readline():
                self.assertIsNone(bake.poll())
            bake.stdout.close()
            bake.stderr.close()
            self.assertEqual(bake.wait(120), 130)
        self.assertTrue(any(Path(graph.cache_folder, "checkpoints").iterdir()))

    def test_a_volume_says_how_it_wants_to_be_shaded(self):
        graph = firn.Graph.loads(SCENE, folder=self.folder)
        graph.shot["last"] = 1
        graph.add("rasterize", "volume").connect("solver")
        graph.add("write_volume", "files", albedo=(0.5, 0.25, 0.75),
                  anisotropy=0.25).connect("volume")
        graph.bake()
        found = firn.volume_metadata(graph.cache.file("files", 1).path)
        self.assertEqual((found["albedo"], found["g"], found["up_axis"]),
                         ([0.5, 0.25, 0.75], 0.25, "y"))
        (self.folder / "no.vdb").write_bytes(b"no volume")
        with self.assertRaises(firn.FirnError):
            firn.volume_metadata(self.folder / "no.vdb")

    def test_a_process_names_what_failed(self):
        graph = self.scene()
        (self.folder / "broken.obj").write_text("v 0 0\nf 1 2 3\n")
        graph.node("ground")["shape"] = "mesh"
        graph.node("ground")["file"] = str(self.folder / "broken.obj")
        graph.save(self.folder / "drop.firn")
        bake = firn.BakeProcess(self.folder / "drop.firn")
        self.assertNotEqual(bake.wait(120), 0)
        self.assertEqual(bake.failed_node, "ground")
        self.assertIn("broken.obj", bake.failure)

    def test_a_source_that_the_solver_cannot_fill_is_named(self):
        graph = firn.Graph.loads(SCENE, folder=self.folder)
        graph.add("snow_source", "speck", radius=1e-3)
        graph.node("solver").connect("speck")
        with self.assertRaisesRegex(firn.FirnError, "speck, frame 1: .* no particle") as failed:
            graph.cook("solver", 2)
        self.assertEqual(failed.exception.node, "speck")


class Meshes(Case):
    def test_a_written_mesh_collides(self):
        path = self.folder / "box.abc"
        points, faces = [], [0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4, 2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5]
        with firn.MeshWriter(path, "box", fps=24, first_frame=1) as writer:
            for frame in range(4):
                points = array.array("f")
                for corner in range(8):
                    points.extend((0.2 * (1 if corner & 4 else -1),
                                   0.2 * (1 if corner & 2 else -1) + 0.01 * frame,
                                   0.2 * (1 if corner & 1 else -1)))
                writer.put(points, array.array("i", [4] * 6), array.array("i", faces))
        graph = firn.Graph.loads(SCENE, folder=self.folder)
        ground = graph.node("ground")
        for name, value in [("shape", "mesh"), ("file", "box.abc"), ("deforming", True),
                            ("mesh_voxel_size", 0.02)]:
            ground[name] = value
        heights = [p for p in graph.cook("solver", 4).particles["P"].memory[1::3]]
        self.assertGreater(min(heights), 0.2, "the snow lies on the box")

    def test_a_written_mesh_is_read_back(self):
        path = self.folder / "corner.abc"
        points = array.array("f", (0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1))
        faces = array.array("i", (0, 1, 2, 0, 2, 3))
        with firn.MeshWriter(path, "corner", fps=24, first_frame=0) as writer:
            for frame in range(2):
                writer.put(points, array.array("i", (3, 3)), faces)
                points = array.array("f", (x + 0.25 for x in points))
        found = firn.Mesh(path, 0.5 / 24)
        self.assertEqual(found.positions[1], (1.125, 0.125, 0.125))
        self.assertEqual(found.velocities[3], (6, 6, 6))
        self.assertEqual(list(found.face_counts), [3, 3])
        corners = list(found.face_indices)
        self.assertEqual([sorted(corners[:3]), sorted(corners[3:])], [[0, 1, 2], [0, 2, 3]])
        self.assertEqual(firn.Mesh(path, 0, "corner").positions[1], (1, 0, 0))
        for bad, pattern in ((path, "nobody"), (self.folder / "none.abc", "")):
            with self.assertRaisesRegex(firn.FirnError, "nobody|none.abc"):
                firn.Mesh(bad, 0, pattern)

    def test_an_abandoned_mesh_leaves_no_file(self):
        with self.assertRaises(ValueError):
            with firn.MeshWriter(self.folder / "a.abc", "a", fps=24, first_frame=1):
                raise ValueError
        self.assertEqual(list(self.folder.iterdir()), [])


class Library(Case):
    def test_structures_lie_as_the_compiler_has_them(self):
        """Every structure that Python mirrors has the sizes and offsets of the headers."""
        lines = []
        for name, mirror in capi.MIRRORS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for field, *_ in mirror._fields_:
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
        headers = ["shot.h", "abc.h", "abc_write.h", "vdb.h"]
        source = "".join(f'#include "firn/{header}"\n' for header in headers)
        source += "#include <stdio.h>\nint main(void) {" + "\n".join(lines) + "return 0;}\n"
        (self.folder / "layout.c").write_text(source)
        includes = sorted({f"-I{p.parent.parent}" for p in ROOT.glob("*/**/include/firn/*.h")})
        includes += [f"-I{ROOT / 'core/include'}", f"-I{ROOT / 'vdb_bridge/include'}"]
        program = str(self.folder / "layout")
        subprocess.run(["cc", "-std=c11", *includes, str(self.folder / "layout.c"), "-o", program,
                        str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
        found = dict(line.split() for line in
                     subprocess.run([program], capture_output=True, text=True,
                                    check=True).stdout.splitlines())
        for name, mirror in capi.MIRRORS.items():
            self.assertEqual(int(found[name]), capi.ctypes.sizeof(mirror), name)
            for field, *_ in mirror._fields_:
                self.assertEqual(int(found[f"{name}.{field}"]), getattr(mirror, field).offset,
                                 f"{name}.{field}")

    def test_version_is_that_of_the_headers(self):
        header = (ROOT / "core/include/firn/base.h").read_text()
        self.assertIn(f'#define FIRN_VERSION "{firn.VERSION}"', header)

    def test_threads_that_wait_do_not_spin_for_long(self):
        code = "import firn, os; firn.describe(); print(os.environ.get('GOMP_SPINCOUNT'))"
        for own, spins in (({}, "2000"), ({"OMP_WAIT_POLICY": "passive"}, "0")):
            environment = {name: value for name, value in os.environ.items()
                           if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
            environment.update(own, OMP_DISPLAY_ENV="verbose",
                               PYTHONPATH=str(ROOT / "plugin/python"))
            done = subprocess.run([sys.executable, "-B", "-c", code], env=environment,
                                  capture_output=True, text=True)
            if "GOMP_SPINCOUNT" not in done.stderr:
                self.skipTest("another OpenMP")
            self.assertIn(f"GOMP_SPINCOUNT = '{spins}'", done.stderr)
            self.assertEqual(done.stdout.strip(), "None")  # nothing is left to other programs

    def test_a_missing_library_is_explained(self):
        said = python("import firn\ntry:\n firn.load()\nexcept firn.FirnError as e:\n"
                      " print(e.code, e.message)", FIRN_LIBRARY="/nowhere/libfirn.so")
        self.assertIn("not_found", said)
        self.assertIn("/nowhere/libfirn.so", said)
        self.assertNotIn("Traceback", said)

    def test_a_damaged_or_foreign_library_is_explained(self):
        (self.folder / "libfirn.so").write_bytes(b"\x7fELF nonsense")
        (self.folder / "other.c").write_text('const char *firn_version(void) { return "9.9"; }')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.folder / "other.so",
                        self.folder / "other.c"], check=True)
        for name, expected in [("libfirn.so", "cannot be loaded"), ("other.so", "is 9.9")]:
            said = python("import firn\ntry:\n firn.Graph()\nexcept firn.FirnError as e:\n"
                          " print(e.code, e.message)", FIRN_LIBRARY=str(self.folder / name))
            self.assertIn("unsupported", said)
            self.assertIn(expected, said)


unittest.main(argv=sys.argv[:1], verbosity=1)
