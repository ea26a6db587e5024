#include "picture_state.h"

#include <string.h>

enum { SMOOTH_LIMIT = 24, SMOOTH_PASSES = 2 };

// Balls of this many radii close the gaps between the points of a lattice.
static const float COVER = 1.45f;

static void draw_ball(const camera *cam, canvas *seen, firn_vec3 v, float radius, uint8_t what)
{
    float scale = cam->focal / v.z, reach = radius * scale;
    float cx = 0.5f * (float)cam->width + v.x * scale;
    float cy = 0.5f * (float)cam->height - v.y * scale;
    if (cx + reach < 0.0f || cy + reach < 0.0f || cx - reach > (float)cam->width ||
        cy - reach > (float)cam->height)
        return;
    int x0 = (int)at_least(cx - reach, 0.0f), y0 = (int)at_least(cy - reach, 0.0f);
    int x1 = (int)at_most(cx + reach, (float)cam->width - 1.0f);
    int y1 = (int)at_most(cy + reach, (float)cam->height - 1.0f);
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) {
            float dx = ((float)x + 0.5f - cx) / reach, dy = ((float)y + 0.5f - cy) / reach;
            float inside = 1.0f - dx * dx - dy * dy;
            float z = v.z - radius * sqrtf(at_least(inside, 0.0f));
            size_t at = (size_t)y * (size_t)cam->width + (size_t)x;
            // Balls smaller than a pixel still show in the one that they are in.
            if ((inside < 0.0f && reach > 0.7f) || z >= seen->depth[at])
                continue;
            seen->depth[at] = z;
            seen->kind[at] = what;
            seen->smooth[at] = radius;
        }
}

void draw_clouds(const camera *cam, const firn_picture_scene *scene, canvas *seen)
{
    float nearest = 0.02f * cam->size;
    for (size_t c = 0; c < scene->cloud_count; c++) {
        const firn_picture_cloud *cloud = &scene->clouds[c];
        for (size_t i = 0; i < cloud->count; i++) {
            firn_vec3 v = to_view(cam, cloud->position[i]);
            if (firn_vec_is_finite(v) && v.z > nearest && v.z < 1e6f)
                draw_ball(cam, seen, v, COVER * cloud->radius[i], (uint8_t)(KIND_CLOUD + c));
        }
    }
}

// A weighted mean along a row or column over what belongs to the same surface.
static float smooth_pixel(const camera *cam, const canvas *seen, size_t at, int position, int limit,
                          size_t step)
{
    float z = seen->depth[at], radius = seen->smooth[at];
    float reach = at_most(2.0f * radius * cam->focal / z, (float)SMOOTH_LIMIT);
    int count = (int)reach;
    float sum = z, weights = 1.0f, tolerance = 4.0f * radius;
    for (int side = -1; side <= 1; side += 2)
        for (int k = 1; k <= count; k++) {
            int there = position + side * k;
            if (there < 0 || there >= limit)
                break;
            size_t other = side > 0 ? at + (size_t)k * step : at - (size_t)k * step;
            float apart = (seen->depth[other] - z) / tolerance;
            if (seen->kind[other] != seen->kind[at] || fabsf(apart) > 1.0f)
                continue;
            // What is farther away fades: an edge of all or nothing would draw streaks.
            float share = (float)k / (reach + 1.0f), alike = 1.0f - apart * apart;
            float weight = expf(-3.0f * share * share) * alike * alike;
            sum += weight * seen->depth[other];
            weights += weight;
        }
    return sum / weights;
}

void smooth_clouds(const camera *cam, canvas *seen)
{
    for (int pass = 0; pass < 2 * SMOOTH_PASSES; pass++) {
#pragma omp parallel for schedule(dynamic, 16)
        for (int y = 0; y < cam->height; y++)
            for (int x = 0; x < cam->width; x++) {
                size_t at = (size_t)y * (size_t)cam->width + (size_t)x;
                bool row = pass % 2 == 0;
                seen->scratch[at] =
                    seen->kind[at] < KIND_CLOUD ? seen->depth[at]
                    : row                       ? smooth_pixel(cam, seen, at, x, cam->width, 1)
                          : smooth_pixel(cam, seen, at, y, cam->height, (size_t)cam->width);
            }
        float *swap = seen->depth;
        seen->depth = seen->scratch;
        seen->scratch = swap;
    }
}

static firn_vec3 place(const camera *cam, const canvas *seen, int x, int y)
{
    float z = seen->depth[(size_t)y * (size_t)cam->width + (size_t)x];
    return firn_scale(z, pixel_ray(cam, (float)x + 0.5f, (float)y + 0.5f));
}

// The change from one pixel to the next, taken on the side where the surface goes on.
static firn_vec3 slope(const camera *cam, const canvas *seen, int x, int y, int dx, int dy)
{
    firn_vec3 here = place(cam, seen, x, y);
    firn_vec3 next = firn_sub(place(cam, seen, x + dx, y + dy), here);
    firn_vec3 last = firn_sub(here, place(cam, seen, x - dx, y - dy));
    return firn_dot(next, next) < firn_dot(last, last) ? next : last;
}

void find_normals(const camera *cam, canvas *seen)
{
#pragma omp parallel for schedule(dynamic, 16)
    for (int y = 1; y < cam->height - 1; y++)
        for (int x = 1; x < cam->width - 1; x++) {
            size_t at = (size_t)y * (size_t)cam->width + (size_t)x;
            if (seen->kind[at] < KIND_CLOUD)
                continue;
            firn_vec3 normal =
                firn_cross(slope(cam, seen, x, y, 0, 1), slope(cam, seen, x, y, 1, 0));
            seen->normal[at] = firn_normalize(normal);
        }
}
