#include "nodes.h"

#include "channel_columns.h"
#include "force_links.h"
#include "point_file.h"
#include "solver_materials.h"
#include "solver_ranks.h"
#include "solver_solids.h"

#include "firn/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PRESET_DEFAULT, PRESET_PAPER };

typedef struct settings {
    int preset;
    bool deformation;
    int checkpoint_frames;
    float checkpoint_minutes;
    int checkpoint_keep;
    firn_sim_def def;
} settings;

enum { STAT_COUNT = 20 };

// What firn_sim_change takes over.
#define ANIMATED                                                                                   \
    "gravity flip_ratio dt_min dt_max cfl wave_cfl tolerance max_iterations speed_limit"

typedef struct state {
    firn_sim *sim;
    int frame;                 // that the simulation has reached
    firn_solver_solids solids; // and all numbers, the first STAT_COUNT of the simulation
    firn_force_id *forces;
    firn_source_id *sources;
    firn_solver_pair *materials; // of each source, and behind them of those that have none

    int channel_count;       // of the simulation
    firn_attribute *columns; // of those that are published
    void **copies;           // of what the simulation keeps in another form
    size_t capacity;         // particles that fit in each copy
    firn_particle_data data;
    size_t particle_count; // of all ranks
    firn_rank_account account;

    // Of the frame in progress.
    const firn_cook *cook;
    int64_t substeps_before; // -1: no substep yet
    double iterations, rejected, begun;

    firn_point_file file; // particles that were read instead of simulated

    bool stopped; // in the middle of a frame, without a way back to the one before
} state;

static const firn_node_rows rows[] = {{firn_sim_params, offsetof(settings, def)}};

// clang-format off
static const firn_param params[] = {
    {FIRN_PARAM(settings, preset), FIRN_CHOICE, {PRESET_DEFAULT}, 0, 1, "",
     "Settings to start from; paper follows the publication to the letter", "default|paper"},
    {FIRN_PARAM(settings, deformation), FIRN_BOOL, {0}, 0, 1, "",
     "Also give the particles their elastic deformation gradient F, 36 bytes each"},
    {FIRN_PARAM(settings, checkpoint_frames), FIRN_INT, {10}, 0, 1e6, "",
     "Frames from one checkpoint to the next; 0: none", .label = "Checkpoint every N frames"},
    {FIRN_PARAM(settings, checkpoint_minutes), FIRN_FLOAT, {10}, 0, 1e6, "min",
     "Also a checkpoint after a frame when the last one is this old; 0: never",
     .label = "Checkpoint every N minutes"},
    {FIRN_PARAM(settings, checkpoint_keep), FIRN_INT, {2}, 1, 1e6, "",
     "Checkpoints that stay on disk", .label = "Checkpoints to keep"},
};
// clang-format on

static void reset(void *memory)
{
    settings *s = memory;
    s->def = firn_sim_def_default();
}

static void preset(void *memory)
{
    settings *s = memory;
    firn_sim_def_preset(s->preset == PRESET_PAPER ? "paper" : "default", &s->def, NULL);
}

// The core knows what does not fit together; a simulation without snow costs next to nothing.
static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    firn_sim *sim = NULL;
    firn_result result = firn_sim_create(&s->def, &sim, error);
    firn_sim_destroy(sim);
    return result;
}

static void machine(const void *memory, char *name)
{
    firn_sim_def def = firn_sim_def_default();
    firn_sim *sim = NULL;
    def.isa = ((const settings *)memory)->def.isa;
    if (firn_sim_create(&def, &sim, NULL) == FIRN_OK)
        snprintf(name, 32, "%s", firn_sim_isa(sim));
    firn_sim_destroy(sim);
}

static void release(void *memory)
{
    state *own = memory;
    firn_sim_destroy(own->sim);
    firn_point_file_close(&own->file);
    firn_free(own->forces);
    firn_solver_solids_free(&own->solids);
    firn_free(own->sources);
    firn_free(own->materials);
    for (int i = 0; i < own->channel_count && own->copies != NULL; i++)
        firn_free(own->copies[i]);
    firn_free(own->copies);
    firn_free(own->columns);
}

// --- Building the simulation ---------------------------------------------------------------------

// What any source gives all particles have.
static firn_result add_channels(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    for (size_t i = 0; i < firn_cook_input_count(cook, "sources"); i++) {
        const firn_source_data *source = firn_cook_input(cook, "sources", i)->source;
        for (size_t k = 0; k < source->channel_count; k++) {
            firn_result added = firn_sim_add_channel(own->sim, &source->channels[k], error);
            FIRN_TRY(firn_cook_blame(cook, "sources", i, added));
        }
    }
    return FIRN_OK;
}

