/* Syncing with a server that works: push, pull, pokes, watches, waits, tokens. */
#include "sdk/runtime/db.h"
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A backend, its server, and a folder. */
typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    char other[CLIENT_PATH_SIZE];
    mini_backend *backend;
    scripted_server *server;
} world;

static int make_world(void **state)
{
    world *made = calloc(1, sizeof *made);
    if (made == NULL) return -1;
    client_make_folder(made->folder);
    client_make_folder(made->other);
    made->backend = mini_backend_new();
    made->server = scripted_server_start(mini_backend_respond, made->backend);
    *state = made;
    return 0;
}

static int end_world(void **state)
{
    world *made = *state;
    scripted_server_stop(made->server);
    mini_backend_free(made->backend);
    client_remove_folder(made->folder);
    client_remove_folder(made->other);
    free(made);
    return 0;
}

static kedge_db *open_in(const world *here, const char *folder)
{
    kedge_options options = client_options(folder, scripted_server_url(here->server));
    return client_open(&options);
}

static void sync_now(kedge_db *db)
{
    kedge_error error = {0};
    if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
}

/* Waits for what a poke brings. */
static bool wait_value(kedge_db *db, const char *id, const char *value)
{
    int64_t until = client_now_ms() + 60000;
    while (strcmp(client_get(db, id), value) != 0) {
        if (client_now_ms() > until) return false;
        poll(NULL, 0, 2);
    }
    return true;
}

static void test_an_edit_is_pushed_confirmed_and_seen_by_another_client(void **state)
{
    world *here = *state;
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    kedge_db *db = open_in(here, here->folder);
    int64_t sequence = client_put(db, "a", "{\"text\":\"hello\"}");
    assert_int_equal(kedge_wait(db, sequence, 120000, &outcome, NULL), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_OUTCOME_APPLIED);
    assert_int_equal(client_status(db).pending, 0);
    assert_int_equal(client_status(db).version, 1);
    assert_true(client_wait_connection(db, KEDGE_ONLINE));
    kedge_db *other = open_in(here, here->other);
    sync_now(other);
    assert_string_equal(client_get(other, "a"), "{\"text\":\"hello\"}");
    kedge_close(other);
    kedge_close(db);
}

/* ---- the app's schema version ---- */

typedef struct schema_ear {
    mini_backend *backend;
    const char *expected; /* the member of the body */
    atomic_int pushes, pulls, without;
} schema_ear;

static bool look_for_schema(void *context, const scripted_request *request)
{
    schema_ear *ear = context;
    bool pushes = strstr(request->target, "/push") != NULL;
    bool pulls = strstr(request->target, "/pull") != NULL;
    if (pushes) ear->pushes++;
    if (pulls) ear->pulls++;
    if ((pushes || pulls) && strstr(request->body, ear->expected) == NULL) ear->without++;
    return mini_backend_respond(ear->backend, request);
}

static void test_every_push_and_pull_names_the_schema_version(void **state)
{
    static const char *const versions[] = {NULL, "2.1"};
    static const char *const expected[] = {"\"schemaVersion\":\"\"", "\"schemaVersion\":\"2.1\""};
    world *here = *state;
    for (int i = 0; i < 2; i++) {
        schema_ear ear = {.backend = here->backend, .expected = expected[i]};
        scripted_server *server = scripted_server_start(look_for_schema, &ear);
        kedge_options options = client_options(here->folder, scripted_server_url(server));
        char version[8] = "";
        if (versions[i] != NULL) snprintf(version, sizeof version, "%s", versions[i]);
        options.schema_version = versions[i] != NULL ? version : NULL;
        kedge_db *db = client_open(&options);
        memset(version, 'x', sizeof version); /* it was copied */
        client_put(db, "a", i == 0 ? "1" : "2");
        sync_now(db);
        kedge_close(db);
        scripted_server_stop(server);
        assert_true(ear.pushes > 0 && ear.pulls > 0);
        assert_int_equal(ear.without, 0);
    }
}

/* ---- a gateway that looks at types ---- */

typedef struct gateway {
    mini_backend *backend;
    atomic_int packed, plain, damaged;
} gateway;

/* As API Gateway does for a function: by the Content-Type alone a body is text, and gzip that is
 * taken for text does not arrive as it was. */
