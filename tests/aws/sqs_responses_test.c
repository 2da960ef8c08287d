/* The queue port when SQS throttles, breaks off, refuses, or is not SQS. */
#include "tests/aws/sqs_world.h"

#include "common/hash.h"
#include "tests/support/failing_allocator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THROTTLED                                                                                  \
    {                                                                                              \
        400, NULL, "{\"__type\":\"com.amazonaws.sqs#RequestThrottled\"}", 0                        \
    }
#define OK(text)                                                                                   \
    {                                                                                              \
        200, NULL, (text), 0                                                                       \
    }
#define NO(text)                                                                                   \
    {                                                                                              \
        400, NULL, (text), 0                                                                       \
    }
#define CLOSED                                                                                     \
    {                                                                                              \
        0, NULL, NULL, REPLY_CLOSE                                                                 \
    }

/* The request of this number, from 0, after the opening. */
static const char *request_body(const sqs_world *world, size_t number)
{
    return world->around.bodies[OPENINGS + number];
}

static size_t requests(sqs_world *world)
{
    return (size_t)scripted_server_requests(world->around.server) - OPENINGS;
}

static void assert_failed(const sqs_world *world, kedge_status status, kedge_status expected,
                          const char *code)
{
    assert_int_equal(status, expected);
    assert_string_equal(world->error.code, code);
}

/* ---- send ---- */

static void test_a_send_is_tried_again_when_it_is_throttled(void **state)
{
    (void)state;
    sqs_world world;
    BEGIN_SQS(&world, THROTTLED, THROTTLED, OK(sqs_world_sent("body")));
    assert_int_equal(sqs_world_send(&world, "body"), KEDGE_OK);
    assert_int_equal(requests(&world), 3);
    assert_string_equal(world.around.observed_action, "sqs:SendMessage");
    sqs_world_end(&world);
}

static void test_a_send_without_a_response_is_sent_again_under_the_same_name(void **state)
{
    (void)state;
    sqs_world world;
    BEGIN_SQS(&world, CLOSED, OK(sqs_world_sent("body")));
    assert_int_equal(sqs_world_send(&world, "body"), KEDGE_OK);
    assert_int_equal(requests(&world), 2);
    assert_string_equal(request_body(&world, 0), request_body(&world, 1));
    assert_string_equal(request_body(&world, 0),
                        "{\"QueueUrl\":\"" URL "\",\"MessageBody\":\"body\","
                        "\"MessageGroupId\":\"g\",\"MessageDeduplicationId\":\"name\"}");
    assert_non_null(strstr(world.around.requests[OPENINGS], "AmazonSQS.SendMessage"));
    assert_non_null(strstr(world.around.requests[OPENINGS], "application/x-amz-json-1.0"));
    sqs_world_end(&world);
}

static void test_a_send_that_nobody_answers_has_an_unknown_outcome(void **state)
{
    (void)state;
    sqs_world world;
    BEGIN_SQS(&world, CLOSED);
    world.around.no_pauses = true;
    assert_failed(&world, sqs_world_send(&world, "body"), KEDGE_UNAVAILABLE, "aws-outcome-unknown");
    sqs_world_end(&world);
}

static void test_a_response_that_is_not_sqss_tells_nothing_about_a_send(void **state)
{
    (void)state;
    static const char *const responses[] = {
        "<html>Log in</html>", "[]", "{}", "{\"a\":", "{\"MD5OfMessageBody\":7}", "null", ""};
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++) {
        sqs_world world;
        BEGIN_SQS(&world, OK(responses[i]));
        kedge_status status = sqs_world_send(&world, "body");
        if (status != KEDGE_UNAVAILABLE && status != KEDGE_CORRUPT)
            fail_msg("%s: %d", responses[i], status);
        sqs_world_end(&world);
    }
}

static void test_a_body_that_arrived_as_another_is_told(void **state)
{
    (void)state;
    sqs_world world;
    BEGIN_SQS(&world, OK(sqs_world_sent("bodu")));
    assert_failed(&world, sqs_world_send(&world, "body"), KEDGE_CORRUPT, "aws-message-damaged");
    sqs_world_end(&world);
}

