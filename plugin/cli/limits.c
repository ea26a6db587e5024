#define _DEFAULT_SOURCE
#include "limits.h"

#include "bake.h"

#include "firn/file.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define GRACE 0.8 // s that the work has to end by itself

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

// --- Signals -------------------------------------------------------------------------------------

// Removes files of this process that have not got their names yet, as firn/file.h calls them.
static void remove_unfinished(const char *path)
{
    char folder[FIRN_PATH_SIZE], host[64] = "host", mark[128];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path + 1) : 1,
             slash != NULL ? path : ".");
    gethostname(host, sizeof host - 1);
    snprintf(mark, sizeof mark, ".tmp.%s.%ld.", host, (long)getpid());
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (strstr(entry->d_name, mark) != NULL)
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory != NULL)
        closedir(directory);
}

static void *watch(void *path)
{
    const struct timespec pause = {0, 50 * 1000 * 1000};
    double asked = 0.0;
    while (asked == 0.0 || firn_seconds() - asked < GRACE) {
        nanosleep(&pause, NULL);
        if (asked == 0.0 && firn_signals_stop() != 0)
            asked = firn_seconds();
    }
    remove_unfinished(path);
    _exit(128 + firn_signals_stop());
}

void firn_watch_stop(const char *path)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, (void *)path) == 0)
        pthread_detach(thread);
}
