/* Create New Segment: the End Segment entry of the current one, the new segment and its Snapshot
 * entry, in one transaction. Who wants it asks for it; it is never due by itself. */
#include "backend/base/pause.h"
#include "backend/log/commit.h"
#include "backend/log/segments.h"
#include "common/error.h"

#include <string.h>

typedef struct ending {
    const kedge_log *log;
    kedge_log_segment current;
    kedge_log_segment fresh;
    kedge_log_entry end;      /* of the current segment */
    kedge_log_entry snapshot; /* of the new one */
    bool held;                /* the transaction has an unknown outcome */
    bool done;
} ending;

/* Step 1. A segment that seems to have no snapshot is read again, consistently, before the call is
 * refused for it. */
static kedge_status find_current(ending *work, bool consistent, kedge_error *error)
{
    size_t count;
    kedge_status status =
        kedge_log_segments_newest(work->log, 1, consistent, &work->current, &count, error);
    if (status == KEDGE_OK && work->current.last_snapshot < 0 && !consistent)
        status = kedge_log_segments_newest(work->log, 1, true, &work->current, &count, error);
    return status;
}

static kedge_status refuse(const ending *work, kedge_error *error)
{
    return kedge_fail(error, KEDGE_REJECTED, "log-snapshot-missing",
                      "segment %lld of the log %.*s has no snapshot yet",
                      (long long)work->current.num, (int)work->log->name.size,
                      work->log->name.data);
}

/* Steps 1 and 2. */
static kedge_status find_place(ending *work, bool consistent, kedge_error *error)
{
    kedge_log_page page = kedge_log_page_make(work->log->project->allocator);
    kedge_status status = find_current(work, consistent, error);
    if (status == KEDGE_OK && work->current.last_snapshot < 0) status = refuse(work, error);
    if (status == KEDGE_OK)
        status = kedge_log_entry_last(work->log, &work->current, consistent, &page, error);
    if (status == KEDGE_OK && page.count == 0) {
        status = consistent ? kedge_log_corrupt(work->log, work->current.num, -1, error,
                                                "the segment has no entries")
                            : kedge_fail(error, KEDGE_CONFLICT, "log-moved", "no entries yet");
    }
    if (status == KEDGE_OK && kedge_bytes_equal_text(page.entries[0].type, KEDGE_LOG_END_SEGMENT)) {
        status = kedge_fail(error, KEDGE_CONFLICT, "log-moved", "the segment has ended");
    }
    if (status == KEDGE_OK) {
        work->end = kedge_log_system_entry(work->log, KEDGE_LOG_END_SEGMENT, work->current.num,
                                           page.entries[0].at.num + 1);
        work->snapshot =
            kedge_log_system_entry(work->log, KEDGE_LOG_SNAPSHOT, work->current.num + 1, 0);
        work->fresh = (kedge_log_segment){.num = work->current.num + 1,
                                          .first = page.entries[0].at.number + 2,
                                          .created_s = work->end.created_s,
                                          .last_snapshot = -1};
    }
    kedge_log_page_free(&page);
    return status;
}

/* Step 3. */
static kedge_status transact(ending *work, kedge_error *error)
{
    kedge_log_record end, segment, snapshot;
    kedge_arena arena = kedge_arena_make(work->log->project->allocator);
    kedge_status status = kedge_log_entry_encode(work->log, &work->end, &arena, &end, error);
    if (status == KEDGE_OK)
        status = kedge_log_entry_encode(work->log, &work->snapshot, &arena, &snapshot, error);
    if (status == KEDGE_OK) {
        kedge_log_segment_encode(work->log, &work->fresh, &segment);
        kedge_record_write writes[] = {kedge_log_put(&end, KEDGE_IF_ABSENT),
                                       kedge_log_put(&segment, KEDGE_IF_ABSENT),
                                       kedge_log_put(&snapshot, KEDGE_IF_ABSENT)};
        const kedge_records *records = work->log->project->records;
        status = records->vtable->transact(records->self, writes, 3, error);
    }
    kedge_arena_free(&arena);
    work->done = status == KEDGE_OK;
    if (status == KEDGE_UNAVAILABLE || status == KEDGE_TIMEOUT) work->held = true;
    return status;
}

static kedge_status look_at_held(ending *work, kedge_error *error)
{
    kedge_log_occupant occupant;
    kedge_status status =
        kedge_log_look(work->log, &work->current, work->end.at.num, work->end.id, &occupant, error);
    if (status != KEDGE_OK) return status;
    work->done = occupant == KEDGE_LOG_OWN;
    if (occupant != KEDGE_LOG_FREE) work->held = false;
    return KEDGE_OK;
}

static kedge_status try_once(ending *work, bool consistent, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (work->held) status = look_at_held(work, error);
    if (status == KEDGE_OK && !work->held && !work->done)
        status = find_place(work, consistent, error);
    if (status != KEDGE_OK || work->done) return status;
    return transact(work, error);
}

/* Step 4: again from step 1. */
static kedge_status end_segment(ending *work, kedge_error *error)
{
    kedge_error failure = {0};
    for (uint32_t tries = 0; tries < KEDGE_LOG_TRIES_MAX; tries++) {
        if (tries > 0) kedge_backend_pause(work->log->project->backend, tries);
        kedge_status status = try_once(work, tries > 0, &failure);
        if (status == KEDGE_OK) return KEDGE_OK;
        if (!kedge_log_is_transient(status))
            return kedge_fail(error, status, failure.code, "%s", failure.message);
    }
    return kedge_log_give_up("the segment could be ended", &failure, error);
}

kedge_status kedge_log_new_segment(const kedge_log *log, kedge_log_place *first, kedge_error *error)
{
    ending work = {.log = log};
    kedge_status status = end_segment(&work, error);
    if (status == KEDGE_OK || work.held) kedge_log_tell(log, work.fresh.first);
    if (status != KEDGE_OK) return status;
    kedge_log_hint hint = {.segment = work.fresh.num, .first = work.fresh.first};
    memcpy(hint.id, log->id, sizeof hint.id);
    kedge_log_hint_put(&log->project->backend->log_hints, &hint);
    *first = (kedge_log_place){.segment = work.fresh.num, .number = work.fresh.first};
    return KEDGE_OK;
}
