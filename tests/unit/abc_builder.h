/// Puts odd archives together in memory, for cases that no fixture has. Sizes are small and fixed.
#ifndef FIRN_TESTS_ABC_BUILDER_H
#define FIRN_TESTS_ABC_BUILDER_H

#include "unit/abc_support.h"

enum { ABC_BUILDER_SIZE = 1 << 19, ABC_BUILDER_ITEMS = 64 };

typedef struct abc_builder {
    unsigned char bytes[ABC_BUILDER_SIZE];
    size_t size;
} abc_builder;

/// Properties of a compound, or children of an object.
typedef struct abc_list {
    unsigned char headers[8192];
    size_t header_size;
    uint64_t words[ABC_BUILDER_ITEMS + 2];
    size_t count;
} abc_list;

void abc_builder_start(abc_builder *b);

/// Blocks; each returns the child word that refers to it.
uint64_t abc_builder_data(abc_builder *b, const void *bytes, size_t size);
uint64_t abc_builder_group(abc_builder *b, const uint64_t *words, size_t count);

/// The values of a sample, with a zero key.
uint64_t abc_builder_sample(abc_builder *b, const void *values, size_t size);

/// Appends a property whose group is `word`; kind as in the info word, all samples stored.
void abc_list_property(abc_list *list, const char *name, const char *metadata, uint32_t kind,
                       firn_abc_pod pod, uint32_t extent, uint32_t samples, uint64_t word);

/// Appends an array property with samples of `counts` values each; time sampling 1.
void abc_list_array(abc_builder *b, abc_list *list, const char *name, const char *metadata,
                    firn_abc_pod pod, uint32_t extent, const void *const *samples,
                    const size_t *counts, uint32_t sample_count);

/// The same for a scalar.
void abc_list_scalar(abc_builder *b, abc_list *list, const char *name, firn_abc_pod pod,
                     uint32_t extent, const void *const *samples, uint32_t sample_count);

/// Finishes a compound.
uint64_t abc_list_compound(abc_builder *b, const abc_list *list);

/// Appends a child object whose group is `word`.
void abc_list_object(abc_list *list, const char *name, const char *metadata, uint64_t word);

/// Finishes an object.
uint64_t abc_builder_object(abc_builder *b, uint64_t properties, const abc_list *children);

/// Appends an object with one compound of a schema.
void abc_list_schema_object(abc_builder *b, abc_list *list, const char *name, const char *schema,
                            const char *compound, const abc_list *properties,
                            const abc_list *children);

/// Writes the root; sampling 0 is the default one, sampling 1 has a step of `step` seconds from 0.
void abc_builder_finish(abc_builder *b, uint64_t root_object, double step);

firn_abc *abc_builder_open(const abc_builder *b);

#endif
