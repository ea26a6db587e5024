#include "state.h"

#include "sim_state.h"

#include <string.h>

/// Bits of firn_state_scalars.flags.
enum { VOLUMES_MISSING = 1, DISTURBED = 2 };

#define ROW(member, field)                                                                         \
#field, offsetof(firn_sim, member), offsetof(firn_state_scalars, field),                       \
        sizeof((firn_sim *)0)->member
static const firn_state_row rows[] = {
    {ROW(particles.count, count), 0},
    {ROW(order.sorted_count, sorted_count), 0},
    {ROW(grid.block_count, block_count), 0},
    {ROW(substep, substep), 0},
    {ROW(time, time), 0},
    {ROW(particles.next_id, next_id), 0},
    {ROW(rest.acting_colliders, acting_colliders), 0},
    {ROW(store.count, grain_count), 0},
    {ROW(store.promise, promise), 0},
    {ROW(bodies.touch_count, touch_count), 0},
    {ROW(volumes_missing, flags), VOLUMES_MISSING},
    {ROW(rest.disturbed, flags), DISTURBED},
};

const firn_state_row *firn_state_rows(int *count)
{
    *count = (int)FIRN_COUNT(rows);
    return rows;
}

firn_state_scalars firn_state_scalars_of(const firn_sim *sim)
{
    firn_state_scalars s;
    memset(&s, 0, sizeof s);
    for (size_t i = 0; i < FIRN_COUNT(rows); i++) {
        const char *at = (const char *)sim + rows[i].at;
        if (rows[i].flag == 0)
            memcpy((char *)&s + rows[i].saved, at, rows[i].size);
        else if (*(const bool *)at)
            s.flags |= rows[i].flag;
    }
    return s;
}

void firn_state_put_scalars(firn_sim *sim, const firn_state_scalars *scalars)
{
    for (size_t i = 0; i < FIRN_COUNT(rows); i++) {
        char *at = (char *)sim + rows[i].at;
        if (rows[i].flag == 0)
            memcpy(at, (const char *)scalars + rows[i].saved, rows[i].size);
        else
            *(bool *)at = (scalars->flags & rows[i].flag) != 0;
    }
}

// Where a block's particles are; the rest of firn_block follows from a sort.
static void pack_block(const firn_sim *sim, size_t i, void *saved)
{
    const firn_block *b = &firn_grid_blocks(&sim->grid)[i];
    *(firn_saved_block *)saved = (firn_saved_block){b->coord, b->begin, b->end, b->rest};
}

static void unpack_block(firn_sim *sim, size_t i, const void *saved)
{
    const firn_saved_block *s = saved;
    firn_grid_blocks(&sim->grid)[i] =
        (firn_block){.coord = s->coord, .begin = s->begin, .end = s->end, .rest = s->rest};
}

// How far a source has come.
static void pack_source(const firn_sim *sim, size_t i, void *saved)
{
    const firn_source *s = &((const firn_source *)sim->emission.sources.data)[i];
    *(firn_saved_source *)saved = (firn_saved_source){
        s->begun, s->emitted, {s->shift[0], s->shift[1], s->shift[2]}, s->started, s->alive};
}

static void unpack_source(firn_sim *sim, size_t i, const void *bytes)
{
    const firn_saved_source *saved = bytes;
    firn_source *source = &((firn_source *)sim->emission.sources.data)[i];
    source->begun = saved->begun;
    source->emitted = saved->emitted;
    memcpy(source->shift, saved->shift, sizeof saved->shift);
    source->started = saved->started != 0;
    if (source->alive && saved->alive == 0) {
        firn_source_close(source);
        source->alive = false;
    }
}

static void pack_body(const firn_sim *sim, size_t i, void *saved)
{
    *(firn_body_motion *)saved = firn_body_slot(&sim->bodies, (int)i)->now;
}

static void unpack_body(firn_sim *sim, size_t i, const void *saved)
{
    firn_body_slot(&sim->bodies, (int)i)->now = *(const firn_body_motion *)saved;
}

static void add(firn_state_list *list, firn_state_array array)
{
    array.offset = list->bytes;
    list->array[list->count++] = array;
    list->bytes += firn_state_bytes(&array);
}

