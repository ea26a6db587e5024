#include "crate_read.h"

#include "firn/file.h"

#include <stdio.h>
#include <string.h>

enum { SECTION_MAX = 64, RATIO = 255 }; // LZ4 makes at most 255 bytes of one

static firn_result damaged(const firn_crate_file *file, const char *what, firn_error *error)
{
    return firn_fail(error, FIRN_ERR_FORMAT, "'%s' is a damaged USD layer: its %s %s", file->name,
                     what, "does not fit the rest of the file");
}

/// A section, read from its beginning.
typedef struct section {
    const unsigned char *at, *end;
} section;

static bool take(section *in, void *data, size_t size)
{
    if ((size_t)(in->end - in->at) < size)
        return false;
    memcpy(data, in->at, size);
    in->at += size;
    return true;
}

static bool find_section(const firn_crate_file *file, const char *name, section *found)
{
    uint64_t place, count;
    memcpy(&place, file->bytes + 16, sizeof place);
    if (place > file->size)
        return false;
    section table = {file->bytes + place, file->bytes + file->size};
    if (!take(&table, &count, sizeof count) || count > SECTION_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        char label[FIRN_CRATE_SECTION_NAME];
        uint64_t start, size;
        if (!take(&table, label, sizeof label) || !take(&table, &start, sizeof start) ||
            !take(&table, &size, sizeof size))
            return false;
        label[sizeof label - 1] = '\0';
        if (strcmp(label, name) != 0)
            continue;
        if (start > file->size || size > file->size - start)
            return false;
        *found = (section){file->bytes + start, file->bytes + start + size};
        return true;
    }
    return false;
}

// A frame with its length before it, decoded into new memory of a known size.
static bool take_frame(section *in, size_t size, unsigned char **data)
{
    uint64_t length;
    if (!take(in, &length, sizeof length) || length > (size_t)(in->end - in->at) ||
        size / RATIO > length)
        return false;
    *data = firn_alloc(size + 1);
    if (*data == NULL || !firn_crate_read_frame(in->at, (size_t)length, *data, size))
        return false;
    (*data)[size] = '\0';
    in->at += length;
    return true;
}

static bool take_integers(section *in, size_t count, int32_t **values)
{
    uint64_t length;
    // Two bits for each number, packed as tightly as LZ4 can.
    if (!take(in, &length, sizeof length) || length > (size_t)(in->end - in->at) ||
        count / (4 * RATIO) > length)
        return false;
    *values = firn_alloc((count + 1) * sizeof **values);
    unsigned char *scratch = firn_alloc(firn_crate_integers_room(count));
    bool fits = *values != NULL && scratch != NULL &&
                firn_crate_read_integers(in->at, (size_t)length, *values, count, scratch);
    firn_free(scratch);
    in->at += length;
    return fits;
}

static bool in_range(const int32_t *values, size_t count, int64_t lower, size_t upper)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] < lower || values[i] >= (int64_t)upper)
            return false;
    return true;
}

// --- Sections ------------------------------------------------------------------------------------

static bool read_tokens(firn_crate_file *file, section in)
{
    uint64_t count, size;
    if (!take(&in, &count, sizeof count) || !take(&in, &size, sizeof size) || count > size ||
        size > SIZE_MAX / 2 || !take_frame(&in, (size_t)size, &file->texts))
        return false;
    file->tokens = firn_alloc(((size_t)count + 1) * sizeof *file->tokens);
    if (file->tokens == NULL)
        return false;
    const char *at = (const char *)file->texts, *end = at + size;
    for (; file->token_count < count && at < end; at += strlen(at) + 1)
        file->tokens[file->token_count++] = at;
    return file->token_count == count;
}

static bool read_strings(firn_crate_file *file, section in)
{
    uint64_t count;
    if (!take(&in, &count, sizeof count) || count > (size_t)(in.end - in.at) / sizeof(int32_t))
        return false;
    file->strings = firn_alloc(((size_t)count + 1) * sizeof *file->strings);
    if (file->strings == NULL || !take(&in, file->strings, (size_t)count * sizeof *file->strings))
        return false;
    file->string_count = (size_t)count;
    return in_range(file->strings, (size_t)count, 0, file->token_count);
}

static bool read_fields(firn_crate_file *file, section in)
{
    uint64_t count;
    unsigned char *values = NULL;
    if (!take(&in, &count, sizeof count) || count > INT32_MAX ||
        !take_integers(&in, (size_t)count, &file->field_names) ||
        !in_range(file->field_names, (size_t)count, 0, file->token_count) ||
        !take_frame(&in, (size_t)count * sizeof(firn_crate_value), &values)) {
        firn_free(values);
        return false;
    }
    file->field_values = (firn_crate_value *)(void *)values; // memory of firn_alloc is aligned
    file->field_count = (size_t)count;
    return true;
}

static bool read_field_sets(firn_crate_file *file, section in)
{
    uint64_t count;
    if (!take(&in, &count, sizeof count) || count > INT32_MAX ||
        !take_integers(&in, (size_t)count, &file->field_sets) ||
        !in_range(file->field_sets, (size_t)count, -1, file->field_count))
        return false;
    file->field_set_count = (size_t)count;
    return count == 0 || file->field_sets[count - 1] == -1;
}

