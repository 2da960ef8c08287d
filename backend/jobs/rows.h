/* The index rows that a version must have, beside those that stand under their keys. */
#ifndef KEDGE_BACKEND_JOBS_ROWS_H
#define KEDGE_BACKEND_JOBS_ROWS_H

#include "backend/base/project.h"
#include "backend/versioned/index/index.h"

/* `found` is NULL when nothing stands there, and `same` when it is what it must be. */
typedef kedge_status (*kedge_row_visit)(void *context, const kedge_record_write *wanted,
                                        const kedge_record *found, bool same, kedge_error *error);

kedge_status kedge_rows_compare(const kedge_project *project, const kedge_version *version,
                                kedge_row_visit visit, void *context, kedge_error *error);

#endif
