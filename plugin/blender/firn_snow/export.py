"""A node tree as a .firn scene, and back."""

import getpass
import json
import os
import re
import tempfile

import bpy
from bpy.props import StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from . import axes, drivers, firn, host, layout, motion, nodes, properties, state

PREFIX = properties.PREFIX


# --- Names ---------------------------------------------------------------------------------------

def names_of(tree):
    """Each node's name in the scene file: letters, digits and '_', a letter first."""
    names, used = {}, set()
    for node in tree.nodes:
        if not nodes.is_firn(node):
            continue
        name = re.sub(r"[^A-Za-z0-9_]+", "_", node.name).strip("_") or node.firn_type
        if not name[0].isalpha():
            name = "n_" + name
        name = unique = name[:48]
        count = 2
        while unique in used:
            unique = f"{name}_{count}"
            count += 1
        used.add(unique)
        names[node.name] = unique
    return names


def node_by_name(tree, name):
    """The node that has this name in the scene file."""
    for node_name, found in names_of(tree).items():
        if found == name:
            return tree.nodes[node_name]
    return None


def shot_name(tree):
    wanted = tree.p_name or tree.name
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", wanted).strip("._") or "snow"


def is_homeless(tree):
    """Whether caches would stand beside a .blend file that was never saved."""
    return tree.p_base.startswith("//") and not bpy.data.filepath


def cache_base(tree):
    """The folder of caches. A file that was never saved has none: then a temporary one."""
    base = os.path.expandvars(tree.p_base)
    if is_homeless(tree):
        return os.path.join(tempfile.gettempdir(), f"firn_cache_{getpass.getuser()}")
    return os.path.normpath(os.path.abspath(bpy.path.abspath(base or "//")))


def cache_folder(tree):
    """<base>/<name>/v<version>[/w<wedge>], as the command line has it."""
    folder = os.path.join(cache_base(tree), shot_name(tree), f"v{tree.p_version}")
    return os.path.join(folder, f"w{tree.p_wedge}") if tree.p_wedge >= 0 else folder


# --- Out -----------------------------------------------------------------------------------------

def scene_of(tree, scene):
    """The tree as the contents of a .firn file, paths absolute."""
    names = names_of(tree)
    first, last = tree.frame_range(scene)
    made = {"firn": 1, "name": shot_name(tree),
            "fps": properties.short(scene.render.fps / scene.render.fps_base),
            "frames": [first, last], "quality": tree.p_quality, "base": cache_base(tree),
            "version": tree.p_version}
    if tree.p_wedge >= 0:
        made["wedge"] = tree.p_wedge
    if tree.p_comment:
        made["comment"] = tree.p_comment
    made["nodes"] = {names[node.name]: _node_scene(node, names, first, last)
                     for node in tree.nodes if nodes.is_firn(node) and not node.mute}
    return made


def graph_of(tree, scene):
    made = scene_of(tree, scene)
    try:
        return firn.Graph.loads(made, name="tree", folder=cache_base(tree))
    except firn.FirnError as error:
        # "tree:1: ground.friction is 2; ...": a line of a file that there is not, and a node.
        place = re.match(r"tree:\d+: ((\w+)\..*)", error.message, re.DOTALL)
        if place is None or place[2] not in made["nodes"]:
            raise
        raise firn.FirnError(place[1], error.code, place[2]) from None


