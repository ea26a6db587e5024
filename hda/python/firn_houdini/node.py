"""What the nodes do when Houdini cooks them."""

import json
import os
import shutil
import tempfile

import firn
import hou

from . import Problem, guides, inputs, links, parms, scene, tables, worker

ENDINGS = {"particles": "bgeo", "volume": "vdb"}
LOADABLE = (".bgeo", ".bgeo.gz", ".geo", ".vdb")


def cook(node, geometry=None):
    """The cook of every asset; what goes wrong becomes the badge of the node. geometry is what it
    fills: that of the node itself, or of the Python node inside of one that build.py has made."""
    geometry = geometry or node.geometry()
    warnings = []
    try:
        if tables.asset_name(node) == tables.CACHE:
            cook_cache(node, geometry, warnings)
        elif tables.makes_result(node):
            path = result_file(node, frame_of(node), warnings)
            load(geometry, [path] if path else [])
        else:
            cook_description(node, geometry)
    except (Problem, firn.FirnError) as problem:
        raise hou.NodeError(sentence(problem))
    if warnings:
        raise hou.NodeWarning("\n".join(dict.fromkeys(warnings)))


def sentence(problem):
    """A message with the place that it is about."""
    place = ".".join(filter(None, [getattr(problem, "node", ""), getattr(problem, "param", "")]))
    text = getattr(problem, "message", "") or str(problem)
    return f"{place}: {text}" if place and place not in text else text


def frame_of(node):
    return int(round(node.parm("current_frame").evalAsFloat()))


# --- Sources, colliders, materials ---------------------------------------------------------------

def cook_description(node, geometry):
    table = tables.table_of(node)
    takes = table["shape"] and node.parm("use_input").evalAsInt() and \
        node.inputGeometry(0) is not None
    if not takes:
        geometry.clear()
        if table["shape"]:
            frame = hou.frame()
            values = {row["name"]: parms.value_at(parms.components(node, row, ""), row, frame)
                      for row in table["params"]}
            guides.draw(geometry, values[table["shape"]], values)
    links.mark(node, geometry)


# --- Results -------------------------------------------------------------------------------------

def result_file(node, frame, warnings):
    """The file of a frame; made first where it has to be. None: it is not there."""
    if tables.table_of(node)["sequential"]:
        return simulated(node, frame, warnings)
    return single_frame(node, frame, warnings)


def load(geometry, paths):
    geometry.clear()
    for number, path in enumerate(paths):
        if number == 0:
            geometry.loadFromFile(path)
        else:
            more = hou.Geometry()
            more.loadFromFile(path)
            geometry.merge(more)


def may_solve(node):
    return node.parm("solve").evalAsString() == "needed"


def simulated(node, frame, warnings):
    collector = scene.of_result(node)
    warnings += collector.warnings
    first, last = collector.frames
    if frame < first:
        return None
    frame = min(frame, last)
    store = collector.store()
    fresh = store.is_fresh(collector.saved, frame)
    files = store.files(frame)
    if fresh and files:
        return files[scene.RESULT]
    if not may_solve(node):
        warnings.append(hold_message(files, frame))
        return files.get(scene.RESULT)
    run = worker.current(store.folder, store.hash()) if fresh else None
    if run is not None:
        wait_for(run, frame, store)
        warnings += said(run)
        files = store.files(frame)
    if not files or not fresh:  # nobody makes it, or the run was to end before it
        end = last if node.parm("ahead").evalAsInt() else frame
        run = begin(store, collector, fresh, end)
        wait_for(run, frame, store)
        warnings += said(run)
        files = store.files(frame)
    return files[scene.RESULT]


def said(run):
    return [message for level, _, message in run.messages if level == "warning"]


def hold_message(exists, frame):
    if exists:
        return "The frames on disk are out of date: something above has changed since they were " \
            "made. Save to disk makes them anew"
    return f"Frame {frame} is not on disk; Save to disk makes it"


def begin(store, collector, fresh, last):
    """Saves the scene with its geometry and starts to cook it up to a frame."""
    worker.stop(store.folder)
    with hou.InterruptableOperation("Saving geometry for Firn",
                                    open_interrupt_dialog=True) as operation:
        inputs.save_all(collector.saved, store.folder, operation.updateProgress)
    store.write_scene()
    store.graph.validate()
    return worker.start(store, fresh, collector.frames[0], last)


