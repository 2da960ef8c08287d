/* Two copies of a project and its kedge-server, for the tests of the runtime. The copies are
 * offline, but while they sync. */
#ifndef KEDGE_TESTS_RUNTIME_TWO_COPIES_H
#define KEDGE_TESTS_RUNTIME_TWO_COPIES_H

#include "tests/runtime/client.h"
#include "tests/support/files.h"
#include "tests/support/server_process.h"

typedef struct two_copies {
    char folder[CLIENT_PATH_SIZE]; /* of all three; that of the copy `here` is "here" in it */
    char data[FILES_PATH_BYTES];
    server_process server;
    kedge_db *here;
    kedge_db *there;
} two_copies;

/* The path of the kedge-server program. To be set first. */
extern const char *two_copies_server;

/* For cmocka: `*state` is the two_copies. */
int two_copies_open(void **state);
int two_copies_close(void **state);
/* Fails the test when it fails. */
void two_copies_sync(kedge_db *db);

#endif
