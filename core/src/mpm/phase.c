/// Melting and freezing: a particle becomes its partner's material, method.md section 13. Only
/// here, before a sort, may it: blocks keep those of a model together.
#include "models/enthalpy.h"
#include "sim_state.h"

static firn_warmth warmth_of(const firn_sim *sim, size_t p)
{
    const firn_particles *particles = &sim->particles;
    return (firn_warmth){firn_channel_of(particles, sim->heat.temperature)[p],
                         firn_channel_of(particles, sim->heat.liquid)[p],
                         firn_channel_of(particles, sim->heat.rest)[p]};
}

static bool is_liquid(const firn_materials *m, int material)
{
    return firn_model_at(m->model[material])->flows;
}

// Whether a particle is due to become its partner.
static bool changes(const firn_sim *sim, size_t p, int material)
{
    const firn_materials *m = &sim->materials;
    float after = m->heat[FIRN_HEAT_CHANGE_AFTER][material];
    if (m->partner[material] == material)
        return false;
    if (sim->heat.ages && after > 0.0f &&
        firn_channel_of(&sim->particles, sim->heat.age)[p] >= after)
        return true;
    if (!sim->heat.flows)
        return false;
    float liquid = firn_channel_of(&sim->particles, sim->heat.liquid)[p];
    float at = m->heat[FIRN_HEAT_CHANGE_AT][material];
    return is_liquid(m, material) ? liquid <= at : liquid >= at;
}

// What carries no stress yet: a liquid has the volume of its density, and no pressure until the
// density is there; a solid has the volume that it froze in.
static void begin_anew(const firn_sim *sim, size_t p, int from, int to)
{
    const firn_particles *particles = &sim->particles;
    const firn_materials *m = &sim->materials;
    float *volume = firn_channel_of(particles, FIRN_VOLUME) + p;
    float *jp = firn_channel_of(particles, FIRN_JP) + p;
    if (is_liquid(m, to))
        *volume = firn_channel_of(particles, FIRN_MASS)[p] / m->density[to];
    else
        *volume *= *jp;
    *jp = 1.0f;
    for (int k = 0; k < 9; k++)
        firn_channel_of(particles, FIRN_F + k)[p] = k % 4 == 0 ? 1.0f : 0.0f;
    if (sim->heat.ages)
        firn_channel_of(particles, sim->heat.age)[p] = 0.0f;
    if (!sim->heat.flows)
        return;
    firn_warmth warmth = warmth_of(sim, p);
    firn_channel_of(particles, FIRN_STIFFNESS)[p] *=
        firn_warm_stiffness(m, to, warmth) / firn_warm_stiffness(m, from, warmth);
}

static bool change_block(const firn_sim *sim, const firn_block *block)
{
    uint8_t *material = sim->particles.material.data;
    bool any = false;
    for (size_t p = block->begin; p < block->end; p++) {
        int from = material[p];
        if (!changes(sim, p, from))
            continue;
        material[p] = sim->materials.partner[from];
        begin_anew(sim, p, from, material[p]);
        any = true;
    }
    return any;
}

void firn_heat_change_phase(firn_sim *sim)
{
    if (!sim->heat.flows && !sim->heat.ages)
        return;
    firn_block *blocks = firn_grid_blocks(&sim->grid);
    size_t count = sim->grid.block_count;
#pragma omp parallel for schedule(dynamic, 16) num_threads(sim->thread_count)
    for (size_t b = 0; b < count; b++)
        if (change_block(sim, &blocks[b]))
            blocks[b].rest = 0.0f;
}
