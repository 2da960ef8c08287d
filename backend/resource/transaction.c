/* A version in one transaction: its record in the history, where there must be none, and the latest
 * record, which must still be the one that was read. Either both are there or neither.
 *
 * A deletion removes the latest record alone, as the article has it. A writer that has read the
 * absence of a latest record before a creation and a deletion cannot create the same version again:
 * its record of the history is there. */
#include "backend/resource/commit.h"

#include "common/assert.h"

void kedge_resource_if_head(const kedge_resource_head *head, kedge_record_write *write)
{
    write->condition = head->present ? KEDGE_IF_EQUAL : KEDGE_IF_ABSENT;
    if (!head->present) return;
    write->expected = (kedge_attribute){KEDGE_RESOURCE_UID, KEDGE_ATTRIBUTE_TEXT,
                                        kedge_bytes_of(head->row.uid), 0};
}

kedge_status kedge_resource_commit_transaction(kedge_backend *backend,
                                               const kedge_resource_ref *ref,
                                               const kedge_resource_head *head,
                                               const kedge_resource *next, kedge_error *error)
{
    kedge_resource_key history;
    kedge_resource_key latest;
    kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES];
    const kedge_records *records = &backend->options.records;
    KEDGE_ASSERT(next->version > head->row.version);
    size_t count = kedge_resource_row_write(next, KEDGE_RESOURCE_MARK_NONE, attributes);
    kedge_resource_key_history(ref, next->version, &history);
    kedge_resource_key_latest(ref, &latest);
    kedge_record_write writes[] = {
        {.kind = KEDGE_WRITE_PUT,
         .record = {history.key, attributes, count},
         .condition = KEDGE_IF_ABSENT},
        {.kind = KEDGE_WRITE_PUT, .record = {latest.key, attributes, count}}};
    kedge_resource_if_head(head, &writes[1]);
    return records->vtable->transact(records->self, writes, 2, error);
}

kedge_status kedge_resource_remove_transaction(kedge_backend *backend,
                                               const kedge_resource_ref *ref,
                                               const kedge_resource_head *head, kedge_error *error)
{
    kedge_resource_key latest;
    const kedge_records *records = &backend->options.records;
    KEDGE_ASSERT(head->present && !head->deleted);
    kedge_resource_key_latest(ref, &latest);
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE, .record = {.key = latest.key}};
    kedge_resource_if_head(head, &write);
    return records->vtable->write(records->self, &write, error);
}
