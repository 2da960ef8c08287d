/* The rebase that runs again only what must run again.
 *
 * What is pending has run on the canonical state of before, and its footprints tell what each
 * mutation read. Now some mutations are covered, and the canonical state is another one. A mutation
 * is run again when a value that it read differs now, or was written by a mutation that ran again
 * and wrote something else. So is one that was replaced by another mutation. Values count, not
 * keys: a covered mutation that was predicted right makes none after it run. The result is the one
 * that a run of all of them would give, since a mutator depends on nothing but its arguments and
 * what it reads. */
#ifndef KEDGE_SDK_STORE_REBASE_H
#define KEDGE_SDK_STORE_REBASE_H

#include "sdk/store/footprint.h"

/* Tells the canonical value where it may differ from what is shown: KEDGE_OK, and in `*present`
 * whether there is one; KEDGE_NOT_FOUND: it is what is shown. */
typedef kedge_status (*kedge_rebase_base)(void *context, kedge_bytes collection, kedge_bytes id,
                                          bool *present, kedge_buffer *value, kedge_error *error);
/* Runs a pending mutation on `state`. Its changes go to `written`, which comes in empty. One that
 * is rejected writes nothing, and the status is KEDGE_OK. */
typedef kedge_status (*kedge_rebase_run)(void *context, int64_t sequence, kedge_state_reader state,
                                         kedge_overlay *written, kedge_error *error);

typedef struct kedge_rebase {
    kedge_footprints *footprints; /* of what was pending before */
    int64_t lmid;                 /* the mutations up to this id are covered now */
    int64_t other;                /* the sequence of one that is another mutation now, or 0 */
    const kedge_overlay *delta;   /* what the new canonical state changes in the old one */
    kedge_state_reader shown;     /* the prediction of before */
    kedge_rebase_base base;
    void *base_context;
    kedge_rebase_run run;
    void *run_context;
    size_t runs; /* out: how many mutations ran */
} kedge_rebase;

/* Rebases in memory. The footprints are afterwards those of what is still pending. The keys whose
 * canonical or predicted value may have changed are those in `delta`, and those written by a
 * mutation that is covered now or was run again. Of these keys,
 *
 *   bases        gets the canonical value of before, where `base` has one
 *   prediction   gets the predicted value, where a pending mutation has written the key
 *
 * KEDGE_DONE: the footprints do not tell enough, and all mutations must run. After this and after
 * every failure the footprints are worth nothing. */
kedge_status kedge_rebase_pending(kedge_rebase *work, kedge_overlay *bases,
                                  kedge_overlay *prediction, kedge_error *error);

#endif
