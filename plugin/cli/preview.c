/// `firn preview`: colliders and sources of a shot at its first, middle and last frame.
#include "preview.h"

#include "output.h"
#include "shot.h"

#include "firn/png.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PANELS = 3, MARGIN = 8, LETTER = 2, LINE = 18 };

typedef struct request {
    firn_shot_words shot;
    const char *size, *view, *zoom, *output;
} request;

typedef struct preview {
    firn_graph *graph;
    size_t count; // of frames
    firn_preview_frame *frames;
    firn_picture_def def;
    float fastest, seconds; // m/s, of all things; s, that arrows show
} preview;

static void print_warning(firn_level level, const char *node, const char *message, void *user)
{
    (void)user;
    fflush(stdout);
    if (level != FIRN_LEVEL_INFO)
        fprintf(stderr, "warning: %s: %s\n", node, message);
}

static firn_result load_frame(preview *p, firn_preview_frame *frame, firn_error *error)
{
    const char *node;
    for (size_t i = 0; (node = firn_graph_node(p->graph, i)) != NULL; i++) {
        firn_kind kind = firn_graph_node_type(p->graph, node)->output;
        if (kind != FIRN_KIND_COLLIDER && kind != FIRN_KIND_SOURCE)
            continue;
        const firn_data *data = NULL;
        FIRN_TRY(firn_graph_cook(p->graph, node, frame->frame, &data, error));
        FIRN_TRY(firn_preview_add(frame, node, data, firn_graph_shot(p->graph)->fps, error));
    }
    return FIRN_OK;
}

static bool has_bounds(const firn_preview_thing *thing) { return thing->lower.x <= thing->upper.x; }

static float size_of(firn_vec3 lower, firn_vec3 upper)
{
    return firn_length(firn_sub(upper, lower));
}

// What a shot is about comes first: snow, what files bring in, plain shapes, the air that it snows
// in.
static int rank_of(const firn_preview_thing *thing)
{
    if (thing->thin)
        return 3;
    return thing->kind == FIRN_KIND_SOURCE ? 0 : thing->plain ? 2 : 1;
}

static float smallest_of(const preview *p, int rank)
{
    float smallest = INFINITY;
    for (size_t f = 0; f < p->count; f++)
        for (size_t i = 0; i < p->frames[f].thing_count; i++) {
            const firn_preview_thing *thing = &p->frames[f].things[i];
            if (has_bounds(thing) && rank_of(thing) == rank)
                smallest = fminf(smallest, size_of(thing->lower, thing->upper));
        }
    return smallest;
}

// All that is there; a box as large as a landscape does not make the rest too small to be seen.
static void find_box(preview *p)
{
    for (int rank = 0; rank < 4; rank++) {
        bool known = p->def.lower.x <= p->def.upper.x;
        float size = known ? size_of(p->def.lower, p->def.upper) : smallest_of(p, rank);
        for (size_t f = 0; f < p->count; f++)
            for (size_t i = 0; i < p->frames[f].thing_count; i++) {
                const firn_preview_thing *thing = &p->frames[f].things[i];
                bool vast = rank >= 2 && size_of(thing->lower, thing->upper) > 3.0f * size;
                if (has_bounds(thing) && rank_of(thing) == rank && !vast)
                    firn_picture_include(&p->def, thing->lower, thing->upper);
                p->fastest = fmaxf(p->fastest, thing->speed);
            }
    }
    if (p->def.lower.x > p->def.upper.x)
        firn_picture_include(&p->def, firn_vec(-1.0f, -1.0f, -1.0f), firn_vec(1.0f, 1.0f, 1.0f));
    float size = size_of(p->def.lower, p->def.upper),
          rim = (p->fastest > 0.0f ? 0.12f : 0.05f) * size + 1e-3f;
    firn_vec3 around = {rim, rim, rim};
    p->def.lower = firn_sub(p->def.lower, around);
    p->def.upper = firn_add(p->def.upper, around);
    // The longest arrow takes a sixth of the picture.
    p->seconds = p->fastest > 0.0f ? size / 6.0f / p->fastest : 0.0f;
}

static void print_things(const preview *p)
{
    for (size_t f = 0; f < p->count; f++) {
        printf("frame %d\n", p->frames[f].frame);
        for (size_t i = 0; i < p->frames[f].thing_count; i++) {
            const firn_preview_thing *t = &p->frames[f].things[i];
            printf("  %-16s %-9s", t->node, firn_kind_name(t->kind));
            if (has_bounds(t)) {
                firn_vec3 size = firn_sub(t->upper, t->lower);
                firn_vec3 center = firn_lerp(t->lower, t->upper, 0.5f);
                printf("%.3g x %.3g x %.3g m around (%.3g %.3g %.3g)", (double)size.x,
                       (double)size.y, (double)size.z, (double)center.x, (double)center.y,
                       (double)center.z);
            } else {
                printf("without bounds");
            }
            if (t->speed > 0.0f)
                printf(", up to %.3g m/s", (double)t->speed);
            printf("\n");
        }
    }
}

