// Motion of colliders from files: what is seen, what is stored, jumps, gaps, times, refusals.
#define _XOPEN_SOURCE 700
#include "clip.h"
#include "placement.h"
#include "volume_place.h"

#include "firn/abc_write.h"
#include "firn/cache.h"
#include "firn/graph.h"
#include "firn/vdb_motion.h"
#include "firn/vdb_surface.h"

#include "graph_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int32_t sizes[6] = {4, 4, 4, 4, 4, 4};
static const int32_t corners[24] = {0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1,
                                    2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3};

// A box of 0.4 x 0.2 x 0.3 m at a pose.
static void box(firn_transform pose, firn_vec3 points[8])
{
    for (int i = 0; i < 8; i++)
        points[i] = firn_transform_point(
            pose, firn_vec(i & 4 ? 0.2f : -0.2f, i & 2 ? 0.1f : -0.1f, i & 1 ? 0.15f : -0.15f));
}

static firn_transform pose_at(float x, float degrees)
{
    firn_place_def place = {{x, 0, 0}, {0, degrees, 0}, 1.0f, {0, 0, 0}};
    return firn_place_transform(&place);
}

static firn_vdb_shape *shape_at(firn_transform pose)
{
    firn_vec3 points[8];
    box(pose, points);
    firn_vdb_mesh mesh = {8, points, NULL, 6, sizes, 24, corners};
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    def.voxel_size = 0.02f;
    firn_vdb_shape *shape = NULL;
    assert_int_equal(firn_vdb_shape_from_mesh(&def, &mesh, &shape, NULL), FIRN_OK);
    return shape;
}

// The largest error of the velocities near the surface against a rigid motion, and their mean size.
static float worst_error(const firn_vdb_shape *shape, firn_transform from, firn_transform to,
                         bool at_end, float seconds)
{
    const firn_velocity_grid *v = firn_vdb_shape_velocity(shape);
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    assert_non_null(v);
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i < set->leaf_count * FIRN_LEAF_VOXELS; i++) {
        if (fabsf(set->values[i]) > 0.02f)
            continue;
        firn_coord o = set->leaf_origin[i / FIRN_LEAF_VOXELS];
        int n = (int)(i % FIRN_LEAF_VOXELS);
        firn_vec3 p =
            firn_transform_point(set->map, firn_vec((float)(o.x + n / 64), (float)(o.y + n / 8 % 8),
                                                    (float)(o.z + n % 8)));
        firn_transform here = at_end ? to : from, there = at_end ? from : to;
        firn_vec3 q = firn_transform_point(there, firn_transform_point_inverse(here, p));
        firn_vec3 way = at_end ? firn_sub(p, q) : firn_sub(q, p);
        firn_vec3 off = firn_sub(v->values[i], firn_scale(1.0f / seconds, way));
        sum += (double)firn_dot(off, off);
        count += 1.0;
    }
    return (float)sqrt(sum / count);
}

static void rigid_motion_is_seen_in_two_distance_fields(void **state)
{
    (void)state;
    static const struct {
        float way, degrees;
    } cases[] = {{0.03f, 0.0f}, {0.1f, 0.0f}, {0.3f, 0.0f}, {0.0f, 8.0f}, {0.1f, 12.0f}};
    const float seconds = 1.0f / 24.0f;
    for (size_t i = 0; i < FIRN_COUNT(cases); i++) {
        firn_transform from = pose_at(0.0f, 0.0f), to = pose_at(cases[i].way, cases[i].degrees);
        firn_vdb_shape *a = shape_at(from), *b = shape_at(to);
        firn_vdb_motion motion;
        firn_error error = {0};
        assert_int_equal(firn_vdb_shape_follow(a, b, (double)seconds, 300.0, &motion, &error),
                         FIRN_OK);
        assert_false(motion.jumped);
        assert_false(firn_vdb_shape_has_stored_velocity(a));
        float speed = (cases[i].way + 0.15f * 0.01745f * cases[i].degrees) / seconds;
        // Edges and corners round off by a part of a voxel.
        assert_true(worst_error(a, from, to, false, seconds) < 0.05f * speed + 0.03f);
        assert_true(worst_error(b, from, to, true, seconds) < 0.05f * speed + 0.03f);
        firn_vdb_shape_destroy(a);
        firn_vdb_shape_destroy(b);
    }
}

