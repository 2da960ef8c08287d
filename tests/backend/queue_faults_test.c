/* Queued mode under faults: a crash before or after every port call, calls that fail once, a
 * message that outlives its visibility, other consumers and direct pushes between any two calls. */
#include "tests/backend/queue_world.h"

#include "backend/api/api.h"
#include "tests/backend/world_ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 60

/* Three clients of two users; a split one, one through blobs, one that comes twice, one that is
 * rejected. */
static void enqueue_story(queue_world *world)
{
    queue_put(world, &ann, "g1", "c1", 1, 2, "a");
    queue_put(world, &bob, "g2", "c2", 1, 1, "b");
    queue_put_large(world, "c1", 3, "a", 9000);
    queue_put(world, &ann, "g1", "c1", 1, 2, "a");
    queue_call(world, "c3", 1, "no.such.mutator", "{}");
    queue_put(world, &bob, "g2", "c2", 2, 5, "b");
    queue_put(world, &ann, "g1", "c1", 4, 6, "a");
    queue_put(world, &ann, "g1", "c3", 2, 2, "c");
}

static void check_story(queue_world *world)
{
    assert_int_equal(world_lmid(world->base, "c1"), 6);
    assert_int_equal(world_lmid(world->base, "c2"), 5);
    assert_int_equal(world_lmid(world->base, "c3"), 2);
    assert_string_equal(world_value(world->base, "a"), "{\"v\":6}");
    assert_string_equal(world_value(world->base, "b"), "{\"v\":5}");
    assert_string_equal(world_value(world->base, "c"), "{\"v\":2}");
    assert_int_equal(queue_dead_letter_count(world), 0);
    world_check(world->base);
}

/* Whatever fails; until nothing comes any more. */
static void drain_somehow(queue_world *world)
{
    size_t rounds = 0;
    for (size_t empty = 0; empty < 3; rounds++) {
        round_result round = queue_round(world);
        empty = round.status == KEDGE_OK && round.received == 0 ? empty + 1 : 0;
        assert_true(rounds < ROUNDS_MAX);
        queue_world_pass(KEDGE_QUEUED_AGAIN_MAX_MS + 1000);
    }
}

static uint64_t count_calls(void)
{
    queue_world *world = queue_world_new();
    enqueue_story(world);
    world_arm(world->base, WORLD_FAULT_NONE, 0, false, false);
    drain_somehow(world);
    uint64_t calls = atomic_load(&world->base->calls);
    check_story(world);
    assert_int_equal(queue_claims(world), 0);
    queue_world_free(world);
    return calls;
}

/* ---- crashes ---- */

static void crash_at(world_fault fault, uint64_t at)
{
    queue_world *world = queue_world_new();
    enqueue_story(world);
    world_arm(world->base, fault, at, true, false);
    (void)queue_round(world);
    (void)queue_round(world);
    assert_true(world->base->faults > 0);
    world_disarm(world->base);
    queue_world_restart(world);
    drain_somehow(world);
    check_story(world);
    queue_world_free(world);
}

static void test_a_crash_before_or_after_any_port_call_loses_and_doubles_nothing(void **state)
{
    (void)state;
    uint64_t calls = count_calls();
    assert_true(calls > 12);
    for (uint64_t at = 1; at + 4 < calls; at++) { /* the last calls are empty receives */
        crash_at(WORLD_FAULT_BEFORE, at);
        crash_at(WORLD_FAULT_AFTER, at);
    }
}

/* Another one while the messages are delivered for the second time. */
static void test_two_crashes_in_a_row_lose_and_double_nothing(void **state)
{
    (void)state;
    uint64_t calls = count_calls();
    for (uint64_t first = 1; first + 4 < calls; first++) {
        for (uint64_t second = 1; second < 2 * calls; second++) {
            queue_world *world = queue_world_new();
            enqueue_story(world);
            world_arm(world->base, WORLD_FAULT_AFTER, first, true, false);
            (void)queue_round(world);
            world_disarm(world->base);
            queue_world_restart(world);
            queue_world_pass(KEDGE_QUEUED_VISIBILITY_MS + 1);
            world_arm(world->base, WORLD_FAULT_AFTER, second, true, false);
            (void)queue_round(world);
            world_disarm(world->base);
            queue_world_restart(world);
            drain_somehow(world);
            check_story(world);
            queue_world_free(world);
        }
    }
}

/* ---- a call that fails once ---- */

static void fail_at(world_fault fault, uint64_t at)
{
    queue_world *world = queue_world_new();
    enqueue_story(world);
    world_arm(world->base, fault, at, false, false);
    drain_somehow(world);
    check_story(world);
    queue_world_free(world);
}

