"""What the tests of the Houdini assets share: places, the stand-in, small networks."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HDA = ROOT / "hda"
for folder in (ROOT / "tests/houdini", ROOT / "tests/houdini/standin", HDA, HDA / "python",
               ROOT / "plugin/python"):
    sys.path.insert(0, str(folder))

import hou  # noqa: E402  the stand-in


def node_type(asset):
    return f"firn::{asset}::1.0"


class NetworkTest(unittest.TestCase):
    """A session with an empty object in a folder of its own."""

    @classmethod
    def setUpClass(cls):
        if not hou.types:
            hou.load_assets(HDA / "otls")

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        self.session, self.parent = hou.new_session()
        self.session.variables.update(HIP=str(self.folder), FEND="4")
        from firn_houdini import worker
        self.addCleanup(worker.stop_all)

    def add(self, asset, name, **values):
        node = self.parent.createNode(node_type(asset), name)
        for parm, value in values.items():
            if isinstance(value, tuple):
                node.parmTuple(parm).set(value)
            elif isinstance(value, str) and node.parm(parm).tokens:
                node.parm(parm).set(node.parm(parm).tokens.index(value))
            else:
                node.parm(parm).set(value)
        return node

    def drop(self):
        """A small ball above the ground; returns its solver."""
        ball = self.add("snow_source", "ball", radius=0.1, center=(0.0, 0.3, 0.0))
        ground = self.add("snow_collider", "ground")
        solver = self.add("snow_solver", "solver", cell_size=0.05, thread_count=1)
        solver.setInput(0, ball)
        solver.setInput(1, ground)
        return solver

    def at(self, frame):
        self.session.frame = float(frame)

    def cook(self, node, frame=None):
        """Cooks a node that must be well; returns its geometry."""
        if frame is not None:
            self.at(frame)
        node.cook()
        self.assertEqual((node.errors(), node.warnings()), ((), ()))
        return node.geometry()

    def scene(self, node):
        """The scene that a node cooks."""
        import json
        from firn_houdini import buttons
        return json.loads(buttons.collect(node).text())

    def press(self, node, button):
        node.parm(button).pressButton()
        self.assertEqual(self.session.messages, [])


def program():
    return os.path.join(os.path.dirname(os.environ["FIRN_LIBRARY"]), "firn")


def cube(size=0.1, move=(0.0, 0.0, 0.0)):
    """A closed mesh."""
    geometry = hou.Geometry()
    corners = [(x, y, z) for x in (-size, size) for y in (-size, size) for z in (-size, size)]
    geometry.createPoints([tuple(c + m for c, m in zip(corner, move)) for corner in corners])
    geometry.createPolygons([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6),
                             (0, 2, 6, 4), (1, 5, 7, 3)])
    return geometry
