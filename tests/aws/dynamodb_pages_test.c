/* Batches and queries: keys left unprocessed, short and empty pages, responses that hold what was
 * not asked for. */
#include "tests/aws/dynamodb_world.h"

#include <string.h>

#define ITEM(partition, sort)                                                                      \
    "{\"pk\":{\"S\":\"" partition "\"},\"sk\":{\"S\":\"" sort "\"},\"n\":{\"N\":\"7\"}}"
#define KEY(sort) "{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"" sort "\"}}"
#define BATCH(items, remaining)                                                                    \
    "{\"Responses\":{\"t\":[" items "]},\"UnprocessedKeys\":" remaining "}"
#define LEFT(keys) "{\"t\":{\"Keys\":[" keys "]}}"

/* ---- batches ---- */

/* Asks consistently for p/a and p/b. */
static kedge_status batch(dynamodb_world *world, kedge_record_set *set)
{
    kedge_record_key keys[] = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")},
                               {KEDGE_BYTES("p"), KEDGE_BYTES("b")}};
    return world->records.vtable->batch_get(world->records.self, keys, 2, true, set, &world->error);
}

static void test_keys_left_unprocessed_are_asked_for_again(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(BATCH("", LEFT(KEY("a") "," KEY("b")))),
                   RESPONSE(BATCH(ITEM("p", "b"), LEFT(KEY("a")))),
                   RESPONSE(BATCH(ITEM("p", "a"), "{}")));
    assert_int_equal(batch(&world, &set), KEDGE_OK);
    assert_int_equal(set.count, 2);
    kedge_record_set_free(&set);
    assert_int_equal(requests(&world), 3);
    /* Consistent to the end, although the response did not repeat it. */
    assert_string_equal(
        world.around.bodies[2],
        "{\"RequestItems\":{\"t\":{\"ConsistentRead\":true,\"Keys\":[" KEY("a") "]}}}");
    dynamodb_world_end(&world);
}

static void test_keys_left_unprocessed_to_the_end_are_busy(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(BATCH(ITEM("p", "a"), LEFT(KEY("b")))),
                   RESPONSE(BATCH("", LEFT(KEY("b")))));
    world.around.no_pauses = true;
    assert_int_equal(batch(&world, &set), KEDGE_BUSY);
    assert_int_equal(requests(&world), 9);
    assert_null(set.records);
    dynamodb_world_end(&world);
}

static void test_a_batch_response_that_is_not_what_was_asked_for_is_refused(void **state)
{
    static const char *const bodies[] = {
        BATCH(ITEM("p", "c"), "{}"),
        BATCH(ITEM("q", "a"), "{}"),
        BATCH(ITEM("p", "a") "," ITEM("p", "a"), "{}"),
        BATCH("7", "{}"),
        BATCH("", "{\"t\":{\"Keys\":7}}"),
        BATCH("", "{\"t\":[]}"),
        "{\"Responses\":7}",
        "{\"Responses\":{\"t\":{}}}",
        "{\"Responses\":{\"t\":7}}",
        "{}",
        "{\"Responses\":{},}",
        "{\"Responses\":{},\"Responses\":{}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        static dynamodb_world world;
        kedge_record_set set = {0};
        DYNAMODB_BEGIN(&world, RESPONSE(bodies[i]));
        kedge_status status = batch(&world, &set);
        if (status != KEDGE_UNAVAILABLE) fail_msg("%s: %s", bodies[i], kedge_status_name(status));
        assert_null(set.records);
        dynamodb_world_end(&world);
    }
}

/* ---- queries ---- */

#define PAGE(items)            "{\"Items\":[" items "]}"
#define PAGE_MORE(items, last) "{\"Items\":[" items "],\"LastEvaluatedKey\":" last "}"

static kedge_status query(dynamodb_world *world, kedge_records_query wanted, kedge_record_set *set)
{
    wanted.partition = KEDGE_BYTES("p");
    if (wanted.limit == 0) wanted.limit = 10;
    return world->records.vtable->query(world->records.self, &wanted, set, &world->error);
}

