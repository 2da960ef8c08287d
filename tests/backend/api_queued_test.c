/* A push in queued mode: what is queued, what is told at once, what stays direct. */
#include "tests/backend/api_world.h"

#include "backend/api/push.h"
#include "tests/support/project.h"

#include <string.h>

static const char *mutation(const char *client, int id, const char *item, int value)
{
    return api_format("{\"clientID\":\"%s\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
                      "\"collection\":\"docs\",\"id\":\"%s\",\"value\":%d},\"timestamp\":1,"
                      "\"uid\":\"%032x\"}",
                      client, id, item, value, (unsigned)id);
}

static const char *native(const char *client, const char *mutations)
{
    return api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"profileID\":\"p\","
                      "\"kedge\":{\"client\":\"%s\"},\"mutations\":[%s]}",
                      client, mutations);
}

static void check_queued(api_world *world, size_t enqueued)
{
    assert_int_equal(world->response.status, 200);
    assert_string_equal(api_text(world), "{\"kedge\":{\"queued\":true}}");
    assert_int_equal(world->enqueued, enqueued);
}

/* What a consumer would do with the push that was queued last. */
static void decide(api_world *world, const kedge_identity *who)
{
    kedge_push_request push;
    kedge_push_result result = {0};
    kedge_error error = {0};
    kedge_project_ref ref = {KEDGE_BYTES("acme"), KEDGE_BYTES("notes")};
    const kedge_allocator *allocator = world->environment.allocator;
    assert_int_equal(kedge_push_body_read(allocator, kedge_buffer_bytes(&world->last_enqueued), who,
                                          &push, &error),
                     KEDGE_OK);
    assert_int_equal(
        kedge_processor_push(HANDLE(world->backend, &ref), &push.push, &result, &error), KEDGE_OK);
    kedge_push_request_free(&push);
}

static void test_a_native_push_is_queued_as_it_came(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    const char *first = mutation("c1", 1, "a", 1);
    const char *second = "{ \"id\" : 2 , \"clientID\":\"c1\",\"name\":\"\xff\"}";
    api_post(world, "push", native("c1", api_format("%s , %s", first, second)));
    check_queued(world, 1);
    assert_string_equal(world->enqueued_by, "ann/member");
    assert_string_equal(world->last_enqueued.data,
                        api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[%s , "
                                   "%s]}",
                                   first, second));
    assert_int_equal(api_head(world), 0);
    decide(world, &ann);
    assert_int_equal(api_head(world), 1);
    api_get(world, "versions/1");
    assert_string_equal(api_string(world, "mutations.1.code"), "mutation-invalid");
    api_world_free(world);
}

static void test_what_was_decided_before_is_answered_with_its_version(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    const char *push = native("c1", mutation("c1", 1, "a", 1));
    api_post(world, "push", push);
    api_post(world, "push", push);
    check_queued(world, 2);
    decide(world, &ann);
    api_post(world, "push", push);
    assert_string_equal(api_text(world), "{\"kedge\":{\"version\":1}}");
    api_post(world, "push", native("c1", ""));
    assert_string_equal(api_text(world), "{\"kedge\":{\"version\":1}}");
    assert_int_equal(world->enqueued, 2);
    api_world_free(world);
}

/* What comes before it may be in the queue. */
static void test_a_push_behind_others_that_are_queued_is_queued(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    api_post(world, "push", native("c1", mutation("c1", 1, "a", 1)));
    api_post(world, "push", native("c1", mutation("c1", 2, "a", 2)));
    check_queued(world, 2);
    decide(world, &ann); /* the second alone: dropped */
    assert_int_equal(api_head(world), 0);
    api_world_free(world);
}

/* The response names the mutator for the log, until another request is handled. */
static void test_a_push_that_waits_for_a_newer_server_names_the_mutator(void **state)
{
    (void)state;
    api_world *worlds[] = {api_world_new_queued(), api_world_new()};
    for (size_t i = 0; i < 2; i++) {
        api_world *world = worlds[i];
        const kedge_missing_mutator *missing = &world->response.missing;
        api_post(world, "push",
                 native("c1", "{\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{},"
                              "\"timestamp\":0,\"version\":1000,\"wait\":true}"));
        assert_response_is(world, 409, "server-too-old");
        assert_string_equal(missing->organization, "acme");
        assert_string_equal(missing->project, "notes");
        assert_string_equal(missing->mutator, "kedge.put");
        assert_int_equal(missing->wanted, 1000);
        assert_in_range(missing->here, 1, 999);
        api_post(world, "push", native("c1", mutation("c1", 1, "a", 1)));
        assert_int_equal(world->response.status, 200);
        assert_int_equal(missing->wanted, 0);
        api_world_free(world);
    }
}

