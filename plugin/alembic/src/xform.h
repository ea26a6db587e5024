/// Matrices of chains of Xform objects.
#ifndef FIRN_ABC_XFORM_H
#define FIRN_ABC_XFORM_H

#include "archive.h"

typedef struct firn_abc_moving_matrix {
    firn_abc_matrix matrix;
    firn_abc_matrix rate; // change per second
} firn_abc_moving_matrix;

/// The matrix of an object at or below `source`, where `instance` stands for source.
firn_result firn_abc_instance_matrix(const firn_abc *archive, int object, int source, int instance,
                                     double time, firn_abc_moving_matrix *moving,
                                     firn_error *error);

#endif
