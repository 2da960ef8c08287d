/* Editing and syncing: what is visible, what is canonical, what is pending. */
#include "sdk/store/store_internal.h"
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_an_edit_is_read_back_at_once_and_after_reopening(void **state)
{
    fixture *f = *state;
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}"), 1);
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":2}"), 2);
    fixture_expect(f, "a", "2");
    fixture_expect_canonical(f, "a", NULL);
    fixture_reopen(f);
    fixture_expect(f, "a", "2");
    kedge_store_position position = fixture_position(f);
    assert_int_equal(position.pending, 2);
    assert_int_equal(position.highest_id, 2);
    assert_int_equal(position.lowest_pending, 1);
    assert_int_equal(strlen(position.client), 32);
    fixture_check(f);
}

static void test_a_confirmed_edit_is_canonical_and_no_longer_pending(void **state)
{
    fixture *f = *state;
    int64_t sequence = fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":{\"t\":\"x\"}}");
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_PENDING);
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_APPLIED);
    fixture_expect(f, "a", "{\"t\":\"x\"}");
    fixture_expect_canonical(f, "a", "{\"t\":\"x\"}");
    kedge_store_position position = fixture_position(f);
    assert_int_equal(position.pending, 0);
    assert_int_equal(position.lmid, 1);
    assert_int_equal(position.version, 1);
    assert_int_equal(f->changes.count, 0);
    fixture_check(f);
}

static void test_pending_edits_are_replayed_on_what_others_did(void **state)
{
    fixture *f = *state;
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":10}");
    fixture_pull(f);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":2}");
    fixture_expect(f, "n", "13");
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":100}");
    fixture_pull(f);
    fixture_expect(f, "n", "103");
    fixture_expect_canonical(f, "n", "100");
    assert_int_equal(f->changes.count, 1);
    fixture_check(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "103");
    fixture_check(f);
}

static void test_a_new_edit_lies_over_older_ones_until_each_is_confirmed(void **state)
{
    fixture *f = *state;
    fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    fixture_mutate(f, "add", "{\"id\":\"a\",\"by\":10}");
    fixture_mutate(f, "remove", "{\"id\":\"a\"}");
    fixture_pull(f);
    fixture_expect_canonical(f, "a", "1");
    fixture_expect(f, "a", NULL);
    assert_int_equal(fixture_position(f).pending, 2);
    fixture_mutate(f, "add", "{\"id\":\"a\",\"by\":5}");
    fixture_expect(f, "a", "5");
    fixture_check(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "a", "5");
}

static void test_an_item_deleted_elsewhere_is_gone_and_a_pending_edit_brings_it_back(void **state)
{
    fixture *f = *state;
    naive_server_edit(f->server, "set", "{\"id\":\"a\",\"value\":5}");
    naive_server_edit(f->server, "set", "{\"id\":\"b\",\"value\":5}");
    fixture_pull(f);
    fixture_mutate(f, "add", "{\"id\":\"a\",\"by\":1}");
    naive_server_edit(f->server, "remove", "{\"id\":\"a\"}");
    naive_server_edit(f->server, "remove", "{\"id\":\"b\"}");
    fixture_pull(f);
    fixture_expect(f, "a", "1");
    fixture_expect(f, "b", NULL);
    fixture_expect_canonical(f, "a", NULL);
    fixture_check(f);
}

static void test_an_edit_that_walks_over_a_collection_is_predicted_anew(void **state)
{
    fixture *f = *state;
    fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_mutate(f, "count-all", "{}");
    fixture_mutate(f, "set", "{\"id\":\"b\",\"value\":1}");
    naive_server_edit(f->server, "set", "{\"id\":\"c\",\"value\":1}");
    naive_server_edit(f->server, "set", "{\"id\":\"d\",\"value\":1}");
    fixture_pull(f);
    char *visible = fixture_dump(f->store, false);
    assert_non_null(strstr(visible, "\"counts/all\":3"));
    free(visible);
    fixture_check(f);
}

