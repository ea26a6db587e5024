/// Stable sort of the particles by block, model and cell, and the blocks that follow from it.
///
/// Between two sorts particles drift into the blocks next to their own at most. Every present block
/// groups its particles by the neighbor they go; every new block then takes one group of each
/// present block around it, in the order of these, and behind them what comes from elsewhere: new
/// particles and those that were moved far. Nothing depends on how threads share the work.
#include "grid.h"

#include "base/radix.h"
#include "sorting.h"

#include <string.h>

enum {
    PLACES = FIRN_BLOCK_NODES * FIRN_MODEL_COUNT, // cells of a block, once for each model
    FEW = 16, // particles of a block that are sorted by comparing
};

/// Who leases scratch memory here.
static const char holder[] = "sort";

// Adds the keys of the blocks that the particles of a present block go to.
static bool add_keys_of_block(firn_block_map *map, const firn_sorting *s, size_t b)
{
    const firn_moves *moves = &s->moves[b];
    const uint32_t *order = s->order;
    firn_coord coord = firn_grid_blocks(s->grid)[b].coord;
    bool fits = true;
    for (int neighbor = 0; neighbor < FIRN_NEIGHBORS; neighbor++)
        if (firn_group_size(moves, neighbor) > 0)
            fits &= firn_block_map_add(map, firn_block_key(firn_block_neighbor(coord, neighbor)));
    for (uint32_t i = moves->begin[FIRN_MOVE_FAR]; i < moves->begin[FIRN_MOVE_FAR + 1]; i++)
        fits &= firn_block_map_add(map, firn_sort_far_key(s, b, order[i]));
    return fits;
}

static size_t count_new(const firn_sorting *s) { return s->particles->count - s->sorted_count; }

static bool add_all_keys(firn_block_map *map, const void *user)
{
    const firn_sorting *s = user;
    size_t present = s->origin_count, fresh = count_new(s);
    bool fits = true;
#pragma omp parallel num_threads(s->thread_count) reduction(&& : fits)
    {
#pragma omp for schedule(dynamic, 64) nowait
        for (size_t b = 0; b < present; b++)
            fits = fits && add_keys_of_block(map, s, b);
#pragma omp for schedule(dynamic, 4096)
        for (size_t i = 0; i < fresh; i++)
            fits = fits && (!firn_sort_keeps_new(s, i) || firn_block_map_add(map, s->new_keys[i]));
    }
    return fits;
}

// The new blocks, each with the present ones that particles come from: near is where these are.
static firn_result make_blocks(firn_sorting *s, firn_error *error)
{
    firn_grid *grid = s->grid;
    firn_block_filling filling = {
        .budget = grid->budget,
        .scratch = &grid->scratch,
        .expected = grid->block_count + grid->block_count / 2,
        .thread_count = s->thread_count,
        .add = add_all_keys,
        .user = s,
    };
    FIRN_TRY(firn_block_map_fill(&grid->map, &filling, error));
    s->block_count = grid->map.count;
    // Never fewer than before: a snapshot of the blocks must find room when it is brought back.
    size_t held = grid->blocks.bytes / sizeof(firn_block);
    size_t wanted = s->block_count + 1 > held ? s->block_count + 1 : held;
    FIRN_TRY(firn_array_claim(grid->budget, &s->blocks, wanted, sizeof(firn_block), error));
    firn_block *blocks = s->blocks.data;
    const uint64_t *keys = grid->map.keys.data;
#pragma omp parallel for schedule(static) num_threads(s->thread_count)
    for (size_t b = 0; b < s->block_count; b++) {
        blocks[b].coord = firn_block_coord(keys[b]);
        blocks[b].border = blocks[b].phase = 0;
        memset(blocks[b].near, -1, sizeof blocks[b].near);
    }
#pragma omp parallel for schedule(dynamic, 64) num_threads(s->thread_count)
    for (size_t b = 0; b < s->origin_count; b++)
        for (int neighbor = 0; neighbor < FIRN_NEIGHBORS; neighbor++)
            if (firn_group_size(&s->moves[b], neighbor) > 0) {
                firn_coord to = firn_block_neighbor(firn_grid_blocks(grid)[b].coord, neighbor);
                int32_t number = firn_block_map_find(&grid->map, firn_block_key(to));
                blocks[number].near[FIRN_NEIGHBORS - 1 - neighbor] = (int32_t)b;
            }
    return FIRN_OK;
}

static uint64_t loose_item(const firn_sorting *s, uint64_t key, size_t p)
{
    return (uint64_t)firn_block_map_find(&s->grid->map, key) << 32 | (uint64_t)p;
}

