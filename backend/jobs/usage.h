/* Counting again what is stored for an organization: what the count of its servers
 * (backend/versioned/usage) was when they ended without adding it, what was removed since, and what
 * tools have written. */
#ifndef KEDGE_BACKEND_JOBS_USAGE_H
#define KEDGE_BACKEND_JOBS_USAGE_H

#include "backend/base/project.h"

/* Reads all records of the organization's projects and of their logs, and lists all its blobs. The
 * result becomes the count. Resources are not counted. Others may work meanwhile: what they write
 * may count twice. `*before`, `*after`: the count in bytes. The project of `project` is not looked
 * at. */
kedge_status kedge_usage_recount(const kedge_project *project, int64_t *before, int64_t *after,
                                 kedge_error *error);

#endif
