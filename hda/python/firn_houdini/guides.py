"""Lines that show where a source or collider without geometry stands."""

import math

SEGMENTS = 32


def circle(axis, radius, height=0.0):
    """A closed ring about an axis, 0 to 2."""
    points = []
    for step in range(SEGMENTS):
        angle = 2.0 * math.pi * step / SEGMENTS
        point = [0.0, 0.0, 0.0]
        point[axis] = height
        point[(axis + 1) % 3] = radius * math.cos(angle)
        point[(axis + 2) % 3] = radius * math.sin(angle)
        points.append(point)
    return points + points[:1]


def sphere(radius):
    return [circle(axis, radius) for axis in range(3)]


def box(half):
    x, y, z = half
    rings = [[[-x, h, -z], [x, h, -z], [x, h, z], [-x, h, z], [-x, h, -z]] for h in (-y, y)]
    posts = [[[a, -y, b], [a, y, b]] for a in (-x, x) for b in (-z, z)]
    return rings + posts


def capsule(radius, half_height):
    rings = [circle(1, radius, h) for h in (-half_height, half_height)]
    posts = [[[a, -half_height, b], [a, half_height, b]]
             for a, b in ((radius, 0), (-radius, 0), (0, radius), (0, -radius))]
    caps = []
    for sign in (1, -1):
        for turn in (0, 2):
            arc = []
            for step in range(SEGMENTS // 2 + 1):
                angle = math.pi * step / (SEGMENTS // 2)
                point = [0.0, sign * (half_height + radius * math.sin(angle)), 0.0]
                point[turn] = radius * math.cos(angle)
                arc.append(point)
            caps.append(arc)
    return rings + posts + caps


def plane(size=1.0):
    square = [[-size, 0, -size], [size, 0, -size], [size, 0, size], [-size, 0, size],
              [-size, 0, -size]]
    return [square, [[0, 0, 0], [0, 0.5 * size, 0]]]


def turned(point, degrees):
    """About X, then Y, then Z."""
    x, y, z = point
    a, b, c = (math.radians(d) for d in degrees)
    y, z = y * math.cos(a) - z * math.sin(a), y * math.sin(a) + z * math.cos(a)
    x, z = x * math.cos(b) + z * math.sin(b), z * math.cos(b) - x * math.sin(b)
    x, y = x * math.cos(c) - y * math.sin(c), x * math.sin(c) + y * math.cos(c)
    return [x, y, z]


def lines(shape, values):
    """Polylines of a shape; values are those of the node."""
    makers = {"sphere": lambda: sphere(values["radius"]), "plane": plane,
              "box": lambda: box(values["half_size"]),
              "capsule": lambda: capsule(values["radius"], values["half_size"][1])}
    if shape not in makers:
        return []
    move = values.get("center") or values.get("translation") or [0, 0, 0]
    degrees, scale = values.get("rotation", [0, 0, 0]), values.get("scale", 1.0)
    return [[[p + m for p, m in zip(turned([scale * c for c in point], degrees), move)]
             for point in line] for line in makers[shape]()]


def draw(geometry, shape, values):
    for line in lines(shape, values):
        points = geometry.createPoints([tuple(point) for point in line])
        geometry.createPolygons([points], False)