// Present block number i in the order of keys, which is that of ranks.
static size_t origin_at(const firn_sorting *s, size_t i)
{
    size_t own = s->grid->block_count, lower = s->lower_count;
    return i < lower ? own + i : i < lower + own ? i - lower : i;
}

// Particles that do not come from a block next to their new one, in the order of the new blocks.
static firn_result gather_loose(firn_sorting *s, firn_error *error)
{
    const uint32_t *order = s->order;
    size_t far = 0, most = count_new(s), count = 0;
    for (size_t b = 0; b < s->origin_count; b++)
        far += firn_group_size(&s->moves[b], FIRN_MOVE_FAR);
    FIRN_TRY(firn_array_claim(s->grid->budget, &s->grid->scratch, 2 * (far + most) + 1,
                              sizeof(uint64_t), error));
    uint64_t *items = s->grid->scratch.data;
    for (size_t k = 0; far > 0 && k < s->origin_count; k++) {
        size_t b = origin_at(s, k);
        for (uint32_t i = s->moves[b].begin[FIRN_MOVE_FAR];
             i < s->moves[b].begin[FIRN_MOVE_FAR + 1]; i++)
            items[count++] = loose_item(s, firn_sort_far_key(s, b, order[i]), order[i]);
    }
    const uint64_t dropped = (uint64_t)s->block_count << 32;
#pragma omp parallel for schedule(static) num_threads(s->thread_count)
    for (size_t i = 0; i < most; i++)
        items[count + i] = firn_sort_keeps_new(s, i)
                               ? loose_item(s, s->new_keys[i], s->sorted_count + i)
                               : dropped;
    count += most;
    firn_bit_range bits = {32, 32 + firn_bit_count(s->block_count)};
    s->loose = firn_radix_sort(items, items + count, count, bits, s->thread_count);
    s->loose_count = count;
    return FIRN_OK;
}

