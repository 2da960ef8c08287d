/* Rebases: the mutations of a range of one project's versions, replayed on top of another.
 *
 * A job replays them in their canonical order, the rejected ones too, with their timestamps and
 * users, as mutations 1, 2, 3… of the client "rebase-{job}", each with its origin: the client and
 * id that it had first. The rules of pushes do the rest: what the job has decided already is
 * skipped, what the target has decided under its origin is a duplicate, and a job that was
 * interrupted continues.
 *
 * Left out: mutations that were duplicates in the source (their originals were decided elsewhere,
 * before or after them), and retirements of clients (the target has clients of its own). A client
 * that the target knows, and that is the origin of replayed mutations, is retired in the target
 * first, so that it cannot push the same mutations under their first ids. */
#ifndef KEDGE_BACKEND_PROJECTS_REBASE_H
#define KEDGE_BACKEND_PROJECTS_REBASE_H

#include "backend/base/project.h"
#include "backend/versioned/commit/processor.h"

/* One call replays whole versions, up to the one that passes any of these. */
#define KEDGE_REBASE_VERSIONS_MAX    64
#define KEDGE_REBASE_GENERATIONS_MAX 64 /* of forks that the target comes from */
#define KEDGE_REBASE_MUTATIONS_MAX   256
#define KEDGE_REBASE_ARGS_BYTES      4194304

/* A place in the source: the next version, and the id of its first mutation in the job. */
typedef struct kedge_rebase_place {
    int64_t version;
    int64_t id;
} kedge_rebase_place;

typedef struct kedge_rebase_job {
    const kedge_project *from;
    int64_t from_version; /* the first and the last version of the range */
    int64_t to_version;
    const kedge_project *to;   /* of the same backend */
    kedge_bytes job;           /* [A-Za-z0-9_-], short enough for a client id */
    const char *role;          /* of the callers that mutators see */
    kedge_rebase_place resume; /* version 0: from the beginning */
} kedge_rebase_job;

/* The outcome of one mutation of the source. Borrowed. */
typedef struct kedge_rebase_outcome {
    int64_t from_version;
    const kedge_version_mutation *from; /* as the source has it */
    int64_t id;                         /* in the job; 0: it was left out */
    int64_t version;                    /* of the target, which decided it */
    const kedge_version_mutation *decided;
} kedge_rebase_outcome;

typedef kedge_status (*kedge_rebase_visit)(void *context, const kedge_rebase_outcome *outcome,
                                           kedge_error *error);

/* Replays a part of the range and visits the outcomes of that part; `*next` is where the next call
 * resumes, version 0 when all is done; `*version` is a version of the target that covers it.
 * KEDGE_NOT_FOUND: a project or version is not there. KEDGE_CONFLICT: "job-mismatch", the job has
 * replayed other mutations before; "rebase-range-in-base", the target, or what it was forked from,
 * has the first version already; "mutator-unknown", this backend has no mutator for what the source
 * applied. KEDGE_INVALID_ARGUMENT: "rebase-invalid". After these nothing of the part was applied;
 * clients that the target knows may be retired. */
kedge_status kedge_rebase_run(const kedge_rebase_job *rebase, kedge_rebase_visit visit,
                              void *context, kedge_rebase_place *next, int64_t *version,
                              kedge_error *error);

#endif
