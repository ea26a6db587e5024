#include "mesh_reader.h"

#include "mesh_motion.h"

#include "firn/file.h"
#include "firn/vdb_sequence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_COUNT = 6, GAP_LIMIT = 10000 };

typedef struct slot {
    bool used;
    int frame;
    firn_mesh mesh; // in our units
} slot;

struct firn_mesh_reader {
    firn_mesh_reader_def def;
    char file[FIRN_TEXT_SIZE], object[FIRN_TEXT_SIZE];
    bool numbered;
    firn_clip clip;
    firn_mesh_file open;
    slot slots[SLOT_COUNT];
    firn_mesh_note note;
    char sentence[FIRN_MESSAGE_SIZE];
    char time_note[FIRN_MESSAGE_SIZE];
};

static bool is_outside(const firn_mesh_reader *r, int frame)
{
    double at = firn_clip_frame(&r->clip, frame);
    bool folds = r->def.clip.outside != FIRN_OUTSIDE_AUTO;
    return r->clip.ranged && !folds && (at < r->clip.first - 1e-3 || at > r->clip.last + 1e-3);
}

// What an archive is asked for beyond its ends, where nobody said that it shall hold them.
static void note_times(firn_mesh_reader *r)
{
    int start = r->def.start_frame, last = r->def.last_frame, begin = start, end = last;
    double from = firn_clip_frame(&r->clip, start), to = firn_clip_frame(&r->clip, last);
    while (begin <= last && is_outside(r, begin))
        begin++;
    while (end > begin && is_outside(r, end))
        end--;
    char advice[300];
    if (begin > last)
        snprintf(advice, sizeof advice,
                 "nothing moves; time_offset = %g brings its beginning to the first frame",
                 r->def.clip.offset + r->clip.first - from);
    else if (end < last)
        snprintf(advice, sizeof advice,
                 "it stands still after frame %d of the shot; last = %d ends the shot there, "
                 "time_outside = hold says that this is meant",
                 end, end);
    else if (begin > start)
        snprintf(advice, sizeof advice,
                 "it stands still before frame %d of the shot; time_offset = %g brings its "
                 "beginning to the first frame, time_outside = hold says that this is meant",
                 begin, r->def.clip.offset + r->clip.first - from);
    else
        return;
    snprintf(r->time_note, sizeof r->time_note,
             "'%.300s' is animated from frame %g to %g, but the shot asks for %g to %g: %s",
             r->file, r->clip.first, r->clip.last, from, to, advice);
}

static void look_at_times(firn_mesh_reader *r)
{
    const firn_mesh_file *open = &r->open;
    int first = 0, last = 0;
    if (r->numbered) {
        r->clip.ranged = firn_clip_find_range(r->file, &first, &last);
        r->clip.first = first;
        r->clip.last = last;
    } else if (open->ranged) {
        r->clip.ranged = true;
        r->clip.first = open->first_time * r->def.fps;
        r->clip.last = open->last_time * r->def.fps;
        note_times(r);
    }
}

