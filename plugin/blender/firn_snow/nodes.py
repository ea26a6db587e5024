"""A node class for each node type of the tables."""

import os

import bpy

from . import axes, host, properties, sockets, state

PREFIX = properties.PREFIX

# What an artist reaches for first; the rest is under "More". Types that are not here show their
# first rows.
MAIN = {
    "snow_source": "region file center radius half_size velocity mesh_voxel_size",
    "material": "preset density young_modulus hardening",
    "collider": "shape file translation rotation half_size radius friction contact "
                "mesh_voxel_size",
    "body": "shape file translation rotation half_size radius density friction velocity "
            "release_frame mesh_voxel_size",
    "joint": "kind anchor axis limited lower upper motor_torque motor_speed",
    "solver": "preset cell_size gravity",
    "fine_particles": "children size_variation loose spread scatter flight",
    "rasterize": "voxel_size velocity compaction surface",
    "write_particles": "name format single_file",
    "write_surface": "name format single_file adaptivity",
    "write_volume": "name half density",
    "render": "camera azimuth elevation zoom width height samples",
}
FIRST_ROWS = 6
# In Blender results are shown while they are baked, which needs a file for each frame.
DEFAULTS = {("write_particles", "format"): "bgeo"}
# Parameters that an object of the scene stands for.
FROM_OBJECT = {
    "collider": "file object deforming translation rotation scale",
    "snow_source": "file object center",
    "body": "file object pieces translation rotation scale",
}
# Shapes whose sizes are in use; the table of the core has no conditions for them.
SHAPES = {"half_size": ("box", "capsule"), "radius": ("sphere", "capsule")}

_classes = []


def idname(type_name):
    return f"FirnNode_{type_name}"


def _changed(self, context):
    state.touch(self.id_data)


def _preset_changed(self, context):
    self.follow_preset()
    state.touch(self.id_data)


def _object_changed(self, context):
    self.adopt_object()
    state.touch(self.id_data)


def _is_input(self, candidate):
    return candidate.type in {"MESH", "CURVE", "SURFACE", "META", "FONT", "VOLUME"} or \
        candidate.instance_type == "COLLECTION" and candidate.instance_collection is not None


class FirnNode:
    """What all nodes share; `firn_type` names the table."""

    firn_type = ""
    bl_width_default = 240
    bl_width_min = 160
    bl_width_max = 600

    @classmethod
    def poll(cls, tree):
        return tree.bl_idname == "FirnSnowTree"

    # --- Life ------------------------------------------------------------------------------------

    def init(self, context):
        table = host.table(self.firn_type)
        for slot in table["inputs"]:
            label = slot["name"].replace("_", " ").capitalize()
            socket = self.inputs.new(sockets.idname(slot["kind"]), label, identifier=slot["name"])
            socket.description = slot["help"]
            socket.link_limit = 4095 if slot["many"] else 1
            socket.display_shape = "SQUARE" if slot["many"] else "CIRCLE"
        if table["output"] != "nothing":
            self.outputs.new(sockets.idname(table["output"]), table["output"].capitalize(),
                             identifier="output")
        state.touch(self.id_data)

    def copy(self, node):
        self.problem = ""
        state.touch(self.id_data)

    def free(self):
        state.touch(self.id_data)

    # --- Values ----------------------------------------------------------------------------------

    @property
    def rows(self):
        return host.table(self.firn_type)["params"]

    def row(self, name):
        return next(row for row in self.rows if row["name"] == name)

    def value(self, name):
        return getattr(self, PREFIX + name)

    def set_value(self, name, value, final=False):
        prefix = properties.FINAL_PREFIX if final else PREFIX
        setattr(self, prefix + name, value)
        if final and name not in self.final_names.split():
            self.final_names = f"{self.final_names} {name}".strip()

    def firn_value(self, row, prefix=PREFIX):
        """The value as a scene file has it."""
        value, kind = getattr(self, prefix + row["name"]), axes.kind_of(row)
        if row["type"] == "path":
            path = bpy.path.abspath(os.path.expandvars(value))
            return os.path.normpath(path) if value else ""
        if kind == "plain":
            return properties.plain_value(row, value)
        other = None
        if kind in ("lower", "upper"):
            other = getattr(self, prefix + axes.opposite(row["name"]))
        return [properties.short(v) for v in axes.to_firn(kind, value, other)]

    def set_firn_value(self, row, values, final=False):
        """Takes a value of a scene file; values has those of the other parameters."""
        value, kind = values[row["name"]], axes.kind_of(row)
        if row["type"] in ("float", "double"):
            value = float(value)
        elif row["type"] == "vec3":
            other = None
            if kind in ("lower", "upper"):
                name = axes.opposite(row["name"])
                other = values.get(name, self.base()[name])
            value = axes.from_firn(kind, [float(v) for v in value], other)
        self.set_value(row["name"], value, final)

    def base(self):
        """Values that count when nothing is set: those of the preset, if the type has them."""
        has_preset = hasattr(self, PREFIX + "preset")
        return host.base_values(self.firn_type, self.value("preset") if has_preset else "")

    def follow_preset(self):
        """Takes over what another preset says, except where the artist has changed a value."""
        before = host.base_values(self.firn_type, self.followed or self.row("preset")["default"])
        after = self.base()
        for row in self.rows:
            name = row["name"]
            if name == "preset" or properties.same(row, before[name], after[name]):
                continue
            if properties.same(row, self.firn_value(row), before[name]):
                self.set_firn_value(row, after)
        self.followed = self.value("preset")

    def adopt_object(self):
        """Chooses what fits an object that was picked."""
        self.problem = self.input_json = ""
        if not state.is_silent():
            self.id_data.objects_changed = True
        if self.scene_object is None:
            return
        choice = PREFIX + self.choice()
        if self.scene_object.type == "VOLUME":
            setattr(self, choice, "level_set")
        elif self.firn_type == "collider" and _is_quad(self.scene_object):
            setattr(self, choice, "plane")
        else:
            setattr(self, choice, "mesh")

    def uses_object(self):
        """Whether a scene object gives the shape."""
        if self.firn_type not in FROM_OBJECT or self.scene_object is None:
            return False
        return self.value(self.choice()) in ("mesh", "level_set", "plane")

    def choice(self):
        """The parameter that says what kind of shape it is."""
        return "region" if self.firn_type == "snow_source" else "shape"

    def is_visible(self, row):
        name = row["name"]
        if self.uses_object() and name in FROM_OBJECT[self.firn_type].split():
            return False
        if self.firn_type in ("collider", "body") and name in SHAPES:
            return self.value("shape") in SHAPES[name]
        return properties.is_visible(row, self.value)

    # --- Drawing ---------------------------------------------------------------------------------

    def draw_label(self):
        given = self.name
        if given.split(".")[0] == self.bl_label:
            return given
        return f"{given.replace('_', ' ').capitalize()} ({self.bl_label.lower()})"

    def draw_buttons(self, context, layout):
        self.draw_status(layout)
        if self.firn_type in FROM_OBJECT:
            layout.prop(self, "scene_object")
        main = MAIN.get(self.firn_type, " ".join(row["name"] for row in self.rows[:FIRST_ROWS]))
        column = layout.column()
        for name in main.split():
            self.draw_row(column, self.row(name))
        hidden = [row for row in self.rows if row["name"] not in main.split()]
        if not any(self.is_visible(row) for row in hidden):
            return
        icon = "TRIA_DOWN" if self.show_more else "TRIA_RIGHT"
        layout.prop(self, "show_more", icon=icon, emboss=False)
        if self.show_more:
            column = layout.column()
            for row in hidden:
                self.draw_row(column, row)

    def draw_row(self, layout, row, prefix=PREFIX):
        if not self.is_visible(row):
            return
        if row["type"] == "vec3" and prefix == PREFIX:
            layout.label(text=properties.label_of(row) + ":")
            layout.row(align=True).prop(self, prefix + row["name"], text="")
        else:
            layout.prop(self, prefix + row["name"])

    def draw_buttons_ext(self, context, layout):
        layout.use_property_split = True
        self.draw_status(layout)
        if self.firn_type in FROM_OBJECT:
            layout.prop(self, "scene_object")
        for row in self.rows:
            if self.is_visible(row):
                layout.prop(self, PREFIX + row["name"])

    def draw_status(self, layout):
        if self.problem:
            box = layout.box()
            box.alert = True
            width = max(24, int(self.width / 6.6))
            for number, line in enumerate(state.wrap(self.problem, width)):
                box.label(text=line, icon="ERROR" if number == 0 else "BLANK1")
        if host.table(self.firn_type)["sequential"]:
            state.draw_badge(self.id_data, layout)


