/* When a thread's work must end.
 *
 * A front end sets a deadline on the thread that works on a request, and takes it away at the end.
 * Steps that may take long ask for it: a push between two mutations, a retry before its pause, a
 * call of a remote store, the wait for a mutator's process. The deadline is thread-local, so it
 * reaches every port without a parameter. A thread without one (tools, jobs, the simulator) has no
 * time limit.
 *
 * A deadline never undoes a commit. When a push must stop, the mutations that it has run are still
 * committed, and the client pushes the rest again. The push gets KEDGE_DEADLINE_COMMIT_MS beyond
 * the deadline for this commit. Otherwise a push that is sent again could run the same mutations
 * again and again, and never commit them. */
#ifndef KEDGE_BACKEND_PORTS_DEADLINE_H
#define KEDGE_BACKEND_PORTS_DEADLINE_H

#include "common/environment.h"
#include "common/error.h"

/* How long the commit of finished work may go on after the deadline. */
#define KEDGE_DEADLINE_COMMIT_MS 3000

typedef struct kedge_deadline {
    const kedge_environment *environment;
    int64_t end_ms; /* monotonic; from then on the work stops */
    /* Monotonic; from then on the work gives way when others wait. INT64_MAX: never. */
    int64_t slice_end_ms;
    /* Called with `context` by the thread that works. NULL: false. */
    bool (*is_cancelled)(void *context); /* nobody wants the result: the work stops */
    bool (*is_awaited)(void *context);   /* others wait for this thread */
    void *context;
} kedge_deadline;

typedef enum kedge_deadline_advice {
    KEDGE_DEADLINE_GO_ON,
    KEDGE_DEADLINE_MAKE_ROOM, /* the time slice is over and others wait; go on later */
    KEDGE_DEADLINE_STOP,      /* the time is over, or nobody wants the result */
} kedge_deadline_advice;

/* Sets the deadline of this thread, which must stay valid until it is replaced. NULL: none. */
void kedge_deadline_set(const kedge_deadline *deadline);
/* Asked by a step that takes long: what it should do now. */
kedge_deadline_advice kedge_deadline_ask(void);
/* Between these two calls the thread commits what it has run. Its work must then end
 * KEDGE_DEADLINE_COMMIT_MS after the deadline; or after the call, when the deadline is over already
 * or nobody wants the result. They do nothing on a thread without a deadline. */
void kedge_deadline_begin_commit(void);
void kedge_deadline_end_commit(void);
/* The time that is left, at most `most_ms`, at least 0. */
int64_t kedge_deadline_left_ms(int64_t most_ms);
/* KEDGE_OK, or KEDGE_UNAVAILABLE with the code deadline-exceeded when the work must stop. */
kedge_status kedge_deadline_check(kedge_error *error);

#endif