static void test_refusals_of_a_send_keep_apart_what_the_caller_can_do(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        kedge_status status;
        const char *code;
    } cases[] = {
        {NO_QUEUE, KEDGE_IO, "aws-queue-missing"},
        {"{\"__type\":\"com.amazonaws.sqs#InvalidParameterValue\",\"message\":\"too long\"}",
         KEDGE_LIMIT_EXCEEDED, "message-too-large"},
        {"{\"__type\":\"com.amazon.coral.service#InvalidParameterValueException\",\"message\":"
         "\"One or more parameters are invalid. Reason: Message must be shorter than 262144 "
         "bytes.\"}",
         KEDGE_LIMIT_EXCEEDED, "message-too-large"},
        {"{\"__type\":\"com.amazonaws.sqs#UnsupportedOperation\"}", KEDGE_IO, "aws-refused"},
        {"{\"__type\":\"com.amazonaws.sqs#AccessDeniedException\"}", KEDGE_FORBIDDEN,
         "aws-permission-missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sqs_world world;
        BEGIN_SQS(&world, NO(cases[i].body));
        assert_failed(&world, sqs_world_send(&world, "body"), cases[i].status, cases[i].code);
        assert_int_equal(requests(&world), 1);
        sqs_world_end(&world);
    }
}

static void test_a_refusal_behind_a_try_without_a_response_is_unknown(void **state)
{
    (void)state;
    static const char *const refusals[] = {
        NO_QUEUE, "{\"__type\":\"com.amazonaws.sqs#InvalidParameterValue\"}",
        "{\"__type\":\"com.amazonaws.sqs#UnsupportedOperation\"}",
        "{\"__type\":\"com.amazonaws.sqs#AccessDeniedException\"}"};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        sqs_world world;
        BEGIN_SQS(&world, CLOSED, NO(refusals[i]));
        assert_int_equal(sqs_world_send(&world, "body"), KEDGE_UNAVAILABLE);
        assert_int_equal(world.error.status, KEDGE_UNAVAILABLE);
        assert_int_equal(requests(&world), 2);
        sqs_world_end(&world);
    }
}

static void test_a_response_that_is_too_large_tells_nothing_about_a_send(void **state)
{
    (void)state;
    static char large[65600];
    sqs_world world;
    memset(large, ' ', sizeof large - 1);
    BEGIN_SQS(&world, OK(large));
    assert_failed(&world, sqs_world_send(&world, "body"), KEDGE_UNAVAILABLE,
                  "aws-response-invalid");
    sqs_world_end(&world);
}

static void test_a_message_over_the_queues_own_limit_is_not_sent(void **state)
{
    (void)state;
    static char large[262146];
    sqs_world world;
    BEGIN_SQS(&world, OK("{}"));
    memset(large, 'x', sizeof large - 1);
    assert_failed(&world, sqs_world_send(&world, large), KEDGE_LIMIT_EXCEEDED, "message-too-large");
    assert_int_equal(requests(&world), 0);
    sqs_world_end(&world);
}

/* ---- receive ---- */

static void attempt_of(const sqs_world *world, size_t number, char attempt[33])
{
    const char *name = "\"ReceiveRequestAttemptId\":\"";
    const char *at = strstr(request_body(world, number), name);
    assert_non_null(at);
    snprintf(attempt, 33, "%.32s", at + strlen(name));
}

static void test_a_receive_is_tried_again_as_the_same_attempt(void **state)
{
    (void)state;
    sqs_world world;
    kedge_queue_batch batch = {0};
    char first[33], again[33], second[33];
    BEGIN_SQS(&world, CLOSED,
              OK(sqs_world_messages(sqs_world_message("1", "g", "body", NULL), NULL)), OK(EMPTY));
    assert_int_equal(sqs_world_receive(&world, &batch), KEDGE_OK);
    assert_int_equal(batch.count, 1);
    assert_true(kedge_bytes_equal_text(batch.messages[0].group, "g"));
    assert_true(kedge_bytes_equal_text(batch.messages[0].body, "body"));
    assert_true(batch.messages[0].sent_ms == 1700000000000);
    kedge_queue_batch_free(&batch);
    assert_int_equal(sqs_world_receive(&world, &batch), KEDGE_OK);
    assert_int_equal(batch.count, 0);
    attempt_of(&world, 0, first);
    attempt_of(&world, 1, again);
    attempt_of(&world, 2, second);
    assert_string_equal(first, again);
    assert_string_not_equal(first, second);
    assert_non_null(strstr(request_body(&world, 0), "\"VisibilityTimeout\":2,"));
    assert_non_null(strstr(request_body(&world, 0), "\"WaitTimeSeconds\":0,"));
    sqs_world_end(&world);
}

