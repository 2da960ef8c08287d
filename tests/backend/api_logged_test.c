/* Log projects over the API: pushes append, pulls give entries, retries and renumbered mutations
 * are appended once, and what is not for log projects is refused. */
#include "tests/backend/api_world.h"

#include <stdlib.h>
#include <string.h>

#include "wire/push_mutation.h"

#define BASE "/v1/orgs/acme/projects/sheet"
#define ZERO "00000000000000000000000000000000"

static int ask_as(api_world *world, const kedge_identity *who, const char *method, const char *path,
                  const char *body)
{
    return api_ask(world, who, method, api_format(BASE "%s", path), kedge_bytes_of(body));
}

static int ask(api_world *world, const char *method, const char *path, const char *body)
{
    return ask_as(world, &ann, method, path, body);
}

static api_world *new_world(void)
{
    api_world *world = api_world_new();
    assert_int_equal(ask(world, "PUT", "", "{\"kind\":\"log\"}"), 201);
    assert_string_equal(api_string(world, "kind"), "log");
    assert_int_equal(api_number(world, "version"), 0);
    return world;
}

static const char *mutation(const char *client, int id, const char *name, const char *args)
{
    return api_format("{\"clientID\":\"%s\",\"id\":%d,\"name\":\"%s\",\"args\":%s,"
                      "\"timestamp\":7,\"version\":2}",
                      client, id, name, args);
}

static int push(api_world *world, const char *client, const char *mutations)
{
    return ask(world, "POST", "/push",
               api_format("{\"pushVersion\":1,\"clientGroupID\":\"%s\",\"mutations\":[%s],"
                          "\"kedge\":{\"client\":\"%s\"}}",
                          client, mutations, client));
}

static int64_t put(api_world *world, const char *client, int id)
{
    push(world, client, mutation(client, id, "cell.set", api_format("{\"a\":%d}", id)));
    assert_response_is(world, 200, "");
    return api_number(world, "kedge.version");
}

static void pull(api_world *world, const char *client, const char *cookie)
{
    ask(world, "POST", "/pull",
        api_format("{\"pullVersion\":1,\"clientGroupID\":\"%s\",\"cookie\":%s,\"kedge\":{"
                   "\"client\":\"%s\",\"lowest_pending\":1,\"highest_id\":9}}",
                   client, cookie, client));
}

static void test_a_push_is_appended_and_pulled_as_an_entry(void **state)
{
    api_world *world = new_world();
    (void)state;
    push(world, "c1",
         api_format("%s,%s", mutation("c1", 1, "cell.set", "{\"b\":1,\"a\":2}"),
                    mutation("c1", 2, "kedge.noop", "null")));
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "kedge.version"), 1);
    pull(world, "c1", "null");
    assert_response_is(world, 200, "");
    assert_string_equal(api_patch(world), "[]");
    assert_int_equal(api_number(world, "kedge.from"), 0);
    assert_int_equal(api_number(world, "kedge.version"), 1);
    assert_int_equal(api_number(world, "cookie.order"), 1);
    assert_int_equal(api_number(world, "kedge.lmid"), 2);
    assert_true(cJSON_IsTrue(api_at(world, "kedge.known")));
    assert_int_equal(api_count(world, "kedge.outcomes"), 0);
    assert_true(cJSON_IsFalse(api_at(world, "kedge.log.more")));
    assert_int_equal(api_count(world, "kedge.log.entries"), 1);
    assert_int_equal(api_number(world, "kedge.log.entries.0.version"), 1);
    assert_int_equal(api_count(world, "kedge.log.entries.0.mutations"), 2);
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.0.client"), "c1");
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.0.name"), "cell.set");
    assert_int_equal(api_number(world, "kedge.log.entries.0.mutations.0.mutator"), 2);
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.0.user"), "ann");
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.0.role"), "member");
    assert_int_equal(api_number(world, "kedge.log.entries.0.mutations.0.args.b"), 1);
    assert_null(api_at(world, "kedge.log.entries.0.mutations.0.outcome"));
    api_world_free(world);
}

