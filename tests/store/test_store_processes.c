/* Several processes and threads on one folder, and processes that are killed:
 * really, with SIGKILL. */
#include "sdk/store/repair_files.h"
#include "sdk/store/store_internal.h"
#include "tests/store/fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- killed at a phase ---- */

static void kill_at(void *context, const char *phase)
{
    if (strcmp(phase, context) == 0) kill(getpid(), SIGKILL);
}

typedef void (*child_work)(fixture *f);

/* In a child nothing may assert: it would go on with the parent's tests. */
static void child_edit(fixture *f, const char *args)
{
    if (kedge_store_mutate(f->store, KEDGE_BYTES("add"), kedge_bytes_of(args), NULL, &f->changes,
                           &f->error) != KEDGE_OK)
        _exit(2);
}

static void child_mutate(fixture *f)
{
    child_edit(f, "{\"id\":\"n\",\"by\":1000}");
}

static void child_push(fixture *f)
{
    uint32_t count;
    int64_t last;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    (void)fixture_push_body(f->store, 10, 1000, &body, &count, &last, &f->error);
    kedge_buffer_free(&body);
}

static void child_pull(fixture *f)
{
    kedge_apply_result result;
    kedge_status status = fixture_try_pull(f, &result);
    for (int i = 0; i < 20 && status == KEDGE_OK && result != KEDGE_APPLY_DONE; i++)
        status = result == KEDGE_APPLY_PAGES ? fixture_try_page(f, &result)
                                             : fixture_try_pull(f, &result);
}

static void child_rotate(fixture *f)
{
    (void)fixture_try_rotate(f);
}

/* Runs `work` in a process that is killed at the phase. */
static void run_killed(fixture *f, const char *phase, child_work work)
{
    int ended;
    fixture_close(f);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        f->options.phase = kill_at;
        f->options.phase_context = (void *)(uintptr_t)phase;
        if (fixture_try_open(f, f->path, &f->store) == KEDGE_OK) work(f);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    fixture_open(f);
}

static int count_rejected(fixture *f)
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    int count = 0;
    assert_int_equal(kedge_store_rejected_open(f->store, &list, &f->error), KEDGE_OK);
    while (kedge_store_list_next(list, &mutation, &f->error) == KEDGE_OK)
        count++;
    kedge_store_list_close(list);
    return count;
}

/* One edit that the server will apply, one that it will refuse, both decided but not pulled. */
static void decide_two(fixture *f)
{
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":0}");
    fixture_pull(f);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":100}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
}

static void test_a_process_killed_while_editing_has_made_the_edit_or_not(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *phase;
        const char *value;
    } cases[] = {{"mutate-before-outbox", "1"},
                 {"mutate-between-commits", "1001"},
                 {"mutate-after-cache", "2001"}};
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    for (size_t i = 0; i < 3; i++) {
        run_killed(f, cases[i].phase, child_mutate);
        fixture_expect(f, "n", cases[i].value);
        assert_int_equal(fixture_position(f).pending, 1 + (int64_t)i);
        assert_false(fixture_position(f).stale);
        fixture_check(f);
    }
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "2001");
}

static void test_a_process_killed_with_a_push_in_flight_knows_that_it_was_sent(void **state)
{
    fixture *f = *state;
    int64_t sequence = fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    run_killed(f, "push-sent", child_push);
    assert_int_equal(fixture_position(f).sent_through, 1);
    assert_int_equal(kedge_store_cancel(f->store, sequence, &f->changes, &f->error),
                     KEDGE_CONFLICT);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "1");
}

