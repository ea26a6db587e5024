/// The state of a simulation that several ranks hold, as one: channels of all particles for the
/// first rank, and checkpoints with the bytes of one rank.
///
/// Sorted particles and blocks of the ranks, one rank after the other, are those of one rank in
/// their order. Particles that wait for the sort are with every rank, or with one each, and their
/// ids rise. So an array of the state is the sorted part of each rank, then what waits, by ids. To
/// be saved it goes through the first rank in groups of bytes; nobody holds all of it, but of an
/// array what waits.
#include "checkpoint.h"
#include "sim_state.h"

#include "firn/file.h"

#include <string.h>

static size_t rank_count(const firn_sim *sim) { return (size_t)sim->owners.exchange.rank_count; }

static bool leads(const firn_sim *sim) { return sim->owners.exchange.rank == 0; }

// What each rank has of something, in the order of ranks; valid until the next call.
static const uint64_t *of_ranks(firn_sim *sim, size_t own)
{
    uint64_t *to = sim->owners.numbers.data, *from = to + rank_count(sim);
    for (size_t r = 0; r < rank_count(sim); r++)
        to[r] = own;
    firn_owners_numbers(&sim->owners, to, from);
    return from;
}

static size_t sum_of(const uint64_t *numbers, size_t count)
{
    size_t sum = 0;
    for (size_t r = 0; r < count; r++)
        sum += (size_t)numbers[r];
    return sum;
}

/// The particles of all ranks that wait for a sort.
typedef struct waiting {
    size_t count;
    uint32_t first; // id
    bool scattered; // not all of them are with everybody
} waiting;

static size_t own_waiting(const firn_sim *sim)
{
    return sim->particles.count - sim->order.sorted_count;
}

static const uint32_t *waiting_ids(const firn_sim *sim)
{
    return (const uint32_t *)(const void *)firn_channel_of(&sim->particles, FIRN_ID) +
           sim->order.sorted_count;
}

// All have come since the last sort, so that their ids go on to the last one.
static waiting find_waiting(firn_sim *sim)
{
    uint32_t next = sim->particles.next_id;
    double first = own_waiting(sim) > 0 ? -(double)waiting_ids(sim)[0] : -(double)next;
    firn_owners_largest(&sim->owners, &first, 1);
    waiting w = {.first = (uint32_t)-first};
    w.count = next - w.first;
    w.scattered = firn_owners_any(&sim->owners, own_waiting(sim) != w.count);
    return w;
}

// Room that bring_waiting needs.
static size_t waiting_room(firn_sim *sim, size_t element)
{
    const uint64_t *counts = of_ranks(sim, own_waiting(sim));
    uint64_t most = 0;
    for (size_t r = 0; r < rank_count(sim); r++)
        most = counts[r] > most ? counts[r] : most;
    return (size_t)most * (element + sizeof(uint32_t)) + 1;
}

static void place_waiting(const uint32_t *ids, const unsigned char *values, size_t count, waiting w,
                          size_t element, unsigned char *out)
{
    for (size_t i = 0; i < count; i++)
        memcpy(out + (size_t)(ids[i] - w.first) * element, values + i * element, element);
}

// Elements of all that waits come to `out` of the first rank, by ids; room is scratch there.
static void bring_waiting(firn_sim *sim, waiting w, const void *own, size_t element, void *out,
                          void *room)
{
    size_t count = own_waiting(sim);
    if (leads(sim))
        place_waiting(waiting_ids(sim), own, count, w, element, out);
    for (size_t r = 1; w.scattered && r < rank_count(sim); r++) {
        size_t come = (size_t)of_ranks(sim, count)[r];
        void *parts[2] = {room, (char *)room + come * sizeof(uint32_t)};
        const void *sent[2] = {waiting_ids(sim), own};
        const size_t sizes[2] = {sizeof(uint32_t), element};
        for (int k = 0; k < 2; k++) {
            firn_parcel *send = firn_owners_parcels(&sim->owners),
                        *receive = send + rank_count(sim);
            if (leads(sim))
                receive[r] = (firn_parcel){parts[k], come * sizes[k]};
            else if ((size_t)sim->owners.exchange.rank == r)
                send[0] = (firn_parcel){(void *)sent[k], come * sizes[k]};
            firn_owners_send(&sim->owners, send, receive);
        }
        if (leads(sim))
            place_waiting(parts[0], parts[1], come, w, element, out);
    }
}

