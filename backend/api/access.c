/* What an identity may see. The response for a thing that it may not see is exactly that for one
 * that does not exist. */
#include "backend/api/call.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/versions/retained.h"
#include "common/error.h"

bool kedge_api_may_see(const kedge_identity *identity, kedge_bytes organization,
                       kedge_bytes project)
{
    if (!kedge_bytes_equal_text(KEDGE_BYTES("*"), identity->organization) &&
        !kedge_bytes_equal_text(organization, identity->organization)) {
        return false;
    }
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
    const kedge_identity *identity = call->request->identity;
    kedge_bytes organization = call->project.ref.organization;
    if (kedge_bytes_equal_text(KEDGE_BYTES("*"), identity->organization) ||
        kedge_bytes_equal_text(organization, identity->organization)) {
        return true;
    }
    kedge_api_refuse(call, 404, "organization-not-found", "there is no organization %.*s",
                     (int)organization.size, organization.data);
    return false;
}

void kedge_api_refuse_project(kedge_api_call *call)
{
    kedge_api_refuse(call, 404, "project-not-found", "there is no project %.*s/%.*s",
                     (int)call->project.ref.organization.size, call->project.ref.organization.data,
                     (int)call->project.ref.project.size, call->project.ref.project.data);
}

kedge_status kedge_api_create_on_use(const kedge_project *project, kedge_error *error)
{
    bool created;
    int64_t created_ms;
    if (!project->backend->options.create_projects) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "project-not-found", "there is no such project");
    }
    kedge_status status = kedge_project_create(project, &created, &created_ms, error);
    if (status == KEDGE_OK) {
        kedge_project_kinds_put(&project->backend->project_kinds, &project->ref,
                                KEDGE_PROJECT_VERSIONS);
    }
    return status;
}

kedge_status kedge_api_head(const kedge_project *project, const kedge_version **head,
                            kedge_error *error)
{
    kedge_status status = kedge_version_load(project, 0, head, error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = kedge_api_create_on_use(project, error);
    if (status != KEDGE_OK) return status;
    return kedge_version_load(project, 0, head, error);
}

bool kedge_api_open_head(kedge_api_call *call, const kedge_version **head)
{
    kedge_status status = kedge_api_head(&call->project, head, &call->error);
    if (status == KEDGE_OK) return true;
    if (status == KEDGE_NOT_FOUND) {
        kedge_api_refuse_project(call);
    } else {
        kedge_api_fail(call, status);
    }
    return false;
}

bool kedge_api_open_version(kedge_api_call *call, int64_t number, int status, const char *code,
                            const kedge_version **version)
{
    const kedge_version *head;
    if (!kedge_api_open_head(call, &head)) return false;
    if (number == 0 || number == head->number) {
        *version = head;
        return true;
    }
    int64_t newest = head->number;
    int64_t oldest = 1;
    kedge_version_release(head);
    kedge_status loaded = KEDGE_NOT_FOUND;
    if (number < newest) {
        loaded = kedge_retained_oldest(&call->project, &oldest, &call->error);
        if (loaded == KEDGE_OK && number < oldest) {
            kedge_api_refuse(call, status, status == 404 ? "version-not-retained" : code,
                             "version %lld is no longer kept; the oldest is %lld",
                             (long long)number, (long long)oldest);
            return false;
        }
    }
    if (loaded == KEDGE_OK) {
        loaded = kedge_version_load(&call->project, number, version, &call->error);
    }
    if (loaded == KEDGE_OK) return true;
    if (loaded == KEDGE_NOT_FOUND) {
        kedge_api_refuse(call, status, code, "there is no version %lld; the newest is %lld",
                         (long long)number, (long long)newest);
    } else {
        kedge_api_fail(call, loaded);
    }
    return false;
}

bool kedge_api_query_version(kedge_api_call *call, int64_t *number)
{
    bool present;
    *number = 0;
    kedge_buffer text = kedge_buffer_make(call->allocator);
    bool read = kedge_api_query_text(call, "version", &text, &present);
    if (read && present && !kedge_wire_version_read(kedge_buffer_bytes(&text), number)) {
        kedge_api_refuse(call, 400, "query-invalid",
                         "the parameter \"version\" must be \"latest\" or a number from 1 on");
        read = false;
    }
    kedge_buffer_free(&text);
    return read;
}
