"""A scene for a snow volume: object, material, light and camera, from the numbers in the file.

    import lookdev
    scene = lookdev.setup("snow.0024.vdb")          # everything by default, framed automatically
    scene = lookdev.setup("snow.0024.vdb", numbers)  # as `firn render --dump-setup` wrote it

Nothing here needs the rest of the add-on but versions.py. Firn has Y up, Blender Z up: a point
(x, y, z) of Firn stands at (x, -z, y) here, and the volume object is turned by 90 degrees about X.
docs/lookdev.md has the mathematics.
"""
import math
import os

import bmesh
import bpy
from mathutils import Matrix, Quaternion, Vector

try:
    from . import firn, versions  # in the add-on
except ImportError:
    import versions  # beside this file
    firn = None

# Snow after Stomakhin et al. 2013, section 9: what a file without metadata is taken for.
SNOW = {"sigma_t_per_density": 724.0, "albedo": (0.9, 0.95, 1.0), "g": 0.5, "up_axis": "y"}

# What stands in for parts that a set-up does not have: a low sun from the left, a bluish sky.
DAYLIGHT = {
    "image": {"width": 960, "height": 540, "max_bounces": 64},
    "sun": {"direction_to_sun": (-0.8, 0.55, 0.3), "angle_degrees": 1.0,
            "irradiance": (5.0, 4.5, 3.9)},
    "sky": {"kind": "gradient", "zenith": (0.18, 0.3, 0.54), "horizon": (0.42, 0.48, 0.55)},
    "solids": (),
}
GROUND = (0.22, 0.21, 0.2)
EXTINCTION = "Firn extinction"  # nodes of the material that multiply the density
FIELD_OF_VIEW = 30.0  # degrees, of the height, of a camera that is framed


def to_blender(point):
    """A point or direction of Firn (Y up) in Blender's axes (Z up)."""
    x, y, z = point
    return Vector((x, -z, y))


def from_blender(point):
    """The way back."""
    return (point.x, point.z, -point.y)


def read_metadata(path):
    """Metadata of a .vdb file and of its density grid, with the defaults of snow below them.

    Blender does not pass metadata on; libfirn does, and OpenVDB's Python module where there is
    one."""
    found = dict(SNOW)
    if firn is not None:
        found.update(firn.volume_metadata(path))
        return found
    versions.expose_modules()
    try:
        import pyopenvdb as vdb
    except ImportError:
        try:
            import openvdb as vdb
        except ImportError:
            return found
    found.update(vdb.readMetadata(path))
    for grid in vdb.readAllGridMetadata(path):
        if grid.name == "density":
            found.update(grid.metadata)
    return found


def add_volume(path, meta, name="Snow"):
    """The volume object, upright, with velocities in metres per second for motion blur."""
    volume = bpy.data.volumes.new(name)
    volume.filepath = os.path.abspath(path)
    volume.grids.load()
    if "density" not in volume.grids.keys():
        raise ValueError(volume.grids.error_message or "%s has no grid 'density'" % path)
    if "vel" in volume.grids.keys():
        volume.velocity_grid = "vel"
        volume.velocity_unit = "SECOND"
    # What the viewport shows, and so dense that a few centimetres hide what is behind them.
    volume.grids.active_index = list(volume.grids.keys()).index("density")
    volume.display.density = 20.0 * meta["sigma_t_per_density"] / SNOW["sigma_t_per_density"]
    # Half floats would round an edge that is one voxel wide.
    volume.render.precision = "FULL"
    volume.render.space = "WORLD"
    volume.render.step_size = 0.0  # a voxel, times the rate of the scene
    obj = bpy.data.objects.new(name, volume)
    if str(meta["up_axis"]).lower() == "y":
        obj.rotation_euler = (math.radians(90.0), 0.0, 0.0)
    # OpenVDB has the value of voxel i at the point i of its lattice, older Blenders at i + 0.5:
    # without this the snow would stand half a voxel off along each axis.
    if versions.HALF_VOXEL_OFF:
        to_object = volume.grids["density"].matrix_object.to_3x3()
        obj.location = -(obj.rotation_euler.to_matrix() @ to_object @ Vector((0.5, 0.5, 0.5)))
    bpy.context.scene.collection.objects.link(obj)
    return obj


