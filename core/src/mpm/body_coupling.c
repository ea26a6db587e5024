/// Snow and bodies: the twist that they agree on, method.md (60) to (62).
///
///     predict   gravity, contacts of bodies, joints -> xi*          (bodies/)
///     gather    nodes in bodies: position, velocity, mass, normal   [while the grid is updated]
///     solve     4 rounds of one 6x6 system for each body -> xi+
///               nodes meet the surfaces, which move with xi+        (grid_update.c)
///     arrive    a body gets exactly what nodes lost -> its end pose
///               particles meet the surfaces on their way there      (touch.c)
///     commit    a body gets exactly what particles lost
///
/// Sums are of nodes in their order within a block, then of blocks in theirs; with several ranks
/// they go through the ranks in order, and every rank holds all bodies. In the implicit step bodies
/// are unknowns of the solve (followers.c); their nodes meet the surface once more behind it.
#include "body_coupling.h"

#include "sim_state.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 4, SYSTEM = 36, SUMS = SYSTEM + 6 };

/// A node in a body.
typedef struct site {
    firn_vec3 position, velocity; // m, m/s before the contact
    float mass;                   // kg
    int entry;                    // of the lists of contacts
    firn_contact_site contact;
} site;

static firn_body *body_at(const firn_sim *sim, size_t entry)
{
    int slot = ((const int *)sim->contact.nodes.colliders.data)[entry];
    int index = firn_collider_slot(&sim->colliders, slot)->body1 - 1;
    if (index < 0)
        return NULL;
    firn_body *body = firn_body_slot(&sim->bodies, index);
    return body->free ? body : NULL;
}

void firn_coupling_free(firn_coupling *c, firn_budget *budget)
{
    firn_array *arrays[] = {&c->numbers, &c->blocks, &c->sites, &c->counts,
                            &c->sums,    &c->totals, &c->given};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(budget, arrays[i]);
}

void firn_coupling_begin(firn_sim *sim)
{
    firn_bodies_place(&sim->bodies, &sim->colliders, sim->time);
}

firn_result firn_coupling_predict(firn_sim *sim, float dt, firn_error *error)
{
    firn_coupling_begin(sim);
    firn_colliders_prepare(&sim->colliders, sim->time, dt);
    if (sim->bodies.live_count == 0)
        return FIRN_OK;
    firn_vec3 gravity = sim->def.gravity;
    if (sim->forces.acting_count > 0)
        gravity = firn_add(gravity, firn_forces_constant(&sim->forces));
    return firn_bodies_predict(&sim->bodies, &sim->colliders, (double)dt, gravity, error);
}

static bool has_bodies(const firn_sim *sim, const uint32_t *begin)
{
    for (size_t e = begin[0]; e < begin[1]; e++)
        if (body_at(sim, e) != NULL)
            return true;
    return false;
}

static firn_result find_blocks(firn_sim *sim, firn_error *error)
{
    firn_coupling *c = &sim->coupling;
    const firn_contact_lists *lists = &sim->contact.nodes;
    FIRN_TRY(
        firn_array_claim(&sim->budget, &c->numbers, lists->block_count, sizeof(int32_t), error));
    FIRN_TRY(
        firn_array_claim(&sim->budget, &c->blocks, lists->block_count, sizeof(uint32_t), error));
    const uint32_t *begin = lists->begin.data;
    for (size_t b = 0; b < lists->block_count; b++) {
        bool any = begin[b] != begin[b + 1] && has_bodies(sim, begin + b);
        ((int32_t *)c->numbers.data)[b] = any ? (int32_t)c->block_count : -1;
        if (any)
            ((uint32_t *)c->blocks.data)[c->block_count++] = (uint32_t)b;
    }
    return FIRN_OK;
}

firn_result firn_coupling_reserve(firn_sim *sim, firn_error *error)
{
    firn_coupling *c = &sim->coupling;
    firn_budget *budget = &sim->budget;
    size_t bodies = (size_t)sim->bodies.slot_count;
    c->block_count = 0;
    sim->followers.count = 0;
    if (sim->bodies.live_count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_array_claim(budget, &c->totals, bodies * SUMS, sizeof(double), error));
    FIRN_TRY(firn_array_claim(budget, &c->given, bodies, sizeof(firn_impulse), error));
    if (sim->contact.nodes.entry_count == 0)
        return firn_followers_reserve(sim, error);
    FIRN_TRY(find_blocks(sim, error));
    FIRN_TRY(firn_array_claim(budget, &c->sites, c->block_count * FIRN_BLOCK_NODES, sizeof(site),
                              error));
    FIRN_TRY(firn_array_claim(budget, &c->counts, c->block_count, sizeof(int32_t), error));
    if (c->block_count > 0)
        memset(c->counts.data, 0, c->block_count * sizeof(int32_t));
    FIRN_TRY(firn_followers_reserve(sim, error));
    return firn_array_claim(budget, &c->sums, sim->contact.nodes.entry_count * SUMS, sizeof(double),
                            error);
}

