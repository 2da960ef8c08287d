/* Trying again: what is, how often, and what the caller is told about tries
 * whose end is unknown. */
#include "backend/aws/budget.h"
#include "tests/aws/client_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define THROTTLED                                                                                  \
    {                                                                                              \
        .status = 400, .body = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#"                   \
                               "ThrottlingException\",\"message\":\"Rate exceeded\"}"              \
    }
#define BROKEN                                                                                     \
    {                                                                                              \
        .status = 500, .body = "{\"__type\":\"com.amazon.coral.service#InternalServerError\"}"     \
    }
#define CONDITION_FAILED                                                                           \
    {                                                                                              \
        .status = 400, .body = "{\"__type\":\"x#ConditionalCheckFailedException\","                \
                               "\"message\":\"The conditional request failed\"}"                   \
    }
#define GOOD                                                                                       \
    {                                                                                              \
        .status = 200, .body = "{}"                                                                \
    }

/* A write to DynamoDB against the world's script. */
typedef struct outcome {
    kedge_status status;
    char error_code[64];
    char code[96];
    bool earlier_unknown;
    uint32_t tries;
} outcome;

static outcome write_once(client_world *world, int64_t deadline_ms)
{
    kedge_aws_response response = {0};
    kedge_error error = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:PutItem");
    request.deadline_ms = deadline_ms;
    outcome seen = {.status = kedge_aws_call(world->client, &request, &response, &error)};
    snprintf(seen.error_code, sizeof seen.error_code, "%s", error.code);
    snprintf(seen.code, sizeof seen.code, "%s", response.code);
    seen.earlier_unknown = response.earlier_unknown;
    seen.tries = world->observed_tries;
    kedge_aws_response_free(&response);
    return seen;
}

static void test_what_is_throttled_is_tried_again(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, THROTTLED, THROTTLED, GOOD);
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_OK);
    assert_int_equal(seen.tries, 3);
    assert_false(seen.earlier_unknown);
    client_world_end(&world);
}

static void test_what_is_throttled_to_the_end_had_no_effect(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, THROTTLED);
    world.no_pauses = true;
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_BUSY);
    assert_string_equal(seen.error_code, "aws-throttled");
    assert_string_equal(seen.code, "ThrottlingException");
    assert_int_equal(seen.tries, KEDGE_AWS_TRIES_MAX);
    client_world_end(&world);
}

static void test_a_response_after_an_unknown_try_says_so(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, BROKEN, GOOD, BROKEN, CONDITION_FAILED, GOOD);
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_OK);
    assert_true(seen.earlier_unknown);
    seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_CONFLICT);
    assert_string_equal(seen.code, "ConditionalCheckFailedException");
    assert_true(seen.earlier_unknown);
    seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_OK);
    assert_false(seen.earlier_unknown);
    client_world_end(&world);
}

static void test_throttled_after_an_unknown_try_is_unknown(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, BROKEN,
          {.status = 400,
           .headers = "Retry-After: 60\r\n",
           .body = "{\"__type\":\"ThrottlingException\"}"});
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_UNAVAILABLE);
    assert_int_equal(seen.tries, 2);
    assert_true(seen.earlier_unknown);
    client_world_end(&world);
}

static void test_a_try_without_a_response_leaves_no_words_of_the_one_before(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_S3, "s3:PutObject");
    (void)state;
    BEGIN(&world,
          {.status = 503,
           .headers = "x-amz-request-id: 1\r\nx-amz-bucket-region: eu-west-3\r\n",
           .body = "<Error><Code>SlowDown</Code><Message>Reduce</Message></Error>"},
          {.action = REPLY_CLOSE});
    world.no_pauses = true;
    assert_int_equal(kedge_aws_call(world.client, &request, &response, NULL), KEDGE_UNAVAILABLE);
    assert_int_equal(world.observed_tries, KEDGE_AWS_TRIES_MAX);
    assert_int_equal(response.status, 0);
    assert_string_equal(response.code, "");
    assert_string_equal(response.message, "");
    assert_string_equal(response.region, "");
    assert_string_equal(world.observed_code, "");
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_refused_after_an_unknown_try_is_unknown(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, BROKEN, {.status = 400, .body = "{\"__type\":\"AccessDeniedException\"}"});
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_UNAVAILABLE);
    assert_string_equal(seen.error_code, "aws-permission-missing");
    client_world_end(&world);
}

