/// What colliders take during the implicit solve.
///
/// At nodes that colliders hold some components of the velocity are given, and M v' = M v* - s H
/// v', s = beta dt^2, lacks what keeps them so: s H v' in these components is what the collider
/// gives the snow, and the opposite what it takes, method.md (41). Only its sums over blocks are
/// wanted, and these are linear: they follow from the products of the iteration by the recurrence
/// that the velocities follow. No field is kept and no product added.
#include "sim_state.h"

#include <math.h>
#include <string.h>

// Three normals with a smaller determinant, or two with a smaller squared sine, count as one less.
#define LEAST_VOLUME 0.05
#define LEAST_SINE2 0.02

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double c[3])
{
    for (int i = 0; i < 3; i++)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

// How much of v each of up to three normals carries; what none does is left in v.
static void split(double v[3], double normal[3][3], int count, double part[3])
{
    double across[3][3], volume, sine2, cosine = dot(normal[0], normal[1]);
    for (int i = 0; i < 3; i++)
        cross(normal[(i + 1) % 3], normal[(i + 2) % 3], across[i]);
    volume = dot(normal[0], across[0]);
    sine2 = dot(across[2], across[2]);
    part[0] = part[1] = part[2] = 0.0;
    if (count == 3 && fabs(volume) > LEAST_VOLUME) {
        for (int i = 0; i < 3; i++)
            part[i] = dot(v, across[i]) / volume;
    } else if (sine2 > LEAST_SINE2) {
        double a = dot(v, normal[0]), b = dot(v, normal[1]);
        part[0] = (a - cosine * b) / sine2;
        part[1] = (b - cosine * a) / sine2;
    }
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++)
            v[i] -= part[k] * normal[k][i];
}

static void add(firn_impulse *sum, firn_vec3 position, const double p[3])
{
    const double x[3] = {position.x, position.y, position.z};
    double angular[3];
    cross(x, p, angular);
    for (int i = 0; i < 3; i++) {
        sum->linear[i] += p[i];
        sum->angular[i] += angular[i];
    }
}

// Gives v to the holders of a node: along their normals, the rest to the first.
static void give(firn_impulse *sums, const firn_vec3 *normals, uint32_t holders, firn_vec3 position,
                 const float v[3])
{
    int held[3], count = 0;
    for (int i = 0; count < 3 && holders >> i != 0; i++)
        if (holders >> i & 1)
            held[count++] = i;
    double rest[3] = {(double)v[0], (double)v[1], (double)v[2]};
    if (count > 1) {
        double normal[3][3] = {{0.0}}, part[3];
        for (int k = 0; k < count; k++) {
            firn_vec3 n = normals[held[k]];
            normal[k][0] = (double)n.x;
            normal[k][1] = (double)n.y;
            normal[k][2] = (double)n.z;
        }
        split(rest, normal, count, part);
        for (int k = 0; k < count; k++) {
            const double p[3] = {part[k] * normal[k][0], part[k] * normal[k][1],
                                 part[k] * normal[k][2]};
            add(&sums[held[k]], position, p);
        }
    }
    add(&sums[held[0]], position, rest);
}

/// A node block with colliders.
typedef struct held_block {
    size_t b, entry, count; // its entries in the lists
    firn_coord coord;
    const float *contact, *velocity, *product; // of its nodes
} held_block;

static bool open_block(const firn_sim *sim, size_t b, held_block *block)
{
    const uint32_t *begin = (const uint32_t *)sim->contact.nodes.begin.data + b;
    if (begin[0] == begin[1])
        return false;
    const firn_grid *grid = &sim->grid;
    *block = (held_block){
        .b = b,
        .entry = begin[0],
        .count = begin[1] - begin[0],
        .coord = ((const firn_coord *)grid->node_coord.data)[b],
        .contact = firn_grid_nodes(grid, FIRN_NODE_CONTACT, b),
        .velocity = firn_grid_nodes(grid, FIRN_NODE_VELOCITY, b),
        .product = firn_grid_nodes(grid, FIRN_NODE_A_RESIDUAL, b),
    };
    return true;
}

static uint32_t holders_of(const held_block *block, int n)
{
    return block->velocity[4 * n + 3] > 0.0f ? firn_contact_holders(block->contact[4 * n + 3]) : 0;
}

