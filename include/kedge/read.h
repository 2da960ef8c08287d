/* Reads: an item, a collection in order, read-only SQL. All see the local state: the canonical
 * version that was pulled last, with the pending edits on it. None touches the network, none waits
 * for a writer. */
#ifndef KEDGE_READ_H
#define KEDGE_READ_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* One JSON value and the id it stands under; a snapshot that later edits do not change. */
typedef struct kedge_document kedge_document;

/* Reads an item. KEDGE_NOT_FOUND when there is none. Free with kedge_document_free. */
KEDGE_API kedge_status kedge_get(kedge_db *db, const char *collection, const char *id,
                                 size_t id_size, kedge_document **document,
                                 kedge_error *KEDGE_NULLABLE error);

/* Reads the project record: a JSON object. KEDGE_NOT_FOUND before it was first set. */
KEDGE_API kedge_status kedge_get_project(kedge_db *db, kedge_document **document,
                                         kedge_error *KEDGE_NULLABLE error);

/* Canonical JSON (RFC 8785), UTF-8, NUL-terminated; `size` in bytes without the NUL. Borrowed until
 * kedge_document_free. */
KEDGE_API const char *kedge_document_json(const kedge_document *document,
                                          size_t *KEDGE_NULLABLE size);
/* The item's id, NUL-terminated ("" for anything that is no item). Borrowed likewise. */
KEDGE_API const char *kedge_document_id(const kedge_document *document,
                                        size_t *KEDGE_NULLABLE size);
KEDGE_API void kedge_document_free(kedge_document *KEDGE_NULLABLE document);

/* An ordered walk over a collection, by id in byte order, on one snapshot. One thread at a time. */
typedef struct kedge_scan kedge_scan;

/* `after` NULL starts at the first item, otherwise behind that id. `prefix` NULL or the bytes that
 * every id must start with. `limit` 0 means no limit. */
typedef struct kedge_scan_options {
    uint32_t version;
    const char *KEDGE_NULLABLE after;
    size_t after_size;
    const char *KEDGE_NULLABLE prefix;
    size_t prefix_size;
    int64_t limit;
    bool descending;
} kedge_scan_options;

#define KEDGE_SCAN_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .version = 1                                                                               \
    }

/* Begins a walk; `options` NULL: all items. The collection may have no items yet. Close it with
 * kedge_scan_close, before the database. */
KEDGE_API kedge_status kedge_scan_open(kedge_db *db, const char *collection,
                                       const kedge_scan_options *KEDGE_NULLABLE options,
                                       kedge_scan **scan, kedge_error *KEDGE_NULLABLE error);
/* KEDGE_OK with the next row, KEDGE_DONE behind the last. Outputs are borrowed until the next call
 * on `scan`; they are NUL-terminated. */
KEDGE_API kedge_status kedge_scan_next(kedge_scan *scan, const char **id, size_t *id_size,
                                       const char **value, size_t *value_size,
                                       kedge_error *KEDGE_NULLABLE error);
KEDGE_API void kedge_scan_close(kedge_scan *KEDGE_NULLABLE scan);

/* Read-only SQL (SQLite's) over one view a collection, named like the collection, with the columns
 * `id` and `value` (JSON text; read members with value ->> 'member'), and over the view
 * `kedge_items` (collection, id, value). Nothing else can be read, nothing can be written.
 * A row for which SQLite needs more than 1,000,000,000 steps (some ten seconds) ends the query with
 * KEDGE_LIMIT_EXCEEDED.
 * `parameters` NULL or a JSON array whose strings, numbers, booleans and nulls bind to ?1, ?2, … */
typedef struct kedge_query kedge_query;

/* Prepares one SELECT of `sql_size` bytes and its snapshot. KEDGE_INVALID_ARGUMENT with SQLite's
 * words for SQL that is wrong or reads or does anything else. Close it with kedge_query_close,
 * before the database. One thread at a time. */
KEDGE_API kedge_status kedge_query_open(kedge_db *db, const char *sql, size_t sql_size,
                                        const char *KEDGE_NULLABLE parameters,
                                        size_t parameters_size, kedge_query **query,
                                        kedge_error *KEDGE_NULLABLE error);
/* Steps to the first row, then to the next: KEDGE_OK, or KEDGE_DONE behind the last. */
KEDGE_API kedge_status kedge_query_next(kedge_query *query, kedge_error *KEDGE_NULLABLE error);
/* The columns of the result, from 0 on; names are borrowed until kedge_query_close. */
KEDGE_API int32_t kedge_query_column_count(const kedge_query *query);
KEDGE_API const char *kedge_query_column_name(const kedge_query *query, int32_t column);
/* The column of the present row. `text` gives NULL for an SQL NULL; borrowed until the next call on
 * `query`. */
KEDGE_API const char *KEDGE_NULLABLE kedge_query_text(kedge_query *query, int32_t column,
                                                      size_t *KEDGE_NULLABLE size);
KEDGE_API int64_t kedge_query_integer(kedge_query *query, int32_t column);
KEDGE_API double kedge_query_real(kedge_query *query, int32_t column);
KEDGE_API void kedge_query_close(kedge_query *KEDGE_NULLABLE query);

KEDGE_END_DECLS

#endif
