#include "channel_columns.h"

#include "firn/params.h"

#include <string.h>

firn_attribute firn_channel_column(const firn_channel *channel, const void *values)
{
    static const firn_storage storages[] = {[FIRN_CHANNEL_FLOAT] = FIRN_STORAGE_FLOAT32,
                                            [FIRN_CHANNEL_UINT32] = FIRN_STORAGE_UINT32,
                                            [FIRN_CHANNEL_UINT8] = FIRN_STORAGE_UINT8};
    static const firn_type_info infos[] = {[FIRN_CHANNEL_PLAIN] = FIRN_TYPE_NONE,
                                           [FIRN_CHANNEL_POINT] = FIRN_TYPE_POINT,
                                           [FIRN_CHANNEL_VECTOR] = FIRN_TYPE_VECTOR,
                                           [FIRN_CHANNEL_COLOR] = FIRN_TYPE_COLOR,
                                           [FIRN_CHANNEL_MATRIX] = FIRN_TYPE_MATRIX};
    return (firn_attribute){.name = channel->name,
                            .storage = storages[channel->type],
                            .type_info = infos[channel->kind],
                            .tuple_size = channel->components,
                            .data = values};
}

const firn_channel *firn_channel_list_find(const firn_channel_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->row[i].name, name) == 0)
            return &list->row[i];
    return NULL;
}

// Place in the table; channels that it does not have stand behind.
static int rank_of(const firn_channel *channel)
{
    int rank = 0;
    while (rank < firn_channel_count() && strcmp(firn_channel_at(rank)->name, channel->name) != 0)
        rank++;
    return rank;
}

static firn_result add_row(const firn_channel *channel, const char *param, firn_channel_list *list,
                           firn_error *error)
{
    const firn_channel *there = firn_channel_list_find(list, channel->name);
    if (there != NULL && there->components == channel->components)
        return FIRN_OK;
    if (there != NULL || list->count == FIRN_CHANNEL_LIST)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         there != NULL ? "%s has %s twice, with other components"
                                       : "%s has too many channels, %s for one",
                         param, channel->name);
    size_t at = list->count++;
    for (; at > 0 && rank_of(&list->row[at - 1]) > rank_of(channel); at--)
        list->row[at] = list->row[at - 1];
    list->row[at] = *channel;
    return FIRN_OK;
}

firn_result firn_channel_list_read(const char *words, unsigned use, const char *param,
                                   firn_channel_list *list, firn_error *error)
{
    char word[FIRN_TEXT_SIZE];
    list->count = 0;
    for (const char *at = words; firn_channel_next(&at, word, sizeof word);) {
        firn_channel channel;
        firn_error why = {0};
        if (firn_channel_parse(word, &channel, &why) != FIRN_OK)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "%s: %s", param, why.message);
        if ((channel.use & use) != use)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "%s has '%s', a channel that cannot be used there", param,
                             channel.name);
        FIRN_TRY(add_row(&channel, param, list, error));
    }
    return FIRN_OK;
}
