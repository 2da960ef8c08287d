/* A connection to one of the embedded databases.
 *
 * Every connection uses the write-ahead log with synchronous=FULL, so that a commit is durable when
 * it returns. None checkpoints by itself, neither after a number of pages nor when it closes:
 * SQLite before 3.51.3 can corrupt a log that one connection writes while another checkpoints it.
 * The writer checkpoints while all writers are shut out (writer.c). */
#include "backend/sqlite/database.h"
#include "common/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

static kedge_status status_of(const kedge_sqlite_connection *connection, int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return KEDGE_NO_MEMORY;
    case SQLITE_FULL:
        return KEDGE_DISK_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return KEDGE_BUSY;
    case SQLITE_CORRUPT:
        return KEDGE_CORRUPT;
    case SQLITE_NOTADB:
        return KEDGE_NOT_A_DATABASE;
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_NOMEM) return KEDGE_NO_MEMORY;
        /* The index of the log could not grow: SQLite has no other word for a full disk there. */
        if (code == SQLITE_IOERR_SHMSIZE) return KEDGE_DISK_FULL;
        return sqlite3_system_errno(connection->handle) == ENOSPC ? KEDGE_DISK_FULL : KEDGE_IO;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_PROTOCOL:
        return KEDGE_IO;
    default:
        return KEDGE_INTERNAL;
    }
}

kedge_status kedge_sqlite_fail(const kedge_sqlite_connection *connection, int code,
                               kedge_error *error)
{
    kedge_status status = status_of(connection, code);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status == KEDGE_NOT_A_DATABASE)
        return kedge_fail(error, status, "not-a-database", "%s is not a SQLite database",
                          connection->path);
    return kedge_fail(error, status, kedge_status_name(status), "the %s in %s: %s",
                      connection->kind->name, connection->path,
                      connection->handle == NULL ? sqlite3_errstr(code)
                                                 : sqlite3_errmsg(connection->handle));
}

/* ---- statements ---- */

kedge_status kedge_sqlite_statement(kedge_sqlite_connection *connection, size_t index,
                                    sqlite3_stmt **statement, kedge_error *error)
{
    sqlite3_stmt **cached = &connection->statements[index];
    if (*cached == NULL) {
        int code = sqlite3_prepare_v3(connection->handle, connection->kind->statements[index], -1,
                                      SQLITE_PREPARE_PERSISTENT, cached, NULL);
        if (code != SQLITE_OK) return kedge_sqlite_fail(connection, code, error);
    }
    *statement = *cached;
    return KEDGE_OK;
}

void kedge_sqlite_reset(sqlite3_stmt *statement)
{
    if (statement == NULL) return;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

void kedge_sqlite_bind(sqlite3_stmt *statement, int index, kedge_bytes bytes)
{
    /* A NULL pointer would bind NULL instead of an empty blob. */
    sqlite3_bind_blob64(statement, index, bytes.size == 0 ? "" : bytes.data, bytes.size,
                        SQLITE_STATIC);
}

kedge_bytes kedge_sqlite_column(sqlite3_stmt *statement, int index)
{
    const char *data = sqlite3_column_blob(statement, index);
    return (kedge_bytes){data, data == NULL ? 0 : (size_t)sqlite3_column_bytes(statement, index)};
}

kedge_status kedge_sqlite_columns_check(const kedge_sqlite_connection *connection,
                                        kedge_error *error)
{
    int code = sqlite3_errcode(connection->handle);
    return code == SQLITE_ROW ? KEDGE_OK : kedge_sqlite_fail(connection, code, error);
}

kedge_status kedge_sqlite_step(kedge_sqlite_connection *connection, sqlite3_stmt *statement,
                               kedge_error *error)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) return KEDGE_OK;
    if (code == SQLITE_DONE) return KEDGE_DONE;
    return kedge_sqlite_fail(connection, code, error);
}

