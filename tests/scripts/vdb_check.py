#!/usr/bin/python3
"""Exchanges files between the bridge and pyopenvdb: each reads what the other wrote.

Usage: vdb_check.py path/to/vdb_exchange
"""
import math
import subprocess
import sys
import tempfile

import pyopenvdb as vdb

H = 0.1  # m, voxel edge of the files written here
BAND = 3 * H


def run(*arguments):
    result = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{arguments}: {result.stdout}{result.stderr}")
    return result.stdout


def velocity(p):
    return (1 + 2 * p[0], 3 - p[1], p[0] + p[2])


def voxels(reach=9):
    span = range(-reach, reach + 1)
    return [(i, j, k) for i in span for j in span for k in span]


def ball(transform, center=(0, 0, 0), name="surface", half=False,
         grid_class=vdb.GridClass.LEVEL_SET):
    grid = vdb.FloatGrid(BAND)
    grid.name, grid.gridClass, grid.transform = name, grid_class, transform
    grid.saveFloatAsHalf = half
    accessor = grid.getAccessor()
    middle = [round(c) for c in transform.worldToIndex(center)]
    for ijk in voxels():
        ijk = tuple(a + b for a, b in zip(ijk, middle))
        d = math.dist(transform.indexToWorld(ijk), center) - 0.5
        if abs(d) < BAND:
            accessor.setValueOn(ijk, d)
        elif d < 0:
            accessor.setValueOff(ijk, -BAND)
    return grid


def vectors(transform, name="vel", staggered=False):
    grid = vdb.Vec3SGrid()
    grid.name, grid.transform = name, transform
    if staggered:
        grid.gridClass = vdb.GridClass.STAGGERED
    accessor = grid.getAccessor()
    for ijk in voxels(10):
        if staggered:  # component i stands half a voxel below the center along axis i
            v = []
            for axis in range(3):
                at = list(ijk)
                at[axis] -= 0.5
                v.append(velocity(transform.indexToWorld(at))[axis])
        else:
            v = velocity(transform.indexToWorld(ijk))
        accessor.setValueOn(ijk, tuple(v))
    return grid


def scalars(name, faces):
    grids = []
    for axis in range(3):
        transform = vdb.createLinearTransform(voxelSize=H)
        if faces:
            offset = [0.0, 0.0, 0.0]
            offset[axis] = -0.5 * H
            transform.translate(offset)
        grid = vdb.FloatGrid()
        grid.name, grid.transform = f"{name}.{'xyz'[axis]}", transform
        accessor = grid.getAccessor()
        for ijk in voxels(10):
            accessor.setValueOn(ijk, velocity(transform.indexToWorld(ijk))[axis])
        grids.append(grid)
    return grids


def write_for_bridge(folder):
    plain = vdb.createLinearTransform(voxelSize=H)
    write = lambda name, *grids: vdb.write(f"{folder}/{name}.vdb", grids=list(grids))
    write("plain", ball(plain))
    write("half", ball(plain, half=True))
    write("odd_name", ball(plain, name="char_geo"), vectors(plain, "other"))
    write("two", ball(plain, name="first"), ball(plain, name="second"))
    write("unclassified", ball(plain, grid_class=vdb.GridClass.UNKNOWN))
    rotated = vdb.createLinearTransform(voxelSize=H)
    rotated.rotate(0.7, vdb.Axis.X if hasattr(vdb, "Axis") else 0)
    rotated.translate((3, -1, 2))
    write("rotated", ball(rotated, center=(3, -1, 2)))
    write("cell", ball(plain), vectors(plain))
    write("cell_v", ball(plain), vectors(plain, "v"))
    write("velocity", ball(plain), vectors(plain, "velocity"))
    write("staggered", ball(plain), vectors(plain, staggered=True))
    write("triple", ball(plain), *scalars("vel", faces=False))
    write("triple_face", ball(plain), *scalars("vel", faces=True))
    tile = vdb.Vec3SGrid()
    tile.name, tile.transform = "vel", plain
    tile.fill((-4096, -4096, -4096), (4095, 4095, 4095), (0, 2.5, 0))
    write("tile", ball(plain), tile)

    stretched = vdb.createLinearTransform(
        [[H, 0, 0, 0], [0, 2 * H, 0, 0], [0, 0, H, 0], [0, 0, 0, 1]])
    mirrored = vdb.createLinearTransform([[-H, 0, 0, 0], [0, H, 0, 0], [0, 0, H, 0], [0, 0, 0, 1]])
    frustum = vdb.createFrustumTransform((0, 0, 0), (10, 10, 10), 0.5, 10, H)
    for name, transform in (("stretched", stretched), ("mirrored", mirrored), ("frustum", frustum)):
        grid = vdb.FloatGrid(BAND)
        grid.name, grid.gridClass, grid.transform = "surface", vdb.GridClass.LEVEL_SET, transform
        grid.getAccessor().setValueOn((1, 2, 3), 0.1)
        write(name, grid)
    zero = vdb.FloatGrid(0.0)
    zero.name, zero.gridClass, zero.transform = "surface", vdb.GridClass.LEVEL_SET, plain
    write("zero_background", zero)
    bad = ball(plain)
    bad.getAccessor().setValueOn((4, 4, 4), float("nan"))
    write("nan", bad)
    write("empty")


