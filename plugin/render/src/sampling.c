#include "firn/render.h"

#include "phase.h"
#include "render_state.h"

enum { TILE = 16, PASS_LIMIT = 16, SURE = 16 }; // SURE: samples before a tile's noise is believed
#define PASS_SECONDS 0.25 // a pass of more samples is made when one takes less

static int tiles_across(const firn_render_def *def) { return (def->width + TILE - 1) / TILE; }

int firn_tile_count(const firn_render_def *def)
{
    return tiles_across(def) * ((def->height + TILE - 1) / TILE);
}

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

static inline void add_feature(firn_pixel *p, int feature, float value)
{
    p->feature[feature] += value;
    p->feature_square[feature] += value * value;
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
    p->glint = firn_add(p->glint, made.glint);
    if (isfinite(made.depth)) {
        double depth = (double)(made.depth * render->grid.voxel_size);
        p->met++;
        p->depth += depth;
        add_feature(p, FIRN_FEATURE_DEPTH, (float)depth / render->setup.focus_distance);
        add_feature(p, FIRN_FEATURE_ALBEDO, firn_luminance(made.albedo));
        add_feature(p, FIRN_FEATURE_NORMAL, made.normal.x);
        add_feature(p, FIRN_FEATURE_NORMAL + 1, made.normal.y);
        add_feature(p, FIRN_FEATURE_NORMAL + 2, made.normal.z);
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

static inline bool is_open(const firn_render *render, int tile, int samples)
{
    return !render->tile_done[tile] && render->tile_samples[tile] < samples;
}

// Brings tiles to a number of samples until it is time to look up; how many are left. Threads take
// a tracker each; neither that nor the clock has an influence on the picture.
static int fill_tiles(const run *r, int samples)
{
    firn_render *render = r->render;
    int tiles = firn_tile_count(&render->def), taken = 0, left = 0;
    double until = firn_seconds() + PASS_SECONDS;
#pragma omp parallel num_threads(r->threads)
    {
        int own;
#pragma omp atomic capture
        own = taken++;
#pragma omp for schedule(dynamic)
        for (int tile = 0; tile < tiles; tile++)
            if (is_open(render, tile, samples) && firn_seconds() < until)
                fill_tile(render, &r->trackers[own], tile, samples);
    }
    for (int tile = 0; tile < tiles; tile++)
        left += is_open(render, tile, samples);
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

int firn_pixel_samples(const firn_render *render, size_t pixel)
{
    size_t width = (size_t)render->def.width;
    size_t tile = pixel / width / TILE * (size_t)tiles_across(&render->def) + pixel % width / TILE;
    return render->tile_samples[tile];
}

// With a limit of noise, tiles that have reached it rest: what a tile needs depends on what it
// shows. The limit counts against the brightness of the whole picture.
static bool rest_tiles(firn_render *render, double mean)
{
    const firn_render_def *def = &render->def;
    int across = tiles_across(def), tiles = firn_tile_count(def);
    double allowed = (double)def->noise_limit * mean;
    bool all = true;
    for (int tile = 0; tile < tiles; tile++) {
        int left = tile % across * TILE, top = tile / across * TILE, count = 0;
        int samples = render->tile_samples[tile];
        double variance = 0.0;
        for (int y = top; y < top + TILE && y < def->height; y++)
            for (int x = left; x < left + TILE && x < def->width; x++, count++)
                variance += variance_of(&render->pixels[(size_t)y * (size_t)def->width + (size_t)x],
                                        samples);
        render->tile_done[tile] = samples >= SURE && variance <= allowed * allowed * count;
        all = all && render->tile_done[tile];
    }
    return all;
}

static void measure_noise(firn_render *render)
{
    size_t count = (size_t)render->def.width * (size_t)render->def.height;
    double variance = 0.0, mean = 0.0;
    for (size_t i = 0; i < count; i++) {
        int samples = firn_pixel_samples(render, i);
        variance += variance_of(&render->pixels[i], samples);
        mean += render->pixels[i].luminance / samples;
    }
    variance /= (double)count;
    mean /= (double)count;
    render->noise = render->samples < 2 ? (double)INFINITY
                    : mean > 0.0        ? sqrt(variance) / mean
                                        : 0.0;
    if (render->def.noise_limit > 0.0f)
        render->quiet = rest_tiles(render, mean);
}

static void collect(firn_render *render)
{
    size_t count = (size_t)render->def.width * (size_t)render->def.height;
    for (size_t i = 0; i < count; i++) {
        const firn_pixel *p = &render->pixels[i];
        int samples = firn_pixel_samples(render, i);
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
           (def->noise_limit > 0.0f &&
            (render->quiet || render->noise <= (double)def->noise_limit));
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
    int tiles = firn_tile_count(&render->def), left;
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
