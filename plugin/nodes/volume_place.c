#include "volume_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = FIRN_LEAF_EDGE, VOXELS = FIRN_LEAF_VOXELS };

void firn_volume_release(firn_placed_volume *placed)
{
    firn_free(placed->origins);
    firn_free(placed->mask);
    firn_free(placed->velocity_mask);
    firn_free(placed->density);
    firn_free(placed->compaction);
    firn_free(placed->velocity);
    memset(placed, 0, sizeof *placed);
}

bool firn_volume_is_aligned(firn_transform map)
{
    float half = 0.5f * map.scale;
    firn_transform ours = {{half, half, half}, firn_quat_identity(), map.scale};
    firn_vec3 corner = {100.0f, 100.0f, 100.0f};
    float a = firn_length(firn_sub(map.translation, ours.translation));
    float b = firn_length(
        firn_sub(firn_transform_point(map, corner), firn_transform_point(ours, corner)));
    return a < 1e-3f * map.scale && b < 1e-3f * map.scale;
}

// A leaf and its place in the arrays, in order of origins.
typedef struct entry {
    firn_coord origin;
    size_t leaf;
} entry;

static int compare(const void *a, const void *b)
{
    const firn_coord *p = a, *q = b; // the first member of an entry
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    if (p->y != q->y)
        return p->y < q->y ? -1 : 1;
    return (p->z > q->z) - (p->z < q->z);
}

typedef struct source {
    const firn_field_view *field;
    entry *entries;
    firn_transform map;
    firn_quat rotation;
    float factor;
} source;

// The number of a voxel in the arrays, or SIZE_MAX.
static size_t find_voxel(const source *s, firn_coord c, const entry **last)
{
    firn_coord origin = {c.x & ~(EDGE - 1), c.y & ~(EDGE - 1), c.z & ~(EDGE - 1)};
    if (*last == NULL || compare(&(*last)->origin, &origin) != 0) {
        const entry *found =
            bsearch(&origin, s->entries, s->field->leaf_count, sizeof *s->entries, compare);
        if (found == NULL)
            return SIZE_MAX;
        *last = found;
    }
    return (*last)->leaf * VOXELS +
           (size_t)((c.x - origin.x) * 64 + (c.y - origin.y) * 8 + c.z - origin.z);
}

static bool is_set(const uint64_t *mask, size_t voxel)
{
    return mask[voxel / 64] >> voxel % 64 & 1;
}

typedef struct sample {
    float density, compaction;
    firn_vec3 velocity;
    bool active, moves;
} sample;

static sample sample_at(const source *s, firn_vec3 index, const entry **last)
{
    const firn_field_view *f = s->field;
    const uint64_t *known = f->velocity_mask != NULL ? f->velocity_mask : f->mask;
    firn_coord base = {(int32_t)floorf(index.x), (int32_t)floorf(index.y),
                       (int32_t)floorf(index.z)};
    float t[3] = {index.x - (float)base.x, index.y - (float)base.y, index.z - (float)base.z};
    sample result = {0};
    float packed = 0.0f, carried = 0.0f;
    for (int i = 0; i < 8; i++) {
        float w = (i & 4 ? t[0] : 1.0f - t[0]) * (i & 2 ? t[1] : 1.0f - t[1]) *
                  (i & 1 ? t[2] : 1.0f - t[2]);
        firn_coord c = {base.x + (i >> 2), base.y + (i >> 1 & 1), base.z + (i & 1)};
        size_t voxel = w > 0.0f ? find_voxel(s, c, last) : SIZE_MAX;
        if (voxel == SIZE_MAX)
            continue;
        bool active = is_set(f->mask, voxel);
        float mass = active ? w * f->density[voxel] : 0.0f;
        result.density += mass;
        result.active = result.active || active;
        if (f->compaction != NULL && active) {
            result.compaction += mass * f->compaction[voxel];
            packed += mass;
        }
        if (f->velocity != NULL && is_set(known, voxel)) {
            // Around the snow there is velocity without mass.
            float weight = mass + 1e-6f * w;
            result.velocity = firn_add_scaled(result.velocity, weight, f->velocity[voxel]);
            carried += weight;
        }
    }
    result.active = result.active && result.density > 0.0f;
    result.compaction = packed > 0.0f ? result.compaction / packed : 0.0f;
    result.moves = carried > 0.0f;
    if (result.moves)
        result.velocity =
            firn_scale(s->factor / carried, firn_rotate(s->rotation, result.velocity));
    return result;
}

