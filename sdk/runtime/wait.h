/* Waiting for the worker (sync.c). All but kedge_offline is called with the database's lock
 * held. */
#ifndef KEDGE_SDK_RUNTIME_WAIT_H
#define KEDGE_SDK_RUNTIME_WAIT_H

#include "sdk/runtime/db.h"

#include <time.h>

typedef struct kedge_wait_deadline {
    bool forever;
    struct timespec at; /* CLOCK_MONOTONIC */
} kedge_wait_deadline;

/* Between these two kedge_close waits for this thread. `timeout_ms` below 0: for ever. */
kedge_wait_deadline kedge_wait_begin(kedge_db *db, int32_t timeout_ms);
void kedge_wait_end(kedge_db *db);

/* KEDGE_INVALID_ARGUMENT "called-back" on the worker thread, which would wait for itself. */
kedge_status kedge_check_may_wait(const kedge_db *db, kedge_error *error);
/* Returns KEDGE_OK when something has changed since the call, KEDGE_TIMEOUT, or KEDGE_CANCELLED
 * when the database closes. */
kedge_status kedge_wait_for_news(kedge_db *db, const kedge_wait_deadline *deadline,
                                 kedge_error *error);

kedge_status kedge_offline(kedge_error *error);

#endif
