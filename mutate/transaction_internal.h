/* What the two halves of the transaction share: running mutations, and the calls of a mutator. */
#ifndef KEDGE_MUTATE_TRANSACTION_INTERNAL_H
#define KEDGE_MUTATE_TRANSACTION_INTERNAL_H

#include "mutate/transaction.h"

/* An item that a mutator with cJSON changes. */
typedef struct kedge_json_edit {
    struct kedge_json_edit *next;
    char *collection;
    char *id;
    struct cJSON *value;
} kedge_json_edit;

struct kedge_tx {
    const kedge_allocator *allocator;
    const kedge_registry *registry;
    /* kedge_tx_run_part. The registry names the mutators that call it, so they reach the registry
     * through the transaction. */
    kedge_status (*run_part)(kedge_tx *tx, kedge_bytes name, kedge_bytes args, kedge_error *error);
    kedge_overlay *overlay;
    kedge_overlay_view view; /* the overlay over the reader that was given */
    kedge_tx_accept accept;
    void *accept_context;

    /* The mutation that runs. */
    const kedge_call *call;
    kedge_overlay_mark mark;
    uint64_t operations;
    uint64_t bytes;
    uint64_t passed_over; /* changes of a kedge.restore */

    /* What went wrong in it; status KEDGE_OK: nothing. In the order in which they win: */
    kedge_error postponed; /* a transient failure: nothing can be decided */
    kedge_error over;      /* its budget is spent: rejected */
    kedge_error rejection; /* the newest kedge_tx_reject */
    kedge_error last;      /* the newest failure of a call */

    /* What the mutator borrows. Two of each in turn, since what it passes to a call may be a part
     * of what the call before gave. */
    kedge_buffer ids[2];
    kedge_buffer values[2];
    size_t turn;
    kedge_buffer canonical; /* of a value that is put */
    kedge_buffer args;

    /* Written when the mutator has succeeded (cjson.c); nothing else may write them until then. */
    kedge_json_edit *edits;
    bool edits_are_written; /* the mutator that runs is one with cJSON, which does that */
};

#endif
