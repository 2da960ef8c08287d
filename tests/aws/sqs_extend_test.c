/* Deliveries that are extended in one request: what SQS tells of each, or of none. */
#include "tests/aws/sqs_world.h"

#include <stdio.h>
#include <string.h>

#define OK(text)                                                                                   \
    {                                                                                              \
        200, NULL, (text), 0                                                                       \
    }
#define REFUSED(text)                                                                              \
    {                                                                                              \
        400, NULL, (text), 0                                                                       \
    }
#define SEVERAL 5

static void extend_several(const sqs_world *world, kedge_error failures[SEVERAL])
{
    static const char *const receipts[SEVERAL] = {"sqs-a", "sqs-b", "x", "sqs-c", "sqs-d"};
    memset(failures, 0, SEVERAL * sizeof *failures);
    world->queue.vtable->extend_all(world->queue.self, receipts, SEVERAL, 1001, failures);
    assert_int_equal(failures[2].status, KEDGE_INVALID_ARGUMENT); /* of which SQS is not asked */
}

static void test_several_are_extended_at_once_and_each_is_told_of(void **state)
{
    (void)state;
    sqs_world world;
    kedge_error failures[SEVERAL];
    BEGIN_SQS(&world,
              OK("{\"Successful\":[{\"Id\":\"0\"}],\"Failed\":[{\"Id\":\"1\",\"Code\":"
                 "\"ReceiptHandleIsInvalid\",\"Message\":\"m\",\"SenderFault\":true},"
                 "{\"Id\":\"3\",\"Code\":\"InternalError\",\"SenderFault\":false}]}"),
              OK("{\"Successful\":[{\"Id\":\"0\"},{\"Id\":\"2\"}]}"), OK(""), REFUSED(NO_QUEUE));
    extend_several(&world, failures);
    assert_string_equal(world.around.bodies[OPENINGS],
                        "{\"QueueUrl\":\"" URL "\",\"Entries\":["
                        "{\"Id\":\"0\",\"ReceiptHandle\":\"a\",\"VisibilityTimeout\":2},"
                        "{\"Id\":\"1\",\"ReceiptHandle\":\"b\",\"VisibilityTimeout\":2},"
                        "{\"Id\":\"3\",\"ReceiptHandle\":\"c\",\"VisibilityTimeout\":2},"
                        "{\"Id\":\"4\",\"ReceiptHandle\":\"d\",\"VisibilityTimeout\":2}]}");
    assert_int_equal(failures[0].status, KEDGE_OK);
    assert_string_equal(failures[1].code, "stale-receipt");
    assert_string_equal(failures[3].code, "aws-refused");
    assert_string_equal(failures[4].code,
                        "aws-response-invalid"); /* which the response leaves out */
    static const char *const codes[] = {"aws-response-invalid", "aws-response-invalid",
                                        "aws-queue-missing"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        extend_several(&world, failures);
        assert_string_equal(failures[0].code, codes[i]);
        assert_string_equal(failures[4].code, codes[i]);
    }
    sqs_world_end(&world);
}

/* The second and the third are of a response for one message and of one for several; the last two
 * are the names of SQS and of its older protocol. */
static void test_each_refusal_of_a_receipt_makes_it_stale(void **state)
{
    static const struct {
        const char *refused, *code;
    } rows[] = {
        {"ReceiptHandleIsInvalid", "stale-receipt"},
        {"MessageNotInflight", "stale-receipt"},
        {"AWS.SimpleQueueService.MessageNotInflight", "stale-receipt"},
        {"InvalidParameterValueException", "stale-receipt"},
        {"InvalidParameterValue", "stale-receipt"},
        {"InvalidParameter", "aws-refused"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sqs_world world;
        char text[256];
        kedge_error failures[SEVERAL];
        snprintf(text, sizeof text, "{\"Failed\":[{\"Id\":\"0\",\"Code\":\"%s\"}]}",
                 rows[i].refused);
        BEGIN_SQS(&world, OK(text));
        extend_several(&world, failures);
        assert_string_equal(failures[0].code, rows[i].code);
        sqs_world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_are_extended_at_once_and_each_is_told_of),
        cmocka_unit_test(test_each_refusal_of_a_receipt_makes_it_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
