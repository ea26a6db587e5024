/// Houdini's JSON, binary or text, as a stream of tokens.
///
/// Uniform arrays of the binary form read like other arrays; firn_json_numbers takes them whole.
#ifndef FIRN_JSON_H
#define FIRN_JSON_H

#include "byte_source.h"
#include "sink.h"

#include "firn/points.h"

/// Bytes of the binary form: a token each, with data behind some of them.
enum {
    FIRN_JID_NULL = 0x00,
    FIRN_JID_BOOL = 0x10,
    FIRN_JID_INT8 = 0x11,
    FIRN_JID_INT16 = 0x12,
    FIRN_JID_INT32 = 0x13,
    FIRN_JID_INT64 = 0x14,
    FIRN_JID_REAL16 = 0x18,
    FIRN_JID_REAL32 = 0x19,
    FIRN_JID_REAL64 = 0x1A,
    FIRN_JID_UINT8 = 0x21,
    FIRN_JID_UINT16 = 0x22,
    FIRN_JID_TOKEN_REFERENCE = 0x26,
    FIRN_JID_STRING = 0x27,
    FIRN_JID_TOKEN_DEFINITION = 0x2B,
    FIRN_JID_TOKEN_END = 0x2D,
    FIRN_JID_FALSE = 0x30,
    FIRN_JID_TRUE = 0x31,
    FIRN_JID_UNIFORM = 0x40,
    FIRN_JID_MAGIC = 0x7F,
    FIRN_JID_MAGIC_WORD = 0x624A534E, // in the byte order of the file
    FIRN_JSON_DEPTH = 256,
};

typedef enum firn_json_kind {
    FIRN_JSON_NULL,
    FIRN_JSON_BOOL,
    FIRN_JSON_INTEGER,
    FIRN_JSON_REAL,
    FIRN_JSON_STRING,
    FIRN_JSON_ARRAY,
    FIRN_JSON_ARRAY_END,
    FIRN_JSON_MAP,
    FIRN_JSON_MAP_END,
} firn_json_kind;

typedef struct firn_json_token {
    firn_json_kind kind;
    int64_t integer;  // bool and integer
    double real;      // real and integer
    size_t length;    // of text; strings may contain zeros
    const char *text; // string, ends in zero; valid until the next token
} firn_json_token;

/// What may come next inside a container of the text form.
typedef enum firn_json_expect {
    FIRN_JSON_FIRST, // an element or key, or the end
    FIRN_JSON_NEXT,  // an element or key
    FIRN_JSON_COLON,
    FIRN_JSON_VALUE, // of a key
    FIRN_JSON_COMMA, // or the end
} firn_json_expect;

typedef struct firn_json_level {
    unsigned char map;
    unsigned char expect;
} firn_json_level;

typedef struct firn_json {
    firn_byte_source *source;
    bool text;
    bool swapped;  // the file has the other byte order
    bool skipping; // strings are passed over, not kept
    int depth;
    firn_json_level levels[FIRN_JSON_DEPTH];
    bool uniform; // the innermost array is uniform
    unsigned char uniform_type;
    uint64_t uniform_left; // elements
    uint32_t bits;         // of packed bools
    int bit_count;
    char *buffer; // of the last string
    size_t buffer_size;
    char **tokens; // shared strings, by id
    size_t token_size, token_definitions;
} firn_json;

/// The source stands at the first byte; close it even after a failure.
firn_result firn_json_open(firn_json *json, firn_byte_source *source);
void firn_json_close(firn_json *json);

firn_result firn_json_next(firn_json *json, firn_json_token *token);

/// Passes over the rest of the value that began with token.
firn_result firn_json_skip(firn_json *json, const firn_json_token *token);

/// Most elements that can follow in the innermost array; exact when it is uniform.
uint64_t firn_json_most_elements(const firn_json *json);

/// Reads count numbers of the innermost array.
firn_result firn_json_numbers(firn_json *json, firn_storage storage, void *values, size_t count);

/// Grows the string buffer to hold size bytes and a zero.
firn_result firn_json_reserve(firn_json *json, size_t size);

/// Containers, shared by both forms.
firn_result firn_json_push(firn_json *json, bool map);
firn_result firn_json_pop(firn_json *json, bool map);

/// The text form, json_text.c.
firn_result firn_json_next_text(firn_json *json, firn_json_token *token);

/// Writes either form.
typedef struct firn_json_writer {
    firn_sink *sink;
    bool text;
    int depth;
    bool follows; // something stands before in this container
} firn_json_writer;

void firn_json_put_magic(firn_json_writer *writer);
void firn_json_begin_array(firn_json_writer *writer);
void firn_json_end_array(firn_json_writer *writer);
void firn_json_begin_map(firn_json_writer *writer);
void firn_json_end_map(firn_json_writer *writer);
void firn_json_put_key(firn_json_writer *writer, const char *key);
void firn_json_put_string(firn_json_writer *writer, const char *text);
void firn_json_put_integer(firn_json_writer *writer, int64_t value);
void firn_json_put_real(firn_json_writer *writer, double value, int digits);
void firn_json_put_bool(firn_json_writer *writer, bool value);

/// All components of an attribute: one uniform array, or a list of tuples in text.
void firn_json_put_values(firn_json_writer *writer, const firn_attribute *attribute, size_t count);

/// What an attribute of this storage is stored as in a file.
firn_storage firn_json_file_storage(firn_storage storage);

#endif
