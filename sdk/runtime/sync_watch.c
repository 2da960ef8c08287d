/* kedge/sync.h: watches of the status and of rejected edits. */
#include "sdk/runtime/sync_watches.h"

#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- one watch ---- */

/* Held by the app until it is freed, by work at the dispatcher, and by a delivery. `lock` guards
 * the members after it; it is taken after the list's lock. The thread that runs the watch alone
 * uses what was told. */
struct kedge_sync_watch {
    const kedge_allocator *allocator;
    kedge_sync_watches *watches;
    kedge_sync_watch *next; /* under the list's lock */
    kedge_sync_status_function status_changed;
    kedge_rejected_function rejected;
    void *userdata;
    void (*userdata_free)(void *);
    atomic_uint references;

    bool told_once;
    kedge_sync_status told_status;
    int64_t *told; /* sequences in the inbox as they were told, ascending */
    size_t told_count;

    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool dead;
    bool due;
    bool dispatched;
    bool running;
    int64_t retry_at_ms; /* after a run that could not tell all; else 0 */
    bool freed_inside;   /* by its own callback: whoever runs it frees the userdata */
    pthread_t runner;
};

struct kedge_sync_watches {
    kedge_db *db;
    kedge_dispatch_function dispatch;
    void *userdata;
    pthread_mutex_t lock;
    kedge_sync_watch *list;
    bool seen_once; /* from here on: the worker's */
    kedge_sync_status seen;
};

static void release(kedge_sync_watch *watch)
{
    if (atomic_fetch_sub(&watch->references, 1) != 1) return;
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->idle);
    kedge_release(watch->allocator, watch->told);
    kedge_release(watch->allocator, watch);
}

static bool is_dead(kedge_sync_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    bool dead = watch->dead;
    pthread_mutex_unlock(&watch->lock);
    return dead;
}

/* ---- what is told ---- */

static bool same_error(const kedge_error *a, const kedge_error *b)
{
    return a->status == b->status && strcmp(a->code, b->code) == 0 &&
           strcmp(a->message, b->message) == 0;
}

static bool same_status(const kedge_sync_status *a, const kedge_sync_status *b)
{
    return a->connection == b->connection && a->resyncing == b->resyncing &&
           a->version == b->version && a->pending == b->pending && a->rejected == b->rejected &&
           a->withheld == b->withheld && a->unrecovered == b->unrecovered &&
           strcmp(a->client, b->client) == 0 && same_error(&a->last_error, &b->last_error);
}

