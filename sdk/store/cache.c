/* The cache's meta row and staging row, `item` and `base`. */
#include "sdk/store/store_internal.h"

#include "common/error.h"

kedge_status kedge_cache_meta_read(kedge_store_db *db, kedge_cache_meta *meta, kedge_error *error)
{
    static const char sql[] =
        "SELECT client, lineage, version, lmid, revision, reflected_sequence, resyncing,"
        " item_rows, item_sum, base_rows, base_sum,"
        " checksum = {cache_meta#} FROM meta";
    sqlite3_stmt *row;
    kedge_status status = kedge_store_db_take(db, sql, &row, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, row, error);
    if (status == KEDGE_OK &&
        (sqlite3_column_int(row, 11) == 0 ||
         !kedge_store_column_chars(row, 0, meta->client, sizeof meta->client) ||
         !kedge_store_column_chars(row, 1, meta->lineage, sizeof meta->lineage))) {
        sqlite3_reset(row);
        status = KEDGE_DONE;
    }
    if (status == KEDGE_DONE) return kedge_table_fail(db, "meta", error);
    if (status != KEDGE_OK) return status;
    meta->version = sqlite3_column_int64(row, 2);
    meta->lmid = sqlite3_column_int64(row, 3);
    meta->revision = sqlite3_column_int64(row, 4);
    meta->reflected_sequence = sqlite3_column_int64(row, 5);
    meta->resyncing = sqlite3_column_int(row, 6) != 0;
    meta->items.rows = sqlite3_column_int64(row, 7);
    meta->items.sum = sqlite3_column_int64(row, 8);
    meta->bases.rows = sqlite3_column_int64(row, 9);
    meta->bases.sum = sqlite3_column_int64(row, 10);
    sqlite3_reset(row);
    return KEDGE_OK;
}

kedge_status kedge_cache_meta_write(kedge_store_db *db, const kedge_cache_meta *meta,
                                    kedge_error *error)
{
    /* The columns that stay were checked when the row was read. */
    static const char sql[] =
        "UPDATE meta SET client = ?1, lineage = ?2, version = ?3, lmid = ?4, revision = ?5,"
        " reflected_sequence = ?6, resyncing = ?7, item_rows = ?8, item_sum = ?9, base_rows = ?10,"
        " base_sum = ?11, checksum = kedge_checksum(" KEDGE_SQL_NUMBER(
            KEDGE_ROW_CACHE_META) ", only, ?1, ?2, ?3, ?4, ?5, ?6, ?7, organization, project,"
                                  " ?8, ?9, ?10, ?11) WHERE only = 1";
    kedge_status status = kedge_store_db_change(
        db, sql, error, "cciiiiiiiii", meta->client, meta->lineage, meta->version, meta->lmid,
        meta->revision, meta->reflected_sequence, (int64_t)meta->resyncing, meta->items.rows,
        meta->items.sum, meta->bases.rows, meta->bases.sum);
    if (status != KEDGE_OK) return status;
    return sqlite3_changes(db->handle) == 1 ? KEDGE_OK : kedge_table_fail(db, "meta", error);
}

/* ---- the staging row ---- */

kedge_status kedge_staging_read(kedge_store_db *db, kedge_staging *staging, kedge_error *error)
{
    static const char sql[] = "SELECT version, lineage, lmid, client, lost, complete, item_rows,"
                              " item_sum, outcome_rows, outcome_sum,"
                              " checksum = {staging#} FROM staging";
    sqlite3_stmt *row;
    kedge_status status = kedge_store_db_take(db, sql, &row, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, row, error);
    *staging = (kedge_staging){.version = -1};
    if (status == KEDGE_DONE) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    if (sqlite3_column_int(row, 10) == 0 ||
        !kedge_store_column_chars(row, 1, staging->lineage, sizeof staging->lineage) ||
        !kedge_store_column_chars(row, 3, staging->client, sizeof staging->client)) {
        sqlite3_reset(row);
        return kedge_table_fail(db, "staging", error);
    }
    staging->version = sqlite3_column_int64(row, 0);
    staging->lmid = sqlite3_column_int64(row, 2);
    staging->lost = sqlite3_column_int(row, 4) != 0;
    staging->complete = sqlite3_column_int(row, 5) != 0;
    staging->items.rows = sqlite3_column_int64(row, 6);
    staging->items.sum = sqlite3_column_int64(row, 7);
    staging->outcomes.rows = sqlite3_column_int64(row, 8);
    staging->outcomes.sum = sqlite3_column_int64(row, 9);
    sqlite3_reset(row);
    return KEDGE_OK;
}

