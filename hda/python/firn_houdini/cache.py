"""The cache of a scene on disk, as the library lays it out, with what Houdini keeps beside it."""

import json
import os
import shutil

import firn

from . import inputs


class Store:
    """The folder that a scene is cooked into. Opening it reads the scene, so that whatever is
    wrong with a value is an error of the library that names it."""

    def __init__(self, text, name):
        self.text = text
        self.graph = firn.Graph.loads(text, name)
        self.folder = self.graph.cache_folder
        self.graph.set_folder(self.folder)
        self.scene = os.path.join(self.folder, name + ".firn")

    def is_fresh(self, saved, frame):
        """True when nothing on disk contradicts the network as it is at this frame."""
        return self.graph.cache_state != "stale" and \
            not inputs.changed(saved, self.folder, frame)

    def hash(self):
        return self.graph.hash()

    def files(self, frame):
        """Paths of a frame by the node that wrote them; empty when they are not there."""
        found = firn.Cache(self.folder).frames.get(frame)
        files = {file.node: file.path for file in found.files} if found else {}
        return files if all(os.path.exists(path) for path in files.values()) else {}

    def write_scene(self):
        os.makedirs(self.folder, exist_ok=True)
        inputs.replace(self.scene, self.text)

    # --- Frames that stand alone: no simulation, so each has a key of its own ---------------------

    def key_path(self, frame):
        return os.path.join(self.folder, "keys", f"{frame:04d}.json")

    def kept_frame(self, frame):
        """Path and key of a frame; (None, None) when it is not there."""
        try:
            with open(self.key_path(frame), encoding="utf-8") as file:
                entry = json.load(file)
        except (OSError, ValueError):
            return None, None
        path = os.path.join(self.folder, entry["file"])
        return (path, entry["key"]) if os.path.exists(path) else (None, None)

    def keep_frame(self, frame, made, key):
        """Takes over a file that was made beside; returns its path."""
        path = os.path.join(self.folder, os.path.basename(made))
        os.makedirs(os.path.dirname(self.key_path(frame)), exist_ok=True)
        os.replace(made, path)
        entry = {"file": os.path.basename(path), "key": key}
        inputs.replace(self.key_path(frame), json.dumps(entry))
        return path

    def remove(self):
        """Removes what cooks have made, and nothing else."""
        cache = firn.Cache(self.folder)
        for file in [f for frame in cache.frames.values() for f in frame.files] + cache.files:
            remove_file(file.path)
        keys = os.path.join(self.folder, "keys")
        for name in os.listdir(keys) if os.path.isdir(keys) else []:
            path, _ = self.kept_frame(int(name.split(".")[0]))
            if path:
                remove_file(path)
        for name in ("manifest.json", "resolved.firn", "timing.json"):
            remove_file(os.path.join(self.folder, name))
        for name in ("checkpoints", "keys"):
            shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)


def remove_file(path):
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