static bool tell_status(kedge_sync_watch *watch)
{
    kedge_sync_status now = KEDGE_SYNC_STATUS_INIT;
    if (kedge_get_sync_status(watch->watches->db, &now, NULL) != KEDGE_OK) return false;
    if (watch->told_once && same_status(&watch->told_status, &now)) return true;
    watch->told_once = true;
    watch->told_status = now;
    watch->status_changed(watch->userdata, &now);
    return true;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool was_told(const kedge_sync_watch *watch, int64_t sequence)
{
    return watch->told_count > 0 &&
           bsearch(&sequence, watch->told, watch->told_count, sizeof *watch->told, compare) != NULL;
}

/* Tells those of the list that were not told before, and keeps all of it as told. */
static bool tell_list(kedge_sync_watch *watch, kedge_mutation_list *list)
{
    kedge_buffer sequences = kedge_buffer_make(watch->allocator);
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    kedge_status status = KEDGE_OK;
    while (!sequences.no_memory && !is_dead(watch) &&
           (status = kedge_mutation_list_next(list, &mutation, NULL)) == KEDGE_OK) {
        kedge_buffer_append(&sequences, &mutation.sequence, sizeof mutation.sequence);
        if (!sequences.no_memory && !was_told(watch, mutation.sequence))
            watch->rejected(watch->userdata, &mutation);
    }
    /* After a failure the rest of what was told before still counts. */
    for (size_t i = 0; status != KEDGE_DONE && i < watch->told_count; i++) {
        bool later = watch->told[i] > mutation.sequence;
        if (later) kedge_buffer_append(&sequences, &watch->told[i], sizeof watch->told[i]);
    }
    if (sequences.no_memory) {
        kedge_buffer_free(&sequences);
        return false;
    }
    kedge_release(watch->allocator, watch->told);
    watch->told = (int64_t *)(void *)sequences.data;
    watch->told_count = sequences.size / sizeof(int64_t);
    return status == KEDGE_DONE;
}

static bool tell_rejected(kedge_sync_watch *watch)
{
    kedge_mutation_list *list = NULL;
    if (kedge_rejected_open(watch->watches->db, &list, NULL) != KEDGE_OK) return false;
    bool told = tell_list(watch, list);
    kedge_mutation_list_close(list);
    return told;
}

static bool begin_run(kedge_sync_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->running = !watch->dead;
    watch->due = false;
    watch->runner = pthread_self();
    bool runs = watch->running;
    pthread_mutex_unlock(&watch->lock);
    return runs;
}

/* What has become due while it ran is told in the next round. At a dispatcher nothing else may
 * cause one. */
static void end_run(kedge_sync_watch *watch, bool told)
{
    kedge_db *db = watch->watches->db;
    pthread_mutex_lock(&watch->lock);
    watch->due = watch->due || !told;
    watch->retry_at_ms = told ? 0 : kedge_db_now_ms(db) + KEDGE_SYNC_WATCHES_RETRY_MS;
    bool wakes = watch->due && watch->watches->dispatch != NULL;
    watch->running = false;
    watch->dispatched = false;
    bool frees = watch->freed_inside;
    pthread_cond_broadcast(&watch->idle);
    pthread_mutex_unlock(&watch->lock);
    if (wakes) kedge_http_wake(db->http);
    if (frees && watch->userdata_free != NULL) watch->userdata_free(watch->userdata);
}

static void run(void *argument)
{
    kedge_sync_watch *watch = argument;
    kedge_callback_frame frame;
    if (begin_run(watch)) {
        kedge_callbacks *callbacks = &watch->watches->db->callbacks;
        kedge_callbacks_enter(callbacks, &frame);
        bool told = watch->rejected != NULL ? tell_rejected(watch) : tell_status(watch);
        end_run(watch, told);
        kedge_callbacks_leave(callbacks, &frame);
    }
    release(watch);
}

/* ---- the list ---- */

kedge_status kedge_sync_watches_new(kedge_db *db, kedge_dispatch_function dispatch, void *userdata,
                                    kedge_sync_watches **watches, kedge_error *error)
{
    kedge_sync_watches *made = kedge_allocate(db->environment.allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->db = db;
    made->dispatch = dispatch;
    made->userdata = userdata;
    pthread_mutex_init(&made->lock, NULL);
    *watches = made;
    return KEDGE_OK;
}

void kedge_sync_watches_free(kedge_sync_watches *watches)
{
    if (watches == NULL) return;
    pthread_mutex_destroy(&watches->lock);
    kedge_release(watches->db->environment.allocator, watches);
}

/* Marks the watches that have something new to tell. */
static void mark(kedge_sync_watches *watches, bool status_changed, bool inbox_changed)
{
    pthread_mutex_lock(&watches->lock);
    for (kedge_sync_watch *watch = watches->list; watch != NULL; watch = watch->next) {
        pthread_mutex_lock(&watch->lock);
        if (watch->rejected != NULL ? inbox_changed : status_changed) watch->due = true;
        pthread_mutex_unlock(&watch->lock);
    }
    pthread_mutex_unlock(&watches->lock);
}

/* Takes a reference to a watch that is due and not at the dispatcher; NULL: there is none. `again`:
 * one is to be tried again later. */
static kedge_sync_watch *take_due(kedge_sync_watches *watches, bool *again)
{
    kedge_sync_watch *found = NULL;
    int64_t now_ms = kedge_db_now_ms(watches->db);
    pthread_mutex_lock(&watches->lock);
    for (kedge_sync_watch *watch = watches->list; watch != NULL && found == NULL;
         watch = watch->next) {
        pthread_mutex_lock(&watch->lock);
        bool ready = watch->due && !watch->dispatched;
        if (ready && now_ms < watch->retry_at_ms) {
            *again = true;
        } else if (ready) {
            watch->dispatched = true;
            atomic_fetch_add(&watch->references, 1);
            found = watch;
        }
        pthread_mutex_unlock(&watch->lock);
    }
    pthread_mutex_unlock(&watches->lock);
    return found;
}

bool kedge_sync_watches_look(kedge_sync_watches *watches, bool inbox_touched)
{
    kedge_sync_status now = KEDGE_SYNC_STATUS_INIT;
    pthread_mutex_lock(&watches->lock);
    bool watched = watches->list != NULL;
    pthread_mutex_unlock(&watches->lock);
    if (!watched) {
        watches->seen_once = false;
        return false;
    }
    if (kedge_get_sync_status(watches->db, &now, NULL) != KEDGE_OK) return true;
    bool changed = !watches->seen_once || !same_status(&watches->seen, &now);
    bool inbox = changed && (!watches->seen_once || watches->seen.rejected != now.rejected ||
                             watches->seen.version != now.version);
    watches->seen_once = true;
    watches->seen = now;
    if (changed || inbox_touched) mark(watches, changed, inbox || inbox_touched);
    kedge_sync_watch *watch;
    bool again = false;
    while ((watch = take_due(watches, &again)) != NULL) {
        if (watches->dispatch != NULL) {
            watches->dispatch(watches->userdata, run, watch);
        } else {
            run(watch);
        }
    }
    return again;
}

/* ---- what the app calls ---- */

static kedge_status add(kedge_db *db, kedge_sync_watch kind, kedge_sync_watch **watch,
                        kedge_error *error)
{
    kedge_sync_watches *watches = db->sync_watches;
    kedge_sync_watch *made = kedge_allocate(db->environment.allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    *made = kind;
    made->allocator = db->environment.allocator;
    made->watches = watches;
    made->due = true;
    atomic_init(&made->references, 1);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->idle, NULL);
    pthread_mutex_lock(&watches->lock);
    made->next = watches->list;
    watches->list = made;
    pthread_mutex_unlock(&watches->lock);
    *watch = made;
    kedge_http_wake(db->http);
    return KEDGE_OK;
}

kedge_status kedge_watch_sync_status(kedge_db *db, kedge_sync_status_function callback,
                                     void *userdata, void (*userdata_free)(void *),
                                     kedge_sync_watch **watch, kedge_error *error)
{
    if (db == NULL) return kedge_fail_null("db", error);
    if (callback == NULL) return kedge_fail_null("callback", error);
    if (watch == NULL) return kedge_fail_null("watch", error);
    kedge_sync_watch kind = {
        .status_changed = callback, .userdata = userdata, .userdata_free = userdata_free};
    return add(db, kind, watch, error);
}

kedge_status kedge_watch_rejected(kedge_db *db, kedge_rejected_function callback, void *userdata,
                                  void (*userdata_free)(void *), kedge_sync_watch **watch,
                                  kedge_error *error)
{
    if (db == NULL) return kedge_fail_null("db", error);
    if (callback == NULL) return kedge_fail_null("callback", error);
    if (watch == NULL) return kedge_fail_null("watch", error);
    kedge_sync_watch kind = {
        .rejected = callback, .userdata = userdata, .userdata_free = userdata_free};
    return add(db, kind, watch, error);
}

/* No callback starts after this; none runs when it returns, but the one that calls it. */
static bool kill_watch(kedge_sync_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->dead = true;
    watch->freed_inside = watch->running && pthread_equal(watch->runner, pthread_self());
    while (watch->running && !watch->freed_inside) {
        pthread_cond_wait(&watch->idle, &watch->lock);
    }
    bool inside = watch->freed_inside;
    pthread_mutex_unlock(&watch->lock);
    return inside;
}

void kedge_sync_watch_free(kedge_sync_watch *watch)
{
    if (watch == NULL) return;
    kedge_sync_watches *watches = watch->watches;
    pthread_mutex_lock(&watches->lock);
    kedge_sync_watch **place = &watches->list;
    while (*place != NULL && *place != watch) {
        place = &(*place)->next;
    }
    if (*place == watch) *place = watch->next;
    pthread_mutex_unlock(&watches->lock);
    bool inside = kill_watch(watch);
    if (!inside && watch->userdata_free != NULL) watch->userdata_free(watch->userdata);
    release(watch);
}
