"""Graphs: nodes, parameters, links, cooking and baking."""

import json

from . import capi
from .arrays import Particles, Volume
from .cache import Cache
from .capi import (POINTER, byref, c_char_p, c_int, c_size_t, c_void_p, call, read_text, string,
                   take_text, text)
from .errors import FirnError

INTERPOLATIONS = ["constant", "linear", "smooth"]
LEVELS = ["info", "warning", "error"]
STOP, CHECKPOINT = 1, 2  # answers of a progress callback; anything else goes on


class Problem:
    """One thing that is wrong with a graph; node and param are "" where they do not apply."""

    def __init__(self, row):
        self.level = LEVELS[row.level]
        self.code = FirnError.from_result(row.code, "").code
        self.node, self.param = string(row.node), string(row.param)
        self.message = string(row.message)

    def __repr__(self):
        return f"<{self.level} {self.node}.{self.param}: {self.message}>"


class Progress:
    """How far a cook is: node, frame, fraction of the frame (0 to 1), numbers of the substep."""

    def __init__(self, report):
        self.node, self.frame = string(report.node), report.frame
        self.fraction = report.fraction
        self.stats = capi.stats_of(report.stats, report.stat_count)


class Output:
    """What a node made: kind, numbers, and the particles or the volume.

    The arrays are those of the graph, valid until it cooks again or changes.
    """

    def __init__(self, data, owner):
        self.kind = string(capi.load().firn_kind_name(data.kind))
        self.stats = capi.stats_of(data.stats, data.stat_count)
        self.particles = Particles(data.particles.contents, owner) if data.particles else None
        self.volume = Volume(data.volume.contents, owner) if data.volume else None


