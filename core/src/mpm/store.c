#include "store.h"

#include "sim_state.h"

#include <string.h>

int firn_store_column_of(const firn_channel_set *set, int column)
{
    bool affine = set->column[FIRN_AFFINE] != FIRN_COLUMN_NONE;
    if (column < FIRN_F)
        return column;
    if (column < FIRN_JP)
        return -1;
    if (column < FIRN_C || !affine)
        return column - 9;
    return column < FIRN_KERNEL_COLUMNS ? -1 : column - 18;
}

int firn_store_columns(const firn_channel_set *set)
{
    return firn_store_column_of(set, set->column_count - 1) < 0
               ? FIRN_STORE_ADDED
               : firn_store_column_of(set, set->column_count - 1) + 1;
}

firn_result firn_store_reserve(firn_sim *sim, size_t count, firn_error *error)
{
    firn_store *s = &sim->store;
    firn_budget *budget = &sim->budget;
    if (count > FIRN_PARTICLE_LIMIT)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "%zu grains in the air are more than the %d that one simulation can hold",
                         count, FIRN_PARTICLE_LIMIT);
    int columns = firn_store_columns(&sim->particles.channels);
    for (int c = 0; c < columns; c++)
        FIRN_TRY(firn_array_reserve(budget, &s->column[c], count, sizeof(float), error));
    FIRN_TRY(firn_array_reserve(budget, &s->key, count, sizeof(uint64_t), error));
    FIRN_TRY(firn_array_reserve(budget, &s->material, count, sizeof(uint8_t), error));
    FIRN_TRY(firn_array_reserve(budget, &s->seat, count, sizeof(uint16_t), error));
    FIRN_TRY(firn_array_reserve(budget, &s->clearance, count, sizeof(float), error));
    return firn_array_reserve(budget, &s->marks, count, sizeof(uint8_t), error);
}

// Moves what stays to the front; size of an element is 1, 2, 4 or 8.
static void compact(void *data, size_t size, const uint8_t *marks, size_t count)
{
    char *bytes = data;
    size_t kept = 0;
    while (kept < count && marks[kept] == FIRN_GRAIN_STAYS)
        kept++;
    for (size_t i = kept; i < count; i++) {
        if (marks[i] != FIRN_GRAIN_STAYS)
            continue;
        if (size == sizeof(float))
            memcpy(bytes + kept * sizeof(float), bytes + i * sizeof(float), sizeof(float));
        else
            memcpy(bytes + kept * size, bytes + i * size, size);
        kept++;
    }
}

void firn_store_compact(firn_sim *sim)
{
    firn_store *s = &sim->store;
    const int columns = firn_store_columns(&sim->particles.channels);
    const uint8_t *marks = s->marks.data;
    size_t kept = 0;
#pragma omp parallel for schedule(dynamic) num_threads(sim->thread_count)
    for (int c = 0; c < columns + 4; c++) {
        if (c < columns)
            compact(s->column[c].data, sizeof(float), marks, s->count);
        else if (c == columns)
            compact(s->key.data, sizeof(uint64_t), marks, s->count);
        else if (c == columns + 1)
            compact(s->material.data, sizeof(uint8_t), marks, s->count);
        else if (c == columns + 2)
            compact(s->seat.data, sizeof(uint16_t), marks, s->count);
        else
            compact(s->clearance.data, sizeof(float), marks, s->count);
    }
    for (size_t i = 0; i < s->count; i++)
        kept += marks[i] == FIRN_GRAIN_STAYS;
    s->count = kept;
}

void firn_store_forget(firn_store *s)
{
    if (s->count > 0)
        memset(s->clearance.data, 0, s->count * sizeof(float));
    s->crowded = true;
}

void firn_store_release(firn_store *s, int slot)
{
    uint16_t *seat = s->seat.data;
    for (size_t i = 0; i < s->count; i++)
        if (seat[i] == slot + 1)
            seat[i] = 0;
    firn_store_forget(s);
}

void firn_store_free(firn_store *s, firn_budget *budget)
{
    for (int c = 0; c < FIRN_CHANNEL_MAX; c++)
        firn_array_free(budget, &s->column[c]);
    firn_array *arrays[] = {&s->key,   &s->material, &s->seat,  &s->clearance,
                            &s->marks, &s->parts,    &s->lists, &s->taken,
                            &s->keys,  &s->cells,    &s->lanes, &s->leaving};
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        firn_array_free(budget, arrays[i]);
}
