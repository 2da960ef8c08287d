/* Declared indexes: queries find items by a member of their values, without reading the whole
 * collection.
 *
 * An index covers one collection. A query uses it when it compares `value ->> 'path'` of the
 * collection's view with a value, or orders by it. The path must be written as it was declared:
 *
 *     kedge_index(db, "todos_by_due", "todos", (const char *const[]){"due"}, 1, &error);
 *     SELECT id, value FROM todos WHERE value ->> 'due' < ?1 ORDER BY value ->> 'due'
 *
 * `->>` gives members as these types of SQL:
 *
 *     JSON                       SQL                                   order
 *     absent, null               NULL                                  1
 *     true, false                the integers 1 and 0                  2
 *     number                     INTEGER when it is one of 64 bits,    2
 *                                else REAL; 1 and 1.0 are the same
 *     string                     TEXT, compared byte for byte          3
 *     array, object              TEXT: its canonical JSON              3
 *
 * No type is converted: '1' is another value than 1. `true` and `1` are the same value; a query
 * that must tell them apart adds json_type(value, '$.path') = 'true'. */
#ifndef KEDGE_INDEX_H
#define KEDGE_INDEX_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* Declares an index, and makes it: scans the collection once (about a second for a million items of
 * 120 bytes, and longer for larger ones) while edits and pulls wait, and reads do not. From then on
 * every edit and pull keeps it. The declaration is durable: the index is there whenever the folder
 * is opened, and is made again with a cache that is pulled again. Declaring the same index again
 * does nothing, so an app may declare its indexes after each kedge_open.
 *
 * `name` and `collection`: 1 to 64 of A-Z a-z 0-9 _ . -, the first one of A-Z a-z 0-9 _. The
 * collection may have no items yet. `paths`: 1 to 4 texts of at most 128 bytes. A path is the name
 * of a member ("due"), or steps after $ ("$.address.city", "$.tags[0]"); the members' names are
 * made of A-Z a-z 0-9 _ - and of characters beyond ASCII. With several paths, a query uses the
 * index for an equality on each of the first ones and a comparison or order on the next. All
 * parameters are copied. Any thread.
 * Errors: KEDGE_INVALID_ARGUMENT for a name or path of another form; KEDGE_LIMIT_EXCEEDED for too
 * many paths, too long a path or name, and the 33rd index; KEDGE_CONFLICT when the name is that of
 * an index with another collection or other paths, or differs from that of an index only in the
 * case of letters: drop it first; KEDGE_DISK_FULL, KEDGE_IO, KEDGE_NO_MEMORY; KEDGE_CORRUPT as for
 * kedge_mutate. When it fails, nothing is declared. After KEDGE_IO the index may still be declared
 * when the folder is opened again. */
KEDGE_API kedge_status kedge_index(kedge_db *db, const char *name, const char *collection,
                                   const char *const *paths, size_t path_count,
                                   kedge_error *KEDGE_NULLABLE error);

/* Drops an index. Queries show the same as before. Any thread. Errors: KEDGE_NOT_FOUND when there
 * is no such index; KEDGE_INVALID_ARGUMENT, KEDGE_DISK_FULL, KEDGE_IO; KEDGE_CORRUPT as for
 * kedge_mutate. */
KEDGE_API kedge_status kedge_index_drop(kedge_db *db, const char *name,
                                        kedge_error *KEDGE_NULLABLE error);

/* The declared indexes at the time of opening the list. Only one thread at a time may use it. */
typedef struct kedge_index_list kedge_index_list;

/* Opens the list, in the order of declaration. The caller owns `*list` and must free it with
 * kedge_index_list_close. Any thread. Errors: KEDGE_IO, KEDGE_NO_MEMORY, KEDGE_CORRUPT. */
KEDGE_API kedge_status kedge_index_list_open(kedge_db *db, kedge_index_list **list,
                                             kedge_error *KEDGE_NULLABLE error);
/* Gives the next index, or returns KEDGE_DONE when there are no more. `*paths` is a JSON array of
 * texts. All are NUL-terminated and borrowed until kedge_index_list_close. */
KEDGE_API kedge_status kedge_index_list_next(kedge_index_list *list, const char **name,
                                             const char **collection, const char **paths,
                                             kedge_error *KEDGE_NULLABLE error);
KEDGE_API void kedge_index_list_close(kedge_index_list *KEDGE_NULLABLE list);

KEDGE_END_DECLS

#endif
