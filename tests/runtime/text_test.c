/* kedge_text_edit: what it makes of a text and what the user saw. */
#include "tests/runtime/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char folder[CLIENT_PATH_SIZE];
static kedge_db *db;

static int open_database(void **state)
{
    (void)state;
    client_make_folder(folder);
    kedge_options options = client_options(folder, NULL);
    db = client_open(&options);
    client_put(db, "1", "{\"text\":\"milk and bread\",\"title\":\"t\"}");
    return 0;
}

static int close_database(void **state)
{
    (void)state;
    kedge_close(db);
    client_remove_folder(folder);
    return 0;
}

static kedge_status edit(const char *path, const char *base, const char *text, int64_t *sequence,
                         kedge_error *error)
{
    return kedge_text_edit(db, "notes", "1", 1, path, base, text, sequence, error);
}

static void test_an_edit_without_a_base_replaces_what_is_there(void **state)
{
    (void)state;
    int64_t sequence = 0;
    assert_int_equal(edit("/text", NULL, "oat milk", &sequence, NULL), KEDGE_OK);
    assert_int_equal(sequence, 2);
    assert_string_equal(client_get(db, "1"), "{\"text\":\"oat milk\",\"title\":\"t\"}");
    assert_int_equal(edit("/more", NULL, "\xc3\xa4 \"quoted\"\n", &sequence, NULL), KEDGE_OK);
    assert_string_equal(client_get(db, "1"),
                        "{\"more\":\"\xc3\xa4 \\\"quoted\\\"\\n\",\"text\":\"oat "
                        "milk\",\"title\":\"t\"}");
}

static void test_an_edit_of_what_the_user_saw_is_merged_with_what_is_there(void **state)
{
    (void)state;
    assert_int_equal(edit("/text", "milk and", "oat milk and", NULL, NULL), KEDGE_OK);
    assert_string_equal(client_get(db, "1"), "{\"text\":\"oat milk and bread\",\"title\":\"t\"}");
}

static void test_an_edit_that_changes_nothing_is_none(void **state)
{
    (void)state;
    int64_t sequence = 9;
    assert_int_equal(edit("/text", NULL, "milk and bread", &sequence, NULL), KEDGE_OK);
    assert_int_equal(sequence, 0);
    sequence = 9;
    assert_int_equal(edit("/text", "a", "a", &sequence, NULL), KEDGE_OK);
    assert_int_equal(sequence, 0);
    assert_int_equal(client_put(db, "2", "1"), 2);
}

static void refuses(const char *path, const char *base, const char *text, kedge_status status,
                    const char *code, const char *word)
{
    kedge_error error = {0};
    int64_t sequence = 7;
    assert_int_equal(edit(path, base, text, &sequence, &error), status);
    if (strcmp(error.code, code) != 0 || strstr(error.message, word) == NULL)
        fail_msg("%s: %s", error.code, error.message);
    assert_int_equal(sequence, 7);
}

static void test_wrong_arguments_are_named(void **state)
{
    (void)state;
    refuses("text", "a", "b", KEDGE_INVALID_ARGUMENT, "text-invalid", "JSON Pointer");
    refuses("/text", "a", "\xff", KEDGE_INVALID_ARGUMENT, "text-invalid", "text");
    refuses("/text", "\xff", "b", KEDGE_INVALID_ARGUMENT, "text-invalid", "base");
    refuses("/text", "a", NULL, KEDGE_INVALID_ARGUMENT, "argument-null", "text");
    refuses(NULL, "a", "b", KEDGE_INVALID_ARGUMENT, "argument-null", "path");
    refuses("/title/x", "a", "b", KEDGE_REJECTED, "text-conflict", "removed");
    assert_int_equal(kedge_text_edit(NULL, "notes", "1", 1, "/text", NULL, "b", NULL, NULL),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_text_edit(db, "no/tes", "1", 1, "/text", NULL, "b", NULL, NULL),
                     KEDGE_INVALID_ARGUMENT);
    kedge_error error = {0};
    assert_int_equal(kedge_text_edit(db, "notes", "none", 4, "/text", NULL, "", NULL, &error),
                     KEDGE_REJECTED);
    assert_string_equal(error.code, "item-not-found");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_edit_without_a_base_replaces_what_is_there,
                                        open_database, close_database),
        cmocka_unit_test_setup_teardown(
            test_an_edit_of_what_the_user_saw_is_merged_with_what_is_there, open_database,
            close_database),
        cmocka_unit_test_setup_teardown(test_an_edit_that_changes_nothing_is_none, open_database,
                                        close_database),
        cmocka_unit_test_setup_teardown(test_wrong_arguments_are_named, open_database,
                                        close_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
