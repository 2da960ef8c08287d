/* The driver over a real store: what is sent, what a response means, what the store makes of it. */
#include "common/gzip.h"
#include "sdk/driver/driver_internal.h"
#include "sdk/store/store_internal.h"
#include "tests/core/scripted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/failing_allocator.h"

#define PUT_A "{\"op\":\"put\",\"key\":\"notes/a\",\"value\":{\"n\":1}}"

static char text[256];
static char outcome[256];

/* Pulls the first version, in which nothing is. */
static void settle(scripted *s)
{
    scripted_pulled(s, 0, 0, 0, "", "");
    assert_int_equal(s->connection, KEDGE_ONLINE);
    assert_true(s->stream_open);
}

static void test_a_mutation_goes_out_and_comes_back_confirmed(void **state)
{
    scripted *s = *state;
    kedge_store_position position;
    settle(s);
    scripted_put(s, "a", 1);
    assert_string_equal(s->push.method, "POST");
    scripted_outcome(s, 0, 1, outcome, sizeof outcome);
    scripted_respond_push(s, 200, "{\"kedge\":{\"version\":1}}");
    scripted_pulled(s, 0, 1, 1, PUT_A, outcome);
    assert_int_equal(kedge_store_position_get(s->store, &position, NULL), KEDGE_OK);
    assert_int_equal(position.version, 1);
    assert_int_equal(position.pending, 0);
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "{\"n\":1}");
    assert_int_equal(s->push.number, 0);
    assert_int_equal(s->pull.number, 0);
}

/* The pull that the first push leads to is not answered. */
static void test_while_a_pull_lasts_each_edit_is_sent_once(void **state)
{
    scripted *s = *state;
    size_t bytes = 0;
    settle(s);
    for (int i = 1; i <= 300; i++) {
        scripted_put(s, "a", i);
        const char *first = strstr(s->push.body, "\"uid\"");
        assert_non_null(first);
        assert_null(strstr(first + 1, "\"uid\""));
        bytes += strlen(s->push.body);
        scripted_respond_push(s, 200, "{\"kedge\":{\"version\":1}}");
    }
    assert_in_range(bytes, 300 * 100, 300 * 500);
}

static void test_what_others_wrote_is_told_to_the_host(void **state)
{
    scripted *s = *state;
    settle(s);
    kedge_driver_stream_up(s->driver);
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("poke"), KEDGE_BYTES("{\"version\":4}"));
    int before = s->changes;
    scripted_pulled(s, 0, 4, 0, PUT_A, "");
    assert_int_equal(s->changes, before + 1);
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "{\"n\":1}");
}

/* Its response may have come, but the thread that reads it was at work. */
static void test_a_request_is_not_given_up_for_the_time_in_which_the_store_works(void **state)
{
    scripted *s = *state;
    settle(s);
    kedge_driver_stream_up(s->driver);
    scripted_put(s, "b", 2);
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("poke"), KEDGE_BYTES("{\"version\":1}"));
    uint64_t push = s->push.number;
    assert_true(push != 0);
    s->work_ms = 10 * KEDGE_LIMIT_REQUEST_DEADLINE_MS;
    scripted_pulled(s, 0, 1, 0, PUT_A, "");
    assert_int_equal(s->changes, 1);
    assert_int_equal(s->push.number, push);
    assert_int_equal(s->cancelled, 0);
    assert_true(s->stream_open);
    assert_int_equal(s->connection, KEDGE_ONLINE);
    while (s->push.number == push) /* what the server does not answer is given up nevertheless */
        scripted_timer(s);
    assert_string_equal(s->error.code, "request-timeout");
}

/* Other requests that move do not keep it. */
static void test_a_request_that_moves_is_not_given_up(void **state)
{
    scripted *s = *state;
    settle(s);
    kedge_driver_stream_up(s->driver);
    scripted_put(s, "b", 2);
    uint64_t push = s->push.number;
    int64_t began_ms = s->now_ms;
    for (int i = 0; i < 10; i++) {
        s->now_ms += KEDGE_LIMIT_REQUEST_DEADLINE_MS;
        kedge_driver_request_moved(s->driver, push);
        kedge_driver_stream_event(s->driver, KEDGE_BYTES("ping"), KEDGE_BYTES("{}"));
        assert_int_equal(s->push.number, push);
    }
    while (s->push.number == push) {
        kedge_driver_request_moved(s->driver, push + 1);
        kedge_driver_stream_event(s->driver, KEDGE_BYTES("ping"), KEDGE_BYTES("{}"));
        scripted_timer(s);
    }
    assert_int_equal(s->now_ms - began_ms,
                     11 * KEDGE_LIMIT_REQUEST_DEADLINE_MS + KEDGE_CORE_GUARD_MS);
    assert_string_equal(s->error.code, "request-timeout");
}

