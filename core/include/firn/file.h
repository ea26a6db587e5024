/// Files that are whole or absent, and names of numbered files.
///
/// A firn_file_writer writes beside the final name and renames when everything is on disk, so a
/// crash or a full disk never leaves a partial file under the name that others look for:
///
///     firn_file_writer *file = NULL;
///     FIRN_TRY(firn_file_create("cache/ball.0001.chk", &file, error));
///     firn_file_write(file, bytes, size);
///     FIRN_TRY(firn_file_commit(file, error)); // reports any earlier failure; frees file
#ifndef FIRN_FILE_H
#define FIRN_FILE_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FIRN_PATH_SIZE = 4096 };

typedef struct firn_file_writer firn_file_writer;

/// Opens a temporary file in the directory of path.
FIRN_API firn_result firn_file_create(const char *path, firn_file_writer **file, firn_error *error);

/// Appends bytes. A failure is kept and reported by commit; later writes do nothing.
FIRN_API void firn_file_write(firn_file_writer *file, const void *bytes, size_t size);

/// Overwrites bytes at an offset that has been written already.
FIRN_API void firn_file_patch(firn_file_writer *file, uint64_t offset, const void *bytes,
                              size_t size);

/// Bytes appended so far.
FIRN_API uint64_t firn_file_size(const firn_file_writer *file);

/// The temporary name, for libraries that write by themselves; finish with commit or discard.
FIRN_API const char *firn_file_temporary_path(const firn_file_writer *file);

/// Syncs, renames to the final name and syncs the directory; on failure the temporary is removed
/// and what stood under the final name stays. Frees file either way.
FIRN_API firn_result firn_file_commit(firn_file_writer *file, firn_error *error);

/// Removes the temporary and frees file; accepts NULL.
FIRN_API void firn_file_discard(firn_file_writer *file);

/// Hands what has been written to the system and reports the first failure so far.
FIRN_API firn_result firn_file_flush(firn_file_writer *file, firn_error *error);

/// Opens "<path>.partial", a temporary that outlives its process: what an earlier run left in it
/// is kept and counted in firn_file_size. Locked, so that two processes never share it. Commit
/// renames it to path, and leaves it in place when that fails.
FIRN_API firn_result firn_file_open_partial(const char *path, firn_file_writer **file,
                                            firn_error *error);

/// Reads bytes of a partial that lie before its present end.
FIRN_API firn_result firn_file_read_at(firn_file_writer *file, uint64_t offset, void *bytes,
                                       size_t size, firn_error *error);

/// Cuts a partial to its first `size` bytes; writing continues there.
FIRN_API void firn_file_truncate(firn_file_writer *file, uint64_t size);

/// Closes a partial and leaves it for a later run; frees file and accepts NULL.
FIRN_API void firn_file_suspend(firn_file_writer *file);

/// Reads a whole file; *bytes is released with firn_free. Larger than limit is an error.
FIRN_API firn_result firn_file_read(const char *path, size_t limit, void **bytes, size_t *size,
                                    firn_error *error);

/// Makes a folder and those above it; none of them need to be new.
FIRN_API firn_result firn_folder_make(const char *path, firn_error *error);

/// Writes the name of a frame: "ball.$F4.vdb", "ball.####.vdb" and "ball.%04d.vdb" give
/// "ball.0007.vdb" for frame 7; $F does not pad. Between backquotes $F may be reckoned with:
/// "ball.`$F4-1`.vdb" and "ball.`padzero(4, $F/2)`.vdb". A pattern without a number is copied.
FIRN_API firn_result firn_path_of_frame(const char *pattern, int frame, char *path, size_t size,
                                        firn_error *error);

/// True when the pattern has a frame number in it.
FIRN_API bool firn_path_has_frame(const char *pattern);

/// The number that stands in the name of a frame; false: the pattern has none.
FIRN_API bool firn_path_number(const char *pattern, int frame, int *number);

/// True when a list of patterns, with blanks between, selects a path of objects, "/actor/body".
/// `*` and `?` stand for letters but '/', `**` for any; a pattern without '/' is for names; what is
/// below a match matches; `^` before a pattern excludes; an empty list selects everything.
FIRN_API bool firn_path_matches(const char *patterns, const char *path);

/// Turns an errno value met while doing `action` to `path` into a result and a sentence.
FIRN_API firn_result firn_fail_errno(firn_error *error, int errno_value, const char *action,
                                     const char *path);

#ifdef __cplusplus
}
#endif

#endif
