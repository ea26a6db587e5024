// Checkpoints. Most of what is mutated ends at their checksum; tests/unit/checkpoint.c goes behind
// it.
#define _POSIX_C_SOURCE 200809L
#include "fuzz_file.h"

#include "firn/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static firn_sim *make(void)
{
    firn_sim *sim = NULL;
    firn_sim_def def = firn_sim_def_default();
    firn_source_def ball = firn_source_def_sphere(firn_vec(0.0f, 1.0f, 0.0f), 0.06f);
    def.cell_size = 0.05f;
    def.thread_count = 1;
    if (firn_sim_create(&def, &sim, NULL) != FIRN_OK ||
        firn_sim_add_source(sim, &ball, NULL, NULL) != FIRN_OK ||
        firn_sim_step(sim, 0.001, NULL) != FIRN_OK)
        abort();
    return sim;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static firn_sim *sim;
    char path[256];
    firn_checkpoint_info info;
    if (sim == NULL)
        sim = make();
    fuzz_put("x.chk", bytes, size, path);
    firn_checkpoint_look(path, &info, NULL);
    if (firn_sim_load_memory(sim, bytes, size, NULL) == FIRN_OK)
        firn_sim_hash(sim);
    return 0;
}
