/* Before a pull or a cancel the pending mutations run in turns that let edits in between, where
 * there are no footprints of them. */
#include "sdk/store/prediction.h"
#include "tests/store/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PENDING (8 * KEDGE_RETRACE_ROWS)
#define NOTES   64

static pthread_t main_thread;
static size_t runs;                                 /* by the thread that pulls */
static atomic_int others;                           /* runs by another one */
static enum { AS_BEFORE, MORE, REFUSED } otherwise; /* what the mutators do now */

/* One of the fixture's mutators. */
static kedge_status counted(kedge_tx *tx, const char *args, size_t size, void *userdata,
                            kedge_error *error)
{
    const kedge_mutator *mutator = userdata;
    static const char twice[] = "{\"id\":\"n01\",\"by\":7}";
    if (pthread_equal(pthread_self(), main_thread))
        runs++;
    else
        atomic_fetch_add(&others, 1);
    if (otherwise == REFUSED) return kedge_tx_reject(tx, "refused", "not any more", error);
    kedge_status status = mutator->function(tx, args, size, mutator->userdata, error);
    if (status == KEDGE_OK && otherwise == MORE && strcmp(mutator->name, "add") == 0)
        status = mutator->function(tx, twice, sizeof twice - 1, mutator->userdata, error);
    return status;
}

static int set_up(void **state)
{
    otherwise = AS_BEFORE;
    main_thread = pthread_self();
    return fixture_set_up_watched(state, counted);
}

static void edit_many(fixture *f, int count)
{
    char args[64];
    for (int i = 0; i < count; i++) {
        (void)snprintf(args, sizeof args, "{\"id\":\"n%02d\",\"by\":1}", i % NOTES);
        fixture_mutate(f, "add", args);
    }
}

static void drop_footprints(fixture *f)
{
    assert_int_equal(kedge_store_lock(f->store, &f->error), KEDGE_OK);
    kedge_store_drop_footprints(f->store);
    kedge_store_unlock(f->store);
}

/* ---- an edit between two turns ---- */

/* In each turn of the main thread another thread begins to wait for the next one. */
typedef struct relay {
    kedge_store *store;
    atomic_int turns; /* of the main thread; -1: the end */
    int late;         /* turns that began before the edit that waited in the one before */
} relay;

static bool other_waits(kedge_store *store)
{
    bool waits = pthread_mutex_trylock(&store->queue) != 0;
    if (!waits) pthread_mutex_unlock(&store->queue);
    return waits;
}

/* The store asks this at the start of each turn. */
static bool pass_on(void *context)
{
    relay *work = context;
    if (!pthread_equal(pthread_self(), main_thread)) return false;
    if (atomic_load(&others) < atomic_load(&work->turns)) work->late++;
    atomic_fetch_add(&work->turns, 1);
    while (!other_waits(work->store))
        sched_yield();
    return false;
}

static void *edit_in_between(void *context)
{
    relay *work = context;
    kedge_change_set changes = kedge_change_set_make(&kedge_allocator_default);
    char args[64];
    for (int turn; (turn = atomic_load(&work->turns)) >= 0;) {
        if (turn == atomic_load(&others)) {
            sched_yield();
            continue;
        }
        /* The last two notes have no other edits. */
        (void)snprintf(args, sizeof args, "{\"id\":\"n%02d\",\"by\":1000}", NOTES + turn % 2);
        if (kedge_store_mutate(work->store, KEDGE_BYTES("add"), kedge_bytes_of(args), NULL,
                               &changes, NULL) != KEDGE_OK)
            abort();
    }
    kedge_change_set_free(&changes);
    return NULL;
}

static int64_t still(void *context)
{
    (void)context;
    return 1700000000000;
}

