/* One SQLite connection with its prepared statements, and SQLite's codes as Kedge's errors. */
#ifndef KEDGE_SDK_STORE_DATABASE_H
#define KEDGE_SDK_STORE_DATABASE_H

#include "common/bytes.h"
#include <sqlite3.h>
#include <sys/types.h>

#define KEDGE_STORE_STATEMENTS 96 /* prepared statements kept by one connection */
/* for locks of other programs; Kedge's own connections never wait for SQLite's locks */
#define KEDGE_STORE_BUSY_TIMEOUT_MS 10000

/* A statement is kept by the address of its SQL text, so the text must be a constant. */
typedef struct kedge_store_statement {
    const char *sql;
    sqlite3_stmt *statement;
    bool taken; /* since all were reset last */
} kedge_store_statement;

typedef struct kedge_store_db {
    sqlite3 *handle;  /* NULL: not open */
    const char *name; /* for messages: "cache.db" */
    size_t statement_count;
    int bind_code;       /* the first failed bind since a statement was taken */
    int wal_pages;       /* after the last commit here */
    int wal_held;        /* pages at the last move, when a reader still needed some; 0: none */
    int written;         /* pages that were written when the transaction began */
    int64_t runs;        /* statements without rows, and writes of indexes, since then */
    int64_t bound_bytes; /* to statements, since then */
    int64_t indexes;     /* of the cache: how many are declared */
    bool damaged;        /* SQLite reported damage */
    bool row_damaged;    /* a row is damaged; the others can be read */
    /* begin a transaction only once and do not commit it: it will be rolled back */
    bool rehearsing;
    bool begun;  /* a transaction, by kedge_store_db_begin */
    int failure; /* the last one, in SQLite's code */
    bool marked;
    unsigned mark; /* SQLite's number of the file's state when it was marked */
    dev_t device;  /* which file it is: another process may have set it aside */
    ino_t inode;
    kedge_store_statement statements[KEDGE_STORE_STATEMENTS];
} kedge_store_db;

/* Of the path of a file in a folder, with its end; and what of it is the file's name, with what
 * SQLite adds to that. */
#define KEDGE_STORE_PATH_BYTES 4096
#define KEDGE_STORE_NAME_BYTES 64

/* KEDGE_INVALID_ARGUMENT unless `path` can be that of a folder with databases: "path-missing" when
 * it is NULL or empty, "path-too-long" when SQLite could not open the files in it. */
kedge_status kedge_store_check_path(const char *path, const char *vfs, kedge_error *error);

/* `flags` are SQLite's; `vfs` may be NULL. */
kedge_status kedge_store_db_open(kedge_store_db *db, const char *path, const char *name, int flags,
                                 const char *vfs, kedge_error *error);
void kedge_store_db_close(kedge_store_db *db);
/* Opens the cache. Its declared indexes call SQLite's JSON functions, which some versions of SQLite
 * (3.40) take for unsafe ones that a schema may call only when it is trusted. A connection has no
 * function that can do harm. */
kedge_status kedge_store_db_open_cache(kedge_store_db *db, const char *path, int flags,
                                       const char *vfs, kedge_error *error);
/* Returns false when the path is now another file than the open one. */
bool kedge_store_db_is_at(const kedge_store_db *db, const char *path);

/* Translates SQLite's code; `doing` says what failed ("reading an item"). Notes damage. */
kedge_status kedge_store_db_fail(kedge_store_db *db, int code, const char *doing,
                                 kedge_error *error);

/* One or more statements without results. */
kedge_status kedge_store_db_execute(kedge_store_db *db, const char *sql, kedge_error *error);
kedge_status kedge_store_db_begin(kedge_store_db *db, kedge_error *error); /* IMMEDIATE */
kedge_status kedge_store_db_commit(kedge_store_db *db, kedge_error *error);
/* Resets all statements, of which some may still have a row. */
void kedge_store_db_reset(kedge_store_db *db);
void kedge_store_db_rollback(kedge_store_db *db); /* may be called when nothing is open */
bool kedge_store_db_in_transaction(const kedge_store_db *db);
/* When a statement fails for want of memory or of room, or after an I/O error, SQLite may end the
 * transaction that it is in, also when it only reads. Until the rollback all statements, the commit
 * too, then fail as that one did, so that nothing goes on without its transaction. So does this
 * call, for whoever has passed over a failure. */
