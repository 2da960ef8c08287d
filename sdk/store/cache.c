/* The cache's meta row, `item` and `base`. */
#include "sdk/store/store_internal.h"

#include "common/error.h"

kedge_status kedge_cache_meta_read(kedge_store_db *db, kedge_cache_meta *meta, kedge_error *error)
{
    static const char sql[] = "SELECT client, lineage, version, lmid, revision, reflected_sequence,"
                              " resyncing FROM meta";
    sqlite3_stmt *row;
    kedge_status status = kedge_store_db_take(db, sql, &row, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, row, error);
    if (status == KEDGE_OK &&
        (!kedge_store_column_chars(row, 0, meta->client, sizeof meta->client) ||
         !kedge_store_column_chars(row, 1, meta->lineage, sizeof meta->lineage)))
        status = KEDGE_DONE;
    if (status == KEDGE_DONE)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading its meta row", error);
    if (status != KEDGE_OK) return status;
    meta->version = sqlite3_column_int64(row, 2);
    meta->lmid = sqlite3_column_int64(row, 3);
    meta->revision = sqlite3_column_int64(row, 4);
    meta->reflected_sequence = sqlite3_column_int64(row, 5);
    meta->resyncing = sqlite3_column_int(row, 6) != 0;
    sqlite3_reset(row);
    return KEDGE_OK;
}

