#include "json.h"

#include "firn/number.h"

#include <math.h>
#include <string.h>

enum { MAX_STRING = 1 << 26, SPARE_TOKENS = 1024 };

static firn_result out_of_memory(const firn_json *json)
{
    return firn_fail(json->source->error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory",
                     json->source->name);
}

firn_result firn_json_push(firn_json *json, bool map)
{
    if (json->depth == FIRN_JSON_DEPTH)
        return firn_geo_source_damaged(json->source, "its lists are nested too deeply");
    json->levels[json->depth++] = (firn_json_level){.map = map, .expect = FIRN_JSON_FIRST};
    return FIRN_OK;
}

firn_result firn_json_pop(firn_json *json, bool map)
{
    if (json->depth == 0 || json->levels[json->depth - 1].map != map)
        return firn_geo_source_damaged(json->source, "a list ends that was not begun");
    json->depth--;
    return FIRN_OK;
}

firn_result firn_json_reserve(firn_json *json, size_t size)
{
    if (size < json->buffer_size)
        return FIRN_OK;
    if (size > MAX_STRING)
        return firn_geo_source_damaged(json->source, "a string in it is too long");
    size_t bigger = 2 * size + 64;
    char *buffer = firn_alloc(bigger);
    if (buffer == NULL)
        return out_of_memory(json);
    if (json->buffer_size > 0)
        memcpy(buffer, json->buffer, json->buffer_size);
    firn_free(json->buffer);
    json->buffer = buffer;
    json->buffer_size = bigger;
    return FIRN_OK;
}

static size_t scalar_size(unsigned char type)
{
    switch (type) {
    case FIRN_JID_INT8:
    case FIRN_JID_UINT8:
        return 1;
    case FIRN_JID_INT16:
    case FIRN_JID_UINT16:
    case FIRN_JID_REAL16:
        return 2;
    case FIRN_JID_INT32:
    case FIRN_JID_REAL32:
        return 4;
    case FIRN_JID_INT64:
    case FIRN_JID_REAL64:
        return 8;
    default:
        return 0;
    }
}

// Reads size <= 8 bytes as an unsigned integer in the byte order of the file.
static firn_result read_word(firn_json *json, size_t size, uint64_t *word)
{
    unsigned char bytes[8];
    FIRN_TRY(firn_geo_source_read(json->source, bytes, size));
    uint64_t value = 0;
    uint16_t probe = 1;
    unsigned char low;
    memcpy(&low, &probe, 1);
    bool little = (low == 1) != json->swapped;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[little ? i : size - 1 - i] << (8 * i);
    *word = value;
    return FIRN_OK;
}

static firn_result read_length(firn_json *json, uint64_t *length)
{
    unsigned char first;
    FIRN_TRY(firn_geo_source_byte(json->source, &first));
    *length = first;
    if (first < 0xF1)
        return FIRN_OK;
    if (first != 0xF2 && first != 0xF4 && first != 0xF8)
        return firn_geo_source_damaged(json->source, "a length in it is damaged");
    return read_word(json, first & 0x0Fu, length);
}

static firn_result read_scalar(firn_json *json, unsigned char type, firn_json_token *token)
{
    uint64_t word = 0;
    FIRN_TRY(read_word(json, scalar_size(type), &word));
    token->kind = FIRN_JSON_INTEGER;
    switch (type) {
    case FIRN_JID_INT8:
        token->integer = (int8_t)word;
        break;
    case FIRN_JID_INT16:
        token->integer = (int16_t)word;
        break;
    case FIRN_JID_INT32:
        token->integer = (int32_t)word;
        break;
    case FIRN_JID_REAL16:
        token->kind = FIRN_JSON_REAL;
        token->real = firn_half_to_float((uint16_t)word);
        return FIRN_OK;
    case FIRN_JID_REAL32: {
        float value;
        uint32_t bits = (uint32_t)word;
        memcpy(&value, &bits, sizeof value);
        token->kind = FIRN_JSON_REAL;
        token->real = value;
        return FIRN_OK;
    }
    case FIRN_JID_REAL64:
        token->kind = FIRN_JSON_REAL;
        memcpy(&token->real, &word, sizeof token->real);
        return FIRN_OK;
    default:
        token->integer = (int64_t)word;
    }
    token->real = (double)token->integer;
    return FIRN_OK;
}

