"""What an ELF file asks of the system it runs on, and the one thing that is asked less."""

import struct
from pathlib import Path

# Newest versions of the system's libraries that may be asked for: those of RHEL 9, which is what
# studios run (VFX Reference Platform CY2026).
CEILINGS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}

# Symbols of a newer version that older libraries have under another one. condition_variable::wait
# only became a cancellation point by its declaration.
LOWERED = {("GLIBCXX_3.4.30", "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"):
           "GLIBCXX_3.4.11"}

_NEEDED, _STRTAB, _SYMTAB, _SONAME, _RPATH = 1, 5, 6, 14, 15
_VERNEED, _VERNEEDNUM, _VERSYM = 0x6ffffffe, 0x6fffffff, 0x6ffffff0


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Elf:
    """A 64-bit little-endian file with its dynamic section."""

    def __init__(self, path):
        self.path = Path(path)
        self.data = bytearray(self.path.read_bytes())
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit little-endian ELF file")
        offset, size, count = (*struct.unpack_from("<Q", self.data, 32),
                               *struct.unpack_from("<HH", self.data, 54))
        headers = [struct.unpack_from("<IIQQQQQQ", self.data, offset + i * size)
                   for i in range(count)]
        self.segments = [(h[3], h[2], h[5]) for h in headers if h[0] == 1]
        dynamic = next(((h[2], h[5]) for h in headers if h[0] == 2), (0, 0))
        self.tags = [struct.unpack_from("<qQ", self.data, dynamic[0] + i)
                     for i in range(0, dynamic[1], 16)]

    def _place(self, address):
        """Of an address in the file."""
        return next(address - start + offset for start, offset, size in self.segments
                    if start <= address < start + size)

    def _tag(self, number):
        return next((value for tag, value in self.tags if tag == number), None)

    def _text(self, offset):
        start = self._place(self._tag(_STRTAB)) + offset
        return self.data[start:self.data.index(0, start)].decode()

    def needed(self):
        return [self._text(value) for tag, value in self.tags if tag == _NEEDED]

    def soname(self):
        value = self._tag(_SONAME)
        return self._text(value) if value is not None else self.path.name

    def versions(self):
        """(place of the entry, index of its symbols, version) of all that is asked for."""
        if self._tag(_VERNEED) is None:
            return []
        found, at = [], self._place(self._tag(_VERNEED))
        for _ in range(self._tag(_VERNEEDNUM)):
            _, count, _, first, following = struct.unpack_from("<HHIII", self.data, at)
            entry = at + first
            for _ in range(count):
                _, _, index, name, step = struct.unpack_from("<IHHII", self.data, entry)
                found.append((entry, index, self._text(name)))
                entry += step
            at += following
        return found

    def symbols(self, index):
        """Names of the symbols of a version."""
        table, versym = self._place(self._tag(_SYMTAB)), self._place(self._tag(_VERSYM))
        count = (self._tag(_STRTAB) - self._tag(_SYMTAB)) // 24  # the table ends where texts begin
        names = []
        for i in range(count):
            if struct.unpack_from("<H", self.data, versym + 2 * i)[0] & 0x7fff == index:
                names.append(self._text(struct.unpack_from("<I", self.data, table + 24 * i)[0]))
        return names

    def too_new(self):
        """Versions above the ceilings."""
        found = []
        for _, _, version in self.versions():
            family, _, number = version.partition("_")
            ceiling = CEILINGS.get(family)
            if ceiling and number[:1].isdigit() and tuple(map(int, number.split("."))) > ceiling:
                found.append(version)
        return found

    def lower(self):
        """Asks for older versions of symbols where those do; True when something changed."""
        changed = False
        for entry, index, version in self.versions():
            lowered = {LOWERED.get((version, symbol)) for symbol in self.symbols(index)}
            if len(lowered) != 1 or None in lowered:
                continue
            name = lowered.pop().encode()
            offset = struct.unpack_from("<I", self.data, entry + 8)[0]
            text = self._place(self._tag(_STRTAB)) + offset
            assert len(name) == len(version)
            self.data[text:text + len(name)] = name
            struct.pack_into("<I", self.data, entry, _hash(name))
            changed = True
        return changed


    def rpath(self):
        value = self._tag(_RPATH)
        return self._text(value) if value is not None else None

    def set_rpath(self, text):
        """Where libraries are looked for; the build leaves more room than that takes, filled with
        colons, which stand for the working directory."""
        old = self.rpath()
        if old is None or len(old) < len(text):
            raise ValueError(f"{self.path} has no room for the run path {text}")
        place = self._place(self._tag(_STRTAB)) + self._tag(_RPATH)
        self.data[place:place + len(old)] = text.encode().ljust(len(old), b"\0")


def _hash(name):
    """The System V hash of a version's name."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xf0000000
        value = (value ^ high >> 24) & ~high & 0xffffffff
    return value
