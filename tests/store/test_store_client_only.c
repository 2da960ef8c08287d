/* Client-only edits in the store: after conflicts they are made again, once, whatever crashes, and
 * not for ever. */
#include "sdk/store/store_internal.h"
#include "tests/store/own_scenario.h"
#include "tests/support/fault_vfs.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t count_rows(kedge_store *store, const char *sql)
{
    int64_t count = 0;
    assert_int_equal(kedge_store_db_number(&store->outbox, sql, &count, NULL), KEDGE_OK);
    kedge_store_db_rollback(&store->outbox);
    return count;
}

/* ---- conflicts ---- */

static void test_an_edit_that_conflicts_keeps_its_sequence_and_is_applied_once(void **state)
{
    fixture *f = own_fixture_of(state);
    char says[128] = "";
    int64_t first = fixture_mutate(f, "own-add", ADD(1));
    int64_t second = fixture_mutate(f, "own-add", ADD(20));
    own_push_after_other(f, ADD(300));
    fixture_mutate(f, "add", ADD(4000)); /* made before the conflict is known */
    fixture_pull(f);
    fixture_expect(f, "n", "4321");
    fixture_expect_canonical(f, "n", "300");
    assert_int_equal(fixture_position(f).rejected, 0);
    assert_int_equal(fixture_position(f).pending, 3);
    assert_int_equal(own_first_row(f, false, says, sizeof says), 3);
    assert_int_equal(fixture_outcome(f, first), KEDGE_OUTCOME_PENDING);
    assert_int_equal(fixture_outcome(f, second), KEDGE_OUTCOME_PENDING);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "4321");
    assert_int_equal(fixture_outcome(f, first), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(fixture_outcome(f, second), KEDGE_OUTCOME_APPLIED);
}

static int64_t conflicts(kedge_store *store)
{
    return count_rows(store, "SELECT count(*) FROM rejected");
}

/* The edits of the second push and of the third one build on those of the first. */
static void test_of_a_backlog_only_the_push_that_was_under_way_conflicts(void **state)
{
    fixture *f = own_fixture_of(state);
    for (int i = 0; i < 250; i++)
        fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(1000));
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 0);
    fixture_expect_canonical(f, "n", "1250");
    assert_int_equal(conflicts(f->store), 100);
    fixture_check(f);
}

static void test_an_edit_meets_what_was_pulled_before_it_is_sent(void **state)
{
    fixture *f = own_fixture_of(state);
    fixture_mutate(f, "own-add", ADD(1));
    fixture_mutate(f, "add", ADD(20));
    fixture_mutate(f, "own-add", ADD(300));
    naive_server_edit(f->server, "add", ADD(4000));
    fixture_pull(f);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    fixture_expect(f, "n", "4321");
    fixture_pull(f);
    fixture_expect_canonical(f, "n", "4321");
    assert_int_equal(conflicts(f->store), 0);
    assert_int_equal(fixture_position(f).pending, 0);
}

/* So it conflicts, and the inbox gets the mutator's own reason when it is made again. */
static void test_an_edit_that_the_mutator_refuses_is_sent_as_it_was(void **state)
{
    fixture *f = own_fixture_of(state);
    char says[128] = "";
    fixture_mutate(f, "own-refuse-over", "{\"id\":\"n\",\"limit\":5}");
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":9}");
    fixture_pull(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 1);
    own_first_row(f, true, says, sizeof says);
    assert_non_null(strstr(says, "own-refuse-over"));
    assert_null(strstr(says, "conflict"));
}

/* A push whose response was lost. The server may have decided it. */
static void test_an_edit_that_may_have_been_sent_is_not_made_anew(void **state)
{
    fixture *f = own_fixture_of(state);
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    uint32_t count = 0;
    fixture_mutate(f, "own-add", ADD(1));
    assert_int_equal(fixture_push_body(f->store, 10, 1000, &body, &count, NULL, &f->error),
                     KEDGE_OK);
    assert_int_equal(count, 1);
    kedge_buffer_free(&body);
    naive_server_edit(f->server, "add", ADD(300));
    fixture_pull(f);
    fixture_mutate(f, "own-add", ADD(20)); /* so that there is one to be made anew */
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "321");
    /* The first one was sent as it was; the second one was built on it. */
    assert_int_equal(conflicts(f->store), 2);
}

static void take_nothing(void *context)
{
    (void)context;
}

static kedge_status take_one(void *context, const kedge_wire_mutation *mutation, kedge_error *error)
{
    (void)error;
    *(int64_t *)context = mutation->id;
    return KEDGE_OK;
}

