/* A scan over a collection in order, on one snapshot. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/names.h"

struct kedge_store_scan {
    kedge_store *store;
    kedge_store_reader *reader;
    sqlite3_stmt *cursor;
    kedge_buffer bounds; /* the bytes that are bound: the collection first */
    size_t collection_size;
    kedge_checksum begun;
    bool ended;
};

/* The bounds of the ids: from `low` on, below `high`; and after `after`. */
typedef struct scan_bounds {
    kedge_bytes low;
    kedge_bytes high; /* empty: none */
    bool behind_low;
} scan_bounds;

/* A condition that always holds would be tried at each row, so that each bound has statements of
 * its own: by [after ?2, not from it on][below ?3]. */
static const char *const ASCENDING[2][2] = {
    {"{rows item} AND id >= ?2 ORDER BY id LIMIT ?4",
     "{rows item} AND id >= ?2 AND id < ?3 ORDER BY id LIMIT ?4"},
    {"{rows item} AND id > ?2 ORDER BY id LIMIT ?4",
     "{rows item} AND id > ?2 AND id < ?3 ORDER BY id LIMIT ?4"}};
static const char *const DESCENDING[2] = {
    "{rows item} AND id >= ?2 ORDER BY id DESC LIMIT ?4",
    "{rows item} AND id >= ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4"};

/* The least string above all that start with `prefix`, into `out`; empty when there is none. */
static void prefix_end(kedge_bytes prefix, kedge_buffer *out)
{
    while (prefix.size > 0 && (unsigned char)prefix.data[prefix.size - 1] == 0xff)
        prefix.size--;
    if (prefix.size == 0) return;
    kedge_buffer_append(out, prefix.data, prefix.size - 1);
    kedge_buffer_append_byte(out, (char)((unsigned char)prefix.data[prefix.size - 1] + 1));
}

/* Copies collection, low and high into the scan's own bytes. */
static kedge_status copy_bounds(kedge_store_scan *scan, kedge_bytes collection,
                                const kedge_scan_options *options, scan_bounds *bounds,
                                kedge_error *error)
{
    kedge_bytes prefix = {options->prefix, options->prefix ? options->prefix_size : 0};
    kedge_bytes after = {options->after, options->after_size};
    kedge_buffer end = kedge_buffer_make(scan->store->allocator);
    bool up = options->after && !options->descending;
    bool down = options->after && options->descending;
    prefix_end(prefix, &end);
    kedge_status status = kedge_buffer_status(&end, error);
    kedge_bytes low = prefix;
    kedge_bytes high = kedge_buffer_bytes(&end);
    bounds->behind_low = up && kedge_bytes_compare(after, prefix) >= 0;
    if (bounds->behind_low) low = after;
    if (down && (high.size == 0 || kedge_bytes_compare(after, high) < 0)) high = after;
    bool nothing = down && after.size == 0;
    scan->collection_size = collection.size;
    scan->begun = kedge_row_begin(KEDGE_ROW_ITEM, collection);
    kedge_buffer_append_bytes(&scan->bounds, collection);
    kedge_buffer_append_bytes(&scan->bounds, low);
    kedge_buffer_append_bytes(&scan->bounds, high);
    if (status == KEDGE_OK) status = kedge_buffer_status(&scan->bounds, error);
    if (status == KEDGE_OK) {
        bounds->low = (kedge_bytes){scan->bounds.data + collection.size, low.size};
        bounds->high = (kedge_bytes){bounds->low.data + low.size, high.size};
        scan->ended = nothing;
    }
    kedge_buffer_free(&end);
    return status;
}

static kedge_status prepare(kedge_store_scan *scan, kedge_bytes collection,
                            const kedge_scan_options *options, kedge_error *error)
{
    scan_bounds bounds = {0};
    kedge_store_db *db = &scan->reader->cache;
    kedge_status status = copy_bounds(scan, collection, options, &bounds, error);
    if (status != KEDGE_OK) return status;
    bool below = bounds.high.size > 0;
    const char *sql = options->descending ? DESCENDING[below] : ASCENDING[bounds.behind_low][below];
    status = kedge_reader_begin_cache(scan->reader, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, sql, &scan->cursor, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_text(db, scan->cursor, 1, (kedge_bytes){scan->bounds.data, collection.size});
    kedge_store_bind_text(db, scan->cursor, 2, bounds.low);
    if (below) kedge_store_bind_text(db, scan->cursor, 3, bounds.high);
    kedge_store_bind_integer(db, scan->cursor, 4, options->limit > 0 ? options->limit : -1);
    /* Takes the snapshot now, not at the first row. */
    return kedge_store_db_execute(db, "SELECT 1 FROM meta", error);
}

static kedge_status open_once(kedge_store *store, kedge_bytes collection,
                              const kedge_scan_options *options, kedge_store_scan **scan,
                              bool *again, kedge_error *error)
{
    kedge_store_scan *made = kedge_allocate(store->allocator, sizeof *made);
    *again = false;
    if (!made) return kedge_fail_no_memory(error);
    made->store = store;
    made->bounds = kedge_buffer_make(store->allocator);
    kedge_status status = kedge_reader_take_shown(store, &made->reader, error);
    if (status == KEDGE_OK) status = prepare(made, collection, options, error);
    if (status == KEDGE_OK) {
        *scan = made;
        return KEDGE_OK;
    }
    if (made->reader && status == KEDGE_CORRUPT) {
        kedge_reader_end(made->reader);
        *again = kedge_reader_heal(store, made->reader, error);
    }
    kedge_store_scan_close(made);
    return status;
}

kedge_status kedge_store_scan_open(kedge_store *store, kedge_bytes collection,
                                   const kedge_scan_options *options, kedge_store_scan **scan,
                                   kedge_error *error)
{
    static const kedge_scan_options all = KEDGE_SCAN_OPTIONS_INIT;
    bool again = false;
    kedge_status status = kedge_check_name("collection", collection, error);
    if (status != KEDGE_OK) return status;
    if (!options) options = &all;
    KEDGE_ASSERT(options->limit >= 0); /* kedge_scan_open has checked it */
    status = open_once(store, collection, options, scan, &again, error);
    if (again) status = open_once(store, collection, options, scan, &again, error);
    return status;
}

static kedge_status fail_row(kedge_store_scan *scan, kedge_bytes id, kedge_error *error)
{
    kedge_bytes collection = {scan->bounds.data, scan->collection_size};
    return kedge_row_fail(&scan->reader->cache, "item", collection, id, error);
}

kedge_status kedge_store_scan_next(kedge_store_scan *scan, kedge_bytes *id, kedge_bytes *value,
                                   kedge_error *error)
{
    if (scan->ended) return KEDGE_DONE;
    kedge_cache_row row;
    kedge_status status = kedge_store_db_step(&scan->reader->cache, scan->cursor, error);
    if (status == KEDGE_OK && !kedge_row_read(scan->begun, scan->cursor, 0, &row))
        status = fail_row(scan, row.id, error);
    if (status == KEDGE_OK) {
        *id = row.id;
        *value = row.value;
        return KEDGE_OK;
    }
    scan->ended = true;
    if (status != KEDGE_CORRUPT) return status;
    /* This scan cannot continue. The next one reads the cache that replaces this one. */
    kedge_reader_end(scan->reader);
    (void)kedge_reader_heal(scan->store, scan->reader, error);
    return status;
}

void kedge_store_scan_close(kedge_store_scan *scan)
{
    if (!scan) return;
    if (scan->reader) kedge_reader_give(scan->store, scan->reader);
    kedge_buffer_free(&scan->bounds);
    kedge_release(scan->store->allocator, scan);
}
