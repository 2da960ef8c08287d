/* How many pending mutations a pull runs, over a real store: those that read something new, all of
 * them once after the footprints were lost, and all of them where memory does not suffice. */
#include "sdk/store/prediction.h"
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PENDING 20

static size_t runs;
static kedge_store *looked_at; /* in each run; NULL: not */
static size_t agreed;          /* runs in which readers saw two files that agree */

/* As any reader does; it is not in the turn of the run. */
static void look(kedge_store *store)
{
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_store_reader *reader;
    assert_int_equal(kedge_reader_take(store, &reader, NULL), KEDGE_OK);
    assert_int_equal(kedge_reader_begin(store, reader, NULL), KEDGE_OK);
    assert_int_equal(kedge_outbox_meta_read(&reader->outbox, &outbox, NULL), KEDGE_OK);
    assert_int_equal(kedge_cache_meta_read(&reader->cache, &cache, NULL), KEDGE_OK);
    if (kedge_prediction_fits(&outbox, &cache)) agreed++;
    kedge_reader_end(reader);
    kedge_reader_give(store, reader);
}

/* One of the fixture's mutators, counted. */
static kedge_status counted(kedge_tx *tx, const char *args, size_t size, void *userdata,
                            kedge_error *error)
{
    const kedge_mutator *mutator = userdata;
    runs++;
    if (looked_at) look(looked_at);
    return mutator->function(tx, args, size, mutator->userdata, error);
}

static int set_up(void **state)
{
    return fixture_set_up_watched(state, counted);
}

static void edit(fixture *f, int note)
{
    char args[64];
    (void)snprintf(args, sizeof args, "{\"id\":\"n%02d\",\"by\":1}", note);
    fixture_mutate(f, "add", args);
}

/* Two edits each of ten items. */
static void edit_all(fixture *f)
{
    for (int i = 0; i < PENDING; i++)
        edit(f, i % (PENDING / 2));
}

/* How many mutations the pull of somebody's edit of this item runs. */
static size_t pull_edit(fixture *f, const char *id)
{
    char args[64];
    (void)snprintf(args, sizeof args, "{\"id\":\"%s\",\"by\":100}", id);
    naive_server_edit(f->server, "add", args);
    runs = 0;
    fixture_pull(f);
    size_t ran = runs;
    fixture_check(f);
    return ran;
}

static void test_a_pull_runs_the_mutations_that_read_something_new(void **state)
{
    fixture *f = *state;
    edit_all(f);
    assert_int_equal(pull_edit(f, "elsewhere"), 0);
    assert_int_equal(pull_edit(f, "n03"), 2);
    assert_int_equal(pull_edit(f, "elsewhere"), 0);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    runs = 0;
    fixture_pull(f);
    assert_int_equal(runs, 0);
    assert_int_equal(fixture_position(f).pending, 0);
    fixture_check(f);
}

/* Otherwise who asks for the status waits until the pull has ended. */
static void
test_readers_see_files_that_agree_while_a_pull_with_a_rejection_runs_mutations(void **state)
{
    fixture *f = *state;
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":9}");
    fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    agreed = runs = 0;
    looked_at = f->store;
    fixture_pull(f);
    looked_at = NULL;
    assert_int_equal(runs, 1);
    assert_int_equal(agreed, 1);
    assert_int_equal(fixture_position(f).rejected, 1);
    fixture_expect(f, "n", "10");
    fixture_check(f);
}

static void test_after_opening_all_run_once(void **state)
{
    fixture *f = *state;
    edit_all(f);
    fixture_reopen(f);
    runs = 0;
    fixture_check(f);
    assert_int_equal(runs, 0);
    assert_int_equal(pull_edit(f, "elsewhere"), PENDING);
    assert_int_equal(pull_edit(f, "elsewhere"), 0);
    assert_int_equal(pull_edit(f, "n03"), 2);
    edit(f, 3);
    assert_int_equal(pull_edit(f, "n03"), 3);
}

