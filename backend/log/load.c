/* Load, Update Loaded, and any other place to start reading from. */
#include "backend/log/segments.h"
#include "common/assert.h"
#include "common/error.h"

/* The number of the last snapshot among the newest segments; -1: none. */
static int64_t last_snapshot_of(const kedge_log_segment *segments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (segments[i].last_snapshot >= 0) return segments[i].first + segments[i].last_snapshot;
    }
    return -1;
}

static kedge_log_reader reader_at(const kedge_log *log, const kedge_log_segment *newest,
                                  const kedge_log_segment *segment, int64_t num)
{
    return (kedge_log_reader){.log = log,
                              .segment = segment->num,
                              .first = segment->first,
                              .num = num,
                              .newest = newest->num};
}

/* ---- load ---- */

/* The two newest segments; false in `*enough`: a segment has neither a snapshot nor one in front of
 * it that does. */
static kedge_status start_load(const kedge_log *log, bool consistent, kedge_log_reader *reader,
                               bool *enough, kedge_error *error)
{
    kedge_log_segment segments[2];
    size_t count;
    kedge_status status = kedge_log_segments_newest(log, 2, consistent, segments, &count, error);
    if (status != KEDGE_OK) return status;
    *enough = true;
    reader->segment = segments[0].num;
    if (segments[0].last_snapshot >= 0) { /* step 2 */
        *reader = reader_at(log, &segments[0], &segments[0], segments[0].last_snapshot);
    } else if (count == 1 && segments[0].num == 0) { /* nothing is loaded before its entries */
        *reader = reader_at(log, &segments[0], &segments[0], 1);
    } else if (count == 2 && segments[1].last_snapshot >= 0) { /* steps 4 and 5 */
        *reader = reader_at(log, &segments[0], &segments[1], segments[1].last_snapshot);
    } else {
        *enough = false; /* step 3 */
    }
    reader->skips_snapshots = true;
    reader->last_snapshot = last_snapshot_of(segments, count);
    return KEDGE_OK;
}

kedge_status kedge_log_load(const kedge_log *log, kedge_log_reader *reader, kedge_error *error)
{
    bool enough = false;
    kedge_status status = start_load(log, false, reader, &enough, error);
    if (status == KEDGE_OK && !enough) status = start_load(log, true, reader, &enough, error);
    if (status != KEDGE_OK || enough) return status;
    return kedge_log_corrupt(log, reader->segment, -1, error,
                             "neither it nor the segment before it has a snapshot");
}

/* ---- update ---- */

kedge_status kedge_log_update(const kedge_log *log, int64_t last, kedge_log_reader *reader,
                              bool *reload, kedge_error *error)
{
    kedge_log_segment segments[2];
    size_t count;
    KEDGE_ASSERT(last >= 0);
    kedge_status status = kedge_log_segments_newest(log, 2, false, segments, &count, error);
    if (status != KEDGE_OK) return status;
    *reload = false;
    if (last + 1 == segments[0].first) last = segments[0].first; /* its Snapshot is no news */
    for (size_t i = 0; i < count; i++) { /* step 3; step 4 in front of step 5 */
        if (last < segments[i].first) continue;
        if (last + 1 < segments[i].first + segments[i].deleted) break; /* some of it is truncated */
        *reader = reader_at(log, &segments[0], &segments[i], last - segments[i].first + 1);
        reader->ended = last == KEDGE_LOG_NUMBER_MAX; /* no number is after it */
        reader->skips_snapshots = true;
        reader->last_snapshot = last_snapshot_of(segments, count);
        return KEDGE_OK;
    }
    *reload = true; /* step 2 */
    return kedge_log_load(log, reader, error);
}

/* ---- any place ---- */

static kedge_status from_end(const kedge_log *log, const kedge_log_segment *newest,
                             kedge_log_reader *reader, kedge_error *error)
{
    kedge_log_page page = kedge_log_page_make(log->project->allocator);
    kedge_status status = kedge_log_entry_last(log, newest, true, &page, error);
    if (status == KEDGE_OK && page.count == 0)
        status = kedge_log_corrupt(log, newest->num, -1, error, "the segment has no entries");
    if (status == KEDGE_OK) *reader = reader_at(log, newest, newest, page.entries[0].at.num);
    kedge_log_page_free(&page);
    return status;
}

static kedge_status from_number(const kedge_log *log, const kedge_log_segment *newest,
                                int64_t number, kedge_log_reader *reader, kedge_error *error)
{
    kedge_log_segment segment;
    kedge_status status = kedge_log_segment_of(log, newest, &number, &segment, error);
    if (status == KEDGE_OK) *reader = reader_at(log, newest, &segment, number - segment.first);
    return status;
}

