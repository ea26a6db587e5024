/// The semi-implicit update: matrix-free conjugate residuals on eq. (9) of the paper, method.md
/// (18)-(22), with the colliding degrees of freedom projected out.
///
/// The system is A v = M v*, A = M + beta dt^2 H. With a diagonal P near that of A, P^-1 A is
/// symmetric in the inner product <a, b> = sum a.Pb, in which all products are taken. All vectors
/// are velocities: the residual is r = Q P^-1 (M v* - A v), and "A r" below stands for Q P^-1 A r.
#include "implicit.h"

#include "sim_state.h"

#include <math.h>
#include <string.h>

/// A node: x, y, z, and a fourth number that is zero in every vector of the iteration.
typedef float node4 __attribute__((vector_size(16), may_alias));
typedef int32_t mask4 __attribute__((vector_size(16)));

typedef struct solving {
    firn_sim *sim;
    float dt;
    float scale;       // beta dt^2
    float alpha, beta; // of the iteration at work
    bool exact;        // what the solve leaves over must not be lost: bodies get it
    bool follow;       // bodies carry nodes along
} solving;

/// Up to three sums over the nodes of a block; each sweep says of what.
typedef struct solve_sums {
    double a, b, c;
} solve_sums;

/// What a node block is to the solve.
typedef enum solve_kind {
    SOLVE_NOTHING, // without mass, or stuck: it costs nothing
    SOLVE_FREE,    // touches no collider
    SOLVE_CONTACT,
} solve_kind;

typedef struct solve_block {
    solve_sums sums;
    solve_kind kind;
} solve_block;

typedef solve_sums block_body(const solving *s, size_t b, bool contact);

static node4 *nodes(const solving *s, firn_node_field field, size_t b)
{
    return (node4 *)firn_grid_nodes(&s->sim->grid, field, b);
}

static node4 splat(float a) { return (node4){a, a, a, a}; }

static double add_up(node4 a) { return (double)a[0] + (double)a[1] + (double)a[2]; }

static void add_moving(void *state, void *context)
{
    solve_sums *all = state;
    const firn_sim *sim = context;
    const solve_block *blocks = sim->solve.blocks.data;
    firn_rank_range counted = firn_owners_nodes(&sim->owners, sim->grid.node_block_count);
    for (size_t b = counted.begin; b < counted.end; b++) {
        if (blocks[b].kind == SOLVE_NOTHING)
            continue;
        all->a += blocks[b].sums.a;
        all->b += blocks[b].sums.b;
        all->c += blocks[b].sums.c;
    }
}

static void add_masses(void *state, void *context)
{
    const firn_sim *sim = context;
    const solve_block *blocks = sim->solve.blocks.data;
    firn_rank_range counted = firn_owners_nodes(&sim->owners, sim->grid.node_block_count);
    for (size_t b = counted.begin; b < counted.end; b++)
        *(double *)state += blocks[b].sums.a;
}

// Runs body over the node blocks that can move and adds up what it returns, in block order.
static solve_sums for_blocks(const solving *s, block_body *body)
{
    firn_sim *sim = s->sim;
    solve_block *blocks = sim->solve.blocks.data;
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        if (blocks[b].kind != SOLVE_NOTHING)
            blocks[b].sums = body(s, b, blocks[b].kind == SOLVE_CONTACT);
    solve_sums all = {0.0, 0.0, 0.0};
    firn_owners_fold(&sim->owners, &all, sizeof all, add_moving, sim);
    return all;
}

// Removes the components of v that a contact gives.
static node4 project(node4 contact, node4 v)
{
    firn_node_state state = firn_contact_state(contact[3]);
    if (state == FIRN_NODE_FREE)
        return v;
    node4 direction = {contact[0], contact[1], contact[2], 0.0f};
    node4 product = direction * v;
    node4 along = splat(product[0] + product[1] + product[2]) * direction;
    if (state == FIRN_NODE_SLIDING)
        return v - along;
    return state == FIRN_NODE_EDGE ? along : splat(0.0f);
}

