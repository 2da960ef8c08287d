/* The stream port on DynamoDB before a scripted server: finding the stream, pages of shards,
 * iterators that are kept and that expire, changes that are trimmed, responses that are wrong. */
#include "backend/aws/dynamodb_stream.h"
#include "tests/aws/dynamodb_world.h"

#include <stdio.h>
#include <string.h>

#define TABLE_WITH(view)                                                                           \
    "{\"Table\":{\"TableName\":\"t\",\"LatestStreamArn\":\"arn:s\",\"StreamSpecification\":"       \
    "{\"StreamEnabled\":true,\"StreamViewType\":\"" view "\"}}}"
#define FOUND         RESPONSE(TABLE_WITH("NEW_IMAGE"))
#define WITHOUT       RESPONSE("{\"Table\":{\"TableName\":\"t\"}}")
#define ITERATOR(one) RESPONSE("{\"ShardIterator\":\"" one "\"}")
#define INSERTED(sort, sequence)                                                                   \
    "{\"eventName\":\"INSERT\",\"dynamodb\":{\"ApproximateCreationDateTime\":1700000000,"          \
    "\"NewImage\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"" sort "\"},\"n\":{\"N\":\"7\"}},"         \
    "\"SequenceNumber\":\"" sequence "\"}}"
#define RECORDS(list, next) RESPONSE("{\"Records\":[" list "]" next "}")
#define NEXT(one)           ",\"NextShardIterator\":\"" one "\""

typedef struct stream_world {
    client_world around;
    kedge_stream stream;
    kedge_error error;
} stream_world;

static stream_world world;

static void begin(const scripted_reply *replies, size_t count)
{
    client_world_begin(&world.around, replies, count);
    world.error = (kedge_error){0};
    assert_int_equal(
        kedge_dynamodb_stream_open(world.around.client, "t", &world.stream, &world.error),
        KEDGE_OK);
}
#define STREAM_BEGIN(...)                                                                          \
    do {                                                                                           \
        const scripted_reply replies_[] = {FOUND, __VA_ARGS__};                                    \
        begin(replies_, sizeof replies_ / sizeof replies_[0]);                                     \
    } while (0)

static void stop(void)
{
    world.stream.vtable->close(world.stream.self);
    client_world_end(&world.around);
}

static kedge_status read_from(const char *position, kedge_stream_batch *batch)
{
    const kedge_stream_query query = {
        .shard = "s1", .position = kedge_bytes_of(position), .limit = 10};
    return world.stream.vtable->read(world.stream.self, &query, batch, &world.error);
}

static size_t sent(void)
{
    pthread_mutex_lock(&world.around.mutex);
    size_t count = world.around.answered;
    pthread_mutex_unlock(&world.around.mutex);
    return count;
}

/* ---- opening ---- */

static kedge_status open_with(const char *body)
{
    const scripted_reply replies[] = {{.status = 200, .body = body}};
    client_world_begin(&world.around, replies, 1);
    world.error = (kedge_error){0};
    kedge_stream stream = {0};
    kedge_status status =
        kedge_dynamodb_stream_open(world.around.client, "t", &stream, &world.error);
    if (status == KEDGE_OK) stream.vtable->close(stream.self);
    client_world_end(&world.around);
    return status;
}

static void test_a_table_must_have_a_stream_of_new_images(void **state)
{
    (void)state;
    assert_int_equal(open_with(TABLE_WITH("NEW_IMAGE")), KEDGE_OK);
    assert_int_equal(open_with(TABLE_WITH("NEW_AND_OLD_IMAGES")), KEDGE_OK);
    assert_int_equal(open_with(TABLE_WITH("KEYS_ONLY")), KEDGE_UNSUPPORTED);
    assert_string_equal(world.error.code, "aws-stream-view");
    assert_int_equal(open_with("{\"Table\":{}}"), KEDGE_NOT_FOUND);
    assert_string_equal(world.error.code, "aws-stream-missing");
    assert_int_equal(open_with("{}"), KEDGE_UNAVAILABLE);
}

