#include "effort.h"
#include "scene.h"

#include <stdio.h>

static firn_sim *small_sim(void)
{
    firn_sim_def def = scene_combination(0);
    firn_sim *sim = scene_create(&def);
    scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.04f, firn_vec(0.0f, -1.0f, 0.0f));
    return sim;
}

static void expect_sentence(firn_result result, firn_result expected, const firn_error *error)
{
    assert_int_equal(result, expected);
    assert_int_equal(error->code, expected);
    size_t length = strlen(error->message);
    assert_true(length > 10 && length < FIRN_MESSAGE_SIZE);
}

static void settings_that_make_no_sense_make_no_simulation(void **state)
{
    (void)state;
    firn_sim_def bad[8];
    for (size_t i = 0; i < FIRN_COUNT(bad); i++)
        bad[i] = firn_sim_def_default();
    bad[0].cookie = 0;
    bad[1].cell_size = NAN;
    bad[2].gravity.y = INFINITY;
    bad[3].dt_min = 2.0f * bad[3].dt_max;
    bad[4].kernel = 7;
    bad[5].domain_upper = bad[5].domain_lower;
    bad[6].cell_size = 1e-4f; // with a domain of a kilometer
    bad[7].max_iterations = 0;
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        firn_sim *sim = (firn_sim *)&bad;
        firn_error error;
        expect_sentence(firn_sim_create(&bad[i], &sim, &error), FIRN_ERR_ARGUMENT, &error);
        assert_null(sim);
    }
    firn_sim_def zero;
    memset(&zero, 0, sizeof zero);
    firn_sim *sim = NULL;
    assert_int_equal(firn_sim_create(&zero, &sim, NULL), FIRN_ERR_ARGUMENT);
    firn_sim_destroy(NULL);
}

static void bad_materials_are_refused(void **state)
{
    (void)state;
    firn_sim *sim = small_sim();
    firn_material_def bad[4];
    for (size_t i = 0; i < FIRN_COUNT(bad); i++)
        bad[i] = firn_material_def_default();
    bad[0].cookie++;
    bad[1].young_modulus = -1.0f;
    bad[2].jp_min = bad[2].jp_max * 1.01f;
    bad[3].density = NAN;
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        firn_material_id id = {0, 0};
        firn_error error;
        expect_sentence(firn_sim_add_material(sim, &bad[i], &id, &error), FIRN_ERR_ARGUMENT,
                        &error);
        assert_int_equal(id.index1, 0);
        assert_int_equal(sim->materials.count, 1);
    }
    firn_material_def good = firn_material_def_default();
    for (int i = 1; i < FIRN_MATERIAL_LIMIT; i++)
        assert_int_equal(firn_sim_add_material(sim, &good, NULL, NULL), FIRN_OK);
    firn_error error;
    expect_sentence(firn_sim_add_material(sim, &good, NULL, &error), FIRN_ERR_ARGUMENT, &error);
    firn_sim_destroy(sim);
}

static void bad_sources_are_refused_and_change_nothing(void **state)
{
    (void)state;
    firn_sim *sim = small_sim();
    uint64_t before = firn_sim_hash(sim);
    const firn_vec3 nan_point = {NAN, 0.0f, 0.0f};
    firn_source_def bad[7];
    for (size_t i = 0; i < FIRN_COUNT(bad); i++)
        bad[i] = firn_source_def_sphere(firn_vec(0.0f, 0.0f, 0.0f), 0.1f);
    bad[0].cookie = 1;
    bad[1].radius = -1.0f;
    bad[2].velocity.x = NAN;
    bad[3] = firn_source_def_points(NULL, 0);
    bad[4] = firn_source_def_points(&nan_point, 1);
    bad[5] = firn_source_def_level_set(NULL);
    bad[6].radius = 1e-6f; // holds not one particle
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        firn_source_id id = {0, 0};
        firn_error error;
        expect_sentence(firn_sim_add_source(sim, &bad[i], &id, &error), FIRN_ERR_ARGUMENT, &error);
        assert_int_equal(id.index1, 0);
    }
    assert_true(firn_sim_hash(sim) == before);
    assert_int_equal(sim->emission.source_count, 1);
    firn_sim_destroy(sim);
}

