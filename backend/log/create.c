/* Create Log: a segment and its Snapshot entry, in one transaction. */
#include "backend/base/pause.h"
#include "backend/log/commit.h"
#include "backend/log/segments.h"
#include "common/error.h"
#include "common/names.h"

typedef struct creation {
    const kedge_log *log;
    kedge_log_segment segment;
    kedge_log_entry snapshot;
} creation;

/* The name's record is for lists of logs alone. */
static kedge_status transact(const creation *work, kedge_error *error)
{
    const kedge_log *log = work->log;
    kedge_log_record segment, entry;
    kedge_arena arena = kedge_arena_make(log->project->allocator);
    kedge_log_record name = {.partition = kedge_log_key_logs(&log->project->ref),
                             .attributes = {{.name = "C",
                                             .type = KEDGE_ATTRIBUTE_NUMBER,
                                             .number = work->segment.created_s}},
                             .count = 1};
    kedge_log_segment_encode(log, &work->segment, &segment);
    kedge_status status = kedge_log_entry_encode(log, &work->snapshot, &arena, &entry, error);
    if (status == KEDGE_OK) {
        kedge_record_write writes[] = {kedge_log_put(&segment, KEDGE_IF_ABSENT),
                                       kedge_log_put(&entry, KEDGE_IF_ABSENT),
                                       kedge_log_put(&name, KEDGE_IF_ANY)};
        writes[2].record.key.sort = log->name;
        const kedge_records *records = log->project->records;
        status = records->vtable->transact(records->self, writes, 3, error);
    }
    kedge_arena_free(&arena);
    return status;
}

/* After a transaction that did not say that it wrote. KEDGE_CONFLICT: nothing is there yet. */
static kedge_status look(const creation *work, bool *created, kedge_error *error)
{
    kedge_log_occupant occupant;
    kedge_status status =
        kedge_log_look(work->log, &work->segment, 0, work->snapshot.id, &occupant, error);
    if (status != KEDGE_OK) return status;
    if (occupant == KEDGE_LOG_OWN) *created = true;
    if (occupant != KEDGE_LOG_FREE) return KEDGE_OK;
    kedge_log_segment segment; /* its first entries may have been truncated */
    status = kedge_log_segment_oldest(work->log, &segment, error);
    if (status != KEDGE_NOT_FOUND) return status;
    return kedge_fail(error, KEDGE_CONFLICT, "log-not-found", "there is no log yet");
}

static kedge_status create(creation *work, bool *created, kedge_error *error)
{
    kedge_error failure = {0};
    for (uint32_t tries = 0; tries < KEDGE_LOG_TRIES_MAX; tries++) {
        if (tries > 0) kedge_backend_pause(work->log->project->backend, tries);
        kedge_status status = transact(work, &failure);
        if (status == KEDGE_OK) {
            *created = true;
            return KEDGE_OK;
        }
        if (kedge_log_is_transient(status)) status = look(work, created, &failure);
        if (status == KEDGE_OK) return KEDGE_OK;
        if (!kedge_log_is_transient(status))
            return kedge_fail(error, status, failure.code, "%s", failure.message);
    }
    return kedge_log_give_up("the log was created", &failure, error);
}

kedge_status kedge_log_create(const kedge_log *log, bool *created, kedge_error *error)
{
    creation work = {.log = log, .segment = {.last_snapshot = -1}};
    kedge_log_segment newest;
    size_t count;
    *created = false;
    kedge_status status = kedge_check_name("log", log->name, error);
    if (status != KEDGE_OK) return status;
    status = kedge_log_segments_newest(log, 1, false, &newest, &count, error);
    if (status != KEDGE_NOT_FOUND) return status;
    work.segment.created_s = kedge_log_now_s(log);
    work.snapshot = kedge_log_system_entry(log, KEDGE_LOG_SNAPSHOT, 0, 0);
    work.snapshot.created_s = work.segment.created_s;
    status = create(&work, created, error);
    if (status == KEDGE_OK && *created) kedge_log_tell(log, 0);
    return status;
}
