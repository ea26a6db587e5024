#include "firn/bgeo.h"

#include "bgeo_file.h"
#include "firn/number.h"

#include <string.h>

enum {
    COOKIE = 0x46B6E001,
    FREE_BYTES = 256 << 20, // any file may claim that much,
    MOST_EXPANSION = 256    // and this many times its size
};

struct firn_bgeo_block {
    firn_bgeo_block *next;
    char padding[64 - sizeof(firn_bgeo_block *)]; // keeps what follows aligned
};

void firn_bgeo_def_fill(firn_bgeo_def *def, size_t size)
{
    FIRN_ASSERT(size == sizeof *def);
    *def = (firn_bgeo_def){.cookie = COOKIE ^ (uint32_t)(size << 8),
                           .format = FIRN_BGEO_BINARY,
                           .software = "firn " FIRN_VERSION};
}

static bool cut_end(const char *path, size_t *length, const char *end)
{
    size_t size = strlen(end);
    if (*length < size || strncmp(path + *length - size, end, size) != 0)
        return false;
    *length -= size;
    return true;
}

firn_result firn_bgeo_def_from_path(firn_bgeo_def *def, const char *path, firn_error *error)
{
    size_t length = strlen(path);
    def->gzip_level = cut_end(path, &length, ".gz") ? 1 : 0; // more gains nothing on floats
    if (cut_end(path, &length, ".bgeo"))
        def->format = FIRN_BGEO_BINARY;
    else if (cut_end(path, &length, ".geo"))
        def->format = FIRN_BGEO_TEXT;
    else if (cut_end(path, &length, ".bhclassic"))
        def->format = FIRN_BGEO_CLASSIC;
    else
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "cannot tell the geometry format of '%s': use .bgeo, .geo or .bhclassic, "
                         "each also with .gz",
                         path);
    return FIRN_OK;
}

static firn_result check_uint64(const firn_attribute *table, size_t table_count, size_t count,
                                firn_error *error)
{
    for (size_t i = 0; i < table_count; i++) {
        const uint64_t *values = table[i].data;
        size_t components = count * (size_t)table[i].tuple_size;
        for (size_t k = 0; table[i].storage == FIRN_STORAGE_UINT64 && k < components; k++)
            if (values[k] > (uint64_t)INT64_MAX)
                return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                                 "attribute '%s' has the value %llu, which Houdini cannot hold",
                                 table[i].name, (unsigned long long)values[k]);
    }
    return FIRN_OK;
}

firn_result firn_bgeo_write(const char *path, const firn_points *points, const firn_bgeo_def *def,
                            firn_error *error)
{
    if (def->cookie != (COOKIE ^ (uint32_t)(sizeof *def << 8)))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a firn_bgeo_def must start from firn_bgeo_def_default()");
    if (def->gzip_level < 0 || def->gzip_level > 9 || (unsigned)def->format > FIRN_BGEO_CLASSIC)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a firn_bgeo_def has values out of range");
    FIRN_TRY(firn_points_check(points, error));
    if (def->format == FIRN_BGEO_CLASSIC) {
        FIRN_TRY(firn_bgeo_check_classic(points, error));
    } else {
        FIRN_TRY(check_uint64(points->attributes, points->attribute_count, points->count, error));
        FIRN_TRY(check_uint64(points->details, points->detail_count, 1, error));
    }
    firn_sink *sink = NULL;
    FIRN_TRY(firn_sink_open(path, def->gzip_level, &sink, error));
    void *previous = firn_number_locale_enter();
    if (def->format == FIRN_BGEO_CLASSIC)
        firn_bgeo_write_classic(sink, points);
    else
        firn_bgeo_write_json(sink, points, def);
    firn_number_locale_leave(previous);
    return firn_sink_commit(sink, error);
}

firn_bgeo_limits firn_bgeo_limits_default(void)
{
    firn_bgeo_limits limits = {.max_unpacked = UINT64_C(64) << 30, .max_bytes = UINT64_C(64) << 30};
    return limits;
}

