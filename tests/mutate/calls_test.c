/* The calls of a transaction: what each refuses, and that a read or an allocation that fails in any
 * of them decides nothing. */
#include "mutate/transaction.h"

#include "common/error.h"
#include "tests/mutate/tx_fixture.h"
#include "tests/support/failing_allocator.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- mutators ---- */

static kedge_status sets_the_project(kedge_tx *tx, const char *args, size_t args_size,
                                     void *userdata, kedge_error *error)
{
    (void)userdata;
    return kedge_tx_put_project(tx, args, args_size, error);
}

/* Writes the item whose id is one byte that is no UTF-8. */
static kedge_status names_an_item_badly(kedge_tx *tx, const char *args, size_t args_size,
                                        void *userdata, kedge_error *error)
{
    (void)userdata;
    return kedge_tx_put(tx, "c", "\xff", 1, args, args_size, error);
}

/* Does more than it may, and hides that. */
static kedge_status works_too_much(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                   kedge_error *error)
{
    (void)userdata, (void)error;
    kedge_tx_charge(tx, KEDGE_LIMIT_MUTATION_BYTES, NULL);
    kedge_tx_charge(tx, 1, NULL);
    kedge_tx_put(tx, "c", "1", 1, args, args_size, NULL);
    return KEDGE_OK;
}

/* Asks for what has no name, and is told so by each call. */
static kedge_status names_everything_badly(kedge_tx *tx, const char *args, size_t args_size,
                                           void *userdata, kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata, (void)error;
    const char *id, *value;
    size_t id_size, size;
    assert_int_equal(kedge_tx_next(tx, "no name", NULL, 0, &id, &id_size, &value, &size, NULL),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_tx_delete(tx, "c", "\xff", 1, NULL), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_tx_get(tx, "no name", "1", 1, &value, &size, NULL),
                     KEDGE_INVALID_ARGUMENT);
    return KEDGE_INVALID_ARGUMENT;
}

