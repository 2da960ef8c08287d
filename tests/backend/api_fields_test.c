/* Every field of every request with everything that it must not be: each response is the documented
 * one, and nothing is applied by half. */
#include "tests/backend/api_world.h"

#include <kedge/limits.h>

#include <stdlib.h>
#include <string.h>

/* What a field may be given, as raw JSON or what is none. */
static const char *const values[] = {
    "null",
    "true",
    "0",
    "-1",
    "1",
    "1.5",
    "9007199254740992",
    "1e400",
    "-0",
    "\"\"",
    "\"a b\"",
    "\"../x\"",
    "\"__proto__\"",
    "\"c1\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"a\\u0000b\"",
    "\"\xff\xfe\"",
    "\"\xed\xa0\x80\"",
    "\"\t\"",
    "{}",
    "[]",
    "{\"__proto__\":{\"a\":1}}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"\\u0061\":2}",
    "{\"a\":\"\\udc00\"}",
    "[1,]",
    "[1 2]",
    "{\"a\"}",
    "{,}",
    "nul",
    "tru",
    "01",
    "+1",
    "NaN",
    ".5",
    "'x'",
    "x",
};

#define VALUE_COUNT (sizeof values / sizeof values[0])

/* `depth` nested arrays. */
static const char *deep(size_t depth)
{
    static char text[4096];
    assert_true(2 * depth < sizeof text);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    text[2 * depth] = '\0';
    return text;
}

static const char *huge(size_t size)
{
    static char text[200000];
    assert_true(size + 3 < sizeof text);
    memset(text, 'h', size + 2);
    text[0] = text[size + 1] = '"';
    text[size + 2] = '\0';
    return text;
}

typedef struct field {
    const char *path;  /* where the request goes */
    const char *front; /* the text in front of the value, and after it */
    const char *back;
} field;

static int ask_field(api_world *world, const field *place, const char *value)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&body, place->front);
    kedge_buffer_append_text(&body, value);
    kedge_buffer_append_text(&body, place->back);
    int status =
        api_ask(world, &ann, "POST", api_format("/v1/orgs/acme/projects/notes/%s", place->path),
                kedge_buffer_bytes(&body));
    kedge_buffer_free(&body);
    return status;
}

/* ---- around the mutations ---- */

#define MUTATION                                                                                   \
    "{\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{\"collection\":\"d\","         \
    "\"id\":\"a\",\"value\":1},\"timestamp\":1}"

