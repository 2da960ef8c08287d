/* Deleting a project: nothing of it is left, nothing else is touched, and a call that was broken
 * off in front of any of its port calls is completed by the next one. Beside it no project of the
 * name is made, and after it none is harmed. */
#include "tests/jobs/transfer_world.h"

#include "backend/api/api.h"
#include "backend/jobs/delete.h"
#include "backend/log/layout.h"
#include "backend/versioned/projects/organizations.h"
#include "tests/backend/project_records.h"
#include "tests/jobs/process.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

#define MUTATIONS 14
#define CALLS_MAX 2000

static char large[40000];

/* ---- a project that has everything ---- */

static void add_log(test_world *world, const char *project)
{
    char path[128];
    char body[sizeof large + 64];
    snprintf(path, sizeof path, "/v1/orgs/acme/projects/%s/logs/l", project);
    jobs_ask(world, "PUT", path, "");
    snprintf(path, sizeof path, "/v1/orgs/acme/projects/%s/logs/l/entries", project);
    snprintf(body, sizeof body, "{\"type\":\"set\",\"version\":1,\"body\":\"%s\"}", large);
    for (int i = 0; i < 3; i++)
        jobs_ask(world, "POST", path, body);
}

static void add_resources(test_world *world, const char *project)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/orgs/acme/resources/access/project:%s", project);
    jobs_ask(world, "PUT", path, "{\"expected\":0,\"value\":{\"users\":{\"ann\":\"editor\"}}}");
    jobs_ask(world, "PUT", path, "{\"expected\":1,\"value\":{\"users\":{\"bob\":\"editor\"}}}");
}

/* As a reprocessing of its logs leaves it that was broken off, and as a pending snapshot. */
static void add_rests(test_world *world, const kedge_project_ref *ref)
{
    char progress[128];
    kedge_log log = kedge_log_of(HANDLE(world->backend, ref), KEDGE_BYTES("l"));
    kedge_log_key pending = kedge_log_key_pending(&log);
    const kedge_records *records = &world->store_records;
    snprintf(progress, sizeof progress, "Reprocess#acme/%s", ref->project.data);
    const char *const partitions[] = {progress, pending.text};
    for (size_t i = 0; i < 2; i++) {
        const kedge_attribute number = {"n", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1};
        const kedge_record_write write = {
            .kind = KEDGE_WRITE_PUT,
            .record = {{kedge_bytes_of(partitions[i]), KEDGE_BYTES("1")}, &number, 1}};
        assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    }
}

static const kedge_project_ref twin = {{"acme", 4}, {"twin", 4}};

/* "notes", and a fork of it with a log and an access list, which must not notice anything. */
static test_world *set_scene(void **made)
{
    world_setup_memory(made);
    test_world *world = *made;
    uint64_t seed = 1;
    for (size_t i = 0; i + 1 < sizeof large; i++) /* which hardly compresses */
        large[i] = (char)('a' + world_random(&seed) % 26);
    transfer_tell(world, MUTATIONS);
    jobs_ask(world, "POST", "/v1/orgs/acme/projects/notes/fork", "{\"version\":3,\"to\":\"twin\"}");
    add_log(world, "notes");
    add_log(world, "twin");
    add_resources(world, "notes");
    add_resources(world, "twin");
    add_rests(world, &notes);
    add_rests(world, &twin);
    world_restart(world);
    return world;
}

/* ---- what is left ---- */

static size_t count_records(test_world *world, const char *partition)
{
    const kedge_records *records = &world->store_records;
    const kedge_records_query query = {
        .partition = kedge_bytes_of(partition), .limit = 1000, .consistent = true};
    kedge_record_set set = {0};
    assert_int_equal(records->vtable->query(records->self, &query, &set, NULL), KEDGE_OK);
    size_t count = set.count;
    kedge_record_set_free(&set);
    return count;
}

static size_t count_blobs(test_world *world, const char *prefix)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    assert_int_equal(blobs->vtable->list(blobs->self, kedge_bytes_of(prefix),
                                         (kedge_bytes){NULL, 0}, 1000, &list, NULL),
                     KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}

/* Of everything that there is of a project: how much. */
static size_t count_all(test_world *world, const kedge_project_ref *ref)
{
    char name[128];
    kedge_log log = kedge_log_of(HANDLE(world->backend, ref), KEDGE_BYTES("l"));
    kedge_log_key segments = kedge_log_key_segments(&log);
    kedge_log_key entries = kedge_log_key_entries(&log, 0);
    kedge_log_key pending = kedge_log_key_pending(&log);
    size_t count = count_records(world, segments.text) + count_records(world, entries.text);
    count += count_records(world, pending.text);
    const char *const partitions[] = {"L#acme/%s", "Project#acme/%s",
                                      "ResourceHistory#acme/access/project:%s",
                                      "Reprocess#acme/%s"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, partitions[i], ref->project.data);
        count += count_records(world, name);
    }
    snprintf(name, sizeof name, "acme/projects/%s/", ref->project.data);
    count += count_blobs(world, name);
    snprintf(name, sizeof name, "acme/logs/%s/", ref->project.data);
    return count + count_blobs(world, name);
}

