/* A database that is closed while the worker runs a large backlog again, before its first pull. */
#include "sdk/store/prediction.h"
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WAIT_MS 60000
#define EDITS   (3 * KEDGE_RETRACE_ROWS)
#define AT_RUN  1 /* of the worker: where it waits for the close; the first of a turn */

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    mini_backend *backend;
    scripted_server *server;
    kedge_mutator mutator;
    kedge_db *db;
    pthread_t main_thread;
    kedge_status synced; /* how a sync ended that another thread waited for */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int64_t runs; /* of the mutator on the worker thread */
    bool closing; /* the close has begun */
} world;

static void tell(world *here, bool *what)
{
    pthread_mutex_lock(&here->lock);
    *what = true;
    pthread_cond_broadcast(&here->moved);
    pthread_mutex_unlock(&here->lock);
}

static void count_run(world *here)
{
    pthread_mutex_lock(&here->lock);
    here->runs++;
    pthread_cond_broadcast(&here->moved);
    while (here->runs == AT_RUN && !here->closing)
        pthread_cond_wait(&here->moved, &here->lock);
    pthread_mutex_unlock(&here->lock);
}

static kedge_status put_counted(kedge_tx *tx, const char *args, size_t size, void *userdata,
                                kedge_error *error)
{
    world *here = userdata;
    if (!pthread_equal(pthread_self(), here->main_thread)) count_run(here);
    return kedge_tx_put(tx, "notes", "counted", 7, args, size, error);
}

/* No push is decided. */
static bool respond(void *context, const scripted_request *request)
{
    world *here = context;
    if (strstr(request->target, "/push") == NULL)
        return mini_backend_respond(here->backend, request);
    scripted_respond(request, 503, "application/json", "{\"code\":\"unavailable\"}");
    return true;
}

static int make_world(void **state)
{
    world *made = calloc(1, sizeof *made);
    if (made == NULL) return -1;
    client_make_folder(made->folder);
    made->backend = mini_backend_new();
    made->server = scripted_server_start(respond, made);
    made->main_thread = pthread_self();
    made->mutator =
        (kedge_mutator){.name = "counted", .version = 1, .function = put_counted, .userdata = made};
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->moved, NULL);
    *state = made;
    return 0;
}

static int end_world(void **state)
{
    world *made = *state;
    scripted_server_stop(made->server);
    mini_backend_free(made->backend);
    client_remove_folder(made->folder);
    pthread_cond_destroy(&made->moved);
    pthread_mutex_destroy(&made->lock);
    free(made);
    return 0;
}

static void open_db(world *here, bool offline)
{
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.mutators = &here->mutator;
    options.mutator_count = 1;
    options.offline = offline;
    here->db = client_open(&options);
}

static void pull_first_state(world *here)
{
    open_db(here, false);
    mini_backend_put(here->backend, "theirs", "1");
    assert_int_equal(kedge_sync(here->db, WAIT_MS, NULL), KEDGE_OK);
    assert_int_equal(kedge_close(here->db), KEDGE_OK);
}

static void edit_offline(world *here)
{
    char args[32];
    open_db(here, true);
    for (int i = 0; i < EDITS; i++) {
        int size = snprintf(args, sizeof args, "%d", i);
        assert_int_equal(kedge_mutate(here->db, "counted", args, (size_t)size, NULL, NULL),
                         KEDGE_OK);
    }
    assert_int_equal(kedge_close(here->db), KEDGE_OK);
}

/* Returns when the database is being closed. */
static void *sync_until_closing(void *context)
{
    world *here = context;
    here->synced = kedge_sync(here->db, WAIT_MS, NULL);
    tell(here, &here->closing);
    return NULL;
}

static void wait_for_runs(world *here, int64_t runs)
{
    pthread_mutex_lock(&here->lock);
    while (here->runs < runs)
        pthread_cond_wait(&here->moved, &here->lock);
    pthread_mutex_unlock(&here->lock);
}

static void test_a_close_ends_the_run_of_what_is_pending_with_its_turn(void **state)
{
    world *here = *state;
    pthread_t waiting;
    pull_first_state(here);
    edit_offline(here);
    mini_backend_put(here->backend, "theirs", "2");
    here->runs = 0;
    open_db(here, false);
    assert_int_equal(pthread_create(&waiting, NULL, sync_until_closing, here), 0);
    wait_for_runs(here, AT_RUN);
    assert_int_equal(kedge_close(here->db), KEDGE_OK);
    assert_int_equal(pthread_join(waiting, NULL), 0);
    assert_int_equal(here->synced, KEDGE_CANCELLED);
    assert_in_range(here->runs, AT_RUN, KEDGE_RETRACE_ROWS);

    open_db(here, true);
    assert_int_equal(client_status(here->db).pending, EDITS);
    assert_string_equal(client_get(here->db, "theirs"), "1");
    assert_int_equal(kedge_close(here->db), KEDGE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_close_ends_the_run_of_what_is_pending_with_its_turn,
                                        make_world, end_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
