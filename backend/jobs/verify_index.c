/* Verify: index rows against the versions that they are made from, and against their lineage. */
#include "backend/jobs/verify_internal.h"

#include "backend/core/index.h"
#include "common/error.h"

#include <string.h>

/* ---- the rows of a version ---- */

static bool same_attribute(const kedge_attribute *a, const kedge_attribute *b)
{
    return b != NULL && a->type == b->type && a->number == b->number &&
           kedge_bytes_equal(a->bytes, b->bytes);
}

static bool same_record(const kedge_record *a, const kedge_record *b)
{
    if (a->attribute_count != b->attribute_count) return false;
    for (size_t i = 0; i < a->attribute_count; i++) {
        const kedge_attribute *wanted = &a->attributes[i];
        if (!same_attribute(wanted, kedge_record_attribute(b, wanted->name))) return false;
    }
    return true;
}

static const kedge_record *find_record(const kedge_record_set *set, kedge_bytes sort)
{
    for (size_t i = 0; i < set->count; i++) {
        if (kedge_bytes_equal(set->records[i].key.sort, sort)) return &set->records[i];
    }
    return NULL;
}

/* What stands under the keys of at most KEDGE_BATCH_GET_KEYS_MAX rows. */
static kedge_status check_batch(verifying *work, int64_t version, const kedge_record_write *rows,
                                size_t count, kedge_error *error)
{
    const kedge_records *records = &work->backend->options.records;
    kedge_record_key keys[KEDGE_BATCH_GET_KEYS_MAX];
    kedge_record_set set = {0};
    for (size_t i = 0; i < count; i++)
        keys[i] = rows[i].record.key;
    kedge_status status = records->vtable->batch_get(records->self, keys, count, true, &set, error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        const kedge_record *wanted = &rows[i].record;
        const kedge_record *found = find_record(&set, wanted->key.sort);
        status = kedge_key_set_add(&work->rows, wanted->key.sort, NULL, error);
        if (status != KEDGE_OK) break;
        if (found == NULL && version <= work->rows_through) {
            status = verify_tell(work, "row-missing", version, wanted->key.sort, error,
                                 "the index row is not there");
        } else if (found != NULL && !same_record(wanted, found)) {
            status = verify_tell(work, "row-wrong", version, wanted->key.sort, error,
                                 "the index row is not what its version says");
        }
    }
    kedge_record_set_free(&set);
    return status;
}

kedge_status verify_rows_of(verifying *work, const kedge_version *version, kedge_error *error)
{
    kedge_arena arena = kedge_arena_make(work->backend->allocator);
    kedge_index_rows rows = {.arena = &arena};
    kedge_status status =
        kedge_index_rows_of(kedge_key_bytes(&work->partition), version, &rows, error);
    for (size_t at = 0; at < rows.count && status == KEDGE_OK;) {
        size_t count = rows.count - at;
        if (count > KEDGE_BATCH_GET_KEYS_MAX) count = KEDGE_BATCH_GET_KEYS_MAX;
        status = check_batch(work, version->number, rows.writes + at, count, error);
        at += count;
    }
    kedge_arena_free(&arena);
    return status;
}

/* ---- all rows ---- */

static kedge_status check_row(verifying *work, const kedge_record *record, kedge_error *error)
{
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
        status = verify_records(work, kedge_bytes_of(prefixes[i]), check_row, error);
    }
    return status;
}

/* ---- what retention keeps of lineages ---- */

static kedge_status check_lineages(verifying *work, int64_t first, kedge_error *error)
{
    const kedge_records *records = &work->backend->options.records;
    kedge_key sort = kedge_key_lineages(first);
    kedge_record_key key = {kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    int64_t last = first + KEDGE_LINEAGES_PER_RECORD - 1;
    if (last >= work->oldest) last = work->oldest - 1;
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    const kedge_attribute *tokens =
        set.count == 0 ? NULL : kedge_record_attribute(&set.records[0], "tokens");
    bool whole =
        tokens != NULL && tokens->bytes.size >= (size_t)(last - first + 1) * KEDGE_LINEAGE_SIZE;
    kedge_record_set_free(&set);
    if (whole) return KEDGE_OK;
    return verify_tell(work, "lineages-missing", last, kedge_key_bytes(&sort), error,
                       "the lineages of versions that are no longer kept are not there");
}

kedge_status verify_lineages(verifying *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (int64_t first = 1; first < work->oldest && status == KEDGE_OK;
         first += KEDGE_LINEAGES_PER_RECORD) {
        status = check_lineages(work, first, error);
    }
    return status;
}
