#include "write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

uint32_t firn_abc_def_cookie(size_t size)
{
    static const char salt[] = "firn_abc";
    return (uint32_t)firn_hash64(salt, sizeof salt, size) | 1u;
}

firn_result firn_abcw_settle(firn_abc_writer *writer, firn_result result, firn_error *error)
{
    if (result == FIRN_OK)
        return FIRN_OK;
    writer->phase = FIRN_ABCW_BROKEN;
    writer->batch_count = 0;
    if (error != NULL)
        *error = writer->failure;
    return result;
}

static firn_result check_not_broken(firn_abc_writer *writer, firn_error *error)
{
    if (writer->phase != FIRN_ABCW_BROKEN)
        return FIRN_OK;
    if (error != NULL)
        *error = writer->failure;
    return writer->failure.code;
}

firn_result firn_abcw_check_declaring(firn_abc_writer *writer, firn_error *error)
{
    FIRN_TRY(check_not_broken(writer, error));
    if (writer->phase != FIRN_ABCW_DECLARING)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot add to '%s': everything is declared before begin", writer->path);
    return FIRN_OK;
}

firn_result firn_abcw_check_clock(firn_abc_writer *writer, firn_abc_clock clock, firn_error *error)
{
    if (clock.index >= writer->clock_count)
        return firn_fail(error, FIRN_ERR_STALE, "cannot write '%s': there is no clock %u",
                         writer->path, clock.index);
    return FIRN_OK;
}

firn_result firn_abcw_check_def(firn_abc_writer *writer, uint32_t cookie, size_t size,
                                firn_abc_clock clock, firn_error *error)
{
    FIRN_TRY(firn_abcw_check_declaring(writer, error));
    if (cookie != firn_abc_def_cookie(size))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot add to '%s': start a def from its default function", writer->path);
    return firn_abcw_check_clock(writer, clock, error);
}

static firn_result check_writing(firn_abc_writer *writer, firn_error *error)
{
    FIRN_TRY(check_not_broken(writer, error));
    if (writer->phase != FIRN_ABCW_WRITING)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "cannot write to '%s' before begin",
                         writer->path);
    return FIRN_OK;
}

firn_result firn_abcw_check_put(firn_abc_writer *writer, firn_abc_node node,
                                firn_abcw_schema schema, firn_error *error)
{
    FIRN_TRY(check_writing(writer, error));
    if (node.index >= writer->object_count || writer->objects[node.index].schema != schema)
        return firn_fail(error, FIRN_ERR_STALE,
                         "cannot write to '%s': object %u is not there or of another kind",
                         writer->path, node.index);
    return FIRN_OK;
}

static firn_result add_clock(firn_abc_writer *writer, const firn_abcw_times *times, uint32_t *index,
                             firn_error *error)
{
    void *memory = writer->clocks;
    bool enough = firn_abcw_reserve(&memory, writer->clock_count, &writer->clock_capacity,
                                    writer->clock_count + 1, sizeof *writer->clocks);
    writer->clocks = memory;
    if (!enough)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", writer->path);
    writer->clocks[writer->clock_count] = *times;
    *index = (uint32_t)writer->clock_count++;
    return FIRN_OK;
}

firn_result firn_abcw_time_add(firn_abc_writer *writer, uint32_t clock, double seconds,
                               firn_error *error)
{
    firn_abcw_times *times = &writer->clocks[clock];
    if (!isfinite(seconds) || (times->count > 0 && seconds <= times->times[times->count - 1]))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write '%s': time %g s is not after the time before it",
                         writer->path, seconds);
    void *memory = times->times;
    bool enough = firn_abcw_reserve(&memory, times->count, &times->capacity, times->count + 1,
                                    sizeof *times->times);
    times->times = memory;
    if (!enough)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", writer->path);
    times->times[times->count++] = seconds;
    return FIRN_OK;
}

firn_result firn_abc_writer_add_clock(firn_abc_writer *writer, double start, double step,
                                      firn_abc_clock *clock, firn_error *error)
{
    clock->index = 0;
    FIRN_TRY(firn_abcw_check_declaring(writer, error));
    if (!isfinite(start) || !(step > 0.0) || !(step <= 1e300))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write '%s': a clock needs a finite start and a step above zero, "
                         "not %g s and %g s",
                         writer->path, start, step);
    for (uint32_t i = 0; i < writer->clock_count; i++) {
        const firn_abcw_times *other = &writer->clocks[i];
        if (!other->acyclic && other->step == step && other->times[0] == start) {
            clock->index = i;
            return FIRN_OK;
        }
    }
    FIRN_TRY(add_clock(writer, &(firn_abcw_times){.step = step}, &clock->index, error));
    firn_result result = firn_abcw_time_add(writer, clock->index, start, &writer->failure);
    return firn_abcw_settle(writer, result, error); // a clock without a time is of no use
}

