// The tree of a modern geometry file, written in one pass over the attributes.
#include "bgeo_file.h"

enum { PAGE_SIZE = 1024 };

// The version of Houdini whose layout this is; readers compare it with their own.
static const char file_version[] = "18.5.408";

static void put_pair_text(firn_json_writer *writer, const char *key, const char *value)
{
    firn_json_put_string(writer, key);
    firn_json_put_string(writer, value);
}

static void put_pair_integer(firn_json_writer *writer, const char *key, int64_t value)
{
    firn_json_put_string(writer, key);
    firn_json_put_integer(writer, value);
}

static void put_info(firn_json_writer *writer, const firn_points *points, const firn_bgeo_def *def)
{
    const struct {
        const char *key, *value;
    } texts[] = {{"software", def->software}, {"artist", def->artist}, {"date", def->date}};
    firn_json_put_string(writer, "info");
    firn_json_begin_map(writer);
    for (size_t i = 0; i < FIRN_COUNT(texts); i++) {
        if (texts[i].value == NULL)
            continue;
        firn_json_put_key(writer, texts[i].key);
        firn_json_put_string(writer, texts[i].value);
    }
    firn_vec3 lower, upper;
    if (firn_points_bounds(points, &lower, &upper)) {
        const float bounds[6] = {lower.x, upper.x, lower.y, upper.y, lower.z, upper.z};
        firn_json_put_key(writer, "bounds");
        firn_json_begin_array(writer);
        for (int i = 0; i < 6; i++)
            firn_json_put_real(writer, bounds[i], 9);
        firn_json_end_array(writer);
    }
    firn_json_end_map(writer);
}

static void put_definition(firn_json_writer *writer, const firn_attribute *attribute)
{
    firn_json_begin_array(writer);
    put_pair_text(writer, "scope", "public");
    put_pair_text(writer, "type", attribute->storage == FIRN_STORAGE_STRING ? "string" : "numeric");
    put_pair_text(writer, "name", attribute->name);
    firn_json_put_string(writer, "options");
    firn_json_begin_map(writer);
    if (attribute->type_info != FIRN_TYPE_NONE) {
        firn_json_put_key(writer, "type");
        firn_json_begin_map(writer);
        firn_json_put_key(writer, "type");
        firn_json_put_string(writer, "string");
        firn_json_put_key(writer, "value");
        firn_json_put_string(writer, firn_type_info_name(attribute->type_info));
        firn_json_end_map(writer);
    }
    firn_json_end_map(writer);
    firn_json_end_array(writer);
}

static void put_defaults(firn_json_writer *writer, bool real)
{
    firn_json_put_string(writer, "defaults");
    firn_json_begin_array(writer);
    put_pair_integer(writer, "size", 1);
    put_pair_text(writer, "storage", real ? "fpreal64" : "int64");
    firn_json_put_string(writer, "values");
    firn_json_begin_array(writer);
    if (real)
        firn_json_put_real(writer, 0.0, 1);
    else
        firn_json_put_integer(writer, 0);
    firn_json_end_array(writer);
    firn_json_end_array(writer);
}

static void put_values(firn_json_writer *writer, const char *key, const firn_attribute *attribute,
                       size_t count)
{
    firn_json_put_string(writer, key);
    firn_json_begin_array(writer);
    put_pair_integer(writer, "size", attribute->tuple_size);
    put_pair_text(writer, "storage", firn_storage_name(firn_json_file_storage(attribute->storage)));
    if (!writer->text)
        put_pair_integer(writer, "pagesize", PAGE_SIZE);
    firn_json_put_string(writer, !writer->text                ? "rawpagedata"
                                 : attribute->tuple_size == 1 ? "arrays"
                                                              : "tuples");
    firn_json_put_values(writer, attribute, count);
    firn_json_end_array(writer);
}

static void put_attribute(firn_json_writer *writer, const firn_attribute *attribute, size_t count)
{
    firn_json_begin_array(writer);
    put_definition(writer, attribute);
    firn_json_begin_array(writer);
    put_pair_integer(writer, "size", attribute->tuple_size);
    put_pair_text(writer, "storage", firn_storage_name(firn_json_file_storage(attribute->storage)));
    if (attribute->storage == FIRN_STORAGE_STRING) {
        firn_json_put_string(writer, "strings");
        firn_json_begin_array(writer);
        for (size_t i = 0; i < attribute->string_count; i++)
            firn_json_put_string(writer, attribute->strings[i]);
        firn_json_end_array(writer);
        put_values(writer, "indices", attribute, count);
    } else {
        put_defaults(writer, attribute->storage <= FIRN_STORAGE_FLOAT64);
        put_values(writer, "values", attribute, count);
    }
    firn_json_end_array(writer);
    firn_json_end_array(writer);
}

static void put_table(firn_json_writer *writer, const char *key, const firn_attribute *table,
                      size_t table_count, size_t count)
{
    firn_json_put_string(writer, key);
    firn_json_begin_array(writer);
    for (size_t i = 0; i < table_count; i++)
        put_attribute(writer, &table[i], count);
    firn_json_end_array(writer);
}

void firn_bgeo_write_json(firn_sink *sink, const firn_points *points, const firn_bgeo_def *def)
{
    firn_json_writer writer = {.sink = sink, .text = def->format == FIRN_BGEO_TEXT};
    firn_json_put_magic(&writer);
    firn_json_begin_array(&writer);
    put_pair_text(&writer, "fileversion", file_version);
    firn_json_put_string(&writer, "hasindex");
    firn_json_put_bool(&writer, false);
    put_pair_integer(&writer, "pointcount", (int64_t)points->count);
    put_pair_integer(&writer, "vertexcount", 0);
    put_pair_integer(&writer, "primitivecount", 0);
    put_info(&writer, points, def);
    firn_json_put_string(&writer, "topology");
    firn_json_begin_array(&writer);
    firn_json_put_string(&writer, "pointref");
    firn_json_begin_array(&writer);
    firn_json_put_string(&writer, "indices");
    firn_json_begin_array(&writer);
    firn_json_end_array(&writer);
    firn_json_end_array(&writer);
    firn_json_end_array(&writer);
    firn_json_put_string(&writer, "attributes");
    firn_json_begin_array(&writer);
    put_table(&writer, "pointattributes", points->attributes, points->attribute_count,
              points->count);
    if (points->detail_count > 0)
        put_table(&writer, "globalattributes", points->details, points->detail_count, 1);
    firn_json_end_array(&writer);
    firn_json_put_string(&writer, "primitives");
    firn_json_begin_array(&writer);
    firn_json_end_array(&writer);
    firn_json_end_array(&writer);
}
