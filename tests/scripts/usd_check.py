#!/usr/bin/env python3
"""The files of `firn usd` against USD itself (usd-core) or Blender (bpy), whichever there is.

Usage: usd_check.py BUILD SOURCE
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD, SOURCE = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "plugin/python"))
os.environ["FIRN_LIBRARY"] = str(BUILD / "libfirn.so")
import firn  # noqa: E402


def cook(top):
    """The cache of a small shot with its stage, and (frame, points of the bgeo) by frame."""
    program = BUILD / "firn"
    subprocess.run([program, "new", "snowball_drop", "-o", top / "shot.firn"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([program, "cook", top / "shot.firn", "--frames", "1-4", "--quiet", "--set",
                    "solver.cell_size=0.06", "--set", "particles.format=bgeo"], check=True)
    cache = next((top / "cache").glob("*/v1"))
    subprocess.run([program, "usd", cache], check=True)
    stage = next(p for p in cache.glob("*.usda") if "manifest" not in p.name)
    return cache, stage


def read(cache, frame):
    graph = firn.Graph()
    node = graph.add("read_particles", "cache")
    node["file"] = str(next(cache.glob(f"*.{frame:04d}.bgeo")))
    points = graph.cook(node, frame).particles
    return graph, points


def flat(values):
    return [float(v) for row in values for v in (row if hasattr(row, "__len__") else (row,))]


def check_with_usd(top):
    from pxr import Usd, UsdGeom, UsdUtils, UsdVol
    cache, path = cook(top)
    stage = Usd.Stage.Open(str(path))
    root = stage.GetDefaultPrim()
    assert (UsdGeom.GetStageUpAxis(stage), UsdGeom.GetStageMetersPerUnit(stage)) == ("Y", 1.0)
    particles = UsdGeom.Points(stage.GetPrimAtPath(root.GetPath().AppendChild("particles")))
    for frame in range(1, 5):
        kept, points = read(cache, frame)
        found = particles.GetPointsAttr().Get(frame)
        assert len(found) == points.count > 100, (len(found), points.count)
        assert flat(found) == flat(points["P"])
        assert flat(particles.GetVelocitiesAttr().Get(frame)) == flat(points["v"])
        assert list(particles.GetIdsAttr().Get(frame)) == [int(v) for v in flat(points["id"])]
        widths = flat(particles.GetWidthsAttr().Get(frame))
        assert all(abs(w - 2 * r) < 1e-7 for w, r in zip(widths, flat(points["pscale"])))
        assert particles.GetWidthsInterpolation() == "vertex"
        lower, upper = particles.GetExtentAttr().Get(frame)
        assert all(lower[i] <= p[i] <= upper[i] for p in found for i in range(3))
        mass = UsdGeom.PrimvarsAPI(particles).GetPrimvar("mass")
        assert not mass or len(mass.Get(frame)) == points.count
    volume = UsdVol.Volume(stage.GetPrimAtPath(root.GetPath().AppendChild("volume")))
    fields = volume.GetFieldPaths()
    assert {"density", "vel", "velocity"} <= set(fields), fields
    for name, place in fields.items():
        asset = UsdVol.OpenVDBAsset(stage.GetPrimAtPath(place))
        assert asset.GetFieldDataTypeAttr().Get() in ("half", "float", "half3", "float3"), name
        for frame in range(1, 5):
            assert Path(asset.GetFilePathAttr().Get(frame).resolvedPath).exists(), name
    checker = UsdUtils.ComplianceChecker(skipARKitRootLayerCheck=True)
    checker.CheckCompliance(str(path))
    for kind in ("Errors", "FailedChecks", "Warnings"):
        for line in getattr(checker, f"Get{kind}")():
            print(f"{kind}: {line}")
    assert not checker.GetErrors() and not checker.GetFailedChecks()
    print(f"USD {'.'.join(map(str, Usd.GetVersion()))}: 4 frames of particles and volume equal "
          "those of the cache; the rules of usdchecker hold")


def check_with_blender(top):
    import bpy
    import numpy
    cache, path = cook(top)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert bpy.ops.wm.usd_import(filepath=str(path), import_points=True) == {"FINISHED"}
    scene = bpy.context.scene
    clouds = [o for o in bpy.data.objects if o.type == "POINTCLOUD"]
    volumes = [o for o in bpy.data.objects if o.type == "VOLUME"]
    assert len(clouds) == 1 and len(volumes) == 1, [o.type for o in bpy.data.objects]
    for frame in (1, 3, 4):
        scene.frame_set(frame)
        kept, points = read(cache, frame)
        cloud = clouds[0].evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        place, radius = numpy.empty(3 * len(cloud.points)), numpy.empty(len(cloud.points))
        cloud.attributes["position"].data.foreach_get("vector", place)
        cloud.attributes["radius"].data.foreach_get("value", radius)
        assert len(cloud.points) == points.count, (frame, len(cloud.points), points.count)
        assert numpy.abs(place - numpy.array(flat(points["P"]))).max() < 1e-6, frame
        assert numpy.abs(radius - numpy.array(flat(points["pscale"]))).max() < 1e-6, frame
        names = set(cloud.attributes.keys())
        assert {"velocity", "id"} <= names or {"velocities", "ids"} <= names, names
        grids = volumes[0].data.grids
        assert grids.load() and "density" in grids.keys(), grids.error_message
        assert f".{frame:04d}.vdb" in grids.frame_filepath, grids.frame_filepath
    print(f"Blender {bpy.app.version_string}: particles and volume of the stage in 3 frames")


with tempfile.TemporaryDirectory() as scratch:
    try:
        import pxr  # noqa: F401
        check = check_with_usd
    except ImportError:
        check = check_with_blender
    check(Path(scratch))
