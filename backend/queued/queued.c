/* Making, ending, enqueueing, telling. */
#include "backend/queued/queued.h"

#include "backend/queued/message.h"
#include "backend/queued/queued_internal.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/gzip.h"

#include <string.h>

#define DEDUPLICATION_BYTES 16

_Static_assert(KEDGE_BLOB_BYTES_MAX > KEDGE_MESSAGE_BYTES_MAX + 65536,
               "a blob holds the largest message, also when gzip makes it a little larger");

kedge_status kedge_queued_new(const kedge_queued_options *options, kedge_queued **queued,
                              kedge_error *error)
{
    int64_t visibility_ms =
        options->visibility_ms == 0 ? KEDGE_QUEUED_VISIBILITY_MS : options->visibility_ms;
    size_t claim_bytes =
        options->claim_bytes == 0 ? KEDGE_QUEUED_CLAIM_BYTES : options->claim_bytes;
    if (claim_bytes > KEDGE_QUEUE_BODY_BYTES_MAX || visibility_ms < 0 ||
        visibility_ms > KEDGE_QUEUE_VISIBILITY_MS_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "queued-options-invalid",
                          "messages may have up to %d bytes, and a visibility up to %d ms",
                          KEDGE_QUEUE_BODY_BYTES_MAX, KEDGE_QUEUE_VISIBILITY_MS_MAX);
    }
    kedge_queued *made = kedge_allocate(options->environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->options = *options;
    made->options.claim_bytes = claim_bytes;
    made->options.visibility_ms = visibility_ms;
    made->environment = options->environment;
    made->allocator = options->environment->allocator;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_mutex_init(&made->owners_mutex, NULL);
    *queued = made;
    return KEDGE_OK;
}

void kedge_queued_free(kedge_queued *queued)
{
    if (queued == NULL) return;
    KEDGE_ASSERT(queued->consumers == NULL);
    pthread_mutex_destroy(&queued->owners_mutex);
    pthread_mutex_destroy(&queued->mutex);
    kedge_release(queued->allocator, queued);
}

/* ---- enqueue ---- */

/* Puts the message into blobs; `text` becomes its claim check. */
static kedge_status check_in(kedge_queued *queued, const kedge_message *message, kedge_buffer *text,
                             kedge_error *error)
{
    const kedge_blobs *blobs = &queued->options.blobs;
    kedge_project_ref ref = kedge_message_ref(message);
    kedge_message claim = *message;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(kedge_buffer_bytes(text), hash);
    kedge_hex_encode(hash, sizeof hash, claim.claim);
    kedge_key key = kedge_key_push(&ref, hash);
    kedge_buffer compressed = kedge_buffer_make(queued->allocator);
    kedge_status status = kedge_gzip(kedge_buffer_bytes(text), &compressed, error);
    if (status == KEDGE_OK) {
        status = blobs->vtable->put_if_absent(blobs->self, kedge_key_bytes(&key),
                                              kedge_buffer_bytes(&compressed), error);
    }
    if (status == KEDGE_CONFLICT) status = KEDGE_OK; /* a try of ours that seemed to fail */
    kedge_buffer_free(&compressed);
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(text);
    kedge_message_write(queued->environment, &claim, text);
    atomic_fetch_add(&queued->counters.claims, 1);
    return kedge_buffer_status(text, error);
}

static kedge_status send(kedge_queued *queued, const kedge_message *message, kedge_bytes text,
                         kedge_error *error)
{
    const kedge_queue *queue = &queued->options.queue;
    char deduplication[2 * DEDUPLICATION_BYTES + 1];
    kedge_project_ref ref = kedge_message_ref(message);
    kedge_key group = kedge_message_group(&ref);
    kedge_random_hex(queued->environment, DEDUPLICATION_BYTES, deduplication);
    kedge_status status =
        queue->vtable->send(queue->self, ref.organization, kedge_key_bytes(&group),
                            kedge_bytes_of(deduplication), text, error);
    if (status == KEDGE_OK) atomic_fetch_add(&queued->counters.queued, 1);
    return status;
}

static kedge_status keep(const char *what, kedge_bytes text, char *out, size_t out_size,
                         kedge_error *error)
{
    if (text.size >= out_size) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "name-too-long",
                          "the %s has more than %zu bytes", what, out_size - 1);
    }
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return KEDGE_OK;
}

