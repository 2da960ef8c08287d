/* Callbacks on threads of a dispatcher: each change is told, however long a callback takes, and
 * kedge_close waits for those that run. And on Kedge's thread: which signals it gets. */
#include "tests/runtime/client.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define WAIT_MS 60000
/* Longer than the worker waits before its maintenance after an edit. That round would hide that
 * nothing else wakes the worker. */
#define STAY_MS 1500

/* What a callback did, and what it waits for. */
typedef struct visitor {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int calls;
    int64_t pending; /* as told last */
    bool stays;      /* the first callback stays until `open` */
    bool open;
    bool left;  /* the callback has ended */
    bool freed; /* the userdata was freed */
    kedge_watch_token *token;
    kedge_sync_watch *watch;
} visitor;

static void init(visitor *self, bool stays)
{
    *self = (visitor){.stays = stays};
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->moved, NULL);
}

/* Waits until it holds, for at most `ms`. Returns whether it does. With the lock held. */
static bool wait_for(visitor *self, bool (*holds)(const visitor *self), int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    int late = 0;
    while (!holds(self) && late == 0)
        late = pthread_cond_timedwait(&self->moved, &self->lock, &until);
    return holds(self);
}

static bool is_open(const visitor *self)
{
    return self->open;
}

static bool was_called(const visitor *self)
{
    return self->calls > 0;
}

static bool was_called_again(const visitor *self)
{
    return self->calls > 1;
}

static bool knows_the_edit(const visitor *self)
{
    return self->pending == 1;
}

static bool comes_to(visitor *self, bool (*holds)(const visitor *self), int ms)
{
    pthread_mutex_lock(&self->lock);
    bool held = wait_for(self, holds, ms);
    pthread_mutex_unlock(&self->lock);
    return held;
}

static void open_gate(visitor *self)
{
    pthread_mutex_lock(&self->lock);
    self->open = true;
    pthread_cond_broadcast(&self->moved);
    pthread_mutex_unlock(&self->lock);
}

static void hear_status(void *userdata, const kedge_sync_status *status)
{
    visitor *self = userdata;
    pthread_mutex_lock(&self->lock);
    self->calls++;
    self->pending = status->pending;
    pthread_cond_broadcast(&self->moved);
    if (self->stays && self->calls == 1) (void)wait_for(self, is_open, WAIT_MS);
    pthread_mutex_unlock(&self->lock);
}

static kedge_sync_watch *watch_status(kedge_db *db, visitor *self)
{
    kedge_sync_watch *watch = NULL;
    assert_int_equal(kedge_watch_sync_status(db, hear_status, self, NULL, &watch, NULL), KEDGE_OK);
    return watch;
}

static kedge_db *open_here(const char *folder)
{
    kedge_options options = client_options(folder, NULL);
    options.dispatch = client_dispatch;
    return client_open(&options);
}

/* The other watch is told at once, which shows that the worker knows of the edit. */
static void test_what_changes_while_a_callback_runs_is_told_when_it_has_ended(void **state)
{
    kedge_db *db = open_here(*state);
    visitor slow, quick;
    init(&slow, true);
    init(&quick, false);
    kedge_sync_watch *first = watch_status(db, &slow);
    kedge_sync_watch *second = watch_status(db, &quick);
    assert_true(comes_to(&slow, was_called, WAIT_MS));
    client_put(db, "a", "1");
    assert_true(comes_to(&quick, knows_the_edit, WAIT_MS));
    assert_false(comes_to(&slow, was_called_again, STAY_MS)); /* never twice at a time */
    assert_int_equal(slow.pending, 0);
    open_gate(&slow);
    assert_true(comes_to(&slow, knows_the_edit, WAIT_MS));
    kedge_sync_watch_free(first);
    kedge_sync_watch_free(second);
    kedge_close(db);
}

static void free_and_stay(visitor *self)
{
    pthread_mutex_lock(&self->lock);
    self->calls++;
    kedge_watch_free(self->token);
    kedge_sync_watch_free(self->watch);
    pthread_cond_broadcast(&self->moved);
    (void)wait_for(self, is_open, STAY_MS / 5); /* opened when the database is closed */
    self->left = true;
    pthread_mutex_unlock(&self->lock);
}

static void free_in_watch(void *userdata, const kedge_change *changes, size_t count)
{
    (void)changes;
    (void)count;
    free_and_stay(userdata);
}

static void free_in_status(void *userdata, const kedge_sync_status *status)
{
    (void)status;
    free_and_stay(userdata);
}

static void note_freed(void *userdata)
{
    visitor *self = userdata;
    pthread_mutex_lock(&self->lock);
    assert_true(self->left);
    self->freed = true;
    pthread_mutex_unlock(&self->lock);
}

static void test_closing_waits_for_a_callback_that_has_freed_its_watch(void **state)
{
    for (int i = 0; i < 2; i++) {
        kedge_db *db = open_here(*state);
        visitor self;
        init(&self, false);
        pthread_mutex_lock(&self.lock);
        if (i == 0)
            assert_int_equal(
                kedge_watch(db, NULL, free_in_watch, &self, note_freed, &self.token, NULL),
                KEDGE_OK);
        else
            assert_int_equal(
                kedge_watch_sync_status(db, free_in_status, &self, note_freed, &self.watch, NULL),
                KEDGE_OK);
        pthread_mutex_unlock(&self.lock);
        client_put(db, "a", i == 0 ? "1" : "2");
        assert_true(comes_to(&self, was_called, WAIT_MS));
        kedge_close(db);
        pthread_mutex_lock(&self.lock);
        bool left = self.left, freed = self.freed;
        pthread_mutex_unlock(&self.lock);
        open_gate(&self);
        assert_true(left);
        assert_true(freed);
    }
}

static void note_blocked(void *userdata, kedge_log_level level, const char *event,
                         const char *message)
{
    (void)level;
    (void)event;
    (void)message;
    pthread_sigmask(SIG_BLOCK, NULL, userdata);
}

/* A crash in a callback is reported by the app's handler, if it has one. */
static void test_a_callback_on_the_worker_gets_the_signals_of_its_faults_alone(void **state)
{
    sigset_t blocked;
    kedge_options options = client_options(*state, NULL);
    options.log = note_blocked;
    options.log_level = KEDGE_LOG_INFO;
    options.userdata = &blocked;
    sigemptyset(&blocked);
    kedge_close(client_open(&options)); /* which writes "stopped" */
    for (int number = 1; number <= SIGSYS; number++) {
        bool of_fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
                        number == SIGILL || number == SIGTRAP || number == SIGSYS;
        bool can_be_blocked = number != SIGKILL && number != SIGSTOP;
        assert_int_equal(sigismember(&blocked, number), can_be_blocked && !of_fault);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_FOLDER_TEST(test_a_callback_on_the_worker_gets_the_signals_of_its_faults_alone),
        CLIENT_FOLDER_TEST(test_what_changes_while_a_callback_runs_is_told_when_it_has_ended),
        CLIENT_FOLDER_TEST(test_closing_waits_for_a_callback_that_has_freed_its_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
