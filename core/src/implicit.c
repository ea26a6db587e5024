/// The semi-implicit update: matrix-free conjugate residuals on eq. (9) of the paper, method.md
/// (18)-(22), with the colliding degrees of freedom projected out.
///
/// A = I + beta dt^2 M^-1 H is symmetric in the inner product <a, b> = sum m a.b, in which all
/// products are taken. Residuals are velocities.
#include "sim_state.h"

#include <math.h>
#include <string.h>

typedef struct solving {
    firn_sim *sim;
    float dt;
    float scale; // beta dt^2
    double mass; // kg, of all nodes
} solving;

typedef double block_body(const solving *s, size_t b, float factor);

// Runs body over all node blocks and adds up what it returns, in block order.
static double for_blocks(const solving *s, block_body *body, float factor)
{
    firn_sim *sim = s->sim;
    double *partial = sim->partial.data;
    size_t count = sim->grid.node_block_count;
#pragma omp parallel for schedule(dynamic, 8) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        partial[b] = body(s, b, factor);
    double sum = 0.0;
    for (size_t b = 0; b < count; b++)
        sum += partial[b];
    return sum;
}

static float *nodes(const solving *s, firn_node_field field, size_t b)
{
    return firn_grid_nodes(&s->sim->grid, field, b);
}

// Removes the components of v that a contact gives.
static void project(const float *contact, float *v)
{
    firn_node_state state = (firn_node_state)contact[3];
    if (state == FIRN_NODE_FREE)
        return;
    float along = v[0] * contact[0] + v[1] * contact[1] + v[2] * contact[2];
    for (int k = 0; k < 3; k++) {
        if (state == FIRN_NODE_SLIDING)
            v[k] -= along * contact[k];
        else
            v[k] = state == FIRN_NODE_EDGE ? along * contact[k] : 0.0f;
    }
}

static double total_mass(const solving *s, size_t b, float factor)
{
    (void)factor;
    const float *v = nodes(s, FIRN_NODE_VELOCITY, b);
    double mass = 0.0;
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n += 4)
        mass += (double)v[n + 3];
    return mass;
}

// Keeps the right-hand side in the residual and puts the first guess in its place: the velocity at
// the start plus the acceleration of the last solve, in the free components.
static double begin_block(const solving *s, size_t b, float factor)
{
    (void)factor;
    float *v = nodes(s, FIRN_NODE_VELOCITY, b), *right = nodes(s, FIRN_NODE_RESIDUAL, b);
    const float *old = nodes(s, FIRN_NODE_OLD, b), *contact = nodes(s, FIRN_NODE_CONTACT, b);
    const float *change = nodes(s, FIRN_NODE_CHANGE, b);
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n += 4) {
        float step[4] = {0.0f};
        for (int k = 0; k < 3; k++) {
            right[n + k] = v[n + k];
            if (s->sim->warm && v[n + 3] > 0.0f)
                step[k] = old[n + k] + s->dt * change[n + k] - v[n + k];
        }
        right[n + 3] = 0.0f;
        project(contact + n, step);
        for (int k = 0; k < 3; k++)
            v[n + k] += step[k];
    }
    return 0.0;
}

// out = Q (in + scale / m * out), where out comes in as H in; returns <in, out>.
static double finish_product(const solving *s, size_t b, firn_node_field input,
                             firn_node_field output)
{
    const float *mass = nodes(s, FIRN_NODE_VELOCITY, b), *in = nodes(s, input, b);
    const float *contact = nodes(s, FIRN_NODE_CONTACT, b);
    float *out = nodes(s, output, b);
    double sum = 0.0;
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n += 4) {
        float m = mass[n + 3], inverse = m > 0.0f ? s->scale / m : 0.0f;
        for (int k = 0; k < 3; k++)
            out[n + k] = in[n + k] + inverse * out[n + k];
        out[n + 3] = 0.0f;
        project(contact + n, out + n);
        sum +=
            (double)m * (double)(in[n] * out[n] + in[n + 1] * out[n + 1] + in[n + 2] * out[n + 2]);
    }
    return sum;
}

// r = Q (b - A x), p = 0, A p = 0; returns <r, r>.
static double first_residual(const solving *s, size_t b, float factor)
{
    (void)factor;
    finish_product(s, b, FIRN_NODE_VELOCITY, FIRN_NODE_A_RESIDUAL);
    const float *v = nodes(s, FIRN_NODE_VELOCITY, b), *ax = nodes(s, FIRN_NODE_A_RESIDUAL, b);
    const float *contact = nodes(s, FIRN_NODE_CONTACT, b);
    float *r = nodes(s, FIRN_NODE_RESIDUAL, b);
    double sum = 0.0;
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n += 4) {
        project(contact + n, r + n);
        for (int k = 0; k < 3; k++) {
            r[n + k] = v[n + 3] > 0.0f ? r[n + k] - ax[n + k] : 0.0f;
            sum += (double)v[n + 3] * (double)(r[n + k] * r[n + k]);
        }
    }
    memset(nodes(s, FIRN_NODE_SEARCH, b), 0, FIRN_BLOCK_FLOATS * sizeof(float));
    memset(nodes(s, FIRN_NODE_A_SEARCH, b), 0, FIRN_BLOCK_FLOATS * sizeof(float));
    return sum;
}

static double product_of_residual(const solving *s, size_t b, float factor)
{
    (void)factor;
    return finish_product(s, b, FIRN_NODE_RESIDUAL, FIRN_NODE_A_RESIDUAL);
}

