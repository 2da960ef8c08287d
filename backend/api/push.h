/* A decoded push, in the form that the processor takes, from a request or from a queue. */
#ifndef KEDGE_BACKEND_API_PUSH_H
#define KEDGE_BACKEND_API_PUSH_H

#include "backend/versioned/commit/processor.h"
#include "wire/push.h"

/* Borrows from the body. Must not be moved in memory, since `push` points to `sender`. */
typedef struct kedge_push_request {
    kedge_wire_push_request wire;
    kedge_push push;
    kedge_push_sender sender;
} kedge_push_request;

/* Reads a push of `identity`. `push` is empty when its version is not supported. The errors are
 * those of wire/request.h. Free in every case. */
kedge_status kedge_push_request_read(const kedge_allocator *allocator,
                                     const kedge_wire_request *body, const kedge_identity *identity,
                                     kedge_push_request *out, kedge_error *error);
/* The same of a whole body out of a queue, which is of our version and not too large. */
kedge_status kedge_push_body_read(const kedge_allocator *allocator, kedge_bytes body,
                                  const kedge_identity *identity, kedge_push_request *out,
                                  kedge_error *error);
void kedge_push_request_free(kedge_push_request *request);

#endif
