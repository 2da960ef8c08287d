/* Requests of snapshots, and the worker that makes them. */
#include "backend/effects/snapshots.h"

#include "backend/base/background.h"
#include "backend/ports/deadline.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"

#include <stdio.h>
#include <string.h>

/* ---- requests ---- */

static void write_message(const kedge_log *log, kedge_buffer *body)
{
    kedge_json_writer writer = kedge_json_write(body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "log");
    kedge_json_text(&writer, log->name);
    kedge_json_key(&writer, "organization");
    kedge_json_text(&writer, log->project->ref.organization);
    kedge_json_key(&writer, "project");
    kedge_json_text(&writer, log->project->ref.project);
    kedge_json_end_object(&writer);
}

static kedge_status send(const kedge_log *log, const kedge_queue *queue, kedge_error *error)
{
    char group[sizeof "snapshots-" + 2 * KEDGE_LOG_ID_SIZE] = "snapshots-";
    char name[2 * KEDGE_LOG_ID_SIZE + 1];
    kedge_buffer body = kedge_buffer_make(log->project->allocator);
    kedge_hex_encode(log->id, KEDGE_LOG_ID_SIZE, group + sizeof "snapshots-" - 1);
    kedge_random_hex(log->project->environment, KEDGE_LOG_ID_SIZE, name);
    write_message(log, &body);
    kedge_status status = kedge_buffer_status(&body, error);
    if (status == KEDGE_OK)
        status =
            queue->vtable->send(queue->self, log->project->ref.organization, kedge_bytes_of(group),
                                kedge_bytes_of(name), kedge_buffer_bytes(&body), error);
    kedge_buffer_free(&body);
    return status;
}

kedge_status kedge_snapshot_request(const kedge_log *log, const kedge_queue *queue,
                                    const kedge_log_place *at, kedge_error *error)
{
    kedge_status status = kedge_pending_snapshot_put(log, at, error);
    return status == KEDGE_OK ? send(log, queue, error) : status;
}

void kedge_snapshot_id(const kedge_log *log, const kedge_log_place *at, char id[KEDGE_SHA256_HEX])
{
    char place[64];
    uint8_t hash[KEDGE_SHA256_SIZE];
    int size =
        snprintf(place, sizeof place, "/%lld/%lld", (long long)at->segment, (long long)at->num);
    const kedge_bytes pieces[] = {KEDGE_BYTES("kedge snapshot\n"),
                                  {(const char *)log->id, KEDGE_LOG_ID_SIZE},
                                  {place, (size_t)size}};
    kedge_sha256_of(pieces, 3, hash);
    kedge_hex_encode(hash, sizeof hash, id);
}

/* ---- the worker ---- */

typedef struct work_on_log {
    const kedge_snapshot_worker *worker;
    const kedge_environment *environment;
    kedge_project project;
    kedge_log log;
    int64_t deadline_ms;
    kedge_pending_snapshot pending;
    bool taken;   /* `pending` is ours */
    bool lost;    /* it went to another */
    bool busy;    /* another has it, and may still be at work */
    bool done;    /* none is pending any more */
    bool refused; /* the snapshot of `pending` cannot be made here */
} work_on_log;

static int64_t wall_ms(const work_on_log *work)
{
    return work->environment->now_ms(work->environment->context);
}

static bool is_late(const work_on_log *work)
{
    int64_t now_ms = work->environment->monotonic_ms(work->environment->context);
    return now_ms + work->worker->reserve_ms > work->deadline_ms;
}

/* A miss of an eventually consistent read says nothing: the item may be too young for it. */
static kedge_status find_first(work_on_log *work, bool consistent, kedge_error *error)
{
    kedge_status status = KEDGE_NOT_FOUND;
    if (!consistent)
        status = kedge_pending_snapshot_first(&work->log, false, &work->pending, error);
    if (status == KEDGE_NOT_FOUND)
        status = kedge_pending_snapshot_first(&work->log, true, &work->pending, error);
    return status;
}

/* Whether a worker has taken the item and may still be at work. A time in the far future was set by
 * a wrong clock. */
static bool is_busy(const work_on_log *work)
{
    int64_t age_ms = wall_ms(work) - work->pending.since_ms;
    int64_t max_ms = work->worker->run_max_ms;
    return work->pending.owner[0] != '\0' && age_ms <= max_ms && age_ms >= -max_ms;
}

