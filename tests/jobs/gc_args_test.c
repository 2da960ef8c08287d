/* Garbage collection of the args of versions, which are blobs when they are large. */
#include "tests/jobs/jobs_world.h"

#include "backend/jobs/gc.h"
#include "backend/jobs/retention.h"
#include "tests/support/project.h"

#define HOUR_MS INT64_C(3600000)

static push_builder builder;

static kedge_gc_result gc_at_hour(test_world *world, int hours)
{
    kept_lines kept;
    kedge_gc_result result;
    kedge_gc_options options = {.remove = true};
    jobs_set_ahead(world, hours * HOUR_MS);
    lines_begin(&kept);
    assert_int_equal(kedge_gc_run(NOTES(world), &options, &kept.lines, &result, NULL), KEDGE_OK);
    lines_end(&kept);
    return result;
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

static size_t count_args(test_world *world)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/projects/notes/versions/"),
                                         (kedge_bytes){NULL, 0}, 1000, &list, NULL),
                     KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}

static void push_dense(test_world *world, int64_t id)
{
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_dense(&builder, "c1", id, "a", (int)id, 16000);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

/* One item is written five times. Then the last version alone is kept: its args and its body; and
 * the body before, which the checkpoint in front of it has. */
static void test_args_go_with_their_versions(void **state)
{
    test_world *world = *state;
    for (int id = 1; id <= 5; id++)
        push_dense(world, id);
    assert_int_equal(count_args(world), 5);
    assert_int_equal(gc_at_hour(world, 25).unreferenced, 0);
    retain_last(world);
    assert_int_equal(gc_at_hour(world, 25).marked, 4 + 3);
    assert_int_equal(gc_at_hour(world, 50).removed, 4 + 3);
    assert_int_equal(count_args(world), 1);
    jobs_check(world);
}

/* Its client pushes again after the args were put, and marked. */
static void test_args_that_a_push_needs_again_stay(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    kedge_backend *dying = world_new_backend(world);
    push_begin(&builder);
    push_add_dense(&builder, "c1", 1, "a", 1, 16000);
    for (uint64_t at = 1; count_args(world) == 0; at++) {
        world_arm(world, WORLD_FAULT_AFTER, at, true, true);
        assert_int_equal(push_send(&builder, dying, &ann, &result), KEDGE_UNAVAILABLE);
        world_disarm(world);
    }
    kedge_backend_free(dying);
    assert_int_equal(gc_at_hour(world, 25).marked, 2); /* the body, too */
    push_dense(world, 1);
    assert_int_equal(gc_at_hour(world, 50).removed, 0);
    assert_int_equal(count_args(world), 1);
    jobs_check(world);
}

static int back_to_now(void **state)
{
    jobs_set_ahead(*state, 0);
    return world_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_args_go_with_their_versions, world_setup_memory,
                                        back_to_now),
        cmocka_unit_test_setup_teardown(test_args_that_a_push_needs_again_stay, world_setup_memory,
                                        back_to_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