firn_result firn_abc_writer_add_acyclic_clock(firn_abc_writer *writer, firn_abc_clock *clock,
                                              firn_error *error)
{
    clock->index = 0;
    FIRN_TRY(firn_abcw_check_declaring(writer, error));
    return add_clock(writer, &(firn_abcw_times){.acyclic = true}, &clock->index, error);
}

firn_result firn_abc_writer_put_time(firn_abc_writer *writer, firn_abc_clock clock, double seconds,
                                     firn_error *error)
{
    FIRN_TRY(check_writing(writer, error));
    FIRN_TRY(firn_abcw_check_clock(writer, clock, error));
    if (!writer->clocks[clock.index].acyclic)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write '%s': only an acyclic clock takes times", writer->path);
    firn_result result = firn_abcw_time_add(writer, clock.index, seconds, &writer->failure);
    if (result == FIRN_OK)
        firn_abcw_journal_time(writer, clock.index, seconds);
    return firn_abcw_settle(writer, result, error);
}

static firn_result check_object(firn_abc_writer *writer, firn_abc_node parent, const char *name,
                                firn_error *error)
{
    FIRN_TRY(firn_abcw_check_declaring(writer, error));
    if (parent.index >= writer->object_count ||
        writer->objects[parent.index].depth + 1 >= FIRN_ABCW_DEPTH_MAX)
        return firn_fail(error, FIRN_ERR_STALE,
                         "cannot add '%.64s' to '%s': its parent is not there or too deep", name,
                         writer->path);
    size_t length = strlen(name);
    if (length == 0 || length >= FIRN_ABCW_NAME_SIZE || strchr(name, '/') != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot add '%.64s' to '%s': a name has 1 to %d characters and no '/'",
                         name, writer->path, FIRN_ABCW_NAME_SIZE - 1);
    for (size_t i = 1; i < writer->object_count; i++)
        if (writer->objects[i].parent == parent.index && strcmp(writer->objects[i].name, name) == 0)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "cannot add '%s' to '%s' twice: names are unique among siblings", name,
                             writer->path);
    return FIRN_OK;
}

static firn_result push_object(firn_abc_writer *writer, firn_abcw_object **object,
                               firn_error *error)
{
    void *memory = writer->objects;
    bool enough = firn_abcw_reserve(&memory, writer->object_count, &writer->object_capacity,
                                    writer->object_count + 1, sizeof *writer->objects);
    writer->objects = memory;
    if (!enough)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", writer->path);
    *object = &writer->objects[writer->object_count++];
    memset(*object, 0, sizeof **object);
    return FIRN_OK;
}

firn_result firn_abcw_object_add(firn_abc_writer *writer, firn_abc_node parent, const char *name,
                                 firn_abcw_schema schema, firn_abc_node *node, firn_error *error)
{
    *node = FIRN_ABC_ROOT;
    FIRN_TRY(check_object(writer, parent, name, error));
    firn_abcw_object *object = NULL;
    FIRN_TRY(push_object(writer, &object, error));
    memcpy(object->name, name, strlen(name) + 1);
    object->schema = schema;
    object->parent = parent.index;
    object->depth = writer->objects[parent.index].depth + 1;
    node->index = (uint32_t)(writer->object_count - 1);
    return FIRN_OK;
}

firn_result firn_abc_writer_add_group(firn_abc_writer *writer, firn_abc_node parent,
                                      const char *name, firn_abc_node *node, firn_error *error)
{
    return firn_abcw_object_add(writer, parent, name, FIRN_ABCW_SCHEMA_GROUP, node, error);
}

// Archive info is one string of key=value pairs, sorted by key.
static firn_result put_info(firn_abc_writer *writer, const char *key, const char *value,
                            firn_error *error)
{
    if (value == NULL || value[0] == '\0')
        return FIRN_OK;
    if (strpbrk(value, ";=") != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write '%s': archive info '%.64s' has a ';' or '='", writer->path,
                         value);
    if (writer->metadata.size > 0)
        firn_abcw_bytes_put(&writer->metadata, ";", 1);
    firn_abcw_bytes_put(&writer->metadata, key, strlen(key));
    firn_abcw_bytes_put(&writer->metadata, "=", 1);
    firn_abcw_bytes_put(&writer->metadata, value, strlen(value));
    return FIRN_OK;
}

