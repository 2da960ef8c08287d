/* Watches that read their value just before they call back: the status, the inbox, the result of a
 * query. Any thread may mark a watch as due; the worker runs it in its next round. So several quick
 * changes give one callback. A watch has at most one callback running and at most one piece of work
 * at the app's dispatcher. */
#ifndef KEDGE_SDK_RUNTIME_DUE_WATCHES_H
#define KEDGE_SDK_RUNTIME_DUE_WATCHES_H

#include <kedge/database.h>

#include <pthread.h>
#include <stdatomic.h>

/* When a watch could not be told: when to try again. */
#define KEDGE_DUE_WATCH_RETRY_MS 100

typedef struct kedge_due_watch kedge_due_watch;

typedef struct kedge_due_watches {
    kedge_db *db;
    kedge_dispatch_function dispatch; /* NULL: callbacks run in kedge_due_watches_deliver */
    void *userdata;                   /* for `dispatch` */
    pthread_mutex_t lock;
    kedge_due_watch *list;
    uint64_t round; /* of delivering; the worker's */
} kedge_due_watches;

/* The first member of a watch's own struct. It is held by the app until it is freed, by work at the
 * dispatcher, and by a delivery. */
struct kedge_due_watch {
    /* Must be set. Reads and calls back, on the thread that calls back, never twice at once. False:
     * it could not be read, and is tried again after KEDGE_DUE_WATCH_RETRY_MS. */
    bool (*tell)(kedge_due_watch *watch);
    /* Must be set. Frees the struct with what it holds, by `allocator`: work at the dispatcher may
     * outlive the database. */
    void (*destroy)(kedge_due_watch *watch);
    void *userdata;
    void (*userdata_free)(void *); /* may be NULL */

    /* Set by kedge_due_watch_add. */
    const kedge_allocator *allocator;
    kedge_due_watches *watches;
    kedge_due_watch *next; /* under the list's lock */
    uint64_t round;        /* in which it was taken last; under the list's lock */
    atomic_uint references;

    /* Guards the members after it; it is taken after the list's lock. */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool dead;
    bool due;
    int64_t retry_at_ms; /* after a run that could not tell all; else 0 */
    bool dispatched;
    bool running;
    bool freed_inside; /* by its own callback: whoever runs it frees the userdata */
    pthread_t runner;
};

void kedge_due_watches_init(kedge_due_watches *watches, kedge_db *db,
                            kedge_dispatch_function dispatch, void *userdata);
/* Every watch has been freed. */
void kedge_due_watches_destroy(kedge_due_watches *watches);

/* Any thread. */
bool kedge_due_watches_any(kedge_due_watches *watches);
/* Marks the watches that `concerns` picks; any thread. It is called with the watch's lock held. */
void kedge_due_watches_mark(kedge_due_watches *watches,
                            bool (*concerns)(kedge_due_watch *watch, const void *context),
                            const void *context);
/* Runs or dispatches the watches that are due, each once; the worker thread. Returns when to call
 * it again, monotonic; 0: when something has changed. */
int64_t kedge_due_watches_deliver(kedge_due_watches *watches);

/* Puts a watch into the list, due at once, and gives the app a reference. */
void kedge_due_watch_add(kedge_due_watches *watches, kedge_due_watch *watch);
/* No callback starts after this; none runs when it returns, but the one that it is called in. Gives
 * up the app's reference. */
void kedge_due_watch_remove(kedge_due_watch *watch);
/* It has been freed: what it was going to tell need not be told. */
bool kedge_due_watch_is_dead(kedge_due_watch *watch);

#endif