static void test_a_stream_is_turned_on_once_and_waited_for(void **state)
{
    (void)state;
    const scripted_reply replies[] = {WITHOUT, RESPONSE("{}"), WITHOUT,
                                      REFUSAL("ResourceInUseException"), FOUND};
    client_world_begin(&world.around, replies, 5);
    world.around.no_pauses = true;
    assert_int_equal(kedge_dynamodb_stream_enable(world.around.client, "t", &world.error),
                     KEDGE_OK);
    assert_int_equal(sent(), 5);
    assert_string_equal(world.around.bodies[1],
                        "{\"TableName\":\"t\",\"StreamSpecification\":{\"StreamEnabled\":true,"
                        "\"StreamViewType\":\"NEW_IMAGE\"}}");
    client_world_end(&world.around);
}

/* ---- shards ---- */

static void test_shards_come_in_pages_with_their_lineage(void **state)
{
    (void)state;
    kedge_stream_shards shards = {0};
    STREAM_BEGIN(
        RESPONSE("{\"StreamDescription\":{\"LastEvaluatedShardId\":\"s2\",\"Shards\":["
                 "{\"ShardId\":\"s1\",\"SequenceNumberRange\":{\"StartingSequenceNumber\":\"10\","
                 "\"EndingSequenceNumber\":\"20\"}},{\"ShardId\":\"s2\",\"ParentShardId\":\"s1\","
                 "\"SequenceNumberRange\":{\"StartingSequenceNumber\":\"21\"}}]}}"),
        RESPONSE("{\"StreamDescription\":{\"Shards\":[]}}"));
    assert_int_equal(
        world.stream.vtable->shards(world.stream.self, (kedge_bytes){0}, 2, &shards, &world.error),
        KEDGE_OK);
    assert_int_equal(shards.count, 2);
    assert_true(shards.more);
    assert_string_equal(shards.shards[0].id, "s1");
    assert_string_equal(shards.shards[0].parent, "");
    assert_string_equal(shards.shards[0].start, "at-10");
    assert_true(shards.shards[0].closed);
    assert_string_equal(shards.shards[1].parent, "s1");
    assert_false(shards.shards[1].closed);
    kedge_stream_shards_free(&shards);
    assert_int_equal(
        world.stream.vtable->shards(world.stream.self, KEDGE_BYTES("s2"), 2, &shards, &world.error),
        KEDGE_OK);
    assert_int_equal(shards.count, 0);
    assert_false(shards.more);
    kedge_stream_shards_free(&shards);
    assert_non_null(strstr(world.around.requests[1], "DynamoDBStreams_20120810.DescribeStream"));
    assert_string_equal(world.around.bodies[1], "{\"StreamArn\":\"arn:s\",\"Limit\":2}");
    assert_string_equal(world.around.bodies[2],
                        "{\"StreamArn\":\"arn:s\",\"Limit\":2,\"ExclusiveStartShardId\":\"s2\"}");
    stop();
}

static void test_a_list_of_shards_that_is_wrong_is_refused(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{\"StreamDescription\":{}}",
        "{\"StreamDescription\":{\"Shards\":5}}",
        "{\"StreamDescription\":{\"Shards\":[{\"ShardId\":\"s\"}]}}",
        "{\"StreamDescription\":{\"Shards\":[{\"ShardId\":\"\",\"SequenceNumberRange\":"
        "{\"StartingSequenceNumber\":\"1\"}}]}}",
        "{\"StreamDescription\":{\"Shards\":[{\"ShardId\":\"a\",\"SequenceNumberRange\":"
        "{\"StartingSequenceNumber\":\"1\"}},{\"ShardId\":\"b\",\"SequenceNumberRange\":"
        "{\"StartingSequenceNumber\":\"1\"}}]}}"};
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        kedge_stream_shards shards = {0};
        STREAM_BEGIN(RESPONSE(bodies[i]));
        assert_int_equal(world.stream.vtable->shards(world.stream.self, (kedge_bytes){0}, 1,
                                                     &shards, &world.error),
                         KEDGE_UNAVAILABLE);
        assert_null(shards.memory);
        stop();
    }
}

/* ---- reading ---- */

