/* Decides who may see what: first by the identity, then by the access list of the project. When an
 * identity may not see something, the response is the same as when it does not exist.
 *
 * An access list admits only the users that it names, each with its role. A project without a list
 * admits everybody whose token covers it. An admin is always admitted, with the role of the token,
 * so that a wrong list can be corrected. */
#include "backend/api/access.h"
#include "backend/api/open.h"
#include "backend/resource/settings.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/projects.h"
#include "backend/versioned/usage/usage.h"
#include "backend/versioned/versions/versions.h"
#include "common/error.h"

/* ---- by the identity ---- */

static bool is_of(const kedge_identity *identity, kedge_bytes organization)
{
    return kedge_bytes_equal_text(KEDGE_BYTES("*"), identity->organization) ||
           kedge_bytes_equal_text(organization, identity->organization);
}

bool kedge_api_may_see(const kedge_identity *identity, kedge_bytes organization,
                       kedge_bytes project)
{
    if (!is_of(identity, organization)) return false;
    if (identity->projects == NULL) return true;
    for (size_t at = 0; at < identity->project_count; at++) {
        if (kedge_bytes_equal_text(project, identity->projects[at])) return true;
    }
    return false;
}

bool kedge_api_is_admin(kedge_api_call *call)
{
    if (call->request->identity->admin) return true;
    kedge_api_refuse(call, 403, "not-allowed", "this request needs the role admin");
    return false;
}

bool kedge_api_is_of_organization(kedge_api_call *call)
{
    kedge_bytes organization = call->project.ref.organization;
    if (is_of(call->request->identity, organization)) return true;
    kedge_api_refuse(call, 404, "organization-not-found", "there is no organization %.*s",
                     (int)organization.size, organization.data);
    return false;
}

/* ---- by the access list ---- */

static kedge_status fail_not_found(kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "project-not-found", "there is no such project");
}

kedge_status kedge_api_admit(const kedge_project *project, const kedge_identity *identity,
                             kedge_api_admission *admission, kedge_error *error)
{
    char id[KEDGE_RESOURCE_NAMED_ID];
    uint64_t since;
    kedge_resource list = {0};
    kedge_backend *backend = project->backend;
    admission->listed = false;
    if (!kedge_api_may_see(identity, project->ref.organization, project->ref.project))
        return fail_not_found(error);
    if (identity->admin) return KEDGE_OK;
    kedge_resource_ref ref = kedge_resource_of_access(&project->ref, id);
    if (kedge_unlisted_has(&backend->unlisted, ref.organization, ref.id, &since)) return KEDGE_OK;
    kedge_status status = kedge_resource_read(backend, &ref, 0, &list, error);
    if (status == KEDGE_NOT_FOUND) {
        kedge_unlisted_note(&backend->unlisted, ref.organization, ref.id, since);
        return KEDGE_OK;
    }
    if (status != KEDGE_OK) return status;
    admission->listed = true;
    bool named = kedge_resource_access_role(list.value, identity->user, admission->role);
    kedge_resource_free(&list);
    return named ? KEDGE_OK : fail_not_found(error);
}

/* Gives the call the role that the access list says, when there is a list. */
static void take_role(kedge_api_call *call)
{
    if (!call->admission.listed) return;
    call->admitted = *call->request->identity;
    call->admitted.role = call->admission.role;
    call->admitted_request = *call->request;
    call->admitted_request.identity = &call->admitted;
    call->request = &call->admitted_request;
}

bool kedge_api_enter_project(kedge_api_call *call)
{
    kedge_status status =
        kedge_api_admit(&call->project, call->request->identity, &call->admission, &call->error);
    if (status == KEDGE_NOT_FOUND) {
        kedge_api_refuse_project(call);
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    } else {
        take_role(call);
    }
    return status == KEDGE_OK;
}

