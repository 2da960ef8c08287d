/* Reads a resource, its versions, and the resources of a kind. */
#include "backend/resource/head.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/names.h"

#define QUERY_RECORDS 1000

#define SHOW(bytes) (int)((bytes).size < 64 ? (bytes).size : 64), (bytes).data

/* ---- one version ---- */

static kedge_status fail_not_found(const kedge_resource_ref *ref, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "resource-not-found",
                      "there is no resource %.*s/%.*s", SHOW(ref->kind), SHOW(ref->id));
}

static kedge_status fail_no_version(const kedge_resource_ref *ref, int64_t version,
                                    kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "resource-version-not-found",
                      "there is no version %lld of the resource %.*s/%.*s", (long long)version,
                      SHOW(ref->kind), SHOW(ref->id));
}

/* A version other than the latest one. */
static kedge_status read_history(kedge_backend *backend, const kedge_resource_ref *ref,
                                 const kedge_resource_head *head, int64_t version,
                                 kedge_resource *resource, kedge_error *error)
{
    if (head->present && version > head->row.version) return fail_no_version(ref, version, error);
    kedge_status status = kedge_resource_history_get(backend, ref, version, resource, error);
    if (status != KEDGE_NOT_FOUND) return status;
    if (head->present) return kedge_resource_damaged(ref, version, "it is missing", error);
    return fail_no_version(ref, version, error);
}

kedge_status kedge_resource_read(kedge_backend *backend, const kedge_resource_ref *ref,
                                 int64_t version, kedge_resource *resource, kedge_error *error)
{
    kedge_resource_head head;
    kedge_status status = kedge_resource_check_ref(ref, error);
    KEDGE_ASSERT(version >= 0);
    if (status == KEDGE_OK && version > KEDGE_RESOURCE_VERSION_MAX) {
        status = fail_no_version(ref, version, error);
    }
    if (status == KEDGE_OK) status = kedge_resource_head_load(backend, ref, &head, error);
    if (status != KEDGE_OK) return status;
    int64_t latest = kedge_resource_head_latest(&head);
    if (latest > 0 && (version == 0 || version == latest)) {
        *resource = head.row;
        return KEDGE_OK;
    }
    status = version == 0 ? fail_not_found(ref, error)
                          : read_history(backend, ref, &head, version, resource, error);
    kedge_resource_free(&head.row);
    return status;
}

/* ---- the versions ---- */

typedef struct version_list {
    const kedge_allocator *allocator;
    const kedge_resource_ref *ref;
    const kedge_resource_page *page;
    uint32_t count;
    int64_t next; /* the version that comes; 0: none is left */
} version_list;

static kedge_status visit_version(version_list *list, const kedge_resource *row, kedge_error *error)
{
    KEDGE_ASSERT(row->version == list->next);
    list->count++;
    list->next--;
    return list->page->visit(list->page->context, list->ref->id, row, error);
}

/* One page of the store. Every number below the first is there, and no record is open. */
static kedge_status visit_set(version_list *list, const kedge_record_set *set, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (set->count == 0)
        return kedge_resource_damaged(list->ref, list->next, "it is missing", error);
    for (size_t i = 0; i < set->count && status == KEDGE_OK; i++) {
        kedge_resource row = {0};
        kedge_resource_mark mark;
        status = kedge_resource_row_read(list->allocator, list->ref, &set->records[i], &row, &mark,
                                         error);
        if (status != KEDGE_OK) return status;
        if (mark != KEDGE_RESOURCE_MARK_NONE || row.version != list->next)
            return kedge_resource_damaged(list->ref, list->next, "it is missing", error);
        status = visit_version(list, &row, error);
    }
    return status;
}

static kedge_status visit_history(kedge_backend *backend, version_list *list, kedge_error *error)
{
    const kedge_records *records = &backend->options.records;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && list->next > 0 && list->count < list->page->limit) {
        kedge_resource_key key;
        kedge_record_set set = {0};
        uint32_t left = list->page->limit - list->count;
        kedge_resource_key_history(list->ref, list->next, &key);
        kedge_records_query query = {.partition = key.key.partition,
                                     .sort_to = key.key.sort,
                                     .descending = true,
                                     .limit = left < QUERY_RECORDS ? left : QUERY_RECORDS,
                                     .consistent = true};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status == KEDGE_OK) status = visit_set(list, &set, error);
        kedge_record_set_free(&set);
    }
    return status;
}

/* The newest version there ever was; 0: none. */
static kedge_status find_newest(kedge_backend *backend, const kedge_resource_ref *ref,
                                const kedge_resource_head *head, int64_t *newest,
                                kedge_error *error)
{
    kedge_resource row;
    *newest = head->row.version;
    if (head->present) return KEDGE_OK;
    kedge_status status = kedge_resource_history_newest(backend, ref, &row, error);
    if (status != KEDGE_OK) return status;
    *newest = row.version;
    kedge_resource_free(&row);
    return KEDGE_OK;
}