static void write_wrong_value(const scripted *s)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/cache.db", s->folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE item SET value = '2'", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_damage_that_the_background_check_finds_is_pulled_again_at_once(void **state)
{
    scripted *s = *state;
    settle(s);
    kedge_driver_stream_up(s->driver);
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("poke"), KEDGE_BYTES("{\"version\":1}"));
    atomic_store(&s->store->check_due, true);
    scripted_pulled(s, 0, 1, 0, PUT_A, "");
    write_wrong_value(s);
    int before = s->changes;
    scripted_timer(s);
    assert_int_equal(s->changes, before + 1);
    assert_int_not_equal(s->pull.number, 0);
    scripted_pulled(s, 0, 1, 0, "{\"op\":\"clear\"}," PUT_A, "");
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "{\"n\":1}");
    assert_int_equal(s->pull.number, 0);
}

static void test_an_event_that_cannot_be_read_is_only_a_sign_of_life(void **state)
{
    scripted *s = *state;
    settle(s);
    kedge_driver_stream_up(s->driver);
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("poke"), KEDGE_BYTES("{\"version\":0}"));
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("poke"), KEDGE_BYTES("{\"version\":"));
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("poke"), KEDGE_BYTES("{\"version\":-4}"));
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("other"), KEDGE_BYTES("{\"version\":9}"));
    assert_int_equal(s->pull.number, 0);
    assert_int_equal(s->connection, KEDGE_ONLINE);
}

static void test_a_captive_portal_is_not_taken_for_the_server(void **state)
{
    static const char *const portals[] = {"<html>Log in</html>", "{}", "{\"login\":\"please\"}",
                                          "{\"cookie\":null,\"patch\":[]}"};
    scripted *s = *state;
    for (size_t i = 0; i < sizeof portals / sizeof portals[0]; i++) {
        scripted_respond_pull(s, 200, portals[i]);
        assert_int_equal(s->connection, KEDGE_CONNECTING);
        assert_string_equal(s->error.code, "response-invalid");
        scripted_timer(s);
    }
    scripted_pulled(s, 0, 0, 0, "", "");
    scripted_put(s, "a", 1);
    scripted_respond_push(s, 200, "<html>Log in</html>");
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    scripted_timer(s);
    assert_non_null(strstr(s->push.body, "kedge.put"));
}

/* All that is sent fails for some seconds. At the end a pull runs, and the push waits. */
static void be_in_an_outage(scripted *s, const char *problem)
{
    kedge_error error = {.status = KEDGE_NETWORK};
    int64_t until_ms = s->now_ms + 5000;
    s->stream_open = false;
    kedge_driver_stream_down(s->driver, &error, 0);
    while (s->now_ms < until_ms || s->pull.number == 0 || s->push.number != 0) {
        if (s->push.number != 0) scripted_respond_push(s, 502, problem);
        if (s->pull.number != 0) scripted_respond_pull(s, 502, "<html>Bad Gateway</html>");
        scripted_timer(s);
        assert_true(s->now_ms < until_ms + 2 * KEDGE_CORE_BACKOFF_MAX_MS);
    }
}

/* Its gateway says that the server is out of reach; a problem document says that it is not. */
static void test_a_push_waits_no_longer_when_the_gateway_finds_the_server_again(void **state)
{
    scripted *s = *state;
    settle(s);
    scripted_put(s, "a", 1);
    be_in_an_outage(s, "<html>Bad Gateway</html>");
    scripted_pulled(s, 0, 0, 0, "", "");
    assert_true(s->push.number != 0);
    be_in_an_outage(s, "{\"code\":\"internal\"}");
    scripted_pulled(s, 0, 0, 0, "", "");
    assert_int_equal(s->push.number, 0);
}

