/// Strengths, crushing and cracks of porous snow, one particle at a time, against closed forms.
#include "lanes.h"

#include "models/porous.h"

static const double c = 3.0e4, p_c = 5.0e4, w = 2e-3, young = 2.0e6, nu = 0.2, power = 3.0;
static const double phi = 40.0 * 0.017453292519943295;

static firn_materials table;

static int setup(void **state)
{
    (void)state;
    firn_material_def def = firn_material_def_default();
    def.model = FIRN_MODEL_POROUS;
    def.young_modulus = (float)young;
    def.poisson_ratio = (float)nu;
    def.cohesion = (float)c;
    def.friction_angle = 40.0f;
    def.crush = (float)p_c;
    def.hardening = (float)power;
    def.crack_opening = (float)w;
    firn_materials_put(&table, 0, &def);
    table.count = 1;
    return 0;
}

static firn_matter fresh(float cell_size)
{
    return (firn_matter){.f = firn_fm3_identity(),
                         .jp = firn_fx_set(1.0f),
                         .stiffness = firn_fx_set(1.0f),
                         .cell_size = cell_size,
                         .materials = {.table = &table, .same = true}};
}

static firn_fm3 rates(double x, double y, double z)
{
    firn_fm3 l = firn_fm3_identity();
    lanes_put(&l, 0, ref_diagonal(x, y, z));
    return l;
}

static firn_fs3 stress_of(const firn_porous_group *group) { return firn_porous_stress(group).tau; }

// Goes on with constant rates until the snow yields; the stress along x just before.
static double strength_along(double x, double side)
{
    firn_matter matter = fresh(0.02f);
    double stress = 0.0;
    for (int i = 0; i < 100000; i++) {
        firn_porous_group group = firn_porous_update(&matter, rates(x, side, side), 1e-5f);
        if (group.yields[0])
            return stress;
        stress = (double)stress_of(&group).xx[0];
    }
    return 0.0;
}

static void strengths_are_those_of_the_cone(void **state)
{
    (void)state;
    double k = c * cos(phi), t = tan(phi), root = sqrt(3.0);
    assert_near(strength_along(1.0, 1.0), k / t, 0.02 * k / t);
    double tension = root * k / (1.0 + t / root), pressure = root * k / (1.0 - t / root);
    assert_near(strength_along(1.0, -nu), tension, 0.02 * tension);
    // The mean of three stresses, of which two are zero, stays below what crushes.
    assert_true(pressure / 3.0 < p_c);
    assert_near(strength_along(-1.0, nu), -pressure, 0.02 * pressure);
    assert_near(strength_along(-1.0, -1.0), -p_c, 0.02 * p_c);
}

static void pressure_packs_on_a_plateau_that_rises_with_density(void **state)
{
    (void)state;
    firn_matter matter = fresh(0.02f);
    double volume = 1.0;
    for (int i = 0; i < 4000; i++) {
        firn_porous_group group = firn_porous_update(&matter, rates(-1.0, -1.0, -1.0), 5e-5f);
        volume *= pow(1.0 - 5e-5, 3.0);
        double jp = (double)matter.jp[0], expected = p_c * pow(jp, -power);
        if (jp < 0.99)
            assert_near(-(double)stress_of(&group).xx[0], expected, 0.01 * expected);
    }
    // All of the volume is accounted for, and packing wears no bond.
    assert_near((double)matter.jp[0] * (double)firn_fm3_det(matter.f)[0], volume, 1e-3);
    assert_true(matter.jp[0] < 0.75f && matter.stiffness[0] == 1.0f);
    // It springs back a little and stays packed.
    firn_porous_group group = {.yields = firn_ix_set(0)};
    float packed = matter.jp[0];
    for (int i = 0; i < 10 && !group.yields[0]; i++)
        group = firn_porous_update(&matter, rates(1.0, 1.0, 1.0), 1e-3f);
    assert_true(matter.jp[0] == packed);
}

// What opening a crack takes, per area of a cell of this size.
static double crack_energy(float h)
{
    firn_matter matter = fresh(h);
    double energy = 0.0, before = 0.0;
    const double step = 1e-5 / (double)h; // displacements of 10 micrometers
    for (int i = 0; i < 4000; i++) {
        firn_porous_group group = firn_porous_update(&matter, rates(step, 0.0, 0.0), 1.0f);
        double stress = (double)stress_of(&group).xx[0];
        energy += 0.5 * (before + stress) * step * (double)h;
        before = stress;
    }
    assert_true(matter.stiffness[0] < 1e-3f && fabs(before) < 0.01 * c);
    return energy;
}

