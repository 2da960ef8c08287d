/* The driver, when the server has lost items: the rest is applied, the app is told, and the lost
 * items are not requested again and again. */
#include "sdk/driver/driver_internal.h"
#include "tests/core/scripted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PUT_A "{\"op\":\"put\",\"key\":\"notes/a\",\"value\":{\"n\":1}}"
#define PUT_B "{\"op\":\"put\",\"key\":\"notes/b\",\"value\":{\"n\":2}}"

static char text[256];

/* As scripted_pulled, with a member `damaged`. */
static void pulled_damaged(scripted *s, int from, int version, const char *patch,
                           const char *damaged)
{
    char body[4096];
    assert_string_equal(s->pull.path, "pull");
    snprintf(body, sizeof body,
             "{\"cookie\":{\"order\":%d,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
             "\"patch\":[%s],\"kedge\":{\"from\":%d,\"version\":%d,\"lineage\":\"" LINEAGE
             "\",\"lmid\":0,\"retired\":false,\"known\":false,\"outcomes\":[],"
             "\"outcomes_next\":null,\"snapshot\":null,\"lost\":false,\"damaged\":%s}}",
             version, patch, from, version, damaged);
    scripted_respond_pull(s, 200, body);
}

static void poke(scripted *s, int version)
{
    snprintf(text, sizeof text, "{\"version\":%d}", version);
    kedge_driver_stream_up(s->driver);
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("poke"), kedge_bytes_of(text));
}

static void test_the_rest_is_applied_and_the_app_is_told_what_is_lost(void **state)
{
    scripted *s = *state;
    scripted_pulled(s, 0, 1, 0, PUT_A, "");
    poke(s, 2);
    pulled_damaged(s, 1, 2, PUT_B,
                   "{\"code\":\"items-damaged\",\"count\":3,\"keys\":[\"notes/a\",\"notes/c\"],"
                   "\"collections\":[]}");
    assert_int_equal(s->connection, KEDGE_ONLINE);
    assert_string_equal(s->error.code, "items-damaged");
    assert_non_null(strstr(s->error.message, "(3): notes/a, notes/c, …"));
    assert_int_equal(s->pull.number, 0);
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "{\"n\":1}");
    assert_string_equal(scripted_get(s, "b", text, sizeof text), "{\"n\":2}");
}

static void test_items_that_are_written_again_are_whole(void **state)
{
    scripted *s = *state;
    pulled_damaged(s, 0, 1, "{\"op\":\"clear\"}",
                   "{\"count\":2,\"keys\":[\"notes/a\",\"notes/b\"]}");
    assert_string_equal(s->error.code, "items-damaged");
    poke(s, 2);
    scripted_pulled(s, 1, 2, 0, PUT_A, "");
    assert_string_equal(s->error.code, "items-damaged");
    assert_null(strstr(s->error.message, "notes/a"));
    poke(s, 3);
    scripted_pulled(s, 2, 3, 0, "{\"op\":\"del\",\"key\":\"notes/b\"}", "");
    assert_string_equal(s->error.code, "");
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "{\"n\":1}");
}

/* Writes `format` for each of notes/n`first` to notes/n`last`. */
static void list_many(char *out, size_t size, const char *format, int first, int last)
{
    size_t used = 0;
    for (int i = first; i <= last; i++)
        used += (size_t)snprintf(out + used, size - used, format, i == first ? "" : ",", i);
    assert_true(used < size);
}

#define PUT_N  "%s{\"op\":\"put\",\"key\":\"notes/n%d\",\"value\":1}"
#define NAME_N "%s\"notes/n%d\""

static void test_many_items_that_are_written_again_are_whole_too(void **state)
{
    scripted *s = *state;
    char keys[1024], told[1200], patch[3000];
    list_many(keys, sizeof keys, NAME_N, 1, 40);
    snprintf(told, sizeof told, "{\"count\":40,\"keys\":[%s]}", keys);
    pulled_damaged(s, 0, 1, "{\"op\":\"clear\"}", told);
    assert_non_null(strstr(s->error.message, "(40): notes/n1, "));
    list_many(patch, sizeof patch, PUT_N, 1, 25);
    poke(s, 2);
    scripted_pulled(s, 1, 2, 0, patch, "");
    assert_non_null(strstr(s->error.message, "(15): "));
    list_many(patch, sizeof patch, PUT_N, 26, 40);
    poke(s, 3);
    scripted_pulled(s, 2, 3, 0, patch, "");
    assert_string_equal(s->error.code, "");
}

static void test_items_without_a_name_are_whole_once_as_many_were_written(void **state)
{
    scripted *s = *state;
    char patch[512];
    pulled_damaged(s, 0, 1, "{\"op\":\"clear\"}", "{\"count\":5,\"keys\":[\"notes/a\"]}");
    list_many(patch, sizeof patch, PUT_N, 1, 3);
    poke(s, 2);
    scripted_pulled(s, 1, 2, 0, patch, "");
    poke(s, 3);
    scripted_pulled(s, 2, 3, 0, PUT_A, "");
    assert_non_null(strstr(s->error.message, "(4): "));
    poke(s, 4);
    scripted_pulled(s, 3, 4, 0, PUT_B, "");
    assert_string_equal(s->error.code, "");
}

