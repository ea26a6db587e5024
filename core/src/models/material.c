#include "firn/material.h"

#include "firn/defs.h"
#include "models.h"

#include <string.h>

#define ROW(field) FIRN_PARAM(firn_material_def, field)
#define CHOICE(name) "|" #name

// clang-format off
static const firn_param material_params[] = {
    {ROW(model), FIRN_CHOICE, {FIRN_MODEL_SNOW}, .max = FIRN_CHOSEN_COUNT - 1, .unit = "", .help =
     "What the material does when it is deformed: snow packs, hardens and breaks; elastic springs "
     "back from any deformation; granular is grains that slide on each other, such as sand; liquid "
     "flows, such as water, honey or mud; porous is snow that crushes, slides and breaks in pieces",
     .choices = &(FIRN_CHOSEN_MODELS(CHOICE))[1], .added = true},
    {ROW(density), FIRN_FLOAT, {400.0}, 1.0, 5000.0, "kg/m^3",
     "Mass per volume before anything happens. Fresh powder has 50 to 150, settled snow 200 to "
     "400, wet snow 500, solid ice 917"},
    {ROW(young_modulus), FIRN_FLOAT, {1.4e5}, 1.0, 1e9, "Pa",
     "Stiffness before packing. Higher is icy and crisp, lower is soft and muddy; the explicit "
     "step shrinks with its square root", .label = "Young's modulus",
     .visible_when = "model==snow|elastic|granular|porous"},
    {ROW(poisson_ratio), FIRN_FLOAT, {0.2}, 0.0, 0.49, "",
     "How much snow that is squeezed bulges sideways; 0.5 would be incompressible", .label =
     "Poisson's ratio",
     .visible_when = "model==snow|elastic|granular|porous"},
    {ROW(hardening), FIRN_FLOAT, {10.0}, 0.0, 50.0, "",
     "How fast packing hardens and stretching weakens the snow: its stiffness is multiplied by "
     "exp(hardening * (1 - J_P)). Higher is brittle, lower is ductile, 0 turns it off. Of porous "
     "snow it is the power of the density that crush and cohesion grow with, and 4 is usual",
     .visible_when = "model==snow|porous"},
    {ROW(critical_compression), FIRN_FLOAT, {2.5e-2}, 1e-5, 0.9, "",
     "Squeeze (theta_c) at which snow stops springing back and stays packed. Smaller is powdery, "
     "larger is chunky",
     .visible_when = "model==snow"},
    {ROW(critical_stretch), FIRN_FLOAT, {7.5e-3}, 1e-5, 0.9, "",
     "Stretch (theta_s) at which snow starts to break. Smaller is powdery, larger holds together "
     "in chunks",
     .visible_when = "model==snow"},
    // J_P 0.1 at hardening 10 is e^9 times the initial stiffness and far denser than ice: real
    // packing never comes near, a numerical accident does. J_P 8 is snow of 50 kg/m^3, the lightest
    // that falls; beyond, the stiffness would only sink until a float cannot hold it.
    {ROW(jp_min), FIRN_FLOAT, {0.1}, 0.01, 1.0, "",
     "Lower bound of the plastic volume ratio J_P: packed to this share of its volume, snow "
     "hardens no further", .label = "J_P minimum",
     .visible_when = "model==snow"},
    {ROW(jp_max), FIRN_FLOAT, {8.0}, 1.0, 100.0, "",
     "Upper bound of the plastic volume ratio J_P: torn apart to this multiple of its volume, "
     "snow weakens no further", .label = "J_P maximum",
     .visible_when = "model==snow|granular|porous"},
    // Backward Euler at the paper's step of 0.5 ms damps vibrations just as much.
    {ROW(damping), FIRN_FLOAT, {5e-4}, 0.0, 0.1, "s",
     "Time constant of the friction inside the snow, which stops it ringing: stress grows by this "
     "much strain rate. More is doughy and holds together, 0 rings and breaks into dust. Snow that "
     "has become much harder bears less of it at a given substep, so that the first moments of a "
     "hard impact hang on the step. Acts in the explicit step with APIC, in porous snow only where "
     "it is elastic; FLIP and the implicit step damp in their own ways",
     .visible_when = "model==snow|elastic|porous"},
    {ROW(friction_angle), FIRN_FLOAT, {35.0}, 1.0, 70.0, "deg",
     "Steepest slope on which grains stay: 30 to 35 for dry sand, 40 for gravel, 40 to 50 for snow",
     .visible_when = "model==granular|porous", .added = true},
    {ROW(cohesion), FIRN_FLOAT, {0.0}, 0.0, 1e6, "Pa",
     "What holds grains together without pressure: 0 for dry sand, 500 to 5000 for damp. A "
     "vertical cut stands up to 4 cohesion tan(45 + friction angle / 2) / (density g). Snow of 400 "
     "kg/m^3 has 40,000; where it breaks that is worn. Times the stiffness factor of the source",
     .visible_when = "model==granular|porous", .added = true},
    {ROW(sound_speed), FIRN_FLOAT, {30.0}, 1.0, 2000.0, "m/s",
     "Speed of sound, which sets how little the liquid is compressed: ten times its fastest flow "
     "is enough; the explicit step shrinks with it",
     .visible_when = "model==liquid", .added = true},
    {ROW(viscosity), FIRN_FLOAT, {0.0018}, 0.0, 1e5, "Pa s",
     "Inner friction: water near freezing 0.0018, chocolate sauce 10, honey 10 to 100. Much of it "
     "at fine cells wants the implicit step", .visible_when = "model==liquid", .added = true},
    {ROW(yield_stress), FIRN_FLOAT, {0.0}, 0.0, 1e5, "Pa",
     "Shear stress below which the liquid does not flow: 0 for water, 30 to 100 for mud or slush",
     .visible_when = "model==liquid", .added = true},
    {ROW(crush), FIRN_FLOAT, {4e4}, 1.0, 1e8, "Pa",
     "Pressure at which pores collapse and the snow packs for good: 500 for fresh snow of 100 "
     "kg/m^3, 10,000 for settled snow of 250, 40,000 for a snowball of 400",
     .visible_when = "model==porous", .added = true},
    {ROW(crack_opening), FIRN_FLOAT, {2e-3}, 1e-5, 1.0, "m",
     "How far a crack opens until most of its cohesion is gone. Smaller is brittle and breaks into "
     "more pieces, larger is tough and doughy. The same for cells of any size",
     .visible_when = "model==porous", .added = true},
    {ROW(conductivity), FIRN_FLOAT, {0.0}, 0.0, 1e4, "W/(m K)",
     "How well it conducts heat: ice 2.2, water 0.56, snow 0.1 at 200 kg/m^3 and 0.37 at 400; 0 "
     "takes these, by model and density. Acts with heat of the solver, like all below",
     .added = true},
    {ROW(heat_capacity), FIRN_FLOAT, {2100.0}, 1.0, 1e5, "J/(kg K)",
     "Heat that warms a kilogram of it by one degree while it is solid; ice 2100", .added = true},
    {ROW(liquid_heat_capacity), FIRN_FLOAT, {4186.0}, 1.0, 1e5, "J/(kg K)",
     "The same when it has melted; water 4186", .added = true},
    {ROW(latent_heat), FIRN_FLOAT, {334e3}, 1.0, 1e7, "J/kg",
     "Heat that melts a kilogram of it; water 334,000", .added = true},
    {ROW(melting_point), FIRN_FLOAT, {273.15}, 1.0, 5000.0, "K",
     "Temperature at which it melts and freezes; water 273.15", .added = true},
    {ROW(soft_stiffness), FIRN_FLOAT, {1.0}, 1e-3, 1.0, "",
     "Share of its stiffness, and of its strength where that hangs on the same factor, that is "
     "left at the melting point; below, it falls evenly from stiff_below on. 0.03 slumps in an "
     "oven before it melts",
     .visible_when = "model==snow|elastic|granular|porous", .added = true},
    {ROW(stiff_below), FIRN_FLOAT, {173.15}, 0.0, 5000.0, "K",
     "Temperature up to which it has all of its stiffness", .visible_when =
     "model==snow|elastic|granular|porous", .added = true},
    {ROW(melt_at), FIRN_FLOAT, {0.9}, 0.01, 1.0, "",
     "Liquid fraction from which on it is the liquid that it is paired with", .visible_when =
     "model==snow|elastic|granular|porous", .added = true},
    {ROW(freeze_at), FIRN_FLOAT, {0.1}, 0.0, 0.99, "",
     "Liquid fraction from which on it is the solid that it is paired with", .visible_when =
     "model==liquid", .added = true},
    {ROW(freeze_after), FIRN_FLOAT, {0.0}, 0.0, 1e6, "s",
     "Time after which it becomes the solid that it is paired with, whatever its temperature: the "
     "ice machine; 0: never", .visible_when = "model==liquid", .added = true},
};