static void test_an_edit_that_the_mutator_refuses_is_never_kept(void **state)
{
    fixture *f = *state;
    int64_t sequence = 77;
    assert_int_equal(kedge_store_mutate(f->store, KEDGE_BYTES("refuse"), KEDGE_BYTES("{}"),
                                        &sequence, &f->changes, &f->error),
                     KEDGE_REJECTED);
    assert_string_equal(f->error.code, "refused");
    assert_int_equal(sequence, 77);
    assert_int_equal(kedge_store_mutate(f->store, KEDGE_BYTES("nobody"), KEDGE_BYTES("{}"), NULL,
                                        &f->changes, &f->error),
                     KEDGE_NOT_FOUND);
    assert_string_equal(f->error.code, "mutator-unknown");
    assert_int_equal(kedge_store_mutate(f->store, KEDGE_BYTES("set"), KEDGE_BYTES("{\"id\":"), NULL,
                                        &f->changes, &f->error),
                     KEDGE_INVALID_JSON);
    assert_int_equal(fixture_position(f).pending, 0);
    assert_int_equal(fixture_position(f).last_sequence, 0);
    fixture_check(f);
}

static void test_args_over_the_limit_are_refused(void **state)
{
    fixture *f = *state;
    size_t size = KEDGE_LIMIT_ARGS_BYTES;
    char *args = malloc(size + 3);
    args[0] = '"';
    memset(args + 1, 'x', size);
    args[size + 1] = '"';
    assert_int_equal(kedge_store_mutate(f->store, KEDGE_BYTES("set"), (kedge_bytes){args, size + 2},
                                        NULL, &f->changes, &f->error),
                     KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(f->error.code, "args-too-large");
    free(args);
    assert_int_equal(fixture_position(f).pending, 0);
}

static void test_the_changes_of_a_commit_are_the_keys_whose_visible_value_changed(void **state)
{
    fixture *f = *state;
    size_t offset = 0;
    kedge_changed change;
    fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    assert_int_equal(f->changes.count, 1);
    assert_true(kedge_change_set_next(&f->changes, &offset, &change));
    assert_true(kedge_bytes_equal_text(change.collection, "notes"));
    assert_true(kedge_bytes_equal_text(change.id, "a"));
    assert_false(kedge_change_set_next(&f->changes, &offset, &change));
    fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    assert_int_equal(f->changes.count, 0);
    naive_server_edit(f->server, "set", "{\"id\":\"a\",\"value\":9}");
    naive_server_edit(f->server, "set", "{\"id\":\"z\",\"value\":9}");
    fixture_pull(f);
    /* The pending edits hide what happened to "a". */
    offset = 0;
    assert_int_equal(f->changes.count, 1);
    assert_true(kedge_change_set_next(&f->changes, &offset, &change));
    assert_true(kedge_bytes_equal_text(change.id, "z"));
    fixture_sync(f);
    assert_int_equal(f->changes.count, 0);
}

/* ---- cancelling ---- */

static void test_an_edit_that_was_not_sent_can_be_taken_back(void **state)
{
    fixture *f = *state;
    fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    int64_t second = fixture_mutate(f, "add", "{\"id\":\"a\",\"by\":10}");
    fixture_mutate(f, "add", "{\"id\":\"a\",\"by\":100}");
    assert_int_equal(kedge_store_cancel(f->store, second, &f->changes, &f->error), KEDGE_OK);
    assert_int_equal(f->changes.count, 1);
    fixture_expect(f, "a", "101");
    fixture_check(f);
    fixture_reopen(f);
    fixture_expect(f, "a", "101");
    fixture_sync(f);
    fixture_expect_canonical(f, "a", "101");
    assert_int_equal(fixture_position(f).lmid, 3);
    assert_int_equal(kedge_store_cancel(f->store, second, &f->changes, &f->error), KEDGE_NOT_FOUND);
}

static void test_an_edit_that_was_sent_is_not_taken_back(void **state)
{
    fixture *f = *state;
    int64_t sequence = fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    uint32_t count;
    int64_t last;
    assert_int_equal(fixture_push_body(f->store, 10, 1000, &body, &count, &last, &f->error),
                     KEDGE_OK);
    assert_int_equal(count, 1);
    kedge_buffer_free(&body);
    fixture_reopen(f);
    assert_int_equal(kedge_store_cancel(f->store, sequence, &f->changes, &f->error),
                     KEDGE_CONFLICT);
    assert_int_equal(kedge_store_cancel(f->store, 99, &f->changes, &f->error), KEDGE_NOT_FOUND);
    fixture_expect(f, "a", "1");
}

/* ---- pushing ---- */

static void test_a_push_is_bounded_in_count_and_bytes_and_starts_from_the_lowest(void **state)
{
    fixture *f = *state;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    uint32_t count = 9;
    int64_t last = 0;
    assert_int_equal(fixture_push_body(f->store, 10, 1000, &body, &count, &last, &f->error),
                     KEDGE_OK);
    assert_int_equal(count, 0);
    assert_int_equal(body.size, 0);
    for (int i = 0; i < 5; i++)
        fixture_mutate(f, "set",
                       "{\"id\":\"a\",\"value\":\"0123456789012345678901234567890123456789"
                       "0123456789012345678901234567890123456789\"}");
    assert_int_equal(fixture_push_body(f->store, 2, 100000, &body, &count, &last, &f->error),
                     KEDGE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(last, 2);
    assert_int_equal(fixture_position(f).sent_through, 2);
    assert_int_equal(fixture_push_body(f->store, 100, 1, &body, &count, &last, &f->error),
                     KEDGE_OK);
    assert_int_equal(count, 1);
    assert_int_equal(last, 1);
    assert_int_equal(fixture_push_body(f->store, 100, 800, &body, &count, &last, &f->error),
                     KEDGE_OK);
    assert_in_range(count, 2, 4);
    assert_in_range(body.size, 1, 1100);
    kedge_buffer_free(&body);
}

/* ---- the inbox ---- */

/* Two edits, of which the server refuses the second. */
static int64_t be_refused(fixture *f)
{
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":0}");
    fixture_pull(f);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    int64_t sequence = fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    fixture_expect(f, "touched", "true");
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":100}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_PENDING);
    fixture_pull(f);
    return sequence;
}

static void test_a_refused_edit_waits_in_the_inbox_with_its_reason(void **state)
{
    fixture *f = *state;
    kedge_mutation_list *list;
    kedge_mutation mutation;
    int64_t sequence = be_refused(f);
    fixture_expect(f, "touched", NULL);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(fixture_position(f).pending, 0);
    fixture_reopen(f);
    assert_int_equal(kedge_store_rejected_open(f->store, &list, &f->error), KEDGE_OK);
    assert_int_equal(kedge_store_list_next(list, &mutation, &f->error), KEDGE_OK);
    assert_int_equal(mutation.sequence, sequence);
    assert_string_equal(mutation.name, "refuse-over");
    assert_string_equal(mutation.args, "{\"id\":\"n\",\"limit\":5}");
    assert_string_equal(mutation.code, "over-limit");
    assert_string_equal(mutation.message, "it is too many");
    assert_true(mutation.sent);
    assert_int_equal(kedge_store_list_next(list, &mutation, &f->error), KEDGE_DONE);
    assert_int_equal(kedge_store_list_next(list, &mutation, &f->error), KEDGE_DONE);
    kedge_store_list_close(list);
}

static void test_a_dismissed_edit_stays_rejected_and_is_shown_no_more(void **state)
{
    fixture *f = *state;
    int64_t sequence = be_refused(f);
    assert_int_equal(kedge_store_dismiss(f->store, sequence, &f->error), KEDGE_OK);
    assert_int_equal(fixture_position(f).rejected, 0);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(kedge_store_dismiss(f->store, sequence, &f->error), KEDGE_NOT_FOUND);
    assert_int_equal(kedge_store_dismiss(f->store, 1, &f->error), KEDGE_NOT_FOUND);
}

static void test_a_resubmitted_edit_is_a_new_one(void **state)
{
    fixture *f = *state;
    int64_t sequence = be_refused(f);
    int64_t again = 0;
    /* It is still too many, so it stays. */
    assert_int_equal(kedge_store_resubmit(f->store, sequence, &again, &f->changes, &f->error),
                     KEDGE_REJECTED);
    assert_int_equal(fixture_position(f).rejected, 1);
    fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":0}");
    assert_int_equal(kedge_store_resubmit(f->store, sequence, &again, &f->changes, &f->error),
                     KEDGE_OK);
    assert_true(again > sequence);
    assert_int_equal(fixture_position(f).rejected, 0);
    fixture_expect(f, "touched", "true");
    assert_int_equal(kedge_store_resubmit(f->store, sequence, &again, &f->changes, &f->error),
                     KEDGE_NOT_FOUND);
    fixture_sync(f);
    fixture_expect_canonical(f, "touched", "true");
    assert_int_equal(fixture_outcome(f, again), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_REJECTED);
}

