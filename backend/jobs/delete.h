/* Deleting a project with all that the stores have of it. No other process may work on the project
 * meanwhile: a process that has its head in memory would write to it again. */
#ifndef KEDGE_BACKEND_JOBS_DELETE_H
#define KEDGE_BACKEND_JOBS_DELETE_H

#include "backend/base/project.h"

/* Removes the project, of either kind, with its logs, blobs, settings and access list. The first
 * write makes the project invisible; its name is free again after the last write. A call that was
 * interrupted is completed by the next call. KEDGE_NOT_FOUND "project-not-found": there is no such
 * project, nor one that is half deleted; KEDGE_CONFLICT "import-under-way"; KEDGE_UNAVAILABLE
 * "import-raced": another process continues the deletion, or has completed it. */
kedge_status kedge_project_delete(const kedge_project *project, kedge_error *error);

#endif
