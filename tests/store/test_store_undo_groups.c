/* Groups of edits: their order, their labels, their bounds, and which edits are in none: those of
 * others, and those that did nothing in the end. */
#include "tests/store/fixture.h"

#include "sdk/store/store_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void begin_group(fixture *f, const char *label)
{
    if (kedge_store_undo_begin(f->store, label, &f->error) != KEDGE_OK)
        fail_msg("%s", f->error.message);
}

static void end_group(fixture *f)
{
    if (kedge_store_undo_end(f->store, &f->error) != KEDGE_OK) fail_msg("%s", f->error.message);
}

static kedge_status take_back(fixture *f, bool redo, kedge_undo_result *result)
{
    memset(&f->error, 0, sizeof f->error);
    return kedge_store_undo(f->store, redo, result, &f->changes, &f->error);
}

static void takes_back(fixture *f, bool redo)
{
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    if (take_back(f, redo, &result) != KEDGE_OK) fail_msg("%s", f->error.message);
    assert_true(result.sequence > 0);
    assert_int_equal(result.kept, 0);
}

static kedge_undo_state state_of(fixture *f)
{
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    assert_int_equal(kedge_store_undo_state(f->store, &state, NULL), KEDGE_OK);
    return state;
}

static void test_groups_have_their_order_labels_and_bounds(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_open(&f);
    assert_int_equal(kedge_store_undo_end(f.store, &f.error), KEDGE_CONFLICT);
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":-1}");
    for (int i = 0; i <= KEDGE_LIMIT_UNDO_GROUPS; i++) {
        char args[128], label[32];
        snprintf(label, sizeof label, "group %d", i);
        begin_group(&f, label);
        assert_true(state_of(&f).open);
        assert_int_equal(kedge_store_undo_begin(f.store, "", &f.error), KEDGE_CONFLICT);
        assert_string_equal(f.error.code, "undo-open");
        assert_int_equal(take_back(&f, false, &(kedge_undo_result)KEDGE_UNDO_RESULT_INIT),
                         KEDGE_CONFLICT);
        snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"1\",\"value\":%d}", i);
        fixture_mutate(&f, "kedge.put", args);
        end_group(&f);
    }
    kedge_undo_state groups = state_of(&f);
    assert_int_equal(groups.undo_count, KEDGE_LIMIT_UNDO_GROUPS);
    assert_string_equal(groups.undo_label, "group 100");
    for (int i = 0; i < KEDGE_LIMIT_UNDO_GROUPS; i++)
        takes_back(&f, false);
    fixture_expect(&f, "1", "0"); /* the oldest group was forgotten */
    groups = state_of(&f);
    assert_int_equal(groups.undo_count, 0);
    assert_int_equal(groups.redo_count, KEDGE_LIMIT_UNDO_GROUPS);
    assert_string_equal(groups.redo_label, "group 1");
    begin_group(&f, "new");
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"2\",\"value\":1}");
    end_group(&f);
    assert_int_equal(state_of(&f).redo_count, 0);
    fixture_end(&f);
}

