#include "firn/render.h"

#include "phase.h"
#include "render_state.h"

#include "firn/defs.h"

#include <string.h>

#define BLUNT 0.5f // cosine of half the width of a glint that is not seen directly

// --- The scene -----------------------------------------------------------------------------------

// Without a volume the grains decide what a voxel is: lengths that are small beside it vanish.
static float free_voxel_size(const firn_render_scene *scene)
{
    double sum = 0.0;
    size_t count = scene->grains != NULL ? scene->grains->count : 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)scene->grains->radius[i];
    return sum > 0.0 && sum < 1e30 ? (float)(4.0 * sum / (double)count) : 1.0f;
}

static firn_result make_grid(firn_render *render, const firn_render_scene *scene, firn_error *error)
{
    const firn_render_def *def = &render->def;
    firn_field_view nothing = {.voxel_size = free_voxel_size(scene)};
    float fps = scene->fps > 0.0f ? scene->fps : 24.0f;
    firn_density_def density = {.field =
                                    def->volume && scene->field != NULL ? scene->field : &nothing,
                                .offset = scene->offset,
                                .reference_density = def->reference_density,
                                .extinction = def->extinction,
                                .shutter = def->shutter / fps};
    FIRN_TRY(firn_density_grid_create(&render->grid, &density, error));
    const firn_density_grid *grid = &render->grid;
    firn_grain_def grains = {.grains = scene->grains,
                             .shape = def->grains,
                             .scale = def->grain_scale,
                             .limit = def->grain_limit,
                             .origin = grid->origin,
                             .voxel_size = grid->voxel_size,
                             .shutter = def->shutter / fps,
                             .volume = grid};
    FIRN_TRY(firn_grain_set_create(&render->grains, &grains, error));
    bool dense = grid->value_count > 0;
    const firn_vec3 *bounds = dense ? grid->bounds : render->grains.bounds;
    firn_render_setup *setup = &render->setup;
    setup->lower = firn_add_scaled(grid->origin, grid->voxel_size, bounds[0]);
    setup->upper = firn_add_scaled(grid->origin, grid->voxel_size, bounds[1]);
    setup->voxels = grid->value_count;
    setup->blocks = grid->index.count;
    setup->grid_bytes = firn_density_grid_bytes(grid);
    setup->majorant_bytes = grid->index.count * sizeof *grid->majorant;
    setup->grains = render->grains.count;
    setup->grain_bytes = firn_grain_set_bytes(&render->grains);
    return FIRN_OK;
}

firn_vec3 firn_render_solid_albedo(const firn_render_def *def, const firn_render_scene *scene,
                                   size_t solid)
{
    firn_vec3 own = {0.0f, 0.0f, 0.0f};
    if (scene->solid_colors != NULL)
        own = scene->solid_colors[solid];
    if (own.x + own.y + own.z > 0.0f)
        return own;
    return scene->solids[solid].shape == FIRN_SHAPE_PLANE ? def->ground_albedo : def->solid_albedo;
}

// The field around a patch, where its snow ends.
static firn_result add_field(firn_render *render, const firn_patch *patch, firn_error *error)
{
    firn_solids *solids = &render->solids;
    firn_collider_def field = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), patch->center.y);
    FIRN_TRY(firn_solids_add(solids, &field, render->def.ground_albedo, render->grid.origin,
                             render->grid.voxel_size, error));
    solids->list[solids->count - 1].patch = patch;
    return FIRN_OK;
}

static firn_result make_solids(firn_render *render, const firn_render_scene *scene,
                               firn_error *error)
{
    const firn_render_def *def = &render->def;
    const firn_density_grid *grid = &render->grid;
    firn_render_setup *setup = &render->setup;
    setup->has_ground = def->ground == FIRN_GROUND_PLANE ||
                        (def->ground == FIRN_GROUND_AUTO && scene->solid_count == 0 &&
                         (grid->value_count > 0 || render->grains.count > 0));
    setup->ground_height = def->ground == FIRN_GROUND_PLANE ? def->ground_height : setup->lower.y;
    FIRN_TRY(firn_solids_open(&render->solids, scene->solid_count + 2, error));
    for (size_t i = 0; i < scene->solid_count; i++)
        FIRN_TRY(firn_solids_add(&render->solids, &scene->solids[i],
                                 firn_render_solid_albedo(def, scene, i), grid->origin,
                                 grid->voxel_size, error));
    if (scene->patch != NULL)
        FIRN_TRY(add_field(render, scene->patch, error));
    if (!setup->has_ground)
        return FIRN_OK;
    firn_collider_def ground =
        firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), setup->ground_height);
    return firn_solids_add(&render->solids, &ground, def->ground_albedo, grid->origin,
                           grid->voxel_size, error);
}

