/* The log of failures that are in no response: background work, messages that cannot be decided,
 * calls to the queue, mutators that crash. */
#ifndef KEDGE_BACKEND_FRONT_FAILURES_H
#define KEDGE_BACKEND_FRONT_FAILURES_H

#include "backend/front/logger.h"
#include "backend/queued/queued.h"

/* The options of kedge_queued_new `failed` and `call_failed`, and the option `failed` of
 * kedge_backend_new, each with a kedge_logger as its context. */
void kedge_failure_log(void *log, const kedge_queued_failure *failure);
void kedge_failure_log_call(void *log, kedge_queued_call call, const kedge_error *error);
void kedge_failure_log_background(void *log, const kedge_background_failure *failure);
/* The option `failed` of kedge_plugin_start, likewise. */
void kedge_failure_log_mutator(void *log, const char *mutator, const kedge_error *error);

#endif
