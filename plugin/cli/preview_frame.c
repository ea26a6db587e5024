#include "preview.h"

#include "report/surface_points.h"

#include <math.h>

enum { ARROWS_EACH = 48, LATTICE = 24, FLAKES = 1500, FALLING = 12, POINT_LIMIT = 200000 };

static const firn_vec3 SNOW = {0.93f, 0.95f, 0.98f}, SOLID = {0.36f, 0.20f, 0.13f},
                       ARROW = {0.95f, 0.35f, 0.02f};

void firn_preview_free(firn_preview_frame *frame)
{
    for (size_t i = 0; i < frame->cloud_count; i++) {
        firn_free((void *)frame->clouds[i].position);
        firn_free((void *)frame->clouds[i].radius);
    }
    frame->cloud_count = 0;
}

static firn_result add_cloud(firn_preview_frame *frame, firn_vec3 *points, size_t count,
                             float radius, firn_vec3 albedo, firn_error *error)
{
    float *radii = firn_alloc((count + 1) * sizeof *radii);
    if (radii == NULL) {
        firn_free(points);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the preview");
    }
    for (size_t i = 0; i < count; i++)
        radii[i] = radius;
    frame->clouds[frame->cloud_count++] =
        (firn_picture_cloud){.count = count, .position = points, .radius = radii, .albedo = albedo};
    return FIRN_OK;
}

static void include(firn_preview_thing *thing, firn_vec3 p)
{
    bool first = thing->lower.x > thing->upper.x;
    firn_vec3 a = first ? p : thing->lower, b = first ? p : thing->upper;
    thing->lower = firn_vec(fminf(a.x, p.x), fminf(a.y, p.y), fminf(a.z, p.z));
    thing->upper = firn_vec(fmaxf(b.x, p.x), fmaxf(b.y, p.y), fmaxf(b.z, p.z));
}

static void add_arrow(firn_preview_frame *frame, firn_preview_thing *thing, firn_vec3 from,
                      firn_vec3 velocity)
{
    float speed = firn_length(velocity);
    thing->speed = fmaxf(thing->speed, speed);
    if (speed > 0.0f && frame->arrow_count < FIRN_PREVIEW_ARROWS)
        frame->arrows[frame->arrow_count++] = (firn_preview_arrow){from, velocity};
}

// --- Colliders -----------------------------------------------------------------------------------

// The velocity that a grid has at a point; zero where it has none.
static firn_vec3 velocity_at(const firn_velocity_grid *grid, firn_vec3 point)
{
    firn_vec3 index = firn_transform_point_inverse(grid->map, point);
    int v[3] = {(int)floorf(index.x + 0.5f), (int)floorf(index.y + 0.5f),
                (int)floorf(index.z + 0.5f)};
    for (size_t i = 0; i < grid->leaf_count; i++) {
        const firn_coord *o = &grid->leaf_origin[i];
        int x = v[0] - o->x, y = v[1] - o->y, z = v[2] - o->z;
        if (x >= 0 && y >= 0 && z >= 0 && x < 8 && y < 8 && z < 8)
            return grid->values[i * FIRN_LEAF_VOXELS + (size_t)((x * 8 + y) * 8 + z)];
    }
    return firn_vec(0.0f, 0.0f, 0.0f);
}

// How a point of a collider moves at the end of the interval.
static firn_vec3 motion_at(const firn_collider_data *data, firn_vec3 point, float fps)
{
    if (data->deforms)
        return data->surface[1].velocity != NULL ? velocity_at(data->surface[1].velocity, point)
                                                 : firn_vec(0.0f, 0.0f, 0.0f);
    if (data->key_count < 2)
        return firn_vec(0.0f, 0.0f, 0.0f);
    const firn_pose_key *last = &data->keys[data->key_count - 1], *before = last - 1;
    firn_vec3 local = firn_transform_point_inverse(last->pose, point);
    firn_vec3 way = firn_sub(point, firn_transform_point(before->pose, local));
    return firn_scale(fps / (float)(last->time - before->time), way);
}

static void add_arrows(firn_preview_frame *frame, firn_preview_thing *thing,
                       const firn_collider_data *data, const firn_vec3 *points, size_t count,
                       float fps)
{
    size_t step = count / ARROWS_EACH + 1;
    for (size_t i = step / 2; i < count; i += step)
        add_arrow(frame, thing, points[i], motion_at(data, points[i], fps));
}

static firn_result add_surface(firn_preview_frame *frame, firn_preview_thing *thing,
                               const firn_level_set *set, const firn_transform *pose,
                               firn_vec3 albedo, firn_error *error)
{
    firn_vec3 *points = NULL;
    size_t count = 0;
    FIRN_TRY(firn_surface_points(set, pose, &points, &count, error));
    for (size_t i = 0; i < count; i++)
        include(thing, points[i]);
    return add_cloud(frame, points, count, 0.5f * set->map.scale * pose->scale, albedo, error);
}

