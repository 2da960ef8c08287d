/* Reading one item, a collection in order, or with read-only SQL. All reads see the local state:
 * the canonical version that was pulled last, with the pending edits applied to it. No read uses
 * the network. None waits for a writer, unless the cache cannot be written
 * (kedge_sync_status.last_error is "disk-full" or "cache-not-written") or the read finds damage. */
#ifndef KEDGE_READ_H
#define KEDGE_READ_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* One JSON value and its id. Later edits do not change a document. */
typedef struct kedge_document kedge_document;

/* Reads an item. Returns KEDGE_NOT_FOUND when there is none. The caller owns `*document` and must
 * free it with kedge_document_free. */
KEDGE_API kedge_status kedge_get(kedge_db *db, const char *collection, const char *id,
                                 size_t id_size, kedge_document **document,
                                 kedge_error *KEDGE_NULLABLE error);

/* Reads the project record, a JSON object. Returns KEDGE_NOT_FOUND when it was never set. The
 * caller owns `*document`. */
KEDGE_API kedge_status kedge_get_project(kedge_db *db, kedge_document **document,
                                         kedge_error *KEDGE_NULLABLE error);

/* Returns the value as canonical JSON (RFC 8785), UTF-8, NUL-terminated. `size` is in bytes without
 * the NUL. Borrowed until kedge_document_free. */
KEDGE_API const char *kedge_document_json(const kedge_document *document,
                                          size_t *KEDGE_NULLABLE size);
/* Returns the item's id, NUL-terminated ("" when the document is not an item). Borrowed until
 * kedge_document_free. */
KEDGE_API const char *kedge_document_id(const kedge_document *document,
                                        size_t *KEDGE_NULLABLE size);
KEDGE_API void kedge_document_free(kedge_document *KEDGE_NULLABLE document);

/* A cursor over the items of a collection, by id in byte order, on one snapshot. Only one thread at
 * a time may use it. */
typedef struct kedge_scan kedge_scan;

#define KEDGE_SCAN_OPTIONS_VERSION 1

/* Start from KEDGE_SCAN_OPTIONS_INIT (see kedge/base.h). `after`: the scan starts after this id;
 * NULL: at the first item. `prefix`: the bytes that every id must start with; NULL: any. `limit` 0
 * means no limit. */
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

/* Opens a scan. `options` NULL: all items. The collection may have no items yet. The caller must
 * close the scan with kedge_scan_close before it closes the database. */
KEDGE_API kedge_status kedge_scan_open(kedge_db *db, const char *collection,
                                       const kedge_scan_options *KEDGE_NULLABLE options,
                                       kedge_scan **scan, kedge_error *KEDGE_NULLABLE error);
/* Returns KEDGE_OK with the next row, or KEDGE_DONE when there are no more. Outputs are
 * NUL-terminated and borrowed until the next call on `scan`. */
KEDGE_API kedge_status kedge_scan_next(kedge_scan *scan, const char **id, size_t *id_size,
                                       const char **value, size_t *value_size,
                                       kedge_error *KEDGE_NULLABLE error);
KEDGE_API void kedge_scan_close(kedge_scan *KEDGE_NULLABLE scan);

/* A read-only query in SQLite's SQL. Each collection is a view with the collection's name and the
 * columns `id` and `value` (JSON text; read members with value ->> 'member'); one without items has
 * an empty view. A name that is not a plain word of SQL must be quoted: "todo.items", "order". SQL
 * does not tell upper from lower case: of collections whose names differ in case alone a query can
 * read only one, whose name it writes as it is; while only one of them has items, each name reads
 * that one. The view `kedge_items` (collection, id, value) has the items of all collections. A
 * query can read these views and nothing else, and it cannot write.
 * A row for which SQLite needs more than 1,000,000,000 steps (some ten seconds) ends the query with
 * KEDGE_LIMIT_EXCEEDED.
 * `parameters` is NULL, or a JSON array whose strings, numbers, booleans and nulls are bound to ?1,
 * ?2, … A parameter of the SQL that the array does not reach is NULL. */
typedef struct kedge_query kedge_query;

/* Prepares one SELECT of `sql_size` bytes and its snapshot. Returns KEDGE_INVALID_ARGUMENT with
 * SQLite's message when the SQL is wrong, reads anything but the views, has something after its
 * end, or is another statement than a SELECT, VALUES or EXPLAIN. The caller must close the query
 * with kedge_query_close before it closes the database. Only one thread at a time may use a
 * query. */
KEDGE_API kedge_status kedge_query_open(kedge_db *db, const char *sql, size_t sql_size,
                                        const char *KEDGE_NULLABLE parameters,
                                        size_t parameters_size, kedge_query **query,
                                        kedge_error *KEDGE_NULLABLE error);
/* Steps to the first row, then to the next. Returns KEDGE_DONE when there are no more. */
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
 * for an SQL NULL, and the bytes of a blob; its text is borrowed until the next call on `query`. */
KEDGE_API const char *KEDGE_NULLABLE kedge_query_text(kedge_query *query, int32_t column,
                                                      size_t *KEDGE_NULLABLE size);
KEDGE_API int64_t kedge_query_integer(kedge_query *query, int32_t column);
KEDGE_API double kedge_query_real(kedge_query *query, int32_t column);
KEDGE_API void kedge_query_close(kedge_query *KEDGE_NULLABLE query);

KEDGE_END_DECLS

#endif