firn_result firn_mesh_reader_create(const firn_mesh_reader_def *def, firn_mesh_reader **reader,
                                    firn_error *error)
{
    *reader = NULL;
    firn_mesh_reader *r = firn_alloc_zero(sizeof *r);
    if (r == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read '%.300s'", def->file);
    r->def = *def;
    snprintf(r->file, sizeof r->file, "%s", def->file);
    snprintf(r->object, sizeof r->object, "%s", def->object);
    r->def.file = r->file;
    r->def.object = r->object;
    if (def->layers != NULL)
        r->open.layers = *def->layers;
    r->numbered = firn_path_has_frame(r->file);
    r->clip = firn_clip_make(&def->clip, r->numbered, def->start_frame, def->fps);
    r->open.subd = (firn_subd_def){def->subd_level,
                                   2.0f * def->voxel_size / firn_axes_transform(&def->axes).scale};
    firn_result result =
        r->numbered ? FIRN_OK : firn_mesh_file_open(&r->open, r->file, r->object, error);
    if (result != FIRN_OK) {
        firn_mesh_reader_destroy(r);
        return result;
    }
    look_at_times(r);
    *reader = r;
    return FIRN_OK;
}

void firn_mesh_reader_destroy(firn_mesh_reader *reader)
{
    if (reader == NULL)
        return;
    for (int i = 0; i < SLOT_COUNT; i++)
        firn_mesh_free(&reader->slots[i].mesh);
    firn_mesh_file_close(&reader->open);
    firn_free(reader);
}

bool firn_mesh_reader_moves(const firn_mesh_reader *reader)
{
    return reader->numbered || reader->open.ranged;
}

const char *firn_mesh_reader_time_note(const firn_mesh_reader *reader) { return reader->time_note; }

void firn_mesh_reader_leftover(const firn_mesh_reader *reader, char *text, size_t size)
{
    firn_mesh_file_leftover(&reader->open, reader->object, text, size);
}

firn_mesh_note firn_mesh_reader_note(const firn_mesh_reader *reader, const char **sentence)
{
    *sentence = reader->sentence;
    return reader->note;
}

// The file that a frame of the shot shows, for messages.
static const char *path_at(const firn_mesh_reader *r, int frame, char path[FIRN_PATH_SIZE])
{
    int number = (int)floor(firn_clip_frame(&r->clip, frame) + 1e-6);
    if (!r->numbered || firn_path_of_frame(r->file, number, path, FIRN_PATH_SIZE, NULL) != FIRN_OK)
        return r->file;
    return path;
}

// --- Meshes of frames ----------------------------------------------------------------------------

static firn_result read_number(firn_mesh_reader *r, int number, firn_mesh *mesh, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_path_of_frame(r->file, number, path, sizeof path, error));
    r->open.number = number;
    FIRN_TRY(firn_mesh_file_open(&r->open, path, r->object, error));
    return firn_mesh_file_read(&r->open, r->object, (double)number / r->def.fps, mesh, error);
}

// The nearest file in a direction that can be read; within the range that was found.
static bool read_beyond(firn_mesh_reader *r, int number, int step, int *found, firn_mesh *mesh)
{
    int begin = number + step;
    if (r->clip.ranged && step < 0 && begin > r->clip.last)
        begin = (int)r->clip.last;
    if (r->clip.ranged && step > 0 && begin < r->clip.first)
        begin = (int)r->clip.first;
    for (int i = 0, n = begin; i < GAP_LIMIT && r->clip.ranged; i++, n += step) {
        if (n < r->clip.first || n > r->clip.last)
            return false;
        if (read_number(r, n, mesh, NULL) == FIRN_OK) {
            *found = n;
            return true;
        }
    }
    return false;
}

// A file that is missing or damaged, when that is allowed.
static firn_result bridge(firn_mesh_reader *r, int number, firn_mesh *mesh, firn_error *error)
{
    firn_mesh before = {0}, after = {0};
    int from = 0, to = 0;
    bool has_before = read_beyond(r, number, -1, &from, &before);
    bool wants_after = !has_before || r->def.missing == FIRN_VDB_MISSING_INTERPOLATE;
    bool has_after = wants_after && read_beyond(r, number, 1, &to, &after);
    firn_result result = FIRN_OK;
    if (has_before && has_after && firn_mesh_same_topology(&before, &after)) {
        double share = (double)(number - from) / (double)(to - from);
        result = firn_mesh_mix(&before, &after, share, mesh, error);
    } else if (has_before || has_after) {
        *mesh = has_before ? before : after;
        memset(has_before ? &before : &after, 0, sizeof before);
    } else {
        result = firn_fail(error, FIRN_ERR_NOT_FOUND, "no file of '%.300s' can be read", r->file);
    }
    firn_mesh_free(&before);
    firn_mesh_free(&after);
    return result;
}

static firn_result read_or_bridge(firn_mesh_reader *r, int number, firn_mesh *mesh,
                                  firn_error *error)
{
    firn_result result = read_number(r, number, mesh, error);
    bool gap = result == FIRN_ERR_NOT_FOUND || result == FIRN_ERR_FORMAT;
    if (gap && r->def.missing != FIRN_VDB_MISSING_ERROR)
        return bridge(r, number, mesh, error);
    if (!gap || error == NULL)
        return result;
    firn_error cause = *error;
    return firn_fail(error, result,
                     "%.700s; it is number %d of '%.200s': make it again, or set sequence_missing "
                     "to hold or interpolate",
                     cause.message, number, r->file);
}

