/* How many client ids a user may begin with in a minute. */
#include "tests/backend/api_world.h"

#include "backend/base/new_clients.h"
#include "tests/backend/told_deadline.h"

#include <string.h>

static int64_t time_ms;

static int64_t told_time(void *context)
{
    (void)context;
    return time_ms;
}

/* A world in which a user may begin with so many. */
static api_world *limited(api_world *world, int64_t most)
{
    time_ms = 1000000;
    world->environment.monotonic_ms = told_time;
    world->new_clients = most;
    api_world_restart(world);
    return world;
}

static const char *mutation(const char *client, int id)
{
    return api_format("{\"clientID\":\"%s\",\"id\":%d,\"name\":\"kedge.noop\",\"timestamp\":1}",
                      client, id);
}

static void push_as(api_world *world, const kedge_identity *who, const char *mutations)
{
    api_post_as(world, who, "push",
                api_format("{\"pushVersion\":1,\"clientGroupID\":\"g-%s\",\"mutations\":[%s],"
                           "\"kedge\":{\"client\":\"c\"}}",
                           who->user, mutations));
}

static void push_new(api_world *world, const char *client)
{
    push_as(world, &ann, mutation(client, 1));
}

static void test_new_clients_beyond_the_limit_wait(void **state)
{
    api_world *world = limited(api_world_new(), 3);
    for (int i = 1; i <= 3; i++) {
        push_new(world, api_format("c%d", i));
        assert_response_is(world, 200, "");
    }
    push_new(world, "c4");
    assert_response_is(world, 429, "too-many-clients");
    assert_int_equal(world->response.retry_after_s, 21);
    assert_int_equal(api_head(world), 3);
    time_ms += 20001;
    push_new(world, "c4");
    assert_response_is(world, 200, "");
    push_new(world, "c5");
    assert_response_is(world, 429, "too-many-clients");
    time_ms += 600000;
    for (int i = 5; i <= 7; i++) {
        push_new(world, api_format("c%d", i));
        assert_response_is(world, 200, "");
    }
    push_new(world, "c8");
    assert_response_is(world, 429, "too-many-clients");
    api_world_free(world);
    (void)state;
}

static void test_clients_that_are_known_are_never_refused(void **state)
{
    api_world *world = limited(api_world_new(), 1);
    push_new(world, "c1");
    for (int id = 2; id <= 9; id++) {
        push_as(world, &ann, mutation("c1", id));
        assert_response_is(world, 200, "");
    }
    push_new(world, "c1"); /* again, since its response was lost */
    assert_response_is(world, 200, "");
    push_new(world, "c2");
    assert_response_is(world, 429, "too-many-clients");
    api_post(world, "clients/c3/retire", "{\"clientGroupID\":\"g-ann\",\"lowest_pending\":1}");
    assert_response_is(world, 200, "");
    api_world_free(world);
    (void)state;
}

/* The clients of origins are retired in versions of their own, which must not come either. */
static void test_a_refused_push_leaves_nothing(void **state)
{
    api_world *world = limited(api_world_new(), 1);
    push_new(world, "c1");
    push_as(world, &ann,
            api_format("{\"clientID\":\"c2\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":1,"
                       "\"uid\":\"%032d\",\"origin\":{\"client\":\"c1\",\"id\":2}}",
                       7));
    assert_response_is(world, 429, "too-many-clients");
    assert_int_equal(api_head(world), 1);
    push_as(world, &ann, mutation("c1", 2));
    assert_response_is(world, 200, "");
    api_world_free(world);
    (void)state;
}

static void test_each_user_has_a_bucket_of_its_own(void **state)
{
    api_world *world = limited(api_world_new(), 1);
    push_new(world, "c1");
    push_new(world, "c2");
    assert_response_is(world, 429, "too-many-clients");
    push_as(world, &bob, mutation("b1", 1));
    assert_response_is(world, 200, "");
    api_world_free(world);
    (void)state;
}

/* A Replicache group may bring many at once. Otherwise such a push would never be taken. */
static void test_a_push_of_more_clients_than_the_limit_is_taken_by_a_full_bucket(void **state)
{
    api_world *world = limited(api_world_new(), 2);
    const char *five = api_format("%s,%s,%s,%s,%s", mutation("c1", 1), mutation("c2", 1),
                                  mutation("c3", 1), mutation("c4", 1), mutation("c5", 1));
    push_as(world, &ann, five);
    assert_response_is(world, 200, "");
    time_ms += 60001;
    push_new(world, "c6");
    assert_response_is(world, 429, "too-many-clients");
    time_ms += 60001;
    push_new(world, "c6");
    assert_response_is(world, 200, "");
    api_world_free(world);
    (void)state;
}

/* Otherwise a push whose first mutations are decided would be told that nothing was applied. */
static void test_a_push_that_takes_several_turns_pays_for_its_clients_once(void **state)
{
    api_world *world = limited(api_world_new(), 5);
    const char *five = api_format("%s,%s,%s,%s,%s", mutation("c1", 1), mutation("c2", 1),
                                  mutation("c3", 1), mutation("c4", 1), mutation("c5", 1));
    told_deadline told;
    told_begin(&told, 1000, 2000);
    told.awaited = true;
    for (int slice = 1; slice < 5; slice++) {
        push_as(world, &ann, five);
        assert_response_is(world, 503, "push-unfinished");
        assert_true(world->response.unfinished);
        assert_int_equal(api_head(world), slice);
        world->goes_on = true;
    }
    push_as(world, &ann, five);
    kedge_deadline_set(NULL);
    assert_response_is(world, 200, "");
    world->goes_on = false;
    push_new(world, "c6");
    assert_response_is(world, 429, "too-many-clients");
    time_ms += 12001; /* brings one */
    push_new(world, "c6");
    assert_response_is(world, 200, "");
    api_world_free(world);
    (void)state;
}

