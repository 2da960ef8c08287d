/* SHA-256 (the vectors of FIPS 180-2), HMAC (those of RFC 4231), hexadecimal, the system's clocks
 * and randomness. */
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

static void assert_mac(kedge_bytes key, kedge_bytes bytes, const char *expected)
{
    uint8_t mac[KEDGE_SHA256_SIZE];
    char hex[KEDGE_SHA256_HEX];
    kedge_hmac_sha256(key, bytes, mac);
    kedge_hex_encode(mac, sizeof mac, hex);
    assert_string_equal(hex, expected);
}

static void test_hmac_gives_the_published_codes(void **state)
{
    (void)state;
    char key[131];
    char data[50];
    memset(key, 0x0b, 20);
    assert_mac((kedge_bytes){key, 20}, kedge_bytes_of("Hi There"),
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assert_mac(kedge_bytes_of("Jefe"), kedge_bytes_of("what do ya want for nothing?"),
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, 131);
    memset(data, 0xdd, 50);
    assert_mac((kedge_bytes){key, 20}, (kedge_bytes){data, 50},
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    assert_mac((kedge_bytes){key, 131},
               kedge_bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"),
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    assert_mac((kedge_bytes){NULL, 0}, (kedge_bytes){NULL, 0},
               "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void test_a_code_may_take_the_place_of_its_key(void **state)
{
    (void)state;
    uint8_t key[KEDGE_SHA256_SIZE] = "Jefe";
    char hex[KEDGE_SHA256_HEX];
    kedge_hmac_sha256((kedge_bytes){(const char *)key, 4},
                      kedge_bytes_of("what do ya want for nothing?"), key);
    kedge_hex_encode(key, sizeof key, hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void test_a_secret_is_wiped(void **state)
{
    (void)state;
    char secret[8] = "secret!";
    kedge_cleanse(secret, sizeof secret);
    assert_memory_equal(secret, "\0\0\0\0\0\0\0\0", 8);
}

static void test_md5_gives_the_published_hashes(void **state)
{
    (void)state;
    char hex[KEDGE_MD5_HEX];
    kedge_md5_hex(kedge_bytes_of(NULL), hex);
    assert_string_equal(hex, "d41d8cd98f00b204e9800998ecf8427e");
    kedge_md5_hex(KEDGE_BYTES("message digest"), hex);
    assert_string_equal(hex, "f96b697d7cb7938d525a2f31aaf161d0");
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
        cmocka_unit_test(test_hmac_gives_the_published_codes),
        cmocka_unit_test(test_a_code_may_take_the_place_of_its_key),
        cmocka_unit_test(test_a_secret_is_wiped),
        cmocka_unit_test(test_md5_gives_the_published_hashes),
        cmocka_unit_test(test_hexadecimal_is_lower_case_and_of_the_exact_size),
        cmocka_unit_test(test_the_system_gives_clocks_and_numbers_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
