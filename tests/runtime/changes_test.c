/* What watches tell through the public API, with a kedge-server: the values before and after, where
 * a change comes from, the edits of another process, and callbacks that free their watch or close
 * their database. */
#include "tests/runtime/two_copies.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

extern char **environ;

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
    int64_t until = client_now_ms() + 60000;
    while (!heard(to, text)) {
        if (client_now_ms() > until) fail_msg("heard %s and not %s", to->text, text);
        poll(NULL, 0, 1);
    }
}

static void delete_note(kedge_db *db, const char *id)
{
    char args[128];
    int size = snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%s\"}", id);
    assert_int_equal(kedge_mutate(db, "kedge.delete", args, (size_t)size, NULL, NULL), KEDGE_OK);
}

static void test_a_change_has_its_values_and_says_where_it_comes_from(void **state)
{
    two_copies *at = *state;
    ear to = {0};
    watch(at->here, &to);
    client_put(at->here, "a", "1");
    client_put(at->here, "a", "{\"b\":[2]}");
    int64_t cancelled = client_put(at->here, "c", "3");
    assert_int_equal(kedge_cancel(at->here, cancelled, NULL), KEDGE_OK);
    expect_heard(&to, "local a none>1;local a 1>{\"b\":[2]};local c none>3;local c 3>none;");
    two_copies_sync(at->here);
    /* What was predicted is what the server decided: nothing changed. */
    two_copies_sync(at->there);
    client_put(at->there, "a", "4");
    client_put(at->there, "d", "5");
    two_copies_sync(at->there);
    to.text[0] = '\0';
    two_copies_sync(at->here);
    expect_heard(&to, "pulled a {\"b\":[2]}>4;pulled d none>5;");
    to.text[0] = '\0';
    delete_note(at->here, "d");
    expect_heard(&to, "local d 5>none;");
    kedge_watch_free(to.token);
    assert_int_equal(to.freed, 1);
}

static void test_a_pull_below_pending_edits_tells_what_is_seen(void **state)
{
    two_copies *at = *state;
    ear to = {0};
    client_put(at->there, "a", "1");
    client_put(at->there, "b", "1");
    two_copies_sync(at->there);
    client_put(at->here, "a", "2");
    watch(at->here, &to);
    /* The edit of "a" comes after the server's and hides it. */
    two_copies_sync(at->here);
    expect_heard(&to, "pulled b none>1;");
    assert_string_equal(client_get(at->here, "a"), "2");
    kedge_watch_free(to.token);
}

static void test_a_watch_may_be_freed_in_its_own_callback(void **state)
{
    two_copies *at = *state;
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
    two_copies *at = *state;
    ear to = {.db = at->here};
    watch(at->here, &to);
    client_put(at->here, "a", "1");
    expect_heard(&to, "local a none>1;");
    client_put(at->here, "a", "2");
    expect_heard(&to, "local a none>1;local a 1>2;");
    assert_string_equal(client_get(at->here, "a"), "2");
    kedge_watch_free(to.token);
}

/* ---- another process ---- */

#define EDITS 60

/* The other process: this program with arguments. */
static int be_the_other(const char *path)
{
    char value[32];
    kedge_db *db = NULL;
    kedge_options options = client_options(path, NULL);
    if (kedge_open(&options, &db, NULL) != KEDGE_OK) return 1;
    for (int i = 1; i <= EDITS; i++) {
        snprintf(value, sizeof value, "\"there %d\"", i);
        client_put(db, "a", value);
    }
    return kedge_close(db) == KEDGE_OK ? 0 : 2;
}

static pid_t spawn_other(const two_copies *at)
{
    pid_t child;
    char program[] = "/proc/self/exe";
    char path[CLIENT_PATH_SIZE + 16];
    char *arguments[] = {program, path, program, NULL};
    snprintf(path, sizeof path, "%s/here", at->folder);
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
    return child;
}

/* Follows the value of "a" from change to change. */
typedef struct chain {
    pthread_mutex_t lock;
    char value[64];
    int here;
    int others;
    int breaks; /* a value before that was not the value after of the change in front */
    int everything;
} chain;

static void follow(void *userdata, const kedge_change *changes, size_t count)
{
    chain *to = userdata;
    pthread_mutex_lock(&to->lock);
    if (count == 0) to->everything++;
    for (size_t i = 0; i < count; i++) {
        const char *before = changes[i].old_value != NULL ? changes[i].old_value : "";
        if (strcmp(before, to->value) != 0) to->breaks++;
        snprintf(to->value, sizeof to->value, "%s",
                 changes[i].new_value != NULL ? changes[i].new_value : "");
        if (changes[i].source == KEDGE_CHANGE_LOCAL) to->here++;
        if (changes[i].source == KEDGE_CHANGE_OTHER_PROCESS) to->others++;
    }
    pthread_mutex_unlock(&to->lock);
}

static int told(chain *of)
{
    pthread_mutex_lock(&of->lock);
    int sum = of->here + of->others;
    pthread_mutex_unlock(&of->lock);
    return sum;
}

static void test_edits_of_two_processes_are_told_in_one_order_with_their_values(void **state)
{
    two_copies *at = *state;
    chain to = {0};
    char value[32];
    int result = 0;
    kedge_watch_token *token = NULL;
    pthread_mutex_init(&to.lock, NULL);
    assert_int_equal(kedge_watch(at->here, "notes", follow, &to, NULL, &token, NULL), KEDGE_OK);
    pid_t child = spawn_other(at);
    for (int i = 1; i <= EDITS; i++) {
        snprintf(value, sizeof value, "\"here %d\"", i);
        client_put(at->here, "a", value);
        poll(NULL, 0, 1);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    int64_t until = client_now_ms() + 60000;
    while (told(&to) < 2 * EDITS && client_now_ms() < until)
        poll(NULL, 0, 2);
    kedge_watch_free(token);
    assert_int_equal(to.here, EDITS);
    assert_int_equal(to.others, EDITS);
    assert_int_equal(to.breaks, 0);
    assert_int_equal(to.everything, 0);
    assert_string_equal(to.value, client_get(at->here, "a"));
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
    int64_t until = client_now_ms() + 60000;
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
    two_copies *at = *state;
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
    if (argc == 3) return be_the_other(argv[1]);
    if (argc != 2) return 2;
    two_copies_server = argv[1];
#define TEST(name) cmocka_unit_test_setup_teardown(name, two_copies_open, two_copies_close)
    const struct CMUnitTest tests[] = {
        TEST(test_a_change_has_its_values_and_says_where_it_comes_from),
        TEST(test_a_pull_below_pending_edits_tells_what_is_seen),
        TEST(test_a_watch_may_be_freed_in_its_own_callback),
        TEST(test_a_database_cannot_be_closed_in_a_callback),
        TEST(test_edits_of_two_processes_are_told_in_one_order_with_their_values),
        TEST(test_the_same_holds_on_the_thread_of_a_dispatcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
