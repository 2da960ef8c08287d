/* The example of docs/how-to/write-a-mutator.md: it works, and it is the file that is compiled. */
#include "tests/mutate/tx_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

const kedge_mutator *kedge_plugin_mutators(size_t *count);

static const char *code_path;
static const char *text_path;

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

static size_t read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t read = fread(out, 1, size - 1, file);
    fclose(file);
    out[read] = '\0';
    return read;
}

static void test_the_page_quotes_the_file_that_is_compiled(void **state)
{
    (void)state;
    static char code[16384];
    static char text[32768];
    assert_true(read_file(code_path, code, sizeof code) > 0);
    assert_true(read_file(text_path, text, sizeof text) > 0);
    assert_non_null(strstr(text, code));
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    code_path = argv[1];
    text_path = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example_takes_what_is_there_and_refuses_the_rest),
        cmocka_unit_test(test_the_page_quotes_the_file_that_is_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