// Paths are listed depth first; numbers[i] is the number of the i-th. Children and siblings follow
// by the jumps; every path must be reached once. The empty path has a number and is not listed.
static bool link_paths(firn_crate_file *file, size_t count, const int32_t *numbers,
                       const int32_t *tokens, const int32_t *jumps, int32_t *parents)
{
    enum { UNKNOWN = -2 };
    for (size_t i = 0; i < count; i++)
        parents[i] = i == 0 ? -1 : UNKNOWN;
    for (size_t i = 0; i < file->path_count; i++) {
        file->path_tokens[i] = 0;
        file->path_parents[i] = UNKNOWN;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t token = tokens[i];
        if (parents[i] == UNKNOWN || file->path_parents[numbers[i]] != UNKNOWN ||
            (i > 0 && (token < 0 ? -token : token) >= (int64_t)file->token_count))
            return false;
        file->path_tokens[numbers[i]] = i > 0 ? tokens[i] : 0;
        file->path_parents[numbers[i]] = parents[i];
        bool child = jumps[i] > 0 || jumps[i] == -1;
        size_t sibling = i + (jumps[i] > 0 ? (size_t)jumps[i] : 1);
        if (child && (i + 1 == count || parents[i + 1] != UNKNOWN))
            return false;
        if (child)
            parents[i + 1] = numbers[i];
        if (jumps[i] < 0)
            continue;
        if (sibling >= count || parents[sibling] != UNKNOWN)
            return false;
        parents[sibling] = parents[i];
    }
    for (size_t i = 0; i < file->path_count; i++)
        file->path_parents[i] = file->path_parents[i] == UNKNOWN ? -1 : file->path_parents[i];
    return true;
}

static bool read_paths(firn_crate_file *file, section in)
{
    uint64_t count, listed;
    int32_t *numbers = NULL, *tokens = NULL, *jumps = NULL, *parents = NULL;
    bool fits = take(&in, &count, sizeof count) && take(&in, &listed, sizeof listed) &&
                listed <= count && listed + 1 >= count && listed > 0 && count <= INT32_MAX &&
                take_integers(&in, (size_t)listed, &numbers) &&
                take_integers(&in, (size_t)listed, &tokens) &&
                take_integers(&in, (size_t)listed, &jumps) &&
                in_range(numbers, (size_t)listed, 0, (size_t)count);
    if (fits) {
        file->path_count = (size_t)count;
        file->path_tokens = firn_alloc((size_t)count * sizeof(int32_t));
        file->path_parents = firn_alloc((size_t)count * sizeof(int32_t));
        parents = firn_alloc((size_t)count * sizeof(int32_t));
        fits = file->path_tokens != NULL && file->path_parents != NULL && parents != NULL &&
               link_paths(file, (size_t)listed, numbers, tokens, jumps, parents);
    }
    firn_free(numbers);
    firn_free(tokens);
    firn_free(jumps);
    firn_free(parents);
    return fits;
}

static bool read_specs(firn_crate_file *file, section in)
{
    uint64_t count;
    int32_t *columns[3] = {NULL, NULL, NULL};
    bool fits = take(&in, &count, sizeof count) && count <= INT32_MAX;
    for (size_t i = 0; i < FIRN_COUNT(columns) && fits; i++)
        fits = take_integers(&in, (size_t)count, &columns[i]);
    fits = fits && in_range(columns[0], (size_t)count, 0, file->path_count) &&
           in_range(columns[1], (size_t)count, 0, file->field_set_count);
    if (fits)
        file->specs = firn_alloc(((size_t)count + 1) * sizeof *file->specs);
    for (size_t i = 0; fits && file->specs != NULL && i < count; i++)
        file->specs[file->spec_count++] =
            (firn_crate_spec){columns[0][i], columns[1][i], columns[2][i]};
    for (size_t i = 0; i < FIRN_COUNT(columns); i++)
        firn_free(columns[i]);
    return fits && file->specs != NULL;
}

static const struct {
    const char *name, *what;
    bool (*read)(firn_crate_file *file, section in);
} sections[] = {
    {"TOKENS", "list of names", read_tokens},  {"STRINGS", "list of texts", read_strings},
    {"FIELDS", "list of fields", read_fields}, {"FIELDSETS", "list of specs", read_field_sets},
    {"PATHS", "list of paths", read_paths},    {"SPECS", "list of specs", read_specs},
};

firn_result firn_crate_read(const char *path, firn_crate_file *file, firn_error *error)
{
    *file = (firn_crate_file){.name = path};
    void *bytes = NULL;
    FIRN_TRY(firn_file_read(path, SIZE_MAX / 4, &bytes, &file->size, error));
    file->bytes = bytes;
    if (file->size < FIRN_CRATE_HEADER || memcmp(bytes, "PXR-USDC", 8) != 0)
        return firn_fail(error, FIRN_ERR_FORMAT, "'%s' is not a USD layer in the crate format",
                         path);
    file->minor = file->bytes[9];
    if (file->bytes[8] != FIRN_CRATE_MAJOR || file->minor < FIRN_CRATE_MINOR_LEAST ||
        file->minor > FIRN_CRATE_MINOR_MOST)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "'%s' has version %d.%d of the crate format; 0.%d to 0.%d can be read",
                         path, file->bytes[8], file->minor, FIRN_CRATE_MINOR_LEAST,
                         FIRN_CRATE_MINOR_MOST);
    for (size_t i = 0; i < FIRN_COUNT(sections); i++) {
        section in;
        if (!find_section(file, sections[i].name, &in) || !sections[i].read(file, in))
            return damaged(file, sections[i].what, error);
    }
    return FIRN_OK;
}

void firn_crate_release(firn_crate_file *file)
{
    firn_free(file->bytes);
    firn_free(file->texts);
    firn_free((void *)file->tokens);
    firn_free(file->strings);
    firn_free(file->field_names);
    firn_free(file->field_values);
    firn_free(file->field_sets);
    firn_free(file->path_tokens);
    firn_free(file->path_parents);
    firn_free(file->specs);
    *file = (firn_crate_file){0};
}
