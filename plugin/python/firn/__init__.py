"""Firn's snow graphs from Python: build, check, cook, bake, and read caches.

    import firn

    graph = firn.Graph()
    graph.add("snow_source", "ball", center=(0, 1, 0), velocity=(3, 0, 0))
    graph.add("collider", "ground")
    solver = graph.add("solver", "solver", cell_size=0.03)
    solver.connect("ball")
    solver.connect("ground")
    points = graph.cook("solver", 24).particles
    print(points.count, points["P"][0])

Only ctypes is needed. Arrays are buffers of the library: numpy.asarray(points["P"]) copies nothing.
Every failure is a FirnError that names node and parameter where there is one.
"""

from .alembic import Mesh, MeshWriter
from .arrays import Attribute, Particles, Volume
from .bodies import BodyMotion
from .cache import Cache, CacheFile, CacheFrame, report, volume_metadata
from .capi import VERSION, describe, library_path, load, program_path
from .errors import FirnError
from .graph import (CHECKPOINT, STOP, Graph, Node, Output, Problem, Progress, Wedge,
                    read_particles, read_volume)
from .process import BakeProcess

__version__ = VERSION

__all__ = [
    "Attribute", "BakeProcess", "BodyMotion", "CHECKPOINT", "Cache", "CacheFile", "CacheFrame",
    "FirnError", "Graph", "Mesh", "MeshWriter", "Node", "Output", "Particles", "Problem",
    "Progress", "STOP", "VERSION", "Volume", "Wedge", "describe", "library_path", "load",
    "program_path", "read_particles", "read_volume", "report", "volume_metadata",
]
