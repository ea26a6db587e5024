// The tree of a modern geometry file: counts, information, attributes. The rest is passed over.
#include "bgeo_file.h"

#include <string.h>

enum { KEY_SIZE = 64 };

typedef struct definition {
    char kind[KEY_SIZE]; // "numeric", "string", ...
    char scope[KEY_SIZE];
    const char *name;
    firn_type_info type_info;
} definition;

static void copy_text(char *copy, size_t size, const firn_json_token *token)
{
    // A text that does not fit is none that is looked for, so nothing is lost.
    size_t length = token->length < size ? token->length : 0;
    memcpy(copy, token->text, length);
    copy[length] = '\0';
}

firn_result firn_bgeo_next_pair(firn_json *json, char *key, size_t key_size, firn_json_token *value,
                                bool *more)
{
    FIRN_TRY(firn_json_next(json, value));
    *more = value->kind != FIRN_JSON_ARRAY_END && value->kind != FIRN_JSON_MAP_END;
    if (!*more)
        return FIRN_OK;
    if (value->kind != FIRN_JSON_STRING)
        return firn_geo_source_damaged(json->source, "a name is missing in one of its lists");
    copy_text(key, key_size, value);
    FIRN_TRY(firn_json_next(json, value));
    if (value->kind == FIRN_JSON_ARRAY_END || value->kind == FIRN_JSON_MAP_END)
        return firn_geo_source_damaged(json->source, "a value is missing in one of its lists");
    return FIRN_OK;
}

static firn_result expect_list(firn_json *json, const firn_json_token *token)
{
    if (token->kind != FIRN_JSON_ARRAY && token->kind != FIRN_JSON_MAP)
        return firn_geo_source_damaged(json->source, "a list is missing");
    return FIRN_OK;
}

firn_result firn_bgeo_expect_integer(firn_json *json, const firn_json_token *token, int64_t lower,
                                     int64_t upper, int64_t *value)
{
    if (token->kind != FIRN_JSON_INTEGER || token->integer < lower || token->integer > upper)
        return firn_geo_source_damaged(json->source, "a count in it is missing or out of range");
    *value = token->integer;
    return FIRN_OK;
}

static firn_result keep_text(firn_bgeo *geometry, firn_json *json, const firn_json_token *token,
                             const char **text)
{
    if (token->kind != FIRN_JSON_STRING)
        return firn_geo_source_damaged(json->source, "a string is missing");
    *text = firn_bgeo_claim_text(geometry, json->source, token->text, token->length);
    return *text != NULL ? FIRN_OK : json->source->error->code;
}

// options: {"type": {"type": "string", "value": "vector"}, ...}
static firn_result read_options(firn_json *json, definition *about)
{
    char key[KEY_SIZE], inner[KEY_SIZE], word[KEY_SIZE];
    firn_json_token token;
    bool more, inner_more;
    for (;;) {
        FIRN_TRY(firn_bgeo_next_pair(json, key, sizeof key, &token, &more));
        if (!more)
            return FIRN_OK;
        bool list = token.kind == FIRN_JSON_ARRAY || token.kind == FIRN_JSON_MAP;
        if (!list || strcmp(key, "type") != 0) {
            FIRN_TRY(firn_json_skip(json, &token));
            continue;
        }
        for (;;) {
            FIRN_TRY(firn_bgeo_next_pair(json, inner, sizeof inner, &token, &inner_more));
            if (!inner_more)
                break;
            if (token.kind != FIRN_JSON_STRING || strcmp(inner, "value") != 0) {
                FIRN_TRY(firn_json_skip(json, &token));
                continue;
            }
            copy_text(word, sizeof word, &token);
            for (int i = 0; i < FIRN_TYPE_INFO_COUNT; i++)
                if (strcmp(word, firn_type_info_name((firn_type_info)i)) == 0)
                    about->type_info = (firn_type_info)i;
        }
    }
}

static firn_result read_definition(firn_bgeo *geometry, firn_json *json, definition *about)
{
    char key[KEY_SIZE];
    firn_json_token token;
    bool more;
    *about = (definition){.scope = "public"};
    FIRN_TRY(firn_json_next(json, &token));
    FIRN_TRY(expect_list(json, &token));
    for (;;) {
        FIRN_TRY(firn_bgeo_next_pair(json, key, sizeof key, &token, &more));
        if (!more)
            break;
        if (strcmp(key, "name") == 0) {
            FIRN_TRY(keep_text(geometry, json, &token, &about->name));
        } else if (strcmp(key, "type") == 0 && token.kind == FIRN_JSON_STRING) {
            copy_text(about->kind, sizeof about->kind, &token);
        } else if (strcmp(key, "scope") == 0 && token.kind == FIRN_JSON_STRING) {
            copy_text(about->scope, sizeof about->scope, &token);
        } else if (strcmp(key, "options") == 0 && token.kind != FIRN_JSON_NULL) {
            FIRN_TRY(expect_list(json, &token));
            FIRN_TRY(read_options(json, about));
        } else {
            FIRN_TRY(firn_json_skip(json, &token));
        }
    }
    if (about->name == NULL || about->name[0] == '\0')
        return firn_geo_source_damaged(json->source, "an attribute in it has no name");
    return FIRN_OK;
}

