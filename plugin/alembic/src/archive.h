/// What the files of the reader share: the archive, its table of contents, and reading from it.
#ifndef FIRN_ABC_ARCHIVE_H
#define FIRN_ABC_ARCHIVE_H

#include "firn/abc.h"
#include "ogawa.h"
#include "ogawa_format.h"

enum {
    FIRN_ABC_MAX_DEPTH = 512, // of objects below objects, and of compounds below compounds
    FIRN_ABC_METADATA_ENTRIES = 256,
};

typedef struct firn_abc_text_chunk firn_abc_text_chunk;

typedef struct firn_abc_object_record {
    firn_abc_object info;
    uint64_t group; // child word
    bool is_instance;
} firn_abc_object_record;

typedef struct firn_abc_property_record {
    firn_abc_property info;
    uint64_t group;       // child word
    uint32_t first, last; // changed samples: 0 is stored, then first..last; 0, 0 if constant
    const firn_abc *home; // of layers: the archive that has it; NULL: this one
    int home_property;    // its number there
} firn_abc_property_record;

struct firn_abc {
    ogawa_source source;
    char *name; // of the file, for messages
    int library_version;
    const char *metadata;
    const char *metadata_table[FIRN_ABC_METADATA_ENTRIES];
    int metadata_count;
    firn_abc_time_sampling *samplings;
    int sampling_count;
    double *times; // of all samplings
    firn_abc_object_record *objects;
    int object_count, object_capacity;
    firn_abc_property_record *properties;
    int property_count, property_capacity;
    firn_abc_text_chunk *text;
    uint64_t index_bytes; // taken by the table of contents
    firn_abc **layers;    // owned: the archives that this one is put together from
    int layer_count;
};

/// Where in an archive something is read, for messages, and where these go.
typedef struct firn_abc_place {
    const firn_abc *archive;
    const char *object;   // path, or NULL
    const char *property; // path below the object, or NULL
    firn_error *error;
} firn_abc_place;

firn_abc_place firn_abc_place_of(const firn_abc *archive, int object, int property,
                                 firn_error *error);

/// Fails with a sentence that starts with the file, the object and the property.
firn_result firn_abc_fail(const firn_abc_place *place, firn_result code, const char *format, ...)
    FIRN_PRINTF(3, 4);
firn_result firn_abc_fail_memory(const firn_abc_place *place, size_t bytes);

/// Memory for count elements of a size, or NULL; also NULL when the product overflows.
void *firn_abc_alloc_array(size_t count, size_t size);

// --- Blocks of the container (block.c) -----------------------------------------------------------

firn_result firn_abc_bytes(const firn_abc_place *place, uint64_t offset, void *bytes, size_t size);

/// The number of children of the group that a child word points to.
firn_result firn_abc_group(const firn_abc_place *place, uint64_t word, uint64_t *count);

/// Child `index` of a group, which must be below the group's count.
firn_result firn_abc_child(const firn_abc_place *place, uint64_t group, uint64_t index,
                           uint64_t *word);

/// Where the bytes of a data block are, and how many.
firn_result firn_abc_data(const firn_abc_place *place, uint64_t word, uint64_t *offset,
                          uint64_t *size);

/// A whole data block; *bytes is released with firn_free and NULL when the block is empty.
firn_result firn_abc_data_load(const firn_abc_place *place, uint64_t word, unsigned char **bytes,
                               size_t *size);

// --- The table of contents -----------------------------------------------------------------------

/// Counts bytes against what a file of this size may claim for its table of contents.
firn_result firn_abc_claim(firn_abc *archive, const firn_abc_place *place, size_t bytes);

/// A copy of "prefix/text", or of text when prefix is NULL, that lives as long as the archive.
firn_result firn_abc_text(firn_abc *archive, const firn_abc_place *place, const char *prefix,
                          const unsigned char *text, size_t length, const char **copy);

/// Makes room for one more element of an array of the table of contents.
firn_result firn_abc_grow(firn_abc *archive, const firn_abc_place *place, void **elements,
                          int count, int *capacity, size_t size);

/// The metadata of an index; for OGAWA_METADATA_INLINE the `length` bytes at text.
firn_result firn_abc_header_metadata(firn_abc *archive, const firn_abc_place *place, unsigned index,
                                     const unsigned char *text, size_t length,
                                     const char **metadata);

/// An archive without anything in it.
firn_result firn_abc_create(const char *name, firn_abc **out, firn_error *error);

/// The kind that the metadata of an object name.
firn_abc_kind firn_abc_kind_of(const char *metadata);

/// A name of an object or property: not empty, without '/' and zero bytes.
bool firn_abc_is_name(const unsigned char *text, size_t length);

firn_result firn_abc_load_samplings(firn_abc *archive, const firn_abc_place *place, uint64_t word);
firn_result firn_abc_load_objects(firn_abc *archive, const firn_abc_place *place, uint64_t word);

/// Appends all properties below the compound at word to the table.
firn_result firn_abc_load_properties(firn_abc *archive, int object, uint64_t word,
                                     firn_error *error);

// --- Samples -------------------------------------------------------------------------------------

/// The two samples around a time and how far it is between them.
typedef struct firn_abc_bracket {
    uint32_t before, after;
    double mix;         // 0 at before, 1 at after
    double before_time; // s
    double after_time;  // s; equal to before_time when there is one sample only
    double elapsed;     // s since before; 0 outside the range of samples
    bool inside;        // time lies within the range of samples
} firn_abc_bracket;

firn_abc_bracket firn_abc_bracket_at(const firn_abc *archive, int property, double time);

/// The sample of a property that holds at a time.
uint32_t firn_abc_index_at(const firn_abc *archive, int property, double time);

/// True when two samples are stored in the same place.
firn_result firn_abc_same_sample(const firn_abc *archive, int property, uint32_t a, uint32_t b,
                                 bool *same, firn_error *error);

/// Reads a sample and requires its type.
firn_result firn_abc_read_typed(const firn_abc *archive, int property, uint32_t index,
                                firn_abc_pod pod, int extent, firn_abc_array *array,
                                firn_error *error);

/// The number of values of a sample, without reading them.
firn_result firn_abc_sample_size(const firn_abc *archive, int property, uint32_t index,
                                 size_t *count, firn_error *error);

/// The most bytes that a result put together from several samples may take.
uint64_t firn_abc_result_limit(const firn_abc *archive);

// --- Geometry ------------------------------------------------------------------------------------

/// Fails unless all are finite.
firn_result firn_abc_check_finite(const firn_abc_place *place, const firn_vec3 *position,
                                  size_t count);

/// Replaces positions and velocities in an object's space by those in the world.
void firn_abc_to_world(const firn_abc_matrix *matrix, const firn_abc_matrix *rate, size_t count,
                       firn_vec3 *position, firn_vec3 *velocity);

/// True for objects with vertices and faces.
bool firn_abc_is_mesh(const firn_abc *archive, int object);

/// Fails unless time is finite and the object is what is asked for: `what` names it.
firn_result firn_abc_check_query(const firn_abc *archive, int object, bool is_kind,
                                 const char *what, double time, firn_error *error);

#endif
