"""Geometry of the stand-in: points with attributes, polygons, volumes, files.

A .bgeo is decoded by the reader of tests/scripts/check_bgeo.py, the one that checks what the
library writes. See hou.py for what a stand-in is and is not.
"""

import gzip
import json
import shutil
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import check_bgeo  # noqa: E402


class Attrib:
    def __init__(self, geometry, name, values):
        self._geometry, self._name, self._values = geometry, name, values

    def name(self):
        return self._name

    def strings(self):
        return tuple(sorted(set(self._values)))  # their order means nothing

    def destroy(self):
        del self._geometry._attributes[self._name]


class Prim:
    """kind: Polygon, VDB, Volume or AlembicRef."""

    def __init__(self, kind, points=(), intrinsics=None, file=None, voxels=0):
        self.kind, self.points, self.file, self.voxels = kind, points, file, voxels
        self.intrinsics = intrinsics or {}

    def intrinsicValue(self, name):
        return self.intrinsics[name]

    def attribValue(self, name):
        return {"name": "surface"}[name]

    def activeVoxelCount(self):
        return self.voxels

    def resolution(self):
        return (8, 8, 8)


class Geometry:
    """read_only geometries raise when they are changed, as those of other nodes do."""

    def __init__(self):
        self._points, self._prims, self._attributes = [], [], {}
        self.loaded, self.read_only = [], False

    def _change(self):
        if self.read_only:
            raise PermissionError("this geometry belongs to another node")

    def clear(self):
        self._change()
        self._points, self._prims, self._attributes, self.loaded = [], [], {}, []

    def createPoint(self):
        return self.createPoints([(0.0, 0.0, 0.0)])[0]

    def createPoints(self, positions):
        self._change()
        first = len(self._points)
        self._points += [tuple(float(c) for c in p) for p in positions]
        for attribute in self._attributes.values():
            attribute.extend([""] * len(positions))
        return tuple(range(first, len(self._points)))

    def createPolygons(self, points, is_closed=True):
        self._change()
        self._prims += [Prim("Polygon", tuple(p)) for p in points]

    def addAttrib(self, kind, name, default_value):
        self._change()
        if name in self._attributes:
            raise ValueError(f"{name} is there already")
        self._attributes[name] = [default_value] * len(self._points)

    def findPointAttrib(self, name):
        values = self._attributes.get(name)
        return None if values is None else Attrib(self, name, values)

    def points(self):
        return list(self._points)

    def prims(self):
        return tuple(self._prims)

    def primsOfType(self, kind):
        return tuple(p for p in self._prims if p.kind == kind)

    def containsPrimType(self, name):
        return any(p.kind == name for p in self._prims)

    def intrinsicValue(self, name):
        return {"pointcount": len(self._points), "primitivecount": len(self._prims),
                "vertexcount": sum(len(p.points) for p in self._prims)}[name]

    def pointFloatAttribValuesAsString(self, name):
        assert name == "P"
        return struct.pack(f"{3 * len(self._points)}f", *(c for p in self._points for c in p))

    def pointStringAttribValues(self, name):
        return tuple(self._attributes[name])

    def merge(self, other):
        self._change()
        first = len(self._points)
        names = set(self._attributes) | set(other._attributes)
        for name in names:
            mine = self._attributes.get(name, [""] * len(self._points))
            self._attributes[name] = mine + other._attributes.get(name, [""] * len(other._points))
        self._points = self._points + other._points
        self._prims = self._prims + [Prim(p.kind, tuple(i + first for i in p.points), p.intrinsics,
                                          p.file, p.voxels) for p in other._prims]
        self.loaded = self.loaded + other.loaded

    def copy(self):
        result = Geometry()
        result.merge(self)
        return result

    def loadFromFile(self, path):
        self._change()
        if path.endswith(".vdb"):
            if Path(path).read_bytes()[:3] != b" BD":
                raise ValueError(f"{path} is no VDB")
            self._prims.append(Prim("VDB", file=path))
            self.createPoint()
        else:
            self._load_points(path)
        self.loaded.append(path)

    def _load_points(self, path):
        data = Path(path).read_bytes()
        data = gzip.decompress(data) if path.endswith(".gz") else data
        root = check_bgeo.pairs(check_bgeo.Binary(data).value())
        columns = check_bgeo.pairs(root["attributes"])["pointattributes"]
        found = dict(check_bgeo.attribute(column) for column in columns)
        self._points += found.pop("P")[2]
        assert len(self._points) == root["pointcount"]
        self._attributes.update({name: list(entry[2]) for name, entry in found.items()})

    def saveToFile(self, path):
        volumes = [p for p in self._prims if p.kind == "VDB"]
        if path.endswith(".vdb"):
            shutil.copyfile(volumes[0].file, path)
        elif path.endswith(".obj"):
            lines = ["v %.9g %.9g %.9g" % p for p in self._points]
            lines += ["f " + " ".join(str(i + 1) for i in p.points) for p in self._prims]
            Path(path).write_text("\n".join(lines) + "\n")
        else:
            Path(path).write_text(json.dumps(self._tree()))

    def _tree(self):
        """The tree of a .geo file; readers go by content."""
        def column(name, size, storage, values):
            return [["scope", "public", "type", "numeric", "name", name, "options", {}],
                    ["size", size, "storage", storage,
                     "values", ["size", size, "storage", storage,
                                "tuples" if size > 1 else "arrays",
                                [list(v) for v in values] if size > 1 else [list(values)]]]]
        columns = [column("P", 3, "fpreal32", self._points)]
        for name, values in self._attributes.items():
            if values and not isinstance(values[0], str):
                size = len(values[0]) if isinstance(values[0], tuple) else 1
                storage = "int64" if isinstance(values[0], int) else "fpreal32"
                columns.append(column(name, size, storage, values))
        return ["pointcount", len(self._points), "vertexcount", 0, "primitivecount", 0,
                "topology", ["pointref", ["indices", []]],
                "attributes", ["pointattributes", columns]]
