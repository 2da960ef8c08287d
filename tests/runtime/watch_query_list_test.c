/* Lists that follow the result of a query: one on the worker thread, under edits and pulls, and
 * the one of docs/how-to/watch-a-query.md. */
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <kedge/loop.h>

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ROWS_MAX 100
#define ROW_SIZE 256
#define SQL      "SELECT id, value FROM notes ORDER BY value, id"

static char folder[CLIENT_PATH_SIZE];

static int make_folder(void **state)
{
    (void)state;
    client_make_folder(folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    client_remove_folder(folder);
    return 0;
}

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
    kedge_options options = client_options(folder, scripted_server_url(server));
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
        assert_int_equal(kedge_sync(db, 20000, NULL), KEDGE_OK);
    }
    pthread_join(editor, NULL);
    int64_t until = client_now_ms() + 10000;
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
    kedge_options options = client_options(folder, NULL);
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
        cmocka_unit_test_setup_teardown(test_a_list_follows_edits_and_pulls_on_a_worker_thread,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_the_example_shows_the_open_todos, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
