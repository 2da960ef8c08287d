/* One SQLite connection with its prepared statements and Kedge's own SQL functions, and SQLite's
 * codes as Kedge's errors. */
#include "sdk/store/database.h"

#include "common/assert.h"
#include "common/checksum.h"
#include "common/error.h"
#include "sdk/store/cache_row.h"
#include "sdk/store/pieces.h"
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Kept from the opening on: a transaction must end when memory has run out, too. */
static const char *const ROLLBACK = "ROLLBACK";

static int wal_committed(void *context, sqlite3 *handle, const char *schema, int pages)
{
    (void)handle;
    (void)schema;
    ((kedge_store_db *)context)->wal_pages = pages;
    return SQLITE_OK;
}

/* kedge_checksum(kind, column, …) in SQL: the same number as common/checksum.h gives in C. */
static void checksum_function(sqlite3_context *context, int count, sqlite3_value **values)
{
    kedge_checksum checksum = kedge_checksum_begin(sqlite3_value_int64(values[0]));
    for (int i = 1; i < count; i++) {
        int type = sqlite3_value_type(values[i]);
        if (type == SQLITE_NULL) {
            kedge_checksum_null(&checksum);
        } else if (type == SQLITE_INTEGER) {
            kedge_checksum_integer(&checksum, sqlite3_value_int64(values[i]));
        } else {
            const char *data = sqlite3_value_blob(values[i]);
            size_t size = (size_t)sqlite3_value_bytes(values[i]);
            kedge_bytes bytes = {data ? data : "", data ? size : 0};
            if (type == SQLITE_BLOB)
                kedge_checksum_blob(&checksum, bytes);
            else
                kedge_checksum_bytes(&checksum, bytes);
        }
    }
    sqlite3_result_int64(context, kedge_checksum_end(&checksum));
}

static int add_functions(sqlite3 *handle)
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int code = sqlite3_create_function_v2(handle, "kedge_checksum", -1, flags, NULL,
                                          checksum_function, NULL, NULL, NULL);
    if (code != SQLITE_OK) return code;
    return sqlite3_create_function_v2(handle, "kedge_sound", 4, flags, NULL, kedge_sound_function,
                                      NULL, NULL, NULL);
}

/* Names are appended to the path, and SQLite wants the whole of it, from the root on. */
static size_t longest_path(const char *path, const char *vfs_name)
{
    char above[KEDGE_STORE_PATH_BYTES] = "";
    const sqlite3_vfs *vfs = sqlite3_vfs_find(vfs_name);
    size_t most = KEDGE_STORE_PATH_BYTES;
    if (vfs != NULL && vfs->mxPathname > 0 && (size_t)vfs->mxPathname < most)
        most = (size_t)vfs->mxPathname;
    if (path[0] != '/' && getcwd(above, sizeof above) == NULL) above[0] = '\0';
    size_t taken = strlen(above) + KEDGE_STORE_NAME_BYTES;
    return taken < most ? most - taken : 0;
}

kedge_status kedge_store_check_path(const char *path, const char *vfs, kedge_error *error)
{
    if (path == NULL || path[0] == '\0')
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "path-missing",
                          "the path of the folder is missing");
    size_t longest = longest_path(path, vfs);
    if (strlen(path) <= longest) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "path-too-long",
                      "the path of the folder has %zu bytes; %zu are allowed", strlen(path),
                      longest);
}

static void note_identity(kedge_store_db *db, const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0) return;
    db->device = facts.st_dev;
    db->inode = facts.st_ino;
}

