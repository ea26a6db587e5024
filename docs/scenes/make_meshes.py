#!/usr/bin/env python3
"""Writes the meshes of the example shots beside this file. They are checked in; run it only after a
change here. Faces wind counterclockwise seen from outside; Y is up, units are meters."""
import math
import pathlib

FOLDER = pathlib.Path(__file__).parent


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


class Mesh:
    def __init__(self):
        self.points, self.faces = [], []

    def prism(self, outline, near, far):
        """Extrudes an outline in x, y, counterclockwise, from z = near to z = far (near > far)."""
        first, count = len(self.points), len(outline)
        self.points += [(x, y, near) for x, y in outline] + [(x, y, far) for x, y in outline]
        self.faces.append([first + i for i in range(count)])
        self.faces.append([first + count + i for i in reversed(range(count))])
        for i in range(count):
            j = (i + 1) % count
            self.faces.append([first + i, first + count + i, first + count + j, first + j])

    def box(self, x0, x1, y0, y1, z0, z1):
        self.prism([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], z1, z0)

    def cylinder(self, x, z, radius, y0, y1, sides=32):
        ring = [(x + radius * math.cos(2 * math.pi * i / sides),
                 z - radius * math.sin(2 * math.pi * i / sides)) for i in range(sides)]
        first = len(self.points)
        self.points += [(a, y0, b) for a, b in ring] + [(a, y1, b) for a, b in ring]
        self.faces.append([first + i for i in reversed(range(sides))])
        self.faces.append([first + sides + i for i in range(sides)])
        for i in range(sides):
            j = (i + 1) % sides
            self.faces.append([first + i, first + j, first + sides + j, first + sides + i])

    def ball(self, x, y, z, radius, shape=lambda x, y, z: 1.0, rings=12, around=24):
        first = len(self.points)
        for i in range(1, rings):
            a = math.pi * i / rings
            for k in range(around):
                b = 2 * math.pi * k / around
                n = (math.sin(a) * math.cos(b), math.cos(a), math.sin(a) * math.sin(b))
                r = radius * shape(*n)
                self.points.append((x + r * n[0], y + r * n[1], z + r * n[2]))
        top, bottom = len(self.points), len(self.points) + 1
        self.points += [(x, y + radius * shape(0, 1, 0), z), (x, y - radius * shape(0, -1, 0), z)]
        for k in range(around):
            j = (k + 1) % around
            self.faces.append([top, first + j, first + k])
            for i in range(rings - 2):
                a, b = first + i * around, first + (i + 1) * around
                self.faces.append([a + k, a + j, b + j, b + k])
            last = first + (rings - 2) * around
            self.faces.append([last + k, last + j, bottom])

    def limb(self, start, end, first_radius, last_radius, around=14, rings=5):
        """A rounded cone from one point to another."""
        axis = [b - a for a, b in zip(start, end)]
        length = math.sqrt(sum(v * v for v in axis))
        axis = [v / length for v in axis]
        side = (0.0, 0.0, 1.0) if abs(axis[2]) < 0.9 else (1.0, 0.0, 0.0)
        u = cross(axis, side)
        u = [v / math.sqrt(sum(w * w for w in u)) for v in u]
        w = cross(axis, u)
        first, profile = len(self.points), []
        for i in range(rings + 1):
            angle = 0.5 * math.pi * i / rings
            profile.append((-first_radius * math.cos(angle), first_radius * math.sin(angle)))
        for i in range(rings + 1):
            angle = 0.5 * math.pi * (1 - i / rings)
            profile.append((length + last_radius * math.cos(angle), last_radius * math.sin(angle)))
        for along, radius in profile[1:-1]:
            for k in range(around):
                c, s = math.cos(2 * math.pi * k / around), math.sin(2 * math.pi * k / around)
                self.points.append(tuple(start[i] + along * axis[i] + radius * (c * u[i] + s * w[i])
                                         for i in range(3)))
        tail, nose = len(self.points), len(self.points) + 1
        for along, _ in (profile[0], profile[-1]):
            self.points.append(tuple(start[i] + along * axis[i] for i in range(3)))
        count = len(profile) - 2
        for k in range(around):
            j = (k + 1) % around
            self.faces.append([tail, first + j, first + k])
            for i in range(count - 1):
                a, b = first + i * around, first + (i + 1) * around
                self.faces.append([a + k, a + j, b + j, b + k])
            last = first + (count - 1) * around
            self.faces.append([nose, last + k, last + j])

    def turned(self, profile, around=48):
        """Turns a closed outline in radius, height, counterclockwise, about the Y axis."""
        first, count = len(self.points), len(profile)
        for k in range(around):
            b = 2 * math.pi * k / around
            self.points += [(r * math.cos(b), y, -r * math.sin(b)) for r, y in profile]
        for k in range(around):
            a, b = first + k * count, first + (k + 1) % around * count
            for i in range(count):
                j = (i + 1) % count
                self.faces.append([a + i, b + i, b + j, a + j])

    def write(self, name):
        lines = ["# Written by make_meshes.py."]
        lines += ["v %.6g %.6g %.6g" % point for point in self.points]
        lines += ["f " + " ".join(str(i + 1) for i in face) for face in self.faces]
        (FOLDER / name).write_text("\n".join(lines) + "\n")


