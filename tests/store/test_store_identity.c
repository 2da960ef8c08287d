/* Who this copy is: folders that were copied or put back from a backup, backends that were. */
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void go_to(fixture *f, const char *path)
{
    fixture_close(f);
    snprintf(f->path, sizeof f->path, "%s", path);
    fixture_open(f);
}

static void copy_to(fixture *f, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", f->folder, name);
    fixture_close(f);
    fixture_copy_tree(f->path, path);
    fixture_open(f);
}

static void test_a_copied_folder_takes_an_id_of_its_own_and_doubles_nothing(void **state)
{
    fixture *f = *state;
    char original[160];
    char twin[160];
    fixture_mutate(f, "add", "{\"id\":\"both\",\"by\":1}");
    memcpy(original, f->path, sizeof original);
    copy_to(f, "twin", twin, sizeof twin);
    kedge_store_position before = fixture_position(f);
    fixture_mutate(f, "add", "{\"id\":\"first\",\"by\":1}");
    fixture_sync(f);
    go_to(f, twin);
    fixture_mutate(f, "add", "{\"id\":\"second\",\"by\":1}");
    fixture_sync(f);
    kedge_store_position after = fixture_position(f);
    assert_string_not_equal(before.client, after.client);
    fixture_expect_canonical(f, "both", "1");
    fixture_expect_canonical(f, "first", "1");
    fixture_expect_canonical(f, "second", "1");
    fixture_check(f);
    /* The server has retired the id that both had. */
    go_to(f, original);
    fixture_mutate(f, "add", "{\"id\":\"third\",\"by\":1}");
    fixture_sync(f);
    assert_string_not_equal(fixture_position(f).client, before.client);
    fixture_expect_canonical(f, "both", "1");
    fixture_expect_canonical(f, "third", "1");
}

static void test_twins_that_make_the_same_edit_make_two(void **state)
{
    fixture *f = *state;
    char original[160];
    char twin[160];
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    memcpy(original, f->path, sizeof original);
    copy_to(f, "twin", twin, sizeof twin);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    go_to(f, twin);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "3");
}

static void test_an_outcome_with_another_digest_is_not_ours(void **state)
{
    fixture *f = *state;
    char twin[160];
    kedge_apply_result result;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    copy_to(f, "twin", twin, sizeof twin);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    go_to(f, twin);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    /* The pull comes before any push. */
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_ROTATE);
    assert_int_equal(fixture_position(f).pending, 1);
    assert_int_equal(fixture_position(f).version, 1);
    fixture_pull(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "3");
}

static void test_an_lmid_above_the_counter_is_not_ours(void **state)
{
    fixture *f = *state;
    char twin[160];
    kedge_apply_result result;
    copy_to(f, "twin", twin, sizeof twin);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    go_to(f, twin);
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_ROTATE);
    fixture_pull(f);
    fixture_expect_canonical(f, "n", "1");
}

static void test_a_folder_put_back_from_a_backup_goes_on_under_a_new_id(void **state)
{
    fixture *f = *state;
    char backup[160];
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    copy_to(f, "backup", backup, sizeof backup);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    fixture_sync(f);
    char client[KEDGE_CLIENT_ID_SIZE];
    memcpy(client, fixture_position(f).client, sizeof client);
    fixture_close(f);
    fixture_remove_tree(f->path);
    fixture_copy_tree(backup, f->path);
    fixture_open(f);
    assert_int_equal(fixture_position(f).highest_id, 1);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":100}");
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "111");
    assert_string_not_equal(fixture_position(f).client, client);
}

static void test_an_outbox_put_back_alone_reuses_no_id(void **state)
{
    fixture *f = *state;
    char backup[160];
    char from[200];
    char to[200];
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    copy_to(f, "backup", backup, sizeof backup);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    fixture_sync(f);
    fixture_close(f);
    const char *names[] = {"outbox.db", "outbox.db-wal", "outbox.db-shm"};
    for (int i = 0; i < 3; i++) {
        snprintf(from, sizeof from, "%s/%s", backup, names[i]);
        snprintf(to, sizeof to, "%s/%s", f->path, names[i]);
        unlink(to);
        assert_int_equal(rename(from, to), 0);
    }
    fixture_open(f);
    int64_t sequence = fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":100}");
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_PENDING);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "121");
}

