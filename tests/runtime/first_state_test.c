/* The first state of a copy comes in pages of 1 MiB: what the app's log says of it. */
#include "tests/runtime/two_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VALUE_BYTES 60000
#define ITEMS       30

/* What the worker thread logs; to be read when the database is closed. */
static char lines[16384];

static void take_line(void *userdata, kedge_log_level level, const char *event, const char *message)
{
    size_t size = strlen(lines);
    (void)userdata;
    snprintf(lines + size, sizeof lines - size, "%d %s: %s\n", (int)level, event, message);
}

static void put_items(kedge_db *db)
{
    char *args = malloc(VALUE_BYTES + 100);
    assert_non_null(args);
    for (int i = 0; i < ITEMS; i++) {
        int size = snprintf(args, VALUE_BYTES + 100,
                            "{\"collection\":\"notes\",\"id\":\"n%d\",\"value\":\"%0*d\"}", i,
                            VALUE_BYTES, 0);
        assert_int_equal(kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, NULL), KEDGE_OK);
    }
    free(args);
}

/* Nothing is fetched again. */
static void test_the_first_state_is_no_resync_in_the_log(void **state)
{
    two_copies *at = *state;
    char path[CLIENT_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/third", at->folder);
    put_items(at->there);
    two_copies_sync(at->there);
    kedge_options options = client_options(path, at->server.url);
    options.offline = true;
    options.log = take_line;
    options.log_level = KEDGE_LOG_DEBUG;
    kedge_db *db = client_open(&options);
    two_copies_sync(db);
    assert_int_equal(client_count(db), ITEMS);
    kedge_close(db);
    assert_non_null(strstr(lines, ": GET snapshot?"));
    assert_non_null(strstr(lines, "2 pulled: version "));
    if (strstr(lines, "cache-resync") != NULL) fail_msg("%s", lines);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    two_copies_server = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_first_state_is_no_resync_in_the_log,
                                        two_copies_open, two_copies_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
