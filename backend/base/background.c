/* See background.h. */
#include "backend/base/background.h"

#include "backend/base/backend.h"
#include "common/assert.h"

const char *kedge_background_name(kedge_background work)
{
    static const char *const names[KEDGE_BACKGROUND_WORKS] = {
        [KEDGE_BACKGROUND_INDEX_ROWS] = "index-rows",
        [KEDGE_BACKGROUND_CHECKPOINTS] = "checkpoints",
        [KEDGE_BACKGROUND_CHECKPOINT_READS] = "checkpoint-reads",
        [KEDGE_BACKGROUND_FORK_CHECKPOINTS] = "fork-checkpoints",
        [KEDGE_BACKGROUND_IMPORT_CHECKPOINTS] = "import-checkpoints",
        [KEDGE_BACKGROUND_UPLOAD_REMOVAL] = "upload-removal",
        [KEDGE_BACKGROUND_LOG_BODIES] = "log-bodies",
        [KEDGE_BACKGROUND_LOG_SNAPSHOTS] = "log-snapshots",
        [KEDGE_BACKGROUND_USAGE] = "usage"};
    KEDGE_ASSERT(work < KEDGE_BACKGROUND_WORKS);
    return names[work];
}

void kedge_background_failed(const kedge_project *project, kedge_background work,
                             const kedge_error *error)
{
    if (project->backend->options.failed == NULL) return;
    kedge_background_failure failure = {work, project->ref.organization, project->ref.project,
                                        error};
    project->backend->options.failed(project->backend->options.failed_context, &failure);
}
