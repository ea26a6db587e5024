#include "particles/particles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// A number that only this particle has in this channel.
static uint32_t mark(int channel, size_t particle)
{
    return (uint32_t)channel << 24 | (uint32_t)particle;
}

static void put_marks(firn_particles *particles, size_t from, size_t to)
{
    for (int c = 0; c < particles->channel_count; c++)
        for (size_t p = from; p < to; p++) {
            uint32_t bits = mark(c, p);
            memcpy(firn_channel_of(particles, c) + p, &bits, sizeof bits);
        }
    for (size_t p = from; p < to; p++)
        ((uint8_t *)particles->material.data)[p] = (uint8_t)p;
    particles->count = to;
}

// Particle p is the one that was at order[p], or at p without an order.
static void assert_marks(const firn_particles *particles, const uint32_t *order)
{
    for (size_t p = 0; p < particles->count; p++) {
        size_t was = order != NULL ? order[p] : p;
        for (int c = 0; c < particles->channel_count; c++) {
            uint32_t bits;
            memcpy(&bits, firn_channel_of(particles, c) + p, sizeof bits);
            if (bits != mark(c, was))
                fail_msg("channel %d, particle %zu", c, p);
        }
        assert_int_equal(((uint8_t *)particles->material.data)[p], (uint8_t)was);
    }
}

// Backwards without the last particle.
static uint32_t *reversed(size_t count)
{
    uint32_t *order = firn_alloc(count * sizeof *order);
    assert_non_null(order);
    for (size_t p = 0; p < count; p++)
        order[p] = (uint32_t)(count - 1 - p);
    return order;
}

static void particles_stay_as_they_are_while_their_arrays_grow(void **state)
{
    (void)state;
    const int channels[] = {FIRN_C, FIRN_CHANNEL_MAX};
    for (size_t i = 0; i < FIRN_COUNT(channels); i++) {
        firn_budget budget = {0};
        firn_particles particles = {.budget = &budget, .channel_count = channels[i]};
        // Small and large arrays are kept in different ways; 2^20 lies between.
        const size_t counts[] = {1, 7, 5000, 5001, 300000, 1 << 20, 1200000};
        size_t before = 0;
        for (size_t k = 0; k < FIRN_COUNT(counts); k++) {
            assert_int_equal(firn_particles_reserve(&particles, counts[k], NULL), FIRN_OK);
            assert_marks(&particles, NULL);
            put_marks(&particles, before, counts[k]);
            before = counts[k];
        }
        firn_particles_free(&particles);
        assert_int_equal(budget.used, 0);
    }
}

static void every_channel_follows_the_order_before_and_after_growth(void **state)
{
    (void)state;
    const size_t counts[] = {1000, 1 << 20};
    for (size_t k = 0; k < FIRN_COUNT(counts); k++) {
        firn_budget budget = {0};
        firn_particles particles = {.budget = &budget, .channel_count = FIRN_CHANNEL_MAX};
        size_t count = counts[k];
        uint32_t *order = reversed(count);
        assert_int_equal(firn_particles_reserve(&particles, count, NULL), FIRN_OK);
        put_marks(&particles, 0, count);
        firn_particles_permute(&particles, order, count - 1, 2);
        assert_int_equal(particles.count, count - 1);
        assert_marks(&particles, order);
        assert_int_equal(firn_particles_reserve(&particles, 2 * count, NULL), FIRN_OK);
        assert_marks(&particles, order);
        firn_free(order);
        firn_particles_free(&particles);
    }
}

static void growth_that_fails_loses_no_particle(void **state)
{
    (void)state;
    const size_t counts[] = {100000, 1 << 20}, wanted = 2000000;
    for (size_t k = 0; k < FIRN_COUNT(counts); k++) {
        firn_budget budget = {0};
        firn_particles particles = {.budget = &budget, .channel_count = FIRN_CHANNEL_MAX};
        assert_int_equal(firn_particles_reserve(&particles, counts[k], NULL), FIRN_OK);
        put_marks(&particles, 0, counts[k]);
        for (size_t room = 0; room < 4; room++) {
            budget.limit = budget.used + (room << 24);
            assert_int_equal(firn_particles_reserve(&particles, wanted, NULL), FIRN_ERR_MEMORY);
            assert_marks(&particles, NULL);
        }
        budget.limit = 0;
        assert_int_equal(firn_particles_reserve(&particles, wanted, NULL), FIRN_OK);
        assert_marks(&particles, NULL);
        firn_particles_free(&particles);
        assert_int_equal(budget.used, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(particles_stay_as_they_are_while_their_arrays_grow),
        cmocka_unit_test(every_channel_follows_the_order_before_and_after_growth),
        cmocka_unit_test(growth_that_fails_loses_no_particle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
