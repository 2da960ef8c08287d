/* Snapshots and segments that are due behind an append. */
#include "backend/base/backend.h"
#include "backend/base/background.h"
#include "backend/logged/snapshots.h"
#include "backend/versioned/state/state_internal.h"
#include "backend/versioned/usage/usage.h"

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

static kedge_status make_due(const kedge_project *project, int64_t head, kedge_error *error)
{
    int64_t last = -1;
    bool made = false, ended;
    kedge_status status = kedge_logged_last_snapshot(project, &last, error);
    if (status != KEDGE_OK) return status;
    /* One that cannot be made is tried again after as many entries. */
    int64_t behind = head - (last < 0 ? 0 : last);
    if (behind < KEDGE_LOGGED_SNAPSHOT_ENTRIES ||
        behind % KEDGE_LOGGED_SNAPSHOT_ENTRIES >= LOOK_EVERY)
        return KEDGE_OK;
    if (project->backend->options.stream_is_followed) return ask(project, error);
    status = kedge_logged_snapshot_make(project, &last, &made, error);
    return status == KEDGE_OK ? kedge_logged_end_segment(project, &ended, error) : status;
}

static void make_snapshot(void *argument)
{
    kedge_state *state = argument;
    kedge_error error = {0};
    if (make_due(&state->project, state->version->number, &error) != KEDGE_OK)
        kedge_background_failed(&state->project, KEDGE_BACKGROUND_LOG_SNAPSHOTS, &error);
    kedge_locks_end_maintenance(&state->project.backend->locks, &state->project.ref);
    kedge_state_close(state);
}

static void make_later(void *argument)
{
    kedge_state *state = argument;
    kedge_state_retain(state);
    kedge_usage_begin();
    make_snapshot(state);
    kedge_usage_end(&state->project);
    kedge_state_close(state);
}

void kedge_logged_maintain(kedge_state *state)
{
    const kedge_backend_options *options = &state->project.backend->options;
    if (state->version->number % LOOK_EVERY != 0) return;
    kedge_locks *locks = &state->project.backend->locks;
    if (!kedge_locks_begin_maintenance(locks, &state->project.ref)) return;
    kedge_state_retain(state);
    bool taken =
        options->later != NULL && options->later(options->later_context, make_later, state);
    if (!taken) make_snapshot(state);
}
