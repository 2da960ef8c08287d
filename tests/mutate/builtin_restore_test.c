/* The built-in mutator kedge.restore: what is as expected is put back, and nothing else. */
#include "tests/mutate/tx_fixture.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* `changes`: each without its collection. */
static kedge_status restore(tx_fixture *fixture, const char *changes)
{
    char args[1024];
    snprintf(args, sizeof args, "{\"changes\":[%s]}", changes);
    return tx_fixture_run(fixture, "kedge.restore", args);
}

#define AT(id, path, rest)                                                                         \
    "{\"collection\":\"notes\",\"id\":\"" id "\",\"path\":\"" path "\"" rest "}"

#define OF_TEXT(expected, value)                                                                   \
    ",\"expected\":\"" expected "\",\"text\":true,\"value\":\"" value "\""

static void restores(tx_fixture *fixture, const char *changes)
{
    kedge_status status = restore(fixture, changes);
    if (status != KEDGE_OK) fail_msg("%s: %s", changes, fixture->error.message);
}

static void refuses(tx_fixture *fixture, const char *changes, const char *code, const char *word)
{
    kedge_status status = restore(fixture, changes);
    if (status != KEDGE_REJECTED || strcmp(fixture->error.code, code) != 0 ||
        strstr(fixture->error.message, word) == NULL)
        fail_msg("%s: %d, %s: %s", changes, (int)status, fixture->error.code,
                 fixture->error.message);
}

static void assert_item(tx_fixture *fixture, const char *id, const char *value)
{
    const char *item = tx_fixture_item(fixture, "notes", id);
    if (value == NULL)
        assert_null(item);
    else
        assert_string_equal(item, value);
}

static void test_values_that_are_as_expected_are_put_back(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"a\":1,\"b\":{\"c\":[2]},\"d\":3}");
    restores(fixture, AT("1", "/a", ",\"expected\":1,\"value\":\"x\"") "," AT(
                          "1", "/b/c", ",\"expected\":[2]") "," AT("1", "/b/e", ",\"value\":null"));
    assert_item(fixture, "1", "{\"a\":\"x\",\"b\":{\"e\":null},\"d\":3}");
    restores(fixture, AT("1", "/d", ",\"expected\":3"));
    assert_item(fixture, "1", "{\"a\":\"x\",\"b\":{\"e\":null}}");
}

static void test_what_somebody_changed_since_stays(void **state)
{
    tx_fixture *fixture = *state;
    static const char *const others[] = {
        AT("1", "/a", ",\"expected\":7,\"value\":0"),
        AT("1", "/c", ",\"expected\":2"),
        AT("1", "/a", ",\"value\":0"),
        AT("1", "/x/y", ",\"value\":0"),
        AT("1", "/a/b", ",\"value\":0"),
        AT("2", "/a", ",\"value\":0"),
    };
    tx_fixture_put(fixture, "1", "{\"a\":1,\"b\":2}");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char changes[512];
        refuses(fixture, others[i], "restore-conflict", "1 places");
        snprintf(changes, sizeof changes, "%s," AT("1", "/b", ",\"expected\":2,\"value\":0"),
                 others[i]);
        restores(fixture, changes);
        assert_item(fixture, "1", "{\"a\":1,\"b\":0}");
        tx_fixture_put(fixture, "1", "{\"a\":1,\"b\":2}");
    }
}

static void test_items_come_and_go_whole(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"a\":1}");
    restores(fixture, AT("1", "", ",\"expected\":{\"a\":1}") "," AT("2", "", ",\"value\":[5]"));
    assert_item(fixture, "1", NULL);
    assert_item(fixture, "2", "[5]");
    refuses(fixture, AT("2", "", ",\"expected\":[6]"), "restore-conflict", "changed");
    restores(fixture, AT("2", "/x", ""));
    assert_item(fixture, "2", "[5]");
    refuses(fixture, AT("2", "/0", ",\"expected\":5"), "restore-conflict", "changed");
    restores(fixture, AT("1", "", ",\"value\":{\"a\":1}") "," AT("1", "/b", ",\"value\":2"));
    assert_item(fixture, "1", "{\"a\":1,\"b\":2}");
    restores(fixture, AT("1", "/c", "")); /* nothing was there, and shall be */
    assert_item(fixture, "1", "{\"a\":1,\"b\":2}");
    restores(fixture, "");
}

static void test_the_project_record_is_restored_too(void **state)
{
    tx_fixture *fixture = *state;
    assert_int_equal(tx_fixture_run(fixture, "kedge.project", "{\"name\":\"b\"}"), KEDGE_OK);
    restores(fixture, "{\"collection\":\"\",\"id\":\"\",\"path\":\"/name\",\"expected\":\"b\","
                      "\"value\":\"a\"}");
    assert_string_equal(tx_fixture_item(fixture, "", ""), "{\"name\":\"a\"}");
    restores(fixture,
             "{\"collection\":\"\",\"id\":\"\",\"path\":\"\",\"expected\":{\"name\":\"a\"}}");
    assert_string_equal(tx_fixture_item(fixture, "", ""), "{}");
    restores(fixture, "{\"collection\":\"\",\"id\":\"\",\"path\":\"\",\"expected\":{},"
                      "\"value\":{\"name\":\"c\"}}");
    assert_string_equal(tx_fixture_item(fixture, "", ""), "{\"name\":\"c\"}");
}