/* The work must run each mutation once, in its turns of its own. */
static void check_edits_come_between(fixture *f, void (*work)(fixture *f))
{
    relay passed = {.store = f->store};
    pthread_t thread;
    f->environment.monotonic_ms = still;
    drop_footprints(f);
    atomic_store(&others, 0);
    f->store->observer = (kedge_store_observer){.context = &passed, .company = pass_on};
    assert_int_equal(pthread_create(&thread, NULL, edit_in_between, &passed), 0);
    runs = 0;
    work(f);
    int turns = atomic_exchange(&passed.turns, -1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    f->store->observer = (kedge_store_observer){.company = NULL};
    assert_true(turns > PENDING / KEDGE_RETRACE_ROWS);
    assert_int_equal(passed.late, 0);
    assert_in_range(runs, PENDING, PENDING + turns);
    fixture_check(f);
}

static void pull(fixture *f)
{
    kedge_apply_result result;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_DONE);
}

static void test_an_edit_that_waits_comes_between_two_turns_before_a_pull(void **state)
{
    fixture *f = *state;
    edit_many(f, PENDING);
    /* Nobody reads what the pull brings. */
    naive_server_edit(f->server, "add", "{\"id\":\"elsewhere\",\"by\":100}");
    check_edits_come_between(f, pull);
}

/* The last edit of one note. */
static void cancel(fixture *f)
{
    assert_int_equal(kedge_store_cancel(f->store, PENDING, &f->changes, &f->error), KEDGE_OK);
}

static void test_an_edit_that_waits_comes_between_two_turns_before_a_cancel(void **state)
{
    fixture *f = *state;
    edit_many(f, PENDING);
    check_edits_come_between(f, cancel);
}

static void test_a_cancel_that_is_refused_runs_nothing(void **state)
{
    fixture *f = *state;
    edit_many(f, 2 * KEDGE_RETRACE_ROWS);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    drop_footprints(f);
    runs = 0;
    assert_int_equal(kedge_store_cancel(f->store, 1, &f->changes, &f->error), KEDGE_CONFLICT);
    assert_int_equal(kedge_store_cancel(f->store, PENDING, &f->changes, &f->error),
                     KEDGE_NOT_FOUND);
    assert_int_equal(runs, 0);
}

/* ---- a store that is to be closed ---- */

/* In the second turn of the main thread. */
static bool stop_in_second(void *context)
{
    relay *work = context;
    if (atomic_fetch_add(&work->turns, 1) == 1) kedge_store_stop_pulls(work->store);
    return false;
}

static void test_a_store_that_is_to_be_closed_ends_the_run_between_two_turns(void **state)
{
    fixture *f = *state;
    relay work = {.store = f->store};
    kedge_apply_result result;
    edit_many(f, PENDING);
    f->environment.monotonic_ms = still;
    drop_footprints(f);
    naive_server_edit(f->server, "add", "{\"id\":\"elsewhere\",\"by\":100}");
    kedge_store_position before = fixture_position(f);
    f->store->observer = (kedge_store_observer){.context = &work, .company = stop_in_second};
    runs = 0;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_CANCELLED);
    f->store->observer = (kedge_store_observer){.company = NULL};
    assert_int_equal(runs, 2 * KEDGE_RETRACE_ROWS);
    assert_int_equal(atomic_load(&work.turns), 2);
    kedge_store_position after = fixture_position(f);
    assert_memory_equal(&after, &before, sizeof after);
    fixture_check(f);
    fixture_reopen(f);
    fixture_pull(f);
    fixture_expect(f, "elsewhere", "100");
    fixture_check(f);
}

static void test_a_store_that_is_to_be_closed_takes_edits_and_no_responses(void **state)
{
    fixture *f = *state;
    kedge_apply_result result;
    edit_many(f, 10);
    (void)fixture_push(f);
    kedge_store_stop_pulls(f->store);
    fixture_mutate(f, "add", "{\"id\":\"n01\",\"by\":1}");
    runs = 0;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_CANCELLED);
    assert_int_equal(fixture_try_rotate(f), KEDGE_CANCELLED); /* the server has retired its id */
    assert_int_equal(runs, 0);
    assert_int_equal(fixture_position(f).pending, 11);
    fixture_reopen(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).pending, 0);
    fixture_check(f);
}

/* ---- as if of another process ---- */

typedef struct meddling {
    kedge_store *store;
    bool cancels; /* every fourth edit is taken back */
    atomic_bool stop;
    atomic_int made;
} meddling;

