/// One simulation on several ranks, with the bits of one.
///
/// A rank owns the blocks whose keys lie in its interval; the intervals of all ranks follow each
/// other and fill the world. So the blocks of all ranks, one rank after the other, are the blocks
/// of one rank in their order, and so are the particles, which live with the owner of their block.
///
///     sort    cut       intervals of even work                           owners.c
///             migrate   particles whose new block is another rank's      migrate.c
///             gather    ghosts: blocks of other ranks near own ones      ghosts.c
///             link      shared node blocks, pieces of tiles              halo.c
///             keep      the warm start of the implicit solve             warm_start.c
///             ask       for node blocks that shield own ones             lee.c
///     every scatter           pieces of tiles are exchanged              firn_halo_end
///     every sum over blocks   goes through the ranks in their order      firn_owners_fold
///     every maximum           is exact in any order                      firn_owners_largest
///     sleeping                a byte of each block near other ranks      firn_ghosts_tell
///     every failure           is everybody's                             firn_owners_agree
///
/// Node blocks. A rank holds those that its particles reach, and those in its interval that any
/// particle reaches. What several ranks hold is shared, and complete with each of them: a block
/// that touches a shared node block sends that piece of its tile, as it is, to all who hold it.
/// Everyone adds the pieces in the order of the colors of the blocks they come from, as one rank
/// does, and gets the same bits; forces, contact and the vectors of the implicit solve are then
/// computed by each of them alike. If the owner alone added and sent velocities back, a scatter
/// would take two rounds of messages instead of one, and the solve more after each sweep; the price
/// is work on a few nodes that is done twice. Sums over node blocks are over those that a rank
/// owns.
///
/// What order makes the bits. Nodes: colors. Sums: blocks, by keys, hence ranks; a fold goes from
/// rank to rank because doubles are added one after the other, and takes a few bytes from each
/// where a gathering would bring all blocks to everyone. Particles: the sort is stable, and what
/// arrives stands where the block it comes from would (migrate.c). Lanes: groups in large blocks
/// end where a line does, which a rank counts from the first particle of all (firn_block.phase).
/// Maxima do not care. Since all this is by keys, intervals follow the keys; cutting along another
/// curve means that one rank, too, goes along that curve, and that its bits change.
///
/// New particles wait for the sort on all ranks: every rank emits all of them, so that their ids
/// and their order are those of one rank, and the sort drops those of other owners. Of a source
/// that fills at once each rank keeps but its own (fill.c).
///
/// Who waits for whom. All functions of the exchange are collective, and every rank comes by all of
/// them in the same order, since whatever decides on the way (extremes, sums, emission, results) is
/// equal everywhere. A substep without a sort takes: pieces once; extremes of particles and of
/// nodes; one sum for the statistics; one agreement for cancelling; with colliders two sums and two
/// agreements more; with sleeping one maximum; in the implicit step pieces and a sum for each
/// product and a sum for each sweep. Nothing is computed yet while pieces travel. For that, the
/// tiles of border blocks would be found first and kept whole, the exchange begun, and all blocks
/// run in their colors, those of the border adding what was kept; it ends before the shared nodes.
#include "owners.h"

#include "base/radix.h"

#include <string.h>

enum { RANK_LIMIT = 1 << 16 };

// Intervals are cut again when the one with most work has more than this share of the mean, and
// while nothing has been measured since the last cut, when one has that share of the particles.
#define IMBALANCE 1.1
#define CROWDED 1.5

// Work is measured for this long, the mean of all ranks, before it says something.
#define LEAST_WORK 0.05 // s

enum { UNIT = 256 }; // the weight of a particle of mean cost

static size_t rank_count(const firn_owners *owners) { return (size_t)owners->exchange.rank_count; }

