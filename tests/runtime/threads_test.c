/* Eight threads edit, read, watch and wait at once, while the worker syncs with a server
 * that fails now and then. Run under the thread sanitizer for the races; here for the
 * count: each edit once. */
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EDITS   60
#define THREADS 8

typedef struct world {
    kedge_db *db;
    mini_backend *backend;
    atomic_int editing; /* threads that still edit */
    atomic_int calls;   /* of watches */
    atomic_int wrong;   /* what a thread found that must not be */
} world;

typedef struct worker {
    world *here;
    int number;
} worker;

static void check(world *here, bool right)
{
    if (!right) atomic_fetch_add(&here->wrong, 1);
}

static void *edit(void *context)
{
    const worker *self = context;
    world *here = self->here;
    for (int i = 0; i < EDITS; i++) {
        char args[128];
        int64_t sequence = 0;
        kedge_outcome outcome;
        int size =
            snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%d-%d\",\"value\":%d}",
                     self->number, i % 10, i);
        check(here,
              kedge_mutate(here->db, "kedge.put", args, (size_t)size, &sequence, NULL) == KEDGE_OK);
        check(here, sequence > 0);
        if (i % 20 == 0) {
            check(here, kedge_wait(here->db, sequence, 120000, &outcome, NULL) == KEDGE_OK);
        }
    }
    atomic_fetch_sub(&here->editing, 1);
    return NULL;
}

static void *read_all(void *context)
{
    world *here = ((const worker *)context)->here;
    while (atomic_load(&here->editing) > 0) {
        kedge_scan *scan = NULL;
        kedge_document *document = NULL;
        const char *id;
        const char *value;
        size_t id_size;
        size_t value_size;
        check(here, kedge_scan_open(here->db, "notes", NULL, &scan, NULL) == KEDGE_OK);
        while (kedge_scan_next(scan, &id, &id_size, &value, &value_size, NULL) == KEDGE_OK) {
            check(here, strlen(id) == id_size && strlen(value) == value_size);
        }
        kedge_scan_close(scan);
        kedge_status status = kedge_get(here->db, "notes", "0-0", 3, &document, NULL);
        check(here, status == KEDGE_OK || status == KEDGE_NOT_FOUND);
        kedge_document_free(document);
    }
    return NULL;
}

static void hear(void *userdata, const kedge_change *changes, size_t count)
{
    world *here = userdata;
    for (size_t i = 0; i < count; i++) {
        check(here, strcmp(changes[i].collection, "notes") == 0);
    }
    atomic_fetch_add(&here->calls, 1);
}

static void *watch(void *context)
{
    world *here = ((const worker *)context)->here;
    while (atomic_load(&here->editing) > 0) {
        kedge_watch_token *token = NULL;
        check(here, kedge_watch(here->db, "notes", hear, here, NULL, &token, NULL) == KEDGE_OK);
        kedge_sync(here->db, 20, NULL);
        kedge_watch_free(token);
    }
    return NULL;
}

static void *disturb(void *context)
{
    world *here = ((const worker *)context)->here;
    bool on = false;
    while (atomic_load(&here->editing) > 0) {
        kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
        kedge_mutation_list *list = NULL;
        kedge_mutation mutation = KEDGE_MUTATION_INIT;
        mini_backend_fail(here->backend, on);
        check(here, kedge_set_online(here->db, true, NULL) == KEDGE_OK);
        check(here, kedge_get_sync_status(here->db, &status, NULL) == KEDGE_OK);
        check(here, kedge_pending_open(here->db, &list, NULL) == KEDGE_OK);
        while (kedge_mutation_list_next(list, &mutation, NULL) == KEDGE_OK) {
            check(here, mutation.sequence > 0);
        }
        kedge_mutation_list_close(list);
        mini_backend_put(here->backend, "theirs", "1");
        kedge_sync(here->db, 10, NULL);
        on = !on;
    }
    mini_backend_fail(here->backend, false);
    kedge_set_online(here->db, true, NULL);
    return NULL;
}

static void test_eight_threads_and_the_worker_lose_nothing(void **state)
{
    static void *(*const roles[THREADS])(void *) = {edit,     edit,     edit,  edit,
                                                    read_all, read_all, watch, disturb};
    char folder[CLIENT_PATH_SIZE];
    pthread_t threads[THREADS];
    worker workers[THREADS];
    world here = {.backend = mini_backend_new()};
    kedge_error error = {0};
    (void)state;
    client_make_folder(folder);
    scripted_server *server = scripted_server_start(mini_backend_respond, here.backend);
    kedge_options options = client_options(folder, scripted_server_url(server));
    here.db = client_open(&options);
    atomic_store(&here.editing, 4);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.here = &here, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, roles[i], &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    if (kedge_sync(here.db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(atomic_load(&here.wrong), 0);
    assert_int_equal(client_status(here.db).pending, 0);
    assert_int_equal(mini_backend_decided(here.backend), 4 * EDITS);
    assert_string_equal(client_get(here.db, "3-9"), "59");
    assert_true(atomic_load(&here.calls) > 0);
    kedge_close(here.db);
    scripted_server_stop(server);
    mini_backend_free(here.backend);
    client_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eight_threads_and_the_worker_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
