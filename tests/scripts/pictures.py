"""Linear pictures and how alike they are: EXR files, tone mapping, structural similarity."""
import struct
import zlib

import numpy as np

PIXEL = {1: np.dtype("<f2"), 2: np.dtype("<f4")}
ROWS = {0: 1, 2: 1, 3: 16}  # rows of a chunk: no compression, ZIPS, ZIP


def _header(data):
    """Attributes by name, and where they end."""
    if data[:4] != b"\x76\x2f\x31\x01":
        raise ValueError("no EXR file")
    at, attributes = 8, {}
    while data[at] != 0:
        texts = []
        for _ in range(2):
            end = data.index(b"\0", at)
            texts.append(data[at:end].decode())
            at = end + 1
        size, = struct.unpack_from("<i", data, at)
        attributes[texts[0]] = data[at + 4:at + 4 + size]
        at += 4 + size
    return attributes, at + 1


def _channels(attribute):
    at, channels = 0, []
    while attribute[at] != 0:
        end = attribute.index(b"\0", at)
        kind, = struct.unpack_from("<i", attribute, end + 1)
        channels.append((attribute[at:end].decode(), PIXEL[kind]))
        at = end + 17
    return channels


def _unpack(packed, size):
    """ZIP of OpenEXR: deflate, differences of bytes, halves of the bytes apart."""
    if len(packed) == size:
        return packed
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).astype(np.int64)
    raw[1:] -= 128
    raw = np.cumsum(raw).astype(np.uint8)
    half = (len(raw) + 1) // 2
    joined = np.empty(len(raw), np.uint8)
    joined[0::2], joined[1::2] = raw[:half], raw[half:]
    return joined.tobytes()


def read_exr(path):
    """Channels of a scan-line EXR by name, as arrays of rows from the top."""
    with open(path, "rb") as file:
        data = file.read()
    attributes, at = _header(data)
    left, top, right, bottom = struct.unpack("<4i", attributes["dataWindow"])
    width, height = right - left + 1, bottom - top + 1
    channels = _channels(attributes["channels"])
    rows = ROWS[attributes["compression"][0]]
    image = {name: np.empty((height, width), np.float32) for name, _ in channels}
    row_size = width * sum(kind.itemsize for _, kind in channels)
    for offset in struct.unpack_from("<%dQ" % -(-height // rows), data, at):
        first, size = struct.unpack_from("<2i", data, offset)
        first -= top
        count = min(rows, height - first)
        chunk = _unpack(data[offset + 8:offset + 8 + size], row_size * count)
        place = 0
        for y in range(first, first + count):
            for name, kind in channels:
                image[name][y] = np.frombuffer(chunk, kind, width, place)
                place += width * kind.itemsize
    return image


def colors(image):
    """Red, green and blue of what read_exr gave, whatever layer they are in."""
    return np.stack([next(v for k, v in sorted(image.items()) if k.split(".")[-1] == c)
                     for c in "RGB"], -1)


def luminance(rgb):
    return rgb @ np.array([0.2126, 0.7152, 0.0722], np.float32)


def tone(rgb):
    """Luminance between 0 and 1, as bright as it looks."""
    return (np.clip(luminance(rgb), 0.0, 1.0)) ** (1.0 / 2.2)


def _blurred(image):
    """A Gaussian of 1.5 pixels over 11, as in the paper on structural similarity."""
    weights = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    weights /= weights.sum()
    for axis in (0, 1):
        image = np.apply_along_axis(np.convolve, axis, image, weights, "valid")
    return image


def ssim(a, b):
    """Mean structural similarity (Wang et al. 2004) of two pictures between 0 and 1."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    c1, c2 = 0.01 ** 2, 0.03 ** 2
    mean_a, mean_b = _blurred(a), _blurred(b)
    var_a = _blurred(a * a) - mean_a ** 2
    var_b = _blurred(b * b) - mean_b ** 2
    both = _blurred(a * b) - mean_a * mean_b
    return float(np.mean((2 * mean_a * mean_b + c1) * (2 * both + c2)
                         / ((mean_a ** 2 + mean_b ** 2 + c1) * (var_a + var_b + c2))))
