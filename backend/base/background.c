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
        [KEDGE_BACKGROUND_UPLOAD_REMOVAL] = "upload-removal"};
    KEDGE_ASSERT(work < KEDGE_BACKGROUND_WORKS);
    return names[work];
}

void kedge_background_failed(kedge_backend *backend, const kedge_project_ref *ref,
                             kedge_background work, const kedge_error *error)
{
    if (backend->options.failed == NULL) return;
    kedge_background_failure failure = {work, ref->organization, ref->project, error};
    backend->options.failed(backend->options.failed_context, &failure);
}
