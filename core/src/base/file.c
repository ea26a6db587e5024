#define _POSIX_C_SOURCE 200809L
#include "firn/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 18 };

struct firn_file_writer {
    int descriptor;
    int failure;  // errno of the first failure, 0 while all is well
    bool partial; // the temporary outlives a failure and the process
    uint64_t size;
    size_t buffered;
    char path[FIRN_PATH_SIZE];
    char temporary[FIRN_PATH_SIZE];
    unsigned char buffer[BUFFER_SIZE];
};

static void directory_of(const char *path, char directory[FIRN_PATH_SIZE])
{
    snprintf(directory, FIRN_PATH_SIZE, "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash == NULL)
        snprintf(directory, FIRN_PATH_SIZE, ".");
    else
        slash[slash == directory ? 1 : 0] = '\0';
}

static unsigned long long free_bytes(const char *path)
{
    char directory[FIRN_PATH_SIZE];
    directory_of(path, directory);
    struct statvfs info;
    if (statvfs(directory, &info) != 0)
        return 0;
    return (unsigned long long)info.f_bavail * info.f_frsize;
}

static bool makes_file(const char *action)
{
    return strcmp(action, "write") == 0 || strcmp(action, "create") == 0;
}

firn_result firn_fail_errno(firn_error *error, int errno_value, const char *action,
                            const char *path)
{
    switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
        return firn_fail(error, FIRN_ERR_DISK_FULL,
                         "cannot %s '%s': no room left on the disk or in the quota (%llu bytes "
                         "free); free some space and run again",
                         action, path, free_bytes(path));
    case ENOENT:
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "cannot %s '%s': %s", action, path,
                         makes_file(action) ? "its folder is not there; make it first"
                                            : "no such file or directory");
    case ENOTDIR:
        return firn_fail(error, makes_file(action) ? FIRN_ERR_IO : FIRN_ERR_NOT_FOUND,
                         "cannot %s '%s': a part of the path is a file, not a folder", action,
                         path);
    case EROFS:
    case EACCES:
        return firn_fail(error, FIRN_ERR_IO, "cannot %s '%s': %s; %s", action, path,
                         strerror(errno_value),
                         makes_file(action) ? "choose a folder that you may write to"
                                            : "ask its owner for the right to read it");
    case ENOMEM:
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot %s '%s': out of memory", action, path);
    case ELOOP:
        return firn_fail(error, FIRN_ERR_FORMAT, "cannot %s '%s': a link stands in the way; %s",
                         action, path,
                         makes_file(action) ? "remove it, nothing is written through it"
                                            : "it leads back to itself");
    default:
        return firn_fail(error, FIRN_ERR_IO, "cannot %s '%s': %s", action, path,
                         strerror(errno_value));
    }
}

static bool write_all(int descriptor, const unsigned char *bytes, size_t size, off_t offset)
{
    while (size > 0) {
        ssize_t written =
            offset < 0 ? write(descriptor, bytes, size) : pwrite(descriptor, bytes, size, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            if (written == 0)
                errno = ENOSPC;
            return false;
        }
        bytes += written;
        size -= (size_t)written;
        if (offset >= 0)
            offset += written;
    }
    return true;
}

static void flush(firn_file_writer *file)
{
    if (file->failure == 0 && !write_all(file->descriptor, file->buffer, file->buffered, -1))
        file->failure = errno;
    file->buffered = 0;
}

// Unique among processes and hosts that share the directory, so twins never write one file.
static bool temporary_name(firn_file_writer *file)
{
    char host[64] = "host";
    gethostname(host, sizeof host - 1);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed[3] = {(uint64_t)now.tv_nsec, (uint64_t)(uintptr_t)file, (uint64_t)now.tv_sec};
    int length = snprintf(file->temporary, sizeof file->temporary, "%s.tmp.%s.%ld.%08x", file->path,
                          host, (long)getpid(), (unsigned)firn_hash64(seed, sizeof seed, 0));
    return length > 0 && (size_t)length < sizeof file->temporary;
}