firn_rank_stats firn_sim_rank_stats(const firn_sim *sim)
{
    firn_rank_stats stats = sim->owners.account;
    stats.particles = sim->particles.count;
    return stats;
}

firn_result firn_sim_gather_count(firn_sim *sim, size_t *count, firn_error *error)
{
    *count = sim->particles.count;
    if (firn_owners_shared(&sim->owners))
        *count = sum_of(of_ranks(sim, sim->order.sorted_count), rank_count(sim)) +
                 find_waiting(sim).count;
    return firn_owners_agree(&sim->owners, FIRN_OK, error);
}

// --- Channels ------------------------------------------------------------------------------------

// All but the first rank send; that one has places for what comes.
static void bring_parts(firn_sim *sim, void *own, size_t size, unsigned char *out)
{
    const uint64_t *counts = of_ranks(sim, sim->order.sorted_count);
    firn_parcel *send = firn_owners_parcels(&sim->owners), *receive = send + rank_count(sim);
    if (!leads(sim))
        send[0] = (firn_parcel){own, size * sim->order.sorted_count};
    for (size_t r = 0; leads(sim) && r < rank_count(sim); r++) {
        size_t bytes = size * (size_t)counts[r];
        if (r > 0)
            receive[r] = (firn_parcel){out, bytes};
        out += bytes;
    }
    firn_owners_send(&sim->owners, send, receive);
}

firn_result firn_sim_gather(firn_sim *sim, int channel, void *out, firn_error *error)
{
    if (!firn_owners_shared(&sim->owners))
        return firn_sim_read(sim, channel, 0, sim->particles.count, out, error);
    const firn_channel *row = firn_sim_channel(sim, channel);
    size_t size =
        row != NULL ? (size_t)row->components * firn_channel_type_size(row->type) : sizeof(float);
    size_t sorted = sim->order.sorted_count, waits = own_waiting(sim);
    size_t before = sum_of(of_ranks(sim, sorted), rank_count(sim));
    const waiting w = find_waiting(sim);
    size_t room = waiting_room(sim, size);
    // Own values, but that those of the first rank go where they belong; behind them, room.
    size_t kept = (leads(sim) ? waits : sorted + waits) * size;
    char *own = firn_alloc(kept + room);
    firn_result result = FIRN_OK;
    if (own == NULL)
        result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot gather %zu particles",
                           sorted + waits);
    if (result == FIRN_OK && leads(sim))
        result = firn_sim_read(sim, channel, 0, sorted, out, error);
    if (result == FIRN_OK)
        result = firn_sim_read(sim, channel, leads(sim) ? sorted : 0,
                               leads(sim) ? waits : sorted + waits, own, error);
    result = firn_owners_agree(&sim->owners, result, error);
    if (result == FIRN_OK) {
        bring_parts(sim, own, size, out);
        bring_waiting(sim, w, own + (leads(sim) ? 0 : size * sorted), size,
                      leads(sim) ? (char *)out + size * before : NULL, own + kept);
        result = firn_owners_agree(&sim->owners, FIRN_OK, error);
    }
    firn_free(own);
    return result;
}

// --- Saving --------------------------------------------------------------------------------------

/// A checkpoint on its way through the first rank.
typedef struct saving {
    firn_sim *sim;
    firn_file_writer *file; // of the first rank
    uint64_t hash;
    unsigned char *group; // bytes of the array in work, FIRN_HASH_GROUP at most; of the first rank
    size_t group_size;    // a multiple of the element
    size_t filled;
    size_t array_bytes; // of all ranks
    size_t element;     // that is hashed by itself; 0: the array is hashed in groups
    waiting waiting;
    unsigned char *waits, *room; // what waits of an array, of the first rank
    unsigned char *packed;       // own blocks or sources
} saving;

enum { WIDEST = sizeof(uint64_t) }; // element of an array with values of what waits

