"""Baking: input files first, then the `firn` program as a process of its own.

The process keeps Blender alive and responsive whatever happens in a simulation, leaves a checkpoint
when it is stopped, and cooks the very file that a farm would cook.
"""

import atexit
import os
import time
import uuid

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from . import export, firn, inputs, result, state
from .export import TreeOperator
from .tree import trees

TICK = 0.1   # s between two looks at the process
SLICE = 0.05  # s that a tick may spend on input files

running = None  # the job; there is one at a time


def clock(seconds):
    if seconds is None or seconds < 0:
        return "-:--"
    whole = int(seconds + 0.5)
    text = f"{whole // 60 % 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}" if whole >= 3600 else text


def export_inputs(tree, context):
    """Writes the input files at once."""
    for _ in inputs.walk(tree, context):
        pass


class Job:
    """A bake, step by step. step() is called until it returns False."""

    def __init__(self, tree, context, last=None, resume=None):
        self.name, self.context = tree.name, context
        self.mark = tree.job = uuid.uuid4().hex  # finds the tree again under another name
        self.first, self.end = tree.frame_range(context.scene)
        self.last = min(last, self.end) if last is not None else None
        self.resume = resume
        self.walk = inputs.walk(tree, context)
        self.changed = False   # what is being read is no longer as it was
        self.process = None
        self.failure = ""      # a sentence, "" when all went well
        self.cancelled = False
        self.done = False
        self.seen = 0
        self.folder = ""       # of the cache that is being written
        state.clear_problems(tree)
        self.say("Reading the scene", 0.0)

    @property
    def tree(self):
        marked = [tree for tree in trees() if tree.job == self.mark]
        found = marked[0] if marked else bpy.data.node_groups.get(self.name)
        if found is not None:
            self.name = found.name
        return found

    def say(self, text, fraction):
        tree = self.tree
        if tree is not None:
            tree.progress_text, tree.progress = text, 100.0 * fraction

    def step(self):
        """Does a little; False when there is nothing left to do."""
        if self.done:
            return False
        if self.tree is None and not self.cancelled:
            self.cancel()
        try:
            if self.done:
                pass
            elif self.process is None:
                self.step_inputs()
            elif self.process.running:
                self.show_progress()
            else:
                self.finish_process()
        except firn.FirnError as error:
            self.fail(error.node, error.message)
        except OSError as error:
            self.fail("", export.os_sentence(error))
        except ReferenceError:
            self.fail("", "the scene was changed while it was read; bake again")
        return not self.done

    def step_inputs(self):
        begin = time.monotonic()
        if self.changed:
            self.leave_walk()
            self.walk, self.changed = inputs.walk(self.tree, self.context), False
        for number, count in self.walk:
            self.say(f"Reading the scene: {number} of {count} frames", 0.0)
            if time.monotonic() - begin > SLICE:
                return
        self.start_process()

    def start_process(self):
        tree, scene = self.tree, self.context.scene
        graph = export.graph_of(tree, scene)
        graph.validate()
        if state.shared_cache(tree):
            raise firn.FirnError(state.shared_cache(tree))
        if self.resume is None:
            self.resume = graph.cache_state == "partial"
        self.folder = export.cache_folder(tree)
        path = os.path.join(self.folder, "inputs", "scene.firn")
        export.write_scene(tree, scene, path)
        first = self.first if self.last is not None else None
        # Who presses Bake over a bake that is there wants it anew.
        self.process = firn.BakeProcess(path, first, self.last, self.resume, tree.threads,
                                        overwrite=not self.resume)
        self.say("Starting", 0.0)

    def show_progress(self):
        process = self.process
        if process.frame is None:
            return
        particles = process.stats.get("particles")
        text = f"Frame {process.frame} of {self.last or self.end}"
        text += f", {clock(process.seconds_left)} left"
        if particles:
            text += f"\n{particles:,.0f} particles"
        self.say(text, process.fraction)
        if len(process.frames_done) > self.seen:
            self.seen = len(process.frames_done)
            if not bpy.app.is_job_running("RENDER"):  # which reads the same meshes
                result.reload(self.tree)

    def finish_process(self):
        process = self.process
        for level, node, message in process.messages:
            if level != "info":
                state.show_problem(self.tree, node, message)
        if process.exit_code == 0:
            self.end_job()
        elif process.cancelled or process.exit_code in (130, 143):
            self.cancelled = True
            self.end_job()
        else:
            self.fail(process.failed_node, process.failure)

    def cancel(self):
        """Asks for the end; step() goes on until the checkpoint is written."""
        self.cancelled = True
        if self.process is None:
            self.leave_walk()
            self.end_job()
        else:
            self.process.cancel()
            self.say("Stopping, saving a checkpoint", self.process.fraction)

    def leave_walk(self):
        try:
            self.walk.close()
        except ReferenceError:
            pass  # the scene of the walk is gone, and its frame with it

    def fail(self, node, message):
        self.failure = message
        self.end_job()
        if self.tree is not None:
            state.show_problem(self.tree, node, message)

    def end_job(self):
        self.done = True
        tree = self.tree
        if tree is None:
            return
        tree.progress_text, tree.progress, tree.job = "", 0.0, ""
        problems = {node.name: node.problem for node in tree.nodes
                    if getattr(node, "problem", "")}
        state.refresh(tree, self.context.scene)
        for name, problem in problems.items():
            if not tree.nodes[name].problem:
                tree.nodes[name].problem = problem
        result.reload(tree)

    def summary(self):
        tree = self.tree
        if self.failure:
            return {"ERROR"}, self.failure
        count = tree.frames_done if tree is not None else 0
        if tree is not None and self.folder and export.cache_folder(tree) != self.folder:
            return {"WARNING"}, (f"Baked into {self.folder}, which is no longer the cache of this "
                                 "tree")
        if self.cancelled:
            return {"WARNING"}, f"Stopped after {count} frames; Resume goes on from there"
        return {"INFO"}, f"Baked: {count} frames"


