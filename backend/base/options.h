/* The options of a backend, and the identity of a caller. */
#ifndef KEDGE_BACKEND_BASE_OPTIONS_H
#define KEDGE_BACKEND_BASE_OPTIONS_H

#include "backend/base/policy.h"
#include "backend/ports/blobs.h"
#include "backend/ports/cost.h"
#include "backend/ports/records.h"
#include "common/environment.h"
#include "mutate/registry.h"
#include "wire/body.h"

typedef struct kedge_backend kedge_backend;

/* How versions are written; readers read both. */
typedef enum kedge_cadence {
    KEDGE_CADENCE_COMPACT, /* one conditional put; index rows and checkpoints afterwards */
    KEDGE_CADENCE_SEED     /* collection maps and mutation records in one transaction with it */
} kedge_cadence;

#define KEDGE_USER_BYTES_MAX 255 /* of the name of a user */

/* The caller, as the front end has verified it. Strings are borrowed and never NULL. */
typedef struct kedge_identity {
    const char *user;
    const char *role;
    const char *organization; /* the only one it sees; "*" with admin or open mode: any */
    const char **projects;    /* the projects it may use; NULL: all of the organization */
    size_t project_count;
    bool admin;
} kedge_identity;

/* Work for which no response waits (background.h). */
typedef enum kedge_background {
    KEDGE_BACKGROUND_INDEX_ROWS,
    KEDGE_BACKGROUND_CHECKPOINTS,
    KEDGE_BACKGROUND_CHECKPOINT_READS,
    KEDGE_BACKGROUND_FORK_CHECKPOINTS,
    KEDGE_BACKGROUND_IMPORT_CHECKPOINTS,
    KEDGE_BACKGROUND_UPLOAD_REMOVAL,
    KEDGE_BACKGROUND_LOG_BODIES,
    KEDGE_BACKGROUND_LOG_SNAPSHOTS,
    KEDGE_BACKGROUND_USAGE,
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

/* The budgets of an organization that the backend counts itself. */
#define KEDGE_USAGE_PROJECTS "organization_projects"
#define KEDGE_USAGE_STORED   "organization_stored_bytes"

#define KEDGE_BUDGET_MAX INT64_C(1000000000000) /* of any budget */

typedef struct kedge_backend_options {
    const kedge_environment *environment; /* must outlive the backend, like ports and registry */
    kedge_records records;
    kedge_blobs blobs;
    const kedge_registry *registry;
    kedge_policy *policy; /* NULL: each role may call all mutators; must outlive the backend */
    kedge_cadence cadence;
    bool create_projects;     /* open mode: a project is created by its first use */
    size_t state_cache_bytes; /* states kept in memory; 0: 64 MiB */
    /* Bodies of log entries over this are blobs; 0: KEDGE_LOG_INLINE_BYTES (backend/log). */
    size_t log_inline_bytes;
    /* The records have no transactions: resources are written in the article's order, one record
     * at a time (backend/resource/in_order.c). Not to be changed for a store that has resources. */
    bool resources_in_order;
    /* Called when a push, a retire, a fork or a redelivery has committed, or may have, with a
     * version that covers it, on the committing thread, without locks held. */
    void (*committed)(void *context, kedge_bytes organization, kedge_bytes project,
                      int64_t version);
    void *committed_context;
    /* Called when an entry was appended to a log, or may have been, with its number; likewise. */
    void (*appended)(void *context, kedge_bytes organization, kedge_bytes project, kedge_bytes log,
                     int64_t number);
    void *appended_context;
    /* Takes work for which no response waits (checkpoints): must call `run(argument)` once, on any
     * thread, before kedge_backend_free, or return false. NULL: the committing thread does the work
     * before it responds to the push. */
    bool (*later)(void *context, void (*run)(void *argument), void *argument);
    void *later_context;
    /* Somebody follows the stream of the records (backend/effects): a log project asks for a
     * snapshot that is due by an entry. Otherwise it is made as work for `later`. */
    bool stream_is_followed;
    /* Called for each failure of background work, for metrics and logs, on any thread, which may
     * hold locks: must not call the backend. May be NULL. */
    void (*failed)(void *context, const kedge_background_failure *failure);
    void *failed_context;
    /* Queued mode: stores a push of a native client durably, to be decided later, before the
     * backend responds; `push` is a body of POST push. NULL: every push is decided before the
     * response. */
    kedge_status (*enqueue)(void *context, kedge_bytes organization, kedge_bytes project,
                            const kedge_identity *identity, kedge_bytes push, kedge_error *error);
    void *enqueue_context;
    /* The limits of the front end, where they are lower than those of the API; 0: not lower. GET
     * /v1/limits has both, and a delta over `response_bytes_max` becomes a snapshot. */
    size_t push_bytes_max;
    size_t response_bytes_max;
    /* Client ids that one user may begin with in a minute, and at once; 0: no limit. Counted in
     * this process alone. */
    int64_t new_clients_per_minute;
    /* Of an organization: the most projects, and bytes that were stored for it (backend/versioned/
     * usage/usage.h); 0: no limit. */
    int64_t organization_projects;
    int64_t organization_stored_bytes;
    /* Writes the member `budgets` of GET /v1/limits, one value; NULL: the front end has none. */
    void (*write_budgets)(const void *context, kedge_json_writer *writer);
    const void *write_budgets_context;
    /* Waits between two tries of a commit that lost a race; NULL: sleeps. */
    void (*pause)(void *context, int64_t ms);
    void *pause_context;
} kedge_backend_options;

#endif
