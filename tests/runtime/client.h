/* What the tests of the runtime share: a folder of their own, a database in it, a few edits. */
#ifndef KEDGE_TESTS_RUNTIME_CLIENT_H
#define KEDGE_TESTS_RUNTIME_CLIENT_H

#include <kedge/kedge.h>

#define CLIENT_PATH_SIZE 64

/* A fresh folder, and its removal with all that is in it. */
void client_make_folder(char path[CLIENT_PATH_SIZE]);
void client_remove_folder(const char *path);
/* One for a single test, which cmocka makes before it and removes after it. */
extern char client_folder[CLIENT_PATH_SIZE];
int client_setup_folder(void **state); /* `*state` is the folder's path */
int client_teardown_folder(void **state);
#define CLIENT_FOLDER_TEST(test)                                                                   \
    cmocka_unit_test_setup_teardown(test, client_setup_folder, client_teardown_folder)

/* Options for organization "acme", project "plan". */
kedge_options client_options(const char *path, const char *url);
/* These fail the test when they fail. */
kedge_db *client_open(const kedge_options *options);
int64_t client_put(kedge_db *db, const char *id, const char *value); /* into "notes" */
/* The value of notes/`id`; "" when there is none. Static storage. */
const char *client_get(kedge_db *db, const char *id);
int64_t client_count(kedge_db *db); /* items of "notes" */
kedge_sync_status client_status(kedge_db *db);
/* Waits until the connection is this one; false after ten seconds. */
bool client_wait_connection(kedge_db *db, kedge_connection connection);
/* Waits until the status has an error; false after a minute. */
bool client_wait_error(kedge_db *db);
int64_t client_now_ms(void);
/* A kedge_dispatch_function that starts a thread for each piece of work. */
void client_dispatch(void *userdata, void (*function)(void *argument), void *argument);

#endif
