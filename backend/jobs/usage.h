/* Counts again the bytes that are stored for an organization. The count that servers keep
 * (backend/versioned/usage) lacks bytes that a server had not yet added when it was killed, and
 * bytes that tools have written. It still includes bytes that were removed. */
#ifndef KEDGE_BACKEND_JOBS_USAGE_H
#define KEDGE_BACKEND_JOBS_USAGE_H

#include "backend/base/project.h"

/* Reads all records of the organization's projects and of their logs, and lists all its blobs. The
 * result becomes the count. Resources are not counted. Others may work meanwhile: what they write
 * may count twice. `*before`, `*after`: the count in bytes. Of `project` only
 * the organization matters. */
kedge_status kedge_usage_recount(const kedge_project *project, int64_t *before, int64_t *after,
                                 kedge_error *error);

#endif
