/// Blocks of other ranks that are near own ones: what is known of them.
#include "owners.h"

#include <string.h>

// Two blocks may touch one node block when they are this far apart.
enum { REACH = 2 };

/// What other ranks need to know of a block.
typedef struct ghost {
    firn_coord coord;
    int8_t low[3], high[3];
    uint8_t unused[2];
} ghost;

static size_t rank_count(const firn_owners *owners) { return (size_t)owners->exchange.rank_count; }

static firn_coord shifted(firn_coord c, int x, int y, int z)
{
    return (firn_coord){c.x + x, c.y + y, c.z + z};
}

// Marks the ranks that own places around a block. Rows along z are intervals of keys.
static bool find_ranks(const firn_owners *owners, firn_coord c, bool *ranks)
{
    int own = owners->exchange.rank;
    int first = firn_owners_rank(owners, firn_block_key(shifted(c, -REACH, -REACH, -REACH)));
    int last = firn_owners_rank(owners, firn_block_key(shifted(c, REACH, REACH, REACH)));
    if (first == own && last == own)
        return false;
    for (int x = -REACH; x <= REACH; x++)
        for (int y = -REACH; y <= REACH; y++) {
            int r = firn_owners_rank(owners, firn_block_key(shifted(c, x, y, -REACH)));
            int end = firn_owners_rank(owners, firn_block_key(shifted(c, x, y, REACH)));
            for (; r <= end; r++)
                ranks[r] = r != own;
        }
    return true;
}

// Goes through the blocks that other ranks hear of; with a list, these follow each other by rank.
static void list_borders(const firn_owners *owners, const firn_block *blocks, size_t count,
                         bool *ranks, uint32_t *list)
{
    firn_peer *peers = owners->peers.data;
    for (size_t r = 0; r < rank_count(owners); r++)
        peers[r].borders.end = peers[r].borders.begin;
    for (size_t b = 0; b < count; b++) {
        memset(ranks, 0, rank_count(owners) * sizeof *ranks);
        if (!find_ranks(owners, blocks[b].coord, ranks))
            continue;
        for (size_t r = 0; r < rank_count(owners); r++)
            if (ranks[r]) {
                if (list != NULL)
                    list[peers[r].borders.end] = (uint32_t)b;
                peers[r].borders.end++;
            }
    }
}

static firn_result find_borders(firn_owners *owners, const firn_block *blocks, size_t count,
                                firn_error *error)
{
    firn_peer *peers = owners->peers.data;
    bool *ranks = owners->parcels.data; // not in use now
    for (size_t r = 0; r < rank_count(owners); r++)
        peers[r].borders.begin = 0;
    list_borders(owners, blocks, count, ranks, NULL);
    size_t sum = 0;
    for (size_t r = 0; r < rank_count(owners); r++) {
        size_t here = peers[r].borders.end;
        peers[r].borders.begin = sum;
        sum += here;
    }
    owners->border_count = sum;
    FIRN_TRY(firn_array_claim(owners->budget, &owners->borders, sum, sizeof(uint32_t), error));
    FIRN_TRY(firn_array_claim(owners->budget, &owners->send, sum, sizeof(ghost), error));
    list_borders(owners, blocks, count, ranks, owners->borders.data);
    const uint32_t *list = owners->borders.data;
    ghost *ghosts = owners->send.data;
    for (size_t i = 0; i < sum; i++) {
        const firn_block *block = &blocks[list[i]];
        ghosts[i] = (ghost){.coord = block->coord};
        memcpy(ghosts[i].low, block->low, sizeof block->low);
        memcpy(ghosts[i].high, block->high, sizeof block->high);
    }
    return FIRN_OK;
}

// How many ghosts come from each rank, and memory for them.
static firn_result make_room(firn_owners *owners, firn_error *error)
{
    firn_peer *peers = owners->peers.data;
    uint64_t *to = owners->numbers.data, *from = to + rank_count(owners);
    for (size_t r = 0; r < rank_count(owners); r++)
        to[r] = peers[r].borders.end - peers[r].borders.begin;
    firn_owners_numbers(owners, to, from);
    size_t sum = 0;
    for (size_t r = 0; r < rank_count(owners); r++) {
        peers[r].ghosts = (firn_rank_range){sum, sum + (size_t)from[r]};
        sum += (size_t)from[r];
    }
    owners->ghost_count = sum;
    FIRN_TRY(firn_array_claim(owners->budget, &owners->receive, sum, sizeof(ghost), error));
    FIRN_TRY(firn_array_claim(owners->budget, &owners->flags, sum, sizeof(uint8_t), error));
    return firn_array_claim(owners->budget, &owners->ghosts, sum, sizeof(firn_block), error);
}

// An item of each border block to the ranks it is a ghost of; of each ghost one comes back.
static void send_items(firn_owners *owners, unsigned char *out, unsigned char *back, size_t size)
{
    const firn_peer *peers = owners->peers.data;
    firn_parcel *send = firn_owners_parcels(owners), *receive = send + rank_count(owners);
    for (size_t r = 0; r < rank_count(owners); r++) {
        firn_rank_range to = peers[r].borders, from = peers[r].ghosts;
        if (to.end > to.begin)
            send[r] = (firn_parcel){out + to.begin * size, (to.end - to.begin) * size};
        if (from.end > from.begin)
            receive[r] = (firn_parcel){back + from.begin * size, (from.end - from.begin) * size};
    }
    firn_owners_send(owners, send, receive);
}

firn_result firn_ghosts_gather(firn_owners *owners, const firn_block *blocks, size_t count,
                               firn_result result, firn_error *error)
{
    if (result == FIRN_OK)
        result = find_borders(owners, blocks, count, error);
    FIRN_TRY(firn_owners_agree(owners, result, error));
    FIRN_TRY(firn_owners_agree(owners, make_room(owners, error), error));
    send_items(owners, owners->send.data, owners->receive.data, sizeof(ghost));
    const ghost *ghosts = owners->receive.data;
    firn_block *to = owners->ghosts.data;
    for (size_t i = 0; i < owners->ghost_count; i++) {
        to[i] = (firn_block){.coord = ghosts[i].coord};
        memcpy(to[i].low, ghosts[i].low, sizeof to[i].low);
        memcpy(to[i].high, ghosts[i].high, sizeof to[i].high);
    }
    return FIRN_OK;
}

void firn_ghosts_tell(firn_owners *owners, const uint8_t *of_blocks)
{
    if (!firn_owners_shared(owners))
        return;
    const uint32_t *list = owners->borders.data;
    uint8_t *out = owners->send.data;
    for (size_t i = 0; i < owners->border_count; i++)
        out[i] = of_blocks[list[i]];
    send_items(owners, out, owners->flags.data, sizeof(uint8_t));
}