// --- Which leaves --------------------------------------------------------------------------------

typedef struct leaf_list {
    firn_coord *origins;
    size_t count, room;
} leaf_list;

static firn_result add_leaf(leaf_list *list, firn_coord origin, firn_error *error)
{
    if (list->count == list->room) {
        size_t bigger = 2 * list->room + 256;
        firn_coord *moved = firn_alloc(bigger * sizeof *moved);
        if (moved == NULL)
            return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot place a volume");
        if (list->count > 0)
            memcpy(moved, list->origins, list->count * sizeof *moved);
        firn_free(list->origins);
        list->origins = moved;
        list->room = bigger;
    }
    list->origins[list->count++] = origin;
    return FIRN_OK;
}

// The leaves that a leaf of the source can reach.
static firn_result add_reach(leaf_list *list, const source *s, firn_coord o, firn_error *error)
{
    firn_vec3 low = {1e30f, 1e30f, 1e30f}, high = {-1e30f, -1e30f, -1e30f};
    for (int corner = 0; corner < 8; corner++) {
        firn_vec3 index = {(float)(o.x + (corner & 4 ? EDGE : -1)),
                           (float)(o.y + (corner & 2 ? EDGE : -1)),
                           (float)(o.z + (corner & 1 ? EDGE : -1))};
        firn_vec3 p = firn_scale(1.0f / s->map.scale, firn_transform_point(s->map, index));
        low = firn_vec(fminf(low.x, p.x), fminf(low.y, p.y), fminf(low.z, p.z));
        high = firn_vec(fmaxf(high.x, p.x), fmaxf(high.y, p.y), fmaxf(high.z, p.z));
    }
    if (!(fabsf(low.x) < 1e8f && fabsf(low.y) < 1e8f && fabsf(low.z) < 1e8f))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the volume stands too far from the origin for its voxels of %g m",
                         (double)s->map.scale);
    firn_coord from = {(int32_t)floorf(low.x) & ~7, (int32_t)floorf(low.y) & ~7,
                       (int32_t)floorf(low.z) & ~7};
    for (int32_t x = from.x; (float)x <= high.x; x += EDGE)
        for (int32_t y = from.y; (float)y <= high.y; y += EDGE)
            for (int32_t z = from.z; (float)z <= high.z; z += EDGE)
                FIRN_TRY(add_leaf(list, (firn_coord){x, y, z}, error));
    return FIRN_OK;
}

static void make_unique(leaf_list *list)
{
    size_t kept = 0;
    if (list->count > 0)
        qsort(list->origins, list->count, sizeof *list->origins, compare);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || compare(&list->origins[i], &list->origins[kept - 1]) != 0)
            list->origins[kept++] = list->origins[i];
    list->count = kept;
}

// --- Filling them --------------------------------------------------------------------------------

static firn_result claim(firn_placed_volume *placed, const firn_field_view *field, size_t leaves,
                         firn_error *error)
{
    size_t voxels = leaves * VOXELS + 1;
    placed->mask = firn_alloc_zero((8 * leaves + 1) * sizeof *placed->mask);
    placed->density = firn_alloc_zero(voxels * sizeof *placed->density);
    bool moves = field->velocity != NULL, packed = field->compaction != NULL;
    if (moves) {
        placed->velocity = firn_alloc_zero(voxels * sizeof *placed->velocity);
        placed->velocity_mask = firn_alloc_zero((8 * leaves + 1) * sizeof *placed->velocity_mask);
    }
    if (packed)
        placed->compaction = firn_alloc_zero(voxels * sizeof *placed->compaction);
    if (placed->mask == NULL || placed->density == NULL ||
        (moves && (placed->velocity == NULL || placed->velocity_mask == NULL)) ||
        (packed && placed->compaction == NULL))
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot place a volume");
    return FIRN_OK;
}

