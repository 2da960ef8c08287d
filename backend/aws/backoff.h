/* Pauses between tries: exponential, with full jitter, so that callers that failed together do not
 * come back together. Bounds in client.h. */
#ifndef KEDGE_BACKEND_AWS_BACKOFF_H
#define KEDGE_BACKEND_AWS_BACKOFF_H

#include "common/environment.h"

/* How long to wait after try number `tries`: a random time, evenly spread from 0 to a bound that
 * doubles with each try. */
int64_t kedge_aws_backoff_ms(const kedge_environment *environment, uint32_t tries);
void kedge_aws_wait(int64_t duration_ms);
/* Waits for the time that kedge_aws_backoff_ms returns. */
void kedge_aws_pause(const kedge_environment *environment, uint32_t tries);

#endif
