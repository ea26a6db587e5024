#include "motion_blur.h"

#include "raster.h"
#include "space/leaf_index.h"

#include <math.h>
#include <string.h>

enum {
    LEAF = FIRN_LEAF_EDGE,
    FARTHEST = 4096, // voxels that snow may move
};

static bool is_on(const uint64_t *mask, size_t voxel)
{
    return mask[voxel / 64] >> (voxel % 64) & 1;
}

static void turn_on(uint64_t *mask, size_t voxel) { mask[voxel / 64] |= (uint64_t)1 << voxel % 64; }

static firn_coord voxel_of(firn_coord leaf_origin, size_t voxel)
{
    int i = (int)(voxel % FIRN_LEAF_VOXELS);
    return (firn_coord){leaf_origin.x + i / (LEAF * LEAF), leaf_origin.y + i / LEAF % LEAF,
                        leaf_origin.z + i % LEAF};
}

static firn_coord origin_of(firn_coord leaf)
{
    return (firn_coord){leaf.x * LEAF, leaf.y * LEAF, leaf.z * LEAF};
}

void firn_motion_blur_free(firn_motion_blur *blur)
{
    firn_coord_table_free(&blur->leaves);
    firn_free(blur->mask);
    firn_free(blur->velocity);
    *blur = (firn_motion_blur){0};
}

// Memory for the leaves that are listed.
static firn_result claim_voxels(firn_motion_blur *blur, firn_error *error)
{
    size_t leaves = blur->leaves.count;
    FIRN_TRY(firn_raster_claim(leaves * LEAF, sizeof *blur->mask, &blur->mask, error));
    FIRN_TRY(firn_raster_claim(leaves * FIRN_LEAF_VOXELS, sizeof *blur->velocity, &blur->velocity,
                               error));
    memset(blur->mask, 0, leaves * LEAF * sizeof *blur->mask);
    memset(blur->velocity, 0, leaves * FIRN_LEAF_VOXELS * sizeof *blur->velocity);
    return FIRN_OK;
}

static void copy_leaf(firn_motion_blur *to, size_t at, const uint64_t *mask,
                      const firn_vec3 *velocity)
{
    memcpy(&to->mask[at * LEAF], mask, LEAF * sizeof *mask);
    memcpy(&to->velocity[at * FIRN_LEAF_VOXELS], velocity, FIRN_LEAF_VOXELS * sizeof *velocity);
}

// ---- along the route

// The route of a voxel's center in one direction, from voxel to voxel.
typedef struct route {
    firn_coord at;
    int32_t step[3]; // voxels, -1 or 1
    float next[3];   // share of the route at which the border along an axis is crossed
    float pace[3];   // share of the route that a voxel takes along an axis
} route;

typedef struct sweep {
    const firn_field_view *field;
    firn_motion_blur *blur;
    float travel;      // voxels for each m/s
    uint32_t *members; // voxels of the field by the leaves that they pass, in order
    size_t *next;      // behind the last of each leaf
} sweep;

static route route_of(const sweep *s, size_t voxel, float direction)
{
    firn_vec3 v = firn_scale(direction * s->travel, s->field->velocity[voxel]);
    const float length[3] = {v.x, v.y, v.z};
    route w = {.at = voxel_of(s->field->leaf_origin[voxel / FIRN_LEAF_VOXELS], voxel)};
    for (int axis = 0; axis < 3; axis++) {
        w.step[axis] = length[axis] < 0.0f ? -1 : 1;
        w.pace[axis] = fabsf(length[axis]) > 0.0f ? 1.0f / fabsf(length[axis]) : INFINITY;
        w.next[axis] = 0.5f * w.pace[axis];
    }
    return w;
}

// Goes to the next voxel; false: the route ends here.
static bool advance(route *w)
{
    int axis = w->next[0] <= w->next[1] ? 0 : 1;
    axis = w->next[axis] <= w->next[2] ? axis : 2;
    if (!(w->next[axis] <= 1.0f))
        return false;
    int32_t *coordinate = axis == 0 ? &w->at.x : axis == 1 ? &w->at.y : &w->at.z;
    *coordinate += w->step[axis];
    w->next[axis] += w->pace[axis];
    return true;
}

