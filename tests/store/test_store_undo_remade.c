/* Undo of client-only edits that were made again after a conflict: it takes back what the newest
 * attempt did, and never what somebody else wrote. */
#include "tests/store/fixture.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct own_fixture {
    fixture f;
    kedge_registry *with; /* with the client-only mutators; `f.registry` has none */
} own_fixture;

/* Reads "n", and sets "stamp" to its args. */
static kedge_status stamp(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                          kedge_error *error)
{
    const char *value;
    size_t value_size;
    (void)userdata;
    kedge_status status = kedge_tx_get(tx, "notes", "n", 1, &value, &value_size, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    return kedge_tx_put(tx, "notes", "stamp", 5, args, args_size, error);
}

/* Writes one item, and MANY when there is "n". */
#define MANY 20
static kedge_status write_many(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    const char *value;
    size_t value_size;
    (void)userdata;
    kedge_status status = kedge_tx_get(tx, "notes", "n", 1, &value, &value_size, error);
    int count = status == KEDGE_OK ? MANY : 1;
    if (status == KEDGE_NOT_FOUND) status = KEDGE_OK;
    for (int i = 0; i < count && status == KEDGE_OK; i++) {
        char id[8];
        int size = snprintf(id, sizeof id, "m%d", i);
        status = kedge_tx_put(tx, "notes", id, (size_t)size, args, args_size, error);
    }
    return status;
}

static void begin(own_fixture *own)
{
    static kedge_mutator mutators[4];
    memset(own, 0, sizeof *own);
    fixture_begin(&own->f);
    mutators[0] = *kedge_registry_find(own->f.registry, KEDGE_BYTES("add"));
    mutators[1] = *kedge_registry_find(own->f.registry, KEDGE_BYTES("refuse-over"));
    mutators[2] = (kedge_mutator){"own-stamp", 1, stamp, NULL};
    mutators[3] = (kedge_mutator){"own-many", 1, write_many, NULL};
    mutators[0].name = "own-add";
    mutators[1].name = "own-refuse-over";
    assert_int_equal(kedge_registry_new_for_client(&kedge_allocator_default, fixture_mutators,
                                                   fixture_mutator_count, mutators, 4, &own->with,
                                                   NULL),
                     KEDGE_OK);
    own->f.options.registry = own->with;
    fixture_open(&own->f);
}

static void end(own_fixture *own)
{
    fixture_end(&own->f);
    kedge_registry_free(own->with);
}

#define ADD(by) "{\"id\":\"n\",\"by\":" #by "}"

static void begin_group(fixture *f)
{
    if (kedge_store_undo_begin(f->store, "", &f->error) != KEDGE_OK)
        fail_msg("%s", f->error.message);
}

static void end_group(fixture *f)
{
    if (kedge_store_undo_end(f->store, &f->error) != KEDGE_OK) fail_msg("%s", f->error.message);
}

static kedge_status take_back(fixture *f, bool redo)
{
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    memset(&f->error, 0, sizeof f->error);
    return kedge_store_undo(f->store, redo, &result, &f->changes, &f->error);
}

static void takes_back(fixture *f, bool redo)
{
    if (take_back(f, redo) != KEDGE_OK) fail_msg("%s", f->error.message);
}

static kedge_undo_state state_of(fixture *f)
{
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    assert_int_equal(kedge_store_undo_state(f->store, &state, NULL), KEDGE_OK);
    return state;
}

static void conflict(fixture *f, const char *name, const char *args)
{
    naive_server_edit(f->server, name, args);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    fixture_pull(f);
}

static void test_an_undo_takes_back_what_the_newest_attempt_did(void **state)
{
    own_fixture own;
    (void)state;
    begin(&own);
    fixture *f = &own.f;
    begin_group(f);
    fixture_mutate(f, "own-add", ADD(1));
    fixture_mutate(f, "own-add", ADD(20));
    end_group(f);
    conflict(f, "add", ADD(300));
    fixture_expect(f, "n", "321");
    conflict(f, "add", ADD(4000)); /* and once more */
    fixture_expect(f, "n", "4321");
    takes_back(f, false);
    fixture_expect(f, "n", "4300");
    takes_back(f, true);
    fixture_expect(f, "n", "4321");
    takes_back(f, false);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "4300");
    assert_int_equal(fixture_position(f).rejected, 0);
    end(&own);
}

