/* Base64: the vectors of RFC 4648, every length, and what is refused. */
#include "common/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_pair(const char *bytes, const char *expected)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    char decoded[16];
    size_t size = 99;
    kedge_base64_encode(kedge_bytes_of(bytes), &text);
    assert_string_equal(text.data, expected);
    assert_true(kedge_base64_decode(kedge_buffer_bytes(&text), decoded, &size));
    assert_true(kedge_bytes_equal_text((kedge_bytes){decoded, size}, bytes));
    kedge_buffer_free(&text);
}

static void test_the_published_vectors_hold_both_ways(void **state)
{
    (void)state;
    assert_pair("", "");
    assert_pair("f", "Zg==");
    assert_pair("fo", "Zm8=");
    assert_pair("foo", "Zm9v");
    assert_pair("foob", "Zm9vYg==");
    assert_pair("fooba", "Zm9vYmE=");
    assert_pair("foobar", "Zm9vYmFy");
    assert_pair("\xfb\xff\xbf", "+/+/");
}

static void test_bytes_of_every_length_come_back(void **state)
{
    (void)state;
    char bytes[257], decoded[KEDGE_BASE64_DECODED_MAX(344)];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(unsigned char)(i * 167 + 13);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
        size_t decoded_size = 0;
        kedge_buffer_append_text(&text, "before ");
        kedge_base64_encode((kedge_bytes){bytes, size}, &text);
        kedge_bytes encoded = {text.data + 7, text.size - 7};
        assert_int_equal(encoded.size, (size + 2) / 3 * 4);
        assert_true(kedge_base64_decode(encoded, decoded, &decoded_size));
        assert_int_equal(decoded_size, size);
        assert_memory_equal(decoded, bytes, size);
        kedge_buffer_free(&text);
    }
}

static void test_what_the_encoder_never_writes_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"Z",    "Zg",    "Zg=",      "Zg=a",      "====", "Z===",
                                      "Zh==", "Zm9=",  "Zg==Zg==", "Zm9v\n",    "Zm 9", "Zm-_",
                                      "=Zg=", "Zm9v=", "Zm8=Zm9v", "Zm\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char decoded[8];
        size_t size = 99;
        if (kedge_base64_decode(kedge_bytes_of(bad[i]), decoded, &size)) fail_msg("%s", bad[i]);
        assert_int_equal(size, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_published_vectors_hold_both_ways),
        cmocka_unit_test(test_bytes_of_every_length_come_back),
        cmocka_unit_test(test_what_the_encoder_never_writes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
