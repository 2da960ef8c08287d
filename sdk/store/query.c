/* Read-only SQL over the views: one a collection, and kedge_items.
 *
 * A query has a connection of its own for as long as it is open. The views are temporary ones of
 * that connection, made for the collections that its snapshot holds; a collection without items
 * gets its view when the SQL names it. SQLite does not tell upper from lower case in names of
 * tables: collections whose names differ in case alone get no view until the SQL names one of them,
 * as it is written there. */
#include "sdk/store/query_reads.h"
#include "sdk/store/store_internal.h"

#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include <inttypes.h>
#include <string.h>

struct kedge_query {
    kedge_store *store;
    kedge_store_reader *reader;
    sqlite3_stmt *statement;
    kedge_query_reads reads;
    int64_t steps; /* of SQLite's virtual machine, since the last row */
    bool has_row;
    bool ended;
};

/* What the views read: the table, or with a shadow (shadow.c) its view. That one has a second name,
 * since a collection, too, may be named `item`. */
#define TABLE  "main.item"
#define SHADOW "temp.\"kedge shown\""

static kedge_status make_view(kedge_query *query, kedge_bytes collection, kedge_error *error)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    if (collection.size > KEDGE_LIMIT_NAME_BYTES) return KEDGE_OK;
    memcpy(name, collection.data, collection.size);
    name[collection.size] = '\0';
    /* Names that SQLite reserves. */
    if (sqlite3_strnicmp(name, "sqlite_", 7) == 0) return KEDGE_OK;
    char *sql = sqlite3_mprintf("CREATE TEMP VIEW IF NOT EXISTS \"%w\" AS SELECT id, value FROM"
                                " %s WHERE collection = %Q AND {sound}",
                                name, query->reader->shadowed ? SHADOW : TABLE, name);
    if (!sql) return kedge_fail_no_memory(error);
    kedge_status status = kedge_store_db_execute(&query->reader->cache, sql, error);
    sqlite3_free(sql);
    return status;
}

/* The collections that were met, in byte order. */
typedef struct name_list {
    size_t count;
    char names[KEDGE_LIMIT_COLLECTIONS][KEDGE_LIMIT_NAME_BYTES + 1];
} name_list;

static bool has_twin(const name_list *seen, const char *name)
{
    for (size_t i = 0; i < seen->count; i++)
        if (sqlite3_stricmp(seen->names[i], name) == 0) return true;
    return false;
}

/* Makes the view of a collection; drops it instead when another name differs in case alone. */
static kedge_status make_view_for(kedge_query *query, name_list *seen, const char *name,
                                  kedge_error *error)
{
    bool twin = has_twin(seen, name);
    memcpy(seen->names[seen->count++], name, strlen(name) + 1);
    if (!twin) return make_view(query, kedge_bytes_of(name), error);
    char *sql = sqlite3_mprintf("DROP VIEW IF EXISTS temp.\"%w\"", name);
    if (!sql) return kedge_fail_no_memory(error);
    kedge_status status = kedge_store_db_execute(&query->reader->cache, sql, error);
    sqlite3_free(sql);
    return status;
}

/* Hops from collection to collection by the primary key. */
static kedge_status make_views(kedge_query *query, kedge_error *error)
{
    static const char *const table = "SELECT min(collection) FROM " TABLE " WHERE collection > ?1";
    static const char *const shadow =
        "SELECT min(collection) FROM " SHADOW " WHERE collection > ?1";
    kedge_store_db *db = &query->reader->cache;
    bool shadowed = query->reader->shadowed;
    char name[KEDGE_LIMIT_NAME_BYTES + 1] = "";
    name_list seen;
    seen.count = 0;
    kedge_status status = kedge_store_db_execute(db,
                                                 shadowed ? "DROP VIEW temp.item;"
                                                            "{items " SHADOW "}"
                                                          : "{items " TABLE "}",
                                                 error);
    for (int i = 0; i < KEDGE_LIMIT_COLLECTIONS && status == KEDGE_OK; i++) {
        sqlite3_stmt *next;
        status = kedge_store_db_find(db, shadowed ? shadow : table, &next, error, "c", name);
        if (status != KEDGE_OK) break;
        bool more = sqlite3_column_type(next, 0) != SQLITE_NULL &&
                    kedge_store_column_chars(next, 0, name, sizeof name);
        sqlite3_reset(next);
        if (!more) break;
        status = make_view_for(query, &seen, name, error);
    }
    return status;
}

