/* gzip: round trips, the same bytes every time, and streams that are no whole gzip stream. */
#include "common/gzip.h"

#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB ((size_t)1024 * 1024)

/* Bytes that hardly compress, the same in every run. */
static void fill(char *bytes, size_t size)
{
    uint64_t number = 1;
    for (size_t i = 0; i < size; i++) {
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bytes[i] = (char)(number >> 56);
    }
}

static kedge_buffer compress(kedge_bytes plain)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_gzip(plain, &out, NULL), KEDGE_OK);
    return out;
}

static void test_what_was_compressed_comes_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 1000, 65535, 65536, 65537, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *plain = malloc(sizes[i] + 1);
        assert_non_null(plain);
        fill(plain, sizes[i]);
        kedge_buffer packed = compress((kedge_bytes){plain, sizes[i]});
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer_append_text(&out, "kept");
        assert_int_equal(kedge_gunzip(kedge_buffer_bytes(&packed), sizes[i], &out, NULL), KEDGE_OK);
        assert_int_equal(out.size, sizes[i] + 4);
        assert_memory_equal(out.data, "kept", 4);
        assert_memory_equal(out.data + 4, plain, sizes[i]);
        assert_int_equal(out.data[out.size], '\0');
        kedge_buffer_free(&out);
        kedge_buffer_free(&packed);
        free(plain);
    }
}

static void test_a_stream_in_parts_is_one_stream_and_each_part_can_be_read_at_once(void **state)
{
    (void)state;
    static char plain[300000];
    static const size_t cuts[] = {0, 1, 70000, 70001, 200000, sizeof plain};
    fill(plain, sizeof plain / 2);
    kedge_buffer packed = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_gzip_stream *stream = kedge_gzip_stream_new(&kedge_allocator_default);
    assert_non_null(stream);
    for (size_t i = 1; i < sizeof cuts / sizeof cuts[0]; i++) {
        kedge_bytes part = {plain + cuts[i - 1], cuts[i] - cuts[i - 1]};
        size_t before = packed.size;
        bool last = cuts[i] == sizeof plain;
        assert_int_equal(kedge_gzip_stream_write(stream, part, last, &packed, NULL), KEDGE_OK);
        assert_true(packed.size > before);
        if (!last) assert_memory_equal(packed.data + packed.size - 4, "\0\0\xff\xff", 4);
    }
    assert_int_equal(kedge_gunzip(kedge_buffer_bytes(&packed), sizeof plain, &out, NULL), KEDGE_OK);
    assert_int_equal(out.size, sizeof plain);
    assert_memory_equal(out.data, plain, sizeof plain);
    kedge_gzip_stream_free(stream);
    kedge_buffer_free(&packed);
    kedge_buffer_free(&out);
}

static void test_what_was_compressed_quickly_comes_back(void **state)
{
    (void)state;
    static char plain[200000];
    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = "a text that repeats itself "[i % 27];
    fill(plain + 100000, 50000);
    kedge_bytes bytes = {plain, sizeof plain};
    kedge_buffer packed = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer again = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_gzip_quick(bytes, &packed, NULL), KEDGE_OK);
    assert_int_equal(kedge_gzip_quick(bytes, &again, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&packed), kedge_buffer_bytes(&again)));
    assert_true(packed.size < 60000);
    assert_int_equal(kedge_gunzip(kedge_buffer_bytes(&packed), sizeof plain, &out, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&out), bytes));
    kedge_buffer_free(&packed);
    kedge_buffer_free(&again);
    kedge_buffer_free(&out);
}

static void test_the_header_names_no_time_no_file_and_no_system(void **state)
{
    (void)state;
    kedge_buffer packed = compress(KEDGE_BYTES("hello"));
    static const unsigned char header[] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255};
    assert_memory_equal(packed.data, header, sizeof header);
    kedge_buffer again = compress(KEDGE_BYTES("hello"));
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&packed), kedge_buffer_bytes(&again)));
    kedge_buffer_free(&packed);
    kedge_buffer_free(&again);
}

static void assert_refused(kedge_bytes packed, size_t size_max, kedge_status expected)
{
    kedge_error error = {0};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&out, "kept");
    assert_int_equal(kedge_gunzip(packed, size_max, &out, &error), expected);
    assert_int_equal(error.status, expected);
    assert_string_equal(out.data, "kept");
    assert_int_equal(out.size, 4);
    kedge_buffer_free(&out);
}

static void test_a_stream_cut_anywhere_is_refused(void **state)
{
    (void)state;
    kedge_buffer packed = compress(KEDGE_BYTES("hello, hello, hello, world"));
    for (size_t size = 0; size < packed.size; size++) {
        assert_refused((kedge_bytes){packed.data, size}, 1000, KEDGE_CORRUPT);
    }
    kedge_buffer_free(&packed);
}

static void test_whatever_follows_the_stream_is_refused(void **state)
{
    (void)state;
    kedge_buffer packed = compress(KEDGE_BYTES("hello"));
    size_t size = packed.size;
    kedge_buffer_append_byte(&packed, '\0');
    assert_refused(kedge_buffer_bytes(&packed), 1000, KEDGE_CORRUPT);
    kedge_buffer_truncate(&packed, size);
    kedge_buffer second = compress(KEDGE_BYTES("hello"));
    kedge_buffer_append_bytes(&packed, kedge_buffer_bytes(&second));
    assert_refused(kedge_buffer_bytes(&packed), 1000, KEDGE_CORRUPT);
    kedge_buffer_free(&packed);
    kedge_buffer_free(&second);
}

