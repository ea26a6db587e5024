"""What an asset is made of: the rows of the node tables and the parameters that Houdini needs.

assets(tables) turns the output of `firn describe --json` into a list of Asset. Which nodes become
assets follows from the tables alone: a node that makes something becomes an operator of its own;
nodes that only write files become tabs of the operator snow_cache.
"""

import itertools
from dataclasses import dataclass, field

NAMESPACE, VERSION, CACHE = "firn", "1.0", "snow_cache"

# Houdini's spelling of units; the others have none and stand in the help only.
UNITS = {"m": "m1", "s": "s1", "kg": "kg1", "m/s": "m1s-1", "m/s^2": "m1s-2", "rad/s": "s-1",
         "1/s": "s-1", "1/m": "m-1", "kg/m^3": "kg1m-3", "Pa": "kg1m-1s-2"}
TYPES = {"bool": "toggle", "int": "integer", "float": "float", "double": "float", "vec3": "vector",
         "choice": "ordinal", "string": "string", "path": "file"}

# Where Houdini's user expects another default than the tables have.
SHOT_DEFAULTS = {"name": "$OS", "fps": "$FPS", "first": "$FSTART", "last": "$FEND",
                 "base": "$HIP/geo"}
# What a cache writes unless it is switched off; bodies are not in every shot.
ALWAYS_WRITTEN = ("write_particles", "write_volume", "write_surface", "write_height")
WRITER_DEFAULTS = {"write_particles.format": "bgeo", "write_particles.name": "",
                   "write_volume.name": "", "write_bodies.name": "bodies"}

# When the geometry at the first input counts, and the parameters that it takes the place of.
TAKEN = "use_input == 1 hasinput(0) == 1"
REPLACED = ("file", "object", "deforming")

# Words that are not written as they are named.
LABELS = {"vdb": "VDB"}

# File types for the chooser, by what the node makes.
FILE_PATTERNS = {"source": "*.obj *.abc *.vdb *.bgeo *.geo", "collider": "*.obj *.abc *.vdb",
                 "particles": "*.bgeo *.geo *.abc *.vdb", "volume": "*.vdb"}


@dataclass
class Parm:
    """A parameter; `row` is the row of a table behind it, None for those of the host."""
    name: str
    label: str
    type: str
    default: list
    help: str
    size: int = 1
    menu: list = field(default_factory=list)
    range: tuple = None  # ((low, is hard), (high, is hard))
    hide_when: str = ""
    disable_when: str = ""
    invisible: bool = False
    join_next: bool = False
    tags: dict = field(default_factory=dict)
    row: dict = None


@dataclass
class Folder:
    """A tab (group), a part that folds (groupcollapsible) or a list that grows (multiparm)."""
    kind: str
    name: str
    label: str
    children: list
    help: str = ""
    hide_when: str = ""


@dataclass
class Asset:
    name: str
    label: str
    help: str
    icon: str
    node: dict  # of the tables; None for the cache
    inputs: list  # labels
    folders: list
    keywords: list

    @property
    def operator(self):
        return f"{NAMESPACE}::{self.name}::{VERSION}"

    @property
    def section(self):
        return f"{NAMESPACE}::Sop/{self.name}::{VERSION}"

    def parms(self):
        stack = list(self.folders)
        while stack:
            item = stack.pop(0)
            if isinstance(item, Folder):
                stack[:0] = item.children
            else:
                yield item


def asset_name(node):
    return node["name"] if node["name"].startswith("snow") else "snow_" + node["name"]


def title(label):
    return " ".join(word[:1].upper() + word[1:] for word in label.split())