static void bad_colliders_are_refused(void **state)
{
    (void)state;
    firn_sim *sim = small_sim();
    firn_collider_def bad[3];
    for (size_t i = 0; i < FIRN_COUNT(bad); i++)
        bad[i] = firn_collider_def_default();
    bad[0].cookie = 0;
    bad[1].friction = -1.0f;
    bad[2].pose.translation.x = NAN;
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        firn_error error;
        expect_sentence(firn_sim_add_collider(sim, &bad[i], NULL, &error), FIRN_ERR_ARGUMENT,
                        &error);
    }
    firn_sim_destroy(sim);
}

static void stale_ids_are_noticed(void **state)
{
    (void)state;
    firn_sim *sim = small_sim();
    firn_error error;
    firn_source_def stream = firn_source_def_sphere(firn_vec(1.0f, 0.0f, 0.0f), 0.05f);
    firn_source_id source;
    scene_expect_ok(firn_sim_add_source(sim, &stream, &source, &error), &error);
    assert_int_equal(firn_sim_remove_source(sim, source, &error), FIRN_OK);
    expect_sentence(firn_sim_remove_source(sim, source, &error), FIRN_ERR_STALE, &error);
    const firn_source_id wrong[] = {{0, 0}, {99, 1}, {1, 7}};
    for (size_t i = 0; i < FIRN_COUNT(wrong); i++)
        expect_sentence(firn_sim_remove_source(sim, wrong[i], &error), FIRN_ERR_STALE, &error);

    stream.material = (firn_material_id){5, 1};
    expect_sentence(firn_sim_add_source(sim, &stream, NULL, &error), FIRN_ERR_STALE, &error);
    stream.material = (firn_material_id){1, 9};
    expect_sentence(firn_sim_add_source(sim, &stream, NULL, &error), FIRN_ERR_STALE, &error);

    firn_collider_def plane = firn_collider_def_default();
    firn_collider_id id, again;
    scene_expect_ok(firn_sim_add_collider(sim, &plane, &id, &error), &error);
    assert_int_equal(firn_sim_remove_collider(sim, id, &error), FIRN_OK);
    expect_sentence(firn_sim_remove_collider(sim, id, &error), FIRN_ERR_STALE, &error);
    scene_expect_ok(firn_sim_add_collider(sim, &plane, &again, &error), &error);
    firn_pose_key key = {0.0, firn_transform_identity()};
    expect_sentence(firn_sim_move_collider(sim, id, &key, 1, &error), FIRN_ERR_STALE, &error);
    assert_int_equal(firn_sim_move_collider(sim, again, &key, 1, &error), FIRN_OK);
    const firn_collider_id null = {0, 0};
    expect_sentence(firn_sim_remove_collider(sim, null, &error), FIRN_ERR_ARGUMENT, &error);
    firn_sim_destroy(sim);
}

static void memory_limit_is_kept_at_every_stage(void **state)
{
    (void)state;
    size_t needed = 0;
    for (int percent = 200; percent > 0; percent -= 3) {
        firn_sim_def def = scene_combination(4);
        def.memory_limit = 1e-6 * 0.01 * percent * (double)needed;
        firn_sim *sim = scene_create(&def);
        firn_error error;
        firn_source_def box =
            firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.05f, 0.05f, 0.05f));
        firn_result result = firn_sim_add_source(sim, &box, NULL, &error);
        if (result == FIRN_OK)
            result = firn_sim_step(sim, 0.01, &error);
        if (needed == 0)
            needed = sim->budget.peak;
        else if (percent < 90)
            expect_sentence(result, FIRN_ERR_MEMORY, &error);
        else if (percent > 110)
            scene_expect_ok(result, &error);
        assert_true(def.memory_limit == 0.0 || sim->budget.peak <= sim->budget.limit);
        assert_true(scene_is_finite(sim));
        // With more memory it goes on.
        sim->budget.limit = 0;
        if (sim->particles.count == 0)
            scene_add(sim, &box);
        scene_step(sim, 0.005);
        firn_sim_destroy(sim);
    }
}

/// An allocator that fails once, at its n-th call, and counts what is alive.
typedef struct failing {
    int calls, fail_at, alive;
} failing;