static bool hand_on(void *context, const scripted_request *request)
{
    gateway *front = context;
    bool packed = strcasestr(request->headers, "\r\ncontent-encoding: gzip\r\n") != NULL;
    bool text = strcasestr(request->headers, "\r\ncontent-type: application/json\r\n") != NULL;
    if (strstr(request->target, "/push") == NULL)
        return mini_backend_respond(front->backend, request);
    if (packed && text) {
        front->damaged++;
        scripted_respond(request, 400, "Content-Type: application/problem+json\r\n",
                         "{\"code\":\"body-invalid\",\"detail\":\"\"}");
        return true;
    }
    if (packed) front->packed++;
    if (!packed && text) front->plain++;
    return mini_backend_respond(front->backend, request);
}

static void test_a_large_push_passes_a_gateway_that_goes_by_content_types(void **state)
{
    world *here = *state;
    gateway front = {.backend = here->backend};
    scripted_server *server = scripted_server_start(hand_on, &front);
    kedge_options options = client_options(here->folder, scripted_server_url(server));
    kedge_db *db = client_open(&options);
    char large[4200];
    int64_t sequence = 0;
    client_put(db, "small", "1");
    sync_now(db);
    int size = snprintf(large, sizeof large,
                        "{\"collection\":\"notes\",\"id\":\"large\",\"value\":\"%04000d\"}", 0);
    assert_int_equal(kedge_mutate(db, "kedge.put", large, (size_t)size, &sequence, NULL), KEDGE_OK);
    assert_int_equal(kedge_wait(db, sequence, 10000, NULL, NULL), KEDGE_OK);
    kedge_close(db);
    scripted_server_stop(server);
    assert_int_equal(front.damaged, 0);
    assert_true(front.packed > 0);
    assert_true(front.plain > 0);
}

static void test_sync_covers_what_was_pending_at_the_call(void **state)
{
    world *here = *state;
    char id[16];
    kedge_db *db = open_in(here, here->folder);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 5; i++) {
            snprintf(id, sizeof id, "%d-%d", round, i);
            client_put(db, id, "1");
        }
        mini_backend_put(here->backend, "theirs", round % 2 == 0 ? "0" : "1");
        sync_now(db);
        assert_int_equal(client_status(db).pending, 0);
        assert_string_equal(client_get(db, "theirs"), round % 2 == 0 ? "0" : "1");
    }
    assert_int_equal(mini_backend_decided(here->backend), 100);
    kedge_close(db);
}

static void test_a_poke_brings_another_clients_edit_without_asking(void **state)
{
    world *here = *state;
    kedge_db *db = open_in(here, here->folder);
    sync_now(db);
    mini_backend_put(here->backend, "a", "1");
    assert_true(wait_value(db, "a", "1"));
    mini_backend_put(here->backend, "a", "2");
    assert_true(wait_value(db, "a", "2"));
    kedge_close(db);
}

static void test_offline_edits_arrive_after_going_online(void **state)
{
    world *here = *state;
    kedge_error error = {0};
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.offline = true;
    kedge_db *db = client_open(&options);
    int64_t sequence = client_put(db, "a", "1");
    assert_int_equal(client_status(db).connection, KEDGE_OFFLINE);
    assert_int_equal(kedge_sync(db, -1, &error), KEDGE_NETWORK);
    assert_string_equal(error.code, "offline");
    assert_int_equal(kedge_wait(db, sequence, 20, NULL, NULL), KEDGE_TIMEOUT);
    assert_int_equal(scripted_server_requests(here->server), 0);
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    sync_now(db);
    assert_int_equal(client_status(db).pending, 0);
    assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
    client_put(db, "b", "2");
    assert_int_equal(kedge_sync(db, -1, NULL), KEDGE_NETWORK);
    assert_int_equal(mini_backend_decided(here->backend), 1);
    kedge_close(db);
}

static void test_a_sync_asked_for_after_going_online_never_finds_the_database_offline(void **state)
{
    world *here = *state;
    kedge_db *db = open_in(here, here->folder);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
        client_put(db, "a", "1"); /* the worker goes offline meanwhile */
        assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
        sync_now(db);
    }
    kedge_close(db);
}