static void test_the_iterator_of_the_last_read_is_used_again(void **state)
{
    (void)state;
    kedge_stream_batch batch = {0};
    STREAM_BEGIN(ITERATOR("i1"), RECORDS("", NEXT("i2")), RECORDS(INSERTED("a", "11"), NEXT("i3")),
                 RECORDS("", ""), ITERATOR("i4"), RECORDS("", ""));
    assert_int_equal(read_from("", &batch), KEDGE_OK);
    assert_true(batch.idle);
    kedge_stream_batch_free(&batch);
    assert_int_equal(read_from("", &batch), KEDGE_OK);
    assert_int_equal(batch.count, 1);
    assert_true(batch.changes[0].at_ms == 1700000000000);
    kedge_stream_batch_free(&batch);
    assert_int_equal(read_from("11", &batch), KEDGE_OK);
    assert_true(batch.ended);
    kedge_stream_batch_free(&batch);
    /* Nothing is kept of a shard that has ended. */
    assert_int_equal(read_from("11", &batch), KEDGE_OK);
    kedge_stream_batch_free(&batch);
    assert_string_equal(
        world.around.bodies[1],
        "{\"StreamArn\":\"arn:s\",\"ShardId\":\"s1\",\"ShardIteratorType\":\"TRIM_HORIZON\"}");
    assert_string_equal(world.around.bodies[2], "{\"ShardIterator\":\"i1\",\"Limit\":10}");
    assert_string_equal(world.around.bodies[3], "{\"ShardIterator\":\"i2\",\"Limit\":10}");
    assert_string_equal(world.around.bodies[4], "{\"ShardIterator\":\"i3\",\"Limit\":10}");
    assert_string_equal(world.around.bodies[5],
                        "{\"StreamArn\":\"arn:s\",\"ShardId\":\"s1\",\"ShardIteratorType\":"
                        "\"AFTER_SEQUENCE_NUMBER\",\"SequenceNumber\":\"11\"}");
    stop();
}

static void test_an_iterator_that_has_expired_is_replaced_by_one_from_the_position(void **state)
{
    (void)state;
    kedge_stream_batch batch = {0};
    STREAM_BEGIN(ITERATOR("i1"), REFUSAL("ExpiredIteratorException"), ITERATOR("i2"),
                 RECORDS(INSERTED("a", "11"), NEXT("i3")));
    assert_int_equal(read_from("at-10", &batch), KEDGE_OK);
    assert_int_equal(batch.count, 1);
    kedge_stream_batch_free(&batch);
    assert_string_equal(world.around.bodies[3],
                        "{\"StreamArn\":\"arn:s\",\"ShardId\":\"s1\",\"ShardIteratorType\":"
                        "\"AT_SEQUENCE_NUMBER\",\"SequenceNumber\":\"10\"}");
    stop();
    STREAM_BEGIN(ITERATOR("i1"), REFUSAL("ExpiredIteratorException"), ITERATOR("i2"),
                 REFUSAL("ExpiredIteratorException"), ITERATOR("i3"),
                 REFUSAL("ExpiredIteratorException"));
    assert_int_equal(read_from("", &batch), KEDGE_UNAVAILABLE);
    assert_int_equal(sent(), 7);
    stop();
}

static void test_changes_and_shards_that_are_trimmed_are_not_found(void **state)
{
    (void)state;
    kedge_stream_batch batch = {0};
    STREAM_BEGIN(REFUSAL("TrimmedDataAccessException"));
    assert_int_equal(read_from("10", &batch), KEDGE_NOT_FOUND);
    assert_string_equal(world.error.code, KEDGE_STREAM_TRIMMED);
    stop();
    STREAM_BEGIN(ITERATOR("i1"), REFUSAL("TrimmedDataAccessException"));
    assert_int_equal(read_from("10", &batch), KEDGE_NOT_FOUND);
    stop();
    STREAM_BEGIN(REFUSAL("ResourceNotFoundException"));
    assert_int_equal(read_from("10", &batch), KEDGE_NOT_FOUND);
    assert_string_equal(world.error.code, KEDGE_STREAM_TRIMMED);
    stop();
}

static void test_a_throttled_read_is_sent_again(void **state)
{
    (void)state;
    kedge_stream_batch batch = {0};
    STREAM_BEGIN(ITERATOR("i1"), REFUSAL("LimitExceededException"),
                 RECORDS(INSERTED("a", "11"), NEXT("i2")));
    world.around.no_pauses = true;
    assert_int_equal(read_from("", &batch), KEDGE_OK);
    assert_int_equal(batch.count, 1);
    kedge_stream_batch_free(&batch);
    stop();
}

