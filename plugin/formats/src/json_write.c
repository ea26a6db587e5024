#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 4096 };

static void put_byte(firn_json_writer *writer, unsigned char byte)
{
    firn_sink_put(writer->sink, &byte, 1);
}

static void put_text(firn_json_writer *writer, const char *text)
{
    firn_sink_put(writer->sink, text, strlen(text));
}

static void separate(firn_json_writer *writer)
{
    if (writer->text && writer->follows)
        put_byte(writer, ',');
    writer->follows = true;
}

static void begin(firn_json_writer *writer, unsigned char bracket)
{
    separate(writer);
    if (writer->text && writer->depth > 0) {
        put_byte(writer, '\n');
        for (int i = 0; i < writer->depth; i++)
            put_byte(writer, '\t');
    }
    put_byte(writer, bracket);
    writer->depth++;
    writer->follows = false;
}

static void end(firn_json_writer *writer, unsigned char bracket)
{
    put_byte(writer, bracket);
    writer->depth--;
    writer->follows = true;
    if (writer->text && writer->depth == 0)
        put_byte(writer, '\n');
}

void firn_json_begin_array(firn_json_writer *writer) { begin(writer, '['); }
void firn_json_end_array(firn_json_writer *writer) { end(writer, ']'); }
void firn_json_begin_map(firn_json_writer *writer) { begin(writer, '{'); }
void firn_json_end_map(firn_json_writer *writer) { end(writer, '}'); }

// The format is the byte order of the machine; the word after the magic byte tells which.
void firn_json_put_magic(firn_json_writer *writer)
{
    uint32_t word = FIRN_JID_MAGIC_WORD;
    if (writer->text)
        return;
    put_byte(writer, FIRN_JID_MAGIC);
    firn_sink_put(writer->sink, &word, sizeof word);
}

static void put_length(firn_json_writer *writer, uint64_t length)
{
    uint16_t length16 = (uint16_t)length;
    uint32_t length32 = (uint32_t)length;
    if (length < 0xF1) {
        put_byte(writer, (unsigned char)length);
    } else if (length <= UINT16_MAX) {
        put_byte(writer, 0xF2);
        firn_sink_put(writer->sink, &length16, sizeof length16);
    } else if (length <= UINT32_MAX) {
        put_byte(writer, 0xF4);
        firn_sink_put(writer->sink, &length32, sizeof length32);
    } else {
        put_byte(writer, 0xF8);
        firn_sink_put(writer->sink, &length, sizeof length);
    }
}

static void put_escaped(firn_json_writer *writer, const char *text)
{
    put_byte(writer, '"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        char escape[8];
        if (c < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            put_text(writer, escape);
            continue;
        }
        if (c == '"' || c == '\\')
            put_byte(writer, '\\');
        put_byte(writer, c);
    }
    put_byte(writer, '"');
}

void firn_json_put_string(firn_json_writer *writer, const char *text)
{
    separate(writer);
    if (writer->text) {
        put_escaped(writer, text);
        return;
    }
    put_byte(writer, FIRN_JID_STRING);
    put_length(writer, strlen(text));
    put_text(writer, text);
}

void firn_json_put_key(firn_json_writer *writer, const char *key)
{
    firn_json_put_string(writer, key);
    if (writer->text)
        put_byte(writer, ':');
    writer->follows = false;
}

void firn_json_put_integer(firn_json_writer *writer, int64_t value)
{
    separate(writer);
    if (writer->text) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)value);
        put_text(writer, text);
        return;
    }
    int8_t value8 = (int8_t)value;
    int16_t value16 = (int16_t)value;
    int32_t value32 = (int32_t)value;
    if (value == value8) {
        put_byte(writer, FIRN_JID_INT8);
        firn_sink_put(writer->sink, &value8, sizeof value8);
    } else if (value == value16) {
        put_byte(writer, FIRN_JID_INT16);
        firn_sink_put(writer->sink, &value16, sizeof value16);
    } else if (value == value32) {
        put_byte(writer, FIRN_JID_INT32);
        firn_sink_put(writer->sink, &value32, sizeof value32);
    } else {
        put_byte(writer, FIRN_JID_INT64);
        firn_sink_put(writer->sink, &value, sizeof value);
    }
}

