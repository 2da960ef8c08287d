/* A version record by record, for a store without transactions: the article's order, history first
 * and latest second, made safe beside other writers.
 *
 * The put of the latest record is the commit: until then nobody reads the new version. It succeeds
 * only while the latest record is the one that was read. A record of the history that is put before
 * it is *open*: it says what somebody wanted to write. A writer that finds an open record above the
 * latest version replaces it, as the seed says, whether its writer has died or is only slow.
 *
 * So an open record of the history may hold another writer's value, not the committed one. Only the
 * latest record says what its version is. Before a writer replaces or deletes the latest record, it
 * copies it into the history, and the copy is closed. A closed record never changes: every copy of
 * one version has the same content, and only open records are replaced.
 *
 * A deletion leaves a record that says so. Were the record absent, then a slow writer that had seen
 * its absence before could create a version that was already there. */
#include "backend/resource/commit.h"

#include "common/assert.h"

#include <string.h>

static kedge_status put(kedge_backend *backend, const kedge_record_write *write, kedge_error *error)
{
    const kedge_records *records = &backend->options.records;
    return records->vtable->write(records->self, write, error);
}

/* Puts the latest version into the history, for good. May be repeated: the record is the same. */
static kedge_status close_latest(kedge_backend *backend, const kedge_resource_ref *ref,
                                 const kedge_resource *latest, kedge_error *error)
{
    kedge_resource_key key;
    kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES];
    kedge_resource_key_history(ref, latest->version, &key);
    size_t count = kedge_resource_row_write(latest, KEDGE_RESOURCE_MARK_NONE, attributes);
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT, .record = {key.key, attributes, count}};
    return put(backend, &write, error);
}

/* Step 1: the history, in place of what another writer may have left open there. */
static kedge_status put_open(kedge_backend *backend, const kedge_resource_ref *ref,
                             const kedge_resource *next, kedge_error *error)
{
    kedge_resource_key key;
    kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES];
    kedge_resource_key_history(ref, next->version, &key);
    size_t count = kedge_resource_row_write(next, KEDGE_RESOURCE_MARK_OPEN, attributes);
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {key.key, attributes, count},
                                .condition = KEDGE_IF_ABSENT};
    kedge_status status = put(backend, &write, error);
    if (status != KEDGE_CONFLICT) return status;
    write.condition = KEDGE_IF_EQUAL;
    write.expected =
        (kedge_attribute){.name = KEDGE_RESOURCE_OPEN, .type = KEDGE_ATTRIBUTE_NUMBER, .number = 1};
    return put(backend, &write, error);
}

/* Step 2, the commit. */
static kedge_status put_latest(kedge_backend *backend, const kedge_resource_ref *ref,
                               const kedge_resource_head *head, const kedge_resource *next,
                               kedge_resource_mark mark, kedge_error *error)
{
    kedge_resource_key key;
    kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES];
    kedge_resource_key_latest(ref, &key);
    size_t count = kedge_resource_row_write(next, mark, attributes);
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT, .record = {key.key, attributes, count}};
    kedge_resource_if_head(head, &write);
    return put(backend, &write, error);
}

kedge_status kedge_resource_commit_in_order(kedge_backend *backend, const kedge_resource_ref *ref,
                                            const kedge_resource_head *head,
                                            const kedge_resource *next, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    KEDGE_ASSERT(next->version > head->row.version);
    if (kedge_resource_head_latest(head) > 0) {
        status = close_latest(backend, ref, &head->row, error);
    }
    if (status == KEDGE_OK) status = put_open(backend, ref, next, error);
    if (status != KEDGE_OK) return status;
    return put_latest(backend, ref, head, next, KEDGE_RESOURCE_MARK_NONE, error);
}

kedge_status kedge_resource_remove_in_order(kedge_backend *backend, const kedge_resource_ref *ref,
                                            const kedge_resource_head *head, kedge_error *error)
{
    KEDGE_ASSERT(head->present && !head->deleted);
    kedge_status status = close_latest(backend, ref, &head->row, error);
    if (status != KEDGE_OK) return status;
    kedge_resource mark = head->row;
    mark.value = (kedge_bytes){NULL, 0};
    kedge_random_hex(backend->environment, (KEDGE_RESOURCE_UID_HEX - 1) / 2, mark.uid);
    return put_latest(backend, ref, head, &mark, KEDGE_RESOURCE_MARK_DELETED, error);
}
