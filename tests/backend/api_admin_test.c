/* kedge-admin, run as a program on a data folder, beside a backend that has it open and locked.
 * Usage: api_admin_test PROGRAM PLUGIN */
#include "tests/backend/admin_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- commands ---- */

static void test_all_six_queries_are_answered_beside_a_server(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, PROJECT "version|latest|--items"), 0); /* 1 */
    check_number(folder, "version", 3);
    check_number(folder, "collections.docs.1.value.n", 3);
    assert_int_equal(run(folder, PROJECT "items|docs"), 0); /* 2 */
    check_string(folder, "items.0.id", "-x y");
    assert_int_equal(run(folder, PROJECT "items|docs|--version|1|--limit|1"), 0);
    check_string(folder, "items.0.id", "a");
    assert_int_equal(run(folder, PROJECT "item|docs|a"), 0); /* 3 */
    check_number(folder, "value.n", 3);
    assert_int_equal(run(folder, PROJECT "item|docs|a|--version|1"), 0);
    check_number(folder, "value.n", 1);
    assert_int_equal(run(folder, PROJECT "item|--|docs|-x y"), 0);
    check_number(folder, "value", 2);
    assert_int_equal(run(folder, PROJECT "versions|--before|3|--limit|1"), 0); /* 4 */
    check_number(folder, "versions.0.version", 2);
    check_number(folder, "versions.0.mutations.0.id", 2);
    assert_int_equal(run(folder, PROJECT "mutation|c1|1"), 0); /* 5 */
    check_string(folder, "outcome", "applied");
    assert_int_equal(run(folder, PROJECT "latest-mutation|c1"), 0); /* 6 */
    check_number(folder, "id", 2);
}

static void test_projects_are_made_and_listed(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, "create-project|--org|other|--project|notes"), 0);
    check_string(folder, "organization", "other");
    assert_int_equal(run(folder, "projects|acme"), 0);
    check_string(folder, "projects.0.project", "notes");
    assert_int_equal(run(folder, "organizations|notes"), 0);
    check_string(folder, "organizations.0", "acme");
    check_string(folder, "organizations.1", "other");
}

static void test_all_organizations_are_listed_in_pages(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, "create-project|--org|other|--project|notes"), 0);
    assert_int_equal(run(folder, "organizations-all|--limit|1"), 0);
    check_string(folder, "organizations.0", "acme");
    check_string(folder, "next", "acme");
    assert_int_equal(run(folder, "organizations-all|--after|acme"), 0);
    assert_string_equal(folder->text, "{\"organizations\":[\"other\"],\"next\":null}\n");
    assert_int_equal(run(folder, "organizations-all|--limit|0"), 2);
    assert_int_equal(run(folder, "organizations-all|--limit|1001"), 2);
    assert_int_equal(run(folder, "organizations-all|--org|acme"), 2);
}

static void test_what_an_organization_has_is_told_and_counted_again(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, "usage|acme"), 0);
    assert_string_equal(folder->text,
                        "{\"organization\":\"acme\",\"projects\":1,\"stored_bytes\":0}\n");
    assert_int_equal(run(folder, "recount-usage|acme"), 0);
    check_number(folder, "before", 0);
    const char *stored = strstr(folder->text, "\"stored_bytes\":");
    assert_non_null(stored);
    int64_t bytes = atoll(stored + strlen("\"stored_bytes\":"));
    assert_in_range(bytes, 500, 50000);
    assert_int_equal(run(folder, "usage|acme"), 0);
    check_number(folder, "stored_bytes", bytes);
    assert_int_equal(run(folder, "usage|nobody"), 0);
    check_number(folder, "projects", 0);
    assert_int_equal(run(folder, "usage|no/name"), 1);
    assert_int_equal(run(folder, "usage"), 2);
}