static void test_records_that_are_wrong_are_refused(void **state)
{
    static const char *const bodies[] = {
        "{}", "{\"Records\":5}", "{\"Records\":[{}]}",
        "{\"Records\":[{\"eventName\":\"OTHER\",\"dynamodb\":{}}]}",
        "{\"Records\":[{\"eventName\":\"INSERT\"}]}",
        "{\"Records\":[{\"eventName\":\"INSERT\",\"dynamodb\":{\"SequenceNumber\":\"1\"}}]}",
        "{\"Records\":[{\"eventName\":\"INSERT\",\"dynamodb\":{\"SequenceNumber\":\"\","
        "\"NewImage\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"a\"}}}}]}",
        "{\"Records\":[{\"eventName\":\"INSERT\",\"dynamodb\":{\"SequenceNumber\":\"1\","
        "\"NewImage\":{\"pk\":{\"S\":\"p\"}}}}]}",
        "{\"Records\":[{\"eventName\":\"INSERT\",\"dynamodb\":{\"SequenceNumber\":\"1\","
        "\"NewImage\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"a\"},\"f\":{\"BOOL\":true}}}}]}",
        /* Behind the first NUL of a response each item is checked by itself. */
        "{\"Records\":[{\"eventName\":\"INSERT\",\"dynamodb\":{\"SequenceNumber\":\"1\","
        "\"NewImage\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"a\"},\"f\":{\"S\":\"\\x\"}}}}],"
        "\"f\":\"\\u0000\"}",
        "{\"f\":\"\\u0000\",\"Records\":[{\"eventName\":\"INSERT\",\"dynamodb\":{"
        "\"SequenceNumber\":"
        "\"1\",\"NewImage\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"a\"},\"f\":{\"S\":\"\\x\"}}}}]}",
        "{\"Records\":[],\"NextShardIterator\":7}"};
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        kedge_stream_batch batch = {0};
        STREAM_BEGIN(ITERATOR("i1"), RESPONSE(bodies[i]));
        assert_int_equal(read_from("", &batch), KEDGE_UNAVAILABLE);
        assert_null(batch.memory);
        stop();
    }
    kedge_stream_batch batch = {0};
    STREAM_BEGIN(RESPONSE("{}"));
    assert_int_equal(read_from("", &batch), KEDGE_UNAVAILABLE);
    stop();
}

static void test_a_removal_has_the_keys_alone(void **state)
{
    (void)state;
    kedge_stream_batch batch = {0};
    STREAM_BEGIN(ITERATOR("i1"),
                 RECORDS("{\"eventName\":\"REMOVE\",\"dynamodb\":{\"Keys\":{\"pk\":{\"S\":\"p\"},"
                         "\"sk\":{\"S\":\"a\"}},\"OldImage\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":"
                         "\"a\"},\"n\":{\"N\":\"7\"}},\"SequenceNumber\":\"12\"}}",
                         NEXT("i2")));
    assert_int_equal(read_from("", &batch), KEDGE_OK);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.changes[0].kind, KEDGE_STREAM_REMOVE);
    assert_int_equal(batch.changes[0].record.attribute_count, 0);
    kedge_stream_batch_free(&batch);
    stop();
}

#define FOREIGN(partition, sequence, attribute)                                                    \
    "{\"eventName\":\"MODIFY\",\"dynamodb\":{\"Keys\":{\"pk\":{\"S\":\"" partition                 \
    "\"},\"sk\":{\"S\":\"a\"}},\"NewImage\":{\"pk\":{\"S\":\"" partition                           \
    "\"},\"sk\":{\"S\":\"a\"},\"f\":" attribute "},\"SequenceNumber\":\"" sequence "\"}}"

#define AND_ONE_OF_OURS(attribute)                                                                 \
    "{\"Records\":[" FOREIGN("p", "11", attribute) "," INSERTED("b", "12") "]}"

/* DynamoDB allows 32 levels, each of which is two of JSON. */
#define LEVELS "{\"L\":[{\"L\":[{\"L\":[{\"L\":[{\"L\":[{\"L\":[{\"L\":[{\"L\":["
#define ENDS   "]}]}]}]}]}]}]}]}"

/* Reads a response with two records: one that Kedge has not written, and Kedge's own. */
static void read_past(const char *records, const char *partition, kedge_stream_batch *batch)
{
    STREAM_BEGIN(ITERATOR("i1"), RESPONSE(records));
    assert_int_equal(read_from("", batch), KEDGE_OK);
    assert_int_equal(batch->count, 2);
    assert_int_equal(batch->changes[0].kind, KEDGE_STREAM_FOREIGN);
    assert_true(kedge_bytes_equal_text(batch->changes[0].record.key.partition, partition));
    assert_true(kedge_bytes_equal_text(batch->changes[1].record.key.sort, "b"));
}