static void test_a_rotation_keeps_what_the_server_decided_and_renumbers_the_rest(void **state)
{
    fixture *f = *state;
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":0}");
    fixture_pull(f);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    int64_t refused = fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":100}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    int64_t waiting = fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    kedge_store_position position = fixture_position(f);
    /* The first is decided at a version that is not pulled yet; the second is in the inbox. */
    assert_int_equal(position.pending, 2);
    assert_int_equal(position.rejected, 1);
    assert_int_equal(position.highest_id, 1);
    assert_int_equal(position.lmid, 0);
    assert_int_equal(fixture_outcome(f, refused), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(fixture_outcome(f, waiting), KEDGE_OUTCOME_PENDING);
    fixture_check(f);
    /* Predicted is what waits for its version; what was renumbered is withheld. */
    assert_int_equal(position.withheld, 1);
    fixture_expect(f, "n", "1");
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "111");
    assert_int_equal(fixture_outcome(f, waiting), KEDGE_OUTCOME_APPLIED);
    fixture_check(f);
}

static bool asks_for_seen(fixture *f, const char *order)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_pull_request request;
    assert_int_equal(kedge_store_pull_request(f->store, &request, &f->error), KEDGE_OK);
    kedge_wire_pull_request_write(&request, &body);
    kedge_buffer_append_byte(&body, '\0');
    bool asks = strstr(body.data, order) != NULL;
    kedge_buffer_free(&body);
    return asks;
}

static void test_a_version_whose_outcomes_are_known_is_asked_for_until_it_is_pulled(void **state)
{
    fixture *f = *state;
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":0}");
    fixture_pull(f);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    int64_t between = f->server->version;
    char seen[48];
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    int64_t newest = f->server->version;
    snprintf(seen, sizeof seen, "\"seen\":{\"order\":%lld,", (long long)newest);
    assert_true(asks_for_seen(f, seen));
    /* A pull that a lagging reader answers covers the first of the two. */
    f->server->version = between;
    fixture_pull(f);
    f->server->version = newest;
    assert_int_equal(fixture_position(f).version, between);
    assert_int_equal(fixture_position(f).pending, 1);
    assert_true(asks_for_seen(f, seen));
    fixture_pull(f);
    assert_false(asks_for_seen(f, "\"seen\""));
    fixture_expect_canonical(f, "n", "11");
}

static void test_an_edit_that_was_renumbered_cannot_be_cancelled(void **state)
{
    fixture *f = *state;
    int64_t sequence = fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    assert_int_equal(kedge_store_cancel(f->store, sequence, &f->changes, &f->error),
                     KEDGE_CONFLICT);
    assert_string_equal(f->error.code, "mutation-sent");
}

/* 0: nothing is staged whole. */
static void expect_staged(fixture *f, int64_t version)
{
    kedge_wire_cookie staged;
    assert_int_equal(kedge_store_staged(f->store, &staged, &f->error), KEDGE_OK);
    assert_int_equal(staged.kind, version > 0 ? KEDGE_WIRE_COOKIE_OURS : KEDGE_WIRE_COOKIE_NULL);
    assert_int_equal(staged.version, version);
    if (version > 0) assert_string_equal(staged.lineage, f->server->lineages[version]);
}

static void lose_and_recover(fixture *f, bool paged)
{
    f->server->paged = paged;
    for (int i = 0; i < 4; i++) {
        fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
        fixture_sync(f);
    }
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    kedge_store_position before = fixture_position(f);
    naive_server_restore(f->server, 2);
    for (int i = 0; i < 5; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"id\":\"other%d\",\"value\":1}", i);
        naive_server_edit(f->server, "set", args);
    }
    kedge_apply_result result;
    expect_staged(f, 0);
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    while (result == KEDGE_APPLY_PAGES) {
        assert_true(fixture_position(f).resyncing);
        expect_staged(f, 0);
        fixture_expect(f, "n", "14");
        assert_int_equal(fixture_try_page(f, &result), KEDGE_OK);
    }
    assert_int_equal(result, KEDGE_APPLY_LOST);
    assert_int_equal(fixture_position(f).staged_version, 0);
    fixture_expect(f, "n", "14");
    fixture_reopen(f);
    expect_staged(f, f->server->version);
    assert_int_equal(fixture_try_rotate_lost(f), KEDGE_OK);
    expect_staged(f, 0);
    kedge_store_position after = fixture_position(f);
    assert_string_not_equal(before.client, after.client);
    assert_int_equal(after.pending, 3);
    assert_int_equal(after.unrecovered, 0);
    assert_false(after.resyncing);
    fixture_expect_canonical(f, "n", "2");
    fixture_expect(f, "n", "2"); /* what comes back is withheld */
    fixture_check(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "14");
    fixture_check(f);
}

