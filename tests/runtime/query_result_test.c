/* Results of a watched query: the changes from one to the next, and the limits. */
#include "sdk/runtime/query_result.h"
#include <kedge/limits.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A result from "key=row key=row …". */
static kedge_query_result *result_of(const char *text)
{
    kedge_query_result *result = NULL;
    kedge_error error = {0};
    assert_int_equal(kedge_query_result_new(&kedge_allocator_default, &result, NULL), KEDGE_OK);
    while (*text != '\0') {
        size_t key = strcspn(text, "=");
        size_t row = strcspn(text + key + 1, " ");
        if (kedge_query_result_add(result, (kedge_bytes){text, key},
                                   (kedge_bytes){text + key + 1, row}, &error) != KEDGE_OK)
            fail_msg("%s", error.message);
        text += key + 1 + row;
        text += *text == ' ';
    }
    assert_int_equal(kedge_query_result_end(result, &error), KEDGE_OK);
    return result;
}

/* What is told, as "-key@place", "+key@place", "key@place>place". */
static void expect_told(const char *before_text, const char *after_text, const char *told)
{
    char text[256] = "";
    size_t count = 0, size = 0;
    kedge_row_change *changes = NULL;
    kedge_query_result *before = before_text != NULL ? result_of(before_text) : NULL;
    kedge_query_result *after = result_of(after_text);
    assert_int_equal(kedge_query_result_compare(before, after, &changes, &count, NULL), KEDGE_OK);
    for (size_t i = 0; i < count; i++) {
        const kedge_row_change *at = &changes[i];
        assert_int_equal(at->key_size, strlen(at->key));
        if (at->kind == KEDGE_ROW_CHANGED)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s %s>%s@%d>%d;", at->key,
                                     at->old_row, at->new_row, (int)at->old_position,
                                     (int)at->new_position);
        if (at->kind == KEDGE_ROW_ADDED)
            size += (size_t)snprintf(text + size, sizeof text - size, "+%s %s@%d;", at->key,
                                     at->new_row, (int)at->new_position);
        if (at->kind == KEDGE_ROW_REMOVED)
            size += (size_t)snprintf(text + size, sizeof text - size, "-%s %s@%d;", at->key,
                                     at->old_row, (int)at->old_position);
    }
    assert_string_equal(text, told);
    kedge_release(&kedge_allocator_default, changes);
    kedge_query_result_free(before);
    kedge_query_result_free(after);
}

static void test_removed_rows_come_first_then_the_others_in_the_order_of_the_result(void **state)
{
    (void)state;
    expect_told(NULL, "b=1 a=2", "+b 1@0;+a 2@1;");
    expect_told(NULL, "", "");
    expect_told("a=1 b=2", "a=1 b=2", "");
    expect_told("a=1 b=2 c=3", "d=4 b=9", "-a 1@0;-c 3@2;+d 4@0;b 2>9@1>1;");
    expect_told("a=1 b=2", "", "-a 1@0;-b 2@1;");
}

static void test_of_rows_that_move_the_fewest_are_told(void **state)
{
    (void)state;
    expect_told("a=1 b=2 c=3 d=4", "d=4 a=1 b=2 c=3", "d 4>4@3>0;");
    expect_told("a=1 b=2 c=3 d=4", "b=2 c=3 d=4 a=1", "a 1>1@0>3;");
    expect_told("a=1 b=2 c=3 d=4", "d=4 a=1 b=7 c=3", "d 4>4@3>0;b 2>7@1>2;");
    /* A removal or an addition in front moves nothing. */
    expect_told("a=1 b=2 c=3", "b=2 c=3", "-a 1@0;");
    expect_told("b=2 c=3", "a=1 b=2 c=3", "+a 1@0;");
}

