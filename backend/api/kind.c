/* Of which kind a call's project is. This is the only place that decides by it: a log project's
 * handle gets its history, and the rooms below do the rest. */
#include "backend/api/call.h"
#include "backend/logged/logged.h"
#include "backend/versioned/projects/projects.h"
#include "common/error.h"

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
    if (status == KEDGE_NOT_FOUND) return true; /* the handler says so, or creates it */
    if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
        return false;
    }
    if (call->project.history == NULL || logs) return true;
    kedge_api_refuse(call, 409, "project-kind",
                     "the project %.*s is a log project, which this request is not for",
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
