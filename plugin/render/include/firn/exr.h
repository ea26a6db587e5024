/// EXR files: radiance in and out.
#ifndef FIRN_EXR_H
#define FIRN_EXR_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_exr_channel {
    const char *name;
    const float *values; // the first one
    int stride;          // values from one pixel to the next
    bool half;
} firn_exr_channel;

/// A fact about the picture for its header: a text, or a number where text is NULL.
typedef struct firn_exr_fact {
    const char *name, *text;
    float number;
} firn_exr_fact;

/// What goes into a file.
typedef struct firn_exr_picture {
    int width, height;
    const firn_exr_channel *channels;
    int channel_count;
    const firn_exr_fact *facts;
    int fact_count;
} firn_exr_picture;

/// Writes scan lines, ZIP compressed; the file appears whole or not at all.
FIRN_API firn_result firn_exr_write(const char *path, const firn_exr_picture *picture,
                                    firn_error *error);

/// Reads R, G and B of a file with scan lines; *rgb is released with firn_free.
FIRN_API firn_result firn_exr_read(const char *path, int *width, int *height, float **rgb,
                                   firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
