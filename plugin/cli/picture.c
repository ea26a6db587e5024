/// `firn picture`: a shaded view of a cache or a particle file.
#include "firn/picture.h"

#include "output.h"
#include "report/tint.h"
#include "report/view.h"

#include "firn/png.h"

#include <stdio.h>
#include <string.h>

typedef struct request {
    const char *frame, *size, *view, *zoom, *color, *output;
} request;

static bool read_def(const request *r, firn_picture_def *def)
{
    double zoom = 1.0;
    if (r->size != NULL && sscanf(r->size, "%dx%d", &def->width, &def->height) != 2)
        return false;
    if (r->view != NULL && sscanf(r->view, "%f,%f", &def->azimuth, &def->elevation) != 2)
        return false;
    if (r->zoom != NULL && !firn_read_number(r->zoom, &zoom))
        return false;
    def->zoom = (float)zoom;
    return true;
}

static firn_result draw(firn_view *view, const firn_picture_def *def, const char *color,
                        const char *output, firn_error *error)
{
    uint8_t *rgb = NULL;
    firn_tint *tint = NULL;
    if (color != NULL)
        FIRN_TRY(
            firn_tint_make(firn_view_scene(view), firn_view_points(view), color, &tint, error));
    firn_result result = firn_view_draw(view, def, &rgb, error);
    if (result == FIRN_OK && tint != NULL)
        result = firn_picture_render(def, firn_tint_scene(tint), rgb, error);
    if (result == FIRN_OK)
        result = firn_png_write(output, def->width, def->height, rgb, error);
    firn_free(rgb);
    firn_tint_free(tint);
    return result;
}

static int run(const void *memory, const firn_words *words)
{
    const request *r = memory;
    const char *output = r->output != NULL ? r->output : "picture.png";
    firn_picture_def def = firn_picture_def_default();
    int frame = 1;
    if (!read_def(r, &def))
        return firn_usage("picture", "--size must be like 960x540, --view like 35,18 and --zoom a "
                                     "number");
    if (r->frame != NULL && !firn_read_int(r->frame, -1000000, 1000000, &frame))
        return firn_usage("picture", "--frame must be a whole number");
    if (!firn_output_ends(output, ".png"))
        return firn_usage("picture", "-o takes a .png, not '%s'; `firn render` writes other files",
                          output);
    firn_error error;
    firn_view *view = NULL;
    firn_result result = firn_output_check(output, &error);
    if (result == FIRN_OK)
        result = firn_view_open(words->words[0], &view, &error);
    if (result == FIRN_OK) {
        frame = r->frame != NULL ? frame : firn_view_last(view);
        result = firn_view_load(view, frame, &error);
    }
    if (result == FIRN_OK)
        result = draw(view, &def, r->color, output, &error);
    if (result == FIRN_OK)
        printf("%s: %zu particles, frame %d\n", output, firn_view_scene(view)->clouds[0].count,
               frame);
    firn_view_close(view);
    return firn_exit_of(result, &error);
}

static const firn_option rows[] = {
    {"--frame", "N", "the frame; of a cache the last one unless given", offsetof(request, frame)},
    {"--size", "WxH", "pixels; 960x540 unless given", offsetof(request, size)},
    {"--view", "AZIMUTH,ELEVATION", "degrees from which to look; 35,18 unless given",
     offsetof(request, view)},
    {"--zoom", "FACTOR", "2 goes to half the distance", offsetof(request, zoom)},
    {"--color", "COLUMN[=LOW,HIGH]",
     "colors particles by what they carry, such as temperature=263,283 or material",
     offsetof(request, color)},
    {"-o", "FILE.png", "picture.png unless given", offsetof(request, output)},
};

const firn_command firn_command_picture = {
    .name = "picture",
    .summary = "draws a frame of a cache",
    .usage = "CACHE|PARTICLES [OPTIONS]",
    .about = "Draws the particles of a cache, with the colliders of its shot, or those of one\n"
             "particle file (.abc, .bgeo, .vdb) as a shaded PNG.\n",
    .example = "  firn picture cache/snowball_smash/v1 --frame 12 -o smash.png\n",
    .own = {rows, FIRN_COUNT(rows)},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run,
};
