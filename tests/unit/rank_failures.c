/// What stops one rank stops all, with the same words.
#include "rank_cast.h"

static firn_result starve(firn_sim *sim, int call, firn_error *error)
{
    (void)error;
    if (sim->owners.exchange.rank == 1)
        sim->budget.limit = call == 1 ? sim->budget.used / 2 : 0;
    return FIRN_OK;
}

static void rank_without_memory_is_the_failure_of_all(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination += 4) {
        shot_def shot = {.name = "starving",
                         .def = scene_combination(combination),
                         .fill = fill_jet,
                         .change = starve,
                         .calls = 3,
                         .seconds = 0.02};
        cast *c = perform(&shot, 3);
        for (int r = 0; r < 3; r++) {
            const outcome *o = &c->workers[r].outcome;
            const firn_result expected[3] = {FIRN_OK, FIRN_ERR_MEMORY, FIRN_OK};
            for (int call = 0; call < 3; call++)
                assert_int_equal(o->results[call], expected[call]);
            assert_non_null(strstr(o->sentences[1], "memory limit"));
            assert_string_equal(o->sentences[1], c->workers[0].outcome.sentences[1]);
        }
        dismiss(c);
    }
}

static bool cancel(const firn_step_stats *stats, void *user)
{
    (void)user;
    return stats->substep < 20;
}

static firn_result hand_cancel_to_one(firn_sim *sim, int call, firn_error *error)
{
    (void)error;
    firn_sim_set_progress(sim, call == 0 && sim->owners.exchange.rank == 2 ? cancel : NULL, NULL);
    return FIRN_OK;
}

static void rank_that_cancels_stops_all(void **state)
{
    (void)state;
    const shot_def shot = {.name = "cancelled",
                           .def = scene_combination(0),
                           .fill = fill_crash,
                           .change = hand_cancel_to_one,
                           .calls = 1,
                           .seconds = 0.1};
    cast *c = perform(&shot, 4);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(c->workers[r].outcome.results[0], FIRN_ERR_CANCELLED);
        assert_int_equal(firn_sim_stats(c->workers[r].outcome.sim).substep, 20);
    }
    dismiss(c);
}

// Wherever the line breaks, nobody waits, and everybody says so.
static void lost_line_ends_all(void **state)
{
    (void)state;
    for (long meetings = 1; meetings < 4000; meetings = 2 * meetings + 7) {
        const shot_def shot = {.name = "lost",
                               .def = scene_combination(meetings & 4),
                               .fill = fill_crash,
                               .calls = 2,
                               .seconds = 0.05};
        cast *c = perform_until(&shot, 3, meetings);
        for (int r = 0; r < 3; r++) {
            const outcome *o = &c->workers[r].outcome;
            bool lost = o->results[30] == FIRN_ERR_IO || o->results[0] == FIRN_ERR_IO ||
                        o->results[1] == FIRN_ERR_IO;
            assert_true(lost || c->all.meetings_left > 0);
        }
        dismiss(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_without_memory_is_the_failure_of_all),
        cmocka_unit_test(rank_that_cancels_stops_all),
        cmocka_unit_test(lost_line_ends_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
