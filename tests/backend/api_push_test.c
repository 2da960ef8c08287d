/* The rules of a push: what is decided, what is skipped, what is refused, and how each kind of
 * client is told. */
#include "tests/backend/api_world.h"

#include <stdlib.h>
#include <string.h>

/* A push of mutations in text; native when `client` is not NULL. */
static const char *push_of(const char *client, const char *mutations)
{
    const char *kedge = client == NULL ? "" : api_format(",\"kedge\":{\"client\":\"%s\"}", client);
    return api_format("{\"profileID\":\"p\",\"clientGroupID\":\"g\"%s,\"mutations\":[%s],"
                      "\"pushVersion\":1,\"schemaVersion\":\"\"}",
                      kedge, mutations);
}

static const char *mutation(const char *client, int id, const char *value)
{
    return api_format("{\"clientID\":\"%s\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
                      "\"collection\":\"docs\",\"id\":\"%s-%d\",\"value\":%s},\"timestamp\":1.5}",
                      client, id, client, id, value);
}

static const char *two(const char *first, const char *second)
{
    return api_format("%s,%s", first, second);
}

static void check_item(api_world *world, const char *id, int value)
{
    api_get(world, api_format("versions/latest/collections/docs/%s", id));
    assert_int_equal(world->response.status, 200);
    assert_int_equal(api_number(world, "value"), value);
}

static void check_no_item(api_world *world, const char *id)
{
    api_get(world, api_format("versions/latest/collections/docs/%s", id));
    assert_response_is(world, 404, "item-not-found");
}

/* ---- what is decided ---- */

static void test_a_replicache_push_is_answered_with_an_empty_object(void **state)
{
    api_world *world = api_world_new();
    assert_int_equal(api_post(world, "push", push_of(NULL, mutation("c1", 1, "1"))), 200);
    assert_string_equal(api_text(world), "{}");
    check_item(world, "c1-1", 1);
    assert_int_equal(api_head(world), 1);
    api_world_free(world);
    (void)state;
}

static void test_a_native_push_tells_the_version_that_covers_it(void **state)
{
    api_world *world = api_world_new();
    assert_int_equal(api_post(world, "push", push_of("c1", mutation("c1", 1, "1"))), 200);
    assert_string_equal(api_text(world), "{\"kedge\":{\"version\":1}}");
    api_post(world, "push", push_of("c1", ""));
    assert_string_equal(api_text(world), "{\"kedge\":{\"version\":1}}");
    api_world_free(world);
    (void)state;
}

static void test_mutations_of_interleaved_clients_are_one_version(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push",
             push_of(NULL, api_format("%s,%s,%s", mutation("c1", 1, "1"), mutation("c2", 1, "2"),
                                      mutation("c1", 2, "3"))));
    assert_string_equal(api_text(world), "{}");
    assert_int_equal(api_head(world), 1);
    api_get(world, "versions/1");
    assert_int_equal(api_count(world, "mutations"), 3);
    assert_string_equal(api_string(world, "mutations.1.client"), "c2");
    assert_int_equal(api_number(world, "mutations.2.id"), 2);
    api_world_free(world);
    (void)state;
}

static void test_a_retry_of_the_same_push_makes_no_version(void **state)
{
    api_world *world = api_world_new();
    const char *push = push_of(NULL, two(mutation("c1", 1, "1"), mutation("c1", 2, "2")));
    for (int times = 0; times < 5; times++) {
        api_post(world, "push", push);
        assert_string_equal(api_text(world), "{}");
        assert_int_equal(api_head(world), 1);
    }
    api_post(world, "push", push_of(NULL, two(mutation("c1", 2, "2"), mutation("c1", 3, "3"))));
    assert_string_equal(api_text(world), "{}");
    assert_int_equal(api_head(world), 2);
    api_get(world, "versions/2");
    assert_int_equal(api_count(world, "mutations"), 1);
    api_world_free(world);
    (void)state;
}

/* The same value in other words has the same canonical JSON. */
static void test_a_retry_in_other_words_is_the_same_mutation(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push",
             push_of(NULL, "{\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{\"id\":"
                           "\"a\",\"value\":1e1,\"collection\":\"docs\"},\"timestamp\":1}"));
    assert_string_equal(api_text(world), "{}");
    api_post(world, "push",
             push_of(NULL,
                     " { \"timestamp\":7, \"args\" : {\"collection\":\"d\\u006fcs\",\"value\":10.0,"
                     "\"id\":\"\\u0061\"},\"id\":1.0,\"name\":\"kedge\\u002eput\","
                     "\"clientID\":\"\\u00631\"}"));
    assert_string_equal(api_text(world), "{}");
    assert_int_equal(api_head(world), 1);
    check_item(world, "a", 10);
    api_world_free(world);
    (void)state;
}

