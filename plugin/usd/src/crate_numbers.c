// Numbers of a crate file, whatever their type, packed or not.
#include "doc.h"

#include "firn/number.h"

#include <string.h>

enum {
    PACKED_LEAST = 16,     // shorter arrays are never packed
    PACKED_MOST = 1 << 26, // numbers; a few bytes can stand for very many
};

typedef enum base {
    BASE_BOOL,
    BASE_I32,
    BASE_U32,
    BASE_I64,
    BASE_U64,
    BASE_HALF,
    BASE_FLOAT,
    BASE_DOUBLE
} base;

static const size_t base_sizes[] = {1, 4, 4, 8, 8, 2, 4, 8};

/// What a type is made of.
static const struct {
    firn_crate_type type;
    base base;
    int tuple;
} types[] = {
    {FIRN_CRATE_BOOL, BASE_BOOL, 1},       {FIRN_CRATE_UCHAR, BASE_BOOL, 1},
    {FIRN_CRATE_INT, BASE_I32, 1},         {FIRN_CRATE_UINT, BASE_U32, 1},
    {FIRN_CRATE_INT64, BASE_I64, 1},       {FIRN_CRATE_UINT64, BASE_U64, 1},
    {FIRN_CRATE_HALF, BASE_HALF, 1},       {FIRN_CRATE_FLOAT, BASE_FLOAT, 1},
    {FIRN_CRATE_DOUBLE, BASE_DOUBLE, 1},   {FIRN_CRATE_MATRIX4D, BASE_DOUBLE, 16},
    {FIRN_CRATE_MATRIX3D, BASE_DOUBLE, 9}, {FIRN_CRATE_QUATD, BASE_DOUBLE, 4},
    {FIRN_CRATE_QUATF, BASE_FLOAT, 4},     {FIRN_CRATE_QUATH, BASE_HALF, 4},
    {FIRN_CRATE_VEC2D, BASE_DOUBLE, 2},    {FIRN_CRATE_VEC2F, BASE_FLOAT, 2},
    {FIRN_CRATE_VEC2I, BASE_I32, 2},       {FIRN_CRATE_VEC3D, BASE_DOUBLE, 3},
    {FIRN_CRATE_VEC3F, BASE_FLOAT, 3},     {FIRN_CRATE_VEC3H, BASE_HALF, 3},
    {FIRN_CRATE_VEC3I, BASE_I32, 3},       {FIRN_CRATE_VEC4D, BASE_DOUBLE, 4},
    {FIRN_CRATE_VEC4F, BASE_FLOAT, 4},     {FIRN_CRATE_VEC4H, BASE_HALF, 4},
};

static void put(firn_usd_numbers *to, size_t i, base from, const unsigned char *at)
{
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint16_t half;
    float real;
    double wide;
    switch (from) {
    case BASE_BOOL:
        firn_usd_put_number(to, i, 0.0, *at, true);
        return;
    case BASE_I32:
        memcpy(&i32, at, 4);
        firn_usd_put_number(to, i, 0.0, i32, true);
        return;
    case BASE_U32:
        memcpy(&u32, at, 4);
        firn_usd_put_number(to, i, 0.0, u32, true);
        return;
    case BASE_I64:
    case BASE_U64:
        memcpy(&i64, at, 8);
        firn_usd_put_number(to, i, 0.0, i64, true);
        return;
    case BASE_HALF:
        memcpy(&half, at, 2);
        firn_usd_put_number(to, i, (double)firn_half_to_float(half), 0, false);
        return;
    case BASE_FLOAT:
        memcpy(&real, at, 4);
        firn_usd_put_number(to, i, (double)real, 0, false);
        return;
    case BASE_DOUBLE:
        memcpy(&wide, at, 8);
        firn_usd_put_number(to, i, wide, 0, false);
        return;
    }
}

