/* Checks the whole cache in the background: the order of the keys, every checksum, the totals, and
 * then the declared indexes (index_check.c). The rows are read twice: by the index of their keys,
 * as reads of single rows find them, and as they lie in the table, as some queries do. The check
 * finds damage that reads of single rows cannot find: missing rows, swapped pages, and old pages
 * that the disk brought back. It reads one snapshot in slices, so that no call takes long. Writers
 * do not wait for it. */
#include "sdk/store/index_check.h"

#include "common/error.h"

struct kedge_cache_check {
    kedge_store_reader *reader;
    sqlite3_stmt *cursor;
    kedge_row_total expected;
    kedge_row_total seen;
    bool by_key;             /* the rows come by the index of their keys */
    kedge_buffer collection; /* of the last row */
    kedge_buffer id;
    kedge_index_check *indexes; /* NULL: the rows come first */
};

void kedge_cache_check_end(kedge_store *store)
{
    kedge_cache_check *check = store->check;
    if (!check) return;
    store->check = NULL;
    kedge_buffer_free(&check->collection);
    kedge_buffer_free(&check->id);
    kedge_index_check_end(check->indexes);
    if (check->reader) kedge_reader_give(store, check->reader);
    kedge_release(store->allocator, check);
}

/* `meta` and `base` are small: they are checked at once. */
static kedge_status check_base(kedge_store *store, kedge_store_db *db, const kedge_cache_meta *meta,
                               kedge_error *error)
{
    kedge_overlay *base = kedge_overlay_new(store->allocator);
    if (!base) return kedge_fail_no_memory(error);
    kedge_status status = kedge_cache_load_base(db, &meta->bases, base, error);
    kedge_overlay_free(base);
    return status;
}

static kedge_status read_rows(kedge_cache_check *check, bool by_key, kedge_error *error)
{
    const char *sql = by_key ? "{in_order item}" : "{select_all} FROM item NOT INDEXED";
    check->by_key = by_key;
    check->seen = (kedge_row_total){0};
    return kedge_store_db_take(&check->reader->cache, sql, &check->cursor, error);
}

static kedge_status check_begin(kedge_store *store, kedge_error *error)
{
    kedge_cache_meta meta;
    kedge_cache_check *check = kedge_allocate(store->allocator, sizeof *check);
    if (!check) return kedge_fail_no_memory(error);
    /* Cleared at the start of the check: a cache that replaces this one meanwhile needs a check of
     * its own. */
    atomic_store(&store->check_due, false);
    check->collection = kedge_buffer_make(store->allocator);
    check->id = kedge_buffer_make(store->allocator);
    store->check = check;
    kedge_status status = kedge_reader_take(store, &check->reader, error);
    if (status != KEDGE_OK) return status;
    kedge_store_db *db = &check->reader->cache;
    status = kedge_reader_begin_cache(check->reader, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(db, &meta, error);
    if (status == KEDGE_OK) status = check_base(store, db, &meta, error);
    if (status == KEDGE_OK) status = read_rows(check, true, error);
    if (status == KEDGE_OK) check->expected = meta.items;
    return status;
}

/* Rows are in byte order, and no key is there twice. */
static bool in_order(const kedge_cache_check *check, kedge_bytes collection, kedge_bytes id)
{
    if (!check->by_key || check->seen.rows == 0) return true;
    int order = kedge_bytes_compare(kedge_buffer_bytes(&check->collection), collection);
    if (order == 0) order = kedge_bytes_compare(kedge_buffer_bytes(&check->id), id);
    return order < 0;
}

static kedge_status keep_key(kedge_cache_check *check, kedge_bytes collection, kedge_bytes id,
                             kedge_error *error)
{
    kedge_buffer_clear(&check->collection);
    kedge_buffer_append_bytes(&check->collection, collection);
    kedge_buffer_clear(&check->id);
    kedge_buffer_append_bytes(&check->id, id);
    kedge_status status = kedge_buffer_status(&check->collection, error);
    return status == KEDGE_OK ? kedge_buffer_status(&check->id, error) : status;
}

static kedge_status check_row(kedge_cache_check *check, kedge_error *error)
{
    kedge_cache_row row;
    kedge_bytes collection;
    if (!kedge_row_read_any(KEDGE_ROW_ITEM, check->cursor, &collection, &row) ||
        !in_order(check, collection, row.id))
        return kedge_row_fail(&check->reader->cache, "item", collection, row.id, error);
    kedge_row_total_add(&check->seen, row.checksum);
    return keep_key(check, collection, row.id, error);
}

static kedge_status check_slice(kedge_store *store, kedge_error *error)
{
    kedge_cache_check *check = store->check;
    kedge_store_db *db = &check->reader->cache;
    for (int i = 0; i < KEDGE_STORE_CHECK_ROWS; i++) {
        kedge_status status = kedge_store_db_step(db, check->cursor, error);
        if (status == KEDGE_OK) status = check_row(check, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

/* Returns KEDGE_OK when the same rows, as they lie in the table, or the indexes are next. */
static kedge_status check_end_of_rows(kedge_store *store, kedge_error *error)
{
    kedge_cache_check *check = store->check;
    if (!kedge_row_total_equal(&check->seen, &check->expected))
        return kedge_table_fail(&check->reader->cache, "item", error);
    if (check->by_key) return read_rows(check, false, error);
    return kedge_index_check_begin(store->allocator, check->reader, &check->indexes, error);
}

/* The cache may have been set aside since the last slice: then there is another one to check. */
static kedge_status check_more(kedge_store *store, kedge_error *error)
{
    kedge_cache_check *check = store->check;
    if (check && !kedge_store_db_is_at(&check->reader->cache, store->cache_path))
        kedge_cache_check_end(store);
    kedge_status status = store->check ? KEDGE_OK : check_begin(store, error);
    if (status != KEDGE_OK) return status;
    check = store->check;
    if (check->indexes)
        return kedge_index_check_slice(check->indexes, KEDGE_STORE_CHECK_ROWS, error);
    status = check_slice(store, error);
    return status == KEDGE_DONE ? check_end_of_rows(store, error) : status;
}

kedge_status kedge_store_check_cache(kedge_store *store, kedge_error *error)
{
    if (!store->check && !atomic_load(&store->check_due)) return KEDGE_DONE;
    kedge_status status = check_more(store, error);
    if (status == KEDGE_OK) return KEDGE_OK;
    if (status != KEDGE_DONE) atomic_store(&store->check_due, true);
    if (status == KEDGE_CORRUPT && store->check && store->check->reader) {
        kedge_reader_end(store->check->reader);
        (void)kedge_reader_heal(store, store->check->reader, error);
    }
    kedge_cache_check_end(store);
    return status;
}
