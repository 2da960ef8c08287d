/* Imports under way: nobody sees half of one, whatever fails and whoever comes in between. */
#include "tests/jobs/transfer_world.h"

#include "backend/api/api.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/versions/versions.h"
#include "tests/backend/project_records.h"
#include "tests/support/project.h"

#include <string.h>

#define TAKEN 4 /* the port call of an import that takes the name */

static push_builder builder;

/* ---- what is seen of an import under way ---- */

static void check_hidden(test_world *world)
{
    const kedge_version *version = NULL;
    kedge_push_result result = {0};
    kedge_error error = {0};
    assert_int_equal(kedge_version_load(HANDLE(world->backend, &copy), 0, &version, &error),
                     KEDGE_NOT_FOUND);
    assert_string_equal(error.code, "project-not-found");
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    assert_int_equal(
        kedge_processor_push(HANDLE(world->backend, &copy), &builder.push, &result, NULL),
        KEDGE_NOT_FOUND);
}

static void test_an_import_under_way_is_no_project(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer other = kedge_buffer_make(&kedge_allocator_default);
    kedge_import_result result;
    kedge_error error = {0};
    bool created = false;
    int64_t created_ms = 0;
    transfer_tell(world, 30);
    transfer_export(world, &notes, &text);
    transfer_export(world, &notes, &other);
    transfer_break_off(world, &text, 40);
    check_hidden(world);
    assert_int_equal(transfer_import(world, &copy, kedge_buffer_bytes(&other), &result, &error),
                     KEDGE_CONFLICT);
    assert_string_equal(error.code, "import-under-way");
    /* As open mode does at the first use of a name. */
    assert_int_equal(
        kedge_project_create(HANDLE(world->backend, &copy), &created, &created_ms, &error),
        KEDGE_CONFLICT);
    assert_string_equal(error.code, "import-under-way");
    check_hidden(world);
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
    kedge_buffer_free(&text);
    kedge_buffer_free(&other);
}

static size_t count_blobs(test_world *world)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    kedge_bytes none = {NULL, 0};
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/projects/copy/"), none,
                                         1000, &list, NULL),
                     KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}

static void test_an_import_is_discarded_whole(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer other = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    transfer_tell(world, 30);
    transfer_export(world, &notes, &text);
    transfer_export(world, &notes, &other);
    assert_int_equal(kedge_import_discard(HANDLE(world->backend, &copy), &error), KEDGE_NOT_FOUND);
    bool ended = false;
    uint64_t at = 1;
    for (; !ended; at++) {
        transfer_break_off(world, &text, 36);
        assert_true(count_blobs(world) > 0);
        world_arm(world, WORLD_FAULT_AFTER, at, true, false);
        ended = kedge_import_discard(HANDLE(world->backend, &copy), NULL) == KEDGE_OK;
        world_disarm(world);
        kedge_import_discard(HANDLE(world->backend, &copy), NULL);
        assert_int_equal(count_blobs(world), 0);
        assert_int_equal(kedge_import_discard(HANDLE(world->backend, &copy), &error),
                         KEDGE_NOT_FOUND);
        assert_string_equal(error.code, "no-import");
        assert_int_equal(project_records_count(&world->store_records, &copy, "P"), 0);
    }
    assert_true(at > 10);
    transfer_must_import(world, &copy, &other);
    transfer_check(world, &other);
    assert_int_equal(kedge_import_discard(HANDLE(world->backend, &copy), &error), KEDGE_NOT_FOUND);
    kedge_buffer_free(&text);
    kedge_buffer_free(&other);
}

/* ---- versions that are not the import's own ---- */

/* Version 1 of "notes" under the name of the copy, with another lineage. */
static void put_first_version(test_world *world)
{
    const kedge_records *records = &world->store_records;
    kedge_key from = kedge_key_partition(&notes);
    kedge_key to = kedge_key_partition(&copy);
    kedge_key sort = kedge_key_version(1);
    kedge_record_key key = {kedge_key_bytes(&from), kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    kedge_attribute attributes[KEDGE_RECORD_ATTRIBUTES_MAX];
    assert_int_equal(records->vtable->get(records->self, &key, true, &set, NULL), KEDGE_OK);
    kedge_record record = set.records[0];
    record.key.partition = kedge_key_bytes(&to);
    for (size_t i = 0; i < record.attribute_count; i++) {
        attributes[i] = record.attributes[i];
        if (strcmp(attributes[i].name, "lineage") != 0) continue;
        attributes[i].bytes = KEDGE_BYTES("00000000000000000000000000000000");
    }
    record.attributes = attributes;
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT, .record = record};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    kedge_record_set_free(&set);
}

