/// integrator = auto: explicit or semi-implicit, whichever should be cheaper for what the particles
/// do now, method.md (25). The estimate looks at the state alone, never at a clock: any machine,
/// any number of threads and a resumed run choose alike.
#include "sim_state.h"

#include <math.h>

/// Cost in ns per particle, measured in the middle of an response; only the ratios count.
typedef struct step_cost {
    double plain;     // an explicit substep
    double split;     // an implicit substep without its iterations
    double iteration; // one product with the Hessian and the sweeps around it
} step_cost;

static const step_cost costs[2][2] = {
    [FIRN_KERNEL_QUADRATIC] =
        {[FIRN_TRANSFER_APIC] = {54.0, 128.0, 30.0}, [FIRN_TRANSFER_FLIP] = {67.0, 132.0, 32.0}},
    [FIRN_KERNEL_CUBIC] =
        {[FIRN_TRANSFER_APIC] = {69.0, 179.0, 48.0}, [FIRN_TRANSFER_FLIP] = {105.0, 185.0, 53.0}},
};

// Iterations grow with the cells that waves cross in the substep: little with the fastest, much
// with those in most of the snow, for spots that are harder than the rest cost less.
#define ITERATIONS_LEAST 1.0
#define ITERATIONS_PER_FAST_CELL 0.5
#define ITERATIONS_PER_MEAN_CELL 2.2

enum { CLUSTER = 64 }; // particles that lie together and count as one

/// What the estimate wants to know of the particles.
typedef struct snow_state {
    double speed;                // m/s, of the fastest
    double fast_wave, mean_wave; // m/s
} snow_state;

static int model_of(const firn_sim *sim, size_t p)
{
    return sim->materials.model[((const uint8_t *)sim->particles.material.data)[p]];
}

// The limits of some particles, each run of one model by itself.
static firn_block_limits measure_cluster(const firn_sim *sim, const firn_pass *pass, size_t begin,
                                         size_t end)
{
    firn_block_limits all = {.speed2 = 0.0f};
    while (begin < end) {
        firn_block run = {.begin = (uint32_t)begin, .end = (uint32_t)end};
        int model = model_of(sim, begin++);
        while (sim->materials.mixed && begin < end && model_of(sim, begin) == model)
            begin++;
        if (sim->materials.mixed)
            run.end = (uint32_t)begin;
        begin = run.end;
        firn_block_set_model(&run, model);
        firn_block_limits limits;
        sim->kernels->measure(pass, &run, &limits);
        all.speed2 = fmaxf(all.speed2, limits.speed2);
        all.wave2 = fmaxf(all.wave2, limits.wave2);
    }
    return all;
}

/// What has been seen of the particles so far. A cluster may end on another rank.
typedef struct survey {
    double speed2, wave2; // (m/s)^2, of the fastest
    double sum, clusters; // m/s, of the fastest waves in clusters that are complete
    double open_wave2;    // (m/s)^2, in the one that is not
    size_t open_count;    // particles of it
} survey;

static void close_cluster(survey *s)
{
    s->sum += sqrt(s->open_wave2);
    s->clusters += 1.0;
    s->open_wave2 = 0.0;
    s->open_count = 0;
}

static void add_particles(survey *s, const firn_sim *sim, size_t begin, size_t last)
{
    firn_pass pass = firn_sim_pass(sim, 0.0f);
    while (begin < last) {
        size_t missing = CLUSTER - s->open_count, end = last;
        end = last - begin < missing ? last : begin + missing;
        firn_block_limits limits = measure_cluster(sim, &pass, begin, end);
        s->speed2 = fmax(s->speed2, (double)limits.speed2);
        s->wave2 = fmax(s->wave2, (double)limits.wave2);
        s->open_wave2 = fmax(s->open_wave2, (double)limits.wave2);
        s->open_count += end - begin;
        begin = end;
        if (s->open_count == CLUSTER)
            close_cluster(s);
    }
}

static void add_sorted(void *state, void *context)
{
    const firn_sim *sim = context;
    add_particles(state, sim, 0, sim->order.sorted_count);
}

static snow_state measure_all(firn_sim *sim)
{
    survey s = {0};
    firn_owners_fold(&sim->owners, &s, sizeof s, add_sorted, sim);
    // Those that wait for a sort are the same on all ranks.
    add_particles(&s, sim, sim->order.sorted_count, sim->particles.count);
    if (s.open_count > 0)
        close_cluster(&s);
    return (snow_state){sqrt(s.speed2), sqrt(s.wave2), s.clusters > 0.0 ? s.sum / s.clusters : 0.0};
}

// Sets the costs of a simulated second, us per particle, and chooses.
static void estimate(firn_sim *sim)
{
    const firn_sim_def *def = &sim->def;
    const step_cost *cost = &costs[def->kernel][def->transfer];
    snow_state snow = measure_all(sim);
    double h = def->cell_size;
    double speed = snow.speed + (double)firn_colliders_max_speed(&sim->colliders, sim->time,
                                                                 sim->time + (double)def->dt_max);
    // No step crosses more than dt_max, however slow the snow.
    double dt = fmin((double)def->dt_max, (double)def->cfl * h / fmax(speed, 1e-9));
    double dt_explicit = fmin(dt, (double)def->wave_cfl * h / fmax(snow.fast_wave, 1e-9));
    double iterations = ITERATIONS_LEAST + dt / h *
                                               (ITERATIONS_PER_FAST_CELL * snow.fast_wave +
                                                ITERATIONS_PER_MEAN_CELL * snow.mean_wave);
    firn_step_stats *stats = &sim->stats;
    stats->explicit_cost = 1e-3 * cost->plain / dt_explicit;
    stats->implicit_cost = 1e-3 * (cost->split + iterations * cost->iteration) / dt;
    sim->implicit = stats->implicit_cost < stats->explicit_cost && !sim->materials.is_explicit;
}

void firn_sim_choose_integrator(firn_sim *sim)
{
    const firn_sim_def *def = &sim->def;
    if (def->integrator == FIRN_INTEGRATOR_AUTO)
        estimate(sim);
    // Fields of the grid are claimed by the sort that every call begins with.
    firn_grid_use(&sim->grid, sim->implicit           ? FIRN_FIELDS_IMPLICIT
                              : firn_sim_is_apic(sim) ? FIRN_FIELDS_APIC
                                                      : FIRN_FIELDS_FLIP);
}