def value_text(value):
    """A value as the text that files and flags have."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    if hasattr(value, "__len__"):
        return " ".join(repr(float(part)) for part in value)
    return str(value) if isinstance(value, int) else repr(float(value))


def _value_from_text(kind, value):
    readers = {"bool": lambda t: t == "true", "int": int, "float": float, "double": float,
               "vec3": lambda t: tuple(float(part) for part in t.split())}
    return readers.get(kind, str)(value)


class _Settings:
    """Parameters by name, of a node or of the shot (node None)."""

    def __init__(self, graph, node):
        self._graph, self._node = graph, node

    def _table(self):
        raise NotImplementedError

    def _where(self, param):
        return {"node": self._node or "", "param": param}

    def _row(self, param):
        for row in self._table()["params"]:
            if row["name"] == param:
                return row
        raise FirnError(f"{self._node or 'the shot'} has no parameter '{param}'", "not_found",
                        **self._where(param))

    def set(self, param, value, final=False):
        """Sets a value; final: one that counts in final quality only, above the other."""
        call("firn_graph_set_param", self._graph.handle, text(self._node), text(param),
             text(value_text(value)), int(final), **self._where(param))

    def get(self, param, frame=1.0):
        """The value that counts at a frame."""
        row = self._row(param)
        value = read_text("firn_graph_get_text", self._graph.handle, text(self._node),
                          text(param), float(frame), size=capi.TEXT_SIZE, **self._where(param))
        return _value_from_text(row["type"], value)

    def reset(self, param):
        """Back to the default."""
        call("firn_graph_reset", self._graph.handle, text(self._node), text(param),
             **self._where(param))

    def __getitem__(self, param):
        return self.get(param)

    def __setitem__(self, param, value):
        self.set(param, value)


class Shot(_Settings):
    """Settings of the whole graph: name, fps, first, last, quality, base, version, wedge."""

    def __init__(self, graph):
        super().__init__(graph, None)

    def _table(self):
        return capi.table_of("shot")


class Node(_Settings):
    """A node of a graph. It is known by its name."""

    def __init__(self, graph, name, type_name):
        super().__init__(graph, name)
        self.type = type_name

    @property
    def name(self):
        return self._node

    def __repr__(self):
        return f"<{self.type} {self.name}>"

    def _table(self):
        return capi.table_of(self.type)

    def set_keys(self, param, keys, interpolation="linear", final=False):
        """An animated value: (frame, value) with rising frames; value is a number or three."""
        rows = (capi.Key * len(keys))()
        for row, (frame, value) in zip(rows, keys):
            row.frame = frame
            parts = value if hasattr(value, "__len__") else [value]
            for i, part in enumerate(parts):
                row.value[i] = part
        call("firn_graph_set_keys", self._graph.handle, text(self.name), text(param), rows,
             len(keys), INTERPOLATIONS.index(interpolation), int(final), **self._where(param))

    def keys(self, param):
        """([(frame, value), ...], interpolation), or None when the value does not move."""
        count, interpolation = c_size_t(), c_int()
        rows = capi.load().firn_graph_keys(self._graph.handle, text(self.name), text(param),
                                          byref(count), byref(interpolation))
        if not rows:
            return None
        wide = self._row(param)["type"] == "vec3"
        keys = [(rows[i].frame, tuple(rows[i].value) if wide else rows[i].value[0])
                for i in range(count.value)]
        return keys, INTERPOLATIONS[interpolation.value]

    def path(self, param):
        """A path ready to open; frame tokens stay."""
        return read_text("firn_graph_get_path", self._graph.handle, text(self.name), text(param),
                         **self._where(param))

    def connect(self, source, slot=None):
        """Leads the output of another node into an input of this one."""
        self._graph.link(source, self, slot)

    def inputs(self, slot):
        """Names of the nodes at an input."""
        names = []
        while True:
            found = capi.load().firn_graph_input(self._graph.handle, text(self.name), text(slot),
                                                len(names))
            if found is None:
                return names
            names.append(string(found))

    @property
    def ui(self):
        """What a host keeps about the node, or None; kept in the file, otherwise ignored."""
        found = capi.load().firn_graph_ui(self._graph.handle, text(self.name))
        return json.loads(string(found)) if found else None

    @ui.setter
    def ui(self, value):
        call("firn_graph_set_ui", self._graph.handle, text(self.name),
             None if value is None else text(json.dumps(value)), node=self.name)


class Graph:
    """A scene. Used by one thread at a time; several graphs live side by side."""

    def __init__(self, handle=None):
        self._handle = None
        if handle is not None and not isinstance(handle, c_void_p):
            raise TypeError(f"Graph() is an empty scene; Graph.load({handle!r}) reads one")
        self._handle = handle or c_void_p()
        if handle is None:
            call("firn_graph_create", byref(self._handle))
        self.shot = Shot(self)

    @property
    def handle(self):
        """What the library calls the scene."""
        if self._handle is None:
            raise FirnError("the graph is closed")
        return self._handle

    def __del__(self):
        self.close()

    def close(self):
        """Releases everything; arrays of its outputs must not be used any more."""
        handle, self._handle = self._handle, None
        if handle:
            capi.load().firn_graph_destroy(handle)

    # --- Files -----------------------------------------------------------------------------------

    @classmethod
    def load(cls, path):
        """Reads a .firn file; messages name line, node and key."""
        handle = c_void_p()
        call("firn_graph_load", text(path), byref(handle))
        return cls(handle)

    @classmethod
    def loads(cls, scene, name="scene", folder="."):
        """The same from text, or from a dict; folder is where relative paths begin."""
        content = scene if isinstance(scene, str) else json.dumps(scene)
        encoded = content.encode("utf-8")
        handle = c_void_p()
        call("firn_graph_load_memory", encoded, len(encoded), text(name), text(folder),
             byref(handle))
        return cls(handle)

    def save(self, path, resolved=False):
        """Writes the scene; resolved: quality applied and paths absolute."""
        name = "firn_graph_save_resolved" if resolved else "firn_graph_save"
        call(name, self.handle, text(path))

    def dumps(self, resolved=False):
        return take_text("firn_graph_print", self.handle, resolved)

    def to_dict(self, resolved=False):
        return json.loads(self.dumps(resolved))

    def set_folder(self, folder):
        """Where relative paths begin."""
        call("firn_graph_set_folder", self.handle, text(folder))

    # --- Nodes and links -------------------------------------------------------------------------

    def add(*positional, **params):
        """add(type_name, name, **params): a new node; further arguments are parameters, which may
        themselves be called name."""
        self, type_name, name = positional
        call("firn_graph_add", self.handle, text(type_name), text(name), node=name)
        node = Node(self, name, type_name)
        for param, value in params.items():
            node.set(param, value)
        return node

    def remove(self, node):
        call("firn_graph_remove", self.handle, text(_name(node)), node=_name(node))

    def rename(self, node, name):
        call("firn_graph_rename", self.handle, text(_name(node)), text(name), node=_name(node))
        return self.node(name)

    def node(self, name):
        nodes = self.to_dict()["nodes"]
        if name not in nodes:
            raise FirnError(f"there is no node '{name}'", "not_found", node=name)
        return Node(self, name, nodes[name]["type"])

    @property
    def nodes(self):
        """All nodes in the order in which they were added."""
        return [Node(self, name, node["type"]) for name, node in self.to_dict()["nodes"].items()]

    def link(self, source, target, slot=None):
        """Leads the output of source into an input of target; None: the one of that kind."""
        call("firn_graph_link", self.handle, text(_name(source)), text(_name(target)), text(slot),
             node=_name(target), param=slot or "")

    def unlink(self, source, target, slot=None):
        call("firn_graph_unlink", self.handle, text(_name(source)), text(_name(target)),
             text(slot), node=_name(target), param=slot or "")

    # --- Validation ------------------------------------------------------------------------------

    def problems(self):
        """Everything that would stop a cook, and what is rarely meant, as Problem objects."""
        rows, count = POINTER(capi.ProblemRow)(), c_size_t()
        try:
            call("firn_graph_validate", self.handle, byref(rows), byref(count))
        except FirnError:
            if count.value == 0:
                raise
        return [Problem(rows[i]) for i in range(count.value)]

    def validate(self):
        """Raises the first error, with node and param."""
        for problem in self.problems():
            if problem.level == "error":
                raise FirnError(problem.message, problem.code, problem.node, problem.param)

    def check_inputs(self, all_frames=False, on_log=None):
        """Reads what comes from outside at the first and the last frame, or at all: a list of
        (node, code, message), empty when all is well. on_log hears what there is to say."""
        found = []

        def tell(node, result, message, _user):
            found.append((string(node), FirnError.from_result(result, "").code, string(message)))

        keep = capi.INPUT_TELL(tell)
        with _Listener(self, None, on_log, None) as listener:
            try:
                listener.run("firn_graph_check_inputs", bool(all_frames), keep, None, None)
            except FirnError:
                if not found:
                    raise
        return found

    def estimate(self, first=None, last=None, step=1):
        """Particles, memory, disk and time before anything is cooked: a dict with the fields of
        firn_estimate in firn/shot.h, warnings as a list of texts."""
        settings, row = self._frames(first, last, step), capi.EstimateRow()
        call("firn_graph_estimate", self.handle, byref(settings), byref(row))
        found = {name: getattr(row, name) for name, *_ in row._fields_
                 if name not in ("solvers", "solver_count", "warnings", "warning_count")}
        found["warnings"] = [string(row.warnings[i].value) for i in range(row.warning_count)]
        return found

    def _frames(self, first, last, step):
        settings = capi.BakeDef()
        capi.load().firn_bake_def_reset(byref(settings), capi.size_of(settings))
        settings.whole = first is None and last is None
        settings.first = int(self.shot["first"] if first is None else first)
        settings.last = int(self.shot["last"] if last is None else last)
        settings.step = int(step)
        return settings

    def hash(self, node=None):
        """A checksum of all that the result of a node (None: of all files) depends on."""
        return capi.load().firn_graph_hash(self.handle, text(node and _name(node)))

    # --- Cooking ---------------------------------------------------------------------------------

    def cook(self, node, frame, on_progress=None, on_log=None):
        """The output of a node at a frame; callbacks as in bake."""
        name = _name(node)
        data = POINTER(capi.Data)()
        with _Listener(self, on_progress, on_log, None) as listener:
            listener.run("firn_graph_cook", text(name), int(frame), byref(data))
        return Output(data.contents, self)

    def bake(self, first=None, last=None, step=1, resume=False, overwrite=False, only=None,
             from_cache=False, on_progress=None, on_log=None, on_frame=None):
        """Writes the cache. It runs until done and lets other Python threads run.

        Files that are there are not replaced (FirnError "exists") unless overwrite says so, and
        then each when the new one is done; resume keeps those that are whole and of these settings.

        only names the writing nodes to cook, a text or a list; from_cache cooks later stages from
        the particles of the cache, beside other processes and the simulation.

        on_progress(Progress) may return STOP (a checkpoint is written and FirnError "cancelled"
        raised) or CHECKPOINT; on_log(level, node, message); on_frame(frame, skipped, stats). They
        are called in the thread of the bake. An exception in one of them stops the bake.
        """
        settings = self._settings(first, last, step, resume, overwrite, only, from_cache)
        with _Listener(self, on_progress, on_log, on_frame) as listener:
            listener.run("firn_graph_bake", byref(settings))

    def wedge(self, *vary):
        """The variants of "node.param=a,b,c" or "node.param=from:to:count"; without any, of those
        that the scene lists under "vary"."""
        return Wedge(self, vary)

    def _settings(self, first=None, last=None, step=1, resume=False, overwrite=False, only=None,
                  from_cache=False):
        settings = self._frames(first, last, step)
        settings.resume = bool(resume)
        settings.overwrite = bool(overwrite)
        settings.from_cache = bool(from_cache)
        if only is not None:
            settings.only = text(only if isinstance(only, str) else " ".join(only))
        return settings

    @property
    def cache(self):
        """The cache of this graph on disk, as it is now."""
        return Cache(self.cache_folder)

    @property
    def cache_folder(self):
        return read_text("firn_graph_cache_folder", self.handle)

    @property
    def cache_state(self):
        """"none", "stale" (cooked from other settings or files), "partial" or "complete"."""
        state = c_int()
        call("firn_graph_cache_state", self.handle, byref(state))
        return string(capi.load().firn_cache_state_name(state.value))

    def cook_count(self, node):
        return capi.load().firn_graph_cook_count(self.handle, text(_name(node)))


def _name(node):
    return node if isinstance(node, str) else node.name


class Wedge:
    """The same shot with many values of some parameters, a cache for each. len() counts the
    variants; wedge[3] is the values of one, {"node.param": "value"}."""

    def __init__(self, graph, vary=()):
        self.graph, self.handle = graph, c_void_p()
        words = [text(word) for word in vary]
        call("firn_wedge_create", graph.handle, (c_char_p * len(words))(*words), len(words),
             byref(self.handle))

    def __del__(self):
        if self.handle:
            capi.load().firn_wedge_destroy(self.handle)

    def __len__(self):
        return capi.load().firn_wedge_count(self.handle)

    def __getitem__(self, variant):
        if not 0 <= variant < len(self):
            raise IndexError(variant)
        library = capi.load()
        return {string(library.firn_wedge_axis(self.handle, axis)):
                string(library.firn_wedge_value(self.handle, variant, axis))
                for axis in range(library.firn_wedge_axis_count(self.handle))}

    def apply(self, variant):
        """Gives the graph the values of a variant, and its folder."""
        call("firn_wedge_apply", self.handle, variant, self.graph.handle)

    def bake(self, variant, on_progress=None, on_log=None, on_frame=None, **settings):
        """Applies a variant and writes its cache, with the settings of Graph.bake; wedges.csv
        beside the folders of the variants says how it is doing."""
        settings = self.graph._settings(**settings)
        with _Listener(self.graph, on_progress, on_log, on_frame) as listener:
            listener.run_with("firn_wedge_bake", self.handle, variant, self.graph.handle,
                              byref(settings))

    def sheet(self):
        """Draws the last frame of every variant into contact_sheet.png beside their folders."""
        call("firn_wedge_sheet", self.handle, self.graph.handle)


class _Listener:
    """Callbacks during one call of the library; the first exception in them is raised after it."""

    def __init__(self, graph, on_progress, on_log, on_frame):
        self.graph, self.raised = graph, None

        def progress(report, _):
            if self.raised is not None:
                return STOP
            answer = self.guard(lambda: on_progress(Progress(report.contents)))
            return STOP if self.raised else answer if answer in (STOP, CHECKPOINT) else 0

        def log(level, node, message, _):
            self.guard(lambda: on_log(LEVELS[level], string(node), string(message)))

        def frame_done(frame, skipped, stats, count, _):
            self.guard(lambda: on_frame(frame, bool(skipped), capi.stats_of(stats, count)))

        # Without a progress function nothing could stop after an exception in another one.
        listens = on_progress or on_log or on_frame
        if listens and not on_progress:
            on_progress = lambda report: None
        self.host = capi.Host(
            capi.ProgressFunction(progress if listens else 0),
            capi.LogFunction(log if on_log else 0),
            capi.FrameFunction(frame_done if on_frame else 0), None)

    def guard(self, body):
        try:
            return body()
        except BaseException as reason:  # passed on once the library has returned
            self.raised = self.raised or reason
            return STOP

    def __enter__(self):
        capi.load().firn_graph_set_host(self.graph.handle, byref(self.host))
        return self

    def __exit__(self, *_):
        capi.load().firn_graph_set_host(self.graph.handle, None)

    def run(self, name, *arguments):
        self.run_with(name, self.graph.handle, *arguments)

    def run_with(self, name, *arguments):
        try:
            call(name, *arguments)
        except FirnError as error:
            if self.raised is not None:
                raise self.raised
            error.node = string(capi.load().firn_graph_failed_node(self.graph.handle))
            raise
        if self.raised is not None:
            raise self.raised


# --- Files ---------------------------------------------------------------------------------------

def _read(node, path, frame, params):
    graph = Graph()
    graph.add(node, "file", file=path, **params)
    return graph.cook("file", frame)


def read_particles(path, frame=1, **params):
    """The points of a file (.bgeo, .geo, .abc, .vdb) as Particles; params are those of the node
    read_particles."""
    return _read("read_particles", path, frame, params).particles


def read_volume(path, frame=1, **params):
    """The voxels of a .vdb file as a Volume; params are those of the node read_volume."""
    return _read("read_volume", path, frame, params).volume