/* "no such table: x" for a collection without items. */
static bool missing_view(kedge_query *query, kedge_bytes *collection)
{
    static const char start[] = "no such table: ";
    const char *message = sqlite3_errmsg(query->reader->cache.handle);
    if (strncmp(message, start, sizeof start - 1) != 0) return false;
    *collection = kedge_bytes_of(message + sizeof start - 1);
    if (kedge_bytes_start_with(*collection, KEDGE_BYTES("main.")) ||
        kedge_bytes_start_with(*collection, KEDGE_BYTES("temp.")))
        return false;
    return kedge_check_name("collection", *collection, NULL) == KEDGE_OK &&
           sqlite3_strnicmp(collection->data, "sqlite_", 7) != 0;
}

/* Collections may be named like our tables; their views hide these. */
static kedge_status hide_tables(kedge_query *query, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    sqlite3_set_authorizer(query->reader->cache.handle, NULL, NULL);
    for (size_t i = 0; i < kedge_cache_schema.table_count && status == KEDGE_OK; i++)
        status = make_view(query, kedge_bytes_of(kedge_cache_schema.tables[i].name), error);
    return status;
}

/* Ends a query whose next row takes too long, for example in an endless recursion or a cross
 * join. */
static int count_steps(void *context)
{
    kedge_query *query = context;
    query->steps += KEDGE_STORE_QUERY_STRIDE;
    return query->steps > query->store->query_steps;
}

static kedge_status fail_sql(kedge_query *query, int code, kedge_error *error)
{
    sqlite3 *handle = query->reader->cache.handle;
    if ((code & 0xff) == SQLITE_AUTH)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "sql-not-allowed",
                          "the SQL may only read the views of the collections: %s",
                          sqlite3_errmsg(handle));
    if ((code & 0xff) == SQLITE_INTERRUPT)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "query-too-long",
                          "one row of the query took SQLite more than %" PRId64 " steps",
                          query->store->query_steps);
    if ((code & 0xff) == SQLITE_ERROR)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "sql-invalid", "the SQL is wrong: %s",
                          sqlite3_errmsg(handle));
    return kedge_store_db_fail(&query->reader->cache, code, "preparing the query", error);
}

static bool only_space(const char *text, const char *end)
{
    while (text < end && (strchr(" \t\r\n;", *text) != NULL && *text != '\0'))
        text++;
    return text == end;
}

static int prepare_once(kedge_query *query, kedge_bytes sql, const char **tail)
{
    sqlite3 *handle = query->reader->cache.handle;
    sqlite3_set_authorizer(handle, kedge_query_authorize, &query->reads);
    return sqlite3_prepare_v3(handle, sql.data, (int)sql.size, 0, &query->statement, tail);
}

static kedge_status prepare(kedge_query *query, kedge_bytes sql, kedge_error *error)
{
    kedge_bytes missing;
    const char *tail = NULL;
    int code = prepare_once(query, sql, &tail);
    if ((code & 0xff) == SQLITE_AUTH) {
        kedge_status status = hide_tables(query, error);
        if (status != KEDGE_OK) return status;
        code = prepare_once(query, sql, &tail);
    }
    for (int i = 0; code == SQLITE_ERROR && i < KEDGE_LIMIT_COLLECTIONS; i++) {
        char name[KEDGE_LIMIT_NAME_BYTES + 1];
        if (!missing_view(query, &missing)) break;
        memcpy(name, missing.data, missing.size);
        name[missing.size] = '\0';
        sqlite3_set_authorizer(query->reader->cache.handle, NULL, NULL);
        kedge_status status = make_view(query, kedge_bytes_of(name), error);
        if (status != KEDGE_OK) return status;
        code = prepare_once(query, sql, &tail);
    }
    if (code != SQLITE_OK) return fail_sql(query, code, error);
    if (!query->statement)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "sql-invalid", "the SQL is empty");
    if (!only_space(tail, sql.data + sql.size))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "sql-invalid",
                          "the SQL holds more than one statement");
    if (!sqlite3_stmt_readonly(query->statement))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "sql-not-allowed",
                          "the SQL may only read");
    return KEDGE_OK;
}