static void what_stands_still_is_seen_to_rest(void **state)
{
    (void)state;
    firn_vdb_shape *a = shape_at(pose_at(0.1f, 20.0f)), *b = shape_at(pose_at(0.1f, 20.0f));
    assert_int_equal(firn_vdb_shape_follow(a, b, 1.0 / 24.0, 300.0, NULL, NULL), FIRN_OK);
    const firn_velocity_grid *v = firn_vdb_shape_velocity(b);
    for (size_t i = 0; i < v->leaf_count * FIRN_LEAF_VOXELS; i++)
        assert_true(firn_length(v->values[i]) < 1e-6f);
    firn_vdb_shape_destroy(a);
    firn_vdb_shape_destroy(b);
}

static void a_jump_gives_no_velocity(void **state)
{
    (void)state;
    firn_vdb_shape *a = shape_at(pose_at(0.0f, 0.0f)), *b = shape_at(pose_at(5.0f, 0.0f));
    firn_vdb_motion motion;
    assert_int_equal(firn_vdb_shape_follow(a, b, 1.0 / 24.0, 300.0, &motion, NULL), FIRN_OK);
    assert_true(motion.jumped);
    assert_null(firn_vdb_shape_velocity(a));
    assert_null(firn_vdb_shape_velocity(b));
    firn_vdb_shape_destroy(a);
    firn_vdb_shape_destroy(b);
}

// --- Times ---------------------------------------------------------------------------------------

static void clips_hold_loop_and_bounce(void **state)
{
    (void)state;
    firn_clip_def def = {.offset = 0.0, .speed = 1.0, .outside = FIRN_OUTSIDE_HOLD};
    firn_clip clip = firn_clip_make(&def, true, 1, 24.0);
    clip.ranged = true;
    clip.first = 1.0;
    clip.last = 4.0;
    static const struct {
        firn_outside outside;
        double at[8]; // at frames -1 to 6
    } cases[] = {{FIRN_OUTSIDE_AUTO, {-1, 0, 1, 2, 3, 4, 5, 6}},
                 {FIRN_OUTSIDE_HOLD, {1, 1, 1, 2, 3, 4, 4, 4}},
                 {FIRN_OUTSIDE_LOOP, {3, 4, 1, 2, 3, 4, 1, 2}},
                 {FIRN_OUTSIDE_BOUNCE, {3, 2, 1, 2, 3, 4, 3, 2}}};
    for (size_t i = 0; i < FIRN_COUNT(cases); i++)
        for (int k = 0; k < 8; k++) {
            clip.def.outside = (int)cases[i].outside;
            assert_float_equal(firn_clip_frame(&clip, k - 1), cases[i].at[k], 1e-12);
        }
    assert_float_equal(firn_clip_rate(&clip, 2.5), 1.0, 0.0);
    assert_float_equal(firn_clip_rate(&clip, 5.0), -1.0, 0.0);
    clip.def.outside = FIRN_OUTSIDE_HOLD;
    assert_float_equal(firn_clip_rate(&clip, 9.0), 0.0, 0.0);
    clip.def = (firn_clip_def){.offset = 10.0, .speed = 0.5};
    assert_float_equal(firn_clip_frame(&clip, 5.0), 13.0, 1e-12);
}

static void places_turn_about_their_pivot(void **state)
{
    (void)state;
    firn_place_def place = {{0, 0, 0}, {0, 90, 0}, 2.0f, {1, 2, 3}};
    firn_vec3 p = firn_transform_point(firn_place_transform(&place), place.pivot);
    assert_true(firn_length(firn_sub(p, place.pivot)) < 1e-5f);
    firn_axes_def axes = {1, 1}; // centimeters, Z up
    firn_vec3 file = {100, 200, 300}, ours = file;
    firn_axes_convert(&axes, &ours, 1);
    assert_true(firn_length(firn_sub(ours, firn_vec(1, 3, -2))) < 1e-6f);
    firn_vec3 again = firn_transform_point(firn_axes_transform(&axes), file);
    assert_true(firn_length(firn_sub(ours, again)) < 1e-5f);
}