static void test_a_push_ends_in_front_of_an_edit_that_goes_behind_a_pull(void **state)
{
    fixture *f = own_fixture_of(state);
    int64_t id = 0;
    kedge_store_push_taker taker = {&id, take_nothing, take_one};
    kedge_store_pushed made;
    fixture_mutate(f, "add", ADD(1));
    fixture_mutate(f, "own-add", ADD(20));
    fixture_mutate(f, "add", ADD(300));
    assert_int_equal(kedge_store_push(f->store, 0, 10, false, &taker, &made, NULL), KEDGE_OK);
    assert_int_equal(made.count, 1);
    assert_int_equal(made.last_id, 1);
    assert_true(made.pull_first);
    assert_int_equal(kedge_store_push(f->store, 1, 10, false, &taker, &made, NULL), KEDGE_OK);
    assert_int_equal(made.count, 0);
    assert_true(made.pull_first);
    assert_int_equal(id, 1);
    assert_int_equal(fixture_position(f).sent_through, 1);
    assert_int_equal(kedge_store_push(f->store, 1, 10, true, &taker, &made, NULL), KEDGE_OK);
    assert_int_equal(made.count, 2);
    assert_false(made.pull_first);
    /* What was sent is sent again, whether there is a pull to come or not. */
    assert_int_equal(kedge_store_push(f->store, 0, 10, false, &taker, &made, NULL), KEDGE_OK);
    assert_int_equal(made.count, 3);
}

static void test_conflicts_without_end_lead_to_the_inbox(void **state)
{
    fixture *f = own_fixture_of(state);
    char says[128] = "";
    int64_t sequence = fixture_mutate(f, "own-add", ADD(1));
    for (int attempt = 1; attempt <= KEDGE_LIMIT_APPLY_ATTEMPTS; attempt++) {
        assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_PENDING);
        assert_int_equal(own_first_row(f, false, says, sizeof says), sequence);
        assert_string_equal(says, "own-add {\"by\":1,\"id\":\"n\"} ");
        own_push_after_other(f, ADD(100));
        fixture_pull(f);
    }
    assert_int_equal(fixture_position(f).pending, 0);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(own_first_row(f, true, says, sizeof says), sequence);
    assert_string_equal(says, "own-add {\"by\":1,\"id\":\"n\"} conflict");
    fixture_expect(f, "n", "500");
    fixture_reopen(f); /* and it stays there */
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(kedge_store_dismiss(f->store, sequence, NULL), KEDGE_OK);
    assert_int_equal(fixture_position(f).rejected, 0);
}

static void test_what_the_mutator_refuses_then_is_shown_with_its_reason(void **state)
{
    fixture *f = own_fixture_of(state);
    char says[128] = "";
    int64_t again = 0;
    int64_t sequence = fixture_mutate(f, "own-refuse-over", "{\"id\":\"n\",\"limit\":9}");
    own_push_after_other(f, ADD(10));
    fixture_pull(f);
    assert_int_equal(own_first_row(f, true, says, sizeof says), sequence);
    assert_string_equal(says, "own-refuse-over {\"id\":\"n\",\"limit\":9} over-limit");
    fixture_expect(f, "touched", NULL);
    fixture_mutate(f, "add", ADD(-5));
    assert_int_equal(kedge_store_resubmit(f->store, sequence, &again, NULL, NULL), KEDGE_OK);
    fixture_sync(f);
    fixture_expect_canonical(f, "touched", "true");
}

static void test_an_edit_that_was_made_again_is_cancelled_by_its_first_sequence(void **state)
{
    fixture *f = own_fixture_of(state);
    int64_t sequence = fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    fixture_expect(f, "n", "101");
    assert_int_equal(kedge_store_cancel(f->store, sequence, NULL, NULL), KEDGE_OK);
    fixture_expect(f, "n", "100");
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "100");
}

static bool is_watched(void *context)
{
    (void)context;
    return true;
}

static void test_what_a_pull_changes_is_told_once_for_the_edit_that_is_made_again(void **state)
{
    fixture *f = own_fixture_of(state);
    f->options.observer.watched = is_watched;
    fixture_reopen(f);
    fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    size_t offset = 0;
    kedge_changed change;
    assert_int_equal(f->changes.count, 1);
    assert_int_equal(f->changes.by, KEDGE_CHANGED_BY_PULL);
    assert_true(kedge_change_set_next(&f->changes, &offset, &change));
    assert_true(kedge_bytes_equal_text(change.id, "n"));
    assert_true(kedge_bytes_equal_text(change.before, "1"));
    assert_true(kedge_bytes_equal_text(change.after, "101"));
}

/* ---- no ids ---- */

