/* The built-in mutators, as a client's edits meet them. */
#include "mutate/builtin.h"

#include "tests/mutate/tx_fixture.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void applies(tx_fixture *fixture, const char *name, const char *args)
{
    kedge_status status = tx_fixture_run(fixture, name, args);
    if (status != KEDGE_OK) print_error("%s %s: %s\n", name, args, fixture->error.message);
    assert_int_equal(status, KEDGE_OK);
}

/* Refused with the code, and the message names `word`. */
static void refuses(tx_fixture *fixture, const char *name, const char *args, const char *code,
                    const char *word)
{
    size_t count = kedge_overlay_count(fixture->overlay);
    assert_int_equal(tx_fixture_run(fixture, name, args), KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, code);
    if (strstr(fixture->error.message, word) == NULL) {
        fail_msg("\"%s\" does not name %s", fixture->error.message, word);
    }
    assert_int_equal(kedge_overlay_count(fixture->overlay), count);
}

static void test_put_takes_any_json_value_and_makes_it_canonical(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "kedge.put",
            "{\"value\": {\"b\":1.0, \"a\":[ ]}, \"id\":\"1\", \"collection\":\"notes\"}");
    assert_string_equal(tx_fixture_item(fixture, "notes", "1"), "{\"a\":[],\"b\":1}");
    applies(fixture, "kedge.put", "{\"collection\":\"notes\",\"id\":\"\",\"value\":null}");
    assert_string_equal(tx_fixture_item(fixture, "notes", ""), "null");
}

static void test_increment_adds_to_what_is_there_and_makes_what_is_not(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "kedge.increment",
            "{\"collection\":\"polls\",\"id\":\"p\",\"add\":{\"votes\":1,\"by\":{\"ann\":2}}}");
    assert_string_equal(tx_fixture_item(fixture, "polls", "p"), "{\"by\":{\"ann\":2},\"votes\":1}");
    applies(fixture, "kedge.merge",
            "{\"collection\":\"polls\",\"id\":\"p\",\"patch\":{\"a\":[1],\"title\":\"t\"}}");
    applies(fixture, "kedge.increment",
            "{\"collection\":\"polls\",\"id\":\"p\",\"add\":{\"b\":0.5,\"by\":{\"ann\":-2,"
            "\"bob\":1},\"votes\":9007199254740990}}");
    assert_string_equal(tx_fixture_item(fixture, "polls", "p"),
                        "{\"a\":[1],\"b\":0.5,\"by\":{\"ann\":0,\"bob\":1},\"title\":\"t\","
                        "\"votes\":9007199254740991}");
    applies(fixture, "kedge.increment", "{\"collection\":\"polls\",\"id\":\"p\",\"add\":{}}");
    applies(fixture, "kedge.increment",
            "{\"collection\":\"polls\",\"id\":\"p\",\"add\":{\"b\":1}}");
    assert_non_null(strstr(tx_fixture_item(fixture, "polls", "p"), "\"b\":1.5,"));
}

#define LONG_NAME "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

static void test_increment_refuses_what_cannot_be_added(void **state)
{
    tx_fixture *fixture = *state;
    static const struct {
        const char *add, *code, *word;
    } cases[] = {
        {"1", "args-invalid", "add"},
        {"{\"n\":\"1\"}", "args-invalid", "\"n\""},
        {"{\"n\":{\"m\":null}}", "args-invalid", "\"m\""},
        {"{\"text\":1}", "increment-of-no-number", "\"text\""},
        {"{\"text\":1,\"z\":1}", "increment-of-no-number", "\"text\""},
        {"{\"" LONG_NAME "\":null}", "args-invalid", "the member \"nnnn"},
        {"{\"list\":{\"0\":1}}", "increment-of-no-number", "no object"},
        {"{\"big\":1}", "increment-out-of-range", "\"big\""},
        {"{\"huge\":1.7e308}", "increment-out-of-range", "\"huge\""},
    };
    applies(fixture, "kedge.put",
            "{\"collection\":\"polls\",\"id\":\"p\",\"value\":{\"big\":9007199254740991,"
            "\"huge\":1.7e308,\"list\":[1],\"text\":\"1\"}}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[256];
        snprintf(args, sizeof args, "{\"collection\":\"polls\",\"id\":\"p\",\"add\":%s}",
                 cases[i].add);
        refuses(fixture, "kedge.increment", args, cases[i].code, cases[i].word);
    }
    applies(fixture, "kedge.put", "{\"collection\":\"polls\",\"id\":\"p\",\"value\":[]}");
    refuses(fixture, "kedge.increment", "{\"collection\":\"polls\",\"id\":\"p\",\"add\":{\"n\":1}}",
            "increment-of-no-number", "item");
}