static void test_a_refusal_without_a_problem_document_does_not_stop(void **state)
{
    scripted *s = *state;
    scripted_respond_pull(s, 403, "<html>proxy</html>");
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    scripted_timer(s);
    scripted_refuse_pull(s, 403, "not-allowed");
    assert_int_equal(s->connection, KEDGE_STOPPED);
    assert_string_equal(s->error.code, "not-allowed");
    assert_int_equal(s->error.status, KEDGE_FORBIDDEN);
    kedge_driver_set_online(s->driver, true);
    settle(s);
}

static void test_a_long_explanation_is_cut_and_not_lost(void **state)
{
    scripted *s = *state;
    char body[1024];
    snprintf(body, sizeof body, "{\"code\":\"not-allowed\",\"detail\":\"because %0600d\"}", 0);
    scripted_respond_pull(s, 403, body);
    assert_string_equal(s->error.code, "not-allowed");
    assert_memory_equal(s->error.message, "because 0000", 12);
}

static void test_a_server_of_another_protocol_version_stops(void **state)
{
    scripted *s = *state;
    scripted_respond_pull(s, 200, "{\"error\":\"VersionNotSupported\",\"versionType\":\"pull\"}");
    assert_int_equal(s->connection, KEDGE_STOPPED);
    assert_int_equal(s->error.status, KEDGE_UNSUPPORTED);
}

static void test_an_answer_to_a_cancelled_request_is_dropped(void **state)
{
    scripted *s = *state;
    uint64_t cancelled = s->pull.number;
    kedge_driver_set_online(s->driver, false);
    assert_int_equal(s->cancelled, 1);
    kedge_driver_set_online(s->driver, true);
    assert_int_not_equal(s->pull.number, cancelled);
    scripted_respond(s, cancelled, 403, "{\"code\":\"not-allowed\"}");
    scripted_respond(s, 0, 403, "{\"code\":\"not-allowed\"}");
    settle(s);
}

static void test_a_sync_ends_when_the_server_has_answered(void **state)
{
    scripted *s = *state;
    settle(s);
    kedge_driver_sync(s->driver);
    scripted_pulled(s, 0, 0, 0, "", "");
    assert_int_equal(s->synced, 1);
    assert_true(s->synced_ok);
    kedge_driver_set_online(s->driver, false);
    kedge_driver_sync(s->driver);
    assert_int_equal(s->synced, 2);
    assert_false(s->synced_ok);
}

static void test_a_large_body_is_fetched_by_its_hash_and_checked(void **state)
{
    scripted *s = *state;
    char hash[KEDGE_SHA256_HEX];
    char patch[256];
    char path[160];
    kedge_sha256_hex(KEDGE_BYTES("{\"n\":7}"), hash);
    snprintf(patch, sizeof patch,
             PUT_A ",{\"op\":\"put\",\"key\":\"notes/b\",\"hash\":\"%s\",\"size\":7}", hash);
    snprintf(path, sizeof path, "collections/notes/bodies/%s", hash);
    settle(s);
    kedge_driver_sync(s->driver);
    scripted_pulled(s, 0, 1, 0, patch, "");
    assert_string_equal(s->pull.method, "GET");
    assert_string_equal(s->pull.path, path);
    scripted_respond_pull(s, 200, "{\"n\":8}");
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    assert_string_equal(s->error.code, "body-hash");
    scripted_timer(s);
    assert_string_equal(s->pull.path, path);
    scripted_respond_pull(s, 200, "{\"n\":7}");
    assert_string_equal(scripted_get(s, "b", text, sizeof text), "{\"n\":7}");
    assert_int_equal(s->connection, KEDGE_ONLINE);
}

static void test_the_parts_of_a_body_are_unpacked_within_the_limit_of_an_item(void **state)
{
    scripted *s = *state;
    char patch[256];
    char range[64];
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer bomb = kedge_buffer_make(&kedge_allocator_default);
    size_t size = KEDGE_LIMIT_ITEM_BYTES + 1;
    memset(kedge_buffer_reserve(&plain, size), '1', size);
    plain.size = size;
    assert_int_equal(kedge_gzip(kedge_buffer_bytes(&plain), &bomb, NULL), KEDGE_OK);
    snprintf(patch, sizeof patch,
             "{\"op\":\"put\",\"key\":\"notes/b\",\"hash\":\"%064d\",\"size\":7}", 0);
    snprintf(range, sizeof range, "bytes 0-%zu/%zu", bomb.size - 1, bomb.size);
    scripted_pulled(s, 0, 1, 0, patch, "");
    kedge_driver_response response = {.number = s->pull.number,
                                      .status = 206,
                                      .body = kedge_buffer_bytes(&bomb),
                                      .content_range = kedge_bytes_of(range),
                                      .gzip = true};
    s->pull.number = 0;
    kedge_driver_response_arrived(s->driver, &response);
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    assert_string_equal(s->error.code, "body-invalid");
    kedge_buffer_free(&plain);
    kedge_buffer_free(&bomb);
}