def wait_for(run, frame, store):
    """Waits until a frame is on disk (None: all of them); Esc stops the run."""
    with hou.InterruptableOperation("Solving snow", open_interrupt_dialog=True) as operation:
        try:
            while run.running and frame not in run.frames_done:
                operation.updateProgress(run.fraction)
                run.wait(0.05)
        except hou.OperationInterrupted:
            worker.stop(store.folder)
            raise
    if not run.running and run.exit_code != 0:
        end_badly(run, store)


def end_badly(run, store):
    if run.exit_code == worker.STALE:
        store.remove()
        raise Problem("the files on disk belonged to other settings and have been removed; cook "
                      "again")
    if run.cancelled:
        raise Problem("the run was stopped; cook again to go on")
    place = run.failed_node + ": " if run.failed_node else ""
    raise Problem(place + (run.failure or f"firn ended with code {run.exit_code}"))


# --- Frames without a simulation -----------------------------------------------------------------

def source_file(node, other, port, frame):
    """The file of the node at an input, when Firn made it; None: its geometry must be saved."""
    if not tables.makes_result(other):
        return None
    if tables.asset_name(other) == tables.CACHE:
        if not other.parm("loadfromdisk").evalAsInt():
            return None
        paths = cache_files(other, frame, [])
        path = next((p for p in paths if ENDINGS[port["kind"]] in os.path.basename(p)), None)
    elif tables.table_of(other)["output"] != port["kind"]:
        raise Problem(f"{node.path()}: {other.path()} makes no {port['kind']}")
    else:
        path = result_file(other, frame, [])
    if path is None:
        raise Problem(f"{node.path()}: {other.path()} has no {port['kind']} at frame {frame}")
    return path


def key_of(collector):
    """Changes with the scene and with the files in it."""
    marks = []
    for entry in collector.nodes.values():
        path = entry.get("params", {}).get("file", "")
        if os.path.isabs(path) and os.path.exists(path):
            status = os.stat(path)
            marks.append([path, status.st_size, status.st_mtime_ns])
    marks += [inputs.fingerprint(item.geometry(item.frames[0])) for item in collector.saved]
    return json.dumps([collector.text(), marks])


def single_frame(node, frame, warnings):
    collector = scene.of_frame(node, frame, source_file)
    warnings += collector.warnings
    store, key = collector.store(), key_of(collector)
    path, old = store.kept_frame(frame)
    if path and old == key:
        return path
    if not may_solve(node):
        warnings.append(hold_message(path, frame))
        return path
    return make_frame(collector, store, frame, key)


def make_frame(collector, store, frame, key):
    """Cooks one frame in a folder beside and takes its file over."""
    os.makedirs(store.folder, exist_ok=True)
    beside = tempfile.mkdtemp(prefix=".making_", dir=store.folder)
    try:
        collector.shot = dict(collector.shot, base=beside)
        own = collector.store()
        run = begin(own, collector, False, frame)
        wait_for(run, None, own)
        return store.keep_frame(frame, own.files(frame)[scene.RESULT], key)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


# --- The cache -----------------------------------------------------------------------------------

def cook_cache(node, geometry, warnings):
    if node.parm("loadfromdisk").evalAsInt():
        load(geometry, cache_files(node, frame_of(node), warnings))


def cache_files(node, frame, warnings):
    """Files of a frame that Houdini can load; says when they are out of date or missing."""
    collector = scene.of_cache(node)
    store, show = collector.store(), node.parm("show").evalAsString()
    files = store.files(frame)
    if not files:
        warnings.append(f"Frame {frame} is not on disk in {store.folder}")
    elif not store.is_fresh(collector.saved, frame):
        warnings.append(hold_message(files, frame))
    wanted = {"particles": ".bgeo", "volume": ".vdb"}.get(show, "")
    paths = [p for p in sorted(files.values()) if p.endswith(LOADABLE) and wanted in p]
    if files and not paths:
        warnings.append("The files of this cache are not of a kind that is loaded here; use "
                        "Houdini's Alembic node for archives")
    return paths
