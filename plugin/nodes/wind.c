#include "nodes.h"

#include "air_file.h"

#include "firn/force.h"

#include <string.h>

typedef struct settings {
    firn_force_def def;
    firn_air_input input;
} settings;

typedef struct state {
    firn_force_data data;
    firn_air_file file;
    settings scratch;
} state;

#define ANIMATED "velocity strength fall_speed shelter gust gust_size"

static const firn_node_rows rows[] = {
    {firn_force_params, offsetof(settings, def),
     "kind acceleration active_from active_to velocity fall_speed fall_spread flutter shelter "
     "density gust gust_size gust_seed",
     NULL, NULL},
    {firn_axes_params, offsetof(settings, input.axes), NULL, "file_"},
    {firn_clip_params, offsetof(settings, input.clip), NULL, "time_"},
};

#define INPUT(field) offsetof(settings, input.field)

// clang-format off
static const firn_param params[] = {
    {"velocity", offsetof(settings, def.velocity), FIRN_VEC3, {0, 0, 0}, -1e3, 1e3, "m/s",
     "Velocity of the air; that of a file comes on top. 5 is a breeze, 20 a storm"},
    {"gust", offsetof(settings, def.gust), FIRN_FLOAT, {0}, 0, 1e3, "m/s",
     "Usual speed of gusts on top of it: eddies that travel with the air, turn and change"},
    {"gust_size", offsetof(settings, def.gust_size), FIRN_FLOAT, {1}, 1e-3, 1e5, "m",
     "Size of the eddies"},
    {"gust_seed", offsetof(settings, def.gust_seed), FIRN_INT, {1}, 0, 2147483647.0, "",
     "Another number gives other gusts"},
    {"fall_speed", offsetof(settings, def.fall_speed), FIRN_FLOAT, {1}, 1e-3, 1e3, "m/s",
     "Speed at which single grains fall in still air: 0.5 to 3 for flakes; the smaller, the more "
     "air drags"},
    {"fall_spread", offsetof(settings, def.fall_spread), FIRN_FLOAT, {0}, 0, 0.9, "",
     "Share by which flakes outside the grid fall faster or slower than that, each for itself: "
     "0.12 is what flakes do", .added = true},
    {"flutter", offsetof(settings, def.flutter), FIRN_FLOAT, {0}, 0, 100, "m/s",
     "Speed at which flakes outside the grid sway on their way down, each for itself",
     .added = true},
    {"shelter", offsetof(settings, def.shelter), FIRN_FLOAT, {0.25}, 0, 1e3, "",
     "Share of packed snow in a cell from which on air gets neither into it nor at what is within "
     "two cells: thin snow drifts, packed snow holds; above 1 wind wears the surface of packed "
     "snow too; 0: nothing shields"},
    {"density", offsetof(settings, def.density), FIRN_FLOAT, {400}, 1e-3, 1e5, "kg/m^3",
     "Density of packed snow, which the shelter is measured by"},
    {"file", INPUT(file), FIRN_PATH, {0}, 0, 0, "",
     "Airflow of another program: velocities in m/s in a .vdb file, or in numbered ones "
     "(air.$F4.vdb). Beyond its borders the air goes on as it is there"},
    {"object", INPUT(object), FIRN_STRING, {0}, 0, 0, "",
     "Name of the velocity grid; empty takes vel, v or velocity, or their three scalar grids"},
    {"max_speed", INPUT(max_speed), FIRN_FLOAT, {300}, 1e-3, 1e5, "m/s",
     "Faster air in the file is a mistake and refused"},
    {"missing", INPUT(missing), FIRN_CHOICE, {FIRN_VDB_MISSING_ERROR}, 0, 1, "",
     "What to do about numbered files that are missing: say so, or hold the air of the file before",
     "error|hold"},
};
// clang-format on

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_force_def_drag(firn_vec(0.0f, 0.0f, 0.0f), 1.0f);
}

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    const settings *s = memory;
    (void)param;
    return s->input.file[0] != '\0' &&
           firn_clip_file(&s->input.clip, s->input.file, 0, frame, path, size);
}

static bool bridges_gaps(const void *memory, const firn_param *param)
{
    (void)param;
    return ((const settings *)memory)->input.missing != FIRN_VDB_MISSING_ERROR;
}

static void release(void *memory) { firn_air_file_close(&((state *)memory)->file); }

// How far eddies have gone with the air until the frame before, and how much they have changed:
// frame by frame, so that a frame has the same gusts wherever a cook begins.
static firn_result follow_gusts(const firn_cook *cook, firn_force_def *def, firn_error *error)
{
    state *own = cook->state;
    double from = cook->frame > cook->start_frame ? cook->frame - 1 : cook->start_frame;
    def->gust_time = (from - cook->start_frame) / cook->fps;
    def->gust_travel = firn_scale((float)def->gust_time, def->velocity);
    def->gust_age = 0.5 * (double)def->gust * def->gust_time / (double)def->gust_size;
    if (!firn_cook_is_animated(cook, ANIMATED))
        return FIRN_OK;
    double travel[3] = {0.0, 0.0, 0.0};
    def->gust_age = 0.0;
    for (int frame = cook->start_frame; frame < from; frame++) {
        FIRN_TRY(firn_cook_evaluate(cook, frame + 0.5, &own->scratch, error));
        const firn_force_def *then = &own->scratch.def;
        travel[0] += (double)then->velocity.x / cook->fps;
        travel[1] += (double)then->velocity.y / cook->fps;
        travel[2] += (double)then->velocity.z / cook->fps;
        def->gust_age += 0.5 * (double)then->gust / ((double)then->gust_size * cook->fps);
    }
    def->gust_travel = firn_vec((float)travel[0], (float)travel[1], (float)travel[2]);
    return FIRN_OK;
}

// Values with keys are those in the middle of the interval that ends with the frame.
static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    bool moves = firn_cook_is_animated(cook, ANIMATED);
    own->data.def = s->def;
    if (moves && cook->frame > cook->start_frame) {
        FIRN_TRY(firn_cook_evaluate(cook, cook->frame - 0.5, &own->scratch, error));
        own->data.def = own->scratch.def;
    }
    own->data.def.kind = FIRN_FORCE_DRAG;
    FIRN_TRY(follow_gusts(cook, &own->data.def, error));
    own->data.def.grid = NULL;
    if (s->input.file[0] != '\0') {
        FIRN_TRY(firn_air_file_read(&own->file, cook, &s->input, error));
        own->data.def.grid = &own->file.grid;
    }
    own->data.def.varies = moves || own->file.moves;
    cook->output->force = &own->data;
    return FIRN_OK;
}

const firn_node_type firn_node_wind = {
    .size = sizeof(firn_node_type),
    .name = "wind",
    .label = "Wind",
    .category = "Simulation",
    .help =
        "Air that drags loose snow along: even, in gusts, with keys, or as a file of velocities "
        "says.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = ANIMATED,
    .output = FIRN_KIND_FORCE,
    .time_dependent = true,
    .reset = reset,
    .file = file_of,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
    .bridges_gaps = bridges_gaps,
};
