/* Client-only mutations: what they are as rows of the outbox. Private to sdk/store.
 *
 * The row of one is a kedge.apply, so that any server, any later build of the app and a repair can
 * take it as it is. Its args say, beside what was read and written, which mutation made it: "made".
 * A build that has the mutator runs that one for the prediction, and again after a conflict. */
#ifndef KEDGE_SDK_STORE_CLIENT_ONLY_H
#define KEDGE_SDK_STORE_CLIENT_ONLY_H

#include "mutate/apply.h"
#include "sdk/store/store_internal.h"

/* Whether the row is of a client-only mutation whose mutators are known here; `made` is then set,
 * and borrows its args. */
bool kedge_client_only_row(const kedge_registry *registry, kedge_bytes name, kedge_bytes args,
                           kedge_apply_made *made);
/* Gives the sequence that the app knows for the row of this sequence. */
int64_t kedge_client_only_sequence(kedge_bytes name, kedge_bytes args, int64_t sequence);
/* Appends the args of the kedge.apply, from what the mutation has read (of the state below the
 * recording, which must be as it was then) and written. KEDGE_LIMIT_EXCEEDED: they are larger or
 * deeper than args may be. */
kedge_status kedge_client_only_args(const kedge_recording *read, const kedge_overlay *written,
                                    const kedge_apply_made *made, kedge_buffer *out,
                                    kedge_error *error);
/* Whether a conflict of the row is followed by another attempt. */
bool kedge_client_only_again(const kedge_registry *registry, kedge_bytes name, kedge_bytes args);

/* ---- renew.c ---- */
/* Whether the row is of a client-only mutation that was never sent, and is made anew when it is. */
bool kedge_client_only_unsent(const kedge_store *store, const kedge_outbox_meta *outbox,
                              const kedge_pending *row);
/* Call in the outbox's write transaction. Makes such edits anew among the first `count_max` rows
 * above `after_id`: what they have read and written becomes what they read and write on the state
 * of now. Changes `outbox`, which the caller writes. */
kedge_status kedge_client_only_renew(kedge_store *store, int64_t after_id, uint32_t count_max,
                                     kedge_outbox_meta *outbox, const kedge_cache_meta *cache,
                                     kedge_error *error);

/* ---- changes.c ---- */
/* Adds the changes of a later commit: each key is listed once, with the values before both and
 * after both, and not at all when these are the same. */
void kedge_changes_merge(kedge_change_set *changes, const kedge_change_set *later);

/* ---- inbox.c ---- */
/* Writes the checksum of a row of the inbox that was checked and then changed. */
kedge_status kedge_inbox_seal(kedge_store *store, int64_t sequence, kedge_error *error);
/* As kedge_inbox_set_state, for a client-only edit that was made again as `sequence`: the row leads
 * there, and so does that of the first attempt. */
kedge_status kedge_inbox_set_remade(kedge_store *store, int64_t row, int64_t first,
                                    int64_t sequence, kedge_error *error);
/* Gives the sequence of the newest attempt of the edit that the app knows by `*sequence`. */
kedge_status kedge_inbox_follow(kedge_store_db *db, int64_t *sequence, kedge_error *error);

/* ---- remake.c ---- */
/* Call in a write turn, after what may have brought rejections. Makes the client-only edits again
 * whose conflicts the cache covers. What fails for now is tried again by kedge_store_catch_up; the
 * only failure is KEDGE_CORRUPT, after which the turn heals and begins again. */
kedge_status kedge_store_remake(kedge_store *store, kedge_change_set *changes, kedge_error *error);

#endif