void *firn_bgeo_claim(firn_bgeo *geometry, firn_byte_source *source, uint64_t count, size_t size)
{
    uint64_t file = firn_geo_source_offset(source) + firn_geo_source_left(source);
    uint64_t most =
        file < UINT64_MAX / (2 * MOST_EXPANSION) ? MOST_EXPANSION * file + FREE_BYTES : UINT64_MAX;
    if (most > geometry->max_bytes)
        most = geometry->max_bytes;
    uint64_t header = sizeof(firn_bgeo_block);
    if (count > (UINT64_MAX / 2) / size || geometry->claimed + header > most ||
        count * size > most - geometry->claimed - header) {
        firn_geo_source_damaged(source, "what it holds needs more memory than the limit allows");
        return NULL;
    }
    firn_bgeo_block *block = firn_alloc((size_t)(header + count * size));
    if (block == NULL) {
        firn_fail(source->error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory for %llu bytes",
                  source->name, (unsigned long long)(count * size));
        return NULL;
    }
    block->next = geometry->blocks;
    geometry->blocks = block;
    geometry->claimed += header + count * size;
    return block + 1;
}

const char *firn_bgeo_claim_text(firn_bgeo *geometry, firn_byte_source *source, const char *text,
                                 size_t length)
{
    char *copy = firn_bgeo_claim(geometry, source, length + 1, 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

firn_result firn_bgeo_add(firn_bgeo *geometry, firn_byte_source *source, firn_bgeo_table *table,
                          const firn_attribute *attribute)
{
    if (table->count == table->capacity) {
        size_t capacity = 2 * table->capacity + 16;
        firn_attribute *rows = firn_bgeo_claim(geometry, source, capacity, sizeof *rows);
        if (rows == NULL)
            return source->error->code;
        if (table->count > 0)
            memcpy(rows, table->rows, table->count * sizeof *rows);
        table->rows = rows;
        table->capacity = capacity;
    }
    table->rows[table->count++] = *attribute;
    return FIRN_OK;
}

firn_result firn_bgeo_add_skipped(firn_bgeo *geometry, firn_byte_source *source, const char *name)
{
    size_t count = geometry->info.skipped_count;
    if (count == geometry->skipped_capacity) {
        size_t capacity = 2 * count + 16;
        const char **names = firn_bgeo_claim(geometry, source, capacity, sizeof *names);
        if (names == NULL)
            return source->error->code;
        if (count > 0)
            memcpy(names, geometry->skipped, count * sizeof *names);
        geometry->skipped = names;
        geometry->skipped_capacity = capacity;
    }
    geometry->skipped[count] = name;
    geometry->info.skipped_count++;
    return FIRN_OK;
}

// Old files keep w behind x, y, z. Tuples move to the front, so a pass in order is safe.
static void drop_w(firn_attribute *position, size_t count)
{
    size_t size = firn_storage_size(position->storage);
    unsigned char *bytes = (unsigned char *)(uintptr_t)position->data;
    for (size_t i = 0; i < count; i++)
        memmove(bytes + 3 * size * i, bytes + 4 * size * i, 3 * size);
    position->tuple_size = 3;
    position->type_info = FIRN_TYPE_POINT;
}

static firn_result finish(firn_bgeo *geometry, firn_byte_source *source)
{
    geometry->points.attributes = geometry->attributes.rows;
    geometry->points.attribute_count = geometry->attributes.count;
    geometry->points.details = geometry->details.rows;
    geometry->points.detail_count = geometry->details.count;
    geometry->info.skipped = geometry->skipped;
    geometry->info.gzip = source->gzip;
    firn_attribute *position = NULL;
    for (size_t i = 0; i < geometry->attributes.count && position == NULL; i++)
        if (strcmp(geometry->attributes.rows[i].name, "P") == 0)
            position = &geometry->attributes.rows[i];
    if (position != NULL && position->tuple_size == 4)
        drop_w(position, geometry->points.count);
    if (position == NULL ? geometry->points.count > 0
                         : position->tuple_size != 3 || position->storage > FIRN_STORAGE_FLOAT64)
        return firn_geo_source_damaged(source, "its points have no positions P of three floats");
    return firn_geo_source_finish(source);
}

static firn_result read_content(firn_bgeo *geometry, firn_byte_source *source)
{
    FIRN_TRY(firn_geo_source_fill(source));
    size_t size = (size_t)(source->end - source->at);
    const unsigned char *at = source->at;
    if (size >= 5 && memcmp(at, "BgeoV", 5) == 0)
        return firn_bgeo_read_classic(geometry, source);
    if (size >= 4 && memcmp(at, "scf1", 4) == 0)
        return firn_fail(source->error, FIRN_ERR_UNSUPPORTED,
                         "cannot read '%s': it is blosc-compressed (.bgeo.sc); save it as .bgeo or "
                         ".bgeo.gz",
                         source->name);
    if (size >= 9 && memcmp(at, "PGEOMETRY", 9) == 0)
        return firn_fail(source->error, FIRN_ERR_UNSUPPORTED,
                         "cannot read '%s': it is text of Houdini 11 or older; save it as .bgeo",
                         source->name);
    return firn_bgeo_read_json(geometry, source);
}

static firn_result read_source(firn_byte_source *source, firn_result opened,
                               const firn_bgeo_limits *limits, firn_bgeo **out)
{
    firn_result result = opened;
    firn_bgeo *geometry = NULL;
    if (result == FIRN_OK) {
        geometry = firn_alloc_zero(sizeof *geometry);
        if (geometry == NULL)
            result = firn_fail(source->error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory",
                               source->name);
    }
    if (result == FIRN_OK) {
        geometry->max_bytes = limits->max_bytes;
        geometry->info.file_version = "";
        geometry->info.software = "";
        result = read_content(geometry, source);
    }
    if (result == FIRN_OK)
        result = finish(geometry, source);
    firn_geo_source_close(source);
    if (result != FIRN_OK) {
        firn_bgeo_destroy(geometry);
        return result;
    }
    *out = geometry;
    return FIRN_OK;
}

firn_result firn_bgeo_read(const char *path, const firn_bgeo_limits *limits, firn_bgeo **geometry,
                           firn_error *error)
{
    firn_bgeo_limits defaults = firn_bgeo_limits_default();
    firn_error ignored;
    firn_byte_source source;
    *geometry = NULL;
    limits = limits != NULL ? limits : &defaults;
    firn_result opened = firn_geo_source_open_file(&source, path, limits->max_unpacked,
                                                   error != NULL ? error : &ignored);
    return read_source(&source, opened, limits, geometry);
}

firn_result firn_bgeo_read_memory(const void *bytes, size_t size, const char *name,
                                  const firn_bgeo_limits *limits, firn_bgeo **geometry,
                                  firn_error *error)
{
    firn_bgeo_limits defaults = firn_bgeo_limits_default();
    firn_error ignored;
    firn_byte_source source;
    *geometry = NULL;
    limits = limits != NULL ? limits : &defaults;
    firn_result opened = firn_geo_source_open_memory(
        &source, bytes, size, name, limits->max_unpacked, error != NULL ? error : &ignored);
    return read_source(&source, opened, limits, geometry);
}

const firn_points *firn_bgeo_points(const firn_bgeo *geometry) { return &geometry->points; }

const firn_bgeo_info *firn_bgeo_describe(const firn_bgeo *geometry) { return &geometry->info; }

void firn_bgeo_destroy(firn_bgeo *geometry)
{
    if (geometry == NULL)
        return;
    while (geometry->blocks != NULL) {
        firn_bgeo_block *next = geometry->blocks->next;
        firn_free(geometry->blocks);
        geometry->blocks = next;
    }
    firn_free(geometry);
}
