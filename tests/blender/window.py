"""The add-on with a window: a real key starts a bake, a real Esc stops it; screenshots."""

import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import bpy
from mathutils import Euler

sys.path.insert(0, str(Path(__file__).parent))
from support import ARGUMENTS, WORK, enable

PICTURES = Path(ARGUMENTS[1])
SLOW = bool(os.environ.get("FIRN_SLOW"))
LIMIT = 1000 if SLOW else 400  # s
LAST, SHOWN = (24, 12) if SLOW else (0, 7)  # frames
enable()
from firn_snow import bake, result, state  # noqa: E402


def area_of(kind):
    return next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == kind)


def override(area):
    window = bpy.context.window_manager.windows[0]
    region = next(r for r in area.regions if r.type == "WINDOW")
    return bpy.context.temp_override(window=window, area=area, region=region)


def key(*names):
    subprocess.run(["xdotool", "key", *names], check=True)


def point_at(area, x=0.3, y=0.5):
    height = bpy.context.window_manager.windows[0].height
    place = (area.x + int(area.width * x), height - area.y - int(area.height * y))
    subprocess.run(["xdotool", "mousemove", str(place[0]), str(place[1])], check=True)


def redraw():
    bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)


def shoot(name):
    """A picture of the whole window, with few colors so that it stays small."""
    path = str(PICTURES / f"{name}.png")
    redraw()
    bpy.ops.screen.screenshot(filepath=path)
    subprocess.run(["convert", path, "-colors", "64", "-strip", path], check=True)
    assert os.path.getsize(path) < 300_000, f"{name} is too large"


