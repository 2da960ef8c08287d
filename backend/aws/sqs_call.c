/* One call of SQS's JSON protocol: the action stands in a header, the parameters are one object. */
#include "backend/aws/sqs_internal.h"

#include <string.h>

#define ACTION(permission, name)                                                                   \
    {                                                                                              \
        "AmazonSQS." name, "sqs:" permission                                                       \
    }

/* The batch form needs the permission of the single one. */
const kedge_sqs_action kedge_sqs_change_visibility =
    ACTION("ChangeMessageVisibility", "ChangeMessageVisibility");
const kedge_sqs_action kedge_sqs_change_visibilities =
    ACTION("ChangeMessageVisibility", "ChangeMessageVisibilityBatch");
const kedge_sqs_action kedge_sqs_create_queue = ACTION("CreateQueue", "CreateQueue");
const kedge_sqs_action kedge_sqs_delete_message = ACTION("DeleteMessage", "DeleteMessage");
const kedge_sqs_action kedge_sqs_get_attributes =
    ACTION("GetQueueAttributes", "GetQueueAttributes");
const kedge_sqs_action kedge_sqs_get_url = ACTION("GetQueueUrl", "GetQueueUrl");
const kedge_sqs_action kedge_sqs_receive_message = ACTION("ReceiveMessage", "ReceiveMessage");
const kedge_sqs_action kedge_sqs_send_message = ACTION("SendMessage", "SendMessage");

/* ---- parameters ---- */

void kedge_sqs_begin(kedge_sqs_call *call, kedge_aws_client *client, const char *url)
{
    const kedge_environment *environment = kedge_aws_client_environment(client);
    *call = (kedge_sqs_call){.client = client,
                             .parameters = kedge_buffer_make(environment->allocator),
                             .response_bytes_max = KEDGE_SQS_RESPONSE_BYTES_MAX};
    call->writer = kedge_json_write(&call->parameters);
    kedge_json_begin_object(&call->writer);
    if (url != NULL) kedge_sqs_text(call, "QueueUrl", url);
}

void kedge_sqs_call_free(kedge_sqs_call *call)
{
    if (call->client == NULL) return;
    kedge_buffer_free(&call->parameters);
    kedge_aws_response_free(&call->response);
    call->client = NULL;
}

void kedge_sqs_text(kedge_sqs_call *call, const char *name, const char *value)
{
    kedge_json_key(&call->writer, name);
    kedge_json_chars(&call->writer, value);
}

void kedge_sqs_integer(kedge_sqs_call *call, const char *name, int64_t value)
{
    kedge_json_key(&call->writer, name);
    kedge_json_integer(&call->writer, value);
}

/* ---- the call ---- */

bool kedge_sqs_code_is(const kedge_sqs_call *call, const char *code)
{
    return strcmp(call->response.code, code) == 0;
}

/* The second name is that of the older protocol, which some endpoints still give. */
bool kedge_sqs_queue_is_missing(const kedge_sqs_call *call)
{
    return kedge_sqs_code_is(call, "QueueDoesNotExist") ||
           kedge_sqs_code_is(call, "AWS.SimpleQueueService.NonExistentQueue");
}

/* SQS's JSON has the first name; its older protocol and engines have the second one. */
bool kedge_sqs_parameter_is_invalid(const char *code)
{
    return strcmp(code, "InvalidParameterValueException") == 0 ||
           strcmp(code, "InvalidParameterValue") == 0;
}

kedge_status kedge_sqs_response_invalid(const kedge_sqs_action *action, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-response-invalid",
                      "%s had a response that is not SQS's; is its endpoint SQS?", action->action);
}

static kedge_status check_response(const kedge_sqs_call *call, const kedge_sqs_action *action,
                                   kedge_error *error)
{
    kedge_bytes body = kedge_buffer_bytes(&call->response.body);
    if (body.size == 0) return KEDGE_OK;
    kedge_status status =
        kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK || kedge_json_type_of(body) != KEDGE_JSON_OBJECT)
        return kedge_sqs_response_invalid(action, error);
    return KEDGE_OK;
}

kedge_status kedge_sqs_refused(const kedge_sqs_call *call, const kedge_sqs_action *action,
                               kedge_error *error)
{
    const kedge_aws_response *response = &call->response;
    kedge_status status = response->earlier_unknown ? KEDGE_UNAVAILABLE : KEDGE_IO;
    if (kedge_sqs_queue_is_missing(call))
        return kedge_fail(error, status, "aws-queue-missing",
                          "%s: SQS in %s has no such queue any more, or these credentials may not "
                          "see it",
                          action->action, kedge_aws_client_region(call->client));
    return kedge_fail(error, status, "aws-refused", "SQS refused %s: %s: %s", action->action,
                      response->code, response->message);
}

kedge_status kedge_sqs_run(kedge_sqs_call *call, const kedge_sqs_action *action, kedge_error *error)
{
    const kedge_http_header headers[] = {{"Content-Type", "application/x-amz-json-1.0"},
                                         {"X-Amz-Target", action->target}};
    kedge_json_end_object(&call->writer);
    kedge_status status = kedge_buffer_status(&call->parameters, error);
    if (status != KEDGE_OK) return status;
    const kedge_aws_request request = {.service = KEDGE_AWS_SQS,
                                       .action = action->action,
                                       .method = "POST",
                                       .path = KEDGE_BYTES("/"),
                                       .headers = headers,
                                       .header_count = sizeof headers / sizeof headers[0],
                                       .body = kedge_buffer_bytes(&call->parameters),
                                       .response_bytes_max = call->response_bytes_max,
                                       .wait_ms = call->wait_ms};
    status = kedge_aws_call(call->client, &request, &call->response, error);
    if (status == KEDGE_OK) return check_response(call, action, error);
    /* The response is too large, whatever the request has done. */
    return status == KEDGE_LIMIT_EXCEEDED ? kedge_sqs_response_invalid(action, error) : status;
}

bool kedge_sqs_read_number(kedge_bytes object, const char *name, int64_t *number)
{
    char text[24];
    if (kedge_json_member_integer(object, name, number)) return true;
    return kedge_json_member_chars(object, name, text, sizeof text) &&
           kedge_json_to_integer(kedge_bytes_of(text), number);
}