static solve_kind kind_of(const solving *s, size_t b)
{
    const node4 *v = nodes(s, FIRN_NODE_VELOCITY, b), *contact = nodes(s, FIRN_NODE_CONTACT, b);
    bool moves = false, touches = false;
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        firn_node_state state = firn_contact_state(contact[n][3]);
        bool there = v[n][3] > 0.0f;
        moves |= there && state != FIRN_NODE_STUCK;
        touches |= there && state != FIRN_NODE_FREE;
    }
    return !moves ? SOLVE_NOTHING : touches ? SOLVE_CONTACT : SOLVE_FREE;
}

// Sorts out the blocks; gives the mass of all nodes.
static double classify_blocks(const solving *s)
{
    firn_sim *sim = s->sim;
    solve_block *blocks = sim->solve.blocks.data;
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        const node4 *v = nodes(s, FIRN_NODE_VELOCITY, b);
        double mass = 0.0;
        for (int n = 0; n < FIRN_BLOCK_NODES; n++)
            mass += (double)v[n][3];
        blocks[b] = (solve_block){.sums = {.a = mass}, .kind = kind_of(s, b)};
        if (blocks[b].kind == SOLVE_NOTHING)
            memset(nodes(s, FIRN_NODE_RESIDUAL, b), 0, FIRN_BLOCK_FLOATS * sizeof(float));
    }
    double mass = 0.0;
    firn_owners_fold(&sim->owners, &mass, sizeof mass, add_masses, sim);
    for (size_t i = 0; i < sim->followers.count; i++)
        blocks[firn_followers_block(&sim->followers, i)].kind = SOLVE_CONTACT;
    return mass;
}

/// Share of the Hessian's diagonal in P: stiff snow moves with its neighbors, so that the whole of
/// it would hold nodes back too much. Half takes the fewest iterations with every kernel.
#define DIAGONAL_SHARE 0.5f

// P, from the diagonal of H. Where a contact leaves one direction or two, P must commute with the
// projection: one number for all directions.
static void make_preconditioner(const solving *s, size_t b, bool contact)
{
    const node4 *v = nodes(s, FIRN_NODE_VELOCITY, b), *touch = nodes(s, FIRN_NODE_CONTACT, b);
    node4 *p = nodes(s, FIRN_NODE_DIAGONAL, b);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        node4 d = p[n];
        if (contact && firn_contact_state(touch[n][3]) != FIRN_NODE_FREE)
            d = splat((1.0f / 3.0f) * (d[0] + d[1] + d[2]));
        p[n] = splat(v[n][3]) + splat(DIAGONAL_SHARE * s->scale) * d;
        if (!(v[n][3] > 0.0f))
            p[n] = splat(1.0f);
        p[n][3] = 1.0f;
    }
}

// Keeps the right-hand side in the residual and puts the first guess in its place: the velocity at
// the start plus the acceleration of the last solve, in the free components. What the right-hand
// side asks for, mass times the square of the change of velocity, in a.
static solve_sums begin_block(const solving *s, size_t b, bool contact)
{
    node4 *v = nodes(s, FIRN_NODE_VELOCITY, b), *right = nodes(s, FIRN_NODE_RESIDUAL, b);
    const node4 *old = nodes(s, FIRN_NODE_OLD, b), *touch = nodes(s, FIRN_NODE_CONTACT, b);
    node4 *change = nodes(s, FIRN_NODE_CHANGE, b);
    make_preconditioner(s, b, contact);
    node4 asked = splat(0.0f);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        right[n] = v[n];
        node4 by = v[n] - old[n], guess = change[n];
        asked += splat(v[n][3]) * by * by;
        if (s->exact)
            change[n] = v[n];
        if (!s->sim->solve.warm || !(v[n][3] > 0.0f))
            continue;
        node4 step = old[n] + splat(s->dt) * guess - v[n];
        step[3] = 0.0f;
        v[n] += contact ? project(touch[n], step) : step;
    }
    return (solve_sums){.a = add_up(asked)};
}

