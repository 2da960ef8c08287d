/* Two copies and their server: see two_copies.h. */
#include "tests/runtime/two_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SYNC_MS 120000

const char *two_copies_server;

static kedge_db *open_copy(two_copies *at, const char *name)
{
    char path[CLIENT_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/%s", at->folder, name);
    kedge_options options = client_options(path, at->server.url);
    options.offline = true;
    return client_open(&options);
}

int two_copies_open(void **state)
{
    static two_copies at;
    *state = &at;
    client_make_folder(at.folder);
    files_path(at.data, at.folder, "server");
    server_process_start(&at.server, two_copies_server, at.data);
    at.here = open_copy(&at, "here");
    at.there = open_copy(&at, "there");
    return 0;
}

int two_copies_close(void **state)
{
    two_copies *at = *state;
    kedge_close(at->here);
    kedge_close(at->there);
    server_process_stop(&at->server);
    client_remove_folder(at->folder);
    return 0;
}

void two_copies_sync(kedge_db *db)
{
    kedge_error error = {0};
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    if (kedge_sync(db, SYNC_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
}
