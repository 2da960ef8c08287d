/* The queue port on SQS: sending, receiving, and what a consumer does with a delivery.
 *
 * A receipt is "sqs-" and SQS's handle of the delivery. SQS knows the handle of a message's newest
 * delivery; of one that is over it says so in several ways, or deletes nothing and says nothing:
 * a message that is gone is gone to it, whoever deleted it. */
#include "backend/aws/sqs_internal.h"
#include "common/assert.h"
#include "common/hash.h"

#include <string.h>

/* ---- send ---- */

static kedge_status queue_send(void *context, kedge_bytes owner, kedge_bytes group,
                               kedge_bytes deduplication, kedge_bytes body, kedge_error *error)
{
    const kedge_sqs *self = context;
    kedge_sqs_call call;
    char md5[KEDGE_MD5_HEX];
    size_t size;
    kedge_status status = kedge_queue_send_check(owner, group, deduplication, body, error);
    if (status != KEDGE_OK) return status;
    kedge_sqs_begin(&call, self->client, self->queue);
    kedge_sqs_message_write(&call, group, deduplication, body, &size, md5);
    if (size > self->message_bytes_max)
        status = kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "message-too-large",
                            "the message takes %zu bytes in SQS; the queue takes %zu", size,
                            self->message_bytes_max);
    else
        status = kedge_sqs_send(&call, kedge_bytes_of(md5), error);
    kedge_sqs_call_free(&call);
    return status;
}

/* ---- receive ---- */

/* A message that was damaged on its way is left out, and so is what stands after it in its group:
 * they come again together, in order, until it is whole or the redrive policy takes it away. */
typedef struct skipped {
    kedge_bytes groups[KEDGE_SQS_BATCH_MAX];
    size_t count;
} skipped;

static bool is_skipped(const skipped *list, kedge_bytes group_id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (kedge_bytes_equal(list->groups[i], group_id)) return true;
    }
    return false;
}

static kedge_status add_delivery(const kedge_sqs *self, const kedge_sqs_message *message,
                                 size_t capacity, kedge_queue_message *decoded,
                                 kedge_queue_batch *batch, kedge_error *error)
{
    char receipt[sizeof KEDGE_SQS_LIVE + KEDGE_SQS_HANDLE_BYTES_MAX] = KEDGE_SQS_LIVE;
    size_t used = sizeof KEDGE_SQS_LIVE - 1;
    if (!kedge_json_to_chars(message->handle, receipt + used, sizeof receipt - used))
        return kedge_sqs_response_invalid(&kedge_sqs_receive_message, error);
    decoded->receipt = receipt;
    return kedge_queue_batch_add(batch, self->environment->allocator, capacity, decoded, error);
}

/* One that is whole, but that this port cannot have sent, will not become better: it goes on as it
 * is, so that its consumer fails it alone, and not those after it. */
static bool decode(const kedge_sqs_message *message, kedge_buffer *memory,
                   kedge_queue_message *decoded)
{
    if (kedge_sqs_message_decode(message, false, memory, decoded)) return true;
    return !memory->no_memory && kedge_sqs_message_is_whole(message, memory) &&
           kedge_sqs_message_decode(message, true, memory, decoded);
}

static kedge_status add_deliveries(const kedge_sqs *self, const kedge_sqs_received *received,
                                   kedge_queue_batch *batch, kedge_error *error)
{
    kedge_buffer memory = kedge_buffer_make(self->environment->allocator);
    kedge_queue_message decoded;
    skipped bad = {.count = 0};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < received->count && status == KEDGE_OK; i++) {
        const kedge_sqs_message *message = &received->messages[i];
        if (is_skipped(&bad, message->group_id)) continue;
        if (decode(message, &memory, &decoded))
            status = add_delivery(self, message, received->count, &decoded, batch, error);
        else
            bad.groups[bad.count++] = message->group_id;
        if (status == KEDGE_OK) status = kedge_buffer_status(&memory, error);
    }
    kedge_buffer_free(&memory);
    if (status != KEDGE_OK || batch->count > 0 || bad.count == 0) return status;
    return kedge_fail(
        error, KEDGE_CORRUPT, "aws-message-damaged",
        "the message %.*s came damaged; when it keeps doing so it will be a dead letter",
        (int)received->messages[0].id.size, received->messages[0].id.data);
}