static void test_any_port_call_may_fail_once(void **state)
{
    (void)state;
    uint64_t calls = count_calls();
    for (uint64_t at = 1; at <= calls; at++) {
        fail_at(WORLD_FAULT_BEFORE, at);
        fail_at(WORLD_FAULT_AFTER, at);
    }
}

/* ---- failures that change nothing ---- */

/* The story, delivered for the second time, with a message that cannot be decided. */
static queue_world *second_delivery(void)
{
    queue_world *world = queue_world_new();
    kedge_queue_batch batch = {0};
    enqueue_story(world);
    queue_raw(world, "{}");
    assert_int_equal(world->store.vtable->receive(world->store.self, KEDGE_QUEUE_RECEIVE_MAX,
                                                  KEDGE_QUEUED_VISIBILITY_MS, 0, NULL, &batch,
                                                  NULL),
                     KEDGE_OK);
    assert_true(batch.count > 1);
    kedge_queue_batch_free(&batch);
    queue_world_pass(KEDGE_QUEUED_VISIBILITY_MS + 1);
    return world;
}

static int64_t told_metric(queue_world *world, kedge_queued_call call)
{
    char name[80];
    snprintf(name, sizeof name, "kedge_queue_call_failures_total{call=\"%s\"}",
             kedge_queued_call_name(call));
    return queue_metric(world, name);
}

/* One round with port call `at` failing; false when there are fewer. */
static bool fail_and_count(uint64_t at, size_t all[KEDGE_QUEUED_CALLS])
{
    queue_world *world = second_delivery();
    world_arm(world->base, WORLD_FAULT_BEFORE, at, false, false);
    (void)queue_round(world);
    kedge_consumer_keep(world->consumer);
    bool failed = world->base->faults > 0;
    world_disarm(world->base);
    size_t sum = 0;
    for (int call = 0; call < KEDGE_QUEUED_CALLS; call++) {
        assert_int_equal(told_metric(world, (kedge_queued_call)call), world->call_failures[call]);
        all[call] += world->call_failures[call];
        sum += world->call_failures[call];
    }
    assert_true(sum <= world->base->faults);
    queue_world_free(world);
    return failed;
}

static void test_each_failed_call_about_a_message_is_counted_and_told(void **state)
{
    (void)state;
    size_t all[KEDGE_QUEUED_CALLS] = {0};
    uint64_t at = 1;
    while (fail_and_count(at, all))
        at++;
    for (int call = 0; call < KEDGE_QUEUED_CALLS; call++)
        assert_true(all[call] > 0);
}

static void test_a_round_that_fails_is_counted(void **state)
{
    (void)state;
    queue_world *world = queue_world_new();
    world_arm(world->base, WORLD_FAULT_BEFORE, 1, false, false);
    assert_int_equal(queue_round(world).status, KEDGE_UNAVAILABLE);
    world_disarm(world->base);
    assert_int_equal(queue_metric(world, "kedge_consumer_failures_total"), 1);
    assert_int_equal(queue_round(world).status, KEDGE_OK);
    assert_int_equal(queue_metric(world, "kedge_consumer_failures_total"), 1);
    queue_world_free(world);
}

/* ---- enqueueing ---- */

static const char push[] =
    "{\"pushVersion\":1,\"clientGroupID\":\"g1\",\"mutations\":[{\"clientID\":\"c1\",\"id\":1,"
    "\"name\":\"kedge.put\",\"args\":{\"collection\":\"items\",\"id\":\"a\",\"value\":{\"v\":1}},"
    "\"timestamp\":1}]}";

static kedge_status enqueue(queue_world *world, kedge_bytes text)
{
    return kedge_queued_enqueue(world->queued, notes.organization, notes.project, &ann, text, NULL);
}

/* The client was told of a failure, and pushes again. */
static void test_an_enqueue_that_fails_halfway_is_only_repeated(void **state)
{
    (void)state;
    kedge_buffer large = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append(&large, push, sizeof push - 4);
    kedge_buffer_append_text(&large, ",\"more\":\"");
    for (size_t i = 0; i < 9000; i++)
        kedge_buffer_append_byte(&large, 'x');
    kedge_buffer_append_text(&large, "\"}]}");
    for (uint64_t at = 1; at <= 2; at++) {
        for (world_fault fault = WORLD_FAULT_BEFORE; fault <= WORLD_FAULT_AFTER; fault++) {
            queue_world *world = queue_world_new();
            world_arm(world->base, fault, at, false, false);
            assert_int_equal(enqueue(world, kedge_buffer_bytes(&large)), KEDGE_UNAVAILABLE);
            assert_int_equal(enqueue(world, kedge_buffer_bytes(&large)), KEDGE_OK);
            drain_somehow(world);
            assert_int_equal(world_lmid(world->base, "c1"), 1);
            assert_int_equal(world_head(world->base), 1);
            world_check(world->base);
            queue_world_free(world);
        }
    }
    kedge_buffer_free(&large);
}