static void test_the_index_is_completed(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, PROJECT "index"), 0);
    check_number(folder, "indexed_through", 3);
    assert_int_equal(run(folder, PROJECT "index"), 0);
    assert_int_equal(run(folder, "--org|acme|--project|none|index"), 1);
    assert_non_null(strstr(folder->complaint, "project-not-found"));
    api_put(&folder->world, "c1", 3, "docs/b", "4");
    assert_int_equal(run(folder, PROJECT "item|docs|b"), 0);
}

static void test_a_version_is_forked_into_a_new_project(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, PROJECT "fork|copy|--version|2"), 0);
    check_string(folder, "project", "copy");
    check_number(folder, "forked.version", 2);
    assert_int_equal(run(folder, COPY "item|docs|a"), 0);
    check_number(folder, "value.n", 1);
    assert_int_equal(run(folder, PROJECT "fork|copy|--version|2"), 0);
    assert_int_equal(run(folder, PROJECT "fork|newest"), 0);
    check_number(folder, "forked.version", 3);
    assert_int_equal(run(folder, PROJECT "fork|copy"), 1);
    assert_non_null(strstr(folder->complaint, "project-exists"));
    assert_int_equal(run(folder, PROJECT "fork|other|--version|x"), 2);
    assert_int_equal(run(folder, PROJECT "fork|other|--version|9"), 1);
    assert_non_null(strstr(folder->complaint, "version-not-found"));
}

static void test_versions_are_rebased_onto_a_fork(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, PROJECT "fork|copy|--version|1"), 0);
    assert_int_equal(run(folder, COPY "rebase|notes|j1|--from|2"), 0);
    check_number(folder, "mutations.1.from.version", 3);
    check_string(folder, "mutations.1.outcome", "applied");
    assert_int_equal(run(folder, COPY "item|docs|a"), 0);
    check_number(folder, "value.n", 3);
    assert_int_equal(run(folder, COPY "rebase|notes|j1|--from|2|--to|3"), 0);
    check_number(folder, "version", 2);
    assert_int_equal(run(folder, COPY "rebase|notes|j2"), 2);
    assert_non_null(strstr(folder->complaint, "--from V; see --help (usage)"));
    assert_int_equal(run(folder, COPY "rebase|notes|j2|--from|1"), 1);
    assert_non_null(strstr(folder->complaint, "rebase-range-in-base"));
    /* A fork of a fork holds the same base. */
    assert_int_equal(run(folder, COPY "fork|copy2|--version|1"), 0);
    assert_int_equal(run(folder, COPY2 "rebase|notes|j3|--from|1"), 1);
    assert_non_null(strstr(folder->complaint, "rebase-range-in-base"));
    assert_int_equal(run(folder, COPY2 "rebase|notes|j3|--from|2"), 0);
}

static void test_a_rebase_runs_the_mutators_of_a_plugin(void **state)
{
    folder_world *folder = *state;
    const char *path = "/v1/orgs/acme/projects/notes/push";
    const char *push = "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":"
                       "\"c9\",\"id\":1,\"name\":\"count_up\",\"args\":null,\"timestamp\":1}]}";
    assert_int_equal(api_ask(&folder->world, &ann, "POST", path, kedge_bytes_of(push)), 200);
    assert_int_equal(run(folder, PROJECT "fork|copy|--version|3"), 0);
    assert_int_equal(run(folder, COPY "rebase|notes|j1|--from|4"), 1);
    assert_non_null(strstr(folder->complaint, "mutator-unknown"));
    char line[600];
    snprintf(line, sizeof line, "%s%s", COPY "rebase|notes|j1|--from|4|--mutators|", admin_plugin);
    assert_int_equal(run(folder, line), 0);
    check_string(folder, "mutations.0.outcome", "applied");
    assert_int_equal(run(folder, COPY "item|c|count"), 0);
    check_number(folder, "value", 1);
}