static void test_a_pull_goes_on_from_its_cookie(void **state)
{
    api_world *world = new_world();
    (void)state;
    put(world, "c1", 1);
    pull(world, "c1", "null");
    const char *first = api_cookie(world);
    pull(world, "c1", first);
    assert_int_equal(api_number(world, "kedge.version"), 1);
    assert_int_equal(api_count(world, "kedge.log.entries"), 0);
    put(world, "c2", 1);
    put(world, "c1", 2);
    pull(world, "c1", first);
    assert_int_equal(api_number(world, "kedge.from"), 1);
    assert_int_equal(api_number(world, "kedge.version"), 3);
    assert_int_equal(api_number(world, "kedge.lmid"), 2);
    assert_int_equal(api_count(world, "kedge.log.entries"), 2);
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.0.client"), "c2");
    assert_true(cJSON_IsFalse(api_at(world, "kedge.lost")));
    api_world_free(world);
}

static void test_a_cookie_of_another_history_is_lost(void **state)
{
    api_world *world = new_world();
    (void)state;
    put(world, "c1", 1);
    put(world, "c1", 2);
    for (int order = 0; order <= 3; order++) {
        pull(world, "c1", api_format("{\"order\":%d,\"lineage\":\"" ZERO "\"}", order));
        assert_response_is(world, 200, "");
        assert_true(cJSON_IsTrue(api_at(world, "kedge.lost")));
        assert_int_equal(api_number(world, "kedge.from"), 0);
        assert_int_equal(api_count(world, "kedge.log.entries"), 2);
    }
    api_world_free(world);
}

static void test_a_push_that_is_repeated_is_appended_once(void **state)
{
    api_world *world = new_world();
    (void)state;
    for (int id = 1; id <= 3; id++)
        put(world, "c1", id);
    api_world_restart(world);
    for (int id = 1; id <= 3; id++) {
        put(world, "c1", id);
        assert_int_equal(api_number(world, "kedge.version"), 3);
    }
    push(world, "c1", mutation("c1", 2, "cell.set", "{\"other\":1}"));
    assert_response_is(world, 409, "mutation-mismatch");
    push(world, "c1", mutation("c1", 5, "cell.set", "{}"));
    assert_response_is(world, 409, "mutation-gap");
    push(world, "c7", mutation("c7", 2, "cell.set", "{}"));
    assert_response_is(world, 409, "client-unknown");
    api_world_free(world);
}

/* Behind 64 versions the runs are found in the index rows. */
static void test_a_retry_long_after_finds_itself(void **state)
{
    api_world *world = new_world();
    (void)state;
    put(world, "old", 1);
    for (int id = 1; id <= 150; id++)
        put(world, "c1", id);
    api_world_restart(world);
    assert_int_equal(put(world, "old", 1), 151);
    assert_int_equal(put(world, "c1", 3), 151);
    assert_int_equal(put(world, "old", 2), 152);
    pull(world, "old", "null");
    assert_int_equal(api_number(world, "kedge.lmid"), 2);
    api_world_free(world);
}

static void test_a_retired_client_appends_nothing_more(void **state)
{
    api_world *world = new_world();
    (void)state;
    put(world, "c1", 1);
    for (int time = 0; time < 2; time++) {
        ask(world, "POST", "/clients/c1/retire",
            "{\"clientGroupID\":\"c1\",\"lowest_pending\":1,\"earlier\":[]}");
        assert_response_is(world, 200, "");
        assert_int_equal(api_number(world, "version"), 2);
        assert_int_equal(api_number(world, "lmid"), 1);
        assert_int_equal(api_count(world, "outcomes"), 0); /* each replay decides it */
    }
    push(world, "c1", mutation("c1", 2, "cell.set", "{}"));
    assert_response_is(world, 409, "client-retired");
    pull(world, "c1", "null");
    assert_true(cJSON_IsTrue(api_at(world, "kedge.retired")));
    assert_int_equal(api_number(world, "kedge.version"), 2);
    assert_int_equal(api_count(world, "kedge.log.entries"), 1);
    api_world_free(world);
}

