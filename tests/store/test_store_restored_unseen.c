/* A backend that was restored, and answers a retire before a pull has told the client so: what it
 * says it has applied is not in the state that the client has. */
#include "sdk/store/store_internal.h"
#include "tests/store/outbox_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The push of all that is pending, for naive_server_push. */
static kedge_buffer push_body(fixture *f)
{
    uint32_t count;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status = fixture_push_body(f->store, 100, 1 << 20, &body, &count, NULL, &f->error);
    assert_int_equal(status, KEDGE_OK);
    return body;
}

static void others_edit(fixture *f, int times)
{
    for (int i = 0; i < times; i++)
        naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":1}");
}

static void
test_an_edit_that_was_applied_below_the_version_of_the_cache_is_not_covered(void **state)
{
    fixture *f = *state;
    outbox_make_edit(f, 1);
    fixture_sync(f);
    int64_t kept = f->server->version;
    others_edit(f, 5);
    fixture_pull(f);
    outbox_make_edit(f, 2);
    kedge_buffer body = push_body(f);
    naive_server_restore(f->server, kept);
    assert_int_equal(naive_server_push(f->server, kedge_buffer_bytes(&body)), NAIVE_OK);
    kedge_buffer_free(&body);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    assert_int_equal(fixture_position(f).pending, 1);
    assert_int_equal(fixture_outcome(f, 2), KEDGE_OUTCOME_PENDING);
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, 2), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(outbox_applied(f, 1), 1);
    assert_int_equal(outbox_applied(f, 2), 1);
    fixture_check(f);
}

/* A twin has taken the id on the backend as it was restored first; on the second one it is ours. */
static void test_an_answer_older_than_the_staged_state_settles_nothing(void **state)
{
    fixture *f = *state;
    kedge_apply_result result;
    char own[160], twin[160];
    snprintf(own, sizeof own, "%s", f->path);
    snprintf(twin, sizeof twin, "%s/twin", f->folder);
    fixture_close_flat(f);
    fixture_copy_tree(own, twin);
    snprintf(f->path, sizeof f->path, "%s", twin);
    fixture_open(f);
    (void)outbox_make_edit_anew(f, 9);
    kedge_buffer theirs = push_body(f);
    fixture_close(f);
    snprintf(f->path, sizeof f->path, "%s", own);
    fixture_open(f);
    outbox_make_edit(f, 1);
    kedge_buffer ours = push_body(f);
    fixture_sync(f);
    naive_server_restore(f->server, 0);
    assert_int_equal(naive_server_push(f->server, kedge_buffer_bytes(&theirs)), NAIVE_OK);
    others_edit(f, 5);
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    naive_server_restore(f->server, 0);
    assert_int_equal(naive_server_push(f->server, kedge_buffer_bytes(&ours)), NAIVE_OK);
    assert_int_equal(fixture_try_rotate_lost(f), KEDGE_OK);
    assert_int_equal(outbox_applied(f, 1), 0);
    assert_int_equal(fixture_position(f).pending, 1);
    fixture_sync(f);
    assert_int_equal(outbox_applied(f, 1), 1);
    fixture_check(f);
    kedge_buffer_free(&theirs);
    kedge_buffer_free(&ours);
}

/* An older outbox waits for a version of a lineage that is lost; the cache has the edit, in another
 * one, as of another client. */
static void test_an_older_outbox_predicts_nothing_that_waits_for_another_lineage(void **state)
{
    fixture *f = *state;
    char older[160], from[200], to[200];
    snprintf(older, sizeof older, "%s/older", f->folder);
    outbox_make_edit(f, 1);
    fixture_sync(f);
    int64_t kept = f->server->version;
    outbox_make_edit(f, 2);
    others_edit(f, 5);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, older);
    fixture_open(f);
    fixture_pull(f);
    naive_server_restore(f->server, kept);
    others_edit(f, 1);
    fixture_sync(f);
    fixture_expect(f, "e2", "1");
    fixture_close_flat(f);
    snprintf(from, sizeof from, "%s/outbox.db", older);
    snprintf(to, sizeof to, "%s/outbox.db", f->path);
    assert_int_equal(unlink(to), 0);
    fixture_copy_file(from, to);
    fixture_open(f);
    fixture_expect(f, "e2", "1");
    f->server->reads_seen = true;
    fixture_sync(f);
    fixture_expect(f, "e2", "1");
    fixture_check(f);
}

