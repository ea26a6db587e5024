#define _DEFAULT_SOURCE
#include "limits.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// A number of /proc/self/status in bytes, such as that of "VmData:"; 0 when it is not there.
static double status_of(const char *name)
{
    char line[256];
    double kilobytes = 0.0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line + strlen(name), "%lf", &kilobytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return 1024.0 * kilobytes;
}

void firn_memory_bound(double megabytes)
{
    struct rlimit stack, data;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || getrlimit(RLIMIT_DATA, &data) != 0)
        return;
    // The kernel counts what is reserved. Stacks of threads are, and hardly used.
    double each = stack.rlim_cur == RLIM_INFINITY ? 8e6 : (double)stack.rlim_cur;
    double stacks = 3.0 * (double)sysconf(_SC_NPROCESSORS_ONLN) * each;
    double unused = status_of("VmData:") - status_of("RssAnon:");
    double most = 1e6 * megabytes + stacks + (unused > 0.0 ? unused : 0.0);
    if (most >= 9e18 || (data.rlim_max != RLIM_INFINITY && most >= (double)data.rlim_max))
        return;
    data.rlim_cur = (rlim_t)most;
    setrlimit(RLIMIT_DATA, &data);
}