static void test_a_server_that_comes_back_gets_everything_once(void **state)
{
    world *here = *state;
    char id[16];
    mini_backend_fail(here->backend, true);
    kedge_db *db = open_in(here, here->folder);
    for (int i = 0; i < 1500; i++) {
        snprintf(id, sizeof id, "%d", i);
        client_put(db, id, "1");
    }
    assert_int_equal(kedge_sync(db, 20, NULL), KEDGE_TIMEOUT);
    assert_true(client_wait_error(db)); /* the first response may need more than the 20 ms */
    assert_int_equal(client_status(db).last_error.status, KEDGE_UNAVAILABLE);
    assert_int_equal(client_status(db).pending, 1500);
    mini_backend_fail(here->backend, false);
    sync_now(db);
    assert_int_equal(client_status(db).pending, 0);
    assert_int_equal(mini_backend_decided(here->backend), 1500);
    assert_int_equal(client_count(db), 1500);
    kedge_close(db);
}

/* What a watch heard, from the worker's thread. */
typedef struct listener {
    pthread_mutex_t lock;
    pthread_cond_t heard;
    int calls;
    int keys;
    int everything;
} listener;

static void listen_to(void *userdata, const kedge_change *changes, size_t count)
{
    listener *ear = userdata;
    (void)changes;
    pthread_mutex_lock(&ear->lock);
    ear->calls++;
    ear->keys += (int)count;
    if (count == 0) ear->everything++;
    pthread_cond_broadcast(&ear->heard);
    pthread_mutex_unlock(&ear->lock);
}

static void wait_calls(listener *ear, int calls)
{
    pthread_mutex_lock(&ear->lock);
    while (ear->calls < calls) {
        pthread_cond_wait(&ear->heard, &ear->lock);
    }
    pthread_mutex_unlock(&ear->lock);
}

static void test_a_watch_hears_local_and_pulled_changes(void **state)
{
    world *here = *state;
    listener ear = {.lock = PTHREAD_MUTEX_INITIALIZER, .heard = PTHREAD_COND_INITIALIZER};
    kedge_watch_token *token = NULL;
    kedge_db *db = open_in(here, here->folder);
    sync_now(db);
    assert_int_equal(kedge_watch(db, "notes", listen_to, &ear, NULL, &token, NULL), KEDGE_OK);
    client_put(db, "a", "1");
    wait_calls(&ear, 1);
    sync_now(db); /* confirmed as predicted: nothing visible changes */
    mini_backend_put(here->backend, "b", "1");
    wait_calls(&ear, 2);
    assert_string_equal(client_get(db, "b"), "1");
    kedge_watch_free(token);
    assert_int_equal(ear.calls, 2);
    assert_int_equal(ear.keys, 2);
    client_put(db, "c", "1");
    sync_now(db);
    assert_int_equal(ear.calls, 2);
    kedge_close(db);
}

/* A callback that edits and reads: any function but close and free is allowed there. */
typedef struct echoer {
    kedge_db *db;
    atomic_int left;
} echoer;

static void edit_again(void *userdata, const kedge_change *changes, size_t count)
{
    echoer *self = userdata;
    (void)changes;
    (void)count;
    client_status(self->db);
    if (atomic_fetch_sub(&self->left, 1) > 0) client_put(self->db, "echo", "1");
}

static void test_a_callback_may_read_and_edit(void **state)
{
    world *here = *state;
    kedge_watch_token *token = NULL;
    kedge_db *db = open_in(here, here->folder);
    echoer self = {.db = db};
    atomic_init(&self.left, 1);
    assert_int_equal(kedge_watch(db, NULL, edit_again, &self, NULL, &token, NULL), KEDGE_OK);
    client_put(db, "a", "1");
    assert_true(wait_value(db, "echo", "1"));
    kedge_watch_free(token);
    sync_now(db);
    assert_int_equal(client_status(db).pending, 0);
    kedge_close(db);
}

/* A callback on the worker thread that would wait for the worker. */
typedef struct self_waiter {
    kedge_db *db;
    atomic_int called;
    kedge_error sync;
    kedge_error wait;
    kedge_error history;
} self_waiter;

static void wait_for_itself(void *userdata, const kedge_change *changes, size_t count)
{
    self_waiter *self = userdata;
    kedge_document *versions = NULL;
    (void)changes;
    (void)count;
    kedge_sync(self->db, -1, &self->sync);
    kedge_wait(self->db, 1, -1, NULL, &self->wait);
    kedge_history(self->db, 0, 1, -1, &versions, &self->history);
    atomic_store(&self->called, 1);
}

