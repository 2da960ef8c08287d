/* Pushes of a thread with a deadline: what is decided stays, the rest is pushed again. */
#include "tests/backend/world.h"

#include "backend/ports/deadline.h"
#include "tests/support/project.h"

#include <string.h>

#define MUTATIONS 30

static push_builder builder;

/* A deadline whose answers the test sets. */
typedef struct told_deadline {
    kedge_environment environment;
    kedge_deadline deadline;
    int64_t now_ms;
    bool cancelled;
    bool awaited;
    int asked;          /* how often whether it is awaited */
    int cancelled_from; /* the number of the question from which on it is cancelled; 0: never */
} told_deadline;

static int64_t told_ms(void *context)
{
    return ((told_deadline *)context)->now_ms;
}

static bool is_cancelled(void *context)
{
    told_deadline *told = context;
    return told->cancelled;
}

static bool is_awaited(void *context)
{
    told_deadline *told = context;
    told->asked++;
    if (told->cancelled_from > 0 && told->asked >= told->cancelled_from) told->cancelled = true;
    return told->awaited;
}

static void begin(told_deadline *told, int64_t turn_ms, int64_t end_ms)
{
    *told = (told_deadline){.now_ms = 1000};
    told->environment = (kedge_environment){.monotonic_ms = told_ms, .context = told};
    told->deadline = (kedge_deadline){.environment = &told->environment,
                                      .turn_ms = turn_ms,
                                      .end_ms = end_ms,
                                      .is_cancelled = is_cancelled,
                                      .is_awaited = is_awaited,
                                      .context = told};
    kedge_deadline_set(&told->deadline);
}

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
    begin(&told, 1000, 2000);
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
    begin(&told, 1000, 2000);
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
    begin(&told, INT64_MAX, 1000);
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
    begin(&told, 1000, 2000);
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

/* A store that is away is not tried again behind the deadline. */
static void test_tries_end_with_the_deadline(void **state)
{
    test_world *world = *state;
    told_deadline told;
    kedge_push_result result;
    kedge_error error = {0};
    begin(&told, INT64_MAX, INT64_MAX);
    fill();
    world->stores_away = true;
    assert_int_equal(send(world, &result, &error), KEDGE_UNAVAILABLE);
    unsigned long long tries = world->calls;
    assert_true(tries > 1);
    begin(&told, 1000, 2000);
    told.awaited = false;
    world->calls = 0;
    told.deadline.end_ms = 1000;
    assert_int_equal(send(world, &result, &error), KEDGE_UNAVAILABLE);
    assert_int_equal(world->calls, 0);
    kedge_deadline_set(NULL);
    world->stores_away = false;
}

static void test_the_time_that_is_left_is_that_of_the_thread(void **state)
{
    (void)state;
    told_deadline told;
    assert_int_equal(kedge_deadline_left_ms(500), 500);
    assert_int_equal(kedge_deadline_ask(), KEDGE_DEADLINE_GO_ON);
    begin(&told, 1100, 1300);
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
        cmocka_unit_test(test_the_time_that_is_left_is_that_of_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
