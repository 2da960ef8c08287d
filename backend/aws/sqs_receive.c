/* Receiving from one of the two queues, and what ends a delivery. */
#include "backend/aws/sqs_internal.h"

#include <string.h>

#define SECOND_MS 1000
/* What names a try of a receive, so that the same one repeated gives the same messages. */
#define ATTEMPT_BYTES 16

static int64_t seconds_of(int64_t milliseconds)
{
    return (milliseconds + SECOND_MS - 1) / SECOND_MS;
}

void kedge_sqs_received_free(kedge_sqs_received *received)
{
    kedge_sqs_call_free(&received->call);
    received->count = 0;
}

static void write_all(kedge_sqs_call *call, const char *name)
{
    kedge_json_key(&call->writer, name);
    kedge_json_begin_array(&call->writer);
    kedge_json_chars(&call->writer, "All");
    kedge_json_end_array(&call->writer);
}

/* A response without the member has no messages. */
static kedge_status read_messages(kedge_sqs_received *received, uint32_t count, kedge_error *error)
{
    kedge_bytes messages, value;
    kedge_bytes body = kedge_buffer_bytes(&received->call.response.body);
    if (body.size == 0) return kedge_sqs_response_invalid(&kedge_sqs_receive_message, error);
    if (!kedge_json_member(body, "Messages", &messages)) return KEDGE_OK;
    if (kedge_json_type_of(messages) == KEDGE_JSON_NULL) return KEDGE_OK;
    kedge_json_iterator at = kedge_json_iterate(messages);
    while (kedge_json_next_element(&at, &value)) {
        if (received->count == count ||
            !kedge_sqs_message_read(value, &received->messages[received->count++]))
            return kedge_sqs_response_invalid(&kedge_sqs_receive_message, error);
    }
    return at.failed ? kedge_sqs_response_invalid(&kedge_sqs_receive_message, error) : KEDGE_OK;
}

kedge_status kedge_sqs_receive(const kedge_sqs *self, const char *url, uint32_t count,
                               int64_t visibility_ms, int64_t wait_ms, kedge_sqs_received *received,
                               kedge_error *error)
{
    kedge_sqs_call *call = &received->call;
    char attempt[2 * ATTEMPT_BYTES + 1];
    kedge_random_hex(self->environment, ATTEMPT_BYTES, attempt);
    kedge_sqs_begin(call, self->client, url);
    kedge_sqs_integer(call, "MaxNumberOfMessages", count);
    kedge_sqs_integer(call, "VisibilityTimeout", seconds_of(visibility_ms));
    kedge_sqs_integer(call, "WaitTimeSeconds", seconds_of(wait_ms));
    write_all(call, "MessageSystemAttributeNames");
    write_all(call, "MessageAttributeNames");
    kedge_sqs_text(call, "ReceiveRequestAttemptId", attempt);
    call->wait_ms = seconds_of(wait_ms) * SECOND_MS;
    call->response_bytes_max =
        count * (KEDGE_SQS_ESCAPED_MAX * (size_t)KEDGE_SQS_MESSAGE_BYTES_MAX +
                 KEDGE_SQS_MESSAGE_EXTRA_BYTES);
    kedge_status status = kedge_sqs_run(call, &kedge_sqs_receive_message, error);
    if (status == KEDGE_CONFLICT) return kedge_sqs_refused(call, &kedge_sqs_receive_message, error);
    return status == KEDGE_OK ? read_messages(received, count, error) : status;
}

/* ---- one delivery ---- */

/* SQS's refusals of a handle: of a message that was delivered again, deleted, or moved to the dead
 * letters, of a delivery whose visibility ended, and of one that was extended to twelve hours. */
static bool is_stale(const char *code)
{
    return strcmp(code, "ReceiptHandleIsInvalid") == 0 || strcmp(code, "MessageNotInflight") == 0 ||
           /* in a response for several */
           strcmp(code, "AWS.SimpleQueueService.MessageNotInflight") == 0 ||
           kedge_sqs_parameter_is_invalid(code);
}

static kedge_status run_on_one(kedge_sqs_call *call, const kedge_sqs_action *action,
                               const char *handle, kedge_error *error)
{
    kedge_status status = kedge_sqs_run(call, action, error);
    if (status != KEDGE_CONFLICT) return status;
    if (!is_stale(call->response.code)) return kedge_sqs_refused(call, action, error);
    /* An earlier try may have deleted it. */
    if (call->response.earlier_unknown)
        return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-outcome-unknown",
                          "unknown whether an earlier try of %s took effect", action->action);
    return kedge_queue_stale_receipt(handle, error);
}

kedge_status kedge_sqs_delete(const kedge_sqs *self, const char *url, const char *handle,
                              kedge_error *error)
{
    kedge_sqs_call call;
    kedge_sqs_begin(&call, self->client, url);
    kedge_sqs_text(&call, "ReceiptHandle", handle);
    kedge_status status = run_on_one(&call, &kedge_sqs_delete_message, handle, error);
    kedge_sqs_call_free(&call);
    return status;
}

