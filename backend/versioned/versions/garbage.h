/* Marks on blobs that garbage collection has found nobody to refer to.
 *
 *   Garbage#{folder}/{sha256}   since (number): when it was found; state (text): "found-" and a
 *                               random token, or while it is being removed another token alone, and
 *                               claimed (number): since when
 *
 * A blob is named by its content, so that a writer may need one which is on its way out: it finds
 * the key taken and would rely on it. So a writer that finds a key taken looks for a mark. One that
 * is "found" it deletes, under the condition that it still is: the blob is wanted again, and is not
 * removed. The collector changes the mark from "found" to its token, under the same condition,
 * before it removes the blob: of the two, one wins. A writer that comes later waits until the blob
 * is gone, and puts its own. Every mark has a state of its own, so that no collector takes a mark
 * that another has put meanwhile, behind the back of a writer, for the one that it has read.
 *
 * A collector that died in between leaves its token, and perhaps the blob. Behind
 * KEDGE_GARBAGE_CLAIM_MS a writer takes the mark away: a collector that sleeps so long removes
 * nothing any more. Two clocks may differ: a claim from so far in the future is as dead, and one
 * from nearer is not. */
#ifndef KEDGE_BACKEND_VERSIONS_GARBAGE_H
#define KEDGE_BACKEND_VERSIONS_GARBAGE_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/model/layout.h"

#define KEDGE_GARBAGE_STATE_SIZE 48     /* with its NUL */
#define KEDGE_GARBAGE_CLAIM_MS   600000 /* ten minutes */

/* The key of a blob's mark; false when it is no blob of the project that is
 * named by its content. */
bool kedge_garbage_key(const kedge_project_ref *ref, kedge_bytes blob, kedge_key *mark);

/* For a writer that needs a blob whose key it has found taken: from now on nobody removes it.
 * Without `*kept` somebody may have removed it just before: put it once more. KEDGE_UNAVAILABLE: it
 * is being removed at this moment; try again. */
kedge_status kedge_garbage_keep(const kedge_project *project, kedge_bytes blob, bool *kept,
                                kedge_error *error);

/* ---- for the collector ---- */

typedef struct kedge_garbage_mark {
    kedge_key key;
    int64_t since_ms;
    int64_t claimed_ms; /* 0: not claimed */
    char state[KEDGE_GARBAGE_STATE_SIZE];
} kedge_garbage_mark;

bool kedge_garbage_read(const kedge_record *record, kedge_garbage_mark *mark);
bool kedge_garbage_is_found(const kedge_garbage_mark *mark);
/* A collector has claimed the mark, and has not died over it. */
bool kedge_garbage_is_claimed(const kedge_garbage_mark *mark, int64_t now_ms);

/* Each fails with KEDGE_CONFLICT when the mark is no longer what it was. */

/* "found" now, of a blob without a mark, or of one whose collector has died. */
kedge_status kedge_garbage_put(const kedge_project *project, const kedge_key *key,
                               const kedge_garbage_mark *before, kedge_error *error);
kedge_status kedge_garbage_claim(const kedge_project *project, kedge_garbage_mark *mark,
                                 kedge_error *error);
kedge_status kedge_garbage_delete(const kedge_project *project, const kedge_garbage_mark *mark,
                                  kedge_error *error);

#endif
