/* Watches: which changes each watch gets, and on which thread.
 *
 * A commit's change set is posted from any thread; the worker delivers. Each watch has a bounded
 * queue of change sets, shared between watches; when it overflows, or memory runs out, the watch is
 * told that any key may have changed, so that no change is missed. A watch has at most one callback
 * running and at most one piece of work at the app's dispatcher. */
#ifndef KEDGE_SDK_RUNTIME_WATCHES_H
#define KEDGE_SDK_RUNTIME_WATCHES_H

#include "sdk/runtime/callbacks.h"
#include "sdk/store/store.h"
#include <kedge/watch.h>

#define KEDGE_WATCH_QUEUE_MAX   64
#define KEDGE_WATCH_QUEUE_BYTES 67108864 /* 64 MiB, of one watch */

typedef struct kedge_watches kedge_watches;

/* `dispatch` NULL: callbacks run in kedge_watches_deliver. Those that run are listed in
 * `callbacks`. */
kedge_status kedge_watches_new(const kedge_allocator *allocator, kedge_dispatch_function dispatch,
                               void *userdata, kedge_callbacks *callbacks, kedge_watches **watches,
                               kedge_error *error);
/* Every watch has been freed. Work that is still at the dispatcher does nothing when it runs. */
void kedge_watches_free(kedge_watches *watches);

kedge_status kedge_watches_add(kedge_watches *watches, const char *collection,
                               kedge_watch_function callback, void *userdata,
                               void (*userdata_free)(void *), kedge_watch_token **token,
                               kedge_error *error);

/* No callback of the watch starts after this, and none runs when it returns, but the one that it is
 * called in; any thread. */
void kedge_watches_remove(kedge_watch_token *token);

/* Whether there is any watch; any thread. */
bool kedge_watches_any(kedge_watches *watches);

/* Queues one commit's changes; any thread. NULL: too much to list. */
void kedge_watches_post(kedge_watches *watches, const kedge_change_set *changes);
/* Runs or dispatches what is queued at the call; the worker thread. True when more has come. */
bool kedge_watches_deliver(kedge_watches *watches);

#endif
