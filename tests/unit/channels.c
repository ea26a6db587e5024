/// What a particle carries: the table, and channels that only one simulation has.
#include "particles/channels.h"
#include "scene.h"

#include <math.h>
#include <stdio.h>

static const firn_channel dirt = {
    .name = "dirt",
    .components = 1,
    .initial = -1.0f,
    .use = FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_VOLUME,
};
static const firn_channel mark = {
    .name = "mark", .components = 3, .initial = 7.0f, .use = FIRN_CHANNEL_VOLUME};

static void every_column_belongs_to_one_row(void **state)
{
    (void)state;
    for (unsigned needs = FIRN_NEED_ALWAYS; needs <= (FIRN_NEED_ALWAYS | FIRN_NEED_APIC);
         needs += FIRN_NEED_APIC) {
        firn_channel_set set;
        int owners[FIRN_CHANNEL_MAX] = {0}, materials = 0;
        firn_channel_set_reset(&set, needs);
        for (int row = 0; row < set.row_count; row++) {
            const firn_channel *channel = firn_channel_set_row(&set, row);
            materials += set.column[row] == FIRN_COLUMN_MATERIAL;
            for (int k = 0; set.column[row] >= 0 && k < channel->components; k++)
                owners[set.column[row] + k]++;
        }
        assert_int_equal(set.column_count, needs & FIRN_NEED_APIC ? FIRN_KERNEL_COLUMNS : FIRN_C);
        for (int c = 0; c < FIRN_CHANNEL_MAX; c++)
            assert_int_equal(owners[c], c < set.column_count);
        assert_int_equal(materials, 1);
    }
}

static void rows_are_sound_and_have_names_of_their_own(void **state)
{
    (void)state;
    assert_null(firn_channel_at(firn_channel_count()));
    for (int i = 0; i < firn_channel_count(); i++) {
        const firn_channel *row = firn_channel_at(i);
        firn_error error;
        scene_expect_ok(firn_channel_check(row, &error), &error);
        assert_ptr_equal(firn_channel_find(row->name), row);
        assert_true(row->label != NULL && row->unit != NULL && strlen(row->help) > 10);
        // Nobody publishes what is not there, and no volume is made of whole numbers.
        bool volume = (row->use & FIRN_CHANNEL_VOLUME) != 0;
        assert_true(!volume || (row->type == FIRN_CHANNEL_FLOAT && row->components <= 3));
    }
    static const struct {
        int index;
        const char *name;
    } named[] = {{FIRN_POSITION, "P"},
                 {FIRN_VELOCITY, "v"},
                 {FIRN_DENSITY, "density"},
                 {FIRN_DEFORMATION, "F"},
                 {FIRN_AFFINE, "C"}};
    for (size_t i = 0; i < FIRN_COUNT(named); i++)
        assert_string_equal(firn_channel_at(named[i].index)->name, named[i].name);
}

static void words_stand_for_rows_or_declare_one(void **state)
{
    (void)state;
    firn_channel channel;
    firn_error error;
    scene_expect_ok(firn_channel_parse("Jp", &channel, &error), &error);
    assert_string_equal(channel.name, "Jp");
    scene_expect_ok(firn_channel_parse("tint:3", &channel, &error), &error);
    assert_string_equal(channel.name, "tint");
    assert_int_equal(channel.components, 3);
    scene_expect_ok(firn_channel_parse("mass:1", &channel, &error), &error);
    assert_string_equal(channel.unit, "kg");
    static const char *const bad[] = {"temprature",
                                      "dirt:",
                                      "dirt:2",
                                      ":1",
                                      "dirt:1x",
                                      "2dirt:1",
                                      "a-b:1",
                                      "vel:1",
                                      "surface:1",
                                      "",
                                      "mass:3",
                                      "dirt:-1",
                                      "a_name_that_is_longer_than_any_file_format_would_take_it:1"};
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        memset(&error, 0, sizeof error);
        assert_int_not_equal(firn_channel_parse(bad[i], &channel, &error), FIRN_OK);
        assert_true(strlen(error.message) > 20);
    }
    firn_channel_parse("temprature", &channel, &error);
    assert_non_null(strstr(error.message, "did you mean 'temperature'?"));
    assert_non_null(strstr(error.message, " stiffness "));
}