static void exhaust_ids_behind_pull(void *context, const char *phase)
{
    own_fixture *own = context;
    kedge_outbox_meta meta;
    if (strcmp(phase, "pull-done") != 0) return;
    kedge_store_db *outbox = &own->f.store->outbox;
    assert_int_equal(kedge_store_db_begin(outbox, NULL), KEDGE_OK);
    assert_int_equal(kedge_outbox_meta_read(outbox, &meta, NULL), KEDGE_OK);
    meta.highest_id = KEDGE_LIMIT_MUTATION_ID;
    assert_int_equal(kedge_outbox_meta_write(outbox, &meta, NULL), KEDGE_OK);
    assert_int_equal(kedge_store_db_commit(outbox, NULL), KEDGE_OK);
}

static void test_an_edit_that_gets_no_id_is_in_the_inbox_and_shows_nothing(void **state)
{
    fixture *f = own_fixture_of(state);
    char says[128] = "";
    f->options.phase = exhaust_ids_behind_pull;
    fixture_reopen(f);
    int64_t sequence = fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    assert_int_equal(own_first_row(f, true, says, sizeof says), sequence);
    assert_string_equal(says, "own-add {\"by\":1,\"id\":\"n\"} mutation-ids-exhausted");
    fixture_expect(f, "n", "100");
}

/* ---- full disks ---- */

static void begin_on_volume(own_fixture *own, fault_vfs **vfs, kedge_store_phase_function phase)
{
    own_begin(own);
    fixture_close(&own->f);
    *vfs = fault_vfs_new("kedge-own", 1);
    assert_non_null(*vfs);
    own->f.options.vfs = "kedge-own";
    own->f.options.phase = phase;
    own->f.options.phase_context = *vfs;
    fixture_open(&own->f);
}

static void end_on_volume(own_fixture *own, fault_vfs *vfs)
{
    fixture_close(&own->f);
    fault_vfs_free(vfs);
    own_end(own);
}

static void refuse_behind_pull(void *context, const char *phase)
{
    if (strcmp(phase, "pull-done") == 0) fault_vfs_refuse_writes(context, true);
}

static void test_an_edit_that_cannot_be_made_again_yet_is_pending(void **state)
{
    own_fixture own;
    fault_vfs *vfs;
    char says[128] = "";
    (void)state;
    begin_on_volume(&own, &vfs, refuse_behind_pull);
    fixture *f = &own.f;
    int64_t sequence = fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_PENDING);
    assert_int_equal(fixture_position(f).pending, 1);
    assert_int_equal(own_first_row(f, false, says, sizeof says), sequence);
    assert_string_equal(says, "own-add {\"by\":1,\"id\":\"n\"} ");
    fault_vfs_refuse_writes(vfs, false);
    assert_int_equal(kedge_store_cancel(f->store, sequence, NULL, &f->error), KEDGE_CONFLICT);
    fixture_pull(f);
    fixture_expect(f, "n", "101");
    assert_int_equal(fixture_position(f).pending, 1);
    end_on_volume(&own, vfs);
}

static void test_an_edit_is_made_again_as_soon_as_the_disk_has_room(void **state)
{
    own_fixture own;
    fault_vfs *vfs;
    (void)state;
    begin_on_volume(&own, &vfs, refuse_behind_pull);
    fixture *f = &own.f;
    fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    assert_int_equal(kedge_store_catch_up(f->store, &f->changes, &f->error), KEDGE_DISK_FULL);
    fault_vfs_refuse_writes(vfs, false);
    assert_int_equal(kedge_store_catch_up(f->store, &f->changes, &f->error), KEDGE_OK);
    assert_int_equal(f->changes.count, 1);
    fixture_expect(f, "n", "101");
    end_on_volume(&own, vfs);
}

static void fill_behind_pull(void *context, const char *phase)
{
    if (strcmp(phase, "pull-done") == 0) fault_vfs_set_room(context, 0);
}

static void test_an_edit_is_made_again_where_the_wals_have_the_room_for_it(void **state)
{
    own_fixture own;
    fault_vfs *vfs;
    static char args[120000];
    (void)state;
    begin_on_volume(&own, &vfs, fill_behind_pull);
    fixture *f = &own.f;
    snprintf(args, sizeof args, "{\"id\":\"n\",\"by\":1,\"pad\":\"%0100000d\"}", 0);
    fixture_mutate(f, "own-add", args);
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    fixture_expect(f, "n", "101");
    end_on_volume(&own, vfs);
}

/* ---- crashes ---- */

