/// How many threads a setting means.
#ifndef FIRN_THREADS_H
#define FIRN_THREADS_H

/// The wanted number, or for 0 as many as OpenMP would use; 1 without OpenMP.
static inline int firn_thread_count(int wanted)
{
    if (wanted > 0)
        return wanted;
    int count = 0;
#pragma omp parallel reduction(+ : count)
    count += 1;
    return count;
}

#endif