/* A damaged item would hold up all after it for ever. */
static kedge_status mend_first(work_on_log *work, const kedge_error *damage, kedge_error *error)
{
    kedge_background_failed(&work->project, KEDGE_BACKGROUND_LOG_SNAPSHOTS, damage);
    kedge_status status = kedge_pending_snapshot_mend(&work->log, error);
    return status == KEDGE_OK ? KEDGE_CONFLICT : status; /* it is read again */
}

/* The conditional write that makes the first item ours. `taken` is false without a failure: none is
 * pending, or somebody is at it. */
static kedge_status take_first(work_on_log *work, kedge_error *error)
{
    kedge_status status = KEDGE_CONFLICT;
    work->taken = false;
    for (int tries = 0; tries < KEDGE_SNAPSHOT_TRIES_MAX && status == KEDGE_CONFLICT; tries++) {
        kedge_error failure = {0};
        status = find_first(work, tries > 0, &failure);
        work->done = status == KEDGE_NOT_FOUND;
        if (status != KEDGE_OK && error != NULL) *error = failure;
        if (status == KEDGE_CORRUPT && strcmp(failure.code, KEDGE_PENDING_DAMAGED) == 0) {
            status = mend_first(work, &failure, error);
            continue;
        }
        if (status != KEDGE_OK) break;
        work->busy = is_busy(work);
        if (work->busy) return KEDGE_OK;
        kedge_random_hex(work->environment, (KEDGE_PENDING_OWNER_HEX - 1) / 2, work->pending.owner);
        work->pending.since_ms = wall_ms(work);
        status = kedge_pending_snapshot_save(&work->log, &work->pending, error);
        work->taken = status == KEDGE_OK;
    }
    return work->done ? KEDGE_OK : status;
}

/* Whether the entry has its snapshot already, which is then the progress, or is no more. */
static kedge_status look_at_entry(work_on_log *work, bool *complete, bool *gone, kedge_error *error)
{
    kedge_log_reader reader;
    kedge_log_page page = kedge_log_page_make(work->project.allocator);
    int64_t number = work->pending.at.number;
    kedge_status status =
        kedge_log_query(&work->log, KEDGE_LOG_FROM_NUMBER, number, false, &reader, error);
    if (status == KEDGE_OK) {
        reader.consistent = true;
        status = kedge_log_read(&reader, 1, &page, error);
    }
    *gone = status == KEDGE_NOT_FOUND;
    if (status == KEDGE_OK && page.count > 0) {
        const kedge_log_entry *entry = &page.entries[0];
        *gone = entry->at.number != number;
        *complete = !*gone && entry->snapshot.size > 0;
        if (*complete) {
            kedge_buffer_clear(&work->pending.progress);
            kedge_buffer_append_bytes(&work->pending.progress, entry->snapshot);
            status = kedge_buffer_status(&work->pending.progress, error);
        }
    }
    kedge_log_page_free(&page);
    return *gone ? KEDGE_OK : status;
}

/* After a conflict the item is another's. */
static kedge_status note_lost(work_on_log *work, kedge_status status)
{
    if (status != KEDGE_CONFLICT) return status;
    work->lost = true;
    return KEDGE_OK;
}

static kedge_status save(work_on_log *work, kedge_error *error)
{
    return note_lost(work, kedge_pending_snapshot_save(&work->log, &work->pending, error));
}

/* Gives the item back, so that the next worker need not wait. When that fails, it waits. */
static kedge_status hand_over(work_on_log *work, kedge_error *error)
{
    work->pending.owner[0] = '\0';
    work->pending.since_ms = 0;
    kedge_deadline_begin_commit();
    kedge_status status = save(work, error);
    kedge_deadline_end_commit();
    return status;
}

static kedge_status finish(work_on_log *work, kedge_error *error)
{
    const kedge_log_metadata metadata = {.snapshot = kedge_buffer_bytes(&work->pending.progress)};
    kedge_status status =
        kedge_log_set_metadata(&work->log, work->pending.at.number, &metadata, error);
    /* The entry was truncated meanwhile, or its segment archived. */
    if (status == KEDGE_NOT_FOUND || status == KEDGE_REJECTED) status = KEDGE_OK;
    if (status != KEDGE_OK) return status;
    return note_lost(work, kedge_pending_snapshot_remove(&work->log, &work->pending, error));
}

