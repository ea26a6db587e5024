/// Writes Alembic (Ogawa) archives: points, polygon meshes and transforms, a frame at a time.
///
///     firn_abc_writer_def def = firn_abc_writer_def_default();
///     firn_abc_writer *writer = NULL;
///     FIRN_TRY(firn_abc_writer_create("snow.abc", &def, &writer, error));
///     firn_abc_clock clock;
///     firn_abc_writer_add_clock(writer, 1.0 / 24.0, 1.0 / 24.0, &clock, error); // frame 1, 24 fps
///     firn_abc_points_def points = firn_abc_points_def_default();
///     points.clock = clock;
///     points.velocities = true;
///     firn_abc_node snow;
///     firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "snow", &points, &snow, error);
///     uint32_t frame = 0;
///     firn_abc_writer_begin(writer, &frame, error); // not 0 when an interrupted run continues
///     for (; frame < frame_count; frame++) {
///         ... one firn_abc_writer_put_points(writer, snow, &data, error) ...
///         firn_abc_writer_end_frame(writer, error);
///     }
///     FIRN_TRY(firn_abc_writer_finish(writer, error)); // frees the writer
///
/// First everything is declared, then `begin` opens the file, then samples are put. After a failure
/// only firn_abc_writer_destroy makes sense. Memory does not grow with the data, only by some bytes
/// per sample. The file appears under its name when it is whole.
///
/// The bytes depend on the declarations and samples alone. Equal samples are stored once.
#ifndef FIRN_ABC_WRITE_H
#define FIRN_ABC_WRITE_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_abc_writer firn_abc_writer;

/// An object of the archive.
typedef struct firn_abc_node {
    uint32_t index;
} firn_abc_node;

/// The times of samples. {0} is for what is written once: one sample per second from 0.
typedef struct firn_abc_clock {
    uint32_t index;
} firn_abc_clock;

/// Made into every def by its default function; tells one that was not initialized.
FIRN_API uint32_t firn_abc_def_cookie(size_t size);

typedef struct firn_abc_writer_def {
    uint32_t cookie;
    bool resumable;          // keep "<path>.partial" and a journal so that a later run continues
    double fps;              // frames per second for the archive info; 0 leaves it out
    const char *application; // for the archive info
    const char *description; // NULL leaves it out
    const char *date;        // NULL leaves it out, so that equal input gives equal bytes
    const char *library;     // text of the library version
} firn_abc_writer_def;

static inline firn_abc_writer_def firn_abc_writer_def_default(void)
{
    firn_abc_writer_def def = {0, false, 24.0, "Firn " FIRN_VERSION, NULL, NULL, NULL};
    def.cookie = firn_abc_def_cookie(sizeof def);
    def.library = "Alembic 1.8.12 (Firn " FIRN_VERSION ")";
    return def;
}

/// Starts the declarations of an archive; nothing is written yet.
FIRN_API firn_result firn_abc_writer_create(const char *path, const firn_abc_writer_def *def,
                                            firn_abc_writer **writer, firn_error *error);

/// Gives up: removes what was written, or leaves it for a later run if the writer is resumable.
/// Accepts NULL.
FIRN_API void firn_abc_writer_destroy(firn_abc_writer *writer);

/// Samples every `step` seconds from `start`. Equal clocks get the same id.
FIRN_API firn_result firn_abc_writer_add_clock(firn_abc_writer *writer, double start, double step,
                                               firn_abc_clock *clock, firn_error *error);

/// Samples at any times; put_time gives one before the samples that need it.
FIRN_API firn_result firn_abc_writer_add_acyclic_clock(firn_abc_writer *writer,
                                                       firn_abc_clock *clock, firn_error *error);