static void test_a_changed_byte_or_another_format_is_refused(void **state)
{
    (void)state;
    kedge_buffer packed = compress(KEDGE_BYTES("hello"));
    packed.data[packed.size - 5] ^= 1; /* the checksum */
    assert_refused(kedge_buffer_bytes(&packed), 1000, KEDGE_CORRUPT);
    kedge_buffer_free(&packed);
    assert_refused(KEDGE_BYTES("{\"a\":1}"), 1000, KEDGE_CORRUPT);
    assert_refused(KEDGE_BYTES("\x78\x9C\x03\x00\x00\x00\x00\x01"), 1000, KEDGE_CORRUPT); /* zlib */
}

static void test_a_bomb_stops_at_the_limit(void **state)
{
    (void)state;
    char *zeros = calloc(1, 64 * MIB);
    assert_non_null(zeros);
    kedge_buffer packed = compress((kedge_bytes){zeros, 64 * MIB});
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    kedge_bytes bomb = kedge_buffer_bytes(&packed);
    assert_int_equal(kedge_gunzip(bomb, MIB, &out, &error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "gzip-too-large");
    assert_true(out.capacity <= 4 * MIB);
    assert_int_equal(kedge_gunzip(bomb, 64 * MIB - 1, &out, NULL), KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(kedge_gunzip(bomb, 64 * MIB, &out, NULL), KEDGE_OK);
    kedge_buffer_free(&out);
    kedge_buffer_free(&packed);
    free(zeros);

    kedge_buffer one = compress(KEDGE_BYTES("a"));
    assert_refused(kedge_buffer_bytes(&one), 0, KEDGE_LIMIT_EXCEEDED);
    kedge_buffer_free(&one);
}

/* A text that compresses well is larger than the room that is taken first. */
static void
test_texts_of_every_size_around_the_first_room_come_back_whole_or_are_refused(void **state)
{
    (void)state;
    static const char zeros[1500];
    for (size_t size = 1; size < sizeof zeros; size++) {
        kedge_bytes plain = {zeros, size};
        kedge_buffer packed = compress(plain);
        kedge_bytes whole = kedge_buffer_bytes(&packed);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        assert_int_equal(kedge_gunzip(whole, size, &out, NULL), KEDGE_OK);
        assert_true(kedge_bytes_equal(kedge_buffer_bytes(&out), plain));
        kedge_buffer_free(&out);
        assert_refused(whole, size - 1, KEDGE_LIMIT_EXCEEDED);
        for (size_t cut = 1; cut <= 10; cut++)
            assert_refused((kedge_bytes){whole.data, whole.size - cut}, size, KEDGE_CORRUPT);
        kedge_buffer_free(&packed);
    }
}

static bool pack_and_unpack(const kedge_allocator *allocator, void *context)
{
    const kedge_bytes *plain = context;
    kedge_buffer packed = kedge_buffer_make(allocator);
    kedge_buffer out = kedge_buffer_make(allocator);
    kedge_status status = kedge_gzip(*plain, &packed, NULL);
    if (status == KEDGE_OK) {
        status = kedge_gunzip(kedge_buffer_bytes(&packed), plain->size, &out, NULL);
    }
    if (status == KEDGE_OK) {
        assert_true(kedge_bytes_equal(kedge_buffer_bytes(&out), *plain));
    } else {
        assert_int_equal(status, KEDGE_NO_MEMORY);
        assert_int_equal(out.size, 0);
    }
    kedge_buffer_free(&packed);
    kedge_buffer_free(&out);
    return status == KEDGE_OK;
}

static void test_running_out_of_memory_anywhere_is_survived(void **state)
{
    (void)state;
    static char bytes[300000];
    kedge_bytes plain = {bytes, sizeof bytes};
    fill(bytes, sizeof bytes);
    assert_true(failing_allocator_try_every_call(pack_and_unpack, &plain, 0) >= 10);
}

static bool pack_in_parts(const kedge_allocator *allocator, void *context)
{
    const kedge_bytes *plain = context;
    kedge_buffer packed = kedge_buffer_make(allocator);
    kedge_gzip_stream *stream = kedge_gzip_stream_new(allocator);
    bool fine = stream != NULL &&
                kedge_gzip_stream_write(stream, *plain, false, &packed, NULL) == KEDGE_OK &&
                kedge_gzip_stream_write(stream, *plain, true, &packed, NULL) == KEDGE_OK;
    kedge_gzip_stream_free(stream);
    kedge_buffer_free(&packed);
    return fine;
}

static void test_a_stream_without_memory_is_an_error(void **state)
{
    (void)state;
    static char bytes[200000];
    fill(bytes, sizeof bytes);
    kedge_bytes plain = {bytes, sizeof bytes};
    assert_true(failing_allocator_try_every_call(pack_in_parts, &plain, 0) >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_compressed_comes_back),
        cmocka_unit_test(test_what_was_compressed_quickly_comes_back),
        cmocka_unit_test(test_a_stream_in_parts_is_one_stream_and_each_part_can_be_read_at_once),
        cmocka_unit_test(test_a_stream_without_memory_is_an_error),
        cmocka_unit_test(test_the_header_names_no_time_no_file_and_no_system),
        cmocka_unit_test(test_a_stream_cut_anywhere_is_refused),
        cmocka_unit_test(test_whatever_follows_the_stream_is_refused),
        cmocka_unit_test(test_a_changed_byte_or_another_format_is_refused),
        cmocka_unit_test(test_a_bomb_stops_at_the_limit),
        cmocka_unit_test(
            test_texts_of_every_size_around_the_first_room_come_back_whole_or_are_refused),
        cmocka_unit_test(test_running_out_of_memory_anywhere_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