static void test_put_names_the_member_that_is_wrong(void **state)
{
    tx_fixture *fixture = *state;
    refuses(fixture, "kedge.put", "[]", "args-invalid", "object");
    refuses(fixture, "kedge.increment", "[]", "args-invalid", "object");
    refuses(fixture, "kedge.put", "{\"id\":\"1\",\"value\":1}", "args-invalid", "\"collection\"");
    refuses(fixture, "kedge.put", "{\"collection\":\"c\",\"value\":1}", "args-invalid", "\"id\"");
    refuses(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":\"1\"}", "args-invalid",
            "\"value\"");
    refuses(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":7,\"value\":1}", "args-invalid",
            "\"id\"");
    refuses(fixture, "kedge.put", "{\"collection\":\"a/b\",\"id\":\"1\",\"value\":1}",
            "args-invalid", "\"collection\"");
    refuses(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1,\"valeu\":2}",
            "args-invalid", "\"valeu\"");
    refuses(fixture, "kedge.put", "{\"collection\":\"c\"", "args-invalid", "args");
    refuses(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":\"\\ud800\",\"value\":1}",
            "args-invalid", "args");
}

static void test_an_item_id_has_at_most_512_bytes(void **state)
{
    tx_fixture *fixture = *state;
    char args[700];
    char id[514];
    memset(id, 'x', sizeof id);
    id[512] = '\0';
    snprintf(args, sizeof args, "{\"collection\":\"c\",\"id\":\"%s\",\"value\":1}", id);
    applies(fixture, "kedge.put", args);
    assert_string_equal(tx_fixture_item(fixture, "c", id), "1");
    id[512] = 'x';
    id[513] = '\0';
    snprintf(args, sizeof args, "{\"collection\":\"c\",\"id\":\"%s\",\"value\":1}", id);
    refuses(fixture, "kedge.put", args, "args-invalid", "512");
}

static void test_merge_creates_changes_and_replaces(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "kedge.merge",
            "{\"collection\":\"c\",\"id\":\"1\",\"patch\":{\"a\":1,\"b\":null}}");
    assert_string_equal(tx_fixture_item(fixture, "c", "1"), "{\"a\":1}");
    applies(fixture, "kedge.merge",
            "{\"collection\":\"c\",\"id\":\"1\",\"patch\":{\"a\":null,\"c\":{\"d\":2}}}");
    assert_string_equal(tx_fixture_item(fixture, "c", "1"), "{\"c\":{\"d\":2}}");
    applies(fixture, "kedge.merge", "{\"collection\":\"c\",\"id\":\"1\",\"patch\":[1]}");
    applies(fixture, "kedge.merge", "{\"collection\":\"c\",\"id\":\"1\",\"patch\":{\"x\":1}}");
    assert_string_equal(tx_fixture_item(fixture, "c", "1"), "{\"x\":1}");
    refuses(fixture, "kedge.merge", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}",
            "args-invalid", "\"value\"");
}