/* Goes on in a copy of the folder, with the client-only mutators or without. */
static void go_on_in_copy(own_fixture *own, int copy, bool with)
{
    char path[200];
    fixture_close(&own->f);
    own->phase = NULL;
    snprintf(path, sizeof path, "%s/copy%d", own->f.folder, copy);
    fixture_remove_tree(own->f.path);
    memcpy(own->f.path, path, sizeof own->f.path);
    own->f.options.registry = with ? own->with : own->f.registry;
    fixture_open(&own->f);
}

static void test_a_crash_at_each_step_loses_and_doubles_nothing(void **state)
{
    static const char *const phases[] = {
        "pull-before-inbox",    "pull-before-cache",      "pull-before-delete", "pull-done",
        "mutate-before-outbox", "mutate-between-commits", "mutate-after-cache"};
    (void)state;
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        own_fixture own;
        own_begin(&own);
        fixture *f = &own.f;
        int64_t first = fixture_mutate(f, "own-add", ADD(1));
        int64_t second = fixture_mutate(f, "own-add", ADD(20));
        own_push_after_other(f, ADD(300));
        own.phase = phases[i];
        fixture_pull(f);
        assert_int_equal(own.copies, 1);
        go_on_in_copy(&own, 0, true);
        kedge_store_position at = fixture_position(f);
        fixture_expect(f, "n", at.version == 0 ? "21" : "321");
        fixture_sync(f);
        fixture_sync(f);
        fixture_expect(f, "n", "321");
        fixture_expect_canonical(f, "n", "321");
        assert_int_equal(fixture_outcome(f, first), KEDGE_OUTCOME_APPLIED);
        assert_int_equal(fixture_outcome(f, second), KEDGE_OUTCOME_APPLIED);
        assert_int_equal(fixture_position(f).rejected, 0);
        assert_int_equal(count_rows(f->store, "SELECT count(*) FROM rejected WHERE state = 4"), 0);
        own_end(&own);
    }
}

static void test_a_build_without_the_mutator_shows_what_a_crash_left(void **state)
{
    own_fixture *own = *state;
    fixture *f = &own->f;
    char says[128] = "";
    int64_t sequence = fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(300));
    own->phase = "pull-done";
    fixture_pull(f);
    go_on_in_copy(own, 0, false);
    assert_int_equal(own_first_row(f, true, says, sizeof says), sequence);
    assert_string_equal(says, "own-add {\"by\":1,\"id\":\"n\"} conflict");
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_REJECTED);
    fixture_expect(f, "n", "300");
}

static void kill_at_end_of_pull(void *context, const char *phase)
{
    (void)context;
    if (strcmp(phase, "pull-done") == 0) kill(getpid(), SIGKILL);
}

/* Another process on the folder. It begins when `begins` is written to, and pulls. In it nothing
 * may assert: it would go on with the parent's tests. */
static pid_t fork_killed_pull(own_fixture *own, int *begins)
{
    int pipes[2];
    char byte;
    kedge_apply_result result;
    fixture *f = &own->f;
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        f->options.phase = kill_at_end_of_pull;
        if (read(pipes[0], &byte, 1) == 1 && fixture_try_open(f, f->path, &f->store) == KEDGE_OK)
            (void)fixture_try_pull(f, &result);
        _exit(0);
    }
    close(pipes[0]);
    *begins = pipes[1];
    return child;
}

static void test_what_a_killed_process_left_is_made_again_by_another_one(void **state)
{
    own_fixture *own = *state;
    fixture *f = &own->f;
    int ended = 0, begins;
    int64_t sequence = fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(300));
    fixture_close(f);
    pid_t child = fork_killed_pull(own, &begins);
    fixture_open(f);
    assert_int_equal(write(begins, "", 1), 1);
    close(begins);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    fixture_pull(f);
    fixture_expect(f, "n", "301");
    assert_int_equal(fixture_position(f).pending, 1);
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_APPLIED);
}

/* ---- the backend is restored, the folder is copied ---- */

static void copy_aside(fixture *f, char path[160])
{
    fixture_close(f);
    snprintf(path, 160, "%s/twin", f->folder);
    fixture_copy_tree(f->path, path);
    fixture_open(f);
}

static void expect_conflict_in_inbox(fixture *f)
{
    char says[128] = "";
    assert_int_equal(own_first_row(f, true, says, sizeof says), 1);
    assert_string_equal(says, "own-add {\"by\":1,\"id\":\"n\"} conflict");
    fixture_expect(f, "n", "301");
    fixture_expect_canonical(f, "n", "301");
}

