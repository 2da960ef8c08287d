/* A store of a log project: entries that are replayed, snapshots, outcomes that are decided here,
 * hashes, and mutators that are missing. */
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void begin(fixture *f)
{
    fixture_begin(f);
    f->server->log = true;
    fixture_open(f);
}

static void take_snapshot(fixture *f)
{
    f->server->snapshot = f->server->version;
}

/* The fixture's mutators with another one of the same name. */
static kedge_registry *registry_with(const char *name, kedge_mutator with)
{
    kedge_mutator mutators[16];
    kedge_registry *registry = NULL;
    assert_true(fixture_mutator_count < 16);
    for (size_t i = 0; i < fixture_mutator_count; i++) {
        mutators[i] = fixture_mutators[i];
        if (strcmp(mutators[i].name, name) == 0) mutators[i] = with;
    }
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, mutators, fixture_mutator_count,
                                        &registry, NULL),
                     KEDGE_OK);
    return registry;
}

/* The app is started again with these mutators. */
static void reopen_with(fixture *f, const kedge_registry *registry)
{
    fixture_close(f);
    f->options.registry = registry;
    fixture_open(f);
}

static kedge_mutator mutator_of(const char *name)
{
    size_t i = 0;
    while (strcmp(fixture_mutators[i].name, name) != 0)
        i++;
    return fixture_mutators[i];
}

static void expect_apply(fixture *f, kedge_apply_result expected)
{
    kedge_apply_result result;
    kedge_status status = fixture_try_pull(f, &result);
    if (status != KEDGE_OK) print_error("%s: %s\n", f->error.code, f->error.message);
    assert_int_equal(status, KEDGE_OK);
    assert_int_equal(result, expected);
}

static size_t inbox_count(fixture *f)
{
    return (size_t)fixture_position(f).rejected;
}

static void expect_outcome(fixture *f, int64_t sequence, kedge_outcome expected)
{
    assert_int_equal(fixture_outcome(f, sequence), expected);
}

/* The inbox has this edit alone. */
static void expect_rejected(fixture *f, int64_t sequence, const char *code, const char *message)
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    expect_outcome(f, sequence, KEDGE_OUTCOME_REJECTED);
    assert_int_equal(kedge_store_rejected_open(f->store, &list, &f->error), KEDGE_OK);
    assert_int_equal(kedge_store_list_next(list, &mutation, &f->error), KEDGE_OK);
    assert_int_equal(mutation.sequence, sequence);
    assert_string_equal(mutation.code, code);
    if (message) assert_string_equal(mutation.message, message);
    assert_int_equal(kedge_store_list_next(list, &mutation, &f->error), KEDGE_DONE);
    kedge_store_list_close(list);
}

/* ---- what a replay brings ---- */

static void test_a_pull_replays_entries_and_decides_its_own_mutations(void **state)
{
    fixture f;
    (void)state;
    begin(&f);
    int64_t applied = fixture_mutate(&f, "add", "{\"id\":\"n\",\"by\":5}");
    int64_t rejected = fixture_mutate(&f, "refuse-over", "{\"id\":\"n\",\"limit\":9}");
    int64_t pending;
    naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":7}");
    assert_int_equal(fixture_push(&f), NAIVE_OK);
    pending = fixture_mutate(&f, "add", "{\"id\":\"n\",\"by\":100}");
    fixture_pull(&f);
    fixture_expect_canonical(&f, "n", "12");
    fixture_expect(&f, "n", "112");
    fixture_check(&f);
    expect_outcome(&f, applied, KEDGE_OUTCOME_APPLIED);
    expect_outcome(&f, pending, KEDGE_OUTCOME_PENDING);
    expect_rejected(&f, rejected, "over-limit", "it is too many");
    assert_int_equal(inbox_count(&f), 1);
    fixture_end(&f);
}

