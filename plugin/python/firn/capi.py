"""The C ABI of libfirn: where it is, its structures and functions. No other file knows ctypes."""

import contextlib
import ctypes
import json
import os
import platform
import stat
import sys
from ctypes import (POINTER, Structure, byref, c_bool, c_char, c_char_p, c_double, c_float, c_int,
                    c_size_t, c_uint32, c_uint64, c_void_p)

from .errors import FirnError

VERSION = "0.1.0"  # of the library that this package fits: structures are compared with it

# What is installed to be run has the name that the loader knows; the other is for linking.
_FILE_NAMES = {"Windows": ["firn.dll"], "Darwin": ["libfirn.dylib"]}
_PATH_SIZE = 4096
TEXT_SIZE = 1024


# --- Structures, as in the headers ---------------------------------------------------------------

class Error(Structure):
    _fields_ = [("code", c_int), ("message", c_char * 1000)]


class Key(Structure):
    _fields_ = [("frame", c_double), ("value", c_double * 3)]


class ProblemRow(Structure):
    _fields_ = [("level", c_int), ("code", c_int), ("node", c_char_p), ("param", c_char_p),
                ("message", c_char_p)]


class Stat(Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class Report(Structure):
    _fields_ = [("node", c_char_p), ("frame", c_int), ("fraction", c_double),
                ("stat_count", c_size_t), ("stats", POINTER(Stat))]


ProgressFunction = ctypes.CFUNCTYPE(c_int, POINTER(Report), c_void_p)
LogFunction = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_char_p, c_void_p)
FrameFunction = ctypes.CFUNCTYPE(None, c_int, c_bool, POINTER(Stat), c_size_t, c_void_p)


class Host(Structure):
    _fields_ = [("progress", ProgressFunction), ("log", LogFunction),
                ("frame_done", FrameFunction), ("user", c_void_p)]


class AttributeRow(Structure):
    _fields_ = [("name", c_char_p), ("storage", c_int), ("type_info", c_int),
                ("tuple_size", c_int), ("data", c_void_p), ("strings", POINTER(c_char_p)),
                ("string_count", c_size_t)]


class PointTable(Structure):
    _fields_ = [("count", c_size_t), ("attributes", POINTER(AttributeRow)),
                ("attribute_count", c_size_t), ("details", POINTER(AttributeRow)),
                ("detail_count", c_size_t)]


class ParticleData(Structure):
    _fields_ = [("points", PointTable), ("cell_size", c_float), ("bodies", c_void_p),
                ("body_count", c_size_t)]


class FieldGrid(Structure):
    _fields_ = [("name", c_char_p), ("components", c_int), ("background", c_float),
                ("values", c_void_p), ("layer", c_int)]


class FieldView(Structure):
    _fields_ = [("voxel_size", c_float), ("leaf_count", c_size_t), ("leaf_origin", c_void_p),
                ("mask", c_void_p), ("density", c_void_p), ("velocity", c_void_p),
                ("velocity_mask", c_void_p), ("compaction", c_void_p),
                ("grid_count", c_size_t), ("grids", POINTER(FieldGrid))]


class VolumeData(Structure):
    _fields_ = [("field", POINTER(FieldView)), ("surface", c_void_p), ("velocity", c_void_p),
                ("bodies", c_void_p), ("body_count", c_size_t)]


class Data(Structure):
    _fields_ = [("kind", c_int), ("material", c_void_p), ("source", c_void_p),
                ("collider", c_void_p), ("particles", POINTER(ParticleData)),
                ("volume", POINTER(VolumeData)), ("stat_count", c_size_t),
                ("stats", POINTER(Stat)), ("force", c_void_p), ("joint", c_void_p),
                ("partner", c_void_p)]


class BakeDef(Structure):
    _fields_ = [("cookie", c_uint32), ("whole", c_bool), ("first", c_int), ("last", c_int),
                ("step", c_int), ("resume", c_bool), ("overwrite", c_bool),
                ("break_lock", c_bool), ("allow_mixed", c_bool), ("only", c_char_p),
                ("from_cache", c_bool)]


class CacheFileRow(Structure):
    _fields_ = [("name", c_char_p), ("node", c_char_p), ("size", c_uint64),
                ("checksum", c_uint64), ("hash", c_uint64), ("first", c_int), ("last", c_int),
                ("step", c_int)]


class CacheFrameRow(Structure):
    _fields_ = [("frame", c_int), ("file_count", c_size_t), ("files", POINTER(CacheFileRow)),
                ("stat_count", c_size_t), ("stats", POINTER(Stat)), ("hash", c_uint64)]