static void test_a_query_says_what_it_wants(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(PAGE("")));
    kedge_records_query wanted = {.sort_from = KEDGE_BYTES("a"),
                                  .sort_to = KEDGE_BYTES("z"),
                                  .after = KEDGE_BYTES("m"),
                                  .descending = true,
                                  .consistent = true};
    assert_int_equal(query(&world, wanted, &set), KEDGE_OK);
    assert_string_equal(
        world.around.bodies[0],
        "{\"TableName\":\"t\",\"KeyConditionExpression\":\"#p = :p AND #s BETWEEN :f AND :t\","
        "\"ExpressionAttributeNames\":{\"#p\":\"pk\",\"#s\":\"sk\"},"
        "\"ExpressionAttributeValues\":{\":p\":{\"S\":\"p\"},\":f\":{\"S\":\"a\"},"
        "\":t\":{\"S\":\"z\"}},\"ExclusiveStartKey\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"m\"}},"
        "\"ScanIndexForward\":false,\"ConsistentRead\":true,\"Limit\":10}");
    assert_non_null(strstr(world.around.requests[0], "DynamoDB_20120810.Query\r\n"));
    dynamodb_world_end(&world);
}

/* DynamoDB refuses a range that is upside down, and a start outside of it. */
static void test_a_range_that_is_empty_is_not_asked_for(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(PAGE("")));
    const kedge_records_query empty[] = {
        {.sort_from = KEDGE_BYTES("b"), .sort_to = KEDGE_BYTES("a")},
        {.sort_to = KEDGE_BYTES("b"), .after = KEDGE_BYTES("b")},
        {.sort_to = KEDGE_BYTES("b"), .after = KEDGE_BYTES("c")},
        {.sort_from = KEDGE_BYTES("b"), .after = KEDGE_BYTES("b"), .descending = true},
        {.sort_from = KEDGE_BYTES("b"), .after = KEDGE_BYTES("a"), .descending = true},
        {.sort_to = KEDGE_BYTES("b"), .after = KEDGE_BYTES("b"), .inverted = true},
    };
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        assert_int_equal(query(&world, empty[i], &set), KEDGE_OK);
        assert_int_equal(set.count, 0);
        assert_false(set.more);
        kedge_record_set_free(&set);
    }
    assert_int_equal(requests(&world), 0);
    const kedge_records_query whole[] = {
        {.sort_from = KEDGE_BYTES("b"), .after = KEDGE_BYTES("a")},
        {.sort_to = KEDGE_BYTES("b"), .after = KEDGE_BYTES("c"), .descending = true},
    };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(query(&world, whole[i], &set), KEDGE_OK);
        assert_null(strstr(world.around.bodies[i], "ExclusiveStartKey"));
        kedge_record_set_free(&set);
    }
    dynamodb_world_end(&world);
}

static void test_a_short_page_tells_that_there_is_more(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(PAGE_MORE(ITEM("p", "a") "," ITEM("p", "b"), KEY("b"))),
                   RESPONSE(PAGE(ITEM("p", "c"))));
    assert_int_equal(query(&world, (kedge_records_query){0}, &set), KEDGE_OK);
    assert_int_equal(set.count, 2);
    assert_true(set.more);
    kedge_record_set_free(&set);
    kedge_records_query rest = {.after = KEDGE_BYTES("b")};
    assert_int_equal(query(&world, rest, &set), KEDGE_OK);
    assert_int_equal(set.count, 1);
    assert_false(set.more);
    kedge_record_set_free(&set);
    dynamodb_world_end(&world);
}

static void test_an_empty_page_with_more_behind_it_is_walked_over(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(PAGE_MORE("", KEY("f"))), RESPONSE(PAGE_MORE("", KEY("g"))),
                   RESPONSE(PAGE(ITEM("p", "h"))));
    assert_int_equal(query(&world, (kedge_records_query){0}, &set), KEDGE_OK);
    assert_int_equal(set.count, 1);
    kedge_record_set_free(&set);
    assert_non_null(strstr(world.around.bodies[1], "\"ExclusiveStartKey\":" KEY("f")));
    assert_non_null(strstr(world.around.bodies[2], "\"ExclusiveStartKey\":" KEY("g")));
    dynamodb_world_end(&world);
}

static void test_empty_pages_without_end_are_given_up(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(PAGE_MORE("", KEY("f"))));
    assert_int_equal(query(&world, (kedge_records_query){0}, &set), KEDGE_UNAVAILABLE);
    assert_int_equal(requests(&world), 8);
    dynamodb_world_end(&world);
}

#define INVERTED(partition)                                                                        \
    "{\"pk\":{\"S\":\"" partition "\"},\"sk\":{\"S\":\"s\"},\"inverted\":{\"S\":\"p\"}}"

