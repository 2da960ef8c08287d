/* Garbage collection: what nobody refers to goes, after the grace, and nothing else ever does. */
#include "tests/jobs/jobs_world.h"

#include "backend/jobs/gc.h"
#include "backend/jobs/retention.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/versions/blob.h"
#include "common/gzip.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_MS INT64_C(3600000)
#define DAY_MS  (24 * HOUR_MS)

static push_builder builder;

/* ---- running it ---- */

static kedge_status try_gc(test_world *world, bool remove, kedge_gc_result *result,
                           kedge_error *error)
{
    kept_lines kept;
    kedge_gc_options options = {.remove = remove};
    lines_begin(&kept);
    kedge_status status = kedge_gc_run(NOTES(world), &options, &kept.lines, result, error);
    lines_end(&kept);
    return status;
}

static kedge_gc_result gc(test_world *world)
{
    kedge_gc_result result;
    kedge_error error = {0};
    if (try_gc(world, true, &result, &error) != KEDGE_OK) {
        fail_msg("gc: %s: %s", error.code, error.message);
    }
    return result;
}

/* The time, in hours from the beginning of a test. */
static void at_hour(test_world *world, int hours)
{
    jobs_set_ahead(world, hours * HOUR_MS);
}

static int back_to_now(void **state)
{
    jobs_set_ahead(*state, 0);
    return world_teardown(state);
}