/* ---- somebody else in between ---- */

static queue_world *meddled;

static void other_consumer(test_world *base)
{
    (void)base;
    size_t received = 0, left = 0;
    kedge_backend *backend = world_new_backend(meddled->base);
    kedge_consumer *consumer = NULL;
    queue_world_pass(KEDGE_QUEUED_VISIBILITY_MS + 1); /* the first is past its visibility */
    assert_int_equal(kedge_consumer_new(meddled->queued, backend, &consumer, NULL), KEDGE_OK);
    assert_int_equal(kedge_consumer_round(consumer, 0, &received, &left, NULL), KEDGE_OK);
    kedge_consumer_free(consumer);
    kedge_backend_free(backend);
}

static void direct_push(test_world *base)
{
    push_builder *builder = malloc(sizeof *builder);
    kedge_push_result result = {0};
    kedge_backend *backend = world_new_backend(base);
    assert_non_null(builder);
    push_begin(builder);
    push_add(builder, "direct", 1, "d", 1);
    assert_int_equal(push_send(builder, backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    kedge_backend_free(backend);
    free(builder);
}

static void meddle_at_every_call(void (*meddle)(test_world *base))
{
    uint64_t calls = count_calls();
    for (uint64_t at = 1; at <= calls; at++) {
        queue_world *world = queue_world_new();
        enqueue_story(world);
        world_arm(world->base, WORLD_FAULT_NONE, 0, false, false);
        meddled = world;
        world->base->meddle_at = at;
        world->base->meddle = meddle;
        drain_somehow(world);
        assert_null(world->base->meddle);
        check_story(world);
        queue_world_free(world);
    }
}

static void test_a_message_that_is_delivered_to_two_consumers_is_decided_once(void **state)
{
    (void)state;
    meddle_at_every_call(other_consumer);
}

static void test_a_direct_push_may_come_between_any_two_calls(void **state)
{
    (void)state;
    meddle_at_every_call(direct_push);
}

/* ---- keeping ---- */

static size_t delivered;

static void keep_and_look(test_world *base)
{
    (void)base;
    kedge_queue_batch batch = {0};
    const kedge_queue *store = &meddled->store;
    for (int i = 0; i < 5; i++) {
        queue_world_pass(KEDGE_QUEUED_VISIBILITY_MS / 2);
        kedge_consumer_keep(meddled->consumer);
    }
    assert_int_equal(store->vtable->receive(store->self, 10, 1000, 0, NULL, &batch, NULL),
                     KEDGE_OK);
    delivered += batch.count;
    kedge_queue_batch_free(&batch);
}

static void test_what_is_kept_is_delivered_to_nobody_else(void **state)
{
    (void)state;
    queue_world *world = queue_world_new();
    enqueue_story(world);
    world_arm(world->base, WORLD_FAULT_NONE, 0, false, false);
    meddled = world;
    delivered = 0;
    world->base->meddle_at = 3;
    world->base->meddle = keep_and_look;
    round_result round = queue_round(world);
    assert_int_equal(round.received, 8);
    assert_int_equal(round.left, 0);
    assert_int_equal(delivered, 0);
    check_story(world);
    queue_world_free(world);
}

/* ---- a store that is away ---- */

static void test_messages_wait_in_their_order_while_the_store_is_away(void **state)
{
    (void)state;
    queue_world *world = queue_world_new();
    enqueue_story(world);
    for (uint32_t deliveries = 1; deliveries <= 4; deliveries++) {
        world_arm(world->base, WORLD_FAULT_BEFORE, 2, true, false); /* the receive works */
        round_result round = queue_round(world);
        assert_int_equal(round.received, 8);
        assert_int_equal(round.left, 8);
        world_disarm(world->base);
        queue_world_pass(KEDGE_QUEUED_VISIBILITY_MS + 1);
    }
    drain_somehow(world);
    check_story(world);
    queue_world_free(world);
}

/* Tries that take no time: in truth each one waits for the store, and the outage may be longer. */
static void test_nothing_is_buried_in_an_outage_of_more_than_an_hour(void **state)
{
    const int64_t step_ms = 1000;
    (void)state;
    queue_world *world = queue_world_new();
    size_t tries = 0;
    enqueue_story(world);
    assert_true(KEDGE_QUEUED_OUTAGE_MS > 3600000);
    world->base->stores_away = true;
    for (int64_t passed_ms = 0; passed_ms < KEDGE_QUEUED_OUTAGE_MS; passed_ms += step_ms) {
        round_result round = queue_round(world);
        assert_int_equal(round.left, round.received);
        tries += round.received > 0;
        queue_world_pass(step_ms);
    }
    assert_int_equal(tries, QUEUE_DELIVERIES - 1);
    assert_int_equal(queue_dead_letter_count(world), 0);
    world->base->stores_away = false;
    drain_somehow(world);
    check_story(world);
    assert_int_equal(queue_reasons(world), 0);
    queue_world_free(world);
}

static void test_a_fault_that_passes_gives_messages_back_later_each_time(void **state)
{
    (void)state;
    queue_world *world = queue_world_new();
    kedge_queue_batch batch = {0};
    kedge_consume_outcome outcomes[10];
    const kedge_queue *store = &world->store;
    int64_t last_ms = 0;
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_put(world, &ann, "g1", "c1", 2, 2, "a");
    for (uint32_t deliveries = 1; deliveries < QUEUE_DELIVERIES; deliveries++) {
        assert_int_equal(store->vtable->receive(store->self, 10, 1000, 0, NULL, &batch, NULL),
                         KEDGE_OK);
        assert_int_equal(batch.count, 2);
        world_arm(world->base, WORLD_FAULT_BEFORE, 1, true, false);
        assert_int_equal(kedge_consume(world->queued, world->base->backend, batch.messages, 2, 2,
                                       NULL, outcomes, NULL),
                         KEDGE_OK);
        world_disarm(world->base);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(outcomes[i].what, KEDGE_CONSUMED_AGAIN);
            assert_int_equal(outcomes[i].error.status, KEDGE_UNAVAILABLE);
        }
        assert_true(outcomes[0].again_ms > last_ms || outcomes[0].again_ms == 120000);
        last_ms = outcomes[0].again_ms;
        kedge_queue_batch_free(&batch);
        queue_world_pass(2000);
    }
    queue_world_free(world);
}

/* A message that is tried alone, and fails for no fault of its own, is no killer. */
static void test_what_the_store_has_failed_often_is_decided_when_the_store_is_back(void **state)
{
    (void)state;
    queue_world *world = queue_world_new();
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_call(world, "c1", 2, "test.large", "{}");
    queue_put(world, &ann, "g1", "c2", 1, 1, "b");
    world->base->blobs_away = true;
    for (int deliveries = 1; deliveries < QUEUE_DELIVERIES; deliveries++) {
        assert_true(queue_round(world).received >= 1);
        queue_world_pass(KEDGE_QUEUED_AGAIN_MAX_MS + 1000);
    }
    assert_string_equal(world->failure, "unavailable");
    world->base->blobs_away = false;
    drain_somehow(world);
    assert_int_equal(world_lmid(world->base, "c1"), 2);
    assert_int_equal(world_lmid(world->base, "c2"), 1);
    assert_int_equal(queue_dead_letter_count(world), 0);
    assert_int_equal(queue_reasons(world), 0);
    world_check(world->base);
    queue_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_before_or_after_any_port_call_loses_and_doubles_nothing),
        cmocka_unit_test(test_two_crashes_in_a_row_lose_and_double_nothing),
        cmocka_unit_test(test_any_port_call_may_fail_once),
        cmocka_unit_test(test_each_failed_call_about_a_message_is_counted_and_told),
        cmocka_unit_test(test_a_round_that_fails_is_counted),
        cmocka_unit_test(test_an_enqueue_that_fails_halfway_is_only_repeated),
        cmocka_unit_test(test_a_message_that_is_delivered_to_two_consumers_is_decided_once),
        cmocka_unit_test(test_a_direct_push_may_come_between_any_two_calls),
        cmocka_unit_test(test_what_is_kept_is_delivered_to_nobody_else),
        cmocka_unit_test(test_messages_wait_in_their_order_while_the_store_is_away),
        cmocka_unit_test(test_nothing_is_buried_in_an_outage_of_more_than_an_hour),
        cmocka_unit_test(test_a_fault_that_passes_gives_messages_back_later_each_time),
        cmocka_unit_test(test_what_the_store_has_failed_often_is_decided_when_the_store_is_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
