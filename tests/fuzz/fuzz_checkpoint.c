// Checkpoints. First the bytes themselves, of which most end at their checksum. Then the checkpoint
// of a small simulation with the bytes as changes to it, under a right checksum: what gets past the
// checks must be something that a simulation can go on from.
#define _POSIX_C_SOURCE 200809L
#include "fuzz_file.h"

// The checksum is nobody else's, so the file itself is here; its object in the library stays out.
#include "mpm/checkpoint.c"

#include "firn/sim_bodies.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(firn_result result)
{
    if (result != FIRN_OK)
        abort();
}

// Snow, a body in it, a floor, and grains outside the grid: every array has something in it.
static firn_sim *make(void)
{
    firn_sim *sim = NULL;
    firn_sim_def def = firn_sim_def_default();
    def.cell_size = 0.05f;
    def.thread_count = 1;
    def.free_flight = FIRN_FLIGHT_ALL;
    expect(firn_sim_create(&def, &sim, NULL));
    firn_source_def ball = firn_source_def_sphere(firn_vec(0.0f, 0.1f, 0.0f), 0.06f);
    expect(firn_sim_add_source(sim, &ball, NULL, NULL));
    const firn_vec3 flakes[] = {{0.5f, 0.5f, 0.0f}, {0.7f, 0.9f, 0.1f}};
    firn_source_def fall = firn_source_def_points(flakes, FIRN_COUNT(flakes));
    expect(firn_sim_add_source(sim, &fall, NULL, NULL));
    firn_body_def body = firn_body_def_default();
    body.shape = firn_collider_def_sphere(firn_vec(0.0f, 0.2f, 0.0f), 0.05f);
    expect(firn_sim_add_body(sim, &body, NULL, NULL));
    firn_collider_def floor = firn_collider_def_plane(firn_vec(0.0f, 1.0f, 0.0f), 0.0f);
    expect(firn_sim_add_collider(sim, &floor, NULL, NULL));
    expect(firn_sim_step(sim, 0.01, NULL));
    return sim;
}

// Pieces of the input: where (two bytes), how many bytes (one), the bytes.
static void change(unsigned char *own, size_t own_size, const uint8_t *bytes, size_t size)
{
    while (size > 3) {
        size_t at = (bytes[0] | (size_t)bytes[1] << 8) % own_size, count = bytes[2] % 16 + 1u;
        bytes += 3;
        size -= 3;
        count = count < size ? count : size;
        count = count < own_size - at ? count : own_size - at;
        memcpy(own + at, bytes, count);
        bytes += count;
        size -= count;
    }
}

// A right checksum, wherever there are enough bytes for one.
static void seal(const firn_sim *sim, unsigned char *own, size_t size)
{
    firn_checkpoint_header h;
    memcpy(&h, own, sizeof h);
    size_t channels = firn_channel_list_size(h.channel_count);
    if (h.channel_count > FIRN_ROW_LIMIT || size - sizeof h < channels ||
        !sizes_are_sound(sim, &h, size))
        return;
    firn_state_list list = firn_state_arrays(sim, &h.state);
    h.checksum = checksum_of(sim, &h, &list, own + sizeof h + channels);
    memcpy(own, &h, sizeof h);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static firn_sim *sim;
    static unsigned char *good, *own;
    static size_t good_size;
    char path[256];
    firn_checkpoint_info info;
    if (sim == NULL) {
        void *saved = NULL;
        sim = make();
        expect(firn_sim_save_memory(sim, &saved, &good_size, NULL));
        good = saved;
        own = malloc(good_size);
    }
    fuzz_put("x.chk", bytes, size, path);
    firn_checkpoint_look(path, &info, NULL);
    firn_sim_load_memory(sim, bytes, size, NULL);
    memcpy(own, good, good_size);
    change(own, good_size, bytes, size);
    seal(sim, own, good_size);
    if (firn_sim_load_memory(sim, own, good_size, NULL) != FIRN_OK)
        return 0;
    firn_sim_hash(sim);
    firn_sim_step(sim, 1e-4, NULL);
    expect(firn_sim_load_memory(sim, good, good_size, NULL));
    return 0;
}
