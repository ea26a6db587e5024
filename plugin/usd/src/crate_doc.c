// A layer in the crate format as a doc.
#include "doc.h"

#include <stdio.h>
#include <string.h>

// The number that is in a value itself, or at its place.
static bool one_number(const firn_usd_doc *doc, firn_crate_value value, double *number)
{
    firn_usd_numbers read = {.kind = FIRN_USD_F64, .tuple = 1};
    bool found = firn_usd_crate_numbers(doc, value, &read, NULL) == FIRN_OK && read.count == 1;
    if (found)
        *number = *(double *)read.data;
    firn_free(read.data);
    return found;
}

// --- Arcs ----------------------------------------------------------------------------------------

/// A place that moves on.
typedef struct reader {
    firn_usd_doc *doc;
    uint64_t at;
} reader;

static bool take(reader *r, void *data, size_t size)
{
    const unsigned char *from = firn_crate_at(&r->doc->crate, r->at, size);
    if (from == NULL)
        return false;
    memcpy(data, from, size);
    r->at += size;
    return true;
}

static bool take_string(reader *r, const char **text)
{
    uint32_t index;
    const firn_crate_file *file = &r->doc->crate;
    if (!take(r, &index, sizeof index) || index >= file->string_count)
        return false;
    *text = file->tokens[file->strings[index]];
    return true;
}

static bool take_path(reader *r, const char **text)
{
    uint32_t index;
    char path[4096];
    firn_usd_doc *doc = r->doc;
    if (!take(r, &index, sizeof index) || index >= doc->crate.path_count ||
        !firn_crate_path_text(&doc->crate, (int32_t)index, path, sizeof path))
        return false;
    *text = firn_usd_doc_keep(doc, path, strlen(path));
    return *text != NULL;
}

static bool take_item(reader *r, firn_crate_type type, firn_usd_arc *arc)
{
    if (type == FIRN_CRATE_PATH_LIST) {
        arc->kind = FIRN_USD_INHERIT;
        return take_path(r, &arc->prim);
    }
    bool payload = type != FIRN_CRATE_REFERENCE_LIST;
    arc->kind = payload ? FIRN_USD_PAYLOAD : FIRN_USD_REFERENCE;
    if (!take_string(r, &arc->asset) || !take_path(r, &arc->prim))
        return false;
    if (payload && r->doc->crate.minor < 8)
        return true;
    if (!take(r, &arc->offset, sizeof(double)) || !take(r, &arc->scale, sizeof(double)))
        return false;
    // What pipelines note beside a reference is not read, and nothing can be found behind it.
    uint64_t notes = 0;
    return payload || (take(r, &notes, sizeof notes) && notes == 0);
}

// Lists of what is explicit, added, put before and after; those that are taken away follow them.
static bool read_list(firn_usd_doc *doc, int spec, firn_crate_value value)
{
    enum { IS_EXPLICIT = 2, ADDED = 4, BEFORE = 32, AFTER = 64 };
    static const int lists[] = {IS_EXPLICIT, ADDED, BEFORE, AFTER};
    reader r = {doc, value & FIRN_CRATE_PAYLOAD};
    unsigned char header;
    if (!take(&r, &header, 1))
        return false;
    for (size_t k = 0; k < FIRN_COUNT(lists); k++) {
        uint64_t count;
        if ((header & lists[k]) == 0)
            continue;
        if (!take(&r, &count, sizeof count))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            firn_usd_arc arc = {.asset = "", .prim = "", .scale = 1.0};
            if (!take_item(&r, firn_crate_type_of(value), &arc) ||
                firn_usd_doc_add_arc(doc, spec, arc) < 0)
                return false;
        }
    }
    return true;
}

static bool read_arcs(firn_usd_doc *doc, int spec, firn_crate_value value)
{
    firn_crate_type type = firn_crate_type_of(value);
    if (type == FIRN_CRATE_PAYLOAD_ONE) {
        reader r = {doc, value & FIRN_CRATE_PAYLOAD};
        firn_usd_arc arc = {.asset = "", .prim = "", .scale = 1.0};
        return take_item(&r, type, &arc) && firn_usd_doc_add_arc(doc, spec, arc) >= 0;
    }
    bool known = type == FIRN_CRATE_REFERENCE_LIST || type == FIRN_CRATE_PAYLOAD_LIST ||
                 type == FIRN_CRATE_PATH_LIST;
    return !known || read_list(doc, spec, value);
}

