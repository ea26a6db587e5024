#include "particles.h"

#include <string.h>

enum {
    // Bytes by which each slot begins later in its page than the one before: the same particle of
    // all channels would else want the same few places of a cache.
    STAGGER = 128,
    PAGE = 4096,
    SHARED = 1 << 22, // bytes of a slot from which it has memory of its own
    MANY = 1 << 13,   // particles
};

void firn_particles_begin(firn_particles *particles, unsigned needs)
{
    firn_channel_set_reset(&particles->channels, needs);
    particles->channel_count = particles->channels.column_count;
}

firn_result firn_particles_add_channel(firn_particles *particles, const firn_channel *channel,
                                       firn_error *error)
{
    firn_channel_set with = particles->channels;
    FIRN_TRY(firn_channel_set_add(&with, channel, error));
    if (with.column_count == particles->channel_count)
        return FIRN_OK;
    if (particles->count > 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the channel %s comes too late: there are %zu particles without it; add "
                         "channels before sources",
                         channel->name, particles->count);
    // What was claimed has a slot too few.
    firn_particles_free(particles);
    particles->channels = with;
    particles->channel_count = with.column_count;
    return FIRN_OK;
}

static size_t slot_bytes(size_t count) { return (count + FIRN_PADDING) * sizeof(float); }

// From one shared slot to the next.
static size_t stride_of(size_t count) { return (slot_bytes(count) / PAGE + 1) * PAGE + STAGGER; }

static float *slot_of(const firn_particles *particles, int slot)
{
    char *memory =
        particles->shared_size > 0
            ? (char *)particles->shared.data + (size_t)slot * stride_of(particles->shared_size)
            : (char *)particles->apart[slot].data + slot * STAGGER;
    return (float *)(void *)memory;
}

// Where the channels are, as their slots say.
static void place_channels(firn_particles *particles)
{
    for (int c = 0; c < particles->channel_count; c++)
        particles->at[c] = slot_of(particles, particles->slot[c]);
    particles->spare = slot_of(particles, particles->slot[particles->channel_count]);
}

// Channels in slots of the same number.
static void reset_slots(firn_particles *particles)
{
    for (int i = 0; i <= particles->channel_count; i++)
        particles->slot[i] = (uint8_t)i;
    place_channels(particles);
}

static void copy_channels(firn_particles *to, const firn_particles *from)
{
    for (int c = 0; c < to->channel_count && from->count > 0; c++)
        memcpy(to->at[c], from->at[c], from->count * sizeof(float));
}

static firn_result share(firn_particles *particles, size_t count, firn_error *error)
{
    firn_particles old = *particles;
    particles->shared = (firn_array){0};
    size_t slots = (size_t)particles->channel_count + 1;
    firn_result result =
        firn_array_claim(particles->budget, &particles->shared, slots * stride_of(count), 1, error);
    if (result != FIRN_OK) {
        *particles = old;
        return result;
    }
    particles->shared_size = count;
    reset_slots(particles);
    copy_channels(particles, &old);
    firn_array_free(particles->budget, &old.shared);
    return FIRN_OK;
}

static bool is_apart(const firn_particles *particles)
{
    return particles->shared_size == 0 && particles->at[0] != NULL;
}

static firn_result reserve_slots(firn_particles *particles, size_t count, firn_error *error)
{
    size_t bytes = slot_bytes(count) + ((size_t)particles->channel_count + 1) * STAGGER;
    for (int i = 0; i <= particles->channel_count; i++)
        FIRN_TRY(firn_array_reserve(particles->budget, &particles->apart[i], bytes, 1, error));
    return FIRN_OK;
}

// Gives every slot memory of its own, or more of it.
static firn_result separate(firn_particles *particles, size_t count, firn_error *error)
{
    firn_result result = reserve_slots(particles, count, error);
    if (is_apart(particles)) {
        // Some may have moved before another failed.
        place_channels(particles);
        return result;
    }
    if (result != FIRN_OK)
        return result;
    firn_particles old = *particles;
    particles->shared_size = 0;
    reset_slots(particles);
    copy_channels(particles, &old);
    firn_array_free(particles->budget, &particles->shared);
    return FIRN_OK;
}

static firn_result reserve_channels(firn_particles *particles, size_t count, firn_error *error)
{
    if (count <= particles->shared_size)
        return FIRN_OK;
    if (is_apart(particles) || slot_bytes(count) >= SHARED)
        return separate(particles, count, error);
    // As arrays do, by much while that is little.
    size_t size = particles->shared_size, generous = size + size / (size > MANY ? 8 : 2);
    if (generous > count && slot_bytes(generous) < SHARED &&
        share(particles, generous, NULL) == FIRN_OK)
        return FIRN_OK;
    return share(particles, count, error);
}

firn_result firn_particles_reserve(firn_particles *particles, size_t count, firn_error *error)
{
    if (count > FIRN_PARTICLE_LIMIT)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "%zu particles are more than the %d that one simulation can hold", count,
                         FIRN_PARTICLE_LIMIT);
    FIRN_ASSERT(particles->spare_holder == NULL);
    FIRN_TRY(reserve_channels(particles, count, error));
    return firn_array_reserve(particles->budget, &particles->material, count + FIRN_PADDING, 1,
                              error);
}

float *firn_particles_lease_spare(firn_particles *particles, const char *holder)
{
    FIRN_ASSERT(particles->spare_holder == NULL || strcmp(particles->spare_holder, holder) == 0);
    particles->spare_holder = holder;
    return particles->spare;
}

void firn_particles_release_spare(firn_particles *particles, const char *holder)
{
    FIRN_ASSERT(particles->spare_holder != NULL && strcmp(particles->spare_holder, holder) == 0);
    (void)holder;
    particles->spare_holder = NULL;
}

static void permute_channel(firn_particles *particles, int channel, const uint32_t *order,
                            size_t count, int thread_count)
{
    const uint32_t *from = (const uint32_t *)firn_channel_of(particles, channel);
    uint32_t *to = (uint32_t *)particles->spare;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < count; i++)
        to[i] = from[order[i]];
    uint8_t *slot = particles->slot, freed = slot[channel];
    slot[channel] = slot[particles->channel_count];
    slot[particles->channel_count] = freed;
    place_channels(particles);
}

void firn_particles_permute(firn_particles *particles, const uint32_t *order, size_t new_count,
                            int thread_count)
{
    FIRN_ASSERT(particles->spare_holder == NULL);
    particles->count = new_count;
    if (new_count == 0)
        return;
    for (int c = 0; c < particles->channel_count; c++)
        permute_channel(particles, c, order, new_count, thread_count);
    const uint8_t *from = particles->material.data;
    uint8_t *to = (uint8_t *)particles->spare, *back = particles->material.data;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < new_count; i++)
        to[i] = from[order[i]];
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < new_count; i++)
        back[i] = to[i];
}

void firn_particles_free(firn_particles *particles)
{
    firn_array_free(particles->budget, &particles->shared);
    for (int i = 0; i < FIRN_SLOTS; i++)
        firn_array_free(particles->budget, &particles->apart[i]);
    firn_array_free(particles->budget, &particles->material);
    memset(particles->at, 0, sizeof particles->at);
    particles->shared_size = 0;
}