/* `count` items of 8 MiB each, as a patch or page names them. */
static char *name_large_items(const char *operation, int count)
{
    char *list = test_malloc((size_t)count * 192);
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size += (size_t)snprintf(list + size, 192,
                                 "%s{%s\"key\":\"notes/%d\",\"hash\":\"%064d\",\"size\":%d}",
                                 i == 0 ? "" : ",", operation, i, i, KEDGE_LIMIT_ITEM_BYTES);
    }
    return list;
}

static void test_a_delta_with_too_many_large_bodies_is_read_in_pages(void **state)
{
    scripted *s = *state;
    settle(s);
    char *patch = name_large_items("\"op\":\"put\",", 9);
    kedge_driver_sync(s->driver);
    scripted_pulled(s, 0, 4, 0, patch, "");
    test_free(patch);
    assert_string_equal(s->pull.path, "snapshot?version=4");
    scripted_respond_pull(s, 200,
                          "{\"version\":4,\"lineage\":\"" LINEAGE
                          "\",\"items\":[{\"key\":\"notes/a\",\"value\":1}],\"next\":null}");
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "1");
    assert_int_equal(s->connection, KEDGE_ONLINE);
}

static void test_a_page_with_too_many_large_bodies_is_cut(void **state)
{
    (void)state;
    kedge_wire_page_response page = {0};
    char *items = name_large_items("", 9);
    char *body = test_malloc(4096);
    snprintf(body, 4096, "{\"version\":4,\"lineage\":\"" LINEAGE "\",\"items\":[%s],\"next\":null}",
             items);
    assert_int_equal(
        kedge_wire_page_response_read(&kedge_allocator_default, kedge_bytes_of(body), &page, NULL),
        KEDGE_OK);
    assert_int_equal(kedge_driver_bound_page(&page, NULL), KEDGE_OK);
    assert_int_equal(page.items.count, 8);
    assert_false(page.last);
    assert_true(kedge_bytes_equal_text(page.next, "notes/7"));
    assert_int_equal(kedge_driver_bound_page(&page, NULL), KEDGE_OK);
    assert_int_equal(page.items.count, 8);
    kedge_wire_page_response_free(&page);
    test_free(body);
    test_free(items);
}

static void test_outcomes_of_ids_that_were_never_given_out_are_not_asked_for(void **state)
{
    scripted *s = *state;
    settle(s);
    scripted_put(s, "a", 1);
    scripted_outcome(s, 0, 1, outcome, sizeof outcome);
    scripted_respond_push(s, 200, "{\"kedge\":{\"version\":1}}");
    char body[1024];
    snprintf(body, sizeof body,
             "{\"cookie\":{\"order\":1,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
             "\"patch\":[" PUT_A "],\"kedge\":{\"from\":0,\"version\":1,\"lineage\":\"" LINEAGE
             "\",\"lmid\":1,\"retired\":false,\"known\":true,\"outcomes\":[%s],"
             "\"outcomes_next\":%d,\"snapshot\":null,\"lost\":false}}",
             outcome, 1000000);
    scripted_respond_pull(s, 200, body);
    assert_int_equal(s->pull.number, 0);
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "{\"n\":1}");
    assert_int_equal(s->connection, KEDGE_ONLINE);
}

