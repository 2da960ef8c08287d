/* SHA-256 (the vectors of FIPS 180-2), hexadecimal, the system's clocks and randomness. */
#include "common/environment.h"
#include "common/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_hash(kedge_bytes bytes, const char *expected)
{
    char hex[KEDGE_SHA256_HEX];
    kedge_sha256_hex(bytes, hex);
    assert_string_equal(hex, expected);
}

static void test_sha256_gives_the_published_hashes(void **state)
{
    (void)state;
    assert_hash(kedge_bytes_of(NULL),
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_hash(kedge_bytes_of("abc"),
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_hash(kedge_bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    assert_hash((kedge_bytes){million, 1000000},
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void test_hexadecimal_is_lower_case_and_of_the_exact_size(void **state)
{
    (void)state;
    uint8_t bytes[4] = {1, 2, 3, 4};
    char hex[9];
    kedge_hex_encode((const uint8_t[]){0x00, 0x9F, 0xAB, 0xFF}, 4, hex);
    assert_string_equal(hex, "009fabff");
    assert_true(kedge_hex_decode(kedge_bytes_of("009fabff"), bytes, 4));
    assert_memory_equal(bytes, "\x00\x9F\xAB\xFF", 4);
    assert_true(kedge_hex_decode(kedge_bytes_of(""), bytes, 0));

    static const char *const wrong[] = {"009FABFF", "009fabf",  "009fabff0", "009fabff00",
                                        "009fabfg", " 09fabff", "",          "0x9fabff"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(kedge_hex_decode(kedge_bytes_of(wrong[i]), bytes, 4));
        assert_memory_equal(bytes, "\x00\x9F\xAB\xFF", 4);
    }
}

static void test_the_system_gives_clocks_and_numbers_that_differ(void **state)
{
    (void)state;
    kedge_environment system = kedge_environment_system(NULL);
    assert_ptr_equal(system.allocator, &kedge_allocator_default);
    assert_true(system.now_ms(system.context) > INT64_C(1600000000000));
    int64_t before = system.monotonic_ms(system.context);
    assert_true(system.monotonic_ms(system.context) >= before);
    assert_int_not_equal(kedge_random_u64(&system), kedge_random_u64(&system));

    char a[65] = "";
    char b[65] = "";
    kedge_random_hex(&system, 32, a);
    kedge_random_hex(&system, 32, b);
    assert_int_equal(strspn(a, "0123456789abcdef"), 64);
    assert_string_not_equal(a, b);
    kedge_random_hex(&system, 2, a);
    assert_int_equal(strlen(a), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_gives_the_published_hashes),
        cmocka_unit_test(test_hexadecimal_is_lower_case_and_of_the_exact_size),
        cmocka_unit_test(test_the_system_gives_clocks_and_numbers_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
