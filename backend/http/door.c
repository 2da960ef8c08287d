/* See door.h: one thread, and a list of exchanges under a mutex. */
#include "backend/http/door.h"

#include "common/error.h"

#include <pthread.h>

struct kedge_door {
    const kedge_environment *environment;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    kedge_exchange *first; /* linked by `behind` */
    kedge_exchange **end;
    bool stopping;
    bool runs;
    pthread_t thread;
};

/* The exchange is the daemon's again with the resume, which may free it. */
static void check(kedge_exchange *exchange)
{
    struct MHD_Connection *connection = exchange->connection;
    exchange->recognized = kedge_exchange_authenticate(exchange);
    atomic_store(&exchange->state, KEDGE_EXCHANGE_CHECKED);
    MHD_resume_connection(connection);
}

static void *run(void *argument)
{
    kedge_door *door = argument;
    pthread_mutex_lock(&door->mutex);
    for (;;) {
        kedge_exchange *next = door->first;
        if (next == NULL) {
            if (door->stopping) break;
            pthread_cond_wait(&door->changed, &door->mutex);
            continue;
        }
        door->first = next->behind;
        if (door->first == NULL) door->end = &door->first;
        pthread_mutex_unlock(&door->mutex);
        check(next);
        pthread_mutex_lock(&door->mutex);
    }
    pthread_mutex_unlock(&door->mutex);
    return NULL;
}

kedge_status kedge_door_start(const kedge_environment *environment, kedge_door **door,
                              kedge_error *error)
{
    kedge_door *made = kedge_allocate(environment->allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->environment = environment;
    made->end = &made->first;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->runs = pthread_create(&made->thread, NULL, run, made) == 0;
    if (!made->runs) {
        kedge_door_free(made);
        return kedge_fail(error, KEDGE_NO_MEMORY, "no-threads",
                          "the system refused to start a thread");
    }
    *door = made;
    return KEDGE_OK;
}

void kedge_door_stop(kedge_door *door)
{
    if (!door || !door->runs) return;
    pthread_mutex_lock(&door->mutex);
    door->stopping = true;
    pthread_cond_signal(&door->changed);
    pthread_mutex_unlock(&door->mutex);
    pthread_join(door->thread, NULL);
    door->runs = false;
}

void kedge_door_free(kedge_door *door)
{
    if (!door) return;
    pthread_cond_destroy(&door->changed);
    pthread_mutex_destroy(&door->mutex);
    kedge_release(door->environment->allocator, door);
}

bool kedge_door_check(kedge_door *door, kedge_exchange *exchange)
{
    exchange->behind = NULL;
    pthread_mutex_lock(&door->mutex);
    bool taken = !door->stopping;
    if (taken) {
        *door->end = exchange;
        door->end = &exchange->behind;
        pthread_cond_signal(&door->changed);
    }
    pthread_mutex_unlock(&door->mutex);
    return taken;
}
