/// The state of an archive being written, and what the files of the writer call of each other.
#ifndef FIRN_ABCW_WRITE_PRIVATE_H
#define FIRN_ABCW_WRITE_PRIVATE_H

#include "bytes.h"
#include "hash.h"

#include "firn/abc_write.h"
#include "firn/file.h"

enum {
    FIRN_ABCW_NAME_SIZE = 256,
    FIRN_ABCW_METADATA_SIZE = 256, // all metadata strings fit the indexed table
    FIRN_ABCW_METADATA_MAX = 254,  // entries of that table
    FIRN_ABCW_CHANNELS_MAX = 16 * FIRN_ABC_OPS_MAX,
    FIRN_ABCW_FILE_START = 40, // the file header and the two version blocks
    FIRN_ABCW_RANK_MAX = 8,
    FIRN_ABCW_DEPTH_MAX = 256, // of objects
};

#define FIRN_ABCW_EMPTY_GROUP UINT64_C(0)
#define FIRN_ABCW_EMPTY_DATA (UINT64_C(1) << 63)

/// Where blocks go. The offset is kept here, because a resumed run replays it before it writes.
typedef struct firn_abcw_stream {
    firn_file_writer *file;
    uint64_t offset;
} firn_abcw_stream;

typedef enum firn_abcw_kind {
    FIRN_ABCW_COMPOUND = 0,
    FIRN_ABCW_SCALAR = 1,
    FIRN_ABCW_ARRAY = 2
} firn_abcw_kind;

/// Codes of the plain types, as stored.
typedef enum firn_abcw_pod {
    FIRN_ABCW_POD_BOOL = 0,
    FIRN_ABCW_POD_U8 = 1,
    FIRN_ABCW_POD_U32 = 5,
    FIRN_ABCW_POD_I32 = 6,
    FIRN_ABCW_POD_U64 = 7,
    FIRN_ABCW_POD_F32 = 10,
    FIRN_ABCW_POD_F64 = 11
} firn_abcw_pod;

/// What is known of a property before its first sample.
typedef struct firn_abcw_property_def {
    const char *name;
    const char *metadata;
    firn_abcw_kind kind;
    firn_abcw_pod pod;
    uint8_t extent;       // plain values per element
    uint8_t rank;         // its group is written before those of smaller rank
    bool late;            // not written when it has no sample
    firn_abc_scope scope; // of geometry parameters
    uint32_t node;
    uint32_t parent1; // index + 1 of the compound it is in; 0 at the top of the object
    uint32_t clock;
} firn_abcw_property_def;

typedef struct firn_abcw_property {
    firn_abcw_property_def def; // its strings are the copies below
    char name[FIRN_ABCW_NAME_SIZE];
    char metadata[FIRN_ABCW_METADATA_SIZE];
    uint32_t count;            // samples so far
    uint32_t first, last;      // first and last changed sample, 0 if none
    firn_abcw_digest key, sum; // of the latest sample, of all samples
    uint64_t bytes, elements;  // of the latest sample
    uint64_t word;             // where the latest sample lies
    bool scalar_like, homogeneous;
    uint64_t *words; // stored samples
    size_t word_count, word_capacity;
} firn_abcw_property;

/// Roles of the properties that schemas use.
enum {
    FIRN_ABCW_SELF_BOUNDS,
    FIRN_ABCW_CHILD_BOUNDS,
    FIRN_ABCW_POSITIONS,
    FIRN_ABCW_IDS,
    FIRN_ABCW_VELOCITIES,
    FIRN_ABCW_WIDTHS,
    FIRN_ABCW_INDICES,
    FIRN_ABCW_COUNTS,
    FIRN_ABCW_UVS,
    FIRN_ABCW_NORMALS,
    FIRN_ABCW_INHERITS,
    FIRN_ABCW_OPS,
    FIRN_ABCW_CHANNELS,
    FIRN_ABCW_MOVED,
    FIRN_ABCW_ANIMATED,
    FIRN_ABCW_ROLE_COUNT
};

typedef enum firn_abcw_schema {
    FIRN_ABCW_SCHEMA_GROUP,
    FIRN_ABCW_SCHEMA_POINTS,
    FIRN_ABCW_SCHEMA_MESH,
    FIRN_ABCW_SCHEMA_XFORM
} firn_abcw_schema;

