/* Keys of items: what was joined is split into the same parts. */
#include "wire/key.h"

#include "tests/wire/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_a_key_that_was_joined_is_split_into_the_same_collection_and_id(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_buffer key = kedge_buffer_make(&kedge_allocator_default);
        kedge_bytes collection = draw_boolean(&from) ? KEDGE_BYTES("_") : draw_name(&from);
        kedge_bytes id = draw_text(&from, 32);
        kedge_bytes found_collection, found_id;
        kedge_wire_key_join(collection, id, &key);
        kedge_wire_key_split(kedge_buffer_bytes(&key), &found_collection, &found_id);
        assert_true(kedge_bytes_equal(collection, found_collection));
        assert_true(kedge_bytes_equal(id, found_id));
        kedge_buffer_free(&key);
        draw_end(&from);
    }
}

static void test_an_id_of_the_unnamed_collection_is_prefixed_only_where_it_must_be(void **state)
{
    static const struct {
        const char *collection;
        const char *id;
        const char *key;
    } cases[] = {{"", "", "project"},           {"notes", "a", "notes/a"}, {"notes", "", "notes/"},
                 {"notes", "a/b", "notes/a/b"}, {"_", "a", "a"},           {"_", "", "_/"},
                 {"_", "project", "_/project"}, {"_", "a/b", "_/a/b"},     {"_", "/b", "/b"},
                 {"_", "a b/c", "a b/c"},       {"_", "_/x", "_/_/x"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kedge_bytes collection, id;
        kedge_buffer key = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_key_join(kedge_bytes_of(cases[i].collection), kedge_bytes_of(cases[i].id), &key);
        assert_string_equal(key.data, cases[i].key);
        kedge_wire_key_split(kedge_buffer_bytes(&key), &collection, &id);
        assert_true(kedge_bytes_equal_text(collection, cases[i].collection));
        assert_true(kedge_bytes_equal_text(id, cases[i].id));
        kedge_buffer_free(&key);
    }
}

static void test_an_empty_key_is_the_empty_id_of_the_unnamed_collection(void **state)
{
    kedge_bytes collection, id;
    (void)state;
    kedge_wire_key_split((kedge_bytes){NULL, 0}, &collection, &id);
    assert_true(kedge_bytes_equal_text(collection, "_"));
    assert_int_equal(id.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_that_was_joined_is_split_into_the_same_collection_and_id),
        cmocka_unit_test(test_an_id_of_the_unnamed_collection_is_prefixed_only_where_it_must_be),
        cmocka_unit_test(test_an_empty_key_is_the_empty_id_of_the_unnamed_collection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
