#!/usr/bin/env python3
"""Writes the vehicles of car_snowing and city_street beside this file, as make_meshes.py does for the
other shots. A vehicle drives toward +X and stands on the plane y = 0; Y is up, units are meters."""
import math

from make_meshes import Mesh

WHEEL_X, WHEEL_RADIUS, WHEEL_WIDTH = 1.12, 0.3, 0.2
HALF_WIDTH, BELT, FLOOR = 0.8, 0.92, 0.24

# The silhouette of the car from its tail to its nose: x, height.
ROOF_LINE = [(-1.82, 0.62), (-1.81, 0.80), (-1.76, 0.92), (-1.66, 0.99), (-1.50, 1.16),
             (-1.36, 1.30), (-1.15, 1.38), (-0.80, 1.425), (-0.40, 1.44), (-0.05, 1.42),
             (0.12, 1.37), (0.45, 1.17), (0.80, 0.96), (0.92, 0.915), (1.20, 0.88), (1.50, 0.82),
             (1.70, 0.75), (1.79, 0.66), (1.82, 0.55)]


def line_at(line, x):
    for (x0, y0), (x1, y1) in zip(line, line[1:]):
        if x0 <= x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return line[0][1] if x < line[0][0] else line[-1][1]


def roof_at(x):
    """The silhouette, its corners rounded."""
    return sum(line_at(ROOF_LINE, x + d) for d in (-0.05, -0.025, 0.0, 0.025, 0.05)) / 5.0


def arch_at(x):
    """Height of the body's lower edge: it goes around the wheels."""
    reach = WHEEL_RADIUS + 0.06
    distance = min(abs(x - WHEEL_X), abs(x + WHEEL_X))
    over = WHEEL_RADIUS + math.sqrt(reach ** 2 - distance ** 2) if distance < reach else 0.0
    return max(FLOOR, over)


def section(x):
    """Half of the car's cross-section at x, from the middle below to the middle above: y, z."""
    top, edge = roof_at(x), arch_at(x)
    width = HALF_WIDTH * (1.0 - 0.16 * abs(x / 1.82) ** 7)
    shoulder = min(BELT, top - 0.1)
    upper = width * (0.96 - 0.19 * min(1.0, max(0.0, (top - 0.1 - shoulder) / 0.42)))
    sill = min(edge + 0.05, shoulder - 0.03)
    return [(FLOOR, 0.0), (FLOOR, 0.58 * width), (edge, 0.6 * width), (edge, 0.95 * width),
            (sill, width), (max(sill, 0.6 * shoulder + 0.1), 1.015 * width),
            (shoulder, 0.985 * width), (shoulder + 0.02, 0.96 * width), (top - 0.08, upper),
            (top - 0.04, upper - 0.025), (top - 0.012, upper - 0.08), (top - 0.003, 0.5 * upper),
            (top, 0.0)]


def stations():
    xs = {round(-1.82 + 3.64 * i / 56, 4) for i in range(57)}
    xs |= {s * WHEEL_X + 0.36 * math.cos(a * math.pi / 8) for s in (-1, 1) for a in range(9)}
    kept = []
    for x in sorted(xs):
        if not kept or x - kept[-1] > 0.02:
            kept.append(x)
    return kept


def ring(x):
    half = section(x)
    right = [(x, y, z) for y, z in half]
    left = [(x, y, -z) for y, z in reversed(half[1:-1])]
    return right + left


def add_loft(mesh, rings):
    """A closed skin over rings of equal count, which wind from -Z to +Z below when seen from +X."""
    first, count = len(mesh.points), len(rings[0])
    for points in rings:
        mesh.points += points
    for i in range(len(rings) - 1):
        a, b = first + i * count, first + (i + 1) * count
        for j in range(count):
            k = (j + 1) % count
            mesh.faces.append([a + j, a + k, b + k, b + j])
    mesh.faces.append([first + j for j in reversed(range(count))])
    mesh.faces.append([first + (len(rings) - 1) * count + j for j in range(count)])


