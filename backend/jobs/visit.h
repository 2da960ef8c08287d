/* Visiting the records of a project. */
#ifndef KEDGE_BACKEND_JOBS_VISIT_H
#define KEDGE_BACKEND_JOBS_VISIT_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/ports/records.h"
#include "backend/versioned/model/layout.h"

typedef kedge_status (*kedge_record_visit)(void *context, const kedge_record *record,
                                           kedge_error *error);

/* Visits the project's records whose sort keys begin with `prefix`, in order, by consistent reads
 * of up to 1,000. Ends with the first failure. */
kedge_status kedge_visit_records(const kedge_project *project, const char *prefix,
                                 kedge_record_visit visit, void *context, kedge_error *error);

#endif