firn_result firn_owners_open(firn_owners *owners, const firn_exchange *exchange,
                             firn_budget *budget, firn_error *error)
{
    if (exchange->size != sizeof *exchange || exchange->rank_count < 1 ||
        exchange->rank_count > RANK_LIMIT || exchange->rank < 0 ||
        exchange->rank >= exchange->rank_count)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the exchange says rank %d of %d and a size of %zu bytes; ranks go from 0 "
                         "to below their number of at most %d, and the size is %zu",
                         exchange->rank, exchange->rank_count, exchange->size, RANK_LIMIT,
                         sizeof *exchange);
    owners->exchange = *exchange;
    owners->budget = budget;
    if (!firn_owners_shared(owners))
        return FIRN_OK;
    size_t n = rank_count(owners);
    FIRN_TRY(firn_array_claim(budget, &owners->cuts, n - 1, sizeof(uint64_t), error));
    FIRN_TRY(firn_array_claim(budget, &owners->peers, n, sizeof(firn_peer), error));
    FIRN_TRY(firn_array_claim(budget, &owners->numbers, 2 * n, sizeof(uint64_t), error));
    FIRN_TRY(firn_array_claim(budget, &owners->parcels, 2 * n, sizeof(firn_parcel), error));
    FIRN_TRY(firn_array_claim(budget, &owners->counts, 2 * n, 2 * sizeof(size_t), error));
    // Until the first cut all is the first rank's.
    memset(owners->cuts.data, 0xff, (n - 1) * sizeof(uint64_t));
    memset(owners->peers.data, 0, n * sizeof(firn_peer));
    return FIRN_OK;
}

void firn_owners_free(firn_owners *owners)
{
    firn_array *arrays[] = {
        &owners->cuts,      &owners->peers,     &owners->numbers,  &owners->parcels,
        &owners->counts,    &owners->ghosts,    &owners->flags,    &owners->borders,
        &owners->shared,    &owners->pieces,    &owners->out,      &owners->places,
        &owners->shared_at, &owners->offsets,   &owners->tiles,    &owners->filled,
        &owners->lee_keys,  &owners->lee_nodes, &owners->lee_mass, &owners->lee_out,
        &owners->receive,   &owners->send,      &owners->scratch,  &owners->codes,
        &owners->order};
    for (size_t i = 0; owners->budget != NULL && i < FIRN_COUNT(arrays); i++)
        firn_array_free(owners->budget, arrays[i]);
}

int firn_owners_rank(const firn_owners *owners, uint64_t key)
{
    return firn_cuts_rank(owners->cuts.data, owners->exchange.rank_count, key);
}

