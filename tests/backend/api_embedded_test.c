/* The data folder: what it may hold, its lock, and that what was committed is
 * there the next time. */
#include "tests/backend/api_world.h"

#include "backend/embedded/embedded.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kedge_environment environment;

/* A fresh folder in state; removed in the end. */
static int set_up(void **state)
{
    char *folder = malloc(64);
    assert_non_null(folder);
    assert_true(temporary_folder(folder, 64, "embedded"));
    environment = kedge_environment_system(NULL);
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    int result = system(command);
    free(*state);
    return result;
}

static void write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

static kedge_status try_open(const char *path, bool lock, kedge_error *error)
{
    kedge_embedded *embedded = NULL;
    kedge_status status = kedge_embedded_open(&environment, path, lock, &embedded, error);
    kedge_embedded_close(embedded);
    return status;
}

static void test_a_folder_is_made_and_opened_again(void **state)
{
    kedge_error error = {0};
    const char *path = api_format("%s/data", (char *)*state);
    assert_false(kedge_embedded_exists(path));
    assert_int_equal(try_open(path, true, &error), KEDGE_OK);
    assert_true(kedge_embedded_exists(path));
    assert_int_equal(try_open(path, true, &error), KEDGE_OK);
    struct stat found;
    assert_int_equal(stat(api_format("%s/records.db", path), &found), 0);
    assert_int_equal(stat(api_format("%s/queue.db", path), &found), 0);
    assert_int_equal(stat(api_format("%s/blobs", path), &found), 0);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
}

static void test_only_one_holds_the_lock_and_others_may_look(void **state)
{
    kedge_error error = {0};
    kedge_embedded *holder = NULL;
    const char *path = api_format("%s/data", (char *)*state);
    assert_int_equal(kedge_embedded_open(&environment, path, true, &holder, &error), KEDGE_OK);
    assert_int_equal(try_open(path, true, &error), KEDGE_BUSY);
    assert_string_equal(error.code, "data-folder-in-use");
    assert_non_null(strstr(error.message, api_format("process %ld", (long)getpid())));
    assert_non_null(strstr(error.message, path));
    assert_int_equal(try_open(path, false, &error), KEDGE_OK);
    kedge_embedded_close(holder);
    assert_int_equal(try_open(path, true, &error), KEDGE_OK);
}

static void test_lost_records_are_noticed(void **state)
{
    kedge_embedded *embedded = NULL;
    const char *path = api_format("%s/data", (char *)*state);
    assert_int_equal(kedge_embedded_open(&environment, path, true, &embedded, NULL), KEDGE_OK);
    assert_false(kedge_embedded_lacked_records(embedded));
    kedge_embedded_close(embedded);
    assert_int_equal(kedge_embedded_open(&environment, path, true, &embedded, NULL), KEDGE_OK);
    assert_false(kedge_embedded_lacked_records(embedded));
    kedge_embedded_close(embedded);
    assert_int_equal(unlink(api_format("%s/data/records.db", (char *)*state)), 0);
    path = api_format("%s/data", (char *)*state);
    assert_int_equal(kedge_embedded_open(&environment, path, true, &embedded, NULL), KEDGE_OK);
    assert_true(kedge_embedded_lacked_records(embedded));
    kedge_embedded_close(embedded);
}

static void test_a_folder_of_something_else_is_refused_untouched(void **state)
{
    kedge_error error = {0};
    struct stat found;
    write_file(api_format("%s/letter.txt", (char *)*state), "dear");
    assert_int_equal(try_open(*state, true, &error), KEDGE_NOT_A_DATABASE);
    assert_string_equal(error.code, "not-a-data-folder");
    assert_non_null(strstr(error.message, "letter.txt"));
    assert_int_not_equal(stat(api_format("%s/server.lock", (char *)*state), &found), 0);
    assert_int_not_equal(stat(api_format("%s/records.db", (char *)*state), &found), 0);
}

static void test_a_folder_whose_start_was_interrupted_is_taken(void **state)
{
    kedge_error error = {0};
    write_file(api_format("%s/server.lock", (char *)*state), "12\n");
    assert_int_equal(try_open(*state, true, &error), KEDGE_OK);
}

static void test_what_is_no_folder_or_no_database_is_named(void **state)
{
    kedge_error error = {0};
    const char *file = api_format("%s/file", (char *)*state);
    write_file(file, "text");
    assert_int_equal(try_open(file, true, &error), KEDGE_IO);
    assert_non_null(strstr(error.message, file));
    const char *missing = api_format("%s/no/such", (char *)*state);
    assert_int_equal(try_open(missing, true, &error), KEDGE_IO);
    assert_non_null(strstr(error.message, missing));
    const char *folder = api_format("%s/data", (char *)*state);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(api_format("%s/records.db", folder), "this is no database at all, is it? no");
    assert_int_equal(try_open(folder, true, &error), KEDGE_NOT_A_DATABASE);
    assert_non_null(strstr(error.message, "records.db"));
    static char longer[8000];
    memset(longer, 'a', sizeof longer - 1);
    longer[0] = '/';
    assert_int_not_equal(try_open(longer, true, &error), KEDGE_OK);
    assert_false(kedge_embedded_exists(longer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_folder_is_made_and_opened_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_one_holds_the_lock_and_others_may_look, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_lost_records_are_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_of_something_else_is_refused_untouched,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_whose_start_was_interrupted_is_taken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_folder_or_no_database_is_named, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
