/* Calls to AWS: what is sent, what follows from each kind of response, and which options are
 * wrong. */
#include "tests/aws/client_world.h"

#include "backend/ports/deadline.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OK_JSON                                                                                    \
    {                                                                                              \
        .status = 200, .body = "{}"                                                                \
    }

static kedge_status call(client_world *world, kedge_aws_request request,
                         kedge_aws_response *response, kedge_error *error)
{
    return kedge_aws_call(world->client, &request, response, error);
}

static void test_a_request_goes_out_signed(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    (void)state;
    BEGIN(&world, {.status = 200, .headers = "X-Given: yes\r\n", .body = "{\"a\":1}"});
    assert_int_equal(
        call(&world, request_for(KEDGE_AWS_DYNAMODB, "dynamodb:GetItem"), &response, NULL),
        KEDGE_OK);
    kedge_bytes value;
    assert_true(kedge_aws_response_header(&response, "x-given", &value));
    assert_true(kedge_bytes_equal_text(value, "yes"));
    assert_true(kedge_bytes_equal_text(kedge_buffer_bytes(&response.body), "{\"a\":1}"));
    assert_false(response.earlier_unknown);
    const char *head = world.requests[0];
    assert_non_null(strstr(head, "POST / HTTP/1.1\r\n"));
    assert_non_null(strstr(head, "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
    assert_non_null(strstr(head, "/eu-west-1/dynamodb/aws4_request"));
    assert_non_null(strstr(head, "SignedHeaders=content-type;host;x-amz-date;x-amz-target"));
    assert_null(strstr(head, "Accept-Encoding"));
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_paths_and_queries_go_out_encoded_and_as_they_are(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_S3, "s3:GetObject");
    const kedge_aws_parameter query[] = {{KEDGE_BYTES("prefix"), KEDGE_BYTES("a/b c&d")},
                                         {KEDGE_BYTES("uploads"), KEDGE_BYTES("")}};
    (void)state;
    BEGIN(&world, {.status = 200, .headers = "x-amz-request-id: 1\r\n", .body = "text"});
    request.path = KEDGE_BYTES("/bucket/a/../b//c d+\xc3\xa9");
    request.query = query;
    request.query_count = 2;
    assert_int_equal(call(&world, request, &response, NULL), KEDGE_OK);
    assert_non_null(strstr(world.requests[0], "GET /bucket/a/../b//c%20d%2B%C3%A9"
                                              "?prefix=a%2Fb%20c%26d&uploads= HTTP/1.1\r\n"));
    assert_non_null(strstr(world.requests[0], "X-Amz-Content-Sha256: e3b0c44298fc1c149afb"));
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_a_put_says_no_content_type_of_its_own(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    (void)state;
    BEGIN(&world, {.status = 200, .headers = "x-amz-request-id: 1\r\n"});
    assert_int_equal(call(&world, request_for(KEDGE_AWS_S3, "s3:PutObject"), &response, NULL),
                     KEDGE_OK);
    assert_null(strcasestr(world.requests[0], "content-type"));
    assert_null(strcasestr(world.requests[0], "expect:"));
    assert_string_equal(world.bodies[0], "body");
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

/* Host names that end in .localhost resolve to this machine. */
static void test_a_bucket_may_stand_before_the_host(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_buffer url = kedge_buffer_make(&kedge_allocator_default);
    kedge_aws_request request = request_for(KEDGE_AWS_S3, "s3:GetObject");
    char endpoint[64], host[96];
    (void)state;
    BEGIN(&world, {.status = 200, .headers = "x-amz-request-id: 1\r\n"});
    const char *port = strrchr(scripted_server_url(world.server), ':');
    snprintf(endpoint, sizeof endpoint, "http://localhost%s/", port);
    snprintf(host, sizeof host, "Host: bucket.localhost%s\r\n", port);
    client_world_open(&world, (kedge_aws_client_options){.endpoints = {NULL, endpoint, NULL}});
    request.host_prefix = "bucket.";
    request.path = KEDGE_BYTES("/key");
    assert_int_equal(call(&world, request, &response, NULL), KEDGE_OK);
    assert_non_null(strstr(world.requests[0], host));
    assert_int_equal(kedge_aws_client_presign(world.client, &request, 60, &url, NULL), KEDGE_OK);
    snprintf(host, sizeof host, "http://bucket.localhost%s/key?", port);
    assert_memory_equal(url.data, host, strlen(host));
    assert_non_null(strstr(url.data, "X-Amz-Expires=60"));
    kedge_buffer_free(&url);
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_what_is_outside_of_the_contract_is_not_sent(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_error error = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:GetItem");
    const kedge_http_header smuggled = {"X-Thing", "a\r\nX-Other: b"};
    (void)state;
    BEGIN(&world, OK_JSON);
    request.path = KEDGE_BYTES("no-slash");
    assert_int_equal(call(&world, request, &response, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "aws-request-invalid");
    request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:GetItem");
    request.headers = &smuggled;
    request.header_count = 1;
    assert_int_equal(call(&world, request, &response, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "header-invalid");
    assert_int_equal(scripted_server_requests(world.server), 0);
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_options_that_are_wrong_are_named(void **state)
{
    static const struct {
        const char *region;
        const char *endpoint;
        const char *code;
    } wrong[] = {
        {NULL, NULL, "aws-region-invalid"},
        {"", NULL, "aws-region-invalid"},
        {"eu west", NULL, "aws-region-invalid"},
        {"eu-west-1/x", NULL, "aws-region-invalid"},
        {"eu-west-1", "", "aws-endpoint-invalid"},
        {"eu-west-1", "localhost:8000", "aws-endpoint-invalid"},
        {"eu-west-1", "ftp://host", "aws-endpoint-invalid"},
        {"eu-west-1", "http://", "aws-endpoint-invalid"},
        {"eu-west-1", "http://host/path", "aws-endpoint-invalid"},
        {"eu-west-1", "http://user@host", "aws-endpoint-invalid"},
    };
    client_world world;
    (void)state;
    BEGIN(&world, OK_JSON);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_aws_client *client = NULL;
        kedge_error error = {0};
        const kedge_aws_client_options options = {.environment = &world.environment,
                                                  .credentials = world.credentials,
                                                  .region = wrong[i].region,
                                                  .endpoints = {wrong[i].endpoint, NULL, NULL}};
        assert_int_equal(kedge_aws_client_new(&options, &client, &error), KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, wrong[i].code);
        assert_null(client);
    }
    client_world_end(&world);
}

static void test_endpoints_are_those_of_the_region(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, OK_JSON);
    static const char *const regions[] = {"eu-west-1",      "us-gov-west-1",  "cn-north-1",
                                          "eusc-de-east-1", "us-iso-east-1",  "us-isob-east-1",
                                          "eu-isoe-west-1", "us-isof-south-1"};
    static const char *const endpoints[] = {"https://dynamodb.eu-west-1.amazonaws.com",
                                            "https://dynamodb.us-gov-west-1.amazonaws.com",
                                            "https://dynamodb.cn-north-1.amazonaws.com.cn",
                                            "https://dynamodb.eusc-de-east-1.amazonaws.eu",
                                            "https://dynamodb.us-iso-east-1.c2s.ic.gov",
                                            "https://dynamodb.us-isob-east-1.sc2s.sgov.gov",
                                            "https://dynamodb.eu-isoe-west-1.cloud.adc-e.uk",
                                            "https://dynamodb.us-isof-south-1.csp.hci.ic.gov"};
    for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++) {
        kedge_aws_client *client = NULL;
        const kedge_aws_client_options options = {
            .environment = &world.environment,
            .credentials = world.credentials,
            .region = regions[i],
            .endpoints = {NULL, "https://s3.own:443/", "http://sqs.own:9324"}};
        assert_int_equal(kedge_aws_client_new(&options, &client, NULL), KEDGE_OK);
        assert_string_equal(kedge_aws_client_endpoint(client, KEDGE_AWS_DYNAMODB), endpoints[i]);
        assert_string_equal(kedge_aws_client_endpoint(client, KEDGE_AWS_S3), "https://s3.own");
        assert_string_equal(kedge_aws_client_endpoint(client, KEDGE_AWS_SQS),
                            "http://sqs.own:9324");
        kedge_aws_client_free(client);
    }
    client_world_end(&world);
}

/* Makes one call with a new client. A call that fails before it is sent has no effect. The outcome
 * of one that fails later is unknown. */
static bool call_with(const kedge_allocator *allocator, void *context)
{
    client_world *world = context;
    kedge_environment environment = world->environment;
    environment.allocator = allocator;
    kedge_aws_client *client = NULL;
    kedge_aws_response response = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:PutItem");
    const kedge_aws_client_options options = {
        .environment = &environment,
        .credentials = world->credentials,
        .region = "eu-west-1",
        .endpoints = {scripted_server_url(world->server), NULL, NULL}};
    kedge_status status = kedge_aws_client_new(&options, &client, NULL);
    if (status != KEDGE_OK) {
        assert_int_equal(status, KEDGE_NO_MEMORY);
        return false;
    }
    int before = scripted_server_requests(world->server);
    status = kedge_aws_call(client, &request, &response, NULL);
    bool sent = scripted_server_requests(world->server) > before;
    if (status != KEDGE_OK) {
        assert_int_equal(status, sent ? KEDGE_UNAVAILABLE : KEDGE_NO_MEMORY);
    } else if (scripted_server_requests(world->server) > before + 1) {
        assert_true(response.earlier_unknown);
    }
    kedge_aws_response_free(&response);
    kedge_aws_client_free(client);
    return status == KEDGE_OK;
}

static void test_failing_memory_never_hides_an_effect(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.status = 200, .headers = "X-Given: yes\r\n", .body = "{\"a\":1}"});
    world.no_pauses = true;
    assert_true(failing_allocator_try_every_call(call_with, &world, 60) > 10);
    client_world_end(&world);
}

static int64_t no_time(void *context)
{
    (void)context;
    return 1000;
}

static void test_behind_the_deadline_only_a_commit_is_sent(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_error error = {0};
    const kedge_environment still = {.monotonic_ms = no_time};
    const kedge_deadline over = {.environment = &still, .end_ms = 1000, .slice_end_ms = INT64_MAX};
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:PutItem");
    (void)state;
    BEGIN(&world, OK_JSON);
    kedge_deadline_set(&over);
    assert_int_equal(call(&world, request, &response, &error), KEDGE_UNAVAILABLE);
    assert_string_equal(error.code, "deadline-exceeded");
    assert_int_equal(scripted_server_requests(world.server), 0);
    kedge_deadline_begin_commit();
    assert_int_equal(call(&world, request, &response, &error), KEDGE_OK);
    kedge_deadline_end_commit();
    assert_int_equal(scripted_server_requests(world.server), 1);
    assert_int_equal(call(&world, request, &response, &error), KEDGE_UNAVAILABLE);
    kedge_deadline_set(NULL);
    assert_int_equal(scripted_server_requests(world.server), 1);
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_goes_out_signed),
        cmocka_unit_test(test_paths_and_queries_go_out_encoded_and_as_they_are),
        cmocka_unit_test(test_a_put_says_no_content_type_of_its_own),
        cmocka_unit_test(test_a_bucket_may_stand_before_the_host),
        cmocka_unit_test(test_what_is_outside_of_the_contract_is_not_sent),
        cmocka_unit_test(test_options_that_are_wrong_are_named),
        cmocka_unit_test(test_endpoints_are_those_of_the_region),
        cmocka_unit_test(test_behind_the_deadline_only_a_commit_is_sent),
        cmocka_unit_test(test_failing_memory_never_hides_an_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