static void test_a_rejection_that_the_server_decided_counts_whatever_this_app_can_run(void **state)
{
    fixture f;
    kedge_registry *smaller = NULL;
    (void)state;
    begin(&f);
    assert_int_equal(
        kedge_registry_new(&kedge_allocator_default, fixture_mutators, 1, &smaller, NULL),
        KEDGE_OK);
    f.server->registry = smaller;
    int64_t rejected = fixture_mutate(&f, "add", "{\"id\":\"n\",\"by\":5}");
    fixture_sync(&f);
    fixture_expect(&f, "n", NULL);
    expect_rejected(&f, rejected, "mutator-unknown", NULL);
    fixture_end(&f);
    kedge_registry_free(smaller);
}

static void test_entries_come_in_pieces_and_behind_a_snapshot(void **state)
{
    fixture f;
    char args[64];
    (void)state;
    begin(&f);
    f.server->entries_max = 2;
    for (int i = 0; i < 9; i++) {
        snprintf(args, sizeof args, "{\"id\":\"n%d\",\"by\":%d}", i % 4, i);
        naive_server_edit(f.server, "add", args);
        if (i == 5) take_snapshot(&f);
    }
    expect_apply(&f, KEDGE_APPLY_PAGES);
    kedge_apply_result result = KEDGE_APPLY_PAGES;
    while (result == KEDGE_APPLY_PAGES)
        assert_int_equal(fixture_try_page(&f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_DONE);
    assert_int_equal(fixture_position(&f).version, 6);
    fixture_check(&f);
    expect_apply(&f, KEDGE_APPLY_DONE);
    assert_int_equal(fixture_position(&f).version, 8);
    expect_apply(&f, KEDGE_APPLY_DONE);
    assert_int_equal(fixture_position(&f).version, 9);
    fixture_check(&f);
    expect_apply(&f, KEDGE_APPLY_DONE);
    fixture_end(&f);
}

/* A snapshot and the first entries have a lower lmid than a copy that lost its cache remembers. */
static void test_a_lost_cache_is_filled_from_an_older_snapshot_without_another_client(void **state)
{
    fixture f;
    char path[200];
    (void)state;
    begin(&f);
    fixture_mutate(&f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(&f);
    take_snapshot(&f);
    for (int i = 0; i < 5; i++) {
        fixture_mutate(&f, "add", "{\"id\":\"n\",\"by\":1}");
        fixture_sync(&f);
    }
    f.server->entries_max = 1;
    for (int snapshot = 1; snapshot >= 0; snapshot--) {
        kedge_store_position before = fixture_position(&f);
        if (snapshot == 0) f.server->snapshot = 0;
        fixture_close_flat(&f);
        snprintf(path, sizeof path, "%s/cache.db", f.path);
        FILE *file = fopen(path, "r+b");
        fputs("this is no database at all", file);
        fclose(file);
        fixture_open(&f);
        fixture_sync(&f);
        fixture_pull(&f);
        fixture_expect(&f, "n", "6");
        fixture_check(&f);
        assert_string_equal(fixture_position(&f).client, before.client);
    }
    fixture_end(&f);
}

/* ---- crashes ---- */

typedef struct crash {
    fixture *f;
    const char *phase;
    int copies;
} crash;

/* What a kill would leave at this moment. */
static void copy_folder(void *context, const char *phase)
{
    crash *at = context;
    char path[200];
    if (at->phase == NULL || strcmp(phase, at->phase) != 0) return;
    snprintf(path, sizeof path, "%s/copy", at->f->folder);
    fixture_copy_tree(at->f->path, path);
    at->copies++;
}

static void test_a_crash_between_the_steps_of_a_replay_loses_and_doubles_nothing(void **state)
{
    static const char *const phases[] = {"pull-before-inbox", "pull-before-cache",
                                         "pull-before-delete", "pull-done"};
    (void)state;
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        fixture f;
        char path[200];
        crash at = {.f = &f};
        fixture_begin(&f);
        f.server->log = true;
        f.options.phase = copy_folder;
        f.options.phase_context = &at;
        fixture_open(&f);
        fixture_mutate(&f, "add", "{\"id\":\"n\",\"by\":5}");
        int64_t rejected = fixture_mutate(&f, "refuse-over", "{\"id\":\"n\",\"limit\":9}");
        naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":7}");
        assert_int_equal(fixture_push(&f), NAIVE_OK);
        fixture_mutate(&f, "add", "{\"id\":\"n\",\"by\":100}");
        at.phase = phases[i];
        fixture_pull(&f);
        assert_int_equal(at.copies, 1);
        at.phase = NULL;
        fixture_close(&f);
        snprintf(path, sizeof path, "%s/copy", f.folder);
        fixture_remove_tree(f.path);
        memcpy(f.path, path, sizeof f.path);
        fixture_open(&f);
        fixture_check(&f);
        fixture_pull(&f);
        fixture_check(&f);
        fixture_expect(&f, "n", "112");
        assert_int_equal(inbox_count(&f), 1);
        expect_rejected(&f, rejected, "over-limit", "it is too many");
        fixture_end(&f);
    }
}

