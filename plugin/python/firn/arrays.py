"""Arrays of the library as Python buffers; nothing is copied."""

from . import capi
from .capi import string


class Array:
    """Values that lie one after the other, `width` for each item.

    It has the buffer of `memory` (a ctypes array) and numpy's array interface. It is valid until
    the graph that made it cooks again or changes; copy what must last longer.
    """

    def __init__(self, address, storage, count, width, owner):
        self.count, self.width, self.owner = count, width, owner
        self.typestr = capi.TYPE_STRINGS[storage]
        self.memory = capi.memory_at(address, storage, count * width)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if not -self.count <= index < self.count:
            raise IndexError(index)
        index %= self.count
        if self.width == 1:
            return self.memory[index]
        return tuple(self.memory[index * self.width:(index + 1) * self.width])

    @property
    def __array_interface__(self):
        shape = (self.count,) if self.width == 1 else (self.count, self.width)
        return {"version": 3, "shape": shape, "typestr": self.typestr,
                "data": (capi.address_of(self.memory), True)}

    def tobytes(self):
        return bytes(self.memory)


class Attribute(Array):
    """A column of a table of points."""

    def __init__(self, row, count, owner):
        super().__init__(row.data, row.storage, count, row.tuple_size, owner)
        self.name = string(row.name)
        self.strings = None
        if row.storage == capi.STORAGE_STRING:
            self.strings = [string(row.strings[i]) for i in range(row.string_count)]

    def text(self, index=0):
        """The string of an item of a column of strings."""
        number = self.memory[index * self.width]
        return self.strings[number] if number >= 0 else ""


class Particles:
    """Points with named columns (P v id pscale mass Jp ...) and details of the whole."""

    def __init__(self, data, owner):
        table = data.points
        self.count = table.count
        self.cell_size = data.cell_size  # m, 0: unknown
        self.attributes = {}
        for i in range(table.attribute_count):
            column = Attribute(table.attributes[i], self.count, owner)
            self.attributes[column.name] = column
        self.details = {}
        for i in range(table.detail_count):
            column = Attribute(table.details[i], 1, owner)
            self.details[column.name] = column

    def __len__(self):
        return self.count

    def __contains__(self, name):
        return name in self.attributes

    def __getitem__(self, name):
        return self.attributes[name]


class Volume:
    """Voxels in leaves of 8^3: density and, where made, velocity, compaction and other channels."""

    def __init__(self, data, owner):
        field = data.field.contents if data.field else None
        self.has_surface = bool(data.surface)
        self.voxel_size = field.voxel_size if field else 0.0  # m
        self.leaf_count = field.leaf_count if field else 0

        def array(name, storage, width):
            address = getattr(field, name) if field else None
            return Array(address, storage, field.leaf_count, width, owner) if address else None

        self.leaf_origin = array("leaf_origin", capi.INT32, 3)  # voxels
        self.mask = array("mask", capi.UINT64, 8)
        self.density = array("density", capi.FLOAT32, 512)  # kg/m^3
        self.velocity = array("velocity", capi.FLOAT32, 3 * 512)  # m/s
        self.compaction = array("compaction", capi.FLOAT32, 512)
        self.grids = {}  # the others by name
        for i in range(field.grid_count if field else 0):
            grid = field.grids[i]
            self.grids[string(grid.name)] = Array(grid.values, capi.FLOAT32, field.leaf_count,
                                                  512 * grid.components, owner)
