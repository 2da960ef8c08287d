/* The locks of projects and logs: one holds each at a time, in turn, and nobody waits for another's
 * name. */
#include "backend/base/locks.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define THREADS 6
#define ROUNDS  2000
#define NAMES   2000

static const kedge_lock_name notes = {.project = {{"acme", 4}, {"notes", 5}}};
static const kedge_lock_name of_a_log = {{{"acme", 4}, {"notes", 5}}, {"0123456789abcdef", 16}};

typedef struct locks_user {
    kedge_locks *locks;
    pthread_t thread;
    int *counter;
    int turn; /* what the counter was when it had the lock */
} locks_user;

static void *count(void *context)
{
    locks_user *user = context;
    for (int i = 0; i < ROUNDS; i++) {
        kedge_lock_place place;
        kedge_lock(user->locks, i % 2 == 0 ? &notes : &of_a_log, &place);
        user->counter[i % 2]++;
        kedge_unlock(user->locks, &place);
    }
    return NULL;
}

static void test_one_thread_at_a_time_holds_the_lock_of_a_name(void **state)
{
    (void)state;
    kedge_locks locks;
    int counter[2] = {0};
    locks_user users[THREADS];
    kedge_locks_open(&locks);
    for (int i = 0; i < THREADS; i++) {
        users[i] = (locks_user){.locks = &locks, .counter = counter};
        assert_int_equal(pthread_create(&users[i].thread, NULL, count, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(users[i].thread, NULL);
    assert_int_equal(counter[0], THREADS * ROUNDS / 2);
    assert_int_equal(counter[1], THREADS * ROUNDS / 2);
    kedge_locks_close(&locks);
}

static void test_a_lock_that_is_held_keeps_nobody_from_another_name(void **state)
{
    (void)state;
    kedge_locks locks;
    kedge_lock_place held;
    kedge_lock_place place;
    kedge_locks_open(&locks);
    kedge_lock(&locks, &notes, &held);
    for (int i = 0; i < NAMES; i++) {
        char text[16];
        int size = snprintf(text, sizeof text, "p%d", i);
        const kedge_bytes name = {text, (size_t)size};
        kedge_lock(&locks, &(kedge_lock_name){.project = {{"acme", 4}, name}}, &place);
        kedge_unlock(&locks, &place);
        kedge_lock(&locks, &(kedge_lock_name){.project = {name, {"notes", 5}}}, &place);
        kedge_unlock(&locks, &place);
    }
    kedge_lock(&locks, &of_a_log, &place);
    kedge_unlock(&locks, &place);
    kedge_unlock(&locks, &held);
    kedge_locks_close(&locks);
}

static size_t queue_length(kedge_locks *locks)
{
    size_t length = 0;
    pthread_mutex_lock(&locks->mutex);
    for (const kedge_lock_place *at = locks->first; at != NULL; at = at->next)
        length++;
    pthread_mutex_unlock(&locks->mutex);
    return length;
}

static void *take_turn(void *context)
{
    locks_user *user = context;
    kedge_lock_place place;
    kedge_lock(user->locks, &notes, &place);
    user->turn = (*user->counter)++;
    kedge_unlock(user->locks, &place);
    return NULL;
}

static void test_who_came_first_has_the_lock_first(void **state)
{
    (void)state;
    kedge_locks locks;
    kedge_lock_place held;
    int counter = 0;
    locks_user users[THREADS];
    kedge_locks_open(&locks);
    kedge_lock(&locks, &notes, &held);
    for (int i = 0; i < THREADS; i++) {
        users[i] = (locks_user){.locks = &locks, .counter = &counter, .turn = -1};
        assert_int_equal(pthread_create(&users[i].thread, NULL, take_turn, &users[i]), 0);
        while (queue_length(&locks) < (size_t)i + 2)
            sched_yield();
    }
    kedge_unlock(&locks, &held);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].turn, i);
    }
    kedge_locks_close(&locks);
}

static void test_one_at_a_time_maintains_a_project_and_others_are_not_kept_from_theirs(void **state)
{
    (void)state;
    kedge_locks locks;
    char names[KEDGE_MAINTAINED_PROJECTS + 1][8];
    kedge_project_ref all[KEDGE_MAINTAINED_PROJECTS + 1];
    kedge_locks_open(&locks);
    for (size_t i = 0; i <= KEDGE_MAINTAINED_PROJECTS; i++) {
        int size = snprintf(names[i], sizeof names[i], "p%zu", i);
        all[i] = (kedge_project_ref){{"acme", 4}, {names[i], (size_t)size}};
    }
    for (size_t i = 0; i < KEDGE_MAINTAINED_PROJECTS; i++) {
        const kedge_project_ref again = all[i];
        assert_true(kedge_locks_begin_maintenance(&locks, &all[i]));
        assert_false(kedge_locks_begin_maintenance(&locks, &again));
    }
    const kedge_project_ref *late = &all[KEDGE_MAINTAINED_PROJECTS];
    assert_false(kedge_locks_begin_maintenance(&locks, late));
    kedge_locks_end_maintenance(&locks, &all[7]);
    assert_true(kedge_locks_begin_maintenance(&locks, late));
    assert_false(kedge_locks_begin_maintenance(&locks, &all[7]));
    kedge_locks_end_maintenance(&locks, late);
    assert_true(kedge_locks_begin_maintenance(&locks, &all[7]));
    kedge_locks_close(&locks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_at_a_time_holds_the_lock_of_a_name),
        cmocka_unit_test(test_a_lock_that_is_held_keeps_nobody_from_another_name),
        cmocka_unit_test(test_who_came_first_has_the_lock_first),
        cmocka_unit_test(
            test_one_at_a_time_maintains_a_project_and_others_are_not_kept_from_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
