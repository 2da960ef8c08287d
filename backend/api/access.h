/* Who may see and use what. */
#ifndef KEDGE_BACKEND_API_ACCESS_H
#define KEDGE_BACKEND_API_ACCESS_H

#include "backend/api/call.h"

bool kedge_api_may_see(const kedge_identity *identity, kedge_bytes organization,
                       kedge_bytes project);
/* Checks whether the identity may use the project: KEDGE_OK, KEDGE_NOT_FOUND, or a failure of the
 * store. */
kedge_status kedge_api_admit(const kedge_project *project, const kedge_identity *identity,
                             kedge_api_admission *admission, kedge_error *error);
/* The same for the call; refuses it and returns false when the identity may not. From then on the
 * call's request has the role that the access list gives. */
bool kedge_api_enter_project(kedge_api_call *call);
/* The same for the request that creates the project, which need not exist. When an access list
 * keeps a member out of an existing project, the refusal is the one for a free name. */
bool kedge_api_may_create(kedge_api_call *call);
/* Whether any project of the organization has an access list. */
kedge_status kedge_api_has_access_lists(kedge_api_call *call, bool *any);
/* Returns true when the identity is an admin; otherwise refuses the call and returns false. */
bool kedge_api_is_admin(kedge_api_call *call);
/* Returns true when the call's organization is the identity's; otherwise responds that there is no
 * such organization and returns false. */
bool kedge_api_is_of_organization(kedge_api_call *call);

#endif
