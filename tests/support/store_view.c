/* Reads the tables of both files through a reader of the store. */
#include "tests/support/store_view.h"

#include "sdk/store/store_internal.h"

#include "common/json.h"
#include "wire/key.h"

#define ITEM_COLUMNS "collection, id, value, checksum = {item#}"
#define BASE_COLUMNS "collection, id, value, checksum = {base#}"

/* The last column: a row that is read and checked, and left out. A damaged key of an item may be
 * that of a base row, which would hide the damage. */
static const char VISIBLE[] = "SELECT " ITEM_COLUMNS ", 0 FROM item";
static const char CANONICAL[] =
    "SELECT " ITEM_COLUMNS ", EXISTS(SELECT 1 FROM base WHERE"
    " base.collection = item.collection AND base.id = item.id) FROM item"
    " UNION ALL SELECT " BASE_COLUMNS ", 0 FROM base";

static kedge_status write_items(kedge_store_db *db, const char *sql, kedge_buffer *key,
                                kedge_json_writer *writer, kedge_error *error)
{
    sqlite3_stmt *cursor;
    kedge_status status = kedge_store_db_take(db, sql, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, cursor, error)) == KEDGE_OK) {
        if (sqlite3_column_int(cursor, 3) == 0) {
            status = kedge_row_fail(db, "item", kedge_store_column(cursor, 0),
                                    kedge_store_column(cursor, 1), error);
            break;
        }
        if (sqlite3_column_int(cursor, 4) != 0) continue;
        if (sqlite3_column_type(cursor, 2) == SQLITE_NULL) continue; /* canonically absent */
        kedge_buffer_clear(key);
        kedge_wire_key_join(kedge_store_column(cursor, 0), kedge_store_column(cursor, 1), key);
        status = kedge_buffer_status(key, error);
        if (status != KEDGE_OK) break;
        kedge_json_key_bytes(writer, kedge_buffer_bytes(key));
        kedge_json_raw(writer, kedge_store_column(cursor, 2));
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status store_dump(kedge_store *store, bool canonical, kedge_buffer *out, kedge_error *error)
{
    kedge_store_reader *reader;
    kedge_buffer key = kedge_buffer_make(store->allocator);
    kedge_buffer text = kedge_buffer_make(store->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_status status = canonical ? kedge_reader_take(store, &reader, error)
                                    : kedge_reader_take_shown(store, &reader, error);
    if (status != KEDGE_OK) return status;
    kedge_json_begin_object(&writer);
    status = kedge_reader_begin_cache(reader, error);
    if (status == KEDGE_OK)
        status = write_items(&reader->cache, canonical ? CANONICAL : VISIBLE, &key, &writer, error);
    kedge_json_end_object(&writer);
    if (status == KEDGE_OK) status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK) {
        kedge_buffer_clear(out);
        status = kedge_json_canonical(kedge_buffer_bytes(&text), out, error);
    }
    kedge_reader_end(reader);
    if (status == KEDGE_CORRUPT) (void)kedge_reader_heal(store, reader, error);
    kedge_reader_give(store, reader);
    kedge_buffer_free(&key);
    kedge_buffer_free(&text);
    return status;
}

static kedge_status get_canonical(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                                  kedge_buffer *value, kedge_error *error)
{
    kedge_cache_row row;
    kedge_bytes found;
    /* One snapshot for both tables. */
    kedge_status status = kedge_store_db_execute(db, "BEGIN", error);
    if (status == KEDGE_OK) status = kedge_cache_base(db, collection, id, &row, error);
    if (status == KEDGE_OK && !row.has_value) return KEDGE_NOT_FOUND;
    if (status == KEDGE_OK) found = row.value;
    if (status == KEDGE_NOT_FOUND) status = kedge_cache_item(db, collection, id, &found, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_bytes(value, found);
    return kedge_buffer_status(value, error);
}

static kedge_status get_once(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                             kedge_buffer *value, bool *again, kedge_error *error)
{
    kedge_store_reader *reader;
    kedge_status status = kedge_reader_take(store, &reader, error);
    *again = false;
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(value);
    status = get_canonical(&reader->cache, collection, id, value, error);
    kedge_reader_end(reader);
    if (status == KEDGE_CORRUPT) *again = kedge_reader_heal(store, reader, error);
    kedge_reader_give(store, reader);
    return status;
}

kedge_status store_get_canonical(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                                 kedge_buffer *value, kedge_error *error)
{
    bool again;
    kedge_status status = get_once(store, collection, id, value, &again, error);
    if (again) status = get_once(store, collection, id, value, &again, error);
    return status;
}

bool store_counts_are_right(kedge_store *store)
{
    static const char sql[] =
        "SELECT count(*) FROM meta WHERE pending_rows = (SELECT count(*) FROM pending)"
        " AND rejected_rows = (SELECT count(*) FROM rejected)";
    kedge_store_reader *reader;
    int64_t copies = 0;
    if (kedge_reader_take(store, &reader, NULL) != KEDGE_OK) return false;
    kedge_status status = kedge_store_db_number(&reader->outbox, sql, &copies, NULL);
    kedge_reader_end(reader);
    kedge_reader_give(store, reader);
    return status == KEDGE_OK && copies == 2;
}
