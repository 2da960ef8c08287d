/* Event logs over the API: create, append, conflicts, pages both ways, metadata, segments, and what
 * a client is told of a log that is damaged. */
#include "tests/backend/api_world.h"

#include "backend/log/record.h"
#include "backend/log/segments.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG "/v1/orgs/acme/projects/notes/logs/journal"

static int ask(api_world *world, const char *method, const char *path, const char *body)
{
    return api_ask(world, &ann, method, api_format(LOG "%s", path), kedge_bytes_of(body));
}

static int setup(void **state)
{
    api_world *world = api_world_new();
    *state = world;
    assert_int_equal(ask(world, "PUT", "", ""), 201);
    return 0;
}

static int teardown(void **state)
{
    api_world_free(*state);
    return 0;
}

static void add(api_world *world, const char *body)
{
    const char *request = api_format("{\"type\":\"set\",\"version\":1,\"body\":%s}", body);
    if (ask(world, "POST", "/entries", request) != 200) fail_msg("%s", api_text(world));
}

/* The numbers of the last response's entries, as "0,1,2 > next". */
static const char *numbers(api_world *world)
{
    static char text[512];
    text[0] = '\0';
    for (int i = 0; i < api_count(world, "entries"); i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i == 0 ? "" : ",",
                 (long long)api_number(world, api_format("entries.%d.number", i)));
    }
    if (!cJSON_IsNull(api_at(world, "next"))) {
        snprintf(text + strlen(text), sizeof text - strlen(text), " > %lld",
                 (long long)api_number(world, "next"));
    }
    return text;
}

#define assert_page(world, path, expected)                                                         \
    do {                                                                                           \
        if (ask(world, "GET", path, "") != 200) fail_msg("%s", api_text(world));                   \
        assert_string_equal(numbers(world), expected);                                             \
    } while (0)

static void test_a_log_is_made_once_and_listed(void **state)
{
    api_world *world = *state;
    assert_string_equal(api_string(world, "log"), "journal");
    assert_int_equal(api_number(world, "next"), 1);
    assert_true(cJSON_IsNull(api_at(world, "last_snapshot")));
    assert_int_equal(ask(world, "PUT", "", ""), 200);
    assert_int_equal(
        api_ask(world, &ann, "PUT", "/v1/orgs/acme/projects/notes/logs/b", KEDGE_BYTES("")), 201);
    assert_int_equal(api_get(world, "logs?limit=1"), 200);
    assert_string_equal(api_string(world, "logs.0.log"), "b");
    assert_string_equal(api_string(world, "next"), "b");
    assert_int_equal(api_get(world, "logs?after=b"), 200);
    assert_string_equal(api_string(world, "logs.0.log"), "journal");
    assert_true(cJSON_IsNull(api_at(world, "next")));
    assert_int_equal(api_get(world, "logs?after=%00"), 400);
}

static void test_a_log_needs_a_project_and_somebody_who_may_see_it(void **state)
{
    api_world *world = *state;
    kedge_bytes none = {NULL, 0};
    api_ask(world, &ann, "PUT", "/v1/orgs/acme/projects/none/logs/a", none);
    assert_response_is(world, 404, "project-not-found");
    api_ask(world, &eve, "GET", LOG, none);
    assert_response_is(world, 404, "project-not-found");
    api_ask(world, &ann, "GET", "/v1/orgs/acme/projects/notes/logs/none", none);
    assert_response_is(world, 404, "log-not-found");
    api_ask(world, &ann, "GET", "/v1/orgs/acme/projects/notes/logs/a%2Fb", none);
    assert_response_is(world, 400, "name-invalid");
    api_ask(world, &ann, "DELETE", LOG, none);
    assert_response_is(world, 405, "method-not-allowed");
    ask(world, "POST", "/entries/x/metadata", "{}");
    assert_response_is(world, 400, "name-invalid");
    int64_t number;
    assert_int_equal(kedge_backend_current_number(world->backend, &ann, KEDGE_BYTES("acme"),
                                                  KEDGE_BYTES("notes"), KEDGE_BYTES("journal"),
                                                  &number, NULL),
                     KEDGE_OK);
    assert_int_equal(number, 0);
    assert_int_equal(kedge_backend_current_number(world->backend, &eve, KEDGE_BYTES("acme"),
                                                  KEDGE_BYTES("notes"), KEDGE_BYTES("journal"),
                                                  &number, NULL),
                     KEDGE_NOT_FOUND);
}

