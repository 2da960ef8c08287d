/* Steps that sync, and that show what became of edits. */
#include "tests/bindings/runner.h"

#include <poll.h>
#include <string.h>
#include <time.h>

static kedge_status set_online(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    bool online = strcmp(step_text(step, "do"), "online") == 0;
    return kedge_set_online(step_db(at, step), online, error);
}

static kedge_status sync_now(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    int64_t timeout_ms = step_integer(step, "timeout_ms", RUNNER_WAIT_MS);
    return kedge_sync(step_db(at, step), (int32_t)timeout_ms, error);
}

static kedge_status wait_for(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    static const char *const names[] = {"pending", "applied", "rejected"};
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    int64_t timeout_ms = step_integer(step, "timeout_ms", RUNNER_WAIT_MS);
    kedge_status status = kedge_wait(step_db(at, step), step_integer(step, "sequence", 0),
                                     (int32_t)timeout_ms, &outcome, error);
    if (status == KEDGE_OK) cJSON_AddStringToObject(given, "outcome", names[outcome]);
    return status;
}

static kedge_status get_status(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_sync_status read = KEDGE_SYNC_STATUS_INIT;
    kedge_status status = kedge_get_sync_status(step_db(at, step), &read, error);
    if (status == KEDGE_OK) give_status(given, &read);
    return status;
}

typedef kedge_status (*list_function)(kedge_db *, kedge_mutation_list **, kedge_error *);

static kedge_status list_mutations(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    bool pending = strcmp(step_text(step, "do"), "pending") == 0;
    list_function open_list = pending ? kedge_pending_open : kedge_rejected_open;
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    kedge_status status = open_list(step_db(at, step), &list, error);
    if (status != KEDGE_OK) return status;
    cJSON *mutations = cJSON_AddArrayToObject(given, "mutations");
    while ((status = kedge_mutation_list_next(list, &mutation, error)) == KEDGE_OK)
        cJSON_AddItemToArray(mutations, mutation_object(&mutation));
    kedge_mutation_list_close(list);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status dismiss(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    return kedge_rejected_dismiss(step_db(at, step), step_integer(step, "sequence", 0), error);
}

static kedge_status dismiss_through(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    size_t dismissed = 0;
    kedge_status status = kedge_rejected_dismiss_through(
        step_db(at, step), step_integer(step, "sequence", 0), &dismissed, error);
    if (status == KEDGE_OK) cJSON_AddNumberToObject(given, "dismissed", (double)dismissed);
    return status;
}

static kedge_status resubmit(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    int64_t sequence = 0;
    kedge_status status = kedge_rejected_resubmit(
        step_db(at, step), step_integer(step, "sequence", 0), &sequence, error);
    if (status == KEDGE_OK) cJSON_AddNumberToObject(given, "sequence", (double)sequence);
    return status;
}

static kedge_status history(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_document *versions = NULL;
    kedge_status status =
        kedge_history(step_db(at, step), step_integer(step, "before", 0),
                      (int32_t)step_integer(step, "limit", 10), RUNNER_WAIT_MS, &versions, error);
    if (status == KEDGE_OK) give_json(given, "versions", kedge_document_json(versions, NULL));
    kedge_document_free(versions);
    return status;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Runs the loop of a caller-driven copy until its status is what the step wants. */
static kedge_status run_loop(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_db *db = step_db(at, step);
    struct pollfd set = {.fd = kedge_loop_descriptor(db), .events = POLLIN};
    int64_t until = now_ms() + RUNNER_WAIT_MS;
    kedge_status status = KEDGE_OK;
    int32_t wait_ms = 0;
    for (;;) {
        kedge_sync_status read = KEDGE_SYNC_STATUS_INIT;
        status = kedge_loop_run(db, &wait_ms, error);
        if (status == KEDGE_OK) status = kedge_get_sync_status(db, &read, error);
        if (status != KEDGE_OK) return status;
        cJSON *of = cJSON_CreateObject();
        give_status(of, &read);
        bool reached = gives_match(cJSON_GetObjectItemCaseSensitive(step, "until"), of);
        cJSON_Delete(of);
        if (reached || now_ms() > until) {
            give_status(given, &read);
            return reached ? KEDGE_OK : KEDGE_TIMEOUT;
        }
        poll(&set, 1, wait_ms < 1000 ? wait_ms : 1000);
    }
}

const step_row sync_steps[] = {
    {"online", set_online},
    {"offline", set_online},
    {"sync", sync_now},
    {"wait", wait_for},
    {"status", get_status},
    {"pending", list_mutations},
    {"rejected", list_mutations},
    {"dismiss", dismiss},
    {"dismiss_through", dismiss_through},
    {"resubmit", resubmit},
    {"history", history},
    {"loop", run_loop},
    {NULL, NULL},
};