static firn_coord leaf_of(firn_coord voxel)
{
    return (firn_coord){voxel.x >> 3, voxel.y >> 3, voxel.z >> 3};
}

static firn_result check_ways(const sweep *s, firn_error *error)
{
    size_t voxels = s->field->leaf_count * FIRN_LEAF_VOXELS;
    if (voxels > UINT32_MAX)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%zu leaves are too many for motion blur; use larger voxels",
                         s->field->leaf_count);
    for (size_t i = 0; i < voxels; i++) {
        float length = s->travel * firn_length(s->field->velocity[i]);
        if (is_on(s->field->mask, i) && !(length < (float)FARTHEST))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "snow moves by %g voxels while the shutter is open, %d at most can be "
                             "followed; set a shorter shutter",
                             (double)length, FARTHEST);
    }
    return FIRN_OK;
}

// Counts or notes a leaf on the route of a voxel, unless it was the last one. A route that comes
// back to its start lists that leaf twice, which only costs time.
static firn_result list_leaf(sweep *s, size_t voxel, firn_coord leaf, firn_coord *last, bool note,
                             firn_error *error)
{
    if (firn_same_cell(leaf, *last))
        return FIRN_OK;
    *last = leaf;
    uint32_t number;
    FIRN_TRY(firn_coord_table_add(&s->blur->leaves, leaf, &number, error));
    if (note)
        s->members[s->next[number]++] = (uint32_t)voxel;
    else
        s->blur->leaves.entries[number].count++;
    return FIRN_OK;
}

// For every voxel of the field and every leaf on its route.
static firn_result list_ways(sweep *s, bool note, firn_error *error)
{
    size_t voxels = s->field->leaf_count * FIRN_LEAF_VOXELS;
    for (size_t i = 0; i < voxels; i++) {
        if (!is_on(s->field->mask, i))
            continue;
        firn_coord last = {INT32_MAX, 0, 0};
        for (int direction = -1; direction <= 1; direction += 2) {
            route w = route_of(s, i, (float)direction);
            do
                FIRN_TRY(list_leaf(s, i, leaf_of(w.at), &last, note, error));
            while (advance(&w));
        }
    }
    return FIRN_OK;
}

// Velocities that pass the voxels of a leaf: their sums and numbers. -1: snow stands there.
typedef struct traffic {
    firn_coord leaf;
    firn_vec3 *sum;
    float count[FIRN_LEAF_VOXELS];
} traffic;

static void add_pass(traffic *t, firn_coord voxel, firn_vec3 velocity, bool stands)
{
    if (!firn_same_cell(leaf_of(voxel), t->leaf))
        return;
    int at = firn_leaf_offset(voxel);
    if (stands) {
        t->count[at] = -1.0f;
        t->sum[at] = velocity;
    } else if (t->count[at] >= 0.0f) {
        t->count[at] += 1.0f;
        t->sum[at] = firn_add(t->sum[at], velocity);
    }
}

// One leaf from the voxels that pass it, in their order. What holds snow keeps its velocity.
static void sweep_leaf(const sweep *s, size_t leaf)
{
    firn_motion_blur *blur = s->blur;
    traffic t = {.leaf = blur->leaves.entries[leaf].coord,
                 .sum = &blur->velocity[leaf * FIRN_LEAF_VOXELS]};
    size_t end = s->next[leaf];
    for (size_t m = end - blur->leaves.entries[leaf].count; m < end; m++) {
        firn_vec3 velocity = s->field->velocity[s->members[m]];
        for (int direction = -1; direction <= 1; direction += 2) {
            route w = route_of(s, s->members[m], (float)direction);
            add_pass(&t, w.at, velocity, true);
            while (advance(&w))
                add_pass(&t, w.at, velocity, false);
        }
    }
    for (size_t i = 0; i < FIRN_LEAF_VOXELS; i++) {
        if (t.count[i] > 0.0f)
            t.sum[i] = firn_scale(1.0f / t.count[i], t.sum[i]);
        if (t.count[i] != 0.0f)
            turn_on(&blur->mask[leaf * LEAF], i);
    }
}

