/* The records of a project as they stand in the store, beside every backend. */
#ifndef KEDGE_TESTS_BACKEND_PROJECT_RECORDS_H
#define KEDGE_TESTS_BACKEND_PROJECT_RECORDS_H

#include "backend/ports/records.h"
#include "backend/versioned/versions/versions.h"

/* Visits all of them, in order. The visit may delete or change the record. */
typedef void (*project_record_visit)(const kedge_records *records, const kedge_record *record,
                                     void *context);
void project_records_visit(const kedge_records *records, const kedge_project_ref *ref,
                           project_record_visit visit, void *context);

size_t project_records_count(const kedge_records *records, const kedge_project_ref *ref,
                             const char *prefix);

/* Deletes all but the version records: index rows, checkpoints, and, of the seed cadence, the maps
 * of collections. */
void project_records_delete_derived(const kedge_records *records, const kedge_project_ref *ref);

#endif