void firn_json_put_real(firn_json_writer *writer, double value, int digits)
{
    separate(writer);
    if (!writer->text) {
        put_byte(writer, FIRN_JID_REAL64);
        firn_sink_put(writer->sink, &value, sizeof value);
        return;
    }
    char text[32];
    if (isfinite(value))
        snprintf(text, sizeof text, "%.*g", digits, value);
    else
        snprintf(text, sizeof text, "%s",
                 isnan(value) ? "NaN"
                 : value > 0  ? "Infinity"
                              : "-Infinity");
    put_text(writer, text);
    // JSON readers would take -0 for an integer, which has no negative zero.
    if (value == 0.0 && signbit(value))
        put_text(writer, ".0");
}

void firn_json_put_bool(firn_json_writer *writer, bool value)
{
    separate(writer);
    if (writer->text)
        put_text(writer, value ? "true" : "false");
    else
        put_byte(writer, value ? FIRN_JID_TRUE : FIRN_JID_FALSE);
}

typedef struct file_type {
    firn_storage storage;
    unsigned char id;
    int digits; // that tell any two values apart; 0: integer
} file_type;

static const file_type file_types[FIRN_STORAGE_COUNT] = {
    [FIRN_STORAGE_FLOAT16] = {FIRN_STORAGE_FLOAT16, FIRN_JID_REAL16, 5},
    [FIRN_STORAGE_FLOAT32] = {FIRN_STORAGE_FLOAT32, FIRN_JID_REAL32, 9},
    [FIRN_STORAGE_FLOAT64] = {FIRN_STORAGE_FLOAT64, FIRN_JID_REAL64, 17},
    [FIRN_STORAGE_INT8] = {FIRN_STORAGE_INT8, FIRN_JID_INT8, 0},
    [FIRN_STORAGE_INT16] = {FIRN_STORAGE_INT16, FIRN_JID_INT16, 0},
    [FIRN_STORAGE_INT32] = {FIRN_STORAGE_INT32, FIRN_JID_INT32, 0},
    [FIRN_STORAGE_INT64] = {FIRN_STORAGE_INT64, FIRN_JID_INT64, 0},
    [FIRN_STORAGE_UINT8] = {FIRN_STORAGE_UINT8, FIRN_JID_UINT8, 0},
    [FIRN_STORAGE_UINT32] = {FIRN_STORAGE_INT64, FIRN_JID_INT64, 0},
    [FIRN_STORAGE_UINT64] = {FIRN_STORAGE_INT64, FIRN_JID_INT64, 0},
    [FIRN_STORAGE_STRING] = {FIRN_STORAGE_INT32, FIRN_JID_INT32, 0},
};

firn_storage firn_json_file_storage(firn_storage storage) { return file_types[storage].storage; }

static void put_uniform(firn_json_writer *writer, const firn_attribute *attribute, size_t count)
{
    const file_type *type = &file_types[attribute->storage];
    separate(writer);
    put_byte(writer, FIRN_JID_UNIFORM);
    put_byte(writer, type->id);
    put_length(writer, count);
    size_t size = firn_storage_size(attribute->storage);
    if (size == firn_storage_size(type->storage)) {
        firn_sink_put(writer->sink, attribute->data, count * size);
        return;
    }
    int64_t wide[CHUNK];
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t piece = count - done < CHUNK ? count - done : CHUNK;
        firn_attribute_integers(attribute, done, piece, wide);
        firn_sink_put(writer->sink, wide, piece * sizeof *wide);
    }
}

static void put_number(firn_json_writer *writer, const firn_attribute *attribute, size_t i)
{
    const file_type *type = &file_types[attribute->storage];
    if (type->digits == 0) {
        int64_t integer;
        firn_attribute_integers(attribute, i, 1, &integer);
        firn_json_put_integer(writer, integer);
    } else {
        double real;
        firn_attribute_doubles(attribute, i, 1, &real);
        firn_json_put_real(writer, real, type->digits);
    }
}

void firn_json_put_values(firn_json_writer *writer, const firn_attribute *attribute, size_t count)
{
    size_t width = (size_t)attribute->tuple_size;
    if (!writer->text) {
        put_uniform(writer, attribute, count * width);
        return;
    }
    firn_json_begin_array(writer);
    if (width == 1)
        firn_json_begin_array(writer); // text holds single values as one array per component
    for (size_t i = 0; i < count * width; i++) {
        if (width > 1 && i % width == 0)
            firn_json_begin_array(writer);
        put_number(writer, attribute, i);
        if (width > 1 && i % width == width - 1)
            firn_json_end_array(writer);
    }
    if (width == 1)
        firn_json_end_array(writer);
    firn_json_end_array(writer);
}
