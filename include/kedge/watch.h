/* Watches: after each commit, Kedge tells the app which keys have a new value, or which rows of a
 * query's result. */
#ifndef KEDGE_WATCH_H
#define KEDGE_WATCH_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* Where a change comes from. The changes of a pull include those that its rebase makes to the
 * effects of this process's pending edits. */
typedef enum kedge_change_source {
    KEDGE_CHANGE_LOCAL = 1,        /* an edit of this process, or its cancellation */
    KEDGE_CHANGE_PULLED = 2,       /* from the server, pulled by whichever process of the folder */
    KEDGE_CHANGE_OTHER_PROCESS = 3 /* an edit of another process, or its cancellation */
} kedge_change_source;

/* One changed key, with its values as canonical JSON. `collection` is "" for the project record. A
 * value is NULL where there is no item: `old_value` of a new one, `new_value` of a deleted one. All
 * texts are NUL-terminated, and borrowed during the callback. */
typedef struct kedge_change {
    const char *collection;
    const char *id;
    size_t id_size;
    const char *KEDGE_NULLABLE old_value;
    size_t old_size;
    const char *KEDGE_NULLABLE new_value;
    size_t new_size;
    kedge_change_source source;
} kedge_change;

/* Gets the changes of one commit. Callbacks come in the order of the commits: the old value of a
 * key is the new value of the last callback that had the key. `changes` is borrowed during the
 * callback. `count` 0 means that the changes are not listed, and that the app must read again what
 * it shows. This happens
 *
 *   - after the first pull of a new folder, and after any other resync;
 *   - when one commit changed more than 4,096 keys, or more than 64 MiB of values (256 KiB, when
 *     another process made it);
 *   - when more than 64 commits, 64 MiB, or 256 commits of other processes wait for the callback.
 */
typedef void (*kedge_watch_function)(void *KEDGE_NULLABLE userdata, const kedge_change *changes,
                                     size_t count);

/* A watch of items. */
typedef struct kedge_watch_token kedge_watch_token;

/* Calls `callback` after each commit, local or pulled, that changed what reads show in `collection`
 * (NULL: in any collection, or in the project record). `callback` runs through the dispatcher, or
 * on the worker thread when there is none, never inside a call of the app. It may call any
 * function, kedge_watch_free of its own token included, but kedge_close, and on the worker thread
 * not those that wait for the server (kedge_sync, kedge_wait, kedge_history): these return
 * KEDGE_INVALID_ARGUMENT there. `userdata_free` may be NULL, and is not called when kedge_watch
 * fails. The caller owns `*token` and must free it with kedge_watch_free before it closes the
 * database. Any thread. Errors: KEDGE_INVALID_ARGUMENT and KEDGE_LIMIT_EXCEEDED for an invalid name
 * of a collection; KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_watch(kedge_db *db, const char *KEDGE_NULLABLE collection,
                                   kedge_watch_function callback, void *KEDGE_NULLABLE userdata,
                                   void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE),
                                   kedge_watch_token **token, kedge_error *KEDGE_NULLABLE error);

/* Ends the watch and frees it: waits for a running callback, then calls `userdata_free`. The
 * callback does not run after this function has returned. Called in the callback itself, it does
 * not wait, and `userdata_free` is called when the callback has returned. NULL is allowed. Any
 * thread. */
KEDGE_API void kedge_watch_free(kedge_watch_token *KEDGE_NULLABLE token);

/* ---- the result of a query ---- */

typedef enum kedge_row_change_kind {
    KEDGE_ROW_ADDED = 1,
    KEDGE_ROW_CHANGED = 2, /* other values, or another place among the rows that stay */
    KEDGE_ROW_REMOVED = 3
} kedge_row_change_kind;

/* One row of a result. `key` is the first column as text. A row is a JSON array with a value for
 * each column: a number, a string or null; the JSON text of an item is a string in it. `old_row`
 * is NULL and `old_position` -1 for an added row, `new_row` NULL and `new_position` -1 for a
 * removed one. A position is the row's place in the result, counted from 0. All texts are
 * NUL-terminated UTF-8, sizes are in bytes without the NUL, and all is borrowed during the
 * callback. */
