/* The hash of the canonical state as a pull will leave it: three sources in key order, of which the
 * first one that has a key tells its value. Reads all of `item`: some 100 bytes an item through
 * SQLite, the row's checksum and SHA-256. */
#include "sdk/store/entries.h"

#include "common/error.h"
#include "mutate/state_hash.h"

/* An overlay that is walked through. */
typedef struct layer {
    const kedge_overlay *overlay;
    kedge_overlay_entry entry;
    bool has;
} layer;

static layer layer_start(const kedge_overlay *overlay)
{
    layer made = {.overlay = overlay};
    made.has = kedge_overlay_next(overlay, NULL, &made.entry);
    return made;
}

static void layer_next(layer *at)
{
    kedge_overlay_entry passed = at->entry;
    at->has = kedge_overlay_next(at->overlay, &passed, &at->entry);
}

static int compare(const kedge_overlay_entry *a, const kedge_overlay_entry *b)
{
    int order = kedge_bytes_compare(a->collection, b->collection);
    return order ? order : kedge_bytes_compare(a->id, b->id);
}

static void add(kedge_state_hash *hash, const kedge_overlay_entry *entry)
{
    if (!entry->deleted) kedge_state_hash_add(hash, entry->collection, entry->id, entry->value);
}

/* Adds what the layers have in front of `item`; NULL: all that is left. Returns true when they
 * have the key of `item`, too. */
static bool add_before(kedge_state_hash *hash, layer *upper, layer *lower,
                       const kedge_overlay_entry *item)
{
    for (;;) {
        layer *lowest = upper->has ? upper : lower;
        if (upper->has && lower->has && compare(&lower->entry, &upper->entry) < 0) lowest = lower;
        if (!lowest->has) return false;
        int order = item ? compare(&lowest->entry, item) : -1;
        if (order > 0) return false;
        add(hash, &lowest->entry);
        if (lowest == upper && lower->has && compare(&lower->entry, &upper->entry) == 0)
            layer_next(lower);
        layer_next(lowest);
        if (order == 0) return true;
    }
}

static kedge_status add_items(kedge_store *store, kedge_state_hash *hash, layer *upper,
                              layer *lower, kedge_error *error)
{
    static const char *const sql = "{in_order item}";
    sqlite3_stmt *cursor;
    kedge_cache_row row;
    kedge_status status = kedge_store_db_take(&store->cache, sql, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(&store->cache, cursor, error)) == KEDGE_OK) {
        kedge_overlay_entry item = {.deleted = false};
        if (!kedge_row_read_any(KEDGE_ROW_ITEM, cursor, &item.collection, &row)) {
            status = kedge_row_fail(&store->cache, "item", item.collection, row.id, error);
            break;
        }
        item.id = row.id;
        item.value = row.value;
        if (!add_before(hash, upper, lower, &item)) add(hash, &item);
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_canonical_hash(kedge_store *store, const kedge_overlay *base,
                                  const kedge_overlay *changes, bool anew,
                                  uint8_t hash[KEDGE_SHA256_SIZE], kedge_error *error)
{
    kedge_state_hash state;
    layer upper = layer_start(changes);
    layer lower = layer_start(base);
    kedge_status status = KEDGE_OK;
    kedge_state_hash_begin(&state);
    if (!anew) status = add_items(store, &state, &upper, &lower, error);
    (void)add_before(&state, &upper, &lower, NULL);
    kedge_state_hash_end(&state, hash);
    return status;
}
