/* Opening and making the queues: what is refused, and in whose words. */
#include "tests/aws/sqs_world.h"

#include <string.h>

#define OK(text)                                                                                   \
    {                                                                                              \
        200, NULL, (text), 0                                                                       \
    }
#define NO(text)                                                                                   \
    {                                                                                              \
        400, NULL, (text), 0                                                                       \
    }
#define REFUSED_ATTRIBUTE                                                                          \
    "{\"__type\":\"com.amazonaws.sqs#InvalidAttributeName\",\"message\":\"Unknown Attribute\"}"
#define EXISTS "{\"__type\":\"com.amazonaws.sqs#QueueNameExists\"}"
#define ARN    "{\"Attributes\":{\"QueueArn\":\"arn:aws:sqs:eu-west-1:1:q-dead-letters.fifo\"}}"

static kedge_status open_with(sqs_world *world, kedge_sqs_options options)
{
    options.client = world->around.client;
    return kedge_sqs_queue_open(&options, &world->queue, &world->error);
}

static void assert_refused(const char *attributes, const char *words)
{
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, OK(FOUND), OK(attributes), OK(DEAD_FOUND));
    assert_int_equal(open_with(&world, (kedge_sqs_options){.queue = "q.fifo"}), KEDGE_UNSUPPORTED);
    assert_string_equal(world.error.code, "aws-queue-kind");
    if (strstr(world.error.message, words) == NULL) fail_msg("%s", world.error.message);
    sqs_world_end(&world);
}

static void test_a_queue_that_is_not_there_is_named(void **state)
{
    (void)state;
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, NO(NO_QUEUE));
    assert_int_equal(open_with(&world, (kedge_sqs_options){.queue = "q.fifo"}), KEDGE_NOT_FOUND);
    assert_string_equal(world.error.code, "aws-queue-missing");
    assert_non_null(strstr(world.error.message, "q.fifo"));
    assert_non_null(strstr(world.error.message, "eu-west-1"));
    assert_null(world.queue.vtable);
    sqs_world_end(&world);
}

static void test_a_queue_that_is_not_what_the_port_needs_is_refused(void **state)
{
    (void)state;
    assert_refused("{\"Attributes\":{}}", "not a FIFO queue");
    assert_refused("{\"Attributes\":{\"FifoQueue\":\"false\"}}", "not a FIFO queue");
    assert_refused("{\"Attributes\":{\"FifoQueue\":\"true\"}}", "no redrive policy");
    assert_refused("{\"Attributes\":{\"FifoQueue\":\"true\",\"RedrivePolicy\":\"x\"}}",
                   "no redrive policy");
    assert_refused("{\"Attributes\":{\"FifoQueue\":\"true\",\"RedrivePolicy\":"
                   "\"{\\\"deadLetterTargetArn\\\":\\\"a:b\\\",\\\"maxReceiveCount\\\":0}\"}}",
                   "no redrive policy");
}

static void test_dead_letters_must_be_those_of_the_redrive_policy(void **state)
{
    (void)state;
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, OK(FOUND), OK(ATTRIBUTES), OK(FOUND), OK(ATTRIBUTES), OK(DEAD_FOUND));
    assert_int_equal(
        open_with(&world, (kedge_sqs_options){.queue = "q.fifo", .dead_letters = "other.fifo"}),
        KEDGE_UNSUPPORTED);
    assert_non_null(strstr(world.error.message, "d.fifo"));
    assert_non_null(strstr(world.error.message, "other.fifo"));
    assert_int_equal(
        open_with(&world, (kedge_sqs_options){.queue = "q.fifo", .dead_letters = "d.fifo"}),
        KEDGE_OK);
    assert_non_null(strstr(world.around.bodies[4], "d.fifo"));
    sqs_world_end(&world);
}

static void test_queues_named_by_url_are_not_looked_up(void **state)
{
    (void)state;
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, OK(ATTRIBUTES));
    assert_int_equal(open_with(&world, (kedge_sqs_options){.queue = URL, .dead_letters = DEAD_URL}),
                     KEDGE_OK);
    assert_int_equal(scripted_server_requests(world.around.server), 1);
    assert_non_null(strstr(world.around.bodies[0], "\"QueueUrl\":\"" URL "\""));
    sqs_world_end(&world);
}

static void test_the_policys_count_may_be_a_text(void **state)
{
    (void)state;
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, OK(FOUND),
          OK("{\"Attributes\":{\"FifoQueue\":\"true\",\"RedrivePolicy\":"
             "\"{\\\"deadLetterTargetArn\\\":\\\"a:d.fifo\\\",\\\"maxReceiveCount\\\":\\\"5\\\"}"
             "\"}}"),
          OK(DEAD_FOUND));
    assert_int_equal(open_with(&world, (kedge_sqs_options){.queue = "q.fifo"}), KEDGE_OK);
    sqs_world_end(&world);
}

