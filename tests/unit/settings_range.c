/// Settings drawn from their whole ranges: whatever a user asks for, the state stays finite or the
/// call says that it diverged.
#include "scene.h"

enum { SUBSTEPS = 8 };

// Even in the logarithm where the range spans decades, and the bounds themselves now and then.
static double draw(const firn_param *param, uint64_t *seed)
{
    double low = param->min, high = param->max, dice = ref_random(seed, 0.0, 1.0);
    if (dice < 0.05)
        return low;
    if (dice > 0.95)
        return high;
    if (low > 0.0 && high / low > 100.0)
        return low * pow(high / low, ref_random(seed, 0.0, 1.0));
    return ref_random(seed, low, high);
}

static void draw_all(firn_param_table table, void *settings, uint64_t *seed)
{
    for (size_t i = 0; i < table.count; i++) {
        double values[3] = {0.0};
        for (int k = 0; k < firn_param_components(&table.params[i]); k++)
            values[k] = draw(&table.params[i], seed);
        bool whole = table.params[i].type == FIRN_INT || table.params[i].type == FIRN_CHOICE ||
                     table.params[i].type == FIRN_BOOL;
        if (whole)
            values[0] = rint(values[0]);
        firn_error error;
        scene_expect_ok(firn_param_set(&table.params[i], settings, values, &error), &error);
    }
}

static firn_sim_def random_solver(uint64_t *seed)
{
    firn_sim_def def = firn_sim_def_default();
    draw_all(firn_sim_params(), &def, seed);
    // What would only cost time, or be refused for good reasons.
    float reach = fminf(1000.0f, 1e6f * def.cell_size);
    def.domain_lower = firn_vec(-reach, -reach, -reach);
    def.domain_upper = firn_vec(reach, reach, reach);
    def.thread_count = 1 + def.thread_count % 2;
    def.memory_limit = 0.0;
    def.isa = FIRN_ISA_NATIVE; // not every processor has the other
    def.retries = def.retries % 3;
    def.max_iterations = 1 + def.max_iterations % 300;
    def.heat_speed = fminf(def.heat_speed, 100.0f * def.cell_size * def.cell_size);
    if (def.dt_min > def.dt_max) {
        float swap = def.dt_min;
        def.dt_min = def.dt_max;
        def.dt_max = swap;
    }
    return def;
}

static firn_source_def random_source(float cell, uint64_t *seed)
{
    firn_source_def def = firn_source_def_default();
    draw_all(firn_source_params(), &def, seed);
    // A few hundred particles at most, near the origin, from now on.
    def.region = def.seed % 2 ? FIRN_REGION_SPHERE : FIRN_REGION_BOX;
    def.center = firn_vec(0.0f, 0.0f, 0.0f);
    def.radius = 3.0f * cell;
    def.half_size = firn_vec(2.0f * cell, 3.0f * cell, 2.5f * cell);
    def.particles_per_cell = fminf(def.particles_per_cell, 9.0f);
    def.start = 0.0;
    def.end = 0.0;
    return def;
}

static bool stop_in_time(const firn_step_stats *stats, void *user)
{
    int *left = user;
    assert_true(stats->dt > 0.0 && isfinite(stats->kinetic) && isfinite(stats->elastic));
    return --*left > 0;
}

// What is refused in combination has tests of its own.
static void make_fit(firn_material_def *material, const firn_sim_def *def)
{
    if (material->jp_min > material->jp_max)
        material->jp_max = material->jp_min;
    if (def->transfer == FIRN_TRANSFER_FLIP && material->model == FIRN_MODEL_LIQUID)
        material->model = FIRN_MODEL_SNOW;
}

