/* POST pull: one version of the project, as a difference from the version that a client has. */
#ifndef KEDGE_WIRE_PULL_H
#define KEDGE_WIRE_PULL_H

#include "wire/cookie.h"
#include "wire/outcomes.h"
#include "wire/patch.h"
#include "wire/replay.h"
#include "wire/request.h"

typedef struct kedge_wire_pull_request {
    char group_id[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    bool supported; /* its pullVersion is ours; otherwise nothing else is read */
    /* Of the app; "": none, or one that is longer, as a Replicache client may send. */
    char schema_version[KEDGE_LIMIT_SCHEMA_VERSION_BYTES + 1];
    kedge_wire_cookie cookie;
    bool native; /* of libkedge: the members below are there */
    char client_id[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    /* The outcomes of the client's mutations with these ids are requested, as far as they are
     * decided. */
    int64_t lowest_pending;
    int64_t highest_id;
    bool seen; /* the client has outcomes of another version than the cookie's */
    int64_t seen_version;
    char seen_lineage[KEDGE_WIRE_LINEAGE_SIZE];
} kedge_wire_pull_request;

/* The members for a native client. */
typedef struct kedge_wire_pull_response {
    int64_t from; /* the cookie's version that the patch starts from */
    int64_t version;
    char lineage[KEDGE_WIRE_LINEAGE_SIZE];
    int64_t lmid;  /* the client's last mutation id at `version` */
    bool retired;  /* the client */
    bool known;    /* the server has decided a mutation of the client, or has retired it */
    bool lost;     /* the project lacks the version of the cookie, or of `seen` */
    bool snapshot; /* the patch is empty: fetch the pages of `version` */
    kedge_wire_outcomes outcomes;
    kedge_wire_patch patch;
    kedge_wire_damaged damaged;
    kedge_wire_replay log; /* of a log project: in the place of the patch, which is empty */
} kedge_wire_pull_response;

/* The request of a native client. */
void kedge_wire_pull_request_write(const kedge_wire_pull_request *request, kedge_buffer *out);
/* The errors are those of wire/request.h. */
kedge_status kedge_wire_pull_request_read(const kedge_wire_request *request,
                                          kedge_wire_pull_request *out, kedge_error *error);

/* The response, from its front to its end: begin; a client for each lmid; patch_begin; operations;
 * patch_end; for a native client `native`; end. */
void kedge_wire_pull_response_begin(kedge_json_writer *writer, const kedge_wire_cookie *cookie);
void kedge_wire_pull_response_client(kedge_json_writer *writer, kedge_bytes client_id,
                                     int64_t lmid);
void kedge_wire_pull_response_patch_begin(kedge_json_writer *writer);
void kedge_wire_pull_response_patch_end(kedge_json_writer *writer);
/* "kedge":{…}: all of the struct but its patch. */
void kedge_wire_pull_response_native(kedge_json_writer *writer,
                                     const kedge_wire_pull_response *response);
void kedge_wire_pull_response_end(kedge_json_writer *writer);

/* Strict: returns KEDGE_PROTOCOL when the body is not exactly the response to a native client. The
 * caller must zero `out` before and free it, also after a failure. It borrows from the body. */
kedge_status kedge_wire_pull_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                           kedge_wire_pull_response *out, kedge_error *error);
void kedge_wire_pull_response_free(kedge_wire_pull_response *response);

#endif
