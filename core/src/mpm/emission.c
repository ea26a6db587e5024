/// From the seeds of a source to particles that wait for the next sort, or to grains outside the
/// grid.
#include "models/enthalpy.h"
#include "sim_state.h"

#include <math.h>
#include <string.h>

/// Where the new ones of a source go: behind the particles that wait for the sort, or the grains.
typedef struct arrivals {
    firn_sim *sim;
    const firn_source *source;
    bool flying;
    uint64_t *keys;
    uint8_t *material;
} arrivals;

// The first new value of a column; NULL: grains do not have it.
static float *fresh(const arrivals *to, int column)
{
    const firn_particles *particles = &to->sim->particles;
    if (!to->flying)
        return firn_channel_of(particles, column) + particles->count;
    int own = firn_store_column_of(&particles->channels, column);
    return own >= 0 ? firn_store_at(&to->sim->store, own) + to->sim->store.count : NULL;
}

uint64_t firn_sim_key(const firn_sim *sim, firn_vec3 position, float u[3])
{
    double h = sim->def.cell_size, shift = firn_grid_shift(&sim->grid);
    const double x[3] = {position.x, position.y, position.z};
    int32_t block[3];
    for (int axis = 0; axis < 3; axis++) {
        double cells = x[axis] / h - shift;
        // Far beyond the domain the number only has to be harmless: it is going to be removed.
        block[axis] = (int32_t)fmin(fmax(floor(0.25 * cells), -1e6), 1e6);
        u[axis] = (float)(cells - 4.0 * block[axis]);
        // Just below the end of a block it may round to the beginning of the next.
        if (u[axis] == 4.0f) {
            block[axis]++;
            u[axis] = 0.0f;
        }
    }
    return firn_block_key((firn_coord){block[0], block[1], block[2]});
}

static void place(const arrivals *to, firn_vec3 position, size_t i)
{
    float u[3];
    to->keys[i] = firn_sim_key(to->sim, position, u);
    for (int axis = 0; axis < 3; axis++)
        fresh(to, FIRN_U + axis)[i] = u[axis];
}

// Column k of a row: what the seeds say, or the initial value.
static void append_column(const arrivals *to, int row, int k)
{
    const firn_channel_set *channels = &to->sim->particles.channels;
    const firn_seeds *seeds = &to->sim->emission.seeds;
    int column = channels->column[row] + k;
    float *values = fresh(to, column);
    if (values == NULL)
        return;
    bool from_grid = column == FIRN_VOLUME && to->sim->def.volume == FIRN_VOLUME_GRID;
    if (firn_seeds_have(channels, row) && !from_grid) {
        memcpy(values, seeds->column[column].data, seeds->count * sizeof(float));
        return;
    }
    float initial = firn_channel_initial(firn_channel_set_row(channels, row), k);
    for (size_t i = 0; i < seeds->count; i++)
        values[i] = initial;
}

static void append_columns(const arrivals *to)
{
    const firn_channel_set *channels = &to->sim->particles.channels;
#pragma omp parallel for schedule(dynamic) num_threads(to->sim->thread_count)
    for (int row = 0; row < channels->row_count; row++)
        for (int k = 0; k < firn_channel_set_row(channels, row)->components; k++)
            if (channels->column[row] >= 0)
                append_column(to, row, k);
}

bool firn_flight_takes(const firn_sim *sim, const firn_source *source)
{
    return source->def.snowfall > 0.0f && sim->def.free_flight != FIRN_FLIGHT_OFF &&
           sim->materials.model[source->material] != FIRN_MODEL_ELASTIC;
}

firn_result firn_flight_check(const firn_sim *sim, const firn_source *source, firn_error *error)
{
    if (!firn_owners_shared(&sim->owners) || !firn_flight_takes(sim, source))
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                     "solver.free_flight: flakes that fly outside the grid belong to no rank; set "
                     "it to off, or simulate on one rank");
}

// Finds what a source emits, and memory for it.
static firn_result make_seeds(firn_sim *sim, firn_source *source, firn_error *error)
{
    float g = firn_length(sim->def.gravity);
    firn_seeding seeding = {
        .cell_size = sim->def.cell_size,
        .density = sim->materials.density[source->material],
        .up = g > 0.0f ? firn_scale(-1.0f / g, sim->def.gravity) : sim->def.gravity,
        .thread_count = sim->thread_count,
    };
    firn_seeds *seeds = &sim->emission.seeds;
    FIRN_TRY(firn_fill_choose(sim, source, &seeding, error));
    FIRN_TRY(firn_source_emit(source, &seeding, sim->time, seeds, error));
    if (firn_flight_takes(sim, source))
        return firn_store_reserve(sim, sim->store.count + seeds->count, error);
    firn_particles *particles = &sim->particles;
    size_t waiting = particles->count - sim->order.sorted_count;
    FIRN_TRY(firn_particles_reserve(particles, particles->count + seeds->count, error));
    return firn_array_reserve(&sim->budget, &sim->emission.new_keys, waiting + seeds->count,
                              sizeof(uint64_t), error);
}

// From -1 to 1, for a flake.
static float share_of(const firn_source *source, uint32_t id, uint32_t stream)
{
    const uint32_t name[2] = {id, stream};
    uint64_t bits = firn_hash64(name, sizeof name, (uint64_t)source->def.seed);
    return (float)(bits >> 40) * 0x1p-23f - 1.0f;
}

