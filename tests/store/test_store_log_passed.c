/* A store of a log project whose edits were decided by entries that its cache has passed: after an
 * older outbox, a rotation, a restored backend or a lost cache. Whatever id an edit was appended
 * under, its rejection reaches the inbox once, under its sequence. */
#include "sdk/store/store_internal.h"
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

/* With a snapshot of the newest entry, or of none. */
static void set_snapshot(fixture *f, bool there)
{
    f->server->snapshot = there ? f->server->version : 0;
}

/* Over the limit as soon as somebody has made "n" larger than 9. */
static int64_t make_rejected(fixture *f)
{
    return fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":9}");
}

static void make_large(fixture *f)
{
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":50}");
}

/* The inbox has this edit alone. */
static void expect_rejected(fixture *f, int64_t sequence)
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(kedge_store_rejected_open(f->store, &list, &f->error), KEDGE_OK);
    assert_int_equal(kedge_store_list_next(list, &mutation, &f->error), KEDGE_OK);
    assert_int_equal(mutation.sequence, sequence);
    assert_string_equal(mutation.code, "over-limit");
    assert_string_equal(mutation.message, "it is too many");
    assert_int_equal(kedge_store_list_next(list, &mutation, &f->error), KEDGE_DONE);
    kedge_store_list_close(list);
}

static void expect_applied(fixture *f, int64_t sequence)
{
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_APPLIED);
}

static void keep_outbox(fixture *f, bool back)
{
    char kept[200], path[200];
    fixture_close_flat(f);
    snprintf(path, sizeof path, "%s/outbox.db", f->path);
    snprintf(kept, sizeof kept, "%s/outbox.kept", f->folder);
    fixture_copy_file(back ? kept : path, back ? path : kept);
    fixture_open(f);
}

static void lose_cache(fixture *f)
{
    char path[200];
    fixture_close_flat(f);
    snprintf(path, sizeof path, "%s/cache.db", f->path);
    FILE *file = fopen(path, "r+b");
    fputs("this is no database at all", file);
    fclose(file);
    fixture_open(f);
}

/* ---- an older outbox ---- */

/* The edits are pending again, and the cache has passed the entries that decided them. */
static void put_older_outbox_back(bool snapshot)
{
    fixture f;
    begin(&f);
    fixture_pull(&f);
    int64_t applied = fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    int64_t rejected = make_rejected(&f);
    make_large(&f);
    keep_outbox(&f, false);
    fixture_sync(&f);
    expect_rejected(&f, rejected);
    set_snapshot(&f, snapshot);
    keep_outbox(&f, true);
    fixture_sync(&f);
    expect_rejected(&f, rejected);
    expect_applied(&f, applied);
    fixture_expect(&f, "own", "1");
    fixture_check(&f);
    int64_t next = fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    fixture_sync(&f);
    expect_applied(&f, next);
    fixture_expect(&f, "own", "2");
    fixture_end(&f);
}

static void test_what_an_older_outbox_has_pending_is_decided_as_it_was(void **state)
{
    (void)state;
    put_older_outbox_back(false);
    put_older_outbox_back(true);
}

/* The same, and the outbox is of an earlier client id: its edits are sent again as duplicates. */
static void put_earlier_client_back(bool snapshot)
{
    fixture f;
    begin(&f);
    fixture_pull(&f);
    int64_t applied = fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    int64_t rejected = make_rejected(&f);
    make_large(&f);
    keep_outbox(&f, false);
    fixture_sync(&f);
    assert_int_equal(fixture_try_rotate(&f), KEDGE_OK);
    fixture_sync(&f);
    set_snapshot(&f, snapshot);
    keep_outbox(&f, true);
    fixture_sync(&f);
    expect_rejected(&f, rejected);
    expect_applied(&f, applied);
    fixture_expect(&f, "own", "1");
    fixture_check(&f);
    fixture_end(&f);
}

static void test_what_an_outbox_of_an_earlier_client_has_pending_is_decided_as_it_was(void **state)
{
    (void)state;
    put_earlier_client_back(false);
    put_earlier_client_back(true);
}

/* An older outbox with nothing pending gives out an id that was decided in front of the cache. */
static void test_an_id_that_is_given_out_again_leads_to_another_client(void **state)
{
    fixture f;
    (void)state;
    begin(&f);
    fixture_pull(&f);
    fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    fixture_sync(&f);
    keep_outbox(&f, false);
    fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":10}");
    fixture_sync(&f);
    keep_outbox(&f, true);
    kedge_store_position before = fixture_position(&f);
    int64_t again = fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":100}");
    fixture_pull(&f);
    fixture_sync(&f);
    assert_string_not_equal(fixture_position(&f).client, before.client);
    expect_applied(&f, again);
    fixture_expect(&f, "own", "111");
    fixture_check(&f);
    fixture_end(&f);
}

