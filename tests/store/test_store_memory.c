/* One call, with SQLite's memory running out at each of its allocations in turn. SQLite then ends
 * the transaction that the statement is in, also when the statement only reads. So the call fails
 * as a whole, or does all of its work; after a failure all is as before, and the call can be made
 * again. */
#include "tests/store/fixture.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/sampling.h"
#include "tests/support/sqlite_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POINTS (200 / SAMPLING_FEWER)
#define LARGE  20000 /* bytes of a value that SQLite reads into memory of its own */

typedef struct scenario {
    void (*prepare)(fixture *f);
    kedge_status (*call)(fixture *f);
    void (*check)(fixture *f); /* after the call was made, and all is synced */
} scenario;

/* Its files need no syncs of the disk. */
static const char vfs_name[] = "kedge-memory";

static void begin(fixture *f, const scenario *of)
{
    fixture_begin(f);
    f->options.vfs = vfs_name;
    f->options.observer = fixture_in_company;
    fixture_open(f);
    naive_server_edit(f->server, "set", "{\"id\":\"other\",\"value\":0}");
    fixture_pull(f);
    of->prepare(f);
}

/* Returns how many calls there were. */
static uint64_t fail_at(const scenario *of, uint64_t nth)
{
    fixture f;
    begin(&f, of);
    char *before = fixture_dump(f.store, false);
    int64_t pending = fixture_position(&f).pending;
    sqlite_memory_fail_at(nth);
    kedge_status status = of->call(&f);
    uint64_t calls = sqlite_memory_calls();
    sqlite_memory_fail_at(0);
    if (status != KEDGE_OK) {
        assert_int_equal(status, KEDGE_NO_MEMORY);
        char *after = fixture_dump(f.store, false);
        assert_string_equal(after, before);
        assert_int_equal(fixture_position(&f).pending, pending);
        fixture_check(&f);
        free(after);
        assert_int_equal(of->call(&f), KEDGE_OK);
    }
    assert_int_equal(kedge_store_catch_up(f.store, &f.changes, &f.error), KEDGE_OK);
    fixture_check(&f);
    free(before);
    fixture_sync(&f);
    of->check(&f);
    fixture_end(&f);
    return calls;
}

static void fail_at_each(const scenario *of)
{
    fault_vfs *vfs = fault_vfs_new(vfs_name, 1);
    assert_non_null(vfs);
    uint64_t calls = fail_at(of, 0);
    for (uint64_t nth = 1; nth <= calls; nth += calls / POINTS + 1)
        (void)fail_at(of, nth);
    fault_vfs_free(vfs);
    print_message("of %llu calls\n", (unsigned long long)calls);
    assert_true(calls > 20);
}

/* ---- an edit ---- */

static kedge_status set_large(fixture *f, char with)
{
    static char args[LARGE + 64];
    char value[LARGE + 1];
    memset(value, with, LARGE);
    value[LARGE] = '\0';
    (void)snprintf(args, sizeof args, "{\"id\":\"n\",\"value\":\"%s\"}", value);
    return kedge_store_mutate(f->store, KEDGE_BYTES("set"), kedge_bytes_of(args), NULL, &f->changes,
                              &f->error);
}

static void prepare_large(fixture *f)
{
    assert_int_equal(set_large(f, 'a'), KEDGE_OK);
}

static kedge_status call_large(fixture *f)
{
    return set_large(f, 'b');
}

static void check_large(fixture *f)
{
    char value[LARGE + 3];
    memset(value, 'b', sizeof value);
    value[0] = value[LARGE + 1] = '"';
    value[LARGE + 2] = '\0';
    fixture_expect_canonical(f, "n", value);
}

static void test_an_edit_that_replaces_what_another_wrote(void **state)
{
    (void)state;
    fail_at_each(&(scenario){prepare_large, call_large, check_large});
}

/* As another process that has the folder open for a moment. It changes nothing, so that the change
 * log does not have what its edit has read. */
static void prepare_beside(fixture *f)
{
    kedge_store *ours = f->store;
    prepare_large(f);
    assert_int_equal(fixture_try_open(f, f->path, &f->store), KEDGE_OK);
    assert_int_equal(set_large(f, 'a'), KEDGE_OK);
    kedge_store_close(f->store);
    f->store = ours;
}

static void test_an_edit_before_which_that_of_another_process_runs(void **state)
{
    (void)state;
    fail_at_each(&(scenario){prepare_beside, call_large, check_large});
}

/* ---- a cancel ---- */

static int64_t cancelled;

static void add(fixture *f)
{
    (void)fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
}

static void prepare_cancel(fixture *f)
{
    add(f);
    cancelled = fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    add(f);
    add(f);
}

static kedge_status call_cancel(fixture *f)
{
    return kedge_store_cancel(f->store, cancelled, &f->changes, &f->error);
}

static void check_cancel(fixture *f)
{
    fixture_expect_canonical(f, "n", "3");
}

static void test_a_cancel_after_which_others_run_again(void **state)
{
    (void)state;
    fail_at_each(&(scenario){prepare_cancel, call_cancel, check_cancel});
}

/* ---- a pull ---- */

static void push_first(fixture *f)
{
    uint32_t count;
    int64_t last;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(fixture_push_body(f->store, 1, 100000, &body, &count, &last, &f->error),
                     KEDGE_OK);
    assert_int_equal(naive_server_push(f->server, kedge_buffer_bytes(&body)), NAIVE_OK);
    kedge_buffer_free(&body);
}

/* The pull brings a rejection, and another value to what is pending behind it. */
static void prepare_pull(fixture *f)
{
    (void)fixture_mutate(f, "refuse-over", "{\"id\":\"other\",\"limit\":1}");
    add(f);
    add(f);
    naive_server_edit(f->server, "add", "{\"id\":\"other\",\"by\":5}");
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":100}");
    push_first(f);
}

static void prepare_pull_anew(fixture *f)
{
    prepare_pull(f);
    fixture_reopen(f);
}

static kedge_status call_pull(fixture *f)
{
    kedge_apply_result result = KEDGE_APPLY_DONE;
    kedge_status status = fixture_try_pull(f, &result);
    if (status == KEDGE_OK) assert_int_equal(result, KEDGE_APPLY_DONE);
    return status;
}

static void check_pull(fixture *f)
{
    fixture_expect_canonical(f, "n", "102");
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(fixture_position(f).unrecovered, 0);
}

static void test_a_pull_with_a_rejection_after_which_others_run_again(void **state)
{
    (void)state;
    fail_at_each(&(scenario){prepare_pull, call_pull, check_pull});
}

static void test_a_pull_with_a_rejection_after_an_opening(void **state)
{
    (void)state;
    fail_at_each(&(scenario){prepare_pull_anew, call_pull, check_pull});
}

int main(void)
{
    sqlite_memory_watch();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_edit_that_replaces_what_another_wrote),
        cmocka_unit_test(test_an_edit_before_which_that_of_another_process_runs),
        cmocka_unit_test(test_a_cancel_after_which_others_run_again),
        cmocka_unit_test(test_a_pull_with_a_rejection_after_which_others_run_again),
        cmocka_unit_test(test_a_pull_with_a_rejection_after_an_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
