"""Where the bodies of a cache are: the solver's numbers of each frame, as arrays."""

from array import array

_PARTS = {"translation": ("x", "y", "z"), "rotation": ("qx", "qy", "qz", "qw"),
          "velocity": ("vx", "vy", "vz"), "angular_velocity": ("wx", "wy", "wz"),
          "force": ("force_x", "force_y", "force_z"),
          "torque": ("torque_x", "torque_y", "torque_z")}


class BodyMotion:
    """A body over the frames of a cache.

    `frames` are numbers, `seconds` the times of them. `translation` (m), `rotation` (quaternion
    x, y, z, w), `velocity` (m/s, of the center of mass), `angular_velocity` (rad/s), and `force`
    (N) and `torque` (N m, about the origin) of snow have a row for each frame: float64, ready for
    numpy.asarray. A point p of its shape is at translation + scale * (rotation * p).
    """

    def __init__(self, name, frames, fps, stats):
        self.name, self.frames = name, frames
        self.seconds = [frame / fps for frame in frames] if fps else []
        for field, parts in _PARTS.items():
            rows = array("d", (stat[f"{name}.{part}"] for stat in stats for part in parts))
            shape = [len(frames), len(parts)]
            setattr(self, field, memoryview(rows).cast("B").cast("d", shape))


def motions_of(cache):
    """{name: BodyMotion} of a Cache."""
    names = {}
    for number, frame in sorted(cache.frames.items()):
        for stat in frame.stats:
            if stat.endswith(".qw"):
                names.setdefault(stat[:-3], []).append(number)
    return {name: BodyMotion(name, frames, cache.fps, [cache.frames[n].stats for n in frames])
            for name, frames in names.items()}