kedge_status kedge_queued_enqueue(void *context, kedge_bytes organization, kedge_bytes project,
                                  const kedge_identity *identity, kedge_bytes push,
                                  kedge_error *error)
{
    kedge_queued *queued = context;
    kedge_message message = {.push = push};
    kedge_status status = keep("organization", organization, message.organization,
                               sizeof message.organization, error);
    if (status == KEDGE_OK) {
        status = keep("project", project, message.project, sizeof message.project, error);
    }
    if (status == KEDGE_OK) {
        status =
            keep("user", kedge_bytes_of(identity->user), message.user, sizeof message.user, error);
    }
    if (status == KEDGE_OK) {
        status =
            keep("role", kedge_bytes_of(identity->role), message.role, sizeof message.role, error);
    }
    if (status != KEDGE_OK) return status;
    kedge_buffer text = kedge_buffer_make(queued->allocator);
    kedge_message_write(queued->environment, &message, &text);
    status = kedge_buffer_status(&text, error);
    bool fits = text.size <= queued->options.claim_bytes &&
                kedge_message_is_plain(kedge_buffer_bytes(&text));
    if (status == KEDGE_OK && fits) {
        status = send(queued, &message, kedge_buffer_bytes(&text), error);
        fits = status != KEDGE_LIMIT_EXCEEDED; /* the queue may have a smaller limit of its own */
        if (!fits) status = KEDGE_OK;
    }
    if (status == KEDGE_OK && !fits) {
        status = check_in(queued, &message, &text, error);
        if (status == KEDGE_OK) status = send(queued, &message, kedge_buffer_bytes(&text), error);
    }
    kedge_buffer_free(&text);
    return status;
}

/* ---- release ---- */

kedge_status kedge_queued_release(kedge_queued *queued, const kedge_queue_message *message,
                                  kedge_error *error)
{
    kedge_message read;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_status status = kedge_message_read(message->body, &read, error);
    if (status != KEDGE_OK || read.claim[0] == '\0') return status;
    const kedge_blobs *blobs = &queued->options.blobs;
    kedge_project_ref ref = kedge_message_ref(&read);
    (void)kedge_hex_decode(kedge_bytes_of(read.claim), hash, sizeof hash);
    kedge_key key = kedge_key_push(&ref, hash);
    return blobs->vtable->remove(blobs->self, kedge_key_bytes(&key), error);
}

/* ---- failures ---- */

const char *kedge_queued_call_name(kedge_queued_call call)
{
    static const char *const names[KEDGE_QUEUED_CALLS] = {[KEDGE_QUEUED_CALL_EXTEND] = "extend",
                                                          [KEDGE_QUEUED_CALL_DONE] = "done",
                                                          [KEDGE_QUEUED_CALL_RELEASE] = "release",
                                                          [KEDGE_QUEUED_CALL_NOTE] = "note",
                                                          [KEDGE_QUEUED_CALL_FORGET] = "forget"};
    return names[call];
}

void kedge_queued_call_failed(kedge_queued *queued, kedge_queued_call call,
                              const kedge_error *error)
{
    atomic_fetch_add(&queued->counters.call_failures[call], 1);
    if (queued->options.call_failed == NULL) return;
    queued->options.call_failed(queued->options.call_failed_context, call, error);
}

/* ---- metrics ---- */

static void write_counter(kedge_buffer *out, const char *name, atomic_ullong *counter)
{
    kedge_buffer_append_format(out, "# TYPE %s counter\n%s %llu\n", name, name,
                               atomic_load(counter));
}

void kedge_queued_write_metrics(kedge_queued *queued, kedge_buffer *out)
{
    static const char *const reasons[KEDGE_PUSH_PROBLEMS] = {
        [KEDGE_PUSH_GAP] = "gap",
        [KEDGE_PUSH_MISMATCH] = "mismatch",
        [KEDGE_PUSH_RETIRED] = "retired",
        [KEDGE_PUSH_CLIENT_UNKNOWN] = "unknown",
        [KEDGE_PUSH_SERVER_OLD] = "server-old",
        [KEDGE_PUSH_CLIENT_FOREIGN] = "foreign"};
    kedge_queued_counters *counters = &queued->counters;
    write_counter(out, "kedge_queued_messages_total", &counters->queued);
    write_counter(out, "kedge_queued_claims_total", &counters->claims);
    write_counter(out, "kedge_received_messages_total", &counters->received);
    write_counter(out, "kedge_consumed_messages_total", &counters->decided);
    write_counter(out, "kedge_merged_messages_total", &counters->merged);
    write_counter(out, "kedge_delayed_messages_total", &counters->again);
    write_counter(out, "kedge_poison_messages_total", &counters->failed);
    kedge_buffer_append_text(out, "# TYPE kedge_dropped_mutations_total counter\n");
    for (size_t i = KEDGE_PUSH_FINE + 1; i < KEDGE_PUSH_PROBLEMS; i++) {
        kedge_buffer_append_format(out, "kedge_dropped_mutations_total{reason=\"%s\"} %llu\n",
                                   reasons[i], atomic_load(&counters->dropped[i]));
    }
    kedge_buffer_append_text(out, "# TYPE kedge_queue_call_failures_total counter\n");
    for (int call = 0; call < KEDGE_QUEUED_CALLS; call++) {
        kedge_buffer_append_format(out, "kedge_queue_call_failures_total{call=\"%s\"} %llu\n",
                                   kedge_queued_call_name((kedge_queued_call)call),
                                   atomic_load(&counters->call_failures[call]));
    }
    write_counter(out, "kedge_consumer_failures_total", &counters->rounds_failed);
}
