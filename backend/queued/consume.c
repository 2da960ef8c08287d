/* Deciding a batch of messages: by project, in push batches that shrink when they fail. */
#include "backend/queued/queued.h"

#include "backend/ports/deadline.h"
#include "backend/queued/dead_letters.h"
#include "backend/queued/push_batch.h"
#include "backend/queued/queued_internal.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

typedef struct consuming {
    kedge_queued *queued;
    kedge_backend *backend;
    const kedge_queue_message *messages;
    size_t count;
    size_t delivered; /* how many came together */
    const kedge_consume_watch *watch;
    kedge_consume_outcome *outcomes;
    kedge_message read[KEDGE_QUEUE_RECEIVE_MAX];
    bool settled[KEDGE_QUEUE_RECEIVE_MAX];
    /* What the mark says of a message that is not tried: tries in a row that ended consumers. */
    uint32_t ended[KEDGE_QUEUE_RECEIVE_MAX];
    bool unread[KEDGE_QUEUE_RECEIVE_MAX]; /* the mark could not be read, and stays as it is */
} consuming;

/* The messages of one project, in their order. */
typedef struct project_messages {
    size_t index[KEDGE_QUEUE_RECEIVE_MAX];
    size_t count;
    size_t next;
    size_t most;  /* that a batch may have */
    size_t limit; /* … for now, since a larger one failed */
} project_messages;

/* ---- outcomes ---- */

static int64_t doubled(int64_t first_ms, int64_t most_ms, uint32_t receive_count)
{
    uint32_t doublings = receive_count > 1 ? receive_count - 1 : 0;
    if (doublings > 20) return most_ms;
    int64_t ms = first_ms << doublings;
    return ms < most_ms ? ms : most_ms;
}

static void settle(consuming *work, size_t index, kedge_consumed what, const kedge_error *error)
{
    kedge_consume_outcome *outcome = &work->outcomes[index];
    kedge_queued_counters *counters = &work->queued->counters;
    const kedge_queue_message *message = &work->messages[index];
    *outcome = (kedge_consume_outcome){.what = what};
    if (error != NULL) outcome->error = *error;
    kedge_deadline_begin_commit(); /* also when the thread's time is over */
    switch (what) {
    case KEDGE_CONSUMED_DECIDED:
        atomic_fetch_add(&counters->decided, 1);
        if (message->receive_count > 1) kedge_dead_letter_forget(work->queued, message);
        break;
    case KEDGE_CONSUMED_AGAIN:
        outcome->again_ms =
            doubled(KEDGE_QUEUED_AGAIN_MS, KEDGE_QUEUED_AGAIN_MAX_MS, message->receive_count);
        atomic_fetch_add(&counters->again, 1);
        /* The mark of one that was tried is over: it did not end the consumer. */
        if (work->unread[index])
            kedge_dead_letter_tell(work->queued, message, error);
        else if (message->receive_count >= KEDGE_QUEUED_ALONE_COUNT)
            kedge_dead_letter_note(work->queued, message, error, work->ended[index]);
        break;
    case KEDGE_CONSUMED_FAILED:
        outcome->again_ms = doubled(KEDGE_QUEUED_UNDECIDED_MS, KEDGE_QUEUED_UNDECIDED_MAX_MS,
                                    message->receive_count);
        atomic_fetch_add(&counters->failed, 1);
        kedge_dead_letter_note(work->queued, message, error, work->ended[index]);
        break;
    }
    work->settled[index] = true;
    if (work->watch != NULL) work->watch->settled(work->watch->context, index, outcome);
    kedge_deadline_end_commit();
}

static void settle_rest(consuming *work, const project_messages *project, const kedge_error *error)
{
    for (size_t i = 0; i < project->count; i++) {
        if (!work->settled[project->index[i]])
            settle(work, project->index[i], KEDGE_CONSUMED_AGAIN, error);
    }
}

