/* The allocator that fails where it is told to. */
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static bool fails_now(failing_allocator *failing)
{
    if (!failing->every_thread && !pthread_equal(pthread_self(), failing->thread)) return false;
    uint64_t call = atomic_fetch_add(&failing->calls, 1) + 1;
    bool fails = failing->fail_at != 0 &&
                 (failing->sticky ? call >= failing->fail_at : call == failing->fail_at);
    if (fails) failing->failed++;
    return fails;
}

static void *allocate(void *context, size_t size)
{
    failing_allocator *failing = context;
    if (fails_now(failing)) return NULL;
    failing->living++;
    return malloc(size);
}

static void *reallocate(void *context, void *block, size_t size)
{
    failing_allocator *failing = context;
    if (fails_now(failing)) return NULL;
    if (block == NULL) failing->living++;
    return realloc(block, size);
}

static void release(void *context, void *block)
{
    failing_allocator *failing = context;
    if (block != NULL) failing->living--;
    free(block);
}

void failing_allocator_init(failing_allocator *failing)
{
    *failing = (failing_allocator){
        .allocator = {allocate, reallocate, release, failing},
        .thread = pthread_self(),
    };
}

void failing_allocator_arm(failing_allocator *failing, uint64_t fail_at, bool sticky)
{
    failing->thread = pthread_self();
    failing->calls = 0;
    failing->failed = 0;
    failing->fail_at = fail_at;
    failing->sticky = sticky;
}

uint64_t failing_allocator_try_every_call(bool (*body)(const kedge_allocator *allocator,
                                                       void *context),
                                          void *context, uint64_t points_max)
{
    failing_allocator failing;
    failing_allocator_init(&failing);
    assert_true(body(&failing.allocator, context));
    assert_int_equal(failing.living, 0);

    uint64_t calls = failing.calls;
    uint64_t step = points_max == 0 || calls <= points_max ? 1 : calls / points_max + 1;
    uint64_t runs = 0;
    for (int sticky = 0; sticky <= 1; sticky++) {
        for (uint64_t at = 1; at <= calls; at += step) {
            failing_allocator_arm(&failing, at, sticky == 1);
            body(&failing.allocator, context);
            assert_int_equal(failing.living, 0);
            runs += failing.failed > 0;
        }
    }
    return runs;
}
