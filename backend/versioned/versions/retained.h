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
#ifndef KEDGE_BACKEND_VERSIONS_RETAINED_H
#define KEDGE_BACKEND_VERSIONS_RETAINED_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/versions/versions.h"

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
