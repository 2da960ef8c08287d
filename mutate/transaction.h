/* Running mutations: the transaction that mutators see as a kedge_tx.
 *
 * One transaction serves a whole run of mutations, in order, over one overlay: each mutation sees
 * what those before it did, and one that fails leaves nothing behind. */
#ifndef KEDGE_MUTATE_TRANSACTION_H
#define KEDGE_MUTATE_TRANSACTION_H

#include "mutate/json_document.h"
#include "mutate/overlay.h"
#include "mutate/registry.h"

/* What one mutation may cost; over it the mutation is rejected with "mutation-too-costly". */
#define KEDGE_LIMIT_MUTATION_OPERATIONS 1000000  /* calls on the transaction */
#define KEDGE_LIMIT_MUTATION_BYTES      67108864 /* bytes read and written: 64 MiB */

_Static_assert(KEDGE_LIMIT_MUTATION_BYTES >= 4 * KEDGE_LIMIT_ITEM_BYTES,
               "a mutator can change an item of the largest size");

typedef struct kedge_call {
    kedge_bytes name;
    kedge_bytes args; /* any JSON; checked and made canonical by kedge_tx_run; empty: null */
    kedge_caller caller;
    bool args_are_canonical; /* the caller has done that, and they are within the limits */
} kedge_call;

/* Called when a mutator has succeeded: KEDGE_OK keeps its changes, KEDGE_REJECTED with a code drops
 * them and rejects the mutation. The changes are those of the overlay since `mark`. NULL: all
 * changes are kept. */
typedef kedge_status (*kedge_tx_accept)(void *context, const kedge_overlay *overlay,
                                        kedge_overlay_mark mark, kedge_error *error);

/* The overlay, of the same allocator, and the reader are borrowed and must outlive the
 * transaction. */
kedge_status kedge_tx_new(const kedge_allocator *allocator, const kedge_registry *registry,
                          kedge_overlay *overlay, kedge_state_reader reader, kedge_tx **tx,
                          kedge_error *error);
void kedge_tx_free(kedge_tx *tx);
void kedge_tx_set_accept(kedge_tx *tx, kedge_tx_accept accept, void *context);

/* Runs one mutation in a savepoint of its own.
 *
 *   KEDGE_OK        applied: its changes are in the overlay
 *   KEDGE_REJECTED  refused for ever: `error` holds code and message, the overlay is as before
 *   others          nothing was decided (no memory, a failed read): try the whole run again
 *
 * Codes of Kedge's own: mutator-unknown, mutator-failed, args-invalid, args-too-large,
 * item-too-large, item-id-invalid, collection-invalid, too-many-changes, mutation-too-costly,
 * project-record-too-large, … */
kedge_status kedge_tx_run(kedge_tx *tx, const kedge_call *call, kedge_error *error);

/* How many changes of a kedge.restore the last run has passed over. */
uint64_t kedge_tx_passed_over(const kedge_tx *tx);

/* For mutators of Kedge's own, not for an app's. */

const kedge_allocator *kedge_tx_allocator(const kedge_tx *tx);
/* Runs another mutator inside the running one, which must fail when this fails. `args` are
 * canonical and outlive the call. KEDGE_REJECTED: it was refused, for the reason in `error`, which
 * must not be NULL. Another failure is to be passed on. */
kedge_status kedge_tx_run_part(kedge_tx *tx, kedge_bytes name, kedge_bytes args,
                               kedge_error *error);
/* As kedge_tx_get, for a large item that an earlier call has written: gives it as a rope, opened
 * when it is a container, borrowed until the next call. For any other item `*rope` is NULL, and the
 * call counts no bytes. */
kedge_status kedge_tx_get_rope(kedge_tx *tx, const char *collection, const char *id, size_t id_size,
                               kedge_json_rope **rope, kedge_error *error);
/* Merges `patch`, an object, into `rope`, which kedge_tx_get_rope gave, and puts the result as
 * kedge_tx_put does. Counts the bytes of the whole item, as kedge_tx_put does. */
kedge_status kedge_tx_merge_rope(kedge_tx *tx, const char *collection, const char *id,
                                 size_t id_size, const kedge_json_rope *rope, kedge_bytes patch,
                                 kedge_error *error);
/* Makes a document of a text that a read gave. Its cost is bounded by KEDGE_LIMIT_MUTATION_BYTES.
 * The caller must free the document. */
kedge_status kedge_tx_make_document(kedge_tx *tx, kedge_bytes text, kedge_json_document *document,
                                    kedge_error *error);
/* As kedge_tx_get, for an item that is changed at some places: gives it as a document, which the
 * caller must free. */
kedge_status kedge_tx_get_document(kedge_tx *tx, const char *collection, const char *id,
                                   size_t id_size, kedge_json_document *document,
                                   kedge_error *error);
/* Puts the document as kedge_tx_put does; as a rope when kedge_tx_get_rope gives one for the item.
 * Counts the bytes of the whole item, but not the cost of the document. */
kedge_status kedge_tx_put_document(kedge_tx *tx, const char *collection, const char *id,
                                   size_t id_size, const kedge_json_document *document,
                                   kedge_error *error);
/* Counts work that is not a call on the transaction towards KEDGE_LIMIT_MUTATION_BYTES. `bytes`
 * must depend on nothing but the mutation and the state that it sees. */
kedge_status kedge_tx_charge(kedge_tx *tx, uint64_t bytes, kedge_error *error);
/* A reader of what the running mutation sees, its own changes included. Reads through it are not
 * counted, and their failures are not remembered. */
kedge_state_reader kedge_tx_reader(kedge_tx *tx);
/* Counts changes that the running mutation has passed over, for kedge_tx_passed_over. */
void kedge_tx_pass_over(kedge_tx *tx, uint64_t count);
/* The mutation cannot be decided now: kedge_tx_run will return `cause`, whatever the mutator
 * returns. Returns cause->status. */
kedge_status kedge_tx_postpone(kedge_tx *tx, const kedge_error *cause, kedge_error *error);

#endif