static void test_a_renumbered_mutation_is_a_duplicate(void **state)
{
    api_world *world = new_world();
    (void)state;
    put(world, "c1", 1);
    push(world, "c2",
         "{\"clientID\":\"c2\",\"id\":1,\"name\":\"cell.set\",\"args\":{\"a\":1},\"timestamp\":7,"
         "\"origin\":{\"client\":\"c1\",\"id\":1}}");
    assert_response_is(world, 200, "");
    pull(world, "c2", "null");
    int last = api_count(world, "kedge.log.entries") - 1;
    assert_string_equal(
        api_string(world, api_format("kedge.log.entries.%d.mutations.0.outcome", last)),
        "duplicate");
    assert_string_equal(
        api_string(world, api_format("kedge.log.entries.%d.mutations.0.origin.client", last)),
        "c1");
    api_world_free(world);
}

static void test_what_cannot_be_run_is_rejected_in_the_entry(void **state)
{
    api_world *world = new_world();
    (void)state;
    push(world, "c1",
         api_format("%s,%s,%s", mutation("c1", 1, "kedge.unheard-of", "{}"),
                    mutation("c1", 2, "not a name", "{}"),
                    "{\"clientID\":\"c1\",\"id\":3,\"name\":7}"));
    assert_response_is(world, 200, "");
    pull(world, "c1", "null");
    static const char *const codes[] = {"mutator-unknown", "mutator-unknown", "mutation-invalid"};
    for (int i = 0; i < 3; i++) {
        const char *at = api_format("kedge.log.entries.0.mutations.%d", i);
        assert_string_equal(api_string(world, api_format("%s.outcome", at)), "rejected");
        assert_string_equal(api_string(world, api_format("%s.code", at)), codes[i]);
    }
    api_world_free(world);
}

static void test_a_batch_is_appended_unless_one_of_its_mutations_can_never_be_run(void **state)
{
    api_world *world = new_world();
    (void)state;
    push(world, "c1",
         api_format("%s,%s",
                    mutation("c1", 1, "kedge.batch",
                             "{\"mutations\":[{\"name\":\"cell.set\",\"version\":2}]}"),
                    mutation("c1", 2, "kedge.batch",
                             "{\"mutations\":[{\"name\":\"cell.set\"},"
                             "{\"name\":\"kedge.unheard-of\"}]}")));
    assert_response_is(world, 200, "");
    pull(world, "c1", "null");
    assert_null(api_at(world, "kedge.log.entries.0.mutations.0.outcome"));
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.1.outcome"), "rejected");
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.1.code"),
                        "mutator-unknown");
    api_world_free(world);
}

static void test_args_as_deep_as_they_may_be_come_back(void **state)
{
    char args[129] = {0};
    api_world *world = new_world();
    (void)state;
    memset(args, '[', 64);
    memset(args + 64, ']', 64);
    push(world, "c1", mutation("c1", 1, "cell.set", args));
    assert_response_is(world, 200, "");
    api_world_restart(world);
    pull(world, "c1", "null");
    assert_non_null(strstr(api_text(world), args));
    api_world_free(world);
}

static void test_what_is_not_for_log_projects_is_refused(void **state)
{
    static const struct {
        const char *method, *path, *body;
    } cases[] = {{"GET", "/versions", ""},
                 {"GET", "/versions/latest", ""},
                 {"GET", "/versions/1/collections/c", ""},
                 {"GET", "/versions/1/collections/c/i", ""},
                 {"POST", "/fork", "{\"version\":1,\"to\":\"copy\"}"},
                 {"POST", "/rebase",
                  "{\"from_project\":\"notes\",\"from_version\":1,\"to_version\":1,\"job\":\"j\"}"},
                 {"POST", "/push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[]}"},
                 {"POST", "/pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null}"},
                 {"PUT", "", "{\"kind\":\"versions\"}"}};
    api_world *world = new_world();
    (void)state;
    put(world, "c1", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ask_as(world, &root, cases[i].method, cases[i].path, cases[i].body);
        assert_response_is(world, 409, "project-kind");
    }
    ask_as(world, &root, "POST", "/logs/mutations/entries", "{\"type\":\"x\",\"version\":1}");
    assert_response_is(world, 409, "log-reserved");
    assert_int_equal(ask(world, "PUT", "", ""), 200);
    assert_string_equal(api_string(world, "kind"), "log");
    api_world_free(world);
}

