/* The built-in mutator kedge.text, as edits of several copies meet it. */
#include "common/json.h"
#include "tests/mutate/tx_fixture.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kedge_status edit_at(tx_fixture *fixture, const char *path, const char *base,
                            const char *text)
{
    char args[512];
    snprintf(args, sizeof args,
             "{\"base\":%s,\"collection\":\"notes\",\"id\":\"1\",\"path\":%s,\"text\":%s}", base,
             path, text);
    return tx_fixture_run(fixture, "kedge.text", args);
}

static void edits(tx_fixture *fixture, const char *base, const char *text)
{
    kedge_status status = edit_at(fixture, "\"/text\"", base, text);
    if (status != KEDGE_OK) fail_msg("%s: %s", base, fixture->error.message);
}

static void refuses(tx_fixture *fixture, kedge_status status, const char *code, const char *word)
{
    assert_int_equal(status, KEDGE_REJECTED);
    if (strcmp(fixture->error.code, code) != 0 || strstr(fixture->error.message, word) == NULL)
        fail_msg("%s: %s", fixture->error.code, fixture->error.message);
}

static void assert_item(tx_fixture *fixture, const char *value)
{
    assert_string_equal(tx_fixture_item(fixture, "notes", "1"), value);
}

static void test_two_edits_of_one_text_both_survive(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"tags\":[1],\"text\":\"milk\\nbread\\n\",\"title\":\"t\"}");
    edits(fixture, "\"milk\\nbread\\n\"", "\"milk\\nbread\\njam\\n\"");
    edits(fixture, "\"milk\\nbread\\n\"", "\"oat milk\\nbread\\n\"");
    assert_item(fixture, "{\"tags\":[1],\"text\":\"oat milk\\nbread\\njam\\n\",\"title\":\"t\"}");
}

static void test_edits_of_the_same_words_stay_both(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"text\":\"at nine\"}");
    edits(fixture, "\"at nine\"", "\"at ten\"");
    edits(fixture, "\"at nine\"", "\"at eight\"");
    assert_item(fixture, "{\"text\":\"at ten eight\"}");
}

static void test_an_edit_that_changes_nothing_writes_nothing(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"text\":\"a\"}");
    size_t count = kedge_overlay_count(fixture->overlay);
    edits(fixture, "\"b\"", "\"b\"");
    edits(fixture, "\"b\"", "\"a\"");
    assert_item(fixture, "{\"text\":\"a\"}");
    assert_int_equal(kedge_overlay_count(fixture->overlay), count);
}

static void test_an_edit_of_an_empty_text_makes_the_member(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"a\":1,\"z\":{}}");
    edits(fixture, "\"\"", "\"new\"");
    assert_item(fixture, "{\"a\":1,\"text\":\"new\",\"z\":{}}");
    assert_int_equal(edit_at(fixture, "\"/z/b\"", "\"\"", "\"in\""), KEDGE_OK);
    assert_item(fixture, "{\"a\":1,\"text\":\"new\",\"z\":{\"b\":\"in\"}}");
    tx_fixture_put(fixture, "1", "\"whole\"");
    assert_int_equal(edit_at(fixture, "\"\"", "\"whole\"", "\"the whole\""), KEDGE_OK);
    assert_item(fixture, "\"the whole\"");
}

static void test_an_edit_of_what_is_gone_or_no_text_is_refused(void **state)
{
    tx_fixture *fixture = *state;
    refuses(fixture, edit_at(fixture, "\"/text\"", "\"\"", "\"x\""), "item-not-found", "notes");
    tx_fixture_put(fixture, "1", "{\"list\":[\"a\"],\"text\":5}");
    refuses(fixture, edit_at(fixture, "\"/text\"", "\"\"", "\"x\""), "text-conflict", "no text");
    refuses(fixture, edit_at(fixture, "\"\"", "\"\"", "\"x\""), "text-conflict", "no text");
    refuses(fixture, edit_at(fixture, "\"/gone\"", "\"was\"", "\"x\""), "text-conflict", "removed");
    refuses(fixture, edit_at(fixture, "\"/list/1\"", "\"\"", "\"x\""), "text-conflict", "object");
    refuses(fixture, edit_at(fixture, "\"/text/in\"", "\"\"", "\"x\""), "text-conflict", "object");
    refuses(fixture, edit_at(fixture, "\"/no/text\"", "\"\"", "\"x\""), "text-conflict", "object");
    assert_item(fixture, "{\"list\":[\"a\"],\"text\":5}");
}

static void test_args_that_are_none_are_refused_with_what_is_wrong(void **state)
{
    tx_fixture *fixture = *state;
    tx_fixture_put(fixture, "1", "{\"text\":\"a\"}");
    refuses(fixture, edit_at(fixture, "\"/text\"", "7", "\"b\""), "args-invalid", "base");
    refuses(fixture, edit_at(fixture, "\"/text\"", "\"a\"", "null"), "args-invalid", "text");
    refuses(fixture, edit_at(fixture, "\"text\"", "\"a\"", "\"b\""), "args-invalid", "path");
    refuses(fixture, edit_at(fixture, "\"/~2\"", "\"a\"", "\"b\""), "args-invalid", "'~'");
    refuses(fixture, edit_at(fixture, "1", "\"a\"", "\"b\""), "args-invalid", "path");
    refuses(fixture, edit_at(fixture, "\"/text\",\"more\":1", "\"a\"", "\"b\""), "args-invalid",
            "more");
    refuses(fixture, edit_at(fixture, "\"/text\"", "\"a\"", "\"\\ud800\""), "args-invalid", "args");
    refuses(fixture, tx_fixture_run(fixture, "kedge.text", "{\"collection\":\"a\",\"id\":\"b\"}"),
            "args-invalid", "path");
    refuses(fixture, tx_fixture_run(fixture, "kedge.text", "[]"), "args-invalid", "\"base\"");
    assert_item(fixture, "{\"text\":\"a\"}");
}

#define LONG                                                                                       \
    "longer than the text itself, so that the item needs more memory than the text; longer than "  \
    "the text itself, so that the item needs more memory than the text; longer than the text too"

static bool edit_with(const kedge_allocator *allocator, void *context)
{
    (void)context;
    tx_fixture fixture;
    kedge_status status = KEDGE_NO_MEMORY;
    if (tx_fixture_open(&fixture, allocator, NULL, 0)) {
        status = tx_fixture_run(&fixture, "kedge.put",
                                "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"long\":\"" LONG
                                "\",\"text\":\"a b\"}}");
        if (status == KEDGE_OK) status = edit_at(&fixture, "\"/text\"", "\"a\"", "\"c a\"");
        if (status == KEDGE_OK) status = edit_at(&fixture, "\"/made\"", "\"\"", "\"x\"");
        assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
        if (status == KEDGE_OK)
            assert_item(&fixture, "{\"long\":\"" LONG "\",\"made\":\"x\",\"text\":\"c a b\"}");
    }
    tx_fixture_close(&fixture);
    return status == KEDGE_OK;
}

static void test_an_edit_without_memory_is_not_decided(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(edit_with, NULL, 200) > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tx_fixture_set_up, tx_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_two_edits_of_one_text_both_survive),
        TEST(test_edits_of_the_same_words_stay_both),
        TEST(test_an_edit_that_changes_nothing_writes_nothing),
        TEST(test_an_edit_of_an_empty_text_makes_the_member),
        TEST(test_an_edit_of_what_is_gone_or_no_text_is_refused),
        TEST(test_args_that_are_none_are_refused_with_what_is_wrong),
        cmocka_unit_test(test_an_edit_without_memory_is_not_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
