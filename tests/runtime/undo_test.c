/* Undo and redo of an app: whose edits are in a group, wrong arguments, and the example of
 * docs/how-to/undo.md. */
#include "tests/runtime/client.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

kedge_status move_card(kedge_db *db, kedge_error *error);
kedge_status undo(kedge_db *db, kedge_error *error);
kedge_status undo_title(kedge_db *db, char title[80], kedge_error *error);

static char folder[CLIENT_PATH_SIZE];
static kedge_db *db;

static int open_database(void **state)
{
    (void)state;
    client_make_folder(folder);
    kedge_options options = client_options(folder, NULL);
    db = client_open(&options);
    return 0;
}

static int close_database(void **state)
{
    (void)state;
    kedge_close(db);
    client_remove_folder(folder);
    return 0;
}

static kedge_undo_state state_now(void)
{
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    assert_int_equal(kedge_get_undo_state(db, &state, NULL), KEDGE_OK);
    return state;
}

static void *edit_on_another_thread(void *unused)
{
    client_put(db, "2", "2");
    kedge_error error = {KEDGE_OK, "", ""};
    assert_int_equal(kedge_undo_begin(db, NULL, &error), KEDGE_CONFLICT);
    assert_string_equal(error.code, "undo-open");
    assert_int_equal(kedge_undo_end(db, &error), KEDGE_CONFLICT);
    assert_string_equal(error.code, "undo-not-open");
    return unused;
}

static void test_edits_of_other_threads_are_in_no_group(void **state)
{
    (void)state;
    pthread_t other;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    assert_int_equal(kedge_undo_begin(db, "Put", NULL), KEDGE_OK);
    client_put(db, "1", "1");
    assert_int_equal(pthread_create(&other, NULL, edit_on_another_thread, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_true(state_now().open);
    assert_int_equal(kedge_undo_end(db, NULL), KEDGE_OK);
    assert_string_equal(state_now().undo_label, "Put");
    assert_int_equal(kedge_undo(db, &result, NULL), KEDGE_OK);
    assert_int_equal(result.sequence, 3);
    assert_int_equal(result.restored, 1);
    assert_int_equal(result.kept, 0);
    assert_string_equal(client_get(db, "1"), "");
    assert_string_equal(client_get(db, "2"), "2");
    assert_string_equal(state_now().redo_label, "Put");
    assert_int_equal(kedge_redo(db, NULL, NULL), KEDGE_OK);
    assert_string_equal(client_get(db, "1"), "1");
}

static void test_groups_end_with_the_handle(void **state)
{
    (void)state;
    assert_int_equal(kedge_undo_begin(db, NULL, NULL), KEDGE_OK);
    client_put(db, "1", "1");
    assert_int_equal(kedge_undo_end(db, NULL), KEDGE_OK);
    kedge_close(db);
    kedge_options options = client_options(folder, NULL);
    db = client_open(&options);
    assert_int_equal(state_now().undo_count, 0);
    assert_int_equal(kedge_undo(db, NULL, NULL), KEDGE_NOT_FOUND);
    assert_string_equal(client_get(db, "1"), "1");
}

static void test_wrong_arguments_are_named(void **state)
{
    (void)state;
    char label[KEDGE_UNDO_LABEL_SIZE + 1];
    kedge_error error = {KEDGE_OK, "", ""};
    memset(label, 'x', sizeof label);
    label[KEDGE_UNDO_LABEL_SIZE] = '\0';
    assert_int_equal(kedge_undo_begin(db, label, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "label-invalid");
    assert_non_null(strstr(error.message, "63 bytes"));
    assert_int_equal(kedge_undo_begin(db, "\xff", &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_undo_begin(NULL, "a", &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_undo_end(NULL, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_undo(NULL, NULL, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_redo(NULL, NULL, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_get_undo_state(db, NULL, &error), KEDGE_INVALID_ARGUMENT);
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    result.size = 0;
    assert_int_equal(kedge_undo(db, &result, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "struct-size");
    assert_false(state_now().open);
}

/* ---- the example ---- */

static void test_the_example_takes_back_a_move_of_two_edits(void **state)
{
    (void)state;
    static const char card[] =
        "{\"collection\":\"cards\",\"id\":\"c1\",\"value\":{\"column\":\"todo\"}}";
    char title[80];
    kedge_document *document = NULL;
    assert_int_equal(kedge_mutate(db, "kedge.put", card, strlen(card), NULL, NULL), KEDGE_OK);
    assert_int_equal(undo_title(db, title, NULL), KEDGE_OK);
    assert_string_equal(title, "Undo");
    assert_int_equal(move_card(db, NULL), KEDGE_OK);
    assert_int_equal(undo_title(db, title, NULL), KEDGE_OK);
    assert_string_equal(title, "Undo Move card");
    assert_int_equal(undo(db, NULL), KEDGE_OK);
    assert_int_equal(kedge_get(db, "cards", "c1", 2, &document, NULL), KEDGE_OK);
    assert_string_equal(kedge_document_json(document, NULL), "{\"column\":\"todo\"}");
    kedge_document_free(document);
    assert_int_equal(undo(db, NULL), KEDGE_OK); /* there is nothing to undo */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_database, close_database)
    const struct CMUnitTest tests[] = {
        TEST(test_edits_of_other_threads_are_in_no_group),
        TEST(test_groups_end_with_the_handle),
        TEST(test_wrong_arguments_are_named),
        TEST(test_the_example_takes_back_a_move_of_two_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
