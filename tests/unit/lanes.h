/// Between lanes and the reference: single matrices in and out, and whether this processor can run
/// the instruction set a test was compiled for.
#ifndef FIRN_TEST_LANES_H
#define FIRN_TEST_LANES_H

#include "reference_model.h"

#include "base/simd.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <setjmp.h>

#include <cmocka.h>

enum { LANES_SKIPPED = 77 };

static inline int lanes_supported(void)
{
#if defined(__x86_64__)
    if (FIRN_LANES == 16)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (FIRN_LANES == 8)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return 1;
}

static inline void lanes_put(firn_fm3 *a, int lane, ref_mat value)
{
    for (int i = 0; i < 9; i++)
        a->m[i][lane] = (float)value.m[i / 3][i % 3];
}

static inline ref_mat lanes_get(const firn_fm3 *a, int lane)
{
    ref_mat value;
    for (int i = 0; i < 9; i++)
        value.m[i / 3][i % 3] = (double)a->m[i][lane];
    return value;
}

static inline ref_mat lanes_get_symmetric(const firn_fs3 *a, int lane)
{
    firn_fm3 full = firn_fm3_from_fs3(*a);
    return lanes_get(&full, lane);
}

static inline void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not %.9g within %g", a, b, tolerance);
}

static inline void assert_matrix_near(ref_mat a, ref_mat b, double tolerance)
{
    double difference = ref_norm(ref_add(a, -1.0, b));
    if (!(difference <= tolerance))
        fail_msg("matrices differ by %g, allowed %g", difference, tolerance);
}

#endif