static const field envelope_fields[] = {
    {"push", "{\"pushVersion\":", ",\"clientGroupID\":\"g\",\"mutations\":[" MUTATION "]}"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":", ",\"mutations\":[" MUTATION "]}"},
    {"push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"profileID\":", ",\"mutations\":[" MUTATION "]}"},
    {"push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[" MUTATION "],\"schemaVersion\":",
     "}"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":", "}"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[" MUTATION ",", "]}"},
    {"push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":", ",\"mutations\":[" MUTATION "]}"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":",
     "},\"mutations\":[" MUTATION "]}"},
    {"push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"other\":", ",\"mutations\":[" MUTATION "]}"},
    {"push", "", ""},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[" MUTATION "]}", ""},
    {"pull", "{\"pullVersion\":", ",\"clientGroupID\":\"g\",\"cookie\":null}"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":", ",\"cookie\":null}"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":", "}"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":{\"order\":",
     ",\"lineage\":\"00000000000000000000000000000000\"}}"},
    {"pull",
     "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":{\"order\":0,\"lineage\":", "}}"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"profileID\":", "}"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"schemaVersion\":", "}"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":", "}"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{\"client\":",
     ",\"lowest_pending\":1,\"highest_id\":0}}"},
    {"pull",
     "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{\"client\":\"c1\","
     "\"lowest_pending\":",
     ",\"highest_id\":0}}"},
    {"pull",
     "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{\"client\":\"c1\","
     "\"lowest_pending\":1,\"highest_id\":",
     "}}"},
    {"pull", "", ""},
    {"clients/c9/retire", "{\"clientGroupID\":", ",\"lowest_pending\":1}"},
    {"clients/c9/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":", "}"},
    {"clients/c9/retire", "", ""},
};

/* Refused with one of two codes, or taken. A refused request has no effect at all. */
static void check_envelope(const field *place, const char *value)
{
    api_world *world = api_world_new();
    int status = ask_field(world, place, value);
    bool refused = status == 400;
    if (refused && strcmp(api_code(world), "body-not-json") != 0 &&
        strcmp(api_code(world), "body-invalid") != 0) {
        fail_msg("%s%s%s: %s", place->front, value, place->back, api_text(world));
    }
    if (!refused && status != 200) {
        fail_msg("%s%s%s: %s", place->front, value, place->back, api_text(world));
    }
    const char *text = api_format("%.2000s", api_text(world));
    bool error = strstr(text, "\"error\"") != NULL;
    bool pushed = strcmp(place->path, "push") == 0;
    bool empty = strstr(place->front, MUTATION) == NULL && strstr(place->back, MUTATION) == NULL;
    int64_t expected = refused || error || strcmp(place->path, "pull") == 0 ? 0 : 1;
    if (pushed && empty) expected = 0;
    if (api_head(world) != expected) fail_msg("%s%s%s: %s", place->front, value, place->back, text);
    api_world_free(world);
}

static void test_a_wrong_member_refuses_the_whole_request(void **state)
{
    for (size_t at = 0; at < sizeof envelope_fields / sizeof envelope_fields[0]; at++) {
        for (size_t value = 0; value < VALUE_COUNT; value++)
            check_envelope(&envelope_fields[at], values[value]);
        check_envelope(&envelope_fields[at], deep(40));
        check_envelope(&envelope_fields[at], deep(2000));
        check_envelope(&envelope_fields[at], huge(150000));
        check_envelope(&envelope_fields[at], "");
    }
    (void)state;
}

/* Bodies, and what the detail must name. */
static const struct {
    const char *path;
    const char *body;
    const char *code;
    const char *named;
} wrong_bodies[] = {
    {"push", "", "body-not-json", "byte 0"},
    {"push", "[]", "body-invalid", "object"},
    {"push", "7", "body-invalid", "object"},
    {"push", "{} {}", "body-not-json", "byte"},
    {"push", "{}", "body-invalid", "pushVersion"},
    {"push", "{\"pushVersion\":\"1\"}", "body-invalid", "pushVersion"},
    {"push", "{\"pushVersion\":1}", "body-invalid", "clientGroupID is missing"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":7}", "body-invalid", "clientGroupID must"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\"}", "body-invalid", "mutations is missing"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":{}}", "body-invalid",
     "mutations must be"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[],\"kedge\":1}",
     "body-invalid", "kedge must"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[],\"kedge\":{}}",
     "body-invalid", "kedge.client is missing"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[],\"profileID\":1}",
     "body-invalid", "profileID"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[],\"mutations\":[]}",
     "body-not-json", "byte"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[" MUTATION ",5]}",
     "body-invalid", "mutations[1] must"},
    {"push", "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[" MUTATION ",{}]}",
     "body-invalid", "mutations[1].clientID"},
    {"push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[" MUTATION "," MUTATION
     ",{\"clientID\":\"c2\"}]}",
     "body-invalid", "mutations[2].id"},
    {"push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c2\",\"id\":1,"
     "\"id\":2}]}",
     "body-invalid", "mutations[0] must"},
    {"push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[" MUTATION " " MUTATION "]}",
     "body-not-json", "element 1"},
    {"pull", "", "body-not-json", "byte 0"},
    {"pull", "[]", "body-invalid", "object"},
    {"pull", "{}", "body-invalid", "pullVersion"},
    {"pull", "{\"pullVersion\":1}", "body-invalid", "clientGroupID"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\"}", "body-invalid", "cookie"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":true}", "body-invalid",
     "cookie"},
    {"pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{}}",
     "body-invalid", "kedge.client"},
    {"pull",
     "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{\"client\":\"c\"}}",
     "body-invalid", "kedge.lowest_pending"},
    {"pull",
     "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{\"client\":\"c\","
     "\"lowest_pending\":1,\"highest_id\":\"1\"}}",
     "body-invalid", "kedge.highest_id"},
    {"pull", "{\"a\":1,\"a\":1}", "body-not-json", "byte"},
    {"clients/c1/retire", "{}", "body-invalid", "clientGroupID"},
    {"clients/c1/retire", "{\"clientGroupID\":\"g\"}", "body-invalid", "lowest_pending"},
};

static void test_a_wrong_member_is_named(void **state)
{
    api_world *world = api_world_new();
    for (size_t at = 0; at < sizeof wrong_bodies / sizeof wrong_bodies[0]; at++) {
        api_post(world, wrong_bodies[at].path, wrong_bodies[at].body);
        assert_response_is(world, 400, wrong_bodies[at].code);
        if (strstr(api_string(world, "detail"), wrong_bodies[at].named) == NULL) {
            fail_msg("%s: %s", wrong_bodies[at].body, api_text(world));
        }
    }
    assert_int_equal(api_head(world), 0);
    api_world_free(world);
    (void)state;
}

