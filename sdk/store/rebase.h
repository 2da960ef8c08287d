/* The rebase that runs again only what must run again.
 *
 * The pending mutations have run on the previous canonical state, and the footprints tell what each
 * of them read. Now some mutations are covered, and the canonical state is a new one. A mutation
 * runs again when a value that it read differs now, or was written by a mutation that ran again and
 * wrote something else, or when it was replaced by another mutation. Values are compared, and not
 * only keys: when a mutation that is covered now has the result that was predicted, no mutation
 * after it runs. The result is that of a run of all pending mutations, since a mutator depends on
 * nothing but its arguments and what it reads. */
#ifndef KEDGE_SDK_STORE_REBASE_H
#define KEDGE_SDK_STORE_REBASE_H

#include "sdk/store/footprint.h"

/* Gives the canonical value under a key. KEDGE_OK: it may differ from what is shown, and `*present`
 * says whether there is one. KEDGE_NOT_FOUND: it is what is shown. */
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
