"""A small grid on which renderers are compared: a ball with bumps on a slab of snow.

    /usr/bin/python3 tests/scripts/render_grid.py grid.vdb

One voxel is 1 cm; density is relative, 1 within, with a boundary one voxel wide."""
import sys

import numpy as np
import pyopenvdb as vdb

EDGE = 64


def density():
    x, y, z = np.meshgrid(*[np.arange(EDGE) - EDGE / 2 + 0.5] * 3, indexing="ij")
    radius = np.sqrt(x * x + y * y + z * z)
    bumps = 1.5 * np.sin(0.45 * x) * np.sin(0.4 * y + 1.0) * np.sin(0.5 * z)
    ball = radius - 17.0 - bumps
    slab = np.maximum(np.maximum(np.abs(x), np.abs(z)) - 27.0, np.abs(y + 21.0) - 6.0)
    return np.clip(0.5 - np.minimum(ball, slab), 0.0, 1.0).astype(np.float32)


def main():
    grid = vdb.FloatGrid()
    grid.copyFromArray(density(), ijk=(-EDGE // 2,) * 3)
    grid.name = "density"
    grid.gridClass = vdb.GridClass.FOG_VOLUME
    grid.transform = vdb.createLinearTransform(0.01)
    grid.transform.translate((0.005, 0.005, 0.005))
    shading = {"density_units": "relative", "density_ref_kg_m3": 400.0,
               "sigma_t_per_density": 724.0, "albedo": (0.9, 0.95, 1.0), "g": 0.5}
    for key, value in shading.items():
        grid[key] = value
    grid.prune()
    vdb.write(sys.argv[1], grids=[grid], metadata=dict(shading, up_axis="y"))


main()
