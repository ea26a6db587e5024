/// Matrices of chains of Xform objects.
#ifndef FIRN_ABC_XFORM_H
#define FIRN_ABC_XFORM_H

#include "archive.h"

typedef struct firn_abc_moving_matrix {
    firn_abc_matrix matrix;
    firn_abc_matrix rate; // change per second
} firn_abc_moving_matrix;

/// An instance that stands for a source, perhaps inside of another one.
typedef struct firn_abc_use {
    int source, instance; // objects
    int outer;            // number of the use that brings the instance, -1: it stands by itself
} firn_abc_use;

/// The matrix of an object at or below the source of uses[use].
firn_result firn_abc_instance_matrix(const firn_abc *archive, int object, const firn_abc_use *uses,
                                     int use, double time, firn_abc_moving_matrix *moving,
                                     firn_error *error);

#endif