static void test_an_undo_brings_back_what_others_wrote_below_the_newest_attempt(void **state)
{
    own_fixture own;
    (void)state;
    begin(&own);
    fixture *f = &own.f;
    fixture_mutate(f, "set", "{\"id\":\"stamp\",\"value\":\"A\"}");
    fixture_sync(f);
    begin_group(f);
    fixture_mutate(f, "own-stamp", "\"B\"");
    end_group(f);
    naive_server_edit(f->server, "set", "{\"id\":\"stamp\",\"value\":\"theirs\"}");
    conflict(f, "add", ADD(1));
    fixture_expect(f, "stamp", "\"B\"");
    takes_back(f, false);
    fixture_expect(f, "stamp", "\"theirs\"");
    fixture_sync(f);
    fixture_expect_canonical(f, "stamp", "\"theirs\"");
    end(&own);
}

static void test_a_group_that_is_still_open_has_the_newest_attempt(void **state)
{
    own_fixture own;
    (void)state;
    begin(&own);
    fixture *f = &own.f;
    begin_group(f);
    fixture_mutate(f, "own-add", ADD(1));
    conflict(f, "add", ADD(300));
    fixture_mutate(f, "own-add", ADD(20));
    end_group(f);
    assert_int_equal(state_of(f).undo_count, 1);
    takes_back(f, false);
    fixture_expect(f, "n", "300");
    end(&own);
}

/* The first edit comes after the second one when it is made again. What the second one had
 * replaced is not known any more. */
static void test_an_undo_leaves_what_stands_below_of_the_same_group(void **state)
{
    own_fixture own;
    (void)state;
    begin(&own);
    fixture *f = &own.f;
    begin_group(f);
    fixture_mutate(f, "own-stamp", "\"B\"");
    fixture_mutate(f, "set", "{\"id\":\"stamp\",\"value\":\"D\"}");
    fixture_mutate(f, "set", "{\"id\":\"x\",\"value\":1}");
    end_group(f);
    conflict(f, "add", ADD(1));
    fixture_expect(f, "stamp", "\"B\"");
    takes_back(f, false);
    fixture_expect(f, "stamp", "\"D\"");
    fixture_expect(f, "x", NULL);
    end(&own);
}

static void test_a_group_whose_newest_attempt_changes_nothing_is_forgotten(void **state)
{
    own_fixture own;
    (void)state;
    begin(&own);
    fixture *f = &own.f;
    begin_group(f);
    fixture_mutate(f, "own-stamp", "\"B\"");
    end_group(f);
    naive_server_edit(f->server, "set", "{\"id\":\"stamp\",\"value\":\"B\"}");
    conflict(f, "add", ADD(1));
    fixture_expect(f, "stamp", "\"B\"");
    assert_int_equal(state_of(f).undo_count, 0);
    assert_int_equal(take_back(f, false), KEDGE_NOT_FOUND);
    end(&own);
}

static void test_an_attempt_that_is_refused_leaves_nothing_to_take_back(void **state)
{
    own_fixture own;
    (void)state;
    begin(&own);
    fixture *f = &own.f;
    begin_group(f);
    fixture_mutate(f, "own-refuse-over", "{\"id\":\"n\",\"limit\":5}");
    end_group(f);
    conflict(f, "add", ADD(300));
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(take_back(f, false), KEDGE_CONFLICT);
    assert_string_equal(f->error.code, "undo-conflict");
    fixture_expect(f, "n", "300");
    end(&own);
}

static void test_what_another_process_made_again_is_not_taken_back(void **state)
{
    own_fixture own;
    kedge_store *mine = NULL, *other = NULL;
    (void)state;
    begin(&own);
    fixture *f = &own.f;
    begin_group(f);
    fixture_mutate(f, "own-stamp", "\"B\"");
    end_group(f);
    begin_group(f);
    fixture_mutate(f, "own-stamp", "\"C\"");
    fixture_mutate(f, "set", "{\"id\":\"x\",\"value\":1}");
    end_group(f);
    mine = f->store;
    if (fixture_try_open(f, f->path, &other) != KEDGE_OK) fail_msg("%s", f->error.message);
    f->store = other;
    naive_server_edit(f->server, "set", "{\"id\":\"stamp\",\"value\":\"theirs\"}");
    conflict(f, "add", ADD(1));
    f->store = mine;
    fixture_expect(f, "stamp", "\"C\"");
    takes_back(f, false);
    fixture_expect(f, "stamp", "\"C\"");
    fixture_expect(f, "x", NULL);
    assert_int_equal(take_back(f, false), KEDGE_CONFLICT);
    assert_string_equal(f->error.code, "undo-conflict");
    assert_int_equal(state_of(f).undo_count, 0);
    kedge_store_close(other);
    end(&own);
}

