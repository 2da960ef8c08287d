/* The SQLite indexes of the cache that belong to the declared ones: made, dropped, and brought in
 * line with what the outbox declares. */
#include "sdk/store/index.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "kedge index "

/* ---- an index as SQL ---- */

void kedge_index_name(const char *name, kedge_buffer *out)
{
    kedge_buffer_append_format(out, "\"" PREFIX "%s\"", name);
}

void kedge_index_members(const kedge_declared_index *index, const char *prefix, const char *between,
                         kedge_buffer *out)
{
    kedge_bytes path;
    kedge_json_iterator each = kedge_json_iterate(kedge_bytes_of(index->paths));
    for (bool first = true; kedge_json_next_element(&each, &path); first = false) {
        if (!first) kedge_buffer_append_format(out, "%s", between);
        /* A path needs no escapes, so between its quotes it is what was declared. */
        kedge_buffer_append_format(out, "%svalue ->> '%.*s'", prefix, (int)path.size - 2,
                                   path.data + 1);
    }
}

void kedge_index_sql(const kedge_declared_index *index, kedge_buffer *out)
{
    kedge_buffer_append_format(out, "CREATE INDEX ");
    kedge_index_name(index->name, out);
    kedge_buffer_append_format(out, " ON item(");
    kedge_index_members(index, "", ", ", out);
    kedge_buffer_append_format(out, ", id) WHERE collection = '%s'", index->collection);
}

/* ---- the indexes of the cache ---- */

/* SQLite's own numbers: the rows, and how many of them share the first column, the first two, …
 * Those of `item` say that reading a whole collection costs more than any use of an index. */
#define ITEM_NUMBERS  "1000000 100000 1"
#define INDEX_NUMBERS "100000 10 5 4 3 2 1"

static kedge_status write_statistic(kedge_store_db *db, const char *index, const char *numbers,
                                    kedge_error *error)
{
    static const char *const remove = "DELETE FROM sqlite_stat1 WHERE tbl = 'item' AND idx = ?1";
    static const char *const insert =
        "INSERT INTO sqlite_stat1(tbl, idx, stat) VALUES('item', ?1, ?2)";
    kedge_status status = kedge_store_db_change(db, remove, error, "c", index);
    if (status != KEDGE_OK) return status;
    return kedge_store_db_change(db, insert, error, "cc", index, numbers);
}

static kedge_status write_statistics(kedge_store_db *db, const char *name, kedge_error *error)
{
    char index[sizeof PREFIX + KEDGE_LIMIT_NAME_BYTES];
    (void)snprintf(index, sizeof index, PREFIX "%s", name);
    /* Makes the table of statistics. */
    kedge_status status = kedge_store_db_execute(db, "ANALYZE sqlite_schema", error);
    if (status == KEDGE_OK)
        status = write_statistic(db, "sqlite_autoindex_item_1", ITEM_NUMBERS, error);
    if (status == KEDGE_OK) status = write_statistic(db, index, INDEX_NUMBERS, error);
    return status;
}

/* An index is never made from a damaged row: a wrong value would hide the row from queries. */
static kedge_status check_rows(kedge_store_db *db, const char *collection, kedge_error *error)
{
    static const char *const sql =
        "SELECT count(*) FROM item WHERE collection = ?1 AND {unsound item}";
    int64_t damaged;
    kedge_status status = kedge_store_db_find_number(db, sql, &damaged, error, "c", collection);
    return damaged == 0 ? status : kedge_table_fail(db, "item", error);
}

static kedge_status run(kedge_store_db *db, kedge_buffer *sql, kedge_error *error)
{
    kedge_status status = kedge_buffer_status(sql, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, sql->data, error);
    kedge_buffer_free(sql);
    return status;
}

static kedge_status create(kedge_store *store, const kedge_declared_index *index,
                           kedge_error *error)
{
    kedge_buffer sql = kedge_buffer_make(store->allocator);
    kedge_status status = check_rows(&store->cache, index->collection, error);
    if (status != KEDGE_OK) return status;
    kedge_index_sql(index, &sql);
    status = run(&store->cache, &sql, error);
    return status == KEDGE_OK ? write_statistics(&store->cache, index->name, error) : status;
}

static kedge_status drop(kedge_store *store, const char *name, kedge_error *error)
{
    kedge_buffer sql = kedge_buffer_make(store->allocator);
    kedge_buffer_append_format(&sql, "DROP INDEX ");
    kedge_index_name(name, &sql);
    return run(&store->cache, &sql, error);
}

