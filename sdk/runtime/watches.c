/* The list of watches: adding, posting, delivering, freeing. */
#include "sdk/runtime/watches.h"

#include "common/error.h"
#include "common/names.h"
#include "sdk/runtime/watch_token.h"

struct kedge_watches {
    const kedge_allocator *allocator;
    kedge_dispatch_function dispatch;
    void *userdata;
    pthread_mutex_t lock;
    kedge_watch_token *list;
    uint64_t round; /* of delivering; the worker's */
};

kedge_status kedge_watches_new(const kedge_allocator *allocator, kedge_dispatch_function dispatch,
                               void *userdata, kedge_watches **watches, kedge_error *error)
{
    kedge_watches *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->dispatch = dispatch;
    made->userdata = userdata;
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
    kedge_status status = kedge_watch_token_new(watches->allocator, collection, &made, error);
    if (status != KEDGE_OK) return status;
    made->watches = watches;
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

    kedge_watch_token_kill(token);
    if (token->userdata_free != NULL) token->userdata_free(token->userdata);
    kedge_watch_token_release(token);
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
    commit->changes.count = changes->count;
    kedge_buffer_append_bytes(&commit->changes.keys, kedge_buffer_bytes(&changes->keys));
    if (commit->changes.keys.no_memory) {
        kedge_commit_release(commit);
        return NULL;
    }
    return commit;
}

void kedge_watches_post(kedge_watches *watches, const kedge_change_set *changes)
{
    if (changes != NULL && !changes->all && changes->count == 0) return;
    pthread_mutex_lock(&watches->lock);
    if (watches->list != NULL) {
        kedge_commit *commit = changes == NULL ? NULL : copy_changes(watches->allocator, changes);
        for (kedge_watch_token *token = watches->list; token != NULL; token = token->next) {
            kedge_watch_token_post(token, commit);
        }
        kedge_commit_release(commit);
    }
    pthread_mutex_unlock(&watches->lock);
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
    kedge_watch_token_run(argument);
    kedge_watch_token_release(argument);
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
