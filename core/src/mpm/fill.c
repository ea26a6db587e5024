/// Sources that fill on several ranks: each keeps the seeds of its interval.
///
/// All ranks go through all seeds, so that ids and order are those of one rank, but hold a batch at
/// a time and their own. The first time it is done to see where the seeds are, from which the
/// intervals follow without a message; the second time to keep. Few seeds, such as those of a
/// stream, are kept by everybody until the sort, which needs no intervals.
#include "sim_state.h"

#include "base/radix.h"

#include <string.h>

enum {
    FEW = 1024,        // seeds that everybody keeps
    SAMPLES = 1 << 16, // keys that the intervals are found from
};

/// Keys of every so-manieth seed.
typedef struct sample {
    const firn_sim *sim;
    uint64_t *keys; // room for twice SAMPLES, the second half for sorting
    size_t count, step, next, seen;
} sample;

// Counts a seed. Where there are too many samples, half of them go.
static void look(void *user, firn_vec3 position)
{
    sample *s = user;
    float u[3];
    if (s->seen++ != s->next)
        return;
    if (s->count == SAMPLES) {
        for (size_t i = 0; 2 * i < SAMPLES; i++)
            s->keys[i] = s->keys[2 * i];
        s->count = SAMPLES / 2;
        s->step *= 2;
    }
    s->keys[s->count++] = firn_sim_key(s->sim, position, u);
    s->next += s->step;
}

static bool is_none(void *user, firn_vec3 position)
{
    (void)user, (void)position;
    return false;
}

static bool is_own(void *user, firn_vec3 position)
{
    const firn_sim *sim = user;
    const firn_exchange *e = &sim->owners.exchange;
    float u[3];
    return firn_cuts_rank(sim->owners.filled.data, e->rank_count, firn_sim_key(sim, position, u)) ==
           e->rank;
}

// Intervals with as many samples each.
static void cut(firn_sim *sim, const sample *s)
{
    uint64_t *cuts = sim->owners.cuts.data;
    size_t ranks = (size_t)sim->owners.exchange.rank_count;
    const uint64_t *keys = firn_radix_sort(s->keys, s->keys + SAMPLES, s->count,
                                           (firn_bit_range){0, 63}, sim->thread_count);
    for (size_t r = 1; r < ranks; r++)
        cuts[r - 1] = keys[s->count * r / ranks];
}

static firn_result look_through(firn_sim *sim, const firn_source *source,
                                const firn_seeding *seeding, sample *s, firn_error *error)
{
    firn_seeds *seeds = &sim->emission.seeds;
    firn_source once = *source; // its marks move
    seeds->wants = is_none;
    seeds->look = look;
    seeds->user = s;
    firn_result result = firn_source_emit(&once, seeding, sim->time, seeds, error);
    firn_seeds_clear(seeds);
    return result;
}

firn_result firn_fill_choose(firn_sim *sim, const firn_source *source, const firn_seeding *seeding,
                             firn_error *error)
{
    firn_owners *owners = &sim->owners;
    firn_seeds *seeds = &sim->emission.seeds;
    // Whoever chooses the integrator looks at all that waits, in its order (integrator.c).
    if (!firn_owners_shared(owners) || owners->fixed || source->started ||
        sim->time < source->def.start || sim->def.integrator == FIRN_INTEGRATOR_AUTO)
        return FIRN_OK;
    size_t cuts = (size_t)owners->exchange.rank_count - 1;
    sample s = {.sim = sim, .step = 1};
    FIRN_TRY(firn_array_reserve(owners->budget, &owners->filled, cuts, sizeof(uint64_t), error));
    s.keys = firn_alloc((size_t)2 * SAMPLES * sizeof *s.keys);
    if (s.keys == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot share the source");
    firn_result result = look_through(sim, source, seeding, &s, error);
    if (result == FIRN_OK && s.seen > FEW) {
        // Snow that is there stays where it is; what a retry may bring back, too.
        if (owners->particle_count == 0 && owners->scattered_end == 0)
            cut(sim, &s);
        if (owners->scattered_end == 0)
            memcpy(owners->filled.data, owners->cuts.data, cuts * sizeof(uint64_t));
        seeds->wants = is_own;
        seeds->user = sim;
    }
    firn_free(s.keys);
    return result;
}
