/* The backend: one object over the ports, one function for all requests.
 *
 * Front ends (HTTP server, Lambda, simulator) authenticate, hand a request to kedge_backend_handle
 * and send back the response. Everything else, routes and problem documents included, is the same
 * for all. Any thread may call; calls block in the ports. Correct with any number of backends over
 * the same ports: the version record is the only commit (docs/explanation/backend.md). */
#ifndef KEDGE_BACKEND_CORE_BACKEND_H
#define KEDGE_BACKEND_CORE_BACKEND_H

#include "backend/ports/blobs.h"
#include "backend/ports/cost.h"
#include "backend/ports/records.h"
#include "common/environment.h"
#include "mutate/registry.h"
#include "wire/body.h"

typedef struct kedge_backend kedge_backend;

/* How versions are written; readers do not care which wrote. */
typedef enum kedge_cadence {
    KEDGE_CADENCE_COMPACT, /* one conditional put; index rows and checkpoints afterwards */
    KEDGE_CADENCE_SEED     /* collection maps and mutation records in one transaction with it */
} kedge_cadence;

/* Who asks, as the front end has verified it. Strings are borrowed and never NULL. */
typedef struct kedge_identity {
    const char *user;
    const char *role;
    const char *organization; /* the only one it sees; "*" with admin or open mode: any */
    const char **projects;    /* the projects it may use; NULL: all of the organization */
    size_t project_count;
    bool admin;
} kedge_identity;

/* Work that no response waits for (background.h). */
typedef enum kedge_background {
    KEDGE_BACKGROUND_INDEX_ROWS,
    KEDGE_BACKGROUND_CHECKPOINTS,
    KEDGE_BACKGROUND_FORK_CHECKPOINTS,
    KEDGE_BACKGROUND_IMPORT_CHECKPOINTS,
    KEDGE_BACKGROUND_UPLOAD_REMOVAL,
    KEDGE_BACKGROUND_WORKS
} kedge_background;

/* "index-rows" and so on: as metrics and logs call it. */
const char *kedge_background_name(kedge_background work);

/* A failure of it. Nothing is lost: the work is done again later, or is not needed. */
typedef struct kedge_background_failure {
    kedge_background work;
    kedge_bytes organization;
    kedge_bytes project;
    const kedge_error *error;
} kedge_background_failure;

typedef struct kedge_backend_options {
    const kedge_environment *environment; /* must outlive the backend, like ports and registry */
    kedge_records records;
    kedge_blobs blobs;
    const kedge_registry *registry;
    kedge_cadence cadence;
    bool create_projects;     /* open mode: a project is created by its first use */
    size_t state_cache_bytes; /* states kept in memory; 0: 64 MiB */
    /* Called when a push or a retire has committed, or may have, with a version that covers it, on
     * the committing thread, without locks held. */
    void (*committed)(void *context, kedge_bytes organization, kedge_bytes project,
                      int64_t version);
    void *committed_context;
    /* Takes work that nobody waits for (checkpoints): calls `run(argument)` once, on any thread,
     * before kedge_backend_free. False: not taken. NULL: the committing thread does it, before the
     * push is answered. */
    bool (*later)(void *context, void (*run)(void *argument), void *argument);
    void *later_context;
    /* Told of each failure of background work, for metrics and logs. Any thread, which may hold
     * locks: it must not call the backend. NULL: nobody is told. */
    void (*failed)(void *context, const kedge_background_failure *failure);
    void *failed_context;
    /* Queued mode: takes a push of a native client durably, to be decided later; `push` is a body
     * as POST push has it. Then the push is answered. NULL: every push is decided before its
     * answer. */
    kedge_status (*enqueue)(void *context, kedge_bytes organization, kedge_bytes project,
                            const kedge_identity *identity, kedge_bytes push, kedge_error *error);
    void *enqueue_context;
    /* What the front end can carry, where that is less than the API's own limits; 0: no less. GET
     * /v1/limits tells both, and a delta over `answer_bytes_max` becomes a snapshot. */
    size_t push_bytes_max;
    size_t answer_bytes_max;
    /* Client ids that one user may begin with in a minute, and at once; 0: no limit. Counted in
     * this process alone. */
    int64_t new_clients_per_minute;
    /* Waits between two tries of a commit that lost a race; NULL: sleeps. */
    void (*pause)(void *context, int64_t ms);
    void *pause_context;
} kedge_backend_options;

kedge_status kedge_backend_new(const kedge_backend_options *options, kedge_backend **backend,
                               kedge_error *error);
void kedge_backend_free(kedge_backend *backend);

typedef struct kedge_api_request {
    kedge_bytes method; /* "GET", "POST", "PUT" */
    kedge_bytes path;   /* still percent-encoded, from "/v1" on, without the query */
    kedge_bytes query;  /* still percent-encoded, without '?' */
    kedge_bytes body; /* content encoding removed; at most KEDGE_LIMIT_PUSH_BYTES, or its prefix */
    bool body_truncated; /* the body was longer than that */
    bool accepts_gzip;
    kedge_bytes range; /* the Range header, or empty */
    const kedge_identity *identity;
} kedge_api_request;

typedef struct kedge_api_response {
    int status;
    const char *content_type;                  /* static storage */
    const char *content_encoding;              /* static storage, or NULL */
    bool immutable;                            /* may be cached for ever */
    int32_t retry_after_s;                     /* 0: none */
    char content_range[KEDGE_WIRE_RANGE_SIZE]; /* "" when none */
    kedge_buffer body;
    /* Of a 500 or 503, or of items that were left out; for the log alone: it may name what nobody
     * else should see. */
    kedge_error cause;
    int64_t damaged_items; /* that the answer leaves out because the backend has lost them */
    /* What the port calls of this thread would cost on AWS, when the ports stand behind a meter
     * (backend/ports/meter.h); what `later` took is not in it. */
    kedge_cost cost;
} kedge_api_response;

/* Answers every request of docs/reference/wire.md but events, health and metrics, which belong to
 * front ends. Always fills `response` (an internal failure is a problem document of its own);
 * `response->body` comes in made and empty. */
void kedge_backend_handle(kedge_backend *backend, const kedge_api_request *request,
                          kedge_api_response *response);

/* Writes a problem document; front ends use it for failures of their own. */
void kedge_api_problem(kedge_api_response *response, int status, const char *code,
                       const char *detail);

/* Whether what stands at this path is answered without an identity. */
bool kedge_api_is_for_everybody(kedge_bytes path);

/* For the event stream: checks that the identity may read the project and tells its current
 * version. KEDGE_NOT_FOUND, KEDGE_FORBIDDEN, or a transient failure. */
kedge_status kedge_backend_current_version(kedge_backend *backend, const kedge_identity *identity,
                                           kedge_bytes organization, kedge_bytes project,
                                           int64_t *version, kedge_error *error);

#endif
