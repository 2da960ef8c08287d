/* Reading one item, a collection in order, or with read-only SQL. All reads see the local state:
 * the canonical version that was pulled last, with the pending edits applied to it. No read uses
 * the network. A read waits for a writer in two cases only: while the cache cannot be written
 * (kedge_sync_status.last_error is "disk-full" or "cache-not-written"), and when it finds damage.
 *
 * Any thread may begin a read. Names of collections are NUL-terminated. The functions that begin a
 * read also return, beside the errors at each of them: KEDGE_INVALID_ARGUMENT and
 * KEDGE_LIMIT_EXCEEDED for a name or an id that is not allowed; KEDGE_LIMIT_EXCEEDED
 * "too-many-readers" (KEDGE_LIMIT_READERS); KEDGE_NO_MEMORY, KEDGE_IO, KEDGE_BUSY; KEDGE_CORRUPT
 * when a row of the cache is damaged: the cache is then set aside and pulled again. */
#ifndef KEDGE_READ_H
#define KEDGE_READ_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* One JSON value and its id. Later edits do not change a document. */
typedef struct kedge_document kedge_document;

/* Reads the item whose id is the `id_size` bytes at `id`. Returns KEDGE_NOT_FOUND when there is
 * none. The caller owns `*document` and must free it with kedge_document_free. */
KEDGE_API kedge_status kedge_get(kedge_db *db, const char *collection, const char *id,
                                 size_t id_size, kedge_document **document,
                                 kedge_error *KEDGE_NULLABLE error);

/* Reads the project record, a JSON object. Returns KEDGE_NOT_FOUND when it was never set. The
 * caller owns `*document` and must free it with kedge_document_free. */
KEDGE_API kedge_status kedge_get_project(kedge_db *db, kedge_document **document,
                                         kedge_error *KEDGE_NULLABLE error);

/* Returns the value as canonical JSON (RFC 8785), UTF-8, NUL-terminated. `size` is in bytes without
 * the NUL. Borrowed until kedge_document_free. */
KEDGE_API const char *kedge_document_json(const kedge_document *document,
                                          size_t *KEDGE_NULLABLE size);
/* Returns the item's id, NUL-terminated ("" when the document is not an item). `size` is in bytes
 * without the NUL. Borrowed until kedge_document_free. */
KEDGE_API const char *kedge_document_id(const kedge_document *document,
                                        size_t *KEDGE_NULLABLE size);
/* Frees a document. NULL is allowed. Any thread. */
KEDGE_API void kedge_document_free(kedge_document *KEDGE_NULLABLE document);

/* A cursor over the items of a collection, by id in byte order, on one snapshot. Only one thread at
 * a time may use it. */
typedef struct kedge_scan kedge_scan;

#define KEDGE_SCAN_OPTIONS_VERSION 1

/* Start from KEDGE_SCAN_OPTIONS_INIT (see kedge/base.h). `descending`: from the highest id down.
 * `after`: the scan starts behind this id, in its direction; NULL: at its first item. `prefix`: the
 * bytes that every id must start with; NULL: any. Sizes are in bytes. `limit`: the most items that
 * the scan gives; 0: no limit. */
typedef struct kedge_scan_options {
    uint32_t version;
    uint32_t size;
    const char *KEDGE_NULLABLE after;
    size_t after_size;
    const char *KEDGE_NULLABLE prefix;
    size_t prefix_size;
    int64_t limit;
    bool descending;
} kedge_scan_options;

#define KEDGE_SCAN_OPTIONS_INIT                                                                    \
    {                                                                                              \
        KEDGE_SCAN_OPTIONS_VERSION, sizeof(kedge_scan_options), NULL, 0, NULL, 0, 0, false         \
    }

/* Opens a scan. `options` NULL: all items. The options are copied. The collection may have no items
 * yet. The caller owns `*scan` and must free it with kedge_scan_close before it closes the
 * database. KEDGE_INVALID_ARGUMENT "scan-limit" when the limit is negative. */
KEDGE_API kedge_status kedge_scan_open(kedge_db *db, const char *collection,
                                       const kedge_scan_options *KEDGE_NULLABLE options,
                                       kedge_scan **scan, kedge_error *KEDGE_NULLABLE error);
/* Returns KEDGE_OK with the next row, or KEDGE_DONE when there are no more. `*value` is canonical
 * JSON. Both texts are NUL-terminated and borrowed until the next call on `scan`. The sizes are in
 * bytes without the NUL. Errors: KEDGE_CORRUPT for a damaged row, KEDGE_IO, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_scan_next(kedge_scan *scan, const char **id, size_t *id_size,
                                       const char **value, size_t *value_size,
                                       kedge_error *KEDGE_NULLABLE error);
/* Ends a scan and frees it. NULL is allowed. */
KEDGE_API void kedge_scan_close(kedge_scan *KEDGE_NULLABLE scan);

