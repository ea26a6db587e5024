/// Where new particles wait until the simulation takes them.
#include "seed_emission.h"

firn_result firn_seeds_refuse(double count, firn_error *error)
{
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "the source would make %.3g particles, the most is %u; use larger cells, a "
                     "smaller region or fewer particles per cell",
                     count, FIRN_SEED_LIMIT);
}

firn_result firn_seeds_reserve(firn_seeds *seeds, size_t count, firn_error *error)
{
    if (count > FIRN_SEED_LIMIT)
        return firn_seeds_refuse((double)count, error);
    FIRN_TRY(firn_array_reserve(seeds->budget, &seeds->position, count, sizeof(firn_vec3), error));
    for (int row = 0; row < seeds->channels->row_count; row++) {
        if (!firn_seeds_have(seeds->channels, row))
            continue;
        firn_array *columns = &seeds->column[seeds->channels->column[row]];
        for (int k = 0; k < firn_channel_set_row(seeds->channels, row)->components; k++)
            FIRN_TRY(firn_array_reserve(seeds->budget, &columns[k], count, sizeof(float), error));
    }
    if (seeds->wants != NULL)
        FIRN_TRY(firn_array_reserve(seeds->budget, &seeds->number, count, sizeof(uint32_t), error));
    return firn_array_reserve(seeds->budget, &seeds->bond, count, sizeof(uint8_t), error);
}

static void move_seed(firn_seeds *seeds, size_t from, size_t to)
{
    ((firn_vec3 *)seeds->position.data)[to] = ((const firn_vec3 *)seeds->position.data)[from];
    ((uint8_t *)seeds->bond.data)[to] = ((const uint8_t *)seeds->bond.data)[from];
    for (int c = 0; c < FIRN_CHANNEL_MAX; c++)
        if (seeds->column[c].data != NULL)
            ((float *)seeds->column[c].data)[to] = ((const float *)seeds->column[c].data)[from];
}

size_t firn_seeds_choose(firn_seeds *seeds, size_t first, size_t count)
{
    uint32_t *number = seeds->number.data;
    size_t kept = first;
    if (seeds->wants == NULL)
        return count;
    for (size_t i = first; i < count; i++) {
        if (seeds->look != NULL)
            seeds->look(seeds->user, ((const firn_vec3 *)seeds->position.data)[i]);
        if (number[i] == FIRN_SEED_UNWANTED)
            continue;
        number[kept] = (uint32_t)(seeds->total + (i - first));
        if (kept < i)
            move_seed(seeds, i, kept);
        kept++;
    }
    seeds->total += count - first;
    return kept;
}

static void release(firn_seeds *seeds, void (*body)(firn_budget *, firn_array *))
{
    body(seeds->budget, &seeds->position);
    body(seeds->budget, &seeds->bond);
    body(seeds->budget, &seeds->number);
    for (int c = 0; c < FIRN_CHANNEL_MAX; c++)
        body(seeds->budget, &seeds->column[c]);
    seeds->count = seeds->total = 0;
    seeds->wants = NULL;
    seeds->look = NULL;
}

void firn_seeds_free(firn_seeds *seeds) { release(seeds, firn_array_free); }

void firn_seeds_clear(firn_seeds *seeds) { release(seeds, firn_array_relax); }
