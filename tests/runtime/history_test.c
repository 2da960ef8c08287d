/* kedge_history: the versions of a project, asked of a server that works, and of one that hangs. */
#include "sdk/runtime/db.h"
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define KEPT_SECONDS_MAX 10 /* a call that is not given up in time ends after this */

/* A backend, its server, and a folder. */
typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    mini_backend *backend;
    scripted_server *server;
} world;

static int make_world(void **state)
{
    world *made = calloc(1, sizeof *made);
    if (made == NULL) return -1;
    client_make_folder(made->folder);
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
    free(made);
    return 0;
}

static void test_history_is_asked_of_the_server(void **state)
{
    world *here = *state;
    kedge_error error = {0};
    kedge_document *versions = NULL;
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    kedge_db *db = client_open(&options);
    mini_backend_put(here->backend, "a", "1");
    assert_int_equal(kedge_history(db, 0, 10, 10000, &versions, &error), KEDGE_OK);
    assert_string_equal(
        kedge_document_json(versions, NULL),
        "[{\"created\":1000,\"mutations\":[{\"args\":{},\"client\":\"c\",\"id\":1,\"name\":"
        "\"kedge.put\",\"outcome\":\"applied\",\"timestamp\":5,\"user\":\"\"}],\"version\":1}]");
    assert_string_equal(kedge_document_id(versions, NULL), "");
    kedge_document_free(versions);
    versions = NULL;
    mini_backend_fail(here->backend, true);
    assert_int_equal(kedge_history(db, 0, 10, 10000, &versions, &error), KEDGE_UNAVAILABLE);
    assert_string_equal(error.code, "unavailable");
    assert_null(versions);
    kedge_set_online(db, false, NULL);
    assert_int_equal(kedge_history(db, 0, 10, 10000, &versions, &error), KEDGE_NETWORK);
    kedge_close(db);
}

static bool hang(void *context, const scripted_request *request)
{
    (void)context;
    scripted_hang(request);
    return false;
}

static void test_history_gives_up_in_time(void **state)
{
    world *here = *state;
    kedge_error error = {0};
    kedge_document *versions = NULL;
    scripted_server *hung = scripted_server_start(hang, NULL);
    kedge_options options = client_options(here->folder, scripted_server_url(hung));
    kedge_db *db = client_open(&options);
    int64_t began = client_now_ms();
    assert_int_equal(kedge_history(db, 0, 10, 100, &versions, &error), KEDGE_TIMEOUT);
    assert_in_range(client_now_ms() - began, 90, 5000);
    kedge_close(db);
    scripted_server_stop(hung);
}

/* `context`: whether the history was asked. */
static bool hang_when_asked(void *context, const scripted_request *request)
{
    atomic_bool *asked = context;
    if (strstr(request->target, "/versions") != NULL) atomic_store(asked, true);
    return hang(NULL, request);
}

static void *ask_for_long(void *context)
{
    kedge_document *versions = NULL;
    kedge_error *error = calloc(1, sizeof *error);
    (void)kedge_history(context, 0, 10, 10000, &versions, error);
    return error;
}

static void test_going_offline_ends_a_call_that_is_asked(void **state)
{
    world *here = *state;
    pthread_t asker;
    atomic_bool asked = false;
    void *error = NULL;
    scripted_server *hung = scripted_server_start(hang_when_asked, &asked);
    kedge_options options = client_options(here->folder, scripted_server_url(hung));
    kedge_db *db = client_open(&options);
    assert_int_equal(pthread_create(&asker, NULL, ask_for_long, db), 0);
    while (!atomic_load(&asked))
        poll(NULL, 0, 1);
    kedge_set_online(db, false, NULL);
    pthread_join(asker, &error);
    assert_int_equal(((kedge_error *)error)->status, KEDGE_NETWORK);
    assert_string_equal(((kedge_error *)error)->code, "offline");
    free(error);
    kedge_close(db);
    scripted_server_stop(hung);
}

/* A callback that keeps the worker, as a large pull does, until it is let go. */
typedef struct keeper {
    kedge_db *db;
    kedge_watch_token *token;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool inside;
    bool open;
    int32_t timeout_ms;
    kedge_status history;
} keeper;

static void keep_worker(void *userdata, const kedge_change *changes, size_t count)
{
    keeper *self = userdata;
    struct timespec until;
    (void)changes;
    (void)count;
    pthread_mutex_lock(&self->lock);
    kedge_watch_free(self->token);
    self->inside = true;
    pthread_cond_broadcast(&self->moved);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += KEPT_SECONDS_MAX;
    for (int result = 0; !self->open && result == 0;)
        result = pthread_cond_timedwait(&self->moved, &self->lock, &until);
    pthread_mutex_unlock(&self->lock);
}

static void *ask_history(void *context)
{
    keeper *self = context;
    kedge_document *versions = NULL;
    self->history = kedge_history(self->db, 0, 10, self->timeout_ms, &versions, NULL);
    return NULL;
}