// sum |P r|^2 / m: the residual as a velocity, in the norm of the mass.
static node4 residual2(node4 p, node4 r, float mass)
{
    node4 momentum = p * r;
    return momentum * momentum / splat(fmaxf(mass, 1e-30f));
}

// r = Q P^-1 (M b - A x), where A r comes in as H x; p = 0, A p = 0. The residual's norm in a.
static solve_sums first_residual(const solving *s, size_t b, bool contact)
{
    const node4 *v = nodes(s, FIRN_NODE_VELOCITY, b), *hx = nodes(s, FIRN_NODE_A_RESIDUAL, b);
    const node4 *touch = nodes(s, FIRN_NODE_CONTACT, b), *p = nodes(s, FIRN_NODE_DIAGONAL, b);
    node4 *r = nodes(s, FIRN_NODE_RESIDUAL, b);
    node4 sum = splat(0.0f);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        float mass = v[n][3];
        node4 f = splat(mass) * (r[n] - v[n]) - splat(s->scale) * hx[n];
        f[3] = 0.0f;
        f = (node4)((mask4)f & (splat(mass) > splat(0.0f))) / p[n];
        r[n] = contact ? project(touch[n], f) : f;
        sum += residual2(p[n], r[n], mass);
    }
    memset(nodes(s, FIRN_NODE_SEARCH, b), 0, FIRN_BLOCK_FLOATS * sizeof(float));
    memset(nodes(s, FIRN_NODE_A_SEARCH, b), 0, FIRN_BLOCK_FLOATS * sizeof(float));
    return (solve_sums){.a = add_up(sum)};
}

// A r, which comes in as H r. Gives <r, A r>, <A r, A r> and <A r, A p>.
static solve_sums finish_product(const solving *s, size_t b, bool contact)
{
    const node4 *v = nodes(s, FIRN_NODE_VELOCITY, b), *r = nodes(s, FIRN_NODE_RESIDUAL, b);
    const node4 *touch = nodes(s, FIRN_NODE_CONTACT, b), *p = nodes(s, FIRN_NODE_DIAGONAL, b);
    const node4 *ap = nodes(s, FIRN_NODE_A_SEARCH, b);
    node4 *ar = nodes(s, FIRN_NODE_A_RESIDUAL, b);
    node4 r_ar = splat(0.0f), ar_ar = splat(0.0f), ar_ap = splat(0.0f);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        node4 mass = splat(v[n][3]);
        node4 f = mass * r[n] + splat(s->scale) * ar[n];
        f = (node4)((mask4)f & (mass > splat(0.0f)));
        node4 a = f / p[n];
        ar[n] = a = contact ? project(touch[n], a) : a;
        // P Q P^-1 f = Q f, and Q r = r.
        r_ar += r[n] * f;
        ar_ar += a * f;
        ar_ap += ap[n] * f;
    }
    return (solve_sums){add_up(r_ar), add_up(ar_ar), add_up(ar_ap)};
}

// p = r + beta p, A p = A r + beta A p, x += alpha p, r -= alpha A p. The residual's norm in a,
// <A p, A p> in b.
static solve_sums advance(const solving *s, size_t b, bool contact)
{
    const node4 *touch = nodes(s, FIRN_NODE_CONTACT, b);
    bool carried = contact && s->follow; // then r is that of bodies as well
    node4 *v = nodes(s, FIRN_NODE_VELOCITY, b), *r = nodes(s, FIRN_NODE_RESIDUAL, b);
    node4 *p = nodes(s, FIRN_NODE_SEARCH, b), *ap = nodes(s, FIRN_NODE_A_SEARCH, b);
    const node4 *ar = nodes(s, FIRN_NODE_A_RESIDUAL, b), *d = nodes(s, FIRN_NODE_DIAGONAL, b);
    node4 alpha = splat(s->alpha), beta = splat(s->beta), rr = splat(0.0f), ap_ap = splat(0.0f);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        float mass = v[n][3];
        p[n] = r[n] + beta * p[n];
        ap[n] = ar[n] + beta * ap[n];
        v[n] += alpha * p[n];
        r[n] -= alpha * ap[n];
        rr += residual2(d[n], carried ? project(touch[n], r[n]) : r[n], mass);
        ap_ap += d[n] * ap[n] * ap[n];
    }
    return (solve_sums){.a = add_up(rr), .b = add_up(ap_ap)};
}

