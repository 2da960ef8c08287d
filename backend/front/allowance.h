/* A bound on log lines of one kind that peers can cause as often as they like: BURST at once, and
 * PER_MINUTE from then on. Any thread; no locks. */
#ifndef KEDGE_BACKEND_FRONT_ALLOWANCE_H
#define KEDGE_BACKEND_FRONT_ALLOWANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define KEDGE_ALLOWANCE_BURST      100
#define KEDGE_ALLOWANCE_PER_MINUTE 60

/* {0}: nothing is used up. */
typedef struct kedge_allowance {
    atomic_int_fast64_t used_until_ms; /* then the whole burst is free again; monotonic */
    atomic_uint_fast64_t omitted;      /* since the last line */
} kedge_allowance;

/* Whether one more line may be written now; `*omitted` then tells how many were not since the one
 * before. Otherwise the line counts as omitted. `now_ms` is monotonic. */
bool kedge_allowance_take(kedge_allowance *allowance, int64_t now_ms, uint64_t *omitted);

#endif
