#include "picture_state.h"

enum { SHADOW_EDGE = 1024, SHADOW_TAPS = 16, SKY_TAPS = 20 };

static void draw_shadow(shadow_map *map, firn_vec3 position, float radius)
{
    firn_vec3 r = firn_sub(position, map->corner);
    float cx = firn_dot(r, map->right) / map->cell, cy = firn_dot(r, map->up) / map->cell;
    float reach = at_least(radius / map->cell, 0.5f), edge = (float)map->edge;
    if (!(cx > reach && cy > reach && cx + reach < edge - 1.0f && cy + reach < edge - 1.0f))
        return;
    float height = firn_dot(position, map->sun);
    for (int y = (int)(cy - reach); y <= (int)(cy + reach); y++)
        for (int x = (int)(cx - reach); x <= (int)(cx + reach); x++) {
            float dx = ((float)x + 0.5f - cx) / reach, dy = ((float)y + 0.5f - cy) / reach;
            float inside = 1.0f - dx * dx - dy * dy;
            float *stored = &map->height[(size_t)y * (size_t)map->edge + (size_t)x];
            if (inside >= 0.0f)
                *stored = at_least(*stored, height + radius * sqrtf(inside));
        }
}

firn_result make_shadow_map(const camera *cam, const firn_picture_scene *scene, shadow_map *map,
                            firn_error *error)
{
    size_t cells = (size_t)SHADOW_EDGE * SHADOW_EDGE;
    // From the left behind the camera, so that the relief shows and shadows fall into the picture.
    firn_vec3 over = firn_add_scaled(firn_scale(-0.75f, cam->right), -0.25f, cam->forward);
    map->sun = firn_normalize(firn_vec(over.x, 0.75f, over.z));
    map->right = firn_normalize(firn_cross(map->sun, firn_vec(0.3f, 0.1f, 1.0f)));
    map->up = firn_cross(map->right, map->sun);
    map->edge = SHADOW_EDGE;
    float width = 2.0f * cam->size;
    map->cell = width / (float)SHADOW_EDGE;
    firn_vec3 center = firn_lerp(cam->lower, cam->upper, 0.5f);
    map->corner =
        firn_add_scaled(firn_add_scaled(center, -0.5f * width, map->right), -0.5f * width, map->up);
    map->height = firn_alloc(cells * sizeof *map->height);
    if (map->height == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the shadows");
    for (size_t i = 0; i < cells; i++)
        map->height[i] = -1e9f;
    for (size_t c = 0; c < scene->cloud_count; c++)
        for (size_t i = 0; i < scene->clouds[c].count; i++)
            draw_shadow(map, scene->clouds[c].position[i], scene->clouds[c].radius[i]);
    return FIRN_OK;
}

float cloud_light(const shadow_map *map, firn_vec3 point, firn_vec3 normal)
{
    float bias = 5.0f * map->cell;
    firn_vec3 raised = firn_add_scaled(point, bias, normal);
    firn_vec3 r = firn_sub(raised, map->corner);
    float cx = firn_dot(r, map->right) / map->cell, cy = firn_dot(r, map->up) / map->cell;
    float height = firn_dot(raised, map->sun) + 0.5f * bias;
    int lit = 0;
    for (int k = 0; k < SHADOW_TAPS; k++) {
        // A spiral of golden angles covers the blur evenly.
        float angle = 2.39996323f * (float)k;
        float reach = 5.0f * sqrtf(((float)k + 0.5f) / SHADOW_TAPS);
        float x = cx + reach * cosf(angle), y = cy + reach * sinf(angle);
        bool inside = x >= 0.0f && y >= 0.0f && x < (float)map->edge && y < (float)map->edge;
        lit += !inside || map->height[(size_t)y * (size_t)map->edge + (size_t)x] < height;
    }
    return (float)lit / SHADOW_TAPS;
}

float open_sky(const camera *cam, const canvas *seen, int x, int y)
{
    size_t at = (size_t)y * (size_t)cam->width + (size_t)x;
    float z = seen->depth[at], radius = 0.05f * cam->size;
    firn_vec3 normal = seen->normal[at];
    firn_vec3 here = firn_scale(z, pixel_ray(cam, (float)x + 0.5f, (float)y + 0.5f));
    float reach = radius * cam->focal / z, hidden = 0.0f;
    // Neighbors start the spiral at other angles; the mean over a pixel's samples evens it out.
    float start =
        1.5707963f * (float)((x & 1) + 2 * (y & 1)) + 0.7f * (float)((x >> 1 & 1) ^ (y >> 1 & 1));
    for (int k = 0; k < SKY_TAPS; k++) {
        float share = ((float)k + 0.5f) / SKY_TAPS, angle = start + 2.39996323f * (float)k;
        int px = x + (int)(reach * share * cosf(angle));
        int py = y + (int)(reach * share * sinf(angle));
        if (px < 0 || py < 0 || px >= cam->width || py >= cam->height)
            continue;
        float there_z = seen->depth[(size_t)py * (size_t)cam->width + (size_t)px];
        firn_vec3 there = firn_scale(there_z, pixel_ray(cam, (float)px + 0.5f, (float)py + 0.5f));
        firn_vec3 to = firn_sub(there, here);
        float length = firn_length(to) + 1e-6f * z;
        float rise = firn_dot(to, normal) / length - 0.12f;
        hidden += at_least(rise, 0.0f) * clamp01(2.0f - length / radius);
    }
    return clamp01(1.0f - 2.2f * hidden / SKY_TAPS);
}
