#include "collider_surface.h"

#include <math.h>
#include <string.h>

void firn_moving_surface_release(firn_moving_surface *surface)
{
    firn_shape_ahead_cancel(surface->ahead);
    firn_mesh_reader_destroy(surface->reader);
    firn_vdb_shape_destroy(surface->shape);
    firn_vdb_shape_destroy(surface->moving[0]);
    firn_vdb_shape_destroy(surface->moving[1]);
    firn_vdb_sequence_close(surface->sequence);
    firn_surface_release(&surface->placed[0]);
    firn_surface_release(&surface->placed[1]);
    memset(surface, 0, sizeof *surface);
}

static firn_result open_mesh(firn_moving_surface *s, const firn_cook *cook, firn_error *error)
{
    const firn_surface_input *input = &s->input;
    firn_mesh_reader_def def = {.file = input->file,
                                .object = input->object,
                                .layers = &input->layers,
                                .axes = input->axes,
                                .clip = input->clip,
                                .subd_level = input->subd.level,
                                .voxel_size = input->mesh.voxel_size,
                                .missing = input->sequence.missing,
                                .velocity_from = input->velocity_from,
                                .max_speed = input->max_speed,
                                .start_frame = cook->start_frame,
                                .last_frame = cook->last_frame,
                                .fps = cook->fps};
    FIRN_TRY(firn_mesh_reader_create(&def, &s->reader, error));
    s->deforms = input->deforming || firn_mesh_reader_moves(s->reader);
    const char *note = firn_mesh_reader_time_note(s->reader);
    if (note[0] != '\0')
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", note);
    char unused[FIRN_MESSAGE_SIZE / 2];
    firn_mesh_reader_leftover(s->reader, unused, sizeof unused);
    if (unused[0] != '\0')
        firn_cook_log(cook, FIRN_LEVEL_INFO, "not used of '%.300s': %s", input->file, unused);
    return FIRN_OK;
}

static void find_files(firn_moving_surface *s, const firn_cook *cook, int *first, int *last)
{
    const firn_surface_input *input = &s->input;
    int low = 0, high = 0;
    s->clip = firn_clip_make(&input->clip, true, cook->start_frame, cook->fps);
    if (input->clip.outside != FIRN_OUTSIDE_AUTO)
        s->clip.ranged = firn_clip_find_range(input->file, &low, &high);
    s->clip.first = low - input->sequence.offset;
    s->clip.last = high - input->sequence.offset;
    double from = firn_clip_frame(&s->clip, cook->start_frame), to = from;
    for (int frame = cook->start_frame; frame <= cook->last_frame; frame++) {
        double at = firn_clip_frame(&s->clip, frame);
        from = fmin(from, at);
        to = fmax(to, at);
    }
    *first = (int)floor(from);
    *last = (int)ceil(to);
}

// Called from the thread that reads ahead.
static bool stamp_of(int frame, firn_vdb_stamp *stamp, void *user)
{
    const firn_moving_surface *s = user;
    char path[FIRN_PATH_SIZE];
    return firn_path_of_frame(s->input.file, frame + s->input.sequence.offset, path, sizeof path,
                              NULL) == FIRN_OK &&
           firn_stamp_of(path, stamp) != NULL;
}

static firn_result open_sequence(firn_moving_surface *s, const firn_cook *cook, firn_error *error)
{
    const firn_surface_input *input = &s->input;
    firn_vdb_sequence_def def = input->sequence;
    def.pattern = input->file;
    find_files(s, cook, &def.first, &def.last);
    def.shape = input->level_set;
    def.shape.velocity = input->velocity_from <= FIRN_VELOCITY_FILE;
    def.shape.grid = input->object[0] != '\0' ? input->object : NULL;
    def.stamp = stamp_of;
    def.user = s;
    return firn_vdb_sequence_open(&def, &s->sequence, error);
}

firn_result firn_moving_surface_open(firn_moving_surface *surface, const firn_cook *cook,
                                     const firn_surface_input *input, bool is_level_set,
                                     firn_error *error)
{
    if (surface->open)
        return FIRN_OK;
    surface->input = *input;
    surface->is_level_set = is_level_set;
    if (!is_level_set)
        FIRN_TRY(open_mesh(surface, cook, error));
    else
        surface->deforms = firn_path_has_frame(input->file);
    if (is_level_set && surface->deforms)
        FIRN_TRY(open_sequence(surface, cook, error));
    surface->open = true;
    return FIRN_OK;
}

// --- What there is to say ------------------------------------------------------------------------

static void say(firn_moving_surface *s, const firn_cook *cook, firn_mesh_note kind,
                const char *sentence)
{
    if (kind == FIRN_NOTE_NONE || s->said[kind])
        return;
    s->said[kind] = true;
    firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", sentence);
}

