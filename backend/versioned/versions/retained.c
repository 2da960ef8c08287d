/* Reads what retention leaves of versions. */
#include "backend/versioned/versions/retained.h"

#include "backend/base/backend.h"
#include "backend/versioned/model/entry_codec.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/versions/history.h"
#include "common/error.h"

kedge_status kedge_retained_oldest(const kedge_project *project, int64_t *oldest,
                                   kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_retention();
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    const kedge_records *records = project->records;
    kedge_record_set set = {0};
    if (project->history != NULL) return project->history->oldest(project, oldest, error);
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        *oldest = 1;
        return KEDGE_OK;
    }
    if (status != KEDGE_OK) return status;
    const kedge_attribute *number = kedge_record_attribute(&set.records[0], "oldest");
    if (number == NULL || number->type != KEDGE_ATTRIBUTE_NUMBER || number->number < 1) {
        status = kedge_record_damaged("the oldest version", error);
    } else {
        *oldest = number->number;
    }
    kedge_record_set_free(&set);
    return status;
}

bool kedge_retained_is_gone(const kedge_record *record)
{
    return kedge_record_attribute(record, "gone") != NULL;
}

kedge_status kedge_retained_fail(const kedge_project *project, int64_t wanted, int64_t missing,
                                 kedge_error *error)
{
    int64_t oldest = 1;
    kedge_status status = kedge_retained_oldest(project, &oldest, error);
    if (status != KEDGE_OK) return status;
    if (wanted < oldest) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "version-not-retained",
                          "version %lld is no longer kept", (long long)wanted);
    }
    return kedge_fail(error, KEDGE_CORRUPT, "version-missing",
                      "version %lld is not there, and version %lld needs it", (long long)missing,
                      (long long)wanted);
}
