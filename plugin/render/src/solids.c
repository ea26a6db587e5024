#include "solids.h"

#include "firn/noise.h"

#include <math.h>
#include <string.h>

static float at(firn_vec3 v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

// --- Shapes in their own space -------------------------------------------------------------------
// The direction may have any length; t counts in it.

static bool meet_plane(firn_vec3 from, firn_vec3 d, float height, float *t, firn_vec3 *normal)
{
    float above = from.y - height;
    if (fabsf(d.y) < 1e-12f || above * d.y >= 0.0f)
        return false;
    float when = -above / d.y;
    if (!(when < *t))
        return false;
    *t = when;
    *normal = firn_vec(0.0f, above > 0.0f ? 1.0f : -1.0f, 0.0f);
    return true;
}

// Enters and leaves a box of this half size; false when it is missed.
static bool cross_box(firn_vec3 center, firn_vec3 half, firn_vec3 from, firn_vec3 d, float range[2],
                      int side[2])
{
    range[0] = -INFINITY;
    range[1] = INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        float p = at(from, axis) - at(center, axis), speed = at(d, axis), h = at(half, axis);
        if (fabsf(speed) < 1e-12f) {
            if (fabsf(p) > h)
                return false;
            continue;
        }
        float a = (-h - p) / speed, b = (h - p) / speed;
        if (fminf(a, b) > range[0]) {
            range[0] = fminf(a, b);
            side[0] = axis;
        }
        if (fmaxf(a, b) < range[1]) {
            range[1] = fmaxf(a, b);
            side[1] = axis;
        }
    }
    return range[0] <= range[1];
}

static bool meet_box(firn_vec3 half, firn_vec3 from, firn_vec3 d, float *t, firn_vec3 *normal)
{
    float range[2];
    int side[2] = {0, 0};
    if (!cross_box(firn_vec(0.0f, 0.0f, 0.0f), half, from, d, range, side))
        return false;
    int which = range[0] > 0.0f ? 0 : 1;
    if (!(range[which] > 0.0f && range[which] < *t))
        return false;
    *t = range[which];
    int axis = side[which];
    float away = at(d, axis) > 0.0f ? -1.0f : 1.0f;
    *normal = firn_vec(axis == 0 ? away : 0.0f, axis == 1 ? away : 0.0f, axis == 2 ? away : 0.0f);
    return true;
}

static bool meet_sphere(firn_vec3 center, float radius, firn_vec3 from, firn_vec3 d, float *t,
                        firn_vec3 *normal)
{
    firn_vec3 r = firn_sub(from, center);
    float a = firn_dot(d, d), b = firn_dot(r, d), c = firn_dot(r, r) - radius * radius;
    float root = b * b - a * c;
    if (root < 0.0f)
        return false;
    root = sqrtf(root);
    float when = c > 0.0f ? (-b - root) / a : (-b + root) / a;
    if (!(when > 0.0f && when < *t))
        return false;
    *t = when;
    firn_vec3 out = firn_normalize(firn_add_scaled(r, when, d));
    *normal = c > 0.0f ? out : firn_scale(-1.0f, out);
    return true;
}

static bool meet_capsule(float half, float radius, firn_vec3 from, firn_vec3 d, float *t,
                         firn_vec3 *normal)
{
    bool met = meet_sphere(firn_vec(0.0f, half, 0.0f), radius, from, d, t, normal);
    met |= meet_sphere(firn_vec(0.0f, -half, 0.0f), radius, from, d, t, normal);
    float a = d.x * d.x + d.z * d.z, b = from.x * d.x + from.z * d.z;
    float c = from.x * from.x + from.z * from.z - radius * radius, root = b * b - a * c;
    if (a < 1e-20f || root < 0.0f || c < 0.0f)
        return met;
    float when = (-b - sqrtf(root)) / a, height = from.y + when * d.y;
    if (!(when > 0.0f && when < *t && fabsf(height) <= half))
        return met;
    *t = when;
    *normal = firn_normalize(firn_vec(from.x + when * d.x, 0.0f, from.z + when * d.z));
    return true;
}

static bool meet_shape(const firn_solid *solid, firn_vec3 from, firn_vec3 d, float *t,
                       firn_vec3 *normal)
{
    float grown = solid->offset;
    firn_vec3 h = solid->half_size;
    switch (solid->shape) {
    case FIRN_SHAPE_PLANE:
        return meet_plane(from, d, grown, t, normal);
    case FIRN_SHAPE_BOX:
        return meet_box(firn_vec(h.x + grown, h.y + grown, h.z + grown), from, d, t, normal);
    case FIRN_SHAPE_SPHERE:
        return meet_sphere(firn_vec(0.0f, 0.0f, 0.0f), solid->radius + grown, from, d, t, normal);
    case FIRN_SHAPE_CAPSULE:
        return meet_capsule(h.y, solid->radius + grown, from, d, t, normal);
    default:
        return firn_level_set_meet(solid, from, d, t, normal);
    }
}

// --- All of them ---------------------------------------------------------------------------------

static bool is_near(const firn_solid *solid, firn_vec3 from, firn_vec3 d, float end)
{
    if (solid->shape == FIRN_SHAPE_PLANE)
        return true;
    firn_vec3 center = firn_lerp(solid->lower, solid->upper, 0.5f);
    firn_vec3 half = firn_scale(0.5f, firn_sub(solid->upper, solid->lower));
    // A short flight far from the box needs no more.
    if (fabsf(from.x - center.x) > half.x + end || fabsf(from.y - center.y) > half.y + end ||
        fabsf(from.z - center.z) > half.z + end)
        return false;
    float range[2];
    int side[2];
    return cross_box(center, half, from, d, range, side) && range[1] > 0.0f && range[0] < end;
}