static void test_responses_that_are_no_messages_give_no_batch(void **state)
{
    (void)state;
    static const char *const responses[] = {
        "<html>",
        "{\"Messages\":",
        "{\"Messages\":[{}]}",
        "{\"Messages\":[7]}",
        "{\"Messages\":[{\"MessageId\":\"1\",\"ReceiptHandle\":\"\",\"Body\":\"b\"}]}",
        "{\"Messages\":[{\"MessageId\":\"1\",\"ReceiptHandle\":\"h\",\"Body\":\"b\","
        "\"MD5OfBody\":\"x\",\"Attributes\":{\"MessageGroupId\":\"g\",\"SentTimestamp\":\"-1\","
        "\"ApproximateReceiveCount\":\"1\"}}]}",
        "",
    };
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++) {
        sqs_world world;
        kedge_queue_batch batch = {0};
        BEGIN_SQS(&world, OK(responses[i]));
        assert_failed(&world, sqs_world_receive(&world, &batch), KEDGE_UNAVAILABLE,
                      "aws-response-invalid");
        assert_null(batch.messages);
        sqs_world_end(&world);
    }
}

static void test_more_messages_than_were_asked_for_are_no_response(void **state)
{
    (void)state;
    sqs_world world;
    kedge_queue_batch batch = {0};
    const char *message = sqs_world_message("1", "g", "body", NULL);
    BEGIN_SQS(&world, OK(sqs_world_messages(message, message, NULL)));
    assert_failed(
        &world, world.queue.vtable->receive(world.queue.self, 1, 0, 0, NULL, &batch, &world.error),
        KEDGE_UNAVAILABLE, "aws-response-invalid");
    sqs_world_end(&world);
}

static void test_a_damaged_message_holds_back_its_group_and_no_other(void **state)
{
    (void)state;
    sqs_world world;
    kedge_queue_batch batch = {0};
    BEGIN_SQS(&world,
              OK(sqs_world_messages(sqs_world_message("1", "g", "before", NULL),
                                    sqs_world_message("2", "g", "damaged", "0123"),
                                    sqs_world_message("3", "h", "other", NULL),
                                    sqs_world_message("4", "g", "behind", NULL), NULL)),
              OK(sqs_world_messages(sqs_world_message("2", "g", "damaged", "0123"), NULL)));
    assert_int_equal(sqs_world_receive(&world, &batch), KEDGE_OK);
    assert_int_equal(batch.count, 2);
    assert_true(kedge_bytes_equal_text(batch.messages[0].body, "before"));
    assert_true(kedge_bytes_equal_text(batch.messages[1].body, "other"));
    kedge_queue_batch_free(&batch);
    assert_failed(&world, sqs_world_receive(&world, &batch), KEDGE_CORRUPT, "aws-message-damaged");
    assert_null(batch.messages);
    sqs_world_end(&world);
}

/* With the right MD5, and an attribute that this port does not write. */
#define FOREIGN(attribute, value)                                                                  \
    "{\"MessageId\":\"1\",\"ReceiptHandle\":\"handle-1\",\"Body\":\"b!dy\","                       \
    "\"MD5OfBody\":\"5579506e56b4e2b24400520c5c142ecd\",\"MessageAttributes\":{\"" attribute       \
    "\":{" value "}},\"Attributes\":{\"MessageGroupId\":\"g\","                                    \
    "\"SentTimestamp\":\"1700000000000\",\"ApproximateReceiveCount\":\"1\"}}"

