/// One snow simulation: particles, materials, sources and colliders, advanced in time.
///
/// A simulation is one opaque pointer; several live side by side. What is inside is named by ids.
/// Same input, same bits: for any number of threads and after a resume from a checkpoint.
#ifndef FIRN_SIM_H
#define FIRN_SIM_H

#include "firn/base.h"
#include "firn/channel.h"
#include "firn/checkpoint_info.h"
#include "firn/collider.h"
#include "firn/exchange.h"
#include "firn/field.h"
#include "firn/force.h"
#include "firn/material.h"
#include "firn/params.h"
#include "firn/source.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_sim firn_sim;

typedef enum firn_kernel { FIRN_KERNEL_QUADRATIC, FIRN_KERNEL_CUBIC } firn_kernel;
typedef enum firn_transfer { FIRN_TRANSFER_APIC, FIRN_TRANSFER_FLIP } firn_transfer;
typedef enum firn_integrator {
    FIRN_INTEGRATOR_EXPLICIT,
    FIRN_INTEGRATOR_IMPLICIT,
    FIRN_INTEGRATOR_AUTO, // whichever is estimated to be cheaper, decided anew by each call
} firn_integrator;
typedef enum firn_volume { FIRN_VOLUME_SEED, FIRN_VOLUME_GRID } firn_volume;

/// What flies outside the grid while it is alone, method.md section 11: flakes of sources with
/// snowfall until they near snow; or also spray, particles that have left all others behind.
enum { FIRN_FLIGHT_OFF, FIRN_FLIGHT_SNOWFALL, FIRN_FLIGHT_ALL };
enum { FIRN_ISA_NATIVE, FIRN_ISA_PORTABLE }; // portable: bits of every x86-64 with AVX2 and FMA

typedef struct firn_sim_def {
    uint32_t cookie;
    float cell_size;         // m
    firn_vec3 gravity;       // m/s^2
    int kernel;              // firn_kernel
    int transfer;            // firn_transfer
    int integrator;          // firn_integrator
    int volume;              // firn_volume
    float beta;              // of the implicit step: 0.5 trapezoidal, 1 backward Euler
    float flip_ratio;        // FLIP share kept in flip_reference_dt
    float flip_reference_dt; // s
    float dt_min, dt_max;    // s
    float cfl;               // cells a particle may cross in a substep
    float wave_cfl;          // cells an elastic wave may cross in an explicit substep
    float tolerance;         // m/s, of the implicit solve
    int max_iterations;      // of the implicit solve
    float speed_limit;       // m/s, faster snow means that the simulation diverged
    int retries;             // how often a diverged call starts again with half the step
    firn_vec3 domain_lower, domain_upper; // m, particles beyond are removed
    float sleep_speed;                    // m/s, slower snow falls asleep; 0: none does
    float sleep_time;                     // s, for which it must have been slow
    int thread_count;                     // 0 uses every core
    double memory_limit;                  // MB, 0: none
    int isa;                              // FIRN_ISA_NATIVE or FIRN_ISA_PORTABLE
    int free_flight;                      // FIRN_FLIGHT_OFF and so on
    bool heat;                            // particles have a temperature that acts, sim_heat.h
    float heat_speed, air_temperature, air_exchange; // s/s; K; W/(m^2 K), 0: none passes
    float sun; // W/m^2 that snow takes up where it faces sun_direction
    firn_vec3 sun_direction;
} firn_sim_def;

FIRN_API void firn_sim_def_reset(firn_sim_def *def, size_t size);
FIRN_API firn_param_table firn_sim_params(void);

static inline firn_sim_def firn_sim_def_default(void)
{
    firn_sim_def def;
    firn_sim_def_reset(&def, sizeof def);
    return def;
}

/// Settings by name: "default", or "paper", which follows the publication to the letter.
FIRN_API firn_result firn_sim_def_preset(const char *name, firn_sim_def *def, firn_error *error);