static void test_a_group_over_its_bounds_stands_and_cannot_be_undone(void **state)
{
    (void)state;
    fixture f;
    size_t size = KEDGE_LIMIT_UNDO_GROUP_BYTES + 200;
    char *args = malloc(size);
    assert_non_null(args);
    fixture_begin(&f);
    fixture_open(&f);
    int head = snprintf(args, size, "{\"collection\":\"notes\",\"id\":\"1\",\"value\":\"");
    memset(args + head, 'x', KEDGE_LIMIT_UNDO_GROUP_BYTES);
    snprintf(args + head + KEDGE_LIMIT_UNDO_GROUP_BYTES, 100, "\"}");
    begin_group(&f, "before");
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"3\",\"value\":1}");
    end_group(&f);
    begin_group(&f, "");
    fixture_mutate(&f, "kedge.put", args);
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"2\",\"value\":1}");
    assert_int_equal(kedge_store_undo_end(f.store, &f.error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(f.error.code, "undo-too-large");
    fixture_expect(&f, "2", "1");
    assert_int_equal(state_of(&f).undo_count, 0); /* what was done before it neither */
    assert_false(state_of(&f).open);
    free(args);
    fixture_end(&f);
}

/* A key of control characters has six times its bytes in JSON, and each path has it. */
static void test_a_group_whose_args_would_be_too_large_is_not_undone(void **state)
{
    (void)state;
    fixture f;
    const size_t keys = 300000;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&args, "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"");
    for (size_t i = 0; i < keys; i++)
        kedge_buffer_append_text(&args, "\\u0001");
    size_t head = args.size;
    kedge_buffer_append_text(&args, "\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}}}");
    assert_false(args.no_memory);
    fixture_begin(&f);
    fixture_open(&f);
    fixture_mutate(&f, "kedge.put", args.data);
    kedge_buffer_truncate(&args, head);
    kedge_buffer_append_text(&args, "\":{\"a\":2,\"b\":2,\"c\":2,\"d\":2,\"e\":2}}}");
    begin_group(&f, "");
    fixture_mutate(&f, "kedge.put", args.data);
    end_group(&f);
    assert_int_equal(take_back(&f, false, &result), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(f.error.code, "args-too-large");
    assert_int_equal(take_back(&f, false, &result), KEDGE_NOT_FOUND);
    kedge_buffer_free(&args);
    fixture_end(&f);
}

/* The next edit that it makes has this id. */
static void set_next_id(fixture *f, int64_t id)
{
    kedge_outbox_meta meta;
    kedge_store_db *outbox = &f->store->outbox;
    assert_int_equal(kedge_store_db_begin(outbox, NULL), KEDGE_OK);
    assert_int_equal(kedge_outbox_meta_read(outbox, &meta, NULL), KEDGE_OK);
    meta.highest_id = id - 1;
    assert_int_equal(kedge_outbox_meta_write(outbox, &meta, NULL), KEDGE_OK);
    assert_int_equal(kedge_store_db_commit(outbox, NULL), KEDGE_OK);
}

static void test_a_group_stays_when_another_limit_than_that_of_its_args_refuses_it(void **state)
{
    (void)state;
    fixture f;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    fixture_begin(&f);
    fixture_open(&f);
    begin_group(&f, "");
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":1}");
    end_group(&f);
    set_next_id(&f, KEDGE_LIMIT_MUTATION_ID + 1);
    assert_int_equal(take_back(&f, false, &result), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(f.error.code, "mutation-ids-exhausted");
    assert_int_equal(state_of(&f).undo_count, 1);
    set_next_id(&f, 2);
    assert_int_equal(take_back(&f, false, &result), KEDGE_OK);
    fixture_end(&f);
}

static void test_edits_outside_a_group_and_refused_ones_are_in_none(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_open(&f);
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":1}");
    begin_group(&f, "");
    assert_int_equal(kedge_store_mutate(f.store, KEDGE_BYTES("refuse"), KEDGE_BYTES("{}"), NULL,
                                        &f.changes, &f.error),
                     KEDGE_REJECTED);
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":1}");
    end_group(&f);
    assert_int_equal(state_of(&f).undo_count, 0);
    assert_int_equal(take_back(&f, false, &(kedge_undo_result)KEDGE_UNDO_RESULT_INIT),
                     KEDGE_NOT_FOUND);
    assert_string_equal(f.error.code, "nothing-to-undo");
    assert_int_equal(take_back(&f, true, &(kedge_undo_result)KEDGE_UNDO_RESULT_INIT),
                     KEDGE_NOT_FOUND);
    assert_string_equal(f.error.code, "nothing-to-redo");
    fixture_end(&f);
}

/* ---- edits that did nothing in the end ---- */

#define TEN  "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"n\":10}}"
#define TEXT "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"n\":\"ten\"}}"
#define ADD  "{\"collection\":\"notes\",\"id\":\"1\",\"add\":{\"n\":5}}"

/* Returns the sequence of an increment, alone in its group. */
static int64_t add_to_ten(fixture *f)
{
    fixture_begin(f);
    fixture_open(f);
    fixture_mutate(f, "kedge.put", TEN);
    fixture_sync(f);
    begin_group(f, "");
    int64_t sequence = fixture_mutate(f, "kedge.increment", ADD);
    end_group(f);
    fixture_expect(f, "1", "{\"n\":15}");
    return sequence;
}

