/* The bound, the dice, and the wait. */
#include "backend/aws/backoff.h"

#include "backend/aws/client.h"

#include <errno.h>
#include <time.h>

int64_t kedge_aws_backoff_ms(const kedge_environment *environment, uint32_t tries)
{
    uint64_t bound_ms = KEDGE_AWS_BACKOFF_FIRST_MS;
    for (uint32_t i = 1; i < tries && bound_ms < KEDGE_AWS_BACKOFF_MAX_MS; i++) {
        bound_ms *= 2;
    }
    if (bound_ms > KEDGE_AWS_BACKOFF_MAX_MS) bound_ms = KEDGE_AWS_BACKOFF_MAX_MS;
    return (int64_t)(kedge_random_u64(environment) % (bound_ms + 1));
}

void kedge_aws_wait(int64_t duration_ms)
{
    struct timespec left = {.tv_sec = (time_t)(duration_ms / 1000),
                            .tv_nsec = (long)(duration_ms % 1000) * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}

void kedge_aws_pause(const kedge_environment *environment, uint32_t tries)
{
    kedge_aws_wait(kedge_aws_backoff_ms(environment, tries));
}
