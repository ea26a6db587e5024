/// Ranks inside one process: threads that exchange bytes through memory, one simulation each.
#ifndef FIRN_TEST_LOOPBACK_H
#define FIRN_TEST_LOOPBACK_H

#include "firn/exchange.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPBACK_RANKS = 8, LOOPBACK_STATE = 4096 };

/// What a rank has on the table for the others.
typedef struct loopback_table {
    firn_parcel send[LOOPBACK_RANKS], receive[LOOPBACK_RANKS];
    const uint64_t *numbers;
    const double *values;
} loopback_table;

/// What all ranks share.
typedef struct loopback {
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    int rank_count;
    int waiting, turn; // ranks that have come to the meeting; meetings so far
    unsigned char state[LOOPBACK_STATE];
    loopback_table table[LOOPBACK_RANKS];
    bool broken;        // sizes of a message differ between its ends
    long messages;      // with something in them
    long meetings_left; // when they are over nobody can be reached; below 0: never
} loopback;

/// One rank's end of it.
typedef struct loopback_end {
    loopback *all;
    int rank;
} loopback_end;

static inline void loopback_init(loopback *all, int rank_count)
{
    memset(all, 0, sizeof *all);
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->moved, NULL);
    all->rank_count = rank_count;
    all->meetings_left = -1;
}

static inline void loopback_free(loopback *all)
{
    pthread_cond_destroy(&all->moved);
    pthread_mutex_destroy(&all->mutex);
}

// Waits until all ranks are here; false when the line is dead.
static inline bool loopback_meet(loopback *all)
{
    pthread_mutex_lock(&all->mutex);
    int turn = all->turn;
    if (++all->waiting == all->rank_count) {
        all->waiting = 0;
        all->turn++;
        if (all->meetings_left > 0)
            all->meetings_left--;
        pthread_cond_broadcast(&all->moved);
    }
    while (turn == all->turn)
        pthread_cond_wait(&all->moved, &all->mutex);
    bool alive = all->meetings_left != 0;
    pthread_mutex_unlock(&all->mutex);
    return alive;
}

static inline bool loopback_numbers(void *user, const uint64_t *to, uint64_t *from)
{
    const loopback_end *end = user;
    loopback *all = end->all;
    all->table[end->rank].numbers = to;
    if (!loopback_meet(all))
        return false;
    for (int r = 0; r < all->rank_count; r++)
        from[r] = all->table[r].numbers[end->rank];
    return loopback_meet(all);
}

static inline bool loopback_begin(void *user, const firn_parcel *send, const firn_parcel *receive)
{
    const loopback_end *end = user;
    loopback_table *own = &end->all->table[end->rank];
    size_t bytes = (size_t)end->all->rank_count * sizeof *send;
    memcpy(own->send, send, bytes);
    memcpy(own->receive, receive, bytes);
    return true;
}

static inline bool loopback_finish(void *user)
{
    const loopback_end *end = user;
    loopback *all = end->all;
    if (!loopback_meet(all))
        return false;
    bool broken = false;
    long messages = 0;
    for (int r = 0; r < all->rank_count; r++) {
        firn_parcel from = all->table[r].send[end->rank];
        firn_parcel to = all->table[end->rank].receive[r];
        broken = broken || from.bytes != to.bytes;
        messages += from.bytes > 0;
        if (from.bytes > 0 && from.bytes == to.bytes)
            memcpy(to.data, from.data, to.bytes);
    }
    pthread_mutex_lock(&all->mutex);
    all->broken = all->broken || broken;
    all->messages += messages;
    pthread_mutex_unlock(&all->mutex);
    return loopback_meet(all);
}

static inline bool loopback_largest(void *user, double *values, int count)
{
    const loopback_end *end = user;
    loopback *all = end->all;
    double most[16];
    if (count > 16)
        return false;
    all->table[end->rank].values = values;
    if (!loopback_meet(all))
        return false;
    for (int i = 0; i < count; i++) {
        most[i] = all->table[0].values[i];
        for (int r = 1; r < all->rank_count; r++)
            most[i] = all->table[r].values[i] > most[i] ? all->table[r].values[i] : most[i];
    }
    if (!loopback_meet(all))
        return false;
    memcpy(values, most, (size_t)count * sizeof *values);
    return true;
}

static inline bool loopback_fold(void *user, void *state, size_t size, firn_fold *add,
                                 void *context)
{
    const loopback_end *end = user;
    loopback *all = end->all;
    if (size > LOOPBACK_STATE)
        return false;
    for (int r = 0; r < all->rank_count; r++) {
        if (r == end->rank) {
            if (r > 0)
                memcpy(state, all->state, size);
            add(state, context);
            memcpy(all->state, state, size);
        }
        if (!loopback_meet(all))
            return false;
    }
    memcpy(state, all->state, size);
    return loopback_meet(all);
}

static inline firn_exchange loopback_exchange(loopback_end *end)
{
    return (firn_exchange){.size = sizeof(firn_exchange),
                           .rank = end->rank,
                           .rank_count = end->all->rank_count,
                           .user = end,
                           .numbers = loopback_numbers,
                           .begin = loopback_begin,
                           .end = loopback_finish,
                           .largest = loopback_largest,
                           .fold = loopback_fold};
}

#endif