// Reads a string into the buffer, or passes over it when nobody will look at it.
static firn_result read_string(firn_json *json, bool keep, firn_json_token *token)
{
    uint64_t length;
    FIRN_TRY(read_length(json, &length));
    if (length > firn_geo_source_left(json->source))
        return firn_geo_source_damaged(json->source, "a string in it is longer than the file");
    token->kind = FIRN_JSON_STRING;
    token->length = 0;
    token->text = "";
    if (!keep)
        return firn_geo_source_skip(json->source, length);
    FIRN_TRY(firn_json_reserve(json, length < MAX_STRING ? (size_t)length : SIZE_MAX));
    FIRN_TRY(firn_geo_source_read(json->source, json->buffer, (size_t)length));
    json->buffer[length] = '\0';
    token->length = (size_t)length;
    token->text = json->buffer;
    return FIRN_OK;
}

// Ids are handed out in order, so a table that is a little larger than their number holds all.
static firn_result grow_tokens(firn_json *json, uint64_t id)
{
    if (id > SPARE_TOKENS + 4 * (uint64_t)json->token_definitions)
        return firn_geo_source_damaged(json->source, "a shared string in it has no valid number");
    if (id < json->token_size)
        return FIRN_OK;
    size_t bigger = 2 * (size_t)id + 64;
    char **tokens = firn_alloc_zero(bigger * sizeof *tokens);
    if (tokens == NULL)
        return out_of_memory(json);
    if (json->token_size > 0)
        memcpy(tokens, json->tokens, json->token_size * sizeof *tokens);
    firn_free(json->tokens);
    json->tokens = tokens;
    json->token_size = bigger;
    return FIRN_OK;
}

static firn_result define_token(firn_json *json)
{
    uint64_t id;
    firn_json_token string;
    FIRN_TRY(read_length(json, &id));
    FIRN_TRY(grow_tokens(json, id));
    FIRN_TRY(read_string(json, true, &string));
    char *copy = firn_alloc(string.length + 1);
    if (copy == NULL)
        return out_of_memory(json);
    memcpy(copy, string.text, string.length + 1);
    firn_free(json->tokens[id]);
    json->tokens[id] = copy;
    json->token_definitions++;
    return FIRN_OK;
}

static firn_result find_token(firn_json *json, uint64_t *id)
{
    FIRN_TRY(read_length(json, id));
    if (*id >= json->token_size || json->tokens[*id] == NULL)
        return firn_geo_source_damaged(json->source, "a shared string in it is not defined");
    return FIRN_OK;
}

static firn_result begin_uniform(firn_json *json, firn_json_token *token)
{
    unsigned char type;
    uint64_t count;
    FIRN_TRY(firn_geo_source_byte(json->source, &type));
    FIRN_TRY(read_length(json, &count));
    size_t size = scalar_size(type);
    uint64_t left = firn_geo_source_left(json->source);
    bool fits = type == FIRN_JID_BOOL     ? count / 8 <= left
                : type == FIRN_JID_STRING ? count <= left
                                          : size > 0 && count <= left / size;
    if (!fits)
        return firn_geo_source_damaged(json->source, "an array in it is longer than the file");
    FIRN_TRY(firn_json_push(json, false));
    json->uniform = true;
    json->uniform_type = type;
    json->uniform_left = count;
    json->bit_count = 0;
    token->kind = FIRN_JSON_ARRAY;
    return FIRN_OK;
}

static firn_result next_uniform(firn_json *json, firn_json_token *token)
{
    if (json->uniform_left == 0) {
        json->uniform = false;
        token->kind = FIRN_JSON_ARRAY_END;
        return firn_json_pop(json, false);
    }
    json->uniform_left--;
    if (json->uniform_type == FIRN_JID_STRING)
        return read_string(json, !json->skipping, token);
    if (json->uniform_type != FIRN_JID_BOOL)
        return read_scalar(json, json->uniform_type, token);
    if (json->bit_count == 0) {
        uint64_t word;
        FIRN_TRY(read_word(json, 4, &word));
        json->bits = (uint32_t)word;
        json->bit_count = 32;
    }
    token->kind = FIRN_JSON_BOOL;
    token->integer = json->bits & 1;
    json->bits >>= 1;
    json->bit_count--;
    return FIRN_OK;
}

