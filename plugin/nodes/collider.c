#include "nodes.h"

#include "collider_surface.h"

#include <math.h>
#include <string.h>

enum { SHAPE_PLANE, SHAPE_BOX, SHAPE_SPHERE, SHAPE_CAPSULE, SHAPE_MESH, SHAPE_LEVEL_SET };
enum { SAMPLES = 4 }; // of a rigid motion in a frame

typedef struct settings {
    int shape;
    firn_vec3 rotation; // degrees
    firn_vec3 pivot;    // m
    firn_vec3 color;    // for pictures; zero: theirs
    firn_collider_def def;
    firn_surface_input input; // what a mesh or level set is read from
} settings;

typedef struct state {
    firn_collider_data data;
    firn_pose_key keys[SAMPLES + 1];
    firn_moving_surface surface;
    settings scratch;
} state;

#define MOTION "translation rotation scale"
#define TOUCH "contact friction restitution adhesion"
#define FROM_FILE "shape==mesh|level_set"
#define INPUT(field) offsetof(settings, input.field)

static const firn_node_rows rows[] = {
    {firn_collider_params, offsetof(settings, def), "shape"},
    {firn_axes_params, INPUT(axes), NULL, "file_", FROM_FILE},
    {firn_clip_params, INPUT(clip), NULL, "time_", FROM_FILE},
    {firn_layer_params, INPUT(layers), NULL, NULL, "shape==mesh"},
    {firn_subd_params, INPUT(subd), NULL, "subd_", "shape==mesh"},
    {firn_vdb_mesh_params, INPUT(mesh), "memory_limit thread_count", "mesh_", "shape==mesh"},
    {firn_vdb_shape_params, INPUT(level_set), "velocity", "vdb_", "shape==level_set"},
    {firn_vdb_sequence_params, INPUT(sequence), "first last missing", "sequence_",
     "shape==level_set"},
};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, shape), FIRN_CHOICE, {SHAPE_PLANE}, 0, 5, "",
     "What stands in the way: the half space below a plane, a box, a sphere, a capsule along its Y "
     "axis, a mesh (.obj, .ply, .stl, .abc) or a level set (.vdb)",
     "plane|box|sphere|capsule|mesh|level_set"},
    {"file", INPUT(file), FIRN_PATH, {0}, 0, 0, "",
     "The mesh or level set; numbered files (walk.$F4.vdb, walk.$F4.obj) and animated archives "
     "deform", .visible_when = FROM_FILE},
    {"object", INPUT(object), FIRN_STRING, {0}, 0, 0, "",
     "Which part of the file: patterns of Alembic paths, or the name of a grid; empty takes all",
     .visible_when = FROM_FILE},
    {"deforming", INPUT(deforming), FIRN_BOOL, {0}, 0, 1, "",
     "The file must be animated. Found by itself: numbered files, and archives that move; "
     "time_speed = 0 makes them stand", .visible_when = FROM_FILE},
    {FIRN_PARAM(settings, rotation), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "deg",
     "Turns the shape about X, then Y, then Z"},
    {FIRN_PARAM(settings, pivot), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "m",
     "The point that rotation and scale leave where it is"},
    {FIRN_PARAM(settings, color), FIRN_VEC3, {0, 0, 0}, 0, 1, "",
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

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_collider_def_default();
    s->input.mesh = firn_vdb_mesh_def_default();
    s->input.level_set = firn_vdb_shape_def_default();
    s->input.sequence = firn_vdb_sequence_def_default();
}

static bool has_file(const settings *s)
{
    return s->shape == SHAPE_MESH || s->shape == SHAPE_LEVEL_SET;
}

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    const firn_surface_input *input = &s->input;
    if (!has_file(s))
        return FIRN_OK;
    if (input->file[0] == '\0')
        return firn_fail(error, FIRN_ERR_ARGUMENT, "file is empty; it must name the collider");
    if (s->shape == SHAPE_LEVEL_SET)
        FIRN_TRY(firn_check_level_set_name(input->file, "shape", error));
    bool archive = s->shape == SHAPE_MESH && firn_path_ends_with(input->file, ".abc");
    if (input->deforming && !archive && !firn_path_has_frame(input->file))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "file is '%s', which has no frame number; what deforms is a sequence such "
                         "as walk.$F4.%s%s",
                         input->file, s->shape == SHAPE_MESH ? "obj" : "vdb",
                         s->shape == SHAPE_MESH ? " or an Alembic archive" : "");
    return FIRN_OK;
}

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    const settings *s = memory;
    const char *layer = firn_layer_of(&s->input.layers, param);
    if (layer != NULL)
        return s->shape == SHAPE_MESH &&
               firn_clip_file(&s->input.clip, layer, 0, frame, path, size);
    int extra = s->shape == SHAPE_LEVEL_SET ? s->input.sequence.offset : 0;
    return has_file(s) && firn_clip_file(&s->input.clip, s->input.file, extra, frame, path, size);
}

