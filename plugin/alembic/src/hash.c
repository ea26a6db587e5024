#include "hash.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Ogawa values are stored as they lie");

static inline uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static inline uint64_t load_word(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

// Up to 8 bytes as a little-endian number.
static uint64_t load_part(const unsigned char *at, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, at, size);
    return word;
}

#define MURMUR_C1 0x87c37b91114253d5u
#define MURMUR_C2 0x4cf5ad432745937fu

static inline uint64_t murmur_k1(uint64_t k) { return rotate(k * MURMUR_C1, 31) * MURMUR_C2; }
static inline uint64_t murmur_k2(uint64_t k) { return rotate(k * MURMUR_C2, 33) * MURMUR_C1; }

static inline void murmur_step(uint64_t *h1, uint64_t *h2, const unsigned char *at)
{
    *h1 ^= murmur_k1(load_word(at));
    *h1 = (rotate(*h1, 27) + *h2) * 5 + 0x52dce729u;
    *h2 ^= murmur_k2(load_word(at + 8));
    *h2 = (rotate(*h2, 31) + *h1) * 5 + 0x38495ab5u;
}

void firn_murmur_blocks(firn_murmur *murmur, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t h1 = murmur->h1, h2 = murmur->h2;
    for (size_t left = size / 16; left > 0; left--, at += 16)
        murmur_step(&h1, &h2, at);
    murmur->h1 = h1;
    murmur->h2 = h2;
    murmur->size += size;
}

static uint64_t murmur_mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

firn_abcw_digest firn_murmur_finish(firn_murmur *murmur, const void *bytes, size_t size)
{
    firn_murmur_blocks(murmur, bytes, size);
    const unsigned char *tail = (const unsigned char *)bytes + (size & ~(size_t)15);
    size_t rest = size & 15;
    uint64_t h1 = murmur->h1, h2 = murmur->h2;
    if (rest > 8)
        h2 ^= murmur_k2(load_part(tail + 8, rest - 8));
    if (rest > 0)
        h1 ^= murmur_k1(load_part(tail, rest < 8 ? rest : 8));
    h1 ^= murmur->size;
    h2 ^= murmur->size;
    h1 += h2;
    h2 += h1;
    h1 = murmur_mix(h1);
    h2 = murmur_mix(h2);
    h1 += h2;
    h2 += h1;
    return (firn_abcw_digest){{h1, h2}};
}

firn_abcw_digest firn_murmur_key(const void *bytes, size_t size)
{
    if (size == 0)
        return (firn_abcw_digest){{0, 0}};
    firn_murmur murmur = {0, 0, 0};
    return firn_murmur_finish(&murmur, bytes, size);
}

// `chains` is a constant wherever this is inlined, so the states stay in registers.
static inline void murmur_chains(int chains, firn_murmur *states, const unsigned char *const *at,
                                 size_t begin, size_t end)
{
    uint64_t h1[FIRN_MURMUR_CHAINS], h2[FIRN_MURMUR_CHAINS];
    for (int i = 0; i < chains; i++) {
        h1[i] = states[i].h1;
        h2[i] = states[i].h2;
    }
    for (size_t block = begin; block < end; block += 16)
        for (int i = 0; i < chains; i++)
            murmur_step(&h1[i], &h2[i], at[i] + block);
    for (int i = 0; i < chains; i++)
        states[i] = (firn_murmur){h1[i], h2[i], end};
}

// A step waits for the step before it; independent chains fill each other's waits.
void firn_murmur_advance(firn_murmur *states, const void *const *bytes, const size_t *sizes,
                         int count, size_t end)
{
    const unsigned char *at[FIRN_MURMUR_CHAINS] = {NULL};
    for (int i = 0; i < count; i++)
        at[i] = bytes[i];
    size_t begin = (size_t)states[0].size;
    for (int active = count; active > 0; active--) {
        size_t stop = (sizes[active - 1] < end ? sizes[active - 1] : end) & ~(size_t)15;
        if (stop <= begin)
            continue;
        switch (active) {
        case 1:
            murmur_chains(1, states, at, begin, stop);
            break;
        case 2:
            murmur_chains(2, states, at, begin, stop);
            break;
        case 3:
            murmur_chains(3, states, at, begin, stop);
            break;
        default:
            murmur_chains(FIRN_MURMUR_CHAINS, states, at, begin, stop);
        }
        begin = stop;
    }
}