// Each row names only what differs from the paper's snow, after section 5 and figure 8: the two
// thresholds lead from powdery to chunky, hardening and stiffness from muddy to icy.
static const struct {
    firn_material_preset preset;
    float density, young_modulus, hardening, critical_compression, critical_stretch, jp_min, jp_max;
    firn_model_kind model;
    float poisson_ratio, friction_angle, viscosity, yield_stress;
    float cohesion, crush, crack_opening, damping;
} presets[] = {
    {{"paper", "The reference snow of Stomakhin et al. 2013, Table 2: breaks into chunks and loose "
               "snow, a good start for anything"}, .density = 0.0f},
    {{"powder", "Dry and light: the smallest strain breaks it, and it flies apart into fine snow "
                "without chunks"},
     .density = 200.0f, .young_modulus = 1.0e5f, .critical_compression = 1.5e-2f,
     .critical_stretch = 3.0e-3f},
    {{"packing", "Snowball snow, a little moist: pressed together it stays together, rolls up and "
                 "breaks in lumps"},
     .critical_compression = 3.0e-2f, .critical_stretch = 1.0e-2f},
    {{"wet", "Heavy with water: bends far before it breaks, falls in large chunks and plops"},
     .density = 550.0f, .critical_compression = 4.5e-2f, .critical_stretch = 1.5e-2f},
    {{"icy", "Frozen crust: stiff and brittle, holds its shape, then shatters into sharp pieces"},
     .density = 600.0f, .young_modulus = 4.0e5f, .hardening = 15.0f, .jp_min = 0.4f,
     .jp_max = 5.0f},
    {{"muddy", "Slush: soft and ductile, smears and sags instead of breaking"},
     .density = 600.0f, .young_modulus = 4.8e4f, .hardening = 5.0f},
    // Porous snow: strengths after the density, which they grow with by about its third power.
    {{"snowball", "Pressed snow that breaks: crushed where it hits, in pieces with loose snow "
                  "between them elsewhere; wants strength_noise of the source"},
     .model = FIRN_MODEL_POROUS, .density = 400.0f, .young_modulus = 2.0e6f, .hardening = 4.0f,
     .friction_angle = 40.0f, .cohesion = 4.0e4f, .crush = 4.0e4f, .crack_opening = 2.0e-3f,
     .damping = 1.0e-4f},
    {{"fresh", "Fallen a day ago: gives way under a foot and raises no rim around it"},
     .model = FIRN_MODEL_POROUS, .density = 150.0f, .young_modulus = 3.0e5f, .hardening = 4.0f,
     .poisson_ratio = 0.1f, .friction_angle = 40.0f, .cohesion = 2.0e3f, .crush = 2.0e3f,
     .crack_opening = 2.0e-3f, .damping = 1.0e-4f},
    {{"jelly", "Soft and elastic: wobbles and springs back"},
     .model = FIRN_MODEL_ELASTIC, .density = 1000.0f, .young_modulus = 5.0e4f,
     .poisson_ratio = 0.4f},
    {{"sand", "Dry grains: flow, pile up at their friction angle and never stick"},
     .model = FIRN_MODEL_GRANULAR, .density = 1600.0f, .young_modulus = 1.0e6f,
     .poisson_ratio = 0.3f, .friction_angle = 34.0f},
    {{"water", "Thin and heavy: splashes and levels out"},
     .model = FIRN_MODEL_LIQUID, .density = 1000.0f},
    {{"mud", "A thick liquid that stays where it is until it is pushed hard enough"},
     .model = FIRN_MODEL_LIQUID, .density = 1600.0f, .viscosity = 5.0f, .yield_stress = 60.0f},
    {{"slush", "Melting snow soaked with water: flows where it is pushed, heaps a little, splashes "
               "in lumps"},
     .model = FIRN_MODEL_LIQUID, .density = 900.0f, .viscosity = 0.5f, .yield_stress = 40.0f},
    {{"chocolate", "Warm sauce: runs over things in a thick layer and folds where it lands"},
     .model = FIRN_MODEL_LIQUID, .density = 1200.0f, .viscosity = 10.0f, .yield_stress = 10.0f},
    {{"honey", "Thick and slow: coils where it is poured and levels out in the end"},
     .model = FIRN_MODEL_LIQUID, .density = 1400.0f, .viscosity = 50.0f},
    {{"ice", "Solid ice: floats on water and does not break"},
     .model = FIRN_MODEL_ELASTIC, .density = 917.0f, .young_modulus = 2.0e6f,
     .poisson_ratio = 0.3f},
};
// clang-format on