class FIRN_OT_bake(TreeOperator, bpy.types.Operator):
    """Simulate the snow and write its cache. Esc stops; what is baked stays and can be resumed"""
    bl_idname = "firn.bake"
    bl_label = "Bake Snow"

    tree: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    mode: EnumProperty(name="Mode", items=[
        ("AUTO", "Auto", "Go on with what is there if it fits, else begin anew"),
        ("NEW", "New", "Begin anew"),
        ("RESUME", "Resume", "Go on with what is there")])
    to_current: BoolProperty(name="To the current frame", description="Stop at the current frame")

    def start(self, context):
        global running
        if running is not None:
            self.report({"WARNING"}, "A bake is running; Esc stops it")
            return None
        tree = self.need_tree(context)
        if tree is None:
            return None
        last = context.scene.frame_current if self.to_current else None
        if last is not None and last < tree.frame_range(context.scene)[0]:
            self.report({"ERROR"}, "The current frame is before the first frame of the snow")
            return None
        running = Job(tree, context, last, {"NEW": False, "RESUME": True}.get(self.mode))
        return running

    def end(self, job):
        global running
        running = None
        self.report(*job.summary())
        state.redraw()
        return {"CANCELLED"} if job.failure or job.cancelled else {"FINISHED"}

    def execute(self, context):
        """Without a window (or from a script) it waits for the end."""
        job = self.start(context)
        if job is None:
            return {"CANCELLED"}
        try:
            while job.step():
                if job.process is not None:
                    time.sleep(TICK / 2)
        except BaseException:
            job.cancel()
            self.end(job)
            raise
        return self.end(job)

    def invoke(self, context, event):
        if bpy.app.background:
            return self.execute(context)
        self.job = self.start(context)
        if self.job is None:
            return {"CANCELLED"}
        manager = context.window_manager
        self.timer = manager.event_timer_add(TICK, window=context.window)
        manager.progress_begin(0, 100)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and event.value == "PRESS":
            self.job.cancel()
            return {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        try:
            goes_on = self.job.step()
        except BaseException:
            self.leave(context)
            self.cancel(context)
            raise
        tree = self.job.tree
        if tree is not None:
            context.window_manager.progress_update(int(tree.progress))
            text = tree.progress_text.replace("\n", ", ")
            context.workspace.status_text_set(f"Firn: {text}, {tree.progress:.0f}%    Esc: stop")
        state.redraw()
        if goes_on:
            return {"PASS_THROUGH"}
        self.leave(context)
        return self.end(self.job)

    def leave(self, context):
        context.window_manager.event_timer_remove(self.timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)

    def cancel(self, context):
        """Blender ends the operator itself: its window closes, a file is opened, or it quits."""
        stop()
        if self.job.tree is not None:
            state.touch(self.job.tree)


class FIRN_OT_stop(bpy.types.Operator):
    """Stop the bake; what is baked stays and can be resumed"""
    bl_idname = "firn.stop"
    bl_label = "Stop"

    @classmethod
    def poll(cls, context):
        return running is not None

    def execute(self, context):
        running.cancel()
        return {"FINISHED"}


class FIRN_OT_refresh(TreeOperator, bpy.types.Operator):
    """Look again at the cache and the scene, such as after a farm has cooked it"""
    bl_idname = "firn.refresh"
    bl_label = "Look Again"

    tree: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context):
        tree = self.need_tree(context)
        if tree is None:
            return {"CANCELLED"}
        state.refresh(tree, context.scene)
        result.reload(tree)
        state.redraw()
        return {"FINISHED"}


def is_running(tree):
    return running is not None and running.tree == tree


def reread(tree):
    """What a bake is reading has changed, or moved in memory: it begins again."""
    if is_running(tree):
        running.changed = True


def stop():
    """Ends what is running without waiting."""
    global running
    if running is not None and running.process is not None:
        running.process.cancel()
    running = None


_classes = (FIRN_OT_bake, FIRN_OT_stop, FIRN_OT_refresh)


def register():
    for made in _classes:
        bpy.utils.register_class(made)
    atexit.register(stop)


def unregister():
    stop()
    atexit.unregister(stop)
    for made in reversed(_classes):
        bpy.utils.unregister_class(made)
