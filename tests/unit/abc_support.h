/// What the tests of the Alembic reader share.
#ifndef FIRN_TESTS_ABC_SUPPORT_H
#define FIRN_TESTS_ABC_SUPPORT_H

#include "firn/abc.h"

// cmocka.h needs these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/// cmocka compares floats; matrices need doubles.
#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

/// Fixtures that are sound, by name without extension.
static const char *const abc_fixtures[] = {
    "tiny",          "points_anim",     "points_edge", "mesh_deform",
    "groups_meshes", "xform_hierarchy", "acyclic",
};

#endif
