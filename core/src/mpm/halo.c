/// Shared node blocks: pieces of tiles go to all who hold them and are added in one order.
///
/// A piece is the part of a block's tile in one of the node blocks around it. Which pieces there
/// are, whom they go to and in which order they are added is known from the sort on; a scatter only
/// fills in numbers. Both sides of a message list its pieces in the order of the blocks they come
/// from, then of neighbors, so that it needs no words.
#include "halo.h"

#include "base/radix.h"
#include "owners.h"

#include <string.h>

#define NOT_SHARED UINT32_MAX

/// A node block that other ranks hold too.
typedef struct shared_node {
    uint32_t node;
    uint32_t begin, end; // of its pieces
} shared_node;

typedef struct piece {
    uint32_t offset; // in the tile memory, floats of one layer
    uint8_t neighbor;
} piece;

/// A piece that goes to another rank.
typedef struct out_piece {
    uint32_t offset, floats;
} out_piece;

/// A box of nodes in a node block, and where they are in a tile.
typedef struct span {
    int first[3], count[3]; // nodes
    int tile[3];
} span;

static span span_of(int neighbor, int order)
{
    firn_coord c = firn_neighbor_offset(neighbor);
    const int side[3] = {c.x, c.y, c.z};
    span s;
    for (int axis = 0; axis < 3; axis++) {
        s.first[axis] = side[axis] < 0 ? FIRN_BLOCK_EDGE - 1 : 0;
        // Tiles end at node 6 for the quadratic kernel.
        s.count[axis] = side[axis] < 0 ? 1 : side[axis] > 0 ? order : FIRN_BLOCK_EDGE;
        s.tile[axis] = FIRN_BLOCK_EDGE * side[axis] + s.first[axis] + 1;
    }
    return s;
}

static uint32_t piece_floats(int neighbor, int order)
{
    span s = span_of(neighbor, order);
    return (uint32_t)(4 * s.count[0] * s.count[1] * s.count[2]);
}

static size_t rank_count(const firn_owners *owners) { return (size_t)owners->exchange.rank_count; }

/// What firn_halo_link works with.
typedef struct linking {
    firn_owners *owners;
    const firn_grid *grid;
    firn_block *blocks;
    size_t count;
    size_t node_count;
    const uint64_t *holders; // node block << 16 | rank, of shared ones, in order
    size_t holder_count;
    piece *found;    // pieces as they are found
    uint64_t *items; // of each: shared node block << 37 | color << 32 | number
    size_t found_count;
    int thread_count;
} linking;

// Other ranks hold a node block when their blocks reach it, or when they own it.
static firn_result find_holders(linking *l, firn_error *error)
{
    firn_owners *owners = l->owners;
    const firn_peer *peers = owners->peers.data;
    const firn_block *ghosts = owners->ghosts.data;
    const uint64_t *keys = l->grid->map.keys.data;
    size_t most = FIRN_NEIGHBORS * owners->ghost_count + l->node_count, count = 0;
    FIRN_TRY(
        firn_array_claim(owners->budget, &owners->receive, 2 * most + 1, sizeof(uint64_t), error));
    uint64_t *pairs = owners->receive.data;
    for (size_t r = 0; r < rank_count(owners); r++)
        for (size_t g = peers[r].ghosts.begin; g < peers[r].ghosts.end; g++)
            for (int n = 0; n < FIRN_NEIGHBORS; n++)
                if (ghosts[g].near[n] >= 0)
                    pairs[count++] = (uint64_t)ghosts[g].near[n] << 16 | r;
    size_t first = l->node_count, end = 0;
    for (size_t i = 0; i < l->node_count; i++) {
        int owner = firn_owners_rank(owners, keys[i]);
        if (owner != owners->exchange.rank) {
            pairs[count++] = (uint64_t)i << 16 | (uint64_t)owner;
            continue;
        }
        first = i < first ? i : first;
        end = i + 1;
    }
    owners->first_node_block = first < end ? first : 0;
    owners->end_node_block = end;
    firn_bit_range bits = {0, 16 + firn_bit_count(l->node_count)};
    pairs = firn_radix_sort(pairs, pairs + count, count, bits, l->thread_count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || pairs[i] != pairs[kept - 1])
            pairs[kept++] = pairs[i];
    l->holders = pairs;
    l->holder_count = kept;
    return FIRN_OK;
}

