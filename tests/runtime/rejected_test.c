/* The example of docs/how-to/handle-rejected-edits.md, with a kedge-server: edits of what another
 * copy has deleted or replaced are counted, made again and dismissed. */
#include "tests/runtime/two_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define REASONS_MAX 16

typedef struct reason {
    char code[64];
    int64_t edits;
} reason;

kedge_status count_rejected(kedge_db *db, reason reasons[REASONS_MAX], size_t *count,
                            kedge_error *error);
kedge_status answer_rejected(kedge_db *db, const char *code, bool again, kedge_error *error);

static void mutate(kedge_db *db, const char *name, const char *args)
{
    kedge_error error = {0};
    if (kedge_mutate(db, name, args, strlen(args), NULL, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
}

/* Sets the member "text" of an item that must be there. */
static void replace_text(kedge_db *db, const char *id)
{
    char args[256];
    snprintf(args, sizeof args,
             "{\"collection\":\"notes\",\"id\":\"%s\",\"patch\":"
             "[{\"op\":\"replace\",\"path\":\"/text\",\"value\":\"mine\"}]}",
             id);
    mutate(db, "kedge.patch", args);
}

static void delete_note(kedge_db *db, const char *id)
{
    char args[128];
    snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%s\"}", id);
    mutate(db, "kedge.delete", args);
}

/* `expected` is "code edits;" for each code, in the order of the first edit of each. */
static void expect_inbox(kedge_db *db, const char *expected)
{
    reason reasons[REASONS_MAX];
    size_t count = 99;
    char text[2048] = "";
    kedge_error error = {0};
    if (count_rejected(db, reasons, &count, &error) != KEDGE_OK) fail_msg("%s", error.message);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(text);
        snprintf(text + size, sizeof text - size, "%s %lld;", reasons[i].code,
                 (long long)reasons[i].edits);
    }
    assert_string_equal(text, expected);
}

static void answer(kedge_db *db, const char *code, bool again)
{
    kedge_error error = {0};
    if (answer_rejected(db, code, again, &error) != KEDGE_OK) fail_msg("%s", error.message);
}

/* Three notes of both copies. `there` deletes a and b, and makes a number of c's text; `here` edits
 * all three. */
static void conflict(two_copies *at)
{
    static const char *const ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        client_put(at->here, ids[i], "{\"text\":\"old\"}");
    two_copies_sync(at->here);
    two_copies_sync(at->there);
    delete_note(at->there, "a");
    delete_note(at->there, "b");
    client_put(at->there, "c", "{\"text\":1}");
    two_copies_sync(at->there);
    replace_text(at->here, "a");
    replace_text(at->here, "b");
    assert_int_equal(kedge_text_edit(at->here, "notes", "c", 1, "/text", "old", "mine", NULL, NULL),
                     KEDGE_OK);
    two_copies_sync(at->here);
}

static void test_the_example_counts_by_code(void **state)
{
    two_copies *at = *state;
    expect_inbox(at->here, "");
    conflict(at);
    expect_inbox(at->here, "item-not-found 2;text-conflict 1;");
    assert_string_equal(client_get(at->here, "a"), "");
}

static void test_the_example_makes_edits_again_of_which_the_reason_has_gone(void **state)
{
    two_copies *at = *state;
    conflict(at);
    answer(at->here, "item-not-found", true);
    expect_inbox(at->here, "item-not-found 2;text-conflict 1;"); /* the reason is still there */
    client_put(at->there, "a", "{\"text\":\"theirs\"}");
    two_copies_sync(at->there);
    two_copies_sync(at->here);
    answer(at->here, "item-not-found", true);
    expect_inbox(at->here, "item-not-found 1;text-conflict 1;");
    two_copies_sync(at->here);
    two_copies_sync(at->there);
    assert_string_equal(client_get(at->there, "a"), "{\"text\":\"mine\"}");
    expect_inbox(at->here, "item-not-found 1;text-conflict 1;");
}

/* As docs/how-to/undo.md says. */
static void test_an_edit_that_was_undone_and_rejected_leaves_two_rows(void **state)
{
    two_copies *at = *state;
    client_put(at->here, "a", "{\"text\":\"old\"}");
    two_copies_sync(at->here);
    two_copies_sync(at->there);
    delete_note(at->there, "a");
    two_copies_sync(at->there);
    assert_int_equal(kedge_undo_begin(at->here, "edit", NULL), KEDGE_OK);
    replace_text(at->here, "a");
    assert_int_equal(kedge_undo_end(at->here, NULL), KEDGE_OK);
    assert_int_equal(kedge_undo(at->here, NULL, NULL), KEDGE_OK);
    two_copies_sync(at->here);
    assert_string_equal(client_get(at->here, "a"), "");
    expect_inbox(at->here, "item-not-found 1;restore-conflict 1;");
    answer(at->here, "restore-conflict", true);
    expect_inbox(at->here, "item-not-found 1;restore-conflict 1;");
    answer(at->here, "restore-conflict", false);
    answer(at->here, "item-not-found", false);
    expect_inbox(at->here, "");
}

static void test_the_example_dismisses_the_edits_of_one_code(void **state)
{
    two_copies *at = *state;
    conflict(at);
    answer(at->here, "item-not-found", false);
    expect_inbox(at->here, "text-conflict 1;");
    answer(at->here, "text-conflict", false);
    expect_inbox(at->here, "");
    assert_int_equal(client_status(at->here).rejected, 0);
    assert_int_equal(client_status(at->here).pending, 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    two_copies_server = argv[1];
#define TEST(name) cmocka_unit_test_setup_teardown(name, two_copies_open, two_copies_close)
    const struct CMUnitTest tests[] = {
        TEST(test_the_example_counts_by_code),
        TEST(test_the_example_makes_edits_again_of_which_the_reason_has_gone),
        TEST(test_an_edit_that_was_undone_and_rejected_leaves_two_rows),
        TEST(test_the_example_dismisses_the_edits_of_one_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
