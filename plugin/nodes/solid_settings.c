#include "solid_settings.h"

#define INPUT(field) FIRN_SOLID_INPUT(field)
#define FROM_FILE FIRN_SOLID_FROM_FILE

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(firn_solid_settings, shape), FIRN_CHOICE, {FIRN_SOLID_PLANE}, 0, 5, "",
     "What stands in the way: the half space below a plane, a box, a sphere, a capsule along its Y "
     "axis, a mesh (.obj, .ply, .stl, .abc, .usd) or a level set (.vdb)",
     "plane|box|sphere|capsule|mesh|level_set"},
    {"file", INPUT(file), FIRN_PATH, {0}, 0, 0, "",
     "The mesh or level set; numbered files (walk.$F4.vdb, walk.$F4.obj) and animated archives "
     "deform", .visible_when = FROM_FILE},
    {"object", INPUT(object), FIRN_STRING, {0}, 0, 0, "",
     "Which part of the file: patterns of paths in Alembic or USD, or the name of a grid; empty "
     "takes all",
     .visible_when = FROM_FILE},
    {"deforming", INPUT(deforming), FIRN_BOOL, {0}, 0, 1, "",
     "The file must be animated. Found by itself: numbered files, and archives that move; "
     "time_speed = 0 makes them stand", .visible_when = FROM_FILE},
    {FIRN_PARAM(firn_solid_settings, rotation), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "deg",
     "Turns the shape about X, then Y, then Z"},
    {FIRN_PARAM(firn_solid_settings, pivot), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "m",
     "The point that rotation and scale leave where it is"},
    {FIRN_PARAM(firn_solid_settings, color), FIRN_VEC3, {0, 0, 0}, 0, 1, "",
     "Color in pictures: red, green, blue; 0 0 0 takes that of the renderer"},
    {"velocity_from", INPUT(velocity_from), FIRN_CHOICE, {FIRN_VELOCITY_AUTO}, 0, 3, "",
     "How fast a deforming surface pushes: auto takes the velocities of the file, checked against "
     "its motion, and else the motion; file takes only stored ones; motion leaves these aside; "
     "rest pushes nothing", "auto|file|motion|rest", .visible_when = FROM_FILE},
    {"max_speed", INPUT(max_speed), FIRN_FLOAT, {300}, 1e-3, 1e5, "m/s",
     "Faster is a mistake in the file: stored velocities beyond it are refused, motion beyond it "
     "is a jump that pushes nothing", .visible_when = FROM_FILE},
    {"sequence_missing", INPUT(sequence.missing), FIRN_CHOICE, {FIRN_VDB_MISSING_ERROR}, 0, 2, "",
     "What to do about numbered files that are missing or damaged", "error|hold|interpolate",
     .visible_when = FROM_FILE},
    {"mesh_look_ahead", INPUT(look_ahead), FIRN_BOOL, {1}, 0, 1, "",
     "Make the level set of a deforming mesh while the frame before is still simulated; takes the "
     "memory of one more", .visible_when = "shape==mesh"},
};
// clang-format on

firn_param_table firn_solid_params(void)
{
    firn_param_table table = {params, FIRN_COUNT(params)};
    return table;
}

void firn_solid_reset(firn_solid_settings *s)
{
    s->def = firn_collider_def_default();
    s->input.mesh = firn_vdb_mesh_def_default();
    s->input.level_set = firn_vdb_shape_def_default();
    s->input.sequence = firn_vdb_sequence_def_default();
}

bool firn_solid_has_file(const firn_solid_settings *s)
{
    return s->shape == FIRN_SOLID_MESH || s->shape == FIRN_SOLID_LEVEL_SET;
}

firn_result firn_solid_check(const firn_solid_settings *s, firn_error *error)
{
    const firn_surface_input *input = &s->input;
    if (!firn_solid_has_file(s))
        return FIRN_OK;
    if (input->file[0] == '\0')
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "file is empty; it must name the mesh or level set");
    if (s->shape == FIRN_SOLID_LEVEL_SET)
        FIRN_TRY(firn_check_level_set_name(input->file, "shape", error));
    bool archive = s->shape == FIRN_SOLID_MESH && firn_path_is_archive(input->file);
    if (input->deforming && !archive && !firn_path_has_frame(input->file))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "file is '%s', which has no frame number; what deforms is a sequence such "
                         "as walk.$F4.%s%s",
                         input->file, s->shape == FIRN_SOLID_MESH ? "obj" : "vdb",
                         s->shape == FIRN_SOLID_MESH ? " or an Alembic or USD file" : "");
    return FIRN_OK;
}

bool firn_solid_file(const firn_solid_settings *s, const firn_param *param, int frame, char *path,
                     size_t size)
{
    const char *layer = firn_layer_of(&s->input.layers, param);
    if (layer != NULL)
        return s->shape == FIRN_SOLID_MESH &&
               firn_clip_file(&s->input.clip, layer, 0, frame, path, size);
    int extra = s->shape == FIRN_SOLID_LEVEL_SET ? s->input.sequence.offset : 0;
    return firn_solid_has_file(s) &&
           firn_clip_file(&s->input.clip, s->input.file, extra, frame, path, size);
}

firn_transform firn_solid_pose(const firn_solid_settings *s)
{
    firn_place_def place = {s->def.pose.translation, s->rotation, s->def.pose.scale, s->pivot};
    return firn_place_transform(&place);
}

firn_collider_def firn_solid_def(const firn_solid_settings *s)
{
    static const int core_shapes[] = {
        FIRN_SHAPE_PLANE,   FIRN_SHAPE_BOX,       FIRN_SHAPE_SPHERE,
        FIRN_SHAPE_CAPSULE, FIRN_SHAPE_LEVEL_SET, FIRN_SHAPE_LEVEL_SET,
    };
    firn_collider_def def = s->def;
    def.shape = core_shapes[s->shape];
    def.pose = firn_solid_pose(s);
    return def;
}
