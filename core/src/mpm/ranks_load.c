/// A checkpoint for several ranks: the first one reads it, checks it, and gives each its interval
/// of blocks, with about as many particles. What waits for a sort goes to everybody.
#include "checkpoint.h"
#include "sim_state.h"

#include "firn/file.h"

#include <string.h>

static size_t rank_count(const firn_sim *sim) { return (size_t)sim->owners.exchange.rank_count; }

static bool leads(const firn_sim *sim) { return sim->owners.exchange.rank == 0; }

/// A checkpoint that the first rank has read, on its way to all.
typedef struct loading {
    firn_sim *sim;
    unsigned char *bytes; // of the first rank
    const unsigned char *body;
    firn_checkpoint_header header; // of the whole
    firn_rank_range *blocks;       // of each rank, among the whole
    firn_rank_range *particles;
    firn_state_scalars scalars; // of this rank
} loading;

static firn_result read_file(loading *l, const char *path, firn_error *error)
{
    size_t size = 0;
    void *bytes = NULL;
    FIRN_TRY(firn_file_read(path, SIZE_MAX, &bytes, &size, error));
    l->bytes = bytes;
    FIRN_TRY(firn_checkpoint_check(l->sim, bytes, size, path, &l->header, error));
    l->body = l->bytes + sizeof l->header + firn_channel_list_size(l->header.channel_count);
    return FIRN_OK;
}

static void put_bytes(void *state, void *context)
{
    const firn_parcel *parcel = context;
    if (parcel != NULL)
        memcpy(state, parcel->data, parcel->bytes);
}

// What the first rank has, for all.
static void tell(firn_sim *sim, void *data, size_t bytes)
{
    firn_parcel own = {data, bytes};
    firn_owners_fold(&sim->owners, data, bytes, put_bytes, leads(sim) ? &own : NULL);
}

static firn_saved_block saved_block(const loading *l, const firn_state_list *list, size_t b)
{
    firn_saved_block block;
    memcpy(&block, l->body + firn_state_find(list, "blocks")->offset + b * sizeof block,
           sizeof block);
    return block;
}

// Intervals of blocks with about as many particles; the first rank knows the blocks.
static void divide(loading *l)
{
    firn_sim *sim = l->sim;
    firn_state_list list = firn_state_arrays(sim, &l->header.state);
    size_t count = (size_t)l->header.state.block_count, b = 0, ranks = rank_count(sim);
    uint64_t *cuts = sim->owners.cuts.data;
    uint32_t at = 0;
    for (size_t r = 0; leads(sim) && r < ranks; r++) {
        size_t first = b;
        uint32_t begin = at;
        uint64_t share = l->header.state.sorted_count * (r + 1) / ranks;
        if (r > 0)
            cuts[r - 1] = b < count ? firn_block_key(saved_block(l, &list, b).coord) : UINT64_MAX;
        for (; b < count && (at < share || r + 1 == ranks); b++)
            at = saved_block(l, &list, b).end;
        l->blocks[r] = (firn_rank_range){first, b};
        l->particles[r] = (firn_rank_range){begin, at};
    }
    tell(sim, cuts, (ranks - 1) * sizeof *cuts);
    tell(sim, l->blocks, ranks * sizeof *l->blocks);
    tell(sim, l->particles, ranks * sizeof *l->particles);
}

// Elements [first, end) of an array of the whole for each rank, to a place of its own.
static void send_parts(loading *l, size_t offset, size_t element, const firn_rank_range *ranges,
                       void *to)
{
    firn_owners *owners = &l->sim->owners;
    size_t rank = (size_t)owners->exchange.rank;
    firn_parcel *send = firn_owners_parcels(owners), *receive = send + rank_count(l->sim);
    for (size_t r = 0; leads(l->sim) && r < rank_count(l->sim); r++)
        send[r] = (firn_parcel){(void *)(l->body + offset + ranges[r].begin * element),
                                (ranges[r].end - ranges[r].begin) * element};
    receive[0] = (firn_parcel){to, (ranges[rank].end - ranges[rank].begin) * element};
    firn_owners_send(owners, send, receive);
}

static void send_to_all(loading *l, size_t offset, size_t element, size_t first, size_t end,
                        void *to, firn_rank_range *scratch)
{
    for (size_t r = 0; r < rank_count(l->sim); r++)
        scratch[r] = (firn_rank_range){first, end};
    send_parts(l, offset, element, scratch, to);
}

