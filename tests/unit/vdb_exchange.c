// The C side of scripts/vdb_check.py: reads what pyopenvdb wrote, writes what pyopenvdb reads.
//   vdb_exchange read FOLDER      vdb_exchange write FOLDER      vdb_exchange refuse FILE
#define _GNU_SOURCE
#include "unit/vdb_support.h"

#include "firn/vdb_points.h"

static firn_vdb_reader *reader;
static int checks;

static void check(bool holds, const char *file, const char *what)
{
    checks++;
    if (!holds) {
        fprintf(stderr, "%s: %s\n", file, what);
        exit(1);
    }
}

static void succeed(firn_result result, const firn_error *error)
{
    if (result != FIRN_OK) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

static firn_vdb_shape *read_shape(const char *path, const char *grid)
{
    firn_error error;
    firn_vdb_shape_def def = firn_vdb_shape_def_default();
    def.grid = grid;
    firn_vdb_shape *shape = NULL;
    succeed(firn_vdb_read_shape(reader, path, NULL, &def, &shape, &error), &error);
    return shape;
}

/// The file holds the ball of radius 0.5 around center.
static void check_ball(const char *path, const char *grid, firn_vec3 center, float tolerance)
{
    firn_vdb_shape *shape = read_shape(path, grid);
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    int inside = 0, band = 0;
    for (size_t leaf = 0; leaf < set->leaf_count; leaf++)
        for (int n = 0; n < 512; n++) {
            firn_coord c = scene_voxel(set->leaf_origin[leaf], n);
            firn_vec3 p =
                firn_transform_point(set->map, firn_vec((float)c.x, (float)c.y, (float)c.z));
            float expected = firn_length(firn_sub(p, center)) - 0.5f;
            float found = set->values[512 * leaf + (size_t)n];
            inside += found < 0.0f;
            if (fabsf(found) < 0.99f * set->background) {
                band++;
                check(fabsf(found - expected) <= tolerance, path, "distance");
            }
        }
    check(band > 500 && inside > 100, path, "voxels in the band");
    firn_vec3 middle = firn_transform_point_inverse(set->map, center);
    check(scene_level_set_value(set, (int)lroundf(middle.x), (int)lroundf(middle.y),
                                (int)lroundf(middle.z)) < 0.0f,
          path, "the center is inside");
    firn_vdb_shape_destroy(shape);
}

/// Velocities near the surface are those of scene_velocity.
static void check_velocity(const char *path, float tolerance)
{
    firn_vdb_shape *shape = read_shape(path, NULL);
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    const firn_velocity_grid *velocity = firn_vdb_shape_velocity(shape);
    check(velocity != NULL, path, "has velocity");
    int compared = 0;
    for (size_t leaf = 0; leaf < velocity->leaf_count; leaf++)
        for (int n = 0; n < 512; n++) {
            firn_coord c = scene_voxel(velocity->leaf_origin[leaf], n);
            firn_vec3 p =
                firn_transform_point(velocity->map, firn_vec((float)c.x, (float)c.y, (float)c.z));
            firn_vec3 v = velocity->values[512 * leaf + (size_t)n];
            firn_vec3 i = firn_transform_point_inverse(set->map, p);
            float phi =
                scene_level_set_value(set, (int)lroundf(i.x), (int)lroundf(i.y), (int)lroundf(i.z));
            if (fabsf(phi) > 0.4f * set->background)
                continue;
            compared++;
            check(firn_length(firn_sub(v, scene_velocity(p))) <= tolerance, path, "velocity");
        }
    check(compared > 300, path, "velocities near the surface");
    firn_vdb_shape_destroy(shape);
}

static void read_all(const char *folder)
{
    char path[256];
    const struct {
        const char *file, *grid;
        firn_vec3 center;
        float tolerance;
    } balls[] = {
        {"plain.vdb", NULL, {0, 0, 0}, 1e-5f},    {"half.vdb", NULL, {0, 0, 0}, 3e-4f},
        {"rotated.vdb", NULL, {3, -1, 2}, 1e-4f}, {"odd_name.vdb", NULL, {0, 0, 0}, 1e-5f},
        {"two.vdb", "second", {0, 0, 0}, 1e-5f},  {"unclassified.vdb", NULL, {0, 0, 0}, 1e-5f},
    };
    for (size_t i = 0; i < FIRN_COUNT(balls); i++) {
        scene_path(path, folder, balls[i].file);
        check_ball(path, balls[i].grid, balls[i].center, balls[i].tolerance);
    }
    check_ball(FIRN_FIXTURES "/vdb/double.vdb", NULL, firn_vec(1.2f, 1.2f, 1.2f), 1e-5f);
    check_velocity(FIRN_FIXTURES "/vdb/double.vdb", 1e-5f);
    const char *moving[] = {"cell.vdb",   "cell_v.vdb",      "staggered.vdb",
                            "triple.vdb", "triple_face.vdb", "velocity.vdb"};
    for (size_t i = 0; i < FIRN_COUNT(moving); i++) {
        scene_path(path, folder, moving[i]);
        check_velocity(path, 2e-5f);
    }
    // A velocity stored as one large tile reaches the voxels around the surface.
    scene_path(path, folder, "tile.vdb");
    firn_vdb_shape *shape = read_shape(path, NULL);
    const firn_level_set *set = firn_vdb_shape_level_set(shape);
    const firn_velocity_grid *velocity = firn_vdb_shape_velocity(shape);
    check(velocity != NULL && velocity->leaf_count >= set->leaf_count, path, "leaves of a tile");
    for (size_t i = 0; i < 512 * velocity->leaf_count; i++)
        check(velocity->values[i].y == 2.5f, path, "value of a tile");
    firn_vdb_shape_destroy(shape);
    scene_path(path, folder, "plain.vdb");
    shape = read_shape(path, NULL);
    check(firn_vdb_shape_velocity(shape) == NULL, path, "no velocity");
    check(strstr(firn_vdb_shape_warning(shape), "no velocity") != NULL, path, "warning");
    firn_vdb_shape_destroy(shape);
}

static void write_all(const char *folder)
{
    firn_error error;
    char path[256];
    scene_field *field = scene_field_create(0.05f);
    firn_transform map = {
        {3.0f, -1.0f, 2.0f}, firn_quat_turn(firn_vec(0.0f, 0.0f, 1.0f), 0.5f), 0.05f};
    scene_ball *ball = scene_ball_create(map, 0.5f);
    const char *names[] = {"blosc.vdb", "zip.vdb", "none.vdb"};
    for (int i = 0; i < 3; i++) {
        firn_vdb_write_def def = firn_vdb_write_def_default();
        def.compression = i;
        def.half = i == 0;
        def.frame = 7;
        def.density = i == 2 ? FIRN_VDB_DENSITY_KG_M3 : FIRN_VDB_DENSITY_RELATIVE;
        firn_vdb_content content = {.field = &field->view, .surface = &ball->view};
        scene_path(path, folder, names[i]);
        succeed(firn_vdb_write(path, &def, &content, NULL, &error), &error);
    }
    firn_vdb_points_def def = firn_vdb_points_def_default();
    int32_t id[512];
    for (int i = 0; i < 512; i++)
        id[i] = i;
    firn_vdb_attribute attribute = {"id", FIRN_VDB_ATTRIBUTE_INT, id};
    firn_vdb_points points = {512, field->velocity + 7 * 512, 1, &attribute};
    scene_path(path, folder, "points.vdb");
    succeed(firn_vdb_write_points(path, &def, &points, NULL, &error), &error);
    scene_ball_destroy(ball);
    free(field);
}

/// Prints the result and the message of reading a file that cannot be used.
static void refuse(const char *path)
{
    firn_error error = {FIRN_OK, ""};
    firn_vdb_shape_def def = firn_vdb_shape_def_default();
    firn_vdb_shape *shape = NULL;
    firn_result result = firn_vdb_read_shape(reader, path, NULL, &def, &shape, &error);
    printf("%s: %s\n", firn_result_name(result), error.message);
    firn_vdb_shape_destroy(shape);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    firn_error error;
    firn_vdb_reader_def def = firn_vdb_reader_def_default();
    succeed(firn_vdb_reader_create(&def, &reader, &error), &error);
    if (strcmp(argv[1], "read") == 0)
        read_all(argv[2]);
    else if (strcmp(argv[1], "write") == 0)
        write_all(argv[2]);
    else
        refuse(argv[2]);
    firn_vdb_reader_destroy(reader);
    if (checks > 0)
        printf("%d checks\n", checks);
    return 0;
}
