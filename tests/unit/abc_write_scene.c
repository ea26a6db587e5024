#include "abc_write_support.h"

static const firn_abc_param_def params[] = {
    {"density", FIRN_ABC_FLOAT, FIRN_ABC_VARYING}, {"phase", FIRN_ABC_INT, FIRN_ABC_VARYING},
    {"tag", FIRN_ABC_UINT64, FIRN_ABC_CONSTANT},   {"st", FIRN_ABC_VEC2, FIRN_ABC_VARYING},
    {"spin", FIRN_ABC_VECTOR, FIRN_ABC_VARYING},   {"rest", FIRN_ABC_POINT, FIRN_ABC_VERTEX},
    {"up", FIRN_ABC_NORMAL, FIRN_ABC_UNIFORM},     {"Cd", FIRN_ABC_COLOR, FIRN_ABC_VARYING},
    {"orient", FIRN_ABC_QUAT, FIRN_ABC_VARYING},   {"strain", FIRN_ABC_MAT3, FIRN_ABC_VARYING},
};

firn_result scene_declare(firn_abc_writer *writer, scene *s, firn_error *error)
{
    FIRN_TRY(firn_abc_writer_add_clock(writer, 1.0 / 24.0, 1.0 / 24.0, &s->frames, error));
    FIRN_TRY(firn_abc_writer_add_acyclic_clock(writer, &s->any, error));
    FIRN_TRY(firn_abc_writer_add_child_bounds(writer, FIRN_ABC_ROOT, s->frames, error));
    FIRN_TRY(firn_abc_writer_add_group(writer, FIRN_ABC_ROOT, "shot", &s->group, error));

    firn_abc_points_def points = firn_abc_points_def_default();
    points.clock = s->frames;
    points.velocities = true;
    points.widths = true;
    points.params = params;
    points.param_count = FIRN_COUNT(params);
    FIRN_TRY(firn_abc_writer_add_points(writer, s->group, "snow", &points, &s->points, error));
    points = firn_abc_points_def_default();
    points.clock = s->any;
    points.widths = true;
    points.width_scope = FIRN_ABC_CONSTANT;
    FIRN_TRY(firn_abc_writer_add_points(writer, FIRN_ABC_ROOT, "late", &points, &s->late, error));

    firn_abc_xform_def xform = firn_abc_xform_def_default();
    xform.clock = s->frames;
    xform.op_count = 3;
    xform.ops[0] = FIRN_ABC_TRANSLATE;
    xform.ops[1] = FIRN_ABC_ROTATE_Y;
    xform.ops[2] = FIRN_ABC_SCALE;
    FIRN_TRY(firn_abc_writer_add_xform(writer, s->group, "plow", &xform, &s->xform, error));
    FIRN_TRY(firn_abc_writer_add_child_bounds(writer, s->xform, s->frames, error));
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    mesh.clock = s->frames;
    mesh.velocities = true;
    mesh.normals = true;
    mesh.uvs = true;
    mesh.params = params;
    mesh.param_count = 1;
    return firn_abc_writer_add_mesh(writer, s->xform, "blade", &mesh, &s->mesh, error);
}

static firn_result put_snow(firn_abc_writer *writer, const scene *s, uint32_t frame,
                            firn_error *error)
{
    static const size_t counts[] = {0, 3, SCENE_POINTS, 1, 1, 0, 7};
    float values[SCENE_VALUES];
    firn_vec3 positions[SCENE_POINTS];
    uint64_t ids[SCENE_POINTS];
    // Frames 8 to 11 rest: no value changes.
    uint32_t pose = frame >= 8 && frame <= 11 ? 8 : frame;
    size_t count = counts[pose % FIRN_COUNT(counts)];
    for (size_t i = 0; i < SCENE_VALUES; i++)
        values[i] = 0.25f * (float)i - (float)pose;
    for (size_t i = 0; i < SCENE_POINTS; i++) {
        positions[i] = firn_vec((float)i, (float)pose, -(float)(i * pose));
        ids[i] = ((uint64_t)1 << 40) + i;
    }
    const void *param_values[FIRN_COUNT(params)];
    for (size_t i = 0; i < FIRN_COUNT(params); i++)
        param_values[i] = values;
    const firn_abc_points_data data = {count, positions, ids, positions, values, param_values};
    FIRN_TRY(firn_abc_writer_put_points(writer, s->points, &data, error));
    if (frame % 3 == 1) {
        const firn_abc_points_data late = {2, positions, NULL, NULL, values, NULL};
        FIRN_TRY(firn_abc_writer_put_time(writer, s->any, 0.3 * frame * frame, error));
        FIRN_TRY(firn_abc_writer_put_points(writer, s->late, &late, error));
    }
    return FIRN_OK;
}

firn_result scene_put_frame(firn_abc_writer *writer, const scene *s, uint32_t frame,
                            firn_error *error)
{
    FIRN_TRY(put_snow(writer, s, frame, error));
    const float lift = 0.5f * (float)(frame / 2);
    const firn_vec3 corners[4] = {firn_vec(0.0f, lift, 0.0f), firn_vec(1.0f, lift, 0.0f),
                                  firn_vec(1.0f, 1.0f, 0.0f), firn_vec(0.0f, 1.0f, 0.0f)};
    static const int32_t counts[2] = {3, 3};
    static const int32_t indices[6] = {0, 2, 1, 0, 3, 2};
    float uvs[12] = {0};
    const firn_vec3 normals[6] = {{0.0f, 0.0f, 1.0f}};
    const void *densities = uvs;
    const firn_abc_mesh_data mesh = {4,       2,       6,       corners, counts,
                                     indices, corners, normals, uvs,     &densities};
    FIRN_TRY(firn_abc_writer_put_mesh(writer, s->mesh, &mesh, error));
    const double channels[7] = {0.1 * frame, 0.0, 0.0, 5.0 * (frame / 4), 1.0, 2.0, 1.0};
    FIRN_TRY(firn_abc_writer_put_xform(writer, s->xform, channels, true, error));
    const double bounds[6] = {0.0, 0.0, 0.0, 1.0, 1.0 + lift, 1.0};
    FIRN_TRY(firn_abc_writer_put_child_bounds(writer, s->xform, bounds, error));
    FIRN_TRY(firn_abc_writer_put_child_bounds(writer, FIRN_ABC_ROOT, bounds, error));
    return firn_abc_writer_end_frame(writer, error);
}

static firn_result write_frames(firn_abc_writer *writer, uint32_t stop, firn_error *error)
{
    scene s;
    FIRN_TRY(scene_declare(writer, &s, error));
    uint32_t frame = 0;
    FIRN_TRY(firn_abc_writer_begin(writer, &frame, error));
    for (; frame < stop; frame++)
        FIRN_TRY(scene_put_frame(writer, &s, frame, error));
    return FIRN_OK;
}

firn_result scene_write(const char *path, bool resumable, uint32_t stop, uint32_t total,
                        firn_error *error)
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = resumable;
    firn_abc_writer *writer = NULL;
    FIRN_TRY(firn_abc_writer_create(path, &def, &writer, error));
    firn_result result = write_frames(writer, stop, error);
    if (result == FIRN_OK && stop == total)
        return firn_abc_writer_finish(writer, error);
    firn_abc_writer_destroy(writer);
    return result;
}
