#include "solids.h"

#include <math.h>

enum { STEP_LIMIT = 4000, BISECTIONS = 12 };
#define SHORTEST 0.25f // voxels of the level set, least step in its band

static int32_t floor_int(float x)
{
    int32_t truncated = (int32_t)x;
    return truncated - (x < (float)truncated);
}

firn_result firn_level_set_open(firn_solid *solid, const firn_level_set *set, firn_error *error)
{
    // The shape's own space is now that of the level set's voxels.
    firn_transform pose = solid->pose;
    solid->pose = (firn_transform){firn_transform_point(pose, set->map.translation),
                                   firn_quat_mul(pose.rotation, set->map.rotation),
                                   pose.scale * set->map.scale};
    solid->set = set;
    firn_coord lower = {0, 0, 0}, upper = {0, 0, 0};
    for (size_t i = 0; i < set->leaf_count; i++) {
        firn_coord o = set->leaf_origin[i], b = {o.x >> 3, o.y >> 3, o.z >> 3};
        lower = i == 0 ? b
                       : (firn_coord){b.x < lower.x ? b.x : lower.x, b.y < lower.y ? b.y : lower.y,
                                      b.z < lower.z ? b.z : lower.z};
        upper = i == 0 ? b
                       : (firn_coord){b.x > upper.x ? b.x : upper.x, b.y > upper.y ? b.y : upper.y,
                                      b.z > upper.z ? b.z : upper.z};
    }
    solid->box[0] = firn_vec(8.0f * (float)lower.x, 8.0f * (float)lower.y, 8.0f * (float)lower.z);
    solid->box[1] = firn_vec(8.0f * (float)(upper.x + 1), 8.0f * (float)(upper.y + 1),
                             8.0f * (float)(upper.z + 1));
    FIRN_TRY(firn_block_index_open(&solid->index, lower, upper, error));
    solid->leaf = firn_alloc((set->leaf_count + 1) * sizeof *solid->leaf);
    if (solid->leaf == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot hold a level set");
    for (size_t i = 0; i < set->leaf_count; i++) {
        firn_coord o = set->leaf_origin[i];
        uint32_t number;
        FIRN_TRY(firn_block_index_add(&solid->index, (firn_coord){o.x >> 3, o.y >> 3, o.z >> 3},
                                      &number, error));
        solid->leaf[number] = (uint32_t)i;
    }
    return FIRN_OK;
}

static bool read_voxel(const firn_solid *solid, int32_t x, int32_t y, int32_t z, float *value)
{
    int32_t block = firn_block_find(&solid->index, x >> 3, y >> 3, z >> 3);
    if (block == FIRN_NO_BLOCK)
        return false;
    size_t voxel = (size_t)((x & 7) << 6 | (y & 7) << 3 | (z & 7));
    *value = solid->set->values[(size_t)solid->leaf[block] * FIRN_LEAF_VOXELS + voxel];
    return true;
}

// Distance in voxels with its gradient; false outside of the leaves. A corner that is missing takes
// after those that are there.
static bool look(const firn_solid *solid, firn_vec3 p, float *distance, firn_vec3 *gradient)
{
    int32_t x = floor_int(p.x), y = floor_int(p.y), z = floor_int(p.z);
    float c[8], known = 0.0f;
    if (!read_voxel(solid, x, y, z, &known))
        return false;
    for (int i = 0; i < 8; i++)
        if (!read_voxel(solid, x + (i >> 2), y + (i >> 1 & 1), z + (i & 1), &c[i]))
            c[i] = known;
    float u = p.x - (float)x, v = p.y - (float)y, w = p.z - (float)z;
    float zs[4], ys[2];
    for (int i = 0; i < 4; i++)
        zs[i] = c[2 * i] + w * (c[2 * i + 1] - c[2 * i]);
    for (int i = 0; i < 2; i++)
        ys[i] = zs[2 * i] + v * (zs[2 * i + 1] - zs[2 * i]);
    float per_voxel = 1.0f / solid->set->map.scale;
    *distance = (ys[0] + u * (ys[1] - ys[0])) * per_voxel - solid->offset * per_voxel;
    float dz[2] = {(1.0f - v) * (c[1] - c[0]) + v * (c[3] - c[2]),
                   (1.0f - v) * (c[5] - c[4]) + v * (c[7] - c[6])};
    float dy[2] = {zs[1] - zs[0], zs[3] - zs[2]};
    *gradient = firn_vec(ys[1] - ys[0], dy[0] + u * (dy[1] - dy[0]), dz[0] + u * (dz[1] - dz[0]));
    return true;
}

// Where a ray at p leaves its block, in units of the direction.
static float leave_block(firn_vec3 p, firn_vec3 d)
{
    const float at[3] = {p.x, p.y, p.z}, speed[3] = {d.x, d.y, d.z};
    float nearest = INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        if (fabsf(speed[axis]) < 1e-12f)
            continue;
        int32_t block = floor_int(at[axis]) >> 3;
        float edge = (float)(8 * (block + (speed[axis] > 0.0f ? 1 : 0)));
        nearest = fminf(nearest, (edge - at[axis]) / speed[axis]);
    }
    return fmaxf(nearest, 0.0f);
}

