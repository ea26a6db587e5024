#include "hash.h"

#include "firn/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { INPUT_SIZE = 1 << 16 };

static void fill(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + 3);
}

static void print_digest(firn_abcw_digest digest, char text[33])
{
    const unsigned char *bytes = (const unsigned char *)digest.word;
    for (size_t i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static void hashes_equal_the_vectors_of_the_official_library(void **state)
{
    (void)state;
    static unsigned char input[INPUT_SIZE];
    fill(input, sizeof input);
    void *text = NULL;
    size_t size = 0;
    firn_error error;
    assert_int_equal(
        firn_file_read(FIRN_FIXTURES "/alembic/hash_vectors.json", 1 << 20, &text, &size, &error),
        FIRN_OK);
    char json[1 << 14];
    assert_true(size < sizeof json);
    memcpy(json, text, size);
    json[size] = '\0';
    firn_free(text);

    int vectors = 0;
    for (const char *at = strstr(json, "{\"n\""); at != NULL; at = strstr(at + 1, "{\"n\"")) {
        int n = 0;
        char murmur[33], spooky[33], got[33];
        assert_int_equal(sscanf(at,
                                "{\"n\": %d, \"murmur3_x64_128\": \"%32[0-9a-f]\", "
                                "\"spooky_v2_128\": \"%32[0-9a-f]\"",
                                &n, murmur, spooky),
                         3);
        assert_true(n <= INPUT_SIZE);
        print_digest(firn_murmur_key(input, (size_t)n), got);
        assert_string_equal(got, murmur);
        print_digest(firn_spooky(input, (size_t)n), got);
        assert_string_equal(got, spooky);
        vectors++;
    }
    assert_true(vectors > 20);
}

static void murmur_in_pieces_equals_murmur_of_the_whole(void **state)
{
    (void)state;
    unsigned char input[300];
    fill(input, sizeof input);
    for (size_t size = 1; size < sizeof input; size++)
        for (size_t first = 0; first <= size; first += 16) {
            firn_murmur murmur = {0, 0, 0};
            firn_murmur_blocks(&murmur, input, first);
            firn_abcw_digest pieces = firn_murmur_finish(&murmur, input + first, size - first);
            firn_abcw_digest whole = firn_murmur_key(input, size);
            assert_memory_equal(&pieces, &whole, sizeof whole);
        }
}

static void murmur_of_several_equals_murmur_of_each(void **state)
{
    (void)state;
    unsigned char input[400];
    fill(input, sizeof input);
    for (size_t largest = 0; largest < 100; largest++)
        for (size_t less = 0; less < 40; less += 3) {
            const void *bytes[FIRN_MURMUR_CHAINS];
            size_t sizes[FIRN_MURMUR_CHAINS];
            for (size_t i = 0; i < FIRN_MURMUR_CHAINS; i++) {
                bytes[i] = input + 51 * i;
                sizes[i] = largest > i * less ? largest - i * less : 0;
            }
            for (int count = 1; count <= FIRN_MURMUR_CHAINS; count++) {
                firn_murmur states[FIRN_MURMUR_CHAINS] = {{0, 0, 0}};
                for (size_t end = 32; end < largest + 32; end += 32)
                    firn_murmur_advance(states, bytes, sizes, count, end);
                for (int i = 0; i < count; i++) {
                    size_t rest = sizes[i] % 16;
                    const unsigned char *tail = (const unsigned char *)bytes[i] + sizes[i] - rest;
                    firn_abcw_digest together = firn_murmur_finish(&states[i], tail, rest);
                    firn_abcw_digest alone = firn_murmur_key(bytes[i], sizes[i]);
                    assert_memory_equal(&together, &alone, sizeof alone);
                }
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_equal_the_vectors_of_the_official_library),
        cmocka_unit_test(murmur_in_pieces_equals_murmur_of_the_whole),
        cmocka_unit_test(murmur_of_several_equals_murmur_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