static bool read_selections(firn_usd_doc *doc, int spec, firn_crate_value value)
{
    reader r = {doc, value & FIRN_CRATE_PAYLOAD};
    uint64_t count;
    if (firn_crate_type_of(value) != FIRN_CRATE_SELECTIONS || !take(&r, &count, sizeof count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const char *set, *name;
        char text[512];
        if (!take_string(&r, &set) || !take_string(&r, &name))
            return false;
        int length = snprintf(text, sizeof text, "{%s=%s}", set, name);
        if (length < 0 || (size_t)length >= sizeof text)
            return false;
        firn_usd_arc arc = {.kind = FIRN_USD_VARIANT,
                            .asset = "",
                            .prim = firn_usd_doc_keep(doc, text, (size_t)length),
                            .scale = 1.0};
        if (firn_usd_doc_add_arc(doc, spec, arc) < 0)
            return false;
    }
    return true;
}

static bool read_sublayers(firn_usd_doc *doc, firn_crate_value layers, bool has_offsets,
                           firn_crate_value offsets)
{
    reader r = {doc, layers & FIRN_CRATE_PAYLOAD}, o = {doc, offsets & FIRN_CRATE_PAYLOAD};
    uint64_t count, known = 0;
    if (firn_crate_type_of(layers) != FIRN_CRATE_STRING_VECTOR || !take(&r, &count, sizeof count))
        return false;
    if (has_offsets && (firn_crate_type_of(offsets) != FIRN_CRATE_OFFSET_VECTOR ||
                        !take(&o, &known, sizeof known)))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        firn_usd_arc arc = {.kind = FIRN_USD_SUBLAYER, .prim = "", .scale = 1.0};
        if (!take_string(&r, &arc.asset) ||
            (i < known && (!take(&o, &arc.offset, 8) || !take(&o, &arc.scale, 8))) ||
            firn_usd_doc_add_arc(doc, 0, arc) < 0)
            return false;
    }
    return true;
}

// --- Specs ---------------------------------------------------------------------------------------

static bool read_root(firn_usd_doc *doc, const firn_crate_spec *spec)
{
    const firn_crate_file *file = &doc->crate;
    firn_crate_value value, offsets = 0;
    const char *text;
    if (firn_crate_field(file, spec, "defaultPrim", &value) &&
        (text = firn_crate_text(file, value)) != NULL)
        doc->default_prim = text;
    if (firn_crate_field(file, spec, "upAxis", &value) &&
        (text = firn_crate_text(file, value)) != NULL)
        doc->up_axis = text;
    const struct {
        const char *name;
        double *number;
    } numbers[] = {{"metersPerUnit", &doc->meters_per_unit},
                   {"timeCodesPerSecond", &doc->codes_per_second},
                   {"framesPerSecond", &doc->frames_per_second}};
    for (size_t i = 0; i < FIRN_COUNT(numbers); i++)
        if (firn_crate_field(file, spec, numbers[i].name, &value))
            one_number(doc, value, numbers[i].number);
    if (!firn_crate_field(file, spec, "subLayers", &value))
        return true;
    bool has_offsets = firn_crate_field(file, spec, "subLayerOffsets", &offsets);
    return read_sublayers(doc, value, has_offsets, offsets);
}

static bool read_prim(firn_usd_doc *doc, const firn_crate_spec *from, int spec)
{
    static const char *const arcs[] = {"references", "payload", "inheritPaths", "specializes"};
    const firn_crate_file *file = &doc->crate;
    firn_usd_spec *to = &doc->specs[spec];
    firn_crate_value value;
    const char *text;
    double number;
    if (firn_crate_field(file, from, "typeName", &value) &&
        (text = firn_crate_text(file, value)) != NULL)
        to->type = text;
    to->specifier = from->type == FIRN_SPEC_VARIANT ? 0 : 1;
    if (firn_crate_field(file, from, "specifier", &value))
        to->specifier = (int)(value & 3);
    if (firn_crate_field(file, from, "active", &value) && one_number(doc, value, &number))
        to->inactive = number == 0.0;
    if (firn_crate_field(file, from, "instanceable", &value) && one_number(doc, value, &number))
        to->instanceable = number != 0.0;
    for (size_t i = 0; i < FIRN_COUNT(arcs); i++)
        if (firn_crate_field(file, from, arcs[i], &value) && !read_arcs(doc, spec, value))
            return false;
    return !firn_crate_field(file, from, "variantSelection", &value) ||
           read_selections(doc, spec, value);
}