// A ball of snow in one leaf, off the lattice; where and how heavy it is.
typedef struct weighed {
    double mass; // kg
    firn_vec3 center, velocity;
} weighed;

static weighed weigh(const firn_field_view *f)
{
    double mass = 0.0, sum[3] = {0}, momentum[3] = {0};
    for (size_t i = 0; i < f->leaf_count * FIRN_LEAF_VOXELS; i++) {
        firn_coord o = f->leaf_origin[i / FIRN_LEAF_VOXELS];
        int n = (int)(i % FIRN_LEAF_VOXELS);
        const double at[3] = {o.x + n / 64 + 0.5, o.y + n / 8 % 8 + 0.5, o.z + n % 8 + 0.5};
        const firn_vec3 v = f->velocity[i];
        const float flow[3] = {v.x, v.y, v.z};
        double m = (double)f->density[i] * pow((double)f->voxel_size, 3.0);
        mass += m;
        for (int k = 0; k < 3; k++) {
            sum[k] += m * at[k] * (double)f->voxel_size;
            momentum[k] += m * (double)flow[k];
        }
    }
    return (weighed){
        mass,
        {(float)(sum[0] / mass), (float)(sum[1] / mass), (float)(sum[2] / mass)},
        {(float)(momentum[0] / mass), (float)(momentum[1] / mass), (float)(momentum[2] / mass)}};
}

static void volumes_keep_their_mass_wherever_they_are_put(void **state)
{
    (void)state;
    static float density[FIRN_LEAF_VOXELS];
    static firn_vec3 velocity[FIRN_LEAF_VOXELS];
    static uint64_t mask[8];
    const firn_coord origin = {8, -8, 0};
    memset(mask, 0, sizeof mask);
    for (int n = 0; n < FIRN_LEAF_VOXELS; n++) {
        firn_vec3 p = {(float)(n / 64) - 3.0f, (float)(n / 8 % 8) - 4.0f, (float)(n % 8) - 3.5f};
        density[n] = fmaxf(0.0f, 400.0f * (1.0f - firn_dot(p, p) / 9.0f));
        velocity[n] = firn_vec(1.0f, 0.0f, 0.0f);
        if (density[n] > 0.0f)
            mask[n / 64] |= (uint64_t)1 << n % 64;
    }
    firn_field_view field = {.voxel_size = 0.1f,
                             .leaf_count = 1,
                             .leaf_origin = &origin,
                             .mask = mask,
                             .density = density,
                             .velocity = velocity};
    firn_transform ours = {{0.05f, 0.05f, 0.05f}, firn_quat_identity(), 0.1f};
    assert_true(firn_volume_is_aligned(ours));
    weighed before = weigh(&field);
    static const firn_place_def places[] = {{{0.3f, 0, 0}, {0, 0, 0}, 1, {0, 0, 0}},
                                            {{0.123f, -0.47f, 0.066f}, {0, 0, 0}, 1, {0, 0, 0}},
                                            {{0, 0, 0}, {0, 90, 0}, 1, {0, 0, 0}},
                                            {{1, 2, 3}, {20, 30, 40}, 1, {0.5f, 0, 0}}};
    for (size_t i = 0; i < FIRN_COUNT(places); i++) {
        firn_transform pose = firn_place_transform(&places[i]);
        firn_placed_volume placed = {0};
        assert_int_equal(firn_volume_place(&placed, &field, firn_transform_after(pose, ours),
                                           pose.rotation, 1.0f, NULL),
                         FIRN_OK);
        weighed after = weigh(&placed.field);
        firn_vec3 center = firn_transform_point(pose, before.center);
        firn_vec3 flow = firn_rotate(pose.rotation, before.velocity);
        assert_true(fabs(after.mass / before.mass - 1.0) < 0.02);
        assert_true(firn_length(firn_sub(after.center, center)) < 0.005f);
        assert_true(firn_length(firn_sub(after.velocity, flow)) < 0.01f);
        firn_volume_release(&placed);
    }
}

