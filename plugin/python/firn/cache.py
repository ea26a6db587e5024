"""Caches on disk: which frames are there, their files and numbers."""

import json
import os

from . import capi
from .bodies import motions_of
from .capi import byref, c_void_p, call, string, text
from .errors import FirnError


class CacheFile:
    """A file of a cache: name in its folder, node that wrote it, size, checksum."""

    def __init__(self, folder, row):
        self.name, self.node = string(row.name), string(row.node)
        self.size, self.checksum = row.size, row.checksum
        self.path = os.path.join(folder, self.name)

    def check(self):
        """FirnError when it is missing, cut off or changed."""
        row = capi.CacheFileRow(text(self.name), text(self.node), self.size, self.checksum)
        call("firn_cache_file_check", text(os.path.dirname(self.path)), byref(row),
             node=self.node)


class CacheFrame:
    """A frame of a cache: its files and its numbers (particles, substeps, seconds, ...)."""

    def __init__(self, folder, row):
        self.frame = row.frame
        self.files = [CacheFile(folder, row.files[i]) for i in range(row.file_count)]
        self.stats = capi.stats_of(row.stats, row.stat_count)


def report(folder, path="report.html"):
    """Writes an HTML page about a cache or the folder of a wedge, as `firn report`."""
    call("firn_report_write", text(os.fspath(folder)), text(os.fspath(path)))


def volume_metadata(path):
    """Metadata of a .vdb file, {name: value}: numbers and vectors as such, the rest as text."""
    library, settings = capi.load(), capi.VdbReaderDef()
    reader, listing = c_void_p(), c_void_p()
    library.firn_vdb_reader_def_reset(byref(settings), capi.size_of(settings))
    call("firn_vdb_reader_create", byref(settings), byref(reader))
    try:
        call("firn_vdb_list", reader, text(path), None, byref(listing))
        view = library.firn_vdb_listing_read(listing)
        return {string(row.name): _meta_value(string(row.type), string(row.value))
                for row in view.meta[:view.meta_count]}
    finally:
        library.firn_vdb_listing_destroy(listing)
        library.firn_vdb_reader_destroy(reader)


def _meta_value(kind, value):
    try:
        return value if kind == "string" else json.loads(value)
    except ValueError:
        return value


class Cache:
    """What manifest.json of a folder says; no frames when there is none."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.name = self.program = ""
        self.hash = self.fps = 0
        self.frames = {}  # number: CacheFrame
        self.other_frames = {}  # the same, of other settings: not replaced yet
        self.files = []   # of all frames, such as an Alembic archive
        manifest = c_void_p()
        try:
            call("firn_manifest_read", text(self.folder), byref(manifest))
        except FirnError as error:
            if error.code != "not_found":
                raise
            return
        view = capi.load().firn_manifest_look(manifest)
        self.name, self.program = string(view.name), string(view.program)
        self.hash, self.fps = view.hash, view.fps
        for row in view.frames[:view.frame_count]:
            frames = self.frames if row.hash == view.hash else self.other_frames
            frames[row.frame] = CacheFrame(self.folder, row)
        self.files = [CacheFile(self.folder, view.files[i]) for i in range(view.file_count)]
        capi.load().firn_manifest_destroy(manifest)

    def file(self, node, frame):
        """The file of a node that has a frame, or None."""
        found = self.frames.get(frame)
        for file in (found.files if found else []) + self.files:
            if file.node == node:
                return file
        return None

    def bodies(self):
        """{name: BodyMotion} of the bodies whose poses the frames have."""
        return motions_of(self)

    def damaged(self):
        """Files that are missing, cut off or changed, as (CacheFile, FirnError)."""
        found = []
        every = [file for frame in self.frames.values() for file in frame.files] + self.files
        for file in every:
            try:
                file.check()
            except FirnError as error:
                found.append((file, error))
        return found