/* ---- one row of a table with keys ---- */

/* The statements of one table. All have the key in ?1 and ?2. */
typedef struct keyed_table {
    char name[12];
    int kind;
    char find[80];   /* id, value, checksum */
    char insert[72]; /* ?3 value, ?4 checksum; does not change an existing row */
    char update[84]; /* likewise */
    char remove[60];
} keyed_table;

#define KEYED_TABLE(table, number)                                                                 \
    {                                                                                              \
#table, number,                                                                            \
            "SELECT id, value, checksum FROM " #table " WHERE collection = ?1 AND id = ?2",        \
            "INSERT INTO " #table " VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",                \
            "UPDATE " #table " SET value = ?3, checksum = ?4 WHERE collection = ?1 AND id = ?2",   \
            "DELETE FROM " #table " WHERE collection = ?1 AND id = ?2"                             \
    }

static const keyed_table ITEM = KEYED_TABLE(item, KEDGE_ROW_ITEM);
static const keyed_table BASE = KEYED_TABLE(base, KEDGE_ROW_BASE);
static const keyed_table STAGED = KEYED_TABLE(staged_item, KEDGE_ROW_ITEM);

/* Takes a statement and binds the key to ?1 and ?2. */
static kedge_status take_keyed(kedge_store_db *db, const char *sql, kedge_bytes collection,
                               kedge_bytes id, sqlite3_stmt **statement, kedge_error *error)
{
    return kedge_store_db_bind(db, sql, statement, error, "tt", collection, id);
}

/* Finds a row and checks it, or returns KEDGE_NOT_FOUND. */
static kedge_status find_row(kedge_store_db *db, const keyed_table *table, kedge_bytes collection,
                             kedge_bytes id, kedge_cache_row *row, kedge_error *error)
{
    sqlite3_stmt *find;
    kedge_status status = take_keyed(db, table->find, collection, id, &find, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, find, error);
    if (status == KEDGE_DONE) return KEDGE_NOT_FOUND;
    if (status != KEDGE_OK) return status;
    /* When pages are out of order, SQLite can find a row with another key. */
    if (!kedge_row_read(kedge_row_begin(table->kind, collection), find, 0, row) ||
        !kedge_bytes_equal(row->id, id))
        return kedge_row_fail(db, table->name, collection, id, error);
    return KEDGE_OK;
}

static kedge_status run_put(kedge_store_db *db, const char *sql, kedge_bytes collection,
                            kedge_bytes id, const kedge_bytes *value, int64_t checksum,
                            kedge_error *error)
{
    sqlite3_stmt *put;
    kedge_status status = take_keyed(db, sql, collection, id, &put, error);
    if (status != KEDGE_OK) return status;
    if (value) kedge_store_bind_text(db, put, 3, *value);
    kedge_store_bind_integer(db, put, 4, checksum);
    return kedge_store_db_run(db, put, error);
}

static bool same_value(const kedge_cache_row *row, const kedge_bytes *value)
{
    return row->has_value == (value != NULL) && (!value || kedge_bytes_equal(row->value, *value));
}

/* Most rows that are put are new, so the old row is read only when the insert found one.
 * `*inserted` false: there was a row, which was not changed. */