static firn_vec3 mean_of(const firn_points *points, const char *name)
{
    const firn_vec3 *values = firn_points_find(points, name)->data;
    firn_vec3 sum = {0, 0, 0};
    for (size_t i = 0; i < points->count; i++)
        sum = firn_add(sum, values[i]);
    return firn_scale(1.0f / (float)points->count, sum);
}

static void particles_of_a_cache_are_put_elsewhere(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    firn_graph *graph = fixture_load(fixture_scene, folder);
    firn_bake_def def = firn_bake_def_default();
    assert_int_equal(firn_graph_bake(graph, &def, NULL), FIRN_OK);
    firn_graph_destroy(graph);
    static const char reading[] =
        "{\"firn\": 1, \"name\": \"again\", \"frames\": [101, 106], \"nodes\": {\"back\": "
        "{\"type\": \"read_particles\", \"params\": {\"file\": "
        "\"cache/drop/v1/drop_v1.$F4.bgeo\", \"time_offset\": -100%s}}}}";
    firn_vec3 position[2], velocity[2];
    for (int i = 0; i < 2; i++) {
        char text[1024];
        const firn_data *data = NULL;
        firn_error error = {0};
        snprintf(text, sizeof text, reading,
                 i == 0 ? "" : ", \"file_unit\": \"dm\", \"file_up\": \"z\", \"scale\": 2");
        graph = fixture_load(text, folder);
        if (firn_graph_cook(graph, "back", 103, &data, &error) != FIRN_OK)
            fail_msg("%s", error.message);
        position[i] = mean_of(&data->particles->points, "P");
        velocity[i] = mean_of(&data->particles->points, "v");
        firn_graph_destroy(graph);
    }
    firn_vec3 p = position[0], v = velocity[0];
    assert_true(firn_length(v) > 0.2f);
    assert_true(firn_length(firn_sub(position[1], firn_vec(0.2f * p.x, 0.2f * p.z, -0.2f * p.y))) <
                1e-4f);
    assert_true(firn_length(firn_sub(velocity[1], firn_vec(0.2f * v.x, 0.2f * v.z, -0.2f * v.y))) <
                1e-4f);
    fixture_remove(folder);
}

// --- The node ------------------------------------------------------------------------------------

static float way[16]; // of the box at each frame

static void write_objs(const char *folder, int first, int last)
{
    for (int frame = first; frame <= last; frame++) {
        char path[256];
        snprintf(path, sizeof path, "%s/box.%04d.obj", folder, frame);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        firn_vec3 points[8];
        box(pose_at(way[frame], 0.0f), points);
        for (int i = 0; i < 8; i++)
            fprintf(file, "v %.9g %.9g %.9g\n", (double)points[i].x, (double)points[i].y,
                    (double)points[i].z);
        for (int i = 0; i < 24; i += 4)
            fprintf(file, "f %d %d %d %d\n", corners[i] + 1, corners[i + 1] + 1, corners[i + 2] + 1,
                    corners[i + 3] + 1);
        fclose(file);
    }
}

typedef struct heard {
    int count;
    char text[2048];
} heard;

static void hear(firn_level level, const char *node, const char *message, void *user)
{
    (void)level;
    (void)node;
    heard *h = user;
    h->count++;
    snprintf(h->text + strlen(h->text), sizeof h->text - strlen(h->text), "%s\n", message);
}

static firn_graph *load(const char *folder, const char *const *settings, heard *h)
{
    firn_graph *graph = fixture_load(fixture_scene, folder);
    static const char *const usual[] = {"ground.shape=mesh", "ground.file=box.$F4.obj",
                                        "ground.mesh_voxel_size=0.05", NULL};
    for (const char *const *list = usual; list != NULL; list = list == usual ? settings : NULL)
        for (size_t i = 0; list[i] != NULL; i++) {
            firn_error error = {0};
            if (firn_graph_set_text(graph, list[i], &error) != FIRN_OK)
                fail_msg("%s", error.message);
        }
    static firn_host host;
    host = (firn_host){.log = hear, .user = h};
    firn_graph_set_host(graph, &host);
    return graph;
}

