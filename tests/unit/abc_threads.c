// Threads share an open archive.
#define _POSIX_C_SOURCE 200809L
#include "fuzz/abc_walk.h"
#include "unit/abc_support.h"

#include <pthread.h>
#include <stdlib.h>

static void *walk(void *archive)
{
    uint64_t *values = malloc(sizeof *values);
    abc_walk_report report = abc_walk(archive);
    *values = report.failures == 0 ? report.values : 0;
    return values;
}

static void threads_read_the_same_from_one_archive(void **state)
{
    (void)state;
    firn_abc *archive;
    assert_int_equal(firn_abc_open(FIRN_FIXTURES "/alembic/groups_meshes.abc", &archive, NULL),
                     FIRN_OK);
    uint64_t expected = abc_walk(archive).values;
    pthread_t threads[4];
    for (size_t i = 0; i < FIRN_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, walk, archive), 0);
    for (size_t i = 0; i < FIRN_COUNT(threads); i++) {
        void *values;
        assert_int_equal(pthread_join(threads[i], &values), 0);
        assert_true(*(uint64_t *)values == expected && expected > 0);
        free(values);
    }
    firn_abc_close(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_read_the_same_from_one_archive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