kedge_status kedge_store_db_open(kedge_store_db *db, const char *path, const char *name, int flags,
                                 const char *vfs, kedge_error *error)
{
    memset(db, 0, sizeof *db);
    db->name = name;
    /* If another file takes its place meanwhile, kedge_store_db_is_at shows that. */
    note_identity(db, path);
    int code = sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
    if (code == SQLITE_OK) code = add_functions(db->handle);
    if (code != SQLITE_OK) {
        if (db->handle) code = sqlite3_extended_errcode(db->handle);
        kedge_status status = kedge_store_db_fail(db, code, "opening it", error);
        kedge_store_db_close(db);
        return status;
    }
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_timeout(db->handle, KEDGE_STORE_BUSY_TIMEOUT_MS);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* The hook replaces SQLite's automatic checkpoints. */
    sqlite3_wal_hook(db->handle, wal_committed, db);
    if (db->inode == 0) note_identity(db, path); /* it was made just now */
    sqlite3_stmt *rollback;
    kedge_status status = kedge_store_db_take(db, ROLLBACK, &rollback, error);
    if (status != KEDGE_OK) kedge_store_db_close(db);
    return status;
}

kedge_status kedge_store_db_open_cache(kedge_store_db *db, const char *path, int flags,
                                       const char *vfs, kedge_error *error)
{
    kedge_status status = kedge_store_db_open(db, path, "cache.db", flags, vfs, error);
    if (status == KEDGE_OK) sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, NULL);
    return status;
}

void kedge_store_db_close(kedge_store_db *db)
{
    for (size_t i = 0; i < db->statement_count; i++)
        sqlite3_finalize(db->statements[i].statement);
    db->statement_count = 0;
    if (db->handle) sqlite3_close_v2(db->handle);
    db->handle = NULL;
}

bool kedge_store_db_is_at(const kedge_store_db *db, const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && facts.st_dev == db->device && facts.st_ino == db->inode;
}

/* The statuses whose message does not depend on the rest. */
static kedge_status status_of(int code)
{
    if (code == SQLITE_IOERR_NOMEM) return KEDGE_NO_MEMORY;
    if (code == SQLITE_IOERR_CORRUPTFS) return KEDGE_CORRUPT;
    /* The WAL's index could not grow: SQLite does not look at errno there. */
    if (code == SQLITE_IOERR_SHMSIZE) return KEDGE_DISK_FULL;
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return KEDGE_NO_MEMORY;
    case SQLITE_FULL:
        return KEDGE_DISK_FULL;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return KEDGE_CORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return KEDGE_BUSY;
    case SQLITE_INTERRUPT:
        return KEDGE_CANCELLED;
    case SQLITE_TOOBIG:
        return KEDGE_LIMIT_EXCEEDED;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return KEDGE_IO;
    default:
        return KEDGE_INTERNAL;
    }
}

kedge_status kedge_store_db_fail(kedge_store_db *db, int code, const char *doing,
                                 kedge_error *error)
{
    kedge_status status = status_of(code);
    db->failure = code;
    switch (status) {
    case KEDGE_NO_MEMORY:
        return kedge_fail_no_memory(error);
    case KEDGE_CORRUPT:
        db->damaged = true;
        return kedge_fail(error, status, "file-damaged", "%s is damaged (%s): found when %s",
                          db->name, sqlite3_errstr(code), doing);
    case KEDGE_DISK_FULL:
        return kedge_fail(error, status, "disk-full", "the disk is full: %s, when %s",
                          sqlite3_db_filename(db->handle, "main"), doing);
    case KEDGE_INTERNAL:
        return kedge_fail(error, KEDGE_INTERNAL, "sqlite-error",
                          "%s: SQLite returned %d (%s) when %s", db->name, code,
                          db->handle ? sqlite3_errmsg(db->handle) : "closed", doing);
    default:
        return kedge_fail(error, status, kedge_status_name(status), "%s: %s (SQLite %d) when %s",
                          db->name, sqlite3_errstr(code), code, doing);
    }
}

/* The failure for which SQLite has ended the transaction. */
static int ended_by(const kedge_store_db *db)
{
    return db->begun && !kedge_store_db_in_transaction(db) ? db->failure : SQLITE_OK;
}

kedge_status kedge_store_db_check(kedge_store_db *db, kedge_error *error)
{
    int code = ended_by(db);
    if (code == SQLITE_OK) return KEDGE_OK;
    return kedge_store_db_fail(db, code, "running a statement", error);
}