static void test_a_process_killed_between_the_steps_of_a_pull_repeats_them(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *phase;
        int64_t pending;
        int rejected;
    } cases[] = {{"pull-before-inbox", 3, 0},
                 {"pull-before-cache", 3, 0},
                 {"pull-before-delete", 1, 1},
                 {"pull-done", 1, 1}};
    decide_two(f);
    for (size_t i = 0; i < 4; i++) {
        run_killed(f, cases[i].phase, child_pull);
        fixture_check(f);
        assert_int_equal(fixture_position(f).pending, cases[i].pending);
        assert_int_equal(count_rejected(f), cases[i].rejected);
        assert_int_equal(fixture_position(f).rejected, cases[i].rejected);
        if (i == 2) naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":0}");
        if (i == 2) naive_server_edit(f->server, "set", "{\"id\":\"m\",\"value\":1}");
    }
    fixture_sync(f);
    assert_int_equal(count_rejected(f), 1);
    fixture_expect_canonical(f, "n", "111");
}

static void test_a_process_killed_between_the_steps_of_a_paged_pull_repeats_them(void **state)
{
    fixture *f = *state;
    static const char *const phases[] = {"pull-before-inbox", "pull-before-cache",
                                         "pull-before-delete"};
    decide_two(f);
    f->server->paged = true;
    f->server->page_items = 1;
    for (size_t i = 0; i < 3; i++) {
        char path[256];
        fixture_close(f);
        snprintf(path, sizeof path, "%s/cache.db", f->path);
        assert_int_equal(unlink(path), 0);
        fixture_open(f);
        run_killed(f, phases[i], child_pull);
        fixture_check(f);
        assert_int_equal(count_rejected(f), i == 2 ? 1 : 0);
    }
    fixture_sync(f);
    assert_int_equal(count_rejected(f), 1);
    fixture_expect_canonical(f, "n", "111");
}

static void test_a_process_killed_while_it_rotates_has_rotated_or_not(void **state)
{
    fixture *f = *state;
    char client[KEDGE_CLIENT_ID_SIZE];
    decide_two(f);
    memcpy(client, fixture_position(f).client, sizeof client);
    run_killed(f, "rotate-before-outbox", child_rotate);
    assert_string_equal(fixture_position(f).client, client);
    assert_int_equal(fixture_position(f).pending, 3);
    fixture_check(f);
    run_killed(f, "rotate-after-outbox", child_rotate);
    assert_string_not_equal(fixture_position(f).client, client);
    assert_int_equal(fixture_position(f).pending, 2);
    assert_int_equal(count_rejected(f), 1);
    assert_false(fixture_position(f).stale);
    fixture_check(f);
    fixture_sync(f);
    assert_int_equal(count_rejected(f), 1);
    fixture_expect_canonical(f, "n", "111");
}

/* ---- killed anywhere ---- */

static void edit_for_ever(fixture *f, int acknowledge, int from)
{
    for (int i = from;; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"id\":\"e%d\",\"by\":1}", i);
        child_edit(f, args);
        if (i % 7 == 0) child_pull(f);
        if (write(acknowledge, &i, sizeof i) != sizeof i) _exit(1);
    }
}

/* Reads acknowledgements until `count` of them came, kills, and reads what else was written. */
static int kill_after(fixture *f, int count, int from)
{
    int ends[2];
    int last = from - 1;
    int ended;
    fixture_close(f);
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        if (fixture_try_open(f, f->path, &f->store) == KEDGE_OK) edit_for_ever(f, ends[1], from);
        _exit(1);
    }
    close(ends[1]);
    for (int i = 0; i < count; i++)
        assert_int_equal(read(ends[0], &last, sizeof last), sizeof last);
    kill(child, SIGKILL);
    while (read(ends[0], &last, sizeof last) == sizeof last)
        ;
    close(ends[0]);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
    fixture_open(f);
    return last + 1;
}

static void test_what_was_acknowledged_survives_kill_9(void **state)
{
    fixture *f = *state;
    int next = 0;
    for (int round = 0; round < 20; round++) {
        next = kill_after(f, 1 + (round * 7) % 13, next);
        for (int i = 0; i < next; i++) {
            char id[16];
            snprintf(id, sizeof id, "e%d", i);
            fixture_expect(f, id, "1");
        }
        fixture_check(f);
        /* The one that was under way may have been made: its note is not used again. */
        next++;
        char args[64];
        snprintf(args, sizeof args, "{\"id\":\"e%d\",\"value\":1}", next - 1);
        fixture_mutate(f, "set", args);
    }
    assert_true(next > 20);
}

