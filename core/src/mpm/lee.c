/// What shields snow from the air across the borders of ranks: masses of node blocks that this rank
/// does not hold, but that stand next to some that it does.
///
/// Every node block is complete with its owner. After a sort a rank asks the owners for the blocks
/// that it misses, and learns which there are; in each substep their masses come.
#include "owners.h"

#include "base/radix.h"

#include <stdlib.h>
#include <string.h>

static size_t rank_count(const firn_owners *owners) { return (size_t)owners->exchange.rank_count; }

// Keys around a node block that are missing here and are others' to know. With a list they are
// written to it.
static size_t list_missing(const firn_owners *owners, const firn_grid *grid, size_t node,
                           uint64_t *list)
{
    const firn_coord coord = firn_block_coord(((const uint64_t *)grid->map.keys.data)[node]);
    size_t count = 0;
    // Keys rise: between two that are this rank's there are only its own.
    if (firn_owners_own(owners, firn_block_key(firn_block_neighbor(coord, 0))) &&
        firn_owners_own(owners, firn_block_key(firn_block_neighbor(coord, FIRN_NEIGHBORS - 1))))
        return 0;
    for (int n = 0; n < FIRN_NEIGHBORS; n++) {
        uint64_t key = firn_block_key(firn_block_neighbor(coord, n));
        if (firn_owners_own(owners, key) || firn_block_map_find(&grid->map, key) >= 0)
            continue;
        if (list != NULL)
            list[count] = key;
        count++;
    }
    return count;
}

// The keys to ask for, once each, in order; those of a rank follow each other.
static firn_result find_missing(firn_owners *owners, const firn_grid *grid, int thread_count,
                                firn_error *error)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < grid->map.count; i++)
        count += list_missing(owners, grid, i, NULL);
    FIRN_TRY(firn_array_claim(owners->budget, &owners->lee_keys, 2 * count + 1, sizeof(uint64_t),
                              error));
    uint64_t *keys = owners->lee_keys.data;
    count = 0;
    for (size_t i = 0; i < grid->map.count; i++)
        count += list_missing(owners, grid, i, keys + count);
    const uint64_t *sorted =
        firn_radix_sort(keys, keys + count, count, (firn_bit_range){0, 63}, thread_count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || sorted[i] != keys[kept - 1])
            keys[kept++] = sorted[i];
    firn_peer *peers = owners->peers.data;
    size_t at = 0;
    for (size_t r = 0; r < rank_count(owners); r++) {
        peers[r].lee_in.begin = at;
        while (at < kept && (size_t)firn_owners_rank(owners, keys[at]) == r)
            at++;
        peers[r].lee_in.end = at;
    }
    return FIRN_OK;
}

// How much others ask for, and room for it and for the answers.
static firn_result make_room(firn_owners *owners, firn_error *error)
{
    firn_peer *peers = owners->peers.data;
    uint64_t *to = owners->numbers.data, *from = to + rank_count(owners);
    size_t asked = 0, in = 0;
    for (size_t r = 0; r < rank_count(owners); r++) {
        to[r] = peers[r].lee_in.end - peers[r].lee_in.begin;
        in += (size_t)to[r];
    }
    firn_owners_numbers(owners, to, from);
    for (size_t r = 0; r < rank_count(owners); r++) {
        peers[r].lee_out = (firn_rank_range){asked, asked + (size_t)from[r]};
        asked += (size_t)from[r];
    }
    FIRN_TRY(
        firn_array_claim(owners->budget, &owners->lee_nodes, asked + 1, sizeof(uint32_t), error));
    return firn_array_claim(owners->budget, &owners->scratch, asked + 1 + (asked + in) / 8 + 1,
                            sizeof(uint64_t), error);
}

