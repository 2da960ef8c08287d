/* Resources when things fail: each step of each write, outcomes that are unknown, other writers and
 * readers at each moment, in transactions and in order. */
#include "tests/backend/resource_world.h"

#include "backend/resource/row.h"
#include "tests/support/failing_allocator.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the failures that the article names, in its order of writes ---- */

/* The calls of a write in order: the latest record, the history's newest or the record that closes
 * the latest version, step 1, step 2. */
#define CALL_STEP_1 3
#define CALL_STEP_2 4

static void crash_at(test_world *world, uint64_t call)
{
    world_arm(world, WORLD_FAULT_BEFORE, call, true, false);
}

static void test_a_creation_that_fails_in_step_1_has_written_nothing(void **state)
{
    test_world *world = *state;
    crash_at(world, CALL_STEP_1);
    assert_int_equal(resource_put(world, 0, 0, "1"), -KEDGE_UNAVAILABLE);
    world_disarm(world);
    assert_string_equal(resource_history(world), "");
    assert_string_equal(resource_text(world, 0), "resource-not-found");
    assert_int_equal(resource_put(world, 0, 0, "2"), 1);
    assert_string_equal(resource_versions(world, 9), "latest 1: 1:2");
}

static void test_a_creation_that_fails_in_step_2_leaves_a_row_that_nobody_reads(void **state)
{
    test_world *world = *state;
    crash_at(world, CALL_STEP_2);
    assert_int_equal(resource_put(world, 0, 0, "1"), -KEDGE_UNAVAILABLE);
    world_disarm(world);
    assert_string_equal(resource_history(world), "1:1?");
    assert_string_equal(resource_text(world, 0), "resource-not-found");
    assert_string_equal(resource_text(world, 1), "resource-version-not-found");
    assert_string_equal(resource_versions(world, 9), "resource-not-found");
}

static void test_the_row_that_nobody_reads_is_replaced_by_the_next_creation(void **state)
{
    test_world *world = *state;
    crash_at(world, CALL_STEP_2);
    assert_int_equal(resource_put(world, 0, 0, "1"), -KEDGE_UNAVAILABLE);
    world_disarm(world);
    assert_int_equal(resource_put(world, 0, 0, "2"), 1);
    assert_string_equal(resource_history(world), "1:2?");
    assert_string_equal(resource_versions(world, 9), "latest 1: 1:2");
}

static void test_an_update_that_fails_in_step_1_has_changed_nothing(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "1");
    crash_at(world, CALL_STEP_1);
    assert_int_equal(resource_put(world, 0, 1, "2"), -KEDGE_UNAVAILABLE);
    world_disarm(world);
    assert_string_equal(resource_history(world), "1:1");
    assert_string_equal(resource_versions(world, 9), "latest 1: 1:1");
    assert_int_equal(resource_put(world, 0, 1, "3"), 2);
    assert_string_equal(resource_versions(world, 9), "latest 2: 2:3 1:1");
}

static void test_an_update_that_fails_in_step_2_leaves_a_row_that_is_replaced(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "1");
    crash_at(world, CALL_STEP_2);
    assert_int_equal(resource_put(world, 0, 1, "2"), -KEDGE_UNAVAILABLE);
    world_disarm(world);
    assert_string_equal(resource_history(world), "1:1 2:2?");
    assert_string_equal(resource_text(world, 2), "resource-version-not-found");
    assert_string_equal(resource_versions(world, 9), "latest 1: 1:1");
    assert_int_equal(resource_put(world, 0, 1, "3"), 2);
    assert_string_equal(resource_history(world), "1:1 2:3?");
    assert_string_equal(resource_versions(world, 9), "latest 2: 2:3 1:1");
}

static void test_a_deletion_hides_the_row_that_nobody_reads(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "1");
    crash_at(world, CALL_STEP_2);
    assert_int_equal(resource_put(world, 0, 1, "2"), -KEDGE_UNAVAILABLE);
    world_disarm(world);
    assert_int_equal(resource_delete(world, 1), KEDGE_OK);
    assert_string_equal(resource_versions(world, 9), "latest 0: 1:1");
    assert_string_equal(resource_text(world, 2), "resource-version-not-found");
    assert_int_equal(resource_put(world, 0, 0, "3"), 2);
    assert_string_equal(resource_versions(world, 9), "latest 2: 2:3 1:1");
}

