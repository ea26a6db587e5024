/// Geometry parameters by time.
#ifndef FIRN_ABC_PARAM_H
#define FIRN_ABC_PARAM_H

#include "archive.h"

/// A geometry parameter, indexed or not, as it holds at a time.
firn_result firn_abc_param_at(const firn_abc *archive, int property, double time,
                              firn_abc_array *array, firn_error *error);

#endif
