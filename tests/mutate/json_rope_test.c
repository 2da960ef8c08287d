/* Ropes against the merge of texts: the same bytes after each of many random merges, and the ropes
 * before stay what they were. */
#include "mutate/json_rope.h"

#include "common/json.h"
#include "mutate/json_merge.h"
#include "mutate/json_rope_nodes.h"
#include "tests/mutate/random_json.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/sampling.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define KEPT 4 /* older ropes */

/* A rope, and the text that it must have. */
typedef struct pair {
    kedge_json_rope *rope;
    kedge_buffer text;
} pair;

static const kedge_allocator *memory = &kedge_allocator_default;

static void assert_is(const kedge_json_rope *rope, kedge_bytes text, uint64_t seed)
{
    size_t size = (size_t)kedge_json_rope_size(rope);
    char *written = malloc(size + 1);
    assert_non_null(written);
    if (size == text.size) kedge_json_rope_write(rope, written);
    if (size != text.size || memcmp(written, text.data, size) != 0)
        fail_msg("seed %llu: %zu bytes, not the %zu of the merged text", (unsigned long long)seed,
                 size, text.size);
    free(written);
}

static kedge_status make_open(const kedge_allocator *allocator, kedge_bytes text,
                              kedge_json_rope **rope)
{
    kedge_status status = kedge_json_rope_make(allocator, text, rope, NULL);
    return status == KEDGE_OK ? kedge_json_rope_open(allocator, *rope, NULL) : status;
}

static void drop(pair *one)
{
    kedge_json_rope_release(memory, one->rope);
    kedge_buffer_free(&one->text);
}

static pair merge(const pair *from, kedge_bytes patch)
{
    pair made = {.text = kedge_buffer_make(memory)};
    kedge_json_merge(kedge_buffer_bytes(&from->text), patch, &made.text);
    assert_int_equal(kedge_json_rope_merge(memory, from->rope, patch, &made.rope, NULL), KEDGE_OK);
    return made;
}

static void run_merges(uint64_t first_seed, size_t bytes, int merges)
{
    uint64_t seed = first_seed;
    pair now = {.text = kedge_buffer_make(memory)}, kept[KEPT];
    kedge_buffer patch = kedge_buffer_make(memory);
    random_object(&seed, bytes, &now.text);
    assert_int_equal(make_open(memory, kedge_buffer_bytes(&now.text), &now.rope), KEDGE_OK);
    assert_is(now.rope, kedge_buffer_bytes(&now.text), first_seed);
    for (int i = 0; i < merges; i++) {
        kedge_buffer_clear(&patch);
        random_patch(&seed, kedge_buffer_bytes(&now.text), &patch);
        pair next = merge(&now, kedge_buffer_bytes(&patch));
        assert_is(next.rope, kedge_buffer_bytes(&next.text), first_seed);
        if (i >= KEPT) {
            assert_is(kept[i % KEPT].rope, kedge_buffer_bytes(&kept[i % KEPT].text), first_seed);
            drop(&kept[i % KEPT]);
        }
        kept[i % KEPT] = now;
        now = next;
    }
    for (int i = 0; i < KEPT; i++)
        drop(&kept[i]);
    drop(&now);
    kedge_buffer_free(&patch);
}

static void test_random_merges_make_the_text_that_the_merge_of_texts_makes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 120 / SAMPLING_FEWER; seed++) {
        size_t bytes = (size_t)1 << (5 + seed % 14);
        run_merges(seed, bytes, 40);
    }
    run_merges(1000, 3000000, 10);
}

static void append_members(kedge_buffer *out, unsigned from, unsigned to, const char *value)
{
    for (unsigned i = from; i < to; i++)
        kedge_buffer_append_format(out, "%s\"%08u\":%s", i > from ? "," : "", i, value);
}

/* In ascending and in descending order, and all gone again. */
static void test_an_object_that_grows_and_shrinks_by_single_members(void **state)
{
    (void)state;
    enum { MEMBERS = 6000 };
    for (int descending = 0; descending < 2; descending++) {
        kedge_json_rope *rope, *next;
        char patch[64];
        assert_int_equal(make_open(memory, KEDGE_BYTES("{}"), &rope), KEDGE_OK);
        for (unsigned i = 0; i < 2 * MEMBERS; i++) {
            unsigned key = i % MEMBERS;
            if (descending) key = MEMBERS - 1 - key;
            snprintf(patch, sizeof patch, "{\"%08u\":%s}", key, i < MEMBERS ? "1" : "null");
            assert_int_equal(
                kedge_json_rope_merge(memory, rope, kedge_bytes_of(patch), &next, NULL), KEDGE_OK);
            kedge_json_rope_release(memory, rope);
            rope = next;
            if (i != MEMBERS - 1) continue;
            kedge_buffer whole = kedge_buffer_make(memory);
            kedge_buffer_append_byte(&whole, '{');
            append_members(&whole, 0, MEMBERS, "1");
            kedge_buffer_append_byte(&whole, '}');
            assert_is(rope, kedge_buffer_bytes(&whole), (uint64_t)descending);
            kedge_buffer_free(&whole);
        }
        assert_is(rope, KEDGE_BYTES("{}"), (uint64_t)descending);
        kedge_json_rope_release(memory, rope);
    }
}

