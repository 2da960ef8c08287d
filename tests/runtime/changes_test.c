/* What watches tell through the public API, with a kedge-server: the values before and after, where
 * a change comes from, and callbacks that free their watch or close their database. */
#include "tests/runtime/client.h"
#include "tests/support/server_process.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SYNC_MS 20000

static const char *server_program;

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    char data[CLIENT_PATH_SIZE + 16];
    server_process server;
    kedge_db *here;  /* it is watched */
    kedge_db *there; /* another copy */
} world;

static kedge_db *open_copy(world *at, const char *name)
{
    char path[CLIENT_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/%s", at->folder, name);
    kedge_options options = client_options(path, at->server.url);
    options.offline = true;
    return client_open(&options);
}

static int open_world(void **state)
{
    static world at;
    *state = &at;
    client_make_folder(at.folder);
    snprintf(at.data, sizeof at.data, "%s/server", at.folder);
    server_process_start_with(&at.server, server_program, at.data, NULL);
    at.here = open_copy(&at, "here");
    at.there = open_copy(&at, "there");
    return 0;
}

static int close_world(void **state)
{
    world *at = *state;
    kedge_close(at->here);
    kedge_close(at->there);
    server_process_stop(&at->server);
    client_remove_folder(at->folder);
    return 0;
}

/* What was told: "local a 1>2;" a change; "*;" where they are not listed. */
typedef struct ear {
    pthread_mutex_t lock;
    char text[2048];
    kedge_db *db; /* to be closed in the callback; NULL: none */
    kedge_watch_token *token;
    bool free_it; /* … and the watch to be freed */
    int freed;
} ear;

static void note(ear *to, const char *text)
{
    size_t size = strlen(to->text);
    snprintf(to->text + size, sizeof to->text - size, "%s", text);
}

static void hear(void *userdata, const kedge_change *changes, size_t count)
{
    ear *to = userdata;
    char text[256];
    pthread_mutex_lock(&to->lock);
    if (count == 0) note(to, "*;");
    for (size_t i = 0; i < count; i++) {
        const kedge_change *at = &changes[i];
        snprintf(text, sizeof text, "%s %s %s>%s;",
                 at->source == KEDGE_CHANGE_LOCAL ? "local" : "pulled", at->id,
                 at->old_value != NULL ? at->old_value : "none",
                 at->new_value != NULL ? at->new_value : "none");
        note(to, text);
        assert_int_equal(at->id_size, strlen(at->id));
        if (at->new_value != NULL) assert_int_equal(at->new_size, strlen(at->new_value));
    }
    if (to->db != NULL) assert_int_equal(kedge_close(to->db), KEDGE_INVALID_ARGUMENT);
    if (to->free_it) kedge_watch_free(to->token);
    pthread_mutex_unlock(&to->lock);
}

static void note_freed(void *userdata)
{
    ((ear *)userdata)->freed++;
}

static void watch(kedge_db *db, ear *to)
{
    kedge_error error = {0};
    pthread_mutex_init(&to->lock, NULL);
    pthread_mutex_lock(&to->lock);
    if (kedge_watch(db, "notes", hear, to, note_freed, &to->token, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    pthread_mutex_unlock(&to->lock);
}

static bool heard(ear *to, const char *text)
{
    pthread_mutex_lock(&to->lock);
    bool same = strcmp(to->text, text) == 0;
    pthread_mutex_unlock(&to->lock);
    return same;
}

static void expect_heard(ear *to, const char *text)
{
    int64_t until = client_now_ms() + 10000;
    while (!heard(to, text)) {
        if (client_now_ms() > until) fail_msg("heard %s and not %s", to->text, text);
        poll(NULL, 0, 1);
    }
}

static void sync_copy(kedge_db *db)
{
    kedge_error error = {0};
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    if (kedge_sync(db, SYNC_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
}

static void delete_note(kedge_db *db, const char *id)
{
    char args[128];
    int size = snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%s\"}", id);
    assert_int_equal(kedge_mutate(db, "kedge.delete", args, (size_t)size, NULL, NULL), KEDGE_OK);
}

static void test_a_change_has_its_values_and_says_where_it_comes_from(void **state)
{
    world *at = *state;
    ear to = {0};
    watch(at->here, &to);
    client_put(at->here, "a", "1");
    client_put(at->here, "a", "{\"b\":[2]}");
    int64_t cancelled = client_put(at->here, "c", "3");
    assert_int_equal(kedge_cancel(at->here, cancelled, NULL), KEDGE_OK);
    expect_heard(&to, "local a none>1;local a 1>{\"b\":[2]};local c none>3;local c 3>none;");
    sync_copy(at->here);
    /* What was predicted is what the server decided: nothing changed. */
    sync_copy(at->there);
    client_put(at->there, "a", "4");
    client_put(at->there, "d", "5");
    sync_copy(at->there);
    to.text[0] = '\0';
    sync_copy(at->here);
    expect_heard(&to, "pulled a {\"b\":[2]}>4;pulled d none>5;");
    to.text[0] = '\0';
    delete_note(at->here, "d");
    expect_heard(&to, "local d 5>none;");
    kedge_watch_free(to.token);
    assert_int_equal(to.freed, 1);
}

static void test_a_pull_below_pending_edits_tells_what_is_seen(void **state)
{
    world *at = *state;
    ear to = {0};
    client_put(at->there, "a", "1");
    client_put(at->there, "b", "1");
    sync_copy(at->there);
    client_put(at->here, "a", "2");
    watch(at->here, &to);
    /* The edit of "a" comes after the server's and hides it. */
    sync_copy(at->here);
    expect_heard(&to, "pulled b none>1;");
    assert_string_equal(client_get(at->here, "a"), "2");
    kedge_watch_free(to.token);
}

static void test_a_watch_may_be_freed_in_its_own_callback(void **state)
{
    world *at = *state;
    ear to = {.free_it = true};
    watch(at->here, &to);
    client_put(at->here, "a", "1");
    expect_heard(&to, "local a none>1;");
    client_put(at->here, "a", "2");
    ear other = {0};
    watch(at->here, &other);
    client_put(at->here, "a", "3");
    expect_heard(&other, "local a 2>3;");
    assert_true(heard(&to, "local a none>1;"));
    assert_int_equal(to.freed, 1);
    kedge_watch_free(other.token);
}

static void test_a_database_cannot_be_closed_in_a_callback(void **state)
{
    world *at = *state;
    ear to = {.db = at->here};
    watch(at->here, &to);
    client_put(at->here, "a", "1");
    expect_heard(&to, "local a none>1;");
    client_put(at->here, "a", "2");
    expect_heard(&to, "local a none>1;local a 1>2;");
    assert_string_equal(client_get(at->here, "a"), "2");
    kedge_watch_free(to.token);
}

/* ---- with a dispatcher ---- */

typedef struct desk {
    pthread_mutex_t lock;
    void (*work)(void *argument);
    void *argument;
} desk;

static void put_on_desk(void *userdata, void (*work)(void *argument), void *argument)
{
    desk *to = userdata;
    pthread_mutex_lock(&to->lock);
    to->work = work;
    to->argument = argument;
    pthread_mutex_unlock(&to->lock);
}

static void work_once(desk *at)
{
    int64_t until = client_now_ms() + 10000;
    void (*work)(void *argument) = NULL;
    while (work == NULL) {
        pthread_mutex_lock(&at->lock);
        work = at->work;
        at->work = NULL;
        pthread_mutex_unlock(&at->lock);
        if (client_now_ms() > until) fail_msg("nothing was dispatched");
        poll(NULL, 0, 1);
    }
    work(at->argument);
}

static void test_the_same_holds_on_the_thread_of_a_dispatcher(void **state)
{
    world *at = *state;
    desk here = {0};
    char path[CLIENT_PATH_SIZE + 16];
    pthread_mutex_init(&here.lock, NULL);
    snprintf(path, sizeof path, "%s/third", at->folder);
    kedge_options options = client_options(path, NULL);
    options.dispatch = put_on_desk;
    options.userdata = &here;
    kedge_db *db = client_open(&options);
    ear to = {.db = db, .free_it = true};
    watch(db, &to);
    client_put(db, "a", "1");
    work_once(&here);
    assert_string_equal(to.text, "local a none>1;");
    assert_int_equal(to.freed, 1);
    assert_string_equal(client_get(db, "a"), "1");
    kedge_close(db);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    server_program = argv[1];
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        TEST(test_a_change_has_its_values_and_says_where_it_comes_from),
        TEST(test_a_pull_below_pending_edits_tells_what_is_seen),
        TEST(test_a_watch_may_be_freed_in_its_own_callback),
        TEST(test_a_database_cannot_be_closed_in_a_callback),
        TEST(test_the_same_holds_on_the_thread_of_a_dispatcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
