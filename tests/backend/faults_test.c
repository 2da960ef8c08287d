/* Faults: a crash before or after every port call, lost responses, somebody else between any two
 * calls. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>

#define PUSHES 20 /* enough for index rows to be written on the way */

static push_builder builder;

/* Push number i of the story: every fifth has a body that goes to blobs, every
 * seventh is rejected. */
static kedge_status push_story(test_world *world, int i, kedge_push_result *result)
{
    char item[16];
    snprintf(item, sizeof item, "a%d", i % 3);
    push_begin(&builder);
    if (i % 5 == 0) {
        push_add_dense(&builder, "c1", i, item, i, 20000);
    } else if (i % 7 == 0) {
        push_add_call(&builder, "c1", i, "no.such.mutator", "{\"n\":1}");
    } else {
        push_add(&builder, "c1", i, item, i);
    }
    return push_send(&builder, world->backend, &ann, result);
}

static void check_story(test_world *world)
{
    assert_int_equal(world_head(world), PUSHES);
    assert_int_equal(world_lmid(world, "c1"), PUSHES);
    assert_string_equal(world_value(world, "a1"), "{\"v\":19}");
    world_check(world);
}

/* Until the backend is gone, then everything from the beginning with a new one,
 * as a client would. */
static void crash_at(int (*setup)(void **), world_fault fault, uint64_t at)
{
    void *state = NULL;
    setup(&state);
    test_world *world = state;
    kedge_push_result result = {0};
    world_arm(world, fault, at, true, false);
    for (int i = 1; i <= PUSHES; i++) {
        if (push_story(world, i, &result) != KEDGE_OK) break;
    }
    assert_true(world->faults > 0);
    world_disarm(world);
    world_restart(world);
    for (int i = 1; i <= PUSHES; i++) {
        assert_int_equal(push_story(world, i, &result), KEDGE_OK);
        assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    }
    check_story(world);
    world_teardown(&state);
}

static uint64_t count_calls(int (*setup)(void **), uint64_t *writes)
{
    void *state = NULL;
    kedge_push_result result = {0};
    setup(&state);
    test_world *world = state;
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    for (int i = 1; i <= PUSHES; i++) {
        assert_int_equal(push_story(world, i, &result), KEDGE_OK);
    }
    uint64_t calls = atomic_load(&world->calls);
    if (writes != NULL) *writes = atomic_load(&world->writes);
    check_story(world);
    world_teardown(&state);
    return calls;
}

static void crash_at_every_call(int (*setup)(void **), uint64_t step)
{
    uint64_t calls = count_calls(setup, NULL);
    assert_true(calls > PUSHES);
    for (uint64_t at = 1; at <= calls; at += step) {
        crash_at(setup, WORLD_FAULT_BEFORE, at);
        crash_at(setup, WORLD_FAULT_AFTER, at);
    }
}

static void test_a_crash_around_any_port_call_loses_and_doubles_nothing(void **state)
{
    (void)state;
    crash_at_every_call(world_setup_memory, STORES_STEP);
}

static void test_a_crash_over_sqlite_loses_and_doubles_nothing(void **state)
{
    (void)state;
    crash_at_every_call(world_setup_sqlite, 5 * SAMPLING_FEWER);
}

static void test_a_crash_in_the_seed_cadence_loses_and_doubles_nothing(void **state)
{
    (void)state;
    crash_at_every_call(world_setup_seed, STORES_STEP);
}

/* One call fails, the backend goes on by itself. */
static void one_fault(int (*setup)(void **), world_fault fault, uint64_t at, bool writes_only)
{
    void *state = NULL;
    kedge_push_result result = {0};
    setup(&state);
    test_world *world = state;
    world_arm(world, fault, at, false, writes_only);
    for (int i = 1; i <= PUSHES; i++) {
        assert_int_equal(push_story(world, i, &result), KEDGE_OK);
        assert_int_equal(result.problem, KEDGE_PUSH_FINE);
        assert_int_equal(result.version, i);
    }
    assert_int_equal(world->faults, 1);
    world_disarm(world);
    check_story(world);
    world_teardown(&state);
}

static void test_an_answer_lost_at_any_write_doubles_nothing(void **state)
{
    (void)state;
    int (*setups[])(void **) = {world_setup_memory, world_setup_seed};
    for (size_t i = 0; i < 2; i++) {
        uint64_t writes = 0;
        count_calls(setups[i], &writes);
        for (uint64_t at = 1; at <= writes; at += STORES_STEP)
            one_fault(setups[i], WORLD_FAULT_AFTER, at, true);
    }
}

static void test_a_call_that_fails_once_is_made_up_for(void **state)
{
    (void)state;
    uint64_t calls = count_calls(world_setup_memory, NULL);
    for (uint64_t at = 1; at <= calls; at += STORES_STEP) {
        one_fault(world_setup_memory, WORLD_FAULT_BEFORE, at, false);
    }
}

