"""What is known about the cache of each tree: badge, progress, problems on nodes."""

import textwrap

import bpy

from . import firn

BADGES = {
    "": ("Not checked yet", "QUESTION"),
    "none": ("Not baked", "RADIOBUT_OFF"),
    "stale": ("Stale: changed since\nit was baked", "ERROR"),
    "partial": ("Baked in part", "TIME"),
    "complete": ("Baked", "CHECKMARK"),
    "invalid": ("Cannot be baked yet", "CANCEL"),
}
DELAY = 0.3  # s after the last change

_dirty = set()
_silent = [0]


class silence:
    """While in here, changes of values are not the artist's."""

    def __enter__(self):
        _silent[0] += 1

    def __exit__(self, *_):
        _silent[0] -= 1


def is_silent():
    return _silent[0] > 0


def touch(tree):
    """Something in the tree has changed: its badge is looked up soon."""
    from . import bake
    if is_silent() or getattr(tree, "bl_idname", "") != "FirnSnowTree":
        return
    bake.reread(tree)
    _dirty.add(tree.name)
    if not bpy.app.background and not bpy.app.timers.is_registered(_refresh_dirty):
        bpy.app.timers.register(_refresh_dirty, first_interval=DELAY)


def _refresh_dirty():
    names, scene = sorted(_dirty), bpy.context.scene
    _dirty.clear()
    for name in names:
        tree = bpy.data.node_groups.get(name)
        if tree is not None and tree.bl_idname == "FirnSnowTree":
            refresh(tree, scene)
    redraw()
    return None


def refresh(tree, scene):
    """Looks up the state of the cache and puts problems on their nodes; True: it can be baked."""
    from . import bake, drivers, export, inputs
    with silence():
        clear_problems(tree)
        if not bake.is_running(tree):
            tree.progress_text = ""  # of a bake that Blender has ended, or that was undone
        _part_from_original(tree)
        try:
            graph = export.graph_of(tree, scene)
            tree.cache_state = "stale" if _objects_changed(tree, graph) else graph.cache_state
            tree.frames_done = len(graph.cache.frames)
            problems = graph.problems()
        except firn.FirnError as error:
            tree.cache_state = "invalid"
            show_problem(tree, error.node, error.message)
            return False
        names = export.names_of(tree)
        errors = [p for p in problems if p.level == "error" and not _is_pending(tree, p)]
        if shared_cache(tree):
            errors.append(firn.FirnError(shared_cache(tree)))
        errors += drivers.problems(tree, scene, names)
        errors += inputs.problems(tree, scene, names)
        for problem in errors:
            show_problem(tree, problem.node, problem.message)
        if errors and tree.cache_state == "none":
            tree.cache_state = "invalid"
        return not errors


def _part_from_original(tree):
    """A copy of a tree shows its own result."""
    from .tree import others
    for name in ("particle_object", "volume_object"):
        shown = getattr(tree, name)
        if shown is not None and any(getattr(other, name) == shown for other in others(tree)):
            setattr(tree, name, None)


def shared_cache(tree):
    """A sentence when another tree has the same cache, else ""."""
    from . import export
    from .tree import others
    folder = export.cache_folder(tree)
    for other in others(tree):
        if export.cache_folder(other) == folder:
            return f"'{other.name}' has the same cache; give one of them another name or version"
    return ""


def _objects_changed(tree, graph):
    return tree.objects_changed and graph.cache_state in ("partial", "complete")


def _is_pending(tree, problem):
    """A file that the next bake writes may be missing now."""
    from . import export
    node = export.node_by_name(tree, problem.node)
    return problem.param == "file" and node is not None and node.uses_object()


def clear_problems(tree):
    tree.problem = ""
    for node in tree.nodes:
        if getattr(node, "problem", ""):
            node.problem = ""


def show_problem(tree, name, message):
    """Puts a message on the node that it belongs to, or on the tree."""
    from . import export
    if tree is None:
        return
    node = export.node_by_name(tree, name) if name else None
    with silence():
        if node is None:
            tree.problem = message
        elif message not in node.problem:
            node.problem = f"{node.problem}\n{message}".strip()


def badge(tree):
    """Text and icon about the cache, or about a bake that is running."""
    if tree.progress_text:
        return tree.progress_text, "RENDER_ANIMATION"
    text, icon = BADGES.get(tree.cache_state, BADGES[""])
    if tree.cache_state == "partial":
        text = f"Baked in part: {tree.frames_done} frames"
    return text, icon


def draw_badge(tree, layout):
    """The badge, with a bar while a bake is running."""
    text, icon = badge(tree)
    for number, line in enumerate(text.splitlines()):
        layout.label(text=line, icon=icon if number == 0 else "BLANK1")
    if tree.progress_text:
        row = layout.row()
        row.enabled = False
        row.prop(tree, "progress", slider=True, text="")


def wrap(text, width):
    lines = []
    for part in text.splitlines():
        lines += textwrap.wrap(part, width, break_long_words=True) or [""]
    return lines


def redraw():
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        for area in window.screen.areas:
            if area.type in {"NODE_EDITOR", "VIEW_3D"}:
                area.tag_redraw()


def forget():
    _dirty.clear()
    if bpy.app.timers.is_registered(_refresh_dirty):
        bpy.app.timers.unregister(_refresh_dirty)
