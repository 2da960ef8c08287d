/* What each kind of response comes to: statuses and codes, and what of a response is found. */
#include "tests/aws/client_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ID   "x-amz-request-id: 1\r\n"
#define HTML "<!DOCTYPE html><html><body>Welcome</body></html>"

typedef struct meaning {
    kedge_aws_service service;
    int http_status;
    const char *headers;
    const char *body;
    kedge_status status;
    const char *error_code;
    const char *code;
    uint32_t tries;
} meaning;

static const meaning meanings[] = {
    /* For the caller to read. */
    {KEDGE_AWS_DYNAMODB, 400, "x-amzn-errortype: ResourceNotFoundException:http://x/\r\n",
     "{\"message\":\"no such table\"}", KEDGE_CONFLICT, "aws-refused", "ResourceNotFoundException",
     1},
    {KEDGE_AWS_DYNAMODB, 400, "",
     "{\"__type\":\"com.amazonaws.dynamodb.v20120810#TransactionCanceledException\","
     "\"Message\":\"[ThrottlingError]\"}",
     KEDGE_CONFLICT, "aws-refused", "TransactionCanceledException", 1},
    {KEDGE_AWS_S3, 404, ID,
     "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>none</Message></Error>",
     KEDGE_CONFLICT, "aws-refused", "NoSuchKey", 1},
    {KEDGE_AWS_S3, 404, ID, "", KEDGE_CONFLICT, "aws-refused", "NotFound", 1},
    {KEDGE_AWS_S3, 412, ID, "", KEDGE_CONFLICT, "aws-refused", "PreconditionFailed", 1},
    {KEDGE_AWS_S3, 501, ID, "<Error><Code>NotImplemented</Code></Error>", KEDGE_CONFLICT,
     "aws-refused", "NotImplemented", 1},
    {KEDGE_AWS_SQS, 400, "", "{\"__type\":\"com.amazonaws.sqs#QueueDoesNotExist\"}", KEDGE_CONFLICT,
     "aws-refused", "QueueDoesNotExist", 1},
    /* Throttles. */
    {KEDGE_AWS_DYNAMODB, 400, "", "{\"__type\":\"x#ProvisionedThroughputExceededException\"}",
     KEDGE_BUSY, "aws-throttled", "ProvisionedThroughputExceededException", 8},
    {KEDGE_AWS_DYNAMODB, 400, "", "{\"__type\":\"x#RequestLimitExceeded\"}", KEDGE_BUSY,
     "aws-throttled", "RequestLimitExceeded", 8},
    {KEDGE_AWS_DYNAMODB, 429, "", "slow down", KEDGE_BUSY, "aws-throttled", "", 8},
    {KEDGE_AWS_S3, 503, ID, "<Error><Code>SlowDown</Code></Error>", KEDGE_BUSY, "aws-throttled",
     "SlowDown", 8},
    {KEDGE_AWS_S3, 400, ID, "<Error><Code>RequestTimeout</Code></Error>", KEDGE_BUSY,
     "aws-throttled", "RequestTimeout", 8},
    {KEDGE_AWS_S3, 409, ID, "<Error><Code>ConditionalRequestConflict</Code></Error>", KEDGE_BUSY,
     "aws-throttled", "ConditionalRequestConflict", 8},
    {KEDGE_AWS_SQS, 400, "", "{\"__type\":\"com.amazonaws.sqs#RequestThrottled\"}", KEDGE_BUSY,
     "aws-throttled", "RequestThrottled", 8},
    /* Unknown. */
    {KEDGE_AWS_DYNAMODB, 500, "", "{\"__type\":\"x#InternalServerError\"}", KEDGE_UNAVAILABLE,
     "aws-outcome-unknown", "InternalServerError", 8},
    {KEDGE_AWS_S3, 500, ID, "<Error><Code>InternalError</Code></Error>", KEDGE_UNAVAILABLE,
     "aws-outcome-unknown", "InternalError", 8},
    {KEDGE_AWS_S3, 503, "", "no healthy upstream", KEDGE_UNAVAILABLE, "aws-outcome-unknown", "", 8},
    {KEDGE_AWS_SQS, 503, "", "{\"__type\":\"ServiceUnavailable\"}", KEDGE_UNAVAILABLE,
     "aws-outcome-unknown", "ServiceUnavailable", 8},
    /* Who asks. */
    {KEDGE_AWS_DYNAMODB, 400, "", "{\"__type\":\"x#UnrecognizedClientException\"}",
     KEDGE_UNAUTHORIZED, "aws-credentials-refused", "UnrecognizedClientException", 1},
    {KEDGE_AWS_DYNAMODB, 400, "",
     "{\"__type\":\"x#InvalidSignatureException\",\"message\":\"The request signature we "
     "calculated does not match\"}",
     KEDGE_UNAUTHORIZED, "aws-credentials-refused", "InvalidSignatureException", 1},
    {KEDGE_AWS_S3, 403, ID, "<Error><Code>InvalidAccessKeyId</Code></Error>", KEDGE_UNAUTHORIZED,
     "aws-credentials-refused", "InvalidAccessKeyId", 1},
    {KEDGE_AWS_S3, 403, ID "x-amz-bucket-region: eu-west-1\r\n",
     "<Error><Code>SignatureDoesNotMatch</Code></Error>", KEDGE_UNAUTHORIZED,
     "aws-credentials-refused", "SignatureDoesNotMatch", 1},
    {KEDGE_AWS_SQS, 403, "", "{\"__type\":\"InvalidClientTokenId\"}", KEDGE_UNAUTHORIZED,
     "aws-credentials-refused", "InvalidClientTokenId", 1},
    {KEDGE_AWS_DYNAMODB, 400, "", "{\"__type\":\"x#AccessDeniedException\",\"Message\":\"no\"}",
     KEDGE_FORBIDDEN, "aws-permission-missing", "AccessDeniedException", 1},
    {KEDGE_AWS_S3, 403, ID, "<Error><Code>AccessDenied</Code></Error>", KEDGE_FORBIDDEN,
     "aws-permission-missing", "AccessDenied", 1},
    {KEDGE_AWS_S3, 403, ID, "", KEDGE_FORBIDDEN, "aws-permission-missing", "Forbidden", 1},
    /* Where. */
    {KEDGE_AWS_S3, 301, ID "x-amz-bucket-region: us-west-2\r\n",
     "<Error><Code>PermanentRedirect</Code></Error>", KEDGE_CONFLICT, "aws-region-wrong",
     "PermanentRedirect", 1},
    {KEDGE_AWS_S3, 400, ID,
     "<Error><Code>AuthorizationHeaderMalformed</Code><Region>us-west-2</Region></Error>",
     KEDGE_CONFLICT, "aws-region-wrong", "AuthorizationHeaderMalformed", 1},
    {KEDGE_AWS_DYNAMODB, 400, "",
     "{\"__type\":\"x#InvalidSignatureException\",\"message\":\"Credential should be scoped to a "
     "valid region, not 'eu-west-1'.\"}",
     KEDGE_CONFLICT, "aws-region-wrong", "InvalidSignatureException", 1},
    /* Somebody else. */
    {KEDGE_AWS_DYNAMODB, 200, "", HTML, KEDGE_UNAVAILABLE, "aws-response-invalid", "", 1},
    {KEDGE_AWS_DYNAMODB, 404, "", HTML, KEDGE_UNAVAILABLE, "aws-response-invalid", "", 1},
    {KEDGE_AWS_DYNAMODB, 302, "Location: http://127.0.0.1:1/\r\n", "", KEDGE_UNAVAILABLE,
     "aws-response-invalid", "", 1},
    {KEDGE_AWS_S3, 200, "", HTML, KEDGE_UNAVAILABLE, "aws-response-invalid", "", 1},
    {KEDGE_AWS_S3, 404, "", HTML, KEDGE_UNAVAILABLE, "aws-response-invalid", "", 1},
    {KEDGE_AWS_SQS, 200, "", HTML, KEDGE_UNAVAILABLE, "aws-response-invalid", "", 1},
};

