/* The logs of a project. */
#include "backend/log/layout.h"

kedge_status kedge_log_list(const kedge_project *project, kedge_bytes after, uint32_t limit,
                            kedge_log_visit visit, void *context, bool *more, kedge_error *error)
{
    kedge_log_key partition = kedge_log_key_logs(&project->ref);
    kedge_records_query query = {
        .partition = kedge_log_key_bytes(&partition), .after = after, .limit = limit};
    kedge_record_set set = {0};
    kedge_status status =
        project->records->vtable->query(project->records->self, &query, &set, error);
    if (status == KEDGE_OK) *more = set.more;
    for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
        const kedge_attribute *created = kedge_record_attribute(&set.records[i], "C");
        status =
            visit(context, set.records[i].key.sort, created == NULL ? 0 : created->number, error);
    }
    kedge_record_set_free(&set);
    return status;
}