static firn_result new_writer(const char *path, firn_file_writer **out, firn_error *error)
{
    firn_file_writer *file = firn_alloc(sizeof *file);
    if (file == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", path);
    file->descriptor = -1;
    file->failure = 0;
    file->partial = false;
    file->size = 0;
    file->buffered = 0;
    int length = snprintf(file->path, sizeof file->path, "%s", path);
    if (length <= 0 || (size_t)length >= sizeof file->path) {
        firn_free(file);
        return firn_fail(error, FIRN_ERR_ARGUMENT, "cannot write '%.200s': not a usable file name",
                         path);
    }
    *out = file;
    return FIRN_OK;
}

firn_result firn_file_create(const char *path, firn_file_writer **out, firn_error *error)
{
    *out = NULL;
    firn_file_writer *file = NULL;
    FIRN_TRY(new_writer(path, &file, error));
    if (!temporary_name(file)) {
        firn_free(file);
        return firn_fail(error, FIRN_ERR_ARGUMENT, "cannot write '%.200s': not a usable file name",
                         path);
    }
    file->descriptor = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->descriptor < 0) {
        int reason = errno;
        firn_free(file);
        return firn_fail_errno(error, reason, "write", path);
    }
    *out = file;
    return FIRN_OK;
}

// Puts a copy in the place of a file that has other names, too: what is written there must not
// reach what they stand for. Returns 0 or an errno value.
static int part_from_others(firn_file_writer *file)
{
    char copy[FIRN_PATH_SIZE], host[64] = "host";
    gethostname(host, sizeof host - 1);
    int length = snprintf(copy, sizeof copy, "%s.tmp.%s.%ld.00000000", file->temporary, host,
                          (long)getpid());
    if (length < 0 || (size_t)length >= sizeof copy)
        return ENAMETOOLONG;
    int to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (to < 0)
        return errno;
    ssize_t got;
    bool whole = true;
    while (whole && (got = read(file->descriptor, file->buffer, BUFFER_SIZE)) != 0)
        whole = got > 0 ? write_all(to, file->buffer, (size_t)got, -1) : errno == EINTR;
    int reason = whole && rename(copy, file->temporary) == 0 ? 0 : errno;
    close(to);
    if (reason != 0)
        unlink(copy);
    return reason;
}

