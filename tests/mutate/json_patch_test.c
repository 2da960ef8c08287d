/* JSON Patches on ropes against the plain way: the same bytes, failures and count of work after
 * each of many random patches and merges, and the ropes before stay what they were. */
#include "mutate/json_patch.h"

#include "mutate/json_merge.h"
#include "tests/mutate/patch_whole.h"
#include "tests/mutate/random_edits.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/sampling.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define KEPT     4 /* older ropes */
#define COST_MAX (UINT64_C(1) << 26)

static const kedge_allocator *memory = &kedge_allocator_default;

/* ---- a rope, and the text that it must have ---- */

typedef struct pair {
    uint64_t seed;
    kedge_json_rope *rope;
    kedge_buffer text;
} pair;

static void assert_same(const pair *one)
{
    kedge_buffer written = kedge_buffer_make(memory);
    kedge_json_rope_append(one->rope, &written);
    if (!kedge_bytes_equal(kedge_buffer_bytes(&written), kedge_buffer_bytes(&one->text)))
        fail_msg("seed %llu: %zu bytes, not the %zu of the plain way",
                 (unsigned long long)one->seed, written.size, one->text.size);
    assert_int_equal(kedge_json_rope_size(one->rope), written.size);
    kedge_buffer_free(&written);
}

static void drop(pair *one)
{
    kedge_json_rope_release(memory, one->rope);
    kedge_buffer_free(&one->text);
}

static kedge_json_rope *rope_of(const kedge_buffer *text)
{
    kedge_json_rope *rope;
    assert_int_equal(kedge_json_rope_make(memory, kedge_buffer_bytes(text), &rope, NULL), KEDGE_OK);
    return rope;
}

/* Takes `rope` over; gives what it becomes, or NULL when the patch fails, as the plain way does. */
static kedge_json_rope *patch_rope(const pair *from, kedge_json_rope *rope, kedge_bytes patch,
                                   uint64_t cost_max, kedge_buffer *out)
{
    uint64_t cost;
    kedge_error expected = {0}, found = {0};
    kedge_json_document document = kedge_json_document_make(memory, rope, cost_max);
    kedge_status wanted = patch_whole(memory, kedge_buffer_bytes(&from->text), patch, cost_max,
                                      &cost, out, &expected);
    kedge_status status = kedge_json_patch(&document, patch, &found);
    if (status != wanted || strcmp(found.message, expected.message) != 0 ||
        strcmp(found.code, expected.code) != 0)
        fail_msg("seed %llu: %s, not %s: %.*s", (unsigned long long)from->seed, found.message,
                 expected.message, (int)patch.size, patch.data);
    if (status != KEDGE_LIMIT_EXCEEDED && document.cost != cost)
        fail_msg("seed %llu: costs %llu, not %llu", (unsigned long long)from->seed,
                 (unsigned long long)document.cost, (unsigned long long)cost);
    kedge_json_rope *made = status == KEDGE_OK ? kedge_json_rope_share(document.rope) : NULL;
    kedge_json_document_free(&document);
    return made;
}

static bool patch(const pair *from, kedge_bytes patch, uint64_t cost_max, pair *made)
{
    *made = (pair){.seed = from->seed, .text = kedge_buffer_make(memory)};
    made->rope = patch_rope(from, kedge_json_rope_share(from->rope), patch, cost_max, &made->text);
    if (made->rope == NULL) {
        kedge_buffer_free(&made->text);
        return false;
    }
    assert_same(made);
    pair fresh = {.seed = from->seed, .text = kedge_buffer_make(memory)};
    fresh.rope = patch_rope(from, rope_of(&from->text), patch, cost_max, &fresh.text);
    assert_non_null(fresh.rope);
    assert_same(&fresh);
    drop(&fresh);
    return true;
}

/* ---- random patches ---- */

static bool edit(uint64_t *seed, const pair *now, kedge_buffer *args, pair *next)
{
    kedge_bytes text = kedge_buffer_bytes(&now->text);
    kedge_buffer_clear(args);
    if (kedge_json_type_of(text) == KEDGE_JSON_OBJECT && random_next(seed, 4) == 0) {
        random_patch(seed, text, args);
        *next = (pair){.seed = now->seed, .text = kedge_buffer_make(memory)};
        kedge_json_merge(text, kedge_buffer_bytes(args), &next->text);
        assert_int_equal(kedge_json_rope_open(memory, now->rope, NULL), KEDGE_OK);
        assert_int_equal(
            kedge_json_rope_merge(memory, now->rope, kedge_buffer_bytes(args), &next->rope, NULL),
            KEDGE_OK);
        assert_same(next);
        return true;
    }
    random_operations(seed, text, args);
    uint64_t cost_max =
        random_next(seed, 8) == 0 ? random_next(seed, 3 * text.size + 500) : COST_MAX;
    return patch(now, kedge_buffer_bytes(args), cost_max, next);
}