def snow_material(meta, name="Snow"):
    """A volume material: extinction = density * sigma_t_per_density, single scattering albedo,
    Henyey-Greenstein with g."""
    material = bpy.data.materials.new(name)
    versions.give_nodes(material)
    tree = material.node_tree
    tree.nodes.clear()
    make = _coefficients if versions.HAS_VOLUME_COEFFICIENTS else _principled
    shader = make(tree, meta)
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    output.location = (320, 0)
    tree.links.new(shader.outputs["Volume"], output.inputs["Volume"])
    return material


def _coefficients(tree, meta):
    """Absorption and scattering per meter: the numbers themselves, times the density."""
    density = tree.nodes.new("ShaderNodeAttribute")
    density.attribute_name = "density"
    density.location = (-480, 0)
    shader = tree.nodes.new("ShaderNodeVolumeCoefficients")
    shader.phase = "HENYEY_GREENSTEIN"
    shader.inputs["Anisotropy"].default_value = float(meta["g"])
    sigma_t = float(meta["sigma_t_per_density"])
    scattered = {"Scatter": [v * sigma_t for v in meta["albedo"]],
                 "Absorption": [(1.0 - v) * sigma_t for v in meta["albedo"]]}
    for number, (name, sigma) in enumerate(scattered.items()):
        product = tree.nodes.new("ShaderNodeVectorMath")
        product.operation, product.label = "MULTIPLY", f"{name} (1/m)"
        product.name = f"{EXTINCTION} {name}"
        product.location = (-240, -200 * number)
        tree.links.new(density.outputs["Fac"], product.inputs[0])
        product.inputs[1].default_value = sigma
        tree.links.new(product.outputs[0], shader.inputs[f"{name} Coefficients"])
    return shader


def _principled(tree, meta):
    """With black absorption Cycles' numbers are exactly these."""
    shader = tree.nodes.new("ShaderNodeVolumePrincipled")
    values = {
        "Color": tuple(meta["albedo"]) + (1.0,),
        "Density": float(meta["sigma_t_per_density"]),
        "Density Attribute": "density",
        "Anisotropy": float(meta["g"]),
        "Absorption Color": (0.0, 0.0, 0.0, 1.0),
        "Emission Strength": 0.0,
        "Blackbody Intensity": 0.0,
    }
    for socket, value in values.items():
        shader.inputs[socket].default_value = value
    return shader


def scale_extinction(material, factor):
    """The same snow in a scene whose unit is `factor` times as long."""
    for node in material.node_tree.nodes:
        if node.bl_idname == "ShaderNodeVolumePrincipled":
            node.inputs["Density"].default_value *= factor
        elif node.name.startswith(EXTINCTION):
            node.inputs[1].default_value = Vector(node.inputs[1].default_value) * factor


def bounds(obj):
    """Lower and upper corner of an object in the world."""
    bpy.context.view_layer.update()
    corners = [obj.matrix_world @ Vector(corner) for corner in obj.bound_box]
    lower = Vector(min(c[i] for c in corners) for i in range(3))
    upper = Vector(max(c[i] for c in corners) for i in range(3))
    return lower, upper


def add_sun(sun):
    """Blender's strength of a sun is the irradiance of a surface that faces it, its angle the
    diameter of the disk; the disk itself is not seen."""
    light = bpy.data.lights.new("Sun", "SUN")
    irradiance = [float(v) for v in sun["irradiance"]]
    light.energy = max(irradiance) or 0.0
    light.color = [v / (light.energy or 1.0) for v in irradiance]
    light.angle = math.radians(sun["angle_degrees"])
    obj = bpy.data.objects.new("Sun", light)
    obj.rotation_euler = to_blender(sun["direction_to_sun"]).to_track_quat("Z", "Y").to_euler()
    bpy.context.scene.collection.objects.link(obj)
    return obj