static void test_a_project_is_verified(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, PROJECT "verify"), 0);
    check_string(folder, "verified", "notes");
    check_number(folder, "newest", 3);
    check_number(folder, "findings", 0);
    kedge_records records = kedge_embedded_records(folder->ports);
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE,
                                .record = {.key = {KEDGE_BYTES("Project#acme/notes"),
                                                   KEDGE_BYTES("ProjectVersion#pv_000000000002")}}};
    assert_int_equal(records.vtable->write(records.self, &write, NULL), KEDGE_OK);
    assert_int_equal(run(folder, PROJECT "verify"), 3);
    assert_non_null(strstr(folder->text, "{\"finding\":\"version-missing\",\"version\":2,"));
    assert_int_equal(run(folder, COPY "verify"), 1);
    assert_non_null(strstr(folder->complaint, "project-not-found"));
}

static void test_what_has_copies_is_repaired_when_told_so(void **state)
{
    folder_world *folder = *state;
    kedge_records records = kedge_embedded_records(folder->ports);
    assert_int_equal(run(folder, PROJECT "index"), 0);
    kedge_attribute version = {"version", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("Project#acme/notes"), KEDGE_BYTES("Mutation#c1#0000000000000001")},
                   &version,
                   1}};
    assert_int_equal(records.vtable->write(records.self, &write, NULL), KEDGE_OK);
    assert_int_equal(run(folder, PROJECT "verify"), 3);
    assert_int_equal(run(folder, PROJECT "verify|--repair"), 0);
    assert_non_null(strstr(folder->text, "{\"repaired\":\"row\","));
    assert_int_equal(run(folder, PROJECT "verify"), 0);
    write.kind = KEDGE_WRITE_DELETE;
    write.record.key.sort = KEDGE_BYTES("ProjectVersion#pv_000000000002");
    write.record.attribute_count = 0;
    assert_int_equal(records.vtable->write(records.self, &write, NULL), KEDGE_OK);
    assert_int_equal(run(folder, PROJECT "verify|--repair"), 3);
    assert_int_equal(run(folder, PROJECT "versions|--repair"), 2);
}

static void test_old_versions_are_removed_when_told_so(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, PROJECT "retention|--keep-versions|1"), 0);
    check_number(folder, "oldest", 3);
    assert_int_equal(run(folder, PROJECT "version|1"), 0);
    assert_int_equal(run(folder, PROJECT "retention|--keep-versions|1|--keep-days|1|--remove"), 0);
    check_number(folder, "oldest", 1);
    assert_int_equal(run(folder, PROJECT "retention|--keep-versions|1|--remove"), 0);
    check_number(folder, "oldest", 3);
    assert_int_equal(run(folder, PROJECT "version|1"), 1);
    assert_non_null(strstr(folder->complaint, "version-not-retained"));
    assert_int_equal(run(folder, PROJECT "verify"), 0);
    check_number(folder, "oldest", 3);
    api_put(&folder->world, "c1", 2, "docs/-x y", "2");
    assert_int_equal(api_put(&folder->world, "c1", 3, "docs/b", "4"), 4);
    assert_int_equal(run(folder, PROJECT "retention"), 2);
    assert_non_null(strstr(folder->complaint, "--keep-versions N"));
    assert_int_equal(run(folder, PROJECT "retention|--keep-days|0"), 2);
}

static void test_garbage_is_told_and_left_for_its_grace(void **state)
{
    folder_world *folder = *state;
    char value[9100];
    memset(value, 'x', sizeof value);
    memcpy(value, "\"", 1);
    memcpy(value + sizeof value - 2, "\"", 2);
    kedge_blobs blobs = kedge_embedded_blobs(folder->ports);
    kedge_bytes orphan = KEDGE_BYTES("acme/projects/notes/docs/"
                                     "00000000000000000000000000000000"
                                     "00000000000000000000000000000000.json.gz");
    assert_int_equal(blobs.vtable->put_if_absent(blobs.self, orphan, kedge_bytes_of(value), NULL),
                     KEDGE_OK);
    assert_int_equal(run(folder, PROJECT "gc"), 0);
    check_string(folder, "collected", "notes");
    check_number(folder, "unreferenced", 1);
    check_number(folder, "removable", 0);
    assert_int_equal(run(folder, PROJECT "gc|--remove|--grace-hours|1"), 0);
    check_number(folder, "removed", 0);
    check_number(folder, "marked", 0);
    assert_int_equal(run(folder, PROJECT "gc|--grace-hours|0"), 2);
    assert_int_equal(run(folder, COPY "gc"), 1);
    assert_non_null(strstr(folder->complaint, "project-not-found"));
}

