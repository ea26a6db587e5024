#include "nodes.h"

#include "shape_ahead.h"

#include "firn/collider.h"
#include "firn/vdb_sequence.h"

#include <math.h>
#include <string.h>

enum { SHAPE_PLANE, SHAPE_BOX, SHAPE_SPHERE, SHAPE_CAPSULE, SHAPE_MESH, SHAPE_LEVEL_SET };
enum { SAMPLES = 4 }; // of a rigid motion in a frame

typedef struct settings {
    int shape;
    char file[FIRN_TEXT_SIZE];
    char object[FIRN_TEXT_SIZE];
    bool deforming;
    firn_vec3 rotation; // degrees
    firn_collider_def def;
    firn_vdb_mesh_def mesh;
    bool mesh_look_ahead;
    firn_vdb_shape_def surface;
    firn_vdb_sequence_def sequence;
} settings;

typedef struct state {
    firn_collider_data data;
    firn_pose_key keys[SAMPLES + 1];
    firn_vdb_shape *shape;     // of a mesh or level set that keeps its shape
    firn_vdb_shape *moving[2]; // of a deforming mesh, at the frame before and at this one
    int moving_frame;
    firn_shape_ahead *ahead; // the level set of ahead_frame in the making; NULL: none is
    int ahead_frame;
    firn_vdb_sequence *sequence; // of a deforming level set
    settings scratch;
} state;

#define MOTION "translation rotation scale"
#define TOUCH "contact friction restitution"

static const firn_node_rows rows[] = {
    {firn_collider_params, offsetof(settings, def), "shape"},
    {firn_vdb_mesh_params, offsetof(settings, mesh), "memory_limit thread_count", "mesh_",
     "shape==mesh"},
    {firn_vdb_shape_params, offsetof(settings, surface), "velocity", "vdb_", "shape==level_set"},
    {firn_vdb_sequence_params, offsetof(settings, sequence), "first last", "sequence_",
     "shape==level_set"},
};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, shape), FIRN_CHOICE, {SHAPE_PLANE}, 0, 5, "",
     "What stands in the way: the half space below a plane, a box, a sphere, a capsule along its Y "
     "axis, a mesh (.obj, .abc) or a level set (.vdb)", "plane|box|sphere|capsule|mesh|level_set"},
    {FIRN_PARAM(settings, file), FIRN_PATH, {0}, 0, 0, "",
     "The mesh or level set; numbered files (walk.$F4.vdb) make a deforming level set",
     .visible_when = "shape==mesh|level_set"},
    {FIRN_PARAM(settings, object), FIRN_STRING, {0}, 0, 0, "",
     "Which part of the file: a pattern of Alembic paths, or the name of a grid; empty takes all",
     .visible_when = "shape==mesh|level_set"},
    {FIRN_PARAM(settings, deforming), FIRN_BOOL, {0}, 0, 1, "",
     "The file itself is animated, and stands in the world as it is: an Alembic mesh or numbered "
     "level sets", .visible_when = "shape==mesh|level_set"},
    {FIRN_PARAM(settings, rotation), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "deg",
     "Turns the shape about X, then Y, then Z"},
    {FIRN_PARAM(settings, mesh_look_ahead), FIRN_BOOL, {1}, 0, 1, "",
     "Make the level set of a deforming mesh while the frame before is still simulated; takes the "
     "memory of one more", .visible_when = "shape==mesh"},
};
// clang-format on

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_collider_def_default();
    s->mesh = firn_vdb_mesh_def_default();
    s->surface = firn_vdb_shape_def_default();
    s->sequence = firn_vdb_sequence_def_default();
}

static bool has_file(const settings *s)
{
    return s->shape == SHAPE_MESH || s->shape == SHAPE_LEVEL_SET;
}