static kedge_status bind_one(kedge_query *query, int index, kedge_bytes value, kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(query->store->allocator);
    int64_t integer;
    double number;
    bool boolean;
    int code = SQLITE_MISMATCH;
    if (kedge_json_type_of(value) == KEDGE_JSON_NULL)
        code = sqlite3_bind_null(query->statement, index);
    else if (kedge_json_to_boolean(value, &boolean))
        code = sqlite3_bind_int64(query->statement, index, boolean);
    else if (kedge_json_to_integer(value, &integer))
        code = sqlite3_bind_int64(query->statement, index, integer);
    else if (kedge_json_to_number(value, &number))
        code = sqlite3_bind_double(query->statement, index, number);
    else if (kedge_json_to_text(value, &text))
        code = sqlite3_bind_text64(query->statement, index, text.data ? text.data : "", text.size,
                                   SQLITE_TRANSIENT, SQLITE_UTF8);
    kedge_status status = kedge_buffer_status(&text, error);
    kedge_buffer_free(&text);
    if (status != KEDGE_OK || code == SQLITE_OK) return status;
    if (code == SQLITE_NOMEM) return kedge_fail_no_memory(error);
    if (code == SQLITE_RANGE)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "parameters-invalid",
                          "the SQL has no parameter ?%d", index);
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "parameters-invalid",
                      "parameter %d is neither a string, a number, a boolean nor null", index);
}

static kedge_status bind_all(kedge_query *query, kedge_bytes parameters, kedge_error *error)
{
    kedge_bytes value;
    int index = 0;
    if (parameters.size == 0) return KEDGE_OK;
    kedge_status status =
        kedge_json_check(parameters, KEDGE_LIMIT_JSON_DEPTH, query->store->allocator, error);
    if (status != KEDGE_OK) return status;
    (void)kedge_json_skip(parameters, &parameters, NULL);
    if (kedge_json_type_of(parameters) != KEDGE_JSON_ARRAY)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "parameters-invalid",
                          "the parameters are no JSON array");
    kedge_json_iterator each = kedge_json_iterate(parameters);
    while (status == KEDGE_OK && kedge_json_next_element(&each, &value))
        status = bind_one(query, ++index, value, error);
    return status;
}

static kedge_status open_views(kedge_query *query, kedge_error *error)
{
    kedge_store_db *db = &query->reader->cache;
    kedge_status status = kedge_reader_begin_cache(query->reader, error);
    /* The views are written to the temporary schema; the authorizer keeps the
     * SQL itself from it. */
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, "PRAGMA query_only=0", error);
    if (status == KEDGE_OK) status = make_views(query, error);
    return status;
}

static kedge_status open_once(kedge_store *store, kedge_bytes sql, kedge_bytes parameters,
                              kedge_query **query, bool *again, kedge_error *error)
{
    kedge_query *made = kedge_allocate(store->allocator, sizeof *made);
    *again = false;
    if (!made) return kedge_fail_no_memory(error);
    made->store = store;
    kedge_status status = kedge_reader_take_shown(store, &made->reader, error);
    if (status == KEDGE_OK) status = open_views(made, error);
    if (status == KEDGE_OK) status = prepare(made, sql, error);
    if (status == KEDGE_OK) status = bind_all(made, parameters, error);
    if (status == KEDGE_OK) {
        kedge_query_reads_sql(&made->reads, sql);
        sqlite3_progress_handler(made->reader->cache.handle, KEDGE_STORE_QUERY_STRIDE, count_steps,
                                 made);
        *query = made;
        return KEDGE_OK;
    }
    if (made->reader && status == KEDGE_CORRUPT) {
        kedge_reader_end(made->reader);
        *again = kedge_reader_heal(store, made->reader, error);
    }
    kedge_store_query_close(made);
    return status;
}

kedge_status kedge_store_query_open(kedge_store *store, kedge_bytes sql, kedge_bytes parameters,
                                    kedge_query **query, kedge_error *error)
{
    bool again;
    if (sql.size > KEDGE_LIMIT_ARGS_BYTES)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "sql-too-long",
                          "the SQL is %zu bytes; at most %d are allowed", sql.size,
                          KEDGE_LIMIT_ARGS_BYTES);
    kedge_status status = open_once(store, sql, parameters, query, &again, error);
    if (again) status = open_once(store, sql, parameters, query, &again, error);
    return status;
}

/* A damaged row makes a query fail with KEDGE_ROW_DAMAGED, or, before the row is checked, with
 * "malformed JSON" from a JSON function of the app's SQL. The SQL can fail with either message over
 * sound rows, too, so all rows are checked. KEDGE_OK when they are sound. */
