/* Two clients over a slow line to a real server: one pushes an edit, and one pulls an item, which
 * take longer than the deadline of a request. The test takes a minute, and hardly computes.
 *
 *   slow_client_test PATH-OF-KEDGE-SERVER */
#include "tests/runtime/client.h"
#include "tests/support/server_process.h"
#include "tests/support/slow_line.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINE_BYTES_S 30000
#define VALUE_BYTES  1600000 /* as gzip some 1,200,000: forty seconds */
#define WAIT_MS      300000

static const char *program;

typedef struct place {
    char folders[4][CLIENT_PATH_SIZE]; /* the server's, and one for each client */
    server_process server;
    slow_line *line;
} place;

static int set_up(void **state)
{
    place *here = calloc(1, sizeof *here);
    for (size_t i = 0; i < 4; i++)
        client_make_folder(here->folders[i]);
    server_process_start(&here->server, program, here->folders[0]);
    here->line = slow_line_start(here->server.url, LINE_BYTES_S);
    *state = here;
    return 0;
}

static int tear_down(void **state)
{
    place *here = *state;
    slow_line_stop(here->line);
    server_process_stop(&here->server);
    for (size_t i = 0; i < 4; i++)
        client_remove_folder(here->folders[i]);
    free(here);
    return 0;
}

static kedge_db *open_client(place *here, int number, const char *url)
{
    kedge_options options = client_options(here->folders[number], url);
    return client_open(&options);
}

static void sync_now(kedge_db *db)
{
    kedge_error error = {0};
    if (kedge_sync(db, WAIT_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
}

/* An item that gzip makes little smaller. */
static void put_large(kedge_db *db, const char *id)
{
    static char args[VALUE_BYTES + 128];
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
    static uint64_t random = 1;
    kedge_error error = {0};
    int at =
        snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%s\",\"value\":\"", id);
    for (size_t i = 0; i < VALUE_BYTES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        args[at++] = digits[random >> 58];
    }
    memcpy(args + at, "\"}", 3);
    if (kedge_mutate(db, "kedge.put", args, strlen(args), NULL, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
}

static void check_has(kedge_db *db, const char *id)
{
    size_t size = 0;
    kedge_document *document = NULL;
    assert_int_equal(kedge_get(db, "notes", id, strlen(id), &document, NULL), KEDGE_OK);
    (void)kedge_document_json(document, &size);
    assert_int_equal(size, VALUE_BYTES + 2);
    kedge_document_free(document);
}

static void test_an_edit_and_an_item_come_over_a_line_that_is_slower_than_a_deadline(void **state)
{
    place *here = *state;
    kedge_db *near = open_client(here, 1, here->server.url);
    put_large(near, "pulled");
    sync_now(near);
    kedge_db *pulls = open_client(here, 2, slow_line_url(here->line));
    int64_t began_ms = client_now_ms();
    kedge_db *pushes = open_client(here, 3, slow_line_url(here->line));
    put_large(pushes, "pushed");
    sync_now(pulls);
    check_has(pulls, "pulled");
    assert_true(client_now_ms() - began_ms > KEDGE_LIMIT_REQUEST_DEADLINE_MS);
    sync_now(pushes);
    assert_int_equal(client_status(pushes).pending, 0);
    kedge_close(pulls);
    kedge_close(pushes);
    sync_now(near);
    check_has(near, "pushed");
    kedge_close(near);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_an_edit_and_an_item_come_over_a_line_that_is_slower_than_a_deadline, set_up,
            tear_down),
    };
    if (argc < 2) {
        fputs("usage: slow_client_test SERVER\n", stderr);
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