static firn_result read_numbered(firn_mesh_reader *r, double at, firn_mesh *mesh, firn_error *error)
{
    double base = floor(at + 1e-6), share = at - base;
    FIRN_TRY(read_or_bridge(r, (int)base, mesh, error));
    if (share < 1e-6)
        return FIRN_OK;
    firn_mesh before = *mesh, after = {0};
    *mesh = (firn_mesh){0};
    firn_result result = read_or_bridge(r, (int)base + 1, &after, NULL);
    if (result == FIRN_OK && firn_mesh_same_topology(&before, &after)) {
        result = firn_mesh_mix(&before, &after, share, mesh, error);
    } else {
        // Without a neighbor of the same topology the file before stays.
        *mesh = before;
        memset(&before, 0, sizeof before);
        result = FIRN_OK;
    }
    firn_mesh_free(&before);
    firn_mesh_free(&after);
    return result;
}

static firn_result read_frame(firn_mesh_reader *r, int frame, firn_mesh *mesh, firn_error *error)
{
    double at = firn_clip_frame(&r->clip, frame);
    if (!(fabs(at) < 1e8))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "'%.300s' has no frame %g", r->file, at);
    if (r->numbered)
        FIRN_TRY(read_numbered(r, at, mesh, error));
    else
        FIRN_TRY(firn_mesh_file_read(&r->open, r->object, at / r->def.fps, mesh, error));
    float rate = (float)firn_clip_rate(&r->clip, frame);
    firn_axes_def axes = firn_axes_recorded(&r->def.axes, firn_mesh_file_metadata(&r->open));
    firn_axes_convert(&axes, mesh->position, mesh->vertex_count);
    if (mesh->velocity != NULL)
        firn_axes_convert(&axes, mesh->velocity, mesh->vertex_count);
    for (size_t i = 0; i < mesh->vertex_count && mesh->velocity != NULL && rate != 1.0f; i++)
        mesh->velocity[i] = firn_scale(rate, mesh->velocity[i]);
    return FIRN_OK;
}

// The mesh of a frame, read once; the one farthest from the frame in work makes room.
static firn_result mesh_of(firn_mesh_reader *r, int frame, int center, const firn_mesh **mesh,
                           firn_error *error)
{
    slot *free_slot = &r->slots[0];
    for (int i = 0; i < SLOT_COUNT; i++) {
        slot *s = &r->slots[i];
        if (s->used && s->frame == frame) {
            *mesh = &s->mesh;
            return FIRN_OK;
        }
        if (!s->used)
            free_slot = s;
        else if (free_slot->used && abs(s->frame - center) > abs(free_slot->frame - center))
            free_slot = s;
    }
    firn_mesh read;
    FIRN_TRY(read_frame(r, frame, &read, error));
    firn_mesh_free(&free_slot->mesh);
    *free_slot = (slot){true, frame, read};
    *mesh = &free_slot->mesh;
    return FIRN_OK;
}

// The mesh of a frame beside the one in work; NULL when there is none. Nothing moves before the
// start.
static const firn_mesh *neighbor_of(firn_mesh_reader *r, int frame, int center)
{
    const firn_mesh *mesh = NULL;
    if (is_outside(r, frame) || (r->numbered && frame < r->def.start_frame) ||
        mesh_of(r, frame, center, &mesh, NULL) != FIRN_OK)
        return NULL;
    return mesh;
}

// --- Motion --------------------------------------------------------------------------------------

// What is known around a frame: the steps to it and from it, jumps left out.
typedef struct surroundings {
    const firn_mesh *here, *before, *after; // NULL: none of the same topology
    bool outside;                           // of the times of an archive, which rests there
    bool jumped;
    double size, step; // m: of the mesh, the longest step that counts
} surroundings;