class ManifestView(Structure):
    _fields_ = [("name", c_char_p), ("program", c_char_p), ("hash", c_uint64), ("fps", c_float),
                ("frame_count", c_size_t), ("frames", POINTER(CacheFrameRow)),
                ("file_count", c_size_t), ("files", POINTER(CacheFileRow)),
                ("simulation", c_uint64), ("isa", c_char_p)]


class AbcWriterDef(Structure):
    _fields_ = [("cookie", c_uint32), ("resumable", c_bool), ("fps", c_double),
                ("application", c_char_p), ("description", c_char_p), ("date", c_char_p),
                ("library", c_char_p)]


class AbcMeshDef(Structure):
    _fields_ = [("cookie", c_uint32), ("clock", c_uint32), ("velocities", c_bool),
                ("normals", c_bool), ("uvs", c_bool), ("normal_scope", c_int),
                ("uv_scope", c_int), ("params", c_void_p), ("param_count", c_size_t)]


class AbcMeshData(Structure):
    _fields_ = [("point_count", c_size_t), ("face_count", c_size_t), ("corner_count", c_size_t),
                ("positions", c_void_p), ("face_counts", c_void_p), ("face_indices", c_void_p),
                ("velocities", c_void_p), ("normals", c_void_p), ("uvs", c_void_p),
                ("params", c_void_p)]


class AbcMesh(Structure):
    _fields_ = [("vertex_count", c_size_t), ("position", c_void_p), ("velocity", c_void_p),
                ("velocity_stored", c_bool), ("face_count", c_size_t), ("face_size", c_void_p),
                ("corner_count", c_size_t), ("corner", c_void_p), ("cage_count", c_size_t),
                ("cages", c_void_p)]


class VdbReaderDef(Structure):
    _fields_ = [("cookie", c_uint32), ("helper", c_char_p), ("memory_limit", c_double),
                ("timeout", c_float)]


class VdbMeta(Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("value", c_char_p)]


class VdbListingView(Structure):
    _fields_ = [("bytes", c_uint64), ("grid_count", c_size_t), ("grids", c_void_p),
                ("meta_count", c_size_t), ("meta", POINTER(VdbMeta))]


class SolverCost(Structure):
    _fields_ = [("node", c_char_p)] + [(name, c_double) for name in (
        "cell_size", "volume", "extent", "speed", "gravity", "particles", "bytes", "dt",
        "dt_flight", "ns", "ns_step", "ns_iteration", "seconds", "seconds_low",
        "seconds_high")] + [("rehearsed", c_int)]


class EstimateRow(Structure):
    _fields_ = [(name, c_double) for name in (
        "particles", "memory_bytes", "base_bytes", "disk_bytes", "usd_bytes", "seconds",
        "seconds_low", "seconds_high", "machine_bytes", "disk_free")] + [
            ("frames", c_int), ("written", c_int), ("solver_count", c_size_t),
            ("solvers", SolverCost * 16), ("warning_count", c_size_t),
            ("warnings", c_char * 256 * 32)]


INPUT_TELL = ctypes.CFUNCTYPE(None, c_char_p, c_int, c_char_p, c_void_p)


# The name of each structure in C; a test compares their layouts with the compiler's.
MIRRORS = {
    "firn_error": Error, "firn_key": Key, "firn_problem": ProblemRow, "firn_stat": Stat,
    "firn_report": Report, "firn_host": Host, "firn_attribute": AttributeRow,
    "firn_points": PointTable, "firn_particle_data": ParticleData, "firn_field_view": FieldView,
    "firn_field_grid": FieldGrid,
    "firn_volume_data": VolumeData, "firn_data": Data, "firn_bake_def": BakeDef,
    "firn_cache_file": CacheFileRow, "firn_cache_frame": CacheFrameRow,
    "firn_manifest_view": ManifestView, "firn_abc_writer_def": AbcWriterDef,
    "firn_abc_mesh_def": AbcMeshDef, "firn_abc_mesh_data": AbcMeshData,
    "firn_abc_mesh": AbcMesh,
    "firn_vdb_reader_def": VdbReaderDef, "firn_vdb_meta": VdbMeta,
    "firn_vdb_listing_view": VdbListingView, "firn_solver_cost": SolverCost,
    "firn_estimate": EstimateRow,
}

_ERROR = POINTER(Error)
_GRAPH = c_void_p
_TEXT = c_char_p

