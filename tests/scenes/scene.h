/// Small scenes: one simulation with its particles read into plain arrays.
#ifndef FIRN_SCENE_LAWS_H
#define FIRN_SCENE_LAWS_H

#include "firn/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct scene {
    firn_sim *sim;
    firn_sim_def def;
    firn_particle_view particles; // of the last scene_read
    firn_vec3 *position, *velocity;
    firn_mat3 *deformation;
    firn_error error;
} scene;

/// One way to compute: every law holds for each of them.
typedef struct method {
    const char *name;
    int kernel, transfer, integrator;
} method;

static const method METHODS[] = {
    {"quadratic APIC explicit", FIRN_KERNEL_QUADRATIC, FIRN_TRANSFER_APIC,
     FIRN_INTEGRATOR_EXPLICIT},
    {"quadratic APIC implicit", FIRN_KERNEL_QUADRATIC, FIRN_TRANSFER_APIC,
     FIRN_INTEGRATOR_IMPLICIT},
    {"quadratic FLIP explicit", FIRN_KERNEL_QUADRATIC, FIRN_TRANSFER_FLIP,
     FIRN_INTEGRATOR_EXPLICIT},
    {"quadratic FLIP implicit", FIRN_KERNEL_QUADRATIC, FIRN_TRANSFER_FLIP,
     FIRN_INTEGRATOR_IMPLICIT},
    {"cubic APIC explicit", FIRN_KERNEL_CUBIC, FIRN_TRANSFER_APIC, FIRN_INTEGRATOR_EXPLICIT},
    {"cubic APIC implicit", FIRN_KERNEL_CUBIC, FIRN_TRANSFER_APIC, FIRN_INTEGRATOR_IMPLICIT},
    {"cubic FLIP explicit", FIRN_KERNEL_CUBIC, FIRN_TRANSFER_FLIP, FIRN_INTEGRATOR_EXPLICIT},
    {"cubic FLIP implicit", FIRN_KERNEL_CUBIC, FIRN_TRANSFER_FLIP, FIRN_INTEGRATOR_IMPLICIT},
};
/// The four that differ most: each kernel, transfer and integrator occurs twice.
static const int FEW[] = {0, 3, 5, 6};

static inline firn_sim_def scene_def(const method *m, float cell_size)
{
    firn_sim_def def = firn_sim_def_default();
    def.kernel = m->kernel;
    def.transfer = m->transfer;
    def.integrator = m->integrator;
    def.cell_size = cell_size;
    def.thread_count = 1;
    return def;
}

#define scene_check(s, call)                                                                       \
    do {                                                                                           \
        if ((call) != FIRN_OK)                                                                     \
            fail_msg("%s", (s)->error.message);                                                    \
    } while (0)

static inline scene scene_open(const firn_sim_def *def)
{
    scene s = {.def = *def};
    scene_check(&s, firn_sim_create(def, &s.sim, &s.error));
    return s;
}

static inline void scene_forget(scene *s)
{
    free(s->position);
    free(s->velocity);
    free(s->deformation);
    s->position = s->velocity = NULL;
    s->deformation = NULL;
}

static inline void scene_close(scene *s)
{
    firn_sim_destroy(s->sim);
    scene_forget(s);
}

static inline firn_material_id scene_material(scene *s, const firn_material_def *def)
{
    firn_material_id id;
    scene_check(s, firn_sim_add_material(s->sim, def, &id, &s->error));
    return id;
}

static inline void scene_source(scene *s, const firn_source_def *def)
{
    scene_check(s, firn_sim_add_source(s->sim, def, NULL, &s->error));
}

static inline firn_collider_id scene_collider(scene *s, const firn_collider_def *def)
{
    firn_collider_id id;
    scene_check(s, firn_sim_add_collider(s->sim, def, &id, &s->error));
    return id;
}

/// The half space behind a plane.
static inline void scene_plane(scene *s, firn_vec3 normal, float distance, int contact,
                               float friction)
{
    firn_collider_def def = firn_collider_def_plane(normal, distance);
    def.contact = contact;
    def.friction = friction;
    scene_collider(s, &def);
}

