"""A scene as a network of Firn's nodes: the way back, and the tools of the shelf."""

import json
import os

import hou

from . import Problem, presets, scene, tables


def scenes_folder():
    """Where the example shots are: $FIRN_SCENES or those of the package."""
    return os.environ.get("FIRN_SCENES") or os.path.join(os.environ.get("FIRN", ""), "share",
                                                         "firn", "scenes")


def from_shelf(name):
    """Builds an example in a new object and shows it."""
    path = os.path.join(scenes_folder(), name + ".firn")
    if not os.path.exists(path):
        raise hou.OperationFailed(f"the example {path} is not there; set FIRN_SCENES")
    parent = hou.node("/obj").createNode("geo", name)
    for child in parent.children():
        child.destroy()
    try:
        return load(path, parent)
    except Problem as problem:
        raise hou.OperationFailed(str(problem))


def load(path, parent):
    """Makes the nodes of a scene inside a geometry object; returns the cache node, or the last."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    folder = os.path.dirname(os.path.abspath(path))
    made, writers = {}, {}
    for name, entry in content["nodes"].items():
        asset = tables.asset_of_type(entry["type"])
        if asset is None:
            writers[name] = entry
            continue
        made[name] = parent.createNode(tables.operator(asset), name)
        set_values(made[name], tables.table_of(made[name])["params"], entry, folder)
    for name, node in made.items():
        connect(node, content["nodes"][name].get("inputs", {}), made)
        if tables.makes_result(node):
            set_shot(node, content)
    end = list(made.values())[-1]
    if writers:
        cache, end = make_cache(parent, content, writers, made)
    parent.layoutChildren()
    end.setDisplayFlag(True)
    return cache if writers else end


def set_values(node, rows, entry, folder, prefix=""):
    values = entry.get("params", {})
    if "preset" in values:
        node.parm("preset").set(preset_index(rows, values["preset"]))
        presets.apply(node)
    for row in rows:
        if row["name"] not in values:
            continue
        value = values[row["name"]]
        if isinstance(value, dict):
            set_keys(node, row, value)
        else:
            if row["type"] == "path" and value and not os.path.isabs(value):
                value = os.path.join(folder, value)
            presets.set_parm(node, row, value, prefix)
    if entry.get("final") and not prefix:
        node.parm("final_values").set(" ".join(final_word(k, v)
                                               for k, v in entry["final"].items()))


def preset_index(rows, value):
    return next(row for row in rows if row["name"] == "preset")["choices"].index(value)


def final_word(name, value):
    text = value if isinstance(value, str) else json.dumps(value)
    return f"'{name}={text}'" if any(c in text for c in " \"") else f"{name}={text}"


def set_keys(node, row, value):
    """Keys of a scene as keyframes."""
    if "keys" in value:
        keys, expression = value["keys"], {"constant": "constant()", "linear": "linear()",
                                           "smooth": "spline()"}[
            value.get("interpolation", "linear")]
    else:
        keys, expression = list(enumerate(value["values"], value["from"])), "linear()"
    for frame, numbers in keys:
        parts = numbers if isinstance(numbers, list) else [numbers]
        for parm, number in zip(node.parmTuple(row["name"]), parts):
            key = hou.Keyframe()
            key.setFrame(frame)
            key.setValue(number)
            key.setExpression(expression, hou.exprLanguage.Hscript)
            parm.setKeyframe(key)


def connect(node, given, made):
    """Wires for one node, a merge for several, paths where a wire is taken already."""
    table = tables.table_of(node)
    offset = 1 if table["shape"] else 0
    for index, port in enumerate(table["inputs"]):
        names = given.get(port["name"]) or []
        names = [names] if isinstance(names, str) else names
        if len(names) == 1:
            node.setInput(index + offset, made[names[0]])
        elif names:
            merge = node.parent().createNode("merge", f"{node.name()}_{port['name']}")
            for number, name in enumerate(names):
                merge.setInput(number, made[name])
            node.setInput(index + offset, merge)


def set_shot(node, content, name=None):
    """The shot of a scene; the base stays Houdini's."""
    first, last = content.get("frames", [1, 48])
    values = {"fps": content.get("fps", 24), "first": first, "last": last,
              "version": content.get("version", 1)}
    if name:
        values.update(name=name, comment=content.get("comment", ""),
                      quality=content.get("quality", "preview"))
    for row in tables.shot_rows():
        if row["name"] in values:
            presets.set_parm(node, row, values[row["name"]], "shot_")


def make_cache(parent, content, writers, made):
    """One cache node for everything that writes files, and the end of the network above it."""
    cache = parent.createNode(tables.operator(tables.CACHE), "cache")
    set_shot(cache, content, content.get("name"))
    sources = {}
    for writer in tables.writers():
        entries = [e for e in writers.values() if e["type"] == writer["name"]]
        cache.parm(writer["name"]).set(len(entries))
        if len(entries) > 1:
            raise Problem(f"the scene has {len(entries)} nodes {writer['name']}; a cache has one")
        if not entries:
            continue
        entry, = entries
        sources[writer["inputs"][0]["kind"]] = made[entry["inputs"][writer["inputs"][0]["name"]]]
        set_values(cache, writer["params"], entry, "", writer["name"] + "_")
    # The end of the chain: the volume's node has the particles' above it.
    ends = [node for node in sources.values()
            if all(scene.nearest(node, kind) is other for kind, other in sources.items())]
    if not ends:
        raise Problem("the files of this scene come from branches that one cache cannot follow")
    cache.parm("network").set(ends[0].path())
    return cache, ends[0]
