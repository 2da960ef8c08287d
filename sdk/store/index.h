/* Declared indexes: members of a collection's items by which queries find them without reading the
 * whole collection.
 *
 * The outbox's table `declared` says which indexes there are, since it outlives the cache. The
 * cache has them as SQLite indexes of `item`, over expressions (value ->> 'path') and only over the
 * rows of one collection. An index is named "kedge index " and the name that the app gave.
 *
 * Kedge never lets SQLite analyze `item`. It writes fixed statistics: a collection has many items,
 * and few of them share the first member of an index. So a plan depends on the indexes alone, and
 * does not change while the data grow. */
#ifndef KEDGE_SDK_STORE_INDEX_H
#define KEDGE_SDK_STORE_INDEX_H

#include "sdk/store/store_internal.h"

/* The most bytes of an index's paths as a JSON array. */
#define KEDGE_DECLARED_PATHS_BYTES                                                                 \
    (KEDGE_LIMIT_INDEX_PATHS * (KEDGE_LIMIT_INDEX_PATH_BYTES + 3) + 1)

typedef struct kedge_declared_index {
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    char paths[KEDGE_DECLARED_PATHS_BYTES + 1]; /* a JSON array of texts */
} kedge_declared_index;

typedef struct kedge_declared {
    size_t count;
    kedge_declared_index rows[KEDGE_LIMIT_INDEXES];
} kedge_declared;

/* ---- declared.c: the rows of `declared`, inside the caller's transaction ---- */
/* In order of declaration. Returns KEDGE_CORRUPT for a damaged row; the write turn then deletes
 * it. */
kedge_status kedge_declared_read(kedge_store_db *outbox, kedge_declared *declared,
                                 kedge_error *error);
const kedge_declared_index *kedge_declared_find(const kedge_declared *declared, const char *name);
kedge_status kedge_declared_add(kedge_store_db *outbox, const kedge_declared_index *index,
                                kedge_error *error);
kedge_status kedge_declared_remove(kedge_store_db *outbox, const char *name, kedge_error *error);
/* Deletes damaged rows. */
kedge_status kedge_declared_heal(kedge_store_db *outbox, kedge_error *error);
/* Checks what an app declares, and writes it into `index`. */
kedge_status kedge_declared_make(kedge_bytes name, kedge_bytes collection, const kedge_bytes *paths,
                                 size_t count, kedge_declared_index *index, kedge_error *error);

/* ---- index_fit.c ---- */
/* Makes the cache's indexes those that the outbox declares. Call in a write turn, with or without a
 * transaction of the cache. */
kedge_status kedge_index_fit(kedge_store *store, kedge_error *error);
/* Make one of them, or remove it; an index that is there already, or not there, is right. Call in a
 * transaction of the cache. */
kedge_status kedge_index_make(kedge_store *store, const kedge_declared_index *index,
                              kedge_error *error);
kedge_status kedge_index_remove(kedge_store *store, const char *name, kedge_error *error);
/* Whether the cache has the index, as it is declared. */
kedge_status kedge_index_is_there(const kedge_allocator *allocator, kedge_store_db *cache,
                                  const kedge_declared_index *index, bool *there,
                                  kedge_error *error);
/* Notes how many there are in the connection, for the room that a commit needs. */
kedge_status kedge_index_count(kedge_store_db *cache, kedge_error *error);
/* SQL that makes the index, or the name that SQLite knows it by; `out` is appended to. */
void kedge_index_sql(const kedge_declared_index *index, kedge_buffer *out);
void kedge_index_name(const char *name, kedge_buffer *out);
/* `value ->> 'path'` of each path, with `value` in front of which stands `prefix`, joined by
 * `between`; `out` is appended to. */
void kedge_index_members(const kedge_declared_index *index, const char *prefix, const char *between,
                         kedge_buffer *out);

#endif
