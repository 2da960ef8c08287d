/* The worker's rounds on the thread that calls (loop.c), of a database that is caller-driven. */
#ifndef KEDGE_SDK_RUNTIME_LOOP_H
#define KEDGE_SDK_RUNTIME_LOOP_H

#include "sdk/runtime/db.h"

/* Waits at most `timeout_ms` for the network, a peer or a timer, and does a round. `*wait_ms`: how
 * long the next turn may wait. Errors as kedge_loop_run. */
kedge_status kedge_loop_turn(kedge_db *db, int64_t timeout_ms, int64_t *wait_ms,
                             kedge_error *error);
/* What the worker does at its end, when no thread is in the loop any more. */
void kedge_loop_end(kedge_db *db);

#endif
