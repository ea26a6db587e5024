/// One writer for a folder: a lock file that names its owner.
#ifndef FIRN_LOCK_H
#define FIRN_LOCK_H

#include "firn/file.h"

typedef struct firn_lock {
    int descriptor; // -1: not held
    char path[FIRN_PATH_SIZE];
} firn_lock;

/// FIRN_ERR_LOCKED, with host and process, when somebody else writes there. The lock of a process
/// of this host that is gone is taken over.
firn_result firn_lock_take(firn_lock *lock, const char *folder, firn_error *error);
void firn_lock_release(firn_lock *lock);

#endif
