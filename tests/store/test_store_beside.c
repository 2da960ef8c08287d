/* How many pending mutations a pull runs while another process edits, too: each edit of that
 * process once, and no others, whatever is pending. */
#include "sdk/store/prediction.h"
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PENDING 400
#define NOTES   20

static size_t runs;
static bool does_more; /* the mutators do more than before */

/* One of the fixture's mutators, counted. */
static kedge_status counted(kedge_tx *tx, const char *args, size_t size, void *userdata,
                            kedge_error *error)
{
    const kedge_mutator *mutator = userdata;
    static const char more[] = "{\"id\":\"more\",\"by\":1}";
    runs++;
    kedge_status status = mutator->function(tx, args, size, mutator->userdata, error);
    if (status == KEDGE_OK && does_more && strcmp(mutator->name, "add") == 0)
        status = mutator->function(tx, more, sizeof more - 1, mutator->userdata, error);
    return status;
}

/* ---- two stores of one folder; each step makes one of them the fixture's ---- */

typedef struct pair {
    fixture *f;
    kedge_store *ours;
    kedge_store *theirs;
} pair;

static void open_theirs(pair *p)
{
    assert_int_equal(fixture_try_open(p->f, p->f->path, &p->theirs), KEDGE_OK);
}

static void close_theirs(pair *p)
{
    kedge_store_close(p->theirs);
    p->theirs = NULL;
}

static int set_up(void **state)
{
    static pair p;
    does_more = false;
    fixture_set_up_watched((void **)&p.f, counted);
    fixture_close(p.f);
    p.f->options.observer = fixture_in_company;
    fixture_open(p.f);
    p.ours = p.f->store;
    open_theirs(&p);
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    pair *p = *state;
    if (p->theirs) close_theirs(p);
    return fixture_tear_down((void **)&p->f);
}

static void edit(pair *p, int note)
{
    char args[64];
    (void)snprintf(args, sizeof args, "{\"id\":\"n%02d\",\"by\":1}", note);
    fixture_mutate(p->f, "add", args);
}

static void edit_many(pair *p)
{
    for (int i = 0; i < PENDING; i++)
        edit(p, i % NOTES);
}

static int64_t mutate_theirs(pair *p, const char *name, const char *args)
{
    p->f->store = p->theirs;
    int64_t sequence = fixture_mutate(p->f, name, args);
    p->f->store = p->ours;
    return sequence;
}

static void edit_theirs(pair *p, int note)
{
    p->f->store = p->theirs;
    edit(p, note);
    p->f->store = p->ours;
}

static size_t pull(pair *p)
{
    runs = 0;
    fixture_pull(p->f);
    size_t ran = runs;
    fixture_check(p->f);
    return ran;
}

/* How many mutations the pull of somebody's edit of this item runs. */
static size_t pull_edit(pair *p, const char *id)
{
    char args[64];
    (void)snprintf(args, sizeof args, "{\"id\":\"%s\",\"by\":100}", id);
    naive_server_edit(p->f->server, "add", args);
    return pull(p);
}

static size_t cancel(pair *p, int64_t sequence)
{
    fixture *f = p->f;
    runs = 0;
    assert_int_equal(kedge_store_cancel(f->store, sequence, &f->changes, &f->error), KEDGE_OK);
    size_t ran = runs;
    fixture_check(f);
    return ran;
}

/* ---- what follows ---- */

static void test_a_sync_runs_each_edit_of_another_process_once_whatever_is_pending(void **state)
{
    pair *p = *state;
    size_t ran = 0;
    int pulls = 0;
    edit_many(p);
    for (; fixture_position(p->f).pending > PENDING / 4; pulls++) {
        uint32_t count;
        int64_t last;
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        assert_int_equal(fixture_push_body(p->f->store, PENDING / 20, 1000000, &body, &count, &last,
                                           &p->f->error),
                         KEDGE_OK);
        assert_int_equal(naive_server_push(p->f->server, kedge_buffer_bytes(&body)), NAIVE_OK);
        kedge_buffer_free(&body);
        edit_theirs(p, pulls % NOTES);
        ran += pull(p);
    }
    assert_true(pulls > 10);
    assert_int_equal(ran, pulls);
}

static void test_what_they_have_written_over_is_known(void **state)
{
    pair *p = *state;
    edit_many(p);
    int64_t first = mutate_theirs(p, "set", "{\"id\":\"n03\",\"value\":7}");
    int64_t second = mutate_theirs(p, "set", "{\"id\":\"n03\",\"value\":8}");
    (void)mutate_theirs(p, "remove", "{\"id\":\"n04\"}");
    assert_int_equal(pull_edit(p, "elsewhere"), 3);
    assert_int_equal(cancel(p, second), 0);
    fixture_expect(p->f, "n03", "7");
    assert_int_equal(cancel(p, first), 0);
    fixture_expect(p->f, "n03", "20");
    assert_int_equal(cancel(p, first + 2), 0);
    fixture_expect(p->f, "n04", "20");
}

static void test_their_edits_run_again_when_they_read_something_new(void **state)
{
    pair *p = *state;
    edit_many(p);
    edit_theirs(p, 3);
    (void)mutate_theirs(p, "count-all", "{}");
    assert_int_equal(pull_edit(p, "elsewhere"), 2 + 1); /* it counts what was pulled, too */
    assert_int_equal(pull_edit(p, "n03"), PENDING / NOTES + 2);
    fixture_sync(p->f);
    fixture_expect_canonical(p->f, "n03", "121");
}

