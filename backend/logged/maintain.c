/* Snapshots and segments that are due after an append, and snapshots that are discarded. */
#include "backend/base/backend.h"
#include "backend/base/background.h"
#include "backend/logged/snapshots.h"
#include "backend/versioned/state/state_internal.h"
#include "backend/versioned/usage/usage.h"

#include <stdio.h>

/* How often an append looks whether a snapshot is due, in entries. */
#define LOOK_EVERY 64

/* The entry that asks for it; a new segment begins with one. */
static kedge_status ask(const kedge_project *project, kedge_error *error)
{
    bool ended = false;
    kedge_log log = kedge_logged_log(project);
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = KEDGE_BYTES(KEDGE_LOG_SNAPSHOT),
                                              .version = KEDGE_LOG_SYSTEM_VERSION,
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    kedge_status status = kedge_logged_end_segment(project, &ended, error);
    if (status != KEDGE_OK || ended) return status;
    return kedge_log_append(&log, &request, &result, error);
}

static kedge_status make(const kedge_project *project, kedge_error *error)
{
    int64_t number = -1;
    bool made = false, ended;
    if (project->backend->options.stream_is_followed) return ask(project, error);
    kedge_status status = kedge_logged_snapshot_make(project, &number, &made, error);
    return status == KEDGE_OK ? kedge_logged_end_segment(project, &ended, error) : status;
}

static kedge_status make_due(kedge_state *state, kedge_error *error)
{
    int64_t last = -1, head = state->version->number;
    kedge_status status = kedge_logged_last_snapshot(&state->project, &last, error);
    if (status != KEDGE_OK) return status;
    /* One that cannot be made is tried again after as many entries. */
    int64_t behind = head - (last < 0 ? 0 : last);
    if (behind < KEDGE_LOGGED_SNAPSHOT_ENTRIES ||
        behind % KEDGE_LOGGED_SNAPSHOT_ENTRIES >= LOOK_EVERY)
        return KEDGE_OK;
    return make(&state->project, error);
}

/* Whether the last entry asks for a snapshot, and has none yet. */
static kedge_status is_asked_for(const kedge_project *project, bool *asked, kedge_error *error)
{
    kedge_logged_reader reader;
    kedge_logged_entry last = {.version = NULL};
    kedge_status status = kedge_logged_reader_open(project, -1, true, 1, &reader, error);
    if (status == KEDGE_OK) status = kedge_logged_read(&reader, &last, error);
    kedge_logged_reader_close(&reader);
    *asked = status == KEDGE_OK && last.is_system && last.snapshot[0] == '\0';
    kedge_version_release(last.version);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status make_anew(kedge_state *state, kedge_error *error)
{
    kedge_backend *backend = state->project.backend;
    bool asked = false;
    kedge_status status = is_asked_for(&state->project, &asked, error);
    asked = asked && backend->options.stream_is_followed;
    if (status == KEDGE_OK && !asked) status = make(&state->project, error);
    if (status != KEDGE_OK || asked) kedge_remakes_ended(&backend->remakes, &state->project.ref);
    return status;
}

/* ---- in the background ---- */

typedef kedge_status (*work)(kedge_state *state, kedge_error *error);

static void run(kedge_state *state, work run_work)
{
    kedge_error error = {0};
    if (run_work(state, &error) != KEDGE_OK)
        kedge_background_failed(&state->project, KEDGE_BACKGROUND_LOG_SNAPSHOTS, &error);
    kedge_locks_end_maintenance(&state->project.backend->locks, &state->project.ref);
    kedge_state_close(state);
}

/* Of a request that does not wait for it, the cost is counted by itself. */
static void run_later(kedge_state *state, work run_work)
{
    kedge_state_retain(state);
    kedge_usage_begin();
    run(state, run_work);
    kedge_usage_end(&state->project);
    kedge_state_close(state);
}

static void make_due_later(void *argument)
{
    run_later(argument, make_due);
}

static void make_anew_later(void *argument)
{
    run_later(argument, make_anew);
}

static bool give_away(kedge_state *state, void (*later)(void *argument))
{
    const kedge_backend_options *options = &state->project.backend->options;
    return options->later != NULL && options->later(options->later_context, later, state);
}

void kedge_logged_maintain(kedge_state *state)
{
    if (state->version->number % LOOK_EVERY != 0) return;
    kedge_locks *locks = &state->project.backend->locks;
    if (!kedge_locks_begin_maintenance(locks, &state->project.ref)) return;
    kedge_state_retain(state);
    if (!give_away(state, make_due_later)) run(state, make_due);
}

static void begin_anew(kedge_state *state)
{
    kedge_backend *backend = state->project.backend;
    kedge_locks *locks = &backend->locks;
    if (!kedge_remakes_may_begin(&backend->remakes, &state->project.ref) ||
        !kedge_locks_begin_maintenance(locks, &state->project.ref))
        return;
    kedge_state_retain(state);
    if (give_away(state, make_anew_later)) return;
    if (backend->options.stream_is_followed) {
        run(state, make_anew); /* an append */
        return;
    }
    kedge_locks_end_maintenance(locks, &state->project.ref);
    kedge_state_close(state);
}

void kedge_logged_make_anew(const kedge_project *project, const kedge_version *version)
{
    const kedge_backend_options *options = &project->backend->options;
    kedge_state *state = NULL;
    if (options->later == NULL && !options->stream_is_followed) return;
    if (kedge_state_derive(project, NULL, version, &state, NULL) != KEDGE_OK) return;
    begin_anew(state);
    kedge_state_close(state);
}

/* ---- a snapshot that is damaged ---- */

kedge_status kedge_logged_snapshot_discard(const kedge_logged_snapshot *snapshot,
                                           kedge_error *error)
{
    char mark[KEDGE_SHA256_HEX];
    kedge_log log = kedge_logged_log(&snapshot->state->project);
    size_t kept = sizeof mark - sizeof KEDGE_LOGGED_DISCARDED;
    (void)snprintf(mark, sizeof mark, KEDGE_LOGGED_DISCARDED "%.*s", (int)kept, snapshot->id);
    const kedge_log_metadata metadata = {.snapshot = kedge_bytes_of(mark)};
    bool marked = false;
    kedge_status status = kedge_log_set_metadata_at(&log, snapshot->number, snapshot->revision,
                                                    &metadata, &marked, error);
    /* In an archived segment no snapshot is the last one: nobody is sent to it. */
    if (status == KEDGE_NOT_FOUND || status == KEDGE_REJECTED) return KEDGE_OK;
    if (status == KEDGE_OK && marked)
        kedge_logged_make_anew(&snapshot->state->project, snapshot->at);
    return status;
}