static void test_a_store_that_stays_away_makes_the_push_unavailable(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    world_arm(world, WORLD_FAULT_BEFORE, 1, true, false);
    assert_int_equal(push_story(world, 1, &result), KEDGE_UNAVAILABLE);
    /* The ports try again themselves; a request has no time for that sixteen times over. */
    assert_int_equal(atomic_load(&world->pauses), 3);
    world_disarm(world);
    assert_int_equal(world_head(world), 0);
}

/* ---- whoever waits for news ---- */

static int64_t heard;

static void hear(void *context, kedge_bytes organization, kedge_bytes project, int64_t version)
{
    (void)context;
    assert_true(kedge_bytes_equal(organization, notes.organization));
    assert_true(kedge_bytes_equal(project, notes.project));
    heard = version;
}

static void tune_committed(test_world *world, kedge_backend_options *options)
{
    (void)world;
    options->committed = hear;
}

static void test_a_commit_whose_answer_was_lost_is_told_to_those_who_wait(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    const kedge_version *at = NULL;
    world->tune = tune_committed;
    world_restart(world);
    heard = 0;
    world_arm(world, WORLD_FAULT_AFTER, 1, false, true);
    assert_int_equal(push_story(world, 1, &result), KEDGE_OK);
    assert_int_equal(world->faults, 1);
    assert_int_equal(heard, 1);
    world_arm(world, WORLD_FAULT_AFTER, 1, false, true);
    assert_int_equal(
        kedge_processor_retire(NOTES(world), &ann, KEDGE_BYTES("g1"), KEDGE_BYTES("c1"), &at, NULL),
        KEDGE_OK);
    kedge_version_release(at);
    assert_int_equal(world->faults, 1);
    assert_int_equal(heard, 2);
    world_disarm(world);
    assert_int_equal(world_head(world), 2);
}

/* ---- somebody else in between ---- */

/* Another process pushes its next mutation. */
static void push_of_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    kedge_push_result result = {0};
    static push_builder others;
    const kedge_version *head = NULL;
    kedge_client_state client;
    assert_int_equal(kedge_version_load(HANDLE(other, &notes), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(
        kedge_client_load(HANDLE(other, &notes), head, KEDGE_BYTES("c2"), &client, NULL), KEDGE_OK);
    kedge_version_release(head);
    push_begin(&others);
    push_add(&others, "c2", client.lmid + 1, "b", (int)client.lmid + 1);
    assert_int_equal(push_send(&others, other, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    kedge_backend_free(other);
}

/* The same push again, by the same client over another process: as when a proxy repeats it. */
static void push_of_the_same(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    kedge_push_result result = {0};
    static push_builder others;
    push_begin(&others);
    push_add(&others, "c1", 18, "a0", 18);
    push_add_call(&others, "c1", 19, "no.such.mutator", "{\"n\":2}");
    assert_int_equal(push_send(&others, other, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    kedge_backend_free(other);
}

static void meddle_at(void (*meddle)(test_world *), uint64_t at, bool cached, bool *ended)
{
    void *state = NULL;
    kedge_push_result result = {0};
    world_setup_memory(&state);
    test_world *world = state;
    for (int i = 1; i <= 17; i++)
        assert_int_equal(push_story(world, i, &result), KEDGE_OK);
    if (!cached) world_restart(world);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    world->meddle = meddle;
    world->meddle_at = at;
    push_begin(&builder);
    push_add(&builder, "c1", 18, "a0", 18);
    push_add_call(&builder, "c1", 19, "no.such.mutator", "{\"n\":2}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    *ended = world->meddle != NULL;
    world_disarm(world);
    assert_int_equal(world_lmid(world, "c1"), 19);
    bool other = meddle == push_of_another && !*ended;
    assert_int_equal(world_lmid(world, "c2"), other ? 1 : 0);
    assert_int_equal(world_head(world), other ? 19 : 18);
    world_check(world);
    world_teardown(&state);
}

static void test_another_push_between_any_two_calls_forks_nothing(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {push_of_another, push_of_the_same};
    for (size_t i = 0; i < 2; i++) {
        for (int cached = 0; cached < 2; cached++) {
            bool ended = false;
            uint64_t at = 1;
            for (; !ended; at++)
                meddle_at(meddles[i], at, cached == 1, &ended);
            assert_true(at > 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_around_any_port_call_loses_and_doubles_nothing),
        cmocka_unit_test(test_a_crash_over_sqlite_loses_and_doubles_nothing),
        cmocka_unit_test(test_a_crash_in_the_seed_cadence_loses_and_doubles_nothing),
        cmocka_unit_test(test_an_answer_lost_at_any_write_doubles_nothing),
        cmocka_unit_test(test_a_call_that_fails_once_is_made_up_for),
        OVER_BOTH(test_a_store_that_stays_away_makes_the_push_unavailable),
        OVER_ALL(test_a_commit_whose_answer_was_lost_is_told_to_those_who_wait),
        cmocka_unit_test(test_another_push_between_any_two_calls_forks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
