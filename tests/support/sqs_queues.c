/* A queue of a test's own in a real SQS. */
#include "tests/support/sqs_queues.h"

#include "common/json.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_INTERVAL_MS 20

static kedge_status make_client(sqs_queues *queues, kedge_error *error)
{
    char region[64] = "us-east-1";
    const kedge_aws_credentials_options credentials = {.environment = &queues->environment};
    kedge_status status =
        kedge_aws_credentials_provider_new(&credentials, &queues->credentials, error);
    if (status != KEDGE_OK) return status;
    (void)kedge_aws_region_find(&credentials, region, NULL);
    const kedge_aws_client_options options = {
        .environment = &queues->environment,
        .credentials = queues->credentials,
        .region = region,
        .endpoints = {[KEDGE_AWS_SQS] = getenv("AWS_ENDPOINT_URL_SQS")}};
    return kedge_aws_client_new(&options, &queues->client, error);
}

kedge_status sqs_queues_begin(sqs_queues *queues, kedge_error *error)
{
    char random[17];
    memset(queues, 0, sizeof *queues);
    queues->environment = kedge_environment_system(NULL);
    kedge_random_hex(&queues->environment, 8, random);
    snprintf(queues->name, sizeof queues->name, "kedge-test-%s.fifo", random);
    snprintf(queues->dead_letters, sizeof queues->dead_letters, "kedge-test-%s-dead-letters.fifo",
             random);
    kedge_status status = make_client(queues, error);
    if (status != KEDGE_OK) sqs_queues_end(queues);
    return status;
}

kedge_status sqs_queues_make(sqs_queues *queues, uint32_t receive_max, kedge_queue *queue,
                             kedge_error *error)
{
    const kedge_sqs_options options = {.client = queues->client, .queue = queues->name};
    kedge_status status = kedge_sqs_create(&options, receive_max, error);
    return status == KEDGE_OK ? kedge_sqs_queue_open(&options, queue, error) : status;
}

/* ---- requests ---- */

static kedge_status request(sqs_queues *queues, const char *operation, const char *body,
                            kedge_aws_response *response, kedge_error *error)
{
    char target[64];
    snprintf(target, sizeof target, "AmazonSQS.%s", operation);
    const kedge_http_header headers[] = {{"Content-Type", "application/x-amz-json-1.0"},
                                         {"X-Amz-Target", target}};
    const kedge_aws_request sent = {.service = KEDGE_AWS_SQS,
                                    .action = "sqs:test",
                                    .method = "POST",
                                    .path = KEDGE_BYTES("/"),
                                    .headers = headers,
                                    .header_count = 2,
                                    .body = kedge_bytes_of(body),
                                    .response_bytes_max = 1048576};
    return kedge_aws_call(queues->client, &sent, response, error);
}

kedge_status sqs_queues_run(sqs_queues *queues, const char *name, const char *operation,
                            const char *more, kedge_aws_response *response, kedge_error *error)
{
    char body[4096], url[512] = "";
    snprintf(body, sizeof body, "{\"QueueName\":\"%s\"}", name);
    kedge_status status = request(queues, "GetQueueUrl", body, response, error);
    if (status != KEDGE_OK) return status;
    kedge_json_member_chars(kedge_buffer_bytes(&response->body), "QueueUrl", url, sizeof url);
    snprintf(body, sizeof body, "{\"QueueUrl\":\"%s\"%s}", url, more);
    return request(queues, operation, body, response, error);
}

void sqs_queues_end(sqs_queues *queues)
{
    kedge_aws_response response = {0};
    if (queues->client != NULL) {
        sqs_queues_run(queues, queues->name, "DeleteQueue", "", &response, NULL);
        sqs_queues_run(queues, queues->dead_letters, "DeleteQueue", "", &response, NULL);
        kedge_aws_response_free(&response);
    }
    kedge_aws_client_free(queues->client);
    kedge_aws_credentials_provider_free(queues->credentials);
    memset(queues, 0, sizeof *queues);
}

/* ---- what is there ---- */

int64_t sqs_queues_count(sqs_queues *queues, bool in_flight)
{
    const char *name =
        in_flight ? "ApproximateNumberOfMessagesNotVisible" : "ApproximateNumberOfMessages";
    kedge_aws_response response = {0};
    kedge_bytes attributes;
    char text[24], more[128];
    int64_t count = -1;
    snprintf(more, sizeof more, ",\"AttributeNames\":[\"%s\"]", name);
    kedge_status status =
        sqs_queues_run(queues, queues->name, "GetQueueAttributes", more, &response, NULL);
    if (status == KEDGE_OK &&
        kedge_json_member(kedge_buffer_bytes(&response.body), "Attributes", &attributes) &&
        kedge_json_member_chars(attributes, name, text, sizeof text))
        count = strtol(text, NULL, 10);
    kedge_aws_response_free(&response);
    return count;
}

bool sqs_queues_settle(sqs_queues *queues, int64_t deadline_ms)
{
    const kedge_environment *environment = &queues->environment;
    int64_t end_ms = environment->monotonic_ms(environment->context) + deadline_ms;
    while (sqs_queues_count(queues, true) != 0) {
        if (environment->monotonic_ms(environment->context) >= end_ms) return false;
        poll(NULL, 0, LOOK_INTERVAL_MS);
    }
    return true;
}
