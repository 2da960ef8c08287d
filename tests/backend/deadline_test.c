/* Pushes of a thread with a deadline: what is decided stays, the rest is pushed again. */
#include "tests/backend/world.h"

#include "backend/versioned/projects/fork.h"
#include "backend/versioned/projects/rebase.h"
#include "tests/backend/told_deadline.h"
#include "tests/support/project.h"

#include <string.h>

#define MUTATIONS 30

static push_builder builder;

static void fill(void)
{
    push_begin(&builder);
    for (int i = 1; i <= MUTATIONS; i++)
        push_add(&builder, "c1", i, "a", i);
}

static kedge_status send(test_world *world, kedge_push_result *result, kedge_error *error)
{
    *result = (kedge_push_result){0};
    return kedge_processor_push(HANDLE(world->backend, &notes), &builder.push, result, error);
}

static void test_a_push_whose_turn_is_over_makes_room_and_goes_on_later(void **state)
{
    test_world *world = *state;
    told_deadline told;
    kedge_push_result result;
    kedge_error error = {0};
    told_begin(&told, 1000, 2000);
    told.awaited = true;
    fill();
    int pushes = 0;
    do {
        assert_int_equal(send(world, &result, &error), KEDGE_OK);
        pushes++;
        /* Each decides at least one mutation, here just one. */
        assert_int_equal(result.taken, pushes);
        assert_int_equal(world_lmid(world, "c1"), pushes);
        assert_int_equal(result.cut, pushes < MUTATIONS);
    } while (result.cut);
    kedge_deadline_set(NULL);
    assert_int_equal(pushes, MUTATIONS);
    assert_int_equal(world_head(world), MUTATIONS);
    assert_string_equal(world_value(world, "a"), "{\"v\":30}");
    world_check(world);
}

static void test_nobody_makes_room_for_nobody(void **state)
{
    test_world *world = *state;
    told_deadline told;
    kedge_push_result result;
    kedge_error error = {0};
    told_begin(&told, 1000, 2000);
    fill();
    assert_int_equal(send(world, &result, &error), KEDGE_OK);
    kedge_deadline_set(NULL);
    assert_false(result.cut);
    assert_true(told.asked > 0);
    assert_int_equal(world_head(world), 1);
    assert_int_equal(world_lmid(world, "c1"), MUTATIONS);
}

static void test_behind_its_deadline_a_push_decides_nothing(void **state)
{
    test_world *world = *state;
    told_deadline told;
    kedge_push_result result;
    kedge_error error = {0};
    told_begin(&told, INT64_MAX, 1000);
    fill();
    assert_int_equal(send(world, &result, &error), KEDGE_UNAVAILABLE);
    assert_string_equal(error.code, "deadline-exceeded");
    kedge_deadline_set(NULL);
    assert_int_equal(world_head(world), 0);
}

static void test_when_nobody_wants_the_result_the_rest_is_not_run(void **state)
{
    test_world *world = *state;
    told_deadline told;
    kedge_push_result result;
    kedge_error error = {0};
    told_begin(&told, 1000, 2000);
    told.cancelled_from = 10;
    fill();
    assert_int_equal(send(world, &result, &error), KEDGE_OK);
    kedge_deadline_set(NULL);
    assert_true(result.cut);
    assert_in_range(result.taken, 9, 11);
    assert_int_equal(world_lmid(world, "c1"), result.taken);
    assert_int_equal(world_head(world), 1);
    assert_int_equal(send(world, &result, &error), KEDGE_OK);
    assert_int_equal(world_lmid(world, "c1"), MUTATIONS);
    world_check(world);
}