/* ---- a mutation ---- */

#define PUSH_FRONT                                                                                 \
    "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c2\",\"id\":1,"     \
    "\"name\":\"kedge.noop\",\"args\":null,\"timestamp\":1},{"
#define PUSH_BACK                                                                                  \
    "},{\"clientID\":\"c3\",\"id\":1,\"name\":\"kedge.noop\",\"args\":null,\"timestamp\":1}]}"

static const field mutation_fields[] = {
    {"push", PUSH_FRONT "\"clientID\":",
     ",\"id\":1,\"name\":\"kedge.noop\",\"args\":null,\"timestamp\":1" PUSH_BACK},
    {"push", PUSH_FRONT "\"clientID\":\"c1\",\"id\":",
     ",\"name\":\"kedge.noop\",\"args\":null,\"timestamp\":1" PUSH_BACK},
    {"push", PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":",
     ",\"args\":null,\"timestamp\":1" PUSH_BACK},
    {"push", PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"args\":",
     ",\"timestamp\":1" PUSH_BACK},
    {"push", PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":",
     ",\"timestamp\":1" PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{\"collection\":",
     ",\"id\":\"a\",\"value\":1},\"timestamp\":1" PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{\"collection\":"
                "\"d\",\"id\":",
     ",\"value\":1},\"timestamp\":1" PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{\"collection\":"
                "\"d\",\"id\":\"a\",\"value\":",
     "},\"timestamp\":1" PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":", PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":1,\"uid\":",
     PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":1,\"origin\":",
     PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":1,\"origin\":{"
                "\"id\":1,\"client\":",
     "}" PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":1,\"origin\":{"
                "\"client\":\"c0\",\"id\":",
     "}" PUSH_BACK},
    {"push",
     PUSH_FRONT "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":1,\"other\":",
     PUSH_BACK},
};

/* 400: nothing of the push. 200: all three are decided, the wrong one as rejected or applied, and a
 * retry finds itself. Anything else must be an error that the identity explains. */
static void check_mutation(const field *place, const char *value)
{
    api_world *world = api_world_new();
    int status = ask_field(world, place, value);
    const char *text = api_format("%.2000s", api_text(world));
    bool decided = status == 200 && strcmp(text, "{}") == 0;
    if (status == 400) {
        assert_true(strcmp(api_code(world), "body-invalid") == 0 ||
                    strcmp(api_code(world), "body-not-json") == 0);
        assert_int_equal(api_head(world), 0);
    } else if (decided) {
        int64_t head = api_head(world);
        if (head != 1) {
            /* An origin's client is retired first, in a version of its own. */
            assert_int_equal(head, 2);
            api_get(world, "versions/1");
            assert_non_null(api_at(world, "retired"));
        }
        api_get(world, "versions/latest");
        assert_int_equal(api_count(world, "mutations"), 3);
        assert_string_equal(api_string(world, "mutations.0.outcome"), "applied");
        assert_string_equal(api_string(world, "mutations.2.outcome"), "applied");
        assert_int_equal(ask_field(world, place, value), 200);
        assert_int_equal(api_head(world), head);
    } else if (strstr(text, "ClientStateNotFound") == NULL && status != 409) {
        fail_msg("%s%s%s: %s", place->front, value, place->back, text);
    }
    api_world_free(world);
}

static void test_a_wrong_mutation_harms_only_itself(void **state)
{
    for (size_t at = 0; at < sizeof mutation_fields / sizeof mutation_fields[0]; at++) {
        for (size_t value = 0; value < VALUE_COUNT; value++)
            check_mutation(&mutation_fields[at], values[value]);
        check_mutation(&mutation_fields[at], deep(60));
        check_mutation(&mutation_fields[at], deep(64));
        check_mutation(&mutation_fields[at], deep(65));
        check_mutation(&mutation_fields[at], deep(2000));
        check_mutation(&mutation_fields[at], huge(150000));
        check_mutation(&mutation_fields[at], "");
    }
    (void)state;
}

static void check_outcome(const char *members, const char *outcome, const char *code)
{
    api_world *world = api_world_new();
    api_post(world, "push",
             api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
                        "\"clientID\":\"c1\",\"id\":1,%s}]}",
                        members));
    if (world->response.status != 200) fail_msg("%s: %s", members, api_text(world));
    api_get(world, "clients/c1/mutations/1");
    if (strcmp(api_string(world, "outcome"), outcome) != 0) {
        fail_msg("%s: %s", members, api_text(world));
    }
    if (strcmp(outcome, "rejected") == 0 && strcmp(api_string(world, "code"), code) != 0) {
        fail_msg("%s: %s", members, api_text(world));
    }
    api_world_free(world);
}

static void test_a_malformed_mutation_is_rejected_with_a_code(void **state)
{
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":1", "applied", "");
    check_outcome("\"name\":\"kedge.noop\",\"args\":null,\"timestamp\":-1e300", "applied", "");
    check_outcome("\"name\":\"kedge.noop\"", "rejected", "mutation-invalid");
    check_outcome("\"timestamp\":1", "rejected", "mutation-invalid");
    check_outcome("\"name\":7,\"timestamp\":1", "rejected", "mutation-invalid");
    check_outcome("\"name\":\"\",\"timestamp\":1", "rejected", "mutation-invalid");
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":\"1\"", "rejected", "mutation-invalid");
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":1,\"timestamp\":1", "rejected",
                  "mutation-invalid");
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":1,,", "rejected", "mutation-invalid");
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":1,\"uid\":\"ABC\"", "rejected",
                  "mutation-invalid");
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":1,\"origin\":{\"client\":\"c0\"}",
                  "rejected", "mutation-invalid");
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":1,\"args\":\"\\ud800\"", "rejected",
                  "mutation-invalid");
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":1,\"args\":1e999", "rejected",
                  "mutation-invalid");
    check_outcome("\"name\":\"kedge.noop\",\"timestamp\":1,\"args\":{\"a\":1,\"a\":1}", "rejected",
                  "mutation-invalid");
    check_outcome(api_format("\"name\":\"kedge.noop\",\"timestamp\":1,\"args\":%s", deep(64)),
                  "applied", "");
    check_outcome(api_format("\"name\":\"kedge.noop\",\"timestamp\":1,\"args\":%s", deep(65)),
                  "rejected", "args-invalid");
    check_outcome("\"name\":\"unknown\",\"timestamp\":1", "rejected", "mutator-unknown");
    (void)state;
}

