/* Watches by themselves: filtering, the bounded queue, dispatchers, freeing. */
#include "sdk/runtime/watches.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a callback heard: "collection/id," a key and ";" a call; "*;" for everything. */
typedef struct heard {
    char text[4096];
    int calls;
    int freed;
} heard;

static void hear(void *userdata, const kedge_change *changes, size_t count)
{
    heard *got = userdata;
    size_t size = strlen(got->text);
    got->calls++;
    if (count == 0) size += (size_t)snprintf(got->text + size, sizeof got->text - size, "*");
    for (size_t i = 0; i < count; i++) {
        size += (size_t)snprintf(got->text + size, sizeof got->text - size, "%s/%.*s,",
                                 changes[i].collection, (int)changes[i].id_size, changes[i].id);
    }
    snprintf(got->text + size, sizeof got->text - size, ";");
}

static void freed(void *userdata)
{
    ((heard *)userdata)->freed++;
}

/* A commit of "collection" "id" pairs, up to a NULL. */
static void commit(kedge_watches *watches, ...)
{
    va_list keys;
    const char *collection;
    kedge_change_set changes = kedge_change_set_make(&kedge_allocator_default);
    changes.values = true;
    va_start(keys, watches);
    while ((collection = va_arg(keys, const char *)) != NULL) {
        const char *id = va_arg(keys, const char *);
        kedge_bytes value = KEDGE_BYTES("1");
        kedge_changes_add(&changes, kedge_bytes_of(collection), kedge_bytes_of(id), NULL, &value);
    }
    va_end(keys);
    kedge_watches_post(watches, &changes);
    kedge_change_set_free(&changes);
}

/* Of all watches here. */
static kedge_callbacks callbacks;

static kedge_watches *make(kedge_dispatch_function dispatch, void *userdata)
{
    kedge_watches *watches = NULL;
    assert_int_equal(
        kedge_watches_new(&kedge_allocator_default, dispatch, userdata, &callbacks, &watches, NULL),
        KEDGE_OK);
    return watches;
}

static kedge_watch_token *add(kedge_watches *watches, const char *collection, heard *got)
{
    kedge_watch_token *token = NULL;
    *got = (heard){0};
    assert_int_equal(kedge_watches_add(watches, collection, hear, got, freed, &token, NULL),
                     KEDGE_OK);
    return token;
}

static void test_a_watch_hears_of_its_collection_once_a_commit(void **state)
{
    heard notes;
    heard any;
    heard record;
    (void)state;
    kedge_watches *watches = make(NULL, NULL);
    kedge_watch_token *first = add(watches, "notes", &notes);
    kedge_watch_token *second = add(watches, NULL, &any);
    kedge_watch_token *third = add(watches, "", &record);
    commit(watches, "notes", "1", "tags", "x", "notes", "2", NULL);
    commit(watches, "tags", "y", NULL);
    commit(watches, "", "", NULL);
    commit(watches, NULL);
    kedge_watches_deliver(watches);
    assert_string_equal(notes.text, "notes/1,notes/2,;");
    assert_string_equal(any.text, "notes/1,tags/x,notes/2,;tags/y,;/,;");
    assert_string_equal(record.text, "/,;");
    kedge_watch_free(first);
    kedge_watch_free(second);
    kedge_watch_free(third);
    assert_int_equal(notes.freed, 1);
    kedge_watches_free(watches);
}

static void test_everything_is_told_when_a_commit_is_too_large(void **state)
{
    heard got;
    kedge_change_set all = {.all = true, .bytes = kedge_buffer_make(&kedge_allocator_default)};
    (void)state;
    kedge_watches *watches = make(NULL, NULL);
    kedge_watch_token *token = add(watches, "notes", &got);
    kedge_watches_post(watches, NULL);
    kedge_watches_deliver(watches);
    kedge_watches_post(watches, &all);
    kedge_watches_deliver(watches);
    assert_string_equal(got.text, "*;*;");
    kedge_watch_free(token);
    kedge_watches_free(watches);
}

static void test_a_queue_that_overflows_tells_everything_instead(void **state)
{
    heard got;
    (void)state;
    kedge_watches *watches = make(NULL, NULL);
    kedge_watch_token *token = add(watches, "notes", &got);
    for (int i = 0; i <= KEDGE_WATCH_QUEUE_MAX; i++) {
        commit(watches, "notes", "1", NULL);
    }
    commit(watches, "notes", "2", NULL);
    kedge_watches_deliver(watches);
    assert_string_equal(got.text, "*;notes/2,;");
    kedge_watch_free(token);
    kedge_watches_free(watches);
}

static void test_a_freed_watch_hears_nothing_of_what_was_queued(void **state)
{
    heard got;
    (void)state;
    kedge_watches *watches = make(NULL, NULL);
    kedge_watch_token *token = add(watches, NULL, &got);
    commit(watches, "notes", "1", NULL);
    kedge_watch_free(token);
    kedge_watches_deliver(watches);
    assert_int_equal(got.calls, 0);
    assert_int_equal(got.freed, 1);
    kedge_watches_free(watches);
}

/* Makes a commit in each call: an app whose callbacks never come to an end by themselves. */
typedef struct endless {
    kedge_watches *watches;
    int calls;
} endless;

static void commit_again(void *userdata, const kedge_change *changes, size_t count)
{
    endless *self = userdata;
    (void)changes;
    (void)count;
    assert_true(++self->calls < 100);
    commit(self->watches, "a", "1", NULL);
}

static void dispatch_at_once(void *userdata, void (*work)(void *), void *argument)
{
    (void)userdata;
    work(argument);
}

