/// Bodies as unknowns of the implicit step.
///
/// A node that one body alone holds has the body's velocity in the components that it holds:
/// v = v0 + C J (xi - xi0), C the projection on these. With B the map from free components and
/// twists to all of v, the system is B^T A B with A = M + s H and the bodies' own inertia beside
/// it. The vectors of the iteration hold C J r of a body at its nodes, so that products with H
/// need not know; sums over these nodes are serial, in their order, and go through the ranks in
/// order: each rank has all bodies and takes part in all sums, whatever nodes it has.
#include "followers.h"

#include "sim_state.h"

#include <math.h>
#include <string.h>

/// A node that a body carries.
typedef struct follower {
    uint32_t block;
    int32_t node, body;
    firn_d3 arm; // m, from the body's center
} follower;

/// A body in the space of the iteration: linear parts, then angular ones.
typedef struct follow_body {
    bool free;
    bool held[6];       // components that do not move
    double inertia[36]; // kg, kg m^2
    double weight[36];  // P: that of nodes that follow, too
    double start[6];    // the twist that it has without the reaction
    double x[6], r[6], p[6], ar[6], ap[6];
    double f[6]; // J^T C f, kg m/s
} follow_body;

static follower *nodes_of(const firn_sim *sim) { return sim->followers.nodes.data; }

static follow_body *bodies_of(const firn_sim *sim) { return sim->followers.bodies.data; }

void firn_followers_free(firn_followers *followers, firn_budget *budget)
{
    firn_array_free(budget, &followers->nodes);
    firn_array_free(budget, &followers->bodies);
}

size_t firn_followers_block(const firn_followers *followers, size_t i)
{
    return ((const follower *)followers->nodes.data)[i].block;
}

firn_result firn_followers_reserve(firn_sim *sim, firn_error *error)
{
    firn_followers *f = &sim->followers;
    f->count = 0;
    size_t most = firn_coupling_count(&sim->coupling) * FIRN_BLOCK_NODES;
    if (!firn_sim_is_implicit(sim))
        return FIRN_OK;
    FIRN_TRY(firn_array_claim(&sim->budget, &f->bodies, (size_t)sim->bodies.slot_count,
                              sizeof(follow_body), error));
    return firn_array_claim(&sim->budget, &f->nodes, most, sizeof(follower), error);
}

// --- Nodes ---------------------------------------------------------------------------------------

static const float *node_at(const firn_sim *sim, firn_node_field field, const follower *f)
{
    return firn_grid_nodes(&sim->grid, field, f->block) + 4 * f->node;
}

// The components of v that its contact gives.
static firn_d3 held_part(const firn_sim *sim, const follower *f, firn_d3 v)
{
    const float *contact = node_at(sim, FIRN_NODE_CONTACT, f);
    firn_node_state state = firn_contact_state(contact[3]);
    if (state == FIRN_NODE_STUCK)
        return v;
    firn_d3 direction = {{(double)contact[0], (double)contact[1], (double)contact[2]}};
    firn_d3 along = firn_d3_scale(firn_d3_dot(direction, v), direction);
    return state == FIRN_NODE_SLIDING ? along : firn_d3_sub(v, along);
}

static firn_d3 vector_at(const float *node)
{
    return (firn_d3){{(double)node[0], (double)node[1], (double)node[2]}};
}

// J xi
static firn_d3 velocity_at(const double twist[6], firn_d3 arm)
{
    return firn_d3_madd(firn_d3_from(twist), 1.0, firn_d3_cross(firn_d3_from(twist + 3), arm));
}

static void add_wrench(double sum[6], firn_d3 arm, firn_d3 force)
{
    firn_d3 turn = firn_d3_cross(arm, force);
    for (int i = 0; i < 3; i++) {
        sum[i] += force.x[i];
        sum[3 + i] += turn.x[i];
    }
}

// The only body that holds a node, or -1.
static int holder_of(const firn_sim *sim, size_t block, int node)
{
    const float *contact = firn_grid_nodes(&sim->grid, FIRN_NODE_CONTACT, block) + 4 * node;
    uint32_t holders = firn_contact_holders(contact[3]);
    bool one = holders != 0 && (holders & (holders - 1)) == 0;
    if (!one || firn_contact_state(contact[3]) == FIRN_NODE_FREE ||
        holders == 1u << (FIRN_HOLDER_LIMIT - 1))
        return -1;
    size_t entry = ((const uint32_t *)sim->contact.nodes.begin.data)[block];
    while (holders >>= 1)
        entry++;
    return firn_coupling_body(sim, entry);
}

