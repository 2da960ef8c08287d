/* Rebase: the prediction is made again on a newer canonical state.
 *
 * The cache holds two tables. `item` is what the app reads: the prediction. `base` holds, for each
 * key where the prediction differs from the canonical state, the canonical value (NULL: no such
 * item). The canonical state is therefore `item` with `base` laid over it.
 *
 * A pull brings a patch: what changed between the canonical state that is here (`before`) and the
 * newer one (`after`). The rebase goes in four steps, all inside the cache's write transaction:
 *
 *   1. before      `base` is read into memory. It has no more keys than the pending mutations
 *                  touch. before = base over item; item stays on disk and is read by key.
 *   2. after       The patch becomes an overlay in memory, the delta. after = delta over before.
 *   3. prediction  The pending mutations run again, in order, on `after`. What they change stays
 *                  in memory, in the overlay `prediction`.
 *   4. write       Only a key of base, delta or prediction can have changed. For each of these,
 *                  `item` gets the predicted value (where nothing predicts one: that of `after`),
 *                  and `base` the value of `after` where the two differ. Rows that are right
 *                  already are not written.
 *
 * Example. The server has {a: 1}, and a pending mutation adds 10 to a: item {a: 11}, base {a: 1}.
 * A pull brings a = 5. before is {a: 1}, after is {a: 5}, the replay predicts a = 15, and the
 * write leaves item {a: 15}, base {a: 5}. Once a pull covers the mutation and brings a = 15, the
 * replay has nothing to run, and the write leaves item {a: 15} and no row in base.
 *
 * The cost depends on the pending mutations and on the patch, not on the size of the project. A
 * patch that clears is the exception: it deletes every key.
 *
 * Which mutations run again: all of the outbox that `next`, the meta of the new state, does not
 * cover, except the withheld ones. A withheld mutation may be in `after` already, and running it
 * twice would show its edit twice. A mutator that fails changes nothing here. Its mutation stays
 * pending, because only the server decides. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"
#include "common/error.h"
#include <string.h>

static kedge_status replay_row(kedge_store *store, kedge_tx *tx, const kedge_pending *row,
                               kedge_error *error)
{
    char client[KEDGE_CLIENT_ID_SIZE];
    KEDGE_ASSERT(row->client.size < sizeof client);
    memcpy(client, row->client.data, row->client.size);
    client[row->client.size] = '\0';
    kedge_call call = {.name = row->name,
                       .args = row->args,
                       .caller = {store->user, store->role, client, row->timestamp_ms}};
    kedge_status status = kedge_tx_run(tx, &call, error);
    return status == KEDGE_REJECTED ? KEDGE_OK : status;
}

static kedge_status replay(kedge_store *store, const kedge_cache_meta *next,
                           kedge_state_reader canonical, kedge_overlay *prediction,
                           kedge_error *error)
{
    kedge_tx *tx = NULL;
    kedge_error why = {0};
    sqlite3_stmt *cursor;
    kedge_pending row;
    kedge_status status =
        kedge_tx_new(store->allocator, store->registry, prediction, canonical, &tx, error);
    if (status != KEDGE_OK) return status;
    status = kedge_outbox_cursor_open(&store->outbox, next, &cursor, error);
    if (status != KEDGE_OK) goto out;
    while ((status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error)) == KEDGE_OK) {
        if (row.withheld) continue;
        status = replay_row(store, tx, &row, &why);
        if (status != KEDGE_OK) {
            sqlite3_reset(cursor);
            if (error) *error = why;
            goto out;
        }
    }
    if (status == KEDGE_DONE) status = KEDGE_OK;
out:
    kedge_tx_free(tx);
    return status;
}

/* A clear, as deletions of all that is canonical now. */
static kedge_status delta_clear(kedge_store *store, const kedge_overlay *base, kedge_overlay *delta,
                                kedge_error *error)
{
    static const char sql[] = "SELECT collection, id, value, checksum FROM item";
    sqlite3_stmt *cursor;
    kedge_cache_row row;
    kedge_overlay_entry entry, at;
    KEDGE_ASSERT(kedge_store_db_in_transaction(&store->cache));
    kedge_overlay_clear(delta);
    for (bool more = kedge_overlay_next(base, NULL, &entry); more;
         more = kedge_overlay_next(base, &at, &entry)) {
        kedge_status status = kedge_overlay_delete(delta, entry.collection, entry.id, error);
        if (status != KEDGE_OK) return status;
        at = entry;
    }
    kedge_status status = kedge_store_db_take(&store->cache, sql, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(&store->cache, cursor, error)) == KEDGE_OK) {
        kedge_bytes collection;
        if (kedge_row_read_any(KEDGE_ROW_ITEM, cursor, &collection, &row))
            status = kedge_overlay_delete(delta, collection, row.id, error);
        else
            status = kedge_row_fail(&store->cache, "item", collection, row.id, error);
        if (status != KEDGE_OK) break;
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status delta_make(kedge_store *store, const kedge_wire_patch *patch,
                               const kedge_overlay *base, kedge_overlay *delta, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; patch && i < patch->count && status == KEDGE_OK; i++) {
        const kedge_wire_patch_operation *operation = &patch->operations[i];
        if (operation->kind == KEDGE_WIRE_PATCH_CLEAR)
            status = delta_clear(store, base, delta, error);
        else if (operation->kind == KEDGE_WIRE_PATCH_DELETE)
            status = kedge_overlay_delete(delta, operation->collection, operation->id, error);
        else
            status = kedge_overlay_put(delta, operation->collection, operation->id,
                                       operation->value, error);
    }
    return status;
}