size_t firn_coupling_block(const firn_coupling *c, size_t i)
{
    return ((const uint32_t *)c->blocks.data)[i];
}

// The body that a node is deepest in.
static bool find_site(const firn_sim *sim, const uint32_t *begin, const firn_mass_point *point,
                      site *found)
{
    bool any = false;
    for (size_t e = begin[0]; e < begin[1]; e++) {
        const firn_body *body = body_at(sim, e);
        firn_contact_site at;
        if (body == NULL ||
            !firn_collider_site(firn_collider_slot(&sim->colliders, body->collider), point, &at))
            continue;
        if (any && at.distance >= found->contact.distance)
            continue;
        any = true;
        *found = (site){point->position, point->velocity, point->mass, (int)e, at};
    }
    return any;
}

bool firn_coupling_gather(firn_sim *sim, size_t b, uint32_t rows)
{
    const firn_coupling *c = &sim->coupling;
    if (c->block_count == 0)
        return false;
    int32_t number = ((const int32_t *)c->numbers.data)[b];
    if (number < 0)
        return false;
    const firn_grid *grid = &sim->grid;
    const uint32_t *begin = (const uint32_t *)sim->contact.nodes.begin.data + b;
    firn_coord coord = ((const firn_coord *)grid->node_coord.data)[b];
    const float *velocity = firn_grid_nodes(grid, FIRN_NODE_VELOCITY, b);
    site *sites = (site *)c->sites.data + (size_t)number * FIRN_BLOCK_NODES;
    float full = firn_grid_full_cell(sim);
    int count = 0;
    for (int n = 0; n < FIRN_BLOCK_NODES; n++) {
        const float *v = velocity + 4 * n;
        if ((rows >> n / 4 & 1) == 0 || !(v[3] > 0.0f))
            continue;
        firn_mass_point point = firn_grid_mass_point(sim, coord, n, v, full);
        count += find_site(sim, begin, &point, &sites[count]);
    }
    ((int32_t *)c->counts.data)[number] = count;
    return true;
}

// J_i xi
static firn_d3 velocity_at(const firn_twist *twist, firn_d3 arm)
{
    return firn_d3_madd(twist->linear, 1.0, firn_d3_cross(twist->angular, arm));
}

static firn_d3 law_of(const firn_contact_law *law, firn_d3 u)
{
    double along = firn_d3_dot(firn_d3_of(law->normal), u);
    return firn_d3_madd(firn_d3_scale((double)law->isotropic, u), along, firn_d3_of(law->along));
}

static void add_wrench(double *to, int stride, firn_d3 arm, firn_d3 f)
{
    firn_d3 turn = firn_d3_cross(arm, f);
    for (int i = 0; i < 3; i++) {
        to[i * stride] += f.x[i];
        to[(3 + i) * stride] += turn.x[i];
    }
}

// J^T A J and J^T (A v + b) of a node, by the contact that the present twist makes.
static void add_site(const firn_body *body, const firn_collider_def *def, const site *at,
                     double *sums)
{
    firn_d3 arm = firn_d3_sub(firn_d3_of(at->position), firn_d3_from(body->now.center));
    firn_d3 v = firn_d3_of(at->velocity), relative = firn_d3_sub(v, velocity_at(&body->next, arm));
    firn_contact_law law = firn_collider_law(def, &at->contact, firn_d3_vec(relative));
    double m = (double)at->mass;
    for (int k = 0; k < 6; k++) {
        firn_twist unit = {{{0.0}}, {{0.0}}};
        (k < 3 ? unit.linear.x : unit.angular.x)[k % 3] = 1.0;
        firn_d3 f = firn_d3_scale(m, law_of(&law, velocity_at(&unit, arm)));
        add_wrench(sums + k, 6, arm, f);
    }
    firn_d3 f = firn_d3_madd(law_of(&law, v), 1.0, firn_d3_of(law.constant));
    add_wrench(sums + SYSTEM, 1, arm, firn_d3_scale(m, f));
}

static void sum_block(const firn_sim *sim, size_t i)
{
    const firn_coupling *c = &sim->coupling;
    const uint32_t *begin =
        (const uint32_t *)sim->contact.nodes.begin.data + firn_coupling_block(c, i);
    double *sums = c->sums.data;
    memset(sums + begin[0] * (size_t)SUMS, 0, (begin[1] - begin[0]) * SUMS * sizeof(double));
    const site *sites = (const site *)c->sites.data + i * FIRN_BLOCK_NODES;
    for (int k = 0; k < ((const int32_t *)c->counts.data)[i]; k++) {
        size_t entry = (size_t)sites[k].entry;
        const firn_body *body = body_at(sim, entry);
        add_site(body, &firn_collider_slot(&sim->colliders, body->collider)->def, &sites[k],
                 sums + entry * SUMS);
    }
}