static void test_a_conflict_tells_the_next_number_and_the_entries_in_between(void **state)
{
    api_world *world = *state;
    add(world, "1");
    add(world, "2");
    ask(world, "POST", "/entries", "{\"type\":\"set\",\"version\":1,\"body\":3,\"expected\":1}");
    assert_response_is(world, 409, "log-conflict");
    assert_int_equal(api_number(world, "next"), 3);
    assert_null(api_at(world, "page"));
    ask(world, "POST", "/entries",
        "{\"type\":\"set\",\"version\":1,\"body\":3,\"expected\":2,\"entries\":true}");
    assert_response_is(world, 409, "log-conflict");
    assert_int_equal(api_count(world, "page.entries"), 1);
    assert_int_equal(api_number(world, "page.entries.0.body"), 2);
    assert_int_equal(ask(world, "POST", "/entries",
                         "{\"type\":\"set\",\"version\":1,\"body\":3,\"expected\":3}"),
                     200);
    assert_int_equal(api_number(world, "number"), 3);
}

static void test_an_append_with_an_id_may_be_repeated(void **state)
{
    api_world *world = *state;
    const char *request = "{\"type\":\"set\",\"version\":1,\"expected\":1,"
                          "\"id\":\"000102030405060708090a0b0c0d0e0f\"}";
    assert_int_equal(ask(world, "POST", "/entries", request), 200);
    assert_true(cJSON_IsFalse(api_at(world, "before")));
    add(world, "2");
    assert_int_equal(ask(world, "POST", "/entries", request), 200);
    assert_true(cJSON_IsTrue(api_at(world, "before")));
    assert_int_equal(api_number(world, "number"), 1);
    assert_page(world, "/entries", "0,1,2");
    assert_string_equal(api_string(world, "entries.1.id"), "000102030405060708090a0b0c0d0e0f");
}

static void test_pages_go_both_ways(void **state)
{
    api_world *world = *state;
    for (int i = 1; i <= 6; i++)
        add(world, "1");
    assert_page(world, "/entries", "0,1,2,3,4,5,6");
    assert_page(world, "/entries?limit=3", "0,1,2 > 3");
    assert_page(world, "/entries?from=3&limit=3", "3,4,5 > 6");
    assert_page(world, "/entries?from=6&limit=3", "6");
    assert_page(world, "/entries?from=2&to=4", "2,3,4");
    assert_page(world, "/entries?from=2&to=4&limit=3", "2,3,4");
    assert_page(world, "/entries?from=2&to=4&limit=2", "2,3 > 4");
    assert_page(world, "/entries?order=down&limit=3", "6,5,4 > 3");
    assert_page(world, "/entries?from=3&order=down", "3,2,1,0");
    assert_page(world, "/entries?from=end&order=down&to=5", "6,5");
    assert_page(world, "/entries?from=end", "6");
    assert_page(world, "/entries?from=7&consistent=true", "");
    assert_page(world, "/entries?after=4", "5,6");
    static const char *const wrong[] = {"from=x",     "order=x",        "to=-1",       "limit=0",
                                        "limit=1001", "after=1&from=2", "consistent=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ask(world, "GET", api_format("/entries?%s", wrong[i]), "");
        assert_response_is(world, 400, "query-invalid");
    }
}