kedge_status kedge_sqlite_run(kedge_sqlite_connection *connection, sqlite3_stmt *statement,
                              kedge_error *error)
{
    kedge_status status = kedge_sqlite_step(connection, statement, error);
    kedge_sqlite_reset(statement);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_sqlite_pragma(kedge_sqlite_connection *connection, const char *pragma,
                                 sqlite3_stmt **statement, const char **text, kedge_error *error)
{
    *statement = NULL;
    int code = sqlite3_prepare_v2(connection->handle, pragma, -1, statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(*statement);
    if (code != SQLITE_ROW) return kedge_sqlite_fail(connection, code, error);
    *text = (const char *)sqlite3_column_text(*statement, 0);
    return *text == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}

/* ---- opening ---- */

static kedge_status execute(kedge_sqlite_connection *connection, const char *sql,
                            kedge_error *error)
{
    int code = sqlite3_exec(connection->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? KEDGE_OK : kedge_sqlite_fail(connection, code, error);
}

static kedge_status read_number(kedge_sqlite_connection *connection, const char *sql,
                                int64_t *number, kedge_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(connection->handle, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    if (code == SQLITE_ROW) *number = sqlite3_column_int64(statement, 0);
    kedge_status status =
        code == SQLITE_ROW ? KEDGE_OK : kedge_sqlite_fail(connection, code, error);
    sqlite3_finalize(statement);
    return status;
}

/* KEDGE_OK with `found` 0: the file is empty and may become ours. Another process may make it so
 * between two of the reads: it sets the number that tells whose the file is in the same transaction
 * as the others, so that number is read last. */
static kedge_status identify(kedge_sqlite_connection *connection, int32_t *found,
                             kedge_error *error)
{
    const kedge_sqlite_kind *kind = connection->kind;
    int64_t application_id = 0, version = 0, tables = 0;
    *found = 0;
    kedge_status status =
        read_number(connection, "SELECT count(*) FROM sqlite_schema", &tables, error);
    if (status == KEDGE_OK)
        status = read_number(connection, "PRAGMA user_version", &version, error);
    if (status == KEDGE_OK)
        status = read_number(connection, "PRAGMA application_id", &application_id, error);
    if (status != KEDGE_OK) return status;
    bool ours = application_id == kind->application_id;
    if ((application_id == 0 || ours) && version == 0 && tables == 0) return KEDGE_OK;
    if (!ours)
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-database",
                          "%s is a database, but not one of Kedge's %s", connection->path,
                          kind->name);
    if (version > kind->version)
        return kedge_fail(error, KEDGE_NEWER_DATABASE, "newer-database",
                          "%s has version %lld of Kedge's %s; this program knows version %d",
                          connection->path, (long long)version, kind->name, kind->version);
    if (version < 1)
        return kedge_fail(error, KEDGE_CORRUPT, "corrupt", "%s has no valid version",
                          connection->path);
    *found = (int32_t)version;
    return KEDGE_OK;
}

static kedge_status use_write_ahead_log(kedge_sqlite_connection *connection, kedge_error *error)
{
    sqlite3_stmt *statement;
    const char *mode;
    kedge_status status =
        kedge_sqlite_pragma(connection, "PRAGMA journal_mode = WAL", &statement, &mode, error);
    if (status == KEDGE_OK && strcmp(mode, "wal") != 0)
        status = kedge_fail(error, KEDGE_IO, "no-write-ahead-log",
                            "%s is on a file system without a write-ahead log", connection->path);
    sqlite3_finalize(statement);
    return status;
}

static kedge_status upgrade(kedge_sqlite_connection *connection, int32_t version,
                            kedge_error *error)
{
    const kedge_sqlite_kind *kind = connection->kind;
    if (version == 0) return execute(connection, kind->schema, error);
    kedge_status status = KEDGE_OK;
    for (; version < kind->version && status == KEDGE_OK; version++)
        status = execute(connection, kind->upgrades[version - 1], error);
    return status;
}

/* Another process may have done it since `identify`: look again under the write lock. */
static kedge_status make_current(kedge_sqlite_connection *connection, kedge_error *error)
{
    const kedge_sqlite_kind *kind = connection->kind;
    char numbers[128];
    snprintf(numbers, sizeof numbers, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             kind->application_id, kind->version);
    int32_t version = 0;
    kedge_status status = execute(connection, "BEGIN IMMEDIATE", error);
    if (status != KEDGE_OK) return status;
    status = identify(connection, &version, error);
    if (status == KEDGE_OK) status = upgrade(connection, version, error);
    if (status == KEDGE_OK) status = execute(connection, numbers, error);
    if (status == KEDGE_OK) status = execute(connection, "COMMIT", error);
    if (status != KEDGE_OK) execute(connection, "ROLLBACK", NULL);
    return status;
}

static kedge_status open_handle(kedge_sqlite_connection *connection, const char *path,
                                const kedge_sqlite_kind *kind, int flags, kedge_error *error)
{
    *connection = (kedge_sqlite_connection){.path = path, .kind = kind};
    if (path == NULL || path[0] == '\0')
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-path",
                          "the path of the %s is empty", kind->name);
    int code = sqlite3_open_v2(
        path, &connection->handle,
        flags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code != SQLITE_OK) return kedge_sqlite_fail(connection, code, error);
    sqlite3_busy_timeout(connection->handle, KEDGE_SQLITE_BUSY_TIMEOUT_MS);
    sqlite3_db_config(connection->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(connection->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(connection->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return execute(connection, "PRAGMA wal_autocheckpoint = 0", error);
}

kedge_status kedge_sqlite_open(kedge_sqlite_connection *connection, const char *path,
                               const kedge_sqlite_kind *kind, kedge_error *error)
{
    int32_t version = 0;
    kedge_status status = open_handle(connection, path, kind, SQLITE_OPEN_CREATE, error);
    if (status == KEDGE_OK) status = identify(connection, &version, error);
    if (status == KEDGE_OK) status = use_write_ahead_log(connection, error);
    if (status == KEDGE_OK) status = execute(connection, "PRAGMA synchronous = FULL", error);
    if (status == KEDGE_OK && version < kind->version) status = make_current(connection, error);
    if (status != KEDGE_OK) kedge_sqlite_close(connection);
    return status;
}

kedge_status kedge_sqlite_open_reader(kedge_sqlite_connection *connection, const char *path,
                                      const kedge_sqlite_kind *kind, kedge_error *error)
{
    kedge_status status = open_handle(connection, path, kind, 0, error);
    if (status == KEDGE_OK) status = execute(connection, "PRAGMA query_only = 1", error);
    if (status != KEDGE_OK) kedge_sqlite_close(connection);
    return status;
}

void kedge_sqlite_close(kedge_sqlite_connection *connection)
{
    for (size_t i = 0; i < KEDGE_SQLITE_STATEMENTS_MAX; i++)
        sqlite3_finalize(connection->statements[i]);
    sqlite3_close(connection->handle);
    *connection = (kedge_sqlite_connection){0};
}