static void *meddle(void *context)
{
    meddling *work = context;
    kedge_change_set changes = kedge_change_set_make(&kedge_allocator_default);
    char args[64];
    for (int i = 0; !atomic_load(&work->stop); i++) {
        int64_t sequence;
        (void)snprintf(args, sizeof args, "{\"id\":\"n%02d\",\"by\":1000}", i % (NOTES + 2));
        kedge_status status = kedge_store_mutate(work->store, KEDGE_BYTES("add"),
                                                 kedge_bytes_of(args), &sequence, &changes, NULL);
        if (status == KEDGE_OK && work->cancels && i % 4 == 0)
            status = kedge_store_cancel(work->store, sequence, &changes, NULL);
        if (status != KEDGE_OK) abort();
        atomic_fetch_add(&work->made, 1);
    }
    kedge_change_set_free(&changes);
    return NULL;
}

static void test_the_prediction_is_right_whatever_another_process_does(void **state)
{
    fixture *f = *state;
    kedge_store *other;
    fixture theirs = *f;
    theirs.seed++;
    theirs.environment.context = &theirs;
    theirs.options.environment = &theirs.environment;
    assert_int_equal(fixture_try_open(&theirs, f->path, &other), KEDGE_OK);
    edit_many(f, 2 * KEDGE_RETRACE_ROWS);
    for (int i = 0; i < 8; i++) {
        meddling work = {.store = other, .cancels = i % 2 == 0};
        pthread_t thread;
        drop_footprints(f);
        naive_server_edit(f->server, "add", "{\"id\":\"n03\",\"by\":100}");
        assert_int_equal(pthread_create(&thread, NULL, meddle, &work), 0);
        while (atomic_load(&work.made) == 0)
            sched_yield();
        fixture_pull(f);
        atomic_store(&work.stop, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        fixture_check(f);
    }
    kedge_store_close(other);
}

static void test_a_mutator_that_does_otherwise_than_before_makes_all_run_in_the_pull(void **state)
{
    fixture *f = *state;
    edit_many(f, 10);
    otherwise = MORE;
    fixture_reopen(f);
    naive_server_edit(f->server, "set", "{\"id\":\"elsewhere\",\"value\":1}");
    runs = 0;
    fixture_pull(f);
    assert_int_equal(runs, 20);
    fixture_expect(f, "n01", "71"); /* 1 of its own, and 7 of each of the ten */
    naive_server_edit(f->server, "set", "{\"id\":\"elsewhere\",\"value\":2}");
    runs = 0;
    fixture_pull(f);
    assert_int_equal(runs, 0);
}

/* Nothing is written under a key that is predicted: no last write to compare. */
static void test_a_mutator_that_refuses_now_makes_all_run_in_the_pull(void **state)
{
    fixture *f = *state;
    edit_many(f, 10);
    otherwise = REFUSED;
    fixture_reopen(f);
    naive_server_edit(f->server, "set", "{\"id\":\"elsewhere\",\"value\":1}");
    fixture_pull(f);
    fixture_expect(f, "n01", NULL);
    fixture_expect(f, "elsewhere", "1");
}

static void test_a_pull_that_leaves_few_edits_pending_runs_these_alone(void **state)
{
    fixture *f = *state;
    edit_many(f, 10);
    fixture_reopen(f);
    (void)fixture_push(f);
    fixture_mutate(f, "add", "{\"id\":\"n01\",\"by\":1}");
    runs = 0;
    fixture_pull(f);
    assert_int_equal(runs, 1);
    fixture_check(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_an_edit_that_waits_comes_between_two_turns_before_a_pull),
        TEST(test_an_edit_that_waits_comes_between_two_turns_before_a_cancel),
        TEST(test_a_cancel_that_is_refused_runs_nothing),
        TEST(test_a_store_that_is_to_be_closed_ends_the_run_between_two_turns),
        TEST(test_a_store_that_is_to_be_closed_takes_edits_and_no_responses),
        TEST(test_the_prediction_is_right_whatever_another_process_does),
        TEST(test_a_mutator_that_does_otherwise_than_before_makes_all_run_in_the_pull),
        TEST(test_a_mutator_that_refuses_now_makes_all_run_in_the_pull),
        TEST(test_a_pull_that_leaves_few_edits_pending_runs_these_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