def number(value):
    """The shortest text that gives the number again; whole numbers without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def texts(value):
    """A value of the tables as the texts of a default."""
    if isinstance(value, bool):
        return ["1" if value else "0"]
    if isinstance(value, list):
        return [number(v) for v in value]
    return [value] if isinstance(value, str) else [number(value)]


def round_up(value):
    """1, 2 or 5 times a power of ten."""
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 <= value:
        power *= 10
    return next(f * power for f in (1, 2, 5, 10) if f * power >= value * (1 - 1e-9))


def slider(row):
    """The ends of the slider. An end is hard where the table's bound is near enough to drag to;
    the library checks the others."""
    low, high = row["min"], row["max"]
    values = row["default"] if isinstance(row["default"], list) else [row["default"]]
    usual = max(abs(v) for v in values)
    if usual >= 1e6:
        usual = 0
    hard_low = low >= 0 or low >= -1
    if high <= 1 or (high <= 1000 and usual > 0 and high <= 20 * usual):
        top, hard_high = high, True
    else:
        floor = 10 if row["type"] == "int" else 1
        top, hard_high = min(high, round_up(max(10 * usual, floor))), False
    bottom = low if hard_low else -top
    return (number(bottom), hard_low), (number(float(f"{top:.6g}")), hard_high)


def hide_when(row, prefix):
    """`region==mesh|level_set` as the condition under which Houdini hides the parameter."""
    rule = row.get("visible_when")
    if not rule:
        return ""
    name, _, choices = rule.partition("==")
    values = {"true": "1", "false": "0"}
    terms = [f"{prefix}{name} != {values.get(c, c)}" for c in choices.split("|")]
    return "{ " + " ".join(terms) + " }"


def help_text(row):
    return f"{row['help']} [{row['unit']}]" if row["unit"] else row["help"]


def choice_label(choice):
    return choice.replace("_", " ").capitalize()


def parm_of_row(row, prefix="", default=None, kind=""):
    """The parameter of a table's row."""
    parm = Parm(prefix + row["name"], row["label"], TYPES[row["type"]],
                texts(row["default"] if default is None else default), help_text(row),
                hide_when=hide_when(row, prefix), row=row)
    if row["type"] == "vec3":
        parm.size = 3
    if row["type"] == "choice":
        choices = row["choices"]
        parm.menu = [(c, choice_label(c)) for c in choices]
        parm.default = [str(choices.index(parm.default[0]))]
    if "min" in row and row["type"] in ("int", "float", "double", "vec3"):
        parm.range = slider(row)
    if row["type"] == "path":
        parm.tags["filechooser_mode"] = "read"
        if kind in FILE_PATTERNS:
            parm.tags["filechooser_pattern"] = FILE_PATTERNS[kind]
    if row["unit"]:
        parm.tags["firn_unit"] = row["unit"]
    if row["unit"] in UNITS:
        parm.tags["units"] = UNITS[row["unit"]]
    return parm


def follow_input(parms, shape):
    """Rules of a node whose shape may come from its first input: what belongs to the shapes of its
    own gives way, what belongs to meshes and level sets shows up."""
    for parm in parms:
        name, _, choices = parm.row.get("visible_when", "").partition("==")
        if parm.row is shape:
            parm.disable_when = "{ " + TAKEN + " }"
        elif name == shape["name"]:
            rule = parm.hide_when.strip("{ }")
            if parm.row["name"] in REPLACED or not {"mesh", "level_set"} & set(choices.split("|")):
                parm.hide_when = f"{{ {rule} }} {{ {TAKEN} }}"
            else:
                parm.hide_when = f"{{ {rule} use_input == 0 }} {{ {rule} hasinput(0) == 0 }}"


def grouped(parms, prefix=""):
    """Puts three or more neighbors that begin with the same word into a part that folds."""
    def word(parm):
        return parm.row["name"].partition("_")[0]

    result = []
    for name, members in itertools.groupby(parms, key=word):
        members = list(members)
        if len(members) < 3:
            result += members
            continue
        rules = {parm.hide_when for parm in members}
        result.append(Folder("groupcollapsible", f"{prefix}{name}_group",
                             LABELS.get(name, name.capitalize()), members,
                             hide_when=rules.pop() if len(rules) == 1 else ""))
    return result


# --- Parameters of the host ----------------------------------------------------------------------

def shape_row(node):
    """The choice between a sphere, a mesh, ...: nodes that have it take geometry; None: no such."""
    return next((r for r in node["params"]
                 if {"mesh", "level_set"} <= set(r.get("choices", []))), None)


