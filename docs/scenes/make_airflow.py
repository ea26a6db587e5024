#!/usr/bin/env python3
"""Writes car_airflow.vdb beside this file: the air around the parked car of car_snowing, in meters per
second on cells of 20 cm. The wind comes from ahead and a little from the side; what the car holds up
is left out behind it, and the rest is made free of divergence with walls where car and ground are.
It is checked in; run it only after a change here. Needs python3-numpy and python3-openvdb."""
import pathlib

import numpy
import pyopenvdb

from make_vehicles import HALF_WIDTH, roof_at

CELL = 0.2
LOW, COUNT = (-22, 0, -13), (50, 17, 26)  # cells, y = 0 is the ground
WIND = (-2.5, 0.0, 0.8)  # m/s


def solid_cells():
    """The cells whose middle is in the car."""
    solid = numpy.zeros(COUNT, bool)
    for i in range(COUNT[0]):
        x = (LOW[0] + i + 0.5) * CELL
        for k in range(COUNT[2]):
            z = (LOW[2] + k + 0.5) * CELL
            if abs(x) < 1.82 and abs(z) < HALF_WIDTH:
                solid[i, : int(round(roof_at(x) / CELL)), k] = True
    return solid


def faces(axis):
    shape = list(COUNT)
    shape[axis] += 1
    return numpy.zeros(shape)


def open_faces(solid, axis):
    """1 where air goes through the face before each cell; the borders are open but for the ground."""
    free = faces(axis)
    before = [slice(None)] * 3
    after = [slice(None)] * 3
    inner = [slice(None)] * 3
    before[axis], after[axis], inner[axis] = slice(0, -1), slice(1, None), slice(1, -1)
    free[tuple(inner)] = ~solid[tuple(before)] & ~solid[tuple(after)]
    ends = [slice(None)] * 3
    for end in (0, -1):
        if axis == 1 and end == 0:
            continue
        ends[axis] = end
        free[tuple(ends)] = ~solid[tuple(ends)]
    return free


def shift(values, axis, end):
    part = [slice(None)] * 3
    part[axis] = slice(1, None) if end else slice(0, -1)
    return values[tuple(part)]


def with_wake(solid):
    """The wind on faces, weaker behind the car."""
    velocity = [faces(axis) + WIND[axis] for axis in range(3)]
    behind = numpy.zeros(COUNT)
    front = solid.any(axis=0)
    for i in range(COUNT[0]):
        distance = -1.82 - (LOW[0] + i + 0.5) * CELL
        behind[i] = front * (0.85 * numpy.exp(-distance / 1.5) if distance > 0 else 0.0)
    for _ in range(2):  # smeared over a cell or two
        for axis in range(3):
            behind = 0.5 * behind + 0.25 * (numpy.roll(behind, 1, axis) + numpy.roll(behind, -1, axis))
    velocity[0][:-1] *= 1.0 - behind
    return velocity


def project(velocity, free, solid):
    """Takes the gradient of a pressure off, until no cell gains or loses air."""
    pressure = numpy.zeros(COUNT)
    weight = sum(shift(free[a], a, end) for a in range(3) for end in (0, 1))
    for axis in range(3):
        velocity[axis] *= free[axis]
    source = sum(shift(velocity[a], a, 1) - shift(velocity[a], a, 0) for a in range(3))
    for _ in range(6000):
        around = numpy.zeros(COUNT)
        padded = numpy.pad(pressure, 1)
        for axis in range(3):
            for end in (0, 1):
                part = [slice(1, -1)] * 3
                part[axis] = slice(2, None) if end else slice(0, -2)
                around += shift(free[axis], axis, end) * padded[tuple(part)]
        pressure = numpy.where(weight > 0, (around - source) / numpy.maximum(weight, 1), 0.0)
        pressure[solid] = 0.0
    padded = numpy.pad(pressure, 1)
    for axis in range(3):
        inner = [slice(1, -1)] * 3
        inner[axis] = slice(None)
        velocity[axis] -= free[axis] * numpy.diff(padded[tuple(inner)], axis=axis)
    rest = sum(shift(velocity[a], a, 1) - shift(velocity[a], a, 0) for a in range(3))
    return float(numpy.abs(rest[~solid]).max())


def main():
    solid = solid_cells()
    free = [open_faces(solid, axis) for axis in range(3)]
    velocity = with_wake(solid)
    rest = project(velocity, free, solid)
    middle = numpy.stack([0.5 * (shift(velocity[a], a, 0) + shift(velocity[a], a, 1))
                          for a in range(3)], axis=-1)
    grid = pyopenvdb.Vec3SGrid()
    grid.copyFromArray(middle.astype(numpy.float32), ijk=LOW)
    grid.transform = pyopenvdb.createLinearTransform(
        [[CELL, 0, 0, 0], [0, CELL, 0, 0], [0, 0, CELL, 0], [0.5 * CELL] * 3 + [1]])
    grid.name = "vel"
    grid.saveFloatAsHalf = True
    pyopenvdb.write(str(pathlib.Path(__file__).parent / "car_airflow.vdb"), grids=[grid])
    print("fastest %.2f m/s, divergence left %.2g m/s over a cell"
          % (numpy.linalg.norm(middle, axis=-1).max(), rest))


if __name__ == "__main__":
    main()
