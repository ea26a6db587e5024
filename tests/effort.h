/// How hard a test tries.
///
/// Sanitizers make a program ten times slower and look for mistakes of memory and threads, which
/// the first rounds of a loop make as well as the last. There tests do a part of what they do
/// otherwise, unless FIRN_WHOLE_TESTS is set, as `./bootstrap test full` does.
#ifndef FIRN_TEST_EFFORT_H
#define FIRN_TEST_EFFORT_H

#include <stdlib.h>

/// The first number, or the second in a sanitized program (FIRN_SANITIZED is 1 there).
static inline int effort(int whole, int sanitized)
{
    return FIRN_SANITIZED && getenv("FIRN_WHOLE_TESTS") == NULL ? sanitized : whole;
}

#endif
