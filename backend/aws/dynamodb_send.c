/* Sending one request to DynamoDB until it answers for good.
 *
 * kedge_aws_call tries again when there is no response or the service throttles. What it hands back
 * as refused can still be for now only: transactions that met others on a record. */
#include "backend/aws/backoff.h"
#include "backend/aws/dynamodb_internal.h"
#include "backend/aws/dynamodb_stream.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

#define TARGET         "DynamoDB_20120810"
#define STREAMS_TARGET "DynamoDBStreams_20120810"
/* "\u0001" for one byte is the most that JSON makes of text; base64 is less. */
#define ESCAPE_BYTES         6
#define RECORD_FRAME_BYTES   1024  /* braces, quotes and types around a record's attributes */
#define RESPONSE_FRAME_BYTES 65536 /* around the records */

size_t kedge_dynamodb_response_max(size_t bytes, size_t count)
{
    return ESCAPE_BYTES * bytes + RECORD_FRAME_BYTES * count + RESPONSE_FRAME_BYTES;
}

/* Of a stream the items of all who write into the table: who reads these checks each by itself. */
static kedge_status check_response(const kedge_dynamodb_request *request,
                                   const kedge_aws_response *response, kedge_error *error)
{
    kedge_bytes body = kedge_buffer_bytes(&response->body);
    kedge_error cause = {0};
    kedge_bytes object;
    kedge_status status =
        kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, &cause);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK && !(request->streams && kedge_dynamodb_change_may_have(&cause)))
        return kedge_dynamodb_fail_response(cause.message, error);
    if (!kedge_json_skip(body, &object, NULL) || kedge_json_type_of(object) != KEDGE_JSON_OBJECT)
        return kedge_dynamodb_fail_response("it is not a JSON object", error);
    return KEDGE_OK;
}

static kedge_status fail_refused(const kedge_dynamodb_request *request, const char *table,
                                 const kedge_dynamodb_refusal *refusal,
                                 const kedge_aws_response *response, kedge_error *error)
{
    return kedge_fail(error, refusal->status, refusal->code,
                      "DynamoDB refused %s on the table %s: %s: %s", request->operation, table,
                      response->code[0] == '\0' ? "no code" : response->code, response->message);
}

static kedge_status send_once(kedge_aws_client *client, const kedge_dynamodb_request *request,
                              int64_t deadline_ms, kedge_aws_response *response, kedge_error *error)
{
    char target[64];
    snprintf(target, sizeof target, "%s.%s", request->streams ? STREAMS_TARGET : TARGET,
             request->operation);
    kedge_http_header headers[] = {{"Content-Type", "application/x-amz-json-1.0"},
                                   {"X-Amz-Target", target}};
    kedge_aws_request call = {.service = request->streams ? KEDGE_AWS_STREAMS : KEDGE_AWS_DYNAMODB,
                              .action = request->action,
                              .method = "POST",
                              .path = KEDGE_BYTES("/"),
                              .headers = headers,
                              .header_count = 2,
                              .body = request->body,
                              .response_bytes_max = request->response_bytes_max,
                              .deadline_ms = deadline_ms};
    kedge_aws_response_free(response);
    return kedge_aws_call(client, &call, response, error);
}

/* What a failure is to a caller that must know whether something was written. */
static kedge_status conclude(const kedge_dynamodb_request *request, kedge_status status,
                             bool may_have_run, kedge_error *error)
{
    bool claims_nothing = status != KEDGE_OK && status != KEDGE_UNAVAILABLE;
    if (!request->writes || !may_have_run || !claims_nothing) return status;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-outcome-unknown",
                      "a try of %s may have taken effect", request->operation);
}

static kedge_status send_until_decided(kedge_aws_client *client, const char *table,
                                       const kedge_dynamodb_request *request,
                                       kedge_aws_response *response, kedge_error *error)
{
    const kedge_environment *environment = kedge_aws_client_environment(client);
    int64_t end_ms = environment->monotonic_ms(environment->context) + KEDGE_AWS_DEADLINE_MS;
    int64_t left_ms = 0; /* the client's own deadline to begin with */
    bool unknown = false;
    for (uint32_t tries = 1;; tries++) {
        kedge_status status = send_once(client, request, left_ms, response, error);
        if (status == KEDGE_OK)
            return conclude(request, check_response(request, response, error), true, error);
        unknown = unknown || response->earlier_unknown || status == KEDGE_LIMIT_EXCEEDED;
        if (status != KEDGE_CONFLICT) return conclude(request, status, unknown, error);
        kedge_dynamodb_refusal refusal = kedge_dynamodb_refusal_of(response);
        left_ms = end_ms - environment->monotonic_ms(environment->context);
        if (!refusal.again || tries == KEDGE_DYNAMODB_TRIES_MAX ||
            left_ms < 2 * KEDGE_AWS_BACKOFF_MAX_MS) {
            status = fail_refused(request, table, &refusal, response, error);
            return conclude(request, status, unknown, error);
        }
        kedge_aws_pause(environment, tries);
        left_ms = end_ms - environment->monotonic_ms(environment->context);
        if (left_ms < 1) left_ms = 1; /* the pause took longer than it may, and 0 means no bound */
    }
}

kedge_status kedge_dynamodb_send(kedge_aws_client *client, const char *table,
                                 const kedge_dynamodb_request *request,
                                 kedge_aws_response *response, kedge_error *error)
{
    kedge_error cause = {0}; /* of the last try; none is left when it went well */
    kedge_status status = send_until_decided(client, table, request, response, &cause);
    if (status != KEDGE_OK && error != NULL) *error = cause;
    return status;
}

kedge_status kedge_dynamodb_run(kedge_dynamodb *self, kedge_dynamodb_request request,
                                kedge_json_writer *writer, kedge_aws_response *response,
                                kedge_error *error)
{
    kedge_dynamodb_write_usage(self, writer);
    kedge_json_end_object(writer);
    request.body = kedge_buffer_bytes(writer->buffer);
    kedge_status status = kedge_buffer_status(writer->buffer, error);
    if (status == KEDGE_OK)
        status = kedge_dynamodb_send(self->client, self->table, &request, response, error);
    if (status == KEDGE_OK) kedge_dynamodb_count_usage(self, request.writes, response);
    kedge_buffer_free(writer->buffer);
    return status;
}
