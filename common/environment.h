/* The resources that a component must not take from the system directly: memory, time, randomness.
 * A program passes kedge_environment_system(); the simulator passes its own. */
#ifndef KEDGE_COMMON_ENVIRONMENT_H
#define KEDGE_COMMON_ENVIRONMENT_H

#include "common/bytes.h"

typedef struct kedge_environment {
    const kedge_allocator *allocator;
    /* Wall clock, milliseconds since 1970. May jump both ways. */
    int64_t (*now_ms)(void *context);
    /* A clock that only goes forward, in milliseconds from an arbitrary start. For timers. */
    int64_t (*monotonic_ms)(void *context);
    /* Fills `bytes` with unpredictable bytes; never fails (the system's version
     * aborts if it must). */
    void (*random)(void *context, void *bytes, size_t size);
    void *context;
} kedge_environment;

/* The system's clocks and its random generator, and `allocator` (NULL: the default one). */
kedge_environment kedge_environment_system(const kedge_allocator *allocator);

uint64_t kedge_random_u64(const kedge_environment *environment);
/* `size` random bytes as lower-case hexadecimal; `hex` holds 2 * size + 1 bytes; size <= 32. */
void kedge_random_hex(const kedge_environment *environment, size_t size, char *hex);

#endif