/* ---- renumbered mutations ---- */

/* A copy of the folder appends its edit, which is rejected. This folder has the same edit, and gets
 * another client id. With `early` it pulls the rejected one before it sends the duplicate. */
static void reject_under_the_origin(bool early)
{
    fixture f;
    char twin[160], own[160];
    begin(&f);
    fixture_pull(&f);
    int64_t sequence = fixture_mutate(&f, "refuse-over", "{\"id\":\"n\",\"limit\":9}");
    naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":50}");
    fixture_close(&f);
    memcpy(own, f.path, sizeof own);
    snprintf(twin, sizeof twin, "%.140s/twin", f.folder);
    fixture_copy_tree(own, twin);
    memcpy(f.path, twin, sizeof f.path);
    fixture_open(&f);
    fixture_mutate(&f, "add", "{\"id\":\"twin\",\"by\":1}");
    assert_int_equal(fixture_push(&f), NAIVE_OK);
    fixture_close(&f);
    memcpy(f.path, own, sizeof f.path);
    fixture_open(&f);
    int64_t other = fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    assert_int_equal(fixture_push(&f), NAIVE_MISMATCH);
    assert_int_equal(fixture_try_rotate(&f), KEDGE_OK);
    if (early) fixture_pull(&f);
    fixture_sync(&f);
    expect_rejected(&f, sequence, "over-limit", "it is too many");
    expect_outcome(&f, other, KEDGE_OUTCOME_APPLIED);
    assert_int_equal(inbox_count(&f), 1);
    fixture_expect(&f, "twin", "1");
    fixture_expect(&f, "own", "1");
    fixture_check(&f);
    fixture_end(&f);
}

static void test_a_rejection_under_the_old_client_is_that_of_the_edit_after_a_rotation(void **state)
{
    (void)state;
    reject_under_the_origin(false);
    reject_under_the_origin(true);
}

static void use_folder(fixture *f, const char *path)
{
    fixture_close(f);
    memcpy(f->path, path, sizeof f->path);
    fixture_open(f);
}

/* Both copies get another client id before either has sent the edit. So it is appended once under
 * its origin, and then as a duplicate. */
static void reject_under_another_origin(bool early)
{
    fixture f;
    char twin[160], own[160];
    begin(&f);
    fixture_pull(&f);
    int64_t sequence = fixture_mutate(&f, "refuse-over", "{\"id\":\"n\",\"limit\":9}");
    naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":50}");
    fixture_close(&f);
    memcpy(own, f.path, sizeof own);
    snprintf(twin, sizeof twin, "%.140s/twin", f.folder);
    fixture_copy_tree(own, twin);
    fixture_open(&f);
    assert_int_equal(fixture_try_rotate(&f), KEDGE_OK);
    use_folder(&f, twin);
    assert_int_equal(fixture_try_rotate(&f), KEDGE_OK);
    fixture_sync(&f);
    expect_rejected(&f, sequence, "over-limit", "it is too many");
    use_folder(&f, own);
    if (early) fixture_pull(&f);
    if (early) expect_outcome(&f, sequence, KEDGE_OUTCOME_PENDING);
    fixture_sync(&f);
    expect_rejected(&f, sequence, "over-limit", "it is too many");
    fixture_check(&f);
    fixture_end(&f);
}

