#include "grains.h"

#include "phase.h"
#include "random.h"

#include <math.h>

enum { STACK = 4 * FIRN_GRAIN_LEVELS };

/// A ray on its way through the tree.
typedef struct probe {
    const firn_grain_set *set;
    float from[3], direction[3], inverse[3];
    int near[3]; // side that is met first along each axis
    float late;  // share of the shutter that has passed
    float time;
} probe;

/// A subtree that is still to be searched.
typedef struct task {
    int level; // -1: a pack
    size_t index;
    float distance;
} task;

static probe begin(const firn_grain_set *set, firn_vec3 from, firn_vec3 direction, float time)
{
    probe p = {.set = set,
               .from = {from.x, from.y, from.z},
               .direction = {direction.x, direction.y, direction.z},
               .late = time + 0.5f,
               .time = time};
    for (int axis = 0; axis < 3; axis++) {
        // A direction along a face still has a slope, so that nothing becomes 0 times infinity.
        float d = p.direction[axis];
        d = fabsf(d) < 1e-12f ? (d < 0.0f ? -1e-12f : 1e-12f) : d;
        p.inverse[axis] = 1.0f / d;
        p.near[axis] = d < 0.0f;
    }
    return p;
}

// Where a ray enters the boxes of a node, INFINITY for those that it misses.
static inline void enter(const probe *p, size_t node, float end, float distance[4])
{
    const firn_grain_node *early = &p->set->nodes[node];
    float in[4] = {0.0f, 0.0f, 0.0f, 0.0f}, out[4] = {end, end, end, end};
    for (int axis = 0; axis < 3; axis++) {
        float first[4], last[4];
        const float *a = early->side[p->near[axis]][axis], *b = early->side[!p->near[axis]][axis];
        for (int i = 0; i < 4; i++) {
            first[i] = a[i];
            last[i] = b[i];
        }
        if (p->set->late != NULL) {
            const firn_grain_node *late = &p->set->late[node];
            a = late->side[p->near[axis]][axis];
            b = late->side[!p->near[axis]][axis];
            for (int i = 0; i < 4; i++) {
                first[i] += p->late * (a[i] - first[i]);
                last[i] += p->late * (b[i] - last[i]);
            }
        }
        for (int i = 0; i < 4; i++) {
            float s = (first[i] - p->from[axis]) * p->inverse[axis];
            float t = (last[i] - p->from[axis]) * p->inverse[axis];
            in[i] = s > in[i] ? s : in[i];
            out[i] = t < out[i] ? t : out[i];
        }
    }
    for (int i = 0; i < 4; i++)
        distance[i] = in[i] <= out[i] ? in[i] : INFINITY;
}

static inline firn_vec3 center_of(const probe *p, size_t pack, int i)
{
    const firn_grain_pack *g = &p->set->packs[pack];
    firn_vec3 c = {g->at[0][i], g->at[1][i], g->at[2][i]};
    if (p->set->motion == NULL)
        return c;
    const firn_grain_motion *m = &p->set->motion[pack];
    return firn_add_scaled(c, p->time, firn_vec(m->step[0][i], m->step[1][i], m->step[2][i]));
}

// Distances to where four spheres are entered, INFINITY for those that are not.
static inline void enter_spheres(const probe *p, size_t pack, float distance[4])
{
    const firn_grain_pack *g = &p->set->packs[pack];
    float x[4], y[4], z[4];
    for (int i = 0; i < 4; i++) {
        x[i] = p->from[0] - g->at[0][i];
        y[i] = p->from[1] - g->at[1][i];
        z[i] = p->from[2] - g->at[2][i];
    }
    if (p->set->motion != NULL) {
        const firn_grain_motion *m = &p->set->motion[pack];
        for (int i = 0; i < 4; i++) {
            x[i] -= p->time * m->step[0][i];
            y[i] -= p->time * m->step[1][i];
            z[i] -= p->time * m->step[2][i];
        }
    }
    for (int i = 0; i < 4; i++) {
        float b = x[i] * p->direction[0] + y[i] * p->direction[1] + z[i] * p->direction[2];
        // The way past the center is short, its square exact enough far away too.
        float u = x[i] - b * p->direction[0], v = y[i] - b * p->direction[1],
              w = z[i] - b * p->direction[2];
        float left = g->radius[i] * g->radius[i] - (u * u + v * v + w * w);
        float root = sqrtf(left > 0.0f ? left : 0.0f), when = -b - root;
        distance[i] = left > 0.0f && g->radius[i] > 0.0f && when > 0.0f ? when : INFINITY;
    }
}

