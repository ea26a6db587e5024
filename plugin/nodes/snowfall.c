#include "nodes.h"

#include "firn/source.h"

#include <math.h>

typedef struct settings {
    firn_vec3 center, half_size;
    float rate;
    int rate_unit;
    float fall_speed, fall_spread, flutter, size_spread;
    bool warm_up, loose;
    float particles_per_cell;
    int seed;
    double start, end;
} settings;

typedef struct state {
    firn_source_data data;
    firn_material_def material;
    bool made;
} state;

enum { UNIT_MM_H, UNIT_KG_M2_S };

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, center), FIRN_VEC3, {0, 2, 0}, -1e6, 1e6, "m",
     "Center of the box of air that it snows in; flakes come in through its top"},
    {FIRN_PARAM(settings, half_size), FIRN_VEC3, {1, 1, 1}, 1e-3, 1e5, "m",
     "Half of the box's edges. Let it reach to where the highest snow will lie"},
    {FIRN_PARAM(settings, rate), FIRN_FLOAT, {72}, 1e-4, 1e6, "",
     "How much falls, in the unit below. Real heavy snowfall is 5 mm/h of water; a shot that "
     "whitens within seconds wants 50 to 5000"},
    {FIRN_PARAM(settings, rate_unit), FIRN_CHOICE, {UNIT_MM_H}, 0, 1, "",
     "mm_h: millimeters of water in an hour, as weather reports have it. kg_m2_s: kilograms on a "
     "square meter in a second; 1 is 3600 mm/h", "mm_h|kg_m2_s"},
    {FIRN_PARAM(settings, fall_speed), FIRN_FLOAT, {1}, 0.05, 50, "m/s",
     "Speed at which flakes fall in still air: 0.5 to 1.5 for dry flakes, 2 to 3 for graupel"},
    {FIRN_PARAM(settings, fall_spread), FIRN_FLOAT, {0.12}, 0, 0.9, "",
     "Share by which flakes fall faster or slower than that, each for itself"},
    {FIRN_PARAM(settings, flutter), FIRN_FLOAT, {0.1}, 0, 100, "m/s",
     "Speed at which flakes sway on their way down, each for itself"},
    {FIRN_PARAM(settings, size_spread), FIRN_FLOAT, {0.3}, 0, 0.9, "",
     "Share by which the mass and volume of flakes vary"},
    {FIRN_PARAM(settings, warm_up), FIRN_BOOL, {1}, 0, 1, "",
     "The box is full of flakes at the start; else the first ones have to fall through it"},
    {FIRN_PARAM(settings, loose), FIRN_BOOL, {1}, 0, 1, "",
     "Flakes are loose snow that packs by the density it comes to. Off: plain snow, which stands "
     "as foam; for comparison"},
    {FIRN_PARAM(settings, particles_per_cell), FIRN_FLOAT, {8}, 0.125, 512, "",
     "Flakes in a grid cell of fallen snow: sets the size of a flake"},
    {FIRN_PARAM(settings, seed), FIRN_INT, {0}, 0, 2147483647, "",
     "Chooses among random variants of where flakes are"},
    {FIRN_PARAM(settings, start), FIRN_DOUBLE, {0}, 0, 1e6, "s",
     "Simulated time at which it begins to snow"},
    {FIRN_PARAM(settings, end), FIRN_DOUBLE, {1e6}, 0, 1e6, "s",
     "Simulated time at which it stops"},
};
// clang-format on

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    if (s->end > s->start)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "end is %g s, not after start at %g s; nothing would fall", s->end, s->start);
}

static float rate_of(const settings *s)
{
    return s->rate_unit == UNIT_MM_H ? s->rate / 3600.0f : s->rate; // kg/m^2 s
}

// The whole box is filled at the start, or only the sheet at its top that flakes come in through.
static void place(const settings *s, firn_source_def *def)
{
    static const float SHEET = 0.5e-3f; // m
    def->region = FIRN_REGION_BOX;
    def->center = s->center;
    def->half_size = s->half_size;
    if (s->warm_up)
        return;
    def->center.y += s->half_size.y - SHEET;
    def->half_size.y = SHEET;
}

static firn_result check_density(float density, float rate, float fall_speed, firn_error *error)
{
    static const float ICE = 917.0f; // kg/m^3
    if (density > ICE)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "flakes of %g kg/m^3 are denser than ice, %g; lower density of the "
                         "material",
                         (double)density, (double)ICE);
    if (rate / density < 0.5f * fall_speed)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "rate is %g kg/m^2 s: flakes of %g kg/m^3 that fall at %g m/s cannot bring "
                     "more than %g; lower rate or raise fall_speed",
                     (double)rate, (double)density, (double)fall_speed,
                     (double)(0.5f * fall_speed * density));
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    cook->output->source = &own->data;
    if (own->made)
        return FIRN_OK;
    own->material = firn_material_def_default();
    firn_material_def_preset("fresh", &own->material, NULL);
    if (firn_cook_input_count(cook, "material") > 0) {
        own->material = *firn_cook_input(cook, "material", 0)->material;
        own->data.partner = firn_cook_input(cook, "material", 0)->partner;
    }
    FIRN_TRY(check_density(own->material.density, rate_of(s), s->fall_speed, error));
    own->data.material = &own->material;
    own->data.fall_speed = s->fall_speed;
    own->data.fall_spread = s->fall_spread;
    own->data.flutter = s->flutter;
    firn_source_def *def = &own->data.def;
    *def = firn_source_def_default();
    place(s, def);
    def->particles_per_cell = s->particles_per_cell;
    def->jitter = 1.0f;
    def->seed = s->seed;
    def->velocity = firn_vec(0.0f, -s->fall_speed, 0.0f);
    def->start = s->start;
    def->end = s->end;
    def->size_spread = s->size_spread;
    def->snowfall = rate_of(s) / own->material.density;
    def->loose = s->loose;
    own->made = true;
    return FIRN_OK;
}

static const firn_node_input inputs[] = {
    {"material", FIRN_KIND_MATERIAL, false, false,
     "What the flakes become; without one, the preset fresh"},
};

const firn_node_type firn_node_snowfall = {
    .size = sizeof(firn_node_type),
    .name = "snowfall",
    .label = "Snowfall",
    .category = "Simulation",
    .help = "Flakes that fall through a box of air and pile up on what is below.",
    .version = 2,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .settings_size = sizeof(settings),
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_SOURCE,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
};
