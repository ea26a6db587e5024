/// Reads all that an archive offers, for tests that feed damaged ones.
#ifndef FIRN_TESTS_ABC_WALK_H
#define FIRN_TESTS_ABC_WALK_H

#include "firn/abc_scene.h"

/// The first failure of reading everything that is there: each object's samples, geometry at and
/// between sample times, world matrices, summaries. `content` takes the first failure that concerns
/// one object only, with its path.
typedef struct abc_walk_report {
    firn_error error;
    int failed_object; // of the first failure, -1 when none
    int failures;
    uint64_t values; // read in all
} abc_walk_report;

static inline void abc_walk_note(abc_walk_report *report, int object, firn_result result,
                                 const firn_error *error)
{
    if (result == FIRN_OK)
        return;
    if (report->failures++ == 0) {
        report->error = *error;
        report->failed_object = object;
    }
}

static inline void abc_walk_property(const firn_abc *archive, int property, abc_walk_report *report)
{
    const firn_abc_property *info = firn_abc_property_at(archive, property);
    uint32_t last = info->sample_count > 0 ? info->sample_count - 1 : 0;
    const uint32_t picks[] = {0, 1, 2, last / 2, last, UINT32_MAX};
    for (size_t i = 0; i < FIRN_COUNT(picks); i++) {
        firn_abc_array array = {FIRN_ABC_POD_BOOL, 0, 0, 0, NULL, {0}};
        firn_error error;
        bool is_param = info->kind == FIRN_ABC_PROPERTY_COMPOUND &&
                        firn_abc_is_indexed_param(archive, property);
        if (is_param || info->kind != FIRN_ABC_PROPERTY_COMPOUND)
            abc_walk_note(report, info->object,
                          firn_abc_read_param(archive, property, picks[i], &array, &error), &error);
        // Touch every byte, so that a sanitizer sees a wrong size.
        for (size_t k = 0; k < array.bytes; k++)
            report->values += ((const unsigned char *)array.values)[k] != 0 ? 1 : 0;
        firn_abc_array_free(&array);
    }
}

static inline void abc_walk_geometry(const firn_abc *archive, int object, double time,
                                     abc_walk_report *report)
{
    const firn_abc_object *info = firn_abc_object_at(archive, object);
    firn_error error;
    if (info->kind == FIRN_ABC_KIND_POLYMESH || info->kind == FIRN_ABC_KIND_SUBD) {
        firn_abc_mesh mesh;
        abc_walk_note(report, object, firn_abc_read_mesh(archive, object, time, &mesh, &error),
                      &error);
        for (size_t i = 0; i < mesh.corner_count; i++)
            report->values += mesh.position[mesh.corner[i]].x > mesh.velocity[0].x ? 1 : 0;
        firn_abc_mesh_free(&mesh);
    }
    if (info->kind == FIRN_ABC_KIND_POINTS) {
        firn_abc_points points;
        abc_walk_note(report, object, firn_abc_read_points(archive, object, time, &points, &error),
                      &error);
        for (size_t i = 0; i < points.count; i++)
            report->values += points.id != NULL && points.id[i] > 0 ? 1 : 0;
        firn_abc_points_free(&points);
    }
    if (info->kind == FIRN_ABC_KIND_SUBD) {
        firn_abc_cage cage;
        abc_walk_note(report, object, firn_abc_read_cage(archive, object, time, &cage, &error),
                      &error);
        for (size_t i = 0; i < 2 * cage.crease_count; i++)
            report->values += (size_t)cage.crease[i] < cage.vertex_count ? 1 : 0;
        firn_abc_cage_free(&cage);
    }
    if (info->kind == FIRN_ABC_KIND_CAMERA) {
        firn_abc_camera camera;
        abc_walk_note(report, object, firn_abc_read_camera(archive, object, time, &camera, &error),
                      &error);
    }
    firn_abc_matrix matrix, rate;
    abc_walk_note(report, object,
                  firn_abc_world_matrix(archive, object, time, &matrix, &rate, &error), &error);
}

static inline void abc_walk_object(const firn_abc *archive, int object, abc_walk_report *report)
{
    const firn_abc_object *info = firn_abc_object_at(archive, object);
    for (int i = 0; i < info->property_count; i++)
        abc_walk_property(archive, info->first_property + i, report);
    firn_abc_summary summary;
    firn_error error;
    abc_walk_note(report, object, firn_abc_summarize(archive, object, &summary, &error), &error);
    double middle = 0.5 * (summary.first_time + summary.last_time);
    const double times[] = {-1.0,
                            summary.first_time,
                            summary.first_time + 0.02,
                            middle < 1e300 && middle > -1e300 ? middle : 0.0,
                            summary.last_time < 1e300 ? summary.last_time : 1.0,
                            1e9};
    for (size_t i = 0; i < FIRN_COUNT(times); i++)
        abc_walk_geometry(archive, object, times[i], report);
}

static inline abc_walk_report abc_walk(const firn_abc *archive)
{
    abc_walk_report report = {{FIRN_OK, ""}, -1, 0, 0};
    for (int i = 0; i < firn_abc_object_count(archive); i++)
        abc_walk_object(archive, i, &report);
    firn_abc_mesh mesh;
    firn_error error;
    double first, last;
    firn_abc_time_range(archive, &first, &last);
    char text[200];
    firn_abc_leftover(archive, "m", text, sizeof text);
    // All; and face sets alone, or all but one.
    const char *const patterns[] = {NULL, "boots", "** ^boots"};
    for (size_t i = 0; i < FIRN_COUNT(patterns); i++) {
        firn_result result = firn_abc_read_world_mesh(archive, patterns[i], 0.03, &mesh, &error);
        abc_walk_note(&report, -1, result == FIRN_ERR_NOT_FOUND ? FIRN_OK : result, &error);
        firn_abc_mesh_free(&mesh);
    }
    return report;
}

#endif
