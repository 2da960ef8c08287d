/* The contract of the records port: queries, the inverted index, batches. */
#include "tests/ports/records_fixture.h"

#include <stdio.h>

/* ---- queries ---- */

static void put_letters(fixture *f)
{
    static const char *const sorts[] = {"c", "a", "\xc3\xa4", "B", "b", "a#1", "aa", "Z"};
    for (size_t i = 0; i < 8; i++)
        put_number(f, "p", sorts[i], 1);
    put_number(f, "pp", "a", 1);
    put_number(f, "o", "a", 1);
}

static void test_a_query_gives_one_partition_in_byte_order_both_ways(void **state)
{
    fixture *f = *state;
    put_letters(f);
    kedge_records_query wanted = {.partition = KEDGE_BYTES("p"), .limit = 1000};
    assert_pages_in_order(f, wanted, "B Z a a#1 aa b c \xc3\xa4");
    wanted.consistent = true;
    assert_pages_in_order(f, wanted, "B Z a a#1 aa b c \xc3\xa4");
    wanted.descending = true;
    assert_pages_in_order(f, wanted, "\xc3\xa4 c b aa a#1 a Z B");
    wanted.partition = KEDGE_BYTES("none");
    assert_pages_in_order(f, wanted, "");
}

static void test_pages_of_any_size_join_to_the_whole_both_ways(void **state)
{
    fixture *f = *state;
    put_letters(f);
    for (uint32_t limit = 1; limit <= 9; limit++) {
        kedge_records_query wanted = {.partition = KEDGE_BYTES("p"), .limit = limit};
        assert_pages_in_order(f, wanted, "B Z a a#1 aa b c \xc3\xa4");
        wanted.descending = true;
        assert_pages_in_order(f, wanted, "\xc3\xa4 c b aa a#1 a Z B");
    }
}

static void test_the_bounds_of_a_query_are_inclusive(void **state)
{
    fixture *f = *state;
    put_letters(f);
    kedge_records_query wanted = {.partition = KEDGE_BYTES("p"),
                                  .sort_from = KEDGE_BYTES("a"),
                                  .sort_to = KEDGE_BYTES("b"),
                                  .limit = 2};
    assert_pages_in_order(f, wanted, "a a#1 aa b");
    wanted.descending = true;
    assert_pages_in_order(f, wanted, "b aa a#1 a");
    wanted.sort_to = (kedge_bytes){0};
    assert_pages_in_order(f, wanted, "\xc3\xa4 c b aa a#1 a");
    wanted.sort_from = (kedge_bytes){0};
    wanted.sort_to = KEDGE_BYTES("a");
    assert_pages_in_order(f, wanted, "a Z B");
    wanted.sort_from = KEDGE_BYTES("b");
    assert_pages_in_order(f, wanted, "");
}

static void test_after_is_exclusive_in_the_direction_of_the_walk(void **state)
{
    fixture *f = *state;
    put_letters(f);
    kedge_records_query wanted = {.partition = KEDGE_BYTES("p"),
                                  .sort_from = KEDGE_BYTES("a"),
                                  .sort_to = KEDGE_BYTES("b"),
                                  .after = KEDGE_BYTES("a#1"),
                                  .limit = 10};
    assert_pages_in_order(f, wanted, "aa b");
    wanted.descending = true;
    assert_pages_in_order(f, wanted, "a");
    wanted.after = KEDGE_BYTES("A"); /* before the range, and no record's key */
    assert_pages_in_order(f, wanted, "");
    wanted.descending = false;
    assert_pages_in_order(f, wanted, "a a#1 aa b");
    wanted.after = KEDGE_BYTES("b");
    assert_pages_in_order(f, wanted, "");
}

static void test_more_tells_whether_the_walk_goes_on(void **state)
{
    fixture *f = *state;
    put_letters(f);
    kedge_records_query wanted = {.partition = KEDGE_BYTES("p"), .limit = 7};
    kedge_record_set set = {0};
    assert_ok(query(f, &wanted, &set));
    assert_int_equal(set.count, 7);
    assert_true(set.more);
    kedge_record_set_free(&set);
    wanted.limit = 9;
    assert_ok(query(f, &wanted, &set));
    assert_int_equal(set.count, 8);
    assert_false(set.more);
    kedge_record_set_free(&set);
}

