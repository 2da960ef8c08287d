/* Writes that DynamoDB refuses, cancels or leaves without a response: what each comes to. */
#include "tests/aws/dynamodb_world.h"

#include <string.h>

/* ---- conditions ---- */

static void test_a_condition_that_does_not_hold_is_a_conflict(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, REFUSAL("ConditionalCheckFailedException"));
    assert_int_equal(put(&world, KEDGE_IF_ABSENT), KEDGE_CONFLICT);
    assert_string_equal(world.error.code, "condition-failed");
    assert_int_equal(removal(&world, KEDGE_IF_EQUAL), KEDGE_CONFLICT);
    assert_int_equal(requests(&world), 2);
    const char *first = world.around.bodies[0], *second = world.around.bodies[1];
    assert_non_null(strstr(first, "\"ConditionExpression\":\"attribute_not_exists(#n)\","
                                  "\"ExpressionAttributeNames\":{\"#n\":\"pk\"}"));
    assert_non_null(strstr(second, "\"ConditionExpression\":\"#n = :v\","
                                   "\"ExpressionAttributeNames\":{\"#n\":\"n\"},"
                                   "\"ExpressionAttributeValues\":{\":v\":{\"N\":\"1\"}}"));
    dynamodb_world_end(&world);
}

/* The try before it may have written what the condition now meets. */
static void test_a_failed_condition_behind_a_try_without_response_is_unknown(void **state)
{
    static const scripted_reply lost[] = {
        FAILURE, {.action = REPLY_CLOSE}, {.action = REPLY_CUT}, {.status = 503, .body = "{}"}};
    (void)state;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        static dynamodb_world world;
        DYNAMODB_BEGIN(&world, lost[i], REFUSAL("ConditionalCheckFailedException"));
        assert_int_equal(put(&world, KEDGE_IF_ABSENT), KEDGE_UNAVAILABLE);
        assert_int_equal(world.error.status, KEDGE_UNAVAILABLE);
        assert_int_equal(requests(&world), 2);
        dynamodb_world_end(&world);
    }
}

static void test_a_put_without_condition_is_sent_until_it_is_answered(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, FAILURE, {.action = REPLY_CUT}, RESPONSE("{}"));
    world.error.status = KEDGE_OK;
    assert_int_equal(put(&world, KEDGE_IF_ANY), KEDGE_OK);
    assert_int_equal(requests(&world), 3);
    assert_int_equal(world.error.status, KEDGE_OK); /* left as it was */
    dynamodb_world_end(&world);
}

/* ---- transactions ---- */

#define NONE         "{\"Code\":\"None\"}"
#define REASON(code) "{\"Code\":\"" code "\",\"Message\":\"no\"}"
#define TOO_BIG      "{\"Code\":\"ValidationError\",\"Message\":\"Item size has exceeded\"}"
#define CHECK_FAILED REASON("ConditionalCheckFailed")
#define MET_ANOTHER  REASON("TransactionConflict")
#define INVALID      REASON("ValidationError")

/* Each response takes a minute. */
static int64_t slow_monotonic_ms(void *context)
{
    client_world *world = context;
    pthread_mutex_lock(&world->mutex);
    int64_t slowness_ms = (int64_t)world->answered * 60000;
    pthread_mutex_unlock(&world->mutex);
    return kedge_environment_system(NULL).monotonic_ms(NULL) + slowness_ms;
}

static void test_a_refusal_that_comes_too_late_is_the_last(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, CANCELLED(MET_ANOTHER "," NONE));
    world.around.environment.monotonic_ms = slow_monotonic_ms;
    assert_int_equal(transact(&world), KEDGE_BUSY);
    assert_int_equal(requests(&world), 1);
    dynamodb_world_end(&world);
}

