#!/usr/bin/env python3
"""`firn render` as its users run it: pictures, sheets, films, set-ups, exit codes.

Usage: render_cli.py FIRN
"""

import json
import os
import shutil
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pyopenvdb

FIRN = str(Path(sys.argv[1]).resolve())
FEW = ["--size", "32x20", "--samples", "2", "--max-bounces", "8"]


def run(*arguments, **settings):
    return subprocess.run([FIRN, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, **settings)


def expect(code, *arguments, word="", **settings):
    done = run(*arguments, **settings)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    assert word in done.stdout + done.stderr, (word, done.stdout, done.stderr)
    return done


def write_ball(path, bad=False, shift=0, **metadata):
    grid = pyopenvdb.FloatGrid(0.0)
    grid.name = "density"
    grid.transform = pyopenvdb.createLinearTransform(0.02)
    voxels = grid.getAccessor()
    for x in range(-6, 7):
        for y in range(-6, 7):
            for z in range(-6, 7):
                if x * x + y * y + z * z < 36:
                    voxels.setValueOn((x + shift, y, z), 0.8)
    if bad:
        voxels.setValueOn((0, 0, 0), float("nan"))
    pyopenvdb.write(str(path), grids=[grid], metadata=metadata)


def pictures_are_written(volume):
    expect(0, "render", volume, *FEW, "-o", "a.png")
    assert Path("a.png").read_bytes()[:4] == b"\x89PNG"
    expect(0, "render", volume, *FEW, "-o", "a.exr", "--half", "false")
    assert Path("a.exr").read_bytes()[:4] == b"\x76\x2f\x31\x01"
    for threads in (1, 2, 5):
        expect(0, "render", volume, *FEW, "--thread-count", threads, "-o", f"t{threads}.exr")
    assert Path("t1.exr").read_bytes() == Path("t2.exr").read_bytes() == Path("t5.exr").read_bytes()


def numbers_come_from_table_then_file_then_command_line(volume):
    def setup(*arguments):
        expect(0, "render", *arguments, "--dump-setup", "s.json", "--quiet")
        return json.loads(Path("s.json").read_text())

    plain = setup(volume)
    assert plain["sun"]["angle_degrees"] == 1 and plain["material"]["g"] == 0.5
    assert not Path("render.png").exists()
    write_ball("look.vdb", sigma_t_per_density=100.0, g=0.25, albedo=(0.5, 0.6, 0.7),
               render_sun_angle="7", frame=12)
    look = setup("look.vdb", "--anisotropy", "-0.5")
    assert look["sun"]["angle_degrees"] == 7 and look["material"]["g"] == -0.5
    assert look["material"]["sigma_t_per_density"] == 100 and look["frame"] == 12
    assert abs(look["material"]["albedo"][1] - 0.6) < 1e-6
    # A look is a name for several numbers; what stands behind it may still change them.
    assert setup(volume, "--look", "paper")["material"]["g"] == 0.5
    wet = setup(volume, "--look", "wet", "--anisotropy", "0.25")["material"]
    assert wet["g"] == 0.25 and wet["sigma_t_per_density"] == 320
    write_ball("named.vdb", look="dirty")
    named = setup("named.vdb")["material"]["albedo"]
    other = setup("named.vdb", "--look", "fresh")["material"]["albedo"]
    assert named[0] > named[2] and other[0] < other[2], (named, other)
    near = setup(volume, "--camera", "placed", "--position", "0 0 3", "--target", "0 0 0")
    assert near["camera"]["position"] == [0, 0, 3] and near["camera"]["target"] == [0, 0, 0]
    # A foreign grid: voxel (0, 0, 0) has its center at the origin.
    assert abs(sum(plain["lower"]) + sum(plain["upper"])) < 1e-5


def sheets_and_films_take_many_frames(volume):
    for frame in (1, 2, 3, 4):
        shutil.copy(volume, f"seq.{frame:04d}.vdb")
    expect(0, "render", "seq.$F4.vdb", "--frames", "1-4", "--sheet", "2x2", *FEW, "-o", "sheet.png")
    header = Path("sheet.png").read_bytes()[16:24]
    assert int.from_bytes(header[:4], "big") == 32 and int.from_bytes(header[4:], "big") == 20
    expect(0, "render", "seq.$F4.vdb", "--frames", "1-4x3", *FEW, "-o", "f.$F4.png")
    assert Path("f.0001.png").exists() and Path("f.0004.png").exists()
    assert not Path("f.0002.png").exists()
    expect(2, "render", "seq.$F4.vdb", *FEW, word="--frames")
    expect(2, "render", "seq.$F4.vdb", "--frames", "1-4", *FEW, "-o", "one.png", word="$F4")
    none = {**os.environ, "PATH": "/nonexistent"}
    expect(5, "render", "seq.$F4.vdb", "--frames", "1-2", *FEW, "-o", "m.mp4", word="ffmpeg",
           env=none)
    if shutil.which("ffmpeg"):
        for film in ("m.mp4", "m.gif"):
            expect(0, "render", "seq.$F4.vdb", "--frames", "1-3", *FEW, "-o", film)
            assert Path(film).stat().st_size > 300 and not Path(film + ".partial").exists()


def bad_input_has_a_code_and_a_sentence(volume):
    expect(5, "render", "none.vdb", *FEW, word="none.vdb")
    expect(5, "render", volume, "--grid", "smoke", *FEW, word="smoke")
    expect(2, "render", volume, "--size", "0x20", word="0x20")
    expect(2, "render", volume, "--width", "0", word="width")
    expect(2, "render", volume, "--sun-elevaton", "3", word="--sun-elevation")
    expect(2, "render", volume, "--sun-elevation", "high", word="sun_elevation")
    expect(2, "render", volume, *FEW, "-o", "a.jpg", word=".png")
    done = run("render", volume, *FEW, "-o", "no/such/folder/a.png")
    assert done.returncode in (1, 5) and "no/such/folder" in done.stderr, done
    write_ball("bad.vdb", bad=True)
    done = run("render", "bad.vdb", *FEW)
    assert done.returncode == 10 and "finite" in done.stderr, done
    expect(5, "render", volume, "--sky", "image", "--sky-file", "no.exr", *FEW, word="no.exr")


def setup_of(*arguments):
    expect(0, "render", *arguments, "--dump-setup", "s.json", "--quiet")
    return json.loads(Path("s.json").read_text())


SHOT = """{"firn": 1, "name": "shot", "frames": [1, 3], "nodes": {
  "ball": {"type": "snow_source", "params": {"center": [0, 1, 0], "radius": 0.2}},
  "wall": {"type": "collider", "params": {"shape": "box", "color": [0.1, 0.2, 0.3]}},
  "solver": {"type": "solver", "params": {"cell_size": 0.1}, "inputs": {"sources": ["ball"]}},
  "points": {"type": "write_particles", "inputs": {"particles": "solver"}},
  "volume": {"type": "rasterize", "params": {"voxel_size": 0.1}, "inputs": {"particles": "solver"}},
  "vdb": {"type": "write_volume", "params": {"look": "wet"}, "inputs": {"volume": "volume"}},
  "view": {"type": "render", "inputs": {"volume": "volume", "particles": "solver"}, "params": {
    "cook": false, "camera": "placed", "field_of_view": 33,
    "position": {"keys": [[1, [0, 1, 3]], [3, [2, 1, 3]]], "interpolation": "linear"}}}
}}"""


def a_shot_brings_its_camera_its_grains_and_its_colors(_volume):
    Path("shot.firn").write_text(SHOT)
    expect(0, "cook", "shot.firn", "--base", "cache", "--quiet")
    cache = Path("cache/shot/v1")
    assert not list(cache.glob("*.png")), "a render node that is off makes no pictures"
    for frame, x in ((1, 0), (2, 1), (3, 2)):
        found = setup_of(cache, "--frames", str(frame))
        assert found["camera"]["position"] == [x, 1, 3], found["camera"]
        assert found["camera"]["vertical_fov_degrees"] == 33
        assert abs(found["material"]["albedo"][0] - 0.994) < 1e-6, found["material"]
        assert abs(found["solids"][0]["albedo"][2] - 0.3) < 1e-6, found["solids"]
    assert setup_of(cache, "--position", "0 0 9")["camera"]["position"] == [0, 0, 9]
    # The camera is no part of what was cooked: with another one the cache is as good as before.
    Path("shot.firn").write_text(SHOT.replace('"field_of_view": 33', '"field_of_view": 44'))
    expect(0, "cook", "shot.firn", "--base", "cache", "--resume", "--quiet")
    large = [cache, "--frames", "2", *FEW, "--grain-limit", "0.1"]
    expect(0, "render", *large, "-o", "with.exr")
    expect(0, "render", *large, "--grains", "none", "-o", "none.exr")
    assert Path("with.exr").read_bytes() != Path("none.exr").read_bytes()
    # Grains that the user names; the same file gives the same picture.
    archive = next(cache.glob("*.abc"))
    expect(0, "render", *large, "--particles", archive, "-o", "own.exr")
    assert Path("with.exr").read_bytes() == Path("own.exr").read_bytes()
    expect(5, "render", *large, "--particles", "no.bgeo", word="no.bgeo")


def a_frame_does_not_depend_on_what_it_is_rendered_with(volume):
    write_ball("go.0001.vdb")
    for frame in range(2, 6):
        write_ball(f"go.{frame:04d}.vdb", shift=10 * frame)
    whole = setup_of("go.$F4.vdb", "--frames", "1-5")["camera"]
    for frames in ("1", "3", "5", "2-4", "1-5x2"):
        assert setup_of("go.$F4.vdb", "--frames", frames)["camera"] == whole, frames
    expect(0, "render", "go.$F4.vdb", "--frames", "1-5", *FEW, "-o", "all.$F4.exr", "--quiet")
    for frames in ("1-2", "3", "4-5"):
        expect(0, "render", "go.$F4.vdb", "--frames", frames, *FEW, "-o", "part.$F4.exr", "--quiet")
    for frame in range(1, 6):
        assert Path(f"all.{frame:04d}.exr").read_bytes() == \
            Path(f"part.{frame:04d}.exr").read_bytes(), frame


def work_of_children():
    """Seconds of processor time that commands have taken; others on the machine do not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def work_is_refused_before_it_begins(volume):
    begun = work_of_children()
    expect(3, "render", volume, "--size", "30000x30000", "--max-memory", "900", word="limit is 900")
    expect(3, "render", volume, "--size", "16000x16000", "--max-memory", "1000", word="needs")
    slow = ["--size", "3000x3000", "--samples", "4096"]
    done = run("render", volume, *slow, "-o", "no/such/folder/a.png")
    assert done.returncode in (1, 5) and "no/such/folder" in done.stderr, done
    assert work_of_children() - begun < 5


def limits_and_signals_act_within_a_second(volume):
    slow = ["--size", "1200x900", "--samples", "4096", "--threads", "1"]
    begun = work_of_children()
    expect(0, "render", volume, *slow, "--time-limit", "1", "-o", "t.png")
    assert work_of_children() - begun < 4, work_of_children() - begun
    with subprocess.Popen([FIRN, "render", volume, *slow, "-o", "s.png"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        begun = work_of_children()
        process.stdout.readline()  # it has begun
        process.terminate()
        process.communicate(timeout=60)
        assert process.returncode == 143, process.returncode
        assert work_of_children() - begun < 3, work_of_children() - begun
    assert not Path("s.png").exists()


def options_without_effect_are_told(volume):
    done = expect(0, "render", volume, *FEW, "--position", "0 0 1", "--sky-file", "x.exr", "--half",
                  "false", "--azimuth", "10", "--shutter", "1", "-o", "i.png")
    for row in ("position has no effect: it counts when camera==placed", "sky_file has no effect",
                "half has no effect", "shutter has no effect"):
        assert row in done.stderr, (row, done.stderr)
    assert "azimuth" not in done.stderr
    done = expect(0, "render", volume, *FEW, "--exposure", "1", "-o", "i.exr")
    assert "exposure has no effect" in done.stderr
    data = Path("i.exr").read_bytes()
    for word in (b"software", b"firn_samples", b"firn_camera"):
        assert word in data[:4096], word


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_ball("ball.vdb")
        for test in (pictures_are_written, numbers_come_from_table_then_file_then_command_line,
                     sheets_and_films_take_many_frames, bad_input_has_a_code_and_a_sentence,
                     a_shot_brings_its_camera_its_grains_and_its_colors,
                     a_frame_does_not_depend_on_what_it_is_rendered_with,
                     work_is_refused_before_it_begins, limits_and_signals_act_within_a_second,
                     options_without_effect_are_told):
            test("ball.vdb")
            print("ok", test.__name__)


main()
