/* Retention: what is kept answers as before, what is removed stays decided, and nothing that is
 * relied on goes, whoever crashes or pushes meanwhile. */
#include "tests/jobs/jobs_world.h"

#include "backend/api/api.h"
#include "backend/jobs/checkpoint.h"
#include "backend/jobs/retention.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/versions/versions.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUTATIONS 60

static push_builder builder;

static kedge_status try_retain(test_world *world, int64_t versions, int64_t age_ms,
                               kedge_retention_result *result, kedge_error *error)
{
    kept_lines kept;
    kedge_retention_rule rule = {versions, age_ms};
    lines_begin(&kept);
    kedge_status status =
        kedge_retention_run(NOTES(world), &rule, true, &kept.lines, result, error);
    lines_end(&kept);
    return status;
}

static int64_t retain(test_world *world, int64_t versions)
{
    kedge_retention_result result;
    kedge_error error = {0};
    if (try_retain(world, versions, 0, &result, &error) != KEDGE_OK) {
        fail_msg("retention: %s: %s", error.code, error.message);
    }
    return result.oldest;
}

/* The state of each version from `oldest` on, as one text. */
static void dump_versions(test_world *world, int64_t oldest, kedge_buffer *out)
{
    int64_t head = world_head(world);
    kedge_buffer_clear(out);
    for (int64_t number = oldest; number <= head; number++) {
        kedge_buffer_append_format(out, "version %lld\n", (long long)number);
        world_dump(world, number, out);
    }
}

static bool is_there(test_world *world, int64_t number)
{
    const kedge_version *version = NULL;
    kedge_status status = kedge_version_load(NOTES(world), number, &version, NULL);
    kedge_version_release(version);
    return status == KEDGE_OK;
}

/* The first `count` mutations of the story again, in the same pushes: nothing is new. */
static void push_story_again(test_world *world, uint64_t seed, int count)
{
    jobs_story story;
    int64_t head = world_head(world);
    story_begin(&story, seed);
    story_tell(&story, world, count);
    assert_int_equal(world_head(world), head);
}

/* ---- what is kept and what is not ---- */

static void test_versions_that_are_kept_answer_as_before(void **state)
{
    test_world *world = *state;
    jobs_story story;
    kedge_buffer before = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    story_begin(&story, 1);
    story_tell(&story, world, MUTATIONS);
    int64_t oldest = world_head(world) - 9;
    dump_versions(world, oldest, &before);
    assert_int_equal(retain(world, 10), oldest);
    dump_versions(world, oldest, &after);
    assert_string_equal(after.data, before.data);
    assert_false(is_there(world, 1));
    assert_false(is_there(world, oldest - 1));
    assert_true(is_there(world, oldest));
    jobs_check(world);
    story_tell(&story, world, 20);
    jobs_check(world);
    kedge_buffer_free(&before);
    kedge_buffer_free(&after);
}

static void test_pushes_of_removed_versions_are_still_decided(void **state)
{
    test_world *world = *state;
    jobs_story story;
    story_begin(&story, 2);
    story_tell(&story, world, MUTATIONS);
    retain(world, 1);
    push_story_again(world, 2, MUTATIONS);
    world_restart(world);
    push_story_again(world, 2, MUTATIONS);
    story_tell(&story, world, 20);
    retain(world, 4);
    world_restart(world);
    push_story_again(world, 2, MUTATIONS + 20);
    jobs_check(world);
}

static void test_another_mutation_under_an_id_of_a_removed_version_is_a_mismatch(void **state)
{
    test_world *world = *state;
    for (int i = 1; i <= 30; i++)
        world_put(world, "c1", i, "a", i);
    retain(world, 1);
    world_restart(world);
    assert_int_equal(world_try(world, "c1", 3, "a", 999), KEDGE_PUSH_MISMATCH);
    assert_int_equal(world_try(world, "c1", 3, "a", 3), KEDGE_PUSH_FINE);
    assert_int_equal(world_lmid(world, "c1"), 30);
    push_begin(&builder);
    kedge_push_result result = {0};
    push_add(&builder, "c2", 1, "a", 7);
    push_set_origin(&builder, "c1", 7);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_string_equal(world_value(world, "a"), "{\"v\":30}");
}

