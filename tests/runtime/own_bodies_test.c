/* Large values that a pull names by hash, with a real server: what the client shows already is not
 * fetched. */
#include "tests/runtime/two_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VALUE_BYTES 300000 /* of canonical JSON; over 64 KiB a pull names a value by its hash */
#define BODY_BYTES  240000 /* less than any of the values has as gzip, in which a body comes */

/* A JSON string that hardly compresses, another one for each seed. */
static char *make_value(char seed)
{
    uint64_t random = (uint64_t)seed;
    char *made = malloc(VALUE_BYTES + 1);
    assert_non_null(made);
    for (size_t i = 0; i < VALUE_BYTES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        char byte = (char)('#' + (random >> 33) % 92);
        made[i] = byte == '\\' ? ' ' : byte;
    }
    made[0] = made[VALUE_BYTES - 1] = '"';
    made[VALUE_BYTES] = '\0';
    return made;
}

static void put(kedge_db *db, const char *id, char seed)
{
    kedge_error error = {0};
    char *value = make_value(seed);
    char *args = malloc(VALUE_BYTES + 128);
    assert_non_null(args);
    int size = snprintf(args, VALUE_BYTES + 128,
                        "{\"collection\":\"notes\",\"id\":\"%s\",\"value\":%s}", id, value);
    if (kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    free(args);
    free(value);
}

static void check_value(kedge_db *db, const char *id, char seed)
{
    kedge_document *document = NULL;
    char *value = make_value(seed);
    assert_int_equal(kedge_get(db, "notes", id, strlen(id), &document, NULL), KEDGE_OK);
    assert_string_equal(kedge_document_json(document, NULL), value);
    kedge_document_free(document);
    free(value);
}

/* How many bodies one sync received. */
static int64_t sync_bodies(kedge_db *db)
{
    kedge_stats before = KEDGE_STATS_INIT;
    kedge_stats after = KEDGE_STATS_INIT;
    assert_int_equal(kedge_get_stats(db, &before, NULL), KEDGE_OK);
    two_copies_sync(db);
    assert_int_equal(kedge_get_stats(db, &after, NULL), KEDGE_OK);
    return (after.response_bytes - before.response_bytes) / BODY_BYTES;
}

static void test_a_client_does_not_fetch_its_own_large_values(void **state)
{
    const two_copies *at = *state;
    put(at->here, "a", 'x');
    put(at->here, "b", 'y');
    assert_int_equal(sync_bodies(at->here), 0);
    check_value(at->here, "a", 'x');
    check_value(at->here, "b", 'y');
    assert_int_equal(client_status(at->here).pending, 0);
    assert_int_equal(sync_bodies(at->there), 2);
    check_value(at->there, "a", 'x');
    check_value(at->there, "b", 'y');
}

/* `b`, between two of its own, is another's later value of the same size. */
static void test_a_value_that_another_client_wrote_is_fetched(void **state)
{
    const two_copies *at = *state;
    put(at->here, "b", 'x');
    two_copies_sync(at->here);
    two_copies_sync(at->there);
    put(at->there, "b", 'y');
    put(at->there, "d", 'z');
    two_copies_sync(at->there);
    put(at->here, "a", 'x');
    put(at->here, "c", 'x');
    assert_int_equal(sync_bodies(at->here), 2);
    check_value(at->here, "a", 'x');
    check_value(at->here, "b", 'y');
    check_value(at->here, "c", 'x');
    check_value(at->here, "d", 'z');
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_client_does_not_fetch_its_own_large_values,
                                        two_copies_open, two_copies_close),
        cmocka_unit_test_setup_teardown(test_a_value_that_another_client_wrote_is_fetched,
                                        two_copies_open, two_copies_close),
    };
    if (count != 2) return 2;
    two_copies_server = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