// What has come together is hashed and written; all ranks count, the first one works.
static void put_group(saving *s)
{
    if (!leads(s->sim) || s->filled == 0) {
        s->filled = 0;
        return;
    }
    for (size_t at = 0; s->element > 0 && at < s->filled; at += s->element)
        s->hash = firn_hash64(s->group + at, s->element, s->hash);
    if (s->element == 0 && s->array_bytes <= FIRN_HASH_CHUNK)
        s->hash = firn_hash64(s->group, s->filled, s->hash);
    else if (s->element == 0)
        s->hash = firn_checkpoint_hash_group(s->group, s->filled, s->hash, s->sim->thread_count);
    firn_file_write(s->file, s->group, s->filled);
    s->filled = 0;
}

// The next bytes of the array are those of a rank.
static void put_part(saving *s, size_t rank, const unsigned char *own, size_t bytes)
{
    firn_owners *owners = &s->sim->owners;
    for (size_t at = 0; at < bytes;) {
        size_t room = s->group_size - s->filled, piece = bytes - at < room ? bytes - at : room;
        if (rank == 0 && leads(s->sim))
            memcpy(s->group + s->filled, own + at, piece);
        if (rank > 0) {
            firn_parcel *send = firn_owners_parcels(owners), *receive = send + rank_count(s->sim);
            if (leads(s->sim))
                receive[rank] = (firn_parcel){s->group + s->filled, piece};
            else if ((size_t)owners->exchange.rank == rank)
                send[0] = (firn_parcel){(void *)(own + at), piece};
            firn_owners_send(owners, send, receive);
        }
        s->filled += piece;
        at += piece;
        if (s->filled == s->group_size)
            put_group(s);
    }
}

// An array: `sorted` elements of each rank at `own`, then `waits` at the first rank's `rest`.
static void put_array(saving *s, const firn_state_array *array, const unsigned char *own,
                      size_t sorted, const unsigned char *rest, size_t waits)
{
    const uint64_t *told = of_ranks(s->sim, sorted);
    uint64_t *counts = s->sim->owners.counts.data; // the sort's, which does not run
    memcpy(counts, told, rank_count(s->sim) * sizeof *counts);
    size_t all = sum_of(counts, rank_count(s->sim)) + waits;
    s->element = array->pack != NULL ? array->element : 0;
    s->array_bytes = all * array->element;
    s->group_size = FIRN_HASH_GROUP / array->element * array->element;
    for (size_t r = 0; r < rank_count(s->sim); r++)
        put_part(s, r, own, (size_t)counts[r] * array->element);
    put_part(s, 0, rest, waits * array->element);
    put_group(s);
    if (leads(s->sim) && s->array_bytes == 0 && s->element == 0)
        s->hash = firn_hash64(NULL, 0, s->hash); // as one rank hashes what is empty
}

// An array with values of particles: those that are sorted, unless none count, and what waits.
static void put_values(saving *s, const firn_state_array *array, size_t sorted)
{
    const unsigned char *own = array->live;
    bring_waiting(s->sim, s->waiting, own + sorted * array->element, array->element, s->waits,
                  s->room);
    put_array(s, array, own, sorted, s->waits, s->waiting.count);
}

// Blocks count particles from the first of all.
static void pack_blocks(const firn_sim *sim, size_t before, firn_saved_block *saved)
{
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++)
        saved[b] = (firn_saved_block){blocks[b].coord, blocks[b].begin + (uint32_t)before,
                                      blocks[b].end + (uint32_t)before, blocks[b].rest};
}

// Sources, bodies and their contacts are the same on all ranks.
static void pack_all(const firn_sim *sim, const firn_state_array *array, unsigned char *to)
{
    for (size_t i = 0; i < array->count; i++)
        array->pack(sim, i, to + i * array->element);
}

static void put_arrays(saving *s, size_t before)
{
    firn_sim *sim = s->sim;
    firn_state_scalars scalars = firn_state_scalars_of(sim);
    firn_state_list list = firn_state_arrays(sim, &scalars);
    const firn_state_array *keys = firn_state_find(&list, "new_keys"),
                           *blocks = firn_state_find(&list, "blocks"),
                           *touches = firn_state_find(&list, "touches");
    for (const firn_state_array *a = list.array; a < list.array + list.count; a++) {
        if (a == blocks) {
            pack_blocks(sim, before, (firn_saved_block *)(void *)s->packed);
            put_array(s, a, s->packed, a->count, NULL, 0);
        } else if (a == touches) {
            put_array(s, a, NULL, 0, a->live, a->count);
        } else if (a->pack != NULL) {
            pack_all(sim, a, s->packed);
            put_array(s, a, NULL, 0, s->packed, a->count);
        } else {
            put_values(s, a, a == keys ? 0 : sim->order.sorted_count);
        }
    }
}

