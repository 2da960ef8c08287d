/* Retention: versions that need not be kept any more are removed, the oldest first.
 *
 * What is left below the oldest version R that is kept is the truth from then on: the checkpoint of
 * every collection as it was in front of R, made sure of against the fold of the deltas, and the
 * index rows of all versions below R, made sure of as well. Only then the record `Retention` says
 * that R is the oldest one: this is the commit. Then the older version records are replaced by
 * their lineage (versions/versions.h), and older checkpoints are removed. Blobs that nothing
 * refers to any more are left to garbage collection (gc.h).
 *
 * May run beside pushes and readers, and be broken off anywhere: run again, it goes on. */
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
 * KEDGE_CORRUPT: something that would have to stand for the old versions is damaged; nothing was
 * removed. KEDGE_UNAVAILABLE: also when two of them met; run it again. */
kedge_status kedge_retention_run(const kedge_project *project, const kedge_retention_rule *rule,
                                 bool remove, const kedge_lines *lines,
                                 kedge_retention_result *result, kedge_error *error);

#endif