// Lists the shared node blocks; begin and end are of their holders until pieces are placed.
static firn_result list_shared(linking *l, firn_error *error)
{
    firn_owners *owners = l->owners;
    firn_budget *budget = owners->budget;
    FIRN_TRY(
        firn_array_claim(budget, &owners->shared_at, l->node_count + 1, sizeof(int32_t), error));
    FIRN_TRY(
        firn_array_claim(budget, &owners->shared, l->holder_count + 1, sizeof(shared_node), error));
    int32_t *at = owners->shared_at.data;
    shared_node *shared = owners->shared.data;
    size_t count = 0;
    for (size_t i = 0; i < l->node_count; i++)
        at[i] = -1;
    for (size_t i = 0; i < l->holder_count; i++) {
        uint32_t node = (uint32_t)(l->holders[i] >> 16);
        if (at[node] < 0) {
            at[node] = (int32_t)count;
            shared[count++] = (shared_node){node, (uint32_t)i, (uint32_t)i};
        }
        shared[at[node]].end++;
    }
    owners->shared_count = count;
    return FIRN_OK;
}

static bool touches_shared(const linking *l, const firn_block *block)
{
    const int32_t *at = l->owners->shared_at.data;
    for (int n = 0; n < FIRN_NEIGHBORS; n++)
        if (block->near[n] >= 0 && at[block->near[n]] >= 0)
            return true;
    return false;
}

static void add_piece_at(linking *l, const firn_block *block, int neighbor, size_t offset)
{
    uint64_t j = (uint64_t)((const int32_t *)l->owners->shared_at.data)[block->near[neighbor]];
    uint64_t color = (uint64_t)firn_block_color(block->coord, l->grid->order);
    l->found[l->found_count] = (piece){(uint32_t)offset, (uint8_t)neighbor};
    l->items[l->found_count] = j << 37 | color << 32 | (uint64_t)l->found_count;
    l->found_count++;
}

// One own piece: its place, and the ranks it goes to. Without a list these are counted only.
static void send_piece(const linking *l, const shared_node *node, size_t offset, uint32_t floats,
                       out_piece *list)
{
    firn_peer *peers = l->owners->peers.data;
    for (uint32_t h = node->begin; h < node->end; h++) {
        firn_peer *peer = &peers[l->holders[h] & 0xffff];
        if (list != NULL)
            list[peer->out.end] = (out_piece){(uint32_t)offset, floats};
        peer->out.end++;
        peer->out_floats += floats;
    }
}

// Goes through the pieces of own blocks. The first time they are counted.
static void visit_own(linking *l, out_piece *list)
{
    firn_owners *owners = l->owners;
    firn_peer *peers = owners->peers.data;
    const int32_t *at = owners->shared_at.data;
    const shared_node *shared = owners->shared.data;
    uint32_t *places = owners->places.data, *offsets = owners->offsets.data;
    size_t slots = 0, floats = 0, pieces = 0;
    for (size_t r = 0; r < rank_count(owners); r++) {
        peers[r].out.end = peers[r].out.begin;
        peers[r].out_floats = 0;
    }
    for (size_t b = 0; b < l->count; b++) {
        const firn_block *block = &l->blocks[b];
        l->blocks[b].border = touches_shared(l, block);
        if (!block->border)
            continue;
        places[b] = (uint32_t)(FIRN_NEIGHBORS * slots++);
        for (int n = 0; n < FIRN_NEIGHBORS; n++) {
            int32_t j = block->near[n] >= 0 ? at[block->near[n]] : -1;
            uint32_t size = piece_floats(n, l->grid->order);
            if (list != NULL)
                offsets[places[b] + (uint32_t)n] = j >= 0 ? (uint32_t)floats : NOT_SHARED;
            if (j < 0)
                continue;
            if (list != NULL)
                add_piece_at(l, block, n, floats);
            send_piece(l, &shared[j], floats, size, list);
            floats += size;
            pieces++;
        }
    }
    owners->own_floats = floats;
    owners->border_slots = slots;
    owners->piece_count = pieces;
}

// Pieces of the ghosts stand behind own ones, those of a rank together.
static void visit_ghosts(linking *l, bool list)
{
    firn_owners *owners = l->owners;
    firn_peer *peers = owners->peers.data;
    const firn_block *ghosts = owners->ghosts.data;
    size_t floats = owners->own_floats;
    for (size_t r = 0; r < rank_count(owners); r++) {
        peers[r].floats.begin = floats;
        for (size_t g = peers[r].ghosts.begin; g < peers[r].ghosts.end; g++)
            for (int n = 0; n < FIRN_NEIGHBORS; n++) {
                if (ghosts[g].near[n] < 0)
                    continue;
                if (list)
                    add_piece_at(l, &ghosts[g], n, floats);
                else
                    owners->piece_count++;
                floats += piece_floats(n, l->grid->order);
            }
        peers[r].floats.end = floats;
    }
    owners->all_floats = floats;
}

