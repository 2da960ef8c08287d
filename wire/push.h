/* POST push: mutations to be decided.
 *
 * A malformed mutation does not affect the others. Each must have a client id and an id; without
 * them it cannot be decided, and the push is refused. Any other error makes the mutation invalid,
 * and an invalid mutation is decided as rejected. */
#ifndef KEDGE_WIRE_PUSH_H
#define KEDGE_WIRE_PUSH_H

#include "common/hash.h"
#include "wire/request.h"

typedef struct kedge_wire_mutation {
    kedge_bytes client_id;
    int64_t id;
    kedge_bytes name;
    kedge_bytes args;        /* a JSON value as it was sent */
    bool args_are_canonical; /* set by the reader: it was sent as canonical JSON */
    int64_t timestamp_ms;
    kedge_bytes uid;              /* hexadecimal digits, or empty */
    kedge_bytes origin_client_id; /* empty: there is no origin */
    int64_t origin_id;
    int64_t mutator_version; /* that the client has; from 1 on, and 0 is taken for 1 */
    /* A server that lacks the mutator, or has an older version, is to leave it undecided. */
    bool waits;
    /* Set by the reader. */
    uint8_t digest[KEDGE_DIGEST_SIZE];
    const char *invalid_code; /* static storage; NULL: the mutation is valid */
    char invalid_message[256];
} kedge_wire_mutation;

/* A push that was read. Borrows from the body. */
typedef struct kedge_wire_push_request {
    bool supported; /* its pushVersion is ours; otherwise nothing else is read */
    bool native;    /* of libkedge */
    bool too_large; /* the mutations are a prefix of what was sent */
    char group_id[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    char schema_version[KEDGE_LIMIT_SCHEMA_VERSION_BYTES + 1]; /* as of a pull */
    kedge_wire_mutation *mutations;
    size_t count;
    kedge_bytes list; /* the elements of "mutations" as they were sent, without the brackets */
    char *text;       /* decoded strings that the mutations point into */
    size_t text_size;
    const kedge_allocator *allocator;
} kedge_wire_push_request;

/* The request of a native client: begin; its mutations; end. */
void kedge_wire_push_request_begin(kedge_json_writer *writer, const char *client_id,
                                   const char *schema_version);
void kedge_wire_push_request_mutation(kedge_json_writer *writer,
                                      const kedge_wire_mutation *mutation);
void kedge_wire_push_request_end(kedge_json_writer *writer, const char *client_id);

/* When the body was truncated at the size limit, reads the mutations that are complete. The errors
 * are those of wire/request.h, and name the place: "mutations[3].id". The caller must free `out` in
 * every case. */
kedge_status kedge_wire_push_request_read(const kedge_allocator *allocator,
                                          const kedge_wire_request *request,
                                          kedge_wire_push_request *out, kedge_error *error);
void kedge_wire_push_request_free(kedge_wire_push_request *request);
/* Writes a push that was read as a body again, with the same bytes for each mutation. */
void kedge_wire_push_request_copy(const kedge_wire_push_request *request, kedge_buffer *out);

/* The response to a push without a problem. */
typedef struct kedge_wire_push_response {
    bool native;     /* tells the following */
    bool queued;     /* it will be decided */
    int64_t version; /* the version that covers the whole push, unless it is queued */
} kedge_wire_push_response;

void kedge_wire_push_response_write(const kedge_wire_push_response *response, kedge_buffer *out);
/* KEDGE_PROTOCOL when the body is no such response. */
kedge_status kedge_wire_push_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                           kedge_wire_push_response *out, kedge_error *error);

#endif