FIRN_API firn_result firn_sim_create(const firn_sim_def *def, firn_sim **sim, firn_error *error);
FIRN_API void firn_sim_destroy(firn_sim *sim);

/// firn_sim_create for one of several ranks. The exchange is copied; what user points to must
/// outlive the simulation. Collective, like firn_sim_add_source and firn_sim_step on what it makes:
/// when they fail on one rank they fail on all, with the same sentence.
///
/// Views, firn_sim_read, firn_sim_save and firn_sim_hash are of the particles that this rank holds
/// after a step; ranks in their order have them in the order of one rank. Statistics are of all
/// ranks, except for bytes and seconds. firn/sim_ranks.h has what all of them hold.
FIRN_API firn_result firn_sim_create_shared(const firn_sim_def *def, const firn_exchange *exchange,
                                            firn_sim **sim, firn_error *error);

/// One more channel for all particles, of the table or the caller's own; before the first source
/// fills. Its values are carried along with the particles and mean nothing to the simulation.
FIRN_API firn_result firn_sim_add_channel(firn_sim *sim, const firn_channel *channel,
                                          firn_error *error);

FIRN_API firn_result firn_sim_add_material(firn_sim *sim, const firn_material_def *def,
                                           firn_material_id *id, firn_error *error);

/// Fills the region at once when its start has been reached; later parts follow in firn_sim_step.
FIRN_API firn_result firn_sim_add_source(firn_sim *sim, const firn_source_def *def,
                                         firn_source_id *id, firn_error *error);
FIRN_API firn_result firn_sim_remove_source(firn_sim *sim, firn_source_id id, firn_error *error);

FIRN_API firn_result firn_sim_add_collider(firn_sim *sim, const firn_collider_def *def,
                                           firn_collider_id *id, firn_error *error);
FIRN_API firn_result firn_sim_remove_collider(firn_sim *sim, firn_collider_id id,
                                              firn_error *error);

/// Rigid animation: keys with rising times, copied. Replaces earlier ones, and should go on from
/// where they have led to: a collider that jumps pushes nothing, but wakes all snow.
FIRN_API firn_result firn_sim_move_collider(firn_sim *sim, firn_collider_id id,
                                            const firn_pose_key *keys, int count,
                                            firn_error *error);

/// Deforming animation: the surfaces before and after the coming call of firn_sim_step.
FIRN_API firn_result firn_sim_deform_collider(firn_sim *sim, firn_collider_id id,
                                              const firn_surface_key *from,
                                              const firn_surface_key *to, firn_error *error);

/// What acts beside gravity, firn/force.h.
FIRN_API firn_result firn_sim_add_force(firn_sim *sim, const firn_force_def *def, firn_force_id *id,
                                        firn_error *error);
FIRN_API firn_result firn_sim_remove_force(firn_sim *sim, firn_force_id id, firn_error *error);

// Between two calls of firn_sim_step some things may change. A checkpoint does not hold them.

/// Takes over gravity, flip_ratio, dt_min, dt_max, cfl, wave_cfl, tolerance, max_iterations and
/// speed_limit; the other settings stay.
FIRN_API firn_result firn_sim_change(firn_sim *sim, const firn_sim_def *def, firn_error *error);

/// Snow that is there changes its behavior; the density is that of snow which comes later.
FIRN_API firn_result firn_sim_change_material(firn_sim *sim, firn_material_id id,
                                              const firn_material_def *def, firn_error *error);

/// Takes over velocity, angular_velocity, noise, travel and region_velocity for what is emitted
/// from now on.
FIRN_API firn_result firn_sim_change_source(firn_sim *sim, firn_source_id id,
                                            const firn_source_def *def, firn_error *error);

/// Takes over contact, friction and restitution.
FIRN_API firn_result firn_sim_change_collider(firn_sim *sim, firn_collider_id id,
                                              const firn_collider_def *def, firn_error *error);

