/* The body of a push, decoded: the same whether it came as a request or out of a queue. */
#ifndef KEDGE_BACKEND_API_PUSH_BODY_H
#define KEDGE_BACKEND_API_PUSH_BODY_H

#include "backend/versioned/commit/processor.h"

/* Borrows from the body. Is not to be moved: `push` points to `sender`. */
typedef struct kedge_push_request {
    kedge_push push;
    kedge_push_sender sender;
    char group[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    kedge_bytes list; /* the elements of "mutations" as they were sent, without the brackets */
    bool native;
    bool supported; /* its pushVersion is ours */
    bool too_large; /* the mutations are a prefix of what was sent */
    char *text;     /* decoded strings that the mutations point into */
    size_t text_size;
} kedge_push_request;

/* A whole body as kedge_push_body_write writes it, sent by `identity`. KEDGE_INVALID_ARGUMENT: it
 * is none. Free in every case. */
kedge_status kedge_push_body_read(const kedge_allocator *allocator, kedge_bytes body,
                                  const kedge_identity *identity, kedge_push_request *out,
                                  kedge_error *error);
void kedge_push_request_free(const kedge_allocator *allocator, kedge_push_request *request);

/* Writes what was taken of a push as a body of its own, its mutations byte for byte. */
void kedge_push_body_write(const kedge_push_request *request, kedge_buffer *out);

#endif
