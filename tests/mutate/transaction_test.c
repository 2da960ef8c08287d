/* The transaction: savepoints, what wins when a mutator ends, borrowed outputs, budgets. */
#include "common/json.h"
#include "mutate/builtin.h"
#include "mutate/transaction.h"

#include "common/error.h"
#include "tests/mutate/tx_fixture.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- mutators, each one way to behave ---- */

static kedge_status put_text(kedge_tx *tx, const char *id, const char *value, kedge_error *error)
{
    return kedge_tx_put(tx, "c", id, strlen(id), value, strlen(value), error);
}

static kedge_status puts_then_refuses(kedge_tx *tx, const char *args, size_t args_size,
                                      void *userdata, kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    kedge_status status = put_text(tx, "1", "1", error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_reject(tx, "not-today", "come back tomorrow", NULL);
}

/* Hides every failure that it meets. */
static kedge_status careless(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata, (void)error;
    const char *value;
    size_t size;
    kedge_tx_get(tx, "c", "1", 1, &value, &size, NULL);
    put_text(tx, "2", "2", NULL);
    return KEDGE_OK;
}

static kedge_status refuses_whatever_happened(kedge_tx *tx, const char *args, size_t args_size,
                                              void *userdata, kedge_error *error)
{
    careless(tx, args, args_size, userdata, error);
    return kedge_tx_reject(tx, "refused", "always", error);
}

static kedge_status passes_failures_on(kedge_tx *tx, const char *args, size_t args_size,
                                       void *userdata, kedge_error *error)
{
    (void)userdata, (void)error;
    if (args_size == 4) return put_text(tx, "1", "{broken", NULL);
    return kedge_tx_put(tx, "no/collection", "1", 1, args, args_size, NULL);
}

static kedge_status returns_nonsense(kedge_tx *tx, const char *args, size_t args_size,
                                     void *userdata, kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)error;
    return *(kedge_status *)userdata;
}

