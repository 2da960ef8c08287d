/* Writes of resources: golden bytes, random ones written and read again, and wrong members. */
#include "wire/resource.h"

#include "tests/wire/draw.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define UID "0123456789abcdef0123456789abcdef"

static kedge_wire_request request_of(const kedge_buffer *body)
{
    return (kedge_wire_request){kedge_buffer_bytes(body), false};
}

static void test_a_put_is_the_version_that_it_replaces_and_the_value(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_resource_put put = {.edit = {.expected = 7, .uid = UID},
                                   .value = KEDGE_BYTES("{\"a\":[1]}")};
    (void)state;
    kedge_wire_resource_put_write(&put, &out);
    assert_string_equal(out.data, "{\"expected\":7,\"uid\":\"" UID "\",\"value\":{\"a\":[1]}}");
    kedge_buffer_clear(&out);
    put.edit.uid[0] = '\0';
    kedge_wire_resource_put_write(&put, &out);
    assert_string_equal(out.data, "{\"expected\":7,\"value\":{\"a\":[1]}}");
    kedge_buffer_free(&out);
}

static void test_a_rollback_is_two_versions(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_resource_rollback rollback = {.edit = {.expected = 0, .uid = UID}, .to = 3};
    (void)state;
    kedge_wire_resource_rollback_write(&rollback, &out);
    assert_string_equal(out.data, "{\"expected\":0,\"uid\":\"" UID "\",\"to\":3}");
    kedge_buffer_free(&out);
}

static void draw_edit(draw *from, kedge_wire_resource_edit *edit)
{
    edit->expected = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID);
    edit->uid[0] = '\0';
    if (draw_count(from, 1) == 0) return;
    for (size_t i = 0; i < sizeof edit->uid - 1; i++)
        edit->uid[i] = "0123456789abcdef"[draw_count(from, 15)];
    edit->uid[sizeof edit->uid - 1] = '\0';
}

static void test_a_put_that_was_written_is_read_as_the_same(void **state)
{
    static const char *const values[] = {"null", "[1,2]", "{\"b\":{}}", "\"\xC3\xBC\"", "-0.5"};
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_resource_put put;
        kedge_wire_resource_put read;
        draw_edit(&from, &put.edit);
        put.value = kedge_bytes_of(values[draw_count(&from, 4)]);
        kedge_wire_resource_put_write(&put, &out);
        kedge_wire_request request = request_of(&out);
        assert_int_equal(kedge_wire_resource_put_read(&request, &read, NULL), KEDGE_OK);
        assert_int_equal(read.edit.expected, put.edit.expected);
        assert_string_equal(read.edit.uid, put.edit.uid);
        assert_true(kedge_bytes_equal(read.value, put.value));
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

static void test_a_rollback_that_was_written_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_resource_rollback rollback;
        kedge_wire_resource_rollback read;
        draw_edit(&from, &rollback.edit);
        rollback.to = draw_integer(&from, 1, KEDGE_LIMIT_MUTATION_ID);
        kedge_wire_resource_rollback_write(&rollback, &out);
        kedge_wire_request request = request_of(&out);
        assert_int_equal(kedge_wire_resource_rollback_read(&request, &read, NULL), KEDGE_OK);
        assert_int_equal(read.edit.expected, rollback.edit.expected);
        assert_string_equal(read.edit.uid, rollback.edit.uid);
        assert_int_equal(read.to, rollback.to);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

static void assert_put_wrong(const char *body, const char *code, const char *named)
{
    kedge_error error = {0};
    kedge_wire_resource_put put = {.edit = {.expected = -5}};
    kedge_wire_request request = {kedge_bytes_of(body), false};
    assert_int_equal(kedge_wire_resource_put_read(&request, &put, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, code);
    if (strstr(error.message, named) == NULL) fail_msg("%s: %s", body, error.message);
    assert_int_equal(put.edit.expected, -5);
}

static void assert_rollback_wrong(const char *body, const char *named)
{
    kedge_error error = {0};
    kedge_wire_resource_rollback rollback = {.to = -5};
    kedge_wire_request request = {kedge_bytes_of(body), false};
    assert_int_equal(kedge_wire_resource_rollback_read(&request, &rollback, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "body-invalid");
    if (strstr(error.message, named) == NULL) fail_msg("%s: %s", body, error.message);
    assert_int_equal(rollback.to, -5);
}

static void test_a_wrong_member_is_named(void **state)
{
    (void)state;
    assert_put_wrong("{", "body-not-json", "");
    assert_put_wrong("[]", "body-invalid", "object");
    assert_put_wrong("{\"value\":1}", "body-invalid", "expected is missing");
    assert_put_wrong("{\"expected\":-1,\"value\":1}", "body-invalid", "expected must be");
    assert_put_wrong("{\"expected\":1.5,\"value\":1}", "body-invalid", "expected must be");
    assert_put_wrong("{\"expected\":\"1\",\"value\":1}", "body-invalid", "expected must be");
    assert_put_wrong("{\"expected\":1}", "body-invalid", "value is missing");
    assert_put_wrong("{\"expected\":1,\"uid\":1,\"value\":1}", "body-invalid", "uid must be");
    assert_put_wrong("{\"expected\":1,\"uid\":\"\",\"value\":1}", "body-invalid", "uid must be");
    assert_put_wrong("{\"expected\":1,\"uid\":\"" UID "0\",\"value\":1}", "body-invalid",
                     "uid must be");
    assert_put_wrong("{\"expected\":1,\"uid\":\"0123456789ABCDEF0123456789ABCDEF\",\"value\":1}",
                     "body-invalid", "uid must be");
    assert_rollback_wrong("{\"to\":1}", "expected is missing");
    assert_rollback_wrong("{\"expected\":1}", "to is missing");
    assert_rollback_wrong("{\"expected\":1,\"to\":0}", "to must be");
    assert_rollback_wrong("{\"expected\":1,\"to\":\"1\"}", "to must be");
}

static void test_a_body_that_is_cut_off_is_too_large(void **state)
{
    kedge_error error = {0};
    kedge_wire_resource_put put;
    kedge_wire_request request = {KEDGE_BYTES("{\"expected\":1,\"value\":1}"), true};
    (void)state;
    assert_int_equal(kedge_wire_resource_put_read(&request, &put, &error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "body-too-large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_put_is_the_version_that_it_replaces_and_the_value),
        cmocka_unit_test(test_a_rollback_is_two_versions),
        cmocka_unit_test(test_a_put_that_was_written_is_read_as_the_same),
        cmocka_unit_test(test_a_rollback_that_was_written_is_read_as_the_same),
        cmocka_unit_test(test_a_wrong_member_is_named),
        cmocka_unit_test(test_a_body_that_is_cut_off_is_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