/* ---- at once ---- */

#define WRITES 60

static void write_many(fixture *f, const char *own)
{
    char args[64];
    for (int i = 0; i < WRITES; i++) {
        child_edit(f, "{\"id\":\"shared\",\"by\":1}");
        snprintf(args, sizeof args, "{\"id\":\"%s\",\"by\":1}", own);
        child_edit(f, args);
    }
}

static pid_t start_writer(fixture *f, const char *own, uint64_t seed)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    f->seed = seed;
    f->store = NULL;
    if (fixture_try_open(f, f->path, &f->store) != KEDGE_OK) _exit(1);
    write_many(f, own);
    fixture_close(f);
    _exit(0);
}

static void test_processes_that_write_at_once_lose_nothing(void **state)
{
    fixture *f = *state;
    char sum[16];
    char each[16];
    int ended;
    fixture_close(f);
    pid_t children[] = {start_writer(f, "one", 11), start_writer(f, "two", 12),
                        start_writer(f, "three", 13)};
    fixture_open(f);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fixture_push(f), NAIVE_OK);
        naive_server_edit(f->server, "add", "{\"id\":\"other\",\"by\":1}");
        fixture_pull(f);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waitpid(children[i], &ended, 0), children[i]);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    }
    fixture_check(f);
    fixture_sync(f);
    snprintf(sum, sizeof sum, "%d", 3 * WRITES);
    snprintf(each, sizeof each, "%d", WRITES);
    fixture_expect_canonical(f, "shared", sum);
    fixture_expect_canonical(f, "one", each);
    fixture_expect_canonical(f, "three", each);
    assert_int_equal(fixture_position(f).last_sequence, 6 * WRITES);
    fixture_check(f);
}

typedef struct reading {
    fixture *f;
    atomic_bool stop;
    atomic_int failures;
    atomic_int rounds;
} reading;

static bool read_pair(kedge_store *store)
{
    char values[2][64] = {"", ""};
    kedge_store_scan *scan;
    kedge_bytes id;
    kedge_bytes value;
    int at = 0;
    if (kedge_store_scan_open(store, KEDGE_BYTES("notes"), NULL, &scan, NULL) != KEDGE_OK)
        return false;
    while (at < 2 && kedge_store_scan_next(scan, &id, &value, NULL) == KEDGE_OK)
        snprintf(values[at++], sizeof values[0], "%.*s", (int)value.size, value.data);
    kedge_store_scan_close(scan);
    return strcmp(values[0], values[1]) == 0;
}

static bool read_rest(kedge_store *store)
{
    kedge_store_position position;
    kedge_query *query;
    kedge_mutation_list *list;
    kedge_mutation mutation;
    int64_t last = 0;
    bool well = kedge_store_position_get(store, &position, NULL) == KEDGE_OK &&
                position.pending <= position.last_sequence;
    if (kedge_store_query_open(store, KEDGE_BYTES("SELECT count(DISTINCT value) FROM notes"),
                               (kedge_bytes){NULL, 0}, &query, NULL) != KEDGE_OK)
        return false;
    well = well && kedge_store_query_next(query, NULL) == KEDGE_OK &&
           kedge_store_query_integer(query, 0) <= 1;
    kedge_store_query_close(query);
    if (kedge_store_pending_open(store, &list, NULL) != KEDGE_OK) return false;
    while (kedge_store_list_next(list, &mutation, NULL) == KEDGE_OK) {
        well = well && mutation.sequence > last;
        last = mutation.sequence;
    }
    kedge_store_list_close(list);
    return well;
}