// v = v* - s H v / m in the free components, from the product with the velocity that was found.
static solve_sums apply_forces(const solving *s, size_t b, bool contact)
{
    node4 *v = nodes(s, FIRN_NODE_VELOCITY, b);
    const node4 *right = nodes(s, FIRN_NODE_CHANGE, b), *hx = nodes(s, FIRN_NODE_A_RESIDUAL, b);
    const node4 *touch = nodes(s, FIRN_NODE_CONTACT, b);
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        if (!(v[n][3] > 0.0f))
            continue;
        node4 step = right[n] - v[n] - splat(s->scale / v[n][3]) * hx[n];
        step[3] = 0.0f;
        v[n] += contact ? project(touch[n], step) : step;
    }
    return (solve_sums){0.0, 0.0, 0.0};
}

static void remember_change(const solving *s)
{
    firn_sim *sim = s->sim;
    size_t count = sim->grid.node_block_count;
    float rate = 1.0f / s->dt;
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++) {
        const node4 *v = nodes(s, FIRN_NODE_VELOCITY, b), *old = nodes(s, FIRN_NODE_OLD, b);
        node4 *change = nodes(s, FIRN_NODE_CHANGE, b);
        for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
            change[n] = splat(rate) * (v[n] - old[n]);
            change[n][3] = 0.0f;
        }
    }
}

static void apply_hessian(const solving *s, firn_node_field input, firn_node_field output)
{
    double start = firn_seconds();
    firn_transfer_apply_hessian(s->sim, s->dt, input, output);
    s->sim->stats.product_seconds += firn_seconds() - start;
}

// <A p, A p> of the next search direction below this share of <A r, A r> is rounding: the
// recurrence begins again.
#define LOST_SHARE 1e-5

/// A residual is small beside what the step asks for below this share of it, and not worth more
/// work below this share of the tolerance. Without the first, snow at rest would take starting
/// guesses for solutions and never stop creeping.
#define ASKED_SHARE 0.05
#define LEAST_SHARE 0.01

static double goal_of(const solving *s, double mass, double asked)
{
    double most = (double)s->sim->def.tolerance * (double)s->sim->def.tolerance * mass;
    return fmin(most, fmax(ASKED_SHARE * ASKED_SHARE * asked, LEAST_SHARE * LEAST_SHARE * most));
}

// What the solve leaves over is momentum that nobody has. Where bodies account for theirs, snow
// moves by the forces of the velocity that was found, whose sum is zero however good it is; it
// differs from that velocity by the residual.
static void close_account(const solving *s)
{
    apply_hessian(s, FIRN_NODE_VELOCITY, FIRN_NODE_A_RESIDUAL);
    firn_followers_account(s->sim, (double)s->scale);
    firn_reaction_product(s->sim, FIRN_REACTION_OF_VELOCITY);
    for_blocks(s, apply_forces);
}

