/* Lists that follow the result of a query: one on the worker thread, under edits and pulls, and
 * the one of docs/how-to/watch-a-query.md. */
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <kedge/loop.h>

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

#define ROWS_MAX 100
#define ROW_SIZE 256
#define SQL      "SELECT id, value FROM notes ORDER BY value, id"

typedef struct list {
    pthread_mutex_t lock;
    char rows[ROWS_MAX][ROW_SIZE];
    size_t count;
    size_t row_count;
} list;

/* As kedge/watch.h says. */
static void follow(void *userdata, const kedge_query_changes *changes)
{
    list *to = userdata;
    pthread_mutex_lock(&to->lock);
    for (size_t place = to->count; place-- > 0;)
        for (size_t i = 0; i < changes->count; i++)
            if (changes->rows[i].old_position == (int64_t)place) {
                assert_string_equal(to->rows[place], changes->rows[i].old_row);
                memmove(to->rows[place], to->rows[place + 1], (--to->count - place) * ROW_SIZE);
            }
    for (size_t i = 0; i < changes->count; i++) {
        const kedge_row_change *row = &changes->rows[i];
        if (row->new_row == NULL) continue;
        char *place = to->rows[row->new_position];
        assert_in_range(row->new_position, 0, to->count);
        memmove(place + ROW_SIZE, place, (to->count - (size_t)row->new_position) * ROW_SIZE);
        snprintf(place, ROW_SIZE, "%s", row->new_row);
        to->count++;
    }
    to->row_count = changes->row_count;
    pthread_mutex_unlock(&to->lock);
}

static bool shows(list *at, kedge_db *db)
{
    static const char sql[] = "SELECT json_array(id, value) FROM notes ORDER BY value, id";
    kedge_query *query = NULL;
    size_t row = 0;
    pthread_mutex_lock(&at->lock);
    bool same = at->count == at->row_count;
    assert_int_equal(kedge_query_open(db, sql, strlen(sql), NULL, 0, &query, NULL), KEDGE_OK);
    while (kedge_query_next(query, NULL) == KEDGE_OK) {
        same =
            same && row < at->count && strcmp(at->rows[row], kedge_query_text(query, 0, NULL)) == 0;
        row++;
    }
    kedge_query_close(query);
    same = same && row == at->count;
    pthread_mutex_unlock(&at->lock);
    return same;
}

static void *edit_in_a_thread(void *context)
{
    kedge_db *db = context;
    uint32_t random = 7;
    for (int i = 0; i < 400; i++) {
        char id[8], value[8], args[64];
        random = random * 1664525u + 1013904223u;
        snprintf(id, sizeof id, "n%u", (unsigned)(random >> 8) % 20);
        snprintf(value, sizeof value, "%u", (unsigned)(random >> 16) % 10);
        snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%s\"}", id);
        if (random >> 30 == 0)
            assert_int_equal(kedge_mutate(db, "kedge.delete", args, strlen(args), NULL, NULL),
                             KEDGE_OK);
        else
            client_put(db, id, value);
    }
    return NULL;
}

static void test_a_list_follows_edits_and_pulls_on_a_worker_thread(void **state)
{
    (void)state;
    static list shown;
    mini_backend *backend = mini_backend_new();
    scripted_server *server = scripted_server_start(mini_backend_respond, backend);
    pthread_t editor;
    kedge_query_watch *made = NULL;
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    kedge_db *db = client_open(&options);
    memset(&shown, 0, sizeof shown);
    pthread_mutex_init(&shown.lock, NULL);
    assert_int_equal(
        kedge_watch_query(db, SQL, strlen(SQL), NULL, 0, follow, &shown, NULL, &made, NULL),
        KEDGE_OK);
    assert_int_equal(pthread_create(&editor, NULL, edit_in_a_thread, db), 0);
    for (int i = 0; i < 40; i++) {
        char id[8];
        snprintf(id, sizeof id, "p%d", i);
        mini_backend_put(backend, id, "5");
        assert_int_equal(kedge_sync(db, 120000, NULL), KEDGE_OK);
    }
    pthread_join(editor, NULL);
    int64_t until = client_now_ms() + 60000;
    while (!shows(&shown, db)) {
        if (client_now_ms() > until) fail_msg("the list is not what the query gives");
        poll(NULL, 0, 1);
    }
    assert_true(shown.count > 40);
    kedge_query_watch_free(made);
    kedge_close(db);
    scripted_server_stop(server);
    mini_backend_free(backend);
}

