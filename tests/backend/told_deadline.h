/* A deadline whose answers a test sets. */
#ifndef KEDGE_TESTS_BACKEND_TOLD_DEADLINE_H
#define KEDGE_TESTS_BACKEND_TOLD_DEADLINE_H

#include "backend/ports/deadline.h"

typedef struct told_deadline {
    kedge_environment environment;
    kedge_deadline deadline;
    int64_t now_ms;
    bool cancelled;
    bool awaited;
    int asked;          /* how often whether it is awaited */
    int cancelled_from; /* the number of the question from which on it is cancelled; 0: never */
} told_deadline;

static inline int64_t told_ms(void *context)
{
    return ((told_deadline *)context)->now_ms;
}

static inline bool told_is_cancelled(void *context)
{
    return ((told_deadline *)context)->cancelled;
}

static inline bool told_is_awaited(void *context)
{
    told_deadline *told = context;
    told->asked++;
    if (told->cancelled_from > 0 && told->asked >= told->cancelled_from) told->cancelled = true;
    return told->awaited;
}

/* Sets it on this thread, at 1000 ms. */
static inline void told_begin(told_deadline *told, int64_t slice_end_ms, int64_t end_ms)
{
    *told = (told_deadline){.now_ms = 1000};
    told->environment = (kedge_environment){.monotonic_ms = told_ms, .context = told};
    told->deadline = (kedge_deadline){.environment = &told->environment,
                                      .slice_end_ms = slice_end_ms,
                                      .end_ms = end_ms,
                                      .is_cancelled = told_is_cancelled,
                                      .is_awaited = told_is_awaited,
                                      .context = told};
    kedge_deadline_set(&told->deadline);
}

#endif