def set_sky(sky):
    """One radiance from everywhere, or from the horizon to the zenith by the height of the
    direction. The picture of a sky is not taken over: its horizon stands for all of it."""
    world = bpy.data.worlds.new("Sky")
    versions.give_nodes(world)
    tree = world.node_tree
    background = tree.nodes["Background"]
    background.inputs["Strength"].default_value = 1.0
    zenith, horizon = ([float(v) for v in sky[key]] + [1.0] for key in ("zenith", "horizon"))
    if sky["kind"] in ("gradient", "physical"):
        place = tree.nodes.new("ShaderNodeTexCoord")
        split = tree.nodes.new("ShaderNodeSeparateXYZ")
        mix = tree.nodes.new("ShaderNodeMix")  # takes heights below 0 as 0
        mix.data_type = "RGBA"
        # Sockets of all types have the same names.
        into = {socket.identifier: socket for socket in mix.inputs}
        into["A_Color"].default_value, into["B_Color"].default_value = horizon, zenith
        tree.links.new(place.outputs["Generated"], split.inputs["Vector"])
        tree.links.new(split.outputs["Z"], into["Factor_Float"])
        mixed = next(s for s in mix.outputs if s.identifier == "Result_Color")
        tree.links.new(mixed, background.inputs["Color"])
    else:
        background.inputs["Color"].default_value = horizon if sky["kind"] == "image" else zenith
    bpy.context.scene.world = world
    return world


def add_camera(camera):
    """position, target and up are in Firn's axes."""
    data = bpy.data.cameras.new("Camera")
    data.sensor_fit = "VERTICAL"
    data.angle_y = math.radians(camera["vertical_fov_degrees"])
    data.clip_start, data.clip_end = 1e-3, 1e5
    obj = bpy.data.objects.new("Camera", data)
    position, target = to_blender(camera["position"]), to_blender(camera["target"])
    back = (position - target).normalized()
    right = to_blender(camera["up"]).cross(back).normalized()
    axes = Matrix((right, back.cross(right), back)).transposed()
    obj.matrix_world = Matrix.Translation(position) @ axes.to_4x4()
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.scene.camera = obj
    return obj


def view_direction(side):
    """Where a framed camera is, seen from its object."""
    return Vector((0.35 * side, -0.85, 0.4)).normalized()


def frame_camera(obj, aspect, side=1.0):
    """A camera that just sees all of an object, from a little above; side -1: from the left."""
    lower, upper = bounds(obj)
    center = (lower + upper) / 2.0
    back = view_direction(side)
    right = Vector((0.0, 0.0, 1.0)).cross(back).normalized()
    above = back.cross(right)
    tall = math.tan(math.radians(FIELD_OF_VIEW) / 2.0)
    distance = 1e-3
    for i in range(8):
        corner = Vector((upper if i >> axis & 1 else lower)[axis] for axis in range(3)) - center
        needed = max(abs(corner.dot(right)) / (tall * aspect), abs(corner.dot(above)) / tall)
        distance = max(distance, needed + corner.dot(back))
    position = center + 1.05 * distance * back
    return add_camera({"position": from_blender(position), "target": from_blender(center),
                       "up": (0.0, 1.0, 0.0), "vertical_fov_degrees": FIELD_OF_VIEW})


def diffuse(name, color):
    material = bpy.data.materials.new(name)
    versions.give_nodes(material)
    tree = material.node_tree
    tree.nodes.clear()
    shader = tree.nodes.new("ShaderNodeBsdfDiffuse")
    shader.inputs["Color"].default_value = [float(v) for v in color] + [1.0]
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(shader.outputs["BSDF"], output.inputs["Surface"])
    return material