/// Takes over all but the kind. Wakes snow where the force is different.
FIRN_API firn_result firn_sim_change_force(firn_sim *sim, firn_force_id id,
                                           const firn_force_def *def, firn_error *error);

/// What one substep did.
enum { FIRN_STAGE_COUNT = 8 };
typedef struct firn_step_stats {
    double time;                        // s, simulated, at the end of the substep
    double dt;                          // s
    double progress;                    // 0 to 1, within the call
    int64_t substep;                    // number since the simulation began
    int integrator;                     // firn_integrator, explicit or implicit: the one at work
    int iterations;                     // of the implicit solve
    int rejected;                       // smaller steps that had to be tried first
    double residual;                    // m/s
    double kinetic, elastic, potential; // J, of the particles at the start of the substep
    double max_speed;                   // m/s
    double mean_jp, min_jp;
    size_t particles;
    size_t asleep;                    // of them, at rest and left out
    size_t blocks;                    // of 4^3 grid nodes
    size_t bytes;                     // held by the simulation
    double seconds[FIRN_STAGE_COUNT]; // wall time of each stage, see firn_stage_name
    double product_seconds;           // part of the solve: the Hessian times vectors
    double explicit_cost;             // us per particle and simulated second, as estimated for
    double implicit_cost;             // integrator = auto at the start of the call; else 0
    size_t flying;                    // of the particles, grains outside the grid in the air
    size_t settled;                   // of them, single grains that lie on a collider
} firn_step_stats;

/// The name of a stage of firn_step_stats.seconds, such as "p2g"; NULL past the last.
FIRN_API const char *firn_stage_name(int stage);

/// Called after every substep; returning false cancels and keeps the finished substeps.
typedef bool firn_progress(const firn_step_stats *stats, void *user);
FIRN_API void firn_sim_set_progress(firn_sim *sim, firn_progress *progress, void *user);

/// Advances by seconds of simulated time in as many substeps as needed.
///
/// FIRN_ERR_CANCELLED and FIRN_ERR_MEMORY leave the state of the last finished substep;
/// FIRN_ERR_DIVERGED leaves the state that the call started from, or with retries = 0 that of the
/// last sane substep.
FIRN_API firn_result firn_sim_step(firn_sim *sim, double seconds, firn_error *error);

/// Keeps a copy of the present state, about 120 bytes per particle, which firn_sim_restore goes
/// back to after the next call of firn_sim_step, however that has ended. Retries go back to the
/// same copy: whoever marks the state before each step needs no more memory than without. The next
/// step but one, adding or removing a source and loading a checkpoint make the mark void. On
/// failure nothing changes but an earlier mark, which is gone.
FIRN_API firn_result firn_sim_mark(firn_sim *sim, firn_error *error);

/// Particles, time, emission and the settings of sources are as they were at the mark, to the bit;
/// settings, materials and colliders stay as they are now.
FIRN_API firn_result firn_sim_restore(firn_sim *sim, firn_error *error);

FIRN_API double firn_sim_time(const firn_sim *sim); // s

/// Statistics of the last substep.
FIRN_API firn_step_stats firn_sim_stats(const firn_sim *sim);

/// What snow did to a collider in the last call of firn_sim_step: means over the time that the call
/// simulated, an impulse over its seconds. Zeros before the first call, after a load, and for a
/// collider that is new. Snow that sleeps on a collider presses as it did when it fell asleep.
typedef struct firn_collider_force {
    double seconds;          // s, that the means are over
    double force[3];         // N
    double torque[3];        // N m, about the pivot wherever that was
    double origin_torque[3]; // N m, about the origin of the world
    double peak;             // N, largest of a substep
    double asleep[3];        // N, part of the force in the last substep: by snow that sleeps
    double pivot[3];         // m, at the end: translation of its pose; the origin when it deforms
} firn_collider_force;
FIRN_API firn_result firn_sim_collider_force(const firn_sim *sim, firn_collider_id id,
                                             firn_collider_force *force, firn_error *error);