static void test_retention_may_be_repeated_with_any_rule(void **state)
{
    test_world *world = *state;
    jobs_story story;
    const int64_t rules[] = {40, 12, 12, 30, 7, 1, 1, 0};
    story_begin(&story, 4);
    int64_t oldest = 1;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        story_tell(&story, world, 12);
        int64_t wanted = rules[i] == 0 ? 1 : world_head(world) - rules[i] + 1;
        if (wanted > oldest) oldest = wanted;
        assert_int_equal(retain(world, rules[i]), oldest);
        jobs_check(world);
        if (i % 3 == 1) world_restart(world);
        if (i % 3 == 2) {
            assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
        }
    }
    push_story_again(world, 4, 96);
}

static void test_without_remove_nothing_is_changed(void **state)
{
    test_world *world = *state;
    jobs_story story;
    kept_lines kept;
    kedge_retention_result result;
    kedge_retention_rule rule = {.versions = 5};
    story_begin(&story, 5);
    story_tell(&story, world, MUTATIONS);
    lines_begin(&kept);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    assert_int_equal(kedge_retention_run(NOTES(world), &rule, false, &kept.lines, &result, NULL),
                     KEDGE_OK);
    assert_int_equal(atomic_load(&world->writes), 0);
    assert_int_equal(result.oldest, world_head(world) - 4);
    assert_non_null(strstr(kept.text.data, "\"removed\":false"));
    assert_true(is_there(world, 1));
    lines_end(&kept);
}

static void test_versions_go_by_their_age(void **state)
{
    test_world *world = *state;
    kedge_retention_result result;
    const int64_t day_ms = 86400000;
    jobs_set_ahead(world, -10 * day_ms);
    for (int i = 1; i <= 5; i++)
        world_put(world, "c1", i, "a", i);
    jobs_set_ahead(world, 0);
    for (int i = 6; i <= 8; i++)
        world_put(world, "c1", i, "a", i);
    assert_int_equal(try_retain(world, 0, 20 * day_ms, &result, NULL), KEDGE_OK);
    assert_int_equal(result.oldest, 1);
    assert_int_equal(try_retain(world, 6, 5 * day_ms, &result, NULL), KEDGE_OK);
    assert_int_equal(result.oldest, 3); /* either part of the rule keeps a version */
    assert_int_equal(try_retain(world, 0, 5 * day_ms, &result, NULL), KEDGE_OK);
    assert_int_equal(result.oldest, 6);
    jobs_set_ahead(world, 10 * day_ms);
    assert_int_equal(try_retain(world, 0, 5 * day_ms, &result, NULL), KEDGE_OK);
    assert_int_equal(result.oldest, 8); /* the newest stays */
    jobs_check(world);
    jobs_set_ahead(world, 0);
}

static void test_a_project_without_versions_keeps_none(void **state)
{
    test_world *world = *state;
    assert_int_equal(retain(world, 3), 1);
    world_put(world, "c1", 1, "a", 1);
    assert_int_equal(retain(world, 3), 1);
    jobs_check(world);
}

/* ---- what is derived from the versions that are kept ---- */

static void delete_derived_of_kept(uint64_t seed)
{
    void *made = NULL;
    jobs_story story;
    kedge_buffer before = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    world_setup_memory(&made);
    test_world *world = made;
    story_begin(&story, seed);
    story_tell(&story, world, 40);
    int64_t oldest = retain(world, 12);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "own", 1, "own", 1);
    dump_versions(world, oldest, &before);
    jobs_delete_derived_above(world, oldest - 1);
    world_restart(world);
    /* Clients whose newest row was of a kept version have old rows now. */
    push_story_again(world, seed, 40);
    dump_versions(world, oldest, &after);
    assert_string_equal(after.data, before.data);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    jobs_check(world);
    kedge_buffer_free(&before);
    kedge_buffer_free(&after);
    world_teardown(&made);
}

static void test_rows_and_checkpoints_of_kept_versions_may_still_be_deleted(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed < 17; seed++)
        delete_derived_of_kept(seed);
}

static void test_the_rows_of_removed_versions_are_made_sure_of(void **state)
{
    test_world *world = *state;
    jobs_story story;
    story_begin(&story, 21);
    story_tell(&story, world, MUTATIONS);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "own", 1, "own", 1);
    damage_delete(world, "Mutation#c1#");
    damage_number(world, "Mutation#c2#", "last", 5);
    retain(world, 1);
    push_story_again(world, 21, MUTATIONS);
    jobs_check(world);
}

