"""A saved file comes back; the add-on survives being switched on and off, and a missing library."""

import os
import sys
import unittest
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
from support import WORK, enable, run

import addon_utils  # noqa: E402


class Again(unittest.TestCase):
    def test_1_without_the_add_on_the_data_stay(self):
        bpy.ops.wm.open_mainfile(filepath=str(WORK / "kept.blend"))
        self.assertEqual(bpy.data.node_groups["kept"].bl_idname, "NodeTreeUndefined")
        bpy.ops.wm.save_as_mainfile(filepath=str(WORK / "resaved.blend"))

    def test_2_with_it_they_are_the_same(self):
        enable()
        from firn_snow import export, versions
        bpy.ops.wm.open_mainfile(filepath=str(WORK / "resaved.blend"))
        tree = bpy.data.node_groups["kept"]
        self.assertEqual(tree.bl_idname, "FirnSnowTree")
        self.assertEqual(tree.nodes["block"].p_jitter, 0.125)
        self.assertEqual(len(versions.curves_of(tree)), 3)
        graph = export.graph_of(tree, bpy.context.scene)
        tree.nodes["block"].p_jitter = 0.5
        other = export.graph_of(tree, bpy.context.scene)
        self.assertEqual(len(graph.nodes), 6)
        self.assertNotEqual(graph.hash("solver"), other.hash("solver"))

    def test_3_on_and_off_twenty_times(self):
        counts = []
        for _ in range(20):
            addon_utils.disable("firn_snow", default_set=True)
            counts.append(len(bpy.app.handlers.frame_change_pre))
            addon_utils.enable("firn_snow", default_set=True)
        self.assertEqual(set(counts), {0})
        self.assertEqual(len(bpy.app.handlers.frame_change_pre), 1)
        tree = bpy.data.node_groups.new("after", "FirnSnowTree")
        self.assertEqual(bpy.ops.firn.add_preset(tree="after", preset="snowball_drop"),
                         {"FINISHED"})
        self.assertGreater(len(tree.nodes), 5)

    def test_4_a_missing_library_is_explained(self):
        addon_utils.disable("firn_snow", default_set=True)
        for name in [n for n in sys.modules if n.split(".")[0] == "firn_snow"]:
            del sys.modules[name]
        os.environ["FIRN_LIBRARY"] = "/nowhere/libfirn.so"
        self.assertIsNotNone(addon_utils.enable("firn_snow", default_set=True))
        from firn_snow import host
        self.assertIn("/nowhere/libfirn.so", host.failure)
        self.assertFalse(hasattr(bpy.types, "FIRN_PT_bake"))
        addon_utils.disable("firn_snow", default_set=True)


run(sys.modules[__name__])
