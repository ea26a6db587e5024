/// Plastic snow: pressed together it stays so and hardens, pulled apart it weakens and breaks.
#include "scene.h"

static const float CELL = 0.02f;
static const firn_vec3 LOWER = {0.0f, 0.0f, 0.0f}, UPPER = {0.04f, 0.16f, 0.04f};

static scene cylinder(const method *m)
{
    firn_sim_def def = scene_def(m, CELL);
    def.dt_max = 5e-4f;
    scene s = scene_open(&def);
    scene_walls(&s, LOWER, UPPER);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.0f);
    return s;
}

static void fill(scene *s, const firn_material_def *material)
{
    firn_source_def box = scene_box(LOWER, UPPER);
    box.material = scene_material(s, material);
    scene_source(s, &box);
}

// Twice the mean height of the snow of the first material that was added, over its initial height.
static double relative_height(scene *s)
{
    scene_read(s);
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i < s->particles.count; i++)
        if (s->particles.material[i] == 1) {
            sum += s->position[i].y;
            count += 1.0;
        }
    return 2.0 * sum / count / (double)UPPER.y;
}

// Height that is left under a load (kg/m^2) of heavy snow.
static double height_under_load(const method *m, float young_modulus, float load)
{
    scene s = cylinder(m);
    firn_material_def snow = firn_material_def_default(), heavy = firn_material_def_default();
    snow.young_modulus = young_modulus;
    fill(&s, &snow);
    if (load > 0.0f) {
        heavy.density = load / 0.08f;
        heavy.young_modulus = 1e6f;
        heavy.critical_compression = heavy.critical_stretch = 0.5f;
        firn_vec3 lower = firn_add(LOWER, firn_vec(0.0f, UPPER.y, 0.0f));
        firn_source_def box = scene_box(lower, firn_add(UPPER, firn_vec(0.0f, 0.08f, 0.0f)));
        box.material = scene_material(&s, &heavy);
        scene_source(&s, &box);
    }
    scene_step(&s, 0.2);
    double height = relative_height(&s);
    scene_close(&s);
    return height;
}

static void soft_snow_gives_way_more_and_more_under_load(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i += 2) {
        const method *m = &METHODS[FEW[i]];
        double soft[3], stiff[3];
        for (int k = 0; k < 3; k++) {
            soft[k] = height_under_load(m, 2e4f, 200.0f * (float)k);
            stiff[k] = height_under_load(m, 1.4e5f, 200.0f * (float)k);
        }
        print_message("%s: height left under 0, 200, 400 kg/m^2: 20 kPa %.3f %.3f %.3f, 140 kPa "
                      "%.3f %.3f %.3f\n",
                      m->name, soft[0], soft[1], soft[2], stiff[0], stiff[1], stiff[2]);
        for (int k = 0; k < 3; k++)
            assert_true(soft[k] < stiff[k]);
        for (int k = 1; k < 3; k++) {
            assert_true(soft[k] < soft[k - 1] - 0.02);
            assert_true(stiff[k] < stiff[k - 1]);
        }
    }
}

// A piston comes down to a share of the height, stays and goes up again.
typedef struct squeeze {
    double held, after; // relative heights
    double mean_jp;
    double stress; // Pa, mean, held
} squeeze;

static squeeze press(const method *m, const firn_material_def *material, float share)
{
    scene s = cylinder(m);
    fill(&s, material);
    firn_vec3 half = {0.2f, 0.1f, 0.2f};
    firn_collider_def piston =
        firn_collider_def_box(firn_vec(0.02f, UPPER.y + half.y, 0.02f), half);
    piston.friction = 0.0f;
    firn_collider_id id = scene_collider(&s, &piston);
    firn_pose_key keys[4] = {
        {0.0, piston.pose}, {0.1, piston.pose}, {0.2, piston.pose}, {0.45, piston.pose}};
    keys[1].pose.translation.y = keys[2].pose.translation.y = share * UPPER.y + half.y;
    scene_check(&s, firn_sim_move_collider(s.sim, id, keys, 4, &s.error));
    scene_step(&s, 0.15);
    squeeze q = {.held = relative_height(&s)};
    q.mean_jp = scene_totals(&s).mean_jp;
    for (size_t i = 0; i < s.particles.count; i++)
        q.stress -= scene_stress_yy(&s, material, i) / (double)s.particles.count;
    scene_step(&s, 0.4);
    q.after = relative_height(&s);
    scene_close(&s);
    return q;
}