/* A store that is away is not tried again after the deadline. */
static void test_tries_end_with_the_deadline(void **state)
{
    test_world *world = *state;
    told_deadline told;
    kedge_push_result result;
    kedge_error error = {0};
    told_begin(&told, INT64_MAX, INT64_MAX);
    fill();
    world->stores_away = true;
    assert_int_equal(send(world, &result, &error), KEDGE_UNAVAILABLE);
    unsigned long long tries = world->calls;
    assert_true(tries > 1);
    told_begin(&told, 1000, 2000);
    told.awaited = false;
    world->calls = 0;
    told.deadline.end_ms = 1000;
    assert_int_equal(send(world, &result, &error), KEDGE_UNAVAILABLE);
    assert_int_equal(world->calls, 0);
    kedge_deadline_set(NULL);
    world->stores_away = false;
}

/* ---- a mutation that is stopped while it runs ---- */

static told_deadline stopping;

static void end_the_time(test_world *world)
{
    (void)world;
    stopping.now_ms = stopping.deadline.end_ms;
}

static void add_waiting(int64_t id)
{
    push_add_call(&builder, "c1", id, "test.wait", "{}");
}

static void test_a_mutation_that_is_stopped_costs_none_in_front_of_it(void **state)
{
    test_world *world = *state;
    kedge_push_result result;
    kedge_error error = {0};
    world->undecided = end_the_time;
    push_begin(&builder);
    for (int i = 1; i <= 5; i++)
        push_add(&builder, "c1", i, "a", i);
    add_waiting(6);
    push_add(&builder, "c1", 7, "a", 7);
    told_begin(&stopping, INT64_MAX, 2000);
    assert_int_equal(send(world, &result, &error), KEDGE_OK);
    assert_true(result.cut);
    assert_int_equal(result.taken, 5);
    assert_int_equal(world_lmid(world, "c1"), 5);
    /* Sent again, none of the five runs again, and the stopped one is the first. */
    told_begin(&stopping, INT64_MAX, 2000);
    assert_int_equal(send(world, &result, &error), KEDGE_UNAVAILABLE);
    kedge_deadline_set(NULL);
    assert_int_equal(world_lmid(world, "c1"), 5);
    world->undecided = NULL;
    assert_int_equal(send(world, &result, &error), KEDGE_OK);
    assert_false(result.cut);
    assert_int_equal(world_lmid(world, "c1"), 7);
    assert_string_equal(world_value(world, "a"), "{\"v\":7}");
    world_check(world);
}

static int undecided_times;

static void come_back_later(test_world *world)
{
    if (--undecided_times == 0) world->undecided = NULL;
}

/* Within the time, the whole slice runs again. */
static void test_a_mutator_that_is_away_is_tried_again(void **state)
{
    test_world *world = *state;
    kedge_push_result result;
    kedge_error error = {0};
    world->undecided = come_back_later;
    undecided_times = 3;
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    add_waiting(2);
    told_begin(&stopping, INT64_MAX, 2000);
    assert_int_equal(send(world, &result, &error), KEDGE_OK);
    kedge_deadline_set(NULL);
    assert_false(result.cut);
    assert_int_equal(world_lmid(world, "c1"), 2);
    assert_int_equal(world_head(world), 1);
    world_check(world);
}

/* ---- a rebase ---- */

static kedge_status count_replayed(void *context, const kedge_rebase_outcome *outcome,
                                   kedge_error *error)
{
    (void)error;
    assert_int_equal(outcome->decided->outcome, KEDGE_MUTATION_APPLIED);
    ++*(int *)context;
    return KEDGE_OK;
}