static void say_of_mesh(firn_moving_surface *s, const firn_cook *cook, const firn_vdb_shape *shape)
{
    const char *warning = firn_vdb_shape_warning(shape), *sentence = "";
    if (warning[0] != '\0')
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", warning);
    firn_mesh_note kind = firn_mesh_reader_note(s->reader, &sentence);
    say(s, cook, kind, sentence);
}

static void look_at_size(firn_moving_surface *s, const firn_cook *cook, const firn_level_set *set)
{
    char text[FIRN_MESSAGE_SIZE];
    if (s->measured)
        return;
    s->measured = true;
    if (firn_size_is_odd(s->input.file, firn_surface_extent(set), &s->input.axes, text,
                         sizeof text))
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", text);
}

// --- What keeps its shape ------------------------------------------------------------------------

static firn_result read_level_set(firn_moving_surface *s, const firn_cook *cook, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    firn_vdb_shape_def def = s->input.level_set;
    def.velocity = false; // only the pose moves it
    FIRN_TRY(firn_path_of_frame(s->input.file, cook->start_frame, path, sizeof path, error));
    FIRN_TRY(firn_shape_from_vdb_file(path, s->input.object, &def, &s->shape, error));
    const char *warning = firn_vdb_shape_warning(s->shape);
    if (warning[0] != '\0')
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%s", warning);
    return FIRN_OK;
}

firn_result firn_moving_surface_still(firn_moving_surface *s, const firn_cook *cook,
                                      const firn_level_set **level_set, firn_error *error)
{
    if (s->shape == NULL) {
        firn_placing placing = {.now = firn_transform_identity(), .velocity_factor = 1.0f};
        if (s->is_level_set) {
            FIRN_TRY(read_level_set(s, cook, error));
            placing.now = firn_axes_transform(&s->input.axes);
        } else {
            FIRN_TRY(firn_mesh_reader_shape(s->reader, cook->start_frame, &s->input.mesh, &s->shape,
                                            error));
            say_of_mesh(s, cook, s->shape);
        }
        FIRN_TRY(firn_surface_place(&s->placed[0], firn_vdb_shape_level_set(s->shape), NULL,
                                    &placing, error));
        look_at_size(s, cook, &s->placed[0].level_set);
    }
    *level_set = &s->placed[0].level_set;
    return FIRN_OK;
}

// --- Meshes that deform --------------------------------------------------------------------------

static double megabytes(const firn_vdb_shape *shape)
{
    const firn_velocity_grid *velocity = firn_vdb_shape_velocity(shape);
    size_t voxels = firn_vdb_shape_level_set(shape)->leaf_count * FIRN_LEAF_VOXELS;
    size_t vectors = velocity != NULL ? velocity->leaf_count * FIRN_LEAF_VOXELS : 0;
    return 1e-6 * (double)(voxels * sizeof(float) + vectors * sizeof(firn_vec3));
}

// Begins with the mesh of the next frame, as far as it fits beside the two that are in use. That
// changes when the work is done, never what comes out. It may take every core: with one thread it
// holds up the solver's slowest for longer, and a frame takes 8 % more (`firn bench collider`).
static void look_ahead(firn_moving_surface *s, const firn_cook *cook)
{
    int next = cook->frame + 1;
    double held = megabytes(s->moving[0]) + megabytes(s->moving[1]);
    bool fits = s->input.mesh.memory_limit <= 0.0 || held < s->input.mesh.memory_limit;
    if (!s->input.look_ahead || next > cook->last_frame || !fits)
        return;
    firn_vdb_mesh_def def = s->input.mesh;
    if (def.memory_limit > 0.0)
        def.memory_limit -= held;
    s->ahead = firn_shape_ahead_start(s->reader, next, &def);
    s->ahead_frame = next;
}

static firn_result make_mesh(firn_moving_surface *s, const firn_cook *cook, int frame,
                             firn_vdb_shape **shape, firn_error *error)
{
    FIRN_TRY(firn_mesh_reader_shape(s->reader, frame, &s->input.mesh, shape, error));
    say_of_mesh(s, cook, *shape);
    return FIRN_OK;
}

// The level set of the cooked frame: from the thread that looked ahead, or made now.
static firn_result take_mesh(firn_moving_surface *s, const firn_cook *cook, firn_shape_ahead *ahead,
                             firn_error *error)
{
    s->moving[1] = firn_shape_ahead_finish(ahead);
    if (s->moving[1] == NULL)
        return make_mesh(s, cook, cook->frame, &s->moving[1], error);
    say_of_mesh(s, cook, s->moving[1]);
    return FIRN_OK;
}

