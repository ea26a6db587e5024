/// From a point of the lattice to a particle: its mass, its stiffness, its motion, its bonds.
#include "seed_emission.h"

#include "base/noise.h"

#include <math.h>

// The weakest snow that noise makes, relative to the material.
static const double noise_floor = 0.05;

// Of the noise that makes chunks, counted down from the highest number.
static uint64_t chunk_seed(const firn_source_def *def, int stream)
{
    return ~((uint64_t)def->seed * 4 + (uint64_t)stream);
}

// Of the lumps of one size, likewise, with bits of its own.
static uint64_t strength_seed(const firn_source_def *def, int octave)
{
    return ~((uint64_t)def->seed * 4 + (uint64_t)octave) ^ (UINT64_C(1) << 62);
}

// Lumps belong to the snow: a continuous source carries them along.
static double noise_factor(const firn_source_def *def, float amplitude, const double origin[3],
                           int stream)
{
    if (amplitude == 0.0f)
        return 1.0;
    double scaled[3];
    for (int axis = 0; axis < 3; axis++)
        scaled[axis] = origin[axis] / (double)def->noise_scale;
    double factor = 1.0 + (double)amplitude * firn_noise(scaled, firn_seed_stream(def, stream));
    return fmax(factor, noise_floor);
}

// Lumps of four sizes, each 0.7 times as strong as the next larger: of unit variance, about.
static double strength_factor(const firn_source_def *def, const double origin[3])
{
    enum { OCTAVES = 4 };
    const double gain = 0.7, unit = 2.2 / 1.3828, most = 8.0; // sqrt(1 + 0.7^2 + ... + 0.7^6)
    if (def->strength_noise == 0.0f)
        return 1.0;
    double sum = 0.0, amplitude = 1.0, size = (double)def->noise_scale;
    for (int o = 0; o < OCTAVES; o++) {
        double scaled[3];
        for (int axis = 0; axis < 3; axis++)
            scaled[axis] = origin[axis] / size;
        sum += amplitude * firn_noise(scaled, strength_seed(def, o));
        amplitude *= gain;
        size *= 0.5;
    }
    return fmin(most, exp((double)def->strength_noise * unit * sum));
}

// True in the sheets between chunks, one cell thick, which is as thin as a crack can be. Their
// borders are bent by noise, and some hold, so that chunks differ in shape and size.
static bool is_bond(const firn_seed_emission *e, const double origin[3])
{
    const double bend = 0.25, holding = 0.15;
    const double size = (double)e->def->chunk_size;
    if (size == 0.0)
        return false;
    double scaled[3], bent[3];
    for (int axis = 0; axis < 3; axis++)
        scaled[axis] = origin[axis] / size;
    for (int axis = 0; axis < 3; axis++)
        bent[axis] = scaled[axis] + bend * firn_noise(scaled, chunk_seed(e->def, 1 + axis));
    uint64_t border;
    double distance = size * firn_piece_border(bent, chunk_seed(e->def, 0), &border);
    bool holds = (double)(border >> 32) < holding * 0x1p32;
    return distance < 0.5 * (double)e->seeding->cell_size && !holds;
}

// What a particle at x has of the velocity of the thing that it is made from.
static firn_vec3 inherited(const firn_source_def *def, firn_vec3 x)
{
    const firn_source_flow *flow = def->flow;
    firn_vec3 sum = {0.0f, 0.0f, 0.0f};
    if (flow == NULL || def->inherit_velocity == 0.0f)
        return sum;
    firn_vec3 r = firn_scale(1.0f / flow->spacing, firn_sub(x, flow->origin));
    const float at[3] = {r.x, r.y, r.z};
    size_t low[3], high[3];
    float share[3];
    for (int axis = 0; axis < 3; axis++) {
        float last = (float)(flow->size[axis] - 1);
        float inside = fminf(fmaxf(at[axis], 0.0f), last), base = floorf(inside);
        low[axis] = (size_t)base;
        high[axis] = base < last ? low[axis] + 1 : low[axis];
        share[axis] = inside - base;
    }
    for (int corner = 0; corner < 8; corner++) {
        float weight = def->inherit_velocity;
        size_t index = 0;
        for (int axis = 0; axis < 3; axis++) {
            bool upper = corner >> axis & 1;
            weight *= upper ? share[axis] : 1.0f - share[axis];
            index = index * (size_t)flow->size[axis] + (upper ? high[axis] : low[axis]);
        }
        sum = firn_add_scaled(sum, weight, flow->values[index]);
    }
    return sum;
}

