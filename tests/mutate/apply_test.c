/* kedge.apply: writes when what was read is the same, and conflicts when it is not. */
#include "mutate/apply.h"

#include "tests/mutate/tx_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void delete_item(tx_fixture *fixture, const char *id)
{
    char args[256];
    (void)snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%s\"}", id);
    assert_int_equal(tx_fixture_run(fixture, "kedge.delete", args), KEDGE_OK);
}

/* Applies, or conflicts with a message that has these words. */
static void applies(tx_fixture *fixture, const char *reads, const char *conflict)
{
    char args[1024];
    (void)snprintf(args, sizeof args,
                   "{\"reads\":[%s],\"ops\":[{\"op\":\"put\",\"collection\":\"made\",\"id\":\"1\","
                   "\"value\":7}]}",
                   reads);
    kedge_status status = tx_fixture_run(fixture, "kedge.apply", args);
    if (conflict == NULL) {
        if (status != KEDGE_OK) fail_msg("%s: %s", reads, fixture->error.message);
        assert_string_equal(tx_fixture_item(fixture, "made", "1"), "7");
        assert_int_equal(
            tx_fixture_run(fixture, "kedge.delete", "{\"collection\":\"made\",\"id\":\"1\"}"),
            KEDGE_OK);
        return;
    }
    assert_int_equal(status, KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, "conflict");
    if (strstr(fixture->error.message, conflict) == NULL)
        fail_msg("\"%s\" lacks %s", fixture->error.message, conflict);
    assert_null(tx_fixture_item(fixture, "made", "1"));
}

static const char *hash_of(const char *value)
{
    static char hex[KEDGE_DIGEST_HEX];
    kedge_apply_hash(kedge_bytes_of(value), hex);
    return hex;
}

static void test_an_item_that_was_read_must_be_the_same(void **state)
{
    char read[256];
    tx_fixture_put(*state, "a", "{\"n\":1.0}");
    (void)snprintf(read, sizeof read, "{\"collection\":\"notes\",\"id\":\"a\",\"hash\":\"%s\"}",
                   hash_of("{\"n\":1}"));
    applies(*state, read, NULL);
    tx_fixture_put(*state, "a", "{\"n\":2}");
    applies(*state, read, "notes/a was changed since");
    delete_item(*state, "a");
    applies(*state, read, "notes/a");
    tx_fixture_put(*state, "a", "{\"n\":1}");
    applies(*state, read, NULL);
}

static void test_an_item_that_was_absent_must_be_absent(void **state)
{
    const char *read = "{\"collection\":\"notes\",\"id\":\"\",\"hash\":null}";
    applies(*state, read, NULL);
    tx_fixture_put(*state, "", "null");
    applies(*state, read, "notes/");
    delete_item(*state, "");
    applies(*state, read, NULL);
}

static void test_the_project_record_that_was_read_must_be_the_same(void **state)
{
    char read[256];
    applies(*state, "{\"project\":true,\"hash\":null}", NULL);
    assert_int_equal(tx_fixture_run(*state, "kedge.project", "{\"name\":\"plan\"}"), KEDGE_OK);
    applies(*state, "{\"project\":true,\"hash\":null}", "the project record");
    (void)snprintf(read, sizeof read, "{\"project\":true,\"hash\":\"%s\"}",
                   hash_of("{\"name\":\"plan\"}"));
    applies(*state, read, NULL);
}

/* The hash of b and d, whose values are 1. */
static const char *hash_of_piece(void)
{
    static char hex[KEDGE_DIGEST_HEX];
    kedge_sha256_stream piece;
    kedge_apply_hash_begin(&piece);
    kedge_apply_hash_add(&piece, KEDGE_BYTES("b"), KEDGE_BYTES("1"));
    kedge_apply_hash_add(&piece, KEDGE_BYTES("d"), KEDGE_BYTES("1"));
    kedge_apply_hash_end(&piece, hex);
    return hex;
}

