/* The memory that threads have freed goes back to the system. A sanitizer has an allocator of its
 * own, of which nothing can be said. */
#include "backend/front/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS     4
#define BLOCKS      16384
#define BLOCK_BYTES 4096 /* 64 MiB in each thread */

static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

typedef struct arena_user {
    pthread_barrier_t *barrier;
    void *blocks[BLOCKS];
    void *last; /* stays, so that the arena's end is in use */
} arena_user;

/* Makes its blocks and frees them, and lives until the test has looked. */
static void *use_an_arena(void *argument)
{
    arena_user *user = argument;
    for (size_t i = 0; i < BLOCKS; i++) {
        user->blocks[i] = malloc(BLOCK_BYTES);
        if (user->blocks[i]) memset(user->blocks[i], 1, BLOCK_BYTES);
    }
    user->last = malloc(BLOCK_BYTES);
    pthread_barrier_wait(user->barrier); /* all have theirs */
    for (size_t i = 0; i < BLOCKS; i++)
        free(user->blocks[i]);
    pthread_barrier_wait(user->barrier); /* all are free */
    pthread_barrier_wait(user->barrier); /* the test has looked */
    free(user->last);
    return NULL;
}

static void test_what_threads_have_freed_goes_back_to_the_system(void **state)
{
    const size_t used = (size_t)THREADS * BLOCKS * BLOCK_BYTES;
    static arena_user users[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
    kedge_memory_begin();
    size_t before = resident_bytes();
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) {
        users[i].barrier = &barrier;
        assert_int_equal(pthread_create(&threads[i], NULL, use_an_arena, &users[i]), 0);
    }
    pthread_barrier_wait(&barrier);
    assert_true(resident_bytes() >= before + used / 4 * 3);
    pthread_barrier_wait(&barrier);
    assert_true(resident_bytes() >= before + used / 2); /* the C library keeps it */
    kedge_memory_give_back();
    size_t after = resident_bytes();
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_true(after < before + used / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_threads_have_freed_goes_back_to_the_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