static void test_each_reason_of_a_cancelled_transaction_has_its_meaning(void **state)
{
    static const struct {
        scripted_reply reply;
        kedge_status expected;
    } cases[] = {
        {CANCELLED(CHECK_FAILED "," NONE), KEDGE_CONFLICT},
        {CANCELLED(NONE "," CHECK_FAILED), KEDGE_CONFLICT},
        {CANCELLED(MET_ANOTHER "," CHECK_FAILED), KEDGE_CONFLICT},
        {CANCELLED(NONE "," INVALID), KEDGE_INVALID_ARGUMENT},
        {CANCELLED(CHECK_FAILED "," INVALID), KEDGE_INVALID_ARGUMENT},
        {CANCELLED(NONE "," TOO_BIG), KEDGE_LIMIT_EXCEEDED},
        {CANCELLED(REASON("ItemCollectionSizeLimitExceeded") "," NONE), KEDGE_LIMIT_EXCEEDED},
        {CANCELLED(NONE "," REASON("SomethingNew")), KEDGE_IO},
        {CANCELLED(NONE "," NONE), KEDGE_IO},
        {CANCELLED("7,[],\"x\""), KEDGE_IO},
        {REFUSAL("TransactionCanceledException"), KEDGE_IO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static dynamodb_world world;
        DYNAMODB_BEGIN(&world, cases[i].reply);
        kedge_status status = transact(&world);
        if (status != cases[i].expected)
            fail_msg("%s: %s", cases[i].reply.body, kedge_status_name(status));
        assert_int_equal(world.error.status, cases[i].expected);
        assert_int_equal(requests(&world), 1);
        dynamodb_world_end(&world);
    }
}

static void token_of(const dynamodb_world *world, size_t request, char token[33])
{
    const char *at = strstr(world->around.bodies[request], "\"ClientRequestToken\":\"");
    assert_non_null(at);
    memcpy(token, at + 22, 32);
    token[32] = '\0';
}

static void test_what_cancels_for_now_is_sent_again_under_the_same_token(void **state)
{
    static dynamodb_world world;
    char tokens[5][33];
    (void)state;
    DYNAMODB_BEGIN(&world, CANCELLED(MET_ANOTHER "," NONE),
                   CANCELLED(NONE "," REASON("ThrottlingError")),
                   CANCELLED(NONE "," REASON("ProvisionedThroughputExceeded")), RESPONSE("{}"));
    assert_int_equal(transact(&world), KEDGE_OK);
    assert_int_equal(requests(&world), 4);
    assert_int_equal(transact(&world), KEDGE_OK);
    for (size_t i = 0; i < 5; i++)
        token_of(&world, i, tokens[i]);
    for (size_t i = 1; i < 4; i++)
        assert_string_equal(tokens[i], tokens[0]);
    assert_string_not_equal(tokens[4], tokens[0]);
    dynamodb_world_end(&world);
}

/* There is no permission for a transaction, only for what is done in it. */
static void test_a_transaction_goes_by_the_names_of_its_writes(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE("{}"));
    assert_int_equal(transact(&world), KEDGE_OK);
    assert_string_equal(world.around.observed_action, "dynamodb:PutItem dynamodb:DeleteItem");
    dynamodb_world_end(&world);
}

static void test_what_cancels_for_now_to_the_end_is_busy(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, CANCELLED(MET_ANOTHER "," NONE));
    world.around.no_pauses = true;
    assert_int_equal(transact(&world), KEDGE_BUSY);
    assert_int_equal(requests(&world), 8);
    dynamodb_world_end(&world);
}

/* The tries of kedge_aws_call and ours are one call: what was unknown in one stays so. */
static void
test_a_transaction_with_a_try_without_response_never_claims_that_it_wrote_nothing(void **state)
{
    static const scripted_reply last[] = {
        CANCELLED(CHECK_FAILED "," NONE), CANCELLED(NONE "," INVALID),
        REFUSAL("AccessDeniedException"), REFUSAL("ValidationException")};
    (void)state;
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        static dynamodb_world world;
        DYNAMODB_BEGIN(&world, FAILURE, CANCELLED(MET_ANOTHER "," NONE), last[i]);
        assert_int_equal(transact(&world), KEDGE_UNAVAILABLE);
        assert_int_equal(requests(&world), 3);
        dynamodb_world_end(&world);
    }
}

static void test_a_transaction_in_progress_is_asked_for_again(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, FAILURE, REFUSAL("TransactionInProgressException"), RESPONSE("{}"));
    assert_int_equal(transact(&world), KEDGE_OK);
    assert_int_equal(requests(&world), 3);
    dynamodb_world_end(&world);
}

/* ---- refusals of a request ---- */

