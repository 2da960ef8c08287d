/* The allocator for secrets: nothing that it gives back can still be read. */
#include "common/bytes.h"
#include "common/wiping.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ARENA_BYTES 65536

/* Memory that stays readable after its release. */
typedef struct arena {
    _Alignas(max_align_t) char bytes[ARENA_BYTES];
    size_t used;
    int released;
} arena;

static void *arena_allocate(void *context, size_t size)
{
    arena *from = context;
    size_t rounded = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    assert_true(rounded <= ARENA_BYTES - from->used);
    from->used += rounded;
    return from->bytes + from->used - rounded;
}

static void arena_release(void *context, void *block)
{
    arena *from = context;
    assert_true((char *)block >= from->bytes && (char *)block < from->bytes + from->used);
    from->released++;
}

static bool is_empty(const arena *from)
{
    for (size_t i = 0; i < from->used; i++) {
        if (from->bytes[i] != 0) return false;
    }
    return true;
}

static void test_a_released_or_grown_block_is_wiped(void **state)
{
    static arena memory;
    const kedge_allocator inner = {arena_allocate, NULL, arena_release, &memory};
    kedge_wiping wiping;
    (void)state;
    kedge_wiping_init(&wiping, &inner);
    kedge_buffer buffer = kedge_buffer_make(&wiping.allocator);
    for (int i = 0; i < 1000; i++) {
        kedge_buffer_append_text(&buffer, "secret");
    }
    assert_int_equal(buffer.size, 6000);
    assert_int_equal(strncmp(buffer.data + 5994, "secret", 7), 0);
    assert_true(memory.released > 3);
    assert_false(is_empty(&memory));
    kedge_buffer_free(&buffer);
    assert_true(is_empty(&memory));

    void *block = kedge_allocate(&wiping.allocator, 40);
    assert_int_equal((uintptr_t)block % _Alignof(max_align_t), 0);
    memset(block, 's', 40);
    block = wiping.allocator.reallocate(wiping.allocator.context, block, 10);
    assert_memory_equal(block, "ssssssssss", 10);
    kedge_release(&wiping.allocator, block);
    wiping.allocator.release(wiping.allocator.context, NULL);
    assert_true(is_empty(&memory));
}

static bool grow(const kedge_allocator *allocator, void *context)
{
    kedge_wiping wiping;
    (void)context;
    kedge_wiping_init(&wiping, allocator);
    kedge_buffer buffer = kedge_buffer_make(&wiping.allocator);
    for (int i = 0; i < 100; i++) {
        kedge_buffer_append_text(&buffer, "secret");
    }
    bool whole = kedge_buffer_status(&buffer, NULL) == KEDGE_OK && buffer.size == 600;
    kedge_buffer_free(&buffer);
    return whole;
}

static void test_a_failed_allocation_leaves_the_old_block(void **state)
{
    kedge_wiping wiping;
    (void)state;
    assert_true(failing_allocator_try_every_call(grow, NULL, 100) > 2);
    kedge_wiping_init(&wiping, &kedge_allocator_default);
    assert_null(wiping.allocator.allocate(wiping.allocator.context, SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_released_or_grown_block_is_wiped),
        cmocka_unit_test(test_a_failed_allocation_leaves_the_old_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