static void a_row_that_cannot_be_is_refused(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    firn_sim *sim = scene_create(&def);
    const firn_channel bad[] = {
        {.name = "", .components = 1},
        {.name = "two words", .components = 1},
        {.name = "x", .components = 2},
        {.name = "x", .components = 0},
        {.name = "x", .components = 1, .initial = NAN},
        {.name = "x", .components = 1, .type = (firn_channel_type)9},
        {.name = "x", .components = 1, .type = FIRN_CHANNEL_UINT8},
        {.name = "x", .components = 1, .use = FIRN_CHANNEL_DERIVED},
        {.name = "mass", .components = 3},
        {.name = "compaction", .components = 1},
    };
    firn_error error;
    for (size_t i = 0; i < FIRN_COUNT(bad); i++) {
        memset(&error, 0, sizeof error);
        assert_int_equal(firn_sim_add_channel(sim, &bad[i], &error), FIRN_ERR_ARGUMENT);
        assert_true(strlen(error.message) > 20);
    }
    assert_int_equal(firn_sim_channel_count(sim), firn_channel_count());
    // One more does not fit, and what there was stays.
    firn_channel many = {.components = 9};
    firn_result result = FIRN_OK;
    int added = 0;
    for (; result == FIRN_OK; added++) {
        snprintf(many.name, sizeof many.name, "many%d", added);
        result = firn_sim_add_channel(sim, &many, &error);
    }
    assert_int_equal(result, FIRN_ERR_ARGUMENT);
    assert_int_equal(added - 1, FIRN_ADDED_COLUMNS / 9);
    assert_int_equal(sim->particles.channel_count, FIRN_KERNEL_COLUMNS + 9 * (added - 1));
    // Too late.
    scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.05f, firn_vec(0.0f, 0.0f, 0.0f));
    assert_int_equal(firn_sim_add_channel(sim, &dirt, &error), FIRN_ERR_ARGUMENT);
    scene_expect_ok(firn_sim_add_channel(sim, firn_channel_find("mass"), &error), &error);
    firn_sim_destroy(sim);
}

static void what_nobody_asked_for_takes_no_memory(void **state)
{
    (void)state;
    size_t bytes[2];
    for (int asked = 0; asked < 2; asked++) {
        firn_sim_def def = scene_combination(0);
        firn_sim *sim = scene_create(&def);
        firn_error error;
        assert_false(firn_sim_has_channel(sim, firn_sim_find_channel(sim, "temperature")));
        if (asked)
            scene_expect_ok(firn_sim_add_channel(sim, firn_channel_find("temperature"), &error),
                            &error);
        scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.2f, firn_vec(0.0f, 0.0f, 0.0f));
        assert_int_equal(sim->particles.channel_count, FIRN_KERNEL_COLUMNS + asked);
        bytes[asked] = sim->budget.used / sim->particles.count;
        firn_sim_destroy(sim);
    }
    assert_true(bytes[1] >= bytes[0] + 4);
}

// --- A channel on its way through a simulation ---------------------------------------------------

// What a particle got, from its number: a value that no other one has.
static float dirt_of(uint32_t id) { return 0.25f + 3.0f * (float)id; }

static firn_sim *dirty_scene(int combination, int retries)
{
    firn_sim_def def = scene_combination(combination);
    def.retries = retries;
    def.domain_lower = firn_vec(-1.0f, -0.051f, -1.0f); // some fall out
    firn_sim *sim = scene_create(&def);
    firn_error error;
    scene_expect_ok(firn_sim_add_channel(sim, &dirt, &error), &error);
    scene_expect_ok(firn_sim_add_channel(sim, &mark, &error), &error);
    enum { EDGE = 9, COUNT = EDGE * EDGE * EDGE };
    static firn_vec3 points[COUNT];
    static float values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        points[i] = firn_scale(0.008f, firn_vec((float)(i % EDGE), (float)(i / EDGE % EDGE),
                                                (float)(i / EDGE / EDGE)));
        values[i] = dirt_of((uint32_t)i);
    }
    const firn_source_value value = {"dirt", .points = values};
    firn_source_def source = firn_source_def_points(points, COUNT);
    source.velocity = firn_vec(0.5f, -3.0f, 0.2f);
    source.values = &value;
    source.value_count = 1;
    scene_add(sim, &source);
    // A stream that says nothing of dirt, and later something of its own.
    firn_source_def stream =
        firn_source_def_box(firn_vec(0.2f, 0.0f, 0.0f), firn_vec(0.02f, 0.02f, 0.02f));
    stream.velocity = firn_vec(0.3f, -1.0f, 0.0f);
    stream.end = 1.0;
    scene_add(sim, &stream);
    return sim;
}