static kedge_status look_for_damage(kedge_query *query, kedge_error *error)
{
    static const char *const sql =
        "SELECT collection, id FROM main.item WHERE checksum <> {item#} OR typeof(collection) || "
        "typeof(id) || typeof(value) <> 'texttexttext' LIMIT 1";
    kedge_store_db *db = &query->reader->cache;
    const char *message = sqlite3_errmsg(db->handle);
    sqlite3_stmt *find;
    bool damaged = strcmp(message, KEDGE_ROW_DAMAGED) == 0;
    if (!damaged && strcmp(message, "malformed JSON") != 0) return KEDGE_OK;
    sqlite3_set_authorizer(db->handle, NULL, NULL);
    query->steps = 0;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "");
    if (status == KEDGE_OK)
        status = kedge_row_fail(db, "item", kedge_store_column(find, 0),
                                kedge_store_column(find, 1), error);
    sqlite3_set_authorizer(db->handle, kedge_query_authorize, &query->reads);
    if (status != KEDGE_DONE) return status;
    /* Every row of the table is sound. An entry of an index may lead to another one's. */
    if (damaged) atomic_store(&query->store->check_due, true);
    return KEDGE_OK;
}

/* Behind `code` of sqlite3_step, which is neither a row nor the end. */
static kedge_status fail_step(kedge_query *query, int code, kedge_error *error)
{
    kedge_error sql_error = {0};
    if ((code & 0xff) == SQLITE_INTERRUPT) return fail_sql(query, code, error);
    if ((code & 0xff) != SQLITE_ERROR)
        return kedge_store_db_fail(&query->reader->cache, code, "running the query", error);
    kedge_status failed = fail_sql(query, code, &sql_error);
    kedge_status status = look_for_damage(query, error);
    if (status != KEDGE_OK) return status;
    if (error) *error = sql_error;
    return failed;
}

kedge_status kedge_store_query_next(kedge_query *query, kedge_error *error)
{
    query->has_row = false;
    if (query->ended) return KEDGE_DONE;
    query->steps = 0;
    int code = sqlite3_step(query->statement);
    if (code == SQLITE_ROW) {
        query->has_row = true;
        return KEDGE_OK;
    }
    query->ended = true;
    if (code == SQLITE_DONE) return KEDGE_DONE;
    kedge_status status = fail_step(query, code, error);
    if (status == KEDGE_CORRUPT) (void)kedge_reader_heal(query->store, query->reader, error);
    return status;
}

const kedge_query_reads *kedge_store_query_reads(const kedge_query *query)
{
    return &query->reads;
}

int32_t kedge_store_query_column_count(const kedge_query *query)
{
    return sqlite3_column_count(query->statement);
}

const char *kedge_store_query_column_name(const kedge_query *query, int32_t column)
{
    const char *name = sqlite3_column_name(query->statement, column);
    return name ? name : "";
}

kedge_column_type kedge_store_query_column_type(const kedge_query *query, int32_t column)
{
    if (!query->has_row) return KEDGE_COLUMN_NULL;
    switch (sqlite3_column_type(query->statement, column)) {
    case SQLITE_INTEGER:
        return KEDGE_COLUMN_INTEGER;
    case SQLITE_FLOAT:
        return KEDGE_COLUMN_REAL;
    case SQLITE_TEXT:
        return KEDGE_COLUMN_TEXT;
    case SQLITE_BLOB:
        return KEDGE_COLUMN_BLOB;
    default:
        return KEDGE_COLUMN_NULL;
    }
}

const char *kedge_store_query_text(kedge_query *query, int32_t column, size_t *size)
{
    if (size) *size = 0;
    if (!query->has_row) return NULL;
    const char *text = (const char *)sqlite3_column_text(query->statement, column);
    if (text && size) *size = (size_t)sqlite3_column_bytes(query->statement, column);
    return text;
}

int64_t kedge_store_query_integer(kedge_query *query, int32_t column)
{
    return query->has_row ? sqlite3_column_int64(query->statement, column) : 0;
}

double kedge_store_query_real(kedge_query *query, int32_t column)
{
    return query->has_row ? sqlite3_column_double(query->statement, column) : 0;
}

void kedge_store_query_close(kedge_query *query)
{
    if (!query) return;
    sqlite3_finalize(query->statement);
    if (query->reader) {
        kedge_store_db *db = &query->reader->cache;
        sqlite3_set_authorizer(db->handle, NULL, NULL);
        sqlite3_progress_handler(db->handle, 0, NULL, NULL);
        /* The views go with the transaction that made them. */
        kedge_reader_end(query->reader);
        if (kedge_store_db_execute(db, "PRAGMA query_only=1", NULL) != KEDGE_OK) db->damaged = true;
        kedge_reader_give(query->store, query->reader);
    }
    kedge_release(query->store->allocator, query);
}
