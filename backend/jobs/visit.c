/* Visiting the records of a project, page by page. */
#include "backend/jobs/visit.h"

#include "backend/base/backend.h"

#include <stdio.h>
#include <string.h>

#define RECORDS_PER_PAGE 1000

kedge_status kedge_visit_records(const kedge_project *project, const char *prefix,
                                 kedge_record_visit visit, void *context, kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key after = {.size = 0};
    char last[KEDGE_KEY_BYTES_MAX];
    /* '~' is after everything that stands in a key. */
    (void)snprintf(last, sizeof last, "%s~", prefix);
    bool more = true;
    kedge_status status = KEDGE_OK;
    while (more && status == KEDGE_OK) {
        kedge_records_query query = {.partition = kedge_key_bytes(&partition),
                                     .sort_from = kedge_bytes_of(prefix),
                                     .sort_to = kedge_bytes_of(last),
                                     .after = kedge_key_bytes(&after),
                                     .limit = RECORDS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        more = set.more && set.count > 0;
        for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
            kedge_bytes sort = set.records[i].key.sort;
            after.size = sort.size < sizeof after.text ? sort.size : sizeof after.text;
            memcpy(after.text, sort.data, after.size);
            status = visit(context, &set.records[i], error);
        }
        kedge_record_set_free(&set);
    }
    return status;
}
