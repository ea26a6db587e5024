/// Processes of MPI that compute one simulation together have the bits of one. Runs under mpirun.
#include "rank_cast.h"

#include "firn/mpi.h"

#include <stdio.h>

static firn_mpi *mpi;

// Each process performs the shot alone, too, and compares its part with it.
static void expect_bits_of_one(const shot_def *shot)
{
    const firn_exchange *exchange = firn_mpi_exchange(mpi);
    cast *one = perform_alone(shot);
    cast own = {.rank_count = 1, .workers = calloc(1, sizeof(worker))};
    own.workers[0] = (worker){.shot = shot, .exchange = *exchange};
    run_rank(&own.workers[0]);
    compare_substeps(one, &own, shot->name);
    const firn_sim *sim = own.workers[0].outcome.sim;
    uint64_t to[64], from[64];
    assert_true(exchange->rank_count <= 64);
    for (int r = 0; r < exchange->rank_count; r++)
        to[r] = sim->grid.block_count;
    assert_true(exchange->numbers(exchange->user, to, from));
    size_t before = 0, all = 0;
    for (int r = 0; r < exchange->rank_count; r++) {
        before += r < exchange->rank ? from[r] : 0;
        all += from[r];
    }
    const firn_sim *alone = one->workers[0].outcome.sim;
    assert_int_equal(all, alone->grid.block_count);
    compare_rank(alone, before, sim, shot->name);
    firn_sim_destroy(own.workers[0].outcome.sim);
    free(own.workers);
    dismiss(one);
}

static void crash_has_the_bits_of_one_process(void **state)
{
    (void)state;
    for (int integrator = 0; integrator < 2; integrator++) {
        const shot_def crash = {.name = integrator ? "implicit crash" : "explicit crash",
                                .def = scene_combination(4 * integrator),
                                .fill = fill_crash,
                                .calls = 2,
                                .seconds = 0.006};
        expect_bits_of_one(&crash);
    }
}

static void emitted_snow_has_the_bits_of_one_process(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.volume = FIRN_VOLUME_GRID;
    def.domain_lower = firn_vec(-1.0f, -1.0f, -1.0f);
    def.domain_upper = firn_vec(0.25f, 1.0f, 1.0f);
    const shot_def jet = {
        .name = "jet", .def = def, .fill = fill_jet, .calls = 3, .seconds = 0.008};
    expect_bits_of_one(&jet);
    assert_true(firn_mpi_exchange(mpi)->rank_count == 1 || firn_mpi_sent(mpi) > 0);
}

// Appends the rank to a text: no other order gives the same text.
static void append(void *state, void *context)
{
    char *text = state;
    size_t length = strlen(text);
    text[length] = (char)('a' + *(const int *)context);
    text[length + 1] = '\0';
}

static void shares_are_added_in_the_order_of_ranks(void **state)
{
    (void)state;
    const firn_exchange *exchange = firn_mpi_exchange(mpi);
    char text[72] = "", expected[72] = "";
    int rank = exchange->rank;
    assert_true(exchange->fold(exchange->user, text, sizeof text, append, &rank));
    for (int r = 0; r < exchange->rank_count; r++)
        append(expected, &r);
    assert_string_equal(text, expected);
}

int main(void)
{
    firn_error error;
    if (firn_mpi_open(&mpi, &error) != FIRN_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_added_in_the_order_of_ranks),
        cmocka_unit_test(crash_has_the_bits_of_one_process),
        cmocka_unit_test(emitted_snow_has_the_bits_of_one_process),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    firn_mpi_close(mpi);
    return failed;
}
