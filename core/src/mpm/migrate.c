/// Particles that a sort brings to another rank.
///
/// A present block sends its groups to the ranks that own the blocks these go to, together with its
/// own place. There it stands behind the present blocks, with the groups that came, and its
/// particles stand behind the new ones: the sort takes them for what they are, groups of a block
/// next to their new one, in the order that one rank has. New intervals need nothing more: blocks
/// that change their owner are groups that stay in their block.
#include "sorting.h"

#include <string.h>

enum { GROUPS = FIRN_MOVE_FAR + 1 }; // that can be sent

/// A present block of another rank, or what another rank is told of an own one.
typedef struct origin {
    firn_coord coord;
    uint32_t size;          // particles of the block, those included that are not sent
    float rest;             // s
    uint32_t group[GROUPS]; // particles that are sent
} origin;

/// What goes to a rank or comes from it.
typedef struct cargo {
    size_t origins, particles;
} cargo;

static size_t rank_count(const firn_sorting *s)
{
    return (size_t)s->grid->owners->exchange.rank_count;
}

static cargo *cargo_out(const firn_sorting *s) { return s->grid->owners->counts.data; }

static size_t align(size_t bytes) { return (bytes + 15) / 16 * 16; }

// One piece of memory: origins, channels, materials.
static size_t cargo_bytes(const firn_sorting *s, cargo c)
{
    size_t channels = (size_t)s->particles->channel_count;
    return align(c.origins * sizeof(origin)) +
           align(c.particles * (channels * sizeof(float) + sizeof(uint8_t)));
}

// True when all that leaves block b comes to blocks of this rank: these are between the first and
// the last one around b, and keys rise.
static bool stays_here(const firn_sorting *s, size_t b)
{
    const firn_owners *owners = s->grid->owners;
    firn_coord coord = firn_grid_blocks(s->grid)[b].coord;
    return firn_group_size(&s->moves[b], FIRN_MOVE_FAR) == 0 &&
           firn_owners_own(owners, firn_block_key(firn_block_neighbor(coord, 0))) &&
           firn_owners_own(owners, firn_block_key(firn_block_neighbor(coord, FIRN_NEIGHBORS - 1)));
}

// The rank that a particle of a group of block b goes to.
static int target_of(const firn_sorting *s, size_t b, int group, uint32_t particle)
{
    uint64_t key =
        group == FIRN_MOVE_FAR
            ? firn_sort_far_key(s, b, particle)
            : firn_block_key(firn_block_neighbor(firn_grid_blocks(s->grid)[b].coord, group));
    return firn_owners_rank(s->grid->owners, key);
}

// Appends the particles of a group of block b that go to a rank; gives their number. Without a list
// they are counted only.
static size_t pick_group(const firn_sorting *s, size_t b, int group, int rank, uint32_t *list)
{
    const firn_moves *moves = &s->moves[b];
    const uint32_t *order = s->order;
    size_t count = 0;
    if (firn_group_size(moves, group) == 0 ||
        (group != FIRN_MOVE_FAR && target_of(s, b, group, 0) != rank))
        return 0;
    for (uint32_t i = moves->begin[group]; i < moves->begin[group + 1]; i++) {
        if (group == FIRN_MOVE_FAR && target_of(s, b, group, order[i]) != rank)
            continue;
        if (list != NULL)
            list[count] = order[i];
        count++;
    }
    return count;
}

// What a block sends to a rank; gives the number of particles.
static size_t pick(const firn_sorting *s, size_t b, int rank, origin *out, uint32_t *list)
{
    const firn_block *block = &firn_grid_blocks(s->grid)[b];
    size_t count = 0;
    *out = (origin){.coord = block->coord, .size = block->end - block->begin, .rest = block->rest};
    for (int g = 0; g < GROUPS; g++) {
        size_t picked = pick_group(s, b, g, rank, list != NULL ? list + count : NULL);
        out->group[g] = (uint32_t)picked;
        count += picked;
    }
    return count;
}