/* Whether the cache has the index, with this SQL (NULL: any). */
static kedge_status has(kedge_store_db *db, const char *name, const kedge_bytes *index_sql,
                        bool *there, kedge_error *error)
{
    static const char *const sql =
        "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND tbl_name ="
        " 'item' AND name = '" PREFIX "' || ?1 AND sql = ifnull(?2, sql)";
    int64_t found;
    kedge_status status = kedge_store_db_find_number(db, sql, &found, error, "co", name, index_sql);
    *there = found != 0;
    return status;
}

kedge_status kedge_index_is_there(const kedge_allocator *allocator, kedge_store_db *cache,
                                  const kedge_declared_index *index, bool *there,
                                  kedge_error *error)
{
    kedge_buffer sql = kedge_buffer_make(allocator);
    kedge_index_sql(index, &sql);
    kedge_bytes text = kedge_buffer_bytes(&sql);
    kedge_status status = kedge_buffer_status(&sql, error);
    if (status == KEDGE_OK) status = has(cache, index->name, &text, there, error);
    kedge_buffer_free(&sql);
    return status;
}

kedge_status kedge_index_make(kedge_store *store, const kedge_declared_index *index,
                              kedge_error *error)
{
    bool any = false, same = false;
    kedge_store_db *cache = &store->cache;
    kedge_status status = kedge_index_is_there(store->allocator, cache, index, &same, error);
    if (status == KEDGE_OK) status = has(cache, index->name, NULL, &any, error);
    if (status == KEDGE_OK && any && !same) status = drop(store, index->name, error);
    if (status == KEDGE_OK && !same) status = create(store, index, error);
    return status;
}

kedge_status kedge_index_remove(kedge_store *store, const char *name, kedge_error *error)
{
    bool there = false;
    kedge_status status = has(&store->cache, name, NULL, &there, error);
    return status == KEDGE_OK && there ? drop(store, name, error) : status;
}

/* Finds an index of the cache after `*name` in the order of names; KEDGE_DONE: there is none. */
static kedge_status next_name(kedge_store_db *db, char name[KEDGE_LIMIT_NAME_BYTES + 1],
                              kedge_error *error)
{
    static const char *const sql =
        "SELECT substr(name, ?2) FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'item'"
        " AND name > '" PREFIX "' || ?1 AND name < '" PREFIX "' || '~' ORDER BY name LIMIT 1";
    sqlite3_stmt *find;
    kedge_status status =
        kedge_store_db_find(db, sql, &find, error, "ci", name, (int64_t)sizeof PREFIX);
    if (status == KEDGE_OK && !kedge_store_column_chars(find, 0, name, KEDGE_LIMIT_NAME_BYTES + 1))
        status = kedge_table_fail(db, "sqlite_schema", error);
    sqlite3_reset(find);
    return status;
}

kedge_status kedge_index_count(kedge_store_db *cache, kedge_error *error)
{
    static const char *const sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND"
                                   " name BETWEEN '" PREFIX "' AND '" PREFIX "~'";
    return kedge_store_db_number(cache, sql, &cache->indexes, error);
}

static kedge_status drop_others(kedge_store *store, const kedge_declared *declared,
                                kedge_error *error)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 1] = "";
    kedge_status status;
    while ((status = next_name(&store->cache, name, error)) == KEDGE_OK) {
        if (!kedge_declared_find(declared, name)) status = drop(store, name, error);
        if (status != KEDGE_OK) return status;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status fit_to(kedge_store *store, const kedge_declared *declared, kedge_error *error)
{
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->cache));
    kedge_status status = drop_others(store, declared, error);
    for (size_t i = 0; i < declared->count && status == KEDGE_OK; i++)
        status = kedge_index_make(store, &declared->rows[i], error);
    return status;
}

kedge_status kedge_index_fit(kedge_store *store, kedge_error *error)
{
    kedge_declared *declared = kedge_allocate(store->allocator, sizeof *declared);
    bool own = !kedge_store_db_in_transaction(&store->cache);
    if (!declared) return kedge_fail_no_memory(error);
    kedge_status status = kedge_declared_read(&store->outbox, declared, error);
    if (status == KEDGE_OK && own) status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK) status = fit_to(store, declared, error);
    if (status == KEDGE_OK && own) status = kedge_wal_commit(&store->cache, error);
    if (status != KEDGE_OK && own) kedge_store_db_rollback(&store->cache);
    if (status == KEDGE_DISK_FULL && own) kedge_wal_cut(&store->cache);
    kedge_release(store->allocator, declared);
    return status;
}
