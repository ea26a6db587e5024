/// Positions and velocities of moving points at a time; what meshes and particles share.
#ifndef FIRN_ABC_MOTION_H
#define FIRN_ABC_MOTION_H

#include "archive.h"

typedef struct firn_abc_motion {
    int object;
    int positions;  // property
    int velocities; // property, or -1
    firn_abc_bracket bracket;
    bool has_velocity; // velocities are stored for the sample before
    bool has_next;     // the sample after has the same points; filled in when wants_next
    bool has_previous; // so has the one before; filled in when wants_previous
} firn_abc_motion;

/// Finds the properties of an object and the samples around a time.
firn_result firn_abc_motion_find(const firn_abc *archive, int object, double time,
                                 firn_abc_motion *motion, firn_error *error);

/// True when the result depends on sample `bracket.after`.
bool firn_abc_motion_wants_next(const firn_abc_motion *motion);

/// True when the result depends on the sample before `bracket.before`.
bool firn_abc_motion_wants_previous(const firn_abc_motion *motion);

/// When sample `before - 1` was taken (s); there must be one.
double firn_abc_motion_previous_time(const firn_abc *archive, const firn_abc_motion *motion);

/// Positions and velocities in the object's space; release both with firn_free. Both are NULL when
/// there are no points.
firn_result firn_abc_motion_read(const firn_abc *archive, const firn_abc_motion *motion,
                                 firn_vec3 **position, firn_vec3 **velocity, size_t *count,
                                 firn_error *error);

/// True when a property holds the same bytes at two times.
firn_result firn_abc_same_values(const firn_abc *archive, int property, double a, double b,
                                 bool *same, firn_error *error);

#endif