static void unpack_blocks(loading *l, const firn_state_array *array, firn_saved_block *saved)
{
    uint32_t before = (uint32_t)l->particles[l->sim->owners.exchange.rank].begin;
    for (size_t b = 0; b < array->count; b++) {
        saved[b].begin -= before;
        saved[b].end -= before;
        array->unpack(l->sim, b, &saved[b]);
    }
}

// Everybody gets his part of each array. Room for all has been made.
static void spread(loading *l, unsigned char *packed, firn_rank_range *scratch)
{
    firn_sim *sim = l->sim;
    firn_state_list all = firn_state_arrays(sim, &l->header.state);
    firn_state_list own = firn_state_arrays(sim, &l->scalars);
    size_t sorted = (size_t)l->header.state.sorted_count, count = (size_t)l->header.state.count;
    const firn_state_array *keys = firn_state_find(&own, "new_keys"),
                           *blocks = firn_state_find(&own, "blocks"),
                           *touches = firn_state_find(&own, "touches");
    for (int i = 0; i < own.count; i++) {
        const firn_state_array *a = &own.array[i];
        size_t offset = all.array[i].offset, size = a->element;
        if (a == keys || a == touches) {
            send_to_all(l, offset, size, 0, a->count, a->live, scratch);
        } else if (a == blocks) {
            send_parts(l, offset, size, l->blocks, packed);
            unpack_blocks(l, a, (firn_saved_block *)(void *)packed);
        } else if (a->pack != NULL) {
            send_to_all(l, offset, size, 0, a->count, packed, scratch);
            for (size_t k = 0; k < a->count; k++)
                a->unpack(sim, k, packed + k * size);
        } else {
            send_parts(l, offset, size, l->particles, a->live);
            send_to_all(l, offset, size, sorted, count,
                        (char *)a->live + (size_t)l->scalars.sorted_count * size, scratch);
        }
    }
}

static firn_result reserve(loading *l, unsigned char **packed, firn_error *error)
{
    firn_sim *sim = l->sim;
    size_t rank = (size_t)sim->owners.exchange.rank;
    l->scalars = l->header.state;
    l->scalars.block_count = l->blocks[rank].end - l->blocks[rank].begin;
    l->scalars.sorted_count = l->particles[rank].end - l->particles[rank].begin;
    l->scalars.count =
        l->scalars.sorted_count + l->header.state.count - l->header.state.sorted_count;
    *packed = firn_alloc(firn_checkpoint_packed(sim, (size_t)l->scalars.block_count) + 1);
    if (*packed == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot load a checkpoint");
    return firn_state_reserve(sim, &l->scalars, error);
}

static firn_result load(loading *l, const char *path, firn_rank_range *ranges, firn_error *error)
{
    firn_sim *sim = l->sim;
    firn_owners *owners = &sim->owners;
    l->blocks = ranges;
    l->particles = ranges + rank_count(sim);
    firn_result result = leads(sim) ? read_file(l, path, error) : FIRN_OK;
    FIRN_TRY(firn_owners_agree(owners, result, error));
    tell(sim, &l->header, sizeof l->header);
    divide(l);
    unsigned char *packed = NULL;
    result = firn_owners_agree(owners, reserve(l, &packed, error), error);
    if (result == FIRN_OK) {
        firn_snapshot_void(sim);
        spread(l, packed, ranges + 2 * rank_count(sim));
        firn_state_put_scalars(sim, &l->scalars);
        firn_state_settle(sim);
        result = firn_owners_agree(owners, FIRN_OK, error);
    }
    firn_free(packed);
    return result;
}

firn_result firn_sim_scatter_load(firn_sim *sim, const char *path, firn_error *error)
{
    firn_error sentence;
    if (!firn_owners_shared(&sim->owners))
        return firn_sim_load(sim, path, error);
    error = error != NULL ? error : &sentence;
    firn_rank_range *ranges = firn_alloc_zero(3 * rank_count(sim) * sizeof *ranges);
    firn_result result = FIRN_OK;
    if (ranges == NULL)
        result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot load a checkpoint");
    result = firn_owners_agree(&sim->owners, result, error);
    loading l = {.sim = sim};
    if (result == FIRN_OK)
        result = load(&l, path, ranges, error);
    firn_free(l.bytes);
    firn_free(ranges);
    return result;
}
