#include "motion.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool firn_abc_is_mesh(const firn_abc *archive, int object)
{
    firn_abc_kind kind = firn_abc_object_at(archive, object)->kind;
    return kind == FIRN_ABC_KIND_POLYMESH || kind == FIRN_ABC_KIND_SUBD;
}

firn_result firn_abc_check_query(const firn_abc *archive, int object, bool is_kind,
                                 const char *what, double time, firn_error *error)
{
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    if (!isfinite(time))
        return firn_abc_fail(&place, FIRN_ERR_ARGUMENT, "the time is not a finite number");
    if (!is_kind)
        return firn_abc_fail(&place, FIRN_ERR_ARGUMENT, "it is not a %s", what);
    return FIRN_OK;
}

firn_result firn_abc_check_finite(const firn_abc_place *place, const firn_vec3 *position,
                                  size_t count)
{
    // Without a branch per point, so that the loop vectorizes.
    int broken = 0;
    for (size_t i = 0; i < count; i++)
        broken |= !(fabsf(position[i].x) <= FLT_MAX) | !(fabsf(position[i].y) <= FLT_MAX) |
                  !(fabsf(position[i].z) <= FLT_MAX);
    for (size_t i = 0; i < count && broken; i++)
        if (!firn_vec_is_finite(position[i]))
            return firn_abc_fail(place, FIRN_ERR_FORMAT, "position %zu is not finite", i);
    return FIRN_OK;
}

static firn_result find_velocity(const firn_abc *archive, firn_abc_motion *motion,
                                 firn_error *error)
{
    size_t points = 0, stored = 0;
    if (motion->velocities < 0)
        return FIRN_OK;
    uint32_t index = firn_abc_index_at(archive, motion->velocities, motion->bracket.before_time);
    FIRN_TRY(
        firn_abc_sample_size(archive, motion->positions, motion->bracket.before, &points, error));
    FIRN_TRY(firn_abc_sample_size(archive, motion->velocities, index, &stored, error));
    // No velocities at all stands for "not known at this sample".
    firn_abc_place place = firn_abc_place_of(archive, motion->object, motion->velocities, error);
    if (stored != points && stored != 0)
        return firn_abc_fail(&place, FIRN_ERR_FORMAT, "it has %zu values for %zu points", stored,
                             points);
    motion->has_velocity = stored > 0;
    return FIRN_OK;
}

firn_result firn_abc_motion_find(const firn_abc *archive, int object, double time,
                                 firn_abc_motion *motion, firn_error *error)
{
    *motion = (firn_abc_motion){.object = object};
    motion->positions = firn_abc_property_find(archive, object, ".geom/P");
    motion->velocities = firn_abc_property_find(archive, object, ".geom/.velocities");
    if (motion->positions < 0) {
        firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
        return firn_abc_fail(&place, FIRN_ERR_FORMAT, "it has no positions (.geom/P)");
    }
    motion->bracket = firn_abc_bracket_at(archive, motion->positions, time);
    return find_velocity(archive, motion, error);
}

bool firn_abc_motion_wants_next(const firn_abc_motion *motion)
{
    const firn_abc_bracket *bracket = &motion->bracket;
    return bracket->inside && bracket->after != bracket->before &&
           (bracket->mix > 0.0 || !motion->has_velocity);
}

bool firn_abc_motion_wants_previous(const firn_abc_motion *motion)
{
    const firn_abc_bracket *bracket = &motion->bracket;
    return bracket->inside && bracket->mix <= 0.0 && bracket->before > 0 && !motion->has_velocity;
}

double firn_abc_motion_previous_time(const firn_abc *archive, const firn_abc_motion *motion)
{
    const firn_abc_property *info = &archive->properties[motion->positions].info;
    return firn_abc_sample_time(&archive->samplings[info->time_sampling],
                                motion->bracket.before - 1);
}