static void test_a_rejected_mutation_blocks_nothing_behind_it(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push",
             push_of(NULL, api_format("%s,%s,%s",
                                      "{\"clientID\":\"c1\",\"id\":1,\"name\":\"no.such.mutator\","
                                      "\"args\":1,\"timestamp\":1}",
                                      "{\"clientID\":\"c1\",\"id\":2,\"name\":\"kedge.put\","
                                      "\"args\":{\"collection\":\"..\"},\"timestamp\":1}",
                                      mutation("c1", 3, "3"))));
    assert_string_equal(api_text(world), "{}");
    check_item(world, "c1-3", 3);
    api_get(world, "clients/c1/mutations/1");
    assert_string_equal(api_string(world, "outcome"), "rejected");
    assert_string_equal(api_string(world, "code"), "mutator-unknown");
    api_get(world, "clients/c1/mutations/2");
    assert_string_equal(api_string(world, "outcome"), "rejected");
    assert_true(api_string(world, "message")[0] != '\0');
    api_get(world, "clients/c1/mutations/3");
    assert_string_equal(api_string(world, "outcome"), "applied");
    api_world_free(world);
    (void)state;
}

#define ORIGIN_PUT(client, origin)                                                                 \
    "{\"clientID\":\"" client "\",\"id\":1,\"name\":\"kedge.put\",\"args\":{\"collection\":"       \
    "\"docs\",\"id\":\"a\",\"value\":1},\"timestamp\":1,"                                          \
    "\"uid\":\"0123456789abcdef0123456789abcdef\"" origin "}"

static void test_an_origin_is_applied_once(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push", push_of("c1", ORIGIN_PUT("c1", "")));
    assert_response_is(world, 200, "");
    api_post(world, "push",
             push_of("c2", ORIGIN_PUT("c2", ",\"origin\":{\"client\":\"c1\",\"id\":1}")));
    assert_response_is(world, 200, "");
    api_get(world, "clients/c2/mutations/1");
    assert_string_equal(api_string(world, "outcome"), "duplicate");
    assert_string_equal(api_string(world, "origin.client"), "c1");
    assert_int_equal(api_number(world, "origin.id"), 1);
    api_world_free(world);
    (void)state;
}

/* ---- what is refused ---- */

static void test_the_same_id_with_another_digest_is_an_error(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push", push_of(NULL, mutation("c1", 1, "1")));
    api_post(world, "push", push_of(NULL, mutation("c1", 1, "2")));
    assert_response_is(world, 200, "");
    assert_string_equal(api_text(world), "{\"error\":\"ClientStateNotFound\"}");
    api_post(world, "push", push_of("c1", mutation("c1", 1, "2")));
    assert_response_is(world, 409, "mutation-mismatch");
    check_item(world, "c1-1", 1);
    assert_int_equal(api_head(world), 1);
    api_world_free(world);
    (void)state;
}

static void test_nothing_behind_a_gap_is_applied_but_other_clients_are(void **state)
{
    api_world *world = api_world_new();
    const char *push = api_format("%s,%s,%s,%s", mutation("c1", 1, "1"), mutation("c1", 3, "3"),
                                  mutation("c1", 4, "4"), mutation("c2", 1, "5"));
    api_post(world, "push", push_of(NULL, push));
    assert_response_is(world, 409, "mutation-gap");
    check_item(world, "c1-1", 1);
    check_no_item(world, "c1-3");
    check_no_item(world, "c1-4");
    check_item(world, "c2-1", 5);
    api_post(world, "push", push_of("c1", push));
    assert_response_is(world, 409, "mutation-gap");
    assert_int_equal(api_head(world), 1);
    api_world_free(world);
    (void)state;
}

static void test_an_unknown_client_must_start_with_its_first_mutation(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push", push_of(NULL, two(mutation("c1", 2, "1"), mutation("c2", 1, "2"))));
    assert_response_is(world, 200, "");
    assert_string_equal(api_text(world), "{\"error\":\"ClientStateNotFound\"}");
    check_no_item(world, "c1-2");
    check_item(world, "c2-1", 2);
    api_post(world, "push", push_of("c1", mutation("c1", 2, "1")));
    assert_response_is(world, 409, "client-unknown");
    api_world_free(world);
    (void)state;
}

static void test_a_retired_client_pushes_no_more(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push", push_of("c1", mutation("c1", 1, "1")));
    api_post(world, "clients/c1/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":1}");
    assert_response_is(world, 200, "");
    api_post(world, "push", push_of("c1", mutation("c1", 2, "2")));
    assert_response_is(world, 409, "client-retired");
    api_post(world, "push", push_of(NULL, mutation("c1", 2, "2")));
    assert_string_equal(api_text(world), "{\"error\":\"ClientStateNotFound\"}");
    check_no_item(world, "c1-2");
    api_world_free(world);
    (void)state;
}