static void must_refuse_version(test_world *world, const kedge_buffer *text)
{
    kedge_import_result result;
    kedge_error error = {0};
    assert_int_equal(transfer_import(world, &copy, kedge_buffer_bytes(text), &result, &error),
                     KEDGE_CONFLICT);
    assert_string_equal(error.code, "version-exists");
}

static void test_a_version_of_another_history_is_not_taken_for_the_own_one(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    transfer_tell(world, 20);
    transfer_export(world, &notes, &text);
    transfer_break_off(world, &text, TAKEN + 1);
    put_first_version(world);
    must_refuse_version(world, &text);
    must_refuse_version(world, &text);
    check_hidden(world);
    assert_int_equal(kedge_import_discard(HANDLE(world->backend, &copy), NULL), KEDGE_OK);
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
    kedge_buffer_free(&text);
}

static void test_versions_without_a_project_stop_an_import_before_it_begins(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    transfer_tell(world, 20);
    transfer_export(world, &notes, &text);
    put_first_version(world);
    must_refuse_version(world, &text);
    assert_int_equal(kedge_import_discard(HANDLE(world->backend, &copy), NULL), KEDGE_NOT_FOUND);
    kedge_buffer_free(&text);
}

/* ---- crashes and races ---- */

static void crash_at(int (*setup)(void **), bool retained, world_fault fault, uint64_t at,
                     bool *ended)
{
    void *made = NULL;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_import_result result;
    const kedge_version *version = NULL;
    setup(&made);
    test_world *world = made;
    transfer_tell(world, 16);
    if (retained) transfer_retain(world, 5);
    transfer_export(world, &notes, &text);
    world_arm(world, fault, at, true, false);
    transfer_import(world, &copy, kedge_buffer_bytes(&text), &result, NULL);
    *ended = world->faults == 0;
    world_disarm(world);
    world_restart(world);
    kedge_status found = kedge_version_load(HANDLE(world->backend, &copy), 0, &version, NULL);
    if (found == KEDGE_OK) {
        kedge_version_release(version);
        transfer_check(world, &text);
    } else {
        assert_int_equal(found, KEDGE_NOT_FOUND);
    }
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
    kedge_buffer_free(&text);
    world_teardown(&made);
}

static void test_an_import_broken_off_at_any_port_call_goes_on(void **state)
{
    (void)state;
    int (*setups[])(void **) = {world_setup_memory, world_setup_seed};
    for (size_t i = 0; i < 4; i++) {
        for (int fault = WORLD_FAULT_BEFORE; fault <= WORLD_FAULT_AFTER; fault++) {
            bool ended = false;
            uint64_t at = 1;
            for (; !ended; at += WORLD_STRIDE)
                crash_at(setups[i % 2], i >= 2, (world_fault)fault, at, &ended);
            assert_true(at > 30);
        }
    }
}

/* ---- checkpoints that fail ---- */

static size_t told_checkpoints;

static void note_failure(void *context, const kedge_background_failure *failure)
{
    (void)context;
    assert_int_equal(failure->work, KEDGE_BACKGROUND_IMPORT_CHECKPOINTS);
    assert_true(kedge_bytes_equal(failure->project, copy.project));
    told_checkpoints++;
}

static void listen(test_world *world, kedge_backend_options *options)
{
    (void)world;
    options->failed = note_failure;
}

/* False when there are fewer port calls. */
static bool import_with_fault(const kedge_buffer *text, uint64_t at, size_t *ended_well)
{
    void *made = NULL;
    kedge_import_result result;
    world_setup_memory(&made);
    test_world *world = made;
    world->tune = listen;
    world_restart(world);
    told_checkpoints = 0;
    world_arm(world, WORLD_FAULT_BEFORE, at, true, false);
    kedge_status status = transfer_import(world, &copy, kedge_buffer_bytes(text), &result, NULL);
    bool failed = world->faults > 0;
    world_disarm(world);
    assert_int_equal(told_checkpoints, status == KEDGE_OK && failed ? 1 : 0);
    if (told_checkpoints > 0) {
        transfer_check(world, text);
        ++*ended_well;
    }
    world_teardown(&made);
    return failed;
}

static void test_an_import_that_ends_well_in_spite_of_a_fault_tells_of_its_checkpoints(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    size_t ended_well = 0;
    uint64_t at = 1;
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "test.fill", "{\"from\":0,\"count\":3000}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.version, 1);
    transfer_export(world, &notes, &text);
    while (import_with_fault(&text, at, &ended_well))
        at++;
    assert_true(ended_well > 0);
    kedge_buffer_free(&text);
}

static const kedge_buffer *imported_text;

static void import_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    transfer_must_import(world, &copy, imported_text);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void discard_of_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    kedge_import_discard(HANDLE(other, &copy), NULL);
    kedge_backend_free(other);
}