static void find_nodes(firn_sim *sim)
{
    firn_followers *all = &sim->followers;
    all->count = 0;
    for (size_t i = 0; i < firn_coupling_count(&sim->coupling); i++) {
        size_t b = firn_coupling_block(&sim->coupling, i);
        const float *velocity = firn_grid_nodes(&sim->grid, FIRN_NODE_VELOCITY, b);
        firn_coord coord = ((const firn_coord *)sim->grid.node_coord.data)[b];
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            int body = velocity[4 * n + 3] > 0.0f ? holder_of(sim, b, n) : -1;
            if (body < 0)
                continue;
            firn_d3 x = firn_d3_of(firn_grid_node_position(&sim->grid, coord, n));
            firn_d3 center = firn_d3_from(firn_body_slot(&sim->bodies, body)->now.center);
            nodes_of(sim)[all->count++] = (follower){(uint32_t)b, n, body, firn_d3_sub(x, center)};
        }
    }
}

// --- Bodies --------------------------------------------------------------------------------------

static void put_twist(double to[6], const firn_twist *twist)
{
    firn_d3_put(to, twist->linear);
    firn_d3_put(to + 3, twist->angular);
}

// The inertia that the inverses stand for; what is held has none of either.
static void begin_body(const firn_body *body, const firn_twist *start, follow_body *to)
{
    to->free = true;
    firn_d33 turn = body->inverse;
    for (int i = 0; i < 3; i++) {
        firn_d3 unit = {{i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0, i == 2 ? 1.0 : 0.0}};
        double yields = firn_body_yield(body, unit).x[i];
        to->held[i] = !(yields > 0.0);
        to->inertia[7 * i] = to->held[i] ? 1.0 : 1.0 / yields;
        to->held[3 + i] = !(turn.m[4 * i] > 0.0);
        if (to->held[3 + i])
            turn.m[4 * i] = 1.0;
    }
    turn = firn_d33_inverse(turn);
    for (int i = 0; i < 9; i++)
        to->inertia[6 * (3 + i / 3) + 3 + i % 3] = turn.m[i];
    put_twist(to->start, start);
    put_twist(to->x, &body->next);
}

void firn_followers_begin(firn_sim *sim)
{
    sim->followers.count = 0;
    if (sim->bodies.live_count == 0)
        return;
    find_nodes(sim);
    firn_coupling_collect(sim);
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        const firn_body *body = firn_body_slot(&sim->bodies, i);
        memset(&bodies_of(sim)[i], 0, sizeof(follow_body));
        if (!body->now.alive || !body->free)
            continue;
        firn_twist start = firn_coupling_base(sim, i);
        begin_body(body, &start, &bodies_of(sim)[i]);
    }
}

static void multiply(const double a[36], const double v[6], double to[6])
{
    for (int i = 0; i < 6; i++) {
        to[i] = 0.0;
        for (int k = 0; k < 6; k++)
            to[i] += a[6 * i + k] * v[k];
    }
}

static double dot6(const double a[6], const double b[6])
{
    double sum = 0.0;
    for (int i = 0; i < 6; i++)
        sum += a[i] * b[i];
    return sum;
}

static void let_go_of_held(const follow_body *body, double v[6])
{
    for (int i = 0; i < 6; i++)
        v[i] = body->held[i] ? 0.0 : v[i];
}

// P^-1 f
static void divide(const follow_body *body, const double f[6], double to[6])
{
    double a[42];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++)
            a[7 * i + k] =
                body->held[i] || body->held[k] ? (i == k ? 1.0 : 0.0) : body->weight[6 * i + k];
        a[7 * i + 6] = body->held[i] ? 0.0 : f[i];
    }
    firn_solve6(a);
    for (int i = 0; i < 6; i++)
        to[i] = a[7 * i + 6];
}

// --- Sums over the nodes of bodies ---------------------------------------------------------------

/// What is summed, and into which numbers of the bodies.
typedef struct summing {
    firn_sim *sim;
    double scale;
    bool first; // of the residual: s H v; else m r + s H r
} summing;

static bool is_own(const firn_sim *sim, const follower *f)
{
    firn_rank_range own = firn_owners_nodes(&sim->owners, sim->grid.node_block_count);
    return f->block >= own.begin && f->block < own.end;
}

static void add_forces(void *state, void *context)
{
    const summing *s = context;
    double *sums = state;
    for (size_t i = 0; i < s->sim->followers.count; i++) {
        const follower *f = &nodes_of(s->sim)[i];
        if (!is_own(s->sim, f))
            continue;
        firn_d3 h = vector_at(node_at(s->sim, FIRN_NODE_A_RESIDUAL, f));
        firn_d3 force = firn_d3_scale(s->first ? -s->scale : s->scale, h);
        if (!s->first) {
            double mass = (double)node_at(s->sim, FIRN_NODE_VELOCITY, f)[3];
            force = firn_d3_madd(force, mass, vector_at(node_at(s->sim, FIRN_NODE_RESIDUAL, f)));
        }
        add_wrench(sums + 6 * f->body, f->arm, held_part(s->sim, f, force));
    }
}

