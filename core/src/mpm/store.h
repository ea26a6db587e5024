/// Grains outside the grid, method.md section 11: single flakes and spray that fly, or lie on a
/// collider and ride along with it. store.c keeps them, free_flight.c moves them and
/// flight_exchange.c takes them from the grid and gives them back.
///
/// A grain has what a particle has but F and C, which it begins anew with when it comes back to the
/// grid: 60 bytes, with the optional channels beside that.
#ifndef FIRN_STORE_H
#define FIRN_STORE_H

#include "base/memory.h"
#include "particles/particles.h"
#include "seeding/seeding.h"

#include "firn/sim.h"

/// Columns of the store; those of channels that somebody asked for stand behind.
enum {
    FIRN_STORE_U = 0, // 3: position in its block, cells
    FIRN_STORE_V = 3, // 3: m/s; of one that lies, that of what it lies on
    FIRN_STORE_JP = 6,
    FIRN_STORE_MASS,
    FIRN_STORE_VOLUME,
    FIRN_STORE_STIFFNESS,
    FIRN_STORE_ID,
    FIRN_STORE_ADDED,
};

/// Marks of grains that are about to go.
enum { FIRN_GRAIN_STAYS, FIRN_GRAIN_GOES };

typedef struct firn_store {
    // The state.
    size_t count;
    double promise; // s, from one look around to the next: grains near enough to meet snow in that
                    // time are on the grid
    firn_array column[FIRN_CHANNEL_MAX];
    firn_array key;      // uint64, of its block
    firn_array material; // uint8
    firn_array seat;     // uint16, slot of the collider it lies on, + 1; 0: it flies

    // What follows from it.
    double time;          // s, until which the grains have flown
    firn_array clearance; // float, m that a grain may go before another look at colliders
    firn_array marks;     // uint8
    uint64_t acting;      // colliders that the clearances know of
    bool crowded;         // others lie where they lay at the last look
    double mass, kinetic, potential; // kg, J
    float speed2;                    // (m/s)^2, of the fastest in the air
    size_t settled;

    // For the time of a stage.
    firn_array parts, lists, taken;         // free_flight.c
    firn_array keys, cells, lanes, leaving; // flight_exchange.c
    size_t entering_count, leaving_count;   // of an exchange that has begun
} firn_store;

/// The store's column of a particle's, or -1 for what a grain does not have; how many there are.
int firn_store_column_of(const firn_channel_set *set, int column);
int firn_store_columns(const firn_channel_set *set);

static inline float *firn_store_at(const firn_store *store, int column)
{
    return (float *)store->column[column].data;
}

/// Room for count grains; what is there stays.
firn_result firn_store_reserve(firn_sim *sim, size_t count, firn_error *error);

/// Takes out the grains that are marked; the others keep their order.
void firn_store_compact(firn_sim *sim);

/// What has come from elsewhere: every grain looks at the colliders anew.
void firn_store_forget(firn_store *store);

/// Grains that lie on a collider in a slot fly from now on.
void firn_store_release(firn_store *store, int slot);

void firn_store_free(firn_store *store, firn_budget *budget);

/// Whether the flakes of a source go to the store.
bool firn_flight_takes(const firn_sim *sim, const firn_source *source);

/// Refuses them where they cannot be kept: on several ranks.
firn_result firn_flight_check(const firn_sim *sim, const firn_source *source, firn_error *error);

/// emission.c: the new flakes of all sources that give them to the store, until now.
firn_result firn_flight_emit(firn_sim *sim, firn_error *error);

/// free_flight.c: memory for what follows; moves all grains up to now, which cannot fail. What
/// colliders are given goes to their accounts.
firn_result firn_flight_reserve(firn_sim *sim, firn_error *error);
void firn_flight_advance(firn_sim *sim);

/// Finds speed, mass and energy of the grains as they are.
void firn_flight_measure(firn_sim *sim);

/// How long the grains may fly until the next look around, from how long they did.
void firn_flight_promise(firn_sim *sim);

/// Whether the next look around is due, or would be after a substep of dt.
bool firn_flight_is_due(const firn_sim *sim, double dt);

/// flight_exchange.c: chooses who comes to the grid and who leaves it, before a sort, and puts them
/// where the sort finds them; left is what the call of firn_sim_step still simulates (s). After it
/// the exchange is committed, or undone when the sort failed.
firn_result firn_flight_exchange(firn_sim *sim, double left, firn_error *error);
void firn_flight_commit(firn_sim *sim);
void firn_flight_undo(firn_sim *sim);

#endif