static kedge_status note_list(void *context, kedge_bytes id, const kedge_resource *resource,
                              kedge_error *error)
{
    (void)id;
    (void)resource;
    (void)error;
    *(bool *)context = true;
    return KEDGE_OK;
}

kedge_status kedge_api_has_access_lists(kedge_api_call *call, bool *any)
{
    bool more;
    kedge_resource_ref ref = {.organization = call->project.ref.organization,
                              .kind = KEDGE_BYTES(KEDGE_RESOURCE_ACCESS)};
    const kedge_resource_page page = {.visit = note_list, .context = any, .limit = 1};
    *any = false;
    return kedge_resource_list(call->project.backend, &ref, (kedge_bytes){NULL, 0}, &page, &more,
                               &call->error);
}

/* Checks whether a member whose token names no projects may create the project, or use it when it
 * exists. KEDGE_FORBIDDEN: the organization has access lists, and whether the creation succeeds
 * would tell the member which names hidden projects have. */
static kedge_status check_free_name(kedge_api_call *call)
{
    bool lists;
    kedge_project_kind kind;
    kedge_status status = kedge_project_read_kind(&call->project, &kind, &call->error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = kedge_api_has_access_lists(call, &lists);
    return status == KEDGE_OK && lists ? KEDGE_FORBIDDEN : status;
}

bool kedge_api_may_create(kedge_api_call *call)
{
    const kedge_identity *identity = call->request->identity;
    const kedge_project_ref *ref = &call->project.ref;
    bool any_name = identity->projects == NULL && !identity->admin &&
                    kedge_api_may_see(identity, ref->organization, ref->project);
    if (!any_name) return kedge_api_enter_project(call);
    kedge_status status = kedge_api_admit(&call->project, identity, &call->admission, &call->error);
    if (status == KEDGE_OK && !call->admission.listed) {
        status = check_free_name(call);
    } else if (status == KEDGE_NOT_FOUND) {
        status = KEDGE_FORBIDDEN;
    }
    if (status == KEDGE_FORBIDDEN) {
        kedge_api_refuse(call, 403, "not-allowed",
                         "in an organization with access lists, a project is created by an admin, "
                         "or by a user whose token names it");
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    } else {
        take_role(call);
    }
    return status == KEDGE_OK;
}

static kedge_status read_version(kedge_backend *backend, const kedge_identity *identity,
                                 kedge_bytes organization, kedge_bytes project, bool creates,
                                 int64_t *version, kedge_error *error)
{
    kedge_project_ref ref = {organization, project};
    kedge_project opened = kedge_project_of(backend, &ref);
    const kedge_version *head;
    kedge_api_admission admission;
    if (kedge_project_ref_check(&ref, NULL) != KEDGE_OK) return fail_not_found(error);
    kedge_status status = kedge_api_admit(&opened, identity, &admission, error);
    if (status != KEDGE_OK) return status;
    status = kedge_api_find_kind(&opened, error);
    kedge_usage_begin();
    if (creates && (status == KEDGE_OK || status == KEDGE_NOT_FOUND))
        status = kedge_api_head(&opened, &head, error);
    else if (status == KEDGE_OK)
        status = kedge_version_load_detail(&opened, 0, KEDGE_VERSION_STATE, &head, error);
    kedge_usage_end(&opened);
    if (status != KEDGE_OK) return status;
    *version = head->number;
    kedge_version_release(head);
    return KEDGE_OK;
}

kedge_status kedge_backend_current_version(kedge_backend *backend, const kedge_identity *identity,
                                           kedge_bytes organization, kedge_bytes project,
                                           int64_t *version, kedge_error *error)
{
    return read_version(backend, identity, organization, project, true, version, error);
}

kedge_status kedge_backend_newest_version(kedge_backend *backend, const kedge_identity *identity,
                                          kedge_bytes organization, kedge_bytes project,
                                          int64_t *version, kedge_error *error)
{
    return read_version(backend, identity, organization, project, false, version, error);
}