kedge_status kedge_cache_meta_write(kedge_store_db *db, const kedge_cache_meta *meta,
                                    kedge_error *error)
{
    static const char sql[] = "UPDATE meta SET client = ?1, lineage = ?2, version = ?3, lmid = ?4,"
                              " revision = ?5, reflected_sequence = ?6, resyncing = ?7";
    sqlite3_stmt *update;
    kedge_status status = kedge_store_db_take(db, sql, &update, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_chars(db, update, 1, meta->client);
    kedge_store_bind_chars(db, update, 2, meta->lineage);
    kedge_store_bind_integer(db, update, 3, meta->version);
    kedge_store_bind_integer(db, update, 4, meta->lmid);
    kedge_store_bind_integer(db, update, 5, meta->revision);
    kedge_store_bind_integer(db, update, 6, meta->reflected_sequence);
    kedge_store_bind_integer(db, update, 7, meta->resyncing);
    return kedge_store_db_run(db, update, error);
}

/* Takes a statement and binds the key to ?1 and ?2. */
static kedge_status take_keyed(kedge_store_db *db, const char *sql, kedge_bytes collection,
                               kedge_bytes id, sqlite3_stmt **statement, kedge_error *error)
{
    kedge_status status = kedge_store_db_take(db, sql, statement, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_text(db, *statement, 1, collection);
    kedge_store_bind_text(db, *statement, 2, id);
    return KEDGE_OK;
}

kedge_status kedge_cache_item(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_bytes *value, kedge_error *error)
{
    static const char sql[] = "SELECT value FROM item WHERE collection = ?1 AND id = ?2";
    sqlite3_stmt *get;
    kedge_status status = take_keyed(db, sql, collection, id, &get, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, get, error);
    if (status == KEDGE_DONE) return KEDGE_NOT_FOUND;
    if (status == KEDGE_OK) *value = kedge_store_column(get, 0);
    return status;
}

kedge_status kedge_cache_put(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                             kedge_bytes value, kedge_error *error)
{
    static const char sql[] = "INSERT INTO item VALUES(?1, ?2, ?3)"
                              " ON CONFLICT DO UPDATE SET value = excluded.value"
                              " WHERE value <> excluded.value";
    sqlite3_stmt *put;
    kedge_status status = take_keyed(db, sql, collection, id, &put, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_text(db, put, 3, value);
    return kedge_store_db_run(db, put, error);
}

static kedge_status run_keyed(kedge_store_db *db, const char *sql, kedge_bytes collection,
                              kedge_bytes id, kedge_error *error)
{
    sqlite3_stmt *statement;
    kedge_status status = take_keyed(db, sql, collection, id, &statement, error);
    if (status == KEDGE_OK) status = kedge_store_db_run(db, statement, error);
    return status;
}

kedge_status kedge_cache_delete(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                                kedge_error *error)
{
    static const char sql[] = "DELETE FROM item WHERE collection = ?1 AND id = ?2";
    return run_keyed(db, sql, collection, id, error);
}

kedge_status kedge_cache_delete_base(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                                     kedge_error *error)
{
    static const char sql[] = "DELETE FROM base WHERE collection = ?1 AND id = ?2";
    return run_keyed(db, sql, collection, id, error);
}

static kedge_status put_base(kedge_store_db *db, const char *sql, kedge_bytes collection,
                             kedge_bytes id, const kedge_bytes *value, kedge_error *error)
{
    sqlite3_stmt *put;
    kedge_status status = take_keyed(db, sql, collection, id, &put, error);
    if (status != KEDGE_OK) return status;
    if (value) kedge_store_bind_text(db, put, 3, *value);
    return kedge_store_db_run(db, put, error);
}

kedge_status kedge_cache_put_base(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                                  const kedge_bytes *value, kedge_error *error)
{
    static const char sql[] = "INSERT INTO base VALUES(?1, ?2, ?3)"
                              " ON CONFLICT DO UPDATE SET value = excluded.value";
    return put_base(db, sql, collection, id, value, error);
}

kedge_status kedge_cache_keep_base(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                                   const kedge_bytes *value, kedge_error *error)
{
    static const char sql[] = "INSERT INTO base VALUES(?1, ?2, ?3) ON CONFLICT DO NOTHING";
    return put_base(db, sql, collection, id, value, error);
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
    static const char first[] = "SELECT id, value FROM item WHERE collection = ?1"
                                " AND id >= ?2 ORDER BY id LIMIT 1";
    static const char behind[] = "SELECT id, value FROM item WHERE collection = ?1"
                                 " AND id > ?2 ORDER BY id LIMIT 1";
    kedge_store_db *db = context;
    sqlite3_stmt *next;
    kedge_bytes from = from_start ? (kedge_bytes){"", 0} : after;
    kedge_status status =
        take_keyed(db, from_start ? first : behind, collection, from, &next, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, next, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_bytes(id, kedge_store_column(next, 0));
    kedge_buffer_append_bytes(value, kedge_store_column(next, 1));
    sqlite3_reset(next);
    status = kedge_buffer_status(id, error);
    return status == KEDGE_OK ? kedge_buffer_status(value, error) : status;
}

bool kedge_cache_changed(const kedge_store_db *db)
{
    return sqlite3_changes(db->handle) > 0;
}

kedge_status kedge_cache_clear(kedge_store_db *db, kedge_error *error)
{
    return kedge_store_db_execute(db, "DELETE FROM item", error);
}

kedge_state_reader kedge_cache_reader(kedge_store_db *db)
{
    return (kedge_state_reader){db, reader_get, reader_next};
}

kedge_status kedge_cache_load_base(kedge_store_db *db, kedge_overlay *base, kedge_error *error)
{
    static const char sql[] = "SELECT collection, id, value FROM base";
    sqlite3_stmt *walk;
    kedge_status status = kedge_store_db_take(db, sql, &walk, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, walk, error)) == KEDGE_OK) {
        kedge_bytes collection = kedge_store_column(walk, 0);
        kedge_bytes id = kedge_store_column(walk, 1);
        if (sqlite3_column_type(walk, 2) == SQLITE_NULL)
            status = kedge_overlay_delete(base, collection, id, error);
        else
            status = kedge_overlay_put(base, collection, id, kedge_store_column(walk, 2), error);
        if (status != KEDGE_OK) {
            sqlite3_reset(walk);
            return status;
        }
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}
