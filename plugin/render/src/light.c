#include "light.h"

#include "camera.h"
#include "firn/exr.h"
#include "phase.h"

#include <string.h>

static float luminance(const float *rgb)
{
    return 0.2126f * rgb[0] + 0.7152f * rgb[1] + 0.0722f * rgb[2];
}

// Rising sums of `count` weights, scaled to end with 1; even when all are zero.
static double add_up(const double *weights, int count, float *sums)
{
    double all = 0.0, sum = 0.0;
    for (int i = 0; i < count; i++)
        all += weights[i];
    sums[0] = 0.0f;
    for (int i = 0; i < count; i++) {
        sum += all > 0.0 ? weights[i] / all : 1.0 / count;
        sums[i + 1] = (float)sum;
    }
    sums[count] = 1.0f;
    return all;
}

static void fill_tables(firn_sky_image *image, double *weights, double *rows)
{
    for (int y = 0; y < image->height; y++) {
        // A row's share of the sphere; a little of it is even, so that no direction is left out.
        double sine = sin((double)FIRN_PI * (y + 0.5) / image->height), mean = 0.0;
        const float *rgb = image->rgb + 3 * (size_t)y * (size_t)image->width;
        for (int x = 0; x < image->width; x++)
            mean += (double)luminance(rgb + 3 * x) / image->width;
        for (int x = 0; x < image->width; x++)
            weights[x] = (double)luminance(rgb + 3 * x) + 0.05 * mean;
        add_up(weights, image->width, image->column + (size_t)y * ((size_t)image->width + 1));
        rows[y] = sine * (mean + 1e-6);
    }
    add_up(rows, image->height, image->row);
}

static firn_result load_image(firn_sky_image *image, const firn_render_def *def, firn_error *error)
{
    if (def->sky_file[0] == '\0')
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "sky_file is empty; a sky from an image needs a lat-long .exr file");
    FIRN_TRY(firn_exr_read(def->sky_file, &image->width, &image->height, &image->rgb, error));
    size_t width = (size_t)image->width, height = (size_t)image->height;
    for (size_t i = 0; i < 3 * width * height; i++) {
        if (!(image->rgb[i] >= 0.0f && image->rgb[i] <= 1e30f))
            image->rgb[i] = 0.0f;
        image->rgb[i] *= def->sky_strength;
    }
    image->turn = def->sky_rotation * (FIRN_PI / 180.0f);
    image->column = firn_alloc(height * (width + 1) * sizeof *image->column);
    image->row = firn_alloc((height + 1) * sizeof *image->row);
    double *weights = firn_alloc((width + height) * sizeof *weights);
    bool fine = image->column != NULL && image->row != NULL && weights != NULL;
    if (fine)
        fill_tables(image, weights, weights + width);
    firn_free(weights);
    return fine ? FIRN_OK
                : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot hold the sky '%s'",
                            def->sky_file);
}