def add_pane(mesh, grid, proud=0.006, depth=0.05):
    """A thick pane over a grid of points of the body's surface: rows of equal count."""
    rows, columns = len(grid), len(grid[0])

    def normal(r, c):
        r0, r1 = max(r - 1, 0), min(r + 1, rows - 1)
        c0, c1 = max(c - 1, 0), min(c + 1, columns - 1)
        a = [q - p for p, q in zip(grid[r0][c], grid[r1][c])]
        b = [q - p for p, q in zip(grid[r][c0], grid[r][c1])]
        n = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
        length = math.sqrt(sum(v * v for v in n))
        return [v / length for v in n]

    first = len(mesh.points)
    for shift in (proud, -depth):
        for r in range(rows):
            for c in range(columns):
                mesh.points.append(tuple(p + shift * n for p, n in zip(grid[r][c], normal(r, c))))
    inner = first + rows * columns
    for r in range(rows - 1):
        for c in range(columns - 1):
            a, b = r * columns + c, (r + 1) * columns + c
            mesh.faces.append([first + a, first + b, first + b + 1, first + a + 1])
            mesh.faces.append([inner + a, inner + a + 1, inner + b + 1, inner + b])
    border = [c for c in range(columns)] + [r * columns + columns - 1 for r in range(1, rows)]
    border += [(rows - 1) * columns + c for c in reversed(range(columns - 1))]
    border += [r * columns for r in reversed(range(1, rows - 1))]
    for i, a in enumerate(border):
        b = border[(i + 1) % len(border)]
        mesh.faces.append([first + a, first + b, inner + b, inner + a])


def body():
    mesh = Mesh()
    add_loft(mesh, [ring(x) for x in stations()])
    return mesh


def on_side(x, share, side):
    """A point of the side window: share goes from the belt up to the roof."""
    half = section(x)
    (y0, z0), (y1, z1) = half[7], half[8]
    return (x, y0 + (y1 - y0) * share, side * (z0 + (z1 - z0) * share))


def on_top(x, share):
    """A point of the upper skin: share goes from -1 to 1 across it."""
    half = section(x)
    z_edge = half[10][1]
    z = share * z_edge
    return (x, roof_at(x) - 0.012 * share * share, z)


def glass():
    mesh = Mesh()
    across = [-0.93 + 1.86 * i / 8 for i in range(9)]
    add_pane(mesh, [[on_top(x, -s) for s in across] for x in (0.2, 0.34, 0.48, 0.62, 0.76)])
    add_pane(mesh, [[on_top(x, -s) for s in across] for x in (-1.6, -1.52, -1.44, -1.4)])
    for x0, x1 in ((-1.18, -0.5), (-0.42, 0.22)):
        xs = [x0 + (x1 - x0) * i / 4 for i in range(5)]
        add_pane(mesh, [[on_side(x, s, 1) for x in xs] for s in (0.08, 0.5, 0.92)])
        add_pane(mesh, [[on_side(x, s, -1) for x in reversed(xs)] for s in (0.08, 0.5, 0.92)])
    return mesh


def wheel():
    """A tire with cleats about the Z axis; its middle is the origin."""
    mesh = Mesh()
    cleats, outline = 26, []
    for i in range(cleats):
        for share, radius in ((0.0, 1.0), (0.55, 1.0), (0.6, 0.955), (0.95, 0.955)):
            angle = 2.0 * math.pi * (i + share) / cleats
            outline.append((WHEEL_RADIUS * radius * math.cos(angle),
                            WHEEL_RADIUS * radius * math.sin(angle)))
    half = 0.5 * WHEEL_WIDTH
    shoulder = [(0.93 * x, 0.93 * y) for x, y in outline]
    hub = [(0.6 * x, 0.6 * y) for x, y in outline]
    rings = []
    for points, z in ((hub, -half + 0.03), (hub, -half), (shoulder, -half), (outline, -half + 0.03),
                      (outline, half - 0.03), (shoulder, half), (hub, half), (hub, half - 0.03)):
        rings.append([(x, y, z) for x, y in points])
    first, count = len(mesh.points), len(outline)
    for points in rings:
        mesh.points += points
    for i in range(len(rings) - 1):
        a, b = first + i * count, first + (i + 1) * count
        mesh.faces += [[a + j, a + (j + 1) % count, b + (j + 1) % count, b + j]
                       for j in range(count)]
    for z, side, start in ((-half + 0.03, -1, first), (half - 0.03, 1, first + 7 * count)):
        middle = len(mesh.points)
        mesh.points.append((0.0, 0.0, z))
        for j in range(count):
            edge = [start + j, start + (j + 1) % count]
            mesh.faces.append([middle] + (edge if side > 0 else edge[::-1]))
    return mesh


def wiper():
    """An arm with a blade in the plane y = 0, from its axle at the origin along +Z."""
    mesh = Mesh()
    mesh.box(-0.03, 0.03, -0.02, 0.045, -0.03, 0.03)
    mesh.box(-0.015, 0.015, 0.0, 0.045, 0.0, 0.62)
    mesh.box(-0.03, 0.03, -0.02, 0.03, 0.14, 0.66)
    return mesh


def moved(mesh, x, y, z):
    copy = Mesh()
    copy.points = [(a + x, b + y, c + z) for a, b, c in mesh.points]
    copy.faces = [list(face) for face in mesh.faces]
    return copy