static bool is_there(test_world *world)
{
    const kedge_version *version = NULL;
    kedge_status status = kedge_version_load(NOTES(world), 0, &version, NULL);
    if (status == KEDGE_OK) kedge_version_release(version);
    return status == KEDGE_OK;
}

static bool is_listed(test_world *world)
{
    bool marked = false;
    assert_int_equal(kedge_organization_is_marked(NOTES(world), &marked, NULL), KEDGE_OK);
    return marked;
}

/* One record stays: that an import, or what looks like one, was discarded under the name. */
static void check_gone(test_world *world, size_t of_twin)
{
    assert_false(is_there(world));
    assert_int_equal(count_all(world, &notes), 1);
    assert_int_equal(project_records_count(&world->store_records, &notes, "Discarded"), 1);
    assert_int_equal(count_records(world, "Org#acme"), 1);
    assert_true(is_listed(world));
    assert_int_equal(count_records(world, "Resource#acme/access"), 1);
    assert_int_equal(count_all(world, &twin), of_twin);
    assert_string_equal(jobs_findings(world, &twin), "");
}

static void test_nothing_of_a_deleted_project_is_left_and_its_fork_stays(void **state)
{
    (void)state;
    void *made;
    kedge_error error = {0};
    test_world *world = set_scene(&made);
    size_t of_twin = count_all(world, &twin);
    assert_true(count_all(world, &notes) > 20);
    assert_int_equal(kedge_project_delete(NOTES(world), &error), KEDGE_OK);
    check_gone(world, of_twin);
    assert_int_equal(kedge_project_delete(NOTES(world), &error), KEDGE_NOT_FOUND);
    assert_string_equal(error.code, "project-not-found");
    world_restart(world);
    jobs_ask(world, "PUT", "/v1/orgs/acme/projects/notes", "");
    transfer_tell(world, MUTATIONS);
    assert_string_equal(jobs_findings(world, &notes), "");
    world_teardown(&made);
}

static void test_a_deletion_that_was_broken_off_anywhere_is_completed_by_the_next_one(void **state)
{
    (void)state;
    bool completed = false;
    uint64_t at = 1;
    for (; !completed && at < CALLS_MAX; at++) {
        void *made;
        kedge_error error = {0};
        test_world *world = set_scene(&made);
        size_t of_twin = count_all(world, &twin);
        world_arm(world, WORLD_FAULT_BEFORE, at, true, false);
        completed = kedge_project_delete(NOTES(world), &error) == KEDGE_OK;
        world_disarm(world);
        world_restart(world);
        if (project_records_count(&world->store_records, &notes, "ProjectVersion#pv_99999") > 0) {
            assert_false(is_there(world));
            assert_int_equal(kedge_import_discard(NOTES(world), &error), KEDGE_CONFLICT);
            assert_string_equal(error.code, "project-half-deleted");
        } else if (!completed) {
            assert_true(is_there(world));
            assert_string_equal(jobs_findings(world, &notes), "");
        }
        if (!completed) {
            assert_int_equal(kedge_project_delete(NOTES(world), &error), KEDGE_OK);
        }
        check_gone(world, of_twin);
        world_teardown(&made);
    }
    assert_true(completed);
    assert_true(at > 20);
}

static void
test_an_organization_goes_with_its_last_project_wherever_that_was_broken_off(void **state)
{
    (void)state;
    bool completed = false;
    for (uint64_t at = 1; !completed && at < CALLS_MAX; at++) {
        void *made;
        kedge_error error = {0};
        world_setup_memory(&made);
        test_world *world = made;
        world_put(world, "c1", 1, "a", 1);
        world_restart(world);
        assert_true(is_listed(world));
        world_arm(world, WORLD_FAULT_BEFORE, at, true, false);
        completed = kedge_project_delete(NOTES(world), &error) == KEDGE_OK;
        world_disarm(world);
        world_restart(world);
        if (!completed) assert_int_equal(kedge_project_delete(NOTES(world), &error), KEDGE_OK);
        assert_false(is_listed(world));
        world_teardown(&made);
    }
    assert_true(completed);
}

static void test_an_import_under_way_is_not_deleted(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    transfer_tell(world, MUTATIONS);
    transfer_export(world, &notes, &text);
    transfer_break_off(world, &text, 12);
    assert_int_equal(kedge_project_delete(HANDLE(world->backend, &copy), &error), KEDGE_CONFLICT);
    assert_string_equal(error.code, "import-under-way");
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
    kedge_buffer_free(&text);
}

