/* The inbox of rejected mutations, cancelling, and catching up.
 *
 * A row of the inbox is shown when its mutation is no longer predicted: when the cache covers it,
 * or when it is no longer pending at all. Before that it is shown as pending, and only there. */
#include "sdk/store/store_internal.h"

#include "common/error.h"

static kedge_status not_in_inbox(int64_t sequence, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "mutation-not-rejected",
                      "mutation %lld is not in the inbox of rejected ones", (long long)sequence);
}

/* Is the mutation still predicted? */
static kedge_status is_pending(kedge_store *store, int64_t sequence, bool *pending,
                               kedge_error *error)
{
    kedge_cache_meta cache;
    kedge_pending row;
    kedge_status status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status == KEDGE_OK) status = kedge_outbox_find(&store->outbox, sequence, &row, error);
    *pending = status == KEDGE_OK && !kedge_outbox_covers(&cache, &row);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

kedge_status kedge_inbox_find(kedge_store *store, int64_t sequence, kedge_buffer *name,
                              kedge_buffer *args, kedge_error *error)
{
    static const char sql[] = "SELECT name, args FROM rejected WHERE sequence = ?1 AND state = 0";
    sqlite3_stmt *find;
    bool pending;
    kedge_status status = is_pending(store, sequence, &pending, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(&store->outbox, sql, &find, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(&store->outbox, find, 1, sequence);
    status = kedge_store_db_step(&store->outbox, find, error);
    if (status == KEDGE_DONE || (status == KEDGE_OK && pending))
        return not_in_inbox(sequence, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_bytes(name, kedge_store_column(find, 0));
    kedge_buffer_append_bytes(args, kedge_store_column(find, 1));
    sqlite3_reset(find);
    status = kedge_buffer_status(name, error);
    return status == KEDGE_OK ? kedge_buffer_status(args, error) : status;
}

static kedge_status dismiss_work(kedge_store *store, void *context, kedge_error *error)
{
    static const char sql[] =
        "UPDATE rejected SET state = 1, args = '' WHERE sequence = ?1 AND state = 0";
    kedge_store_db *db = &store->outbox;
    int64_t sequence = *(const int64_t *)context;
    sqlite3_stmt *update;
    bool pending;
    kedge_status status = is_pending(store, sequence, &pending, error);
    if (status != KEDGE_OK) return status;
    if (pending) return not_in_inbox(sequence, error);
    status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, sql, &update, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, update, 1, sequence);
    status = kedge_store_db_run(db, update, error);
    if (status == KEDGE_OK && sqlite3_changes(db->handle) == 0)
        return not_in_inbox(sequence, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    return status;
}

kedge_status kedge_store_dismiss(kedge_store *store, int64_t sequence, kedge_error *error)
{
    return kedge_store_take_turn(store, dismiss_work, &sequence, error);
}

/* ---- cancelling ---- */

typedef struct cancel {
    int64_t sequence;
    kedge_change_set *changes;
} cancel;

static kedge_status check_cancel(kedge_store *store, int64_t sequence,
                                 const kedge_outbox_meta *outbox, const kedge_cache_meta *cache,
                                 kedge_pending *row, kedge_error *error)
{
    kedge_status status = kedge_outbox_find(&store->outbox, sequence, row, error);
    if (status == KEDGE_NOT_FOUND || (status == KEDGE_OK && kedge_outbox_covers(cache, row)))
        return kedge_fail(error, KEDGE_NOT_FOUND, "mutation-not-pending",
                          "mutation %lld is not pending", (long long)sequence);
    if (status == KEDGE_OK && kedge_outbox_row_sent(outbox, row))
        return kedge_fail(error, KEDGE_CONFLICT, "mutation-sent",
                          "mutation %lld may have left this machine and cannot be taken back",
                          (long long)sequence);
    return status;
}

/* In place, as an edit that does nothing, so that no id shifts. The uid stays. */
static kedge_status rewrite_as_noop(kedge_store *store, const kedge_pending *row,
                                    kedge_error *error)
{
    static const char sql[] =
        "UPDATE pending SET name = 'kedge.noop', args = 'null', digest = ?2 WHERE sequence = ?1";
    uint8_t digest[KEDGE_DIGEST_SIZE];
    sqlite3_stmt *update;
    kedge_status status = kedge_outbox_digest(store->allocator, KEDGE_BYTES("kedge.noop"),
                                              KEDGE_BYTES("null"), row->uid, digest, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(&store->outbox, sql, &update, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(&store->outbox, update, 1, row->sequence);
    kedge_store_bind_blob(&store->outbox, update, 2, digest, sizeof digest);
    return kedge_store_db_run(&store->outbox, update, error);
}

static kedge_status cancel_work(kedge_store *store, void *context, kedge_error *error)
{
    cancel *asked = context;
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_pending row;
    kedge_changes_clear(asked->changes);
    kedge_status status = kedge_prediction_repair(store, false, NULL, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(&store->outbox, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(&store->outbox, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status == KEDGE_OK)
        status = check_cancel(store, asked->sequence, &outbox, &cache, &row, error);
    if (status == KEDGE_OK) status = rewrite_as_noop(store, &row, error);
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
    return kedge_edit_commit(store, asked->changes, error);
}

kedge_status kedge_store_cancel(kedge_store *store, int64_t sequence, kedge_change_set *changes,
                                kedge_error *error)
{
    cancel asked = {sequence, changes};
    return kedge_store_take_telling_turn(store, cancel_work, &asked, changes, error);
}

/* ---- catching up ---- */

static kedge_status catch_up_work(kedge_store *store, void *context, kedge_error *error)
{
    kedge_changes_clear(context);
    kedge_status status = kedge_prediction_repair(store, false, context, error);
    if (status == KEDGE_OK) kedge_shadow_end(store);
    return status;
}

kedge_status kedge_store_catch_up(kedge_store *store, kedge_change_set *changes, kedge_error *error)
{
    return kedge_store_take_telling_turn(store, catch_up_work, changes, changes, error);
}
