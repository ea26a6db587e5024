#include "firn/exr.h"
#include "render_state.h"

#include "firn/png.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Light to the signal of a screen, IEC 61966-2-1.
static float encode_srgb(float x)
{
    return x <= 0.0031308f ? 12.92f * x : 1.055f * powf(x, 1.0f / 2.4f) - 0.055f;
}

// A shoulder like that of film: middle grey stays, white is reached at about six times white. After
// the rational curve that K. Narkowicz fitted to the ACES transform.
static float roll_off(float x)
{
    x *= 0.8f;
    float y = x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f);
    return fminf(y, 1.0f);
}

void firn_render_develop(const firn_render *render, uint8_t *rgb)
{
    float gain = exp2f(render->def.exposure);
    size_t count = 3 * (size_t)render->def.width * (size_t)render->def.height;
    for (size_t i = 0; i < count; i++) {
        float x = fmaxf(0.0f, gain * render->rgb[i]);
        x = render->def.tone == FIRN_TONE_FILMIC ? roll_off(x) : fminf(x, 1.0f);
        rgb[i] = (uint8_t)(255.0f * encode_srgb(x) + 0.5f);
    }
}

static firn_result write_png(const firn_render *render, const char *path, firn_error *error)
{
    const firn_render_def *def = &render->def;
    uint8_t *rgb = firn_alloc((size_t)def->width * (size_t)def->height * 3);
    if (rgb == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot develop the picture");
    firn_render_develop(render, rgb);
    firn_result result = firn_png_write(path, def->width, def->height, rgb, error);
    firn_free(rgb);
    return result;
}

static firn_result write_exr(const firn_render *render, const char *path, firn_error *error)
{
    bool half = render->def.half;
    const firn_exr_channel channels[] = {
        {"R", render->rgb, 3, half},     {"G", render->rgb + 1, 3, half},
        {"B", render->rgb + 2, 3, half}, {"A", render->alpha, 1, half},
        {"Z", render->depth, 1, false},  {"variance", render->variance, 1, false},
    };
    const firn_render_setup *setup = &render->setup;
    char camera[200];
    snprintf(camera, sizeof camera, "from %g %g %g to %g %g %g", (double)setup->position.x,
             (double)setup->position.y, (double)setup->position.z, (double)setup->target.x,
             (double)setup->target.y, (double)setup->target.z);
    // Nothing that tells one run from another: equal pictures are equal files.
    const firn_exr_fact facts[] = {
        {"software", "firn " FIRN_VERSION, 0.0f},
        {"firn_camera", camera, 0.0f},
        {"firn_field_of_view", NULL, setup->field_of_view},
        {"firn_frame", NULL, (float)render->frame},
        {"firn_samples", NULL, (float)render->samples},
        {"firn_noise", NULL, isfinite(render->noise) ? (float)render->noise : -1.0f},
        {"firn_seed", NULL, (float)render->def.seed},
    };
    const firn_exr_picture picture = {
        render->def.width,     render->def.height, channels, (int)FIRN_COUNT(channels), facts,
        (int)FIRN_COUNT(facts)};
    return firn_exr_write(path, &picture, error);
}

static const struct {
    const char *ending;
    firn_result (*write)(const firn_render *, const char *, firn_error *);
} formats[] = {{".png", write_png}, {".exr", write_exr}};

static int format_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < FIRN_COUNT(formats); i++) {
        size_t size = strlen(formats[i].ending), same = 0;
        while (length >= size && same < size &&
               tolower((unsigned char)path[length - size + same]) == formats[i].ending[same])
            same++;
        if (same == size)
            return (int)i;
    }
    return -1;
}

bool firn_render_can_write(const char *path) { return format_of(path) >= 0; }

firn_result firn_render_write(const firn_render *render, const char *path, firn_error *error)
{
    int format = format_of(path);
    if (format < 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "'%s' must end with .png or .exr", path);
    return formats[format].write(render, path, error);
}
