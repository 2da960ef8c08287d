/* What follows a commit and is never needed for it: index rows and checkpoints. */
#ifndef KEDGE_BACKEND_COMMIT_MAINTAIN_H
#define KEDGE_BACKEND_COMMIT_MAINTAIN_H

#include "backend/base/project.h"
#include "backend/versioned/state/state_internal.h"

/* Rows are written for so many versions or runs at once, so that a commit is one put. */
#define KEDGE_MAINTAIN_VERSIONS 16
#define KEDGE_MAINTAIN_RUNS     64

/* Failures are told (background.h) and left for the next commit, which must succeed where the
 * layout requires it. */
void kedge_maintain(const kedge_project *project, kedge_state *state);

#endif
