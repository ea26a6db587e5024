#define _DEFAULT_SOURCE
#include "lock.h"

#include "firn/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWNER_SIZE = 400 };

/// "host pid", as the file says it; "" when it says nothing.
static void read_owner(int descriptor, char *owner, size_t size)
{
    ssize_t length = pread(descriptor, owner, size - 1, 0);
    owner[length > 0 ? length : 0] = '\0';
    owner[strcspn(owner, "\n")] = '\0';
}

static bool is_this_host(const char *owner)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    size_t length = strlen(host);
    return strncmp(owner, host, length) == 0 && owner[length] == ' ';
}

// Asks about the process, not for the lock: whoever takes that for a moment stops a writer from
// beginning.
void firn_cache_writer(const char *folder, char *owner, size_t size)
{
    char path[FIRN_PATH_SIZE];
    long process = 0;
    owner[0] = '\0';
    if (snprintf(path, sizeof path, "%s/.lock", folder) >= (int)sizeof path)
        return;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    read_owner(descriptor, owner, size);
    close(descriptor);
    bool gone = is_this_host(owner) && sscanf(owner, "%*s %ld", &process) == 1 && process > 0 &&
                kill((pid_t)process, 0) != 0 && errno == ESRCH;
    if (gone)
        owner[0] = '\0';
}

static firn_result refuse(const char *path, const char *owner, firn_error *error)
{
    char host[256] = "another process";
    long process = 0;
    if (sscanf(owner, "%255s %ld", host, &process) == 2)
        return firn_fail(error, FIRN_ERR_LOCKED,
                         "the cache is being written by process %ld on %s; wait for it, stop it, "
                         "or if it is gone remove '%s'",
                         process, host, path);
    return firn_fail(error, FIRN_ERR_LOCKED,
                     "the cache is being written by another process; wait for it, or if it is gone "
                     "remove '%s'",
                     path);
}

/// The file may have been removed between opening and locking; then the lock is worth nothing.
static bool still_there(int descriptor, const char *path)
{
    struct stat held, named;
    return fstat(descriptor, &held) == 0 && stat(path, &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static firn_result sign(firn_lock *lock, firn_error *error)
{
    char host[256] = "", owner[OWNER_SIZE];
    gethostname(host, sizeof host - 1);
    int length = snprintf(owner, sizeof owner, "%s %ld\n", host, (long)getpid());
    if (ftruncate(lock->descriptor, 0) != 0 ||
        pwrite(lock->descriptor, owner, (size_t)length, 0) != length)
        return firn_fail_errno(error, errno, "write", lock->path);
    return FIRN_OK;
}

firn_result firn_lock_take(firn_lock *lock, const char *folder, firn_error *error)
{
    lock->descriptor = -1;
    int length = snprintf(lock->path, sizeof lock->path, "%s/.lock", folder);
    if (length < 0 || (size_t)length >= sizeof lock->path)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the cache is too long");
    for (;;) {
        int descriptor = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor < 0)
            return firn_fail_errno(error, errno, "create", lock->path);
        char owner[OWNER_SIZE];
        bool held = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        read_owner(descriptor, owner, sizeof owner);
        // Without the kernel's lock the owner is alive. With it, one on this host is not; one on
        // another host may be, where the file system does not share locks.
        if (held || (owner[0] != '\0' && !is_this_host(owner))) {
            close(descriptor);
            return refuse(lock->path, owner, error);
        }
        if (still_there(descriptor, lock->path)) {
            lock->descriptor = descriptor;
            firn_result result = sign(lock, error);
            if (result != FIRN_OK)
                firn_lock_release(lock);
            return result;
        }
        close(descriptor);
    }
}

void firn_lock_release(firn_lock *lock)
{
    if (lock->descriptor < 0)
        return;
    unlink(lock->path);
    close(lock->descriptor);
    lock->descriptor = -1;
}