def check_refusals(folder):
    expected = {
        "stretched": ("not supported", "uniform scale"),
        "mirrored": ("not supported", "mirrored"),
        "frustum": ("not supported", "frustum"),
        "two": ("invalid value", "several grids"),
        "zero_background": ("damaged", "background"),
        "nan": ("damaged", "not finite"),
        "empty": ("not found", "no grids"),
    }
    for name, words in expected.items():
        message = run("refuse", f"{folder}/{name}.vdb")
        for word in words:
            assert word in message, f"{name}: '{word}' is not in '{message}'"


def expected_density(ijk):
    leaf_n = (ijk[0] & 7) * 64 + (ijk[1] & 7) * 8 + (ijk[2] & 7)
    return abs(100 + 50 * (ijk[0] + ijk[1]) + leaf_n % 7) + 1


def check_metadata(folder):
    meta = vdb.readMetadata(f"{folder}/blosc.vdb")
    assert meta["software"] == "Firn" and meta["frame"] == 7 and meta["fps"] == 24, meta
    assert meta["units"] == "m kg s" and meta["up_axis"] == "y", meta
    for name, unit, sigma in (("blosc", "relative", 724), ("none", "kg/m^3", 724 / 400)):
        for source in (vdb.readMetadata(f"{folder}/{name}.vdb"),
                       vdb.readGridMetadata(f"{folder}/{name}.vdb", "density").metadata):
            assert source["density_units"] == unit, source
            assert source["density_ref_kg_m3"] == 400, source
            assert math.isclose(source["sigma_t_per_density"], sigma, rel_tol=1e-6), source
            assert all(math.isclose(a, b, rel_tol=1e-6)
                       for a, b in zip(source["albedo"], (0.9, 0.95, 1.0)))
            assert source["g"] == 0.5, source


def check_grids(folder):
    for name, half, scale in (("blosc", True, 400), ("zip", False, 400), ("none", False, 1)):
        grids = {g.name: g for g in vdb.readAll(f"{folder}/{name}.vdb")[0]}
        assert set(grids) == {"density", "vel", "compaction", "surface"}, grids
        assert grids["density"].gridClass == vdb.GridClass.FOG_VOLUME
        assert grids["surface"].gridClass == vdb.GridClass.LEVEL_SET
        assert grids["vel"].vectorType == "contravariant relative", grids["vel"].vectorType
        tolerance = 6e-4 if half else 1e-6
        count = 0
        for item in grids["density"].citerOnValues():
            count += 1
            center = tuple(0.05 * (c + 0.5) for c in item.min)
            found = grids["density"].transform.indexToWorld(item.min)
            assert math.dist(center, found) < 1e-6
            assert math.isclose(item.value * scale, expected_density(item.min), rel_tol=tolerance)
            v = grids["vel"].getConstAccessor().getValue(item.min)
            assert math.dist(v, velocity(center)) < 8 * tolerance, (v, velocity(center))
        assert count == grids["vel"].activeVoxelCount() > 1000
        surface = grids["surface"]
        assert math.isclose(surface.background, 0.15, rel_tol=tolerance)
        band = 0
        for item in surface.citerOnValues():
            at = surface.transform.indexToWorld(item.min)
            assert abs(math.dist(at, (3, -1, 2)) - 0.5 - item.value) < 1e-4
            band += 1
        assert band > 1000
        accessor = surface.getConstAccessor()
        inside = ((0, 0, 0), (130, 1, 2), (300, 200, 5), (5000, 9, -50))
        assert all(accessor.getValue(c) < 0 for c in inside)


def check_tools(folder):
    text = subprocess.run(["vdb_print", "-l", f"{folder}/blosc.vdb"], capture_output=True,
                          text=True).stdout
    for word in ("density", "fog volume", "vel", "contravariant relative", "surface", "level set",
                 "sigma_t_per_density", "blosc + active values", "is_saved_as_half_float"):
        assert word in text, f"{word} is not in:\n{text}"
    text = subprocess.run(["vdb_print", f"{folder}/points.vdb"], capture_output=True,
                          text=True).stdout
    assert "points" in text and "ptdataidx32" in text, text


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_for_bridge(folder)
        print(run("read", folder), end="")
        check_refusals(folder)
    with tempfile.TemporaryDirectory() as folder:
        run("write", folder)
        check_metadata(folder)
        check_grids(folder)
        check_tools(folder)


main()