static size_t count_blobs(test_world *world, const char *folder)
{
    const kedge_blobs *blobs = &world->store_blobs;
    char prefix[128];
    kedge_blob_list list = {0};
    kedge_bytes none = {NULL, 0};
    snprintf(prefix, sizeof prefix, "acme/projects/notes/%s", folder);
    assert_int_equal(
        blobs->vtable->list(blobs->self, kedge_bytes_of(prefix), none, 1000, &list, NULL),
        KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}

/* ---- stories that leave garbage ---- */

static void push_large(kedge_backend *backend, const char *client, int64_t id, const char *item,
                       int value)
{
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_large(&builder, client, id, item, value, 9000);
    assert_int_equal(push_send(&builder, backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

/* A push whose process dies in front of the commit: its body is there. */
static void leave_orphan(test_world *world, const char *item, int value)
{
    kedge_push_result result = {0};
    kedge_backend *dying = world_new_backend(world);
    push_begin(&builder);
    push_add_large(&builder, "dying", 1, item, value, 9000);
    world_arm(world, WORLD_FAULT_BEFORE, 2, true, true);
    assert_int_equal(push_send(&builder, dying, &ann, &result), KEDGE_UNAVAILABLE);
    world_disarm(world);
    kedge_backend_free(dying);
}

static void retain_last(test_world *world)
{
    kept_lines kept;
    kedge_retention_rule rule = {.versions = 1};
    kedge_retention_result result;
    lines_begin(&kept);
    assert_int_equal(kedge_retention_run(NOTES(world), &rule, true, &kept.lines, &result, NULL),
                     KEDGE_OK);
    lines_end(&kept);
}

/* Large bodies 1 to 5 of one item; then only the last version is kept. In front of it was body 4,
 * which its checkpoint has; 3 blobs are garbage. */
#define GARBAGE 3
#define KEPT    2

static void make_garbage(test_world *world)
{
    for (int i = 1; i <= 5; i++)
        push_large(world->backend, "c1", i, "a", i);
    retain_last(world);
}

/* ---- what goes and what stays ---- */

static void test_in_a_project_that_keeps_all_versions_nothing_is_garbage(void **state)
{
    test_world *world = *state;
    jobs_story story;
    story_begin(&story, 1);
    story_tell(&story, world, 60);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    for (int day = 1; day <= 4; day++) {
        at_hour(world, 25 * day);
        kedge_gc_result result = gc(world);
        assert_int_equal(result.unreferenced, 0);
        assert_true(result.blobs > 3);
    }
    jobs_check(world);
}

static void test_an_orphan_goes_in_two_runs_with_the_grace_between_them(void **state)
{
    test_world *world = *state;
    push_large(world->backend, "c1", 1, "a", 1);
    leave_orphan(world, "b", 2);
    const kedge_blobs *blobs = &world->store_blobs; /* and the upload of a push that was given up */
    kedge_key key = kedge_key_upload(&notes, (uint8_t[KEDGE_SHA256_SIZE]){7});
    blobs->vtable->put_if_absent(blobs->self, kedge_key_bytes(&key), KEDGE_BYTES("push"), NULL);
    assert_int_equal(count_blobs(world, "items/"), 2);
    kedge_gc_result result = gc(world); /* too young to be marked */
    assert_int_equal(result.unreferenced, 2);
    assert_int_equal(result.marked + result.removed, 0);
    at_hour(world, 25);
    assert_int_equal(gc(world).marked, 2);
    at_hour(world, 26); /* marked too recently to go */
    result = gc(world);
    assert_int_equal(result.marked + result.removed, 0);
    at_hour(world, 50);
    result = gc(world);
    assert_int_equal(result.removed, 2);
    assert_true(result.removed_bytes > 0);
    assert_int_equal(count_blobs(world, "items/"), 1);
    assert_int_equal(count_blobs(world, "uploads/"), 0);
    assert_int_equal(world_count_records(world, "Garbage#"), 0);
    jobs_check(world);
}

static void test_what_retention_leaves_goes(void **state)
{
    test_world *world = *state;
    jobs_story story;
    story_begin(&story, 2);
    story_tell(&story, world, 40);
    for (int i = 1; i <= 6; i++) {
        kedge_push_result result = {0};
        push_begin(&builder);
        push_add_call(&builder, "filler", i, "test.scatter",
                      i % 2 == 0 ? "{\"count\":1200}" : "{\"count\":1100}");
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
        assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    }
    size_t parts = count_blobs(world, "versions/");
    size_t chunks = count_blobs(world, "chunks/");
    size_t bodies = count_blobs(world, "items/");
    retain_last(world);
    gc(world);
    at_hour(world, 25);
    assert_true(gc(world).marked > 0);
    at_hour(world, 50);
    assert_true(gc(world).removed > 0);
    assert_true(count_blobs(world, "versions/") < parts);
    assert_true(count_blobs(world, "chunks/") < chunks);
    assert_true(count_blobs(world, "items/") <= bodies);
    jobs_check(world);
    story_tell(&story, world, 20);
    jobs_check(world);
    at_hour(world, 75);
    kedge_gc_result result = gc(world);
    assert_int_equal(result.unreferenced, 0);
}

static void test_without_remove_nothing_is_changed(void **state)
{
    test_world *world = *state;
    kedge_gc_result result;
    make_garbage(world);
    at_hour(world, 25);
    gc(world);
    at_hour(world, 50);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    assert_int_equal(try_gc(world, false, &result, NULL), KEDGE_OK);
    assert_int_equal(result.removed, GARBAGE); /* it would have */
    assert_int_equal(atomic_load(&world->writes), 0);
    assert_int_equal(count_blobs(world, "items/"), 5);
}

static void test_claim_checks_of_queued_pushes_go_by_their_age(void **state)
{
    test_world *world = *state;
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_buffer compressed = kedge_buffer_make(&kedge_allocator_default);
    uint8_t hash[KEDGE_SHA256_SIZE] = {7};
    kedge_key key = kedge_key_push(&notes, hash);
    world_put(world, "c1", 1, "a", 1);
    assert_int_equal(kedge_gzip(KEDGE_BYTES("{}"), &compressed, NULL), KEDGE_OK);
    assert_int_equal(blobs->vtable->put_if_absent(blobs->self, kedge_key_bytes(&key),
                                                  kedge_buffer_bytes(&compressed), NULL),
                     KEDGE_OK);
    kedge_buffer_free(&compressed);
    for (int day = 1; day <= 60; day++) {
        at_hour(world, 24 * day - 1);
        assert_int_equal(gc(world).marked, 0);
    }
    at_hour(world, 24 * 61);
    kedge_key_set kept = {.allocator = &kedge_allocator_default};
    assert_int_equal(kedge_key_set_add(&kept, kedge_key_bytes(&key), NULL, NULL), KEDGE_OK);
    kept_lines lines;
    kedge_gc_options options = {.remove = true, .kept = &kept};
    kedge_gc_result result;
    lines_begin(&lines);
    assert_int_equal(kedge_gc_run(NOTES(world), &options, &lines.lines, &result, NULL), KEDGE_OK);
    lines_end(&lines);
    kedge_key_set_free(&kept);
    assert_int_equal(result.marked, 0);
    assert_int_equal(gc(world).marked, 1);
    at_hour(world, 24 * 63);
    assert_int_equal(gc(world).removed, 1);
    assert_int_equal(count_blobs(world, "pushes/"), 0);
}

static void test_damage_stops_it_before_it_removes_anything(void **state)
{
    test_world *world = *state;
    kedge_gc_result result;
    kedge_error error = {0};
    make_garbage(world);
    at_hour(world, 25);
    gc(world);
    at_hour(world, 50);
    for (int i = 6; i <= 8; i++)
        push_large(world->backend, "c1", i, "b", i);
    damage_delete(world, "ProjectVersion#pv_000000000006");
    assert_int_equal(try_gc(world, true, &result, &error), KEDGE_CORRUPT);
    assert_int_equal(result.removed, 0);
    assert_int_equal(count_blobs(world, "items/"), 8);
}

static void test_a_project_that_is_not_there_is_told(void **state)
{
    test_world *world = *state;
    kept_lines kept;
    kedge_gc_options options = {.remove = true};
    kedge_gc_result result;
    kedge_project_ref none = {KEDGE_BYTES("acme"), KEDGE_BYTES("none")};
    lines_begin(&kept);
    assert_int_equal(
        kedge_gc_run(HANDLE(world->backend, &none), &options, &kept.lines, &result, NULL),
        KEDGE_NOT_FOUND);
    lines_end(&kept);
}

/* ---- blobs that are needed again ---- */

static void test_a_body_that_is_written_again_loses_its_mark(void **state)
{
    test_world *world = *state;
    make_garbage(world);
    at_hour(world, 25);
    assert_int_equal(gc(world).marked, GARBAGE);
    push_large(world->backend, "c1", 6, "again", 2); /* the bytes of version 2 */
    assert_int_equal(world_count_records(world, "Garbage#"), GARBAGE - 1);
    at_hour(world, 50);
    assert_int_equal(gc(world).removed, GARBAGE - 1);
    jobs_check(world);
}

/* Leaves a mark as a collector does that dies after its claim, with or without the blob. */
static void die_behind_claim(test_world *world, bool blob_removed)
{
    kedge_gc_result result;
    make_garbage(world);
    at_hour(world, 25);
    gc(world);
    at_hour(world, 50);
    world_restart(world);
    world_arm(world, blob_removed ? WORLD_FAULT_AFTER : WORLD_FAULT_BEFORE, 2, true, true);
    assert_int_equal(try_gc(world, true, &result, NULL), KEDGE_UNAVAILABLE);
    world_disarm(world);
    world_restart(world);
    assert_int_equal(world_count_records(world, "Garbage#"), GARBAGE);
    assert_int_equal(count_blobs(world, "items/"), GARBAGE + KEPT - (blob_removed ? 1 : 0));
}

/* Writes all the bodies that were garbage; gives how many were refused for now. */
static int write_all_again(test_world *world, const char *client)
{
    int refused = 0;
    int64_t id = 1;
    for (int i = 1; i <= GARBAGE; i++) {
        char item[32];
        kedge_push_result result = {0};
        snprintf(item, sizeof item, "%s-%d", client, i);
        push_begin(&builder);
        push_add_large(&builder, client, id, item, i, 9000);
        kedge_status status = push_send(&builder, world->backend, &ann, &result);
        if (status == KEDGE_OK) {
            id++;
        } else {
            assert_int_equal(status, KEDGE_UNAVAILABLE);
            refused++;
        }
    }
    return refused;
}

static void test_a_writer_waits_for_a_collector_but_not_for_a_dead_one(void **state)
{
    test_world *world = *state;
    die_behind_claim(world, false);
    jobs_set_ahead(world, 50 * HOUR_MS - 60000); /* the writer's clock is behind the collector's */
    assert_int_equal(write_all_again(world, "w0"), 1);
    at_hour(world, 50);
    assert_int_equal(write_all_again(world, "w1"), 1);
    jobs_set_ahead(world, 50 * HOUR_MS + KEDGE_GARBAGE_CLAIM_MS + 1000);
    assert_int_equal(write_all_again(world, "w2"), 0);
    jobs_check(world);
    at_hour(world, 51);
    gc(world);
    at_hour(world, 80);
    gc(world);
    assert_int_equal(world_count_records(world, "Garbage#"), 0);
    jobs_check(world);
}

static void test_a_body_put_behind_a_dead_collector_stays(void **state)
{
    test_world *world = *state;
    die_behind_claim(world, true);
    assert_int_equal(write_all_again(world, "w1"), 0); /* the removed one is simply put */
    jobs_check(world);
    for (int day = 3; day <= 6; day++) {
        at_hour(world, 25 * day);
        gc(world);
        assert_int_equal(write_all_again(world, day % 2 == 0 ? "w2" : "w3"), 0);
        jobs_check(world);
    }
    gc(world);
    assert_int_equal(world_count_records(world, "Garbage#"), 0);
    assert_int_equal(count_blobs(world, "items/"), 5);
}

/* The first writer has put the body that the collector had removed, and it is committed; the mark
 * is still there. */
static void test_a_writer_that_dies_over_a_dead_collectors_mark_harms_nobody(void **state)
{
    bool ended = false;
    (void)state;
    for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
        void *made = NULL;
        kedge_push_result result = {0};
        world_setup_memory(&made);
        test_world *world = made;
        die_behind_claim(world, true);
        assert_int_equal(write_all_again(world, "w1"), 0);
        jobs_set_ahead(world, 50 * HOUR_MS + KEDGE_GARBAGE_CLAIM_MS + 1000);
        world_arm(world, WORLD_FAULT_BEFORE, at, true, false);
        push_begin(&builder);
        for (int i = 1; i <= GARBAGE; i++) {
            static const char *const items[] = {"x", "y", "z"};
            push_add_large(&builder, "w2", i, items[i - 1], i, 9000);
        }
        push_send(&builder, world->backend, &ann, &result);
        ended = world->faults == 0;
        world_disarm(world);
        world_restart(world);
        jobs_check(world);
        back_to_now(&made);
    }
}

static void test_a_dead_collectors_work_is_taken_up(void **state)
{
    test_world *world = *state;
    die_behind_claim(world, false);
    at_hour(world, 52);
    gc(world); /* found again, from now on */
    at_hour(world, 77);
    gc(world);
    assert_int_equal(world_count_records(world, "Garbage#"), 0);
    assert_int_equal(count_blobs(world, "items/"), KEPT);
    jobs_check(world);
}

/* ---- crashes and races ---- */

/* With garbage that is found in one run, marked at hour 25, and removed at hour 50. */
static test_world *open_with_garbage(void **made, int hour)
{
    world_setup_memory(made);
    test_world *world = *made;
    make_garbage(world);
    leave_orphan(world, "orphan", 9);
    if (hour == 50) {
        at_hour(world, 25);
        gc(world);
    }
    at_hour(world, hour);
    world_restart(world);
    return world;
}

static void end_collecting(test_world *world)
{
    for (int hour = 80; hour <= 140; hour += 30) {
        at_hour(world, hour);
        gc(world);
        jobs_check(world);
    }
    assert_int_equal(world_count_records(world, "Garbage#"), 0);
}

static void crash_at(int hour, world_fault fault, uint64_t at, bool *ended)
{
    void *made = NULL;
    kedge_gc_result result;
    test_world *world = open_with_garbage(&made, hour);
    world_arm(world, fault, at, true, false);
    try_gc(world, true, &result, NULL);
    *ended = world->faults == 0;
    world_disarm(world);
    world_restart(world);
    jobs_check(world);
    end_collecting(world);
    assert_int_equal(count_blobs(world, "items/"), KEPT);
    back_to_now(&made);
}

static void test_a_crash_around_any_port_call_removes_nothing_else(void **state)
{
    (void)state;
    for (int hour = 25; hour <= 50; hour += 25) {
        for (int fault = WORLD_FAULT_BEFORE; fault <= WORLD_FAULT_AFTER; fault++) {
            bool ended = false;
            uint64_t at = 1;
            for (; !ended; at += WORLD_STRIDE)
                crash_at(hour, (world_fault)fault, at, &ended);
            assert_true(at > 8);
        }
    }
}

/* A push that needs all the garbage again. */
static void push_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    for (int i = 1; i <= GARBAGE; i++) {
        char item[16];
        snprintf(item, sizeof item, "again%d", i);
        push_large(world->backend, "other", i, item, i);
    }
    push_large(world->backend, "other", GARBAGE + 1, "orphan", 9);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void gc_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    gc(world);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void retention_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    push_large(world->backend, "other", 1, "a", 20);
    push_large(world->backend, "other", 2, "b", 21);
    retain_last(world);
    kedge_backend_free(world->backend);
    world->backend = own;
}

/* In the middle of the removal of a blob a push has to wait, and is pushed again by its client. */
static void push_with_patience(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    for (int i = 1; i <= GARBAGE; i++) {
        kedge_push_result result = {0};
        char item[16];
        snprintf(item, sizeof item, "again%d", i);
        push_begin(&builder);
        push_add_large(&builder, "other", i, item, i, 9000);
        if (push_send(&builder, other, &ann, &result) != KEDGE_OK) break;
    }
    kedge_backend_free(other);
}

static void test_somebody_else_between_any_two_calls_keeps_what_he_needs(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {push_with_patience, gc_of_another, retention_of_another};
    for (int hour = 25; hour <= 50; hour += 25) {
        for (size_t i = 0; i < 3; i++) {
            bool ended = false;
            for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
                void *made = NULL;
                kedge_gc_result result;
                test_world *world = open_with_garbage(&made, hour);
                world_arm(world, WORLD_FAULT_NONE, 0, false, false);
                world->meddle = meddles[i];
                world->meddle_at = at;
                kedge_status status = try_gc(world, true, &result, NULL);
                if (i != 2) assert_int_equal(status, KEDGE_OK);
                ended = world->meddle != NULL;
                world_disarm(world);
                world_restart(world);
                jobs_check(world);
                if (i == 0) push_of_another(world);
                end_collecting(world);
                back_to_now(&made);
            }
        }
    }
}

/* The other way round: a collector, also one that removes, between any two calls of a push. */
static void test_a_collector_between_any_two_calls_of_a_push_removes_nothing_it_needs(void **state)
{
    (void)state;
    for (int hour = 25; hour <= 50; hour += 25) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            void *made = NULL;
            kedge_push_result result = {0};
            test_world *world = open_with_garbage(&made, hour);
            world_arm(world, WORLD_FAULT_NONE, 0, false, false);
            world->meddle = gc_of_another;
            world->meddle_at = at;
            push_begin(&builder);
            push_add_large(&builder, "c1", 6, "x", 1, 9000);
            push_add_large(&builder, "c1", 7, "y", 9, 9000);
            push_add_large(&builder, "c1", 8, "new", 77, 9000);
            assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
            assert_int_equal(result.problem, KEDGE_PUSH_FINE);
            ended = world->meddle != NULL;
            world_disarm(world);
            world_restart(world);
            jobs_check(world);
            end_collecting(world);
            back_to_now(&made);
        }
    }
}