static void assert_dirt_follows(const firn_sim *sim)
{
    int channel = firn_sim_find_channel(sim, "dirt");
    firn_particle_view view = firn_sim_particles(sim);
    const float *values = firn_sim_values(sim, channel);
    firn_vec3 *marks = firn_alloc((view.count + 1) * sizeof *marks);
    float *copies = firn_alloc((view.count + 1) * sizeof *copies);
    firn_error error;
    scene_expect_ok(firn_sim_read(sim, channel, 0, view.count, copies, &error), &error);
    scene_expect_ok(
        firn_sim_read(sim, firn_sim_find_channel(sim, "mark"), 0, view.count, marks, &error),
        &error);
    for (size_t i = 0; i < view.count; i++) {
        float expected = view.id[i] < 729 ? dirt_of(view.id[i]) : -1.0f;
        assert_true(values[i] == expected && copies[i] == expected);
        assert_true(marks[i].x == 7.0f && marks[i].y == 7.0f && marks[i].z == 7.0f);
    }
    firn_free(copies);
    firn_free(marks);
}

static void values_follow_their_particles(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination++) {
        firn_sim *sim = dirty_scene(combination, 0);
        assert_dirt_follows(sim);
        size_t before = firn_sim_particles(sim).count;
        scene_step(sim, 0.03);
        assert_dirt_follows(sim);
        // Sorted, emitted and removed.
        assert_int_not_equal(firn_sim_particles(sim).count, before);
        assert_true(firn_sim_particles(sim).id[0] != 0 || firn_sim_particles(sim).id[1] != 1);
        firn_sim_destroy(sim);
    }
}

// What a grid holds, weighted by the mass in its voxels, is what the particles carry.
// Files of the first frame are written before the grid has told anybody's volume.
static void snow_has_a_size_before_its_first_substep(void **state)
{
    (void)state;
    firn_sim_def def = firn_sim_def_default();
    def.volume = FIRN_VOLUME_GRID;
    firn_sim *sim = scene_create(&def);
    firn_source_def ball = firn_source_def_sphere(firn_vec(0.0f, 1.0f, 0.0f), 0.1f);
    firn_error error;
    scene_expect_ok(firn_sim_add_source(sim, &ball, NULL, &error), &error);
    size_t count = firn_sim_particles(sim).count;
    float *radius = malloc(2 * count * sizeof *radius), *density = radius + count;
    scene_expect_ok(
        firn_sim_read(sim, firn_sim_find_channel(sim, "pscale"), 0, count, radius, &error), &error);
    scene_expect_ok(firn_sim_read(sim, FIRN_DENSITY, 0, count, density, &error), &error);
    double volume = 0.0;
    for (size_t i = 0; i < count; i++) {
        assert_float_equal(density[i], firn_material_def_default().density, 0.01f);
        volume += 4.18879 * pow((double)radius[i], 3.0);
    }
    assert_true(fabs(volume / (4.18879 * 0.001) - 1.0) < 0.05); // of the ball
    free(radius);
    firn_sim_destroy(sim);
}

static void channels_become_grids_by_name(void **state)
{
    (void)state;
    firn_sim *sim = dirty_scene(0, 0);
    scene_step(sim, 0.02);
    firn_field_def def = firn_field_def_default();
    def.thread_count = 1;
    firn_field *field = NULL;
    firn_error error;
    scene_expect_ok(firn_sim_rasterize(sim, &def, "mark, dirt", &field, &error), &error);
    firn_field_view view = firn_field_read(field);
    assert_int_equal(view.grid_count, 2);
    assert_string_equal(view.grids[0].name, "mark");
    assert_string_equal(view.grids[1].name, "dirt");
    assert_int_equal(view.grids[0].components, 3);
    double carried = 0.0, found = 0.0, voxel = pow((double)view.voxel_size, 3.0);
    firn_particle_view particles = firn_sim_particles(sim);
    const float *carries = firn_sim_values(sim, firn_sim_find_channel(sim, "dirt"));
    for (size_t i = 0; i < particles.count; i++)
        carried += (double)particles.mass[i] * (double)carries[i];
    for (size_t i = 0; i < 512 * view.leaf_count; i++) {
        found += (double)view.density[i] * voxel * (double)view.grids[1].values[i];
        if (view.density[i] > 1e-3f)
            scene_expect_near((double)view.grids[0].values[3 * i + 2], 7.0, 1e-4);
    }
    scene_expect_near(found, carried, 1e-4 * fabs(carried));
    firn_field_destroy(field);

    static const char *const refused[] = {"mud", "dirt dirt", "material", "id"};
    for (size_t i = 0; i < FIRN_COUNT(refused); i++) {
        assert_int_not_equal(firn_sim_rasterize(sim, &def, refused[i], &field, &error), FIRN_OK);
        assert_null(field);
        char first[FIRN_CHANNEL_NAME];
        const char *list = refused[i];
        firn_channel_next(&list, first, sizeof first);
        assert_non_null(strstr(error.message, first));
    }
    firn_sim_destroy(sim);
}