static void cancel(fixture *f, kedge_store *store, int64_t sequence)
{
    if (kedge_store_cancel(store, sequence, &f->changes, &f->error) != KEDGE_OK)
        fail_msg("%s", f->error.message);
}

static void test_a_cancelled_increment_is_not_subtracted(void **state)
{
    fixture f;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    (void)state;
    int64_t sequence = add_to_ten(&f);
    cancel(&f, f.store, sequence);
    assert_int_equal(state_of(&f).undo_count, 0);
    assert_int_equal(take_back(&f, false, &result), KEDGE_NOT_FOUND);
    fixture_expect(&f, "1", "{\"n\":10}");
    fixture_end(&f);
}

static void test_a_cancelled_undo_is_not_redone(void **state)
{
    fixture f;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    (void)state;
    (void)add_to_ten(&f);
    fixture_sync(&f);
    assert_int_equal(take_back(&f, false, &result), KEDGE_OK);
    fixture_expect(&f, "1", "{\"n\":10}");
    cancel(&f, f.store, result.sequence);
    fixture_expect(&f, "1", "{\"n\":15}");
    assert_int_equal(take_back(&f, true, &result), KEDGE_NOT_FOUND);
    fixture_expect(&f, "1", "{\"n\":15}");
    fixture_end(&f);
}

static void test_an_increment_that_another_process_cancelled_is_not_subtracted(void **state)
{
    fixture f;
    kedge_store *other = NULL;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    (void)state;
    int64_t sequence = add_to_ten(&f);
    assert_int_equal(fixture_try_open(&f, f.path, &other), KEDGE_OK);
    cancel(&f, other, sequence);
    if (*state != NULL) fixture_sync(&f);
    assert_int_equal(take_back(&f, false, &result), KEDGE_CONFLICT);
    assert_string_equal(f.error.code, "undo-conflict");
    fixture_expect(&f, "1", "{\"n\":10}");
    kedge_store_close(other);
    fixture_end(&f);
}

static void test_nor_is_it_once_the_server_has_decided_what_holds_its_place(void **state)
{
    void *synced = state;
    test_an_increment_that_another_process_cancelled_is_not_subtracted(&synced);
}

/* The group leads from A over B, which is cancelled, to C. */
static void test_a_value_behind_a_cancelled_one_is_taken_back(void **state)
{
    fixture f;
    (void)state;
    fixture_begin(&f);
    fixture_open(&f);
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":\"A\"}");
    begin_group(&f, "");
    int64_t sequence =
        fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":\"B\"}");
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":\"C\"}");
    end_group(&f);
    cancel(&f, f.store, sequence);
    fixture_expect(&f, "1", "\"C\"");
    takes_back(&f, false);
    fixture_expect(&f, "1", "\"A\"");
    fixture_end(&f);
}

static void test_a_rejected_increment_is_not_subtracted(void **state)
{
    fixture f;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    (void)state;
    int64_t sequence = add_to_ten(&f);
    naive_server_edit(f.server, "kedge.put", TEXT);
    fixture_sync(&f);
    naive_server_edit(f.server, "kedge.put", TEN);
    fixture_sync(&f);
    assert_int_equal(fixture_outcome(&f, sequence), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(take_back(&f, false, &result), KEDGE_CONFLICT);
    assert_string_equal(f.error.code, "undo-conflict");
    fixture_expect(&f, "1", "{\"n\":10}");
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_have_their_order_labels_and_bounds),
        cmocka_unit_test(test_a_group_over_its_bounds_stands_and_cannot_be_undone),
        cmocka_unit_test(test_a_group_whose_args_would_be_too_large_is_not_undone),
        cmocka_unit_test(test_a_group_stays_when_another_limit_than_that_of_its_args_refuses_it),
        cmocka_unit_test(test_edits_outside_a_group_and_refused_ones_are_in_none),
        cmocka_unit_test(test_a_cancelled_increment_is_not_subtracted),
        cmocka_unit_test(test_a_cancelled_undo_is_not_redone),
        cmocka_unit_test(test_an_increment_that_another_process_cancelled_is_not_subtracted),
        cmocka_unit_test(test_nor_is_it_once_the_server_has_decided_what_holds_its_place),
        cmocka_unit_test(test_a_value_behind_a_cancelled_one_is_taken_back),
        cmocka_unit_test(test_a_rejected_increment_is_not_subtracted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