// The speed along x of the surface at the end of an interval; 0 when it has none.
static float speed_at(firn_graph *graph, int frame, int side)
{
    const firn_data *data = NULL;
    firn_error error = {0};
    if (firn_graph_cook(graph, "ground", frame, &data, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    const firn_velocity_grid *v = data->collider->surface[side].velocity;
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; v != NULL && i < v->leaf_count * FIRN_LEAF_VOXELS; i++)
        if (v->values[i].x != 0.0f) {
            sum += (double)v->values[i].x;
            count += 1.0;
        }
    return count > 0.0 ? (float)(sum / count) : 0.0f;
}

static void numbered_meshes_move_as_their_vertices_do(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    for (int i = 0; i < 16; i++)
        way[i] = 0.01f * (float)(i * i);
    write_objs(folder, 1, 7);
    static const char *const none[] = {NULL};
    heard h = {0};
    firn_graph *graph = load(folder, none, &h);
    // Central differences of a parabola are exact; at the ends there is one side only.
    for (int frame = 3; frame <= 6; frame++)
        assert_float_equal(speed_at(graph, frame, 0), 24.0f * 0.02f * (float)(frame - 1), 1e-3f);
    assert_float_equal(speed_at(graph, 2, 0), 24.0f * 0.03f, 1e-3f);
    assert_int_equal(h.count, 0);
    assert_int_equal(firn_graph_set_text(graph, "ground.velocity_from=rest", NULL), FIRN_OK);
    assert_float_equal(speed_at(graph, 4, 1), 0.0f, 0.0f);
    assert_int_equal(firn_graph_set_text(graph, "ground.velocity_from=auto", NULL), FIRN_OK);
    assert_int_equal(firn_graph_set_text(graph, "ground.time_speed=-1", NULL), FIRN_OK);
    assert_int_equal(firn_graph_set_text(graph, "ground.time_offset=6", NULL), FIRN_OK);
    assert_float_equal(speed_at(graph, 4, 1), -24.0f * 0.08f, 1e-3f);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void a_mesh_that_jumps_pushes_nothing(void **state)
{
    (void)state;
    char folder[64];
    fixture_folder(folder, sizeof folder);
    for (int i = 0; i < 16; i++)
        way[i] = 0.01f * (float)i + (i > 3 ? 4.0f : 0.0f);
    write_objs(folder, 1, 6);
    static const char *const none[] = {NULL};
    heard h = {0};
    firn_graph *graph = load(folder, none, &h);
    for (int frame = 2; frame <= 6; frame++)
        for (int side = 0; side < 2; side++)
            assert_float_equal(speed_at(graph, frame, side), 0.24f, 1e-3f);
    assert_non_null(strstr(h.text, "jumps"));
    firn_graph_destroy(graph);

    // What starts at full speed and goes on is no jump.
    for (int i = 0; i < 16; i++)
        way[i] = i > 3 ? 0.6f * (float)(i - 3) : 0.0f;
    write_objs(folder, 1, 6);
    memset(&h, 0, sizeof h);
    graph = load(folder, none, &h);
    assert_float_equal(speed_at(graph, 5, 1), 24.0f * 0.6f, 1e-2f);
    assert_float_equal(speed_at(graph, 4, 0), 12.0f * 0.6f, 1e-2f);
    assert_int_equal(h.count, 0);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void gaps_of_meshes_are_held_or_bridged(void **state)
{
    (void)state;
    char folder[64], path[256];
    fixture_folder(folder, sizeof folder);
    for (int i = 0; i < 16; i++)
        way[i] = 0.02f * (float)i;
    write_objs(folder, 1, 6);
    snprintf(path, sizeof path, "%s/box.0004.obj", folder);
    assert_int_equal(unlink(path), 0);
    static const char *const none[] = {NULL};
    heard h = {0};
    firn_graph *graph = load(folder, none, &h);
    const firn_data *data = NULL;
    firn_error error = {0};
    assert_int_not_equal(firn_graph_cook(graph, "ground", 4, &data, &error), FIRN_OK);
    assert_non_null(strstr(error.message, "box.0004.obj"));
    assert_int_equal(firn_graph_validate(graph, NULL, NULL, &error), FIRN_ERR_NOT_FOUND);
    assert_int_equal(firn_graph_set_text(graph, "ground.sequence_missing=interpolate", NULL),
                     FIRN_OK);
    assert_int_equal(firn_graph_validate(graph, NULL, NULL, &error), FIRN_OK);
    assert_float_equal(speed_at(graph, 4, 1), 0.48f, 1e-3f);
    assert_int_equal(firn_graph_set_text(graph, "ground.sequence_missing=hold", NULL), FIRN_OK);
    assert_float_equal(speed_at(graph, 4, 0), 0.24f, 1e-3f);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

static void absurd_inputs_are_refused_by_name(void **state)
{
    (void)state;
    char folder[64], path[256];
    fixture_folder(folder, sizeof folder);
    memset(way, 0, sizeof way);
    write_objs(folder, 1, 6);
    snprintf(path, sizeof path, "%s/box.0003.obj", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("v 0 0 0\nv 1 0 0\nv 0 1e18 0\nf 1 2 3\n", file);
    fclose(file);
    static const char *const none[] = {NULL};
    heard h = {0};
    firn_graph *graph = load(folder, none, &h);
    const firn_data *data = NULL;
    firn_error error = {0};
    assert_int_equal(firn_graph_cook(graph, "ground", 3, &data, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "box.0003.obj"));
    assert_non_null(strstr(error.message, "1e+18"));
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

// /cam moves; /still does not.
static void write_archive(const char *path)
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    assert_int_equal(firn_abc_writer_create(path, &def, &writer, NULL), FIRN_OK);
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    firn_abc_xform_def xform = firn_abc_xform_def_default();
    xform.ops[0] = FIRN_ABC_TRANSLATE;
    firn_abc_writer_add_clock(writer, 1.0 / 24.0, 1.0 / 24.0, &mesh.clock, NULL);
    xform.clock = mesh.clock;
    firn_abc_node camera, still;
    firn_abc_writer_add_xform(writer, FIRN_ABC_ROOT, "cam", &xform, &camera, NULL);
    firn_abc_writer_add_mesh(writer, FIRN_ABC_ROOT, "still", &mesh, &still, NULL);
    uint32_t done = 0;
    firn_abc_writer_begin(writer, &done, NULL);
    firn_vec3 points[8];
    box(pose_at(0.0f, 0.0f), points);
    firn_abc_mesh_data data = {.point_count = 8,
                               .face_count = 6,
                               .corner_count = 24,
                               .positions = points,
                               .face_counts = sizes,
                               .face_indices = corners};
    for (int frame = 1; frame <= 6; frame++) {
        const double channels[3] = {frame, 0, 0};
        firn_abc_writer_put_xform(writer, camera, channels, true, NULL);
        assert_int_equal(firn_abc_writer_put_mesh(writer, still, &data, NULL), FIRN_OK);
        firn_abc_writer_end_frame(writer, NULL);
    }
    assert_int_equal(firn_abc_writer_finish(writer, NULL), FIRN_OK);
}

static void only_what_is_selected_decides_whether_it_deforms(void **state)
{
    (void)state;
    char folder[64], path[256];
    fixture_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/set.abc", folder);
    write_archive(path);
    static const char *const archive[] = {"ground.file=set.abc", NULL};
    heard h = {0};
    firn_graph *graph = load(folder, archive, &h);
    const firn_data *data = NULL;
    assert_int_equal(firn_graph_cook(graph, "ground", 3, &data, NULL), FIRN_OK);
    assert_false(data->collider->deforms);
    firn_graph_destroy(graph);
    fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rigid_motion_is_seen_in_two_distance_fields),
        cmocka_unit_test(what_stands_still_is_seen_to_rest),
        cmocka_unit_test(a_jump_gives_no_velocity),
        cmocka_unit_test(clips_hold_loop_and_bounce),
        cmocka_unit_test(places_turn_about_their_pivot),
        cmocka_unit_test(volumes_keep_their_mass_wherever_they_are_put),
        cmocka_unit_test(particles_of_a_cache_are_put_elsewhere),
        cmocka_unit_test(numbered_meshes_move_as_their_vertices_do),
        cmocka_unit_test(a_mesh_that_jumps_pushes_nothing),
        cmocka_unit_test(gaps_of_meshes_are_held_or_bridged),
        cmocka_unit_test(only_what_is_selected_decides_whether_it_deforms),
        cmocka_unit_test(absurd_inputs_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
