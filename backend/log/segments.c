/* The Segment table, and single entries of the Entry table. */
#include "backend/log/segments.h"

#include "common/assert.h"
#include "common/error.h"

bool kedge_log_is_transient(kedge_status status)
{
    return status == KEDGE_CONFLICT || status == KEDGE_UNAVAILABLE || status == KEDGE_BUSY ||
           status == KEDGE_TIMEOUT;
}

static kedge_status no_log(const kedge_log *log, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "log-not-found", "there is no log %.*s",
                      (int)log->name.size, log->name.data);
}

/* ---- segments ---- */

/* What the query asks for of the log's segments. */
static kedge_status run_query(const kedge_log *log, kedge_records_query *query,
                              kedge_log_segment *segments, size_t *count, bool *more,
                              kedge_error *error)
{
    kedge_log_key partition = kedge_log_key_segments(log);
    const kedge_records *records = log->project->records;
    kedge_record_set set = {0};
    query->partition = kedge_log_key_bytes(&partition);
    *count = 0;
    kedge_status status = records->vtable->query(records->self, query, &set, error);
    *more = set.more;
    for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
        status = kedge_log_segment_decode(log, &set.records[i], &segments[i], error);
        if (status == KEDGE_OK) ++*count;
    }
    kedge_record_set_free(&set);
    return status;
}

static kedge_status query_segments(const kedge_log *log, bool descending, size_t wanted,
                                   bool consistent, kedge_log_segment *segments, size_t *count,
                                   kedge_error *error)
{
    bool more;
    kedge_records_query query = {
        .descending = descending, .limit = (uint32_t)wanted, .consistent = consistent};
    return run_query(log, &query, segments, count, &more, error);
}

kedge_status kedge_log_segments_list(const kedge_log *log, int64_t from, uint32_t limit,
                                     kedge_log_segment *segments, size_t *count, bool *more,
                                     kedge_error *error)
{
    kedge_log_key to = kedge_log_key_num(from);
    kedge_records_query query = {.sort_to = kedge_log_key_bytes(&to),
                                 .descending = true,
                                 .limit = limit,
                                 .consistent = true};
    kedge_status status = run_query(log, &query, segments, count, more, error);
    if (status == KEDGE_OK && *count == 0 && from == KEDGE_LOG_NUMBER_MAX)
        return no_log(log, error);
    return status;
}

kedge_status kedge_log_segments_newest(const kedge_log *log, size_t wanted, bool consistent,
                                       kedge_log_segment *segments, size_t *count,
                                       kedge_error *error)
{
    KEDGE_ASSERT(wanted >= 1 && wanted <= 2);
    kedge_status status = query_segments(log, true, wanted, consistent, segments, count, error);
    if (status == KEDGE_OK && *count == 0 && !consistent)
        status = query_segments(log, true, wanted, true, segments, count, error);
    if (status == KEDGE_OK && *count == 0) return no_log(log, error);
    return status;
}

kedge_status kedge_log_segment_oldest(const kedge_log *log, kedge_log_segment *segment,
                                      kedge_error *error)
{
    size_t count;
    kedge_status status = query_segments(log, false, 1, true, segment, &count, error);
    return status == KEDGE_OK && count == 0 ? no_log(log, error) : status;
}

kedge_status kedge_log_segment_get(const kedge_log *log, int64_t num, kedge_log_segment *segment,
                                   kedge_error *error)
{
    kedge_log_key partition = kedge_log_key_segments(log);
    kedge_log_key sort = kedge_log_key_num(num);
    kedge_record_key key = {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)};
    const kedge_records *records = log->project->records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "log-segment-not-found",
                          "the log %.*s has no segment %lld", (int)log->name.size, log->name.data,
                          (long long)num);
    }
    if (status != KEDGE_OK) return status;
    status = kedge_log_segment_decode(log, &set.records[0], segment, error);
    kedge_record_set_free(&set);
    return status;
}

