"""Geometry of Houdini on its way into a scene: what it is, which file it becomes, whether it is
still the one that was saved."""

import json
import os
import zlib

import hou

from . import Problem

FOLDER = "input"
PRINTS = "fingerprints.json"
PACKED = ("PackedGeometry", "PackedFragment", "PackedDisk")


def kind_of(geometry, node):
    """How Firn takes this geometry: alembic, level_set or mesh."""
    if geometry.containsPrimType("AlembicRef"):
        return "alembic"
    if geometry.containsPrimType("VDB"):
        return "level_set"
    if any(geometry.containsPrimType(name) for name in PACKED):
        raise Problem(f"{node.path()}: the input is packed; unpack it first")
    if geometry.containsPrimType("Volume"):
        raise Problem(f"{node.path()}: the input is a volume; convert it to VDB first")
    if geometry.intrinsicValue("primitivecount") == 0:
        raise Problem(f"{node.path()}: the input has no polygons and no VDB")
    return "mesh"


def alembic_source(geometry, node):
    """File and object path of packed Alembic primitives."""
    prims = geometry.prims()
    files = {prim.intrinsicValue("abcfilename") for prim in prims}
    objects = {prim.intrinsicValue("abcobjectpath") for prim in prims}
    if len(files) != 1:
        raise Problem(f"{node.path()}: the input mixes several Alembic files; unpack it")
    return files.pop(), objects.pop() if len(objects) == 1 else ""


def fingerprint(geometry):
    """A number that changes with the geometry; much cheaper than saving it."""
    counts = [geometry.intrinsicValue(name) for name in
              ("pointcount", "primitivecount", "vertexcount")]
    data = zlib.crc32(json.dumps(counts).encode())
    data = zlib.crc32(geometry.pointFloatAttribValuesAsString("P"), data)
    if geometry.containsPrimType("VDB"):
        for prim in geometry.primsOfType(hou.primType.VDB):
            words = [prim.attribValue("name"), prim.activeVoxelCount(), list(prim.resolution())]
            data = zlib.crc32(json.dumps(words).encode(), data)
    return data


class Saved:
    """A file that a scene takes from the input of a node, for one frame or for many."""

    def __init__(self, node, index, name, ending, frames):
        self.node, self.index, self.frames = node, index, frames
        middle = ".%04d" if len(frames) > 1 else ""
        self.pattern = f"{FOLDER}/{name}{middle}.{ending}"

    def path(self, frame):
        return self.pattern % frame if "%" in self.pattern else self.pattern

    def key(self, frame):
        return self.path(self.nearest(frame))

    def nearest(self, frame):
        return min(max(frame, self.frames[0]), self.frames[-1])

    def geometry(self, frame):
        return self.node.inputGeometryAtFrame(self.nearest(frame), self.index)


def read_prints(folder):
    try:
        with open(os.path.join(folder, FOLDER, PRINTS), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def replace(path, text):
    """Writes a small file whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def changed(saved, folder, frame):
    """The inputs that differ at this frame from what is saved."""
    prints = read_prints(folder)
    return [item for item in saved
            if prints.get(item.key(frame)) != fingerprint(item.geometry(frame))]


def save_all(saved, folder, progress):
    """Saves what is missing or has changed; progress(fraction) may raise to stop."""
    if not saved:
        return
    os.makedirs(os.path.join(folder, FOLDER), exist_ok=True)
    prints = read_prints(folder)
    work = [(item, frame) for item in saved for frame in item.frames]
    for number, (item, frame) in enumerate(work):
        progress(number / len(work))
        geometry = item.geometry(frame)
        mark = fingerprint(geometry)
        path = os.path.join(folder, item.path(frame))
        if prints.get(item.path(frame)) == mark and os.path.exists(path):
            continue
        stem, ending = os.path.splitext(path)
        geometry.saveToFile(stem + ".part" + ending)
        os.replace(stem + ".part" + ending, path)
        prints[item.path(frame)] = mark
    replace(os.path.join(folder, FOLDER, PRINTS), json.dumps(prints, indent=1))
