/* Copies of databases that others write meanwhile.
 *
 * A copy is taken in one step of SQLite's backup, which reads in one transaction: it is the
 * database as it was at one moment. Writers go on, but their log cannot start anew before the step
 * has ended. The copy has no write-ahead log, so that it is one file. */
#include "backend/sqlite/database.h"
#include "backend/sqlite/sqlite_ports.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4200

static const kedge_sqlite_kind any = {.name = "database"};

static kedge_status open_file(kedge_sqlite_connection *connection, const char *path, int flags,
                              kedge_error *error)
{
    *connection = (kedge_sqlite_connection){.path = path, .kind = &any};
    int code = sqlite3_open_v2(
        path, &connection->handle,
        flags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code != SQLITE_OK) return kedge_sqlite_fail(connection, code, error);
    sqlite3_busy_timeout(connection->handle, KEDGE_SQLITE_BUSY_TIMEOUT_MS);
    return KEDGE_OK;
}

/* What a check says that did not say what it should: SQLite's check tells of a page that it could
 * not read as it tells of a damaged one. */
static kedge_status fail_check(const kedge_sqlite_connection *connection, const char *told,
                               const char *damage, kedge_error *error)
{
    static const char *const unread = "unable to get the page. error code=";
    const char *at = strstr(told, unread);
    int code = at != NULL ? (int)strtol(at + strlen(unread), NULL, 10) & 0xff : SQLITE_CORRUPT;
    if (at == NULL && strstr(told, "failed to get page") != NULL) code = SQLITE_IOERR;
    if (code == SQLITE_NOMEM) return kedge_fail_no_memory(error);
    bool damaged = code == SQLITE_CORRUPT;
    return kedge_fail(error, damaged ? KEDGE_CORRUPT : KEDGE_IO, damaged ? "corrupt" : "io",
                      "%s %s: %s", connection->path, damaged ? damage : "could not be read", told);
}

/* The first column of the first row of a pragma must be `wanted`. */
static kedge_status expect(kedge_sqlite_connection *connection, const char *pragma,
                           const char *wanted, const char *otherwise, kedge_error *error)
{
    sqlite3_stmt *statement;
    const char *text;
    kedge_status status = kedge_sqlite_pragma(connection, pragma, &statement, &text, error);
    if (status == KEDGE_OK && strcmp(text, wanted) != 0)
        status = fail_check(connection, text, otherwise, error);
    sqlite3_finalize(statement);
    return status;
}

/* Puts what stands in the write-ahead log into the file, and removes the log. */
static kedge_status remove_log(kedge_sqlite_connection *connection, kedge_error *error)
{
    return expect(connection, "PRAGMA journal_mode = DELETE", "delete",
                  "cannot give up its write-ahead log", error);
}

static kedge_status copy_pages(kedge_sqlite_connection *from, kedge_sqlite_connection *to,
                               kedge_error *error)
{
    sqlite3_backup *backup = sqlite3_backup_init(to->handle, "main", from->handle, "main");
    if (backup == NULL) return kedge_sqlite_fail(to, sqlite3_errcode(to->handle), error);
    int code = sqlite3_backup_step(backup, -1);
    int end = sqlite3_backup_finish(backup);
    if (code == SQLITE_DONE && end == SQLITE_OK) return KEDGE_OK;
    code = code == SQLITE_DONE ? end : code;
    /* These tell which of the two files it was: only the copy is written. */
    bool of_copy = (code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_WRITE;
    return kedge_sqlite_fail(of_copy ? to : from, code, error);
}

static kedge_status name_of(const char *path, const char *end, char name[PATH_SIZE],
                            kedge_error *error)
{
    int size = snprintf(name, PATH_SIZE, "%s%s", path, end);
    if (size > 0 && size < PATH_SIZE) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "path-too-long",
                      "the path of a database is longer than %d bytes", PATH_SIZE);
}

/* What an earlier copy that was cut off has left under the name. */
static kedge_status clear(const char *path, kedge_error *error)
{
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char name[PATH_SIZE];
        kedge_status status = name_of(path, ends[i], name, error);
        if (status != KEDGE_OK) return status;
        unlink(name);
    }
    return KEDGE_OK;
}

kedge_status kedge_sqlite_copy(const char *from, const char *to, kedge_error *error)
{
    kedge_sqlite_connection source = {0}, copy = {0};
    kedge_status status = clear(to, error);
    if (status == KEDGE_OK) status = open_file(&source, from, 0, error);
    if (status == KEDGE_OK) {
        sqlite3_db_config(source.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        status = open_file(&copy, to, SQLITE_OPEN_CREATE, error);
    }
    if (status == KEDGE_OK) status = copy_pages(&source, &copy, error);
    if (status == KEDGE_OK) status = remove_log(&copy, error);
    if (status == KEDGE_OK)
        status =
            expect(&copy, "PRAGMA quick_check(1)", "ok", "is damaged, as is its source", error);
    kedge_sqlite_close(&copy);
    kedge_sqlite_close(&source);
    if (status != KEDGE_OK) clear(to, NULL);
    return status;
}

kedge_status kedge_sqlite_end_log(const char *path, kedge_error *error)
{
    kedge_sqlite_connection connection;
    kedge_status status = open_file(&connection, path, 0, error);
    if (status == KEDGE_OK) status = remove_log(&connection, error);
    kedge_sqlite_close(&connection);
    return status;
}