static void test_a_text_goes_back_around_the_edits_of_others(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"t\":\"milk and red bread, jam\"}");
    restores(fixture,
             AT("1", "/t",
                ",\"expected\":\"milk and red bread\",\"text\":true,\"value\":\"milk and bread\""));
    assert_item(fixture, "1", "{\"t\":\"milk and bread, jam\"}");
    refuses(
        fixture,
        AT("1", "/t", ",\"expected\":\"milk and old bread, jam\",\"text\":true,\"value\":\"x\""),
        "restore-conflict", "changed");
    assert_item(fixture, "1", "{\"t\":\"milk and bread, jam\"}");
    /* Others have taken it back themselves, or made it no text. */
    refuses(fixture,
            AT("1", "/t", ",\"expected\":\"milk\",\"text\":true,\"value\":\"milk and bread, jam\""),
            "restore-conflict", "changed");
    tx_fixture_put(fixture, "1", "{\"t\":5}");
    refuses(fixture, AT("1", "/t", ",\"expected\":\"\",\"text\":true,\"value\":\"a\""),
            "restore-conflict", "changed");
}

static kedge_status change_text(tx_fixture *fixture, int times)
{
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&args, "{\"changes\":[");
    for (int i = 0; i < times; i++)
        kedge_buffer_append_format(&args, "%s%s", i > 0 ? "," : "",
                                   i % 2 == 0 ? AT("1", "/t", OF_TEXT("a b", "b"))
                                              : AT("1", "/t", OF_TEXT("b", "a b")));
    kedge_buffer_append_text(&args, "]}");
    kedge_status status = tx_fixture_run(fixture, "kedge.restore", args.data);
    kedge_buffer_free(&args);
    return status;
}

/* Each change reads the text, merges it, and writes it: the twentieth write is one too many. */
static void test_changes_of_a_large_text_cost_its_size_each_time(void **state)
{
    tx_fixture *fixture = *state;
    kedge_buffer put = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&put,
                             "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"t\":\"a b ");
    while (put.size < 1109000)
        kedge_buffer_append_byte(&put, 'x');
    kedge_buffer_append_text(&put, "\"}}");
    assert_int_equal(tx_fixture_run(fixture, "kedge.put", put.data), KEDGE_OK);
    assert_int_equal(change_text(fixture, 20), KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, "mutation-too-costly");
    assert_memory_equal(tx_fixture_item(fixture, "notes", "1"), "{\"t\":\"a b xxx", 13);
    assert_int_equal(change_text(fixture, 18), KEDGE_OK);
    kedge_buffer_free(&put);
}

static void test_a_number_is_taken_back_from_what_it_is_now(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"n\":12,\"t\":\"a\",\"x\":0.5}");
    restores(fixture, AT("1", "/n", ",\"add\":-2") "," AT("1", "/t", ",\"add\":1") "," AT(
                          "1", "/x", ",\"add\":1"));
    assert_item(fixture, "1", "{\"n\":10,\"t\":\"a\",\"x\":0.5}");
    tx_fixture_put(fixture, "1", "{\"n\":9007199254740990}");
    restores(fixture, AT("1", "/n", ",\"add\":1") "," AT("1", "/n", ",\"add\":1") "," AT(
                          "1", "/none", ",\"add\":1"));
    assert_item(fixture, "1", "{\"n\":9007199254740991}");
}

static void test_a_number_that_was_not_there_goes_unless_others_have_added_to_it(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"m\":2,\"n\":3}");
    restores(fixture, AT("1", "/m", ",\"add\":-2,\"expected\":2") "," AT(
                          "1", "/n", ",\"add\":-2,\"expected\":2"));
    assert_item(fixture, "1", "{\"n\":1}");
    /* And again. */
    restores(fixture,
             AT("1", "/m", ",\"add\":2,\"value\":2") "," AT("1", "/n", ",\"add\":2,\"value\":2"));
    assert_item(fixture, "1", "{\"m\":2,\"n\":3}");
    tx_fixture_put(fixture, "1", "{\"m\":\"two\"}");
    refuses(fixture, AT("1", "/m", ",\"add\":-2,\"expected\":2"), "restore-conflict", "changed");
    refuses(fixture, AT("1", "/none", ",\"add\":-2,\"expected\":2"), "restore-conflict", "changed");
}

