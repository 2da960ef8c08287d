/* The project of a call: of which kind it is, how its first use creates it, and its versions.
 *
 * This is the only place that decides by the kind: the handle of a log project gets its history,
 * and the folders below do the rest. */
#include "backend/api/open.h"
#include "backend/logged/logged.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/projects/projects.h"
#include "backend/versioned/usage/usage.h"
#include "backend/versioned/versions/versions.h"
#include "common/error.h"

#include <string.h>

/* ---- its kind ---- */

kedge_status kedge_api_find_kind(kedge_project *project, kedge_error *error)
{
    kedge_project_kind kind = KEDGE_PROJECT_VERSIONS;
    project->history = NULL;
    kedge_status status = kedge_project_find_kind(project, &kind, error);
    if (status == KEDGE_OK && kind == KEDGE_PROJECT_LOG) project->history = &kedge_logged_history;
    return status;
}

bool kedge_api_choose_kind(kedge_api_call *call, bool logs)
{
    kedge_status status = kedge_api_find_kind(&call->project, &call->error);
    if (status == KEDGE_NOT_FOUND) {
        /* Refused before the request is looked at, as for a project that the caller may not see:
         * the two must not be told apart. */
        if (call->project.backend->options.create_projects) return true;
        kedge_api_refuse_project(call);
        return false;
    }
    if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
        return false;
    }
    if (call->project.history == NULL || logs) return true;
    kedge_api_refuse(call, 409, "project-kind",
                     "the project %.*s is a log project; this request is for other projects",
                     (int)call->project.ref.project.size, call->project.ref.project.data);
    return false;
}

void kedge_api_refuse_foreign(kedge_api_call *call)
{
    kedge_api_refuse(call, 409, "project-kind",
                     "the project %.*s is a log project: its clients replay mutations, which "
                     "Replicache cannot do",
                     (int)call->project.ref.project.size, call->project.ref.project.data);
}

bool kedge_api_is_free_log(kedge_api_call *call)
{
    if (call->project.history == NULL ||
        !kedge_bytes_equal_text(call->argument[0], KEDGE_LOGGED_LOG))
        return true;
    kedge_api_refuse(call, 409, "log-reserved",
                     "the log " KEDGE_LOGGED_LOG " holds the mutations of this log project; only "
                     "a push writes it");
    return false;
}

/* ---- its versions ---- */

void kedge_api_refuse_project(kedge_api_call *call)
{
    kedge_api_refuse(call, 404, "project-not-found", "there is no project %.*s/%.*s",
                     (int)call->project.ref.organization.size, call->project.ref.organization.data,
                     (int)call->project.ref.project.size, call->project.ref.project.data);
}

static kedge_status check_budgets(const kedge_project *project, kedge_error *error)
{
    kedge_status status = kedge_usage_check_projects(project, error);
    return status == KEDGE_OK ? kedge_usage_check_stored(project, 0, error) : status;
}

kedge_status kedge_api_check_new_project(const kedge_project *project, kedge_error *error)
{
    kedge_project_kind kind;
    kedge_error refusal = {0};
    kedge_error absent = {0};
    kedge_status status = check_budgets(project, &refusal);
    if (status == KEDGE_OK || kedge_project_read_kind(project, &kind, &absent) == KEDGE_OK)
        return KEDGE_OK;
    *error = refusal;
    return status;
}

static kedge_status fail_absent(kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "project-not-found", "there is no such project");
}

kedge_status kedge_api_create_on_use(const kedge_project *project, kedge_error *error)
{
    bool created;
    int64_t created_ms;
    if (!project->backend->options.create_projects) return fail_absent(error);
    kedge_status status = check_budgets(project, error);
    if (status == KEDGE_OK) status = kedge_project_create(project, &created, &created_ms, error);
    /* While an import or a deletion has the name, there is no such project for anybody. */
    if (status == KEDGE_CONFLICT && strcmp(error->code, KEDGE_PROJECT_NAME_TAKEN) == 0)
        return fail_absent(error);
    if (status == KEDGE_OK) {
        if (created) kedge_usage_created(project);
        kedge_project_kinds_put(&project->backend->project_kinds, &project->ref,
                                KEDGE_PROJECT_VERSIONS);
    }
    return status;
}

kedge_status kedge_api_head(const kedge_project *project, const kedge_version **head,
                            kedge_error *error)
{
    kedge_status status = kedge_version_load_detail(project, 0, KEDGE_VERSION_STATE, head, error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = kedge_api_create_on_use(project, error);
    if (status != KEDGE_OK) return status;
    return kedge_version_load_detail(project, 0, KEDGE_VERSION_STATE, head, error);
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

kedge_status kedge_api_knows(kedge_api_call *call, const kedge_version *head, int64_t number,
                             const char *lineage, bool *known)
{
    const kedge_version *creation;
    *known = false;
    if (number > head->number) return KEDGE_OK;
    if (number == head->number) {
        *known = strcmp(lineage, head->lineage) == 0;
        return KEDGE_OK;
    }
    if (number > 0)
        return kedge_version_is_known(&call->project, number, lineage, known, &call->error);
    kedge_status status = kedge_version_load_creation(&call->project, &creation, &call->error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    *known = strcmp(lineage, creation->lineage) == 0;
    kedge_version_release(creation);
    return KEDGE_OK;
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
        loaded = kedge_version_load_detail(&call->project, number, KEDGE_VERSION_STATE, version,
                                           &call->error);
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
