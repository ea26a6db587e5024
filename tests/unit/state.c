/// What the state of a simulation is: every item of the list counts, comes back from a snapshot and
/// from a checkpoint, and is held once.
#define _POSIX_C_SOURCE 200809L // posix_memalign
#include "effort.h"
#include "falling_box.h"

#include "firn/sim_bodies.h"

// A stream above a floor, with snow that sleeps and new particles that wait for their block.
static firn_sim *make_scene(firn_sim_def def)
{
    def.sleep_speed = 0.01f;
    firn_sim *sim = landing_box(def);
    firn_source_def stream =
        firn_source_def_box(firn_vec(0.3f, 0.0f, 0.0f), firn_vec(0.03f, 0.03f, 0.03f));
    stream.velocity = firn_vec(0.0f, -2.0f, 0.0f);
    stream.end = 10.0;
    scene_add(sim, &stream);
    // Two bodies that fall together, far away, and so touch each other.
    firn_body_def body = firn_body_def_default();
    for (int i = 0; i < 2; i++) {
        firn_error error;
        body.shape = firn_collider_def_box(firn_vec(3.0f, 3.0f + 0.2f * (float)i, 0.0f),
                                           firn_vec(0.1f, 0.1f, 0.1f));
        scene_expect_ok(firn_sim_add_body(sim, &body, NULL, &error), &error);
    }
    return sim;
}

static firn_sim *make_run(firn_sim_def def)
{
    firn_sim *sim = make_scene(def);
    scene_step(sim, 0.01);
    scene_add_box(sim, firn_vec(-0.2f, 0.0f, 0.0f), 0.02f, nowhere);
    return sim;
}

// All bytes of the state.
typedef struct image {
    void *bytes;
    size_t size;
} image;

static image image_of(const firn_sim *sim)
{
    image i = {NULL, 0};
    firn_error error;
    scene_expect_ok(firn_sim_save_memory(sim, &i.bytes, &i.size, &error), &error);
    return i;
}

static bool same_image(image a, image b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static bool has_image(const firn_sim *sim, image expected)
{
    image now = image_of(sim);
    bool same = same_image(now, expected);
    firn_free(now.bytes);
    return same;
}

static void every_scalar_is_saved_and_brought_back(void **state)
{
    (void)state;
    firn_sim *sim = make_run(scene_combination(0));
    int count;
    const firn_state_row *rows = firn_state_rows(&count);
    bool seen[sizeof(firn_state_scalars)] = {false};
    for (int i = 0; i < count; i++) {
        firn_state_scalars before = firn_state_scalars_of(sim), now, again;
        assert_true(rows[i].flag != 0 || rows[i].saved + rows[i].size <= sizeof before);
        unsigned char *byte = (unsigned char *)sim + rows[i].at;
        *byte ^= 1;
        now = firn_state_scalars_of(sim);
        *byte ^= 1;
        if (memcmp(&before, &now, sizeof now) == 0)
            fail_msg("%s is not saved", rows[i].name);
        firn_state_put_scalars(sim, &now);
        again = firn_state_scalars_of(sim);
        assert_memory_equal(&again, &now, sizeof now);
        firn_state_put_scalars(sim, &before);
        // No two share a byte, but the bits of flags.
        for (size_t at = rows[i].saved; rows[i].flag == 0 && at < rows[i].saved + rows[i].size;
             at++) {
            assert_false(seen[at]);
            seen[at] = true;
        }
    }
    // Together with the four bytes of flags there is nothing else.
    for (size_t at = 0; at < sizeof(firn_state_scalars); at++)
        assert_true(seen[at] || (at >= offsetof(firn_state_scalars, flags) &&
                                 at < offsetof(firn_state_scalars, flags) + sizeof(uint32_t)));
    firn_sim_destroy(sim);
}

// The first and the last element of an array, as the list knows it.
static void perturb(firn_sim *sim, const firn_state_array *array, bool last)
{
    unsigned char saved[128];
    size_t i = last ? array->count - 1 : 0;
    assert_true(array->element <= sizeof saved);
    if (array->live != NULL) {
        ((unsigned char *)array->live)[i * array->element] ^= 1;
        return;
    }
    array->pack(sim, i, saved);
    saved[0] ^= 1;
    array->unpack(sim, i, saved);
}

static void every_array_counts_in_the_hash_and_comes_back(void **state)
{
    (void)state;
    for (int combination = 0; combination < 4; combination += 2) {
        firn_sim *sim = make_run(scene_combination(combination));
        firn_error error;
        scene_expect_ok(firn_sim_mark(sim, &error), &error);
        uint64_t before = firn_sim_hash(sim);
        image whole = image_of(sim);
        firn_state_scalars scalars = firn_state_scalars_of(sim);
        firn_state_list list = firn_state_arrays(sim, &scalars);
        assert_int_equal(list.count, sim->particles.channel_count + 6);
        for (int i = 0; i < list.count; i++)
            for (int last = 0; last < 2; last++) {
                assert_true(list.array[i].count > 0);
                perturb(sim, &list.array[i], last);
                if (firn_sim_hash(sim) == before)
                    fail_msg("%s does not count", list.array[i].name);
                scene_expect_ok(firn_sim_restore(sim, &error), &error);
                assert_true(firn_sim_hash(sim) == before);
                assert_true(has_image(sim, whole));
            }
        firn_free(whole.bytes);
        firn_sim_destroy(sim);
    }
}

static bool cancel(const firn_step_stats *stats, void *user)
{
    return stats->substep < *(const int64_t *)user;
}

static void stopped_frame_comes_out_the_same_from_its_mark(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination += effort(1, 3))
        for (int retries = 0; retries < 2; retries++) {
            firn_sim_def def = scene_combination(combination);
            def.retries = retries;
            firn_sim *sim = make_run(def), *straight = make_run(def);
            image before = image_of(sim);
            firn_error error;
            scene_expect_ok(firn_sim_mark(sim, &error), &error);
            int64_t end = sim->substep + 3;
            firn_sim_set_progress(sim, cancel, &end);
            assert_int_equal(firn_sim_step(sim, 0.02, NULL), FIRN_ERR_CANCELLED);
            assert_false(has_image(sim, before));
            scene_expect_ok(firn_sim_restore(sim, &error), &error);
            assert_true(has_image(sim, before));
            firn_sim_set_progress(sim, NULL, NULL);
            scene_step(sim, 0.02);
            scene_step(straight, 0.02);
            assert_true(firn_sim_hash(sim) == firn_sim_hash(straight));
            firn_free(before.bytes);
            firn_sim_destroy(straight);
            firn_sim_destroy(sim);
        }
}

