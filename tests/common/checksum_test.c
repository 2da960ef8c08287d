/* The checksum of a row: what it must tell apart. */
#include "common/checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int64_t of_bytes(const char *data, size_t size)
{
    kedge_checksum sum = kedge_checksum_begin(1);
    kedge_checksum_bytes(&sum, (kedge_bytes){data, size});
    return kedge_checksum_end(&sum);
}

static void each_flipped_bit_is_noticed(void **state)
{
    char text[257];
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 37);
    for (size_t size = 1; size <= sizeof text; size += 16) {
        int64_t before = of_bytes(text, size);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
            assert_int_not_equal(of_bytes(text, size), before);
            text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        }
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* 20,000 rows that differ in one counter collide as seldom as random numbers: 0.05 pairs. */
static void rows_that_differ_in_a_counter_do_not_collide(void **state)
{
    enum { ROWS = 20000 };
    int64_t *sums = test_calloc(ROWS, sizeof *sums);
    int collisions = 0;
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        kedge_checksum sum = kedge_checksum_begin(1);
        kedge_checksum_integer(&sum, i);
        kedge_checksum_bytes(&sum, KEDGE_BYTES("the same text in each of them"));
        sums[i] = kedge_checksum_end(&sum);
        assert_in_range(sums[i], 0, UINT32_MAX);
    }
    qsort(sums, ROWS, sizeof *sums, compare);
    for (int i = 1; i < ROWS; i++)
        collisions += sums[i] == sums[i - 1];
    assert_in_range(collisions, 0, 2);
    test_free(sums);
}

static int64_t of_two(kedge_bytes a, kedge_bytes b)
{
    kedge_checksum sum = kedge_checksum_begin(1);
    kedge_checksum_bytes(&sum, a);
    kedge_checksum_bytes(&sum, b);
    return kedge_checksum_end(&sum);
}

static void bytes_do_not_move_between_columns(void **state)
{
    (void)state;
    assert_int_not_equal(of_two(KEDGE_BYTES("ab"), KEDGE_BYTES("c")),
                         of_two(KEDGE_BYTES("a"), KEDGE_BYTES("bc")));
    assert_int_not_equal(of_two(KEDGE_BYTES(""), KEDGE_BYTES("a")),
                         of_two(KEDGE_BYTES("a"), KEDGE_BYTES("")));
    assert_int_not_equal(of_bytes("a\0", 2), of_bytes("a", 1));
    assert_int_not_equal(of_bytes("", 0), of_bytes("\0", 1));
}

static void types_and_kinds_are_told_apart(void **state)
{
    kedge_checksum text = kedge_checksum_begin(1), null = text, zero = text, blob = text;
    kedge_checksum other = kedge_checksum_begin(2);
    (void)state;
    kedge_checksum_bytes(&text, KEDGE_BYTES(""));
    kedge_checksum_blob(&blob, KEDGE_BYTES(""));
    kedge_checksum_null(&null);
    kedge_checksum_integer(&zero, 0);
    kedge_checksum_integer(&other, 0);
    assert_int_not_equal(kedge_checksum_end(&text), kedge_checksum_end(&blob));
    assert_int_not_equal(kedge_checksum_end(&text), kedge_checksum_end(&null));
    assert_int_not_equal(kedge_checksum_end(&text), kedge_checksum_end(&zero));
    assert_int_not_equal(kedge_checksum_end(&null), kedge_checksum_end(&zero));
    assert_int_not_equal(kedge_checksum_end(&other), kedge_checksum_end(&zero));
}

/* The numbers stand in files: another one for the same row would make every folder look damaged. */
static void the_checksum_of_a_row_stays_what_it_is(void **state)
{
    static const char text[] =
        "a text that is long enough for each way in which bytes go in, whether one"
        " by one, in words or in several chains of words at once, and then a rest";
    kedge_checksum sum = kedge_checksum_begin(1);
    (void)state;
    kedge_checksum_integer(&sum, -5);
    kedge_checksum_null(&sum);
    kedge_checksum_bytes(&sum, KEDGE_BYTES("notes"));
    kedge_checksum_bytes(&sum, KEDGE_BYTES("{\"text\":\"hello, world\"}"));
    assert_int_equal(kedge_checksum_end(&sum), 1801564052);
    for (size_t size = 0; size < sizeof text; size++)
        kedge_checksum_bytes(&sum, (kedge_bytes){text, size});
    assert_int_equal(kedge_checksum_end(&sum), 3594383431);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_flipped_bit_is_noticed),
        cmocka_unit_test(rows_that_differ_in_a_counter_do_not_collide),
        cmocka_unit_test(bytes_do_not_move_between_columns),
        cmocka_unit_test(types_and_kinds_are_told_apart),
        cmocka_unit_test(the_checksum_of_a_row_stays_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