static void test_a_client_of_another_user_or_group_is_as_if_it_did_not_exist(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push", push_of("c1", mutation("c1", 1, "1")));
    api_post_as(world, &bob, "push", push_of("c1", mutation("c1", 2, "2")));
    assert_response_is(world, 404, "client-not-found");
    assert_null(strstr(api_text(world), "ann"));
    api_post_as(world, &bob, "push", push_of(NULL, mutation("c1", 2, "2")));
    assert_string_equal(api_text(world), "{\"error\":\"ClientStateNotFound\"}");
    api_post(world, "push",
             "{\"pushVersion\":1,\"clientGroupID\":\"other\",\"kedge\":{\"client\":\"c1\"},"
             "\"mutations\":[{\"clientID\":\"c1\",\"id\":2,\"name\":\"kedge.noop\",\"args\":null,"
             "\"timestamp\":1}]}");
    assert_response_is(world, 404, "client-not-found");
    assert_int_equal(api_head(world), 1);
    api_world_free(world);
    (void)state;
}

static void test_another_push_version_is_told_as_unsupported(void **state)
{
    static const char *const versions[] = {"0", "2", "1.5", "-1", "1e99"};
    api_world *world = api_world_new();
    for (size_t at = 0; at < sizeof versions / sizeof versions[0]; at++) {
        api_post(world, "push", api_format("{\"pushVersion\":%s}", versions[at]));
        assert_response_is(world, 200, "");
        assert_string_equal(api_text(world),
                            "{\"error\":\"VersionNotSupported\",\"versionType\":\"push\"}");
    }
    api_world_free(world);
    (void)state;
}

/* ---- caps ---- */

/* A push with `count` mutations of c1; `kedge` in front as native clients write it. */
static kedge_buffer large_push(bool native, int count, size_t value_bytes)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&text, "{\"clientGroupID\":\"g\",");
    if (native) kedge_buffer_append_text(&text, "\"kedge\":{\"client\":\"c1\"},");
    kedge_buffer_append_text(&text, "\"mutations\":[");
    for (int id = 1; id <= count; id++) {
        kedge_buffer_append_format(&text,
                                   "%s{\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\","
                                   "\"args\":{\"collection\":\"docs\",\"id\":\"a\",\"value\":\"",
                                   id == 1 ? "" : ",", id);
        for (size_t byte = 0; byte < value_bytes; byte++)
            kedge_buffer_append_byte(&text, 'v');
        kedge_buffer_append_text(&text, "\"},\"timestamp\":1}");
    }
    kedge_buffer_append_text(&text, "],\"pushVersion\":1}");
    return text;
}

static void test_a_push_of_ten_thousand_mutations_is_decided_whole(void **state)
{
    api_world *world = api_world_new();
    kedge_buffer push = large_push(true, 10000, 1);
    assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                             kedge_buffer_bytes(&push)),
                     200);
    api_get(world, "clients/c1/mutations/latest");
    assert_int_equal(api_number(world, "id"), 10000);
    kedge_buffer_free(&push);
    api_world_free(world);
    (void)state;
}

static void test_of_more_than_ten_thousand_mutations_the_first_are_decided(void **state)
{
    api_world *world = api_world_new();
    kedge_buffer push = large_push(false, 10001, 1);
    api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push", kedge_buffer_bytes(&push));
    assert_response_is(world, 503, "push-too-large");
    assert_true(world->response.retry_after_s > 0);
    api_get(world, "clients/c1/mutations/latest");
    assert_int_equal(api_number(world, "id"), 10000);
    kedge_buffer_free(&push);
    api_world_free(world);
    (void)state;
}

static void test_of_origins_of_more_than_64_clients_the_first_are_decided(void **state)
{
    api_world *world = api_world_new();
    kedge_buffer list = kedge_buffer_make(&kedge_allocator_default);
    for (int id = 1; id <= 70; id++) {
        kedge_buffer_append_format(&list,
                                   "%s{\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.noop\","
                                   "\"args\":null,\"timestamp\":1,"
                                   "\"uid\":\"0123456789abcdef0123456789abcdef\","
                                   "\"origin\":{\"client\":\"o%d\",\"id\":1}}",
                                   id == 1 ? "" : ",", id, id);
    }
    kedge_buffer push = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&push,
                               "{\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},"
                               "\"pushVersion\":1,\"mutations\":[%.*s]}",
                               (int)list.size, list.data);
    api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push", kedge_buffer_bytes(&push));
    assert_response_is(world, 503, "push-too-large");
    assert_true(world->response.retry_after_s > 0);
    assert_non_null(strstr(api_string(world, "detail"), "the first 64 mutations"));
    api_get(world, "clients/c1/mutations/latest");
    assert_int_equal(api_number(world, "id"), 64);
    kedge_buffer_free(&list);
    kedge_buffer_free(&push);
    api_world_free(world);
    (void)state;
}