static void test_a_project_is_exported_and_imported(void **state)
{
    folder_world *folder = *state;
    char line[400];
    char file[100];
    snprintf(file, sizeof file, "%s/notes.jsonl", folder->folder);
    snprintf(line, sizeof line, PROJECT "export|%s", file);
    assert_int_equal(run(folder, line), 0);
    check_string(folder, "exported", "notes");
    check_number(folder, "newest", 3);
    assert_int_equal(run(folder, line), 1); /* it is not written over */
    assert_non_null(strstr(folder->complaint, "output-failed"));
    snprintf(line, sizeof line, COPY "import|%s", file);
    assert_int_equal(run(folder, line), 0);
    check_string(folder, "imported", "copy");
    assert_int_equal(run(folder, COPY "item|docs|a"), 0);
    check_number(folder, "value.n", 3);
    assert_int_equal(run(folder, COPY "verify"), 0);
    assert_int_equal(run(folder, COPY "discard-import"), 1);
    assert_non_null(strstr(folder->complaint, "no-import"));
    assert_int_equal(run(folder, PROJECT "export|-"), 0);
    assert_int_equal(strncmp(folder->text, "{\"kedge_export\":1,", 18), 0);
    assert_non_null(strstr(folder->text, "{\"end\":{\"lines\":4,"));
    snprintf(line, sizeof line, "--org|acme|--project|other|import|%s/none", folder->folder);
    assert_int_equal(run(folder, line), 1);
    assert_non_null(strstr(folder->complaint, "input-failed"));
}

/* Runs a command (its argument NULL: it has none) on a folder that is not there. */
static void make_fresh(folder_world *folder, const char *name, const char *command,
                       const char *argument)
{
    char fresh[100];
    snprintf(fresh, sizeof fresh, "%s/%s", folder->folder, name);
    const char *words[12] = {admin_program, "--data", fresh,   "--org", "acme",
                             "--project",   "notes",  command, argument};
    size_t count = argument == NULL ? 8 : 9;
    assert_int_equal(run_words(folder, (char **)(uintptr_t)words), 1);
    assert_non_null(strstr(folder->complaint, "not-a-data-folder"));
    words[count] = "--create";
    assert_int_equal(run_words(folder, (char **)(uintptr_t)words), 0);
}

static void test_an_import_makes_the_folder_when_told_so(void **state)
{
    folder_world *folder = *state;
    char line[400];
    snprintf(line, sizeof line, PROJECT "export|%s/notes.jsonl", folder->folder);
    assert_int_equal(run(folder, line), 0);
    snprintf(line, sizeof line, "%s/notes.jsonl", folder->folder);
    make_fresh(folder, "fresh", "import", line);
    check_number(folder, "newest", 3);
}

static void test_so_does_a_project_of_either_kind(void **state)
{
    folder_world *folder = *state;
    make_fresh(folder, "fresh1", "create-project", NULL);
    check_string(folder, "kind", "versions");
    make_fresh(folder, "fresh2", "create-log-project", NULL);
    check_string(folder, "kind", "log");
}

static void test_checkpoints_are_written_on_demand(void **state)
{
    folder_world *folder = *state;
    assert_int_equal(run(folder, PROJECT "checkpoint"), 0);
    check_number(folder, "collections", 1);
    assert_int_equal(run(folder, PROJECT "verify"), 0);
    check_number(folder, "checkpoints", 1);
}

/* ---- errors ---- */

