/* See head.h. */
#include "backend/resource/head.h"

#include "common/assert.h"
#include "common/error.h"

#define OPEN_ROWS_MAX 1 /* above the newest version of a history */

void kedge_resource_free(kedge_resource *resource)
{
    kedge_record_set_free(&resource->memory);
    *resource = (kedge_resource){0};
}

/* One record; `*row` owns what it borrows from. */
static kedge_status get_row(kedge_backend *backend, const kedge_resource_ref *ref,
                            const kedge_record_key *key, bool consistent, kedge_resource *row,
                            kedge_resource_mark *mark, kedge_error *error)
{
    const kedge_records *records = &backend->options.records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, key, consistent, &set, error);
    if (status != KEDGE_OK) return status;
    status = kedge_resource_row_read(backend->allocator, ref, &set.records[0], row, mark, error);
    if (status == KEDGE_OK) {
        row->memory = set;
    } else {
        kedge_record_set_free(&set);
    }
    return status;
}

kedge_status kedge_resource_head_load(kedge_backend *backend, const kedge_resource_ref *ref,
                                      kedge_resource_head *head, kedge_error *error)
{
    kedge_resource_key key;
    kedge_resource_head found = {.present = false};
    kedge_resource_mark mark = KEDGE_RESOURCE_MARK_NONE;
    kedge_resource_key_latest(ref, &key);
    kedge_status status = get_row(backend, ref, &key.key, true, &found.row, &mark, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    found.present = status == KEDGE_OK;
    found.deleted = mark == KEDGE_RESOURCE_MARK_DELETED;
    *head = found;
    return KEDGE_OK;
}

int64_t kedge_resource_head_latest(const kedge_resource_head *head)
{
    return head->present && !head->deleted ? head->row.version : 0;
}

/* A version of the history that is not open never changes, so that a read that may be stale serves
 * when it finds one. */
kedge_status kedge_resource_history_get(kedge_backend *backend, const kedge_resource_ref *ref,
                                        int64_t version, kedge_resource *row, kedge_error *error)
{
    kedge_resource_key key;
    kedge_resource_mark mark = KEDGE_RESOURCE_MARK_NONE;
    kedge_resource_key_history(ref, version, &key);
    for (int consistent = 0; consistent < 2; consistent++) {
        kedge_resource found = {0};
        kedge_status status =
            get_row(backend, ref, &key.key, consistent == 1, &found, &mark, error);
        if (status == KEDGE_OK && mark == KEDGE_RESOURCE_MARK_NONE) {
            *row = found;
            return KEDGE_OK;
        }
        kedge_resource_free(&found);
        if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    }
    return KEDGE_NOT_FOUND;
}

static kedge_status take_newest(kedge_backend *backend, const kedge_resource_ref *ref,
                                kedge_record_set *set, kedge_resource *row, kedge_error *error)
{
    for (size_t i = 0; i < set->count; i++) {
        kedge_resource found = {0};
        kedge_resource_mark mark;
        kedge_status status = kedge_resource_row_read(backend->allocator, ref, &set->records[i],
                                                      &found, &mark, error);
        if (status != KEDGE_OK) return status;
        if (mark != KEDGE_RESOURCE_MARK_NONE) continue;
        *row = found;
        row->memory = *set;
        *set = (kedge_record_set){0};
        return KEDGE_OK;
    }
    *row = (kedge_resource){0};
    return KEDGE_OK;
}

kedge_status kedge_resource_history_newest(kedge_backend *backend, const kedge_resource_ref *ref,
                                           kedge_resource *row, kedge_error *error)
{
    kedge_resource_key key;
    kedge_record_set set = {0};
    const kedge_records *records = &backend->options.records;
    kedge_resource_key_history(ref, 0, &key);
    kedge_records_query query = {.partition = key.key.partition,
                                 .descending = true,
                                 .limit = OPEN_ROWS_MAX + 1,
                                 .consistent = true};
    kedge_status status = records->vtable->query(records->self, &query, &set, error);
    if (status == KEDGE_OK) status = take_newest(backend, ref, &set, row, error);
    kedge_record_set_free(&set);
    return status;
}