firn_param_table firn_material_params(void)
{
    firn_param_table table = {material_params, FIRN_COUNT(material_params)};
    return table;
}

void firn_material_def_reset(firn_material_def *def, size_t size)
{
    firn_material_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_material_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

const firn_material_preset *firn_material_presets(int index)
{
    return index >= 0 && (size_t)index < FIRN_COUNT(presets) ? &presets[index].preset : NULL;
}

static void override(float *field, float value)
{
    if (value > 0.0f)
        *field = value;
}

firn_result firn_material_def_preset(const char *name, firn_material_def *def, firn_error *error)
{
    for (size_t i = 0; i < FIRN_COUNT(presets); i++) {
        if (strcmp(name, presets[i].preset.name) != 0)
            continue;
        *def = firn_material_def_default();
        override(&def->density, presets[i].density);
        override(&def->young_modulus, presets[i].young_modulus);
        override(&def->hardening, presets[i].hardening);
        override(&def->critical_compression, presets[i].critical_compression);
        override(&def->critical_stretch, presets[i].critical_stretch);
        override(&def->jp_min, presets[i].jp_min);
        override(&def->jp_max, presets[i].jp_max);
        override(&def->poisson_ratio, presets[i].poisson_ratio);
        override(&def->friction_angle, presets[i].friction_angle);
        override(&def->viscosity, presets[i].viscosity);
        override(&def->yield_stress, presets[i].yield_stress);
        override(&def->cohesion, presets[i].cohesion);
        override(&def->crush, presets[i].crush);
        override(&def->crack_opening, presets[i].crack_opening);
        override(&def->damping, presets[i].damping);
        def->model = (int)presets[i].model;
        return FIRN_OK;
    }
    return firn_fail(error, FIRN_ERR_NOT_FOUND,
                     "there is no material called '%.100s'; choose paper, powder, packing, wet, "
                     "icy, muddy, snowball, fresh, jelly, sand, water, mud, slush, chocolate, "
                     "honey or ice",
                     name);
}