/* What an increment looks at. */
static void test_the_members_of_a_shape_are_picked_at_any_depth(void **state)
{
    (void)state;
    kedge_json_rope *rope, *opened;
    kedge_buffer text = kedge_buffer_make(memory), picked = kedge_buffer_make(memory);
    kedge_buffer_append_text(&text, "{\"big\":{");
    append_members(&text, 0, 3000, "2");
    kedge_buffer_append_text(&text, "},\"n\":1,\"o\":{\"x\":3,\"y\":\"t\"},\"t\":\"");
    for (int i = 0; i < 5000; i++)
        kedge_buffer_append_byte(&text, 'a');
    kedge_buffer_append_text(&text, "\"}");
    assert_int_equal(make_open(memory, kedge_buffer_bytes(&text), &rope), KEDGE_OK);
    assert_int_equal(kedge_json_rope_merge(memory, rope, KEDGE_BYTES("{\"big\":{\"00000007\":4}}"),
                                           &opened, NULL),
                     KEDGE_OK);
    kedge_json_rope_pick(opened,
                         KEDGE_BYTES("{\"big\":{\"00000007\":1,\"00002999\":1,\"absent\":1},"
                                     "\"m\":1,\"n\":1,\"o\":{\"x\":1},\"t\":1}"),
                         &picked);
    assert_string_equal(picked.data, "{\"big\":{\"00000007\":4,\"00002999\":2},\"n\":1,"
                                     "\"o\":{\"x\":3,\"y\":\"t\"},\"t\":null}");
    kedge_buffer_clear(&picked);
    kedge_json_rope_pick(opened, KEDGE_BYTES("{\"big\":1,\"n\":{\"x\":1},\"o\":1,\"t\":{\"x\":1}}"),
                         &picked);
    assert_string_equal(picked.data, "{\"big\":null,\"n\":1,\"o\":null,\"t\":null}");
    kedge_json_rope_release(memory, opened);
    assert_int_equal(
        kedge_json_rope_merge(memory, rope,
                              KEDGE_BYTES("{\"big\":null,\"n\":null,\"o\":null,\"t\":null}"),
                              &opened, NULL),
        KEDGE_OK);
    kedge_buffer_clear(&picked);
    kedge_json_rope_pick(opened, KEDGE_BYTES("{\"n\":1}"), &picked);
    assert_string_equal(picked.data, "{}");
    kedge_json_rope_release(memory, opened);
    kedge_json_rope_release(memory, rope);
    kedge_buffer_free(&text);
    kedge_buffer_free(&picked);
}

/* ---- the nodes ---- */

static kedge_json_rope *rope_of(const char *front, size_t pads, const char *end)
{
    kedge_json_rope *rope;
    kedge_buffer text = kedge_buffer_make(memory);
    kedge_buffer_append_text(&text, front);
    for (size_t i = 0; i < pads; i++)
        kedge_buffer_append_byte(&text, 'x');
    kedge_buffer_append_text(&text, end);
    assert_int_equal(make_open(memory, kedge_buffer_bytes(&text), &rope), KEDGE_OK);
    kedge_buffer_free(&text);
    return rope;
}

typedef struct visits {
    size_t left; /* until it wants no more */
    size_t made;
} visits;

static bool count_visit(kedge_bytes piece, void *context)
{
    visits *counted = context;
    assert_true(piece.size > 0);
    assert_true(counted->left > 0);
    counted->made++;
    return --counted->left > 0;
}

/* `{`, `"a":`, the text, `,`, a run, `}` */
static void test_a_visit_ends_where_the_visitor_wants_no_more(void **state)
{
    (void)state;
    kedge_json_rope *rope = rope_of("{\"a\":\"", 5000, "\",\"b\":1}");
    visits whole = {.left = SIZE_MAX};
    assert_true(kedge_json_rope_visit(rope, count_visit, &whole));
    assert_int_equal(whole.made, 6);
    for (size_t most = 1; most <= whole.made; most++) {
        visits some = {.left = most};
        assert_false(kedge_json_rope_visit(rope, count_visit, &some));
        assert_int_equal(some.made, most);
    }
    kedge_json_rope_release(memory, rope);
}

static void test_a_place_behind_a_large_element_has_no_child(void **state)
{
    (void)state;
    kedge_json_rope *rope = rope_of("[1,\"", 5000, "\"]");
    const kedge_json_part array = {rope, {NULL, 0}};
    kedge_json_part child;
    for (size_t at = 0; at <= 2; at++) {
        size_t place = at;
        assert_int_equal(kedge_json_part_find(&array, (kedge_bytes){NULL, 0}, &place, &child),
                         at < 2);
        assert_int_equal(place, at);
    }
    kedge_json_rope_release(memory, rope);
}

