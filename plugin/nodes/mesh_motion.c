#include "mesh_motion.h"

#include <math.h>

static const double JUMP_RATIO = 10.0; // to the steps before and after

double firn_mesh_step(const firn_mesh *a, const firn_mesh *b)
{
    if (a == NULL || b == NULL || a->vertex_count == 0 || !firn_mesh_same_topology(a, b))
        return NAN;
    double sum = 0.0;
    for (size_t i = 0; i < a->vertex_count; i++) {
        firn_vec3 d = firn_sub(b->position[i], a->position[i]);
        sum += (double)firn_dot(d, d);
    }
    return sqrt(sum / (double)a->vertex_count);
}

firn_vec3 firn_mesh_extent(const firn_mesh *mesh)
{
    firn_vec3 low = mesh->position[0], high = low;
    for (size_t i = 1; i < mesh->vertex_count; i++) {
        firn_vec3 p = mesh->position[i];
        low = firn_vec(fminf(low.x, p.x), fminf(low.y, p.y), fminf(low.z, p.z));
        high = firn_vec(fmaxf(high.x, p.x), fmaxf(high.y, p.y), fmaxf(high.z, p.z));
    }
    return firn_sub(high, low);
}

bool firn_step_jumps(double step, double earlier, double later, double size)
{
    double usual = fmax(isnan(earlier) ? 0.0 : earlier, isnan(later) ? 0.0 : later);
    bool alone = isnan(earlier) && isnan(later);
    return !alone && step > JUMP_RATIO * usual && step > FIRN_JUMP_SHARE * size;
}

firn_result firn_mesh_differences(const firn_mesh *before, const firn_mesh *here,
                                  const firn_mesh *after, double fps, firn_vec3 **velocity,
                                  firn_error *error)
{
    size_t count = here->vertex_count;
    float weight = (before != NULL && after != NULL ? 0.5f : 1.0f) * (float)fps;
    *velocity = firn_alloc_zero((count + 1) * sizeof **velocity);
    if (*velocity == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot tell how a mesh moves");
    for (size_t i = 0; i < count; i++) {
        firn_vec3 at = here->position[i], sum = {0.0f, 0.0f, 0.0f};
        if (after != NULL)
            sum = firn_add_scaled(sum, weight, firn_sub(after->position[i], at));
        if (before != NULL)
            sum = firn_add_scaled(sum, weight, firn_sub(at, before->position[i]));
        (*velocity)[i] = sum;
    }
    return FIRN_OK;
}

double firn_velocity_miss(const firn_vec3 *stored, const firn_vec3 *seen, size_t count,
                          double factor)
{
    double off = 0.0, all = 0.0;
    for (size_t i = 0; i < count; i++) {
        firn_vec3 d = firn_sub(firn_scale((float)factor, stored[i]), seen[i]);
        off += (double)firn_dot(d, d);
        all += (double)firn_dot(seen[i], seen[i]);
    }
    return all > 0.0 ? sqrt(off / all) : 0.0;
}

double firn_velocity_frame_rate(const firn_vec3 *stored, const firn_vec3 *seen, size_t count,
                                double expected)
{
    const double rates[] = {expected, 24.0, 25.0, 30.0, 48.0, 50.0, 60.0};
    double best = 0.0, least = FIRN_VELOCITY_AGREEMENT;
    for (size_t i = 0; i < FIRN_COUNT(rates); i++) {
        double off = firn_velocity_miss(stored, seen, count, rates[i]);
        best = off < least ? rates[i] : best;
        least = off < least ? off : least;
    }
    return best;
}
