/* Watches that are due: one of them from its addition to its end, then the list of them. */
#include "sdk/runtime/due_watches.h"

#include "sdk/runtime/db.h"

/* ---- one watch ---- */

static void release(kedge_due_watch *watch)
{
    if (atomic_fetch_sub(&watch->references, 1) != 1) return;
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->idle);
    watch->destroy(watch);
}

bool kedge_due_watch_is_dead(kedge_due_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    bool dead = watch->dead;
    pthread_mutex_unlock(&watch->lock);
    return dead;
}

static bool begin_run(kedge_due_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->running = !watch->dead;
    watch->due = false;
    watch->runner = pthread_self();
    bool runs = watch->running;
    pthread_mutex_unlock(&watch->lock);
    return runs;
}

/* What has become due during the run is told in the next round. With a dispatcher the run is
 * outside of the rounds, so that the next one must be woken. */
static void end_run(kedge_due_watch *watch, bool told)
{
    kedge_due_watches *watches = watch->watches;
    pthread_mutex_lock(&watch->lock);
    watch->due = watch->due || !told;
    watch->retry_at_ms = told ? 0 : kedge_db_now_ms(watches->db) + KEDGE_DUE_WATCH_RETRY_MS;
    bool wakes = watch->due && watches->dispatch != NULL;
    watch->running = false;
    watch->dispatched = false;
    bool frees = watch->freed_inside;
    pthread_cond_broadcast(&watch->idle);
    pthread_mutex_unlock(&watch->lock);
    if (wakes) kedge_http_wake(watches->db->http);
    if (frees && watch->userdata_free != NULL) watch->userdata_free(watch->userdata);
}

static void run(void *argument)
{
    kedge_due_watch *watch = argument;
    kedge_callback_frame frame;
    if (begin_run(watch)) {
        kedge_callbacks *callbacks = &watch->watches->db->callbacks;
        kedge_callbacks_enter(callbacks, &frame);
        bool told = watch->tell(watch);
        end_run(watch, told);
        kedge_callbacks_leave(callbacks, &frame);
    }
    release(watch);
}

void kedge_due_watch_add(kedge_due_watches *watches, kedge_due_watch *watch)
{
    watch->allocator = watches->db->environment.allocator;
    watch->watches = watches;
    watch->due = true;
    atomic_init(&watch->references, 1);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->idle, NULL);
    pthread_mutex_lock(&watches->lock);
    watch->next = watches->list;
    watches->list = watch;
    pthread_mutex_unlock(&watches->lock);
    kedge_http_wake(watches->db->http);
}

/* True: it was called in the callback, after which end_run frees the userdata. */
static bool kill_watch(kedge_due_watch *watch)
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

void kedge_due_watch_remove(kedge_due_watch *watch)
{
    kedge_due_watches *watches = watch->watches;
    pthread_mutex_lock(&watches->lock);
    kedge_due_watch **place = &watches->list;
    while (*place != NULL && *place != watch) {
        place = &(*place)->next;
    }
    if (*place == watch) *place = watch->next;
    pthread_mutex_unlock(&watches->lock);
    bool inside = kill_watch(watch);
    if (!inside && watch->userdata_free != NULL) watch->userdata_free(watch->userdata);
    release(watch);
}

/* ---- the list ---- */

void kedge_due_watches_init(kedge_due_watches *watches, kedge_db *db,
                            kedge_dispatch_function dispatch, void *userdata)
{
    watches->db = db;
    watches->dispatch = dispatch;
    watches->userdata = userdata;
    pthread_mutex_init(&watches->lock, NULL);
}

void kedge_due_watches_destroy(kedge_due_watches *watches)
{
    pthread_mutex_destroy(&watches->lock);
}

bool kedge_due_watches_any(kedge_due_watches *watches)
{
    pthread_mutex_lock(&watches->lock);
    bool any = watches->list != NULL;
    pthread_mutex_unlock(&watches->lock);
    return any;
}

void kedge_due_watches_mark(kedge_due_watches *watches,
                            bool (*concerns)(kedge_due_watch *watch, const void *context),
                            const void *context)
{
    pthread_mutex_lock(&watches->lock);
    for (kedge_due_watch *watch = watches->list; watch != NULL; watch = watch->next) {
        pthread_mutex_lock(&watch->lock);
        if (concerns(watch, context)) watch->due = true;
        pthread_mutex_unlock(&watch->lock);
    }
    pthread_mutex_unlock(&watches->lock);
}

static void lower(int64_t *at_ms, int64_t other_ms)
{
    if (*at_ms == 0 || other_ms < *at_ms) *at_ms = other_ms;
}

/* Takes a reference to a watch that is due, not at the dispatcher, and was not taken in this round;
 * NULL: there is none. `*again_at_ms` is lowered to when one can be told that cannot be now. */
static kedge_due_watch *take_due(kedge_due_watches *watches, int64_t now_ms, int64_t *again_at_ms)
{
    kedge_due_watch *found = NULL;
    pthread_mutex_lock(&watches->lock);
    for (kedge_due_watch *watch = watches->list; watch != NULL && found == NULL;
         watch = watch->next) {
        pthread_mutex_lock(&watch->lock);
        bool ready = watch->due && !watch->dispatched;
        if (ready && watch->retry_at_ms > now_ms) {
            lower(again_at_ms, watch->retry_at_ms);
        } else if (ready && watch->round == watches->round) {
            lower(again_at_ms, now_ms);
        } else if (ready) {
            watch->round = watches->round;
            watch->dispatched = true;
            atomic_fetch_add(&watch->references, 1);
            found = watch;
        }
        pthread_mutex_unlock(&watch->lock);
    }
    pthread_mutex_unlock(&watches->lock);
    return found;
}

int64_t kedge_due_watches_deliver(kedge_due_watches *watches)
{
    kedge_due_watch *watch;
    int64_t again_at_ms = 0;
    int64_t now_ms = kedge_db_now_ms(watches->db);
    watches->round++;
    while ((watch = take_due(watches, now_ms, &again_at_ms)) != NULL) {
        if (watches->dispatch != NULL) {
            watches->dispatch(watches->userdata, run, watch);
        } else {
            run(watch);
        }
    }
    return again_at_ms;
}