static void test_a_sequence_that_was_never_given_out_is_unknown(void **state)
{
    fixture *f = *state;
    kedge_outcome outcome;
    assert_int_equal(kedge_store_outcome(f->store, 1, &outcome, &f->error), KEDGE_NOT_FOUND);
    assert_int_equal(kedge_store_outcome(f->store, 0, &outcome, &f->error), KEDGE_NOT_FOUND);
}

/* ---- pages ---- */

static void test_a_first_pull_by_pages_goes_on_where_it_stopped(void **state)
{
    fixture *f = *state;
    char args[64];
    f->server->paged = true;
    for (int i = 0; i < 10; i++) {
        snprintf(args, sizeof args, "{\"id\":\"item%d\",\"value\":%d}", i, i);
        naive_server_edit(f->server, "set", args);
    }
    fixture_mutate(f, "add", "{\"id\":\"item3\",\"by\":100}");
    kedge_apply_result result;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_PAGES);
    assert_int_equal(fixture_try_page(f, &result), KEDGE_OK);
    assert_int_equal(fixture_try_page(f, &result), KEDGE_OK);
    fixture_reopen(f);
    kedge_store_position position = fixture_position(f);
    assert_int_equal(position.staged_version, 10);
    assert_true(position.resyncing);
    assert_int_equal(position.version, 0);
    fixture_expect(f, "item3", "100");
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    assert_true(kedge_store_staged_after(f->store, &after));
    assert_string_equal(after.data, "notes/item5");
    /* Another edit in the meantime changes nothing of what is paged. */
    naive_server_edit(f->server, "set", "{\"id\":\"item0\",\"value\":77}");
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":1}");
    while (result == KEDGE_APPLY_PAGES)
        assert_int_equal(fixture_try_page(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_DONE);
    assert_true(f->changes.all);
    assert_false(kedge_store_staged_after(f->store, &after));
    kedge_buffer_free(&after);
    assert_int_equal(fixture_position(f).version, 10);
    assert_false(fixture_position(f).resyncing);
    fixture_expect(f, "item3", "103");
    fixture_expect(f, "item0", "0");
    fixture_check(f);
    fixture_sync(f);
    fixture_expect(f, "item0", "77");
}