// Takes what other ranks get out of the groups of a block. Those removed are never looked at.
static void let_go(const firn_sorting *s, size_t b)
{
    const firn_moves before = s->moves[b];
    int own = s->grid->owners->exchange.rank;
    uint32_t *order = s->order, at = before.begin[0];
    for (int g = 0; g < GROUPS; g++) {
        s->moves[b].begin[g] = at;
        for (uint32_t i = before.begin[g]; i < before.begin[g + 1]; i++)
            if (target_of(s, b, g, order[i]) == own)
                order[at++] = order[i];
    }
    s->moves[b].begin[FIRN_MOVE_REMOVED] = at;
}

static void count_departures(const firn_sorting *s)
{
    cargo *out = cargo_out(s);
    memset(out, 0, rank_count(s) * sizeof *out);
    int ranks = (int)rank_count(s), own = s->grid->owners->exchange.rank;
    for (size_t b = 0; b < s->grid->block_count; b++)
        for (int r = 0; r < ranks && !stays_here(s, b); r++) {
            origin o;
            size_t count = r != own ? pick(s, b, r, &o, NULL) : 0;
            out[r].origins += count > 0;
            out[r].particles += count;
        }
}

static void pack_particles(const firn_sorting *s, const uint32_t *list, size_t count,
                           unsigned char *to)
{
    const firn_particles *p = s->particles;
    for (int c = 0; c < p->channel_count; c++) {
        const float *from = firn_channel_of(p, c);
        float *values = (float *)(void *)to + (size_t)c * count;
        for (size_t i = 0; i < count; i++)
            values[i] = from[list[i]];
    }
    const uint8_t *material = p->material.data;
    uint8_t *values = to + (size_t)p->channel_count * count * sizeof(float);
    for (size_t i = 0; i < count; i++)
        values[i] = material[list[i]];
}

// Fills the parcel for a rank.
static void pack(const firn_sorting *s, int rank, unsigned char *to)
{
    cargo c = cargo_out(s)[rank];
    uint32_t *list = s->grid->owners->scratch.data;
    origin *origins = (origin *)(void *)to;
    size_t filled = 0, particles = 0;
    for (size_t b = 0; b < s->grid->block_count && filled < c.origins; b++) {
        origin o;
        if (stays_here(s, b))
            continue;
        size_t count = pick(s, b, rank, &o, list + particles);
        if (count == 0)
            continue;
        origins[filled++] = o;
        particles += count;
    }
    pack_particles(s, list, particles, to + align(c.origins * sizeof *origins));
}

static void unpack_particles(const firn_sorting *s, const unsigned char *from, size_t count,
                             size_t first)
{
    const firn_particles *p = s->particles;
    for (int c = 0; c < p->channel_count && count > 0; c++)
        memcpy(firn_channel_of(p, c) + first, from + (size_t)c * count * sizeof(float),
               count * sizeof(float));
    if (count > 0)
        memcpy((uint8_t *)p->material.data + first,
               from + (size_t)p->channel_count * count * sizeof(float), count);
    for (size_t i = first; i < first + count; i++) {
        s->order[i] = (uint32_t)i;
        s->codes[i] = firn_sort_new_code(s, i);
    }
}

// Puts what a rank has sent behind the present blocks and particles.
static void unpack(firn_sorting *s, int rank, cargo c, const unsigned char *from)
{
    const origin *origins = (const origin *)(const void *)from;
    size_t first = firn_sort_count(s);
    uint32_t at = (uint32_t)first;
    unpack_particles(s, from + align(c.origins * sizeof *origins), c.particles, first);
    for (size_t i = 0; i < c.origins; i++) {
        size_t b = s->origin_count++;
        firn_grid_blocks(s->grid)[b] = (firn_block){
            .coord = origins[i].coord, .begin = 0, .end = origins[i].size, .rest = origins[i].rest};
        for (int g = 0; g < GROUPS; g++) {
            s->moves[b].begin[g] = at;
            at += origins[i].group[g];
        }
        s->moves[b].begin[GROUPS] = s->moves[b].begin[GROUPS + 1] = at;
    }
    s->arrival_count += c.particles;
    if (rank < s->grid->owners->exchange.rank)
        s->lower_count += c.origins;
}

