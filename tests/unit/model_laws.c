/// What holds for every model, whatever it is made of: compiled once for each, FIRN_MODEL.
#include "lanes.h"

#include FIRN_MODEL_HEADER

#include "mpm/isa.h"

typedef MODEL(group) model_group;

static firn_materials table;

static int setup(void **state)
{
    (void)state;
    firn_material_def def = firn_material_def_default();
    firn_param_parse(firn_params_find(firn_material_params(), "model"), &def, FIRN_MODEL_TEXT,
                     NULL);
    def.young_modulus = 1.7f;
    def.density = 1.2f;
    def.cohesion = 0.05f;
    def.sound_speed = 1.3f;
    def.viscosity = 0.4f;
    def.yield_stress = 0.1f;
    firn_materials_put(&table, 0, &def);
    table.count = 1;
    return 0;
}

// The matter of a body with this deformation, in the first lane; all others are at rest.
static firn_matter matter_of(ref_mat f, double jp)
{
    firn_matter matter = {.f = firn_fm3_identity(),
                          .jp = firn_fx_set((float)jp),
                          .stiffness = firn_fx_set(1.25f),
                          .materials = {.table = &table, .same = true}};
    if (MODEL(keeps_f)) {
        lanes_put(&matter.f, 0, f);
        return matter;
    }
    // Only J and the b of det 1.
    double j = ref_det(f), unit = pow(j, -2.0 / 3.0);
    ref_mat zero = {{{0}}}, b = ref_add(zero, unit, ref_mul(f, ref_transpose(f)));
    lanes_put(&matter.f, 0, b);
    matter.jp[0] = (float)(jp * j);
    return matter;
}

static firn_lane_stress stress_of(ref_mat f, double jp)
{
    firn_matter matter = matter_of(f, jp);
    model_group group = MODEL(load)(&matter);
    return MODEL(stress)(&group);
}

static ref_mat tau_of(ref_mat f, double jp)
{
    firn_fs3 tau = stress_of(f, jp).tau;
    return lanes_get_symmetric(&tau, 0);
}

static firn_fm3 one_lane(ref_mat f)
{
    firn_fm3 a = firn_fm3_identity();
    lanes_put(&a, 0, f);
    return a;
}

// Strains that every model bears elastically: pressed a little, sheared less.
static ref_mat random_strain(uint64_t *random)
{
    return ref_stretched(random, ref_random(random, 0.93, 0.98), ref_random(random, 0.94, 0.97),
                         ref_random(random, 0.92, 0.99));
}

// (I + h G) F
static ref_mat moved(ref_mat f, double h, ref_mat g) { return ref_add(f, h, ref_mul(g, f)); }

// The change of the energy when F moves by h and by -h along G.
static double energy_change(ref_mat f, double h, ref_mat g)
{
    return (double)stress_of(moved(f, h, g), 1.0).energy[0] -
           (double)stress_of(moved(f, -h, g), 1.0).energy[0];
}

static void stress_is_the_derivative_of_the_energy(void **state)
{
    (void)state;
    uint64_t random = 1;
    const double h = 4e-3;
    for (int round = 0; round < 2000; round++) {
        ref_mat f = random_strain(&random), g = ref_random_matrix(&random, 1.0);
        // Of fourth order: liquids stiffen so fast that two points would miss by their distance.
        double slope = (8.0 * energy_change(f, h, g) - energy_change(f, 2.0 * h, g)) / (12.0 * h);
        assert_near(slope, ref_inner(tau_of(f, 1.0), g), 3e-4 * ref_norm(g));
    }
}

static firn_fm3 product_of(ref_mat f, ref_mat g, float rate)
{
    firn_matter matter = matter_of(f, 1.0);
    model_group group = MODEL(load)(&matter);
    firn_fx cache[FIRN_CACHE_CHANNELS];
    firn_implicit_bulk bulk = {firn_fx_set(2.0f), rate};
    MODEL(prepare)(&matter, &group, bulk, cache);
    return MODEL(product)(cache, 0.5f, one_lane(g));
}