kedge_status kedge_store_db_execute(kedge_store_db *db, const char *sql, kedge_error *error)
{
    char *whole = NULL;
    int code = ended_by(db);
    if (code == SQLITE_OK) code = kedge_pieces_put(sql, &whole);
    if (code == SQLITE_OK) code = sqlite3_exec(db->handle, whole ? whole : sql, NULL, NULL, NULL);
    sqlite3_free(whole);
    if (code == SQLITE_OK) return KEDGE_OK;
    return kedge_store_db_fail(db, code, "running a statement", error);
}

kedge_status kedge_store_db_begin(kedge_store_db *db, kedge_error *error)
{
    int highest = 0;
    sqlite3_stmt *statement;
    if (db->rehearsing && kedge_store_db_in_transaction(db)) return KEDGE_OK;
    KEDGE_ASSERT(!kedge_store_db_in_transaction(db));
    db->runs = db->bound_bytes = 0;
    (void)sqlite3_db_status(db->handle, SQLITE_DBSTATUS_CACHE_WRITE, &db->written, &highest, 0);
    kedge_status status = kedge_store_db_take(db, "BEGIN IMMEDIATE", &statement, error);
    if (status == KEDGE_OK) status = kedge_store_db_run(db, statement, error);
    if (status != KEDGE_OK) return status;
    db->begun = true;
    db->failure = SQLITE_NOMEM; /* until another one is known */
    return KEDGE_OK;
}

/* A statement that still has a row would keep its snapshot open after the commit. */
void kedge_store_db_reset(kedge_store_db *db)
{
    for (size_t i = 0; i < db->statement_count; i++) {
        kedge_store_statement *kept = &db->statements[i];
        if (kept->taken) sqlite3_reset(kept->statement);
        kept->taken = false;
    }
}

kedge_status kedge_store_db_commit(kedge_store_db *db, kedge_error *error)
{
    sqlite3_stmt *statement;
    kedge_store_db_reset(db);
    if (db->rehearsing) return KEDGE_OK;
    kedge_status status = kedge_store_db_take(db, "COMMIT", &statement, error);
    if (status == KEDGE_OK) status = kedge_store_db_run(db, statement, error);
    if (status == KEDGE_OK) db->begun = false;
    return status;
}

bool kedge_store_db_in_transaction(const kedge_store_db *db)
{
    return db->handle && !sqlite3_get_autocommit(db->handle);
}

void kedge_store_db_rollback(kedge_store_db *db)
{
    sqlite3_stmt *statement;
    db->begun = false;
    if (!db->handle) return;
    kedge_store_db_reset(db);
    /* After a change of the schema SQLite first prepares the statement again, for which there may
     * be no memory. */
    for (int tries = 0; tries < 2 && kedge_store_db_in_transaction(db); tries++) {
        if (kedge_store_db_take(db, ROLLBACK, &statement, NULL) != KEDGE_OK) return;
        sqlite3_step(statement);
        sqlite3_reset(statement);
    }
}

bool kedge_store_db_version(const kedge_store_db *db, unsigned *version)
{
    return sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_DATA_VERSION, version) ==
           SQLITE_OK;
}

void kedge_store_db_mark(kedge_store_db *db)
{
    db->marked = !db->rehearsing && kedge_store_db_version(db, &db->mark);
}

bool kedge_store_db_is_as_marked(const kedge_store_db *db)
{
    unsigned version;
    return db->marked && kedge_store_db_version(db, &version) && version == db->mark;
}

/* Makes room for another statement: drops a seldom one that nobody uses now. To roll back must take
 * no memory. */
static bool drop_one(kedge_store_db *db)
{
    for (size_t i = db->statement_count; i-- > 0;) {
        kedge_store_statement *last = &db->statements[i];
        if (last->taken || last->sql == ROLLBACK) continue;
        sqlite3_finalize(last->statement);
        *last = db->statements[--db->statement_count];
        return true;
    }
    return false;
}

