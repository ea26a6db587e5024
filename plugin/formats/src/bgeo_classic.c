// Version 5 of the geometry format: big-endian 32-bit words, one record per point.
//
//   "BgeoV" 5 points primitives point-groups primitive-groups
//   point-attributes vertex-attributes primitive-attributes detail-attributes
//   definition of every point attribute but P; x y z w and the attributes of every point
//   definition of every detail attribute; their values; 00 FF
#include "bgeo_file.h"

#include <string.h>

typedef enum classic_type {
    CLASSIC_FLOAT = 0,
    CLASSIC_INTEGER = 1,
    CLASSIC_STRING = 4, // indices into a list in the definition
    CLASSIC_VECTOR = 5,
} classic_type;

enum { RECORD_BUFFER = 1 << 14, MAX_WORDS = 1 << 20 };

static void store_word(unsigned char *bytes, uint32_t word)
{
    bytes[0] = (unsigned char)(word >> 24);
    bytes[1] = (unsigned char)(word >> 16);
    bytes[2] = (unsigned char)(word >> 8);
    bytes[3] = (unsigned char)word;
}

static uint32_t load_word(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_word(firn_sink *sink, uint32_t word)
{
    unsigned char bytes[4];
    store_word(bytes, word);
    firn_sink_put(sink, bytes, sizeof bytes);
}

static void put_short(firn_sink *sink, size_t value)
{
    unsigned char bytes[2] = {(unsigned char)(value >> 8), (unsigned char)value};
    firn_sink_put(sink, bytes, sizeof bytes);
}

static void put_text(firn_sink *sink, const char *text)
{
    size_t length = strlen(text);
    put_short(sink, length);
    firn_sink_put(sink, text, length);
}

static bool is_position(const firn_attribute *attribute)
{
    return strcmp(attribute->name, "P") == 0;
}

static bool is_real(const firn_attribute *attribute)
{
    return attribute->storage <= FIRN_STORAGE_FLOAT64;
}

static firn_result check_table(const firn_attribute *table, size_t table_count, size_t count,
                               firn_error *error)
{
    for (size_t i = 0; i < table_count; i++) {
        const firn_attribute *attribute = &table[i];
        size_t longest = strlen(attribute->name);
        for (size_t k = 0; k < attribute->string_count; k++)
            if (strlen(attribute->strings[k]) > longest)
                longest = strlen(attribute->strings[k]);
        if (longest > UINT16_MAX)
            return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                             "attribute '%.60s' has a string too long for a classic geometry file",
                             attribute->name);
        bool wide = attribute->storage == FIRN_STORAGE_INT64 ||
                    attribute->storage == FIRN_STORAGE_UINT32 ||
                    attribute->storage == FIRN_STORAGE_UINT64;
        for (size_t k = 0; wide && k < count * (size_t)attribute->tuple_size; k++) {
            int64_t value;
            firn_attribute_integers(attribute, k, 1, &value);
            if (value < INT32_MIN || value > INT32_MAX)
                return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                                 "attribute '%s' has the value %lld, but classic geometry files "
                                 "hold 32-bit integers; use the modern format",
                                 attribute->name, (long long)value);
        }
    }
    return FIRN_OK;
}

firn_result firn_bgeo_check_classic(const firn_points *points, firn_error *error)
{
    if (points->count > INT32_MAX)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "%zu points are too many for a classic geometry file", points->count);
    FIRN_TRY(check_table(points->attributes, points->attribute_count, points->count, error));
    return check_table(points->details, points->detail_count, 1, error);
}