// Keys of a frame may turn a source; a mark from before them brings its old way back.
static void mark_brings_back_the_settings_of_sources(void **state)
{
    (void)state;
    firn_sim *sim = make_scene(scene_combination(0)), *straight = make_scene(scene_combination(0));
    firn_source_def turned =
        firn_source_def_box(firn_vec(0.3f, 0.0f, 0.0f), firn_vec(0.03f, 0.03f, 0.03f));
    turned.velocity = firn_vec(1.0f, -1.0f, 0.5f);
    turned.end = 10.0;
    const firn_source_id stream = {2, 1};
    scene_step(sim, 0.01);
    scene_step(straight, 0.01);
    firn_error error;
    scene_expect_ok(firn_sim_mark(sim, &error), &error);
    for (int attempt = 0; attempt < 2; attempt++) {
        scene_expect_ok(firn_sim_change_source(sim, stream, &turned, &error), &error);
        scene_step(sim, 0.01);
        if (attempt == 0)
            scene_expect_ok(firn_sim_restore(sim, &error), &error);
    }
    scene_expect_ok(firn_sim_change_source(straight, stream, &turned, &error), &error);
    scene_step(straight, 0.01);
    assert_true(firn_sim_hash(sim) == firn_sim_hash(straight));
    firn_sim_destroy(straight);
    firn_sim_destroy(sim);
}

// A retry goes back to the start of the call, past what happened between the mark and the call.
static void retry_and_mark_share_one_copy(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.retries = 2;
    firn_sim *sim = make_run(def);
    image marked = image_of(sim);
    firn_error error;
    scene_expect_ok(firn_sim_mark(sim, &error), &error);
    scene_add_floor(sim, -0.5f); // wakes the snow: not in the mark
    sim->rest.disturbed = true;
    image started = image_of(sim);
    assert_false(same_image(marked, started));
    sim->def.speed_limit = 0.1f;
    assert_int_equal(firn_sim_step(sim, 0.2, NULL), FIRN_ERR_DIVERGED);
    assert_true(has_image(sim, started));
    scene_expect_ok(firn_sim_restore(sim, &error), &error);
    assert_true(has_image(sim, marked));
    firn_free(marked.bytes);
    firn_free(started.bytes);
    firn_sim_destroy(sim);
}

// A call that needed a retry ends elsewhere than at the copy that it went back to.
static void next_call_goes_back_to_its_own_start(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    def.dt_min = def.dt_max = 5e-3f; // explodes at first
    def.retries = 20;
    firn_sim *sim = landing_box(def);
    scene_step(sim, 0.04);
    assert_true(firn_sim_stats(sim).dt < 1e-3);
    image before = image_of(sim);
    sim->def.speed_limit = 0.1f;
    sim->def.retries = 1;
    assert_int_equal(firn_sim_step(sim, 0.02, NULL), FIRN_ERR_DIVERGED);
    assert_true(has_image(sim, before));
    firn_free(before.bytes);
    firn_sim_destroy(sim);
}