/* The largest number is far behind the end; what is larger is none. */
static void test_numbers_at_their_end_are_answered(void **state)
{
    static const char *const empty[] = {"from=9007199254740991", "after=9007199254740991",
                                        "from=9007199254740990&to=9007199254740991"};
    static const char *const wrong[] = {"from=9007199254740992", "from=9223372036854775807",
                                        "after=9007199254740992", "to=9007199254740992"};
    api_world *world = *state;
    add(world, "1");
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        assert_page(world, api_format("/entries?%s", empty[i]), "");
    assert_page(world, "/entries?from=9007199254740991&order=down", "1,0");
    assert_page(world, "/entries?to=9007199254740991", "0,1");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ask(world, "GET", api_format("/entries?%s", wrong[i]), "");
        assert_response_is(world, 400, "query-invalid");
    }
}

static void test_snapshots_and_segments_show_in_queries(void **state)
{
    api_world *world = *state;
    add(world, "1");
    add(world, "2");
    ask(world, "POST", "/segments", "");
    assert_response_is(world, 409, "log-snapshot-missing");
    assert_int_equal(ask(world, "POST", "/entries/1/metadata", "{\"snapshot\":\"s1\"}"), 200);
    assert_int_equal(ask(world, "POST", "/segments", ""), 200);
    assert_int_equal(api_number(world, "segment"), 1);
    assert_int_equal(api_number(world, "first"), 4);
    add(world, "5");
    assert_page(world, "/entries?from=snapshot", "1,2,3,5");
    assert_int_equal(api_number(world, "last_snapshot"), 1);
    assert_string_equal(api_string(world, "entries.0.snapshot"), "s1");
    assert_page(world, "/entries?after=2", "3,5");
    assert_int_equal(ask(world, "GET", "/segments", ""), 200);
    assert_int_equal(api_count(world, "segments"), 2);
    assert_int_equal(api_number(world, "segments.1.last_snapshot"), 1);
    assert_int_equal(ask(world, "GET", "", ""), 200);
    assert_string_equal(api_string(world, "snapshot"), "s1");
    assert_int_equal(ask(world, "POST", "/entries/4/metadata", "{\"snapshot\":\"s4\"}"), 200);
    assert_int_equal(ask(world, "POST", "/segments", ""), 200);
    assert_page(world, "/entries?after=1", "4,5,6");
    assert_true(cJSON_IsTrue(api_at(world, "reload")));
    assert_int_equal(
        ask(world, "POST", "/entries/5/metadata", "{\"history\":\"h\",\"pending\":\"w\"}"), 200);
    assert_page(world, "/entries?from=5&to=5", "5");
    assert_string_equal(api_string(world, "entries.0.history"), "h");
    ask(world, "POST", "/entries/99/metadata", "{\"history\":\"h\"}");
    assert_response_is(world, 404, "log-entry-not-found");
    ask(world, "POST", "/entries/5/metadata", "{\"snapshot\":null}");
    assert_response_is(world, 400, "log-metadata-invalid");
}

static void test_a_page_ends_behind_a_megabyte(void **state)
{
    api_world *world = *state;
    char *body = malloc(700003);
    memset(body, 'x', 700002);
    body[0] = body[700001] = '"';
    body[700002] = '\0';
    kedge_buffer request = kedge_buffer_make(world->environment.allocator);
    kedge_buffer_append_format(&request, "{\"type\":\"set\",\"version\":1,\"body\":%s}", body);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(api_ask(world, &ann, "POST", LOG "/entries", kedge_buffer_bytes(&request)),
                         200);
    }
    assert_page(world, "/entries", "0,1,2 > 3");
    assert_page(world, "/entries?order=down", "4,3 > 2");
    kedge_buffer_free(&request);
    free(body);
}

