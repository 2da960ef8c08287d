/* A consumer: receives, consumes, settles with the queue. */
#include "backend/queued/queued.h"

#include "backend/queued/queued_internal.h"
#include "common/assert.h"
#include "common/error.h"

#include <pthread.h>
#include <string.h>

struct kedge_consumer {
    kedge_consumer *next; /* of the queued mode */
    kedge_queued *queued;
    kedge_backend *backend;
    pthread_mutex_t mutex;
    kedge_queue_batch batch;                /* what a round has in hand */
    bool open[KEDGE_QUEUE_RECEIVE_MAX];     /* messages that are not settled */
    bool extends;                           /* kedge_consumer_keep waits for the queue … */
    bool extended[KEDGE_QUEUE_RECEIVE_MAX]; /* … about these messages */
    pthread_cond_t answered;                /* it does so no more */
    size_t left;
    char owner[KEDGE_QUEUE_OWNER_BYTES_MAX]; /* whose messages it has in hand, or is given now */
    size_t owner_size;                       /* 0: nobody's */
};

kedge_status kedge_consumer_new(kedge_queued *queued, kedge_backend *backend,
                                kedge_consumer **consumer, kedge_error *error)
{
    kedge_consumer *made = kedge_allocate(queued->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->queued = queued;
    made->backend = backend;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->answered, NULL);
    pthread_mutex_lock(&queued->mutex);
    pthread_mutex_lock(&queued->owners_mutex);
    made->next = queued->consumers;
    queued->consumers = made;
    pthread_mutex_unlock(&queued->owners_mutex);
    pthread_mutex_unlock(&queued->mutex);
    *consumer = made;
    return KEDGE_OK;
}

void kedge_consumer_free(kedge_consumer *consumer)
{
    if (consumer == NULL) return;
    kedge_consumer **link = &consumer->queued->consumers;
    pthread_mutex_lock(&consumer->queued->mutex);
    pthread_mutex_lock(&consumer->queued->owners_mutex);
    while (*link != consumer)
        link = &(*link)->next;
    *link = consumer->next;
    pthread_mutex_unlock(&consumer->queued->owners_mutex);
    pthread_mutex_unlock(&consumer->queued->mutex);
    pthread_cond_destroy(&consumer->answered);
    pthread_mutex_destroy(&consumer->mutex);
    kedge_release(consumer->queued->allocator, consumer);
}

/* ---- owners ---- */

/* An owner for which a consumer works gets one more only if enough others then stay free for owners
 * that have none, however long the messages of this one take. */
static bool may_take(void *context, kedge_bytes owner)
{
    kedge_consumer *consumer = context;
    size_t others = 0, free_others = 0, of_owner = 0;
    pthread_mutex_lock(&consumer->queued->owners_mutex);
    for (const kedge_consumer *at = consumer->queued->consumers; at != NULL; at = at->next) {
        if (at == consumer) continue;
        others++;
        if (at->owner_size == 0)
            free_others++;
        else if (kedge_bytes_equal((kedge_bytes){at->owner, at->owner_size}, owner))
            of_owner++;
    }
    size_t left = (others + 1) / KEDGE_QUEUED_FREE_SHARE;
    bool may = of_owner == 0 || free_others >= (left > 0 ? left : 1);
    if (may) {
        KEDGE_ASSERT(owner.size <= sizeof consumer->owner);
        memcpy(consumer->owner, owner.data, owner.size);
        consumer->owner_size = owner.size;
    }
    pthread_mutex_unlock(&consumer->queued->owners_mutex);
    return may;
}

static void leave_owner(kedge_consumer *consumer)
{
    pthread_mutex_lock(&consumer->queued->owners_mutex);
    consumer->owner_size = 0;
    pthread_mutex_unlock(&consumer->queued->owners_mutex);
}

/* ---- settling ---- */