typedef struct firn_abcw_xform_state {
    uint32_t op_count, channel_count;
    uint8_t ops[FIRN_ABC_OPS_MAX];
    bool started;
    bool moved; // a channel was not at its default
    double first[FIRN_ABCW_CHANNELS_MAX];
    bool animated[FIRN_ABCW_CHANNELS_MAX];
} firn_abcw_xform_state;

typedef struct firn_abcw_object {
    char name[FIRN_ABCW_NAME_SIZE];
    char metadata[FIRN_ABCW_METADATA_SIZE];
    firn_abcw_schema schema;
    uint32_t parent;
    uint32_t depth;
    uint32_t compound1;                   // index + 1 of ".geom" or ".xform"
    uint32_t role1[FIRN_ABCW_ROLE_COUNT]; // index + 1 of properties
    uint32_t first_param, param_count;    // consecutive properties
    firn_abcw_xform_state *xform;         // of transforms
} firn_abcw_object;

typedef struct firn_abcw_times {
    bool acyclic;
    double step;
    double *times; // one for uniform clocks
    size_t count, capacity;
} firn_abcw_times;

/// A block that is in the file, by what it holds.
typedef struct firn_abcw_block {
    firn_abcw_digest key;
    uint64_t bytes;
    uint64_t word; // 0: free slot
    uint64_t values;
} firn_abcw_block;

typedef struct firn_abcw_block_map {
    firn_abcw_block *slots;
    size_t count, capacity;
} firn_abcw_block_map;

/// A sample on its way into the file.
typedef struct firn_abcw_sample {
    uint32_t property;
    const void *data; // NULL when a journal is replayed
    uint64_t bytes, elements;
    firn_abcw_digest key;
    double *bounds; // of points: the box to be filled while they are hashed, or NULL
} firn_abcw_sample;

typedef enum firn_abcw_phase {
    FIRN_ABCW_DECLARING,
    FIRN_ABCW_WRITING,
    FIRN_ABCW_BROKEN
} firn_abcw_phase;

struct firn_abc_writer {
    char path[FIRN_PATH_SIZE];
    bool resumable;
    firn_abcw_phase phase;
    firn_error failure; // what broke it
    firn_abcw_bytes metadata;
    firn_abcw_stream stream;
    firn_file_writer *journal;
    firn_abcw_bytes frame; // journal entries of the frame being written
    uint64_t journal_sum;  // checksum that chains the journal's records
    uint32_t frame_count;
    firn_abcw_times *clocks;
    size_t clock_count, clock_capacity;
    firn_abcw_object *objects;
    size_t object_count, object_capacity;
    firn_abcw_property *properties;
    size_t property_count, property_capacity;
    firn_abcw_block_map blocks;
    firn_abcw_sample *batch;
    size_t batch_count, batch_capacity;
    firn_abcw_sample **batch_order; // from large to small
    size_t order_capacity;
};

// write_ogawa.c: groups and data blocks; failures are kept by the file and reported at the end
uint64_t firn_abcw_stream_data(firn_abcw_stream *stream, const void *bytes, size_t size);
uint64_t firn_abcw_stream_sample(firn_abcw_stream *stream, const firn_abcw_sample *sample);
uint64_t firn_abcw_stream_group(firn_abcw_stream *stream, const uint64_t *words, size_t count);
void firn_abcw_stream_start(firn_abcw_stream *stream);
void firn_abcw_stream_freeze(firn_abcw_stream *stream, uint64_t root_word);

// write_property.c: samples of properties, and which data is in the file already
bool firn_abcw_blocks_reserve(firn_abcw_block_map *map);
firn_abcw_block *firn_abcw_blocks_find(firn_abcw_block_map *map, firn_abcw_digest key,
                                       uint64_t bytes);
firn_result firn_abcw_property_add(firn_abc_writer *writer, const firn_abcw_property_def *def,
                                   uint32_t *index1, firn_error *error);
void firn_abcw_batch_add(firn_abc_writer *writer, uint32_t property1, const void *data,
                         uint64_t elements);