// The first loose item of a new block, or of the next one that has any.
static size_t first_loose(const firn_sorting *s, size_t block)
{
    size_t low = 0, high = s->loose_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->loose[middle] >> 32 < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Sizes in parallel, then their sum: the particles of each block.
static void place_blocks(firn_sorting *s)
{
    firn_block *blocks = s->blocks.data;
#pragma omp parallel for schedule(static) num_threads(s->thread_count)
    for (size_t b = 0; b < s->block_count; b++) {
        size_t size = first_loose(s, b + 1) - first_loose(s, b);
        for (int n = 0; n < FIRN_NEIGHBORS; n++)
            if (blocks[b].near[n] >= 0)
                size += firn_group_size(&s->moves[blocks[b].near[n]], FIRN_NEIGHBORS - 1 - n);
        blocks[b].end = (uint32_t)size;
    }
    uint32_t sum = 0;
    for (size_t b = 0; b < s->block_count; b++) {
        blocks[b].begin = sum;
        sum += blocks[b].end;
        blocks[b].end = sum;
    }
}

// Some particles of a new block, in the order of their present places.
typedef struct part {
    const uint32_t *particles; // NULL: the loose ones from first on
    size_t first, count;
} part;

enum { PARTS = FIRN_NEIGHBORS + 1 };

static int list_parts(const firn_sorting *s, size_t b, part parts[PARTS])
{
    const firn_block *block = &((const firn_block *)s->blocks.data)[b];
    const uint32_t *order = s->order;
    int count = 0;
    for (int n = 0; n < FIRN_NEIGHBORS; n++) {
        if (block->near[n] < 0)
            continue;
        const firn_moves *moves = &s->moves[block->near[n]];
        int neighbor = FIRN_NEIGHBORS - 1 - n;
        parts[count++] =
            (part){order + moves->begin[neighbor], 0, firn_group_size(moves, neighbor)};
    }
    size_t first = first_loose(s, b), end = first_loose(s, b + 1);
    if (end > first)
        parts[count++] = (part){NULL, first, end - first};
    return count;
}

static uint32_t particle_at(const firn_sorting *s, const part *p, size_t i)
{
    return p->particles != NULL ? p->particles[i] : (uint32_t)s->loose[p->first + i];
}

// Puts particles behind those of their places that are there; few, by comparing.
static void insert_part(const firn_sorting *s, const part *p, uint32_t *final, uint32_t filled)
{
    for (size_t i = 0; i < p->count; i++) {
        uint32_t particle = particle_at(s, p, i), place = firn_sort_place(s->codes[particle]),
                 at = filled++;
        for (; at > 0 && firn_sort_place(s->codes[final[at - 1]]) > place; at--)
            final[at] = final[at - 1];
        final[at] = particle;
    }
}

// Many, by counting.
static void order_many(const firn_sorting *s, const part *parts, int count, uint32_t *final)
{
    uint32_t at[PLACES], sum = 0;
    int places = s->model != NULL ? PLACES : FIRN_BLOCK_NODES;
    memset(at, 0, (size_t)places * sizeof *at);
    for (int k = 0; k < count; k++)
        for (size_t i = 0; i < parts[k].count; i++)
            at[firn_sort_place(s->codes[particle_at(s, &parts[k], i)])]++;
    for (int c = 0; c < places; c++) {
        uint32_t here = at[c];
        at[c] = sum;
        sum += here;
    }
    for (int k = 0; k < count; k++)
        for (size_t i = 0; i < parts[k].count; i++) {
            uint32_t particle = particle_at(s, &parts[k], i);
            final[at[firn_sort_place(s->codes[particle])]++] = particle;
        }
}

// Positions in a block may drift by a cell along each axis, in either direction.
static void find_reach(const firn_sorting *s, firn_block *block, const uint32_t *final)
{
    uint32_t seen[3] = {0, 0, 0}; // a bit for each cell along an axis
    for (uint32_t i = 0; i < block->end - block->begin; i++) {
        uint32_t cell = firn_sort_cell(s->codes[final[i]]);
        seen[0] |= 1u << (cell >> 4);
        seen[1] |= 1u << (cell >> 2 & 3);
        seen[2] |= 1u << (cell & 3);
    }
    for (int axis = 0; axis < 3; axis++) {
        int least = 0;
        while (least < 3 && (seen[axis] >> least & 1) == 0)
            least++;
        block->low[axis] = (int8_t)(least - 1);
        block->high[axis] = (int8_t)(firn_bit_count(seen[axis]) + 1);
    }
}

// Where the particles of each model end in a block that has been ordered.
static void find_segments(const firn_sorting *s, firn_block *block, const uint32_t *final)
{
    if (s->model == NULL) {
        firn_block_set_model(block, s->grid->materials->model[0]);
        return;
    }
    uint32_t i = 0, count = block->end - block->begin;
    for (int m = 0; m < FIRN_MODEL_COUNT; m++) {
        while (i < count && firn_sort_model(s->codes[final[i]]) == m)
            i++;
        block->model_end[m] = block->begin + i;
    }
}

// Within a block, particles of one cell stand together. Writes the final order. A block that keeps
// the number of its particles keeps its rest; the others were disturbed.
static void order_block(const firn_sorting *s, size_t b)
{
    firn_block *block = &((firn_block *)s->blocks.data)[b];
    uint32_t *final = s->final + block->begin;
    uint32_t count = block->end - block->begin, filled = 0;
    part parts[PARTS];
    int part_count = list_parts(s, b, parts);
    if (count > FEW)
        order_many(s, parts, part_count, final);
    for (int k = 0; count <= FEW && k < part_count; k++) {
        insert_part(s, &parts[k], final, filled);
        filled += (uint32_t)parts[k].count;
    }
    find_reach(s, block, final);
    find_segments(s, block, final);
    block->rest = 0.0f;
    if (block->near[FIRN_MOVE_STAY] >= 0) {
        const firn_block *before = &firn_grid_blocks(s->grid)[block->near[FIRN_MOVE_STAY]];
        block->rest = before->end - before->begin == count ? before->rest : 0.0f;
    }
}

static void wrap_positions(const firn_sorting *s)
{
    size_t count = firn_sort_count(s);
    for (int axis = 0; axis < 3; axis++) {
        float *u = firn_channel_of(s->particles, FIRN_U + axis);
#pragma omp parallel for schedule(static) num_threads(s->thread_count)
        for (size_t p = 0; p < count; p++)
            if (!(u[p] >= 0.0f && u[p] < 4.0f))
                u[p] -= 4.0f * firn_blocks_below(u[p]);
    }
}

// The final order needs memory until the particles have moved. In explicit steps that of the nodes
// of the next substep is at hand: a sort makes them void.
static firn_result lease_final(firn_sorting *s, size_t count, firn_error *error)
{
    firn_grid *grid = s->grid;
    firn_scratch *word = &grid->words[FIRN_WORD_FINAL];
    if (!firn_grid_has(grid, FIRN_NODE_NEXT)) {
        FIRN_TRY(firn_scratch_reserve(grid->budget, word, count, sizeof(uint32_t), error));
        s->final = firn_scratch_lease(word, holder, count, sizeof(uint32_t));
        return FIRN_OK;
    }
    s->next = grid->field[FIRN_NODE_NEXT];
    grid->field[FIRN_NODE_NEXT] = (firn_array){NULL, 0};
    FIRN_TRY(firn_array_claim(grid->budget, &s->next, count, sizeof(uint32_t), error));
    s->final = s->next.data;
    return FIRN_OK;
}

// Particles have come from other ranks.
static firn_result grow_final(firn_sorting *s, size_t count, firn_error *error)
{
    firn_grid *grid = s->grid;
    if (firn_grid_has(grid, FIRN_NODE_NEXT)) {
        FIRN_TRY(firn_array_claim(grid->budget, &s->next, count, sizeof(uint32_t), error));
        s->final = s->next.data;
        return FIRN_OK;
    }
    firn_scratch_release(&grid->words[FIRN_WORD_FINAL], holder);
    return lease_final(s, count, error);
}

static firn_result lease_scratch(firn_sorting *s, firn_error *error)
{
    firn_grid *grid = s->grid;
    firn_scratch *word = &grid->words[FIRN_WORD_ORDER];
    size_t count = s->particles->count + FIRN_PADDING;
    FIRN_TRY(lease_final(s, count, error));
    if (grid->owners != NULL)
        return firn_sort_claim(s, s->particles->count, error);
    FIRN_TRY(firn_scratch_reserve(grid->budget, word, count, sizeof(uint32_t), error));
    s->order = firn_scratch_lease(word, holder, count, sizeof(uint32_t));
    s->codes = (uint32_t *)firn_particles_lease_spare(s->particles, holder);
    return FIRN_OK;
}

static void release_codes(firn_sorting *s)
{
    // Where there are no particles the spare slot is NULL.
    if (s->particles->spare_holder == holder)
        firn_particles_release_spare(s->particles, holder);
    s->codes = NULL;
}

static void release_scratch(firn_sorting *s)
{
    firn_grid *grid = s->grid;
    release_codes(s);
    if (grid->owners != NULL) {
        firn_array_relax(grid->budget, &grid->owners->codes);
        firn_array_relax(grid->budget, &grid->owners->order);
    }
    if (grid->words[FIRN_WORD_ORDER].holder != NULL)
        firn_scratch_release(&grid->words[FIRN_WORD_ORDER], holder);
    if (firn_grid_has(grid, FIRN_NODE_NEXT))
        grid->field[FIRN_NODE_NEXT] = s->next;
    else if (grid->words[FIRN_WORD_FINAL].holder != NULL)
        firn_scratch_release(&grid->words[FIRN_WORD_FINAL], holder);
}

// From here on nothing can fail: particles and blocks take their new places.
static void commit(firn_sorting *s)
{
    firn_grid *grid = s->grid;
    const firn_block *blocks = s->blocks.data;
    firn_grid_color(grid, blocks, s->block_count, s->thread_count);
    wrap_positions(s);
    size_t kept = s->block_count > 0 ? blocks[s->block_count - 1].end : 0;
    release_codes(s); // the particles move through that memory
    firn_particles_permute(s->particles, s->final, kept, s->thread_count);
    firn_array_free(grid->budget, &grid->blocks);
    grid->blocks = s->blocks;
    grid->block_count = s->block_count;
    grid->node_block_count = grid->map.count;
    const uint64_t *keys = grid->map.keys.data;
    firn_coord *coords = grid->node_coord.data;
#pragma omp parallel for schedule(static) num_threads(s->thread_count)
    for (size_t i = 0; i < grid->node_block_count; i++)
        coords[i] = firn_block_coord(keys[i]);
    // Many new particles need much memory, once.
    if (s->loose_count > kept / 4)
        firn_array_relax(grid->budget, &grid->scratch);
}

static firn_result reserve_fields(firn_sorting *s, firn_error *error)
{
    firn_grid *grid = s->grid;
    for (int f = 0; f < FIRN_NODE_FIELD_COUNT; f++) {
        firn_array *memory = f == FIRN_NODE_NEXT ? &s->next : &grid->field[f];
        if (firn_grid_has(grid, (firn_node_field)f))
            FIRN_TRY(firn_array_reserve(grid->budget, memory, grid->map.count,
                                        FIRN_BLOCK_FLOATS * sizeof(float), error));
    }
    if (firn_grid_has(grid, FIRN_NODE_NEXT))
        s->final = s->next.data; // it may have moved
    return FIRN_OK;
}

// Where the particles of the present blocks go.
static firn_result group_blocks(firn_sorting *s, firn_error *error)
{
    firn_grid *grid = s->grid;
    firn_budget *budget = grid->budget;
    size_t fresh = count_new(s);
    FIRN_TRY(lease_scratch(s, error));
    FIRN_TRY(
        firn_array_claim(budget, &grid->moves, grid->block_count + 1, sizeof(firn_moves), error));
    s->moves = grid->moves.data;
#pragma omp parallel for schedule(dynamic, 16) num_threads(s->thread_count)
    for (size_t b = 0; b < grid->block_count; b++)
        firn_sort_group_block(s, b);
#pragma omp parallel for schedule(static) num_threads(s->thread_count)
    for (size_t i = 0; i < fresh; i++)
        s->codes[s->sorted_count + i] = firn_sort_new_code(s, s->sorted_count + i);
    s->origin_count = grid->block_count;
    return FIRN_OK;
}

// The new blocks and the order of their particles.
static firn_result order_blocks(firn_sorting *s, firn_error *error)
{
    if (s->arrival_count > 0)
        FIRN_TRY(grow_final(s, firn_sort_count(s) + FIRN_PADDING, error));
    FIRN_TRY(make_blocks(s, error));
    FIRN_TRY(gather_loose(s, error));
    place_blocks(s);
#pragma omp parallel for schedule(dynamic, 16) num_threads(s->thread_count)
    for (size_t b = 0; b < s->block_count; b++)
        order_block(s, b);
    return FIRN_OK;
}

// The nodes of the new blocks.
static firn_result claim_nodes(firn_sorting *s, firn_error *error)
{
    firn_grid *grid = s->grid;
    firn_budget *budget = grid->budget;
    FIRN_TRY(firn_grid_find_nodes(grid, s->blocks.data, s->block_count, s->thread_count, error));
    FIRN_TRY(
        firn_array_reserve(budget, &grid->node_coord, grid->map.count, sizeof(firn_coord), error));
    FIRN_TRY(firn_array_reserve(budget, &grid->color_blocks, s->block_count + 1, sizeof(uint32_t),
                                error));
    FIRN_TRY(
        firn_array_claim(budget, &grid->scratch, 2 * s->block_count + 1, sizeof(uint64_t), error));
    return reserve_fields(s, error);
}

// Everything that may fail, in scratch memory and new blocks.
static firn_result prepare(firn_sorting *s, firn_error *error)
{
    FIRN_TRY(group_blocks(s, error));
    FIRN_TRY(order_blocks(s, error));
    return claim_nodes(s, error);
}

// The same together with other ranks, who must not wait for one that failed.
static firn_result prepare_shared(firn_sorting *s, firn_error *error)
{
    firn_grid *grid = s->grid;
    firn_owners *owners = grid->owners;
    const uint32_t *ids = (const uint32_t *)firn_channel_of(s->particles, FIRN_ID);
    bool scattered = count_new(s) > 0 && ids[s->sorted_count] < owners->scattered_end;
    FIRN_TRY(firn_owners_cut(owners, grid, s->new_keys, count_new(s), scattered, s->thread_count,
                             error));
    FIRN_TRY(firn_sort_migrate(s, group_blocks(s, error), error));
    firn_result result = order_blocks(s, error);
    FIRN_TRY(firn_ghosts_gather(owners, s->blocks.data, s->block_count, result, error));
    result = claim_nodes(s, error);
    if (result == FIRN_OK)
        result =
            firn_halo_link(owners, grid, s->blocks.data, s->block_count, s->thread_count, error);
    FIRN_TRY(firn_owners_agree(owners, result, error));
    if (!owners->needs_lee)
        return FIRN_OK;
    return firn_owners_agree(owners, firn_lee_link(owners, grid, s->thread_count, error), error);
}

firn_result firn_grid_sort(firn_grid *grid, firn_particles *particles, const firn_bounds *bounds,
                           const uint64_t *new_keys, size_t sorted_count, int thread_count,
                           firn_error *error)
{
    firn_sorting s = {
        .grid = grid,
        .particles = particles,
        .bounds = bounds,
        .new_keys = new_keys,
        .sorted_count = sorted_count,
        .thread_count = thread_count,
        .model = grid->materials->mixed ? grid->materials->model : NULL,
        .u = {firn_channel_of(particles, FIRN_U), firn_channel_of(particles, FIRN_U + 1),
              firn_channel_of(particles, FIRN_U + 2)},
    };
    firn_result result = grid->owners == NULL ? prepare(&s, error) : prepare_shared(&s, error);
    if (result == FIRN_OK)
        commit(&s);
    else
        firn_array_free(grid->budget, &s.blocks);
    release_scratch(&s);
    return result;
}
