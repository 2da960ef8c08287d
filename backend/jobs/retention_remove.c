/* Retention: the commit, and the removals after it. Records are removed one by one: nothing needs
 * them to disappear together, and a store that charges by size limits how much may be removed in a
 * second. */
#include "backend/jobs/retention_internal.h"

#include "backend/versioned/versions/versions.h"
#include "common/error.h"

#include <string.h>

#define RECORDS_PER_PAGE 90

/* ---- the record ---- */

static kedge_status put_record(retaining *work, int64_t expected, int64_t gone, kedge_error *error)
{
    kedge_key sort = kedge_key_retention();
    kedge_attribute attributes[] = {
        {"oldest", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, work->oldest->number},
        {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->oldest->lineage), 0},
        {"gone_through", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, gone}};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)}, attributes, 3},
        .condition = expected == 0 ? KEDGE_IF_ABSENT : KEDGE_IF_EQUAL,
        .expected = {"oldest", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, expected}};
    const kedge_records *records = work->project->records;
    kedge_status status = records->vtable->write(records->self, &write, error);
    if (status != KEDGE_CONFLICT) return status;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "retention-raced",
                      "another retention has removed versions of this project meanwhile; run it "
                      "again");
}

kedge_status retention_commit(retaining *work, kedge_error *error)
{
    kedge_status status = put_record(work, work->recorded ? work->before : 0, work->gone, error);
    if (status == KEDGE_OK) work->recorded = true;
    return status;
}

/* ---- versions ---- */

/* Replaces the record of one version by its lineage. */
static kedge_status replace_version(retaining *work, const kedge_record *record, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    const kedge_attribute *lineage = kedge_record_attribute(record, "lineage");
    const kedge_attribute *created = kedge_record_attribute(record, "created");
    if (lineage == NULL || kedge_retained_is_gone(record)) return KEDGE_OK;
    kedge_attribute attributes[] = {
        {"gone", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1},
        *lineage,
        {"created", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, created == NULL ? 0 : created->number}};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_key_bytes(&work->partition), record->key.sort}, attributes, 3},
        .condition = KEDGE_IF_EQUAL,
        .expected = *lineage};
    return records->vtable->write(records->self, &write, error);
}

/* The oldest first, so that the versions that are left have no gap at any moment. */
static kedge_status replace_versions(retaining *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    int64_t next = work->gone + 1;
    kedge_status status = KEDGE_OK;
    while (next < work->oldest->number && status == KEDGE_OK) {
        kedge_key from = kedge_key_version(next);
        kedge_key to = kedge_key_version(work->oldest->number - 1);
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = RECORDS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK || set.count == 0) {
            kedge_record_set_free(&set);
            break;
        }
        for (size_t i = 0; i < set.count && status == KEDGE_OK; i++)
            status = replace_version(work, &set.records[i], error);
        kedge_key_read_version(set.records[set.count - 1].key.sort, &next);
        next++;
        kedge_record_set_free(&set);
    }
    return status;
}

/* ---- checkpoints ---- */

static kedge_status delete_record(retaining *work, const kedge_record *record, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE, .record = {.key = record->key}};
    kedge_status status = records->vtable->write(records->self, &write, error);
    if (status == KEDGE_OK) work->result->checkpoints++;
    return status;
}

/* The collection's checkpoints below the number that it had in front of the oldest version. */
static kedge_status delete_checkpoints(retaining *work, const kedge_version_collection *collection,
                                       kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key from = kedge_key_collection(collection->name, 0, 0);
    kedge_key to = kedge_key_collection(collection->name, collection->number - 1, KEDGE_PART_MAX);
    kedge_status status = KEDGE_OK;
    bool more = true;
    while (more && status == KEDGE_OK) {
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = RECORDS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        more = set.count > 0;
        /* In the order of the keys, which have a root in front of its parts. */
        for (size_t i = 0; i < set.count && status == KEDGE_OK; i++)
            status = delete_record(work, &set.records[i], error);
        kedge_record_set_free(&set);
    }
    return status;
}

kedge_status retention_remove(retaining *work, kedge_error *error)
{
    const kedge_version *oldest = work->oldest;
    kedge_status status = replace_versions(work, error);
    for (size_t i = 0; i < oldest->collection_count && status == KEDGE_OK; i++) {
        kedge_version_collection base;
        if (!kedge_replay_before(oldest, &oldest->collections[i], &base)) continue;
        status = delete_checkpoints(work, &base, error);
    }
    if (status != KEDGE_OK || work->gone >= oldest->number - 1) return status;
    return put_record(work, oldest->number, oldest->number - 1, error);
}
