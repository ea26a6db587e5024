/// Which moment of a file a frame shows: offset, speed, and what happens outside of its range.
#ifndef FIRN_CLIP_H
#define FIRN_CLIP_H

#include "firn/params.h"

typedef enum firn_outside {
    FIRN_OUTSIDE_AUTO, // an archive holds its ends; numbered files must be there
    FIRN_OUTSIDE_HOLD,
    FIRN_OUTSIDE_LOOP,
    FIRN_OUTSIDE_BOUNCE,
} firn_outside;

typedef struct firn_clip_def {
    double offset; // frames, added to the frame of the shot
    double speed;  // of the file's time, counted from the first frame of the shot
    double fps;    // frames per second of numbered files; 0: those of the shot
    int outside;   // firn_outside
} firn_clip_def;

firn_param_table firn_clip_params(void);

/// A clip in a shot and the frames that its file has.
typedef struct firn_clip {
    firn_clip_def def;
    int start_frame;
    double ratio;       // frames of the file for each frame of the shot at speed 1
    bool ranged;        // first and last are known
    double first, last; // frames of the file
} firn_clip;

/// Of an archive, which counts in frames of the shot, or of numbered files, which have their own.
firn_clip firn_clip_make(const firn_clip_def *def, bool numbered, int start_frame, double fps);

/// The frame of the file that a frame of the shot shows.
double firn_clip_frame(const firn_clip *clip, double frame);

/// How fast the time of the file goes there: speed, negative while it bounces back, 0 while it
/// holds.
double firn_clip_rate(const firn_clip *clip, double frame);

/// The file that a frame of the shot shows, for whoever does not know the shot: when more than a
/// whole offset is set, the first one stands for all. extra is added to the number.
bool firn_clip_file(const firn_clip_def *def, const char *pattern, int extra, int frame, char *path,
                    size_t size);

/// The numbers of the first and last file that a pattern matches; false: there is none.
bool firn_clip_find_range(const char *pattern, int *first, int *last);

#endif
