/// What a picture shows: the particles of a cache or of one file at a frame, and the colliders.
///
///     firn_view *view = NULL;
///     FIRN_TRY(firn_view_open("cache/snow/v1", &view, error));
///     FIRN_TRY(firn_view_load(view, 12, error));
///     uint8_t *rgb = NULL;
///     FIRN_TRY(firn_view_draw(view, &def, &rgb, error)); // released with firn_free
///     firn_view_close(view);
#ifndef FIRN_VIEW_H
#define FIRN_VIEW_H

#include "firn/picture.h"
#include "firn/points.h"

typedef struct firn_view firn_view;

/// Opens the folder of a cache, or a particle file. On failure *view is still to be closed.
firn_result firn_view_open(const char *path, firn_view **view, firn_error *error);
void firn_view_close(firn_view *view); // accepts NULL

/// The first and the last frame of a cache; 1 for a file.
int firn_view_first(const firn_view *view);
int firn_view_last(const firn_view *view);

/// Reads a frame; what an earlier call read is given up.
firn_result firn_view_load(firn_view *view, int frame, firn_error *error);
const firn_picture_scene *firn_view_scene(const firn_view *view);

/// The particles of that frame with all their columns; NULL before the first.
const firn_points *firn_view_points(const firn_view *view);

/// Turns the camera to another side when something stands before the snow on the usual one.
firn_result firn_view_choose_side(const firn_view *view, firn_picture_def *def, firn_error *error);

firn_result firn_view_draw(const firn_view *view, const firn_picture_def *def, uint8_t **rgb,
                           firn_error *error);

#endif
