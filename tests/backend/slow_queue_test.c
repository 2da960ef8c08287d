/* A queue that takes its time to extend a visibility: who waits for it, and who must not. */
#include "tests/backend/queue_world.h"

#include <pthread.h>
#include <time.h>

#define ANSWER_MS 200   /* that the queue takes when nothing happens meanwhile */
#define WAIT_MS   10000 /* for what must happen meanwhile */

typedef struct slow_world {
    queue_world
        *base; /* whose queue this one stands in front of, and whose messages are consumed */
    kedge_queued *queued;
    kedge_consumer *consumer;
    void (*extending)(void); /* while the queue is asked to extend a visibility */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool asked; /* the queue, to extend a visibility */
    bool read;  /* the metrics */
    bool done;  /* the message is out of the queue */
    bool in_time;
    size_t requests; /* to extend several */
    size_t extended; /* by these */
} slow_world;

static slow_world world;

static void note(bool *what)
{
    pthread_mutex_lock(&world.mutex);
    *what = true;
    pthread_cond_broadcast(&world.changed);
    pthread_mutex_unlock(&world.mutex);
}

static bool wait_for(const bool *what, int64_t wait_ms)
{
    struct timespec until;
    int result = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t nanoseconds = until.tv_nsec + wait_ms % 1000 * 1000000;
    until.tv_sec += (time_t)(wait_ms / 1000 + nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    pthread_mutex_lock(&world.mutex);
    while (!*what && result == 0)
        result = pthread_cond_timedwait(&world.changed, &world.mutex, &until);
    bool happened = *what;
    pthread_mutex_unlock(&world.mutex);
    return happened;
}

/* ---- the queue ---- */

static kedge_status slow_receive(void *self, uint32_t count, int64_t visibility_ms, int64_t wait_ms,
                                 const kedge_queue_admission *admission, kedge_queue_batch *batch,
                                 kedge_error *error)
{
    const kedge_queue *store = self;
    return store->vtable->receive(store->self, count, visibility_ms, wait_ms, admission, batch,
                                  error);
}

static kedge_status slow_extend(void *self, const char *receipt, int64_t visibility_ms,
                                kedge_error *error)
{
    const kedge_queue *store = self;
    note(&world.asked);
    world.extending();
    return store->vtable->extend(store->self, receipt, visibility_ms, error);
}

static kedge_status slow_done(void *self, const char *receipt, kedge_error *error)
{
    const kedge_queue *store = self;
    note(&world.done);
    return store->vtable->done(store->self, receipt, error);
}

static const kedge_queue_vtable slow = {
    .receive = slow_receive, .extend = slow_extend, .done = slow_done};

/* One that extends several at once. */
static void slow_extend_all(void *self, const char *const *receipts, size_t count,
                            int64_t visibility_ms, kedge_error *failures)
{
    const kedge_queue *store = self;
    note(&world.asked);
    world.requests++;
    world.extended += count;
    world.extending();
    for (size_t i = 0; i < count; i++)
        store->vtable->extend(store->self, receipts[i], visibility_ms, &failures[i]);
}

static const kedge_queue_vtable slow_of_many = {.receive = slow_receive,
                                                .extend = slow_extend,
                                                .done = slow_done,
                                                .extend_all = slow_extend_all};

static int set_up_with(const kedge_queue_vtable *vtable)
{
    world = (slow_world){.base = queue_world_new()};
    pthread_mutex_init(&world.mutex, NULL);
    pthread_cond_init(&world.changed, NULL);
    const kedge_queued_options options = {.environment = &world.base->base->environment,
                                          .records = world.base->base->records,
                                          .blobs = world.base->base->blobs,
                                          .queue = {vtable, &world.base->store}};
    assert_int_equal(kedge_queued_new(&options, &world.queued, NULL), KEDGE_OK);
    assert_int_equal(
        kedge_consumer_new(world.queued, world.base->base->backend, &world.consumer, NULL),
        KEDGE_OK);
    queue_put(world.base, &ann, "g1", "c1", 1, 1, "a");
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(&slow);
}

static int set_up_many(void **state)
{
    (void)state;
    return set_up_with(&slow_of_many);
}

static int tear_down(void **state)
{
    (void)state;
    kedge_consumer_free(world.consumer);
    kedge_queued_free(world.queued);
    pthread_cond_destroy(&world.changed);
    pthread_mutex_destroy(&world.mutex);
    queue_world_free(world.base);
    return 0;
}

/* Consumes the message, with `meddle` while it is in hand. */
static void consume_with(void (*meddle)(test_world *base))
{
    size_t received = 0, left = 0;
    world.base->base->meddle_at = atomic_load(&world.base->base->calls) + 1;
    world.base->base->meddle = meddle;
    assert_int_equal(kedge_consumer_round(world.consumer, 0, &received, &left, NULL), KEDGE_OK);
    assert_int_equal(received, 1);
    assert_int_equal(left, 0);
    assert_int_equal(pthread_join(world.thread, NULL), 0);
    assert_true(world.asked);
    assert_int_equal(world_lmid(world.base->base, "c1"), 1);
}

/* ---- the metrics ---- */

static void *read_metrics(void *argument)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)argument;
    kedge_consumers_write_age(world.queued, &out);
    kedge_buffer_free(&out);
    note(&world.read);
    return NULL;
}