static firn_result run(uint64_t seed, bool calm)
{
    firn_sim_def def = random_solver(&seed);
    firn_source_def source = random_source(def.cell_size, &seed);
    if (calm) {
        source.velocity = firn_scale(1e-3f, source.velocity);
        source.angular_velocity = firn_scale(1e-2f, source.angular_velocity);
        def.speed_limit = 1e5f;
        def.dt_min = 1e-9f;
    }
    firn_sim *sim = scene_create(&def);
    firn_material_def material = firn_material_def_default();
    draw_all(firn_material_params(), &material, &seed);
    make_fit(&material, &def);
    // Not all go together: loose snow packs and has no chunks, and of a sparse fall none may be
    // here.
    bool packs = material.model == FIRN_MODEL_SNOW || material.model == FIRN_MODEL_POROUS;
    source.loose = source.loose && packs;
    source.snowfall = 0.0f;
    if (material.model != FIRN_MODEL_SNOW || source.loose)
        source.chunk_size = 0.0f;
    firn_error error;
    scene_expect_ok(firn_sim_add_material(sim, &material, &source.material, &error), &error);
    if (source.particles_per_cell < 0.2f)
        source.particles_per_cell = 0.2f;
    firn_result result = firn_sim_add_source(sim, &source, NULL, &error);
    if (result == FIRN_OK) {
        firn_collider_def floor =
            firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), -3.0f * def.cell_size);
        draw_all(firn_collider_params(), &floor, &seed);
        floor.shape = FIRN_SHAPE_PLANE;
        floor.offset = 0.0f;
        floor.active_from = 0.0;
        floor.active_to = 1e6;
        scene_expect_ok(firn_sim_add_collider(sim, &floor, NULL, &error), &error);
        int left = SUBSTEPS;
        firn_sim_set_progress(sim, stop_in_time, &left);
        result = firn_sim_step(sim, 10.0 * SUBSTEPS * (double)def.dt_max, &error);
        assert_true(scene_is_finite(sim));
    }
    bool clean = result == FIRN_OK || result == FIRN_ERR_CANCELLED || result == FIRN_ERR_DIVERGED;
    // Very sparse seeds may leave the region empty, which is refused.
    if (!clean && result != FIRN_ERR_ARGUMENT)
        fail_msg("%s", error.message);
    firn_sim_destroy(sim);
    return result;
}

static void any_settings_give_finite_snow_or_a_clean_error(void **state)
{
    (void)state;
    int went = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        bool calm = seed % 2 == 0;
        firn_result result = run(seed * 7919, calm);
        went += calm && (result == FIRN_OK || result == FIRN_ERR_CANCELLED);
    }
    // Of the 30 that start below 20 m/s most go on.
    if (went < 25)
        fail_msg("only %d went", went);
}

// The materials alone, with a solver that knows its bounds: these must all run.
static void any_material_runs_with_the_default_solver(void **state)
{
    (void)state;
    int went = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        firn_sim_def def = scene_combination((int)(seed % 8));
        uint64_t random = seed * 104729;
        firn_sim *sim = scene_create(&def);
        firn_material_def material = firn_material_def_default();
        draw_all(firn_material_params(), &material, &random);
        make_fit(&material, &def);
        firn_source_def box =
            firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.05f, 0.05f, 0.05f));
        box.velocity = firn_vec(0.0f, -5.0f, 0.0f);
        firn_error error;
        scene_expect_ok(firn_sim_add_material(sim, &material, &box.material, &error), &error);
        scene_add(sim, &box);
        scene_add_floor(sim, -0.06f);
        int left = 2 * SUBSTEPS;
        firn_sim_set_progress(sim, stop_in_time, &left);
        firn_result result = firn_sim_step(sim, 0.02, &error);
        assert_true(scene_is_finite(sim));
        if (result != FIRN_OK)
            assert_true(result == FIRN_ERR_CANCELLED || result == FIRN_ERR_DIVERGED);
        went += result != FIRN_ERR_DIVERGED;
        firn_sim_destroy(sim);
    }
    assert_true(went >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_settings_give_finite_snow_or_a_clean_error),
        cmocka_unit_test(any_material_runs_with_the_default_solver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
