/* Walking over the records of a project. */
#ifndef KEDGE_BACKEND_JOBS_WALK_H
#define KEDGE_BACKEND_JOBS_WALK_H

#include "backend/base/backend.h"
#include "backend/ports/records.h"
#include "backend/versioned/model/layout.h"

typedef kedge_status (*kedge_walk_visit)(void *context, const kedge_record *record,
                                         kedge_error *error);

/* Visits the project's records whose sort keys begin with `prefix`, in order, by consistent reads
 * of up to 1,000. Ends with the first failure. */
kedge_status kedge_walk_records(kedge_backend *backend, const kedge_project_ref *ref,
                                const char *prefix, kedge_walk_visit visit, void *context,
                                kedge_error *error);

#endif
