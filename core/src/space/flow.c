#include "flow.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct cell {
    firn_coord place;   // origin / 8
    firn_vec3 velocity; // m/s; a sum while neighbors are being added
    float weight;       // number of neighbors added
} cell;

enum { LAYER_LIMIT = 16, NEIGHBORS = 27 };

// The mean of the values that are not zero, and the largest speed; false when one is not finite.
static bool summarize_leaf(const firn_vec3 *values, firn_vec3 *mean, float *fastest)
{
    firn_vec3 sum = {0.0f, 0.0f, 0.0f};
    int known = 0;
    for (int i = 0; i < FIRN_LEAF_VOXELS; i++) {
        float speed = firn_length(values[i]);
        if (!(speed <= FLT_MAX))
            return false;
        *fastest = speed > *fastest ? speed : *fastest;
        known += speed > 0.0f;
        sum = firn_add(sum, values[i]);
    }
    *mean = known > 0 ? firn_scale(1.0f / (float)known, sum) : sum;
    return true;
}

static void widen_box(firn_flow_grid *flow, firn_coord origin, bool first)
{
    const float last = FIRN_LEAF_EDGE - 1;
    firn_vec3 low = {(float)origin.x, (float)origin.y, (float)origin.z};
    firn_vec3 high = firn_add(low, firn_vec(last, last, last));
    firn_vec3 *a = &flow->lower, *b = &flow->upper;
    *a = first ? low : firn_vec(fminf(a->x, low.x), fminf(a->y, low.y), fminf(a->z, low.z));
    *b = first ? high : firn_vec(fmaxf(b->x, high.x), fmaxf(b->y, high.y), fmaxf(b->z, high.z));
}

static firn_result insert_leaves(firn_budget *budget, firn_flow_grid *flow, firn_error *error)
{
    const firn_velocity_grid *grid = &flow->grid;
    FIRN_TRY(firn_leaf_index_claim(budget, &flow->index, grid->leaf_count, error));
    FIRN_TRY(firn_array_claim(budget, &flow->cells, grid->leaf_count, sizeof(cell), error));
    cell *cells = flow->cells.data;
    for (size_t i = 0; i < grid->leaf_count; i++) {
        firn_coord origin = grid->leaf_origin[i];
        cells[i] = (cell){.place = firn_cell_of(origin, 0)};
        widen_box(flow, origin, i == 0);
        if (!summarize_leaf(grid->values + FIRN_LEAF_VOXELS * i, &cells[i].velocity,
                            &flow->max_speed))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the velocity grid has a value that is not finite in the leaf at "
                             "(%d, %d, %d)",
                             origin.x, origin.y, origin.z);
        firn_leaf_entry value = {.item = (uint32_t)i};
        FIRN_TRY(firn_leaf_index_insert(&flow->index, origin, 0, value, error));
    }
    flow->cell_count = grid->leaf_count;
    return FIRN_OK;
}

firn_result firn_flow_build(firn_budget *budget, firn_flow_grid *flow,
                            const firn_velocity_grid *grid, firn_error *error)
{
    memset(flow, 0, sizeof *flow);
    if (grid == NULL || grid->leaf_count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_transform_check(&grid->map, "a velocity grid's map", error));
    if (grid->leaf_origin == NULL || grid->values == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a velocity grid has %zu leaves but no arrays",
                         grid->leaf_count);
    flow->grid = *grid;
    flow->grid.map = firn_unit_rotation(grid->map);
    firn_result result = insert_leaves(budget, flow, error);
    if (result != FIRN_OK)
        firn_flow_free(budget, flow);
    return result;
}

void firn_flow_free(firn_budget *budget, firn_flow_grid *flow)
{
    firn_array_free(budget, &flow->index.table);
    firn_array_free(budget, &flow->cells);
    memset(flow, 0, sizeof *flow);
}

static firn_result insert_cell(firn_flow_grid *flow, size_t item, firn_error *error)
{
    firn_coord place = ((const cell *)flow->cells.data)[item].place;
    firn_coord origin = {8 * place.x, 8 * place.y, 8 * place.z};
    firn_leaf_entry value = {.item = (uint32_t)item};
    return firn_leaf_index_insert(&flow->index, origin, 0, value, error);
}

// Builds the index again with room for count cells.
static firn_result index_cells(firn_budget *budget, firn_flow_grid *flow, size_t count,
                               firn_error *error)
{
    FIRN_TRY(firn_leaf_index_claim(budget, &flow->index, count, error));
    for (size_t i = 0; i < flow->cell_count; i++)
        FIRN_TRY(insert_cell(flow, i, error));
    return FIRN_OK;
}

static bool is_within_limit(firn_coord place)
{
    const int32_t limit = FIRN_VOXEL_LIMIT / 8;
    return place.x >= -limit && place.x < limit && place.y >= -limit && place.y < limit &&
           place.z >= -limit && place.z < limit;
}

