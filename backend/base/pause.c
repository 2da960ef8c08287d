/* The pauses between two tries. */
#include "backend/base/pause.h"

#include "backend/ports/deadline.h"

#include <time.h>

#define PAUSE_FIRST_MS   5
#define PAUSE_LONGEST_MS 1000
#define PAUSE_DOUBLINGS  8

void kedge_backend_pause(kedge_backend *backend, uint32_t attempt)
{
    uint32_t doublings = attempt < PAUSE_DOUBLINGS ? attempt : PAUSE_DOUBLINGS;
    int64_t longest = (int64_t)PAUSE_FIRST_MS << doublings;
    if (longest > PAUSE_LONGEST_MS) longest = PAUSE_LONGEST_MS;
    int64_t ms = (int64_t)(kedge_random_u64(backend->environment) % (uint64_t)(longest + 1));
    ms = kedge_deadline_left_ms(ms);
    if (backend->options.pause != NULL) {
        backend->options.pause(backend->options.pause_context, ms);
        return;
    }
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    nanosleep(&wait, NULL);
}