static void test_a_user_whose_name_is_too_long_is_refused(void **state)
{
    api_world *world = api_world_new();
    char name[257];
    memset(name, 'u', sizeof name);
    kedge_identity who = ann;
    who.user = name;
    name[256] = '\0';
    api_post_as(world, &who, "push", push_of("c1", mutation("c1", 1, "1")));
    assert_response_is(world, 403, "user-too-long");
    api_post_as(world, &who, "clients/c1/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":1}");
    assert_response_is(world, 403, "user-too-long");
    assert_int_equal(api_head(world), 0);
    name[255] = '\0';
    api_post_as(world, &who, "push", push_of("c1", mutation("c1", 1, "1")));
    assert_response_is(world, 200, "");
    api_world_free(world);
    (void)state;
}

static void test_a_value_that_was_cut_off_itself_is_not_read(void **state)
{
    static const char *const tails[] = {"\"pushVersion\":2", "\"other\":tru", "\"other\":-",
                                        "\"profileID\":7", "\"kedge\":nul"};
    for (size_t at = 0; at < sizeof tails / sizeof tails[0]; at++) {
        api_world *world = api_world_new();
        world->truncated = true;
        api_post(world, "push",
                 api_format("{\"clientGroupID\":\"g\",\"mutations\":[%s],%s",
                            mutation("c1", 1, "1"), tails[at]));
        assert_response_is(world, 503, "push-too-large");
        world->truncated = false;
        check_item(world, "c1-1", 1);
        api_world_free(world);
    }
    (void)state;
}

static void test_a_cut_body_without_its_group_in_front_is_too_large(void **state)
{
    api_world *world = api_world_new();
    world->truncated = true;
    api_post(world, "push",
             "{\"mutations\":[{\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"args\":null,"
             "\"timestamp\":1},{\"clientID\":");
    assert_response_is(world, 413, "body-too-large");
    api_post(world, "pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null}");
    assert_response_is(world, 413, "body-too-large");
    world->truncated = false;
    assert_int_equal(api_head(world), 0);
    api_world_free(world);
    (void)state;
}

static void test_a_problem_of_a_cut_push_is_told_before_its_size(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "push", push_of("c1", mutation("c1", 1, "1")));
    world->truncated = true;
    api_post(world, "push",
             "{\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},\"mutations\":["
             "{\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"args\":null,"
             "\"timestamp\":1},{\"clientID\":");
    assert_response_is(world, 409, "mutation-mismatch");
    world->truncated = false;
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replicache_push_is_answered_with_an_empty_object),
        cmocka_unit_test(test_a_native_push_tells_the_version_that_covers_it),
        cmocka_unit_test(test_mutations_of_interleaved_clients_are_one_version),
        cmocka_unit_test(test_a_retry_of_the_same_push_makes_no_version),
        cmocka_unit_test(test_a_retry_in_other_words_is_the_same_mutation),
        cmocka_unit_test(test_a_rejected_mutation_blocks_nothing_behind_it),
        cmocka_unit_test(test_an_origin_is_applied_once),
        cmocka_unit_test(test_the_same_id_with_another_digest_is_an_error),
        cmocka_unit_test(test_nothing_behind_a_gap_is_applied_but_other_clients_are),
        cmocka_unit_test(test_an_unknown_client_must_start_with_its_first_mutation),
        cmocka_unit_test(test_a_retired_client_pushes_no_more),
        cmocka_unit_test(test_a_client_of_another_user_or_group_is_as_if_it_did_not_exist),
        cmocka_unit_test(test_another_push_version_is_told_as_unsupported),
        cmocka_unit_test(test_a_push_of_ten_thousand_mutations_is_decided_whole),
        cmocka_unit_test(test_of_more_than_ten_thousand_mutations_the_first_are_decided),
        cmocka_unit_test(test_of_origins_of_more_than_64_clients_the_first_are_decided),
        cmocka_unit_test(test_a_user_whose_name_is_too_long_is_refused),
        cmocka_unit_test(test_a_value_that_was_cut_off_itself_is_not_read),
        cmocka_unit_test(test_a_cut_body_without_its_group_in_front_is_too_large),
        cmocka_unit_test(test_a_problem_of_a_cut_push_is_told_before_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
