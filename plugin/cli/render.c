/// `firn render`: path-traced pictures of volumes.
#define _POSIX_C_SOURCE 200809L
#include "firn/render.h"

#include "bake.h"
#include "limits.h"
#include "meter.h"
#include "movie.h"
#include "output.h"
#include "render_source.h"

#include "firn/png.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct request {
    firn_words rows, solids;
    const char *frames, *size, *output, *sheet, *setup, *grid, *particles, *quiet, *json;
    const char *threads, *memory;
} request;

/// Frames to show, as many as fit the sheet.
typedef struct range {
    int first, last, step;
} range;

/// A run of the command.
typedef struct job {
    const request *request;
    firn_render_source source;
    firn_render_def def; // as the user wants it; files may still change what he left open
    range frames;
    const char *output;
    int columns, lines; // of a sheet, 0: none
    uint8_t *sheet;     // pixels of all of it
    int sheet_frames;
    firn_movie movie;
    firn_meter meter;
    int frame;
} job;

// --- Options -------------------------------------------------------------------------------------

static firn_result apply_rows(const firn_words *rows, firn_render_def *def, firn_error *error)
{
    for (size_t i = 0; i + 1 < rows->count; i += 2) {
        const firn_param *row = firn_params_find(firn_render_params(), rows->words[i]);
        firn_error why;
        if (firn_param_parse(row, def, rows->words[i + 1], &why) != FIRN_OK)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "%.900s", why.message);
        firn_render_def_settle(def); // a look counts where it stands; what follows may change it
    }
    return FIRN_OK;
}

// The settings of a frame: defaults, then what its file says, then what the user says.
static firn_result settle(job *j, int frame, firn_render_def *def, firn_error *error)
{
    *def = firn_render_def_default();
    FIRN_TRY(firn_render_source_load(&j->source, frame, def, error));
    FIRN_TRY(apply_rows(&j->request->rows, def, error));
    if (j->request->threads != NULL)
        FIRN_TRY(firn_param_parse(firn_params_find(firn_render_params(), "thread_count"), def,
                                  j->request->threads, error));
    if (j->request->size != NULL &&
        (sscanf(j->request->size, "%dx%d", &def->width, &def->height) != 2 || def->width < 1 ||
         def->height < 1))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "--size is '%s'; it must be like 960x540, at least one pixel each way",
                         j->request->size);
    if (j->columns > 0) {
        int width = def->width / j->columns;
        def->height = width * def->height / def->width;
        def->width = width;
        if (def->width < 1 || def->height < 1)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "the sheet is too small for its pictures");
    }
    return FIRN_OK;
}

static bool read_range(const char *text, range *r)
{
    int length = 0;
    r->step = 1;
    if (sscanf(text, "%d%n", &r->first, &length) != 1)
        return false;
    r->last = r->first;
    text += length;
    if (*text == '-' && sscanf(text, "-%d%n", &r->last, &length) == 1)
        text += length;
    if (*text == 'x' && sscanf(text, "x%d%n", &r->step, &length) == 1)
        text += length;
    return *text == '\0' && r->first <= r->last && r->step >= 1;
}

static int choose_frames(job *j)
{
    const request *r = j->request;
    if (r->sheet != NULL && (sscanf(r->sheet, "%dx%d", &j->columns, &j->lines) != 2 ||
                             j->columns < 1 || j->lines < 1 || j->columns > 64 || j->lines > 64))
        return firn_usage("render", "--sheet takes columns and lines like 4x3, not '%s'", r->sheet);
    j->frames = (range){1, 1, 1};
    bool known = firn_render_source_frames(&j->source, &j->frames.first, &j->frames.last);
    bool many = j->columns > 0 || (r->output != NULL && firn_movie_is(r->output));
    if (r->frames != NULL && !read_range(r->frames, &j->frames))
        return firn_usage("render", "--frames takes 7, 1001-1100 or 1-100x2, not '%s'", r->frames);
    if (r->frames == NULL && !known)
        return firn_usage("render", "'%s' names many files; say which with --frames",
                          j->source.path);
    if (r->frames == NULL && !many)
        j->frames.first = j->frames.last;
    return FIRN_EXIT_OK;
}