firn_result firn_abc_same_values(const firn_abc *archive, int property, double a, double b,
                                 bool *same, firn_error *error)
{
    uint32_t index_a = firn_abc_index_at(archive, property, a);
    uint32_t index_b = firn_abc_index_at(archive, property, b);
    FIRN_TRY(firn_abc_same_sample(archive, property, index_a, index_b, same, error));
    if (*same)
        return FIRN_OK;
    firn_abc_array values_a = {0}, values_b = {0};
    firn_result result = firn_abc_read(archive, property, index_a, &values_a, error);
    if (result == FIRN_OK)
        result = firn_abc_read(archive, property, index_b, &values_b, error);
    if (result == FIRN_OK)
        *same =
            values_a.bytes == values_b.bytes &&
            (values_a.bytes == 0 || memcmp(values_a.values, values_b.values, values_a.bytes) == 0);
    firn_abc_array_free(&values_a);
    firn_abc_array_free(&values_b);
    return result;
}

// Reads another sample of the positions when it has as many; otherwise *other has no values.
static firn_result read_other(const firn_abc *archive, const firn_abc_motion *motion,
                              uint32_t index, size_t count, firn_abc_array *other,
                              firn_error *error)
{
    bool same = false;
    size_t other_count = 0;
    *other = (firn_abc_array){0};
    FIRN_TRY(firn_abc_same_sample(archive, motion->positions, motion->bracket.before, index, &same,
                                  error));
    FIRN_TRY(firn_abc_sample_size(archive, motion->positions, index, &other_count, error));
    if (same || other_count != count)
        return FIRN_OK;
    return firn_abc_read_typed(archive, motion->positions, index, FIRN_ABC_POD_FLOAT32, 3, other,
                               error);
}

static firn_result read_velocities(const firn_abc *archive, const firn_abc_motion *motion,
                                   double time, firn_abc_array *velocities, firn_error *error)
{
    uint32_t index = firn_abc_index_at(archive, motion->velocities, time);
    return firn_abc_read_typed(archive, motion->velocities, index, FIRN_ABC_POD_FLOAT32, 3,
                               velocities, error);
}

static void mix_vectors(firn_vec3 *a, const firn_vec3 *b, size_t count, double mix)
{
    for (size_t i = 0; i < count; i++)
        a[i] = firn_lerp(a[i], b[i], (float)mix);
}

// velocity += weight * (b - a)
static void add_difference(firn_vec3 *velocity, const firn_vec3 *a, const firn_vec3 *b,
                           size_t count, double weight)
{
    for (size_t i = 0; i < count; i++)
        velocity[i] = firn_add_scaled(velocity[i], (float)weight, firn_sub(b[i], a[i]));
}

static double inverse(double seconds)
{
    return seconds > 0.0 && isfinite(seconds) ? 1.0 / seconds : 0.0;
}

// Between two samples.
static firn_result advance(const firn_abc *archive, const firn_abc_motion *motion,
                           firn_vec3 *position, firn_vec3 *velocity, size_t count,
                           firn_error *error)
{
    const firn_abc_bracket *bracket = &motion->bracket;
    if (!motion->has_next) {
        for (size_t i = 0; i < count; i++)
            position[i] = firn_add_scaled(position[i], (float)bracket->elapsed, velocity[i]);
        return FIRN_OK;
    }
    firn_abc_array next = {0}, next_velocity = {0};
    firn_result result = read_other(archive, motion, bracket->after, count, &next, error);
    if (result == FIRN_OK && motion->has_velocity)
        result = read_velocities(archive, motion, bracket->after_time, &next_velocity, error);
    if (result == FIRN_OK && next.values != NULL) {
        if (!motion->has_velocity)
            add_difference(velocity, position, next.values, count,
                           inverse(bracket->after_time - bracket->before_time));
        mix_vectors(position, next.values, count, bracket->mix);
    }
    if (result == FIRN_OK && next_velocity.count == count)
        mix_vectors(velocity, next_velocity.values, count, bracket->mix);
    firn_abc_array_free(&next);
    firn_abc_array_free(&next_velocity);
    return result;
}