// The one sum over blocks.
static void add_blocks(void *totals, void *context)
{
    const firn_sim *sim = context;
    const firn_coupling *c = &sim->coupling;
    firn_rank_range own = firn_owners_nodes(&sim->owners, sim->contact.nodes.block_count);
    const double *sums = c->sums.data;
    for (size_t i = 0; i < c->block_count; i++) {
        size_t b = firn_coupling_block(c, i);
        const uint32_t *begin = (const uint32_t *)sim->contact.nodes.begin.data + b;
        for (size_t e = begin[0]; b >= own.begin && b < own.end && e < begin[1]; e++) {
            const firn_body *body = body_at(sim, e);
            if (body == NULL)
                continue;
            size_t index = (size_t)(body - firn_body_slot(&sim->bodies, 0));
            for (int k = 0; k < SUMS; k++)
                ((double *)totals)[index * SUMS + (size_t)k] += sums[e * SUMS + (size_t)k];
        }
    }
}

static int pivot_of(const double *a, int column)
{
    int best = column;
    for (int row = column + 1; row < 6; row++)
        if (fabs(a[7 * row + column]) > fabs(a[7 * best + column]))
            best = row;
    return best;
}

void firn_solve6(double a[42])
{
    for (int c = 0; c < 6; c++) {
        int best = pivot_of(a, c);
        for (int k = 0; k < 7 && best != c; k++) {
            double swap = a[7 * c + k];
            a[7 * c + k] = a[7 * best + k];
            a[7 * best + k] = swap;
        }
        for (int row = c + 1; row < 6; row++) {
            double factor = a[7 * row + c] / a[7 * c + c];
            for (int k = c; k < 7; k++)
                a[7 * row + k] -= factor * a[7 * c + k];
        }
    }
    for (int c = 5; c >= 0; c--) {
        for (int k = c + 1; k < 6; k++)
            a[7 * c + 6] -= a[7 * c + k] * a[7 * k + 6];
        a[7 * c + 6] /= a[7 * c + c];
    }
}

// next = (1 + W S)^-1 (base + W s): (7) with the inverse masses W, which are zero along axes that
// are held.
static void solve_body(firn_body *body, const firn_twist *base, const double *totals)
{
    double a[42];
    for (int k = 0; k < 7; k++) {
        firn_d3 f, l;
        for (int i = 0; i < 3; i++) {
            f.x[i] = k < 6 ? totals[6 * i + k] : totals[SYSTEM + i];
            l.x[i] = k < 6 ? totals[6 * (3 + i) + k] : totals[SYSTEM + 3 + i];
        }
        f = firn_body_yield(body, f);
        l = firn_d33_mul(body->inverse, l);
        for (int i = 0; i < 3; i++) {
            a[7 * i + k] = f.x[i] + (k == 6 ? base->linear.x[i] : k == i ? 1.0 : 0.0);
            a[7 * (3 + i) + k] = l.x[i] + (k == 6 ? base->angular.x[i] : k == 3 + i ? 1.0 : 0.0);
        }
    }
    firn_solve6(a);
    for (int i = 0; i < 3; i++) {
        body->next.linear.x[i] = a[7 * i + 6];
        body->next.angular.x[i] = a[7 * (3 + i) + 6];
    }
}

// What nodes or particles have given each body so far.
static void add_given(const firn_sim *sim, const firn_contact_lists *lists, firn_rank_range own,
                      firn_impulse *given)
{
    if (lists->entry_count == 0)
        return;
    const int *slots = lists->colliders.data;
    const uint32_t *begin = lists->begin.data;
    const firn_impulse *taken = lists->taken.data;
    for (size_t e = begin[own.begin]; e < begin[own.end]; e++) {
        int index = firn_collider_slot(&sim->colliders, slots[e])->body1 - 1;
        if (index >= 0)
            firn_impulse_add_scaled(&given[index], 1.0, &taken[e]);
    }
}

static void add_nodes(void *given, void *context)
{
    const firn_sim *sim = context;
    const firn_contact_lists *lists = &sim->contact.nodes;
    add_given(sim, lists, firn_owners_nodes(&sim->owners, lists->block_count), given);
}

static void add_particles(void *given, void *context)
{
    const firn_sim *sim = context;
    const firn_contact_lists *lists = &sim->contact.particles;
    add_given(sim, lists, (firn_rank_range){0, lists->block_count}, given);
}

static const firn_impulse *find_given(firn_sim *sim, firn_fold *add)
{
    firn_impulse *given = sim->coupling.given.data;
    size_t bytes = (size_t)sim->bodies.slot_count * sizeof *given;
    memset(given, 0, bytes);
    firn_owners_fold(&sim->owners, given, bytes, add, sim);
    return given;
}