/* ---- memory that runs out ---- */

static bool change_with(const kedge_allocator *allocator, kedge_bytes text,
                        const kedge_json_change *change, size_t size)
{
    kedge_json_rope *rope = NULL, *changed = NULL;
    bool well = make_open(allocator, text, &rope) == KEDGE_OK &&
                kedge_json_rope_change(allocator, rope, change, &changed, NULL) == KEDGE_OK;
    if (well) assert_int_equal(kedge_json_rope_size(changed), size);
    kedge_json_rope_release(allocator, changed);
    kedge_json_rope_release(allocator, rope);
    return well;
}

/* Inserts a large value that is open and nested deeper than an item may be. */
static bool insert_what_is_deep(const kedge_allocator *allocator, void *context)
{
    const size_t place = 0;
    const kedge_json_change change = {
        KEDGE_JSON_INSERT, &place, 1, KEDGE_BYTES("\"a\""), {context, {NULL, 0}}};
    return change_with(allocator, KEDGE_BYTES("{\"b\":1}"), &change,
                       strlen("{\"a\":,\"b\":1}") + (size_t)kedge_json_rope_size(context));
}

/* Sets a large value in a container that is part of a run. */
static bool set_in_a_run(const kedge_allocator *allocator, void *context)
{
    const size_t places[] = {1, 0};
    const kedge_buffer *value = context;
    const kedge_json_change change = {
        KEDGE_JSON_SET, places, 2, {NULL, 0}, {NULL, kedge_buffer_bytes(value)}};
    return change_with(allocator, KEDGE_BYTES("{\"a\":1,\"b\":{\"c\":2},\"d\":3}"), &change,
                       strlen("{\"a\":1,\"b\":{\"c\":},\"d\":3}") + value->size);
}

static void test_a_change_with_a_large_value_is_made_whole_or_not_at_all(void **state)
{
    (void)state;
    kedge_buffer text = kedge_buffer_make(memory);
    kedge_buffer_append_byte(&text, '[');
    for (int i = 0; i < KEDGE_LIMIT_JSON_DEPTH; i++)
        kedge_buffer_append_byte(&text, '[');
    for (int i = 0; i < KEDGE_LIMIT_JSON_DEPTH; i++)
        kedge_buffer_append_byte(&text, ']');
    kedge_buffer_append_text(&text, ",\"");
    kedge_json_rope *deep = rope_of(text.data, 5000, "\"]");
    assert_int_equal(kedge_json_rope_depth(deep), KEDGE_LIMIT_JSON_DEPTH + 1);
    assert_true(failing_allocator_try_every_call(insert_what_is_deep, deep, 0) > 5);
    kedge_json_rope_release(memory, deep);
    kedge_buffer_clear(&text);
    kedge_buffer_append_format(&text, "\"%05000d\"", 0);
    assert_true(failing_allocator_try_every_call(set_in_a_run, &text, 0) > 5);
    kedge_buffer_free(&text);
}

static bool make_and_merge(const kedge_allocator *allocator, void *context)
{
    const kedge_buffer *object = context;
    kedge_json_rope *rope = NULL, *first = NULL, *second = NULL;
    kedge_bytes text = kedge_buffer_bytes(object);
    bool well = make_open(allocator, text, &rope) == KEDGE_OK;
    kedge_bytes patch = KEDGE_BYTES("{\"big\":{\"00000007\":4,\"00000008\":null},\"new\":[1234]}");
    well = well && kedge_json_rope_merge(allocator, rope, patch, &first, NULL) == KEDGE_OK;
    well = well && kedge_json_rope_merge(allocator, first, text, &second, NULL) == KEDGE_OK;
    if (first != NULL) assert_int_equal(kedge_json_rope_size(first), text.size);
    kedge_json_rope_release(allocator, second);
    kedge_json_rope_release(allocator, first);
    kedge_json_rope_release(allocator, rope);
    return well;
}

static void test_a_failed_allocation_makes_no_rope_and_leaves_the_others_whole(void **state)
{
    (void)state;
    kedge_buffer text = kedge_buffer_make(memory);
    kedge_buffer_append_text(&text, "{\"big\":{");
    append_members(&text, 0, 20000, "2"); /* the patch takes away what it adds */
    kedge_buffer_append_text(&text, "}}");
    assert_true(failing_allocator_try_every_call(make_and_merge, &text, 300) > 100);
    kedge_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_merges_make_the_text_that_the_merge_of_texts_makes),
        cmocka_unit_test(test_an_object_that_grows_and_shrinks_by_single_members),
        cmocka_unit_test(test_the_members_of_a_shape_are_picked_at_any_depth),
        cmocka_unit_test(test_a_visit_ends_where_the_visitor_wants_no_more),
        cmocka_unit_test(test_a_place_behind_a_large_element_has_no_child),
        cmocka_unit_test(test_a_change_with_a_large_value_is_made_whole_or_not_at_all),
        cmocka_unit_test(test_a_failed_allocation_makes_no_rope_and_leaves_the_others_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