static void test_outcomes_that_came_with_a_snapshot_count_when_it_is_complete(void **state)
{
    fixture *f = *state;
    f->server->paged = true;
    for (int i = 0; i < 5; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"id\":\"item%d\",\"value\":%d}", i, i);
        naive_server_edit(f->server, "set", args);
    }
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    int64_t refused = fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":10}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    kedge_apply_result result;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(fixture_position(f).pending, 2);
    assert_int_equal(fixture_position(f).rejected, 0);
    while (result == KEDGE_APPLY_PAGES) {
        fixture_reopen(f);
        assert_int_equal(fixture_try_page(f, &result), KEDGE_OK);
    }
    assert_int_equal(fixture_position(f).pending, 0);
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(fixture_outcome(f, refused), KEDGE_OUTCOME_REJECTED);
    fixture_expect(f, "n", "11");
    fixture_check(f);
}

static void test_pages_of_a_version_that_is_gone_are_dropped(void **state)
{
    fixture *f = *state;
    f->server->paged = true;
    for (int i = 0; i < 5; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"id\":\"item%d\",\"value\":%d}", i, i);
        naive_server_edit(f->server, "set", args);
    }
    kedge_apply_result result;
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(fixture_try_page(f, &result), KEDGE_OK);
    assert_int_equal(kedge_store_unstage(f->store, &f->error), KEDGE_OK);
    assert_int_equal(fixture_position(f).staged_version, 0);
    assert_false(fixture_position(f).resyncing);
    fixture_pull(f);
    fixture_check(f);
}

static void test_a_page_of_another_version_is_stale(void **state)
{
    fixture *f = *state;
    kedge_wire_page_response page = {.version = 4, .last = true};
    kedge_apply_result result;
    assert_int_equal(kedge_store_stage(f->store, &page, &result, &f->changes, &f->error), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_STALE);
}

#define LARGE_ITEMS 60
#define LARGE_BYTES 8000