/* Another writer, stopped between its steps, in the form of what it has written. */
static void put_open_row(test_world *world, int64_t version, const char *value)
{
    kedge_resource_key key;
    kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES];
    kedge_resource row = {.version = version,
                          .uid = "0123456789abcdef0123456789abcdef",
                          .user = KEDGE_BYTES("bob"),
                          .value = kedge_bytes_of(value)};
    kedge_resource_key_history(&plan, version, &key);
    size_t count = kedge_resource_row_write(&row, KEDGE_RESOURCE_MARK_OPEN, attributes);
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT, .record = {key.key, attributes, count}};
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
}

static void replace_row_2(test_world *world)
{
    put_open_row(world, 2, "\"other\"");
}

static void test_a_row_replaced_between_the_steps_is_put_right_by_the_next_write(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "1");
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    world->meddle_at = CALL_STEP_2;
    world->meddle = replace_row_2;
    assert_int_equal(resource_put(world, 0, 1, "2"), 2);
    assert_string_equal(resource_history(world), "1:1 2:\"other\"?");
    assert_string_equal(resource_versions(world, 9), "latest 2: 2:2 1:1");
    assert_int_equal(resource_put(world, 0, 2, "3"), 3);
    assert_string_equal(resource_versions(world, 9), "latest 3: 3:3 2:2 1:1");
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    put_open_row(world, 3, "\"other\"");
    assert_int_equal(resource_delete(world, 3), KEDGE_OK);
    assert_string_equal(resource_versions(world, 9), "latest 0: 3:3 2:2 1:1");
}

/* ---- every call of every write fails ---- */

typedef enum write_kind { CREATE, UPDATE, ROLLBACK, DELETE, RECREATE, RESTORE, KINDS } write_kind;

static void prepare(test_world *world, write_kind kind)
{
    if (kind == CREATE) return;
    assert_int_equal(resource_put(world, '1', 0, "1"), 1);
    assert_int_equal(resource_put(world, '2', 1, "2"), 2);
    if (kind == RECREATE || kind == RESTORE) assert_int_equal(resource_delete(world, 2), KEDGE_OK);
}

/* Gives the version, 0 for a deletion, or minus the status. */
static int64_t do_write(test_world *world, write_kind kind)
{
    switch (kind) {
    case CREATE:
    case RECREATE:
        return resource_put(world, 'a', 0, "\"a\"");
    case UPDATE:
        return resource_put(world, 'a', 2, "\"a\"");
    case ROLLBACK:
        return resource_rollback(world, 'a', 2, 1);
    case RESTORE:
        return resource_rollback(world, 'a', 0, 1);
    default:
        return -(int64_t)resource_delete(world, 2);
    }
}

static const struct {
    const char *before;
    const char *after;
    int64_t version;
} results[KINDS] = {
    [CREATE] = {"resource-not-found", "latest 1: 1:\"a\"", 1},
    [UPDATE] = {"latest 2: 2:2 1:1", "latest 3: 3:\"a\" 2:2 1:1", 3},
    [ROLLBACK] = {"latest 2: 2:2 1:1", "latest 3: 3:1 2:2 1:1", 3},
    [DELETE] = {"latest 2: 2:2 1:1", "latest 0: 2:2 1:1", 0},
    [RECREATE] = {"latest 0: 2:2 1:1", "latest 3: 3:\"a\" 2:2 1:1", 3},
    [RESTORE] = {"latest 0: 2:2 1:1", "latest 3: 3:1 2:2 1:1", 3},
};

/* One run in a world of its own. False: the write has fewer calls. */
static bool run_with_fault(int (*setup)(void **), write_kind kind, world_fault fault, uint64_t call,
                           bool goes_on)
{
    void *state = NULL;
    assert_int_equal(setup(&state), 0);
    test_world *world = state;
    prepare(world, kind);
    world_arm(world, fault, call, goes_on, false);
    int64_t version = do_write(world, kind);
    bool reached = world->faults > 0;
    world_disarm(world);
    resource_check(world);
    const char *seen = resource_versions(world, 9);
    if (version >= 0) {
        assert_int_equal(version, results[kind].version);
        assert_string_equal(seen, results[kind].after);
    } else {
        assert_int_equal(version, -KEDGE_UNAVAILABLE);
        /* What a rollback reads first is not tried again. */
        assert_true(goes_on || kind == ROLLBACK || kind == RESTORE);
        assert_true(strcmp(seen, results[kind].before) == 0 ||
                    strcmp(seen, results[kind].after) == 0);
    }
    assert_int_equal(do_write(world, kind), results[kind].version);
    assert_string_equal(resource_versions(world, 9), results[kind].after);
    resource_check(world);
    world_teardown(&state);
    return reached;
}

