/* The order of members: keys with escapes, of any script and with long common beginnings, against a
 * sort of their UTF-16 code units. */
#include "common/json_tokens.h"
#include "tests/support/sampling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEYS_MAX    600
#define UNITS_MAX   6000
#define HISTORIES   (3000 / SAMPLING_FEWER)
#define CHAIN_KEYS  500
#define CHAIN_BYTES 9 /* which no group of eight bytes divides */

typedef struct piece {
    const char *text;
    uint16_t units[2];
    int count;
} piece;

static const piece pieces[] = {
    {"a", {'a'}, 1},
    {"\\u0061", {'a'}, 1},
    {"b", {'b'}, 1},
    {"\\u0000", {0}, 1},
    {"\\n", {'\n'}, 1},
    {"\\/", {'/'}, 1},
    {"\xC3\xA9", {0xE9}, 1},
    {"\\u00E9", {0xE9}, 1},
    {"\xED\x9F\xBF", {0xD7FF}, 1},
    {"\xEE\x80\x80", {0xE000}, 1},
    {"\xEF\xBF\xBF", {0xFFFF}, 1},
    {"\\uffff", {0xFFFF}, 1},
    {"\xF0\x90\x80\x80", {0xD800, 0xDC00}, 2},
    {"\\ud800\\udc00", {0xD800, 0xDC00}, 2},
    {"\xF4\x8F\xBF\xBF", {0xDBFF, 0xDFFF}, 2},
};

typedef struct key {
    char text[6 * UNITS_MAX + 1];
    size_t size;
    uint16_t units[UNITS_MAX];
    int count;
    bool escaped;
} key;

static key *keys;
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* Only the parts in use: a key has room for much. */
static void start_as(key *made, const key *other)
{
    made->size = other ? other->size : 0;
    made->count = other ? other->count : 0;
    made->escaped = other && other->escaped;
    if (!other) return;
    memcpy(made->text, other->text, other->size);
    memcpy(made->units, other->units, (size_t)other->count * sizeof other->units[0]);
}

static void append(key *to, const piece *more)
{
    size_t size = strlen(more->text);
    memcpy(to->text + to->size, more->text, size);
    to->size += size;
    for (int i = 0; i < more->count; i++)
        to->units[to->count++] = more->units[i];
    to->escaped |= more->text[0] == '\\';
}

static int compare_units(const key *a, const key *b)
{
    for (int i = 0; i < a->count && i < b->count; i++) {
        if (a->units[i] != b->units[i]) return a->units[i] < b->units[i] ? -1 : 1;
    }
    return (a->count > b->count) - (a->count < b->count);
}

static int compare_keys(const void *a, const void *b)
{
    const key *left = *(key *const *)a, *right = *(key *const *)b;
    int order = compare_units(left, right);
    return order != 0 ? order : (left > right) - (left < right);
}

static void expect_sorted(size_t count)
{
    static kedge_json_entry entries[KEYS_MAX];
    static const key *expected[KEYS_MAX];
    for (size_t i = 0; i < count; i++) {
        kedge_bytes text = {keys[i].text, keys[i].size};
        entries[i] = (kedge_json_entry){.key = text, .escaped = keys[i].escaped};
        expected[i] = &keys[i];
    }
    qsort(expected, count, sizeof expected[0], compare_keys);
    kedge_json_entries_sort(entries, count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(entries[i].key.data, expected[i]->text);
        if (i == 0) continue;
        int order = kedge_json_entry_compare(&entries[i - 1], &entries[i]);
        assert_int_equal(order, compare_units(expected[i - 1], expected[i]));
    }
}

static void test_any_keys_are_sorted_as_their_code_units_are(void **unused)
{
    (void)unused;
    for (uint64_t history = 1; history <= HISTORIES; history++) {
        state = history;
        size_t count = (size_t)draw(40) + 1,
               kinds = (size_t)draw(sizeof pieces / sizeof pieces[0]) + 1;
        for (size_t i = 0; i < count; i++) {
            start_as(&keys[i], i > 0 && draw(3) > 0 ? &keys[draw(i)] : NULL);
            for (uint64_t left = draw(12); left > 0 && keys[i].count < 200; left--)
                append(&keys[i], &pieces[draw(kinds)]);
        }
        expect_sorted(count);
    }
}

/* Each key begins with the one before it: as many groups in each other as there are keys. */
static void test_keys_that_begin_with_each_other_are_sorted(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < CHAIN_KEYS; i++) {
        start_as(&keys[i], NULL);
        for (size_t k = 0; k < (CHAIN_KEYS - i) * CHAIN_BYTES; k++)
            append(&keys[i], &pieces[k % 2]);
    }
    expect_sorted(CHAIN_KEYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_keys_are_sorted_as_their_code_units_are),
        cmocka_unit_test(test_keys_that_begin_with_each_other_are_sorted),
    };
    keys = calloc(KEYS_MAX, sizeof *keys);
    int failed = keys == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    free(keys);
    return failed;
}
