/* Who the user is, with a real server in open mode. With tokens: server_tokens_test.py. */
#include "tests/runtime/two_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WAIT_MS 60000

/* Opens the copy `here` again, as this user. */
static void reopen(two_copies *at, const char *user)
{
    char path[FILES_PATH_BYTES];
    files_path(path, at->folder, "here");
    kedge_options options = client_options(path, at->server.url);
    options.user = user;
    assert_int_equal(kedge_close(at->here), KEDGE_OK);
    at->here = client_open(&options);
}

/* Edits and syncs; the newest edit that the server has is then this user's. */
static void expect_user(kedge_db *db, const char *expected)
{
    char text[300];
    kedge_document *versions = NULL;
    snprintf(text, sizeof text, "\"user\":\"%s\"", expected);
    client_put(db, "a", "1");
    assert_int_equal(kedge_sync(db, WAIT_MS, NULL), KEDGE_OK);
    assert_int_equal(kedge_history(db, 0, 1, WAIT_MS, &versions, NULL), KEDGE_OK);
    if (strstr(kedge_document_json(versions, NULL), text) == NULL)
        fail_msg("no %s in %s", text, kedge_document_json(versions, NULL));
    kedge_document_free(versions);
}

static void test_a_server_in_open_mode_takes_the_user_from_the_options(void **state)
{
    two_copies *at = *state;
    reopen(at, "Åsa, 50 %");
    expect_user(at->here, "Åsa, 50 %");
    assert_int_equal(kedge_set_online(at->there, true, NULL), KEDGE_OK);
    expect_user(at->there, "");
}

static void expect_other_user(kedge_db *db)
{
    kedge_error error = {0};
    assert_int_equal(kedge_sync(db, WAIT_MS, &error), KEDGE_FORBIDDEN);
    assert_string_equal(error.code, "other-user");
    kedge_sync_status status = client_status(db);
    assert_int_equal(status.connection, KEDGE_STOPPED);
    assert_string_equal(status.last_error.code, "other-user");
}

static void test_a_folder_that_was_synced_as_another_user_stops_and_keeps_its_edits(void **state)
{
    two_copies *at = *state;
    reopen(at, "ann");
    expect_user(at->here, "ann");
    const kedge_sync_status before = client_status(at->here);
    reopen(at, "bob");
    expect_other_user(at->here);
    int64_t sequence = client_put(at->here, "b", "2");
    assert_int_equal(kedge_set_online(at->here, true, NULL), KEDGE_OK);
    expect_other_user(at->here);
    kedge_error error = {0}; /* the refused push has left this machine */
    assert_int_equal(kedge_cancel(at->here, sequence, &error), KEDGE_CONFLICT);
    assert_string_equal(error.code, "mutation-sent");
    assert_int_equal(client_status(at->here).pending, 1);
    reopen(at, "ann");
    expect_user(at->here, "ann");
    assert_int_equal(client_status(at->here).pending, 0);
    assert_string_equal(client_status(at->here).client, before.client);
    two_copies_sync(at->there);
    assert_string_equal(client_get(at->there, "b"), "2");
}

#define COPIES_TEST(test) cmocka_unit_test_setup_teardown(test, two_copies_open, two_copies_close)

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        COPIES_TEST(test_a_server_in_open_mode_takes_the_user_from_the_options),
        COPIES_TEST(test_a_folder_that_was_synced_as_another_user_stops_and_keeps_its_edits),
    };
    if (count != 2) return 2;
    two_copies_server = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