static void *failing_allocate(size_t bytes, size_t alignment, void *user)
{
    failing *f = user;
    if (++f->calls == f->fail_at)
        return NULL;
    f->alive++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void failing_release(void *memory, void *user)
{
    failing *f = user;
    f->alive -= memory != NULL;
    free(memory);
}

static firn_result run_everything(const firn_sim_def *def, firn_sim *sim, firn_error *error)
{
    firn_source_def stream =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.03f, 0.03f, 0.03f));
    stream.velocity = firn_vec(0.0f, -2.0f, 0.0f);
    stream.end = 1.0;
    FIRN_TRY(firn_sim_add_source(sim, &stream, NULL, error));
    firn_vec3 points[2] = {{0.1f, 0.0f, 0.0f}, {0.12f, 0.01f, 0.0f}};
    firn_source_def few = firn_source_def_points(points, 2);
    FIRN_TRY(firn_sim_add_source(sim, &few, NULL, error));
    firn_collider_def plane = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), -0.05f);
    firn_collider_id id;
    FIRN_TRY(firn_sim_add_collider(sim, &plane, &id, error));
    firn_pose_key keys[2] = {{0.0, plane.pose}, {1.0, plane.pose}};
    FIRN_TRY(firn_sim_move_collider(sim, id, keys, 2, error));
    FIRN_TRY(firn_sim_step(sim, 0.006, error));
    firn_field_def field_def = firn_field_def_default();
    field_def.thread_count = def->thread_count;
    firn_field *field = NULL;
    FIRN_TRY(firn_sim_rasterize(sim, &field_def, "stiffness", &field, error));
    firn_field_destroy(field);
    void *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_sim_save_memory(sim, &bytes, &size, error));
    firn_result result = firn_sim_load_memory(sim, bytes, size, error);
    firn_free(bytes);
    FIRN_TRY(result);
    FIRN_TRY(firn_sim_save(sim, "sim_test.chk", error));
    FIRN_TRY(firn_sim_load(sim, "sim_test.chk", error));
    return firn_sim_step(sim, 0.002, error);
}

// Every allocation of a whole run fails once: an error each time, nothing lost, and it goes on.
static void fail_every_allocation(int combination)
{
    firn_sim_def def = scene_combination(combination);
    def.thread_count = 2;
    def.sleep_speed = 0.01f;
    for (int n = 1;; n++) {
        failing f = {.fail_at = n};
        const firn_allocator allocator = {failing_allocate, failing_release, &f};
        firn_set_allocator(&allocator);
        firn_sim *sim = NULL;
        firn_error error;
        firn_result result = firn_sim_create(&def, &sim, &error);
        if (result == FIRN_OK)
            result = run_everything(&def, sim, &error);
        bool failed = f.calls >= n;
        // A larger array than needed is only a wish.
        if (result != FIRN_OK)
            expect_sentence(result, FIRN_ERR_MEMORY, &error);
        if (result != FIRN_OK && sim != NULL) {
            assert_true(scene_is_finite(sim));
            scene_step(sim, 0.002);
            scene_add_box(sim, firn_vec(0.0f, 0.3f, 0.0f), 0.03f, firn_vec(0.0f, 0.0f, 0.0f));
            scene_step(sim, 0.002);
            assert_true(sim->particles.count > 0);
            assert_int_equal(sim->particles.count, sim->particles.next_id);
        }
        firn_sim_destroy(sim);
        assert_int_equal(f.alive, 0);
        firn_set_allocator(NULL);
        if (!failed) {
            assert_true(n > 50);
            break;
        }
    }
    remove("sim_test.chk");
}

static void failing_allocation_is_an_error_and_no_more(void **state)
{
    (void)state;
    fail_every_allocation(0);
    fail_every_allocation(7);
}

