/* The backend: one object over the ports, one function for all requests.
 *
 * Front ends (HTTP server, Lambda, simulator) authenticate, hand a request to kedge_backend_handle
 * and send back the response. Everything else, routes and problem documents included, is the same
 * for all. Any thread may call; calls block in the ports. Correct with any number of backends over
 * the same ports: the version record is the only commit (docs/explanation/backend.md). */
#ifndef KEDGE_BACKEND_API_API_H
#define KEDGE_BACKEND_API_API_H

#include "backend/base/options.h"
#include "wire/body.h"

kedge_status kedge_backend_new(const kedge_backend_options *options, kedge_backend **backend,
                               kedge_error *error);
void kedge_backend_free(kedge_backend *backend);

typedef struct kedge_api_request {
    kedge_bytes method;  /* "GET", "POST", "PUT" */
    kedge_bytes path;    /* still percent-encoded, from "/v1" on, without the query */
    kedge_bytes query;   /* still percent-encoded, without '?' */
    kedge_bytes body;    /* without its content encoding; the first KEDGE_LIMIT_PUSH_BYTES */
    bool body_truncated; /* the body was longer */
    bool accepts_gzip;
    bool takes_parts; /* the response may have a rest */
    /* The request was admitted before, and its response was `unfinished`. Access is checked again.
     * Budgets and the limit of new clients are not, because a refusal would say that nothing of the
     * request was done. */
    bool goes_on;
    kedge_bytes range; /* the Range header, or empty */
    const kedge_identity *identity;
    /* Returns whether there is room for `size` bytes. It is asked while a response that may become
     * large is made as a whole, and for an upload before it is unpacked. NULL: there is always
     * room. */
    bool (*has_room)(void *context, size_t size);
    void *room_context;
} kedge_api_request;

#define KEDGE_API_METHODS_SIZE                                                                     \
    (sizeof "GET, HEAD, POST, PUT, DELETE, OPTIONS") /* all that there are */

typedef struct kedge_api_response kedge_api_response;

/* A mutator that this server lacks, or has in an older version, and that a mutation waits for. */
typedef struct kedge_missing_mutator {
    char organization[KEDGE_LIMIT_NAME_BYTES + 1];
    char project[KEDGE_LIMIT_NAME_BYTES + 1];
    char mutator[KEDGE_LIMIT_NAME_BYTES + 1];
    int64_t wanted; /* the version; 0: there is none */
    int64_t here;   /* the version; 0: there is no such mutator */
} kedge_missing_mutator;

/* The part of a large response that is not written yet. It holds no version in memory, only the
 * name of the version and the place where the next part begins. */
typedef struct kedge_api_rest {
    void *context; /* NULL: nothing; the body is whole */
    /* Appends at least one byte to the body, and ends after the piece with which it has more than
     * `most` bytes. KEDGE_DONE: the response is complete. */
    kedge_status (*write)(void *context, size_t most, kedge_api_response *response,
                          kedge_error *error);
    void (*free)(void *context);
} kedge_api_rest;

struct kedge_api_response {
    int status;
    const char *content_type;                  /* static storage */
    const char *content_encoding;              /* static storage, or NULL */
    bool immutable;                            /* may be cached for ever */
    int32_t retry_after_s;                     /* 0: none */
    char content_range[KEDGE_WIRE_RANGE_SIZE]; /* "" when none */
    char allow[KEDGE_API_METHODS_SIZE];        /* of a 405: the path's methods; "" when none */
    kedge_buffer body;
    /* The cause of a 500 or 503, or of items that were left out. Only for the log: it may contain
     * names that users must not see. */
    kedge_error cause;
    /* The schema version that the app says it has; "": none. Only for the log. */
    char schema_version[KEDGE_LIMIT_SCHEMA_VERSION_BYTES + 1];
    /* The request has made an administrative change, or after a failure may have made one. `other`
     * is another project that the request names, or "". For the audit log. */
    bool changed;
    char other[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_missing_mutator missing; /* the push was refused with `server-too-old`; for the log */
    bool unfinished;               /* a part is done; the same request, sent again, does more */
    /* The budget that refused the request, KEDGE_USAGE_PROJECTS or KEDGE_USAGE_STORED; or NULL. */
    const char *exceeded;
    int64_t damaged_items; /* items left out of the response because the backend has lost them */
    /* What the port calls of the request would cost on AWS, without the work that `later` took.
     * Zero unless the ports have a meter (backend/ports/meter.h). */
    kedge_cost cost;
    kedge_api_rest rest; /* what is to follow the body, when the request takes parts */
};

#define KEDGE_API_PART_BYTES 524288 /* a part of a response ends after the piece that passes it */

/* Handles every request of docs/reference/wire.md except events, health and metrics, which belong
 * to front ends. Always fills `response` (an internal failure is a problem document of its own).
 * The caller initializes `response->body` as an empty buffer. */
void kedge_backend_handle(kedge_backend *backend, const kedge_api_request *request,
                          kedge_api_response *response);

/* Appends the next part to the body of a response with a rest. After the last part, and after a
 * failure, the response has no rest any more. A failure also becomes the response's `cause`. Since
 * the status may have been sent, the front end must then cut the transfer. Any thread, one at a
 * time. */
kedge_status kedge_api_go_on(kedge_api_response *response, size_t most, kedge_error *error);
void kedge_api_rest_free(kedge_api_response *response);

/* Writes a problem document; front ends use it for failures of their own. */
void kedge_api_problem(kedge_api_response *response, int status, const char *code,
                       const char *detail);

/* 405. `methods` are those that the path has, joined by ", ", without OPTIONS, which all have. */
void kedge_api_problem_of_method(kedge_api_response *response, const char *methods);

/* The problem of a budget that is used up: 429, with the time after which to try again. */
void kedge_api_problem_of_budget(kedge_api_response *response, const char *name, int64_t bound,
                                 int32_t retry_after_s);

/* Returns whether a request to this path needs no identity. */
bool kedge_api_is_for_everybody(kedge_bytes path);

/* For the event stream: checks that the identity may read the project and gives its current
 * version. KEDGE_NOT_FOUND, KEDGE_FORBIDDEN, or a transient failure. */
kedge_status kedge_backend_current_version(kedge_backend *backend, const kedge_identity *identity,
                                           kedge_bytes organization, kedge_bytes project,
                                           int64_t *version, kedge_error *error);

/* The same for a look that nobody asked for: it makes no project, where the first use makes one. */
kedge_status kedge_backend_newest_version(kedge_backend *backend, const kedge_identity *identity,
                                          kedge_bytes organization, kedge_bytes project,
                                          int64_t *version, kedge_error *error);

/* The same for the stream of a log: the number of its last entry. */
kedge_status kedge_backend_current_number(kedge_backend *backend, const kedge_identity *identity,
                                          kedge_bytes organization, kedge_bytes project,
                                          kedge_bytes log, int64_t *number, kedge_error *error);

#endif