def button(name, label, help, join_next=False):
    call = f"hou.phm().{name}(kwargs)"
    return Parm(name, label, "button", ["0"], help, join_next=join_next,
                tags={"script_callback": call, "script_callback_language": "python"})


def toggle(name, label, on, help):
    return Parm(name, label, "toggle", ["1" if on else "0"], help)


def menu(name, label, entries, help, **more):
    return Parm(name, label, "ordinal", ["0"], help, menu=entries, **more)


def node_path(name, label, filter, help, **more):
    return Parm(name, label, "oppath", [""], help,
                tags={"opfilter": f"!!{filter}!!", "oprelative": "."}, **more)


def geometry_parms(node):
    parms = [toggle("use_input", "Use input geometry", True,
                    "When the first input is connected, its geometry takes the place of "
                    f"'{shape_row(node)['label']}' and 'File': polygons as a mesh, VDB primitives "
                    "as a level set, packed Alembic primitives as their archive")]
    if any(r["name"] == "deforming" for r in node["params"]):
        parms.append(menu("motion", "Motion", [
            ("still", "Keeps its shape"), ("rigid", "Follows an object"),
            ("deforming", "Deforms")],
            "Keeps its shape: the input at the first frame, moved by the parameters. Follows an "
            "object: the same, moved by the transform of an object. Deforms: the input at every "
            "frame"))
        parms.append(node_path("motion_object", "Object", "OBJ",
                               "Its world transform moves the collider",
                               hide_when="{ motion != rigid }"))
    return parms


def input_parms(node):
    parms = []
    for port in node["inputs"]:
        label = port["name"].replace("_", " ").capitalize()
        name = port["name"] + "_node"
        text = f"{port['help']}; beside what is connected"
        if port["many"]:
            entry = node_path(name + "#", "Node", "SOP", text)
            parms.append(Folder("multiparm", port["name"] + "_nodes", label, [entry], text))
        else:
            parms.append(node_path(name, label, "SOP", text.replace("beside", "in the place of")))
    return parms


def final_parm():
    return Parm("final_values", "Final quality", "string", [""],
                "Values that count when the quality of the shot is final, such as "
                "cell_size=0.01 dt_max=1e-3")


def shot_folder(tables):
    parms = [parm_of_row(row, "shot_", SHOT_DEFAULTS.get(row["name"]))
             for row in tables["shot"]["params"]]
    for parm in parms:
        if parm.type == "file":
            parm.type = "directory"
            parm.tags["filechooser_mode"] = "write"
        if parm.row["name"] == "wedge":
            parm.help += ". In a PDG work item, -1 takes the item's wedge index"
    return Folder("group", "", "Shot", parms)


def frame_parm():
    return Parm("current_frame", "Current frame", "float", ["$FF"],
                "Makes the node cook at every frame", invisible=True)


def scene_parms():
    return [Parm("scene_file", "Scene file", "file", ["$HIP/$OS.firn"],
                 "Where Save scene puts the network, for `firn cook` on a farm",
                 tags={"filechooser_mode": "write", "filechooser_pattern": "*.firn"}),
            button("save_scene", "Save scene", "Writes the network above as a scene of Firn, with "
                   "its geometry beside it")]


def result_folder(node):
    parms = [menu("solve", "Solve", [("needed", "When needed"), ("hold", "Only by the button")],
                  "When needed: frames that are missing or out of date are made when they are "
                  "shown. Only by the button: shows what is on disk and says when it is out of "
                  "date")]
    if node["sequential"]:
        parms.append(toggle("ahead", "Solve ahead", True,
                            "Goes on to the last frame in the background while the first ones "
                            "are shown"))
    parms += [button("execute", "Save to disk", "Makes every frame of the shot", True),
              button("stop", "Stop", "Stops the run in the background; it can go on later", True),
              button("reset", "Reset simulation", "Removes the frames on disk"),
              *scene_parms(), frame_parm()]
    return Folder("group", "", "Cache", parms)


# --- Assets --------------------------------------------------------------------------------------

