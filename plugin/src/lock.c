#define _DEFAULT_SOURCE
#include "lock.h"

#include "firn/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_SIZE = 400, HOST_SIZE = 256, SINCE_SIZE = 40 };

#define BEAT_PAUSE 5.0  // s from one sign of life to the next
#define BRIEF_WAIT 10.0 // s for a lock that is held for a moment

/// Who signed a lock, as its file says it.
typedef struct owner {
    char host[HOST_SIZE]; // "": nobody
    long process;
    char since[SINCE_SIZE]; // "": an earlier Firn did not tell
    bool brief;             // it only wants a moment
    double silent;          // s since the last sign of life, by the clock of the file system
} owner;

static void own_host(char host[HOST_SIZE])
{
    memset(host, 0, HOST_SIZE);
    gethostname(host, HOST_SIZE - 1);
    for (char *at = host; *at != '\0'; at++) // the file has words
        *at = *at == ' ' ? '_' : *at;
}

// What the clock of the file system says, which need not be that of this host: the time of a file
// that was made just now.
static double clock_of(const char *folder)
{
    char path[FIRN_PATH_SIZE];
    struct stat status;
    double now = (double)time(NULL);
    if (snprintf(path, sizeof path, "%s/.clock.tmp.XXXXXX", folder) >= (int)sizeof path)
        return now;
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        return now;
    if (fstat(descriptor, &status) == 0)
        now = (double)status.st_mtim.tv_sec;
    close(descriptor);
    unlink(path);
    return now;
}

static void read_owner(int descriptor, double now, owner *who)
{
    char text[TEXT_SIZE], purpose[16] = "";
    struct stat status;
    memset(who, 0, sizeof *who);
    ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (sscanf(text, "%255s %ld %39s %15s", who->host, &who->process, who->since, purpose) < 2)
        who->process = 0;
    who->brief = strcmp(purpose, "brief") == 0;
    if (who->host[0] != '\0' && fstat(descriptor, &status) == 0)
        who->silent = now - (double)status.st_mtim.tv_sec;
    who->silent = who->silent > 0.0 ? who->silent : 0.0;
}

static bool is_this_host(const owner *who)
{
    char host[HOST_SIZE];
    own_host(host);
    return strcmp(who->host, host) == 0;
}

static bool is_gone(const owner *who)
{
    return is_this_host(who) && who->process > 0 && kill((pid_t)who->process, 0) != 0 &&
           errno == ESRCH;
}

static void describe(const owner *who, char *text, size_t size)
{
    char since[SINCE_SIZE + 16] = "";
    if (who->since[0] != '\0')
        snprintf(since, sizeof since, " since %s", who->since);
    if (who->host[0] == '\0' || who->process == 0)
        snprintf(text, size, "another process");
    else
        snprintf(text, size, "process %ld on %s%s, last heard of %.0f s ago", who->process,
                 who->host, since, who->silent);
}

// Asks about the process, not for the lock: whoever takes that for a moment stops a writer from
// beginning.
static bool find_owner(const char *path, owner *who)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    read_owner(descriptor, (double)time(NULL), who);
    close(descriptor);
    return who->host[0] != '\0' && !is_gone(who) && who->silent < FIRN_LOCK_EXPIRES;
}

bool firn_lock_is_alive(const char *path)
{
    owner who;
    return find_owner(path, &who);
}

void firn_cache_writer(const char *folder, char *text, size_t size)
{
    char path[FIRN_PATH_SIZE];
    owner who;
    text[0] = '\0';
    if (snprintf(path, sizeof path, "%s/.lock", folder) < (int)sizeof path &&
        find_owner(path, &who))
        describe(&who, text, size);
}

static firn_result refuse(const owner *who, firn_error *error)
{
    char text[TEXT_SIZE + 100];
    describe(who, text, sizeof text);
    return firn_fail(error, FIRN_ERR_LOCKED,
                     "the cache is being written by %s; wait for it or stop it%s", text,
                     is_this_host(who) ? "" : ", or if it is gone break its lock");
}

