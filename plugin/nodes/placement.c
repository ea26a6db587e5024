#include "placement.h"

#include "firn/abc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UP_Y, UP_Z, UP_AUTO };
enum { UNIT_M = 0, UNIT_AUTO = 8 };

// The last stands for "auto" where nothing is recorded.
static const float meters[] = {1.0f, 0.01f, 0.001f, 0.1f, 1000.0f, 0.0254f, 0.3048f, 0.9144f, 1.0f};

// clang-format off
#define ROW(field) FIRN_PARAM(firn_axes_def, field)
static const firn_param axes_params[] = {
    {ROW(unit), FIRN_CHOICE, {UNIT_AUTO}, 0, 8, "",
     "The unit of lengths in the file: Maya writes centimeters, Blender and Houdini meters; auto "
     "takes what an archive has recorded, else meters", "m|cm|mm|dm|km|inch|foot|yard|auto"},
    {ROW(up), FIRN_CHOICE, {UP_AUTO}, 0, 2, "",
     "The axis that points up in the file: Z of Blender becomes our Y; auto takes what an archive "
     "has recorded, else Y", "y|z|auto", .label = "Up axis"},
};
#undef ROW

#define ROW(field) FIRN_PARAM(firn_place_def, field)
static const firn_param place_params[] = {
    {ROW(translation), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "m", "Moves what the file holds"},
    {ROW(rotation), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "deg", "Turns it about X, then Y, then Z"},
    {ROW(scale), FIRN_FLOAT, {1}, 1e-6, 1e6, "", "Enlarges it"},
    {ROW(pivot), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "m",
     "The point that rotation and scale leave where it is"},
};
#undef ROW
// clang-format on

firn_param_table firn_axes_params(void)
{
    firn_param_table table = {axes_params, FIRN_COUNT(axes_params)};
    return table;
}

firn_param_table firn_place_params(void)
{
    firn_param_table table = {place_params, FIRN_COUNT(place_params)};
    return table;
}

bool firn_axes_are_ours(const firn_axes_def *axes)
{
    return meters[axes->unit] == 1.0f && axes->up != UP_Z;
}

// --- What archives record ------------------------------------------------------------------------

// Compares without regard to case.
static bool is_word(const char *text, const char *word)
{
    for (; *text != '\0' && *word != '\0'; text++, word++)
        if ((*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text) != *word)
            return false;
    return *text == *word;
}

static bool find_value(const char *metadata, const char *const *keys, char *value, size_t size)
{
    for (; *keys != NULL; keys++)
        if (firn_abc_metadata_value(metadata, *keys, value, size) && value[0] != '\0')
            return true;
    return false;
}

static int unit_of(const char *value)
{
    static const struct {
        const char *word;
        int unit;
    } words[] = {
        {"m", 0},      {"meter", 0},      {"meters", 0},      {"metre", 0},      {"metres", 0},
        {"cm", 1},     {"centimeter", 1}, {"centimeters", 1}, {"centimetre", 1}, {"centimetres", 1},
        {"mm", 2},     {"millimeter", 2}, {"millimeters", 2}, {"dm", 3},         {"decimeters", 3},
        {"km", 4},     {"kilometer", 4},  {"kilometers", 4},  {"in", 5},         {"inch", 5},
        {"inches", 5}, {"ft", 6},         {"foot", 6},        {"feet", 6},       {"yd", 7},
        {"yard", 7},   {"yards", 7},
    };
    for (size_t i = 0; i < FIRN_COUNT(words); i++)
        if (is_word(value, words[i].word))
            return words[i].unit;
    return UNIT_AUTO;
}

// A number of meters, if it is that of a unit.
static int unit_of_meters(const char *value)
{
    char *end = NULL;
    double length = strtod(value, &end);
    for (int i = 0; i < UNIT_AUTO && end != value && *end == '\0'; i++)
        if (fabs(length - (double)meters[i]) < 1e-5 * length)
            return i;
    return UNIT_AUTO;
}