static void views_and_reads_are_those_of_the_particles(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    firn_sim *sim = scene_create(&def);
    const firn_vec3 points[3] = {{0.5f, -0.25f, 1.0f}, {-3.0f, 2.0f, -1.0f}, {0.5f, -0.2f, 1.0f}};
    const firn_vec3 velocity[3] = {{1.0f, 2.0f, 3.0f}, {0.0f, 0.5f, 0.0f}, {-1.0f, 0.0f, 0.0f}};
    const float mass[3] = {1e-3f, 2e-3f, 3e-3f}, jp[3] = {0.9f, 1.0f, 1.1f};
    firn_source_def source = firn_source_def_points(points, 3);
    const firn_source_value values[] = {
        {"v", .points = &velocity[0].x}, {"mass", .points = mass}, {"Jp", .points = jp}};
    source.values = values;
    source.value_count = FIRN_COUNT(values);
    scene_add(sim, &source);
    firn_error error;
    for (int sorted = 0; sorted < 2; sorted++) {
        firn_particle_view view = firn_sim_particles(sim);
        firn_vec3 x[3], v[3];
        firn_mat3 f[3], c[3];
        float density[3];
        assert_int_equal(view.count, 3);
        scene_expect_ok(firn_sim_read(sim, FIRN_POSITION, 0, 3, x, &error), &error);
        scene_expect_ok(firn_sim_read(sim, FIRN_VELOCITY, 0, 3, v, &error), &error);
        scene_expect_ok(firn_sim_read(sim, FIRN_DEFORMATION, 0, 3, f, &error), &error);
        scene_expect_ok(firn_sim_read(sim, FIRN_AFFINE, 0, 3, c, &error), &error);
        scene_expect_ok(firn_sim_read(sim, FIRN_DENSITY, 0, 3, density, &error), &error);
        for (size_t i = 0; i < 3; i++) {
            uint32_t id = view.id[i];
            assert_true(id < 3);
            assert_true(view.mass[i] == mass[id] && view.jp[i] == jp[id]);
            assert_true(firn_length(firn_sub(x[i], points[id])) < 1e-6f);
            assert_true(memcmp(&v[i], &velocity[id], sizeof v[i]) == 0);
            assert_true(f[i].m[0] == 1.0f && f[i].m[1] == 0.0f && c[i].m[0] == 0.0f);
            firn_vec3 one;
            scene_expect_ok(firn_sim_read(sim, FIRN_POSITION, i, 1, &one, &error), &error);
            assert_true(memcmp(&one, &x[i], sizeof one) == 0);
        }
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
    }
    firn_vec3 out[4];
    expect_sentence(firn_sim_read(sim, FIRN_POSITION, 0, 4, out, &error), FIRN_ERR_ARGUMENT,
                    &error);
    expect_sentence(firn_sim_read(sim, FIRN_POSITION, 4, 0, out, &error), FIRN_ERR_ARGUMENT,
                    &error);
    expect_sentence(firn_sim_read(sim, FIRN_POSITION, 1, SIZE_MAX, out, &error), FIRN_ERR_ARGUMENT,
                    &error);
    expect_sentence(firn_sim_read(sim, 99, 0, 1, out, &error), FIRN_ERR_ARGUMENT, &error);
    assert_int_equal(firn_sim_read(sim, FIRN_POSITION, 3, 0, out, &error), FIRN_OK);
    firn_sim_destroy(sim);
}

static void density_is_mass_over_the_volume_now(void **state)
{
    (void)state;
    firn_sim *sim = small_sim();
    firn_channel_of(&sim->particles, FIRN_JP)[0] = 0.5f;
    firn_channel_of(&sim->particles, FIRN_F)[0] = 0.8f;
    float density[2];
    assert_int_equal(firn_sim_read(sim, FIRN_DENSITY, 0, 2, density, NULL), FIRN_OK);
    scene_expect_near((double)density[0], 400.0 / 0.4, 1e-2);
    scene_expect_near((double)density[1], 400.0, 1e-2);
    firn_sim_destroy(sim);
}

static void rasterized_mass_is_the_mass_of_the_snow(void **state)
{
    (void)state;
    firn_sim *sim = small_sim();
    for (int sorted = 0; sorted < 2; sorted++) {
        firn_field_def def = firn_field_def_default();
        firn_field *field = NULL;
        firn_error error;
        scene_expect_ok(firn_sim_rasterize(sim, &def, NULL, &field, &error), &error);
        firn_field_view view = firn_field_read(field);
        double mass = 0.0, expected = 0.0, h = (double)view.voxel_size;
        for (size_t i = 0; i < 512 * view.leaf_count; i++)
            mass += (double)view.density[i] * h * h * h;
        for (size_t p = 0; p < sim->particles.count; p++)
            expected += scene_value(sim, FIRN_MASS, p);
        scene_expect_near(mass, expected, 1e-5 * expected);
        firn_field_destroy(field);
        def.cookie = 0;
        expect_sentence(firn_sim_rasterize(sim, &def, NULL, &field, &error), FIRN_ERR_ARGUMENT,
                        &error);
        assert_null(field);
        scene_expect_ok(firn_sim_sort(sim, &error), &error);
    }
    firn_sim_destroy(sim);
}

