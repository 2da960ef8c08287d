/* Reads while the cache cannot be written.
 *
 * An edit is acknowledged once the outbox has it. If the cache's commit after it fails, or the
 * repair when opening does, since the disk is full, then `item` lacks edits that every read must
 * show. Until the cache can be written, reads go through a shadow:
 *
 *   rehearsal   in a turn, the repair of the prediction is done in open transactions of both files,
 *               which are then rolled back: the pages that it changes stay in memory
 *   collecting  canonical state does not change by that, so `item` differs at most under the keys
 *               of `base`, before or after: these rows are the shadow, an overlay in memory
 *   laying      the rows become a temporary table of the reader's connection, in memory too, and a
 *               temporary view `item` in front of the table: the same SQL reads what is predicted
 *
 * What it costs depends on what the pending mutations write, never on the project. The overlay is
 * kept for as long as both files are as they were when it was made; who writes to either makes the
 * prediction fit, or fails. The reader is closed after its use.
 *
 * If the repair would also put a staged state in (a rotation to another lineage that was cut
 * short), there is no shadow, and reads show the cache as it is. */
#include "sdk/store/prediction.h"

#include "common/error.h"
#include <string.h>

void kedge_shadow_note(kedge_store *store, kedge_status why)
{
    atomic_store(&store->stale_why, (int)why);
    atomic_store(&store->stale, true);
}

bool kedge_store_cache_error(kedge_store *store, kedge_error *error)
{
    if (!atomic_load(&store->stale)) return false;
    kedge_status why = (kedge_status)atomic_load(&store->stale_why);
    if (why == KEDGE_DISK_FULL) {
        kedge_fail(
            error, why, "disk-full",
            "the disk is full: cache.db in %s cannot be written, so that no further edits are"
            " taken and nothing is pulled; reads show all edits; free some space",
            store->path);
        return true;
    }
    if (why == KEDGE_OK) return false;
    kedge_fail(error, why, "cache-not-written",
               "cache.db in %s cannot be written (%s), so that no further edits are taken and"
               " nothing is pulled; reads show all edits",
               store->path, kedge_status_name(why));
    return true;
}

void kedge_shadow_free(kedge_store *store)
{
    kedge_overlay_free(store->shadow.rows);
    store->shadow.rows = NULL;
}

void kedge_shadow_end(kedge_store *store)
{
    if (!atomic_load(&store->stale)) return;
    kedge_shadow_free(store);
    atomic_store(&store->stale, false);
    atomic_store(&store->stale_why, KEDGE_OK);
}

/* ---- what it was made of ---- */

static bool is_of(const kedge_shadow *shadow, const kedge_outbox_meta *outbox,
                  const kedge_cache_meta *cache)
{
    return shadow->rows && strcmp(shadow->outbox_client, outbox->client) == 0 &&
           shadow->outbox_revision == outbox->revision &&
           strcmp(shadow->cache_client, cache->client) == 0 &&
           strcmp(shadow->lineage, cache->lineage) == 0 && shadow->version == cache->version &&
           shadow->lmid == cache->lmid && shadow->cache_revision == cache->revision;
}

static void keep(kedge_store *store, kedge_overlay *rows, const kedge_outbox_meta *outbox,
                 const kedge_cache_meta *cache)
{
    kedge_shadow *shadow = &store->shadow;
    kedge_shadow_free(store);
    *shadow = (kedge_shadow){.rows = rows,
                             .outbox_revision = outbox->revision,
                             .cache_revision = cache->revision,
                             .version = cache->version,
                             .lmid = cache->lmid};
    memcpy(shadow->outbox_client, outbox->client, sizeof shadow->outbox_client);
    memcpy(shadow->cache_client, cache->client, sizeof shadow->cache_client);
    memcpy(shadow->lineage, cache->lineage, sizeof shadow->lineage);
}

/* ---- rehearsal ---- */