def add_mesh(name, build, color):
    """A diffuse object; build fills its bmesh."""
    shape = bmesh.new()
    build(shape)
    mesh = bpy.data.meshes.new(name)
    shape.to_mesh(mesh)
    shape.free()
    mesh.materials.append(diffuse(name, color))
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def add_ground(height, color):
    """A diffuse plane, as wide as anybody looks."""
    obj = add_mesh("Ground", lambda m: bmesh.ops.create_grid(m, size=500.0), color)
    obj.location.z = height
    return obj


def add_solid(solid):
    """Boxes and spheres; other shapes come as meshes with the shot."""
    builders = {"box": lambda m: bmesh.ops.create_cube(m, size=2.0),
                "sphere": lambda m: bmesh.ops.create_icosphere(m, subdivisions=5, radius=1.0)}
    if solid["shape"] not in builders:
        return None
    obj = add_mesh("Solid", builders[solid["shape"]], solid["albedo"])
    size = solid["half_size"] if solid["shape"] == "box" else [solid["radius"]] * 3
    turn = Quaternion([solid["rotation_w"]] + list(solid["rotation_xyz"])).to_matrix().to_4x4()
    upright = Matrix.Rotation(math.radians(90.0), 4, "X")
    local = Matrix.Translation(solid["translation"]) @ turn
    local = local @ Matrix.Diagonal([s * solid["scale"] + solid["offset"] for s in size] + [1.0])
    obj.matrix_world = upright @ local
    return obj


def set_cycles(max_bounces, samples):
    """Enough scattering for snow to be white, and no denoiser: Debian's Blender has none."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    cycles = scene.cycles
    cycles.device = "CPU"
    cycles.samples = samples
    cycles.use_denoising = False
    cycles.use_adaptive_sampling = False
    # Cycles counts scattering in a volume apart from the rest; its default of 0 is black snow.
    cycles.max_bounces = cycles.volume_bounces = max_bounces
    cycles.diffuse_bounces = cycles.transparent_max_bounces = max_bounces
    cycles.sample_clamp_direct = cycles.sample_clamp_indirect = 0.0
    cycles.blur_glossy = 0.0
    if versions.STEPS_THROUGH_VOLUMES:
        # Half a voxel is 5 % too bright at the density of snow, this 1.5 %.
        cycles.volume_step_rate = 0.25
        cycles.volume_max_steps = 1024


def setup(volume_path, setup=None, meta=None, samples=64):
    """Everything at once; gives the volume object.

    setup is what `firn render --dump-setup` writes, or any part of it; what it does not say comes
    from the metadata of the file and the defaults above. meta is that metadata, for who has read
    it already."""
    numbers = dict(DAYLIGHT, **(setup or {}))
    image = dict(DAYLIGHT["image"], **numbers["image"])
    meta = dict(SNOW, **(meta if meta is not None else read_metadata(volume_path)))
    meta.update(numbers.get("material") or {})
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = image["width"], image["height"]
    scene.render.resolution_percentage = 100
    obj = add_volume(volume_path, meta)
    obj.data.materials.append(snow_material(meta))
    set_sky(numbers["sky"])
    if max(numbers["sun"]["irradiance"]) > 0.0:
        add_sun(numbers["sun"])
    ground = numbers.get("ground")
    if ground is None:
        add_ground(bounds(obj)[0].z, GROUND)
    elif ground["present"]:
        add_ground(ground["height"], ground["albedo"])
    for solid in numbers["solids"]:
        add_solid(solid)
    if "camera" in numbers:
        add_camera(numbers["camera"])
    else:
        frame_camera(obj, image["width"] / image["height"])
    set_cycles(int(image["max_bounces"]), samples)
    shutter = numbers.get("camera", {}).get("shutter_frames", 0.0)
    scene.render.use_motion_blur = shutter > 0.0
    scene.render.motion_blur_shutter = max(shutter, 0.01)
    scene.render.fps = round(numbers.get("fps", meta.get("fps", 24)))
    return obj
