/* Opening and closing: wrong options, folders that are something else, NULL parameters. */
#include "tests/runtime/client.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int freed;

static void count_freed(void *userdata)
{
    (void)userdata;
    freed++;
}

/* Opening fails with this status and code, leaves `db` alone, frees no userdata, and the message
 * says what was wrong. */
static void refuses(kedge_options options, kedge_status status, const char *code, const char *says)
{
    kedge_db *db = NULL;
    kedge_error error = {0};
    freed = 0;
    options.userdata_free = count_freed;
    kedge_status got = kedge_open(&options, &db, &error);
    if (got != status || error.status != status || strcmp(error.code, code) != 0 ||
        strstr(error.message, says) == NULL) {
        fail_msg("%s, \"%s\": %s", kedge_status_name(got), error.code, error.message);
    }
    assert_null(db);
    assert_int_equal(freed, 0);
}

static void
test_a_database_stays_the_one_that_was_opened_when_the_app_goes_to_another_folder(void **state)
{
    (void)state;
    char above[4096], other[CLIENT_PATH_SIZE + 8];
    assert_non_null(getcwd(above, sizeof above));
    assert_int_equal(chdir(client_folder), 0);
    kedge_options options = client_options("db", NULL);
    kedge_db *db = client_open(&options);
    client_put(db, "n", "1");
    snprintf(other, sizeof other, "%s/other", client_folder);
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(chdir(other), 0);
    kedge_db *second = client_open(&options);
    client_put(second, "n", "2");
    client_put(db, "m", "1");
    assert_string_equal(client_get(db, "n"), "1");
    kedge_close(second);
    kedge_close(db);
    assert_int_equal(chdir(above), 0);
}

static void test_options_of_another_version_are_refused(void **state)
{
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    options.version = 0;
    refuses(options, KEDGE_INVALID_ARGUMENT, "struct-version", "KEDGE_OPTIONS_INIT");
    options.version = 2;
    refuses(options, KEDGE_INVALID_ARGUMENT, "struct-version", "version 2");
}

static void test_a_log_level_that_is_none_is_refused(void **state)
{
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    options.log_level = (kedge_log_level)4;
    refuses(options, KEDGE_INVALID_ARGUMENT, "log-level-invalid", "4");
}

static void test_a_server_wait_that_is_none_is_refused(void **state)
{
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    options.server_wait_ms = -2;
    refuses(options, KEDGE_INVALID_ARGUMENT, "server-wait-invalid", "-2");
}

static void test_a_certificate_file_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    options.ca_file = "/nowhere/ca.pem";
    refuses(options, KEDGE_INVALID_ARGUMENT, "ca-file-unreadable", "/nowhere/ca.pem");
}

static void test_a_missing_option_is_named(void **state)
{
    (void)state;
    refuses(client_options(NULL, NULL), KEDGE_INVALID_ARGUMENT, "option-missing", "path");
    refuses(client_options("", NULL), KEDGE_INVALID_ARGUMENT, "option-missing", "path");
    kedge_options options = client_options(client_folder, NULL);
    options.organization = NULL;
    refuses(options, KEDGE_INVALID_ARGUMENT, "option-missing", "organization");
    options = client_options(client_folder, NULL);
    options.project = NULL;
    refuses(options, KEDGE_INVALID_ARGUMENT, "option-missing", "project");
    options = client_options(client_folder, NULL);
    options.mutator_count = 1;
    refuses(options, KEDGE_INVALID_ARGUMENT, "option-missing", "mutators");
}

static void refuses_name(const char *name, kedge_status status)
{
    kedge_db *db = NULL;
    kedge_error error = {0};
    kedge_options options = client_options(client_folder, NULL);
    options.organization = name;
    assert_int_equal(kedge_open(&options, &db, &error), status);
    assert_non_null(strstr(error.message, "organization"));
    options = client_options(client_folder, NULL);
    options.project = name;
    assert_int_equal(kedge_open(&options, &db, &error), status);
    assert_non_null(strstr(error.message, "project"));
    options = client_options(client_folder, NULL);
    options.schema_version = name;
    assert_int_equal(kedge_open(&options, &db, &error), status);
    assert_non_null(strstr(error.message, "schema version"));
    assert_null(db);
}