/* Downwards, a place after the end is the end. */
static kedge_status from_number_down(const kedge_log *log, const kedge_log_segment *newest,
                                     int64_t number, kedge_log_reader *reader, kedge_error *error)
{
    kedge_log_reader end = {.num = 0};
    kedge_status status = KEDGE_OK;
    if (number >= newest->first) status = from_end(log, newest, &end, error);
    if (status != KEDGE_OK) return status;
    if (number >= newest->first && number > end.first + end.num) {
        *reader = end;
        return KEDGE_OK;
    }
    status = from_number(log, newest, number, reader, error);
    if (status == KEDGE_OK && number < reader->first + reader->num) reader->ended = true;
    return status;
}

static kedge_status start_query(const kedge_log *log, const kedge_log_segment *segments,
                                size_t count, kedge_log_from from, int64_t number, bool descending,
                                kedge_log_reader *reader, kedge_error *error)
{
    const kedge_log_segment *newest = &segments[0];
    const kedge_log_segment *shot = newest->last_snapshot < 0 && count == 2 ? &segments[1] : newest;
    switch (from) {
    case KEDGE_LOG_FROM_END:
        return from_end(log, newest, reader, error);
    case KEDGE_LOG_FROM_SNAPSHOT:
        if (shot->last_snapshot < 0) return from_number(log, newest, 0, reader, error);
        *reader = reader_at(log, newest, shot, shot->last_snapshot);
        return KEDGE_OK;
    case KEDGE_LOG_FROM_START:
        return from_number(log, newest, 0, reader, error);
    case KEDGE_LOG_FROM_NUMBER:
        break;
    }
    if (descending) return from_number_down(log, newest, number, reader, error);
    return from_number(log, newest, number, reader, error);
}

kedge_status kedge_log_query(const kedge_log *log, kedge_log_from from, int64_t number,
                             bool descending, kedge_log_reader *reader, kedge_error *error)
{
    kedge_log_segment segments[2];
    size_t count;
    KEDGE_ASSERT(number >= 0);
    kedge_status status = kedge_log_segments_newest(log, 2, true, segments, &count, error);
    if (status == KEDGE_OK)
        status = start_query(log, segments, count, from, number, descending, reader, error);
    if (status != KEDGE_OK) return status;
    reader->descending = descending;
    reader->last_snapshot = last_snapshot_of(segments, count);
    return KEDGE_OK;
}

/* ---- all of it ---- */

static kedge_status find_snapshot(const kedge_log *log, const kedge_log_segment *segments,
                                  size_t count, kedge_log_summary *summary, kedge_error *error)
{
    summary->last_snapshot = -1;
    for (size_t i = 0; i < count; i++) {
        if (segments[i].last_snapshot < 0) continue;
        summary->last_snapshot = segments[i].first + segments[i].last_snapshot;
        kedge_status status = kedge_log_entry_get(log, &segments[i], segments[i].last_snapshot,
                                                  &summary->snapshot_entry, error);
        if (status != KEDGE_NOT_FOUND) return status;
        return kedge_log_corrupt(log, segments[i].num, segments[i].last_snapshot, error,
                                 "the entry of the last snapshot is missing");
    }
    return KEDGE_OK;
}

static kedge_status find_start(const kedge_log *log, const kedge_log_segment *newest,
                               kedge_log_summary *summary, kedge_error *error)
{
    kedge_log_segment oldest = *newest;
    kedge_status status = KEDGE_OK;
    if (newest->num > 0) status = kedge_log_segment_oldest(log, &oldest, error);
    if (status != KEDGE_OK) return status;
    summary->created_s = oldest.created_s;
    summary->first = oldest.first + oldest.deleted;
    return KEDGE_OK;
}

kedge_status kedge_log_summarize(const kedge_log *log, bool consistent, kedge_log_summary *summary,
                                 kedge_error *error)
{
    kedge_log_segment segments[2];
    kedge_log_reader end;
    size_t count;
    kedge_status status = kedge_log_segments_newest(log, 2, consistent, segments, &count, error);
    if (status == KEDGE_OK) status = from_end(log, &segments[0], &end, error);
    if (status != KEDGE_OK) return status;
    summary->segment = segments[0].num;
    summary->next = end.first + end.num + 1;
    status = find_start(log, &segments[0], summary, error);
    return status == KEDGE_OK ? find_snapshot(log, segments, count, summary, error) : status;
}