kedge_status kedge_store_db_check(kedge_store_db *db, kedge_error *error);

/* SQLite's number of the state of the file: another one after each commit of any connection, once
 * this one has begun a transaction. False: it is not known. */
bool kedge_store_db_version(const kedge_store_db *db, unsigned *version);
/* Remembers the state of the file; call right after a commit. */
void kedge_store_db_mark(kedge_store_db *db);
/* In a transaction: whether nobody, this connection included, has committed to the file since it
 * was marked. */
bool kedge_store_db_is_as_marked(const kedge_store_db *db);

/* Gives the kept statement for `sql`, reset and without bindings. */
kedge_status kedge_store_db_take(kedge_store_db *db, const char *sql, sqlite3_stmt **statement,
                                 kedge_error *error);
/* The same with its parameters bound from the first on. `types` has a letter for each of them:
 *
 *     i  int64_t; cast what is another integer
 *     c  const char *, NUL-terminated
 *     t  kedge_bytes, as a text
 *     b  kedge_bytes, as a blob
 *     o  const kedge_bytes *, as a text; NULL: null
 *
 * The bytes must outlive the run. After a failure the statement is NULL. */
kedge_status kedge_store_db_bind(kedge_store_db *db, const char *sql, sqlite3_stmt **statement,
                                 kedge_error *error, const char *types, ...);
/* Binds a statement likewise, and steps to its first row: KEDGE_DONE when there is none. */
kedge_status kedge_store_db_find(kedge_store_db *db, const char *sql, sqlite3_stmt **statement,
                                 kedge_error *error, const char *types, ...);
/* Binds a statement that returns no rows likewise, and runs it. */
kedge_status kedge_store_db_change(kedge_store_db *db, const char *sql, kedge_error *error,
                                   const char *types, ...);
/* Returns KEDGE_OK with a row, and KEDGE_DONE without; the statement is reset unless it has a
 * row. */
kedge_status kedge_store_db_step(kedge_store_db *db, sqlite3_stmt *statement, kedge_error *error);
/* Runs a statement that returns no rows. */
kedge_status kedge_store_db_run(kedge_store_db *db, sqlite3_stmt *statement, kedge_error *error);

/* Runs a statement and reads the first column of its first row: 0 when there is no row, when the
 * column is null, and after a failure. */
kedge_status kedge_store_db_find_number(kedge_store_db *db, const char *sql, int64_t *number,
                                        kedge_error *error, const char *types, ...);
kedge_status kedge_store_db_number(kedge_store_db *db, const char *sql, int64_t *number,
                                   kedge_error *error); /* without parameters */

/* The bytes must outlive the run. */
void kedge_store_bind_text(kedge_store_db *db, sqlite3_stmt *statement, int index,
                           kedge_bytes text);
void kedge_store_bind_chars(kedge_store_db *db, sqlite3_stmt *statement, int index,
                            const char *text);
void kedge_store_bind_blob(kedge_store_db *db, sqlite3_stmt *statement, int index,
                           const void *bytes, size_t size);
void kedge_store_bind_integer(kedge_store_db *db, sqlite3_stmt *statement, int index,
                              int64_t value);

/* Borrowed until the next step. */
kedge_bytes kedge_store_column(sqlite3_stmt *statement, int column);
/* Reads the columns of a row from the first on. `types` has a letter for each of them:
 *
 *     i  int64_t *
 *     n  bool *, whether it is not 0
 *     t  kedge_bytes *, borrowed until the next step
 *     c  char * and a size_t: room for a text and a NUL
 *
 * Returns false when a text does not fit; the other columns are read all the same. */
bool kedge_store_columns(sqlite3_stmt *statement, const char *types, ...);
/* Copies a text column and a NUL; false when it does not fit. */
bool kedge_store_column_chars(sqlite3_stmt *statement, int column, char *out, size_t out_size);

#endif