static void test_a_page_ends_behind_the_record_that_passes_its_bytes(void **state)
{
    fixture *f = *state;
    kedge_attribute part = filling(300000);
    static const char *const sorts[] = {"1", "2", "3", "4", "5"};
    for (size_t i = 0; i < 5; i++) {
        kedge_record_write write = put_of("p", sorts[i], &part, 1);
        assert_ok(write_one(f, &write));
    }
    kedge_records_query wanted = {.partition = KEDGE_BYTES("p"), .limit = 100};
    kedge_record_set set = {0};
    assert_ok(query(f, &wanted, &set));
    assert_in_range(set.count, 3, 4); /* DynamoDB's own page of 1 MB may end one earlier */
    assert_true(set.more);
    kedge_record_set_free(&set);
    assert_pages_in_order(f, wanted, "1 2 3 4 5");
    wanted.descending = true;
    assert_pages_in_order(f, wanted, "5 4 3 2 1");
}

static void test_a_page_of_many_records_ends_where_their_bytes_end(void **state)
{
    fixture *f = *state;
    kedge_attribute part = filling(10000 - 5); /* and "p", three digits, "b" */
    char sorts[110][4];
    for (int i = 0; i < 110; i++) {
        snprintf(sorts[i], sizeof sorts[i], "%03d", i);
        kedge_record_write write = put_of("p", sorts[i], &part, 1);
        assert_ok(write_one(f, &write));
    }
    kedge_records_query wanted = {.partition = KEDGE_BYTES("p"), .limit = 1000};
    kedge_record_set set = {0};
    assert_ok(query(f, &wanted, &set));
    assert_in_range(set.count, 90, 100); /* a page may be short */
    assert_true(set.more);
    wanted.after = set.records[set.count - 1].key.sort;
    size_t seen = set.count;
    kedge_record_set rest = {0};
    assert_ok(query(f, &wanted, &rest));
    assert_int_equal(seen + rest.count, 110);
    assert_false(rest.more);
    kedge_record_set_free(&rest);
    kedge_record_set_free(&set);
}

static void test_queries_outside_the_contract_are_refused(void **state)
{
    fixture *f = *state;
    kedge_record_set set = {0};
    kedge_records_query wanted = {.partition = KEDGE_BYTES("p"), .limit = 0};
    assert_status(query(f, &wanted, &set), KEDGE_INVALID_ARGUMENT);
    wanted.limit = 1001;
    assert_status(query(f, &wanted, &set), KEDGE_INVALID_ARGUMENT);
    wanted.limit = 1;
    wanted.inverted = wanted.consistent = true;
    assert_status(query(f, &wanted, &set), KEDGE_INVALID_ARGUMENT);
    wanted.inverted = false;
    wanted.sort_to = KEDGE_BYTES("a\xff");
    assert_status(query(f, &wanted, &set), KEDGE_INVALID_ARGUMENT);
    wanted = (kedge_records_query){.limit = 1};
    assert_status(query(f, &wanted, &set), KEDGE_INVALID_ARGUMENT);
    assert_null(set.records);
}

/* ---- the inverted index ---- */

static void put_inverted(fixture *f, const char *partition, const char *sort, const char *value)
{
    kedge_attribute attribute = text_of(KEDGE_RECORDS_INVERTED, value);
    kedge_record_write write = put_of(partition, sort, &attribute, 1);
    assert_ok(write_one(f, &write));
}

static void test_the_inverted_index_holds_only_records_with_the_attribute(void **state)
{
    fixture *f = *state;
    put_inverted(f, "Org#b", "Project#x", "Project#x");
    put_inverted(f, "Org#a", "Project#x", "Project#x");
    put_inverted(f, "Org#c", "Project#x", "Project#x");
    put_inverted(f, "Org#a", "Project#y", "Project#y");
    put_number(f, "Org#d", "Project#x", 1);
    kedge_records_query wanted = {
        .partition = KEDGE_BYTES("Project#x"), .inverted = true, .limit = 1};
    assert_pages_in_order(f, wanted, "Org#a Org#b Org#c");
    wanted.descending = true;
    assert_pages_in_order(f, wanted, "Org#c Org#b Org#a");
    wanted.sort_from = KEDGE_BYTES("Org#b");
    assert_pages_in_order(f, wanted, "Org#c Org#b");
    wanted.partition = KEDGE_BYTES("Project#z");
    assert_pages_in_order(f, wanted, "");
}

static void test_the_inverted_index_follows_puts_and_deletes(void **state)
{
    fixture *f = *state;
    put_inverted(f, "o", "a", "x");
    put_inverted(f, "q", "b", "x");
    put_inverted(f, "r", "c", "x");
    kedge_records_query wanted = {.partition = KEDGE_BYTES("x"), .inverted = true, .limit = 10};
    put_inverted(f, "o", "a", "y");
    put_number(f, "q", "b", 1);
    assert_pages_in_order(f, wanted, "r");
    kedge_record_write removal = delete_of("r", "c");
    assert_ok(write_one(f, &removal));
    assert_pages_in_order(f, wanted, "");
    wanted.partition = KEDGE_BYTES("y");
    assert_pages_in_order(f, wanted, "o");
}

