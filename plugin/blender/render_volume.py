"""Renders a snow volume in Cycles without a window:

    blender -b --factory-startup --python-use-system-env --python-exit-code 1 \\
        -P plugin/blender/render_volume.py -- snow.0024.vdb -o snow.png --samples 64

Light, camera and bounces can be those of `firn render`: --setup takes the file that
`firn render --dump-setup` wrote. A picture that ends with .exr is linear, without any tone mapping.
"""
import argparse
import json
import os
import sys

import bpy


def load_lookdev():
    """The file beside this one, not the add-on: that may be another version, or absent."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "firn"))
    import lookdev
    return lookdev


def arguments():
    given = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    parser = argparse.ArgumentParser(prog="render_volume.py", description=__doc__.split("\n")[0])
    parser.add_argument("volume", help="a .vdb file with a grid 'density'")
    parser.add_argument("-o", "--output", required=True, help=".png, or .exr for linear values")
    parser.add_argument("--setup", help="light, camera and material as JSON")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--size", help="such as 480x270")
    parser.add_argument("--bounces", type=int, help="scatterings that are followed")
    parser.add_argument("--step-rate", type=float, help="steps are this many voxels long")
    parser.add_argument("--threads", type=int, default=0, help="0 uses every core")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--blend", help="also save the scene as this .blend file")
    return parser.parse_args(given)


def clear():
    """The cube, lamp and camera of the start-up file go."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)


def set_output(scene, path):
    settings = scene.render.image_settings
    scene.render.filepath = os.path.abspath(path)
    scene.render.use_file_extension = False
    if path.endswith(".exr"):
        settings.file_format, settings.color_depth = "OPEN_EXR", "32"
    else:
        settings.file_format = "PNG"


def main():
    args = arguments()
    numbers = {}
    if args.setup:
        with open(args.setup, encoding="utf-8") as file:
            numbers = json.load(file)
    image = numbers.setdefault("image", {})
    if args.size:
        image["width"], image["height"] = [int(v) for v in args.size.split("x")]
    if args.bounces is not None:
        image["max_bounces"] = args.bounces
    clear()
    scene = bpy.context.scene
    load_lookdev().setup(args.volume, numbers, samples=args.samples)
    scene.cycles.seed = args.seed
    if args.step_rate:
        scene.cycles.volume_step_rate = args.step_rate
    if args.threads:
        scene.render.threads_mode, scene.render.threads = "FIXED", args.threads
    set_output(scene, args.output)
    if args.blend:
        bpy.ops.wm.save_as_mainfile(filepath=os.path.abspath(args.blend))
    bpy.ops.render.render(write_still=True)


main()
