#include "firn/number.h"
#include "json.h"

#include <math.h>
#include <string.h>

enum { NUMBER_SIZE = 1100 };

static firn_result peek(firn_json *json, int *c)
{
    FIRN_TRY(firn_geo_source_fill(json->source));
    *c = json->source->at < json->source->end ? *json->source->at : -1;
    return FIRN_OK;
}

static firn_result peek_past_space(firn_json *json, int *c)
{
    for (;;) {
        FIRN_TRY(peek(json, c));
        if (*c != ' ' && *c != '\t' && *c != '\n' && *c != '\r')
            return FIRN_OK;
        json->source->at++;
    }
}

static firn_result append(firn_json *json, size_t *length, unsigned char byte)
{
    FIRN_TRY(firn_json_reserve(json, *length + 1));
    json->buffer[(*length)++] = (char)byte;
    return FIRN_OK;
}

static firn_result append_code_point(firn_json *json, size_t *length, uint32_t code)
{
    if (code < 0x80)
        return append(json, length, (unsigned char)code);
    if (code < 0x800) {
        FIRN_TRY(append(json, length, (unsigned char)(0xC0 | code >> 6)));
    } else {
        FIRN_TRY(append(json, length, (unsigned char)(0xE0 | code >> 12)));
        FIRN_TRY(append(json, length, (unsigned char)(0x80 | (code >> 6 & 0x3F))));
    }
    return append(json, length, (unsigned char)(0x80 | (code & 0x3F)));
}

static firn_result read_escape(firn_json *json, size_t *length)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    unsigned char byte;
    FIRN_TRY(firn_geo_source_byte(json->source, &byte));
    const char *found = byte != 0 ? strchr(from, byte) : NULL;
    if (found != NULL)
        return append(json, length, (unsigned char)to[found - from]);
    if (byte != 'u')
        return firn_geo_source_damaged(json->source, "a string in it has an unknown escape");
    uint32_t code = 0;
    for (int i = 0; i < 4; i++) {
        FIRN_TRY(firn_geo_source_byte(json->source, &byte));
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = byte != 0 ? strchr(digits, byte) : NULL;
        if (digit == NULL)
            return firn_geo_source_damaged(json->source, "a string in it has a damaged escape");
        uint32_t value = (uint32_t)(digit - digits);
        code = 16 * code + (value < 16 ? value : value - 6);
    }
    return append_code_point(json, length, code);
}

static firn_result read_string(firn_json *json, firn_json_token *token)
{
    size_t length = 0;
    FIRN_TRY(firn_json_reserve(json, 0));
    for (;;) {
        unsigned char byte;
        FIRN_TRY(firn_geo_source_byte(json->source, &byte));
        if (byte == '"')
            break;
        if (byte == '\\')
            FIRN_TRY(read_escape(json, &length));
        else if (!json->skipping)
            FIRN_TRY(append(json, &length, byte));
        if (json->skipping)
            length = 0;
    }
    json->buffer[length] = '\0';
    token->kind = FIRN_JSON_STRING;
    token->text = json->buffer;
    token->length = length;
    return FIRN_OK;
}

typedef struct word_row {
    const char *word;
    firn_json_kind kind;
    double value;
} word_row;

static bool known_word(const char *text, firn_json_token *token)
{
    static const word_row rows[] = {
        {"true", FIRN_JSON_BOOL, 1.0},          {"false", FIRN_JSON_BOOL, 0.0},
        {"null", FIRN_JSON_NULL, 0.0},          {"NaN", FIRN_JSON_REAL, (double)NAN},
        {"nan", FIRN_JSON_REAL, (double)NAN},   {"-nan", FIRN_JSON_REAL, (double)NAN},
        {"inf", FIRN_JSON_REAL, HUGE_VAL},      {"-inf", FIRN_JSON_REAL, -HUGE_VAL},
        {"Infinity", FIRN_JSON_REAL, HUGE_VAL}, {"-Infinity", FIRN_JSON_REAL, -HUGE_VAL},
    };
    for (size_t i = 0; i < FIRN_COUNT(rows); i++) {
        if (strcmp(rows[i].word, text) != 0)
            continue;
        token->kind = rows[i].kind;
        token->real = rows[i].value;
        token->integer = rows[i].value > 0.0;
        return true;
    }
    return false;
}

static bool belongs_to_word(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static firn_result read_word(firn_json *json, firn_json_token *token)
{
    char text[NUMBER_SIZE];
    size_t length = 0;
    for (;;) {
        int c;
        FIRN_TRY(peek(json, &c));
        if (!belongs_to_word(c))
            break;
        if (length + 1 == sizeof text)
            return firn_geo_source_damaged(json->source, "a number in it is too long");
        text[length++] = (char)c;
        json->source->at++;
    }
    text[length] = '\0';
    const char *end = text + length;
    if (length > 0 && firn_number_parse_integer(text, end, &token->integer) == end) {
        token->kind = FIRN_JSON_INTEGER;
        token->real = (double)token->integer;
        return FIRN_OK;
    }
    token->kind = FIRN_JSON_REAL;
    if (known_word(text, token))
        return FIRN_OK;
    if (length == 0 || firn_number_parse(text, end, &token->real) != end)
        return firn_geo_source_damaged(json->source, "it has a word that is no number");
    return FIRN_OK;
}

static firn_result read_value(firn_json *json, int c, firn_json_token *token)
{
    if (c != '"' && c != '[' && c != '{')
        return read_word(json, token);
    json->source->at++;
    if (c == '"')
        return read_string(json, token);
    token->kind = c == '{' ? FIRN_JSON_MAP : FIRN_JSON_ARRAY;
    return firn_json_push(json, c == '{');
}

static firn_result close_container(firn_json *json, bool map, firn_json_token *token)
{
    json->source->at++;
    token->kind = map ? FIRN_JSON_MAP_END : FIRN_JSON_ARRAY_END;
    return firn_json_pop(json, map);
}

firn_result firn_json_next_text(firn_json *json, firn_json_token *token)
{
    int c;
    FIRN_TRY(peek_past_space(json, &c));
    if (json->depth == 0)
        return read_value(json, c, token);
    firn_json_level *level = &json->levels[json->depth - 1];
    bool may_end = level->expect == FIRN_JSON_COMMA || level->expect == FIRN_JSON_FIRST;
    if (may_end && c == (level->map ? '}' : ']'))
        return close_container(json, level->map, token);
    if (level->expect == FIRN_JSON_COMMA || level->expect == FIRN_JSON_COLON) {
        bool comma = level->expect == FIRN_JSON_COMMA;
        if (c != (comma ? ',' : ':'))
            return firn_geo_source_damaged(json->source, "a comma or colon is missing");
        json->source->at++;
        level->expect = comma ? FIRN_JSON_NEXT : FIRN_JSON_VALUE;
        FIRN_TRY(peek_past_space(json, &c));
    }
    bool key = level->map && level->expect != FIRN_JSON_VALUE;
    if (key && c != '"')
        return firn_geo_source_damaged(json->source, "a name is missing");
    level->expect = key ? FIRN_JSON_COLON : FIRN_JSON_COMMA;
    return read_value(json, c, token);
}