static firn_result fill_writer(firn_abc_writer *writer, const firn_abc_writer_def *def,
                               firn_error *error)
{
    char fps[64] = "";
    if (def->fps > 0.0)
        snprintf(fps, sizeof fps, "%f", def->fps);
    FIRN_TRY(put_info(writer, "_ai_AlembicVersion", def->library, error));
    FIRN_TRY(put_info(writer, "_ai_Application", def->application, error));
    FIRN_TRY(put_info(writer, "_ai_DCC_FPS", fps, error));
    FIRN_TRY(put_info(writer, "_ai_DateWritten", def->date, error));
    FIRN_TRY(put_info(writer, "_ai_Description", def->description, error));
    if (writer->metadata.failed)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", writer->path);
    uint32_t seconds = 0;
    FIRN_TRY(add_clock(writer, &(firn_abcw_times){.step = 1.0}, &seconds, error));
    FIRN_TRY(firn_abcw_time_add(writer, seconds, 0.0, error));
    firn_abcw_object *root = NULL;
    FIRN_TRY(push_object(writer, &root, error));
    return FIRN_OK;
}

firn_result firn_abc_writer_create(const char *path, const firn_abc_writer_def *def,
                                   firn_abc_writer **out, firn_error *error)
{
    *out = NULL;
    if (def->cookie != firn_abc_def_cookie(sizeof *def))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "cannot write '%.200s': start from firn_abc_writer_def_default", path);
    firn_abc_writer *writer = firn_alloc_zero(sizeof *writer);
    if (writer == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%.200s': out of memory", path);
    int length = snprintf(writer->path, sizeof writer->path, "%s", path);
    writer->resumable = def->resumable;
    firn_result result = FIRN_OK;
    if (length <= 0 || (size_t)length >= sizeof writer->path)
        result = firn_fail(error, FIRN_ERR_ARGUMENT,
                           "cannot write '%.200s': not a usable file name", path);
    if (result == FIRN_OK)
        result = fill_writer(writer, def, error);
    if (result != FIRN_OK) {
        firn_abc_writer_destroy(writer);
        return result;
    }
    *out = writer;
    return FIRN_OK;
}

static void free_writer(firn_abc_writer *writer)
{
    for (size_t i = 0; i < writer->clock_count; i++)
        firn_free(writer->clocks[i].times);
    for (size_t i = 0; i < writer->object_count; i++)
        firn_free(writer->objects[i].xform);
    for (size_t i = 0; i < writer->property_count; i++)
        firn_free(writer->properties[i].words);
    firn_free(writer->clocks);
    firn_free(writer->objects);
    firn_free(writer->properties);
    firn_free(writer->blocks.slots);
    firn_free(writer->batch);
    firn_free(writer->batch_order);
    firn_abcw_bytes_free(&writer->metadata);
    firn_abcw_bytes_free(&writer->frame);
    firn_free(writer);
}

void firn_abc_writer_destroy(firn_abc_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->resumable)
        firn_file_suspend(writer->stream.file);
    else
        firn_file_discard(writer->stream.file);
    firn_file_suspend(writer->journal);
    free_writer(writer);
}

firn_result firn_abc_writer_begin(firn_abc_writer *writer, uint32_t *frame, firn_error *error)
{
    *frame = 0;
    FIRN_TRY(firn_abcw_check_declaring(writer, error));
    firn_error *failure = &writer->failure;
    writer->stream.offset = FIRN_ABCW_FILE_START;
    firn_result result = writer->resumable
                             ? firn_abcw_journal_open(writer, failure)
                             : firn_file_create(writer->path, &writer->stream.file, failure);
    FIRN_TRY(firn_abcw_settle(writer, result, error));
    firn_abcw_stream_start(&writer->stream);
    writer->phase = FIRN_ABCW_WRITING;
    *frame = writer->frame_count;
    return FIRN_OK;
}

firn_result firn_abc_writer_end_frame(firn_abc_writer *writer, firn_error *error)
{
    FIRN_TRY(check_writing(writer, error));
    firn_result result = writer->resumable ? firn_abcw_journal_end_frame(writer, &writer->failure)
                                           : firn_file_flush(writer->stream.file, &writer->failure);
    if (result == FIRN_OK)
        writer->frame_count++;
    return firn_abcw_settle(writer, result, error);
}

firn_result firn_abc_writer_finish(firn_abc_writer *writer, firn_error *error)
{
    firn_result result = check_writing(writer, error);
    if (result == FIRN_OK)
        result = firn_abcw_write_tail(writer, error);
    if (result == FIRN_OK) {
        result = firn_file_commit(writer->stream.file, error);
        writer->stream.file = NULL;
    }
    if (result == FIRN_OK) {
        firn_file_discard(writer->journal);
        writer->journal = NULL;
    }
    firn_abc_writer_destroy(writer);
    return result;
}
