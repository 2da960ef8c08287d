/* Opening the ports on AWS against real engines: what is right opens, and each mistake is named.
 *
 * DynamoDB Local and ElasticMQ accept any credentials; radosgw verifies them. */
#include "backend/aws/aws.h"
#include "backend/aws/sqs.h"
#include "backend/stores/stores.h"
#include "tests/support/engines.h"
#include "tests/support/scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_MS 3600000

static const char *const variables[] = {
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_REGION",
    "AWS_PROFILE",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
};
/* The first ones are the endpoints of what kedge_aws_open asks: not of KEDGE_AWS_STREAMS. */
#define VARIABLES (sizeof variables / sizeof variables[0])

/* Names of this run's own, made by the first test that opens and deleted in the end. */
static struct {
    char *values[VARIABLES]; /* as the environment had them */
    char table[64];
    char other_table[64]; /* with other keys */
    char bucket[64];
    char queue[64];
    char plain_queue[64]; /* no FIFO queue */
    char short_queue[64]; /* which delivers seldom */
    int64_t clock_ahead_ms;
    kedge_environment environment;
} world;

static int64_t shifted_now_ms(void *context)
{
    (void)context;
    return kedge_environment_system(NULL).now_ms(NULL) + world.clock_ahead_ms;
}

static void reset_variables(void)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        if (world.values[i] == NULL) {
            unsetenv(variables[i]);
        } else {
            setenv(variables[i], world.values[i], 1);
        }
    }
}

static kedge_aws_options options(void)
{
    return (kedge_aws_options){.environment = &world.environment,
                               .table = world.table,
                               .bucket = world.bucket,
                               .queue = world.queue};
}

static void assert_refused(const kedge_aws_options *with, kedge_status status, const char *code,
                           const char *words)
{
    kedge_aws *aws = NULL;
    kedge_error error = {0};
    kedge_status got = kedge_aws_open(with, &aws, &error);
    if (got != status || strcmp(error.code, code) != 0 || strstr(error.message, words) == NULL) {
        print_error("%s %s: %s\n", kedge_status_name(got), error.code, error.message);
    }
    assert_int_equal(got, status);
    assert_null(aws);
    assert_string_equal(error.code, code);
    assert_non_null(strstr(error.message, words));
}

/* ---- raw requests, for what no port makes or deletes ---- */

static kedge_aws_client *new_client(kedge_aws_credentials_provider **credentials)
{
    kedge_aws_client *client = NULL;
    const kedge_aws_credentials_options who = {.environment = &world.environment};
    assert_int_equal(kedge_aws_credentials_provider_new(&who, credentials, NULL), KEDGE_OK);
    const kedge_aws_client_options with = {
        .environment = &world.environment,
        .credentials = *credentials,
        .region = getenv("AWS_REGION"),
        .endpoints = {getenv(variables[0]), getenv(variables[1]), getenv(variables[2])}};
    assert_int_equal(kedge_aws_client_new(&with, &client, NULL), KEDGE_OK);
    return client;
}

static kedge_status run(kedge_aws_service service, const char *method, const char *path,
                        const char *target, const char *body)
{
    kedge_aws_credentials_provider *credentials = NULL;
    kedge_aws_response response = {0};
    kedge_error error = {0};
    kedge_aws_client *client = new_client(&credentials);
    const kedge_http_header headers[] = {{"Content-Type", "application/x-amz-json-1.0"},
                                         {"X-Amz-Target", target}};
    const kedge_aws_request request = {.service = service,
                                       .action = "test:Run",
                                       .method = method,
                                       .path = kedge_bytes_of(path),
                                       .headers = headers,
                                       .header_count = target == NULL ? 0 : 2,
                                       .body = kedge_bytes_of(body),
                                       .response_bytes_max = 1048576};
    kedge_status status = kedge_aws_call(client, &request, &response, &error);
    if (status != KEDGE_OK) print_message("%s: %s\n", error.code, error.message);
    kedge_aws_response_free(&response);
    kedge_aws_client_free(client);
    kedge_aws_credentials_provider_free(credentials);
    return status;
}

static void delete_queue(const char *name)
{
    char body[512];
    snprintf(body, sizeof body, "{\"QueueUrl\":\"%s/000000000000/%s\"}", getenv(variables[2]),
             name);
    run(KEDGE_AWS_SQS, "POST", "/", "AmazonSQS.DeleteQueue", body);
}