static void test_a_rejection_under_the_origin_is_that_of_the_duplicate(void **state)
{
    (void)state;
    reject_under_another_origin(false);
    reject_under_another_origin(true);
}

/* The restored backend has the edit in its log, and this copy has not replayed it. */
static void test_a_rejection_in_a_restored_log_reaches_the_inbox(void **state)
{
    fixture f;
    (void)state;
    begin(&f);
    naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":5}");
    naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":5}");
    fixture_pull(&f);
    int64_t sequence = fixture_mutate(&f, "refuse-over", "{\"id\":\"n\",\"limit\":11}");
    int64_t applied = fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    naive_server_restore(f.server, 1);
    naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":50}");
    assert_int_equal(fixture_push(&f), NAIVE_OK);
    fixture_sync(&f);
    expect_rejected(&f, sequence, "over-limit", "it is too many");
    expect_outcome(&f, applied, KEDGE_OUTCOME_APPLIED);
    fixture_expect(&f, "own", "1");
    fixture_check(&f);
    fixture_end(&f);
}

/* ---- hashes ---- */

static int64_t skew;

/* A mutator that is not the same everywhere, as one that reads a clock would be. */
static kedge_status skewed_add(kedge_tx *tx, const char *args, size_t size, void *userdata,
                               kedge_error *error)
{
    char text[32];
    (void)args, (void)size, (void)userdata;
    int written = snprintf(text, sizeof text, "%lld", (long long)skew);
    return kedge_tx_put(tx, "notes", "skewed", 6, text, (size_t)written, error);
}

static void edit_and_snapshot(fixture *f)
{
    skew = 1;
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":1}");
    take_snapshot(f);
}