static void mark_costs_nothing_where_retries_keep_a_copy(void **state)
{
    (void)state;
    size_t used[2];
    for (int marks = 0; marks < 2; marks++) {
        firn_sim *sim = make_scene(scene_combination(0));
        for (int frame = 0; frame < 3; frame++) {
            if (marks)
                assert_int_equal(firn_sim_mark(sim, NULL), FIRN_OK);
            scene_step(sim, 0.005);
        }
        used[marks] = sim->budget.used;
        firn_sim_destroy(sim);
    }
    assert_true(used[1] <= used[0] + 4 * sizeof(firn_source));
}

static void void_mark_is_refused(void **state)
{
    (void)state;
    firn_sim *sim = make_run(scene_combination(0));
    firn_error error;
    assert_int_equal(firn_sim_restore(sim, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "mark"));
    for (int how = 0; how < 4; how++) {
        scene_expect_ok(firn_sim_mark(sim, &error), &error);
        image i = image_of(sim);
        if (how == 0)
            scene_add_box(sim, firn_vec(-0.4f, 0.0f, 0.0f), 0.02f, nowhere);
        else if (how == 1)
            assert_int_equal(firn_sim_remove_source(sim, (firn_source_id){2, 1}, NULL), FIRN_OK);
        else if (how == 2)
            scene_expect_ok(firn_sim_load_memory(sim, i.bytes, i.size, &error), &error);
        else
            for (int step = 0; step < 2; step++)
                scene_step(sim, 0.001);
        uint64_t before = firn_sim_hash(sim);
        assert_int_equal(firn_sim_restore(sim, &error), FIRN_ERR_ARGUMENT);
        assert_true(firn_sim_hash(sim) == before);
        firn_free(i.bytes);
    }
    firn_sim_destroy(sim);
}

static void *failing_allocate(size_t bytes, size_t alignment, void *user)
{
    int *left = user;
    void *memory = NULL;
    return (*left)-- > 0 && posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void plain_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void mark_without_memory_leaves_the_state(void **state)
{
    (void)state;
    firn_result result = FIRN_ERR_MEMORY;
    int allowed = 0;
    for (; result != FIRN_OK; allowed++) {
        int left = 1 << 30;
        const firn_allocator allocator = {failing_allocate, plain_release, &left};
        firn_set_allocator(&allocator);
        firn_sim *sim = make_run(scene_combination(0));
        uint64_t before = firn_sim_hash(sim);
        left = allowed;
        firn_error error;
        result = firn_sim_mark(sim, &error);
        left = 1 << 30;
        assert_true(firn_sim_hash(sim) == before);
        if (result != FIRN_OK) {
            assert_int_equal(result, FIRN_ERR_MEMORY);
            assert_int_equal(firn_sim_restore(sim, NULL), FIRN_ERR_ARGUMENT);
        }
        scene_step(sim, 0.002);
        firn_sim_destroy(sim);
        firn_set_allocator(NULL);
        assert_true(allowed < 10);
    }
    assert_true(allowed > 2);
}

static void mark_respects_the_memory_limit(void **state)
{
    (void)state;
    firn_sim *sim = make_run(scene_combination(0));
    uint64_t before = firn_sim_hash(sim);
    firn_array_free(&sim->budget, &sim->snapshot.bytes);
    sim->snapshot.revision = 0;
    sim->budget.limit = sim->budget.used + 1000;
    firn_error error;
    assert_int_equal(firn_sim_mark(sim, &error), FIRN_ERR_MEMORY);
    assert_non_null(strstr(error.message, "memory limit"));
    assert_true(firn_sim_hash(sim) == before);
    firn_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scalar_is_saved_and_brought_back),
        cmocka_unit_test(every_array_counts_in_the_hash_and_comes_back),
        cmocka_unit_test(stopped_frame_comes_out_the_same_from_its_mark),
        cmocka_unit_test(mark_brings_back_the_settings_of_sources),
        cmocka_unit_test(retry_and_mark_share_one_copy),
        cmocka_unit_test(next_call_goes_back_to_its_own_start),
        cmocka_unit_test(mark_costs_nothing_where_retries_keep_a_copy),
        cmocka_unit_test(void_mark_is_refused),
        cmocka_unit_test(mark_without_memory_leaves_the_state),
        cmocka_unit_test(mark_respects_the_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
