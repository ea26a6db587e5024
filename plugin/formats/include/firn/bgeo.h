/// Houdini geometry files: points with any attributes, written and read.
///
///     firn_bgeo_def def = firn_bgeo_def_default();
///     FIRN_TRY(firn_bgeo_def_from_path(&def, "snow.0001.bgeo.gz", error));
///     FIRN_TRY(firn_bgeo_write("snow.0001.bgeo.gz", &points, &def, error));
///
/// The same points and the same def give the same bytes. Files appear whole or not at all.
#ifndef FIRN_BGEO_H
#define FIRN_BGEO_H

#include "firn/base.h"
#include "firn/points.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_bgeo_format {
    FIRN_BGEO_BINARY,  // .bgeo since Houdini 12: binary JSON
    FIRN_BGEO_TEXT,    // .geo: the same tree as text
    FIRN_BGEO_CLASSIC, // .bhclassic, and the .bgeo of Houdini 11 and Partio: version 5
} firn_bgeo_format;

/// How to write. Start from firn_bgeo_def_default().
typedef struct firn_bgeo_def {
    uint32_t cookie;         // set by the default function
    firn_bgeo_format format; // binary
    int gzip_level;          // 0: no compression; 1 .. 9: fast .. small
    const char *software;    // "firn <version>"
    const char *artist;      // NULL leaves it out
    const char *date;        // NULL leaves it out, so that equal points give equal files
} firn_bgeo_def;

FIRN_API void firn_bgeo_def_fill(firn_bgeo_def *def, size_t size);

static inline firn_bgeo_def firn_bgeo_def_default(void)
{
    firn_bgeo_def def;
    firn_bgeo_def_fill(&def, sizeof def);
    return def;
}

/// Sets format and gzip_level from the end of a name: .bgeo .geo .bhclassic, each also with .gz.
FIRN_API firn_result firn_bgeo_def_from_path(firn_bgeo_def *def, const char *path,
                                             firn_error *error);

/// Writes points. Beside the caller's arrays it needs less than 1 MiB.
/// Classic files hold 32-bit floats and integers only: floats are rounded, an integer that does
/// not fit is FIRN_ERR_UNSUPPORTED.
FIRN_API firn_result firn_bgeo_write(const char *path, const firn_points *points,
                                     const firn_bgeo_def *def, firn_error *error);

/// Bounds for files that nobody vouches for. Whatever a file claims, reading it never holds more
/// than max_bytes, nor more than 256 times its (unpacked) size plus 256 MiB.
typedef struct firn_bgeo_limits {
    uint64_t max_unpacked; // bytes that come out of a .gz; 64 GiB
    uint64_t max_bytes;    // bytes of memory for attributes; 64 GiB
} firn_bgeo_limits;

FIRN_API firn_bgeo_limits firn_bgeo_limits_default(void);

/// A file in memory.
typedef struct firn_bgeo firn_bgeo;

/// What a file says about itself beside its points.
typedef struct firn_bgeo_info {
    firn_bgeo_format format;
    bool gzip;
    const char *file_version; // "" where the file has none
    const char *software;
    uint64_t vertex_count;
    uint64_t primitive_count;   // primitives are not read
    const char *const *skipped; // names of attributes of kinds that are not read
    size_t skipped_count;
} firn_bgeo_info;

/// Reads a file of any format above, told by its content; limits may be NULL. Point and detail
/// attributes that are numeric or strings are kept, the rest is passed over. P has three
/// components whatever the file stores.
FIRN_API firn_result firn_bgeo_read(const char *path, const firn_bgeo_limits *limits,
                                    firn_bgeo **geometry, firn_error *error);

/// The same from memory, which is needed only during the call; name is for messages.
FIRN_API firn_result firn_bgeo_read_memory(const void *bytes, size_t size, const char *name,
                                           const firn_bgeo_limits *limits, firn_bgeo **geometry,
                                           firn_error *error);

/// Views that live as long as the geometry.
FIRN_API const firn_points *firn_bgeo_points(const firn_bgeo *geometry);
FIRN_API const firn_bgeo_info *firn_bgeo_describe(const firn_bgeo *geometry);

/// Accepts NULL.
FIRN_API void firn_bgeo_destroy(firn_bgeo *geometry);

#ifdef __cplusplus
}
#endif

#endif