def os_sentence(error):
    """What the system says about a file."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _node_scene(node, names, first, last):
    made = {"type": node.firn_type}
    params = _params(node, names[node.name], first, last)
    if node.uses_object():
        params.update(_object_params(node, names))
    final = {name: node.firn_value(node.row(name), properties.FINAL_PREFIX)
             for name in node.final_names.split() if node.is_visible(node.row(name))}
    inputs = _inputs(node, names)
    for key, value in (("params", params), ("final", final), ("inputs", inputs)):
        if value:
            made[key] = value
    made["ui"] = {"place": [round(v) for v in node.location], "width": round(node.width)}
    if getattr(node, "scene_object", None) is not None:
        made["ui"]["object"] = node.scene_object.name
    return made


def _object_params(node, names):
    """What the last bake found out about the object, or the file that the next one will write."""
    if node.input_json:
        return _where_it_is_now(json.loads(node.input_json), node)
    if node.value(node.choice()) == "plane":
        return {}
    return {"file": os.path.join(cache_folder(node.id_data), "inputs", f"{names[node.name]}.abc")}


def _where_it_is_now(params, node):
    """Meshes that a bake wrote are in the cache, wherever that has gone since."""
    if os.path.splitext(params.get("file", ""))[1] == ".abc":
        params["file"] = os.path.join(cache_folder(node.id_data), "inputs",
                                      os.path.basename(params["file"]))
    return params


def _params(node, own_name, first, last):
    params, base, driven = {}, node.base(), drivers.samples_of(node)
    for row in node.rows:
        name = row["name"]
        if not node.is_visible(row):
            continue
        if drivers.curves_of(node, PREFIX + name):
            moving = motion.keys_of(row, driven[name].items()) if name in driven else None
        else:
            moving = motion.sample(node, PREFIX + name, row, first, last)
        if moving is not None:
            if not row["animated"]:
                raise firn.FirnError(f"{row['label']} cannot change in time: the simulation takes "
                                     "it over at its start", "argument", own_name, name)
            params[name] = _firn_keys(row, *moving)
            continue
        value = node.firn_value(row)
        usual = row["default"] if name == "preset" else base[name]
        if not properties.same(row, value, usual):
            params[name] = value
    return params


def _firn_keys(row, keys, interpolation):
    kind, near, made = axes.kind_of(row), None, []
    for frame, value in keys:
        if kind != "plain":
            value = near = axes.to_firn(kind, value, None, near)
        made.append([frame, properties.plain_value(row, value)])
    return {"keys": made, "interpolation": interpolation}


def _inputs(node, names):
    inputs = {}
    for slot in host.table(node.firn_type)["inputs"]:
        socket = next((s for s in node.inputs if s.identifier == slot["name"]), None)
        found = [names[source.name] for source in _sources(socket)] if socket else []
        if found:
            inputs[slot["name"]] = found if slot["many"] else found[0]
    return inputs


def _sources(socket):
    """Nodes behind a socket, through reroutes; muted ones do not count."""
    found = []
    for link in socket.links:
        node, steps = link.from_node, 0
        while node.bl_idname == "NodeReroute" and node.inputs[0].links and steps < 1000:
            node, steps = node.inputs[0].links[0].from_node, steps + 1
        if nodes.is_firn(node) and not node.mute and node not in found:
            found.append(node)
    return found


def write_scene(tree, scene, path):
    """Writes a .firn file; files that are below its folder are named relative to it."""
    folder = os.path.dirname(os.path.abspath(path))
    made = scene_of(tree, scene)
    made["base"] = _relative(made["base"], folder)
    for node in made["nodes"].values():
        table = host.table(node["type"])
        for row in table["params"]:
            if row["type"] == "path" and node.get("params", {}).get(row["name"]):
                node["params"][row["name"]] = _relative(node["params"][row["name"]], folder)
    os.makedirs(folder, exist_ok=True)
    firn.Graph.loads(made, name=path, folder=folder).save(path)


def _relative(path, folder):
    inside = os.path.commonpath([path, folder]) == folder
    return os.path.relpath(path, folder) if inside else path


# --- In ------------------------------------------------------------------------------------------

def read_scene(tree, scene, path, whole=True):
    """Adds the nodes of a .firn file; whole: also takes over its shot settings."""
    graph = firn.Graph.load(path)
    content = graph.to_dict()
    folder = os.path.dirname(os.path.abspath(path))
    with state.silence():
        if whole:
            _take_shot(tree, scene, content, folder)
        made = {name: _add_node(tree, name, node, folder)
                for name, node in content["nodes"].items()}
        for name, node in content["nodes"].items():
            _add_links(tree, made, made[name], node.get("inputs", {}))
        placed = all("place" in (node.get("ui") or {}) for node in content["nodes"].values())
        if not placed:
            layout.arrange(tree, list(made.values()))
    state.touch(tree)
    return list(made.values())


def _take_shot(tree, scene, content, folder):
    tree.p_name = content["name"]
    tree.use_scene_range = False
    tree.first_frame, tree.last_frame = content["frames"]
    scene.render.fps, scene.render.fps_base = _fps(content.get("fps", 24))
    for name in ("quality", "version", "wedge", "comment"):
        if name in content:
            setattr(tree, PREFIX + name, content[name])
    if "base" in content:
        tree.p_base = os.path.normpath(os.path.join(folder, content["base"]))


def _fps(rate):
    """Blender's two numbers for a rate such as 23.976."""
    whole = max(1, round(rate))
    return whole, whole / rate


def _add_node(tree, name, content, folder):
    node = tree.nodes.new(nodes.idname(content["type"]))
    node.name = name
    params, final = content.get("params", {}), content.get("final", {})
    if "preset" in params:
        node.p_preset = params["preset"]
    for row in node.rows:
        if row["name"] in params:
            _set(node, row, params, False, folder)
        elif nodes.DEFAULTS.get((node.firn_type, row["name"])):
            setattr(node, PREFIX + row["name"], row["default"])
        if row["name"] in final:
            _set(node, row, final, True, folder)
    ui = content.get("ui") or {}
    if "place" in ui:
        node.location, node.width = ui["place"], ui.get("width", node.width)
    found = bpy.data.objects.get(str(ui.get("object", "")))
    if found is not None and hasattr(node, "scene_object"):
        shape = {key: params[key] for key in ("shape", "region") if key in params}
        node.scene_object = found
        for key, value in shape.items():
            setattr(node, PREFIX + key, value)
        exported = set(nodes.FROM_OBJECT[node.firn_type].split()) | {"shape", "region"}
        node.input_json = json.dumps({k: v for k, v in params.items() if k in exported})
    return node