// J^T C P C J of the nodes, a row of it for each unit twist.
static void add_weights(void *state, void *context)
{
    const summing *s = context;
    double *sums = state;
    for (size_t i = 0; i < s->sim->followers.count; i++) {
        const follower *f = &nodes_of(s->sim)[i];
        double weight = (double)node_at(s->sim, FIRN_NODE_DIAGONAL, f)[0];
        for (int k = 0; k < 6 && is_own(s->sim, f); k++) {
            double unit[6] = {0.0};
            unit[k] = 1.0;
            firn_d3 v = held_part(s->sim, f, velocity_at(unit, f->arm));
            add_wrench(sums + 36 * f->body + 6 * k, f->arm, firn_d3_scale(weight, v));
        }
    }
}

// The totals of the coupling are free between its own sums.
static double *fold(summing *s, firn_fold *add, size_t width)
{
    double *totals = s->sim->coupling.totals.data;
    size_t bytes = (size_t)s->sim->bodies.slot_count * width * sizeof *totals;
    memset(totals, 0, bytes);
    firn_owners_fold(&s->sim->owners, totals, bytes, add, s);
    return totals;
}

// r of the nodes: C J r of their bodies beside what is free.
static void spread(const firn_sim *sim)
{
    for (size_t i = 0; i < sim->followers.count; i++) {
        const follower *f = &nodes_of(sim)[i];
        float *r = firn_grid_nodes(&sim->grid, FIRN_NODE_RESIDUAL, f->block) + 4 * f->node;
        firn_d3 now = vector_at(r);
        firn_d3 held = held_part(sim, f, velocity_at(bodies_of(sim)[f->body].r, f->arm));
        now = firn_d3_madd(firn_d3_sub(now, held_part(sim, f, now)), 1.0, held);
        for (int k = 0; k < 3; k++)
            r[k] = (float)now.x[k];
    }
}

double firn_followers_first(firn_sim *sim, double scale)
{
    summing s = {sim, scale, true};
    double norm = 0.0;
    if (sim->bodies.live_count == 0)
        return norm;
    const double *weights = fold(&s, add_weights, 36);
    for (int i = 0; i < sim->bodies.slot_count; i++)
        for (int k = 0; k < 36; k++)
            bodies_of(sim)[i].weight[k] =
                bodies_of(sim)[i].inertia[k] + weights[36 * (size_t)i + (size_t)k];
    const double *forces = fold(&s, add_forces, 6);
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        follow_body *b = &bodies_of(sim)[i];
        if (!b->free)
            continue;
        double missing[6], force[6];
        for (int k = 0; k < 6; k++)
            missing[k] = b->start[k] - b->x[k];
        multiply(b->inertia, missing, force);
        for (int k = 0; k < 6; k++)
            force[k] += forces[6 * i + k];
        let_go_of_held(b, force);
        divide(b, force, b->r);
        norm += dot6(b->r, force);
    }
    spread(sim);
    return norm;
}

firn_follow_sums firn_followers_product(firn_sim *sim, double scale)
{
    summing s = {sim, scale, false};
    firn_follow_sums sums = {0.0, 0.0, 0.0};
    if (sim->bodies.live_count == 0)
        return sums;
    const double *forces = fold(&s, add_forces, 6);
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        follow_body *b = &bodies_of(sim)[i];
        if (!b->free)
            continue;
        multiply(b->inertia, b->r, b->f);
        let_go_of_held(b, b->f);
        sums.a += dot6(b->r, b->f); // its nodes have the rest of r A r
        for (int k = 0; k < 6; k++)
            b->f[k] += forces[6 * i + k];
        let_go_of_held(b, b->f);
        divide(b, b->f, b->ar);
        sums.b += dot6(b->ar, b->f);
        sums.c += dot6(b->ap, b->f);
    }
    return sums;
}

firn_follow_sums firn_followers_advance(firn_sim *sim, double alpha, double beta)
{
    firn_follow_sums sums = {0.0, 0.0, 0.0};
    if (sim->bodies.live_count == 0)
        return sums;
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        follow_body *b = &bodies_of(sim)[i];
        if (!b->free)
            continue;
        for (int k = 0; k < 6; k++) {
            b->p[k] = b->r[k] + beta * b->p[k];
            b->ap[k] = b->ar[k] + beta * b->ap[k];
            b->x[k] += alpha * b->p[k];
            b->r[k] -= alpha * b->ap[k];
        }
        double force[6];
        multiply(b->weight, b->r, force);
        sums.a += dot6(b->r, force);
        multiply(b->weight, b->ap, force);
        sums.b += dot6(b->ap, force);
    }
    spread(sim);
    return sums;
}

void firn_followers_account(firn_sim *sim, double scale)
{
    for (size_t i = 0; i < sim->followers.count; i++) {
        const follower *f = &nodes_of(sim)[i];
        const float *v = node_at(sim, FIRN_NODE_VELOCITY, f);
        firn_d3 change = firn_d3_sub(vector_at(v), vector_at(node_at(sim, FIRN_NODE_CHANGE, f)));
        change = held_part(sim, f, change);
        float *h = firn_grid_nodes(&sim->grid, FIRN_NODE_A_RESIDUAL, f->block) + 4 * f->node;
        for (int k = 0; k < 3; k++)
            h[k] += (float)((double)v[3] / scale * change.x[k]);
    }
}
