// Archives of every kind of motion, clock, velocities and hierarchy that our writer makes: what is
// read from each is the closed form, at samples, between them and outside.
#define _XOPEN_SOURCE 700
#include "mesh_file.h"

#include "firn/abc_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STILL, SHIFT, TURN, STRETCH, DEFORM, TOPOLOGY, KINDS };
enum { FROM_FRAME_1, FROM_ZERO, PAL, LATE, IRREGULAR, CLOCKS };
enum { SAMPLES = 6 };

// One archive.
typedef struct archive_kind {
    int motion, clock;
    bool stored; // velocities
    bool below;  // a group in centimeters that stands elsewhere
} archive_kind;

static const struct {
    double start, step;
} clocks[CLOCKS] = {{1.0 / 24.0, 1.0 / 24.0},
                    {0.0, 1.0 / 24.0},
                    {0.0, 1.0 / 25.0},
                    {1001.0 / 30.0, 1.0 / 30.0},
                    {0.5, 0.04}};

static double time_of(const archive_kind *k, int sample)
{
    static const double odd[SAMPLES] = {0.0, 0.03, 0.08, 0.12, 0.13, 0.2};
    if (k->clock == IRREGULAR)
        return clocks[k->clock].start + odd[sample];
    return clocks[k->clock].start + clocks[k->clock].step * sample;
}

static firn_vec3 corner(int i)
{
    return firn_vec((i & 1) != 0 ? 0.5f : -0.5f, (i & 2) != 0 ? 0.4f : -0.4f,
                    (i & 4) != 0 ? 0.3f : -0.3f);
}

// Where a point of the mesh is, t seconds after the first sample, before the group above.
static firn_vec3 moved(const archive_kind *k, firn_vec3 p, double t)
{
    float s = (float)t, angle = 0.7f * s;
    switch (k->motion) {
    case SHIFT:
    case TOPOLOGY:
        return firn_add(p, firn_vec(2.0f * s, 0.0f, s));
    case TURN:
        return firn_vec(cosf(angle) * p.x + sinf(angle) * p.z, p.y,
                        cosf(angle) * p.z - sinf(angle) * p.x);
    case STRETCH:
        return firn_vec(p.x * (1.0f + s), p.y, p.z * (1.0f - 0.5f * s));
    case DEFORM:
        return firn_vec(p.x, p.y + 3.0f * s * p.x, p.z);
    default:
        return p;
    }
}

static firn_vec3 in_world(const archive_kind *k, firn_vec3 p)
{
    return k->below ? firn_add(firn_scale(0.01f, p), firn_vec(1.0f, 2.0f, -3.0f)) : p;
}

static void put_faces(const archive_kind *k, int sample, firn_abc_mesh_data *data)
{
    // Clockwise seen from outside.
    static const int32_t quads[24] = {0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1,
                                      2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3};
    static const int32_t fours[6] = {4, 4, 4, 4, 4, 4},
                         threes[12] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    static int32_t triangles[36];
    bool cut = k->motion == TOPOLOGY && sample % 2 == 1;
    for (int f = 0; f < 6; f++) {
        const int32_t *q = quads + 4 * f;
        const int32_t two[6] = {q[0], q[1], q[2], q[0], q[2], q[3]};
        memcpy(triangles + 6 * f, two, sizeof two);
    }
    data->face_count = cut ? 12 : 6;
    data->corner_count = cut ? 36 : 24;
    data->face_counts = cut ? threes : fours;
    data->face_indices = cut ? triangles : quads;
}

static void put_mesh(const archive_kind *k, firn_abc_writer *writer, firn_abc_node node, int sample)
{
    firn_vec3 points[8], velocity[8];
    double t = time_of(k, sample) - time_of(k, 0);
    bool itself = k->motion == DEFORM || k->motion == TOPOLOGY;
    firn_abc_mesh_data data = {.point_count = 8, .positions = points};
    for (int i = 0; i < 8; i++) {
        points[i] = itself ? moved(k, corner(i), t) : corner(i);
        velocity[i] = itself ? firn_sub(moved(k, corner(i), 1.0), moved(k, corner(i), 0.0))
                             : firn_vec(0.0f, 0.0f, 0.0f);
    }
    data.velocities = k->stored ? velocity : NULL;
    put_faces(k, sample, &data);
    assert_int_equal(firn_abc_writer_put_mesh(writer, node, &data, NULL), FIRN_OK);
}

static const firn_abc_op ops[KINDS] = {
    [SHIFT] = FIRN_ABC_TRANSLATE, [TURN] = FIRN_ABC_ROTATE_Y, [STRETCH] = FIRN_ABC_SCALE};

static bool by_transform(const archive_kind *k)
{
    return k->motion >= SHIFT && k->motion <= STRETCH;
}

static void put_transform(const archive_kind *k, firn_abc_writer *writer, firn_abc_node node,
                          int sample)
{
    double t = time_of(k, sample) - time_of(k, 0);
    const double channels[KINDS][3] = {[SHIFT] = {2.0 * t, 0.0, t},
                                       [TURN] = {0.7 * t * 180.0 / 3.14159265358979},
                                       [STRETCH] = {1.0 + t, 1.0, 1.0 - 0.5 * t}};
    assert_int_equal(firn_abc_writer_put_xform(writer, node, channels[k->motion], true, NULL),
                     FIRN_OK);
}