static void test_a_read_that_fails_decides_nothing(void **state)
{
    tx_fixture *fixture = *state;
    fixture->fail_read = 1;
    assert_int_equal(restore(fixture, AT("1", "", ",\"value\":1")), KEDGE_IO);
    fixture->fail_read = 1;
    assert_int_equal(
        restore(fixture, "{\"collection\":\"\",\"id\":\"\",\"path\":\"\",\"value\":{}}"), KEDGE_IO);
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
}

static void test_args_that_are_none_are_refused_with_what_is_wrong(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"a\":1}");
    refuses(fixture, "5", "args-invalid", "change 0");
    refuses(fixture, AT("1", "a", ",\"value\":1"), "args-invalid", "Pointer");
    refuses(fixture, AT("1", "/a", ",\"valu\":1"), "args-invalid", "unknown");
    refuses(fixture, AT("1", "/a", ",\"expected\":\"x\",\"text\":true"), "args-invalid", "strings");
    refuses(fixture, AT("1", "/a", ",\"expected\":\"x\",\"text\":true,\"value\":1"), "args-invalid",
            "strings");
    refuses(fixture, AT("1", "/a", ",\"expected\":1,\"text\":true,\"value\":\"x\""), "args-invalid",
            "strings");
    refuses(fixture, AT("1", "/a", ",\"text\":1"), "args-invalid", "true or false");
    refuses(fixture, AT("1", "/a", ",\"add\":\"x\""), "args-invalid", "number");
    refuses(fixture, AT("1", "/a", ",\"add\":1,\"expected\":1,\"value\":1"), "args-invalid", "add");
    refuses(fixture, "{\"collection\":7,\"id\":\"1\",\"path\":\"\"}", "args-invalid", "strings");
    refuses(fixture, "{\"collection\":\"notes\",\"path\":\"\"}", "args-invalid", "strings");
    refuses(fixture, "{\"collection\":\"notes\",\"id\":\"1\"}", "args-invalid", "path");
    refuses(fixture, "{\"collection\":\"no/tes\",\"id\":\"1\",\"path\":\"\"}", "args-invalid",
            "collection");
    refuses(fixture, "{\"collection\":\"\",\"id\":\"1\",\"path\":\"\"}", "args-invalid", "project");
    refuses(fixture, AT("1", "/a", ",\"expected\":1,\"value\":2") ",7", "args-invalid", "change 1");
    assert_item(fixture, "1", "{\"a\":1}");
    assert_int_equal(tx_fixture_run(fixture, "kedge.restore", "[]"), KEDGE_REJECTED);
    assert_int_equal(tx_fixture_run(fixture, "kedge.restore", "{\"changes\":{}}"), KEDGE_REJECTED);
    assert_int_equal(tx_fixture_run(fixture, "kedge.restore", "{\"changes\":[],\"x\":1}"),
                     KEDGE_REJECTED);
}

#define REMOVE_A AT("1", "/a", ",\"expected\":1")
#define ADD_TO_N AT("1", "/n", ",\"add\":1")
#define MAKE_NEW AT("1", "/o/new", ",\"value\":1")
#define MERGE_T  AT("1", "/t", ",\"expected\":\"a b\",\"text\":true,\"value\":\"b\"")
#define MAKE_2   AT("2", "", ",\"value\":1")

static bool restore_with(const kedge_allocator *allocator, void *context)
{
    (void)context;
    tx_fixture fixture;
    kedge_status status = KEDGE_NO_MEMORY;
    if (tx_fixture_open(&fixture, allocator, NULL, 0)) {
        status = tx_fixture_run(&fixture, "kedge.put",
                                "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"a\":1,\"n\":1,"
                                "\"o\":{},\"t\":\"a b c\"}}");
        if (status == KEDGE_OK)
            status = restore(&fixture, REMOVE_A "," ADD_TO_N "," MAKE_NEW "," MERGE_T "," MAKE_2);
        assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
        if (status == KEDGE_OK)
            assert_item(&fixture, "1", "{\"n\":2,\"o\":{\"new\":1},\"t\":\"b c\"}");
    }
    tx_fixture_close(&fixture);
    return status == KEDGE_OK;
}

static void test_a_restore_without_memory_is_not_decided(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(restore_with, NULL, 1000) > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tx_fixture_set_up, tx_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values_that_are_as_expected_are_put_back),
        TEST(test_what_somebody_changed_since_stays),
        TEST(test_items_come_and_go_whole),
        TEST(test_the_project_record_is_restored_too),
        TEST(test_a_text_goes_back_around_the_edits_of_others),
        TEST(test_changes_of_a_large_text_cost_its_size_each_time),
        TEST(test_a_number_is_taken_back_from_what_it_is_now),
        TEST(test_a_number_that_was_not_there_goes_unless_others_have_added_to_it),
        TEST(test_a_read_that_fails_decides_nothing),
        TEST(test_args_that_are_none_are_refused_with_what_is_wrong),
        cmocka_unit_test(test_a_restore_without_memory_is_not_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
