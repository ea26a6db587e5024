#!/usr/bin/env python3
"""Airflow of other programs: a file of velocities drags flakes along, and what is wrong with it.

Usage: cli_wind_test.py FIRN
"""

import struct

import ogawa
import pyopenvdb
from cli_support import Firn, main

AIR = 3.0  # m/s, along X


def shot(air):
    return {"firn": 1, "name": "drift", "fps": 24, "frames": [1, 6], "nodes": {
        "fall": {"type": "snowfall", "params": {"center": [0, 2, 0], "half_size": [0.3, 0.5, 0.3],
                                                "rate": 500, "fall_speed": 1}},
        "air": {"type": "wind", "params": {"fall_speed": 1, **air}},
        "ground": {"type": "collider"},
        "solver": {"type": "solver", "params": {"cell_size": 0.05},
                   "inputs": {"sources": "fall", "colliders": "ground", "forces": "air"}},
        "points": {"type": "write_particles", "inputs": {"particles": "solver"}}}}


class Airflow(Firn):
    def write_air(self, name, speed):
        grid = pyopenvdb.Vec3SGrid()
        grid.fill((-20, 0, -20), (20, 30, 20), (speed, 0.0, 0.0))
        grid.transform = pyopenvdb.createLinearTransform(0.1)
        grid.name = "vel"
        grid.saveFloatAsHalf = True
        pyopenvdb.write(str(self.folder / name), grids=[grid])

    def speeds(self, frame):
        """Velocities along X and Y of all flakes."""
        path = self.folder / "base/drift/v1/drift_v1.abc"
        for part in ogawa.walk(ogawa.parse(path.read_bytes()).top):
            for name, prop in ogawa.walk_props(part.props):
                if name.endswith(".velocities"):
                    data = prop.samples[frame][1]
                    values = struct.unpack(f"<{len(data) // 4}f", data)
                    return values[0::3], values[1::3]
        return self.fail("no velocities")

    def test_flakes_go_with_the_air_of_a_file(self):
        self.write_air("air.vdb", AIR)
        scene = self.write_scene("drift.firn", shot({"file": "air.vdb"}))
        self.firn("check", scene)
        self.firn("cook", scene, "--base", "base", "--quiet")
        # Relative to the air: w' = -k |w| w with k = g / fall_speed^2, from w = (3, 1) on.
        dt, along, down = 1e-5, AIR, 1.0
        for _ in range(int(round(5 / 24 / dt))):
            k = 9.81 * (along * along + down * down) ** 0.5
            along, down = along - dt * k * along, down + dt * (9.81 - k * down)
        found_x, found_y = self.speeds(5)
        grown = [i for i, x in enumerate(found_x) if abs(x - (AIR - along)) < 0.1]
        self.assertGreater(len(grown), 0.5 * len(found_x))  # the others came in later
        self.assertAlmostEqual(sum(found_y[i] for i in grown) / len(grown), -down, delta=0.05)
        self.assertLessEqual(max(found_x), AIR)

    def test_gaps_and_files_without_velocities_are_named(self):
        for frame in (1, 2, 4):
            self.write_air(f"gust.{frame:04d}.vdb", AIR)
        scene = self.write_scene("gap.firn", shot({"file": "gust.$F4.vdb"}))
        self.firn("cook", scene, "--base", "base", "--quiet", code=5)
        self.assertIn("gust.0003.vdb", self.err)
        self.assertIn("missing = hold", self.err)
        self.firn("cook", scene, "--base", "base", "--quiet", "--overwrite", "--frames", "1-4",
                  "--set", "air.missing=hold")
        grid = pyopenvdb.FloatGrid()
        grid.name = "density"
        pyopenvdb.write(str(self.folder / "fog.vdb"), grids=[grid])
        scene = self.write_scene("fog.firn", shot({"file": "fog.vdb"}))
        self.firn("cook", scene, "--base", "fog", "--quiet", code=5)
        self.assertIn("has no velocity", self.err)

    def test_air_without_an_end_is_refused(self):
        grid = pyopenvdb.Vec3SGrid()
        grid.name = "vel"
        grid.fill((-4096, -4096, -4096), (4095, 4095, 4095), (1.0, 0.0, 0.0))
        pyopenvdb.write(str(self.folder / "sky.vdb"), grids=[grid])
        scene = self.write_scene("sky.firn", shot({"file": "sky.vdb"}))
        self.firn("cook", scene, "--base", "base", "--quiet", code=1)
        self.assertIn("clip it to the shot", self.err)

    def test_a_storm_beyond_all_bounds_is_refused(self):
        self.write_air("air.vdb", 1e4)
        scene = self.write_scene("storm.firn", shot({"file": "air.vdb"}))
        self.firn("cook", scene, "--base", "base", "--quiet", code=10)
        self.assertIn("max_speed", self.err)


if __name__ == "__main__":
    main()
