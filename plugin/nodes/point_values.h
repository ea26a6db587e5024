/// Channels of particles, as a node's parameter lists them, for grids and surfaces.
#ifndef FIRN_POINT_VALUES_H
#define FIRN_POINT_VALUES_H

#include "channel_columns.h"

#include "firn/field.h"
#include "firn/points.h"

/// All zero is empty.
typedef struct firn_point_values {
    firn_channel_list list;
    float *memory[FIRN_CHANNEL_LIST];
    firn_field_values values[FIRN_CHANNEL_LIST]; // list.count of them
} firn_point_values;

/// The channels that words name and that can become volumes; but for those that have a grid of
/// their own anyway.
firn_result firn_point_values_list(const char *words, firn_channel_list *list, firn_error *error);

/// Reads them. Free it also after a failure.
firn_result firn_point_values_read(firn_point_values *to, const char *words,
                                   const firn_points *points, firn_error *error);
void firn_point_values_free(firn_point_values *values);

#endif