static void test_each_response_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        const meaning *expected = &meanings[i];
        client_world world;
        kedge_aws_response response = {0};
        kedge_error error = {0};
        BEGIN(&world, {.status = expected->http_status,
                       .headers = expected->headers,
                       .body = expected->body});
        world.no_pauses = true;
        kedge_aws_request request = request_for(expected->service, "service:PutThing");
        kedge_status status = kedge_aws_call(world.client, &request, &response, &error);
        if (status != expected->status || strcmp(error.code, expected->error_code) != 0) {
            print_message("answer %zu: %s %s: %s\n", i, kedge_status_name(status), error.code,
                          error.message);
        }
        assert_int_equal(status, expected->status);
        assert_string_equal(error.code, expected->error_code);
        assert_string_equal(response.code, expected->code);
        assert_int_equal(response.status, expected->http_status);
        assert_int_equal(world.observed_tries, expected->tries);
        assert_string_equal(world.observed_code, expected->code);
        assert_string_equal(world.observed_action, "service:PutThing");
        kedge_aws_response_free(&response);
        client_world_end(&world);
    }
}

static void test_a_response_tells_message_and_region(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_error error = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_S3, "s3:ListBucket");
    (void)state;
    BEGIN(&world, {.status = 400,
                   .headers = ID,
                   .body = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>The region is "
                           "&lt;wrong&gt;</Message><Region>us-west-2</Region></Error>"});
    assert_int_equal(kedge_aws_call(world.client, &request, &response, &error), KEDGE_CONFLICT);
    assert_string_equal(response.message, "The region is <wrong>");
    assert_string_equal(response.region, "us-west-2");
    assert_non_null(strstr(error.message, "eu-west-1"));
    assert_non_null(strstr(error.message, "us-west-2"));
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_a_missing_permission_names_its_action(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_error error = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:TransactWriteItems");
    (void)state;
    BEGIN(&world, {.status = 400, .body = "{\"__type\":\"AccessDeniedException\"}"});
    assert_int_equal(kedge_aws_call(world.client, &request, &response, &error), KEDGE_FORBIDDEN);
    assert_non_null(strstr(error.message, "dynamodb:TransactWriteItems"));
    assert_non_null(strstr(error.message, "IAM"));
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_an_error_in_the_body_of_a_200_is_an_error(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_S3, "s3:PutObject");
    (void)state;
    BEGIN(&world,
          {.status = 200,
           .headers = ID,
           .body = "<?xml version=\"1.0\"?>\n\n<Error><Code>InternalError</Code></Error>"},
          {.status = 200, .headers = ID, .body = "<CompleteMultipartUploadResult/>"});
    request.method = "POST";
    assert_int_equal(kedge_aws_call(world.client, &request, &response, NULL), KEDGE_OK);
    assert_int_equal(world.observed_tries, 2);
    assert_true(response.earlier_unknown);
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_a_response_over_its_bound_is_refused(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_error error = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:Query");
    (void)state;
    BEGIN(&world, {.status = 200, .body = "{\"a\":\"0123456789\"}"});
    request.response_bytes_max = 10;
    assert_int_equal(kedge_aws_call(world.client, &request, &response, &error),
                     KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "response-too-large");
    assert_int_equal(world.observed_tries, 1);
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_a_response_is_used_again(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:Query");
    (void)state;
    BEGIN(&world, {.status = 400, .body = "{\"__type\":\"ValidationException\",\"message\":\"m\"}"},
          {.status = 200, .body = "{}"});
    assert_int_equal(kedge_aws_call(world.client, &request, &response, NULL), KEDGE_CONFLICT);
    assert_int_equal(kedge_aws_call(world.client, &request, &response, NULL), KEDGE_OK);
    assert_string_equal(response.code, "");
    assert_string_equal(response.message, "");
    assert_int_equal(response.status, 200);
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_response_has_its_meaning),
        cmocka_unit_test(test_a_response_tells_message_and_region),
        cmocka_unit_test(test_a_missing_permission_names_its_action),
        cmocka_unit_test(test_an_error_in_the_body_of_a_200_is_an_error),
        cmocka_unit_test(test_a_response_over_its_bound_is_refused),
        cmocka_unit_test(test_a_response_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