/* The same lines, but not to their end. */
static void half_import_of_another(test_world *world)
{
    kedge_import_result result;
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    const char *half = strstr(imported_text->data, "\n{\"version\":8,");
    assert_non_null(half);
    kedge_bytes lines = {imported_text->data, (size_t)(half - imported_text->data) + 1};
    transfer_import(world, &copy, lines, &result, NULL);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void discard_and_half_import_of_another(test_world *world)
{
    discard_of_another(world);
    half_import_of_another(world);
}

static void test_somebody_else_between_any_two_calls_makes_no_half_project(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {import_of_another, half_import_of_another,
                                       discard_of_another, discard_and_half_import_of_another};
    for (size_t i = 0; i < 4; i++) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            void *made = NULL;
            kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
            kedge_import_result result;
            const kedge_version *version = NULL;
            world_setup_memory(&made);
            test_world *world = made;
            transfer_tell(world, 12);
            transfer_retain(world, 5);
            transfer_export(world, &notes, &text);
            imported_text = &text;
            world_arm(world, WORLD_FAULT_NONE, 0, false, false);
            world->meddle = meddles[i];
            world->meddle_at = at;
            kedge_status status =
                transfer_import(world, &copy, kedge_buffer_bytes(&text), &result, NULL);
            ended = world->meddle != NULL;
            world_disarm(world);
            world_restart(world);
            kedge_status found =
                kedge_version_load(HANDLE(world->backend, &copy), 0, &version, NULL);
            kedge_version_release(found == KEDGE_OK ? version : NULL);
            if (status == KEDGE_OK) assert_int_equal(found, KEDGE_OK);
            /* Two that put the same versions do not hinder each other. */
            if (i == 1 && at > TAKEN) assert_int_equal(status, KEDGE_OK);
            if (found == KEDGE_OK) transfer_check(world, &text);
            if (i == 2 && found != KEDGE_OK) {
                const kedge_records *records = &world->store_records;
                assert_int_equal(project_records_count(records, &copy, "ProjectVersion#"), 0);
                assert_int_equal(project_records_count(records, &copy, "Retention"), 0);
            }
            transfer_must_import(world, &copy, &text);
            transfer_check(world, &text);
            kedge_buffer_free(&text);
            world_teardown(&made);
        }
    }
}

/* The import of another ends, and the project goes on: what is kept of it is older no more. */
static void import_and_retention_of_another(test_world *world)
{
    kedge_push_result result = {0};
    kedge_backend *own = world->backend;
    import_of_another(world);
    world->backend = world_new_backend(world);
    for (int i = 1; i <= 6; i++) {
        push_begin(&builder);
        push_add_large(&builder, "later", i, "x", i, 9000);
        assert_int_equal(
            kedge_processor_push(HANDLE(world->backend, &copy), &builder.push, &result, NULL),
            KEDGE_OK);
        assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    }
    transfer_retain_project(world, &copy, 3);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void test_an_import_that_slept_while_its_project_went_on_changes_nothing_of_it(void **state)
{
    (void)state;
    bool ended = false;
    for (uint64_t at = TAKEN + 1; !ended; at += WORLD_STRIDE) {
        void *made = NULL;
        kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
        kedge_import_result result;
        int64_t oldest = 0;
        world_setup_memory(&made);
        test_world *world = made;
        transfer_tell(world, 12);
        transfer_retain(world, 5);
        transfer_export(world, &notes, &text);
        imported_text = &text;
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle = import_and_retention_of_another;
        world->meddle_at = at;
        kedge_status status =
            transfer_import(world, &copy, kedge_buffer_bytes(&text), &result, NULL);
        ended = world->meddle != NULL;
        world_disarm(world);
        world_restart(world);
        if (!ended) {
            assert_int_equal(kedge_retained_oldest(HANDLE(world->backend, &copy), &oldest, NULL),
                             KEDGE_OK);
            assert_true(oldest > result.newest - 3);
            if (status != KEDGE_OK) assert_int_equal(status, KEDGE_UNAVAILABLE);
            assert_string_equal(jobs_findings(world, &copy), "");
            transfer_retain_project(world, &copy, 1);
            assert_string_equal(jobs_findings(world, &copy), "");
        }
        kedge_buffer_free(&text);
        world_teardown(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_an_import_under_way_is_no_project),
        OVER_MEMORY(test_an_import_is_discarded_whole),
        OVER_MEMORY(test_a_version_of_another_history_is_not_taken_for_the_own_one),
        OVER_MEMORY(test_versions_without_a_project_stop_an_import_before_it_begins),
        OVER_MEMORY(test_an_import_that_ends_well_in_spite_of_a_fault_tells_of_its_checkpoints),
        cmocka_unit_test(test_an_import_broken_off_at_any_port_call_goes_on),
        cmocka_unit_test(test_somebody_else_between_any_two_calls_makes_no_half_project),
        cmocka_unit_test(test_an_import_that_slept_while_its_project_went_on_changes_nothing_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
