/* Runs pending mutations: all of them, or once more those whose footprints meet a change. Both
 * record the footprints, which hold for one state of the cache (kedge_store_has_footprints). */
#include "sdk/store/client_only.h"
#include "sdk/store/prediction.h"

#include "common/assert.h"
#include "common/error.h"
#include <string.h>

/* ---- whose footprints they are ---- */

void kedge_store_drop_footprints(kedge_store *store)
{
    kedge_footprints_clear(&store->footprints);
    store->footprints_known = store->footprints_sound = false;
}

void kedge_store_restart_footprints(kedge_store *store)
{
    if (store->cache.rehearsing) return;
    kedge_store_drop_footprints(store);
    store->footprints_sound = true;
}

void kedge_store_stamp_footprints(kedge_store *store, const kedge_cache_meta *committed)
{
    store->footprints_of = *committed;
    store->footprints_log = store->log_last;
    store->footprints_known = store->footprints_sound;
}

bool kedge_rerun_same_canonical(const kedge_cache_meta *a, const kedge_cache_meta *b)
{
    return a->version == b->version && a->lmid == b->lmid && strcmp(a->client, b->client) == 0 &&
           strcmp(a->lineage, b->lineage) == 0;
}

bool kedge_store_has_footprints(const kedge_store *store, const kedge_cache_meta *cache)
{
    const kedge_cache_meta *of = &store->footprints_of;
    return store->footprints_known && of->revision == cache->revision &&
           of->reflected_sequence == cache->reflected_sequence &&
           kedge_rerun_same_canonical(of, cache);
}

/* From here until they are stamped, the footprints are of no cache. */
static void begin_footprints(kedge_store *store, bool sound)
{
    store->footprints_known = false;
    store->footprints_sound = sound;
}

/* ---- one mutation ---- */

static kedge_status run_row(kedge_store *store, kedge_tx *tx, const kedge_pending *row,
                            kedge_error *error)
{
    char client[KEDGE_CLIENT_ID_SIZE];
    KEDGE_ASSERT(row->client.size < sizeof client);
    memcpy(client, row->client.data, row->client.size);
    client[row->client.size] = '\0';
    kedge_apply_made made;
    bool own = kedge_client_only_row(store->registry, row->name, row->args, &made);
    kedge_call call = {.name = own ? kedge_bytes_of(made.name) : row->name,
                       .args = own ? made.args : row->args,
                       .caller = {store->user, store->role, client, row->timestamp_ms}};
    return kedge_tx_run(tx, &call, error);
}

/* ---- all of them ---- */

static kedge_status add_written(kedge_rerun *work, kedge_error *error)
{
    kedge_overlay_entry entry, at;
    kedge_status status = KEDGE_OK;
    for (bool more = kedge_overlay_next(work->written, NULL, &entry); more && status == KEDGE_OK;
         more = kedge_overlay_next(work->written, &at, &entry)) {
        at = entry;
        status = entry.deleted
                     ? kedge_overlay_delete(work->prediction, entry.collection, entry.id, error)
                     : kedge_overlay_put(work->prediction, entry.collection, entry.id, entry.value,
                                         error);
    }
    return status;
}

/* Footprints tell neither which rows of other clients are covered, nor which withheld ones are not
 * predicted. */
static void record(kedge_rerun *work, const kedge_pending *row)
{
    if (!work->footprints) return;
    bool sound =
        !row->withheld && row->covered_version == 0 &&
        kedge_bytes_equal_text(row->client, work->client) &&
        kedge_footprints_add(work->footprints, row->sequence, row->id, &work->recording,
                             work->written, kedge_overlay_reader(&work->view), NULL) == KEDGE_OK;
    if (!sound) work->footprints = NULL;
}

kedge_status kedge_rerun_try(kedge_store *store, kedge_rerun *work, const kedge_pending *row,
                             kedge_error *error)
{
    kedge_recording_restart(&work->recording);
    kedge_overlay_clear(work->written);
    kedge_status status = row->withheld ? KEDGE_OK : run_row(store, work->tx, row, error);
    work->rejected = status == KEDGE_REJECTED;
    return work->rejected ? KEDGE_OK : status;
}

kedge_status kedge_rerun_keep(kedge_rerun *work, const kedge_pending *row, kedge_error *error)
{
    record(work, row);
    return add_written(work, error);
}

kedge_status kedge_rerun_row(kedge_store *store, kedge_rerun *work, const kedge_pending *row,
                             kedge_error *error)
{
    kedge_status status = kedge_rerun_try(store, work, row, error);
    return status == KEDGE_OK ? kedge_rerun_keep(work, row, error) : status;
}

