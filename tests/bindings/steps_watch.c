/* Steps that watch, and that wait for what a watch tells. */
#include "tests/bindings/runner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What was told and not yet asked for. `events`: changes or rejected edits, in their order.
 * `status`: the status that was told last. */
struct told {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    cJSON *events;
    cJSON *status;
};

static void tell(told *at, cJSON *event, cJSON *status)
{
    pthread_mutex_lock(&at->mutex);
    if (event) cJSON_AddItemToArray(at->events, event);
    if (status) {
        cJSON_Delete(at->status);
        at->status = status;
    }
    pthread_cond_broadcast(&at->changed);
    pthread_mutex_unlock(&at->mutex);
}

static void on_changes(void *userdata, const kedge_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tell(userdata, change_object(&changes[i]), NULL);
}

static void on_status(void *userdata, const kedge_sync_status *status)
{
    cJSON *object = cJSON_CreateObject();
    give_status(object, status);
    tell(userdata, NULL, object);
}

static void on_rejected(void *userdata, const kedge_mutation *mutation)
{
    tell(userdata, mutation_object(mutation), NULL);
}

static void on_result(void *userdata, const kedge_query_changes *changes)
{
    tell(userdata, result_object(changes), NULL);
}

static void free_told(void *userdata)
{
    told *at = userdata;
    cJSON_Delete(at->events);
    cJSON_Delete(at->status);
    pthread_mutex_destroy(&at->mutex);
    pthread_cond_destroy(&at->changed);
    free(at);
}

static watch *find_watch(runner *at, const char *name)
{
    for (int i = 0; i < RUNNER_WATCHES; i++)
        if (strcmp(at->watches[i].name, name) == 0) return &at->watches[i];
    runner_fail("no such watch, or too many", name);
}

static watch *new_watch(runner *at, const char *name)
{
    watch *made = find_watch(at, "");
    (void)snprintf(made->name, sizeof made->name, "%s", name);
    made->told = calloc(1, sizeof *made->told);
    if (!made->told) runner_fail("no memory", name);
    made->told->events = cJSON_CreateArray();
    pthread_mutex_init(&made->told->mutex, NULL);
    pthread_cond_init(&made->told->changed, NULL);
    return made;
}

static void free_watch(watch *freed)
{
    kedge_watch_free(freed->items);
    kedge_sync_watch_free(freed->sync);
    kedge_query_watch_free(freed->query);
    *freed = (watch){0};
}

void runner_free_watches(runner *at)
{
    for (int i = 0; i < RUNNER_WATCHES; i++)
        free_watch(&at->watches[i]);
}

static kedge_status watch_query(kedge_db *db, const cJSON *step, watch *made, kedge_error *error)
{
    const char *sql = step_text(step, "sql");
    char *parameters = step_json(step, "parameters");
    kedge_status status =
        kedge_watch_query(db, sql, strlen(sql), *parameters ? parameters : NULL, strlen(parameters),
                          on_result, made->told, free_told, &made->query, error);
    free(parameters);
    return status;
}

static kedge_status start_watch(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    const char *kind = step_text(step, "do");
    kedge_db *db = step_db(at, step);
    watch *made = new_watch(at, step_text(step, "watch"));
    kedge_status status;
    if (strcmp(kind, "watch") == 0)
        status = kedge_watch(db, step_text_or_null(step, "collection"), on_changes, made->told,
                             free_told, &made->items, error);
    else if (strcmp(kind, "watch_query") == 0)
        status = watch_query(db, step, made, error);
    else if (strcmp(kind, "watch_status") == 0)
        status = kedge_watch_sync_status(db, on_status, made->told, free_told, &made->sync, error);
    else
        status = kedge_watch_rejected(db, on_rejected, made->told, free_told, &made->sync, error);
    if (status != KEDGE_OK) {
        free_told(made->told);
        *made = (watch){0};
    }
    return status;
}

static kedge_status end_watch(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    (void)error;
    free_watch(find_watch(at, step_text(step, "watch")));
    return KEDGE_OK;
}

/* True when the told status is what is wanted, or as many events were told as are wanted. */
static bool enough(const told *at, const cJSON *wanted, const cJSON *list)
{
    if (list) return cJSON_GetArraySize(at->events) >= cJSON_GetArraySize(list);
    return at->status && gives_match(wanted, at->status);
}

static kedge_status await_told(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)error;
    told *of = find_watch(at, step_text(step, "watch"))->told;
    const cJSON *wanted = cJSON_GetObjectItemCaseSensitive(step, "gives");
    const char *member = told_list(wanted);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(wanted, member);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += RUNNER_WAIT_MS / 1000;
    int waited = 0;
    pthread_mutex_lock(&of->mutex);
    while (!enough(of, wanted, list) && waited == 0)
        waited = pthread_cond_timedwait(&of->changed, &of->mutex, &until);
    cJSON *taken = list ? cJSON_AddArrayToObject(given, member) : NULL;
    for (int left = cJSON_GetArraySize(list); left > 0 && cJSON_GetArraySize(of->events) > 0;
         left--)
        cJSON_AddItemToArray(taken, cJSON_DetachItemFromArray(of->events, 0));
    for (const cJSON *each = of->status ? of->status->child : NULL; each; each = each->next)
        cJSON_AddItemToObject(given, each->string, cJSON_Duplicate(each, true));
    pthread_mutex_unlock(&of->mutex);
    return KEDGE_OK;
}

const step_row watch_steps[] = {
    {"watch", start_watch},
    {"watch_status", start_watch},
    {"watch_query", start_watch},
    {"watch_rejected", start_watch},
    {"unwatch", end_watch},
    {"told", await_told},
    {NULL, NULL},
};
