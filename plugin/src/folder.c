#define _POSIX_C_SOURCE 200809L
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FORGOTTEN 1800.0 // s after which a file of another host is nobody's

firn_result firn_folder_make_inside(const char *path, firn_error *error)
{
    struct stat status;
    FIRN_TRY(firn_folder_make(path, error));
    if (lstat(path, &status) != 0)
        return firn_fail_errno(error, errno, "open", path);
    if (!S_ISDIR(status.st_mode))
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "'%.700s' is no folder of the cache; remove it, nothing is written there",
                         path);
    return FIRN_OK;
}

bool firn_ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcmp(name + length - tail, ending) == 0;
}

// A folder itself, not one that a link leads to.
static DIR *open_folder(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (folder == NULL && descriptor >= 0)
        close(descriptor);
    return folder;
}

// What stands behind the last ".tmp.": names of their own may have one, too.
static const char *writer_of(const char *name)
{
    const char *words = NULL;
    while ((name = strstr(name, ".tmp.")) != NULL)
        words = name += 5;
    return words;
}

// Whether a name is one that Firn gives to what has not got its own yet:
// "x.bgeo.tmp.HOST.PID.1234abcd". Files of other people may have ".tmp." in their names, too.
static bool is_unfinished(const char *name)
{
    const char *words = writer_of(name);
    if (words == NULL)
        return false;
    if (strcmp(words, "chk") == 0 || strncmp(name, ".clock.tmp.", 11) == 0)
        return true;
    const char *mark = strrchr(words, '.');
    if (mark == NULL || strlen(mark + 1) != 8 || strspn(mark + 1, "0123456789abcdef") != 8)
        return false;
    const char *process = mark;
    while (process > words && process[-1] >= '0' && process[-1] <= '9')
        process--;
    return process < mark && process - words >= 2 && process[-1] == '.';
}

// Whether a process that names itself, "x.bgeo.tmp.HOST.PID.1234abcd", may still write there.
static bool is_in_use(int folder, const char *name)
{
    char host[256] = "", own[256] = "";
    long process = 0;
    const char *words = writer_of(name), *dot = strrchr(words, '.');
    while (dot != NULL && dot > words && dot[-1] != '.')
        dot--;
    if (dot == NULL || dot - words < 2 || dot - words > 200 || sscanf(dot, "%ld.", &process) != 1)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)(dot - words - 1), words);
    gethostname(own, sizeof own - 1);
    own[63] = '\0'; // as much as names of files have of it
    if (strcmp(host, own) == 0)
        return process > 0 && (kill((pid_t)process, 0) == 0 || errno != ESRCH);
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           difftime(time(NULL), status.st_mtim.tv_sec) < FORGOTTEN;
}

static void remove_files(const char *path, const char *ending)
{
    DIR *folder = open_folder(path);
    if (folder == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        bool chosen = ending != NULL ? firn_ends_with(name, ending)
                                     : is_unfinished(name) && !is_in_use(dirfd(folder), name);
        if (chosen)
            unlinkat(dirfd(folder), name, 0);
    }
    closedir(folder);
}

void firn_folder_sweep(const char *path) { remove_files(path, NULL); }

void firn_folder_clear(const char *path, const char *ending) { remove_files(path, ending); }

bool firn_folder_last(const char *path, const char *stem, int limit, int *number)
{
    DIR *folder = open_folder(path);
    bool found = false;
    size_t length = strlen(stem);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        int frame = 0, end = 0;
        const char *name = entry->d_name;
        if (strncmp(name, stem, length) != 0 || name[length] != '.' ||
            sscanf(name + length + 1, "%d.chk%n", &frame, &end) != 1 || end == 0 ||
            name[length + 1 + (size_t)end] != '\0')
            continue;
        if (frame < limit && (!found || frame > *number)) {
            *number = frame;
            found = true;
        }
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

void firn_folder_list(const char *path, firn_folder_tell *tell, void *user)
{
    DIR *folder = open_folder(path);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            tell(entry->d_name, user);
    if (folder != NULL)
        closedir(folder);
}