static void test_what_no_later_version_can_mend_is_refused_at_once(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    api_post(world, "push", native("c1", mutation("c1", 1, "a", 1)));
    decide(world, &ann);
    api_post(world, "push", native("c1", mutation("c1", 1, "b", 9)));
    assert_response_is(world, 409, "mutation-mismatch");
    api_post_as(world, &bob, "push", native("c1", mutation("c1", 2, "a", 2)));
    assert_response_is(world, 404, "client-not-found");
    assert_int_equal(world->enqueued, 1);
    api_post(world, "clients/c1/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":1}");
    assert_int_equal(world->response.status, 200);
    assert_int_equal(api_number(world, "lmid"), 1);
    assert_int_equal(api_head(world), 2);
    api_post(world, "push", native("c1", mutation("c1", 2, "a", 2)));
    assert_response_is(world, 409, "client-retired");
    assert_int_equal(world->enqueued, 1);
    api_world_free(world);
}

static void test_other_clients_of_a_refused_push_are_queued(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    api_post(world, "push", native("c1", mutation("c1", 1, "a", 1)));
    decide(world, &ann);
    api_post(
        world, "push",
        native("c1", api_format("%s,%s", mutation("c1", 1, "b", 9), mutation("c2", 1, "c", 1))));
    assert_response_is(world, 409, "mutation-mismatch");
    assert_int_equal(world->enqueued, 2);
    decide(world, &ann);
    assert_int_equal(api_get(world, "versions/latest/collections/docs/c"), 200);
    api_world_free(world);
}

/* Its protocol has no other outcome. */
static void test_a_replicache_push_is_decided_directly(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    api_post(world, "push",
             api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[%s]}",
                        mutation("c1", 1, "a", 1)));
    assert_string_equal(api_text(world), "{}");
    assert_int_equal(api_head(world), 1);
    assert_int_equal(world->enqueued, 0);
    api_world_free(world);
}

static void test_a_body_that_was_cut_off_is_queued_up_to_its_last_whole_mutation(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    world->truncated = true;
    const char *first = mutation("c1", 1, "a", 1);
    api_post(world, "push",
             api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},"
                        "\"mutations\":[%s,%.60s",
                        first, mutation("c1", 2, "a", 2)));
    assert_response_is(world, 503, "push-too-large");
    assert_int_equal(world->enqueued, 1);
    assert_string_equal(
        world->last_enqueued.data,
        api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[%s]}", first));
    world->truncated = false;
    decide(world, &ann);
    assert_int_equal(api_head(world), 1);
    api_world_free(world);
}

static void test_a_push_that_direct_mode_refuses_is_not_queued(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    kedge_bytes body = kedge_bytes_of(native("c1", mutation("c1", 1, "a", 1)));
    api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/none/push", body);
    assert_response_is(world, 404, "project-not-found");
    api_ask(world, &eve, "POST", "/v1/orgs/acme/projects/notes/push", body);
    assert_response_is(world, 404, "project-not-found");
    api_ask(world, NULL, "POST", "/v1/orgs/acme/projects/notes/push", body);
    assert_response_is(world, 401, "token-missing");
    api_post(world, "push", native("c1", "{\"clientID\":\"c1\"}"));
    assert_response_is(world, 400, "body-invalid");
    api_post(world, "push", native("c 1", mutation("c1", 1, "a", 1)));
    assert_response_is(world, 400, "body-invalid");
    api_post(world, "push",
             "{\"pushVersion\":2,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c\"},"
             "\"mutations\":[]}");
    assert_string_equal(api_text(world),
                        "{\"error\":\"VersionNotSupported\",\"versionType\":\"push\"}");
    assert_int_equal(world->enqueued, 0);
    api_world_free(world);
}

static void test_a_queue_that_is_away_is_unavailable(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    world->enqueue_status = KEDGE_UNAVAILABLE;
    api_post(world, "push", native("c1", mutation("c1", 1, "a", 1)));
    assert_response_is(world, 503, "unavailable");
    world->enqueue_status = KEDGE_OK;
    api_post(world, "push", native("c1", mutation("c1", 1, "a", 1)));
    check_queued(world, 1);
    api_world_free(world);
}

static void test_the_limits_tell_the_mode(void **state)
{
    (void)state;
    api_world *queued = api_world_new_queued();
    api_world *direct = api_world_new();
    api_ask(queued, NULL, "GET", "/v1/limits", (kedge_bytes){NULL, 0});
    assert_string_equal(api_string(queued, "mode"), "queued");
    api_ask(direct, NULL, "GET", "/v1/limits", (kedge_bytes){NULL, 0});
    assert_string_equal(api_string(direct, "mode"), "direct");
    api_world_free(queued);
    api_world_free(direct);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_native_push_is_queued_as_it_came),
        cmocka_unit_test(test_what_was_decided_before_is_answered_with_its_version),
        cmocka_unit_test(test_a_push_behind_others_that_are_queued_is_queued),
        cmocka_unit_test(test_a_push_that_waits_for_a_newer_server_names_the_mutator),
        cmocka_unit_test(test_what_no_later_version_can_mend_is_refused_at_once),
        cmocka_unit_test(test_other_clients_of_a_refused_push_are_queued),
        cmocka_unit_test(test_a_replicache_push_is_decided_directly),
        cmocka_unit_test(test_a_body_that_was_cut_off_is_queued_up_to_its_last_whole_mutation),
        cmocka_unit_test(test_a_push_that_direct_mode_refuses_is_not_queued),
        cmocka_unit_test(test_a_queue_that_is_away_is_unavailable),
        cmocka_unit_test(test_the_limits_tell_the_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