static void test_commits_that_come_while_delivering_wait_for_the_next_turn(void **state)
{
    (void)state;
    for (int dispatched = 0; dispatched < 2; dispatched++) {
        kedge_watch_token *tokens[2];
        endless self = {.watches = make(dispatched == 1 ? dispatch_at_once : NULL, NULL)};
        for (int i = 0; i < 2; i++) {
            assert_int_equal(
                kedge_watches_add(self.watches, "a", commit_again, &self, NULL, &tokens[i], NULL),
                KEDGE_OK);
        }
        assert_false(kedge_watches_deliver(self.watches));
        commit(self.watches, "a", "1", NULL);
        assert_true(kedge_watches_deliver(self.watches));
        assert_in_range(self.calls, 2, 4);
        assert_true(kedge_watches_deliver(self.watches));
        kedge_watch_free(tokens[0]);
        kedge_watch_free(tokens[1]);
        kedge_watches_free(self.watches);
    }
}

/* A dispatcher that keeps the work until told. */
typedef struct shelf {
    void (*work[16])(void *);
    void *arguments[16];
    int count;
} shelf;

static void put_on_shelf(void *userdata, void (*work)(void *), void *argument)
{
    shelf *kept = userdata;
    assert_true(kept->count < 16);
    kept->work[kept->count] = work;
    kept->arguments[kept->count++] = argument;
}

static void run_shelf(shelf *kept)
{
    for (int i = 0; i < kept->count; i++) {
        kept->work[i](kept->arguments[i]);
    }
    kept->count = 0;
}

static void test_a_dispatcher_gets_one_piece_of_work_a_watch(void **state)
{
    heard got;
    shelf kept = {0};
    (void)state;
    kedge_watches *watches = make(put_on_shelf, &kept);
    kedge_watch_token *token = add(watches, NULL, &got);
    commit(watches, "a", "1", NULL);
    kedge_watches_deliver(watches);
    commit(watches, "a", "2", NULL);
    kedge_watches_deliver(watches);
    assert_int_equal(kept.count, 1);
    assert_int_equal(got.calls, 0);
    run_shelf(&kept);
    assert_string_equal(got.text, "a/1,;a/2,;");
    commit(watches, "a", "3", NULL);
    kedge_watches_deliver(watches);
    run_shelf(&kept);
    assert_string_equal(got.text, "a/1,;a/2,;a/3,;");
    kedge_watch_free(token);
    kedge_watches_free(watches);
}

static void test_work_that_runs_after_the_watch_and_all_is_freed_does_nothing(void **state)
{
    heard got;
    shelf kept = {0};
    (void)state;
    kedge_watches *watches = make(put_on_shelf, &kept);
    kedge_watch_token *token = add(watches, NULL, &got);
    commit(watches, "a", "1", NULL);
    kedge_watches_post(watches, NULL);
    kedge_watches_deliver(watches);
    kedge_watch_free(token);
    kedge_watches_free(watches);
    run_shelf(&kept);
    assert_int_equal(got.calls, 0);
}

/* A callback that waits until the test lets it end. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool inside;
    bool open;
    atomic_bool left;
} gate;

static void pass_gate(void *userdata, const kedge_change *changes, size_t count)
{
    gate *door = userdata;
    (void)changes;
    (void)count;
    pthread_mutex_lock(&door->lock);
    door->inside = true;
    pthread_cond_broadcast(&door->moved);
    while (!door->open) {
        pthread_cond_wait(&door->moved, &door->lock);
    }
    pthread_mutex_unlock(&door->lock);
    atomic_store(&door->left, true);
}

static void *deliver(void *context)
{
    kedge_watches_deliver(context);
    return NULL;
}

static void *open_gate(void *context)
{
    gate *door = context;
    pthread_mutex_lock(&door->lock);
    door->open = true;
    pthread_cond_broadcast(&door->moved);
    pthread_mutex_unlock(&door->lock);
    return NULL;
}

static void test_freeing_waits_for_a_running_callback(void **state)
{
    gate door = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    kedge_watch_token *token = NULL;
    pthread_t worker;
    pthread_t opener;
    (void)state;
    kedge_watches *watches = make(NULL, NULL);
    assert_int_equal(kedge_watches_add(watches, NULL, pass_gate, &door, NULL, &token, NULL),
                     KEDGE_OK);
    commit(watches, "a", "1", NULL);
    assert_int_equal(pthread_create(&worker, NULL, deliver, watches), 0);
    pthread_mutex_lock(&door.lock);
    while (!door.inside) {
        pthread_cond_wait(&door.moved, &door.lock);
    }
    pthread_mutex_unlock(&door.lock);
    assert_int_equal(pthread_create(&opener, NULL, open_gate, &door), 0);
    kedge_watch_free(token);
    assert_true(atomic_load(&door.left));
    pthread_join(worker, NULL);
    pthread_join(opener, NULL);
    kedge_watches_free(watches);
}

int main(void)
{
    kedge_callbacks_init(&callbacks);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_watch_hears_of_its_collection_once_a_commit),
        cmocka_unit_test(test_everything_is_told_when_a_commit_is_too_large),
        cmocka_unit_test(test_a_queue_that_overflows_tells_everything_instead),
        cmocka_unit_test(test_a_freed_watch_hears_nothing_of_what_was_queued),
        cmocka_unit_test(test_commits_that_come_while_delivering_wait_for_the_next_turn),
        cmocka_unit_test(test_a_dispatcher_gets_one_piece_of_work_a_watch),
        cmocka_unit_test(test_work_that_runs_after_the_watch_and_all_is_freed_does_nothing),
        cmocka_unit_test(test_freeing_waits_for_a_running_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
