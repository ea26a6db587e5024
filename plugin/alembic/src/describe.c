#include "archive.h"

#include "firn/abc_scene.h"

#include <math.h>

// The stored samples of a property: equal neighbors count once.
static uint64_t stored_count(const firn_abc_property_record *record)
{
    if (record->info.sample_count == 0)
        return 0;
    return record->last == 0 ? 1 : (uint64_t)(record->last - record->first) + 2;
}

static uint32_t index_of_stored(const firn_abc_property_record *record, uint64_t stored)
{
    return stored == 0 ? 0 : record->first + (uint32_t)(stored - 1);
}

static firn_result count_range(const firn_abc *archive, int property, size_t *least, size_t *most,
                               firn_error *error)
{
    *least = *most = 0;
    if (property < 0 || archive->properties[property].info.kind == FIRN_ABC_PROPERTY_COMPOUND)
        return FIRN_OK;
    const firn_abc_property_record *record = &archive->properties[property];
    for (uint64_t i = 0; i < stored_count(record); i++) {
        size_t count = 0;
        FIRN_TRY(
            firn_abc_sample_size(archive, property, index_of_stored(record, i), &count, error));
        *least = i == 0 || count < *least ? count : *least;
        *most = count > *most ? count : *most;
    }
    return FIRN_OK;
}

static void include_box(firn_abc_summary *summary, const double *box)
{
    for (int i = 0; i < 3; i++)
        if (!(box[i] <= box[i + 3]))
            return; // the box of nothing
    for (int i = 0; i < 3; i++) {
        summary->bounds[i] = summary->has_bounds ? fmin(summary->bounds[i], box[i]) : box[i];
        summary->bounds[i + 3] =
            summary->has_bounds ? fmax(summary->bounds[i + 3], box[i + 3]) : box[i + 3];
    }
    summary->has_bounds = true;
}

static firn_result unite_bounds(const firn_abc *archive, int property, firn_abc_summary *summary,
                                firn_error *error)
{
    if (property < 0)
        return FIRN_OK;
    const firn_abc_property_record *record = &archive->properties[property];
    for (uint64_t i = 0; i < stored_count(record); i++) {
        firn_abc_array box;
        FIRN_TRY(firn_abc_read_typed(archive, property, index_of_stored(record, i),
                                     FIRN_ABC_POD_FLOAT64, 6, &box, error));
        if (box.count == 1)
            include_box(summary, box.values);
        firn_abc_array_free(&box);
    }
    return FIRN_OK;
}

static bool changes(const firn_abc *archive, int object, const char *path)
{
    int property = firn_abc_property_find(archive, object, path);
    return property >= 0 && !archive->properties[property].info.constant;
}

static void span_samples(const firn_abc *archive, int property, firn_abc_summary *summary)
{
    if (property < 0 || archive->properties[property].info.sample_count <= summary->sample_count)
        return;
    const firn_abc_property *info = &archive->properties[property].info;
    const firn_abc_time_sampling *sampling = &archive->samplings[info->time_sampling];
    summary->sample_count = info->sample_count;
    summary->first_time = firn_abc_sample_time(sampling, 0);
    summary->last_time = firn_abc_sample_time(sampling, info->sample_count - 1);
}

static firn_result summarize_geometry(const firn_abc *archive, int object, firn_abc_kind kind,
                                      firn_abc_summary *summary, firn_error *error)
{
    int positions = firn_abc_property_find(archive, object, ".geom/P");
    int ids = firn_abc_property_find(archive, object, ".geom/.pointIds");
    int faces = firn_abc_property_find(archive, object, ".geom/.faceCounts");
    span_samples(archive, positions, summary);
    span_samples(archive, ids, summary);
    FIRN_TRY(count_range(archive, positions, &summary->min_points, &summary->max_points, error));
    FIRN_TRY(count_range(archive, faces, &summary->min_faces, &summary->max_faces, error));
    bool is_points = kind == FIRN_ABC_KIND_POINTS;
    bool relinked = changes(archive, object, ".geom/.faceIndices") ||
                    changes(archive, object, ".geom/.faceCounts") ||
                    (is_points && changes(archive, object, ".geom/.pointIds"));
    if (relinked || summary->min_points != summary->max_points)
        summary->variance = FIRN_ABC_VARIANCE_HETEROGENEOUS;
    else if (changes(archive, object, ".geom/P"))
        summary->variance = FIRN_ABC_VARIANCE_HOMOGENEOUS;
    return unite_bounds(archive, firn_abc_property_find(archive, object, ".geom/.selfBnds"),
                        summary, error);
}

firn_result firn_abc_summarize(const firn_abc *archive, int object, firn_abc_summary *summary,
                               firn_error *error)
{
    FIRN_ASSERT(object >= 0 && object < archive->object_count);
    *summary = (firn_abc_summary){0};
    firn_abc_kind kind = archive->objects[object].info.kind;
    if (firn_abc_is_mesh(archive, object) || kind == FIRN_ABC_KIND_POINTS)
        return summarize_geometry(archive, object, kind, summary, error);
    if (kind == FIRN_ABC_KIND_XFORM) {
        span_samples(archive, firn_abc_property_find(archive, object, ".xform/.inherits"), summary);
        if (changes(archive, object, ".xform/.vals") ||
            changes(archive, object, ".xform/.inherits"))
            summary->variance = FIRN_ABC_VARIANCE_HOMOGENEOUS;
    }
    return FIRN_OK;
}
