/* Fuzz target: the strict JSON reader. Text that passes the check has one canonical form, which is
 * its own canonical form. The readers are safe on text that was not checked. */
#include "common/json.h"
#include "tests/fuzz/fuzz.h"

#include <kedge/limits.h>

#define VISIT_MAX 1000

static void read_scalar(kedge_bytes value)
{
    bool boolean;
    int64_t integer;
    double number;
    char chars[64];
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    (void)kedge_json_to_boolean(value, &boolean);
    (void)kedge_json_to_integer(value, &integer);
    (void)kedge_json_to_number(value, &number);
    (void)kedge_json_to_chars(value, chars, sizeof chars);
    (void)kedge_json_to_text(value, &text);
    (void)kedge_json_text_equals(value, "a");
    kedge_buffer_free(&text);
}

static void read_container(kedge_bytes container)
{
    kedge_bytes key, value;
    kedge_json_iterator members = kedge_json_iterate(container);
    for (int i = 0; i < VISIT_MAX && kedge_json_next_member(&members, &key, &value); i++) {
        read_scalar(key);
        read_scalar(value);
    }
    kedge_json_iterator elements = kedge_json_iterate(container);
    for (int i = 0; i < VISIT_MAX && kedge_json_next_element(&elements, &value); i++)
        read_scalar(value);
    (void)kedge_json_member(container, "a", &value);
}

static void check_canonical(kedge_bytes text)
{
    kedge_bytes value, rest;
    kedge_buffer once = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer twice = kedge_buffer_make(&kedge_allocator_default);
    FUZZ_CHECK(kedge_json_skip(text, &value, &rest));
    FUZZ_CHECK(kedge_json_canonical(value, &once, NULL) == KEDGE_OK);
    FUZZ_CHECK(kedge_json_check(kedge_buffer_bytes(&once), KEDGE_LIMIT_JSON_DEPTH,
                                &kedge_allocator_default, NULL) == KEDGE_OK);
    FUZZ_CHECK(kedge_json_canonical(kedge_buffer_bytes(&once), &twice, NULL) == KEDGE_OK);
    FUZZ_CHECK(kedge_bytes_equal(kedge_buffer_bytes(&once), kedge_buffer_bytes(&twice)));
    kedge_buffer_free(&once);
    kedge_buffer_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kedge_bytes text = {(const char *)data, size}, value;
    kedge_buffer normal = kedge_buffer_make(&kedge_allocator_default);
    bool good =
        kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) == KEDGE_OK;
    bool normalized = kedge_json_normalize(text, KEDGE_LIMIT_JSON_DEPTH, &normal, NULL) == KEDGE_OK;
    FUZZ_CHECK(good == normalized);
    if (good) check_canonical(text);
    if (kedge_json_skip(text, &value, NULL)) {
        read_scalar(value);
        read_container(value);
    }
    kedge_buffer_free(&normal);
    return 0;
}