// Corners of the box around a plain shape.
static size_t corners_of(const firn_collider_def *def, firn_vec3 corners[8])
{
    firn_vec3 h = def->half_size;
    if (def->shape == FIRN_SHAPE_SPHERE)
        h = firn_vec(def->radius, def->radius, def->radius);
    if (def->shape == FIRN_SHAPE_CAPSULE)
        h = firn_vec(def->radius, def->half_size.y + def->radius, def->radius);
    for (int i = 0; i < 8; i++)
        corners[i] = firn_transform_point(
            def->pose, firn_vec(i & 1 ? h.x : -h.x, i & 2 ? h.y : -h.y, i & 4 ? h.z : -h.z));
    return 8;
}

static firn_result add_collider(firn_preview_frame *frame, firn_preview_thing *thing,
                                const firn_collider_data *data, float fps, firn_error *error)
{
    firn_collider_def def = firn_collider_at_end(data);
    if (def.shape == FIRN_SHAPE_LEVEL_SET) {
        FIRN_TRY(add_surface(frame, thing, def.level_set, &def.pose, SOLID, error));
        const firn_picture_cloud *cloud = &frame->clouds[frame->cloud_count - 1];
        add_arrows(frame, thing, data, cloud->position, cloud->count, fps);
        return FIRN_OK;
    }
    thing->plain = true;
    frame->solids[frame->solid_count++] = def;
    firn_vec3 corners[8];
    if (def.shape == FIRN_SHAPE_PLANE)
        return FIRN_OK;
    size_t count = corners_of(&def, corners);
    for (size_t i = 0; i < count; i++)
        include(thing, corners[i]);
    add_arrows(frame, thing, data, corners, count, fps);
    return FIRN_OK;
}

// --- Sources -------------------------------------------------------------------------------------

static bool is_inside(const firn_source_def *def, firn_vec3 p)
{
    firn_vec3 r = firn_sub(p, def->center);
    if (def->region == FIRN_REGION_SPHERE)
        return firn_length(r) <= def->radius;
    firn_vec3 h = def->half_size;
    return fabsf(r.x) <= h.x && fabsf(r.y) <= h.y && fabsf(r.z) <= h.z;
}