static void write_kind(const archive_kind *k, const char *path)
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    firn_abc_xform_def group = firn_abc_xform_def_default(), carrier = group;
    firn_abc_writer *writer = NULL;
    firn_abc_node above = FIRN_ABC_ROOT, moving = FIRN_ABC_ROOT, node;
    firn_abc_clock clock;
    assert_int_equal(firn_abc_writer_create(path, &def, &writer, NULL), FIRN_OK);
    if (k->clock == IRREGULAR)
        firn_abc_writer_add_acyclic_clock(writer, &clock, NULL);
    else
        firn_abc_writer_add_clock(writer, clocks[k->clock].start, clocks[k->clock].step, &clock,
                                  NULL);
    if (k->below)
        firn_abc_writer_add_xform(writer, FIRN_ABC_ROOT, "set", &group, &above, NULL);
    carrier.clock = mesh.clock = clock;
    carrier.ops[0] = ops[k->motion];
    if (by_transform(k))
        firn_abc_writer_add_xform(writer, above, "actor", &carrier, &moving, NULL);
    mesh.velocities = k->stored;
    firn_abc_writer_add_mesh(writer, by_transform(k) ? moving : above, "body", &mesh, &node, NULL);
    uint32_t done;
    assert_int_equal(firn_abc_writer_begin(writer, &done, NULL), FIRN_OK);
    const double matrix[16] = {0.01, 0, 0, 0, 0, 0.01, 0, 0, 0, 0, 0.01, 0, 1, 2, -3, 1};
    if (k->below)
        firn_abc_writer_put_xform(writer, above, matrix, true, NULL);
    for (int s = 0; s < SAMPLES; s++) {
        if (k->clock == IRREGULAR)
            firn_abc_writer_put_time(writer, clock, time_of(k, s), NULL);
        if (by_transform(k))
            put_transform(k, writer, moving, s);
        put_mesh(k, writer, node, s);
        assert_int_equal(firn_abc_writer_end_frame(writer, NULL), FIRN_OK);
    }
    assert_int_equal(firn_abc_writer_finish(writer, NULL), FIRN_OK);
}

// Seconds after the first sample of what is shown at a time: held outside; without velocities a
// mesh of changing topology stays as it was at the sample before.
static double shown(const archive_kind *k, double t)
{
    double first = time_of(k, 0), at = first;
    bool stays = k->motion == TOPOLOGY && !k->stored;
    for (int s = 0; s < SAMPLES && stays; s++)
        at = time_of(k, s) <= t + 1e-5 ? time_of(k, s) : at;
    return (stays ? at : fmin(fmax(t, first), time_of(k, SAMPLES - 1))) - first;
}

static void check_time(const archive_kind *k, firn_mesh_file *file, double t)
{
    firn_mesh mesh;
    firn_error error = {0};
    if (firn_mesh_file_read(file, "", t, &mesh, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(mesh.vertex_count, 8);
    double at = shown(k, t), last = time_of(k, SAMPLES - 1) - time_of(k, 0), h = 1e-3;
    bool inside = at > h && at < last - h && !(k->motion == TOPOLOGY && !k->stored);
    float unit = k->below ? 0.01f : 1.0f;
    for (int i = 0; i < 8; i++) {
        // Between samples of a turn the angle is interpolated, not the points.
        firn_vec3 there = in_world(k, moved(k, corner(i), at));
        assert_true(firn_length(firn_sub(mesh.position[i], there)) < 2e-5f * unit + 2e-7f);
        if (!inside || (k->motion == STILL && mesh.velocity == NULL))
            continue;
        firn_vec3 way = firn_sub(in_world(k, moved(k, corner(i), at + h)),
                                 in_world(k, moved(k, corner(i), at - h)));
        assert_non_null(mesh.velocity);
        firn_vec3 off = firn_sub(mesh.velocity[i], firn_scale((float)(0.5 / h), way));
        assert_true(firn_length(off) < 0.01f * unit + 1e-3f);
    }
    firn_mesh_free(&mesh);
}

static void check_kind(const archive_kind *k, const char *path)
{
    firn_mesh_file file = {.subd = {0, 0.0f}};
    write_kind(k, path);
    assert_int_equal(firn_mesh_file_open(&file, path, "", NULL), FIRN_OK);
    assert_int_equal(file.ranged, k->motion != STILL);
    if (file.ranged) {
        assert_float_equal(file.first_time, time_of(k, 0), 1e-9);
        assert_float_equal(file.last_time, time_of(k, SAMPLES - 1), 1e-9);
    }
    for (int s = 0; s < SAMPLES; s++) {
        check_time(k, &file, time_of(k, s));
        if (s + 1 < SAMPLES)
            check_time(k, &file, 0.7 * time_of(k, s) + 0.3 * time_of(k, s + 1));
    }
    check_time(k, &file, time_of(k, 0) - 1.0);
    // What changes its topology and has velocities would go on by them.
    if (k->motion != TOPOLOGY)
        check_time(k, &file, time_of(k, SAMPLES - 1) + 1.0);
    firn_mesh_file_close(&file);
    unlink(path);
}

static void every_kind_of_archive_is_read_as_it_was_meant(void **state)
{
    (void)state;
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "archive_kinds_%d.abc", (int)getpid());
    for (int motion = 0; motion < KINDS; motion++)
        for (int clock = 0; clock < CLOCKS; clock++)
            for (int more = 0; more < 4; more++, count++) {
                archive_kind kind = {motion, clock, (more & 1) != 0, (more & 2) != 0};
                check_kind(&kind, path);
            }
    printf("%d archives\n", count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_archive_is_read_as_it_was_meant),
    };
    return cmocka_run_group_tests_name("archive_kinds", tests, NULL, NULL);
}
