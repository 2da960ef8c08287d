/* Cancelling an edit that has not been sent. */
#include "sdk/store/client_only.h"
#include "sdk/store/edit.h"
#include "sdk/store/prediction.h"

#include "common/error.h"

typedef struct cancel {
    int64_t sequence;
    kedge_change_set *changes;
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
    static const char *const sql = "SELECT 1 FROM rejected WHERE sequence = ?1 AND state = 4";
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

/* The row is replaced by a no-op with the same uid, so that no id changes. */
static kedge_status rewrite_as_noop(kedge_store *store, const kedge_pending *row,
                                    kedge_outbox_meta *meta, kedge_error *error)
{
    static const char *const sql =
        "UPDATE pending SET name = 'kedge.noop', args = 'null', digest = ?2 WHERE sequence = ?1";
    uint8_t digest[KEDGE_DIGEST_SIZE];
    int64_t sequence = row->sequence;
    kedge_outbox_digest(KEDGE_BYTES("kedge.noop"), KEDGE_BYTES("null"), row->uid, digest);
    kedge_status status =
        kedge_store_db_change(&store->outbox, sql, error, "ib", sequence,
                              ((kedge_bytes){(const char *)digest, sizeof digest}));
    if (status == KEDGE_OK) status = kedge_outbox_seal(&store->outbox, sequence, error);
    if (status == KEDGE_OK) status = kedge_outbox_count_pending(&store->outbox, meta, error);
    return status;
}

static kedge_status cancel_work(kedge_store *store, void *context, kedge_error *error)
{
    cancel *asked = context;
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_pending row;
    int64_t sequence = asked->sequence;
    kedge_changes_clear(asked->changes);
    kedge_status status = kedge_prediction_repair(store, false, NULL, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(&store->outbox, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(&store->outbox, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status == KEDGE_OK) status = kedge_inbox_follow(&store->outbox, &sequence, error);
    if (status == KEDGE_OK) status = check_cancel(store, sequence, &outbox, &cache, &row, error);
    if (status == KEDGE_OK) status = rewrite_as_noop(store, &row, &outbox, error);
    if (status == KEDGE_OK) {
        outbox.revision++;
        status = kedge_outbox_meta_write(&store->outbox, &outbox, error);
    }
    if (status == KEDGE_OK)
        status = kedge_prediction_rebase(store, NULL, &outbox, &cache, asked->changes, error);
    if (status != KEDGE_OK) {
        kedge_changes_clear(asked->changes);
        return status;
    }
    return kedge_edit_commit(store, &outbox, &cache, asked->changes, error);
}

kedge_status kedge_store_cancel(kedge_store *store, int64_t sequence, kedge_change_set *changes,
                                kedge_error *error)
{
    cancel asked = {sequence, changes};
    return kedge_store_take_telling_turn(store, cancel_work, &asked, changes, error);
}