static void test_a_whole_message_that_nobody_of_kedge_sent_holds_back_nobody(void **state)
{
    (void)state;
    static const char *const foreign[] = {
        FOREIGN("kedge.encoding", "\"DataType\":\"String\",\"StringValue\":\"zip\""),
        FOREIGN("kedge.encoding", "\"DataType\":\"String\",\"StringValue\":\"base64\""),
        FOREIGN("kedge.group", "\"DataType\":\"Binary\",\"BinaryValue\":\"?\"")};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        sqs_world world;
        kedge_queue_batch batch = {0};
        BEGIN_SQS(&world, OK(sqs_world_messages(
                              foreign[i], sqs_world_message("2", "g", "behind", NULL), NULL)));
        assert_int_equal(sqs_world_receive(&world, &batch), KEDGE_OK);
        assert_int_equal(batch.count, 2);
        assert_true(kedge_bytes_equal_text(batch.messages[0].body, "b!dy"));
        assert_true(kedge_bytes_equal_text(batch.messages[0].group, "g"));
        assert_string_equal(batch.messages[0].receipt, "sqs-handle-1");
        assert_true(kedge_bytes_equal_text(batch.messages[1].body, "behind"));
        kedge_queue_batch_free(&batch);
        sqs_world_end(&world);
    }
}

/* "AAEC" is the bytes 0, 1, 2. */
#define ENCODED                                                                                    \
    "{\"MessageId\":\"1\",\"ReceiptHandle\":\"handle-1\",\"Body\":\"AAEC\","                       \
    "\"MD5OfBody\":\"4799a3a832d3ca68864f7b49f61a5fdf\",\"MessageAttributes\":{\"kedge."           \
    "encoding\":{"                                                                                 \
    "\"DataType\":\"String\",\"StringValue\":\"base64\"}},\"Attributes\":{"                        \
    "\"MessageGroupId\":\"g\",\"SentTimestamp\":\"1700000000000\","                                \
    "\"ApproximateReceiveCount\":\"1\"}}"

static bool receive_with(const kedge_allocator *allocator, void *context)
{
    sqs_world *world = context;
    kedge_queue_batch batch = {0};
    world->around.environment.allocator = allocator;
    kedge_status status = sqs_world_receive(world, &batch);
    if (status == KEDGE_OK) {
        assert_int_equal(batch.count, 1);
        assert_int_equal(batch.messages[0].body.size, 3);
        assert_memory_equal(batch.messages[0].body.data, "\0\1\2", 3);
    }
    kedge_queue_batch_free(&batch);
    world->around.environment.allocator = &kedge_allocator_default;
    return status == KEDGE_OK;
}

static void test_without_memory_a_message_is_not_taken_as_it_is(void **state)
{
    (void)state;
    sqs_world world;
    BEGIN_SQS(&world, OK(sqs_world_messages(ENCODED, NULL)));
    assert_true(failing_allocator_try_every_call(receive_with, &world, 100) > 0);
    sqs_world_end(&world);
}

/* ---- one delivery ---- */

static void
test_a_refused_receipt_is_a_conflict_unless_an_earlier_try_may_be_the_reason(void **state)
{
    (void)state;
    sqs_world world;
    BEGIN_SQS(&world, NO(STALE), CLOSED, NO(STALE), OK(""), NO(STALE), NO(EXPIRED), CLOSED,
              NO(EXPIRED));
    const kedge_queue_vtable *vtable = world.queue.vtable;
    void *self = world.queue.self;
    assert_failed(&world, vtable->done(self, "sqs-h", &world.error), KEDGE_CONFLICT,
                  "stale-receipt");
    assert_failed(&world, vtable->done(self, "sqs-h", &world.error), KEDGE_UNAVAILABLE,
                  "aws-outcome-unknown");
    assert_int_equal(vtable->done(self, "sqs-h", &world.error), KEDGE_OK);
    assert_failed(&world, vtable->extend(self, "sqs-h", 1001, &world.error), KEDGE_CONFLICT,
                  "stale-receipt");
    assert_string_equal(request_body(&world, 4),
                        "{\"QueueUrl\":\"" URL "\",\"ReceiptHandle\":\"h\","
                        "\"VisibilityTimeout\":2}");
    assert_failed(&world, vtable->done(self, "sqs-h", &world.error), KEDGE_CONFLICT,
                  "stale-receipt");
    assert_failed(&world, vtable->extend(self, "sqs-h", 1001, &world.error), KEDGE_UNAVAILABLE,
                  "aws-outcome-unknown");
    sqs_world_end(&world);
}