static void test_a_request_that_is_throttled_or_meets_a_transaction_is_sent_again(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, REFUSAL("ProvisionedThroughputExceededException"),
                   REFUSAL("ThrottlingException"), REFUSAL("TransactionConflictException"),
                   REFUSAL("ConditionalCheckFailedException"));
    /* None of them had an effect: the conflict is somebody else's. */
    assert_int_equal(put(&world, KEDGE_IF_ABSENT), KEDGE_CONFLICT);
    assert_int_equal(requests(&world), 4);
    dynamodb_world_end(&world);
}

static void test_refusals_for_good_are_told_apart(void **state)
{
    static const struct {
        scripted_reply reply;
        kedge_status expected;
    } cases[] = {
        {REFUSAL("ValidationException"), KEDGE_INVALID_ARGUMENT},
        {{.status = 400,
          .body = "{\"__type\":\"x#ValidationException\","
                  "\"message\":\"Item size has exceeded the maximum allowed size\"}"},
         KEDGE_LIMIT_EXCEEDED},
        {REFUSAL("ItemCollectionSizeLimitExceededException"), KEDGE_LIMIT_EXCEEDED},
        {REFUSAL("AccessDeniedException"), KEDGE_FORBIDDEN},
        {REFUSAL("UnrecognizedClientException"), KEDGE_UNAUTHORIZED},
        {REFUSAL("SomethingNewException"), KEDGE_IO},
        {REFUSAL("ResourceNotFoundException"), KEDGE_IO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static dynamodb_world world;
        DYNAMODB_BEGIN(&world, cases[i].reply);
        kedge_status status = put(&world, KEDGE_IF_ANY);
        if (status != cases[i].expected)
            fail_msg("%s: %s", cases[i].reply.body, kedge_status_name(status));
        assert_int_equal(world.error.status, status);
        assert_int_equal(requests(&world), 1);
        dynamodb_world_end(&world);
    }
}

/* KEDGE_NOT_FOUND would say that the record was never written. */
static void test_a_read_from_a_missing_table_does_not_say_that_the_record_is_missing(void **state)
{
    static dynamodb_world world;
    kedge_record_set set = {0};
    (void)state;
    DYNAMODB_BEGIN(&world, REFUSAL("ResourceNotFoundException"));
    assert_int_equal(get(&world, &set), KEDGE_IO);
    assert_string_equal(world.error.code, "aws-table-missing");
    assert_non_null(strstr(world.error.message, "table t"));
    dynamodb_world_end(&world);
}

static void test_what_is_outside_the_contract_is_never_sent(void **state)
{
    static dynamodb_world world;
    kedge_attribute large = {.name = "b", .type = KEDGE_ATTRIBUTE_BINARY};
    static char bytes[KEDGE_RECORD_BYTES_MAX];
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE("{}"));
    large.bytes = (kedge_bytes){bytes, sizeof bytes};
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {{KEDGE_BYTES("p"), KEDGE_BYTES("s")}, &large, 1}};
    assert_int_equal(world.records.vtable->write(world.records.self, &write, NULL),
                     KEDGE_LIMIT_EXCEEDED);
    write.record.key.sort = KEDGE_BYTES("a\0b");
    assert_int_equal(world.records.vtable->transact(world.records.self, &write, 1, NULL),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(requests(&world), 0);
    dynamodb_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_condition_that_does_not_hold_is_a_conflict),
        cmocka_unit_test(test_a_failed_condition_behind_a_try_without_response_is_unknown),
        cmocka_unit_test(test_a_put_without_condition_is_sent_until_it_is_answered),
        cmocka_unit_test(test_a_refusal_that_comes_too_late_is_the_last),
        cmocka_unit_test(test_each_reason_of_a_cancelled_transaction_has_its_meaning),
        cmocka_unit_test(test_what_cancels_for_now_is_sent_again_under_the_same_token),
        cmocka_unit_test(test_a_transaction_goes_by_the_names_of_its_writes),
        cmocka_unit_test(test_what_cancels_for_now_to_the_end_is_busy),
        cmocka_unit_test(
            test_a_transaction_with_a_try_without_response_never_claims_that_it_wrote_nothing),
        cmocka_unit_test(test_a_transaction_in_progress_is_asked_for_again),
        cmocka_unit_test(test_a_request_that_is_throttled_or_meets_a_transaction_is_sent_again),
        cmocka_unit_test(test_refusals_for_good_are_told_apart),
        cmocka_unit_test(test_a_read_from_a_missing_table_does_not_say_that_the_record_is_missing),
        cmocka_unit_test(test_what_is_outside_the_contract_is_never_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
