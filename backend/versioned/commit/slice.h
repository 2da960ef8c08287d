/* A slice: the part of a push that becomes one version, run on the state of the head.
 *
 * A slice ends before the version record would be too large, by its mutations, clients, bytes of
 * args or bytes changed, and when the thread's deadline says so. It has at least one mutation. The
 * deadline also stops a mutation while it runs: then the slice has those that ran before, if any
 * did. */
#ifndef KEDGE_BACKEND_COMMIT_SLICE_H
#define KEDGE_BACKEND_COMMIT_SLICE_H

#include "backend/base/project.h"
#include "backend/versioned/commit/plan.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/state/state_internal.h"
#include "mutate/transaction.h"

#define KEDGE_SLICE_MUTATIONS_MAX 1000
#define KEDGE_SLICE_RUNS_MAX      64
#define KEDGE_SLICE_TEXT_BYTES    200000                 /* of mutations without their args */
#define KEDGE_SLICE_ARGS_BYTES    KEDGE_LIMIT_ARGS_BYTES /* one mutation may have as many */
#define KEDGE_SLICE_CHANGED_BYTES 4194304                /* besides one item of the largest size */

/* A body that goes to blobs before the commit. */
typedef struct kedge_slice_body {
    kedge_bytes collection;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes value; /* borrowed from the overlay */
} kedge_slice_body;

typedef struct kedge_slice {
    const kedge_project *project;
    const kedge_push *push;
    kedge_plan *plan;
    kedge_state *head;
    size_t mutations_max; /* of this slice: less than usual after it did not fit */
    bool refuse; /* its mutation is too large: it is rejected without being run, and its args are
                  * not kept */
    kedge_overlay *overlay;
    kedge_tx *tx;
    kedge_version_object *object; /* the version that is being built */
    size_t text_bytes;
    size_t args_bytes;
    size_t next; /* index into plan->apply after this slice */
    kedge_slice_body *bodies;
    size_t body_count;
} kedge_slice;

/* Runs mutations from plan->apply[from] on. The version then lacks what they changed
 * (kedge_slice_build_delta, when a mutator ran) and `recent`, `indexed_through`
 * (kedge_version_set_recent). With nothing decided mutation_count is 0. Free in every case. */
kedge_status kedge_slice_run(kedge_slice *slice, size_t from, kedge_error *error);
void kedge_slice_free(kedge_slice *slice);

/* ---- parts (slice_*.c) ---- */

/* Makes a mutation a duplicate whose origin was decided before: in the versions up to the head,
 * whose rows are complete, or by an earlier mutation of this push. Of a rejected one the duplicate
 * has code and message. (slice_origin.c) */
kedge_status kedge_slice_find_origin(kedge_slice *slice, size_t position,
                                     kedge_version_mutation *mutation, bool *decided,
                                     kedge_error *error);

/* Numbers, changes, collections and bodies, from what the overlay holds. (slice_delta.c) */
kedge_status kedge_slice_build_delta(kedge_slice *slice, kedge_error *error);

/* The limits on a project's size, asked by the transaction after each mutation.
 * (slice_project_limits.c) */
kedge_status kedge_slice_accept(void *context, const kedge_overlay *overlay,
                                kedge_overlay_mark mark, kedge_error *error);

#endif