static firn_result container(firn_json *json, unsigned char id, firn_json_token *token)
{
    bool map = id == '{' || id == '}';
    if (id == '[' || id == '{') {
        token->kind = map ? FIRN_JSON_MAP : FIRN_JSON_ARRAY;
        return firn_json_push(json, map);
    }
    token->kind = map ? FIRN_JSON_MAP_END : FIRN_JSON_ARRAY_END;
    return firn_json_pop(json, map);
}

static firn_result next_binary(firn_json *json, firn_json_token *token)
{
    unsigned char id;
    uint64_t shared;
    for (;;) {
        FIRN_TRY(firn_geo_source_byte(json->source, &id));
        switch (id) {
        case FIRN_JID_TOKEN_DEFINITION:
            FIRN_TRY(define_token(json));
            continue;
        case FIRN_JID_TOKEN_END:
            FIRN_TRY(find_token(json, &shared));
            firn_free(json->tokens[shared]);
            json->tokens[shared] = NULL;
            continue;
        case FIRN_JID_TOKEN_REFERENCE:
            FIRN_TRY(find_token(json, &shared));
            token->kind = FIRN_JSON_STRING;
            token->text = json->tokens[shared];
            token->length = strlen(token->text);
            return FIRN_OK;
        case FIRN_JID_STRING:
            return read_string(json, !json->skipping, token);
        case FIRN_JID_UNIFORM:
            return begin_uniform(json, token);
        case FIRN_JID_NULL:
            token->kind = FIRN_JSON_NULL;
            return FIRN_OK;
        case FIRN_JID_BOOL:
            FIRN_TRY(firn_geo_source_byte(json->source, &id));
            token->kind = FIRN_JSON_BOOL;
            token->integer = id != 0;
            return FIRN_OK;
        case FIRN_JID_FALSE:
        case FIRN_JID_TRUE:
            token->kind = FIRN_JSON_BOOL;
            token->integer = id == FIRN_JID_TRUE;
            return FIRN_OK;
        case '[':
        case ']':
        case '{':
        case '}':
            return container(json, id, token);
        default:
            if (scalar_size(id) == 0)
                return firn_geo_source_damaged(json->source, "it has a byte that begins nothing");
            return read_scalar(json, id, token);
        }
    }
}

firn_result firn_json_next(firn_json *json, firn_json_token *token)
{
    if (json->uniform)
        return next_uniform(json, token);
    return json->text ? firn_json_next_text(json, token) : next_binary(json, token);
}

static bool begins(const firn_json_token *token)
{
    return token->kind == FIRN_JSON_ARRAY || token->kind == FIRN_JSON_MAP;
}

static firn_result skip_uniform(firn_json *json)
{
    uint64_t count = json->uniform_left;
    if (json->uniform_type == FIRN_JID_STRING)
        return FIRN_OK;
    json->uniform_left = 0;
    if (json->uniform_type != FIRN_JID_BOOL)
        return firn_geo_source_skip(json->source, count * scalar_size(json->uniform_type));
    uint64_t beyond = count > (uint64_t)json->bit_count ? count - (uint64_t)json->bit_count : 0;
    return firn_geo_source_skip(json->source, 4 * ((beyond + 31) / 32));
}

firn_result firn_json_skip(firn_json *json, const firn_json_token *token)
{
    if (!begins(token))
        return FIRN_OK;
    int depth = json->depth - 1; // where the value began
    firn_result result = FIRN_OK;
    json->skipping = true;
    while (result == FIRN_OK && json->depth > depth) {
        if (json->uniform)
            result = skip_uniform(json);
        firn_json_token ignored;
        if (result == FIRN_OK)
            result = firn_json_next(json, &ignored);
    }
    json->skipping = false;
    return result;
}

uint64_t firn_json_most_elements(const firn_json *json)
{
    // The shortest element outside of uniform arrays is a byte, in text with a comma.
    uint64_t left = firn_geo_source_left(json->source);
    return json->uniform ? json->uniform_left : json->text ? left / 2 + 1 : left;
}