static void test_what_a_restored_backend_lacks_comes_back_from_the_tail(void **state)
{
    lose_and_recover(*state, false);
}

static void test_a_restored_backend_is_paged_in_before_the_rotation(void **state)
{
    lose_and_recover(*state, true);
}

/* The restored backend holds ids 1 to 3 again, but a twin's under 2 and 3. */
static void test_what_a_twin_displaced_on_the_restored_backend_comes_back_too(void **state)
{
    fixture *f = *state;
    kedge_wire_outcome decided[3] = {{.id = 1, .version = 1}, {.id = 2}, {.id = 3}};
    for (int i = 0; i < 3; i++) {
        fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
        fixture_sync(f);
    }
    assert_true(kedge_hex_decode(kedge_bytes_of(f->server->outcomes[0].digest), decided[0].digest,
                                 KEDGE_DIGEST_SIZE));
    naive_server_restore(f->server, 1);
    for (int64_t id = 2; id <= 3; id++) {
        char push[512];
        int size = snprintf(
            push, sizeof push,
            "{\"clientGroupID\":\"%s\",\"mutations\":[{\"clientID\":\"%s\",\"id\":%lld,"
            "\"name\":\"add\",\"args\":{\"id\":\"twin\",\"by\":1},\"timestamp\":1,\"uid\":"
            "\"%032lld\"}]}",
            fixture_position(f).client, fixture_position(f).client, (long long)id, (long long)id);
        assert_int_equal(naive_server_push(f->server, (kedge_bytes){push, (size_t)size}), NAIVE_OK);
    }
    kedge_apply_result result;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    kedge_wire_retire_response response = {
        .version = f->server->version, .lmid = 3, .outcomes = {.rows = decided, .count = 3}};
    assert_int_equal(kedge_store_rotate_lost(f->store, &response, &f->changes, &f->error),
                     KEDGE_OK);
    assert_int_equal(fixture_position(f).pending, 2);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "3");
    fixture_check(f);
}

/* Applied once; on the restored backend, out of its queue, rejected. */
static void test_what_a_restored_backend_rejects_this_time_is_in_the_inbox(void **state)
{
    fixture *f = *state;
    kedge_wire_outcome decided[2] = {
        {.id = 1, .version = 1},
        {.id = 2, .version = 2, .decision = KEDGE_WIRE_REJECTED, .code = "not-now"}};
    int64_t sequences[3];
    for (int i = 0; i < 3; i++) {
        sequences[i] = fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
        fixture_sync(f);
    }
    for (int i = 0; i < 2; i++)
        assert_true(kedge_hex_decode(kedge_bytes_of(f->server->outcomes[i].digest),
                                     decided[i].digest, KEDGE_DIGEST_SIZE));
    naive_server_restore(f->server, 2);
    kedge_apply_result result;
    naive_server_edit(f->server, "set", "{\"id\":\"other\",\"value\":1}");
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    kedge_wire_retire_response response = {
        .version = f->server->version, .lmid = 2, .outcomes = {.rows = decided, .count = 2}};
    assert_int_equal(kedge_store_rotate_lost(f->store, &response, &f->changes, &f->error),
                     KEDGE_OK);
    assert_int_equal(fixture_position(f).pending, 1);
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    kedge_outcome outcome;
    assert_int_equal(kedge_store_outcome(f->store, sequences[1], &outcome, &f->error), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_OUTCOME_REJECTED);
}

/* Three that were rejected: of the first the restored backend says so, too; the second it has
 * applied this time; the third it does not know. */
