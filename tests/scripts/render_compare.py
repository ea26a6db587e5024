"""The same grid in `firn render` and in Blender's Cycles: equal light, equal picture.

    /usr/bin/python3 tests/scripts/render_compare.py FIRN FOLDER [BLENDER]

Both get one scene (`--dump-setup`), write linear EXR, and must agree: mean luminance of the snow
within 5 %, structural similarity above 0.9 after the same tone mapping, and no shift between them.
Ends with 77, which means skipped, where there is no Blender."""
import os
import shutil
import subprocess
import sys

import numpy as np

import pictures

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "..", "plugin", "blender", "render_volume.py")
SCENE = ["--size", "88x66", "--zoom", "1.15", "--elevation", "25", "--ground", "none",
         "--sky", "constant", "--max-bounces", "32", "--half", "false"]


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit("%s ended with %d:\n%s" % (command[0], done.returncode, done.stdout.decode()))


def render(firn, blender, folder):
    """Colors and depth by Firn, colors by Cycles."""
    grid, setup, ours, theirs = (os.path.join(folder, name) for name in
                                 ("grid.vdb", "setup.json", "firn.exr", "cycles.exr"))
    run([sys.executable, os.path.join(HERE, "render_grid.py"), grid])
    run([firn, "render", grid, *SCENE, "--samples", "256", "--dump-setup", setup, "-o", ours,
         "--quiet"])
    settings = dict(os.environ, BLENDER_USER_CONFIG=folder, BLENDER_USER_SCRIPTS=folder)
    run([blender, "-b", "--factory-startup", "--python-use-system-env", "--python-exit-code", "1",
         "-P", SCRIPT, "--", grid, "-o", theirs, "--setup", setup, "--samples", "144"],
        env=settings)
    image = pictures.read_exr(ours)
    return pictures.colors(image), image["Z"], pictures.colors(pictures.read_exr(theirs))


def shift_between(a, b):
    """How far b is from a in pixels, down and right, by least squares."""
    slopes = np.stack([g.ravel() for g in np.gradient((a + b) / 2.0)], -1)
    return np.linalg.lstsq(slopes, (a - b).ravel(), rcond=None)[0]


def main():
    firn, folder = sys.argv[1:3]
    blender = sys.argv[3] if len(sys.argv) > 3 else shutil.which("blender")
    if not blender:
        print("skipped: no Blender")
        sys.exit(77)
    os.makedirs(folder, exist_ok=True)
    ours, depth, theirs = render(firn, blender, folder)
    snow = np.isfinite(depth)
    means = [float(pictures.luminance(image)[snow].mean()) for image in (ours, theirs)]
    tones = [pictures.tone(image) for image in (ours, theirs)]
    alike = pictures.ssim(*tones)
    shift = shift_between(*tones)
    print("luminance %.4f and %.4f, ratio %.4f; colors %s; similarity %.4f; shift %.3f %.3f pixels"
          % (*means, means[0] / means[1], ours[snow].mean(0) / theirs[snow].mean(0), alike, *shift))
    assert snow.mean() > 0.2, "the picture shows hardly any snow"
    assert np.abs(ours[0, 0] - theirs[0, 0]).max() < 1e-3, "the sky differs"
    assert abs(means[0] / means[1] - 1.0) < 0.05, "the snow is not as bright"
    assert alike > 0.9, "the pictures have another structure"
    assert np.abs(shift).max() < 0.08, "one picture is shifted"


main()