static firn_result add_sources(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    size_t count = firn_cook_input_count(cook, "sources");
    own->sources = firn_alloc_zero((count + 1) * sizeof *own->sources);
    own->materials = firn_alloc_zero((count + 1) * sizeof *own->materials);
    if (own->sources == NULL || own->materials == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot add the sources");
    FIRN_TRY(firn_solver_materials_begin(cook, &s->def, own->sim, own->materials, error));
    FIRN_TRY(add_channels(cook, error));
    for (size_t i = 0; i < count; i++) {
        const firn_source_data *source = firn_cook_input(cook, "sources", i)->source;
        firn_source_def def = source->def;
        FIRN_TRY(firn_solver_materials_add(cook, &s->def, own->sim, i, own->materials, error));
        def.material = own->materials[source->material != NULL ? i : count].own;
        firn_result added = firn_sim_add_source(own->sim, &def, &own->sources[i], error);
        FIRN_TRY(firn_cook_blame(cook, "sources", i, added));
    }
    return FIRN_OK;
}

// The air that flakes fall through is still, unless a wind is linked. One source speaks for all.
static firn_result add_air(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    if (firn_cook_input_count(cook, "forces") > 0)
        return FIRN_OK;
    for (size_t i = 0; i < firn_cook_input_count(cook, "sources"); i++) {
        const firn_source_data *source = firn_cook_input(cook, "sources", i)->source;
        if (!(source->fall_speed > 0.0f))
            continue;
        firn_force_def air = firn_force_def_drag(firn_vec(0.0f, 0.0f, 0.0f), source->fall_speed);
        air.fall_spread = source->fall_spread;
        air.flutter = source->flutter;
        const firn_material_def *material =
            source->material != NULL ? source->material : firn_solver_common(cook);
        if (material != NULL)
            air.density = material->density;
        return firn_sim_add_force(own->sim, &air, NULL, error);
    }
    return FIRN_OK;
}

// Simulated time is zero at the first frame.
static double time_of(const firn_cook *cook, double frame)
{
    return (frame - cook->start_frame) / cook->fps;
}

// Values with keys are those in the middle of the interval that ends with the frame.
static firn_result apply_own_keys(const firn_cook *cook, firn_error *error)
{
    if (!firn_cook_is_animated(cook, ANIMATED))
        return FIRN_OK;
    settings now;
    FIRN_TRY(firn_cook_evaluate(cook, cook->frame - 0.5, &now, error));
    return firn_sim_change(((state *)cook->state)->sim, &now.def, error);
}

static firn_result apply_keys(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    FIRN_TRY(apply_own_keys(cook, error));
    FIRN_TRY(firn_solver_materials_change(cook, own->sim, own->materials, error));
    for (size_t i = 0; i < firn_cook_input_count(cook, "sources"); i++) {
        const firn_source_data *source = firn_cook_input(cook, "sources", i)->source;
        FIRN_TRY(firn_sim_change_source(own->sim, own->sources[i], &source->def, error));
    }
    FIRN_TRY(firn_solver_solids_change(&own->solids, cook, own->sim, error));
    return firn_force_links_change(cook, own->sim, own->forces, error);
}

static firn_result surround(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    FIRN_TRY(add_air(cook, error));
    size_t room = STAT_COUNT + (firn_cook_exchange(cook) != NULL ? FIRN_RANK_STAT_COUNT : 0);
    FIRN_TRY(firn_solver_solids_add(&own->solids, cook, own->sim, room, error));
    return firn_force_links_add(cook, own->sim, &own->forces, error);
}

static firn_result build(const firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    firn_result result = firn_solver_create(cook, &s->def, &own->sim, error);
    FIRN_TRY(firn_cook_agree(cook, result, error));
    firn_sim_set_origin(own->sim, cook->hash);
    FIRN_TRY(add_sources(cook, error));
    FIRN_TRY(firn_cook_agree(cook, surround(cook, error), error));
    own->frame = cook->frame;
    if (cook->restore == NULL)
        return FIRN_OK;
    // With the values of the frame that was saved, those of the next are seen to be different.
    FIRN_TRY(firn_cook_agree(cook, apply_own_keys(cook, error), error));
    FIRN_TRY(firn_sim_scatter_load(own->sim, cook->restore, error));
    double apart = (firn_sim_time(own->sim) - time_of(cook, cook->frame)) * cook->fps;
    if (!(fabs(apart) < 0.01))
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "'%.700s' is not of frame %d, but %.3g frames away from it", cook->restore,
                         cook->frame, apart);
    return FIRN_OK;
}

// --- Advancing it --------------------------------------------------------------------------------