/* The last change of the collection "early" is in a version that is no longer kept. */
static void test_checkpoints_can_be_written_behind_removed_versions(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    kedge_error error = {0};
    kept_lines kept;
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "kedge.put",
                  "{\"collection\":\"early\",\"id\":\"e\",\"value\":1}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    for (int64_t id = 2; id <= 12; id++)
        world_put(world, "c1", id, "a", (int)id);
    assert_int_equal(retain(world, 3), 10);
    world_restart(world);
    lines_begin(&kept);
    if (kedge_checkpoint_project(NOTES(world), &kept.lines, &error) != KEDGE_OK) {
        fail_msg("checkpoint: %s: %s", error.code, error.message);
    }
    lines_end(&kept);
    jobs_check(world);
}

static void test_a_checkpoint_that_is_wrong_does_not_become_the_truth(void **state)
{
    test_world *world = *state;
    jobs_story story;
    kedge_buffer before = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    story_begin(&story, 22);
    story_tell(&story, world, MUTATIONS);
    int64_t head = world_head(world);
    dump_versions(world, head, &before);
    const kedge_version *newest = NULL;
    assert_int_equal(kedge_version_load(NOTES(world), 0, &newest, NULL), KEDGE_OK);
    kedge_state *at = NULL;
    assert_int_equal(kedge_state_open(NOTES(world), newest, &at, NULL), KEDGE_OK);
    kedge_state_close(at);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    retain(world, 3);
    for (size_t i = 0; i < newest->collection_count; i++) {
        char root[128];
        snprintf(root, sizeof root, "Collection#%.*s#", (int)newest->collections[i].name.size,
                 newest->collections[i].name.data);
        assert_true(world_count_records(world, root) > 0);
    }
    kedge_version_release(newest);
    world_restart(world);
    dump_versions(world, head, &after);
    assert_string_equal(after.data, before.data);
    kedge_buffer_free(&before);
    kedge_buffer_free(&after);
}

static void test_a_lost_delta_stops_retention_before_it_removes_anything(void **state)
{
    test_world *world = *state;
    kedge_retention_result result;
    kedge_error error = {0};
    jobs_story story;
    story_begin(&story, 23);
    story_tell(&story, world, MUTATIONS);
    damage_delete(world, "ProjectVersion#pv_000000000005");
    world_restart(world);
    assert_int_equal(try_retain(world, 3, 0, &result, &error), KEDGE_CORRUPT);
    assert_true(is_there(world, 4));
    assert_int_equal(world_count_records(world, "Retention"), 0);
}

/* The checkpoint and the args have the only copies, which retention would remove. */
static void test_a_damaged_body_in_a_delta_stops_retention_until_it_is_repaired(void **state)
{
    test_world *world = *state;
    kedge_retention_result result;
    kedge_verify_summary summary;
    kedge_error error = {0};
    kept_lines kept;
    char hex[KEDGE_SHA256_HEX];
    char delta[256];
    world_put(world, "c1", 1, "b", 4);
    lines_begin(&kept);
    assert_int_equal(kedge_checkpoint_project(NOTES(world), &kept.lines, NULL), KEDGE_OK);
    for (int i = 2; i <= 6; i++)
        world_put(world, "c1", i, "a", i);
    kedge_sha256_hex(KEDGE_BYTES("{\"v\":4}"), hex);
    snprintf(delta, sizeof delta, "{\"items\":{\"b\":{\"hash\":\"%s\",\"body\":{\"w\":444}}}}",
             hex);
    damage_text(world, "ProjectVersion#pv_000000000001", "delta", delta);
    world_restart(world);
    assert_int_equal(try_retain(world, 2, 0, &result, &error), KEDGE_CORRUPT);
    assert_string_equal(error.code, "item-body-missing");
    assert_true(is_there(world, 1));
    assert_int_equal(kedge_repair_project(NOTES(world), &kept.lines, &summary, NULL), KEDGE_OK);
    lines_end(&kept);
    assert_int_equal(summary.lost, 0);
    assert_int_equal(retain(world, 2), world_head(world) - 1);
    world_restart(world);
    assert_string_equal(world_value(world, "b"), "{\"v\":4}");
    jobs_check(world);
}

/* A store that charges for the size of what is replaced has a limit on it in each second. */
static void test_large_records_are_not_replaced_in_one_transaction(void **state)
{
    test_world *world = *state;
    jobs_story story;
    story_begin(&story, 24);
    story_tell(&story, world, MUTATIONS);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    retain(world, 3);
    assert_int_equal(atomic_load(&world->transactions), 0);
    world_disarm(world);
    jobs_check(world);
}