static void test_rejections_of_a_lost_lineage_are_void(void **state)
{
    fixture *f = *state;
    kedge_wire_outcome decided[2] = {
        {.id = 1, .version = 1, .decision = KEDGE_WIRE_REJECTED, .code = "still"},
        {.id = 2, .version = 1, .decision = KEDGE_WIRE_APPLIED}};
    int64_t sequences[4];
    for (int i = 0; i < 4; i++)
        sequences[i] = fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":100}");
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 4);
    assert_int_equal(kedge_store_dismiss(f->store, sequences[3], &f->error), KEDGE_OK);
    for (int i = 0; i < 2; i++)
        assert_true(kedge_hex_decode(kedge_bytes_of(f->server->outcomes[i].digest),
                                     decided[i].digest, KEDGE_DIGEST_SIZE));
    naive_server_restore(f->server, 0);
    naive_server_edit(f->server, "set", "{\"id\":\"other\",\"value\":1}");
    kedge_apply_result result;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    kedge_wire_retire_response response = {
        .version = f->server->version, .lmid = 2, .outcomes = {.rows = decided, .count = 2}};
    assert_int_equal(kedge_store_rotate_lost(f->store, &response, &f->changes, &f->error),
                     KEDGE_OK);
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(fixture_position(f).pending, 2);
    fixture_sync(f);
    static const kedge_outcome expected[] = {KEDGE_OUTCOME_REJECTED, KEDGE_OUTCOME_APPLIED,
                                             KEDGE_OUTCOME_APPLIED, KEDGE_OUTCOME_REJECTED};
    for (int i = 0; i < 4; i++) {
        kedge_outcome outcome;
        assert_int_equal(kedge_store_outcome(f->store, sequences[i], &outcome, &f->error),
                         KEDGE_OK);
        assert_int_equal(outcome, expected[i]);
    }
    fixture_expect_canonical(f, "touched", "true");
    fixture_check(f);
}

static void test_a_lost_rotation_without_the_other_state_changes_nothing(void **state)
{
    fixture *f = *state;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    kedge_store_position before = fixture_position(f);
    assert_int_equal(fixture_try_rotate_lost(f), KEDGE_CONFLICT);
    assert_string_equal(fixture_position(f).client, before.client);
}

static void test_what_is_older_than_the_tail_is_counted(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
        fixture_sync(f);
    }
    f->now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1000;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    naive_server_restore(f->server, 1);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 2);
    fixture_expect_canonical(f, "n", "2");
}

/* The client before the last one: what left the tail after the rotation from it. */
static void test_what_is_older_than_the_tail_is_counted_of_earlier_clients_too(void **state)
{
    fixture *f = *state;
    kedge_wire_client_marks earlier;
    for (int i = 0; i < 3; i++) {
        fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
        fixture_sync(f);
    }
    char first[KEDGE_CLIENT_ID_SIZE];
    memcpy(first, fixture_position(f).client, sizeof first);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    assert_int_equal(kedge_store_earlier(f->store, &earlier, &f->error), KEDGE_OK);
    assert_int_equal(earlier.count, 0);
    f->now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1000;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    assert_int_equal(kedge_store_earlier(f->store, &earlier, &f->error), KEDGE_OK);
    assert_int_equal(earlier.count, 1);
    assert_string_equal(earlier.marks[0].client_id, first);
    assert_int_equal(earlier.marks[0].id, 3);
    naive_server_restore(f->server, 1);
    fixture_sync(f);
    /* 2 and 3 of the first client, 1 of the second; what is in the tail came again. */
    assert_int_equal(fixture_position(f).unrecovered, 3);
    fixture_expect_canonical(f, "n", "2");
    assert_int_equal(kedge_store_earlier(f->store, &earlier, &f->error), KEDGE_OK);
    assert_int_equal(earlier.count, 1);
    assert_int_equal(earlier.marks[0].id, 1);
    naive_server_restore(f->server, 1);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 3);
    fixture_check(f);
}

/* The response of a backend that does not know the question, say. */
static void test_an_earlier_client_that_nobody_names_is_not_counted_yet(void **state)
{
    fixture *f = *state;
    kedge_wire_client_marks earlier;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    f->now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1000;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    naive_server_edit(f->server, "set", "{\"id\":\"other\",\"value\":1}");
    fixture_sync(f);
    naive_server_restore(f->server, f->server->version - 1);
    kedge_apply_result result;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    kedge_wire_retire_response response = {.version = f->server->version, .lmid = 1};
    assert_int_equal(kedge_store_rotate_lost(f->store, &response, &f->changes, &f->error),
                     KEDGE_OK);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    assert_int_equal(kedge_store_earlier(f->store, &earlier, &f->error), KEDGE_OK);
    assert_int_equal(earlier.count, 1);
    assert_int_equal(earlier.marks[0].id, 1);
}

