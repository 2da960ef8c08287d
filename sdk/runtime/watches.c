/* Watches: the queue and the callback of each, then the list of them. */
#include "sdk/runtime/watches.h"

#include "common/error.h"
#include "common/names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- one watch ---- */

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
    kedge_callbacks *callbacks;
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
    pthread_t runner; /* the thread that runs the callback */
    bool free_later;  /* freed by its own callback */
    bool dispatched;
    pthread_t deliverer; /* the thread that found it ready last */
    bool everything;     /* comes before the queue */
    size_t first;
    size_t count;
    size_t bytes; /* in the queue */
    kedge_commit *queue[KEDGE_WATCH_QUEUE_MAX];
};

static void commit_release(kedge_commit *commit)
{
    if (commit == NULL || atomic_fetch_sub(&commit->references, 1) != 1) return;
    kedge_change_set_free(&commit->changes);
    kedge_release(commit->allocator, commit);
}

static kedge_status token_new(const kedge_allocator *allocator, const char *collection,
                              kedge_watch_token **token, kedge_error *error)
{
    kedge_watch_token *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->any = collection == NULL;
    if (collection != NULL) memcpy(made->collection, collection, strlen(collection) + 1);
    atomic_init(&made->references, 1);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->idle, NULL);
    *token = made;
    return KEDGE_OK;
}

static kedge_commit *take_first(kedge_watch_token *token)
{
    kedge_commit *commit = token->queue[token->first];
    token->first = (token->first + 1) % KEDGE_WATCH_QUEUE_MAX;
    token->count--;
    token->bytes -= commit->changes.bytes.size;
    return commit;
}

static void clear_queue(kedge_watch_token *token)
{
    while (token->count > 0) {
        commit_release(take_first(token));
    }
}

static void token_release(kedge_watch_token *token)
{
    if (atomic_fetch_sub(&token->references, 1) != 1) return;
    clear_queue(token);
    pthread_mutex_destroy(&token->lock);
    pthread_cond_destroy(&token->idle);
    kedge_release(token->allocator, token);
}

static bool is_watched(const kedge_watch_token *token, kedge_bytes collection)
{
    return token->any || kedge_bytes_equal_text(collection, token->collection);
}

static bool touches(const kedge_watch_token *token, const kedge_change_set *changes)
{
    kedge_changed change;
    size_t offset = 0;
    if (changes->all) return true;
    while (kedge_change_set_next(changes, &offset, &change)) {
        if (is_watched(token, change.collection)) return true;
    }
    return false;
}

/* Queues the commit when it touches what is watched; NULL: everything. */
static void token_post(kedge_watch_token *token, kedge_commit *commit)
{
    if (commit != NULL && !touches(token, &commit->changes)) return;
    pthread_mutex_lock(&token->lock);
    if (commit == NULL || commit->changes.all || token->count == KEDGE_WATCH_QUEUE_MAX ||
        token->bytes + commit->changes.bytes.size > KEDGE_WATCH_QUEUE_BYTES) {
        clear_queue(token);
        token->everything = true;
    } else {
        size_t place = (token->first + token->count) % KEDGE_WATCH_QUEUE_MAX;
        atomic_fetch_add(&commit->references, 1);
        token->queue[place] = commit;
        token->count++;
        token->bytes += commit->changes.bytes.size;
    }
    pthread_mutex_unlock(&token->lock);
}

static kedge_change_source source_of(const kedge_change_set *changes)
{
    if (changes->by == KEDGE_CHANGED_BY_PULL) return KEDGE_CHANGE_PULLED;
    return changes->by == KEDGE_CHANGED_BY_EDIT ? KEDGE_CHANGE_LOCAL : KEDGE_CHANGE_OTHER_PROCESS;
}

