/* See metrics.h. */
#include "backend/http/metrics.h"

/* Upper ends of the latency buckets, in microseconds. */
static const int64_t bucket_us[KEDGE_METRICS_BUCKETS] = {1000,  2500,   5000,    10000,
                                                         50000, 250000, 1000000, 5000000};

void kedge_metrics_responded(kedge_metrics *metrics, int status, int64_t duration_us)
{
    int class = status / 100;
    atomic_fetch_add(&metrics->requests[class >= 1 && class <= 5 ? class : 5], 1);
    size_t bucket = 0;
    while (bucket < KEDGE_METRICS_BUCKETS && duration_us > bucket_us[bucket])
        bucket++;
    atomic_fetch_add(&metrics->latency[bucket], 1);
    atomic_fetch_add(&metrics->latency_sum_us, (uint64_t)(duration_us > 0 ? duration_us : 0));
}

static void write_latency(kedge_metrics *metrics, kedge_buffer *out)
{
    uint64_t total = 0;
    kedge_buffer_append_text(out, "# TYPE kedge_request_seconds histogram\n");
    for (size_t i = 0; i < KEDGE_METRICS_BUCKETS; i++) {
        total += atomic_load(&metrics->latency[i]);
        kedge_buffer_append_format(out, "kedge_request_seconds_bucket{le=\"%g\"} %llu\n",
                                   (double)bucket_us[i] / 1e6, (unsigned long long)total);
    }
    total += atomic_load(&metrics->latency[KEDGE_METRICS_BUCKETS]);
    kedge_buffer_append_format(out,
                               "kedge_request_seconds_bucket{le=\"+Inf\"} %llu\n"
                               "kedge_request_seconds_sum %.6f\nkedge_request_seconds_count %llu\n",
                               (unsigned long long)total,
                               (double)atomic_load(&metrics->latency_sum_us) / 1e6,
                               (unsigned long long)total);
}

static void write_background(kedge_metrics *metrics, kedge_buffer *out)
{
    kedge_buffer_append_text(out, "# TYPE kedge_background_failures_total counter\n");
    for (int work = 0; work < KEDGE_BACKGROUND_WORKS; work++) {
        kedge_buffer_append_format(
            out, "kedge_background_failures_total{work=\"%s\"} %llu\n",
            kedge_background_name((kedge_background)work),
            (unsigned long long)atomic_load(&metrics->background_failures[work]));
    }
}

void kedge_metrics_write(kedge_metrics *metrics, kedge_buffer *out)
{
    kedge_buffer_append_text(out, "# TYPE kedge_requests_total counter\n");
    for (int class = 1; class <= 5; class ++) {
        kedge_buffer_append_format(out, "kedge_requests_total{class=\"%dxx\"} %llu\n", class,
                                   (unsigned long long)atomic_load(&metrics->requests[class]));
    }
    kedge_buffer_append_format(
        out,
        "# TYPE kedge_requests_cut_total counter\nkedge_requests_cut_total %llu\n"
        "# TYPE kedge_commits_total counter\nkedge_commits_total %llu\n"
        "# TYPE kedge_appends_total counter\nkedge_appends_total %llu\n"
        "# TYPE kedge_pokes_total counter\nkedge_pokes_total %llu\n"
        "# TYPE kedge_overloaded_total counter\nkedge_overloaded_total %llu\n"
        "# TYPE kedge_items_damaged_total counter\nkedge_items_damaged_total %llu\n"
        "# TYPE kedge_mutator_missing_total counter\nkedge_mutator_missing_total %llu\n"
        "# TYPE kedge_held_bytes gauge\nkedge_held_bytes %zu\n"
        "# TYPE kedge_event_streams gauge\nkedge_event_streams %lld\n"
        "# TYPE kedge_connections gauge\nkedge_connections %lld\n",
        (unsigned long long)atomic_load(&metrics->cut),
        (unsigned long long)atomic_load(&metrics->commits),
        (unsigned long long)atomic_load(&metrics->appends),
        (unsigned long long)atomic_load(&metrics->pokes),
        (unsigned long long)atomic_load(&metrics->overloaded),
        (unsigned long long)atomic_load(&metrics->damaged),
        (unsigned long long)atomic_load(&metrics->missing), atomic_load(&metrics->held_bytes),
        (long long)atomic_load(&metrics->streams), (long long)atomic_load(&metrics->connections));
    write_background(metrics, out);
    write_latency(metrics, out);
}
