/* What follows a commit: index rows and checkpoints; and the same on demand. */
#include "backend/core/maintain.h"

#include "backend/core/checkpoint.h"
#include "backend/core/index.h"
#include "backend/core/processor.h"
#include "common/planted.h"

void kedge_maintain(kedge_backend *backend, const kedge_project_ref *ref, kedge_state *state)
{
    const kedge_version *version = state->version;
    if (backend->options.cadence == KEDGE_CADENCE_SEED) return;
    bool due = version->number - version->indexed_through >= KEDGE_MAINTAIN_VERSIONS ||
               version->recent_count >= KEDGE_MAINTAIN_RUNS;
    if (KEDGE_PLANTED_BUG(KEDGE_PLANTED_RECENT_SHORTENED_EARLY)) due = false;
    if (due) kedge_index_complete(backend, ref, version, NULL);
    kedge_checkpoint_write_due(state, false, NULL);
}

kedge_status kedge_processor_index(kedge_backend *backend, const kedge_project_ref *ref,
                                   kedge_error *error)
{
    kedge_state *state = NULL;
    kedge_status status = kedge_state_open_newest(backend, ref, &state, error);
    if (status != KEDGE_OK) return status;
    status = kedge_index_complete(backend, ref, state->version, error);
    if (status == KEDGE_OK) status = kedge_checkpoint_write_due(state, true, error);
    kedge_state_close(state);
    return status;
}