/* Calls back with the watched keys, or with count 0 when they cannot be listed. */
static void call_back(const kedge_watch_token *token, const kedge_commit *commit)
{
    kedge_changed change;
    size_t offset = 0;
    size_t count = 0;
    kedge_change *list = NULL;
    if (commit != NULL) {
        list = kedge_allocate(token->allocator, commit->changes.count * sizeof *list);
    }
    while (list != NULL && kedge_change_set_next(&commit->changes, &offset, &change)) {
        if (!is_watched(token, change.collection)) continue;
        list[count++] = (kedge_change){.collection = change.collection.data,
                                       .id = change.id.data,
                                       .id_size = change.id.size,
                                       .old_value = change.before.data,
                                       .old_size = change.before.size,
                                       .new_value = change.after.data,
                                       .new_size = change.after.size,
                                       .source = source_of(&commit->changes)};
    }
    token->callback(token->userdata, list, count);
    kedge_release(token->allocator, list);
}

/* Takes the next commit to report. Returns false when there is none. */
static bool take_next(kedge_watch_token *token, kedge_commit **commit)
{
    *commit = NULL;
    if (token->dead || (!token->everything && token->count == 0)) return false;
    if (token->everything) {
        token->everything = false;
        return true;
    }
    *commit = take_first(token);
    return true;
}

/* Gives up the app's reference. */
static void token_end(kedge_watch_token *token)
{
    if (token->userdata_free != NULL) token->userdata_free(token->userdata);
    token_release(token);
}

/* Calls back until the queue is empty or the watch is dead. On the deliverer's own thread only for
 * what was queued at the call: commits that come faster than they are delivered must not keep the
 * thread here. */
static void token_run(kedge_watch_token *token)
{
    kedge_commit *commit;
    kedge_callbacks *callbacks = token->callbacks; /* may be gone before the first callback */
    kedge_callback_frame frame;
    bool entered = false;
    pthread_mutex_lock(&token->lock);
    bool bounded = pthread_equal(token->deliverer, pthread_self());
    size_t left = token->count + (token->everything ? 1 : 0);
    while ((!bounded || left-- > 0) && take_next(token, &commit)) {
        token->running = true;
        token->runner = pthread_self();
        pthread_mutex_unlock(&token->lock);
        if (!entered) kedge_callbacks_enter(callbacks, &frame);
        entered = true;
        call_back(token, commit);
        commit_release(commit);
        pthread_mutex_lock(&token->lock);
        token->running = false;
        pthread_cond_broadcast(&token->idle);
    }
    token->dispatched = false;
    bool free_now = token->free_later;
    token->free_later = false;
    pthread_mutex_unlock(&token->lock);
    if (free_now) token_end(token);
    if (entered) kedge_callbacks_leave(callbacks, &frame);
}

/* No callback starts after this, and none runs when it returns true. False: it was called in the
 * callback, after which token_run ends the token. */
static bool token_kill(kedge_watch_token *token)
{
    pthread_mutex_lock(&token->lock);
    token->dead = true;
    token->free_later = token->running && pthread_equal(token->runner, pthread_self());
    while (token->running && !token->free_later) {
        pthread_cond_wait(&token->idle, &token->lock);
    }
    clear_queue(token);
    bool idle = !token->free_later;
    pthread_mutex_unlock(&token->lock);
    return idle;
}

/* ---- the list ---- */

struct kedge_watches {
    const kedge_allocator *allocator;
    kedge_dispatch_function dispatch;
    void *userdata;
    kedge_callbacks *callbacks;
    pthread_mutex_t lock;
    kedge_watch_token *list;
    uint64_t round; /* of delivering; the worker's */
};

kedge_status kedge_watches_new(const kedge_allocator *allocator, kedge_dispatch_function dispatch,
                               void *userdata, kedge_callbacks *callbacks, kedge_watches **watches,
                               kedge_error *error)
{
    kedge_watches *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->dispatch = dispatch;
    made->userdata = userdata;
    made->callbacks = callbacks;
    pthread_mutex_init(&made->lock, NULL);
    *watches = made;
    return KEDGE_OK;
}

void kedge_watches_free(kedge_watches *watches)
{
    if (watches == NULL) return;
    pthread_mutex_destroy(&watches->lock);
    kedge_release(watches->allocator, watches);
}

