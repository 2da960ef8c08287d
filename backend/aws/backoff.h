/* Pauses between tries: exponential, with full jitter, so that callers that failed together do not
 * come back together. Bounds in client.h. */
#ifndef KEDGE_BACKEND_AWS_BACKOFF_H
#define KEDGE_BACKEND_AWS_BACKOFF_H

#include "common/environment.h"

/* How long to wait behind try number `tries`: up to a bound that doubles with each, spread evenly
 * from 0 on. */
int64_t kedge_aws_backoff_ms(const kedge_environment *environment, uint32_t tries);
void kedge_aws_wait(int64_t duration_ms);
/* Waits for a backoff. */
void kedge_aws_pause(const kedge_environment *environment, uint32_t tries);

#endif
