/* Waiting for the worker (sync_wait.c). All is called with the database's lock held. */
#ifndef KEDGE_SDK_RUNTIME_WAIT_H
#define KEDGE_SDK_RUNTIME_WAIT_H

#include "sdk/runtime/db.h"

#include <time.h>

typedef struct kedge_wait_deadline {
    bool forever;
    struct timespec at; /* CLOCK_MONOTONIC */
} kedge_wait_deadline;

/* Between these two the thread is told when another one leaves the loop. `timeout_ms` below 0: for
 * ever. */
kedge_wait_deadline kedge_wait_begin(kedge_db *db, int32_t timeout_ms);
void kedge_wait_end(kedge_db *db);

/* Waits until something may have changed; ETIMEDOUT at the deadline. When the app drives the loop,
 * this thread does it meanwhile. */
int kedge_wait_moved(kedge_db *db, const kedge_wait_deadline *deadline);
/* Returns KEDGE_OK when something has changed since the call, KEDGE_TIMEOUT, or KEDGE_CANCELLED
 * when the database closes. */
kedge_status kedge_wait_for_news(kedge_db *db, const kedge_wait_deadline *deadline,
                                 kedge_error *error);

#endif