static void store(firn_storage storage, void *values, size_t i, const firn_json_token *token)
{
    bool real = token->kind == FIRN_JSON_REAL;
    int64_t integer = token->integer;
    if (real && storage >= FIRN_STORAGE_INT8)
        firn_attribute_integers(
            &(firn_attribute){.storage = FIRN_STORAGE_FLOAT64, .data = &token->real}, 0, 1,
            &integer);
    switch (storage) {
    case FIRN_STORAGE_FLOAT16:
        ((uint16_t *)values)[i] = firn_half_from_double(token->real);
        break;
    case FIRN_STORAGE_FLOAT32:
        ((float *)values)[i] = (float)token->real;
        break;
    case FIRN_STORAGE_FLOAT64:
        ((double *)values)[i] = token->real;
        break;
    case FIRN_STORAGE_INT8:
        ((int8_t *)values)[i] = (int8_t)integer;
        break;
    case FIRN_STORAGE_INT16:
        ((int16_t *)values)[i] = (int16_t)integer;
        break;
    case FIRN_STORAGE_INT32:
    case FIRN_STORAGE_STRING:
        ((int32_t *)values)[i] = (int32_t)integer;
        break;
    case FIRN_STORAGE_UINT8:
        ((uint8_t *)values)[i] = (uint8_t)integer;
        break;
    default:
        ((int64_t *)values)[i] = integer;
    }
}

static bool stored_alike(unsigned char type, firn_storage storage)
{
    static const unsigned char types[FIRN_STORAGE_COUNT] = {
        [FIRN_STORAGE_FLOAT16] = FIRN_JID_REAL16, [FIRN_STORAGE_FLOAT32] = FIRN_JID_REAL32,
        [FIRN_STORAGE_FLOAT64] = FIRN_JID_REAL64, [FIRN_STORAGE_INT8] = FIRN_JID_INT8,
        [FIRN_STORAGE_INT16] = FIRN_JID_INT16,    [FIRN_STORAGE_INT32] = FIRN_JID_INT32,
        [FIRN_STORAGE_INT64] = FIRN_JID_INT64,    [FIRN_STORAGE_UINT8] = FIRN_JID_UINT8,
        [FIRN_STORAGE_STRING] = FIRN_JID_INT32,
    };
    return types[storage] == type;
}

firn_result firn_json_numbers(firn_json *json, firn_storage storage, void *values, size_t count)
{
    if (json->uniform && !json->swapped && stored_alike(json->uniform_type, storage)) {
        if (count > json->uniform_left)
            return firn_geo_source_damaged(json->source, "an array in it is too short");
        json->uniform_left -= count;
        return firn_geo_source_read(json->source, values, count * firn_storage_size(storage));
    }
    for (size_t i = 0; i < count; i++) {
        firn_json_token token;
        FIRN_TRY(firn_json_next(json, &token));
        if (token.kind == FIRN_JSON_BOOL)
            token.real = (double)token.integer;
        else if (token.kind != FIRN_JSON_INTEGER && token.kind != FIRN_JSON_REAL)
            return firn_geo_source_damaged(json->source, "a number is missing");
        store(storage, values, i, &token);
    }
    return FIRN_OK;
}

firn_result firn_json_open(firn_json *json, firn_byte_source *source)
{
    memset(json, 0, sizeof *json);
    json->source = source;
    FIRN_TRY(firn_geo_source_fill(source));
    if (source->at == source->end)
        return firn_geo_source_damaged(source, "it is empty");
    if (*source->at != FIRN_JID_MAGIC) {
        json->text = true;
        return FIRN_OK;
    }
    uint32_t word;
    FIRN_TRY(firn_geo_source_skip(source, 1));
    FIRN_TRY(firn_geo_source_read(source, &word, sizeof word));
    uint32_t other = word >> 24 | (word >> 8 & 0xFF00u) | (word << 8 & 0xFF0000u) | word << 24;
    json->swapped = other == FIRN_JID_MAGIC_WORD;
    if (word != FIRN_JID_MAGIC_WORD && !json->swapped)
        return firn_geo_source_damaged(source, "it is not Houdini geometry");
    return FIRN_OK;
}

void firn_json_close(firn_json *json)
{
    for (size_t i = 0; i < json->token_size; i++)
        firn_free(json->tokens[i]);
    firn_free(json->tokens);
    firn_free(json->buffer);
}
