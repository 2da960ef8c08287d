/* The project of a call: its kind and its versions. */
#ifndef KEDGE_BACKEND_API_OPEN_H
#define KEDGE_BACKEND_API_OPEN_H

#include "backend/api/call.h"
#include "backend/versioned/model/version.h"

/* ---- the kind ---- */

/* Sets the handle's history by the project's kind. KEDGE_NOT_FOUND: there is no such project. */
kedge_status kedge_api_find_kind(kedge_project *project, kedge_error *error);
/* The same for the call's project. Refuses the call, and returns false, when there is no such
 * project and its first use does not create it, or when it is a log project and not `logs`. */
bool kedge_api_choose_kind(kedge_api_call *call, bool logs);
/* Returns whether the call may write the log that it names. Refuses the call, and returns false,
 * for the log that holds the mutations of a log project. */
bool kedge_api_is_free_log(kedge_api_call *call);
/* Refuses a client that is not libkedge on a log project, since it could not replay the entries. */
void kedge_api_refuse_foreign(kedge_api_call *call);

/* ---- the versions ---- */

/* Responds that there is no such project, also when this identity may not see it. */
void kedge_api_refuse_project(kedge_api_call *call);
/* Fails when the organization has used up its budget of projects or of stored bytes. KEDGE_OK when
 * the project exists. */
kedge_status kedge_api_check_new_project(const kedge_project *project, kedge_error *error);
/* Creates the project if its first use may create it (in open mode); otherwise KEDGE_NOT_FOUND. */
kedge_status kedge_api_create_on_use(const kedge_project *project, kedge_error *error);
/* The newest version, by a consistent read. Creates the project if its first use may create it. */
kedge_status kedge_api_head(const kedge_project *project, const kedge_version **head,
                            kedge_error *error);
/* The same; refuses the call when it fails, and returns false. */
bool kedge_api_open_head(kedge_api_call *call, const kedge_version **head);
/* Version `number` (0: the newest) of a project that exists; refuses with `status` and `code` when
 * there is no such version. */
bool kedge_api_open_version(kedge_api_call *call, int64_t number, int status, const char *code,
                            const kedge_version **version);
/* Sets `known` to whether the project has, or had, the version that a client names. */
kedge_status kedge_api_knows(kedge_api_call *call, const kedge_version *head, int64_t number,
                             const char *lineage, bool *known);
/* The parameter "version", a number or "latest"; latest when absent. */
bool kedge_api_query_version(kedge_api_call *call, int64_t *number);

#endif