static firn_result run_sweep(sweep *s, int thread_count, firn_error *error)
{
    firn_coord_table *leaves = &s->blur->leaves;
    FIRN_TRY(check_ways(s, error));
    FIRN_TRY(list_ways(s, false, error));
    firn_coord_table_sort(leaves);
    FIRN_TRY(claim_voxels(s->blur, error));
    FIRN_TRY(firn_raster_claim(leaves->count + 1, sizeof *s->next, &s->next, error));
    size_t members = 0;
    for (size_t i = 0; i < leaves->count; i++) {
        s->next[i] = members;
        members += leaves->entries[i].count;
    }
    FIRN_TRY(firn_raster_claim(members, sizeof *s->members, &s->members, error));
    FIRN_TRY(list_ways(s, true, error));
#pragma omp parallel for schedule(dynamic, 4) num_threads(thread_count)
    for (size_t leaf = 0; leaf < leaves->count; leaf++)
        sweep_leaf(s, leaf);
    return FIRN_OK;
}

// ---- around it

// Lists every leaf that a box around the voxels of a leaf reaches when it grows by some voxels.
static firn_result list_rim(const firn_motion_blur *from, int dilation, firn_coord_table *leaves,
                            firn_error *error)
{
    for (size_t leaf = 0; leaf < from->leaves.count; leaf++) {
        int32_t lower[3] = {LEAF, LEAF, LEAF}, upper[3] = {-1, -1, -1};
        for (size_t i = 0; i < FIRN_LEAF_VOXELS; i++) {
            if (!is_on(&from->mask[leaf * LEAF], i))
                continue;
            const int32_t at[3] = {(int32_t)(i / 64), (int32_t)(i / 8 % 8), (int32_t)(i % 8)};
            for (int axis = 0; axis < 3; axis++) {
                lower[axis] = at[axis] < lower[axis] ? at[axis] : lower[axis];
                upper[axis] = at[axis] > upper[axis] ? at[axis] : upper[axis];
            }
        }
        if (upper[0] < 0)
            continue;
        firn_coord o = origin_of(from->leaves.entries[leaf].coord), at;
        firn_coord first = leaf_of((firn_coord){
            o.x + lower[0] - dilation, o.y + lower[1] - dilation, o.z + lower[2] - dilation});
        firn_coord last = leaf_of((firn_coord){o.x + upper[0] + dilation, o.y + upper[1] + dilation,
                                               o.z + upper[2] + dilation});
        uint32_t number;
        for (at.x = first.x; at.x <= last.x; at.x++)
            for (at.y = first.y; at.y <= last.y; at.y++)
                for (at.z = first.z; at.z <= last.z; at.z++)
                    FIRN_TRY(firn_coord_table_add(leaves, at, &number, error));
    }
    return FIRN_OK;
}

// A leaf with the 26 around it; the number of leaves where there is none.
typedef struct around {
    size_t leaf[27];
} around;

static around leaves_around(const firn_motion_blur *blur, size_t leaf)
{
    around a;
    firn_coord c = blur->leaves.entries[leaf].coord;
    for (int i = 0; i < 27; i++)
        a.leaf[i] = firn_coord_table_find(
            &blur->leaves, (firn_coord){c.x + i / 9 - 1, c.y + i / 3 % 3 - 1, c.z + i % 3 - 1});
    return a;
}

