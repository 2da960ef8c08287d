/* An outbox that is damaged while it is open: every call says so in the same words, the status
 * tells what is known, and nobody waits for what will not come. */
#include "sdk/runtime/db.h"
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define EDITS         200
#define PAGE_BYTES    4096
#define DAMAGED_PAGES 9
#define LISTS         8 /* more than readers are kept */

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    char outbox[CLIENT_PATH_SIZE + 16];
    mini_backend *backend;
    scripted_server *server;
    off_t empty_pages; /* of an outbox without edits */
    kedge_db *db;      /* offline, with its edits in outbox.db and not in the WAL */
} world;

/* Returns the number of pages. A connection that has not read yet does not know of the WAL, and its
 * checkpoint does nothing. */
static off_t checkpoint(const world *here)
{
    sqlite3 *file;
    struct stat found;
    int left = -1;
    assert_int_equal(sqlite3_open(here->outbox, &file), SQLITE_OK);
    sqlite3_busy_timeout(file, 10000);
    assert_int_equal(sqlite3_exec(file, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_wal_checkpoint_v2(file, NULL, SQLITE_CHECKPOINT_TRUNCATE, &left, NULL),
                     SQLITE_OK);
    assert_int_equal(left, 0);
    sqlite3_close(file);
    assert_int_equal(stat(here->outbox, &found), 0);
    return found.st_size / PAGE_BYTES;
}

static kedge_db *open_offline(const world *here)
{
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.offline = true;
    return client_open(&options);
}

static int make_world(void **state)
{
    world *made = calloc(1, sizeof *made);
    char id[16], value[256];
    if (made == NULL) return -1;
    client_make_folder(made->folder);
    snprintf(made->outbox, sizeof made->outbox, "%s/outbox.db", made->folder);
    made->backend = mini_backend_new();
    made->server = scripted_server_start(mini_backend_respond, made->backend);
    made->db = open_offline(made);
    made->empty_pages = checkpoint(made);
    for (int i = 0; i < EDITS; i++) {
        snprintf(id, sizeof id, "i%d", i);
        snprintf(value, sizeof value, "\"%0200d\"", i);
        client_put(made->db, id, value);
    }
    kedge_close(made->db);
    checkpoint(made);
    made->db = open_offline(made);
    *state = made;
    return 0;
}

static int end_world(void **state)
{
    world *made = *state;
    kedge_close(made->db);
    scripted_server_stop(made->server);
    mini_backend_free(made->backend);
    client_remove_folder(made->folder);
    free(made);
    return 0;
}

/* The pages that the edits added. */
static void overwrite_pages(const world *here)
{
    char page[PAGE_BYTES];
    memset(page, 0xff, sizeof page);
    int file = open(here->outbox, O_WRONLY);
    assert_true(file >= 0);
    for (off_t number = here->empty_pages; number < here->empty_pages + DAMAGED_PAGES; number++)
        assert_int_equal(pwrite(file, page, sizeof page, number * PAGE_BYTES), sizeof page);
    close(file);
}

static void expect_damage(kedge_status status, const kedge_error *error)
{
    if (status != KEDGE_CORRUPT || strcmp(error->code, "outbox-damaged") != 0)
        fail_msg("%s, \"%s\": %s", kedge_status_name(status), error->code, error->message);
}

/* Some readers may have the pages in memory; one that is opened anew reads the disk. */
static kedge_error find_damage(const world *here)
{
    kedge_mutation_list *lists[LISTS];
    kedge_error error = {0};
    kedge_status status = KEDGE_OK;
    size_t count = 0;
    overwrite_pages(here);
    while (status == KEDGE_OK && count < LISTS) {
        status = kedge_pending_open(here->db, &lists[count], &error);
        if (status == KEDGE_OK) count++;
    }
    while (count > 0)
        kedge_mutation_list_close(lists[--count]);
    expect_damage(status, &error);
    return error;
}

static int readable_of(const kedge_error *error)
{
    int readable = -1, all = -1;
    const char *says = strstr(error->message, "changed; ");
    assert_non_null(says);
    assert_int_equal(sscanf(says, "changed; %d of %d pending", &readable, &all), 2);
    assert_int_equal(all, EDITS);
    return readable;
}

static void test_every_call_that_needs_the_outbox_answers_the_same(void **state)
{
    world *here = *state;
    kedge_db *db = here->db;
    kedge_mutation_list *list = NULL;
    kedge_error first = find_damage(here);
    kedge_error errors[8] = {{0}};
    assert_true(temporary_is_named(first.message, here->outbox));
    assert_non_null(strstr(first.message, "kedge repair"));
    kedge_status responses[] = {
        kedge_mutate(db, "kedge.noop", "null", 4, NULL, &errors[0]),
        kedge_cancel(db, 3, &errors[1]),
        kedge_sync(db, 100, &errors[2]),
        kedge_wait(db, 3, 100, NULL, &errors[3]),
        kedge_rejected_open(db, &list, &errors[4]),
        kedge_rejected_dismiss(db, 3, &errors[5]),
        kedge_rejected_resubmit(db, 3, NULL, &errors[6]),
        kedge_rejected_dismiss_through(db, 3, NULL, &errors[7]),
    };
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        expect_damage(responses[i], &errors[i]);
        assert_string_equal(errors[i].message, first.message);
    }
    assert_int_equal(strlen(client_get(db, "i3")), 202);
}

