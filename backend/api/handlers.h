/* The handlers, by route. Each responds to one request. */
#ifndef KEDGE_BACKEND_API_HANDLERS_H
#define KEDGE_BACKEND_API_HANDLERS_H

#include "backend/api/call.h"

void kedge_api_push(kedge_api_call *call);
void kedge_api_push_upload(kedge_api_call *call);
void kedge_api_pull(kedge_api_call *call);
void kedge_api_snapshot(kedge_api_call *call);
void kedge_api_snapshot_make(kedge_api_call *call);
void kedge_api_item_body(kedge_api_call *call);
void kedge_api_retire(kedge_api_call *call);
void kedge_api_versions(kedge_api_call *call);
void kedge_api_version(kedge_api_call *call);
void kedge_api_collection(kedge_api_call *call);
void kedge_api_item(kedge_api_call *call);
void kedge_api_mutations(kedge_api_call *call);
void kedge_api_mutation(kedge_api_call *call);
void kedge_api_project_create(kedge_api_call *call);
void kedge_api_project(kedge_api_call *call);
void kedge_api_project_list(kedge_api_call *call);
void kedge_api_project_organizations(kedge_api_call *call);
void kedge_api_limits(kedge_api_call *call);
void kedge_api_log_list(kedge_api_call *call);
void kedge_api_log_create(kedge_api_call *call);
void kedge_api_log(kedge_api_call *call);
void kedge_api_log_segments(kedge_api_call *call);
void kedge_api_log_new_segment(kedge_api_call *call);
void kedge_api_log_append(kedge_api_call *call);
void kedge_api_log_entries(kedge_api_call *call);
void kedge_api_log_snapshot(kedge_api_call *call);
void kedge_api_log_snapshot_chunk(kedge_api_call *call);
void kedge_api_log_metadata(kedge_api_call *call);
void kedge_api_log_archive(kedge_api_call *call);
void kedge_api_log_truncate(kedge_api_call *call);
void kedge_api_fork(kedge_api_call *call);
void kedge_api_rebase(kedge_api_call *call);
void kedge_api_resource_list(kedge_api_call *call);
void kedge_api_resource(kedge_api_call *call);
void kedge_api_resource_put(kedge_api_call *call);
void kedge_api_resource_delete(kedge_api_call *call);
void kedge_api_resource_versions(kedge_api_call *call);
void kedge_api_resource_rollback(kedge_api_call *call);
void kedge_api_organization_settings(kedge_api_call *call);
void kedge_api_organization_settings_put(kedge_api_call *call);
void kedge_api_project_settings(kedge_api_call *call);
void kedge_api_project_settings_put(kedge_api_call *call);
void kedge_api_project_access(kedge_api_call *call);
void kedge_api_project_access_put(kedge_api_call *call);

#endif