/* The mark that it may have been passed goes with the first cache that is filled anew. */
static void test_the_cache_is_filled_anew_once(void **state)
{
    fixture f;
    int asides = 0;
    (void)state;
    begin(&f);
    fixture_pull(&f);
    int64_t rejected = make_rejected(&f);
    make_large(&f);
    keep_outbox(&f, false);
    fixture_sync(&f);
    keep_outbox(&f, true);
    for (int i = 0; i < 6; i++) {
        kedge_apply_result result;
        int64_t before = fixture_position(&f).version;
        naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":1}");
        assert_int_equal(fixture_try_pull(&f, &result), KEDGE_OK);
        if (before > 0 && fixture_position(&f).version == 0) asides++;
    }
    assert_int_equal(asides, 1);
    expect_rejected(&f, rejected);
    fixture_check(&f);
    fixture_end(&f);
}

/* The fixture's mutators with "add" in its next version. */
static kedge_registry *newer_registry(void)
{
    kedge_mutator mutators[16];
    kedge_registry *registry = NULL;
    assert_true(fixture_mutator_count < 16);
    for (size_t i = 0; i < fixture_mutator_count; i++) {
        mutators[i] = fixture_mutators[i];
        if (strcmp(mutators[i].name, "add") == 0) mutators[i].version = 2;
    }
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, mutators, fixture_mutator_count,
                                        &registry, NULL),
                     KEDGE_OK);
    return registry;
}

static void edit_by_a_newer_app(fixture *f, const kedge_registry *registry)
{
    fixture other;
    fixture_begin(&other);
    naive_server *own = other.server;
    other.server = f->server;
    other.options.registry = registry;
    other.seed = 77;
    fixture_open(&other);
    fixture_mutate(&other, "add", "{\"id\":\"newer\",\"by\":5}");
    fixture_sync(&other);
    other.server = own;
    fixture_end(&other);
}

/* An app that cannot replay what follows would have nothing to show. */
static void test_an_app_that_needs_an_update_keeps_its_cache(void **state)
{
    fixture f;
    kedge_apply_result result;
    kedge_registry *registry = newer_registry();
    (void)state;
    begin(&f);
    fixture_pull(&f);
    int64_t rejected = make_rejected(&f);
    make_large(&f);
    keep_outbox(&f, false);
    fixture_sync(&f);
    keep_outbox(&f, true);
    edit_by_a_newer_app(&f, registry);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fixture_try_pull(&f, &result), KEDGE_UNSUPPORTED);
        assert_string_equal(f.error.code, "update-required");
        assert_false(fixture_position(&f).resyncing);
        fixture_expect(&f, "n", "50");
    }
    fixture_close(&f);
    f.options.registry = registry;
    fixture_open(&f);
    fixture_sync(&f);
    expect_rejected(&f, rejected);
    fixture_expect(&f, "newer", "5");
    fixture_check(&f);
    fixture_end(&f);
    kedge_registry_free(registry);
}

/* ---- rotations ---- */

/* It was appended and not pulled yet when the folder got another client id, and lost its cache. */
static void test_a_rejection_that_a_snapshot_has_is_told_after_a_rotation(void **state)
{
    fixture f;
    (void)state;
    begin(&f);
    fixture_pull(&f);
    int64_t applied = fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    int64_t rejected = make_rejected(&f);
    make_large(&f);
    assert_int_equal(fixture_push(&f), NAIVE_OK);
    assert_int_equal(fixture_try_rotate(&f), KEDGE_OK);
    set_snapshot(&f, true);
    lose_cache(&f);
    fixture_sync(&f);
    expect_rejected(&f, rejected);
    expect_applied(&f, applied);
    fixture_expect(&f, "own", "1");
    fixture_check(&f);
    fixture_end(&f);
}

/* The rejection is known and not shown yet, since the edit is not covered, when the folder gets
 * another client id once more. */
static void test_a_rejection_that_waits_survives_a_second_rotation(void **state)
{
    fixture f;
    (void)state;
    begin(&f);
    fixture_pull(&f);
    int64_t rejected = make_rejected(&f);
    make_large(&f);
    assert_int_equal(fixture_push(&f), NAIVE_OK);
    assert_int_equal(fixture_try_rotate(&f), KEDGE_OK);
    fixture_pull(&f);
    assert_int_equal(fixture_outcome(&f, rejected), KEDGE_OUTCOME_PENDING);
    assert_int_equal(fixture_try_rotate(&f), KEDGE_OK);
    fixture_sync(&f);
    expect_rejected(&f, rejected);
    fixture_check(&f);
    fixture_end(&f);
}

/* ---- a cache that lies ---- */

/* A sound row of another time, as an old page of the file would bring it. */
static void set_in_cache(fixture *f, const char *value)
{
    char sql[400];
    (void)snprintf(sql, sizeof sql,
                   "UPDATE item SET value = '%s' WHERE id = 'n';"
                   "UPDATE item SET checksum = {item#} WHERE id = 'n'",
                   value);
    assert_int_equal(kedge_store_db_execute(&f->store->cache, sql, NULL), KEDGE_OK);
    fixture_expect(f, "n", value);
}