static void test_what_is_refused_is_not_queued_either(void **state)
{
    api_world *world = limited(api_world_new_queued(), 1);
    push_new(world, "c1");
    assert_response_is(world, 200, "");
    push_new(world, "c2");
    assert_response_is(world, 429, "too-many-clients");
    assert_int_equal(world->enqueued, 1);
    api_world_free(world);
    (void)state;
}

static void test_a_project_that_its_first_push_creates_counts_its_clients(void **state)
{
    api_world *world = limited(api_world_new_open(), 1);
    push_new(world, "c1");
    assert_response_is(world, 200, "");
    push_new(world, "c2");
    assert_response_is(world, 429, "too-many-clients");
    api_world_free(world);
    (void)state;
}

static void test_without_a_limit_nobody_waits(void **state)
{
    api_world *world = api_world_new();
    for (int i = 1; i <= 700; i++) {
        push_new(world, api_format("c%d", i));
        assert_response_is(world, 200, "");
    }
    api_get(world, "snapshot");
    assert_int_equal(api_ask(world, NULL, "GET", "/v1/limits", (kedge_bytes){NULL, 0}), 200);
    assert_int_equal(api_number(world, "new_clients_per_minute"), 0);
    limited(world, 600);
    api_ask(world, NULL, "GET", "/v1/limits", (kedge_bytes){NULL, 0});
    assert_int_equal(api_number(world, "new_clients_per_minute"), 600);
    api_world_free(world);
    (void)state;
}

/* ---- the buckets ---- */

static void test_asking_again_and_again_does_not_put_off_the_moment(void **state)
{
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_new_clients limit;
    int64_t wait_ms = 0;
    int64_t tries = 0;
    environment.monotonic_ms = told_time;
    time_ms = 5;
    assert_int_equal(kedge_new_clients_open(&limit, &environment, 1, NULL), KEDGE_OK);
    assert_true(kedge_new_clients_take(&limit, KEDGE_BYTES("o"), "u", 1, &wait_ms));
    while (!kedge_new_clients_take(&limit, KEDGE_BYTES("o"), "u", 1, &wait_ms)) {
        assert_in_range(wait_ms, 1, 60001);
        time_ms += 7;
        tries++;
    }
    assert_in_range(tries, 60000 / 7 - 1, 60000 / 7 + 10);
    kedge_new_clients_close(&limit);
    (void)state;
}

static void test_a_clock_that_stands_still_or_goes_back_gives_nothing(void **state)
{
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_new_clients limit;
    int64_t wait_ms = 0;
    environment.monotonic_ms = told_time;
    time_ms = 100000;
    assert_int_equal(kedge_new_clients_open(&limit, &environment, 2, NULL), KEDGE_OK);
    assert_true(kedge_new_clients_take(&limit, KEDGE_BYTES("o"), "u", 2, &wait_ms));
    for (int i = 0; i < 9; i++) {
        assert_false(kedge_new_clients_take(&limit, KEDGE_BYTES("o"), "u", 1, &wait_ms));
        time_ms -= 1000;
    }
    kedge_new_clients_close(&limit);
    (void)state;
}

/* More users than there are places: the memory stays, and who is forgotten has a full bucket. */
static void test_many_users_cost_no_more_memory(void **state)
{
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_new_clients limit;
    int64_t wait_ms = 0;
    environment.monotonic_ms = told_time;
    assert_int_equal(kedge_new_clients_open(&limit, &environment, 5, NULL), KEDGE_OK);
    for (int i = 0; i < 3 * KEDGE_NEW_CLIENTS_SETS * KEDGE_NEW_CLIENTS_WAYS; i++) {
        assert_true(
            kedge_new_clients_take(&limit, KEDGE_BYTES("o"), api_format("u%d", i), 1, &wait_ms));
    }
    kedge_new_clients_close(&limit);
    assert_int_equal(kedge_new_clients_open(&limit, &environment, -1, NULL),
                     KEDGE_INVALID_ARGUMENT);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_clients_beyond_the_limit_wait),
        cmocka_unit_test(test_clients_that_are_known_are_never_refused),
        cmocka_unit_test(test_a_refused_push_leaves_nothing),
        cmocka_unit_test(test_each_user_has_a_bucket_of_its_own),
        cmocka_unit_test(test_a_push_of_more_clients_than_the_limit_is_taken_by_a_full_bucket),
        cmocka_unit_test(test_a_push_that_takes_several_turns_pays_for_its_clients_once),
        cmocka_unit_test(test_what_is_refused_is_not_queued_either),
        cmocka_unit_test(test_a_project_that_its_first_push_creates_counts_its_clients),
        cmocka_unit_test(test_without_a_limit_nobody_waits),
        cmocka_unit_test(test_asking_again_and_again_does_not_put_off_the_moment),
        cmocka_unit_test(test_a_clock_that_stands_still_or_goes_back_gives_nothing),
        cmocka_unit_test(test_many_users_cost_no_more_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