static void fail_every_call(int (*setup)(void **))
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int variant = 0; variant < 4; variant++) {
            world_fault fault = variant % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER;
            uint64_t call = 1;
            while (run_with_fault(setup, (write_kind)kind, fault, call, variant >= 2))
                call++;
            assert_true(call > 2);
        }
    }
}

static void test_no_failed_call_of_a_write_in_a_transaction_loses_or_doubles_it(void **state)
{
    (void)state;
    fail_every_call(world_setup_memory);
}

static void test_no_failed_call_of_a_write_in_order_loses_or_doubles_it(void **state)
{
    (void)state;
    fail_every_call(resource_setup_memory_in_order);
}

/* ---- another writer, or a reader, before every call ---- */

static char met[9000]; /* what the reader or the writer in between has seen */
static int64_t given;  /* what the writer in between was given */

static void read_all(test_world *world)
{
    snprintf(met, sizeof met, "%s", resource_versions(world, 9));
    resource_check(world);
}

static void update_too(test_world *world)
{
    given = resource_put(world, 'b', 2, "\"b\"");
    resource_check(world);
}

static void update_twice(test_world *world)
{
    update_too(world);
    if (given == 3) assert_int_equal(resource_put(world, 'c', 3, "\"c\""), 4);
    resource_check(world);
}

static void create_too(test_world *world)
{
    given = resource_put(world, 'b', 0, "\"b\"");
    resource_check(world);
}

static void delete_too(test_world *world)
{
    given = -(int64_t)resource_delete(world, 2);
    resource_check(world);
}

static void delete_and_create(test_world *world)
{
    delete_too(world);
    if (given == 0) given = resource_put(world, 'b', 0, "\"b\"");
    resource_check(world);
}

static void create_and_delete(test_world *world)
{
    create_too(world);
    if (given > 0) assert_int_equal(resource_delete(world, given), KEDGE_OK);
    resource_check(world);
}

/* One run with `meddle` before call number `call`. False: the write has fewer calls. */
static bool run_beside(int (*setup)(void **), write_kind kind, void (*meddle)(test_world *),
                       uint64_t call, int64_t *version, char text[9000])
{
    void *state = NULL;
    assert_int_equal(setup(&state), 0);
    test_world *world = state;
    prepare(world, kind);
    met[0] = '\0';
    given = INT64_MIN;
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    world->meddle_at = call;
    world->meddle = meddle;
    *version = do_write(world, kind);
    bool reached = world->meddle == NULL;
    world_disarm(world);
    resource_check(world);
    snprintf(text, 9000, "%s", resource_versions(world, 9));
    world_teardown(&state);
    return reached;
}

static void read_beside(int (*setup)(void **))
{
    for (int kind = 0; kind < KINDS; kind++) {
        int64_t version;
        static char text[9000];
        for (uint64_t call = 1; run_beside(setup, (write_kind)kind, read_all, call, &version, text);
             call++) {
            assert_int_equal(version, results[kind].version);
            assert_string_equal(met, results[kind].before); /* the commit is the last call */
        }
    }
}

static void test_a_reader_sees_the_old_version_until_the_last_call_of_a_write(void **state)
{
    (void)state;
    read_beside(world_setup_memory);
    read_beside(resource_setup_memory_in_order);
}