def _is_quad(scene_object):
    """A plain plane, which stands for the ground below it."""
    mesh = scene_object.data if scene_object.type == "MESH" else None
    if mesh is None or len(mesh.polygons) != 1 or scene_object.modifiers:
        return False
    face = mesh.polygons[0]
    off = max(abs(face.normal.dot(mesh.vertices[i].co - face.center)) for i in face.vertices)
    return off <= 1e-3 * face.area ** 0.5


def _make_class(table):
    name = table["name"]
    fields = {}
    for row in table["params"]:
        update = _preset_changed if row["name"] == "preset" else _changed
        default = DEFAULTS.get((name, row["name"]), axes.default_of(table["params"], row))
        fields[PREFIX + row["name"]] = properties.property_of(row, default, update)
        if row["type"] in ("int", "float", "double", "vec3", "bool", "choice"):
            fields[properties.FINAL_PREFIX + row["name"]] = properties.property_of(
                row, axes.default_of(table["params"], row), _changed)
    fields["final_names"] = bpy.props.StringProperty(
        description="Parameters that have a value of their own in final quality")
    fields["followed"] = bpy.props.StringProperty(description="Preset that the values follow")
    fields["show_more"] = bpy.props.BoolProperty(name="More", description="All parameters")
    fields["problem"] = bpy.props.StringProperty(options={"SKIP_SAVE"})
    fields["input_json"] = bpy.props.StringProperty(description="What the last bake exported")
    fields["driven_json"] = bpy.props.StringProperty(
        description="What the last bake saw of values that drivers change")
    if name in FROM_OBJECT:
        fields["scene_object"] = bpy.props.PointerProperty(
            type=bpy.types.Object, name="Object", poll=_is_input, update=_object_changed,
            description="An object of the scene, with its modifiers and its animation. Hair curves "
            "and point clouds have no inside: make meshes of them first")
    return type(idname(name), (FirnNode, bpy.types.Node), {
        "bl_idname": idname(name), "bl_label": table["label"], "bl_description": table["help"],
        "firn_type": name, "__annotations__": fields})


def is_firn(node):
    return hasattr(node, "firn_type")


def register():
    for table in host.tables():
        made = _make_class(table)
        bpy.utils.register_class(made)
        _classes.append(made)


def unregister():
    while _classes:
        bpy.utils.unregister_class(_classes.pop())
