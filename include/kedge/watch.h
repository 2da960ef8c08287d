/* Watches: after each commit, Kedge tells the app which keys have a new value. */
#ifndef KEDGE_WATCH_H
#define KEDGE_WATCH_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* Where a change comes from. A pull tells as well what its rebase has changed of this process's
 * pending edits. */
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

/* The changes of one commit. Commits are told in their order: the old value of a key is the new
 * value that was told last. `count` 0 means that changes are not listed: after a resync, when
 * one commit changed more than 4,096 keys or 64 MiB of values (256 KiB, when another process made
 * it), and when more wait for the callback than 64 commits, 64 MiB, or 256 commits of other
 * processes. Read everything again that the app shows. */
typedef void (*kedge_watch_function)(void *KEDGE_NULLABLE userdata, const kedge_change *changes,
                                     size_t count);

typedef struct kedge_watch_token kedge_watch_token;

/* Calls `callback` after each commit, local or pulled, that changed what reads show in `collection`
 * (NULL: in any collection). `callback` runs through the dispatcher, or on the worker thread when
 * there is none, never inside a call of the app. It may call any function, kedge_watch_free of its
 * own token included; kedge_close refuses, and on the worker thread the functions that
 * wait for the server (kedge_sync, kedge_wait, kedge_history) fail. The caller owns `*token` and
 * must free it with kedge_watch_free before it closes the database. */
KEDGE_API kedge_status kedge_watch(kedge_db *db, const char *KEDGE_NULLABLE collection,
                                   kedge_watch_function callback, void *KEDGE_NULLABLE userdata,
                                   void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE),
                                   kedge_watch_token **token, kedge_error *KEDGE_NULLABLE error);

/* Ends the watch: waits for a running callback, then calls `userdata_free`. The callback does not
 * run after this function has returned. Called in the callback itself, it does not wait:
 * `userdata_free` is called when the callback has returned. NULL is allowed. */
KEDGE_API void kedge_watch_free(kedge_watch_token *KEDGE_NULLABLE token);

KEDGE_END_DECLS

#endif