static void test_a_bad_name_is_refused(void **state)
{
    char long_name[KEDGE_LIMIT_NAME_BYTES + 2];
    static const char *const names[] = {"", "a/b", "-x", ".", "..", "a b", "\xC3\xA4"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        refuses_name(names[i], KEDGE_INVALID_ARGUMENT);
    }
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    refuses_name(long_name, KEDGE_LIMIT_EXCEEDED);
}

static void test_a_bad_url_is_refused_before_the_disk_is_touched(void **state)
{
    char path[CLIENT_PATH_SIZE + 16];
    (void)state;
    snprintf(path, sizeof path, "%s/new", client_folder);
    refuses(client_options(path, "ftp://x"), KEDGE_INVALID_ARGUMENT, "url-invalid", "http");
    refuses(client_options(path, "http://a b"), KEDGE_INVALID_ARGUMENT, "url-invalid", "space");
    refuses(client_options(path, "http://me:pw@x"), KEDGE_INVALID_ARGUMENT, "url-invalid", "user");
    assert_int_not_equal(access(path, F_OK), 0);
    kedge_db *db = NULL;
    kedge_error error = {0};
    kedge_options options = client_options(path, "http://me:pw@x");
    assert_int_equal(kedge_open(&options, &db, &error), KEDGE_INVALID_ARGUMENT);
    assert_null(strstr(error.message, "pw")); /* no secret in an error */
}

static void test_bad_mutators_are_refused(void **state)
{
    kedge_mutator mutator = {.name = "kedge.mine", .version = 1};
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = NULL;
    (void)state;
    options.mutators = &mutator;
    options.mutator_count = 1;
    assert_int_equal(kedge_open(&options, &db, NULL), KEDGE_INVALID_ARGUMENT);
    assert_null(db);
}

static void test_a_path_that_is_no_folder_is_refused(void **state)
{
    char path[CLIENT_PATH_SIZE + 16];
    kedge_db *db = NULL;
    kedge_error error = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/file", client_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    kedge_options options = client_options(path, NULL);
    assert_int_not_equal(kedge_open(&options, &db, &error), KEDGE_OK);
    assert_null(db);
    assert_non_null(strstr(error.message, path));
    snprintf(path, sizeof path, "%s/no/such", client_folder);
    assert_int_not_equal(kedge_open(&options, &db, &error), KEDGE_OK);
    assert_null(db);
}

/* `client_folder`/a…/b… of so many bytes; made but for its last folder. */
static void make_long_path(char *path, size_t bytes)
{
    char part[256];
    size_t size = (size_t)snprintf(path, bytes + 1, "%s", client_folder);
    while (size < bytes) {
        size_t left = bytes - size;
        size_t take = left <= 200 ? left : left < 202 ? 100 : 200; /* a slash and a name at least */
        memset(part, 'n', take);
        part[0] = '/';
        part[take] = '\0';
        (void)mkdir(path, 0700);
        size += (size_t)snprintf(path + size, bytes + 1 - size, "%s", part);
    }
    assert_int_equal(strlen(path), bytes);
}

/* SQLite opens no file with a longer path. */
static void
test_a_path_is_as_long_as_sqlite_allows_or_refused_before_the_disk_is_touched(void **state)
{
    size_t longest = (size_t)sqlite3_vfs_find(NULL)->mxPathname - 64;
    char *path = malloc(longest + 2);
    struct stat facts;
    (void)state;
    char allowed[64], whole[128], here[512];
    snprintf(allowed, sizeof allowed, "%zu are allowed", longest);
    make_long_path(path, longest + 1);
    refuses(client_options(path, NULL), KEDGE_INVALID_ARGUMENT, "path-too-long", allowed);
    assert_int_not_equal(stat(path, &facts), 0);
    make_long_path(path, longest);
    kedge_options options = client_options(path, NULL);
    kedge_db *db = client_open(&options);
    client_put(db, "n1", "1");
    kedge_close(db);
    /* What is above a path that does not begin at the root counts, too. */
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(path), 0);
    snprintf(whole, sizeof whole, "%zu bytes; %s", longest + strlen("/below"), allowed);
    refuses(client_options("below", NULL), KEDGE_INVALID_ARGUMENT, "path-too-long", whole);
    assert_int_equal(chdir(here), 0);
    free(path);
}