/* From now on kedge_consumer_keep leaves the message alone. */
static void close_message(kedge_consumer *consumer, size_t index)
{
    pthread_mutex_lock(&consumer->mutex);
    consumer->open[index] = false;
    while (consumer->extends && consumer->extended[index])
        pthread_cond_wait(&consumer->answered, &consumer->mutex);
    pthread_mutex_unlock(&consumer->mutex);
}

static void extend(kedge_consumer *consumer, const char *receipt, int64_t for_ms)
{
    kedge_queued *queued = consumer->queued;
    const kedge_queue *queue = &queued->options.queue;
    kedge_error error = {0};
    if (queue->vtable->extend(queue->self, receipt, for_ms, &error) == KEDGE_OK) return;
    kedge_queued_call_failed(queued, KEDGE_QUEUED_CALL_EXTEND, &error);
}

/* What the queue answers changes nothing: a message that stays comes again, and
 * shows as decided. */
static void on_settled(void *context, size_t index, const kedge_consume_outcome *outcome)
{
    kedge_consumer *consumer = context;
    kedge_queued *queued = consumer->queued;
    const kedge_queue *queue = &queued->options.queue;
    const kedge_queue_message *message = &consumer->batch.messages[index];
    kedge_error error = {0};
    close_message(consumer, index);
    if (outcome->what != KEDGE_CONSUMED_DECIDED) {
        consumer->left++;
        extend(consumer, message->receipt, outcome->again_ms);
    } else if (queue->vtable->done(queue->self, message->receipt, &error) != KEDGE_OK) {
        kedge_queued_call_failed(queued, KEDGE_QUEUED_CALL_DONE, &error);
    } else if (kedge_queued_release(queued, message, &error) != KEDGE_OK) {
        kedge_queued_call_failed(queued, KEDGE_QUEUED_CALL_RELEASE, &error);
    }
}

/* The age of the oldest message that counts; `open` may be NULL: all count. */
static int64_t oldest_ms(const kedge_queued *queued, const kedge_queue_batch *batch,
                         const bool *open)
{
    const kedge_environment *environment = queued->environment;
    int64_t now_ms = environment->now_ms(environment->context);
    int64_t longest_ms = 0;
    for (size_t i = 0; i < batch->count; i++) {
        int64_t age_ms = now_ms - batch->messages[i].sent_ms;
        if ((open == NULL || open[i]) && age_ms > longest_ms) longest_ms = age_ms;
    }
    return longest_ms;
}

void kedge_consumers_write_age(kedge_queued *queued, kedge_buffer *out)
{
    int64_t all_ms = atomic_load(&queued->counters.received_ms);
    pthread_mutex_lock(&queued->mutex);
    for (kedge_consumer *at = queued->consumers; at != NULL; at = at->next) {
        pthread_mutex_lock(&at->mutex);
        int64_t age_ms = oldest_ms(queued, &at->batch, at->open);
        pthread_mutex_unlock(&at->mutex);
        if (age_ms > all_ms) all_ms = age_ms;
    }
    pthread_mutex_unlock(&queued->mutex);
    kedge_buffer_append_format(
        out, "# TYPE kedge_queue_age_seconds gauge\nkedge_queue_age_seconds %.3f\n",
        (double)all_ms / 1e3);
}

static void hold(kedge_consumer *consumer, const kedge_queue_batch *batch)
{
    pthread_mutex_lock(&consumer->mutex);
    consumer->batch = *batch;
    consumer->left = 0;
    for (size_t i = 0; i < batch->count; i++)
        consumer->open[i] = true;
    pthread_mutex_unlock(&consumer->mutex);
}

static void let_go(kedge_consumer *consumer)
{
    pthread_mutex_lock(&consumer->mutex);
    while (consumer->extends)
        pthread_cond_wait(&consumer->answered, &consumer->mutex);
    kedge_queue_batch_free(&consumer->batch);
    pthread_mutex_unlock(&consumer->mutex);
    leave_owner(consumer);
}