static int choose_output(job *j)
{
    bool several = j->frames.first + j->frames.step <= j->frames.last;
    const char *plain = several && j->columns == 0 ? "render.$F4.png" : "render.png";
    j->output = j->request->output != NULL ? j->request->output : plain;
    bool movie = firn_movie_is(j->output);
    if (!movie && !firn_render_can_write(j->output))
        return firn_usage("render", "'%s' must end with .png, .exr, .mp4 or .gif", j->output);
    if (j->columns > 0 && strcmp(j->output + strlen(j->output) - 4, ".png") != 0)
        return firn_usage("render", "a sheet is a .png, not '%s'", j->output);
    if (several && j->columns == 0 && !movie && !firn_path_has_frame(j->output))
        return firn_usage("render", "'%s' is one file for many frames; name it like shot.$F4.png",
                          j->output);
    return FIRN_EXIT_OK;
}

// --- Before the work -----------------------------------------------------------------------------

static double memory_limit(const job *j)
{
    double megabytes = 0.0;
    if (j->request->memory != NULL && firn_read_number(j->request->memory, &megabytes))
        return 1e6 * megabytes;
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

// What a picture needs beside its volume: sums, results and their bytes, and a cache per thread.
static firn_result check_memory(const job *j, const firn_render_def *def, firn_error *error)
{
    const double per_pixel = 200.0, per_thread = 13e6;
    double pixels = (double)def->width * def->height;
    double threads =
        def->thread_count > 0 ? def->thread_count : (double)sysconf(_SC_NPROCESSORS_ONLN);
    double needed = per_pixel * pixels + per_thread * threads;
    if (j->columns > 0)
        needed += 3.0 * pixels * j->columns * j->lines;
    if (needed <= memory_limit(j))
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_MEMORY,
                     "a picture of %d x %d pixels with %.0f threads needs %.0f MB; the limit is "
                     "%.0f MB",
                     def->width, def->height, threads, 1e-6 * needed, 1e-6 * memory_limit(j));
}

static firn_result check_grid(const job *j, const firn_render *render, firn_error *error)
{
    firn_render_setup setup = firn_render_read_setup(render);
    if (j->request->memory == NULL || (double)setup.grid_bytes <= memory_limit(j))
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_MEMORY,
                     "the volume of frame %d takes %.0f MB alone; the limit is %.0f MB", j->frame,
                     1e-6 * (double)setup.grid_bytes, 1e-6 * memory_limit(j));
}

// Where nothing can be written, nothing needs to be rendered.
static firn_result check_output(const job *j, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    firn_file_writer *file = NULL;
    if (j->request->setup != NULL)
        FIRN_TRY(firn_output_check(j->request->setup, error));
    if (j->request->setup != NULL && j->request->output == NULL)
        return FIRN_OK;
    FIRN_TRY(firn_output_check_frames(j->output, j->frames.first, j->frames.last, j->frames.step,
                                      error));
    FIRN_TRY(firn_path_of_frame(j->output, j->frames.first, path, sizeof path, error));
    FIRN_TRY(firn_file_create(path, &file, error));
    firn_file_discard(file);
    return FIRN_OK;
}

// Whether a row counts with these settings: its visible_when is "other==one|two".
static bool has_effect(const firn_param *row, const firn_render_def *def)
{
    char other[64], value[FIRN_TEXT_SIZE];
    const char *equals = row->visible_when != NULL ? strstr(row->visible_when, "==") : NULL;
    if (equals == NULL)
        return true;
    snprintf(other, sizeof other, "%.*s", (int)(equals - row->visible_when), row->visible_when);
    const firn_param *decides = firn_params_find(firn_render_params(), other);
    if (decides == NULL)
        return true;
    firn_param_print(decides, def, value, sizeof value);
    size_t length = strlen(value);
    for (const char *at = equals + 2; *at != '\0'; at += strcspn(at, "|"), at += *at == '|')
        if (strncmp(at, value, length) == 0 && (at[length] == '|' || at[length] == '\0'))
            return true;
    return false;
}

static void say_idle(job *j, const char *row, const char *why)
{
    char text[200];
    snprintf(text, sizeof text, "%s has no effect%s%s", row,
             why[0] != '\0' ? ": it counts when " : "", why);
    firn_meter_log(&j->meter, FIRN_LEVEL_WARNING, "render", text);
}

