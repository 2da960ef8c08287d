/* Borrowed bytes, memory, and the buffer that grows. */
#include "common/bytes.h"

#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_bytes_are_compared_with_their_length(void **state)
{
    (void)state;
    kedge_bytes none = kedge_bytes_of(NULL);
    assert_null(none.data);
    assert_int_equal(none.size, 0);
    assert_true(kedge_bytes_equal(none, kedge_bytes_of("")));
    assert_true(kedge_bytes_equal(KEDGE_BYTES("a\0b"), KEDGE_BYTES("a\0b")));
    assert_false(kedge_bytes_equal(KEDGE_BYTES("a\0b"), KEDGE_BYTES("a\0c")));
    assert_false(kedge_bytes_equal_text(KEDGE_BYTES("a\0b"), "a"));
    assert_true(kedge_bytes_equal_text(KEDGE_BYTES("ab"), "ab"));
    assert_true(kedge_bytes_compare(KEDGE_BYTES("a"), KEDGE_BYTES("ab")) < 0);
    assert_true(kedge_bytes_compare(KEDGE_BYTES("b"), KEDGE_BYTES("ab")) > 0);
    assert_true(kedge_bytes_compare(KEDGE_BYTES("\x7F"), KEDGE_BYTES("\x80")) < 0);
    assert_int_equal(kedge_bytes_compare(none, kedge_bytes_of("")), 0);
    assert_true(kedge_bytes_start_with(KEDGE_BYTES("abc"), KEDGE_BYTES("ab")));
    assert_true(kedge_bytes_start_with(none, none));
    assert_false(kedge_bytes_start_with(KEDGE_BYTES("a"), KEDGE_BYTES("ab")));
}

static void test_memory_comes_zeroed_and_text_with_a_nul(void **state)
{
    (void)state;
    failing_allocator failing;
    failing_allocator_init(&failing);
    const unsigned char *block = kedge_allocate(&failing.allocator, 100);
    assert_non_null(block);
    for (int i = 0; i < 100; i++)
        assert_int_equal(block[i], 0);
    char *copy = kedge_copy_text(&failing.allocator, KEDGE_BYTES("abc"));
    char *empty = kedge_copy_text(&failing.allocator, kedge_bytes_of(NULL));
    assert_string_equal(copy, "abc");
    assert_string_equal(empty, "");
    kedge_release(&failing.allocator, (void *)block);
    kedge_release(&failing.allocator, copy);
    kedge_release(&failing.allocator, empty);
    kedge_release(&failing.allocator, NULL);
    assert_int_equal(failing.living, 0);

    failing_allocator_arm(&failing, 1, true);
    assert_null(kedge_allocate(&failing.allocator, 1));
    assert_null(kedge_copy_text(&failing.allocator, KEDGE_BYTES("abc")));
}

static void test_a_buffer_grows_and_always_ends_with_a_nul(void **state)
{
    (void)state;
    kedge_buffer buffer = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_buffer_bytes(&buffer).size, 0);
    kedge_buffer_append(&buffer, NULL, 0);
    assert_string_equal(buffer.data, "");
    for (size_t i = 0; i < 10000; i++) {
        kedge_buffer_append_byte(&buffer, (char)('a' + i % 26));
        assert_int_equal(buffer.size, i + 1);
        assert_int_equal(buffer.data[i + 1], '\0');
    }
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(buffer.data[i], 'a' + i % 26);
    kedge_buffer_truncate(&buffer, 2);
    kedge_buffer_truncate(&buffer, 5);
    assert_string_equal(buffer.data, "ab");
    kedge_buffer_append_text(&buffer, "-");
    kedge_buffer_append_bytes(&buffer, KEDGE_BYTES("cd"));
    kedge_buffer_append_format(&buffer, "%s%05d", "x", 42);
    assert_string_equal(buffer.data, "ab-cdx00042");
    kedge_buffer_clear(&buffer);
    assert_string_equal(buffer.data, "");
    kedge_buffer_append_format(&buffer, "%0500d", 7);
    assert_int_equal(buffer.size, 500);
    kedge_buffer_free(&buffer);
    assert_null(buffer.data);
    kedge_buffer_append_text(&buffer, "again");
    assert_string_equal(buffer.data, "again");
    kedge_buffer_free(&buffer);
}

static void test_a_reserved_place_has_room_for_what_was_asked(void **state)
{
    (void)state;
    kedge_buffer buffer = kedge_buffer_make(&kedge_allocator_default);
    for (size_t size = 0; size < 300; size++) {
        char *room = kedge_buffer_reserve(&buffer, size);
        assert_non_null(room);
        memset(room, 'x', size);
        buffer.size += size;
        kedge_buffer_append(&buffer, "", 0);
        assert_int_equal(strlen(buffer.data), buffer.size);
    }
    kedge_buffer_free(&buffer);
}

static void test_a_size_that_no_machine_has_is_out_of_memory(void **state)
{
    (void)state;
    kedge_error error = {0};
    kedge_buffer buffer = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&buffer, "abc");
    assert_null(kedge_buffer_reserve(&buffer, SIZE_MAX));
    assert_int_equal(kedge_buffer_status(&buffer, &error), KEDGE_NO_MEMORY);
    kedge_buffer_append_text(&buffer, "def");
    assert_string_equal(buffer.data, "abc");
    kedge_buffer_clear(&buffer);
    assert_int_equal(kedge_buffer_status(&buffer, &error), KEDGE_OK);
    kedge_buffer_free(&buffer);
}

static bool append_much(const kedge_allocator *allocator, void *context)
{
    (void)context;
    kedge_buffer buffer = kedge_buffer_make(allocator);
    for (int i = 0; i < 1000; i++)
        kedge_buffer_append_format(&buffer, "%d,", i);
    bool ok = kedge_buffer_status(&buffer, NULL) == KEDGE_OK;
    if (ok) assert_int_equal(buffer.size, 10 * 2 + 90 * 3 + 900 * 4);
    if (buffer.size > 0) assert_int_equal(strlen(buffer.data), buffer.size);
    kedge_buffer_free(&buffer);
    return ok;
}

static void test_appending_after_memory_ran_out_does_nothing(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(append_much, NULL, 0) >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_compared_with_their_length),
        cmocka_unit_test(test_memory_comes_zeroed_and_text_with_a_nul),
        cmocka_unit_test(test_a_buffer_grows_and_always_ends_with_a_nul),
        cmocka_unit_test(test_a_reserved_place_has_room_for_what_was_asked),
        cmocka_unit_test(test_a_size_that_no_machine_has_is_out_of_memory),
        cmocka_unit_test(test_appending_after_memory_ran_out_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