// The part of a vector that a contact gives, the others being free.
static void given_part(const float *contact, const float *v, float given[3])
{
    firn_node_state state = firn_contact_state(contact[3]);
    float along = contact[0] * v[0] + contact[1] * v[1] + contact[2] * v[2];
    for (int i = 0; i < 3; i++)
        given[i] = state == FIRN_NODE_SLIDING ? along * contact[i]
                   : state == FIRN_NODE_EDGE  ? v[i] - along * contact[i]
                   : state == FIRN_NODE_STUCK ? v[i]
                                              : 0.0f;
}

static void sum_block(const firn_sim *sim, const held_block *block, firn_impulse *all)
{
    const firn_vec3 *normals = (const firn_vec3 *)sim->contact.normals.data + block->entry;
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        uint32_t holders = holders_of(block, n);
        if (holders == 0)
            continue;
        float given[3];
        given_part(block->contact + 4 * n, block->product + 4 * n, given);
        give(all + block->entry, normals, holders,
             firn_grid_node_position(&sim->grid, block->coord, n), given);
    }
}

void firn_reaction_product(firn_sim *sim, firn_reaction which)
{
    const firn_contact_lists *lists = &sim->contact.nodes;
    firn_impulse *all = sim->contact.reaction[which].data;
    if (lists->entry_count == 0)
        return;
    memset(all, 0, lists->entry_count * sizeof *all);
#pragma omp parallel for schedule(dynamic, 32) num_threads(sim->thread_count)
    for (size_t b = 0; b < lists->block_count; b++) {
        held_block block;
        if (open_block(sim, b, &block))
            sum_block(sim, &block, all);
    }
}

// The normal of each collider of a block, in the middle of the nodes that it holds: only where
// several hold a node does it matter.
static void find_normals(const firn_sim *sim, const held_block *block)
{
    const int *colliders = (const int *)sim->contact.nodes.colliders.data + block->entry;
    firn_vec3 *normals = (firn_vec3 *)sim->contact.normals.data + block->entry;
    for (size_t k = 0; block->count > 1 && k < block->count && k < FIRN_HOLDER_LIMIT; k++) {
        firn_vec3 sum = {0.0f, 0.0f, 0.0f};
        float nodes = 0.0f;
        for (int n = 0; n < FIRN_BLOCK_NODES; n++)
            if (holders_of(block, n) >> k & 1) {
                sum = firn_add(sum, firn_grid_node_position(&sim->grid, block->coord, n));
                nodes += 1.0f;
            }
        if (nodes > 0.0f)
            normals[k] =
                firn_collider_normal(&sim->colliders, colliders[k], firn_scale(1.0f / nodes, sum));
    }
}

void firn_reaction_begin(firn_sim *sim)
{
    const firn_contact_lists *lists = &sim->contact.nodes;
    if (lists->entry_count == 0)
        return;
#pragma omp parallel for schedule(dynamic, 32) num_threads(sim->thread_count)
    for (size_t b = 0; b < lists->block_count; b++) {
        held_block block;
        if (open_block(sim, b, &block))
            find_normals(sim, &block);
    }
    firn_reaction_product(sim, FIRN_REACTION_OF_VELOCITY);
    memset(sim->contact.reaction[FIRN_REACTION_OF_SEARCH].data, 0,
           lists->entry_count * sizeof(firn_impulse));
}

void firn_reaction_advance(firn_sim *sim, float alpha, float beta)
{
    const firn_touching *contact = &sim->contact;
    firn_impulse *x = contact->reaction[FIRN_REACTION_OF_VELOCITY].data;
    firn_impulse *p = contact->reaction[FIRN_REACTION_OF_SEARCH].data;
    const firn_impulse *r = contact->reaction[FIRN_REACTION_OF_RESIDUAL].data;
    for (size_t e = 0; e < contact->nodes.entry_count; e++) {
        firn_impulse search = r[e];
        firn_impulse_add_scaled(&search, (double)beta, &p[e]);
        p[e] = search;
        firn_impulse_add_scaled(&x[e], (double)alpha, &search);
    }
}

void firn_reaction_finish(firn_sim *sim, float scale)
{
    const firn_touching *contact = &sim->contact;
    const firn_impulse *x = contact->reaction[FIRN_REACTION_OF_VELOCITY].data;
    firn_impulse *taken = contact->nodes.taken.data;
    for (size_t e = 0; e < contact->nodes.entry_count; e++)
        firn_impulse_add_scaled(&taken[e], -(double)scale, &x[e]);
}
