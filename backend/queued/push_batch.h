/* A push batch: messages of one project that are decided as one push. */
#ifndef KEDGE_BACKEND_QUEUED_PUSH_BATCH_H
#define KEDGE_BACKEND_QUEUED_PUSH_BATCH_H

#include "backend/api/push.h"
#include "backend/queued/message.h"

/* One message of a batch, with what its push borrows from. Must not be moved in memory. */
typedef struct kedge_push_batch_part {
    size_t message; /* index into what the consumer was given */
    kedge_message read;
    kedge_buffer claimed; /* the message itself, when it stood in blobs */
    kedge_identity identity;
    kedge_push_request request;
} kedge_push_batch_part;

typedef struct kedge_push_batch {
    kedge_queued *queued;
    kedge_push_batch_part parts[KEDGE_QUEUE_RECEIVE_MAX];
    size_t count;
    size_t mutation_count;
    size_t bytes; /* of the pushes */
} kedge_push_batch;

/* Adds a message. KEDGE_LIMIT_EXCEEDED "batch-full": it fits a later batch. KEDGE_INVALID_ARGUMENT
 * and KEDGE_CORRUPT: the message cannot be decided. After a failure the batch is as it was. */
kedge_status kedge_push_batch_add(kedge_push_batch *batch, size_t index, const kedge_message *read,
                                  kedge_error *error);
/* Decides all of it at the project's head. */
kedge_status kedge_push_batch_decide(kedge_push_batch *batch, kedge_backend *backend,
                                     kedge_error *error);
void kedge_push_batch_clear(kedge_push_batch *batch);

#endif
