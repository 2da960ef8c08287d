/* What of the registry may be pushed. */
#include "mutate/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static kedge_status do_nothing(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    return KEDGE_OK;
}

/* In front of the built-in names and after them. */
static const kedge_mutator mutators[] = {{"app", 1, do_nothing, NULL},
                                         {"zoom", 1, do_nothing, NULL}};

static int set_up(void **state)
{
    kedge_registry *registry;
    kedge_status status = kedge_registry_new(&kedge_allocator_default, mutators,
                                             sizeof mutators / sizeof mutators[0], &registry, NULL);
    *state = registry;
    return status == KEDGE_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    kedge_registry_free(*state);
    return 0;
}

static const char *forbidden(const kedge_registry *registry, const char *name, const char *args)
{
    return kedge_registry_forbidden(registry, kedge_bytes_of(name), kedge_bytes_of(args));
}

static void test_of_the_built_in_mutators_those_that_are_allowed_may_be_pushed(void **state)
{
    kedge_registry *registry = *state;
    assert_null(forbidden(registry, "kedge.put", "{}"));
    kedge_registry_forbid_builtins(registry);
    assert_string_equal(forbidden(registry, "kedge.put", "{}"), "kedge.put");
    assert_string_equal(forbidden(registry, "kedge.merge", "{}"), "kedge.merge");
    assert_null(forbidden(registry, "kedge.noop", "null"));
    assert_null(forbidden(registry, "app", "{}"));
    assert_null(forbidden(registry, "zoom", "{}"));
    assert_null(forbidden(registry, "kedge.unknown", "{}"));
    assert_true(kedge_registry_allow_builtin(registry, KEDGE_BYTES("kedge.put")));
    assert_null(forbidden(registry, "kedge.put", "{}"));
    assert_string_equal(forbidden(registry, "kedge.merge", "{}"), "kedge.merge");
}

static void test_only_a_built_in_mutator_can_be_allowed(void **state)
{
    kedge_registry *registry = *state;
    kedge_registry_forbid_builtins(registry);
    assert_false(kedge_registry_allow_builtin(registry, KEDGE_BYTES("app")));
    assert_false(kedge_registry_allow_builtin(registry, KEDGE_BYTES("kedge.unknown")));
    assert_string_equal(forbidden(registry, "kedge.put", "{}"), "kedge.put");
}

#define PART(name)  "{\"args\":{},\"name\":\"" name "\"}"
#define BATCH(list) "{\"mutations\":[" list "]}"

static void test_a_batch_needs_that_each_of_its_mutators_may_be_pushed(void **state)
{
    kedge_registry *registry = *state;
    static const char whole[] = BATCH(PART("app") "," PART("kedge.put") "," PART("kedge.merge"));
    kedge_registry_forbid_builtins(registry);
    assert_string_equal(forbidden(registry, KEDGE_BATCH_MUTATOR, whole), KEDGE_BATCH_MUTATOR);
    assert_true(kedge_registry_allow_builtin(registry, KEDGE_BYTES(KEDGE_BATCH_MUTATOR)));
    assert_string_equal(forbidden(registry, KEDGE_BATCH_MUTATOR, whole), "kedge.put");
    assert_null(forbidden(registry, KEDGE_BATCH_MUTATOR, BATCH(PART("app") "," PART("zoom"))));
    /* A mutator that is unknown is refused elsewhere; args that are no batch's, by its mutator. */
    assert_null(forbidden(registry, KEDGE_BATCH_MUTATOR, BATCH(PART("unknown"))));
    assert_null(forbidden(registry, KEDGE_BATCH_MUTATOR, "{\"mutations\":7}"));
    assert_null(forbidden(registry, "app", whole));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_of_the_built_in_mutators_those_that_are_allowed_may_be_pushed),
        TEST(test_only_a_built_in_mutator_can_be_allowed),
        TEST(test_a_batch_needs_that_each_of_its_mutators_may_be_pushed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