static int make_names(void **state)
{
    char random[17];
    (void)state;
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *value = getenv(variables[i]);
        world.values[i] = value == NULL ? NULL : strdup(value);
    }
    world.environment = kedge_environment_system(NULL);
    world.environment.now_ms = shifted_now_ms;
    kedge_random_hex(&world.environment, 8, random);
    snprintf(world.table, sizeof world.table, "kedge-open-%s", random);
    snprintf(world.other_table, sizeof world.other_table, "kedge-other-%s", random);
    snprintf(world.bucket, sizeof world.bucket, "kedge-open-%s", random);
    snprintf(world.queue, sizeof world.queue, "kedge-open-%s.fifo", random);
    snprintf(world.plain_queue, sizeof world.plain_queue, "kedge-open-%s", random);
    snprintf(world.short_queue, sizeof world.short_queue, "kedge-short-%s.fifo", random);
    return 0;
}

static int delete_all(void **state)
{
    char text[128];
    (void)state;
    reset_variables();
    snprintf(text, sizeof text, "{\"TableName\":\"%s\"}", world.table);
    run(KEDGE_AWS_DYNAMODB, "POST", "/", "DynamoDB_20120810.DeleteTable", text);
    snprintf(text, sizeof text, "{\"TableName\":\"%s\"}", world.other_table);
    run(KEDGE_AWS_DYNAMODB, "POST", "/", "DynamoDB_20120810.DeleteTable", text);
    snprintf(text, sizeof text, "/%s", world.bucket);
    run(KEDGE_AWS_S3, "DELETE", text, NULL, "");
    delete_queue(world.queue);
    delete_queue(world.plain_queue);
    delete_queue(world.short_queue);
    for (size_t i = 0; i < VARIABLES; i++) {
        free(world.values[i]);
    }
    return 0;
}

static int begin(void **state)
{
    (void)state;
    reset_variables();
    world.clock_ahead_ms = 0;
    return 0;
}

/* ---- what is right ---- */

static void test_what_is_missing_is_made_on_demand(void **state)
{
    kedge_aws *aws = NULL;
    kedge_error error = {0};
    kedge_aws_options with = options();
    (void)state;
    assert_refused(&with, KEDGE_NOT_FOUND, "aws-table-missing", world.table);
    with.create = true;
    for (int i = 0; i < 2; i++) {
        if (kedge_aws_open(&with, &aws, &error) != KEDGE_OK) fail_msg("%s", error.message);
        assert_non_null(kedge_aws_records(aws).vtable);
        assert_non_null(kedge_aws_blobs(aws).vtable);
        assert_non_null(kedge_aws_queue(aws).vtable);
        kedge_aws_close(aws);
    }
}

static void test_a_queue_is_optional(void **state)
{
    kedge_aws *aws = NULL;
    kedge_aws_options with = options();
    (void)state;
    with.queue = NULL;
    assert_int_equal(kedge_aws_open(&with, &aws, NULL), KEDGE_OK);
    assert_null(kedge_aws_queue(aws).vtable);
    kedge_aws_close(aws);
}

static void test_a_clock_that_is_off_is_corrected_and_told(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        kedge_stores *stores = NULL;
        kedge_error error = {0}, warning = {0};
        const kedge_stores_options with = {
            .table = world.table, .bucket = world.bucket, .queue = world.queue};
        world.clock_ahead_ms = sign * HOUR_MS;
        if (kedge_stores_open(&world.environment, &with, KEDGE_STORES_SERVE, &stores, &error) !=
            KEDGE_OK) {
            fail_msg("%s", error.message);
        }
        assert_true(kedge_stores_warning(stores, 0, &warning));
        assert_string_equal(warning.code, "aws-clock-skewed");
        assert_non_null(strstr(warning.message, sign < 0 ? "behind" : "ahead"));
        assert_false(kedge_stores_warning(stores, 1, NULL));
        kedge_stores_close(stores);
    }
}

static void test_a_right_clock_is_not_warned_of(void **state)
{
    kedge_stores *stores = NULL;
    const kedge_stores_options with = {.table = world.table, .bucket = world.bucket};
    (void)state;
    assert_int_equal(
        kedge_stores_open(&world.environment, &with, KEDGE_STORES_SERVE, &stores, NULL), KEDGE_OK);
    assert_false(kedge_stores_warning(stores, 0, NULL));
    assert_null(kedge_stores_queue(stores).vtable);
    kedge_stores_close(stores);
}