def _set(node, row, values, final, folder):
    value, name = values[row["name"]], row["name"]
    if isinstance(value, dict):
        motion.insert(node, PREFIX + name, _blender_keys(row, value), value["interpolation"])
        return
    if row["type"] == "path" and value:
        path = os.path.normpath(os.path.join(folder, os.path.expandvars(value)))
        node.set_value(name, path, final)
    else:
        node.set_firn_value(row, values, final)


def _blender_keys(row, value):
    kind, near, keys = axes.kind_of(row), None, []
    for frame, numbers in value["keys"]:
        if row["type"] == "vec3":
            numbers = near = axes.from_firn(kind, numbers, None, near)
        elif row["type"] == "choice":
            numbers = row["choices"].index(numbers) if isinstance(numbers, str) else numbers
        keys.append((frame, numbers))
    return keys


def _add_links(tree, made, node, inputs):
    for slot, names in inputs.items():
        socket = next(s for s in node.inputs if s.identifier == slot)
        for name in names if isinstance(names, list) else [names]:
            tree.links.new(made[name].outputs[0], socket)


# --- Operators -----------------------------------------------------------------------------------

class TreeOperator:
    """Works on the tree of the node editor, or on the one that is named."""

    tree: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    @classmethod
    def poll(cls, context):
        return True

    def find_tree(self, context):
        if self.tree:
            return bpy.data.node_groups.get(self.tree)
        space = context.space_data
        found = getattr(space, "edit_tree", None) or getattr(space, "node_tree", None)
        return found if getattr(found, "bl_idname", "") == "FirnSnowTree" else None

    def need_tree(self, context):
        found = self.find_tree(context)
        if found is None:
            self.report({"ERROR"}, "Open a Firn Snow node tree first")
        return found


class FIRN_OT_export(TreeOperator, bpy.types.Operator, ExportHelper):
    """Write the node tree as a .firn scene, which the firn command cooks to the same files"""
    bl_idname = "firn.export_scene"
    bl_label = "Export .firn"
    filename_ext = ".firn"
    filter_glob: StringProperty(default="*.firn", options={"HIDDEN"})
    tree: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context):
        tree = self.need_tree(context)
        if tree is None:
            return {"CANCELLED"}
        from . import bake
        try:
            bake.export_inputs(tree, context)
            write_scene(tree, context.scene, self.filepath)
        except firn.FirnError as error:
            state.show_problem(tree, error.node, error.message)
            self.report({"ERROR"}, error.message)
            return {"CANCELLED"}
        except OSError as error:
            self.report({"ERROR"}, os_sentence(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"Wrote {self.filepath}")
        return {"FINISHED"}


class FIRN_OT_import(TreeOperator, bpy.types.Operator, ImportHelper):
    """Read a .firn scene into a node tree"""
    bl_idname = "firn.import_scene"
    bl_label = "Import .firn"
    bl_options = {"REGISTER", "UNDO"}
    filename_ext = ".firn"
    filter_glob: StringProperty(default="*.firn", options={"HIDDEN"})
    tree: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context):
        tree = self.find_tree(context)
        whole = tree is None or len(tree.nodes) == 0
        try:
            if tree is None:
                firn.Graph.load(self.filepath).close()
                tree = new_tree(os.path.splitext(os.path.basename(self.filepath))[0], context)
            read_scene(tree, context.scene, self.filepath, whole)
        except firn.FirnError as error:
            self.report({"ERROR"}, error.message)
            return {"CANCELLED"}
        return {"FINISHED"}


def new_tree(name, context):
    """A tree that the file keeps, shown in the node editor if there is one."""
    tree = bpy.data.node_groups.new(name, "FirnSnowTree")
    tree.use_fake_user = True
    space = context.space_data
    if getattr(space, "tree_type", "") == "FirnSnowTree":
        space.node_tree = tree
    return tree


def _draw_export(self, context):
    self.layout.operator(FIRN_OT_export.bl_idname, text="Firn Snow (.firn)")


def _draw_import(self, context):
    self.layout.operator(FIRN_OT_import.bl_idname, text="Firn Snow (.firn)")


_classes = (FIRN_OT_export, FIRN_OT_import)


def register():
    for made in _classes:
        bpy.utils.register_class(made)
    bpy.types.TOPBAR_MT_file_export.append(_draw_export)
    bpy.types.TOPBAR_MT_file_import.append(_draw_import)


def unregister():
    bpy.types.TOPBAR_MT_file_import.remove(_draw_import)
    bpy.types.TOPBAR_MT_file_export.remove(_draw_export)
    for made in reversed(_classes):
        bpy.utils.unregister_class(made)
