/* The log of queued mode: messages that cannot be decided. */
#ifndef KEDGE_BACKEND_FRONT_FAILURES_H
#define KEDGE_BACKEND_FRONT_FAILURES_H

#include "backend/front/log.h"
#include "backend/queued/queued.h"

/* The option `failed` of kedge_queued_new, with a kedge_log as its context. */
void kedge_failure_log(void *log, const kedge_queued_failure *failure);

#endif