/* ---- watches that come and go ---- */

#define VISITORS 3
#define VISITS   40

typedef struct visit {
    kedge_db *db;
    atomic_int calls;
    atomic_bool freed; /* kedge_query_watch_free has returned */
    atomic_int late;   /* calls that were not over then */
    atomic_int ended;  /* calls of userdata_free */
} visit;

static void count_visit(void *userdata, const kedge_query_changes *changes)
{
    visit *to = userdata;
    kedge_document *document = NULL;
    if (changes->error != NULL) fail_msg("%s", changes->error->message);
    atomic_fetch_add(&to->calls, 1);
    /* A callback that takes its time. */
    for (int i = 0; i < 20; i++) {
        if (kedge_get(to->db, "notes", "n1", 2, &document, NULL) != KEDGE_OK) continue;
        kedge_document_free(document);
    }
    if (atomic_load(&to->freed)) atomic_fetch_add(&to->late, 1);
}

static void end_visit(void *userdata)
{
    atomic_fetch_add(&((visit *)userdata)->ended, 1);
}

/* Every other watch is freed at once, maybe while it is told. */
static void *come_and_go(void *context)
{
    kedge_db *db = context;
    visit *visits = calloc(VISITS, sizeof *visits);
    for (int i = 0; i < VISITS; i++) {
        kedge_query_watch *made = NULL;
        int64_t until_ms = client_now_ms() + 60000;
        visits[i].db = db;
        kedge_status status = kedge_watch_query(db, SQL, strlen(SQL), NULL, 0, count_visit,
                                                &visits[i], end_visit, &made, NULL);
        assert_int_equal(status, KEDGE_OK);
        while (i % 2 == 0 && atomic_load(&visits[i].calls) == 0 && client_now_ms() < until_ms)
            poll(NULL, 0, 1);
        kedge_query_watch_free(made);
        atomic_store(&visits[i].freed, true);
        assert_true(i % 2 == 1 || atomic_load(&visits[i].calls) > 0);
    }
    return visits;
}

/* The app's thread for callbacks. */
typedef struct callback_thread {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    void (*work[64])(void *argument);
    void *arguments[64];
    size_t first, count;
    bool ends;
    pthread_t thread;
} callback_thread;

static void give_work(void *userdata, void (*work)(void *argument), void *argument)
{
    callback_thread *to = userdata;
    pthread_mutex_lock(&to->lock);
    assert_true(to->count < 64);
    size_t place = (to->first + to->count++) % 64;
    to->work[place] = work;
    to->arguments[place] = argument;
    pthread_cond_signal(&to->moved);
    pthread_mutex_unlock(&to->lock);
}