// The mean velocity of the 26 voxels around one that have any; false: none has.
static bool mean_around(const firn_motion_blur *blur, const around *a, size_t voxel,
                        firn_vec3 *mean)
{
    const int at[3] = {(int)(voxel / 64), (int)(voxel / 8 % 8), (int)(voxel % 8)};
    firn_vec3 sum = {0.0f, 0.0f, 0.0f};
    float count = 0.0f;
    for (int i = 0; i < 27; i++) {
        const int p[3] = {at[0] + i / 9 - 1, at[1] + i / 3 % 3 - 1, at[2] + i % 3 - 1};
        int which = ((p[0] + LEAF) / LEAF * 3 + (p[1] + LEAF) / LEAF) * 3 + (p[2] + LEAF) / LEAF;
        size_t leaf = a->leaf[which];
        if (leaf == blur->leaves.count)
            continue;
        size_t other =
            leaf * FIRN_LEAF_VOXELS + (size_t)firn_leaf_offset((firn_coord){p[0], p[1], p[2]});
        if (!is_on(blur->mask, other))
            continue;
        sum = firn_add(sum, blur->velocity[other]);
        count += 1.0f;
    }
    *mean = count > 0.0f ? firn_scale(1.0f / count, sum) : sum;
    return count > 0.0f;
}

static bool all_on(const uint64_t *mask)
{
    uint64_t all = UINT64_MAX;
    for (int i = 0; i < LEAF; i++)
        all &= mask[i];
    return all == UINT64_MAX;
}

// One more layer: reads the mask as it was, writes the new one.
static void add_layer(firn_motion_blur *blur, uint64_t *wider, int thread_count)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(thread_count)
    for (size_t leaf = 0; leaf < blur->leaves.count; leaf++) {
        const uint64_t *mask = &blur->mask[leaf * LEAF];
        memcpy(&wider[leaf * LEAF], mask, LEAF * sizeof *mask);
        if (all_on(mask))
            continue;
        around a = leaves_around(blur, leaf);
        for (size_t i = 0; i < FIRN_LEAF_VOXELS; i++) {
            firn_vec3 mean;
            // Nobody reads a velocity that is off in the old mask, so it may change now.
            if (is_on(mask, i) || !mean_around(blur, &a, i, &mean))
                continue;
            blur->velocity[leaf * FIRN_LEAF_VOXELS + i] = mean;
            turn_on(&wider[leaf * LEAF], i);
        }
    }
}

static firn_result dilate(const firn_motion_blur *from, const firn_motion_blur_def *def,
                          firn_motion_blur *to, firn_error *error)
{
    uint64_t *wider = NULL;
    FIRN_TRY(list_rim(from, def->dilation, &to->leaves, error));
    firn_coord_table_sort(&to->leaves);
    FIRN_TRY(claim_voxels(to, error));
    FIRN_TRY(firn_raster_claim(to->leaves.count * LEAF, sizeof *wider, &wider, error));
    for (size_t i = 0; i < from->leaves.count; i++) {
        size_t at = firn_coord_table_find(&to->leaves, from->leaves.entries[i].coord);
        if (at < to->leaves.count)
            copy_leaf(to, at, &from->mask[i * LEAF], &from->velocity[i * FIRN_LEAF_VOXELS]);
    }
    for (int layer = 0; layer < def->dilation; layer++) {
        add_layer(to, wider, def->thread_count);
        memcpy(to->mask, wider, to->leaves.count * LEAF * sizeof *wider);
    }
    firn_free(wider);
    return FIRN_OK;
}

firn_result firn_motion_blur_make(const firn_field_view *field, const firn_motion_blur_def *def,
                                  firn_motion_blur *blur, firn_error *error)
{
    firn_motion_blur swept = {0}, dilated = {0};
    sweep s = {.field = field, .blur = &swept, .travel = def->shutter / field->voxel_size};
    firn_result result = run_sweep(&s, def->thread_count, error);
    firn_free(s.members);
    firn_free(s.next);
    if (result == FIRN_OK)
        result = dilate(&swept, def, &dilated, error);
    firn_motion_blur_free(&swept);
    if (result != FIRN_OK)
        firn_motion_blur_free(&dilated);
    *blur = dilated;
    return result;
}
