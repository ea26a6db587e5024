#include "picture_state.h"

enum { TRACE_STEPS = 96, SHADOW_STEPS = 32 };

static float shape_distance(const firn_collider_def *solid, firn_vec3 p)
{
    firn_vec3 h = solid->half_size;
    if (solid->shape == FIRN_SHAPE_BOX) {
        firn_vec3 q = {fabsf(p.x) - h.x, fabsf(p.y) - h.y, fabsf(p.z) - h.z};
        firn_vec3 out = {at_least(q.x, 0.0f), at_least(q.y, 0.0f), at_least(q.z, 0.0f)};
        return firn_length(out) + at_most(at_least(q.x, at_least(q.y, q.z)), 0.0f);
    }
    if (solid->shape == FIRN_SHAPE_CAPSULE)
        p.y -= at_least(-h.y, at_most(p.y, h.y));
    return firn_length(p) - solid->radius;
}

static bool is_traced(const firn_collider_def *solid)
{
    return solid->shape == FIRN_SHAPE_BOX || solid->shape == FIRN_SHAPE_SPHERE ||
           solid->shape == FIRN_SHAPE_CAPSULE;
}

float solid_distance(const firn_picture_scene *scene, firn_vec3 point)
{
    float nearest = 1e9f;
    for (size_t i = 0; i < scene->solid_count; i++) {
        const firn_collider_def *solid = &scene->solids[i];
        if (!is_traced(solid))
            continue;
        firn_vec3 local = firn_transform_point_inverse(solid->pose, point);
        nearest = at_most(nearest, shape_distance(solid, local) * solid->pose.scale);
    }
    return nearest;
}

static firn_vec3 solid_normal(const firn_picture_scene *scene, firn_vec3 p, float h)
{
    float d = solid_distance(scene, p);
    firn_vec3 gradient = {solid_distance(scene, firn_vec(p.x + h, p.y, p.z)) - d,
                          solid_distance(scene, firn_vec(p.x, p.y + h, p.z)) - d,
                          solid_distance(scene, firn_vec(p.x, p.y, p.z + h)) - d};
    return firn_normalize(gradient);
}

typedef struct hit {
    float depth; // m along forward
    uint8_t kind;
    firn_vec3 normal;
} hit;

static void meet_planes(const firn_picture_scene *scene, const camera *cam, firn_vec3 ray,
                        hit *first)
{
    for (size_t i = 0; i < scene->solid_count; i++) {
        const firn_collider_def *solid = &scene->solids[i];
        if (solid->shape != FIRN_SHAPE_PLANE)
            continue;
        firn_vec3 normal = firn_rotate(solid->pose.rotation, firn_vec(0.0f, 1.0f, 0.0f));
        float facing = firn_dot(normal, ray);
        float t = firn_dot(normal, firn_sub(solid->pose.translation, cam->eye)) /
                  (facing < -1e-6f ? facing : -1e-6f);
        if (facing < -1e-6f && t > 0.0f && t < first->depth) {
            first->depth = t;
            first->kind = KIND_GROUND;
            first->normal = normal;
        }
    }
}

static void meet_shapes(const firn_picture_scene *scene, const camera *cam, firn_vec3 ray,
                        hit *first)
{
    float length = firn_length(ray), t = 0.0f, close = 2e-4f * cam->size;
    for (int step = 0; step < TRACE_STEPS && t < first->depth; step++) {
        firn_vec3 point = firn_add_scaled(cam->eye, t, ray);
        float distance = solid_distance(scene, point);
        if (distance < close) {
            first->depth = t;
            first->kind = KIND_SOLID;
            first->normal = solid_normal(scene, point, close);
            return;
        }
        t += distance / length;
    }
}

void draw_solids(const camera *cam, const firn_picture_scene *scene, canvas *seen)
{
#pragma omp parallel for schedule(dynamic, 16)
    for (int y = 0; y < cam->height; y++)
        for (int x = 0; x < cam->width; x++) {
            size_t at = (size_t)y * (size_t)cam->width + (size_t)x;
            firn_vec3 ray = pixel_ray(cam, (float)x + 0.5f, (float)y + 0.5f);
            hit found = {seen->depth[at], seen->kind[at], seen->normal[at]};
            meet_planes(scene, cam, ray, &found);
            meet_shapes(scene, cam, ray, &found);
            seen->depth[at] = found.depth;
            seen->kind[at] = found.kind;
            seen->normal[at] = found.normal;
        }
}

float solid_light(const firn_picture_scene *scene, const camera *cam, firn_vec3 point,
                  firn_vec3 sun)
{
    float light = 1.0f, t = 0.004f * cam->size;
    for (int step = 0; step < SHADOW_STEPS && t < 2.0f * cam->size; step++) {
        float distance = solid_distance(scene, firn_add_scaled(point, t, sun));
        light = at_most(light, 14.0f * distance / t);
        if (light <= 0.0f)
            return 0.0f;
        t += at_least(distance, 0.004f * cam->size);
    }
    return clamp01(light);
}