// Whether light passes a plane at a distance, since it is open there. Its edge frays, as snow does:
// a clean line would be the first thing to be seen.
static bool is_open(const firn_solid *solid, firn_vec3 from, firn_vec3 direction, float distance)
{
    firn_vec3 p = firn_add_scaled(solid->origin, solid->voxel_size,
                                  firn_add_scaled(from, distance, direction));
    const float fray = 0.15f; // of a border
    float over = firn_patch_inset(solid->patch, p.x, p.z) - FIRN_PATCH_FULL;
    if (fabsf(over) > fray)
        return over > 0.0f;
    const double lump[3] = {14.0 * (double)p.x, 0.5, 14.0 * (double)p.z};
    const double crumb[3] = {70.0 * (double)p.x, 0.5, 70.0 * (double)p.z};
    return over > fray * (float)(0.6 * firn_noise(lump, 1) + 0.4 * firn_noise(crumb, 2));
}

bool firn_solids_meet(const firn_solids *solids, firn_vec3 from, firn_vec3 direction, firn_hit *hit)
{
    bool met = false;
    for (size_t i = 0; i < solids->count; i++) {
        const firn_solid *solid = &solids->list[i];
        if (!is_near(solid, from, direction, hit->distance))
            continue;
        // Distances keep their meaning: the direction shrinks with the space.
        firn_quat back = firn_quat_conjugate(solid->pose.rotation);
        firn_vec3 local = firn_transform_point_inverse(solid->pose, from);
        firn_vec3 d = firn_scale(1.0f / solid->pose.scale, firn_rotate(back, direction));
        firn_vec3 normal;
        float distance = hit->distance;
        if (!meet_shape(solid, local, d, &distance, &normal))
            continue;
        if (solid->patch != NULL && is_open(solid, from, direction, distance))
            continue;
        hit->distance = distance;
        hit->normal = firn_rotate(solid->pose.rotation, normal);
        hit->albedo = solid->albedo;
        hit->solid = solid;
        hit->local = firn_add_scaled(local, hit->distance, d);
        met = true;
    }
    return met;
}

// --- Making them ---------------------------------------------------------------------------------

firn_result firn_solids_open(firn_solids *solids, size_t count, firn_error *error)
{
    memset(solids, 0, sizeof *solids);
    solids->list = firn_alloc_zero((count + 1) * sizeof *solids->list);
    return solids->list != NULL
               ? FIRN_OK
               : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot hold the solids");
}

// The box around the local box [-half, half] + center after the pose.
static void bound(firn_solid *solid, firn_vec3 center, firn_vec3 half)
{
    for (int corner = 0; corner < 8; corner++) {
        firn_vec3 p = {center.x + (corner & 4 ? half.x : -half.x),
                       center.y + (corner & 2 ? half.y : -half.y),
                       center.z + (corner & 1 ? half.z : -half.z)};
        p = firn_transform_point(solid->pose, p);
        firn_vec3 low = corner == 0 ? p : solid->lower, high = corner == 0 ? p : solid->upper;
        solid->lower = firn_vec(fminf(low.x, p.x), fminf(low.y, p.y), fminf(low.z, p.z));
        solid->upper = firn_vec(fmaxf(high.x, p.x), fmaxf(high.y, p.y), fmaxf(high.z, p.z));
    }
}

static void bound_shape(firn_solid *solid)
{
    float r = solid->radius + solid->offset;
    firn_vec3 half = {r, r, r}, center = {0.0f, 0.0f, 0.0f};
    if (solid->shape == FIRN_SHAPE_BOX)
        half = firn_add(solid->half_size, firn_vec(solid->offset, solid->offset, solid->offset));
    if (solid->shape == FIRN_SHAPE_CAPSULE)
        half.y += solid->half_size.y;
    if (solid->shape == FIRN_SHAPE_LEVEL_SET) {
        center = firn_lerp(solid->box[0], solid->box[1], 0.5f);
        half = firn_scale(0.5f, firn_sub(solid->box[1], solid->box[0]));
    }
    bound(solid, center, half);
}

firn_result firn_solids_add(firn_solids *solids, const firn_collider_def *def, firn_vec3 albedo,
                            firn_vec3 origin, float voxel_size, firn_error *error)
{
    firn_solid *solid = &solids->list[solids->count];
    firn_transform pose = def->pose;
    if (!firn_vec_is_finite(pose.translation) || !(pose.scale > 0.0f && isfinite(pose.scale)))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a solid has no sound place or scale");
    pose.translation = firn_scale(1.0f / voxel_size, firn_sub(pose.translation, origin));
    pose.scale /= voxel_size;
    *solid = (firn_solid){.shape = def->shape,
                          .pose = pose,
                          .half_size = def->half_size,
                          .radius = def->radius,
                          .offset = def->offset / def->pose.scale,
                          .albedo = albedo,
                          .origin = origin,
                          .voxel_size = voxel_size};
    solids->count++;
    if (def->shape == FIRN_SHAPE_LEVEL_SET) {
        if (def->level_set == NULL)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "a solid that is a level set has none");
        FIRN_TRY(firn_level_set_open(solid, def->level_set, error));
    }
    bound_shape(solid);
    return FIRN_OK;
}

void firn_solids_free(firn_solids *solids)
{
    for (size_t i = 0; i < solids->count; i++) {
        firn_block_index_free(&solids->list[i].index);
        firn_free(solids->list[i].leaf);
    }
    firn_free(solids->list);
    memset(solids, 0, sizeof *solids);
}
