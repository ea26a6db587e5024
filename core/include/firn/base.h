/// Results, errors, memory and assertions: what every part of Firn shares.
///
/// A call that can meet the outside world returns a firn_result and explains a failure in one
/// sentence, in a firn_error that the caller owns and may leave out (NULL).
#ifndef FIRN_BASE_H
#define FIRN_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIRN_VERSION_MAJOR 0
#define FIRN_VERSION_MINOR 1
#define FIRN_VERSION_PATCH 0
#define FIRN_VERSION "0.1.0"

#if defined(_WIN32)
#define FIRN_API
#else
#define FIRN_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define FIRN_PRINTF(format_index, first_index)                                                     \
    __attribute__((format(printf, format_index, first_index)))
#else
#define FIRN_PRINTF(format_index, first_index)
#endif

#define FIRN_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/// FIRN_VERSION of the library, to be compared with that of the header.
FIRN_API const char *firn_version(void);

/// What a call came to. Zero is success; the numbers never change their meaning.
typedef enum firn_result {
    FIRN_OK = 0,
    FIRN_ERR_ARGUMENT = 1,    // a value is out of range, not finite or not initialized
    FIRN_ERR_STALE = 2,       // an id names something that no longer exists
    FIRN_ERR_MEMORY = 3,      // out of memory, or over the limit that was set
    FIRN_ERR_NOT_FOUND = 4,   // no such file, grid, object or name
    FIRN_ERR_IO = 5,          // the file system refused
    FIRN_ERR_DISK_FULL = 6,   // no room left for the file
    FIRN_ERR_FORMAT = 7,      // the bytes of a file are damaged or not of the expected kind
    FIRN_ERR_UNSUPPORTED = 8, // valid, but not something Firn handles
    FIRN_ERR_DIVERGED = 9,    // the physics left the sane range even with the smallest step
    FIRN_ERR_CANCELLED = 10,  // the host asked to stop
    FIRN_ERR_TIMEOUT = 11,    // a helper process did not answer in time
    FIRN_ERR_LOCKED = 12,     // another process is writing there
    FIRN_ERR_EXISTS = 13,     // something is there that would be lost
} firn_result;

enum { FIRN_MESSAGE_SIZE = 1000 };

/// One sentence about a failure: what, where, and what to do about it.
typedef struct firn_error {
    firn_result code;
    char message[FIRN_MESSAGE_SIZE];
} firn_error;

/// Stores code and message in error, if there is one, and returns code.
FIRN_API firn_result firn_fail(firn_error *error, firn_result code, const char *format, ...)
    FIRN_PRINTF(3, 4);

/// The name of a result, such as "out of memory"; for logs and exit messages.
FIRN_API const char *firn_result_name(firn_result result);

/// Returns from the calling function unless the call came to FIRN_OK.
#define FIRN_TRY(call)                                                                             \
    do {                                                                                           \
        firn_result firn_try_result = (call);                                                      \
        if (firn_try_result != FIRN_OK)                                                            \
            return firn_try_result;                                                                \
    } while (0)

/// Where memory comes from. Set once, before anything else is called.
typedef struct firn_allocator {
    void *(*allocate)(size_t bytes, size_t alignment, void *user); // NULL when there is none
    void (*release)(void *memory, void *user);                     // accepts NULL
    void *user;
} firn_allocator;

/// Replaces the allocator, which threads may call at the same time; NULL brings back the built-in
/// one.
FIRN_API void firn_set_allocator(const firn_allocator *allocator);

/// 64-byte aligned memory, or NULL. firn_free accepts NULL.
FIRN_API void *firn_alloc(size_t bytes);
FIRN_API void *firn_alloc_zero(size_t bytes);
FIRN_API void firn_free(void *memory);

/// Called when an assertion fails; the default prints the condition and aborts.
typedef void firn_assert_handler(const char *condition, const char *file, int line);
FIRN_API void firn_set_assert_handler(firn_assert_handler *handler);
FIRN_API void firn_assert_failed(const char *condition, const char *file, int line);

#ifdef NDEBUG
#define FIRN_ASSERT(condition) ((void)0)
#else
#define FIRN_ASSERT(condition)                                                                     \
    ((condition) ? (void)0 : firn_assert_failed(#condition, __FILE__, __LINE__))
#endif

/// A 64-bit checksum of bytes; seed chains several pieces. Not for adversaries.
FIRN_API uint64_t firn_hash64(const void *bytes, size_t size, uint64_t seed);

/// Seconds of a clock that only goes forward.
FIRN_API double firn_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