/* Between two segments whose order is known, by halves: numbers grow with segments. */
static kedge_status search(const kedge_log *log, int64_t number, kedge_log_segment low,
                           int64_t above, kedge_log_segment *segment, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    while (low.num + 1 < above && status == KEDGE_OK) {
        kedge_log_segment middle;
        int64_t num = low.num + (above - low.num) / 2;
        status = kedge_log_segment_get(log, num, &middle, error);
        if (status == KEDGE_NOT_FOUND)
            return kedge_log_corrupt(log, num, -1, error, "the segment is missing");
        if (status != KEDGE_OK) break;
        if (middle.first <= number)
            low = middle;
        else
            above = num;
    }
    if (status == KEDGE_OK) *segment = low;
    return status;
}

kedge_status kedge_log_segment_of(const kedge_log *log, const kedge_log_segment *newest,
                                  int64_t *number, kedge_log_segment *segment, kedge_error *error)
{
    kedge_log_segment oldest = *newest;
    kedge_status status = KEDGE_OK;
    if (*number < newest->first && newest->num > 0)
        status = kedge_log_segment_oldest(log, &oldest, error);
    if (status != KEDGE_OK) return status;
    if (*number < oldest.first + oldest.deleted) *number = oldest.first + oldest.deleted;
    *segment = *number >= newest->first ? *newest : oldest;
    bool found = segment->num == newest->num || *number == oldest.first;
    if (found || oldest.num + 1 >= newest->num) return KEDGE_OK;
    return search(log, *number, oldest, newest->num, segment, error);
}

kedge_status kedge_log_segment_find(const kedge_log *log, int64_t *number,
                                    kedge_log_segment *segment, kedge_error *error)
{
    size_t count;
    kedge_log_segment newest;
    kedge_status status = kedge_log_segments_newest(log, 1, true, &newest, &count, error);
    return status == KEDGE_OK ? kedge_log_segment_of(log, &newest, number, segment, error) : status;
}

kedge_status kedge_log_segment_change(const kedge_log *log, kedge_log_segment *segment,
                                      kedge_error *error)
{
    int64_t before = segment->revision++;
    kedge_log_record record;
    kedge_log_segment_encode(log, segment, &record);
    kedge_record_write write = kedge_log_put_over(&record, before);
    const kedge_records *records = log->project->records;
    return records->vtable->write(records->self, &write, error);
}

/* ---- entries ---- */

static kedge_status take_entry(const kedge_log *log, const kedge_log_segment *segment,
                               const kedge_record_set *set, kedge_log_page *page,
                               kedge_error *error)
{
    KEDGE_ASSERT(set->count == 1 && page->count == 0);
    kedge_log_entry *entry = kedge_arena_take(&page->arena, sizeof *entry);
    if (entry == NULL) return kedge_fail_no_memory(error);
    kedge_status status = kedge_log_entry_decode(log, segment->num, segment->first,
                                                 &set->records[0], &page->arena, entry, error);
    if (status != KEDGE_OK) return status;
    page->entries = entry;
    page->count = 1;
    return KEDGE_OK;
}

kedge_status kedge_log_entry_last(const kedge_log *log, const kedge_log_segment *segment,
                                  bool consistent, kedge_log_page *page, kedge_error *error)
{
    kedge_log_key partition = kedge_log_key_entries(log, segment->num);
    kedge_records_query query = {.partition = kedge_log_key_bytes(&partition),
                                 .descending = true,
                                 .limit = 1,
                                 .consistent = consistent};
    const kedge_records *records = log->project->records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->query(records->self, &query, &set, error);
    if (status == KEDGE_OK && set.count > 0) status = take_entry(log, segment, &set, page, error);
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_log_entry_get(const kedge_log *log, const kedge_log_segment *segment,
                                 int64_t num, kedge_log_page *page, kedge_error *error)
{
    kedge_log_key partition = kedge_log_key_entries(log, segment->num);
    kedge_log_key sort = kedge_log_key_num(num);
    kedge_record_key key = {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)};
    const kedge_records *records = log->project->records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "log-entry-not-found",
                          "the log %.*s has no entry %lld in segment %lld", (int)log->name.size,
                          log->name.data, (long long)num, (long long)segment->num);
    }
    if (status == KEDGE_OK) status = take_entry(log, segment, &set, page, error);
    kedge_record_set_free(&set);
    return status;
}
