#include "firn/picture.h"

#include "picture_state.h"

static const float FAR = 1e8f; // m

static firn_vec3 product(firn_vec3 a, firn_vec3 b)
{
    return firn_vec(a.x * b.x, a.y * b.y, a.z * b.z);
}

static firn_vec3 sky_color(firn_vec3 direction)
{
    float up = clamp01(0.5f + 2.2f * direction.y);
    return firn_lerp(firn_vec(0.42f, 0.50f, 0.60f), firn_vec(0.16f, 0.26f, 0.42f), up);
}

typedef struct frame {
    const firn_picture_scene *scene;
    camera camera;
    canvas canvas;
    shadow_map shadows;
} frame;

static firn_vec3 albedo_of(const frame *f, uint8_t kind)
{
    if (kind >= KIND_CLOUD)
        return f->scene->clouds[kind - KIND_CLOUD].albedo;
    return kind == KIND_GROUND ? firn_vec(0.16f, 0.19f, 0.23f) : firn_vec(0.30f, 0.24f, 0.19f);
}

static firn_vec3 shade(const frame *f, int x, int y)
{
    const canvas *seen = &f->canvas;
    size_t at = (size_t)y * (size_t)f->camera.width + (size_t)x;
    firn_vec3 ray = pixel_ray(&f->camera, (float)x + 0.5f, (float)y + 0.5f);
    firn_vec3 direction = firn_normalize(ray);
    uint8_t kind = seen->kind[at];
    if (kind == KIND_SKY)
        return sky_color(direction);
    firn_vec3 normal = seen->normal[at], sun = f->shadows.sun;
    firn_vec3 point = firn_add_scaled(f->camera.eye, seen->depth[at], ray);
    bool snow = kind >= KIND_CLOUD;
    // Light goes around corners in snow: the terminator is soft.
    float wrap = snow ? 0.18f : 0.0f;
    float facing = clamp01((firn_dot(normal, sun) + wrap) / (1.0f + wrap));
    float direct = facing * cloud_light(&f->shadows, point, normal);
    if (direct > 0.0f)
        direct *= solid_light(f->scene, &f->camera,
                              firn_add_scaled(point, 1e-3f * f->camera.size, normal), sun);
    float open = open_sky(&f->camera, seen, x, y);
    firn_vec3 ambient = firn_lerp(firn_vec(0.16f, 0.19f, 0.25f), firn_vec(0.30f, 0.38f, 0.52f),
                                  0.5f + 0.5f * normal.y);
    firn_vec3 light = firn_add_scaled(firn_scale(open, ambient), direct * (0.4f + 0.6f * open),
                                      firn_vec(0.80f, 0.74f, 0.64f));
    firn_vec3 color = product(albedo_of(f, kind), light);
    // The ground ends in haze.
    float haze = clamp01((seen->depth[at] - 2.5f * f->camera.size) / (12.0f * f->camera.size));
    return kind == KIND_GROUND ? firn_lerp(color, sky_color(direction), haze) : color;
}

static uint8_t encode(float linear)
{
    float x = clamp01(linear);
    float s = x <= 0.0031308f ? 12.92f * x : 1.055f * powf(x, 1.0f / 2.4f) - 0.055f;
    return (uint8_t)(s * 255.0f + 0.5f);
}

static void develop(const frame *f, const firn_picture_def *def, uint8_t *rgb)
{
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < def->height; y++)
        for (int x = 0; x < def->width; x++) {
            firn_vec3 sum = {0.0f, 0.0f, 0.0f};
            for (int s = 0; s < SUPERSAMPLES * SUPERSAMPLES; s++)
                sum = firn_add(sum, shade(f, x * SUPERSAMPLES + s % SUPERSAMPLES,
                                          y * SUPERSAMPLES + s / SUPERSAMPLES));
            sum = firn_scale(1.0f / (SUPERSAMPLES * SUPERSAMPLES), sum);
            uint8_t *pixel = rgb + 3 * ((size_t)y * (size_t)def->width + (size_t)x);
            pixel[0] = encode(sum.x);
            pixel[1] = encode(sum.y);
            pixel[2] = encode(sum.z);
        }
}

static firn_result claim_canvas(frame *f, firn_error *error)
{
    size_t n = (size_t)f->camera.width * (size_t)f->camera.height;
    canvas *c = &f->canvas;
    c->depth = firn_alloc(n * sizeof *c->depth);
    c->scratch = firn_alloc(n * sizeof *c->scratch);
    c->kind = firn_alloc_zero(n);
    c->normal = firn_alloc_zero(n * sizeof *c->normal);
    c->smooth = firn_alloc_zero(n * sizeof *c->smooth);
    if (c->depth == NULL || c->scratch == NULL || c->kind == NULL || c->normal == NULL ||
        c->smooth == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw %d x %d pixels",
                         f->camera.width / SUPERSAMPLES, f->camera.height / SUPERSAMPLES);
    for (size_t i = 0; i < n; i++)
        c->depth[i] = FAR;
    return FIRN_OK;
}

static void release(frame *f)
{
    firn_free(f->canvas.depth);
    firn_free(f->canvas.scratch);
    firn_free(f->canvas.kind);
    firn_free(f->canvas.normal);
    firn_free(f->canvas.smooth);
    firn_free(f->shadows.height);
}

static firn_result draw(frame *f, firn_error *error)
{
    FIRN_TRY(claim_canvas(f, error));
    FIRN_TRY(make_shadow_map(&f->camera, f->scene, &f->shadows, error));
    draw_clouds(&f->camera, f->scene, &f->canvas);
    smooth_clouds(&f->camera, &f->canvas);
    find_normals(&f->camera, &f->canvas);
    draw_solids(&f->camera, f->scene, &f->canvas);
    return FIRN_OK;
}

firn_result firn_picture_render(const firn_picture_def *def, const firn_picture_scene *scene,
                                uint8_t *rgb, firn_error *error)
{
    bool fine = def->width >= 8 && def->height >= 8 && def->width <= 8192 && def->height <= 8192 &&
                def->field_of_view >= 1.0f && def->field_of_view <= 120.0f && def->zoom > 0.0f &&
                fabsf(def->elevation) <= 89.0f && scene->cloud_count < 200;
    if (!fine)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the picture must have 8 to 8192 pixels along each edge, a field of view "
                         "of 1 to 120 degrees and an elevation of -89 to 89 degrees");
    frame f = {.scene = scene};
    FIRN_TRY(find_camera(def, scene, &f.camera, error));
    firn_picture_scene grounded = *scene;
    firn_collider_def ground =
        firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), f.camera.lower.y);
    if (scene->solid_count == 0) {
        grounded.solids = &ground;
        grounded.solid_count = 1;
        f.scene = &grounded;
    }
    firn_result result = draw(&f, error);
    if (result == FIRN_OK)
        develop(&f, def, rgb);
    release(&f);
    return result;
}
