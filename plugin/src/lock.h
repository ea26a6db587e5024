/// One writer for a folder: a lock file that names its owner and shows that it is alive.
#ifndef FIRN_LOCK_H
#define FIRN_LOCK_H

#include "firn/file.h"

/// Seconds without a sign of life after which the lock of another host counts no more.
#define FIRN_LOCK_EXPIRES 1800.0

typedef struct firn_lock {
    int descriptor; // -1: not held
    char path[FIRN_PATH_SIZE];
    double beaten; // s, when it last showed a sign of life
} firn_lock;

/// What is locked, and how.
typedef struct firn_lock_def {
    const char *folder;
    const char *name; // of the lock file in it
    bool break_lock;  // take that of another host, which is gone
    bool brief;       // for a moment: whoever comes meanwhile waits
} firn_lock_def;

/// FIRN_ERR_LOCKED, with host, process and time, when somebody else writes there. The lock of a
/// process of this host that is gone is taken over, that of another host when it has expired or is
/// to be broken.
firn_result firn_lock_take(firn_lock *lock, const firn_lock_def *def, firn_error *error);

/// Shows a sign of life now and then; FIRN_ERR_LOCKED when the lock is somebody else's by now.
firn_result firn_lock_beat(firn_lock *lock, firn_error *error);
/// The same at once.
firn_result firn_lock_confirm(firn_lock *lock, firn_error *error);
void firn_lock_release(firn_lock *lock);

/// Whether the owner of a lock file lives, as far as that can be told without asking for the lock.
bool firn_lock_is_alive(const char *path);

#endif
