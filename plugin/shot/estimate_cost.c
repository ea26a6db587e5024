#include "estimate.h"

#include "firn/channel.h"
#include "firn/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979
#define TRIAL_PARTICLES 20000.0
#define TRIAL_SPEED 3.0 // m/s, at least: snow falls, even when it starts at rest

// How far the truth may be from an estimate, as a factor: of a shot that was rehearsed to its end,
// in part, or not at all.
#define NEARLY 2.0
#define ROUGHLY 3.0
#define HARDLY 6.0

enum { TRIAL_STEPS = 12, TRIAL_WARM_UP = 200 };

// --- Particles -----------------------------------------------------------------------------------

static double length_of(firn_vec3 v)
{
    return sqrt((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z);
}

// Particles that a level set or a list of points gives, counted with cells coarse enough to be
// quick; the volume of the snow follows from them.
static firn_result count_seeds(const firn_source_def *source, double cell, double *volume,
                               firn_error *error)
{
    firn_sim_def def = firn_sim_def_default();
    firn_source_def copy = *source;
    copy.start = 0.0;
    copy.end = 0.0;
    copy.material = (firn_material_id){0, 0};
    copy.value_count = 0;
    size_t count = 0;
    // Fine enough when there are some thousands of them; too coarse when there is none.
    for (double size = 16.0 * cell; count < 5000 && size >= cell; size *= 0.5) {
        firn_sim *sim = NULL;
        def.cell_size = (float)fmin(size, 1.0);
        firn_result result = firn_sim_create(&def, &sim, error);
        if (result == FIRN_OK)
            result = firn_sim_add_source(sim, &copy, NULL, error);
        count = result == FIRN_OK ? firn_sim_particle_count(sim) : 0;
        firn_sim_destroy(sim);
        if (result == FIRN_ERR_ARGUMENT && size > cell)
            continue;
        FIRN_TRY(result);
        double edge = (double)def.cell_size;
        *volume = (double)count / (double)source->particles_per_cell * edge * edge * edge;
    }
    return FIRN_OK;
}

/// Snow of one source: at once, and per second while it emits.
typedef struct amount {
    double volume, rate, extent;
} amount;

static firn_result measure_source(const firn_source_def *s, double cell, amount *a,
                                  firn_error *error)
{
    firn_vec3 h = s->half_size, v = s->velocity;
    double r = (double)s->radius;
    switch ((firn_region)s->region) {
    case FIRN_REGION_SPHERE:
        *a = (amount){4.0 / 3.0 * PI * r * r * r, PI * r * r * length_of(v), 2.0 * r};
        return FIRN_OK;
    case FIRN_REGION_BOX:
        a->volume = 8.0 * (double)h.x * (double)h.y * (double)h.z;
        a->rate = 4.0 * (fabs((double)v.x) * (double)h.y * (double)h.z +
                         fabs((double)v.y) * (double)h.x * (double)h.z +
                         fabs((double)v.z) * (double)h.x * (double)h.y);
        a->extent = 2.0 * fmax((double)h.x, fmax((double)h.y, (double)h.z));
        return FIRN_OK;
    case FIRN_REGION_POINTS:
        a->volume = (double)s->point_count * cell * cell * cell / (double)s->particles_per_cell;
        a->extent = cbrt(a->volume);
        return FIRN_OK;
    case FIRN_REGION_LEVEL_SET:
        FIRN_TRY(count_seeds(s, cell, &a->volume, error));
        a->extent = cbrt(a->volume);
        a->rate = a->extent * a->extent * length_of(v);
        return FIRN_OK;
    }
    return FIRN_OK;
}

static firn_result add_source(firn_graph *graph, const char *source, firn_solver_cost *cost,
                              firn_error *error)
{
    const firn_shot *shot = firn_graph_shot(graph);
    const firn_data *data = NULL;
    FIRN_TRY(firn_graph_cook(graph, source, shot->first, &data, error));
    const firn_source_def *def = &data->source->def;
    amount a = {0};
    FIRN_TRY(measure_source(def, cost->cell_size, &a, error));
    double end = fmin(def->end, (shot->last - shot->first) / (double)shot->fps);
    double volume = a.volume + a.rate * fmax(end - fmax(def->start, 0.0), 0.0);
    double cell = cost->cell_size * cost->cell_size * cost->cell_size;
    cost->volume += volume;
    cost->particles += volume * (double)def->particles_per_cell / cell;
    cost->extent = fmax(cost->extent, a.extent);
    cost->speed = fmax(cost->speed, length_of(def->velocity));
    return FIRN_OK;
}

// --- Time and memory -----------------------------------------------------------------------------

typedef struct trial {
    int left;
    double until; // s of simulated time
    int count;    // of substeps that were timed
    double seconds[TRIAL_STEPS], solve[TRIAL_STEPS];
    double iterations; // of all of them
} trial;

static bool on_substep(const firn_step_stats *stats, void *user)
{
    trial *own = user;
    double spent = 0.0, solve = 0.0;
    for (int i = 0; i < FIRN_STAGE_COUNT; i++) {
        spent += stats->seconds[i];
        solve += strcmp(firn_stage_name(i), "solve") == 0 ? stats->seconds[i] : 0.0;
    }
    if (own->count < TRIAL_STEPS) {
        own->solve[own->count] = solve;
        own->seconds[own->count++] = spent;
        own->iterations += stats->iterations;
    }
    return --own->left > 0 && stats->time < own->until;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The one in the middle: a moment in which others had the machine does not count.
static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    return values[count / 2];
}

static firn_result run_trial(firn_sim *sim, trial *limits, firn_error *error)
{
    firn_sim_set_progress(sim, on_substep, limits);
    firn_result result = firn_sim_step(sim, 10.0, error);
    return result == FIRN_ERR_CANCELLED ? FIRN_OK : result;
}

static firn_result read_settings(const firn_graph *graph, const char *node, firn_sim_def *def,
                                 firn_error *error)
{
    firn_param_table table = firn_sim_params();
    *def = firn_sim_def_default();
    for (size_t i = 0; i < table.count; i++) {
        const char *name = table.params[i].name;
        double values[3];
        if (firn_params_find(firn_graph_node_type(graph, node)->params, name) == NULL)
            continue;
        FIRN_TRY(firn_graph_get(graph, node, name, firn_graph_shot(graph)->first, values, error));
        FIRN_TRY(firn_param_set(&table.params[i], def, values, error));
    }
    return FIRN_OK;
}

static firn_result add_material(firn_graph *graph, const char *node, firn_sim *sim,
                                firn_source_def *ball, firn_error *error)
{
    const firn_data *data = NULL;
    const char *material = firn_graph_input(graph, node, "material", 0);
    for (size_t i = 0; material == NULL && firn_graph_input(graph, node, "sources", i); i++)
        material =
            firn_graph_input(graph, firn_graph_input(graph, node, "sources", i), "material", 0);
    if (material == NULL)
        return FIRN_OK;
    FIRN_TRY(firn_graph_cook(graph, material, firn_graph_shot(graph)->first, &data, error));
    return firn_sim_add_material(sim, data->material, &ball->material, error);
}

// The channels that any source asks for take memory in all particles.
static firn_result add_channels(firn_graph *graph, const char *node, firn_sim *sim,
                                firn_error *error)
{
    const firn_data *data = NULL;
    const char *source;
    for (size_t i = 0; (source = firn_graph_input(graph, node, "sources", i)) != NULL; i++) {
        FIRN_TRY(firn_graph_cook(graph, source, firn_graph_shot(graph)->first, &data, error));
        for (size_t k = 0; k < data->source->channel_count; k++)
            FIRN_TRY(firn_sim_add_channel(sim, &data->source->channels[k], error));
    }
    return FIRN_OK;
}

// A solve multiplies once for its residual and then once in each iteration.
static void price(firn_solver_cost *cost, trial *timed, double particles)
{
    double count = fmax(timed->count, 1.0), products = timed->iterations / count + 1.0;
    cost->ns = 1e9 * median(timed->seconds, timed->count) / particles;
    double solve = 1e9 * median(timed->solve, timed->count) / particles;
    cost->ns_iteration = solve / products;
    cost->ns_step = cost->ns - solve + cost->ns_iteration;
}

// A snowball in the middle of its impact on a floor, with the settings and snow of the solver.
static firn_result time_trial(firn_graph *graph, const char *node, firn_sim *sim,
                              firn_solver_cost *cost, firn_error *error)
{
    float h = (float)cost->cell_size;
    double count = fmin(TRIAL_PARTICLES, fmax(cost->particles, 1000.0));
    firn_source_def ball = firn_source_def_default();
    double cells = count / (double)ball.particles_per_cell;
    float radius = h * (float)cbrt(cells * 3.0 / (4.0 * PI));
    float speed = (float)fmax(cost->speed, TRIAL_SPEED);
    ball = firn_source_def_sphere(firn_vec(0.0f, radius + h, 0.0f), radius);
    ball.velocity = firn_vec(0.0f, -speed, 0.0f);
    firn_collider_def floor_def = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    FIRN_TRY(add_channels(graph, node, sim, error));
    FIRN_TRY(add_material(graph, node, sim, &ball, error));
    FIRN_TRY(firn_sim_add_source(sim, &ball, NULL, error));
    FIRN_TRY(firn_sim_add_collider(sim, &floor_def, NULL, error));
    trial first = {.left = 1, .until = 10.0};
    FIRN_TRY(run_trial(sim, &first, error));
    cost->dt_flight = firn_sim_stats(sim).dt;
    trial warm = {.left = TRIAL_WARM_UP, .until = (double)((h + 0.2f * radius) / speed)};
    FIRN_TRY(run_trial(sim, &warm, error));
    trial timed = {.left = TRIAL_STEPS, .until = 10.0};
    FIRN_TRY(run_trial(sim, &timed, error));
    firn_step_stats stats = firn_sim_stats(sim);
    price(cost, &timed, (double)stats.particles);
    cost->dt = stats.dt;
    cost->bytes = cost->particles * (double)stats.bytes / (double)stats.particles;
    return FIRN_OK;
}

firn_result firn_solver_measure(firn_graph *graph, const char *node, int frames,
                                firn_solver_cost *cost, firn_error *error)
{
    firn_sim_def def;
    FIRN_TRY(read_settings(graph, node, &def, error));
    *cost = (firn_solver_cost){
        .node = node, .cell_size = (double)def.cell_size, .gravity = length_of(def.gravity)};
    for (size_t i = 0; firn_graph_input(graph, node, "sources", i) != NULL; i++)
        FIRN_TRY(add_source(graph, firn_graph_input(graph, node, "sources", i), cost, error));
    def.domain_lower = firn_sim_def_default().domain_lower;
    def.domain_upper = firn_sim_def_default().domain_upper;
    def.memory_limit = 0.0;
    firn_sim *sim = NULL;
    FIRN_TRY(firn_sim_create(&def, &sim, error));
    firn_result result = time_trial(graph, node, sim, cost, error);
    firn_sim_destroy(sim);
    FIRN_TRY(result);
    result = firn_solver_rehearse(graph, frames, cost, error);
    double doubt = cost->rehearsed < frames ? ROUGHLY : NEARLY;
    if (result == FIRN_ERR_DIVERGED || result == FIRN_ERR_ARGUMENT) {
        // In cells that are too large for it: as if it were an impact throughout.
        double substeps = fmax(1.0 / ((double)firn_graph_shot(graph)->fps * cost->dt), 1.0);
        cost->seconds = 1e-9 * cost->ns * cost->particles * substeps * frames;
        doubt = HARDLY;
        result = FIRN_OK;
    }
    cost->seconds_low = cost->seconds / doubt;
    cost->seconds_high = cost->seconds * doubt;
    return result;
}

// --- Disk ----------------------------------------------------------------------------------------

/// Bytes of a channel in a file, where whole numbers are wider than in memory.
static double channel_bytes(const char *word)
{
    firn_channel channel;
    if (firn_channel_parse(word, &channel, NULL) != FIRN_OK)
        return 0.0;
    return channel.components * (channel.type == FIRN_CHANNEL_UINT32 ? 8.0 : 4.0);
}

static double channels_bytes(const char *list)
{
    char word[FIRN_TEXT_SIZE];
    double bytes = 0.0;
    while (firn_channel_next(&list, word, sizeof word))
        bytes += strcmp(word, "P") != 0 ? channel_bytes(word) : 0.0;
    return bytes;
}

/// How much of that a format keeps: compression, positions of 16 bits in VDB points.
static const struct {
    const char *format;
    double share;
} shares[] = {{"abc", 1.0}, {"bgeo", 1.0}, {"bgeo.gz", 0.8}, {"vdb", 0.6}};

#define FRINGE 1.7 // voxels that hold snow, for each that is full of it

static double get_number(const firn_graph *graph, const char *node, const char *param)
{
    double values[3] = {0};
    firn_graph_get(graph, node, param, firn_graph_shot(graph)->first, values, NULL);
    return values[0];
}

// Follows the first links up to a node of that type.
static const char *find_upstream(const firn_graph *graph, const char *node, const char *type)
{
    while (node != NULL) {
        const firn_node_info *info = firn_graph_node_type(graph, node);
        if (strcmp(info->name, type) == 0)
            return node;
        const char *next = NULL;
        for (size_t i = 0; next == NULL && i < info->input_count; i++)
            next = firn_graph_input(graph, node, info->inputs[i].name, 0);
        node = next;
    }
    return NULL;
}

static double particle_bytes(const firn_graph *graph, const char *node)
{
    char words[FIRN_TEXT_SIZE] = "", format[FIRN_TEXT_SIZE] = "";
    firn_graph_get_text(graph, node, "attributes", 0.0, words, sizeof words, NULL);
    firn_graph_get_text(graph, node, "format", 0.0, format, sizeof format, NULL);
    double bytes = 12.0 + channels_bytes(words), share = 1.0;
    for (size_t i = 0; i < FIRN_COUNT(shares); i++)
        share = strcmp(shares[i].format, format) == 0 ? shares[i].share : share;
    return bytes * share;
}

// Numbers of a voxel.
static double voxel_width(const firn_graph *graph, const char *raster)
{
    char words[FIRN_TEXT_SIZE] = "";
    firn_graph_get_text(graph, raster, "channels", 0.0, words, sizeof words, NULL);
    return 1.0 + channels_bytes(words) / 4.0 + 3.0 * get_number(graph, raster, "velocity") +
           get_number(graph, raster, "compaction") + get_number(graph, raster, "surface");
}

static double count_voxels(const firn_graph *graph, const char *raster, double volume)
{
    double size = get_number(graph, raster, "voxel_size");
    return volume / (size * size * size) * FRINGE;
}

static const firn_solver_cost *cost_of(const char *solver, const firn_solver_cost *solvers,
                                       size_t count)
{
    for (size_t i = 0; solver != NULL && i < count; i++)
        if (strcmp(solvers[i].node, solver) == 0)
            return &solvers[i];
    return NULL;
}

// Particles that come out of a node: those of the solver, or finer ones.
static double count_particles(const firn_graph *graph, const char *node,
                              const firn_solver_cost *solvers, size_t count)
{
    const firn_solver_cost *cost = cost_of(find_upstream(graph, node, "solver"), solvers, count);
    const char *fine = find_upstream(graph, node, "fine_particles");
    double each = fine != NULL ? get_number(graph, fine, "children") : 1.0;
    return cost != NULL ? cost->particles * each : 0.0;
}

#define GRAIN 48.0       // bytes of a fine particle
#define GRAIN_DRAWN 72.0 // and what a picture makes of it
#define PIXEL 155.0      // bytes of a picture while light is followed
#define VOXEL_DRAWN 3.0  // of a volume that is drawn

static double render_bytes(const firn_graph *graph, const char *node,
                           const firn_solver_cost *solvers, size_t count)
{
    const char *grains = firn_graph_input(graph, node, "particles", 0);
    const char *raster = find_upstream(graph, node, "rasterize");
    const firn_solver_cost *cost = cost_of(find_upstream(graph, node, "solver"), solvers, count);
    double bytes = PIXEL * get_number(graph, node, "width") * get_number(graph, node, "height");
    if (grains != NULL)
        bytes += GRAIN_DRAWN * count_particles(graph, grains, solvers, count);
    if (raster != NULL && cost != NULL && get_number(graph, node, "volume") != 0.0)
        bytes += VOXEL_DRAWN * count_voxels(graph, raster, cost->volume);
    return bytes;
}

double firn_stage_bytes(firn_graph *graph, const char *node, const firn_solver_cost *solvers,
                        size_t count)
{
    const char *type = firn_graph_node_type(graph, node)->name;
    const firn_solver_cost *cost = cost_of(find_upstream(graph, node, "solver"), solvers, count);
    char words[FIRN_TEXT_SIZE] = "";
    if (strcmp(type, "render") == 0)
        return render_bytes(graph, node, solvers, count);
    if (cost == NULL)
        return 0.0;
    if (strcmp(type, "rasterize") == 0)
        return 2.0 * 4.0 * voxel_width(graph, node) * count_voxels(graph, node, cost->volume);
    if (strcmp(type, "fine_particles") != 0)
        return 0.0;
    firn_graph_get_text(graph, node, "channels", 0.0, words, sizeof words, NULL);
    return (GRAIN + channels_bytes(words)) * count_particles(graph, node, solvers, count);
}

// Bytes of a picture for each pixel: four channels of 8 bits, or six of 16 and 32, packed.
static double picture_bytes(const firn_graph *graph, const char *node)
{
    char format[FIRN_TEXT_SIZE] = "";
    firn_graph_get_text(graph, node, "format", 0.0, format, sizeof format, NULL);
    double pixels = get_number(graph, node, "width") * get_number(graph, node, "height");
    double png = strcmp(format, "exr") != 0 ? 2.0 : 0.0;
    return pixels * (png + (strcmp(format, "png") != 0 ? 12.0 : 0.0));
}

double firn_writer_bytes(firn_graph *graph, const char *node, const firn_solver_cost *solvers,
                         size_t count)
{
    const char *raster = find_upstream(graph, node, "rasterize");
    const firn_solver_cost *cost = cost_of(find_upstream(graph, node, "solver"), solvers, count);
    if (strcmp(firn_graph_node_type(graph, node)->name, "render") == 0)
        return picture_bytes(graph, node);
    if (cost == NULL)
        return 0.0;
    if (raster == NULL)
        return count_particles(graph, node, solvers, count) * particle_bytes(graph, node);
    return count_voxels(graph, raster, cost->volume) * voxel_width(graph, raster) *
           (get_number(graph, node, "half") != 0.0 ? 2.0 : 4.0);
}
