/* A unit: messages of one project that are decided as one push. */
#ifndef KEDGE_BACKEND_QUEUED_UNIT_H
#define KEDGE_BACKEND_QUEUED_UNIT_H

#include "backend/api/push_body.h"
#include "backend/queued/message.h"

/* One message of it, with what its push borrows from. Is not to be moved. */
typedef struct kedge_unit_part {
    size_t message; /* index into what the consumer was given */
    kedge_message read;
    kedge_buffer claimed; /* the message itself, when it stood in blobs */
    kedge_identity identity;
    kedge_push_request request;
} kedge_unit_part;

typedef struct kedge_unit {
    kedge_queued *queued;
    kedge_unit_part parts[KEDGE_QUEUE_RECEIVE_MAX];
    size_t count;
    size_t mutation_count;
    size_t bytes; /* of the pushes */
} kedge_unit;

/* Adds a message. KEDGE_LIMIT_EXCEEDED "unit-full": it fits a later unit. KEDGE_INVALID_ARGUMENT
 * and KEDGE_CORRUPT: the message cannot be decided. After a failure the unit is as it was. */
kedge_status kedge_unit_add(kedge_unit *unit, size_t index, const kedge_message *read,
                            kedge_error *error);
/* Decides all of it at the project's head. */
kedge_status kedge_unit_decide(kedge_unit *unit, kedge_backend *backend, kedge_error *error);
void kedge_unit_clear(kedge_unit *unit);

#endif
