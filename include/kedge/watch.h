/* Watches: after each commit, Kedge tells the app which keys have a new value. */
#ifndef KEDGE_WATCH_H
#define KEDGE_WATCH_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* One changed key. `collection` is "" for the project record. Borrowed during the callback. */
typedef struct kedge_change {
    const char *collection;
    const char *id;
    size_t id_size;
} kedge_change;

/* `count` 0 means that the changes are not listed (after a resync, or when another process wrote):
 * read everything again that the app shows. */
typedef void (*kedge_watch_function)(void *KEDGE_NULLABLE userdata, const kedge_change *changes,
                                     size_t count);

typedef struct kedge_watch_token kedge_watch_token;

/* Calls `callback` after each commit, local or pulled, that changed what reads show in `collection`
 * (NULL: in any collection). `callback` runs through the dispatcher, or on the worker thread when
 * there is none, never inside a call of the app. It may call any function but kedge_watch_free, and
 * kedge_close refuses; on the worker thread, the functions that wait for the server (kedge_sync,
 * kedge_wait, kedge_history) fail. The caller owns `*token` and must free it with
 * kedge_watch_free before it closes the database. */
KEDGE_API kedge_status kedge_watch(kedge_db *db, const char *KEDGE_NULLABLE collection,
                                   kedge_watch_function callback, void *KEDGE_NULLABLE userdata,
                                   void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE),
                                   kedge_watch_token **token, kedge_error *KEDGE_NULLABLE error);

/* Ends the watch: waits for a running callback, then calls `userdata_free`. The callback does not
 * run after this function has returned. NULL is allowed. */
KEDGE_API void kedge_watch_free(kedge_watch_token *KEDGE_NULLABLE token);

KEDGE_END_DECLS

#endif