static void test_a_state_that_differs_from_the_servers_is_pulled_anew_once(void **state)
{
    fixture f;
    kedge_apply_result result;
    kedge_mutator skewed = {"add", 1, skewed_add, NULL};
    kedge_registry *registry = registry_with("add", skewed);
    (void)state;
    begin(&f);
    f.server->registry = registry;
    reopen_with(&f, registry);
    naive_server_edit(f.server, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_pull(&f);
    int64_t pending = fixture_mutate(&f, "set", "{\"id\":\"p\",\"value\":2}");

    edit_and_snapshot(&f); /* with the same result: no complaint */
    fixture_pull(&f);
    assert_int_equal(fixture_position(&f).version, 2);

    edit_and_snapshot(&f);
    skew = 2;
    expect_apply(&f, KEDGE_APPLY_DIVERGED);
    assert_true(fixture_position(&f).resyncing);
    assert_int_equal(fixture_position(&f).version, 0);
    fixture_expect(&f, "p", "2");
    fixture_pull(&f);
    assert_false(fixture_position(&f).resyncing);
    fixture_expect(&f, "skewed", "1");
    fixture_check(&f);
    expect_outcome(&f, pending, KEDGE_OUTCOME_PENDING);

    edit_and_snapshot(&f);
    skew = 3;
    assert_int_equal(fixture_try_pull(&f, &result), KEDGE_CONFLICT);
    assert_string_equal(f.error.code, "diverged");
    assert_int_equal(fixture_position(&f).version, 3);
    fixture_expect(&f, "skewed", "1");
    fixture_check(&f);

    skew = 1; /* the app was mended */
    fixture_pull(&f);
    assert_int_equal(fixture_position(&f).version, 4);
    edit_and_snapshot(&f);
    skew = 2; /* a hash that agreed ends the row */
    expect_apply(&f, KEDGE_APPLY_DIVERGED);
    fixture_end(&f);
    kedge_registry_free(registry);
}

/* What a replay decided on a state that turned out to be wrong is not kept. */
static void test_a_rejection_by_a_state_that_differs_does_not_reach_the_inbox(void **state)
{
    fixture f;
    kedge_mutator skewed = {"add", 1, skewed_add, NULL};
    kedge_registry *registry = registry_with("add", skewed);
    (void)state;
    begin(&f);
    f.server->registry = registry;
    reopen_with(&f, registry);
    int64_t sequence = fixture_mutate(&f, "refuse-over", "{\"id\":\"skewed\",\"limit\":5}");
    skew = 1;
    naive_server_edit(f.server, "add", "{}");
    assert_int_equal(fixture_push(&f), NAIVE_OK);
    take_snapshot(&f);
    fixture_pull(&f); /* by pages */
    expect_outcome(&f, sequence, KEDGE_OUTCOME_APPLIED);
    sequence = fixture_mutate(&f, "refuse-over", "{\"id\":\"skewed\",\"limit\":5}");
    naive_server_edit(f.server, "add", "{}");
    assert_int_equal(fixture_push(&f), NAIVE_OK);
    take_snapshot(&f);
    skew = 9;
    expect_apply(&f, KEDGE_APPLY_DIVERGED);
    assert_int_equal(inbox_count(&f), 0);
    fixture_sync(&f);
    expect_outcome(&f, sequence, KEDGE_OUTCOME_APPLIED);
    assert_int_equal(inbox_count(&f), 0);
    fixture_end(&f);
    kedge_registry_free(registry);
}

/* ---- mutators ---- */

static void test_a_missing_mutator_stops_the_version_and_nothing_else_until_the_update(void **state)
{
    fixture f;
    kedge_apply_result result;
    kedge_mutator newer = mutator_of("add");
    newer.version = 2;
    kedge_registry *registry = registry_with("add", newer);
    (void)state;
    begin(&f);
    naive_server_edit(f.server, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_pull(&f);

    /* Another copy, of the next version of the app. */
    fixture other;
    fixture_begin(&other);
    naive_server *own = other.server;
    other.server = f.server;
    other.options.registry = registry;
    other.seed = 77;
    fixture_open(&other);
    fixture_mutate(&other, "add", "{\"id\":\"n\",\"by\":5}");
    fixture_sync(&other);
    other.server = own;
    fixture_end(&other);

    int64_t pending = fixture_mutate(&f, "set", "{\"id\":\"p\",\"value\":2}");
    kedge_store_position before = fixture_position(&f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fixture_try_pull(&f, &result), KEDGE_UNSUPPORTED);
        assert_string_equal(f.error.code, "update-required");
        assert_non_null(strstr(f.error.message, "\"add\" of version 2"));
    }
    assert_int_equal(fixture_position(&f).version, before.version);
    fixture_expect(&f, "a", "1");
    fixture_expect(&f, "p", "2");
    assert_int_equal(fixture_push(&f), NAIVE_OK);
    expect_outcome(&f, pending, KEDGE_OUTCOME_PENDING);
    assert_int_equal(naive_server_lmid(f.server, before.client, INT64_MAX), 1);

    reopen_with(&f, registry);
    fixture_sync(&f);
    fixture_expect(&f, "n", "5");
    expect_outcome(&f, pending, KEDGE_OUTCOME_APPLIED);
    fixture_check(&f);
    fixture_end(&f);
    kedge_registry_free(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pull_replays_entries_and_decides_its_own_mutations),
        cmocka_unit_test(test_a_rejection_that_the_server_decided_counts_whatever_this_app_can_run),
        cmocka_unit_test(test_entries_come_in_pieces_and_behind_a_snapshot),
        cmocka_unit_test(test_a_lost_cache_is_filled_from_an_older_snapshot_without_another_client),
        cmocka_unit_test(test_a_crash_between_the_steps_of_a_replay_loses_and_doubles_nothing),
        cmocka_unit_test(
            test_a_rejection_under_the_old_client_is_that_of_the_edit_after_a_rotation),
        cmocka_unit_test(test_a_rejection_under_the_origin_is_that_of_the_duplicate),
        cmocka_unit_test(test_a_rejection_in_a_restored_log_reaches_the_inbox),
        cmocka_unit_test(test_a_state_that_differs_from_the_servers_is_pulled_anew_once),
        cmocka_unit_test(test_a_rejection_by_a_state_that_differs_does_not_reach_the_inbox),
        cmocka_unit_test(
            test_a_missing_mutator_stops_the_version_and_nothing_else_until_the_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
