#include "scene.h"

#include "firn/file.h"

#include <stdio.h>

static const char path[] = "checkpoint_test.chk";

// A stream, a finished source and a floor, at a moment when new particles wait for their block.
static firn_sim *make_scene(int combination)
{
    firn_sim_def def = scene_combination(combination);
    firn_sim *sim = scene_create(&def);
    firn_material_def soft = firn_material_def_default();
    soft.young_modulus = 5e4f;
    firn_source_def stream =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.03f, 0.03f, 0.03f));
    firn_error error;
    scene_expect_ok(firn_sim_add_material(sim, &soft, &stream.material, &error), &error);
    stream.velocity = firn_vec(0.3f, -3.0f, 0.0f);
    stream.end = 1.0;
    stream.chunk_size = 0.03f;
    scene_add(sim, &stream);
    scene_add_box(sim, firn_vec(0.1f, 0.0f, 0.0f), 0.03f, firn_vec(0.0f, 0.0f, 0.0f));
    scene_add_floor(sim, -0.05f);
    return sim;
}

static firn_sim *make_run(int combination)
{
    firn_sim *sim = make_scene(combination);
    scene_step(sim, 0.0137);
    return sim;
}

typedef struct saved {
    unsigned char *bytes;
    size_t size;
} saved;

static saved save(const firn_sim *sim)
{
    void *bytes = NULL;
    saved s = {.size = 0};
    firn_error error;
    scene_expect_ok(firn_sim_save_memory(sim, &bytes, &s.size, &error), &error);
    s.bytes = bytes;
    return s;
}

static void resumed_run_has_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        firn_sim *whole = make_run(i);
        saved s = save(whole);
        firn_error error;
        scene_expect_ok(firn_sim_save(whole, path, &error), &error);
        firn_sim *from_memory = make_scene(i), *from_file = make_scene(i);
        // A run that went somewhere else forgets it.
        scene_step(from_file, 0.005);
        scene_expect_ok(firn_sim_load_memory(from_memory, s.bytes, s.size, &error), &error);
        scene_expect_ok(firn_sim_load(from_file, path, &error), &error);
        assert_true(firn_sim_hash(from_memory) == firn_sim_hash(whole));
        assert_true(firn_sim_hash(from_file) == firn_sim_hash(whole));
        firn_sim *all[] = {whole, from_memory, from_file};
        for (size_t k = 0; k < FIRN_COUNT(all); k++) {
            scene_step(all[k], 0.004);
            scene_step(all[k], 0.003);
            assert_true(firn_sim_hash(all[k]) == firn_sim_hash(whole));
            assert_true(firn_sim_time(all[k]) == firn_sim_time(whole));
        }
        for (size_t k = 0; k < FIRN_COUNT(all); k++)
            firn_sim_destroy(all[k]);
        firn_free(s.bytes);
    }
    remove(path);
}

static void particles_that_wait_for_their_block_are_saved_too(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0), *other = make_scene(0);
    // Volumes from the grid are found with the block.
    sim->def.volume = FIRN_VOLUME_GRID;
    scene_add_box(sim, firn_vec(-0.2f, 0.0f, 0.0f), 0.03f, firn_vec(0.0f, 0.0f, 0.0f));
    scene_add_box(other, firn_vec(-0.2f, 0.0f, 0.0f), 0.03f, firn_vec(0.0f, 0.0f, 0.0f));
    other->def.volume = FIRN_VOLUME_GRID;
    assert_true(sim->order.sorted_count < sim->particles.count);
    saved s = save(sim);
    firn_error error;
    scene_expect_ok(firn_sim_load_memory(other, s.bytes, s.size, &error), &error);
    assert_true(firn_sim_hash(other) == firn_sim_hash(sim));
    scene_step(sim, 0.002);
    scene_step(other, 0.002);
    assert_true(firn_sim_hash(other) == firn_sim_hash(sim));
    firn_free(s.bytes);
    firn_sim_destroy(other);
    firn_sim_destroy(sim);
}

static void expect_refused(firn_sim *sim, const void *bytes, size_t size, firn_result expected)
{
    uint64_t before = firn_sim_hash(sim);
    firn_error error;
    assert_int_equal(firn_sim_load_memory(sim, bytes, size, &error), expected);
    assert_true(error.message[0] != '\0');
    assert_true(firn_sim_hash(sim) == before);
}

static void cut_checkpoint_is_refused(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0), *other = make_scene(0);
    saved s = save(sim);
    for (size_t size = 0; size < 300; size++)
        expect_refused(other, s.bytes, size, FIRN_ERR_FORMAT);
    for (size_t size = 300; size < s.size; size += s.size / 97)
        expect_refused(other, s.bytes, size, FIRN_ERR_FORMAT);
    expect_refused(other, s.bytes, s.size - 1, FIRN_ERR_FORMAT);
    unsigned char *longer = firn_alloc(s.size + 1);
    memcpy(longer, s.bytes, s.size);
    longer[s.size] = 0;
    expect_refused(other, longer, s.size + 1, FIRN_ERR_FORMAT);
    firn_free(longer);
    firn_free(s.bytes);
    firn_sim_destroy(other);
    firn_sim_destroy(sim);
}