static size_t run_edits(uint64_t first_seed, size_t bytes, int edits)
{
    uint64_t seed = first_seed;
    size_t made = 0;
    pair now = {.seed = first_seed, .text = kedge_buffer_make(memory)}, next, kept[KEPT] = {{0}};
    kedge_buffer args = kedge_buffer_make(memory);
    if (seed % 3 == 0)
        random_array(&seed, bytes, &now.text);
    else
        random_object(&seed, bytes, &now.text);
    now.rope = rope_of(&now.text);
    for (int i = 0; i < edits; i++) {
        if (!edit(&seed, &now, &args, &next)) continue;
        pair *oldest = &kept[made++ % KEPT];
        if (oldest->rope != NULL) {
            assert_same(oldest);
            drop(oldest);
        }
        *oldest = now;
        now = next;
    }
    for (int i = 0; i < KEPT; i++)
        if (kept[i].rope != NULL) drop(&kept[i]);
    drop(&now);
    kedge_buffer_free(&args);
    return made;
}

static void test_random_patches_make_the_bytes_of_the_plain_way_at_the_same_cost(void **state)
{
    (void)state;
    size_t made = 0, edits = 0;
    for (uint64_t seed = 1; seed <= 240 / SAMPLING_FEWER; seed++, edits += 30)
        made += run_edits(seed, (size_t)1 << (5 + seed % 13), 30);
    made += run_edits(1001, 2000000, 10);
    assert_true(made > edits / 2);
    assert_true(made < edits - edits / 20);
}

/* ---- places ---- */

/* Elements are put in at the front, at the end and in the middle, and taken out again. */
static void test_an_array_that_grows_and_shrinks_by_single_elements(void **state)
{
    (void)state;
    enum { ELEMENTS = 900 };
    static const char *const places[] = {"0", "-", NULL};
    for (size_t at = 0; at < 3; at++) {
        pair now = {.seed = at, .text = kedge_buffer_make(memory)}, next;
        kedge_buffer_append_text(&now.text, "[]");
        now.rope = rope_of(&now.text);
        for (size_t i = 0; i < 2 * ELEMENTS; i++) {
            char args[128], index[16];
            size_t count = i < ELEMENTS ? i : 2 * ELEMENTS - i;
            bool grows = i < ELEMENTS;
            snprintf(index, sizeof index, "%zu", at == 0 ? 0 : at == 1 ? count - 1 : count / 2);
            snprintf(args, sizeof args,
                     grows ? "[{\"op\":\"add\",\"path\":\"/%s\",\"value\":\"element %zu\"}]"
                           : "[{\"op\":\"remove\",\"path\":\"/%s\"}]",
                     grows && places[at] != NULL ? places[at] : index, i);
            assert_true(patch(&now, kedge_bytes_of(args), COST_MAX, &next));
            drop(&now);
            now = next;
        }
        assert_string_equal(now.text.data, "[]");
        drop(&now);
    }
}

/* ---- values that are shared ---- */

static void append_copies(kedge_buffer *out, const char *from, const char *path, int count)
{
    for (int i = 0; i < count; i++)
        kedge_buffer_append_format(out, "%s{\"from\":\"%s\",\"op\":\"copy\",\"path\":\"%s\"}",
                                   out->size > 1 ? "," : "", from, path);
}

/* 40 GB as text. */
static void test_copies_of_a_large_value_share_it(void **state)
{
    (void)state;
    enum { COPIES = 10000 };
    kedge_buffer text = kedge_buffer_make(memory), args = kedge_buffer_make(memory);
    kedge_buffer_append_text(&text, "{\"a\":\"");
    for (int i = 0; i < 4000000; i++)
        kedge_buffer_append_byte(&text, 'x');
    kedge_buffer_append_text(&text, "\",\"b\":[]}");
    kedge_buffer_append_byte(&args, '[');
    append_copies(&args, "/a", "/b/-", COPIES);
    kedge_buffer_append_byte(&args, ']');
    kedge_json_document document = kedge_json_document_make(memory, rope_of(&text), COST_MAX);
    assert_int_equal(kedge_json_patch(&document, kedge_buffer_bytes(&args), NULL), KEDGE_OK);
    assert_true(kedge_json_rope_size(document.rope) > UINT64_C(4000000) * COPIES);
    kedge_json_document_free(&document);
    kedge_buffer_free(&args);
    kedge_buffer_free(&text);
}

