#include "point_values.h"

firn_result firn_point_values_list(const char *words, firn_channel_list *list, firn_error *error)
{
    FIRN_TRY(firn_channel_list_read(words, FIRN_CHANNEL_VOLUME, "channels", list, error));
    for (size_t i = 0; i < list->count; i++)
        if (list->row[i].grid != NULL)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "channels has %s; the volume %s has a parameter of its own",
                             list->row[i].name, list->row[i].grid);
    return FIRN_OK;
}

firn_result firn_point_values_read(firn_point_values *to, const char *words,
                                   const firn_points *points, firn_error *error)
{
    FIRN_TRY(firn_point_values_list(words, &to->list, error));
    for (size_t i = 0; i < to->list.count; i++) {
        const firn_channel *channel = &to->list.row[i];
        FIRN_TRY(
            firn_points_floats(points, channel->name, channel->components, &to->memory[i], error));
        if (to->memory[i] == NULL)
            return firn_fail(
                error, FIRN_ERR_NOT_FOUND,
                "the particles have no %s of %d components; take it out of channels or "
                "let a source give it",
                channel->name, channel->components);
        to->values[i] = (firn_field_values){channel->name, channel->components,
                                            (channel->use & FIRN_CHANNEL_INVERSE) != 0,
                                            channel->background, to->memory[i]};
    }
    return FIRN_OK;
}

void firn_point_values_free(firn_point_values *values)
{
    for (size_t i = 0; i < values->list.count; i++)
        firn_free(values->memory[i]);
    values->list.count = 0;
}