/* Both writers replace version 2, or both create: one of them succeeds, and what it wrote stays. */
static void write_beside(int (*setup)(void **), write_kind kind, void (*meddle)(test_world *))
{
    uint64_t call = 1;
    int64_t version;
    static char text[9000];
    static char with_a[64], with_b[64];
    const char *rest = kind == CREATE ? "" : " 2:2 1:1";
    int64_t next = kind == CREATE ? 1 : 3;
    snprintf(with_a, sizeof with_a, "latest %d: %d:\"a\"%s", (int)next, (int)next, rest);
    snprintf(with_b, sizeof with_b, "latest %d: %d:\"b\"%s", (int)next, (int)next, rest);
    while (run_beside(setup, kind, meddle, call, &version, text)) {
        assert_int_equal(given, next); /* nothing was committed before it */
        assert_int_equal(version, -KEDGE_CONFLICT);
        assert_string_equal(text, with_b);
        call++;
    }
    assert_int_equal(version, next);
    assert_string_equal(text, with_a);
    assert_true(call > 2);
}

static void test_of_two_concurrent_writers_the_first_to_commit_succeeds(void **state)
{
    (void)state;
    write_beside(world_setup_memory, CREATE, create_too);
    write_beside(world_setup_memory, UPDATE, update_too);
    write_beside(world_setup_memory, RECREATE, create_too);
    write_beside(resource_setup_memory_in_order, CREATE, create_too);
    write_beside(resource_setup_memory_in_order, UPDATE, update_too);
    write_beside(resource_setup_memory_in_order, RECREATE, create_too);
}

static void delete_beside(int (*setup)(void **))
{
    int64_t version;
    static char text[9000];
    for (uint64_t call = 1; run_beside(setup, UPDATE, delete_too, call, &version, text); call++) {
        assert_int_equal(version, -KEDGE_CONFLICT);
        assert_string_equal(text, "latest 0: 2:2 1:1");
    }
    for (uint64_t call = 1; run_beside(setup, DELETE, update_too, call, &version, text); call++) {
        assert_int_equal(version, -KEDGE_CONFLICT);
        assert_string_equal(text, "latest 3: 3:\"b\" 2:2 1:1");
    }
    for (uint64_t call = 1; run_beside(setup, DELETE, delete_too, call, &version, text); call++) {
        assert_int_equal(version, 0);
        assert_string_equal(text, "latest 0: 2:2 1:1");
    }
}

static void test_an_update_beside_a_deletion_is_a_conflict_of_one_of_them(void **state)
{
    (void)state;
    delete_beside(world_setup_memory);
    delete_beside(resource_setup_memory_in_order);
}

static void fall_behind(int (*setup)(void **))
{
    int64_t version;
    static char text[9000];
    for (uint64_t call = 1; run_beside(setup, UPDATE, update_twice, call, &version, text); call++) {
        assert_int_equal(version, -KEDGE_CONFLICT);
        assert_string_equal(text, "latest 4: 4:\"c\" 3:\"b\" 2:2 1:1");
    }
    for (uint64_t call = 1; run_beside(setup, DELETE, update_twice, call, &version, text); call++) {
        assert_int_equal(version, -KEDGE_CONFLICT);
        assert_string_equal(text, "latest 4: 4:\"c\" 3:\"b\" 2:2 1:1");
    }
}

static void test_a_writer_that_two_others_overtake_changes_nothing(void **state)
{
    (void)state;
    fall_behind(world_setup_memory);
    fall_behind(resource_setup_memory_in_order);
}

/* The writer has read what looks the same afterwards. */
static void return_beside(int (*setup)(void **))
{
    int64_t version;
    static char text[9000];
    for (uint64_t call = 1; run_beside(setup, UPDATE, delete_and_create, call, &version, text);
         call++) {
        assert_int_equal(version, -KEDGE_CONFLICT);
        assert_string_equal(text, "latest 3: 3:\"b\" 2:2 1:1");
    }
    for (uint64_t call = 1; run_beside(setup, CREATE, create_and_delete, call, &version, text);
         call++) {
        assert_int_equal(given, 1);
        assert_int_equal(version, 2);
        assert_string_equal(text, "latest 2: 2:\"a\" 1:\"b\"");
    }
    for (uint64_t call = 1; run_beside(setup, RECREATE, create_and_delete, call, &version, text);
         call++) {
        assert_int_equal(version, 4);
        assert_string_equal(text, "latest 4: 4:\"a\" 3:\"b\" 2:2 1:1");
    }
}

static void test_a_resource_that_came_and_went_between_has_its_own_versions(void **state)
{
    (void)state;
    return_beside(world_setup_memory);
    return_beside(resource_setup_memory_in_order);
}

/* ---- many writers ---- */

