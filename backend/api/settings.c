/* Settings of an organization and of a project, and the access list of a project. Each is a
 * resource of the kind `settings` or `access`, with a path of its own. Their older versions,
 * deletions and rollbacks are requests of resources. */
#include "backend/api/access.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/resources.h"
#include "backend/versioned/model/version.h"

/* ---- of an organization ---- */

void kedge_api_organization_settings(kedge_api_call *call)
{
    char id[KEDGE_RESOURCE_NAMED_ID];
    kedge_resource_ref ref =
        kedge_resource_of_settings(call->project.ref.organization, (kedge_bytes){NULL, 0}, id);
    if (kedge_api_is_of_organization(call)) kedge_api_resource_respond(call, &ref);
}

void kedge_api_organization_settings_put(kedge_api_call *call)
{
    char id[KEDGE_RESOURCE_NAMED_ID];
    kedge_resource_ref ref =
        kedge_resource_of_settings(call->project.ref.organization, (kedge_bytes){NULL, 0}, id);
    if (!kedge_api_is_of_organization(call) || !kedge_api_is_admin(call)) return;
    if (call->request->identity->projects != NULL) {
        kedge_api_refuse(call, 403, "not-allowed", "this token is for some projects only");
        return;
    }
    kedge_api_resource_write(call, &ref);
}

/* ---- of a project, which the router has let the caller see ---- */

/* Writes the resource if the project exists. */
static void write_of_project(kedge_api_call *call, const kedge_resource_ref *ref)
{
    const kedge_version *head;
    if (!kedge_api_is_admin(call) || !kedge_api_open_head(call, &head)) return;
    kedge_version_release(head);
    kedge_api_resource_write(call, ref);
}

void kedge_api_project_settings(kedge_api_call *call)
{
    char id[KEDGE_RESOURCE_NAMED_ID];
    const kedge_project_ref *project = &call->project.ref;
    kedge_resource_ref ref =
        kedge_resource_of_settings(project->organization, project->project, id);
    kedge_api_resource_respond(call, &ref);
}

void kedge_api_project_settings_put(kedge_api_call *call)
{
    char id[KEDGE_RESOURCE_NAMED_ID];
    const kedge_project_ref *project = &call->project.ref;
    kedge_resource_ref ref =
        kedge_resource_of_settings(project->organization, project->project, id);
    write_of_project(call, &ref);
}

void kedge_api_project_access(kedge_api_call *call)
{
    char id[KEDGE_RESOURCE_NAMED_ID];
    kedge_resource_ref ref = kedge_resource_of_access(&call->project.ref, id);
    if (kedge_api_is_admin(call)) kedge_api_resource_respond(call, &ref);
}

void kedge_api_project_access_put(kedge_api_call *call)
{
    char id[KEDGE_RESOURCE_NAMED_ID];
    kedge_resource_ref ref = kedge_resource_of_access(&call->project.ref, id);
    write_of_project(call, &ref);
}
