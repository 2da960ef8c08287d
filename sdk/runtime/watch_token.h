/* One watch: its queue of commits and its callback. What watches.c and watch_token.c share. */
#ifndef KEDGE_SDK_RUNTIME_WATCH_TOKEN_H
#define KEDGE_SDK_RUNTIME_WATCH_TOKEN_H

#include "sdk/runtime/watches.h"

#include <pthread.h>
#include <stdatomic.h>

/* One commit's changes, shared by the queues it stands in. */
typedef struct kedge_commit {
    const kedge_allocator *allocator;
    atomic_uint references;
    kedge_change_set changes;
} kedge_commit;

/* Held by the app until kedge_watch_free, by work at the dispatcher, and by a delivery. `lock`
 * guards the members after it; it is taken after the list's lock. */
struct kedge_watch_token {
    const kedge_allocator *allocator;
    kedge_watches *watches;
    kedge_watch_token *next; /* in the list, under the list's lock */
    uint64_t round;          /* of delivering, in which it was found ready last */
    bool any;                /* every collection */
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_watch_function callback;
    void *userdata;
    void (*userdata_free)(void *);
    atomic_uint references;

    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool dead;
    bool running;
    bool dispatched;
    pthread_t deliverer; /* the thread that found it ready last */
    bool everything;     /* comes before the queue */
    size_t first;
    size_t count;
    kedge_commit *queue[KEDGE_WATCH_QUEUE_MAX];
};

void kedge_commit_release(kedge_commit *commit);

kedge_status kedge_watch_token_new(const kedge_allocator *allocator, const char *collection,
                                   kedge_watch_token **token, kedge_error *error);
void kedge_watch_token_release(kedge_watch_token *token);
/* Queues the commit when it touches what is watched; NULL: everything. */
void kedge_watch_token_post(kedge_watch_token *token, kedge_commit *commit);
/* Calls back until the queue is empty or the watch is dead. On the deliverer's own thread only for
 * what was queued at the call: commits that come faster than they are delivered must not keep the
 * thread here. */
void kedge_watch_token_run(kedge_watch_token *token);
/* No callback starts after this, and none runs when it returns. */
void kedge_watch_token_kill(kedge_watch_token *token);

#endif
