"""A network of Firn's nodes in Houdini as a scene, the JSON that the firn command cooks."""

import json
import os
import re

from . import Problem, inputs, links, parms, tables, wedges
from .cache import Store

READERS = {"particles": ("read_particles", "bgeo"), "volume": ("read_volume", "vdb")}
WRITERS = {"particles": ("write_particles", {"format": "bgeo"}),
           "volume": ("write_volume", {})}
RESULT = "result"  # the writer behind a node that shows its own result


def read_shot(node):
    """The settings of the tab Shot."""
    shot = {row["name"]: parms.value(node, row, (1, 1), "shot_") for row in tables.shot_rows()}
    shot["name"] = re.sub(r"[^A-Za-z0-9_-]", "_", shot["name"])
    shot["base"] = os.path.abspath(shot["base"])
    if shot["wedge"] < 0:
        shot["wedge"] = wedges.of_work_item()
    if shot["last"] < shot["first"]:
        raise Problem(f"{node.path()}: the last frame, {shot['last']}, is before the first, "
                      f"{shot['first']}")
    return shot


def graph_name(text):
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if name[:1].isalpha() else "n" + name


class Collector:
    """Gathers nodes, the files that they need and what there is to say about them."""

    def __init__(self, node, shot=None):
        self.shot = shot or read_shot(node)
        self.frames = (self.shot["first"], self.shot["last"])
        self.nodes, self.names = {}, {}
        self.saved, self.warnings = [], []

    def new_name(self, wanted):
        name, number = graph_name(wanted), 1
        while name in self.nodes:
            number += 1
            name = f"{graph_name(wanted)}_{number}"
        return name

    def put(self, name, type_name, params=None, inputs=None, final=None):
        entry = {"type": type_name, "params": params or {}, "final": final, "inputs": inputs}
        self.nodes[name] = {key: value for key, value in entry.items() if value}
        return name

    def add(self, node):
        """Adds a node of Firn and all behind it; returns its name in the scene."""
        if node.path() in self.names:
            return self.names[node.path()]
        table = tables.table_of(node)
        name = self.new_name(node.name())
        self.nodes[name] = {}  # taken
        self.names[node.path()] = name
        values = parms.values(node, table["params"], self.frames, "", self.warnings)
        if table["shape"] and node.parm("use_input").evalAsInt():
            self.take_geometry(node, table, name, values)
        if node.parm("motion") is not None:
            self.take_motion(node, values)
        ports = {port["name"]: self.port(node, port) for port in table["inputs"]}
        return self.put(name, table["node"], values, {k: v for k, v in ports.items() if v},
                        parms.final_values(node))

    def port(self, node, port):
        """What an input of a scene's node holds: a name, or a list of names."""
        if port["kind"] in READERS:
            names = self.upstream(node, port)
        else:
            names = [self.add(other) for other in links.described(node, port)]
        return names if port["many"] else "".join(names)

    def upstream(self, node, port):
        """What particles or volumes come from: a node of Firn, or saved geometry."""
        other = links.feeding(node, port)
        if other is None:
            return []
        table = tables.table_of(other)
        if table is None:
            index = links.input_index(tables.table_of(node), port)
            return [self.reader(node, index, port["kind"], self.every_frame())]
        if table["output"] != port["kind"]:
            raise Problem(f"{node.path()}: {other.path()} makes no {port['kind']}")
        return [self.add(other)]

    def reader(self, node, index, kind, frames):
        """A node that reads what Houdini saves of an input."""
        type_name, ending = READERS[kind]
        name = self.new_name(node.name() + "_input")
        item = inputs.Saved(node, index, name, ending, frames)
        self.saved.append(item)
        return self.put(name, type_name, {"file": item.pattern})

    def every_frame(self):
        return list(range(self.frames[0], self.frames[1] + 1))

    def take_geometry(self, node, table, name, values):
        """Replaces the shape by the geometry at the first input."""
        geometry = node.inputGeometry(0)
        if geometry is None:
            return
        kind = inputs.kind_of(geometry, node)
        deforms = node.parm("motion") is not None and \
            node.parm("motion").evalAsString() == "deforming"
        values.pop("object", None)
        if kind == "alembic":
            values["file"], object_path = inputs.alembic_source(geometry, node)
            if object_path:
                values["object"] = object_path
        else:
            frames = self.every_frame() if deforms else [self.frames[0]]
            ending = "vdb" if kind == "level_set" else "obj"
            item = inputs.Saved(node, 0, name, ending, frames)
            self.saved.append(item)
            values["file"] = item.pattern
        values[table["shape"]] = "level_set" if kind == "level_set" else "mesh"
        if deforms:
            values["deforming"] = True

    def take_motion(self, node, values):
        """The transform of an object as the motion of a collider."""
        if node.parm("motion").evalAsString() != "rigid":
            return
        path = node.parm("motion_object").evalAsString()
        target = node.node(path) if path else None
        if target is None:
            raise Problem(f"{node.path()}: there is no object '{path}' to follow")
        moves = {"translation": [], "rotation": [], "scale": []}
        for frame in self.every_frame():
            matrix = target.worldTransformAtTime((frame - 1) / self.shot["fps"])
            size = matrix.extractScales()
            if max(size) - min(size) > 1e-3 * max(size):
                raise Problem(f"{node.path()}: {target.path()} is stretched at frame {frame}; "
                              "a collider can only be scaled evenly")
            moves["translation"].append([float(f"{v:.9g}") for v in matrix.extractTranslates()])
            moves["rotation"].append([float(f"{v:.9g}") for v in matrix.extractRotates()])
            moves["scale"].append(float(f"{size[0]:.9g}"))
        moves["rotation"] = without_jumps(moves["rotation"])
        for name, sequence in moves.items():
            values[name] = sequence[0] if all(v == sequence[0] for v in sequence) else \
                {"from": self.frames[0], "values": sequence}

    def shared(self, node, port):
        """What a node above, such as the solver, has at its own port of the same kind."""
        for other in chain(node):
            for own in tables.table_of(other)["inputs"]:
                if own["kind"] == port["kind"]:
                    found = self.nodes[self.add(other)].get("inputs", {}).get(own["name"])
                    return self.field_of(found) if port["name"] == "field" else found
        return None

    def field_of(self, sources):
        """The cover that goes on as a field in pictures; None: there is none."""
        return next((name for name in sources or [] if self.nodes[name]["type"] == "snow_cover" and
                     self.nodes[name].get("params", {}).get("border", 0) > 0), None)

    def text(self):
        shot = self.shot
        scene = {"firn": 1, "name": shot["name"], "fps": shot["fps"], "frames": list(self.frames),
                 "quality": shot["quality"], "base": shot["base"], "version": shot["version"]}
        if shot["wedge"] >= 0:
            scene["wedge"] = shot["wedge"]
        if shot["comment"]:
            scene["comment"] = shot["comment"]
        scene["nodes"] = self.nodes
        return json.dumps(scene, indent=1) + "\n"

    def store(self):
        return Store(self.text(), self.shot["name"])