static void put_definition(firn_sink *sink, const firn_attribute *attribute)
{
    bool vector = attribute->tuple_size == 3 && (attribute->type_info == FIRN_TYPE_VECTOR ||
                                                 attribute->type_info == FIRN_TYPE_NORMAL);
    classic_type type = attribute->storage == FIRN_STORAGE_STRING ? CLASSIC_STRING
                        : !is_real(attribute)                     ? CLASSIC_INTEGER
                        : vector                                  ? CLASSIC_VECTOR
                                                                  : CLASSIC_FLOAT;
    put_text(sink, attribute->name);
    put_short(sink, (size_t)attribute->tuple_size);
    put_word(sink, type);
    if (type == CLASSIC_STRING) {
        put_word(sink, (uint32_t)attribute->string_count);
        for (size_t i = 0; i < attribute->string_count; i++)
            put_text(sink, attribute->strings[i]);
        return;
    }
    for (int i = 0; i < attribute->tuple_size; i++)
        put_word(sink, 0);
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool is_word(firn_storage storage)
{
    return storage == FIRN_STORAGE_FLOAT32 || storage == FIRN_STORAGE_INT32 ||
           storage == FIRN_STORAGE_UINT32 || storage == FIRN_STORAGE_STRING;
}

static uint32_t converted_word(const firn_attribute *attribute, size_t component)
{
    if (is_real(attribute)) {
        float value;
        firn_attribute_floats(attribute, component, 1, &value);
        return float_bits(value);
    }
    int64_t value;
    firn_attribute_integers(attribute, component, 1, &value);
    return (uint32_t)value;
}

// One value as big-endian words; returns where the next goes.
static unsigned char *store_tuple(unsigned char *bytes, const firn_attribute *attribute,
                                  size_t element)
{
    size_t width = (size_t)attribute->tuple_size;
    const unsigned char *data = attribute->data;
    bool plain = is_word(attribute->storage);
    for (size_t k = element * width; k < (element + 1) * width; k++, bytes += 4) {
        uint32_t word;
        if (plain)
            memcpy(&word, data + 4 * k, sizeof word);
        else
            word = converted_word(attribute, k);
        store_word(bytes, word);
    }
    return bytes;
}

static void put_points(firn_sink *sink, const firn_points *points)
{
    unsigned char buffer[RECORD_BUFFER];
    unsigned char *at = buffer;
    const firn_attribute *position = firn_points_find(points, "P");
    for (size_t i = 0; i < points->count; i++) {
        for (size_t k = 0; k <= points->attribute_count; k++) {
            const firn_attribute *attribute = k == 0 ? position : &points->attributes[k - 1];
            if (k > 0 && attribute == position)
                continue;
            if (at + 4 * (FIRN_TUPLE_MAX + 1) > buffer + sizeof buffer) {
                firn_sink_put(sink, buffer, (size_t)(at - buffer));
                at = buffer;
            }
            at = store_tuple(at, attribute, i);
            if (k == 0) {
                store_word(at, float_bits(1.0f));
                at += 4;
            }
        }
    }
    firn_sink_put(sink, buffer, (size_t)(at - buffer));
}

void firn_bgeo_write_classic(firn_sink *sink, const firn_points *points)
{
    firn_sink_put(sink, "BgeoV", 5);
    const uint32_t header[] = {
        5, (uint32_t)points->count,       0, 0, 0, (uint32_t)points->attribute_count - 1, 0,
        0, (uint32_t)points->detail_count};
    for (size_t i = 0; i < FIRN_COUNT(header); i++)
        put_word(sink, header[i]);
    for (size_t i = 0; i < points->attribute_count; i++)
        if (!is_position(&points->attributes[i]))
            put_definition(sink, &points->attributes[i]);
    put_points(sink, points);
    for (size_t i = 0; i < points->detail_count; i++)
        put_definition(sink, &points->details[i]);
    for (size_t i = 0; i < points->detail_count; i++) {
        unsigned char tuple[4 * FIRN_TUPLE_MAX];
        unsigned char *end = store_tuple(tuple, &points->details[i], 0);
        firn_sink_put(sink, tuple, (size_t)(end - tuple));
    }
    firn_sink_put(sink, "\x00\xFF", 2);
}

static firn_result read_word(firn_byte_source *source, uint32_t *word)
{
    unsigned char bytes[4];
    FIRN_TRY(firn_geo_source_read(source, bytes, sizeof bytes));
    *word = load_word(bytes);
    return FIRN_OK;
}

static firn_result read_short(firn_byte_source *source, size_t *value)
{
    unsigned char bytes[2];
    FIRN_TRY(firn_geo_source_read(source, bytes, sizeof bytes));
    *value = (size_t)bytes[0] << 8 | bytes[1];
    return FIRN_OK;
}

static firn_result read_text(firn_bgeo *geometry, firn_byte_source *source, const char **text)
{
    size_t length;
    FIRN_TRY(read_short(source, &length));
    if (length > firn_geo_source_left(source))
        return firn_geo_source_damaged(source, "a name in it is longer than the file");
    char *copy = firn_bgeo_claim(geometry, source, length + 1, 1);
    if (copy == NULL)
        return source->error->code;
    copy[length] = '\0';
    FIRN_TRY(firn_geo_source_read(source, copy, length));
    *text = copy;
    return FIRN_OK;
}

static firn_result read_string_list(firn_bgeo *geometry, firn_byte_source *source,
                                    firn_attribute *attribute)
{
    uint32_t count;
    FIRN_TRY(read_word(source, &count));
    if (count > firn_geo_source_left(source) / 2)
        return firn_geo_source_damaged(source, "it has more strings than bytes");
    const char **strings = firn_bgeo_claim(geometry, source, count, sizeof *strings);
    if (strings == NULL)
        return source->error->code;
    for (uint32_t i = 0; i < count; i++)
        FIRN_TRY(read_text(geometry, source, &strings[i]));
    attribute->strings = strings;
    attribute->string_count = count;
    return FIRN_OK;
}

// Adds the next attribute to table; *words grows by its size in a record.
static firn_result read_definition(firn_bgeo *geometry, firn_byte_source *source,
                                   firn_bgeo_table *table, size_t count, size_t *words)
{
    firn_attribute attribute = {0};
    size_t size;
    uint32_t type;
    FIRN_TRY(read_text(geometry, source, &attribute.name));
    FIRN_TRY(read_short(source, &size));
    FIRN_TRY(read_word(source, &type));
    if (attribute.name[0] == '\0' || size < 1 || size > FIRN_TUPLE_MAX)
        return firn_geo_source_damaged(source, "an attribute in it is damaged");
    attribute.tuple_size = (int)size;
    switch (type) {
    case CLASSIC_VECTOR:
        attribute.type_info = FIRN_TYPE_VECTOR;
        attribute.storage = FIRN_STORAGE_FLOAT32;
        break;
    case CLASSIC_FLOAT:
        attribute.storage = FIRN_STORAGE_FLOAT32;
        break;
    case CLASSIC_INTEGER:
        attribute.storage = FIRN_STORAGE_INT32;
        break;
    case CLASSIC_STRING:
        attribute.storage = FIRN_STORAGE_STRING;
        FIRN_TRY(read_string_list(geometry, source, &attribute));
        break;
    default:
        return firn_geo_source_damaged(source, "an attribute in it is of an unknown kind");
    }
    if (type != CLASSIC_STRING)
        FIRN_TRY(firn_geo_source_skip(source, 4 * (uint64_t)size));
    *words += size;
    if (*words > MAX_WORDS || (uint64_t)count * 4 * *words > firn_geo_source_left(source))
        return firn_geo_source_damaged(source, "it has more points than bytes");
    attribute.data = firn_bgeo_claim(geometry, source, (uint64_t)count * size, 4);
    if (attribute.data == NULL)
        return source->error->code;
    return firn_bgeo_add(geometry, source, table, &attribute);
}

static void store_record(const firn_bgeo_table *table, size_t element, const unsigned char *bytes)
{
    for (size_t k = 0; k < table->count; k++) {
        const firn_attribute *attribute = &table->rows[k];
        size_t width = (size_t)attribute->tuple_size;
        uint32_t *values = (uint32_t *)(uintptr_t)attribute->data + element * width;
        bool is_string = attribute->storage == FIRN_STORAGE_STRING;
        for (size_t i = 0; i < width; i++, bytes += 4) {
            values[i] = load_word(bytes);
            if (is_string && values[i] >= attribute->string_count)
                values[i] = UINT32_MAX; // -1: no string
        }
    }
}

static firn_result read_records(firn_bgeo *geometry, firn_byte_source *source,
                                const firn_bgeo_table *table, size_t count, size_t words)
{
    unsigned char *record = firn_bgeo_claim(geometry, source, words, 4);
    if (record == NULL)
        return source->error->code;
    for (size_t i = 0; i < count; i++) {
        FIRN_TRY(firn_geo_source_read(source, record, 4 * words));
        store_record(table, i, record);
    }
    return FIRN_OK;
}

static firn_result read_details(firn_bgeo *geometry, firn_byte_source *source,
                                uint32_t detail_count)
{
    size_t words = 0;
    for (uint32_t i = 0; i < detail_count; i++)
        FIRN_TRY(read_definition(geometry, source, &geometry->details, 1, &words));
    FIRN_TRY(read_records(geometry, source, &geometry->details, 1, words));
    unsigned char end[2];
    FIRN_TRY(firn_geo_source_read(source, end, sizeof end));
    if (end[0] != 0x00 || end[1] != 0xFF)
        return firn_geo_source_damaged(source, "its end mark is missing");
    return FIRN_OK;
}

firn_result firn_bgeo_read_classic(firn_bgeo *geometry, firn_byte_source *source)
{
    enum {
        VERSION,
        POINTS,
        PRIMITIVES,
        POINT_GROUPS,
        PRIMITIVE_GROUPS,
        POINT_ATTRIBUTES,
        VERTEX_ATTRIBUTES,
        PRIMITIVE_ATTRIBUTES,
        DETAIL_ATTRIBUTES,
        HEADER_WORDS
    };
    uint32_t header[HEADER_WORDS];
    FIRN_TRY(firn_geo_source_skip(source, 5)); // "BgeoV", seen by the caller
    for (int i = 0; i < HEADER_WORDS; i++) {
        FIRN_TRY(read_word(source, &header[i]));
        if (header[i] > INT32_MAX)
            return firn_geo_source_damaged(source, "a count in it is out of range");
    }
    if (header[VERSION] != 5)
        return firn_fail(source->error, FIRN_ERR_UNSUPPORTED,
                         "cannot read '%s': classic geometry of version %u, not 5", source->name,
                         (unsigned)header[VERSION]);
    size_t count = header[POINTS];
    geometry->info.format = FIRN_BGEO_CLASSIC;
    geometry->info.file_version = "5";
    geometry->info.primitive_count = header[PRIMITIVES];
    geometry->points.count = count;

    firn_attribute position = {.name = "P",
                               .storage = FIRN_STORAGE_FLOAT32,
                               .type_info = FIRN_TYPE_POINT,
                               .tuple_size = 4};
    size_t words = 4;
    if ((uint64_t)count * 4 * words > firn_geo_source_left(source))
        return firn_geo_source_damaged(source, "it has more points than bytes");
    position.data = firn_bgeo_claim(geometry, source, (uint64_t)count * words, 4);
    if (position.data == NULL)
        return source->error->code;
    FIRN_TRY(firn_bgeo_add(geometry, source, &geometry->attributes, &position));
    for (uint32_t i = 0; i < header[POINT_ATTRIBUTES]; i++)
        FIRN_TRY(read_definition(geometry, source, &geometry->attributes, count, &words));
    FIRN_TRY(read_records(geometry, source, &geometry->attributes, count, words));
    // Primitives and groups stand between the points and the details: without them only.
    for (int i = PRIMITIVES; i < DETAIL_ATTRIBUTES; i++)
        if (header[i] > 0 && i != POINT_ATTRIBUTES)
            return FIRN_OK;
    return read_details(geometry, source, header[DETAIL_ATTRIBUTES]);
}
