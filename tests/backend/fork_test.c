/* Forks: a version of a project becomes the first version of a new one, whatever
 * fails on the way. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "backend/versioned/projects/fork.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};

static push_builder builder;

/* ---- a project worth forking ---- */

/* Six versions with small and large bodies, a deletion, an emptied collection and a project record
 * that declares metadata. */
static void fill_notes(test_world *world)
{
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "kedge.project",
                  "{\"name\":\"Plans\",\"kedge.meta\":{\"items\":[\"v\"]}}");
    push_add(&builder, "c1", 2, "a", 1);
    push_add_large(&builder, "c1", 3, "b", 2, 20000);
    push_add_large(&builder, "c1", 4, "c", 3, 30000);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    world_put(world, "c1", 5, "d", 4);
    push_begin(&builder);
    push_add_call(&builder, "c1", 6, "kedge.put",
                  "{\"collection\":\"gone\",\"id\":\"x\",\"value\":1}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    push_begin(&builder);
    push_add_call(&builder, "c1", 7, "kedge.delete", "{\"collection\":\"gone\",\"id\":\"x\"}");
    push_add_call(&builder, "c1", 8, "kedge.delete", "{\"collection\":\"items\",\"id\":\"d\"}");
    push_add_call(&builder, "c1", 9, "kedge.put",
                  "{\"collection\":\"z\",\"id\":\"\",\"value\":[]}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    world_put(world, "c1", 10, "late", 5);
}

#define FORKED_AT 4 /* without "late" */

static kedge_status fork_once(test_world *world, kedge_fork *fork, kedge_error *error)
{
    return kedge_fork_project(NOTES(world), FORKED_AT, HANDLE(world->backend, &copy), fork, error);
}

static void fork_notes(test_world *world)
{
    kedge_fork fork = {.done = false};
    kedge_error error = {0};
    while (!fork.done) {
        if (fork_once(world, &fork, &error) != KEDGE_OK) fail_msg("fork: %s", error.message);
    }
}

static void check_same_state(test_world *world)
{
    kedge_buffer of_notes = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer of_copy = kedge_buffer_make(&kedge_allocator_default);
    world_dump(world, FORKED_AT, &of_notes);
    world_dump_project(world, &copy, 1, &of_copy);
    assert_true(of_notes.size > 50000);
    assert_string_equal(of_copy.data, of_notes.data);
    kedge_buffer_free(&of_notes);
    kedge_buffer_free(&of_copy);
    world_check_project(world, &copy);
}

static const kedge_version *load_first(test_world *world)
{
    const kedge_version *version = NULL;
    assert_int_equal(kedge_version_load(HANDLE(world->backend, &copy), 1, &version, NULL),
                     KEDGE_OK);
    return version;
}

static kedge_status push_to_copy(kedge_backend *backend, kedge_push_result *result)
{
    return kedge_processor_push(HANDLE(backend, &copy), &builder.push, result, NULL);
}

/* ---- what a fork is ---- */

static void test_a_fork_has_the_state_of_the_version_and_no_mutations(void **state)
{
    test_world *world = *state;
    char expected[128];
    const kedge_version *source = NULL;
    fill_notes(world);
    fork_notes(world);
    check_same_state(world);
    const kedge_version *first = load_first(world);
    assert_int_equal(kedge_version_load(NOTES(world), FORKED_AT, &source, NULL), KEDGE_OK);
    snprintf(expected, sizeof expected, "{\"lineage\":\"%s\",\"project\":\"notes\",\"version\":%d}",
             source->lineage, FORKED_AT);
    assert_true(kedge_bytes_equal_text(first->forked, expected));
    assert_int_equal(first->mutation_count, 0);
    assert_int_equal(first->run_count, 0);
    assert_int_equal(first->collection_count, 2);
    assert_string_not_equal(first->lineage, source->lineage);
    kedge_version_release(source);
    kedge_version_release(first);
    assert_int_equal(world_head(world), FORKED_AT + 1);
}

static void test_clients_start_anew_in_a_fork_and_its_source_does_not_change(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    fill_notes(world);
    fork_notes(world);
    push_begin(&builder);
    push_add(&builder, "c1", 11, "a", 99);
    assert_int_equal(push_to_copy(world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_CLIENT_UNKNOWN);
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 99);
    push_add_call(&builder, "c1", 2, "kedge.delete", "{\"collection\":\"items\",\"id\":\"b\"}");
    assert_int_equal(push_to_copy(world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(result.version, 2);
    world_check_project(world, &copy);
    assert_string_equal(world_value(world, "a"), "{\"v\":1}");
    world_check(world);
    assert_int_equal(world_lmid(world, "c1"), 10);
}

static void test_declared_metadata_goes_on_in_a_fork(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    kedge_state *at = NULL;
    kedge_entry entry;
    const kedge_version *head = NULL;
    fill_notes(world);
    fork_notes(world);
    push_begin(&builder);
    push_add(&builder, "c1", 1, "new", 7);
    assert_int_equal(push_to_copy(world->backend, &result), KEDGE_OK);
    assert_int_equal(kedge_version_load(HANDLE(world->backend, &copy), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(kedge_state_open(HANDLE(world->backend, &copy), head, &at, NULL), KEDGE_OK);
    kedge_version_release(head);
    const char *const rows[][2] = {{"a", "{\"v\":1}"}, {"b", "{\"v\":2}"}, {"new", "{\"v\":7}"}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            kedge_state_find(at, KEDGE_BYTES("items"), kedge_bytes_of(rows[i][0]), &entry, NULL),
            KEDGE_OK);
        assert_true(kedge_bytes_equal_text(entry.meta, rows[i][1]));
    }
    kedge_state_close(at);
}

static void test_deleting_all_rows_and_checkpoints_of_a_fork_changes_nothing(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    fill_notes(world);
    fork_notes(world);
    for (int i = 1; i <= 40; i++) {
        push_begin(&builder);
        push_add(&builder, i % 2 == 0 ? "c1" : "c2", (i + 1) / 2, "a", i);
        assert_int_equal(push_to_copy(world->backend, &result), KEDGE_OK);
        assert_int_equal(result.version, i + 1);
        if (i < 39) continue;
        assert_int_equal(kedge_processor_index(HANDLE(world->backend, &copy), NULL), KEDGE_OK);
    }
    world_delete_derived_of(world, &copy);
    world_restart(world);
    push_begin(&builder);
    push_add(&builder, "c2", 20, "a", 39);
    assert_int_equal(push_to_copy(world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(result.version, 41);
    world_check_project(world, &copy);
}

/* ---- sizes ---- */

static void fill_many(test_world *world, int mutations, int items)
{
    kedge_push_result result = {0};
    char args[64];
    push_begin(&builder);
    for (int i = 0; i < mutations; i++) {
        snprintf(args, sizeof args, "{\"from\":%d,\"count\":%d}", i * items, items);
        push_add_call(&builder, "c1", i + 1, "test.fill", args);
    }
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
}

static void test_a_fork_of_100000_items_keeps_to_the_limits_of_a_record(void **state)
{
    test_world *world = *state;
    kedge_fork fork = {.done = false};
    kedge_error error = {0};
    fill_many(world, 10, 10000);
    int64_t head = world_head(world);
    if (kedge_fork_project(NOTES(world), head, HANDLE(world->backend, &copy), &fork, &error) !=
        KEDGE_OK) {
        fail_msg("fork: %s", error.message);
    }
    assert_true(fork.done);
    const kedge_version *first = load_first(world);
    assert_int_equal(first->change_count, 100000);
    assert_int_equal(first->collections[0].items, 100000);
    kedge_version_release(first);
    assert_true(world_largest_record(world, &copy) <= KEDGE_VERSION_BYTES_MAX);
    world_check_project(world, &copy);
}

static void test_many_bodies_are_copied_in_several_calls(void **state)
{
    test_world *world = *state;
    kedge_fork fork = {.done = false};
    const kedge_version *version = NULL;
    int calls = 0;
    for (int i = 1; i <= KEDGE_FORK_BODIES_MAX + 40; i++) {
        char item[16];
        kedge_push_result result = {0};
        snprintf(item, sizeof item, "i%d", i);
        push_begin(&builder);
        push_add_large(&builder, "c1", i, item, i, 9000);
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
    int64_t head = world_head(world);
    while (!fork.done) {
        assert_int_equal(
            kedge_fork_project(NOTES(world), head, HANDLE(world->backend, &copy), &fork, NULL),
            KEDGE_OK);
        calls++;
        if (!fork.done) {
            assert_int_equal(fork.left, 40);
            assert_int_equal(kedge_version_load(HANDLE(world->backend, &copy), 0, &version, NULL),
                             KEDGE_NOT_FOUND);
            world_restart(world);
        }
    }
    assert_int_equal(calls, 2);
    world_check_project(world, &copy);
}

/* ---- refusals ---- */

static void test_a_fork_asked_for_again_is_the_same_one(void **state)
{
    test_world *world = *state;
    kedge_fork fork = {.done = false};
    fill_notes(world);
    fork_notes(world);
    const kedge_version *first = load_first(world);
    assert_int_equal(fork_once(world, &fork, NULL), KEDGE_OK);
    assert_true(fork.done);
    assert_false(fork.created);
    const kedge_version *again = load_first(world);
    assert_string_equal(first->lineage, again->lineage);
    kedge_version_release(first);
    kedge_version_release(again);
}

static void test_a_name_that_is_taken_is_refused(void **state)
{
    test_world *world = *state;
    kedge_fork fork = {.done = false};
    kedge_error error = {0};
    kedge_project_ref other = {KEDGE_BYTES("acme"), KEDGE_BYTES("other")};
    bool created = false;
    int64_t created_ms = 0;
    fill_notes(world);
    fork_notes(world);
    assert_int_equal(
        kedge_fork_project(NOTES(world), 5, HANDLE(world->backend, &copy), &fork, &error),
        KEDGE_CONFLICT);
    assert_string_equal(error.code, "project-exists");
    assert_int_equal(kedge_fork_project(NOTES(world), 4, NOTES(world), &fork, &error),
                     KEDGE_CONFLICT);
    assert_int_equal(
        kedge_project_create(HANDLE(world->backend, &other), &created, &created_ms, NULL),
        KEDGE_OK);
    assert_int_equal(
        kedge_fork_project(NOTES(world), 4, HANDLE(world->backend, &other), &fork, &error),
        KEDGE_CONFLICT);
}

static void test_what_is_not_there_cannot_be_forked(void **state)
{
    test_world *world = *state;
    kedge_fork fork = {.done = false};
    kedge_error error = {0};
    fill_notes(world);
    const int64_t versions[] = {0, -1, 6};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(kedge_fork_project(NOTES(world), versions[i],
                                            HANDLE(world->backend, &copy), &fork, &error),
                         KEDGE_NOT_FOUND);
        assert_string_equal(error.code, "version-not-found");
    }
    assert_int_equal(
        kedge_fork_project(HANDLE(world->backend, &copy), 1, NOTES(world), &fork, &error),
        KEDGE_NOT_FOUND);
}

static void test_a_body_that_is_gone_is_told(void **state)
{
    test_world *world = *state;
    kedge_fork fork = {.done = false};
    kedge_error error = {0};
    const kedge_version *version = NULL;
    fill_notes(world);
    world_remove_one_blob(world, "acme/projects/notes/items/");
    assert_int_equal(fork_once(world, &fork, &error), KEDGE_CORRUPT);
    assert_string_equal(error.code, "item-body-missing");
    assert_int_equal(kedge_version_load(HANDLE(world->backend, &copy), 0, &version, NULL),
                     KEDGE_NOT_FOUND);
}

/* ---- crashes and races ---- */

static void crash_at(int (*setup)(void **), world_fault fault, uint64_t at, bool *ended)
{
    void *state = NULL;
    kedge_fork fork = {.done = false};
    const kedge_version *version = NULL;
    setup(&state);
    test_world *world = state;
    fill_notes(world);
    world_restart(world);
    world_arm(world, fault, at, true, false);
    kedge_status status = fork_once(world, &fork, NULL);
    *ended = world->faults == 0;
    world_disarm(world);
    world_restart(world);
    /* All of it is there, or none: the checkpoint may be missing. */
    kedge_status found = kedge_version_load(HANDLE(world->backend, &copy), 0, &version, NULL);
    if (found == KEDGE_OK) {
        kedge_version_release(version);
        check_same_state(world);
    } else {
        assert_int_equal(found, KEDGE_NOT_FOUND);
        assert_int_not_equal(status, KEDGE_OK);
    }
    fork_notes(world);
    check_same_state(world);
    world_teardown(&state);
}

static void test_a_crash_around_any_port_call_leaves_no_half_of_a_fork(void **state)
{
    (void)state;
    int (*setups[])(void **) = {world_setup_memory, world_setup_sqlite, world_setup_seed};
    for (size_t i = 0; i < 3; i++) {
        for (int fault = WORLD_FAULT_BEFORE; fault <= WORLD_FAULT_AFTER; fault++) {
            bool ended = false;
            uint64_t at = 1;
            for (; !ended; at += WORLD_STRIDE)
                crash_at(setups[i], (world_fault)fault, at, &ended);
            assert_true(at > 6);
        }
    }
}

static void fork_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    fork_notes(world);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void push_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    world_put(world, "c1", 11, "a", 77);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void test_another_fork_or_push_between_any_two_calls_changes_nothing(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {fork_of_another, push_of_another};
    for (size_t i = 0; i < 2; i++) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            void *made = NULL;
            world_setup_memory(&made);
            test_world *world = made;
            fill_notes(world);
            world_restart(world);
            world_arm(world, WORLD_FAULT_NONE, 0, false, false);
            world->meddle = meddles[i];
            world->meddle_at = at;
            fork_notes(world);
            ended = world->meddle != NULL;
            world_disarm(world);
            check_same_state(world);
            world_check(world);
            world_teardown(&made);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_a_fork_has_the_state_of_the_version_and_no_mutations),
        OVER_ALL(test_clients_start_anew_in_a_fork_and_its_source_does_not_change),
        OVER_ALL(test_declared_metadata_goes_on_in_a_fork),
        OVER_ALL(test_deleting_all_rows_and_checkpoints_of_a_fork_changes_nothing),
        OVER_MEMORY(test_a_fork_of_100000_items_keeps_to_the_limits_of_a_record),
        OVER_BOTH(test_many_bodies_are_copied_in_several_calls),
        OVER_ALL(test_a_fork_asked_for_again_is_the_same_one),
        OVER_BOTH(test_a_name_that_is_taken_is_refused),
        OVER_BOTH(test_what_is_not_there_cannot_be_forked),
        OVER_ALL(test_a_body_that_is_gone_is_told),
        cmocka_unit_test(test_a_crash_around_any_port_call_leaves_no_half_of_a_fork),
        cmocka_unit_test(test_another_fork_or_push_between_any_two_calls_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
