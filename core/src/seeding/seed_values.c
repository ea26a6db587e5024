/// Channels that a source gives by value: the same for all its particles, with lumps, or point by
/// point.
#include "seeding.h"

#include "base/noise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool firn_seeds_have(const firn_channel_set *channels, int row)
{
    return channels->column[row] >= 0 &&
           (firn_channel_set_row(channels, row)->use & FIRN_CHANNEL_SEEDED) != 0;
}

static firn_result check_number(const firn_channel *channel, float value, const char *where,
                                size_t point, firn_error *error)
{
    bool positive = (channel->use & FIRN_CHANNEL_POSITIVE) != 0;
    if (isfinite(value) && (!positive || value > 0.0f))
        return FIRN_OK;
    char number[32] = "";
    if (point != SIZE_MAX)
        snprintf(number, sizeof number, "point %zu of ", point);
    return firn_fail(error, FIRN_ERR_ARGUMENT, "%s%s has a %s of %g%s%s; it must be %s", number,
                     where, channel->name, (double)value, channel->unit != NULL ? " " : "",
                     channel->unit != NULL ? channel->unit : "", positive ? "above 0" : "finite");
}

static firn_result check_value(const firn_channel *channel, const firn_source_def *def,
                               const firn_source_value *value, firn_error *error)
{
    bool lists = def->region == FIRN_REGION_POINTS && value->points != NULL;
    if (value->points != NULL && !lists)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the source has a list of %s for points, but is no list of points",
                         channel->name);
    if (channel->components > 3 && !lists)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the channel %s has %d components, which a source can give only for each "
                         "of its points",
                         channel->name, channel->components);
    if (!(isfinite(value->noise) && value->noise >= 0.0f))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the noise of %s is %g; it cannot be below 0",
                         channel->name, (double)value->noise);
    for (int k = 0; k < channel->components && !lists; k++)
        FIRN_TRY(check_number(channel, value->value[k], "the source", SIZE_MAX, error));
    size_t count = lists ? def->point_count * (size_t)channel->components : 0;
    for (size_t i = 0; i < count; i++)
        FIRN_TRY(check_number(channel, value->points[i], "the source",
                              i / (size_t)channel->components, error));
    return FIRN_OK;
}

static firn_result check_values(const firn_source_def *def, const firn_channel_set *channels,
                                firn_error *error)
{
    for (size_t i = 0; i < def->value_count; i++) {
        const firn_source_value *value = &def->values[i];
        int row = firn_channel_set_find(channels, value->channel);
        if (row < 0)
            return firn_channel_set_refuse(channels, value->channel, error);
        if (!firn_seeds_have(channels, row))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             channels->column[row] == FIRN_COLUMN_NONE &&
                                     firn_channel_at(row) != NULL && firn_channel_at(row)->need == 0
                                 ? "the source gives %s, which the particles do not have; add the "
                                   "channel first"
                                 : "the source gives %s, which sources cannot give",
                             value->channel);
        for (size_t k = 0; k < i; k++)
            if (strcmp(def->values[k].channel, value->channel) == 0)
                return firn_fail(error, FIRN_ERR_ARGUMENT, "the source gives %s twice",
                                 value->channel);
        FIRN_TRY(check_value(firn_channel_set_row(channels, row), def, value, error));
    }
    return FIRN_OK;
}

static const firn_source_value *find_value(const firn_source_def *def, const char *name)
{
    for (size_t i = 0; i < def->value_count; i++)
        if (strcmp(def->values[i].channel, name) == 0)
            return &def->values[i];
    return NULL;
}

static firn_result open_value(firn_seed_value *to, const firn_channel *channel,
                              const firn_source_def *def, firn_error *error)
{
    const firn_source_value *from = find_value(def, channel->name);
    to->components = channel->components;
    to->adds = (channel->use & FIRN_CHANNEL_MOTION) != 0;
    to->stream = firn_hash64(channel->name, strlen(channel->name), 0);
    for (int k = 0; k < channel->components; k++)
        to->value[k] = from != NULL && k < 3 ? from->value[k] : firn_channel_initial(channel, k);
    if (from == NULL)
        return FIRN_OK;
    to->noise = from->noise;
    if (from->points == NULL)
        return FIRN_OK;
    size_t bytes = def->point_count * (size_t)channel->components * sizeof(float);
    to->points = firn_alloc(bytes);
    if (to->points == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "out of memory: cannot copy %.1f MB of source points",
                         1e-6 * (double)bytes);
    memcpy(to->points, from->points, bytes);
    return FIRN_OK;
}

firn_result firn_seed_values_open(firn_source *source, const firn_source_def *def,
                                  const firn_channel_set *channels, firn_error *error)
{
    source->def.values = NULL;
    source->def.value_count = 0;
    source->values = NULL;
    source->value_count = 0;
    FIRN_TRY(check_values(def, channels, error));
    source->values = firn_alloc_zero((size_t)channels->row_count * sizeof *source->values);
    if (source->values == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot add a source");
    for (int row = 0; row < channels->row_count; row++) {
        const firn_channel *channel = firn_channel_set_row(channels, row);
        // What every particle needs the source itself makes, unless told otherwise.
        bool given = find_value(def, channel->name) != NULL || channel->need == 0;
        if (!given || !firn_seeds_have(channels, row))
            continue;
        firn_seed_value *value = &source->values[source->value_count++];
        value->column = channels->column[row];
        FIRN_TRY(open_value(value, channel, def, error));
    }
    return FIRN_OK;
}

void firn_seed_values_close(firn_source *source)
{
    for (int i = 0; i < source->value_count; i++)
        firn_free(source->values[i].points);
    firn_free(source->values);
    source->values = NULL;
    source->value_count = 0;
}

void firn_seed_values_put(const firn_source *source, const firn_seeds *seeds, size_t i,
                          size_t point, const double origin[3])
{
    for (int n = 0; n < source->value_count; n++) {
        const firn_seed_value *value = &source->values[n];
        double lump = 0.0;
        if (value->noise > 0.0f) {
            double scaled[3];
            for (int axis = 0; axis < 3; axis++)
                scaled[axis] = origin[axis] / (double)source->def.noise_scale;
            lump = (double)value->noise *
                   firn_noise(scaled, value->stream + (uint64_t)source->def.seed);
        }
        for (int k = 0; k < value->components; k++) {
            float *to = (float *)seeds->column[value->column + k].data + i;
            float given = value->points != NULL
                              ? value->points[point * (size_t)value->components + (size_t)k]
                              : value->value[k];
            given = value->noise > 0.0f ? (float)((double)given + lump) : given;
            *to = value->adds ? *to + given : given;
        }
    }
}
