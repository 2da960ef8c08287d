/* The versions of a project: loading them, and what retention leaves. */
#ifndef KEDGE_BACKEND_VERSIONS_VERSIONS_H
#define KEDGE_BACKEND_VERSIONS_VERSIONS_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/model/version.h"

/* What a project was created as, for ever. */
typedef enum kedge_project_kind {
    KEDGE_PROJECT_VERSIONS, /* the server runs mutators, and keeps versions */
    KEDGE_PROJECT_LOG       /* the server appends mutations to a log, and replays decide them */
} kedge_project_kind;
#define KEDGE_PROJECT_KIND_LOG "log" /* the attribute `kind` of a project's record */
kedge_project_kind kedge_project_kind_of(const kedge_record *record);

/* How much of a version is read: each has what those before it have. The args of mutations may be
 * large, and stand in blobs; hardly any reader needs them. */
typedef enum kedge_version_detail {
    KEDGE_VERSION_RUNS,     /* the scalars and the runs */
    KEDGE_VERSION_OUTCOMES, /* the mutations, but their args */
    KEDGE_VERSION_STATE,    /* the collections and the delta */
    KEDGE_VERSION_WHOLE     /* the args */
} kedge_version_detail;

/* Version `number` of a project; 0 asks for the newest, with a consistent read. KEDGE_NOT_FOUND
 * when there is no such version; for the newest: no such project. A log project's history may read
 * more than `detail`. Release each version once. */
kedge_status kedge_version_load_detail(const kedge_project *project, int64_t number,
                                       kedge_version_detail detail, const kedge_version **version,
                                       kedge_error *error);
/* All of it. */
kedge_status kedge_version_load(const kedge_project *project, int64_t number,
                                const kedge_version **version, kedge_error *error);

/* Up to `limit` versions below `before` (0: from the newest), newest first. */
kedge_status kedge_version_list(const kedge_project *project, int64_t before, uint32_t limit,
                                kedge_version_detail detail, const kedge_version **versions,
                                size_t *count, kedge_error *error);

/* Makes the state before the first version: number 0, and the lineage in the record of the
 * project's creation. Returns KEDGE_NOT_FOUND when there is no such project, and KEDGE_UNSUPPORTED
 * "project-kind" for a log project whose handle has no history: the caller does not know of such
 * projects. */
kedge_status kedge_version_load_creation(const kedge_project *project,
                                         const kedge_version **version, kedge_error *error);

/* Whether the record of version `number` has this lineage, by a consistent read; that of a version
 * which is no longer kept still tells. A version without a record counts as having it, since
 * nothing can contradict. `*gone` (may be NULL): there is no such version, or it is no longer
 * kept. */
kedge_status kedge_version_has_lineage(const kedge_project *project, int64_t number,
                                       kedge_bytes lineage, bool *same, bool *gone,
                                       kedge_error *error);
/* The lineage of version `number`, also when it is no longer kept. KEDGE_NOT_FOUND: no record. */
kedge_status kedge_version_lineage(const kedge_project *project, int64_t number,
                                   char lineage[KEDGE_LINEAGE_HEX], kedge_error *error);
/* Whether there is or was a version of this number and lineage: what a client says that it has. */
kedge_status kedge_version_is_known(const kedge_project *project, int64_t number,
                                    const char *lineage, bool *known, kedge_error *error);

/* ---- what retention leaves ---- */

/* What retention leaves: which versions are kept, and what stands for those that are not.
 *
 *   Retention    oldest (number), lineage: the oldest version that is kept. Without the record it
 *                is version 1
 *
 * The record of a version that is not kept is replaced by
 *
 *   gone (number, 1), lineage, created
 *
 * so that its key exists for ever: a process that was suspended with an old head in memory must not
 * find the next number free. The lineage still tells whether a client's cookie is of this history.
 *
 * Data from below the oldest version is only in that version's checkpoints and in the index rows.
 * Versions below it may still exist while retention is at work; readers do not see them. */

/* The oldest version that is kept, by a consistent read. */
kedge_status kedge_retained_oldest(const kedge_project *project, int64_t *oldest,
                                   kedge_error *error);

/* What stands for a version that is no longer kept. */
bool kedge_retained_is_gone(const kedge_record *record);

/* Returns the error for a version that a reader needs and does not find: KEDGE_UNAVAILABLE when it
 * was removed meanwhile (try again), or KEDGE_CORRUPT when it is lost. `wanted` is the version
 * whose state or rows are read. */
kedge_status kedge_retained_fail(const kedge_project *project, int64_t wanted, int64_t missing,
                                 kedge_error *error);

#endif
