// Meshes, particles and transforms between, at and beyond their samples.
#include "unit/abc_builder.h"

#include "matrix.h"

#include <stdio.h>
#include <string.h>

static firn_abc *open_fixture(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, FIRN_FIXTURES "/alembic/%s.abc", name);
    firn_abc *archive;
    firn_error error = {0};
    if (firn_abc_open(path, &archive, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return archive;
}

static firn_abc_mesh world_mesh(const firn_abc *archive, const char *pattern, double time)
{
    firn_abc_mesh mesh;
    firn_error error = {0};
    if (firn_abc_read_world_mesh(archive, pattern, time, &mesh, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return mesh;
}

static firn_abc_points read_points(const firn_abc *archive, const char *path, double time)
{
    firn_abc_points points;
    firn_error error = {0};
    int object = firn_abc_object_find(archive, path);
    assert_true(object >= 0);
    if (firn_abc_read_points(archive, object, time, &points, &error) != FIRN_OK)
        fail_msg("%s", error.message);
    return points;
}

static void assert_near_vec(firn_vec3 a, firn_vec3 b, double tolerance)
{
    assert_near(a.x, b.x, tolerance);
    assert_near(a.y, b.y, tolerance);
    assert_near(a.z, b.z, tolerance);
}

// --- Meshes --------------------------------------------------------------------------------------

static void mesh_of_one_topology_is_interpolated(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("acyclic");
    firn_abc_mesh a = world_mesh(archive, "/acyclic_mesh", 0.25);
    firn_abc_mesh b = world_mesh(archive, "/acyclic_mesh", 0.7);
    firn_abc_mesh between = world_mesh(archive, "/acyclic_mesh", 0.25 + 0.3 * 0.45);
    for (size_t i = 0; i < a.vertex_count; i++) {
        assert_near_vec(between.position[i], firn_lerp(a.position[i], b.position[i], 0.3f), 1e-6);
        assert_near_vec(between.velocity[i],
                        firn_scale(1.0f / 0.45f, firn_sub(b.position[i], a.position[i])), 1e-4);
    }
    firn_abc_mesh_free(&a);
    firn_abc_mesh_free(&b);
    firn_abc_mesh_free(&between);
    firn_abc_close(archive);
}

static void mesh_stands_still_outside_its_samples(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("acyclic");
    const double pairs[2][2] = {{-3.0, 0.0}, {9.0, 1.5}};
    for (int k = 0; k < 2; k++) {
        firn_abc_mesh outside = world_mesh(archive, "/acyclic_mesh", pairs[k][0]);
        firn_abc_mesh edge = world_mesh(archive, "/acyclic_mesh", pairs[k][1]);
        assert_true(firn_length(edge.velocity[0]) > 0.0f);
        for (size_t i = 0; i < edge.vertex_count; i++) {
            assert_near_vec(outside.position[i], edge.position[i], 0.0);
            assert_near_vec(outside.velocity[i], firn_vec(0, 0, 0), 0.0);
        }
        firn_abc_mesh_free(&outside);
        firn_abc_mesh_free(&edge);
    }
    firn_abc_close(archive);
}

static void velocity_at_a_sample_is_the_mean_of_both_sides(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("acyclic");
    firn_abc_mesh before = world_mesh(archive, "/acyclic_mesh", 0.2);
    firn_abc_mesh at = world_mesh(archive, "/acyclic_mesh", 0.25);
    firn_abc_mesh after = world_mesh(archive, "/acyclic_mesh", 0.3);
    for (size_t i = 0; i < at.vertex_count; i++)
        assert_near_vec(at.velocity[i], firn_lerp(before.velocity[i], after.velocity[i], 0.5f),
                        1e-4);
    firn_abc_mesh_free(&before);
    firn_abc_mesh_free(&at);
    firn_abc_mesh_free(&after);
    firn_abc_close(archive);
}

static void stored_velocities_are_preferred(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("mesh_deform");
    int blob = firn_abc_object_find(archive, "/blob");
    int velocities = firn_abc_property_find(archive, blob, ".geom/.velocities");
    firn_abc_array stored;
    assert_int_equal(firn_abc_read(archive, velocities, 4, &stored, NULL), FIRN_OK);
    firn_abc_mesh mesh = world_mesh(archive, "blob", 5.0 / 24.0);
    assert_int_equal(stored.count, mesh.vertex_count);
    assert_memory_equal(stored.values, mesh.velocity, stored.bytes);
    firn_abc_mesh_free(&mesh);
    firn_abc_array next;
    assert_int_equal(firn_abc_read(archive, velocities, 5, &next, NULL), FIRN_OK);
    mesh = world_mesh(archive, "blob", 5.25 / 24.0);
    const firn_vec3 *a = stored.values, *b = next.values;
    for (size_t i = 0; i < mesh.vertex_count; i++)
        assert_near_vec(mesh.velocity[i], firn_lerp(a[i], b[i], 0.25f), 1e-5);
    firn_abc_mesh_free(&mesh);
    firn_abc_array_free(&next);
    firn_abc_array_free(&stored);
    firn_abc_close(archive);
}

// A triangle, then a quad; frames of one second; the second frame moves.
static void build_changing_mesh(abc_builder *b, bool with_velocities, const char *schema)
{
    static const float p0[] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, v0[] = {2, 0, 0, 2, 0, 0, 0, 4, 0};
    static const float p1[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}, v1[12] = {0};
    static const int32_t c0[] = {0, 2, 1}, c1[] = {0, 3, 2, 1}, f0[] = {3}, f1[] = {4};
    const void *p[] = {p0, p1}, *v[] = {v0, v1}, *c[] = {c0, c1}, *f[] = {f0, f1};
    const size_t point_counts[] = {3, 4}, face_counts[] = {1, 1};
    abc_list geometry = {.count = 0}, objects = {.count = 0};
    abc_builder_start(b);
    abc_list_array(b, &geometry, "P", "geoScope=vtx", FIRN_ABC_POD_FLOAT32, 3, p, point_counts, 2);
    abc_list_array(b, &geometry, ".faceIndices", "", FIRN_ABC_POD_INT32, 1, c, point_counts, 2);
    abc_list_array(b, &geometry, ".faceCounts", "", FIRN_ABC_POD_INT32, 1, f, face_counts, 2);
    if (with_velocities)
        abc_list_array(b, &geometry, ".velocities", "", FIRN_ABC_POD_FLOAT32, 3, v, point_counts,
                       2);
    abc_list_schema_object(b, &objects, "m", schema, ".geom", &geometry, NULL);
    abc_builder_finish(b, abc_builder_object(b, 0, &objects), 1.0);
}

static void mesh_of_changing_topology_moves_by_its_velocities(void **state)
{
    (void)state;
    static abc_builder b;
    build_changing_mesh(&b, true, "AbcGeom_PolyMesh_v1");
    firn_abc *archive = abc_builder_open(&b);
    firn_abc_mesh mesh = world_mesh(archive, NULL, 0.25);
    assert_int_equal(mesh.vertex_count, 3);
    assert_near_vec(mesh.position[1], firn_vec(1.5f, 0, 0), 1e-6);
    assert_near_vec(mesh.position[2], firn_vec(0, 2, 0), 1e-6);
    assert_near_vec(mesh.velocity[2], firn_vec(0, 4, 0), 0.0);
    firn_abc_mesh_free(&mesh);
    mesh = world_mesh(archive, NULL, 1.0);
    assert_int_equal(mesh.vertex_count, 4);
    firn_abc_mesh_free(&mesh);
    firn_abc_close(archive);

    build_changing_mesh(&b, false, "AbcGeom_PolyMesh_v1");
    archive = abc_builder_open(&b);
    mesh = world_mesh(archive, NULL, 0.75);
    assert_near_vec(mesh.position[1], firn_vec(1, 0, 0), 0.0);
    assert_near_vec(mesh.velocity[1], firn_vec(0, 0, 0), 0.0);
    firn_abc_mesh_free(&mesh);
    firn_abc_close(archive);
}

static void positions_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    static abc_builder b;
    build_changing_mesh(&b, false, "AbcGeom_PolyMesh_v1");
    // The first block of the file is the first sample of P: 8 bytes of size, 16 of key.
    const float nan = NAN;
    memcpy(b.bytes + 16 + 8 + 16 + 4, &nan, sizeof nan);
    firn_abc *archive = abc_builder_open(&b);
    firn_abc_mesh mesh;
    firn_error error;
    assert_int_equal(firn_abc_read_mesh(archive, 1, 0.0, &mesh, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "position 0"));
    assert_int_equal(firn_abc_read_mesh(archive, 1, 1.0, &mesh, &error), FIRN_OK);
    firn_abc_mesh_free(&mesh);
    firn_abc_close(archive);
}

static void cage_of_a_subdivision_surface_is_a_mesh(void **state)
{
    (void)state;
    static abc_builder b;
    build_changing_mesh(&b, false, "AbcGeom_SubD_v1");
    firn_abc *archive = abc_builder_open(&b);
    assert_int_equal(firn_abc_object_at(archive, 1)->kind, FIRN_ABC_KIND_SUBD);
    firn_abc_mesh mesh = world_mesh(archive, NULL, 0.0);
    assert_int_equal(mesh.vertex_count, 3);
    assert_int_equal(mesh.face_count, 1);
    firn_abc_mesh_free(&mesh);
    firn_abc_close(archive);
}

static void world_faces_look_outward(void **state)
{
    (void)state;
    static abc_builder b;
    build_changing_mesh(&b, false, "AbcGeom_PolyMesh_v1");
    firn_abc *archive = abc_builder_open(&b);
    firn_abc_mesh stored, world = world_mesh(archive, NULL, 0.0);
    assert_int_equal(firn_abc_read_mesh(archive, 1, 0.0, &stored, NULL), FIRN_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(world.corner[i], stored.corner[2 - i]);
    firn_abc_mesh_free(&stored);
    firn_abc_mesh_free(&world);
    firn_abc_close(archive);
}

static void selection_by_path_and_name(void **state)
{
    (void)state;
    enum { ALL = -1 };
    static const struct {
        const char *pattern;
        int selected; // PolyMesh objects
    } cases[] = {{NULL, ALL},         {"", ALL},        {"/groupA", 2},     {"/groupA/*", 2},
                 {"/groupA/wave", 1}, {"/*/wave", 1},   {"/*", ALL},        {"/**/e*", 1},
                 {"wave", 1},         {"*_cube", 1},    {"/groupB/*/*", 3}, {"/group?/sub", 3},
                 {"/groupB/s**x", 0}, {"/groupC", 0},   {"/groupA/wav", 0}, {"/**empty", 1},
                 {"/**g*l*r", 1},     {"group*/sub", 0}};
    firn_abc *archive = open_fixture("groups_meshes");
    int meshes = 0;
    for (int i = 0; i < firn_abc_object_count(archive); i++)
        meshes += firn_abc_object_at(archive, i)->kind == FIRN_ABC_KIND_POLYMESH ? 1 : 0;
    for (size_t k = 0; k < FIRN_COUNT(cases); k++) {
        int selected = 0;
        for (int i = 0; i < firn_abc_object_count(archive); i++)
            if (firn_abc_object_at(archive, i)->kind == FIRN_ABC_KIND_POLYMESH)
                selected += firn_abc_object_matches(archive, i, cases[k].pattern) ? 1 : 0;
        int expected = cases[k].selected == ALL ? meshes : cases[k].selected;
        if (selected != expected)
            fail_msg("'%s' selects %d", cases[k].pattern != NULL ? cases[k].pattern : "(null)",
                     selected);
    }
    firn_abc_mesh mesh;
    firn_error error;
    assert_int_equal(firn_abc_read_world_mesh(archive, "/none", 0.0, &mesh, &error),
                     FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "/none"));
    firn_abc_close(archive);
}

static void several_meshes_become_one(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("groups_meshes");
    double time = 1002.4 / 24.0;
    firn_abc_mesh a = world_mesh(archive, "static_cube", time);
    firn_abc_mesh b = world_mesh(archive, "wave", time);
    firn_abc_mesh both = world_mesh(archive, "/groupA", time);
    assert_int_equal(both.vertex_count, a.vertex_count + b.vertex_count);
    assert_int_equal(both.face_count, a.face_count + b.face_count);
    assert_int_equal(both.corner_count, a.corner_count + b.corner_count);
    for (size_t i = 0; i < b.corner_count; i++)
        assert_near_vec(both.position[both.corner[a.corner_count + i]], b.position[b.corner[i]],
                        0.0);
    firn_abc_mesh_free(&a);
    firn_abc_mesh_free(&b);
    firn_abc_mesh_free(&both);
    firn_abc_close(archive);
}

// --- Transforms ----------------------------------------------------------------------------------

static void world_velocity_is_the_slope_of_world_position(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("xform_hierarchy");
    const double h = 1e-3;
    for (double frame = 0.5; frame < 22.5; frame += 1.75) {
        double time = frame / 24.0;
        firn_abc_mesh at = world_mesh(archive, NULL, time);
        firn_abc_mesh before = world_mesh(archive, NULL, time - h);
        firn_abc_mesh after = world_mesh(archive, NULL, time + h);
        double reach = fmod(frame, 1.0) > 0.05 && fmod(frame, 1.0) < 0.95 ? 1.0 : 5.0;
        for (size_t i = 0; i < at.vertex_count; i++) {
            firn_vec3 slope =
                firn_scale((float)(0.5 / h), firn_sub(after.position[i], before.position[i]));
            assert_true(firn_length(at.velocity[i]) > 0.5f);
            assert_near_vec(at.velocity[i], slope, reach * 5e-3 * firn_length(slope));
        }
        firn_abc_mesh_free(&at);
        firn_abc_mesh_free(&before);
        firn_abc_mesh_free(&after);
    }
    firn_abc_close(archive);
}

static void rigid_matrix_stays_rigid_between_samples(void **state)
{
    (void)state;
    const double axis[3] = {1.0, 2.0, -0.5}, offset[3] = {3, 0, 1};
    firn_abc_matrix turn = firn_abc_matrix_rotate(axis, 100.0);
    firn_abc_matrix shift = firn_abc_matrix_translate(offset);
    firn_abc_matrix from = firn_abc_matrix_identity(), to = firn_abc_matrix_mul(&turn, &shift);
    for (double mix = 0.0; mix <= 1.0; mix += 0.125) {
        firn_abc_matrix mixed = firn_abc_matrix_mix(&from, &to, mix);
        firn_abc_matrix expected = firn_abc_matrix_rotate(axis, 100.0 * mix);
        for (int i = 0; i < 12; i++)
            assert_near(mixed.m[i], expected.m[i], 1e-12);
        for (int i = 0; i < 3; i++)
            assert_near(mixed.m[12 + i], mix * offset[i], 1e-12);
    }
}

static void rotations_take_the_short_way(void **state)
{
    (void)state;
    const double axis[3] = {0.2, -1.0, 0.4};
    for (double start = 0.0; start < 360.0; start += 30.0) {
        firn_abc_matrix from = firn_abc_matrix_rotate(axis, start);
        firn_abc_matrix to = firn_abc_matrix_rotate(axis, start + 100.0);
        firn_abc_matrix mixed = firn_abc_matrix_mix(&from, &to, 0.5);
        firn_abc_matrix expected = firn_abc_matrix_rotate(axis, start + 50.0);
        for (int i = 0; i < 16; i++)
            assert_near(mixed.m[i], expected.m[i], 1e-12);
    }
}

static void stretched_and_mirrored_matrices_mix_by_their_parts(void **state)
{
    (void)state;
    const double axis[3] = {0, 0, 1}, a[3] = {1, 2, 3}, b[3] = {3, 2, 1}, mirror[3] = {-1, -1, -1};
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        firn_abc_matrix turn = firn_abc_matrix_rotate(axis, 60.0);
        firn_abc_matrix from = firn_abc_matrix_scale(a), to = firn_abc_matrix_scale(b);
        firn_abc_matrix flip = firn_abc_matrix_scale(mirror);
        to = firn_abc_matrix_mul(&to, &turn);
        if (mirrored) {
            from = firn_abc_matrix_mul(&from, &flip);
            to = firn_abc_matrix_mul(&to, &flip);
        }
        firn_abc_matrix mixed = firn_abc_matrix_mix(&from, &to, 0.5);
        assert_near(firn_abc_matrix_det(&mixed), mirrored ? -8.0 : 8.0, 1e-9);
    }
    firn_abc_matrix flat = firn_abc_matrix_scale((const double[3]){1, 0, 1});
    firn_abc_matrix unit = firn_abc_matrix_identity();
    assert_near(firn_abc_matrix_mix(&flat, &unit, 0.25).m[5], 0.25, 1e-15);
}

// /outer (moves 1 m/s in x, a matrix) / inner (10 up, may refuse its parent) / m
static void build_two_xforms(abc_builder *b, bool inherits)
{
    static const uint8_t matrix_op = 0x30, translate_op = 0x10, yes = 1, no = 0;
    firn_abc_matrix start = firn_abc_matrix_identity(), end = start;
    end.m[12] = 1.0;
    static const double up[3] = {0, 10, 0};
    static const float p[] = {0, 0, 0, 1, 0, 0, 0, 0, 1};
    static const int32_t corner[] = {0, 1, 2}, face[] = {3};
    static const size_t three = 3, one = 1;
    const void *ps[] = {p}, *cs[] = {corner}, *fs[] = {face};
    const void *moves[] = {start.m, end.m}, *ups[] = {up};
    const void *matrix_ops[] = {&matrix_op}, *translate_ops[] = {&translate_op};
    const void *yeses[] = {&yes}, *choices[] = {inherits ? &yes : &no};
    abc_list geometry = {.count = 0}, inner = {.count = 0}, outer = {.count = 0};
    abc_list below_inner = {.count = 0}, below_outer = {.count = 0}, objects = {.count = 0};
    abc_builder_start(b);
    abc_list_array(b, &geometry, "P", "", FIRN_ABC_POD_FLOAT32, 3, ps, &three, 1);
    abc_list_array(b, &geometry, ".faceIndices", "", FIRN_ABC_POD_INT32, 1, cs, &three, 1);
    abc_list_array(b, &geometry, ".faceCounts", "", FIRN_ABC_POD_INT32, 1, fs, &one, 1);
    abc_list_schema_object(b, &below_inner, "m", "AbcGeom_PolyMesh_v1", ".geom", &geometry, NULL);
    abc_list_scalar(b, &inner, ".inherits", FIRN_ABC_POD_BOOL, 1, choices, 1);
    abc_list_scalar(b, &inner, ".ops", FIRN_ABC_POD_UINT8, 1, translate_ops, 1);
    abc_list_scalar(b, &inner, ".vals", FIRN_ABC_POD_FLOAT64, 3, ups, 1);
    abc_list_schema_object(b, &below_outer, "inner", "AbcGeom_Xform_v3", ".xform", &inner,
                           &below_inner);
    abc_list_scalar(b, &outer, ".inherits", FIRN_ABC_POD_BOOL, 1, yeses, 1);
    abc_list_scalar(b, &outer, ".ops", FIRN_ABC_POD_UINT8, 1, matrix_ops, 1);
    abc_list_scalar(b, &outer, ".vals", FIRN_ABC_POD_FLOAT64, 16, moves, 2);
    abc_list_schema_object(b, &objects, "outer", "AbcGeom_Xform_v3", ".xform", &outer,
                           &below_outer);
    abc_builder_finish(b, abc_builder_object(b, 0, &objects), 1.0);
}

static void parents_move_their_children_unless_refused(void **state)
{
    (void)state;
    static abc_builder b;
    for (int inherits = 0; inherits < 2; inherits++) {
        build_two_xforms(&b, inherits != 0);
        firn_abc *archive = abc_builder_open(&b);
        firn_abc_mesh mesh = world_mesh(archive, "/outer", 0.5);
        assert_near_vec(mesh.position[1], firn_vec(inherits ? 1.5f : 1.0f, 10, 0), 1e-6);
        assert_near_vec(mesh.velocity[1], firn_vec(inherits ? 1.0f : 0.0f, 0, 0), 1e-6);
        firn_abc_mesh_free(&mesh);
        firn_abc_close(archive);
    }
}

// --- Particles -----------------------------------------------------------------------------------

static void particles_with_the_same_ids_are_interpolated(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("points_edge");
    firn_abc_points a = read_points(archive, "/many_samples", 7.0 / 24.0);
    firn_abc_points b = read_points(archive, "/many_samples", 7.25 / 24.0);
    assert_near_vec(a.position[0], firn_vec(7, 0, 0), 1e-5);
    assert_near_vec(b.position[0], firn_vec(7.25f, 0, 0), 1e-5);
    assert_near_vec(a.velocity[0], firn_vec(24, 0, 0), 1e-3);
    assert_near_vec(b.velocity[0], firn_vec(24, 0, 0), 1e-3);
    firn_abc_points_free(&a);
    firn_abc_points_free(&b);
    firn_abc_close(archive);
}

static void particles_with_other_ids_move_by_their_velocities(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("points_anim");
    firn_abc_points at = read_points(archive, "/particles", 3.0 / 24.0);
    firn_abc_points later = read_points(archive, "/particles", 3.4 / 24.0);
    assert_int_equal(at.count, later.count);
    for (size_t i = 0; i < at.count; i++) {
        firn_vec3 moved = firn_add_scaled(at.position[i], 0.4f / 24.0f, at.velocity[i]);
        assert_near_vec(later.position[i], moved, 1e-6);
        assert_int_equal(later.id[i], at.id[i]);
    }
    firn_abc_points_free(&at);
    firn_abc_points_free(&later);
    firn_abc_close(archive);
}

static void particles_without_ids_keep_their_order(void **state)
{
    (void)state;
    static abc_builder b;
    static const float p0[] = {0, 0, 0}, p1[] = {0, 4, 0};
    static const size_t ones[] = {1, 1};
    const void *p[] = {p0, p1};
    abc_list geometry = {.count = 0}, objects = {.count = 0};
    abc_builder_start(&b);
    abc_list_array(&b, &geometry, "P", "", FIRN_ABC_POD_FLOAT32, 3, p, ones, 2);
    abc_list_schema_object(&b, &objects, "p", "AbcGeom_Points_v1", ".geom", &geometry, NULL);
    abc_builder_finish(&b, abc_builder_object(&b, 0, &objects), 2.0);
    firn_abc *archive = abc_builder_open(&b);
    firn_abc_points points = read_points(archive, "/p", 0.5);
    assert_null(points.id);
    assert_null(points.width);
    assert_near_vec(points.position[0], firn_vec(0, 1, 0), 1e-6);
    assert_near_vec(points.velocity[0], firn_vec(0, 2, 0), 1e-6);
    firn_abc_points_free(&points);
    firn_abc_close(archive);
}

static const firn_abc_attribute *find_attribute(const firn_abc_points *points, const char *name)
{
    for (int i = 0; i < points->attribute_count; i++)
        if (strcmp(points->attributes[i].name, name) == 0)
            return &points->attributes[i];
    fail_msg("no attribute %s", name);
    return NULL;
}

static void particles_bring_their_attributes(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("points_anim");
    firn_abc_points points = read_points(archive, "/particles", 2.0 / 24.0);
    assert_int_equal(points.attribute_count, 7);
    assert_non_null(points.width);
    const firn_abc_attribute *vorticity = find_attribute(&points, "vorticity");
    assert_string_equal(vorticity->scope, "var");
    assert_int_equal(vorticity->array.count, points.count);
    assert_int_equal(vorticity->array.extent, 3);
    const firn_abc_attribute *rest = find_attribute(&points, "restDensity");
    assert_string_equal(rest->scope, "con");
    assert_true(*(const float *)rest->array.values == 998.200012f);

    // Indexed: one value per point, looked up.
    const firn_abc_attribute *material = find_attribute(&points, "material");
    int property = firn_abc_property_find(archive, 1, ".geom/.arbGeomParams/material");
    int indices = firn_abc_property_find(archive, 1, ".geom/.arbGeomParams/material/.indices");
    assert_true(firn_abc_is_indexed_param(archive, property));
    assert_false(firn_abc_is_indexed_param(archive, indices));
    firn_abc_array index;
    assert_int_equal(firn_abc_read(archive, indices, 1, &index, NULL), FIRN_OK);
    assert_int_equal(material->array.count, points.count);
    for (size_t i = 0; i < points.count; i++)
        assert_true(((const float *)material->array.values)[i] ==
                    (((const uint32_t *)index.values)[i] == 0 ? 0.125f : 7.5f));
    firn_abc_array_free(&index);
    firn_abc_points_free(&points);
    firn_abc_close(archive);
}

static void one_width_serves_all_points(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("points_edge");
    firn_abc_points points = read_points(archive, "/static", 0.0);
    assert_int_equal(points.count, 3);
    assert_true(points.width[0] > 0.0f && points.width[0] == points.width[2]);
    assert_true(points.id[0] == UINT64_MAX || points.id[1] == UINT64_MAX ||
                points.id[2] == UINT64_MAX);
    firn_abc_points_free(&points);
    points = read_points(archive, "/no_samples", 0.0);
    assert_int_equal(points.count, 0);
    firn_abc_points_free(&points);
    firn_abc_close(archive);
}

static void wrong_questions_are_arguments(void **state)
{
    (void)state;
    firn_abc *archive = open_fixture("tiny");
    firn_abc_points points;
    firn_abc_mesh mesh;
    firn_abc_matrix matrix;
    firn_abc_array array;
    firn_error error;
    assert_int_equal(firn_abc_read_points(archive, 0, 0.0, &points, &error), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_abc_read_points(archive, 1, NAN, &points, &error), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_abc_read_mesh(archive, 1, 0.0, &mesh, &error), FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_abc_world_matrix(archive, 1, INFINITY, &matrix, NULL, &error),
                     FIRN_ERR_ARGUMENT);
    assert_int_equal(firn_abc_read(archive, 0, 0, &array, &error), FIRN_ERR_ARGUMENT);
    firn_abc_close(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mesh_of_one_topology_is_interpolated),
        cmocka_unit_test(mesh_stands_still_outside_its_samples),
        cmocka_unit_test(velocity_at_a_sample_is_the_mean_of_both_sides),
        cmocka_unit_test(stored_velocities_are_preferred),
        cmocka_unit_test(mesh_of_changing_topology_moves_by_its_velocities),
        cmocka_unit_test(positions_that_are_no_numbers_are_refused),
        cmocka_unit_test(cage_of_a_subdivision_surface_is_a_mesh),
        cmocka_unit_test(world_faces_look_outward),
        cmocka_unit_test(selection_by_path_and_name),
        cmocka_unit_test(several_meshes_become_one),
        cmocka_unit_test(world_velocity_is_the_slope_of_world_position),
        cmocka_unit_test(rigid_matrix_stays_rigid_between_samples),
        cmocka_unit_test(rotations_take_the_short_way),
        cmocka_unit_test(stretched_and_mirrored_matrices_mix_by_their_parts),
        cmocka_unit_test(parents_move_their_children_unless_refused),
        cmocka_unit_test(particles_with_the_same_ids_are_interpolated),
        cmocka_unit_test(particles_with_other_ids_move_by_their_velocities),
        cmocka_unit_test(particles_without_ids_keep_their_order),
        cmocka_unit_test(particles_bring_their_attributes),
        cmocka_unit_test(one_width_serves_all_points),
        cmocka_unit_test(wrong_questions_are_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
