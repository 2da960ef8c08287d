/* Groups of edits: their order, their labels, their bounds, and which edits are in none. */
#include "tests/store/fixture.h"

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
    kedge_store_undo_state(f->store, &state);
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
    begin_group(&f, "");
    fixture_mutate(&f, "kedge.put", args);
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"2\",\"value\":1}");
    assert_int_equal(kedge_store_undo_end(f.store, &f.error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(f.error.code, "undo-too-large");
    fixture_expect(&f, "2", "1");
    assert_int_equal(state_of(&f).undo_count, 0);
    assert_false(state_of(&f).open);
    free(args);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_have_their_order_labels_and_bounds),
        cmocka_unit_test(test_a_group_over_its_bounds_stands_and_cannot_be_undone),
        cmocka_unit_test(test_edits_outside_a_group_and_refused_ones_are_in_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
