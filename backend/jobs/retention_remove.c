/* Retention: the commit, and what goes behind it. */
#include "backend/jobs/retention_internal.h"

#include "backend/core/retained.h"
#include "common/error.h"

#include <string.h>

#define WRITES_PER_TRANSACTION 90
#define GONE_ATTRIBUTES        3

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
    const kedge_records *records = &work->backend->options.records;
    kedge_status status = records->vtable->write(records->self, &write, error);
    if (status != KEDGE_CONFLICT) return status;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "retention-raced",
                      "somebody else removes versions of this project; run it again");
}

kedge_status retention_commit(retaining *work, kedge_error *error)
{
    kedge_status status = put_record(work, work->recorded ? work->before : 0, work->gone, error);
    if (status == KEDGE_OK) work->recorded = true;
    return status;
}

/* ---- versions ---- */

/* What stands for one version from now on. The record is in memory while the writes are. */
static void replace_with_lineage(retaining *work, const kedge_record *record,
                                 kedge_attribute attributes[GONE_ATTRIBUTES],
                                 kedge_record_write *write)
{
    const kedge_attribute *lineage = kedge_record_attribute(record, "lineage");
    const kedge_attribute *created = kedge_record_attribute(record, "created");
    attributes[0] = (kedge_attribute){"gone", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1};
    attributes[1] = *lineage;
    attributes[2] = (kedge_attribute){
        "created", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, created == NULL ? 0 : created->number};
    *write = (kedge_record_write){.kind = KEDGE_WRITE_PUT,
                                  .record = {{kedge_key_bytes(&work->partition), record->key.sort},
                                             attributes,
                                             GONE_ATTRIBUTES},
                                  .condition = KEDGE_IF_EQUAL,
                                  .expected = *lineage};
}

static kedge_status replace_page(retaining *work, const kedge_record_set *set, kedge_error *error)
{
    const kedge_records *records = &work->backend->options.records;
    kedge_attribute attributes[WRITES_PER_TRANSACTION][GONE_ATTRIBUTES];
    kedge_record_write writes[WRITES_PER_TRANSACTION];
    size_t count = 0;
    for (size_t i = 0; i < set->count && count < WRITES_PER_TRANSACTION; i++) {
        const kedge_record *record = &set->records[i];
        bool whole = kedge_record_attribute(record, "lineage") != NULL;
        if (!whole || kedge_retained_is_gone(record)) continue;
        replace_with_lineage(work, record, attributes[count], &writes[count]);
        count++;
    }
    if (count == 0) return KEDGE_OK;
    return records->vtable->transact(records->self, writes, count, error);
}

/* The oldest first: what is left is one run of versions up to the newest. */
static kedge_status replace_versions(retaining *work, kedge_error *error)
{
    const kedge_records *records = &work->backend->options.records;
    int64_t next = work->gone + 1;
    kedge_status status = KEDGE_OK;
    while (next < work->oldest->number && status == KEDGE_OK) {
        kedge_key from = kedge_key_version(next);
        kedge_key to = kedge_key_version(work->oldest->number - 1);
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = WRITES_PER_TRANSACTION,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK || set.count == 0) break;
        status = replace_page(work, &set, error);
        kedge_key_read_version(set.records[set.count - 1].key.sort, &next);
        next++;
        kedge_record_set_free(&set);
    }
    return status;
}

/* ---- checkpoints ---- */

static kedge_status delete_page(retaining *work, const kedge_record_set *set, kedge_error *error)
{
    const kedge_records *records = &work->backend->options.records;
    kedge_record_write writes[WRITES_PER_TRANSACTION];
    for (size_t i = 0; i < set->count; i++) {
        writes[i] = (kedge_record_write){.kind = KEDGE_WRITE_DELETE,
                                         .record = {.key = set->records[i].key}};
    }
    return records->vtable->transact(records->self, writes, set->count, error);
}

/* Those below the number that the collection had in front of the oldest version. */
static kedge_status delete_checkpoints(retaining *work, const kedge_version_collection *collection,
                                       kedge_error *error)
{
    const kedge_records *records = &work->backend->options.records;
    kedge_key from = kedge_key_collection(collection->name, 0, 0);
    kedge_key to = kedge_key_collection(collection->name, collection->number - 1, KEDGE_PART_MAX);
    kedge_status status = KEDGE_OK;
    bool more = true;
    while (more && status == KEDGE_OK) {
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = WRITES_PER_TRANSACTION,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        more = set.count > 0;
        if (more) status = delete_page(work, &set, error);
        work->result->checkpoints += (int64_t)set.count;
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