/* Goes on when it may not any more, and is refused by each call. */
static kedge_status goes_on_after_its_budget(kedge_tx *tx, const char *args, size_t args_size,
                                             void *userdata, kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata, (void)error;
    const char *id, *value;
    size_t id_size, size;
    kedge_tx_charge(tx, KEDGE_LIMIT_MUTATION_BYTES, NULL);
    kedge_tx_charge(tx, 1, NULL);
    assert_int_equal(kedge_tx_put_project(tx, "{}", 2, NULL), KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(kedge_tx_get_project(tx, &value, &size, NULL), KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(kedge_tx_delete(tx, "c", "1", 1, NULL), KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(kedge_tx_next(tx, "c", NULL, 0, &id, &id_size, &value, &size, NULL),
                     KEDGE_LIMIT_EXCEEDED);
    return KEDGE_OK;
}

static kedge_error cause;

static kedge_status cannot_tell_now(kedge_tx *tx, const char *args, size_t args_size,
                                    void *userdata, kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    return kedge_tx_postpone(tx, &cause, error);
}

/* Refuses in an error that it has filled by itself. */
static kedge_status refuses_by_itself(kedge_tx *tx, const char *args, size_t args_size,
                                      void *userdata, kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata;
    *error = cause;
    return KEDGE_REJECTED;
}

static bool went_well(kedge_status status)
{
    return status == KEDGE_OK || status == KEDGE_NOT_FOUND || status == KEDGE_DONE;
}

/* Makes each call once, and passes on what fails. */
static kedge_status makes_every_call(kedge_tx *tx, const char *args, size_t args_size,
                                     void *userdata, kedge_error *error)
{
    (void)userdata;
    const char *id, *value;
    size_t id_size, size;
    kedge_status status = kedge_tx_get_project(tx, &value, &size, error);
    if (went_well(status)) status = kedge_tx_put_project(tx, "{\"n\":1}", 7, error);
    if (went_well(status)) status = kedge_tx_get_project(tx, &value, &size, error);
    if (went_well(status)) status = kedge_tx_get(tx, "c", "1", 1, &value, &size, error);
    if (went_well(status)) status = kedge_tx_put(tx, "c", "1", 1, args, args_size, error);
    if (went_well(status)) status = kedge_tx_delete(tx, "c", "2", 1, error);
    if (went_well(status))
        status = kedge_tx_next(tx, "c", NULL, 0, &id, &id_size, &value, &size, error);
    if (went_well(status))
        status = kedge_tx_next(tx, "c", id, id_size, &id, &id_size, &value, &size, error);
    return went_well(status) ? KEDGE_OK : status;
}

static uint64_t spent;

static kedge_status makes_every_call_with_little_left(kedge_tx *tx, const char *args,
                                                      size_t args_size, void *userdata,
                                                      kedge_error *error)
{
    for (uint64_t left = spent; left > 0;) {
        uint64_t now = left < KEDGE_LIMIT_MUTATION_BYTES ? left : KEDGE_LIMIT_MUTATION_BYTES;
        kedge_tx_charge(tx, now, NULL);
        left -= now;
    }
    return makes_every_call(tx, args, args_size, userdata, error);
}

static const kedge_mutator mutators[] = {
    {"sets_the_project", 1, sets_the_project, NULL},
    {"names_an_item_badly", 1, names_an_item_badly, NULL},
    {"names_everything_badly", 1, names_everything_badly, NULL},
    {"works_too_much", 1, works_too_much, NULL},
    {"goes_on_after_its_budget", 1, goes_on_after_its_budget, NULL},
    {"cannot_tell_now", 1, cannot_tell_now, NULL},
    {"refuses_by_itself", 1, refuses_by_itself, NULL},
    {"makes_every_call", 1, makes_every_call, NULL},
    {"makes_every_call_with_little_left", 1, makes_every_call_with_little_left, NULL},
};
#define MUTATORS (sizeof mutators / sizeof mutators[0])

static int open_fixture(void **state)
{
    return tx_fixture_set_up_with(state, mutators, MUTATORS);
}

static void refuses(tx_fixture *fixture, const char *name, const char *args, const char *code)
{
    assert_int_equal(tx_fixture_run(fixture, name, args), KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, code);
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
}

static bool put_below(tx_fixture *fixture, const char *id)
{
    return kedge_overlay_put(fixture->below, KEDGE_BYTES("c"), kedge_bytes_of(id), KEDGE_BYTES("0"),
                             NULL) == KEDGE_OK;
}

/* ---- the tests ---- */

static void test_a_project_record_is_an_object(void **state)
{
    tx_fixture *fixture = *state;
    refuses(fixture, "sets_the_project", "[1]", "project-record-invalid");
    refuses(fixture, "sets_the_project", "null", "project-record-invalid");
    assert_int_equal(tx_fixture_run(fixture, "sets_the_project", "{\"b\":1,\"a\":2}"), KEDGE_OK);
    assert_string_equal(tx_fixture_item(fixture, "", ""), "{\"a\":2,\"b\":1}");
}

static void test_an_item_id_is_utf_8(void **state)
{
    refuses(*state, "names_an_item_badly", "1", "item-id-invalid");
}

static void test_a_name_that_is_none_is_refused_by_each_call(void **state)
{
    refuses(*state, "names_everything_badly", "1", "collection-invalid");
}

static void test_no_call_is_taken_after_the_budget_is_spent(void **state)
{
    refuses(*state, "works_too_much", "1", "mutation-too-costly");
    refuses(*state, "goes_on_after_its_budget", "1", "mutation-too-costly");
}

static void test_what_is_postponed_is_never_decided(void **state)
{
    tx_fixture *fixture = *state;
    static const kedge_status causes[] = {KEDGE_UNAVAILABLE, KEDGE_OK, KEDGE_REJECTED};
    static const kedge_status returned[] = {KEDGE_UNAVAILABLE, KEDGE_INTERNAL, KEDGE_INTERNAL};
    for (size_t i = 0; i < 3; i++) {
        cause = (kedge_error){.status = causes[i], .code = "not-now"};
        assert_int_equal(tx_fixture_run(fixture, "cannot_tell_now", "1"), returned[i]);
        assert_int_equal(fixture->error.status, returned[i]);
        assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
    }
}

static void test_a_rejection_needs_a_code_of_lower_case_letters_digits_and_hyphens(void **state)
{
    cause = (kedge_error){.status = KEDGE_REJECTED, .code = "", .message = "why"};
    refuses(*state, "refuses_by_itself", "1", "mutator-failed");
    cause = (kedge_error){.status = KEDGE_REJECTED, .code = "not today", .message = "why"};
    refuses(*state, "refuses_by_itself", "1", "mutator-failed");
    cause = (kedge_error){.status = KEDGE_IO, .code = "not-today", .message = "why"};
    refuses(*state, "refuses_by_itself", "1", "mutator-failed");
    cause = (kedge_error){.status = KEDGE_REJECTED, .code = "not-today", .message = "why"};
    refuses(*state, "refuses_by_itself", "1", "not-today");
}

static void test_a_read_that_fails_in_any_call_decides_nothing(void **state)
{
    tx_fixture *fixture = *state;
    assert_true(put_below(fixture, "2") && put_below(fixture, "3"));
    uint64_t failed = 0;
    for (;;) {
        fixture->fail_read = failed + 1;
        if (tx_fixture_run(fixture, "makes_every_call", "1") == KEDGE_OK) break;
        assert_int_equal(fixture->error.status, KEDGE_IO);
        assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
        failed++;
    }
    assert_true(failed >= 5);
    assert_string_equal(tx_fixture_item(fixture, "c", "1"), "1");
}

static void test_the_budget_of_bytes_ends_at_whichever_call_passes_it(void **state)
{
    tx_fixture *fixture = *state;
    assert_true(put_below(fixture, "2") && put_below(fixture, "3"));
    uint64_t left = 0;
    spent = KEDGE_LIMIT_MUTATION_BYTES + 1;
    refuses(fixture, "makes_every_call_with_little_left", "1", "mutation-too-costly");
    for (;; left++) {
        spent = KEDGE_LIMIT_MUTATION_BYTES - left;
        if (tx_fixture_run(fixture, "makes_every_call_with_little_left", "1") == KEDGE_OK) break;
        assert_int_equal(fixture->error.status, KEDGE_REJECTED);
        assert_string_equal(fixture->error.code, "mutation-too-costly");
        assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
    }
    assert_in_range(left, 10, 200);
}

static bool call_with(const kedge_allocator *allocator, void *context)
{
    (void)context;
    tx_fixture fixture;
    bool well = tx_fixture_open(&fixture, allocator, mutators, MUTATORS) &&
                put_below(&fixture, "2") && put_below(&fixture, "3");
    if (well) {
        kedge_status status = tx_fixture_run(&fixture, "makes_every_call", "{\"b\":[1],\"a\":2}");
        assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
        well = status == KEDGE_OK;
        if (!well) assert_int_equal(kedge_overlay_count(fixture.overlay), 0);
    }
    tx_fixture_close(&fixture);
    return well;
}

static void test_an_allocation_that_fails_in_any_call_decides_nothing(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(call_with, NULL, 300) > 20);
}

/* ---- the registry ---- */

static void test_a_mutator_without_a_name_and_too_many_mutators_are_refused(void **state)
{
    (void)state;
    static kedge_mutator given[KEDGE_LIMIT_MUTATORS + 1]; /* the first is wrong, the rest as well */
    kedge_registry *registry = NULL;
    kedge_error error = {0};
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, given, 2, &registry, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "mutator-invalid");
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, given, KEDGE_LIMIT_MUTATORS + 1,
                                        &registry, &error),
                     KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "too-many-mutators");
    error = (kedge_error){0};
    assert_int_equal(kedge_registry_new_for_client(&kedge_allocator_default, mutators, 1, given,
                                                   KEDGE_LIMIT_MUTATORS, &registry, &error),
                     KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "too-many-mutators");
}

#define runs(test) cmocka_unit_test_setup_teardown(test, open_fixture, tx_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        runs(test_a_project_record_is_an_object),
        runs(test_an_item_id_is_utf_8),
        runs(test_a_name_that_is_none_is_refused_by_each_call),
        runs(test_no_call_is_taken_after_the_budget_is_spent),
        runs(test_what_is_postponed_is_never_decided),
        runs(test_a_rejection_needs_a_code_of_lower_case_letters_digits_and_hyphens),
        runs(test_a_read_that_fails_in_any_call_decides_nothing),
        runs(test_the_budget_of_bytes_ends_at_whichever_call_passes_it),
        cmocka_unit_test(test_an_allocation_that_fails_in_any_call_decides_nothing),
        cmocka_unit_test(test_a_mutator_without_a_name_and_too_many_mutators_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
