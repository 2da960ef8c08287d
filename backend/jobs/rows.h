/* Compares the index rows that a version must have with what is stored under their keys. */
#ifndef KEDGE_BACKEND_JOBS_ROWS_H
#define KEDGE_BACKEND_JOBS_ROWS_H

#include "backend/base/project.h"
#include "backend/versioned/index/index.h"

/* `found` is the stored row, NULL when there is none. `same`: it is as it must be. */
typedef kedge_status (*kedge_row_visit)(void *context, const kedge_record_write *wanted,
                                        const kedge_record *found, bool same, kedge_error *error);

kedge_status kedge_rows_compare(const kedge_project *project, const kedge_version *version,
                                kedge_row_visit visit, void *context, kedge_error *error);

#endif