// Memory for all pieces that have been counted.
static firn_result claim_pieces(linking *l, firn_error *error)
{
    firn_owners *owners = l->owners;
    firn_budget *budget = owners->budget;
    firn_peer *peers = owners->peers.data;
    size_t out = 0, out_floats = 0, count = owners->piece_count;
    size_t layers = firn_grid_has(l->grid, FIRN_NODE_OLD) ? 2 : 1;
    for (size_t r = 0; r < rank_count(owners); r++) {
        size_t here = peers[r].out.end - peers[r].out.begin;
        peers[r].out.begin = out;
        out += here;
        out_floats += peers[r].out_floats;
    }
    size_t bytes = layers * out_floats * sizeof(float),
           slots = FIRN_NEIGHBORS * owners->border_slots;
    bytes = bytes > owners->border_count ? bytes : owners->border_count;
    FIRN_TRY(firn_array_claim(budget, &owners->out, out + 1, sizeof(out_piece), error));
    FIRN_TRY(firn_array_claim(budget, &owners->send, bytes + 1, 1, error));
    FIRN_TRY(firn_array_claim(budget, &owners->offsets, slots + 1, sizeof(uint32_t), error));
    FIRN_TRY(firn_array_claim(budget, &owners->pieces, count + 1, sizeof(piece), error));
    FIRN_TRY(firn_array_claim(budget, &owners->tiles, layers * owners->all_floats + 1,
                              sizeof(float), error));
    FIRN_TRY(firn_array_claim(budget, &owners->scratch, count + 1,
                              2 * sizeof(uint64_t) + sizeof(piece), error));
    l->items = owners->scratch.data;
    l->found = (piece *)(void *)(l->items + 2 * count);
    return FIRN_OK;
}

// The pieces of each shared node block in the order of the colors they come from.
static void order_pieces(linking *l)
{
    firn_owners *owners = l->owners;
    shared_node *shared = owners->shared.data;
    piece *pieces = owners->pieces.data;
    firn_bit_range bits = {32, 37 + firn_bit_count(owners->shared_count)};
    const uint64_t *items =
        firn_radix_sort(l->items, l->items + l->found_count, l->found_count, bits, l->thread_count);
    for (size_t j = 0; j < owners->shared_count; j++)
        shared[j].begin = shared[j].end = 0;
    for (size_t i = 0; i < l->found_count; i++) {
        shared_node *node = &shared[items[i] >> 37];
        pieces[i] = l->found[items[i] & UINT32_MAX];
        if (node->end == 0)
            node->begin = (uint32_t)i;
        node->end = (uint32_t)i + 1;
    }
}

firn_result firn_halo_link(firn_owners *owners, firn_grid *grid, firn_block *blocks, size_t count,
                           int thread_count, firn_error *error)
{
    linking l = {.owners = owners,
                 .grid = grid,
                 .blocks = blocks,
                 .count = count,
                 .node_count = grid->map.count,
                 .thread_count = thread_count};
    FIRN_TRY(find_holders(&l, error));
    FIRN_TRY(list_shared(&l, error));
    FIRN_TRY(firn_array_claim(owners->budget, &owners->places, count + 1, sizeof(uint32_t), error));
    firn_peer *peers = owners->peers.data;
    for (size_t r = 0; r < rank_count(owners); r++)
        peers[r].out.begin = 0;
    visit_own(&l, NULL);
    visit_ghosts(&l, false);
    FIRN_TRY(claim_pieces(&l, error));
    visit_own(&l, owners->out.data);
    visit_ghosts(&l, true);
    order_pieces(&l);
    return FIRN_OK;
}

static float *layer_of(const firn_owners *owners, uint32_t offset, uint32_t floats, int layer)
{
    size_t layers = (size_t)owners->layer_count;
    return (float *)owners->tiles.data + offset * layers + floats * (size_t)layer;
}

// Adds the part of a tile in a node block.
static void add_part(float *nodes, const float *tile, const span *s, firn_tile_box box)
{
    for (int x = 0; x < s->count[0]; x++)
        for (int y = 0; y < s->count[1]; y++) {
            int tx = s->tile[0] + x, ty = s->tile[1] + y;
            if (tx < box.x0 || tx >= box.x1 || ty < box.y0 || ty >= box.y1)
                continue;
            const float *from =
                tile + tx * TILE_PLANE + ty * TILE_ROW + TILE_FIRST + 4 * s->tile[2];
            float *to = nodes + 64 * (s->first[0] + x) + 16 * (s->first[1] + y) + 4 * s->first[2];
            for (int i = 0; i < 4 * s->count[2]; i++)
                to[i] += from[i];
        }
}