static void test_a_callback_on_the_worker_cannot_wait_for_the_worker(void **state)
{
    world *here = *state;
    kedge_watch_token *token = NULL;
    self_waiter self = {0};
    mini_backend_fail(here->backend, true);
    self.db = open_in(here, here->folder);
    assert_int_equal(kedge_watch(self.db, NULL, wait_for_itself, &self, NULL, &token, NULL),
                     KEDGE_OK);
    client_put(self.db, "a", "1");
    int64_t until = client_now_ms() + 60000;
    while (atomic_load(&self.called) == 0 && client_now_ms() < until) {
        poll(NULL, 0, 2);
    }
    assert_int_equal(atomic_load(&self.called), 1);
    assert_int_equal(self.sync.status, KEDGE_INVALID_ARGUMENT);
    assert_string_equal(self.sync.code, "called-back");
    assert_string_equal(self.wait.code, "called-back");
    assert_string_equal(self.history.code, "called-back");
    kedge_watch_free(token);
    kedge_close(self.db);
}

static atomic_int tokens_asked;

static kedge_status give_token(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    int number = atomic_fetch_add(&tokens_asked, 1);
    snprintf(buffer, buffer_size, "token-%d", number);
    return KEDGE_OK;
}

static void test_an_expired_token_is_renewed(void **state)
{
    world *here = *state;
    kedge_document *versions = NULL;
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.token = give_token;
    atomic_store(&tokens_asked, 0);
    mini_backend_want_token(here->backend, "token-0");
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");
    sync_now(db);
    assert_int_equal(atomic_load(&tokens_asked), 1);
    mini_backend_want_token(here->backend, "token-1");
    client_put(db, "b", "1");
    sync_now(db);
    assert_int_equal(atomic_load(&tokens_asked), 2);
    mini_backend_want_token(here->backend, "token-2");
    assert_int_equal(kedge_history(db, 0, 10, 10000, &versions, NULL), KEDGE_OK);
    kedge_document_free(versions);
    kedge_close(db);
}

/* Without a word of the server's: it would take the old one, which is of the user before. */
static void test_whoever_goes_online_is_asked_for_another_token(void **state)
{
    world *here = *state;
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.token = give_token;
    atomic_store(&tokens_asked, 0);
    kedge_db *db = client_open(&options);
    sync_now(db);
    assert_int_equal(atomic_load(&tokens_asked), 1);
    assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    sync_now(db);
    assert_int_equal(atomic_load(&tokens_asked), 2);
    kedge_close(db);
}

static bool hang(void *context, const scripted_request *request)
{
    (void)context;
    scripted_hang(request);
    return false;
}

/* A thread that is inside a blocking call when the database is closed. */
typedef struct waiter {
    kedge_db *db;
    kedge_status status;
} waiter;

static void *wait_for_ever(void *context)
{
    waiter *self = context;
    self->status = kedge_sync(self->db, -1, NULL);
    return NULL;
}

static size_t threads_waiting(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    size_t count = db->shared.waiting;
    pthread_mutex_unlock(&db->lock);
    return count;
}

static void test_closing_ends_a_wait(void **state)
{
    world *here = *state;
    pthread_t thread;
    scripted_server *hung = scripted_server_start(hang, NULL);
    kedge_options options = client_options(here->folder, scripted_server_url(hung));
    waiter self = {.db = client_open(&options)};
    client_put(self.db, "a", "1");
    assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &self), 0);
    while (threads_waiting(self.db) == 0) {
        poll(NULL, 0, 1);
    }
    kedge_close(self.db);
    pthread_join(thread, NULL);
    assert_int_equal(self.status, KEDGE_CANCELLED);
    scripted_server_stop(hung);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_an_edit_is_pushed_confirmed_and_seen_by_another_client),
        WORLD_TEST(test_every_push_and_pull_names_the_schema_version),
        WORLD_TEST(test_a_large_push_passes_a_gateway_that_goes_by_content_types),
        WORLD_TEST(test_sync_covers_what_was_pending_at_the_call),
        WORLD_TEST(test_a_poke_brings_another_clients_edit_without_asking),
        WORLD_TEST(test_offline_edits_arrive_after_going_online),
        WORLD_TEST(test_a_sync_asked_for_after_going_online_never_finds_the_database_offline),
        WORLD_TEST(test_a_server_that_comes_back_gets_everything_once),
        WORLD_TEST(test_a_watch_hears_local_and_pulled_changes),
        WORLD_TEST(test_a_callback_may_read_and_edit),
        WORLD_TEST(test_a_callback_on_the_worker_cannot_wait_for_the_worker),
        WORLD_TEST(test_an_expired_token_is_renewed),
        WORLD_TEST(test_whoever_goes_online_is_asked_for_another_token),
        WORLD_TEST(test_closing_ends_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
