"""Animated meshes of Alembic: written for colliders and sources, read as arrays."""

from . import capi
from .arrays import Array
from .capi import byref, c_uint32, c_void_p, call, text
from .errors import FirnError

_CORNER = 4  # firn_abc_scope


class Mesh:
    """The meshes of an archive at a time in seconds, as one in world space.

    `positions` and `velocities` (per second) have three values each, `face_counts` and
    `face_indices` the corners, counter-clockwise seen from outside. `pattern` selects as the
    parameter `object` does; "" takes everything.
    """

    def __init__(self, path, seconds, pattern=""):
        self._mesh = capi.AbcMesh()
        archive = c_void_p()
        call("firn_abc_open", text(path), byref(archive))
        try:
            call("firn_abc_read_world_mesh", archive, text(pattern), seconds, byref(self._mesh))
        finally:
            capi.load().firn_abc_close(archive)

    @property
    def positions(self):
        return Array(self._mesh.position, capi.FLOAT32, self._mesh.vertex_count, 3, self)

    @property
    def velocities(self):
        return Array(self._mesh.velocity, capi.FLOAT32, self._mesh.vertex_count, 3, self)

    @property
    def face_counts(self):
        return Array(self._mesh.face_size, capi.INT32, self._mesh.face_count, 1, self)

    @property
    def face_indices(self):
        return Array(self._mesh.corner, capi.INT32, self._mesh.corner_count, 1, self)

    def __del__(self):
        if hasattr(self, "_mesh"):
            capi.load().firn_abc_mesh_free(byref(self._mesh))


class MeshWriter:
    """One mesh, a sample for each frame. The file appears when `finish` is called.

        with firn.MeshWriter("actor.abc", "actor", fps=24, first_frame=1) as writer:
            for positions in animation:
                writer.put(positions, face_counts, face_indices)

    Buffers are float32 positions (three each), int32 corners of each face and int32 point of each
    corner, counter-clockwise seen from outside.
    """

    def __init__(self, path, name, fps, first_frame):
        self.writer, self.node = c_void_p(), c_uint32()
        self.faces = self.corners = None
        library = capi.load()
        archive = capi.AbcWriterDef(
            library.firn_abc_def_cookie(capi.size_of(capi.AbcWriterDef)), False, fps,
            text(f"Firn {capi.VERSION}"), None, None, text(f"Alembic 1.8.12 (Firn {capi.VERSION})"))
        mesh = capi.AbcMeshDef(library.firn_abc_def_cookie(capi.size_of(capi.AbcMeshDef)), 0,
                              False, False, False, _CORNER, _CORNER, None, 0)
        call("firn_abc_writer_create", text(path), byref(archive), byref(self.writer))
        try:
            clock, frame = c_uint32(), c_uint32()
            call("firn_abc_writer_add_clock", self.writer, first_frame / fps, 1.0 / fps,
                 byref(clock))
            mesh.clock = clock.value
            call("firn_abc_writer_add_mesh", self.writer, 0, text(name), byref(mesh),
                 byref(self.node))
            call("firn_abc_writer_begin", self.writer, byref(frame))
        except FirnError:
            self.abandon()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.finish()
        else:
            self.abandon()

    def put(self, positions, face_counts, face_indices):
        """The next frame."""
        points = capi.memory_of(positions, capi.FLOAT32, "positions")
        counts = capi.memory_of(face_counts, capi.INT32, "face_counts")
        corners = self._corners(counts, capi.memory_of(face_indices, capi.INT32, "face_indices"))
        data = capi.AbcMeshData(len(points) // 3, len(counts), len(corners),
                                capi.address_of(points), capi.address_of(counts),
                                capi.address_of(corners), None, None, None, None)
        call("firn_abc_writer_put_mesh", self.writer, self.node, byref(data))
        call("firn_abc_writer_end_frame", self.writer)

    def _corners(self, counts, indices):
        """Corners as Alembic has them; faces that stay the same are turned once."""
        faces = (bytes(counts), bytes(indices))
        if faces != self.faces:
            self.faces, self.corners = faces, _clockwise(counts, indices)
        return self.corners

    def finish(self):
        """Gives the file its name."""
        writer, self.writer = self.writer, c_void_p()
        call("firn_abc_writer_finish", writer)

    def abandon(self):
        """Leaves no file."""
        writer, self.writer = self.writer, c_void_p()
        capi.load().firn_abc_writer_destroy(writer)


def _clockwise(counts, indices):
    """The corners of each face the other way round, as Alembic has them."""
    corners = capi.new_array(capi.INT32, len(indices))
    if len(counts) * 3 == len(indices) and max(counts, default=3) == 3:
        for corner in range(3):
            corners[corner::3] = indices[2 - corner::3]
        return corners
    at = 0
    for count in counts:
        corners[at:at + count] = indices[at:at + count][::-1]
        at += count
    return corners