/// What the values of a parameter mean to a DCC; the comment says what one value is in memory.
typedef enum firn_abc_value {
    FIRN_ABC_FLOAT,  // float
    FIRN_ABC_INT,    // int32_t
    FIRN_ABC_UINT64, // uint64_t
    FIRN_ABC_VEC2,   // 2 floats, such as texture coordinates
    FIRN_ABC_VECTOR, // firn_vec3
    FIRN_ABC_POINT,  // firn_vec3
    FIRN_ABC_NORMAL, // firn_vec3
    FIRN_ABC_COLOR,  // 3 floats: red, green, blue
    FIRN_ABC_QUAT,   // 4 floats
    FIRN_ABC_MAT3,   // 9 floats
    FIRN_ABC_VALUE_COUNT
} firn_abc_value;

/// How many values a parameter has.
typedef enum firn_abc_scope {
    FIRN_ABC_CONSTANT, // one
    FIRN_ABC_UNIFORM,  // one per face; one for points
    FIRN_ABC_VARYING,  // one per point
    FIRN_ABC_VERTEX,   // one per point
    FIRN_ABC_CORNER,   // one per corner of a face
    FIRN_ABC_SCOPE_COUNT
} firn_abc_scope;

typedef struct firn_abc_param_def {
    const char *name;
    firn_abc_value value;
    firn_abc_scope scope;
} firn_abc_param_def;

typedef struct firn_abc_points_def {
    uint32_t cookie;
    firn_abc_clock clock;
    bool velocities;
    bool widths;
    firn_abc_scope width_scope;       // FIRN_ABC_CONSTANT or FIRN_ABC_VARYING
    const firn_abc_param_def *params; // further attributes, copied
    size_t param_count;
} firn_abc_points_def;

static inline firn_abc_points_def firn_abc_points_def_default(void)
{
    firn_abc_points_def def = {0, {0}, false, false, FIRN_ABC_VARYING, NULL, 0};
    def.cookie = firn_abc_def_cookie(sizeof def);
    return def;
}

typedef struct firn_abc_mesh_def {
    uint32_t cookie;
    firn_abc_clock clock;
    bool velocities;
    bool normals;
    bool uvs;
    firn_abc_scope normal_scope; // FIRN_ABC_VERTEX or FIRN_ABC_CORNER
    firn_abc_scope uv_scope;
    const firn_abc_param_def *params;
    size_t param_count;
} firn_abc_mesh_def;

static inline firn_abc_mesh_def firn_abc_mesh_def_default(void)
{
    firn_abc_mesh_def def = {0,    {0}, false, false, false, FIRN_ABC_CORNER, FIRN_ABC_CORNER,
                             NULL, 0};
    def.cookie = firn_abc_def_cookie(sizeof def);
    return def;
}

/// The steps of a transform; the last one acts first on a point.
typedef enum firn_abc_op {
    FIRN_ABC_SCALE = 0x00,     // 3 channels: x y z
    FIRN_ABC_TRANSLATE = 0x10, // 3 channels: x y z
    FIRN_ABC_ROTATE = 0x20,    // 4 channels: axis x y z, angle in degrees
    FIRN_ABC_MATRIX = 0x30,    // 16 channels, row by row; translation in channels 12, 13, 14
    FIRN_ABC_ROTATE_X = 0x40,  // 1 channel: angle in degrees
    FIRN_ABC_ROTATE_Y = 0x50,
    FIRN_ABC_ROTATE_Z = 0x60,
} firn_abc_op;

enum { FIRN_ABC_OPS_MAX = 15 };

typedef struct firn_abc_xform_def {
    uint32_t cookie;
    firn_abc_clock clock;
    uint32_t op_count;
    firn_abc_op ops[FIRN_ABC_OPS_MAX];
} firn_abc_xform_def;

/// One matrix.
static inline firn_abc_xform_def firn_abc_xform_def_default(void)
{
    firn_abc_xform_def def = {0, {0}, 1, {FIRN_ABC_MATRIX}};
    def.cookie = firn_abc_def_cookie(sizeof def);
    return def;
}

/// The parent of top-level objects.
static const firn_abc_node FIRN_ABC_ROOT = {0};