static void *do_work(void *context)
{
    callback_thread *self = context;
    pthread_mutex_lock(&self->lock);
    while (self->count > 0 || !self->ends) {
        if (self->count == 0) {
            pthread_cond_wait(&self->moved, &self->lock);
            continue;
        }
        size_t place = self->first;
        self->first = (self->first + 1) % 64;
        self->count--;
        pthread_mutex_unlock(&self->lock);
        self->work[place](self->arguments[place]);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void run_visitors(kedge_db *db)
{
    pthread_t visitors[VISITORS], editor;
    visit *visits[VISITORS];
    assert_int_equal(pthread_create(&editor, NULL, edit_in_a_thread, db), 0);
    for (int i = 0; i < VISITORS; i++)
        assert_int_equal(pthread_create(&visitors[i], NULL, come_and_go, db), 0);
    for (int i = 0; i < VISITORS; i++)
        pthread_join(visitors[i], (void **)&visits[i]);
    pthread_join(editor, NULL);
    assert_int_equal(kedge_close(db), KEDGE_OK); /* waits for callbacks */
    for (int i = 0; i < VISITORS; i++) {
        for (int k = 0; k < VISITS; k++) {
            assert_int_equal(atomic_load(&visits[i][k].late), 0);
            assert_int_equal(atomic_load(&visits[i][k].ended), 1);
        }
    }
    for (int i = 0; i < VISITORS; i++)
        free(visits[i]);
}

static void test_watches_come_and_go_on_several_threads_while_edits_are_made(void **state)
{
    kedge_options options = client_options(client_folder, NULL);
    (void)state;
    run_visitors(client_open(&options));
    callback_thread calls = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    assert_int_equal(pthread_create(&calls.thread, NULL, do_work, &calls), 0);
    options.dispatch = give_work;
    options.userdata = &calls;
    run_visitors(client_open(&options));
    pthread_mutex_lock(&calls.lock);
    calls.ends = true;
    pthread_cond_signal(&calls.moved);
    pthread_mutex_unlock(&calls.lock);
    pthread_join(calls.thread, NULL);
}

/* ---- the example ---- */

typedef struct todo_list {
    char rows[ROWS_MAX][ROW_SIZE];
    size_t count;
    char problem[256];
} todo_list;

kedge_status follow_todos(kedge_db *db, todo_list *list, kedge_query_watch **watch,
                          kedge_error *error);

static void put_todo(kedge_db *db, const char *id, const char *value)
{
    char args[256];
    snprintf(args, sizeof args, "{\"collection\":\"todos\",\"id\":\"%s\",\"value\":%s}", id, value);
    assert_int_equal(kedge_mutate(db, "kedge.put", args, strlen(args), NULL, NULL), KEDGE_OK);
}

static void test_the_example_shows_the_open_todos(void **state)
{
    kedge_options options = client_options(client_folder, NULL);
    (void)state;
    options.caller_driven = true;
    kedge_db *db = client_open(&options);
    static todo_list shown;
    kedge_query_watch *made = NULL;
    put_todo(db, "milk", "{\"title\":\"Buy milk\",\"due\":\"2026-12-02\",\"done\":false}");
    put_todo(db, "tax", "{\"title\":\"Taxes\",\"due\":\"2026-12-01\",\"done\":false}");
    assert_int_equal(follow_todos(db, &shown, &made, NULL), KEDGE_OK);
    assert_int_equal(kedge_loop_run(db, NULL, NULL), KEDGE_OK);
    assert_int_equal(shown.count, 2);
    assert_string_equal(shown.rows[0], "[\"tax\",\"Taxes\"]");
    put_todo(db, "tax", "{\"title\":\"Taxes\",\"due\":\"2026-12-01\",\"done\":true}");
    put_todo(db, "run", "{\"title\":\"Run\",\"due\":\"2026-11-30\",\"done\":false}");
    put_todo(db, "milk", "{\"title\":\"Buy oat milk\",\"due\":\"2026-11-01\",\"done\":false}");
    assert_int_equal(kedge_loop_run(db, NULL, NULL), KEDGE_OK);
    assert_int_equal(shown.count, 2);
    assert_string_equal(shown.rows[0], "[\"milk\",\"Buy oat milk\"]");
    assert_string_equal(shown.rows[1], "[\"run\",\"Run\"]");
    assert_string_equal(shown.problem, "");
    kedge_query_watch_free(made);
    kedge_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_FOLDER_TEST(test_a_list_follows_edits_and_pulls_on_a_worker_thread),
        CLIENT_FOLDER_TEST(test_watches_come_and_go_on_several_threads_while_edits_are_made),
        CLIENT_FOLDER_TEST(test_the_example_shows_the_open_todos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