// Where neither the file nor equal topology tells velocities, the two shapes do.
static firn_result follow(firn_moving_surface *s, const firn_cook *cook, firn_vdb_shape *from,
                          firn_vdb_shape *to, double seconds, firn_error *error)
{
    bool wanted = s->input.velocity_from == FIRN_VELOCITY_AUTO ||
                  s->input.velocity_from == FIRN_VELOCITY_MOTION;
    if (!wanted || from == NULL || to == NULL || from == to)
        return FIRN_OK;
    firn_vdb_motion motion;
    FIRN_TRY(firn_vdb_shape_follow(from, to, seconds, (double)s->input.max_speed, &motion, error));
    if (motion.jumped)
        say(s, cook, FIRN_NOTE_JUMP,
            "the surface jumps or changes entirely within a frame; that is not taken for a motion");
    return FIRN_OK;
}

static firn_result mesh_interval(firn_moving_surface *s, const firn_cook *cook,
                                 firn_surface_key keys[2], firn_error *error)
{
    firn_shape_ahead *ahead = s->ahead;
    s->ahead = NULL;
    if (s->ahead_frame != cook->frame) {
        firn_shape_ahead_cancel(ahead);
        ahead = NULL;
    }
    bool follows = s->moving[1] != NULL && s->moving_frame == cook->frame - 1;
    firn_vdb_shape_destroy(s->moving[0]);
    if (!follows)
        firn_vdb_shape_destroy(s->moving[1]);
    s->moving[0] = follows ? s->moving[1] : NULL;
    s->moving[1] = NULL;
    // The reader is the thread's until it ends.
    firn_result result = take_mesh(s, cook, ahead, error);
    // Nothing moves before the start, and numbered files begin there.
    bool starts = cook->frame <= cook->start_frame;
    if (result == FIRN_OK && s->moving[0] == NULL)
        result = make_mesh(s, cook, starts ? cook->frame : cook->frame - 1, &s->moving[0], error);
    FIRN_TRY(result);
    s->moving_frame = cook->frame;
    if (!starts)
        FIRN_TRY(follow(s, cook, s->moving[0], s->moving[1], 1.0 / cook->fps, error));
    for (int i = 0; i < 2; i++)
        keys[i] = (firn_surface_key){cook->frame - 1 + i, firn_vdb_shape_level_set(s->moving[i]),
                                     firn_vdb_shape_velocity(s->moving[i])};
    look_ahead(s, cook);
    return FIRN_OK;
}

// --- Level sets that deform ----------------------------------------------------------------------

static firn_result check_speed(const firn_moving_surface *s, int frame, const firn_velocity_grid *v,
                               float factor, firn_error *error)
{
    float fastest = 0.0f, unit = firn_axes_transform(&s->input.axes).scale * factor;
    for (size_t i = 0; v != NULL && i < v->leaf_count * FIRN_LEAF_VOXELS; i++)
        fastest = fmaxf(fastest, firn_dot(v->values[i], v->values[i]));
    fastest = sqrtf(fastest) * unit;
    if (fastest <= s->input.max_speed)
        return FIRN_OK;
    char path[FIRN_PATH_SIZE];
    if (firn_path_of_frame(s->input.file, frame + s->input.sequence.offset, path, sizeof path,
                           error) != FIRN_OK)
        return error != NULL ? error->code : FIRN_ERR_ARGUMENT;
    return firn_fail(error, FIRN_ERR_FORMAT,
                     "'%.300s' has velocities of %.3g m/s, faster than max_speed, %g m/s: correct "
                     "them or the unit, or set velocity_from = motion",
                     path, (double)fastest, (double)s->input.max_speed);
}

// What stored velocities are multiplied by: they may be distances per frame.
static firn_result judge(firn_moving_surface *s, const firn_cook *cook, firn_vdb_shape *from,
                         firn_vdb_shape *to, double seconds, float *factor, firn_error *error)
{
    *factor = 1.0f;
    if (from == NULL || to == NULL || s->input.velocity_from != FIRN_VELOCITY_AUTO)
        return FIRN_OK;
    double fps = cook->fps * s->clip.ratio;
    firn_vdb_verdict verdict;
    FIRN_TRY(firn_vdb_shape_judge(from, to, seconds, fps, &verdict, error));
    if (verdict == FIRN_VDB_MOTION_PER_FRAME) {
        *factor = (float)fps;
        say(s, cook, FIRN_NOTE_PER_FRAME,
            "the stored velocities are distances per frame; they are taken as such");
    } else if (verdict == FIRN_VDB_MOTION_DISAGREES) {
        say(s, cook, FIRN_NOTE_DISAGREES,
            "the stored velocities do not fit the motion of the surface; velocity_from = motion "
            "takes them from the motion");
    }
    return FIRN_OK;
}

// The part of a sequence that an interval of the shot shows.
typedef struct stretch {
    firn_vdb_key files[2];
    double ends[2]; // frames of the shot
    double rate;    // seconds of the file per second of the shot
    bool moves;
} stretch;

