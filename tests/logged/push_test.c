/* Pushes to a log project: each mutation is appended once, whatever fails and whoever else appends.
 */
#include "tests/logged/logged_world.h"

#include "backend/log/segments.h"

#include <stdlib.h>
#include <string.h>

static push_builder builder;

/* The story with a snapshot and a new segment in the middle. */
static kedge_status run_story(test_world *world)
{
    kedge_status status = KEDGE_OK;
    for (int i = 1; i <= STORY_PUSHES && status == KEDGE_OK; i++) {
        kedge_push_result result = {0};
        status = sheet_story(world->backend, i, &result);
        if (status == KEDGE_OK) assert_int_equal(result.problem, KEDGE_PUSH_FINE);
        if (status == KEDGE_OK && i % 8 == 0) {
            int64_t number;
            bool made;
            status = kedge_logged_snapshot_make(sheet(world), &number, &made, NULL);
        }
        if (status == KEDGE_OK && i == 16) {
            kedge_log log = kedge_logged_log(sheet(world));
            kedge_log_place first;
            status = kedge_log_new_segment(&log, &first, NULL);
        }
    }
    return status;
}

static void check_story(test_world *world)
{
    assert_int_equal(sheet_lmid(world, "c1"), STORY_PUSHES);
    assert_int_equal(sheet_lmid(world, "c2"), STORY_PUSHES / 6);
    assert_true(sheet_check(world) >= 3);
}

static test_world *open_world(int (*setup)(void **), void **state)
{
    setup(state);
    sheet_new(*state);
    return *state;
}

/* What a run without faults asks of the ports. */
static uint64_t count_calls(int (*setup)(void **))
{
    void *state = NULL;
    test_world *world = open_world(setup, &state);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    assert_int_equal(run_story(world), KEDGE_OK);
    uint64_t calls = atomic_load(&world->calls);
    world_disarm(world);
    check_story(world);
    world_teardown(&state);
    return calls;
}

/* The backend is gone at the call; a new one gets everything from the beginning. */
static void crash_at(int (*setup)(void **), world_fault fault, uint64_t at)
{
    void *state = NULL;
    test_world *world = open_world(setup, &state);
    world_arm(world, fault, at, true, false);
    (void)run_story(world);
    assert_true(world->faults > 0);
    world_disarm(world);
    world_restart(world);
    assert_int_equal(run_story(world), KEDGE_OK);
    check_story(world);
    world_teardown(&state);
}

static void test_a_crash_around_any_port_call_loses_and_doubles_nothing(void **state)
{
    (void)state;
    int (*setups[])(void **) = {world_setup_memory, world_setup_seed};
    for (size_t i = 0; i < 2; i++) {
        uint64_t calls = count_calls(setups[i]);
        for (uint64_t at = 1 + i; at <= calls; at += i == 0 ? STORES_STEP : 7 * STORES_STEP) {
            crash_at(setups[i], WORLD_FAULT_BEFORE, at);
            crash_at(setups[i], WORLD_FAULT_AFTER, at);
        }
    }
}

static void test_a_crash_over_sqlite_loses_and_doubles_nothing(void **state)
{
    (void)state;
    uint64_t calls = count_calls(world_setup_sqlite);
    for (uint64_t at = 1; at <= calls; at += 23 * STORES_STEP) {
        crash_at(world_setup_sqlite, WORLD_FAULT_BEFORE, at);
        crash_at(world_setup_sqlite, WORLD_FAULT_AFTER, at);
    }
}

/* One call fails, the backend goes on by itself; a push must be fine, and a snapshot may have to be
 * asked for again. */
static void test_a_push_with_one_fault_is_appended_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        bool more = true;
        for (uint64_t at = 1; more; at++) {
            void *opened = NULL;
            kedge_push_result result = {0};
            test_world *world = open_world(world_setup_memory, &opened);
            sheet_put(world, "c1", 1, "a", 1);
            world_restart(world);
            world_arm(world, kind == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, at, false, false);
            push_begin(&builder);
            push_add(&builder, "c1", 2, "a", 2);
            push_add(&builder, "c1", 3, "a", 3);
            assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
            more = world->faults > 0;
            world_disarm(world);
            assert_int_equal(result.version, 2);
            assert_int_equal(sheet_head(world), 2);
            assert_int_equal(sheet_lmid(world, "c1"), 3);
            sheet_check(world);
            world_teardown(&opened);
        }
    }
}

/* ---- somebody else in between ---- */