static firn_result read_strings(firn_bgeo *geometry, firn_json *json, firn_attribute *attribute)
{
    size_t capacity = 0;
    const char **strings = NULL;
    for (;;) {
        firn_json_token token;
        FIRN_TRY(firn_json_next(json, &token));
        if (token.kind == FIRN_JSON_ARRAY_END)
            break;
        if (attribute->string_count == capacity) {
            capacity = 2 * capacity + 16;
            const char **bigger = firn_bgeo_claim(geometry, json->source, capacity, sizeof *bigger);
            if (bigger == NULL)
                return json->source->error->code;
            if (strings != NULL)
                memcpy(bigger, strings, attribute->string_count * sizeof *strings);
            strings = bigger;
        }
        FIRN_TRY(keep_text(geometry, json, &token, &strings[attribute->string_count]));
        attribute->string_count++;
    }
    attribute->strings = strings;
    return FIRN_OK;
}

// Indices out of range mean no string to Houdini.
static void clean_indices(firn_attribute *attribute, size_t count)
{
    int32_t *indices = (int32_t *)(uintptr_t)attribute->data;
    for (size_t i = 0; i < count * (size_t)attribute->tuple_size; i++)
        if (indices[i] < 0 || (size_t)indices[i] >= attribute->string_count)
            indices[i] = -1;
}

// The second half of an attribute: defaults, and the values in one of several forms.
static firn_result read_body(firn_bgeo *geometry, firn_json *json, size_t count, bool is_string,
                             firn_attribute *attribute)
{
    char key[KEY_SIZE];
    firn_json_token token;
    bool more;
    FIRN_TRY(firn_json_next(json, &token));
    FIRN_TRY(expect_list(json, &token));
    for (;;) {
        FIRN_TRY(firn_bgeo_next_pair(json, key, sizeof key, &token, &more));
        if (!more)
            break;
        bool list = token.kind == FIRN_JSON_ARRAY || token.kind == FIRN_JSON_MAP;
        if (list && attribute->data == NULL && strcmp(key, is_string ? "indices" : "values") == 0)
            FIRN_TRY(firn_bgeo_read_values(geometry, json, count, attribute));
        else if (is_string && token.kind == FIRN_JSON_ARRAY && attribute->strings == NULL &&
                 strcmp(key, "strings") == 0)
            FIRN_TRY(read_strings(geometry, json, attribute));
        else
            FIRN_TRY(firn_json_skip(json, &token));
    }
    if (attribute->data == NULL && attribute->storage != FIRN_STORAGE_COUNT)
        return firn_geo_source_damaged(json->source, "an attribute in it has no values");
    if (is_string && attribute->data != NULL)
        clean_indices(attribute, count);
    return FIRN_OK;
}

// The token that began the attribute has been read.
static firn_result read_attribute(firn_bgeo *geometry, firn_json *json, size_t count,
                                  firn_bgeo_table *table)
{
    definition about;
    firn_json_token token;
    FIRN_TRY(read_definition(geometry, json, &about));
    bool is_string = strcmp(about.kind, "string") == 0;
    bool known =
        (is_string || strcmp(about.kind, "numeric") == 0) && strcmp(about.scope, "public") == 0;
    firn_attribute attribute = {.name = about.name, .type_info = about.type_info};
    attribute.storage = is_string ? FIRN_STORAGE_STRING : FIRN_STORAGE_FLOAT32;
    if (known)
        FIRN_TRY(read_body(geometry, json, count, is_string, &attribute));
    if (known && attribute.storage != FIRN_STORAGE_COUNT)
        FIRN_TRY(firn_bgeo_add(geometry, json->source, table, &attribute));
    else
        FIRN_TRY(firn_bgeo_add_skipped(geometry, json->source, about.name));
    for (;;) {
        FIRN_TRY(firn_json_next(json, &token));
        if (token.kind == FIRN_JSON_ARRAY_END)
            return FIRN_OK;
        FIRN_TRY(firn_json_skip(json, &token));
    }
}