/* Doubles each item's name after itself, writing while it walks. */
static kedge_status walks_and_writes(kedge_tx *tx, const char *args, size_t args_size,
                                     void *userdata, kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    const char *id = NULL;
    const char *value;
    size_t id_size = 0;
    size_t size;
    kedge_status status;
    while ((status = kedge_tx_next(tx, "c", id, id_size, &id, &id_size, &value, &size, error)) ==
           KEDGE_OK) {
        status = kedge_tx_put(tx, "d", id, id_size, value, size, error);
        if (status == KEDGE_OK) status = kedge_tx_delete(tx, "c", id, id_size, error);
        if (status != KEDGE_OK) return status;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status writes_many(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error)
{
    (void)args, (void)args_size, (void)error;
    char id[16];
    for (int i = 0; i < *(int *)userdata; i++) {
        snprintf(id, sizeof id, "%d", i);
        put_text(tx, id, "0", NULL);
    }
    return KEDGE_OK;
}

static kedge_status calls_for_ever(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                   kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata, (void)error;
    const char *value;
    size_t size;
    kedge_status status = KEDGE_NOT_FOUND;
    while (status == KEDGE_NOT_FOUND) {
        status = kedge_tx_get(tx, "c", "x", 1, &value, &size, NULL);
    }
    return KEDGE_OK;
}

static kedge_status records_its_caller(kedge_tx *tx, const char *args, size_t args_size,
                                       void *userdata, kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    char value[128];
    const kedge_caller *caller = kedge_tx_caller(tx);
    snprintf(value, sizeof value, "\"%s %s %s %lld\"", caller->user, caller->role, caller->client,
             (long long)caller->now_ms);
    return put_text(tx, "caller", value, error);
}

static kedge_status nonsense = KEDGE_NO_MEMORY;
static int many;

static const kedge_mutator mutators[] = {
    {"puts_then_refuses", 1, puts_then_refuses, NULL},
    {"careless", 1, careless, NULL},
    {"refuses_whatever_happened", 1, refuses_whatever_happened, NULL},
    {"passes_failures_on", 1, passes_failures_on, NULL},
    {"returns_nonsense", 1, returns_nonsense, &nonsense},
    {"walks_and_writes", 1, walks_and_writes, NULL},
    {"writes_many", 1, writes_many, &many},
    {"calls_for_ever", 1, calls_for_ever, NULL},
    {"records_its_caller", 1, records_its_caller, NULL},
};

static int open_fixture(void **state)
{
    return tx_fixture_set_up_with(state, mutators, sizeof mutators / sizeof mutators[0]);
}

static void put_below(tx_fixture *fixture, const char *id, const char *value)
{
    assert_int_equal(kedge_overlay_put(fixture->below, KEDGE_BYTES("c"), kedge_bytes_of(id),
                                       kedge_bytes_of(value), NULL),
                     KEDGE_OK);
}

static void refuses(tx_fixture *fixture, const char *name, const char *args, const char *code)
{
    assert_int_equal(tx_fixture_run(fixture, name, args), KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, code);
    assert_int_equal(fixture->error.status, KEDGE_REJECTED);
    assert_true(fixture->error.message[0] != '\0');
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
}

/* ---- the tests ---- */

static void test_a_mutation_that_fails_leaves_nothing_behind(void **state)
{
    tx_fixture *fixture = *state;
    refuses(fixture, "puts_then_refuses", "null", "not-today");
    assert_string_equal(fixture->error.message, "come back tomorrow");
    assert_int_equal(tx_fixture_run(fixture, "careless", "null"), KEDGE_OK);
    assert_string_equal(tx_fixture_item(fixture, "c", "2"), "2");
}

static void test_an_unknown_mutator_is_a_rejection(void **state)
{
    tx_fixture *fixture = *state;
    refuses(fixture, "no.such", "null", "mutator-unknown");
    assert_non_null(strstr(fixture->error.message, "no.such"));
    refuses(fixture, "", "null", "mutator-unknown");
}

static void test_a_failed_read_wins_over_whatever_the_mutator_says(void **state)
{
    tx_fixture *fixture = *state;
    fixture->fail_read = 1;
    assert_int_equal(tx_fixture_run(fixture, "careless", "null"), KEDGE_IO);
    assert_string_equal(fixture->error.code, "read-failed");
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
    fixture->fail_read = 1;
    assert_int_equal(tx_fixture_run(fixture, "refuses_whatever_happened", "null"), KEDGE_IO);
    assert_int_equal(tx_fixture_run(fixture, "careless", "null"), KEDGE_OK);
}

static void test_a_failure_that_is_passed_on_becomes_a_rejection_with_its_code(void **state)
{
    tx_fixture *fixture = *state;
    refuses(fixture, "passes_failures_on", "7", "collection-invalid");
    assert_int_equal(tx_fixture_run(fixture, "passes_failures_on", "null"), KEDGE_REJECTED);
    assert_string_not_equal(fixture->error.code, "mutator-failed");
}

static void test_a_status_that_no_call_gave_is_a_failed_mutator(void **state)
{
    tx_fixture *fixture = *state;
    nonsense = KEDGE_IO;
    refuses(fixture, "returns_nonsense", "null", "mutator-failed");
    nonsense = (kedge_status)77;
    refuses(fixture, "returns_nonsense", "null", "mutator-failed");
    nonsense = KEDGE_REJECTED;
    refuses(fixture, "returns_nonsense", "null", "mutator-failed");
}

/* The next try may have the memory. */
static void test_a_mutator_that_lacks_memory_is_not_decided(void **state)
{
    tx_fixture *fixture = *state;
    nonsense = KEDGE_NO_MEMORY;
    assert_int_equal(tx_fixture_run(fixture, "returns_nonsense", "null"), KEDGE_NO_MEMORY);
    assert_int_equal(tx_fixture_run(fixture, "kedge.batch",
                                    "{\"mutations\":[{\"args\":null,\"name\":\"careless\"},"
                                    "{\"args\":null,\"name\":\"returns_nonsense\"}]}"),
                     KEDGE_NO_MEMORY);
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
}

static void test_a_mutator_may_write_and_delete_while_it_walks(void **state)
{
    tx_fixture *fixture = *state;
    put_below(fixture, "", "0");
    put_below(fixture, "a", "1");
    put_below(fixture, "b", "2");
    assert_int_equal(tx_fixture_run(fixture, "walks_and_writes", "null"), KEDGE_OK);
    assert_string_equal(tx_fixture_item(fixture, "d", ""), "0");
    assert_string_equal(tx_fixture_item(fixture, "d", "a"), "1");
    assert_string_equal(tx_fixture_item(fixture, "d", "b"), "2");
    assert_null(tx_fixture_item(fixture, "c", "b"));
    assert_int_equal(kedge_overlay_count(fixture->overlay), 6);
}

static void test_a_mutation_changes_at_most_10000_items(void **state)
{
    tx_fixture *fixture = *state;
    many = KEDGE_LIMIT_MUTATION_CHANGES + 1;
    refuses(fixture, "writes_many", "null", "too-many-changes");
    many = KEDGE_LIMIT_MUTATION_CHANGES;
    assert_int_equal(tx_fixture_run(fixture, "writes_many", "null"), KEDGE_OK);
    assert_int_equal(kedge_overlay_count(fixture->overlay), KEDGE_LIMIT_MUTATION_CHANGES);
    assert_int_equal(tx_fixture_run(fixture, "writes_many", "null"), KEDGE_OK);
}

static void test_a_mutator_that_calls_for_ever_is_stopped(void **state)
{
    refuses(*state, "calls_for_ever", "null", "mutation-too-costly");
}

static void test_the_mutator_sees_who_called_and_when(void **state)
{
    tx_fixture *fixture = *state;
    assert_int_equal(tx_fixture_run(fixture, "records_its_caller", "null"), KEDGE_OK);
    assert_string_equal(tx_fixture_item(fixture, "c", "caller"),
                        "\"anna editor client-1 1700000000000\"");
}

static kedge_status accept_as_told(void *context, const kedge_overlay *overlay,
                                   kedge_overlay_mark mark, kedge_error *error)
{
    assert_int_equal(kedge_overlay_changes_since(overlay, mark), 1);
    kedge_status status = *(kedge_status *)context;
    return status == KEDGE_OK ? status : kedge_fail(error, status, "no-room", "planted");
}

static void test_the_accept_hook_has_the_last_word(void **state)
{
    tx_fixture *fixture = *state;
    kedge_status told = KEDGE_REJECTED;
    kedge_tx_set_accept(fixture->tx, accept_as_told, &told);
    refuses(fixture, "careless", "null", "no-room");
    told = KEDGE_UNAVAILABLE;
    assert_int_equal(tx_fixture_run(fixture, "careless", "null"), KEDGE_UNAVAILABLE);
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
    told = KEDGE_OK;
    assert_int_equal(tx_fixture_run(fixture, "careless", "null"), KEDGE_OK);
    assert_int_equal(kedge_overlay_count(fixture->overlay), 1);
}

static void test_args_over_8_mib_are_refused(void **state)
{
    size_t size = KEDGE_LIMIT_ARGS_BYTES + 2;
    char *args = kedge_allocate(&kedge_allocator_default, size + 1);
    memset(args, 'x', size);
    args[0] = args[size - 1] = '"';
    refuses(*state, "careless", args, "args-too-large");
    args[size - 3] = '"';
    args[size - 2] = args[size - 1] = ' ';
    assert_int_equal(tx_fixture_run(*state, "careless", args), KEDGE_OK);
    kedge_release(&kedge_allocator_default, args);
}

/* ---- the registry ---- */

static kedge_status make_registry(const kedge_mutator *given, size_t count, kedge_error *error)
{
    kedge_registry *registry = NULL;
    kedge_status status =
        kedge_registry_new(&kedge_allocator_default, given, count, &registry, error);
    if (status == KEDGE_OK) kedge_registry_free(registry);
    return status;
}

static void test_a_registry_refuses_bad_mutators_and_names_them(void **state)
{
    (void)state;
    kedge_error error = {0};
    const kedge_mutator reserved = {"kedge.mine", 1, careless, NULL};
    const kedge_mutator slashed = {"a/b", 1, careless, NULL};
    const kedge_mutator unversioned = {"mine", 0, careless, NULL};
    const kedge_mutator empty = {"mine", 1, NULL, NULL};
    const kedge_mutator twice[] = {{"mine", 1, careless, NULL}, {"mine", 2, careless, NULL}};
    assert_int_equal(make_registry(&reserved, 1, &error), KEDGE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "kedge.mine"));
    assert_int_equal(make_registry(&slashed, 1, &error), KEDGE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "a/b"));
    assert_int_equal(make_registry(&unversioned, 1, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(make_registry(&empty, 1, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(make_registry(twice, 2, &error), KEDGE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "twice"));
    assert_int_equal(make_registry(twice, 1, &error), KEDGE_OK);
}

static void test_a_batch_is_client_only_when_one_of_its_mutators_is(void **state)
{
    (void)state;
    static const struct {
        const char *name, *args;
        bool client_only;
    } cases[] = {
        {"own", "1", true},
        {"mine", "1", false},
        {"unknown", "1", false},
        {"kedge.batch", "{\"mutations\":[{\"name\":\"mine\"},{\"name\":\"own\"}]}", true},
        {"kedge.batch", "{\"mutations\":[{\"name\":\"own\"},{\"name\":\"mine\"}]}", true},
        {"kedge.batch", "{\"mutations\":[{\"name\":\"mine\"}]}", false},
        /* These are refused by whoever runs them. */
        {"kedge.batch", "{\"mutations\":[{\"name\":\"own\"},{\"name\":\"unknown\"}]}", false},
        {"kedge.batch", "{\"mutations\":[{\"name\":\"own\"},7]}", false},
    };
    const kedge_mutator mine = {"mine", 1, careless, NULL}, own = {"own", 1, careless, NULL};
    kedge_registry *registry = NULL;
    assert_int_equal(
        kedge_registry_new_for_client(&kedge_allocator_default, &mine, 1, &own, 1, &registry, NULL),
        KEDGE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (kedge_registry_is_client_only(registry, kedge_bytes_of(cases[i].name),
                                          kedge_bytes_of(cases[i].args)) != cases[i].client_only)
            fail_msg("%s %s", cases[i].name, cases[i].args);
    kedge_registry_free(registry);
}

static void test_a_registry_describes_names_and_versions_in_order(void **state)
{
    (void)state;
    const kedge_mutator given[] = {{"z", 3, careless, NULL}, {"a", 1, careless, NULL}};
    kedge_registry *registry = NULL;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, given, 2, &registry, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_registry_describe(registry, &text, NULL), KEDGE_OK);
    kedge_json_iterator entries = kedge_json_iterate(kedge_buffer_bytes(&text));
    kedge_bytes entry, before = {NULL, 0};
    size_t count = 0;
    for (; kedge_json_next_element(&entries, &entry); count++) {
        if (count > 0) assert_true(kedge_bytes_compare(before, entry) < 0);
        before = entry;
    }
    assert_int_equal(count, kedge_builtin_mutator_count + 2);
    assert_memory_equal(text.data, "[[\"a\",1],[\"kedge.apply\",1],", 27);
    assert_true(kedge_bytes_equal_text(before, "[\"z\",3]"));
    assert_int_equal(kedge_registry_find(registry, KEDGE_BYTES("z"))->version, 3);
    assert_null(kedge_registry_find(registry, KEDGE_BYTES("y")));
    kedge_buffer_free(&text);
    kedge_registry_free(registry);
}

#define runs(test) cmocka_unit_test_setup_teardown(test, open_fixture, tx_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        runs(test_a_mutation_that_fails_leaves_nothing_behind),
        runs(test_an_unknown_mutator_is_a_rejection),
        runs(test_a_failed_read_wins_over_whatever_the_mutator_says),
        runs(test_a_failure_that_is_passed_on_becomes_a_rejection_with_its_code),
        runs(test_a_status_that_no_call_gave_is_a_failed_mutator),
        runs(test_a_mutator_that_lacks_memory_is_not_decided),
        runs(test_a_mutator_may_write_and_delete_while_it_walks),
        runs(test_a_mutation_changes_at_most_10000_items),
        runs(test_a_mutator_that_calls_for_ever_is_stopped),
        runs(test_the_mutator_sees_who_called_and_when),
        runs(test_the_accept_hook_has_the_last_word),
        runs(test_args_over_8_mib_are_refused),
        cmocka_unit_test(test_a_registry_refuses_bad_mutators_and_names_them),
        cmocka_unit_test(test_a_batch_is_client_only_when_one_of_its_mutators_is),
        cmocka_unit_test(test_a_registry_describes_names_and_versions_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