def wait(condition, seconds=60):
    """For use with `yield from`: gives Blender time until something is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain; {told()}"
        yield 0.05


def told():
    """What the trees say about themselves."""
    return [(tree.name, tree.cache_state, tree.problem, tree.progress_text,
             {node.name: node.problem for node in tree.nodes if getattr(node, "problem", "")})
            for tree in bpy.data.node_groups if tree.bl_idname == "FirnSnowTree"]


def prepare():
    """Viewport left, node editor right: the layout of the tutorial."""
    editor = max(bpy.context.window_manager.windows[0].screen.areas,
                 key=lambda a: a.width * a.height)
    point_at(editor, 0.05, 0.2)
    yield 0.3
    key("Escape")  # the splash
    yield 0.3
    with override(editor):
        bpy.ops.screen.area_split(direction="HORIZONTAL", factor=0.42)
    yield 0.2
    areas = [a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == "VIEW_3D"]
    upper = max(areas, key=lambda a: a.y)
    upper.ui_type = "FirnSnowTree"
    yield 0.3


def maximize(area):
    """The editor alone, or with the others again; by key, because the operator replaces the very
    screen that a script runs on."""
    point_at(area)
    yield 0.3
    count = len(bpy.context.window_manager.windows[0].screen.areas)
    key("ctrl+space")
    yield from wait(lambda: len(bpy.context.window_manager.windows[0].screen.areas) != count)
    yield 0.3


def frame_nodes():
    editor = area_of("NODE_EDITOR")
    with override(editor):
        bpy.ops.node.view_all()
    yield 0.8
    with override(editor):
        bpy.ops.node.select_all(action="DESELECT")
    point_at(editor, 0.42)
    for _ in range(4):
        yield 0.5
        key("KP_Add")
    yield 0.5


def steps():
    yield from prepare()
    editor, view = area_of("NODE_EDITOR"), area_of("VIEW_3D")
    scene = bpy.context.scene
    bpy.ops.wm.save_as_mainfile(filepath=str(WORK / "tutorial.blend"))
    shoot("blender_start")
    with override(editor):
        bpy.ops.firn.add_preset(preset="snowball_smash")
    tree = editor.spaces.active.node_tree
    assert tree is not None and len(tree.nodes) == 10
    scene.frame_end = 400
    if not SLOW:
        tree.nodes["solver"].p_cell_size = tree.nodes["volume"].p_voxel_size = 0.04
    editor.spaces.active.show_region_ui = True
    yield from maximize(editor)
    editor = area_of("NODE_EDITOR")
    yield from open_firn_tab(editor)
    yield from frame_nodes()
    assert tree.cache_state == "none", tree.cache_state
    shoot("blender_nodes")

    # An edit can be undone.
    ball = tree.nodes["ball"]
    bpy.ops.ed.undo_push(message="before")
    ball.p_radius = 0.15
    bpy.ops.ed.undo_push(message="radius")
    bpy.ops.ed.undo()
    tree, scene = bpy.data.node_groups["Snowball smash"], bpy.context.scene
    assert abs(tree.nodes["ball"].p_radius - 0.2) < 1e-6, tree.nodes["ball"].p_radius
    yield 0.2

    yield from undo_while_reading(editor)
    tree, scene = bpy.data.node_groups["Snowball smash"], bpy.context.scene

    # A real key starts the bake, a real Esc stops it.
    point_at(editor)
    yield 0.3
    key("ctrl+alt+b")
    yield from wait(lambda: bake.running is not None)
    yield from wait(lambda: bake.running.process and len(bake.running.process.frames_done) >= 3)
    busy = []
    for _ in range(5):
        begin = time.perf_counter()
        redraw()
        busy.append(time.perf_counter() - begin)
        yield 0.1
    print(f"SPEED a redraw takes {1000 * max(busy):.0f} ms while baking", flush=True)
    shoot("blender_bake")
    key("Escape")
    yield from wait(lambda: bake.running is None)
    tree = bpy.data.node_groups["Snowball smash"]
    assert tree.cache_state == "partial", tree.cache_state
    scene.frame_end = max(tree.frames_done + 4, LAST)

    # The button of the panel goes on.
    with override(editor):
        bpy.ops.firn.bake("INVOKE_DEFAULT", mode="RESUME", tree=tree.name)
    yield from wait(lambda: bake.running is None, LIMIT)
    assert tree.cache_state == "complete", (tree.cache_state, tree.problem)

    yield from maximize(editor)
    editor, view = area_of("NODE_EDITOR"), area_of("VIEW_3D")
    with override(view):
        bpy.ops.firn.show(tree=tree.name)
    scene.frame_set(SHOWN)
    assert "Cube" not in scene.objects
    look_at(view, tree.particle_object)
    yield 0.5
    assert len(result.points_of(tree.particle_object)) > 1000
    shoot("blender_result")
    render(tree)

    # A change makes it stale, a mistake shows on its node.
    tree.nodes["ball"].p_radius = 0.1
    tree.nodes["wall"].p_shape = "mesh"
    tree.nodes["wall"].p_file = "//missing.obj"
    yield from wait(lambda: "missing.obj" in tree.nodes["wall"].problem)
    assert tree.cache_state == "stale", tree.cache_state
    yield 0.2
    shoot("blender_problem")


def undo_while_reading(editor):
    """Nodes move in memory when something is undone: a bake that is reading begins again."""
    tree, scene = bpy.data.node_groups["Snowball smash"], bpy.context.scene
    bpy.ops.ed.undo_push(message="before the object")
    mesh = bpy.data.meshes.new("thing")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [],
                     [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])
    thing = bpy.data.objects.new("thing", mesh)
    scene.collection.objects.link(thing)
    thing.keyframe_insert("location", frame=1)
    node = tree.nodes.new("FirnNode_collider")
    node.scene_object = thing
    bpy.ops.ed.undo_push(message="object")
    tree.nodes["ball"].p_radius = 0.15
    bpy.ops.ed.undo_push(message="radius")
    yield 0.2
    with override(editor):
        bpy.ops.firn.bake("INVOKE_DEFAULT", tree=tree.name)
    next(bake.running.walk)
    assert bake.running.process is None, "the reading should have begun, no more"
    bpy.ops.ed.undo()
    yield 0.3
    assert bake.running is not None and not bake.running.failure, told()
    key("Escape")
    yield from wait(lambda: bake.running is None)
    tree = bpy.data.node_groups["Snowball smash"]
    assert abs(tree.nodes["ball"].p_radius - 0.2) < 1e-6 and tree.progress_text == "", told()
    bpy.ops.ed.undo()
    assert "thing" not in bpy.data.objects
    yield 0.2


def render(tree):
    """A picture of the shot; a good one takes minutes and is made on demand."""
    with override(area_of("VIEW_3D")):
        bpy.ops.firn.render_ready(tree=tree.name)
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = (640, 360) if SLOW else (96, 54)
    scene.cycles.samples, scene.cycles.time_limit = (96, 240) if SLOW else (4, 10)
    scene.render.filepath = str(PICTURES / "blender_render.png")
    bpy.ops.render.render(write_still=True)
    subprocess.run(["convert", scene.render.filepath, "-colors", "256", "-strip",
                    scene.render.filepath], check=True)


def open_firn_tab(editor):
    """A real click on the fourth tab, below Tool, View and Group."""
    region = next(r for r in editor.regions if r.type == "UI")
    top = bpy.context.window_manager.windows[0].height - (region.y + region.height)
    place = [str(region.x + region.width - 12), str(top + 165)]
    subprocess.run(["xdotool", "mousemove", *place], check=True)
    yield 0.3
    subprocess.run(["xdotool", "click", "1"], check=True)
    yield 0.3


def look_at(view, obj):
    for other in bpy.context.selected_objects:
        other.select_set(False)
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj
    view.spaces.active.region_3d.view_rotation = Euler((1.2, 0.0, -0.5)).to_quaternion()
    with override(view):
        bpy.ops.view3d.view_selected()
    obj.select_set(False)


def drive():
    """Runs the steps from a timer: Blender handles events between them."""
    try:
        pause = next(_steps)
        assert time.monotonic() - _begin < LIMIT, "it takes too long"
        return pause
    except StopIteration:
        print("all steps done", flush=True)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(1)


_begin, _steps = time.monotonic(), steps()
bpy.app.timers.register(drive, first_interval=1.0)