/* Items that are confirmed, so that the outbox does not have them any more. */
static void sync_large_items(fixture *f)
{
    char args[LARGE_BYTES + 64];
    for (int i = 0; i < LARGE_ITEMS; i++) {
        int start = snprintf(args, sizeof args, "{\"id\":\"item%02d\",\"value\":\"", i);
        memset(args + start, 'x', LARGE_BYTES);
        memcpy(args + start + LARGE_BYTES, "\"}", sizeof "\"}");
        fixture_mutate(f, "set", args);
    }
    fixture_sync(f);
}

/* As if the version that the client has were too old for a delta. */
static void pull_snapshot(fixture *f, kedge_apply_result *result)
{
    kedge_wire_pull_request request;
    kedge_wire_pull_response response = {0};
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_store_pull_request(f->store, &request, &f->error), KEDGE_OK);
    request.cookie = (kedge_wire_cookie){.kind = KEDGE_WIRE_COOKIE_NULL};
    kedge_wire_pull_request_write(&request, &body);
    naive_server_pull(f->server, kedge_buffer_bytes(&body), &text);
    assert_int_equal(kedge_wire_pull_response_read(&kedge_allocator_default,
                                                   kedge_buffer_bytes(&text), &response, &f->error),
                     KEDGE_OK);
    assert_int_equal(kedge_store_apply(f->store, &response, result, &f->changes, &f->error),
                     KEDGE_OK);
    kedge_wire_pull_response_free(&response);
    kedge_buffer_free(&body);
    kedge_buffer_free(&text);
}

static int pages_written(const fixture *f)
{
    int pages = 0;
    int highest = 0;
    assert_int_equal(
        sqlite3_db_status(f->store->cache.handle, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 0),
        SQLITE_OK);
    return pages;
}

/* Edits wait while it does. */
static void test_the_last_page_of_a_snapshot_does_not_write_the_state_that_it_replaces(void **state)
{
    fixture *f = *state;
    f->server->paged = true;
    f->server->page_items = LARGE_ITEMS - 1;
    sync_large_items(f);
    kedge_apply_result result;
    pull_snapshot(f, &result);
    assert_int_equal(result, KEDGE_APPLY_PAGES);
    assert_int_equal(fixture_try_page(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_PAGES);
    int before = pages_written(f);
    assert_int_equal(fixture_try_page(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_DONE);
    assert_in_range(pages_written(f) - before, 1,
                    LARGE_ITEMS * LARGE_BYTES / KEDGE_STORE_PAGE_BYTES / 4);
    fixture_check(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_edit_is_read_back_at_once_and_after_reopening),
        TEST(test_a_confirmed_edit_is_canonical_and_no_longer_pending),
        TEST(test_pending_edits_are_replayed_on_what_others_did),
        TEST(test_a_new_edit_lies_over_older_ones_until_each_is_confirmed),
        TEST(test_an_item_deleted_elsewhere_is_gone_and_a_pending_edit_brings_it_back),
        TEST(test_an_edit_that_walks_over_a_collection_is_predicted_anew),
        TEST(test_an_edit_that_the_mutator_refuses_is_never_kept),
        TEST(test_args_over_the_limit_are_refused),
        TEST(test_the_changes_of_a_commit_are_the_keys_whose_visible_value_changed),
        TEST(test_an_edit_that_was_not_sent_can_be_taken_back),
        TEST(test_an_edit_that_was_sent_is_not_taken_back),
        TEST(test_a_push_is_bounded_in_count_and_bytes_and_starts_from_the_lowest),
        TEST(test_a_refused_edit_waits_in_the_inbox_with_its_reason),
        TEST(test_a_dismissed_edit_stays_rejected_and_is_shown_no_more),
        TEST(test_a_resubmitted_edit_is_a_new_one),
        TEST(test_a_sequence_that_was_never_given_out_is_unknown),
        TEST(test_a_first_pull_by_pages_goes_on_where_it_stopped),
        TEST(test_outcomes_that_came_with_a_snapshot_count_when_it_is_complete),
        TEST(test_pages_of_a_version_that_is_gone_are_dropped),
        TEST(test_a_page_of_another_version_is_stale),
        TEST(test_the_last_page_of_a_snapshot_does_not_write_the_state_that_it_replaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
