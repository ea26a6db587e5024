/// 4x4 matrices for row vectors, p' = p * M.
#ifndef FIRN_ABC_MATRIX_H
#define FIRN_ABC_MATRIX_H

#include "firn/abc.h"

firn_abc_matrix firn_abc_matrix_identity(void);
firn_abc_matrix firn_abc_matrix_mul(const firn_abc_matrix *a, const firn_abc_matrix *b);
/// factor * (a - b)
firn_abc_matrix firn_abc_matrix_difference(const firn_abc_matrix *a, const firn_abc_matrix *b,
                                           double factor);
firn_abc_matrix firn_abc_matrix_scale(const double factor[3]);
firn_abc_matrix firn_abc_matrix_translate(const double offset[3]);
/// A turn about an axis by degrees; an axis of no length gives the identity.
firn_abc_matrix firn_abc_matrix_rotate(const double axis[3], double degrees);

/// Between a and b: rotation, stretch and translation are mixed apart, so that a turning body keeps
/// its shape. Element by element where a matrix has no rotation in it.
firn_abc_matrix firn_abc_matrix_mix(const firn_abc_matrix *a, const firn_abc_matrix *b, double mix);

/// True for the identity that does not change.
bool firn_abc_is_at_rest(const firn_abc_matrix *matrix, const firn_abc_matrix *rate);

/// Determinant of the upper 3x3 part: negative when it mirrors.
double firn_abc_matrix_det(const firn_abc_matrix *a);

#endif
