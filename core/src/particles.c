#include "particles.h"

static void place_channel(firn_particles *particles, int channel)
{
    particles->at[channel] = (float *)particles->channel[channel].data + channel * FIRN_STAGGER;
}

static firn_result reserve_channel(firn_particles *particles, int channel, size_t padded,
                                   firn_error *error)
{
    FIRN_TRY(firn_array_reserve(particles->budget, &particles->channel[channel], padded,
                                sizeof(float), error));
    place_channel(particles, channel);
    return FIRN_OK;
}

firn_result firn_particles_reserve(firn_particles *particles, size_t count, firn_error *error)
{
    if (count > FIRN_PARTICLE_LIMIT)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "%zu particles are more than the %d that one simulation can hold", count,
                         FIRN_PARTICLE_LIMIT);
    firn_budget *budget = particles->budget;
    size_t padded = count + FIRN_PADDING + FIRN_CHANNEL_MAX * FIRN_STAGGER;
    for (int c = 0; c < particles->channel_count; c++)
        FIRN_TRY(reserve_channel(particles, c, padded, error));
    FIRN_TRY(firn_array_reserve(budget, &particles->material, count + FIRN_PADDING, 1, error));
    return firn_array_reserve(budget, &particles->scratch, padded, sizeof(float), error);
}

static void permute_channel(firn_particles *particles, int channel, const uint32_t *order,
                            size_t count, int thread_count)
{
    const uint32_t *from = (const uint32_t *)firn_channel_of(particles, channel);
    uint32_t *to = (uint32_t *)particles->scratch.data + channel * FIRN_STAGGER;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < count; i++)
        to[i] = from[order[i]];
    firn_array spare = particles->channel[channel];
    particles->channel[channel] = particles->scratch;
    particles->scratch = spare;
    place_channel(particles, channel);
}

void firn_particles_permute(firn_particles *particles, const uint32_t *order, size_t new_count,
                            int thread_count)
{
    particles->count = new_count;
    if (new_count == 0)
        return;
    for (int c = 0; c < particles->channel_count; c++)
        permute_channel(particles, c, order, new_count, thread_count);
    const uint8_t *from = particles->material.data;
    uint8_t *to = particles->scratch.data, *back = particles->material.data;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < new_count; i++)
        to[i] = from[order[i]];
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < new_count; i++)
        back[i] = to[i];
}

void firn_particles_free(firn_particles *particles)
{
    for (int c = 0; c < FIRN_CHANNEL_MAX; c++)
        firn_array_free(particles->budget, &particles->channel[c]);
    firn_array_free(particles->budget, &particles->material);
    firn_array_free(particles->budget, &particles->scratch);
}
