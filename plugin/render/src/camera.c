#include "camera.h"

#include "phase.h"

#define RADIANS (FIRN_PI / 180.0f)
#define MARGIN 0.06f // of the box's diagonal

firn_vec3 firn_direction_of(float azimuth, float elevation)
{
    float turn = RADIANS * azimuth, lift = RADIANS * elevation;
    return firn_vec(sinf(turn) * cosf(lift), sinf(lift), cosf(turn) * cosf(lift));
}

// The distance from which every corner of the box is inside the picture.
static float distance_for(const firn_render_def *def, firn_vec3 half, firn_vec3 back,
                          firn_vec3 right, firn_vec3 up)
{
    float high = tanf(0.5f * RADIANS * def->field_of_view);
    float wide = high * (float)def->width / (float)def->height, distance = 1e-3f;
    for (int corner = 0; corner < 8; corner++) {
        firn_vec3 p = {corner & 1 ? -half.x : half.x, corner & 2 ? -half.y : half.y,
                       corner & 4 ? -half.z : half.z};
        float depth = firn_dot(p, back);
        distance = fmaxf(distance, fabsf(firn_dot(p, right)) / wide + depth);
        distance = fmaxf(distance, fabsf(firn_dot(p, up)) / high + depth);
    }
    return distance;
}

static void frame_box(const firn_render_def *def, firn_vec3 lower, firn_vec3 upper,
                      firn_render_setup *setup)
{
    firn_vec3 half = firn_scale(0.5f, firn_sub(upper, lower));
    float margin = MARGIN * firn_length(half) + 1e-3f;
    half = firn_add(half, firn_vec(margin, margin, margin));
    firn_vec3 back = firn_direction_of(def->azimuth, def->elevation);
    firn_vec3 right = firn_normalize(firn_cross(firn_vec(0.0f, 1.0f, 0.0f), back));
    float distance = distance_for(def, half, back, right, firn_cross(back, right));
    setup->target = firn_lerp(lower, upper, 0.5f);
    setup->position = firn_add_scaled(setup->target, distance / def->zoom, back);
    setup->up = firn_vec(0.0f, 1.0f, 0.0f);
}

bool firn_lens_place(const firn_render_def *def, firn_vec3 lower, firn_vec3 upper,
                     firn_render_setup *setup)
{
    setup->field_of_view = def->field_of_view;
    if (def->camera == FIRN_CAMERA_FRAMED) {
        frame_box(def, lower, upper, setup);
    } else {
        setup->position = def->position;
        setup->target = def->target;
        setup->up = firn_normalize(def->up);
    }
    firn_vec3 view = firn_sub(setup->target, setup->position);
    setup->focus_distance = def->focus_distance > 0.0f ? def->focus_distance : firn_length(view);
    return firn_length(firn_cross(firn_normalize(view), setup->up)) > 1e-5f;
}

void firn_render_place(firn_render_def *def, firn_vec3 lower, firn_vec3 upper)
{
    firn_render_setup setup = {0};
    if (def->camera != FIRN_CAMERA_FRAMED || !firn_lens_place(def, lower, upper, &setup))
        return;
    def->camera = FIRN_CAMERA_PLACED;
    def->position = setup.position;
    def->target = setup.target;
    def->up = setup.up;
}

firn_lens firn_lens_of(const firn_render_def *def, const firn_render_setup *setup, firn_vec3 origin,
                       float voxel_size)
{
    firn_lens lens;
    lens.forward = firn_normalize(firn_sub(setup->target, setup->position));
    lens.right = firn_normalize(firn_cross(lens.forward, setup->up));
    lens.up = firn_cross(lens.right, lens.forward);
    lens.eye = firn_scale(1.0f / voxel_size, firn_sub(setup->position, origin));
    lens.pixel = 2.0f * tanf(0.5f * RADIANS * setup->field_of_view) / (float)def->height;
    lens.center[0] = 0.5f * (float)def->width;
    lens.center[1] = 0.5f * (float)def->height;
    lens.radius = def->lens_radius / voxel_size;
    lens.focus = setup->focus_distance / voxel_size;
    return lens;
}

void firn_lens_ray(const firn_lens *lens, const float pixel[2], const float disk[2],
                   firn_vec3 *from, firn_vec3 *direction)
{
    float x = (pixel[0] - lens->center[0]) * lens->pixel;
    float y = (lens->center[1] - pixel[1]) * lens->pixel;
    firn_vec3 ray = firn_add_scaled(firn_add_scaled(lens->forward, x, lens->right), y, lens->up);
    *from = lens->eye;
    if (lens->radius > 0.0f) {
        firn_vec3 aside = firn_scale(lens->radius * disk[0], lens->right);
        aside = firn_add_scaled(aside, lens->radius * disk[1], lens->up);
        *from = firn_add(lens->eye, aside);
        ray = firn_sub(firn_scale(lens->focus, ray), aside);
    }
    *direction = firn_normalize(ray);
}
