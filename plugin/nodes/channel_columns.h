/// Channels of the core as columns of points, and lists of channels in parameters.
#ifndef FIRN_CHANNEL_COLUMNS_H
#define FIRN_CHANNEL_COLUMNS_H

#include "firn/channel.h"
#include "firn/points.h"

/// Channels that a parameter lists, at most.
enum { FIRN_CHANNEL_LIST = 64 };

typedef struct firn_channel_list {
    size_t count;
    firn_channel row[FIRN_CHANNEL_LIST];
} firn_channel_list;

/// The column that a channel with these values is; it has the channel's name.
firn_attribute firn_channel_column(const firn_channel *channel, const void *values);

/// Reads a list of words with spaces between, see firn_channel_parse: those of the table first, in
/// its order, each once. What is not of that use is refused; param is the name of the parameter.
firn_result firn_channel_list_read(const char *words, unsigned use, const char *param,
                                   firn_channel_list *list, firn_error *error);

/// The channel of that name in a list, or NULL.
const firn_channel *firn_channel_list_find(const firn_channel_list *list, const char *name);

#endif
