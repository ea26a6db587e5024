// The numbers of an attribute, in the three forms that Houdini writes:
//   rawpagedata  pages of `pagesize` tuples; in each page the slices of `packing` follow each
//                other, and a slice marked in `constantpageflags` is stored once for its page
//   tuples       a list of tuples
//   arrays       a list of one array per component
#include "bgeo_file.h"

#include <string.h>

enum { KEY_SIZE = 64, MAX_SLICES = FIRN_TUPLE_MAX, CHUNK = 4096 };

typedef struct layout {
    size_t count;     // tuples
    size_t size;      // components of a tuple
    size_t component; // bytes of one
    uint64_t page;    // tuples of a page
    size_t pages;
    bool flagged;    // the flags have been read: their layout must stay
    int slice_count; // 0: one slice with everything
    size_t slices[MAX_SLICES];
    const unsigned char *constant[MAX_SLICES]; // a flag per page, or NULL
    firn_storage storage;
} layout;

static firn_storage storage_of(const firn_json_token *token)
{
    for (int i = 0; i < FIRN_STORAGE_UINT32; i++)
        if (strcmp(token->text, firn_storage_name((firn_storage)i)) == 0)
            return (firn_storage)i;
    return FIRN_STORAGE_COUNT;
}

static firn_result expect_end(firn_json *json)
{
    firn_json_token token;
    FIRN_TRY(firn_json_next(json, &token));
    if (token.kind != FIRN_JSON_ARRAY_END)
        return firn_geo_source_damaged(json->source, "an attribute in it has too many values");
    return FIRN_OK;
}

static firn_result read_packing(firn_json *json, layout *shape)
{
    shape->slice_count = 0;
    for (;;) {
        firn_json_token token;
        int64_t width;
        FIRN_TRY(firn_json_next(json, &token));
        if (token.kind == FIRN_JSON_ARRAY_END)
            return FIRN_OK;
        if (shape->slice_count == MAX_SLICES)
            return firn_geo_source_damaged(json->source, "an attribute in it has too many slices");
        FIRN_TRY(firn_bgeo_expect_integer(json, &token, 1, FIRN_TUPLE_MAX, &width));
        shape->slices[shape->slice_count++] = (size_t)width;
    }
}

static void settle_layout(layout *shape)
{
    if (shape->slice_count == 0) {
        shape->slice_count = 1;
        shape->slices[0] = shape->size;
    }
    if (shape->page == 0)
        shape->page = shape->count > 0 ? shape->count : 1;
    shape->pages = (size_t)((shape->count + (shape->page - 1)) / shape->page);
}

// A list per slice: empty, or a flag for each page.
static firn_result read_flags(firn_bgeo *geometry, firn_json *json, layout *shape)
{
    settle_layout(shape);
    shape->flagged = true;
    for (int slice = 0;; slice++) {
        firn_json_token token;
        FIRN_TRY(firn_json_next(json, &token));
        if (token.kind == FIRN_JSON_ARRAY_END)
            return FIRN_OK;
        if (token.kind != FIRN_JSON_ARRAY || slice >= shape->slice_count)
            return firn_geo_source_damaged(json->source, "the page flags in it are damaged");
        uint64_t most = firn_json_most_elements(json);
        if (most == 0) {
            FIRN_TRY(expect_end(json));
            continue;
        }
        uint64_t room = most < shape->pages ? most : shape->pages;
        unsigned char *flags = firn_bgeo_claim(geometry, json->source, room, 1);
        if (flags == NULL)
            return json->source->error->code;
        size_t read = 0;
        for (;; read++) {
            FIRN_TRY(firn_json_next(json, &token));
            if (token.kind == FIRN_JSON_ARRAY_END)
                break;
            if (read == room || (token.kind != FIRN_JSON_BOOL && token.kind != FIRN_JSON_INTEGER))
                return firn_geo_source_damaged(json->source, "the page flags in it are damaged");
            flags[read] = token.integer != 0;
        }
        if (read != 0 && read != shape->pages)
            return firn_geo_source_damaged(json->source, "the page flags in it are incomplete");
        shape->constant[slice] = read > 0 ? flags : NULL;
    }
}