static kedge_status prepare(kedge_store_db *db, const char *sql, sqlite3_stmt **statement,
                            kedge_error *error)
{
    if (db->statement_count == KEDGE_STORE_STATEMENTS && !drop_one(db))
        return kedge_fail(error, KEDGE_INTERNAL, "too-many-statements",
                          "%s: over %d kept statements", db->name, KEDGE_STORE_STATEMENTS);
    char *whole;
    int code = kedge_pieces_put(sql, &whole);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(db->handle, whole ? whole : sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  statement, NULL);
    sqlite3_free(whole);
    /* Our SQL is right and the layout was checked, so this is a damaged schema. */
    if (code == SQLITE_ERROR) code = SQLITE_CORRUPT;
    if (code != SQLITE_OK) return kedge_store_db_fail(db, code, "preparing a statement", error);
    db->statements[db->statement_count++] = (kedge_store_statement){sql, *statement, true};
    return KEDGE_OK;
}

kedge_status kedge_store_db_take(kedge_store_db *db, const char *sql, sqlite3_stmt **statement,
                                 kedge_error *error)
{
    db->bind_code = SQLITE_OK;
    for (size_t i = 0; i < db->statement_count; i++) {
        kedge_store_statement *found = &db->statements[i];
        if (found->sql != sql) continue;
        if (i > 0) { /* one place ahead each time, so that the search for a frequent one is short */
            kedge_store_statement ahead = found[-1];
            found[-1] = *found;
            *found-- = ahead;
        }
        found->taken = true;
        *statement = found->statement;
        sqlite3_reset(*statement);
        sqlite3_clear_bindings(*statement);
        return KEDGE_OK;
    }
    return prepare(db, sql, statement, error);
}

kedge_status kedge_store_db_step(kedge_store_db *db, sqlite3_stmt *statement, kedge_error *error)
{
    int code = ended_by(db);
    if (code == SQLITE_OK) code = db->bind_code;
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW) return KEDGE_OK;
    }
    sqlite3_reset(statement);
    if (code == SQLITE_DONE) return KEDGE_DONE;
    return kedge_store_db_fail(db, code, sqlite3_sql(statement), error);
}

kedge_status kedge_store_db_run(kedge_store_db *db, sqlite3_stmt *statement, kedge_error *error)
{
    db->runs++;
    kedge_status status = kedge_store_db_step(db, statement, error);
    if (status == KEDGE_DONE) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    sqlite3_reset(statement);
    return KEDGE_OK;
}

static void note_bind(kedge_store_db *db, int code)
{
    if (db->bind_code == SQLITE_OK) db->bind_code = code;
}

void kedge_store_bind_text(kedge_store_db *db, sqlite3_stmt *statement, int index, kedge_bytes text)
{
    db->bound_bytes += (int64_t)text.size;
    note_bind(db, sqlite3_bind_text64(statement, index, text.data ? text.data : "", text.size,
                                      SQLITE_STATIC, SQLITE_UTF8));
}

void kedge_store_bind_chars(kedge_store_db *db, sqlite3_stmt *statement, int index,
                            const char *text)
{
    kedge_store_bind_text(db, statement, index, kedge_bytes_of(text));
}

void kedge_store_bind_blob(kedge_store_db *db, sqlite3_stmt *statement, int index,
                           const void *bytes, size_t size)
{
    db->bound_bytes += (int64_t)size;
    note_bind(db, sqlite3_bind_blob64(statement, index, bytes, size, SQLITE_STATIC));
}

void kedge_store_bind_integer(kedge_store_db *db, sqlite3_stmt *statement, int index, int64_t value)
{
    note_bind(db, sqlite3_bind_int64(statement, index, value));
}

