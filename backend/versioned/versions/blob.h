/* Blobs as the backend puts and reads them: gzip, named by the hash of what is inside; and the
 * marks on those that are garbage. */
#ifndef KEDGE_BACKEND_VERSIONS_BLOB_H
#define KEDGE_BACKEND_VERSIONS_BLOB_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/model/layout.h"

/* Makes `compressed` durable under a key that is the hash of its content; an existing blob has the
 * same content and is kept. Returns KEDGE_UNAVAILABLE also when the blob is being removed as
 * garbage: try again. */
kedge_status kedge_blob_put(const kedge_project *project, const kedge_key *key,
                            kedge_bytes compressed, kedge_error *error);

/* The same of plain bytes, which are stored as gzip. */
kedge_status kedge_blob_put_plain(const kedge_project *project, const kedge_key *key,
                                  kedge_bytes plain, kedge_error *error);

/* The same, but a blob that exists is read, and is replaced when it is damaged. `quick`: as
 * kedge_gzip_quick does. */
kedge_status kedge_blob_put_checked(const kedge_project *project, const kedge_key *key,
                                    kedge_bytes plain, bool quick, kedge_error *error);

/* Appends the body of an item, its hash checked, to `plain`, and what is stored to `stored` (NULL:
 * not wanted). Returns KEDGE_CORRUPT, "item-body-missing" or "item-body-damaged", when the body is
 * lost or has another hash. */
kedge_status kedge_blob_body(const kedge_project *project, kedge_bytes collection,
                             const uint8_t hash[KEDGE_SHA256_SIZE], kedge_buffer *stored,
                             kedge_buffer *plain, kedge_error *error);

/* ---- marks of garbage ---- */

/* Marks on blobs to which garbage collection has found no reference.
 *
 *   Garbage#{folder}/{sha256}   since (number): when it was found; state (text): "found-" and a
 *                               random token, or while it is being removed another token alone, and
 *                               claimed (number): since when
 *
 * A blob is named by its content, so a writer may need a blob that is about to be removed: it finds
 * that the key exists and would rely on it. So a writer that finds an existing key looks for a
 * mark. When the mark is "found", the writer deletes it, under the condition that it is unchanged,
 * and the blob is kept. The collector changes the mark from "found" to its token, under the same
 * condition, before it removes the blob, so only one of the two succeeds. A writer that comes later
 * waits until the blob is removed, and puts it again. Every mark has a random token in its state,
 * so that a collector cannot mistake a mark that another collector has put meanwhile for the one
 * that it has read.
 *
 * A collector that was interrupted leaves its token, and perhaps the blob. After
 * KEDGE_GARBAGE_CLAIM_MS a writer deletes the mark, since a collector that was suspended for so
 * long does not remove the blob any more. Clocks may differ, so a claim up to this time in the
 * future is valid, and one further in the future counts as expired. */

#define KEDGE_GARBAGE_STATE_SIZE 48     /* with its NUL */
#define KEDGE_GARBAGE_CLAIM_MS   600000 /* ten minutes */

/* The key of a blob's mark; false when it is not a blob of the project that is
 * named by its content. */
bool kedge_garbage_key(const kedge_project_ref *ref, kedge_bytes blob, kedge_key *mark);

/* Call it when a writer needs a blob whose key exists: no collector removes the blob from now on.
 * When `*kept` is false, the blob may have been removed just before: put it once more. Returns
 * KEDGE_UNAVAILABLE when it is being removed: try again. */
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
/* A collector has claimed the mark, and the claim has not expired. */
bool kedge_garbage_is_claimed(const kedge_garbage_mark *mark, int64_t now_ms);

/* Each returns KEDGE_CONFLICT when the mark has changed. */

/* Marks a blob as "found" now: one without a mark, or one with an expired claim. */
kedge_status kedge_garbage_put(const kedge_project *project, const kedge_key *key,
                               const kedge_garbage_mark *before, kedge_error *error);
kedge_status kedge_garbage_claim(const kedge_project *project, kedge_garbage_mark *mark,
                                 kedge_error *error);
kedge_status kedge_garbage_delete(const kedge_project *project, const kedge_garbage_mark *mark,
                                  kedge_error *error);

#endif
