/* The order of rows: a piece table against a plain list of ids. */
#include "axis.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES     200
#define STEPS     60
#define LINES_MAX 4000

typedef struct model_line {
    sheet_line line;
    bool deleted;
} model_line;

typedef struct model {
    model_line lines[LINES_MAX];
    size_t count;
} model;

static uint64_t seed;

static size_t below(size_t bound)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((seed >> 33) % bound);
}

static void model_insert(model *of, size_t at, const char *batch, int64_t count)
{
    memmove(of->lines + at + (size_t)count, of->lines + at, (of->count - at) * sizeof *of->lines);
    for (int64_t i = 0; i < count; i++) {
        model_line *line = &of->lines[at + (size_t)i];
        *line = (model_line){.line = {.number = i}};
        snprintf(line->line.batch, sizeof line->line.batch, "%s", batch);
    }
    of->count += (size_t)count;
}

static void model_delete(model *of, const char *batch, int64_t from, int64_t to)
{
    for (size_t i = 0; i < of->count; i++) {
        model_line *line = &of->lines[i];
        bool inside = line->line.number >= from && line->line.number <= to;
        if (inside && strcmp(line->line.batch, batch) == 0) line->deleted = true;
    }
}

static void expect_same(const sheet_axis *axis, const model *of)
{
    int64_t position = 0;
    for (size_t i = 0; i < of->count; i++) {
        const model_line *line = &of->lines[i];
        int64_t found;
        bool deleted;
        assert_true(sheet_axis_find(axis, &line->line, &found, &deleted));
        assert_int_equal(deleted, line->deleted);
        assert_int_equal(found, position);
        if (line->deleted) continue;
        sheet_line at;
        assert_true(sheet_axis_at(axis, position, &at));
        assert_string_equal(at.batch, line->line.batch);
        assert_int_equal(at.number, line->line.number);
        position++;
    }
    assert_int_equal(sheet_axis_length(axis), position);
}

static void step(sheet_axis *axis, model *of, int number)
{
    const model_line *line = &of->lines[below(of->count)];
    if (below(3) > 0 && of->count + 20 < LINES_MAX) {
        char batch[SHEET_BATCH_SIZE];
        int64_t count = 1 + (int64_t)below(20);
        bool at_end = below(8) == 0;
        snprintf(batch, sizeof batch, "b%d", number);
        assert_false(sheet_axis_has_batch(axis, batch));
        assert_true(sheet_axis_insert(axis, at_end ? NULL : &line->line, batch, count));
        model_insert(of, at_end ? of->count : (size_t)(line - of->lines), batch, count);
        assert_true(sheet_axis_has_batch(axis, batch));
    } else {
        char batch[SHEET_BATCH_SIZE];
        int64_t from = line->line.number, to = from + (int64_t)below(5);
        snprintf(batch, sizeof batch, "%s", line->line.batch);
        assert_true(sheet_axis_delete(axis, batch, from, to));
        model_delete(of, batch, from, to);
    }
}

static void test_random_insertions_and_deletions_keep_the_order_of_a_plain_list(void **state)
{
    (void)state;
    model *of = malloc(sizeof *of);
    for (int i = 0; i < CASES; i++) {
        sheet_axis axis;
        seed = (uint64_t)i + 1;
        of->count = 0;
        model_insert(of, 0, "0", 10);
        assert_true(sheet_axis_read(&axis, NULL, 0, 10));
        for (int j = 0; j < STEPS; j++)
            step(&axis, of, j);
        expect_same(&axis, of);
        char *json = sheet_axis_write(&axis);
        sheet_axis_free(&axis);
        assert_true(sheet_axis_read(&axis, json, strlen(json), 0));
        expect_same(&axis, of);
        cJSON_free(json);
        sheet_axis_free(&axis);
    }
    free(of);
}

static void test_what_is_no_axis_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "1",
                                        "{}",
                                        "{\"pieces\":1}",
                                        "{\"pieces\":[[1,2,3]]}",
                                        "{\"pieces\":[[\"0\",\"1\",2]]}",
                                        "{\"pieces\":[[\"a-name-that-is-too-long\",0,1]]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sheet_axis axis;
        assert_false(sheet_axis_read(&axis, texts[i], strlen(texts[i]), 10));
        assert_null(axis.pieces);
    }
}

static void test_an_id_is_a_batch_and_a_number(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    "a",    "a.",   ".1",
                                        "a.x", "a.1x", "a.-1", "a-name-that-is-too-long.1"};
    sheet_line line;
    char id[SHEET_ID_SIZE];
    assert_true(sheet_line_read("b1f.42", &line));
    assert_string_equal(line.batch, "b1f");
    assert_int_equal(line.number, 42);
    sheet_line_write(&line, id);
    assert_string_equal(id, "b1f.42");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(sheet_line_read(wrong[i], &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_insertions_and_deletions_keep_the_order_of_a_plain_list),
        cmocka_unit_test(test_what_is_no_axis_is_refused),
        cmocka_unit_test(test_an_id_is_a_batch_and_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