static void test_a_piece_of_a_collection_that_was_read_must_have_the_same_items(void **state)
{
    char part[256], rest[256], all[256];
    (void)snprintf(part, sizeof part,
                   "{\"collection\":\"notes\",\"after\":\"a\",\"through\":\"e\",\"hash\":\"%s\"}",
                   hash_of_piece());
    (void)snprintf(rest, sizeof rest, "{\"collection\":\"notes\",\"after\":\"a\",\"hash\":\"%s\"}",
                   hash_of_piece());
    (void)snprintf(all, sizeof all, "{\"collection\":\"notes\",\"hash\":\"%s\"}", hash_of_piece());
    tx_fixture_put(*state, "b", "1");
    tx_fixture_put(*state, "d", "1");
    applies(*state, part, NULL);
    applies(*state, rest, NULL);
    applies(*state, all, NULL);
    tx_fixture_put(*state, "a", "1"); /* outside */
    applies(*state, part, NULL);
    applies(*state, rest, NULL);
    applies(*state, all, "notes was changed since");
    tx_fixture_put(*state, "f", "1"); /* after the end */
    applies(*state, part, NULL);
    applies(*state, rest, "notes");
    tx_fixture_put(*state, "c", "1");
    applies(*state, part, "notes");
    delete_item(*state, "c");
    applies(*state, part, NULL);
    tx_fixture_put(*state, "d", "2");
    applies(*state, part, "notes");
    delete_item(*state, "d");
    applies(*state, part, "notes");
}

static void test_the_ops_are_done_in_their_order_or_not_at_all(void **state)
{
    static const char args[] =
        "{\"reads\":[],\"ops\":["
        "{\"op\":\"put\",\"collection\":\"notes\",\"id\":\"a\",\"value\":{\"n\":1}},"
        "{\"op\":\"merge\",\"collection\":\"notes\",\"id\":\"a\",\"patch\":{\"m\":2}},"
        "{\"op\":\"put\",\"collection\":\"notes\",\"id\":\"b\",\"value\":1},"
        "{\"op\":\"delete\",\"collection\":\"notes\",\"id\":\"b\"},"
        "{\"op\":\"put-project\",\"value\":%s}]}";
    char text[600];
    (void)snprintf(text, sizeof text, args, "7");
    assert_int_equal(tx_fixture_run(*state, "kedge.apply", text), KEDGE_REJECTED);
    assert_string_equal(((tx_fixture *)*state)->error.code, "project-record-invalid");
    assert_null(tx_fixture_item(*state, "notes", "a"));
    (void)snprintf(text, sizeof text, args, "{\"name\":\"x\"}");
    assert_int_equal(tx_fixture_run(*state, "kedge.apply", text), KEDGE_OK);
    assert_string_equal(tx_fixture_item(*state, "notes", "a"), "{\"m\":2,\"n\":1}");
    assert_null(tx_fixture_item(*state, "notes", "b"));
    assert_string_equal(tx_fixture_item(*state, "", ""), "{\"name\":\"x\"}");
}

static void test_what_has_made_the_edit_changes_nothing(void **state)
{
    kedge_apply_made made;
    bool valid;
    const char *args = "{\"made\":{\"args\":{\"id\":1},\"attempt\":2,\"name\":\"stock.take\","
                       "\"sequence\":9},\"ops\":[],\"reads\":[]}";
    assert_int_equal(tx_fixture_run(*state, "kedge.apply", args), KEDGE_OK);
    assert_true(kedge_apply_read_made(kedge_bytes_of(args), &made, &valid));
    assert_string_equal(made.name, "stock.take");
    assert_true(kedge_bytes_equal_text(made.args, "{\"id\":1}"));
    assert_int_equal(made.attempt, 2);
    assert_int_equal(made.sequence, 9);
    assert_false(kedge_apply_read_made(KEDGE_BYTES("{\"ops\":[]}"), &made, &valid));
    assert_true(valid);
}

static void test_a_read_that_fails_is_no_conflict(void **state)
{
    tx_fixture *fixture = *state;
    const char *args = "{\"reads\":[{\"collection\":\"notes\",\"id\":\"a\",\"hash\":null}],"
                       "\"ops\":[]}";
    fixture->fail_read = 1;
    assert_int_equal(tx_fixture_run(fixture, "kedge.apply", args), KEDGE_IO);
    fixture->fail_read = 1;
    args = "{\"reads\":[{\"collection\":\"notes\","
           "\"hash\":\"00000000000000000000000000000000\"}],\"ops\":[]}";
    assert_int_equal(tx_fixture_run(fixture, "kedge.apply", args), KEDGE_IO);
}

#define HASH "\"hash\":\"00000000000000000000000000000000\""
#define ITEM "\"collection\":\"notes\",\"id\":\"a\""

