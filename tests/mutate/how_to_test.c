/* The example of docs/how-to/write-a-mutator.md: it works. */
#include "tests/mutate/tx_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

const kedge_mutator *kedge_plugin_mutators(size_t *count);

static void test_the_example_takes_what_is_there_and_refuses_the_rest(void **state)
{
    (void)state;
    size_t count;
    tx_fixture fixture;
    const kedge_mutator *mutators = kedge_plugin_mutators(&count);
    assert_true(tx_fixture_open(&fixture, &kedge_allocator_default, mutators, count));
    assert_int_equal(tx_fixture_run(&fixture, "kedge.put",
                                    "{\"collection\":\"shelves\",\"id\":\"7\","
                                    "\"value\":{\"count\":5,\"label\":\"oak\"}}"),
                     KEDGE_OK);
    assert_int_equal(tx_fixture_run(&fixture, "stock.take", "{\"id\":\"7\",\"count\":3}"),
                     KEDGE_OK);
    assert_string_equal(tx_fixture_item(&fixture, "shelves", "7"),
                        "{\"count\":2,\"label\":\"oak\"}");
    assert_int_equal(tx_fixture_run(&fixture, "stock.take", "{\"id\":\"7\",\"count\":3}"),
                     KEDGE_REJECTED);
    assert_string_equal(fixture.error.code, "not-enough");
    assert_int_equal(tx_fixture_run(&fixture, "stock.take", "{\"id\":\"8\",\"count\":1}"),
                     KEDGE_REJECTED);
    assert_string_equal(fixture.error.code, "item-not-found");
    assert_int_equal(tx_fixture_run(&fixture, "stock.take", "{\"id\":\"7\"}"), KEDGE_REJECTED);
    assert_string_equal(fixture.error.code, "args-invalid");
    assert_string_equal(tx_fixture_item(&fixture, "shelves", "7"),
                        "{\"count\":2,\"label\":\"oak\"}");
    tx_fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example_takes_what_is_there_and_refuses_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