kedge_status kedge_rerun_begin(kedge_store *store, kedge_rerun *work, kedge_overlay *prediction,
                               kedge_state_reader canonical, const char *client,
                               kedge_footprints *footprints, kedge_error *error)
{
    const kedge_allocator *allocator = store->allocator;
    *work = (kedge_rerun){.prediction = prediction,
                          .view = {prediction, canonical},
                          .written = kedge_overlay_new(allocator),
                          .client = client,
                          .footprints = footprints};
    if (!work->written) return kedge_fail_no_memory(error);
    kedge_status status = kedge_recording_begin(&work->recording, allocator,
                                                kedge_overlay_reader(&work->view), error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_new(allocator, store->registry, work->written,
                        kedge_recording_reader(&work->recording), &work->tx, error);
}

void kedge_rerun_end(kedge_rerun *work)
{
    kedge_tx_free(work->tx);
    kedge_recording_end(&work->recording);
    kedge_overlay_free(work->written);
}

kedge_status kedge_rerun_after(kedge_store *store, kedge_rerun *work, const kedge_cache_meta *cache,
                               int64_t sequence, kedge_error *error)
{
    sqlite3_stmt *cursor;
    kedge_pending row;
    kedge_status status =
        kedge_outbox_cursor_open_behind(&store->outbox, cache, sequence, &cursor, error);
    while (status == KEDGE_OK) {
        status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error);
        if (status == KEDGE_OK) status = kedge_rerun_row(store, work, &row, error);
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? kedge_store_db_check(&store->cache, error) : status;
}

kedge_status kedge_rerun_compare(kedge_store *store, const kedge_overlay *prediction,
                                 const kedge_overlay_entry *key, bool *same, kedge_error *error)
{
    kedge_overlay_entry predicted = {.deleted = true};
    kedge_bytes shown;
    (void)kedge_overlay_get(prediction, key->collection, key->id, &predicted);
    kedge_status status = kedge_cache_item(&store->cache, key->collection, key->id, &shown, error);
    bool is_shown = status == KEDGE_OK;
    *same =
        is_shown != predicted.deleted && (!is_shown || kedge_bytes_equal(shown, predicted.value));
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

kedge_status kedge_replay_pending(kedge_store *store, const kedge_cache_meta *next,
                                  kedge_state_reader canonical, kedge_overlay *prediction,
                                  kedge_error *error)
{
    kedge_rerun work;
    bool records = store->footprints_sound && !store->cache.rehearsing;
    kedge_status status = kedge_rerun_begin(store, &work, prediction, canonical, next->client,
                                            records ? &store->footprints : NULL, error);
    if (status == KEDGE_OK) status = kedge_rerun_after(store, &work, next, INT64_MIN, error);
    if (!work.footprints && !store->cache.rehearsing) kedge_store_drop_footprints(store);
    kedge_rerun_end(&work);
    return status;
}

/* ---- those that must run again ---- */

static kedge_status base_get(void *context, kedge_bytes collection, kedge_bytes id, bool *present,
                             kedge_buffer *value, kedge_error *error)
{
    kedge_cache_row row;
    kedge_status status = kedge_cache_base(context, collection, id, &row, error);
    if (status != KEDGE_OK) return status;
    *present = row.has_value;
    kedge_buffer_append_bytes(value, row.value);
    return kedge_buffer_status(value, error);
}

static kedge_status run_again(void *context, int64_t sequence, kedge_state_reader state,
                              kedge_overlay *written, kedge_error *error)
{
    kedge_store *store = context;
    kedge_pending row;
    kedge_tx *tx = NULL;
    kedge_status status = kedge_outbox_find(&store->outbox, sequence, &row, error);
    if (status == KEDGE_OK)
        status = kedge_tx_new(store->allocator, store->registry, written, state, &tx, error);
    if (status == KEDGE_OK) status = run_row(store, tx, &row, error);
    kedge_tx_free(tx);
    return status == KEDGE_REJECTED ? KEDGE_OK : status;
}

kedge_status kedge_replay_again(kedge_store *store, const kedge_cache_meta *next, int64_t other,
                                const kedge_overlay *delta, kedge_overlay *base,
                                kedge_overlay *prediction, kedge_error *error)
{
    kedge_rebase work = {.footprints = &store->footprints,
                         .lmid = next->lmid,
                         .other = other,
                         .delta = delta,
                         .shown = kedge_cache_reader(&store->cache),
                         .base = base_get,
                         .base_context = &store->cache,
                         .run = run_again,
                         .run_context = store};
    KEDGE_ASSERT(store->footprints_known && !store->cache.rehearsing);
    begin_footprints(store, true);
    /* All rows are read in one transaction: each of its own would take the locks of the file. */
    bool reads = !kedge_store_db_in_transaction(&store->outbox);
    kedge_status status = reads ? kedge_store_db_execute(&store->outbox, "BEGIN", error) : KEDGE_OK;
    if (status == KEDGE_OK) status = kedge_rebase_pending(&work, base, prediction, error);
    if (reads) kedge_store_db_rollback(&store->outbox);
    if (status != KEDGE_OK) kedge_store_drop_footprints(store);
    return status;
}

/* ---- a new edit ---- */

kedge_status kedge_replay_record(kedge_store *store, const kedge_outbox_meta *outbox,
                                 const kedge_cache_meta *cache, const kedge_recording *read,
                                 const kedge_overlay *written, kedge_error *error)
{
    bool sound = kedge_store_has_footprints(store, cache);
    if (!sound && outbox->pending_rows == 0) {
        kedge_store_drop_footprints(store);
        sound = true;
    }
    begin_footprints(store, sound);
    if (!sound) return KEDGE_OK;
    store->footprints_sound =
        kedge_footprints_add(&store->footprints, outbox->last_sequence + 1, outbox->highest_id + 1,
                             read, written, kedge_cache_reader(&store->cache), NULL) == KEDGE_OK;
    if (store->footprints_sound) return KEDGE_OK;
    kedge_store_drop_footprints(store);
    store->untraceable_rows = outbox->pending_rows;
    return kedge_store_db_check(&store->cache, error);
}
