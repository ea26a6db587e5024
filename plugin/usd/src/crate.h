/// The crate format (.usdc) as far as Firn writes it; docs/usd.md describes the profile.
///
/// A file is a header of 88 bytes, values, and sections: tokens (texts), strings, fields (a name
/// and a value), field sets, paths, specs (a path, a type and a field set), and the table of
/// sections.
#ifndef FIRN_CRATE_H
#define FIRN_CRATE_H

#include "firn/base.h"

enum {
    FIRN_CRATE_HEADER = 88,
    FIRN_CRATE_MAJOR = 0,
    FIRN_CRATE_MINOR = 8, // of what is written; 0.4 to 0.13 can be read
    FIRN_CRATE_MINOR_LEAST = 4,
    FIRN_CRATE_MINOR_MOST = 13,
    FIRN_CRATE_SECTION_NAME = 16,
};

/// Types of values, bits 48 to 55 of a value.
typedef enum firn_crate_type {
    FIRN_CRATE_BOOL = 1,
    FIRN_CRATE_UCHAR,
    FIRN_CRATE_INT,
    FIRN_CRATE_UINT,
    FIRN_CRATE_INT64,
    FIRN_CRATE_UINT64,
    FIRN_CRATE_HALF,
    FIRN_CRATE_FLOAT,
    FIRN_CRATE_DOUBLE,
    FIRN_CRATE_STRING,
    FIRN_CRATE_TOKEN,
    FIRN_CRATE_ASSET,
    FIRN_CRATE_MATRIX2D,
    FIRN_CRATE_MATRIX3D,
    FIRN_CRATE_MATRIX4D,
    FIRN_CRATE_QUATD,
    FIRN_CRATE_QUATF,
    FIRN_CRATE_QUATH,
    FIRN_CRATE_VEC2D,
    FIRN_CRATE_VEC2F,
    FIRN_CRATE_VEC2H,
    FIRN_CRATE_VEC2I,
    FIRN_CRATE_VEC3D,
    FIRN_CRATE_VEC3F,
    FIRN_CRATE_VEC3H,
    FIRN_CRATE_VEC3I,
    FIRN_CRATE_VEC4D,
    FIRN_CRATE_VEC4F,
    FIRN_CRATE_VEC4H,
    FIRN_CRATE_VEC4I,
    FIRN_CRATE_PATH_LIST = 34,
    FIRN_CRATE_REFERENCE_LIST = 35,
    FIRN_CRATE_TOKEN_VECTOR = 41,
    FIRN_CRATE_SPECIFIER = 42,
    FIRN_CRATE_VARIABILITY = 44,
    FIRN_CRATE_SELECTIONS = 45,
    FIRN_CRATE_TIME_SAMPLES = 46,
    FIRN_CRATE_PAYLOAD_ONE = 47,
    FIRN_CRATE_DOUBLE_VECTOR = 48,
    FIRN_CRATE_OFFSET_VECTOR = 49,
    FIRN_CRATE_STRING_VECTOR = 50,
    FIRN_CRATE_PAYLOAD_LIST = 55,
} firn_crate_type;

typedef enum firn_spec_type {
    FIRN_SPEC_ATTRIBUTE = 1,
    FIRN_SPEC_PRIM = 6,
    FIRN_SPEC_ROOT = 7,
    FIRN_SPEC_RELATIONSHIP = 8,
    FIRN_SPEC_VARIANT = 10,
} firn_spec_type;

/// A value: flags, type, and 48 bits that are the value itself or its place in the file.
typedef uint64_t firn_crate_value;

#define FIRN_CRATE_IS_ARRAY (1ull << 63)
#define FIRN_CRATE_IS_INLINED (1ull << 62)
#define FIRN_CRATE_IS_COMPRESSED (1ull << 61)
#define FIRN_CRATE_PAYLOAD ((1ull << 48) - 1)

static inline firn_crate_type firn_crate_type_of(firn_crate_value value)
{
    return (firn_crate_type)(value >> 48 & 0xFF);
}

/// Bytes that grow; a failure to get memory is remembered.
typedef struct firn_crate_bytes {
    unsigned char *data;
    size_t count, capacity;
    bool failed;
} firn_crate_bytes;

void firn_crate_append(firn_crate_bytes *bytes, const void *data, size_t size);

// --- Coding --------------------------------------------------------------------------------------

/// Appends whole numbers as the structure of a file has them: the number of bytes (8), then a frame
/// of LZ4 with differences in as few bytes as they need.
void firn_crate_write_integers(firn_crate_bytes *out, const int32_t *values, size_t count);

/// Appends a frame of LZ4 that holds the bytes as they are.
void firn_crate_write_frame(firn_crate_bytes *out, const void *data, size_t size);

/// Decodes a frame of LZ4 into exactly `size` bytes; false when it does not hold so many.
bool firn_crate_read_frame(const unsigned char *frame, size_t frame_size, unsigned char *data,
                           size_t size);

/// Decodes whole numbers from a frame without its length; scratch has firn_crate_integers_room.
bool firn_crate_read_integers(const unsigned char *frame, size_t frame_size, int32_t *values,
                              size_t count, unsigned char *scratch);
size_t firn_crate_integers_room(size_t count);

/// The same for numbers of eight bytes.
bool firn_crate_read_wide_integers(const unsigned char *frame, size_t frame_size, int64_t *values,
                                   size_t count, unsigned char *scratch);
size_t firn_crate_wide_integers_room(size_t count);

#endif