#define OVER_TIME(test)                                                                            \
    {                                                                                              \
#test, test, world_setup_memory, back_to_now, NULL                                         \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_TIME(test_in_a_project_that_keeps_all_versions_nothing_is_garbage),
        OVER_TIME(test_an_orphan_goes_in_two_runs_with_the_grace_between_them),
        OVER_TIME(test_what_retention_leaves_goes),
        OVER_TIME(test_without_remove_nothing_is_changed),
        OVER_TIME(test_claim_checks_of_queued_pushes_go_by_their_age),
        OVER_TIME(test_damage_stops_it_before_it_removes_anything),
        OVER_TIME(test_a_project_that_is_not_there_is_told),
        OVER_TIME(test_a_body_that_is_written_again_loses_its_mark),
        OVER_TIME(test_a_writer_waits_for_a_collector_but_not_for_a_dead_one),
        OVER_TIME(test_a_body_put_behind_a_dead_collector_stays),
        cmocka_unit_test(test_a_writer_that_dies_over_a_dead_collectors_mark_harms_nobody),
        OVER_TIME(test_a_dead_collectors_work_is_taken_up),
        cmocka_unit_test(test_a_crash_around_any_port_call_removes_nothing_else),
        cmocka_unit_test(test_somebody_else_between_any_two_calls_keeps_what_he_needs),
        cmocka_unit_test(test_a_collector_between_any_two_calls_of_a_push_removes_nothing_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