// K = dtau - tau G^T, since P = tau F^-T.
static void product_is_the_derivative_of_the_force(void **state)
{
    (void)state;
    uint64_t random = 2;
    const double h = 1e-3;
    for (int round = 0; round < 2000; round++) {
        ref_mat f = random_strain(&random), g = ref_random_matrix(&random, 1.0), zero = {{{0}}};
        ref_mat change = ref_add(tau_of(moved(f, h, g), 1.0), -1.0, tau_of(moved(f, -h, g), 1.0));
        ref_mat exact = ref_add(zero, 0.5 / h, change);
        exact = ref_add(exact, -1.0, ref_mul(tau_of(f, 1.0), ref_transpose(g)));
        firn_fm3 k = product_of(f, g, 0.0f);
        assert_matrix_near(lanes_get(&k, 0), exact, 2e-3 * ref_norm(g));
    }
}

static void product_is_symmetric(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int round = 0; round < 2000; round++) {
        ref_mat f = random_strain(&random);
        ref_mat a = ref_random_matrix(&random, 1.0), b = ref_random_matrix(&random, 1.0);
        firn_fm3 ka = product_of(f, a, 3.0f), kb = product_of(f, b, 3.0f);
        assert_near(ref_inner(a, lanes_get(&kb, 0)), ref_inner(b, lanes_get(&ka, 0)), 1e-5);
    }
}

static void stress_turns_with_the_body(void **state)
{
    (void)state;
    uint64_t random = 4;
    for (int round = 0; round < 1000; round++) {
        ref_mat f = random_strain(&random), q = ref_random_rotation(&random);
        ref_mat turned = ref_mul(ref_mul(q, tau_of(f, 1.0)), ref_transpose(q));
        assert_matrix_near(tau_of(ref_mul(q, f), 1.0), turned, 3e-6);
        assert_near((double)stress_of(ref_mul(q, f), 1.0).energy[0],
                    (double)stress_of(f, 1.0).energy[0], 2e-6);
    }
}

static void a_body_at_rest_has_no_stress(void **state)
{
    (void)state;
    ref_mat identity = ref_diagonal(1.0, 1.0, 1.0), nothing = {{{0}}};
    assert_true(ref_norm(tau_of(identity, 1.0)) <= 1e-7); // a division may be off by a bit
    firn_matter matter = matter_of(identity, 1.0);
    // It lies in what has its own density, of which it is a small part.
    matter.packing = firn_fx_set(1.0f);
    matter.cells = firn_fx_set(0.0f);
    matter.cell_size = 0.02f;
    model_group group = MODEL(update)(&matter, one_lane(nothing), 1e-3f);
    assert_true(fabsf(MODEL(stress)(&group).energy[0]) <= 1e-7f);
    assert_near((double)matter.jp[0], 1.0, 0.0);
}

// A wave of small amplitude pays mu + lambda for each strain: no step beyond its speed.
static void wave_speed_bounds_the_stiffness(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 1000; round++) {
        ref_mat f = random_strain(&random), g = {{{0}}};
        int axis = round % 3;
        g.m[axis][axis] = 1.0;
        firn_matter matter = matter_of(f, 1.0);
        model_group group = MODEL(load)(&matter);
        firn_bulk bulk = {firn_fx_set(2.4f), firn_fx_set(2.0f), 1.0f};
        double wave2 = (double)MODEL(wave2)(&group, &bulk)[0];
        firn_fm3 k = product_of(f, g, 0.0f);
        assert_true(1.05 * wave2 * 1.2 >= lanes_get(&k, 0).m[axis][axis]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stress_is_the_derivative_of_the_energy),
        cmocka_unit_test(product_is_the_derivative_of_the_force),
        cmocka_unit_test(product_is_symmetric),
        cmocka_unit_test(stress_turns_with_the_body),
        cmocka_unit_test(a_body_at_rest_has_no_stress),
        cmocka_unit_test(wave_speed_bounds_the_stiffness),
    };
    if (!lanes_supported())
        return LANES_SKIPPED;
    return cmocka_run_group_tests(tests, setup, NULL);
}