/* The edit was taken for applied, and is in the tail. */
static void apply_by_a_lying_cache(bool snapshot)
{
    fixture f;
    begin(&f);
    make_large(&f);
    fixture_pull(&f);
    set_in_cache(&f, "1");
    int64_t edit = make_rejected(&f);
    fixture_sync(&f);
    expect_applied(&f, edit);
    set_snapshot(&f, snapshot);
    lose_cache(&f);
    fixture_sync(&f);
    expect_rejected(&f, edit);
    fixture_check(&f);
    set_snapshot(&f, snapshot);
    lose_cache(&f);
    fixture_sync(&f);
    expect_rejected(&f, edit);
    fixture_check(&f);
    fixture_end(&f);
}

static void test_an_edit_that_a_lying_cache_applied_reaches_the_inbox(void **state)
{
    (void)state;
    apply_by_a_lying_cache(false);
    apply_by_a_lying_cache(true);
}

/* The edit was taken for rejected, and the app has not answered yet. */
static void reject_by_a_lying_cache(bool snapshot)
{
    fixture f;
    begin(&f);
    naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_pull(&f);
    int64_t edit = make_rejected(&f);
    set_in_cache(&f, "50");
    fixture_sync(&f);
    expect_rejected(&f, edit);
    set_snapshot(&f, snapshot);
    lose_cache(&f);
    fixture_sync(&f);
    expect_applied(&f, edit);
    assert_int_equal(fixture_position(&f).rejected, 0);
    fixture_check(&f);
    naive_server_restore(f.server, 1); /* which the tail makes good */
    fixture_sync(&f);
    expect_applied(&f, edit);
    fixture_check(&f);
    fixture_end(&f);
}

static void test_a_rejection_by_a_lying_cache_leaves_the_inbox(void **state)
{
    (void)state;
    reject_by_a_lying_cache(false);
    reject_by_a_lying_cache(true);
}

/* ---- a restored backend ---- */

/* What was applied in the lineage that is lost comes to the restored backend once more, after an
 * edit that makes it fail. The tail has it, and the state of the other lineage has passed it. */
static void reject_what_was_applied(bool snapshot)
{
    fixture f;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    uint32_t count;
    int64_t last;
    begin(&f);
    naive_server_edit(f.server, "add", "{\"id\":\"n\",\"by\":5}");
    fixture_pull(&f);
    int64_t rejected = make_rejected(&f);
    int64_t applied = fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    assert_int_equal(fixture_push_body(f.store, 100, 1 << 20, &body, &count, &last, &f.error),
                     KEDGE_OK);
    fixture_sync(&f);
    expect_applied(&f, rejected);
    naive_server_restore(f.server, 1);
    make_large(&f);
    assert_int_equal(naive_server_push(f.server, kedge_buffer_bytes(&body)), NAIVE_OK);
    set_snapshot(&f, snapshot);
    fixture_pull(&f);
    fixture_sync(&f);
    expect_rejected(&f, rejected);
    expect_applied(&f, applied);
    fixture_expect(&f, "own", "1");
    fixture_check(&f);
    fixture_end(&f);
    kedge_buffer_free(&body);
}

static void test_a_restored_log_rejects_what_the_lost_one_applied(void **state)
{
    (void)state;
    reject_what_was_applied(false);
    reject_what_was_applied(true);
}

/* ---- a lost cache ---- */

/* The entries after an older snapshot tell again of edits that the inbox has, or had. */
static void test_an_edit_in_the_inbox_stays_rejected_when_its_entry_comes_again(void **state)
{
    fixture f;
    (void)state;
    begin(&f);
    fixture_pull(&f);
    make_large(&f);
    set_snapshot(&f, true);
    fixture_mutate(&f, "add", "{\"id\":\"own\",\"by\":1}");
    int64_t answered = make_rejected(&f);
    int64_t rejected = make_rejected(&f);
    fixture_sync(&f);
    assert_int_equal(fixture_position(&f).rejected, 2);
    assert_int_equal(kedge_store_dismiss(f.store, answered, &f.error), KEDGE_OK);
    for (int time = 0; time < 2; time++) {
        lose_cache(&f);
        fixture_sync(&f);
        fixture_pull(&f);
        expect_rejected(&f, rejected);
        fixture_expect(&f, "own", "1");
        fixture_check(&f);
        f.server->snapshot = 0;
    }
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_edit_that_a_lying_cache_applied_reaches_the_inbox),
        cmocka_unit_test(test_a_rejection_by_a_lying_cache_leaves_the_inbox),
        cmocka_unit_test(test_what_an_older_outbox_has_pending_is_decided_as_it_was),
        cmocka_unit_test(test_what_an_outbox_of_an_earlier_client_has_pending_is_decided_as_it_was),
        cmocka_unit_test(test_an_id_that_is_given_out_again_leads_to_another_client),
        cmocka_unit_test(test_the_cache_is_filled_anew_once),
        cmocka_unit_test(test_an_app_that_needs_an_update_keeps_its_cache),
        cmocka_unit_test(test_a_rejection_that_a_snapshot_has_is_told_after_a_rotation),
        cmocka_unit_test(test_a_rejection_that_waits_survives_a_second_rotation),
        cmocka_unit_test(test_a_restored_log_rejects_what_the_lost_one_applied),
        cmocka_unit_test(test_an_edit_in_the_inbox_stays_rejected_when_its_entry_comes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