static void make_queue(const char *name, uint32_t receive_max)
{
    kedge_aws_credentials_provider *credentials = NULL;
    kedge_aws_client *client = new_client(&credentials);
    const kedge_sqs_options queue = {.client = client, .queue = name};
    assert_int_equal(kedge_sqs_create(&queue, receive_max, NULL), KEDGE_OK);
    kedge_aws_client_free(client);
    kedge_aws_credentials_provider_free(credentials);
}

static void test_a_queue_that_delivers_seldom_is_warned_of(void **state)
{
    kedge_stores *stores = NULL;
    kedge_error warning = {0};
    const kedge_stores_options with = {
        .table = world.table, .bucket = world.bucket, .queue = world.short_queue};
    (void)state;
    make_queue(world.short_queue, KEDGE_QUEUE_DELIVERIES_LEAST - 1);
    world.clock_ahead_ms = HOUR_MS; /* one warning hides no other */
    assert_int_equal(
        kedge_stores_open(&world.environment, &with, KEDGE_STORES_SERVE, &stores, NULL), KEDGE_OK);
    assert_true(kedge_stores_warning(stores, 1, &warning));
    assert_string_equal(warning.code, "aws-queue-deliveries");
    assert_non_null(strstr(warning.message, "after 5 deliveries"));
    assert_false(kedge_stores_warning(stores, 2, NULL));
    kedge_stores_close(stores);
}

/* ---- what is not there, or is something else ---- */

static void test_a_missing_bucket_and_queue_are_named(void **state)
{
    kedge_aws_options with = options();
    (void)state;
    with.bucket = "kedge-no-such-bucket";
    assert_refused(&with, KEDGE_NOT_FOUND, "aws-bucket-missing", "kedge-no-such-bucket");
    with = options();
    with.queue = "kedge-no-such-queue.fifo";
    assert_refused(&with, KEDGE_NOT_FOUND, "aws-queue-missing", "kedge-no-such-queue.fifo");
}

static void test_a_table_with_other_keys_is_named(void **state)
{
    char body[512];
    kedge_aws_options with = options();
    (void)state;
    snprintf(body, sizeof body,
             "{\"TableName\":\"%s\",\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":"
             "[{\"AttributeName\":\"id\",\"AttributeType\":\"S\"}],\"KeySchema\":"
             "[{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"}]}",
             world.other_table);
    assert_int_equal(run(KEDGE_AWS_DYNAMODB, "POST", "/", "DynamoDB_20120810.CreateTable", body),
                     KEDGE_OK);
    with.table = world.other_table;
    assert_refused(&with, KEDGE_UNSUPPORTED, "aws-table-schema", world.other_table);
    with.create = true;
    assert_refused(&with, KEDGE_UNSUPPORTED, "aws-table-schema", world.other_table);
}

static void test_a_queue_that_is_not_fifo_is_named(void **state)
{
    char body[128];
    kedge_aws_options with = options();
    (void)state;
    snprintf(body, sizeof body, "{\"QueueName\":\"%s\"}", world.plain_queue);
    assert_int_equal(run(KEDGE_AWS_SQS, "POST", "/", "AmazonSQS.CreateQueue", body), KEDGE_OK);
    with.queue = world.plain_queue;
    assert_refused(&with, KEDGE_UNSUPPORTED, "aws-queue-kind", world.plain_queue);
}

static void test_a_region_that_is_none_or_missing_is_named(void **state)
{
    kedge_aws_options with = options();
    (void)state;
    with.region = "eu central";
    assert_refused(&with, KEDGE_INVALID_ARGUMENT, "aws-region-invalid", "eu central");
    with.region = NULL;
    unsetenv("AWS_REGION");
    unsetenv("AWS_DEFAULT_REGION");
    setenv("AWS_CONFIG_FILE", "/dev/null", 1);
    assert_refused(&with, KEDGE_INVALID_ARGUMENT, "aws-region-missing", "--region");
    with.profile = "typo";
    assert_refused(&with, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "no profile typo");
}

/* ---- who asks ---- */