static void test_a_snapshot_is_paged_from_key_to_key(void **state)
{
    scripted *s = *state;
    scripted_respond_pull(
        s, 200,
        "{\"cookie\":{\"order\":7,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
        "\"patch\":[],\"kedge\":{\"from\":0,\"version\":7,\"lineage\":\"" LINEAGE
        "\",\"lmid\":0,\"retired\":false,\"known\":false,\"outcomes\":[],\"outcomes_next\":null,"
        "\"snapshot\":{\"version\":7,\"lineage\":\"" LINEAGE "\"},\"lost\":false}}");
    assert_string_equal(s->pull.path, "snapshot?version=7");
    scripted_respond_pull(s, 200,
                          "{\"version\":7,\"lineage\":\"" LINEAGE
                          "\",\"items\":[{\"key\":\"notes/a b\",\"value\":1}],"
                          "\"next\":\"notes/a b\"}");
    assert_string_equal(s->pull.path, "snapshot?version=7&after=notes%2Fa%20b");
    /* A page of another lineage is of no use: it is pulled anew. */
    scripted_respond_pull(s, 200,
                          "{\"version\":7,\"lineage\":\"fedcba98765432100123456789abcdef\","
                          "\"items\":[],\"next\":null}");
    assert_string_equal(s->pull.path, "pull");
    scripted_pulled(s, 0, 7, 0, "{\"op\":\"clear\"}," PUT_A, "");
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "{\"n\":1}");
    assert_string_equal(scripted_get(s, "a b", text, sizeof text), "");
}

static void test_further_outcomes_are_fetched_before_the_pull_is_applied(void **state)
{
    scripted *s = *state;
    char body[1024];
    kedge_store_position position;
    settle(s);
    scripted_put(s, "a", 1);
    scripted_outcome(s, 0, 1, outcome, sizeof outcome);
    scripted_respond_push(s, 200, "{\"kedge\":{\"version\":1}}");
    snprintf(body, sizeof body,
             "{\"cookie\":{\"order\":1,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
             "\"patch\":[" PUT_A "],\"kedge\":{\"from\":0,\"version\":1,\"lineage\":\"" LINEAGE
             "\",\"lmid\":1,\"retired\":false,\"known\":true,\"outcomes\":[],\"outcomes_next\":1,"
             "\"snapshot\":null,\"lost\":false}}");
    scripted_respond_pull(s, 200, body);
    /* Retention may remove the version before they are asked for. */
    scripted_respond_pull(s, 404, "{\"code\":\"version-not-retained\"}");
    assert_string_equal(s->pull.path, "pull");
    scripted_respond_pull(s, 200, body);
    assert_non_null(strstr(s->pull.path, "/mutations?from=1&to=1&version=1"));
    snprintf(body, sizeof body, "{\"outcomes\":[%s],\"outcomes_next\":null}", outcome);
    scripted_respond_pull(s, 200, body);
    assert_int_equal(kedge_store_position_get(s->store, &position, NULL), KEDGE_OK);
    assert_int_equal(position.pending, 0);
}

static void test_a_retired_client_rotates_and_sends_its_pending_as_origins(void **state)
{
    scripted *s = *state;
    kedge_store_position before;
    kedge_store_position after;
    char path[256];
    settle(s);
    scripted_put(s, "a", 1);
    assert_int_equal(kedge_store_position_get(s->store, &before, NULL), KEDGE_OK);
    scripted_refuse_push(s, 409, "client-retired");
    scripted_respond_pull(
        s, 200,
        "{\"cookie\":{\"order\":2,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
        "\"patch\":[],\"kedge\":{\"from\":0,\"version\":2,\"lineage\":\"" LINEAGE
        "\",\"lmid\":0,\"retired\":true,\"known\":true,\"outcomes\":[],\"outcomes_next\":null,"
        "\"snapshot\":null,\"lost\":false}}");
    snprintf(path, sizeof path, "clients/%s/retire", before.client);
    assert_string_equal(s->pull.path, path);
    assert_non_null(strstr(s->pull.body, "\"lowest_pending\":1"));
    scripted_respond_pull(s, 200,
                          "{\"version\":2,\"lineage\":\"" LINEAGE
                          "\",\"lmid\":0,\"outcomes\":[],\"outcomes_next\":null}");
    assert_int_equal(kedge_store_position_get(s->store, &after, NULL), KEDGE_OK);
    assert_string_not_equal(after.client, before.client);
    assert_int_equal(after.pending, 1);
    assert_non_null(strstr(s->push.body, "\"origin\""));
    assert_non_null(strstr(s->push.body, before.client));
}