static kedge_status insert_row(kedge_store_db *db, const keyed_table *table, kedge_row_total *total,
                               kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                               bool *inserted, kedge_error *error)
{
    int64_t checksum = kedge_row_checksum(kedge_row_begin(table->kind, collection), id, value);
    kedge_status status = run_put(db, table->insert, collection, id, value, checksum, error);
    *inserted = status == KEDGE_OK && sqlite3_changes(db->handle) > 0;
    if (*inserted) kedge_row_total_add(total, checksum);
    return status;
}

/* The row must be there. */
static kedge_status replace_row(kedge_store_db *db, const keyed_table *table,
                                kedge_row_total *total, kedge_bytes collection, kedge_bytes id,
                                const kedge_bytes *value, bool *changed, kedge_error *error)
{
    kedge_cache_row old;
    *changed = false;
    kedge_status status = find_row(db, table, collection, id, &old, error);
    /* Another statement found the key, so the row is missing only if the index is out of order. */
    if (status == KEDGE_NOT_FOUND) return kedge_row_fail(db, table->name, collection, id, error);
    if (status != KEDGE_OK || same_value(&old, value)) return status;
    int64_t checksum = kedge_row_checksum(kedge_row_begin(table->kind, collection), id, value);
    status = run_put(db, table->update, collection, id, value, checksum, error);
    if (status != KEDGE_OK) return status;
    kedge_row_total_remove(total, old.checksum);
    kedge_row_total_add(total, checksum);
    *changed = true;
    return KEDGE_OK;
}

static kedge_status put_row(kedge_store_db *db, const keyed_table *table, kedge_row_total *total,
                            kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                            bool *changed, kedge_error *error)
{
    kedge_status status = insert_row(db, table, total, collection, id, value, changed, error);
    if (status != KEDGE_OK || *changed) return status;
    return replace_row(db, table, total, collection, id, value, changed, error);
}

static kedge_status delete_row(kedge_store_db *db, const keyed_table *table, kedge_row_total *total,
                               kedge_bytes collection, kedge_bytes id, bool *changed,
                               kedge_error *error)
{
    kedge_cache_row old;
    sqlite3_stmt *remove;
    *changed = false;
    kedge_status status = find_row(db, table, collection, id, &old, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status == KEDGE_OK) status = take_keyed(db, table->remove, collection, id, &remove, error);
    if (status == KEDGE_OK) status = kedge_store_db_run(db, remove, error);
    if (status != KEDGE_OK) return status;
    kedge_row_total_remove(total, old.checksum);
    *changed = true;
    return KEDGE_OK;
}

/* ---- item ---- */

kedge_status kedge_cache_item(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_bytes *value, kedge_error *error)
{
    kedge_cache_row row;
    kedge_status status = find_row(db, &ITEM, collection, id, &row, error);
    if (status == KEDGE_OK) *value = row.value;
    return status;
}

kedge_status kedge_cache_put(kedge_store_db *db, kedge_row_total *items, kedge_bytes collection,
                             kedge_bytes id, kedge_bytes value, bool *changed, kedge_error *error)
{
    db->runs += db->indexes; /* SQLite writes each of them, as it writes a row */
    return put_row(db, &ITEM, items, collection, id, &value, changed, error);
}

kedge_status kedge_cache_delete(kedge_store_db *db, kedge_row_total *items, kedge_bytes collection,
                                kedge_bytes id, bool *changed, kedge_error *error)
{
    db->runs += db->indexes;
    return delete_row(db, &ITEM, items, collection, id, changed, error);
}

kedge_status kedge_cache_clear(kedge_store_db *db, kedge_row_total *items, kedge_error *error)
{
    *items = (kedge_row_total){0};
    return kedge_store_db_execute(db, "DELETE FROM item", error);
}

kedge_status kedge_cache_put_staged(kedge_store_db *db, kedge_row_total *items,
                                    kedge_bytes collection, kedge_bytes id, kedge_bytes value,
                                    kedge_error *error)
{
    bool changed;
    return put_row(db, &STAGED, items, collection, id, &value, &changed, error);
}

