/// Snow against still surfaces: friction as Coulomb has it, sticking and letting go.
#include "scene.h"

static const float CELL = 0.02f;
static const double GRAVITY = 9.81;

// Snow that does not yield: the laws of friction are those of a rigid body.
static firn_material_def firm(void)
{
    firn_material_def def = firn_material_def_default();
    def.critical_compression = 0.5f;
    def.critical_stretch = 0.5f;
    return def;
}

// A block on an incline: the floor stays level and gravity leans, or the plane itself leans.
typedef struct incline {
    double angle; // rad
    float mu;
    int leaning_plane;
} incline;

// How far the block has slid along the slope after 0.1, 0.2 and 0.3 s (m).
typedef struct slide {
    double at[3];
} slide;

static slide slide_down(const method *m, incline in)
{
    firn_sim_def def = scene_def(m, CELL);
    float sine = (float)sin(in.angle), cosine = (float)cos(in.angle);
    firn_vec3 along = {1.0f, 0.0f, 0.0f}, normal = {0.0f, 1.0f, 0.0f};
    if (in.leaning_plane) {
        along = firn_vec(cosine, -sine, 0.0f);
        normal = firn_vec(sine, cosine, 0.0f);
    } else {
        def.gravity = firn_vec((float)GRAVITY * sine, (float)-GRAVITY * cosine, 0.0f);
    }
    scene s = scene_open(&def);
    firn_material_def material = firm();
    firn_source_def box = scene_box(firn_vec(-0.06f, 0.0f, -0.03f), firn_vec(0.06f, 0.06f, 0.03f));
    box.material = scene_material(&s, &material);
    firn_vec3 *points = NULL;
    if (in.leaning_plane) {
        // The same block, turned onto the slope.
        size_t n = 0;
        points = malloc(12 * 6 * 6 * sizeof *points);
        for (int x = 0; x < 12; x++)
            for (int y = 0; y < 6; y++)
                for (int z = 0; z < 6; z++) {
                    float u = 0.01f * ((float)x - 5.5f), v = 0.01f * ((float)y + 0.5f);
                    firn_vec3 p = firn_add_scaled(firn_scale(u, along), v, normal);
                    p.z = 0.01f * ((float)z - 2.5f);
                    points[n++] = p;
                }
        firn_material_id id = box.material;
        box = firn_source_def_points(points, n);
        box.material = id;
    }
    scene_source(&s, &box);
    scene_plane(&s, normal, 0.0f, FIRN_CONTACT_SEPARATE, in.mu);
    slide result;
    scene_read(&s);
    totals start = scene_totals(&s);
    for (int i = 0; i < 3; i++) {
        scene_step(&s, 0.1);
        scene_read(&s);
        totals t = scene_totals(&s);
        result.at[i] = (t.center[0] - start.center[0]) * (double)along.x +
                       (t.center[1] - start.center[1]) * (double)along.y;
    }
    scene_close(&s);
    free(points);
    return result;
}

static void check_slope(const method *m, int leaning_plane, float mu)
{
    const char *what = leaning_plane ? "leaning plane" : "leaning gravity";
    double critical = atan((double)mu);
    for (int i = 0; i < 2; i++) {
        double angle = critical + (i == 0 ? -0.06 : 0.12);
        slide d = slide_down(m, (incline){angle, mu, leaning_plane});
        double first = d.at[1] - d.at[0], second = d.at[2] - d.at[1];
        double measured = (second - first) / 0.01;
        double expected = fmax(0.0, GRAVITY * (sin(angle) - (double)mu * cos(angle)));
        print_message("%s, %s, mu %g, tan %.3f: slid %.5f m, accelerates by %.3f m/s^2, expected "
                      "%.3f\n",
                      m->name, what, (double)mu, tan(angle), d.at[2], measured, expected);
        assert_true(fabs(measured - expected) < 0.01 + 0.02 * expected);
        if (expected == 0.0)
            assert_true(fabs(d.at[2]) < 0.05 * (double)CELL);
    }
}

static void blocks_slide_exactly_on_slopes_steeper_than_mu(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT(METHODS); i++)
        for (int leaning = 0; leaning < 2; leaning++)
            check_slope(&METHODS[i], leaning, 0.6f);
}

// A block against a wall (normal x) or under a ceiling (normal -y); how far it has fallen (m) and
// how fast it is after 0.1 s.
typedef struct fall {
    double depth, speed;
} fall;

static fall fall_from(const method *m, firn_vec3 normal, int contact, float friction)
{
    firn_sim_def def = scene_def(m, CELL);
    def.dt_max = 5e-4f;
    scene s = scene_open(&def);
    firn_vec3 lower = {0.0f, -0.08f, -0.04f}, upper = {0.08f, 0.0f, 0.04f};
    firn_source_def box = scene_box(lower, upper);
    firn_material_def material = firm();
    box.material = scene_material(&s, &material);
    scene_source(&s, &box);
    scene_plane(&s, normal, 0.0f, contact, friction);
    scene_step(&s, 0.1);
    scene_read(&s);
    totals t = scene_totals(&s);
    scene_close(&s);
    return (fall){-0.04 - t.center[1], -t.velocity[1]};
}

static void sticky_surfaces_hold_and_others_let_fall(void **state)
{
    (void)state;
    const double depth = 0.5 * GRAVITY * 0.01, speed = GRAVITY * 0.1;
    firn_vec3 wall = {1.0f, 0.0f, 0.0f}, ceiling = {0.0f, -1.0f, 0.0f};
    for (size_t i = 0; i < FIRN_COUNT(METHODS); i++) {
        const method *m = &METHODS[i];
        fall sticky_wall = fall_from(m, wall, FIRN_CONTACT_STICKY, 0.0f);
        fall slip_wall = fall_from(m, wall, FIRN_CONTACT_SLIP, 0.0f);
        fall bare_wall = fall_from(m, wall, FIRN_CONTACT_SEPARATE, 0.5f);
        fall sticky_ceiling = fall_from(m, ceiling, FIRN_CONTACT_STICKY, 0.0f);
        fall slip_ceiling = fall_from(m, ceiling, FIRN_CONTACT_SLIP, 0.0f);
        fall bare_ceiling = fall_from(m, ceiling, FIRN_CONTACT_SEPARATE, 0.5f);
        print_message("%s: free fall %.4f m; wall: sticky %.4f, slip %.4f, separate %.4f; "
                      "ceiling: sticky %.4f, slip %.4f, separate %.4f\n",
                      m->name, depth, sticky_wall.depth, slip_wall.depth, bare_wall.depth,
                      sticky_ceiling.depth, slip_ceiling.depth, bare_ceiling.depth);
        // What holds lets the block sag by its elasticity only.
        assert_true(fabs(sticky_wall.depth) < 0.15 * (double)CELL);
        assert_true(fabs(sticky_ceiling.depth) < 0.1 * (double)CELL);
        assert_true(fabs(slip_ceiling.depth) < 0.1 * (double)CELL);
        const fall *falling[] = {&slip_wall, &bare_wall, &bare_ceiling};
        for (size_t k = 0; k < FIRN_COUNT(falling); k++) {
            assert_true(fabs(falling[k]->depth / depth - 1.0) < 0.02);
            assert_true(fabs(falling[k]->speed / speed - 1.0) < 0.02);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_slide_exactly_on_slopes_steeper_than_mu),
        cmocka_unit_test(sticky_surfaces_hold_and_others_let_fall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
