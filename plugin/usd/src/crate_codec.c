#include "crate.h"

#include <string.h>

void firn_crate_append(firn_crate_bytes *bytes, const void *data, size_t size)
{
    if (bytes->failed)
        return;
    if (size > bytes->capacity - bytes->count) {
        size_t capacity = bytes->capacity * 2 + size + 256;
        unsigned char *grown = firn_alloc(capacity);
        if (grown == NULL) {
            bytes->failed = true;
            return;
        }
        if (bytes->count > 0)
            memcpy(grown, bytes->data, bytes->count);
        firn_free(bytes->data);
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    if (size > 0)
        memcpy(bytes->data + bytes->count, data, size);
    bytes->count += size;
}

// --- LZ4 -----------------------------------------------------------------------------------------

// One block of literals: structure is some hundred bytes, and arrays are not compressed.
void firn_crate_write_frame(firn_crate_bytes *out, const void *data, size_t size)
{
    const unsigned char one_block = 0;
    firn_crate_append(out, &one_block, 1);
    unsigned char byte = (unsigned char)((size < 15 ? size : 15) << 4);
    firn_crate_append(out, &byte, 1);
    if (size >= 15) {
        size_t rest = size - 15;
        for (byte = 255; rest >= 255; rest -= 255)
            firn_crate_append(out, &byte, 1);
        byte = (unsigned char)rest;
        firn_crate_append(out, &byte, 1);
    }
    firn_crate_append(out, data, size);
}

typedef struct block {
    const unsigned char *at, *end;
} block;

// The length that begins in four bits and goes on in bytes as long as they are 255.
static bool read_length(block *in, size_t *length)
{
    if (*length < 15)
        return true;
    for (unsigned char byte = 255; byte == 255;) {
        if (in->at == in->end || *length > SIZE_MAX / 2)
            return false;
        byte = *in->at++;
        *length += byte;
    }
    return true;
}

static bool read_block(block in, unsigned char *data, size_t size, size_t *done)
{
    size_t filled = *done;
    while (in.at < in.end) {
        unsigned char token = *in.at++;
        size_t length = token >> 4;
        if (!read_length(&in, &length) || length > (size_t)(in.end - in.at) ||
            length > size - filled)
            return false;
        if (length > 0)
            memcpy(data + filled, in.at, length);
        filled += length;
        in.at += length;
        if (in.at == in.end)
            break; // the last sequence has literals only
        if (in.end - in.at < 2)
            return false;
        size_t offset = (size_t)in.at[0] | (size_t)in.at[1] << 8;
        in.at += 2;
        length = token & 15;
        if (!read_length(&in, &length) || offset == 0 || offset > filled ||
            length + 4 > size - filled)
            return false;
        for (length += 4; length > 0; length--, filled++)
            data[filled] = data[filled - offset]; // may overlap: byte by byte
    }
    *done = filled;
    return true;
}

bool firn_crate_read_frame(const unsigned char *frame, size_t frame_size, unsigned char *data,
                           size_t size)
{
    if (frame_size < 1)
        return false;
    size_t done = 0, blocks = frame[0];
    block in = {frame + 1, frame + frame_size};
    if (blocks == 0)
        return read_block(in, data, size, &done) && done == size;
    for (size_t i = 0; i < blocks; i++) {
        int32_t length;
        if (in.end - in.at < (ptrdiff_t)sizeof length)
            return false;
        memcpy(&length, in.at, sizeof length);
        in.at += sizeof length;
        if (length < 0 || length > in.end - in.at ||
            !read_block((block){in.at, in.at + length}, data, size, &done))
            return false;
        in.at += length;
    }
    return done == size;
}

// --- Whole numbers -------------------------------------------------------------------------------
//
// The most common difference, two bits for each number, then the other differences in 1, 2 or 4
// bytes. All arithmetic wraps around, as in two's complement.

enum { CODE_COMMON, CODE_8, CODE_16, CODE_32 };

static size_t code_bytes(size_t count) { return (count * 2 + 7) / 8; }

size_t firn_crate_integers_room(size_t count)
{
    return sizeof(int32_t) + code_bytes(count) + count * sizeof(int32_t);
}

static int32_t difference(const int32_t *values, size_t i)
{
    return (int32_t)((uint32_t)values[i] - (i > 0 ? (uint32_t)values[i - 1] : 0u));
}

static int32_t most_common(const int32_t *values, size_t count)
{
    int32_t best = 0;
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t k = 0; k < count; k++)
            same += difference(values, k) == difference(values, i);
        if (same > most) {
            most = same;
            best = difference(values, i);
        }
    }
    return best;
}