static kedge_status queue_receive(void *context, uint32_t count, int64_t visibility_ms,
                                  int64_t wait_ms, const kedge_queue_admission *admission,
                                  kedge_queue_batch *batch, kedge_error *error)
{
    const kedge_sqs *self = context;
    kedge_sqs_received received = {.count = 0};
    kedge_queue_batch found = {0};
    (void)admission;
    kedge_status status = kedge_queue_receive_check(count, visibility_ms, wait_ms, error);
    if (status != KEDGE_OK) return status;
    status = kedge_sqs_receive(self, self->queue, count, visibility_ms, wait_ms, &received, error);
    if (status == KEDGE_OK) status = add_deliveries(self, &received, &found, error);
    kedge_sqs_received_free(&received);
    if (status == KEDGE_OK)
        *batch = found;
    else
        kedge_queue_batch_free(&found);
    return status;
}

/* ---- one delivery ---- */

/* NULL: no receive of this port gave it. */
static const char *handle_of(const char *receipt, kedge_error *error)
{
    size_t prefix = sizeof KEDGE_SQS_LIVE - 1, size = strlen(receipt);
    if (strncmp(receipt, KEDGE_SQS_LIVE, prefix) == 0 && size > prefix &&
        size <= prefix + KEDGE_SQS_HANDLE_BYTES_MAX &&
        strncmp(receipt, KEDGE_SQS_DEAD, sizeof KEDGE_SQS_DEAD - 1) != 0)
        return receipt + prefix;
    kedge_queue_invalid_receipt(receipt, error);
    return NULL;
}

static kedge_status queue_extend(void *context, const char *receipt, int64_t visibility_ms,
                                 kedge_error *error)
{
    const kedge_sqs *self = context;
    kedge_status status = kedge_queue_visibility_check(visibility_ms, error);
    if (status != KEDGE_OK) return status;
    const char *handle = handle_of(receipt, error);
    if (handle == NULL) return KEDGE_INVALID_ARGUMENT;
    return kedge_sqs_extend(self, handle, visibility_ms, error);
}

static void queue_extend_all(void *context, const char *const *receipts, size_t count,
                             int64_t visibility_ms, kedge_error *failures)
{
    const kedge_sqs *self = context;
    const char *handles[KEDGE_SQS_BATCH_MAX];
    bool some = false;
    KEDGE_ASSERT(count <= KEDGE_SQS_BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        handles[i] = kedge_queue_visibility_check(visibility_ms, &failures[i]) == KEDGE_OK
                         ? handle_of(receipts[i], &failures[i])
                         : NULL;
        some = some || handles[i] != NULL;
    }
    if (some) kedge_sqs_extend_all(self, handles, count, visibility_ms, failures);
}

static kedge_status queue_done(void *context, const char *receipt, kedge_error *error)
{
    const kedge_sqs *self = context;
    const char *handle = handle_of(receipt, error);
    if (handle == NULL) return KEDGE_INVALID_ARGUMENT;
    return kedge_sqs_delete(self, self->queue, handle, error);
}

/* ---- the port ---- */

static void queue_close(void *context)
{
    kedge_sqs *self = context;
    const kedge_allocator *allocator = self->environment->allocator;
    kedge_release(allocator, self->queue);
    kedge_release(allocator, self->dead_letters);
    kedge_release(allocator, self);
}

const kedge_queue_vtable kedge_sqs_vtable = {.send = queue_send,
                                             .receive = queue_receive,
                                             .extend = queue_extend,
                                             .done = queue_done,
                                             .dead_letters = kedge_sqs_dead_letters,
                                             .redrive = kedge_sqs_redrive,
                                             .close = queue_close,
                                             .extend_all = queue_extend_all};
