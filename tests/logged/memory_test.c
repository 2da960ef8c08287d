/* What is stored of a log project, read without memory: it is never told as damaged. */
#include "tests/logged/logged_world.h"

#include "backend/logged/snapshot_object.h"
#include "tests/support/failing_allocator.h"

/* Entries with mutations, rejections and `recent` runs, some with a snapshot. */
static void write_story(test_world *world)
{
    kedge_push_result result = {0};
    sheet_new(world);
    for (int i = 1; i <= 12; i++) {
        assert_int_equal(sheet_story(world->backend, i, &result), KEDGE_OK);
        if (i % 6 == 0) sheet_snap(world);
    }
}

static kedge_status read_snapshot(const kedge_project *project, const kedge_logged_entry *entry)
{
    kedge_snapshot_object object;
    kedge_error error = {0};
    if (entry->snapshot[0] == '\0') return KEDGE_OK;
    kedge_status status = kedge_snapshot_object_get(project, entry->snapshot, &object, &error);
    assert_int_equal(status, error.status);
    if (status != KEDGE_OK) return status;
    kedge_version_release(object.state);
    kedge_version_release(object.rejections);
    return KEDGE_OK;
}

static bool read_all(const kedge_allocator *allocator, void *context)
{
    kedge_project project = *sheet(context);
    kedge_logged_reader reader;
    kedge_logged_entry entry;
    kedge_error error = {0};
    int snapshots = 0;
    project.allocator = allocator;
    kedge_status status = kedge_logged_reader_open(&project, 0, false, 5, &reader, &error);
    while (status == KEDGE_OK) {
        status = kedge_logged_read(&reader, &entry, &error);
        if (status != KEDGE_OK) break;
        snapshots += entry.snapshot[0] != '\0';
        status = read_snapshot(&project, &entry);
        kedge_version_release(entry.version);
    }
    kedge_logged_reader_close(&reader);
    if (status == KEDGE_DONE)
        assert_int_equal(snapshots, 2);
    else
        assert_int_equal(status, KEDGE_NO_MEMORY);
    return status == KEDGE_DONE;
}

static void test_entries_and_snapshots_that_are_read_without_memory_are_not_damaged(void **state)
{
    write_story(*state);
    assert_true(failing_allocator_try_every_call(read_all, *state, 0) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_MEMORY(test_entries_and_snapshots_that_are_read_without_memory_are_not_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
