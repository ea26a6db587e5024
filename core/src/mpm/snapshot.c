/// One copy of the state in memory. A step goes back to it before it tries again; a host that has
/// marked the state goes back to it when a frame was given up. The arrays, which are nearly all of
/// it, are held once for both: `revision` tells whether they are still those of the simulation.
#include "snapshot.h"

#include "sim_state.h"

#include <string.h>

// Copies the arrays, unless that has been done.
static firn_result take_arrays(firn_sim *sim, firn_error *error)
{
    firn_snapshot *s = &sim->snapshot;
    if (s->revision == sim->revision)
        return FIRN_OK;
    s->revision = 0;
    firn_transfer_recover(sim);
    firn_state_scalars scalars = firn_state_scalars_of(sim);
    firn_state_list list = firn_state_arrays(sim, &scalars);
    const firn_state_array *sources = firn_state_find(&list, "sources");
    FIRN_TRY(firn_array_claim(&sim->budget, &s->bytes, sources->offset + 1, 1, error));
    for (const firn_state_array *a = list.array; a < sources; a++) {
        char *to = (char *)s->bytes.data + a->offset;
        if (a->pack == NULL)
            firn_copy(to, a->live, firn_state_bytes(a), sim->thread_count);
        for (size_t i = 0; a->pack != NULL && i < a->count; i++)
            a->pack(sim, i, to + i * a->element);
    }
    s->new_count = scalars.count - scalars.sorted_count;
    s->revision = sim->revision;
    return FIRN_OK;
}

static firn_result take(firn_sim *sim, firn_moment *moment, firn_error *error)
{
    size_t count = (size_t)sim->emission.source_count;
    FIRN_TRY(firn_array_claim(&sim->budget, &moment->sources, count, sizeof(firn_source), error));
    FIRN_TRY(take_arrays(sim, error));
    if (count > 0)
        memcpy(moment->sources.data, sim->emission.sources.data, count * sizeof(firn_source));
    moment->scalars = firn_state_scalars_of(sim);
    return FIRN_OK;
}

// Every array is at least as large as when the snapshot was taken, so this cannot fail.
static void bring_back(firn_sim *sim, const firn_moment *moment)
{
    const firn_snapshot *s = &sim->snapshot;
    FIRN_ASSERT(s->revision != 0);
    firn_state_list list = firn_state_arrays(sim, &moment->scalars);
    const firn_state_array *sources = firn_state_find(&list, "sources");
    for (const firn_state_array *a = list.array; a < sources; a++)
        firn_state_read(sim, a, (const char *)s->bytes.data + a->offset);
    if (sim->emission.source_count > 0)
        memcpy(sim->emission.sources.data, moment->sources.data,
               (size_t)sim->emission.source_count * sizeof(firn_source));
    firn_state_put_scalars(sim, &moment->scalars);
    firn_state_settle(sim);
    sim->revision = s->revision;
}

firn_result firn_snapshot_begin(firn_sim *sim, firn_error *error)
{
    firn_snapshot *s = &sim->snapshot;
    s->marked = s->marked && s->revision == sim->revision;
    if (sim->def.retries > 0)
        FIRN_TRY(take(sim, &s->start, error));
    else if (!s->marked)
        s->revision = 0; // nobody goes back
    return FIRN_OK;
}

void firn_snapshot_undo(firn_sim *sim) { bring_back(sim, &sim->snapshot.start); }

void firn_snapshot_void(firn_sim *sim)
{
    sim->revision++;
    sim->snapshot.marked = false;
}

bool firn_snapshot_has_new(const firn_sim *sim)
{
    return sim->snapshot.revision != 0 && sim->snapshot.new_count > 0;
}

void firn_snapshot_free(firn_sim *sim)
{
    firn_array_free(&sim->budget, &sim->snapshot.bytes);
    firn_array_free(&sim->budget, &sim->snapshot.start.sources);
    firn_array_free(&sim->budget, &sim->snapshot.mark.sources);
}

firn_result firn_sim_mark(firn_sim *sim, firn_error *error)
{
    sim->snapshot.marked = false;
    FIRN_TRY(take(sim, &sim->snapshot.mark, error));
    sim->snapshot.marked = true;
    return FIRN_OK;
}

firn_result firn_sim_restore(firn_sim *sim, firn_error *error)
{
    if (!sim->snapshot.marked)
        return firn_fail(
            error, FIRN_ERR_ARGUMENT,
            "there is no mark to go back to; call firn_sim_mark right before the step, "
            "and neither add nor remove a source nor load a checkpoint after it");
    bring_back(sim, &sim->snapshot.mark);
    return FIRN_OK;
}
