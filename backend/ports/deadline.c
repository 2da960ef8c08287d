/* See deadline.h: one pointer a thread. */
#include "backend/ports/deadline.h"

#include "common/assert.h"

static _Thread_local const kedge_deadline *current;
static _Thread_local bool committing;
static _Thread_local int64_t commit_end_ms; /* while it commits */

void kedge_deadline_set(const kedge_deadline *deadline)
{
    current = deadline;
    committing = false;
}

static int64_t now_ms(const kedge_deadline *deadline)
{
    return deadline->environment->monotonic_ms(deadline->environment->context);
}

static bool is_cancelled(const kedge_deadline *deadline)
{
    return deadline->is_cancelled != NULL && deadline->is_cancelled(deadline->context);
}

void kedge_deadline_begin_commit(void)
{
    KEDGE_ASSERT(!committing);
    if (current == NULL) return;
    int64_t now = now_ms(current);
    bool is_over = now >= current->end_ms || is_cancelled(current);
    commit_end_ms = (is_over ? now : current->end_ms) + KEDGE_DEADLINE_COMMIT_MS;
    committing = true;
}

void kedge_deadline_end_commit(void)
{
    committing = false;
}

kedge_deadline_advice kedge_deadline_ask(void)
{
    const kedge_deadline *deadline = current;
    if (deadline == NULL) return KEDGE_DEADLINE_GO_ON;
    int64_t now = now_ms(deadline);
    if (committing) return now < commit_end_ms ? KEDGE_DEADLINE_GO_ON : KEDGE_DEADLINE_STOP;
    if (now >= deadline->end_ms || is_cancelled(deadline)) return KEDGE_DEADLINE_STOP;
    if (now < deadline->slice_end_ms || deadline->is_awaited == NULL) return KEDGE_DEADLINE_GO_ON;
    return deadline->is_awaited(deadline->context) ? KEDGE_DEADLINE_MAKE_ROOM
                                                   : KEDGE_DEADLINE_GO_ON;
}

int64_t kedge_deadline_left_ms(int64_t most_ms)
{
    if (current == NULL) return most_ms;
    int64_t left_ms = (committing ? commit_end_ms : current->end_ms) - now_ms(current);
    if (left_ms < 0) left_ms = 0;
    return left_ms < most_ms ? left_ms : most_ms;
}

kedge_status kedge_deadline_check(kedge_error *error)
{
    if (kedge_deadline_ask() != KEDGE_DEADLINE_STOP) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "deadline-exceeded",
                      "the time of the request is over, or its client is gone");
}
