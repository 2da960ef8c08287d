/* Writes index rows and checkpoints, after a commit or on demand. */
#include "backend/versioned/commit/maintain.h"

#include "backend/base/background.h"
#include "backend/base/locks.h"
#include "backend/versioned/commit/processor.h"
#include "backend/versioned/index/index.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/versions/history.h"

static void write_checkpoints(void *argument)
{
    kedge_state *state = argument;
    kedge_error error = {0};
    atomic_bool *writing = kedge_backend_writing_checkpoints(&state->project);
    if (kedge_checkpoint_write_due(state, false, &error) != KEDGE_OK) {
        kedge_background_failed(&state->project, KEDGE_BACKGROUND_CHECKPOINTS, &error);
    }
    atomic_store(writing, false);
    kedge_state_close(state);
}

/* Only one runs at a time for a project. Rows and checkpoints that become due meanwhile are written
 * at the next commit. */
static void start_checkpoints(kedge_state *state)
{
    const kedge_backend_options *options = &state->project.backend->options;
    atomic_bool *writing = kedge_backend_writing_checkpoints(&state->project);
    if (!kedge_checkpoint_any_due(state) || atomic_exchange(writing, true)) return;
    kedge_state_retain(state);
    bool taken =
        options->later != NULL && options->later(options->later_context, write_checkpoints, state);
    if (!taken) write_checkpoints(state);
}

void kedge_maintain(const kedge_project *project, kedge_state *state)
{
    const kedge_version *version = state->version;
    kedge_error error = {0};
    bool seed = project->backend->options.cadence == KEDGE_CADENCE_SEED;
    if (seed && project->history == NULL) return;
    bool due = version->number - version->indexed_through >= KEDGE_MAINTAIN_VERSIONS ||
               version->recent_count >= KEDGE_MAINTAIN_RUNS;
    if (due && kedge_index_complete(project, version, &error) != KEDGE_OK) {
        kedge_background_failed(project, KEDGE_BACKGROUND_INDEX_ROWS, &error);
    }
    if (project->history != NULL) {
        project->history->maintain(state);
    } else {
        start_checkpoints(state);
    }
}

kedge_status kedge_processor_index(const kedge_project *project, kedge_error *error)
{
    kedge_state *state = NULL;
    kedge_status status = kedge_state_open_newest(project, &state, error);
    if (status != KEDGE_OK) return status;
    status = kedge_index_complete(project, state->version, error);
    if (status == KEDGE_OK) status = kedge_checkpoint_write_due(state, true, error);
    kedge_state_close(state);
    return status;
}