static void test_a_folder_that_is_no_database_is_refused_and_left_alone(void **state)
{
    static const char text[] = "this is a diary, not a database, and longer than a header\n";
    char path[CLIENT_PATH_SIZE + 16];
    char read_back[sizeof text] = "";
    kedge_db *db = NULL;
    kedge_error error = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/outbox.db", client_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 100; i++) {
        fputs(text, file);
    }
    fclose(file);
    kedge_options options = client_options(client_folder, NULL);
    kedge_status status = kedge_open(&options, &db, &error);
    assert_true(status == KEDGE_NOT_A_DATABASE || status == KEDGE_CORRUPT);
    assert_null(db);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(read_back, 1, sizeof text - 1, file), sizeof text - 1);
    fclose(file);
    assert_string_equal(read_back, text);
}

static void test_a_folder_keeps_to_its_project(void **state)
{
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_close(client_open(&options));
    options.project = "other";
    kedge_db *db = NULL;
    kedge_error error = {0};
    assert_int_equal(kedge_open(&options, &db, &error), KEDGE_INVALID_ARGUMENT);
    assert_null(db);
}

static void test_closing_frees_the_userdata_once(void **state)
{
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    options.userdata_free = count_freed;
    freed = 0;
    kedge_close(client_open(&options));
    assert_int_equal(freed, 1);
    kedge_close(NULL);
}

static void test_edits_are_read_back_by_another_open(void **state)
{
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    assert_int_equal(client_put(db, "a", "{\"text\":\"one\"}"), 1);
    assert_int_equal(client_put(db, "b", "2"), 2);
    assert_string_equal(client_get(db, "a"), "{\"text\":\"one\"}");
    kedge_close(db);
    db = client_open(&options);
    assert_string_equal(client_get(db, "b"), "2");
    assert_int_equal(client_count(db), 2);
    assert_int_equal(client_status(db).pending, 2);
    assert_int_equal(client_status(db).connection, KEDGE_OFFLINE);
    assert_int_equal(client_put(db, "c", "3"), 3);
    assert_int_equal(kedge_cancel(db, 3, NULL), KEDGE_OK);
    assert_string_equal(client_get(db, "c"), "");
    kedge_close(db);
}

static void test_a_null_parameter_is_an_error_and_no_crash(void **state)
{
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    kedge_document *document = NULL;
    kedge_scan *scan = NULL;
    kedge_error error = {0};
    const kedge_status invalid = KEDGE_INVALID_ARGUMENT;
    assert_int_equal(kedge_open(NULL, &db, NULL), invalid);
    assert_int_equal(kedge_open(&options, NULL, NULL), invalid);
    assert_int_equal(kedge_mutate(NULL, "kedge.put", "{}", 2, NULL, NULL), invalid);
    assert_int_equal(kedge_mutate(db, NULL, "{}", 2, NULL, NULL), invalid);
    assert_int_equal(kedge_mutate(db, "kedge.put", NULL, 0, NULL, NULL), invalid);
    assert_int_equal(kedge_cancel(NULL, 1, NULL), invalid);
    assert_int_equal(kedge_get(db, NULL, "a", 1, &document, NULL), invalid);
    assert_int_equal(kedge_get(db, "notes", NULL, 1, &document, NULL), invalid);
    assert_int_equal(kedge_get(db, "notes", "a", 1, NULL, &error), invalid);
    assert_string_equal(error.message, "document must not be NULL");
    assert_int_equal(kedge_get_project(db, NULL, NULL), invalid);
    assert_int_equal(kedge_scan_open(db, "bad/name", NULL, &scan, NULL), invalid);
    assert_int_equal(kedge_scan_next(NULL, NULL, NULL, NULL, NULL, NULL), invalid);
    assert_int_equal(kedge_sync(NULL, 0, NULL), invalid);
    assert_int_equal(kedge_wait(NULL, 1, 0, NULL, NULL), invalid);
    assert_int_equal(kedge_get_sync_status(db, NULL, NULL), invalid);
    assert_int_equal(kedge_set_online(NULL, true, NULL), invalid);
    assert_int_equal(kedge_watch(db, NULL, NULL, NULL, NULL, NULL, NULL), invalid);
    assert_int_equal(kedge_history(db, 0, 0, 0, &document, NULL), invalid);
    assert_int_equal(kedge_history(db, 0, 101, 0, &document, NULL), invalid);
    assert_int_equal(kedge_history(db, -1, 1, 0, &document, NULL), invalid);
    kedge_document_free(NULL);
    kedge_scan_close(NULL);
    kedge_watch_free(NULL);
    kedge_close(db);
}