static bool has_particles(const job *j)
{
    return j->source.particles != NULL || j->source.is_cache;
}

// Options that change nothing are most often meant to.
static void tell_idle(job *j)
{
    const firn_words *rows = &j->request->rows;
    const firn_render_def *def = &j->def;
    size_t length = strlen(j->output);
    bool exr = length > 4 && strcmp(j->output + length - 4, ".exr") == 0;
    for (size_t i = 0; i + 1 < rows->count; i += 2) {
        const firn_param *row = firn_params_find(firn_render_params(), rows->words[i]);
        bool of_png = strcmp(row->name, "exposure") == 0 || strcmp(row->name, "tone") == 0;
        if (!has_effect(row, def))
            say_idle(j, row->name, row->visible_when);
        else if ((of_png && exr) || (strcmp(row->name, "half") == 0 && !exr))
            say_idle(j, row->name, of_png ? "the file is a .png or a film" : "the file is an .exr");
        else if (strcmp(row->name, "shutter") == 0 && def->shutter > 0.0f &&
                 j->source.scene.field->velocity == NULL && !has_particles(j))
            say_idle(j, row->name, "the volume or its particles have a velocity");
    }
}

// --- Pictures ------------------------------------------------------------------------------------

static bool on_progress(const firn_render_report *report, void *user)
{
    job *j = user;
    firn_stat stats[] = {{"samples", report->samples}, {"noise", report->noise}};
    firn_report told = {"render", j->frame, report->fraction, FIRN_COUNT(stats), stats};
    firn_meter_report(&j->meter, &told, true);
    return firn_signals_stop() == 0;
}

static void paste(job *j, const firn_render_image *image, const uint8_t *rgb)
{
    size_t width = (size_t)image->width, height = (size_t)image->height;
    size_t row = 3 * width * (size_t)j->columns;
    size_t left = (size_t)(j->sheet_frames % j->columns),
           top = (size_t)(j->sheet_frames / j->columns);
    for (size_t y = 0; y < height; y++)
        memcpy(j->sheet + (top * height + y) * row + 3 * width * left, rgb + 3 * width * y,
               3 * width);
    j->sheet_frames++;
}

static firn_result add_to_many(job *j, const firn_render *render, firn_error *error)
{
    firn_render_image image = firn_render_picture(render);
    size_t size = 3 * (size_t)image.width * (size_t)image.height;
    uint8_t *rgb = firn_alloc(size);
    if (j->columns > 0 && j->sheet == NULL)
        j->sheet = firn_alloc_zero(size * (size_t)j->columns * (size_t)j->lines);
    if (rgb == NULL || (j->columns > 0 && j->sheet == NULL)) {
        firn_free(rgb);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot hold the pictures");
    }
    firn_render_develop(render, rgb);
    firn_result result = FIRN_OK;
    if (j->columns > 0)
        paste(j, &image, rgb);
    else if (j->movie.process == 0)
        result =
            firn_movie_open(&j->movie, j->output, image.width, image.height, j->source.fps, error);
    if (j->columns == 0 && result == FIRN_OK)
        result = firn_movie_add(&j->movie, rgb, size, error);
    firn_free(rgb);
    return result;
}

static firn_result keep_picture(job *j, const firn_render *render, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    if (j->columns > 0 || firn_movie_is(j->output))
        return add_to_many(j, render, error);
    FIRN_TRY(firn_path_of_frame(j->output, j->frame, path, sizeof path, error));
    return firn_render_write(render, path, error);
}

