#include "crate_write.h"

#include "firn/file.h"

#include <string.h>

enum { NAME_SIZE = 256, SECTION_COUNT = 6 };

typedef struct path_row {
    int parent;
    int32_t token; // negative: a property
} path_row;

typedef struct spec_row {
    int32_t path, fields, type;
} spec_row;

typedef struct field_row {
    int32_t token;
    firn_crate_value value;
} field_row;

struct firn_crate_writer {
    firn_file_writer *file;
    // Texts one after another, each with its end, in the order of their numbers.
    firn_crate_bytes texts;
    int32_t text_count;
    firn_crate_bytes paths, specs, fields; // of the rows above
    firn_crate_bytes field_sets;           // int32_t
};

static int32_t add_text(firn_crate_writer *crate, const char *text)
{
    int32_t index = 0;
    for (size_t at = 0; at < crate->texts.count; index++) {
        const char *known = (const char *)crate->texts.data + at;
        if (strcmp(known, text) == 0)
            return index;
        at += strlen(known) + 1;
    }
    firn_crate_append(&crate->texts, text, strlen(text) + 1);
    return crate->text_count++;
}

firn_result firn_crate_create(const char *path, firn_crate_writer **out, firn_error *error)
{
    *out = NULL;
    firn_crate_writer *crate = firn_alloc_zero(sizeof *crate);
    if (crate == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", path);
    firn_result result = firn_file_create(path, &crate->file, error);
    if (result != FIRN_OK) {
        firn_free(crate);
        return result;
    }
    const unsigned char header[FIRN_CRATE_HEADER] = {
        'P', 'X', 'R', '-', 'U', 'S', 'D', 'C', FIRN_CRATE_MAJOR, FIRN_CRATE_MINOR};
    firn_file_write(crate->file, header, sizeof header);
    add_text(crate, ""); // number 0 has no negative, and so cannot name a property
    *out = crate;
    return FIRN_OK;
}

int firn_crate_add_path(firn_crate_writer *crate, int parent, const char *name, bool is_property)
{
    path_row row = {parent, add_text(crate, name)};
    if (is_property)
        row.token = -row.token;
    firn_crate_append(&crate->paths, &row, sizeof row);
    return (int)(crate->paths.count / sizeof row) - 1;
}

void firn_crate_begin_spec(firn_crate_writer *crate, int path, firn_spec_type type)
{
    spec_row row = {path, (int32_t)(crate->field_sets.count / sizeof(int32_t)), (int32_t)type};
    firn_crate_append(&crate->specs, &row, sizeof row);
}

void firn_crate_add_field(firn_crate_writer *crate, const char *name, firn_crate_value value)
{
    field_row row;
    memset(&row, 0, sizeof row);
    row.token = add_text(crate, name);
    row.value = value;
    int32_t index = (int32_t)(crate->fields.count / sizeof row);
    firn_crate_append(&crate->fields, &row, sizeof row);
    firn_crate_append(&crate->field_sets, &index, sizeof index);
}

void firn_crate_end_spec(firn_crate_writer *crate)
{
    const int32_t end = -1;
    firn_crate_append(&crate->field_sets, &end, sizeof end);
}

// --- Values --------------------------------------------------------------------------------------

// Where the next value begins; a multiple of eight, so that readers may map it.
static uint64_t next_place(firn_crate_writer *crate)
{
    const unsigned char zeros[8] = {0};
    uint64_t size = firn_file_size(crate->file);
    firn_file_write(crate->file, zeros, (size_t)(-size & 7));
    return firn_file_size(crate->file);
}

static firn_crate_value placed(firn_crate_type type, uint64_t place)
{
    return (uint64_t)type << 48 | (place & FIRN_CRATE_PAYLOAD);
}

firn_crate_value firn_crate_token(firn_crate_writer *crate, const char *text)
{
    return firn_crate_inlined(FIRN_CRATE_TOKEN, (uint32_t)add_text(crate, text));
}

firn_crate_value firn_crate_tokens(firn_crate_writer *crate, const char *const *texts, size_t count)
{
    uint64_t place = next_place(crate), length = count;
    firn_file_write(crate->file, &length, sizeof length);
    for (size_t i = 0; i < count; i++) {
        uint32_t index = (uint32_t)add_text(crate, texts[i]);
        firn_file_write(crate->file, &index, sizeof index);
    }
    return placed(FIRN_CRATE_TOKEN_VECTOR, place);
}

firn_crate_value firn_crate_double(firn_crate_writer *crate, double number)
{
    float single = (float)number;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if ((double)single == number)
        return firn_crate_inlined(FIRN_CRATE_DOUBLE, bits);
    uint64_t place = next_place(crate);
    firn_file_write(crate->file, &number, sizeof number);
    return placed(FIRN_CRATE_DOUBLE, place);
}

firn_crate_value firn_crate_array(firn_crate_writer *crate, firn_crate_type type, const void *data,
                                  size_t count, size_t item_size)
{
    if (count == 0)
        return FIRN_CRATE_IS_ARRAY | placed(type, 0); // place 0: empty
    uint64_t place = next_place(crate), length = count;
    firn_file_write(crate->file, &length, sizeof length);
    firn_file_write(crate->file, data, count * item_size);
    return FIRN_CRATE_IS_ARRAY | placed(type, place);
}

firn_crate_value firn_crate_samples(firn_crate_writer *crate, const double *times,
                                    const firn_crate_value *values, size_t count)
{
    uint64_t length = count;
    uint64_t list = next_place(crate);
    firn_file_write(crate->file, &length, sizeof length);
    firn_file_write(crate->file, times, count * sizeof *times);
    // Both parts are behind a distance that skips what could have been written between.
    const int64_t at_once = sizeof at_once;
    uint64_t place = next_place(crate);
    firn_crate_value numbers = placed(FIRN_CRATE_DOUBLE_VECTOR, list);
    firn_file_write(crate->file, &at_once, sizeof at_once);
    firn_file_write(crate->file, &numbers, sizeof numbers);
    firn_file_write(crate->file, &at_once, sizeof at_once);
    firn_file_write(crate->file, &length, sizeof length);
    firn_file_write(crate->file, values, count * sizeof *values);
    return placed(FIRN_CRATE_TIME_SAMPLES, place);
}

// --- Sections ------------------------------------------------------------------------------------

static void append_count(firn_crate_bytes *out, size_t count)
{
    uint64_t number = count;
    firn_crate_append(out, &number, sizeof number);
}

// One column of rows of int32_t, `stride` bytes apart.
static void append_column(firn_crate_bytes *out, const firn_crate_bytes *rows, size_t stride,
                          size_t offset)
{
    size_t count = rows->count / stride;
    int32_t *column = firn_alloc((count + 1) * sizeof *column);
    if (column == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(&column[i], rows->data + i * stride + offset, sizeof *column);
    firn_crate_write_integers(out, column, count);
    firn_free(column);
}

static void append_frame(firn_crate_bytes *out, const firn_crate_bytes *plain)
{
    firn_crate_bytes frame = {0};
    firn_crate_write_frame(&frame, plain->data, plain->count);
    append_count(out, frame.count);
    firn_crate_append(out, frame.data, frame.count);
    out->failed = out->failed || frame.failed;
    firn_free(frame.data);
}

static void make_tokens(const firn_crate_writer *crate, firn_crate_bytes *out)
{
    append_count(out, (size_t)crate->text_count);
    append_count(out, crate->texts.count);
    append_frame(out, &crate->texts);
}

static void make_strings(const firn_crate_writer *crate, firn_crate_bytes *out)
{
    (void)crate; // no value is a string
    append_count(out, 0);
}

static void make_fields(const firn_crate_writer *crate, firn_crate_bytes *out)
{
    size_t count = crate->fields.count / sizeof(field_row);
    append_count(out, count);
    append_column(out, &crate->fields, sizeof(field_row), offsetof(field_row, token));
    firn_crate_bytes values = {0};
    for (size_t i = 0; i < count; i++)
        firn_crate_append(&values,
                          crate->fields.data + i * sizeof(field_row) + offsetof(field_row, value),
                          sizeof(firn_crate_value));
    append_frame(out, &values);
    out->failed = out->failed || values.failed;
    firn_free(values.data);
}

static void make_field_sets(const firn_crate_writer *crate, firn_crate_bytes *out)
{
    append_count(out, crate->field_sets.count / sizeof(int32_t));
    append_column(out, &crate->field_sets, sizeof(int32_t), 0);
}

// What follows a path in the list: -2 nothing, -1 its child, 0 its sibling, else its child, and its
// sibling so many rows later.
static int32_t jump_of(const path_row *rows, int count, int i)
{
    bool child = i + 1 < count && rows[i + 1].parent == i;
    for (int k = i + 1; k < count && rows[i].parent >= 0; k++)
        if (rows[k].parent == rows[i].parent)
            return child ? k - i : 0;
    return child ? -1 : -2;
}

static void make_paths(const firn_crate_writer *crate, firn_crate_bytes *out)
{
    const path_row *rows = (const path_row *)(const void *)crate->paths.data;
    int count = (int)(crate->paths.count / sizeof *rows);
    firn_crate_bytes numbers = {0}, jumps = {0};
    for (int32_t i = 0; i < count; i++) {
        int32_t jump = jump_of(rows, count, i);
        firn_crate_append(&numbers, &i, sizeof i);
        firn_crate_append(&jumps, &jump, sizeof jump);
    }
    append_count(out, (size_t)count);
    append_count(out, (size_t)count);
    append_column(out, &numbers, sizeof(int32_t), 0);
    append_column(out, &crate->paths, sizeof *rows, offsetof(path_row, token));
    append_column(out, &jumps, sizeof(int32_t), 0);
    out->failed = out->failed || numbers.failed || jumps.failed;
    firn_free(numbers.data);
    firn_free(jumps.data);
}

static void make_specs(const firn_crate_writer *crate, firn_crate_bytes *out)
{
    append_count(out, crate->specs.count / sizeof(spec_row));
    append_column(out, &crate->specs, sizeof(spec_row), offsetof(spec_row, path));
    append_column(out, &crate->specs, sizeof(spec_row), offsetof(spec_row, fields));
    append_column(out, &crate->specs, sizeof(spec_row), offsetof(spec_row, type));
}

static const struct {
    const char *name;
    void (*make)(const firn_crate_writer *crate, firn_crate_bytes *out);
} sections[SECTION_COUNT] = {
    {"TOKENS", make_tokens},        {"STRINGS", make_strings}, {"FIELDS", make_fields},
    {"FIELDSETS", make_field_sets}, {"PATHS", make_paths},     {"SPECS", make_specs},
};

static bool write_sections(firn_crate_writer *crate)
{
    firn_crate_bytes table = {0};
    append_count(&table, SECTION_COUNT);
    bool failed = crate->texts.failed || crate->paths.failed || crate->specs.failed ||
                  crate->fields.failed || crate->field_sets.failed;
    for (size_t i = 0; i < SECTION_COUNT && !failed; i++) {
        char name[FIRN_CRATE_SECTION_NAME] = {0};
        memcpy(name, sections[i].name, strlen(sections[i].name));
        firn_crate_bytes bytes = {0};
        sections[i].make(crate, &bytes);
        uint64_t place = next_place(crate);
        firn_file_write(crate->file, bytes.data, bytes.count);
        firn_crate_append(&table, name, sizeof name);
        firn_crate_append(&table, &place, sizeof place);
        append_count(&table, bytes.count);
        failed = bytes.failed;
        firn_free(bytes.data);
    }
    uint64_t place = next_place(crate);
    firn_file_write(crate->file, table.data, table.count);
    firn_file_patch(crate->file, 16, &place, sizeof place);
    failed = failed || table.failed;
    firn_free(table.data);
    return !failed;
}

static void release(firn_crate_writer *crate)
{
    firn_free(crate->texts.data);
    firn_free(crate->paths.data);
    firn_free(crate->specs.data);
    firn_free(crate->fields.data);
    firn_free(crate->field_sets.data);
    firn_free(crate);
}

firn_result firn_crate_abandon(firn_crate_writer *crate, firn_error *error)
{
    firn_file_discard(crate->file);
    release(crate);
    return firn_fail(error, FIRN_ERR_MEMORY, "cannot write a USD layer: out of memory");
}

firn_result firn_crate_finish(firn_crate_writer *crate, firn_error *error)
{
    if (!write_sections(crate))
        return firn_crate_abandon(crate, error);
    firn_result result = firn_file_commit(crate->file, error);
    release(crate);
    return result;
}
