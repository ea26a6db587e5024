// Level sets that are made ahead of their frame: the same bytes, at another time.
#define _XOPEN_SOURCE 700
#include "shape_ahead.h"
#include "graph_fixture.h"
#include "mesh_archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RINGS = 12, SECTORS = 16, POINTS = RINGS * SECTORS + 2, FACES = 2 * RINGS * SECTORS };
enum { FRAMES = 6, CORNERS = 3 * FACES };

// A ball of triangles that swells, leans and rises into the snow.
static void pose(int frame, firn_vec3 points[POINTS])
{
    float swell = 0.14f + 0.01f * (float)frame, lean = 0.1f * (float)frame;
    points[POINTS - 2] = firn_vec(lean * swell, swell - 0.15f, 0.0f);
    points[POINTS - 1] = firn_vec(-lean * swell, -swell - 0.15f, 0.0f);
    for (int i = 0; i < RINGS * SECTORS; i++) {
        float theta = 3.1415927f * (float)(i / SECTORS + 1) / (RINGS + 1);
        float phi = 6.2831853f * (float)(i % SECTORS) / SECTORS, y = swell * cosf(theta);
        points[i] = firn_vec(swell * sinf(theta) * cosf(phi) + lean * y, y - 0.15f,
                             1.2f * swell * sinf(theta) * sinf(phi));
    }
}

static void connect(int32_t corners[CORNERS])
{
    size_t at = 0;
    for (int32_t s = 0; s < SECTORS; s++) {
        int32_t next = (s + 1) % SECTORS, last = SECTORS * (RINGS - 1);
        const int32_t caps[6] = {POINTS - 2, next, s, POINTS - 1, last + s, last + next};
        memcpy(&corners[at], caps, sizeof caps);
        at += 6;
        for (int32_t a = s, b = next; a < last; a += SECTORS, b += SECTORS) {
            const int32_t quad[6] = {a, b, b + SECTORS, a, b + SECTORS, a + SECTORS};
            memcpy(&corners[at], quad, sizeof quad);
            at += 6;
        }
    }
    assert_int_equal(at, CORNERS);
}

static void write_obj(const char *folder, int frame)
{
    char path[256];
    snprintf(path, sizeof path, "%s/ball.%04d.obj", folder, frame);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    firn_vec3 points[POINTS];
    int32_t corners[CORNERS];
    pose(frame, points);
    connect(corners);
    for (int i = 0; i < POINTS; i++)
        fprintf(file, "v %.9g %.9g %.9g\n", (double)points[i].x, (double)points[i].y,
                (double)points[i].z);
    for (int i = 0; i < CORNERS; i += 3)
        fprintf(file, "f %d %d %d\n", corners[i + 2] + 1, corners[i + 1] + 1, corners[i] + 1);
    fclose(file);
}

static void write_abc(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/ball.abc", folder);
    firn_vec3 points[POINTS];
    int32_t corners[CORNERS], sizes[FACES];
    connect(corners);
    for (int i = 0; i < FACES; i++)
        sizes[i] = 3;
    firn_abc_mesh_data data = {.point_count = POINTS,
                               .face_count = FACES,
                               .corner_count = CORNERS,
                               .face_counts = sizes,
                               .face_indices = corners};
    write_mesh_archive(path, "ball", FRAMES, data, points, pose);
}

typedef struct fixture {
    char folder[64];
    char path[256]; // of the archive
    firn_mesh_reader_def input;
    firn_mesh_reader *reader;
    firn_vdb_mesh_def def;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    fixture_folder(f->folder, sizeof f->folder);
    write_abc(f->folder);
    for (int frame = 1; frame <= FRAMES; frame++)
        write_obj(f->folder, frame);
    snprintf(f->path, sizeof f->path, "%s/ball.abc", f->folder);
    f->input = (firn_mesh_reader_def){.file = f->path,
                                      .object = "",
                                      .clip = {.speed = 1.0},
                                      .max_speed = 300.0f,
                                      .start_frame = 1,
                                      .last_frame = FRAMES,
                                      .fps = 24.0};
    assert_int_equal(firn_mesh_reader_create(&f->input, &f->reader, NULL), FIRN_OK);
    f->def = firn_vdb_mesh_def_default();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    firn_mesh_reader_destroy(f->reader);
    fixture_remove(f->folder);
    free(f);
    return 0;
}

static uint64_t hash_of(const firn_vdb_shape *shape)
{
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    const firn_velocity_grid *velocity = firn_vdb_shape_velocity(shape);
    size_t leaves = set->leaf_count;
    uint64_t hash = firn_hash64(set->leaf_origin, leaves * sizeof *set->leaf_origin, 0);
    hash = firn_hash64(set->values, leaves * FIRN_LEAF_VOXELS * sizeof *set->values, hash);
    assert_non_null(velocity);
    leaves = velocity->leaf_count;
    hash = firn_hash64(velocity->leaf_origin, leaves * sizeof *velocity->leaf_origin, hash);
    return firn_hash64(velocity->values, leaves * FIRN_LEAF_VOXELS * sizeof *velocity->values,
                       hash);
}