// Numbered files are a sequence, whether or not somebody says so.
static bool deforms(const settings *s)
{
    return has_file(s) && (s->deforming || firn_path_has_frame(s->file));
}

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    if (has_file(s) && s->file[0] == '\0')
        return firn_fail(error, FIRN_ERR_ARGUMENT, "file is empty; it must name the collider");
    if (has_file(s) && s->deforming && s->shape == SHAPE_LEVEL_SET && !firn_path_has_frame(s->file))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "file is '%s', which has no frame number; a deforming level set is a "
                         "sequence such as walk.$F4.vdb",
                         s->file);
    if (has_file(s) && s->deforming && s->shape == SHAPE_MESH &&
        firn_path_ends_with(s->file, ".obj") && !firn_path_has_frame(s->file))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "file is '%s'; a deforming mesh is an Alembic file", s->file);
    return FIRN_OK;
}

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    const settings *s = memory;
    (void)param;
    if (!has_file(s) || s->file[0] == '\0')
        return false;
    int number = deforms(s) && s->shape == SHAPE_LEVEL_SET ? frame + s->sequence.offset : frame;
    return firn_path_of_frame(s->file, number, path, size, NULL) == FIRN_OK;
}

static void release(void *memory)
{
    state *own = memory;
    firn_shape_ahead_cancel(own->ahead);
    firn_vdb_shape_destroy(own->shape);
    firn_vdb_shape_destroy(own->moving[0]);
    firn_vdb_shape_destroy(own->moving[1]);
    firn_vdb_sequence_close(own->sequence);
}

static firn_transform pose_of(const settings *s)
{
    const float radians = 0.017453292519943295f;
    firn_quat x = firn_quat_turn(firn_vec(1.0f, 0.0f, 0.0f), radians * s->rotation.x);
    firn_quat y = firn_quat_turn(firn_vec(0.0f, 1.0f, 0.0f), radians * s->rotation.y);
    firn_quat z = firn_quat_turn(firn_vec(0.0f, 0.0f, 1.0f), radians * s->rotation.z);
    firn_transform pose = s->def.pose;
    pose.rotation = firn_quat_mul(z, firn_quat_mul(y, x));
    return pose;
}

static void warn(const firn_cook *cook, const firn_vdb_shape *shape)
{
    const char *warning = firn_vdb_shape_warning(shape);
    if (warning[0] != '\0')
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", warning);
}

static firn_result mesh_file_of(const firn_cook *cook, int frame, char path[FIRN_PATH_SIZE],
                                firn_mesh_file *file, firn_error *error)
{
    const settings *s = cook->settings;
    FIRN_TRY(firn_path_of_frame(s->file, frame, path, FIRN_PATH_SIZE, error));
    *file = (firn_mesh_file){path, s->object, (double)frame / cook->fps};
    return FIRN_OK;
}

static firn_result load_mesh(const firn_cook *cook, int frame, firn_vdb_shape **shape,
                             firn_error *error)
{
    const settings *s = cook->settings;
    char path[FIRN_PATH_SIZE];
    firn_mesh_file file;
    FIRN_TRY(mesh_file_of(cook, frame, path, &file, error));
    FIRN_TRY(firn_shape_from_mesh_file(&file, &s->mesh, shape, error));
    warn(cook, *shape);
    return FIRN_OK;
}

static firn_result load_still(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    if (own->shape == NULL && s->shape == SHAPE_MESH) {
        FIRN_TRY(load_mesh(cook, cook->start_frame, &own->shape, error));
    } else if (own->shape == NULL) {
        char path[FIRN_PATH_SIZE];
        firn_vdb_shape_def def = s->surface;
        def.velocity = false; // only the pose moves it
        FIRN_TRY(firn_path_of_frame(s->file, cook->start_frame, path, sizeof path, error));
        FIRN_TRY(firn_shape_from_vdb_file(path, s->object, &def, &own->shape, error));
        warn(cook, own->shape);
    }
    own->data.def.level_set = firn_vdb_shape_level_set(own->shape);
    return FIRN_OK;
}

static firn_surface_key surface_key(double frame, const firn_vdb_shape *shape)
{
    firn_surface_key key = {frame, firn_vdb_shape_level_set(shape), firn_vdb_shape_velocity(shape)};
    return key;
}

static double megabytes(const firn_vdb_shape *shape)
{
    const firn_velocity_grid *velocity = firn_vdb_shape_velocity(shape);
    size_t voxels = firn_vdb_shape_level_set(shape)->leaf_count * FIRN_LEAF_VOXELS;
    size_t vectors = velocity != NULL ? velocity->leaf_count * FIRN_LEAF_VOXELS : 0;
    return 1e-6 * (double)(voxels * sizeof(float) + vectors * sizeof(firn_vec3));
}