// Keeps it instead; rows that no particle touches are zero.
static void keep_part(float *to, const float *tile, const span *s, firn_tile_box box)
{
    size_t row = 4 * (size_t)s->count[2];
    for (int x = 0; x < s->count[0]; x++)
        for (int y = 0; y < s->count[1]; y++, to += row) {
            int tx = s->tile[0] + x, ty = s->tile[1] + y;
            if (tx < box.x0 || tx >= box.x1 || ty < box.y0 || ty >= box.y1)
                memset(to, 0, row * sizeof *to);
            else
                memcpy(to, tile + tx * TILE_PLANE + ty * TILE_ROW + TILE_FIRST + 4 * s->tile[2],
                       row * sizeof *to);
        }
}

void firn_halo_take(const firn_grid *grid, firn_node_field field, const firn_block *block,
                    const float *tile, firn_tile_box box)
{
    const firn_owners *owners = grid->owners;
    size_t b = (size_t)(block - firn_grid_blocks(grid));
    const uint32_t *offsets =
        (const uint32_t *)owners->offsets.data + ((const uint32_t *)owners->places.data)[b];
    int layer = field == owners->field[0] ? 0 : 1;
    for (int n = 0; n < FIRN_NEIGHBORS; n++) {
        if (block->near[n] < 0)
            continue;
        span s = span_of(n, grid->order);
        if (offsets[n] == NOT_SHARED)
            add_part(firn_grid_nodes(grid, field, (size_t)block->near[n]), tile, &s, box);
        else
            keep_part(layer_of(owners, offsets[n], piece_floats(n, grid->order), layer), tile, &s,
                      box);
    }
}

void firn_halo_begin(firn_owners *owners, const firn_node_field *fields, int field_count)
{
    if (!firn_owners_shared(owners))
        return;
    owners->layer_count = field_count;
    for (int i = 0; i < field_count; i++)
        owners->field[i] = fields[i];
    // Blocks that sleep give nothing.
    if (owners->own_floats > 0)
        memset(owners->tiles.data, 0, owners->own_floats * (size_t)field_count * sizeof(float));
}

static void send_pieces(firn_owners *owners)
{
    const firn_peer *peers = owners->peers.data;
    const out_piece *out = owners->out.data;
    const float *tiles = owners->tiles.data;
    size_t layers = (size_t)owners->layer_count;
    firn_parcel *send = firn_owners_parcels(owners), *receive = send + rank_count(owners);
    float *at = owners->send.data;
    for (size_t r = 0; r < rank_count(owners); r++) {
        size_t come = peers[r].floats.end - peers[r].floats.begin;
        if (come > 0)
            receive[r] = (firn_parcel){(float *)owners->tiles.data + layers * peers[r].floats.begin,
                                       layers * come * sizeof(float)};
        if (peers[r].out_floats > 0)
            send[r] = (firn_parcel){at, layers * peers[r].out_floats * sizeof(float)};
        for (size_t i = peers[r].out.begin; i < peers[r].out.end; i++) {
            memcpy(at, tiles + layers * out[i].offset, layers * out[i].floats * sizeof(float));
            at += layers * out[i].floats;
        }
    }
    const firn_rank_stats before = owners->account;
    firn_owners_send(owners, send, receive);
    owners->account.halo += owners->account.sent - before.sent;
    owners->account.halo_seconds += owners->account.waited - before.waited;
}

// Adds a piece to the rows of a node block that particles can reach.
static void add_piece(float *nodes, const float *from, const span *s, uint32_t rows)
{
    for (int x = s->first[0]; x < s->first[0] + s->count[0]; x++)
        for (int y = s->first[1]; y < s->first[1] + s->count[1]; y++, from += 4 * s->count[2]) {
            float *to = nodes + 64 * x + 16 * y + 4 * s->first[2];
            for (int i = 0; (rows >> (4 * x + y) & 1) != 0 && i < 4 * s->count[2]; i++)
                to[i] += from[i];
        }
}

void firn_halo_end(firn_owners *owners, const firn_grid *grid, int thread_count)
{
    if (!firn_owners_shared(owners))
        return;
    send_pieces(owners);
    const shared_node *shared = owners->shared.data;
    const piece *pieces = owners->pieces.data;
    size_t count = owners->shared_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(thread_count)
    for (size_t j = 0; j < count; j++)
        for (uint32_t i = shared[j].begin; i < shared[j].end; i++) {
            int n = pieces[i].neighbor;
            span s = span_of(n, grid->order);
            for (int layer = 0; layer < owners->layer_count; layer++)
                add_piece(firn_grid_nodes(grid, owners->field[layer], shared[j].node),
                          layer_of(owners, pieces[i].offset, piece_floats(n, grid->order), layer),
                          &s, firn_grid_rows(grid, shared[j].node));
        }
}
