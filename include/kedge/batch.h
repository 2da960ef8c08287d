/* Several edits as one: all of them apply, or none does, here and on the server. They are one
 * mutation with one sequence. The server decides them in one version, and watches are called once
 * for all of them.
 *
 *   kedge_batch *batch;
 *   status = kedge_batch_begin(db, &batch, &error);
 *   if (status == KEDGE_OK) status = kedge_batch_add(batch, "kedge.put", card, card_size, &error);
 *   if (status == KEDGE_OK) status = kedge_batch_add(batch, "list.move", move, move_size, &error);
 *   if (status == KEDGE_OK) status = kedge_batch_commit(batch, &sequence, &error);
 *   kedge_batch_free(batch);
 *
 * A batch is made in memory: nothing is locked, read or written before kedge_batch_commit. It is
 * the built-in mutator kedge.batch, so it is cancelled, listed, rejected and sent again as a
 * whole. */
#ifndef KEDGE_BATCH_H
#define KEDGE_BATCH_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* The edits of a batch that is not committed yet. Only one thread at a time may use a batch. A
 * database may have several batches at once; each has its own edits. */
typedef struct kedge_batch kedge_batch;

/* Makes an empty batch. The caller owns `*batch` and must free it with kedge_batch_free before
 * it closes the database. Any thread. Errors: KEDGE_INVALID_ARGUMENT, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_batch_begin(kedge_db *db, kedge_batch **batch,
                                         kedge_error *KEDGE_NULLABLE error);

/* Adds an edit. Its mutator runs at kedge_batch_commit, and sees there what the edits before it
 * did. `name` and `args` are those of kedge_mutate, and are copied; `args` is checked here. When
 * kedge_batch_add fails, the batch is as it was.
 *
 * Errors: KEDGE_NOT_FOUND for an unknown mutator; KEDGE_INVALID_JSON; KEDGE_INVALID_ARGUMENT
 * "batch-in-batch" for the name kedge.batch; KEDGE_LIMIT_EXCEEDED "batch-too-large" for more than
 * KEDGE_LIMIT_BATCH_MUTATIONS edits, or when the batch as JSON would have more than
 * KEDGE_LIMIT_ARGS_BYTES; KEDGE_LIMIT_EXCEEDED "json-too-deep" for args that are nested deeper than
 * 61; KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_batch_add(kedge_batch *batch, const char *name, const char *args,
                                       size_t args_size, kedge_error *KEDGE_NULLABLE error);

/* Makes the edits, in the order in which they were added, as kedge_mutate makes one, and waits as
 * kedge_mutate does. When it returns KEDGE_OK, the edits are on the disk, and every read shows
 * them; the batch is then empty and may be filled again. When it fails, nothing was changed, and
 * the batch is as it was. `*sequence` is that of the whole batch; `sequence` may be NULL. The
 * limits of one mutation hold for the batch as a whole: see docs/reference/mutators.md.
 *
 * Errors: KEDGE_REJECTED when a mutator refused, with its code; the message has the index of its
 * edit, from 0 on. KEDGE_INVALID_ARGUMENT "batch-empty"; and those of kedge_mutate. */
KEDGE_API kedge_status kedge_batch_commit(kedge_batch *batch, int64_t *KEDGE_NULLABLE sequence,
                                          kedge_error *KEDGE_NULLABLE error);

/* Frees a batch. Edits that were not committed are discarded. NULL is allowed. */
KEDGE_API void kedge_batch_free(kedge_batch *KEDGE_NULLABLE batch);

KEDGE_END_DECLS

#endif