/* Piece by piece, until it is complete, or there is no time for another piece. */
static kedge_status make_pieces(work_on_log *work, bool *complete, kedge_error *error)
{
    const kedge_snapshot_worker *worker = work->worker;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && !*complete && !work->lost) {
        if (is_late(work)) return hand_over(work, error);
        status = worker->make(worker->context, &work->log, &work->pending.at,
                              &work->pending.progress, complete, error);
        if (status == KEDGE_OK) status = kedge_buffer_status(&work->pending.progress, error);
        work->refused = status == KEDGE_UNSUPPORTED;
        if (status != KEDGE_OK || *complete) break;
        work->pending.since_ms = wall_ms(work);
        status = save(work, error);
    }
    return status;
}

/* Tells why no snapshot can be made, and removes the request for it. A later request of the same
 * snapshot is taken like the first. */
static kedge_status refuse(work_on_log *work, const kedge_error *why, kedge_error *error)
{
    const kedge_snapshot_worker *worker = work->worker;
    if (worker->refused != NULL)
        worker->refused(worker->refused_context, &work->log, &work->pending.at, why);
    return note_lost(work, kedge_pending_snapshot_remove(&work->log, &work->pending, error));
}

/* `settled`: the item is removed, or another's. */
static kedge_status make_first(work_on_log *work, bool *settled, kedge_error *error)
{
    bool gone = false, complete = false;
    kedge_error why = {0};
    work->refused = false;
    kedge_status status = look_at_entry(work, &complete, &gone, error);
    if (status == KEDGE_OK && !complete && !gone) {
        status = make_pieces(work, &complete, &why);
        if (status != KEDGE_OK && error != NULL) *error = why;
    }
    if (work->refused) status = refuse(work, &why, error);
    /* Also for a snapshot that was there: Last Snapshot may not have moved to it yet. */
    if (status == KEDGE_OK && complete && !work->lost) status = finish(work, error);
    if (status == KEDGE_OK && gone)
        status = note_lost(work, kedge_pending_snapshot_remove(&work->log, &work->pending, error));
    /* Behind a complete one the progress is an id: what was saved before it stays. */
    if (status != KEDGE_OK && !complete && !work->refused) (void)hand_over(work, NULL);
    *settled = complete || gone || work->refused;
    return status;
}

static kedge_status work_off(work_on_log *work, kedge_error *error)
{
    for (;;) {
        bool settled = false;
        if (is_late(work)) return KEDGE_OK;
        kedge_status status = take_first(work, error);
        if (status != KEDGE_OK || !work->taken) return status;
        status = make_first(work, &settled, error);
        if (status != KEDGE_OK || !settled || work->lost) return status;
    }
}

/* ---- messages ---- */

static bool read_name(kedge_bytes object, const char *member, char name[KEDGE_SNAPSHOT_NAME_SIZE])
{
    return kedge_json_member_chars(object, member, name, KEDGE_SNAPSHOT_NAME_SIZE) &&
           kedge_check_name(member, kedge_bytes_of(name), NULL) == KEDGE_OK;
}

bool kedge_snapshot_message_read(kedge_bytes message, kedge_snapshot_message *read)
{
    return kedge_json_check(message, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) ==
               KEDGE_OK &&
           kedge_json_type_of(message) == KEDGE_JSON_OBJECT &&
           read_name(message, "organization", read->organization) &&
           read_name(message, "project", read->project) && read_name(message, "log", read->log);
}

kedge_status kedge_snapshot_work(const kedge_snapshot_worker *worker, kedge_bytes message,
                                 int64_t deadline_ms, kedge_snapshot_outcome *outcome,
                                 kedge_error *error)
{
    kedge_snapshot_message read;
    *outcome = KEDGE_SNAPSHOT_DONE;
    if (!kedge_snapshot_message_read(message, &read))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "snapshot-message-invalid",
                          "a message of the queue of snapshots names no log");
    const kedge_project_ref ref = {kedge_bytes_of(read.organization), kedge_bytes_of(read.project)};
    work_on_log work = {.worker = worker,
                        .environment = worker->backend->environment,
                        .project = kedge_project_of(worker->backend, &ref),
                        .deadline_ms = deadline_ms,
                        .pending = {.progress = kedge_buffer_make(worker->backend->allocator)}};
    work.log = kedge_log_of(&work.project, kedge_bytes_of(read.log));
    kedge_status status = work_off(&work, error);
    *outcome = work.busy ? KEDGE_SNAPSHOT_WAIT : KEDGE_SNAPSHOT_RETURN;
    if (status == KEDGE_OK && work.done) *outcome = KEDGE_SNAPSHOT_DONE;
    kedge_buffer_free(&work.pending.progress);
    return status;
}