static void collect_stats(state *own)
{
    firn_step_stats now = firn_sim_stats(own->sim);
    const firn_stat stats[STAT_COUNT] = {
        {"particles", (double)own->particle_count},
        {"flying", (double)now.flying},
        {"settled", (double)now.settled},
        {"asleep", (double)now.asleep},
        {"time", firn_sim_time(own->sim)},
        {"substeps", own->substeps_before < 0 ? 0.0 : (double)(now.substep - own->substeps_before)},
        {"dt", now.dt},
        {"implicit", now.integrator == FIRN_INTEGRATOR_IMPLICIT ? 1.0 : 0.0},
        {"explicit_cost", now.explicit_cost},
        {"implicit_cost", now.implicit_cost},
        {"iterations", own->iterations},
        {"rejected", own->rejected},
        {"kinetic", now.kinetic},
        {"elastic", now.elastic},
        {"potential", now.potential},
        {"max_speed", now.max_speed},
        {"mean_jp", now.mean_jp},
        {"min_jp", now.min_jp},
        {"bytes", (double)now.bytes},
        {"seconds", firn_seconds() - own->begun},
    };
    memcpy(own->solids.stats, stats, sizeof stats);
}

static bool on_substep(const firn_step_stats *stats, void *user)
{
    state *own = user;
    // After a restore only the first substep tells the number of those before it.
    if (own->substeps_before < 0)
        own->substeps_before = stats->substep - 1;
    own->particle_count = stats->particles;
    own->iterations += stats->iterations;
    own->rejected += stats->rejected;
    collect_stats(own);
    return firn_cook_progress(own->cook, stats->progress, own->solids.stats, STAT_COUNT);
}

static firn_result prepare(firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    if (cook->keep)
        FIRN_TRY(firn_sim_mark(own->sim, error));
    FIRN_TRY(apply_keys(cook, error));
    return firn_solver_solids_move(&own->solids, cook, own->sim, error);
}

static firn_result advance(firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    FIRN_TRY(firn_cook_agree(cook, prepare(cook, error), error));
    firn_sim_set_progress(own->sim, on_substep, own);
    double seconds = time_of(cook, cook->frame) - firn_sim_time(own->sim);
    firn_result result = firn_sim_step(own->sim, seconds, error);
    firn_sim_set_progress(own->sim, NULL, NULL);
    if (result == FIRN_OK)
        own->frame = cook->frame;
    // The state before the frame, from which it comes out the same, can be saved.
    own->stopped = result != FIRN_OK && firn_sim_restore(own->sim, NULL) != FIRN_OK;
    return result;
}

// --- What comes out ------------------------------------------------------------------------------

static void release_copies(state *own)
{
    for (int i = 0; i < own->channel_count && own->copies != NULL; i++) {
        firn_free(own->copies[i]);
        own->copies[i] = NULL;
    }
}

// The columns and their copies are as many as there are channels, published or not.
static firn_result claim_columns(state *own, size_t count, firn_error *error)
{
    if (own->columns == NULL) {
        own->channel_count = firn_sim_channel_count(own->sim);
        own->columns = firn_alloc_zero((size_t)own->channel_count * sizeof *own->columns);
        own->copies = firn_alloc_zero((size_t)own->channel_count * sizeof *own->copies);
        if (own->columns == NULL || own->copies == NULL)
            return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the channels");
    }
    if (count <= own->capacity)
        return FIRN_OK;
    release_copies(own);
    own->capacity = count + count / 4 + 1;
    return FIRN_OK;
}

static firn_result read_channel(state *own, int index, size_t count, firn_error *error)
{
    const firn_channel *channel = firn_sim_channel(own->sim, index);
    size_t size = (size_t)channel->components * firn_channel_type_size(channel->type);
    if (own->copies[index] == NULL)
        own->copies[index] = firn_alloc(own->capacity * size);
    if (own->copies[index] == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read %s of %zu particles",
                         channel->name, count);
    return firn_sim_read(own->sim, index, 0, count, own->copies[index], error);
}

static bool is_published(const settings *s, const firn_sim *sim, int index)
{
    unsigned use = firn_sim_channel(sim, index)->use;
    return (use & FIRN_CHANNEL_PUBLISHED) != 0 && firn_sim_has_channel(sim, index) &&
           ((use & FIRN_CHANNEL_ON_DEMAND) == 0 || s->deformation);
}

// Where there are other ranks: what is published of all particles, for the first rank.
static firn_result gather(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    size_t columns = 0;
    FIRN_TRY(firn_sim_gather_count(own->sim, &own->particle_count, error));
    FIRN_TRY(firn_cook_agree(cook, claim_columns(own, 0, error), error));
    for (int i = 0; i < own->channel_count; i++) {
        if (!is_published(s, own->sim, i))
            continue;
        FIRN_TRY(
            firn_solver_gather(cook, own->sim, i, own->particle_count, &own->copies[i], error));
        own->columns[columns++] =
            firn_channel_column(firn_sim_channel(own->sim, i), own->copies[i]);
    }
    own->data.points =
        (firn_points){.count = firn_cook_exchange(cook)->rank == 0 ? own->particle_count : 0,
                      .attributes = own->columns,
                      .attribute_count = columns};
    return FIRN_OK;
}