size_t firn_checkpoint_packed(const firn_sim *sim, size_t block_count)
{
    const size_t sizes[] = {block_count * sizeof(firn_saved_block),
                            (size_t)sim->emission.source_count * sizeof(firn_saved_source),
                            (size_t)sim->bodies.slot_count * sizeof(firn_body_motion)};
    size_t most = 0;
    for (size_t i = 0; i < FIRN_COUNT(sizes); i++)
        most = sizes[i] > most ? sizes[i] : most;
    return most;
}

// What the first rank needs to begin with, and room for what each rank packs.
static firn_result open_saving(saving *s, const char *path, size_t room, firn_error *error)
{
    const firn_sim *sim = s->sim;
    s->packed = firn_alloc(firn_checkpoint_packed(sim, sim->grid.block_count) + 1);
    if (s->packed == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot gather a checkpoint");
    if (!leads(sim))
        return FIRN_OK;
    s->group = firn_alloc(FIRN_HASH_GROUP);
    s->waits = firn_alloc(s->waiting.count * WIDEST + 1);
    s->room = firn_alloc(room);
    if (s->group == NULL || s->waits == NULL || s->room == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot gather a checkpoint");
    return firn_file_create(path, &s->file, error);
}

static firn_checkpoint_header begin_file(saving *s, size_t sorted, size_t blocks)
{
    firn_state_scalars scalars = firn_state_scalars_of(s->sim);
    scalars.count = sorted + s->waiting.count;
    scalars.sorted_count = sorted;
    scalars.block_count = blocks;
    firn_checkpoint_header h = firn_checkpoint_begin(s->sim, &scalars);
    if (leads(s->sim)) {
        firn_channel_list list = firn_checkpoint_channels(s->sim);
        s->hash = firn_checkpoint_seed(s->sim, &h);
        firn_file_write(s->file, &h, sizeof h);
        firn_file_write(s->file, list.row, firn_channel_list_size(list.count));
    }
    return h;
}

static firn_result save(saving *s, const char *path, firn_error *error)
{
    firn_sim *sim = s->sim;
    firn_owners *owners = &sim->owners;
    firn_transfer_recover(sim);
    s->waiting = find_waiting(sim);
    size_t room = waiting_room(sim, WIDEST);
    firn_result result = firn_owners_agree(owners, open_saving(s, path, room, error), error);
    if (result == FIRN_OK) {
        const uint64_t *counts = of_ranks(sim, sim->order.sorted_count);
        size_t before = sum_of(counts, (size_t)owners->exchange.rank);
        size_t sorted = sum_of(counts, rank_count(sim));
        size_t blocks = sum_of(of_ranks(sim, sim->grid.block_count), rank_count(sim));
        firn_checkpoint_header h = begin_file(s, sorted, blocks);
        put_arrays(s, before);
        h.checksum = s->hash;
        // A rank that was lost has left a hole: the file must not appear.
        result = firn_owners_agree(owners, FIRN_OK, error);
        if (leads(sim) && result == FIRN_OK) {
            firn_file_patch(s->file, 0, &h, sizeof h);
            result = firn_file_commit(s->file, error);
            s->file = NULL;
        }
        result = firn_owners_agree(owners, result, error);
    }
    firn_file_discard(s->file);
    firn_free(s->packed);
    firn_free(s->group);
    firn_free(s->waits);
    firn_free(s->room);
    return result;
}

firn_result firn_sim_gather_save(firn_sim *sim, const char *path, firn_error *error)
{
    firn_error sentence;
    if (!firn_owners_shared(&sim->owners))
        return firn_sim_save(sim, path, error);
    return save(&(saving){.sim = sim}, path, error != NULL ? error : &sentence);
}
