/* Writes the two files of a client with fixed clocks and random numbers: whatever the processor,
 * they have the same bytes. scripts/cross compares them.
 * usage: kedge_portable_folder FOLDER, which gets outbox.db and cache.db. */
#include "tests/store/outbox_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Numbers that JSON writes in all its ways, texts with and without escapes, and nothing. */
static const char *const values[] = {
    "{\"id\":\"number\",\"value\":{\"n\":[0.1,-1.5e-7,1e21,9007199254740993,-0,123456789.125]}}",
    "{\"id\":\"text\",\"value\":\"\\u00fc\\ud83d\\ude00 \\\"quoted\\\"\\n\"}",
    "{\"id\":\"\\u00fc\",\"value\":null}",
};

static void declare_index(fixture *f)
{
    kedge_bytes paths[] = {KEDGE_BYTES("n")};
    assert_int_equal(
        kedge_store_index(f->store, KEDGE_BYTES("by_n"), KEDGE_BYTES("notes"), paths, 1, &f->error),
        KEDGE_OK);
}

static void keep(const fixture *f, const char *folder, const char *name)
{
    char from[512], to[512];
    snprintf(from, sizeof from, "%s/%s", f->path, name);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    fixture_copy_file(from, to);
}

static void writes_both_files(void **state)
{
    fixture f;
    fixture_begin(&f);
    fixture_open(&f);
    declare_index(&f);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        naive_server_edit(f.server, "set", values[i]);
    fixture_pull(&f);
    outbox_fill(&f, true);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        fixture_mutate(&f, "set", values[i]);
    fixture_mutate(&f, "count-all", "{}"); /* its footprint is a range */
    fixture_close_flat(&f);
    keep(&f, *state, "outbox.db");
    keep(&f, *state, "cache.db");
    fixture_end(&f);
}

int main(int count, char **words)
{
    if (count != 2) {
        fprintf(stderr, "usage: kedge_portable_folder FOLDER\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(writes_both_files, words[1])};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