HILL = [(-3.4, 1.9), (-2.6, 1.9), (0.4, 0.45), (1.0, 0.22), (1.6, 0.12), (4.4, 0.1)]


def hill():
    """A slope of 26 degrees with a run-out, and the layer of snow on it."""
    top = list(reversed(HILL))
    ground = Mesh()
    ground.prism([(-3.4, -0.4), (4.4, -0.4)] + top, 1.0, -1.0)
    ground.write("hill.obj")
    layer = Mesh()
    layer.prism([(x, y - 0.02) for x, y in HILL] + [(x, y + 0.16) for x, y in top], 0.85, -0.85)
    layer.write("hill_layer.obj")


def sled():
    """Two runners that turn up in front, a deck of three boards; and who sits on it."""
    mesh = Mesh()
    runner = [(-0.46, 0.0), (0.3, 0.0), (0.42, 0.05), (0.52, 0.17), (0.55, 0.27), (0.51, 0.28),
              (0.46, 0.2), (0.38, 0.1), (0.28, 0.05), (-0.46, 0.05)]
    for z in (-0.17, 0.17):
        mesh.prism(runner, z + 0.045, z - 0.045)
        for x in (-0.33, 0.15):
            mesh.box(x - 0.03, x + 0.03, 0.04, 0.2, z - 0.025, z + 0.025)
    mesh.box(-0.5, 0.36, 0.19, 0.235, -0.23, 0.23)
    mesh.limb((0.52, 0.265, -0.2), (0.52, 0.265, 0.2), 0.025, 0.025)
    mesh.write("sled.obj")
    rider = Mesh()
    rider.limb((-0.2, 0.36, 0.0), (-0.29, 0.68, 0.0), 0.14, 0.13)
    rider.ball(-0.28, 0.93, 0.0, 0.115)
    rider.limb((-0.285, 0.99, 0.0), (-0.32, 1.1, 0.0), 0.1, 0.03)
    for side in (-1, 1):
        rider.limb((-0.16, 0.33, 0.09 * side), (0.16, 0.46, 0.12 * side), 0.085, 0.07)
        rider.limb((0.16, 0.46, 0.12 * side), (0.3, 0.29, 0.11 * side), 0.068, 0.05)
        rider.limb((0.3, 0.275, 0.11 * side), (0.4, 0.31, 0.11 * side), 0.045, 0.035)
        rider.limb((-0.28, 0.66, 0.16 * side), (-0.1, 0.48, 0.21 * side), 0.06, 0.05)
        rider.limb((-0.1, 0.48, 0.21 * side), (0.12, 0.5, 0.14 * side), 0.048, 0.042)
    rider.write("rider.obj")


def boulder():
    mesh = Mesh()
    mesh.ball(0.0, 0.0, 0.0, 0.32, lambda x, y, z: 1.0 + 0.08 * math.sin(5 * x + 1) *
              math.cos(4 * y) + 0.07 * math.sin(6 * z + 2 * y) + 0.05 * math.cos(7 * x - 3 * z))
    mesh.write("boulder.obj")


def tire():
    """A wheel with twelve bars across its tread; its axle lies along z."""
    mesh = Mesh()
    outline = []
    for i in range(12):
        for share, radius in ((0.0, 0.27), (0.55, 0.27), (0.6, 0.32), (0.95, 0.32)):
            angle = 2 * math.pi * (i + share) / 12
            outline.append((radius * math.cos(angle), radius * math.sin(angle)))
    mesh.prism(outline, 0.11, -0.11)
    mesh.write("tire.obj")


def wedge():
    mesh = Mesh()
    mesh.prism([(-0.2, 0.0), (0.2, 0.0), (0.0, 0.3)], 0.6, -0.6)
    mesh.write("wedge.obj")


def plow_blade():
    """A curved blade that leans back at its foot; its back is at x < 0."""
    mesh = Mesh()
    front = [(0.25 - 0.25 * math.cos(math.radians(a)), 0.25 + 0.28 * math.sin(math.radians(a)))
             for a in range(-60, 61, 15)]
    back = [(x - 0.06, y) for x, y in reversed(front)]
    mesh.prism(front + back, 0.45, -0.45)
    mesh.write("plow_blade.obj")