static void test_edits_of_both_run_once(void **state)
{
    pair *p = *state;
    edit_many(p);
    for (int i = 0; i < 10; i++) {
        edit_theirs(p, i);
        runs = 0;
        edit(p, i);
        assert_int_equal(runs, 2);
        edit_theirs(p, i + 1);
        assert_int_equal(pull_edit(p, "elsewhere"), 1);
    }
}

/* What an edit puts there that was there before is in no change set. */
static void test_an_edit_that_changes_nothing_runs_alone_too(void **state)
{
    pair *p = *state;
    edit_many(p);
    (void)mutate_theirs(p, "set", "{\"id\":\"n03\",\"value\":20}");
    (void)mutate_theirs(p, "remove", "{\"id\":\"absent\"}");
    assert_int_equal(pull_edit(p, "elsewhere"), 2);
    assert_int_equal(pull_edit(p, "n03"), PENDING / NOTES);
}

/* The turns before a pull make footprints, and may see an edit of theirs that this store has not
 * been told of. */
static void test_an_edit_after_the_turns_before_a_pull_runs_alone(void **state)
{
    pair *p = *state;
    edit_many(p);
    assert_int_equal(kedge_store_lock(p->ours, &p->f->error), KEDGE_OK);
    kedge_store_drop_footprints(p->ours);
    kedge_store_unlock(p->ours);
    edit_theirs(p, 3);
    runs = 0;
    kedge_store_retrace(p->ours, NULL);
    assert_int_equal(runs, PENDING + 1);
    edit_theirs(p, 4);
    assert_int_equal(pull_edit(p, "elsewhere"), 1);
}

static bool is_alone(void *context)
{
    (void)context;
    return false;
}

static void test_a_process_that_comes_and_goes_makes_its_edits_run_alone(void **state)
{
    pair *p = *state;
    close_theirs(p);
    p->ours->observer.company = is_alone;
    edit_many(p);
    for (int i = 0; i < 5; i++) {
        open_theirs(p);
        edit_theirs(p, i);
        close_theirs(p);
        assert_int_equal(pull_edit(p, "elsewhere"), 1);
        edit(p, i);
    }
}

/* ---- where all must run ---- */

static void test_after_more_commits_than_the_log_keeps_all_run_once(void **state)
{
    pair *p = *state;
    edit_many(p);
    for (int i = 0; i <= KEDGE_STORE_LOG_ROWS; i++)
        edit_theirs(p, i % NOTES);
    assert_int_equal(pull_edit(p, "elsewhere"), PENDING + KEDGE_STORE_LOG_ROWS + 1);
    edit_theirs(p, 1);
    assert_int_equal(pull_edit(p, "elsewhere"), 1);
}

static void test_after_their_cancel_all_run_once(void **state)
{
    pair *p = *state;
    edit_many(p);
    p->f->store = p->theirs;
    edit(p, 3);
    (void)cancel(p, PENDING);
    p->f->store = p->ours;
    assert_int_equal(pull_edit(p, "elsewhere"), PENDING); /* the cancelled one is another one */
    edit_theirs(p, 1);
    assert_int_equal(pull_edit(p, "elsewhere"), 1);
}

/* It stands in no log, and to run it on what it has written itself would show no difference. */
static void test_an_edit_that_was_not_told_makes_all_run(void **state)
{
    pair *p = *state;
    edit_many(p);
    p->theirs->observer.changed = NULL;
    int64_t sequence = mutate_theirs(p, "set", "{\"id\":\"n03\",\"value\":7}");
    assert_int_equal(pull_edit(p, "elsewhere"), PENDING + 1);
    assert_int_equal(cancel(p, sequence), 0);
    fixture_expect(p->f, "n03", "20");
}

static void test_a_commit_that_is_too_large_for_the_log_makes_all_run(void **state)
{
    pair *p = *state;
    static char args[KEDGE_STORE_LOG_BYTES + 64];
    edit_many(p);
    (void)snprintf(args, sizeof args, "{\"id\":\"n03\",\"value\":\"%0*d\"}", KEDGE_STORE_LOG_BYTES,
                   0);
    (void)mutate_theirs(p, "set", args);
    assert_int_equal(pull_edit(p, "elsewhere"), PENDING + 1);
}

/* What they have written is not what our mutators write. */
static void test_a_mutator_that_does_otherwise_here_makes_all_run(void **state)
{
    pair *p = *state;
    edit_many(p);
    edit_theirs(p, 3);
    naive_server_edit(p->f->server, "set", "{\"id\":\"elsewhere\",\"value\":1}");
    does_more = true;
    fixture_pull(p->f);
    fixture_expect(p->f, "more", "401");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_sync_runs_each_edit_of_another_process_once_whatever_is_pending),
        TEST(test_what_they_have_written_over_is_known),
        TEST(test_their_edits_run_again_when_they_read_something_new),
        TEST(test_edits_of_both_run_once),
        TEST(test_an_edit_that_changes_nothing_runs_alone_too),
        TEST(test_an_edit_after_the_turns_before_a_pull_runs_alone),
        TEST(test_a_process_that_comes_and_goes_makes_its_edits_run_alone),
        TEST(test_after_more_commits_than_the_log_keeps_all_run_once),
        TEST(test_after_their_cancel_all_run_once),
        TEST(test_an_edit_that_was_not_told_makes_all_run),
        TEST(test_a_commit_that_is_too_large_for_the_log_makes_all_run),
        TEST(test_a_mutator_that_does_otherwise_here_makes_all_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
