/* Comparing index rows with the version that they are made from. */
#include "backend/jobs/rows.h"

#include "backend/base/backend.h"
#include "backend/base/packed.h"
#include "common/error.h"

#include <string.h>

static bool same_attribute(const kedge_attribute *a, const kedge_attribute *b)
{
    return b != NULL && a->type == b->type && a->number == b->number &&
           kedge_bytes_equal(a->bytes, b->bytes);
}

/* Two versions of zlib make different bytes of one text. A row that one of them has made must not
 * be taken for a wrong one by a process with the other. */
static kedge_status compare_texts(kedge_arena *arena, const kedge_attribute *a,
                                  const kedge_attribute *b, bool *same, kedge_error *error)
{
    kedge_bytes left;
    kedge_bytes right;
    kedge_error ignored;
    kedge_status status = kedge_unpack(a, arena, &left, &ignored);
    if (status == KEDGE_OK) status = kedge_unpack(b, arena, &right, &ignored);
    *same = status == KEDGE_OK && kedge_bytes_equal(left, right);
    return status == KEDGE_NO_MEMORY ? kedge_fail_no_memory(error) : KEDGE_OK;
}

static kedge_status compare_records(kedge_arena *arena, const kedge_record *a,
                                    const kedge_record *b, bool *same, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    *same = b != NULL && a->attribute_count == b->attribute_count;
    for (size_t i = 0; i < a->attribute_count && *same && status == KEDGE_OK; i++) {
        const kedge_attribute *wanted = &a->attributes[i];
        const kedge_attribute *found = kedge_record_attribute(b, wanted->name);
        *same = same_attribute(wanted, found);
        if (!*same && found != NULL && strcmp(wanted->name, "outcomes") == 0)
            status = compare_texts(arena, wanted, found, same, error);
    }
    return status;
}

static const kedge_record *find_record(const kedge_record_set *set, kedge_bytes sort)
{
    for (size_t i = 0; i < set->count; i++) {
        if (kedge_bytes_equal(set->records[i].key.sort, sort)) return &set->records[i];
    }
    return NULL;
}

/* At most KEDGE_BATCH_GET_KEYS_MAX of them. */
static kedge_status compare_batch(const kedge_project *project, kedge_arena *arena,
                                  const kedge_record_write *rows, size_t count,
                                  kedge_row_visit visit, void *context, kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_record_key keys[KEDGE_BATCH_GET_KEYS_MAX];
    kedge_record_set set = {0};
    for (size_t i = 0; i < count; i++)
        keys[i] = rows[i].record.key;
    kedge_status status = records->vtable->batch_get(records->self, keys, count, true, &set, error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        const kedge_record *found = find_record(&set, rows[i].record.key.sort);
        bool same = false;
        status = compare_records(arena, &rows[i].record, found, &same, error);
        if (status == KEDGE_OK) status = visit(context, &rows[i], found, same, error);
    }
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_rows_compare(const kedge_project *project, const kedge_version *version,
                                kedge_row_visit visit, void *context, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_arena arena = kedge_arena_make(project->allocator);
    kedge_index_rows rows = {.arena = &arena};
    kedge_status status = kedge_index_rows_of(kedge_key_bytes(&partition), version, &rows, error);
    for (size_t at = 0; at < rows.count && status == KEDGE_OK;) {
        size_t count = rows.count - at;
        if (count > KEDGE_BATCH_GET_KEYS_MAX) count = KEDGE_BATCH_GET_KEYS_MAX;
        status = compare_batch(project, &arena, rows.writes + at, count, visit, context, error);
        at += count;
    }
    kedge_arena_free(&arena);
    return status;
}