/// Names have no '/' and are unique among siblings; a parent is the root, a group or a transform.
FIRN_API firn_result firn_abc_writer_add_group(firn_abc_writer *writer, firn_abc_node parent,
                                               const char *name, firn_abc_node *node,
                                               firn_error *error);
FIRN_API firn_result firn_abc_writer_add_xform(firn_abc_writer *writer, firn_abc_node parent,
                                               const char *name, const firn_abc_xform_def *def,
                                               firn_abc_node *node, firn_error *error);
FIRN_API firn_result firn_abc_writer_add_points(firn_abc_writer *writer, firn_abc_node parent,
                                                const char *name, const firn_abc_points_def *def,
                                                firn_abc_node *node, firn_error *error);
FIRN_API firn_result firn_abc_writer_add_mesh(firn_abc_writer *writer, firn_abc_node parent,
                                              const char *name, const firn_abc_mesh_def *def,
                                              firn_abc_node *node, firn_error *error);

/// Declares the bounds of what is below a transform or below the root (the archive's bounds).
FIRN_API firn_result firn_abc_writer_add_child_bounds(firn_abc_writer *writer, firn_abc_node node,
                                                      firn_abc_clock clock, firn_error *error);

/// Ends the declarations and opens the file. *frame is the number of whole frames that an
/// interrupted run of the same archive left behind and that are kept; 0 for a new file.
FIRN_API firn_result firn_abc_writer_begin(firn_abc_writer *writer, uint32_t *frame,
                                           firn_error *error);

/// The next time of an acyclic clock, later than the one before.
FIRN_API firn_result firn_abc_writer_put_time(firn_abc_writer *writer, firn_abc_clock clock,
                                              double seconds, firn_error *error);

/// A sample of points; what was declared must be there, one value per point.
typedef struct firn_abc_points_data {
    size_t count;
    const firn_vec3 *positions;
    const uint64_t *ids;         // NULL: no ids in this sample
    const firn_vec3 *velocities; // units per second
    const float *widths;         // diameters; one value if the scope is constant
    const void *const *params;   // values of each declared parameter
} firn_abc_points_data;

FIRN_API firn_result firn_abc_writer_put_points(firn_abc_writer *writer, firn_abc_node node,
                                                const firn_abc_points_data *data,
                                                firn_error *error);

/// A sample of a mesh. Faces wind clockwise seen from outside, as Alembic has it.
typedef struct firn_abc_mesh_data {
    size_t point_count;
    size_t face_count;
    size_t corner_count;
    const firn_vec3 *positions;
    const int32_t *face_counts;  // corners of each face
    const int32_t *face_indices; // the point of each corner
    const firn_vec3 *velocities; // units per second
    const firn_vec3 *normals;
    const float *uvs; // pairs
    const void *const *params;
} firn_abc_mesh_data;

FIRN_API firn_result firn_abc_writer_put_mesh(firn_abc_writer *writer, firn_abc_node node,
                                              const firn_abc_mesh_data *data, firn_error *error);

/// A sample of a transform: the channels of its ops in order. `inherits`: the parent applies too.
FIRN_API firn_result firn_abc_writer_put_xform(firn_abc_writer *writer, firn_abc_node node,
                                               const double *channels, bool inherits,
                                               firn_error *error);

/// A sample of child bounds: minimum x, y, z, maximum x, y, z.
FIRN_API firn_result firn_abc_writer_put_child_bounds(firn_abc_writer *writer, firn_abc_node node,
                                                      const double bounds[6], firn_error *error);

/// Ends a frame: from here on a resumable archive keeps it when the process dies. Also reports a
/// full disk early.
FIRN_API firn_result firn_abc_writer_end_frame(firn_abc_writer *writer, firn_error *error);

/// Completes the file, gives it its name and frees the writer, also on failure.
FIRN_API firn_result firn_abc_writer_finish(firn_abc_writer *writer, firn_error *error);

/// Removes what an interrupted run left beside path, if anything.
FIRN_API firn_result firn_abc_writer_forget(const char *path, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