firn_axes_def firn_axes_recorded(const firn_axes_def *axes, const char *metadata)
{
    static const char *const units[] = {"units",       "unit",         "linearUnits", "linearUnit",
                                        "linear_unit", "linear_units", NULL};
    static const char *const lengths[] = {"metersPerUnit", "meters_per_unit", NULL};
    static const char *const ups[] = {"upAxis", "up_axis", "UpAxis", NULL};
    firn_axes_def found = *axes;
    char value[64];
    if (found.unit == UNIT_AUTO && find_value(metadata, units, value, sizeof value))
        found.unit = unit_of(value);
    if (found.unit == UNIT_AUTO && find_value(metadata, lengths, value, sizeof value))
        found.unit = unit_of_meters(value);
    if (found.up == UP_AUTO && find_value(metadata, ups, value, sizeof value))
        found.up = is_word(value, "z") || is_word(value, "+z") ? UP_Z : UP_Y;
    return found;
}

firn_transform firn_axes_transform(const firn_axes_def *axes)
{
    const float half = 0.70710678118654752f; // sine and cosine of 45 degrees
    firn_transform t = firn_transform_identity();
    t.scale = meters[axes->unit];
    if (axes->up == UP_Z)
        t.rotation = (firn_quat){-half, 0.0f, 0.0f, half};
    return t;
}

void firn_axes_convert(const firn_axes_def *axes, firn_vec3 *vectors, size_t count)
{
    if (firn_axes_are_ours(axes))
        return;
    float unit = meters[axes->unit];
    for (size_t i = 0; i < count; i++) {
        firn_vec3 v = firn_scale(unit, vectors[i]);
        vectors[i] = axes->up == UP_Z ? firn_vec(v.x, v.z, -v.y) : v;
    }
}

firn_transform firn_transform_after(firn_transform a, firn_transform b)
{
    firn_transform t = {firn_transform_point(a, b.translation),
                        firn_quat_mul(a.rotation, b.rotation), a.scale * b.scale};
    return t;
}

bool firn_transform_is_identity(firn_transform t)
{
    return t.translation.x == 0.0f && t.translation.y == 0.0f && t.translation.z == 0.0f &&
           t.rotation.x == 0.0f && t.rotation.y == 0.0f && t.rotation.z == 0.0f && t.scale == 1.0f;
}

firn_transform firn_place_transform(const firn_place_def *place)
{
    const float radians = 0.017453292519943295f;
    firn_quat x = firn_quat_turn(firn_vec(1.0f, 0.0f, 0.0f), radians * place->rotation.x);
    firn_quat y = firn_quat_turn(firn_vec(0.0f, 1.0f, 0.0f), radians * place->rotation.y);
    firn_quat z = firn_quat_turn(firn_vec(0.0f, 0.0f, 1.0f), radians * place->rotation.z);
    firn_transform pose = {{0.0f, 0.0f, 0.0f}, firn_quat_mul(z, firn_quat_mul(y, x)), place->scale};
    // Without a pivot the translation stays as it was set, to the bit.
    firn_vec3 p = place->pivot;
    firn_vec3 turned = firn_transform_point(pose, p);
    bool pivots = p.x != 0.0f || p.y != 0.0f || p.z != 0.0f;
    pose.translation = place->translation;
    if (pivots)
        pose.translation = firn_add(place->translation, firn_sub(p, turned));
    return pose;
}

// --- Surfaces ------------------------------------------------------------------------------------

void firn_surface_release(firn_placed_surface *placed)
{
    firn_free(placed->values);
    firn_free(placed->tiles);
    firn_free(placed->origins);
    firn_free(placed->vectors);
    memset(placed, 0, sizeof *placed);
}

