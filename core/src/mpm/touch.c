/// Particles that meet colliders, method.md (16).
///
/// Looking for contact costs more than all else, and hardly anyone finds it. So every look also
/// tells how far the particles and the surfaces may go, all ways added up, before another is due.
#include "transfer_group.h"

// How far around a block, and around a group, colliders are looked for; cells.
#define BLOCK_MARGIN 2.0f
#define GROUP_MARGIN 1.0f

static firn_vec3 block_corner(const firn_pass *pass, const firn_block *block)
{
    float h = pass->grid->cell_size, shift = (float)firn_grid_shift(pass->grid);
    return firn_vec(h * ((float)(4 * block->coord.x) + shift),
                    h * ((float)(4 * block->coord.y) + shift),
                    h * ((float)(4 * block->coord.z) + shift));
}

bool FIRN_KERNEL(is_near_colliders)(const firn_pass *pass, const firn_block *block)
{
    float *clearance = &pass->block_clearance[block - firn_grid_blocks(pass->grid)];
    float h = pass->grid->cell_size;
    if (*clearance != FIRN_NO_CLEARANCE && !(*clearance > pass->surface_total)) {
        firn_vec3 middle =
            firn_add(block_corner(pass, block), firn_vec(2.0f * h, 2.0f * h, 2.0f * h));
        firn_near near;
        firn_colliders_near(pass->colliders, middle, (FIRN_BLOCK_REACH + BLOCK_MARGIN) * h, &near);
        float margin = BLOCK_MARGIN * h, before = pass->surface_total - pass->surface_travel;
        // Once groups have looked, they count every travel from there on.
        bool looks = near.count > 0 || !(pass->surface_travel < margin);
        *clearance = looks ? FIRN_NO_CLEARANCE : before + margin;
    }
    return *clearance == FIRN_NO_CLEARANCE;
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
                           const firn_near *near)
{
    float *u[3], *v[3];
    for (int axis = 0; axis < 3; axis++) {
        u[axis] = firn_channel_of(pass->particles, FIRN_U + axis);
        v[axis] = firn_channel_of(pass->particles, FIRN_V + axis);
    }
    float h = pass->grid->cell_size, clearance = INFINITY;
    for (size_t p = cluster->begin; p < cluster->end; p++) {
        firn_vec3 position = firn_add_scaled(corner, h, firn_vec(u[0][p], u[1][p], u[2][p]));
        firn_vec3 velocity = firn_vec(v[0][p], v[1][p], v[2][p]);
        firn_particle_contact contact =
            firn_colliders_touch_particle(pass->colliders, near, position, velocity, pass->dt);
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

bool FIRN_KERNEL(touch_group)(const firn_pass *pass, const firn_segment *segment, size_t first,
                              int n, float speed)
{
    // Groups of different segments may begin in the same line.
    const firn_block *block = segment->block;
    size_t b = (size_t)(block - firn_grid_blocks(pass->grid));
    size_t s = FIRN_MODEL_COUNT * b + (size_t)segment->model;
    float *clearance = &pass->group_clearance[first / FIRN_LANES + s];
    float travel = 1.001f * pass->dt * speed + pass->surface_travel;
    if (*clearance > travel) {
        *clearance -= travel;
        return false;
    }
    firn_vec3 corner = block_corner(pass, block);
    firn_cluster cluster = make_cluster(pass, corner, first, n);
    float margin = GROUP_MARGIN * pass->grid->cell_size;
    firn_near near;
    firn_colliders_near(pass->colliders, cluster.center, cluster.radius + margin + travel, &near);
    *clearance = margin;
    if (near.count > 0) {
        float found = touch_cluster(pass, corner, &cluster, &near) - travel;
        *clearance = found < margin ? found : margin;
    }
    return near.count > 0;
}
