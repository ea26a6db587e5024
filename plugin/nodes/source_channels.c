#include "source_channels.h"

#include "point_file.h"

#include "firn/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_SIZE = 256 };

// A number at *at, which moves behind it.
static bool take_number(const char **at, float *number)
{
    char *end = NULL;
    *number = strtof(*at, &end);
    bool taken = end != *at && isfinite(*number);
    *at = end;
    return taken;
}

// "268", "268~2" or "0.9,0.95,1" with as many numbers as the channel has components.
static bool take_values(const char *text, int components, firn_source_value *value)
{
    for (int k = 0; k < components; k++) {
        if (k > 0 && *text++ != ',')
            return false;
        if (!take_number(&text, &value->value[k]))
            return false;
    }
    if (*text == '~') {
        text++;
        if (!take_number(&text, &value->noise) || value->noise < 0.0f)
            return false;
    }
    return *text == '\0';
}

static firn_result read_word(char *word, firn_source_channels *channels, firn_error *error)
{
    char *equals = strchr(word, '=');
    if (equals != NULL)
        *equals = '\0';
    firn_channel_list one;
    FIRN_TRY(firn_channel_list_read(word, FIRN_CHANNEL_SEEDED, "channels", &one, error));
    if (one.count != 1 || channels->value_count == FIRN_CHANNEL_LIST ||
        channels->asked.count == FIRN_CHANNEL_LIST)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "channels cannot take '%s'", word);
    // What every particle has nobody needs to ask for.
    const firn_channel *row = &one.row[0];
    const char *name = row->name;
    if (firn_channel_list_find(&channels->asked, name) == NULL && row->need == 0) {
        channels->asked.row[channels->asked.count] = *row;
        name = channels->asked.row[channels->asked.count++].name;
    } else {
        name = row->need != 0 ? firn_channel_find(name)->name
                              : firn_channel_list_find(&channels->asked, name)->name;
    }
    if (equals == NULL)
        return FIRN_OK;
    for (size_t i = 0; i < channels->value_count; i++)
        if (strcmp(channels->values[i].channel, name) == 0)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "channels gives %s twice", name);
    firn_source_value value = {.channel = name};
    if (row->components > 3 || !take_values(equals + 1, row->components, &value))
        return firn_fail(error, FIRN_ERR_ARGUMENT, "channels has '%s=%s'; %s needs %d number%s%s",
                         word, equals + 1, name, row->components,
                         row->components > 1 ? "s with commas between" : "",
                         ", and ~ with another for lumps if wanted");
    channels->values[channels->value_count++] = value;
    return FIRN_OK;
}

firn_result firn_source_channels_read(const char *text, firn_source_channels *channels,
                                      firn_error *error)
{
    // Commas belong to values here.
    static const char space[] = " \t\n";
    for (const char *at = text + strspn(text, space); *at != '\0'; at += strspn(at, space)) {
        char word[WORD_SIZE];
        size_t length = strcspn(at, space);
        if (length >= sizeof word)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "channels has a word of %zu letters",
                             length);
        memcpy(word, at, length);
        word[length] = '\0';
        FIRN_TRY(read_word(word, channels, error));
        at += length;
    }
    return FIRN_OK;
}

static bool has_value(const firn_source_channels *channels, const char *name)
{
    for (size_t i = 0; i < channels->value_count; i++)
        if (strcmp(channels->values[i].channel, name) == 0)
            return true;
    return false;
}

static firn_result take_column(firn_source_channels *channels, const firn_channel *row,
                               const firn_points *points, firn_error *error)
{
    if (has_value(channels, row->name) || channels->value_count == FIRN_CHANNEL_LIST)
        return FIRN_OK;
    float *values = NULL;
    FIRN_TRY(firn_points_floats(points, row->name, row->components, &values, error));
    if (values == NULL)
        return FIRN_OK;
    channels->owned[channels->value_count] = values;
    channels->values[channels->value_count++] =
        (firn_source_value){.channel = row->name, .points = values};
    return FIRN_OK;
}

firn_result firn_source_channels_take(firn_source_channels *channels, const firn_points *points,
                                      firn_error *error)
{
    // Points that have an optional channel of the table ask for it.
    for (int i = 0; i < firn_channel_count(); i++) {
        const firn_channel *row = firn_channel_at(i);
        const firn_attribute *column = firn_points_find(points, row->name);
        bool matches = column != NULL && column->storage != FIRN_STORAGE_STRING &&
                       column->tuple_size == row->components;
        if ((row->use & FIRN_CHANNEL_SEEDED) == 0 || !matches)
            continue;
        bool listed = firn_channel_list_find(&channels->asked, row->name) != NULL;
        if (row->need == 0 && !listed && channels->asked.count < FIRN_CHANNEL_LIST)
            channels->asked.row[channels->asked.count++] = *row;
        FIRN_TRY(take_column(channels, row, points, error));
    }
    for (size_t i = 0; i < channels->asked.count; i++)
        FIRN_TRY(take_column(channels, &channels->asked.row[i], points, error));
    return FIRN_OK;
}

float *firn_source_channels_points(const firn_source_channels *channels, const char *name)
{
    for (size_t i = 0; i < channels->value_count; i++)
        if (strcmp(channels->values[i].channel, name) == 0)
            return channels->owned[i];
    return NULL;
}

void firn_source_channels_select(firn_source_channels *channels, const size_t *points, size_t count)
{
    for (size_t i = 0; i < channels->value_count; i++) {
        const char *name = channels->values[i].channel;
        const firn_channel *row = firn_channel_find(name);
        row = row != NULL ? row : firn_channel_list_find(&channels->asked, name);
        float *values = channels->owned[i];
        size_t width = row != NULL ? (size_t)row->components : 1;
        for (size_t k = 0; k < count && values != NULL; k++)
            memmove(values + width * k, values + width * points[k], width * sizeof *values);
    }
}

void firn_source_channels_free(firn_source_channels *channels)
{
    for (size_t i = 0; i < channels->value_count; i++)
        firn_free(channels->owned[i]);
    memset(channels, 0, sizeof *channels);
}
