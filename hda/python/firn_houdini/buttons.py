"""What the buttons of the assets do."""

import os

import firn
import hou

from . import Problem, inputs, node as cooking, presets, scene, tables, worker


def reports(function):
    """A button says what is wrong in a window instead of a traceback."""
    def call(kwargs):
        try:
            function(kwargs["node"])
        except (Problem, firn.FirnError) as problem:
            show(cooking.sentence(problem))
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def show(message):
    if hou.isUIAvailable():
        hou.ui.displayMessage(message, severity=hou.severityType.Error, title="Firn")
    else:
        raise hou.OperationFailed(message)


def collect(node):
    if tables.asset_name(node) == tables.CACHE:
        return scene.of_cache(node)
    return scene.of_result(node)


def begin(node):
    collector = collect(node)
    store = collector.store()
    fresh = all(store.is_fresh(collector.saved, frame) for frame in collector.frames)
    return cooking.begin(store, collector, fresh, collector.frames[1]), store


@reports
def execute(node):
    """Makes every frame and waits for it."""
    table = tables.table_of(node)
    if table is not None and not table["sequential"]:
        first, last = (scene.read_shot(node)[key] for key in ("first", "last"))
        for frame in range(first, last + 1):
            cooking.single_frame(node, frame, [])
    else:
        run, store = begin(node)
        cooking.wait_for(run, None, store)
    node.cook(force=True)


@reports
def background(node):
    """Makes every frame; Houdini stays free."""
    begin(node)


@reports
def stop(node):
    """Ends the run in the background."""
    worker.stop(collect(node).store().folder)


@reports
def reset(node):
    """Removes the frames on disk."""
    store = collect(node).store()
    worker.stop(store.folder)
    store.remove()
    node.cook(force=True)


@reports
def save_scene(node):
    """Writes the network as a scene, with the geometry that it needs beside it."""
    path = os.path.abspath(node.parm("scene_file").evalAsString())
    os.makedirs(os.path.dirname(path), exist_ok=True)
    collector = collect(node)
    inputs.save_all(collector.saved, os.path.dirname(path), lambda fraction: None)
    inputs.replace(path, collector.text())


@reports
def apply_preset(node):
    """Gives the parameters the values of the preset that was chosen."""
    presets.apply(node)