static void remove_entry(api_world *world, int64_t num)
{
    kedge_project_ref ref = {KEDGE_BYTES("acme"), KEDGE_BYTES("notes")};
    kedge_project project = kedge_project_of(world->backend, &ref);
    kedge_log log = kedge_log_of(&project, KEDGE_BYTES("journal"));
    kedge_log_key partition = kedge_log_key_entries(&log, 0);
    kedge_log_key sort = kedge_log_key_num(num);
    kedge_record_write write = {
        .kind = KEDGE_WRITE_DELETE,
        .record = {.key = {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}}};
    assert_int_equal(world->records.vtable->write(world->records.self, &write, NULL), KEDGE_OK);
}

static void test_a_page_ends_in_front_of_a_damaged_entry_and_the_next_names_it(void **state)
{
    api_world *world = *state;
    for (int i = 1; i <= 4; i++)
        add(world, "1");
    remove_entry(world, 2);
    assert_page(world, "/entries", "0,1 > 2");
    ask(world, "GET", "/entries?from=2", "");
    assert_response_is(world, 500, "log-corrupt");
    assert_string_equal(api_string(world, "detail"),
                        "the log journal is corrupt at segment 0, entry 2: the entry is missing");
    assert_page(world, "/entries?from=3", "3,4");
    assert_page(world, "/entries?order=down", "4,3 > 2");
}

static void test_wrong_bodies_are_refused(void **state)
{
    api_world *world = *state;
    ask(world, "POST", "/entries", "{");
    assert_response_is(world, 400, "body-not-json");
    ask(world, "POST", "/entries", "{\"type\":\"End Segment\",\"version\":1}");
    assert_response_is(world, 400, "body-invalid");
    ask(world, "POST", "/entries", "{\"type\":\"set\",\"version\":3000000000}");
    assert_response_is(world, 400, "log-version-invalid");
    ask(world, "POST", "/entries/0/metadata", "{}");
    assert_response_is(world, 400, "body-invalid");
    assert_page(world, "/entries", "0");
}

/* ---- what a store says itself ---- */

static kedge_records_vtable refusing;
static kedge_records refused;
static kedge_status refusal; /* of each query; KEDGE_OK: none */

static kedge_status query_or_refuse(void *self, const kedge_records_query *query,
                                    kedge_record_set *set, kedge_error *error)
{
    if (refusal == KEDGE_OK) return refused.vtable->query(self, query, set, error);
    return kedge_fail(error, refusal, "aws-refused", "the table secret refused");
}

static void refuse_queries(api_world *world)
{
    refused = world->records;
    refusing = *refused.vtable;
    refusing.query = query_or_refuse;
    world->records.vtable = &refusing;
}

static void test_the_error_of_a_store_is_not_told_as_one_of_the_request(void **state)
{
    (void)state;
    static const kedge_status refusals[] = {KEDGE_INVALID_ARGUMENT, KEDGE_NOT_FOUND,
                                            KEDGE_LIMIT_EXCEEDED, KEDGE_UNSUPPORTED};
    refusal = KEDGE_OK;
    api_world *world = api_world_new_with(NULL, refuse_queries);
    assert_int_equal(ask(world, "PUT", "", ""), 201);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        refusal = refusals[i];
        ask(world, "GET", "/segments", "");
        assert_response_is(world, 500, "internal");
        assert_null(strstr(api_text(world), "secret"));
        assert_string_equal(world->response.cause.code, "aws-refused");
    }
    refusal = KEDGE_OK;
    ask(world, "GET", "/segments", "");
    assert_response_is(world, 200, "");
    api_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_log_is_made_once_and_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_log_needs_a_project_and_somebody_who_may_see_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_a_conflict_tells_the_next_number_and_the_entries_in_between, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_append_with_an_id_may_be_repeated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_go_both_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_at_their_end_are_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_snapshots_and_segments_show_in_queries, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_page_ends_behind_a_megabyte, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_a_page_ends_in_front_of_a_damaged_entry_and_the_next_names_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_bodies_are_refused, setup, teardown),
        cmocka_unit_test(test_the_error_of_a_store_is_not_told_as_one_of_the_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