static void test_a_rebase_whose_turn_is_over_goes_on_later(void **state)
{
    static const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};
    test_world *world = *state;
    told_deadline told;
    kedge_push_result result;
    kedge_error error = {0};
    kedge_fork fork = {.done = false};
    kedge_rebase_place next;
    int64_t version = 0;
    world_put(world, "c0", 1, "b", 1);
    assert_int_equal(
        kedge_fork_project(NOTES(world), 1, HANDLE(world->backend, &copy), &fork, NULL), KEDGE_OK);
    fill();
    assert_int_equal(send(world, &result, &error), KEDGE_OK);
    const kedge_rebase_job job = {.from = NOTES(world),
                                  .to = HANDLE(world->backend, &copy),
                                  .from_version = 2,
                                  .to_version = 2,
                                  .job = KEDGE_BYTES("j1"),
                                  .role = "admin"};
    told_begin(&told, 1000, 2000);
    told.awaited = true;
    int requests = 0, replayed = 0;
    kedge_status status;
    do {
        assert_in_range(++requests, 1, MUTATIONS);
        status = kedge_rebase_run(&job, count_replayed, &replayed, &next, &version, &error);
    } while (status == KEDGE_UNAVAILABLE && strcmp(error.code, "rebase-unfinished") == 0);
    kedge_deadline_set(NULL);
    assert_int_equal(status, KEDGE_OK);
    assert_int_equal(requests, MUTATIONS); /* each replayed one more */
    assert_int_equal(replayed, MUTATIONS);
    assert_int_equal(next.version, 0);
    world_check_project(world, &copy);
}

static void test_a_commit_has_some_time_beyond_the_deadline(void **state)
{
    (void)state;
    told_deadline told;
    told_begin(&told, 1100, 1300);
    told.awaited = true;
    told.now_ms = 1200;
    kedge_deadline_begin_commit();
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_GO_ON);
    assert_int_equal(kedge_deadline_left_ms(INT64_MAX), 100 + KEDGE_DEADLINE_COMMIT_MS);
    told.now_ms = 1299 + KEDGE_DEADLINE_COMMIT_MS;
    assert_int_equal(kedge_deadline_check(NULL), KEDGE_OK);
    told.now_ms++;
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_STOP);
    kedge_deadline_end_commit();

    /* One that begins late, or whose client goes, has all of it; after it the work is over. */
    told_begin(&told, 1100, 1300);
    told.cancelled = true;
    kedge_deadline_begin_commit();
    told.now_ms = 999 + KEDGE_DEADLINE_COMMIT_MS;
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_GO_ON);
    kedge_deadline_end_commit();
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_STOP);
    kedge_deadline_begin_commit();
    assert_int_equal(kedge_deadline_left_ms(INT64_MAX), KEDGE_DEADLINE_COMMIT_MS);
    kedge_deadline_end_commit();

    kedge_deadline_set(NULL);
    kedge_deadline_begin_commit();
    assert_int_equal(kedge_deadline_left_ms(500), 500);
    kedge_deadline_end_commit();
}

static void test_the_time_that_is_left_is_that_of_the_thread(void **state)
{
    (void)state;
    told_deadline told;
    assert_int_equal(kedge_deadline_left_ms(500), 500);
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_GO_ON);
    told_begin(&told, 1100, 1300);
    assert_int_equal(kedge_deadline_left_ms(500), 300);
    assert_int_equal(kedge_deadline_left_ms(200), 200);
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_GO_ON);
    told.now_ms = 1100;
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_GO_ON);
    told.awaited = true;
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_MAKE_ROOM);
    told.now_ms = 1400;
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_STOP);
    assert_int_equal(kedge_deadline_left_ms(500), 0);
    kedge_deadline_set(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_a_push_whose_turn_is_over_makes_room_and_goes_on_later),
        OVER_BOTH(test_nobody_makes_room_for_nobody),
        OVER_BOTH(test_behind_its_deadline_a_push_decides_nothing),
        OVER_BOTH(test_when_nobody_wants_the_result_the_rest_is_not_run),
        OVER_MEMORY(test_tries_end_with_the_deadline),
        OVER_ALL(test_a_mutation_that_is_stopped_costs_none_in_front_of_it),
        OVER_BOTH(test_a_mutator_that_is_away_is_tried_again),
        OVER_BOTH(test_a_rebase_whose_turn_is_over_goes_on_later),
        cmocka_unit_test(test_a_commit_has_some_time_beyond_the_deadline),
        cmocka_unit_test(test_the_time_that_is_left_is_that_of_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
