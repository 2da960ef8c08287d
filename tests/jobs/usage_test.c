/* What is stored for an organization, counted again. */
#include "tests/jobs/jobs_world.h"

#include "backend/jobs/usage.h"
#include "backend/log/layout.h"
#include "backend/ports/records_support.h"
#include "backend/versioned/usage/usage.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 130 /* more than a page of records */

/* In one page each: the oracle does not page. */
static int64_t weigh_records(test_world *world, const char *partition)
{
    const kedge_records *records = &world->store_records;
    const kedge_records_query query = {
        .partition = kedge_bytes_of(partition), .limit = 1000, .consistent = true};
    kedge_record_set set = {0};
    int64_t bytes = 0;
    assert_int_equal(records->vtable->query(records->self, &query, &set, NULL), KEDGE_OK);
    assert_false(set.more);
    assert_true(set.count > 0);
    for (size_t i = 0; i < set.count; i++)
        bytes += (int64_t)kedge_record_bytes(&set.records[i]);
    kedge_record_set_free(&set);
    return bytes;
}

static int64_t weigh_blobs(test_world *world, const char *prefix)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    int64_t bytes = 0;
    assert_int_equal(blobs->vtable->list(blobs->self, kedge_bytes_of(prefix),
                                         (kedge_bytes){NULL, 0}, 1000, &list, NULL),
                     KEDGE_OK);
    assert_false(list.more);
    assert_true(list.count > 0);
    for (size_t i = 0; i < list.count; i++)
        bytes += list.blobs[i].size_bytes;
    kedge_blob_list_free(&list);
    return bytes;
}

static int64_t weigh_log(test_world *world, const kedge_project_ref *ref)
{
    kedge_log log = kedge_log_of(HANDLE(world->backend, ref), KEDGE_BYTES("l"));
    kedge_log_key segments = kedge_log_key_segments(&log);
    kedge_log_key entries = kedge_log_key_entries(&log, 0);
    return weigh_records(world, segments.text) + weigh_records(world, entries.text) +
           weigh_records(world, "L#acme/notes");
}

/* A project with versions, one with a log besides, and another organization's. */
static void tell(test_world *world)
{
    jobs_story story;
    char *large = malloc(40000 + 64);
    assert_non_null(large);
    story_begin(&story, 7);
    story_tell(&story, world, 160);
    jobs_ask(world, "POST", "/v1/orgs/acme/projects/notes/fork", "{\"version\":3,\"to\":\"twin\"}");
    jobs_ask(world, "PUT", "/v1/orgs/acme/projects/notes/logs/l", "");
    uint64_t seed = 1;
    int size = snprintf(large, 64, "{\"type\":\"set\",\"version\":1,\"body\":\"");
    for (int i = 0; i < 40000; i++)
        large[size++] = (char)('a' + world_random(&seed) % 26);
    memcpy(large + size, "\"}", 3);
    jobs_ask(world, "POST", "/v1/orgs/acme/projects/notes/logs/l/entries", large);
    for (int i = 1; i < ENTRIES; i++)
        jobs_ask(world, "POST", "/v1/orgs/acme/projects/notes/logs/l/entries",
                 "{\"type\":\"set\",\"version\":1,\"body\":1}");
    jobs_ask(world, "PUT", "/v1/orgs/acme2/projects/notes", "");
    jobs_ask(world, "PUT", "/v1/orgs/acme2/projects/notes/logs/l", "");
    jobs_ask(world, "POST", "/v1/orgs/acme2/projects/notes/logs/l/entries", large);
    free(large);
}

static void test_all_records_and_blobs_of_an_organization_are_counted(void **state)
{
    test_world *world = *state;
    tell(world);
    int64_t wanted = weigh_records(world, "Project#acme/notes") +
                     weigh_records(world, "Project#acme/twin") + weigh_log(world, &notes) +
                     weigh_blobs(world, "acme/");
    const kedge_project_ref acme = {KEDGE_BYTES("acme"), {NULL, 0}};
    int64_t before = -1, after = -1, read = -1;
    assert_int_equal(kedge_usage_add(HANDLE(world->backend, &acme), 1234, &read, NULL), KEDGE_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(kedge_usage_recount(HANDLE(world->backend, &acme), &before, &after, NULL),
                         KEDGE_OK);
        assert_int_equal(before, round == 0 ? 1234 : wanted);
        assert_int_equal(after, wanted);
        assert_int_equal(kedge_usage_read(HANDLE(world->backend, &acme), &read, NULL), KEDGE_OK);
        assert_int_equal(read, wanted);
    }
}

static void test_of_an_organization_without_anything_nothing_is_counted(void **state)
{
    test_world *world = *state;
    const kedge_project_ref none = {KEDGE_BYTES("nobody"), {NULL, 0}};
    int64_t before = -1, after = -1;
    assert_int_equal(kedge_usage_add(HANDLE(world->backend, &none), 5, &after, NULL), KEDGE_OK);
    assert_int_equal(kedge_usage_recount(HANDLE(world->backend, &none), &before, &after, NULL),
                     KEDGE_OK);
    assert_int_equal(before, 5);
    assert_int_equal(after, 0);
}

/* A failure leaves the count as it was; UNAVAILABLE of the last call may have changed it. */
static void test_a_recount_that_fails_changes_nothing(void **state)
{
    test_world *world = *state;
    tell(world);
    const kedge_project_ref acme = {KEDGE_BYTES("acme"), {NULL, 0}};
    int64_t before = -1, after = -1;
    assert_int_equal(kedge_usage_add(HANDLE(world->backend, &acme), 1234, &after, NULL), KEDGE_OK);
    bool done = false;
    for (uint64_t at = 1; !done; at++) {
        world_arm(world, WORLD_FAULT_BEFORE, at, false, false);
        kedge_status status =
            kedge_usage_recount(HANDLE(world->backend, &acme), &before, &after, NULL);
        done = world->faults == 0;
        world_disarm(world);
        assert_true(done == (status == KEDGE_OK));
        int64_t read = -1;
        assert_int_equal(kedge_usage_read(HANDLE(world->backend, &acme), &read, NULL), KEDGE_OK);
        assert_true(done ? read != 1234 : read == 1234);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_all_records_and_blobs_of_an_organization_are_counted),
        OVER_BOTH(test_of_an_organization_without_anything_nothing_is_counted),
        OVER_MEMORY(test_a_recount_that_fails_changes_nothing),
    };
    return cmocka_run_group_tests_name("counting again what is stored", tests, NULL, NULL);
}
