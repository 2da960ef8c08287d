/* Counters of the front end, as Prometheus text. Any thread; no locks. */
#ifndef KEDGE_BACKEND_HTTP_METRICS_H
#define KEDGE_BACKEND_HTTP_METRICS_H

#include "backend/api/api.h"

#include <stdatomic.h>

#define KEDGE_METRICS_BUCKETS 8

typedef struct kedge_metrics {
    atomic_uint_fast64_t requests[6]; /* by the response's class: [2] is 2xx */
    atomic_uint_fast64_t cut;         /* ended without a response: broken off, late, or no HTTP */
    atomic_uint_fast64_t latency[KEDGE_METRICS_BUCKETS + 1];
    atomic_uint_fast64_t latency_sum_us;
    atomic_uint_fast64_t commits;
    atomic_uint_fast64_t appends; /* to logs */
    atomic_uint_fast64_t pokes;
    atomic_uint_fast64_t overloaded;
    atomic_uint_fast64_t background_failures[KEDGE_BACKGROUND_WORKS];
    atomic_uint_fast64_t
        damaged; /* items left out of responses, each as often as it was asked for */
    atomic_uint_fast64_t missing; /* pushes that wait for a mutator of a newer server */
    atomic_size_t held_bytes;     /* by all exchanges, at most KEDGE_SERVER_HELD_BYTES */
    atomic_int_fast64_t streams;
    atomic_int_fast64_t connections;
} kedge_metrics;

/* `duration_us`: from the request's first line until the response was ready. This includes the time
 * in which the peer sent the body, and not the time in which the response is sent. An event stream
 * is answered when it opens. */
void kedge_metrics_responded(kedge_metrics *metrics, int status, int64_t duration_us);
void kedge_metrics_write(kedge_metrics *metrics, kedge_buffer *out);

#endif