static void flipped_bits_are_noticed(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0), *other = make_scene(0);
    saved s = save(sim);
    uint64_t before = firn_sim_hash(other), seed = 9;
    for (size_t i = 0; i < 700; i++) {
        // Every byte of the header, then samples.
        size_t at = i < 200 ? i : (size_t)ref_random(&seed, 0.0, (double)s.size);
        unsigned char bit = (unsigned char)(1u << (i * 5 % 8));
        s.bytes[at] ^= bit;
        firn_error error;
        firn_result result = firn_sim_load_memory(other, s.bytes, s.size, &error);
        assert_true(result == FIRN_ERR_FORMAT || result == FIRN_ERR_ARGUMENT);
        s.bytes[at] ^= bit;
        assert_true(firn_sim_hash(other) == before);
    }
    assert_int_equal(firn_sim_load_memory(other, s.bytes, s.size, NULL), FIRN_OK);
    firn_free(s.bytes);
    firn_sim_destroy(other);
    firn_sim_destroy(sim);
}

// Bytes that are as they were written, by a program that wrote nonsense.
static void nonsense_with_a_right_checksum_is_refused(void **state)
{
    (void)state;
    enum { CASES = 9 };
    for (int i = 0; i < CASES; i++) {
        firn_sim *sim = make_run(0), *other = make_scene(0);
        firn_block *blocks = firn_grid_blocks(&sim->grid);
        size_t last = sim->grid.block_count - 1;
        if (i == 0)
            sim->time = NAN;
        else if (i == 1)
            sim->time = -1.0;
        else if (i == 2)
            ((uint8_t *)sim->particles.material.data)[sim->particles.count - 1] = 200;
        else if (i == 3)
            blocks[0].begin = 1;
        else if (i == 4)
            blocks[last].end = UINT32_MAX;
        else if (i == 5)
            blocks[last].coord = blocks[0].coord;
        else if (i == 6)
            blocks[last].coord.x = INT32_MAX;
        else if (i == 7)
            blocks[0].rest = NAN;
        else
            blocks[last].end -= 1;
        saved s = save(sim);
        expect_refused(other, s.bytes, s.size, FIRN_ERR_FORMAT);
        scene_step(other, 0.002);
        firn_free(s.bytes);
        firn_sim_destroy(other);
        firn_sim_destroy(sim);
    }
}

// Counts that would overflow sizes, in a header that is otherwise right.
static void counts_of_no_simulation_are_refused(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0);
    saved s = save(sim);
    const uint64_t huge[] = {UINT64_MAX, UINT64_MAX / 4, UINT64_C(1) << 32, UINT64_C(1) << 60};
    // The scalars of the state begin with the three counts, behind 88 bytes of header.
    for (size_t at = 88; at < 112; at += 8)
        for (size_t k = 0; k < FIRN_COUNT(huge); k++) {
            uint64_t before;
            memcpy(&before, s.bytes + at, sizeof before);
            memcpy(s.bytes + at, &huge[k], sizeof before);
            expect_refused(sim, s.bytes, s.size, FIRN_ERR_FORMAT);
            memcpy(s.bytes + at, &before, sizeof before);
        }
    firn_free(s.bytes);
    firn_sim_destroy(sim);
}

static void other_version_is_named(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0);
    saved s = save(sim);
    s.bytes[8] ^= 0xff;
    firn_error error;
    assert_int_equal(firn_sim_load_memory(sim, s.bytes, s.size, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, "version"));
    firn_free(s.bytes);
    firn_sim_destroy(sim);
}

static void checkpoint_of_other_settings_is_refused(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0);
    saved s = save(sim);
    for (int i = 1; i < 8; i++) {
        firn_sim *other = make_scene(i);
        expect_refused(other, s.bytes, s.size, FIRN_ERR_ARGUMENT);
        firn_sim_destroy(other);
    }
    firn_sim_def def = scene_combination(0);
    def.cell_size *= 2.0f;
    firn_sim *coarse = scene_create(&def), *empty;
    expect_refused(coarse, s.bytes, s.size, FIRN_ERR_ARGUMENT);
    def = scene_combination(0);
    empty = scene_create(&def);
    expect_refused(empty, s.bytes, s.size, FIRN_ERR_ARGUMENT);
    firn_sim *more = make_scene(0);
    firn_material_def material = firn_material_def_default();
    assert_int_equal(firn_sim_add_material(more, &material, NULL, NULL), FIRN_OK);
    expect_refused(more, s.bytes, s.size, FIRN_ERR_ARGUMENT);
    firn_sim_destroy(more);
    more = make_scene(0);
    scene_add_box(more, firn_vec(0.3f, 0.0f, 0.0f), 0.03f, firn_vec(0.0f, 0.0f, 0.0f));
    expect_refused(more, s.bytes, s.size, FIRN_ERR_ARGUMENT);
    firn_sim_destroy(more);
    firn_sim_destroy(empty);
    firn_sim_destroy(coarse);
    firn_free(s.bytes);
    firn_sim_destroy(sim);
}