/* ---- beside the making of another project of the name ---- */

#define SHEET     "/v1/orgs/acme/projects/sheet"
#define SHEET_LOG "{\"kind\":\"log\"}"
#define PUSH                                                                                       \
    "{\"pushVersion\":1,\"clientGroupID\":\"c1\",\"kedge\":{\"client\":\"c1\"},\"mutations\":[{"   \
    "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"timestamp\":7,\"args\":{"               \
    "\"collection\":"                                                                              \
    "\"d\",\"id\":\"a\",\"value\":1}}]}"

static const kedge_project_ref sheet = {{"acme", 4}, {"sheet", 5}};
static int made_status; /* of the one in the middle */

static void make_by_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    made_status = jobs_ask_by(other, "PUT", SHEET, SHEET_LOG, NULL);
    kedge_backend_free(other);
}

static void delete_by_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    assert_int_equal(kedge_project_delete(HANDLE(other, &sheet), NULL), KEDGE_OK);
    kedge_backend_free(other);
}

static test_world *make_sheet(void **made)
{
    world_setup_memory(made);
    test_world *world = *made;
    jobs_ask(world, "PUT", SHEET, SHEET_LOG);
    jobs_ask(world, "POST", SHEET "/push", PUSH);
    jobs_ask(world, "POST", SHEET "/snapshot", "");
    world_restart(world);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    return world;
}

/* There is no such project, or a new one, which has all that it needs. */
static void check_whole(test_world *world)
{
    kedge_buffer answer;
    world_disarm(world);
    world_restart(world);
    int status = jobs_ask_by(world->backend, "GET", SHEET, "", &answer);
    if (status != 404) assert_int_equal(status, 200);
    if (status == 200) assert_non_null(strstr(answer.data, "\"version\":0"));
    kedge_buffer_free(&answer);
    jobs_ask(world, "PUT", SHEET, SHEET_LOG);
    jobs_ask(world, "POST", SHEET "/push", PUSH);
    assert_int_equal(jobs_ask_by(world->backend, "GET", SHEET, "", &answer), 200);
    assert_non_null(strstr(answer.data, "\"version\":1"));
    kedge_buffer_free(&answer);
}

static void test_a_project_that_is_made_in_a_deletion_is_none_or_whole(void **state)
{
    (void)state;
    bool ended = false;
    int refused = 0;
    for (uint64_t at = 1; !ended; at++) {
        void *made;
        test_world *world = make_sheet(&made);
        world->meddle = make_by_another;
        world->meddle_at = at;
        assert_int_equal(kedge_project_delete(HANDLE(world->backend, &sheet), NULL), KEDGE_OK);
        ended = world->meddle != NULL;
        if (!ended && made_status == 409) refused++;
        if (!ended && made_status != 409) assert_int_equal(made_status, 200);
        check_whole(world);
        world_teardown(&made);
    }
    assert_true(refused > 10);
}

static void test_a_project_that_is_deleted_while_it_is_made_is_none_or_whole(void **state)
{
    (void)state;
    bool ended = false;
    for (uint64_t at = 1; !ended; at++) {
        void *made;
        test_world *world = make_sheet(&made);
        world->meddle = delete_by_another;
        world->meddle_at = at;
        (void)jobs_ask_by(world->backend, "PUT", SHEET, SHEET_LOG, NULL);
        ended = world->meddle != NULL;
        world->meddle = NULL;
        if (ended) delete_by_another(world);
        check_whole(world);
        world_teardown(&made);
    }
}

/* ---- what a server remembers of the deleted project ---- */

/* Another server deletes the project that this one knows to be of the kind `before`, and makes one
 * with `body`, or none when that is NULL. */
static test_world *take_name_anew(void **made, const char *before, const char *body)
{
    world_setup_memory(made);
    test_world *world = *made;
    jobs_ask(world, "PUT", SHEET, before);
    delete_by_another(world);
    kedge_backend *other = world_new_backend(world);
    if (body != NULL) assert_int_equal(jobs_ask_by(other, "PUT", SHEET, body, NULL), 201);
    kedge_backend_free(other);
    return world;
}

static void check_answer(test_world *world, const char *path, int status, const char *part)
{
    kedge_buffer answer;
    assert_int_equal(jobs_ask_by(world->backend, "GET", path, "", &answer), status);
    if (strstr(answer.data, part) == NULL) fail_msg("%s: %s", path, answer.data);
    kedge_buffer_free(&answer);
}