static void test_what_is_not_there_ends_with_one_and_says_so(void **state)
{
    static const char *const rows[][2] = {
        {"--org|acme|--project|none|versions", "project-not-found"},
        {PROJECT "version|9", "version-not-found"},
        {PROJECT "item|docs|none", "item-not-found"},
        {PROJECT "mutation|c1|9", "mutation-not-found"},
        {PROJECT "version|x", "name-invalid"},
        {PROJECT "items|..", "name-invalid"},
        {PROJECT "versions|--limit|0", "query-invalid"},
        {"organizations|none", "project-not-found"},
    };
    folder_world *folder = *state;
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        assert_int_equal(run(folder, rows[at][0]), 1);
        assert_string_equal(folder->text, "");
        if (strstr(folder->complaint, rows[at][1]) == NULL) {
            fail_msg("%s: %s", rows[at][0], folder->complaint);
        }
    }
}

static void test_a_wrong_line_ends_with_two_and_names_what_is_wrong(void **state)
{
    static const char *const rows[][2] = {
        {"", "a command is missing"},
        {"frob", "no command \"frob\""},
        {"versions", "--org ORG"},
        {"--org|acme|versions", "--project PROJECT"},
        {PROJECT "version", "needs V"},
        {PROJECT "item|docs", "needs ID"},
        {PROJECT "versions|more", "no \"more\""},
        {PROJECT "item|docs|a|b", "no \"b\""},
        {PROJECT "item|docs|a|b|c", "one too many"},
        {"resources|plan", "--org ORG"},
        {"--org|acme|put-resource|plan|p", "needs FILE"},
        {"--org|acme|rollback-resource|plan|p", "needs --to V"},
        {"--org|acme|rollback-resource|plan|p|--to|0", "--to must be a number from 1 to"},
        {"--org|acme|put-resource|plan|p|f|--expected|x", "--expected must be a number"},
        {PROJECT "versions|--frob", "no option --frob"},
        {PROJECT "versions|--limit", "--limit needs a value"},
        {PROJECT "version|1|--limit|3", "does not take --limit"},
        {PROJECT "redrive-all", "redrive-all does not take --org and --project"},
        {PROJECT "resources|plan", "resources does not take --project"},
        {PROJECT "versions|--table|t", "--data keeps everything in a folder, and --table is"},
        {PROJECT "versions|--create", "and --create is for AWS"},
    };
    folder_world *folder = *state;
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        assert_int_equal(run(folder, rows[at][0]), 2);
        if (strstr(folder->complaint, rows[at][1]) == NULL) {
            fail_msg("%s: %s", rows[at][0], folder->complaint);
        }
    }
}

static void test_help_names_every_command(void **state)
{
    static const char *const names[] = {"create-project",
                                        "projects ORG",
                                        "organizations",
                                        "versions",
                                        "version V",
                                        "items COLLECTION",
                                        "item COLLECTION ID",
                                        "mutation CLIENT",
                                        "latest-mutation",
                                        "index",
                                        "fork NAME",
                                        "rebase SOURCE JOB",
                                        "--data",
                                        "put-resource KIND ID FILE"};
    folder_world *folder = *state;
    char *words[] = {(char *)(uintptr_t)admin_program, (char *)(uintptr_t) "--help", NULL};
    assert_int_equal(run_words(folder, words), 0);
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        assert_non_null(strstr(folder->text, names[at]));
}