def joined(*meshes):
    whole = Mesh()
    for mesh in meshes:
        first = len(whole.points)
        whole.points += mesh.points
        whole.faces += [[first + i for i in face] for face in mesh.faces]
    return whole


def axle(x):
    inset = HALF_WIDTH - 0.5 * WHEEL_WIDTH - 0.01
    return joined(moved(wheel(), x, 0.0, inset), moved(wheel(), x, 0.0, -inset))


def drum(mesh, x, z0, z1, radius, sides=24):
    """A plain wheel that stands on the ground: a cylinder about Z."""
    outline = [(x + radius * math.cos(2.0 * math.pi * i / sides),
                radius + radius * math.sin(2.0 * math.pi * i / sides)) for i in range(sides)]
    mesh.prism(outline, z1, z0)


def whole_car():
    """Body and wheels in one, for cars that only stand."""
    mesh = body()
    for x in (WHEEL_X, -WHEEL_X):
        for z in (HALF_WIDTH - WHEEL_WIDTH, -HALF_WIDTH):
            drum(mesh, x, z, z + WHEEL_WIDTH, WHEEL_RADIUS)
    return mesh


def truck():
    """A truck with a bed and, ahead of it, the frame of a plow."""
    mesh = Mesh()
    cab = [(0.75, 0.75), (2.6, 0.75), (2.68, 0.95), (2.66, 1.6), (2.35, 2.55), (0.85, 2.6),
           (0.75, 2.5)]
    mesh.prism(cab, 1.05, -1.05)
    mesh.box(-3.2, 2.5, 0.55, 0.85, -0.5, 0.5)
    mesh.prism([(-3.3, 0.9), (0.6, 0.9), (0.6, 1.75), (-3.3, 1.75)], 1.1, -1.1)
    mesh.box(-3.35, 0.65, 1.65, 1.8, -1.15, 1.15)
    for x in (1.75, -1.35, -2.4):
        drum(mesh, x, 0.72, 1.08, 0.5)
        drum(mesh, x, -1.08, -0.72, 0.5)
    mesh.box(2.4, 3.5, 0.4, 0.6, -0.35, 0.35)
    return mesh


def truck_plow():
    """The blade before it, 3 m wide and turned so that it throws to the side of +Z."""
    mesh = Mesh()
    front = [(0.45 - 0.45 * math.cos(math.radians(a)), 0.48 + 0.5 * math.sin(math.radians(a)))
             for a in range(-70, 66, 9)]
    back = [(x - 0.12, y) for x, y in reversed(front)]
    mesh.prism(front + back, 1.5, -1.5)
    turn, ahead = math.radians(25.0), 3.6
    mesh.points = [(ahead + x * math.cos(turn) - z * math.sin(turn), y,
                    x * math.sin(turn) + z * math.cos(turn)) for x, y, z in mesh.points]
    return mesh


def truck_windows():
    mesh = Mesh()
    mesh.prism([(2.66, 1.62), (2.7, 1.62), (2.4, 2.42), (2.36, 2.42)], 0.92, -0.92)
    for z in (-1.06, 1.04):
        mesh.prism([(1.1, 1.6), (2.35, 1.6), (2.1, 2.38), (1.1, 2.38)], z + 0.02, z)
    return mesh


FACADE = 4.7  # m from the middle of the street
HOUSES = ((-16.0, -8.2), (-8.0, -0.4), (-0.2, 6.8), (7.0, 16.0))  # along it


def street_windows():
    """Panes and doors of the houses along the street, a little before their walls."""
    mesh = Mesh()
    for side in (-1, 1):
        z0, z1 = sorted((side * (FACADE - 0.05), side * (FACADE + 0.3)))
        for number, (x0, x1) in enumerate(HOUSES):
            count = int((x1 - x0 - 0.6) / 1.7)
            for i in range(count):
                x = x0 + (x1 - x0) * (i + 0.5) / count
                door = i == (number + (side > 0)) % count
                mesh.box(x - 0.5, x + 0.5, 0.14 if door else 0.95, 2.3, z0, z1)
                mesh.box(x - 0.5, x + 0.5, 3.5, 5.0, z0, z1)
    return mesh


if __name__ == "__main__":
    body().write("car_body.obj")
    glass().write("car_glass.obj")
    axle(0.0).write("car_axle.obj")
    wiper().write("car_wiper.obj")
    whole_car().write("car.obj")
    truck().write("truck.obj")
    truck_windows().write("truck_windows.obj")
    truck_plow().write("truck_plow.obj")
    street_windows().write("street_windows.obj")
