/* What every implementation of the queue port shares: the checks of its contract, receipts, and the
 * building of batches. */
#ifndef KEDGE_BACKEND_PORTS_QUEUE_SUPPORT_H
#define KEDGE_BACKEND_PORTS_QUEUE_SUPPORT_H

#include "backend/ports/queue.h"
#include "common/arena.h"

/* A clock that went back by more than this ends what was measured by it. */
#define KEDGE_QUEUE_CLOCK_SLACK_MS 60000
/* Holds every receipt that kedge_queue_receipt_write makes. */
#define KEDGE_QUEUE_RECEIPT_SIZE 40

/* KEDGE_OK, KEDGE_INVALID_ARGUMENT or KEDGE_LIMIT_EXCEEDED. */
kedge_status kedge_queue_send_check(kedge_bytes owner, kedge_bytes group, kedge_bytes deduplication,
                                    kedge_bytes body, kedge_error *error);
kedge_status kedge_queue_count_check(uint32_t count, uint32_t count_max, kedge_error *error);
kedge_status kedge_queue_receive_max_check(uint32_t receive_max, kedge_error *error);
kedge_status kedge_queue_visibility_check(int64_t visibility_ms, kedge_error *error);
/* The parameters of a receive. */
kedge_status kedge_queue_receive_check(uint32_t count, int64_t visibility_ms, int64_t wait_ms,
                                       kedge_error *error);

kedge_status kedge_queue_stale_receipt(const char *receipt, kedge_error *error); /* CONFLICT */
/* KEDGE_INVALID_ARGUMENT */
kedge_status kedge_queue_invalid_receipt(const char *receipt, kedge_error *error);

/* A receipt of the queues that are our own is "{message}-{receive count}" in decimals; that of a
 * dead letter "{message}-dead". */
typedef struct kedge_queue_receipt {
    int64_t message;
    uint32_t receive_count; /* 0: a dead letter */
} kedge_queue_receipt;

kedge_status kedge_queue_receipt_read(const char *receipt, bool dead, kedge_queue_receipt *read,
                                      kedge_error *error);

void kedge_queue_receipt_write(kedge_queue_receipt receipt, char text[KEDGE_QUEUE_RECEIPT_SIZE]);

/* Adds a copy to a batch that started from {0}; `capacity` is the same in all calls. */
kedge_status kedge_queue_batch_add(kedge_queue_batch *batch, const kedge_allocator *allocator,
                                   size_t capacity, const kedge_queue_message *message,
                                   kedge_error *error);

#endif