static void test_the_status_tells_what_is_known_and_why_it_stopped(void **state)
{
    world *here = *state;
    kedge_sync_status before = client_status(here->db);
    kedge_error error = find_damage(here);
    kedge_sync_status status = client_status(here->db);
    assert_int_equal(status.connection, KEDGE_STOPPED);
    assert_int_equal(status.last_error.status, KEDGE_CORRUPT);
    assert_string_equal(status.last_error.message, error.message);
    assert_int_equal(status.pending, EDITS);
    assert_string_equal(status.client, before.client);
    assert_int_equal(kedge_set_online(here->db, true, NULL), KEDGE_OK);
    assert_int_equal(client_status(here->db).connection, KEDGE_STOPPED);
}

static void test_what_can_be_read_is_counted_on_the_disk(void **state)
{
    world *here = *state;
    kedge_error error = find_damage(here);
    assert_in_range(readable_of(&error), 1, EDITS - 1);
    kedge_close(here->db);
    here->db = NULL;
    kedge_options options = client_options(here->folder, NULL);
    kedge_error reopened = {0};
    expect_damage(kedge_open(&options, &here->db, &reopened), &reopened);
    assert_string_equal(reopened.message, error.message);
}

static void heard(void *userdata, const kedge_change *changes, size_t count)
{
    (void)changes;
    (void)count;
    atomic_fetch_add((atomic_int *)userdata, 1);
}

static void test_watches_are_told_when_the_database_stops(void **state)
{
    world *here = *state;
    atomic_int calls = 0;
    kedge_watch_token *token = NULL;
    assert_int_equal(kedge_watch(here->db, "notes", heard, &calls, NULL, &token, NULL), KEDGE_OK);
    find_damage(here);
    int64_t until = client_now_ms() + 60000;
    while (atomic_load(&calls) == 0 && client_now_ms() < until)
        poll(NULL, 0, 2);
    assert_true(atomic_load(&calls) > 0);
    kedge_watch_free(token);
}

typedef struct waiter {
    kedge_db *db;
    bool sync;
    kedge_status status;
    kedge_error error;
} waiter;

static void *wait_for_ever(void *context)
{
    waiter *asked = context;
    asked->status = asked->sync ? kedge_sync(asked->db, 60000, &asked->error)
                                : kedge_wait(asked->db, 3, 60000, NULL, &asked->error);
    return NULL;
}

static size_t waiting(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    size_t count = db->shared.waiting;
    pthread_mutex_unlock(&db->lock);
    return count;
}

static void test_waits_that_are_under_way_end_with_it(void **state)
{
    world *here = *state;
    waiter waiters[] = {{.db = here->db, .sync = true}, {.db = here->db}};
    pthread_t threads[2];
    mini_backend_fail(here->backend, true);
    assert_int_equal(kedge_set_online(here->db, true, NULL), KEDGE_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ever, &waiters[i]), 0);
    while (waiting(here->db) < 2)
        poll(NULL, 0, 2);
    int64_t began = client_now_ms();
    find_damage(here);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        expect_damage(waiters[i].status, &waiters[i].error);
    }
    assert_true(client_now_ms() - began < 30000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)
    const struct CMUnitTest tests[] = {
        TEST(test_every_call_that_needs_the_outbox_answers_the_same),
        TEST(test_the_status_tells_what_is_known_and_why_it_stopped),
        TEST(test_what_can_be_read_is_counted_on_the_disk),
        TEST(test_watches_are_told_when_the_database_stops),
        TEST(test_waits_that_are_under_way_end_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