def node_asset(node, tables):
    inputs = ["Geometry"] if shape_row(node) else []
    inputs += [p["name"].replace("_", " ").capitalize() for p in node["inputs"]]
    inputs = inputs[:4]  # wires of a subnet; what is beyond is listed by path
    rows = [parm_of_row(row, kind=node["output"]) for row in node["params"]]
    if shape_row(node):
        follow_input(rows, shape_row(node))
    for parm in rows:
        if parm.name == "preset":
            parm.tags.update({"script_callback": "hou.phm().apply_preset(kwargs)",
                              "script_callback_language": "python"})
    folders = [Folder("group", "", node["label"], grouped(rows) + [final_parm()])]
    if shape_row(node):
        folders.append(Folder("group", "", "Geometry", geometry_parms(node)))
    if node["inputs"]:
        folders.append(Folder("group", "", "Inputs", input_parms(node)))
    if node["output"] in ("particles", "volume"):
        folders += [shot_folder(tables), result_folder(node)]
    name = asset_name(node)
    return Asset(name, f"Firn {title(node['label'])}", node["help"], name, node, inputs, folders,
                 ["firn", "snow"])


def writer_folder(node):
    prefix = node["name"] + "_"
    # Files are what a cache is for; anything dearer waits to be asked for.
    on = toggle(node["name"], node["label"], node["name"] in ALWAYS_WRITTEN,
                f"{node['help']} It takes the nearest node above that makes "
                f"{node['inputs'][0]['kind']}; without one it does nothing")
    defaults = {k.partition(".")[2]: v for k, v in WRITER_DEFAULTS.items()
                if k.startswith(node["name"] + ".")}
    rows = [parm_of_row(row, prefix, defaults.get(row["name"])) for row in node["params"]]
    for parm in rows:
        parm.disable_when = f"{{ {node['name']} == 0 }}"
    return Folder("group", "", node["label"], [on, *grouped(rows, prefix)])


def cache_asset(writers, tables):
    parms = [node_path("network", "Network", "SOP",
                       "The last Firn node of the network, when nothing is connected. A wire makes "
                       "Houdini cook what is above as well, a path does not"),
             toggle("loadfromdisk", "Load from disk", False,
                    "Shows the files; off: passes the input on"),
             menu("show", "Show", [("all", "All"), ("particles", "Particles"),
                                   ("volume", "Volumes")], "Which files are loaded"),
             button("execute", "Save to disk", "Cooks every frame of the shot and waits; what is "
                    "on disk and whole is kept", True),
             button("background", "Save in the background", "The same without waiting", True),
             button("stop", "Stop", "Stops the run in the background; it can go on later", True),
             button("reset", "Remove files", "Removes the frames on disk"),
             *scene_parms(), frame_parm()]
    folders = [Folder("group", "", "Cache", parms), shot_folder(tables)]
    folders += [writer_folder(node) for node in writers]
    return Asset(CACHE, "Firn Snow Cache", "Cooks the network above into files, frame after frame, "
                 "exactly as the firn command does, and loads them again.", CACHE, None,
                 ["Particles or volumes"], folders, ["firn", "snow", "cache"])


def assets(tables):
    makers = [n for n in tables["nodes"] if n["output"] != "nothing"]
    writers = [n for n in tables["nodes"] if n["output"] == "nothing"]
    result = [node_asset(node, tables) for node in makers] + [cache_asset(writers, tables)]
    for asset in result:
        for index, folder in enumerate(asset.folders):
            folder.name = f"tabs_{index}" if index else "tabs"
    return result


def summary(tables):
    """What the Python of the assets needs to know of the tables."""
    result = {"version": tables["version"], "shot": tables["shot"]["params"], "assets": {},
              "writers": [n for n in tables["nodes"] if n["output"] == "nothing"]}
    for asset in assets(tables):
        if asset.node is None:
            continue
        shape = shape_row(asset.node)
        result["assets"][asset.name] = {
            "node": asset.node["name"], "label": asset.node["label"],
            "output": asset.node["output"], "sequential": asset.node["sequential"],
            "shape": shape["name"] if shape else None, "inputs": asset.node["inputs"],
            "params": asset.node["params"]}
    return result