/// Particles of this rank, those outside the grid included.
FIRN_API size_t firn_sim_particle_count(const firn_sim *sim);

/// Read-only arrays of the particles: those on the grid, then grains outside it. While there are
/// such grains the arrays are copies, made by each call; none are given where memory does not
/// suffice. Their order may change every step; id does not. Valid until
/// the simulation changes. Vectors are read with firn_sim_read.
typedef struct firn_particle_view {
    size_t count;
    const uint32_t *id; // unique, never reused
    // Index of the material in order of addition, 0: default. The snow between the chunks of a
    // source counts as one more, added with the source.
    const uint8_t *material;
    const float *mass;      // kg
    const float *volume;    // m^3, initial
    const float *stiffness; // factor on Young's modulus
    const float *jp;        // plastic volume ratio J_P
} firn_particle_view;
FIRN_API firn_particle_view firn_sim_particles(const firn_sim *sim);

/// The channels: the rows of the table, firn_channel_at, and behind them those that were added.
FIRN_API int firn_sim_channel_count(const firn_sim *sim);
FIRN_API const firn_channel *firn_sim_channel(const firn_sim *sim, int index);

/// The number of a channel of that name, for the calls below; -1: neither the table has it nor was
/// it added.
FIRN_API int firn_sim_find_channel(const firn_sim *sim, const char *name);

/// True when the particles have it, by storage or derived; one of the table that is optional or of
/// another setting they may not have.
FIRN_API bool firn_sim_has_channel(const firn_sim *sim, int index);

/// Copies a channel of particles [first, first + count) to out, value after value, in the order of
/// the view. Of a channel that the particles do not have these are its initial values.
FIRN_API firn_result firn_sim_read(const firn_sim *sim, int channel, size_t first, size_t count,
                                   void *out, firn_error *error);

/// The values of a channel of one component where they are, without a copy; NULL: it must be read.
/// Valid until the simulation changes.
FIRN_API const void *firn_sim_values(const firn_sim *sim, int channel);

/// The particles as volumes. Channels that also become grids are named with spaces between, such as
/// "temperature stiffness", in the order of the field's grids; NULL: none.
FIRN_API firn_result firn_sim_rasterize(const firn_sim *sim, const firn_field_def *def,
                                        const char *channels, firn_field **field,
                                        firn_error *error);

/// A checkpoint is the complete state of particles, time and emission. It is loaded into a
/// simulation that was made with the same settings, materials, sources and colliders.
FIRN_API firn_result firn_sim_save(const firn_sim *sim, const char *path, firn_error *error);
FIRN_API firn_result firn_sim_load(firn_sim *sim, const char *path, firn_error *error);
FIRN_API firn_result firn_sim_save_memory(const firn_sim *sim, void **bytes, size_t *size,
                                          firn_error *error); // released with firn_free
FIRN_API firn_result firn_sim_load_memory(firn_sim *sim, const void *bytes, size_t size,
                                          firn_error *error);

/// A number of the host's that says what this simulation is made from, such as a hash of all its
/// inputs. Checkpoints carry it, and loading one that has another is refused (FIRN_ERR_STALE).
/// Zero, as at first: any checkpoint whose settings fit.
FIRN_API void firn_sim_set_origin(firn_sim *sim, uint64_t origin);

/// A checksum of the whole state: equal for equal bits.
FIRN_API uint64_t firn_sim_hash(const firn_sim *sim);

/// The instruction set that the kernels run on: "scalar", "sse2", "avx2" or "avx512".
FIRN_API const char *firn_sim_isa(const firn_sim *sim);

/// What one core can compute at most with those instructions, measured now: 1e9 floating-point
/// operations per second, an FMA as two.
FIRN_API double firn_sim_peak(const firn_sim *sim);

#ifdef __cplusplus
}
#endif

#endif
