/* A database that one thread closes while another one is in a call. */
#include "tests/runtime/client.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>

#define WAIT_MS 60000

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    kedge_db *db;
    atomic_int begun; /* the mutator runs */
    atomic_int go_on; /* it may end */
    atomic_int changes;
    atomic_int freed; /* at the end of kedge_close */
    int freed_early;
    kedge_status edited;
    kedge_status closed;
} world;

static void wait_for(atomic_int *number)
{
    int64_t until = client_now_ms() + WAIT_MS;
    while (atomic_load(number) == 0 && client_now_ms() < until)
        sched_yield();
    assert_int_not_equal(atomic_load(number), 0);
}

static kedge_status put_slowly(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    world *here = userdata;
    (void)args;
    (void)args_size;
    atomic_store(&here->begun, 1);
    while (atomic_load(&here->go_on) == 0)
        sched_yield();
    here->freed_early = atomic_load(&here->freed);
    return kedge_tx_put(tx, "notes", "a", 1, "1", 1, error);
}

static kedge_db *open_here(world *here)
{
    kedge_options options = client_options(here->folder, NULL);
    static kedge_mutator mutator = {.name = "slow.put", .version = 1, .function = put_slowly};
    mutator.userdata = here;
    options.mutators = &mutator;
    options.mutator_count = 1;
    return client_open(&options);
}

static void *edit(void *context)
{
    world *here = context;
    here->edited = kedge_mutate(here->db, "slow.put", "{}", 2, NULL, NULL);
    return NULL;
}

static void *close_it(void *context)
{
    world *here = context;
    here->closed = kedge_close(here->db);
    atomic_store(&here->freed, 1);
    return NULL;
}

static void hear(void *userdata, const kedge_change *changes, size_t count)
{
    (void)changes;
    (void)count;
    atomic_fetch_add(&((world *)userdata)->changes, 1);
}

/* Until the closing thread has begun, calls succeed. */
static void expect_cancelled(kedge_db *db)
{
    kedge_error error = {0};
    int64_t until = client_now_ms() + WAIT_MS;
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    while (kedge_get_sync_status(db, &status, &error) == KEDGE_OK && client_now_ms() < until)
        sched_yield();
    assert_string_equal(error.code, "closing");
    assert_int_equal(error.status, KEDGE_CANCELLED);
    assert_int_equal(kedge_mutate(db, "slow.put", "{}", 2, NULL, NULL), KEDGE_CANCELLED);
    assert_int_equal(kedge_sync(db, WAIT_MS, NULL), KEDGE_CANCELLED);
}

/* The edit is made, and told to another database of this process as it is told to other
 * processes. */
static void test_closing_waits_for_a_running_call_and_refuses_later_ones(void **state)
{
    world here = {.edited = KEDGE_INTERNAL, .closed = KEDGE_INTERNAL};
    pthread_t editor, closer;
    kedge_watch_token *token = NULL;
    (void)state;
    client_make_folder(here.folder);
    here.db = open_here(&here);
    kedge_db *other = open_here(&here);
    assert_int_equal(kedge_watch(other, "notes", hear, &here, NULL, &token, NULL), KEDGE_OK);
    assert_int_equal(pthread_create(&editor, NULL, edit, &here), 0);
    wait_for(&here.begun);
    assert_int_equal(pthread_create(&closer, NULL, close_it, &here), 0);
    expect_cancelled(here.db);
    atomic_store(&here.go_on, 1);
    pthread_join(editor, NULL);
    pthread_join(closer, NULL);
    assert_int_equal(here.edited, KEDGE_OK);
    assert_int_equal(here.closed, KEDGE_OK);
    assert_int_equal(here.freed_early, 0);
    wait_for(&here.changes);
    assert_string_equal(client_get(other, "a"), "1");
    kedge_watch_free(token);
    kedge_close(other);
    client_remove_folder(here.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closing_waits_for_a_running_call_and_refuses_later_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
