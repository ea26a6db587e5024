#define _DEFAULT_SOURCE // madvise
#include "firn/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    ALIGNMENT = 64,
    HUGE_PAGE = 1 << 21,
    LARGE = 1 << 21, // bytes from which huge pages are asked for
};

// Particles are read in dozens of streams and sorted at random: with huge pages the processor finds
// their addresses more quickly. Systems without them go on as they are.
static void *default_allocate(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    void *memory = NULL;
    if (posix_memalign(&memory, bytes < LARGE ? alignment : HUGE_PAGE, bytes) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= LARGE)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

static void default_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static void default_assert_handler(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

static const firn_allocator default_allocator = {default_allocate, default_release, NULL};
static firn_allocator allocator_hook = {default_allocate, default_release, NULL};
static firn_assert_handler *assert_hook = default_assert_handler;

const char *firn_version(void) { return FIRN_VERSION; }

void firn_set_allocator(const firn_allocator *allocator)
{
    allocator_hook = allocator != NULL ? *allocator : default_allocator;
}

void *firn_alloc(size_t bytes)
{
    // posix_memalign may answer NULL for zero bytes, which would read as a failure.
    return allocator_hook.allocate(bytes > 0 ? bytes : 1, ALIGNMENT, allocator_hook.user);
}

void *firn_alloc_zero(size_t bytes)
{
    void *memory = firn_alloc(bytes);
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

void firn_free(void *memory)
{
    if (memory != NULL)
        allocator_hook.release(memory, allocator_hook.user);
}

void firn_set_assert_handler(firn_assert_handler *handler)
{
    assert_hook = handler != NULL ? handler : default_assert_handler;
}

void firn_assert_failed(const char *condition, const char *file, int line)
{
    assert_hook(condition, file, line);
}

firn_result firn_fail(firn_error *error, firn_result code, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        error->code = code;
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return code;
}

const char *firn_result_name(firn_result result)
{
    static const char *const names[] = {
        [FIRN_OK] = "ok",
        [FIRN_ERR_ARGUMENT] = "invalid value",
        [FIRN_ERR_STALE] = "stale id",
        [FIRN_ERR_MEMORY] = "out of memory",
        [FIRN_ERR_NOT_FOUND] = "not found",
        [FIRN_ERR_IO] = "input/output error",
        [FIRN_ERR_DISK_FULL] = "disk full",
        [FIRN_ERR_FORMAT] = "damaged or foreign file",
        [FIRN_ERR_UNSUPPORTED] = "not supported",
        [FIRN_ERR_DIVERGED] = "simulation diverged",
        [FIRN_ERR_CANCELLED] = "cancelled",
        [FIRN_ERR_TIMEOUT] = "timed out",
        [FIRN_ERR_LOCKED] = "locked by another process",
        [FIRN_ERR_EXISTS] = "exists already",
    };
    return (size_t)result < FIRN_COUNT(names) ? names[result] : "unknown result";
}

__extension__ typedef unsigned __int128 wide;

static uint64_t mix(uint64_t a, uint64_t b)
{
    // Multiply-and-fold: both halves of the 128-bit product take part.
    wide product = (wide)(a ^ 0x9E3779B97F4A7C15u) * (b | 1u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t firn_hash64(const void *bytes, size_t size, uint64_t seed)
{
    const unsigned char *at = bytes;
    // mix uses odd factors: twice the size keeps neighboring lengths apart.
    uint64_t hash = mix(seed ^ 0xD6E8FEB86659FD93u, 2 * (uint64_t)size + 0xA0761D6478BD642Fu);
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = mix(hash ^ word, 0xE7037ED1A0B428DBu) + 0x8EBC6AF09C88C6E3u;
    }
    uint64_t tail = 0;
    if (size > 0)
        memcpy(&tail, at, size);
    return mix(hash ^ tail, 0x589965CC75374CC3u);
}

double firn_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