// Grains outside the grid; a simulation without has no such arrays.
static void add_grains(const firn_sim *sim, const firn_state_scalars *scalars,
                       firn_state_list *list)
{
    const firn_store *s = &sim->store;
    size_t count = scalars->grain_count;
    int columns = firn_store_columns(&sim->particles.channels);
    if (count == 0)
        return;
    for (int c = 0; c < columns; c++)
        add(list, (firn_state_array){.name = "grain channel",
                                     .element = sizeof(float),
                                     .count = count,
                                     .live = s->column[c].data});
    add(list, (firn_state_array){.name = "grain block",
                                 .element = sizeof(uint64_t),
                                 .count = count,
                                 .live = s->key.data});
    add(list, (firn_state_array){.name = "grain material",
                                 .element = sizeof(uint8_t),
                                 .count = count,
                                 .live = s->material.data});
    add(list, (firn_state_array){.name = "grain seat",
                                 .element = sizeof(uint16_t),
                                 .count = count,
                                 .live = s->seat.data});
}

firn_state_list firn_state_arrays(const firn_sim *sim, const firn_state_scalars *scalars)
{
    const firn_particles *p = &sim->particles;
    firn_state_list list = {.count = 0, .bytes = 0};
    for (int c = 0; c < p->channel_count; c++)
        add(&list, (firn_state_array){.name = "channel",
                                      .element = sizeof(float),
                                      .count = scalars->count,
                                      .live = firn_channel_of(p, c)});
    add(&list, (firn_state_array){.name = "material",
                                  .element = sizeof(uint8_t),
                                  .count = scalars->count,
                                  .live = p->material.data});
    add(&list, (firn_state_array){.name = "new_keys",
                                  .element = sizeof(uint64_t),
                                  .count = scalars->count - scalars->sorted_count,
                                  .live = sim->emission.new_keys.data});
    add(&list, (firn_state_array){.name = "blocks",
                                  .element = sizeof(firn_saved_block),
                                  .count = scalars->block_count,
                                  .pack = pack_block,
                                  .unpack = unpack_block});
    add(&list, (firn_state_array){.name = "bodies",
                                  .element = sizeof(firn_body_motion),
                                  .count = (size_t)sim->bodies.slot_count,
                                  .pack = pack_body,
                                  .unpack = unpack_body});
    add(&list, (firn_state_array){.name = "touches",
                                  .element = sizeof(firn_body_touch),
                                  .count = scalars->touch_count,
                                  .live = sim->bodies.touches.data});
    add_grains(sim, scalars, &list);
    add(&list, (firn_state_array){.name = "sources",
                                  .element = sizeof(firn_saved_source),
                                  .count = (size_t)sim->emission.source_count,
                                  .pack = pack_source,
                                  .unpack = unpack_source});
    return list;
}

const firn_state_array *firn_state_find(const firn_state_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->array[i].name, name) == 0)
            return &list->array[i];
    return NULL;
}

/// Room for one packed element of any array.
typedef union packed {
    firn_saved_block block;
    firn_saved_source source;
    firn_body_motion body;
} packed;

void firn_state_write(const firn_sim *sim, const firn_state_array *array, firn_state_sink *sink,
                      void *user)
{
    if (array->pack == NULL) {
        sink(user, array->live, firn_state_bytes(array));
        return;
    }
    for (size_t i = 0; i < array->count; i++) {
        packed saved;
        array->pack(sim, i, &saved);
        sink(user, &saved, array->element);
    }
}

void firn_state_read(firn_sim *sim, const firn_state_array *array, const void *bytes)
{
    if (array->unpack == NULL) {
        firn_copy(array->live, bytes, firn_state_bytes(array), sim->thread_count);
        return;
    }
    for (size_t i = 0; i < array->count; i++) {
        packed saved;
        memcpy(&saved, (const char *)bytes + i * array->element, array->element);
        array->unpack(sim, i, &saved);
    }
}

firn_result firn_state_reserve(firn_sim *sim, const firn_state_scalars *scalars, firn_error *error)
{
    firn_budget *budget = &sim->budget;
    FIRN_TRY(firn_particles_reserve(&sim->particles, scalars->count, error));
    FIRN_TRY(firn_store_reserve(sim, scalars->grain_count, error));
    FIRN_TRY(firn_array_reserve(budget, &sim->bodies.touches, scalars->touch_count,
                                sizeof(firn_body_touch), error));
    FIRN_TRY(firn_array_reserve(budget, &sim->emission.new_keys,
                                scalars->count - scalars->sorted_count, sizeof(uint64_t), error));
    return firn_array_reserve(budget, &sim->grid.blocks, scalars->block_count, sizeof(firn_block),
                              error);
}

void firn_state_settle(firn_sim *sim)
{
    firn_order_void(&sim->order);
    firn_implicit_forget(&sim->solve);
    sim->colliders.prepared = false;
    sim->store.time = sim->time;
    firn_store_forget(&sim->store);
}