def without_jumps(rotations):
    """The same rotations with the angles that are nearest to those before: every rotation has two
    sets of them, each with any number of full turns, and a matrix does not say which."""
    result = [rotations[0]]
    for x, y, z in rotations[1:]:
        choices = [[a - 360.0 * round((a - b) / 360.0) for a, b in zip(angles, result[-1])]
                   for angles in ([x, y, z], [x + 180.0, 180.0 - y, z + 180.0])]
        result.append(min(choices, key=lambda angles: sum(abs(a - b) for a, b in
                                                          zip(angles, result[-1]))))
    return result


def of_result(node):
    """The scene of a node that shows its own result: all behind it and one that writes it."""
    collector = Collector(node)
    kind = tables.table_of(node)["output"]
    name = collector.add(node)
    type_name, params = WRITERS[kind]
    collector.put(collector.new_name(RESULT), type_name, params, {kind: name})
    return collector


def frame_port(collector, node, port, source):
    """As Collector.port, with particles and volumes from the file of the frame."""
    if port["kind"] not in READERS:
        return collector.port(node, port)
    other = links.feeding(node, port)
    if other is None:
        return [] if port["many"] else ""
    path = source(node, other, port, collector.frames[0])
    if path is None:
        index = links.input_index(tables.table_of(node), port)
        name = collector.reader(node, index, port["kind"], [collector.frames[0]])
    else:
        name = collector.put(collector.new_name(port["name"]), READERS[port["kind"]][0],
                             {"file": path})
    return [name] if port["many"] else name


def of_frame(node, frame, source):
    """The scene of one frame of a node that does not simulate; source gives the file of an input,
    or None where it must be saved."""
    shot = read_shot(node)
    collector = Collector(node, dict(shot, first=frame, last=frame))
    table = tables.table_of(node)
    ports = {port["name"]: frame_port(collector, node, port, source)
             for port in table["inputs"]}
    values = parms.values(node, table["params"], collector.frames, "", collector.warnings)
    name = collector.put(collector.new_name(node.name()), table["node"], values,
                         {k: v for k, v in ports.items() if v}, parms.final_values(node))
    type_name, params = WRITERS[table["output"]]
    collector.put(RESULT, type_name, params, {table["output"]: name})
    return collector


def of_cache(node):
    """The scene of a cache: all behind it and the writers of its tabs."""
    collector = Collector(node)
    path = node.parm("network").evalAsString()
    other = links.wired_node(node, 0) or (node.node(path) if path else None)
    table = tables.table_of(other)
    if table is None or table["output"] not in READERS:
        raise Problem(f"{node.path()}: connect a Firn node that makes particles or volumes, "
                      "or name it under Network")
    collector.add(other)
    written = 0
    for writer in tables.writers():
        source = nearest(other, writer["inputs"][0]["kind"])
        if not node.parm(writer["name"]).evalAsInt() or source is None:
            continue
        values = parms.values(node, writer["params"], collector.frames, writer["name"] + "_",
                              collector.warnings)
        ports = {writer["inputs"][0]["name"]: collector.add(source)}
        for port in writer["inputs"][1:]:
            ports[port["name"]] = collector.shared(other, port)
        collector.put(collector.new_name(writer["name"]), writer["name"], values,
                      {name: value for name, value in ports.items() if value})
        written += 1
    if written == 0:
        raise Problem(f"{node.path()}: nothing is to be written; turn on one of the tabs")
    return collector


def chain(node):
    """The node and those above it that its particles and volumes come from."""
    while tables.table_of(node) is not None:
        yield node
        ports = [port for port in tables.table_of(node)["inputs"] if port["kind"] in READERS]
        node = next((links.feeding(node, port) for port in ports), None)


def nearest(node, kind):
    """The node itself or the first above it that makes this kind; None: there is none."""
    return next((n for n in chain(node) if tables.table_of(n)["output"] == kind), None)