static void
test_receipts_of_deliveries_and_of_dead_letters_are_not_taken_for_each_other(void **state)
{
    (void)state;
    sqs_world world;
    BEGIN_SQS(&world, OK(""));
    const kedge_queue_vtable *vtable = world.queue.vtable;
    void *self = world.queue.self;
    assert_failed(&world, vtable->done(self, "sqs-dead-h", &world.error), KEDGE_INVALID_ARGUMENT,
                  "invalid-receipt");
    assert_failed(&world, vtable->redrive(self, "sqs-h", &world.error), KEDGE_INVALID_ARGUMENT,
                  "invalid-receipt");
    assert_failed(&world, vtable->redrive(self, "sqs-dead-", &world.error), KEDGE_INVALID_ARGUMENT,
                  "invalid-receipt");
    assert_int_equal(requests(&world), 0);
    sqs_world_end(&world);
}

/* ---- dead letters ---- */

/* What a look asks at its end: how many dead letters there are, to be received or held. */
#define COUNTED(visible, held)                                                                     \
    OK("{\"Attributes\":{\"ApproximateNumberOfMessages\":\"" visible "\","                         \
       "\"ApproximateNumberOfMessagesNotVisible\":\"" held "\","                                   \
       "\"ApproximateNumberOfMessagesDelayed\":\"0\"}}")

static void test_dead_letters_are_given_back_also_when_the_look_breaks_off(void **state)
{
    (void)state;
    sqs_world world;
    kedge_queue_batch batch = {0};
    const char *message = sqs_world_message("1", "g", "body", NULL);
    BEGIN_SQS(&world, OK(sqs_world_messages(message, NULL)), NO(NO_QUEUE), OK("{}"));
    assert_failed(&world,
                  world.queue.vtable->dead_letters(world.queue.self, 10, &batch, &world.error),
                  KEDGE_IO, "aws-queue-missing");
    assert_null(batch.messages);
    assert_string_equal(request_body(&world, 2),
                        "{\"QueueUrl\":\"" DEAD_URL "\",\"Entries\":[{\"Id\":\"0\","
                        "\"ReceiptHandle\":\"handle-1\",\"VisibilityTimeout\":0}]}");
    sqs_world_end(&world);
}

#define LARGE_BODY    1000000
#define LARGE_LETTERS 9

/* The response of a receive with nine large messages; to be freed. */
static char *large_letters(void)
{
    char *body = malloc(LARGE_BODY + 1);
    const size_t size = LARGE_LETTERS * (LARGE_BODY + 512);
    char *text = malloc(size);
    char md5[KEDGE_MD5_HEX];
    assert_non_null(body);
    assert_non_null(text);
    memset(body, 'a', LARGE_BODY);
    body[LARGE_BODY] = '\0';
    kedge_md5_hex(kedge_bytes_of(body), md5);
    size_t used = (size_t)snprintf(text, size, "{\"Messages\":[");
    for (int i = 0; i < LARGE_LETTERS; i++)
        used +=
            (size_t)snprintf(text + used, size - used,
                             "%s{\"MessageId\":\"%d\",\"ReceiptHandle\":\"h%d\",\"Body\":\"%s\","
                             "\"MD5OfBody\":\"%s\",\"Attributes\":{\"MessageGroupId\":\"g\","
                             "\"SentTimestamp\":\"1\",\"ApproximateReceiveCount\":\"1\"}}",
                             i == 0 ? "" : ",", i, i, body, md5);
    snprintf(text + used, size - used, "]}");
    free(body);
    return text;
}

