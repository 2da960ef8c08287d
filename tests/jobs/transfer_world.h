/* What the tests of exports and imports share. */
#ifndef KEDGE_TESTS_JOBS_TRANSFER_WORLD_H
#define KEDGE_TESTS_JOBS_TRANSFER_WORLD_H

#include "backend/base/project.h"
#include "tests/jobs/jobs_world.h"

#include "backend/jobs/import.h"

/* What the project "notes" is imported as. */
extern const kedge_project_ref copy;

/* The whole export of a project, which replaces what the buffer has. */
kedge_status transfer_try_export(test_world *world, const kedge_project_ref *ref,
                                 kedge_buffer *text, kedge_error *error);
void transfer_export(test_world *world, const kedge_project_ref *ref, kedge_buffer *text);
kedge_status transfer_import(test_world *world, const kedge_project_ref *ref, kedge_bytes text,
                             kedge_import_result *result, kedge_error *error);
/* By any backend. */
kedge_status transfer_import_by(const kedge_project *project, kedge_bytes text,
                                kedge_import_result *result, kedge_error *error);
void transfer_must_import(test_world *world, const kedge_project_ref *ref,
                          const kedge_buffer *text);
/* Imports the copy until port call `at`, which fails, and all after it. */
void transfer_break_off(test_world *world, const kedge_buffer *text, uint64_t at);

/* Pushes everything that a project can have. */
void transfer_tell(test_world *world, int mutations);
/* Keeps the newest versions of "notes". */
void transfer_retain(test_world *world, int64_t versions);
void transfer_retain_project(test_world *world, const kedge_project_ref *ref, int64_t versions);
/* The copy is what the export says, and verification finds nothing. */
void transfer_check(test_world *world, const kedge_buffer *text);

#endif
