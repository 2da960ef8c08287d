/* What holds from the moment at which kedge_set_online(db, false) returns, although the worker is
 * in the middle of a round. The app's log function calls it here: the worker thread runs it, so the
 * moment is always the same. */
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define WAIT_MS 60000

/* A backend, its server, a folder, and how it goes offline. */
typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    mini_backend *backend;
    scripted_server *server;
    kedge_db *db;
    _Atomic(const char *) at; /* the event at whose next line it goes offline */
    bool gone;                /* offline */
    kedge_status edited;      /* how the edit ended that was made right after it */
    int64_t requests;         /* that were sent before it */
    int other_statuses;       /* than offline, since then */
    pthread_mutex_t lock;
    pthread_cond_t told; /* that the connection is offline */
    bool is_told;
} world;

static int make_world(void **state)
{
    world *made = calloc(1, sizeof *made);
    if (made == NULL) return -1;
    client_make_folder(made->folder);
    made->backend = mini_backend_new();
    made->server = scripted_server_start(mini_backend_respond, made->backend);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->told, NULL);
    *state = made;
    return 0;
}

static int end_world(void **state)
{
    world *made = *state;
    scripted_server_stop(made->server);
    mini_backend_free(made->backend);
    client_remove_folder(made->folder);
    pthread_cond_destroy(&made->told);
    pthread_mutex_destroy(&made->lock);
    free(made);
    return 0;
}

static int64_t requests(kedge_db *db)
{
    kedge_stats stats = KEDGE_STATS_INIT;
    return kedge_get_stats(db, &stats, NULL) == KEDGE_OK ? stats.requests : -1;
}

/* Goes offline, and makes an edit. */
static void leave(world *here)
{
    static const char b[] = "{\"collection\":\"notes\",\"id\":\"b\",\"value\":1}";
    here->at = NULL;
    here->requests = requests(here->db);
    here->gone = kedge_set_online(here->db, false, NULL) == KEDGE_OK;
    here->edited = kedge_mutate(here->db, "kedge.put", b, sizeof b - 1, NULL, NULL);
}

static void hear_line(void *userdata, kedge_log_level level, const char *event, const char *message)
{
    world *here = userdata;
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    const char *at = here->at;
    (void)level;
    if (here->gone && kedge_get_sync_status(here->db, &status, NULL) == KEDGE_OK &&
        status.connection != KEDGE_OFFLINE) {
        here->other_statuses++;
    }
    if (at != NULL && strcmp(at, event) == 0) leave(here);
    if (!here->gone || strcmp(event, "connection") != 0 || strcmp(message, "offline") != 0) return;
    pthread_mutex_lock(&here->lock);
    here->is_told = true;
    pthread_cond_signal(&here->told);
    pthread_mutex_unlock(&here->lock);
}

static bool wait_until_offline(world *here)
{
    struct timespec until;
    int late = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    pthread_mutex_lock(&here->lock);
    while (!here->is_told && late == 0)
        late = pthread_cond_timedwait(&here->told, &here->lock, &until);
    pthread_mutex_unlock(&here->lock);
    return late == 0;
}

static void open_offline(world *here)
{
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.offline = true;
    options.log = hear_line;
    options.log_level = KEDGE_LOG_DEBUG;
    options.userdata = here;
    here->db = client_open(&options);
}

static void go_online(world *here)
{
    assert_int_equal(kedge_set_online(here->db, true, NULL), KEDGE_OK);
}

static void sync_now(kedge_db *db)
{
    kedge_error error = {0};
    if (kedge_sync(db, WAIT_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
}

/* Also the event stream: what comes next is a poke that has news. */
static void go_online_and_calm_down(world *here)
{
    kedge_stats stats = KEDGE_STATS_INIT;
    int64_t until = client_now_ms() + WAIT_MS;
    go_online(here);
    sync_now(here->db);
    while (stats.pokes == 0 && client_now_ms() < until) {
        assert_int_equal(kedge_get_stats(here->db, &stats, NULL), KEDGE_OK);
        sched_yield();
    }
    assert_true(stats.pokes > 0);
}

/* Closes the database: what the worker has written is then read without a race. */
static void close_db(world *here)
{
    kedge_close(here->db);
    assert_true(here->gone);
    assert_int_equal(here->edited, KEDGE_OK);
}

/* Goes offline at the response that has another client's edit. */
static void leave_at_news(world *here)
{
    open_offline(here);
    client_put(here->db, "a", "1");
    go_online_and_calm_down(here);
    here->at = "response";
    mini_backend_put(here->backend, "a", "2");
    assert_true(wait_until_offline(here));
}

static void test_a_response_that_arrives_after_the_call_is_not_shown(void **state)
{
    world *here = *state;
    leave_at_news(here);
    assert_string_equal(client_get(here->db, "a"), "1");
    go_online(here);
    sync_now(here->db);
    assert_string_equal(client_get(here->db, "a"), "2");
    close_db(here);
}

static void sends_the_edit_when_online_again(world *here)
{
    assert_int_equal(requests(here->db), here->requests);
    go_online(here);
    sync_now(here->db);
    assert_int_equal(client_status(here->db).pending, 0);
    assert_string_equal(client_get(here->db, "b"), "1");
    close_db(here);
}

static void test_an_edit_that_is_made_after_the_call_is_not_sent_behind_a_response(void **state)
{
    leave_at_news(*state);
    sends_the_edit_when_online_again(*state);
}

static void test_an_edit_that_is_made_after_the_call_is_not_sent_with_those_before(void **state)
{
    world *here = *state;
    open_offline(here);
    client_put(here->db, "a", "1");
    here->at = "request"; /* the first of those that going online sends */
    go_online(here);
    assert_true(wait_until_offline(here));
    sends_the_edit_when_online_again(here);
}

static void test_the_status_is_offline_from_the_call_on(void **state)
{
    world *here = *state;
    open_offline(here);
    here->at = "request";
    go_online(here);
    assert_true(wait_until_offline(here));
    close_db(here);
    assert_int_equal(here->other_statuses, 0);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_response_that_arrives_after_the_call_is_not_shown),
        WORLD_TEST(test_an_edit_that_is_made_after_the_call_is_not_sent_behind_a_response),
        WORLD_TEST(test_an_edit_that_is_made_after_the_call_is_not_sent_with_those_before),
        WORLD_TEST(test_the_status_is_offline_from_the_call_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