static void push_of_another(test_world *world)
{
    static push_builder others;
    kedge_backend *other = world_new_backend(world);
    kedge_push_result result = {0};
    int64_t lmid = sheet_lmid(world, "c9");
    push_begin(&others);
    push_add(&others, "c9", lmid + 1, "z", (int)lmid + 1);
    assert_int_equal(sheet_send(&others, other, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    kedge_backend_free(other);
}

/* As when a proxy repeats it. */
static void push_of_the_same(test_world *world)
{
    static push_builder others;
    kedge_backend *other = world_new_backend(world);
    kedge_push_result result = {0};
    push_begin(&others);
    push_add(&others, "c1", 2, "a", 2);
    push_add(&others, "c1", 3, "a", 3);
    assert_int_equal(sheet_send(&others, other, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    kedge_backend_free(other);
}

static void end_of_the_segment(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    kedge_log log = kedge_logged_log(sheet_of(other));
    kedge_log_place first;
    int64_t number;
    bool made;
    assert_int_equal(kedge_logged_snapshot_make(sheet_of(other), &number, &made, NULL), KEDGE_OK);
    assert_int_equal(kedge_log_new_segment(&log, &first, NULL), KEDGE_OK);
    kedge_backend_free(other);
}

static bool meddle_at(void (*meddle)(test_world *), uint64_t at, bool cached)
{
    void *state = NULL;
    kedge_push_result result = {0};
    test_world *world = open_world(world_setup_memory, &state);
    sheet_put(world, "c1", 1, "a", 1);
    if (!cached) world_restart(world);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    world->meddle = meddle;
    world->meddle_at = at;
    push_begin(&builder);
    push_add(&builder, "c1", 2, "a", 2);
    push_add(&builder, "c1", 3, "a", 3);
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    bool ended = world->meddle != NULL;
    world_disarm(world);
    assert_int_equal(sheet_lmid(world, "c1"), 3);
    assert_int_equal(sheet_lmid(world, "c9"), meddle == push_of_another && !ended ? 1 : 0);
    sheet_check(world);
    world_teardown(&state);
    return ended;
}

static void test_an_append_between_any_two_calls_forks_nothing(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {push_of_another, push_of_the_same, end_of_the_segment};
    for (size_t i = 0; i < 3; i++) {
        for (int cached = 0; cached < 2; cached++) {
            uint64_t at = 1;
            while (!meddle_at(meddles[i], at, cached == 1))
                at++;
            assert_true(at > 2);
        }
    }
}

static void test_stale_reads_append_nothing_twice(void **state)
{
    test_world *world = *state;
    sheet_new(world);
    sheet_put(world, "c1", 1, "a", 1);
    world_lag(world);
    world->stale = true;
    for (int id = 2; id <= 9; id++) {
        sheet_put(world, "c1", id, "a", id);
        if (id % 3 == 0) push_of_another(world);
        if (id == 5) end_of_the_segment(world);
        if (id % 4 == 0) world_restart(world);
        assert_int_equal(sheet_lmid(world, "c1"), id);
    }
    world->stale = false;
    sheet_check(world);
}

/* The last entries are gone: what the client knows of them is of another history. */
static void test_a_restored_backend_is_noticed(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    const kedge_version *head;
    bool known;
    sheet_new(world);
    for (int id = 1; id <= 3; id++)
        sheet_put(world, "c1", id, "a", id);
    assert_int_equal(kedge_version_load(sheet(world), 0, &head, NULL), KEDGE_OK);
    kedge_log log = kedge_logged_log(sheet(world));
    kedge_log_key partition = kedge_log_key_entries(&log, 0);
    for (int64_t num = 2; num <= 3; num++) {
        kedge_log_key sort = kedge_log_key_num(num);
        kedge_record_write write = {
            .kind = KEDGE_WRITE_DELETE,
            .record = {{kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}, NULL, 0}};
        const kedge_records *records = &world->store_records;
        assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    }
    world_restart(world);
    push_begin(&builder);
    push_add(&builder, "c1", 4, "a", 4);
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_GAP);
    for (int id = 2; id <= 4; id++)
        sheet_put(world, "c1", id, "b", id);
    assert_int_equal(
        kedge_version_is_known(sheet(world), head->number, head->lineage, &known, NULL), KEDGE_OK);
    assert_false(known);
    kedge_version_release(head);
    sheet_check(world);
}

static void test_index_rows_that_are_gone_are_made_again(void **state)
{
    test_world *world = *state;
    sheet_new(world);
    sheet_put(world, "old", 1, "o", 1);
    for (int id = 1; id <= 140; id++)
        sheet_put(world, "c1", id, "a", id);
    kedge_project_ref ref = sheet(world)->ref;
    world_delete_derived_of(world, &ref);
    world_restart(world);
    assert_int_equal(sheet_lmid(world, "old"), 1);
    assert_int_equal(sheet_put(world, "old", 1, "o", 1), 141);
    assert_int_equal(sheet_put(world, "c1", 7, "a", 7), 141);
    sheet_check(world);
}

static void test_a_push_that_does_not_fit_one_entry_becomes_several(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    sheet_new(world);
    push_begin(&builder);
    for (int id = 1; id <= 300; id++)
        push_add(&builder, "c1", id, "a", id);
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
    assert_int_equal(sheet_lmid(world, "c1"), 300);
    sheet_check(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_around_any_port_call_loses_and_doubles_nothing),
        cmocka_unit_test(test_a_crash_over_sqlite_loses_and_doubles_nothing),
        cmocka_unit_test(test_a_push_with_one_fault_is_appended_once),
        cmocka_unit_test(test_an_append_between_any_two_calls_forks_nothing),
        OVER_MEMORY(test_stale_reads_append_nothing_twice),
        OVER_ALL(test_a_restored_backend_is_noticed),
        OVER_ALL(test_index_rows_that_are_gone_are_made_again),
        OVER_ALL(test_a_push_that_does_not_fit_one_entry_becomes_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
