/* Index rows and checkpoints: written after a commit, which does not need them. */
#ifndef KEDGE_BACKEND_COMMIT_MAINTAIN_H
#define KEDGE_BACKEND_COMMIT_MAINTAIN_H

#include "backend/base/project.h"
#include "backend/versioned/state/state_internal.h"

/* Rows are written for so many versions or runs at once, so that a commit is one put. */
#define KEDGE_MAINTAIN_VERSIONS 16
#define KEDGE_MAINTAIN_RUNS     64

/* Failures are reported (background.h), and the next commit tries again; where the layout requires
 * the rows, that commit fails when they cannot be written. */
void kedge_maintain(const kedge_project *project, kedge_state *state);

#endif