// p = r + factor p, A p = A r + factor A p; returns <A p, A p>.
static double next_search(const solving *s, size_t b, float factor)
{
    const float *mass = nodes(s, FIRN_NODE_VELOCITY, b);
    const float *r = nodes(s, FIRN_NODE_RESIDUAL, b), *ar = nodes(s, FIRN_NODE_A_RESIDUAL, b);
    float *p = nodes(s, FIRN_NODE_SEARCH, b), *ap = nodes(s, FIRN_NODE_A_SEARCH, b);
    double sum = 0.0;
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n += 4) {
        float length2 = 0.0f;
        for (int k = 0; k < 3; k++) {
            p[n + k] = r[n + k] + factor * p[n + k];
            ap[n + k] = ar[n + k] + factor * ap[n + k];
            length2 += ap[n + k] * ap[n + k];
        }
        sum += (double)mass[n + 3] * (double)length2;
    }
    return sum;
}

// x += factor p, r -= factor A p; returns <r, r>.
static double advance(const solving *s, size_t b, float factor)
{
    float *v = nodes(s, FIRN_NODE_VELOCITY, b), *r = nodes(s, FIRN_NODE_RESIDUAL, b);
    const float *p = nodes(s, FIRN_NODE_SEARCH, b), *ap = nodes(s, FIRN_NODE_A_SEARCH, b);
    double sum = 0.0;
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n += 4) {
        float length2 = 0.0f;
        for (int k = 0; k < 3; k++) {
            v[n + k] += factor * p[n + k];
            r[n + k] -= factor * ap[n + k];
            length2 += r[n + k] * r[n + k];
        }
        sum += (double)v[n + 3] * (double)length2;
    }
    return sum;
}

static double remember_change(const solving *s, size_t b, float factor)
{
    const float *v = nodes(s, FIRN_NODE_VELOCITY, b), *old = nodes(s, FIRN_NODE_OLD, b);
    float *change = nodes(s, FIRN_NODE_CHANGE, b);
    for (int n = 0; n < FIRN_BLOCK_FLOATS; n++)
        change[n] = n % 4 < 3 ? factor * (v[n] - old[n]) : 0.0f;
    return 0.0;
}

static void apply_hessian(const solving *s, firn_node_field input, firn_node_field output)
{
    double start = firn_seconds();
    firn_transfer_apply_hessian(s->sim, s->dt, input, output);
    s->sim->stats.product_seconds += firn_seconds() - start;
}

static firn_solve iterate(const solving *s)
{
    firn_sim *sim = s->sim;
    apply_hessian(s, FIRN_NODE_VELOCITY, FIRN_NODE_A_RESIDUAL);
    double rr = for_blocks(s, first_residual, 0.0f), r_ar_old = 0.0;
    double goal = (double)sim->def.tolerance * (double)sim->def.tolerance * s->mass;
    int i = 0;
    for (; rr > goal && i < sim->def.max_iterations; i++) {
        apply_hessian(s, FIRN_NODE_RESIDUAL, FIRN_NODE_A_RESIDUAL);
        double r_ar = for_blocks(s, product_of_residual, 0.0f);
        double beta = i > 0 ? r_ar / r_ar_old : 0.0;
        double ap_ap = for_blocks(s, next_search, (float)beta);
        double alpha = r_ar / ap_ap;
        r_ar_old = r_ar;
        // A breakdown of the recurrence: the system is too far from definite for this step.
        if (!isfinite(alpha) || !isfinite(beta) || r_ar == 0.0)
            break;
        rr = for_blocks(s, advance, (float)alpha);
    }
    double residual = s->mass > 0.0 ? sqrt(rr / s->mass) : 0.0;
    return (firn_solve){.iterations = i, .residual = residual, .converged = rr <= goal};
}

firn_solve firn_implicit_solve(firn_sim *sim, float dt)
{
    solving s = {.sim = sim, .dt = dt, .scale = sim->def.beta * dt * dt};
    s.mass = for_blocks(&s, total_mass, 0.0f);
    firn_transfer_prepare_hessian(sim, dt);
    for_blocks(&s, begin_block, 0.0f);
    firn_solve solve = iterate(&s);
    if (solve.converged) {
        for_blocks(&s, remember_change, 1.0f / dt);
        sim->warm = true;
    }
    return solve;
}

firn_result firn_implicit_sort(firn_sim *sim, firn_error *error)
{
    firn_grid *grid = &sim->grid;
    firn_array coords = {NULL, 0}, changes = {NULL, 0};
    size_t old_count = sim->warm ? grid->node_block_count : 0;
    size_t bytes = FIRN_BLOCK_FLOATS * sizeof(float);
    firn_result result =
        firn_array_claim(&sim->budget, &coords, old_count, sizeof(firn_coord), error);
    if (result == FIRN_OK)
        result = firn_array_claim(&sim->budget, &changes, old_count, bytes, error);
    if (result == FIRN_OK && old_count > 0) {
        memcpy(coords.data, grid->node_coord.data, old_count * sizeof(firn_coord));
        memcpy(changes.data, grid->field[FIRN_NODE_CHANGE].data, old_count * bytes);
    }
    if (result == FIRN_OK)
        result = firn_sim_sort(sim, error);
    if (result == FIRN_OK && sim->warm && grid->node_block_count > 0) {
        memset(grid->field[FIRN_NODE_CHANGE].data, 0, grid->node_block_count * bytes);
        for (size_t b = 0; b < old_count; b++) {
            int32_t now =
                firn_block_map_find(&grid->map, firn_block_key(((firn_coord *)coords.data)[b]));
            if (now >= 0)
                memcpy(firn_grid_nodes(grid, FIRN_NODE_CHANGE, (size_t)now),
                       (const char *)changes.data + b * bytes, bytes);
        }
    }
    firn_array_free(&sim->budget, &changes);
    firn_array_free(&sim->budget, &coords);
    return result;
}
