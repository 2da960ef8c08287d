/* Index rows may be deleted together. Whatever puts rows again afterwards, what was decided stays
 * decided. */
#include "tests/jobs/jobs_world.h"

#include "backend/jobs/retention.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/redeliver.h"
#include "tests/support/project.h"

#include <string.h>

static kedge_status retain(test_world *world, int64_t versions)
{
    kept_lines kept;
    kedge_retention_result result;
    kedge_error error = {0};
    kedge_retention_rule rule = {.versions = versions};
    lines_begin(&kept);
    kedge_status status =
        kedge_retention_run(NOTES(world), &rule, true, &kept.lines, &result, &error);
    lines_end(&kept);
    return status;
}

static kedge_status ignore_delivered(void *context, int64_t version, int64_t items,
                                     kedge_error *error)
{
    (void)context;
    (void)version;
    (void)items;
    (void)error;
    return KEDGE_OK;
}

/* A repair commits a version without runs. When that is the oldest that is kept, it has no row of a
 * client that could show that rows are missing. */
static void test_rows_that_are_deleted_behind_a_repaired_version_are_made_again(void **state)
{
    test_world *world = *state;
    kedge_redelivery body = {.collection = KEDGE_BYTES("items")};
    world_put(world, "c1", 1, "a", 1);
    world_put(world, "c1", 2, "b", 2);
    kedge_sha256(KEDGE_BYTES("{\"v\":1}"), body.hash);
    assert_int_equal(
        kedge_processor_redeliver(NOTES(world), &body, 1, ignore_delivered, NULL, NULL), KEDGE_OK);
    int64_t repaired = world_head(world);
    assert_int_equal(repaired, 3);
    world_put(world, "c1", 3, "a", 3);
    world_put(world, "c2", 1, "c", 4);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "own", 1, "own", 1);
    int64_t head = world_head(world);
    assert_int_equal(retain(world, head - repaired + 1), KEDGE_OK);
    jobs_delete_derived_above(world, repaired - 1);
    world_restart(world);
    assert_int_equal(world_lmid(world, "c1"), 3);
    assert_int_equal(world_lmid(world, "c2"), 1);
    assert_int_equal(world_try(world, "c1", 3, "a", 3), KEDGE_PUSH_FINE);
    assert_int_equal(world_try(world, "c2", 1, "c", 4), KEDGE_PUSH_FINE);
    assert_int_equal(world_head(world), head);
    jobs_check(world);
}

/* A process that is broken off between any two of its writes leaves rows that are all there, or
 * from which others see that some are not. */
static void break_off_anywhere(test_world *world, kedge_status (*job)(test_world *world))
{
    for (int64_t id = 1; id <= 3; id++)
        world_put(world, "c1", id, "a", (int)id);
    world_put(world, "c2", 1, "c", 4);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "own", 1, "own", 1);
    int64_t head = world_head(world);
    bool met = true;
    uint64_t at = 1;
    for (; met; at++) {
        world_delete_derived(world);
        world_restart(world);
        world_arm(world, WORLD_FAULT_BEFORE, at, true, true);
        met = job(world) != KEDGE_OK && world_count_records(world, "Retention") == 0;
        world_disarm(world);
        world_restart(world);
        for (int64_t id = 1; id <= 3; id++)
            assert_int_equal(world_try(world, "c1", id, "a", (int)id), KEDGE_PUSH_FINE);
        assert_int_equal(world_try(world, "c2", 1, "c", 4), KEDGE_PUSH_FINE);
        assert_int_equal(world_head(world), head);
    }
    assert_true(at > 3); /* it was broken off at several places */
    jobs_check(world);
}

static kedge_status retain_one(test_world *world)
{
    return retain(world, 4);
}

static void test_retention_may_come_after_all_rows_were_deleted(void **state)
{
    break_off_anywhere(*state, retain_one);
}

static kedge_status verify_and_repair(test_world *world)
{
    kept_lines kept;
    kedge_verify_summary summary;
    kedge_error error = {0};
    lines_begin(&kept);
    kedge_status status = kedge_repair_project(NOTES(world), &kept.lines, &summary, &error);
    lines_end(&kept);
    return status;
}

static void test_a_repair_may_come_after_all_rows_were_deleted(void **state)
{
    break_off_anywhere(*state, verify_and_repair);
}

/* The rows of the versions above the damaged one are made, the newest first. Those below would show
 * a reader that all are there; the repair leaves them out, and goes on with what else there is. */
static void test_a_repair_puts_no_single_rows_when_a_version_is_damaged(void **state)
{
    test_world *world = *state;
    kept_lines kept;
    kedge_verify_summary summary;
    kedge_error error = {0};
    for (int64_t id = 1; id <= 4; id++)
        world_put(world, "c1", id, "a", (int)id);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "own", 1, "own", 1);
    world_delete_derived(world);
    damage_delete(world, "ProjectVersion#pv_000000000003");
    world_restart(world);
    lines_begin(&kept);
    kedge_status status = kedge_repair_project(NOTES(world), &kept.lines, &summary, &error);
    if (status != KEDGE_OK) fail_msg("%s: %s", error.code, error.message);
    assert_non_null(strstr(kept.text.data, "\"row-missing\",\"version\":1"));
    assert_null(strstr(kept.text.data, "\"repaired\":\"row\""));
    lines_end(&kept);
    assert_int_equal(world_count_records(world, "Mutation#"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_MEMORY(test_rows_that_are_deleted_behind_a_repaired_version_are_made_again),
        OVER_MEMORY(test_retention_may_come_after_all_rows_were_deleted),
        OVER_MEMORY(test_a_repair_may_come_after_all_rows_were_deleted),
        OVER_MEMORY(test_a_repair_puts_no_single_rows_when_a_version_is_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