static void test_credentials_that_are_wrong_or_missing_are_named(void **state)
{
    kedge_aws_options with = options();
    (void)state;
    setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret", 1);
    assert_refused(&with, KEDGE_UNAUTHORIZED, "aws-credentials-refused", "SignatureDoesNotMatch");
    setenv("AWS_ACCESS_KEY_ID", "AKIANOBODY", 1);
    assert_refused(&with, KEDGE_UNAUTHORIZED, "aws-credentials-refused", "InvalidAccessKeyId");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    assert_refused(&with, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "AWS_SECRET_ACCESS_KEY");
    unsetenv("AWS_ACCESS_KEY_ID");
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
    setenv("AWS_CONFIG_FILE", "/dev/null", 1);
    assert_refused(&with, KEDGE_UNAUTHORIZED, "aws-credentials-missing", "AWS_ACCESS_KEY_ID");
}

/* ---- who answers ---- */

static bool respond_with_a_page(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 200, "Content-Type: text/html\r\n",
                     "<!DOCTYPE html><html><body>Welcome to the hotel</body></html>");
    return true;
}

static bool deny(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 400, "",
                     "{\"__type\":\"com.amazon.coral.service#AccessDeniedException\",\"Message\":"
                     "\"User is not authorized\"}");
    return true;
}

static bool redirect(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 301, "x-amz-request-id: 1\r\nx-amz-bucket-region: us-west-2\r\n",
                     "<Error><Code>PermanentRedirect</Code></Error>");
    return true;
}

/* The engines take every region for theirs. */
static void test_a_bucket_of_another_region_is_named(void **state)
{
    kedge_aws_options with = options();
    scripted_server *elsewhere = scripted_server_start(redirect, NULL);
    (void)state;
    setenv(variables[1], scripted_server_url(elsewhere), 1);
    assert_refused(&with, KEDGE_NOT_FOUND, "aws-bucket-region", "us-west-2");
    scripted_server_stop(elsewhere);
}

static void test_an_endpoint_of_somebody_else_is_named(void **state)
{
    kedge_aws_options with = options();
    scripted_server *page = scripted_server_start(respond_with_a_page, NULL);
    (void)state;
    for (size_t i = 0; i < KEDGE_AWS_STREAMS; i++) {
        reset_variables();
        setenv(variables[i], scripted_server_url(page), 1);
        assert_refused(&with, KEDGE_UNAVAILABLE, "aws-response-invalid", variables[i]);
    }
    scripted_server_stop(page);
}

static void test_an_endpoint_that_nobody_answers_at_is_named(void **state)
{
    kedge_aws_options with = options();
    (void)state;
    for (size_t i = 0; i < KEDGE_AWS_STREAMS; i++) {
        reset_variables();
        setenv(variables[i], scripted_dead_url(), 1);
        assert_refused(&with, KEDGE_BUSY, "aws-unreachable", variables[i]);
    }
    reset_variables();
    setenv(variables[0], "127.0.0.1:8000", 1);
    assert_refused(&with, KEDGE_INVALID_ARGUMENT, "aws-endpoint-invalid", "127.0.0.1:8000");
}

static void test_a_missing_permission_is_named(void **state)
{
    kedge_aws_options with = options();
    scripted_server *strict = scripted_server_start(deny, NULL);
    (void)state;
    setenv(variables[0], scripted_server_url(strict), 1);
    assert_refused(&with, KEDGE_FORBIDDEN, "aws-permission-missing", "dynamodb:DescribeTable");
    scripted_server_stop(strict);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_missing_is_made_on_demand),
        TEST(test_a_queue_is_optional),
        TEST(test_a_clock_that_is_off_is_corrected_and_told),
        TEST(test_a_right_clock_is_not_warned_of),
        TEST(test_a_queue_that_delivers_seldom_is_warned_of),
        TEST(test_a_missing_bucket_and_queue_are_named),
        TEST(test_a_table_with_other_keys_is_named),
        TEST(test_a_queue_that_is_not_fifo_is_named),
        TEST(test_a_region_that_is_none_or_missing_is_named),
        TEST(test_credentials_that_are_wrong_or_missing_are_named),
        TEST(test_a_bucket_of_another_region_is_named),
        TEST(test_an_endpoint_of_somebody_else_is_named),
        TEST(test_an_endpoint_that_nobody_answers_at_is_named),
        TEST(test_a_missing_permission_is_named),
    };
    for (size_t i = 0; i < KEDGE_AWS_STREAMS; i++) {
        int missing = engines_missing(variables[i]);
        if (missing != 0) return missing;
    }
    return cmocka_run_group_tests(tests, make_names, delete_all);
}