// Numbers that the file must still hold: constant slices have one tuple a page.
static uint64_t stored_numbers(const layout *shape)
{
    uint64_t numbers = 0;
    for (int slice = 0; slice < shape->slice_count; slice++) {
        uint64_t tuples = shape->count;
        for (size_t page = 0; shape->constant[slice] != NULL && page < shape->pages; page++) {
            uint64_t rest = shape->count - page * shape->page;
            if (shape->constant[slice][page])
                tuples -= (rest < shape->page ? rest : shape->page) - 1;
        }
        numbers += tuples * shape->slices[slice];
    }
    return numbers;
}

static firn_result claim_values(firn_bgeo *geometry, firn_json *json, const layout *shape,
                                uint64_t stored, void **data)
{
    if (stored > firn_json_most_elements(json))
        return firn_geo_source_damaged(json->source, "an attribute in it has too few values");
    *data = firn_bgeo_claim(geometry, json->source, (uint64_t)shape->count * shape->size,
                            shape->component);
    return *data != NULL ? FIRN_OK : json->source->error->code;
}

// Reads `tuples` tuples of width components and spreads them with the stride of whole tuples.
static firn_result read_spread(firn_json *json, const layout *shape, unsigned char *to,
                               size_t tuples, size_t width)
{
    unsigned char values[CHUNK * 8];
    size_t at_once = CHUNK / width;
    size_t bytes = width * shape->component;
    size_t stride = shape->size * shape->component;
    while (tuples > 0) {
        size_t piece = tuples < at_once ? tuples : at_once;
        FIRN_TRY(firn_json_numbers(json, shape->storage, values, piece * width));
        for (size_t i = 0; i < piece; i++, to += stride)
            memcpy(to, values + i * bytes, bytes);
        tuples -= piece;
    }
    return FIRN_OK;
}

static firn_result read_page_slice(firn_json *json, const layout *shape, unsigned char *to,
                                   size_t tuples, int slice, bool constant)
{
    size_t width = shape->slices[slice];
    size_t stride = shape->size * shape->component;
    if (!constant && width == shape->size)
        return firn_json_numbers(json, shape->storage, to, tuples * width);
    FIRN_TRY(read_spread(json, shape, to, constant ? 1 : tuples, width));
    for (size_t i = 1; constant && i < tuples; i++)
        memcpy(to + i * stride, to, width * shape->component);
    return FIRN_OK;
}

static firn_result read_pages(firn_bgeo *geometry, firn_json *json, layout *shape, void **data)
{
    settle_layout(shape);
    size_t packed = 0;
    for (int slice = 0; slice < shape->slice_count; slice++)
        packed += shape->slices[slice];
    if (packed != shape->size)
        return firn_geo_source_damaged(json->source, "an attribute in it is packed in a wrong way");
    FIRN_TRY(claim_values(geometry, json, shape, stored_numbers(shape), data));
    size_t stride = shape->size * shape->component;
    bool whole = shape->slice_count == 1 && shape->constant[0] == NULL;
    size_t page_tuples = whole || shape->page > shape->count ? shape->count : (size_t)shape->page;
    for (size_t first = 0; first < shape->count; first += page_tuples) {
        size_t rest = shape->count - first;
        size_t tuples = rest < page_tuples ? rest : page_tuples;
        unsigned char *to = (unsigned char *)*data + first * stride;
        for (int slice = 0; slice < shape->slice_count; slice++) {
            const unsigned char *flags = shape->constant[slice];
            bool constant = flags != NULL && flags[first / page_tuples];
            FIRN_TRY(read_page_slice(json, shape, to, tuples, slice, constant));
            to += shape->slices[slice] * shape->component;
        }
    }
    return expect_end(json);
}

static firn_result begin_inner(firn_json *json)
{
    firn_json_token token;
    FIRN_TRY(firn_json_next(json, &token));
    if (token.kind != FIRN_JSON_ARRAY)
        return firn_geo_source_damaged(json->source, "an attribute in it has too few values");
    return FIRN_OK;
}

static firn_result read_tuples(firn_bgeo *geometry, firn_json *json, layout *shape, void **data)
{
    FIRN_TRY(claim_values(geometry, json, shape, (uint64_t)shape->count, data));
    unsigned char *to = *data;
    for (size_t i = 0; i < shape->count; i++, to += shape->size * shape->component) {
        FIRN_TRY(begin_inner(json));
        FIRN_TRY(firn_json_numbers(json, shape->storage, to, shape->size));
        FIRN_TRY(expect_end(json));
    }
    return expect_end(json);
}

