#include "nodes.h"

#include "solid_settings.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 4 }; // of a rigid motion in a frame

typedef firn_solid_settings settings;

typedef struct state {
    firn_collider_data data;
    firn_pose_key keys[SAMPLES + 1];
    firn_moving_surface surface;
    settings scratch;
} state;

#define MOTION "translation rotation scale"
#define TOUCH "contact friction restitution adhesion sticking_speed temperature heat_exchange"
static const firn_node_rows rows[] = {
    {firn_solid_params, 0},
    {firn_collider_params, offsetof(settings, def), "shape"},
    FIRN_SOLID_ROWS,
};

static void reset(void *memory) { firn_solid_reset(memory); }

static firn_result check(const void *memory, firn_error *error)
{
    return firn_solid_check(memory, error);
}

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    return firn_solid_file(memory, param, frame, path, size);
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

static firn_result load_deforming(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    firn_transform poses[2][3];
    bool moves = firn_cook_is_animated(cook, MOTION);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 3; i++) {
            double frame = cook->frame - 1 + side + 0.5 * (i - 1);
            FIRN_TRY(firn_cook_evaluate(cook, frame, &own->scratch, error));
            poses[side][i] = firn_solid_pose(&own->scratch);
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
        own->keys[i] = (firn_pose_key){frame, firn_solid_pose(&own->scratch)};
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
    own->data.def.sticking_speed = own->scratch.def.sticking_speed;
    own->data.def.temperature = own->scratch.def.temperature;
    own->data.def.heat_exchange = own->scratch.def.heat_exchange;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    memset(&own->data, 0, sizeof own->data);
    own->data.def = firn_solid_def(s);
    own->data.color = s->color;
    if (firn_solid_has_file(s)) {
        FIRN_TRY(firn_moving_surface_open(&own->surface, cook, &s->input,
                                          s->shape == FIRN_SOLID_LEVEL_SET, error));
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
