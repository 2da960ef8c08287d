/* Verify: index rows against the versions that they are made from, and against their lineage. */
#include "backend/jobs/verify_internal.h"

#include "backend/jobs/rows.h"
#include "backend/versioned/index/index.h"
#include "common/error.h"

/* ---- the rows of a version ---- */

/* When a damaged version keeps the rows from being made again, the findings of rows stand: single
 * ones would hide from readers that others are missing. */
static kedge_status ensure_rows(verifying *work, kedge_error *error)
{
    kedge_error failure = {0};
    if (work->rows_ensured) return KEDGE_OK;
    kedge_status status = kedge_index_ensure(work->project, &failure);
    if (status != KEDGE_OK && !verify_is_damage(status))
        return kedge_fail(error, status, failure.code, "%s", failure.message);
    work->rows_ensured = true;
    work->puts_rows = status == KEDGE_OK;
    return KEDGE_OK;
}

static kedge_status repair_row(verifying *work, const kedge_record_write *wanted,
                               kedge_error *error)
{
    const kedge_records *records = work->project->records;
    int64_t version = kedge_record_attribute(&wanted->record, "version")->number;
    kedge_status status = ensure_rows(work, error);
    if (status != KEDGE_OK || !work->puts_rows) return status;
    status = records->vtable->write(records->self, wanted, error);
    if (status != KEDGE_OK) return status;
    return verify_tell_repaired(work, "row", version, wanted->record.key.sort, "its version",
                                error);
}

static kedge_status see_row(void *context, const kedge_record_write *wanted,
                            const kedge_record *found, bool same, kedge_error *error)
{
    verifying *work = context;
    kedge_bytes key = wanted->record.key.sort;
    int64_t version = kedge_record_attribute(&wanted->record, "version")->number;
    kedge_status status = kedge_key_set_add(&work->rows, key, NULL, error);
    if (status != KEDGE_OK) return status;
    if (same || (found == NULL && version > work->rows_through)) return KEDGE_OK;
    if (found == NULL) {
        status =
            verify_tell(work, "row-missing", version, key, error, "the index row is not there");
    } else {
        status = verify_tell(work, "row-wrong", version, key, error,
                             "the index row is not what its version says");
    }
    return status == KEDGE_OK && work->repair ? repair_row(work, wanted, error) : status;
}

kedge_status verify_rows_of(verifying *work, const kedge_version *version, kedge_error *error)
{
    return kedge_rows_compare(work->project, version, see_row, work, error);
}

/* ---- all rows ---- */

static kedge_status check_row(void *context, const kedge_record *record, kedge_error *error)
{
    verifying *work = context;
    const kedge_attribute *version = kedge_record_attribute(record, "version");
    const kedge_attribute *lineage = kedge_record_attribute(record, "lineage");
    int64_t number = version == NULL ? 0 : version->number;
    bool known = false;
    work->summary->rows++;
    if (kedge_key_set_has(&work->rows, record->key.sort)) return KEDGE_OK;
    kedge_status status = KEDGE_OK;
    if (lineage != NULL) status = verify_knows(work, number, lineage->bytes, &known, error);
    if (status != KEDGE_OK) return status;
    if (!known) {
        return verify_tell(work, "row-foreign", number, record->key.sort, error,
                           "the version that it names is not there or has another lineage");
    }
    bool looked_at =
        number >= work->oldest && number <= work->newest && work->there[number - work->oldest];
    if (!looked_at) return KEDGE_OK;
    return verify_tell(work, "row-foreign", number, record->key.sort, error,
                       "the version that it names has no such run");
}

kedge_status verify_all_rows(verifying *work, kedge_error *error)
{
    static const char *const prefixes[] = {"Fork#", "Group#", "Mutation#", "Origin#"};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0] && status == KEDGE_OK; i++) {
        status = kedge_visit_records(work->project, prefixes[i], check_row, work, error);
    }
    return status;
}

/* ---- what stands for versions that are no longer kept ---- */

static kedge_status check_gone(void *context, const kedge_record *record, kedge_error *error)
{
    verifying *work = context;
    int64_t number = 0;
    const kedge_attribute *lineage = kedge_record_attribute(record, "lineage");
    if (!kedge_key_read_version(record->key.sort, &number) || number >= work->oldest) {
        return KEDGE_DONE;
    }
    bool follows = number == work->gone + 1;
    work->gone = number;
    if (follows && lineage != NULL && lineage->bytes.size == KEDGE_LINEAGE_HEX - 1) return KEDGE_OK;
    return verify_tell(work, "lineage-missing", number, record->key.sort, error,
                       "the record of this version, which is no longer kept, or of the ones "
                       "before it is not there");
}

kedge_status verify_gone(verifying *work, kedge_error *error)
{
    if (work->oldest == 1) return KEDGE_OK;
    kedge_status status =
        kedge_visit_records(work->project, "ProjectVersion#", check_gone, work, error);
    if (status == KEDGE_DONE) status = KEDGE_OK;
    if (status != KEDGE_OK || work->gone == work->oldest - 1) return status;
    kedge_key key = kedge_key_version(work->oldest - 1);
    return verify_tell(work, "lineage-missing", work->oldest - 1, kedge_key_bytes(&key), error,
                       "there is no record for this version, which is no longer kept");
}