// Flakes differ in size and density, each for itself.
static void vary(const arrivals *to, size_t i, uint32_t id)
{
    const firn_source_def *def = &to->source->def;
    if (!(def->snowfall > 0.0f) || !(def->size_spread + def->density_spread > 0.0f))
        return;
    float size = 1.0f + def->size_spread * share_of(to->source, id, 1);
    float dense = 1.0f + def->density_spread * share_of(to->source, id, 2);
    fresh(to, FIRN_MASS)[i] *= size * dense;
    fresh(to, FIRN_VOLUME)[i] *= size;
}

// What is warm is soft, see models/enthalpy.h.
static void warm(const arrivals *to, size_t i, bool flows)
{
    const firn_heat *heat = &to->sim->heat;
    float *liquid = fresh(to, heat->liquid) + i;
    if (flows && *liquid == 0.0f)
        *liquid = 1.0f;
    const firn_warmth warmth = {fresh(to, heat->temperature)[i], *liquid, 0.0f};
    fresh(to, FIRN_STIFFNESS)[i] *=
        firn_warm_stiffness(&to->sim->materials, to->source->material, warmth);
}

// All that is not a column of the seeds. Returns whether one has no volume yet.
static bool append_one(const arrivals *to, size_t i, uint32_t id)
{
    const firn_sim *sim = to->sim;
    const firn_source *source = to->source;
    const firn_seeds *seeds = &sim->emission.seeds;
    place(to, ((const firn_vec3 *)seeds->position.data)[i], i);
    const firn_model *model = firn_model_at(sim->materials.model[source->material]);
    // Other models begin with the volume that they have.
    if (!model->packs)
        fresh(to, FIRN_JP)[i] = 1.0f;
    // And liquids melted, unless the source says how far.
    if (sim->heat.flows)
        warm(to, i, model->flows);
    if (source->loose != source->material)
        fresh(to, FIRN_JP)[i] = FIRN_LOOSE_JP;
    ((uint32_t *)fresh(to, FIRN_ID))[i] = id;
    to->material[i] = ((const uint8_t *)seeds->bond.data)[i] ? source->bond : source->loose;
    vary(to, i, id);
    return fresh(to, FIRN_VOLUME)[i] <= 0.0f;
}

static arrivals arrivals_of(firn_sim *sim, const firn_source *source)
{
    firn_store *s = &sim->store;
    const firn_particles *particles = &sim->particles;
    size_t waiting = particles->count - sim->order.sorted_count;
    arrivals to = {.sim = sim, .source = source, .flying = firn_flight_takes(sim, source)};
    if (sim->emission.seeds.count == 0)
        return to; // of several ranks, others have some
    to.keys = to.flying ? (uint64_t *)s->key.data + s->count
                        : (uint64_t *)sim->emission.new_keys.data + waiting;
    to.material = to.flying ? (uint8_t *)s->material.data + s->count
                            : (uint8_t *)particles->material.data + particles->count;
    return to;
}

static void append_seeds(firn_sim *sim, const firn_source *source)
{
    const firn_seeds *seeds = &sim->emission.seeds;
    size_t count = seeds->count;
    firn_particles *particles = &sim->particles;
    firn_store *s = &sim->store;
    const uint32_t *numbers = seeds->wants != NULL ? seeds->number.data : NULL;
    const size_t total = seeds->wants != NULL ? seeds->total : count;
    if (total == 0)
        return;
    const arrivals to = arrivals_of(sim, source);
    if (count > 0)
        append_columns(&to);
    bool missing = false;
#pragma omp parallel for schedule(static) reduction(|| : missing) num_threads(sim->thread_count)
    for (size_t i = 0; i < count; i++) {
        uint32_t number = numbers != NULL ? numbers[i] : (uint32_t)i;
        missing = append_one(&to, i, particles->next_id + number) || missing;
    }
    particles->next_id += (uint32_t)total;
    if (to.flying) {
        if (count > 0) {
            memset((uint16_t *)s->seat.data + s->count, 0, count * sizeof(uint16_t));
            memset((float *)s->clearance.data + s->count, 0, count * sizeof(float));
        }
        s->count += count;
        return;
    }
    particles->count += count;
    if (seeds->wants != NULL) {
        missing = firn_owners_any(&sim->owners, missing);
        sim->owners.scattered_end = particles->next_id;
    }
    sim->volumes_missing |= missing;
    firn_order_void(&sim->order);
}

firn_result firn_flight_emit(firn_sim *sim, firn_error *error)
{
    firn_source *sources = sim->emission.sources.data;
    for (int i = 0; i < sim->emission.source_count; i++)
        if (sources[i].alive && firn_flight_takes(sim, &sources[i]))
            FIRN_TRY(firn_sim_emit(sim, &sources[i], FIRN_OK, error));
    return FIRN_OK;
}

firn_result firn_sim_emit(firn_sim *sim, firn_source *source, firn_result result, firn_error *error)
{
    const firn_source before = *source;
    bool finished = result == FIRN_OK && source->started && source->emitted >= source->def.end;
    if (result == FIRN_OK)
        result = make_seeds(sim, source, error);
    if (!finished)
        result = firn_owners_agree(&sim->owners, result, error);
    if (result == FIRN_OK)
        append_seeds(sim, source);
    else
        *source = before;
    firn_seeds_clear(&sim->emission.seeds);
    return result;
}