static void the_simulation_does_not_see_what_it_carries(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination += 3) {
        firn_vec3 *seen[2];
        size_t count[2];
        for (int with = 0; with < 2; with++) {
            firn_sim_def def = scene_combination(combination);
            firn_sim *sim = scene_create(&def);
            firn_error error;
            if (with)
                scene_expect_ok(firn_sim_add_channel(sim, &mark, &error), &error);
            scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.05f, firn_vec(0.0f, -2.0f, 0.0f));
            scene_add_floor(sim, -0.06f);
            scene_step(sim, 0.02);
            count[with] = firn_sim_particles(sim).count;
            seen[with] = firn_alloc(count[with] * sizeof *seen[with]);
            scene_expect_ok(firn_sim_read(sim, FIRN_POSITION, 0, count[with], seen[with], &error),
                            &error);
            firn_sim_destroy(sim);
        }
        assert_int_equal(count[0], count[1]);
        assert_memory_equal(seen[0], seen[1], count[0] * sizeof *seen[0]);
        firn_free(seen[0]);
        firn_free(seen[1]);
    }
}

static void values_survive_a_retry(void **state)
{
    (void)state;
    firn_sim *sim = dirty_scene(0, 3);
    scene_step(sim, 0.01);
    uint64_t before = firn_sim_hash(sim);
    sim->def.speed_limit = 0.01f; // nothing passes that
    firn_error error;
    assert_int_equal(firn_sim_step(sim, 0.01, &error), FIRN_ERR_DIVERGED);
    assert_true(firn_sim_hash(sim) == before);
    assert_dirt_follows(sim);
    firn_sim_destroy(sim);
}

static void a_resumed_run_carries_on(void **state)
{
    (void)state;
    for (int combination = 0; combination < 8; combination += 3) {
        firn_sim *whole = dirty_scene(combination, 0), *resumed = dirty_scene(combination, 0);
        scene_step(whole, 0.011);
        void *bytes = NULL;
        size_t size = 0;
        firn_error error;
        scene_expect_ok(firn_sim_save_memory(whole, &bytes, &size, &error), &error);
        scene_expect_ok(firn_sim_load_memory(resumed, bytes, size, &error), &error);
        scene_step(whole, 0.013);
        scene_step(resumed, 0.013);
        assert_true(firn_sim_hash(whole) == firn_sim_hash(resumed));
        assert_dirt_follows(resumed);
        firn_free(bytes);
        firn_sim_destroy(whole);
        firn_sim_destroy(resumed);
    }
}

static firn_sim *plain_scene(const firn_channel *first, const firn_channel *second)
{
    firn_sim_def def = scene_combination(0);
    firn_sim *sim = scene_create(&def);
    firn_error error;
    if (first != NULL)
        scene_expect_ok(firn_sim_add_channel(sim, first, &error), &error);
    if (second != NULL)
        scene_expect_ok(firn_sim_add_channel(sim, second, &error), &error);
    scene_add_box(sim, firn_vec(0.0f, 0.0f, 0.0f), 0.05f, firn_vec(0.0f, 0.0f, 0.0f));
    return sim;
}

// A checkpoint of `saved` into a simulation of other channels.
static void expect_other_channels(firn_sim *saved, firn_sim *loaded, const char *named)
{
    void *bytes = NULL;
    size_t size = 0;
    firn_error error;
    scene_expect_ok(firn_sim_save_memory(saved, &bytes, &size, &error), &error);
    uint64_t before = firn_sim_hash(loaded);
    assert_int_equal(firn_sim_load_memory(loaded, bytes, size, &error), FIRN_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, named));
    assert_true(firn_sim_hash(loaded) == before);
    firn_free(bytes);
    firn_sim_destroy(saved);
    firn_sim_destroy(loaded);
}