static void a_shape_made_ahead_is_the_same_shape(void **state)
{
    fixture *f = *state;
    firn_vdb_shape *expected = NULL;
    assert_int_equal(firn_mesh_reader_shape(f->reader, 3, &f->def, &expected, NULL), FIRN_OK);
    firn_shape_ahead *ahead = firn_shape_ahead_start(f->reader, 3, &f->def);
    assert_non_null(ahead);
    firn_vdb_shape *shape = firn_shape_ahead_finish(ahead);
    assert_non_null(shape);
    assert_true(hash_of(shape) == hash_of(expected));
    firn_vdb_shape_destroy(shape);
    firn_vdb_shape_destroy(expected);
}

static void what_cannot_be_made_is_nothing(void **state)
{
    fixture *f = *state;
    f->def.voxel_size = -1.0f;
    assert_null(firn_shape_ahead_finish(firn_shape_ahead_start(f->reader, 3, &f->def)));
    assert_null(firn_shape_ahead_finish(NULL));
}

static void cancelling_releases_what_is_under_way(void **state)
{
    fixture *f = *state;
    f->def.voxel_size = 0.004f;
    for (int i = 0; i < 5; i++) {
        firn_shape_ahead *ahead = firn_shape_ahead_start(f->reader, 3, &f->def);
        assert_non_null(ahead);
        nanosleep(&(struct timespec){.tv_nsec = i * 5000000L}, NULL);
        firn_shape_ahead_cancel(ahead);
    }
    firn_shape_ahead_cancel(NULL);
}

// Allocations on any thread; number `failing` fails.
typedef struct counter {
    atomic_long made, live;
    long failing;
} counter;

static void *count_allocate(size_t bytes, size_t alignment, void *user)
{
    counter *c = user;
    void *memory = NULL;
    if (atomic_fetch_add(&c->made, 1) == c->failing ||
        posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    atomic_fetch_add(&c->live, 1);
    return memory;
}

static void count_release(void *memory, void *user)
{
    counter *c = user;
    atomic_fetch_sub(&c->live, 1);
    free(memory);
}

static void any_failing_allocation_gives_nothing_and_leaves_nothing(void **state)
{
    fixture *f = *state;
    bool made = false;
    long failing = 0;
    for (; !made; failing++) {
        counter c = {.failing = failing};
        const firn_allocator allocator = {count_allocate, count_release, &c};
        firn_set_allocator(&allocator);
        firn_mesh_reader *reader = NULL;
        firn_vdb_shape *shape = NULL;
        if (firn_mesh_reader_create(&f->input, &reader, NULL) == FIRN_OK)
            shape = firn_shape_ahead_finish(firn_shape_ahead_start(reader, 3, &f->def));
        firn_mesh_reader_destroy(reader);
        made = shape != NULL;
        firn_vdb_shape_destroy(shape);
        firn_set_allocator(NULL);
        assert_int_equal(c.live, 0);
    }
    assert_true(failing > 3);
}

// --- The collider node ---------------------------------------------------------------------------

static firn_graph *load(const char *folder, const char *file, const char *base, bool ahead)
{
    firn_graph *graph = fixture_load(fixture_scene, folder);
    const char *const settings[] = {
        "ground.shape=mesh", "ground.deforming=true", "ground.mesh_voxel_size=0.03",
        ahead ? "ground.mesh_look_ahead=true" : "ground.mesh_look_ahead=false"};
    for (size_t i = 0; i < FIRN_COUNT(settings); i++)
        assert_int_equal(firn_graph_set_text(graph, settings[i], NULL), FIRN_OK);
    assert_int_equal(firn_graph_set_param(graph, "ground", "file", file, FIRN_LAYER_ALWAYS, NULL),
                     FIRN_OK);
    assert_int_equal(firn_graph_set_param(graph, NULL, "base", base, FIRN_LAYER_ALWAYS, NULL),
                     FIRN_OK);
    return graph;
}

static void bake(firn_graph *graph, bool resume, firn_result expected)
{
    firn_bake_def def = firn_bake_def_default();
    firn_error error = {0};
    def.resume = resume;
    def.overwrite = !resume;
    firn_result result = firn_graph_bake(graph, &def, &error);
    if (result != expected)
        fail_msg("%d: %s", result, error.message);
}

static uint64_t hash_of_cache(const fixture *f, const char *base)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->folder, base);
    return fixture_hash_files(path);
}