# Functions that return a firn_result and take a firn_error last: arguments before it.
_CALLS = {
    "firn_graph_create": [POINTER(c_void_p)],
    "firn_graph_load": [_TEXT, POINTER(c_void_p)],
    "firn_graph_load_memory": [_TEXT, c_size_t, _TEXT, _TEXT, POINTER(c_void_p)],
    "firn_graph_save": [_GRAPH, _TEXT],
    "firn_graph_save_resolved": [_GRAPH, _TEXT],
    "firn_graph_print": [_GRAPH, c_bool, POINTER(c_void_p)],
    "firn_graph_describe": [_GRAPH, _TEXT, POINTER(c_void_p)],
    "firn_graph_set_folder": [_GRAPH, _TEXT],
    "firn_graph_add": [_GRAPH, _TEXT, _TEXT],
    "firn_graph_remove": [_GRAPH, _TEXT],
    "firn_graph_rename": [_GRAPH, _TEXT, _TEXT],
    "firn_graph_link": [_GRAPH, _TEXT, _TEXT, _TEXT],
    "firn_graph_unlink": [_GRAPH, _TEXT, _TEXT, _TEXT],
    "firn_graph_set_param": [_GRAPH, _TEXT, _TEXT, _TEXT, c_int],
    "firn_graph_set_keys": [_GRAPH, _TEXT, _TEXT, POINTER(Key), c_size_t, c_int, c_int],
    "firn_graph_reset": [_GRAPH, _TEXT, _TEXT],
    "firn_graph_get_text": [_GRAPH, _TEXT, _TEXT, c_double, _TEXT, c_size_t],
    "firn_graph_get_path": [_GRAPH, _TEXT, _TEXT, _TEXT, c_size_t],
    "firn_graph_set_ui": [_GRAPH, _TEXT, _TEXT],
    "firn_graph_validate": [_GRAPH, POINTER(POINTER(ProblemRow)), POINTER(c_size_t)],
    "firn_graph_cook": [_GRAPH, _TEXT, c_int, POINTER(POINTER(Data))],
    "firn_graph_bake": [_GRAPH, POINTER(BakeDef)],
    "firn_graph_estimate": [_GRAPH, POINTER(BakeDef), POINTER(EstimateRow)],
    "firn_graph_check_inputs": [_GRAPH, c_bool, INPUT_TELL, c_void_p, POINTER(c_size_t)],
    "firn_graph_cache_folder": [_GRAPH, _TEXT, c_size_t],
    "firn_graph_cache_state": [_GRAPH, POINTER(c_int)],
    "firn_manifest_read": [_TEXT, POINTER(c_void_p)],
    "firn_cache_file_check": [_TEXT, POINTER(CacheFileRow)],
    "firn_report_write": [_TEXT, _TEXT],
    "firn_wedge_create": [_GRAPH, POINTER(_TEXT), c_size_t, POINTER(c_void_p)],
    "firn_wedge_apply": [c_void_p, c_size_t, _GRAPH],
    "firn_wedge_bake": [c_void_p, c_size_t, _GRAPH, POINTER(BakeDef)],
    "firn_wedge_sheet": [c_void_p, _GRAPH],
    "firn_path_of_frame": [_TEXT, c_int, _TEXT, c_size_t],
    "firn_abc_writer_create": [_TEXT, POINTER(AbcWriterDef), POINTER(c_void_p)],
    "firn_abc_writer_add_clock": [c_void_p, c_double, c_double, POINTER(c_uint32)],
    "firn_abc_writer_add_mesh": [c_void_p, c_uint32, _TEXT, POINTER(AbcMeshDef),
                                 POINTER(c_uint32)],
    "firn_abc_writer_begin": [c_void_p, POINTER(c_uint32)],
    "firn_abc_writer_put_mesh": [c_void_p, c_uint32, POINTER(AbcMeshData)],
    "firn_abc_writer_end_frame": [c_void_p],
    "firn_abc_writer_finish": [c_void_p],
    "firn_abc_open": [_TEXT, POINTER(c_void_p)],
    "firn_abc_read_world_mesh": [c_void_p, _TEXT, c_double, POINTER(AbcMesh)],
    "firn_vdb_reader_create": [POINTER(VdbReaderDef), POINTER(c_void_p)],
    "firn_vdb_list": [c_void_p, _TEXT, c_void_p, POINTER(c_void_p)],
}