static kedge_status take_bound(kedge_store_db *db, const char *sql, sqlite3_stmt **statement,
                               kedge_error *error, const char *types, va_list values)
{
    *statement = NULL;
    kedge_status status = kedge_store_db_take(db, sql, statement, error);
    if (status != KEDGE_OK) return status;
    for (int index = 1; *types != '\0'; index++, types++) {
        if (*types == 'i') {
            kedge_store_bind_integer(db, *statement, index, va_arg(values, int64_t));
        } else if (*types == 'c') {
            kedge_store_bind_chars(db, *statement, index, va_arg(values, const char *));
        } else if (*types == 'o') {
            const kedge_bytes *text = va_arg(values, const kedge_bytes *);
            if (text) kedge_store_bind_text(db, *statement, index, *text);
        } else {
            kedge_bytes bytes = va_arg(values, kedge_bytes);
            KEDGE_ASSERT(*types == 't' || *types == 'b');
            if (*types == 't')
                kedge_store_bind_text(db, *statement, index, bytes);
            else
                kedge_store_bind_blob(db, *statement, index, bytes.data, bytes.size);
        }
    }
    return KEDGE_OK;
}

kedge_status kedge_store_db_bind(kedge_store_db *db, const char *sql, sqlite3_stmt **statement,
                                 kedge_error *error, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    kedge_status status = take_bound(db, sql, statement, error, types, values);
    va_end(values);
    return status;
}

kedge_status kedge_store_db_find(kedge_store_db *db, const char *sql, sqlite3_stmt **statement,
                                 kedge_error *error, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    kedge_status status = take_bound(db, sql, statement, error, types, values);
    va_end(values);
    return status == KEDGE_OK ? kedge_store_db_step(db, *statement, error) : status;
}

kedge_status kedge_store_db_find_number(kedge_store_db *db, const char *sql, int64_t *number,
                                        kedge_error *error, const char *types, ...)
{
    va_list values;
    sqlite3_stmt *statement;
    *number = 0;
    va_start(values, types);
    kedge_status status = take_bound(db, sql, &statement, error, types, values);
    va_end(values);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, statement, error);
    if (status == KEDGE_DONE) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    *number = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return KEDGE_OK;
}

kedge_status kedge_store_db_number(kedge_store_db *db, const char *sql, int64_t *number,
                                   kedge_error *error)
{
    return kedge_store_db_find_number(db, sql, number, error, "");
}

kedge_status kedge_store_db_change(kedge_store_db *db, const char *sql, kedge_error *error,
                                   const char *types, ...)
{
    va_list values;
    sqlite3_stmt *statement;
    va_start(values, types);
    kedge_status status = take_bound(db, sql, &statement, error, types, values);
    va_end(values);
    return status == KEDGE_OK ? kedge_store_db_run(db, statement, error) : status;
}

kedge_bytes kedge_store_column(sqlite3_stmt *statement, int column)
{
    const char *data = sqlite3_column_blob(statement, column);
    int size = sqlite3_column_bytes(statement, column);
    return (kedge_bytes){data ? data : "", size > 0 && data ? (size_t)size : 0};
}

bool kedge_store_column_chars(sqlite3_stmt *statement, int column, char *out, size_t out_size)
{
    kedge_bytes text = kedge_store_column(statement, column);
    if (text.size >= out_size) return false;
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return true;
}

bool kedge_store_columns(sqlite3_stmt *statement, const char *types, ...)
{
    bool fits = true;
    va_list outs;
    va_start(outs, types);
    for (int column = 0; *types != '\0'; column++, types++) {
        if (*types == 'i') {
            *va_arg(outs, int64_t *) = sqlite3_column_int64(statement, column);
        } else if (*types == 'n') {
            *va_arg(outs, bool *) = sqlite3_column_int64(statement, column) != 0;
        } else if (*types == 't') {
            *va_arg(outs, kedge_bytes *) = kedge_store_column(statement, column);
        } else {
            KEDGE_ASSERT(*types == 'c');
            char *out = va_arg(outs, char *);
            size_t out_size = va_arg(outs, size_t);
            fits = kedge_store_column_chars(statement, column, out, out_size) && fits;
        }
    }
    va_end(outs);
    return fits;
}
