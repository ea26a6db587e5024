#include "solver_ranks.h"

#include <math.h>

firn_result firn_solver_create(const firn_cook *cook, const firn_sim_def *def, firn_sim **sim,
                               firn_error *error)
{
    const firn_exchange *exchange = firn_cook_exchange(cook);
    if (exchange == NULL)
        return firn_sim_create(def, sim, error);
    return firn_sim_create_shared(def, exchange, sim, error);
}

static firn_result claim(const firn_channel *channel, size_t count, void **values,
                         firn_error *error)
{
    size_t size = (size_t)channel->components * firn_channel_type_size(channel->type);
    *values = firn_alloc(size * count + 1);
    if (*values == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot gather %s of %zu particles",
                         channel->name, count);
    return FIRN_OK;
}

firn_result firn_solver_gather(const firn_cook *cook, firn_sim *sim, int channel, size_t count,
                               void **values, firn_error *error)
{
    firn_result result = FIRN_OK;
    if (firn_cook_exchange(cook)->rank == 0)
        result = claim(firn_sim_channel(sim, channel), count, values, error);
    FIRN_TRY(firn_cook_agree(cook, result, error));
    return firn_sim_gather(sim, channel, *values, error);
}

void firn_solver_begin_account(const firn_sim *sim, firn_rank_account *account)
{
    firn_rank_stats now = {0};
    if (sim != NULL)
        now = firn_sim_rank_stats(sim);
    *account = (firn_rank_account){firn_seconds(), now.waited, (double)now.sent};
}

/// What the ranks have done in a frame.
typedef struct totals {
    double busy, most_busy, waited, sent, most_bytes;
} totals;

static void add_totals(void *state, void *context)
{
    totals *all = state;
    const totals *own = context;
    all->busy += own->busy;
    all->most_busy = fmax(all->most_busy, own->busy);
    all->waited += own->waited;
    all->sent += own->sent;
    all->most_bytes = fmax(all->most_bytes, own->most_bytes);
}

firn_result firn_solver_account(const firn_cook *cook, const firn_sim *sim,
                                const firn_rank_account *account, firn_stat *stats,
                                firn_error *error)
{
    const firn_exchange *exchange = firn_cook_exchange(cook);
    const double count = exchange->rank_count;
    firn_rank_stats now = firn_sim_rank_stats(sim);
    double waited = now.waited - account->waited;
    totals all = {0}, own = {.busy = firn_seconds() - account->begun - waited,
                             .waited = waited,
                             .sent = (double)now.sent - account->sent,
                             .most_bytes = (double)firn_sim_stats(sim).bytes};
    if (!exchange->fold(exchange->user, &all, sizeof all, add_totals, &own))
        return firn_cook_agree(cook, FIRN_OK, error); // says that they are lost
    const firn_stat filled[FIRN_RANK_STAT_COUNT] = {
        {"ranks", count},
        {"rank_seconds", all.busy / count},
        {"rank_seconds_most", all.most_busy},
        {"rank_waited", all.waited / count},
        {"rank_sent", all.sent},
        {"rank_bytes", all.most_bytes},
    };
    for (int i = 0; i < FIRN_RANK_STAT_COUNT; i++)
        stats[i] = filled[i];
    return FIRN_OK;
}