/* The message itself, or the project's records, cannot be what they must be: no retry helps. All
 * else may pass. */
static bool is_undecidable(kedge_status status)
{
    switch (status) {
    case KEDGE_NOT_FOUND:
    case KEDGE_INVALID_ARGUMENT:
    case KEDGE_INVALID_JSON:
    case KEDGE_LIMIT_EXCEEDED:
    case KEDGE_CORRUPT:
    case KEDGE_INTERNAL:
    case KEDGE_UNSUPPORTED:
        return true;
    default:
        return false;
    }
}

/* ---- a push batch ---- */

/* Takes messages from project->next on. `*passed`: how many of them were looked at; those that
 * cannot be decided are settled. Fails when the first cannot be read now. */
static kedge_status fill(consuming *work, project_messages *project, kedge_push_batch *batch,
                         size_t *passed, kedge_error *error)
{
    *passed = 0;
    while (project->next + *passed < project->count && batch->count < project->limit) {
        size_t index = project->index[project->next + *passed];
        kedge_error failure = {0};
        if (!work->settled[index]) {
            kedge_status status = kedge_push_batch_add(batch, index, &work->read[index], &failure);
            bool full = status == KEDGE_LIMIT_EXCEEDED && batch->count > 0;
            if (full) return KEDGE_OK;
            if (is_undecidable(status)) {
                settle(work, index, KEDGE_CONSUMED_FAILED, &failure);
            } else if (status != KEDGE_OK) {
                if (batch->count > 0) return KEDGE_OK;
                return kedge_fail(error, status, failure.code, "%s", failure.message);
            }
        }
        ++*passed;
    }
    return KEDGE_OK;
}

/* A message that comes for the fourth time may be what kills its consumers. */
static kedge_status mark(consuming *work, const kedge_push_batch *batch, kedge_error *error)
{
    size_t index = batch->parts[0].message;
    const kedge_queue_message *message = &work->messages[index];
    if (batch->count > 1 || message->receive_count < KEDGE_QUEUED_ALONE_COUNT) return KEDGE_OK;
    kedge_status status = kedge_dead_letter_mark(work->queued, message, work->ended[index], error);
    if (status == KEDGE_OK) work->ended[index] = 0; /* tried: this consumer tells how that ends */
    return status;
}

static void settle_batch(consuming *work, const kedge_push_batch *batch)
{
    if (batch->count > 1) atomic_fetch_add(&work->queued->counters.merged, batch->count);
    for (size_t i = 0; i < batch->count; i++)
        settle(work, batch->parts[i].message, KEDGE_CONSUMED_DECIDED, NULL);
}

/* Decides the next messages of the project. False: nothing more of it now. */
static bool step(consuming *work, project_messages *project, kedge_push_batch *batch)
{
    kedge_error error = {0};
    size_t passed = 0;
    kedge_status status = fill(work, project, batch, &passed, &error);
    if (status == KEDGE_OK && batch->count > 0) {
        status = mark(work, batch, &error);
        if (status == KEDGE_OK) status = kedge_push_batch_decide(batch, work->backend, &error);
        if (status == KEDGE_OK) settle_batch(work, batch);
    }
    if (status == KEDGE_OK) {
        project->next += passed;
        project->limit = project->limit * 2 < project->most ? project->limit * 2 : project->most;
    } else if ((is_undecidable(status) || status == KEDGE_NO_MEMORY) && batch->count > 1) {
        project->limit = batch->count / 2;
    } else if (is_undecidable(status)) {
        settle(work, batch->parts[0].message, KEDGE_CONSUMED_FAILED, &error);
        project->next += passed;
    } else {
        settle_rest(work, project, &error);
        project->next = project->count;
    }
    kedge_push_batch_clear(batch);
    return project->next < project->count;
}

/* ---- a project ---- */

/* Settles messages as failed that have ended a consumer. Such a message is tried again only when
 * it was received alone, since each end of a consumer uses up a delivery of all that it received;
 * and at most KEDGE_QUEUED_ENDED_MAX times, since each holds up its group until the message becomes
 * visible again. */
