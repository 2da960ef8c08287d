/* Garbage collection: blobs that no version, and no checkpoint, refers to.
 *
 * Two runs are needed to remove a blob, at least `grace_ms` apart. The first run marks a blob that
 * is unreferenced and older than the grace (versions/blob.h). A later run removes it, if it is
 * still unreferenced and the mark is as old as the grace. So a body that was written and is not yet
 * committed is safe for as long as the grace. The grace must be longer than any push, fork or
 * import takes between its bodies and its commit. A writer that needs a marked blob again removes
 * the mark first, so no blob is removed that a commit refers to.
 *
 * These are referenced: the parts of all versions that are kept, the bodies of their deltas and of
 * the state before the oldest version, and the chunks of all checkpoints. When one of these cannot
 * be read, nothing is removed. Queued pushes are referenced by messages of the queue, which cannot
 * be listed; so their blobs are removed by age alone. */
#ifndef KEDGE_BACKEND_JOBS_GC_H
#define KEDGE_BACKEND_JOBS_GC_H

#include "backend/base/project.h"
#include "backend/jobs/key_set.h"
#include "backend/jobs/lines.h"
#include "backend/versioned/versions/versions.h"

#define KEDGE_GC_GRACE_MS  INT64_C(86400000)   /* a day */
#define KEDGE_GC_PUSHES_MS INT64_C(5184000000) /* 60 days: longer than a queue keeps a message */

typedef struct kedge_gc_options {
    int64_t grace_ms;          /* 0: KEDGE_GC_GRACE_MS */
    int64_t pushes_ms;         /* 0: KEDGE_GC_PUSHES_MS */
    bool remove;               /* otherwise nothing is changed, nor marked */
    const kedge_key_set *kept; /* blobs to be kept besides; NULL: none */
} kedge_gc_options;

typedef struct kedge_gc_result {
    int64_t blobs; /* of the project */
    int64_t bytes;
    int64_t unreferenced; /* of them, old or not */
    int64_t unreferenced_bytes;
    int64_t marked;  /* by this run */
    int64_t removed; /* by this run; without `remove`: that it would have removed */
    int64_t removed_bytes;
} kedge_gc_result;

/* A line for each blob that was or would be removed, {"garbage":KEY, "bytes"}, and one for the
 * summary. KEDGE_NOT_FOUND: no such project. KEDGE_CORRUPT: something that may refer to blobs is
 * damaged; nothing was removed. KEDGE_UNAVAILABLE: also when versions were removed meanwhile; run
 * it again. */
kedge_status kedge_gc_run(const kedge_project *project, const kedge_gc_options *options,
                          const kedge_lines *lines, kedge_gc_result *result, kedge_error *error);

#endif