/* Else all that follow it would wait until the stream forgets it. */
static void test_a_read_gets_past_an_item_that_kedge_has_not_written(void **state)
{
    static const char *const records[] = {
        AND_ONE_OF_OURS("{\"BOOL\":true}"),
        AND_ONE_OF_OURS("{\"L\":[{\"S\":\"x\"}]}"),
        AND_ONE_OF_OURS("{\"M\":{}}"),
        AND_ONE_OF_OURS("{\"N\":\"1.5\"}"),
        AND_ONE_OF_OURS("{\"S\":\"x\\u0000y\"}"),
        AND_ONE_OF_OURS("{\"L\":[" LEVELS LEVELS LEVELS LEVELS "{\"S\":\"x\"}" ENDS ENDS ENDS ENDS
                        "]}"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        kedge_stream_batch batch = {0};
        read_past(records[i], "p", &batch);
        assert_int_equal(batch.changes[0].record.attribute_count, 0);
        assert_int_equal(batch.changes[1].kind, KEDGE_STREAM_INSERT);
        assert_int_equal(batch.changes[1].record.attribute_count, 1);
        assert_true(kedge_bytes_equal_text(batch.next, "12"));
        kedge_stream_batch_free(&batch);
        stop();
    }
}

/* Also one that was removed. Nothing of it is told. */
static void test_a_read_gets_past_keys_that_cannot_be_told(void **state)
{
    static const char *const records[] = {
        "{\"Records\":[" FOREIGN("p\\u0000", "11", "{\"S\":\"x\"}") "," INSERTED("b", "12") "]}",
        "{\"Records\":[{\"eventName\":\"REMOVE\",\"dynamodb\":{\"Keys\":{\"pk\":{\"S\":\"p\"},"
        "\"sk\":{\"S\":\"\\u0000\"}},\"SequenceNumber\":\"11\"}}," INSERTED("b", "12") "]}"};
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        kedge_stream_batch batch = {0};
        read_past(records[i], "?", &batch);
        kedge_stream_batch_free(&batch);
        stop();
    }
}

/* It may have had the attribute that a reader looks for. */
static void test_what_is_foreign_fits_a_pattern_by_its_partition_alone(void **state)
{
    (void)state;
    kedge_stream_batch batch = {0};
    const kedge_stream_pattern pattern = {KEDGE_BYTES("p"), "n"};
    const kedge_stream_query query = {
        .shard = "s1", .limit = 10, .patterns = &pattern, .pattern_count = 1};
    STREAM_BEGIN(ITERATOR("i1"), RECORDS(FOREIGN("q", "11", "{\"NULL\":true}") "," FOREIGN(
                                             "p", "12", "{\"NULL\":true}"),
                                         NEXT("i2")));
    assert_int_equal(world.stream.vtable->read(world.stream.self, &query, &batch, &world.error),
                     KEDGE_OK);
    assert_int_equal(batch.count, 1);
    assert_true(kedge_bytes_equal_text(batch.changes[0].record.key.partition, "p"));
    assert_true(kedge_bytes_equal_text(batch.next, "12"));
    kedge_stream_batch_free(&batch);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_must_have_a_stream_of_new_images),
        cmocka_unit_test(test_a_stream_is_turned_on_once_and_waited_for),
        cmocka_unit_test(test_shards_come_in_pages_with_their_lineage),
        cmocka_unit_test(test_a_list_of_shards_that_is_wrong_is_refused),
        cmocka_unit_test(test_the_iterator_of_the_last_read_is_used_again),
        cmocka_unit_test(test_an_iterator_that_has_expired_is_replaced_by_one_from_the_position),
        cmocka_unit_test(test_changes_and_shards_that_are_trimmed_are_not_found),
        cmocka_unit_test(test_a_throttled_read_is_sent_again),
        cmocka_unit_test(test_records_that_are_wrong_are_refused),
        cmocka_unit_test(test_a_removal_has_the_keys_alone),
        cmocka_unit_test(test_a_read_gets_past_an_item_that_kedge_has_not_written),
        cmocka_unit_test(test_a_read_gets_past_keys_that_cannot_be_told),
        cmocka_unit_test(test_what_is_foreign_fits_a_pattern_by_its_partition_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
