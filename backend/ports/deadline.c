/* See deadline.h: one pointer a thread. */
#include "backend/ports/deadline.h"

static _Thread_local const kedge_deadline *current;

void kedge_deadline_set(const kedge_deadline *deadline)
{
    current = deadline;
}

static int64_t now_ms(const kedge_deadline *deadline)
{
    return deadline->environment->monotonic_ms(deadline->environment->context);
}

kedge_deadline_advice kedge_deadline_ask(void)
{
    const kedge_deadline *deadline = current;
    if (deadline == NULL) return KEDGE_DEADLINE_GO_ON;
    if (deadline->is_cancelled != NULL && deadline->is_cancelled(deadline->context))
        return KEDGE_DEADLINE_STOP;
    int64_t now = now_ms(deadline);
    if (now >= deadline->end_ms) return KEDGE_DEADLINE_STOP;
    if (now < deadline->turn_ms || deadline->is_awaited == NULL) return KEDGE_DEADLINE_GO_ON;
    return deadline->is_awaited(deadline->context) ? KEDGE_DEADLINE_MAKE_ROOM
                                                   : KEDGE_DEADLINE_GO_ON;
}

int64_t kedge_deadline_left_ms(int64_t most_ms)
{
    if (current == NULL) return most_ms;
    int64_t left_ms = current->end_ms - now_ms(current);
    if (left_ms < 0) left_ms = 0;
    return left_ms < most_ms ? left_ms : most_ms;
}

kedge_status kedge_deadline_check(kedge_error *error)
{
    if (kedge_deadline_ask() != KEDGE_DEADLINE_STOP) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "deadline-exceeded",
                      "the time of the request is over, or its client is gone");
}
