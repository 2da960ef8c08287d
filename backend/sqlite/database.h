/* A connection to one of the embedded databases: how it is opened, checked and configured, its
 * cached statements, and what SQLite's errors mean to a port. */
#ifndef KEDGE_BACKEND_SQLITE_DATABASE_H
#define KEDGE_BACKEND_SQLITE_DATABASE_H

#include "common/bytes.h"

#include <sqlite3.h>

#define KEDGE_SQLITE_STATEMENTS_MAX  32
#define KEDGE_SQLITE_BUSY_TIMEOUT_MS 5000

/* What a kind of database is known by. The file's application_id and user_version hold the two
 * numbers; `statements` are what its connections may run, by index. */
typedef struct kedge_sqlite_kind {
    const char *name; /* for messages: "records" */
    int32_t application_id;
    int32_t version;
    const char *schema;
    const char *const *upgrades; /* [n - 1] makes version n + 1 of version n; NULL for version 1 */
    const char *const *statements;
    size_t statement_count;
} kedge_sqlite_kind;

typedef struct kedge_sqlite_connection {
    sqlite3 *handle;
    const char *path; /* borrowed */
    const kedge_sqlite_kind *kind;
    sqlite3_stmt *statements[KEDGE_SQLITE_STATEMENTS_MAX];
} kedge_sqlite_connection;

/* Opens the database, made when absent, and upgraded when it is older. KEDGE_NOT_A_DATABASE for a
 * file that is something else, KEDGE_NEWER_DATABASE for one of a later version: neither is changed.
 * A failure leaves nothing to close. */
kedge_status kedge_sqlite_open(kedge_sqlite_connection *connection, const char *path,
                               const kedge_sqlite_kind *kind, kedge_error *error);
/* The same for a database that is there; the connection only reads. */
kedge_status kedge_sqlite_open_reader(kedge_sqlite_connection *connection, const char *path,
                                      const kedge_sqlite_kind *kind, kedge_error *error);
void kedge_sqlite_close(kedge_sqlite_connection *connection);

/* The statement of an index, prepared at its first use. Give it back with kedge_sqlite_reset. */
kedge_status kedge_sqlite_statement(kedge_sqlite_connection *connection, size_t index,
                                    sqlite3_stmt **statement, kedge_error *error);
void kedge_sqlite_reset(sqlite3_stmt *statement); /* also forgets what was bound; NULL is allowed */
void kedge_sqlite_bind(sqlite3_stmt *statement, int index, kedge_bytes bytes); /* borrowed blob */
kedge_bytes kedge_sqlite_column(sqlite3_stmt *statement, int index);
/* Whether the columns taken since the step are whole: a large one needs memory. */
kedge_status kedge_sqlite_columns_check(const kedge_sqlite_connection *connection,
                                        kedge_error *error);

/* KEDGE_OK: a row; KEDGE_DONE: none any more. */
kedge_status kedge_sqlite_step(kedge_sqlite_connection *connection, sqlite3_stmt *statement,
                               kedge_error *error);
/* Runs a statement that gives no rows, and resets it in every case. */
kedge_status kedge_sqlite_run(kedge_sqlite_connection *connection, sqlite3_stmt *statement,
                              kedge_error *error);

/* Runs a pragma. `*text`: the first column of its first row, until the caller has finalized
 * `*statement`, which it does also after a failure. */
kedge_status kedge_sqlite_pragma(kedge_sqlite_connection *connection, const char *pragma,
                                 sqlite3_stmt **statement, const char **text, kedge_error *error);

/* The port's status of SQLite's result `code`, with the connection's message. */
kedge_status kedge_sqlite_fail(const kedge_sqlite_connection *connection, int code,
                               kedge_error *error);

#endif