static void test_a_folder_without_data_is_not_made_into_one(void **state)
{
    folder_world *folder = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/blobs/none", folder->folder);
    char *words[] = {(char *)(uintptr_t)admin_program, (char *)(uintptr_t) "--data", path,
                     (char *)(uintptr_t) "projects",   (char *)(uintptr_t) "acme",   NULL};
    assert_int_equal(run_words(folder, words), 1);
    assert_non_null(strstr(folder->complaint, "not a data folder"));
    assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- dead letters ---- */

static void bury(folder_world *folder, const char *name, const char *body)
{
    kedge_queue queue = kedge_embedded_queue(folder->ports);
    kedge_queue_batch batch = {0};
    assert_int_equal(queue.vtable->send(queue.self, KEDGE_BYTES("o"), KEDGE_BYTES("g"),
                                        kedge_bytes_of(name), kedge_bytes_of(body), NULL),
                     KEDGE_OK);
    for (int deliveries = 0; deliveries <= KEDGE_QUEUE_DELIVERIES; deliveries++) {
        assert_int_equal(queue.vtable->receive(queue.self, 10, 0, 0, NULL, &batch, NULL), KEDGE_OK);
        kedge_queue_batch_free(&batch);
    }
}

static size_t count_waiting(folder_world *folder)
{
    kedge_queue queue = kedge_embedded_queue(folder->ports);
    kedge_queue_batch batch = {0};
    assert_int_equal(queue.vtable->receive(queue.self, 10, 0, 0, NULL, &batch, NULL), KEDGE_OK);
    size_t count = batch.count;
    kedge_queue_batch_free(&batch);
    return count;
}

static void test_dead_letters_are_listed_with_their_reasons_and_put_back(void **state)
{
    folder_world *folder = *state;
    char redrive[128];
    assert_int_equal(run(folder, "dead-letters"), 0);
    assert_string_equal(folder->text, "{\"dead_letters\":[],\"snapshots\":[],\"more\":false}\n");
    bury(folder, "1", "nothing");
    bury(folder, "2",
         "{\"format\":1,\"organization\":\"acme\",\"project\":\"notes\",\"user\":\"ann\","
         "\"role\":\"\",\"push\":{}}");
    assert_int_equal(run(folder, "dead-letters"), 0);
    const cJSON *list = cJSON_GetObjectItem(folder->json, "dead_letters");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    const cJSON *first = cJSON_GetArrayItem(list, 0), *second = cJSON_GetArrayItem(list, 1);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(first, "organization")));
    assert_string_equal(cJSON_GetObjectItem(second, "project")->valuestring, "notes");
    assert_string_equal(cJSON_GetObjectItem(second, "user")->valuestring, "ann");
    (void)snprintf(redrive, sizeof redrive, "redrive|%s",
                   cJSON_GetObjectItem(second, "id")->valuestring);
    assert_int_equal(run(folder, redrive), 0);
    assert_string_equal(folder->text, "{\"redriven\":1}\n");
    assert_int_equal(count_waiting(folder), 1);
    assert_int_equal(run(folder, redrive), 1);
    assert_non_null(strstr(folder->complaint, "no dead letter"));
    assert_int_equal(run(folder, "redrive-all"), 0);
    assert_string_equal(folder->text, "{\"redriven\":1,\"more\":false}\n");
    assert_int_equal(count_waiting(folder), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, admin_set_up, admin_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_six_queries_are_answered_beside_a_server),
        TEST(test_projects_are_made_and_listed),
        TEST(test_all_organizations_are_listed_in_pages),
        TEST(test_what_an_organization_has_is_told_and_counted_again),
        TEST(test_the_index_is_completed),
        TEST(test_a_version_is_forked_into_a_new_project),
        TEST(test_versions_are_rebased_onto_a_fork),
        TEST(test_a_rebase_runs_the_mutators_of_a_plugin),
        TEST(test_dead_letters_are_listed_with_their_reasons_and_put_back),
        TEST(test_a_project_is_verified),
        TEST(test_what_has_copies_is_repaired_when_told_so),
        TEST(test_old_versions_are_removed_when_told_so),
        TEST(test_garbage_is_told_and_left_for_its_grace),
        TEST(test_a_project_is_exported_and_imported),
        TEST(test_an_import_makes_the_folder_when_told_so),
        TEST(test_so_does_a_project_of_either_kind),
        TEST(test_checkpoints_are_written_on_demand),
        TEST(test_what_is_not_there_ends_with_one_and_says_so),
        TEST(test_a_wrong_line_ends_with_two_and_names_what_is_wrong),
        TEST(test_help_names_every_command),
        TEST(test_a_folder_without_data_is_not_made_into_one),
    };
    if (argc != 3) {
        fputs("usage: api_admin_test PROGRAM PLUGIN\n", stderr);
        return 2;
    }
    admin_program = argv[1];
    admin_plugin = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
