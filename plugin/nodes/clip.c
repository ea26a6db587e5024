#define _POSIX_C_SOURCE 200809L
#include "clip.h"

#include "firn/file.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
#define ROW(field) FIRN_PARAM(firn_clip_def, field)
static const firn_param clip_params[] = {
    {ROW(offset), FIRN_DOUBLE, {0}, -1e7, 1e7, "frames",
     "Added to the frame of the shot to get that of the file"},
    {ROW(speed), FIRN_DOUBLE, {1}, -100, 100, "",
     "How fast the file plays, from the first frame of the shot on; 0 holds its first moment, "
     "below 0 it goes backward"},
    {ROW(fps), FIRN_DOUBLE, {0}, 0, 1000, "1/s",
     "Frames per second of numbered files; 0: those of the shot. Archives know their times",
     .label = "File fps"},
    {ROW(outside), FIRN_CHOICE, {FIRN_OUTSIDE_AUTO}, 0, 3, "",
     "Before the first and after the last frame of the file: hold it, begin again, or go back and "
     "forth. auto holds an archive and misses a numbered file",
     "auto|hold|loop|bounce"},
};
#undef ROW
// clang-format on

firn_param_table firn_clip_params(void)
{
    firn_param_table table = {clip_params, FIRN_COUNT(clip_params)};
    return table;
}

firn_clip firn_clip_make(const firn_clip_def *def, bool numbered, int start_frame, double fps)
{
    firn_clip clip = {.def = *def, .start_frame = start_frame, .ratio = 1.0};
    if (numbered && def->fps > 0.0)
        clip.ratio = def->fps / fps;
    return clip;
}

static double unfolded(const firn_clip *clip, double frame)
{
    double rate = clip->def.speed * clip->ratio;
    return clip->start_frame + rate * (frame - clip->start_frame) + clip->def.offset;
}

double firn_clip_frame(const firn_clip *clip, double frame)
{
    double at = unfolded(clip, frame);
    double length = clip->last - clip->first;
    if (!clip->ranged || clip->def.outside == FIRN_OUTSIDE_AUTO)
        return at;
    if (clip->def.outside == FIRN_OUTSIDE_HOLD || length <= 0.0)
        return fmin(fmax(at, clip->first), clip->last);
    if (clip->def.outside == FIRN_OUTSIDE_LOOP) {
        // The first frame follows the last.
        double turn = length + 1.0, in = fmod(at - clip->first, turn);
        in = in < 0.0 ? in + turn : in;
        return clip->first + fmin(in, length);
    }
    double in = fmod(fabs(at - clip->first), 2.0 * length);
    return clip->first + (in <= length ? in : 2.0 * length - in);
}

double firn_clip_rate(const firn_clip *clip, double frame)
{
    double at = unfolded(clip, frame), length = clip->last - clip->first;
    if (!clip->ranged || clip->def.outside == FIRN_OUTSIDE_AUTO)
        return clip->def.speed;
    if (clip->def.outside == FIRN_OUTSIDE_HOLD)
        return at < clip->first || at > clip->last ? 0.0 : clip->def.speed;
    if (clip->def.outside == FIRN_OUTSIDE_LOOP || length <= 0.0)
        return clip->def.speed;
    double in = fmod(fabs(at - clip->first), 2.0 * length);
    bool back = (in > length) != (at < clip->first);
    return back ? -clip->def.speed : clip->def.speed;
}

// The frame whose file has a number: arithmetic in the pattern takes one to the other.
static bool frame_of(const char *pattern, long value, int *frame)
{
    int zero = 0, one = 0;
    if (!firn_path_number(pattern, 0, &zero) || !firn_path_number(pattern, 1000, &one) ||
        one == zero)
        return false;
    double at = ((double)value - zero) * 1000.0 / ((double)one - zero);
    *frame = (int)floor(at + 0.5);
    return fabs(at) < 1e9;
}

// The frame for which the pattern gives this name.
static bool number_of(const char *pattern, const char *path, int *number)
{
    char made[FIRN_PATH_SIZE];
    for (const char *at = path; *at != '\0'; at++) {
        bool digit = *at >= '0' && *at <= '9';
        bool follows = at > path && at[-1] >= '0' && at[-1] <= '9';
        if (!digit || follows)
            continue;
        const char *from = at > path && at[-1] == '-' ? at - 1 : at;
        for (int sign = 0; sign < 2; sign++) {
            long value = strtol(sign == 0 ? at : from, NULL, 10);
            int frame = 0;
            if (value > INT_MAX || value < INT_MIN || !frame_of(pattern, value, &frame))
                continue;
            if (firn_path_of_frame(pattern, frame, made, sizeof made, NULL) == FIRN_OK &&
                strcmp(made, path) == 0) {
                *number = frame;
                return true;
            }
        }
    }
    return false;
}

bool firn_clip_find_range(const char *pattern, int *first, int *last)
{
    char folder[FIRN_PATH_SIZE], path[FIRN_PATH_SIZE];
    const char *slash = strrchr(pattern, '/');
    size_t length = slash != NULL ? (size_t)(slash - pattern) + 1 : 0;
    if (length >= sizeof folder || !firn_path_has_frame(pattern))
        return false;
    memcpy(folder, pattern, length);
    folder[length] = '\0';
    DIR *listing = opendir(length > 0 ? folder : ".");
    if (listing == NULL)
        return false;
    bool found = false;
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        int number = 0;
        if ((size_t)snprintf(path, sizeof path, "%s%s", folder, entry->d_name) >= sizeof path ||
            !number_of(pattern, path, &number))
            continue;
        *first = found && *first < number ? *first : number;
        *last = found && *last > number ? *last : number;
        found = true;
    }
    closedir(listing);
    return found;
}

static bool plays_plainly(const firn_clip_def *clip)
{
    return clip->speed == 1.0 && clip->fps == 0.0 && clip->outside == FIRN_OUTSIDE_AUTO &&
           clip->offset == floor(clip->offset);
}

bool firn_clip_file(const firn_clip_def *def, const char *pattern, int extra, int frame, char *path,
                    size_t size)
{
    int first = frame, last = frame;
    if (pattern[0] == '\0')
        return false;
    if (plays_plainly(def))
        first = frame + (int)def->offset + extra;
    else
        firn_clip_find_range(pattern, &first, &last);
    return firn_path_of_frame(pattern, first, path, size, NULL) == FIRN_OK;
}