kedge_status kedge_sqs_extend(const kedge_sqs *self, const char *handle, int64_t visibility_ms,
                              kedge_error *error)
{
    kedge_sqs_call call;
    kedge_sqs_begin(&call, self->client, self->queue);
    kedge_sqs_text(&call, "ReceiptHandle", handle);
    kedge_sqs_integer(&call, "VisibilityTimeout", seconds_of(visibility_ms));
    kedge_status status = run_on_one(&call, &kedge_sqs_change_visibility, handle, error);
    kedge_sqs_call_free(&call);
    return status;
}

/* ---- several at once ---- */

static void begin_entries(kedge_sqs_call *call, const kedge_sqs *self, const char *url)
{
    kedge_sqs_begin(call, self->client, url);
    kedge_json_key(&call->writer, "Entries");
    kedge_json_begin_array(&call->writer);
}

/* Its id is its place. */
static void write_entry(kedge_sqs_call *call, size_t place, kedge_bytes handle,
                        int64_t visibility_ms)
{
    const char id[] = {(char)('0' + place), '\0'};
    kedge_json_begin_object(&call->writer);
    kedge_sqs_text(call, "Id", id);
    kedge_json_key(&call->writer, "ReceiptHandle");
    kedge_json_raw(&call->writer, handle);
    kedge_sqs_integer(call, "VisibilityTimeout", seconds_of(visibility_ms));
    kedge_json_end_object(&call->writer);
}

static kedge_status run_entries(kedge_sqs_call *call, kedge_error *error)
{
    kedge_json_end_array(&call->writer);
    kedge_status status = kedge_sqs_run(call, &kedge_sqs_change_visibilities, error);
    return status == KEDGE_CONFLICT ? kedge_sqs_refused(call, &kedge_sqs_change_visibilities, error)
                                    : status;
}

static void fail_entry(kedge_bytes entry, const char *handle, kedge_error *failure)
{
    char code[64] = "", message[128] = "";
    (void)kedge_json_member_chars(entry, "Code", code, sizeof code);
    (void)kedge_json_member_chars(entry, "Message", message, sizeof message);
    if (is_stale(code))
        (void)kedge_queue_stale_receipt(handle, failure);
    else
        (void)kedge_fail(failure, KEDGE_IO, "aws-refused", "SQS refused %s of a message: %s: %s",
                         kedge_sqs_change_visibilities.action, code, message);
}

/* The entries of a list of the response, which is left out when it is empty. */
static bool read_entries(const kedge_sqs_call *call, const char *list, const char *const *handles,
                         size_t count, kedge_error *failures)
{
    kedge_bytes entries, entry;
    char id[2];
    bool failed = strcmp(list, "Failed") == 0;
    if (!kedge_json_member(kedge_buffer_bytes(&call->response.body), list, &entries)) return true;
    kedge_json_iterator each = kedge_json_iterate(entries);
    while (kedge_json_next_element(&each, &entry)) {
        if (!kedge_json_member_chars(entry, "Id", id, sizeof id) || id[0] < '0' ||
            (size_t)(id[0] - '0') >= count || handles[id[0] - '0'] == NULL)
            return false;
        size_t place = (size_t)(id[0] - '0');
        failures[place] = (kedge_error){0};
        if (failed) fail_entry(entry, handles[place], &failures[place]);
    }
    return !each.failed;
}

static void fail_all(const char *const *handles, size_t count, const kedge_error *failure,
                     kedge_error *failures)
{
    for (size_t i = 0; i < count; i++) {
        if (handles[i] != NULL) failures[i] = *failure;
    }
}

void kedge_sqs_extend_all(const kedge_sqs *self, const char *const *handles, size_t count,
                          int64_t visibility_ms, kedge_error *failures)
{
    kedge_sqs_call call;
    kedge_error failure = {0};
    kedge_buffer text = kedge_buffer_make(self->environment->allocator);
    begin_entries(&call, self, self->queue);
    for (size_t i = 0; i < count; i++) {
        if (handles[i] == NULL) continue;
        kedge_json_writer writer = kedge_json_write(&text);
        kedge_buffer_clear(&text);
        kedge_json_chars(&writer, handles[i]);
        write_entry(&call, i, kedge_buffer_bytes(&text), visibility_ms);
    }
    kedge_status status = kedge_buffer_status(&text, &failure);
    if (status == KEDGE_OK) status = run_entries(&call, &failure);
    if (status == KEDGE_OK) {
        /* What the response does not tell of. */
        (void)kedge_sqs_response_invalid(&kedge_sqs_change_visibilities, &failure);
        fail_all(handles, count, &failure, failures);
        if (read_entries(&call, "Successful", handles, count, failures) &&
            read_entries(&call, "Failed", handles, count, failures))
            failure = (kedge_error){0};
    }
    if (failure.status != KEDGE_OK) fail_all(handles, count, &failure, failures);
    kedge_buffer_free(&text);
    kedge_sqs_call_free(&call);
}

void kedge_sqs_give_back(const kedge_sqs *self, const kedge_sqs_received *received)
{
    kedge_sqs_call call;
    if (received->count == 0) return;
    begin_entries(&call, self, self->dead_letters);
    for (size_t i = 0; i < received->count; i++)
        write_entry(&call, i, received->messages[i].handle, 0);
    (void)run_entries(&call, NULL);
    kedge_sqs_call_free(&call);
}