static void test_a_remembered_log_project_gets_no_log_in_a_project_of_versions(void **state)
{
    (void)state;
    void *made;
    test_world *world = take_name_anew(&made, SHEET_LOG, "");
    assert_int_equal(jobs_ask_by(world->backend, "PUT", SHEET, SHEET_LOG, NULL), 409);
    check_answer(world, SHEET "/logs", 200, "{\"logs\":[],");
    /* This server knows better now. */
    check_answer(world, SHEET, 200, "\"kind\":\"versions\"");
    jobs_ask(world, "POST", SHEET "/push", PUSH);
    check_answer(world, SHEET "/versions/1/collections/d/a", 200, "\"value\":1");
    world_teardown(&made);
}

static void test_a_remembered_log_project_is_not_made_while_an_import_has_the_name(void **state)
{
    (void)state;
    void *made;
    test_world *world = take_name_anew(&made, SHEET_LOG, NULL);
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_import_result result;
    transfer_tell(world, MUTATIONS);
    transfer_export(world, &notes, &text);
    kedge_bytes head = {text.data, (size_t)(strchr(text.data, '\n') - text.data) + 1};
    assert_int_not_equal(transfer_import(world, &sheet, head, &result, NULL), KEDGE_OK);
    assert_int_equal(jobs_ask_by(world->backend, "PUT", SHEET, SHEET_LOG, NULL), 409);
    transfer_must_import(world, &sheet, &text);
    check_answer(world, SHEET "/logs", 200, "{\"logs\":[],");
    kedge_buffer_free(&text);
    world_teardown(&made);
}

static void test_a_log_project_that_has_the_name_of_remembered_versions_is_told(void **state)
{
    (void)state;
    for (int there = 0; there < 2; there++) {
        void *made;
        test_world *world = take_name_anew(&made, "", there ? SHEET_LOG : NULL);
        assert_int_equal(jobs_ask_by(world->backend, "PUT", SHEET, SHEET_LOG, NULL),
                         there ? 200 : 201);
        check_answer(world, SHEET, 200, "\"kind\":\"log\"");
        jobs_ask(world, "POST", SHEET "/push", PUSH);
        check_answer(world, SHEET "/logs", 200, "{\"logs\":[{");
        world_teardown(&made);
    }
}

/* ---- a deletion that slept ---- */

static kedge_status delete_notes(const jobs_process *own)
{
    return kedge_project_delete(HANDLE(own->backend, &notes), NULL);
}

/* One deletion is stopped in front of call `at`, another one ends, and the name is used anew. */
static bool sleep_and_wake(int64_t at, size_t *lost)
{
    void *made;
    jobs_process sleeper;
    test_world *world = set_scene(&made);
    bool ended = !process_start(&sleeper, world, delete_notes, NULL, at);
    if (!ended) assert_int_equal(kedge_project_delete(NOTES(world), NULL), KEDGE_OK);
    world_restart(world);
    jobs_ask(world, "PUT", "/v1/orgs/acme/projects/notes", "");
    transfer_tell(world, MUTATIONS);
    add_log(world, "notes");
    add_resources(world, "notes");
    size_t before = count_all(world, &notes);
    process_end(&sleeper);
    size_t gone = before - count_all(world, &notes);
    assert_true(gone <= 1);
    *lost += gone;
    world_restart(world);
    assert_true(is_there(world));
    jobs_ask(world, "GET", "/v1/orgs/acme/resources/access/project:notes", "");
    world_teardown(&made);
    return ended;
}

/* But for one blob, when it stood in front of its removal. */
static void test_a_deletion_that_slept_removes_nothing_of_the_next_project(void **state)
{
    (void)state;
    size_t lost = 0;
    int64_t at = 3; /* the project is found, and its name not taken yet */
    while (!sleep_and_wake(at, &lost))
        at += SAMPLING_FEWER;
    assert_true(at > 20);
    /* Each removal has a look at the name in front of it. */
    assert_true(2 * (int64_t)lost < at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_of_a_deleted_project_is_left_and_its_fork_stays),
        cmocka_unit_test(test_a_deletion_that_was_broken_off_anywhere_is_completed_by_the_next_one),
        cmocka_unit_test(
            test_an_organization_goes_with_its_last_project_wherever_that_was_broken_off),
        OVER_MEMORY(test_an_import_under_way_is_not_deleted),
        cmocka_unit_test(test_a_project_that_is_made_in_a_deletion_is_none_or_whole),
        cmocka_unit_test(test_a_project_that_is_deleted_while_it_is_made_is_none_or_whole),
        cmocka_unit_test(test_a_remembered_log_project_gets_no_log_in_a_project_of_versions),
        cmocka_unit_test(test_a_remembered_log_project_is_not_made_while_an_import_has_the_name),
        cmocka_unit_test(test_a_log_project_that_has_the_name_of_remembered_versions_is_told),
        cmocka_unit_test(test_a_deletion_that_slept_removes_nothing_of_the_next_project),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