// Gives the velocity of a cell to the neighbors that are new, that is not below fresh.
static firn_result spread(firn_flow_grid *flow, size_t source, size_t fresh, firn_error *error)
{
    cell *cells = flow->cells.data;
    for (int i = 0; i < NEIGHBORS; i++) {
        firn_coord place = {cells[source].place.x + i / 9 - 1,
                            cells[source].place.y + i / 3 % 3 - 1,
                            cells[source].place.z + i % 3 - 1};
        if (!is_within_limit(place))
            continue;
        const firn_leaf_entry *known = firn_leaf_find(&flow->index, place);
        size_t item = known != NULL ? known->item : flow->cell_count;
        if (known == NULL) {
            cells[item] = (cell){.place = place};
            FIRN_TRY(insert_cell(flow, item, error));
            flow->cell_count++;
        }
        if (item < fresh)
            continue;
        cells[item].velocity = firn_add(cells[item].velocity, cells[source].velocity);
        cells[item].weight += 1.0f;
    }
    return FIRN_OK;
}

// Room for all neighbors of one more cell; the index grows twofold, so that this is rarely work.
static firn_result make_room(firn_budget *budget, firn_flow_grid *flow, firn_error *error)
{
    size_t needed = flow->cell_count + NEIGHBORS;
    FIRN_TRY(firn_array_reserve(budget, &flow->cells, needed, sizeof(cell), error));
    if (2 * needed > (size_t)flow->index.mask + 1)
        return index_cells(budget, flow, 2 * needed, error);
    return FIRN_OK;
}

static firn_result add_layer(firn_budget *budget, firn_flow_grid *flow, size_t first,
                             firn_error *error)
{
    size_t fresh = flow->cell_count;
    for (size_t i = first; i < fresh; i++) {
        FIRN_TRY(make_room(budget, flow, error));
        FIRN_TRY(spread(flow, i, fresh, error));
    }
    cell *cells = flow->cells.data;
    for (size_t i = fresh; i < flow->cell_count; i++)
        cells[i].velocity = firn_scale(1.0f / cells[i].weight, cells[i].velocity);
    return FIRN_OK;
}

firn_result firn_flow_continue(firn_budget *budget, firn_flow_grid *flow, float reach,
                               firn_error *error)
{
    float layers = reach / (FIRN_LEAF_EDGE * flow->grid.map.scale);
    size_t first = 0;
    for (int i = 0; i < LAYER_LIMIT && (float)i < layers && first < flow->cell_count; i++) {
        size_t next = flow->cell_count;
        FIRN_TRY(add_layer(budget, flow, first, error));
        first = next;
    }
    return FIRN_OK;
}

static firn_vec3 voxel_velocity(const firn_flow_grid *flow, const firn_leaf_entry *at,
                                firn_coord voxel)
{
    if (at->item < flow->grid.leaf_count) {
        firn_vec3 v =
            flow->grid
                .values[(size_t)at->item * FIRN_LEAF_VOXELS + (size_t)firn_leaf_offset(voxel)];
        if (flow->zero_counts || v.x != 0.0f || v.y != 0.0f || v.z != 0.0f)
            return v;
    }
    return ((const cell *)flow->cells.data)[at->item].velocity;
}

// At a place in voxels.
static firn_vec3 sample_at(const firn_flow_grid *flow, firn_vec3 p)
{
    firn_vec3 velocity = {0.0f, 0.0f, 0.0f};
    if (!firn_leaf_index_holds(&flow->index, p))
        return velocity;
    firn_coord base = firn_floor_coord(p);
    float x = p.x - (float)base.x, y = p.y - (float)base.y, z = p.z - (float)base.z;
    firn_coord known = firn_cell_of(base, 0);
    const firn_leaf_entry *at = firn_leaf_find(&flow->index, known);
    for (int i = 0; i < 8; i++) {
        firn_coord voxel = {base.x + (i >> 2), base.y + (i >> 1 & 1), base.z + (i & 1)};
        firn_coord place = firn_cell_of(voxel, 0);
        if (!firn_same_cell(place, known)) {
            at = firn_leaf_find(&flow->index, place);
            known = place;
        }
        if (at == NULL)
            continue;
        float weight = (i & 4 ? x : 1.0f - x) * (i & 2 ? y : 1.0f - y) * (i & 1 ? z : 1.0f - z);
        velocity = firn_add_scaled(velocity, weight, voxel_velocity(flow, at, voxel));
    }
    return velocity;
}

firn_vec3 firn_flow_sample(const firn_flow_grid *flow, firn_vec3 point)
{
    if (flow->index.count == 0)
        return firn_vec(0.0f, 0.0f, 0.0f);
    return sample_at(flow, firn_transform_point_inverse(flow->grid.map, point));
}

static float held_between(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

firn_vec3 firn_flow_sample_held(const firn_flow_grid *flow, firn_vec3 point)
{
    if (flow->index.count == 0)
        return firn_vec(0.0f, 0.0f, 0.0f);
    firn_vec3 p = firn_transform_point_inverse(flow->grid.map, point);
    firn_vec3 a = flow->lower, b = flow->upper;
    return sample_at(flow, firn_vec(held_between(p.x, a.x, b.x), held_between(p.y, a.y, b.y),
                                    held_between(p.z, a.z, b.z)));
}
