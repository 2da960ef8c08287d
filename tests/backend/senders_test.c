/* One push of several senders, as a consumer merges them: each mutation is its own sender's. */
#include "tests/backend/world.h"

#include "tests/support/project.h"

#include <string.h>

static push_builder builder;

/* ann in g1, bob in g1, ann in g2. */
static const kedge_push_sender senders[] = {
    {{"g1", 2}, &ann}, {{"g1", 2}, &bob}, {{"g2", 2}, &ann}};

static void add(size_t sender, const char *client, int64_t id, const char *item, int value)
{
    push_add(&builder, client, id, item, value);
    builder.mutations[builder.push.count - 1].sender = sender;
}

static kedge_push_result push_all(test_world *world)
{
    kedge_push_result result = {0};
    kedge_error error = {0};
    builder.push.senders = senders;
    builder.push.sender_count = 3;
    assert_int_equal(kedge_processor_push(NOTES(world), &builder.push, &result, &error), KEDGE_OK);
    return result;
}

static void check_run(const kedge_run *run, const char *client, const char *group, const char *user)
{
    assert_true(kedge_bytes_equal_text(run->client, client));
    assert_true(kedge_bytes_equal_text(run->group, group));
    assert_true(kedge_bytes_equal_text(run->user, user));
}

static void test_each_run_is_of_its_own_group_and_user(void **state)
{
    test_world *world = *state;
    const kedge_version *version = NULL;
    push_begin(&builder);
    add(0, "c1", 1, "a", 1);
    add(1, "c2", 1, "b", 2);
    add(2, "c3", 1, "c", 3);
    add(0, "c1", 2, "a", 4);
    assert_int_equal(push_all(world).version, 1);
    assert_int_equal(kedge_version_load(NOTES(world), 1, &version, NULL), KEDGE_OK);
    assert_int_equal(version->run_count, 3);
    check_run(&version->runs[0], "c1", "g1", "ann");
    check_run(&version->runs[1], "c2", "g1", "bob");
    check_run(&version->runs[2], "c3", "g2", "ann");
    assert_true(kedge_bytes_equal_text(version->mutations[1].user, "bob"));
    kedge_version_release(version);
    world_check(world);
}

static void test_who_pushes_under_the_id_of_anothers_client_does_not_block_it(void **state)
{
    test_world *world = *state;
    world_put(world, "c1", 1, "a", 1);
    push_begin(&builder);
    add(1, "c1", 2, "a", 2);
    add(2, "c1", 2, "a", 3);
    add(0, "c1", 2, "a", 4);
    add(1, "c1", 3, "a", 5);
    kedge_push_result result = push_all(world);
    assert_int_equal(result.problem, KEDGE_PUSH_CLIENT_FOREIGN);
    assert_int_equal(result.refused[KEDGE_PUSH_CLIENT_FOREIGN], 3);
    assert_string_equal(world_value(world, "a"), "{\"v\":4}");
    assert_int_equal(world_lmid(world, "c1"), 2);
    world_check(world);
}

static void test_a_new_client_belongs_to_its_first_sender(void **state)
{
    test_world *world = *state;
    push_begin(&builder);
    add(1, "c1", 1, "a", 1);
    add(0, "c1", 1, "a", 2);
    add(1, "c1", 2, "a", 3);
    add(0, "c1", 2, "a", 4);
    kedge_push_result result = push_all(world);
    assert_int_equal(result.refused[KEDGE_PUSH_CLIENT_FOREIGN], 2);
    assert_string_equal(world_value(world, "a"), "{\"v\":3}");
    assert_int_equal(world_try(world, "c1", 3, "a", 5), KEDGE_PUSH_CLIENT_FOREIGN);
    world_check(world);
}

static void test_an_id_that_a_foreigner_may_not_take_is_free_for_its_owner(void **state)
{
    test_world *world = *state;
    push_begin(&builder);
    add(1, "c1", 5, "a", 1); /* unknown, and not its first: nobody's */
    add(0, "c1", 1, "a", 2);
    kedge_push_result result = push_all(world);
    assert_int_equal(result.refused[KEDGE_PUSH_CLIENT_UNKNOWN], 1);
    assert_string_equal(world_value(world, "a"), "{\"v\":2}");
    world_check(world);
}

static void test_one_message_twice_in_one_push_is_decided_once(void **state)
{
    test_world *world = *state;
    push_begin(&builder);
    add(0, "c1", 1, "a", 1);
    add(1, "c2", 1, "b", 1);
    add(0, "c1", 1, "a", 1);
    add(0, "c1", 2, "a", 2);
    assert_int_equal(push_all(world).problem, KEDGE_PUSH_FINE);
    assert_int_equal(world_lmid(world, "c1"), 2);
    world_check(world);
}

/* Ids 1 and 2 are decided as other mutations, and id 3 would be the next. */
static void test_a_problem_in_a_replay_stops_the_mutations_of_all_its_users(void **state)
{
    test_world *world = *state;
    push_begin(&builder);
    builder.push.replays = true;
    add(0, "rebase-j1", 1, "a", 1);
    add(1, "rebase-j1", 2, "b", 1);
    assert_int_equal(push_all(world).problem, KEDGE_PUSH_FINE);
    push_begin(&builder);
    builder.push.replays = true;
    add(0, "rebase-j1", 1, "a", 2);
    add(1, "rebase-j1", 2, "b", 2);
    add(0, "rebase-j1", 3, "a", 3);
    kedge_push_result result = push_all(world);
    assert_int_equal(result.problem, KEDGE_PUSH_MISMATCH);
    assert_int_equal(result.refused[KEDGE_PUSH_MISMATCH], 3);
    assert_int_equal(world_lmid(world, "rebase-j1"), 2);
    assert_string_equal(world_value(world, "a"), "{\"v\":1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_each_run_is_of_its_own_group_and_user),
        OVER_ALL(test_who_pushes_under_the_id_of_anothers_client_does_not_block_it),
        OVER_ALL(test_a_new_client_belongs_to_its_first_sender),
        OVER_ALL(test_an_id_that_a_foreigner_may_not_take_is_free_for_its_owner),
        OVER_ALL(test_one_message_twice_in_one_push_is_decided_once),
        OVER_ALL(test_a_problem_in_a_replay_stops_the_mutations_of_all_its_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