/// Four smooth walls around lower.xz to upper.xz.
static inline void scene_walls(scene *s, firn_vec3 lower, firn_vec3 upper)
{
    scene_plane(s, firn_vec(1.0f, 0.0f, 0.0f), lower.x, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(s, firn_vec(-1.0f, 0.0f, 0.0f), -upper.x, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(s, firn_vec(0.0f, 0.0f, 1.0f), lower.z, FIRN_CONTACT_SLIP, 0.0f);
    scene_plane(s, firn_vec(0.0f, 0.0f, -1.0f), -upper.z, FIRN_CONTACT_SLIP, 0.0f);
}

/// A box of snow from corner to corner, on the exact lattice.
static inline firn_source_def scene_box(firn_vec3 lower, firn_vec3 upper)
{
    firn_source_def def = firn_source_def_box(firn_scale(0.5f, firn_add(lower, upper)),
                                              firn_scale(0.5f, firn_sub(upper, lower)));
    def.jitter = 0.0f;
    return def;
}

static inline void scene_step(scene *s, double seconds)
{
    scene_check(s, firn_sim_step(s->sim, seconds, &s->error));
}

static inline void scene_read(scene *s)
{
    scene_forget(s);
    s->particles = firn_sim_particles(s->sim);
    size_t n = s->particles.count;
    s->position = malloc((n + 1) * sizeof *s->position);
    s->velocity = malloc((n + 1) * sizeof *s->velocity);
    s->deformation = malloc((n + 1) * sizeof *s->deformation);
    scene_check(s, firn_sim_read(s->sim, FIRN_POSITION, 0, n, s->position, &s->error));
    scene_check(s, firn_sim_read(s->sim, FIRN_VELOCITY, 0, n, s->velocity, &s->error));
    scene_check(s, firn_sim_read(s->sim, FIRN_DEFORMATION, 0, n, s->deformation, &s->error));
}

/// Sums over the particles of the last scene_read.
typedef struct totals {
    double mass, volume;           // kg, m^3
    double center[3], velocity[3]; // m, m/s: of mass
    double kinetic;                // J
    double lowest, highest;        // m
    double mean_jp, min_jp, max_jp;
} totals;

static inline totals scene_totals(const scene *s)
{
    totals t = {.lowest = 1e9, .highest = -1e9, .min_jp = 1e9, .max_jp = -1e9};
    for (size_t i = 0; i < s->particles.count; i++) {
        double m = s->particles.mass[i], jp = s->particles.jp[i];
        firn_vec3 x = s->position[i], v = s->velocity[i];
        t.mass += m;
        t.volume += s->particles.volume[i];
        const float xs[3] = {x.x, x.y, x.z}, vs[3] = {v.x, v.y, v.z};
        for (int k = 0; k < 3; k++) {
            t.center[k] += m * xs[k];
            t.velocity[k] += m * vs[k];
        }
        t.kinetic += 0.5 * m * firn_dot(v, v);
        t.lowest = fmin(t.lowest, x.y);
        t.highest = fmax(t.highest, x.y);
        t.mean_jp += jp / (double)s->particles.count;
        t.min_jp = fmin(t.min_jp, jp);
        t.max_jp = fmax(t.max_jp, jp);
    }
    for (int k = 0; k < 3; k++) {
        t.center[k] /= t.mass;
        t.velocity[k] /= t.mass;
    }
    return t;
}

static inline double material_mu(const firn_material_def *m)
{
    return m->young_modulus / (2.0 * (1.0 + m->poisson_ratio));
}

static inline double material_lambda(const firn_material_def *m)
{
    return m->young_modulus * m->poisson_ratio /
           ((1.0 + m->poisson_ratio) * (1.0 - 2.0 * m->poisson_ratio));
}

/// Stiffness against compression along one axis when the sides cannot give way (Pa).
static inline double material_confined(const firn_material_def *m)
{
    return material_lambda(m) + 2.0 * material_mu(m);
}

/// Cauchy stress along y (Pa) of a particle whose deformation is nearly aligned with the axes.
static inline double scene_stress_yy(const scene *s, const firn_material_def *m, size_t i)
{
    const float *f = s->deformation[i].m;
    double jp = s->particles.jp[i], harden = exp(m->hardening * (1.0 - jp));
    double j = firn_mat_det(s->deformation[i]), stretch = f[4];
    double tau =
        2.0 * material_mu(m) * (stretch - 1.0) * stretch + material_lambda(m) * (j - 1.0) * j;
    return harden * tau / j;
}

#endif