static void test_a_push_that_is_too_large_is_sent_in_parts(void **state)
{
    scripted *s = *state;
    settle(s);
    kedge_driver_set_online(s->driver, false);
    for (int i = 0; i < 4; i++)
        scripted_put(s, "a", i);
    kedge_driver_set_online(s->driver, true);
    assert_non_null(strstr(s->push.body, "\"id\":4"));
    /* 1,000 halved nine times is one. */
    for (int i = 0; i < 3; i++) {
        scripted_refuse_push(s, 413, "body-too-large");
        scripted_refuse_push(s, 503, "push-too-large");
        scripted_refuse_push(s, 503, "push-unfinished");
    }
    assert_int_not_equal(s->connection, KEDGE_STOPPED);
    assert_non_null(strstr(s->push.body, "\"id\":1"));
    assert_null(strstr(s->push.body, "\"id\":2"));
}

/* ---- without memory ---- */

/* One edit, until it is confirmed; each failure is waited out. */
static bool confirm_one_edit(const kedge_allocator *allocator, void *context)
{
    (void)context;
    scripted *s = test_malloc(sizeof *s);
    kedge_store_position position = {.pending = -1};
    scripted_open(s, allocator);
    if (s->driver != NULL) {
        kedge_driver_start(s->driver);
        scripted_put(s, "a", 1);
        for (int i = 0; i < 60 && position.pending != 0; i++) {
            if (s->push.number != 0) {
                scripted_outcome(s, 0, 1, outcome, sizeof outcome);
                scripted_respond_push(s, 200, "{\"kedge\":{\"version\":1}}");
            } else if (s->pull.number != 0 && i > 0) {
                bool decided = outcome[0] != '\0';
                scripted_pulled(s, 0, decided ? 1 : 0, decided ? 1 : 0, decided ? PUT_A : "",
                                outcome);
            } else if (s->timer_ms != INT64_MAX) {
                scripted_timer(s);
            }
            kedge_store_position_get(s->store, &position, NULL);
        }
    }
    outcome[0] = '\0';
    scripted_close(s);
    test_free(s);
    return position.pending == 0;
}

static void test_a_driver_without_memory_tries_again(void **state)
{
    (void)state;
    outcome[0] = '\0';
    assert_true(failing_allocator_try_every_call(confirm_one_edit, NULL, 20) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_mutation_goes_out_and_comes_back_confirmed,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_while_a_pull_lasts_each_edit_is_sent_once,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_what_others_wrote_is_told_to_the_host, scripted_setup,
                                        scripted_teardown),
        cmocka_unit_test_setup_teardown(
            test_damage_that_the_background_check_finds_is_pulled_again_at_once, scripted_setup,
            scripted_teardown),
        cmocka_unit_test_setup_teardown(test_an_event_that_cannot_be_read_is_only_a_sign_of_life,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_captive_portal_is_not_taken_for_the_server,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_push_waits_no_longer_when_the_gateway_finds_the_server_again, scripted_setup,
            scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_refusal_without_a_problem_document_does_not_stop,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_long_explanation_is_cut_and_not_lost, scripted_setup,
                                        scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_server_of_another_protocol_version_stops,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_an_answer_to_a_cancelled_request_is_dropped,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_sync_ends_when_the_server_has_answered,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_large_body_is_fetched_by_its_hash_and_checked,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(
            test_the_parts_of_a_body_are_unpacked_within_the_limit_of_an_item, scripted_setup,
            scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_delta_with_too_many_large_bodies_is_read_in_pages,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test(test_a_page_with_too_many_large_bodies_is_cut),
        cmocka_unit_test_setup_teardown(
            test_outcomes_of_ids_that_were_never_given_out_are_not_asked_for, scripted_setup,
            scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_snapshot_is_paged_from_key_to_key, scripted_setup,
                                        scripted_teardown),
        cmocka_unit_test_setup_teardown(
            test_further_outcomes_are_fetched_before_the_pull_is_applied, scripted_setup,
            scripted_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_retired_client_rotates_and_sends_its_pending_as_origins, scripted_setup,
            scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_push_that_is_too_large_is_sent_in_parts,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_request_is_not_given_up_for_the_time_in_which_the_store_works, scripted_setup,
            scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_request_that_moves_is_not_given_up, scripted_setup,
                                        scripted_teardown),
        cmocka_unit_test(test_a_driver_without_memory_tries_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
