/* One folder, several processes: one syncs, the others see what it brings and have it push theirs,
 * and one of them takes over when it dies or goes offline. */
#include "common/error.h"
#include "sdk/runtime/db.h"
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

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

/* The other process: this program with arguments. It opens the folder, syncs, writes a byte, and
 * lives until it is killed. */
static int be_the_leader(const char *folder, const char *url)
{
    kedge_db *db = NULL;
    kedge_options options = client_options(folder, url);
    if (kedge_open(&options, &db, NULL) != KEDGE_OK) return 1;
    if (kedge_sync(db, 120000, NULL) != KEDGE_OK) return 2;
    if (write(STDOUT_FILENO, "x", 1) != 1) return 3;
    for (;;) {
        pause();
    }
}

/* Another one: it makes an edit, and ends before anything has told the others of it. */
static int be_gone(const char *folder)
{
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_store_options options = {
        .environment = &environment, .path = folder, .organization = "acme", .project = "plan"};
    kedge_registry *registry = NULL;
    kedge_store *store = NULL;
    if (kedge_registry_new_for_client(&kedge_allocator_default, NULL, 0, NULL, 0, &registry,
                                      NULL) != KEDGE_OK)
        return 1;
    options.registry = registry;
    if (kedge_store_open(&options, &store, NULL) != KEDGE_OK) return 2;
    if (kedge_store_mutate(store, KEDGE_BYTES("kedge.put"),
                           KEDGE_BYTES("{\"collection\":\"notes\",\"id\":\"theirs\",\"value\":1}"),
                           NULL, NULL, NULL) != KEDGE_OK)
        return 3;
    return write(STDOUT_FILENO, "x", 1) == 1 ? 0 : 4;
}

