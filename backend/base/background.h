/* Work for which no response waits: index rows and checkpoints after a commit, the checkpoints of a
 * fork or an import, the removal of an upload that was used, the count of what an organization has
 * stored. Also the read of a checkpoint that an older one can replace.
 *
 * When such work fails, no data is lost: it is done again later, or reads are only slower or the
 * store larger without it. But work that fails for days must be noticed, so every failure is
 * reported to the option `failed`, which counts and logs it. */
#ifndef KEDGE_BACKEND_BASE_BACKGROUND_H
#define KEDGE_BACKEND_BASE_BACKGROUND_H

#include "backend/base/project.h"

/* Reports a failure; `error` says why. */
void kedge_background_failed(const kedge_project *project, kedge_background work,
                             const kedge_error *error);

#endif