/* ---- others at work ---- */

static void test_an_old_head_in_memory_cannot_commit_behind_a_removed_version(void **state)
{
    test_world *world = *state;
    kedge_backend *sleeper = world_new_backend(world);
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, "old", 1, "a", 1);
    assert_int_equal(push_send(&builder, sleeper, &ann, &result), KEDGE_OK);
    for (int i = 1; i <= 40; i++)
        world_put(world, "c1", i, "b", i);
    retain(world, 2);
    push_begin(&builder);
    push_add(&builder, "old", 2, "a", 2);
    push_add_call(&builder, "old", 3, "kedge.merge",
                  "{\"collection\":\"items\",\"id\":\"b\",\"patch\":{\"w\":1}}");
    assert_int_equal(push_send(&builder, sleeper, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(result.version, 42);
    assert_string_equal(world_value(world, "b"), "{\"v\":40,\"w\":1}");
    kedge_backend_free(sleeper);
    jobs_check(world);
}

static void test_a_reader_that_started_from_a_removed_version_goes_on(void **state)
{
    test_world *world = *state;
    const kedge_version *head = NULL;
    kedge_state *pinned = NULL;
    kedge_entry entry;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    for (int i = 1; i <= 10; i++)
        world_put(world, "c1", i, "a", i); /* the collection is in memory at version 10 */
    kedge_backend *other = world_new_backend(world);
    kedge_backend *own = world->backend;
    world->backend = other;
    for (int i = 11; i <= 50; i++)
        world_put(world, "c1", i, "b", i);
    world->backend = own;
    assert_int_equal(kedge_version_load(HANDLE(own, &notes), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(kedge_state_open(HANDLE(own, &notes), head, &pinned, NULL), KEDGE_OK);
    world->backend = other;
    retain(world, 3);
    world->backend = own;
    assert_int_equal(kedge_state_find(pinned, KEDGE_BYTES("items"), KEDGE_BYTES("b"), &entry, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_state_body(pinned, KEDGE_BYTES("items"), &entry, &body, NULL), KEDGE_OK);
    assert_string_equal(body.data, "{\"v\":50}");
    kedge_buffer_free(&body);
    kedge_state_close(pinned);
    kedge_version_release(head);
    kedge_backend_free(other);
}

static void test_reading_a_version_while_it_is_removed_is_no_damage(void **state)
{
    test_world *world = *state;
    const kedge_version *old = NULL;
    kedge_state *pinned = NULL;
    kedge_entry entry;
    kedge_error error = {0};
    for (int i = 1; i <= 30; i++)
        world_put(world, "c1", i, "a", i);
    world_restart(world);
    assert_int_equal(kedge_version_load(NOTES(world), 20, &old, NULL), KEDGE_OK);
    assert_int_equal(kedge_state_open(NOTES(world), old, &pinned, NULL), KEDGE_OK);
    retain(world, 3);
    assert_int_equal(
        kedge_state_find(pinned, KEDGE_BYTES("items"), KEDGE_BYTES("a"), &entry, &error),
        KEDGE_UNAVAILABLE);
    assert_string_equal(error.code, "version-not-retained");
    kedge_state_close(pinned);
    kedge_version_release(old);
}

/* ---- crashes and races ---- */

static void prepare(test_world *world, kedge_buffer *before)
{
    jobs_story story;
    story_begin(&story, 31);
    story_tell(&story, world, 40);
    dump_versions(world, world_head(world) - 4, before);
    world_restart(world);
}

static void crash_at(int (*setup)(void **), world_fault fault, uint64_t at, bool *ended)
{
    void *state = NULL;
    kedge_retention_result result;
    kedge_buffer before = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    setup(&state);
    test_world *world = state;
    prepare(world, &before);
    int64_t head = world_head(world);
    world_arm(world, fault, at, true, false);
    try_retain(world, 5, 0, &result, NULL);
    *ended = world->faults == 0;
    world_disarm(world);
    world_restart(world);
    /* Whatever is left by half, the versions that were to be kept answer. */
    dump_versions(world, head - 4, &after);
    assert_string_equal(after.data, before.data);
    jobs_check(world);
    push_story_again(world, 31, 40);
    assert_int_equal(retain(world, 5), head - 4);
    dump_versions(world, head - 4, &after);
    assert_string_equal(after.data, before.data);
    assert_false(is_there(world, 1));
    assert_false(is_there(world, head - 5));
    push_story_again(world, 31, 40);
    jobs_check(world);
    kedge_buffer_free(&before);
    kedge_buffer_free(&after);
    world_teardown(&state);
}

static void test_a_crash_around_any_port_call_leaves_a_sound_project(void **state)
{
    (void)state;
    int (*setups[])(void **) = {world_setup_memory, world_setup_seed};
    for (size_t i = 0; i < 2; i++) {
        for (int fault = WORLD_FAULT_BEFORE; fault <= WORLD_FAULT_AFTER; fault++) {
            bool ended = false;
            uint64_t at = 1;
            for (; !ended; at += WORLD_STRIDE)
                crash_at(setups[i], (world_fault)fault, at, &ended);
            assert_true(at > 40);
        }
    }
}

static void push_of_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    static push_builder others;
    kedge_push_result result = {0};
    push_begin(&others);
    push_add(&others, "other", 1, "other", 1);
    push_add_large(&others, "other", 2, "large", 2, 9000);
    push_add_call(&others, "other", 3, "kedge.delete", "{\"collection\":\"items\",\"id\":\"i1\"}");
    assert_int_equal(push_send(&others, other, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    kedge_backend_free(other);
}

static void retention_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    retain(world, 12);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void index_of_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    assert_int_equal(kedge_processor_index(HANDLE(other, &notes), NULL), KEDGE_OK);
    kedge_backend_free(other);
}

static void test_somebody_else_between_any_two_calls_loses_nothing(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {push_of_another, retention_of_another, index_of_another};
    for (size_t i = 0; i < 3; i++) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            void *made = NULL;
            kedge_retention_result result;
            kedge_error error = {0};
            kedge_buffer before = kedge_buffer_make(&kedge_allocator_default);
            world_setup_memory(&made);
            test_world *world = made;
            prepare(world, &before);
            world_arm(world, WORLD_FAULT_NONE, 0, false, false);
            world->meddle = meddles[i];
            world->meddle_at = at;
            kedge_status status = try_retain(world, 5, 0, &result, &error);
            /* Two of them at once: one may give way. */
            if (i != 1) assert_int_equal(status, KEDGE_OK);
            if (status != KEDGE_OK) assert_int_equal(status, KEDGE_UNAVAILABLE);
            ended = world->meddle != NULL;
            world_disarm(world);
            world_restart(world);
            jobs_check(world);
            push_story_again(world, 31, 40);
            retain(world, 5);
            jobs_check(world);
            kedge_buffer_free(&before);
            world_teardown(&made);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_versions_that_are_kept_answer_as_before),
        OVER_ALL(test_pushes_of_removed_versions_are_still_decided),
        OVER_ALL(test_another_mutation_under_an_id_of_a_removed_version_is_a_mismatch),
        OVER_ALL(test_retention_may_be_repeated_with_any_rule),
        OVER_MEMORY(test_without_remove_nothing_is_changed),
        OVER_MEMORY(test_versions_go_by_their_age),
        OVER_MEMORY(test_a_project_without_versions_keeps_none),
        cmocka_unit_test(test_rows_and_checkpoints_of_kept_versions_may_still_be_deleted),
        OVER_MEMORY(test_the_rows_of_removed_versions_are_made_sure_of),
        OVER_ALL(test_checkpoints_can_be_written_behind_removed_versions),
        OVER_ALL(test_a_checkpoint_that_is_wrong_does_not_become_the_truth),
        OVER_MEMORY(test_a_lost_delta_stops_retention_before_it_removes_anything),
        OVER_MEMORY(test_a_damaged_body_in_a_delta_stops_retention_until_it_is_repaired),
        OVER_MEMORY(test_large_records_are_not_replaced_in_one_transaction),
        OVER_ALL(test_an_old_head_in_memory_cannot_commit_behind_a_removed_version),
        OVER_ALL(test_a_reader_that_started_from_a_removed_version_goes_on),
        OVER_MEMORY(test_reading_a_version_while_it_is_removed_is_no_damage),
        cmocka_unit_test(test_a_crash_around_any_port_call_leaves_a_sound_project),
        cmocka_unit_test(test_somebody_else_between_any_two_calls_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