/* `server` "": the one that is gone at once. */
static pid_t spawn(const world *here, const char *server)
{
    int ready[2];
    char byte;
    pid_t child;
    char program[] = "/proc/self/exe";
    char folder[CLIENT_PATH_SIZE];
    char url[64];
    char *arguments[] = {program, folder, url, NULL};
    posix_spawn_file_actions_t actions;
    snprintf(folder, sizeof folder, "%s", here->folder);
    snprintf(url, sizeof url, "%s", server);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ready[1], STDOUT_FILENO);
    assert_int_equal(posix_spawn(&child, program, &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static pid_t spawn_leader(const world *here)
{
    return spawn(here, scripted_server_url(here->server));
}

static kedge_db *open_here(const world *here)
{
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    return client_open(&options);
}

static bool wait_value(kedge_db *db, const char *id, const char *value)
{
    int64_t until = client_now_ms() + 60000;
    while (strcmp(client_get(db, id), value) != 0) {
        if (client_now_ms() > until) return false;
        poll(NULL, 0, 2);
    }
    return true;
}

static void hear(void *userdata, const kedge_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool theirs = strcmp(changes[i].id, "theirs") == 0;
        if (theirs && changes[i].source == KEDGE_CHANGE_PULLED) {
            atomic_fetch_add((atomic_int *)userdata, 1);
        }
    }
}

static void test_a_follower_is_served_by_the_leader_and_takes_over_when_it_is_killed(void **state)
{
    world *here = *state;
    atomic_int told = 0;
    kedge_error error = {0};
    kedge_watch_token *token = NULL;
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    pid_t leader = spawn_leader(here);
    kedge_db *db = open_here(here);
    assert_int_equal(client_status(db).connection, KEDGE_FOLLOWER);
    assert_int_equal(kedge_watch(db, NULL, hear, &told, NULL, &token, NULL), KEDGE_OK);

    /* The follower's edit goes out through the leader. */
    int64_t sequence = client_put(db, "mine", "1");
    assert_int_equal(kedge_wait(db, sequence, 120000, &outcome, &error), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_OUTCOME_APPLIED);
    assert_int_equal(client_status(db).connection, KEDGE_FOLLOWER);

    /* What the leader pulls is seen here, and told. */
    mini_backend_put(here->backend, "theirs", "1");
    assert_true(wait_value(db, "theirs", "1"));
    int64_t until = client_now_ms() + 60000;
    while (atomic_load(&told) == 0 && client_now_ms() < until) {
        poll(NULL, 0, 2);
    }
    assert_true(atomic_load(&told) > 0);

    /* A follower's sync is done by the leader. */
    client_put(db, "mine", "2");
    mini_backend_put(here->backend, "theirs", "2");
    if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(client_status(db).pending, 0);
    assert_string_equal(client_get(db, "theirs"), "2");
    assert_int_equal(client_status(db).connection, KEDGE_FOLLOWER);

    assert_int_equal(kill(leader, SIGKILL), 0);
    assert_int_equal(waitpid(leader, NULL, 0), leader);
    assert_true(client_wait_connection(db, KEDGE_ONLINE));
    client_put(db, "mine", "3");
    if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(client_status(db).pending, 0);
    assert_int_equal(mini_backend_decided(here->backend), 3);
    kedge_watch_free(token);
    kedge_close(db);
}

static void wait_until_decided(const world *here, kedge_db *db, int64_t count)
{
    int64_t until = client_now_ms() + 60000;
    while (mini_backend_decided(here->backend) < count && client_now_ms() < until) {
        struct pollfd set = {.fd = kedge_loop_descriptor(db), .events = POLLIN};
        int32_t wait_ms = 0;
        assert_int_equal(kedge_loop_run(db, &wait_ms, NULL), KEDGE_OK);
        poll(&set, 1, wait_ms < 100 ? wait_ms : 100);
    }
    assert_int_equal(mini_backend_decided(here->backend), count);
}

/* Nothing wakes the leader then: it looks by itself, within a minute. */
static void test_an_edit_whose_process_ended_right_behind_it_is_sent_by_the_leader(void **state)
{
    world *here = *state;
    kedge_error error = {0};
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.caller_driven = true;
    kedge_db *db = client_open(&options);
    client_put(db, "mine", "1");
    if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
    pid_t child = spawn(here, "");
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(kedge_loop_run(db, NULL, NULL), KEDGE_OK);
    assert_in_range(db->worker.tick_at_ms, 1, kedge_db_now_ms(db) + KEDGE_PEERS_IDLE_MS);
    assert_in_range(db->worker.followed_ms, 1, kedge_db_now_ms(db));
    db->worker.tick_at_ms = 1; /* a minute has passed */
    db->worker.followed_ms -= KEDGE_PEERS_IDLE_MS;
    wait_until_decided(here, db, 2);
    kedge_close(db);
}

/* It may have repaired what a killed process has left. */
static void test_a_process_that_opens_the_folder_has_the_others_look(void **state)
{
    world *here = *state;
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_peers *other = NULL;
    kedge_peers_news news = {.changed = false};
    kedge_options options = client_options(here->folder, NULL);
    kedge_close(client_open(&options)); /* makes the folder */
    assert_int_equal(kedge_peers_open(&environment, here->folder, &other, NULL), KEDGE_OK);
    kedge_db *db = client_open(&options);
    int64_t until = client_now_ms() + 60000;
    while (!(kedge_peers_look(other, &news) && news.changed) && client_now_ms() < until)
        poll(NULL, 0, 2);
    assert_true(news.changed);
    kedge_close(db);
    kedge_peers_close(other);
}

/* Stops a process between two of its turns: in a turn it would keep all others out. */
static void stop_outside_its_turn(const world *here, pid_t process)
{
    char path[CLIENT_PATH_SIZE + 8];
    int status = 0;
    snprintf(path, sizeof path, "%s/lock", here->folder);
    int lock = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(kill(process, SIGSTOP), 0);
    assert_int_equal(waitpid(process, &status, WUNTRACED), process);
    assert_true(WIFSTOPPED(status));
    close(lock);
}

static void test_a_wait_for_a_sync_outlives_the_leader(void **state)
{
    world *here = *state;
    kedge_error error = {0};
    pid_t leader = spawn_leader(here);
    kedge_db *db = open_here(here);
    assert_int_equal(client_status(db).connection, KEDGE_FOLLOWER);
    /* A stopped leader keeps the lead and answers nobody. */
    stop_outside_its_turn(here, leader);
    client_put(db, "mine", "1");
    assert_int_equal(kedge_sync(db, 300, &error), KEDGE_TIMEOUT);
    assert_int_equal(client_status(db).pending, 1);
    assert_int_equal(kill(leader, SIGKILL), 0);
    assert_int_equal(waitpid(leader, NULL, 0), leader);
    if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(mini_backend_decided(here->backend), 1);
    kedge_close(db);
}

static void test_a_leader_that_goes_offline_or_closes_is_succeeded(void **state)
{
    world *here = *state;
    kedge_db *first = open_here(here);
    kedge_db *second = open_here(here);
    assert_true(client_wait_connection(first, KEDGE_ONLINE));
    assert_int_equal(client_status(second).connection, KEDGE_FOLLOWER);
    assert_int_equal(kedge_set_online(first, false, NULL), KEDGE_OK);
    assert_true(client_wait_connection(second, KEDGE_ONLINE));
    client_put(first, "a", "1"); /* offline itself, pushed by the other */
    assert_int_equal(kedge_wait(first, 1, 120000, NULL, NULL), KEDGE_OK);
    assert_int_equal(kedge_set_online(first, true, NULL), KEDGE_OK);
    assert_true(client_wait_connection(first, KEDGE_FOLLOWER));
    kedge_close(second);
    assert_true(client_wait_connection(first, KEDGE_ONLINE));
    kedge_close(first);
}

/* kedge_sync on a thread of its own. */
typedef struct waiting_sync {
    kedge_db *db;
    pthread_t thread;
    kedge_status status;
    kedge_error error;
} waiting_sync;

static void *run_sync(void *context)
{
    waiting_sync *self = context;
    self->status = kedge_sync(self->db, 120000, &self->error);
    return NULL;
}

/* Waits until a follower's ticket lies in the folder; then `leader` has had a turn, too. */
static void wait_for_ticket(const world *here, kedge_db *leader)
{
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_peers *watching = NULL;
    kedge_peers_news news = {0};
    int64_t until = client_now_ms() + 60000;
    assert_int_equal(kedge_peers_open(&environment, here->folder, &watching, NULL), KEDGE_OK);
    while (news.sync_wanted == 0 && client_now_ms() < until) {
        struct pollfd set = {.fd = kedge_peers_wake_fd(watching), .events = POLLIN};
        kedge_peers_look(watching, &news);
        if (news.sync_wanted == 0) poll(&set, 1, 10);
    }
    kedge_peers_close(watching);
    assert_int_equal(news.sync_wanted, 1);
    assert_int_equal(kedge_sync(leader, 50, NULL), KEDGE_TIMEOUT);
}

/* The leader has begun the follower's sync, and goes offline. */
static void test_a_sync_given_to_a_leader_that_goes_offline_is_done_by_the_next(void **state)
{
    world *here = *state;
    mini_backend_fail(here->backend, true);
    kedge_db *first = open_here(here);
    waiting_sync sync = {.db = open_here(here)};
    assert_int_equal(client_status(sync.db).connection, KEDGE_FOLLOWER);
    client_put(sync.db, "a", "1");
    assert_int_equal(pthread_create(&sync.thread, NULL, run_sync, &sync), 0);
    wait_for_ticket(here, first);
    assert_int_equal(kedge_set_online(first, false, NULL), KEDGE_OK);
    mini_backend_fail(here->backend, false);
    assert_int_equal(pthread_join(sync.thread, NULL), 0);
    if (sync.status != KEDGE_OK) fail_msg("%s", sync.error.message);
    assert_int_equal(mini_backend_decided(here->backend), 1);
    kedge_close(sync.db);
    kedge_close(first);
}

static atomic_bool has_token;

static kedge_status give_token_at_last(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    (void)snprintf(buffer, buffer_size, "a.b.c");
    return atomic_load(&has_token) ? KEDGE_OK : KEDGE_FORBIDDEN;
}

/* False after a minute. */
static bool wait_last_error(kedge_db *db, const kedge_error *error)
{
    int64_t until = client_now_ms() + 60000;
    kedge_sync_status status = client_status(db);
    while (!kedge_error_equal(&status.last_error, error) && client_now_ms() < until) {
        poll(NULL, 0, 2);
        status = client_status(db);
    }
    return kedge_error_equal(&status.last_error, error);
}

static void test_a_leader_without_a_token_does_not_leave_others_waiting_and_says_why(void **state)
{
    world *here = *state;
    kedge_error error = {0};
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.token = give_token_at_last;
    kedge_db *first = client_open(&options);
    assert_true(client_wait_connection(first, KEDGE_STOPPED));
    const kedge_error why = client_status(first).last_error;
    kedge_db *second = open_here(here);
    assert_int_equal(kedge_sync(second, 120000, &error), KEDGE_UNAUTHORIZED);
    assert_true(kedge_error_equal(&error, &why));
    /* Its status tells it, too, until the leader has found a way. */
    assert_true(wait_last_error(second, &why));
    assert_int_equal(client_status(second).connection, KEDGE_FOLLOWER);
    atomic_store(&has_token, true);
    assert_int_equal(kedge_set_online(first, true, NULL), KEDGE_OK);
    assert_int_equal(kedge_sync(first, 120000, NULL), KEDGE_OK);
    const kedge_error none = {.status = KEDGE_OK};
    assert_true(wait_last_error(second, &none));
    kedge_close(second);
    kedge_close(first);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_follower_is_served_by_the_leader_and_takes_over_when_it_is_killed),
        WORLD_TEST(test_an_edit_whose_process_ended_right_behind_it_is_sent_by_the_leader),
        WORLD_TEST(test_a_process_that_opens_the_folder_has_the_others_look),
        WORLD_TEST(test_a_wait_for_a_sync_outlives_the_leader),
        WORLD_TEST(test_a_sync_given_to_a_leader_that_goes_offline_is_done_by_the_next),
        WORLD_TEST(test_a_leader_without_a_token_does_not_leave_others_waiting_and_says_why),
        WORLD_TEST(test_a_leader_that_goes_offline_or_closes_is_succeeded),
    };
    if (count == 3 && arguments[2][0] == '\0') return be_gone(arguments[1]);
    if (count == 3) return be_the_leader(arguments[1], arguments[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
