#include "firn/render.h"

#include "phase.h"
#include "render_state.h"

#include "firn/defs.h"

#include <string.h>

enum { TILE = 16, PASS_LIMIT = 16 };
#define BLUNT 0.5f // cosine of half the width of a glint that is not seen directly
#define PASS_SECONDS 0.25 // a pass of more samples is made when one takes less

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
    firn_density_def density = {.field = def->volume && scene->field != NULL ? scene->field
                                                                             : &nothing,
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

static firn_result make_solids(firn_render *render, const firn_render_scene *scene,
                               firn_error *error)
{
    const firn_render_def *def = &render->def;
    const firn_density_grid *grid = &render->grid;
    firn_render_setup *setup = &render->setup;
    setup->has_ground =
        def->ground == FIRN_GROUND_PLANE ||
        (def->ground == FIRN_GROUND_AUTO && scene->solid_count == 0 &&
         (grid->value_count > 0 || render->grains.count > 0));
    setup->ground_height = def->ground == FIRN_GROUND_PLANE ? def->ground_height : setup->lower.y;
    FIRN_TRY(firn_solids_open(&render->solids, scene->solid_count + 1, error));
    for (size_t i = 0; i < scene->solid_count; i++) {
        bool plane = scene->solids[i].shape == FIRN_SHAPE_PLANE;
        FIRN_TRY(firn_solids_add(&render->solids, &scene->solids[i],
                                 plane ? def->ground_albedo : def->solid_albedo, grid->origin,
                                 grid->voxel_size, error));
    }
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
    bool snowy = def->ground_surface == FIRN_SURFACE_SNOW;
    world->ground = (firn_surface){
        .kind = def->ground_surface,
        .albedo = snowy ? firn_snow_reflectance(def->albedo, def->anisotropy) : def->ground_albedo,
        .relief = def->ground_relief,
        .sparkle = def->sparkle};
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

static int tiles_across(const firn_render_def *def) { return (def->width + TILE - 1) / TILE; }

static int tile_count(const firn_render_def *def)
{
    return tiles_across(def) * ((def->height + TILE - 1) / TILE);
}

static firn_result make_pixels(firn_render *render, firn_error *error)
{
    size_t count = (size_t)render->def.width * (size_t)render->def.height;
    render->tile_samples =
        firn_alloc_zero((size_t)tile_count(&render->def) * sizeof *render->tile_samples);
    render->pixels = firn_alloc_zero(count * sizeof *render->pixels);
    render->rgb = firn_alloc_zero(3 * count * sizeof *render->rgb);
    render->alpha = firn_alloc_zero(count * sizeof *render->alpha);
    render->depth = firn_alloc_zero(count * sizeof *render->depth);
    render->variance = firn_alloc_zero(count * sizeof *render->variance);
    bool fine = render->tile_samples != NULL && render->pixels != NULL && render->rgb != NULL &&
                render->alpha != NULL && render->depth != NULL && render->variance != NULL;
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
    firn_free(render->pixels);
    firn_free(render->rgb);
    firn_free(render->alpha);
    firn_free(render->depth);
    firn_free(render->variance);
    firn_free(render);
}

firn_render_setup firn_render_read_setup(const firn_render *render) { return render->setup; }

// --- Samples -------------------------------------------------------------------------------------

enum { SPREAD = 6 }; // numbers of a sample that are spread evenly over the samples of a pixel

// The additive recurrence of the generalized golden ratio: each new point falls into a gap.
static float spread(uint64_t pixel, int sample, int dimension)
{
    static const uint32_t steps[SPREAD] = {3859688306u, 3468523225u, 3117001274u,
                                           2801104767u, 2517223198u, 2262111973u};
    uint64_t start = firn_mix(pixel * SPREAD + (uint64_t)dimension + 0x5851F42D4C957F2Du);
    uint32_t value = (uint32_t)(start >> 32) + (uint32_t)sample * steps[dimension];
    return (float)(value >> 8) * 0x1p-24f;
}

// A tent over two pixels: neighbors share samples' weight, which keeps edges from stepping.
static float tent(float unit)
{
    float x = 2.0f * unit;
    return x < 1.0f ? sqrtf(x) - 1.0f : 1.0f - sqrtf(2.0f - x);
}

static void add_sample(firn_render *render, firn_tracker *tracker, int x, int y, int sample)
{
    const firn_render_def *def = &render->def;
    size_t at = (size_t)y * (size_t)def->width + (size_t)x;
    uint64_t key = firn_mix((uint64_t)def->seed) + at;
    firn_random random = firn_random_of((uint64_t)def->seed, at, (uint64_t)sample);
    float pixel[2] = {(float)x + 0.5f + tent(spread(key, sample, 0)),
                      (float)y + 0.5f + tent(spread(key, sample, 1))};
    float turn = 2.0f * FIRN_PI * spread(key, sample, 2), out = sqrtf(spread(key, sample, 3));
    float disk[2] = {out * cosf(turn), out * sinf(turn)};
    firn_vec3 from, direction;
    firn_lens_ray(&render->lens, pixel, disk, &from, &direction);
    tracker->time = spread(key, sample, 4) - 0.5f;
    firn_path_sample made =
        firn_path_trace(&render->world, tracker, &random, from, direction, spread(key, sample, 5));
    firn_pixel *p = &render->pixels[at];
    double luminance = (double)firn_luminance(made.radiance);
    p->rgb[0] += (double)made.radiance.x;
    p->rgb[1] += (double)made.radiance.y;
    p->rgb[2] += (double)made.radiance.z;
    p->luminance += luminance;
    p->square += luminance * luminance;
    if (isfinite(made.depth)) {
        p->met++;
        p->depth += (double)(made.depth * render->grid.voxel_size);
    }
}

// Brings the pixels of a tile to a number of samples.
static void fill_tile(firn_render *render, firn_tracker *tracker, int tile, int samples)
{
    int across = tiles_across(&render->def);
    int left = tile % across * TILE, top = tile / across * TILE;
    for (int y = top; y < top + TILE && y < render->def.height; y++)
        for (int x = left; x < left + TILE && x < render->def.width; x++)
            for (int sample = render->tile_samples[tile]; sample < samples; sample++)
                add_sample(render, tracker, x, y, sample);
    render->tile_samples[tile] = samples;
}

// Threads that a setting means: as many as OpenMP would use for 0.
static int thread_count(int wanted)
{
    if (wanted > 0)
        return wanted;
    int count = 0;
#pragma omp parallel reduction(+ : count)
    count += 1;
    return count;
}

/// A run, which looks up from its work several times a second.
typedef struct run {
    firn_render *render;
    firn_tracker *trackers;
    int threads;
    double begun; // s
    double pace;  // s for a sample of every pixel; 0: not known yet
    firn_render_progress *progress;
    void *user;
    bool stopped; // by progress
} run;

// Brings tiles to a number of samples until it is time to look up; how many are left. Threads take
// a tracker each; neither that nor the clock has an influence on the picture.
static int fill_tiles(const run *r, int samples)
{
    firn_render *render = r->render;
    int tiles = tile_count(&render->def), taken = 0, left = 0;
    double until = firn_seconds() + PASS_SECONDS;
#pragma omp parallel num_threads(r->threads)
    {
        int own;
#pragma omp atomic capture
        own = taken++;
#pragma omp for schedule(dynamic)
        for (int tile = 0; tile < tiles; tile++)
            if (render->tile_samples[tile] < samples && firn_seconds() < until)
                fill_tile(render, &r->trackers[own], tile, samples);
    }
    for (int tile = 0; tile < tiles; tile++)
        left += render->tile_samples[tile] < samples;
    return left;
}

// --- The picture ---------------------------------------------------------------------------------

// The variance of a pixel's mean; too few samples tell nothing.
static double variance_of(const firn_pixel *pixel, int samples)
{
    if (samples < 2)
        return 0.0;
    double mean = pixel->luminance / samples;
    double spread = pixel->square / samples - mean * mean;
    return spread > 0.0 ? spread / (samples - 1) : 0.0;
}

// Samples of a pixel.
static int samples_of(const firn_render *render, size_t pixel)
{
    size_t width = (size_t)render->def.width;
    size_t tile = pixel / width / TILE * (size_t)tiles_across(&render->def) + pixel % width / TILE;
    return render->tile_samples[tile];
}

static void measure_noise(firn_render *render)
{
    size_t count = (size_t)render->def.width * (size_t)render->def.height;
    double variance = 0.0, mean = 0.0;
    for (size_t i = 0; i < count; i++) {
        variance += variance_of(&render->pixels[i], render->samples);
        mean += render->pixels[i].luminance / render->samples;
    }
    variance /= (double)count;
    mean /= (double)count;
    render->noise = render->samples < 2 ? (double)INFINITY
                    : mean > 0.0        ? sqrt(variance) / mean
                                        : 0.0;
}

static void collect(firn_render *render)
{
    size_t count = (size_t)render->def.width * (size_t)render->def.height;
    for (size_t i = 0; i < count; i++) {
        const firn_pixel *p = &render->pixels[i];
        int samples = samples_of(render, i);
        double scale = samples > 0 ? 1.0 / samples : 0.0;
        for (int c = 0; c < 3; c++)
            render->rgb[3 * i + (size_t)c] = (float)(scale * p->rgb[c]);
        render->alpha[i] = (float)(scale * p->met);
        render->depth[i] = p->met > 0 ? (float)(p->depth / p->met) : INFINITY;
        render->variance[i] = (float)variance_of(p, samples);
    }
}

static double fraction_of(const firn_render *render, double seconds)
{
    const firn_render_def *def = &render->def;
    double fraction = (double)render->samples / def->samples;
    if (def->time_limit > 0.0f)
        fraction = fmax(fraction, seconds / (double)def->time_limit);
    // Noise falls with the square root of the samples.
    if (def->noise_limit > 0.0f && render->noise < 1e30) {
        double ratio = (double)def->noise_limit / fmax(render->noise, 1e-12);
        fraction = fmax(fraction, ratio * ratio);
    }
    return fmin(fraction, 1.0);
}

static bool is_done(const firn_render *render, double seconds)
{
    const firn_render_def *def = &render->def;
    return render->samples >= def->samples ||
           (def->time_limit > 0.0f && seconds >= (double)def->time_limit) ||
           (def->noise_limit > 0.0f && render->noise <= (double)def->noise_limit);
}

static bool is_out_of_time(const run *r)
{
    float limit = r->render->def.time_limit;
    return limit > 0.0f && firn_seconds() - r->begun >= (double)limit;
}

static void report(run *r, double part)
{
    firn_render *render = r->render;
    double seconds = firn_seconds() - r->begun;
    double fraction = fraction_of(render, seconds) + part / render->def.samples;
    firn_render_report told = {fmin(fraction, 1.0), render->samples, render->noise, seconds};
    r->stopped = r->progress != NULL && !r->progress(&told, r->user);
}

// Adds samples to every pixel; false when it was stopped or the time is over.
static bool make_pass(run *r, int count)
{
    firn_render *render = r->render;
    int tiles = tile_count(&render->def), left;
    double begun = firn_seconds();
    while ((left = fill_tiles(r, render->samples + count)) > 0) {
        report(r, (double)count * (tiles - left) / tiles);
        if (r->stopped || is_out_of_time(r))
            return false;
    }
    r->pace = fmax((firn_seconds() - begun) / count, 1e-6);
    render->samples += count;
    measure_noise(render);
    report(r, 0.0);
    return !r->stopped;
}

static int next_count(const run *r)
{
    const firn_render *render = r->render;
    const firn_render_def *def = &render->def;
    int left = def->samples - render->samples;
    int count = r->pace > 0.0 ? (int)fmin(PASS_LIMIT, fmax(1.0, PASS_SECONDS / r->pace)) : 1;
    // With a limit of noise the passes must not depend on the clock, or the bytes would.
    if (def->noise_limit > 0.0f)
        count = render->samples < PASS_LIMIT ? 4 : PASS_LIMIT;
    return count < left ? count : left;
}

firn_result firn_render_run(firn_render *render, firn_render_progress *progress, void *user,
                            firn_error *error)
{
    const firn_render_def *def = &render->def;
    run r = {.render = render,
             .threads = thread_count(def->thread_count),
             .begun = firn_seconds(),
             .progress = progress,
             .user = user};
    firn_result result = FIRN_OK;
    r.trackers = firn_alloc_zero((size_t)r.threads * sizeof *r.trackers);
    if (r.trackers == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot trace with %d threads",
                         r.threads);
    for (int i = 0; i < r.threads && result == FIRN_OK; i++)
        result = firn_tracker_open(&r.trackers[i], &render->grid, error);
    while (result == FIRN_OK && !is_done(render, firn_seconds() - r.begun) &&
           make_pass(&r, next_count(&r)))
        ;
    if (r.stopped)
        result = firn_fail(error, FIRN_ERR_CANCELLED, "the picture was stopped");
    for (int i = 0; i < r.threads; i++)
        firn_tracker_close(&r.trackers[i]);
    firn_free(r.trackers);
    collect(render);
    if (def->denoise && result == FIRN_OK && !firn_render_denoise(render))
        result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot smooth the picture");
    return result;
}

firn_render_image firn_render_picture(const firn_render *render)
{
    firn_render_image image = {.width = render->def.width,
                               .height = render->def.height,
                               .samples = render->samples,
                               .noise = render->noise,
                               .rgb = render->rgb,
                               .alpha = render->alpha,
                               .depth = render->depth,
                               .variance = render->variance};
    return image;
}
