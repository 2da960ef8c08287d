/* Removes old entries: those in front of a number, and those of an archived segment.
 *
 * A truncation is written into the segments' records first. So readers take what is missing for
 * truncated, never for damaged. */
#include "backend/base/pause.h"
#include "backend/log/archive.h"
#include "backend/log/remove.h"
#include "backend/log/segments.h"
#include "backend/log/snapshot.h"
#include "common/error.h"

/* ---- entries ---- */

static kedge_status delete_record(const kedge_log *log, const kedge_record_key *key,
                                  kedge_error *error)
{
    const kedge_records *records = log->project->records;
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE, .record = {.key = *key}};
    return records->vtable->write(records->self, &write, error);
}

/* A blob is removed before its record, since only the record names it. */
static kedge_status remove_body(const kedge_log *log, const kedge_record *record,
                                kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    const kedge_attribute *external = kedge_record_attribute(record, "E");
    if (external == NULL || !kedge_log_is_body_name(external->bytes)) return KEDGE_OK;
    kedge_log_key key = kedge_log_key_body(log, external->bytes);
    return blobs->vtable->remove(blobs->self, kedge_log_key_bytes(&key), error);
}

static kedge_status let_expire(const kedge_log *log, const kedge_log_segment *segment,
                               const kedge_record *record, int64_t expires_s, kedge_error *error)
{
    kedge_log_entry entry;
    kedge_log_record changed;
    kedge_arena arena = kedge_arena_make(log->project->allocator);
    const kedge_records *records = log->project->records;
    kedge_status status =
        kedge_log_entry_decode(log, segment->num, segment->first, record, &arena, &entry, error);
    if (status == KEDGE_OK && entry.expires_s == 0) {
        entry.expires_s = expires_s;
        status = kedge_log_entry_encode(log, &entry, &arena, &changed, error);
        if (status == KEDGE_OK) {
            kedge_record_write write = kedge_log_put_over(&changed, entry.revision);
            status = records->vtable->write(records->self, &write, error);
        }
    }
    kedge_arena_free(&arena);
    return status;
}

static kedge_status remove_entry(const kedge_log *log, const kedge_log_segment *segment,
                                 const kedge_record *record, const kedge_log_removal *removal,
                                 kedge_error *error)
{
    if (removal->expires_s > 0) return let_expire(log, segment, record, removal->expires_s, error);
    kedge_status status = removal->bodies ? remove_body(log, record, error) : KEDGE_OK;
    return status == KEDGE_OK ? delete_record(log, &record->key, error) : status;
}

static kedge_status remove_page(const kedge_log *log, const kedge_log_segment *segment,
                                const kedge_log_removal *removal, int64_t *from, bool *more,
                                kedge_error *error)
{
    kedge_log_key partition = kedge_log_key_entries(log, segment->num);
    kedge_log_key start = kedge_log_key_num(*from);
    kedge_records_query query = {.partition = kedge_log_key_bytes(&partition),
                                 .sort_from = kedge_log_key_bytes(&start),
                                 .limit = KEDGE_LOG_PAGE_MAX,
                                 .consistent = true};
    const kedge_records *records = log->project->records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->query(records->self, &query, &set, error);
    *more = set.more;
    for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
        int64_t num = 0;
        if (!kedge_log_key_read_num(set.records[i].key.sort, &num)) continue;
        if (num >= removal->end) {
            *more = false;
            break;
        }
        *from = num + 1;
        status = remove_entry(log, segment, &set.records[i], removal, error);
    }
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_log_remove_entries(const kedge_log *log, const kedge_log_segment *segment,
                                      const kedge_log_removal *removal, kedge_error *error)
{
    int64_t from = 0;
    bool more = true;
    kedge_status status = KEDGE_OK;
    while (more && status == KEDGE_OK)
        status = remove_page(log, segment, removal, &from, &more, error);
    return status;
}

/* ---- segments ---- */