static surroundings look_around(firn_mesh_reader *r, const firn_mesh *here, int frame)
{
    surroundings s = {.here = here, .outside = is_outside(r, frame)};
    if (s.outside || here->vertex_count == 0)
        return s;
    s.size = (double)firn_length(firn_mesh_extent(s.here));
    s.before = neighbor_of(r, frame - 1, frame);
    s.after = neighbor_of(r, frame + 1, frame);
    double in = firn_mesh_step(s.before, s.here), out = firn_mesh_step(s.here, s.after);
    // The frames farther away are only read when there is a reason.
    double limit = fmin(FIRN_JUMP_SHARE * s.size, (double)r->def.max_speed / r->def.fps);
    bool fast_in = in > limit, fast_out = out > limit;
    double farthest = (double)r->def.max_speed / r->def.fps;
    double earlier = fast_in ? firn_mesh_step(neighbor_of(r, frame - 2, frame), s.before) : NAN;
    double later = fast_out ? firn_mesh_step(s.after, neighbor_of(r, frame + 2, frame)) : NAN;
    bool jump_in = fast_in && (firn_step_jumps(in, earlier, out, s.size) || in > farthest);
    bool jump_out = fast_out && (firn_step_jumps(out, in, later, s.size) || out > farthest);
    s.jumped = jump_in || jump_out;
    s.step = fmax(isnan(in) || jump_in ? 0.0 : in, isnan(out) || jump_out ? 0.0 : out);
    if (isnan(in) || jump_in)
        s.before = NULL;
    if (isnan(out) || jump_out)
        s.after = NULL;
    return s;
}

static void note(firn_mesh_reader *r, firn_mesh_note kind, int frame, const char *text)
{
    if (kind <= r->note)
        return;
    char path[FIRN_PATH_SIZE];
    r->note = kind;
    snprintf(r->sentence, sizeof r->sentence, "'%.300s' at frame %d: %.500s",
             path_at(r, frame, path), frame, text);
}

// Turns velocities that are distances per frame into those per second.
static void judge(firn_mesh_reader *r, int frame, const firn_mesh *mesh, const firn_vec3 *seen,
                  firn_vec3 *velocity)
{
    size_t count = mesh->vertex_count;
    double as_stored = firn_velocity_miss(velocity, seen, count, 1.0);
    if (as_stored < FIRN_VELOCITY_AGREEMENT)
        return;
    char text[400];
    double fps = firn_velocity_frame_rate(velocity, seen, count, r->def.fps * r->clip.ratio);
    if (fps > 0.0) {
        for (size_t i = 0; i < count; i++)
            velocity[i] = firn_scale((float)fps, velocity[i]);
        snprintf(text, sizeof text,
                 "the stored velocities are distances per frame, %g times smaller than the motion "
                 "per second; they are taken as such",
                 fps);
        note(r, FIRN_NOTE_PER_FRAME, frame, text);
        return;
    }
    snprintf(text, sizeof text,
             "the stored velocities do not fit the motion of the points (off by %.0f %%); "
             "velocity_from = motion takes them from the motion",
             100.0 * as_stored);
    note(r, FIRN_NOTE_DISAGREES, frame, text);
}

static firn_result check_speed(firn_mesh_reader *r, int frame, const firn_vec3 *velocity,
                               size_t count, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    for (size_t i = 0; i < count; i++)
        if (!(firn_length(velocity[i]) <= r->def.max_speed))
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "point %zu of '%.300s' moves at %.3g m/s at frame %d, faster than "
                             "max_speed, %g m/s: correct its velocity or its unit, or set "
                             "velocity_from = motion",
                             i, path_at(r, frame, path), (double)firn_length(velocity[i]), frame,
                             (double)r->def.max_speed);
    return FIRN_OK;
}

