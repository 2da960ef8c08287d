/* Pushes to a log project: each mutation is appended once, whatever fails and whoever else appends.
 */
#include "tests/logged/logged_world.h"

#include "backend/log/segments.h"
#include "backend/logged/entry.h"

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

/* ---- the largest entries ---- */

/* kedge.put of `count` times `piece` below `arrays` nested arrays, padded so that the args have
 * `size` bytes. */
static kedge_bytes large_args(const char *item, size_t arrays, const char *piece, size_t size)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&text, "{\"collection\":\"items\",\"id\":\"%s\",\"value\":", item);
    for (size_t i = 0; i < arrays; i++)
        kedge_buffer_append_byte(&text, '[');
    kedge_buffer_append_byte(&text, '"');
    while (text.size + strlen(piece) + arrays + 2 <= size)
        kedge_buffer_append_text(&text, piece);
    while (text.size + arrays + 2 < size)
        kedge_buffer_append_byte(&text, 'x');
    kedge_buffer_append_byte(&text, '"');
    for (size_t i = 0; i < arrays; i++)
        kedge_buffer_append_byte(&text, ']');
    kedge_buffer_append_byte(&text, '}');
    assert_false(text.no_memory);
    assert_int_equal(text.size, size);
    return kedge_buffer_bytes(&text);
}

/* Pushes the mutation and a small one behind it; gives the entry of the first. */
static int64_t push_with_args(test_world *world, int64_t id, kedge_bytes args)
{
    kedge_push_result result = {0};
    int64_t head = sheet_head(world);
    push_begin(&builder);
    push_add_call(&builder, "c1", id, "kedge.put", "null");
    builder.mutations[0].args = args;
    push_add(&builder, "c1", id + 1, "after", (int)id);
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(sheet_lmid(world, "c1"), id + 1);
    return head + 1;
}

static void check_entry(test_world *world, int64_t number, kedge_bytes args)
{
    const kedge_version *version;
    world_restart(world);
    assert_int_equal(kedge_version_load(sheet(world), number, &version, NULL), KEDGE_OK);
    assert_true(version->mutation_count >= 1);
    assert_int_equal(version->mutations[0].outcome, KEDGE_MUTATION_APPLIED);
    assert_true(kedge_bytes_equal(version->mutations[0].args, args));
    kedge_version_release(version);
}

static void test_args_of_the_largest_size_are_appended_and_read_back(void **state)
{
    /* The second is stored as a text, in which each of its bytes is escaped. */
    static const struct {
        size_t arrays;
        const char *piece;
    } cases[] = {{0, "x"}, {63, "\\\""}};
    test_world *world = *state;
    int64_t id = 1;
    sheet_new(world);
    for (size_t i = 0; i < 2; i++) {
        char item[] = {(char)('a' + i), '\0'};
        kedge_bytes args =
            large_args(item, cases[i].arrays, cases[i].piece, KEDGE_LIMIT_ARGS_BYTES);
        int64_t number = push_with_args(world, id, args);
        check_entry(world, number, args);
        id += 2;
        kedge_release(&kedge_allocator_default, (void *)(uintptr_t)args.data);
    }
    sheet_snap(world);
    sheet_check(world);
}

/* Each byte of a name that may be escaped needs six. */
static kedge_run widest_run(kedge_bytes client, kedge_bytes user)
{
    return (kedge_run){.client = client,
                       .group = client,
                       .user = user,
                       .version = KEDGE_LOG_NUMBER_MAX,
                       .first = KEDGE_LIMIT_MUTATION_ID,
                       .last = KEDGE_LIMIT_MUTATION_ID,
                       .retired = true};
}

static void test_an_entry_has_room_for_the_widest_mutation_and_runs(void **state)
{
    (void)state;
    static char ids[KEDGE_LIMIT_CLIENT_ID_BYTES];
    static char user[KEDGE_USER_BYTES_MAX];
    static char text[KEDGE_LIMIT_REJECTION_MESSAGE_BYTES];
    static kedge_run recent[KEDGE_RECENT_RUNS_MAX + 1];
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    memset(ids, 'c', sizeof ids);
    memset(user, 1, sizeof user);
    memset(text, 1, sizeof text);
    kedge_bytes client = {ids, sizeof ids}, name = {user, sizeof user};
    kedge_bytes args = large_args("a", 63, "\\\"", KEDGE_LIMIT_ARGS_BYTES);
    for (size_t i = 0; i <= KEDGE_RECENT_RUNS_MAX; i++)
        recent[i] = widest_run(client, name);
    kedge_version_mutation mutation = {.client = client,
                                       .id = KEDGE_LIMIT_MUTATION_ID,
                                       .name = {text, 128},
                                       .args = args,
                                       .timestamp_ms = -KEDGE_LIMIT_MUTATION_ID,
                                       .user = name,
                                       .role = name,
                                       .uid = {text, 64},
                                       .origin_client = client,
                                       .origin_id = KEDGE_LIMIT_MUTATION_ID,
                                       .mutator = KEDGE_LIMIT_MUTATION_ID,
                                       .outcome = KEDGE_MUTATION_REJECTED,
                                       .code = {text, KEDGE_LIMIT_REJECTION_CODE_BYTES},
                                       .message = {text, sizeof text}};
    kedge_version version = {.created_ms = KEDGE_LIMIT_MUTATION_ID,
                             .indexed_through = KEDGE_LIMIT_MUTATION_ID,
                             .retired = client,
                             .mutations = &mutation,
                             .mutation_count = 1,
                             .runs = &recent[KEDGE_RECENT_RUNS_MAX],
                             .run_count = 1,
                             .recent = recent,
                             .recent_count = KEDGE_RECENT_RUNS_MAX + 1};
    kedge_logged_entry_write(&version, &out);
    assert_false(out.no_memory);
    assert_true(out.size > 2 * KEDGE_LIMIT_ARGS_BYTES - 4096);
    assert_true(out.size <= KEDGE_LOGGED_ENTRY_BYTES_MAX);
    kedge_buffer_free(&out);
    kedge_release(&kedge_allocator_default, (void *)(uintptr_t)args.data);
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
        cmocka_unit_test(test_an_entry_has_room_for_the_widest_mutation_and_runs),
        OVER_SQLITE(test_args_of_the_largest_size_are_appended_and_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