static void test_an_inverted_attribute_is_a_text_that_is_not_empty(void **state)
{
    fixture *f = *state;
    kedge_attribute attribute = number_of(KEDGE_RECORDS_INVERTED, 1);
    kedge_record_write write = put_of("p", "s", &attribute, 1);
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    attribute = text_of(KEDGE_RECORDS_INVERTED, "");
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
}

static void test_the_keys_of_an_inverted_record_are_as_long_as_others(void **state)
{
    fixture *f = *state;
    kedge_bytes longest = filling(KEDGE_RECORD_PARTITION_BYTES_MAX).bytes;
    kedge_attribute attribute = {KEDGE_RECORDS_INVERTED, KEDGE_ATTRIBUTE_TEXT, longest, 0};
    kedge_record_write write = put_of("p", "s", &attribute, 1);
    write.record.key = (kedge_record_key){longest, longest};
    assert_ok(write_one(f, &write));
    kedge_records_query wanted = {.partition = longest, .inverted = true, .limit = 1};
    kedge_record_set set = {0};
    assert_ok(query(f, &wanted, &set));
    assert_true(kedge_bytes_equal(set.records[0].key.partition, longest));
    kedge_record_set_free(&set);
    attribute.bytes.size++;
    assert_status(write_one(f, &write), KEDGE_LIMIT_EXCEEDED);
}

/* ---- batches ---- */

static void test_a_batch_gives_the_records_that_exist(void **state)
{
    fixture *f = *state;
    put_number(f, "p", "a", 1);
    put_number(f, "q", "b", 2);
    kedge_record_key keys[] = {key_of("p", "a"), key_of("p", "b"), key_of("q", "b")};
    kedge_record_set set = {0};
    assert_ok(f->records.vtable->batch_get(f->records.self, keys, 3, true, &set, &f->error));
    assert_int_equal(set.count, 2);
    int64_t sum = 0;
    for (size_t i = 0; i < 2; i++)
        sum += kedge_record_attribute(&set.records[i], "n")->number;
    assert_int_equal(sum, 3);
    kedge_record_set_free(&set);
    assert_ok(f->records.vtable->batch_get(f->records.self, keys, 0, true, &set, &f->error));
    assert_int_equal(set.count, 0);
    kedge_record_set_free(&set);
}

static void test_a_batch_has_at_most_100_distinct_keys(void **state)
{
    fixture *f = *state;
    kedge_record_key keys[101];
    char sorts[101][8];
    kedge_record_set set = {0};
    for (int i = 0; i < 101; i++) {
        snprintf(sorts[i], sizeof sorts[i], "%03d", i);
        keys[i] = key_of("p", sorts[i]);
        if (i < 100) put_number(f, "p", sorts[i], i);
    }
    const kedge_records_vtable *vtable = f->records.vtable;
    assert_status(vtable->batch_get(f->records.self, keys, 101, true, &set, &f->error),
                  KEDGE_LIMIT_EXCEEDED);
    assert_ok(vtable->batch_get(f->records.self, keys, 100, true, &set, &f->error));
    assert_int_equal(set.count, 100);
    kedge_record_set_free(&set);
    keys[1] = keys[0];
    assert_status(vtable->batch_get(f->records.self, keys, 2, true, &set, &f->error),
                  KEDGE_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        contract(test_a_query_gives_one_partition_in_byte_order_both_ways),
        contract(test_pages_of_any_size_join_to_the_whole_both_ways),
        contract(test_the_bounds_of_a_query_are_inclusive),
        contract(test_after_is_exclusive_in_the_direction_of_the_walk),
        contract(test_more_tells_whether_the_walk_goes_on),
        contract(test_a_page_ends_behind_the_record_that_passes_its_bytes),
        contract(test_a_page_of_many_records_ends_where_their_bytes_end),
        contract(test_queries_outside_the_contract_are_refused),
        contract(test_the_inverted_index_holds_only_records_with_the_attribute),
        contract(test_the_inverted_index_follows_puts_and_deletes),
        contract(test_an_inverted_attribute_is_a_text_that_is_not_empty),
        contract(test_the_keys_of_an_inverted_record_are_as_long_as_others),
        contract(test_a_batch_gives_the_records_that_exist),
        contract(test_a_batch_has_at_most_100_distinct_keys),
    };
    return records_run(tests, sizeof tests / sizeof tests[0]);
}