static void test_after_an_edit_of_another_process_all_run_once(void **state)
{
    fixture *f = *state;
    kedge_store *ours = f->store;
    edit_all(f);
    assert_int_equal(fixture_try_open(f, f->path, &f->store), KEDGE_OK);
    edit(f, 3);
    kedge_store_close(f->store);
    f->store = ours;
    assert_int_equal(pull_edit(f, "n03"), PENDING + 1 + 3); /* and those again that read n03 */
    assert_int_equal(pull_edit(f, "n03"), 3);
}

/* How many mutations the cancel runs. */
static size_t cancel(fixture *f, int64_t sequence)
{
    runs = 0;
    assert_int_equal(kedge_store_cancel(f->store, sequence, &f->changes, &f->error), KEDGE_OK);
    size_t ran = runs;
    fixture_check(f);
    return ran;
}

static void test_a_cancel_runs_the_mutations_that_read_what_the_edit_wrote(void **state)
{
    fixture *f = *state;
    edit_all(f);
    assert_int_equal(cancel(f, 4), 1); /* the second one of n03 */
    fixture_expect(f, "n03", "1");
    assert_int_equal(cancel(f, 14), 0);
    fixture_expect(f, "n03", NULL);
    assert_int_equal(pull_edit(f, "n03"), 0);
    assert_int_equal(pull_edit(f, "n04"), 2);
    fixture_reopen(f);
    assert_int_equal(cancel(f, 1), PENDING - 3); /* without footprints: all that are left */
    assert_int_equal(cancel(f, 11), 0);
    fixture_expect(f, "n00", NULL);
    fixture_sync(f);
    fixture_expect_canonical(f, "n00", NULL);
    fixture_expect_canonical(f, "n01", "2");
}

static void test_a_cancel_that_brings_back_a_value_that_is_not_kept_runs_all(void **state)
{
    fixture *f = *state;
    char args[256];
    f->store->footprints.value_bytes_max = 10;
    edit_all(f);
    (void)snprintf(args, sizeof args, "{\"id\":\"n03\",\"value\":\"%0100d\"}", 0);
    fixture_mutate(f, "set", args);
    fixture_mutate(f, "set", "{\"id\":\"n03\",\"value\":7}");
    assert_int_equal(cancel(f, PENDING + 2), PENDING + 1);
    (void)snprintf(args, sizeof args, "\"%0100d\"", 0);
    fixture_expect(f, "n03", args);
}

static void test_after_a_cancelled_edit_the_others_run_when_they_must(void **state)
{
    fixture *f = *state;
    edit_all(f);
    assert_int_equal(cancel(f, fixture_position(f).last_sequence), 0);
    /* The last one of n09 is no more. */
    assert_int_equal(pull_edit(f, "n09"), 1);
    assert_int_equal(pull_edit(f, "n03"), 2);
}

static void test_where_memory_does_not_suffice_all_run_at_each_pull(void **state)
{
    fixture *f = *state;
    f->store->footprints.bytes_max = 4000;
    edit_all(f);
    edit_all(f);
    assert_true(f->store->footprints.bytes <= 4000);
    assert_int_equal(pull_edit(f, "elsewhere"), 2 * PENDING);
    assert_int_equal(pull_edit(f, "elsewhere"), 2 * PENDING);
    assert_true(f->store->footprints.bytes <= 4000);
    /* With fewer edits pending there is enough again. */
    fixture_sync(f);
    edit(f, 1);
    edit(f, 2);
    assert_int_equal(pull_edit(f, "n02"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_pull_runs_the_mutations_that_read_something_new),
        TEST(test_readers_see_files_that_agree_while_a_pull_with_a_rejection_runs_mutations),
        TEST(test_after_opening_all_run_once),
        TEST(test_after_an_edit_of_another_process_all_run_once),
        TEST(test_a_cancel_runs_the_mutations_that_read_what_the_edit_wrote),
        TEST(test_a_cancel_that_brings_back_a_value_that_is_not_kept_runs_all),
        TEST(test_after_a_cancelled_edit_the_others_run_when_they_must),
        TEST(test_where_memory_does_not_suffice_all_run_at_each_pull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