#define WRITERS      4
#define WRITES       5
#define WRITER_TRIES 10000

static void *add_up(void *context)
{
    test_world *world = context;
    for (int done = 0, tries = 0; done < WRITES && tries < WRITER_TRIES; tries++) {
        kedge_resource read = {0};
        kedge_resource_edit edit = {.expected = 0, .user = "ann"};
        char value[32];
        int64_t version = 0;
        kedge_status status = kedge_resource_read(world->backend, &plan, 0, &read, NULL);
        long sum = status == KEDGE_OK ? strtol(read.value.data, NULL, 10) : 0;
        edit.expected = status == KEDGE_OK ? read.version : 0;
        kedge_resource_free(&read);
        if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) continue;
        snprintf(value, sizeof value, "%ld", sum + 1);
        status =
            kedge_resource_put(world->backend, &plan, &edit, kedge_bytes_of(value), &version, NULL);
        if (status == KEDGE_OK) done++;
    }
    return NULL;
}

static void test_no_addition_of_many_writers_is_lost(void **state)
{
    test_world *world = *state;
    pthread_t threads[WRITERS];
    char expected[32];
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_up, world), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    snprintf(expected, sizeof expected, "%d:%d", WRITERS * WRITES, WRITERS * WRITES);
    assert_string_equal(resource_text(world, 0), expected);
    resource_check(world);
}

/* ---- without memory ---- */

static bool read_row(const kedge_allocator *allocator, void *context)
{
    const kedge_record *record = context;
    kedge_resource row;
    kedge_resource_mark mark;
    const kedge_resource_ref ref = {KEDGE_BYTES("acme"), KEDGE_BYTES("settings"),
                                    KEDGE_BYTES("plan")};
    kedge_status status = kedge_resource_row_read(allocator, &ref, record, &row, &mark, NULL);
    if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NO_MEMORY);
    return status == KEDGE_OK;
}

static void test_a_version_that_is_read_without_memory_is_not_damaged(void **state)
{
    (void)state;
    kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES];
    char value[1024];
    size_t used = 0;
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(value + used, sizeof value - used, "%c\"%02d\":1",
                                 i == 0 ? '{' : ',', i);
    snprintf(value + used, sizeof value - used, "}");
    kedge_resource row = {.version = 1, .user = KEDGE_BYTES("ann"), .value = kedge_bytes_of(value)};
    memset(row.uid, 'a', sizeof row.uid - 1);
    kedge_record record = {{KEDGE_BYTES("p"), KEDGE_BYTES("s")}, attributes, 0};
    record.attribute_count = kedge_resource_row_write(&row, KEDGE_RESOURCE_MARK_NONE, attributes);
    assert_true(failing_allocator_try_every_call(read_row, &record, 0) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ORDER(test_a_creation_that_fails_in_step_1_has_written_nothing),
        IN_ORDER(test_a_creation_that_fails_in_step_2_leaves_a_row_that_nobody_reads),
        IN_ORDER(test_the_row_that_nobody_reads_is_replaced_by_the_next_creation),
        IN_ORDER(test_an_update_that_fails_in_step_1_has_changed_nothing),
        IN_ORDER(test_an_update_that_fails_in_step_2_leaves_a_row_that_is_replaced),
        IN_ORDER(test_a_deletion_hides_the_row_that_nobody_reads),
        IN_ORDER(test_a_row_replaced_between_the_steps_is_put_right_by_the_next_write),
        cmocka_unit_test(test_no_failed_call_of_a_write_in_a_transaction_loses_or_doubles_it),
        cmocka_unit_test(test_no_failed_call_of_a_write_in_order_loses_or_doubles_it),
        cmocka_unit_test(test_a_reader_sees_the_old_version_until_the_last_call_of_a_write),
        cmocka_unit_test(test_of_two_concurrent_writers_the_first_to_commit_succeeds),
        cmocka_unit_test(test_an_update_beside_a_deletion_is_a_conflict_of_one_of_them),
        cmocka_unit_test(test_a_writer_that_two_others_overtake_changes_nothing),
        cmocka_unit_test(test_a_resource_that_came_and_went_between_has_its_own_versions),
        IN_BOTH_WAYS(test_no_addition_of_many_writers_is_lost),
        cmocka_unit_test(test_a_version_that_is_read_without_memory_is_not_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
