/// The two hashes of Alembic: MurmurHash3 (x64, 128 bits, seed 0) keys every sample, SpookyHash V2
/// (128 bits, seeds 0) sums up properties and objects.
#ifndef FIRN_ABCW_HASH_H
#define FIRN_ABCW_HASH_H

#include <stddef.h>
#include <stdint.h>

/// 128 bits as two words; on disk each word is little-endian, the first one leading.
typedef struct firn_abcw_digest {
    uint64_t word[2];
} firn_abcw_digest;

/// MurmurHash3 in pieces: every piece but the last has a multiple of 16 bytes.
typedef struct firn_murmur {
    uint64_t h1, h2, size;
} firn_murmur;

void firn_murmur_blocks(firn_murmur *murmur, const void *bytes, size_t size);
firn_abcw_digest firn_murmur_finish(firn_murmur *murmur, const void *bytes, size_t size);

/// The key of a sample with these bytes; zero for no bytes.
firn_abcw_digest firn_murmur_key(const void *bytes, size_t size);

enum { FIRN_MURMUR_CHAINS = 4 };

/// Takes up to FIRN_MURMUR_CHAINS inputs, ordered from large to small, to the whole blocks before
/// offset `end`: twice as fast as one after the other. The states go on where they stand.
void firn_murmur_advance(firn_murmur *states, const void *const *bytes, const size_t *sizes,
                         int count, size_t end);

firn_abcw_digest firn_spooky(const void *bytes, size_t size);

/// Folds the digest of a further sample into the running digest of a property.
firn_abcw_digest firn_spooky_fold(firn_abcw_digest sum, firn_abcw_digest next);

#endif