static void test_what_no_whole_response_came_for_is_unknown_and_tried_again(void **state)
{
    static const scripted_reply bad[] = {
        {.action = REPLY_CUT},
        {.action = REPLY_CLOSE},
        {.status = 502, .body = "<html>Bad gateway</html>"},
        {.status = 503, .body = ""},
        {.status = 504, .body = "upstream timed out"},
        {.status = 200, .headers = "x-amz-crc32: 1\r\n", .body = "{\"a\":1}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        client_world world;
        BEGIN(&world, bad[i], GOOD);
        outcome seen = write_once(&world, 0);
        assert_int_equal(seen.status, KEDGE_OK);
        assert_int_equal(seen.tries, 2);
        assert_true(seen.earlier_unknown);
        client_world_end(&world);
    }
}

static void test_a_checksum_that_fits_is_good(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.status = 200, .headers = "x-amz-crc32: 2745614147\r\n", .body = "{}"});
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_OK);
    assert_int_equal(seen.tries, 1);
    client_world_end(&world);
}

/* libcurl by itself would send a request again when a kept connection turns out to be closed; then
 * nobody would know that it went out twice. */
static void test_a_kept_connection_that_breaks_is_an_unknown_try(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, GOOD, {.action = REPLY_CLOSE}, CONDITION_FAILED);
    assert_int_equal(write_once(&world, 0).status, KEDGE_OK);
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_CONFLICT);
    assert_true(seen.earlier_unknown);
    assert_int_equal(seen.tries, 2);
    assert_int_equal(scripted_server_requests(world.server), 3);
    client_world_end(&world);
}

static void test_a_hung_try_ends_at_its_deadline_and_is_followed_by_another(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.action = REPLY_HANG}, GOOD);
    client_world_open(&world, (kedge_aws_client_options){.try_deadline_ms = 200});
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_OK);
    assert_int_equal(seen.tries, 2);
    assert_true(seen.earlier_unknown);
    client_world_end(&world);
}

static void test_a_service_that_is_asked_to_wait_may(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_SQS, "sqs:ReceiveMessage");
    (void)state;
    BEGIN(&world, {.status = 200, .body = "{}", .action = REPLY_LATE});
    client_world_open(&world, (kedge_aws_client_options){.try_deadline_ms = REPLY_LATE_MS / 4});
    request.wait_ms = 20000;
    assert_int_equal(kedge_aws_call(world.client, &request, &response, NULL), KEDGE_OK);
    assert_int_equal(world.observed_tries, 1);
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_the_deadline_of_a_call_bounds_all_of_its_tries(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.action = REPLY_HANG});
    outcome seen = write_once(&world, 300);
    assert_int_equal(seen.status, KEDGE_UNAVAILABLE);
    assert_string_equal(seen.error_code, "aws-outcome-unknown");
    assert_int_equal(seen.tries, 1);
    client_world_end(&world);
}

static void test_a_service_that_asks_for_more_time_than_there_is_is_left_alone(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.status = 400,
                   .headers = "Retry-After: 30\r\n",
                   .body = "{\"__type\":\"ThrottlingException\"}"});
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_BUSY);
    assert_int_equal(seen.tries, 1);
    client_world_end(&world);
}

static void test_a_service_that_is_not_there_is_named(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, GOOD);
    client_world_open(&world,
                      (kedge_aws_client_options){.endpoints = {scripted_dead_url(), NULL, NULL}});
    outcome seen = write_once(&world, 1000);
    assert_int_equal(seen.status, KEDGE_BUSY);
    assert_string_equal(seen.error_code, "aws-unreachable");
    assert_false(seen.earlier_unknown);
    assert_true(seen.tries > 1);
    client_world_end(&world);
}

static void test_an_empty_budget_allows_no_retry(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, BROKEN);
    world.no_pauses = true;
    uint32_t retries = 0;
    outcome seen = {0};
    /* Each call ends at its last try, or when the budget ends. */
    for (int i = 0; i < KEDGE_AWS_BUDGET_TOKENS; i++) {
        seen = write_once(&world, 0);
        assert_int_equal(seen.status, KEDGE_UNAVAILABLE);
        retries += seen.tries - 1;
        if (seen.tries == 1) break;
    }
    assert_int_equal(retries, KEDGE_AWS_BUDGET_TOKENS / KEDGE_AWS_RETRY_TOKENS);
    assert_int_equal(seen.tries, 1);
    client_world_end(&world);
}

static void test_success_fills_the_budget_again(void **state)
{
    kedge_aws_budget budget;
    (void)state;
    kedge_aws_budget_fill(&budget);
    kedge_aws_budget_give_back(&budget, 1);
    int taken = 0;
    while (kedge_aws_budget_take(&budget, 5)) {
        taken += 5;
    }
    assert_int_equal(taken, KEDGE_AWS_BUDGET_TOKENS);
    for (int i = 0; i < 4; i++) {
        kedge_aws_budget_give_back(&budget, 1);
    }
    assert_false(kedge_aws_budget_take(&budget, 5));
    kedge_aws_budget_give_back(&budget, 1);
    assert_true(kedge_aws_budget_take(&budget, 5));
}