static firn_result claim(const firn_usd_doc *doc, firn_usd_numbers *to, size_t count, int tuple,
                         firn_error *error)
{
    to->data = firn_alloc(count * (size_t)tuple * firn_usd_number_size(to->kind) + 1);
    if (to->data == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%.300s': out of memory", doc->path);
    to->count = count;
    to->tuple = tuple;
    return FIRN_OK;
}

static firn_result damaged(const firn_usd_doc *doc, firn_error *error)
{
    return firn_fail(error, FIRN_ERR_FORMAT,
                     "'%.300s' is a damaged USD layer: a value goes past its end", doc->path);
}

// A value that stands in its own 48 bits: small numbers, vectors of them, diagonals of matrices.
static void put_inlined(firn_usd_numbers *to, base from, int tuple, firn_crate_value value)
{
    unsigned char bytes[8];
    uint64_t payload = value & FIRN_CRATE_PAYLOAD;
    memcpy(bytes, &payload, sizeof bytes);
    for (int i = 0; i < tuple && tuple > 1; i++) {
        int side = tuple == 16 ? 4 : 3;
        bool matrix = tuple == 16 || tuple == 9;
        int part = matrix ? i / side : i;
        bool zero = matrix && i % side != part;
        firn_usd_put_number(to, (size_t)i, 0.0, zero ? 0 : (int8_t)bytes[part], true);
    }
    if (tuple > 1)
        return;
    int32_t narrow;
    memcpy(&narrow, bytes, sizeof narrow);
    if (from == BASE_I64)
        firn_usd_put_number(to, 0, 0.0, narrow, true);
    else if (from == BASE_U64)
        firn_usd_put_number(to, 0, 0.0, (uint32_t)narrow, true);
    else
        put(to, 0, from == BASE_DOUBLE ? BASE_FLOAT : from, bytes);
}

/// An array in the file.
typedef struct array {
    const unsigned char *at, *end;
    size_t count;
} array;

static bool take(array *in, void *data, size_t size)
{
    if ((size_t)(in->end - in->at) < size)
        return false;
    memcpy(data, in->at, size);
    in->at += size;
    return true;
}

// Whole numbers behind their length, unpacked into new memory.
static bool take_packed(array *in, size_t count, bool wide, void **values)
{
    uint64_t length;
    *values = NULL;
    if (!take(in, &length, sizeof length) || length > (size_t)(in->end - in->at))
        return false;
    size_t room = wide ? firn_crate_wide_integers_room(count) : firn_crate_integers_room(count);
    unsigned char *scratch = firn_alloc(room);
    *values = firn_alloc((count + 1) * (wide ? 8 : 4));
    bool fits =
        scratch != NULL && *values != NULL &&
        (wide ? firn_crate_read_wide_integers(in->at, (size_t)length, *values, count, scratch)
              : firn_crate_read_integers(in->at, (size_t)length, *values, count, scratch));
    firn_free(scratch);
    in->at += length;
    return fits;
}

static bool put_whole(firn_usd_numbers *to, array *in, base from)
{
    void *values = NULL;
    bool wide = from == BASE_I64 || from == BASE_U64;
    bool fits = take_packed(in, in->count, wide, &values);
    for (size_t i = 0; fits && i < in->count; i++)
        put(to, i, from, (const unsigned char *)values + i * (wide ? 8 : 4));
    firn_free(values);
    return fits;
}

// Real numbers are packed as whole ones, or as places in a list of those that there are.
static bool put_real(firn_usd_numbers *to, array *in, base from)
{
    char code;
    uint32_t known = 0;
    if (!take(in, &code, 1))
        return false;
    if (code == 'i')
        return put_whole(to, in, BASE_I32);
    const size_t size = base_sizes[from];
    if (code != 't' || !take(in, &known, sizeof known) || known > (size_t)(in->end - in->at) / size)
        return false;
    const unsigned char *list = in->at;
    in->at += known * size;
    void *places = NULL;
    bool fits = take_packed(in, in->count, false, &places);
    for (size_t i = 0; fits && i < in->count; i++) {
        uint32_t place = ((const uint32_t *)places)[i];
        fits = place < known;
        if (fits)
            put(to, i, from, list + place * size);
    }
    firn_free(places);
    return fits;
}

static firn_result read_packed(const firn_usd_doc *doc, firn_crate_value value, base from,
                               firn_usd_numbers *to, firn_error *error)
{
    const firn_crate_file *file = &doc->crate;
    array in = {firn_crate_at(file, value & FIRN_CRATE_PAYLOAD, 0), file->bytes + file->size, 0};
    uint64_t count = 0;
    if (in.at == NULL || !take(&in, &count, file->minor >= 7 ? 8 : 4))
        return damaged(doc, error);
    if (count < PACKED_LEAST && count > (size_t)(in.end - in.at) / base_sizes[from])
        return damaged(doc, error);
    if (count > PACKED_MOST)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "'%.300s' has an array of %llu numbers; %d can be read", doc->path,
                         (unsigned long long)count, PACKED_MOST);
    FIRN_TRY(claim(doc, to, (size_t)count, 1, error));
    in.count = (size_t)count;
    for (size_t i = 0; i < in.count && count < PACKED_LEAST; i++)
        put(to, i, from, in.at + i * base_sizes[from]);
    if (count < PACKED_LEAST)
        return FIRN_OK;
    bool fits = from >= BASE_HALF ? put_real(to, &in, from) : put_whole(to, &in, from);
    return fits ? FIRN_OK : damaged(doc, error);
}

firn_result firn_usd_crate_numbers(const firn_usd_doc *doc, firn_crate_value value,
                                   firn_usd_numbers *to, firn_error *error)
{
    size_t k = 0;
    while (k < FIRN_COUNT(types) && types[k].type != firn_crate_type_of(value))
        k++;
    if (k == FIRN_COUNT(types))
        return FIRN_OK;
    const base from = types[k].base;
    const int tuple = types[k].tuple;
    const size_t size = base_sizes[from] * (size_t)tuple;
    const unsigned char *at;
    size_t count = 1;
    if ((value & FIRN_CRATE_IS_ARRAY) != 0) {
        if ((value & FIRN_CRATE_IS_COMPRESSED) != 0)
            return tuple == 1 && from != BASE_BOOL ? read_packed(doc, value, from, to, error)
                                                   : damaged(doc, error);
        firn_error cause;
        at = firn_crate_items(&doc->crate, value, size, &count, &cause);
        if (at == NULL)
            return damaged(doc, error);
    } else if ((value & FIRN_CRATE_IS_INLINED) != 0) {
        FIRN_TRY(claim(doc, to, 1, tuple, error));
        put_inlined(to, from, tuple, value);
        return FIRN_OK;
    } else {
        at = firn_crate_at(&doc->crate, value & FIRN_CRATE_PAYLOAD, size);
        if (at == NULL)
            return damaged(doc, error);
    }
    FIRN_TRY(claim(doc, to, count, tuple, error));
    for (size_t i = 0; i < count * (size_t)tuple; i++)
        put(to, i, from, at + i * base_sizes[from]);
    return FIRN_OK;
}
