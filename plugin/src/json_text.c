#include "json_text.h"

#include "firn/file.h"

#include <string.h>

typedef struct text_sink {
    char *text;
    size_t length, capacity;
} text_sink;

static int append(const char *bytes, size_t size, void *user)
{
    text_sink *sink = user;
    if (sink->length + size + 1 > sink->capacity) {
        size_t wanted = 2 * (sink->length + size + 1);
        char *grown = firn_alloc(wanted);
        if (grown == NULL)
            return -1;
        if (sink->text != NULL)
            memcpy(grown, sink->text, sink->length);
        firn_free(sink->text);
        sink->text = grown;
        sink->capacity = wanted;
    }
    memcpy(sink->text + sink->length, bytes, size);
    sink->length += size;
    sink->text[sink->length] = '\0';
    return 0;
}

char *firn_json_text(const json_t *json, size_t flags)
{
    text_sink sink = {NULL, 0, 0};
    if (json != NULL && json_dump_callback(json, append, &sink, flags | JSON_ENCODE_ANY) == 0)
        return sink.text;
    firn_free(sink.text);
    return NULL;
}

firn_result firn_json_write(const json_t *json, const char *path, firn_error *error)
{
    char *text = firn_json_text(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (text == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot write '%s'", path);
    firn_file_writer *file = NULL;
    firn_result result = firn_file_create(path, &file, error);
    if (result == FIRN_OK) {
        firn_file_write(file, text, strlen(text));
        firn_file_write(file, "\n", 1);
        result = firn_file_commit(file, error);
    }
    firn_free(text);
    return result;
}
