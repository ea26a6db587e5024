/// The acceleration of the last implicit solve, carried over to the node blocks of a new sort.
#include "sim_state.h"

#include <string.h>

enum { BYTES = FIRN_BLOCK_FLOATS * sizeof(float) };

/// What was known before the sort.
typedef struct memory {
    size_t count;
    firn_array keys;    // uint64 of each node block, rising
    firn_array changes; // of each node block, as in FIRN_NODE_CHANGE
    firn_array cuts;    // of the intervals of ranks
} memory;

static firn_result keep(firn_sim *sim, memory *old, firn_error *error)
{
    firn_grid *grid = &sim->grid;
    firn_budget *budget = &sim->budget;
    const firn_owners *owners = &sim->owners;
    size_t cuts = firn_owners_shared(owners) ? (size_t)owners->exchange.rank_count - 1 : 0;
    old->count = grid->node_block_count;
    FIRN_TRY(firn_array_claim(budget, &old->keys, old->count, sizeof(uint64_t), error));
    FIRN_TRY(firn_array_claim(budget, &old->changes, old->count, BYTES, error));
    FIRN_TRY(firn_array_claim(budget, &old->cuts, cuts, sizeof(uint64_t), error));
    const firn_coord *coords = grid->node_coord.data;
    for (size_t b = 0; b < old->count; b++)
        ((uint64_t *)old->keys.data)[b] = firn_block_key(coords[b]);
    if (old->count > 0)
        memcpy(old->changes.data, grid->field[FIRN_NODE_CHANGE].data, old->count * BYTES);
    if (cuts > 0)
        memcpy(old->cuts.data, owners->cuts.data, cuts * sizeof(uint64_t));
    return FIRN_OK;
}

static const void *find(const memory *old, uint64_t key)
{
    const uint64_t *keys = old->keys.data;
    size_t low = 0, high = old->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < old->count && keys[low] == key ? (const char *)old->changes.data + low * BYTES
                                                : NULL;
}

static void bring_back(firn_sim *sim, const memory *old)
{
    const firn_grid *grid = &sim->grid;
    const firn_coord *coords = grid->node_coord.data;
    for (size_t b = 0; b < grid->node_block_count; b++) {
        const void *change = find(old, firn_block_key(coords[b]));
        float *nodes = firn_grid_nodes(grid, FIRN_NODE_CHANGE, b);
        if (change != NULL)
            memcpy(nodes, change, BYTES);
        else
            memset(nodes, 0, BYTES);
    }
}

/// Node blocks that came from other ranks: whoever owned one before has known it, if anyone has.
typedef struct questions {
    const memory *old;
    firn_owners before; // only to ask who owned a key
    firn_array asked;   // uint64, keys; those for a rank together
    firn_array node;    // uint32, the node blocks that they are of
    firn_array got;     // uint64, keys that other ranks ask for
    firn_array answers, replies;
    size_t asked_count, got_count;
    firn_array begin; // size_t of each rank and one more: asked, then got
} questions;

static size_t rank_count(const firn_sim *sim) { return (size_t)sim->owners.exchange.rank_count; }

// The former owner of a node block that is not known here; -1 when nobody has to be asked.
static int whom_to_ask(const firn_sim *sim, const questions *q, size_t b)
{
    uint64_t key = firn_block_key(((const firn_coord *)sim->grid.node_coord.data)[b]);
    int owner = firn_owners_rank(&q->before, key);
    return owner == sim->owners.exchange.rank || find(q->old, key) != NULL ? -1 : owner;
}

static firn_result ask(firn_sim *sim, questions *q, firn_error *error)
{
    firn_budget *budget = &sim->budget;
    const firn_grid *grid = &sim->grid;
    size_t n = rank_count(sim), count = 0;
    FIRN_TRY(firn_array_claim(budget, &q->begin, 2 * (n + 1), sizeof(size_t), error));
    size_t *begin = q->begin.data;
    memset(begin, 0, 2 * (n + 1) * sizeof *begin);
    for (size_t b = 0; b < grid->node_block_count; b++) {
        int r = whom_to_ask(sim, q, b);
        if (r >= 0)
            begin[r + 1]++;
    }
    for (size_t r = 0; r < n; r++)
        begin[r + 1] += begin[r];
    count = q->asked_count = begin[n];
    FIRN_TRY(firn_array_claim(budget, &q->asked, count, sizeof(uint64_t), error));
    FIRN_TRY(firn_array_claim(budget, &q->node, count, sizeof(uint32_t), error));
    FIRN_TRY(firn_array_claim(budget, &q->answers, count, BYTES, error));
    for (size_t b = 0; b < grid->node_block_count; b++) {
        int r = whom_to_ask(sim, q, b);
        if (r < 0)
            continue;
        ((uint32_t *)q->node.data)[begin[r]] = (uint32_t)b;
        ((uint64_t *)q->asked.data)[begin[r]++] =
            firn_block_key(((const firn_coord *)grid->node_coord.data)[b]);
    }
    for (size_t r = n; r > 0; r--)
        begin[r] = begin[r - 1];
    begin[0] = 0;
    return FIRN_OK;
}

