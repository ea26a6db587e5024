#include "picture_state.h"

#include <stdlib.h>

enum { SAMPLE_LIMIT = 20000 };

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float component(firn_vec3 v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

static size_t framed_count(const firn_picture_scene *scene)
{
    size_t count = 0;
    for (size_t c = 0; c < scene->cloud_count; c++)
        count += scene->clouds[c].framed ? scene->clouds[c].count : 0;
    return count;
}

// The range of a coordinate without the strays: chips that fly off do not move the camera.
static void find_range(const firn_picture_scene *scene, int axis, float *values, float range[2])
{
    size_t stride = framed_count(scene) / SAMPLE_LIMIT + 1, n = 0;
    for (size_t c = 0; c < scene->cloud_count; c++)
        for (size_t i = 0; scene->clouds[c].framed && i < scene->clouds[c].count; i += stride) {
            float value = component(scene->clouds[c].position[i], axis);
            if (value > -1e6f && value < 1e6f)
                values[n++] = value;
        }
    qsort(values, n, sizeof *values, compare);
    range[0] = n > 0 ? values[n / 100] : -1.0f;
    range[1] = n > 0 ? values[n - 1 - n / 100] : 1.0f;
}

firn_result firn_picture_box(const firn_picture_scene *scene, firn_vec3 *lower, firn_vec3 *upper,
                             firn_error *error)
{
    size_t room = SAMPLE_LIMIT + 1 + scene->cloud_count;
    float *values = firn_alloc(room * sizeof *values);
    if (values == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot frame the picture");
    float range[3][2];
    for (int axis = 0; axis < 3; axis++)
        find_range(scene, axis, values, range[axis]);
    firn_free(values);
    *lower = firn_vec(range[0][0], range[1][0], range[2][0]);
    *upper = firn_vec(range[0][1], range[1][1], range[2][1]);
    float margin = 0.08f * firn_length(firn_sub(*upper, *lower)) + 1e-3f;
    firn_vec3 rim = {margin, 0.5f * margin, margin};
    *lower = firn_sub(*lower, rim);
    *upper = firn_add(*upper, rim);
    return FIRN_OK;
}

void firn_picture_include(firn_picture_def *def, firn_vec3 lower, firn_vec3 upper)
{
    bool first = def->lower.x > def->upper.x;
    firn_vec3 low = first ? lower : def->lower, high = first ? upper : def->upper;
    def->lower = firn_vec(fminf(low.x, lower.x), fminf(low.y, lower.y), fminf(low.z, lower.z));
    def->upper = firn_vec(fmaxf(high.x, upper.x), fmaxf(high.y, upper.y), fmaxf(high.z, upper.z));
}

firn_vec3 to_view(const camera *cam, firn_vec3 world)
{
    firn_vec3 r = firn_sub(world, cam->eye);
    return firn_vec(firn_dot(r, cam->right), firn_dot(r, cam->up), firn_dot(r, cam->forward));
}

firn_vec3 pixel_ray(const camera *cam, float x, float y)
{
    float u = (x - 0.5f * (float)cam->width) / cam->focal;
    float v = (0.5f * (float)cam->height - y) / cam->focal;
    return firn_add_scaled(firn_add_scaled(cam->forward, u, cam->right), v, cam->up);
}

firn_result find_camera(const firn_picture_def *def, const firn_picture_scene *scene, camera *cam,
                        firn_error *error)
{
    const float radians = 0.017453292519943295f;
    cam->lower = def->lower;
    cam->upper = def->upper;
    if (def->lower.x > def->upper.x)
        FIRN_TRY(firn_picture_box(scene, &cam->lower, &cam->upper, error));
    cam->width = def->width * SUPERSAMPLES;
    cam->height = def->height * SUPERSAMPLES;
    float turn = radians * def->azimuth, lift = radians * def->elevation;
    firn_vec3 back = {sinf(turn) * cosf(lift), sinf(lift), cosf(turn) * cosf(lift)};
    cam->forward = firn_scale(-1.0f, back);
    cam->right = firn_normalize(firn_cross(cam->forward, firn_vec(0.0f, 1.0f, 0.0f)));
    cam->up = firn_cross(cam->right, cam->forward);
    cam->focal = 0.5f * (float)cam->width / tanf(0.5f * radians * def->field_of_view);
    cam->size = firn_length(firn_sub(cam->upper, cam->lower));
    // So far away that every corner of the box is inside the picture.
    firn_vec3 center = firn_lerp(cam->lower, cam->upper, 0.5f);
    float distance = 0.0f;
    cam->eye = center;
    for (int corner = 0; corner < 8; corner++) {
        firn_vec3 p = {corner & 1 ? cam->lower.x : cam->upper.x,
                       corner & 2 ? cam->lower.y : cam->upper.y,
                       corner & 4 ? cam->lower.z : cam->upper.z};
        firn_vec3 v = to_view(cam, p);
        float wide = 2.0f * fabsf(v.x) * cam->focal / (float)cam->width;
        float high = 2.0f * fabsf(v.y) * cam->focal / (float)cam->height;
        distance = at_least(distance, at_least(wide, high) - v.z);
    }
    cam->eye = firn_add_scaled(center, distance / def->zoom, back);
    return FIRN_OK;
}