static firn_result read_table(firn_bgeo *geometry, firn_json *json, size_t count,
                              firn_bgeo_table *table)
{
    for (;;) {
        firn_json_token token;
        FIRN_TRY(firn_json_next(json, &token));
        if (token.kind == FIRN_JSON_ARRAY_END)
            return FIRN_OK;
        if (token.kind != FIRN_JSON_ARRAY)
            return firn_geo_source_damaged(json->source, "an attribute in it is damaged");
        FIRN_TRY(read_attribute(geometry, json, count, table));
    }
}

static firn_result read_attributes(firn_bgeo *geometry, firn_json *json)
{
    char key[KEY_SIZE];
    firn_json_token token;
    bool more;
    for (;;) {
        FIRN_TRY(firn_bgeo_next_pair(json, key, sizeof key, &token, &more));
        if (!more)
            return FIRN_OK;
        if (token.kind == FIRN_JSON_ARRAY && strcmp(key, "pointattributes") == 0)
            FIRN_TRY(read_table(geometry, json, geometry->points.count, &geometry->attributes));
        else if (token.kind == FIRN_JSON_ARRAY && strcmp(key, "globalattributes") == 0)
            FIRN_TRY(read_table(geometry, json, 1, &geometry->details));
        else
            FIRN_TRY(firn_json_skip(json, &token));
    }
}

static firn_result read_info(firn_bgeo *geometry, firn_json *json)
{
    char key[KEY_SIZE];
    firn_json_token token;
    bool more;
    for (;;) {
        FIRN_TRY(firn_bgeo_next_pair(json, key, sizeof key, &token, &more));
        if (!more)
            return FIRN_OK;
        if (strcmp(key, "software") == 0 && token.kind == FIRN_JSON_STRING)
            FIRN_TRY(keep_text(geometry, json, &token, &geometry->info.software));
        else
            FIRN_TRY(firn_json_skip(json, &token));
    }
}

static firn_result read_root_value(firn_bgeo *geometry, firn_json *json, const char *key,
                                   const firn_json_token *token, bool *counted)
{
    int64_t value = 0;
    bool list = token->kind == FIRN_JSON_ARRAY || token->kind == FIRN_JSON_MAP;
    if (strcmp(key, "fileversion") == 0)
        return keep_text(geometry, json, token, &geometry->info.file_version);
    if (strcmp(key, "info") == 0 && list)
        return read_info(geometry, json);
    if (strcmp(key, "pointcount") == 0) {
        FIRN_TRY(firn_bgeo_expect_integer(json, token, 0, INT64_MAX / 4096, &value));
        if (*counted && geometry->points.count != (size_t)value)
            return firn_geo_source_damaged(json->source, "it counts its points twice");
        geometry->points.count = (size_t)value;
        *counted = true;
        return FIRN_OK;
    }
    if (strcmp(key, "vertexcount") == 0 || strcmp(key, "primitivecount") == 0) {
        FIRN_TRY(firn_bgeo_expect_integer(json, token, 0, INT64_MAX, &value));
        *(key[0] == 'v' ? &geometry->info.vertex_count : &geometry->info.primitive_count) =
            (uint64_t)value;
        return FIRN_OK;
    }
    if (strcmp(key, "attributes") != 0 || !list)
        return firn_json_skip(json, token);
    if (!*counted)
        return firn_geo_source_damaged(json->source, "its attributes stand before their count");
    return read_attributes(geometry, json);
}

static firn_result read_root(firn_bgeo *geometry, firn_json *json)
{
    char key[KEY_SIZE];
    firn_json_token token;
    bool more, counted = false;
    geometry->info.format = json->text ? FIRN_BGEO_TEXT : FIRN_BGEO_BINARY;
    FIRN_TRY(firn_json_next(json, &token));
    if (token.kind != FIRN_JSON_ARRAY && token.kind != FIRN_JSON_MAP)
        return firn_geo_source_damaged(json->source, "it is not Houdini geometry");
    for (;;) {
        FIRN_TRY(firn_bgeo_next_pair(json, key, sizeof key, &token, &more));
        if (!more)
            break;
        FIRN_TRY(read_root_value(geometry, json, key, &token, &counted));
    }
    return counted ? FIRN_OK : firn_geo_source_damaged(json->source, "it is not Houdini geometry");
}

firn_result firn_bgeo_read_json(firn_bgeo *geometry, firn_byte_source *source)
{
    firn_json *json = firn_alloc(sizeof *json);
    if (json == NULL)
        return firn_fail(source->error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory",
                         source->name);
    firn_result result = firn_json_open(json, source);
    if (result == FIRN_OK)
        result = read_root(geometry, json);
    firn_json_close(json);
    firn_free(json);
    return result;
}
