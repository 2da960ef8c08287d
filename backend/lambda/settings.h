/* The settings of the function, from environment variables. An empty variable counts as not set.
 * docs/reference/lambda.md describes them.
 *
 *   KEDGE_TABLE, KEDGE_BUCKET    the stores on AWS
 *   KEDGE_QUEUE                  the FIFO queue; needed by queued mode
 *   KEDGE_SNAPSHOTS              the FIFO queue of snapshots; needed to follow the stream
 *   KEDGE_DATA                   instead of these: a folder, for trials on one machine
 *   KEDGE_MODE                   direct (default) or queued: how a push is answered
 *   KEDGE_STREAM                 ignored (default) or followed: whether a function follows the
 *                                table's stream, and makes the snapshots of log projects
 *   KEDGE_CLAIM_BYTES            larger messages go through blobs
 *   KEDGE_CADENCE                compact (default) or seed
 *   KEDGE_JWKS                   the key set: its text, or a file in the package
 *   KEDGE_ISSUER, KEDGE_AUDIENCE what the claims iss and aud must be
 *   KEDGE_ALGORITHMS             accepted signatures
 *   KEDGE_ORIGINS                web origins that may read responses, with commas between
 *   KEDGE_MUTATORS               the app's plugin library in the package
 *   KEDGE_BUILTINS               which built-in mutators may be pushed; all by default
 *   KEDGE_POLICY                 which role may call which mutators: its text, or a file in the
 *                                package
 *   KEDGE_ORGANIZATION_PROJECTS, KEDGE_ORGANIZATION_STORED_BYTES
 *                                the most that an organization may have; 0 (default): no limit
 *   KEDGE_LOG_LEVEL              error, warning, info (default) or debug
 *   KEDGE_COST_HEADER            no (default) or yes: responses tell what they cost
 *
 * A function that only consumes the queue has no KEDGE_JWKS, KEDGE_ISSUER and KEDGE_AUDIENCE. */
#ifndef KEDGE_BACKEND_LAMBDA_SETTINGS_H
#define KEDGE_BACKEND_LAMBDA_SETTINGS_H

#include "backend/api/api.h"
#include "backend/front/logger.h"
#include "backend/front/origins.h"
#include "backend/stores/stores.h"

#define KEDGE_SETTINGS_QUEUE_SIZE 96 /* of the name of a queue, with a NUL */
/* With KEDGE_DATA: the name of the queue in the batches of the queue of snapshots. */
#define KEDGE_SETTINGS_SNAPSHOTS "snapshots.fifo"

typedef struct kedge_settings {
    kedge_stores_options stores;
    char snapshots[KEDGE_SETTINGS_QUEUE_SIZE]; /* the name of that queue, also of one by URL */
    bool followed;
    bool queued;
    uint32_t claim_bytes;
    kedge_cadence cadence;
    bool tokens; /* it can check tokens, and so answers requests */
    char *jwks;  /* text */
    const char *issuer;
    const char *audience;
    const char *algorithms;
    char *mutators;       /* path */
    const char *builtins; /* as --builtins of kedge-server; NULL: all */
    char *policy;         /* text; NULL: each role may call all */
    char *origin_text;
    kedge_cors_origins origins; /* borrow from origin_text */
    int64_t organization_projects;
    int64_t organization_stored_bytes;
    kedge_logger_level log_level;
    bool cost_header;
} kedge_settings;

kedge_status kedge_settings_read(const kedge_allocator *allocator, kedge_settings *settings,
                                 kedge_error *error);
/* The budgets among them as a JSON object: what GET /v1/limits tells. */
void kedge_settings_write_budgets(const void *settings, kedge_json_writer *writer);
void kedge_settings_free(const kedge_allocator *allocator, kedge_settings *settings);

/* A file of the package: `name` under LAMBDA_TASK_ROOT, or as it is when it is absolute or there is
 * no such variable. NULL: no memory. Free with kedge_release. */
char *kedge_settings_file(const kedge_allocator *allocator, const char *name);

#endif