static firn_result show_frame(job *j, const firn_render_def *shared, firn_error *error)
{
    firn_render_def def;
    firn_render *render = NULL;
    double begun = firn_seconds();
    FIRN_TRY(settle(j, j->frame, &def, error));
    if (def.camera == FIRN_CAMERA_FRAMED) {
        def.camera = shared->camera;
        def.position = shared->position;
        def.target = shared->target;
        def.up = shared->up;
    }
    if (def.grains != FIRN_GRAINS_NONE)
        FIRN_TRY(firn_render_source_load_grains(&j->source, error));
    FIRN_TRY(check_memory(j, &def, error));
    FIRN_TRY(firn_render_create(&def, &j->source.scene, &render, error));
    firn_result result = check_grid(j, render, error);
    if (result == FIRN_OK && j->request->setup != NULL && j->frame == j->frames.first)
        result = firn_render_setup_write(j->request->setup, &j->source, &def, render, error);
    bool wanted = j->request->setup == NULL || j->request->output != NULL;
    if (result == FIRN_OK && wanted)
        result = firn_render_run(render, on_progress, j, error);
    if (result == FIRN_OK && wanted)
        result = keep_picture(j, render, error);
    firn_render_image image = firn_render_picture(render);
    firn_stat stats[] = {
        {"samples", image.samples}, {"noise", image.noise}, {"seconds", firn_seconds() - begun}};
    if (result == FIRN_OK && wanted)
        firn_meter_frame(&j->meter, j->frame, false, stats, FIRN_COUNT(stats));
    firn_render_destroy(render);
    return result;
}

// --- Many frames ---------------------------------------------------------------------------------

static bool frame_scene(const job *j, firn_render_def *def)
{
    firn_vec3 lower, upper;
    if (j->source.shot == NULL || firn_graph_box(j->source.shot, &lower, &upper, NULL) != FIRN_OK)
        return false;
    firn_render_place(def, lower, upper);
    return true;
}

// One camera for all frames, so that a frame looks the same whatever it is rendered with: for a
// cache that of its scene, whatever frames are there by now; for numbered files it sees the snow of
// the first, the middle and the last.
static firn_result share_camera(job *j, firn_render_def *shared, firn_error *error)
{
    firn_vec3 lower = {INFINITY, INFINITY, INFINITY}, upper = {-INFINITY, -INFINITY, -INFINITY};
    int frames[3];
    size_t count = firn_render_source_landmarks(&j->source, j->frames.first, frames);
    for (size_t i = 0; i < count; i++) {
        firn_render *render = NULL;
        FIRN_TRY(settle(j, frames[i], shared, error));
        j->def = *shared;
        if (shared->camera != FIRN_CAMERA_FRAMED || frame_scene(j, shared))
            return FIRN_OK;
        firn_render_def small = *shared; // only its grid is wanted
        small.width = small.height = 1;
        small.volume = true;
        FIRN_TRY(firn_render_create(&small, &j->source.scene, &render, error));
        firn_render_setup setup = firn_render_read_setup(render);
        firn_render_destroy(render);
        lower = firn_vec(fminf(lower.x, setup.lower.x), fminf(lower.y, setup.lower.y),
                         fminf(lower.z, setup.lower.z));
        upper = firn_vec(fmaxf(upper.x, setup.upper.x), fmaxf(upper.y, setup.upper.y),
                         fmaxf(upper.z, setup.upper.z));
    }
    firn_render_place(shared, lower, upper);
    return FIRN_OK;
}

static firn_result finish_sheet(job *j, firn_error *error)
{
    firn_render_def def;
    if (j->sheet == NULL)
        return FIRN_OK;
    FIRN_TRY(settle(j, j->frames.first, &def, error));
    return firn_png_write(j->output, def.width * j->columns, def.height * j->lines, j->sheet,
                          error);
}

// The frame of a place on a sheet, spread over the range; of the n-th picture otherwise.
static int frame_at(const job *j, int number)
{
    int last = (j->frames.last - j->frames.first) / j->frames.step;
    int places = j->columns * j->lines;
    if (places > 1 && last + 1 > places)
        number = (int)((double)number * last / (places - 1) + 0.5);
    return j->frames.first + number * j->frames.step;
}

static firn_result show_all(job *j, firn_error *error)
{
    firn_render_def shared;
    if (firn_movie_is(j->output))
        FIRN_TRY(firn_movie_check(error));
    FIRN_TRY(check_output(j, error));
    FIRN_TRY(share_camera(j, &shared, error));
    tell_idle(j);
    int count = (j->frames.last - j->frames.first) / j->frames.step + 1;
    if (j->columns > 0 && count > j->columns * j->lines)
        count = j->columns * j->lines;
    for (int i = 0; i < count; i++) {
        j->frame = frame_at(j, i);
        FIRN_TRY(show_frame(j, &shared, error));
    }
    return finish_sheet(j, error);
}