#define SPOOKY_SEED 0xdeadbeefdeadbeefu

static void short_mix(uint64_t h[4])
{
    static const int turn[12] = {50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36};
    for (int i = 0; i < 12; i++) {
        int x = (i + 2) & 3;
        h[x] = rotate(h[x], turn[i]) + h[(x + 1) & 3];
        h[i & 3] ^= h[x];
    }
}

static void short_end(uint64_t h[4])
{
    static const int turn[11] = {15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63};
    for (int i = 0; i < 11; i++) {
        int x = (i + 3) & 3, y = (i + 2) & 3;
        h[x] ^= h[y];
        h[y] = rotate(h[y], turn[i]);
        h[x] += h[y];
    }
}

static firn_abcw_digest spooky_short(const unsigned char *at, size_t size)
{
    uint64_t h[4] = {0, 0, SPOOKY_SEED, SPOOKY_SEED};
    size_t rest = size;
    for (; rest >= 32; rest -= 32, at += 32) {
        h[2] += load_word(at);
        h[3] += load_word(at + 8);
        short_mix(h);
        h[0] += load_word(at + 16);
        h[1] += load_word(at + 24);
    }
    if (rest >= 16) {
        h[2] += load_word(at);
        h[3] += load_word(at + 8);
        short_mix(h);
        rest -= 16;
        at += 16;
    }
    h[3] += (uint64_t)size << 56;
    h[2] += rest == 0 ? SPOOKY_SEED : load_part(at, rest < 8 ? rest : 8);
    h[3] += rest == 0 ? SPOOKY_SEED : rest > 8 ? load_part(at + 8, rest - 8) : 0;
    short_end(h);
    return (firn_abcw_digest){{h[0], h[1]}};
}

enum { SPOOKY_WORDS = 12, SPOOKY_BLOCK = 8 * SPOOKY_WORDS };

static void long_mix(uint64_t s[SPOOKY_WORDS], const unsigned char *block)
{
    static const int turn[SPOOKY_WORDS] = {11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46};
    for (int i = 0; i < SPOOKY_WORDS; i++) {
        int last = (i + 11) % SPOOKY_WORDS;
        s[i] += load_word(block + 8 * i);
        s[(i + 2) % SPOOKY_WORDS] ^= s[(i + 10) % SPOOKY_WORDS];
        s[last] ^= s[i];
        s[i] = rotate(s[i], turn[i]);
        s[last] += s[(i + 1) % SPOOKY_WORDS];
    }
}

static void long_end(uint64_t s[SPOOKY_WORDS])
{
    static const int turn[SPOOKY_WORDS] = {44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54};
    for (int i = 0; i < SPOOKY_WORDS; i++) {
        int last = (i + 11) % SPOOKY_WORDS, next = (i + 1) % SPOOKY_WORDS;
        s[last] += s[next];
        s[(i + 2) % SPOOKY_WORDS] ^= s[last];
        s[next] = rotate(s[next], turn[i]);
    }
}

static firn_abcw_digest spooky_long(const unsigned char *at, size_t size)
{
    uint64_t s[SPOOKY_WORDS];
    for (int i = 0; i < SPOOKY_WORDS; i++)
        s[i] = i % 3 == 2 ? SPOOKY_SEED : 0;
    for (; size >= SPOOKY_BLOCK; size -= SPOOKY_BLOCK, at += SPOOKY_BLOCK)
        long_mix(s, at);
    unsigned char block[SPOOKY_BLOCK] = {0};
    memcpy(block, at, size);
    block[SPOOKY_BLOCK - 1] = (unsigned char)size;
    for (int i = 0; i < SPOOKY_WORDS; i++)
        s[i] += load_word(block + 8 * i);
    for (int round = 0; round < 3; round++)
        long_end(s);
    return (firn_abcw_digest){{s[0], s[1]}};
}

firn_abcw_digest firn_spooky(const void *bytes, size_t size)
{
    return size < 2 * SPOOKY_BLOCK ? spooky_short(bytes, size) : spooky_long(bytes, size);
}

firn_abcw_digest firn_spooky_fold(firn_abcw_digest sum, firn_abcw_digest next)
{
    uint64_t h[4] = {sum.word[0], sum.word[1], next.word[0], next.word[1]};
    short_end(h);
    return (firn_abcw_digest){{h[0], h[1]}};
}
