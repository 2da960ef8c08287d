/* An allocator that counts, checks that all is given back, and can fail at a chosen call. Several
 * threads may use it. It counts and fails the calls of one thread, the one that armed it last,
 * unless it is told to fail those of all. */
#ifndef KEDGE_TESTS_SUPPORT_FAILING_ALLOCATOR_H
#define KEDGE_TESTS_SUPPORT_FAILING_ALLOCATOR_H

#include <kedge/allocator.h>

#include <pthread.h>
#include <stdatomic.h>

typedef struct failing_allocator {
    kedge_allocator allocator; /* what to hand to the code under test; its context is this struct */
    atomic_ullong calls;       /* allocations and reallocations asked for so far */
    uint64_t fail_at; /* the call (from 1) that gets NULL, and all after it if `sticky`; 0: none */
    bool sticky;
    bool every_thread;
    pthread_t thread;
    atomic_ullong failed; /* how many calls got NULL */
    atomic_llong living;  /* blocks not yet released */
} failing_allocator;

/* The struct must not move afterwards. */
void failing_allocator_init(failing_allocator *failing);
/* Starts counting again and fails call number `fail_at`. */
void failing_allocator_arm(failing_allocator *failing, uint64_t fail_at, bool sticky);

/* Runs `body` without a failure, then again with each single call failing and, after that, with all
 * calls from each one on failing, until it makes no more calls; each time everything must have been
 * released. `body` returns whether it ended well; with a failure it may, without one it must.
 * `points_max` bounds the calls that are failed: above it they are spread evenly. Returns the
 * number of runs in which a call did fail. */
uint64_t failing_allocator_try_every_call(bool (*body)(const kedge_allocator *allocator,
                                                       void *context),
                                          void *context, uint64_t points_max);

#endif