/* Says that the segment's first `deleted` entries are not kept. */
static kedge_status mark(const kedge_log *log, kedge_log_segment *segment, int64_t deleted,
                         kedge_error *error)
{
    if (segment->deleted >= deleted) return KEDGE_OK;
    segment->deleted = deleted;
    return kedge_log_segment_change(log, segment, error);
}

/* The oldest segment, all of which stands in front of `next_first`. */
static kedge_status remove_segment(const kedge_log *log, kedge_log_segment *segment,
                                   int64_t next_first, kedge_error *error)
{
    kedge_log_removal all = {.end = INT64_MAX, .bodies = true};
    kedge_status status = mark(log, segment, next_first - segment->first, error);
    if (status == KEDGE_OK && segment->archived)
        status = kedge_log_archive_remove(log, segment, error);
    if (status == KEDGE_OK) status = kedge_log_remove_entries(log, segment, &all, error);
    if (status != KEDGE_OK) return status;
    kedge_log_key partition = kedge_log_key_segments(log);
    kedge_log_key sort = kedge_log_key_num(segment->num);
    kedge_record_key key = {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)};
    return delete_record(log, &key, error);
}

/* The segment in which `before` stands. An archive keeps what it has until all of it is removed. */
static kedge_status remove_start(const kedge_log *log, kedge_log_segment *segment, int64_t before,
                                 kedge_error *error)
{
    kedge_log_removal start = {.end = before - segment->first, .bodies = !segment->archived};
    if (before <= segment->first) return KEDGE_OK;
    kedge_status status = mark(log, segment, before - segment->first, error);
    return status == KEDGE_OK ? kedge_log_remove_entries(log, segment, &start, error) : status;
}

static kedge_status check(const kedge_log *log, int64_t before, kedge_error *error)
{
    kedge_log_segment segments[2];
    size_t count;
    int64_t snapshot = -1;
    kedge_status status = kedge_log_segments_newest(log, 2, true, segments, &count, error);
    if (status != KEDGE_OK) return status;
    for (size_t i = count; i-- > 0;) {
        if (segments[i].last_snapshot >= 0)
            snapshot = segments[i].first + segments[i].last_snapshot;
    }
    if (before <= (snapshot < 0 ? 0 : snapshot)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_REJECTED, "log-truncate-too-far",
                      "the log %.*s is needed from %lld on, where its last snapshot is",
                      (int)log->name.size, log->name.data,
                      (long long)(snapshot < 0 ? 0 : snapshot));
}

/* One segment at a time, the oldest first. */
static kedge_status truncate_oldest(const kedge_log *log, int64_t before, bool *done,
                                    kedge_error *error)
{
    kedge_log_segment oldest, next;
    kedge_status status = kedge_log_segment_oldest(log, &oldest, error);
    if (status != KEDGE_OK) return status;
    status = kedge_log_segment_get(log, oldest.num + 1, &next, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    *done = status == KEDGE_NOT_FOUND || before < next.first;
    if (*done) return remove_start(log, &oldest, before, error);
    return remove_segment(log, &oldest, next.first, error);
}

kedge_status kedge_log_truncate(const kedge_log *log, int64_t before, kedge_error *error)
{
    kedge_error failure = {0};
    bool done = false;
    uint32_t tries = 0;
    kedge_status status = check(log, before, error);
    if (status != KEDGE_OK) return status;
    while (!done && tries < KEDGE_LOG_TRIES_MAX) {
        if (tries > 0) kedge_backend_pause(log->project->backend, tries);
        status = truncate_oldest(log, before, &done, &failure);
        if (status != KEDGE_OK && !kedge_log_is_transient(status)) break;
        tries = status == KEDGE_OK ? 0 : tries + 1;
        if (status != KEDGE_OK) done = false;
    }
    if (status == KEDGE_OK) status = kedge_log_snapshots_remove(log, before, &failure);
    if (status == KEDGE_OK) return KEDGE_OK;
    return kedge_fail(error, status, failure.code, "%s", failure.message);
}