// A disk of snow that spins is pulled from all sides: bonds get more than they bear, chunks less.
static void bonds_tear_before_chunks(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i += effort(1, 7)) {
        firn_sim_def def = scene_combination(i);
        def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
        for (int bound = 0; bound < 2; bound++) {
            firn_sim *sim = scene_create(&def);
            firn_source_def disk =
                firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.12f, 0.04f, 0.12f));
            disk.angular_velocity = firn_vec(0.0f, 8.0f, 0.0f);
            disk.chunk_size = 0.08f;
            disk.chunk_bond = bound ? 0.04f : 1.0f;
            scene_add(sim, &disk);
            scene_step(sim, 0.02);
            firn_particle_view view = firn_sim_particles(sim);
            double torn[2] = {0.0, 0.0}, count[2] = {0.0, 0.0};
            for (size_t p = 0; p < view.count; p++) {
                assert_true(view.material[p] == 0 || view.material[p] == 1);
                torn[view.material[p]] += view.jp[p] > 1.001f ? 1.0 : 0.0;
                count[view.material[p]]++;
            }
            assert_true(count[0] > 0.3 * (double)view.count && count[1] > 0.1 * (double)view.count);
            assert_true(torn[0] < 0.1 * count[0]);
            assert_true(bound ? torn[1] > 0.9 * count[1] : torn[1] == 0.0);
            firn_sim_destroy(sim);
        }
    }
}

static void bonds_of_the_same_kind_are_one_material(void **state)
{
    (void)state;
    firn_sim *sim = small_sim();
    firn_error error;
    firn_source_def ball = firn_source_def_sphere(firn_vec(0.0f, 1.0f, 0.0f), 0.1f);
    ball.chunk_size = 0.08f;
    scene_add(sim, &ball);
    assert_int_equal(sim->materials.count, 2);
    ball.center.x = 1.0f;
    scene_add(sim, &ball);
    assert_int_equal(sim->materials.count, 2);
    ball.chunk_bond *= 2.0f;
    scene_add(sim, &ball);
    assert_int_equal(sim->materials.count, 3);

    // A source that fails leaves none behind, and the number it would have had goes to the next.
    ball.chunk_bond = 0.5f;
    ball.radius = 1e-5f;
    expect_sentence(firn_sim_add_source(sim, &ball, NULL, &error), FIRN_ERR_ARGUMENT, &error);
    assert_int_equal(sim->materials.count, 3);
    firn_material_def icy;
    firn_material_id id;
    assert_int_equal(firn_material_def_preset("icy", &icy, &error), FIRN_OK);
    scene_expect_ok(firn_sim_add_material(sim, &icy, &id, &error), &error);
    firn_material_def snow = firn_material_def_default();
    scene_expect_ok(firn_sim_change_material(sim, (firn_material_id){1, 1}, &snow, &error), &error);
    assert_float_equal(sim->materials.density[id.index1 - 1], icy.density, 0.0f);

    while (sim->materials.count < 256)
        scene_expect_ok(firn_sim_add_material(sim, &icy, &id, &error), &error);
    ball.radius = 0.1f;
    uint64_t before = firn_sim_hash(sim);
    expect_sentence(firn_sim_add_source(sim, &ball, NULL, &error), FIRN_ERR_ARGUMENT, &error);
    assert_true(firn_sim_hash(sim) == before);
    firn_sim_destroy(sim);
}

static void stages_have_names(void **state)
{
    (void)state;
    int count = 0;
    while (firn_stage_name(count) != NULL)
        assert_true(firn_stage_name(count++)[0] != '\0');
    assert_int_equal(count, FIRN_STAGE_END);
    assert_true(count <= FIRN_STAGE_COUNT);
    assert_null(firn_stage_name(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_make_no_sense_make_no_simulation),
        cmocka_unit_test(bad_materials_are_refused),
        cmocka_unit_test(bad_sources_are_refused_and_change_nothing),
        cmocka_unit_test(bad_colliders_are_refused),
        cmocka_unit_test(stale_ids_are_noticed),
        cmocka_unit_test(memory_limit_is_kept_at_every_stage),
        cmocka_unit_test(failing_allocation_is_an_error_and_no_more),
        cmocka_unit_test(views_and_reads_are_those_of_the_particles),
        cmocka_unit_test(density_is_mass_over_the_volume_now),
        cmocka_unit_test(rasterized_mass_is_the_mass_of_the_snow),
        cmocka_unit_test(bonds_tear_before_chunks),
        cmocka_unit_test(bonds_of_the_same_kind_are_one_material),
        cmocka_unit_test(stages_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