static void test_responses_that_are_not_sqss_open_nothing(void **state)
{
    (void)state;
    static const char *const responses[] = {"{}", "{\"QueueUrl\":7}", "{\"QueueUrl\":\"\"}", "[]",
                                            "<html>"};
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++) {
        sqs_world world = {.error = {.code = ""}};
        BEGIN(&world.around, OK(responses[i]));
        assert_int_equal(open_with(&world, (kedge_sqs_options){.queue = "q.fifo"}),
                         KEDGE_UNAVAILABLE);
        assert_null(world.queue.vtable);
        sqs_world_end(&world);
    }
}

/* ---- making ---- */

static kedge_status create(sqs_world *world, const char *queue, const char *dead_letters)
{
    const kedge_sqs_options options = {
        .client = world->around.client, .queue = queue, .dead_letters = dead_letters};
    return kedge_sqs_create(&options, 4, &world->error);
}

static void test_queues_are_made_without_attributes_that_are_refused(void **state)
{
    (void)state;
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, NO(NO_QUEUE), NO(REFUSED_ATTRIBUTE), OK(DEAD_FOUND), OK(DEAD_FOUND),
          OK(ARN), OK(ARN), NO(NO_QUEUE), NO(EXISTS), OK(FOUND), OK(ATTRIBUTES));
    assert_int_equal(create(&world, "q.fifo", NULL), KEDGE_OK);
    assert_int_equal(scripted_server_requests(world.around.server), 10);
    assert_string_equal(
        world.around.bodies[1],
        "{\"QueueName\":\"q-dead-letters.fifo\",\"Attributes\":{\"FifoQueue\":\"true\","
        "\"ContentBasedDeduplication\":\"false\",\"DeduplicationScope\":\"messageGroup\","
        "\"FifoThroughputLimit\":\"perMessageGroupId\",\"MaximumMessageSize\":\"1048576\","
        "\"MessageRetentionPeriod\":\"1209600\"}}");
    assert_string_equal(
        world.around.bodies[2],
        "{\"QueueName\":\"q-dead-letters.fifo\",\"Attributes\":{\"FifoQueue\":\"true\","
        "\"ContentBasedDeduplication\":\"false\"}}");
    assert_non_null(strstr(world.around.bodies[7],
                           "\"RedrivePolicy\":\"{\\\"deadLetterTargetArn\\\":"
                           "\\\"arn:aws:sqs:eu-west-1:1:q-dead-letters.fifo\\\","
                           "\\\"maxReceiveCount\\\":4}\""));
    sqs_world_end(&world);
}

static void test_a_new_queue_is_waited_for(void **state)
{
    (void)state;
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, OK(DEAD_FOUND), OK(ARN), NO(NO_QUEUE), OK(FOUND), NO(NO_QUEUE),
          NO(NO_QUEUE), OK(FOUND), NO(NO_QUEUE), OK(FOUND), OK(ATTRIBUTES));
    world.around.no_pauses = true;
    assert_int_equal(create(&world, "q.fifo", NULL), KEDGE_OK);
    assert_int_equal(scripted_server_requests(world.around.server), 10);
    assert_non_null(strstr(world.around.requests[3], "AmazonSQS.CreateQueue"));
    sqs_world_end(&world);
}

static void test_names_that_cannot_be_made_are_refused_before_any_request(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"q", NULL},
        {".fifo", NULL},
        {URL, NULL},
        {"q.fifo", "d"},
        {"a-name-of-more-than-eighty-characters-0123456789-0123456789-0123456789-0123456789.fifo",
         NULL},
        /* Its own fits, that of its dead letters does not. */
        {"a-name-of-seventy-five-characters-0123456789-0123456789-0123456789-012.fifo", NULL},
    };
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, OK("{}"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(create(&world, names[i][0], names[i][1]), KEDGE_INVALID_ARGUMENT);
        assert_string_equal(world.error.code, "invalid-queue-name");
    }
    assert_int_equal(scripted_server_requests(world.around.server), 0);
    sqs_world_end(&world);
}

static void test_a_failure_to_make_is_the_failure(void **state)
{
    (void)state;
    sqs_world world = {.error = {.code = ""}};
    BEGIN(&world.around, NO(NO_QUEUE),
          NO("{\"__type\":\"com.amazonaws.sqs#QueueDeletedRecently\",\"message\":\"wait\"}"));
    assert_int_equal(create(&world, "q.fifo", NULL), KEDGE_IO);
    assert_non_null(strstr(world.error.message, "QueueDeletedRecently"));
    sqs_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_queue_that_is_not_there_is_named),
        cmocka_unit_test(test_a_queue_that_is_not_what_the_port_needs_is_refused),
        cmocka_unit_test(test_dead_letters_must_be_those_of_the_redrive_policy),
        cmocka_unit_test(test_queues_named_by_url_are_not_looked_up),
        cmocka_unit_test(test_the_policys_count_may_be_a_text),
        cmocka_unit_test(test_responses_that_are_not_sqss_open_nothing),
        cmocka_unit_test(test_queues_are_made_without_attributes_that_are_refused),
        cmocka_unit_test(test_a_new_queue_is_waited_for),
        cmocka_unit_test(test_names_that_cannot_be_made_are_refused_before_any_request),
        cmocka_unit_test(test_a_failure_to_make_is_the_failure),
    };
    return cmocka_run_group_tests_name("queue: opening SQS", tests, NULL, NULL);
}
