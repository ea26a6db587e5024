#include "nodes.h"

#include "firn/material.h"

typedef struct settings {
    int preset;
    firn_material_def def;
} settings;

#define ANIMATED                                                                                   \
    "density young_modulus poisson_ratio hardening critical_compression critical_stretch jp_min "  \
    "jp_max damping friction_angle cohesion sound_speed viscosity yield_stress conductivity "      \
    "soft_stiffness stiff_below"

static const firn_node_rows rows[] = {{firn_material_params, offsetof(settings, def)}};

static const firn_param params[] = {
    {FIRN_PARAM(settings, preset), FIRN_CHOICE, .max = 15.0, .unit = "",
     .help = "Kind of snow, or of other matter, to start from; the values below change it",
     .choices = "paper|powder|packing|wet|icy|muddy|snowball|fresh|jelly|sand|water|mud|slush|"
                "chocolate|honey|ice"},
};

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_material_def_default();
}

static void preset(void *memory)
{
    settings *s = memory;
    const firn_material_preset *chosen = firn_material_presets(s->preset);
    FIRN_ASSERT(chosen != NULL);
    firn_material_def_preset(chosen->name, &s->def, NULL);
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    settings *kept = cook->state;
    *kept = *(const settings *)cook->settings;
    // Keys: in the middle of the interval that ends with the frame.
    if (firn_cook_is_animated(cook, ANIMATED) && cook->frame > cook->start_frame)
        FIRN_TRY(firn_cook_evaluate(cook, cook->frame - 0.5, kept, error));
    cook->output->material = &kept->def;
    if (firn_cook_input_count(cook, "partner") > 0)
        cook->output->partner = firn_cook_input(cook, "partner", 0)->material;
    return FIRN_OK;
}

static const firn_node_input inputs[] = {
    {"partner", FIRN_KIND_MATERIAL, false, false,
     "The liquid that it melts to, or the solid that it freezes to"},
};

const firn_node_type firn_node_material = {
    .size = sizeof(firn_node_type),
    .name = "material",
    .label = "Snow material",
    .category = "Simulation",
    .help = "What the snow is made of: a preset, changed where you set a value.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = ANIMATED,
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .added_inputs = "partner",
    .output = FIRN_KIND_MATERIAL,
    .reset = reset,
    .preset = preset,
    .state_size = sizeof(settings),
    .cook = cook,
};