void firn_seed_put(const firn_seed_emission *e, size_t i, size_t point, const firn_seed *s)
{
    const firn_seeds *seeds = e->seeds;
    const firn_source_def *def = e->def;
    float position[3];
    double lattice[3];
    for (int axis = 0; axis < 3; axis++) {
        position[axis] = (float)(s->origin[axis] + e->velocity[axis] * e->now + e->travel[axis]);
        lattice[axis] = s->origin[axis] - e->shift[axis];
    }
    firn_vec3 x = firn_vec(position[0], position[1], position[2]);
    ((firn_vec3 *)seeds->position.data)[i] = x;
    if (seeds->wants != NULL) {
        bool wanted = seeds->wants(seeds->user, x);
        ((uint32_t *)seeds->number.data)[i] = wanted ? 0 : FIRN_SEED_UNWANTED;
        if (!wanted)
            return;
    }
    firn_vec3 center = firn_add(
        def->center, firn_vec((float)e->travel[0], (float)e->travel[1], (float)e->travel[2]));
    firn_vec3 spin = firn_cross(def->angular_velocity, firn_sub(x, center));
    spin = firn_add(spin, inherited(def, firn_add(def->center, firn_sub(x, center))));
    double density = s->density * noise_factor(def, def->density_noise, lattice, STREAM_DENSITY);
    double stiffness = s->stiffness * strength_factor(def, lattice) *
                       noise_factor(def, def->stiffness_noise, lattice, STREAM_STIFFNESS);
    const struct {
        int column;
        float value;
    } made[] = {{FIRN_V, def->velocity.x},
                {FIRN_V + 1, def->velocity.y},
                {FIRN_V + 2, def->velocity.z},
                {FIRN_MASS, (float)(s->mass * density)},
                {FIRN_VOLUME, (float)s->volume},
                {FIRN_STIFFNESS, (float)stiffness},
                {FIRN_JP, 1.0f}};
    for (size_t n = 0; n < FIRN_COUNT(made); n++)
        ((float *)seeds->column[made[n].column].data)[i] = made[n].value;
    ((uint8_t *)seeds->bond.data)[i] = is_bond(e, lattice);
    firn_seed_values_put(e->source, seeds, i, point, lattice);
    const float turning[3] = {spin.x, spin.y, spin.z};
    for (int axis = 0; axis < 3; axis++)
        ((float *)seeds->column[FIRN_V + axis].data)[i] += turning[axis];
}

void firn_seed_add_layers(const firn_seed_emission *e, firn_seed *s)
{
    const firn_source_def *def = e->def;
    if (def->shell_thickness > 0.0f &&
        firn_seed_region_distance(&e->region, s->origin) > -(double)def->shell_thickness) {
        s->stiffness *= (double)def->shell_stiffness;
        s->density *= (double)def->shell_density;
    }
    if (def->crust_depth > 0.0f) {
        firn_vec3 rise = firn_scale(def->crust_depth, e->seeding->up);
        double above[3] = {s->origin[0] + (double)rise.x, s->origin[1] + (double)rise.y,
                           s->origin[2] + (double)rise.z};
        if (!firn_seed_region_inside(&e->region, above)) {
            s->stiffness *= (double)def->crust_stiffness;
            s->density *= (double)def->crust_density;
        }
    }
}