static firn_result make_model(firn_light *light, const firn_render_def *def, firn_error *error)
{
    firn_sky_model *model = firn_alloc(sizeof *model);
    if (model == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot hold the sky");
    firn_sky_model_make(model, light->sun, def->turbidity, def->sun_irradiance / 3.0f);
    light->irradiance = model->direct;
    for (int row = 0; row < FIRN_SKY_HEIGHTS; row++)
        for (int i = 0; i < FIRN_SKY_TURNS; i++)
            model->radiance[row][i] = firn_scale(def->sky_strength, model->radiance[row][i]);
    light->horizon = model->radiance[0][FIRN_SKY_TURNS / 2];
    light->zenith = model->radiance[FIRN_SKY_HEIGHTS - 1][0];
    light->model = model;
    return FIRN_OK;
}

firn_result firn_light_create(firn_light *light, const firn_render_def *def, firn_error *error)
{
    memset(light, 0, sizeof *light);
    light->sun = firn_direction_of(def->sun_azimuth, def->sun_elevation);
    light->irradiance = firn_scale(def->sun_irradiance, def->sun_color);
    light->sun_cosine = cosf(0.5f * def->sun_angle * (FIRN_PI / 180.0f));
    light->sky = def->sky;
    light->zenith = firn_scale(def->sky_strength, def->sky_color);
    light->horizon = firn_scale(def->sky_strength, def->sky_horizon);
    if (def->sky == FIRN_SKY_PHYSICAL)
        return make_model(light, def, error);
    if (def->sky != FIRN_SKY_IMAGE)
        return FIRN_OK;
    firn_result result = load_image(&light->image, def, error);
    if (result != FIRN_OK)
        firn_light_free(light);
    return result;
}

void firn_light_free(firn_light *light)
{
    firn_free(light->image.rgb);
    firn_free(light->image.column);
    firn_free(light->image.row);
    firn_free(light->model);
    light->model = NULL;
    memset(&light->image, 0, sizeof light->image);
}

// --- Images --------------------------------------------------------------------------------------

// The column is 0.5 along -Z and rises toward +X.
static void pixel_of(const firn_sky_image *image, firn_vec3 d, int *x, int *y)
{
    float turn = atan2f(d.x, -d.z) + image->turn;
    float u = turn / (2.0f * FIRN_PI) + 0.5f;
    u -= floorf(u);
    float v = acosf(fmaxf(-1.0f, fminf(1.0f, d.y))) / FIRN_PI;
    int column = (int)(u * (float)image->width), row = (int)(v * (float)image->height);
    *x = column < image->width ? column : image->width - 1;
    *y = row < image->height ? row : image->height - 1;
}

static int find_bin(const float *sums, int count, float unit)
{
    int low = 0, high = count - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (sums[middle] <= unit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static float bin_density(const firn_sky_image *image, int x, int y)
{
    const float *column = image->column + (size_t)y * ((size_t)image->width + 1);
    float share = (column[x + 1] - column[x]) * (image->row[y + 1] - image->row[y]);
    float lower = cosf(FIRN_PI * (float)y / (float)image->height);
    float upper = cosf(FIRN_PI * (float)(y + 1) / (float)image->height);
    float solid_angle = 2.0f * FIRN_PI / (float)image->width * (lower - upper);
    return share / fmaxf(solid_angle, 1e-12f);
}

firn_vec3 firn_sky_sample(const firn_light *light, firn_random *random, float *density)
{
    const firn_sky_image *image = &light->image;
    int y = find_bin(image->row, image->height, firn_random_unit(random));
    const float *column = image->column + (size_t)y * ((size_t)image->width + 1);
    int x = find_bin(column, image->width, firn_random_unit(random));
    // Evenly over the pixel's patch of the sphere.
    float lower = cosf(FIRN_PI * (float)y / (float)image->height);
    float upper = cosf(FIRN_PI * (float)(y + 1) / (float)image->height);
    float height = lower + firn_random_unit(random) * (upper - lower);
    float u = ((float)x + firn_random_unit(random)) / (float)image->width;
    float turn = (u - 0.5f) * 2.0f * FIRN_PI - image->turn;
    float wide = sqrtf(fmaxf(0.0f, 1.0f - height * height));
    *density = bin_density(image, x, y);
    return firn_vec(wide * sinf(turn), height, -wide * cosf(turn));
}

float firn_sky_density(const firn_light *light, firn_vec3 direction)
{
    int x, y;
    pixel_of(&light->image, direction, &x, &y);
    return bin_density(&light->image, x, y);
}

firn_vec3 firn_sky_radiance(const firn_light *light, firn_vec3 direction)
{
    if (light->sky == FIRN_SKY_CONSTANT)
        return light->zenith;
    if (light->sky == FIRN_SKY_GRADIENT)
        return firn_lerp(light->horizon, light->zenith, fmaxf(direction.y, 0.0f));
    if (light->sky == FIRN_SKY_PHYSICAL)
        return firn_sky_model_radiance(light->model, direction);
    int x, y;
    pixel_of(&light->image, direction, &x, &y);
    const float *rgb = light->image.rgb + 3 * ((size_t)y * (size_t)light->image.width + (size_t)x);
    return firn_vec(rgb[0], rgb[1], rgb[2]);
}

firn_vec3 firn_sun_radiance(const firn_light *light, firn_vec3 direction)
{
    bool seen = light->sky == FIRN_SKY_PHYSICAL && light->sun_cosine < 1.0f &&
                firn_dot(direction, light->sun) >= light->sun_cosine;
    float scale = seen ? 1.0f / (2.0f * FIRN_PI * (1.0f - light->sun_cosine)) : 0.0f;
    return firn_scale(scale, light->irradiance);
}

firn_vec3 firn_sun_sample(const firn_light *light, firn_random *random)
{
    float cosine = 1.0f - firn_random_unit(random) * (1.0f - light->sun_cosine);
    return firn_around(light->sun, cosine, random);
}