/* A read-only query in SQLite's SQL, on one snapshot. Only one thread at a time may use it.
 *
 * Each collection is a view with the collection's name and the columns `id` and `value` (JSON text;
 * read members with value ->> 'member'). A collection without items has an empty view. A name that
 * is not a plain word of SQL must be quoted: "todo.items", "order". The view `kedge_items`
 * (collection, id, value) has the items of all collections. A query can read these views and
 * nothing else, and it cannot write.
 *
 * SQL does not tell upper from lower case in names. Of several collections whose names differ in
 * case alone, a query can read only one through its view, and must write that name exactly. While
 * only one of them has items, each of the names reads that one. A collection whose name begins with
 * "sqlite_" has no view. kedge_items has the items of all of these.
 *
 * A query ends with KEDGE_LIMIT_EXCEEDED when SQLite needs more than 1,000,000,000 steps (some ten
 * seconds) for one row. */
typedef struct kedge_query kedge_query;

/* Prepares one SELECT of `sql_size` bytes and takes its snapshot. `parameters` is NULL, or a JSON
 * array of `parameters_size` bytes, whose strings, numbers, booleans and nulls are bound to ?1, ?2,
 * … A parameter of the SQL that the array does not reach is NULL. `sql` and `parameters` are
 * copied. The caller owns `*query` and must free it with kedge_query_close before it closes the
 * database. Returns KEDGE_INVALID_ARGUMENT with SQLite's message when the SQL is wrong, reads
 * anything but the views, has something after its end, or is another statement than a SELECT,
 * VALUES or EXPLAIN, and when the parameters are no such array; KEDGE_INVALID_JSON when they are no
 * JSON; KEDGE_LIMIT_EXCEEDED when the SQL has more than 8 MiB. */
KEDGE_API kedge_status kedge_query_open(kedge_db *db, const char *sql, size_t sql_size,
                                        const char *KEDGE_NULLABLE parameters,
                                        size_t parameters_size, kedge_query **query,
                                        kedge_error *KEDGE_NULLABLE error);
/* Steps to the first row, then to the next one. Returns KEDGE_DONE when there are no more. Errors:
 * KEDGE_INVALID_ARGUMENT when the SQL fails over a row, KEDGE_LIMIT_EXCEEDED, KEDGE_CORRUPT for a
 * damaged row, KEDGE_IO, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_query_next(kedge_query *query, kedge_error *KEDGE_NULLABLE error);
/* The columns of the result, counted from 0. A name is borrowed until kedge_query_close; "" for a
 * column that does not exist. */
KEDGE_API int32_t kedge_query_column_count(const kedge_query *query);
KEDGE_API const char *kedge_query_column_name(const kedge_query *query, int32_t column);

/* The type of a value in a row. */
typedef enum kedge_column_type {
    KEDGE_COLUMN_NULL = 0,
    KEDGE_COLUMN_INTEGER = 1, /* JSON's true and false, too: value ->> 'done' is 1 or 0 */
    KEDGE_COLUMN_REAL = 2,
    KEDGE_COLUMN_TEXT = 3,
    KEDGE_COLUMN_BLOB = 4 /* bytes that SQL made, for example with unhex() */
} kedge_column_type;

/* Returns the type of a column of the current row, which may differ from row to row:
 * KEDGE_COLUMN_NULL before the first row, after the last, and for a column that the result does not
 * have. Ask before the value is read as another type. */
KEDGE_API kedge_column_type kedge_query_column_type(const kedge_query *query, int32_t column);
/* Read a column of the current row, converted as SQLite's CAST does. kedge_query_text returns NULL
 * for an SQL NULL, and the bytes of a blob. Its text is NUL-terminated and borrowed until the next
 * call on `query`; `size` is in bytes without the NUL. */
KEDGE_API const char *KEDGE_NULLABLE kedge_query_text(kedge_query *query, int32_t column,
                                                      size_t *KEDGE_NULLABLE size);
KEDGE_API int64_t kedge_query_integer(kedge_query *query, int32_t column);
KEDGE_API double kedge_query_real(kedge_query *query, int32_t column);
/* Ends a query and frees it. NULL is allowed. */
KEDGE_API void kedge_query_close(kedge_query *KEDGE_NULLABLE query);

KEDGE_END_DECLS

#endif
