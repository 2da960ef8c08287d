/* Watches of the status and of the inbox: which of them is due, and how it is called back.
 *
 * The worker looks at the status in each round, and marks the watches that it differs for. What a
 * watch is told is read when it runs, on the thread that calls back: changes that come faster than
 * they are told are told as one. */
#ifndef KEDGE_SDK_RUNTIME_SYNC_WATCHES_H
#define KEDGE_SDK_RUNTIME_SYNC_WATCHES_H

#include <kedge/sync.h>

/* When the status could not be read: when to try again. */
#define KEDGE_SYNC_WATCHES_RETRY_MS 100

typedef struct kedge_sync_watches kedge_sync_watches;

/* `dispatch` NULL: callbacks run on the worker thread. */
kedge_status kedge_sync_watches_new(kedge_db *db, kedge_dispatch_function dispatch, void *userdata,
                                    kedge_sync_watches **watches, kedge_error *error);
/* Every watch has been freed. */
void kedge_sync_watches_free(kedge_sync_watches *watches);

/* A round of the worker. `inbox_touched`: the inbox may have changed although its count has not.
 * True: look again after KEDGE_SYNC_WATCHES_RETRY_MS. */
bool kedge_sync_watches_look(kedge_sync_watches *watches, bool inbox_touched);

#endif
