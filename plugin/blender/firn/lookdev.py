"""A scene for a snow volume: object, material, light and camera, from the numbers in the file alone.

    import lookdev
    scene = lookdev.setup("snow.0024.vdb")          # everything by default, framed automatically
    scene = lookdev.setup("snow.0024.vdb", numbers)  # as `firn render --dump-setup` wrote it

Nothing here needs the rest of the add-on. Firn has Y up, Blender Z up: a point (x, y, z) of Firn
stands at (x, -z, y) here, and the volume object is turned by 90 degrees about X. docs/lookdev.md has
the mathematics.
"""
import math
import os

import bpy
from mathutils import Matrix, Vector

# Snow after Stomakhin et al. 2013, section 9: what a file without metadata is taken for.
SNOW = {"sigma_t_per_density": 724.0, "albedo": (0.9, 0.95, 1.0), "g": 0.5, "up_axis": "y"}

# Light when no setup is given: a low sun from the left, a bluish sky.
DAYLIGHT = {
    "sun": {"direction": (-0.8, 0.55, 0.3), "angle": 1.0, "irradiance": (6.0, 5.2, 4.4)},
    "sky": {"color": (0.3, 0.36, 0.45)},
    "max_bounces": 64,
}


def to_blender(point):
    """A point or direction of Firn (Y up) in Blender's axes (Z up)."""
    x, y, z = point
    return Vector((x, -z, y))


def from_blender(point):
    """The way back."""
    return (point.x, point.z, -point.y)


def read_metadata(path):
    """Metadata of a .vdb file and of its density grid, with the defaults of snow below them.

    Blender does not pass metadata on; OpenVDB's Python module does where it is installed."""
    found = dict(SNOW)
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
    # Half floats would round an edge that is one voxel wide.
    volume.render.precision = "FULL"
    volume.render.space = "WORLD"
    volume.render.step_size = 0.0  # a voxel, times the rate of the scene
    obj = bpy.data.objects.new(name, volume)
    if str(meta["up_axis"]).lower() == "y":
        obj.rotation_euler = (math.radians(90.0), 0.0, 0.0)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def snow_material(meta, name="Snow"):
    """A volume material: extinction = density * sigma_t_per_density, single scattering albedo,
    Henyey-Greenstein with g. With black absorption Cycles' numbers are exactly these."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    shader = tree.nodes.new("ShaderNodeVolumePrincipled")
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    output.location = (320, 0)
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
    tree.links.new(shader.outputs["Volume"], output.inputs["Volume"])
    return material


def bounds(obj):
    """Lower and upper corner of an object in the world."""
    bpy.context.view_layer.update()
    corners = [obj.matrix_world @ Vector(corner) for corner in obj.bound_box]
    lower = Vector(min(c[i] for c in corners) for i in range(3))
    upper = Vector(max(c[i] for c in corners) for i in range(3))
    return lower, upper


def add_sun(sun):
    """direction points to the sun; angle is its diameter in degrees. Blender's strength of a sun is
    the irradiance of a surface that faces it."""
    light = bpy.data.lights.new("Sun", "SUN")
    irradiance = [float(v) for v in sun["irradiance"]]
    light.energy = max(irradiance) or 0.0
    light.color = [v / (light.energy or 1.0) for v in irradiance]
    light.angle = math.radians(sun["angle"])
    obj = bpy.data.objects.new("Sun", light)
    obj.rotation_euler = to_blender(sun["direction"]).to_track_quat("Z", "Y").to_euler()
    bpy.context.scene.collection.objects.link(obj)
    return obj


def set_sky(color):
    """The same radiance from everywhere."""
    world = bpy.data.worlds.new("Sky")
    world.use_nodes = True
    background = world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = tuple(float(v) for v in color) + (1.0,)
    background.inputs["Strength"].default_value = 1.0
    bpy.context.scene.world = world
    return world


def add_camera(camera):
    """position, target and up in Firn's axes; fov is the vertical one in degrees."""
    data = bpy.data.cameras.new("Camera")
    data.sensor_fit = "VERTICAL"
    data.angle = math.radians(camera["fov"])
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


def frame_camera(obj, aspect, fov=30.0):
    """A camera that just sees all of an object, from a little above."""
    lower, upper = bounds(obj)
    center = (lower + upper) / 2.0
    back = Vector((0.35, -0.85, 0.4)).normalized()
    right = Vector((0.0, 0.0, 1.0)).cross(back).normalized()
    above = back.cross(right)
    tall = math.tan(math.radians(fov) / 2.0)
    distance = 1e-3
    for i in range(8):
        corner = Vector((upper if i >> axis & 1 else lower)[axis] for axis in range(3)) - center
        needed = max(abs(corner.dot(right)) / (tall * aspect), abs(corner.dot(above)) / tall)
        distance = max(distance, needed + corner.dot(back))
    position = center + 1.05 * distance * back
    return add_camera({"position": from_blender(position), "target": from_blender(center),
                       "up": (0.0, 1.0, 0.0), "fov": fov})


def add_ground(ground):
    """A diffuse plane at a height, as wide as anybody looks."""
    mesh = bpy.data.meshes.new("Ground")
    edge = 500.0
    z = float(ground["height"])
    mesh.from_pydata([(-edge, -edge, z), (edge, -edge, z), (edge, edge, z), (-edge, edge, z)],
                     [], [(0, 1, 2, 3)])
    material = bpy.data.materials.new("Ground")
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    shader = tree.nodes.new("ShaderNodeBsdfDiffuse")
    shader.inputs["Color"].default_value = tuple(float(v) for v in ground["color"]) + (1.0,)
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(shader.outputs["BSDF"], output.inputs["Surface"])
    mesh.materials.append(material)
    obj = bpy.data.objects.new("Ground", mesh)
    bpy.context.scene.collection.objects.link(obj)
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
    cycles.volume_step_rate = 0.5
    cycles.volume_max_steps = 1024


def setup(volume_path, setup=None, meta=None, samples=64):
    """Everything at once; gives the volume object.

    setup is a dictionary with any of `material`, `camera`, `sun`, `sky`, `ground`, `max_bounces`
    and `resolution`; what it does not say comes from the file and the defaults above. meta is the
    metadata of the file for who has read it already."""
    numbers = dict(DAYLIGHT)
    numbers.update(setup or {})
    meta = dict(SNOW, **(meta if meta is not None else read_metadata(volume_path)))
    meta.update(numbers.get("material") or {})
    scene = bpy.context.scene
    if "resolution" in numbers:
        scene.render.resolution_x, scene.render.resolution_y = numbers["resolution"]
    scene.render.resolution_percentage = 100
    obj = add_volume(volume_path, meta)
    obj.data.materials.append(snow_material(meta))
    set_sky(numbers["sky"]["color"])
    if numbers["sun"] is not None:
        add_sun(numbers["sun"])
    if numbers.get("ground") is not None:
        add_ground(numbers["ground"])
    if numbers.get("camera") is not None:
        add_camera(numbers["camera"])
    else:
        if "ground" not in numbers:
            add_ground({"height": bounds(obj)[0].z, "color": (0.2, 0.2, 0.22)})
        frame_camera(obj, scene.render.resolution_x / scene.render.resolution_y)
    set_cycles(int(numbers["max_bounces"]), samples)
    return obj