static void *close_it(void *context)
{
    kedge_close(context);
    return NULL;
}

static void wait_until_asked(kedge_db *db, bool for_closing)
{
    for (bool asked = false; !asked; poll(NULL, 0, 1)) {
        pthread_mutex_lock(&db->lock);
        asked = for_closing ? db->shared.closing : db->shared.history != NULL;
        pthread_mutex_unlock(&db->lock);
    }
}

/* The worker is kept from the first edit on. */
static void open_kept(keeper *self, const kedge_options *options)
{
    *self = (keeper){.db = client_open(options),
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .moved = PTHREAD_COND_INITIALIZER,
                     .timeout_ms = -1};
    assert_int_equal(kedge_watch(self->db, NULL, keep_worker, self, NULL, &self->token, NULL),
                     KEDGE_OK);
}

static void keep_from_now_on(keeper *self)
{
    client_put(self->db, "a", "1");
    pthread_mutex_lock(&self->lock);
    while (!self->inside)
        pthread_cond_wait(&self->moved, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

static void let_go(keeper *self)
{
    pthread_mutex_lock(&self->lock);
    self->open = true;
    pthread_cond_broadcast(&self->moved);
    pthread_mutex_unlock(&self->lock);
}

static void test_closing_ends_a_call_that_the_worker_has_not_seen(void **state)
{
    world *here = *state;
    pthread_t asker, closer;
    keeper self;
    kedge_options options = client_options(here->folder, scripted_dead_url());
    options.offline = true;
    open_kept(&self, &options);
    keep_from_now_on(&self);
    assert_int_equal(pthread_create(&asker, NULL, ask_history, &self), 0);
    wait_until_asked(self.db, false);
    assert_int_equal(pthread_create(&closer, NULL, close_it, self.db), 0);
    wait_until_asked(self.db, true);
    let_go(&self);
    pthread_join(asker, NULL);
    pthread_join(closer, NULL);
    assert_int_equal(self.history, KEDGE_CANCELLED);
}

static void test_history_gives_up_in_time_while_the_worker_is_kept(void **state)
{
    world *here = *state;
    keeper self;
    kedge_document *versions = NULL;
    kedge_error error = {0};
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    open_kept(&self, &options);
    keep_from_now_on(&self);
    int64_t began = client_now_ms();
    assert_int_equal(kedge_history(self.db, 0, 10, 100, &versions, &error), KEDGE_TIMEOUT);
    assert_in_range(client_now_ms() - began, 90, 5000);
    assert_string_equal(error.code, "timeout");
    assert_null(versions);
    let_go(&self);
    assert_int_equal(kedge_history(self.db, 0, 10, 60000, &versions, NULL), KEDGE_OK);
    kedge_document_free(versions);
    kedge_close(self.db);
}

static atomic_int histories; /* requests for versions */

static bool hang_with_versions(void *context, const scripted_request *request)
{
    if (strstr(request->target, "/versions") != NULL) atomic_fetch_add(&histories, 1);
    return hang(context, request);
}

static void wait_for_histories(int count)
{
    int64_t until = client_now_ms() + 60000;
    while (atomic_load(&histories) < count && client_now_ms() < until)
        poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&histories), count);
}

/* The worker has the call and no time for its end. */
static void give_up_what_was_sent(const world *here, bool close)
{
    keeper self;
    pthread_t asker;
    atomic_store(&histories, 0);
    scripted_server *hung = scripted_server_start(hang_with_versions, NULL);
    kedge_options options = client_options(here->folder, scripted_server_url(hung));
    open_kept(&self, &options);
    self.timeout_ms = 1000;
    int64_t began = client_now_ms();
    assert_int_equal(pthread_create(&asker, NULL, ask_history, &self), 0);
    wait_for_histories(1);
    keep_from_now_on(&self);
    pthread_join(asker, NULL);
    assert_in_range(client_now_ms() - began, 990, 9000);
    assert_int_equal(self.history, KEDGE_TIMEOUT);
    assert_non_null(self.db->worker.history);
    let_go(&self);
    if (!close) {
        ask_history(&self);
        assert_int_equal(self.history, KEDGE_TIMEOUT);
        assert_int_equal(atomic_load(&histories), 2);
    }
    kedge_close(self.db);
    scripted_server_stop(hung);
}

static void test_the_worker_ends_a_call_that_was_given_up(void **state)
{
    give_up_what_was_sent(*state, false);
}

static void test_closing_ends_a_call_that_was_given_up(void **state)
{
    give_up_what_was_sent(*state, true);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_history_is_asked_of_the_server),
        WORLD_TEST(test_history_gives_up_in_time),
        WORLD_TEST(test_going_offline_ends_a_call_that_is_asked),
        WORLD_TEST(test_closing_ends_a_call_that_the_worker_has_not_seen),
        WORLD_TEST(test_history_gives_up_in_time_while_the_worker_is_kept),
        WORLD_TEST(test_the_worker_ends_a_call_that_was_given_up),
        WORLD_TEST(test_closing_ends_a_call_that_was_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
