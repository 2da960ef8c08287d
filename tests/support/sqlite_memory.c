/* See sqlite_memory.h. */
#include "tests/support/sqlite_memory.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static sqlite3_mem_methods own;
static uint64_t calls;
static uint64_t fail_at;

static bool fails(void)
{
    return ++calls == fail_at;
}

static void *allocate(int size)
{
    return fails() ? NULL : own.xMalloc(size);
}

static void *reallocate(void *block, int size)
{
    return fails() ? NULL : own.xRealloc(block, size);
}

void sqlite_memory_watch(void)
{
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &own), SQLITE_OK);
    sqlite3_mem_methods watched = own;
    watched.xMalloc = allocate;
    watched.xRealloc = reallocate;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &watched), SQLITE_OK);
}

void sqlite_memory_fail_at(uint64_t nth)
{
    calls = 0;
    fail_at = nth;
}

uint64_t sqlite_memory_calls(void)
{
    return calls;
}