// At a sample: the mean of the differences to its neighbors, or the only one there is.
static firn_result difference(const firn_abc *archive, const firn_abc_motion *motion,
                              const firn_vec3 *position, firn_vec3 *velocity, size_t count,
                              firn_error *error)
{
    const firn_abc_bracket *bracket = &motion->bracket;
    bool has_next = motion->has_next && bracket->inside && bracket->after != bracket->before;
    double share = has_next && motion->has_previous ? 0.5 : 1.0;
    firn_abc_array other;
    if (has_next) {
        FIRN_TRY(read_other(archive, motion, bracket->after, count, &other, error));
        if (other.values != NULL)
            add_difference(velocity, position, other.values, count,
                           share * inverse(bracket->after_time - bracket->before_time));
        firn_abc_array_free(&other);
    }
    if (motion->has_previous) {
        double previous = firn_abc_motion_previous_time(archive, motion);
        FIRN_TRY(read_other(archive, motion, bracket->before - 1, count, &other, error));
        if (other.values != NULL)
            add_difference(velocity, other.values, position, count,
                           share * inverse(bracket->before_time - previous));
        firn_abc_array_free(&other);
    }
    return FIRN_OK;
}

static firn_result start_velocity(const firn_abc *archive, const firn_abc_motion *motion,
                                  size_t count, firn_vec3 **velocity, firn_error *error)
{
    if (motion->has_velocity) {
        firn_abc_array stored;
        FIRN_TRY(read_velocities(archive, motion, motion->bracket.before_time, &stored, error));
        *velocity = stored.values;
        if (stored.count == count)
            return FIRN_OK;
        firn_abc_place place = firn_abc_place_of(archive, motion->object, -1, error);
        return firn_abc_fail(&place, FIRN_ERR_FORMAT, "the file changed while being read");
    }
    // The product cannot overflow: as many positions are in memory.
    *velocity = firn_alloc_zero(count * sizeof **velocity);
    if (*velocity != NULL)
        return FIRN_OK;
    firn_abc_place place = firn_abc_place_of(archive, motion->object, motion->positions, error);
    return firn_abc_fail_memory(&place, count * sizeof **velocity);
}

static firn_result move(const firn_abc *archive, const firn_abc_motion *motion, firn_vec3 *position,
                        firn_vec3 *velocity, size_t count, firn_error *error)
{
    if (motion->bracket.mix > 0.0)
        return advance(archive, motion, position, velocity, count, error);
    if (motion->has_velocity)
        return FIRN_OK;
    return difference(archive, motion, position, velocity, count, error);
}

firn_result firn_abc_motion_read(const firn_abc *archive, const firn_abc_motion *motion,
                                 firn_vec3 **position, firn_vec3 **velocity, size_t *count,
                                 firn_error *error)
{
    *position = *velocity = NULL;
    *count = 0;
    firn_abc_array sample;
    FIRN_TRY(firn_abc_read_typed(archive, motion->positions, motion->bracket.before,
                                 FIRN_ABC_POD_FLOAT32, 3, &sample, error));
    if (sample.count == 0)
        return FIRN_OK;
    firn_abc_place place = firn_abc_place_of(archive, motion->object, motion->positions, error);
    firn_vec3 *moved = sample.values, *speed = NULL;
    firn_result result = start_velocity(archive, motion, sample.count, &speed, error);
    if (result == FIRN_OK)
        result = move(archive, motion, moved, speed, sample.count, error);
    if (result == FIRN_OK)
        result = firn_abc_check_finite(&place, moved, sample.count);
    if (result != FIRN_OK) {
        firn_free(moved);
        firn_free(speed);
        return result;
    }
    *position = moved;
    *velocity = speed;
    *count = sample.count;
    return FIRN_OK;
}