static kedge_status reader_get(void *context, kedge_bytes collection, kedge_bytes id,
                               kedge_buffer *value, kedge_error *error)
{
    kedge_bytes found;
    kedge_status status = kedge_cache_item(context, collection, id, &found, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_bytes(value, found);
    return kedge_buffer_status(value, error);
}

static kedge_status reader_next(void *context, kedge_bytes collection, bool from_start,
                                kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                                kedge_error *error)
{
    static const char first[] = "SELECT id, value, checksum FROM item WHERE collection = ?1"
                                " AND id >= ?2 ORDER BY id LIMIT 1";
    static const char behind[] = "SELECT id, value, checksum FROM item WHERE collection = ?1"
                                 " AND id > ?2 ORDER BY id LIMIT 1";
    kedge_store_db *db = context;
    sqlite3_stmt *next;
    kedge_cache_row row;
    kedge_bytes from = from_start ? (kedge_bytes){"", 0} : after;
    kedge_status status =
        take_keyed(db, from_start ? first : behind, collection, from, &next, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, next, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_row_read(kedge_row_begin(KEDGE_ROW_ITEM, collection), next, 0, &row) ||
        (!from_start && kedge_bytes_compare(row.id, after) <= 0))
        return kedge_row_fail(db, "item", collection, row.id, error);
    kedge_buffer_append_bytes(id, row.id);
    kedge_buffer_append_bytes(value, row.value);
    sqlite3_reset(next);
    status = kedge_buffer_status(id, error);
    return status == KEDGE_OK ? kedge_buffer_status(value, error) : status;
}

kedge_state_reader kedge_cache_reader(kedge_store_db *db)
{
    return (kedge_state_reader){db, reader_get, reader_next};
}

/* ---- base ---- */

kedge_status kedge_cache_base(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_cache_row *row, kedge_error *error)
{
    return find_row(db, &BASE, collection, id, row, error);
}

kedge_status kedge_cache_put_base(kedge_store_db *db, kedge_row_total *bases,
                                  kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                                  bool replaces, kedge_error *error)
{
    bool changed;
    if (replaces) return replace_row(db, &BASE, bases, collection, id, value, &changed, error);
    return put_row(db, &BASE, bases, collection, id, value, &changed, error);
}

kedge_status kedge_cache_keep_base(kedge_store_db *db, kedge_row_total *bases,
                                   kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                                   kedge_error *error)
{
    bool inserted;
    return insert_row(db, &BASE, bases, collection, id, value, &inserted, error);
}

kedge_status kedge_cache_delete_base(kedge_store_db *db, kedge_row_total *bases,
                                     kedge_bytes collection, kedge_bytes id, kedge_error *error)
{
    bool changed;
    return delete_row(db, &BASE, bases, collection, id, &changed, error);
}

static kedge_status load_row(kedge_store_db *db, sqlite3_stmt *cursor, kedge_row_total *seen,
                             kedge_overlay *base, kedge_error *error)
{
    kedge_cache_row row;
    kedge_bytes collection;
    if (!kedge_row_read_any(KEDGE_ROW_BASE, cursor, &collection, &row))
        return kedge_row_fail(db, "base", collection, row.id, error);
    kedge_row_total_add(seen, row.checksum);
    if (!row.has_value) return kedge_overlay_delete(base, collection, row.id, error);
    return kedge_overlay_put(base, collection, row.id, row.value, error);
}

kedge_status kedge_cache_load_base(kedge_store_db *db, const kedge_row_total *bases,
                                   kedge_overlay *base, kedge_error *error)
{
    static const char sql[] = "SELECT collection, id, value, checksum FROM base";
    sqlite3_stmt *cursor;
    kedge_row_total seen = {0};
    kedge_status status = kedge_store_db_take(db, sql, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, cursor, error)) == KEDGE_OK) {
        status = load_row(db, cursor, &seen, base, error);
        if (status != KEDGE_OK) {
            sqlite3_reset(cursor);
            return status;
        }
    }
    if (status != KEDGE_DONE) return status;
    return kedge_row_total_equal(&seen, bases) ? KEDGE_OK : kedge_table_fail(db, "base", error);
}