static void test_patch_changes_what_is_there_and_refuses_the_rest(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":{\"n\":[1]}}");
    applies(fixture, "kedge.patch",
            "{\"collection\":\"c\",\"id\":\"1\",\"patch\":"
            "[{\"op\":\"test\",\"path\":\"/n/0\",\"value\":1.0},"
            "{\"op\":\"add\",\"path\":\"/n/-\",\"value\":2}]}");
    assert_string_equal(tx_fixture_item(fixture, "c", "1"), "{\"n\":[1,2]}");
    refuses(fixture, "kedge.patch",
            "{\"collection\":\"c\",\"id\":\"1\",\"patch\":"
            "[{\"op\":\"remove\",\"path\":\"/n\"},"
            "{\"op\":\"test\",\"path\":\"/m\",\"value\":1}]}",
            "patch-path-not-found", "operation 1");
    refuses(fixture, "kedge.patch",
            "{\"collection\":\"c\",\"id\":\"1\",\"patch\":"
            "[{\"op\":\"test\",\"path\":\"/n/0\",\"value\":2}]}",
            "patch-test-failed", "operation 0");
    refuses(fixture, "kedge.patch",
            "{\"collection\":\"c\",\"id\":\"1\",\"patch\":[{\"op\":\"remove\",\"path\":\"\"}]}",
            "patch-removes-root", "kedge.delete");
    refuses(fixture, "kedge.patch", "{\"collection\":\"c\",\"id\":\"2\",\"patch\":[]}",
            "item-not-found", "c/2");
    refuses(fixture, "kedge.patch", "{\"collection\":\"c\",\"id\":\"1\",\"patch\":{}}",
            "args-invalid", "\"patch\"");
    assert_string_equal(tx_fixture_item(fixture, "c", "1"), "{\"n\":[1,2]}");
}

/* The message is a part of the outcome, so it is the same wherever the args were written. */
static void test_a_patch_names_the_pointer_that_leads_nowhere(void **state)
{
    tx_fixture *fixture = *state;
    static const struct {
        const char *operation, *message;
    } cases[] = {
        {"\"op\":\"test\",\"path\":\"/m\",\"value\":1",
         "operation 0 (test): there is nothing at \"path\": \"/m\""},
        {"\"value\":1,\"path\" : \"\\u002f\\u006d\\/a~1b\",\"op\":\"add\"",
         "operation 0 (add): there is nothing at \"path\": \"/m/a~1b\""},
        {"\"op\":\"add\",\"path\":\"/n/2\",\"value\":1",
         "operation 0 (add): there is nothing at \"path\": \"/n/2\""},
        {"\"op\":\"move\",\"path\":\"/m\",\"from\":\"/a\\u0022b\"",
         "operation 0 (move): there is nothing at \"from\": \"/a\\\"b\""},
        {"\"op\":\"copy\",\"path\":\"/m/x\",\"from\":\"/n\"",
         "operation 0 (copy): there is nothing at \"path\": \"/m/x\""},
        {"\"op\":\"remove\",\"path\":\"/" LONG_NAME "\"",
         "operation 0 (remove): there is nothing at \"path\": \"/"
         "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"},
        /* cut within a character of two bytes */
        {"\"op\":\"remove\",\"path\":\"/"
         "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnäx\"",
         "operation 0 (remove): there is nothing at \"path\": \"/"
         "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn?"},
    };
    applies(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":{\"n\":[1]}}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[256];
        snprintf(args, sizeof args, "{\"collection\":\"c\",\"id\":\"1\",\"patch\":[{%s}]}",
                 cases[i].operation);
        refuses(fixture, "kedge.patch", args, "patch-path-not-found", "");
        assert_string_equal(fixture->error.message, cases[i].message);
    }
}

static void test_delete_of_an_absent_item_applies_without_a_change(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "kedge.delete", "{\"collection\":\"c\",\"id\":\"1\"}");
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
    applies(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}");
    applies(fixture, "kedge.delete", "{\"collection\":\"c\",\"id\":\"1\"}");
    assert_null(tx_fixture_item(fixture, "c", "1"));
    refuses(fixture, "kedge.delete", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}",
            "args-invalid", "\"value\"");
}

static void test_project_merges_into_the_record_and_keeps_it_small(void **state)
{
    tx_fixture *fixture = *state;
    char args[1700];
    applies(fixture, "kedge.project", "{\"name\":\"Kitchen\",\"none\":null}");
    assert_string_equal(tx_fixture_item(fixture, "", ""), "{\"name\":\"Kitchen\"}");
    applies(fixture, "kedge.project", "{\"name\":null}");
    assert_string_equal(tx_fixture_item(fixture, "", ""), "{}");
    refuses(fixture, "kedge.project", "[]", "args-invalid", "object");

    /* {"n":"…"} has 8 bytes around its text. */
    snprintf(args, sizeof args, "{\"n\":\"%0*d\"}", 1536 - 8, 0);
    applies(fixture, "kedge.project", args);
    snprintf(args, sizeof args, "{\"n\":\"%0*d\"}", 1537 - 8, 0);
    refuses(fixture, "kedge.project", args, "project-record-too-large", "1536");
}