// Returns 0 or an errno value. Another process may rename or remove the file between our open and
// our lock; then the lock is on a file that no longer has the name, and we open again.
static int open_locked(firn_file_writer *file, struct stat *info)
{
    for (;;) {
        // Never through a link that somebody left there: what it leads to would be overwritten.
        file->descriptor = open(file->temporary, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file->descriptor < 0)
            return errno;
        struct stat named;
        // Some file systems cannot lock; there a second writer goes unnoticed.
        bool taken = flock(file->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        int reason = taken ? EWOULDBLOCK : 0;
        if (reason == 0 && fstat(file->descriptor, info) != 0)
            reason = errno;
        bool ours = reason == 0 && stat(file->temporary, &named) == 0 &&
                    named.st_ino == info->st_ino && named.st_dev == info->st_dev;
        if (ours && info->st_nlink == 1)
            return 0;
        if (ours)
            reason = part_from_others(file);
        close(file->descriptor);
        if (reason != 0)
            return reason;
    }
}

firn_result firn_file_open_partial(const char *path, firn_file_writer **out, firn_error *error)
{
    *out = NULL;
    firn_file_writer *file = NULL;
    FIRN_TRY(new_writer(path, &file, error));
    file->partial = true;
    int length = snprintf(file->temporary, sizeof file->temporary, "%s.partial", path);
    struct stat info = {0};
    int reason = (size_t)length < sizeof file->temporary ? open_locked(file, &info) : ENAMETOOLONG;
    if (reason == 0 && lseek(file->descriptor, 0, SEEK_END) < 0) {
        reason = errno;
        close(file->descriptor);
    }
    if (reason != 0) {
        firn_result result =
            reason == EWOULDBLOCK
                ? firn_fail(error, FIRN_ERR_IO,
                            "cannot write '%s': another process is writing '%s.partial'", path,
                            path)
                : firn_fail_errno(error, reason, "write", file->temporary);
        firn_free(file);
        return result;
    }
    file->size = (uint64_t)info.st_size;
    *out = file;
    return FIRN_OK;
}

void firn_file_write(firn_file_writer *file, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    file->size += size;
    if (file->buffered + size > BUFFER_SIZE)
        flush(file);
    if (size >= BUFFER_SIZE) {
        if (file->failure == 0 && !write_all(file->descriptor, bytes, size, -1))
            file->failure = errno;
        return;
    }
    memcpy(file->buffer + file->buffered, bytes, size);
    file->buffered += size;
}

void firn_file_patch(firn_file_writer *file, uint64_t offset, const void *bytes, size_t size)
{
    FIRN_ASSERT(offset + size <= file->size);
    flush(file);
    if (file->failure == 0 && !write_all(file->descriptor, bytes, size, (off_t)offset))
        file->failure = errno;
}

firn_result firn_file_flush(firn_file_writer *file, firn_error *error)
{
    flush(file);
    if (file->failure != 0)
        return firn_fail_errno(error, file->failure, "write", file->path);
    return FIRN_OK;
}

firn_result firn_file_read_at(firn_file_writer *file, uint64_t offset, void *bytes, size_t size,
                              firn_error *error)
{
    FIRN_ASSERT(offset + size <= file->size);
    FIRN_TRY(firn_file_flush(file, error));
    unsigned char *at = bytes;
    while (size > 0) {
        ssize_t got = pread(file->descriptor, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return firn_fail_errno(error, errno, "read", file->temporary);
        if (got == 0)
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "cannot read '%s': it became shorter while being read",
                             file->temporary);
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return FIRN_OK;
}

void firn_file_truncate(firn_file_writer *file, uint64_t size)
{
    FIRN_ASSERT(size <= file->size);
    flush(file);
    if (file->failure == 0 && (ftruncate(file->descriptor, (off_t)size) != 0 ||
                               lseek(file->descriptor, (off_t)size, SEEK_SET) < 0))
        file->failure = errno;
    file->size = size;
}

void firn_file_suspend(firn_file_writer *file)
{
    if (file == NULL)
        return;
    flush(file);
    close(file->descriptor);
    firn_free(file);
}

uint64_t firn_file_size(const firn_file_writer *file) { return file->size; }

const char *firn_file_temporary_path(const firn_file_writer *file) { return file->temporary; }

static void sync_directory(const char *path)
{
    char directory[FIRN_PATH_SIZE];
    directory_of(path, directory);
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    // Some file systems cannot sync a directory; the rename itself is still atomic there.
    (void)fsync(descriptor);
    close(descriptor);
}

firn_result firn_file_commit(firn_file_writer *file, firn_error *error)
{
    flush(file);
    if (file->failure == 0 && fsync(file->descriptor) != 0)
        file->failure = errno;
    if (close(file->descriptor) != 0 && file->failure == 0)
        file->failure = errno;
    if (file->failure == 0 && rename(file->temporary, file->path) != 0)
        file->failure = errno;
    firn_result result = FIRN_OK;
    if (file->failure == 0) {
        sync_directory(file->path);
    } else {
        if (!file->partial)
            unlink(file->temporary);
        result = firn_fail_errno(error, file->failure, "write", file->path);
    }
    firn_free(file);
    return result;
}

void firn_file_discard(firn_file_writer *file)
{
    if (file == NULL)
        return;
    close(file->descriptor);
    unlink(file->temporary);
    firn_free(file);
}

static firn_result read_descriptor(int descriptor, const char *path, size_t limit, void **bytes,
                                   size_t *size, firn_error *error)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return firn_fail_errno(error, errno, "read", path);
    if (!S_ISREG(info.st_mode))
        return firn_fail(error, FIRN_ERR_IO, "cannot read '%s': not a regular file", path);
    if ((uint64_t)info.st_size > limit)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "cannot read '%s': its %lld bytes are more than the %zu expected at most",
                         path, (long long)info.st_size, limit);
    size_t total = (size_t)info.st_size;
    unsigned char *memory = firn_alloc(total);
    if (memory == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%s': out of memory for %zu bytes",
                         path, total);
    size_t done = 0;
    while (done < total) {
        ssize_t got = read(descriptor, memory + done, total - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            firn_free(memory);
            if (got < 0)
                return firn_fail_errno(error, errno, "read", path);
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "cannot read '%s': it became shorter while being read", path);
        }
        done += (size_t)got;
    }
    *bytes = memory;
    *size = total;
    return FIRN_OK;
}

firn_result firn_file_read(const char *path, size_t limit, void **bytes, size_t *size,
                           firn_error *error)
{
    *bytes = NULL;
    *size = 0;
    // Of a pipe nobody waits for the other end.
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return firn_fail_errno(error, errno, "read", path);
    firn_result result = read_descriptor(descriptor, path, limit, bytes, size, error);
    close(descriptor);
    return result;
}

firn_result firn_folder_make(const char *path, firn_error *error)
{
    char part[FIRN_PATH_SIZE];
    int length = snprintf(part, sizeof part, "%s", path);
    if (length < 0 || (size_t)length >= sizeof part)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the folder is too long");
    for (char *at = part + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char kept = *at;
        *at = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return firn_fail_errno(error, errno, "create", part);
        *at = kept;
        if (kept == '\0')
            return FIRN_OK;
    }
}