// Some flakes in the air: as a body they would hide the shot.
static firn_result add_flakes(firn_preview_frame *frame, firn_preview_thing *thing,
                              const firn_source_def *def, firn_error *error)
{
    firn_vec3 h = def->half_size;
    thing->thin = true;
    thing->lower = firn_sub(def->center, h);
    thing->upper = firn_add(def->center, h);
    firn_vec3 *points = firn_alloc(FLAKES * sizeof *points);
    if (points == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the preview");
    for (uint64_t i = 0; i < FLAKES; i++) {
        float share[3];
        for (uint64_t k = 0; k < 3; k++) {
            uint64_t number = 3 * i + k;
            share[k] = (float)(firn_hash64(&number, sizeof number, 11) >> 40) / 8388608.0f - 1.0f;
        }
        points[i] = firn_add(def->center, firn_vec(h.x * share[0], h.y * share[1], h.z * share[2]));
    }
    return add_cloud(frame, points, FLAKES, 0.0015f * firn_length(h), SNOW, error);
}

// A sphere or box as a lattice of balls.
static firn_result add_lattice(firn_preview_frame *frame, firn_preview_thing *thing,
                               const firn_source_def *def, firn_error *error)
{
    firn_vec3 h = def->half_size;
    if (def->region == FIRN_REGION_SPHERE)
        h = firn_vec(def->radius, def->radius, def->radius);
    thing->lower = firn_sub(def->center, h);
    thing->upper = firn_add(def->center, h);
    float spacing = 2.0f * fmaxf(h.x, fmaxf(h.y, h.z)) / LATTICE;
    int n[3] = {(int)ceilf(h.x / spacing), (int)ceilf(h.y / spacing), (int)ceilf(h.z / spacing)};
    size_t count = 0;
    size_t room = (size_t)(2 * n[0] + 1) * (size_t)(2 * n[1] + 1) * (size_t)(2 * n[2] + 1);
    firn_vec3 *points = firn_alloc((room + 1) * sizeof *points);
    if (points == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the preview");
    for (int x = -n[0]; x <= n[0]; x++)
        for (int y = -n[1]; y <= n[1]; y++)
            for (int z = -n[2]; z <= n[2]; z++) {
                firn_vec3 off = {h.x * (float)x / (float)n[0], h.y * (float)y / (float)n[1],
                                 h.z * (float)z / (float)n[2]};
                firn_vec3 p = firn_add_scaled(def->center, 0.999f, off);
                if (is_inside(def, p))
                    points[count++] = p;
            }
    return add_cloud(frame, points, count, 0.6f * spacing, SNOW, error);
}

static firn_result add_points(firn_preview_frame *frame, firn_preview_thing *thing,
                              const firn_source_def *def, firn_error *error)
{
    size_t step = def->point_count / POINT_LIMIT + 1, count = 0;
    firn_vec3 *points = firn_alloc((def->point_count / step + 2) * sizeof *points);
    if (points == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the preview");
    for (size_t i = 0; i < def->point_count; i += step) {
        points[count++] = def->points[i];
        include(thing, def->points[i]);
    }
    float size = count > 0 ? firn_length(firn_sub(thing->upper, thing->lower)) : 1.0f;
    return add_cloud(frame, points, count, 0.5f * size / cbrtf((float)count + 1.0f), SNOW, error);
}

static firn_result add_source(firn_preview_frame *frame, firn_preview_thing *thing,
                              const firn_source_data *data, firn_error *error)
{
    firn_source_def def = data->def;
    const firn_transform here = firn_transform_identity();
    def.center = firn_add(def.center, def.travel);
    if (def.region == FIRN_REGION_LEVEL_SET)
        FIRN_TRY(add_surface(frame, thing, def.level_set, &here, SNOW, error));
    else if (def.region == FIRN_REGION_POINTS)
        FIRN_TRY(add_points(frame, thing, &def, error));
    else if (def.snowfall > 0.0f)
        FIRN_TRY(add_flakes(frame, thing, &def, error));
    else
        FIRN_TRY(add_lattice(frame, thing, &def, error));
    const firn_picture_cloud *cloud = &frame->clouds[frame->cloud_count - 1];
    size_t step = cloud->count / (thing->thin ? FALLING : ARROWS_EACH) + 1;
    for (size_t i = step / 2; i < cloud->count; i += step) {
        firn_vec3 arm = firn_sub(cloud->position[i], def.center);
        add_arrow(frame, thing, cloud->position[i],
                  firn_add(def.velocity, firn_cross(def.angular_velocity, arm)));
    }
    return FIRN_OK;
}

firn_result firn_preview_add(firn_preview_frame *frame, const char *node, const firn_data *data,
                             float fps, firn_error *error)
{
    if (frame->thing_count == FIRN_PREVIEW_THINGS)
        return FIRN_OK;
    firn_preview_thing *thing = &frame->things[frame->thing_count++];
    *thing = (firn_preview_thing){
        .node = node, .kind = data->kind, .lower = {1.0f, 1.0f, 1.0f}, .upper = {0.0f, 0.0f, 0.0f}};
    return data->kind == FIRN_KIND_COLLIDER ? add_collider(frame, thing, data->collider, fps, error)
                                            : add_source(frame, thing, data->source, error);
}

// --- Arrows --------------------------------------------------------------------------------------

enum { SHAFT_BALLS = 40, HEAD_BALLS = 16 };

firn_result firn_preview_draw_arrows(firn_preview_frame *frame, float seconds, float thickness,
                                     firn_error *error)
{
    size_t room = frame->arrow_count * (SHAFT_BALLS + HEAD_BALLS), n = 0;
    firn_vec3 *points = firn_alloc((room + 1) * sizeof *points);
    if (points == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the preview");
    FIRN_TRY(add_cloud(frame, points, room, thickness, ARROW, error));
    float *radius = (float *)frame->clouds[frame->cloud_count - 1].radius;
    for (size_t i = 0; i < frame->arrow_count; i++) {
        firn_vec3 way = firn_scale(seconds, frame->arrows[i].velocity);
        // Shorter than they are thick they would be mere dots.
        if (firn_length(way) < 3.0f * thickness)
            continue;
        float head = fminf(6.0f * thickness, 0.6f * firn_length(way));
        firn_vec3 tip = firn_add(frame->arrows[i].from, way);
        firn_vec3 back = firn_scale(-head, firn_normalize(way));
        for (int k = 0; k < SHAFT_BALLS; k++)
            points[n++] = firn_add_scaled(frame->arrows[i].from, (float)k / SHAFT_BALLS, way);
        for (int k = 0; k < HEAD_BALLS; k++) {
            float share = (float)k / HEAD_BALLS;
            radius[n] = 2.6f * thickness * share + 0.2f * thickness;
            points[n++] = firn_add_scaled(tip, share, back);
        }
    }
    frame->clouds[frame->cloud_count - 1].count = n;
    return FIRN_OK;
}
