/* Cancelling an edit that has not been sent.
 *
 * What is pending after it runs again where it read what the edit has written; the footprints tell
 * (rebase.h). Where many are pending without footprints, these are made first, in turns that let
 * edits in between (retrace.c). */
#include "sdk/store/client_only.h"
#include "sdk/store/edit.h"
#include "sdk/store/prediction.h"

#include "common/error.h"

typedef struct cancel {
    int64_t sequence;
    kedge_change_set *changes;
    bool retraced;
} cancel;

static kedge_status not_pending(int64_t sequence, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "mutation-not-pending",
                      "mutation %lld is not pending", (long long)sequence);
}

static kedge_status was_sent(int64_t sequence, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CONFLICT, "mutation-sent",
                      "mutation %lld may have left this machine and cannot be taken back",
                      (long long)sequence);
}

/* A client-only edit that conflicted and is about to be made again is pending, without a row. */
static kedge_status check_waiting(kedge_store *store, int64_t sequence, kedge_error *error)
{
    static const char *const sql = "SELECT 1 FROM rejected {at} AND state = 4";
    int64_t found;
    kedge_status status =
        kedge_store_db_find_number(&store->outbox, sql, &found, error, "i", sequence);
    if (status != KEDGE_OK) return status;
    return found ? was_sent(sequence, error) : not_pending(sequence, error);
}

static kedge_status check_cancel(kedge_store *store, int64_t sequence,
                                 const kedge_outbox_meta *outbox, const kedge_cache_meta *cache,
                                 kedge_pending *row, kedge_error *error)
{
    kedge_status status = kedge_outbox_find(&store->outbox, sequence, row, error);
    if (status == KEDGE_NOT_FOUND || (status == KEDGE_OK && kedge_outbox_covers(cache, row)))
        return check_waiting(store, sequence, error);
    if (status == KEDGE_OK && kedge_outbox_row_sent(outbox, row)) return was_sent(sequence, error);
    return status;
}

/* KEDGE_DONE: nothing is done, since there should be footprints first. */
static kedge_status cancel_work(kedge_store *store, void *context, kedge_error *error)
{
    cancel *asked = context;
    kedge_edit_state state;
    kedge_cache_meta cache;
    kedge_pending row;
    int64_t sequence = asked->sequence;
    kedge_outbox_meta *outbox = &state.outbox;
    kedge_changes_clear(asked->changes);
    kedge_status status = kedge_edit_begin(store, &state, error);
    if (status == KEDGE_OK) status = kedge_inbox_follow(&store->outbox, &sequence, error);
    if (status == KEDGE_OK)
        status = check_cancel(store, sequence, outbox, &state.cache, &row, error);
    if (status == KEDGE_OK && !asked->retraced && outbox->pending_rows > KEDGE_RETRACE_ROWS &&
        !kedge_store_has_footprints(store, &state.cache))
        return KEDGE_DONE;
    /* The row is replaced by a no-op with the same uid, so that no id changes. */
    if (status == KEDGE_OK)
        status = kedge_outbox_rewrite(&store->outbox, &row, KEDGE_BYTES("kedge.noop"),
                                      KEDGE_BYTES("null"), outbox, error);
    if (status == KEDGE_OK) {
        outbox->revision++;
        status = kedge_outbox_meta_write(&store->outbox, outbox, error);
    }
    if (status == KEDGE_OK) {
        cache = state.cache;
        status = kedge_prediction_advance(store, NULL, sequence, outbox, &state.cache, &cache,
                                          asked->changes, error);
    }
    if (status != KEDGE_OK) {
        kedge_changes_clear(asked->changes);
        return status;
    }
    status = kedge_edit_commit(store, outbox, &cache, asked->changes, error);
    /* An undo of it would subtract what was never added. */
    if (status == KEDGE_OK) kedge_undo_log_void(&store->undo, sequence);
    return status;
}

kedge_status kedge_store_cancel(kedge_store *store, int64_t sequence, kedge_change_set *changes,
                                kedge_error *error)
{
    cancel asked = {.sequence = sequence, .changes = changes};
    kedge_status status = kedge_store_take_telling_turn(store, cancel_work, &asked, changes, error);
    if (status != KEDGE_DONE) return status;
    kedge_store_give_way(store);
    kedge_store_retrace(store, NULL);
    asked.retraced = true;
    return kedge_store_take_telling_turn(store, cancel_work, &asked, changes, error);
}
