/* A client and a real server in open mode: the watches of the status and of rejected edits, and
 * what a callback may not do. */
#include "tests/runtime/client.h"
#include "tests/support/server_process.h"

#include <kedge/loop.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WAIT_MS 60000

static const char *program;

typedef struct place {
    char folders[3][CLIENT_PATH_SIZE]; /* the server's, and one for each client */
    server_process server;
} place;

static int set_up(void **state)
{
    place *here = calloc(1, sizeof *here);
    for (size_t i = 0; i < 3; i++)
        client_make_folder(here->folders[i]);
    server_process_start(&here->server, program, here->folders[0]);
    *state = here;
    return 0;
}

static int tear_down(void **state)
{
    place *here = *state;
    server_process_stop(&here->server);
    for (size_t i = 0; i < 3; i++)
        client_remove_folder(here->folders[i]);
    free(here);
    return 0;
}

static kedge_db *open_client(place *here, int number)
{
    kedge_options options = client_options(here->folders[number], here->server.url);
    return client_open(&options);
}

static void sync_now(kedge_db *db)
{
    kedge_error error = {0};
    if (kedge_sync(db, WAIT_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
}

/* ---- what callbacks heard ---- */

typedef struct heard {
    pthread_mutex_t lock;
    pthread_cond_t more;
    kedge_db *db;
    pthread_t thread;
    kedge_sync_status status; /* the last */
    int statuses;
    int64_t rejected[8];
    char codes[8][64];
    int rejections;
    int freed;
    kedge_status closed;
    kedge_sync_watch *frees; /* inside its callback */
} heard;

static heard *hear(kedge_db *db)
{
    heard *made = calloc(1, sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->more, NULL);
    made->db = db;
    return made;
}

static void hear_status(void *userdata, const kedge_sync_status *status)
{
    heard *got = userdata;
    kedge_status closed = kedge_close(got->db);
    pthread_mutex_lock(&got->lock);
    got->closed = closed;
    got->status = *status;
    got->statuses++;
    got->thread = pthread_self();
    pthread_cond_broadcast(&got->more);
    pthread_mutex_unlock(&got->lock);
}

static void hear_rejected(void *userdata, const kedge_mutation *mutation)
{
    heard *got = userdata;
    pthread_mutex_lock(&got->lock);
    if (got->rejections < 8) {
        got->rejected[got->rejections] = mutation->sequence;
        snprintf(got->codes[got->rejections], sizeof got->codes[0], "%s", mutation->code);
    }
    got->rejections++;
    pthread_cond_broadcast(&got->more);
    pthread_mutex_unlock(&got->lock);
}

static void hear_freed(void *userdata)
{
    ((heard *)userdata)->freed++;
}

typedef bool (*condition)(const heard *got);

static void wait_until(heard *got, condition holds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    pthread_mutex_lock(&got->lock);
    int late = 0;
    while (!holds(got) && late == 0)
        late = pthread_cond_timedwait(&got->more, &got->lock, &until);
    bool held = holds(got);
    pthread_mutex_unlock(&got->lock);
    assert_true(held);
}

static bool is_online_and_calm(const heard *got)
{
    return got->status.connection == KEDGE_ONLINE && got->status.pending == 0;
}

static bool has_pending(const heard *got)
{
    return got->status.pending == 1;
}

static bool is_offline(const heard *got)
{
    return got->status.connection == KEDGE_OFFLINE;
}

static bool one_rejection(const heard *got)
{
    return got->rejections == 1;
}

static bool three_in_inbox(const heard *got)
{
    return got->status.rejected == 3;
}

static bool two_in_inbox(const heard *got)
{
    return got->status.rejected == 2;
}

static bool none_in_inbox(const heard *got)
{
    return got->statuses > 0 && got->status.rejected == 0;
}

static bool two_rejections(const heard *got)
{
    return got->rejections == 2;
}

/* Client 1 patches notes/a on the condition that it is 1, which client 2 has made another value
 * meanwhile. */
static int64_t be_rejected(kedge_db *one, kedge_db *two)
{
    static const char patch[] =
        "{\"collection\":\"notes\",\"id\":\"a\",\"patch\":[{\"op\":\"test\","
        "\"path\":\"\",\"value\":1}]}";
    int64_t sequence = 0;
    client_put(one, "a", "1");
    sync_now(one);
    assert_int_equal(kedge_set_online(one, false, NULL), KEDGE_OK);
    sync_now(two);
    client_put(two, "a", "2");
    sync_now(two);
    kedge_error error = {0};
    kedge_status status =
        kedge_mutate(one, "kedge.patch", patch, sizeof patch - 1, &sequence, &error);
    if (status != KEDGE_OK) fail_msg("%s: %s", error.code, error.message);
    assert_int_equal(kedge_set_online(one, true, NULL), KEDGE_OK);
    return sequence;
}

/* ---- the tests ---- */

static void test_a_watch_is_told_the_status_and_each_change_of_it(void **state)
{
    place *here = *state;
    kedge_sync_watch *watch = NULL;
    kedge_db *db = open_client(here, 1);
    heard *got = hear(db);
    assert_int_equal(kedge_watch_sync_status(db, hear_status, got, hear_freed, &watch, NULL),
                     KEDGE_OK);
    wait_until(got, is_online_and_calm);
    assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
    wait_until(got, is_offline);
    client_put(db, "a", "1");
    wait_until(got, has_pending);
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    wait_until(got, is_online_and_calm);
    assert_int_equal(got->freed, 0);
    kedge_sync_watch_free(watch);
    assert_int_equal(got->freed, 1);
    int before = got->statuses;
    client_put(db, "b", "1");
    sync_now(db);
    assert_int_equal(got->statuses, before);
    kedge_close(db);
    free(got);
}

static void test_each_rejected_edit_is_told_once(void **state)
{
    place *here = *state;
    kedge_sync_watch *watch = NULL;
    kedge_sync_watch *later = NULL;
    kedge_db *one = open_client(here, 1);
    kedge_db *two = open_client(here, 2);
    heard *got = hear(one);
    heard *again = hear(one);
    assert_int_equal(kedge_watch_rejected(one, hear_rejected, got, hear_freed, &watch, NULL),
                     KEDGE_OK);
    int64_t first = be_rejected(one, two);
    wait_until(got, one_rejection);
    assert_int_equal(got->rejected[0], first);
    assert_string_equal(got->codes[0], "patch-test-failed");

    /* The count of the inbox stays 1: the first goes, another comes. */
    assert_int_equal(kedge_rejected_dismiss(one, first, NULL), KEDGE_OK);
    int64_t second = be_rejected(one, two);
    wait_until(got, two_rejections);
    assert_int_equal(got->rejected[1], second);

    /* A watch that begins later is told what is in the inbox. */
    assert_int_equal(kedge_watch_rejected(one, hear_rejected, again, hear_freed, &later, NULL),
                     KEDGE_OK);
    wait_until(again, one_rejection);
    assert_int_equal(again->rejected[0], second);
    sync_now(one);
    kedge_sync_watch_free(watch);
    kedge_sync_watch_free(later);
    assert_int_equal(got->rejections, 2);
    assert_int_equal(again->rejections, 1);
    kedge_close(one);
    kedge_close(two);
    free(got);
    free(again);
}

static kedge_sync_watch *watch_status(heard *got)
{
    kedge_sync_watch *watch = NULL;
    assert_int_equal(kedge_watch_sync_status(got->db, hear_status, got, NULL, &watch, NULL),
                     KEDGE_OK);
    return watch;
}

static bool is_awake(kedge_db *db)
{
    struct pollfd set = {.fd = kedge_loop_descriptor(db), .events = POLLIN};
    return poll(&set, 1, 0) == 1;
}

/* Runs rounds until nothing is due. */
static void calm_down(kedge_db *db)
{
    int32_t wait_ms = 0;
    int64_t until = client_now_ms() + WAIT_MS;
    do
        assert_int_equal(kedge_loop_run(db, &wait_ms, NULL), KEDGE_OK);
    while ((wait_ms == 0 || is_awake(db)) && client_now_ms() < until);
    assert_false(is_awake(db));
}

/* A second database of the folder stands for another process. */
static void test_edits_that_are_dismissed_at_once_are_told_here_and_to_another_process(void **state)
{
    place *here = *state;
    size_t dismissed = 0;
    int64_t sequences[3];
    kedge_db *one = open_client(here, 1);
    kedge_db *two = open_client(here, 2);
    for (int i = 0; i < 3; i++) {
        sequences[i] = be_rejected(one, two);
        sync_now(one);
    }
    kedge_close(one);
    kedge_options options = client_options(here->folders[1], NULL);
    options.caller_driven = true;
    one = client_open(&options);
    heard *own = hear(one);
    kedge_sync_watch *own_watch = watch_status(own);
    calm_down(one);
    assert_true(three_in_inbox(own));
    assert_int_equal(kedge_rejected_dismiss_through(one, sequences[0], &dismissed, NULL), KEDGE_OK);
    assert_int_equal(dismissed, 1);
    assert_true(is_awake(one));
    calm_down(one);
    assert_true(two_in_inbox(own));
    assert_int_equal(kedge_rejected_dismiss_through(one, sequences[0], &dismissed, NULL), KEDGE_OK);
    assert_int_equal(dismissed, 0);
    assert_false(is_awake(one));

    kedge_db *other = open_client(here, 1);
    heard *got = hear(other);
    kedge_sync_watch *watch = watch_status(got);
    wait_until(got, two_in_inbox);
    assert_int_equal(kedge_rejected_dismiss_through(one, sequences[2], NULL, NULL), KEDGE_OK);
    wait_until(got, none_in_inbox);
    assert_int_equal(kedge_rejected_dismiss(other, sequences[1], NULL), KEDGE_NOT_FOUND);
    kedge_sync_watch_free(watch);
    kedge_sync_watch_free(own_watch);
    kedge_close(other);
    kedge_close(one);
    kedge_close(two);
    free(got);
    free(own);
}

static void closes_in_a_callback(place *here, kedge_dispatch_function dispatcher)
{
    kedge_sync_watch *watch = NULL;
    kedge_options options = client_options(here->folders[1], here->server.url);
    options.dispatch = dispatcher;
    kedge_db *db = client_open(&options);
    heard *got = hear(db);
    got->closed = KEDGE_OK;
    assert_int_equal(kedge_watch_sync_status(db, hear_status, got, NULL, &watch, NULL), KEDGE_OK);
    wait_until(got, is_online_and_calm);
    kedge_sync_watch_free(watch);
    assert_int_equal(got->closed, KEDGE_INVALID_ARGUMENT);
    assert_false(pthread_equal(got->thread, pthread_self()));
    client_put(db, "a", "1"); /* it is open */
    assert_int_equal(kedge_close(db), KEDGE_OK);
    free(got);
}

/* Its args would have the values of the item deeper than a server takes them. */
static void test_an_undo_that_no_server_takes_is_refused_and_holds_up_nothing(void **state)
{
    enum { DEEPEST = KEDGE_LIMIT_JSON_DEPTH - 1 }; /* of an item that a kedge.put brings */
    char deep[2 * DEEPEST + 1] = "";
    kedge_error error = {0};
    kedge_db *db = open_client(*state, 1);
    memset(deep, '[', DEEPEST);
    memset(deep + DEEPEST, ']', DEEPEST);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kedge_undo_begin(db, NULL, NULL), KEDGE_OK);
        client_put(db, i == 0 ? "a" : "b", i == 0 ? "1" : deep);
        assert_int_equal(kedge_undo_end(db, NULL), KEDGE_OK);
    }
    assert_int_equal(kedge_undo(db, NULL, &error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "json-too-deep");
    assert_int_equal(kedge_undo(db, NULL, NULL), KEDGE_OK);
    assert_string_equal(client_get(db, "a"), "");
    sync_now(db);
    assert_int_equal(client_status(db).pending, 0);
    assert_int_equal(client_status(db).rejected, 0);
    kedge_document *versions = NULL; /* these hold the args of the put */
    if (kedge_history(db, 0, 10, WAIT_MS, &versions, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    kedge_document_free(versions);
    kedge_close(db);
}

static void test_a_callback_that_closes_its_database_is_refused(void **state)
{
    closes_in_a_callback(*state, NULL);
    closes_in_a_callback(*state, client_dispatch);
}

static void close_in_watch(void *userdata, const kedge_change *changes, size_t count)
{
    heard *got = userdata;
    (void)changes;
    (void)count;
    kedge_status closed = kedge_close(got->db);
    pthread_mutex_lock(&got->lock);
    got->closed = closed;
    got->statuses++;
    pthread_cond_broadcast(&got->more);
    pthread_mutex_unlock(&got->lock);
}

static bool called(const heard *got)
{
    return got->statuses > 0;
}

static void test_a_watch_of_items_that_closes_its_database_is_refused(void **state)
{
    place *here = *state;
    static const kedge_dispatch_function dispatchers[] = {NULL, client_dispatch};
    for (size_t i = 0; i < 2; i++) {
        kedge_watch_token *token = NULL;
        kedge_options options = client_options(here->folders[1], here->server.url);
        options.dispatch = dispatchers[i];
        kedge_db *db = client_open(&options);
        heard *got = hear(db);
        got->closed = KEDGE_OK;
        assert_int_equal(kedge_watch(db, NULL, close_in_watch, got, NULL, &token, NULL), KEDGE_OK);
        client_put(db, "a", i == 0 ? "1" : "2");
        wait_until(got, called);
        kedge_watch_free(token);
        assert_int_equal(got->closed, KEDGE_INVALID_ARGUMENT);
        assert_int_equal(kedge_close(db), KEDGE_OK);
        free(got);
    }
}

static void free_inside(void *userdata, const kedge_sync_status *status)
{
    heard *got = userdata;
    (void)status;
    pthread_mutex_lock(&got->lock);
    if (got->frees != NULL) {
        kedge_sync_watch_free(got->frees);
        got->frees = NULL;
        assert_int_equal(got->freed, 0); /* the callback still uses it */
        got->statuses++;
        pthread_cond_broadcast(&got->more);
    }
    pthread_mutex_unlock(&got->lock);
}

static void test_a_watch_may_be_freed_in_its_own_callback(void **state)
{
    place *here = *state;
    kedge_db *db = open_client(here, 1);
    heard *got = hear(db);
    pthread_mutex_lock(&got->lock);
    assert_int_equal(kedge_watch_sync_status(db, free_inside, got, hear_freed, &got->frees, NULL),
                     KEDGE_OK);
    pthread_mutex_unlock(&got->lock);
    wait_until(got, called);
    kedge_close(db);
    assert_int_equal(got->statuses, 1);
    assert_int_equal(got->freed, 1);
    free(got);
}

/* ---- the log and the counters ---- */

typedef struct log_lines {
    pthread_mutex_t lock;
    char text[16384];
} log_lines;

static void take_line(void *userdata, kedge_log_level level, const char *event, const char *message)
{
    log_lines *lines = userdata;
    pthread_mutex_lock(&lines->lock);
    size_t size = strlen(lines->text);
    snprintf(lines->text + size, sizeof lines->text - size, "%d %s: %s\n", (int)level, event,
             message);
    pthread_mutex_unlock(&lines->lock);
}

/* A client that writes what it logs into `lines`. */
static kedge_db *open_logging(const place *here, kedge_log_level level, log_lines *lines)
{
    *lines = (log_lines){.text = ""};
    pthread_mutex_init(&lines->lock, NULL);
    kedge_options options = client_options(here->folders[1], here->server.url);
    options.log = take_line;
    options.log_level = level;
    options.userdata = lines;
    return client_open(&options);
}

static void has_line(const log_lines *lines, const char *text)
{
    if (strstr(lines->text, text) == NULL) fail_msg("no \"%s\" in:\n%s", text, lines->text);
}

static void test_the_log_tells_what_was_done_and_why(void **state)
{
    place *here = *state;
    log_lines lines;
    kedge_db *db = open_logging(here, KEDGE_LOG_DEBUG, &lines);
    sync_now(db);
    client_put(db, "secret", "\"hidden\"");
    assert_int_equal(kedge_wait(db, 1, WAIT_MS, NULL, NULL), KEDGE_OK);
    kedge_db *two = open_client(here, 2);
    be_rejected(db, two);
    sync_now(db);
    kedge_close(two);
    kedge_close(db);
    has_line(&lines, "2 started: Kedge ");
    has_line(&lines, "2 connection: connecting");
    has_line(&lines, "2 connection: online");
    has_line(&lines, ": POST push, ");
    has_line(&lines, "bytes (an edit)");
    has_line(&lines, "bytes (a wait for a sync)");
    has_line(&lines, "3 response: ");
    has_line(&lines, "2 pulled: version ");
    has_line(&lines, "2 connection: offline");
    has_line(&lines, "1 edits-rejected: 1 edits are in the inbox, 0 before");
    has_line(&lines, "2 stopped: ");
    assert_null(strstr(lines.text, "hidden"));
    assert_null(strstr(lines.text, "secret"));
}

/* Nothing is edited and nothing is asked: the stream alone tells of the end of the server. */
static void test_an_idle_client_notices_that_its_server_is_gone(void **state)
{
    place *here = *state;
    kedge_stats stats = KEDGE_STATS_INIT;
    log_lines lines;
    kedge_db *db = open_logging(here, KEDGE_LOG_DEBUG, &lines);
    sync_now(db);
    int64_t until = client_now_ms() + WAIT_MS;
    while (stats.pokes == 0 && client_now_ms() < until) {
        assert_int_equal(kedge_get_stats(db, &stats, NULL), KEDGE_OK);
        sched_yield();
    }
    assert_int_equal(client_status(db).connection, KEDGE_ONLINE);
    server_process_stop(&here->server);
    assert_true(client_wait_connection(db, KEDGE_CONNECTING));
    /* A server that is about to end may refuse the first request that asks for it. */
    until = client_now_ms() + WAIT_MS;
    while (client_status(db).last_error.status != KEDGE_NETWORK && client_now_ms() < until)
        sched_yield();
    assert_int_equal(client_status(db).connection, KEDGE_CONNECTING);
    assert_int_equal(client_status(db).last_error.status, KEDGE_NETWORK);
    kedge_close(db);
    has_line(&lines, "3 stream: open");
    has_line(&lines, "3 stream: closed: ");
}

static void test_the_log_has_the_level_that_the_app_wants(void **state)
{
    place *here = *state;
    log_lines lines;
    kedge_db *db = open_logging(here, KEDGE_LOG_WARNING, &lines);
    sync_now(db);
    server_process_stop(&here->server);
    assert_int_equal(kedge_sync(db, 500, NULL), KEDGE_TIMEOUT);
    assert_true(client_wait_error(db)); /* a request may not have failed within these 500 ms */
    kedge_close(db);
    has_line(&lines, "1 request-failed: ");
    assert_null(strstr(lines.text, "2 started"));
    assert_null(strstr(lines.text, "2 connection"));
    assert_null(strstr(lines.text, "3 request"));
}

static void test_the_stats_count_what_was_done(void **state)
{
    place *here = *state;
    kedge_stats stats = KEDGE_STATS_INIT;
    kedge_db *db = open_client(here, 1);
    client_put(db, "a", "1");
    assert_int_equal(kedge_mutate(db, "none", "{}", 2, NULL, NULL), KEDGE_NOT_FOUND);
    sync_now(db);
    assert_int_equal(kedge_get_stats(db, &stats, NULL), KEDGE_OK);
    assert_int_equal(stats.edits, 1);
    assert_int_equal(stats.edits_refused, 1);
    assert_in_range(stats.requests, 2, 20);
    assert_in_range(stats.responses, 2, stats.requests);
    assert_int_equal(stats.failures, 0);
    assert_in_range(stats.request_bytes, 100, 10000);
    assert_in_range(stats.response_bytes, 100, 10000);
    assert_true(stats.outbox_bytes > 0 && stats.cache_bytes > 0);
    assert_true(stats.outbox_wal_bytes > 0 && stats.cache_wal_bytes > 0);
    kedge_close(db);
}

#define SERVER_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        SERVER_TEST(test_a_watch_is_told_the_status_and_each_change_of_it),
        SERVER_TEST(test_each_rejected_edit_is_told_once),
        SERVER_TEST(test_edits_that_are_dismissed_at_once_are_told_here_and_to_another_process),
        SERVER_TEST(test_an_undo_that_no_server_takes_is_refused_and_holds_up_nothing),
        SERVER_TEST(test_a_callback_that_closes_its_database_is_refused),
        SERVER_TEST(test_a_watch_of_items_that_closes_its_database_is_refused),
        SERVER_TEST(test_a_watch_may_be_freed_in_its_own_callback),
        SERVER_TEST(test_the_log_tells_what_was_done_and_why),
        SERVER_TEST(test_an_idle_client_notices_that_its_server_is_gone),
        SERVER_TEST(test_the_log_has_the_level_that_the_app_wants),
        SERVER_TEST(test_the_stats_count_what_was_done),
    };
    if (count != 2) return 2;
    program = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
