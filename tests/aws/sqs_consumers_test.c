/* Producers and consumers of a real SQS at the same time: consumers forget to delete, give back,
 * and let visibilities end, and still every message is seen, and each group for the first time in
 * the order sent. */
#include "tests/support/engines.h"
#include "tests/support/sqs_queues.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PRODUCERS     8 /* each has a group */
#define CONSUMERS     4
#define MESSAGES      40 /* a producer */
#define RECEIVE_MAX   1000
#define VISIBILITY_MS 1000
#define WAIT_MS       1000
#define DEADLINE_MS   90000
#define FAILURES_OF   8 /* one delivery of so many is not deleted, and one is given back */

typedef struct story {
    kedge_queue queue;
    kedge_environment environment;
    int64_t end_ms;
    pthread_mutex_t mutex;
    int next_producer;
    uint64_t seed;
    int newest[PRODUCERS]; /* the highest number seen of each group */
    bool done[PRODUCERS][MESSAGES + 1];
    int done_count;
    int redelivered;
    int gaps;   /* first deliveries that came before an earlier one's */
    int failed; /* calls that should not have */
} story;

static void *produce(void *context)
{
    story *self = context;
    pthread_mutex_lock(&self->mutex);
    int me = self->next_producer++;
    pthread_mutex_unlock(&self->mutex);
    for (int i = 1; i <= MESSAGES; i++) {
        char group[16], body[32];
        snprintf(group, sizeof group, "group %d", me);
        snprintf(body, sizeof body, "%d %d", me, i);
        kedge_bytes text = kedge_bytes_of(body);
        if (self->queue.vtable->send(self->queue.self, KEDGE_BYTES("o"), kedge_bytes_of(group),
                                     text, text, NULL) != KEDGE_OK) {
            pthread_mutex_lock(&self->mutex);
            self->failed++;
            pthread_mutex_unlock(&self->mutex);
        }
    }
    return NULL;
}

/* What a consumer does with a delivery, by the seed. */
typedef enum fate { DELETE, GIVE_BACK, FORGET } fate;

static fate draw(story *self)
{
    uint64_t z = (self->seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) % FAILURES_OF;
    return z == 0 ? FORGET : z == 1 ? GIVE_BACK : DELETE;
}

static fate see(story *self, const kedge_queue_message *message, int *group, int *number)
{
    pthread_mutex_lock(&self->mutex);
    if (sscanf(message->body.data, "%d %d", group, number) != 2 || *group < 0 ||
        *group >= PRODUCERS || *number < 1 || *number > MESSAGES) {
        self->failed++;
        *group = 0;
        *number = 1;
    } else if (*number <= self->newest[*group]) {
        self->redelivered++;
    } else {
        if (*number != self->newest[*group] + 1) self->gaps++;
        self->newest[*group] = *number;
    }
    fate drawn = draw(self);
    pthread_mutex_unlock(&self->mutex);
    return drawn;
}

static void work_on(story *self, const kedge_queue_message *message)
{
    const kedge_queue_vtable *vtable = self->queue.vtable;
    int group, number;
    fate drawn = see(self, message, &group, &number);
    kedge_status status = KEDGE_OK;
    if (drawn == GIVE_BACK) status = vtable->extend(self->queue.self, message->receipt, 0, NULL);
    if (drawn == DELETE) status = vtable->done(self->queue.self, message->receipt, NULL);
    pthread_mutex_lock(&self->mutex);
    /* A conflict: this machine was slow, and the visibility ended before. */
    if (status != KEDGE_OK && status != KEDGE_CONFLICT) self->failed++;
    if (drawn == DELETE && status == KEDGE_OK && !self->done[group][number]) {
        self->done[group][number] = true;
        self->done_count++;
    }
    pthread_mutex_unlock(&self->mutex);
}

static bool is_over(story *self)
{
    pthread_mutex_lock(&self->mutex);
    bool over = self->done_count == PRODUCERS * MESSAGES ||
                self->environment.monotonic_ms(NULL) >= self->end_ms;
    pthread_mutex_unlock(&self->mutex);
    return over;
}

static void *consume(void *context)
{
    story *self = context;
    while (!is_over(self)) {
        kedge_queue_batch batch = {0};
        kedge_status status = self->queue.vtable->receive(self->queue.self, 10, VISIBILITY_MS,
                                                          WAIT_MS, NULL, &batch, NULL);
        if (status != KEDGE_OK) {
            pthread_mutex_lock(&self->mutex);
            self->failed++;
            pthread_mutex_unlock(&self->mutex);
        }
        for (size_t i = 0; i < batch.count; i++)
            work_on(self, &batch.messages[i]);
        kedge_queue_batch_free(&batch);
    }
    return NULL;
}

static void test_every_message_is_seen_and_each_group_first_in_order(void **state)
{
    (void)state;
    static story self;
    static sqs_queues queues;
    kedge_error error = {0};
    pthread_t threads[PRODUCERS + CONSUMERS];
    assert_int_equal(sqs_queues_begin(&queues, &error), KEDGE_OK);
    assert_int_equal(sqs_queues_make(&queues, RECEIVE_MAX, &self.queue, &error), KEDGE_OK);
    pthread_mutex_init(&self.mutex, NULL);
    self.environment = queues.environment;
    self.end_ms = self.environment.monotonic_ms(NULL) + DEADLINE_MS;
    self.seed = 1;
    for (size_t i = 0; i < PRODUCERS + CONSUMERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < PRODUCERS ? produce : consume, &self), 0);
    for (size_t i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(threads[i], NULL);
    print_message("%d messages, %d delivered again\n", self.done_count, self.redelivered);
    assert_int_equal(self.done_count, PRODUCERS * MESSAGES);
    assert_int_equal(self.gaps, 0);
    assert_int_equal(self.failed, 0);
    assert_true(self.redelivered > 0);
    kedge_queue_batch batch = {0};
    assert_int_equal(self.queue.vtable->dead_letters(self.queue.self, 10, &batch, &error),
                     KEDGE_OK);
    assert_int_equal(batch.count, 0);
    self.queue.vtable->close(self.queue.self);
    sqs_queues_end(&queues);
    pthread_mutex_destroy(&self.mutex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_message_is_seen_and_each_group_first_in_order),
    };
    int missing = engines_missing("AWS_ENDPOINT_URL_SQS");
    return missing != 0 ? missing
                        : cmocka_run_group_tests_name("queue: consumers of SQS", tests, NULL, NULL);
}
