/* POST clients/{client}/retire: retires a client and tells the outcomes of its mutations. */
#ifndef KEDGE_WIRE_RETIRE_H
#define KEDGE_WIRE_RETIRE_H

#include "wire/cookie.h"
#include "wire/outcomes.h"
#include "wire/request.h"

#include <kedge/limits.h>

/* A mutation id of each of some clients. */
typedef struct kedge_wire_client_mark {
    char client_id[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    int64_t id;
} kedge_wire_client_mark;

typedef struct kedge_wire_client_marks {
    size_t count;
    kedge_wire_client_mark marks[KEDGE_LIMIT_EARLIER_CLIENTS];
} kedge_wire_client_marks;

typedef struct kedge_wire_retire_request {
    char group_id[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    int64_t lowest_pending;
    /* When the client goes over to a state of another lineage: the cookie of that state. Otherwise
     * null. A server that does not know this version retires nothing. */
    kedge_wire_cookie cookie;
    kedge_wire_client_marks earlier; /* the clients whose lmids are requested; the ids are 0 */
} kedge_wire_retire_request;

typedef struct kedge_wire_retire_response {
    int64_t version;
    char lineage[KEDGE_WIRE_LINEAGE_SIZE];
    int64_t lmid;
    kedge_wire_client_marks earlier; /* the lmids of the clients that the request named */
    kedge_wire_outcomes outcomes;
} kedge_wire_retire_response;

/* Appends the path of the request. */
void kedge_wire_retire_path_write(const char *client_id, kedge_buffer *path);
void kedge_wire_retire_request_write(const kedge_wire_retire_request *request, kedge_buffer *out);
/* The errors are those of wire/request.h. */
kedge_status kedge_wire_retire_request_read(const kedge_wire_request *request,
                                            kedge_wire_retire_request *out, kedge_error *error);

void kedge_wire_retire_response_write(const kedge_wire_retire_response *response,
                                      kedge_buffer *out);
/* Strict: returns KEDGE_PROTOCOL when the body is not exactly such a response. The caller must zero
 * `out` before and free it, also after a failure. */
kedge_status kedge_wire_retire_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                             kedge_wire_retire_response *out, kedge_error *error);
void kedge_wire_retire_response_free(kedge_wire_retire_response *response);

#endif
