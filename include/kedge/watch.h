/* Watches: the keys whose visible value changed, once a commit. */
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

/* `count` 0 means: too much changed to list (a resync, or another process wrote); read again what
 * you show. */
typedef void (*kedge_watch_function)(void *KEDGE_NULLABLE userdata, const kedge_change *changes,
                                     size_t count);

typedef struct kedge_watch_token kedge_watch_token;

/* Calls `callback` after each commit, local or pulled, that changed what reads show in
 * `collection` (NULL: anywhere). It runs on the dispatcher's thread, or on the worker thread
 * when there is none, never inside a call of the app. It may call any function but
 * kedge_close and kedge_watch_free; on the worker thread, those that wait for the server
 * (kedge_sync, kedge_wait, kedge_history) fail. */
KEDGE_API kedge_status kedge_watch(kedge_db *db, const char *KEDGE_NULLABLE collection,
                                   kedge_watch_function callback, void *KEDGE_NULLABLE userdata,
                                   void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE),
                                   kedge_watch_token **token, kedge_error *KEDGE_NULLABLE error);

/* Ends the watch: waits for a running callback, then frees `userdata`; no callback fires after it
 * returns. NULL is allowed. */
KEDGE_API void kedge_watch_free(kedge_watch_token *KEDGE_NULLABLE token);

KEDGE_END_DECLS

#endif