static void answer_behind_the_metrics(void)
{
    assert_int_equal(pthread_create(&world.thread, NULL, read_metrics, NULL), 0);
    world.in_time = wait_for(&world.read, WAIT_MS);
}

static void keep(test_world *base)
{
    (void)base;
    kedge_consumer_keep(world.consumer);
}

/* The server reads them on the thread that all requests go through. */
static void test_the_metrics_do_not_wait_for_a_queue_that_does_not_answer(void **state)
{
    (void)state;
    world.extending = answer_behind_the_metrics;
    consume_with(keep);
    assert_true(world.in_time);
}

/* ---- the consumer ---- */

static void answer_before_the_message_is_done(void)
{
    world.in_time = !wait_for(&world.done, ANSWER_MS);
}

static void *keep_beside(void *argument)
{
    (void)argument;
    kedge_consumer_keep(world.consumer);
    return NULL;
}

static void keep_on_another_thread(test_world *base)
{
    (void)base;
    assert_int_equal(pthread_create(&world.thread, NULL, keep_beside, NULL), 0);
    assert_true(wait_for(&world.asked, WAIT_MS));
}

/* Else a message that was given back would be extended once more, and come later than it is to. */
static void test_a_message_is_settled_behind_its_extension(void **state)
{
    (void)state;
    world.extending = answer_before_the_message_is_done;
    consume_with(keep_on_another_thread);
    assert_true(world.in_time);
    assert_true(world.done);
}

static void do_nothing(void)
{
}

static void test_what_is_in_hand_is_extended_in_one_request(void **state)
{
    size_t received = 0, left = 0;
    (void)state;
    queue_put(world.base, &ann, "g1", "c1", 2, 2, "b");
    queue_put(world.base, &ann, "g1", "c1", 3, 3, "c");
    world.extending = do_nothing;
    world.base->base->meddle_at = atomic_load(&world.base->base->calls) + 1;
    world.base->base->meddle = keep;
    assert_int_equal(kedge_consumer_round(world.consumer, 0, &received, &left, NULL), KEDGE_OK);
    assert_int_equal(received, 3);
    assert_int_equal(world.requests, 1);
    assert_int_equal(world.extended, 3);
    assert_int_equal(world_lmid(world.base->base, "c1"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_the_metrics_do_not_wait_for_a_queue_that_does_not_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_message_is_settled_behind_its_extension, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_message_is_settled_behind_its_extension, set_up_many,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_in_hand_is_extended_in_one_request,
                                        set_up_many, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