// Begins with the mesh of the next frame, as far as it fits beside the two that are in use. That
// changes when the work is done, never what comes out. It may take every core: with one thread it
// holds up the solver's slowest for longer, and a frame takes 8 % more (`firn bench collider`).
static void look_ahead(const firn_cook *cook)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    char path[FIRN_PATH_SIZE];
    firn_mesh_file file;
    int next = cook->frame + 1;
    double held = megabytes(own->moving[0]) + megabytes(own->moving[1]);
    bool fits = s->mesh.memory_limit <= 0.0 || held < s->mesh.memory_limit;
    if (!s->mesh_look_ahead || next > cook->last_frame || !fits ||
        mesh_file_of(cook, next, path, &file, NULL) != FIRN_OK)
        return;
    firn_vdb_mesh_def def = s->mesh;
    if (def.memory_limit > 0.0)
        def.memory_limit -= held;
    own->ahead = firn_shape_ahead_start(&file, &def);
    own->ahead_frame = next;
}

// The level set of the cooked frame: from the thread that looked ahead, or made now.
static firn_result take_mesh(const firn_cook *cook, firn_vdb_shape **shape, firn_error *error)
{
    state *own = cook->state;
    firn_shape_ahead *ahead = own->ahead;
    own->ahead = NULL;
    if (own->ahead_frame != cook->frame) {
        firn_shape_ahead_cancel(ahead);
        ahead = NULL;
    }
    *shape = firn_shape_ahead_finish(ahead);
    if (*shape == NULL)
        return load_mesh(cook, cook->frame, shape, error);
    warn(cook, *shape);
    return FIRN_OK;
}

static firn_result load_moving_mesh(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    if (own->moving[1] != NULL && own->moving_frame == cook->frame - 1) {
        firn_vdb_shape_destroy(own->moving[0]);
        own->moving[0] = own->moving[1];
        own->moving[1] = NULL;
    } else {
        firn_vdb_shape_destroy(own->moving[0]);
        firn_vdb_shape_destroy(own->moving[1]);
        own->moving[0] = own->moving[1] = NULL;
        // Nothing moves before the start, and numbered files begin there.
        int before = cook->frame > cook->start_frame ? cook->frame - 1 : cook->frame;
        FIRN_TRY(load_mesh(cook, before, &own->moving[0], error));
    }
    FIRN_TRY(take_mesh(cook, &own->moving[1], error));
    own->moving_frame = cook->frame;
    for (int i = 0; i < 2; i++)
        own->data.surface[i] = surface_key(cook->frame - 1 + i, own->moving[i]);
    look_ahead(cook);
    return FIRN_OK;
}

static firn_result load_sequence(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    if (own->sequence == NULL) {
        firn_vdb_sequence_def def = s->sequence;
        def.pattern = s->file;
        def.first = cook->start_frame;
        def.last = cook->last_frame;
        def.shape = s->surface;
        def.shape.grid = s->object[0] != '\0' ? s->object : NULL;
        FIRN_TRY(firn_vdb_sequence_open(&def, &own->sequence, error));
    }
    firn_vdb_key keys[2];
    FIRN_TRY(firn_vdb_sequence_interval(own->sequence, cook->frame - 1, keys, error));
    for (int i = 0; i < 2; i++)
        own->data.surface[i] =
            (firn_surface_key){keys[i].frame, keys[i].level_set, keys[i].velocity};
    return FIRN_OK;
}

static firn_result load_deforming(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    if (s->shape == SHAPE_MESH)
        FIRN_TRY(load_moving_mesh(cook, error));
    else
        FIRN_TRY(load_sequence(cook, error));
    own->data.deforms = true;
    own->data.def.level_set = own->data.surface[1].level_set;
    // Deforming surfaces are in world space.
    own->data.def.pose = (firn_transform){{0.0f, 0.0f, 0.0f}, firn_quat_identity(), 1.0f};
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
    own->data.def.shape = core_shapes[s->shape];
    own->data.def.pose = pose_of(s);
    if (deforms(s))
        FIRN_TRY(load_deforming(cook, error));
    else if (has_file(s))
        FIRN_TRY(load_still(cook, error));
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
    .version = 2,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = MOTION " " TOUCH,
    .neutral = "sequence_look_ahead mesh_look_ahead",
    .output = FIRN_KIND_COLLIDER,
    .time_dependent = true,
    .reset = reset,
    .check = check,
    .file = file_of,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