/* The edit conflicts in both, and one of them has made it again. */
static void test_of_two_copies_of_a_folder_one_makes_an_edit_again(void **state)
{
    fixture *f = own_fixture_of(state);
    char twin[160];
    fixture_mutate(f, "own-add", ADD(1));
    copy_aside(f, twin);
    naive_server_edit(f->server, "add", ADD(300));
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "301");
    assert_int_equal(fixture_position(f).rejected, 0);
    own_go_to(f, twin);
    fixture_sync(f);
    expect_conflict_in_inbox(f);
}

static void test_of_two_copies_that_make_an_edit_again_one_makes_it(void **state)
{
    fixture *f = own_fixture_of(state);
    char twin[160], first[160];
    fixture_mutate(f, "own-add", ADD(1));
    copy_aside(f, twin);
    snprintf(first, sizeof first, "%s", f->path);
    own_push_after_other(f, ADD(300));
    fixture_pull(f);
    fixture_expect(f, "n", "301");
    own_go_to(f, twin);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "301");
    own_go_to(f, first);
    fixture_sync(f);
    expect_conflict_in_inbox(f);
}

static void test_an_edit_that_was_made_again_survives_a_restored_backend(void **state)
{
    fixture *f = own_fixture_of(state);
    fixture_mutate(f, "add", ADD(5));
    fixture_sync(f);
    int64_t backup = f->server->version;
    fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "106");
    naive_server_restore(f->server, backup);
    naive_server_edit(f->server, "add", ADD(1000));
    fixture_pull(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "1006");
    fixture_expect(f, "n", "1006");
    assert_int_equal(fixture_position(f).rejected, 0);
}

static void others_edit(fixture *f, int times)
{
    for (int i = 0; i < times; i++)
        naive_server_edit(f->server, "add", "{\"id\":\"m\",\"by\":1}");
}

/* The backend is restored twice: in the state that is staged the edit was applied, and the response
 * of the rotation tells a conflict of the other one. */
static void test_an_edit_is_not_made_again_on_a_state_that_has_it(void **state)
{
    fixture *f = own_fixture_of(state);
    kedge_apply_result result;
    fixture_mutate(f, "add", ADD(5));
    fixture_sync(f);
    int64_t backup = f->server->version;
    others_edit(f, 1);
    fixture_pull(f);
    int64_t sequence = fixture_mutate(f, "own-add", ADD(1));
    naive_server_restore(f->server, backup);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    others_edit(f, 3);
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    naive_server_restore(f->server, backup);
    own_push_after_other(f, ADD(100));
    assert_int_equal(fixture_try_rotate_lost(f), KEDGE_OK);
    fixture_expect(f, "n", "6");
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_PENDING);
    fixture_sync(f);
    fixture_sync(f);
    fixture_expect(f, "n", "106");
    fixture_expect_canonical(f, "n", "106");
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(fixture_position(f).rejected, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, own_set_up, own_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_edit_that_conflicts_keeps_its_sequence_and_is_applied_once),
        TEST(test_of_a_backlog_only_the_push_that_was_under_way_conflicts),
        TEST(test_an_edit_meets_what_was_pulled_before_it_is_sent),
        TEST(test_an_edit_that_the_mutator_refuses_is_sent_as_it_was),
        TEST(test_an_edit_that_may_have_been_sent_is_not_made_anew),
        TEST(test_a_push_ends_in_front_of_an_edit_that_goes_behind_a_pull),
        TEST(test_conflicts_without_end_lead_to_the_inbox),
        TEST(test_what_the_mutator_refuses_then_is_shown_with_its_reason),
        TEST(test_an_edit_that_was_made_again_is_cancelled_by_its_first_sequence),
        TEST(test_what_a_pull_changes_is_told_once_for_the_edit_that_is_made_again),
        TEST(test_an_edit_that_gets_no_id_is_in_the_inbox_and_shows_nothing),
        cmocka_unit_test(test_an_edit_that_cannot_be_made_again_yet_is_pending),
        cmocka_unit_test(test_an_edit_is_made_again_as_soon_as_the_disk_has_room),
        cmocka_unit_test(test_an_edit_is_made_again_where_the_wals_have_the_room_for_it),
        cmocka_unit_test(test_a_crash_at_each_step_loses_and_doubles_nothing),
        TEST(test_a_build_without_the_mutator_shows_what_a_crash_left),
        TEST(test_what_a_killed_process_left_is_made_again_by_another_one),
        TEST(test_of_two_copies_of_a_folder_one_makes_an_edit_again),
        TEST(test_of_two_copies_that_make_an_edit_again_one_makes_it),
        TEST(test_an_edit_that_was_made_again_survives_a_restored_backend),
        TEST(test_an_edit_is_not_made_again_on_a_state_that_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