static firn_result read_arrays(firn_bgeo *geometry, firn_json *json, layout *shape, void **data)
{
    for (size_t component = 0; component < shape->size; component++) {
        FIRN_TRY(begin_inner(json));
        if (component == 0)
            FIRN_TRY(claim_values(geometry, json, shape, (uint64_t)shape->count, data));
        unsigned char *to = (unsigned char *)*data + component * shape->component;
        FIRN_TRY(read_spread(json, shape, to, shape->count, 1));
        FIRN_TRY(expect_end(json));
    }
    return expect_end(json);
}

// Writers differ in how they write no values at all.
static firn_result read_nothing(firn_bgeo *geometry, firn_json *json, layout *shape, void **data)
{
    FIRN_TRY(claim_values(geometry, json, shape, 0, data));
    return firn_json_skip(json, &(firn_json_token){.kind = FIRN_JSON_ARRAY});
}

static firn_result read_shape(firn_bgeo *geometry, firn_json *json, const char *key,
                              const firn_json_token *token, layout *shape)
{
    int64_t value;
    bool array = token->kind == FIRN_JSON_ARRAY;
    if (shape->flagged)
        return firn_geo_source_damaged(json->source, "the page flags in it stand too early");
    if (strcmp(key, "size") == 0) {
        FIRN_TRY(firn_bgeo_expect_integer(json, token, 1, INT32_MAX, &value));
        shape->size = (size_t)value;
        return FIRN_OK;
    }
    if (strcmp(key, "storage") == 0 && token->kind == FIRN_JSON_STRING) {
        shape->storage = storage_of(token);
        return FIRN_OK;
    }
    if (strcmp(key, "pagesize") == 0) {
        FIRN_TRY(firn_bgeo_expect_integer(json, token, 1, INT64_MAX / 2, &value));
        shape->page = (uint64_t)value;
        return FIRN_OK;
    }
    if (strcmp(key, "packing") == 0 && array)
        return read_packing(json, shape);
    if (strcmp(key, "constantpageflags") == 0 && array && shape->size <= FIRN_TUPLE_MAX)
        return read_flags(geometry, json, shape);
    return firn_json_skip(json, token);
}

typedef firn_result read_form(firn_bgeo *geometry, firn_json *json, layout *shape, void **data);

static read_form *form_of(const char *key)
{
    static const struct {
        const char *key;
        read_form *read;
    } forms[] = {{"rawpagedata", read_pages}, {"tuples", read_tuples}, {"arrays", read_arrays}};
    for (size_t i = 0; i < FIRN_COUNT(forms); i++)
        if (strcmp(key, forms[i].key) == 0)
            return forms[i].read;
    return NULL;
}

firn_result firn_bgeo_read_values(firn_bgeo *geometry, firn_json *json, size_t count,
                                  firn_attribute *attribute)
{
    bool is_string = attribute->storage == FIRN_STORAGE_STRING;
    layout shape = {.count = count, .size = 1};
    shape.storage = is_string ? FIRN_STORAGE_INT32 : FIRN_STORAGE_FLOAT32;
    void *data = NULL;
    for (;;) {
        char key[KEY_SIZE];
        firn_json_token token;
        bool more;
        FIRN_TRY(firn_bgeo_next_pair(json, key, sizeof key, &token, &more));
        if (!more)
            break;
        read_form *form = token.kind == FIRN_JSON_ARRAY ? form_of(key) : NULL;
        bool readable = shape.storage != FIRN_STORAGE_COUNT && shape.size <= FIRN_TUPLE_MAX;
        if (form == NULL) {
            FIRN_TRY(read_shape(geometry, json, key, &token, &shape));
        } else if (!readable || data != NULL) {
            FIRN_TRY(firn_json_skip(json, &token));
        } else {
            if (is_string)
                shape.storage = FIRN_STORAGE_INT32;
            shape.component = firn_storage_size(shape.storage);
            FIRN_TRY((count > 0 ? form : read_nothing)(geometry, json, &shape, &data));
            attribute->data = data;
            attribute->tuple_size = (int)shape.size;
            attribute->storage = is_string ? FIRN_STORAGE_STRING : shape.storage;
        }
    }
    if (data == NULL)
        attribute->storage = FIRN_STORAGE_COUNT;
    return FIRN_OK;
}