// The part of the ray that is inside the box of the leaves.
static bool clip(const firn_solid *solid, firn_vec3 from, firn_vec3 d, float range[2])
{
    const float p[3] = {from.x, from.y, from.z}, speed[3] = {d.x, d.y, d.z};
    const float low[3] = {solid->box[0].x, solid->box[0].y, solid->box[0].z};
    const float high[3] = {solid->box[1].x, solid->box[1].y, solid->box[1].z};
    for (int axis = 0; axis < 3; axis++) {
        if (fabsf(speed[axis]) < 1e-12f) {
            if (p[axis] < low[axis] || p[axis] > high[axis])
                return false;
            continue;
        }
        float a = (low[axis] - p[axis]) / speed[axis], b = (high[axis] - p[axis]) / speed[axis];
        range[0] = fmaxf(range[0], fminf(a, b));
        range[1] = fminf(range[1], fmaxf(a, b));
    }
    return range[0] < range[1];
}

static float refine(const firn_solid *solid, firn_vec3 from, firn_vec3 d, float outside,
                    float inside)
{
    float distance;
    firn_vec3 gradient;
    for (int i = 0; i < BISECTIONS; i++) {
        float middle = 0.5f * (outside + inside);
        bool there = look(solid, firn_add_scaled(from, middle, d), &distance, &gradient);
        if (there && distance < 0.0f)
            inside = middle;
        else
            outside = middle;
    }
    return outside;
}

// The gradient between cells has steps; over two voxels it has none.
static firn_vec3 smooth_normal(const firn_solid *solid, firn_vec3 p)
{
    const firn_vec3 axes[3] = {{1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}};
    float slope[3], plain[3];
    firn_vec3 gradient = {0.0f, 0.0f, 0.0f}, unused;
    float distance;
    look(solid, p, &distance, &gradient);
    plain[0] = gradient.x;
    plain[1] = gradient.y;
    plain[2] = gradient.z;
    for (int axis = 0; axis < 3; axis++) {
        float ahead, behind;
        bool known = look(solid, firn_add(p, axes[axis]), &ahead, &unused) &&
                     look(solid, firn_sub(p, axes[axis]), &behind, &unused);
        slope[axis] = known ? 0.5f * (ahead - behind) * solid->set->map.scale : plain[axis];
    }
    return firn_normalize(firn_vec(slope[0], slope[1], slope[2]));
}

bool firn_level_set_meet(const firn_solid *solid, firn_vec3 from, firn_vec3 direction, float *t,
                         firn_vec3 *normal)
{
    float range[2] = {0.0f, *t}, per_length = 1.0f / firn_length(direction);
    if (solid->set->leaf_count == 0 || !clip(solid, from, direction, range))
        return false;
    float at = range[0], before = at, distance;
    bool outside = false; // a ray that starts inside first has to leave
    firn_vec3 gradient;
    for (int step = 0; step < STEP_LIMIT && at < range[1]; step++) {
        firn_vec3 p = firn_add_scaled(from, at, direction);
        if (!look(solid, p, &distance, &gradient)) {
            at += leave_block(p, direction) + 0.01f * per_length;
            continue;
        }
        if (distance < 0.0f && outside) {
            *t = refine(solid, from, direction, before, at);
            gradient = smooth_normal(solid, firn_add_scaled(from, *t, direction));
            *normal = firn_dot(gradient, direction) > 0.0f ? firn_scale(-1.0f, gradient) : gradient;
            return true;
        }
        outside = outside || distance >= 0.0f;
        before = at;
        at += fmaxf(fabsf(distance) * 0.9f, SHORTEST) * per_length;
    }
    return false;
}