static kedge_status rebase_in_memory(kedge_store *store, const kedge_wire_patch *patch,
                                     const kedge_overlay *base, kedge_cache_meta *next,
                                     kedge_change_set *changes, kedge_error *error)
{
    kedge_status status = KEDGE_NO_MEMORY;
    kedge_overlay *delta = kedge_overlay_new(store->allocator);
    kedge_overlay *prediction = kedge_overlay_new(store->allocator);
    kedge_overlay_view before = {base, kedge_cache_reader(&store->cache)};
    kedge_overlay_view after = {delta, kedge_overlay_reader(&before)};
    if (!delta || !prediction) {
        kedge_fail_no_memory(error);
        goto out;
    }
    status = delta_make(store, patch, base, delta, error);
    if (status == KEDGE_OK)
        status = replay(store, next, kedge_overlay_reader(&after), prediction, error);
    if (status == KEDGE_OK)
        status = kedge_prediction_write(store, base, delta, prediction, next, changes, error);
out:
    kedge_overlay_free(prediction);
    kedge_overlay_free(delta);
    return status;
}

/* With nothing pending before or after, the patch goes straight into `item`. */
static kedge_status stream_patch(kedge_store *store, const kedge_wire_patch *patch,
                                 kedge_row_total *items, kedge_change_set *changes,
                                 kedge_error *error)
{
    kedge_store_db *db = &store->cache;
    kedge_status status = KEDGE_OK;
    bool changed;
    for (size_t i = 0; patch && i < patch->count && status == KEDGE_OK; i++) {
        const kedge_wire_patch_operation *operation = &patch->operations[i];
        if (operation->kind == KEDGE_WIRE_PATCH_CLEAR) {
            kedge_changes_all(changes);
            status = kedge_cache_clear(db, items, error);
            continue;
        }
        if (operation->kind == KEDGE_WIRE_PATCH_DELETE)
            status = kedge_cache_delete(db, items, operation->collection, operation->id, &changed,
                                        error);
        else
            status = kedge_cache_put(db, items, operation->collection, operation->id,
                                     operation->value, &changed, error);
        if (status == KEDGE_OK && changed)
            kedge_changes_add(changes, operation->collection, operation->id);
    }
    return status;
}

static kedge_status nothing_pending(kedge_store *store, const kedge_cache_meta *next, bool *none,
                                    kedge_error *error)
{
    sqlite3_stmt *cursor;
    kedge_pending row;
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, next, &cursor, error);
    if (status != KEDGE_OK) return status;
    status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error);
    sqlite3_reset(cursor);
    *none = status == KEDGE_DONE;
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_prediction_rebase(kedge_store *store, const kedge_wire_patch *patch,
                                     const kedge_outbox_meta *outbox, kedge_cache_meta *next,
                                     kedge_change_set *changes, kedge_error *error)
{
    bool none;
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->cache));
    KEDGE_ASSERT(strcmp(next->client, outbox->client) == 0);
    KEDGE_ASSERT(next->revision <= outbox->revision);
    KEDGE_ASSERT(next->reflected_sequence <= outbox->last_sequence);
    kedge_overlay *base = kedge_overlay_new(store->allocator);
    if (!base) return kedge_fail_no_memory(error);
    kedge_status status = kedge_cache_load_base(&store->cache, &next->bases, base, error);
    if (status == KEDGE_OK) status = nothing_pending(store, next, &none, error);
    if (status != KEDGE_OK) goto out;
    if (none && kedge_overlay_count(base) == 0)
        status = stream_patch(store, patch, &next->items, changes, error);
    else
        status = rebase_in_memory(store, patch, base, next, changes, error);
    if (status != KEDGE_OK) goto out;
    next->revision = outbox->revision;
    next->reflected_sequence = outbox->last_sequence;
    KEDGE_ASSERT(kedge_prediction_fits(outbox, next));
    status = kedge_cache_meta_write(&store->cache, next, error);
out:
    kedge_overlay_free(base);
    return status;
}