static firn_answer stop_at_frame_4(const firn_report *report, void *user)
{
    (void)user;
    return report->frame == 4 && report->fraction > 0.3 ? FIRN_STOP : FIRN_CONTINUE;
}

static void caches_are_the_same_with_and_without_looking_ahead(void **state)
{
    const fixture *f = *state;
    static const char *const files[] = {"ball.abc", "ball.$F4.obj"};
    for (size_t i = 0; i < FIRN_COUNT(files); i++) {
        firn_graph *plain = load(f->folder, files[i], "plain", false);
        firn_graph *ahead = load(f->folder, files[i], "ahead", true);
        assert_true(firn_graph_hash(plain, NULL) == firn_graph_hash(ahead, NULL));
        bake(plain, false, FIRN_OK);
        bake(ahead, false, FIRN_OK);
        assert_true(hash_of_cache(f, "ahead") == hash_of_cache(f, "plain"));
        firn_graph_destroy(ahead);

        // Stopped in the middle of a frame, while the next mesh is in the making, and resumed.
        ahead = load(f->folder, files[i], "stopped", true);
        firn_host host = {.progress = stop_at_frame_4};
        firn_graph_set_host(ahead, &host);
        bake(ahead, false, FIRN_ERR_CANCELLED);
        firn_graph_destroy(ahead);
        ahead = load(f->folder, files[i], "stopped", true);
        bake(ahead, true, FIRN_OK);
        assert_true(hash_of_cache(f, "stopped") == hash_of_cache(f, "plain"));
        firn_graph_destroy(ahead);
        firn_graph_destroy(plain);
    }
}

static void hear(firn_level level, const char *node, const char *message, void *user)
{
    (void)level;
    (void)node;
    (void)message;
    ++*(int *)user;
}

static void a_frame_that_fails_is_reported_when_it_is_needed(void **state)
{
    const fixture *f = *state;
    char path[256];
    snprintf(path, sizeof path, "%s/ball.0004.obj", f->folder);
    FILE *damaged = fopen(path, "w");
    assert_non_null(damaged);
    fputs("v 0 0\nf 1 2 3\n", damaged);
    fclose(damaged);
    firn_graph *graph = load(f->folder, "ball.$F4.obj", "cache", true);
    int heard = 0;
    firn_host host = {.log = hear, .user = &heard};
    firn_graph_set_host(graph, &host);
    const firn_data *data = NULL;
    firn_error error = {0};
    assert_int_equal(firn_graph_cook(graph, "solver", 3, &data, &error), FIRN_OK);
    assert_int_equal(heard, 0);
    assert_int_not_equal(firn_graph_cook(graph, "solver", 4, &data, &error), FIRN_OK);
    assert_non_null(strstr(error.message, "ground, frame 4"));
    assert_non_null(strstr(error.message, "ball.0004.obj"));
    assert_string_equal(firn_graph_failed_node(graph), "ground");
    write_obj(f->folder, 4);
    assert_int_equal(firn_graph_cook(graph, "solver", 4, &data, &error), FIRN_OK);
    firn_graph_destroy(graph);
}

static void frames_in_any_order_have_their_own_mesh(void **state)
{
    const fixture *f = *state;
    static const int order[] = {2, 5, 3, 4, 1, 6};
    firn_graph *ahead = load(f->folder, "ball.abc", "cache", true);
    firn_graph *plain = load(f->folder, "ball.abc", "cache", false);
    for (size_t i = 0; i < FIRN_COUNT(order); i++) {
        const firn_data *a = NULL, *b = NULL;
        assert_int_equal(firn_graph_cook(ahead, "ground", order[i], &a, NULL), FIRN_OK);
        assert_int_equal(firn_graph_cook(plain, "ground", order[i], &b, NULL), FIRN_OK);
        for (int side = 0; side < 2; side++) {
            const firn_level_set *one = a->collider->surface[side].level_set;
            const firn_level_set *other = b->collider->surface[side].level_set;
            assert_int_equal(one->leaf_count, other->leaf_count);
            assert_memory_equal(one->values, other->values,
                                one->leaf_count * FIRN_LEAF_VOXELS * sizeof *one->values);
        }
    }
    firn_graph_destroy(ahead);
    firn_graph_destroy(plain);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_shape_made_ahead_is_the_same_shape),
        TEST(what_cannot_be_made_is_nothing),
        TEST(cancelling_releases_what_is_under_way),
        TEST(any_failing_allocation_gives_nothing_and_leaves_nothing),
        TEST(caches_are_the_same_with_and_without_looking_ahead),
        TEST(a_frame_that_fails_is_reported_when_it_is_needed),
        TEST(frames_in_any_order_have_their_own_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