typedef struct kedge_row_change {
    kedge_row_change_kind kind;
    const char *key;
    size_t key_size;
    const char *KEDGE_NULLABLE old_row;
    size_t old_size;
    int64_t old_position;
    const char *KEDGE_NULLABLE new_row;
    size_t new_size;
    int64_t new_position;
} kedge_row_change;

/* How the result differs from that of the callback before. Removed rows come first, in the order of
 * the old result; then added and changed rows, in the order of the new one. To bring a list of rows
 * up to date, take out the removed and the changed rows, then put in the added and the changed
 * ones, each at its `new_position`. All other rows have kept their order. */
typedef struct kedge_query_changes {
    const kedge_row_change *KEDGE_NULLABLE rows;
    size_t count;
    size_t row_count; /* of the new result */
    bool first;       /* the first result of this watch: each row is an added one */
    /* The sources (kedge_change_source) of the commits since the last callback that touched what
     * the query reads. All three are false for the first result, and when Kedge does not know the
     * sources, as after a resync. */
    bool local;
    bool pulled;
    bool other_process;
    /* NULL: none. Otherwise the result could not be read: `count` and `row_count` are 0, and the
     * next callback still gives the differences from the last result that could be read. Kedge
     * tries again: soon when memory or the disk failed, otherwise after the next commit that
     * touches what the query reads. An error that lasts gives one callback. When the result can be
     * read again, there is a callback even if no row differs. */
    const kedge_error *KEDGE_NULLABLE error;
} kedge_query_changes;

typedef void (*kedge_query_function)(void *KEDGE_NULLABLE userdata,
                                     const kedge_query_changes *changes);

/* A watch of a query's result. */
typedef struct kedge_query_watch kedge_query_watch;

/* Watches the result of a query: `callback` gets the whole result once, and after commits, local or
 * pulled, the rows that differ. Several quick commits may give one callback. `sql` and `parameters`
 * are those of kedge_query_open; both are copied.
 *
 * The query runs again only after a commit that touched a collection which it reads; so date('now')
 * in the SQL is the time of that run. It runs on the thread of the callback: through the
 * dispatcher, or on the worker thread when there is none. While a cache that was set aside is
 * pulled again, the result has the rows that reads show then.
 *
 * The first column of the result is the key of a row. A result that Kedge cannot compare is
 * reported in kedge_query_changes.error, with the code
 *
 *   "watch-key-null", "watch-key-twice"  the key is NULL, or is that of another row, too
 *   "watch-value"                        a blob or an infinite number in a row
 *   "watch-too-many-rows"                more than KEDGE_LIMIT_WATCH_ROWS (KEDGE_LIMIT_EXCEEDED)
 *   "watch-too-many-bytes"               more than KEDGE_LIMIT_WATCH_BYTES (KEDGE_LIMIT_EXCEEDED)
 *
 * `callback` may call what that of kedge_watch may call. `userdata_free` may be NULL, and is not
 * called when this function fails. The caller owns `*watch` and must free it with
 * kedge_query_watch_free before it closes the database. Any thread. Errors: as of
 * kedge_query_open. */
KEDGE_API kedge_status kedge_watch_query(kedge_db *db, const char *sql, size_t sql_size,
                                         const char *KEDGE_NULLABLE parameters,
                                         size_t parameters_size, kedge_query_function callback,
                                         void *KEDGE_NULLABLE userdata,
                                         void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE),
                                         kedge_query_watch **watch,
                                         kedge_error *KEDGE_NULLABLE error);

/* Ends the watch and frees it, as kedge_watch_free does. NULL is allowed. Any thread. */
KEDGE_API void kedge_query_watch_free(kedge_query_watch *KEDGE_NULLABLE watch);

KEDGE_END_DECLS

#endif