static void test_everything_pulled_anew_and_whole_ends_the_damage(void **state)
{
    scripted *s = *state;
    pulled_damaged(s, 0, 1, "{\"op\":\"clear\"}", "{\"count\":200,\"keys\":[\"notes/a\"]}");
    assert_non_null(strstr(s->error.message, "(200): notes/a, …"));
    poke(s, 2);
    scripted_pulled(s, 0, 2, 0, "{\"op\":\"clear\"}," PUT_B, "");
    assert_string_equal(s->error.code, "");
}

static void test_a_body_that_the_server_has_lost_is_not_asked_for_again(void **state)
{
    static const char *const codes[] = {"item-body-missing", "item-body-damaged"};
    scripted *s = *state;
    char patch[512];
    scripted_pulled(s, 0, 1, 0, "", "");
    snprintf(patch, sizeof patch,
             "{\"op\":\"put\",\"key\":\"notes/c\",\"hash\":\"%064d\",\"size\":7},"
             "{\"op\":\"put\",\"key\":\"notes/d\",\"hash\":\"%064d\",\"size\":7}," PUT_A,
             1, 2);
    poke(s, 2);
    scripted_pulled(s, 1, 2, 0, patch, "");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        assert_non_null(strstr(s->pull.path, "collections/notes/bodies/"));
        scripted_refuse_pull(s, 404, codes[i]);
    }
    assert_int_equal(s->pull.number, 0);
    assert_int_equal(s->connection, KEDGE_ONLINE);
    assert_string_equal(s->error.code, "items-damaged");
    assert_non_null(strstr(s->error.message, "(2): notes/c, notes/d"));
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "{\"n\":1}");
    assert_string_equal(scripted_get(s, "c", text, sizeof text), "");
}

static void test_pages_go_on_over_items_that_are_lost(void **state)
{
    scripted *s = *state;
    scripted_respond_pull(
        s, 200,
        "{\"cookie\":{\"order\":7,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
        "\"patch\":[],\"kedge\":{\"from\":0,\"version\":7,\"lineage\":\"" LINEAGE
        "\",\"lmid\":0,\"retired\":false,\"known\":false,\"outcomes\":[],\"outcomes_next\":null,"
        "\"snapshot\":{\"version\":7,\"lineage\":\"" LINEAGE "\"},\"lost\":false}}");
    scripted_respond_pull(s, 200,
                          "{\"version\":7,\"lineage\":\"" LINEAGE
                          "\",\"items\":[],\"next\":\"notes/b\",\"damaged\":{\"code\":"
                          "\"items-damaged\",\"count\":1,\"keys\":[\"notes/b\"]}}");
    assert_string_equal(s->pull.path, "snapshot?version=7&after=notes%2Fb");
    scripted_respond_pull(s, 200,
                          "{\"version\":7,\"lineage\":\"" LINEAGE
                          "\",\"items\":[{\"key\":\"notes/c\",\"value\":1}],\"next\":null,"
                          "\"damaged\":{\"count\":1,\"keys\":[\"notes/d\"]}}");
    assert_int_equal(s->pull.number, 0);
    assert_non_null(strstr(s->error.message, "(2): notes/b, notes/d"));
    assert_string_equal(scripted_get(s, "c", text, sizeof text), "1");
}

static void test_malformed_damage_makes_the_response_invalid(void **state)
{
    static const char *const wrong[] = {"1",
                                        "{}",
                                        "{\"count\":0,\"keys\":[]}",
                                        "{\"count\":1}",
                                        "{\"count\":1,\"keys\":[1]}",
                                        "{\"count\":1,\"keys\":{}}"};
    scripted *s = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pulled_damaged(s, 0, 1, PUT_A, wrong[i]);
        assert_int_equal(s->connection, KEDGE_CONNECTING);
        assert_string_equal(s->error.code, "response-invalid");
        scripted_timer(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_rest_is_applied_and_the_app_is_told_what_is_lost,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_items_that_are_written_again_are_whole, scripted_setup,
                                        scripted_teardown),
        cmocka_unit_test_setup_teardown(test_many_items_that_are_written_again_are_whole_too,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(
            test_items_without_a_name_are_whole_once_as_many_were_written, scripted_setup,
            scripted_teardown),
        cmocka_unit_test_setup_teardown(test_everything_pulled_anew_and_whole_ends_the_damage,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_a_body_that_the_server_has_lost_is_not_asked_for_again,
                                        scripted_setup, scripted_teardown),
        cmocka_unit_test_setup_teardown(test_pages_go_on_over_items_that_are_lost, scripted_setup,
                                        scripted_teardown),
        cmocka_unit_test_setup_teardown(test_malformed_damage_makes_the_response_invalid,
                                        scripted_setup, scripted_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