static void *read_on(void *argument)
{
    reading *shared = argument;
    while (!atomic_load(&shared->stop)) {
        if (!read_pair(shared->f->store) || !read_rest(shared->f->store))
            atomic_fetch_add(&shared->failures, 1);
        atomic_fetch_add(&shared->rounds, 1);
    }
    return NULL;
}

static void test_readers_see_whole_edits_while_others_write(void **state)
{
    fixture *f = *state;
    reading shared = {.f = f};
    pthread_t threads[3];
    char args[32];
    fixture_mutate(f, "pair", "0");
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &shared), 0);
    for (int i = 1; i < 200 || atomic_load(&shared.rounds) < 30; i++) {
        snprintf(args, sizeof args, "%d", i);
        fixture_mutate(f, "pair", args);
        if (i % 20 == 0 && f->server->version < NAIVE_VERSIONS - 10) fixture_sync(f);
        if (i % 50 == 0) assert_int_equal(kedge_store_checkpoint(f->store, &f->error), KEDGE_OK);
    }
    atomic_store(&shared.stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    print_message("%d rounds of reading\n", atomic_load(&shared.rounds));
    assert_int_equal(atomic_load(&shared.failures), 0);
    fixture_check(f);
}

/* ---- two stores on one folder ---- */

static void test_others_mutators_must_be_the_same_while_both_are_open(void **state)
{
    fixture *f = *state;
    kedge_registry *fewer = NULL;
    kedge_registry *same = f->registry;
    kedge_store *second = NULL;
    fixture_mutate(f, "count-all", "{}");
    fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    assert_int_equal(
        kedge_registry_new(&kedge_allocator_default, fixture_mutators, 2, &fewer, &f->error),
        KEDGE_OK);
    f->options.registry = fewer;
    assert_int_equal(fixture_try_open(f, f->path, &second), KEDGE_REGISTRY_MISMATCH);
    assert_string_equal(f->error.code, "registry-mismatch");
    f->options.registry = same;
    assert_int_equal(fixture_try_open(f, f->path, &second), KEDGE_OK);
    kedge_store_close(second);
    /* Alone, it may bring others; what it cannot replay contributes nothing and stays pending. */
    fixture_close(f);
    f->options.registry = fewer;
    fixture_open(f);
    char *visible = fixture_dump(f->store, false);
    assert_string_equal(visible, "{\"notes/a\":1}");
    free(visible);
    assert_int_equal(fixture_position(f).pending, 2);
    fixture_close(f);
    f->options.registry = same;
    fixture_open(f);
    visible = fixture_dump(f->store, false);
    assert_string_equal(visible, "{\"counts/all\":0,\"notes/a\":1}");
    free(visible);
    kedge_registry_free(fewer);
}

static void test_a_rotation_by_another_process_is_noticed(void **state)
{
    fixture *f = *state;
    kedge_store *first = f->store;
    kedge_store *second = NULL;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    assert_int_equal(fixture_try_open(f, f->path, &second), KEDGE_OK);
    f->store = second;
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    char client[KEDGE_CLIENT_ID_SIZE];
    memcpy(client, fixture_position(f).client, sizeof client);
    f->store = first;
    assert_string_equal(fixture_position(f).client, client);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    assert_int_equal(fixture_position(f).highest_id, 2);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "11");
    kedge_store_close(second);
}

static void test_a_cache_set_aside_by_another_process_is_let_go(void **state)
{
    fixture *f = *state;
    kedge_store *first = f->store;
    kedge_store *second = NULL;
    char path[256];
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    fixture_close_flat(f);
    fixture_open(f);
    first = f->store;
    assert_int_equal(fixture_try_open(f, f->path, &second), KEDGE_OK);
    snprintf(path, sizeof path, "%s/cache.db", f->path);
    /* A reader of the first one stays open on the old file, with its pages in memory. */
    fixture_expect(f, "n", "1");
    assert_false(fixture_position(f).resyncing);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    for (int i = 0; i < 40960; i++)
        fputc(0x5a, file);
    assert_int_equal(fclose(file), 0);
    f->store = second;
    fixture_expect(f, "n", NULL);
    assert_true(fixture_position(f).resyncing);
    f->store = first;
    assert_true(fixture_position(f).resyncing);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    fixture_expect(f, "n", "10");
    f->store = second;
    fixture_expect(f, "n", "10");
    fixture_sync(f);
    f->store = first;
    fixture_expect_canonical(f, "n", "11");
    kedge_store_close(second);
}