int firn_cuts_rank(const uint64_t *cuts, int rank_count, uint64_t key)
{
    int low = 0, high = rank_count - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (cuts[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Keeps account of a call of the exchange that began at a time.
static void count_call(firn_owners *owners, double begun, size_t sent)
{
    owners->account.waited += firn_seconds() - begun;
    owners->account.sent += sent;
}

void firn_owners_largest(firn_owners *owners, double *values, int count)
{
    const firn_exchange *e = &owners->exchange;
    if (!firn_owners_shared(owners) || owners->lost)
        return;
    double begun = firn_seconds();
    owners->lost = !e->largest(e->user, values, count);
    count_call(owners, begun, (size_t)count * sizeof *values);
    owners->account.maxima++;
}

void firn_owners_fold(firn_owners *owners, void *state, size_t size, firn_fold *add, void *context)
{
    const firn_exchange *e = &owners->exchange;
    double begun = firn_owners_shared(owners) ? firn_seconds() : 0.0;
    if (!firn_owners_shared(owners)) {
        add(state, context);
    } else if (!owners->lost) {
        owners->lost = !e->fold(e->user, state, size, add, context);
        count_call(owners, begun, size);
        owners->account.folds++;
    }
}

static void add_number(void *state, void *context) { *(uint64_t *)state += *(uint64_t *)context; }

size_t firn_owners_sum(firn_owners *owners, size_t value)
{
    uint64_t sum = 0, own = value;
    firn_owners_fold(owners, &sum, sizeof sum, add_number, &own);
    return (size_t)sum;
}

bool firn_owners_any(firn_owners *owners, bool value)
{
    double any = value ? 1.0 : 0.0;
    firn_owners_largest(owners, &any, 1);
    return any > 0.0;
}

/// What has happened to a rank.
typedef struct outcome {
    firn_result result;
    char sentence[FIRN_MESSAGE_SIZE];
} outcome;

static void add_outcome(void *state, void *context)
{
    if (((outcome *)state)->result == FIRN_OK)
        memcpy(state, context, sizeof(outcome));
}

firn_result firn_owners_agree(firn_owners *owners, firn_result result, firn_error *error)
{
    if (!firn_owners_shared(owners))
        return result;
    bool failed = firn_owners_any(owners, result != FIRN_OK);
    if (owners->lost)
        return firn_fail(error, FIRN_ERR_IO,
                         "rank %d of %d lost the others; look at their messages, and start again "
                         "from the last checkpoint",
                         owners->exchange.rank, owners->exchange.rank_count);
    if (!failed)
        return FIRN_OK;
    outcome own = {.result = result}, all = {.result = FIRN_OK};
    if (result != FIRN_OK)
        memcpy(own.sentence, error != NULL ? error->message : firn_result_name(result),
               error != NULL ? sizeof own.sentence : strlen(firn_result_name(result)));
    firn_owners_fold(owners, &all, sizeof all, add_outcome, &own);
    return firn_fail(error, all.result, "%s", all.sentence);
}

void firn_owners_numbers(firn_owners *owners, const uint64_t *to, uint64_t *from)
{
    const firn_exchange *e = &owners->exchange;
    double begun = firn_seconds();
    if (!owners->lost)
        owners->lost = !e->numbers(e->user, to, from);
    count_call(owners, begun, (rank_count(owners) - 1) * sizeof *to);
    if (owners->lost)
        memset(from, 0, rank_count(owners) * sizeof *from);
}

void firn_owners_send(firn_owners *owners, const firn_parcel *send, const firn_parcel *receive)
{
    const firn_exchange *e = &owners->exchange;
    double begun = firn_seconds();
    size_t bytes = 0;
    if (!owners->lost)
        owners->lost = !e->begin(e->user, send, receive) || !e->end(e->user);
    for (size_t r = 0; r < rank_count(owners); r++)
        bytes += r != (size_t)e->rank ? send[r].bytes : 0;
    count_call(owners, begun, bytes);
    owners->account.parcels++;
    // What did not come counts as nothing until the failure is noticed.
    for (size_t r = 0; owners->lost && r < rank_count(owners); r++)
        if (receive[r].bytes > 0)
            memset(receive[r].data, 0, receive[r].bytes);
}

firn_parcel *firn_owners_parcels(const firn_owners *owners)
{
    firn_parcel *parcels = owners->parcels.data;
    memset(parcels, 0, 2 * rank_count(owners) * sizeof *parcels);
    return parcels;
}

/// Numbers of all ranks, and of those before this one.
typedef struct census {
    uint64_t particles, node_blocks, before;
} census;

static void add_census(void *state, void *context)
{
    census *all = state, *own = context;
    own->before = all->particles;
    all->particles += own->particles;
    all->node_blocks += own->node_blocks;
}

void firn_owners_count(firn_owners *owners, const firn_grid *grid, size_t particles)
{
    if (!firn_owners_shared(owners))
        return;
    census all = {0}, own = {.particles = particles,
                             .node_blocks = owners->end_node_block - owners->first_node_block};
    firn_owners_fold(owners, &all, sizeof all, add_census, &own);
    owners->particle_count = (size_t)all.particles;
    owners->node_block_count = (size_t)all.node_blocks;
    firn_block *blocks = firn_grid_blocks(grid);
    for (size_t b = 0; b < grid->block_count; b++)
        blocks[b].phase = (uint8_t)(own.before % FIRN_LINE);
}

/// Work by block while the world is cut.
typedef struct weights {
    const firn_owners *owners;
    const firn_grid *grid;
    const uint64_t *fresh; // keys of new particles that are this rank's, in order
    size_t fresh_count;
    uint64_t particle;               // weight of one that is there
    uint64_t before, own, all, most; // of lower ranks, of this one, of all, of one rank
} weights;

typedef struct load {
    uint64_t sum, most;
} load;

static void add_load(void *state, void *context)
{
    load *l = state;
    weights *w = context;
    w->before = l->sum;
    l->sum += w->own;
    l->most = w->own > l->most ? w->own : l->most;
}

// A rank finds the cuts that fall among its own particles: rank r begins with the block where the
// share all * r / rank_count of the work is reached.
static void add_cuts(void *state, void *context)
{
    const weights *w = context;
    uint64_t *cuts = state, at = w->before;
    uint64_t ranks = rank_count(w->owners), r = 1;
    const firn_block *blocks = firn_grid_blocks(w->grid);
    size_t b = 0, f = 0;
    while (r < ranks && w->all * r / ranks < at)
        r++;
    while (r < ranks && (b < w->grid->block_count || f < w->fresh_count)) {
        uint64_t key = b < w->grid->block_count ? firn_block_key(blocks[b].coord) : UINT64_MAX;
        if (f < w->fresh_count && w->fresh[f] < key) {
            key = w->fresh[f++];
            at += UNIT;
        } else {
            at += w->particle * (blocks[b].end - blocks[b].begin);
            b++;
        }
        while (r < ranks && w->all * r / ranks < at)
            cuts[r++ - 1] = key;
    }
}

static size_t count_present(const firn_grid *grid)
{
    const firn_block *blocks = firn_grid_blocks(grid);
    size_t count = 0;
    for (size_t b = 0; b < grid->block_count; b++)
        count += blocks[b].end - blocks[b].begin;
    return count;
}

void firn_owners_start_clock(firn_owners *owners)
{
    if (firn_owners_shared(owners))
        owners->clock = firn_seconds() - owners->account.waited;
}

void firn_owners_stop_clock(firn_owners *owners)
{
    if (owners->clock != 0.0)
        owners->busy += firn_seconds() - owners->account.waited - owners->clock;
    owners->clock = 0.0;
}

/// The work of all ranks since it was last measured.
typedef struct work {
    double busy, particles;
} work;

static void add_work(void *state, void *context)
{
    work *all = state;
    const work *own = context;
    all->busy += own->busy;
    all->particles += own->particles;
}

// What a particle costs here, compared with the mean: snow that sleeps, or a slow machine.
static void measure_cost(firn_owners *owners, size_t particles)
{
    firn_owners_stop_clock(owners);
    work all = {0.0, 0.0}, own = {owners->busy, (double)particles};
    firn_owners_fold(owners, &all, sizeof all, add_work, &own);
    firn_owners_start_clock(owners);
    if (all.busy < LEAST_WORK * (double)rank_count(owners))
        return;
    double cost = particles > 0 ? own.busy / own.particles * all.particles / all.busy : 1.0;
    cost = cost < 0.1 ? 0.1 : cost > 10.0 ? 10.0 : cost;
    owners->cost = owners->cost > 0.0 ? 0.5 * (owners->cost + cost) : cost;
    owners->busy = 0.0;
}

// Keys of the new particles in the own interval, in order.
static firn_result sort_fresh(firn_owners *owners, weights *w, const uint64_t *new_keys,
                              size_t new_count, int thread_count, firn_error *error)
{
    FIRN_TRY(firn_array_claim(owners->budget, &owners->scratch, 2 * new_count + 1, sizeof(uint64_t),
                              error));
    uint64_t *keys = owners->scratch.data;
    size_t count = 0;
    for (size_t i = 0; i < new_count; i++)
        if (firn_owners_own(owners, new_keys[i]))
            keys[count++] = new_keys[i];
    w->fresh = firn_radix_sort(keys, keys + count, count, (firn_bit_range){0, 63}, thread_count);
    w->fresh_count = count;
    return FIRN_OK;
}

firn_result firn_owners_cut(firn_owners *owners, const firn_grid *grid, const uint64_t *new_keys,
                            size_t new_count, bool scattered, int thread_count, firn_error *error)
{
    if (owners->fixed)
        return FIRN_OK;
    if (owners->scattered_end > 0 && firn_owners_any(owners, scattered)) {
        memcpy(owners->cuts.data, owners->filled.data, (rank_count(owners) - 1) * sizeof(uint64_t));
        return FIRN_OK;
    }
    weights w = {.owners = owners, .grid = grid};
    firn_result result = sort_fresh(owners, &w, new_keys, new_count, thread_count, error);
    FIRN_TRY(firn_owners_agree(owners, result, error));
    const size_t present = count_present(grid);
    measure_cost(owners, present);
    const bool known = owners->cost > 0.0; // by all ranks or by none
    w.particle = known ? (uint64_t)(UNIT * owners->cost + 0.5) : UNIT;
    w.own = w.particle * present + UNIT * w.fresh_count;
    load all = {0, 0};
    firn_owners_fold(owners, &all, sizeof all, add_load, &w);
    w.all = all.sum;
    uint64_t *cuts = owners->cuts.data;
    const double limit = known ? IMBALANCE : CROWDED;
    if ((double)all.most * (double)rank_count(owners) > limit * (double)all.sum) {
        firn_owners_fold(owners, cuts, (rank_count(owners) - 1) * sizeof *cuts, add_cuts, &w);
        owners->account.cuts++;
        owners->cost = owners->busy = 0.0;
    }
    // After a retry blocks may be where earlier cuts have put them.
    for (size_t r = 1; r + 1 < rank_count(owners); r++)
        cuts[r] = cuts[r] > cuts[r - 1] ? cuts[r] : cuts[r - 1];
    firn_array_relax(owners->budget, &owners->scratch);
    return FIRN_OK;
}