static void packed_snow_does_not_rebound_and_is_harder(void **state)
{
    (void)state;
    firn_material_def snow = firn_material_def_default(), rubber = snow;
    rubber.critical_compression = rubber.critical_stretch = 0.5f;
    for (size_t i = 1; i < FIRN_COUNT(FEW); i += 2) {
        const method *m = &METHODS[FEW[i]];
        squeeze little = press(m, &snow, 0.875f), much = press(m, &snow, 0.75f);
        squeeze elastic = press(m, &rubber, 0.875f);
        print_message(
            "%s: pressed to 0.875: J_P %.3f, %.0f Pa, height %.3f then %.3f; to 0.75: J_P "
            "%.3f, %.0f Pa, height %.3f then %.3f; rubber: %.3f then %.3f\n",
            m->name, little.mean_jp, little.stress, little.held, little.after, much.mean_jp,
            much.stress, much.held, much.after, elastic.held, elastic.after);
        // All the rest was elastic: at most theta_c, 2.5 %.
        assert_true(little.after - little.held < 0.03 && much.after - much.held < 0.03);
        assert_true(elastic.after - elastic.held > 0.05);
        // At the same elastic strain, 2.5 %, the packed snow pushes back harder. The grid sees the
        // piston only where it has reached a node, up to a cell late: some packing is missed.
        assert_true(fabs(much.mean_jp / (0.75 / 0.975) - 1.0) < 0.08);
        assert_true(fabs(little.mean_jp / (0.875 / 0.975) - 1.0) < 0.08);
        assert_true(much.stress > 2.0 * little.stress);
    }
}

// How far the middle of a column whose snow was packed before sags under its own weight (m).
static double sag(const method *m, float jp)
{
    enum { X = 4, Y = 16 };
    firn_vec3 *points = malloc(X * X * Y * sizeof *points);
    float *packed = malloc(X * X * Y * sizeof *packed);
    size_t n = 0;
    for (int x = 0; x < X; x++)
        for (int y = 0; y < Y; y++)
            for (int z = 0; z < X; z++) {
                packed[n] = jp;
                points[n++] =
                    firn_scale(0.01f, firn_vec((float)x + 0.5f, (float)y + 0.5f, (float)z + 0.5f));
            }
    scene s = cylinder(m);
    firn_source_def source = firn_source_def_points(points, n);
    const firn_source_value value = {"Jp", .points = packed};
    source.values = &value;
    source.value_count = 1;
    scene_source(&s, &source);
    double sum = 0.0;
    const int samples = 50;
    for (int i = 0; i < samples; i++) {
        scene_step(&s, 2e-3);
        scene_read(&s);
        double window = 1.0 - cos(2.0 * 3.141592653589793 * (i + 0.5) / samples);
        sum += window * (0.08 - scene_totals(&s).center[1]) / samples;
    }
    scene_close(&s);
    free(points);
    free(packed);
    return sum;
}

static void packing_before_hardens_by_the_exponential(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++) {
        const method *m = &METHODS[FEW[i]];
        double fresh = sag(m, 1.0f), packed = sag(m, 0.9f), torn = sag(m, 1.1f);
        print_message("%s: sags by %.3f mm; packed to J_P 0.9 %.3f times less, torn to 1.1 %.3f "
                      "times more; expected %.3f\n",
                      m->name, 1e3 * fresh, fresh / packed, torn / fresh, exp(1.0));
        assert_true(fabs(fresh / packed / exp(1.0) - 1.0) < 0.05);
        assert_true(fabs(torn / fresh / exp(1.0) - 1.0) < 0.05);
    }
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// The widest gap between particles along x (m).
static double widest_gap(const scene *s)
{
    size_t n = s->particles.count;
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = s->position[i].x;
    qsort(x, n, sizeof *x, compare_floats);
    double gap = 0.0;
    for (size_t i = 1; i < n; i++)
        gap = fmax(gap, (double)(x[i] - x[i - 1]));
    free(x);
    return gap;
}

static void pulled_bar_weakens_and_breaks_in_two(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(FEW); i++) {
        const method *m = &METHODS[FEW[i]];
        firn_sim_def def = scene_def(m, CELL);
        def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
        def.dt_max = 5e-4f;
        scene s = scene_open(&def);
        firn_source_def bar =
            scene_box(firn_vec(-0.16f, 0.0f, 0.0f), firn_vec(0.16f, 0.06f, 0.06f));
        scene_source(&s, &bar);
        for (int side = -1; side < 2; side += 2) {
            firn_collider_def grip = firn_collider_def_box(
                firn_vec(0.17f * (float)side, 0.03f, 0.03f), firn_vec(0.05f, 0.1f, 0.1f));
            grip.contact = FIRN_CONTACT_STICKY;
            firn_collider_id id = scene_collider(&s, &grip);
            firn_pose_key keys[2] = {{0.0, grip.pose}, {0.1, grip.pose}};
            keys[1].pose.translation.x += 0.1f * (float)side;
            scene_check(&s, firn_sim_move_collider(s.sim, id, keys, 2, &s.error));
        }
        scene_step(&s, 0.02);
        double elastic_early = firn_sim_stats(s.sim).elastic;
        scene_step(&s, 0.1);
        scene_read(&s);
        totals t = scene_totals(&s);
        double gap = widest_gap(&s), elastic_late = firn_sim_stats(s.sim).elastic;
        print_message("%s: gap %.3f m, J_P up to %.2f, elastic energy %.2g J then %.2g J\n",
                      m->name, gap, t.max_jp, elastic_early, elastic_late);
        assert_true(gap > 2.0 * (double)CELL);
        assert_true(t.max_jp > 1.05);
        scene_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soft_snow_gives_way_more_and_more_under_load),
        cmocka_unit_test(packed_snow_does_not_rebound_and_is_harder),
        cmocka_unit_test(packing_before_hardens_by_the_exponential),
        cmocka_unit_test(pulled_bar_weakens_and_breaks_in_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
