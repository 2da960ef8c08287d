/* The queue of one watch, and its callback. */
#include "sdk/runtime/watch_token.h"

#include "common/error.h"

#include <string.h>

void kedge_commit_release(kedge_commit *commit)
{
    if (commit == NULL || atomic_fetch_sub(&commit->references, 1) != 1) return;
    kedge_change_set_free(&commit->changes);
    kedge_release(commit->allocator, commit);
}

kedge_status kedge_watch_token_new(const kedge_allocator *allocator, const char *collection,
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

static void clear_queue(kedge_watch_token *token)
{
    while (token->count > 0) {
        kedge_commit_release(token->queue[token->first]);
        token->first = (token->first + 1) % KEDGE_WATCH_QUEUE_MAX;
        token->count--;
    }
}

void kedge_watch_token_release(kedge_watch_token *token)
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
    kedge_bytes collection;
    kedge_bytes id;
    size_t offset = 0;
    if (changes->all) return true;
    while (kedge_change_set_next(changes, &offset, &collection, &id)) {
        if (is_watched(token, collection)) return true;
    }
    return false;
}

void kedge_watch_token_post(kedge_watch_token *token, kedge_commit *commit)
{
    if (commit != NULL && !touches(token, &commit->changes)) return;
    pthread_mutex_lock(&token->lock);
    if (commit == NULL || commit->changes.all || token->count == KEDGE_WATCH_QUEUE_MAX) {
        clear_queue(token);
        token->everything = true;
    } else {
        size_t place = (token->first + token->count) % KEDGE_WATCH_QUEUE_MAX;
        atomic_fetch_add(&commit->references, 1);
        token->queue[place] = commit;
        token->count++;
    }
    pthread_mutex_unlock(&token->lock);
}

/* Calls back with the watched keys, or with count 0 when they cannot be listed. */
static void call_back(const kedge_watch_token *token, const kedge_commit *commit)
{
    kedge_bytes collection;
    kedge_bytes id;
    size_t offset = 0;
    size_t count = 0;
    kedge_change *list = NULL;
    if (commit != NULL) {
        list = kedge_allocate(token->allocator, commit->changes.count * sizeof *list);
    }
    while (list != NULL && kedge_change_set_next(&commit->changes, &offset, &collection, &id)) {
        if (!is_watched(token, collection)) continue;
        list[count++] =
            (kedge_change){.collection = collection.data, .id = id.data, .id_size = id.size};
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
    *commit = token->queue[token->first];
    token->first = (token->first + 1) % KEDGE_WATCH_QUEUE_MAX;
    token->count--;
    return true;
}

void kedge_watch_token_run(kedge_watch_token *token)
{
    kedge_commit *commit;
    pthread_mutex_lock(&token->lock);
    bool bounded = pthread_equal(token->deliverer, pthread_self());
    size_t left = token->count + (token->everything ? 1 : 0);
    while ((!bounded || left-- > 0) && take_next(token, &commit)) {
        token->running = true;
        pthread_mutex_unlock(&token->lock);
        call_back(token, commit);
        kedge_commit_release(commit);
        pthread_mutex_lock(&token->lock);
        token->running = false;
        pthread_cond_broadcast(&token->idle);
    }
    token->dispatched = false;
    pthread_mutex_unlock(&token->lock);
}

void kedge_watch_token_kill(kedge_watch_token *token)
{
    pthread_mutex_lock(&token->lock);
    token->dead = true;
    while (token->running) {
        pthread_cond_wait(&token->idle, &token->lock);
    }
    clear_queue(token);
    pthread_mutex_unlock(&token->lock);
}