/* Whether the record that `after` stands on is still there or not. */
static void test_a_page_of_the_index_leaves_out_the_record_to_go_on_behind(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(PAGE_MORE(INVERTED("b") "," INVERTED("c"), "{}")),
                   RESPONSE(PAGE_MORE(INVERTED("c") "," INVERTED("d"), "{}")));
    kedge_records_query wanted = {.inverted = true, .after = KEDGE_BYTES("b"), .limit = 1};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(query(&world, wanted, &set), KEDGE_OK);
        assert_int_equal(set.count, 1);
        assert_true(kedge_bytes_equal_text(set.records[0].key.partition, "c"));
        assert_true(set.more);
        kedge_record_set_free(&set);
    }
    assert_non_null(strstr(world.around.bodies[0], "\"IndexName\":\"inverted\","
                                                   "\"KeyConditionExpression\":\"#p = :p AND "
                                                   "#s >= :f\""));
    assert_non_null(strstr(world.around.bodies[0], "\"Limit\":2"));
    dynamodb_world_end(&world);
}

static void test_a_page_that_is_not_what_was_asked_for_is_refused(void **state)
{
    static const char *const bodies[] = {
        PAGE(ITEM("q", "c")),                    /* another partition */
        PAGE(ITEM("p", "a")),                    /* below the bounds */
        PAGE(ITEM("p", "x")),                    /* above */
        PAGE(ITEM("p", "d") "," ITEM("p", "c")), /* out of order */
        PAGE(ITEM("p", "c") "," ITEM("p", "c")), /* twice */
        PAGE(ITEM("p", "c") ",[]"),
        "{\"Items\":{}}",
        "{\"Items\":\"\"}",
        "{\"Count\":0}",
        "{}",
        "{\"Items\":[]]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        static dynamodb_world world;
        kedge_record_set set = {0};
        kedge_records_query wanted = {.sort_from = KEDGE_BYTES("b"), .sort_to = KEDGE_BYTES("w")};
        DYNAMODB_BEGIN(&world, RESPONSE(bodies[i]));
        kedge_status status = query(&world, wanted, &set);
        if (status != KEDGE_UNAVAILABLE) fail_msg("%s: %s", bodies[i], kedge_status_name(status));
        assert_null(set.records);
        dynamodb_world_end(&world);
    }
}

/* ---- single reads ---- */

static void test_a_get_that_brings_another_record_is_refused(void **state)
{
    static const char *const bodies[] = {"{\"Item\":" ITEM("p", "t") "}",
                                         "{\"Item\":" ITEM("q", "s") "}", "{\"Item\":7}",
                                         "{\"Item\":{}}", "{\"Item\":}"};
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        static dynamodb_world world;
        kedge_record_set set = {0};
        DYNAMODB_BEGIN(&world, RESPONSE(bodies[i]));
        assert_int_equal(get(&world, &set), KEDGE_UNAVAILABLE);
        assert_null(set.records);
        dynamodb_world_end(&world);
    }
}

static void test_a_response_that_is_cut_is_asked_for_again(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, {.action = REPLY_CUT}, {.action = REPLY_CLOSE},
                   RESPONSE("{\"Item\":" ITEM("p", "s") "}"));
    assert_int_equal(get(&world, &set), KEDGE_OK);
    assert_int_equal(set.count, 1);
    kedge_record_set_free(&set);
    dynamodb_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_left_unprocessed_are_asked_for_again),
        cmocka_unit_test(test_keys_left_unprocessed_to_the_end_are_busy),
        cmocka_unit_test(test_a_batch_response_that_is_not_what_was_asked_for_is_refused),
        cmocka_unit_test(test_a_query_says_what_it_wants),
        cmocka_unit_test(test_a_range_that_is_empty_is_not_asked_for),
        cmocka_unit_test(test_a_short_page_tells_that_there_is_more),
        cmocka_unit_test(test_an_empty_page_with_more_behind_it_is_walked_over),
        cmocka_unit_test(test_empty_pages_without_end_are_given_up),
        cmocka_unit_test(test_a_page_of_the_index_leaves_out_the_record_to_go_on_behind),
        cmocka_unit_test(test_a_page_that_is_not_what_was_asked_for_is_refused),
        cmocka_unit_test(test_a_get_that_brings_another_record_is_refused),
        cmocka_unit_test(test_a_response_that_is_cut_is_asked_for_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