static firn_result scale_distances(firn_placed_surface *placed, float scale, firn_error *error)
{
    firn_level_set *set = &placed->level_set;
    size_t count = set->leaf_count * FIRN_LEAF_VOXELS;
    placed->values = firn_alloc((count + 1) * sizeof *placed->values);
    placed->tiles = firn_alloc((set->tile_count + 1) * sizeof *placed->tiles);
    if (placed->values == NULL || placed->tiles == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot scale a level set");
    for (size_t i = 0; i < count; i++)
        placed->values[i] = scale * set->values[i];
    for (size_t i = 0; i < set->tile_count; i++) {
        placed->tiles[i] = set->tiles[i];
        placed->tiles[i].value *= scale;
    }
    set->background *= scale;
    set->values = placed->values;
    set->tiles = placed->tiles;
    return FIRN_OK;
}

// The velocity of a world point that the place carries along.
static firn_vec3 carried(const firn_placing *placing, firn_vec3 world)
{
    firn_vec3 local = firn_transform_point_inverse(placing->now, world);
    firn_vec3 from = firn_transform_point(placing->before, local);
    firn_vec3 to = firn_transform_point(placing->after, local);
    return firn_scale((float)(1.0 / placing->span), firn_sub(to, from));
}

static firn_vec3 voxel_of(const firn_velocity_grid *grid, size_t leaf, int n)
{
    firn_coord o = grid->leaf_origin[leaf];
    firn_vec3 index = {(float)(o.x + (n >> 6)), (float)(o.y + ((n >> 3) & 7)),
                       (float)(o.z + (n & 7))};
    return firn_transform_point(grid->map, index);
}

static bool is_zero(firn_vec3 v) { return v.x == 0.0f && v.y == 0.0f && v.z == 0.0f; }

// Zero is unknown in a leaf that has other values, and stays unknown.
static void place_vectors(firn_placed_surface *placed, const firn_vec3 *from,
                          const firn_placing *placing)
{
    const firn_velocity_grid *grid = &placed->velocity;
    float factor = placing->velocity_factor * placing->now.scale;
    for (size_t leaf = 0; leaf < grid->leaf_count; leaf++) {
        const firn_vec3 *in = from != NULL ? from + leaf * FIRN_LEAF_VOXELS : NULL;
        firn_vec3 *out = placed->vectors + leaf * FIRN_LEAF_VOXELS;
        bool all_known = true;
        for (int n = 0; n < FIRN_LEAF_VOXELS && in != NULL; n++)
            all_known = all_known && is_zero(in[n]);
        for (int n = 0; n < FIRN_LEAF_VOXELS; n++) {
            firn_vec3 v = {0.0f, 0.0f, 0.0f};
            if (in != NULL)
                v = firn_scale(factor, firn_rotate(placing->now.rotation, in[n]));
            if (placing->span > 0.0 && (all_known || !is_zero(in[n])))
                v = firn_add(v, carried(placing, voxel_of(grid, leaf, n)));
            out[n] = v;
        }
    }
}

static firn_result place_velocity(firn_placed_surface *placed, const firn_velocity_grid *velocity,
                                  const firn_placing *placing, firn_error *error)
{
    const firn_level_set *set = &placed->level_set;
    bool known = velocity != NULL && velocity->leaf_count > 0;
    bool moves = placing->span > 0.0;
    if (!known && !moves)
        return FIRN_OK;
    placed->velocity =
        known ? *velocity : (firn_velocity_grid){set->map, set->leaf_count, set->leaf_origin, NULL};
    if (known)
        placed->velocity.map = firn_transform_after(placing->now, velocity->map);
    if (known && !moves && firn_transform_is_identity(placing->now) &&
        placing->velocity_factor == 1.0f)
        return FIRN_OK;
    size_t count = placed->velocity.leaf_count * FIRN_LEAF_VOXELS;
    placed->vectors = firn_alloc((count + 1) * sizeof *placed->vectors);
    if (placed->vectors == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot place velocities");
    place_vectors(placed, known ? velocity->values : NULL, placing);
    placed->velocity.values = placed->vectors;
    return FIRN_OK;
}

firn_result firn_surface_place(firn_placed_surface *placed, const firn_level_set *level_set,
                               const firn_velocity_grid *velocity, const firn_placing *placing,
                               firn_error *error)
{
    firn_surface_release(placed);
    placed->level_set = *level_set;
    if (!firn_transform_is_identity(placing->now))
        placed->level_set.map = firn_transform_after(placing->now, level_set->map);
    if (placing->now.scale != 1.0f)
        FIRN_TRY(scale_distances(placed, placing->now.scale, error));
    return place_velocity(placed, velocity, placing, error);
}

// --- Points --------------------------------------------------------------------------------------

static const float FARTHEST = 1e6f; // m, like the limits of every translation
static const float FASTEST = 1e4f;  // m/s, like the limit of a source's velocity

static firn_result check_point(size_t i, firn_vec3 p, firn_vec3 v, const char *path,
                               firn_error *error)
{
    if (!(firn_length(p) <= FARTHEST))
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "point %zu of '%.300s' is at (%g, %g, %g) m; nothing farther than %g m "
                         "from the origin is taken",
                         i, path, (double)p.x, (double)p.y, (double)p.z, (double)FARTHEST);
    if (!(firn_length(v) <= FASTEST))
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "point %zu of '%.300s' moves at (%g, %g, %g) m/s; nothing faster than %g "
                         "m/s is taken",
                         i, path, (double)v.x, (double)v.y, (double)v.z, (double)FASTEST);
    return FIRN_OK;
}