static void checkpoint_of_another_origin_is_refused(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0), *other = make_scene(0);
    saved unnamed = save(sim);
    firn_sim_set_origin(sim, 0x1234567800000001u);
    saved named = save(sim);
    assert_int_equal(unnamed.size, named.size);
    expect_refused(other, named.bytes, named.size - 1, FIRN_ERR_FORMAT);
    assert_int_equal(firn_sim_load_memory(other, named.bytes, named.size, NULL), FIRN_OK);
    firn_sim_set_origin(other, 0x1234567800000002u);
    expect_refused(other, named.bytes, named.size, FIRN_ERR_STALE);
    expect_refused(other, unnamed.bytes, unnamed.size, FIRN_ERR_STALE);
    firn_sim_set_origin(other, 0x1234567800000001u);
    assert_int_equal(firn_sim_load_memory(other, named.bytes, named.size, NULL), FIRN_OK);
    assert_true(firn_sim_hash(other) == firn_sim_hash(sim));
    firn_free(named.bytes);
    firn_free(unnamed.bytes);
    firn_sim_destroy(other);
    firn_sim_destroy(sim);
}

static void removed_source_stays_removed(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0), *other = make_scene(0);
    firn_source_id first = {1, 1};
    saved with = save(sim);
    assert_int_equal(firn_sim_remove_source(sim, first, NULL), FIRN_OK);
    saved without = save(sim);
    assert_int_equal(firn_sim_load_memory(other, without.bytes, without.size, NULL), FIRN_OK);
    size_t count = firn_sim_particles(sim).count;
    scene_step(sim, 0.01);
    scene_step(other, 0.01);
    assert_int_equal(firn_sim_particles(other).count, count);
    assert_true(firn_sim_hash(other) == firn_sim_hash(sim));
    expect_refused(other, with.bytes, with.size, FIRN_ERR_ARGUMENT);
    firn_free(with.bytes);
    firn_free(without.bytes);
    firn_sim_destroy(other);
    firn_sim_destroy(sim);
}

static void file_is_whole_or_absent(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0);
    firn_error error;
    assert_int_equal(firn_sim_save(sim, "no/such/folder/x.chk", &error), FIRN_ERR_NOT_FOUND);
    assert_int_equal(firn_sim_load(sim, "no/such/folder/x.chk", &error), FIRN_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "no/such/folder"));
    scene_expect_ok(firn_sim_save(sim, path, &error), &error);
    saved s = save(sim);
    void *bytes = NULL;
    size_t size = 0;
    scene_expect_ok(firn_file_read(path, SIZE_MAX, &bytes, &size, &error), &error);
    assert_int_equal(size, s.size);
    assert_memory_equal(bytes, s.bytes, size);
    firn_free(bytes);

    // A cut or foreign file names itself.
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(s.bytes, 1, s.size / 2, file), s.size / 2);
    fclose(file);
    uint64_t before = firn_sim_hash(sim);
    assert_int_equal(firn_sim_load(sim, path, &error), FIRN_ERR_FORMAT);
    assert_non_null(strstr(error.message, path));
    assert_int_equal(firn_sim_load(sim, ".", &error), FIRN_ERR_IO);
    assert_true(firn_sim_hash(sim) == before);
    firn_free(s.bytes);
    remove(path);
    firn_sim_destroy(sim);
}

static void checkpoint_does_not_pass_the_memory_limit(void **state)
{
    (void)state;
    firn_sim *sim = make_run(0);
    saved s = save(sim);
    firn_sim *tight = make_scene(0);
    tight->budget.limit = tight->budget.used + 1000;
    for (int i = 0; i < 4; i++) {
        expect_refused(tight, s.bytes, s.size, FIRN_ERR_MEMORY);
        tight->budget.limit += 64;
    }
    tight->budget.limit = 0;
    assert_int_equal(firn_sim_load_memory(tight, s.bytes, s.size, NULL), FIRN_OK);
    assert_true(firn_sim_hash(tight) == firn_sim_hash(sim));
    firn_free(s.bytes);
    firn_sim_destroy(tight);
    firn_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumed_run_has_the_same_bits),
        cmocka_unit_test(particles_that_wait_for_their_block_are_saved_too),
        cmocka_unit_test(cut_checkpoint_is_refused),
        cmocka_unit_test(flipped_bits_are_noticed),
        cmocka_unit_test(nonsense_with_a_right_checksum_is_refused),
        cmocka_unit_test(counts_of_no_simulation_are_refused),
        cmocka_unit_test(other_version_is_named),
        cmocka_unit_test(checkpoint_of_other_settings_is_refused),
        cmocka_unit_test(checkpoint_of_another_origin_is_refused),
        cmocka_unit_test(removed_source_stays_removed),
        cmocka_unit_test(file_is_whole_or_absent),
        cmocka_unit_test(checkpoint_does_not_pass_the_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