// `size` bytes for each of the blocks that others asked for, and of each that this rank asked for;
// back: the other way.
static void send_lee(firn_owners *owners, void *out, void *in, size_t size, bool back)
{
    const firn_peer *peers = owners->peers.data;
    firn_parcel *send = firn_owners_parcels(owners), *receive = send + rank_count(owners);
    for (size_t r = 0; r < rank_count(owners); r++) {
        firn_rank_range of_out = peers[r].lee_out, of_in = peers[r].lee_in;
        firn_parcel asked = {(char *)out + of_out.begin * size, (of_out.end - of_out.begin) * size};
        firn_parcel wanted = {(char *)in + of_in.begin * size, (of_in.end - of_in.begin) * size};
        if (asked.bytes > 0)
            *(back ? &receive[r] : &send[r]) = asked;
        if (wanted.bytes > 0)
            *(back ? &send[r] : &receive[r]) = wanted;
    }
    firn_owners_send(owners, send, receive);
}

// Blocks that nobody has are forgotten on both sides.
static void keep_those_there(firn_owners *owners, const firn_grid *grid)
{
    firn_peer *peers = owners->peers.data;
    const size_t ranks = rank_count(owners);
    uint64_t *asked = owners->scratch.data, *keys = owners->lee_keys.data;
    uint32_t *nodes = owners->lee_nodes.data;
    const size_t out = peers[ranks - 1].lee_out.end;
    uint8_t *found = (uint8_t *)(asked + out + 1), *answers = found + out;
    send_lee(owners, asked, keys, sizeof *asked, true);
    for (size_t i = 0; i < out; i++) {
        int32_t node = owners->lost ? -1 : firn_block_map_find(&grid->map, asked[i]);
        found[i] = node >= 0;
        nodes[i] = (uint32_t)node;
    }
    send_lee(owners, found, answers, 1, false);
    size_t kept_out = 0, kept_in = 0;
    for (size_t r = 0; r < ranks; r++) {
        firn_rank_range of_out = peers[r].lee_out, of_in = peers[r].lee_in;
        peers[r].lee_out.begin = kept_out;
        peers[r].lee_in.begin = kept_in;
        for (size_t i = of_out.begin; i < of_out.end; i++)
            if (found[i])
                nodes[kept_out++] = nodes[i];
        for (size_t i = of_in.begin; i < of_in.end; i++)
            if (answers[i])
                keys[kept_in++] = keys[i];
        peers[r].lee_out.end = kept_out;
        peers[r].lee_in.end = kept_in;
    }
    owners->lee_count = kept_in;
}

static firn_result claim_masses(firn_owners *owners, firn_error *error)
{
    const firn_peer *last = (const firn_peer *)owners->peers.data + rank_count(owners) - 1;
    FIRN_TRY(firn_array_claim(owners->budget, &owners->lee_out, last->lee_out.end + 1,
                              FIRN_BLOCK_NODES * sizeof(float), error));
    return firn_array_claim(owners->budget, &owners->lee_mass, owners->lee_count + 1,
                            FIRN_BLOCK_NODES * sizeof(float), error);
}

firn_result firn_lee_link(firn_owners *owners, const firn_grid *grid, int thread_count,
                          firn_error *error)
{
    FIRN_TRY(firn_owners_agree(owners, find_missing(owners, grid, thread_count, error), error));
    FIRN_TRY(firn_owners_agree(owners, make_room(owners, error), error));
    keep_those_there(owners, grid);
    return claim_masses(owners, error);
}

void firn_lee_exchange(firn_owners *owners, firn_lee_mass *mass, const void *user)
{
    const firn_peer *peers = owners->peers.data;
    const uint32_t *nodes = owners->lee_nodes.data;
    float *out = owners->lee_out.data;
    for (size_t i = 0; i < peers[rank_count(owners) - 1].lee_out.end; i++)
        mass(user, nodes[i], out + FIRN_BLOCK_NODES * i);
    send_lee(owners, out, owners->lee_mass.data, FIRN_BLOCK_NODES * sizeof(float), false);
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

const float *firn_lee_find(const firn_owners *owners, uint64_t key)
{
    const uint64_t *keys = owners->lee_keys.data,
                   *found = owners->lee_count > 0
                                ? bsearch(&key, keys, owners->lee_count, sizeof key, compare_keys)
                                : NULL;
    return found != NULL
               ? (const float *)owners->lee_mass.data + FIRN_BLOCK_NODES * (size_t)(found - keys)
               : NULL;
}