firn_result firn_points_place(size_t count, float *position, float *velocity,
                              const firn_axes_def *axes, const firn_place_def *place,
                              const char *path, firn_error *error)
{
    firn_vec3 *p = (firn_vec3 *)(void *)position, *v = (firn_vec3 *)(void *)velocity;
    firn_transform pose = firn_place_transform(place);
    bool moves = !firn_transform_is_identity(pose);
    firn_axes_convert(axes, p, count);
    if (v != NULL)
        firn_axes_convert(axes, v, count);
    for (size_t i = 0; i < count; i++) {
        if (moves)
            p[i] = firn_transform_point(pose, p[i]);
        if (moves && v != NULL)
            v[i] = firn_scale(pose.scale, firn_rotate(pose.rotation, v[i]));
        firn_vec3 still = {0.0f, 0.0f, 0.0f};
        FIRN_TRY(check_point(i, p[i], v != NULL ? v[i] : still, path, error));
    }
    return FIRN_OK;
}

// --- Sizes ---------------------------------------------------------------------------------------

void firn_surface_bounds(const firn_level_set *level_set, firn_vec3 *lower, firn_vec3 *upper)
{
    firn_vec3 low = {1e30f, 1e30f, 1e30f}, high = {-1e30f, -1e30f, -1e30f};
    for (size_t i = 0; i < level_set->leaf_count; i++)
        for (int corner = 0; corner < 8; corner++) {
            firn_coord o = level_set->leaf_origin[i];
            firn_vec3 p = firn_transform_point(
                level_set->map, firn_vec((float)(o.x + (corner & 1 ? FIRN_LEAF_EDGE : 0)),
                                         (float)(o.y + (corner & 2 ? FIRN_LEAF_EDGE : 0)),
                                         (float)(o.z + (corner & 4 ? FIRN_LEAF_EDGE : 0))));
            low = firn_vec(fminf(low.x, p.x), fminf(low.y, p.y), fminf(low.z, p.z));
            high = firn_vec(fmaxf(high.x, p.x), fmaxf(high.y, p.y), fmaxf(high.z, p.z));
        }
    *lower = low;
    *upper = high;
}

firn_vec3 firn_surface_extent(const firn_level_set *level_set)
{
    firn_vec3 low, high;
    firn_surface_bounds(level_set, &low, &high);
    return level_set->leaf_count > 0 ? firn_sub(high, low) : firn_vec(0.0f, 0.0f, 0.0f);
}

bool firn_size_is_odd(const char *what, firn_vec3 extent, const firn_axes_def *axes, char *text,
                      size_t size)
{
    float largest = fmaxf(extent.x, fmaxf(extent.y, extent.z));
    bool huge = largest > 100.0f, tiny = largest > 0.0f && largest < 0.01f;
    text[0] = '\0';
    if ((!huge && !tiny) || (axes->unit != UNIT_M && axes->unit != UNIT_AUTO))
        return false;
    snprintf(text, size, "'%.300s' is %.3g x %.3g x %.3g m large: if it is %s, set file_unit to %s",
             what, (double)extent.x, (double)extent.y, (double)extent.z,
             huge ? "in centimeters" : "in kilometers, or scaled down", huge ? "cm" : "its unit");
    return true;
}