static firn_result draw_panel(const preview *p, size_t index, const firn_picture_canvas *canvas,
                              uint8_t *rgb, firn_error *error)
{
    firn_preview_frame *frame = &p->frames[index];
    float size = size_of(p->def.lower, p->def.upper);
    FIRN_TRY(firn_preview_draw_arrows(frame, p->seconds, 0.0022f * size, error));
    const firn_picture_scene scene = {.cloud_count = frame->cloud_count,
                                      .clouds = frame->clouds,
                                      .solid_count = frame->solid_count,
                                      .solids = frame->solids};
    FIRN_TRY(firn_picture_render(&p->def, &scene, rgb, error));
    size_t row = 3 * (size_t)p->def.width;
    for (size_t y = 0; y < (size_t)p->def.height; y++)
        memcpy(canvas->rgb + 3 * y * (size_t)canvas->width + row * index, rgb + row * y, row);
    static const uint8_t ink[3] = {235, 235, 232};
    char text[80];
    int left = (int)index * p->def.width + MARGIN;
    snprintf(text, sizeof text, "frame %d", frame->frame);
    firn_picture_label(canvas, left, p->def.height + MARGIN, LETTER, ink, text);
    firn_vec3 edge = firn_sub(p->def.upper, p->def.lower);
    snprintf(text, sizeof text, "%.3g m wide, longest arrow %.3g m/s",
             (double)fmaxf(edge.x, edge.z), (double)p->fastest);
    if (index == 0)
        firn_picture_label(canvas, left, p->def.height + MARGIN + LINE, LETTER, ink, text);
    return FIRN_OK;
}

static firn_result draw(const preview *p, const char *output, firn_error *error)
{
    firn_picture_canvas canvas = {(int)p->count * p->def.width,
                                  p->def.height + 2 * MARGIN + 2 * LINE, NULL};
    size_t bytes = 3 * (size_t)canvas.width * (size_t)canvas.height;
    canvas.rgb = firn_alloc_zero(bytes);
    uint8_t *rgb = firn_alloc(3 * (size_t)p->def.width * (size_t)p->def.height + 1);
    firn_result result = FIRN_OK;
    if (canvas.rgb == NULL || rgb == NULL)
        result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the preview");
    for (size_t i = 0; i < p->count && result == FIRN_OK; i++)
        result = draw_panel(p, i, &canvas, rgb, error);
    if (result == FIRN_OK)
        result = firn_png_write(output, canvas.width, canvas.height, canvas.rgb, error);
    firn_free(rgb);
    firn_free(canvas.rgb);
    return result;
}

static firn_result make(preview *p, const firn_bake_def *range, const char *output,
                        firn_error *error)
{
    const int wanted[PANELS] = {range->first, range->first + (range->last - range->first) / 2,
                                range->last};
    p->frames = firn_alloc_zero(PANELS * sizeof *p->frames);
    if (p->frames == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the preview");
    for (int i = 0; i < PANELS; i++) {
        if (p->count > 0 && p->frames[p->count - 1].frame == wanted[i])
            continue;
        p->frames[p->count].frame = wanted[i];
        FIRN_TRY(load_frame(p, &p->frames[p->count++], error));
    }
    find_box(p);
    FIRN_TRY(draw(p, output, error));
    print_things(p);
    firn_vec3 edge = firn_sub(p->def.upper, p->def.lower);
    printf("%s: %.3g m wide\n", output, (double)fmaxf(edge.x, edge.z));
    return FIRN_OK;
}

static bool read_def(const request *r, firn_picture_def *def)
{
    double zoom = 1.0;
    def->width = 640;
    def->height = 420;
    if (r->size != NULL && (sscanf(r->size, "%dx%d", &def->width, &def->height) != 2 ||
                            def->width < 64 || def->width > 2048 || def->height > 8000))
        return false;
    if (r->view != NULL && sscanf(r->view, "%f,%f", &def->azimuth, &def->elevation) != 2)
        return false;
    if (r->zoom != NULL && !firn_read_number(r->zoom, &zoom))
        return false;
    def->zoom = (float)zoom;
    return true;
}

static int run(const void *memory, const firn_words *words)
{
    const request *r = memory;
    const char *output = r->output != NULL ? r->output : "preview.png";
    preview p = {.def = firn_picture_def_default()};
    if (!read_def(r, &p.def))
        return firn_usage("preview", "--size must be like 640x420, 64 to 2048 wide, --view like "
                                     "35,18 and --zoom a number");
    if (!firn_output_ends(output, ".png"))
        return firn_usage("preview", "-o takes a .png, not '%s'", output);
    firn_error error;
    int code = firn_exit_of(firn_output_check(output, &error), &error);
    if (code == FIRN_EXIT_OK)
        code = firn_shot_load("preview", words->words[0], &r->shot, &p.graph, NULL);
    if (code != FIRN_EXIT_OK)
        return code;
    const firn_host host = {.log = print_warning};
    firn_graph_set_host(p.graph, &host);
    firn_bake_def range;
    firn_shot_frames(r->shot.frames, p.graph, &range);
    code = firn_exit_of(make(&p, &range, output, &error), &error);
    for (size_t i = 0; i < p.count; i++)
        firn_preview_free(&p.frames[i]);
    firn_free(p.frames);
    firn_graph_destroy(p.graph);
    return code;
}

static const firn_option own[] = {
    {"--size", "WxH", "pixels of each of the three pictures; 640x420 unless given",
     offsetof(request, size)},
    {"--view", "AZIMUTH,ELEVATION", "degrees from which to look; 35,18 unless given",
     offsetof(request, view)},
    {"--zoom", "FACTOR", "2 goes to half the distance", offsetof(request, zoom)},
    {"-o", "FILE.png", "preview.png unless given", offsetof(request, output)},
};

const firn_command firn_command_preview = {
    .name = "preview",
    .summary = "draws what a shot brings in, without simulating",
    .usage = "SHOT.firn [OPTIONS]",
    .about = "Draws the colliders and sources of a shot side by side at its first, middle and\n"
             "last frame, with arrows for the velocities that push the snow, and prints size,\n"
             "place and speed of each: a wrong scale, axis or time is seen at once. Nothing is\n"
             "simulated.",
    .example = "  firn preview shot.firn -o preview.png\n"
               "  firn preview shot.firn --set character.file_unit=cm --view 90,10",
    .own = {own, FIRN_COUNT(own)},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .run = run,
};
