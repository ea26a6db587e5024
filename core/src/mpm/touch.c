/// Particles that meet colliders, method.md (16).
///
/// Looking for contact costs more than all else, and hardly anyone finds it. So every look also
/// tells how far the particles and the surfaces may go, all ways added up, before another is due.
#include "transfer_group.h"

#include <string.h>

// Of longer lists a group asks all: it keeps its own on the stack.
enum { LIST_LIMIT = 64 };

static firn_vec3 block_corner(const firn_pass *pass, const firn_block *block)
{
    float h = pass->grid->cell_size, shift = (float)firn_grid_shift(pass->grid);
    return firn_vec(h * ((float)(4 * block->coord.x) + shift),
                    h * ((float)(4 * block->coord.y) + shift),
                    h * ((float)(4 * block->coord.z) + shift));
}

/// Some of a block's particles and a sphere that holds them.
typedef struct firn_cluster {
    size_t begin, end;
    firn_vec3 center; // m
    float radius;     // m
} firn_cluster;

static firn_cluster make_cluster(const firn_pass *pass, firn_vec3 corner, size_t first, int n)
{
    firn_cluster cluster = {.begin = first, .end = first + (size_t)n};
    float h = pass->grid->cell_size, middle[3], size2 = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        const float *u = firn_channel_of(pass->particles, FIRN_U + axis);
        float low = u[first], high = low;
        for (size_t p = first; p < cluster.end; p++) {
            low = u[p] < low ? u[p] : low;
            high = u[p] > high ? u[p] : high;
        }
        middle[axis] = 0.5f * (low + high);
        size2 += (high - low) * (high - low);
    }
    cluster.center = firn_add_scaled(corner, h, firn_vec(middle[0], middle[1], middle[2]));
    // A little more than needed, for rounding.
    cluster.radius = h * (0.5f * sqrtf(size2) + 0.01f);
    return cluster;
}

// Changes v, and u by the push; gives the clearance that the one nearest to a collider had.
static float touch_cluster(const firn_pass *pass, firn_vec3 corner, const firn_cluster *cluster,
                           const firn_near *near, firn_impulse *taken)
{
    float *u[3], *v[3];
    for (int axis = 0; axis < 3; axis++) {
        u[axis] = firn_channel_of(pass->particles, FIRN_U + axis);
        v[axis] = firn_channel_of(pass->particles, FIRN_V + axis);
    }
    const float *mass = firn_channel_of(pass->particles, FIRN_MASS);
    const float *volume = firn_channel_of(pass->particles, FIRN_VOLUME);
    float h = pass->grid->cell_size, clearance = INFINITY;
    for (size_t p = cluster->begin; p < cluster->end; p++) {
        firn_mass_point point = {
            firn_add_scaled(corner, h, firn_vec(u[0][p], u[1][p], u[2][p])),
            firn_vec(v[0][p], v[1][p], v[2][p]),
            mass[p],
        };
        if (pass->colliders->sticks) {
            point.cell_size = h;
            point.fill = volume[p] / (h * h * h);
            point.dt = pass->dt;
        }
        firn_particle_contact contact =
            firn_colliders_touch_particle(pass->colliders, near, &point, pass->dt, taken);
        v[0][p] = contact.velocity.x;
        v[1][p] = contact.velocity.y;
        v[2][p] = contact.velocity.z;
        u[0][p] += contact.push.x / h;
        u[1][p] += contact.push.y / h;
        u[2][p] += contact.push.z / h;
        clearance = contact.clearance < clearance ? contact.clearance : clearance;
    }
    return clearance;
}

// Lets a cluster meet those of the block's colliders that come within radius; false when none do.
static bool touch_near(const firn_pass *pass, const firn_block *block, const firn_cluster *cluster,
                       float radius, float *clearance)
{
    firn_vec3 corner = block_corner(pass, block);
    firn_impulse *sums, taken[LIST_LIMIT];
    int index[LIST_LIMIT];
    firn_near near = {.index = index};
    const firn_near all =
        firn_contact_list(pass->contacts, (size_t)(block - firn_grid_blocks(pass->grid)), &sums);
    if (all.count > LIST_LIMIT) {
        *clearance = touch_cluster(pass, corner, cluster, &all, sums);
        return true;
    }
    firn_colliders_near(pass->colliders, &all, cluster->center, radius, &near);
    if (near.count == 0)
        return false;
    memset(taken, 0, (size_t)near.count * sizeof *taken);
    *clearance = touch_cluster(pass, corner, cluster, &near, taken);
    // Both lists rise.
    for (int i = 0, place = 0; i < near.count; i++) {
        while (all.index[place] != near.index[i])
            place++;
        firn_impulse_add_scaled(&sums[place], 1.0, &taken[i]);
    }
    return true;
}

bool FIRN_KERNEL(touch_group)(const firn_pass *pass, const firn_segment *segment, size_t first,
                              int n, float speed)
{
    // Groups of different segments may begin in the same line.
    const firn_block *block = segment->block;
    size_t b = (size_t)(block - firn_grid_blocks(pass->grid));
    size_t s = FIRN_MODEL_COUNT * b + (size_t)segment->model;
    float *clearance = &pass->group_clearance[(first + block->phase) / FIRN_LANES + s];
    float travel = 1.001f * pass->dt * speed + pass->surface_travel;
    if (*clearance > travel) {
        *clearance -= travel;
        return false;
    }
    firn_cluster cluster = make_cluster(pass, block_corner(pass, block), first, n);
    float margin = FIRN_GROUP_MARGIN * pass->grid->cell_size, found = INFINITY;
    bool near = touch_near(pass, block, &cluster, cluster.radius + margin + travel, &found);
    *clearance = found - travel < margin ? found - travel : margin;
    return near;
}