// Hears how much other ranks ask for.
static firn_result listen(firn_sim *sim, questions *q, firn_error *error)
{
    size_t n = rank_count(sim), *asked = q->begin.data, *got = asked + n + 1;
    uint64_t *to = sim->owners.numbers.data, *from = to + n;
    for (size_t r = 0; r < n; r++)
        to[r] = asked[r + 1] - asked[r];
    firn_owners_numbers(&sim->owners, to, from);
    for (size_t r = 0; r < n; r++)
        got[r + 1] = got[r] + (size_t)from[r];
    q->got_count = got[n];
    FIRN_TRY(firn_array_claim(&sim->budget, &q->got, q->got_count, sizeof(uint64_t), error));
    return firn_array_claim(&sim->budget, &q->replies, q->got_count, BYTES, error);
}

// Sends items of the first list by the ranks in begin, and receives those of the second.
static void send(firn_sim *sim, const firn_array *out, const size_t *out_begin,
                 const firn_array *in, const size_t *in_begin, size_t size)
{
    size_t n = rank_count(sim);
    firn_parcel *send = firn_owners_parcels(&sim->owners), *receive = send + n;
    for (size_t r = 0; r < n; r++) {
        if (out_begin[r + 1] > out_begin[r])
            send[r] = (firn_parcel){(char *)out->data + out_begin[r] * size,
                                    (out_begin[r + 1] - out_begin[r]) * size};
        if (in_begin[r + 1] > in_begin[r])
            receive[r] = (firn_parcel){(char *)in->data + in_begin[r] * size,
                                       (in_begin[r + 1] - in_begin[r]) * size};
    }
    firn_owners_send(&sim->owners, send, receive);
}

static firn_result ask_others(firn_sim *sim, questions *q, firn_error *error)
{
    FIRN_TRY(firn_owners_agree(&sim->owners, ask(sim, q, error), error));
    FIRN_TRY(firn_owners_agree(&sim->owners, listen(sim, q, error), error));
    const size_t *asked = q->begin.data, *got = asked + rank_count(sim) + 1;
    send(sim, &q->asked, asked, &q->got, got, sizeof(uint64_t));
    for (size_t i = 0; i < q->got_count; i++) {
        const void *change = find(q->old, ((const uint64_t *)q->got.data)[i]);
        char *reply = (char *)q->replies.data + i * BYTES;
        if (change != NULL)
            memcpy(reply, change, BYTES);
        else
            memset(reply, 0, BYTES);
    }
    send(sim, &q->replies, got, &q->answers, asked, BYTES);
    for (size_t i = 0; i < q->asked_count; i++)
        memcpy(firn_grid_nodes(&sim->grid, FIRN_NODE_CHANGE, ((const uint32_t *)q->node.data)[i]),
               (const char *)q->answers.data + i * BYTES, BYTES);
    return FIRN_OK;
}

static firn_result bring_back_shared(firn_sim *sim, const memory *old, firn_error *error)
{
    questions q = {.old = old, .before = {.exchange = sim->owners.exchange, .cuts = old->cuts}};
    firn_result result = ask_others(sim, &q, error);
    firn_array *arrays[] = {&q.asked, &q.node, &q.got, &q.answers, &q.replies, &q.begin};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(&sim->budget, arrays[i]);
    return result;
}

firn_result firn_implicit_sort(firn_sim *sim, firn_error *error)
{
    memory old = {0};
    firn_result result = sim->solve.warm ? keep(sim, &old, error) : FIRN_OK;
    result = firn_owners_agree(&sim->owners, result, error);
    if (result == FIRN_OK)
        result = firn_sim_sort(sim, error);
    if (result == FIRN_OK && sim->solve.warm) {
        bring_back(sim, &old);
        if (firn_owners_shared(&sim->owners))
            result = bring_back_shared(sim, &old, error);
    }
    firn_array_free(&sim->budget, &old.keys);
    firn_array_free(&sim->budget, &old.changes);
    firn_array_free(&sim->budget, &old.cuts);
    return result;
}
