/* What retention leaves: which versions are kept, and what stands for those that are not.
 *
 *   Retention    oldest (number), lineage: the oldest version that is kept. Without the record it
 *                is version 1
 *
 * The record of a version that is not kept is replaced by
 *
 *   gone (number, 1), lineage, created
 *
 * so that its key stays taken for ever: a process that has been asleep with an old head in memory
 * must not find the number behind it free. The lineage still tells whether a client's cookie is of
 * this history.
 *
 * Below the oldest version its checkpoints and the index rows are the truth: nothing else holds
 * them. Versions below it may still be whole while retention is at work; nobody is shown them. */
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

/* A version that a walk needs was not there: gone meanwhile (KEDGE_UNAVAILABLE: ask again), or lost
 * (KEDGE_CORRUPT). `wanted` is the version whose state or rows the walk is for. */
kedge_status kedge_retained_fail(const kedge_project *project, int64_t wanted, int64_t missing,
                                 kedge_error *error);

#endif