firn_result firn_abcw_batch_commit(firn_abc_writer *writer, firn_error *error);
firn_result firn_abcw_sample_apply(firn_abc_writer *writer, const firn_abcw_sample *sample,
                                   firn_error *error);

// write_finish.c: what stands at the end of the file
firn_result firn_abcw_write_tail(firn_abc_writer *writer, firn_error *error);

// write_archive.c
firn_result firn_abcw_object_add(firn_abc_writer *writer, firn_abc_node parent, const char *name,
                                 firn_abcw_schema schema, firn_abc_node *node, firn_error *error);
firn_result firn_abcw_check_declaring(firn_abc_writer *writer, firn_error *error);
firn_result firn_abcw_check_clock(firn_abc_writer *writer, firn_abc_clock clock, firn_error *error);
firn_result firn_abcw_check_def(firn_abc_writer *writer, uint32_t cookie, size_t size,
                                firn_abc_clock clock, firn_error *error);
firn_result firn_abcw_check_put(firn_abc_writer *writer, firn_abc_node node,
                                firn_abcw_schema schema, firn_error *error);
firn_result firn_abcw_settle(firn_abc_writer *writer, firn_result result, firn_error *error);
firn_result firn_abcw_time_add(firn_abc_writer *writer, uint32_t clock, double seconds,
                               firn_error *error);

// write_schema.c: what points, meshes and transforms share
typedef struct firn_abcw_placement {
    uint32_t clock;
    uint8_t rank;
} firn_abcw_placement;

firn_result firn_abcw_schema_add(firn_abc_writer *writer, firn_abc_node node, firn_error *error);
firn_result firn_abcw_geometry_add(firn_abc_writer *writer, firn_abc_node node, uint32_t clock,
                                   firn_error *error);
firn_result firn_abcw_role_add(firn_abc_writer *writer, firn_abc_node node, int role,
                               const firn_abcw_property_def *def, firn_error *error);
firn_result firn_abcw_positions_add(firn_abc_writer *writer, firn_abc_node node,
                                    firn_abcw_placement placement, const char *metadata,
                                    firn_error *error);
firn_result firn_abcw_velocities_add(firn_abc_writer *writer, firn_abc_node node,
                                     firn_abcw_placement placement, firn_error *error);
firn_result firn_abcw_param_role_add(firn_abc_writer *writer, firn_abc_node node, int role,
                                     const firn_abc_param_def *param, firn_abcw_placement placement,
                                     firn_error *error);
firn_result firn_abcw_params_add(firn_abc_writer *writer, firn_abc_node node, uint32_t clock,
                                 const firn_abc_param_def *params, size_t count, firn_error *error);
firn_result firn_abcw_batch_role(firn_abc_writer *writer, uint32_t property1, const void *data,
                                 uint64_t count, firn_error *error);
firn_result firn_abcw_batch_params(firn_abc_writer *writer, firn_abc_node node,
                                   const void *const *data,
                                   const uint64_t counts[FIRN_ABC_SCOPE_COUNT], firn_error *error);
firn_result firn_abcw_batch_positions(firn_abc_writer *writer, firn_abc_node node,
                                      const firn_vec3 *positions, size_t count, double bounds[6],
                                      firn_error *error);
void firn_abcw_bounds_extend(double bounds[6], const firn_vec3 *positions, size_t count);

// write_xform.c
void firn_abcw_xform_note(firn_abcw_xform_state *xform, const double *channels);
firn_result firn_abcw_xform_close(firn_abc_writer *writer, firn_abc_node node, firn_error *error);
firn_result firn_abcw_xform_put_summary(firn_abc_writer *writer, firn_abc_node node,
                                        firn_error *error);

// write_journal.c: continuing after an interruption
void firn_abcw_journal_sample(firn_abc_writer *writer, const firn_abcw_sample *sample,
                              uint64_t word, bool stored);
void firn_abcw_journal_xform(firn_abc_writer *writer, uint32_t node, const double *channels);
void firn_abcw_journal_time(firn_abc_writer *writer, uint32_t clock, double seconds);
firn_result firn_abcw_journal_open(firn_abc_writer *writer, firn_error *error);
firn_result firn_abcw_journal_end_frame(firn_abc_writer *writer, firn_error *error);

#endif