static void test_the_kind_of_a_project_is_told(void **state)
{
    api_world *world = new_world();
    (void)state;
    ask(world, "PUT", "", "{\"kind\":\"other\"}");
    assert_response_is(world, 400, "body-invalid");
    api_ask(world, &ann, "GET", "/v1/orgs/acme/projects", KEDGE_BYTES(""));
    assert_string_equal(api_string(world, "projects.0.kind"), "versions");
    assert_string_equal(api_string(world, "projects.1.kind"), "log");
    api_get(world, "../notes");
    api_ask(world, &ann, "GET", "/v1/orgs/acme/projects/notes", KEDGE_BYTES(""));
    assert_string_equal(api_string(world, "kind"), "versions");
    api_ask(world, &ann, "PUT", "/v1/orgs/acme/projects/notes", KEDGE_BYTES("{\"kind\":\"log\"}"));
    assert_response_is(world, 409, "project-kind");
    api_ask(world, &ann, "GET", "/v1/orgs/acme/projects/notes/logs", KEDGE_BYTES(""));
    assert_response_is(world, 200, "");
    assert_int_equal(api_count(world, "logs"), 0); /* what was refused has left no log */
    api_world_free(world);
}

static void test_a_mutation_is_found_by_its_client_and_id(void **state)
{
    api_world *world = new_world();
    (void)state;
    for (int id = 1; id <= 70; id++)
        put(world, "c1", id);
    ask(world, "GET", "/clients/c1/mutations/2", "");
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "version"), 2);
    assert_string_equal(api_string(world, "name"), "cell.set");
    api_world_free(world);
}

/* ---- snapshots ---- */

static void make_snapshot(api_world *world, int64_t version)
{
    ask_as(world, &root, "POST", "/snapshot", "");
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "version"), version);
}

static void push_put(api_world *world, const char *client, int id, const char *item,
                     const char *value)
{
    push(world, client,
         api_format("{\"clientID\":\"%s\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
                    "\"collection\":\"d\",\"id\":\"%s\",\"value\":%s},\"timestamp\":7}",
                    client, id, item, value));
    assert_response_is(world, 200, "");
}

static void push_patch(api_world *world, const char *client, int id, const char *item)
{
    push(world, client,
         api_format("{\"clientID\":\"%s\",\"id\":%d,\"name\":\"kedge.patch\",\"args\":{"
                    "\"collection\":\"d\",\"id\":\"%s\",\"patch\":[]},\"timestamp\":7}",
                    client, id, item));
    assert_response_is(world, 200, "");
}

