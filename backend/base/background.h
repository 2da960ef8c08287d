/* Work that no response waits for: index rows and checkpoints behind a commit, the checkpoints of a
 * fork or an import, the removal of an upload that was taken. And the read of a checkpoint in whose
 * place an older one does.
 *
 * A failure of such work loses nothing. What is missing is made again later, or is only slower or
 * larger without it. But work that fails for days must not go unseen, so every failure is told to
 * the option `failed`, which counts and logs it. */
#ifndef KEDGE_BACKEND_BASE_BACKGROUND_H
#define KEDGE_BACKEND_BASE_BACKGROUND_H

#include "backend/base/project.h"

/* Tells of a failure: `error` says why. */
void kedge_background_failed(const kedge_project *project, kedge_background work,
                             const kedge_error *error);

#endif
