/* SQLite's memory, which is not the allocator's, and can fail at a chosen call. Of one thread. */
#ifndef KEDGE_TESTS_SUPPORT_SQLITE_MEMORY_H
#define KEDGE_TESTS_SUPPORT_SQLITE_MEMORY_H

#include <stdint.h>

void sqlite_memory_watch(void); /* call before SQLite is used */
/* Starts counting again and fails call number `nth` (from 1) alone; 0: none. */
void sqlite_memory_fail_at(uint64_t nth);
uint64_t sqlite_memory_calls(void); /* since then */

#endif
