/// One layer of USD, text or crate: a tree of specs with properties, whose values stay in the file
/// until they are asked for.
#ifndef FIRN_USD_DOC_H
#define FIRN_USD_DOC_H

#include "crate_read.h"

enum {
    FIRN_USD_NESTING = 64, // of prims, arcs, groups of values
    FIRN_USD_SPECS = 1 << 22,
};

/// What is given for a property: where its value stands in the file.
typedef struct firn_usd_ref {
    uint64_t place; // offset in text, value in a crate
    bool given;
} firn_usd_ref;

typedef struct firn_usd_sample {
    double time;
    firn_usd_ref value;
} firn_usd_sample;

typedef struct firn_usd_property {
    const char *name, *type; // "points", "point3f[]"; "rel" for a relationship
    firn_usd_ref value;      // without time
    size_t first_sample, sample_count;
    int next;
} firn_usd_property;

/// A reference, a payload or a chosen variant of a prim; or a layer below this one, of the root.
typedef enum firn_usd_arc_kind {
    FIRN_USD_REFERENCE,
    FIRN_USD_PAYLOAD,
    FIRN_USD_VARIANT,
    FIRN_USD_SUBLAYER,
    FIRN_USD_INHERIT, // and specializes: a path in the same layer
} firn_usd_arc_kind;

typedef struct firn_usd_arc {
    firn_usd_arc_kind kind;
    const char *asset; // "": this layer
    const char *prim;  // "/a/b"; "": the default prim; "{set=name}" of a variant
    double offset, scale;
    int next;
} firn_usd_arc;

typedef struct firn_usd_spec {
    const char *name, *type; // "arm", "Mesh"; a variant is a child called "{set=name}"
    int parent, first_child, last_child, next;
    int first_property, last_property;
    int first_arc, last_arc;
    int specifier; // 0 def, 1 over, 2 class
    bool inactive, instanceable;
} firn_usd_spec;

typedef struct firn_usd_doc {
    char *path;
    firn_crate_file crate; // of a layer in the crate format
    bool is_text;
    char *text;
    size_t text_size;
    struct firn_usd_block *blocks; // of names
    firn_usd_spec *specs;          // the first is the root
    firn_usd_property *properties;
    firn_usd_sample *samples;
    firn_usd_arc *arcs;
    size_t spec_count, spec_room, property_count, property_room;
    size_t sample_count, sample_room, arc_count, arc_room;
    const char *default_prim, *up_axis;                          // "": not said
    double meters_per_unit, codes_per_second, frames_per_second; // 0: not said
} firn_usd_doc;

/// Opens a layer, ".usda", ".usdc" or ".usd", by how it begins.
firn_result firn_usd_doc_open(const char *path, firn_usd_doc **doc, firn_error *error);
void firn_usd_doc_close(firn_usd_doc *doc); // accepts NULL

/// Both fill a doc whose root is there.
firn_result firn_usd_doc_parse(firn_usd_doc *doc, firn_error *error);
firn_result firn_usd_doc_decode(firn_usd_doc *doc, firn_error *error);

// --- Building ------------------------------------------------------------------------------------

/// A copy of a text that lives as long as the doc; NULL: out of memory.
const char *firn_usd_doc_keep(firn_usd_doc *doc, const char *text, size_t length);

/// -1: out of memory, or more than can be taken.
int firn_usd_doc_add_spec(firn_usd_doc *doc, int parent, const char *name);
int firn_usd_doc_add_property(firn_usd_doc *doc, int spec, const char *name, const char *type);
int firn_usd_doc_add_arc(firn_usd_doc *doc, int spec, firn_usd_arc arc);
bool firn_usd_doc_add_sample(firn_usd_doc *doc, firn_usd_sample sample);

int firn_usd_doc_child(const firn_usd_doc *doc, int spec, const char *name); // -1: none
int firn_usd_doc_find(const firn_usd_doc *doc, const char *path);            // "/a/b"
const firn_usd_property *firn_usd_doc_property(const firn_usd_doc *doc, int spec, const char *name);

// --- Values --------------------------------------------------------------------------------------

typedef enum firn_usd_number_kind {
    FIRN_USD_F32,
    FIRN_USD_F64,
    FIRN_USD_I32,
    FIRN_USD_I64,
} firn_usd_number_kind;

/// Numbers, converted; released by firn_free(data). A value that is blocked has none.
typedef struct firn_usd_numbers {
    firn_usd_number_kind kind;
    int tuple;    // numbers of each item: 3 of a vector, 16 of a matrix
    size_t count; // of items
    void *data;
} firn_usd_numbers;

/// What is no number leaves an empty list.
firn_result firn_usd_doc_numbers(const firn_usd_doc *doc, firn_usd_ref value,
                                 firn_usd_number_kind kind, firn_usd_numbers *numbers,
                                 firn_error *error);

/// Tokens, texts and paths; the list is released with firn_free, the words are the doc's.
firn_result firn_usd_doc_words(firn_usd_doc *doc, firn_usd_ref value, const char ***words,
                               size_t *count, firn_error *error);

firn_result firn_usd_crate_numbers(const firn_usd_doc *doc, firn_crate_value value,
                                   firn_usd_numbers *numbers, firn_error *error);
firn_result firn_usd_text_numbers(const firn_usd_doc *doc, size_t offset, firn_usd_numbers *numbers,
                                  firn_error *error);

/// One number after the other, in the kind of the list.
static inline void firn_usd_put_number(firn_usd_numbers *to, size_t i, double real, int64_t whole,
                                       bool is_whole)
{
    if (to->kind == FIRN_USD_F32)
        ((float *)to->data)[i] = is_whole ? (float)whole : (float)real;
    else if (to->kind == FIRN_USD_F64)
        ((double *)to->data)[i] = is_whole ? (double)whole : real;
    else if (!is_whole)
        whole = real >= -9e18 && real <= 9e18 ? (int64_t)real : 0;
    if (to->kind == FIRN_USD_I64)
        ((int64_t *)to->data)[i] = whole;
    else if (to->kind == FIRN_USD_I32)
        // What does not fit is no index of anything.
        ((int32_t *)to->data)[i] = whole < INT32_MIN || whole > INT32_MAX ? -1 : (int32_t)whole;
}

static inline size_t firn_usd_number_size(firn_usd_number_kind kind)
{
    return kind == FIRN_USD_F32 || kind == FIRN_USD_I32 ? 4 : 8;
}

#endif
