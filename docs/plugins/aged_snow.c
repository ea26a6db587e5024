/// A node type from outside: snow that lay for some days.
///
/// Fresh snow settles under its own weight and sinters: it becomes denser and stiffer, quickly at
/// first, then ever more slowly. The node takes a material and ages it.
///
///     cc -std=c11 -shared -fPIC aged_snow.c -o aged_snow.so $(pkg-config --cflags --libs firn)
///     FIRN_PLUGIN_PATH=. firn describe aged_snow
#include <firn/material.h>
#include <firn/plugin.h>

#include <math.h>

typedef struct settings {
    float days;
    float settled_density; // kg/m^3
} settings;

// One row for each setting: scene files, --set, `firn describe` and the hosts read nothing else.
static const firn_param params[] = {
    {FIRN_PARAM(settings, days),
     FIRN_FLOAT,
     {3},
     0,
     365,
     "d",
     .help = "How long the snow has been lying"},
    {FIRN_PARAM(settings, settled_density),
     FIRN_FLOAT,
     {350},
     50,
     900,
     "kg/m^3",
     .help = "Density that the snow settles to in the long run"},
};

static const firn_node_input inputs[] = {
    {"material", FIRN_KIND_MATERIAL, .help = "Fresh snow; without it, the default material"},
};

enum { SETTLING_DAYS = 5 }; // until the gap to the settled density is e times smaller

static firn_result cook(firn_cook *cook, firn_error *error)
{
    (void)error; // nothing can go wrong here
    const settings *s = cook->settings;
    firn_material_def *aged = cook->state; // lives until the settings or inputs change
    *aged = firn_material_def_default();
    if (firn_cook_input_count(cook, "material") > 0)
        *aged = *firn_cook_input(cook, "material", 0)->material;

    float fresh = aged->density;
    float gap = expf(-s->days / SETTLING_DAYS);
    aged->density = s->settled_density + (fresh - s->settled_density) * gap;
    // Stiffness of snow goes about with the cube of its density.
    float ratio = aged->density / fresh;
    aged->young_modulus *= ratio * ratio * ratio;
    firn_cook_log(cook, FIRN_LEVEL_INFO, "%g kg/m^3 after %g days", (double)aged->density,
                  (double)s->days);
    cook->output->material = aged;
    return FIRN_OK;
}

static const firn_node_type aged_snow = {
    .size = sizeof(firn_node_type),
    .name = "aged_snow",
    .label = "Aged snow",
    .category = "Simulation",
    .help = "Lets a material lie for some days: it settles and becomes stiffer.",
    .version = 1, // raise it when the results change: caches made before are then stale
    .params = params,
    .param_count = FIRN_COUNT(params),
    .settings_size = sizeof(settings),
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_MATERIAL,
    .state_size = sizeof(firn_material_def),
    .cook = cook,
};

static const firn_node_type *const types[] = {&aged_snow};
static const firn_plugin plugin = FIRN_PLUGIN("aged_snow", types);

const firn_plugin *firn_plugin_entry(void) { return &plugin; }
