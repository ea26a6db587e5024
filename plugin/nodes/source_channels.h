/// What a source gives to its particles beside what they need: by a parameter, or from the points
/// of a cache.
#ifndef FIRN_SOURCE_CHANNELS_H
#define FIRN_SOURCE_CHANNELS_H

#include "channel_columns.h"

#include "firn/source.h"

/// All zero is none. The values name channels of `asked` and of the table.
typedef struct firn_source_channels {
    firn_channel_list asked; // that the particles must have
    size_t value_count;
    firn_source_value values[FIRN_CHANNEL_LIST];
    float *owned[FIRN_CHANNEL_LIST]; // lists of points among the values
} firn_source_channels;

/// Reads a text such as "temperature=268~2 Cd=0.9,0.95,1 dirt:1".
firn_result firn_source_channels_read(const char *text, firn_source_channels *channels,
                                      firn_error *error);

/// Adds the columns of points that sources can give and the text did not.
firn_result firn_source_channels_take(firn_source_channels *channels, const firn_points *points,
                                      firn_error *error);
/// The values of the points that were taken for a channel; NULL: there are none.
float *firn_source_channels_points(const firn_source_channels *channels, const char *name);
/// Leaves the values of `count` points, by their rising numbers.
void firn_source_channels_select(firn_source_channels *channels, const size_t *points,
                                 size_t count);
void firn_source_channels_free(firn_source_channels *channels);

#endif