static void test_noop_applies_without_a_change(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "kedge.noop", "null");
    applies(fixture, "kedge.noop", "");
    applies(fixture, "kedge.noop", "{}");
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
}

static void test_a_result_that_is_nested_too_deep_is_refused(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":{\"x\":{}}}");
    for (int depth = 2; depth < 64; depth++) {
        applies(fixture, "kedge.patch",
                "{\"collection\":\"c\",\"id\":\"1\",\"patch\":["
                "{\"op\":\"add\",\"path\":\"/y\",\"value\":{}},"
                "{\"op\":\"move\",\"from\":\"/x\",\"path\":\"/y/x\"},"
                "{\"op\":\"move\",\"from\":\"/y\",\"path\":\"/x\"}]}");
    }
    refuses(fixture, "kedge.patch",
            "{\"collection\":\"c\",\"id\":\"1\",\"patch\":["
            "{\"op\":\"add\",\"path\":\"/y\",\"value\":{}},"
            "{\"op\":\"move\",\"from\":\"/x\",\"path\":\"/y/x\"}]}",
            "json-too-deep", "64");
}

static bool edit_with(const kedge_allocator *allocator, void *context)
{
    (void)context;
    static const char *const edits[][2] = {
        {"kedge.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":{\"a\":[1,2]}}"},
        {"kedge.merge", "{\"collection\":\"c\",\"id\":\"1\",\"patch\":{\"b\":{\"c\":1}}}"},
        {"kedge.patch", "{\"collection\":\"c\",\"id\":\"1\",\"patch\":"
                        "[{\"op\":\"add\",\"path\":\"/b/d\",\"value\":1}]}"},
        {"kedge.increment",
         "{\"collection\":\"c\",\"id\":\"1\",\"add\":{\"b\":{\"d\":1},\"n\":1}}"},
        {"kedge.project", "{\"name\":\"Kitchen\"}"},
        {"kedge.delete", "{\"collection\":\"c\",\"id\":\"1\"}"},
    };
    tx_fixture fixture;
    bool well = tx_fixture_open(&fixture, allocator, NULL, 0);
    for (size_t i = 0; i < sizeof edits / sizeof *edits && well; i++) {
        kedge_status status = tx_fixture_run(&fixture, edits[i][0], edits[i][1]);
        /* Memory that runs out must never look like a decision. */
        assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
        well = status == KEDGE_OK;
    }
    tx_fixture_close(&fixture);
    return well;
}

static void test_an_unknown_member_is_named_and_a_long_one_is_cut(void **state)
{
    tx_fixture *fixture = *state;
    char args[256];
    char name[101] = {0};
    memset(name, 'n', sizeof name - 1);
    refuses(fixture, "kedge.delete", "[]", "args-invalid", "object");
    refuses(fixture, "kedge.delete", "{\"nmae\":1}", "args-invalid", "nmae");
    refuses(fixture, "kedge.patch", "{\"ptach\":[]}", "args-invalid", "ptach");
    (void)snprintf(args, sizeof args, "{\"%s\":1}", name);
    refuses(fixture, "kedge.put", args, "args-invalid", "unknown member \"nnnn");
    assert_null(strstr(fixture->error.message, name));
}

static void test_a_patch_that_doubles_its_item_ends_at_the_budget(void **state)
{
    tx_fixture *fixture = *state;
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    applies(fixture, "kedge.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":{\"a\":1}}");
    kedge_buffer_append_text(&args, "{\"collection\":\"c\",\"id\":\"1\",\"patch\":[");
    for (int i = 0; i < 60; i++) {
        kedge_buffer_append_format(&args, "%s{\"from\":\"\",\"op\":\"copy\",\"path\":\"/%d\"}",
                                   i == 0 ? "" : ",", i);
    }
    kedge_buffer_append_text(&args, "]}");
    refuses(fixture, "kedge.patch", args.data, "mutation-too-costly", "bytes");
    assert_string_equal(tx_fixture_item(fixture, "c", "1"), "{\"a\":1}");
    kedge_buffer_free(&args);
}

static void test_a_read_that_fails_is_never_a_rejection(void **state)
{
    tx_fixture *fixture = *state;
    static const char *const reading[][2] = {
        {"kedge.merge", "{\"collection\":\"c\",\"id\":\"1\",\"patch\":{}}"},
        {"kedge.patch", "{\"collection\":\"c\",\"id\":\"1\",\"patch\":[]}"},
        {"kedge.increment", "{\"collection\":\"c\",\"id\":\"1\",\"add\":{}}"},
        {"kedge.project", "{\"name\":\"Kitchen\"}"},
    };
    for (size_t i = 0; i < sizeof reading / sizeof reading[0]; i++) {
        fixture->fail_read = 1;
        assert_int_equal(tx_fixture_run(fixture, reading[i][0], reading[i][1]), KEDGE_IO);
        assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
    }
}

static void test_memory_that_runs_out_is_never_a_rejection(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(edit_with, NULL, 300) > 30);
}

#define edits(test) cmocka_unit_test_setup_teardown(test, tx_fixture_set_up, tx_fixture_tear_down)

/* An import takes any JSON. */
static void test_an_item_that_is_not_canonical_below_is_edited_and_then_is(void **state)
{
    static const struct {
        const char *name, *args, *edited;
    } edits[] = {
        {"kedge.patch", "\"patch\":[{\"op\":\"remove\",\"path\":\"/b/0\"}]",
         "{\"a\":\"t\",\"b\":[2,{}]}"},
        {"kedge.text", "\"path\":\"/a\",\"base\":\"t\",\"text\":\"u\"",
         "{\"a\":\"u\",\"b\":[1,2,{}]}"},
        {"kedge.restore", "\"path\":\"/b/1\",\"expected\":2,\"value\":3",
         "{\"a\":\"t\",\"b\":[1,3,{}]}"},
    };
    tx_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        char id[] = {(char)('1' + i), '\0'}, args[200], key[64];
        kedge_bytes raw = KEDGE_BYTES(" {\"b\": [1, 2.0, { }],\n\"a\" : \"t\"} ");
        assert_int_equal(
            kedge_overlay_put(fixture->below, KEDGE_BYTES("notes"), kedge_bytes_of(id), raw, NULL),
            KEDGE_OK);
        snprintf(key, sizeof key, "\"collection\":\"notes\",\"id\":\"%s\"", id);
        snprintf(args, sizeof args, i == 2 ? "{\"changes\":[{%s,%s}]}" : "{%s,%s}", key,
                 edits[i].args);
        assert_int_equal(tx_fixture_run(fixture, edits[i].name, args), KEDGE_OK);
        assert_string_equal(tx_fixture_item(fixture, "notes", id), edits[i].edited);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        edits(test_put_takes_any_json_value_and_makes_it_canonical),
        edits(test_put_names_the_member_that_is_wrong),
        edits(test_increment_adds_to_what_is_there_and_makes_what_is_not),
        edits(test_increment_refuses_what_cannot_be_added),
        edits(test_an_item_id_has_at_most_512_bytes),
        edits(test_merge_creates_changes_and_replaces),
        edits(test_patch_changes_what_is_there_and_refuses_the_rest),
        edits(test_a_patch_names_the_pointer_that_leads_nowhere),
        edits(test_delete_of_an_absent_item_applies_without_a_change),
        edits(test_project_merges_into_the_record_and_keeps_it_small),
        edits(test_noop_applies_without_a_change),
        edits(test_a_result_that_is_nested_too_deep_is_refused),
        edits(test_an_unknown_member_is_named_and_a_long_one_is_cut),
        edits(test_a_patch_that_doubles_its_item_ends_at_the_budget),
        edits(test_a_read_that_fails_is_never_a_rejection),
        edits(test_an_item_that_is_not_canonical_below_is_edited_and_then_is),
        cmocka_unit_test(test_memory_that_runs_out_is_never_a_rejection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