static firn_result copy_velocity(const firn_mesh *mesh, firn_vec3 **velocity, firn_error *error)
{
    size_t bytes = mesh->vertex_count * sizeof **velocity;
    *velocity = firn_alloc(bytes + 1);
    if (*velocity == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot copy velocities");
    if (bytes > 0)
        memcpy(*velocity, mesh->velocity, bytes);
    return FIRN_OK;
}

// The velocities of a frame's mesh; *velocity stays NULL when nothing tells them.
static firn_result find_velocity(firn_mesh_reader *r, int frame, const surroundings *s,
                                 firn_vec3 **velocity, firn_error *error)
{
    const firn_mesh *mesh = s->here;
    int from = r->def.velocity_from;
    bool seen = s->before != NULL || s->after != NULL;
    if (s->jumped)
        note(r, FIRN_NOTE_JUMP, frame,
             "it jumps to another place within a frame; that is not taken for a motion");
    // Samples of an archive that have no neighbors of one topology tell nothing.
    bool sampled = !r->numbered && (s->outside || (seen && !s->jumped));
    bool told = mesh->velocity != NULL && (mesh->stored || sampled);
    if (from == FIRN_VELOCITY_REST || (from == FIRN_VELOCITY_FILE && !mesh->stored))
        return FIRN_OK;
    if (told && (from != FIRN_VELOCITY_MOTION || s->outside))
        FIRN_TRY(copy_velocity(mesh, velocity, error));
    else if (seen)
        return firn_mesh_differences(s->before, mesh, s->after, r->def.fps, velocity, error);
    if (*velocity == NULL || !mesh->stored)
        return FIRN_OK;
    if (seen && from == FIRN_VELOCITY_AUTO) {
        firn_vec3 *motion = NULL;
        FIRN_TRY(firn_mesh_differences(s->before, mesh, s->after, r->def.fps, &motion, error));
        judge(r, frame, mesh, motion, *velocity);
        firn_free(motion);
    }
    return check_speed(r, frame, *velocity, mesh->vertex_count, error);
}

static firn_result name_file(const firn_mesh_reader *r, int frame, firn_result result,
                             firn_error *error)
{
    char buffer[FIRN_PATH_SIZE];
    const char *path = path_at(r, frame, buffer);
    if (result == FIRN_OK || error == NULL || strstr(error->message, path) != NULL)
        return result;
    firn_error cause = *error;
    return firn_fail(error, result, "'%.300s' at frame %d: %.600s", path, frame, cause.message);
}

// What is too large for its voxels often has another unit.
static firn_result ask_for_unit(const firn_mesh_reader *r, const firn_mesh *mesh,
                                firn_result result, firn_error *error)
{
    char text[FIRN_MESSAGE_SIZE];
    if (result != FIRN_ERR_ARGUMENT || error == NULL || mesh->vertex_count == 0 ||
        !firn_size_is_odd(r->file, firn_mesh_extent(mesh), &r->def.axes, text, sizeof text))
        return result;
    firn_error cause = *error;
    return firn_fail(error, result, "%.300s; %.500s", cause.message, text);
}

firn_result firn_mesh_reader_shape(firn_mesh_reader *reader, int frame,
                                   const firn_vdb_mesh_def *def, firn_vdb_shape **shape,
                                   firn_error *error)
{
    *shape = NULL;
    reader->note = FIRN_NOTE_NONE;
    reader->sentence[0] = '\0';
    const firn_mesh *mesh = NULL;
    FIRN_TRY(mesh_of(reader, frame, frame, &mesh, error));
    surroundings around = look_around(reader, mesh, frame);
    if (mesh->skipped > 0)
        note(reader, FIRN_NOTE_FACES, frame, "faces with fewer than three corners are left out");
    firn_vec3 *velocity = NULL;
    firn_result result = find_velocity(reader, frame, &around, &velocity, error);
    if (result == FIRN_OK) {
        firn_vdb_mesh view = {.point_count = mesh->vertex_count,
                              .points = mesh->position,
                              .velocity = velocity,
                              .face_count = mesh->face_count,
                              .face_sizes = mesh->face_size,
                              .index_count = mesh->corner_count,
                              .indices = mesh->corner};
        result = firn_vdb_shape_from_mesh(def, &view, shape, error);
        result = ask_for_unit(reader, mesh, result, error);
    }
    firn_free(velocity);
    return name_file(reader, frame, result, error);
}

firn_result firn_mesh_reader_mesh(firn_mesh_reader *reader, int frame, const firn_mesh **mesh,
                                  firn_error *error)
{
    return name_file(reader, frame, mesh_of(reader, frame, frame, mesh, error), error);
}