static void test_two_rows_with_one_key_are_refused(void **state)
{
    kedge_query_result *result = NULL;
    kedge_error error = {0};
    (void)state;
    assert_int_equal(kedge_query_result_new(&kedge_allocator_default, &result, NULL), KEDGE_OK);
    for (int i = 0; i < 3; i++) {
        kedge_bytes key = i == 1 ? KEDGE_BYTES("b") : KEDGE_BYTES("a");
        assert_int_equal(kedge_query_result_add(result, key, KEDGE_BYTES("[]"), NULL), KEDGE_OK);
    }
    assert_int_equal(kedge_query_result_end(result, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "watch-key-twice");
    assert_non_null(strstr(error.message, "'a'"));
    kedge_query_result_free(result);
}

static void test_more_than_the_limits_is_refused(void **state)
{
    kedge_query_result *result = NULL;
    kedge_error error = {0};
    char key[16];
    char *big = calloc(1, KEDGE_LIMIT_WATCH_BYTES);
    (void)state;
    assert_non_null(big);
    assert_int_equal(kedge_query_result_new(&kedge_allocator_default, &result, NULL), KEDGE_OK);
    for (int i = 0; i < KEDGE_LIMIT_WATCH_ROWS; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_int_equal(
            kedge_query_result_add(result, kedge_bytes_of(key), KEDGE_BYTES("[]"), NULL), KEDGE_OK);
    }
    assert_int_equal(kedge_query_result_add(result, KEDGE_BYTES("x"), KEDGE_BYTES("[]"), &error),
                     KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "watch-too-many-rows");
    assert_int_equal(kedge_query_result_count(result), KEDGE_LIMIT_WATCH_ROWS);
    kedge_query_result_free(result);
    assert_int_equal(kedge_query_result_new(&kedge_allocator_default, &result, NULL), KEDGE_OK);
    /* With the key and two NULs it is just the limit. */
    kedge_bytes most = {big, KEDGE_LIMIT_WATCH_BYTES - 3};
    assert_int_equal(kedge_query_result_add(result, KEDGE_BYTES("x"), most, NULL), KEDGE_OK);
    assert_int_equal(kedge_query_result_add(result, KEDGE_BYTES(""), KEDGE_BYTES(""), &error),
                     KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "watch-too-many-bytes");
    kedge_query_result_free(result);
    free(big);
}

/* ---- a list that follows ---- */

#define KEYS   12
#define ROUNDS 3000

static uint32_t random_state = 1;

static uint32_t below(uint32_t bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % bound;
}

static void append(char *text, const char *row)
{
    size_t size = strlen(text);
    snprintf(text + size, 256 - size, "%s%s", size > 0 ? " " : "", row);
}

/* A result of some keys in any order, each with one of two values. */
static void make_random(char text[256])
{
    char row[16];
    int order[KEYS];
    text[0] = '\0';
    for (int i = 0; i < KEYS; i++) {
        int other = (int)below((uint32_t)i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (int i = 0; i < KEYS; i++) {
        snprintf(row, sizeof row, "k%d=k%d-%u", order[i], order[i], (unsigned)below(2));
        if (below(4) > 0) append(text, row);
    }
}

/* As kedge/watch.h says how a list is brought up to date. */
static void bring_up_to_date(const char *rows[], size_t *rows_count,
                             const kedge_row_change *changes, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (changes[i].old_position >= 0) rows[changes[i].old_position] = NULL;
    for (size_t i = 0; i < *rows_count; i++)
        if (rows[i] != NULL) rows[left++] = rows[i];
    for (size_t i = 0; i < count; i++) {
        if (changes[i].new_row == NULL) continue;
        size_t at = (size_t)changes[i].new_position;
        assert_in_range(at, 0, left);
        memmove(&rows[at + 1], &rows[at], (left - at) * sizeof *rows);
        rows[at] = changes[i].new_row;
        left++;
    }
    *rows_count = left;
}

static size_t split(char *text, const char *rows[])
{
    size_t count = 0;
    for (char *row = strchr(text, '='); row != NULL; row = strchr(row, '=')) {
        rows[count++] = ++row;
        row += strcspn(row, " ");
        if (*row != '\0') *row++ = '\0';
    }
    return count;
}

static void test_a_list_that_follows_the_changes_is_the_result(void **state)
{
    char before_text[256], after_text[256];
    const char *rows[KEYS * 2], *expected[KEYS];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        kedge_row_change *changes = NULL;
        size_t count = 0;
        make_random(before_text);
        make_random(after_text);
        kedge_query_result *before = result_of(before_text);
        kedge_query_result *after = result_of(after_text);
        size_t rows_count = split(before_text, rows);
        assert_int_equal(kedge_query_result_compare(before, after, &changes, &count, NULL),
                         KEDGE_OK);
        bring_up_to_date(rows, &rows_count, changes, count);
        assert_int_equal(rows_count, split(after_text, expected));
        for (size_t i = 0; i < rows_count; i++)
            assert_string_equal(rows[i], expected[i]);
        kedge_release(&kedge_allocator_default, changes);
        kedge_query_result_free(before);
        kedge_query_result_free(after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_removed_rows_come_first_then_the_others_in_the_order_of_the_result),
        cmocka_unit_test(test_of_rows_that_move_the_fewest_are_told),
        cmocka_unit_test(test_two_rows_with_one_key_are_refused),
        cmocka_unit_test(test_more_than_the_limits_is_refused),
        cmocka_unit_test(test_a_list_that_follows_the_changes_is_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
