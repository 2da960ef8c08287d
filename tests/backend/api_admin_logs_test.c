/* The commands of kedge-admin for event logs. Usage: api_admin_logs_test PROGRAM */
#include "tests/backend/admin_world.h"

#include <stdio.h>
#include <string.h>

static const char *write_file(folder_world *folder, const char *text)
{
    const char *path = api_format("%s/value.json", folder->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void snap(folder_world *folder, int64_t number)
{
    assert_int_equal(api_post(&folder->world,
                              api_format("logs/journal/entries/%d/metadata", (int)number),
                              "{\"snapshot\":\"s\"}"),
                     200);
}

static void test_a_log_is_made_written_read_archived_and_truncated(void **state)
{
    folder_world *folder = *state;
    const char *path = write_file(folder, "{\"n\": 1}");
    assert_int_equal(run(folder, PROJECT "create-log|journal"), 0);
    check_number(folder, "next", 1);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(run(folder, api_format(PROJECT "append-log|journal|set|%s", path)), 0);
    check_number(folder, "number", 3);
    assert_int_equal(
        run(folder, api_format(PROJECT "append-log|journal|set|%s|--expected|2", path)), 1);
    assert_non_null(strstr(folder->complaint, "log-conflict"));
    assert_int_equal(run(folder, PROJECT "read-log|journal|--from|2|--limit|1"), 0);
    check_number(folder, "entries.0.number", 2);
    check_number(folder, "entries.0.body.n", 1);
    check_number(folder, "next", 3);
    assert_int_equal(run(folder, PROJECT "end-segment|journal"), 1);
    assert_non_null(strstr(folder->complaint, "log-snapshot-missing"));
    snap(folder, 2);
    assert_int_equal(run(folder, PROJECT "end-segment|journal"), 0);
    check_number(folder, "first", 5);
    snap(folder, 5);
    assert_int_equal(run(folder, PROJECT "archive-segment|journal|1"), 1);
    assert_non_null(strstr(folder->complaint, "log-segment-in-use"));
    assert_int_equal(run(folder, PROJECT "archive-segment|journal|0|--remove"), 0);
    assert_int_equal(run(folder, PROJECT "log-segments|journal"), 0);
    check_number(folder, "segments.1.segment", 0);
    assert_int_equal(
        strlen(cJSON_GetStringValue(cJSON_GetObjectItem(
            cJSON_GetArrayItem(cJSON_GetObjectItem(folder->json, "segments"), 1), "archive"))),
        64);
    assert_int_equal(run(folder, PROJECT "read-log|journal|--from|start|--to|3"), 0);
    check_number(folder, "entries.3.number", 3);
    assert_int_equal(run(folder, PROJECT "truncate-log|journal|6"), 1);
    assert_non_null(strstr(folder->complaint, "log-truncate-too-far"));
    assert_int_equal(run(folder, PROJECT "truncate-log|journal|3"), 0);
    assert_int_equal(run(folder, PROJECT "log|journal"), 0);
    check_number(folder, "first", 3);
    check_number(folder, "last_snapshot", 5);
    assert_int_equal(run(folder, PROJECT "logs"), 0);
    check_string(folder, "logs.0.log", "journal");
}

static void test_logs_are_reprocessed_from_a_time_on(void **state)
{
    folder_world *folder = *state;
    char text[20001];
    memset(text, 'x', sizeof text - 1);
    text[0] = text[sizeof text - 2] = '"';
    text[sizeof text - 1] = '\0';
    const char *path = write_file(folder, text);
    assert_int_equal(run(folder, PROJECT "create-log|journal"), 0);
    assert_int_equal(run(folder, api_format(PROJECT "append-log|journal|set|%s", path)), 0);
    assert_int_equal(run(folder, PROJECT "reprocess-logs|--since|1970-01-01T10:00:00Z"), 0);
    check_number(folder, "logs", 1);
    check_number(folder, "entries", 2);
    check_number(folder, "bodies", 1);
    check_number(folder, "without_snapshot", 1);
    assert_int_equal(run(folder, PROJECT "reprocess-logs|--since|9000-01-01"), 0);
    check_number(folder, "entries", 0);
    assert_int_equal(run(folder, PROJECT "reprocess-logs"), 2);
    assert_int_equal(run(folder, PROJECT "reprocess-logs|--since|yesterday"), 2);
    assert_int_equal(run(folder, PROJECT "reprocess-logs|--since|2024-01-01T1"), 2);
    assert_int_equal(run(folder, PROJECT "reprocess-logs|--since|2024-02-30"), 2);
    assert_int_equal(run(folder, PROJECT "reprocess-logs|--since|2024-02-29"), 0);
    assert_int_equal(run(folder, PROJECT "truncate-log|journal|1|--since|2024-01-01"), 2);
}

static void test_wrong_words_are_refused(void **state)
{
    folder_world *folder = *state;
    const char *path = write_file(folder, "{");
    assert_int_equal(run(folder, PROJECT "log|journal"), 1);
    assert_non_null(strstr(folder->complaint, "log-not-found"));
    assert_int_equal(run(folder, PROJECT "create-log|journal"), 0);
    assert_int_equal(run(folder, api_format(PROJECT "append-log|journal|set|%s", path)), 1);
    assert_int_equal(run(folder, PROJECT "append-log|journal|set|/nowhere/at/all"), 1);
    assert_int_equal(run(folder, PROJECT "truncate-log|journal|x"), 2);
    assert_int_equal(run(folder, PROJECT "archive-segment|journal|x"), 2);
    assert_int_equal(run(folder, PROJECT "read-log|journal|--from|x"), 1);
}

static void test_a_log_project_is_made_and_has_snapshots(void **state)
{
    folder_world *folder = *state;
    static const char *const others[] = {"verify",     "gc|--remove", "retention|--keep-versions|1",
                                         "checkpoint", "index",       "fork|copy2",
                                         "export|-"};
    assert_int_equal(run(folder, COPY "create-log-project"), 0);
    check_string(folder, "kind", "log");
    api_ask(&folder->world, &ann, "POST", "/v1/orgs/acme/projects/copy/push",
            KEDGE_BYTES("{\"pushVersion\":1,\"clientGroupID\":\"c\",\"mutations\":[{\"clientID\":"
                        "\"c\",\"id\":1,\"name\":\"kedge.noop\",\"timestamp\":1}],\"kedge\":{"
                        "\"client\":\"c\"}}"));
    assert_response_is(&folder->world, 200, "");
    assert_int_equal(run(folder, COPY "make-snapshot"), 0);
    check_number(folder, "version", 1);
    assert_int_equal(run(folder, COPY "end-segment|mutations"), 0);
    assert_int_equal(run(folder, COPY "truncate-log|mutations|1"), 1);
    assert_non_null(strstr(folder->complaint, "log-reserved"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(run(folder, api_format(COPY "%s", others[i])), 1);
        if (strstr(folder->complaint, "log project") == NULL)
            fail_msg("%s: %s", others[i], folder->complaint);
    }
    assert_int_equal(run(folder, COPY "make-snapshot"), 0);
    check_number(folder, "version", 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_log_is_made_written_read_archived_and_truncated,
                                        admin_set_up, admin_tear_down),
        cmocka_unit_test_setup_teardown(test_logs_are_reprocessed_from_a_time_on, admin_set_up,
                                        admin_tear_down),
        cmocka_unit_test_setup_teardown(test_a_log_project_is_made_and_has_snapshots, admin_set_up,
                                        admin_tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_words_are_refused, admin_set_up,
                                        admin_tear_down),
    };
    if (argc != 2) return 2;
    admin_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
