/* The options of a backend, and who asks it. */
#ifndef KEDGE_BACKEND_BASE_OPTIONS_H
#define KEDGE_BACKEND_BASE_OPTIONS_H

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
    KEDGE_BACKGROUND_CHECKPOINT_READS,
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

#endif