# Functions that cannot fail: result, arguments.
_OTHERS = {
    "firn_version": (_TEXT, []),
    "firn_free": (None, [c_void_p]),
    "firn_graph_destroy": (None, [_GRAPH]),
    "firn_graph_set_host": (None, [_GRAPH, POINTER(Host)]),
    "firn_graph_node": (_TEXT, [_GRAPH, c_size_t]),
    "firn_graph_input": (_TEXT, [_GRAPH, _TEXT, _TEXT, c_size_t]),
    "firn_graph_keys": (POINTER(Key), [_GRAPH, _TEXT, _TEXT, POINTER(c_size_t), POINTER(c_int)]),
    "firn_graph_ui": (_TEXT, [_GRAPH, _TEXT]),
    "firn_graph_hash": (c_uint64, [_GRAPH, _TEXT]),
    "firn_graph_cook_count": (c_size_t, [_GRAPH, _TEXT]),
    "firn_graph_failed_node": (_TEXT, [_GRAPH]),
    "firn_bake_def_reset": (None, [POINTER(BakeDef), c_size_t]),
    "firn_cache_state_name": (_TEXT, [c_int]),
    "firn_kind_name": (_TEXT, [c_int]),
    "firn_manifest_look": (ManifestView, [c_void_p]),
    "firn_manifest_destroy": (None, [c_void_p]),
    "firn_wedge_destroy": (None, [c_void_p]),
    "firn_wedge_count": (c_size_t, [c_void_p]),
    "firn_wedge_axis_count": (c_size_t, [c_void_p]),
    "firn_wedge_axis": (_TEXT, [c_void_p, c_size_t]),
    "firn_wedge_value": (_TEXT, [c_void_p, c_size_t, c_size_t]),
    "firn_abc_def_cookie": (c_uint32, [c_size_t]),
    "firn_abc_writer_destroy": (None, [c_void_p]),
    "firn_abc_close": (None, [c_void_p]),
    "firn_abc_mesh_free": (None, [POINTER(AbcMesh)]),
    "firn_vdb_reader_def_reset": (None, [POINTER(VdbReaderDef), c_size_t]),
    "firn_vdb_reader_destroy": (None, [c_void_p]),
    "firn_vdb_listing_read": (VdbListingView, [c_void_p]),
    "firn_vdb_listing_destroy": (None, [c_void_p]),
}


# --- Loading -------------------------------------------------------------------------------------

_loaded = None
_tables = None


def _file_names():
    return _FILE_NAMES.get(platform.system(), ["libfirn.so", "libfirn.so.0"])


def _places():
    """Where the library may be, the best first."""
    given = os.environ.get("FIRN_LIBRARY")
    if given:
        return [given]
    here = os.path.dirname(os.path.abspath(__file__))
    system = f"{platform.system()}-{platform.machine()}".lower()
    root = os.path.normpath(os.path.join(here, "..", "..", ".."))
    folders = [here, os.path.join(here, "lib", system), os.path.join(here, "..", "lib", system),
               os.path.join(here, "..", "lib"), os.path.join(here, "..", "..", "lib"),
               os.path.join(root, "build"), os.path.join(root, "build", "test")]
    return [os.path.normpath(os.path.join(folder, name))
            for folder in folders for name in _file_names()]


def _make_executable(path):
    # Zip archives that Python unpacks lose the permission.
    try:
        mode = os.stat(path).st_mode
        if not mode & stat.S_IXUSR:
            os.chmod(path, mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    except OSError:
        pass


@contextlib.contextmanager
def _short_spin():
    """OpenMP reads these once, when it is loaded: threads that wait must not spin for long, for the
    host needs the cores. The user's own settings stand."""
    settings = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "2000"}
    if any(name in os.environ for name in settings):
        settings = {}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name in settings:
            del os.environ[name]


def _open(path):
    _make_executable(os.path.join(os.path.dirname(path), "firn-vdb-helper"))
    try:
        with _short_spin():
            return ctypes.CDLL(path)
    except OSError as reason:
        advice = "; this system is older than those that Firn runs on (glibc 2.34: Debian 12, " \
                 "Ubuntu 22.04, Fedora 35, RHEL 9)" if "version `GLIBC" in str(reason) else ""
        raise FirnError(f"the library {path} cannot be loaded: {reason}{advice}",
                        "unsupported") from None


def _check_version(library, path):
    try:
        library.firn_version.restype = c_char_p
        found = library.firn_version().decode()
    except AttributeError:
        found = "of another version"
    if found != VERSION:
        raise FirnError(f"the library {path} is {found}, and this package needs {VERSION}; "
                        "install both from the same build", "unsupported")


def _declare(library):
    for name, arguments in _CALLS.items():
        function = getattr(library, name)
        function.restype = c_int
        function.argtypes = arguments + [_ERROR]
    for name, (result, arguments) in _OTHERS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