static void describe_world(firn_render *render)
{
    const firn_render_def *def = &render->def;
    firn_world *world = &render->world;
    world->grid = &render->grid;
    world->solids = &render->solids;
    world->light = &render->light;
    world->grains = render->grains.count > 0 ? &render->grains : NULL;
    world->ground = (firn_surface){.kind = def->ground_surface,
                                   .white = firn_snow_reflectance(def->albedo, def->anisotropy),
                                   .relief = def->ground_relief,
                                   .sparkle = def->sparkle};
    world->faces = world->ground;
    world->faces.kind = def->solid_surface;
    world->detail = render->lens.pixel * render->grid.voxel_size;
    world->grain_bounces = render->grid.value_count > 0 ? def->grain_bounces : 0;
    world->grain =
        (firn_grain_look){.translucency = def->translucency,
                          .sparkle = def->sparkle,
                          .cosine = cosf(def->sparkle_angle * (FIRN_PI / 180.0f)),
                          .blunt = fminf(BLUNT, cosf(def->sparkle_angle * (FIRN_PI / 180.0f)))};
    world->snow = (firn_scatter){1.0f, def->anisotropy, def->albedo};
    world->even = firn_scatter_even(world->snow);
    world->similarity = def->similarity;
    world->max_bounces = def->max_bounces;
    world->roulette = def->roulette;
}

static firn_result make_pixels(firn_render *render, firn_error *error)
{
    size_t count = (size_t)render->def.width * (size_t)render->def.height;
    size_t tiles = (size_t)firn_tile_count(&render->def);
    render->tile_samples = firn_alloc_zero(tiles * sizeof *render->tile_samples);
    render->tile_done = firn_alloc_zero(tiles * sizeof *render->tile_done);
    render->pixels = firn_alloc_zero(count * sizeof *render->pixels);
    render->rgb = firn_alloc_zero(3 * count * sizeof *render->rgb);
    render->alpha = firn_alloc_zero(count * sizeof *render->alpha);
    render->depth = firn_alloc_zero(count * sizeof *render->depth);
    render->variance = firn_alloc_zero(count * sizeof *render->variance);
    bool fine = render->tile_samples != NULL && render->tile_done != NULL &&
                render->pixels != NULL && render->rgb != NULL && render->alpha != NULL &&
                render->depth != NULL && render->variance != NULL;
    return fine ? FIRN_OK
                : firn_fail(error, FIRN_ERR_MEMORY,
                            "out of memory: cannot hold a picture of %d x %d pixels",
                            render->def.width, render->def.height);
}

static firn_result build(firn_render *render, const firn_render_scene *scene, firn_error *error)
{
    const firn_render_def *def = &render->def;
    firn_render_setup *setup = &render->setup;
    FIRN_TRY(make_grid(render, scene, error));
    FIRN_TRY(make_solids(render, scene, error));
    FIRN_TRY(firn_light_create(&render->light, def, error));
    setup->sun_direction = render->light.sun;
    setup->sun_irradiance = render->light.irradiance;
    setup->zenith = render->light.zenith;
    setup->horizon = render->light.horizon;
    if (!firn_lens_place(def, setup->lower, setup->upper, setup))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the camera has no direction: position and target are the same, or up "
                         "leads from one to the other");
    render->lens = firn_lens_of(def, setup, render->grid.origin, render->grid.voxel_size);
    describe_world(render);
    return make_pixels(render, error);
}

firn_result firn_render_create(const firn_render_def *def, const firn_render_scene *scene,
                               firn_render **render, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_render_params(), def, "render", error));
    firn_render *made = firn_alloc_zero(sizeof *made);
    if (made == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot start a picture");
    made->def = *def;
    firn_render_def_settle(&made->def);
    made->frame = scene->frame;
    made->noise = INFINITY;
    firn_result result = build(made, scene, error);
    if (result != FIRN_OK)
        firn_render_destroy(made);
    else
        *render = made;
    return result;
}

void firn_render_destroy(firn_render *render)
{
    if (render == NULL)
        return;
    firn_density_grid_free(&render->grid);
    firn_grain_set_free(&render->grains);
    firn_solids_free(&render->solids);
    firn_light_free(&render->light);
    firn_free(render->tile_samples);
    firn_free(render->tile_done);
    firn_free(render->pixels);
    firn_free(render->rgb);
    firn_free(render->alpha);
    firn_free(render->depth);
    firn_free(render->variance);
    firn_free(render);
}

firn_render_setup firn_render_read_setup(const firn_render *render) { return render->setup; }
