/* Retention: versions that need not be kept any more are removed, the oldest first.
 *
 * R is the oldest version to be kept. Two things replace the versions below R: the checkpoint of
 * every collection as it was before R, and the index rows of these versions. First both are checked
 * against the versions, and written where they are missing. Then the record
 * `Retention` says that R is the oldest: this is the commit. Then the older version records are
 * replaced by their lineage (versions/versions.h), and older checkpoints are removed. Blobs that
 * nothing refers to any more are left to garbage collection (gc.h).
 *
 * Pushes and reads may go on meanwhile. A retention that was interrupted continues when it is run
 * again. */
#ifndef KEDGE_BACKEND_JOBS_RETENTION_H
#define KEDGE_BACKEND_JOBS_RETENTION_H

#include "backend/base/project.h"
#include "backend/jobs/lines.h"
#include "backend/versioned/versions/versions.h"

/* A version is kept when any part of the rule keeps it, and the newest always. With neither part
 * all versions are kept. */
typedef struct kedge_retention_rule {
    int64_t versions; /* the newest so many; 0: no part of the rule */
    int64_t age_ms;   /* those that are no older; 0: no part of the rule */
} kedge_retention_rule;

typedef struct kedge_retention_result {
    int64_t oldest_before;
    int64_t oldest;
    int64_t newest;
    int64_t checkpoints; /* removed; not counted without `remove` */
} kedge_retention_result;

/* Without `remove` only tells what would be the oldest version. One line:
 *   {"retained", "oldest", "newest", "oldest_before", "removed"}
 * KEDGE_NOT_FOUND: no such project.
 * KEDGE_CORRUPT: a checkpoint or row that would replace the old versions is damaged; nothing was
 * removed. KEDGE_UNAVAILABLE: also "retention-raced", another retention of the project ran
 * meanwhile; run it again. */
kedge_status kedge_retention_run(const kedge_project *project, const kedge_retention_rule *rule,
                                 bool remove, const kedge_lines *lines,
                                 kedge_retention_result *result, kedge_error *error);

#endif
