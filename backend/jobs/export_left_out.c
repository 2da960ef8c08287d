/* What belongs to a project beside its versions. An export leaves it out, and it must not be taken
 * for saved. */
#include "backend/jobs/export.h"

#include "backend/log/log.h"
#include "backend/resource/settings.h"

static kedge_status note_log(void *context, kedge_bytes name, int64_t created_s, kedge_error *error)
{
    (void)name, (void)created_s, (void)error;
    *(bool *)context = true;
    return KEDGE_OK;
}

static kedge_status look_for(const kedge_project *project, const kedge_resource_ref *ref,
                             const char *name, kedge_left_out *left, kedge_error *error)
{
    kedge_resource found = {.version = 0};
    kedge_error failure = {0};
    kedge_status status = kedge_resource_read(project->backend, ref, 0, &found, &failure);
    if (status == KEDGE_OK) left->names[left->count++] = name;
    kedge_resource_free(&found);
    if (status == KEDGE_OK || status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (error != NULL) *error = failure;
    return status;
}

kedge_status kedge_export_left_out(const kedge_project *project, kedge_left_out *left,
                                   kedge_error *error)
{
    char settings_id[KEDGE_RESOURCE_NAMED_ID];
    char access_id[KEDGE_RESOURCE_NAMED_ID];
    const kedge_resource_ref settings =
        kedge_resource_of_settings(project->ref.organization, project->ref.project, settings_id);
    const kedge_resource_ref access = kedge_resource_of_access(&project->ref, access_id);
    bool logs = false, more;
    kedge_status status =
        kedge_log_list(project, (kedge_bytes){NULL, 0}, 1, note_log, &logs, &more, error);
    if (status == KEDGE_OK && logs) left->names[left->count++] = "logs";
    if (status == KEDGE_OK) status = look_for(project, &settings, "settings", left, error);
    if (status == KEDGE_OK) status = look_for(project, &access, "access list", left, error);
    return status;
}
