/* The counters behind kedge/stats.h; any thread counts. */
#ifndef KEDGE_SDK_RUNTIME_STATS_H
#define KEDGE_SDK_RUNTIME_STATS_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct kedge_counters {
    _Atomic int64_t edits;
    _Atomic int64_t edits_refused;
    _Atomic int64_t requests;
    _Atomic int64_t request_bytes;
    _Atomic int64_t responses;
    _Atomic int64_t response_bytes;
    _Atomic int64_t failures;
    _Atomic int64_t pokes;
    _Atomic int64_t pulls;
} kedge_counters;

static inline void kedge_count(_Atomic int64_t *counter, int64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

#endif
