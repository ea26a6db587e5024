#include "particles.h"

firn_result firn_particles_reserve(firn_particles *particles, size_t count, firn_error *error)
{
    if (count > FIRN_PARTICLE_LIMIT)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "%zu particles are more than the %d that one simulation can hold", count,
                         FIRN_PARTICLE_LIMIT);
    firn_budget *budget = particles->budget;
    size_t padded = count + FIRN_PADDING;
    for (int c = 0; c < particles->channel_count; c++)
        FIRN_TRY(firn_array_reserve(budget, &particles->channel[c], padded, sizeof(float), error));
    FIRN_TRY(firn_array_reserve(budget, &particles->material, padded, 1, error));
    return firn_array_reserve(budget, &particles->scratch, padded, sizeof(float), error);
}

static void permute_channel(firn_particles *particles, firn_array *channel, const uint32_t *order,
                            size_t count, int thread_count)
{
    const uint32_t *from = channel->data;
    uint32_t *to = particles->scratch.data;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < count; i++)
        to[i] = from[order[i]];
    firn_array spare = *channel;
    *channel = particles->scratch;
    particles->scratch = spare;
}

void firn_particles_permute(firn_particles *particles, const uint32_t *order, size_t new_count,
                            int thread_count)
{
    for (int c = 0; c < particles->channel_count; c++)
        permute_channel(particles, &particles->channel[c], order, new_count, thread_count);
    const uint8_t *from = particles->material.data;
    uint8_t *to = particles->scratch.data, *back = particles->material.data;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < new_count; i++)
        to[i] = from[order[i]];
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t i = 0; i < new_count; i++)
        back[i] = to[i];
    particles->count = new_count;
}

void firn_particles_free(firn_particles *particles)
{
    for (int c = 0; c < FIRN_CHANNEL_MAX; c++)
        firn_array_free(particles->budget, &particles->channel[c]);
    firn_array_free(particles->budget, &particles->material);
    firn_array_free(particles->budget, &particles->scratch);
}
