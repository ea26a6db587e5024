/// What the state of a simulation is, written once: scalars and arrays that, brought back, give the
/// same bits from there on.
///
/// The list serves the checkpoint (checkpoint.c: file and memory), the hash, and the snapshot that
/// retries and hosts go back to (snapshot.c). What is not in it follows from the state by a sort,
/// or is set again by whoever loads a checkpoint: settings, materials, colliders.
#ifndef FIRN_STATE_H
#define FIRN_STATE_H

#include "base/memory.h"
#include "particles/particles.h"
#include "space/block_map.h"

#include "firn/sim.h"

/// As bytes in a checkpoint, little-endian as on every machine Firn is built for.
typedef struct firn_state_scalars {
    uint64_t count, sorted_count, block_count;
    int64_t substep;
    double time; // s
    uint32_t next_id;
    uint32_t flags; // of firn_state_row.flag
    uint64_t acting_colliders;
    uint64_t grain_count; // outside the grid
    double promise;       // s, see firn_store
    uint64_t touch_count; // contacts between bodies
} firn_state_scalars;

/// A scalar: where it is in a simulation and in firn_state_scalars. A bool is a bit of flags.
typedef struct firn_state_row {
    const char *name;
    size_t at, saved, size;
    uint32_t flag; // 0: no bool
} firn_state_row;

const firn_state_row *firn_state_rows(int *count);

firn_state_scalars firn_state_scalars_of(const firn_sim *sim);
void firn_state_put_scalars(firn_sim *sim, const firn_state_scalars *scalars);

/// An array: live as it is saved, or packed element by element.
typedef struct firn_state_array {
    const char *name;
    size_t element, count; // bytes of a saved element; elements
    size_t offset;         // bytes from the first array, when all lie one after the other
    void *live;            // NULL: packed
    void (*pack)(const firn_sim *sim, size_t i, void *saved);
    void (*unpack)(firn_sim *sim, size_t i, const void *saved);
} firn_state_array;

enum { FIRN_STATE_ARRAYS = 2 * FIRN_CHANNEL_MAX + 9 };

typedef struct firn_state_list {
    int count;
    size_t bytes; // of all
    firn_state_array array[FIRN_STATE_ARRAYS];
} firn_state_list;

/// The arrays of a simulation, as many elements as the scalars say. Sources come last.
firn_state_list firn_state_arrays(const firn_sim *sim, const firn_state_scalars *scalars);

const firn_state_array *firn_state_find(const firn_state_list *list, const char *name);

static inline size_t firn_state_bytes(const firn_state_array *array)
{
    return array->element * array->count;
}

/// Receives the bytes of an array: all at once, or of one packed element after the other.
typedef void firn_state_sink(void *user, const void *bytes, size_t size);
void firn_state_write(const firn_sim *sim, const firn_state_array *array, firn_state_sink *sink,
                      void *user);

/// Fills an array from its bytes. Room for it has been made.
void firn_state_read(firn_sim *sim, const firn_state_array *array, const void *bytes);

/// Room for arrays of these sizes; what is there stays.
firn_result firn_state_reserve(firn_sim *sim, const firn_state_scalars *scalars, firn_error *error);

/// What has come from elsewhere: the next step sorts and looks at everything anew.
void firn_state_settle(firn_sim *sim);

/// How blocks and sources are saved.
typedef struct firn_saved_block {
    firn_coord coord;
    uint32_t begin, end;
    float rest;
} firn_saved_block;

typedef struct firn_saved_source {
    double begun, emitted;
    double shift[3];
    int32_t started, alive;
} firn_saved_source;

#endif