static kedge_status visit_versions(kedge_backend *backend, version_list *list, int64_t before,
                                   const kedge_resource_head *head, kedge_error *error)
{
    kedge_status status = find_newest(backend, list->ref, head, &list->next, error);
    if (status != KEDGE_OK) return status;
    if (list->next == 0) return fail_not_found(list->ref, error);
    if (before > 0 && before <= list->next) list->next = before - 1;
    if (list->next > 0 && list->next == kedge_resource_head_latest(head)) {
        status = visit_version(list, &head->row, error);
    }
    return status == KEDGE_OK ? visit_history(backend, list, error) : status;
}

kedge_status kedge_resource_versions(kedge_backend *backend, const kedge_resource_ref *ref,
                                     int64_t before, const kedge_resource_page *page,
                                     int64_t *latest, int64_t *next, kedge_error *error)
{
    kedge_resource_head head;
    version_list list = {.allocator = backend->allocator, .ref = ref, .page = page};
    KEDGE_ASSERT(before >= 0 && page->limit > 0);
    kedge_status status = kedge_resource_check_ref(ref, error);
    if (status == KEDGE_OK) status = kedge_resource_head_load(backend, ref, &head, error);
    if (status != KEDGE_OK) return status;
    status = visit_versions(backend, &list, before, &head, error);
    if (status == KEDGE_OK) {
        *latest = kedge_resource_head_latest(&head);
        *next = list.next > 0 ? list.next + 1 : 0;
    }
    kedge_resource_free(&head.row);
    return status;
}

/* ---- the resources of a kind ---- */

typedef struct resource_list {
    const kedge_resource_ref *ref;
    const kedge_resource_page *page;
    uint32_t count;
    bool more; /* one more than the page holds is there */
    kedge_buffer after;
} resource_list;

static kedge_status visit_resource(resource_list *list, const kedge_record *record,
                                   kedge_error *error)
{
    kedge_resource row = {0};
    kedge_resource_mark mark;
    kedge_resource_ref ref = *list->ref;
    ref.id = record->key.sort;
    kedge_buffer_clear(&list->after);
    kedge_buffer_append_bytes(&list->after, ref.id);
    kedge_status status =
        kedge_resource_row_read(list->after.allocator, &ref, record, &row, &mark, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&list->after, error);
    if (status != KEDGE_OK || mark == KEDGE_RESOURCE_MARK_DELETED) return status;
    if (list->count == list->page->limit) {
        list->more = true;
        return KEDGE_OK;
    }
    list->count++;
    return list->page->visit(list->page->context, ref.id, &row, error);
}

static kedge_status visit_kind(kedge_backend *backend, resource_list *list, kedge_error *error)
{
    kedge_resource_key key;
    const kedge_records *records = &backend->options.records;
    bool rest = true;
    kedge_status status = KEDGE_OK;
    kedge_resource_key_latest(list->ref, &key);
    while (status == KEDGE_OK && rest && !list->more) {
        kedge_record_set set = {0};
        uint32_t left = list->page->limit - list->count + 1;
        kedge_records_query query = {.partition = key.key.partition,
                                     .after = kedge_buffer_bytes(&list->after),
                                     .limit = left < QUERY_RECORDS ? left : QUERY_RECORDS,
                                     .consistent = true};
        status = records->vtable->query(records->self, &query, &set, error);
        for (size_t i = 0; status == KEDGE_OK && i < set.count && !list->more; i++)
            status = visit_resource(list, &set.records[i], error);
        rest = set.more && set.count > 0;
        kedge_record_set_free(&set);
    }
    return status;
}

kedge_status kedge_resource_list(kedge_backend *backend, const kedge_resource_ref *ref,
                                 kedge_bytes after, const kedge_resource_page *page, bool *more,
                                 kedge_error *error)
{
    resource_list list = {.ref = ref, .page = page, .after = kedge_buffer_make(backend->allocator)};
    KEDGE_ASSERT(page->limit > 0);
    kedge_status status = kedge_check_name("organization", ref->organization, error);
    if (status == KEDGE_OK) status = kedge_check_name("kind", ref->kind, error);
    if (status == KEDGE_OK && after.size > 0) status = kedge_check_resource_id(after, error);
    if (status == KEDGE_OK) {
        kedge_buffer_append_bytes(&list.after, after);
        status = kedge_buffer_status(&list.after, error);
    }
    if (status == KEDGE_OK) status = visit_kind(backend, &list, error);
    if (status == KEDGE_OK) *more = list.more;
    kedge_buffer_free(&list.after);
    return status;
}
