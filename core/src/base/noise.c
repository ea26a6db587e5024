#include "noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static uint64_t scramble(uint64_t bits)
{
    bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93u;
    bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93u;
    return bits ^ (bits >> 32);
}

uint64_t firn_lattice_hash(const int64_t index[3], uint64_t seed)
{
    uint64_t hash = scramble(seed + 0x9E3779B97F4A7C15u);
    for (int axis = 0; axis < 3; axis++)
        hash = scramble(hash + 0x9E3779B97F4A7C15u * (uint64_t)(index[axis] + 1));
    return hash;
}

void firn_hash_offsets(uint64_t hash, double offsets[3])
{
    enum { BITS = 21 };
    const uint64_t mask = (1u << BITS) - 1u;
    for (int axis = 0; axis < 3; axis++)
        offsets[axis] = ((double)((hash >> (BITS * axis)) & mask) + 0.5) / (1 << BITS) - 0.5;
}

// One of the twelve directions to the edges of a cube, times the offset from a lattice point.
static double edge_gradient(uint64_t hash, const double offset[3])
{
    unsigned direction = (unsigned)((hash >> 32) % 12u);
    unsigned missing_axis = direction / 4u;
    double a = offset[missing_axis == 0 ? 1 : 0];
    double b = offset[missing_axis == 2 ? 1 : 2];
    return ((direction & 1u) ? -a : a) + ((direction & 2u) ? -b : b);
}

static double fade(double t) { return t * t * t * (t * (t * 6.0 - 15.0) + 10.0); }

// Beyond this a double no longer resolves the inside of a lump.
static const double farthest = 1e12;

double firn_noise(const double point[3], uint64_t seed)
{
    // The twelve gradients reach 1.036 at most.
    const double highest = 1.04;

    int64_t corner[3];
    double inside[3], weight[3];
    for (int axis = 0; axis < 3; axis++) {
        if (!(fabs(point[axis]) < farthest))
            return 0.0;
        double whole = floor(point[axis]);
        corner[axis] = (int64_t)whole;
        inside[axis] = point[axis] - whole;
        weight[axis] = fade(inside[axis]);
    }
    double sum = 0.0;
    for (int i = 0; i < 8; i++) {
        int64_t index[3];
        double offset[3], share = 1.0;
        for (int axis = 0; axis < 3; axis++) {
            int step = (i >> axis) & 1;
            index[axis] = corner[axis] + step;
            offset[axis] = inside[axis] - step;
            share *= step ? weight[axis] : 1.0 - weight[axis];
        }
        sum += share * edge_gradient(firn_lattice_hash(index, seed), offset);
    }
    return sum / highest;
}

static double fade_slope(double t) { return 30.0 * t * t * (t - 1.0) * (t - 1.0); }

// The gradient of a sum of slopes around lattice points, without the factor of firn_noise.
static void noise_gradient(const double point[3], uint64_t seed, double gradient[3])
{
    int64_t corner[3];
    double inside[3], weight[3], slope[3];
    gradient[0] = gradient[1] = gradient[2] = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        if (!(fabs(point[axis]) < farthest))
            return;
        double whole = floor(point[axis]);
        corner[axis] = (int64_t)whole;
        inside[axis] = point[axis] - whole;
        weight[axis] = fade(inside[axis]);
        slope[axis] = fade_slope(inside[axis]);
    }
    for (int i = 0; i < 8; i++) {
        int64_t index[3];
        double offset[3], share[3];
        for (int axis = 0; axis < 3; axis++) {
            int step = (i >> axis) & 1;
            index[axis] = corner[axis] + step;
            offset[axis] = inside[axis] - step;
            share[axis] = step ? weight[axis] : 1.0 - weight[axis];
        }
        uint64_t hash = firn_lattice_hash(index, seed);
        double value = edge_gradient(hash, offset), all = share[0] * share[1] * share[2];
        for (int axis = 0; axis < 3; axis++) {
            double unit[3] = {axis == 0, axis == 1, axis == 2};
            double rise = (i >> axis) & 1 ? slope[axis] : -slope[axis];
            double others = share[(axis + 1) % 3] * share[(axis + 2) % 3];
            gradient[axis] += all * edge_gradient(hash, unit) + rise * others * value;
        }
    }
}

void firn_noise_swirl(const double point[3], double drift, uint64_t seed, double swirl[3])
{
    // Root mean square of the curl, measured over many points.
    const double usual = 1.724;
    double slope[3][3];
    for (int k = 0; k < 3; k++) {
        double at[3] = {point[0], point[1], point[2]};
        at[k] += drift;
        noise_gradient(at, seed + 0x632BE59BD9B4E019u * (uint64_t)(k + 1), slope[k]);
    }
    for (int k = 0; k < 3; k++) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        swirl[k] = (slope[b][a] - slope[a][b]) / usual;
    }
}

// The middle of a piece.
typedef struct middle {
    double at[3];
    double distance2; // to the point that asks
    uint64_t name;
} middle;

static double distance2(const double a[3], const double b[3])
{
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

// Puts the middle in a cube among the two nearest, nearest first.
static void consider(const double point[3], const int64_t cube[3], uint64_t seed, middle nearest[2])
{
    middle m = {.name = firn_lattice_hash(cube, seed)};
    firn_hash_offsets(m.name, m.at);
    for (int axis = 0; axis < 3; axis++)
        m.at[axis] += (double)cube[axis] + 0.5;
    m.distance2 = distance2(point, m.at);
    if (m.distance2 < nearest[0].distance2) {
        nearest[1] = nearest[0];
        nearest[0] = m;
    } else if (m.distance2 < nearest[1].distance2) {
        nearest[1] = m;
    }
}

double firn_piece_border(const double point[3], uint64_t seed, uint64_t *border)
{
    // The second nearest is less than two cubes away; most are found among the 27 around.
    enum { REACH = 2, EDGE = 2 * REACH + 1 };
    middle nearest[2] = {{.distance2 = INFINITY}, {.distance2 = INFINITY}};
    int64_t home[3];
    double gap2[3][EDGE]; // squares of the distances to the cubes along each axis
    *border = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (!(fabs(point[axis]) < farthest))
            return INFINITY;
        double whole = floor(point[axis]), inside = point[axis] - whole;
        home[axis] = (int64_t)whole;
        for (int step = -REACH; step <= REACH; step++) {
            double gap = step > 0 ? step - inside : step < 0 ? inside - (step + 1) : 0.0;
            gap2[axis][step + REACH] = gap * gap;
        }
    }
    for (int ring = 0; ring <= REACH; ring++)
        for (int i = -ring; i <= ring; i++)
            for (int j = -ring; j <= ring; j++)
                for (int k = -ring; k <= ring; k++) {
                    const int64_t cube[3] = {home[0] + i, home[1] + j, home[2] + k};
                    bool fresh = abs(i) == ring || abs(j) == ring || abs(k) == ring;
                    double least2 = gap2[0][i + REACH] + gap2[1][j + REACH] + gap2[2][k + REACH];
                    if (fresh && least2 < nearest[1].distance2)
                        consider(point, cube, seed, nearest);
                }
    *border = scramble(nearest[0].name ^ nearest[1].name);
    double apart = sqrt(distance2(nearest[0].at, nearest[1].at));
    return 0.5 * (nearest[1].distance2 - nearest[0].distance2) / apart;
}