/* On macOS and iOS an fsync leaves data in the cache of the disk. */
static void test_the_outbox_asks_for_a_sync_that_survives_a_power_cut_on_every_system(void **state)
{
    fixture *f = *state;
    int64_t full = 0, synchronous = 0;
    kedge_store_db *db = &f->store->outbox;
    assert_int_equal(kedge_store_db_number(db, "PRAGMA fullfsync", &full, &f->error), KEDGE_OK);
    assert_int_equal(kedge_store_db_number(db, "PRAGMA synchronous", &synchronous, &f->error),
                     KEDGE_OK);
    assert_int_equal(full, 1);
    assert_int_equal(synchronous, 2);
}

/* The child has the same open files, and with them the same locks. */
static void test_closing_leaves_no_lock_to_a_child_that_was_forked(void **state)
{
    fixture *f = *state;
    kedge_store *next = NULL;
    pid_t child = fork();
    assert_true(child >= 0);
    while (child == 0)
        pause();
    fixture_close(f);
    assert_int_equal(
        kedge_registry_new(&kedge_allocator_default, fixture_mutators, 1, &f->watched, &f->error),
        KEDGE_OK);
    f->options.registry = f->watched;
    kedge_status status = fixture_try_open(f, f->path, &next);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    if (status != KEDGE_OK) fail_msg("%s", f->error.message);
    kedge_store_close(next);
}

/* The folder of the repair, which has the lock, stays for the sake of another program's file. */
static void test_a_repair_leaves_no_lock_to_a_child_that_was_forked(void **state)
{
    fixture *f = *state;
    kedge_repair_files files;
    char saved[KEDGE_STORE_PATH_BYTES], others[KEDGE_STORE_PATH_BYTES];
    snprintf(saved, sizeof saved, "%s/saved", f->folder);
    assert_int_equal(kedge_repair_files_begin(&files, f->path, saved, &f->error), KEDGE_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    while (child == 0)
        pause();
    kedge_repair_file(&files, "others", others);
    assert_int_equal(mkdir(others, 0700), 0);
    kedge_repair_files_end(&files, false);
    kedge_status status = kedge_repair_files_begin(&files, f->path, saved, &f->error);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    if (status != KEDGE_OK) fail_msg("%s", f->error.message);
    kedge_repair_files_end(&files, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_process_killed_while_editing_has_made_the_edit_or_not),
        TEST(test_a_process_killed_with_a_push_in_flight_knows_that_it_was_sent),
        TEST(test_a_process_killed_between_the_steps_of_a_pull_repeats_them),
        TEST(test_a_process_killed_between_the_steps_of_a_paged_pull_repeats_them),
        TEST(test_a_process_killed_while_it_rotates_has_rotated_or_not),
        TEST(test_what_was_acknowledged_survives_kill_9),
        TEST(test_processes_that_write_at_once_lose_nothing),
        TEST(test_readers_see_whole_edits_while_others_write),
        TEST(test_others_mutators_must_be_the_same_while_both_are_open),
        TEST(test_a_rotation_by_another_process_is_noticed),
        TEST(test_a_cache_set_aside_by_another_process_is_let_go),
        TEST(test_the_outbox_asks_for_a_sync_that_survives_a_power_cut_on_every_system),
        TEST(test_closing_leaves_no_lock_to_a_child_that_was_forked),
        TEST(test_a_repair_leaves_no_lock_to_a_child_that_was_forked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