static firn_solve iterate(solving *s, double mass, double asked)
{
    firn_sim *sim = s->sim;
    apply_hessian(s, FIRN_NODE_VELOCITY, FIRN_NODE_A_RESIDUAL);
    firn_reaction_begin(sim);
    double rr = for_blocks(s, first_residual).a, ap_ap = 0.0, r_ar_old = 0.0;
    rr += firn_followers_first(sim, (double)s->scale);
    double goal = goal_of(s, mass, asked);
    int i = 0;
    for (; rr > goal && i < sim->def.max_iterations; i++) {
        apply_hessian(s, FIRN_NODE_RESIDUAL, FIRN_NODE_A_RESIDUAL);
        if (!s->exact)
            firn_reaction_product(sim, FIRN_REACTION_OF_RESIDUAL);
        firn_follow_sums of_bodies = firn_followers_product(sim, (double)s->scale);
        solve_sums product = for_blocks(s, finish_product);
        product.a += of_bodies.a;
        product.b += of_bodies.b;
        product.c += of_bodies.c;
        double r_ar = product.a, beta = i > 0 ? r_ar / r_ar_old : 0.0;
        ap_ap = product.b + beta * (2.0 * product.c + beta * ap_ap);
        if (!(ap_ap > LOST_SHARE * product.b)) {
            beta = 0.0;
            ap_ap = product.b;
        }
        double alpha = r_ar / ap_ap;
        r_ar_old = r_ar;
        // A breakdown of the recurrence: the system is too far from definite for this step.
        if (!isfinite(alpha) || !isfinite(beta) || r_ar == 0.0)
            break;
        s->alpha = (float)alpha;
        s->beta = (float)beta;
        solve_sums next = for_blocks(s, advance);
        if (!s->exact)
            firn_reaction_advance(sim, s->alpha, s->beta);
        of_bodies = firn_followers_advance(sim, (double)s->alpha, (double)s->beta);
        rr = next.a + of_bodies.a;
        ap_ap = next.b + of_bodies.b;
    }
    double residual = mass > 0.0 ? sqrt(rr / mass) : 0.0;
    return (firn_solve){.iterations = i, .residual = residual, .converged = rr <= goal};
}

firn_result firn_implicit_reserve(firn_sim *sim, firn_error *error)
{
    FIRN_TRY(firn_array_claim(&sim->budget, &sim->solve.blocks, sim->grid.node_block_count,
                              sizeof(solve_block), error));
    size_t padded = sim->particles.count + FIRN_PADDING;
    for (int w = 0; w < FIRN_WORD_COUNT; w++)
        FIRN_TRY(
            firn_scratch_reserve(&sim->budget, &sim->grid.words[w], padded, sizeof(float), error));
    return FIRN_OK;
}

/// Who leases scratch memory here.
static const char holder[] = "implicit solve";

void firn_implicit_lease_cache(firn_sim *sim)
{
    size_t padded = sim->particles.count + FIRN_PADDING;
    for (int w = 0; w < FIRN_WORD_COUNT; w++)
        sim->solve.cache[w] =
            firn_scratch_lease(&sim->grid.words[w], holder, padded, sizeof(float));
    sim->solve.cache[FIRN_WORD_COUNT] = firn_particles_lease_spare(&sim->particles, holder);
}

void firn_implicit_release_cache(firn_sim *sim)
{
    for (int w = 0; w < FIRN_WORD_COUNT; w++)
        firn_scratch_release(&sim->grid.words[w], holder);
    firn_particles_release_spare(&sim->particles, holder);
    memset(sim->solve.cache, 0, sizeof sim->solve.cache);
}

void firn_implicit_forget(firn_solver *solve) { solve->warm = false; }

firn_solve firn_implicit_solve(firn_sim *sim, float dt)
{
    solving s = {.sim = sim,
                 .dt = dt,
                 .scale = sim->def.beta * dt * dt,
                 .exact = sim->bodies.live_count > 0};
    firn_followers_begin(sim);
    s.follow = sim->followers.count > 0;
    double mass = classify_blocks(&s);
    firn_transfer_prepare_hessian(sim, dt);
    double asked = for_blocks(&s, begin_block).a;
    firn_solve solve = iterate(&s, mass, asked);
    if (s.exact && solve.converged)
        close_account(&s);
    else if (s.exact)
        sim->solve.warm = false; // where the last change was, the right side is
    firn_implicit_release_cache(sim);
    if (solve.converged) {
        firn_reaction_finish(sim, s.scale);
        remember_change(&s);
        sim->solve.warm = true;
    }
    return solve;
}