firn_result firn_sort_claim(firn_sorting *s, size_t count, firn_error *error)
{
    firn_owners *owners = s->grid->owners;
    firn_array *arrays[2] = {&owners->codes, &owners->order};
    for (int i = 0; i < 2; i++)
        FIRN_TRY(firn_array_reserve(owners->budget, arrays[i], count + FIRN_PADDING,
                                    sizeof(uint32_t), error));
    s->codes = owners->codes.data;
    s->order = owners->order.data;
    return FIRN_OK;
}

// Memory for all that comes and goes.
static firn_result reserve(firn_sorting *s, const cargo *in, firn_error *error)
{
    firn_owners *owners = s->grid->owners;
    firn_budget *budget = owners->budget;
    const cargo *out = cargo_out(s);
    size_t origins = s->origin_count + 1, count = s->particles->count;
    size_t send = 1, receive = 1, most = 1; // nowhere an array without memory
    for (size_t r = 0; r < rank_count(s); r++) {
        send += cargo_bytes(s, out[r]);
        receive += cargo_bytes(s, in[r]);
        origins += in[r].origins;
        count += in[r].particles;
        most = out[r].particles > most ? out[r].particles : most;
    }
    FIRN_TRY(firn_array_claim(budget, &owners->send, send, 1, error));
    FIRN_TRY(firn_array_claim(budget, &owners->receive, receive, 1, error));
    FIRN_TRY(firn_array_claim(budget, &owners->scratch, most, sizeof(uint32_t), error));
    FIRN_TRY(firn_particles_reserve(s->particles, count, error));
    for (int axis = 0; axis < 3; axis++)
        s->u[axis] = firn_channel_of(s->particles, FIRN_U + axis);
    FIRN_TRY(firn_sort_claim(s, count, error));
    FIRN_TRY(firn_array_reserve(budget, &s->grid->moves, origins, sizeof(firn_moves), error));
    FIRN_TRY(firn_array_reserve(budget, &s->grid->blocks, origins, sizeof(firn_block), error));
    s->moves = s->grid->moves.data;
    return FIRN_OK;
}

// How much goes and comes: origins in the high half, particles in the low.
static void tell_cargo(const firn_sorting *s, cargo *in)
{
    firn_owners *owners = s->grid->owners;
    uint64_t *to = owners->numbers.data, *from = to + rank_count(s);
    for (size_t r = 0; r < rank_count(s); r++)
        to[r] = (uint64_t)cargo_out(s)[r].origins << 32 | cargo_out(s)[r].particles;
    firn_owners_numbers(owners, to, from);
    for (size_t r = 0; r < rank_count(s); r++)
        in[r] = (cargo){(size_t)(from[r] >> 32), (size_t)(from[r] & UINT32_MAX)};
}

static void exchange(firn_sorting *s, const cargo *in)
{
    firn_owners *owners = s->grid->owners;
    firn_parcel *send = firn_owners_parcels(owners), *receive = send + rank_count(s);
    unsigned char *out = owners->send.data, *back = owners->receive.data;
    for (int r = 0; r < (int)rank_count(s); r++) {
        send[r] = (firn_parcel){out, cargo_bytes(s, cargo_out(s)[r])};
        receive[r] = (firn_parcel){back, cargo_bytes(s, in[r])};
        if (send[r].bytes > 0)
            pack(s, r, out);
        out += send[r].bytes;
        back += receive[r].bytes;
    }
    firn_owners_send(owners, send, receive);
    for (size_t b = 0; b < s->grid->block_count; b++)
        if (!stays_here(s, b))
            let_go(s, b);
    for (int r = 0; r < (int)rank_count(s); r++)
        if (receive[r].bytes > 0)
            unpack(s, r, in[r], receive[r].data);
}

firn_result firn_sort_migrate(firn_sorting *s, firn_result result, firn_error *error)
{
    firn_owners *owners = s->grid->owners;
    FIRN_TRY(firn_owners_agree(owners, result, error));
    cargo *in = cargo_out(s) + rank_count(s);
    count_departures(s);
    tell_cargo(s, in);
    FIRN_TRY(firn_owners_agree(owners, reserve(s, in, error), error));
    exchange(s, in);
    // New intervals move much, once.
    firn_array *arrays[] = {&owners->send, &owners->receive, &owners->scratch};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_relax(owners->budget, arrays[i]);
    return FIRN_OK;
}