static void test_args_over_the_limit_are_rejected_and_not_kept(void **state)
{
    api_world *world = api_world_new();
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&body,
                             "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
                             "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":1,"
                             "\"args\":\"");
    char *room = kedge_buffer_reserve(&body, KEDGE_LIMIT_ARGS_BYTES);
    assert_non_null(room);
    memset(room, 'x', KEDGE_LIMIT_ARGS_BYTES);
    body.size += KEDGE_LIMIT_ARGS_BYTES;
    kedge_buffer_append_text(&body, "\"}]}");
    for (int times = 0; times < 2; times++) {
        assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                                 kedge_buffer_bytes(&body)),
                         200);
    }
    api_get(world, "clients/c1/mutations/1");
    assert_string_equal(api_string(world, "outcome"), "rejected");
    assert_string_equal(api_string(world, "code"), "args-too-large");
    assert_true(cJSON_IsNull(api_at(world, "args")));
    assert_int_equal(api_head(world), 1);
    kedge_buffer_free(&body);
    api_world_free(world);
    (void)state;
}

static void test_a_timestamp_is_stored_rounded(void **state)
{
    static const struct {
        const char *sent;
        int64_t stored;
    } rows[] = {{"1.4", 1},
                {"1.5", 2},
                {"-0.2", 0},
                {"1e300", 9007199254740991},
                {"-1e300", -9007199254740991},
                {"1732195000123.7", 1732195000124}};
    api_world *world = api_world_new();
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        api_post(world, "push",
                 api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
                            "\"clientID\":\"c%zu\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":"
                            "%s}]}",
                            at, rows[at].sent));
        assert_response_is(world, 200, "");
        api_get(world, api_format("clients/c%zu/mutations/1", at));
        assert_int_equal(api_number(world, "timestamp"), rows[at].stored);
    }
    api_world_free(world);
    (void)state;
}

static void test_a_member_named_proto_is_a_member_like_any_other(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "__proto__/__proto__", "{\"__proto__\":{\"a\":1},\"constructor\":2}");
    api_get(world, "versions/latest/collections/__proto__/__proto__");
    assert_non_null(
        strstr(api_text(world), "\"value\":{\"__proto__\":{\"a\":1},\"constructor\":2}"));
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wrong_member_refuses_the_whole_request),
        cmocka_unit_test(test_a_wrong_member_is_named),
        cmocka_unit_test(test_a_wrong_mutation_harms_only_itself),
        cmocka_unit_test(test_a_malformed_mutation_is_rejected_with_a_code),
        cmocka_unit_test(test_args_over_the_limit_are_rejected_and_not_kept),
        cmocka_unit_test(test_a_timestamp_is_stored_rounded),
        cmocka_unit_test(test_a_member_named_proto_is_a_member_like_any_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