def slope():
    """A layer of snow, 9 cm deep, on a plane that falls by 25 degrees along +X."""
    mesh = Mesh()
    c, s = math.cos(math.radians(25)), math.sin(math.radians(25))
    outline = [(-0.9, 0.0), (1.6, 0.0), (1.6, 0.09), (-0.9, 0.09)]
    mesh.prism([(x * c + y * s, y * c - x * s) for x, y in outline], 0.35, -0.35)
    mesh.write("slope_layer.obj")


STROKES = {  # boxes on a grid of 5 by 7: x0, x1, y0, y1
    "S": [(0, 5, 0, 1.4), (3.6, 5, 1.4, 2.8), (0, 5, 2.8, 4.2), (0, 1.4, 4.2, 5.6), (0, 5, 5.6, 7)],
    "N": [(0, 1.4, 0, 7), (3.6, 5, 0, 7), (1.4, 2.2, 3.9, 6.0), (2.2, 2.9, 2.5, 4.6),
          (2.9, 3.6, 1.1, 3.2)],
    "O": [(0, 5, 0, 1.4), (0, 5, 5.6, 7), (0, 1.4, 1.4, 5.6), (3.6, 5, 1.4, 5.6)],
    "W": [(0, 1.4, 0, 7), (4.1, 5.5, 0, 7), (1.4, 4.1, 0, 1.4), (2.1, 3.4, 1.4, 4.2)],
}


def text(word, size):
    mesh, x = Mesh(), -0.5 * size * (6.2 * len(word) - 1.2)
    for letter in word:
        for x0, x1, y0, y1 in STROKES[letter]:
            mesh.box(x + size * x0, x + size * x1, 0.02 + size * y0, 0.02 + size * y1, -0.07, 0.07)
        x += size * 6.2
    mesh.write("text.obj")


def castle():
    """Four round towers, walls with battlements, a gate and a keep; touching parts overlap."""
    mesh = Mesh()
    for x in (-0.4, 0.4):
        for z in (-0.4, 0.4):
            mesh.cylinder(x, z, 0.13, 0.0, 0.62, 24)
            for i in range(4):
                a = 0.5 * math.pi * i + 0.25 * math.pi
                cx, cz = x + 0.09 * math.cos(a), z + 0.09 * math.sin(a)
                mesh.box(cx - 0.03, cx + 0.03, 0.61, 0.69, cz - 0.03, cz + 0.03)
    for side in (-0.4, 0.4):
        mesh.box(-0.35, 0.35, 0.0, 0.4, side - 0.05, side + 0.05)
        for i in range(4):
            x = -0.26 + 0.155 * i
            mesh.box(x, x + 0.08, 0.39, 0.46, side - 0.05, side + 0.05)
    mesh.box(-0.45, -0.35, 0.0, 0.4, -0.35, 0.35)
    mesh.box(0.35, 0.45, 0.0, 0.4, -0.35, -0.1)
    mesh.box(0.35, 0.45, 0.0, 0.4, 0.1, 0.35)
    mesh.box(0.35, 0.45, 0.25, 0.4, -0.11, 0.11)
    mesh.box(-0.15, 0.15, 0.0, 0.75, -0.15, 0.15)
    mesh.write("castle.obj")


def cylinders():
    for name, x in (("cylinder_left.obj", -0.4), ("cylinder_middle.obj", 0.0),
                    ("cylinder_right.obj", 0.4)):
        mesh = Mesh()
        mesh.cylinder(x, 0.0, 0.13, 0.0, 0.4)
        mesh.write(name)


def ice_axe():
    """An ice axe that turns about the end of its shaft, at the origin; the pick points to +X."""
    mesh = Mesh()
    mesh.box(-0.025, 0.025, 0.0, 0.62, -0.025, 0.025)
    mesh.prism([(-0.16, 0.66), (-0.16, 0.56), (0.0, 0.6), (0.14, 0.59), (0.3, 0.47), (0.2, 0.63),
                (0.0, 0.68)], 0.035, -0.035)
    mesh.write("ice_axe.obj")


def roof():
    """A gable roof with eaves, slopes of 35 degrees, its ridge along Z."""
    mesh = Mesh()
    mesh.prism([(-0.7, 0.5), (0.7, 0.5), (0.7, 0.54), (0.0, 1.03), (-0.7, 0.54)], 0.6, -0.6)
    mesh.write("roof.obj")


def cone():
    """An ice cream cone that stands on its tip, open above, and the ring that holds it."""
    mesh = Mesh()
    mesh.turned([(0.001, 0.0), (0.012, 0.0), (0.065, 0.16), (0.055, 0.16), (0.001, 0.02)])
    mesh.write("cone.obj")


if __name__ == "__main__":
    cone()
    wedge()
    plow_blade()
    slope()
    text("SNOW", 0.06)
    castle()
    cylinders()
    ice_axe()
    roof()
    hill()
    sled()
    boulder()
    tire()
