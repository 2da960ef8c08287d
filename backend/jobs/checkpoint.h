/* Checkpoints on demand. */
#ifndef KEDGE_BACKEND_JOBS_CHECKPOINT_H
#define KEDGE_BACKEND_JOBS_CHECKPOINT_H

#include "backend/base/project.h"
#include "backend/jobs/lines.h"
#include "backend/versioned/versions/versions.h"

/* Writes a checkpoint of every collection at the newest version, also where one is not due, with
 * all of its chunks. One line, {"checkpointed", "version", "collections"}. KEDGE_NOT_FOUND: no such
 * project. */
kedge_status kedge_checkpoint_project(const kedge_project *project, const kedge_lines *lines,
                                      kedge_error *error);

#endif
