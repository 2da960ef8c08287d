/* The stream of a table: asking for it, and turning it on. */
#include "backend/aws/backoff.h"
#include "backend/aws/dynamodb_internal.h"
#include "backend/aws/dynamodb_stream_internal.h"
#include "common/error.h"

#include <string.h>

kedge_status kedge_dynamodb_stream_find(kedge_aws_client *client, const char *table,
                                        char arn[KEDGE_DYNAMODB_ARN_SIZE], kedge_error *error)
{
    kedge_aws_response response = {0};
    kedge_bytes described, specification, enabled;
    bool on = false;
    char view[32] = "";
    kedge_status status = kedge_dynamodb_describe(client, table, &response, error);
    if (status == KEDGE_OK &&
        !kedge_json_member(kedge_buffer_bytes(&response.body), "Table", &described))
        status = kedge_dynamodb_fail_response("it describes no table", error);
    if (status == KEDGE_OK && kedge_json_member(described, "StreamSpecification", &specification) &&
        kedge_json_member(specification, "StreamEnabled", &enabled) &&
        kedge_json_to_boolean(enabled, &on) && on) {
        kedge_json_member_chars(specification, "StreamViewType", view, sizeof view);
        on = kedge_json_member_chars(described, "LatestStreamArn", arn, KEDGE_DYNAMODB_ARN_SIZE);
    }
    kedge_aws_response_free(&response);
    if (status != KEDGE_OK) return status;
    if (!on)
        return kedge_fail(error, KEDGE_NOT_FOUND, "aws-stream-missing",
                          "the DynamoDB table %s has no stream; turn one on, of new images", table);
    if (strcmp(view, "NEW_IMAGE") != 0 && strcmp(view, "NEW_AND_OLD_IMAGES") != 0)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "aws-stream-view",
                          "the stream of the DynamoDB table %s has %s; it must have new images",
                          table, view);
    return KEDGE_OK;
}

/* KEDGE_OK also when it is on already. */
static kedge_status ask_for_stream(kedge_aws_client *client, const char *table, kedge_error *error)
{
    kedge_aws_response response = {0};
    kedge_buffer body = kedge_buffer_make(kedge_aws_client_environment(client)->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "TableName");
    kedge_json_chars(&writer, table);
    kedge_json_key(&writer, "StreamSpecification");
    kedge_json_raw(&writer,
                   KEDGE_BYTES("{\"StreamEnabled\":true,\"StreamViewType\":\"NEW_IMAGE\"}"));
    kedge_json_end_object(&writer);
    kedge_status status = kedge_dynamodb_table_run(client, table, "UpdateTable",
                                                   "dynamodb:UpdateTable", &body, &response, error);
    if (strcmp(response.code, "ResourceInUseException") == 0) status = KEDGE_OK;
    kedge_aws_response_free(&response);
    return status;
}

kedge_status kedge_dynamodb_stream_enable(kedge_aws_client *client, const char *table,
                                          kedge_error *error)
{
    const kedge_environment *environment = kedge_aws_client_environment(client);
    int64_t end_ms = environment->monotonic_ms(environment->context) + KEDGE_DYNAMODB_CREATE_MS;
    char arn[KEDGE_DYNAMODB_ARN_SIZE];
    kedge_error cause = {0};
    for (uint32_t tries = 1;; tries++) {
        kedge_status status = kedge_dynamodb_stream_find(client, table, arn, &cause);
        bool late = environment->monotonic_ms(environment->context) > end_ms;
        if (status != KEDGE_NOT_FOUND || strcmp(cause.code, "aws-stream-missing") != 0 || late) {
            if (status != KEDGE_OK && error != NULL) *error = cause;
            return status;
        }
        status = ask_for_stream(client, table, error);
        if (status != KEDGE_OK) return status;
        kedge_aws_pause(environment, tries);
    }
}