static void test_wrong_args_are_refused_with_what_is_allowed(void **state)
{
    static const struct {
        const char *args;
        const char *words;
    } wrong[] = {
        {"null", "an object {\"reads\", \"ops\"}"},
        {"{\"reads\":[]}", "an object {\"reads\", \"ops\"}"},
        {"{\"reads\":[],\"ops\":[],\"more\":1}", "an object {\"reads\", \"ops\"}"},
        {"{\"reads\":[],\"ops\":[],\"made\":7}", "\"made\" with the name and the args"},
        {"{\"reads\":[],\"ops\":[],\"made\":{\"name\":\"x\"}}", "\"made\" with the name"},
        {"{\"reads\":[],\"ops\":[],\"made\":{\"args\":1}}", "\"made\" with the name"},
        {"{\"reads\":[],\"ops\":[],\"made\":{\"name\":\"a b\",\"args\":1}}", "\"made\""},
        {"{\"reads\":[],\"ops\":[],\"made\":{\"name\":\"x\",\"args\":1,\"attempt\":0}}",
         "\"made\""},
        {"{\"reads\":[],\"ops\":[],\"made\":{\"name\":\"x\",\"args\":1,\"attempt\":\"1\"}}",
         "\"made\""},
        {"{\"reads\":[],\"ops\":[],\"made\":{\"name\":\"x\",\"args\":1,\"sequence\":0}}",
         "\"made\""},
        {"{\"reads\":[],\"made\":7}", "\"made\" with the name and the args"},
        {"{\"read\":[],\"ops\":[]}", "an array \"reads\""},
        {"{\"reads\":[],\"ops\":{}}", "an array \"ops\""},
        {"{\"reads\":[7],\"ops\":[]}", "\"reads\", element 0: it must be an object"},
        {"{\"reads\":[{" ITEM ",\"hash\":\"00\"}],\"ops\":[]}", "with 32 digits, or null"},
        {"{\"reads\":[{" ITEM "}],\"ops\":[]}", "\"reads\", element 0: it must be"},
        {"{\"reads\":[{\"collection\":\"notes\",\"hash\":null}],\"ops\":[]}", "it must be"},
        {"{\"reads\":[{" ITEM ",\"after\":\"a\"," HASH "}],\"ops\":[]}", "it must be"},
        {"{\"reads\":[{\"project\":false," HASH "}],\"ops\":[]}", "not allowed"},
        {"{\"reads\":[{\"project\":1," HASH "}],\"ops\":[]}", "not allowed"},
        {"{\"reads\":[{\"collection\":7,\"id\":\"a\",\"hash\":null}],\"ops\":[]}", "not allowed"},
        {"{\"reads\":[{\"collection\":\"no tes\",\"id\":\"a\",\"hash\":null}],\"ops\":[]}",
         "a value that is not allowed"},
        {"{\"reads\":[{" ITEM ",\"hash\":null,\"more\":1}],\"ops\":[]}", "a member is unknown"},
        {"{\"reads\":[],\"ops\":[{\"op\":\"add\"," ITEM "}]}", "\"op\" must be \"put\""},
        {"{\"reads\":[],\"ops\":[{\"op\":\"put\"," ITEM "}]}", "\"op\" must be \"put\""},
        {"{\"reads\":[],\"ops\":[{\"op\":\"merge\"," ITEM "}]}", "\"merge\" with collection"},
        {"{\"reads\":[],\"ops\":[{\"op\":\"delete\"," ITEM ",\"value\":1}]}", "\"op\" must be"},
        {"{\"reads\":[],\"ops\":[{\"op\":\"put-project\"," ITEM ",\"value\":{}}]}",
         "\"ops\", element 0: \"op\" must be"},
    };
    tx_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(tx_fixture_run(fixture, "kedge.apply", wrong[i].args), KEDGE_REJECTED);
        assert_string_equal(fixture->error.code, "args-invalid");
        if (strstr(fixture->error.message, wrong[i].words) == NULL)
            fail_msg("%s: \"%s\" lacks %s", wrong[i].args, fixture->error.message, wrong[i].words);
        assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tx_fixture_set_up, tx_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_an_item_that_was_read_must_be_the_same),
        TEST(test_an_item_that_was_absent_must_be_absent),
        TEST(test_the_project_record_that_was_read_must_be_the_same),
        TEST(test_a_piece_of_a_collection_that_was_read_must_have_the_same_items),
        TEST(test_the_ops_are_done_in_their_order_or_not_at_all),
        TEST(test_what_has_made_the_edit_changes_nothing),
        TEST(test_a_read_that_fails_is_no_conflict),
        TEST(test_wrong_args_are_refused_with_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