kedge_status kedge_consumer_round(kedge_consumer *consumer, int64_t wait_ms, size_t *received,
                                  size_t *left, kedge_error *error)
{
    kedge_queued *queued = consumer->queued;
    const kedge_queue *queue = &queued->options.queue;
    kedge_queue_batch batch = {0};
    kedge_consume_outcome outcomes[KEDGE_QUEUE_RECEIVE_MAX];
    kedge_consume_watch watch = {on_settled, consumer};
    kedge_queue_admission admission = {may_take, consumer};
    kedge_status status =
        queue->vtable->receive(queue->self, KEDGE_QUEUE_RECEIVE_MAX, queued->options.visibility_ms,
                               wait_ms, &admission, &batch, error);
    if (status != KEDGE_OK) {
        leave_owner(consumer);
        atomic_fetch_add(&queued->counters.rounds_failed, 1);
        return status;
    }
    atomic_store(&queued->counters.received_ms, oldest_ms(queued, &batch, NULL));
    hold(consumer, &batch);
    status = kedge_consume(queued, consumer->backend, batch.messages, batch.count, batch.count,
                           &watch, outcomes, error);
    if (status != KEDGE_OK) atomic_fetch_add(&queued->counters.rounds_failed, 1);
    *received = batch.count;
    *left = consumer->left;
    let_go(consumer);
    return status;
}

/* ---- the keeper ---- */

/* The open messages from `*at` on, at most so many. With the mutex held. */
static size_t take_open(kedge_consumer *consumer, size_t *at, size_t most, const char **receipts)
{
    size_t count = 0;
    memset(consumer->extended, 0, sizeof consumer->extended);
    for (; *at < consumer->batch.count && count < most; ++*at) {
        if (!consumer->open[*at]) continue;
        consumer->extended[*at] = true;
        receipts[count++] = consumer->batch.messages[*at].receipt;
    }
    return count;
}

static void extend_all(kedge_consumer *consumer, const char *const *receipts, size_t count)
{
    kedge_queued *queued = consumer->queued;
    const kedge_queue *queue = &queued->options.queue;
    kedge_error failures[KEDGE_QUEUE_RECEIVE_MAX];
    memset(failures, 0, sizeof failures);
    queue->vtable->extend_all(queue->self, receipts, count, queued->options.visibility_ms,
                              failures);
    for (size_t i = 0; i < count; i++) {
        if (failures[i].status != KEDGE_OK)
            kedge_queued_call_failed(queued, KEDGE_QUEUED_CALL_EXTEND, &failures[i]);
    }
}

/* Comes and goes with the mutex held, which is free while the queue is asked: whoever reads the
 * metrics must not wait for a queue that does not answer. The messages stay in hand until then. */
static void keep_messages(kedge_consumer *consumer, const char *const *receipts, size_t count)
{
    const kedge_queued *queued = consumer->queued;
    consumer->extends = true;
    pthread_mutex_unlock(&consumer->mutex);
    if (queued->options.queue.vtable->extend_all != NULL)
        extend_all(consumer, receipts, count);
    else
        extend(consumer, receipts[0], queued->options.visibility_ms);
    pthread_mutex_lock(&consumer->mutex);
    consumer->extends = false;
    pthread_cond_broadcast(&consumer->answered);
}

void kedge_consumer_keep(kedge_consumer *consumer)
{
    const char *receipts[KEDGE_QUEUE_RECEIVE_MAX];
    bool at_once = consumer->queued->options.queue.vtable->extend_all != NULL;
    size_t most = at_once ? KEDGE_QUEUE_RECEIVE_MAX : 1, at = 0, count;
    pthread_mutex_lock(&consumer->mutex);
    while ((count = take_open(consumer, &at, most, receipts)) > 0)
        keep_messages(consumer, receipts, count);
    pthread_mutex_unlock(&consumer->mutex);
}