static bool bridges_gaps(const void *memory, const firn_param *param)
{
    const settings *s = memory;
    (void)param;
    return s->input.sequence.missing != FIRN_VDB_MISSING_ERROR;
}

static void release(void *memory)
{
    state *own = memory;
    firn_moving_surface_release(&own->surface);
}

static firn_transform pose_of(const settings *s)
{
    firn_place_def place = {s->def.pose.translation, s->rotation, s->def.pose.scale, s->pivot};
    return firn_place_transform(&place);
}

static firn_result load_deforming(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    firn_transform poses[2][3];
    bool moves = firn_cook_is_animated(cook, MOTION);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 3; i++) {
            double frame = cook->frame - 1 + side + 0.5 * (i - 1);
            FIRN_TRY(firn_cook_evaluate(cook, frame, &own->scratch, error));
            poses[side][i] = pose_of(&own->scratch);
        }
    FIRN_TRY(
        firn_moving_surface_interval(&own->surface, cook, poses, moves, own->data.surface, error));
    own->data.deforms = true;
    own->data.def.level_set = own->data.surface[1].level_set;
    // Deforming surfaces are in world space.
    own->data.def.pose = firn_transform_identity();
    return FIRN_OK;
}

static firn_result sample_motion(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    for (int i = 0; i <= SAMPLES; i++) {
        double frame = cook->frame - 1 + (double)i / SAMPLES;
        FIRN_TRY(firn_cook_evaluate(cook, frame, &own->scratch, error));
        own->keys[i] = (firn_pose_key){frame, pose_of(&own->scratch)};
    }
    own->data.keys = own->keys;
    own->data.key_count = SAMPLES + 1;
    return FIRN_OK;
}

// Keys on how it touches: in the middle of the interval that ends with the frame.
static firn_result follow_touch(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    if (cook->frame == cook->start_frame || !firn_cook_is_animated(cook, TOUCH))
        return FIRN_OK;
    FIRN_TRY(firn_cook_evaluate(cook, cook->frame - 0.5, &own->scratch, error));
    own->data.def.contact = own->scratch.def.contact;
    own->data.def.friction = own->scratch.def.friction;
    own->data.def.restitution = own->scratch.def.restitution;
    own->data.def.adhesion = own->scratch.def.adhesion;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    static const int core_shapes[] = {
        FIRN_SHAPE_PLANE,   FIRN_SHAPE_BOX,       FIRN_SHAPE_SPHERE,
        FIRN_SHAPE_CAPSULE, FIRN_SHAPE_LEVEL_SET, FIRN_SHAPE_LEVEL_SET,
    };
    const settings *s = cook->settings;
    state *own = cook->state;
    memset(&own->data, 0, sizeof own->data);
    own->data.def = s->def;
    own->data.color = s->color;
    own->data.def.shape = core_shapes[s->shape];
    own->data.def.pose = pose_of(s);
    if (has_file(s)) {
        FIRN_TRY(firn_moving_surface_open(&own->surface, cook, &s->input,
                                          s->shape == SHAPE_LEVEL_SET, error));
        if (own->surface.deforms)
            FIRN_TRY(load_deforming(cook, error));
        else
            FIRN_TRY(
                firn_moving_surface_still(&own->surface, cook, &own->data.def.level_set, error));
    }
    if (!own->data.deforms && firn_cook_is_animated(cook, MOTION))
        FIRN_TRY(sample_motion(cook, error));
    FIRN_TRY(follow_touch(cook, error));
    cook->output->collider = &own->data;
    return FIRN_OK;
}

const firn_node_type firn_node_collider = {
    .size = sizeof(firn_node_type),
    .name = "collider",
    .label = "Collider",
    .category = "Simulation",
    .help = "Something solid: a shape, a mesh or a level set that stands, moves with keys or "
            "deforms.",
    .version = 3,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = MOTION " " TOUCH,
    .neutral = "sequence_look_ahead mesh_look_ahead color",
    .output = FIRN_KIND_COLLIDER,
    .time_dependent = true,
    .reset = reset,
    .check = check,
    .file = file_of,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
    .bridges_gaps = bridges_gaps,
};
