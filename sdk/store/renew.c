/* Client-only edits, made anew when they are first sent.
 *
 * The row of such an edit tells what it has read. When that has changed since, the server rejects
 * it as a conflict, and it is made again after all others (remake.c), with one attempt less. A
 * backlog of edits that build on each other would conflict again and again: in each push are edits
 * that were made before those of the last push came back. But what a pull has brought is known
 * here, and the server has not seen an edit that was not sent. So before it leaves, its mutator
 * runs once more: on the canonical state, and after all that is pending in front of it. The row
 * keeps its id and uid, and gets the reads and writes of this run. The prediction stays as it is,
 * since a rebase runs the mutator as well.
 *
 * An edit that had another id before may have been sent under that one; it stays as it is. So does
 * one that the mutator refuses now: it conflicts, and the inbox gets the reason when it is made
 * again. */
#include "sdk/store/client_only.h"
#include "sdk/store/prediction.h"

#include "common/error.h"

bool kedge_client_only_unsent(const kedge_store *store, const kedge_outbox_meta *outbox,
                              const kedge_pending *row)
{
    kedge_apply_made made;
    return row->id > outbox->sent_through && row->origin_client.size == 0 && row->withheld == 0 &&
           kedge_bytes_equal_text(row->client, outbox->client) &&
           kedge_client_only_row(store->registry, row->name, row->args, &made);
}

/* The rows that a push may take. */
typedef struct batch {
    int64_t after_id;
    uint32_t left;
    const kedge_outbox_meta *outbox;
} batch;

/* Whether the row is one of them. */
static bool take(batch *rows, const kedge_pending *row)
{
    if (!kedge_bytes_equal_text(row->client, rows->outbox->client) || row->id <= rows->after_id)
        return false;
    rows->left--;
    return true;
}

/* `args` stays empty when the row stays as it is. */
static kedge_status make_args(kedge_store *store, const kedge_rerun *work, const kedge_pending *row,
                              kedge_buffer *args, kedge_error *error)
{
    kedge_apply_made made;
    if (work->rejected || !kedge_client_only_row(store->registry, row->name, row->args, &made))
        return KEDGE_OK;
    kedge_status status =
        kedge_client_only_args(&work->recording, work->written, &made, args, error);
    if (status == KEDGE_LIMIT_EXCEEDED || kedge_bytes_equal(kedge_buffer_bytes(args), row->args))
        kedge_buffer_clear(args);
    return status == KEDGE_LIMIT_EXCEEDED ? KEDGE_OK : status;
}

static kedge_status renew_row(kedge_store *store, kedge_rerun *work, const kedge_pending *row,
                              bool unsent, kedge_buffer *args, kedge_outbox_meta *outbox,
                              kedge_error *error)
{
    kedge_buffer_clear(args);
    kedge_status status = kedge_rerun_try(store, work, row, error);
    if (status == KEDGE_OK && unsent) status = make_args(store, work, row, args, error);
    if (status == KEDGE_OK) status = kedge_rerun_keep(work, row, error);
    if (status != KEDGE_OK || args->size == 0) return status;
    return kedge_outbox_rewrite(&store->outbox, row, KEDGE_BYTES(KEDGE_APPLY_MUTATOR),
                                kedge_buffer_bytes(args), outbox, error);
}

/* Makes the rows anew, in order, after all that is pending in front of them. `work` NULL: only
 * looks for one. `*any`: there is one. */
static kedge_status renew_all(kedge_store *store, batch rows, kedge_rerun *work,
                              kedge_outbox_meta *outbox, const kedge_cache_meta *cache, bool *any,
                              kedge_error *error)
{
    kedge_pending row;
    sqlite3_stmt *cursor;
    kedge_buffer args = kedge_buffer_make(store->allocator);
    *any = false;
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, cache, &cursor, error);
    if (status != KEDGE_OK) return status;
    while (rows.left > 0 && (work || !*any)) {
        status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error);
        if (status != KEDGE_OK) break;
        bool unsent = take(&rows, &row) && kedge_client_only_unsent(store, outbox, &row);
        *any = *any || unsent;
        if (work) status = renew_row(store, work, &row, unsent, &args, outbox, error);
        if (status != KEDGE_OK) break;
    }
    sqlite3_reset(cursor);
    kedge_buffer_free(&args);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_client_only_renew(kedge_store *store, int64_t after_id, uint32_t count_max,
                                     kedge_outbox_meta *outbox, const kedge_cache_meta *cache,
                                     kedge_error *error)
{
    kedge_rerun work;
    bool any;
    batch rows = {after_id, count_max, outbox};
    kedge_status status = renew_all(store, rows, NULL, outbox, cache, &any, error);
    if (status != KEDGE_OK || !any) return status;
    kedge_overlay *prediction = kedge_overlay_new(store->allocator);
    if (!prediction) return kedge_fail_no_memory(error);
    status =
        kedge_rerun_begin(store, &work, prediction, kedge_cache_canonical_reader(&store->cache),
                          cache->client, NULL, error);
    if (status == KEDGE_OK) status = renew_all(store, rows, &work, outbox, cache, &any, error);
    kedge_rerun_end(&work);
    kedge_overlay_free(prediction);
    return status;
}