static void a_checkpoint_of_other_channels_is_refused(void **state)
{
    (void)state;
    firn_channel wide = dirt;
    wide.components = 3;
    expect_other_channels(plain_scene(&dirt, NULL), plain_scene(NULL, NULL), "'dirt'");
    expect_other_channels(plain_scene(NULL, NULL), plain_scene(&dirt, NULL), "'dirt'");
    expect_other_channels(plain_scene(&dirt, NULL), plain_scene(&wide, NULL), "'dirt' (1");
    expect_other_channels(plain_scene(&dirt, NULL), plain_scene(&mark, NULL), "'dirt'");
    expect_other_channels(plain_scene(&dirt, &mark), plain_scene(&mark, &dirt), "order");
}

// Every byte of the list of channels, and the number of them.
static void damaged_lists_of_channels_are_refused(void **state)
{
    (void)state;
    firn_sim *sim = plain_scene(&dirt, &mark);
    void *memory = NULL;
    size_t size = 0;
    firn_error error;
    scene_expect_ok(firn_sim_save_memory(sim, &memory, &size, &error), &error);
    unsigned char *bytes = memory, *list = NULL;
    for (size_t i = 0; i + 4 < size && list == NULL; i++)
        if (memcmp(bytes + i, "u\0\0\0", 4) == 0 && memcmp(bytes + i + 40, "v\0\0", 3) == 0)
            list = bytes + i;
    assert_non_null(list);
    uint64_t before = firn_sim_hash(sim);
    firn_saved_channel saved[FIRN_ROW_LIMIT];
    size_t count = (size_t)firn_channel_set_save(&sim->particles.channels, saved);
    assert_memory_equal(list, saved, count * sizeof *saved);
    for (size_t i = 0; i < count * sizeof *saved; i++) {
        list[i] ^= 0x11;
        assert_int_not_equal(firn_sim_load_memory(sim, bytes, size, &error), FIRN_OK);
        list[i] ^= 0x11;
    }
    for (unsigned char *at = bytes; at < list; at++) {
        *at ^= 0x80;
        assert_int_not_equal(firn_sim_load_memory(sim, bytes, size, &error), FIRN_OK);
        *at ^= 0x80;
    }
    for (size_t cut = 0; cut < (size_t)(list - bytes) + count * sizeof *saved; cut += 7)
        assert_int_not_equal(firn_sim_load_memory(sim, bytes, cut, &error), FIRN_OK);
    assert_true(firn_sim_hash(sim) == before);
    scene_expect_ok(firn_sim_load_memory(sim, bytes, size, &error), &error);
    assert_true(firn_sim_hash(sim) == before);
    firn_free(memory);
    firn_sim_destroy(sim);
}

static void a_source_gives_a_value_with_lumps(void **state)
{
    (void)state;
    firn_sim_def def = scene_combination(0);
    firn_sim *sim = scene_create(&def);
    firn_error error;
    const firn_channel *temperature = firn_channel_find("temperature");
    scene_expect_ok(firn_sim_add_channel(sim, temperature, &error), &error);
    firn_source_def box =
        firn_source_def_box(firn_vec(0.0f, 0.0f, 0.0f), firn_vec(0.2f, 0.2f, 0.2f));
    const firn_source_value value = {"temperature", .value = {268.0f}, .noise = 3.0f};
    box.values = &value;
    box.value_count = 1;
    scene_add(sim, &box);
    const float *values = firn_sim_values(sim, firn_sim_find_channel(sim, "temperature"));
    double sum = 0.0, lowest = 1e9, highest = 0.0;
    size_t count = firn_sim_particles(sim).count;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i] / (double)count;
        lowest = fmin(lowest, (double)values[i]);
        highest = fmax(highest, (double)values[i]);
    }
    assert_true(lowest >= 265.0 && highest <= 271.0 && highest - lowest > 2.0);
    assert_true(fabs(sum - 268.0) < 1.0);
    firn_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_belongs_to_one_row),
        cmocka_unit_test(rows_are_sound_and_have_names_of_their_own),
        cmocka_unit_test(words_stand_for_rows_or_declare_one),
        cmocka_unit_test(a_row_that_cannot_be_is_refused),
        cmocka_unit_test(what_nobody_asked_for_takes_no_memory),
        cmocka_unit_test(values_follow_their_particles),
        cmocka_unit_test(snow_has_a_size_before_its_first_substep),
        cmocka_unit_test(channels_become_grids_by_name),
        cmocka_unit_test(the_simulation_does_not_see_what_it_carries),
        cmocka_unit_test(values_survive_a_retry),
        cmocka_unit_test(a_resumed_run_carries_on),
        cmocka_unit_test(a_checkpoint_of_other_channels_is_refused),
        cmocka_unit_test(damaged_lists_of_channels_are_refused),
        cmocka_unit_test(a_source_gives_a_value_with_lumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