static void test_a_first_pull_starts_from_the_snapshot(void **state)
{
    api_world *world = new_world();
    (void)state;
    push_put(world, "c1", 1, "a", "1");
    push_patch(world, "c1", 2, "nothing");
    push_put(world, "c1", 3, "b", "[2]");
    make_snapshot(world, 3);
    push_put(world, "c1", 4, "a", "4");
    api_world_restart(world);
    pull(world, "c1", "null");
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "kedge.from"), 0);
    assert_int_equal(api_number(world, "kedge.version"), 3);
    assert_int_equal(api_number(world, "kedge.snapshot.version"), 3);
    assert_int_equal(api_number(world, "kedge.lmid"), 3);
    assert_int_equal(api_count(world, "kedge.log.entries"), 0);
    assert_true(cJSON_IsTrue(api_at(world, "kedge.log.more")));
    const char *hash = api_format("%s", api_string(world, "kedge.log.hash"));
    assert_int_equal(strlen(hash), 64);
    assert_int_equal(api_count(world, "kedge.outcomes"), 3);
    assert_string_equal(api_string(world, "kedge.outcomes.0.outcome"), "applied");
    assert_string_equal(api_string(world, "kedge.outcomes.1.outcome"), "rejected");
    assert_string_equal(api_string(world, "kedge.outcomes.1.code"), "item-not-found");
    const char *cookie = api_cookie(world);
    const char *lineage = api_format("%s", api_string(world, "kedge.lineage"));
    ask(world, "GET", "/snapshot?version=3", "");
    assert_response_is(world, 200, "");
    assert_string_equal(api_string(world, "lineage"), lineage);
    assert_int_equal(api_count(world, "items"), 2);
    assert_string_equal(api_string(world, "items.0.key"), "d/a");
    assert_int_equal(api_number(world, "items.0.value"), 1);
    ask(world, "GET", "/snapshot?version=2", "");
    assert_response_is(world, 410, "version-gone");
    pull(world, "c1", cookie);
    assert_int_equal(api_number(world, "kedge.from"), 3);
    assert_int_equal(api_number(world, "kedge.version"), 4);
    assert_null(api_at(world, "kedge.log.hash"));
    ask(world, "GET", "/clients/c1/mutations?version=3", "");
    assert_string_equal(api_string(world, "outcomes.1.outcome"), "rejected");
    api_world_free(world);
}

static void test_a_pull_ends_at_a_snapshot_and_tells_its_hash(void **state)
{
    api_world *world = new_world();
    (void)state;
    push_put(world, "c1", 1, "a", "1");
    pull(world, "c1", "null");
    const char *cookie = api_cookie(world);
    push_put(world, "c1", 2, "a", "2");
    make_snapshot(world, 2);
    push_put(world, "c1", 3, "a", "3");
    pull(world, "c1", cookie);
    assert_int_equal(api_number(world, "kedge.version"), 2);
    assert_int_equal(api_number(world, "kedge.lmid"), 2);
    assert_true(cJSON_IsNull(api_at(world, "kedge.snapshot")));
    assert_int_equal(api_count(world, "kedge.log.entries"), 1);
    assert_true(cJSON_IsTrue(api_at(world, "kedge.log.more")));
    /* hashlib.sha256(struct.pack("<I", 3) + b"d/a" + struct.pack("<I", 1) + b"2") */
    assert_string_equal(api_string(world, "kedge.log.hash"),
                        "dbf8b5d73548ded0e9e58a7a14394c74e38f24e5af6a63967f199701e85e485b");
    pull(world, "c1", api_cookie(world));
    assert_int_equal(api_number(world, "kedge.version"), 3);
    assert_true(cJSON_IsFalse(api_at(world, "kedge.log.more")));
    api_world_free(world);
}

/* The entries are the truth: they come without the snapshot, and without its hash. */
static void test_a_snapshot_that_is_damaged_keeps_nobody_from_the_entries(void **state)
{
    (void)state;
    for (int damages = 0; damages <= 1; damages++) {
        api_world *world = new_world();
        push_put(world, "c1", 1, "a", "1");
        pull(world, "c1", "null");
        const char *cookie = api_cookie(world);
        push_put(world, "c1", 2, "a", "2");
        make_snapshot(world, 2);
        push_put(world, "c1", 3, "a", "3");
        api_world_lose_blobs(world, "acme/projects/sheet/versions/", damages == 1);
        pull(world, "c1", cookie);
        assert_response_is(world, 200, "");
        assert_int_equal(api_number(world, "kedge.version"), 2);
        assert_null(api_at(world, "kedge.log.hash"));
        assert_int_equal(world->background_failures[KEDGE_BACKGROUND_LOG_SNAPSHOTS], 1);
        pull(world, "c1", api_cookie(world));
        assert_int_equal(api_number(world, "kedge.version"), 3);
        pull(world, "c2", "null");
        assert_response_is(world, 200, "");
        assert_true(cJSON_IsNull(api_at(world, "kedge.snapshot")));
        assert_int_equal(api_number(world, "kedge.from"), 0);
        assert_int_equal(api_number(world, "kedge.version"), 2);
        assert_int_equal(api_count(world, "kedge.log.entries"), 2);
        pull(world, "c2", api_cookie(world));
        assert_int_equal(api_number(world, "kedge.version"), 3);
        make_snapshot(world, 3);
        pull(world, "c3", "null");
        assert_int_equal(api_number(world, "kedge.snapshot.version"), 3);
        api_world_free(world);
    }
}