void firn_crate_write_integers(firn_crate_bytes *out, const int32_t *values, size_t count)
{
    firn_crate_bytes plain = {0}, frame = {0}, codes = {0}, rest = {0};
    int32_t common = most_common(values, count);
    const unsigned char zero = 0;
    for (size_t i = 0; i < code_bytes(count); i++)
        firn_crate_append(&codes, &zero, 1);
    for (size_t i = 0; i < count && !codes.failed; i++) {
        int32_t d = difference(values, i);
        int code = d == common       ? CODE_COMMON
                   : d == (int8_t)d  ? CODE_8
                   : d == (int16_t)d ? CODE_16
                                     : CODE_32;
        codes.data[i / 4] = (unsigned char)(codes.data[i / 4] | code << (i % 4 * 2));
        const int8_t byte = (int8_t)d;
        const int16_t word = (int16_t)d;
        if (code == CODE_8)
            firn_crate_append(&rest, &byte, sizeof byte);
        else if (code == CODE_16)
            firn_crate_append(&rest, &word, sizeof word);
        else if (code == CODE_32)
            firn_crate_append(&rest, &d, sizeof d);
    }
    firn_crate_append(&plain, &common, sizeof common);
    firn_crate_append(&plain, codes.data, codes.count);
    firn_crate_append(&plain, rest.data, rest.count);
    firn_crate_write_frame(&frame, plain.data, plain.count);
    uint64_t size = frame.count;
    firn_crate_append(out, &size, sizeof size);
    firn_crate_append(out, frame.data, frame.count);
    out->failed = out->failed || plain.failed || frame.failed || codes.failed || rest.failed;
    firn_free(plain.data);
    firn_free(frame.data);
    firn_free(codes.data);
    firn_free(rest.data);
}

// The bytes that the codes ask for, so that the frame is decoded to exactly as many. It is not
// known before: the frame is decoded into the largest room, and the rest of it stays zero.
static size_t read_some(const unsigned char *frame, size_t frame_size, unsigned char *data,
                        size_t size)
{
    size_t done = 0, blocks = frame_size > 0 ? frame[0] : 1;
    block in = {frame + 1, frame + frame_size};
    return blocks == 0 && read_block(in, data, size, &done) ? done : 0;
}

static int64_t load_signed(const unsigned char *at, size_t bytes)
{
    int8_t one;
    int16_t two;
    int32_t four;
    int64_t eight;
    switch (bytes) {
    case 1:
        memcpy(&one, at, 1);
        return one;
    case 2:
        memcpy(&two, at, 2);
        return two;
    case 4:
        memcpy(&four, at, 4);
        return four;
    default:
        memcpy(&eight, at, 8);
        return eight;
    }
}

// Numbers of `width` bytes, whose differences take a quarter, a half or all of that.
static bool unpack(const unsigned char *scratch, size_t size, size_t width, void *values,
                   size_t count)
{
    size_t at = width + code_bytes(count);
    if (size < at)
        return false;
    const uint64_t common = (uint64_t)load_signed(scratch, width);
    const size_t bytes[] = {0, width / 4, width / 2, width};
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        int code = scratch[width + i / 4] >> (i % 4 * 2) & 3;
        if (bytes[code] > size - at)
            return false;
        value += code == CODE_COMMON ? common : (uint64_t)load_signed(scratch + at, bytes[code]);
        at += bytes[code];
        if (width == sizeof(int32_t))
            ((int32_t *)values)[i] = (int32_t)(uint32_t)value;
        else
            ((int64_t *)values)[i] = (int64_t)value;
    }
    return true;
}

bool firn_crate_read_integers(const unsigned char *frame, size_t frame_size, int32_t *values,
                              size_t count, unsigned char *scratch)
{
    if (count == 0)
        return true;
    size_t size = read_some(frame, frame_size, scratch, firn_crate_integers_room(count));
    return unpack(scratch, size, sizeof *values, values, count);
}

size_t firn_crate_wide_integers_room(size_t count)
{
    return sizeof(int64_t) + code_bytes(count) + count * sizeof(int64_t);
}

bool firn_crate_read_wide_integers(const unsigned char *frame, size_t frame_size, int64_t *values,
                                   size_t count, unsigned char *scratch)
{
    if (count == 0)
        return true;
    size_t size = read_some(frame, frame_size, scratch, firn_crate_wide_integers_room(count));
    return unpack(scratch, size, sizeof *values, values, count);
}