def load(path=None):
    """Loads the library, once; FirnError says where it was looked for when there is none."""
    global _loaded
    if _loaded is not None and path is None:
        return _loaded
    places = [path] if path else _places()
    found = next((place for place in places if os.path.isfile(place)), None)
    if found is None:
        listed = "\n  ".join(places)
        raise FirnError(f"{_file_names()[0]} for {platform.system()} {platform.machine()} is not "
                        f"there; looked for\n  {listed}\nBuild Firn with ./bootstrap build, or "
                        "set FIRN_LIBRARY to the file", "not_found")
    library = _open(found)
    _check_version(library, found)
    _declare(library)
    library.firn_path = found
    _loaded = library
    return library


def library_path():
    """The file that was loaded."""
    return load().firn_path


def program_path():
    """The `firn` program: that of FIRN_PROGRAM, beside the library, or in bin of the tree that it
    was installed into."""
    name = "firn.exe" if platform.system() == "Windows" else "firn"
    given = os.environ.get("FIRN_PROGRAM")
    folder = os.path.dirname(os.path.realpath(library_path()))
    places = [given] if given else [
        os.path.join(folder, name),
        os.path.join(folder, "..", "bin", name),          # lib
        os.path.join(folder, "..", "..", "bin", name)]    # lib/x86_64-linux-gnu
    for path in places:
        if os.path.isfile(path):
            _make_executable(path)
            return os.path.normpath(path)
    raise FirnError(f"the program {places[0]} is not there", "not_found")


# --- Calls ---------------------------------------------------------------------------------------

def text(value):
    return None if value is None else os.fspath(value).encode("utf-8")


def string(value):
    return "" if value is None else value.decode("utf-8", "replace")


def call(name, *arguments, node="", param=""):
    """Calls a function that returns a result; a failure becomes a FirnError."""
    error = Error()
    result = getattr(load(), name)(*arguments, byref(error))
    if result != 0:
        raise FirnError.from_result(result, string(error.message), node, param)


def read_text(name, *arguments, size=_PATH_SIZE, **where):
    """Calls a function that fills a buffer with text."""
    buffer = ctypes.create_string_buffer(size)
    call(name, *arguments, buffer, size, **where)
    return string(buffer.value)


def take_text(name, *arguments):
    """Calls a function that hands over a text."""
    pointer = c_void_p()
    call(name, *arguments, byref(pointer))
    try:
        return string(ctypes.cast(pointer, c_char_p).value)
    finally:
        load().firn_free(pointer)


# firn_storage of points.h: numpy's name of each.
TYPE_STRINGS = ["<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u4", "<u8", "<i4"]
STORAGE_STRING = 10
_STORAGES = [ctypes.c_uint16, c_float, c_double, ctypes.c_int8, ctypes.c_int16, ctypes.c_int32,
             ctypes.c_int64, ctypes.c_uint8, c_uint32, c_uint64, ctypes.c_int32]
FLOAT32, INT32, UINT64 = 1, 5, 9


def memory_at(address, storage, count):
    """Values of the library as an array that has their buffer."""
    if address is None or count == 0:
        return (_STORAGES[storage] * 0)()
    return (_STORAGES[storage] * count).from_address(address)


def address_of(memory):
    return ctypes.addressof(memory)


def memory_of(buffer, storage, what):
    """The values of a contiguous buffer as an array; copied only when it is read-only."""
    type_ = _STORAGES[storage]
    size = ctypes.sizeof(type_)
    view = memoryview(buffer)
    if not view.c_contiguous or view.itemsize != size:
        raise FirnError(f"{what} must be a contiguous array of {size}-byte values")
    if view.readonly:
        return (type_ * (view.nbytes // size)).from_buffer_copy(view)
    return (type_ * (view.nbytes // size)).from_buffer(view)


def new_array(storage, count):
    return (_STORAGES[storage] * count)()


def size_of(structure):
    return ctypes.sizeof(structure)


def stats_of(rows, count):
    return {string(rows[i].name): rows[i].value for i in range(count)}


def describe():
    """The tables: {"version": ..., "shot": {...}, "nodes": [...]}, as `firn describe --json`."""
    global _tables
    if _tables is None:
        graph = c_void_p()
        call("firn_graph_create", byref(graph))
        try:
            _tables = json.loads(take_text("firn_graph_describe", graph, None))
        finally:
            load().firn_graph_destroy(graph)
    return _tables


def table_of(type_name):
    """The table of a node type, or of "shot"; None when there is no such type."""
    tables = describe()
    if type_name == "shot":
        return tables["shot"]
    return next((node for node in tables["nodes"] if node["name"] == type_name), None)


if sys.version_info < (3, 8):
    raise ImportError("firn needs Python 3.8 or later")
