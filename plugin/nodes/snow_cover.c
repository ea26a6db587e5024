#include "nodes.h"

#include "cover_shape.h"

#include "firn/source.h"

#include <stdio.h>

typedef struct settings {
    firn_cover_def cover;
    firn_source_def def;
} settings;

typedef struct state {
    firn_source_data data;
    firn_material_def material;
    firn_cover cover;
    firn_patch patch;
    bool made;
    firn_stat stats[2];
} state;

static const firn_node_rows rows[] = {
    {firn_cover_params, offsetof(settings, cover)},
    {firn_source_params, offsetof(settings, def),
     "region center radius half_size seed velocity angular_velocity inherit_velocity start end "
     "shell_thickness shell_stiffness shell_density size_spread density_spread"},
};

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_source_def_default();
}

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    const settings *s = memory;
    (void)param, (void)frame;
    snprintf(path, size, "%s", s->cover.depth_file);
    return path[0] != '\0';
}

static void release(void *memory) { firn_cover_free(&((state *)memory)->cover); }

static firn_result make(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    size_t count = firn_cook_input_count(cook, "colliders");
    firn_collider_def *defs = firn_alloc((count + 1) * sizeof *defs);
    float *frictions = firn_alloc((count + 1) * sizeof *frictions);
    firn_solid_set *solids = NULL;
    firn_result result = FIRN_OK;
    if (defs == NULL || frictions == NULL)
        result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make a cover of snow");
    for (size_t i = 0; i < count && result == FIRN_OK; i++) {
        defs[i] = firn_collider_at_end(firn_cook_input(cook, "colliders", i)->collider);
        // What holds snow holds it on any slope.
        bool holds = defs[i].contact == FIRN_CONTACT_STICKY;
        frictions[i] = holds ? 1e6f : defs[i].friction;
    }
    if (result == FIRN_OK)
        result = firn_solid_set_create(defs, count, &solids, error);
    firn_cover_relief relief = {0};
    if (result == FIRN_OK)
        result = firn_cover_relief_make(&s->cover, &relief, error);
    if (result == FIRN_OK)
        result = firn_cover_make(&relief, solids, frictions, &own->cover, error);
    firn_cover_relief_free(&relief);
    firn_solid_set_destroy(solids);
    firn_free(frictions);
    firn_free(defs);
    if (result == FIRN_OK && own->cover.level_set.leaf_count == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "no collider has a place in the box for snow to lie on: move center and "
                         "half_size so that they hold the ground, and look at slope_limit");
    return result;
}

// Even snow on level ground can go on as a field; a slope cannot.
static void find_patch(const settings *s, state *own)
{
    const float *rim = own->cover.rim;
    own->patch = firn_cover_patch(&s->cover);
    // As far above as the outermost particles of cells of this size are seen.
    own->patch.center.y = 0.5f * (rim[0] + rim[1]) + 0.25f * s->cover.voxel_size;
    bool level = rim[1] >= rim[0] && rim[1] - rim[0] < 0.2f * s->cover.depth;
    own->data.patch = level ? &own->patch : NULL;
}

firn_result firn_source_patch(const firn_source_data *source, const firn_patch **patch,
                              firn_error *error)
{
    *patch = source->patch;
    return source->patch != NULL
               ? FIRN_OK
               : firn_fail(
                     error, FIRN_ERR_ARGUMENT,
                     "the field of a render node must be a snow_cover on level ground, with a "
                     "border of three times its depth, so that its snow can go on around it");
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    if (firn_cook_input_count(cook, "material") > 0) {
        own->material = *firn_cook_input(cook, "material", 0)->material;
        own->data.material = &own->material;
        own->data.partner = firn_cook_input(cook, "material", 0)->partner;
    }
    if (!own->made) {
        FIRN_TRY(make(cook, error));
        own->data.def = s->def;
        own->data.def.seed = s->cover.seed;
        own->data.def.region = FIRN_REGION_LEVEL_SET;
        own->data.def.level_set = &own->cover.level_set;
        find_patch(s, own);
        own->made = true;
    }
    own->stats[0] = (firn_stat){"area", own->cover.area};
    own->stats[1] = (firn_stat){"volume", own->cover.volume};
    cook->output->source = &own->data;
    cook->output->stats = own->stats;
    cook->output->stat_count = FIRN_COUNT(own->stats);
    return FIRN_OK;
}

static const firn_node_input inputs[] = {
    {"colliders", FIRN_KIND_COLLIDER, true, true,
     "What it has snowed on, as it stands at the first frame"},
    {"material", FIRN_KIND_MATERIAL, false, false, "What the snow is made of"},
};

const firn_node_type firn_node_snow_cover = {
    .size = sizeof(firn_node_type),
    .name = "snow_cover",
    .label = "Snow cover",
    .category = "Simulation",
    .help = "Snow that fell before the shot: lies at rest on all colliders that see the sky, to a "
            "depth that thins out at edges, under roofs and on slopes.",
    .version = 2,
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_SOURCE,
    .reset = reset,
    .file = file_of,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
