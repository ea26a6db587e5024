/// Grains: how steep they pile, how high a cut stands, and that they close up again.
#include "scene.h"

static const float CELL = 0.02f;
static const double DEGREE = 0.017453292519943295;

static firn_material_def sand_of(double angle, double cohesion)
{
    firn_material_def sand;
    assert_int_equal(firn_material_def_preset("sand", &sand, NULL), FIRN_OK);
    sand.friction_angle = (float)angle;
    sand.cohesion = (float)cohesion;
    return sand;
}

// A block between two smooth walls, against a third.
static scene open_slab(const firn_sim_def *def, const firn_material_def *sand, firn_vec3 size)
{
    scene s = scene_open(def);
    firn_source_def box = scene_box(firn_vec(0.0f, 0.0f, 0.0f), size);
    box.material = scene_material(&s, sand);
    scene_source(&s, &box);
    scene_plane(&s, firn_vec(1.0f, 0.0f, 0.0f), 0.0f, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(&s, firn_vec(0.0f, 0.0f, 1.0f), 0.0f, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(&s, firn_vec(0.0f, 0.0f, -1.0f), -size.z, FIRN_CONTACT_SLIP, 0.0f);
    return s;
}

// The angle of a straight line through the surface, away from the crest and the edge.
static double slope_of(scene *s, int columns)
{
    double top[64] = {0.0}, n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
    scene_read(s);
    for (size_t p = 0; p < s->particles.count; p++) {
        int c = (int)floorf(s->position[p].x / CELL);
        if (c >= 0 && c < columns)
            top[c] = fmax(top[c], s->position[p].y);
    }
    for (int c = 3; c < columns - 2; c++) {
        double x = (c + 0.5) * (double)CELL;
        n += 1.0;
        sx += x;
        sy += top[c];
        sxx += x * x;
        sxy += x * top[c];
    }
    return -atan((n * sxy - sx * sy) / (n * sxx - sx * sx)) / DEGREE;
}

// Sand slides off a table until the rest of it is no steeper than it can be.
static void sand_piles_at_its_friction_angle(void **state)
{
    (void)state;
    enum { COLUMNS = 18 };
    static const double angles[] = {25.0, 34.0};
    for (int i = 0; i < 2; i++) {
        firn_sim_def def = scene_def(&METHODS[0], CELL);
        def.domain_lower.y = -0.3f; // what has fallen is gone
        firn_material_def sand = sand_of(angles[i], 0.0);
        const float length = COLUMNS * CELL;
        scene s = open_slab(&def, &sand, firn_vec(length, 13.0f * CELL, 2.0f * CELL));
        firn_collider_def table = firn_collider_def_box(firn_vec(0.5f * length - 1.0f, -0.2f, 0.0f),
                                                        firn_vec(1.0f + 0.5f * length, 0.2f, 1.0f));
        table.contact = FIRN_CONTACT_STICKY;
        scene_collider(&s, &table);
        scene_step(&s, 2.5);
        double slope = slope_of(&s, COLUMNS);
        if (!(fabs(slope - angles[i]) < 3.0))
            fail_msg("sand of %g degrees piles at %g", angles[i], slope);
        scene_close(&s);
    }
}

static double face_of(scene *s)
{
    double face = 0.0;
    scene_read(s);
    for (size_t p = 0; p < s->particles.count; p++)
        face = fmax(face, s->position[p].x);
    return face;
}

// A cut of the height H stands while g < 4 c tan(45 + phi/2) / (rho H): gravity is raised to 0.85
// of that, and then to 1.15.
static void cohesion_holds_a_vertical_cut(void **state)
{
    (void)state;
    const double angle = 30.0, cohesion = 1000.0, height = 16.0 * (double)CELL;
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    def.gravity = firn_vec(0.0f, 0.0f, 0.0f);
    firn_material_def sand = sand_of(angle, cohesion);
    sand.young_modulus = 3e5f; // strains stay small, and steps large
    scene s = open_slab(&def, &sand, firn_vec(18.0f * CELL, (float)height, 2.0f * CELL));
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_STICKY, 0.0f);
    double theory = 4.0 * cohesion * tan((45.0 + 0.5 * angle) * DEGREE) / (1600.0 * height);
    double start = face_of(&s);
    for (int i = 1; i <= 24; i++) {
        def.gravity.y = (float)(-0.85 * theory * (i < 20 ? i / 20.0 : 1.0));
        scene_check(&s, firn_sim_change(s.sim, &def, &s.error));
        scene_step(&s, 0.02);
    }
    double moved = (face_of(&s) - start) / height;
    if (!(moved < 0.01))
        fail_msg("at 0.85 of the height the face has moved by %g of it", moved);
    def.gravity.y = (float)(-1.15 * theory);
    scene_check(&s, firn_sim_change(s.sim, &def, &s.error));
    scene_step(&s, 0.6);
    moved = (face_of(&s) - start) / height;
    if (!(moved > 0.03))
        fail_msg("at 1.15 of the height the face has moved by %g of it only", moved);
    scene_close(&s);
}

// Height of stirred sand: thrown up and let fall, four times.
static double stirred_height(float jp_max)
{
    firn_sim_def def = scene_def(&METHODS[0], CELL);
    firn_material_def sand = sand_of(30.0, 0.0);
    sand.young_modulus = 3e5f;
    sand.jp_max = jp_max;
    firn_vec3 size = {6.0f * CELL, 6.0f * CELL, 4.0f * CELL};
    scene s = open_slab(&def, &sand, size);
    scene_plane(&s, firn_vec(-1.0f, 0.0f, 0.0f), -size.x, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(&s, firn_vec(0.0f, 1.0f, 0.0f), 0.0f, FIRN_CONTACT_SEPARATE, 0.0f);
    for (int i = 0; i < 8; i++) {
        def.gravity.y = i % 2 == 0 ? 4.0f : -9.81f;
        scene_check(&s, firn_sim_change(s.sim, &def, &s.error));
        scene_step(&s, i % 2 == 0 ? 0.08 : 0.3);
    }
    scene_read(&s);
    double height = 2.0 * scene_totals(&s).center[1] / (double)size.y;
    scene_close(&s);
    return height;
}

// Grains that were pulled apart bear nothing until they have closed up. Without that memory, a
// J_P of 1 at most, every throw would leave gaps for good.
static void stirred_sand_closes_up(void **state)
{
    (void)state;
    double remembered = stirred_height(8.0f), forgotten = stirred_height(1.0f);
    if (!(remembered > 0.95 && remembered - 1.0 < 0.5 * (forgotten - 1.0)))
        fail_msg("stirred sand is %g times as high, without memory %g", remembered, forgotten);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sand_piles_at_its_friction_angle),
        cmocka_unit_test(cohesion_holds_a_vertical_cut),
        cmocka_unit_test(stirred_sand_closes_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
