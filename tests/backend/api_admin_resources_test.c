/* The commands of kedge-admin for resources. Usage: api_admin_resources_test PROGRAM */
#include "tests/backend/admin_world.h"

#include <stdio.h>
#include <string.h>

static void write_file(folder_world *folder, const char *text, char path[128])
{
    snprintf(path, 128, "%s/value.json", folder->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

#define ACME "--org|acme|"

static void test_resources_are_written_read_rolled_back_and_deleted(void **state)
{
    folder_world *folder = *state;
    char path[128];
    write_file(folder, " {\"a\" : 1}\n", path);
    assert_int_equal(run(folder, api_format(ACME "put-resource|plan|p/1|%s", path)), 0);
    check_number(folder, "version", 1);
    write_file(folder, "{\"a\":2}", path);
    assert_int_equal(run(folder, api_format(ACME "put-resource|plan|p/1|%s", path)), 1);
    assert_non_null(strstr(folder->complaint, "resource-conflict"));
    assert_int_equal(run(folder, api_format(ACME "put-resource|plan|p/1|%s|--expected|1", path)),
                     0);
    check_number(folder, "version", 2);
    assert_int_equal(run(folder, ACME "resource|plan|p/1"), 0);
    check_number(folder, "value.a", 2);
    check_string(folder, "user", "kedge-admin");
    assert_int_equal(run(folder, ACME "resource|plan|p/1|--version|1"), 0);
    check_number(folder, "value.a", 1);
    assert_int_equal(run(folder, ACME "rollback-resource|plan|p/1|--to|1|--expected|2"), 0);
    check_number(folder, "version", 3);
    assert_int_equal(run(folder, ACME "resource-versions|plan|p/1|--before|4|--limit|1"), 0);
    check_number(folder, "versions.0.restored", 1);
    check_number(folder, "next", 3);
    assert_int_equal(run(folder, ACME "resources|plan"), 0);
    check_string(folder, "resources.0.id", "p/1");
    assert_int_equal(run(folder, ACME "delete-resource|plan|p/1"), 1);
    assert_non_null(strstr(folder->complaint, "query-invalid"));
    assert_int_equal(run(folder, ACME "delete-resource|plan|p/1|--expected|3"), 0);
    check_number(folder, "deleted", 3);
    assert_int_equal(run(folder, ACME "resource|plan|p/1"), 1);
    assert_non_null(strstr(folder->complaint, "resource-not-found"));
    assert_int_equal(run(folder, ACME "rollback-resource|plan|p/1|--to|2"), 0);
    check_number(folder, "version", 4);
}

static void test_a_file_that_is_no_value_is_refused(void **state)
{
    folder_world *folder = *state;
    char path[128];
    write_file(folder, "1,\"expected\":7", path);
    assert_int_equal(run(folder, api_format(ACME "put-resource|plan|p|%s", path)), 1);
    assert_non_null(strstr(folder->complaint, "json-syntax"));
    assert_int_equal(run(folder, ACME "put-resource|plan|p|/nowhere/at/all"), 1);
    assert_non_null(strstr(folder->complaint, "/nowhere/at/all cannot be opened"));
    write_file(folder, "[]", path);
    assert_int_equal(run(folder, api_format(ACME "put-resource|settings|organization|%s", path)),
                     1);
    assert_non_null(strstr(folder->complaint, "settings-invalid"));
}

/* Nobody must take an export for a whole project. */
static void test_an_export_tells_what_of_the_project_it_leaves_out(void **state)
{
    folder_world *folder = *state;
    char path[128];
    assert_int_equal(run(folder, api_format(PROJECT "export|%s/bare.jsonl", folder->folder)), 0);
    assert_non_null(strstr(folder->text, "\"left_out\":[]"));
    assert_null(strstr(folder->complaint, "export-left-out"));
    assert_int_equal(run(folder, PROJECT "create-log|journal"), 0);
    write_file(folder, "{\"users\":{\"ann\":\"editor\"}}", path);
    assert_int_equal(run(folder, api_format(ACME "put-resource|access|project:notes|%s", path)), 0);
    write_file(folder, "{\"color\":\"blue\"}", path);
    assert_int_equal(run(folder, api_format(ACME "put-resource|settings|project:notes|%s", path)),
                     0);
    assert_int_equal(run(folder, api_format(PROJECT "export|%s/full.jsonl", folder->folder)), 0);
    assert_non_null(strstr(folder->text, "\"left_out\":[\"logs\",\"settings\",\"access list\"]"));
    assert_non_null(strstr(folder->complaint, "not in the export: the project's logs"));
    assert_int_equal(run(folder, PROJECT "export|-"), 0);
    assert_non_null(strstr(folder->complaint, "not in the export: the project's access list"));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, admin_set_up, admin_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_resources_are_written_read_rolled_back_and_deleted),
        TEST(test_an_export_tells_what_of_the_project_it_leaves_out),
        TEST(test_a_file_that_is_no_value_is_refused),
    };
    if (argc != 2) {
        fputs("usage: api_admin_resources_test PROGRAM\n", stderr);
        return 2;
    }
    admin_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