// A file that a frame goes without is named, also where that is allowed.
static void say_of_gaps(firn_moving_surface *s, const firn_cook *cook)
{
    size_t count = 0;
    const firn_vdb_gap *gaps = firn_vdb_sequence_gaps(s->sequence, &count);
    if (count <= s->gaps_told)
        return;
    s->gaps_told = count;
    for (size_t i = 0; i < count && i < 5; i++)
        firn_cook_log(cook, FIRN_LEVEL_WARNING,
                      "%.600s; frame %d of '%.200s' goes without it, as sequence_missing says",
                      gaps[i].message, gaps[i].frame, s->input.file);
    if (count > 5)
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%zu files of '%.200s' cannot be used", count,
                      s->input.file);
}

static firn_result find_stretch(const firn_moving_surface *s, const firn_cook *cook, stretch *part,
                                firn_error *error)
{
    double from = firn_clip_frame(&s->clip, cook->frame - 1);
    double to = firn_clip_frame(&s->clip, cook->frame);
    bool forward = to >= from;
    FIRN_TRY(firn_vdb_sequence_interval(s->sequence, (int)(forward ? floor(from) : ceil(from)),
                                        (int)(forward ? ceil(to) : floor(to)), part->files, error));
    double frames = to - from;
    part->rate = frames / s->clip.ratio;
    part->moves = frames != 0.0 && part->files[0].frame != part->files[1].frame;
    for (int i = 0; i < 2; i++)
        part->ends[i] = part->moves ? cook->frame - 1 + (part->files[i].frame - from) / frames
                                    : cook->frame - 1 + i;
    return FIRN_OK;
}

static firn_result sequence_interval(firn_moving_surface *s, const firn_cook *cook,
                                     firn_surface_key keys[2], float factors[2], firn_error *error)
{
    stretch part;
    FIRN_TRY(find_stretch(s, cook, &part, error));
    say_of_gaps(s, cook);
    firn_vdb_shape *from = part.files[0].shape, *to = part.files[1].shape;
    double seconds = (part.ends[1] - part.ends[0]) / cook->fps;
    float stored = 1.0f;
    if (part.moves && cook->frame > cook->start_frame) {
        // Velocities of the file are those of the file's own time.
        bool forward = part.rate > 0.0;
        FIRN_TRY(judge(s, cook, forward ? from : to, forward ? to : from, seconds * fabs(part.rate),
                       &stored, error));
        FIRN_TRY(follow(s, cook, from, to, seconds, error));
        stored *= (float)part.rate;
    }
    bool rests = s->input.velocity_from == FIRN_VELOCITY_REST || !part.moves;
    for (int i = 0; i < 2; i++) {
        firn_vdb_shape *shape = rests ? NULL : part.files[i].shape;
        bool is_stored = shape != NULL && firn_vdb_shape_has_stored_velocity(shape);
        factors[i] = is_stored ? stored : 1.0f;
        keys[i] = (firn_surface_key){part.ends[i], part.files[i].level_set,
                                     shape != NULL ? firn_vdb_shape_velocity(shape) : NULL};
        if (is_stored)
            FIRN_TRY(
                check_speed(s, (int)part.files[i].frame, keys[i].velocity, fabsf(stored), error));
    }
    return FIRN_OK;
}

firn_result firn_moving_surface_interval(firn_moving_surface *s, const firn_cook *cook,
                                         firn_transform poses[2][3], bool poses_move,
                                         firn_surface_key keys[2], firn_error *error)
{
    float factors[2] = {1.0f, 1.0f};
    firn_transform axes = firn_transform_identity();
    if (s->is_level_set) {
        FIRN_TRY(sequence_interval(s, cook, keys, factors, error));
        axes = firn_axes_transform(&s->input.axes);
    } else {
        FIRN_TRY(mesh_interval(s, cook, keys, error));
    }
    bool carried = poses_move && cook->frame > cook->start_frame;
    for (int i = 0; i < 2; i++) {
        firn_placing placing = {.now = firn_transform_after(poses[i][1], axes),
                                .before = firn_transform_after(poses[i][0], axes),
                                .after = firn_transform_after(poses[i][2], axes),
                                .span = carried ? 1.0 / cook->fps : 0.0,
                                .velocity_factor = factors[i]};
        FIRN_TRY(firn_surface_place(&s->placed[i], keys[i].level_set, keys[i].velocity, &placing,
                                    error));
        keys[i].level_set = &s->placed[i].level_set;
        keys[i].velocity = s->placed[i].velocity.leaf_count > 0 ? &s->placed[i].velocity : NULL;
    }
    look_at_size(s, cook, keys[1].level_set);
    return FIRN_OK;
}