static kedge_status leave_marked(consuming *work, const project_messages *project,
                                 kedge_error *error)
{
    for (size_t i = 0; i < project->count; i++) {
        size_t index = project->index[i];
        work->unread[index] = work->messages[index].receive_count > KEDGE_QUEUED_ALONE_COUNT;
    }
    for (size_t i = 0; i < project->count; i++) {
        size_t index = project->index[i];
        const kedge_queue_message *message = &work->messages[index];
        if (!work->unread[index]) continue;
        kedge_status status =
            kedge_dead_letter_read_mark(work->queued, message, &work->ended[index], error);
        if (status != KEDGE_OK) return status;
        work->unread[index] = false;
        bool again = work->delivered == 1 && work->ended[index] < KEDGE_QUEUED_ENDED_MAX;
        if (work->ended[index] == 0 || again) continue;
        kedge_error reason;
        kedge_fail(&reason, KEDGE_INTERNAL, "consumer-ended",
                   "a consumer ended while it tried this message alone");
        settle(work, index, KEDGE_CONSUMED_FAILED, &reason);
    }
    return KEDGE_OK;
}

static size_t batch_limit(const consuming *work, const project_messages *project)
{
    uint32_t deliveries = 1;
    for (size_t i = 0; i < project->count; i++) {
        uint32_t count = work->messages[project->index[i]].receive_count;
        if (count > deliveries) deliveries = count;
    }
    if (deliveries >= KEDGE_QUEUED_ALONE_COUNT) return 1;
    return (size_t)KEDGE_QUEUE_RECEIVE_MAX >> (deliveries - 1);
}

static void consume_project(consuming *work, project_messages *project)
{
    kedge_error error = {0};
    kedge_push_batch batch = {.queued = work->queued};
    project->most = batch_limit(work, project);
    project->limit = project->most;
    if (leave_marked(work, project, &error) != KEDGE_OK) {
        settle_rest(work, project, &error);
        return;
    }
    while (step(work, project, &batch)) {
    }
}

/* ---- all messages ---- */

static bool is_same_project(const kedge_message *a, const kedge_message *b)
{
    return strcmp(a->organization, b->organization) == 0 && strcmp(a->project, b->project) == 0;
}

static void gather(const consuming *work, size_t first, project_messages *project)
{
    *project = (project_messages){.count = 0};
    for (size_t i = first; i < work->count; i++) {
        if (!work->settled[i] && is_same_project(&work->read[i], &work->read[first]))
            project->index[project->count++] = i;
    }
}

kedge_status kedge_consume(kedge_queued *queued, kedge_backend *backend,
                           const kedge_queue_message *messages, size_t count, size_t delivered,
                           const kedge_consume_watch *watch, kedge_consume_outcome *outcomes,
                           kedge_error *error)
{
    KEDGE_ASSERT(delivered >= count);
    if (count > KEDGE_QUEUE_RECEIVE_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "too-many-messages",
                          "%zu messages were given; at most %d are allowed", count,
                          KEDGE_QUEUE_RECEIVE_MAX);
    }
    consuming work = {.queued = queued,
                      .backend = backend,
                      .messages = messages,
                      .count = count,
                      .delivered = delivered,
                      .watch = watch,
                      .outcomes = outcomes};
    atomic_fetch_add(&queued->counters.received, count);
    for (size_t i = 0; i < count; i++) {
        kedge_error failure = {0};
        if (kedge_message_read(messages[i].body, &work.read[i], &failure) != KEDGE_OK)
            settle(&work, i, KEDGE_CONSUMED_FAILED, &failure);
    }
    for (size_t i = 0; i < count; i++) {
        project_messages project;
        if (work.settled[i]) continue;
        gather(&work, i, &project);
        consume_project(&work, &project);
    }
    return KEDGE_OK;
}
