#include "fine_pattern.h"

#include "base/noise.h"

#include <math.h>

enum { MOST = FIRN_FINE_MOST };

// Evenly spread numbers in four directions: powers of the root of x^5 = x + 1.
static double even(int index, int direction)
{
    static const double step[4] = {0.8566748838545029, 0.733891856627126, 0.6287067210378087,
                                   0.5385972572236101};
    double value = 0.5 + step[direction] * (double)(index + 1);
    return value - floor(value);
}

// Weighted mean of a column of the pattern becomes zero.
static void center(const double *share, double *values, int stride, int count)
{
    double mean = 0.0;
    for (int i = 0; i < count; i++)
        mean += share[i] * values[i * stride];
    for (int i = 0; i < count; i++)
        values[i * stride] -= mean;
}

static double length_of(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static void place_offsets(const double *share, int count, double offset[MOST][3])
{
    for (int index = 0, found = 0; found < count; index++) {
        for (int axis = 0; axis < 3; axis++)
            offset[found][axis] = 2.0 * even(index, axis) - 1.0;
        found += length_of(offset[found]) <= 1.0;
    }
    for (int axis = 0; axis < 3; axis++)
        center(share, &offset[0][axis], 3, count);
    double farthest = 0.0;
    for (int i = 0; i < count; i++)
        farthest = fmax(farthest, length_of(offset[i]));
    for (int i = 0; i < count; i++)
        for (int axis = 0; axis < 3; axis++)
            offset[i][axis] *= FIRN_FINE_REACH / farthest;
}

/// Grains that stay together.
typedef struct crumb {
    int size;
    int member[MOST];
} crumb;

// The grain of a random place that is left, and those nearest to it that are left as well.
static void take_crumb(const double offset[MOST][3], int count, int size, uint64_t hash,
                       bool taken[MOST], crumb *c)
{
    int from = (int)(hash % (uint64_t)count);
    while (taken[from])
        from = (from + 1) % count;
    for (c->size = 0; c->size < size; c->size++) {
        int next = -1;
        double least = INFINITY;
        for (int i = 0; i < count; i++) {
            double away[3];
            for (int axis = 0; axis < 3; axis++)
                away[axis] = offset[i][axis] - offset[from][axis];
            double distance = length_of(away);
            if (!taken[i] && distance < least) {
                least = distance;
                next = i;
            }
        }
        taken[next] = true;
        c->member[c->size] = next;
    }
}

// A crumb goes to where it was broken off, large ones hardly, a few small ones far.
static void throw_crumb(const crumb *c, int count, const double offset[MOST][3], uint64_t hash,
                        double apart[MOST][3])
{
    double go[3], middle[3] = {0}, aside[3];
    firn_hash_offsets(hash, aside);
    firn_hash_offsets(hash * 0x9E3779B97F4A7C15u >> 1, go);
    for (int k = 0; k < c->size; k++)
        for (int axis = 0; axis < 3; axis++)
            middle[axis] += offset[c->member[k]][axis] / c->size;
    double t = go[0] + 0.5, few = cbrt((double)count / (8.0 * c->size));
    double far = fmin(few, 1.0) * (0.4 + 3.0 * t * t * t);
    for (int k = 0; k < c->size; k++)
        for (int axis = 0; axis < 3; axis++)
            apart[c->member[k]][axis] = far * (middle[axis] + FIRN_FINE_REACH * aside[axis]);
}

// The largest crumb is a third of the particle, each of the next about half of the one before.
static void break_apart(const double *share, int count, const double offset[MOST][3], int way,
                        double apart[MOST][3])
{
    bool taken[MOST] = {false};
    crumb c;
    double size = count / 3.0;
    for (int left = count, number = 0; left > 0; left -= c.size, number++) {
        const int64_t key[3] = {way, number, count};
        uint64_t hash = firn_lattice_hash(key, 0);
        take_crumb(offset, count, (int)fmax(1.0, fmin(size, left)), hash, taken, &c);
        throw_crumb(&c, count, offset, hash, apart);
        size *= 0.55;
    }
    for (int axis = 0; axis < 3; axis++)
        center(share, &apart[0][axis], 3, count);
}

static void narrow(double from[MOST][3], int count, float to[MOST][3])
{
    for (int i = 0; i < count; i++)
        for (int axis = 0; axis < 3; axis++)
            to[i][axis] = (float)from[i][axis];
}

// Linear drag, v' = k (wind - v): in a time T a grain takes over 1 - exp(-k T) of the wind, and is
// behind by T - (1 - exp(-k T)) / k. Small grains and flat ones have a larger k.
void firn_fine_pattern_make(const firn_fine_def *def, firn_fine_pattern *p)
{
    const double gravity = 9.81, T = (double)def->flight;
    const int count = def->children;
    double share[MOST], size[MOST], lag[MOST], trail[MOST], sum = 0.0;
    double offset[MOST][3], apart[MOST][3];
    for (int i = 0; i < count; i++) {
        size[i] = 1.0 + (double)def->size_variation * (2.0 * (i + 0.5) / count - 1.0);
        share[i] = size[i] * size[i] * size[i];
        sum += share[i];
    }
    for (int i = 0; i < count; i++) {
        double k = gravity / (double)def->fall_speed * (0.5 + even(i, 3)) / size[i];
        share[i] /= sum;
        lag[i] = -expm1(-k * T);
        trail[i] = T - lag[i] / k;
    }
    center(share, lag, 1, count);
    center(share, trail, 1, count);
    place_offsets(share, count, offset);
    narrow(offset, count, p->offset);
    for (int way = 0; way < FIRN_FINE_WAYS; way++) {
        break_apart(share, count, (const double(*)[3])offset, way, apart);
        narrow(apart, count, p->apart[way]);
    }
    for (int i = 0; i < count; i++) {
        p->share[i] = (float)share[i];
        p->radius[i] = (float)cbrt(share[i]);
        p->lag[i] = (float)lag[i];
        p->trail[i] = (float)trail[i];
    }
}