kedge_status kedge_watches_add(kedge_watches *watches, const char *collection,
                               kedge_watch_function callback, void *userdata,
                               void (*userdata_free)(void *), kedge_watch_token **token,
                               kedge_error *error)
{
    kedge_watch_token *made = NULL;
    kedge_status status = token_new(watches->allocator, collection, &made, error);
    if (status != KEDGE_OK) return status;
    made->watches = watches;
    made->callbacks = watches->callbacks;
    made->callback = callback;
    made->userdata = userdata;
    made->userdata_free = userdata_free;
    pthread_mutex_lock(&watches->lock);
    made->next = watches->list;
    watches->list = made;
    pthread_mutex_unlock(&watches->lock);
    *token = made;
    return KEDGE_OK;
}

void kedge_watches_remove(kedge_watch_token *token)
{
    kedge_watches *watches = token->watches;
    pthread_mutex_lock(&watches->lock);
    kedge_watch_token **place = &watches->list;
    while (*place != NULL && *place != token) {
        place = &(*place)->next;
    }
    if (*place == token) *place = token->next;
    pthread_mutex_unlock(&watches->lock);

    if (token_kill(token)) token_end(token);
}

/* A copy that the queues can hold; NULL: no memory. */
static kedge_commit *copy_changes(const kedge_allocator *allocator, const kedge_change_set *changes)
{
    kedge_commit *commit = kedge_allocate(allocator, sizeof *commit);
    if (commit == NULL) return NULL;
    commit->allocator = allocator;
    atomic_init(&commit->references, 1);
    commit->changes = kedge_change_set_make(allocator);
    commit->changes.all = changes->all;
    commit->changes.values = changes->values;
    commit->changes.by = changes->by;
    commit->changes.count = changes->count;
    kedge_buffer_append_bytes(&commit->changes.bytes, kedge_buffer_bytes(&changes->bytes));
    if (commit->changes.bytes.no_memory) {
        commit_release(commit);
        return NULL;
    }
    return commit;
}

void kedge_watches_post(kedge_watches *watches, const kedge_change_set *changes)
{
    if (changes != NULL && !changes->all && changes->count == 0) return;
    /* A watch that was added while the commit was under way. */
    if (changes != NULL && !changes->values) changes = NULL;
    pthread_mutex_lock(&watches->lock);
    if (watches->list != NULL) {
        kedge_commit *commit = changes == NULL ? NULL : copy_changes(watches->allocator, changes);
        for (kedge_watch_token *token = watches->list; token != NULL; token = token->next) {
            token_post(token, commit);
        }
        commit_release(commit);
    }
    pthread_mutex_unlock(&watches->lock);
}

bool kedge_watches_any(kedge_watches *watches)
{
    pthread_mutex_lock(&watches->lock);
    bool any = watches->list != NULL;
    pthread_mutex_unlock(&watches->lock);
    return any;
}

static bool is_ready(const kedge_watch_token *token)
{
    return !token->dispatched && !token->dead && (token->everything || token->count > 0);
}

/* Takes a reference to the first watch that has something to tell and was not told in this round;
 * NULL: none. It is marked, so that it goes to the dispatcher once. `more`: another has something
 * to tell that was told in this round. */
static kedge_watch_token *take_ready(kedge_watches *watches, bool *more)
{
    kedge_watch_token *found = NULL;
    *more = false;
    pthread_mutex_lock(&watches->lock);
    for (kedge_watch_token *token = watches->list; token != NULL && found == NULL;
         token = token->next) {
        pthread_mutex_lock(&token->lock);
        if (is_ready(token) && token->round == watches->round) {
            *more = true;
        } else if (is_ready(token)) {
            token->round = watches->round;
            token->dispatched = true;
            token->deliverer = pthread_self();
            atomic_fetch_add(&token->references, 1);
            found = token;
        }
        pthread_mutex_unlock(&token->lock);
    }
    pthread_mutex_unlock(&watches->lock);
    return found;
}

static void run_dispatched(void *argument)
{
    token_run(argument);
    token_release(argument);
}

bool kedge_watches_deliver(kedge_watches *watches)
{
    kedge_watch_token *token;
    bool more;
    watches->round++;
    while ((token = take_ready(watches, &more)) != NULL) {
        if (watches->dispatch != NULL) {
            watches->dispatch(watches->userdata, run_dispatched, token);
        } else {
            run_dispatched(token);
        }
    }
    return more;
}
