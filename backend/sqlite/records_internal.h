/* What the records in SQLite and their stream share: the file, and the statements on it. */
#ifndef KEDGE_BACKEND_SQLITE_RECORDS_INTERNAL_H
#define KEDGE_BACKEND_SQLITE_RECORDS_INTERNAL_H

#include "backend/ports/records_support.h"
#include "backend/sqlite/readers.h"
#include "backend/sqlite/writer.h"
#include "common/environment.h"

typedef enum kedge_sqlite_records_statement {
    KEDGE_RECORDS_SELECT_ONE,
    KEDGE_RECORDS_PUT_ONE,
    KEDGE_RECORDS_DELETE_ONE,
    KEDGE_RECORDS_QUERY_UP,
    KEDGE_RECORDS_QUERY_DOWN,
    KEDGE_RECORDS_QUERY_INVERTED_UP,
    KEDGE_RECORDS_QUERY_INVERTED_DOWN,
    /* changes */
    KEDGE_CHANGES_SET_STREAM,
    KEDGE_CHANGES_NOTE_PUT,
    KEDGE_CHANGES_NOTE_DELETE,
    KEDGE_CHANGES_TRIM,
    KEDGE_CHANGES_BOUNDS,
    KEDGE_CHANGES_BEHIND,
    KEDGE_SQLITE_RECORDS_STATEMENTS
} kedge_sqlite_records_statement;

typedef struct kedge_sqlite_records {
    const kedge_environment *environment;
    char *path;
    kedge_sqlite_writer writer;
    kedge_sqlite_readers readers;
} kedge_sqlite_records;

/* Notes what a write is about to change, within its transaction and before it is applied, when the
 * file has a stream. `encoded` are the attributes of a put. */
kedge_status kedge_sqlite_change_note(kedge_sqlite_connection *connection,
                                      const kedge_record_write *write, kedge_bytes encoded,
                                      int64_t now_ms, kedge_error *error);

#endif