static void fill(firn_placed_volume *placed, const source *s, size_t leaf)
{
    firn_coord o = placed->origins[leaf];
    const entry *last = NULL;
    for (int n = 0; n < VOXELS; n++) {
        firn_vec3 world = {((float)(o.x + n / 64) + 0.5f) * s->map.scale,
                           ((float)(o.y + n / 8 % 8) + 0.5f) * s->map.scale,
                           ((float)(o.z + n % 8) + 0.5f) * s->map.scale};
        sample v = sample_at(s, firn_transform_point_inverse(s->map, world), &last);
        size_t voxel = leaf * VOXELS + (size_t)n;
        uint64_t bit = (uint64_t)1 << n % 64;
        placed->density[voxel] = v.active ? v.density : 0.0f;
        if (v.active)
            placed->mask[voxel / 64] |= bit;
        if (placed->compaction != NULL && v.active)
            placed->compaction[voxel] = v.compaction;
        if (placed->velocity != NULL && v.moves) {
            placed->velocity[voxel] = v.velocity;
            placed->velocity_mask[voxel / 64] |= bit;
        }
    }
}

// Leaves in which there is nothing are left out.
static size_t drop_empty(firn_placed_volume *placed, size_t leaves)
{
    size_t kept = 0;
    for (size_t i = 0; i < leaves; i++) {
        uint64_t any = 0;
        for (size_t w = 8 * i; w < 8 * i + 8; w++)
            any |= placed->mask[w] | (placed->velocity_mask != NULL ? placed->velocity_mask[w] : 0);
        if (any == 0)
            continue;
        if (kept != i) {
            placed->origins[kept] = placed->origins[i];
            memcpy(placed->mask + 8 * kept, placed->mask + 8 * i, 64);
            memcpy(placed->density + VOXELS * kept, placed->density + VOXELS * i,
                   VOXELS * sizeof *placed->density);
            if (placed->compaction != NULL)
                memcpy(placed->compaction + VOXELS * kept, placed->compaction + VOXELS * i,
                       VOXELS * sizeof *placed->compaction);
            if (placed->velocity != NULL) {
                memcpy(placed->velocity_mask + 8 * kept, placed->velocity_mask + 8 * i, 64);
                memcpy(placed->velocity + VOXELS * kept, placed->velocity + VOXELS * i,
                       VOXELS * sizeof *placed->velocity);
            }
        }
        kept++;
    }
    return kept;
}

static firn_result resample(firn_placed_volume *placed, source *s, firn_error *error)
{
    const firn_field_view *field = s->field;
    s->entries = firn_alloc((field->leaf_count + 1) * sizeof *s->entries);
    if (s->entries == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot place a volume");
    leaf_list list = {0};
    firn_result result = FIRN_OK;
    for (size_t i = 0; i < field->leaf_count && result == FIRN_OK; i++) {
        s->entries[i] = (entry){field->leaf_origin[i], i};
        result = add_reach(&list, s, field->leaf_origin[i], error);
        // Neighbors reach the same leaves.
        if (i % 64 == 63)
            make_unique(&list);
    }
    make_unique(&list);
    placed->origins = list.origins;
    FIRN_TRY(result);
    if (field->leaf_count > 0)
        qsort(s->entries, field->leaf_count, sizeof *s->entries, compare);
    FIRN_TRY(claim(placed, field, list.count, error));
    for (size_t i = 0; i < list.count; i++)
        fill(placed, s, i);
    placed->field = (firn_field_view){.voxel_size = s->map.scale,
                                      .leaf_count = drop_empty(placed, list.count),
                                      .leaf_origin = placed->origins,
                                      .mask = placed->mask,
                                      .density = placed->density,
                                      .velocity = placed->velocity,
                                      .velocity_mask = placed->velocity_mask,
                                      .compaction = placed->compaction};
    return FIRN_OK;
}

firn_result firn_volume_place(firn_placed_volume *placed, const firn_field_view *field,
                              firn_transform map, firn_quat rotation, float factor,
                              firn_error *error)
{
    firn_volume_release(placed);
    source s = {field, NULL, map, rotation, factor};
    firn_result result = resample(placed, &s, error);
    firn_free(s.entries);
    if (result != FIRN_OK)
        firn_volume_release(placed);
    return result;
}