/* Pages that are not committed stay in memory, however many. */
static kedge_status begin_rehearsal(kedge_store *store, kedge_error *error)
{
    static const char *const in_memory = "PRAGMA temp_store=MEMORY; PRAGMA cache_spill=0";
    kedge_status status = kedge_store_db_execute(&store->cache, in_memory, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(&store->outbox, in_memory, error);
    store->cache.rehearsing = store->outbox.rehearsing = status == KEDGE_OK;
    return status;
}

static void end_rehearsal(kedge_store *store)
{
    static const char *const as_before = "PRAGMA cache_spill=1";
    store->cache.rehearsing = store->outbox.rehearsing = false;
    kedge_store_db_rollback(&store->cache);
    kedge_store_db_rollback(&store->outbox);
    (void)kedge_store_db_execute(&store->cache, as_before, NULL);
    (void)kedge_store_db_execute(&store->outbox, as_before, NULL);
}

static kedge_status add_row(kedge_store *store, const kedge_overlay_entry *key, kedge_overlay *rows,
                            kedge_error *error)
{
    kedge_bytes value;
    kedge_status status = kedge_cache_item(&store->cache, key->collection, key->id, &value, error);
    if (status == KEDGE_NOT_FOUND)
        return kedge_overlay_delete(rows, key->collection, key->id, error);
    if (status != KEDGE_OK) return status;
    return kedge_overlay_put(rows, key->collection, key->id, value, error);
}

/* Adds what `base` says of keys that `rows` does not have: with `predicted` the visible values, in
 * rehearsal; without it the canonical ones, which show where nothing is predicted any more. */
static kedge_status add_rows(kedge_store *store, const kedge_cache_meta *cache, bool predicted,
                             kedge_overlay *rows, kedge_error *error)
{
    kedge_overlay_entry entry, known;
    kedge_overlay *base = kedge_overlay_new(store->allocator);
    if (!base) return kedge_fail_no_memory(error);
    kedge_status status = kedge_cache_load_base(&store->cache, &cache->bases, base, error);
    bool more = status == KEDGE_OK && kedge_overlay_next(base, NULL, &entry);
    while (more && status == KEDGE_OK) {
        kedge_overlay_entry at = entry;
        if (predicted)
            status = add_row(store, &entry, rows, error);
        else if (kedge_overlay_get(rows, entry.collection, entry.id, &known))
            status = KEDGE_OK;
        else if (entry.deleted)
            status = kedge_overlay_delete(rows, entry.collection, entry.id, error);
        else
            status = kedge_overlay_put(rows, entry.collection, entry.id, entry.value, error);
        more = kedge_overlay_next(base, &at, &entry);
    }
    kedge_overlay_free(base);
    return status;
}

static kedge_status rehearse(kedge_store *store, const kedge_cache_meta *before,
                             kedge_overlay *rows, bool *same, kedge_error *error)
{
    kedge_cache_meta after;
    bool untold = store->untold;
    kedge_status status = begin_rehearsal(store, error);
    if (status == KEDGE_OK) status = kedge_prediction_repair(store, false, NULL, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &after, error);
    *same = status == KEDGE_OK && after.version == before->version &&
            strcmp(after.lineage, before->lineage) == 0;
    if (*same) status = add_rows(store, &after, true, rows, error);
    end_rehearsal(store);
    store->untold = untold; /* the repair wrote nothing */
    return status;
}

static kedge_status make_shadow(kedge_store *store, kedge_error *error)
{
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    bool same = false;
    kedge_overlay *rows = kedge_overlay_new(store->allocator);
    if (!rows) return kedge_fail_no_memory(error);
    kedge_status status = kedge_outbox_meta_read(&store->outbox, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status == KEDGE_OK) status = rehearse(store, &cache, rows, &same, error);
    if (status == KEDGE_OK && same) status = add_rows(store, &cache, false, rows, error);
    if (status == KEDGE_OK)
        keep(store, rows, &outbox, &cache);
    else
        kedge_overlay_free(rows);
    return status;
}

/* ---- laying it in front of `item` ---- */

/* No collection can have a name with a space. */
static const char *const LAY =
    "PRAGMA query_only=0; BEGIN; SELECT 1 FROM main.meta;"
    "CREATE TEMP TABLE \"kedge shadow\"{keyed TEXT};"
    "CREATE TEMP VIEW \"kedge shown\" AS"
    " {shown} FROM main.item WHERE NOT EXISTS("
    "SELECT 1 FROM \"kedge shadow\" AS shadow WHERE shadow.collection = item.collection"
    " AND shadow.id = item.id)"
    " UNION ALL {shown} FROM \"kedge shadow\""
    " WHERE value IS NOT NULL;"
    "CREATE TEMP VIEW item AS SELECT * FROM \"kedge shown\"";

static kedge_status lay_row(kedge_store_db *db, const kedge_overlay_entry *row, kedge_error *error)
{
    static const char *const sql = "INSERT INTO \"kedge shadow\" VALUES(?1, ?2, ?3, ?4)";
    const kedge_bytes *value = row->deleted ? NULL : &row->value;
    kedge_checksum begun = kedge_row_begin(KEDGE_ROW_ITEM, row->collection);
    return kedge_store_db_change(db, sql, error, "ttoi", row->collection, row->id, value,
                                 kedge_row_checksum(begun, row->id, value));
}

static kedge_status lay(const kedge_shadow *shadow, kedge_store_reader *reader, kedge_error *error)
{
    kedge_overlay_entry entry;
    reader->shadowed = true;
    kedge_status status = kedge_store_db_execute(&reader->cache, LAY, error);
    bool more = kedge_overlay_next(shadow->rows, NULL, &entry);
    while (more && status == KEDGE_OK) {
        kedge_overlay_entry at = entry;
        status = lay_row(&reader->cache, &at, error);
        more = kedge_overlay_next(shadow->rows, &at, &entry);
    }
    return status;
}

/* ---- taking a reader ---- */

/* Repairs the prediction if that is possible now; otherwise makes a shadow. The turn may have found
 * that the cache is damaged, or that another process has set it aside. */
static kedge_status lay_work(kedge_store *store, void *context, kedge_error *error)
{
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_status status = kedge_reader_renew(store, context, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(&store->outbox, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status != KEDGE_OK) return status;
    if (!is_of(&store->shadow, &outbox, &cache)) {
        status = kedge_prediction_repair(store, false, NULL, error);
        if (status == KEDGE_OK) {
            kedge_shadow_end(store);
            return KEDGE_OK;
        }
        if (status == KEDGE_CORRUPT || status == KEDGE_NO_MEMORY) return status;
        kedge_shadow_note(store, status);
        status = make_shadow(store, error);
    }
    return status == KEDGE_OK ? lay(&store->shadow, context, error) : status;
}

kedge_status kedge_reader_take_shown(kedge_store *store, kedge_store_reader **reader,
                                     kedge_error *error)
{
    kedge_store_reader *taken;
    kedge_status status = kedge_reader_take(store, &taken, error);
    if (status != KEDGE_OK) return status;
    if (atomic_load(&store->stale)) status = kedge_store_take_turn(store, lay_work, taken, error);
    if (status == KEDGE_OK)
        *reader = taken;
    else
        kedge_reader_give(store, taken);
    return status;
}