// What a body has without the contact that is being solved for.
static firn_twist base_of(const firn_body *body, const firn_impulse *given)
{
    return given != NULL ? firn_body_pushed(body, &body->star, given) : body->star;
}

void firn_coupling_collect(firn_sim *sim) { find_given(sim, add_nodes); }

firn_twist firn_coupling_base(const firn_sim *sim, int body)
{
    const firn_impulse *given = sim->coupling.given.data;
    return base_of(firn_body_slot(&sim->bodies, body), &given[body]);
}

int firn_coupling_body(const firn_sim *sim, size_t entry)
{
    const firn_body *body = body_at(sim, entry);
    return body != NULL ? (int)(body - firn_body_slot(&sim->bodies, 0)) : -1;
}

static void run_round(firn_sim *sim, const firn_impulse *given)
{
    firn_coupling *c = &sim->coupling;
#pragma omp parallel for schedule(dynamic, 4) num_threads(sim->thread_count)
    for (size_t i = 0; i < c->block_count; i++)
        sum_block(sim, i);
    double *totals = c->totals.data;
    size_t bytes = (size_t)sim->bodies.slot_count * SUMS * sizeof *totals;
    memset(totals, 0, bytes);
    firn_owners_fold(&sim->owners, totals, bytes, add_blocks, sim);
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        firn_body *body = firn_body_slot(&sim->bodies, i);
        if (!body->now.alive || !body->free)
            continue;
        firn_twist base = base_of(body, given != NULL ? &given[i] : NULL);
        solve_body(body, &base, totals + (size_t)i * SUMS);
    }
}

void firn_coupling_solve(firn_sim *sim, bool again)
{
    if (sim->bodies.live_count == 0)
        return;
    const firn_impulse *given = again ? find_given(sim, add_nodes) : NULL;
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        firn_body *body = firn_body_slot(&sim->bodies, i);
        if (body->now.alive && body->free)
            body->next = base_of(body, given != NULL ? &given[i] : NULL);
    }
    for (int round = 0; round < ROUNDS; round++)
        run_round(sim, given);
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        const firn_body *body = firn_body_slot(&sim->bodies, i);
        if (body->now.alive && body->free)
            firn_body_steer(body, &sim->colliders);
    }
}

double firn_coupling_arrive(firn_sim *sim, float dt)
{
    if (sim->bodies.live_count == 0)
        return 0.0;
    const firn_impulse *given = find_given(sim, add_nodes);
    double fastest = 0.0;
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        firn_body *body = firn_body_slot(&sim->bodies, i);
        if (!body->now.alive || !body->free)
            continue;
        body->next = base_of(body, &given[i]);
        double speed = firn_body_arrive(body, &sim->colliders, (double)dt);
        fastest = speed > fastest || !(speed <= 1e30) ? speed : fastest;
    }
    float travel = firn_colliders_travel(&sim->colliders);
    if (travel > sim->clearance.surface_travel) {
        sim->clearance.surface_total += travel - sim->clearance.surface_travel;
        sim->clearance.surface_travel = travel;
    }
    return fastest;
}

// Bodies that sleep wake when snow near them moves.
static void wake_near(firn_sim *sim)
{
    int count = sim->bodies.slot_count;
    double *wakes = sim->coupling.totals.data;
    memset(wakes, 0, (size_t)count * sizeof *wakes);
    const firn_contact_lists *lists = &sim->contact.particles;
    const firn_block_limits *limits = sim->measures.limits.data;
    const uint32_t *begin = lists->begin.data;
    const int *slots = lists->colliders.data;
    float slow = sim->def.sleep_speed;
    for (size_t b = 0; lists->entry_count > 0 && b < lists->block_count; b++)
        for (size_t e = begin[b]; limits[b].speed2 > slow * slow && e < begin[b + 1]; e++) {
            int index = firn_collider_slot(&sim->colliders, slots[e])->body1 - 1;
            if (index >= 0)
                wakes[index] = 1.0;
        }
    firn_owners_largest(&sim->owners, wakes, count);
    for (int i = 0; i < count; i++) {
        firn_body *body = firn_body_slot(&sim->bodies, i);
        if (body->asleep && wakes[i] > 0.0)
            body->now.rest = 0.0;
    }
}

void firn_coupling_commit(firn_sim *sim, double dt)
{
    if (sim->bodies.live_count == 0)
        return;
    const firn_impulse *late = find_given(sim, add_particles);
    firn_bodies_commit(&sim->bodies, &sim->colliders, sim->time, dt, late);
    if (!firn_sim_may_sleep(sim))
        return;
    wake_near(sim);
    if (sim->rest.disturbed)
        firn_bodies_wake(&sim->bodies);
}