static void a_crack_takes_the_same_energy_in_cells_of_any_size(void **state)
{
    (void)state;
    double coarse = crack_energy(0.022f), fine = crack_energy(0.0096f);
    assert_near(fine, coarse, 0.05 * coarse);
    // The strength against all-round tension, times the opening, is near.
    double expected = c * cos(phi) / tan(phi) * w;
    assert_true(coarse > 0.5 * expected && coarse < 2.0 * expected);
}

static void what_has_opened_closes_before_it_bears(void **state)
{
    (void)state;
    firn_matter matter = fresh(0.02f);
    firn_porous_group group;
    for (int i = 0; i < 3000; i++)
        firn_porous_update(&matter, rates(1.0, 1.0, 1.0), 1e-4f);
    assert_true(matter.stiffness[0] < 1e-3f && matter.jp[0] > 2.0f);
    double opened = log((double)matter.jp[0]);
    for (int i = 0; i < 2900; i++) {
        group = firn_porous_update(&matter, rates(-1.0, -1.0, -1.0), 1e-4f);
        assert_near((double)stress_of(&group).xx[0], 0.0, 0.02 * c);
    }
    assert_near(log((double)matter.jp[0]), opened - 0.87, 0.01);
    for (int i = 0; i < 300; i++)
        group = firn_porous_update(&matter, rates(-1.0, -1.0, -1.0), 1e-4f);
    assert_true((double)stress_of(&group).xx[0] < -0.9 * p_c);
}

static void elastic_lanes_keep_their_bits(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 300; round++) {
        firn_matter matter = fresh(0.02f);
        lanes_put(&matter.f, 0,
                  ref_stretched(&random, ref_random(&random, 0.995, 1.002),
                                ref_random(&random, 0.995, 1.002),
                                ref_random(&random, 0.995, 1.002)));
        firn_fm3 before = matter.f;
        firn_porous_group group = firn_porous_update(&matter, rates(0.0, 0.0, 0.0), 1e-3f);
        if (group.yields[0])
            continue;
        for (int k = 0; k < 9; k++)
            assert_true(matter.f.m[k][0] == before.m[k][0]);
        assert_true(matter.jp[0] == 1.0f && matter.stiffness[0] == 1.0f);
    }
}

// Whatever it is given: all volume is kept, F is upright and holds, and nothing is gained.
static void any_deformation_comes_back(void **state)
{
    (void)state;
    uint64_t random = 2;
    for (int round = 0; round < 3000; round++) {
        firn_matter matter = fresh(0.02f);
        double least = round % 3 == 0 ? 0.6 : round % 3 == 1 ? 0.05 : -0.5;
        ref_mat f = ref_stretched(&random, ref_random(&random, 0.7, 1.9),
                                  ref_random(&random, 0.6, 1.5), ref_random(&random, least, 1.4));
        lanes_put(&matter.f, 0, f);
        firn_porous_group group = firn_porous_update(&matter, rates(0.0, 0.0, 0.0), 1e-3f);
        double det = (double)firn_fm3_det(matter.f)[0], jp = (double)matter.jp[0];
        assert_true(det > 0.0 && isfinite(det) && jp > 0.0 && isfinite(jp));
        assert_true(matter.stiffness[0] >= 0.0f && matter.stiffness[0] <= 1.0f);
        if (round % 3 == 0)
            assert_near(log(det) + log(jp), log(ref_det(f)), 2e-3);
        // The strain that the group tells is that of F, and it does not yield again.
        firn_porous_group again = firn_porous_load(&matter);
        firn_fs3 tau = stress_of(&group), other = stress_of(&again);
        assert_matrix_near(lanes_get_symmetric(&tau, 0), lanes_get_symmetric(&other, 0),
                           0.02 * c + 2e-3 * ref_norm(lanes_get_symmetric(&tau, 0)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strengths_are_those_of_the_cone),
        cmocka_unit_test(pressure_packs_on_a_plateau_that_rises_with_density),
        cmocka_unit_test(a_crack_takes_the_same_energy_in_cells_of_any_size),
        cmocka_unit_test(what_has_opened_closes_before_it_bears),
        cmocka_unit_test(elastic_lanes_keep_their_bits),
        cmocka_unit_test(any_deformation_comes_back),
    };
    if (!lanes_supported())
        return LANES_SKIPPED;
    return cmocka_run_group_tests(tests, setup, NULL);
}