static int run(const void *memory, const firn_words *words)
{
    job j = {.request = memory, .def = firn_render_def_default()};
    firn_error error;
    double megabytes = 0.0;
    if (j.request->memory != NULL &&
        (!firn_read_number(j.request->memory, &megabytes) || megabytes <= 0.0))
        return firn_usage("render", "--max-memory takes megabytes such as 4000, not '%s'",
                          j.request->memory);
    if (megabytes > 0.0)
        firn_memory_bound(megabytes);
    const firn_render_names names = {j.request->grid, j.request->particles, &j.request->solids};
    firn_result result = firn_render_source_open(&j.source, words->words[0], &names, &error);
    int code = firn_exit_of(result, &error);
    if (code == FIRN_EXIT_OK)
        code = choose_frames(&j);
    if (code == FIRN_EXIT_OK)
        code = choose_output(&j);
    if (code == FIRN_EXIT_OK) {
        j.meter = (firn_meter){
            .voice = firn_voice_choose(j.request->quiet != NULL, j.request->json != NULL, NULL),
            .first = j.frames.first,
            .last = j.frames.last};
        firn_signals_catch();
        if (!firn_movie_is(j.output)) // whose last frame is waited for
            firn_watch_stop(j.output);
        firn_meter_start(&j.meter, words->words[0], j.output);
        result = show_all(&j, &error);
        firn_error late;
        firn_result closed = firn_movie_close(&j.movie, result == FIRN_OK, &late);
        if (result == FIRN_OK && closed != FIRN_OK) {
            result = closed;
            error = late;
        }
        code = firn_exit_code(result);
        if (result == FIRN_ERR_CANCELLED && firn_signals_stop() != 0)
            code = 128 + firn_signals_stop();
        firn_meter_finish(&j.meter, code, NULL, result == FIRN_OK ? NULL : error.message);
    }
    firn_free(j.sheet);
    firn_render_source_close(&j.source);
    return code;
}

#define ROW(field) offsetof(request, field)

static const firn_option options[] = {
    {"-o", "FILE", "render.png unless given; .png, .exr, with ffmpeg .mp4 and .gif", ROW(output)},
    {"--frames", "A-B[xN]", "frames to show; of a cache the last one unless given", ROW(frames)},
    {"--size", "WxH", "pixels, instead of --width and --height", ROW(size)},
    {"--sheet", "CxL", "one picture of C columns and L lines of frames, as wide as --width",
     ROW(sheet)},
    {"--solid", "FILE", "a level set or mesh to show as well; may be repeated", ROW(solids), true},
    {"--grid", "NAME", "the density grid; density unless given", ROW(grid)},
    {"--particles", "FILE",
     "grains to show, numbered or an archive; of a cache its own unless given", ROW(particles)},
    {"--dump-setup", "FILE.json", "writes the scene for other renderers; alone, renders nothing",
     ROW(setup)},
    {"--threads", "N", "threads to use, 0: all cores", ROW(threads)},
    {"--max-memory", "MB", "most memory of the process; else what the machine has", ROW(memory)},
    {"--quiet", NULL, "only warnings and errors", ROW(quiet)},
    {"--log-json", NULL, "one JSON object per event and line", ROW(json)},
};

const firn_command firn_command_render = {
    .name = "render",
    .summary = "path-traces the snow of a cache or a volume",
    .usage = "CACHE|VOLUME.vdb [OPTIONS]",
    .about = "Follows light through the density of a volume: many scatterings, sun and sky, the\n"
             "colliders of a cache around it. Numbers come from the command line, else from the\n"
             "metadata of the file, else from the table below (docs/render.md).",
    .example = "  firn render cache/snowball_smash/v1 --frames 12 -o smash.png\n"
               "  firn render snow.vdb --size 480x270 --noise-limit 0.02 -o snow.exr\n"
               "  firn render cache/snowball_smash/v1 --sheet 4x3 --samples 32 -o sheet.png\n"
               "  firn render 'vol/snow.$F4.vdb' --frames 1-48 --sun-elevation 12 -o snow.mp4",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(request),
    .least = 1,
    .most = 1,
    .params = firn_render_params,
    .params_offset = ROW(rows),
    .run = run,
};
