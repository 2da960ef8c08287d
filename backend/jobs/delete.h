/* Deleting a project: all that the stores have of it. Nobody else may work on it meanwhile; a
 * process that has its head in memory would go on with it. */
#ifndef KEDGE_BACKEND_JOBS_DELETE_H
#define KEDGE_BACKEND_JOBS_DELETE_H

#include "backend/base/project.h"

/* Removes the project, of either kind, with its logs, blobs, settings and access list. From the
 * first write on there is no such project, and its name is taken until the last one. A call that
 * was broken off is completed by the next one. KEDGE_NOT_FOUND "project-not-found": there is no
 * such project, nor one that is half deleted; KEDGE_CONFLICT "import-under-way"; KEDGE_UNAVAILABLE
 * "import-raced": another process goes on with it, or has ended it. */
kedge_status kedge_project_delete(const kedge_project *project, kedge_error *error);

#endif