static void test_the_tail_is_not_trimmed_before_it_is_called_back(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
        fixture_sync(f);
    }
    naive_server_restore(f->server, 1);
    kedge_apply_result result;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    f->now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1000;
    assert_int_equal(fixture_try_rotate_lost(f), KEDGE_OK);
    assert_int_equal(fixture_position(f).pending, 2);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "3");
}

/* Its backend was restored, and it does not know yet when it leaves its id for another reason. */
static void test_what_is_older_than_the_tail_is_counted_by_whichever_rotation(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
        fixture_sync(f);
    }
    f->now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1000;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_sync(f);
    naive_server_restore(f->server, 1);
    kedge_wire_retire_response response = {.version = 1, .lmid = 1};
    assert_int_equal(kedge_store_rotate(f->store, &response, &f->changes, &f->error), KEDGE_OK);
    assert_int_equal(fixture_position(f).unrecovered, 2);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 2);
    fixture_expect_canonical(f, "n", "2");
    fixture_check(f);
}

static void test_a_server_that_hides_an_outcome_changes_nothing(void **state)
{
    fixture *f = *state;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    kedge_wire_pull_response response = {.version = 1, .lmid = 1, .known = true};
    kedge_apply_result result;
    memset(response.lineage, 'a', 32);
    assert_int_equal(kedge_store_apply(f->store, &response, &result, &f->changes, &f->error),
                     KEDGE_PROTOCOL);
    assert_string_equal(f->error.code, "outcome-missing");
    assert_int_equal(fixture_position(f).pending, 1);
    assert_int_equal(fixture_position(f).version, 0);
}

static void test_a_delta_from_another_version_is_stale(void **state)
{
    fixture *f = *state;
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":1}");
    fixture_pull(f);
    kedge_wire_pull_response response = {.from = 3, .version = 4};
    kedge_apply_result result;
    memset(response.lineage, 'a', 32);
    assert_int_equal(kedge_store_apply(f->store, &response, &result, &f->changes, &f->error),
                     KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_STALE);
    assert_int_equal(fixture_position(f).version, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_copied_folder_takes_an_id_of_its_own_and_doubles_nothing),
        TEST(test_twins_that_make_the_same_edit_make_two),
        TEST(test_an_outcome_with_another_digest_is_not_ours),
        TEST(test_an_lmid_above_the_counter_is_not_ours),
        TEST(test_a_folder_put_back_from_a_backup_goes_on_under_a_new_id),
        TEST(test_an_outbox_put_back_alone_reuses_no_id),
        TEST(test_a_rotation_keeps_what_the_server_decided_and_renumbers_the_rest),
        TEST(test_a_version_whose_outcomes_are_known_is_asked_for_until_it_is_pulled),
        TEST(test_an_edit_that_was_renumbered_cannot_be_cancelled),
        TEST(test_what_a_restored_backend_lacks_comes_back_from_the_tail),
        TEST(test_a_restored_backend_is_paged_in_before_the_rotation),
        TEST(test_what_a_restored_backend_rejects_this_time_is_in_the_inbox),
        TEST(test_rejections_of_a_lost_lineage_are_void),
        TEST(test_a_lost_rotation_without_the_other_state_changes_nothing),
        TEST(test_what_a_twin_displaced_on_the_restored_backend_comes_back_too),
        TEST(test_what_is_older_than_the_tail_is_counted),
        TEST(test_an_earlier_client_that_nobody_names_is_not_counted_yet),
        TEST(test_the_tail_is_not_trimmed_before_it_is_called_back),
        TEST(test_what_is_older_than_the_tail_is_counted_of_earlier_clients_too),
        TEST(test_what_is_older_than_the_tail_is_counted_by_whichever_rotation),
        TEST(test_a_server_that_hides_an_outcome_changes_nothing),
        TEST(test_a_delta_from_another_version_is_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