static void test_a_skewed_clock_is_corrected(void **state)
{
    static const struct {
        kedge_aws_service service;
        const char *body;
    } complaints[] = {
        {KEDGE_AWS_S3, "<Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too "
                       "large</Message></Error>"},
        {KEDGE_AWS_DYNAMODB, "{\"__type\":\"com.amazon.coral.service#InvalidSignatureException\","
                             "\"message\":\"Signature expired: 20150830T123600Z is now earlier "
                             "than 20150830T123600Z\"}"},
        {KEDGE_AWS_DYNAMODB, "{\"__type\":\"InvalidSignatureException\",\"message\":\"Signature "
                             "not yet current: 20150830T123600Z is still later than …\"}"},
        {KEDGE_AWS_SQS, "{\"__type\":\"com.amazonaws.sqs#RequestExpired\"}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof complaints / sizeof complaints[0]; i++) {
        client_world world;
        kedge_aws_response response = {0};
        BEGIN(&world,
              {.status = 403,
               .headers = "Date: Wed, 04 Mar 2099 08:49:37 GMT\r\nx-amz-request-id: 1\r\n",
               .body = complaints[i].body},
              {.status = 200, .headers = "x-amz-request-id: 2\r\n", .body = "{}"});
        kedge_aws_request request = request_for(complaints[i].service, "s3:GetObject");
        assert_int_equal(kedge_aws_call(world.client, &request, &response, NULL), KEDGE_OK);
        assert_int_equal(world.observed_tries, 2);
        assert_false(response.earlier_unknown);
        assert_null(strstr(world.requests[0], "X-Amz-Date: 20990304T0849"));
        assert_non_null(strstr(world.requests[1], "X-Amz-Date: 20990304T0849"));
        /* From now on signatures are right at once. */
        assert_int_equal(kedge_aws_call(world.client, &request, &response, NULL), KEDGE_OK);
        assert_int_equal(world.observed_tries, 1);
        assert_non_null(strstr(world.requests[2], "X-Amz-Date: 20990304T"));
        kedge_aws_response_free(&response);
        client_world_end(&world);
    }
}

static void test_a_clock_that_stays_wrong_is_named(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.status = 400, .body = "{\"__type\":\"RequestExpired\"}"});
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_UNAUTHORIZED);
    assert_string_equal(seen.error_code, "aws-clock-skewed");
    assert_int_equal(seen.tries, 2);
    client_world_end(&world);
}

static void test_an_expired_token_is_fetched_again(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.status = 400, .body = "{\"__type\":\"ExpiredTokenException\"}"}, GOOD);
    world.token = "old-token";
    world.next_token = "new-token";
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_OK);
    assert_int_equal(seen.tries, 2);
    assert_non_null(strstr(world.requests[0], "X-Amz-Security-Token: old-token\r\n"));
    assert_non_null(strstr(world.requests[1], "X-Amz-Security-Token: new-token\r\n"));
    client_world_end(&world);
}

static void test_a_token_that_stays_expired_is_named(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.status = 400, .body = "{\"__type\":\"ExpiredTokenException\"}"});
    outcome seen = write_once(&world, 0);
    assert_int_equal(seen.status, KEDGE_UNAUTHORIZED);
    assert_string_equal(seen.error_code, "aws-credentials-expired");
    assert_int_equal(seen.tries, 2);
    client_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_throttled_is_tried_again),
        cmocka_unit_test(test_what_is_throttled_to_the_end_had_no_effect),
        cmocka_unit_test(test_a_response_after_an_unknown_try_says_so),
        cmocka_unit_test(test_throttled_after_an_unknown_try_is_unknown),
        cmocka_unit_test(test_a_try_without_a_response_leaves_no_words_of_the_one_before),
        cmocka_unit_test(test_refused_after_an_unknown_try_is_unknown),
        cmocka_unit_test(test_what_no_whole_response_came_for_is_unknown_and_tried_again),
        cmocka_unit_test(test_a_checksum_that_fits_is_good),
        cmocka_unit_test(test_a_kept_connection_that_breaks_is_an_unknown_try),
        cmocka_unit_test(test_a_hung_try_ends_at_its_deadline_and_is_followed_by_another),
        cmocka_unit_test(test_a_service_that_is_asked_to_wait_may),
        cmocka_unit_test(test_the_deadline_of_a_call_bounds_all_of_its_tries),
        cmocka_unit_test(test_a_service_that_asks_for_more_time_than_there_is_is_left_alone),
        cmocka_unit_test(test_a_service_that_is_not_there_is_named),
        cmocka_unit_test(test_an_empty_budget_allows_no_retry),
        cmocka_unit_test(test_success_fills_the_budget_again),
        cmocka_unit_test(test_a_skewed_clock_is_corrected),
        cmocka_unit_test(test_a_clock_that_stays_wrong_is_named),
        cmocka_unit_test(test_an_expired_token_is_fetched_again),
        cmocka_unit_test(test_a_token_that_stays_expired_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
