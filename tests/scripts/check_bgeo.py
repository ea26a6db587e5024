#!/usr/bin/env python3
"""Decodes geometry files with a parser of its own and compares them with known formulas.

usage: check_bgeo.py WRITER FOLDER    (WRITER is the bgeo_sample program)
"""
import gzip
import json
import os
import struct
import subprocess
import sys

SCALARS = {0x11: "b", 0x12: "h", 0x13: "i", 0x14: "q", 0x18: "e", 0x19: "f", 0x1A: "d",
           0x21: "B", 0x22: "H"}
END = object()


class Binary:
    """Binary JSON, as the facts of the format state it."""

    def __init__(self, data):
        assert data[0] == 0x7F and struct.unpack_from("<I", data, 1)[0] == 0x624A534E
        self.data, self.at, self.shared = data, 5, {}

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def length(self):
        first = self.take("B")
        return first if first < 0xF1 else self.take({0xF2: "H", 0xF4: "I", 0xF8: "q"}[first])

    def text(self):
        size = self.length()
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def uniform(self):
        kind, count = self.take("B"), self.length()
        if kind == 0x10:
            words = [self.take("I") for _ in range((count + 31) // 32)]
            return [bool(words[i // 32] >> i % 32 & 1) for i in range(count)]
        size = struct.calcsize(SCALARS[kind])
        values = struct.unpack_from("<%d%s" % (count, SCALARS[kind]), self.data, self.at)
        self.at += size * count
        return list(values)

    def value(self):
        token = self.take("B")
        if token in SCALARS:
            return self.take(SCALARS[token])
        if token == 0x2B:
            number = self.length()
            self.shared[number] = self.text()
            return self.value()
        if token == 0x26:
            return self.shared[self.length()]
        if token == 0x27:
            return self.text()
        if token == 0x40:
            return self.uniform()
        if token in (0x30, 0x31):
            return token == 0x31
        if token in b"]}":
            return END
        assert token in b"[{", hex(token)
        items = []
        while True:
            item = self.value()
            if item is END:
                break
            items.append(item)
        return items if token == ord("[") else pairs(items)


def pairs(items):
    assert len(items) % 2 == 0
    return dict(zip(items[::2], items[1::2]))


def attribute(entry):
    """(name, storage, type info, list of values or tuples) of either form."""
    about, body = pairs(entry[0]), pairs(entry[1])
    values = pairs(body["indices"] if about["type"] == "string" else body["values"])
    size = values["size"]
    assert size == body["size"] and values["storage"] == body["storage"]
    if "rawpagedata" in values:
        flat = values["rawpagedata"]
        assert values["pagesize"] == 1024
    elif "arrays" in values:
        assert size == 1
        flat = values["arrays"][0]
    else:
        flat = [number for tuple_ in values["tuples"] for number in tuple_]
    if about["type"] == "string":
        flat = [body["strings"][i] if i >= 0 else "" for i in flat]
    if size > 1:
        flat = [tuple(flat[i:i + size]) for i in range(0, len(flat), size)]
    kind = about["options"].get("type", {}).get("value", "none")
    return about["name"], (values["storage"], kind, flat)


def expected_attributes(count):
    n = range(count)
    names = ["ball", "ground \"a\"\n"]
    return {
        "P": ("fpreal32", "point", [tuple(0.25 * (i + k) for k in range(3)) for i in n]),
        "v": ("fpreal32", "vector", [tuple(-0.5 * i * k for k in range(3)) for i in n]),
        "id": ("int64", "none", [i * 1400000 for i in n]),
        "pscale": ("fpreal32", "none", [0.125 for _ in n]),
        "mass": ("fpreal32", "none", [i % 5 / 8 for i in n]),
        "Jp": ("fpreal64", "none", [1 + i / 4096 for i in n]),
        "state": ("int8", "integer", [i % 200 - 100 for i in n]),
        "half": ("fpreal16", "none", [1 + i % 1024 / 1024 for i in n]),
        "sourcename": ("int32", "none", [names[i % 3 - 1] if i % 3 else "" for i in n]),
    }


DETAILS = {
    "firn_version": ("int32", "none", ["0.1.0"]),
    "frame": ("int32", "none", [1001]),
    "dt": ("fpreal64", "none", [1 / 24]),
}


def check_tree(root, exact_half):
    root = pairs(root)
    assert root["pointcount"] == 3000 and root["vertexcount"] == root["primitivecount"] == 0
    assert root["hasindex"] is False and root["primitives"] == []
    assert root["fileversion"].count(".") == 2
    assert root["topology"] == ["pointref", ["indices", []]]
    assert set(root["info"]) == {"software", "bounds"}, "a date or a user name leaked"
    assert root["info"]["bounds"] == [0, 749.75, 0.25, 750, 0.5, 750.25]
    tables = pairs(root["attributes"])
    found = dict(attribute(entry) for entry in tables["pointattributes"])
    expected = expected_attributes(3000)
    assert list(found) == list(expected)
    if not exact_half:  # text has five digits
        found["half"] = found["half"][:2] + ([round(v * 1024) / 1024 for v in found["half"][2]],)
    for name, values in expected.items():
        assert found[name] == values, name
    assert dict(attribute(entry) for entry in tables["globalattributes"]) == DETAILS


def check_classic(data):
    at = 0

    def take(layout):
        nonlocal at
        values = struct.unpack_from(">" + layout, data, at)
        at += struct.calcsize(">" + layout)
        return values[0] if len(values) == 1 else values

    def text():
        nonlocal at
        size = take("H")
        at += size
        return data[at - size:at].decode()

    def definition():
        name, size, kind = text(), take("H"), take("i")
        strings = None
        if kind == 4:
            strings = [text() for _ in range(take("i"))]
        else:
            assert all(take("i") == 0 for _ in range(size))
        return name, size, kind, strings

    def value(size, kind, strings):
        values = [take("f" if kind in (0, 5) else "i") for _ in range(size)]
        if kind == 4:
            values = [strings[i] if i >= 0 else "" for i in values]
        return values[0] if size == 1 else tuple(values)

    assert data[:5] == b"BgeoV"
    at = 5
    assert take("9i") == (5, 1000, 0, 0, 0, 8, 0, 0, 3)
    columns = [definition() for _ in range(8)]
    assert {name: kind for name, _, kind, _ in columns}["v"] == 5
    points = {name: [] for name in ["P"] + [c[0] for c in columns]}
    for _ in range(1000):
        x, y, z, w = take("4f")
        assert w == 1
        points["P"].append((x, y, z))
        for name, size, kind, strings in columns:
            points[name].append(value(size, kind, strings))
    for name, (_, _, values) in expected_attributes(1000).items():
        assert points[name] == values, name
    details = [definition() for _ in range(3)]
    found = {name: value(*rest) for name, *rest in details}
    assert found["firn_version"] == "0.1.0" and found["frame"] == 1001
    assert abs(found["dt"] - 1 / 24) < 1e-8
    assert data[at:] == b"\x00\xff"


def main():
    writer, folder = sys.argv[1:]
    names = ["bgeo", "bgeo.gz", "geo", "geo.gz", "bhclassic", "bhclassic.gz"]
    paths = {name: os.path.join(folder, "python_sample." + name) for name in names}
    subprocess.run([writer] + list(paths.values()), check=True)
    files = {}
    for name, path in paths.items():
        with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
            files[name] = file.read()
    for path in paths.values():
        os.remove(path)
    for name in names[::2]:
        assert files[name] == files[name + ".gz"], name
    reader = Binary(files["bgeo"])
    check_tree(reader.value(), True)
    assert reader.at == len(files["bgeo"])
    check_tree(json.loads(files["geo"].decode()), False)
    check_classic(files["bhclassic"])
    print("all values agree")


if __name__ == "__main__":
    main()