// The spec of a path, made with those above it; -1: that is not possible.
static int spec_of(firn_usd_doc *doc, int32_t path, int *specs)
{
    const firn_crate_file *file = &doc->crate;
    int32_t chain[FIRN_USD_NESTING];
    int depth = 0;
    for (; specs[path] < 0; path = file->path_parents[path]) {
        if (depth == FIRN_USD_NESTING || file->path_parents[path] < 0 ||
            file->path_tokens[path] < 0)
            return -1;
        chain[depth++] = path;
    }
    int spec = specs[path];
    while (depth-- > 0 && spec >= 0) {
        spec = firn_usd_doc_add_spec(doc, spec, file->tokens[file->path_tokens[chain[depth]]]);
        if (spec >= 0)
            doc->specs[spec].specifier = 1;
        specs[chain[depth]] = spec;
    }
    return spec;
}

static bool add_samples(firn_usd_doc *doc, firn_usd_property *to, firn_crate_value value)
{
    enum { BLOCK = 51 };
    const unsigned char *times, *values;
    size_t count;
    if (!firn_crate_samples_of(&doc->crate, value, &times, &values, &count))
        return false;
    to->first_sample = doc->sample_count;
    for (size_t i = 0; i < count; i++) {
        firn_usd_sample sample = {0};
        memcpy(&sample.time, times + 8 * i, 8);
        memcpy(&sample.value.place, values + 8 * i, 8);
        sample.value.given = firn_crate_type_of(sample.value.place) != (firn_crate_type)BLOCK;
        if (!firn_usd_doc_add_sample(doc, sample))
            return false;
        to->sample_count++;
    }
    return true;
}

static bool read_property(firn_usd_doc *doc, const firn_crate_spec *from, const int *specs)
{
    const firn_crate_file *file = &doc->crate;
    int32_t token = file->path_tokens[from->path], parent = file->path_parents[from->path];
    firn_crate_value value;
    if (token >= 0 || parent < 0 || specs[parent] < 0)
        return true; // below what is not read
    const char *type = from->type == FIRN_SPEC_RELATIONSHIP ? "rel" : "";
    if (firn_crate_field(file, from, "typeName", &value) && firn_crate_text(file, value) != NULL)
        type = firn_crate_text(file, value);
    int added = firn_usd_doc_add_property(doc, specs[parent], file->tokens[-token], type);
    if (added < 0)
        return false;
    firn_usd_property *to = &doc->properties[added];
    if (firn_crate_field(file, from, "default", &value))
        to->value = (firn_usd_ref){value, true};
    else if (firn_crate_field(file, from, "targetPaths", &value))
        to->value = (firn_usd_ref){value, true};
    return !firn_crate_field(file, from, "timeSamples", &value) || add_samples(doc, to, value);
}

static bool read_specs(firn_usd_doc *doc, int *specs)
{
    const firn_crate_file *file = &doc->crate;
    for (size_t i = 0; i < file->path_count; i++)
        specs[i] = file->path_parents[i] < 0 ? 0 : -1;
    for (size_t i = 0; i < file->spec_count; i++) {
        const firn_crate_spec *from = &file->specs[i];
        if (from->type == FIRN_SPEC_ROOT && !read_root(doc, from))
            return false;
        if (from->type != FIRN_SPEC_PRIM && from->type != FIRN_SPEC_VARIANT)
            continue;
        int spec = spec_of(doc, from->path, specs);
        if (spec < 0 || !read_prim(doc, from, spec))
            return false;
    }
    for (size_t i = 0; i < file->spec_count; i++) {
        const firn_crate_spec *from = &file->specs[i];
        bool wanted = from->type == FIRN_SPEC_ATTRIBUTE || from->type == FIRN_SPEC_RELATIONSHIP;
        if (wanted && !read_property(doc, from, specs))
            return false;
    }
    return true;
}

firn_result firn_usd_doc_decode(firn_usd_doc *doc, firn_error *error)
{
    int *specs = firn_alloc((doc->crate.path_count + 1) * sizeof *specs);
    bool fits = specs != NULL && read_specs(doc, specs);
    firn_free(specs);
    return fits ? FIRN_OK
                : firn_fail(error, FIRN_ERR_FORMAT,
                            "'%.300s' is a damaged USD layer, or one that notes more beside its "
                            "references than can be read: its prims do not fit the file",
                            doc->path);
}