static bool shows_more(sqs_world *world, size_t shown)
{
    kedge_queue_batch batch = {0};
    assert_int_equal(world->queue.vtable->dead_letters(world->queue.self, 100, &batch, NULL),
                     KEDGE_OK);
    assert_int_equal(batch.count, shown);
    bool more = batch.more;
    kedge_queue_batch_free(&batch);
    return more;
}

static void test_a_look_that_ends_before_it_met_all_dead_letters_says_so(void **state)
{
    (void)state;
    sqs_world world;
    char *large = large_letters();
    BEGIN_SQS(&world, OK(large), OK(EMPTY), COUNTED("0", "9"));
    assert_false(shows_more(&world, LARGE_LETTERS));
    sqs_world_end(&world);
    BEGIN_SQS(&world, OK(large), OK(large), OK(large), OK(large), OK("{}"));
    assert_true(shows_more(&world, 4 * (size_t)LARGE_LETTERS)); /* a fifth receive may give more */
    sqs_world_end(&world);
    free(large);
}

static void test_dead_letters_that_another_look_holds_are_more_than_those_shown(void **state)
{
    (void)state;
    sqs_world world;
    const char *letters = sqs_world_messages(sqs_world_message("1", "g", "one", NULL), NULL);
    BEGIN_SQS(&world, OK(letters), OK(EMPTY), COUNTED("0", "2"), OK("{}"), /* another holds one */
              OK(EMPTY), COUNTED("0", "1"), OK(letters), OK(EMPTY), COUNTED("1", "1"), OK("{}"),
              OK(letters), OK(EMPTY), COUNTED("0", "1"), OK("{}"));
    assert_true(shows_more(&world, 1));
    assert_string_equal(request_body(&world, 2),
                        "{\"QueueUrl\":\"" DEAD_URL
                        "\",\"AttributeNames\":[\"ApproximateNumberOfMessages\","
                        "\"ApproximateNumberOfMessagesNotVisible\","
                        "\"ApproximateNumberOfMessagesDelayed\"]}");
    assert_non_null(strstr(request_body(&world, 3), "handle-1"));
    assert_true(shows_more(&world, 0));
    assert_true(shows_more(&world, 1)); /* in a group of which ten are out */
    assert_false(shows_more(&world, 1));
    sqs_world_end(&world);
}

static void test_a_look_that_cannot_tell_whether_there_are_more_fails(void **state)
{
    (void)state;
    sqs_world world;
    kedge_queue_batch batch = {0};
    const char *letters = sqs_world_messages(sqs_world_message("1", "g", "one", NULL), NULL);
    BEGIN_SQS(&world, OK(letters), OK(EMPTY), NO(NO_QUEUE), OK("{}"), OK(letters), OK(EMPTY),
              OK("{\"Attributes\":{\"ApproximateNumberOfMessages\":\"1\"}}"), OK("{}"));
    const kedge_queue_vtable *vtable = world.queue.vtable;
    assert_failed(&world, vtable->dead_letters(world.queue.self, 9, &batch, &world.error), KEDGE_IO,
                  "aws-queue-missing");
    assert_non_null(strstr(request_body(&world, 3), "handle-1"));
    assert_failed(&world, vtable->dead_letters(world.queue.self, 9, &batch, &world.error),
                  KEDGE_UNAVAILABLE, "aws-response-invalid");
    assert_null(batch.messages);
    sqs_world_end(&world);
}

static void test_a_redrive_sends_under_the_letters_own_name_then_deletes(void **state)
{
    (void)state;
    sqs_world world;
    BEGIN_SQS(&world,
              OK(sqs_world_messages(sqs_world_message("1", "g", "one", NULL),
                                    sqs_world_message("2", "g", "two", NULL),
                                    sqs_world_message("3", "g", "three", NULL), NULL)),
              OK(sqs_world_sent("two")), OK(""), OK("{}"));
    assert_int_equal(world.queue.vtable->redrive(world.queue.self, "sqs-dead-2", &world.error),
                     KEDGE_OK);
    assert_int_equal(requests(&world), 4);
    assert_string_equal(request_body(&world, 1),
                        "{\"QueueUrl\":\"" URL "\",\"MessageBody\":\"two\","
                        "\"MessageGroupId\":\"g\","
                        "\"MessageDeduplicationId\":\"kedge.redrive.2\"}");
    assert_string_equal(request_body(&world, 2), "{\"QueueUrl\":\"" DEAD_URL "\","
                                                 "\"ReceiptHandle\":\"handle-2\"}");
    assert_null(strstr(request_body(&world, 3), "handle-2"));
    assert_non_null(strstr(request_body(&world, 3), "handle-1"));
    assert_non_null(strstr(request_body(&world, 3), "handle-3"));
    sqs_world_end(&world);
}

