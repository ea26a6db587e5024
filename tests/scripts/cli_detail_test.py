#!/usr/bin/env python3
"""Stages that add detail to a cache: grains of particles.

Usage: cli_detail_test.py FIRN
"""

import json
import re

from cli_support import SCENE, Firn, files_of, main

FINE = {"type": "fine_particles", "params": {"children": 8}, "inputs": {"particles": "solver"}}
ATTRIBUTES = "v id pscale mass density sparkle Jp"


def with_grains(**params):
    """The small shot with grains of its particles, in a file for each frame and as a volume."""
    scene = json.loads(json.dumps(SCENE))
    scene["nodes"]["fine"] = {**FINE, "params": {**FINE["params"], **params}}
    scene["nodes"]["grains"] = {"type": "write_particles", "inputs": {"particles": "fine"},
                                "params": {"name": "grains", "format": "bgeo",
                                           "attributes": ATTRIBUTES}}
    scene["nodes"]["raster"]["inputs"]["particles"] = "fine"
    return scene


def from_cache(source):
    return {"firn": 1, "name": "tiny", "fps": 96, "frames": [1, 5], "nodes": {
        "read": {"type": "read_particles", "params": {"file": source, "cell_size": 0.05}},
        "fine": {**FINE, "inputs": {"particles": "read"}},
        "grains": {"type": "write_particles", "inputs": {"particles": "fine"},
                   "params": {"name": "grains", "format": "bgeo", "attributes": ATTRIBUTES}}}}


class Grains(Firn):
    def grains_of(self, base):
        found = files_of(self.folder / base / "tiny/v1")
        return {name: data for name, data in found.items() if name.startswith("grains")}

    def setUp(self):
        super().setUp()
        self.whole = self.write_scene("whole.firn", with_grains())
        self.firn("cook", self.whole, "--base", "first", "--quiet")
        self.first = self.grains_of("first")
        self.assertEqual(len(self.first), 5)

    def test_chunks_of_a_cache_have_the_bytes_of_the_whole(self):
        scene = self.write_scene("again.firn",
                                 from_cache("first/tiny/v1/tiny_v1.$F4.bgeo"))
        for number, chunks in enumerate((["1-5"], ["1-2", "3-5"], ["5", "1", "3", "2", "4"])):
            for frames in chunks:
                self.firn("cook", scene, "--base", f"chunks{number}", "--frames", frames, "--quiet",
                          "--resume")
            found = self.grains_of(f"chunks{number}")
            self.assertEqual(sorted(found), sorted(self.first))
            for name, data in found.items():
                # The writer's name for itself differs: the graph is another one.
                cut = re.compile(rb"firn \S+ [0-9a-f]{16}")
                self.assertEqual(cut.sub(b"", data), cut.sub(b"", self.first[name]), name)

    def test_other_grains_make_no_simulation_run(self):
        self.firn("resume", self.whole, "--base", "first", "--set", "fine.children=12",
                  "--overwrite", "--quiet", env={"FIRN_ISA": "scalar"})
        again = self.write_scene("twelve.firn", with_grains(children=12))
        self.firn("cook", again, "--base", "twelve", "--quiet")
        self.assertEqual(self.grains_of("first"), self.grains_of("twelve"))
        self.assertNotEqual(self.grains_of("first"), self.first)

    def test_every_format_has_what_a_renderer_wants(self):
        scene = with_grains()
        for kind in ("abc", "vdb"):
            scene["nodes"][kind] = {
                "type": "write_particles", "inputs": {"particles": "fine"},
                "params": {"name": kind, "format": kind, "attributes": ATTRIBUTES}}
        self.firn("cook", self.write_scene("all.firn", scene), "--base", "all", "--quiet")
        for path in ("abc_v1.abc", "vdb_v1.$F4.vdb", "grains_v1.$F4.bgeo"):
            back = from_cache(f"all/tiny/v1/{path}")
            del back["nodes"]["fine"]
            back["nodes"]["grains"]["inputs"]["particles"] = "read"
            base = path.split("_")[0] + "_back"
            self.firn("cook", self.write_scene("back.firn", back), "--base", base, "--quiet",
                      "--frames", "1-5")
            told = self.firn("info", f"{base}/tiny/v1/grains_v1.0002.bgeo")
            for name in ATTRIBUTES.split():
                self.assertRegex(told, rf"(?m)^  point +{name} ", path)

    def test_it_says_what_is_wrong(self):
        for words, code, sentence in (
                (["fine.children=4"], 2, "fine.children"),
                (["fine.channels=mass"], 6, "channels has mass, which grains have anyway"),
                (["fine.channels=F"], 6, "a grain cannot take"),
                (["fine.channels=temperature"], 5,
                 "fine, frame 1: the particles have no temperature of 1 components")):
            done = [part for word in words for part in ("--set", word)]
            self.firn("cook", self.whole, "--base", "bad", "--quiet", *done, code=code)
            self.assertIn(sentence, self.err)


if __name__ == "__main__":
    main()