static inline void enter_flakes(const probe *p, size_t pack, float distance[4])
{
    firn_vec3 from = {p->from[0], p->from[1], p->from[2]};
    firn_vec3 direction = {p->direction[0], p->direction[1], p->direction[2]};
    for (int i = 0; i < 4; i++) {
        distance[i] = INFINITY;
        float radius = p->set->packs[pack].radius[i];
        if (!(radius > 0.0f))
            continue;
        firn_vec3 normal = firn_grain_facet(p->set->key[4 * pack + (size_t)i]);
        firn_vec3 to = firn_sub(center_of(p, pack, i), from);
        float slope = firn_dot(direction, normal), when = firn_dot(to, normal) / slope;
        if (!(fabsf(slope) > 1e-6f && when > 0.0f))
            continue;
        firn_vec3 aside = firn_sub(firn_scale(when, direction), to);
        if (firn_dot(aside, aside) < radius * radius)
            distance[i] = when;
    }
}

// Looks at a pack; true when something is nearer than hit->distance, which it lowers.
static inline bool search_pack(const probe *p, size_t pack, firn_grain_hit *hit)
{
    float distance[4];
    bool met = false;
    if (p->set->shape == FIRN_GRAINS_FLAKES)
        enter_flakes(p, pack, distance);
    else
        enter_spheres(p, pack, distance);
    for (int i = 0; i < 4; i++)
        if (distance[i] < hit->distance) {
            hit->distance = distance[i];
            hit->grain = (uint32_t)(4 * pack + (size_t)i);
            met = true;
        }
    return met;
}

// Puts the children that are met on the stack, the nearest last.
static inline int push(const probe *p, task at, float end, task *stack, int top)
{
    float distance[4];
    enter(p, p->set->first[at.level] + at.index, end, distance);
    int first = top;
    for (int i = 0; i < 4; i++) {
        if (!(distance[i] < end))
            continue;
        int place = top++;
        for (; place > first && stack[place - 1].distance < distance[i]; place--)
            stack[place] = stack[place - 1];
        stack[place] = (task){at.level - 1, 4 * at.index + (size_t)i, distance[i]};
    }
    return top;
}

static bool search(const probe *p, bool any, firn_grain_hit *hit)
{
    task stack[STACK];
    bool met = false;
    int top = 0;
    if (p->set->levels > 0)
        stack[top++] = (task){p->set->levels - 1, 0, 0.0f};
    while (top > 0) {
        task at = stack[--top];
        if (at.distance >= hit->distance)
            continue;
        if (at.level >= 0)
            top = push(p, at, hit->distance, stack, top);
        else if (search_pack(p, at.index, hit)) {
            met = true;
            if (any)
                break;
        }
    }
    return met;
}

bool firn_grains_meet(const firn_grain_set *set, firn_vec3 from, firn_vec3 direction, float time,
                      firn_grain_hit *hit)
{
    probe p = begin(set, from, direction, time);
    if (!search(&p, false, hit))
        return false;
    hit->center = center_of(&p, hit->grain / 4, (int)(hit->grain % 4));
    if (set->shape == FIRN_GRAINS_FLAKES) {
        firn_vec3 normal = firn_grain_facet(set->key[hit->grain]);
        hit->normal = firn_dot(normal, direction) < 0.0f ? normal : firn_scale(-1.0f, normal);
        return true;
    }
    firn_vec3 point = firn_add_scaled(from, hit->distance, direction);
    hit->normal = firn_normalize(firn_sub(point, hit->center));
    return true;
}

bool firn_grains_block(const firn_grain_set *set, firn_vec3 from, firn_vec3 direction, float time,
                       float end)
{
    probe p = begin(set, from, direction, time);
    firn_grain_hit hit = {.distance = end};
    return search(&p, true, &hit);
}

firn_vec3 firn_grain_facet(uint32_t key)
{
    uint64_t bits = firn_mix((uint64_t)key + 0x632BE59BD9B4E019u);
    float height = (float)(int32_t)(bits >> 32) * 0x1p-31f;
    float turn = (float)(uint32_t)bits * (2.0f * FIRN_PI * 0x1p-32f);
    float wide = sqrtf(fmaxf(0.0f, 1.0f - height * height));
    return firn_vec(wide * cosf(turn), height, wide * sinf(turn));
}
