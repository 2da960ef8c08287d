/* The queue port: what its headers promise for every implementation. */
#include "backend/ports/queue_support.h"
#include "common/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEAD "-dead"

void kedge_queue_batch_free(kedge_queue_batch *batch)
{
    if (batch->memory_free != NULL) batch->memory_free(batch->memory);
    *batch = (kedge_queue_batch){0};
}

/* ---- checks ---- */

static kedge_status check_size(const char *what, kedge_bytes bytes, size_t size_max,
                               kedge_error *error)
{
    if (bytes.size == 0)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-message",
                          "the message's %s is empty", what);
    if (bytes.size > size_max)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "message-too-large",
                          "the message's %s is %zu bytes long; at most %zu are allowed", what,
                          bytes.size, size_max);
    return KEDGE_OK;
}

kedge_status kedge_queue_send_check(kedge_bytes owner, kedge_bytes group, kedge_bytes deduplication,
                                    kedge_bytes body, kedge_error *error)
{
    kedge_status status = check_size("owner", owner, KEDGE_QUEUE_OWNER_BYTES_MAX, error);
    if (status == KEDGE_OK) status = check_size("group", group, KEDGE_QUEUE_GROUP_BYTES_MAX, error);
    if (status == KEDGE_OK)
        status = check_size("deduplication name", deduplication,
                            KEDGE_QUEUE_DEDUPLICATION_BYTES_MAX, error);
    if (status == KEDGE_OK) status = check_size("body", body, KEDGE_QUEUE_BODY_BYTES_MAX, error);
    return status;
}

kedge_status kedge_queue_count_check(uint32_t count, uint32_t count_max, kedge_error *error)
{
    if (count >= 1 && count <= count_max) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-count",
                      "%u messages were asked for; 1 to %u are allowed", count, count_max);
}

kedge_status kedge_queue_receive_max_check(uint32_t receive_max, kedge_error *error)
{
    if (receive_max >= 1 && receive_max <= KEDGE_QUEUE_DELIVERIES_MAX) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-receive-max",
                      "a message would be delivered %u times; 1 to %d are allowed", receive_max,
                      KEDGE_QUEUE_DELIVERIES_MAX);
}

kedge_status kedge_queue_visibility_check(int64_t visibility_ms, kedge_error *error)
{
    if (visibility_ms >= 0 && visibility_ms <= KEDGE_QUEUE_VISIBILITY_MS_MAX) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-visibility",
                      "the visibility is %" PRId64 " ms; 0 to %d are allowed", visibility_ms,
                      KEDGE_QUEUE_VISIBILITY_MS_MAX);
}

kedge_status kedge_queue_receive_check(uint32_t count, int64_t visibility_ms, int64_t wait_ms,
                                       kedge_error *error)
{
    kedge_status status = kedge_queue_count_check(count, KEDGE_QUEUE_RECEIVE_MAX, error);
    if (status == KEDGE_OK) status = kedge_queue_visibility_check(visibility_ms, error);
    if (status != KEDGE_OK) return status;
    if (wait_ms >= 0 && wait_ms <= KEDGE_QUEUE_WAIT_MS_MAX) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-wait",
                      "a receive would wait %" PRId64 " ms; 0 to %d are allowed", wait_ms,
                      KEDGE_QUEUE_WAIT_MS_MAX);
}

/* ---- receipts ---- */

kedge_status kedge_queue_stale_receipt(const char *receipt, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CONFLICT, "stale-receipt",
                      "the receipt %s is not of the message's newest delivery", receipt);
}

kedge_status kedge_queue_invalid_receipt(const char *receipt, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-receipt",
                      "%.60s is not a receipt of this queue", receipt);
}

static bool read_decimal(const char **at, uint64_t limit, uint64_t *value)
{
    const char *start = *at;
    *value = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (*value > (limit - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return *at != start && *value > 0;
}

kedge_status kedge_queue_receipt_read(const char *receipt, bool dead, kedge_queue_receipt *read,
                                      kedge_error *error)
{
    uint64_t message, receive_count = 0;
    const char *at = receipt;
    bool valid = read_decimal(&at, INT64_MAX, &message);
    if (valid && dead) {
        valid = strcmp(at, DEAD) == 0;
    } else if (valid) {
        valid = *at++ == '-' && read_decimal(&at, UINT32_MAX, &receive_count) && *at == '\0';
    }
    if (!valid) return kedge_queue_invalid_receipt(receipt, error);
    *read = (kedge_queue_receipt){(int64_t)message, (uint32_t)receive_count};
    return KEDGE_OK;
}

void kedge_queue_receipt_write(kedge_queue_receipt receipt, char text[KEDGE_QUEUE_RECEIPT_SIZE])
{
    if (receipt.receive_count == 0)
        snprintf(text, KEDGE_QUEUE_RECEIPT_SIZE, "%" PRId64 DEAD, receipt.message);
    else
        snprintf(text, KEDGE_QUEUE_RECEIPT_SIZE, "%" PRId64 "-%" PRIu32, receipt.message,
                 receipt.receive_count);
}

/* ---- batches ---- */

static bool start_batch(kedge_queue_batch *batch, const kedge_allocator *allocator, size_t capacity)
{
    if (batch->memory != NULL) return true;
    kedge_arena *arena = kedge_arena_new(allocator);
    if (arena == NULL) return false;
    batch->memory = arena;
    batch->memory_free = kedge_arena_delete;
    batch->messages = kedge_arena_take(arena, capacity * sizeof *batch->messages);
    return batch->messages != NULL;
}

kedge_status kedge_queue_batch_add(kedge_queue_batch *batch, const kedge_allocator *allocator,
                                   size_t capacity, const kedge_queue_message *message,
                                   kedge_error *error)
{
    if (!start_batch(batch, allocator, capacity)) return kedge_fail_no_memory(error);
    kedge_queue_message copy = *message;
    size_t receipt_size = strlen(message->receipt) + 1;
    copy.receipt = kedge_arena_take(batch->memory, receipt_size);
    if (copy.receipt == NULL || !kedge_arena_copy(batch->memory, message->group, &copy.group) ||
        !kedge_arena_copy(batch->memory, message->body, &copy.body))
        return kedge_fail_no_memory(error);
    memcpy(copy.receipt, message->receipt, receipt_size);
    batch->messages[batch->count++] = copy;
    return KEDGE_OK;
}