static void test_a_redrive_that_is_half_done_says_so_and_gives_the_letter_back(void **state)
{
    (void)state;
    sqs_world world;
    const char *letters = sqs_world_messages(sqs_world_message("1", "g", "one", NULL), NULL);
    BEGIN_SQS(&world, OK(letters), OK(sqs_world_sent("one")), NO(STALE), OK("{}"), OK(letters),
              NO(NO_QUEUE), OK("{}"), OK(EMPTY));
    const kedge_queue_vtable *vtable = world.queue.vtable;
    assert_failed(&world, vtable->redrive(world.queue.self, "sqs-dead-1", &world.error),
                  KEDGE_UNAVAILABLE, "aws-redrive-unfinished");
    assert_non_null(strstr(request_body(&world, 3), "handle-1"));
    assert_failed(&world, vtable->redrive(world.queue.self, "sqs-dead-1", &world.error), KEDGE_IO,
                  "aws-queue-missing");
    assert_non_null(strstr(request_body(&world, 6), "handle-1"));
    assert_failed(&world, vtable->redrive(world.queue.self, "sqs-dead-1", &world.error),
                  KEDGE_CONFLICT, "stale-receipt");
    assert_int_equal(requests(&world), 8);
    sqs_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_send_is_tried_again_when_it_is_throttled),
        cmocka_unit_test(test_a_send_without_a_response_is_sent_again_under_the_same_name),
        cmocka_unit_test(test_a_send_that_nobody_answers_has_an_unknown_outcome),
        cmocka_unit_test(test_a_response_that_is_not_sqss_tells_nothing_about_a_send),
        cmocka_unit_test(test_a_body_that_arrived_as_another_is_told),
        cmocka_unit_test(test_refusals_of_a_send_keep_apart_what_the_caller_can_do),
        cmocka_unit_test(test_a_refusal_behind_a_try_without_a_response_is_unknown),
        cmocka_unit_test(test_a_response_that_is_too_large_tells_nothing_about_a_send),
        cmocka_unit_test(test_a_message_over_the_queues_own_limit_is_not_sent),
        cmocka_unit_test(test_a_receive_is_tried_again_as_the_same_attempt),
        cmocka_unit_test(test_responses_that_are_no_messages_give_no_batch),
        cmocka_unit_test(test_more_messages_than_were_asked_for_are_no_response),
        cmocka_unit_test(test_a_damaged_message_holds_back_its_group_and_no_other),
        cmocka_unit_test(test_a_whole_message_that_nobody_of_kedge_sent_holds_back_nobody),
        cmocka_unit_test(test_without_memory_a_message_is_not_taken_as_it_is),
        cmocka_unit_test(
            test_a_refused_receipt_is_a_conflict_unless_an_earlier_try_may_be_the_reason),
        cmocka_unit_test(
            test_receipts_of_deliveries_and_of_dead_letters_are_not_taken_for_each_other),
        cmocka_unit_test(test_dead_letters_are_given_back_also_when_the_look_breaks_off),
        cmocka_unit_test(test_a_look_that_ends_before_it_met_all_dead_letters_says_so),
        cmocka_unit_test(test_dead_letters_that_another_look_holds_are_more_than_those_shown),
        cmocka_unit_test(test_a_look_that_cannot_tell_whether_there_are_more_fails),
        cmocka_unit_test(test_a_redrive_sends_under_the_letters_own_name_then_deletes),
        cmocka_unit_test(test_a_redrive_that_is_half_done_says_so_and_gives_the_letter_back),
    };
    return cmocka_run_group_tests_name("queue: answers of SQS", tests, NULL, NULL);
}