/* It was made between two edits of the group that are at one place. */
static void test_an_edit_of_another_process_is_in_no_group_when_it_is_made_again_here(void **state)
{
    own_fixture own;
    kedge_store *mine = NULL, *other = NULL;
    (void)state;
    begin(&own);
    fixture *f = &own.f;
    fixture_mutate(f, "set", "{\"id\":\"stamp\",\"value\":\"A\"}");
    fixture_mutate(f, "set", "{\"id\":\"x\",\"value\":0}");
    fixture_sync(f);
    mine = f->store;
    if (fixture_try_open(f, f->path, &other) != KEDGE_OK) fail_msg("%s", f->error.message);
    begin_group(f);
    fixture_mutate(f, "set", "{\"id\":\"x\",\"value\":1}");
    f->store = other;
    fixture_mutate(f, "own-stamp", "\"beside\"");
    f->store = mine;
    fixture_mutate(f, "set", "{\"id\":\"x\",\"value\":2}");
    end_group(f);
    conflict(f, "add", ADD(1));
    fixture_expect(f, "stamp", "\"beside\"");
    fixture_expect(f, "x", "2");
    takes_back(f, false);
    fixture_expect(f, "stamp", "\"beside\"");
    fixture_expect(f, "x", "0");
    kedge_store_close(other);
    end(&own);
}

/* Makes the edit again with the `nth` allocation refused, and undoes it. Returns whether one was
 * refused. */
static bool undo_without_memory(uint64_t nth)
{
    own_fixture own;
    failing_allocator memory;
    kedge_environment environment;
    kedge_apply_result result;
    begin(&own);
    fixture *f = &own.f;
    failing_allocator_init(&memory);
    environment = f->environment;
    environment.allocator = &memory.allocator;
    fixture_close(f);
    f->options.environment = &environment;
    fixture_open(f);
    fixture_mutate(f, "set", "{\"id\":\"stamp\",\"value\":\"A\"}");
    fixture_sync(f);
    begin_group(f);
    fixture_mutate(f, "own-stamp", "\"B\"");
    fixture_mutate(f, "own-many", "1");
    end_group(f);
    naive_server_edit(f->server, "set", "{\"id\":\"stamp\",\"value\":\"theirs\"}");
    naive_server_edit(f->server, "add", ADD(1));
    assert_int_equal(fixture_push(f), NAIVE_OK);
    failing_allocator_arm(&memory, nth, false);
    (void)fixture_try_pull(f, &result);
    bool refused = memory.failed > 0;
    failing_allocator_arm(&memory, 0, false);
    fixture_pull(f);
    fixture_sync(f);
    fixture_expect(f, "stamp", "\"B\"");
    fixture_expect(f, "m19", "1");
    /* Where the groups could not be kept right, there is none any more. */
    kedge_status status = take_back(f, false);
    assert_true(status == KEDGE_OK || (refused && status == KEDGE_NOT_FOUND));
    fixture_expect(f, "stamp", status == KEDGE_OK ? "\"theirs\"" : "\"B\"");
    fixture_expect(f, "m0", status == KEDGE_OK ? NULL : "1");
    fixture_expect(f, "m19", status == KEDGE_OK ? NULL : "1");
    fixture_close(f);
    assert_int_equal(memory.living, 0);
    f->options.environment = &f->environment;
    fixture_open(f);
    end(&own);
    return refused;
}

static void test_without_memory_an_undo_is_right_or_there_is_none(void **state)
{
    uint64_t nth = 0;
    (void)state;
    while (undo_without_memory(nth + 1))
        nth++;
    assert_true(nth > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_undo_takes_back_what_the_newest_attempt_did),
        cmocka_unit_test(test_an_undo_brings_back_what_others_wrote_below_the_newest_attempt),
        cmocka_unit_test(test_a_group_that_is_still_open_has_the_newest_attempt),
        cmocka_unit_test(test_an_undo_leaves_what_stands_below_of_the_same_group),
        cmocka_unit_test(test_a_group_whose_newest_attempt_changes_nothing_is_forgotten),
        cmocka_unit_test(test_an_attempt_that_is_refused_leaves_nothing_to_take_back),
        cmocka_unit_test(test_what_another_process_made_again_is_not_taken_back),
        cmocka_unit_test(test_an_edit_of_another_process_is_in_no_group_when_it_is_made_again_here),
        cmocka_unit_test(test_without_memory_an_undo_is_right_or_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