static void append_nested(kedge_buffer *out, int depth, const char *inside)
{
    for (int i = 0; i < depth; i++)
        kedge_buffer_append_text(out, "{\"d\":");
    kedge_buffer_append_text(out, inside);
    for (int i = 0; i < depth; i++)
        kedge_buffer_append_byte(out, '}');
}

/* What is too large for a piece is moved to the end of the longest pointer, and with all that is
 * around it to the end of another one, and so on: far deeper than any item. */
static void test_a_value_that_is_nested_ever_deeper_is_the_same_as_the_plain_way(void **state)
{
    (void)state;
    enum { DEEP = 60, ROUNDS = 100 };
    pair from = {.text = kedge_buffer_make(memory)}, made;
    kedge_buffer path = kedge_buffer_make(memory), args = kedge_buffer_make(memory);
    kedge_buffer_append_text(&from.text, "{\"a\":[\"");
    for (int i = 0; i < 6000; i++)
        kedge_buffer_append_byte(&from.text, 'x');
    kedge_buffer_append_text(&from.text, "\"]}");
    from.rope = rope_of(&from.text);
    for (int i = 0; i < DEEP; i++)
        kedge_buffer_append_text(&path, "/d");
    for (int i = 0; i < ROUNDS; i++) {
        kedge_buffer_append_text(&args, i == 0 ? "[" : ",");
        kedge_buffer_append_text(&args, "{\"op\":\"add\",\"path\":\"/b\",\"value\":");
        append_nested(&args, DEEP, "{}");
        kedge_buffer_append_format(&args,
                                   "},{\"from\":\"/a\",\"op\":\"move\",\"path\":\"/b%s/d\"},"
                                   "{\"from\":\"/b\",\"op\":\"move\",\"path\":\"/a\"}",
                                   path.data);
    }
    kedge_buffer_append_byte(&args, ']');
    assert_true(patch(&from, kedge_buffer_bytes(&args), COST_MAX, &made));
    assert_int_equal(kedge_json_rope_depth(made.rope), 2 + (DEEP + 1) * ROUNDS);
    drop(&made);
    drop(&from);
    kedge_buffer_free(&args);
    kedge_buffer_free(&path);
}

/* ---- memory that runs out ---- */

static bool make_and_patch(const kedge_allocator *allocator, void *context)
{
    static const char patch[] = "[{\"op\":\"add\",\"path\":\"/0\",\"value\":1},"
                                "{\"from\":\"/5\",\"op\":\"move\",\"path\":\"/-\"},"
                                "{\"op\":\"replace\",\"path\":\"/1\",\"value\":[2]},"
                                "{\"op\":\"test\",\"path\":\"/1\",\"value\":[2]},"
                                "{\"op\":\"remove\",\"path\":\"/40\"}]";
    kedge_json_rope *rope;
    const kedge_buffer *text = context;
    if (kedge_json_rope_make(allocator, kedge_buffer_bytes(text), &rope, NULL) != KEDGE_OK)
        return false;
    kedge_json_document document = kedge_json_document_make(allocator, rope, COST_MAX);
    kedge_status status = kedge_json_patch(&document, KEDGE_BYTES(patch), NULL);
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
    kedge_json_document_free(&document);
    return status == KEDGE_OK;
}

static void test_an_allocation_that_fails_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    uint64_t seed = 5;
    kedge_buffer text = kedge_buffer_make(memory);
    random_array(&seed, 20000, &text);
    assert_true(failing_allocator_try_every_call(make_and_patch, &text, 200) > 50);
    kedge_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_patches_make_the_bytes_of_the_plain_way_at_the_same_cost),
        cmocka_unit_test(test_an_array_that_grows_and_shrinks_by_single_elements),
        cmocka_unit_test(test_copies_of_a_large_value_share_it),
        cmocka_unit_test(test_a_value_that_is_nested_ever_deeper_is_the_same_as_the_plain_way),
        cmocka_unit_test(test_an_allocation_that_fails_is_told_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