/// The file may have been removed between opening and locking; then the lock is worth nothing.
static bool still_there(int descriptor, const char *path)
{
    struct stat held, named;
    return fstat(descriptor, &held) == 0 && stat(path, &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static firn_result sign(firn_lock *lock, bool brief, firn_error *error)
{
    char host[HOST_SIZE], text[TEXT_SIZE], since[SINCE_SIZE] = "";
    struct tm parts;
    time_t now = time(NULL);
    own_host(host);
    if (gmtime_r(&now, &parts) != NULL)
        strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &parts);
    int length = snprintf(text, sizeof text, "%s %ld %s%s\n", host, (long)getpid(), since,
                          brief ? " brief" : "");
    if (ftruncate(lock->descriptor, 0) != 0 ||
        pwrite(lock->descriptor, text, (size_t)length, 0) != length)
        return firn_fail_errno(error, errno, "write", lock->path);
    lock->beaten = firn_seconds();
    return FIRN_OK;
}

// Whether a lock that is there is in the way. Without the kernel's lock the owner is alive. With
// it, one on this host is not; one on another host may be, where the file system does not share
// locks, until it has been silent for long.
static bool stands(const owner *who, bool held, bool break_lock)
{
    if (held)
        return is_this_host(who) || who->host[0] == '\0' || !break_lock;
    return who->host[0] != '\0' && !is_this_host(who) && !break_lock &&
           who->silent < FIRN_LOCK_EXPIRES;
}

firn_result firn_lock_take(firn_lock *lock, const firn_lock_def *def, firn_error *error)
{
    double begun = firn_seconds();
    lock->descriptor = -1;
    int length = snprintf(lock->path, sizeof lock->path, "%s/%s", def->folder, def->name);
    if (length < 0 || (size_t)length >= sizeof lock->path)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the cache is too long");
    for (;;) {
        int descriptor = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor < 0)
            return firn_fail_errno(error, errno, "create", lock->path);
        owner who;
        bool held = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        read_owner(descriptor, clock_of(def->folder), &who);
        if (stands(&who, held, def->break_lock)) {
            close(descriptor);
            if (!who.brief || firn_seconds() - begun > BRIEF_WAIT)
                return refuse(&who, error);
            nanosleep(&(struct timespec){0, 20 * 1000 * 1000}, NULL);
            continue;
        }
        // Whoever had it finds another file in its place and stops. One with other names is not
        // written to, either: they may be outside.
        struct stat status;
        bool linked = fstat(descriptor, &status) == 0 && status.st_nlink > 1;
        bool foreign = held || linked || (who.host[0] != '\0' && !is_this_host(&who));
        if (foreign)
            unlink(lock->path);
        if (!foreign && still_there(descriptor, lock->path)) {
            lock->descriptor = descriptor;
            firn_result result = sign(lock, def->brief, error);
            if (result != FIRN_OK)
                firn_lock_release(lock);
            return result;
        }
        close(descriptor);
    }
}

firn_result firn_lock_beat(firn_lock *lock, firn_error *error)
{
    double now = firn_seconds();
    if (lock->descriptor < 0 || now - lock->beaten < BEAT_PAUSE)
        return FIRN_OK;
    lock->beaten = now;
    return firn_lock_confirm(lock, error);
}

firn_result firn_lock_confirm(firn_lock *lock, firn_error *error)
{
    if (lock->descriptor < 0)
        return FIRN_OK;
    if (!still_there(lock->descriptor, lock->path))
        return firn_fail(
            error, FIRN_ERR_LOCKED,
            "the lock '%.700s' was broken by somebody else; stopped so as not to write "
            "beside them",
            lock->path);
    futimens(lock->descriptor, NULL);
    return FIRN_OK;
}

void firn_lock_release(firn_lock *lock)
{
    if (lock->descriptor < 0)
        return;
    if (still_there(lock->descriptor, lock->path))
        unlink(lock->path);
    close(lock->descriptor);
    lock->descriptor = -1;
}
