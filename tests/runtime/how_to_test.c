/* The example of docs/how-to/handle-damaged-files.md: it works. */
#include "tests/runtime/client.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

kedge_status open_or_repair(kedge_options *options, const char *new_path, kedge_db **db,
                            kedge_error *error);

static char folder[CLIENT_PATH_SIZE];

static int make_folder(void **state)
{
    (void)state;
    client_make_folder(folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    client_remove_folder(folder);
    return 0;
}

/* Both copies of `meta`: neither is sound any more. */
static void damage(const char *path)
{
    char name[CLIENT_PATH_SIZE + 32];
    sqlite3 *file;
    snprintf(name, sizeof name, "%s/outbox.db", path);
    assert_int_equal(sqlite3_open(name, &file), SQLITE_OK);
    assert_int_equal(sqlite3_exec(file, "UPDATE meta SET highest_id = 1", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(file);
}

static void test_the_example_saves_what_can_be_read_and_opens_that(void **state)
{
    (void)state;
    char old[CLIENT_PATH_SIZE + 16], saved[CLIENT_PATH_SIZE + 16];
    kedge_error error = {0};
    kedge_db *db = NULL;
    snprintf(old, sizeof old, "%s/old", folder);
    snprintf(saved, sizeof saved, "%s/saved", folder);
    kedge_options options = client_options(old, NULL);
    assert_int_equal(open_or_repair(&options, saved, &db, &error), KEDGE_OK);
    assert_string_equal(options.path, old);
    client_put(db, "a", "1");
    client_put(db, "b", "2");
    kedge_close(db);
    damage(old);
    assert_int_equal(open_or_repair(&options, saved, &db, &error), KEDGE_OK);
    assert_string_equal(options.path, saved);
    assert_int_equal(client_status(db).pending, 2);
    kedge_close(db);
}

static void test_the_example_repairs_nothing_when_another_thing_is_wrong(void **state)
{
    (void)state;
    char old[CLIENT_PATH_SIZE + 16], saved[CLIENT_PATH_SIZE + 16];
    kedge_error error = {0};
    kedge_db *db = NULL;
    snprintf(old, sizeof old, "%s/none/old", folder);
    snprintf(saved, sizeof saved, "%s/saved", folder);
    kedge_options options = client_options(old, NULL);
    assert_int_equal(open_or_repair(&options, saved, &db, &error), KEDGE_IO);
    assert_int_equal(access(saved, F_OK), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_the_example_saves_what_can_be_read_and_opens_that),
        TEST(test_the_example_repairs_nothing_when_another_thing_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