// The particles as they are, and copies of what the simulation keeps in another form.
static firn_result view(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    size_t count = firn_sim_particle_count(own->sim), columns = 0;
    own->particle_count = count;
    FIRN_TRY(claim_columns(own, count, error));
    for (int i = 0; i < own->channel_count; i++) {
        if (!is_published(s, own->sim, i))
            continue;
        const void *values = firn_sim_values(own->sim, i);
        if (values == NULL && count > 0) {
            FIRN_TRY(read_channel(own, i, count, error));
            values = own->copies[i];
        }
        own->columns[columns++] = firn_channel_column(firn_sim_channel(own->sim, i), values);
    }
    own->data.points =
        (firn_points){.count = count, .attributes = own->columns, .attribute_count = columns};
    return FIRN_OK;
}

static firn_result publish(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    const bool shared = firn_cook_exchange(cook) != NULL;
    FIRN_TRY(shared ? gather(cook, error) : view(cook, error));
    if (shared)
        FIRN_TRY(firn_solver_account(cook, own->sim, &own->account, own->solids.stats + STAT_COUNT,
                                     error));
    own->data.cell_size = s->def.cell_size;
    collect_stats(own);
    FIRN_TRY(firn_solver_solids_publish(&own->solids, cook, own->sim, error));
    own->data.bodies = own->solids.poses;
    own->data.body_count = own->solids.pose_count;
    cook->output->particles = &own->data;
    cook->output->stats = own->solids.stats;
    cook->output->stat_count = own->solids.stat_count;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    own->cook = cook;
    own->iterations = own->rejected = 0.0;
    own->substeps_before = -1;
    own->begun = firn_seconds();
    if (firn_cook_exchange(cook) != NULL)
        release_copies(own); // the memory of a frame that is written is there for the next
    firn_solver_begin_account(own->sim, &own->account);
    FIRN_TRY(own->sim == NULL ? build(cook, error) : advance(cook, error));
    return publish(cook, error);
}

static firn_result save(void *memory, const char *path, int *frame, firn_error *error)
{
    state *own = memory;
    if (own->sim == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "there is no simulation to save yet");
    *frame = own->frame;
    if (own->stopped)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the frame before the stop was not kept");
    return firn_sim_gather_save(own->sim, path, error);
}

// Particles as a write node left them. Nodes behind take what is checked here.
static firn_result replay(firn_cook *cook, const char *path, firn_error *error)
{
    static const char *const needed[] = {"P", "v", "mass", "Jp", "id", "pscale", "F"};
    const settings *s = cook->settings;
    state *own = cook->state;
    if (firn_solver_has_bodies(cook))
        return firn_fail(error, FIRN_ERR_UNSUPPORTED, "'%.700s' has no bodies", path);
    FIRN_TRY(firn_point_file_read(&own->file, path, "", cook->frame / cook->fps, error));
    const size_t count = s->deformation ? FIRN_COUNT(needed) : FIRN_COUNT(needed) - 1;
    for (size_t i = 0; i < count; i++)
        if (firn_points_find(&own->file.points, needed[i]) == NULL)
            return firn_fail(error, FIRN_ERR_UNSUPPORTED, "'%.700s' has no %s", path, needed[i]);
    own->data.points = own->file.points;
    own->data.cell_size = s->def.cell_size;
    cook->output->particles = &own->data;
    return FIRN_OK;
}

static const firn_node_input inputs[] = {
    {"sources", FIRN_KIND_SOURCE, true, true, "Where snow comes from"},
    {"colliders", FIRN_KIND_COLLIDER, true, false, "What it meets, bodies among them"},
    {"material", FIRN_KIND_MATERIAL, false, false, "Snow of the sources that have no material"},
    {"forces", FIRN_KIND_FORCE, true, false, "What acts on it from afar: wind"},
    {"joints", FIRN_KIND_JOINT, true, false, "What holds bodies together"},
};

const firn_node_type firn_node_solver = {
    .size = sizeof(firn_node_type),
    .name = "solver",
    .label = "Snow solver",
    .category = "Simulation",
    .help = "Simulates the snow of its sources among its colliders, frame after frame.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = ANIMATED,
    .neutral = "thread_count memory_limit isa checkpoint_frames checkpoint_minutes checkpoint_keep",
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_PARTICLES,
    .sequential = true,
    .reset = reset,
    .preset = preset,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
    .save = save,
    .replay = replay,
    .machine = machine,
    .shared = true,
};