/* ---- a rejection that a pull has noted which did not come to its end ---- */

static void break_off(void *context, const char *phase)
{
    const fixture *f = context;
    char from[200], to[200];
    if (strcmp(phase, "pull-before-cache") != 0) return;
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s/outbox.db%s", f->path, i == 0 ? "" : "-wal");
        snprintf(to, sizeof to, "%s/kept%s", f->folder, i == 0 ? "" : "-wal");
        fixture_copy_file(from, to);
    }
}

/* The files are those that a process leaves which is killed at that point of a pull. */
static void pull_halfway(fixture *f)
{
    char from[200], to[200], before[160];
    snprintf(before, sizeof before, "%s/before", f->folder);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, before);
    f->options.phase = break_off;
    f->options.phase_context = f;
    fixture_open(f);
    fixture_pull(f);
    fixture_close(f);
    f->options.phase = NULL;
    outbox_restore_folder(f, before);
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s/kept%s", f->folder, i == 0 ? "" : "-wal");
        snprintf(to, sizeof to, "%s/outbox.db%s", f->path, i == 0 ? "" : "-wal");
        fixture_copy_file(from, to);
    }
    fixture_open(f);
}

/* Half a pull has noted that the edit is rejected; the server forgets that and applies it. */
static void reject_then_restore(fixture *f)
{
    others_edit(f, 1);
    fixture_pull(f);
    int64_t kept = f->server->version;
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":9}");
    assert_int_equal(fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}"), 1);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    pull_halfway(f);
    assert_int_equal(fixture_position(f).rejected, 0);
    assert_int_equal(fixture_position(f).pending, 1);
    naive_server_restore(f->server, kept);
}

static void expect_applied(fixture *f)
{
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, 1), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(fixture_position(f).rejected, 0);
    fixture_check(f);
    fixture_reopen(f);
    assert_int_equal(fixture_outcome(f, 1), KEDGE_OUTCOME_APPLIED);
    /* It stands in the tail, from where it is sent again. */
    naive_server_restore(f->server, 0);
    fixture_sync(f);
    fixture_expect(f, "touched", "true");
}

static void test_a_noted_rejection_gives_way_to_what_a_restored_backend_decides(void **state)
{
    reject_then_restore(*state);
    expect_applied(*state);
}

static void test_a_noted_rejection_gives_way_in_a_rotation_too(void **state)
{
    reject_then_restore(*state);
    assert_int_equal(fixture_push(*state), NAIVE_OK);
    assert_int_equal(fixture_try_rotate(*state), KEDGE_OK);
    expect_applied(*state);
}

static void test_a_noted_rejection_is_kept_as_it_was_decided_last(void **state)
{
    fixture *f = *state;
    int64_t version = 0;
    reject_then_restore(f);
    others_edit(f, 8);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(
        kedge_store_db_number(&f->store->outbox, "SELECT version FROM rejected", &version, NULL),
        KEDGE_OK);
    assert_int_equal(version, f->server->version);
    fixture_check(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_edit_that_was_applied_below_the_version_of_the_cache_is_not_covered),
        TEST(test_an_answer_older_than_the_staged_state_settles_nothing),
        TEST(test_an_older_outbox_predicts_nothing_that_waits_for_another_lineage),
        TEST(test_a_noted_rejection_gives_way_to_what_a_restored_backend_decides),
        TEST(test_a_noted_rejection_gives_way_in_a_rotation_too),
        TEST(test_a_noted_rejection_is_kept_as_it_was_decided_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
