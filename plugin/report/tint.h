/// Particles of a picture colored by what they carry: blue where it is least, red where it is most;
/// of whole numbers, such as materials, a color for each.
#ifndef FIRN_TINT_H
#define FIRN_TINT_H

#include "firn/picture.h"
#include "firn/points.h"

typedef struct firn_tint firn_tint;

/// what: the name of a column, "temperature", or with its ends, "temperature=263,283". The first
/// cloud of the scene are the points. Both must outlive the tint.
firn_result firn_tint_make(const firn_picture_scene *scene, const firn_points *points,
                           const char *what, firn_tint **tint, firn_error *error);
const firn_picture_scene *firn_tint_scene(const firn_tint *tint);
void firn_tint_free(firn_tint *tint); // accepts NULL

#endif