static void test_wrong_edits_are_clear_errors_and_keep_nothing(void **state)
{
    kedge_error error = {0};
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    assert_int_equal(kedge_mutate(db, "no.such", "{}", 2, NULL, &error), KEDGE_NOT_FOUND);
    assert_int_equal(kedge_mutate(db, "kedge.put", "{\"a\":", 5, NULL, &error), KEDGE_INVALID_JSON);
    assert_int_not_equal(kedge_mutate(db, "kedge.put", "{}", 2, NULL, &error), KEDGE_OK);
    assert_int_equal(kedge_cancel(db, 7, &error), KEDGE_NOT_FOUND);
    assert_int_equal(kedge_wait(db, 7, 0, NULL, &error), KEDGE_NOT_FOUND);
    assert_int_equal(client_status(db).pending, 0);
    kedge_close(db);
}

static void test_a_database_without_a_url_is_offline_for_good(void **state)
{
    kedge_document *versions = NULL;
    kedge_error error = {0};
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    assert_int_equal(kedge_sync(db, -1, NULL), KEDGE_NETWORK);
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    assert_int_equal(kedge_sync(db, -1, &error), KEDGE_NETWORK);
    assert_string_equal(error.message, "the database was opened without a url");
    assert_int_equal(kedge_history(db, 0, 10, -1, &versions, NULL), KEDGE_NETWORK);
    assert_int_equal(client_status(db).connection, KEDGE_OFFLINE);
    kedge_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_FOLDER_TEST(
            test_a_database_stays_the_one_that_was_opened_when_the_app_goes_to_another_folder),
        CLIENT_FOLDER_TEST(test_options_of_another_version_are_refused),
        CLIENT_FOLDER_TEST(test_a_log_level_that_is_none_is_refused),
        CLIENT_FOLDER_TEST(test_a_server_wait_that_is_none_is_refused),
        CLIENT_FOLDER_TEST(test_a_certificate_file_that_cannot_be_read_is_refused),
        CLIENT_FOLDER_TEST(test_a_missing_option_is_named),
        CLIENT_FOLDER_TEST(test_a_bad_name_is_refused),
        CLIENT_FOLDER_TEST(test_a_bad_url_is_refused_before_the_disk_is_touched),
        CLIENT_FOLDER_TEST(test_bad_mutators_are_refused),
        CLIENT_FOLDER_TEST(test_a_path_that_is_no_folder_is_refused),
        CLIENT_FOLDER_TEST(
            test_a_path_is_as_long_as_sqlite_allows_or_refused_before_the_disk_is_touched),
        CLIENT_FOLDER_TEST(test_a_folder_that_is_no_database_is_refused_and_left_alone),
        CLIENT_FOLDER_TEST(test_a_folder_keeps_to_its_project),
        CLIENT_FOLDER_TEST(test_closing_frees_the_userdata_once),
        CLIENT_FOLDER_TEST(test_edits_are_read_back_by_another_open),
        CLIENT_FOLDER_TEST(test_a_null_parameter_is_an_error_and_no_crash),
        CLIENT_FOLDER_TEST(test_wrong_edits_are_clear_errors_and_keep_nothing),
        CLIENT_FOLDER_TEST(test_a_database_without_a_url_is_offline_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