static void test_a_response_is_bounded(void **state)
{
    static char args[200001];
    api_world *world = new_world();
    int entries = 0;
    int pulls = 0;
    const char *cookie = "null";
    (void)state;
    memset(args, 'x', 200000);
    args[0] = args[199999] = '"';
    for (int id = 1; id <= 30; id++) {
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer_append_format(&body,
                                   "{\"pushVersion\":1,\"clientGroupID\":\"c1\",\"mutations\":[{"
                                   "\"clientID\":\"c1\",\"id\":%d,\"name\":\"cell.import\","
                                   "\"args\":%s,\"timestamp\":1}],\"kedge\":{\"client\":\"c1\"}}",
                                   id, args);
        assert_int_equal(api_ask(world, &ann, "POST", BASE "/push", kedge_buffer_bytes(&body)),
                         200);
        kedge_buffer_free(&body);
    }
    do {
        pull(world, "c1", cookie);
        assert_response_is(world, 200, "");
        assert_true(world->response.body.size < 4400000);
        entries += api_count(world, "kedge.log.entries");
        assert_int_equal(api_number(world, "kedge.version"), entries);
        assert_int_equal(api_number(world, "kedge.lmid"), entries);
        cookie = api_cookie(world);
        pulls++;
    } while (cJSON_IsTrue(api_at(world, "kedge.log.more")));
    assert_int_equal(entries, 30);
    assert_int_equal(pulls, 2);
    api_world_free(world);
}

static void test_only_an_admin_makes_a_snapshot_and_only_of_a_log(void **state)
{
    api_world *world = new_world();
    (void)state;
    ask(world, "POST", "/snapshot", "");
    assert_response_is(world, 403, "not-allowed");
    api_ask(world, &root, "POST", "/v1/orgs/acme/projects/notes/snapshot", KEDGE_BYTES(""));
    assert_response_is(world, 409, "project-kind");
    put(world, "c1", 1); /* of a mutator that this server does not have */
    ask_as(world, &root, "POST", "/snapshot", "");
    assert_response_is(world, 409, "update-required");
    api_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_push_is_appended_and_pulled_as_an_entry),
        cmocka_unit_test(test_a_pull_goes_on_from_its_cookie),
        cmocka_unit_test(test_a_cookie_of_another_history_is_lost),
        cmocka_unit_test(test_a_push_that_is_repeated_is_appended_once),
        cmocka_unit_test(test_a_retry_long_after_finds_itself),
        cmocka_unit_test(test_a_retired_client_appends_nothing_more),
        cmocka_unit_test(test_a_renumbered_mutation_is_a_duplicate),
        cmocka_unit_test(test_what_cannot_be_run_is_rejected_in_the_entry),
        cmocka_unit_test(test_a_batch_is_appended_unless_one_of_its_mutations_can_never_be_run),
        cmocka_unit_test(test_args_as_deep_as_they_may_be_come_back),
        cmocka_unit_test(test_what_is_not_for_log_projects_is_refused),
        cmocka_unit_test(test_the_kind_of_a_project_is_told),
        cmocka_unit_test(test_a_mutation_is_found_by_its_client_and_id),
        cmocka_unit_test(test_a_first_pull_starts_from_the_snapshot),
        cmocka_unit_test(test_a_pull_ends_at_a_snapshot_and_tells_its_hash),
        cmocka_unit_test(test_a_snapshot_that_is_damaged_keeps_nobody_from_the_entries),
        cmocka_unit_test(test_a_response_is_bounded),
        cmocka_unit_test(test_only_an_admin_makes_a_snapshot_and_only_of_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
